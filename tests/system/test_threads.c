// SPDX-License-Identifier: Apache-2.0
// Several threads on one adapter, each with a device of its own, and one that only asks questions. Built with the
// thread sanitizer; on the model.
#include <pthread.h>
#include <time.h>

#include "system.h"

#define WORKERS     4
#define ALLOCATIONS 6
#define BYTES       60000u
#define ROUNDS      60

struct worker {
    pthread_t thread;
    struct ferry_adapter *adapter;
    unsigned number, refused;
    const char *failure; // What went wrong first; assertions belong to the main thread.
    int result;
};

static bool stop;
static pthread_mutex_t stop_lock = PTHREAD_MUTEX_INITIALIZER;

static bool stopped(void)
{
    pthread_mutex_lock(&stop_lock);
    bool value = stop;
    pthread_mutex_unlock(&stop_lock);
    return value;
}

static bool good(struct worker *w, const char *what, int result)
{
    if (result >= 0 || w->failure)
        return !w->failure;
    w->failure = what;
    w->result = result;
    return false;
}

static void round_of(struct worker *w, struct ferry_device *device, struct ferry_queue *queue,
                     struct ferry_allocation **list, uint8_t *value, unsigned n)
{
    unsigned from = n % ALLOCATIONS, to = (n * 5 + 1 + w->number) % ALLOCATIONS;
    struct ferry_allocation *pair[2] = {list[from], list[to]};
    struct ferry_residency residency = {.size = sizeof residency, .allocations = pair, .count = 2};
    uint64_t fence;
    uint8_t *bytes;

    // The other devices may hold all the memory there is just now.
    int result = ferry_make_resident_trim(device, &residency);
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY) {
        const struct timespec moment = {.tv_nsec = 1000000};

        nanosleep(&moment, NULL);
        w->refused++;
        return;
    }
    if (!good(w, "make resident", result) ||
        !good(w, "fill", ferry_queue_fill(queue, list[from], 0, BYTES, n * 7 + w->number, 1)) ||
        !good(w, "copy", ferry_queue_copy(queue, list[to], 0, list[from], 0, BYTES)))
        return;
    result = ferry_queue_submit(queue, &fence);
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY) {
        w->refused++;
    } else {
        good(w, "submit", result);
        value[from] = value[to] = (uint8_t)(n * 7 + w->number);
        good(w, "wait", ferry_queue_wait(queue, fence));
    }
    good(w, "evict", ferry_evict(device, &residency));
    if (!good(w, "lock", ferry_lock(list[to], FERRY_LOCK_READ_ONLY, (void **)&bytes)))
        return;
    for (unsigned i = 0; i < BYTES; i++) {
        if (bytes[i] != value[to])
            good(w, "content", FERRY_ERROR_FAULT);
    }
    good(w, "unlock", ferry_unlock(list[to]));
}

static void *work(void *context)
{
    struct worker *w = context;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *list[ALLOCATIONS];
    struct ferry_allocation_options options = {.size = sizeof options, .bytes = BYTES, .flags = VISIBLE};
    uint8_t value[ALLOCATIONS] = {0};

    if (!good(w, "create device", ferry_device_create(w->adapter, &device)) ||
        !good(w, "create queue", ferry_queue_create(device, &queue)))
        return NULL;
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        if (!good(w, "create allocation", ferry_allocation_create(device, &options, &list[i])))
            return NULL;
    }
    for (unsigned n = 0; n < ROUNDS && !w->failure; n++)
        round_of(w, device, queue, list, value, n);
    good(w, "destroy device", ferry_device_destroy(device));
    return NULL;
}

static void *ask(void *context)
{
    struct worker *w = context;

    while (!stopped() && !w->failure) {
        struct ferry_statistics statistics = {.size = sizeof statistics};
        struct ferry_adapter_info info = {.size = sizeof info};
        struct ferry_fault fault = {.size = sizeof fault};
        bool found;

        good(w, "statistics", ferry_adapter_statistics(w->adapter, &statistics));
        good(w, "query", ferry_adapter_query(w->adapter, &info));
        good(w, "next fault", ferry_adapter_next_fault(w->adapter, &fault, &found));
        good(w, "set budget", ferry_adapter_set_budget(w->adapter, 0));
    }
    return NULL;
}

