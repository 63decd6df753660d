// SPDX-License-Identifier: Apache-2.0
// What the tests of what goes on beside an update begin with: an update waits for its queue's jobs, of which one is
// held back, and another queue has a node of its own.
#ifndef FERRY_TESTS_BESIDE_H
#define FERRY_TESTS_BESIDE_H

#include "updates.h"

struct beside {
    struct world *world;
    D3DKMT_HANDLE slow, quick, result, other;
    uint64_t x, at_result, at_other, held;
};

// Two queues on nodes of their own.
static inline struct beside begin_in(struct world *world)
{
    struct beside b = {.world = world};
    b.slow = context_on(b.world, 1);
    b.quick = context_on(b.world, 2);
    b.result = content(b.world, 4, 1);
    b.other = content(b.world, 4, 2);
    b.x = reserve(b.world, BASE + 0x400000, 512);
    b.at_result = map(b.world, b.result, BASE + 0x100000, 4);
    b.at_other = map(b.world, b.other, BASE + 0x110000, 4);
    b.world->knobs->delay = 1;
    return b;
}

static inline struct beside begin_beside(uint64_t pages)
{
    return begin_in(begin(pages, 0));
}

// In a machine that draws from this seed.
static inline struct beside begin_beside_seed(uint64_t pages, uint64_t seed)
{
    struct world_options options = updates_options(pages, 0);
    options.machine.seed = seed;
    return begin_in(world_open(&options));
}

// A job of the slow queue that does not end before hold_node is 0 again.
static inline void hold_copy(struct beside *b, D3DKMT_HANDLE from, uint64_t address)
{
    b->world->knobs->hold_node = 1;
    b->held = copy(b->world, b->slow, (const D3DKMT_HANDLE[2]){b->result, from}, b->at_result, address, 64);
}
static inline void hold(struct beside *b)
{
    hold_copy(b, b->result, b->at_result + PAGES(1));
}

// The first word of what is at the address, by a job of the quick queue.
static inline void quick_reads(struct beside *b, D3DKMT_HANDLE allocation, uint64_t address, uint32_t expected)
{
    uint64_t fence = copy(b->world, b->quick, (const D3DKMT_HANDLE[2]){b->other, allocation}, b->at_other, address, 64);
    assert_int_equal(ferry_vidmm_wait(b->world->manager, b->quick, fence), FERRY_OK);
    assert_false(is_over(b->world, b->slow, b->held));
    assert_int_equal(word_of(b->world, b->other, 0), expected);
}

static inline void finish(struct beside *b)
{
    b->world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(b->world->manager, b->slow, b->held), FERRY_OK);
}

// The word at the address as a job of the slow queue finds it, behind its updates.
static inline void slow_reads(struct beside *b, D3DKMT_HANDLE allocation, uint64_t address, uint32_t expected)
{
    b->world->knobs->hold_node = 0;
    uint64_t fence =
        copy(b->world, b->slow, (const D3DKMT_HANDLE[2]){b->result, allocation}, b->at_result, address, 64);
    assert_int_equal(ferry_vidmm_wait(b->world->manager, b->slow, fence), FERRY_OK);
    assert_int_equal(word_of(b->world, b->result, 0), expected);
}

// An allocation to be mapped at x, where another one was: what takes that one's entries away is not over before
// hold_paging is false, and what writes others there waits for it.
static inline D3DKMT_HANDLE hidden_behind_paging(struct beside *b)
{
    D3DKMT_HANDLE last = content(b->world, 20, 5), wanted = content(b->world, 24, 3),
                  room = world_create(b->world, PAGES(16), CPU);
    struct ferry_vidmm_update change = mapping(b->x, 4, last, 0);
    update(b->world, b->slow, &change, 1);
    turns(b->world, 20);
    b->world->knobs->hold_paging = true;
    assert_int_equal(world_evict(b->world, last), FERRY_OK);
    assert_int_equal(world_resident(b->world, &room, 1), FERRY_PENDING);
    turns(b->world, 20);
    return wanted;
}

#endif
