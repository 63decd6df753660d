// SPDX-License-Identifier: Apache-2.0
// What is brought to its end for nobody after a fault is answered BUSY, or was: it is not said to be idle while buffers
// that name it are still with the device.
#include <stdio.h>

#include "programs.h"

// A short page-in and the beginning of a long one share a buffer. The long one fills all that may be in flight, so it
// is still being built when the first buffer comes back. `faults` buffers go wrong from the shared one on.
static void begin_beside(unsigned faults, unsigned delay, unsigned when)
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
        if (i == when)
            world->knobs->busy_in_later_pass = true;
        ferry_vidmm_poll(world->manager, true);
    }
    const char *first;
    if (machine_errors(world->machine, &first)) {
        printf("delay %u, BUSY from turn %u on: %s\n", delay, when, first);
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

static void what_ends_for_nobody_is_not_said_to_be_idle(void **state)
{
    (void)state;
    for (unsigned delay = 1; delay < 8; delay++)
        for (unsigned when = 0; when < 12; when++)
            begin_beside(1, delay, when);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_ends_for_nobody_is_not_said_to_be_idle)};
    return WORLD_RUN(tests);
}
