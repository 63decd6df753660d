// SPDX-License-Identifier: Apache-2.0
// What a reset cuts of jobs and paging that are not to blame goes on where it was, or again from its start, and in its
// order; or ends where that cannot be. What is with the device ends when all of it is reset.
#include "players.h"
#include "vidmm/api/manager.h"

// A swap in four copies: each writes over what an earlier one has read, so none may run twice.
static uint64_t swap_on(struct world *world, D3DKMT_HANDLE context, const D3DKMT_HANDLE pair[2], D3DKMT_HANDLE between)
{
    struct machine_job job = {0};
    machine_job_copy(&job, 2, 0, 0, 0, (uint32_t)PAGES(2));
    machine_job_copy(&job, 0, 0, 1, 0, (uint32_t)PAGES(2));
    machine_job_copy(&job, 1, 0, 2, 0, (uint32_t)PAGES(1));
    machine_job_copy(&job, 1, PAGES(1), 2, PAGES(1), (uint32_t)PAGES(1));
    struct ferry_vidmm_reference references[] = {{pair[0], true}, {pair[1], true}, {between, true}};
    return world_submit(world, context, &job, references, 3);
}

// Something hangs while one of two jobs is in the middle of its commands. Nobody is to blame, and each runs to its end.
static void a_job_that_a_reset_cuts_goes_on_where_it_was(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct player player[2] = {player_open(world), player_open(world)};
    D3DKMT_HANDLE list[2][3];
    uint64_t fence[2];
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 3; k++)
            list[i][k] = create_filled(world, player[i].device, PAGES(2), 100 * i + k);
        D3DDDI_MAKERESIDENT arguments = {
            .hPagingQueue = player[i].queue, .NumAllocations = 3, .AllocationList = list[i]};
        assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
        assert_int_equal(ferry_vidmm_wait_paging(world->manager, player[i].queue, arguments.PagingFenceValue),
                         FERRY_OK);
    }
    world->knobs->delay = 1;
    for (unsigned commands = 1; commands < 4; commands++) {
        world->knobs->hang_inside = commands;
        for (unsigned i = 0; i < 2; i++)
            fence[i] = swap_on(world, player[i].context, list[i], list[i][2]);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(ferry_vidmm_wait(world->manager, player[i].context, fence[i]), FERRY_OK);
        assert_int_equal(world->knobs->hang_inside, 0);
        assert_int_equal(world_statistics(world).faulted_jobs, 0);
        for (unsigned i = 0; i < 2; i++) {
            expect_words(world, list[i][0], 100 * i + commands % 2, PAGES(2));
            expect_words(world, list[i][1], 100 * i + 1 - commands % 2, PAGES(2));
        }
    }
    world_close(world);
}

// A copy that overlaps itself is cut inside, whichever way it goes: what it wrote over it cannot read again.
static void a_copy_over_itself_that_a_reset_cuts_goes_on_with_the_rest(void **state)
{
    (void)state;
    for (unsigned up = 0; up < 2; up++) {
        struct world *world = world_open_default();
        struct player player[2] = {player_open(world), player_open(world)};
        const uint32_t words = PAGES(8) / 4, moved = PAGES(6) / 4 - 25, from = up ? 300 : 0, to = up ? 0 : 300;
        D3DKMT_HANDLE allocation[2];
        uint64_t fence[2];
        for (unsigned i = 0; i < 2; i++) {
            allocation[i] = create_filled(world, player[i].device, PAGES(8), 0);
            world_write(world, allocation[i], i + 1);
            D3DDDI_MAKERESIDENT arguments = {
                .hPagingQueue = player[i].queue, .NumAllocations = 1, .AllocationList = &allocation[i]};
            assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
            assert_int_equal(ferry_vidmm_wait_paging(world->manager, player[i].queue, arguments.PagingFenceValue),
                             FERRY_OK);
        }
        world->knobs->delay = 1;
        world->knobs->hang_in_copy = 2 * PAGE_SIZE;
        for (unsigned i = 0; i < 2; i++) {
            struct machine_job job = {0};
            machine_job_copy(&job, 0, 4 * to, 0, 4 * from, 4 * moved);
            struct ferry_vidmm_reference reference = {allocation[i], true};
            fence[i] = world_submit(world, player[i].context, &job, &reference, 1);
        }
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(ferry_vidmm_wait(world->manager, player[i].context, fence[i]), FERRY_OK);
        assert_int_equal(world->knobs->hang_in_copy, 0);
        assert_int_equal(world_statistics(world).faulted_jobs, 0);
        for (unsigned i = 0; i < 2; i++) {
            void *address;
            assert_int_equal(ferry_vidmm_lock(world->manager, allocation[i], D3DDDI_LOCK_READ_ONLY, &address),
                             FERRY_OK);
            for (uint32_t k = 0; k < words; k++)
                assert_int_equal(((const uint32_t *)address)[k],
                                 world_word(i + 1, k >= to && k < to + moved ? k - to + from : k));
            assert_int_equal(ferry_vidmm_unlock(world->manager, allocation[i]), FERRY_OK);
        }
        world_close(world);
    }
}

