// SPDX-License-Identifier: Apache-2.0
// Copies of rectangles, part of ferry.h. Argument structs begin with their size, as in ferry.h; the call may be made
// from any thread.
#ifndef FERRY_RECTANGLE_H
#define FERRY_RECTANGLE_H

#include <stdbool.h>
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

struct ferry_allocation;
struct ferry_queue;

// Where one side of a rectangle begins, and how its rows lie.
struct ferry_rectangle_side {
    struct ferry_allocation *allocation; // NULL: at GPU virtual addresses of the device's program; driver model 2.
    uint64_t at;                         // First byte of the first row: in the allocation, or its address.
    int32_t pitch;                       // From the begin of a row to that of the next; negative: they go upwards.
    // Or in the image of a tiled allocation, by its rows (docs/manual/tiling.md): from this element of this level on,
    // the levels as ferry_tiling_level() tells, with what fills their last tiles; `at` and `pitch` are 0. Where it is
    // false these are 0, and bytes of a tiled allocation are those of the tiles.
    bool in_tiles;
    uint32_t level, x, y;
};
struct ferry_rectangle {
    size_t size;
    uint32_t row_bytes, rows; // The same on both sides: up to 2^23, up to 65536. None of either: nothing is copied.
    struct ferry_rectangle_side destination, source;
};
/// Append a copy of a rectangle to the job being recorded, from rows any pitch apart to rows of another one, between
/// rows and tiles, or from tiles to tiles. Nothing but the rows' own bytes is written. Both sides may be of one
/// allocation; where they have bytes in common, what the destination holds afterwards is not told. Rows of the
/// destination do not overlap each other; those of the source may, and with pitch 0 are one. Of addresses it is as with
/// ferry_queue_copy_va(): what is mapped where the rows are must be resident, where nothing is the job faults, with
/// that page in the record, and of a rectangle it is then not told how much was written before. On an error of this
/// call nothing is recorded. Errors: ARGUMENT (more bytes or rows than that; rows of the destination overlap; in_tiles
/// of an allocation without tiles, of addresses, of no such level, or of parts of elements; a member is not 0 that
/// should be), HANDLE, FOREIGN, RANGE (a row leaves the allocation, the level or the 48 bits of addresses; the first
/// byte has more than 32 bits of offset; more allocations are mapped there than a job may name), NO_HOST_MEMORY,
/// DEVICE_LOST, UNSUPPORTED (the device has no COPY_RECTANGLE: CAPABILITIES.tiling; addresses in driver model 1). Where
/// a program asks for more than 4 GiB of video memory, which no hardware has, a side that lies there over a multiple of
/// 4 GiB faults with RANGE.
int ferry_queue_copy_rectangle(struct ferry_queue *queue, const struct ferry_rectangle *rectangle);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
