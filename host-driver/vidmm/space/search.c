// SPDX-License-Identifier: Apache-2.0
#include "vidmm/space/search.h"

// Found by replaying games' traces. What comes back soon counts more, but never so much more that a large cold one
// could not be thrown out instead; a cold one is expected back half as surely as the furthest of the others. A page
// moved takes the engine as long as one over the link and keeps it from the link.
#define MOST_WEIGHT (16 * FERRY_VM_PLAN_PAGE)
#define COLD_WEIGHT (FERRY_VM_PLAN_PAGE / 2)

// Throwing out what is needed again at twice the distance frees its room for twice as long: half the cost.
uint64_t ferry_vm_plan_cost(const struct ferry_vm_plan *plan, const struct ferry_vm_region *region,
                            const struct ferry_vm_facts *facts, uint64_t pages, uint64_t furthest)
{
    uint64_t distance = ferry_vm_victim_distance(region->victims, facts->use, plan->now);
    uint64_t weight = COLD_WEIGHT;
    if (distance != UINT64_MAX) {
        weight = distance ? FERRY_VM_PLAN_PAGE * furthest / distance : MOST_WEIGHT;
        if (weight > MOST_WEIGHT)
            weight = MOST_WEIGHT;
    }
    return pages * (weight + (facts->dirty ? FERRY_VM_PLAN_PAGE : 0));
}