static void what_a_reset_aborts_of_paging_is_built_again(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.sub_transfer_bytes = PAGE_SIZE;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create(world, PAGES(30), CPU), b = world_create(world, PAGES(40), CPU);
    world_write(world, a, 1);
    world_write(world, b, 2);
    world->knobs->delay = 1;
    // Page-in.
    world->knobs->hang = true;
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &a};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, arguments.PagingFenceValue), FERRY_OK);
    assert_false(world->knobs->hang);
    world_check_gpu(world, a, 1);
    // Page-out, and a page-in into the place that it frees: in this order again.
    world_wait(world, world_gpu_copy(world, a, PAGE_SIZE, a, 0, PAGE_SIZE));
    world_wait(world, world_gpu_copy(world, a, 0, a, PAGES(2), PAGE_SIZE));
    assert_int_equal(world_evict(world, a), FERRY_OK);
    world->knobs->hang = world->knobs->late_abort = true;
    arguments.AllocationList = &b;
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, arguments.PagingFenceValue), FERRY_OK);
    assert_false(world->knobs->hang);
    world_check_gpu(world, b, 2);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    for (uint64_t i = 0; i < PAGES(30) / 4; i++) {
        uint64_t page = i / (PAGE_SIZE / 4), at = i % (PAGE_SIZE / 4);
        uint64_t from = page == 0 ? 2 : page == 1 ? 0 : page;
        assert_int_equal(((const uint32_t *)address)[i], world_word(1, from * (PAGE_SIZE / 4) + at));
    }
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    assert_false(world_place(world, a).lost);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 0);
    world_close(world);
}

// Whichever node is reset first: what is with the device ends, also where one reset cuts all nodes, and what is not
// runs.
static void a_reset_of_all_nodes_ends_what_is_with_the_device(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE contexts[2], allocations[4];
    uint64_t fences[4];
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1 + i, &contexts[i], NULL),
                         FERRY_OK);
    for (unsigned i = 0; i < 4; i++) {
        allocations[i] = world_create(world, PAGES(1), CPU);
        world_require(world, allocations[i]);
    }
    world->knobs->delay = 1;
    world->knobs->hang = true;
    ferry_vidmm_poll(world->manager, true); // it does, from now on
    for (unsigned i = 0; i < 4; i++) {
        world->context = contexts[i % 2];
        fences[i] = world_gpu_fill(world, allocations[i], 0, (uint32_t)PAGES(1), 0xAB0B0B0B);
    }
    assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
    // One place with the device is paging's, so the last job had not gone out.
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(ferry_vidmm_wait(world->manager, contexts[i % 2], fences[i]),
                         i < 3 ? FERRY_ERROR_FAULT : FERRY_OK);
    expect_words(world, allocations[3], 0xAB0B0B0B, PAGES(1));
    world_close(world);
}

static void say_it_is_cut(struct world *world, unsigned node, uint64_t fence)
{
    struct ferry_vm_sched *sched = &world->manager->sched;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_FAULTED};
    data.DmaFaulted.FaultedFenceId = (UINT)fence;
    data.DmaFaulted.NodeOrdinal = node;
    data.DmaFaulted.Status = STATUS_GRAPHICS_TRY_AGAIN_NOW;
    sched->interface.DxgkCbNotifyInterrupt(sched->interface.DeviceHandle, &data);
}

