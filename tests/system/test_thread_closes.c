// SPDX-License-Identifier: Apache-2.0
// Adapters that are closed, by two threads at once, while others are in the middle of their calls, wait for a job in
// one or for the adapter's lock; and what the next one is opened with is what the last one left. Handles that have
// ended are used all the time. Built with the thread sanitizer; on the model, in both driver models.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "system.h"

#define WORKERS 5
#define SHOWN   2
#define LIVES   40
#define BYTES   50000u

struct life {
    struct ferry_adapter *adapter;
    struct ferry_process *process;
    struct ferry_device *device, *other; // other: of no program
    struct ferry_queue *queue;
    struct ferry_allocation *pair[2];
};
static struct life shown[SHOWN];
static pthread_mutex_t shown_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool over;
static atomic_uint told, refused_calls, stale, good;

struct worker {
    pthread_t thread;
    uint64_t random;
    unsigned call; // What was answered otherwise than it may be: which call, and how.
    int result;
};

static uint32_t pick(uint64_t *random, uint32_t below)
{
    return draw_below(random, below);
}

// Neither of them closes or opens anything from a call-back.
static void on_event(void *context, const struct ferry_event *event)
{
    (void)event;
    told++;
    ferry_adapter_close(context);
}

static void on_budget(void *context, enum ferry_memory_group group, const struct ferry_memory_info *info)
{
    (void)group;
    (void)info;
    told++;
    refused_calls += ferry_adapter_set_budget(context, 0) == FERRY_ERROR_RECURSIVE_CALL;
}

static bool is_of_its_time(int result)
{
    static const int these[] = {FERRY_ERROR_NOT_RESIDENT,    FERRY_ERROR_LOCKED,     FERRY_ERROR_BUSY,
                                FERRY_ERROR_NO_VIDEO_MEMORY, FERRY_ERROR_NOT_LOCKED, FERRY_ERROR_HANDLE};

    for (size_t i = 0; i < sizeof these / sizeof these[0]; i++)
        if (result == these[i])
            return true;
    return result >= 0;
}

static int a_job(struct worker *w, const struct life *life)
{
    uint64_t fence;
    int result = ferry_queue_copy(life->queue, life->pair[0], 0, life->pair[1], 0, BYTES);

    if (result >= 0)
        result = ferry_queue_submit(life->queue, &fence);
    return result >= 0 && pick(&w->random, 3) ? ferry_queue_wait(life->queue, fence) : result;
}

static int a_program(struct worker *w, const struct life *life)
{
    struct ferry_process_options options = {.size = sizeof options, .callback = on_budget, .context = life->adapter};
    struct ferry_process *process;
    struct ferry_device *device;
    int result = ferry_process_create(life->adapter, &options, &process);

    if (result == FERRY_OK)
        result = ferry_process_create_device(process, &device);
    if (result == FERRY_OK && pick(&w->random, 2))
        result = ferry_device_destroy(device);
    return result == FERRY_OK ? ferry_process_destroy(process) : result;
}

static int descriptor(const struct life *life)
{
    int fd, result = ferry_adapter_event_fd(life->adapter, &fd);

    if (result == FERRY_OK)
        close(fd);
    return result;
}

static int any_call(struct worker *w, const struct life *life, unsigned call)
{
    struct ferry_allocation *one = life->pair[pick(&w->random, 2)];
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &one, .count = 1};
    struct ferry_statistics statistics = {.size = sizeof statistics};
    struct ferry_memory_info memory = {.size = sizeof memory};
    void *bytes;

    switch (call) {
    case 0: return ferry_lock(one, pick(&w->random, 2) ? FERRY_LOCK_DISCARD : 0, &bytes);
    case 1: return ferry_unlock(one);
    case 2: return ferry_make_resident(life->device, &residency);
    case 3: return ferry_evict(life->device, &residency);
    case 4: return ferry_process_memory(life->process, FERRY_MEMORY_LOCAL, &memory);
    case 5: return ferry_adapter_statistics(life->adapter, &statistics);
    case 6: return descriptor(life);
    case 7: return ferry_adapter_observe(life->adapter, pick(&w->random, 2) ? on_event : NULL, life->adapter);
    case 8: return a_program(w, life);
    // Ends of what others are in calls of; several wait for the same one.
    case 9: return pick(&w->random, 4) ? FERRY_OK : ferry_process_destroy(life->process);
    case 10: return pick(&w->random, 4) ? FERRY_OK : ferry_device_destroy(life->device);
    case 11: return pick(&w->random, 4) ? FERRY_OK : ferry_device_destroy(life->other);
    default: return a_job(w, life);
    }
}

