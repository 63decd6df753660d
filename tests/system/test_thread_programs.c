// SPDX-License-Identifier: Apache-2.0
// Programs that are killed from one thread while others are in the middle of their calls: they lock, discard, submit,
// map addresses and leave all of it open. Beside them programs that live find every byte. Budgets and weights change
// meanwhile, events and call-backs are listened to, and the descriptor's thread lets the device run. Built with the
// thread sanitizer; on the model, in both driver models.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "system.h"

#define LIVING  2
#define MEDDLER 3
#define SHOWN   4
#define BYTES   50000u
#define ROUNDS  60
#define LIVES   40

static struct ferry_adapter *adapter;
static atomic_bool over;
static atomic_uint told, refused_calls;

// What a thread of its own found wrong first.
struct finder {
    pthread_t thread;
    unsigned number;
    uint64_t random;
    const char *what;
    int result;
};

static void found(struct finder *f, const char *what, int result)
{
    if (f->what)
        return;
    f->what = what;
    f->result = result;
}

static uint32_t pick(struct finder *f, uint32_t below)
{
    return draw_below(&f->random, below);
}

static void on_budget(void *context, enum ferry_memory_group group, const struct ferry_memory_info *info)
{
    struct ferry_memory_info memory = {.size = sizeof memory};

    (void)context;
    (void)info;
    told++;
    refused_calls += ferry_adapter_set_budget(adapter, 0) == FERRY_ERROR_RECURSIVE_CALL;
    (void)group;
}

static void on_event(void *context, const struct ferry_event *event)
{
    (void)context;
    (void)event;
    told++;
}

// ---- Programs that live -----------------------------------------------------------------------------------------

static bool holds(struct finder *f, struct ferry_allocation *allocation, uint8_t value)
{
    const uint8_t *bytes;
    int result = ferry_lock(allocation, FERRY_LOCK_READ_ONLY, (void **)&bytes);

    if (result != FERRY_OK)
        found(f, "lock for reading", result);
    for (uint32_t i = 0; i < BYTES && result == FERRY_OK; i++)
        if (bytes[i] != value)
            result = FERRY_ERROR_FAULT;
    if (result == FERRY_ERROR_FAULT)
        found(f, "content", result);
    if (!f->what && (result = ferry_unlock(allocation)) != FERRY_OK)
        found(f, "unlock", result);
    return !f->what;
}

static bool discards(struct finder *f, struct ferry_allocation *allocation, uint8_t value)
{
    void *bytes;
    int result = ferry_lock(allocation, FERRY_LOCK_DISCARD | FERRY_LOCK_WRITE_ONLY, &bytes);

    if (result == FERRY_OK) {
        memset(bytes, value, BYTES);
        result = ferry_unlock(allocation);
    }
    if (result != FERRY_OK)
        found(f, "discard", result);
    return !f->what;
}

static void *live(void *context)
{
    struct finder *f = context;
    struct ferry_process_options options = {.size = sizeof options, .weight = 2, .callback = on_budget};
    struct ferry_process *process;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *pair[2];
    struct ferry_residency residency = {.size = sizeof residency, .allocations = pair, .count = 2};
    struct ferry_allocation_options wanted = {.size = sizeof wanted, .bytes = BYTES, .flags = VISIBLE};
    int result = ferry_process_create(adapter, &options, &process);

    if (result < 0 || (result = ferry_process_create_device(process, &device)) < 0 ||
        (result = ferry_queue_create(device, &queue)) < 0 ||
        (result = ferry_allocation_create(device, &wanted, &pair[0])) < 0 ||
        (result = ferry_allocation_create(device, &wanted, &pair[1])) < 0)
        found(f, "beginning", result);
    for (unsigned round = 0; round < ROUNDS && !f->what; round++) {
        uint8_t value = (uint8_t)(round * 3 + f->number);
        uint64_t fence;

        if (!discards(f, pair[0], value))
            break;
        result = ferry_make_resident_trim(device, &residency);
        if (result == FERRY_ERROR_NO_VIDEO_MEMORY)
            continue;
        if (result < 0 || (result = ferry_queue_copy(queue, pair[1], 0, pair[0], 0, BYTES)) < 0 ||
            (result = ferry_queue_submit(queue, &fence)) < 0)
            found(f, "a job", result);
        // The job before keeps what it was to copy.
        if (f->what || !discards(f, pair[0], (uint8_t)(value + 1)) || !holds(f, pair[1], value) ||
            !holds(f, pair[0], (uint8_t)(value + 1)))
            break;
        if ((result = ferry_evict(device, &residency)) < 0)
            found(f, "evict", result);
    }
    if ((result = ferry_process_destroy(process)) != FERRY_OK)
        found(f, "end", result);
    return NULL;
}

