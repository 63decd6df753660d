// SPDX-License-Identifier: Apache-2.0
// A mapping at any place, when there are few page tables left: it goes where there are some, and is refused only when
// that is nowhere.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

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
    const struct ferry_vm_where where = {base, least, most, ferry_vm_address_alignment(pages)};
    const struct ferry_vm_where exact = {base, 0, 0, 1};
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

    ferry_vm_address_unmap(&space, range);
    for (struct ferry_vm_table *table; (table = ferry_vm_address_shrink(&space, base, pages));)
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

static uint64_t seed;
static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
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
        const struct ferry_vm_where where = {WINDOW_FIRST + draw(WINDOW), 0, 0, 1};

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
    const char *given = getenv("FERRY_SEED");
    uint32_t taken = 0, refused = 0;

    (void)state;
    seed = given ? strtoull(given, NULL, 0) : 20261126;
    printf("FERRY_SEED=%llu\n", (unsigned long long)seed);
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
    const struct ferry_vm_where narrow = {UINT64_MAX, 112, 720, 512}, narrower = {UINT64_MAX, 101, 713, 512};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_across_a_border_is_no_reason_to_refuse),
        cmocka_unit_test(smaller_pages_are_no_reason_to_refuse),
        cmocka_unit_test(every_place_is_tried),
        cmocka_unit_test(narrow_bounds_are_no_reason_to_refuse),
        cmocka_unit_test(a_reservation_between_narrow_bounds_is_of_whole_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
