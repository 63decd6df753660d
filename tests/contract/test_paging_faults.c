// SPDX-License-Identifier: Apache-2.0
// A paging buffer that faults: what else is in it belongs to others.
#include <limits.h>
#include <stdio.h>

#include "programs.h"

#define PROGRAMS 3

// The page-ins of three programs in one buffer; `faults` buffers go wrong. How many devices are in error then.
static unsigned broken_after(unsigned faults)
{
    struct world *world = program_world();
    struct program programs[PROGRAMS];
    D3DKMT_HANDLE allocations[PROGRAMS];
    for (unsigned i = 0; i < PROGRAMS; i++) {
        programs[i] = program_begin(world, 1, 0);
        program_become(world, &programs[i]);
        allocations[i] = world_create(world, PAGES(2), CPU);
        world_write(world, allocations[i], i);
    }
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 100000;
    // The first goes out at once, the others share the next buffer.
    for (unsigned i = 0; i < PROGRAMS; i++) {
        program_become(world, &programs[i]);
        assert_int_equal(world_resident(world, &allocations[i], 1), FERRY_PENDING);
    }
    world->knobs->fault_paging = faults;
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 50; i++)
        ferry_vidmm_poll(world->manager, true);
    unsigned broken = 0;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        D3DKMT_DEVICEEXECUTION_STATE device;
        assert_int_equal(ferry_vidmm_device_state(world->manager, programs[i].device, &device), FERRY_OK);
        bool lost = world_place(world, allocations[i]).lost;
        assert_int_equal(device != D3DKMT_DEVICEEXECUTION_ACTIVE, lost);
        broken += lost;
        program_become(world, &programs[i]);
        if (!lost)
            world_check_gpu(world, allocations[i], i);
    }
    assert_int_equal(world_statistics(world).faulted_paging_buffers, faults);
    world_close(world);
    return broken;
}

static void what_shares_a_buffer_that_faults_once_is_built_again_alone(void **state)
{
    (void)state;
    assert_int_equal(broken_after(1), 0);
}

static void only_what_faults_alone_is_lost(void **state)
{
    (void)state;
    assert_int_equal(broken_after(2), 1);
    assert_int_equal(broken_after(3), 2);
}

// The place that two page-outs read has been given away, and the page-in behind them runs: it cannot be read again.
static void a_place_that_was_given_away_meanwhile_is_not_read_again(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE old[2], other = world_create(world, PAGES(60), CPU);
    world_write(world, other, 9);
    for (unsigned i = 0; i < 2; i++) {
        old[i] = world_create(world, PAGES(20), CPU);
        world_write(world, old[i], i);
        world_require(world, old[i]);
        // Newer than any copy elsewhere.
        world_wait(world, world_gpu_copy(world, old[i], 0, old[i], PAGE_SIZE, PAGE_SIZE));
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(world_evict(world, old[i]), FERRY_OK);
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 100000;
    world->knobs->fault_paging = 1;
    assert_int_equal(world_resident(world, &other, 1), FERRY_PENDING);
    for (unsigned i = 0; i < 50; i++)
        ferry_vidmm_poll(world->manager, true);
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 1);
    assert_true(world_place(world, old[0]).lost || world_place(world, old[1]).lost);
    assert_false(world_place(world, other).lost);
    world_check_gpu(world, other, 9);
    world_close(world);
}

