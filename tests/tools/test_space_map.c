// SPDX-License-Identifier: Apache-2.0
// The history of address spaces against a list of pages: what each was mapped to, from when to when.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "../seed.h"
#include "tools/space_map.h"

#define PROGRAMS 2u
#define PAGES    1600u
#define MOST     200000u

struct span {
    uint32_t program, page, object;
    uint64_t size;
    float begin, end;
};
static struct span expected[MOST], found[MOST];
static size_t expected_count, found_count;
static struct now {
    uint32_t object; // 0 = nothing
    uint64_t size;
    float begin;
} plain[PROGRAMS][PAGES];

static uint64_t seed;
static uint32_t draw(uint32_t below)
{
    return draw_below(&seed, below);
}

static void end_page(uint32_t program, uint32_t page, float now)
{
    struct now *p = &plain[program][page];

    if (p->object != 0 && now > p->begin) {
        assert_true(expected_count < MOST);
        expected[expected_count++] = (struct span){program, page, p->object, p->size, p->begin, now};
    }
    *p = (struct now){0, 0, 0};
}

static int by_all(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    uint64_t first = (uint64_t)a->program << 32 | a->page, second = (uint64_t)b->program << 32 | b->page;

    if (first != second)
        return first < second ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void random_events_agree_with_a_list_of_pages(void **state)
{
    static const uint64_t sizes[] = {4096, 65536, FERRY_LARGE_PAGE};
    struct ferry_space_map map;
    float now = 0;

    (void)state;
    seed = seed_given(20261126);
    assert_int_equal(ferry_space_map_begin(&map, PROGRAMS), 0);
    for (int step = 0; step < 1500; step++) {
        uint64_t size = sizes[draw(3)];
        uint32_t each = (uint32_t)(size / 4096), program = draw(PROGRAMS), count = each == 1 ? 1 + draw(60) : each;
        uint32_t first = draw((PAGES - count) / each + 1) * each;
        struct ferry_space_piece piece = {.address = first * UINT64_C(4096),
                                          .bytes = count * UINT64_C(4096),
                                          .page = size,
                                          .object = 1 + draw(3),
                                          .program = program};
        bool mapped = draw(3) > 0;

        now += (float)draw(3); // Several at a time, too.
        piece.begin = now;
        for (uint32_t i = first; i < first + count; i++) {
            if (mapped || size != FERRY_LARGE_PAGE || plain[program][i].size == FERRY_LARGE_PAGE)
                end_page(program, i, now);
            if (mapped)
                plain[program][i] = (struct now){piece.object, size, now};
        }
        if (mapped)
            ferry_space_map_mapped(&map, &piece);
        else
            ferry_space_map_unmapped(&map, &piece);
    }
    now++;
    for (uint32_t i = 0; i < PROGRAMS * PAGES; i++)
        end_page(i / PAGES, i % PAGES, now);
    ferry_space_map_end(&map, now);
    assert_int_equal(map.lost, 0);
    for (size_t i = 0; i < map.ended.count; i++) {
        const struct ferry_space_piece *p = &map.ended.pieces[i];

        for (uint64_t at = p->address; at < p->address + p->bytes; at += 4096) {
            assert_true(found_count < MOST);
            found[found_count++] =
                (struct span){p->program, (uint32_t)(at / 4096), p->object, p->page, p->begin, p->end};
        }
    }
    qsort(expected, expected_count, sizeof expected[0], by_all);
    qsort(found, found_count, sizeof found[0], by_all);
    assert_int_equal(found_count, expected_count);
    assert_true(found_count > 20000 && map.ended.count < found_count / 4);
    for (size_t i = 0; i < found_count; i++) {
        assert_int_equal(by_all(&found[i], &expected[i]), 0);
        assert_true(found[i].object == expected[i].object && found[i].size == expected[i].size);
        assert_true(found[i].end == expected[i].end);
    }
    ferry_space_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_events_agree_with_a_list_of_pages)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
