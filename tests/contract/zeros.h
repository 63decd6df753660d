// SPDX-License-Identifier: Apache-2.0
// What the tests of reservations of zeros begin with: jobs that bring what they read into one allocation.
#ifndef FERRY_TESTS_ZEROS_H
#define FERRY_TESTS_ZEROS_H

#include "updates.h"
#include "vidmm/api/manager.h"

#define TABLE 512u // pages of 2 MiB

static inline int try_reserve(struct world *world, uint64_t address, uint64_t pages, struct ferry_vidmm_virtual *range)
{
    *range = (struct ferry_vidmm_virtual){
        .size = sizeof(*range), .address = address, .bytes = PAGES(pages), .reservation = FERRY_VIDMM_ZERO};
    return ferry_vidmm_reserve_virtual(world->manager, world->device, range);
}

static inline uint64_t reserve_zeros(struct world *world, uint64_t address, uint64_t pages)
{
    struct ferry_vidmm_virtual range;
    assert_int_equal(try_reserve(world, address, pages, &range), FERRY_OK);
    return range.address;
}

// Where jobs bring what they read, and content that is not zeros.
static D3DKMT_HANDLE result;
static uint64_t at_result;
static inline struct world *begin_zeros(uint64_t pages, uint64_t table_pages, uint32_t buffer_bytes)
{
    struct world_options options = updates_options(pages, buffer_bytes);
    options.manager.table_bytes = PAGES(table_pages);
    struct world *world = world_open(&options);
    result = content(world, 4, 9);
    at_result = map(world, result, BASE + 0x100000, 4);
    return world;
}

// A page that a job of this context reads; it names what it finds there, if that is anything.
static inline uint32_t read_page(struct world *world, uint64_t from, D3DKMT_HANDLE name)
{
    const D3DKMT_HANDLE names[2] = {result, name ? name : result};
    uint64_t fence = copy(world, world->context, names, at_result + PAGE_SIZE, at_result, 64);
    fence = copy(world, world->context, names, at_result, from, PAGE_SIZE);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_OK);
    uint32_t first = word_of(world, result, 0), last = word_of(world, result, PAGE_SIZE - 4);
    if (first == 0)
        assert_int_equal(last, 0);
    // And something else for the next one.
    fence = copy(world, world->context, names, at_result, at_result + PAGES(3), PAGE_SIZE);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_OK);
    return first;
}

static inline uint32_t tables_free(const struct world *world)
{
    return world->manager->memory.tables.free_count;
}

#endif
