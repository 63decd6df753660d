// SPDX-License-Identifier: Apache-2.0
// Of programs whose lists do not fit beside each other: who goes for whom, and how long a turn is.
#include "crowd.h"
#include "vidmm/api/manager.h"

static struct ferry_vm_device *device_of(struct world *world, const struct program *program)
{
    return ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_DEVICE, program->device);
}

// A program with so many pages on its list, in place where there is room.
static struct program that_lists(struct world *world, unsigned pages, D3DKMT_HANDLE *allocation)
{
    struct program program = program_begin(world, 1, 0);
    program_become(world, &program);
    *allocation = world_create(world, PAGES(pages), CPU);
    assert_true(list_it(world, &program, *allocation, true) >= 0);
    return program;
}

// Two have jobs in line, and the turns of both are over: one list is enough, and it is that of the one who has had his
// for longer, whether he came first or not.
static void whose_turn_has_been_over_for_longest_goes(void **state)
{
    (void)state;
    for (unsigned older = 0; older < 2; older++) {
        struct world_options options = world_defaults();
        options.manager.turn_cycles = 1;
        struct world *world = world_open(&options);
        world->knobs->delay = 4; // so that time passes
        struct program programs[2];
        D3DKMT_HANDLE allocations[2], wanted;
        for (unsigned i = 0; i < 2; i++) {
            programs[i] = that_lists(world, 24, &allocations[i]);
            assert_int_equal(
                ferry_vidmm_create_context(world->manager, programs[i].device, 1, &programs[i].context, NULL),
                FERRY_OK);
            world->context = programs[i].context;
            world_wait(world, world_gpu_fill(world, allocations[i], 0, (uint32_t)PAGES(4), 1));
        }
        assert_true(now(world) >= 2);
        world->knobs->hold_node = 1;
        for (unsigned i = 0; i < 2; i++) {
            program_become(world, &programs[i]);
            world_gpu_fill(world, allocations[i], 0, 64, 2);
            device_of(world, &programs[i])->turn_start = i == older ? 1 : 2;
        }
        struct program third = that_lists(world, 24, &wanted);
        assert_int_equal(ferry_vidmm_create_context(world->manager, third.device, 2, &third.context, NULL), FERRY_OK);
        world->context = third.context;
        uint64_t fence = world_gpu_fill(world, wanted, 0, 64, 3);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(device_of(world, &programs[i])->away, i == older);
        world->knobs->hold_node = 0;
        world_wait(world, fence);
        world_close(world);
    }
}

// Who has nothing in line, but has had less than the one who asks, may be about to submit: he keeps his list once, and
// not when his turn is over.
static void who_may_be_about_to_submit_is_let_by_once_while_his_turn_lasts(void **state)
{
    (void)state;
    for (unsigned over = 0; over < 2; over++) {
        struct world_options options = world_defaults();
        options.manager.turn_cycles = over ? 1 : UINT64_C(1) << 40;
        struct world *world = world_open(&options);
        world->knobs->delay = 4; // so that time passes
        D3DKMT_HANDLE a, b;
        struct program first = that_lists(world, 40, &a);
        world_wait(world, world_gpu_fill(world, a, 0, (uint32_t)PAGES(4), 1));
        struct program second = that_lists(world, 40, &b);
        struct ferry_vm_device *asks = device_of(world, &second);
        asks->process->gpu_used = device_of(world, &first)->process->gpu_used + 1;
        unsigned node;
        uint64_t number;
        // Its next job, the first time and once more; then another job of it, when the other one is there again.
        for (unsigned job = 0; job < 2; job++) {
            for (unsigned asked = over; asked < 2; asked++) {
                int result = ferry_vm_take_turn(&world->manager->policy, asks, NULL, 0, &node, &number);
                assert_int_equal(result, asked == 0 ? FERRY_PENDING : FERRY_OK);
                assert_int_equal(device_of(world, &first)->away, result == FERRY_OK);
            }
            world_wait(world, world_gpu_fill(world, b, 0, 64, 2));
            program_become(world, &first);
            world_wait(world, world_gpu_fill(world, a, 0, 64, 3));
            program_become(world, &second);
            asks->process->gpu_used = device_of(world, &first)->process->gpu_used + 1;
        }
        world_close(world);
    }
}

