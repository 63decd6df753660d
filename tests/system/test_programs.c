// SPDX-License-Identifier: Apache-2.0
// Several programs on one adapter, through the public interface.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "system.h"

#define MEMORY (1u << 20) // of the adapter

struct told {
    unsigned times;
    struct ferry_memory_info last;
};

static void listen(void *context, enum ferry_memory_group group, const struct ferry_memory_info *info)
{
    struct told *told = context;

    if (group != FERRY_MEMORY_LOCAL)
        return;
    told->times++;
    told->last = *info;
}

static struct ferry_process *begin(struct ferry_adapter *adapter, uint32_t weight, uint64_t reservation,
                                   struct told *told, struct ferry_device **device)
{
    struct ferry_process_options options = {.size = sizeof options,
                                            .weight = weight,
                                            .reservation_bytes = reservation,
                                            .callback = told ? listen : NULL,
                                            .context = told};
    struct ferry_process *process;

    ok(ferry_process_create(adapter, &options, &process));
    ok(ferry_process_create_device(process, device));
    assert_true(ferry_process_id(process) != 0);
    return process;
}

static struct ferry_memory_info memory_of(struct ferry_process *process)
{
    struct ferry_memory_info info = {.size = sizeof info};

    ok(ferry_process_memory(process, FERRY_MEMORY_LOCAL, &info));
    return info;
}

// A program told when the adapter closes would be told on this test's stack, which is gone by then.
static void budgets_follow_weights_and_who_has_more_is_told(void **state)
{
    struct bench *b = *state;
    struct told told = {0};
    struct ferry_device *one, *two;
    struct ferry_process *first = begin(b->adapter, 1, 0, &told, &one);
    struct ferry_allocation *a = make(one, MEMORY / 4, VISIBLE), *more = make(one, MEMORY / 2, VISIBLE);

    // The bench's own device is of no program, which counts as one.
    assert_int_equal(memory_of(first).budget, MEMORY / 2);
    must_be_resident(one, &a, 1);
    assert_int_equal(memory_of(first).usage, MEMORY / 4);
    struct ferry_process *second = begin(b->adapter, 6, 0, NULL, &two);
    assert_int_equal(told.last.budget, MEMORY / 8);
    assert_int_equal(told.last.usage, MEMORY / 4);
    assert_int_equal(told.last.bytes_to_trim, MEMORY / 8);
    assert_int_equal(memory_of(second).budget, MEMORY / 8 * 6);
    assert_int_equal(memory_of(first).bytes_to_trim, MEMORY / 8);
    // Nothing new: not refused, and told the newest.
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &a, .count = 1};
    assert_true(ferry_make_resident(one, &residency) >= 0);
    assert_int_equal(residency.bytes_to_trim, MEMORY / 8);
    residency.allocations = &more;
    assert_int_equal(ferry_make_resident(one, &residency), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(residency.bytes_to_trim, MEMORY / 8 * 5);
    residency.allocations = &a;
    ok(ferry_evict(one, &residency));
    assert_int_equal(residency.bytes_to_trim, MEMORY / 8);
    ok(ferry_evict(one, &residency));
    assert_int_equal(residency.bytes_to_trim, 0);
    unsigned times = told.times;
    ok(ferry_process_set_weight(first, 7));
    assert_int_equal(told.times, times + 1);
    assert_int_equal(told.last.budget, MEMORY / 2);
    ok(ferry_process_set_reservation(second, MEMORY / 2));
    assert_int_equal(memory_of(second).budget, MEMORY / 2);
    assert_int_equal(memory_of(second).reservation, MEMORY / 2);
    assert_int_equal(memory_of(first).available_for_reservation, 0);
    assert_int_equal(ferry_process_set_reservation(first, 4096), FERRY_ERROR_NO_VIDEO_MEMORY);
    ok(ferry_process_destroy(second));
    assert_int_equal(told.last.budget, MEMORY / 8 * 7);
}

