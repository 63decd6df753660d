// SPDX-License-Identifier: Apache-2.0
// Images in tiles at random, and where each of their bytes is: from the published table for each size of element, bit
// by bit, which the engine's and the model's masks were not made from.
#ifndef FERRY_TESTS_TILE_IMAGES_H
#define FERRY_TESTS_TILE_IMAGES_H

#include "system.h"

#define LOCAL_TEST_BYTES (3u << 20)

static uint64_t drawn;
static inline uint32_t draw(uint32_t below)
{
    return draw_below(&drawn, below);
}

// From bit 0 up; b = a bit of the byte in its element, x and y of the element's place. 4 KiB: the first twelve.
static const char *const table[5] = {
    "x0x1x2x3y0y1y2y3y4x4y5x5y6x6y7x7", "b0x0x1x2y0y1y2x3y3x4y4x5y5x6y6x7", "b0b1x0x1y0y1y2x2y3x3y4x4y5x5y6x6",
    "b0b1b2x0y0y1x1x2y2x3y3x4y4x5y5x6", "b0b1b2b3y0y1x0x1y2x2y3x3y4x4y5x5",
};

struct image {
    uint32_t element_log2, tile, width, height, levels; // elements
    uint64_t bytes;
};

static inline uint32_t tile_elements(const struct image *image, char axis)
{
    uint32_t size = 1;

    for (unsigned bit = 0; bit < (image->tile == 4096 ? 12 : 16); bit++)
        size <<= table[image->element_log2][2 * bit] == axis;
    return size;
}

static inline uint32_t round_up(uint32_t value, uint32_t to)
{
    return (value + to - 1) / to * to;
}

static inline uint32_t level_size(uint32_t size, unsigned level, uint32_t tile)
{
    return round_up(size >> level ? size >> level : 1, tile);
}

static inline void measure(struct image *image)
{
    image->bytes = 0;
    for (unsigned level = 0; level < image->levels; level++)
        image->bytes += (uint64_t)level_size(image->width, level, tile_elements(image, 'x')) *
                            level_size(image->height, level, tile_elements(image, 'y'))
                        << image->element_log2;
}

static inline uint32_t place_in_tile(const struct image *image, uint32_t byte, uint32_t x, uint32_t y)
{
    uint32_t place = 0;

    for (unsigned bit = 0; bit < (image->tile == 4096 ? 12 : 16); bit++) {
        const char *name = table[image->element_log2] + 2 * bit;
        uint32_t value = name[0] == 'b' ? byte : name[0] == 'x' ? x : y;

        place |= (value >> (name[1] - '0') & 1) << bit;
    }
    return place;
}

static inline void make_tiles(const struct image *image, const uint8_t *rows, uint8_t *tiles)
{
    uint32_t wide = tile_elements(image, 'x'), high = tile_elements(image, 'y'), element = 1u << image->element_log2;

    for (unsigned level = 0; level < image->levels; level++) {
        uint32_t width = level_size(image->width, level, wide), height = level_size(image->height, level, high);

        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++)
                for (uint32_t b = 0; b < element; b++)
                    tiles[(uint64_t)(y / high * (width / wide) + x / wide) * image->tile +
                          place_in_tile(image, b, x % wide, y % high)] = rows[((uint64_t)y * width + x) * element + b];
        rows += (uint64_t)width * height * element;
        tiles += (uint64_t)width * height * element;
    }
}

static inline struct image draw_image(unsigned run)
{
    struct image image = {.element_log2 = run % 5, .tile = run / 5 % 2 ? 65536 : 4096, .levels = 1 + draw(4)};
    uint64_t most = on_model() ? 300000 : image.tile == 4096 ? 30000 : 65536;

    do {
        image.width = 1 + draw(600);
        image.height = 1 + draw(600);
        measure(&image);
        image.levels -= image.bytes > most && image.levels > 1;
    } while (image.bytes > most);
    return image;
}

#endif
