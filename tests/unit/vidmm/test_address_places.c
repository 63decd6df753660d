// SPDX-License-Identifier: Apache-2.0
// A mapping at any place, when there are few page tables left: it goes where there are some, and is refused only when
// that is nowhere.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "../../seed.h"
#include "ferry/error.h"
#include "vidmm/space/address_space.h"

static struct ferry_vm_table_pool pool;
static struct ferry_vm_address_space space;
static char owner;

static void begin(uint32_t tables)
{
    assert_true(ferry_vm_table_pool_init(&pool, 0, tables));
    ferry_vm_address_space_init(&space, &pool);
}

static void end(void)
{
    uint32_t all = pool.pages;

    ferry_vm_address_space_end(&space);
    assert_int_equal(pool.free_count, all);
    ferry_vm_table_pool_destroy(&pool);
}

static int map(uint64_t base, uint64_t least, uint64_t most, uint64_t pages, uint64_t *first, uint64_t *bytes)
{
    const struct ferry_vm_where where = {base, least, most, ferry_vm_address_alignment(pages), 0};
    const struct ferry_vm_where exact = {base, 0, 0, 1, 0};
    struct ferry_vm_range *range;
    int error =
        ferry_vm_address_map(&space, base == UINT64_MAX ? &where : &exact, pages, &owner, 0, false, &range, bytes);

    *first = error ? 0 : range->first;
    while (ferry_vm_address_fresh(&space))
        ;
    return error;
}

static void map_at(uint64_t base, uint64_t pages)
{
    uint64_t first, bytes;

    assert_int_equal(map(base, 0, 0, pages, &first, &bytes), FERRY_OK);
}

static void unmap_at(uint64_t base)
{
    struct ferry_vm_range *range = ferry_vm_address_find(&space, base);
    uint64_t pages = range->pages;
    struct ferry_vm_shrinking from = {0};

    ferry_vm_address_unmap(&space, range);
    for (struct ferry_vm_table *table; (table = ferry_vm_address_shrink(&space, base, pages, &from));)
        ferry_vm_table_free(&space, table);
}

