// SPDX-License-Identifier: Apache-2.0
// Rename or wait (R237 to R250): a lock with Discard wants pages that nobody works on. The list of an allocation's
// instances is a cycle in which the oldest stands behind the one that holds the content.
//
//  - nobody works on the present one: it is discarded where it is, no step is taken;
//  - the next one is idle: it is taken, one step for one discard;
//  - it is not, the list may grow and memory allows it: a new one is put before it and taken;
//  - else the next one is taken and the lock waits for it. It is the one that will be idle first.
//
// Memory allows it while what the program requires and all its instances fit into its budget; the budgets of all fit
// together, so what others list is no reason to wait. What is parked is among the first to leave when room is needed,
// and leaving it ends. Demand is looked at every so often: instances that not one
// discard of the last window would have missed go.
#include "vidmm/memory/addresses.h"
#include "vidmm/policy/policy.h"

#define WINDOW 64 // discards between two looks at the length

// Work of the GPU names it, or a transfer its pages.
static bool busy(const struct ferry_vm_policy *policy, const struct ferry_vm_allocation *instance)
{
    unsigned node;
    return ferry_vm_subject_pending(policy->sched, instance->subject.last_fence, true, &node);
}

static bool may_grow(const struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_process *process = allocation->subject.device->process;
    unsigned group = allocation->wants_memory ? FERRY_VM_LOCAL : FERRY_VM_NON_LOCAL;
    uint64_t more = ferry_vm_charge(allocation);
    if (allocation->renaming_limit != 0 && ferry_vm_instance_count(allocation) >= allocation->renaming_limit)
        return false;
    return process->required[group] + process->renamed[group] + more <= process->budget[group];
}

static void look_at_demand(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation, uint32_t in_use)
{
    struct ferry_vm_renaming *renaming = allocation->renaming;
    if (!renaming)
        return;
    renaming->peak = in_use > renaming->peak ? in_use : renaming->peak;
    if (++renaming->discards < WINDOW)
        return;
    // As many as were in use at once, and the one that the discard takes.
    while (renaming->length > renaming->peak + 1) {
        struct ferry_vm_allocation *next = ferry_vm_instance(allocation, 1);
        if (next == renaming->before || busy(policy, next) || ferry_vm_instance_end(policy->memory, next) != FERRY_OK)
            break;
    }
    renaming->discards = renaming->peak = 0;
}

struct ferry_vm_allocation *ferry_vm_rename(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation)
{
    uint32_t in_use = 0;
    ferry_vm_pump(policy->sched);
    for (uint32_t i = 0; i < ferry_vm_instance_count(allocation); i++)
        in_use += busy(policy, ferry_vm_instance(allocation, i));
    struct ferry_vm_allocation *taken = allocation;
    bool added = false;
    // The caller's own memory has one address, so there is no other instance of it; and what the miniport is told of
    // the one place of an allocation has no word for several.
    UINT single = DXGK_ALLOC_FLAG_EXISTING_SYSMEM | DXGK_ALLOC_FLAG_EXISTING_KERNEL_SYSMEM |
                  DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION;
    // And what is told of its place before it leaves it, or addresses that a program has chosen, lead to one of them.
    if (busy(policy, allocation) && (allocation->flags & single) == 0 && !allocation->notice &&
        !allocation->iommu_notice && ferry_vm_virtual_renamable(allocation)) {
        taken = ferry_vm_instance(allocation, 1);
        // Without host memory for one more there is still the next one to wait for.
        added = busy(policy, taken) && may_grow(allocation) &&
                ferry_vm_instance_add(policy->memory, allocation) == FERRY_OK;
        if (added)
            taken = ferry_vm_instance(allocation, 1);
    }
    if (taken != allocation) {
        taken->renaming->before = allocation;
        taken->renaming->added = added;
        ferry_vm_instance_switch(policy->memory, taken);
    }
    look_at_demand(policy, taken, in_use);
    return taken;
}

void ferry_vm_rename_done(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_renaming *renaming = allocation->renaming;
    if (!renaming || !renaming->before)
        return;
    renaming->before->dirty = renaming->before->dirty_before = renaming->before->lost = 0;
    renaming->before = NULL;
    policy->core->statistics.renames++;
}

void ferry_vm_rename_back(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_renaming *renaming = allocation->renaming;
    if (!renaming || !renaming->before)
        return;
    // Its content is wanted again, but paging has lost it meanwhile.
    if (renaming->before->lost)
        allocation->subject.device->state = D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT;
    ferry_vm_instance_switch(policy->memory, renaming->before);
    // It may have left the lists meanwhile and be there again: what it held then is older.
    renaming->before->dirty_before = renaming->before->dirty;
    renaming->before = NULL;
    // Without memory to take its addresses away it stays, as the next to be taken.
    if (renaming->added && !allocation->block && !busy(policy, allocation))
        (void)ferry_vm_instance_undo(policy->memory, allocation);
}
