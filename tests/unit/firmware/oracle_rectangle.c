// SPDX-License-Identifier: Apache-2.0
// The oracle's geometry of rectangles, from the tables of docs/manual/tiling.md.
#include "oracle_rules.h"

// Bits of a byte's place in its tile, from bit 4 up, of each swizzle; a tile of 4 KiB has the first eight.
static const char *const interleave[] = {"", "y0y1y2y3y4x4y5x5y6x6y7x7", "y0y1y2x4y3x5y4x6y5x7y6x8",
                                         "y0y1x4x5y2x6y3x7y4x8y5x9"};

static unsigned tile_bits(const struct oracle_side *side)
{
    return side->small ? 12 : 16;
}

// log2 of a tile's bytes of a row, or of its rows.
static unsigned side_log2(const struct oracle_side *side, char coordinate)
{
    unsigned bits = coordinate == 'x' ? 4 : 0;

    for (unsigned bit = 4; bit < tile_bits(side); bit++)
        bits += interleave[side->swizzle][2 * (bit - 4)] == coordinate;
    return bits;
}

// From the side's first address on, of tiles from its first tile on.
static int64_t byte_distance(const struct oracle_side *side, uint32_t byte, uint32_t row)
{
    if (side->swizzle == 0)
        return (int64_t)row * side->pitch + byte;

    uint32_t x = side->x + byte, y = side->y + row, place = x % 16;

    for (unsigned bit = 4; bit < tile_bits(side); bit++) {
        const char *name = &interleave[side->swizzle][2 * (bit - 4)];

        place |= ((name[0] == 'x' ? x : y) >> (name[1] - '0') & 1) << bit;
    }
    return (int64_t)(y >> side_log2(side, 'y')) * side->pitch +
           ((int64_t)(x >> side_log2(side, 'x')) << tile_bits(side)) + place;
}

uint64_t oracle_rectangle_byte(const struct oracle_action *rectangle, bool destination, uint32_t byte, uint32_t row)
{
    return (destination ? rectangle->destination : rectangle->source) +
           (uint64_t)byte_distance(destination ? &rectangle->to : &rectangle->from, byte, row);
}

struct oracle_action oracle_rectangle_piece(const struct oracle_action *rectangle, uint32_t *byte, uint32_t *row)
{
    struct oracle_action piece = *rectangle;
    uint32_t bytes = 1;

    piece.source = oracle_rectangle_byte(rectangle, false, *byte, *row);
    piece.destination = oracle_rectangle_byte(rectangle, true, *byte, *row);
    while (*byte + bytes < rectangle->length &&
           oracle_rectangle_byte(rectangle, false, *byte + bytes, *row) == piece.source + bytes &&
           oracle_rectangle_byte(rectangle, true, *byte + bytes, *row) == piece.destination + bytes)
        bytes++;
    piece.length = bytes;
    piece.unordered = rectangle->unordered || *byte || *row;
    *byte += bytes;
    if (*byte == rectangle->length) {
        *byte = 0;
        ++*row;
    }
    piece.more = *row != rectangle->rows;
    piece.rows = 0;
    piece.from = piece.to = (struct oracle_side){0};
    return piece;
}

bool oracle_read_side(const uint8_t *words, uint64_t address, uint32_t width, uint32_t rows, struct oracle_side *side,
                      uint64_t *bytes)
{
    uint32_t layout = get32(words + 4);
    bool good;

    *side = (struct oracle_side){.pitch = (int32_t)get32(words),
                                 .x = layout & 0x3ff,
                                 .y = layout >> 10 & 0xff,
                                 .swizzle = layout >> 18 & 3,
                                 .small = layout >> 20 & 1};
    if (side->swizzle == 0) {
        good = layout == 0;
    } else {
        uint32_t tile = 1u << tile_bits(side);

        good = layout >> 21 == 0 && side->x < 1u << side_log2(side, 'x') && side->y < 1u << side_log2(side, 'y') &&
               address % tile == 0 && side->pitch % tile == 0;
    }

    // Its rows (of tiles) are as far apart as its first and its last.
    int64_t down, across;

    if (side->swizzle == 0) {
        down = (int64_t)(rows - 1) * side->pitch;
        across = width;
    } else {
        down = (int64_t)((side->y + rows - 1) >> side_log2(side, 'y')) * side->pitch;
        across = (int64_t)(((side->x + (uint64_t)width - 1) >> side_log2(side, 'x')) + 1) << tile_bits(side);
    }
    side->low = address + (uint64_t)(down < 0 ? down : 0);
    *bytes = (uint64_t)(down < 0 ? -down : down) + (uint64_t)across;
    return good;
}
