// SPDX-License-Identifier: Apache-2.0
// Rectangles in images of rows and of tiles, at random, and where each of their bytes is: from the published
// interleaves.
#ifndef FERRY_TESTS_RECTANGLE_IMAGES_H
#define FERRY_TESTS_RECTANGLE_IMAGES_H

#include "../seed.h"
#include "ferry_contract.h"

#include <stddef.h>
#include <stdint.h>

enum { LOCAL = FERRY_ADDRESS_KIND_LOCAL, SYSTEM = FERRY_ADDRESS_KIND_SYSTEM };

static uint64_t drawn;

static inline uint64_t draw(uint64_t limit)
{
    return draw_wide(&drawn, limit);
}

// ---- Images
// -----------------------------------------------------------------------------------------------------------

// Standard swizzle, two dimensions: bits of the offset from bit 0 up, as AMD's address library publishes them; x and y
// count elements, b is a byte of one.
static const struct element {
    uint32_t bytes;
    const char *bits;
} elements[] = {{1, "x0 x1 x2 x3 y0 y1 y2 y3 y4 x4 y5 x5 y6 x6 y7 x7"},
                {2, "b0 x0 x1 x2 y0 y1 y2 x3 y3 x4 y4 x5 y5 x6 y6 x7"},
                {4, "b0 b1 x0 x1 y0 y1 y2 x2 y3 x3 y4 x4 y5 x5 y6 x6"},
                {8, "b0 b1 b2 x0 y0 y1 x1 x2 y2 x3 y3 x4 y4 x5 y5 x6"},
                {16, "b0 b1 b2 b3 y0 y1 x0 x1 y2 x2 y3 x3 y4 x4 y5 x5"}};

// One side of a rectangle in the area of a memory.
struct side {
    uint32_t kind;
    const struct element *element; // NULL: rows.
    uint32_t tile_log2;
    int64_t base; // Of the first byte, or of the tile that it lies in.
    int64_t pitch;
    uint32_t x, y; // In the first tile.
};

static inline uint32_t count(const struct side *side, char name)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < side->tile_log2; i++)
        bits += side->element->bits[3 * i] == name;
    return bits;
}

static inline uint32_t tile_width(const struct side *side)
{
    return side->element->bytes << count(side, 'x');
}

static inline uint32_t tile_height(const struct side *side)
{
    return 1u << count(side, 'y');
}

// Of a byte of the rectangle, in the area.
static inline int64_t place(const struct side *side, uint32_t byte, uint32_t row)
{
    if (!side->element)
        return side->base + row * side->pitch + byte;

    uint32_t x = side->x + byte, y = side->y + row, bytes = side->element->bytes, offset = 0;
    uint32_t column = x % tile_width(side) / bytes, line = y % tile_height(side);

    for (uint32_t i = 0; i < side->tile_log2; i++) {
        char name = side->element->bits[3 * i];
        uint32_t of = name == 'x' ? column : name == 'y' ? line : x % bytes;

        offset |= (of >> (side->element->bits[3 * i + 1] - '0') & 1) << i;
    }
    return side->base + y / tile_height(side) * side->pitch + (int64_t)(x / tile_width(side)) * (1 << side->tile_log2) +
           offset;
}

static inline uint32_t layout(const struct side *side)
{
    if (!side->element)
        return 0;

    uint32_t swizzle = side->element->bytes == 1 ? 1 : side->element->bytes <= 4 ? 2 : 3;

    return side->x | side->y << 10 | swizzle << 18 | (side->tile_log2 == 12 ? 1u << 20 : 0);
}

// The range that a side takes, of tiles whole ones.
static inline void range(const struct side *side, uint32_t width, uint32_t rows, int64_t *low, int64_t *high)
{
    int64_t ends[2];

    if (side->element) {
        int64_t tile = 1 << side->tile_log2;

        for (int i = 0; i < 2; i++)
            ends[i] = side->base + (i ? (side->y + rows - 1) / tile_height(side) : 0) * side->pitch;
        *high = ((int64_t)((side->x + width - 1) / tile_width(side)) + 1) * tile;
    } else {
        ends[0] = side->base;
        ends[1] = side->base + (rows - 1) * side->pitch;
        *high = width;
    }
    *low = ends[0] < ends[1] ? ends[0] : ends[1];
    *high += ends[0] < ends[1] ? ends[1] : ends[0];
}

struct rectangle {
    struct side from, to;
    uint32_t width, rows;
};

static inline struct side some_side(uint32_t width, uint32_t area, uint32_t bytes)
{
    struct side side = {.kind = draw(3) ? LOCAL : SYSTEM};
    uint32_t kind = (uint32_t)draw(12);

    if (kind < 3) {
        side.pitch = (int64_t)(width + draw(draw(2) ? 3 : 400));
        side.base = area + (int64_t)draw(bytes);
    } else {
        int64_t tile;

        side.element = &elements[draw(5)];
        side.tile_log2 = draw(3) ? 12 : 16;
        tile = 1 << side.tile_log2;
        side.x = (uint32_t)draw(tile_width(&side));
        side.y = (uint32_t)draw(tile_height(&side));
        side.pitch = ((int64_t)((side.x + width - 1) / tile_width(&side)) + 1 + (int64_t)draw(2)) * tile;
        side.base = area + (int64_t)draw((uint64_t)bytes >> side.tile_log2) * tile;
    }
    if (draw(4) == 0)
        side.pitch = -side.pitch;
    return side;
}

// Both sides inside [area, area + bytes), and apart.
static inline struct rectangle some_rectangle(uint32_t area, uint32_t bytes)
{
    for (;;) {
        struct rectangle r = {.width = 1 + (uint32_t)draw(draw(3) ? 100 : 1200),
                              .rows = 1 + (uint32_t)draw(draw(3) ? 9 : 70)};
        int64_t low[2], high[2];

        r.from = some_side(r.width, area, bytes);
        r.to = some_side(r.width, area, bytes);
        range(&r.from, r.width, r.rows, &low[0], &high[0]);
        range(&r.to, r.width, r.rows, &low[1], &high[1]);
        if (low[0] >= area && high[0] <= area + bytes && low[1] >= area && high[1] <= area + bytes &&
            (r.from.kind != r.to.kind || high[0] <= low[1] || high[1] <= low[0]))
            return r;
    }
}

#endif
