// SPDX-License-Identifier: Apache-2.0
// Programs that are killed from one thread while others are in the middle of their calls: they lock, discard, submit,
// map addresses and leave all of it open. Beside them programs that live find every byte. Budgets and weights change
// meanwhile, events and call-backs are listened to, and the descriptor's thread lets the device run. So it is under
// resets of the engine, which cut off what is in flight, and hangs, each of which costs one program at most what it
// has. Built with the thread sanitizer; on the model, in both driver models, in the second with an IOMMU too.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "adapter_inside.h"
#include "device/device_state.h"
#include "model/model_link.h"
#include "system.h"
#include "vidmm/api/manager.h"

#define LIVING  2
#define MEDDLER 3
#define SHOWN   4
#define BYTES   50000u
#define ROUNDS  60
#define LIVES   40

static struct ferry_adapter *adapter;
static atomic_bool over, resetting, hangs;
static atomic_uint told, refused_calls, resets, hung, cut, lost;

// What a thread of its own found wrong first.
struct finder {
    pthread_t thread;
    unsigned number;
    uint64_t random;
    const char *what;
    int result;
    bool is_lost; // A hang was blamed on it.
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
    static unsigned jobs;

    told++;
    if (hangs && !over && event->kind == FERRY_EVENT_JOB_BEGIN && ++jobs % 41 == 0) {
        ferry_model_hang(context);
        hung++;
    }
}

// By how far the others have come, since a reset takes as long as many jobs on a slow machine.
static void *reset(void *context)
{
    struct finder *f = context;
    unsigned next = 0;

    while (!over && !f->what) {
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        if (told < next)
            continue;
        next = told + pick(f, 300);
        int result = ferry_adapter_reset_engine(adapter);
        if (result != FERRY_OK)
            found(f, "reset", result);
        resets++;
    }
    return NULL;
}

// ---- Programs that live -----------------------------------------------------------------------------------------

// A hang may cost it what it has; nothing else may.
static bool well(struct finder *f, const char *what, int result)
{
    if (result >= 0)
        return true;
    if (result == FERRY_ERROR_DEVICE_LOST && hangs)
        f->is_lost = true;
    else
        found(f, what, result);
    return false;
}

static bool holds(struct finder *f, struct ferry_allocation *allocation, uint8_t value)
{
    const uint8_t *bytes;

    if (!well(f, "lock for reading", ferry_lock(allocation, FERRY_LOCK_READ_ONLY, (void **)&bytes)))
        return false;
    for (uint32_t i = 0; i < BYTES; i++)
        if (bytes[i] != value)
            found(f, "content", FERRY_ERROR_FAULT);
    return well(f, "unlock", ferry_unlock(allocation)) && !f->what;
}

static bool discards(struct finder *f, struct ferry_allocation *allocation, uint8_t value)
{
    void *bytes;

    if (!well(f, "discard", ferry_lock(allocation, FERRY_LOCK_DISCARD | FERRY_LOCK_WRITE_ONLY, &bytes)))
        return false;
    memset(bytes, value, BYTES);
    return well(f, "unlock", ferry_unlock(allocation));
}

// The job before keeps what it was to copy; or a reset cut it off, which it tells.
static bool one_round(struct finder *f, struct ferry_device *device, struct ferry_queue *queue,
                      struct ferry_allocation **pair, uint8_t value)
{
    struct ferry_residency residency = {.size = sizeof residency, .allocations = pair, .count = 2};
    uint64_t fence;

    if (!discards(f, pair[0], value))
        return false;
    int result = ferry_make_resident_trim(device, &residency);
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY)
        return true;
    if (!well(f, "make resident", result) || !well(f, "copy", ferry_queue_copy(queue, pair[1], 0, pair[0], 0, BYTES)) ||
        !well(f, "submit", ferry_queue_submit(queue, &fence)) || !discards(f, pair[0], (uint8_t)(value + 1)))
        return false;
    result = ferry_queue_wait(queue, fence);
    bool is_cut = result == FERRY_ERROR_FAULT && resetting;
    cut += is_cut;
    return (is_cut || (well(f, "wait", result) && holds(f, pair[1], value))) &&
           holds(f, pair[0], (uint8_t)(value + 1)) && well(f, "evict", ferry_evict(device, &residency));
}

