// SPDX-License-Identifier: Apache-2.0
// Beside an update of GPU virtual addresses that waits for its queue's jobs, one of which is held back: jobs of other
// queues that name what the update is about, or take the place of it, or its page tables, in driver model 2 of both
// miniports.
#include "beside.h"

// It comes in for another queue: neither that queue's job nor its paging fence waits for what the update maps.
static void what_an_update_maps_comes_in_for_who_needs_it_elsewhere(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = world_create(b.world, PAGES(4), CPU);
    uint64_t before = map(b.world, wanted, BASE + 0x120000, 4);
    world_write(b.world, wanted, 3);
    hold(&b);
    struct ferry_vidmm_update change = mapping(b.x, 4, wanted, 0);
    update(b.world, b.slow, &change, 1);
    uint64_t behind = map(b.world, wanted, BASE + 0x140000, 4);
    world_require(b.world, wanted);
    quick_reads(&b, wanted, before + PAGES(1), world_word(3, PAGES(1) / 4));
    quick_reads(&b, wanted, behind + PAGES(3), world_word(3, PAGES(3) / 4));
    D3DKMT_HANDLE unrelated = content(b.world, 4, 4);
    quick_reads(&b, unrelated, map(b.world, unrelated, BASE + 0x130000, 4), world_word(4, 0));
    slow_reads(&b, wanted, b.x + PAGES(2), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

// Nor where nothing else leads to it.
static void what_only_an_update_maps_comes_in_for_who_names_it_elsewhere(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = world_create(b.world, PAGES(4), CPU);
    world_write(b.world, wanted, 3);
    hold(&b);
    struct ferry_vidmm_update change = mapping(b.x, 4, wanted, 0);
    update(b.world, b.slow, &change, 1);
    world_require(b.world, wanted);
    uint64_t fence = world_gpu_name(b.world, b.quick, wanted, false);
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.quick, fence), FERRY_OK);
    assert_false(is_over(b.world, b.slow, b.held));
    slow_reads(&b, wanted, b.x + PAGES(2), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

// What an update unmaps leaves and comes back meanwhile, for what it is mapped at besides.
static void what_an_update_unmaps_leaves_and_comes_back(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = content(b.world, 4, 3);
    uint64_t at = map(b.world, wanted, BASE + 0x120000, 4);
    struct ferry_vidmm_update change = mapping(b.x, 4, wanted, 0);
    update(b.world, b.slow, &change, 1);
    hold(&b);
    change.kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, &change, 1);
    assert_int_equal(world_evict(b.world, wanted), FERRY_OK);
    assert_int_equal(world_evict(b.world, content(b.world, 46, 4)), FERRY_OK);
    assert_int_equal(world_place(b.world, wanted).segment, 0);
    world_require(b.world, wanted);
    quick_reads(&b, wanted, at + PAGES(1), world_word(3, PAGES(1) / 4));
    finish(&b);
    world_close(b.world);
}

// Of a mapping that an update cuts what is left was there before, and comes back for whoever needs it.
static void what_is_left_of_a_mapping_stands_behind_nothing(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = content(b.world, 12, 3);
    struct ferry_vidmm_update change = mapping(b.x, 12, wanted, 0);
    update(b.world, b.slow, &change, 1);
    hold(&b);
    change = mapping(b.x + PAGES(4), 2, 0, 0);
    change.kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, &change, 1);
    quick_reads(&b, wanted, b.x + PAGES(3), world_word(3, PAGES(3) / 4));
    assert_int_equal(world_evict(b.world, wanted), FERRY_OK);
    assert_int_equal(world_evict(b.world, content(b.world, 46, 4)), FERRY_OK);
    assert_int_equal(world_place(b.world, wanted).segment, 0);
    world_require(b.world, wanted);
    quick_reads(&b, wanted, b.x + PAGES(3), world_word(3, PAGES(3) / 4));
    quick_reads(&b, wanted, b.x + PAGES(6), world_word(3, PAGES(6) / 4));
    finish(&b);
    world_close(b.world);
}

