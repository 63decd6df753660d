// SPDX-License-Identifier: Apache-2.0
// What the plan's files share: changes of the bookkeeping that are noted and can be taken back.
#ifndef FERRY_VIDMM_PLAN_INTERNAL_H
#define FERRY_VIDMM_PLAN_INTERNAL_H

#include "vidmm/space/plan.h"

static inline void ferry_vm_plan_ask(const struct ferry_vm_plan *plan, void *owner, struct ferry_vm_facts *facts)
{
    plan->ask(plan->context, owner, facts);
}

// It is a candidate, and may leave for this one.
static inline bool ferry_vm_plan_leaves(const struct ferry_vm_facts *facts)
{
    return facts->use->listed != 0 && !facts->stays;
}

// steps.c
/// The block's owner leaves. False = no memory, as below.
bool ferry_vm_plan_evict(struct ferry_vm_plan *plan, struct ferry_vm_region *region, struct ferry_vm_block *block);
/// To a place that is free but for the block itself. Of what the plan placed, to NOWHERE too.
bool ferry_vm_plan_move(struct ferry_vm_plan *plan, struct ferry_vm_region *region, struct ferry_vm_block *block,
                        uint64_t to);
/// What was moved NOWHERE comes back.
bool ferry_vm_plan_put(struct ferry_vm_plan *plan, struct ferry_vm_region *region, void *owner, uint32_t place,
                       uint64_t first, uint64_t pages);
/// listed: it left for a moment only, and is a candidate again.
bool ferry_vm_plan_place(struct ferry_vm_plan *plan, struct ferry_vm_region *region, void *owner, uint64_t first,
                         uint64_t pages, bool listed);

// window.c, push.c, arrange.c
/// Ways 2, 3 and 4 of plan.h. The room, free, or FERRY_VM_NOWHERE with everything as before; *no_memory tells why.
uint64_t ferry_vm_plan_window(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                              const struct ferry_vm_wanted *wanted, bool *no_memory);
uint64_t ferry_vm_plan_push_together(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                                     const struct ferry_vm_wanted *wanted, bool *no_memory);
uint64_t ferry_vm_plan_arrange(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                               const struct ferry_vm_wanted *wanted, bool *no_memory);

static inline uint64_t ferry_vm_align_up(uint64_t value, unsigned log2)
{
    uint64_t mask = (UINT64_C(1) << log2) - 1;
    return (value + mask) & ~mask;
}

#endif
