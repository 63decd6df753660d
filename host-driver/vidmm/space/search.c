// SPDX-License-Identifier: Apache-2.0
#include "vidmm/space/search.h"

// Found by replaying games' traces. What comes back soon counts more, but never so much more that a large cold one
// could not be thrown out instead; a cold one is expected back half as surely as the furthest of the others. A page
// moved takes the engine as long as one over the link and keeps it from the link.
#define MOST_WEIGHT (16 * FERRY_VM_PLAN_PAGE)
#define COLD_WEIGHT (FERRY_VM_PLAN_PAGE / 2)
#define BELIEVED    7    // rhythms that a cold one may stay away before it is given up by and by
#define FINE        1024 // parts of a page's cost

// A cold one that has been away for long after its rhythm broke would leave its room free for as long again: over that
// time all that its leaving costs is spread, its write-back too. Else a large one that was needed while a program
// loaded stays for ever, since each time some small one costs less. It is waited for as long as for the last of the
// others, too: a frame may just not have come to it. Who was used once was expected in a round, and is given up like
// the rest where uses were watched for as long before it as since: while a program loads the round is not its own yet.
// A steady one is not waited for: its write-back is paid once, while each frame brings in again what leaves instead.
static uint64_t spread(uint64_t cost, const struct ferry_vm_use *use, uint64_t now, uint64_t furthest)
{
    bool steady = use->steady == FERRY_VM_STEADY;
    uint64_t idle = now - use->last, believed = steady ? use->period / 2 : BELIEVED * use->period + furthest;
    bool round_known = !use->guessed || use->last >= idle;
    return use->period && round_known && idle > believed ? ferry_vm_most(cost * FINE * believed / idle, 1)
                                                         : cost * FINE;
}

// Throwing out what is needed again at twice the distance frees its room for twice as long: half the cost.
uint64_t ferry_vm_plan_cost(const struct ferry_vm_plan *plan, const struct ferry_vm_region *region,
                            const struct ferry_vm_facts *facts, uint64_t pages, uint64_t furthest)
{
    uint64_t distance = ferry_vm_victim_distance(region->victims, facts->use, plan->now);
    uint64_t out = facts->dirty ? FERRY_VM_PLAN_PAGE : 0;
    if (distance == UINT64_MAX)
        return pages * spread(COLD_WEIGHT + out, facts->use, plan->now, furthest) / FINE;
    uint64_t weight = distance ? FERRY_VM_PLAN_PAGE * furthest / distance : MOST_WEIGHT;
    if (weight > MOST_WEIGHT)
        weight = MOST_WEIGHT;
    return pages * (weight + out);
}