static void threads_share_an_adapter(void **state)
{
    struct ferry_adapter *adapter = open_adapter(100 * 4096);
    struct worker workers[WORKERS + 1] = {0};
    unsigned refused = 0;

    (void)state;
    for (unsigned i = 0; i <= WORKERS; i++) {
        workers[i].adapter = adapter;
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, i < WORKERS ? work : ask, &workers[i]), 0);
    }
    for (unsigned i = 0; i <= WORKERS; i++) {
        if (i == WORKERS) {
            pthread_mutex_lock(&stop_lock);
            stop = true;
            pthread_mutex_unlock(&stop_lock);
        }
        pthread_join(workers[i].thread, NULL);
        if (workers[i].failure)
            fail_msg("thread %u: %s: %s", i, workers[i].failure, ferry_error_name(workers[i].result));
        refused += workers[i].refused;
    }
    printf("%u of %u rounds found no memory\n", refused, WORKERS * ROUNDS);
    assert_true(refused < WORKERS * ROUNDS);
    ferry_adapter_close(adapter);
}

// ---- Handles that others destroy --------------------------------------------------------------------------------

#define LIVES 400

static struct shown {
    pthread_mutex_t lock;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *allocation;
    bool over;
} shown = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool look(struct ferry_device **device, struct ferry_queue **queue, struct ferry_allocation **allocation)
{
    pthread_mutex_lock(&shown.lock);
    *device = shown.device;
    *queue = shown.queue;
    *allocation = shown.allocation;
    bool over = shown.over;
    pthread_mutex_unlock(&shown.lock);
    return !over;
}

static void *meddle(void *context)
{
    struct worker *w = context;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *allocation;

    while (look(&device, &queue, &allocation)) {
        struct ferry_residency residency = {.size = sizeof residency, .allocations = &allocation, .count = 1};
        struct ferry_placement placement = {.size = sizeof placement};
        int results[] = {
            ferry_make_resident(device, &residency), ferry_queue_fill(queue, allocation, 0, 4096, w->number, 1),
            ferry_queue_submit(queue, NULL),         ferry_allocation_placement(allocation, &placement),
            ferry_evict(device, &residency),
        };
        for (unsigned i = 0; i < sizeof results / sizeof results[0]; i++) {
            if (results[i] == FERRY_ERROR_HANDLE)
                w->refused++;
            else if (results[i] != FERRY_ERROR_NOT_RESIDENT && results[i] != FERRY_ERROR_FOREIGN)
                good(w, "a call", results[i]);
        }
    }
    return NULL;
}

static void a_handle_that_another_thread_destroys_gives_an_error_and_nothing_else(void **state)
{
    struct ferry_adapter *adapter = open_adapter(100 * 4096);
    struct ferry_allocation_options options = {.size = sizeof options, .bytes = BYTES, .flags = VISIBLE};
    struct worker workers[WORKERS] = {0};

    (void)state;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, meddle, &workers[i]), 0);
    }
    for (unsigned life = 0; life < LIVES; life++) {
        struct ferry_device *device;
        struct ferry_queue *queue;
        struct ferry_allocation *allocation;

        ok(ferry_device_create(adapter, &device));
        ok(ferry_queue_create(device, &queue));
        ok(ferry_allocation_create(device, &options, &allocation));
        pthread_mutex_lock(&shown.lock);
        shown.device = device;
        shown.queue = queue;
        shown.allocation = allocation;
        shown.over = life + 1 == LIVES;
        pthread_mutex_unlock(&shown.lock);
        if (life % 4 == 1)
            ok(ferry_queue_destroy(queue));
        if (life % 4 == 2)
            ok(ferry_allocation_destroy(allocation));
        if (life % 4 != 3)
            ok(ferry_device_destroy(device));
    }
    // With calls still under way.
    ferry_adapter_close(adapter);
    unsigned refused = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].failure)
            fail_msg("thread %u: %s: %s", i, workers[i].failure, ferry_error_name(workers[i].result));
        refused += workers[i].refused;
    }
    printf("%u calls found their handle gone\n", refused);
    assert_true(refused > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_an_adapter),
        cmocka_unit_test(a_handle_that_another_thread_destroys_gives_an_error_and_nothing_else),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
