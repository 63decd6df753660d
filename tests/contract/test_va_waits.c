// SPDX-License-Identifier: Apache-2.0
// Who waits for updates of GPU virtual addresses, and whom what they change waits for besides, in driver model 2 of
// both miniports.
#include "beside.h"
#include "vidmm/api/call.h"
#include "vidmm/sched/paging.h"

// Two queues' updates map it, and both jobs are over: the entries of the first one are written behind those of the
// second, which have nothing to wait for. A job elsewhere waits for both.
static void what_two_updates_map_is_there_for_a_job_elsewhere(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = hidden_behind_paging(&b);
    const D3DKMT_HANDLE queues[2] = {b.slow, context_on(b.world, 1)};
    for (unsigned i = 0; i < 2; i++) {
        struct ferry_vidmm_update change = mapping(b.x + PAGES(8 * i), 4, wanted, 0);
        b.world->knobs->hold_node = 1;
        uint64_t held = copy(b.world, queues[i], (const D3DKMT_HANDLE[2]){b.result, b.result}, b.at_result,
                             b.at_result + PAGES(1), 64);
        update(b.world, queues[i], &change, 1);
        b.world->knobs->hold_node = 0;
        assert_int_equal(ferry_vidmm_wait(b.world->manager, queues[i], held), FERRY_OK);
        turns(b.world, 20);
    }
    uint64_t fence = copy(b.world, b.quick, (const D3DKMT_HANDLE[2]){b.other, wanted}, b.at_other, b.x + PAGES(2), 64);
    b.world->knobs->hold_paging = false;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.quick, fence), FERRY_OK);
    assert_int_equal(word_of(b.world, b.other, 0), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

// An allocation that was mapped at `at` leaves: what takes its entries away there, and so whatever is written there
// behind that, waits for a job on node 2 that is held back.
static void hold_what_goes(struct beside *b, D3DKMT_HANDLE last, uint64_t at)
{
    struct ferry_vidmm_update change = mapping(at, 4, last, 0);
    D3DKMT_HANDLE room = world_create(b->world, PAGES(30), CPU);
    update(b->world, b->slow, &change, 1);
    turns(b->world, 20);
    b->world->knobs->hold_node = 2;
    world_gpu_name(b->world, b->quick, last, false);
    assert_int_equal(world_evict(b->world, last), FERRY_OK);
    assert_int_equal(world_resident(b->world, &room, 1), FERRY_PENDING);
    assert_int_equal(world_place(b->world, last).segment, 0);
}

// One update maps it twice, and what it writes first is written long before the second: that is to be waited for, by
// a job of another queue on its node.
static void all_that_one_update_maps_is_there_for_a_job_elsewhere(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = content(b.world, 4, 3), last = content(b.world, 30, 5), beside = context_on(b.world, 1);
    struct ferry_vidmm_update change[] = {mapping(b.x, 4, wanted, 0), mapping(b.x + PAGES(8), 4, wanted, 0)};
    hold_what_goes(&b, last, change[1].address);
    world_gpu_name(b.world, b.slow, b.result, false);
    update(b.world, b.slow, change, 2);
    uint64_t fence =
        copy(b.world, beside, (const D3DKMT_HANDLE[2]){b.result, wanted}, b.at_result, b.x + PAGES(10), 64);
    turns(b.world, 50);
    assert_false(is_over(b.world, beside, fence));
    b.world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, beside, fence), FERRY_OK);
    assert_int_equal(word_of(b.world, b.result, 0), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

// What an update is to take away goes early when the allocation leaves, but not before a job that names it.
static void what_goes_early_is_there_for_jobs_that_name_it(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE old = content(b.world, 30, 3), room = world_create(b.world, PAGES(30), CPU);
    struct ferry_vidmm_update change = mapping(b.x, 4, old, 0);
    update(b.world, b.slow, &change, 1);
    turns(b.world, 20);
    hold_copy(&b, old, b.x + PAGES(1));
    world_gpu_name(b.world, b.slow, b.result, false);
    change.kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, &change, 1);
    assert_int_equal(world_evict(b.world, old), FERRY_OK);
    assert_int_equal(world_resident(b.world, &room, 1), FERRY_PENDING);
    assert_int_equal(world_place(b.world, old).segment, 0);
    turns(b.world, 50);
    finish(&b);
    assert_int_equal(word_of(b.world, b.result, 0), world_word(3, PAGES(1) / 4));
    world_close(b.world);
}

