// SPDX-License-Identifier: Apache-2.0
// What is unmapped already, for jobs behind an update that unmaps it again, or a change of its kind, and what is to
// become zeros: also where that waits for a job of another queue. In driver model 2 of both miniports.
#include "zeros.h"

#define BESIDE 12u // pages that are left beside what begin_unmapped() makes

// Jobs behind the second update wait for what the first one takes away behind a job.
static void what_is_unmapped_behind_a_job_is_zeros_for_who_unmaps_it_again(void **state)
{
    (void)state;
    for (unsigned pieces = 0; pieces < 2; pieces++) {
        struct world *world = begin_zeros(64, 40, 0);
        D3DKMT_HANDLE slow = context_on(world, 1), quick = context_on(world, 2), one = content(world, 4, 1),
                      other = content(world, 4, 4);
        uint64_t x = reserve_zeros(world, BASE + (UINT64_C(1) << 32), 64),
                 at_other = map(world, other, BASE + 0x200000, 4);
        struct ferry_vidmm_update change = mapping(x, 4, one, 0);
        struct ferry_vidmm_updated updated;
        update(world, world->context, &change, 1);
        assert_int_equal(read_page(world, x + PAGES(1), one), world_word(1, PAGES(1) / 4));
        world->knobs->delay = 1;
        world->knobs->hold_node = 1;
        uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){result, result}, at_result + 128, at_result, 64);
        change.kind = FERRY_VIDMM_UNMAP;
        change.address = x + PAGES(pieces);
        change.bytes = PAGES(4 - pieces);
        update(world, slow, &change, 1);
        change.address = x;
        change.bytes = PAGES(4);
        assert_int_equal(ferry_vidmm_update_virtual_at_once(world->manager, quick, &change, 1, &updated),
                         FERRY_ERROR_BUSY);
        assert_false(is_over(world, slow, fence));
        update(world, quick, &change, 1);
        assert_false(is_over(world, slow, fence));
        fence = copy(world, quick, (const D3DKMT_HANDLE[2]){other, other}, at_other, x + PAGES(1), 64);
        turns(world, 60);
        world->knobs->hold_node = 0;
        assert_int_equal(ferry_vidmm_wait(world->manager, quick, fence), FERRY_OK);
        assert_int_equal(word_of(world, other, 0), 0);
        world_close(world);
    }
}

// Two queues on nodes of their own, and a third one beside the slow one; what is mapped among zeros at x has been read.
struct unmapped {
    struct world *world;
    D3DKMT_HANDLE slow, quick, third, one, other;
    uint64_t x, at_other;
};

static struct unmapped begin_unmapped(void)
{
    struct unmapped u = {.world = begin_zeros(64, 40, 0)};
    u.slow = context_on(u.world, 1);
    u.quick = context_on(u.world, 2);
    u.third = context_on(u.world, 1);
    u.one = content(u.world, 4, 1);
    u.other = content(u.world, 4, 4);
    u.x = reserve_zeros(u.world, BASE + (UINT64_C(1) << 32), 64);
    u.at_other = map(u.world, u.other, BASE + 0x200000, 4);
    struct ferry_vidmm_update change = mapping(u.x, 4, u.one, 0);
    update(u.world, u.world->context, &change, 1);
    assert_int_equal(read_page(u.world, u.x + PAGES(1), u.one), world_word(1, PAGES(1) / 4));
    u.world->knobs->delay = 1;
    return u;
}

static void unmap(const struct unmapped *u, D3DKMT_HANDLE context, uint64_t address, uint64_t pages)
{
    struct ferry_vidmm_update change = {.kind = FERRY_VIDMM_UNMAP, .address = address, .bytes = PAGES(pages)};
    update(u->world, context, &change, 1);
}

// A job of that queue finds zeros, and does not go before the node that is held back has let go.
static void reads_zeros_afterwards(const struct unmapped *u, D3DKMT_HANDLE context, uint64_t from)
{
    uint64_t fence = copy(u->world, context, (const D3DKMT_HANDLE[2]){u->other, u->other}, u->at_other, from, 64);
    turns(u->world, 60);
    assert_false(is_over(u->world, context, fence));
    u->world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(u->world->manager, context, fence), FERRY_OK);
    assert_int_equal(word_of(u->world, u->other, 0), 0);
}

// A job of the quick queue that names what is mapped, and runs until the node lets go.
static uint64_t hold_quick(const struct unmapped *u)
{
    u->world->knobs->hold_node = 2;
    return copy(u->world, u->quick, (const D3DKMT_HANDLE[2]){result, u->one}, at_result + 128, u->x, 64);
}

