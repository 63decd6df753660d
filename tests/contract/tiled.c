// SPDX-License-Identifier: Apache-2.0
#include "tiled.h"

#include <stdlib.h>
#include <string.h>

uint64_t tiled_drawn;
uint32_t tiled_draw(uint32_t below)
{
    return draw_below(&tiled_drawn, below);
}

struct world_options tiled_options(void)
{
    struct world_options options = world_defaults();
    options.machine.model = 1;
    options.machine.local_bytes = PAGES(TILED_LOCAL);
    return options;
}

struct world *tiled_world(void)
{
    struct world_options options = tiled_options();
    return world_open(&options);
}

void tiled_create(struct world *world, struct tiled *t, const struct ferry_tiling_private *tiling, UINT flags)
{
    struct ferry_allocation_private wanted = world_private(tiles_bytes(tiling), flags);
    wanted.Tiling = *tiling;
    *t = (struct tiled){.tiling = *tiling, .bytes = tiles_bytes(tiling)};
    t->rows = calloc(1, t->bytes);
    t->map = tiles_map(tiling);
    assert_int_equal(world_try_create(world, &wanted, NULL, &t->allocation, NULL), FERRY_OK);
    world_require(world, t->allocation);
    t->miniport = spy_build(DXGK_OPERATION_FILL, spy_builds(DXGK_OPERATION_FILL) - 1)->before.Fill.hAllocation;
}

void tiled_drop(struct world *world, struct tiled *t)
{
    if (t->locked)
        assert_int_equal(ferry_vidmm_unlock(world->manager, t->allocation), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, t->allocation), FERRY_OK);
    free(t->rows);
    free(t->map);
}

int tiled_try_lock(struct world *world, struct tiled *t, uint32_t level, uint32_t flags)
{
    int result = ferry_vidmm_lock_linear(world->manager, world->device, t->allocation, flags, level);
    t->locked |= result == FERRY_OK;
    t->first = 0;
    t->level = level;
    for (unsigned i = 0; i < level && i < t->tiling.Levels; i++)
        t->first += tiles_level_bytes(&t->tiling, i);
    t->seen = level < t->tiling.Levels ? tiles_level_bytes(&t->tiling, level) : t->bytes;
    t->first = level < t->tiling.Levels ? t->first : 0;
    return result;
}

void tiled_lock(struct world *world, struct tiled *t, uint32_t level)
{
    assert_int_equal(tiled_try_lock(world, t, level, 0), FERRY_OK);
}

void tiled_unlock(struct world *world, struct tiled *t)
{
    assert_int_equal(ferry_vidmm_unlock(world->manager, t->allocation), FERRY_OK);
    t->locked = false;
}

static void piece(const struct tiled *t, uint64_t *offset, size_t *bytes)
{
    *offset = t->first + tiled_draw((uint32_t)t->seen);
    *bytes = 1 + tiled_draw((uint32_t)(t->first + t->seen - *offset < 300 ? t->first + t->seen - *offset : 300));
}

void tiled_write_some(struct world *world, struct tiled *t)
{
    uint64_t offset;
    size_t bytes;
    piece(t, &offset, &bytes);
    for (size_t i = 0; i < bytes; i++)
        t->rows[offset + i] = (uint8_t)tiled_draw(256);
    assert_int_equal(
        ferry_vidmm_linear_write(world->manager, world->device, t->allocation, offset, t->rows + offset, bytes),
        FERRY_OK);
}

void tiled_read_some(struct world *world, const struct tiled *t)
{
    uint8_t found[300];
    uint64_t offset;
    size_t bytes;
    piece(t, &offset, &bytes);
    assert_int_equal(ferry_vidmm_linear_read(world->manager, world->device, t->allocation, offset, found, bytes),
                     FERRY_OK);
    assert_memory_equal(found, t->rows + offset, bytes);
}

void tiled_check_all(struct world *world, const struct tiled *t)
{
    uint8_t *found = malloc(t->bytes);
    assert_int_equal(ferry_vidmm_linear_read(world->manager, world->device, t->allocation, t->first, found, t->seen),
                     FERRY_OK);
    assert_memory_equal(found, t->rows + t->first, t->seen);
    struct ferry_vidmm_placement place = world_place(world, t->allocation);
    if (place.segment == machine_local_segment) {
        machine_peek(world->machine, place.segment, place.offset, found, t->bytes);
        for (uint64_t i = 0; i < t->bytes; i++)
            if (found[t->map[i]] != t->rows[i])
                fail_msg("byte %llu is not at %u", (unsigned long long)i, t->map[i]);
    }
    free(found);
}

void tiled_bring_in(struct world *world, const struct tiled *t)
{
    struct ferry_vidmm_placement place = world_place(world, t->allocation);
    if (place.segment == 0 && place.residency_count > 0)
        world_evict(world, t->allocation);
    if (place.segment == 0 || place.residency_count == 0)
        world_require(world, t->allocation);
}

void tiled_send_out(struct world *world, const struct tiled *t)
{
    if (world_place(world, t->allocation).segment != 0)
        world_force_out(world, t->allocation);
}

void tiled_check_flags(HANDLE allocation)
{
    for (size_t n = 0; n < spy_builds(DXGK_OPERATION_TRANSFER); n++) {
        const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &spy_build(DXGK_OPERATION_TRANSFER, n)->before.Transfer;
        if (t->hAllocation != allocation)
            continue;
        assert_int_equal(t->Flags.Swizzle, t->Source.SegmentId == 0);
        assert_int_equal(t->Flags.Unswizzle, t->Destination.SegmentId == 0);
    }
}