// Whoever makes it resident waits for the addresses that it has been mapped at, too.
static void what_is_mapped_is_there_for_who_waits_for_its_paging(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = content(b.world, 4, 3);
    turns(b.world, 20);
    b.world->knobs->hold_paging = true;
    map(b.world, wanted, BASE + 0x120000, 4);
    assert_int_equal(world_resident(b.world, &wanted, 1), FERRY_PENDING);
    b.world->knobs->hold_paging = false;
    turns(b.world, 20);
    assert_int_equal(world_resident(b.world, &wanted, 1), FERRY_OK);
    world_close(b.world);
}

// The jobs before two updates have one number, on two nodes: they are two updates all the same, of which the older one
// is the last to be written.
static void what_updates_of_two_nodes_map_is_there_for_a_job_elsewhere(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = content(b.world, 4, 3), beside = context_on(b.world, 1);
    struct ferry_vidmm_update change[] = {mapping(b.x, 4, wanted, 0), mapping(b.x + PAGES(8), 4, wanted, 0)};
    turns(b.world, 20);
    hold(&b);
    update(b.world, b.slow, &change[0], 1);
    b.world->knobs->hold_paging = true;
    uint64_t other = world_gpu_name(b.world, b.quick, b.other, false);
    assert_int_equal(other, b.held);
    update(b.world, b.quick, &change[1], 1);
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.quick, other), FERRY_OK);
    uint64_t fence = copy(b.world, beside, (const D3DKMT_HANDLE[2]){b.result, wanted}, b.at_result, b.x + PAGES(2), 64);
    b.world->knobs->hold_paging = false;
    turns(b.world, 50);
    b.world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, beside, fence), FERRY_OK);
    assert_int_equal(word_of(b.world, b.result, 0), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

// An update takes two allocations away, of which one is named by a job elsewhere: the next job of its queue finds
// neither.
static void all_that_one_update_unmaps_is_gone_for_the_next_job(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE named = content(b.world, 4, 3), other = content(b.world, 4, 4);
    // The third stays, and with it the table.
    struct ferry_vidmm_update change[] = {mapping(b.x, 4, named, 0), mapping(b.x + PAGES(8), 4, other, 0),
                                          mapping(b.x + PAGES(16), 4, other, 0)};
    update(b.world, b.slow, change, 3);
    turns(b.world, 20);
    b.world->knobs->hold_node = 2;
    world_gpu_name(b.world, b.quick, named, false);
    change[0].kind = change[1].kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, change, 2);
    uint64_t fence = world_gpu_name(b.world, b.slow, b.result, false);
    turns(b.world, 50);
    assert_false(is_over(b.world, b.slow, fence));
    b.world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.slow, fence), FERRY_OK);
    world_close(b.world);
}

