// SPDX-License-Identifier: Apache-2.0
// Several threads on one manager, under the thread sanitizer: two share a device, two have their own, one only looks;
// and one waits long while another goes on.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "vidmm/api/call.h"
#include "world.h"

#define ROUNDS 150

struct worker {
    struct world *world;
    D3DKMT_HANDLE device, queue, context;
    uint32_t seed;
    uint64_t random;
    unsigned failures, done;
};

#define EXPECT(condition) (worker->failures += !(condition))

static void one_round(struct worker *worker, unsigned round)
{
    struct ferry_vidmm *m = worker->world->manager;
    uint32_t value = worker->seed * 1000 + round;
    struct ferry_allocation_private wanted = world_private(PAGES(1 + round % 9), round % 2 ? PERMANENT : CPU);
    struct ferry_vidmm_allocation_options options = {
        .size = sizeof(options), .private_data = &wanted, .private_data_bytes = sizeof(wanted), .fill_pattern = value};
    D3DKMT_HANDLE a;
    EXPECT(ferry_vidmm_create_allocation(m, worker->device, &options, &a, NULL) == FERRY_OK);
    D3DDDI_MAKERESIDENT resident = {.hPagingQueue = worker->queue, .NumAllocations = 1, .AllocationList = &a};
    int result = ferry_vidmm_make_resident(m, &resident);
    void *address;
    if (result >= 0) {
        if (result == FERRY_PENDING && round % 3 == 0)
            EXPECT(ferry_vidmm_wait_paging(m, worker->queue, resident.PagingFenceValue) == FERRY_OK);
        struct machine_job job = {0};
        machine_job_fill(&job, 0, 8, 4, value + 1);
        struct ferry_vidmm_reference reference = {a, true};
        struct ferry_vidmm_submission submission = machine_job_buffer(&job, &reference, 1);
        uint64_t fence;
        EXPECT(ferry_vidmm_submit(m, worker->context, &submission, 1, &fence) == FERRY_OK);
        if (round % 4 == 0)
            EXPECT(ferry_vidmm_wait(m, worker->context, fence) == FERRY_OK);
        D3DDDICB_EVICT evict = {.NumAllocations = 1, .AllocationList = &a};
        EXPECT(ferry_vidmm_evict(m, worker->device, &evict) == FERRY_OK);
        worker->done++;
    } else {
        EXPECT(result == FERRY_ERROR_NO_VIDEO_MEMORY);
    }
    EXPECT(ferry_vidmm_lock(m, a, D3DDDI_LOCK_READ_ONLY, &address) == FERRY_OK);
    const uint32_t *words = address;
    EXPECT(words[0] == value && words[2] == (result >= 0 ? value + 1 : value) && words[1023] == value);
    EXPECT(ferry_vidmm_unlock(m, a) == FERRY_OK);
    EXPECT(ferry_vidmm_destroy_allocation(m, a) == FERRY_OK);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (unsigned i = 0; i < ROUNDS; i++)
        one_round(worker, i);
    return NULL;
}

static void *watch(void *argument)
{
    struct worker *worker = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct ferry_vidmm_statistics statistics;
        EXPECT(ferry_vidmm_statistics(worker->world->manager, &statistics) == FERRY_OK);
        ferry_vidmm_set_budget(worker->world->manager, i % 2 ? PAGES(40) : 0);
        EXPECT(ferry_vidmm_poll(worker->world->manager, false) == FERRY_OK);
    }
    return NULL;
}

static void start_workers(struct world *world, struct worker *workers, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++) {
        workers[i] = (struct worker){.world = world, .device = world->device, .queue = world->queue, .seed = i + 1};
        workers[i].random = draw_state(seed + i);
        if (i >= 2) {
            assert_int_equal(ferry_vidmm_create_device(world->manager, &workers[i].device), FERRY_OK);
            assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, workers[i].device, 0, &workers[i].queue),
                             FERRY_OK);
        }
        assert_int_equal(ferry_vidmm_create_context(world->manager, workers[i].device, FERRY_VIDMM_ANY_NODE,
                                                    &workers[i].context, NULL),
                         FERRY_OK);
    }
}

