// SPDX-License-Identifier: Apache-2.0
// What rows at addresses name, with the test in the place of who knows what is mapped there.
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
#include "vidmm/base/reached.h"

#define PAGE  4096u
#define MOST  1024u // allocations that a buffer names
#define FIRST 100u
#define PAGES 512u

// What each page leads to, 0 = nothing; neighbours of one number are one mapping.
static D3DKMT_HANDLE shown[PAGES];
static unsigned asked;

static int find(void *context, uint64_t address, struct ferry_vidmm_mapping *mapping)
{
    uint64_t page = address / PAGE, end;
    (void)context;
    asked++;
    *mapping = (struct ferry_vidmm_mapping){0};
    while (page < PAGES && shown[page] == 0)
        page++;
    if (page >= PAGES)
        return FERRY_OK;
    for (end = page; end < PAGES && shown[end] == shown[page]; end++)
        ;
    while (page > 0 && shown[page - 1] == shown[page])
        page--;
    mapping->address = page * PAGE;
    mapping->bytes = (end - page) * PAGE;
    mapping->allocation = shown[page];
    return FERRY_OK;
}

static struct ferry_vidmm_name list[MOST];

static uint64_t state_word;
static uint32_t draw(uint32_t below)
{
    return draw_below(&state_word, below);
}

static struct ferry_vidmm_names none(uint32_t most)
{
    return (struct ferry_vidmm_names){list, 0, most};
}

// Rows in all directions, apart and over each other, against a look at each byte's page; a stretch is asked about once.
static void rows_name_what_each_of_their_bytes_shows(void **state)
{
    (void)state;
    state_word = seed_given(20261128);
    for (unsigned turn = 0; turn < 2000; turn++) {
        bool named[PAGES + 1] = {false};
        D3DKMT_HANDLE next = 1 + draw(3);
        unsigned stretches = 1, count = 0;
        for (unsigned page = 0; page < PAGES; page++) {
            if (draw(1 + turn % 40) == 0) {
                next = draw(3) ? 1 + draw(60) : 0;
                stretches++;
            }
            shown[page] = next;
        }
        struct ferry_vidmm_reach reach = {.bytes = 1 + draw(turn % 2 ? 64 : 4 * PAGE),
                                          .rows = 1 + draw(turn % 3 ? 300 : 3)};
        int64_t most = (int64_t)(((uint64_t)PAGES * PAGE - reach.bytes) / reach.rows);
        reach.pitch = (int64_t)draw((uint32_t)most + 1) * (turn % 5 ? 1 : 0);
        reach.address = draw(PAGE);
        if (turn % 4 == 0) {
            reach.address = (uint64_t)PAGES * PAGE - reach.bytes - draw(PAGE) % (PAGE / 2);
            reach.pitch = -reach.pitch;
            if (reach.address < (uint64_t)-reach.pitch * (reach.rows - 1))
                continue;
        }
        for (uint32_t row = 0; row < reach.rows; row++) {
            uint64_t at = reach.address + (uint64_t)reach.pitch * row;
            for (uint64_t page = at / PAGE; page <= (at + reach.bytes - 1) / PAGE && page < PAGES; page++)
                named[shown[page]] = true;
        }
        struct ferry_vidmm_names names = none(MOST);
        asked = 0;
        assert_int_equal(ferry_vidmm_find_names(&names, &reach, find, NULL), FERRY_OK);
        for (D3DKMT_HANDLE i = 1; i < PAGES; i++) {
            if (!named[i])
                continue;
            assert_int_equal(list[count].allocation, i);
            assert_false(list[count++].write);
        }
        assert_int_equal(names.count, count);
        assert_true(asked <= stretches + 1);
    }
}

// As many rows as there can be, over a few mappings: their number costs nothing.
static void rows_that_are_many_are_not_gone_through(void **state)
{
    (void)state;
    struct ferry_vidmm_names names = none(MOST);
    for (unsigned page = 0; page < PAGES; page++)
        shown[page] = 1 + page / 128;
    const int64_t pitches[] = {0, 1, -1, 7};
    for (unsigned i = 0; i < sizeof(pitches) / sizeof(pitches[0]); i++) {
        const struct ferry_vidmm_reach reach = {.address = UINT64_C(64) * PAGE,
                                                .bytes = 1,
                                                .pitch = pitches[i],
                                                .rows = pitches[i] < 0 ? 64 * PAGE : UINT32_MAX,
                                                .write = true};
        names.count = 0;
        asked = 0;
        assert_int_equal(ferry_vidmm_find_names(&names, &reach, find, NULL), FERRY_OK);
        assert_int_equal(names.count, pitches[i] > 0 ? 4 : 1);
        assert_true(list[0].write && asked <= 6);
    }
}

