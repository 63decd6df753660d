// SPDX-License-Identifier: Apache-2.0
// What a program has used of the GPU, what it may still claim for what it did not use, and who comes when.
#include <stdio.h>

#include "crowd.h"
#include "vidmm/api/manager.h"

// Neither by a program that begins only now, nor by one that has had something in line all the time: who has worked for
// long gets on beside it as well as who has not.
static void gpu_time_is_not_saved_up(void **state)
{
    (void)state;
    for (unsigned trickles = 0; trickles < 2; trickles++) {
        struct beside it = {.devices = OF_THE_HOG, .jobs = 60, .waits = true, .trickles = trickles};
        uint64_t young = shares_beside(it).cycles;
        it.earlier = 1000;
        assert_true(2 * shares_beside(it).cycles <= 3 * young);
    }
}

// Long jobs of one program on one node, short ones of another on another: each is charged for its own, and so much as
// it is told.
static void who_waits_behind_a_neighbours_long_job_is_not_charged_for_it(void **state)
{
    (void)state;
    struct world *world = program_world();
    spy.keep = false;
    struct program programs[2];
    D3DKMT_HANDLE allocations[2];
    for (unsigned i = 0; i < 2; i++) {
        programs[i] = program_begin(world, 1, 0);
        assert_int_equal(
            ferry_vidmm_create_context(world->manager, programs[i].device, i + 1, &programs[i].context, NULL),
            FERRY_OK);
        program_become(world, &programs[i]);
        allocations[i] = world_create(world, PAGES(20), CPU);
        world_require(world, allocations[i]);
    }
    world->knobs->delay = 1;
    uint64_t fences[2];
    for (unsigned n = 0; n < 30; n++) {
        for (unsigned i = 0; i < 2; i++) {
            program_become(world, &programs[i]);
            fences[i] = world_gpu_fill(world, allocations[i], 0, i == 0 ? (uint32_t)PAGES(20) : 4, n);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        program_become(world, &programs[i]);
        world_wait(world, fences[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct ferry_vm_process *process =
            ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_PROCESS, programs[i].process);
        assert_int_equal(process->gpu_used / FERRY_VIDMM_MAX_WEIGHT,
                         statistics_of(world, programs[i].process).gpu_cycles);
    }
    world_close(world);
}

// Two programs, each on a node of its own, and the first has as many jobs in line as there may be.
static void a_full_line_on_one_node_keeps_nobody_on_another_waiting(void **state)
{
    (void)state;
    for (unsigned first = 1; first <= 2; first++) {
        struct world *world = program_world();
        struct program programs[2];
        D3DKMT_HANDLE allocations[2];
        for (unsigned i = 0; i < 2; i++) {
            programs[i] = program_begin(world, 1, 0);
            assert_int_equal(ferry_vidmm_create_context(world->manager, programs[i].device, i == 0 ? first : 3 - first,
                                                        &programs[i].context, NULL),
                             FERRY_OK);
            program_become(world, &programs[i]);
            allocations[i] = world_create(world, PAGES(1), CPU);
            world_require(world, allocations[i]);
        }
        world->knobs->delay = 4;
        program_become(world, &programs[0]);
        for (unsigned i = 0; i < 60; i++)
            world_gpu_fill(world, allocations[0], 0, 64, i);
        program_become(world, &programs[1]);
        uint64_t fence = world_gpu_fill(world, allocations[1], 0, 64, 1), done = 0, before = 0;
        // Nothing that comes later goes before it, however long that goes on.
        program_become(world, &programs[0]);
        for (unsigned i = 0; i < 100 && done < fence; i++) {
            world_gpu_fill(world, allocations[0], 0, 64, i);
            before = statistics_of(world, programs[0].process).jobs;
            assert_int_equal(ferry_vidmm_completed(world->manager, programs[1].context, &done), FERRY_OK);
        }
        assert_int_equal(done, fence);
        assert_true(before < 70);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_time_is_not_saved_up),
        cmocka_unit_test(who_waits_behind_a_neighbours_long_job_is_not_charged_for_it),
        cmocka_unit_test(a_full_line_on_one_node_keeps_nobody_on_another_waiting),
    };
    return WORLD_RUN(tests);
}