// While the held job is not over `old` leaves, and `next`, which is mapped from `at` on and has content 4, comes to its
// place; then that job ends.
static void gives_way(struct beside *b, D3DKMT_HANDLE old, D3DKMT_HANDLE next, uint64_t at)
{
    turns(b->world, 20);
    assert_int_equal(world_evict(b->world, old), FERRY_OK);
    world_require(b->world, next);
    quick_reads(b, next, at + PAGES(33), world_word(4, PAGES(33) / 4));
    assert_int_equal(world_place(b->world, old).segment, 0);
    finish(b);
}

// Another allocation gets the place of one of two that an update unmaps. The other is there until its time has come,
// for a job that does not name it.
static void the_place_of_what_an_update_unmaps_is_anothers(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE old = content(b.world, 40, 3), stays = content(b.world, 4, 5),
                  next = world_create(b.world, PAGES(40), CPU);
    struct ferry_vidmm_update change[] = {mapping(b.x, 4, old, 0), mapping(b.x + PAGES(8), 4, stays, 0)};
    update(b.world, b.slow, change, 2);
    world_write(b.world, next, 4);
    uint64_t at = map(b.world, next, BASE + 0x180000, 40);
    hold_copy(&b, b.result, b.x + PAGES(9));
    change[0].kind = change[1].kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, change, 2);
    gives_way(&b, old, next, at);
    assert_int_equal(word_of(b.world, b.result, 0), world_word(5, PAGES(1) / 4));
    world_close(b.world);
}

// And of what updates map and unmap elsewhere: it comes to the addresses when it is back.
static void the_place_of_what_an_update_maps_is_anothers(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE old = content(b.world, 40, 3), last = content(b.world, 4, 5),
                  next = world_create(b.world, PAGES(40), CPU);
    struct ferry_vidmm_update change[] = {mapping(b.x, 4, last, 0), mapping(b.x + PAGES(8), 4, old, 0)};
    update(b.world, b.slow, change, 2);
    world_write(b.world, next, 4);
    uint64_t at = map(b.world, next, BASE + 0x180000, 40);
    hold_copy(&b, last, b.x + PAGES(1));
    change[0] = mapping(b.x, 4, old, 2);
    update(b.world, b.slow, change, 1);
    change[1].kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, &change[1], 1);
    gives_way(&b, old, next, at);
    // What was there before stayed there for it.
    assert_int_equal(word_of(b.world, b.result, 0), world_word(5, PAGES(1) / 4));
    assert_int_equal(world_evict(b.world, next), FERRY_OK);
    world_require(b.world, old);
    slow_reads(&b, old, b.x + PAGES(1), world_word(3, PAGES(3) / 4));
    world_close(b.world);
}

// So it is with a large page, which comes in the place of a table.
static void the_place_of_what_an_update_maps_by_a_large_page_is_anothers(void **state)
{
    (void)state;
    struct beside b = begin_beside(1200);
    content(b.world, 504, 6);
    D3DKMT_HANDLE old = content(b.world, 512, 3), last = content(b.world, 4, 5),
                  next = world_create(b.world, PAGES(400), CPU);
    assert_int_equal(world_place(b.world, old).offset % PAGES(512), 0);
    struct ferry_vidmm_update change = mapping(b.x, 4, last, 0);
    update(b.world, b.slow, &change, 1);
    world_write(b.world, next, 4);
    uint64_t at = map(b.world, next, BASE + 0x800000, 400);
    hold_copy(&b, last, b.x + PAGES(1));
    change = mapping(b.x, 512, old, 0);
    update(b.world, b.slow, &change, 1);
    gives_way(&b, old, next, at);
    assert_int_equal(word_of(b.world, b.result, 0), world_word(5, PAGES(1) / 4));
    assert_int_equal(world_evict(b.world, next), FERRY_OK);
    world_require(b.world, old);
    slow_reads(&b, old, b.x + PAGES(301), world_word(3, PAGES(301) / 4));
    world_close(b.world);
}

