// SPDX-License-Identifier: Apache-2.0
// What a search for advice keeps of runs, which sizes are next, and how long it goes on: counted by hand, nothing is
// played.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "lab/search.h"

#define PAGE 4096u

static struct ferry_lab_bench bench;
static struct ferry_lab_search search;

static int setup(void **state)
{
    (void)state;
    bench = (struct ferry_lab_bench){.traces = {.count = 1, .frames = FERRY_LAB_WARM_UP + 10, .made = 7, .named = 100}};
    search = (struct ferry_lab_search){.bench = &bench};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ferry_lab_search_end(&search);
    return 0;
}

static void amounts_are_a_frame_s_or_all(void **state)
{
    (void)state;
    assert_int_equal(ferry_lab_amount(&bench, 1000), 100);
    bench.traces.frames = FERRY_LAB_WARM_UP; // None is left to divide by.
    assert_int_equal(ferry_lab_amount(&bench, 1000), 1000);
    bench.traces.frames = FERRY_LAB_WARM_UP - 1;
    assert_int_equal(ferry_lab_amount(&bench, 1000), 1000 / (FERRY_LAB_WARM_UP - 1));
    bench.traces.frames = FERRY_LAB_WARM_UP + 10;
    bench.traces.count = 2;
    assert_int_equal(ferry_lab_amount(&bench, 1000), 1000);
}

static const struct ferry_lab_point *note(uint64_t bytes, struct ferry_lab_outcome outcome)
{
    return ferry_lab_note(&search, bytes, &outcome);
}

static void what_a_run_came_to_is_kept(void **state)
{
    (void)state;
    const struct ferry_lab_point *point =
        note(8 * PAGE,
             (struct ferry_lab_outcome){.result = FERRY_LAB_OK, .bytes_after_warm_up = 500, .paged_after_warm_up = 1});
    assert_true(point->bytes == 8 * PAGE && point->moved == 50);
    assert_true(point->fits && point->keeps && point->pages && point->whole);
    point = note(9 * PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_OK});
    assert_true(point->fits && point->keeps && !point->pages && point->whole);
    // One that was ended where it paged: how much is not known.
    point =
        note(5 * PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_PAGES, .bytes_after_warm_up = 500, .line = 3});
    assert_true(point->fits && point->keeps && point->pages && !point->whole && point->moved == 0);
    // A job that does not fit; and a reservation, which is found out before anything is played.
    point = note(2 * PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_TOO_SMALL, .line = 3});
    assert_true(!point->fits && point->keeps && point->pages && point->whole && point->moved == 0);
    point = note(1 * PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_TOO_SMALL});
    assert_true(!point->fits && !point->keeps && point->pages && point->whole);
    assert_int_equal(search.count, 5);
    // Played whole it takes the place of what was known.
    point = note(5 * PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_OK, .bytes_after_warm_up = 700});
    assert_true(point->whole && point->moved == 70 && search.count == 5);
    for (uint64_t pages = 10; pages < 300; pages++)
        assert_int_equal(note(pages * PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_OK})->bytes, pages * PAGE);
    assert_int_equal(search.count, 295);
    assert_int_equal(search.points[2].bytes, 5 * PAGE);
    // And what failed is told.
    assert_null(note(PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_FAILED, .problem = "why"}));
    assert_string_equal(search.problem, "why");
    assert_null(note(PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_NO_MEMORY}));
    assert_string_equal(search.problem, "no memory to play it again");
    assert_int_equal(search.count, 295);
}

// Of a whole run: what its jobs name, what is made, and a hundred.
static void a_search_goes_on_as_long_as_it_may(void **state)
{
    (void)state;
    assert_false(ferry_lab_may_go_on(&search));
    ferry_lab_allow(&search, 2); // Of little work there may be much.
    note(PAGE, (struct ferry_lab_outcome){
                   .result = FERRY_LAB_OK, .played = 500000 - 2 * 200 - 7 - 100 - 1, .evictions_after_warm_up = 200});
    assert_true(ferry_lab_may_go_on(&search));
    note(PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_OK});
    assert_false(ferry_lab_may_go_on(&search));
    bench.traces.named = 1000000;
    ferry_lab_allow(&search, 2);
    const uint64_t run = 1000000 + 7 + 100;
    note(PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_OK, .played = 2 * run - 1 - 7 - 100});
    assert_true(ferry_lab_may_go_on(&search));
    note(PAGE, (struct ferry_lab_outcome){.result = FERRY_LAB_OK});
    assert_false(ferry_lab_may_go_on(&search));
}

// Each number once: the last, the first, and then what halves the widest gap.
static void numbers_are_spread_evenly_and_each_comes_once(void **state)
{
    static const uint64_t first[] = {16, 0, 8, 4, 12, 2, 10, 6, 14, 1};
    (void)state;
    for (uint64_t count = 0; count < 140; count++) {
        uint64_t step = 0, number;
        unsigned char seen[140] = {0};
        for (uint64_t n = 0; n < count; n++) {
            assert_true(ferry_lab_spread(&step, count, &number));
            assert_true(number < count);
            assert_int_equal(seen[number]++, 0);
            assert_true(count != 17 || n >= 10 || number == first[n]);
        }
        assert_false(ferry_lab_spread(&step, count, &number));
        assert_false(ferry_lab_spread(&step, count, &number));
    }
}

static void sizes_are_numbers_of_pages_above_the_first(void **state)
{
    uint64_t step = 0, bytes, spread = 0, number;
    (void)state;
    while (ferry_lab_spread(&spread, 9, &number)) {
        assert_true(ferry_lab_next_size(&search, &step, 9, 5 * PAGE, true, &bytes));
        assert_int_equal(bytes, (5 + number) * PAGE);
    }
    assert_false(ferry_lab_next_size(&search, &step, 9, 5 * PAGE, true, &bytes));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(amounts_are_a_frame_s_or_all),
        CASE(what_a_run_came_to_is_kept),
        CASE(a_search_goes_on_as_long_as_it_may),
        CASE(numbers_are_spread_evenly_and_each_comes_once),
        CASE(sizes_are_numbers_of_pages_above_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