// Of who has nothing but what is pinned there is nothing to be had, whether it works or not: it is another one's job
// that is waited for, and its own turn goes on.
static void who_has_nothing_but_what_is_pinned_is_in_nobodys_way(void **state)
{
    (void)state;
    for (unsigned works = 0; works < 2; works++) {
        struct world_options options = world_defaults();
        options.manager.turn_cycles = UINT64_C(1) << 40; // never over by itself
        struct world *world = world_open(&options);
        struct program pins = program_begin(world, 1, 0);
        program_become(world, &pins);
        world_require(world, world_create(world, PAGES(3), CPU | DXGK_ALLOC_FLAG_OVERLAY));
        assert_int_equal(ferry_vidmm_create_context(world->manager, pins.device, 2, &pins.context, NULL), FERRY_OK);
        D3DKMT_HANDLE held, wanted;
        struct program holds = that_lists(world, 40, &held);
        assert_int_equal(ferry_vidmm_create_context(world->manager, holds.device, 1, &holds.context, NULL), FERRY_OK);
        struct program asks = that_lists(world, 40, &wanted);
        program_become(world, &holds);
        world->knobs->delay = 4;
        world->knobs->hold_node = 1;
        uint64_t fence = world_gpu_fill(world, held, 0, 64, 1);
        struct machine_job job = {0};
        machine_job_nothing(&job);
        const struct ferry_vidmm_submission nothing = {.commands = job.commands, .bytes = job.bytes};
        uint64_t pinners = 0, number;
        if (works)
            assert_int_equal(ferry_vidmm_submit(world->manager, pins.context, &nothing, 1, &pinners), FERRY_OK);
        unsigned node;
        assert_int_equal(ferry_vm_take_turn(&world->manager->policy, device_of(world, &asks), NULL, 0, &node, &number),
                         FERRY_PENDING);
        assert_int_equal(node, 1);
        assert_int_equal(number, fence);
        assert_false(device_of(world, &pins)->away);
        // And who asks keeps what it is behind, however long it waits: that was looked at when it began to.
        struct ferry_vm_policy *policy = &world->manager->policy;
        policy->turns_at = UINT64_C(1) << 62;
        uint64_t had = device_of(world, &asks)->process->gpu_used;
        assert_int_equal(ferry_vm_take_turn(policy, device_of(world, &asks), NULL, 0, &node, &number), FERRY_PENDING);
        assert_int_equal(device_of(world, &asks)->process->gpu_used, had);
        ferry_vm_turn_forgo(device_of(world, &asks));
        world->knobs->hold_node = 0;
        world_wait(world, fence);
        if (works)
            assert_int_equal(ferry_vidmm_wait(world->manager, pins.context, pinners), FERRY_OK);
        world_close(world);
    }
}

// While another one waits, who comes back from a moment without jobs goes on with the turn that it has; and whoever
// begins to wait then has had no less than it had when its turn began, but not as much as it has had since.
static void a_turn_is_no_longer_for_its_pauses_while_another_waits(void **state)
{
    (void)state;
    struct world *world = program_world();
    D3DKMT_HANDLE a;
    struct program works = that_lists(world, 4, &a), waits = program_begin(world, 1, 0);
    struct ferry_vm_device *device = device_of(world, &works), *other = device_of(world, &waits);
    unsigned node;
    uint64_t number;
    for (unsigned somebody = 0; somebody < 2; somebody++) {
        if (somebody)
            ferry_vm_list_add(&world->manager->policy.waiting, &other->waiting);
        world_wait(world, world_gpu_fill(world, a, 0, 64, 1));
        assert_int_not_equal(device->turn_start, 0);
        uint64_t began = device->turn_start, had = world->manager->policy.turns_at;
        device->process->gpu_used = had + 5;
        assert_int_equal(ferry_vm_take_turn(&world->manager->policy, device, NULL, 0, &node, &number), FERRY_OK);
        assert_int_equal(device->turn_start, somebody ? began : 0);
        assert_int_equal(world->manager->policy.turns_at, somebody ? had : had + 5);
    }
    ferry_vm_list_remove(&other->waiting);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whose_turn_has_been_over_for_longest_goes),
        cmocka_unit_test(who_may_be_about_to_submit_is_let_by_once_while_his_turn_lasts),
        cmocka_unit_test(who_has_nothing_but_what_is_pinned_is_in_nobodys_way),
        cmocka_unit_test(a_turn_is_no_longer_for_its_pauses_while_another_waits),
    };
    return WORLD_RUN(tests);
}
