// SPDX-License-Identifier: Apache-2.0
#include "lab/policy.h"

uint32_t ferry_lab_highest(const struct ferry_lab_memory *memory,
                           uint64_t (*score)(const struct ferry_lab_memory *memory, const struct ferry_lab_item *item))
{
    uint32_t best = FERRY_LAB_NONE;
    uint64_t most = 0;
    for (size_t i = 0; i < memory->placed_count; i++) {
        uint32_t number = memory->placed[i];
        const struct ferry_lab_item *item = &memory->items[number];
        if (item->pinned || (memory->own_first && item->program != memory->program))
            continue;
        uint64_t here = score(memory, item);
        if (best == FERRY_LAB_NONE || here > most || (here == most && item->made < memory->items[best].made)) {
            best = number;
            most = here;
        }
    }
    return best;
}

// SplitMix64.
uint64_t ferry_lab_random(struct ferry_lab_memory *memory)
{
    uint64_t x = memory->random += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}