static void a_killed_program_leaves_nothing_and_its_handles_are_gone(void **state)
{
    struct bench *b = *state;
    struct ferry_device *device, *second;
    struct ferry_queue *queue;
    struct ferry_process *process = begin(b->adapter, 1, 0, NULL, &device);
    struct ferry_allocation *theirs = make(device, 300000, VISIBLE), *mine = make(b->device, 300000, VISIBLE);
    struct ferry_memory_info info = {.size = sizeof info};
    struct ferry_statistics before = {.size = sizeof before}, after = {.size = sizeof after};
    uint64_t fence, last = 0;

    ok(ferry_process_create_device(process, &second));
    ok(ferry_queue_create(device, &queue));
    write_content(mine, 300000, 3);
    must_be_resident(b->device, &mine, 1);
    ok(ferry_adapter_statistics(b->adapter, &before));
    must_be_resident(device, &theirs, 1);
    // A handle of another program's.
    assert_int_equal(ferry_queue_fill(b->queue, theirs, 0, 4, 0, 4), FERRY_ERROR_FOREIGN);
    assert_int_equal(make_resident(b->device, &theirs, 1), FERRY_ERROR_FOREIGN);
    for (int i = 0; i < 6; i++) {
        ok(ferry_queue_fill(queue, theirs, 0, 300000, (uint64_t)i, 8));
        ok(ferry_queue_submit(queue, &fence));
        ok(ferry_queue_copy(b->queue, mine, 100000, mine, 0, 50000));
        ok(ferry_queue_submit(b->queue, &last));
    }
    struct ferry_process_usage used = {.size = sizeof used};
    ok(ferry_queue_wait(queue, fence));
    ok(ferry_process_statistics(process, &used));
    assert_int_equal(used.jobs, 6);
    assert_true(used.gpu_cycles > 0 && used.gpu_cycles <= used.last_job);
    assert_int_equal(used.bytes_in + used.bytes_filled, (300000 + 4095) / 4096 * 4096);
    assert_int_equal(used.bytes_out, 0);
    ok(ferry_queue_fill(queue, theirs, 0, 300000, 7, 8));
    ok(ferry_queue_submit(queue, &fence));
    ok(ferry_process_destroy(process));
    assert_int_equal(ferry_process_statistics(process, &used), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_process_destroy(process), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_process_memory(process, FERRY_MEMORY_LOCAL, &info), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_process_create_device(process, &second), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_process_id(process), 0);
    assert_int_equal(ferry_device_destroy(device), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_allocation_id(theirs), 0);
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_ERROR_HANDLE);
    ok(ferry_queue_wait(b->queue, last));
    ok(ferry_adapter_statistics(b->adapter, &after));
    assert_int_equal(after.resident_bytes, before.resident_bytes);
    assert_int_equal(after.faults, 0);
    uint8_t *address;
    ok(ferry_lock(mine, FERRY_LOCK_READ_ONLY, (void **)&address));
    for (uint32_t i = 0; i < 300000; i++)
        assert_int_equal(address[i], content(3, i >= 100000 && i < 150000 ? i - 100000 : i));
    ok(ferry_unlock(mine));
}

