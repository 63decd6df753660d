// SPDX-License-Identifier: Apache-2.0
// Images in memory and rectangles in them, byte by byte, from the published interleaves: what a walk is held against.
#ifndef FERRY_TESTS_RTL_IMAGES_H
#define FERRY_TESTS_RTL_IMAGES_H

#include <cstdint>

// Standard swizzle, two dimensions: bits of the offset from bit 0 up, as AMD's address library publishes them; x and y
// count elements, b is a byte of one.
struct Element {
    unsigned bytes;
    const char *bits;
};
inline const Element elements[] = {{1, "x0 x1 x2 x3 y0 y1 y2 y3 y4 x4 y5 x5 y6 x6 y7 x7"},
                                   {2, "b0 x0 x1 x2 y0 y1 y2 x3 y3 x4 y4 x5 y5 x6 y6 x7"},
                                   {4, "b0 b1 x0 x1 y0 y1 y2 x2 y3 x3 y4 x4 y5 x5 y6 x6"},
                                   {8, "b0 b1 b2 x0 y0 y1 x1 x2 y2 x3 y3 x4 y4 x5 y5 x6"},
                                   {16, "b0 b1 b2 b3 y0 y1 x0 x1 y2 x2 y3 x3 y4 x4 y5 x5"}};

// An image: rows behind each other, or tiles in rows.
struct Image {
    const Element *element; // null: rows
    unsigned tile_log2;     // 12 or 16
    uint64_t base;
    int64_t pitch; // bytes from a row (of tiles) to the next

    // Bits of a coordinate inside of a tile.
    unsigned count(char name) const
    {
        unsigned bits = 0;
        for (unsigned i = 0; i < tile_log2; i++)
            bits += element->bits[3 * i] == name;
        return bits;
    }
    unsigned swizzle() const { return element == nullptr ? 0 : element->bytes == 1 ? 1 : element->bytes <= 4 ? 2 : 3; }
    uint64_t tile_width() const { return (uint64_t)element->bytes << count('x'); } // in bytes
    uint64_t tile_height() const { return 1ull << count('y'); }
    // Of byte `x` of row `y`.
    uint64_t tile(uint64_t x, uint64_t y) const
    {
        return base + (int64_t)(y / tile_height()) * pitch + (x / tile_width() << tile_log2);
    }
    uint64_t address(uint64_t x, uint64_t y) const
    {
        if (element == nullptr)
            return base + (int64_t)y * pitch + x;
        uint64_t column = x % tile_width() / element->bytes, row = y % tile_height(), byte = x % element->bytes,
                 offset = 0;
        for (unsigned i = 0; i < tile_log2; i++) {
            uint64_t of = element->bits[3 * i] == 'x' ? column : element->bits[3 * i] == 'y' ? row : byte;
            offset |= (of >> (element->bits[3 * i + 1] - '0') & 1) << i;
        }
        return tile(x, y) + offset;
    }
};

// A place in an image, in bytes and rows.
struct Side {
    Image image;
    uint64_t x, y;

    bool tiled() const { return image.element != nullptr; }
    uint64_t first() const { return tiled() ? image.tile(x, y) : image.address(x, y); }
    uint64_t byte(uint64_t at, uint64_t row) const { return image.address(x + at, y + row); }
    uint32_t together(uint32_t at) const { return tiled() ? 16 - (x + at) % 16 : 16; }
    uint64_t layout() const
    {
        uint64_t in_x = tiled() ? x % image.tile_width() : 0, in_y = tiled() ? y % image.tile_height() : 0;
        uint64_t word =
            (uint64_t)(tiled() && image.tile_log2 == 12) << 20 | (uint64_t)image.swizzle() << 18 | in_y << 10 | in_x;
        return word << 32 | (uint32_t)image.pitch;
    }
};

struct Rectangle {
    Side source, destination;
    uint32_t width, rows;
};

#endif
