// SPDX-License-Identifier: Apache-2.0
// One wanted allocation: the ways to its room, in the order of plan.h.
#include "vidmm/space/plan_internal.h"

uint64_t ferry_vm_plan_trim(struct ferry_vm_plan *plan, struct ferry_vm_region *region, uint64_t pages)
{
    uint64_t gone = 0;
    while (gone < pages) {
        struct ferry_vm_use *use = ferry_vm_victim_choose(region->victims, plan->now, pages - gone);
        struct ferry_vm_facts facts;
        if (!use)
            break;
        ferry_vm_plan_ask(plan, plan->owner(use), &facts);
        uint64_t size = (*facts.block)->pages;
        if (!ferry_vm_plan_evict(plan, region, *facts.block))
            break;
        gone += size;
    }
    return gone;
}

static uint64_t short_of(const struct ferry_vm_region *region, const struct ferry_vm_wanted *wanted)
{
    uint64_t free_pages = region->space->free_pages;
    return wanted->pages > free_pages ? wanted->pages - free_pages : wanted->pages;
}

// No way makes more room than what is free and what may leave; of few candidates that is known without a walk over the
// segment. With several programs this is asked for each wanted one, at each step of how far the plan may reach.
static bool can_be(const struct ferry_vm_plan *plan, const struct ferry_vm_region *region, uint64_t pages)
{
    struct ferry_vm_use *uses[FERRY_VM_PLAN_SEEDS];
    unsigned count = ferry_vm_victims_first(region->victims, plan->now, uses, FERRY_VM_PLAN_SEEDS);
    uint64_t most = region->space->free_pages;
    for (unsigned i = 0; i < count; i++)
        most += uses[i]->pages;
    return count == FERRY_VM_PLAN_SEEDS || most >= pages;
}

enum ferry_vm_plan_result ferry_vm_plan_want(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                                             const struct ferry_vm_wanted *wanted, uint64_t *short_pages)
{
    struct ferry_vm_facts facts;
    size_t mark = plan->step_count;
    bool no_memory = false;
    ferry_vm_plan_ask(plan, wanted->owner, &facts);
    if (wanted->pages > wanted->most_more)
        ferry_vm_plan_trim(plan, region, wanted->pages - wanted->most_more);
    uint64_t first = ferry_vm_space_find(region->space, wanted->pages, UINT64_C(1) << facts.alignment_log2,
                                         wanted->from_end, wanted->lowest);
    bool more = first == FERRY_VM_NOWHERE && can_be(plan, region, wanted->pages);
    if (more)
        first = ferry_vm_plan_window(plan, region, wanted, &no_memory);
    if (more && first == FERRY_VM_NOWHERE && !no_memory && region->moves)
        first = ferry_vm_plan_push_together(plan, region, wanted, &no_memory);
    if (more && first == FERRY_VM_NOWHERE && !no_memory)
        first = ferry_vm_plan_arrange(plan, region, wanted, &no_memory);
    if (first != FERRY_VM_NOWHERE && ferry_vm_plan_place(plan, region, wanted->owner, first, wanted->pages, false))
        return FERRY_VM_PLANNED;
    ferry_vm_plan_back_to(plan, mark);
    *short_pages = short_of(region, wanted);
    return first != FERRY_VM_NOWHERE || no_memory ? FERRY_VM_NO_MEMORY : FERRY_VM_SHORT;
}
