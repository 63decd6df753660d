// SPDX-License-Identifier: Apache-2.0
// What an update of GPU virtual addresses is about that waits for its queue's jobs, one of which is held back, is
// destroyed: by itself, with its device, in vain.
#include "beside.h"
#include "in_vain.h"

// It does, and its places are the next one's, which is mapped at the address.
static void goes_at_once(struct beside *b, D3DKMT_HANDLE old, D3DKMT_HANDLE next, uint64_t address)
{
    assert_int_equal(ferry_vidmm_destroy_allocation(b->world->manager, old), FERRY_OK);
    assert_false(is_over(b->world, b->slow, b->held));
    world_require(b->world, next);
    quick_reads(b, next, address + PAGES(33), world_word(4, PAGES(33) / 4));
    const struct ferry_vidmm_update change = mapping(b->x, 4, next, 0);
    update(b->world, b->slow, &change, 1);
    slow_reads(b, next, b->x + PAGES(2), world_word(4, PAGES(2) / 4));
    world_close(b->world);
}

// To be unmapped and destroyed is what programs do with an allocation.
static void what_an_update_unmaps_is_destroyed_at_once(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE old = content(b.world, 40, 3), next = world_create(b.world, PAGES(40), CPU);
    struct ferry_vidmm_update change = mapping(b.x, 4, old, 0);
    update(b.world, b.slow, &change, 1);
    world_write(b.world, next, 4);
    uint64_t at = map(b.world, next, BASE + 0x180000, 40);
    turns(b.world, 20);
    hold(&b);
    change.kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, &change, 1);
    goes_at_once(&b, old, next, at);
}

static void what_an_update_maps_is_destroyed_at_once(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE old = content(b.world, 40, 3), next = world_create(b.world, PAGES(40), CPU);
    struct ferry_vidmm_update change = mapping(b.x, 4, old, 0);
    world_write(b.world, next, 4);
    uint64_t at = map(b.world, next, BASE + 0x180000, 40);
    hold(&b);
    update(b.world, b.slow, &change, 1);
    turns(b.world, 20);
    goes_at_once(&b, old, next, at);
}

// With its device, another one than the update's queue is of.
static void a_device_whose_addresses_another_ones_update_changes_goes_at_once(void **state)
{
    (void)state;
    for (enum ferry_vidmm_update_kind kind = FERRY_VIDMM_UNMAP; kind <= FERRY_VIDMM_COPY; kind++) {
        struct beside b = begin_beside(64);
        D3DKMT_HANDLE first = b.world->device, queue = b.world->queue, second, old = content(b.world, 4, 3);
        assert_int_equal(ferry_vidmm_create_device(b.world->manager, &second), FERRY_OK);
        b.world->device = second;
        assert_int_equal(ferry_vidmm_create_paging_queue(b.world->manager, second, 0, &b.world->queue), FERRY_OK);
        map(b.world, content(b.world, 4, 4), b.x, 4);
        b.world->device = first;
        b.world->queue = queue;
        // What it has goes where it is mapped: to the first four pages, or eight further.
        struct ferry_vidmm_update change = {.kind = kind, .address = b.x, .bytes = PAGES(4)};
        if (kind == FERRY_VIDMM_COPY)
            change = (struct ferry_vidmm_update){kind, b.x + PAGES(8), PAGES(4), .source = b.x};
        hold(&b);
        update(b.world, b.slow, &change, 1);
        assert_int_equal(ferry_vidmm_destroy_device(b.world->manager, second), FERRY_OK);
        assert_false(is_over(b.world, b.slow, b.held));
        change = mapping(b.x, 4, old, 0);
        update(b.world, b.slow, &change, 1);
        slow_reads(&b, old, b.x + PAGES(3), world_word(3, PAGES(3) / 4));
        world_close(b.world);
    }
}

// A mapping that waits is cut, and what is left on both sides has never been there when its allocation leaves: nothing
// is written for it, then or before it is shown where it is the next time.
static void what_is_left_of_a_mapping_that_was_never_there_goes_without_a_word(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE old = content(b.world, 40, 3), next = world_create(b.world, PAGES(40), CPU);
    world_write(b.world, next, 4);
    hold(&b);
    struct ferry_vidmm_update change = mapping(b.x, 40, old, 0);
    update(b.world, b.slow, &change, 1);
    change = (struct ferry_vidmm_update){.kind = FERRY_VIDMM_UNMAP, .address = b.x + PAGES(18), .bytes = PAGES(1)};
    update(b.world, b.slow, &change, 1);
    turns(b.world, 20);
    uint64_t queued = b.world->manager->sched.queued;
    assert_int_equal(world_evict(b.world, old), FERRY_OK);
    world_require(b.world, next);
    // Out, in, and what came in gives its pages back.
    assert_int_equal(b.world->manager->sched.queued, queued + 3);
    assert_false(is_over(b.world, b.slow, b.held));
    assert_int_equal(ferry_vidmm_destroy_allocation(b.world->manager, next), FERRY_OK);
    world_require(b.world, old);
    slow_reads(&b, old, b.x + PAGES(17), world_word(3, PAGES(17) / 4));
    slow_reads(&b, old, b.x + PAGES(19), world_word(3, PAGES(19) / 4));
    slow_reads(&b, old, b.x + PAGES(39), world_word(3, PAGES(39) / 4));
    world_close(b.world);
}

