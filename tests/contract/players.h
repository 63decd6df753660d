// SPDX-License-Identifier: Apache-2.0
// Devices beside the world's own, and allocations that are filled and not written.
#ifndef FERRY_TESTS_PLAYERS_H
#define FERRY_TESTS_PLAYERS_H

#include "world.h"

struct player {
    D3DKMT_HANDLE device, queue, context;
};

static inline struct player player_open(struct world *world)
{
    struct player player;
    assert_int_equal(ferry_vidmm_create_device(world->manager, &player.device), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, player.device, 0, &player.queue), FERRY_OK);
    assert_int_equal(
        ferry_vidmm_create_context(world->manager, player.device, FERRY_VIDMM_ANY_NODE, &player.context, NULL),
        FERRY_OK);
    return player;
}

static inline D3DKMT_HANDLE create_filled(struct world *world, D3DKMT_HANDLE device, uint64_t bytes, uint32_t pattern)
{
    struct ferry_allocation_private wanted = world_private(bytes, CPU);
    struct ferry_vidmm_allocation_options options = {.size = sizeof(options),
                                                     .private_data = &wanted,
                                                     .private_data_bytes = sizeof(wanted),
                                                     .fill_pattern = pattern};
    D3DKMT_HANDLE handle;
    assert_int_equal(ferry_vidmm_create_allocation(world->manager, device, &options, &handle, NULL), FERRY_OK);
    return handle;
}

static inline void expect_words(struct world *world, D3DKMT_HANDLE allocation, uint32_t word, uint64_t bytes)
{
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    for (uint64_t i = 0; i < bytes / 4; i++)
        assert_int_equal(((const uint32_t *)address)[i], word);
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
}

#endif