// Two programs' page-outs share a buffer, a third one's page-in takes their places. What is not lost is as it was.
static void what_goes_again_does_not_read_what_came_into_its_place(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program programs[3];
    D3DKMT_HANDLE allocations[3];
    for (unsigned i = 0; i < 3; i++) {
        programs[i] = program_begin(world, i == 2 ? 100 : 1, 0);
        program_become(world, &programs[i]);
        allocations[i] = world_create(world, PAGES(i == 2 ? 60 : 20), CPU);
        world_write(world, allocations[i], i);
        if (i == 2)
            break;
        world_require(world, allocations[i]);
        // Newer than any copy elsewhere.
        world_wait(world, world_gpu_copy(world, allocations[i], 0, allocations[i], PAGE_SIZE, PAGE_SIZE));
        world_wait(world, world_gpu_copy(world, allocations[i], 0, allocations[i], PAGE_SIZE, PAGE_SIZE));
        assert_int_equal(world_evict(world, allocations[i]), FERRY_OK);
    }
    world->knobs->fault_paging = 1;
    assert_true(world_resident(world, &allocations[2], 1) >= 0);
    for (unsigned i = 0; i < 50; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 1);
    unsigned wrong = 0;
    for (unsigned i = 0; i < 2; i++) {
        bool lost = world_place(world, allocations[i]).lost;
        void *address;
        if (lost)
            continue;
        assert_int_equal(ferry_vidmm_lock(world->manager, allocations[i], D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        const uint32_t *words = address;
        for (uint64_t word = PAGE_SIZE / 4; word < PAGES(20) / 4; word++)
            wrong += words[word] != world_word(i, word);
        assert_int_equal(ferry_vidmm_unlock(world->manager, allocations[i]), FERRY_OK);
    }
    assert_int_equal(wrong, 0);
    world_close(world);
}

#define NEVER UINT_MAX

// A short page-in and the beginning of a long one share a buffer. The long one fills all that may be in flight, so it
// is still being built when the first buffer comes back. `faults` buffers go wrong from the shared one on, each comes
// back `delay` turns late, and from turn `busy_from` on the miniport answers BUSY.
static void begin_beside(unsigned faults, unsigned delay, unsigned busy_from)
{
    struct world_options options = world_defaults();
    options.manager.paging_buffer_bytes = 2 * machine_least_page_bytes;
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    struct program programs[3];
    D3DKMT_HANDLE allocations[3];
    const uint64_t pages[3] = {2, 1, 40};
    world->knobs->scatter_pages = true;
    for (unsigned i = 0; i < 3; i++) {
        programs[i] = program_begin(world, i == 2 ? 10 : 1, 0);
        program_become(world, &programs[i]);
        allocations[i] = world_create(world, PAGES(pages[i]), CPU);
        world_write(world, allocations[i], i);
    }
    world->knobs->delay = delay;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 100000;
    uint64_t before = world_statistics(world).paging_buffers;
    for (unsigned i = 0; i < 3; i++) {
        // Only the first has gone out alone: the second is in the open buffer, which goes out while the third is
        // queued.
        assert_int_equal(world_statistics(world).paging_buffers, before + (i > 0));
        world->knobs->fault_paging = i == 2 ? faults : 0;
        program_become(world, &programs[i]);
        assert_int_equal(world_resident(world, &allocations[i], 1), FERRY_PENDING);
    }
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 200; i++) {
        if (i == busy_from)
            world->knobs->busy_in_later_pass = true;
        ferry_vidmm_poll(world->manager, true);
    }
    const char *first;
    if (machine_errors(world->machine, &first)) {
        printf("delay %u, BUSY from turn %u on: %s\n", delay, busy_from, first);
        fflush(stdout);
    }
    assert_int_equal(world_statistics(world).faulted_paging_buffers, faults);
    for (unsigned i = 0; i < 3; i++) {
        assert_false(world_place(world, allocations[i]).lost);
        program_become(world, &programs[i]);
        world_check_gpu(world, allocations[i], i);
    }
    world_close(world);
}

static void what_begins_in_a_buffer_that_faults_and_ends_in_another_is_built_again(void **state)
{
    (void)state;
    begin_beside(1, 1, NEVER);
}

// The buffers that go out behind the shared one are all the long one's, and are not looked at any more.
static void faults_of_what_was_taken_back_are_nobodys(void **state)
{
    (void)state;
    begin_beside(3, 1, NEVER);
}

// It is not said to be idle while buffers that name it are still with the device.
static void what_ends_for_nobody_is_not_said_to_be_idle(void **state)
{
    (void)state;
    for (unsigned delay = 1; delay < 8; delay++)
        for (unsigned busy_from = 0; busy_from < 12; busy_from++)
            begin_beside(1, delay, busy_from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_shares_a_buffer_that_faults_once_is_built_again_alone),
        cmocka_unit_test(only_what_faults_alone_is_lost),
        cmocka_unit_test(a_place_that_was_given_away_meanwhile_is_not_read_again),
        cmocka_unit_test(what_goes_again_does_not_read_what_came_into_its_place),
        cmocka_unit_test(what_begins_in_a_buffer_that_faults_and_ends_in_another_is_built_again),
        cmocka_unit_test(faults_of_what_was_taken_back_are_nobodys),
        cmocka_unit_test(what_ends_for_nobody_is_not_said_to_be_idle),
    };
    return WORLD_RUN(tests);
}
