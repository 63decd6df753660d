// SPDX-License-Identifier: Apache-2.0
// A tiled allocation that a test sees as rows, by a lock with AcquireAperture, and what it has to hold. Where each byte
// has to be is known from the published table alone. Driver model 1.
#ifndef FERRY_TESTS_TILED_H
#define FERRY_TESTS_TILED_H

#include "tiles.h"
#include "world.h"

#define TILED_LOCAL  192 // pages of the world's video memory
#define TILED_RANGES 4   // that its miniport has

// What the functions below draw from.
extern uint64_t tiled_drawn;
uint32_t tiled_draw(uint32_t below);

struct world_options tiled_options(void);
struct world *tiled_world(void);

struct tiled {
    D3DKMT_HANDLE allocation;
    HANDLE miniport;
    struct ferry_tiling_private tiling;
    uint64_t bytes, first, seen; // of the level that is seen
    uint32_t level;
    uint8_t *rows; // what it holds
    uint32_t *map;
    bool locked;
};
static const struct ferry_tiling_private tiled_one = {4096, 4, 32, 32, 1}, tiled_two_levels = {4096, 4, 64, 32, 2};

/// Made, and brought in.
void tiled_create(struct world *world, struct tiled *t, const struct ferry_tiling_private *tiling, UINT flags);
void tiled_drop(struct world *world, struct tiled *t);
/// For views of one level; with flags, and whatever comes of it.
int tiled_try_lock(struct world *world, struct tiled *t, uint32_t level, uint32_t flags);
void tiled_lock(struct world *world, struct tiled *t, uint32_t level);
void tiled_unlock(struct world *world, struct tiled *t);
/// At a drawn place of the level.
void tiled_write_some(struct world *world, struct tiled *t);
void tiled_read_some(struct world *world, const struct tiled *t);
/// All of the level, through the view; and if it is in place, all of it as the GPU has it.
void tiled_check_all(struct world *world, const struct tiled *t);
/// It gets a place in video memory, or loses it, if it has none, or one.
void tiled_bring_in(struct world *world, const struct tiled *t);
void tiled_send_out(struct world *world, const struct tiled *t);
/// Every transfer of it between system and video memory turned tiles into rows and back.
void tiled_check_flags(HANDLE allocation);

#endif