// Page tables that end with an update's mapping are the last ones to be another's.
static void the_tables_of_what_an_update_unmaps_keep_nobody(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE old = content(b.world, 4, 3);
    struct ferry_vidmm_update change = mapping(b.x, 4, old, 0);
    update(b.world, b.slow, &change, 1);
    hold(&b);
    change.kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, &change, 1);
    quick_reads(&b, old, map(b.world, old, BASE + 0x40000000, 4) + PAGES(3), world_word(3, PAGES(3) / 4));
    finish(&b);
    world_close(b.world);
}

// The last page of tables that is free is one that an update has yet to give up: who gets it waits for that, and until
// then the update's jobs find what is mapped by it.
static void a_table_is_anothers_when_nothing_leads_to_it(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE old = content(b.world, 4, 3);
    struct ferry_vidmm_update change = mapping(b.x, 4, old, 0);
    update(b.world, b.slow, &change, 1);
    uint64_t at = map(b.world, old, BASE + 0x40000000, 1);
    hold_copy(&b, b.result, b.x + PAGES(1));
    change.kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, &change, 1);
    int result = FERRY_OK;
    uint64_t last = at;
    while (result == FERRY_OK) {
        struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = at + 0x200000, .bytes = PAGES(1)};
        result = ferry_vidmm_map_virtual(b.world->manager, b.world->device, old, 0, false, &range);
        last = at;
        at = range.address;
    }
    assert_int_equal(result, FERRY_ERROR_NO_VIDEO_MEMORY);
    turns(b.world, 50);
    finish(&b);
    assert_int_equal(word_of(b.world, b.result, 0), world_word(3, PAGES(1) / 4));
    slow_reads(&b, old, last, world_word(3, 0));
    world_close(b.world);
}

// Not so where a job behind the update waits for that mapping: its allocation stays where it is until then.
static void what_a_job_behind_an_update_names_is_there_for_it(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE old = content(b.world, 40, 3), next = world_create(b.world, PAGES(40), CPU);
    struct ferry_vidmm_update change = mapping(b.x, 4, old, 0);
    hold(&b);
    update(b.world, b.slow, &change, 1);
    uint64_t fence = copy(b.world, b.slow, (const D3DKMT_HANDLE[2]){b.result, old}, b.at_result, b.x + PAGES(2), 64);
    assert_int_equal(world_evict(b.world, old), FERRY_OK);
    assert_int_equal(world_resident(b.world, &next, 1), FERRY_PENDING);
    turns(b.world, 50);
    assert_false(is_over(b.world, b.slow, b.held));
    b.world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.slow, fence), FERRY_OK);
    assert_int_equal(word_of(b.world, b.result, 0), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

// It makes room by a move, and its own addresses lead to the new place at once.
static void what_an_update_is_about_moves_meanwhile(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE low = content(b.world, 16, 3), moves = content(b.world, 8, 4);
    uint64_t at = map(b.world, moves, BASE + 0x120000, 8), from = world_place(b.world, moves).offset;
    struct ferry_vidmm_update change[] = {mapping(b.x, 8, moves, 0), mapping(b.x + PAGES(16), 4, moves, 4)};
    update(b.world, b.slow, change, 1);
    hold(&b);
    change[0].kind = FERRY_VIDMM_UNMAP;
    update(b.world, b.slow, change, 2);
    assert_int_equal(world_evict(b.world, low), FERRY_OK);
    D3DKMT_HANDLE large = content(b.world, 34, 5);
    assert_true(world_place(b.world, moves).segment != 0 && world_place(b.world, moves).offset != from);
    quick_reads(&b, moves, at + PAGES(7), world_word(4, PAGES(7) / 4));
    quick_reads(&b, large, map(b.world, large, BASE + 0x180000, 34) + PAGES(32), world_word(5, PAGES(32) / 4));
    slow_reads(&b, moves, b.x + PAGES(17), world_word(4, PAGES(5) / 4));
    world_close(b.world);
}

// The job before an update is over, and what it maps is not there yet: who names it now waits for that, and not for
// another update of it that stands behind a job.
static void who_may_know_that_an_update_is_done_finds_it_done(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = world_create(b.world, PAGES(4), CPU);
    world_write(b.world, wanted, 3);
    hold(&b);
    struct ferry_vidmm_update change = mapping(b.x, 4, wanted, 0);
    update(b.world, b.slow, &change, 1);
    world_require(b.world, wanted);
    b.world->knobs->hold_paging = true;
    b.world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.slow, b.held), FERRY_OK);
    hold(&b);
    change = mapping(b.x + PAGES(8), 4, wanted, 0);
    update(b.world, b.slow, &change, 1);
    uint64_t fence = copy(b.world, b.quick, (const D3DKMT_HANDLE[2]){b.other, wanted}, b.at_other, b.x + PAGES(2), 64);
    turns(b.world, 50);
    assert_false(is_over(b.world, b.quick, fence));
    b.world->knobs->hold_paging = false;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.quick, fence), FERRY_OK);
    assert_false(is_over(b.world, b.slow, b.held));
    assert_int_equal(word_of(b.world, b.other, 0), world_word(3, PAGES(2) / 4));
    slow_reads(&b, wanted, b.x + PAGES(11), world_word(3, PAGES(3) / 4));
    world_close(b.world);
}

