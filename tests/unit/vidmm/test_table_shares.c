// SPDX-License-Identifier: Apache-2.0
// Several programs and one pool of page tables: who has what a first mapping takes leaves as much for each of the
// others, and for one that is yet to come. What each may have is worked out here anew, from what all of them have.
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
#include "vidmm/space/address_batch.h"
#include "vidmm/space/address_space.h"

#define MOST  6
#define AREA  (UINT64_C(1) << 9)  // pages under one table of level 0
#define APART (UINT64_C(1) << 27) // pages under one of level 2: three tables below the root
static struct ferry_vm_table_pool pool;
static struct ferry_vm_address_space spaces[MOST];
static char owner;

static void begin(uint32_t tables, unsigned programs)
{
    assert_true(ferry_vm_table_pool_init(&pool, 3, tables));
    for (unsigned i = 0; i < MOST; i++) {
        ferry_vm_address_space_init(&spaces[i], &pool);
        if (i < programs)
            ferry_vm_address_space_share(&spaces[i]);
    }
}

static void end(void)
{
    uint32_t all = pool.pages;

    for (unsigned i = 0; i < MOST; i++)
        ferry_vm_address_space_end(&spaces[i]);
    assert_int_equal(pool.free_count, all);
    assert_int_equal(pool.owed, 0);
    ferry_vm_table_pool_destroy(&pool);
}

static int map(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages, uint64_t *bytes)
{
    const struct ferry_vm_where where = {first, 0, 0, 1, 0};
    struct ferry_vm_range *range;
    int error = ferry_vm_address_map(space, &where, pages, &owner, 0, false, &range, bytes);

    while (ferry_vm_address_fresh(space))
        ;
    return error;
}

static void unmap(struct ferry_vm_address_space *space, uint64_t first)
{
    struct ferry_vm_range *range = ferry_vm_address_find(space, first);
    struct ferry_vm_shrinking from = {0};
    struct ferry_vm_table *table;
    uint64_t pages = range->pages;

    assert_int_equal(range->first, first);
    ferry_vm_address_unmap(space, range);
    while ((table = ferry_vm_address_shrink(space, first, pages, &from)))
        ferry_vm_table_free(space, table);
}

// As much as it gets, an area of 2 MiB at a time; how many tables it has then.
static uint64_t take_all(struct ferry_vm_address_space *space, uint64_t *bytes)
{
    uint64_t first = 0;

    while (map(space, first, 1, bytes) == FERRY_OK)
        first += AREA;
    return space->tables;
}