// The next place would reach into 2 MiB that have no table.
static void a_place_across_a_border_is_no_reason_to_refuse(void **state)
{
    uint64_t first, bytes;

    (void)state;
    begin(4);
    map_at(16, 8);
    map_at(24, 476);
    unmap_at(24);
    space.next = 500;
    assert_int_equal(map(UINT64_MAX, 0, 0, 15, &first, &bytes), FERRY_OK);
    assert_int_equal(first, 24);
    assert_int_equal(bytes, 0);
    // Nor are bounds, as long as there is room within them.
    space.next = 500;
    assert_int_equal(map(UINT64_MAX, 300, 0, 15, &first, &bytes), FERRY_OK);
    assert_int_equal(first, 300);
    space.next = 500;
    assert_int_equal(map(UINT64_MAX, 505, 0, 15, &first, &bytes), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(bytes, 4096);
    assert_int_equal(space.mapped_pages, 38);
    assert_int_equal(space.next, 500);
    end();
}

// 2 MiB that have a table have no room for another 2 MiB.
// What has just been unmapped there is not at once another's, nor what was reserved.
static void an_address_is_not_taken_again_at_once(void **state)
{
    const struct ferry_vm_where anywhere = {UINT64_MAX, 0, 0, 1, 0};
    uint64_t first, again, bytes;

    (void)state;
    begin(8);
    assert_int_equal(map(UINT64_MAX, 0, 0, 3, &first, &bytes), FERRY_OK);
    unmap_at(first);
    assert_int_equal(map(UINT64_MAX, 0, 0, 3, &again, &bytes), FERRY_OK);
    assert_true(again >= first + 3);
    assert_int_equal(ferry_vm_address_reserve(&space, &anywhere, 16, &first), FERRY_OK);
    assert_true(first >= again + 3);
    assert_int_equal(ferry_vm_address_release(&space, first, 16), FERRY_OK);
    assert_int_equal(map(UINT64_MAX, 0, 0, 3, &again, &bytes), FERRY_OK);
    assert_true(again >= first + 16);
    end();
}

static void smaller_pages_are_no_reason_to_refuse(void **state)
{
    uint64_t first, bytes;

    (void)state;
    begin(5);
    map_at(490, 4);
    map_at(1020, 4);
    assert_int_equal(map(UINT64_MAX, 0, 0, 512, &first, &bytes), FERRY_OK);
    assert_int_equal(first, 496); // As large as there is room for: groups.
    unmap_at(first);
    map_at(512, 1);
    assert_int_equal(map(UINT64_MAX, 0, 0, 507, &first, &bytes), FERRY_OK);
    assert_int_equal(first, 513);
    assert_int_equal(map(UINT64_MAX, 0, 0, 512, &first, &bytes), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(bytes, 4096);
    end();
}

// Thousands of places without a table come before those that have one: inside of a table, across its begin, across its
// end.
static void tables_are_found_behind_any_number_of_places(void **state)
{
    uint64_t first, bytes;

    (void)state;
    begin(5);
    for (uint64_t i = 0; i < 6000; i++) {
        const struct ferry_vm_where where = {(UINT64_C(1) << 20) + 2048 * i, 0, 0, 1, 0};

        assert_int_equal(ferry_vm_address_reserve(&space, &where, 16, &first), FERRY_OK);
    }
    const uint64_t high = (UINT64_C(1) << 30) + 4096;
    map_at(high, 512);
    map_at(high + 512, 512);
    assert_int_equal(pool.free_count, 0);
    unmap_at(high);
    map_at(high, 500);
    assert_int_equal(map(UINT64_MAX, 0, 0, 12, &first, &bytes), FERRY_OK);
    assert_int_equal(first, high + 500);
    assert_int_equal(map(UINT64_MAX, 0, 0, 12, &first, &bytes), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(bytes, 4096);
    unmap_at(high + 500);
    unmap_at(high + 512);
    map_at(high + 520, 504);
    assert_int_equal(map(UINT64_MAX, 0, 0, 14, &first, &bytes), FERRY_OK);
    assert_true(first >= high + 500 && first + 14 <= high + 520);
    unmap_at(first);
    unmap_at(high + 520);
    unmap_at(high);
    // One table is enough for more than one holds, beside one that is there.
    for (unsigned side = 0; side < 2; side++) {
        map_at(high + (side ? 412 : 0), 100);
        assert_int_equal(pool.free_count, 1);
        assert_int_equal(map(UINT64_MAX, 0, 0, 600, &first, &bytes), FERRY_OK);
        assert_true(side ? first < high && first + 600 <= high + 412 && first + 600 > high
                         : first >= high + 100 && first < high + 512);
        unmap_at(first);
        unmap_at(high + (side ? 412 : 0));
    }
    end();
}

static uint64_t seed;
static uint64_t draw(uint64_t below)
{
    return draw_below(&seed, below);
}

// Across an edge of tables of level 1.
#define WINDOW_FIRST ((UINT64_C(1) << 18) - 1300)
#define WINDOW       2600u

// Tables for these addresses that are not there, one by one.
static uint64_t missing(uint64_t first, uint64_t pages)
{
    uint64_t count = 0;

    for (unsigned level = 0; level < FERRY_VM_TABLE_LEVELS; level++)
        for (uint64_t n = first >> (9 * (level + 1)); n <= (first + pages - 1) >> (9 * (level + 1)); n++)
            count += !ferry_vm_address_table(&space, n << (9 * (level + 1)), level);
    return count;
}

static uint64_t fewest(uint64_t least, uint64_t most, uint64_t pages)
{
    uint64_t count = UINT64_MAX;

    for (uint64_t at = least; at + pages <= most; at++) {
        const struct ferry_vm_range *range = ferry_vm_address_find(&space, at);
        uint64_t here = range && range->first < at + pages ? UINT64_MAX : missing(at, pages);

        count = here < count ? here : count;
    }
    return count;
}

static void random_step(uint32_t *taken, uint32_t *refused)
{
    uint64_t pages = 1 + draw(draw(3) ? 60 : 900), first, bytes, least = WINDOW_FIRST + draw(4) * 130;
    uint64_t most = WINDOW_FIRST + WINDOW - draw(4) * 130;
    struct ferry_vm_range *range = ferry_vm_address_find(&space, WINDOW_FIRST + draw(WINDOW));

    if (draw(8) == 0) {
        const struct ferry_vm_where where = {WINDOW_FIRST + draw(WINDOW), 0, 0, 1, 0};

        (void)ferry_vm_address_reserve(&space, &where, 1 + draw(150), &first);
    } else if (draw(2) && range && range->owner) {
        unmap_at(range->first);
    } else if (draw(4) == 0 && range) {
        (void)ferry_vm_address_release(&space, range->first, range->pages);
    } else {
        uint64_t found = fewest(least, most, pages), unused = pool.free_count, next = space.next;
        int error;

        space.next = next < WINDOW_FIRST ? WINDOW_FIRST : next;
        error = map(UINT64_MAX, least, most, pages, &first, &bytes);
        // Without room for its large pages it is refused as it was.
        if (error == FERRY_ERROR_NO_VIDEO_MEMORY && bytes == 0)
            return;
        assert_int_equal(error, found <= unused ? FERRY_OK : FERRY_ERROR_NO_VIDEO_MEMORY);
        assert_int_equal(bytes, error ? (found - unused) * 4096 : 0);
        assert_true(error || (first >= least && first + pages <= most));
        *taken += !error;
        *refused += error != 0;
    }
}

static void every_place_is_tried(void **state)
{
    uint32_t taken = 0, refused = 0;

    (void)state;
    seed = seed_given(20261126);
    for (uint32_t tables = 5; tables <= 8; tables++) {
        begin(tables);
        for (int step = 0; step < 500; step++)
            random_step(&taken, &refused);
        end();
    }
    assert_true(taken > 300 && refused > 50);
}

// Between the bounds there is no room for large pages, or not even for those of 64 KiB.
static void narrow_bounds_are_no_reason_to_refuse(void **state)
{
    uint64_t first, bytes;

    (void)state;
    begin(16);
    assert_int_equal(map(UINT64_MAX, 100, 712, 600, &first, &bytes), FERRY_OK);
    assert_int_equal(first, 112);
    unmap_at(first);
    assert_int_equal(map(UINT64_MAX, 101, 711, 600, &first, &bytes), FERRY_OK);
    assert_int_equal(first, 101);
    unmap_at(first);
    assert_int_equal(map(UINT64_MAX, 101, 700, 600, &first, &bytes), FERRY_ERROR_NO_VIDEO_MEMORY);
    // Where there is, they are taken, beside what is taken already too.
    assert_int_equal(map(UINT64_MAX, 100, 1112, 600, &first, &bytes), FERRY_OK);
    assert_int_equal(first, 512);
    assert_int_equal(map(UINT64_MAX, 16, 1400, 496, &first, &bytes), FERRY_OK);
    assert_int_equal(first, 16);
    end();
}

// What is only reserved begins at a multiple of 64 KiB, whatever the bounds.
static void a_reservation_between_narrow_bounds_is_of_whole_groups(void **state)
{
    const struct ferry_vm_where narrow = {UINT64_MAX, 112, 720, 512, 0}, narrower = {UINT64_MAX, 101, 713, 512, 0};
    uint64_t first;

    (void)state;
    begin(4);
    assert_int_equal(ferry_vm_address_reserve(&space, &narrow, 608, &first), FERRY_OK);
    assert_int_equal(first, 112);
    assert_int_equal(ferry_vm_address_release(&space, first, 608), FERRY_OK);
    assert_int_equal(ferry_vm_address_reserve(&space, &narrower, 608, &first), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(ferry_vm_address_reserve(&space, &narrower, 592, &first), FERRY_OK);
    assert_int_equal(first, 112);
    end();
}

// A multiple of 4 GiB has a place across it only where there is no other: of no more bytes than lie between two.
static void a_place_lies_between_two_multiples_of_4_gib_if_it_can(void **state)
{
    const uint64_t border = UINT64_C(1) << 20;
    uint64_t first, bytes;

    (void)state;
    begin(40);
    for (uint64_t pages = 2; pages <= 600; pages += 598) {
        space.next = border - 1;
        assert_int_equal(map(UINT64_MAX, 0, 0, pages, &first, &bytes), FERRY_OK);
        assert_true(first == border);
        unmap_at(first);
        // Up to it there is room.
        space.next = border - pages - 40;
        assert_int_equal(map(UINT64_MAX, border - pages, 0, pages, &first, &bytes), FERRY_OK);
        assert_true(first == (pages == 2 ? border - 2 : border));
        unmap_at(first);
        // There is none beside it, be it for page tables or for bounds.
        space.next = border - pages;
        assert_int_equal(map(UINT64_MAX, border - 1, border + pages - 1, pages, &first, &bytes), FERRY_OK);
        assert_true(first == border - 1);
        unmap_at(first);
    }
    end();
    begin(6);
    map_at(border - 4, 1);
    map_at(border + 4, 1);
    map_at(border - 512, 508);
    map_at(border + 6, 506);
    space.next = 2 * border;
    assert_int_equal(map(UINT64_MAX, border / 2, 0, 4, &first, &bytes), FERRY_OK);
    assert_true(first >= border && first + 4 <= border + 4);
    unmap_at(first);
    space.next = 2 * border;
    assert_int_equal(map(UINT64_MAX, border / 2, 0, 7, &first, &bytes), FERRY_OK);
    assert_true(first < border && first + 7 <= border + 4);
    end();
    // More than lies between two goes over one.
    struct ferry_vm_where large = {UINT64_MAX, 0, 0, 1, 0};
    begin(4);
    space.next = border - 16;
    assert_int_equal(ferry_vm_address_reserve(&space, &large, border + 16, &first), FERRY_OK);
    assert_true(first == border - 16);
    end();
}

// The place over the border has all tables and comes first; behind what is mapped there is another with all of them.
static void for_want_of_tables_a_place_over_a_border_is_not_the_best(void **state)
{
    const uint64_t border = UINT64_C(1) << 20;
    uint64_t first, bytes;

    (void)state;
    begin(6);
    map_at(border - 512, 506);
    map_at(border + 6, 400);
    assert_int_equal(pool.free_count, 0);
    space.next = 2 * border;
    assert_int_equal(map(UINT64_MAX, border / 2, 0, 12, &first, &bytes), FERRY_OK);
    assert_true(first >= border + 406 && first + 12 <= border + 512);
    unmap_at(first);
    map_at(border + 406, 106);
    space.next = 2 * border;
    assert_int_equal(map(UINT64_MAX, border / 2, 0, 12, &first, &bytes), FERRY_OK);
    assert_true(first == border - 6);
    end();
}

// ---- Without a look at every range ----

// The lowest free place by a walk over all ranges; UINT64_MAX = none.
static uint64_t lowest_place(uint64_t least, uint64_t most, uint64_t pages, uint64_t alignment)
{
    uint64_t at = (least + alignment - 1) & ~(alignment - 1);
    const struct ferry_vm_range *range;

    while (at < most && pages <= most - at) {
        range = ferry_vm_address_find(&space, at);
        if (!range || range->first >= at + pages)
            return at;
        at = (range->first + range->pages + alignment - 1) & ~(alignment - 1);
    }
    return UINT64_MAX;
}

// Behind where the last one went, else the lowest; with smaller pages where there is no room otherwise.
static uint64_t expected_place(const struct ferry_vm_where *where, uint64_t pages, uint64_t smallest)
{
    uint64_t first = UINT64_MAX;

    for (uint64_t alignment = where->alignment;; alignment = alignment > 16 ? 16 : 1) {
        first = lowest_place(space.next > where->least ? space.next : where->least, where->most, pages, alignment);
        if (first == UINT64_MAX)
            first = lowest_place(where->least, where->most, pages, alignment);
        if (first != UINT64_MAX || alignment <= smallest)
            return first;
    }
}

// What the tree knows of a range: where the one behind it begins, and the most room behind any of those under it.
static void check_node(const struct ferry_vm_range *top, uint64_t room[FERRY_VM_ROOMS])
{
    static const uint64_t alignments[FERRY_VM_ROOMS] = {1, 16, 512};
    uint64_t right[FERRY_VM_ROOMS];

    memset(room, 0, sizeof right);
    if (!top)
        return;
    check_node(top->tree.left, room);
    check_node(top->tree.right, right);
    const struct ferry_vm_range *behind = ferry_vm_address_find(&space, top->first + top->pages);
    assert_int_equal(top->tree.next, behind ? behind->first : UINT64_MAX);
    for (unsigned i = 0; i < FERRY_VM_ROOMS; i++) {
        uint64_t from = (top->first + top->pages + alignments[i] - 1) & ~(alignments[i] - 1);
        uint64_t own = behind && behind->first > from ? behind->first - from : 0;

        room[i] = right[i] > room[i] ? right[i] : room[i];
        room[i] = own > room[i] ? own : room[i];
    }
    assert_memory_equal(room, top->tree.sums.room, sizeof right);
    uint32_t low = top->tree.left ? top->tree.left->tree.sums.height : 0;
    uint32_t high = top->tree.right ? top->tree.right->tree.sums.height : 0;
    assert_int_equal(top->tree.sums.height, 1 + (low > high ? low : high));
    assert_true(!top->tree.left || top->tree.left->first < top->first);
    assert_true(!top->tree.right || top->tree.right->first > top->first);
}

static void random_place(uint32_t *placed, uint32_t *none)
{
    struct ferry_vm_where where = {UINT64_MAX, 16 * draw(200), 0, UINT64_C(1) << draw(11), 0};
    uint64_t pages = 1 + draw(draw(3) ? 20 : 700), first, bytes, room[FERRY_VM_ROOMS];
    struct ferry_vm_range *range = ferry_vm_address_find(&space, draw(6000));

    where.least += 16;
    where.most = where.least + 1 + draw(3000);
    space.next = draw(2) ? space.next : draw(6000);
    if (draw(8) < 3 && range && range->owner) {
        first = range->first;
        ferry_vm_address_unmap(&space, range);
        ferry_vm_address_join(&space, first);
    } else if (draw(3) == 0 && range) {
        (void)ferry_vm_address_release(&space, range->first, range->pages);
    } else if (draw(4) == 0 && range && range->pages > 2 && !range->owner) {
        const struct ferry_vm_where inside = {range->first + draw(range->pages - 1), 0, 0, 1, 0};

        assert_int_equal(ferry_vm_address_map(&space, &inside, 1, &owner, 0, false, &range, &bytes), FERRY_OK);
    } else {
        bool reserves = draw(2);
        uint64_t expected = expected_place(&where, pages, reserves ? 16 : 1);
        int error = reserves ? ferry_vm_address_reserve(&space, &where, pages, &first)
                             : ferry_vm_address_map(&space, &where, pages, &owner, 0, false, &range, &bytes);

        assert_int_equal(error, expected == UINT64_MAX ? FERRY_ERROR_NO_VIDEO_MEMORY : FERRY_OK);
        if (error == FERRY_OK)
            assert_int_equal(reserves ? first : range->first, expected);
        *placed += !error;
        *none += error != 0;
    }
    while (ferry_vm_address_fresh(&space))
        ;
    check_node(space.ranges, room);
}

static void a_place_is_that_of_a_walk_over_all_ranges(void **state)
{
    uint32_t placed = 0, none = 0;

    (void)state;
    seed = seed_given(20261127);
    for (uint32_t run = 0; run < 6; run++) {
        begin(64);
        for (int step = 0; step < 800; step++)
            random_place(&placed, &none);
        end();
    }
    assert_true(placed > 1000 && none > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_across_a_border_is_no_reason_to_refuse),
        cmocka_unit_test(tables_are_found_behind_any_number_of_places),
        cmocka_unit_test(an_address_is_not_taken_again_at_once),
        cmocka_unit_test(smaller_pages_are_no_reason_to_refuse),
        cmocka_unit_test(every_place_is_tried),
        cmocka_unit_test(narrow_bounds_are_no_reason_to_refuse),
        cmocka_unit_test(a_place_is_that_of_a_walk_over_all_ranges),
        cmocka_unit_test(for_want_of_tables_a_place_over_a_border_is_not_the_best),
        cmocka_unit_test(a_place_lies_between_two_multiples_of_4_gib_if_it_can),
        cmocka_unit_test(a_reservation_between_narrow_bounds_is_of_whole_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