// ---- Programs that are killed -----------------------------------------------------------------------------------

struct victim {
    struct ferry_process *process;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *allocations[2], *image; // image: tiled
};
static struct victim shown[SHOWN];
static pthread_mutex_t shown_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_of_its_time(int result)
{
    static const int these[] = {FERRY_ERROR_HANDLE, FERRY_ERROR_NOT_RESIDENT,    FERRY_ERROR_FOREIGN,
                                FERRY_ERROR_LOCKED, FERRY_ERROR_NO_VIDEO_MEMORY, FERRY_ERROR_NOT_LOCKED,
                                FERRY_ERROR_BUSY};

    for (size_t i = 0; i < sizeof these / sizeof these[0]; i++)
        if (result == these[i])
            return true;
    return result >= 0 || (result == FERRY_ERROR_UNSUPPORTED && driver_model == 1);
}

// Views stay open, and are looked through by others.
static int view(struct finder *f, const struct victim *v)
{
    uint32_t word = 0;
    int result = ferry_view_lock(v->image, 0, pick(f, 2) ? FERRY_LOCK_READ_ONLY : 0);

    if (result >= 0 || result == FERRY_ERROR_LOCKED)
        result = ferry_view_read(v->image, 4 * pick(f, 512), &word, sizeof word);
    if (result >= 0 && pick(f, 3) == 0)
        result = ferry_unlock(v->image);
    return result;
}

static int a_job(struct finder *f, const struct victim *v)
{
    uint64_t fence;
    struct ferry_allocation *to = pick(f, 4) ? v->allocations[0] : v->image;
    int result = ferry_queue_copy(v->queue, to, 0, v->allocations[1], 0, pick(f, 2) ? BYTES : 4096);

    // A copy that leaves the image.
    if (result == FERRY_ERROR_RANGE && to == v->image)
        return FERRY_OK;
    if (result >= 0)
        result = ferry_queue_submit(v->queue, &fence);
    return result >= 0 && pick(f, 2) ? ferry_queue_wait(v->queue, fence) : result;
}

static void *meddle(void *context)
{
    struct finder *f = context;

    while (!over && !f->what) {
        pthread_mutex_lock(&shown_lock);
        struct victim v = shown[pick(f, SHOWN)];
        pthread_mutex_unlock(&shown_lock);
        struct ferry_allocation *one = pick(f, 3) ? v.allocations[pick(f, 2)] : v.image;
        struct ferry_residency residency = {.size = sizeof residency, .allocations = &one, .count = 1};
        struct ferry_va range = {.size = sizeof range, .bytes = FERRY_PAGE_BYTES};
        struct ferry_memory_info memory = {.size = sizeof memory};
        void *bytes;
        int result = 0;

        switch (pick(f, 10)) {
        case 0: result = ferry_lock(one, pick(f, 2) ? FERRY_LOCK_DISCARD : 0, &bytes); break;
        case 1: result = ferry_unlock(one); break;
        case 2: result = ferry_make_resident(v.device, &residency); break;
        case 3: result = ferry_evict(v.device, &residency); break;
        case 4: result = ferry_va_map(v.device, one, 0, false, &range); break;
        case 5: result = ferry_process_memory(v.process, FERRY_MEMORY_LOCAL, &memory); break;
        case 6: result = ferry_process_set_weight(v.process, 1 + pick(f, 9)); break;
        case 7: result = driver_model == 1 ? view(f, &v) : FERRY_OK; break;
        default: result = a_job(f, &v);
        }
        if (!is_of_its_time(result))
            found(f, "a call", result);
    }
    return NULL;
}

