// SPDX-License-Identifier: Apache-2.0
// Anything that may leave, by chance: what a policy has to beat to be worth its code.
#include "lab/policies/policies.h"

static uint32_t choose(struct ferry_lab_memory *memory)
{
    // What is pinned is little of what is there; where it is most, from a place by chance onwards.
    size_t start = memory->placed_count ? (size_t)(ferry_lab_random(memory) % memory->placed_count) : 0;
    for (size_t i = 0; i < memory->placed_count; i++) {
        uint32_t number = memory->placed[(start + i) % memory->placed_count];
        if (!memory->items[number].pinned)
            return number;
    }
    return FERRY_LAB_NONE;
}

const struct ferry_lab_policy ferry_lab_random_choice = {
    .name = "random", .says = "by chance", .one_list = true, .choose = choose};