// As when a reset of another node has cut it.
static void told_as_cut(struct world *world, unsigned node, uint64_t fence)
{
    world->manager->sched.nodes[node].disturbed = fence;
    say_it_is_cut(world, node, fence);
}

// What stands behind it in the device's ring runs first, so it cannot go again in its order: it ends, and is not said
// to have run.
static void what_is_cut_does_not_go_again_behind_what_the_device_still_has(void **state)
{
    (void)state;
    for (unsigned behind = 0; behind < 2; behind++) {
        struct world *world = world_open_default();
        const struct ferry_vm_node *node = &world->manager->sched.nodes[1];
        D3DKMT_HANDLE a = world_create(world, PAGES(1), CPU), b = world_create(world, PAGES(1), CPU);
        world_require(world, a);
        world_require(world, b);
        assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &world->context, NULL), FERRY_OK);
        world->knobs->delay = 1;
        world->knobs->hold_node = 1;
        uint64_t fence = world_gpu_fill(world, a, 0, (uint32_t)PAGES(1), 0xAB0B0B0B);
        if (behind)
            (void)world_gpu_fill(world, b, 0, (uint32_t)PAGES(1), 0x16161616);
        assert_int_equal(node->in_flight, 1 + behind);
        told_as_cut(world, 1, node->submitted - behind);
        world->manager->sched.interface.DxgkCbNotifyDpc(&world->manager->sched);
        world->knobs->hold_node = 0;
        assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence),
                         behind ? FERRY_ERROR_FAULT : FERRY_OK);
        assert_int_equal(node->submitted, 2);
        if (behind)
            world_wait(world, fence + 1);
        world_close(world);
    }
}

// The same of paging: it is a fault.
static void paging_that_is_cut_does_not_go_again_behind_what_the_device_still_has(void **state)
{
    (void)state;
    for (unsigned behind = 0; behind < 2; behind++) {
        struct world *world = world_open_default();
        const struct ferry_vm_node *paging = &world->manager->sched.nodes[0];
        // Filled, so that no host pages are read by what the machine still carries out.
        D3DKMT_HANDLE a = create_filled(world, world->device, PAGES(4), 0xAB0B0B0B), other;
        struct player player = player_open(world);
        D3DDDI_MAKERESIDENT make = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &a};
        uint64_t fence = 0;
        world->knobs->delay = 1;
        world->knobs->hold_paging = true;
        assert_int_equal(ferry_vidmm_make_resident(world->manager, &make), FERRY_PENDING);
        assert_int_equal(paging->in_flight, 1);
        if (behind) {
            other = create_filled(world, player.device, PAGES(4), 0x16161616);
            D3DDDI_MAKERESIDENT more = {.hPagingQueue = player.queue, .NumAllocations = 1, .AllocationList = &other};
            assert_int_equal(ferry_vidmm_make_resident(world->manager, &more), FERRY_PENDING);
            // A job wants it, so it goes out.
            fence = world_gpu_name(world, player.context, other, true);
            assert_int_equal(paging->in_flight, 2);
        }
        told_as_cut(world, 0, paging->submitted - behind);
        world->manager->sched.interface.DxgkCbNotifyDpc(&world->manager->sched);
        world->knobs->hold_paging = false;
        (void)ferry_vidmm_wait_paging(world->manager, world->queue, make.PagingFenceValue);
        if (behind)
            assert_int_equal(ferry_vidmm_wait(world->manager, player.context, fence), FERRY_OK);
        D3DKMT_DEVICEEXECUTION_STATE what;
        assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &what), FERRY_OK);
        // Where it has shared its buffer with what changes its addresses it gets another chance, as after any fault.
        assert_int_equal(world_statistics(world).faulted_paging_buffers, behind);
        assert_true(behind || what == D3DKMT_DEVICEEXECUTION_ACTIVE);
        assert_int_equal(world_place(world, a).lost, what != D3DKMT_DEVICEEXECUTION_ACTIVE);
        if (what == D3DKMT_DEVICEEXECUTION_ACTIVE)
            expect_words(world, a, 0xAB0B0B0B, PAGES(4));
        world_close(world);
    }
}

