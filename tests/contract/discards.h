// SPDX-License-Identifier: Apache-2.0
// A world of discarded buffers: jobs of its context wait until the test lets them go.
#ifndef FERRY_TESTS_DISCARDS_H
#define FERRY_TESTS_DISCARDS_H

#include "world.h"

#define HELD_NODE 1

static inline struct world *open_held(uint64_t local_pages)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(local_pages);
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, HELD_NODE, &world->context, NULL),
                     FERRY_OK);
    world->knobs->by_place = true;
    return world;
}

static inline D3DKMT_HANDLE create_limited(struct world *world, uint64_t bytes, UINT flags, bool aperture, UINT limit)
{
    struct ferry_allocation_private wanted = world_private(bytes, flags);
    wanted.Aperture = aperture;
    wanted.RenamingLimit = limit;
    D3DKMT_HANDLE handle = 0;
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_OK);
    return handle;
}

static inline int try_discard(struct world *world, D3DKMT_HANDLE a, uint32_t more, uint32_t seed)
{
    void *address;
    int result = ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY | more, &address);
    if (result != FERRY_OK)
        return result;
    uint64_t words = world_place(world, a).bytes / 4;
    for (uint64_t i = 0; i < words; i++)
        ((uint32_t *)address)[i] = world_word(seed, i);
    return ferry_vidmm_unlock(world->manager, a);
}

static inline void discard(struct world *world, D3DKMT_HANDLE a, uint32_t seed)
{
    assert_int_equal(try_discard(world, a, 0, seed), FERRY_OK);
}

static inline void hold(struct world *world)
{
    world->knobs->hold_node = HELD_NODE;
}

static inline void let_go(struct world *world, uint64_t fence)
{
    world->knobs->hold_node = 0;
    world_wait(world, fence);
}

static inline D3DKMT_HANDLE sink(struct world *world, uint64_t bytes)
{
    D3DKMT_HANDLE handle = world_create(world, bytes, CPU);
    world_require(world, handle);
    return handle;
}

#endif