// Nor are those that are each as long as all that is mapped: together they reach one stretch of addresses.
static void rows_over_each_other_are_looked_at_as_one(void **state)
{
    (void)state;
    struct ferry_vidmm_names names = none(MOST);
    for (unsigned page = 0; page < PAGES; page++)
        shown[page] = 1 + page;
    for (int64_t pitch = -1; pitch <= 1; pitch++) {
        const struct ferry_vidmm_reach reach = {
            .address = UINT64_C(16) * PAGE, .bytes = (PAGES - 32) * PAGE, .pitch = pitch, .rows = 16 * PAGE + 1};
        names.count = 0;
        asked = 0;
        assert_int_equal(ferry_vidmm_find_names(&names, &reach, find, NULL), FERRY_OK);
        assert_int_equal(names.count, PAGES - (pitch ? 16 : 32));
        assert_int_equal(asked, names.count);
    }
}

static void no_more_is_named_than_there_is_room_for(void **state)
{
    (void)state;
    for (unsigned page = 0; page < PAGES; page++)
        shown[page] = FIRST + page;
    for (uint32_t pages = 1; pages < 8; pages++) {
        const struct ferry_vidmm_reach reach = {.address = 9 * PAGE, .bytes = (uint64_t)pages * PAGE, .rows = 1};
        struct ferry_vidmm_names names = none(4);
        assert_int_equal(ferry_vidmm_find_names(&names, &reach, find, NULL), pages > 4 ? FERRY_ERROR_RANGE : FERRY_OK);
        assert_int_equal(names.count, pages > 4 ? 4 : pages);
        // What is named already takes no room.
        assert_int_equal(ferry_vidmm_add_name(&names, FIRST + 9, true), FERRY_OK);
        assert_true(list[0].write);
    }
}

// CPU time in which a buffer that names so many allocations has so many named in it, each time the same work if what
// one of them costs does not depend on how many there are: the shortest of some.
static double of_naming(uint32_t before, uint32_t found, bool all_known)
{
    static struct ferry_vidmm_reference references[2 * MOST];
    static uint64_t addresses[2 * MOST];
    struct ferry_vidmm_names names = none(MOST);
    uint32_t count = 0;
    double shortest = 1e9;
    for (uint32_t i = 0; i < found; i++)
        assert_int_equal(ferry_vidmm_add_name(&names, (D3DKMT_HANDLE)(FIRST + 7 * i), i % 2), FERRY_OK);
    for (unsigned turn = 0; turn < 5; turn++) {
        clock_t begun = clock();
        for (uint32_t calls = 64 * MOST / found; calls > 0; calls--) {
            for (uint32_t i = 0; i < before; i++) // From the last one to the first, so that no order helps.
                references[i] = (struct ferry_vidmm_reference){
                    .allocation = (D3DKMT_HANDLE)(FIRST + 7 * (before - 1 - i) + !all_known)};
            count = ferry_vidmm_refer_to(&names, references, addresses, before);
            assert_int_equal(count, all_known ? (before > found ? before : found) : before + found);
        }
        double took = (double)(clock() - begun) / CLOCKS_PER_SEC;
        shortest = took < shortest ? took : shortest;
    }
    for (uint32_t i = 0; i < found; i++) {
        uint32_t at = 0;
        while (at < count && references[at].allocation != FIRST + 7 * i)
            at++;
        assert_true(at < count && references[at].write == (i % 2 != 0));
    }
    // The next buffer of the same packet knows none of it.
    assert_int_equal(ferry_vidmm_refer_to(&names, references, addresses, 0), found);
    return shortest;
}

static void what_is_found_is_named_without_a_look_at_all_for_each(void **state)
{
    (void)state;
    const struct {
        uint32_t part; // of all that a buffer names is there before
        bool all_known;
    } cases[] = {{0, false}, {2, true}, {2, false}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double times[2];
        for (unsigned many = 0; many < 2; many++) {
            uint32_t all = many ? MOST : MOST / 32, before = cases[i].part ? all / cases[i].part : 0;
            times[many] = of_naming(before, all - before, cases[i].all_known);
        }
        printf("%.2f ms by 32, %.2f by %u\n", times[0] * 1e3, times[1] * 1e3, MOST);
        assert_true(times[1] < 5 * times[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_name_what_each_of_their_bytes_shows),
        cmocka_unit_test(rows_that_are_many_are_not_gone_through),
        cmocka_unit_test(rows_over_each_other_are_looked_at_as_one),
        cmocka_unit_test(no_more_is_named_than_there_is_room_for),
        cmocka_unit_test(what_is_found_is_named_without_a_look_at_all_for_each),
    };
    return cmocka_run_group_tests_name("vidmm_reached", tests, NULL, NULL);
}