static void a_lone_program_leaves_one_share(void **state)
{
    uint64_t bytes;

    (void)state;
    begin(40, 1);
    assert_int_equal(take_all(&spaces[0], &bytes), 36);
    assert_int_equal(bytes, 4096);
    // Somebody comes, and maps; nobody is left anything after that but he.
    ferry_vm_address_space_share(&spaces[1]);
    assert_int_equal(map(&spaces[1], APART, 1, &bytes), FERRY_OK);
    assert_int_equal(pool.free_count, 0);
    assert_int_equal(map(&spaces[1], APART + AREA, 1, &bytes), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(bytes, 4096);
    ferry_vm_address_space_share(&spaces[2]);
    assert_int_equal(map(&spaces[2], 0, 1, &bytes), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(bytes, 4 * 4096);
    // Who gives back gives to who has none first: four, and one more is again for whoever comes.
    for (unsigned i = 0; i < 9; i++)
        unmap(&spaces[0], i * AREA);
    assert_int_equal(pool.free_count, 9);
    assert_int_equal(map(&spaces[0], 0, 2 * AREA, &bytes), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(bytes, 4096);
    assert_int_equal(map(&spaces[0], 0, AREA, &bytes), FERRY_OK);
    assert_int_equal(map(&spaces[2], 0, 1, &bytes), FERRY_OK);
    end();
}

// Where the pool is four shares or more; and whoever shares with nobody, as the manager's own paging process, leaves
// none.
static void a_small_pool_is_one_programs_and_what_is_no_program_leaves_nothing(void **state)
{
    uint64_t bytes;

    (void)state;
    begin(15, 1);
    assert_int_equal(take_all(&spaces[0], &bytes), 15);
    end();
    begin(16, 1);
    assert_int_equal(take_all(&spaces[0], &bytes), 12);
    end();
    begin(16, 2);
    assert_int_equal(take_all(&spaces[2], &bytes), 16);
    end();
    // Others that are there have their share of a small one too.
    begin(8, 2);
    assert_int_equal(take_all(&spaces[0], &bytes), 4);
    assert_int_equal(take_all(&spaces[1], &bytes), 4);
    end();
}

// At any place: one that takes no more tables than are left is found before anything is refused, though not aligned.
static void a_place_is_looked_for_by_what_is_left(void **state)
{
    const struct ferry_vm_where any = {UINT64_MAX, 2 * APART, 0, 16, 0};
    struct ferry_vm_range *range;
    uint64_t bytes;

    (void)state;
    begin(24, 2);
    assert_int_equal(map(&spaces[0], 2 * APART, 8, &bytes), FERRY_OK);
    assert_int_equal(map(&spaces[0], 2 * APART + 24, AREA - 24, &bytes), FERRY_OK);
    for (uint64_t first = 0; pool.free_count > 8; first += AREA)
        assert_int_equal(map(&spaces[0], first, 1, &bytes), FERRY_OK);
    // Eight are free, and none of them is left for this one.
    spaces[0].next = 3 * APART;
    assert_int_equal(ferry_vm_address_map(&spaces[0], &any, 16, &owner, 0, false, &range, &bytes), FERRY_OK);
    assert_int_equal(range->first, 2 * APART + 8);
    end();
}

// A batch too; and one that does not fit changes nothing.
static void a_batch_leaves_as_much(void **state)
{
    struct ferry_vm_batch batch;
    uint64_t bytes, at;
    const struct ferry_vm_where where = {0, 0, 0, 1, 0};

    (void)state;
    begin(24, 2);
    assert_int_equal(ferry_vm_address_reserve(&spaces[0], &where, 64 * AREA, &at), FERRY_OK);
    assert_int_equal(map(&spaces[0], 0, 1, &bytes), FERRY_OK);
    for (uint64_t areas = 14; areas-- > 12;) {
        const struct ferry_vm_part part = {.first = AREA, .pages = areas * AREA, .owner = &owner};
        ferry_vm_batch_begin(&batch, &spaces[0]);
        assert_int_equal(ferry_vm_batch_map(&batch, &part, 0, &bytes), FERRY_OK);
        int error = ferry_vm_batch_prepare(&batch, &bytes);
        // 20 are free; the other one's four and those of whoever comes stay.
        assert_int_equal(error, areas > 12 ? FERRY_ERROR_NO_VIDEO_MEMORY : FERRY_OK);
        assert_int_equal(bytes, areas > 12 ? 4096 : 0);
        ferry_vm_batch_end(&batch);
        assert_int_equal(spaces[0].tables, 4);
    }
    end();
}

static uint64_t drawn;
static uint64_t draw(uint64_t below)
{
    return draw_below(&drawn, below);
}

// What is free for one of them, by the rule as the manual says it.
static uint64_t may_have(unsigned who, uint32_t tables)
{
    uint64_t used = 0, left = tables >= 16 ? 4 : 0, own = spaces[who].tables >= 4 ? 0 : 4 - spaces[who].tables;

    for (unsigned i = 0; i < MOST; i++) {
        used += spaces[i].tables;
        if (i != who && spaces[i].shares && spaces[i].tables < 4)
            left += 4 - spaces[i].tables;
    }
    uint64_t unused = tables - used, beside = unused > left ? unused - left : 0;
    own = own < unused ? own : unused;
    return own > beside ? own : beside;
}

static uint64_t missing(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    uint64_t count = 0;

    for (unsigned level = 0, shift = 9; level < FERRY_VM_TABLE_LEVELS; level++, shift += 9)
        for (uint64_t n = first >> shift; n <= (first + pages - 1) >> shift; n++)
            count += !ferry_vm_address_table(space, n << shift, level);
    return count;
}

static void random_programs_leave_each_other_their_share(void **state)
{
    uint32_t mapped = 0, refused = 0, by_the_rule = 0, first_ones = 0;

    (void)state;
    drawn = seed_given(1);
    for (int run = 0; run < 200; run++) {
        uint32_t tables = 10 + (uint32_t)draw(50);

        begin(tables, 1 + (unsigned)draw(3));
        for (int step = 0; step < 300; step++) {
            unsigned who = (unsigned)draw(MOST);
            struct ferry_vm_address_space *space = &spaces[who];
            uint64_t page = draw(3) * APART + draw(6) * AREA + draw(3), bytes;
            uint64_t pages = draw(4) ? 1 : 1 + draw(9 * AREA);
            const struct ferry_vm_range *range = ferry_vm_address_find(space, page);

            if (draw(40) == 0 && space->shares) {
                ferry_vm_address_space_end(space);
            } else if (!space->shares) {
                // Twice is once.
                for (uint64_t times = 1 + draw(2); times > 0 && draw(4) == 0; times--)
                    ferry_vm_address_space_share(space);
            } else if (range && range->first == page) {
                unmap(space, page);
            } else if (!range || range->first >= page + pages) {
                uint64_t want = missing(space, page, pages), free_for = may_have(who, tables);
                int error = map(space, page, pages, &bytes);

                assert_int_equal(error, want > free_for ? FERRY_ERROR_NO_VIDEO_MEMORY : FERRY_OK);
                assert_int_equal(bytes, want > free_for ? (want - free_for) * 4096 : 0);
                mapped += error == FERRY_OK;
                refused += error != FERRY_OK;
                by_the_rule += error != FERRY_OK && want <= pool.free_count;
                first_ones += error == FERRY_OK && want == 4;
            }
        }
        end();
    }
    assert_true(mapped > 2000 && refused > 1000 && by_the_rule > 500 && first_ones > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_program_leaves_one_share),
        cmocka_unit_test(a_small_pool_is_one_programs_and_what_is_no_program_leaves_nothing),
        cmocka_unit_test(a_place_is_looked_for_by_what_is_left),
        cmocka_unit_test(a_batch_leaves_as_much),
        cmocka_unit_test(random_programs_leave_each_other_their_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
