// SPDX-License-Identifier: Apache-2.0
// Tiled images, part of ferry.h: what describes one, and where its rows are. Pure functions of what they are given, for
// any thread. Argument structs begin with their size, as in ferry.h.
#ifndef FERRY_TILING_H
#define FERRY_TILING_H

#include <stddef.h>
#include <stdint.h>

#include "ferry/error.h"

#ifdef __cplusplus
extern "C" {
#endif
// A shared library that is built with -fvisibility=hidden shows these and nothing else.
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

// An image that the GPU has in tiles of the standard swizzle, and the CPU in rows (docs/manual/tiling.md). Its levels
// lie one behind the other, each of whole tiles: ferry_tiling_level() says where.
struct ferry_tiling {
    size_t size;
    uint32_t tile_bytes;    // 4096 or 65536
    uint32_t element_bytes; // 1, 2, 4, 8 or 16
    uint32_t width;         // Elements of level 0, 1 to 65536.
    uint32_t height;        // As many. A level has half of both of the one above it, at least 1.
    uint32_t levels;        // 1 to 16
};
/// Bytes of an allocation with these tiles; 0 when a member is out of its range.
uint64_t ferry_tiling_bytes(const struct ferry_tiling *tiling);
struct ferry_tiling_rows {
    size_t size;
    uint64_t offset, bytes; // of the level, in the allocation
    uint64_t pitch;         // from a row to the next, under a lock
    uint32_t rows;          // of whole tiles
};
/// Where a level is, as a lock shows it. Errors: ARGUMENT.
int ferry_tiling_level(const struct ferry_tiling *tiling, uint32_t level, struct ferry_tiling_rows *rows);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