// It may be known that what an update maps is there, since its job is over: then a job of another queue waits for it,
// and has it also when the allocation is to leave behind that job.
static void what_a_job_elsewhere_waits_for_is_there_for_it(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE next = world_create(b.world, PAGES(26), CPU), wanted;
    world_write(b.world, next, 4);
    wanted = hidden_behind_paging(&b);
    hold(&b);
    struct ferry_vidmm_update change = mapping(b.x, 4, wanted, 0);
    update(b.world, b.slow, &change, 1);
    finish(&b);
    uint64_t fence = copy(b.world, b.quick, (const D3DKMT_HANDLE[2]){b.other, wanted}, b.at_other, b.x + PAGES(2), 64);
    assert_int_equal(world_evict(b.world, wanted), FERRY_OK);
    assert_int_equal(world_resident(b.world, &next, 1), FERRY_PENDING);
    assert_int_equal(world_place(b.world, wanted).segment, 0);
    b.world->knobs->hold_paging = false;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.quick, fence), FERRY_OK);
    assert_int_equal(word_of(b.world, b.other, 0), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

// Its entries were written in a buffer that faulted behind them, and wait to be written again when the allocation
// leaves: nothing leads to what has its place then.
static void what_was_written_in_a_buffer_that_faulted_is_taken_away(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 13; seed++) {
        struct beside b = begin_beside_seed(64, seed);
        D3DKMT_HANDLE wanted = content(b.world, 30, 3), next = world_create(b.world, PAGES(30), CPU);
        struct ferry_vidmm_update change[6];
        world_write(b.world, next, 4);
        hold(&b);
        for (uint64_t i = 0; i < 6; i++)
            change[i] = mapping(b.x + PAGES(40 * i), 30, wanted, 0);
        update(b.world, b.slow, change, 6);
        turns(b.world, 20);
        b.world->knobs->fault_paging = 1;
        b.world->knobs->hold_node = 0;
        for (unsigned i = 0; i < 100 && world_statistics(b.world).faulted_paging_buffers == 0; i++)
            turns(b.world, 1);
        b.world->knobs->hold_paging = true;
        assert_int_equal(world_statistics(b.world).faulted_paging_buffers, 1);
        assert_int_equal(world_evict(b.world, wanted), FERRY_OK);
        assert_int_equal(world_resident(b.world, &next, 1), FERRY_PENDING);
        assert_int_equal(world_place(b.world, wanted).segment, 0);
        b.world->knobs->hold_paging = false;
        world_require(b.world, next);
        // It finds nothing there, and must not.
        uint64_t fence = copy(b.world, b.quick, (const D3DKMT_HANDLE[2]){b.other, next}, b.at_other,
                              b.x + PAGES(40 * (1 + seed % 5) + 3), 64);
        ferry_vidmm_wait(b.world->manager, b.quick, fence);
        assert_int_equal(word_of(b.world, b.other, 0), world_word(2, 0));
        close_strayed(b.world);
    }
}

