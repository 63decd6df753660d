// SPDX-License-Identifier: Apache-2.0
// Tiles of the standard swizzle: where a byte of a row lies (docs/manual/tiling.md).
#include "model/internal.h"

// As Direct3D has them, for bytes of a row instead of elements.
static const uint32_t x_masks[] = {0, 0xaa0f, 0xaa8f, 0xaacf}, y_masks[] = {0, 0x55f0, 0x5570, 0x5530};

static uint32_t ones(uint32_t mask)
{
    uint32_t count = 0;

    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

// The low bits of value at the bits of mask.
static uint32_t spread(uint64_t value, uint32_t mask)
{
    uint32_t result = 0;

    for (uint32_t bit = 1; mask; bit <<= 1, mask &= mask - 1)
        if (value & bit)
            result |= mask & -mask;
    return result;
}

struct model_tiles model_tiles_of(uint32_t swizzle, bool is_small)
{
    uint32_t tile = is_small ? 0xfff : 0xffff;

    if (!swizzle)
        return (struct model_tiles){0};
    return (struct model_tiles){
        .x_bits = x_masks[swizzle] & tile,
        .y_bits = y_masks[swizzle] & tile,
        .width = 1u << ones(x_masks[swizzle] & tile),
        .height = 1u << ones(y_masks[swizzle] & tile),
        .bytes = tile + 1,
    };
}

uint64_t model_tiles_place(const struct model_tiles *tiles, int64_t pitch, uint64_t x, uint64_t y)
{
    return (uint64_t)((int64_t)(y / tiles->height) * pitch) + x / tiles->width * tiles->bytes +
           (spread(x, tiles->x_bits) | spread(y, tiles->y_bits));
}
