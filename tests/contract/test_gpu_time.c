// SPDX-License-Identifier: Apache-2.0
// What a program has used of the GPU, what it may still claim for what it did not use, and who comes when.
#include <stdio.h>

#include "crowd.h"
#include "vidmm/api/manager.h"

// Neither by a program that begins only now, nor by one that has had something in line all the time: who has worked for
// long gets on beside it as well as who has not, whatever that was.
static void gpu_time_is_not_saved_up(void **state)
{
    (void)state;
    for (unsigned trickles = 0; trickles < 2; trickles++) {
        struct beside it = {.devices = OF_THE_HOG, .jobs = 60, .waits = true, .trickles = trickles};
        uint64_t young = shares_beside(it).cycles;
        it.earlier = 600;
        for (it.on = trickles ? EARLIER_NOTHING : EARLIER_PINNED; it.on <= EARLIER_NOTHING; it.on++)
            assert_true(2 * shares_beside(it).cycles <= 3 * young);
        it.on = EARLIER_IN_TURNS;
        it.earlier = 150;
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
    // For turns it counts while somebody waits for his.
    struct program third = program_begin(world, 1, 0);
    struct ferry_vm_device *waits = ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_DEVICE, third.device);
    ferry_vm_list_add(&world->manager->policy.waiting, &waits->waiting);
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
    ferry_vm_list_remove(&waits->waiting);
    world_close(world);
}

// The second program, on the later node, has the long jobs. Both have ended before anybody looks.
static void who_is_looked_at_first_is_not_charged_for_the_other(void **state)
{
    (void)state;
    struct world *world = program_world();
    spy.keep = false;
    struct program programs[2];
    D3DKMT_HANDLE allocations[2];
    struct ferry_vidmm_platform platform = machine_platform(world->machine);
    for (unsigned i = 0; i < 2; i++) {
        programs[i] = program_begin(world, 1, 0);
        assert_int_equal(
            ferry_vidmm_create_context(world->manager, programs[i].device, i + 1, &programs[i].context, NULL),
            FERRY_OK);
        program_become(world, &programs[i]);
        allocations[i] = world_create(world, PAGES(20), CPU);
        world_require(world, allocations[i]);
        world_wait(world, world_gpu_fill(world, allocations[i], 0, 4, 1));
    }
    world->knobs->delay = 4;
    for (unsigned n = 0; n < 10; n++) {
        uint64_t fences[2];
        for (unsigned i = 2; i-- > 0;) {
            program_become(world, &programs[i]);
            fences[i] = world_gpu_fill(world, allocations[i], 0, i == 1 ? (uint32_t)PAGES(20) : 4, n);
        }
        // The processor is busy with other things meanwhile.
        for (unsigned turn = 0; turn < 20; turn++)
            (void)platform.wait_for_progress(platform.context);
        for (unsigned i = 0; i < 2; i++) {
            program_become(world, &programs[i]);
            world_wait(world, fences[i]);
        }
    }
    for (unsigned i = 0; i < 2; i++)
        assert_true(statistics_of(world, programs[i].process).gpu_cycles != 0);
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

// ---- One turn, and the next ----

// It may be about to submit: it is let by, once in each turn of who waits.
static void who_let_another_by_does_so_again_in_his_next_turn(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.turn_cycles = UINT64_C(1) << 40;
    struct world *world = world_open(&options);
    struct ferry_vm_policy *policy = &world->manager->policy;
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    struct program programs[] = {program_begin(world, 1, 0), program_begin(world, 1, 0)};
    struct ferry_vm_device *devices[2];
    unsigned node;
    uint64_t number;
    for (unsigned i = 0; i < 2; i++) {
        program_become(world, &programs[i]);
        assert_true(list_it(world, &programs[i], world_create(world, PAGES(40), CPU), true) >= 0);
        devices[i] = ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_DEVICE, programs[i].device);
    }
    devices[1]->process->gpu_used = 100;
    for (unsigned turn = 0; turn < 3; turn++) {
        assert_int_equal(ferry_vm_take_turn(policy, devices[0], NULL, 0, &node, &number), FERRY_OK);
        devices[0]->turn_start = 1;
        assert_int_equal(ferry_vm_take_turn(policy, devices[1], NULL, 0, &node, &number), FERRY_PENDING);
        assert_int_equal(ferry_vm_take_turn(policy, devices[1], NULL, 0, &node, &number), FERRY_OK);
    }
    world_close(world);
}

static uint64_t time_now;

static uint64_t told_time(void *context)
{
    (void)context;
    return time_now;
}

// Nobody lets by whose turn is over, which it is when all of its cycles have passed.
static void a_turn_lasts_its_cycles_and_no_longer(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.turn_cycles = 100;
    for (time_now = 1098; time_now <= 1101; time_now++) {
        struct world *world = world_open(&options);
        struct ferry_vm_device *devices[2];
        unsigned node;
        uint64_t number;
        assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
        for (unsigned i = 0; i < 2; i++) {
            struct program program = program_begin(world, 1, 0);
            program_become(world, &program);
            assert_true(list_it(world, &program, world_create(world, PAGES(40), CPU), true) >= 0);
            devices[i] = ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_DEVICE, program.device);
        }
        devices[1]->process->gpu_used = 100;
        devices[0]->turn_start = 1000 + 1; // It began at 1000.
        uint64_t (*gpu_time)(void *context) = world->manager->core.platform.gpu_time;
        world->manager->core.platform.gpu_time = told_time;
        assert_int_equal(ferry_vm_take_turn(&world->manager->policy, devices[1], NULL, 0, &node, &number),
                         time_now < 1100 ? FERRY_PENDING : FERRY_OK);
        world->manager->core.platform.gpu_time = gpu_time;
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_time_is_not_saved_up),
        cmocka_unit_test(who_waits_behind_a_neighbours_long_job_is_not_charged_for_it),
        cmocka_unit_test(who_is_looked_at_first_is_not_charged_for_the_other),
        cmocka_unit_test(a_full_line_on_one_node_keeps_nobody_on_another_waiting),
        cmocka_unit_test(who_let_another_by_does_so_again_in_his_next_turn),
        cmocka_unit_test(a_turn_lasts_its_cycles_and_no_longer),
    };
    return WORLD_RUN(tests);
}
