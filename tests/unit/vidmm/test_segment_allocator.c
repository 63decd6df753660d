// SPDX-License-Identifier: Apache-2.0
// The segment allocator against a bitmap: random programs, both directions, alignments, given places.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../seed.h"
#include "vidmm/space/segment_allocator.h"

#define PAGES 512

static uint64_t state_word;

static uint32_t pick(uint32_t below)
{
    return draw_below(&state_word, below);
}

static bool map_free(const uint8_t *map, uint64_t first, uint64_t pages)
{
    for (uint64_t i = first; i < first + pages; i++)
        if (map[i])
            return false;
    return true;
}

// The highest place, or the pages of the smallest hole in which there is one, by looking at every one.
static uint64_t map_find(const uint8_t *map, uint64_t pages, uint64_t alignment, bool from_end)
{
    uint64_t found = UINT64_MAX, hole = 0;
    for (uint64_t first = 0; first < PAGES; first++) {
        if (first == 0 || map[first - 1] != map[first])
            for (hole = 0; first + hole < PAGES && !map[first + hole];)
                hole++;
        if (first % alignment != 0 || first + pages > PAGES || !map_free(map, first, pages))
            continue;
        if (from_end)
            found = first;
        else if (hole < found)
            found = hole;
    }
    return found;
}

static uint64_t hole_around(const uint8_t *map, uint64_t first)
{
    uint64_t end = first;
    while (first > 0 && !map[first - 1])
        first--;
    while (end < PAGES && !map[end])
        end++;
    return end - first;
}

// Sizes below 16 have bins of their own, and of larger ones there are few here: so it is the smallest hole, at its low
// end; only of holes of about one size may another be found than the smallest.
static bool about_the_smallest(uint64_t hole, uint64_t smallest)
{
    return hole >= smallest && (smallest < 16 ? hole == smallest : hole - smallest <= smallest / 8);
}

static void check_structure(const struct ferry_vm_space *space, const uint8_t *map)
{
    uint64_t at = 0, free_pages = 0, largest = 0;
    const struct ferry_vm_block *previous = NULL;
    for (const struct ferry_vm_block *block = space->head; block; block = block->next) {
        assert_int_equal(block->first, at);
        assert_ptr_equal(block->previous, previous);
        assert_true(block->pages > 0);
        for (uint64_t i = 0; i < block->pages; i++)
            assert_int_equal(map[at + i] != 0, block->owner != NULL);
        if (!block->owner) {
            assert_true(!previous || previous->owner); // neighbours are joined
            free_pages += block->pages;
            largest = block->pages > largest ? block->pages : largest;
        }
        at += block->pages;
        previous = block;
    }
    assert_int_equal(at, PAGES);
    assert_int_equal(space->free_pages, free_pages);
    assert_int_equal(ferry_vm_space_largest(space), largest);
}

static void random_programs_match_a_bitmap(void **state)
{
    (void)state;
    state_word = seed_given((uint64_t)time(NULL));
    struct ferry_vm_space space;
    static uint8_t map[PAGES];
    memset(map, 0, sizeof(map));
    assert_true(ferry_vm_space_init(&space, PAGES));
    struct ferry_vm_block *taken[PAGES];
    unsigned count = 0;
    for (unsigned step = 0; step < 20000; step++) {
        unsigned kind = pick(10);
        if (kind < 5 && count < PAGES) {
            uint64_t pages = 1 + pick(pick(5) ? 12 : 150);
            uint64_t alignment = pick(4) ? 1 : UINT64_C(1) << pick(6);
            bool from_end = pick(2), no_memory;
            uint64_t expected = map_find(map, pages, alignment, from_end);
            struct ferry_vm_block *block = ferry_vm_space_take(&space, pages, alignment, from_end, 0, map, &no_memory);
            assert_false(no_memory);
            if (from_end && alignment == 1)
                assert_int_equal(block ? block->first : UINT64_MAX, expected);
            if (alignment == 1 && expected != UINT64_MAX)
                assert_non_null(block);
            if (expected == UINT64_MAX)
                assert_null(block);
            if (block && !from_end && alignment == 1) {
                assert_true(about_the_smallest(hole_around(map, block->first), expected));
                assert_true(block->first == 0 || map[block->first - 1]);
            }
            if (block) {
                assert_int_equal(block->first % alignment, 0);
                assert_int_equal(block->pages, pages);
                assert_true(map_free(map, block->first, pages));
                memset(map + block->first, 1, pages);
                taken[count++] = block;
            }
        } else if (kind < 9 && count > 0) {
            unsigned n = pick(count);
            memset(map + taken[n]->first, 0, taken[n]->pages);
            ferry_vm_space_give(&space, taken[n]);
            taken[n] = taken[--count];
        } else if (count > 0) {
            // To any place that is free but for itself.
            unsigned n = pick(count);
            uint64_t pages = taken[n]->pages, to = pick(PAGES);
            bool no_memory;
            if (pick(2)) { // near where it is
                to = taken[n]->first + pick(8);
                to = to > 4 ? to - 4 : 0;
            }
            memset(map + taken[n]->first, 0, pages);
            bool free_there = to + pages <= PAGES && map_free(map, to, pages);
            assert_int_equal(ferry_vm_space_free_for(&space, taken[n], to), free_there);
            if (!free_there)
                to = taken[n]->first;
            ferry_vm_space_give(&space, taken[n]);
            taken[n] = ferry_vm_space_take_at(&space, to, pages, map, &no_memory);
            assert_non_null(taken[n]);
            assert_int_equal(taken[n]->first, to);
            memset(map + to, 1, pages);
        }
        if (step % 50 == 0)
            check_structure(&space, map);
    }
    while (count > 0) {
        memset(map + taken[count - 1]->first, 0, taken[count - 1]->pages);
        ferry_vm_space_give(&space, taken[--count]);
    }
    check_structure(&space, map);
    assert_int_equal(ferry_vm_space_largest(&space), PAGES);
    ferry_vm_space_destroy(&space);
}

static void edges(void **state)
{
    (void)state;
    struct ferry_vm_space space;
    bool no_memory;
    assert_true(ferry_vm_space_init(&space, 0));
    assert_null(ferry_vm_space_take(&space, 1, 1, false, 0, &space, &no_memory));
    ferry_vm_space_destroy(&space);
    assert_true(ferry_vm_space_init(&space, 10));
    assert_null(ferry_vm_space_take(&space, 0, 1, false, 0, &space, &no_memory));
    assert_null(ferry_vm_space_take(&space, 11, 1, false, 0, &space, &no_memory));
    assert_null(ferry_vm_space_take(&space, UINT64_MAX, 1, true, 0, &space, &no_memory));
    assert_null(ferry_vm_space_take(&space, 1, UINT64_C(1) << 60, true, 8, &space, &no_memory));
    assert_null(ferry_vm_space_take(&space, 3, 1, true, 8, &space, &no_memory)); // does not lie above page 8
    struct ferry_vm_block *all = ferry_vm_space_take(&space, 10, 1, false, 0, &space, &no_memory);
    assert_int_equal(all->first, 0);
    assert_null(ferry_vm_space_take(&space, 1, 1, false, 0, &space, &no_memory));
    ferry_vm_space_give(&space, all);
    ferry_vm_space_destroy(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_match_a_bitmap), cmocka_unit_test(edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