static void many_threads_keep_their_content(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    spy.keep = false;
    world->knobs->delay = 3;
    struct worker workers[5];
    pthread_t threads[5];
    start_workers(world, workers, 5, 0);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < 4 ? work : watch, &workers[i]), 0);
    for (unsigned i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(workers[i].failures, 0);
        assert_true(i == 4 || workers[i].done > 0);
    }
    world_close(world);
}

// A program that draws from memory which it discards before each draw: everything that it drew is as it wrote it. Every
// thread has allocations of its own; two share a device.
static uint32_t pick(struct worker *worker, uint32_t below)
{
    return draw_below(&worker->random, below);
}

#define SINKS 6

static D3DKMT_HANDLE make(struct worker *worker, UINT flags, bool aperture, UINT limit)
{
    struct ferry_allocation_private wanted = world_private(PAGES(2), flags);
    wanted.Aperture = aperture;
    wanted.RenamingLimit = limit;
    struct ferry_vidmm_allocation_options options = {
        .size = sizeof(options), .private_data = &wanted, .private_data_bytes = sizeof(wanted)};
    D3DKMT_HANDLE handle = 0;
    EXPECT(ferry_vidmm_create_allocation(worker->world->manager, worker->device, &options, &handle, NULL) == FERRY_OK);
    return handle;
}

static void draw(struct worker *worker, D3DKMT_HANDLE from, D3DKMT_HANDLE sink, uint32_t value)
{
    struct ferry_vidmm *m = worker->world->manager;
    struct machine_job job = {0};
    void *address;
    EXPECT(ferry_vidmm_lock(m, from, D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY, &address) == FERRY_OK);
    for (uint32_t i = 0; i < PAGES(2) / 4; i++)
        ((uint32_t *)address)[i] = world_word(value, i);
    EXPECT(ferry_vidmm_unlock(m, from) == FERRY_OK);
    machine_job_copy(&job, 0, 0, 1, 0, PAGES(2));
    struct ferry_vidmm_reference references[] = {{sink, true}, {from, false}};
    struct ferry_vidmm_submission submission = machine_job_buffer(&job, references, 2);
    uint64_t fence;
    EXPECT(ferry_vidmm_submit(m, worker->context, &submission, 1, &fence) == FERRY_OK);
    if (pick(worker, 8) == 0)
        EXPECT(ferry_vidmm_wait(m, worker->context, fence) == FERRY_OK);
}

static void *discard_and_draw(void *argument)
{
    struct worker *worker = argument;
    struct ferry_vidmm *m = worker->world->manager;
    D3DKMT_HANDLE all[SINKS + 2];
    uint32_t drawn[SINKS] = {0};
    all[0] = make(worker, pick(worker, 2) ? PERMANENT : CPU, pick(worker, 3) == 0, pick(worker, 4));
    all[1] = make(worker, CPU, false, 0);
    for (unsigned i = 0; i < SINKS; i++)
        all[i + 2] = make(worker, CPU, false, 0);
    D3DDDI_MAKERESIDENT resident = {.hPagingQueue = worker->queue, .NumAllocations = SINKS + 2, .AllocationList = all};
    EXPECT(ferry_vidmm_make_resident(m, &resident) >= 0);
    for (unsigned i = 0; i < ROUNDS * 2; i++) {
        unsigned sink = pick(worker, SINKS);
        if (pick(worker, 3) != 0) {
            drawn[sink] = worker->seed * 100000 + i + 1;
            draw(worker, all[pick(worker, 2)], all[sink + 2], drawn[sink]);
            worker->done++;
            continue;
        }
        void *address;
        EXPECT(ferry_vidmm_lock(m, all[sink + 2], D3DDDI_LOCK_READ_ONLY, &address) == FERRY_OK);
        const uint32_t *words = address;
        for (uint32_t w = 0; w < PAGES(2) / 4; w += 97)
            EXPECT(words[w] == (drawn[sink] ? world_word(drawn[sink], w) : 0));
        EXPECT(ferry_vidmm_unlock(m, all[sink + 2]) == FERRY_OK);
    }
    for (unsigned i = 0; i < SINKS + 2; i++)
        EXPECT(ferry_vidmm_destroy_allocation(m, all[i]) == FERRY_OK);
    return NULL;
}

