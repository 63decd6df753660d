// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/error.h"
#include "link/dma_map.h"
#include "link/link.h"

#define PAGES 300

struct state {
    struct ferry_dma_map *map;
    unsigned char *memory;
    uint64_t bus[PAGES];
};

static int set_up(void **context)
{
    struct state *state = calloc(1, sizeof(*state));
    assert_int_equal(ferry_dma_map_create(7, &state->map), FERRY_OK);
    assert_int_equal(posix_memalign((void **)&state->memory, 4096, PAGES * 4096), 0);
    *context = state;
    return 0;
}

static int tear_down(void **context)
{
    struct state *state = *context;
    ferry_dma_map_destroy(state->map);
    free(state->memory);
    free(state);
    return 0;
}

static void every_byte_is_found_and_nothing_beside_it(void **context)
{
    struct state *state = *context;
    bool watched = true;
    assert_int_equal(ferry_dma_map_add(state->map, state->memory, PAGES, 0, state->bus), FERRY_OK);
    assert_int_equal(ferry_dma_map_pages(state->map), PAGES);
    for (size_t n = 0; n < PAGES; n++) {
        assert_int_equal(state->bus[n] % 4096, 0);
        assert_ptr_equal(ferry_dma_map_find(state->map, state->bus[n], &watched), state->memory + 4096 * n);
        assert_false(watched);
        assert_ptr_equal(ferry_dma_map_find(state->map, state->bus[n] + 4095, NULL), state->memory + 4096 * n + 4095);
        for (size_t other = 0; other < n; other++) {
            assert_true(state->bus[other] != state->bus[n]);
        }
    }
    const uint64_t holes[] = {0,
                              4096,
                              FERRY_DMA_LOW_BASE - 1,
                              FERRY_DMA_LOW_BASE + FERRY_DMA_LOW_PAGES * 4096ull,
                              FERRY_DMA_HIGH_BASE - 1,
                              FERRY_DMA_HIGH_BASE + FERRY_DMA_HIGH_PAGES * 4096ull,
                              UINT64_MAX};
    for (size_t n = 0; n < sizeof(holes) / sizeof(holes[0]); n++) {
        assert_null(ferry_dma_map_find(state->map, holes[n], NULL));
    }
}

static void scattered_pages_use_both_windows_and_are_not_one_run(void **context)
{
    struct state *state = *context;
    size_t low = 0;
    size_t breaks = 0;
    assert_int_equal(ferry_dma_map_add(state->map, state->memory, PAGES, 0, state->bus), FERRY_OK);
    for (size_t n = 0; n < PAGES; n++) {
        low += state->bus[n] >> 32 == 0;
        breaks += n != 0 && state->bus[n] != state->bus[n - 1] + 4096;
    }
    assert_in_range(low, PAGES / 5, PAGES - PAGES / 5);
    assert_in_range(breaks, 10, PAGES - 10); // Some neighbours to join, some not.
}

static void consecutive_pages_are_consecutive(void **context)
{
    struct state *state = *context;
    bool watched = false;
    assert_int_equal(
        ferry_dma_map_add(state->map, state->memory, PAGES, FERRY_DMA_CONSECUTIVE | FERRY_DMA_WATCH, state->bus),
        FERRY_OK);
    for (size_t n = 1; n < PAGES; n++) {
        assert_true(state->bus[n] == state->bus[n - 1] + 4096);
    }
    assert_non_null(ferry_dma_map_find(state->map, state->bus[5], &watched));
    assert_true(watched);
}

// Runs that no end of a window divides: none of them begins in the last pages and goes on in the first ones.
static void a_run_never_goes_round_the_end_of_a_window(void **context)
{
    struct state *state = *context;
    for (int round = 0; round < 2000; round++) {
        assert_int_equal(ferry_dma_map_add(state->map, state->memory, PAGES - 1, FERRY_DMA_CONSECUTIVE, state->bus),
                         FERRY_OK);
        for (size_t n = 0; n < PAGES - 1; n++) {
            assert_true(state->bus[n] == state->bus[0] + 4096 * n);
            assert_ptr_equal(ferry_dma_map_find(state->map, state->bus[n], NULL), state->memory + 4096 * n);
        }
        assert_int_equal(ferry_dma_map_pages(state->map), PAGES - 1);
        ferry_dma_map_remove(state->map, state->bus, PAGES - 1);
    }
}