static void live_once(struct finder *f, unsigned *round)
{
    struct ferry_process_options options = {.size = sizeof options, .weight = 2, .callback = on_budget};
    struct ferry_process *process;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *pair[2];
    struct ferry_allocation_options wanted = {.size = sizeof wanted, .bytes = BYTES, .flags = VISIBLE};

    f->is_lost = false;
    if (!well(f, "create process", ferry_process_create(adapter, &options, &process)))
        return;
    bool goes_on = well(f, "create device", ferry_process_create_device(process, &device)) &&
                   well(f, "create queue", ferry_queue_create(device, &queue)) &&
                   well(f, "create allocation", ferry_allocation_create(device, &wanted, &pair[0])) &&
                   well(f, "create allocation", ferry_allocation_create(device, &wanted, &pair[1]));
    while (goes_on && (*round)++ < ROUNDS)
        goes_on = one_round(f, device, queue, pair, (uint8_t)(*round * 3 + f->number));
    lost += f->is_lost;
    well(f, "end", ferry_process_destroy(process));
}

static void *live(void *context)
{
    struct finder *f = context;

    for (unsigned round = 0; round < ROUNDS && !f->what;)
        live_once(f, &round);
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
    return result >= 0 || (result == FERRY_ERROR_UNSUPPORTED && driver_model == 1) ||
           (result == FERRY_ERROR_FAULT && resetting) || (result == FERRY_ERROR_DEVICE_LOST && hangs);
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

static void open_with(bool iommu)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = 128 * 4096,
                                            .seed = seed,
                                            .model = driver_model,
                                            .iommu = iommu};

    ok(ferry_adapter_open(&options, &adapter));
}

enum beside { NOTHING, RESETS, RESETS_AND_HANGS };

static void programs_die(enum beside beside, bool iommu)
{
    struct finder living[LIVING], meddlers[MEDDLER], resetter, self = {.random = seed};
    struct ferry_statistics statistics = {.size = sizeof statistics};
    int fd;

    open_with(iommu);
    over = hangs = false;
    resetting = beside != NOTHING;
    told = refused_calls = resets = hung = cut = lost = 0;
    ok(ferry_adapter_observe(adapter, on_event, ferry_model_link_model(adapter_inside(adapter)->gpu->link)));
    ok(ferry_adapter_event_fd(adapter, &fd));
    for (unsigned i = 0; i < SHOWN; i++)
        shown[i] = be_born(&self);
    hangs = beside == RESETS_AND_HANGS;
    for (unsigned i = 0; i < LIVING; i++)
        begin(&living[i], i, live);
    for (unsigned i = 0; i < MEDDLER; i++)
        begin(&meddlers[i], LIVING + i, meddle);
    if (beside != NOTHING)
        begin(&resetter, LIVING + MEDDLER, reset);
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
    if (beside != NOTHING)
        end(&resetter);
    for (unsigned i = 0; i < SHOWN; i++)
        ok(ferry_process_destroy(shown[i].process));
    ok(ferry_adapter_observe(adapter, NULL, NULL));
    ok(ferry_adapter_statistics(adapter, &statistics));
    printf("%u resets, %u hangs; of those that live %u jobs were cut off, and %u times all was lost\n", resets, hung,
           cut, lost);
    assert_int_equal(statistics.resident_bytes, 0);
    assert_int_equal(statistics.renamed_bytes, 0);
    assert_true(told > 0 && refused_calls > 0 && lost <= hung);
    assert_true((resets > 0) == (beside != NOTHING) && (hung > 0) == (beside == RESETS_AND_HANGS));
    close(fd);
    ferry_adapter_close(adapter);
}

static void programs_die_in_the_middle_of_calls_of_other_threads(void **state)
{
    (void)state;
    programs_die(NOTHING, false);
}

static void programs_die_amid_resets(void **state)
{
    (void)state;
    programs_die(RESETS, false);
}

static void programs_die_amid_resets_and_hangs(void **state)
{
    (void)state;
    programs_die(RESETS_AND_HANGS, false);
}

static void programs_die_amid_resets_and_hangs_with_an_iommu(void **state)
{
    (void)state;
    programs_die(RESETS_AND_HANGS, true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_die_in_the_middle_of_calls_of_other_threads),
        cmocka_unit_test(programs_die_amid_resets),
        cmocka_unit_test(programs_die_amid_resets_and_hangs),
    };
    const struct CMUnitTest with_an_iommu[] = {
        cmocka_unit_test(programs_die_amid_resets_and_hangs_with_an_iommu),
    };

    read_options(argc, argv);
    say_random();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (driver_model == 2)
        failed += cmocka_run_group_tests(with_an_iommu, NULL, NULL);
    else
        printf("left out: %s: driver model 1 has no IOMMU\n", with_an_iommu[0].name);
    return failed;
}