// What an update of a program has queued for what is gone is over before the program is, and its page tables another's.
static void a_program_ends_behind_what_its_updates_have_queued(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    struct ferry_vidmm *manager = world->manager;
    D3DKMT_HANDLE process, devices[2], first = world->device, queue = world->queue;
    assert_int_equal(ferry_vidmm_create_process(manager, NULL, &process), FERRY_OK);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_create_device_of(manager, process, &devices[i]), FERRY_OK);
    world->device = devices[0];
    D3DKMT_HANDLE slow = context_on(world, 1);
    uint64_t x = reserve(world, BASE, 512);
    world->device = devices[1];
    assert_int_equal(ferry_vidmm_create_paging_queue(manager, devices[1], 0, &world->queue), FERRY_OK);
    map(world, content(world, 4, 3), x, 4);
    turns(world, 20);
    world->device = first;
    world->queue = queue;
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    struct machine_job job = {0};
    machine_job_nothing(&job);
    const struct ferry_vidmm_submission nothing = {.commands = job.commands, .bytes = job.bytes};
    uint64_t fence;
    assert_int_equal(ferry_vidmm_submit(manager, slow, &nothing, 1, &fence), FERRY_OK);
    struct ferry_vidmm_update change = {.kind = FERRY_VIDMM_UNMAP, .address = x, .bytes = PAGES(4)};
    update(world, slow, &change, 1);
    world->knobs->hold_paging = true;
    assert_int_equal(ferry_vidmm_destroy_device(manager, devices[1]), FERRY_OK);
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(manager, slow, fence), FERRY_OK);
    let_nothing_come(manager);
    assert_int_equal(ferry_vidmm_destroy_process(manager, process), FERRY_ERROR_TIMEOUT);
    let_it_come_again(manager);
    world->knobs->hold_paging = false;
    assert_int_equal(ferry_vidmm_destroy_process(manager, process), FERRY_OK);
    world_close(world);
}

// A job that names it does not end: then everything is as it was, and the update has its turn.
static void what_is_destroyed_in_vain_has_its_update(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    struct ferry_vidmm *manager = b.world->manager;
    D3DKMT_HANDLE wanted = content(b.world, 4, 3);
    struct ferry_vidmm_update change = mapping(b.x, 4, wanted, 0);
    hold_copy(&b, wanted, map(b.world, wanted, BASE + 0x180000, 4));
    update(b.world, b.slow, &change, 1);
    let_nothing_come(manager);
    assert_int_equal(ferry_vidmm_destroy_allocation(manager, wanted), FERRY_ERROR_TIMEOUT);
    let_it_come_again(manager);
    slow_reads(&b, wanted, b.x + PAGES(2), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

// The update's turn has come, and what it maps is about to be written: that is waited for.
static void what_has_had_its_turn_is_over_before_it_is_destroyed(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    struct ferry_vidmm *manager = b.world->manager;
    D3DKMT_HANDLE wanted = hidden_behind_paging(&b);
    hold(&b);
    struct ferry_vidmm_update change = mapping(b.x, 4, wanted, 0);
    update(b.world, b.slow, &change, 1);
    finish(&b);
    let_nothing_come(manager);
    assert_int_equal(ferry_vidmm_destroy_allocation(manager, wanted), FERRY_ERROR_TIMEOUT);
    let_it_come_again(manager);
    b.world->knobs->hold_paging = false;
    slow_reads(&b, wanted, b.x + PAGES(2), world_word(3, PAGES(2) / 4));
    assert_int_equal(ferry_vidmm_destroy_allocation(manager, wanted), FERRY_OK);
    world_close(b.world);
}

// What it led to, and how, is nobody's business any more.
static void what_is_only_reserved_again_leads_to_nothing(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE old = content(b.world, 4, 3);
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = b.x, .bytes = PAGES(2)};
    struct ferry_vidmm_mapping found;
    assert_int_equal(ferry_vidmm_map_virtual(b.world->manager, b.world->device, old, PAGES(1), true, &range), FERRY_OK);
    assert_int_equal(ferry_vidmm_find_virtual(b.world->manager, b.world->device, range.address, &found), FERRY_OK);
    assert_true(found.read_only && found.allocation == old && found.offset == PAGES(1));
    assert_int_equal(ferry_vidmm_destroy_allocation(b.world->manager, old), FERRY_OK);
    assert_int_equal(ferry_vidmm_find_virtual(b.world->manager, b.world->device, range.address, &found), FERRY_OK);
    assert_int_equal(found.allocation, 0);
    assert_int_equal(found.offset, 0);
    assert_false(found.read_only);
    world_close(b.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_only_reserved_again_leads_to_nothing),
        cmocka_unit_test(what_is_left_of_a_mapping_that_was_never_there_goes_without_a_word),
        cmocka_unit_test(what_an_update_unmaps_is_destroyed_at_once),
        cmocka_unit_test(what_an_update_maps_is_destroyed_at_once),
        cmocka_unit_test(a_device_whose_addresses_another_ones_update_changes_goes_at_once),
        cmocka_unit_test(a_program_ends_behind_what_its_updates_have_queued),
        cmocka_unit_test(what_has_had_its_turn_is_over_before_it_is_destroyed),
        cmocka_unit_test(what_is_destroyed_in_vain_has_its_update),
    };
    return WORLD_RUN(tests);
}
