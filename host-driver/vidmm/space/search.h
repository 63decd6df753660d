// SPDX-License-Identifier: Apache-2.0
// Room out of neighbours, what the two ways to it share: what it costs that a block leaves or moves.
#ifndef FERRY_VIDMM_SPACE_SEARCH_H
#define FERRY_VIDMM_SPACE_SEARCH_H

#include "vidmm/base/least.h"
#include "vidmm/space/plan_internal.h"

#define FERRY_VM_NEVER UINT64_MAX

struct ferry_vm_search {
    struct ferry_vm_plan *plan;
    struct ferry_vm_region *region;
    const struct ferry_vm_wanted *wanted;
    unsigned alignment_log2;
    uint64_t furthest;
    bool relocate;        // window: who is in the way may move to a hole elsewhere
    bool keeps;           // push: of those who may leave, who is needed soon stays
    bool inches;          // push: also by less than a step
    uint64_t cost, spent; // of the best, and of what was done
    struct ferry_vm_block *first;
    uint64_t begin, end; // its pages, first is at begin
};

/// What it costs that the candidate leaves; furthest as of ferry_vm_victims_furthest().
uint64_t ferry_vm_plan_cost(const struct ferry_vm_plan *plan, const struct ferry_vm_region *region,
                            const struct ferry_vm_facts *facts, uint64_t pages, uint64_t furthest);

static inline uint64_t ferry_vm_leaving(const struct ferry_vm_search *search, const struct ferry_vm_block *block,
                                        const struct ferry_vm_facts *facts)
{
    return ferry_vm_plan_cost(search->plan, search->region, facts, block->pages, search->furthest);
}

// What this plan places is not there yet.
static inline uint64_t ferry_vm_moving(const struct ferry_vm_search *search, const struct ferry_vm_block *block,
                                       uint64_t page_cost)
{
    return block->place ? 0 : search->region->moves ? block->pages * page_cost : FERRY_VM_NEVER;
}

/// push.c: the cheapest window around the seeds in which those who stay are pushed together, if cheaper than
/// search->cost.
void ferry_vm_push_everywhere(struct ferry_vm_search *search, struct ferry_vm_use *const *seeds, unsigned count);
/// Do it. The room; NOWHERE = no memory, and the caller takes it back.
uint64_t ferry_vm_push(struct ferry_vm_search *search, bool *no_memory);

#endif