// The first update stands behind no job of its queue, but what it takes away is with another queue's job.
static void what_a_job_elsewhere_keeps_is_zeros_for_who_unmaps_it_again(void **state)
{
    (void)state;
    struct unmapped u = begin_unmapped();
    hold_quick(&u);
    unmap(&u, u.slow, u.x, 4);
    unmap(&u, u.third, u.x, 4);
    reads_zeros_afterwards(&u, u.third, u.x + PAGES(1));
    world_close(u.world);
}

// Two updates take something away, or one does, in this order; what is at x goes last.
static void take_away_and_again(bool by_one, bool x_first)
{
    struct unmapped u = begin_unmapped();
    D3DKMT_HANDLE free = content(u.world, 4, 5);
    struct ferry_vidmm_update change[2] = {mapping(u.x + PAGES(32), 4, free, 0), mapping(u.x, 4, 0, 0)};
    update(u.world, u.world->context, change, 1);
    assert_int_equal(read_page(u.world, u.x + PAGES(33), free), world_word(5, PAGES(1) / 4));
    hold_quick(&u);
    uint64_t fence =
        copy(u.world, u.slow, (const D3DKMT_HANDLE[2]){u.other, u.other}, u.at_other + 128, u.at_other, 64);
    change[0].kind = change[1].kind = FERRY_VIDMM_UNMAP;
    update(u.world, u.slow, &change[x_first], 1 - by_one);
    update(u.world, u.slow, &change[!x_first && !by_one], 1 + by_one);
    assert_false(is_over(u.world, u.slow, fence));
    assert_int_equal(ferry_vidmm_wait(u.world->manager, u.slow, fence), FERRY_OK);
    turns(u.world, 60);
    unmap(&u, u.third, u.x, 4);
    reads_zeros_afterwards(&u, u.third, u.x + PAGES(1));
    world_close(u.world);
}

static void what_an_older_update_takes_away_is_zeros_for_who_unmaps_it_again(void **state)
{
    (void)state;
    take_away_and_again(false, true);
    take_away_and_again(true, true);
}

static void what_a_newer_update_takes_away_is_zeros_for_who_unmaps_it_again(void **state)
{
    (void)state;
    take_away_and_again(false, false);
}

// What becomes zeros waits where it was mapped until the job before lets go; what became zeros since has not waited.
static void older_zeros_that_wait_are_found_by_later_jobs(void **state)
{
    (void)state;
    struct unmapped u = begin_unmapped();
    uint64_t y = reserve(u.world, u.x + PAGES(64), 64);
    struct ferry_vidmm_update change = mapping(y, 4, u.one, 0);
    update(u.world, u.world->context, &change, 1);
    assert_int_equal(read_page(u.world, y + PAGES(1), u.one), world_word(1, PAGES(1) / 4));
    hold_quick(&u);
    unmap(&u, u.slow, y, 4);
    for (uint32_t i = 0; i < 6; i++) {
        struct ferry_vidmm_virtual range = {
            .size = sizeof(range), .address = y + PAGES(8 * i), .bytes = PAGES(4), .reservation = FERRY_VIDMM_ZERO};
        assert_int_equal(ferry_vidmm_protect_virtual(u.world->manager, u.world->device, &range), FERRY_OK);
        turns(u.world, 20);
    }
    reads_zeros_afterwards(&u, u.third, y + PAGES(1));
    world_close(u.world);
}

// What is unmapped is out already, but entries lead to its place until the job before lets go.
static void what_is_out_and_yet_to_go_is_zeros_for_who_unmaps_it(void **state)
{
    (void)state;
    for (unsigned again = 0; again < 2; again++) {
        struct unmapped u = begin_unmapped();
        D3DKMT_HANDLE beside = world_create(u.world, PAGES(BESIDE), 0),
                      in_its_place = world_create(u.world, PAGES(4), 0);
        world_require(u.world, beside);
        hold_quick(&u);
        assert_int_equal(world_evict(u.world, u.one), FERRY_OK);
        assert_int_equal(world_resident(u.world, &in_its_place, 1), FERRY_PENDING);
        if (again)
            unmap(&u, u.slow, u.x, 4);
        unmap(&u, u.third, u.x, 4);
        reads_zeros_afterwards(&u, u.third, u.x + PAGES(1));
        world_close(u.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_unmapped_behind_a_job_is_zeros_for_who_unmaps_it_again),
        cmocka_unit_test(what_a_job_elsewhere_keeps_is_zeros_for_who_unmaps_it_again),
        cmocka_unit_test(what_an_older_update_takes_away_is_zeros_for_who_unmaps_it_again),
        cmocka_unit_test(what_a_newer_update_takes_away_is_zeros_for_who_unmaps_it_again),
        cmocka_unit_test(older_zeros_that_wait_are_found_by_later_jobs),
        cmocka_unit_test(what_is_out_and_yet_to_go_is_zeros_for_who_unmaps_it),
    };
    return WORLD_RUN(tests);
}