// Paging has taken a place with the device, and the last place that is free is kept for it: the second job of a node
// stands in its ring as the reset comes, behind the first, which it must not overtake.
static void what_the_device_had_no_place_for_runs_behind_what_a_reset_cuts(void **state)
{
    (void)state;
    for (unsigned hung_first = 0; hung_first < 2; hung_first++) {
        struct world *world = world_open_default();
        struct player player = player_open(world);
        D3DKMT_HANDLE contexts[2], allocations[2], paged = create_filled(world, player.device, PAGES(4), 0x77777777);
        uint64_t fences[3];
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1 + i, &contexts[i], NULL),
                             FERRY_OK);
            allocations[i] = world_create(world, PAGES(1), CPU);
            world_require(world, allocations[i]);
        }
        D3DDDI_MAKERESIDENT make = {.hPagingQueue = player.queue, .NumAllocations = 1, .AllocationList = &paged};
        world->knobs->delay = 1;
        world->knobs->hang = true;
        ferry_vidmm_poll(world->manager, true); // it does, from now on
        assert_int_equal(ferry_vidmm_make_resident(world->manager, &make), FERRY_PENDING);
        assert_int_equal(world->manager->sched.nodes[0].in_flight, 1);
        for (unsigned i = 0; i < 3; i++) {
            unsigned node = i == 2 - hung_first;
            world->context = contexts[node];
            fences[i] = world_gpu_fill(world, allocations[node], 0, (uint32_t)PAGES(1), 0x11111111 * (i + 1));
        }
        assert_int_equal(world->manager->sched.nodes[1].in_flight, 2);
        assert_int_equal(world->manager->sched.nodes[2].in_flight, 1);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(ferry_vidmm_wait(world->manager, contexts[i == 2 - hung_first], fences[i]), FERRY_OK);
        assert_int_equal(ferry_vidmm_wait_paging(world->manager, player.queue, make.PagingFenceValue), FERRY_OK);
        expect_words(world, allocations[0], hung_first ? 0x33333333 : 0x22222222, PAGES(1));
        expect_words(world, allocations[1], hung_first ? 0x22222222 : 0x33333333, PAGES(1));
        expect_words(world, paged, 0x77777777, PAGES(4));
        assert_int_equal(world_statistics(world).faulted_jobs, 0);
        world_close(world);
    }
}

static bool deaf(HANDLE adapter, ULONG message)
{
    (void)adapter, (void)message;
    return false;
}

// A miniport that says so where no reset was would be sent the job for ever.
static void what_no_reset_has_cut_is_a_fault(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_vm_sched *sched = &world->manager->sched;
    D3DKMT_HANDLE a = world_create(world, PAGES(1), CPU);
    bool (*routine)(HANDLE, ULONG) = world->knobs->interrupt_routine;
    world_require(world, a);
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &world->context, NULL), FERRY_OK);
    world->knobs->delay = 1;
    for (unsigned resets = 0; resets < 2; resets++) { // also when there was one before it
        enum ferry_vm_blame whom = FERRY_VM_NOBODY;
        if (resets > 0)
            assert_int_equal(ferry_vm_reset_node(sched, 2, &whom), FERRY_OK);
        world->knobs->interrupt_routine = deaf;
        world->knobs->fault_jobs = 1;
        uint64_t fence = world_gpu_fill(world, a, 0, (uint32_t)PAGES(1), 0xAB0B0B0B), sent = sched->nodes[1].submitted;
        for (unsigned turns = 0; turns < 20; turns++)
            (void)machine_platform(world->machine).wait_for_progress(machine_platform(world->machine).context);
        say_it_is_cut(world, 1, sent);
        sched->interface.DxgkCbNotifyDpc(sched);
        world->knobs->interrupt_routine = routine;
        (void)ferry_test_miniport()->DxgkDdiInterruptRoutine(machine_adapter(world->machine), 0);
        assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_ERROR_FAULT);
        assert_int_equal(sched->nodes[1].submitted, sent);
        assert_int_equal(world_statistics(world).faulted_jobs, resets + 1);
    }
    world_close(world);
}

