// SPDX-License-Identifier: Apache-2.0
// COPY_RECTANGLE: what a packet says of its sides, whether that keeps the rules, and the copy.
#include "model/internal.h"

// One side of a rectangle.
struct side {
    uint64_t address;
    int64_t pitch;
    uint32_t layout, x, y;
    struct model_tiles tiles;
};

static struct side side_of(const uint8_t *packet, bool destination)
{
    uint32_t at = destination ? FERRY_PACKET_COPY_RECTANGLE_DESTINATION : FERRY_PACKET_COPY_RECTANGLE_SOURCE;
    uint32_t pitch =
        destination ? FERRY_PACKET_COPY_RECTANGLE_DESTINATION_PITCH : FERRY_PACKET_COPY_RECTANGLE_SOURCE_PITCH;
    uint32_t layout = model_get32(packet + pitch + 4);

    return (struct side){
        .address = model_get64(packet + at),
        .pitch = (int32_t)model_get32(packet + pitch),
        .layout = layout,
        .x = FERRY_GET(FERRY_PACKET_LAYOUT_X, layout),
        .y = FERRY_GET(FERRY_PACKET_LAYOUT_Y, layout),
        .tiles =
            model_tiles_of(FERRY_GET(FERRY_PACKET_LAYOUT_SWIZZLE, layout), layout & FERRY_PACKET_LAYOUT_SMALL_MASK),
    };
}

static bool is_tiled(const struct side *side)
{
    return side->tiles.bytes != 0;
}

static uint64_t address_of(const struct side *side, uint64_t byte, uint64_t row)
{
    if (!is_tiled(side))
        return side->address + (uint64_t)((int64_t)row * side->pitch) + byte;

    return side->address + model_tiles_place(&side->tiles, side->pitch, side->x + byte, side->y + row);
}

static bool side_is_bad(const struct side *side)
{
    uint32_t swizzle = FERRY_PACKET_LAYOUT_SWIZZLE_MASK, tile;

    if (!(side->layout & swizzle))
        return side->layout != 0;
    tile = side->tiles.bytes;
    return (side->layout & FERRY_PACKET_LAYOUT_RESERVED_MASK) || side->x >= side->tiles.width ||
           side->y >= side->tiles.height || side->address % tile || side->pitch % (int64_t)tile;
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
        rows = (rows + side.y) / side.tiles.height;
        width = ((width + side.x - 1) / side.tiles.width + 1) * side.tiles.bytes;
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
