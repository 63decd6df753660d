// SPDX-License-Identifier: Apache-2.0
// A world with one tiled allocation that is locked with UseAlternateVA.
#ifndef FERRY_TESTS_SPECIAL_H
#define FERRY_TESTS_SPECIAL_H

#include <stdlib.h>

#include "tiled.h"

#define LOCAL   64
#define SPECIAL (D3DDDI_LOCK_ACQUIRE_APERTURE | D3DDDI_LOCK_USE_ALTERNATE_VA)

static const struct ferry_tiling_private image = {4096, 4, 64, 96, 2};

static inline struct world *begin(uint64_t sub_transfer_bytes)
{
    struct world_options options = world_defaults();
    options.machine.model = 1;
    options.machine.local_bytes = PAGES(LOCAL);
    options.manager.sub_transfer_bytes = sub_transfer_bytes;
    return world_open(&options);
}

static inline int try_create(struct world *world, UINT flags, bool alternate, bool shared, D3DKMT_HANDLE *handle)
{
    struct ferry_allocation_private wanted = world_private(tiles_bytes(&image), flags);
    struct ferry_vidmm_allocation_options options = {.shared = shared};
    wanted.Tiling = image;
    wanted.AlternateVA = alternate;
    return world_try_create(world, &wanted, &options, handle, NULL);
}

static inline void create(struct world *world, struct tiled *t, bool alternate)
{
    *t = (struct tiled){.tiling = image, .bytes = tiles_bytes(&image)};
    t->rows = calloc(1, t->bytes);
    t->map = tiles_map(&image);
    assert_int_equal(try_create(world, CPU, alternate, false, &t->allocation), FERRY_OK);
    world_require(world, t->allocation);
    t->miniport = spy_build(DXGK_OPERATION_FILL, spy_builds(DXGK_OPERATION_FILL) - 1)->before.Fill.hAllocation;
    assert_int_equal(world_evict(world, t->allocation), FERRY_OK);
}

static inline void lock(struct world *world, struct tiled *t, uint32_t flags)
{
    assert_int_equal(tiled_try_lock(world, t, 1, flags), FERRY_OK);
}

// It comes, and does not have to stay.
static inline void bring_in(struct world *world, const struct tiled *t)
{
    world_require(world, t->allocation);
    assert_int_equal(world_evict(world, t->allocation), FERRY_OK);
    assert_int_not_equal(world_place(world, t->allocation).segment, 0);
}

static inline size_t specials(void)
{
    return spy_builds(DXGK_OPERATION_SPECIAL_LOCK_TRANSFER);
}

#endif
