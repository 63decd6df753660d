// SPDX-License-Identifier: Apache-2.0
// A hash table from 64-bit names to 32-bit numbers, open addressing, never shrinking: allocation ids are many and
// sparse.
#ifndef FERRY_TOOLS_ID_MAP_H
#define FERRY_TOOLS_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#define FERRY_ID_NONE UINT32_MAX

struct ferry_id_map {
    uint64_t *names;
    uint32_t *numbers; // FERRY_ID_NONE marks a free place.
    size_t count, places;
};

/// Returns the number kept for name, or FERRY_ID_NONE.
uint32_t ferry_id_map_get(const struct ferry_id_map *map, uint64_t name);
/// Keep number (not FERRY_ID_NONE) for name, replacing what was there. Returns 0, or -1 without memory.
int ferry_id_map_set(struct ferry_id_map *map, uint64_t name, uint32_t number);
/// Forget name; it need not be there.
void ferry_id_map_remove(struct ferry_id_map *map, uint64_t name);
void ferry_id_map_free(struct ferry_id_map *map);
/// A good mixing of 64 bits (the finaliser of splitmix64); also used for colours and content keys.
uint64_t ferry_mix(uint64_t value);

#endif