static void *work(void *context)
{
    struct worker *w = context;

    while (!over && w->result == FERRY_OK) {
        pthread_mutex_lock(&shown_lock);
        const struct life life = shown[pick(&w->random, SHOWN)];
        pthread_mutex_unlock(&shown_lock);
        for (unsigned i = 0; i < 10 && w->result == FERRY_OK; i++) {
            unsigned call = pick(&w->random, 18);
            int result = any_call(w, &life, call);

            stale += result == FERRY_ERROR_HANDLE;
            good += result >= 0;
            if (!is_of_its_time(result)) {
                w->call = call;
                w->result = result;
            }
        }
    }
    return NULL;
}

static struct life begin_life(uint64_t *random)
{
    struct life life;
    struct ferry_adapter_options nowhere = {.size = sizeof nowhere, .backend = "nowhere"};
    struct ferry_process_options options = {.size = sizeof options, .weight = 2, .callback = on_budget};

    // One that is not opened gives back what it was to be.
    assert_int_not_equal(ferry_adapter_open(&nowhere, &life.adapter), FERRY_OK);
    assert_null(life.adapter);
    life.adapter = open_adapter(96 * 4096);
    options.context = life.adapter;
    ok(ferry_process_create(life.adapter, &options, &life.process));
    ok(ferry_process_create_device(life.process, &life.device));
    ok(ferry_device_create(life.adapter, &life.other));
    ok(ferry_queue_create(life.device, &life.queue));
    for (unsigned i = 0; i < 2; i++)
        life.pair[i] = make(life.device, BYTES, VISIBLE);
    if (pick(random, 2))
        ok(ferry_adapter_observe(life.adapter, on_event, life.adapter));
    return life;
}

static void *close_it(void *adapter)
{
    ferry_adapter_close(adapter);
    return NULL;
}

static void close_twice(struct ferry_adapter *adapter)
{
    struct ferry_adapter_info info = {.size = sizeof info};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, close_it, adapter), 0);
    ferry_adapter_close(adapter);
    // Whichever of the two it was: nobody gets in any more.
    assert_int_equal(ferry_adapter_query(adapter, &info), FERRY_ERROR_HANDLE);
    pthread_join(thread, NULL);
}

static void adapters_close_in_the_middle_of_calls_of_other_threads(void **state)
{
    struct worker workers[WORKERS];
    uint64_t random = seed;

    (void)state;
    over = false;
    for (unsigned i = 0; i < SHOWN; i++)
        shown[i] = begin_life(&random);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.random = seed * 977 + i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < LIVES; i++) {
        const struct timespec moment = {.tv_nsec = (long)pick(&random, 20) * 1000000};
        struct life *life = &shown[i % SHOWN];

        nanosleep(&moment, NULL);
        // What is shown is closed, and the next one may be what it was while others still hold its handles.
        close_twice(life->adapter);
        struct life next = begin_life(&random);
        pthread_mutex_lock(&shown_lock);
        *life = next;
        pthread_mutex_unlock(&shown_lock);
    }
    over = true;
    for (unsigned i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].result != FERRY_OK)
            fail_msg("FERRY_SEED=%llu, thread %u: call %u: %s", (unsigned long long)seed, i, workers[i].call,
                     ferry_error_name(workers[i].result));
    }
    for (unsigned i = 0; i < SHOWN; i++)
        ferry_adapter_close(shown[i].adapter);
    printf("%u calls did something, %u came too late, %u times somebody was told\n", good, stale, told);
    assert_true(good > 0 && stale > 0 && told > 0 && refused_calls > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapters_close_in_the_middle_of_calls_of_other_threads),
    };

    read_options(argc, argv);
    say_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