// What is unmapped is there for jobs that name it, also for one of another queue behind the update's last job on its
// node.
static void what_is_unmapped_is_there_for_who_names_it_on_the_same_node(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE third = context_on(b.world, 1), wanted = content(b.world, 4, 3), old = content(b.world, 40, 4),
                  next = world_create(b.world, PAGES(40), CPU), late = world_create(b.world, PAGES(4), CPU);
    uint64_t at_next = map(b.world, next, BASE + 0x180000, 40);
    struct ferry_vidmm_update change = mapping(b.x, 4, wanted, 0);
    update(b.world, b.slow, &change, 1);
    world_write(b.world, next, 6);
    world_write(b.world, late, 7);
    turns(b.world, 20);
    // The third queue's job waits for what comes to a place that a job of the quick one has still to leave; the slow
    // one's for paging alone.
    b.world->knobs->hold_node = 2;
    b.world->knobs->hold_turns = UINT32_MAX;
    (void)world_gpu_name(b.world, b.quick, old, false);
    assert_int_equal(world_evict(b.world, old), FERRY_OK);
    b.world->knobs->hold_paging = true;
    assert_int_equal(world_resident(b.world, &late, 1), FERRY_PENDING);
    assert_int_equal(world_resident(b.world, &next, 1), FERRY_PENDING);
    uint64_t first = world_gpu_name(b.world, b.slow, late, false);
    uint64_t fence = copy(b.world, third, (const D3DKMT_HANDLE[2]){next, wanted}, at_next, b.x + PAGES(2), 64);
    change.kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, &change, 1);
    b.world->knobs->hold_paging = false;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.slow, first), FERRY_OK);
    turns(b.world, 50);
    assert_false(is_over(b.world, third, fence));
    b.world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, third, fence), FERRY_OK);
    assert_int_equal(word_of(b.world, next, 0), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

static bool is_pending(const struct beside *b, D3DKMT_HANDLE device)
{
    const struct ferry_vm_device *found =
        ferry_vm_handle_find(&b->world->manager->core.handles, FERRY_VM_DEVICE, device);
    return ferry_vm_device_pending(found, UINT64_MAX) != 0;
}

// Of two devices of one program each waits for what is queued for its own allocations' addresses, which are the
// program's.
static void what_is_mapped_is_pending_for_its_own_device(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    const D3DKMT_HANDLE devices[2] = {b.world->device, 0}, queue = b.world->queue;
    D3DKMT_HANDLE second, allocations[2] = {content(b.world, 4, 3)};
    assert_int_equal(ferry_vidmm_create_device(b.world->manager, &second), FERRY_OK);
    b.world->device = second;
    assert_int_equal(ferry_vidmm_create_paging_queue(b.world->manager, second, 0, &b.world->queue), FERRY_OK);
    allocations[1] = content(b.world, 4, 4);
    turns(b.world, 20);
    for (unsigned own = 0; own < 2; own++) {
        b.world->device = own ? second : devices[0];
        b.world->knobs->hold_paging = true;
        map(b.world, allocations[own], BASE + 0x200000 + PAGES(16 * own), 4);
        turns(b.world, 20);
        assert_int_equal(is_pending(&b, devices[0]), !own);
        assert_int_equal(is_pending(&b, second), own);
        b.world->knobs->hold_paging = false;
        turns(b.world, 20);
        assert_false(is_pending(&b, devices[0]) || is_pending(&b, second));
    }
    b.world->device = devices[0];
    b.world->queue = queue;
    assert_int_equal(ferry_vidmm_destroy_device(b.world->manager, second), FERRY_OK);
    world_close(b.world);
}

// It is so for jobs that name it, which may reach it by these addresses; and not for others.
static void what_is_unmapped_by_a_call_is_there_for_jobs_that_name_it(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = content(b.world, 4, 3), stranger = content(b.world, 4, 4);
    uint64_t at = map(b.world, wanted, BASE + 0x200000, 4), beside = map(b.world, stranger, BASE + 0x210000, 4);
    turns(b.world, 20);
    hold_copy(&b, wanted, at + PAGES(2));
    uint64_t told = world_statistics(b.world).operations[DXGK_OPERATION_FLUSH_TLB];
    assert_int_equal(ferry_vidmm_free_virtual(b.world->manager, b.world->device, at, PAGES(4)), FERRY_OK);
    turns(b.world, 50);
    assert_int_equal(world_statistics(b.world).operations[DXGK_OPERATION_FLUSH_TLB], told);
    assert_int_equal(ferry_vidmm_free_virtual(b.world->manager, b.world->device, beside, PAGES(4)), FERRY_OK);
    turns(b.world, 50);
    assert_int_equal(world_statistics(b.world).operations[DXGK_OPERATION_FLUSH_TLB], told + 1);
    assert_false(is_over(b.world, b.slow, b.held));
    finish(&b);
    assert_int_equal(word_of(b.world, b.result, 0), world_word(3, PAGES(2) / 4));
    turns(b.world, 50);
    assert_true(world_statistics(b.world).operations[DXGK_OPERATION_FLUSH_TLB] > told + 1);
    world_close(b.world);
}

// The index of operations knows of each whether it waits: that is what those behind it are told. Returns how many do
// not.
static unsigned built_by_the_index(struct ferry_vm_sched *sched)
{
    unsigned count = 0;
    for (uint64_t number = sched->done + 1; number <= sched->queued; number++) {
        const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
        if (operation->state == FERRY_VM_OVER)
            continue;
        for (uint64_t kind = 0; kind < FERRY_VM_TREES; kind++) {
            uint64_t name = number * FERRY_VM_TREES + kind;
            const struct ferry_vm_indexed *node = &sched->indexed[name % (sched->capacity * FERRY_VM_TREES)];
            if (node->domain == 0)
                continue;
            bool waits = operation->state == FERRY_VM_WAITING;
            assert_int_equal(node->buffer == UINT64_MAX, waits);
            assert_true(!waits || node->waiting_from <= number);
        }
        count += operation->state != FERRY_VM_WAITING;
    }
    return count;
}

// What is with the device and what is in the open buffer goes again behind a reset, and others stay behind it then.
static void what_is_built_again_keeps_those_behind_it_again(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    struct ferry_vm_sched *sched = &b.world->manager->sched;
    D3DKMT_HANDLE wanted = content(b.world, 4, 3);
    turns(b.world, 20);
    b.world->knobs->hold_paging = true;
    for (unsigned i = 0; i < 8; i++)
        map(b.world, wanted, BASE + 0x200000 + PAGES(16 * i), 4);
    assert_in_range(built_by_the_index(sched), 2, 100);
    ferry_vm_take_lock(b.world->manager);
    ferry_vm_rebuild(sched);
    assert_int_equal(built_by_the_index(sched), 0);
    assert_true(sched->queued - sched->done >= 8);
    ferry_vm_give_lock(b.world->manager);
    b.world->knobs->hold_paging = false;
    turns(b.world, 20);
    assert_int_equal(sched->done, sched->queued);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t fence = copy(b.world, b.quick, (const D3DKMT_HANDLE[2]){b.other, wanted}, b.at_other,
                              BASE + 0x200000 + PAGES(16 * i + i % 4), 64);
        assert_int_equal(ferry_vidmm_wait(b.world->manager, b.quick, fence), FERRY_OK);
        assert_int_equal(word_of(b.world, b.other, 0), world_word(3, PAGES(i % 4) / 4));
    }
    world_close(b.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_two_updates_map_is_there_for_a_job_elsewhere),
        cmocka_unit_test(all_that_one_update_maps_is_there_for_a_job_elsewhere),
        cmocka_unit_test(what_updates_of_two_nodes_map_is_there_for_a_job_elsewhere),
        cmocka_unit_test(all_that_one_update_unmaps_is_gone_for_the_next_job),
        cmocka_unit_test(what_goes_early_is_there_for_jobs_that_name_it),
        cmocka_unit_test(what_is_mapped_is_there_for_who_waits_for_its_paging),
        cmocka_unit_test(what_is_unmapped_is_there_for_who_names_it_on_the_same_node),
        cmocka_unit_test(what_is_mapped_is_pending_for_its_own_device),
        cmocka_unit_test(what_is_unmapped_by_a_call_is_there_for_jobs_that_name_it),
        cmocka_unit_test(what_is_built_again_keeps_those_behind_it_again),
    };
    return WORLD_RUN(tests);
}