static void bad_arguments(void **state)
{
    struct bench *b = *state;
    struct ferry_process_options options = {.size = sizeof options};
    struct ferry_memory_info info = {.size = sizeof info};
    struct ferry_process *process;
    struct ferry_device *device;

    assert_int_equal(ferry_process_create(NULL, NULL, &process), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_process_create(b->adapter, NULL, NULL), FERRY_ERROR_ARGUMENT);
    options.weight = 10001;
    assert_int_equal(ferry_process_create(b->adapter, &options, &process), FERRY_ERROR_ARGUMENT);
    assert_null(process);
    options.weight = 10000;
    options.reservation_bytes = 5;
    assert_int_equal(ferry_process_create(b->adapter, &options, &process), FERRY_ERROR_ARGUMENT);
    options.reservation_bytes = MEMORY;
    assert_int_equal(ferry_process_create(b->adapter, &options, &process), FERRY_ERROR_NO_VIDEO_MEMORY);
    options.size++;
    assert_int_equal(ferry_process_create(b->adapter, &options, &process), FERRY_ERROR_ARGUMENT);
    ok(ferry_process_create(b->adapter, NULL, &process));
    assert_int_equal(ferry_process_set_weight(process, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_process_set_weight((struct ferry_process *)b->device, 1), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_process_set_reservation(process, 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_process_memory(process, (enum ferry_memory_group)2, &info), FERRY_ERROR_ARGUMENT);
    info.size = 1;
    assert_int_equal(ferry_process_memory(process, FERRY_MEMORY_LOCAL, &info), FERRY_ERROR_ARGUMENT);
    struct ferry_process_usage used = {.size = 8};
    assert_int_equal(ferry_process_statistics(process, &used), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_process_statistics(process, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_process_create_device(process, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_process_create_device(NULL, &device), FERRY_ERROR_HANDLE);
    // The adapter ends with the process still there.
}

// ---- Who waits for his turn keeps nobody out ------------------------------------------------------------------------

struct bystander {
    struct ferry_process *process;
    atomic_bool submitting;
    atomic_int ended, ended_when_served; // jobs of the program whose turn it is, while the other one's submit waits
};

static void slow_gpu(void *context, const struct ferry_event *event)
{
    struct bystander *b = context;

    if (event->kind != FERRY_EVENT_JOB_END || !b->submitting)
        return;
    b->ended++;
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
}

static void *ask(void *context)
{
    struct bystander *b = context;

    while (b->ended == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    memory_of(b->process);
    b->ended_when_served = b->ended;
    return NULL;
}

static void a_submit_that_waits_for_its_turn_lets_others_in(void **state)
{
    struct ferry_adapter *adapter = open_adapter(2 << 20);
    struct bystander b = {0};
    struct ferry_device *waiting, *running;
    pthread_t thread;
    uint64_t fence;

    (void)state;
    begin(adapter, 1, 0, NULL, &waiting);
    begin(adapter, 1, 0, NULL, &running);
    ok(ferry_process_create(adapter, NULL, &b.process));
    struct ferry_allocation *a = make(waiting, 3 << 19, VISIBLE), *c = make(running, 3 << 19, VISIBLE);
    struct ferry_residency list = {.size = sizeof list, .allocations = &a, .count = 1, .cant_trim_further = true};
    assert_true(ferry_make_resident(waiting, &list) >= 0);
    list.allocations = &c;
    assert_true(ferry_make_resident(running, &list) >= 0);
    struct ferry_queue *first, *second;
    ok(ferry_queue_create(waiting, &first));
    ok(ferry_queue_create(running, &second));
    for (unsigned i = 0; i < 60; i++) {
        ok(ferry_queue_fill(second, c, 0, 1 << 17, i, 4));
        ok(ferry_queue_submit(second, &fence));
    }
    ok(ferry_adapter_observe(adapter, slow_gpu, &b));
    assert_int_equal(pthread_create(&thread, NULL, ask, &b), 0);
    ok(ferry_queue_fill(first, a, 0, 4096, 7, 4));
    b.submitting = true;
    ok(ferry_queue_submit(first, &fence));
    b.submitting = false;
    int waited = b.ended;
    pthread_join(thread, NULL);
    ok(ferry_adapter_observe(adapter, NULL, NULL));
    ferry_adapter_close(adapter);
    // It stood before the adapter after the first of them.
    assert_true(waited > 10);
    assert_in_range(b.ended_when_served, 1, 5);
}

// ---- Programs that submit at once -----------------------------------------------------------------------------------

enum { PROGRAMS = 3, OWNED = 6, PIECE = 1 << 17 };

struct player {
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *owned[OWNED];
    uint32_t holds[OWNED]; // each word of it
    uint64_t random;
    unsigned wrong, failed;
};

static uint32_t chance(struct player *player, uint32_t below)
{
    return draw_below(&player->random, below);
}

static void look_at(struct player *player, unsigned number)
{
    void *address;

    if (ferry_lock(player->owned[number], FERRY_LOCK_READ_ONLY, &address) < 0) {
        player->failed++;
        return;
    }
    for (uint32_t i = 0; i < PIECE / 4; i++)
        player->wrong += ((const uint32_t *)address)[i] != player->holds[number];
    player->failed += ferry_unlock(player->owned[number]) < 0;
}

static void *play(void *context)
{
    struct player *player = context;
    uint64_t fence = 0;

    for (unsigned round = 0; round < rounds(15, 30); round++) {
        unsigned to = chance(player, OWNED), from = chance(player, OWNED);
        player->holds[to] = 1 + chance(player, 1u << 30);
        player->failed += ferry_queue_fill(player->queue, player->owned[to], 0, PIECE, player->holds[to], 4) < 0;
        if (to != from) {
            player->failed += ferry_queue_copy(player->queue, player->owned[from], 0, player->owned[to], 0, PIECE) < 0;
            player->holds[from] = player->holds[to];
        }
        player->failed += ferry_queue_submit(player->queue, &fence) < 0;
        if (chance(player, 6) == 0)
            look_at(player, chance(player, OWNED));
    }
    player->failed += ferry_queue_wait(player->queue, fence) < 0;
    for (unsigned i = 0; i < OWNED; i++)
        look_at(player, i);
    return NULL;
}

// Their lists together are more than twice what there is, so that each job of one may put another's away: no job is
// refused, and each finds its own content, whoever was there in between.
static void programs_that_submit_at_once_keep_their_content(void **state)
{
    struct ferry_adapter *adapter = open_adapter(MEMORY);
    struct player players[PROGRAMS] = {0};
    pthread_t threads[PROGRAMS];
    struct ferry_statistics statistics = {.size = sizeof statistics};

    (void)state;
    say_random();
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct player *player = &players[i];
        begin(adapter, 1 + i, 0, NULL, &player->device);
        ok(ferry_queue_create(player->device, &player->queue));
        player->random = seed * PROGRAMS + i;
        for (unsigned n = 0; n < OWNED; n++)
            player->owned[n] = make(player->device, PIECE, VISIBLE);
        struct ferry_residency list = {
            .size = sizeof list, .allocations = player->owned, .count = OWNED, .cant_trim_further = true};
        assert_true(ferry_make_resident(player->device, &list) >= 0);
    }
    for (unsigned i = 0; i < PROGRAMS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
    for (unsigned i = 0; i < PROGRAMS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        assert_int_equal(players[i].failed, 0);
        assert_int_equal(players[i].wrong, 0);
    }
    ok(ferry_adapter_statistics(adapter, &statistics));
    assert_true(statistics.evictions > OWNED); // they were in each other's way, even if one ended before the next began
    ferry_adapter_close(adapter);
}

// ---- Two calls that destroy the same device
// -----------------------------------------------------------------------------

struct ender {
    struct ferry_device *device;
    int result;
};

static void *end_device(void *context)
{
    struct ender *ender = context;

    ender->result = ferry_device_destroy(ender->device);
    return NULL;
}

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Its jobs take long, and another call waits for them. Whoever ends the program waits for that call, and sleeps.
static void a_program_ends_behind_the_call_that_destroys_its_device(void **state)
{
    struct ferry_adapter *adapter = open_adapter(16 << 20);
    struct bystander b = {0};
    struct ender ender = {0};
    struct ferry_device *other;
    struct ferry_queue *queue;
    pthread_t thread;
    uint64_t fence;

    (void)state;
    struct ferry_process *process = begin(adapter, 1, 0, NULL, &ender.device);
    ok(ferry_process_create_device(process, &other));
    ok(ferry_queue_create(ender.device, &queue));
    struct ferry_allocation *a = make(ender.device, 1 << 20, VISIBLE), *c = make(other, 4096, VISIBLE);
    must_be_resident(ender.device, &a, 1);
    for (unsigned i = 0; i < 60; i++) {
        ok(ferry_queue_fill(queue, a, 0, 1 << 17, i, 4));
        ok(ferry_queue_submit(queue, &fence));
    }
    ok(ferry_adapter_observe(adapter, slow_gpu, &b));
    b.submitting = true;
    assert_int_equal(pthread_create(&thread, NULL, end_device, &ender), 0);
    while (b.ended < 2)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    double wall = seconds(CLOCK_MONOTONIC), worked = seconds(CLOCK_THREAD_CPUTIME_ID);
    ok(ferry_process_destroy(process));
    worked = seconds(CLOCK_THREAD_CPUTIME_ID) - worked;
    wall = seconds(CLOCK_MONOTONIC) - wall;
    pthread_join(thread, NULL);
    b.submitting = false;
    ok(ferry_adapter_observe(adapter, NULL, NULL));
    assert_int_equal(ender.result, FERRY_OK);
    assert_int_equal(b.ended, 60);
    assert_int_equal(ferry_allocation_id(c), 0);
    assert_int_equal(ferry_device_destroy(other), FERRY_ERROR_HANDLE);
    assert_true(wall > 0.05);
    assert_true(worked < wall / 10);
    ferry_adapter_close(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(budgets_follow_weights_and_who_has_more_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_killed_program_leaves_nothing_and_its_handles_are_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_arguments, setup, teardown),
        cmocka_unit_test(a_submit_that_waits_for_its_turn_lets_others_in),
        cmocka_unit_test(programs_that_submit_at_once_keep_their_content),
        cmocka_unit_test(a_program_ends_behind_the_call_that_destroys_its_device),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
