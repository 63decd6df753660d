// SPDX-License-Identifier: Apache-2.0
// A tiled allocation: what the user-mode driver tells the miniport of it, and the sizes that both compute from that.
// The levels of a mip chain lie one behind the other, each of whole tiles. Linear, a level is as many bytes: its rows
// are as long as its tiles are wide together, so what is at some offset linear is of the level that is there in tiles.
#ifndef FERRY_DDI_TILING_H
#define FERRY_DDI_TILING_H

#include <stdbool.h>

#include "ddi/ferry_nt.h"

#define FERRY_TILING_MOST_ELEMENTS 65536u // of a side
#define FERRY_TILING_MOST_LEVELS   16u

struct ferry_tiling_private {
    UINT TileBytes; // 0 = not tiled, and all else is 0; 4096 or 65536
    UINT ElementBytes;
    UINT Width, Height; // elements of level 0
    UINT Levels;
};

struct ferry_tiling_place {
    UINT64 Offset, Bytes;       // in the allocation, and from there
    UINT Across, Down;          // tiles
    UINT TileWidth, TileHeight; // bytes, rows
};

// Which of the three interleaves of bits elements of so many bytes have (docs/manual/tiling.md); 0 = none has them.
static inline UINT ferry_tiles_swizzle(UINT element_bytes)
{
    switch (element_bytes) {
    case 1: return 1;
    case 2:
    case 4: return 2;
    case 8:
    case 16: return 3;
    default: return 0;
    }
}

static inline bool ferry_tiles_good(const struct ferry_tiling_private *t)
{
    return (t->TileBytes == 4096 || t->TileBytes == 65536) && ferry_tiles_swizzle(t->ElementBytes) && t->Width &&
           t->Width <= FERRY_TILING_MOST_ELEMENTS && t->Height && t->Height <= FERRY_TILING_MOST_ELEMENTS &&
           t->Levels && t->Levels <= FERRY_TILING_MOST_LEVELS;
}

// Of a good one: the level that begins at this offset.
static inline struct ferry_tiling_place ferry_tiles_level_at(const struct ferry_tiling_private *t, UINT level,
                                                             UINT64 offset)
{
    UINT wide = 1u << (7 + ferry_tiles_swizzle(t->ElementBytes) - (t->TileBytes == 4096 ? 2 : 0));
    UINT high = t->TileBytes / wide, width = t->Width >> level, height = t->Height >> level;
    UINT64 across = ((UINT64)(width ? width : 1) * t->ElementBytes + wide - 1) / wide;
    UINT64 down = ((UINT64)(height ? height : 1) + high - 1) / high;

    return (struct ferry_tiling_place){offset, across * down * t->TileBytes, (UINT)across, (UINT)down, wide, high};
}

// Of a good one: the level that holds the byte at this offset; the one that would follow the last, when none does.
static inline struct ferry_tiling_place ferry_tiles_level_of(const struct ferry_tiling_private *t, UINT64 offset)
{
    struct ferry_tiling_place place = ferry_tiles_level_at(t, 0, 0);

    for (UINT level = 1; level <= t->Levels && offset - place.Offset >= place.Bytes; level++)
        place = ferry_tiles_level_at(t, level, place.Offset + place.Bytes);
    return place;
}

// Of a good one: the n-th level; the one that would follow the last, when there are n.
static inline struct ferry_tiling_place ferry_tiles_level(const struct ferry_tiling_private *t, UINT level)
{
    struct ferry_tiling_place place = ferry_tiles_level_at(t, 0, 0);

    for (UINT next = 1; next <= level; next++)
        place = ferry_tiles_level_at(t, next, place.Offset + place.Bytes);
    return place;
}

// Of a good one.
static inline UINT64 ferry_tiles_bytes(const struct ferry_tiling_private *t)
{
    return ferry_tiles_level(t, t->Levels).Offset;
}

#endif