// Another queue maps what is mapped alike already, but only behind the job: what stands behind that finds it there.
static void what_two_queues_map_alike_is_there_for_both(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = content(b.world, 4, 3);
    struct ferry_vidmm_update change = mapping(b.x, 4, wanted, 0);
    hold(&b);
    update(b.world, b.slow, &change, 1);
    turns(b.world, 20);
    b.world->knobs->hold_turns = 40;
    update(b.world, b.quick, &change, 1);
    uint64_t fence = copy(b.world, b.quick, (const D3DKMT_HANDLE[2]){b.other, wanted}, b.at_other, b.x + PAGES(2), 64);
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.quick, fence), FERRY_OK);
    assert_int_equal(word_of(b.world, b.other, 0), world_word(3, PAGES(2) / 4));
    slow_reads(&b, wanted, b.x + PAGES(1), world_word(3, PAGES(1) / 4));
    world_close(b.world);
}

// Several of its updates have mapped it, the newest at the lowest address: that is the one to wait for.
static void what_several_updates_map_alike_is_there_for_both(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = content(b.world, 4, 3);
    struct ferry_vidmm_update change[] = {mapping(b.x + PAGES(8), 4, wanted, 0), mapping(b.x, 4, wanted, 0)};
    hold(&b);
    update(b.world, b.slow, &change[0], 1);
    finish(&b);
    hold(&b);
    update(b.world, b.slow, &change[1], 1);
    turns(b.world, 20);
    b.world->knobs->hold_turns = 40;
    update(b.world, b.quick, change, 2);
    uint64_t fence = copy(b.world, b.quick, (const D3DKMT_HANDLE[2]){b.other, wanted}, b.at_other, b.x + PAGES(2), 64);
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.quick, fence), FERRY_OK);
    assert_int_equal(word_of(b.world, b.other, 0), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

// What is left of a mapping that an update has cut was not there for the job before it either, though the allocation
// leaves meanwhile.
static void what_is_left_of_a_mapping_is_not_there_before_its_update(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    content(b.world, 8, 6);
    D3DKMT_HANDLE wanted = content(b.world, 16, 3), next = world_create(b.world, PAGES(40), CPU);
    struct ferry_vidmm_update change[] = {mapping(b.x, 16, wanted, 0), mapping(b.x + PAGES(4), 2, 0, 0)};
    change[1].kind = FERRY_VIDMM_UNMAP;
    assert_int_equal(world_place(b.world, wanted).offset % PAGES(16), 0);
    hold_copy(&b, wanted, b.x + PAGES(8));
    update(b.world, b.slow, &change[0], 1);
    update(b.world, b.slow, &change[1], 1);
    assert_int_equal(world_evict(b.world, wanted), FERRY_OK);
    world_resident(b.world, &next, 1);
    assert_int_equal(world_place(b.world, wanted).segment, 0);
    turns(b.world, 50);
    b.world->knobs->hold_node = 0;
    ferry_vidmm_wait(b.world->manager, b.slow, b.held);
    assert_int_equal(word_of(b.world, b.result, 0), world_word(1, 0));
    close_strayed(b.world);
}

// And what the other queue has mapped behind no job, but what has to be over before its entries is not.
static void what_is_mapped_alike_behind_no_job_is_there_for_both(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = content(b.world, 4, 3);
    struct ferry_vidmm_update change = mapping(b.x, 4, wanted, 0);
    turns(b.world, 20);
    b.world->knobs->hold_paging = true;
    update(b.world, b.slow, &change, 1);
    update(b.world, b.quick, &change, 1);
    turns(b.world, 20);
    uint64_t fence = copy(b.world, b.quick, (const D3DKMT_HANDLE[2]){b.other, wanted}, b.at_other, b.x + PAGES(2), 64);
    turns(b.world, 20);
    b.world->knobs->hold_paging = false;
    assert_int_equal(ferry_vidmm_wait(b.world->manager, b.quick, fence), FERRY_OK);
    assert_int_equal(word_of(b.world, b.other, 0), world_word(3, PAGES(2) / 4));
    world_close(b.world);
}

// What is mapped before and after an update alike is there meanwhile, for another queue, though the allocation leaves
// and comes back before the update's turn.
static void what_stays_mapped_is_there_all_the_time(void **state)
{
    (void)state;
    struct beside b = begin_beside(64);
    D3DKMT_HANDLE wanted = content(b.world, 16, 3);
    struct ferry_vidmm_update change = mapping(b.x, 12, wanted, 0);
    update(b.world, b.slow, &change, 1);
    turns(b.world, 20);
    hold(&b);
    change = mapping(b.x + PAGES(4), 12, wanted, 4);
    update(b.world, b.slow, &change, 1);
    quick_reads(&b, wanted, b.x + PAGES(5), world_word(3, PAGES(5) / 4));
    assert_int_equal(world_evict(b.world, wanted), FERRY_OK);
    assert_int_equal(world_evict(b.world, content(b.world, 46, 4)), FERRY_OK);
    assert_int_equal(world_place(b.world, wanted).segment, 0);
    world_require(b.world, wanted);
    quick_reads(&b, wanted, b.x + PAGES(5), world_word(3, PAGES(5) / 4));
    slow_reads(&b, wanted, b.x + PAGES(13), world_word(3, PAGES(13) / 4));
    world_close(b.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stays_mapped_is_there_all_the_time),
        cmocka_unit_test(what_an_update_maps_comes_in_for_who_needs_it_elsewhere),
        cmocka_unit_test(what_only_an_update_maps_comes_in_for_who_names_it_elsewhere),
        cmocka_unit_test(what_an_update_unmaps_leaves_and_comes_back),
        cmocka_unit_test(what_is_left_of_a_mapping_stands_behind_nothing),
        cmocka_unit_test(the_place_of_what_an_update_unmaps_is_anothers),
        cmocka_unit_test(the_place_of_what_an_update_maps_is_anothers),
        cmocka_unit_test(what_a_job_behind_an_update_names_is_there_for_it),
        cmocka_unit_test(what_an_update_is_about_moves_meanwhile),
        cmocka_unit_test(who_may_know_that_an_update_is_done_finds_it_done),
        cmocka_unit_test(what_is_left_of_a_mapping_is_not_there_before_its_update),
        cmocka_unit_test(the_place_of_what_an_update_maps_by_a_large_page_is_anothers),
        cmocka_unit_test(what_is_mapped_alike_behind_no_job_is_there_for_both),
        cmocka_unit_test(what_two_queues_map_alike_is_there_for_both),
        cmocka_unit_test(what_several_updates_map_alike_is_there_for_both),
        cmocka_unit_test(what_a_job_elsewhere_waits_for_is_there_for_it),
        cmocka_unit_test(what_was_written_in_a_buffer_that_faulted_is_taken_away),
        cmocka_unit_test(a_table_is_anothers_when_nothing_leads_to_it),
        cmocka_unit_test(the_tables_of_what_an_update_unmaps_keep_nobody),
    };
    return WORLD_RUN(tests);
}