static struct victim be_born(struct finder *f)
{
    struct ferry_process_options options = {.size = sizeof options, .weight = 1 + pick(f, 3), .callback = on_budget};
    struct ferry_allocation_options wanted = {
        .size = sizeof wanted, .bytes = BYTES, .flags = VISIBLE, .fill_pattern = 1};
    struct victim v;

    ok(ferry_process_create(adapter, &options, &v.process));
    ok(ferry_process_create_device(v.process, &v.device));
    ok(ferry_queue_create(v.device, &v.queue));
    for (unsigned i = 0; i < 2; i++)
        ok(ferry_allocation_create(v.device, &wanted, &v.allocations[i]));
    const struct ferry_tiling tiling = {
        .size = sizeof tiling, .tile_bytes = 4096, .element_bytes = 4, .width = 64, .height = 64, .levels = 1};
    wanted.bytes = ferry_tiling_bytes(&tiling);
    wanted.tiling = &tiling;
    ok(ferry_allocation_create(v.device, &wanted, &v.image));
    return v;
}

static void begin(struct finder *f, unsigned number, void *(*what)(void *))
{
    *f = (struct finder){.number = number, .random = seed * 977 + number};
    assert_int_equal(pthread_create(&f->thread, NULL, what, f), 0);
}

static void end(struct finder *f)
{
    pthread_join(f->thread, NULL);
    if (f->what)
        fail_msg("FERRY_SEED=%llu, thread %u: %s: %s", (unsigned long long)seed, f->number, f->what,
                 ferry_error_name(f->result));
}

static void programs_die_in_the_middle_of_calls_of_other_threads(void **state)
{
    struct finder living[LIVING], meddlers[MEDDLER], self = {.random = seed};
    struct ferry_statistics statistics = {.size = sizeof statistics};
    int fd;

    (void)state;
    adapter = open_adapter(128 * 4096);
    over = false;
    ok(ferry_adapter_observe(adapter, on_event, NULL));
    ok(ferry_adapter_event_fd(adapter, &fd));
    for (unsigned i = 0; i < SHOWN; i++)
        shown[i] = be_born(&self);
    for (unsigned i = 0; i < LIVING; i++)
        begin(&living[i], i, live);
    for (unsigned i = 0; i < MEDDLER; i++)
        begin(&meddlers[i], LIVING + i, meddle);
    for (unsigned i = 0; i < LIVES; i++) {
        struct victim *v = &shown[pick(&self, SHOWN)], next = be_born(&self);
        struct ferry_process *last = v->process;

        ok(ferry_adapter_set_budget(adapter, pick(&self, 3) ? 0 : (64 + pick(&self, 64)) * 4096));
        pthread_mutex_lock(&shown_lock);
        *v = next;
        pthread_mutex_unlock(&shown_lock);
        ok(ferry_process_destroy(last));
    }
    ok(ferry_adapter_set_budget(adapter, 0));
    for (unsigned i = 0; i < LIVING; i++)
        end(&living[i]);
    over = true;
    for (unsigned i = 0; i < MEDDLER; i++)
        end(&meddlers[i]);
    for (unsigned i = 0; i < SHOWN; i++)
        ok(ferry_process_destroy(shown[i].process));
    ok(ferry_adapter_observe(adapter, NULL, NULL));
    ok(ferry_adapter_statistics(adapter, &statistics));
    assert_int_equal(statistics.resident_bytes, 0);
    assert_int_equal(statistics.renamed_bytes, 0);
    assert_true(told > 0 && refused_calls > 0);
    close(fd);
    ferry_adapter_close(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_die_in_the_middle_of_calls_of_other_threads),
    };

    read_options(argc, argv);
    say_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
