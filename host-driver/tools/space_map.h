// SPDX-License-Identifier: Apache-2.0
// Which of a program's GPU virtual addresses lead to which allocation, in pages of which size, now and over the whole
// run: fed by the adapter's MAPPED and UNMAPPED events, read by the SVG.
#ifndef FERRY_TOOLS_SPACE_MAP_H
#define FERRY_TOOLS_SPACE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FERRY_LARGE_PAGE (UINT64_C(2) << 20)

// Addresses that lead to an allocation for a while, all in pages of one size. Time is that of the map of video memory.
struct ferry_space_piece {
    uint64_t address, bytes, page;
    uint32_t object;
    uint32_t program;
    float begin, end;
};

struct ferry_space_list {
    struct ferry_space_piece *pieces;
    size_t count, capacity;
};

struct ferry_space_map {
    struct ferry_space_list *living; // Of each program, in the order of addresses.
    unsigned program_count;
    struct ferry_space_list ended; // In no order.
    uint64_t lost;                 // Not kept, for lack of memory or because there are too many.
};

/// Returns 0, or -1 without memory.
int ferry_space_map_begin(struct ferry_space_map *map, unsigned program_count);
void ferry_space_map_free(struct ferry_space_map *map);
/// Whatever was there is so no more.
void ferry_space_map_mapped(struct ferry_space_map *map, const struct ferry_space_piece *piece);
/// With pages of 2 MiB only what is mapped in such pages; program, address, bytes, page and begin of the piece count.
void ferry_space_map_unmapped(struct ferry_space_map *map, const struct ferry_space_piece *piece);
/// All that still goes on ends now.
void ferry_space_map_end(struct ferry_space_map *map, float now);

#endif