static void R239_R243_R247_many_threads_discard_while_their_jobs_run(void **state)
{
    (void)state;
    uint64_t seed = seed_given((uint64_t)time(NULL));
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(96); // 80 are required
    struct world *world = world_open(&options);
    spy.keep = false;
    world->knobs->delay = 9;
    world->knobs->by_place = true;
    struct worker workers[5];
    pthread_t threads[5];
    start_workers(world, workers, 5, seed);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, discard_and_draw, &workers[i]), 0);
    for (unsigned i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(workers[i].failures, 0);
    struct ferry_vidmm_statistics statistics = world_statistics(world);
    printf("  renames %llu stalls %llu\n", (unsigned long long)statistics.renames,
           (unsigned long long)statistics.discard_stalls);
    assert_true(statistics.renames > 50);
    assert_int_equal(statistics.renamed_bytes, 0);
    world_close(world);
}

struct waiter {
    struct world *world;
    uint64_t fence;
    int result;
    atomic_uint turns; // of the wait hook
    atomic_bool served;
};

static void *wait_for_the_slow_job(void *argument)
{
    struct waiter *waiter = argument;
    waiter->result = ferry_vidmm_wait(waiter->world->manager, waiter->world->context, waiter->fence);
    return NULL;
}

#define MANY_TURNS 10000

// The slow job ends when the others have been served; after many turns in any case.
static void count_turns(void *context)
{
    struct waiter *waiter = context;
    if (atomic_fetch_add(&waiter->turns, 1) > MANY_TURNS || atomic_load(&waiter->served))
        waiter->world->knobs->hold_node = 0;
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

// The others call when the waiter is in the middle of it. Whoever has to wait for the end of his wait finds all turns
// taken.
static void a_slow_wait_keeps_nobody_out(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    spy.keep = false;
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &world->context, NULL), FERRY_OK);
    D3DKMT_HANDLE a = world_create(world, PAGES(1), CPU);
    world_require(world, a);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    world->knobs->hold_turns = 1000 * MANY_TURNS;
    struct waiter waiter = {.world = world, .fence = world_gpu_fill(world, a, 0, 64, 1)};
    world->knobs->before_turn = count_turns;
    world->knobs->before_turn_context = &waiter;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_the_slow_job, &waiter), 0);
    while (atomic_load(&waiter.turns) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    for (unsigned i = 0; i < 5; i++) {
        D3DKMT_HANDLE b = world_create(world, PAGES(1), CPU);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, b), FERRY_OK);
    }
    unsigned turns = atomic_load(&waiter.turns);
    atomic_store(&waiter.served, true);
    pthread_join(thread, NULL);
    assert_true(turns < MANY_TURNS);
    assert_int_equal(waiter.result, FERRY_OK);
    world_close(world);
}

#define YIELDS 20000

struct yielder {
    struct ferry_vidmm *manager;
    unsigned name, *last, twice; // last: whose turn it was, under the lock
};

static void *yield_often(void *argument)
{
    struct yielder *yielder = argument;
    ferry_vm_take_lock(yielder->manager);
    for (unsigned i = 0; i < YIELDS; i++) {
        yielder->twice += *yielder->last == yielder->name;
        *yielder->last = yielder->name;
        ferry_vm_yield(yielder->manager);
    }
    *yielder->last = yielder->name;
    ferry_vm_give_lock(yielder->manager);
    return NULL;
}

// Two that let each other in again and again, and both are there before the first does, have every second turn each,
// however the system runs their threads.
static void who_lets_others_in_has_the_turn_behind_them(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_vidmm *manager = world->manager;
    unsigned last = 2;
    struct yielder first = {manager, 0, &last, 0}, second = {manager, 1, &last, 0};
    pthread_t threads[2];
    ferry_vm_take_lock(manager);
    uint64_t tickets = atomic_load(&manager->tickets);
    assert_int_equal(pthread_create(&threads[0], NULL, yield_often, &first), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, yield_often, &second), 0);
    while (atomic_load(&manager->tickets) != tickets + 2)
        sched_yield();
    ferry_vm_give_lock(manager);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(first.twice + second.twice, 0);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_threads_keep_their_content),
                                       cmocka_unit_test(R239_R243_R247_many_threads_discard_while_their_jobs_run),
                                       cmocka_unit_test(a_slow_wait_keeps_nobody_out),
                                       cmocka_unit_test(who_lets_others_in_has_the_turn_behind_them)};
    return WORLD_RUN(tests);
}
