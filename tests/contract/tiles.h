// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a tiled allocation are, from the published table of the standard swizzle for each size of element,
// and from the sizes of tiles that come with it.
#ifndef FERRY_TESTS_TILES_H
#define FERRY_TESTS_TILES_H

#include <stdlib.h>

#include "ddi/miniport.h"

// From bit 0 up; b = a bit of the byte in its element, x and y of the element's place. A tile of 4 KiB has the first
// twelve.
static const char *const tiles_table[5] = {
    "x0x1x2x3y0y1y2y3y4x4y5x5y6x6y7x7", "b0x0x1x2y0y1y2x3y3x4y4x5y5x6y6x7", "b0b1x0x1y0y1y2x2y3x3y4x4y5x5y6x6",
    "b0b1b2x0y0y1x1x2y2x3y3x4y4x5y5x6", "b0b1b2b3y0y1x0x1y2x2y3x3y4x4y5x5",
};

static inline const char *tiles_bits(const struct ferry_tiling_private *tiling)
{
    unsigned log2 = 0;
    while (1u << log2 != tiling->ElementBytes)
        log2++;
    return tiles_table[log2];
}

// Elements of a tile along x or y.
static inline uint32_t tiles_size(const struct ferry_tiling_private *tiling, char axis)
{
    uint32_t size = 1;
    for (unsigned bit = 0; 1u << bit < tiling->TileBytes; bit++)
        size <<= tiles_bits(tiling)[2 * bit] == axis;
    return size;
}

static inline uint32_t tiles_round(uint32_t size, unsigned level, uint32_t to)
{
    size = size >> level ? size >> level : 1;
    return (size + to - 1) / to * to;
}

static inline uint64_t tiles_level_bytes(const struct ferry_tiling_private *tiling, unsigned level)
{
    return (uint64_t)tiles_round(tiling->Width, level, tiles_size(tiling, 'x')) *
           tiles_round(tiling->Height, level, tiles_size(tiling, 'y')) * tiling->ElementBytes;
}

static inline uint64_t tiles_bytes(const struct ferry_tiling_private *tiling)
{
    uint64_t bytes = 0;
    for (unsigned level = 0; level < tiling->Levels; level++)
        bytes += tiles_level_bytes(tiling, level);
    return bytes;
}

// The offset in tiles of the byte that is at this offset in rows.
static inline uint64_t tiles_place(const struct ferry_tiling_private *tiling, uint64_t offset)
{
    uint64_t before = 0;
    unsigned level = 0;
    while (offset - before >= tiles_level_bytes(tiling, level))
        before += tiles_level_bytes(tiling, level++);
    uint64_t element = (offset - before) / tiling->ElementBytes;
    uint32_t wide = tiles_size(tiling, 'x'), high = tiles_size(tiling, 'y');
    uint32_t width = tiles_round(tiling->Width, level, wide), place = 0;
    uint32_t x = (uint32_t)(element % width), y = (uint32_t)(element / width);
    for (unsigned bit = 0; 1u << bit < tiling->TileBytes; bit++) {
        const char *name = tiles_bits(tiling) + 2 * bit;
        uint32_t value = name[0] == 'b'   ? (uint32_t)(offset % tiling->ElementBytes)
                         : name[0] == 'x' ? x % wide
                                          : y % high;
        place |= (value >> (name[1] - '0') & 1) << bit;
    }
    return before + (uint64_t)(y / high * (width / wide) + x / wide) * tiling->TileBytes + place;
}

// All of them; the caller frees it.
static inline uint32_t *tiles_map(const struct ferry_tiling_private *tiling)
{
    uint64_t bytes = tiles_bytes(tiling);
    uint32_t *map = malloc(bytes * sizeof(*map));
    for (uint64_t i = 0; i < bytes; i++)
        map[i] = (uint32_t)tiles_place(tiling, i);
    return map;
}

#endif