static void removed_pages_are_gone_and_come_again(void **context)
{
    struct state *state = *context;
    assert_int_equal(ferry_dma_map_add(state->map, state->memory, PAGES, 0, state->bus), FERRY_OK);
    ferry_dma_map_remove(state->map, state->bus, PAGES / 2);
    for (size_t n = 0; n < PAGES; n++) {
        assert_int_equal(ferry_dma_map_find(state->map, state->bus[n], NULL) != NULL, n >= PAGES / 2);
    }
    ferry_dma_map_remove(state->map, state->bus, PAGES); // Half of them a second time: left alone.
    assert_int_equal(ferry_dma_map_pages(state->map), 0);
    // Addresses come round again: many times the low window's pages in all.
    for (int round = 0; round < 3000; round++) {
        assert_int_equal(ferry_dma_map_add(state->map, state->memory, PAGES, FERRY_DMA_CONSECUTIVE, state->bus),
                         FERRY_OK);
        ferry_dma_map_remove(state->map, state->bus, PAGES);
    }
}

// Both windows are full but for a few pages, which more than once was room for: the search may have to begin in the
// middle of them. And what was mapped of more than there is room for is not.
static void whatever_room_is_left_is_found(void **context)
{
    enum { LEFT = 10, FIRST = 100 };
    struct state *state = *context;
    const size_t all = FERRY_DMA_HIGH_PAGES + FERRY_DMA_LOW_PAGES;
    uint64_t *bus = malloc((all + 1) * sizeof(*bus)), few[LEFT + 1];
    assert_non_null(bus);
    assert_int_equal(ferry_dma_map_add(state->map, state->memory, all + 1, 0, bus), FERRY_ERROR_NO_HOST_MEMORY);
    assert_int_equal(ferry_dma_map_pages(state->map), 0);
    assert_int_equal(ferry_dma_map_add(state->map, state->memory, FERRY_DMA_HIGH_PAGES, FERRY_DMA_CONSECUTIVE, bus),
                     FERRY_OK);
    uint64_t *low = bus + FERRY_DMA_HIGH_PAGES;
    assert_int_equal(ferry_dma_map_add(state->map, state->memory, FERRY_DMA_LOW_PAGES, FERRY_DMA_CONSECUTIVE, low),
                     FERRY_OK);
    ferry_dma_map_remove(state->map, low + FIRST, LEFT);
    assert_int_equal(ferry_dma_map_add(state->map, state->memory, LEFT / 2, FERRY_DMA_CONSECUTIVE, few), FERRY_OK);
    ferry_dma_map_remove(state->map, few, LEFT / 2);
    assert_int_equal(ferry_dma_map_add(state->map, state->memory, LEFT + 1, FERRY_DMA_CONSECUTIVE, few),
                     FERRY_ERROR_NO_HOST_MEMORY);
    assert_int_equal(ferry_dma_map_add(state->map, state->memory, LEFT, FERRY_DMA_CONSECUTIVE, few), FERRY_OK);
    assert_memory_equal(few, low + FIRST, LEFT * sizeof(*few));
    assert_int_equal(ferry_dma_map_pages(state->map), all);
    free(bus);
}

static void bad_arguments_are_named(void **context)
{
    struct state *state = *context;
    struct ferry_dma_map *map = state->map;
    assert_int_equal(ferry_dma_map_add(map, state->memory + 8, 1, 0, state->bus), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_dma_map_add(map, NULL, 1, 0, state->bus), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_dma_map_add(map, state->memory, 0, 0, state->bus), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_dma_map_add(map, state->memory, 1, 8, state->bus), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_dma_map_add(map, state->memory, 1, 0, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(
        ferry_dma_map_add(map, state->memory, FERRY_DMA_HIGH_PAGES + 1ul, FERRY_DMA_CONSECUTIVE, state->bus),
        FERRY_ERROR_NO_HOST_MEMORY);
    assert_int_equal(ferry_dma_map_pages(map), 0);
    ferry_dma_map_destroy(NULL);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_byte_is_found_and_nothing_beside_it),
        CASE(scattered_pages_use_both_windows_and_are_not_one_run),
        CASE(consecutive_pages_are_consecutive),
        CASE(a_run_never_goes_round_the_end_of_a_window),
        CASE(removed_pages_are_gone_and_come_again),
        CASE(whatever_room_is_left_is_found),
        CASE(bad_arguments_are_named),
    };
    return cmocka_run_group_tests_name("dma_map", tests, NULL, NULL);
}