// A job has faulted, the one behind it has come to its end, and the manager hears of both amid a reset of another node,
// or, of the first one, that it was cut off. It has its fault in the one case and goes again in the other. Not the
// second, which writes over what it reads.
static void hear_amid_a_reset(bool cut)
{
    struct world *world = world_open_default();
    struct ferry_vm_sched *sched = &world->manager->sched;
    D3DKMT_HANDLE list[3], first = world_create(world, PAGES(1), CPU);
    uint64_t fences[2];
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &world->context, NULL), FERRY_OK);
    world_require(world, first);
    for (unsigned k = 0; k < 3; k++) {
        list[k] = create_filled(world, world->device, PAGES(2), 100 + k);
        world_require(world, list[k]);
    }
    bool (*routine)(HANDLE, ULONG) = world->knobs->interrupt_routine;
    world->knobs->delay = 1;
    world->knobs->interrupt_routine = deaf;
    world->knobs->fault_jobs = 1;
    fences[0] = world_gpu_fill(world, first, 0, (uint32_t)PAGES(1), 0xAB0B0B0B);
    fences[1] = swap_on(world, world->context, list, list[2]);
    for (unsigned turns = 0; turns < 20; turns++)
        (void)machine_platform(world->machine).wait_for_progress(machine_platform(world->machine).context);
    if (cut) {
        DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
        data.DmaCompleted.SubmissionFenceId = (UINT)sched->nodes[1].submitted;
        data.DmaCompleted.NodeOrdinal = 1;
        told_as_cut(world, 1, sched->nodes[1].submitted - 1);
        sched->interface.DxgkCbNotifyInterrupt(sched, &data);
        sched->nodes[1].reset_at = sched->nodes[1].reported; // What the miniport says of them is old.
        sched->interface.DxgkCbNotifyDpc(sched);
    } else {
        enum ferry_vm_blame whom = FERRY_VM_NOBODY;
        assert_int_equal(ferry_vm_reset_node(sched, 2, &whom), FERRY_OK);
    }
    world->knobs->interrupt_routine = routine;
    (void)ferry_test_miniport()->DxgkDdiInterruptRoutine(machine_adapter(world->machine), 0);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fences[0]), cut ? FERRY_OK : FERRY_ERROR_FAULT);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fences[1]), FERRY_OK);
    expect_words(world, list[0], 101, PAGES(2));
    expect_words(world, list[1], 100, PAGES(2));
    // Those that come in their memory run.
    for (unsigned k = 0; k < 2; k++)
        fences[k] = world_gpu_fill(world, list[k], 0, (uint32_t)PAGES(2), 0xC0C0C0C0 + k);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fences[1]), FERRY_OK);
    for (unsigned k = 0; k < 2; k++)
        expect_words(world, list[k], 0xC0C0C0C0 + k, PAGES(2));
    world_close(world);
}

static void what_has_ended_behind_one_that_was_cut_does_not_run_twice(void **state)
{
    (void)state;
    hear_amid_a_reset(true);
}

static void a_fault_told_amid_the_reset_of_another_node_is_one(void **state)
{
    (void)state;
    hear_amid_a_reset(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reset_of_all_nodes_ends_what_is_with_the_device),
        cmocka_unit_test(a_job_that_a_reset_cuts_goes_on_where_it_was),
        cmocka_unit_test(a_copy_over_itself_that_a_reset_cuts_goes_on_with_the_rest),
        cmocka_unit_test(what_a_reset_aborts_of_paging_is_built_again),
        cmocka_unit_test(what_is_cut_does_not_go_again_behind_what_the_device_still_has),
        cmocka_unit_test(what_the_device_had_no_place_for_runs_behind_what_a_reset_cuts),
        cmocka_unit_test(what_no_reset_has_cut_is_a_fault),
        cmocka_unit_test(what_has_ended_behind_one_that_was_cut_does_not_run_twice),
        cmocka_unit_test(a_fault_told_amid_the_reset_of_another_node_is_one),
        cmocka_unit_test(paging_that_is_cut_does_not_go_again_behind_what_the_device_still_has),
    };
    return WORLD_RUN(tests);
}
