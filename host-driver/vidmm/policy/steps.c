// SPDX-License-Identifier: Apache-2.0
// The steps of a plan, carried out: who has to leave, who moves, who comes in. All that can fail comes before the
// first.
#include "vidmm/policy/policy.h"

static struct ferry_vm_segment *segment_of(struct ferry_vm_policy *policy, const struct ferry_vm_step *step)
{
    return &policy->memory->segments[step->region - policy->regions];
}

// The plan had this block before, so there is memory for it.
static void sit(struct ferry_vm_policy *policy, const struct ferry_vm_step *step)
{
    struct ferry_vm_allocation *allocation = step->owner;
    bool no_memory;
    allocation->block =
        ferry_vm_space_take_at(&segment_of(policy, step)->space, step->to, step->pages, allocation, &no_memory);
    assert(allocation->block);
}

static void move(struct ferry_vm_policy *policy, const struct ferry_vm_step *step)
{
    struct ferry_vm_allocation *allocation = step->owner;
    ferry_vm_transfer_move(policy->memory, allocation, step->to);
    ferry_vm_emit_place(policy->memory, allocation, false);
    ferry_vm_space_give(&segment_of(policy, step)->space, allocation->block);
    sit(policy, step);
    ferry_vm_emit_place(policy->memory, allocation, true);
}

// R247: a parked instance that had to leave is not brought back.
static bool ends(const struct ferry_vm_step *step)
{
    return step->kind == FERRY_VM_STEP_EVICT && step->candidate && ferry_vm_worthless(step->owner);
}

// One that only changes places comes back as what it is: parked, without content.
static enum ferry_vm_way_out way_out(const struct ferry_vm_step *step)
{
    if (ferry_vm_worthless(step->owner))
        return FERRY_VM_UNWANTED;
    return step->candidate ? FERRY_VM_EVICTED : FERRY_VM_FOR_A_MOMENT;
}

static void take_out(struct ferry_vm_policy *policy, const struct ferry_vm_step *step)
{
    struct ferry_vm_allocation *allocation = step->owner;
    policy->core->statistics.evictions += step->candidate;
    allocation->subject.device->process->statistics.evictions += step->candidate;
    if (ends(step))
        ferry_vm_instance_take_away(policy->memory, allocation);
    else
        ferry_vm_take_out(policy->memory, allocation, way_out(step));
}

// ---- Everything that can fail, before the first step ----

static size_t most_operations(struct ferry_vm_policy *policy, const struct ferry_vm_step *step)
{
    switch (step->kind) {
    case FERRY_VM_STEP_EVICT:
        return ends(step) ? ferry_vm_instance_end_most(policy->memory, step->owner)
                          : ferry_vm_remove_most(policy->memory, step->owner);
    case FERRY_VM_STEP_MOVE: return ferry_vm_move_most(policy->memory, step->owner, step->from, step->to);
    case FERRY_VM_STEP_PLACE: return ferry_vm_settle_most(policy->memory, step->owner);
    case FERRY_VM_STEP_SHIFT: break;
    }
    return 0;
}

static int make_backing(struct ferry_vm_policy *policy, const struct ferry_vm_step *step)
{
    struct ferry_vm_allocation *allocation = step->owner;
    const MDL *before = allocation->backing;
    int result = FERRY_OK;
    if (step->kind == FERRY_VM_STEP_EVICT)
        result = ferry_vm_remove_prepare(policy->memory, allocation, way_out(step));
    else if (step->kind == FERRY_VM_STEP_PLACE && segment_of(policy, step)->aperture)
        result = ferry_vm_backing_make(policy->memory, allocation);
    else if (step->kind == FERRY_VM_STEP_MOVE && ferry_vm_move_by_backing(allocation, step->from, step->to) &&
             !ferry_vm_backing_recallable(policy->memory, allocation))
        result = ferry_vm_backing_make(policy->memory, allocation);
    if (step->kind == FERRY_VM_STEP_PLACE && result == FERRY_OK)
        result = ferry_vm_iommu_prepare(policy->memory, allocation);
    allocation->prepared |= allocation->backing != before;
    return result;
}

int ferry_vm_steps_reserve(struct ferry_vm_policy *policy)
{
    size_t operations = 0, most = 0, count = policy->plan.step_count;
    for (size_t i = 0; i < count; i++) {
        const struct ferry_vm_step *step = &policy->plan.steps[i];
        bool in = step->kind == FERRY_VM_STEP_PLACE && segment_of(policy, step)->aperture;
        // Who comes into an aperture makes the line, which never gets shorter, long enough for being destroyed there.
        size_t end = in ? ferry_vm_instance_end_most(policy->memory, step->owner) : 0;
        most = end > most ? end : most;
        operations += most_operations(policy, step);
    }
    int result = ferry_vm_reserve(policy->sched, operations > most ? operations : most);
    for (size_t i = 0; i < count && result == FERRY_OK; i++)
        result = make_backing(policy, &policy->plan.steps[i]);
    for (size_t i = 0; i < count; i++) {
        struct ferry_vm_allocation *allocation = policy->plan.steps[i].owner;
        if (allocation->prepared && result != FERRY_OK) {
            ferry_vm_pages_free(policy->core, allocation->backing);
            allocation->backing = NULL;
        }
        if (result != FERRY_OK)
            ferry_vm_iommu_undo(policy->memory, allocation);
        allocation->prepared = 0;
    }
    return result;
}

void ferry_vm_steps_carry_out(struct ferry_vm_policy *policy)
{
    for (size_t i = 0; i < policy->plan.step_count; i++) {
        const struct ferry_vm_step *step = &policy->plan.steps[i];
        struct ferry_vm_allocation *allocation = step->owner;
        switch (step->kind) {
        case FERRY_VM_STEP_EVICT: take_out(policy, step); break;
        case FERRY_VM_STEP_MOVE: move(policy, step); break;
        case FERRY_VM_STEP_PLACE:
            sit(policy, step);
            allocation->segment = segment_of(policy, step)->id & 0xF;
            ferry_vm_settle(policy->memory, allocation);
            break;
        case FERRY_VM_STEP_SHIFT: break;
        }
    }
}
