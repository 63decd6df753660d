// SPDX-License-Identifier: Apache-2.0
// The address space of a program against a plain list: a state for every page of a few windows, and the tables that
// must be there counted anew from it after each step.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "../../seed.h"
#include "ferry/error.h"
#include "vidmm/space/address_space.h"

static const struct ferry_vm_where anywhere = {UINT64_MAX, 0, 0, 1, 0};

static struct ferry_vm_where at(uint64_t page)
{
    return (struct ferry_vm_where){page, 0, 0, 1, 0};
}

static uint64_t take_note(struct ferry_vm_address_space *space)
{
    uint64_t count = 0;

    for (struct ferry_vm_table *table; (table = ferry_vm_address_fresh(space)); count++)
        assert_true(!table->parent || table->level + 1 == table->parent->level);
    return count;
}

static void shrink(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    struct ferry_vm_shrinking from = {0};
    struct ferry_vm_table *table;

    while ((table = ferry_vm_address_shrink(space, first, pages, &from)))
        ferry_vm_table_free(space, table);
}

static void bad_arguments_have_names_and_change_nothing(void **state)
{
    struct ferry_vm_table_pool pool;
    struct ferry_vm_address_space space;
    struct ferry_vm_range *range;
    uint64_t first, bytes;
    int owner;

    (void)state;
    assert_true(ferry_vm_table_pool_init(&pool, 1000, 6));
    ferry_vm_address_space_init(&space, &pool);
#define MAP(WHERE, PAGES) ferry_vm_address_map(&space, &(WHERE), PAGES, &owner, 0, false, &range, &bytes)
    struct ferry_vm_where where = at(FERRY_VM_VA_PAGES - 1);
    assert_int_equal(MAP(where, 2), FERRY_ERROR_ARGUMENT);
    assert_int_equal(MAP(where, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(MAP(anywhere, FERRY_VM_VA_PAGES + 1), FERRY_ERROR_ARGUMENT);
    where = (struct ferry_vm_where){17, 0, 0, 16, 0};
    assert_int_equal(ferry_vm_address_reserve(&space, &where, 16, &first), FERRY_ERROR_ARGUMENT);
    where = (struct ferry_vm_where){UINT64_MAX, 64, 64, 16, 0};
    assert_int_equal(ferry_vm_address_reserve(&space, &where, 16, &first), FERRY_ERROR_ARGUMENT);
    where = (struct ferry_vm_where){UINT64_MAX, 64, 80, 16, 0};
    assert_int_equal(ferry_vm_address_reserve(&space, &where, 17, &first), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(ferry_vm_address_reserve(&space, &where, 16, &first), FERRY_OK);
    assert_int_equal(first, 64);
    // Four tables take one page to the end of the space; and one more in another area would take three.
    where = at(FERRY_VM_VA_PAGES - 1);
    assert_int_equal(MAP(where, 1), FERRY_OK);
    assert_int_equal(take_note(&space), 4);
    assert_int_equal(MAP(where, 1), FERRY_ERROR_BUSY);
    where = at(70);
    assert_int_equal(MAP(where, 1), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(bytes, 4096);
    where = at(0);
    assert_int_equal(MAP(where, UINT64_C(1) << 35), FERRY_ERROR_BUSY);
    where = at(1024);
    assert_int_equal(MAP(where, UINT64_C(1) << 35), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_true(bytes == ((UINT64_C(1) << 26) - 2) * 4096);
    assert_int_equal(space.tables, 4);
    assert_int_equal(space.mapped_pages, 1);
    assert_int_equal(pool.free_count, 2);
    // Over the end of a reservation, and over two things at once.
    where = at(79);
    assert_int_equal(MAP(where, 2), FERRY_ERROR_BUSY);
    assert_int_equal(ferry_vm_address_reserve(&space, &where, 1, &first), FERRY_ERROR_BUSY);
    assert_int_equal(ferry_vm_address_release(&space, 64, 15), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vm_address_release(&space, 65, 15), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vm_address_release(&space, FERRY_VM_VA_PAGES - 1, 1), FERRY_ERROR_BUSY);
    assert_int_equal(ferry_vm_address_release(&space, 64, 16), FERRY_OK);
    ferry_vm_address_space_end(&space);
    assert_int_equal(pool.free_count, 6);
    ferry_vm_table_pool_destroy(&pool);
}

static void pages_are_as_large_as_address_place_and_length_allow(void **state)
{
    struct ferry_vm_table_pool pool;
    struct ferry_vm_address_space space;
    struct ferry_vm_range *range;
    uint64_t bytes;
    int owner;

    (void)state;
    assert_true(ferry_vm_table_pool_init(&pool, 0, 64));
    ferry_vm_address_space_init(&space, &pool);
    struct ferry_vm_where where = at(500);
    assert_int_equal(ferry_vm_address_map(&space, &where, 2000, &owner, 0, false, &range, &bytes), FERRY_OK);
    take_note(&space);
    const struct {
        uint64_t at, place;
        bool scattered;
        uint64_t pages;
        unsigned level;
        bool group;
        uint32_t index, count;
    } cases[] = {
        {500, 500, false, 12, 0, false, 500, 12},  {512, 512, false, 512, 1, false, 1, 1},
        {512, 1024, false, 512, 1, false, 1, 1},   {512, 528, false, 512, 0, true, 0, 32},
        {512, 513, false, 512, 0, false, 0, 512},  {512, 512, true, 512, 0, false, 0, 512},
        {530, 530, false, 14, 0, false, 18, 14},   {544, 544, false, 480, 0, true, 2, 30},
        {530, 531, false, 494, 0, false, 18, 494}, {2048, 2048, false, 448, 0, true, 0, 28},
        {2496, 2496, false, 4, 0, false, 448, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ferry_vm_piece piece;

        ferry_vm_address_piece(&space, cases[i].at, 2500, cases[i].place, cases[i].scattered, &piece);
        assert_int_equal(piece.first, cases[i].at);
        assert_int_equal(piece.pages, cases[i].pages);
        assert_int_equal(piece.table->level, cases[i].level);
        assert_int_equal(piece.group, cases[i].group);
        assert_int_equal(piece.index, cases[i].index);
        assert_int_equal(piece.count, cases[i].count);
    }
    ferry_vm_address_space_end(&space);
    ferry_vm_table_pool_destroy(&pool);
}

// ---- Random ---------------------------------------------------------------------------------------------------------

static uint64_t seed;
static uint64_t draw(uint64_t below)
{
    return draw_below(&seed, below);
}

#define WINDOWS 5u
#define WINDOW  1200u
// Around the edges of tables of each level, and both ends.
static const uint64_t windows[WINDOWS] = {0, (1u << 18) - 600, (UINT64_C(1) << 27) - 600, UINT64_C(1) << 35,
                                          FERRY_VM_VA_PAGES - WINDOW};
enum { FREE, RESERVED, MAPPED };
struct plain {
    int state;
    uint32_t owner, offset;
    uint32_t reserved; // by which reservation, also below what is mapped; 0 = none
} plain[WINDOWS][WINDOW];

static uint64_t tables_of_list(void)
{
    uint64_t count = 0, last[4];

    memset(last, 0xff, sizeof last);
    for (uint32_t w = 0; w < WINDOWS; w++) {
        for (uint32_t p = 0; p < WINDOW; p++) {
            for (unsigned level = 0; level < 4 && plain[w][p].state == MAPPED; level++) {
                uint64_t prefix = (windows[w] + p) >> (9 * (level + 1));

                count += prefix != last[level];
                last[level] = prefix;
            }
        }
    }
    return count;
}

static void random_steps_agree_with_a_plain_list(void **state)
{
    struct ferry_vm_table_pool pool;
    struct ferry_vm_address_space space;
    static char owners[200];
    uint32_t done[3] = {0}, refused = 0, exhausted = 0, in_pieces = 0;

    (void)state;
    seed = seed_given(20261122);
    memset(plain, 0, sizeof plain);
    assert_true(ferry_vm_table_pool_init(&pool, 7, 19));
    ferry_vm_address_space_init(&space, &pool);
    // How often there is a reservation in pieces is the seed's luck: it goes on until there were enough, ten times as
    // long at most.
    for (int step = 0; step < 30000 || (step < 300000 && !(done[0] > 300 && exhausted > 50 && in_pieces > 10));
         step++) {
        uint32_t w = (uint32_t)draw(WINDOWS), p = (uint32_t)draw(WINDOW), n = 1 + (uint32_t)draw(draw(8) ? 40 : 700);
        uint32_t kind = (uint32_t)draw(5);
        struct ferry_vm_where where = at(windows[w] + p);
        struct ferry_vm_range *range;
        uint64_t first, bytes;
        bool all_free = true, in_one = true;

        range = ferry_vm_address_find(&space, windows[w] + p);
        // From the middle of a piece of a reservation on into the next one.
        if (kind == 2 && range && !range->owner && range->first >= windows[w] && range->first < windows[w] + WINDOW) {
            p = (uint32_t)(range->first + range->pages / 2 - windows[w]);
            n = (uint32_t)(range->pages - range->pages / 2 + 1 + draw(3));
            where = at(windows[w] + p);
        }
        n = p + n > WINDOW ? WINDOW - p : n;
        for (uint32_t i = p; i < p + n; i++) {
            all_free &= plain[w][i].state == FREE && !plain[w][i].reserved;
            in_one &= plain[w][i].state == RESERVED && plain[w][i].reserved == plain[w][p].reserved;
        }
        range = ferry_vm_address_find(&space, windows[w] + p);
        if (kind == 0) {
            int error = ferry_vm_address_reserve(&space, &where, n, &first);

            assert_int_equal(error, all_free ? FERRY_OK : FERRY_ERROR_BUSY);
            for (uint32_t i = p; i < p + n && !error; i++)
                plain[w][i] = (struct plain){RESERVED, 0, 0, done[0] + 1};
            done[0] += !error;
        } else if (kind < 3) {
            uint32_t owner = (uint32_t)draw(200);
            bool pieces = in_one && range->first + range->pages < windows[w] + p + n;
            bool read_only = owner % 3 == 0;
            int error = ferry_vm_address_map(&space, &where, n, &owners[owner], 5 * owner, read_only, &range, &bytes);
            struct plain before[WINDOW];

            memcpy(before, plain[w], sizeof before);
            for (uint32_t i = p; i < p + n; i++)
                plain[w][i] = (struct plain){MAPPED, owner, 5 * owner + i - p, plain[w][i].reserved};
            bool fits = tables_of_list() <= 19;
            assert_int_equal(error, !(all_free || in_one) ? FERRY_ERROR_BUSY
                                    : fits                ? FERRY_OK
                                                          : FERRY_ERROR_NO_VIDEO_MEMORY);
            if (error)
                memcpy(plain[w], before, sizeof before);
            refused += error == FERRY_ERROR_BUSY;
            in_pieces += pieces && !error;
            exhausted += error == FERRY_ERROR_NO_VIDEO_MEMORY;
            done[1] += !error;
            take_note(&space);
        } else if (range && range->owner && range->first >= windows[w] && range->first < windows[w] + WINDOW) {
            uint64_t from = range->first, pages = range->pages;

            ferry_vm_address_unmap(&space, range);
            shrink(&space, from, pages);
            for (uint64_t i = from - windows[w]; i < from - windows[w] + pages; i++)
                plain[w][i] = (struct plain){plain[w][i].reserved ? RESERVED : FREE, 0, 0, plain[w][i].reserved};
            done[2]++;
        } else if (range && range->first >= windows[w] && range->first < windows[w] + WINDOW) {
            uint64_t from = range->first, pages = range->pages;

            assert_int_equal(ferry_vm_address_release(&space, from, pages), FERRY_OK);
            for (uint64_t i = from - windows[w]; i < from - windows[w] + pages; i++)
                plain[w][i] = (struct plain){0};
        }
        uint64_t tables = tables_of_list(), root_alone = space.root && !tables;
        assert_int_equal(space.tables, tables + root_alone);
        assert_int_equal(pool.free_count, 19 - space.tables);
        for (uint32_t look = 0; look < 20; look++) {
            uint32_t i = (uint32_t)draw(WINDOW);
            uint64_t page = windows[w] + i;
            const struct ferry_vm_range *found = ferry_vm_address_find(&space, page);
            bool holds = found && found->first <= page;

            assert_int_equal(holds, plain[w][i].state != FREE);
            if (!holds)
                continue;
            assert_int_equal(found->owner != NULL, plain[w][i].state == MAPPED);
            if (found->owner) {
                assert_ptr_equal(found->owner, &owners[plain[w][i].owner]);
                assert_int_equal(ferry_vm_range_more(found)->offset + page - found->first, plain[w][i].offset);
                assert_non_null(ferry_vm_address_table(&space, page, 0));
            } else {
                // What was mapped there before is forgotten.
                assert_false(ferry_vm_range_more(found)->offset != 0 || found->read_only || found->each_instance);
            }
        }
    }
    assert_true(done[0] > 300 && done[1] > 1000 && done[2] > 1000 && refused > 1000 && exhausted > 50 &&
                in_pieces > 10);
    ferry_vm_address_space_end(&space);
    assert_int_equal(pool.free_count, 19);
    ferry_vm_table_pool_destroy(&pool);
}

// Any place: never two in one place, and addresses below and above a hole are found again when they are free.
static void any_place_is_a_free_one(void **state)
{
    struct ferry_vm_table_pool pool;
    struct ferry_vm_address_space space;
    struct ferry_vm_where where = {UINT64_MAX, 32, 32 + 64, 16, 0};
    uint64_t first[4], one_more;

    (void)state;
    assert_true(ferry_vm_table_pool_init(&pool, 0, 4));
    ferry_vm_address_space_init(&space, &pool);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(ferry_vm_address_reserve(&space, &where, 16, &first[i]), FERRY_OK);
        assert_int_equal(first[i], 32 + 16 * i);
    }
    assert_int_equal(ferry_vm_address_reserve(&space, &where, 1, &one_more), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(ferry_vm_address_release(&space, first[1], 16), FERRY_OK);
    assert_int_equal(ferry_vm_address_reserve(&space, &where, 16, &one_more), FERRY_OK);
    assert_int_equal(one_more, first[1]);
    assert_int_equal(ferry_vm_address_reserve(&space, &anywhere, 5, &one_more), FERRY_OK);
    assert_int_equal(one_more, 96);
    ferry_vm_address_space_end(&space);
    ferry_vm_table_pool_destroy(&pool);
}

// A million mapped pages, in as many ranges as allocations of 1 MiB and in single ones.
static void a_million_pages(void **state)
{
    struct ferry_vm_table_pool pool;
    struct ferry_vm_address_space space;
    struct ferry_vm_range *range;
    uint64_t bytes;
    int owner;

    (void)state;
    assert_true(ferry_vm_table_pool_init(&pool, 0, 4096));
    ferry_vm_address_space_init(&space, &pool);
    for (uint64_t pages = 1; pages <= 256; pages *= 256) {
        for (uint64_t i = 0; i < (UINT64_C(1) << 20) / pages / (pages == 1 ? 8 : 1); i++)
            assert_int_equal(ferry_vm_address_map(&space, &anywhere, pages, &owner, 0, false, &range, &bytes),
                             FERRY_OK);
        take_note(&space);
    }
    assert_int_equal(space.mapped_pages, (1u << 20) + (1u << 17));
    while ((range = ferry_vm_address_find(&space, 0))) {
        uint64_t first = range->first, pages = range->pages;

        ferry_vm_address_unmap(&space, range);
        shrink(&space, first, pages);
    }
    assert_int_equal(space.tables, 1);
    ferry_vm_address_space_end(&space);
    ferry_vm_table_pool_destroy(&pool);
}

// What so many tables take to go, one by one: all of them, or each second one, as the others have something again.
static double time_to_shrink(uint64_t tables, bool second)
{
    struct ferry_vm_table_pool pool;
    struct ferry_vm_address_space space;
    const struct ferry_vm_where where = {0, 0, 0, 1, 0};
    struct ferry_vm_range *range;
    uint64_t bytes, pages = tables * FERRY_VM_TABLE_ENTRIES;
    struct timespec from, to;
    int owner;

    assert_true(ferry_vm_table_pool_init(&pool, 0, (uint32_t)tables * 2));
    ferry_vm_address_space_init(&space, &pool);
    assert_int_equal(ferry_vm_address_map(&space, &where, pages, &owner, 0, false, &range, &bytes), FERRY_OK);
    take_note(&space);
    ferry_vm_address_unmap(&space, range);
    uint64_t all = space.tables;
    for (uint64_t first = 0; second && first < pages; first += 2 * FERRY_VM_TABLE_ENTRIES) {
        const struct ferry_vm_where there = {first, 0, 0, 1, 0};

        assert_int_equal(ferry_vm_address_map(&space, &there, 1, &owner, 0, false, &range, &bytes), FERRY_OK);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    shrink(&space, 0, pages);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    assert_int_equal(space.tables, second ? all - tables / 2 : 1);
    ferry_vm_address_space_end(&space);
    ferry_vm_table_pool_destroy(&pool);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

static void a_table_more_takes_as_long_to_go_however_many_there_are(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        double few = 1e9, many = 1e9;

        for (unsigned i = 0; i < 3; i++) {
            double first = time_to_shrink(2048, way), second = time_to_shrink(16384, way);

            few = first < few ? first : few;
            many = second < many ? second : many;
        }
        printf("of 2,048 tables %s go in %.4f s, of 16,384 in %.4f\n", way ? "half" : "all", few, many);
        assert_true(many < 24 * few);
    }
}

static uint32_t height(const struct ferry_vm_range *top)
{
    uint32_t left, right;

    if (!top)
        return 0;
    left = height(top->tree.left);
    right = height(top->tree.right);
    return 1 + (left > right ? left : right);
}

#define RANGES 4096u
// Pages: at this step a product with the golden ratio goes down by least, by which a tree was kept flat.
#define GOLDEN_STEP 46368u

// Whoever chooses addresses does not choose how long others wait, nor how deep a look-up goes.
static void the_tree_is_flat_whatever_addresses_a_program_chooses(void **state)
{
    struct ferry_vm_table_pool pool;
    struct ferry_vm_address_space space;
    uint64_t first;

    (void)state;
    assert_true(ferry_vm_table_pool_init(&pool, 0, 1));
    for (unsigned way = 0; way < 4; way++) {
        uint64_t step = way < 2 ? GOLDEN_STEP : 16;

        ferry_vm_address_space_init(&space, &pool);
        for (uint64_t i = 0; i < RANGES; i++) {
            struct ferry_vm_where where = at(16 + step * (way % 2 ? i : RANGES - 1 - i));

            assert_int_equal(ferry_vm_address_reserve(&space, &where, 16, &first), FERRY_OK);
        }
        assert_in_range(height(space.ranges), 13, 17);
        // And stays it, as all of one side goes.
        for (uint64_t i = 0; i < RANGES - 64; i++)
            assert_int_equal(ferry_vm_address_release(&space, 16 + step * (way % 2 ? i : RANGES - 1 - i), 16),
                             FERRY_OK);
        assert_in_range(height(space.ranges), 7, 8);
        ferry_vm_address_space_end(&space);
    }
    ferry_vm_table_pool_destroy(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments_have_names_and_change_nothing),
        cmocka_unit_test(pages_are_as_large_as_address_place_and_length_allow),
        cmocka_unit_test(random_steps_agree_with_a_plain_list),
        cmocka_unit_test(any_place_is_a_free_one),
        cmocka_unit_test(a_million_pages),
        cmocka_unit_test(a_table_more_takes_as_long_to_go_however_many_there_are),
        cmocka_unit_test(the_tree_is_flat_whatever_addresses_a_program_chooses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
