// SPDX-License-Identifier: Apache-2.0
// COPY_RECTANGLE: what a packet says of its sides, whether that keeps the rules, and the copy.
#include "model/internal.h"

// One side of a rectangle. Of tiles: bits of a place in a tile that are of x (a byte in its row of the tile) and of y.
struct side {
    uint64_t address;
    int64_t pitch;
    uint32_t layout, x, y;
    uint32_t x_bits, y_bits; // 0 without tiles.
};

// Masks of the standard swizzle as Direct3D has them, for bytes of a row instead of elements; docs/manual/tiling.md.
static const uint32_t x_masks[] = {0, 0xaa0f, 0xaa8f, 0xaacf}, y_masks[] = {0, 0x55f0, 0x5570, 0x5530};

static struct side side_of(const uint8_t *packet, bool destination)
{
    uint32_t at = destination ? FERRY_PACKET_COPY_RECTANGLE_DESTINATION : FERRY_PACKET_COPY_RECTANGLE_SOURCE;
    uint32_t pitch =
        destination ? FERRY_PACKET_COPY_RECTANGLE_DESTINATION_PITCH : FERRY_PACKET_COPY_RECTANGLE_SOURCE_PITCH;
    uint32_t layout = model_get32(packet + pitch + 4), swizzle = FERRY_GET(FERRY_PACKET_LAYOUT_SWIZZLE, layout);
    uint32_t tile = layout & FERRY_PACKET_LAYOUT_SMALL_MASK ? 0xfff : 0xffff;

    return (struct side){
        .address = model_get64(packet + at),
        .pitch = (int32_t)model_get32(packet + pitch),
        .layout = layout,
        .x = FERRY_GET(FERRY_PACKET_LAYOUT_X, layout),
        .y = FERRY_GET(FERRY_PACKET_LAYOUT_Y, layout),
        .x_bits = x_masks[swizzle] & tile,
        .y_bits = y_masks[swizzle] & tile,
    };
}

static bool is_tiled(const struct side *side)
{
    return side->x_bits != 0;
}

static uint32_t ones(uint32_t mask)
{
    uint32_t count = 0;

    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

static uint64_t tile_width(const struct side *side)
{
    return UINT64_C(1) << ones(side->x_bits);
}

static uint64_t tile_height(const struct side *side)
{
    return UINT64_C(1) << ones(side->y_bits);
}

static uint64_t tile_bytes(const struct side *side)
{
    return tile_width(side) * tile_height(side);
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

static uint64_t address_of(const struct side *side, uint64_t byte, uint64_t row)
{
    if (!is_tiled(side))
        return side->address + (uint64_t)((int64_t)row * side->pitch) + byte;

    uint64_t x = side->x + byte, y = side->y + row;

    return side->address + (uint64_t)((int64_t)(y / tile_height(side)) * side->pitch) +
           x / tile_width(side) * tile_bytes(side) + (spread(x, side->x_bits) | spread(y, side->y_bits));
}

bool model_tiled_place(uint32_t swizzle, bool is_small, uint64_t row_bytes, uint64_t x, uint64_t y, uint64_t *place)
{
    uint32_t tile = is_small ? 0xfff : 0xffff;
    struct side side = {.x_bits = x_masks[swizzle] & tile, .y_bits = y_masks[swizzle] & tile};

    if (!swizzle || row_bytes % tile_width(&side))
        return false;
    side.pitch = (int64_t)(row_bytes * tile_height(&side));
    *place = address_of(&side, x, y);
    return true;
}

static bool side_is_bad(const struct side *side)
{
    uint32_t swizzle = FERRY_PACKET_LAYOUT_SWIZZLE_MASK, tile;

    if (!(side->layout & swizzle))
        return side->layout != 0;
    tile = (uint32_t)tile_bytes(side);
    return (side->layout & FERRY_PACKET_LAYOUT_RESERVED_MASK) || side->x >= tile_width(side) ||
           side->y >= tile_height(side) || side->address % tile || side->pitch % (int64_t)tile;
}

bool model_rectangle_is_bad(const uint8_t *packet)
{
    struct side source = side_of(packet, false), destination = side_of(packet, true);
    uint32_t bytes = model_get32(packet + FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES);

    return bytes == 0 || bytes > 1u << 23 || model_get32(packet + FERRY_PACKET_COPY_RECTANGLE_LAST_ROW) > 0xffff ||
           side_is_bad(&source) || side_is_bad(&destination);
}

uint64_t model_rectangle_range(const uint8_t *packet, bool destination, uint64_t *bytes, bool *far)
{
    struct side side = side_of(packet, destination);
    uint64_t width = model_get32(packet + FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES);
    uint64_t rows = model_get32(packet + FERRY_PACKET_COPY_RECTANGLE_LAST_ROW), more, low;

    if (is_tiled(&side)) {
        rows = (rows + side.y) / tile_height(&side);
        width = ((width + side.x - 1) / tile_width(&side) + 1) * tile_bytes(&side);
    }
    more = rows * (uint64_t)(side.pitch < 0 ? -side.pitch : side.pitch);
    low = side.pitch < 0 ? side.address - more : side.address;
    *bytes = width + more;
    *far = low >> 32 != (low + *bytes - 1) >> 32;
    return low;
}

bool model_copy_rectangle(struct ferry_model *model, const uint8_t *packet, uint32_t source_kind,
                          uint32_t destination_kind, struct model_fault *fault)
{
    struct side source = side_of(packet, false), destination = side_of(packet, true);
    uint32_t width = model_get32(packet + FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES);
    uint32_t last = model_get32(packet + FERRY_PACKET_COPY_RECTANGLE_LAST_ROW);

    for (uint32_t row = 0; row <= last; row++) {
        uint64_t piece;

        for (uint64_t byte = 0; byte < width; byte += piece) {
            piece = width - byte;
            // Sixteen bytes of a row of a tile lie together.
            if (is_tiled(&source))
                piece = model_least(piece, 16 - (source.x + byte) % 16);
            if (is_tiled(&destination))
                piece = model_least(piece, 16 - (destination.x + byte) % 16);
            if (!model_copy(model, destination_kind, address_of(&destination, byte, row), source_kind,
                            address_of(&source, byte, row), piece, fault)) {
                fault->written = 0;
                return false;
            }
        }
    }
    return true;
}
