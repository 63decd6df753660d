// SPDX-License-Identifier: Apache-2.0
// Residency lists (R213 to R225). A count above 0 means required: in place whenever a job of the device runs, and no
// victim then. One device's list must fit; where those of all do not, they take turns (turns.c).
#include <stdlib.h>

#include "vidmm/policy/policy.h"

static void raise(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation)
{
    if (allocation->count++ == 0) {
        allocation->dirty_before = allocation->dirty;
        allocation->not_written = 1;
        ferry_vm_relist(policy->memory, allocation);
    }
}

static void lower(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation)
{
    if (--allocation->count == 0)
        ferry_vm_relist(policy->memory, allocation);
}

// Into policy->named all that the call names, checked to be live allocations of this device.
static int name_all(struct ferry_vm_policy *policy, const struct ferry_vm_device *device, const D3DKMT_HANDLE *handles,
                    UINT count)
{
    int result = ferry_vm_room_for_names(policy, count);
    if (result != FERRY_OK)
        return result;
    for (UINT i = 0; i < count; i++) {
        int error;
        policy->named[i] = ferry_vm_allocation_find(policy->memory, device, handles[i], &error);
        if (!policy->named[i])
            return error;
    }
    return FERRY_OK;
}

// Each of them may stand in the list any number of times. A count that began anew at 0 would leave the allocation to
// whoever wants its room, and its program without a way to take it off the list.
static bool can_count(struct ferry_vm_allocation *const *list, UINT count)
{
    for (UINT i = 0; i < count; i++)
        if (list[i]->count > UINT32_MAX - count)
            return false;
    return true;
}

static uint64_t listed(const struct ferry_vm_device *device)
{
    return device->required[FERRY_VM_LOCAL] + device->required[FERRY_VM_NON_LOCAL];
}

static int place_all(struct ferry_vm_policy *policy, struct ferry_vm_allocation **list, UINT count, bool nothing_new,
                     uint64_t *to_trim)
{
    for (UINT i = 0; i < count; i++) {
        if (list[i]->lost)
            return FERRY_ERROR_DEVICE_LOST;
        // The CPU has its content: it can neither be in place at once nor come before the caller unlocks it (R216).
        if (list[i]->locked && !list[i]->block && !ferry_vm_permanent(list[i]) && !ferry_vm_locked_in_place(list[i]))
            return FERRY_ERROR_LOCKED;
    }
    int result = ferry_vm_place_all(policy, list, count, FERRY_VM_REACH_BEYOND, to_trim);
    if (result != FERRY_ERROR_NO_VIDEO_MEMORY)
        return result;
    // Nobody is refused for what others have, or for what they have come to reserve since: its jobs bring it in when it
    // is their turn.
    const struct ferry_vm_device *device = list[0]->subject.device;
    bool comes = ferry_vm_beyond_all(policy, device) == 0 ? ferry_vm_others_require(policy, device) : nothing_new;
    return comes ? FERRY_OK : result;
}

int ferry_vm_make_resident(struct ferry_vm_policy *policy, struct ferry_vm_queue *queue, D3DDDI_MAKERESIDENT *arguments)
{
    struct ferry_vm_device *device = queue->device;
    UINT count = arguments->NumAllocations;
    if (device->state != D3DKMT_DEVICEEXECUTION_ACTIVE)
        return FERRY_ERROR_DEVICE_LOST;
    int result = ferry_vm_queue_reserve(queue);
    if (result == FERRY_OK)
        result = name_all(policy, device, arguments->AllocationList, count);
    if (result == FERRY_OK && !can_count(policy->named, count))
        result = FERRY_ERROR_ARGUMENT;
    if (result != FERRY_OK)
        return result;
    struct ferry_vm_allocation **list = policy->named;
    const struct ferry_vm_process *process = device->process;
    uint64_t excess_before = ferry_vm_excess(process), listed_before = listed(device);
    uint64_t pinned_before = device->pinned[FERRY_VM_LOCAL] + device->pinned[FERRY_VM_NON_LOCAL];
    for (UINT i = 0; i < count; i++)
        raise(policy, list[i]);
    bool pins = device->pinned[FERRY_VM_LOCAL] + device->pinned[FERRY_VM_NON_LOCAL] != pinned_before;
    // Who asks for nothing new is not refused for how much he has: what is on the lists may stay there when the budget
    // is lowered (R224).
    uint64_t to_trim = ferry_vm_excess(process) > excess_before ? ferry_vm_excess(process) : 0;
    // Who has trimmed all he can gets what can be had at all, for his turn.
    if (to_trim != 0 && arguments->Flags.CantTrimFurther)
        to_trim = ferry_vm_beyond_all(policy, device);
    if (to_trim == 0 && pins)
        to_trim = ferry_vm_beyond_others(policy, device);
    result = to_trim ? FERRY_ERROR_NO_VIDEO_MEMORY
                     : place_all(policy, list, count, listed(device) == listed_before, &to_trim);

    unsigned paging = policy->sched->paging_node;
    uint64_t operation = 0;
    for (UINT i = 0; i < count && result == FERRY_OK; i++) {
        uint64_t last = list[i]->subject.last_fence[paging];
        last = list[i]->shown > last ? list[i]->shown : last;
        if (last > operation && !ferry_vm_operation_over(policy->sched, last))
            operation = last;
    }
    bool pending = operation != 0;
    if (result == FERRY_OK && pending)
        arguments->PagingFenceValue = ferry_vm_queue_value(policy->sched, queue, operation);
    if (result != FERRY_OK) {
        // All or nothing: what was brought in stays as a candidate, its count is as before.
        for (UINT i = 0; i < count; i++)
            lower(policy, list[i]);
        if (result == FERRY_ERROR_NO_VIDEO_MEMORY && arguments->Flags.MustSucceed)
            device->state = D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY;
    }
    // The newest there is, with every answer; a refusal has it from before the counts were taken back.
    arguments->NumBytesToTrim = result == FERRY_ERROR_NO_VIDEO_MEMORY ? to_trim : ferry_vm_excess(process);
    if (result != FERRY_OK || !pending)
        return result;
    ferry_vm_emit(policy->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_FENCE_WAIT,
                                                           .queue = queue->handle,
                                                           .value = arguments->PagingFenceValue});
    return FERRY_PENDING;
}

// As far as it goes: the counts are lowered, and what cannot leave for want of host pages leaves another time.
static void trim_to_budget(struct ferry_vm_policy *policy)
{
    for (unsigned i = 0; i < policy->memory->segment_count && policy->budget != 0; i++) {
        struct ferry_vm_segment *segment = &policy->memory->segments[i];
        while (!segment->aperture && policy->core->statistics.resident_bytes > policy->budget) {
            uint64_t over = policy->core->statistics.resident_bytes - policy->budget;
            if (ferry_vm_evict_one(policy, segment, (over + PAGE_SIZE - 1) / PAGE_SIZE) != FERRY_OK)
                break;
        }
    }
}

// An entry of the list, which was looked up when it was collected.
static struct ferry_vm_allocation *entry(struct ferry_vm_policy *policy, const struct ferry_vm_device *device,
                                         const D3DDDICB_EVICT *arguments, struct ferry_vm_allocation **list, UINT i)
{
    int error;
    return list ? list[i] : ferry_vm_allocation_find(policy->memory, device, arguments->AllocationList[i], &error);
}

// One allocation may stand in the list several times, so the counts themselves are the check; but for an entry alone.
static bool all_are_required(struct ferry_vm_policy *policy, const struct ferry_vm_device *device,
                             const D3DDDICB_EVICT *arguments, struct ferry_vm_allocation **list)
{
    UINT count = arguments->NumAllocations, done = 0;
    if (count == 1 && list)
        return list[0]->count > 0;
    for (bool more = true; more && done < count; done += more) {
        struct ferry_vm_allocation *allocation = entry(policy, device, arguments, list, done);
        more = allocation && allocation->count > 0;
        if (more)
            allocation->count--;
    }
    for (UINT i = 0; i < done; i++) {
        struct ferry_vm_allocation *allocation = entry(policy, device, arguments, list, i);
        if (allocation)
            allocation->count++;
    }
    return done == count;
}

// The caller may change his list meanwhile, so it is read once. Without memory for that the handles are looked up as
// often as they are wanted: whoever has to take back a MakeResident always can.
int ferry_vm_evict(struct ferry_vm_policy *policy, const struct ferry_vm_device *device, D3DDDICB_EVICT *arguments)
{
    UINT count = arguments->NumAllocations;
    int result = name_all(policy, device, arguments->AllocationList, count);
    if (result != FERRY_OK && result != FERRY_ERROR_NO_HOST_MEMORY)
        return result;
    struct ferry_vm_allocation **list = result == FERRY_OK ? policy->named : NULL;
    result = FERRY_OK;
    for (UINT i = 0; i < count && !list && result == FERRY_OK; i++)
        ferry_vm_allocation_find(policy->memory, device, arguments->AllocationList[i], &result);
    if (result == FERRY_OK && !all_are_required(policy, device, arguments, list))
        result = FERRY_ERROR_NOT_RESIDENT;
    for (UINT i = 0; i < count && result == FERRY_OK; i++) {
        struct ferry_vm_allocation *allocation = entry(policy, device, arguments, list, i);
        if (!allocation || allocation->count == 0)
            continue;
        // The caller's word that the GPU wrote nothing since the matching MakeResident, whatever its jobs announced.
        // What an earlier residency wrote, or an outer one that has not ended, is none of its business: it counts when
        // all that ended since the count left 0 said so.
        allocation->not_written &= arguments->Flags.NotWrittenTo;
        if (allocation->count == 1 && allocation->not_written && ferry_vm_permanent(allocation))
            allocation->dirty = allocation->dirty_before;
        lower(policy, allocation);
    }
    if (result != FERRY_OK)
        return result;
    arguments->NumBytesToTrim = ferry_vm_excess(device->process);
    trim_to_budget(policy);
    return FERRY_OK;
}

int ferry_vm_take_off(struct ferry_vm_policy *policy, const struct ferry_vm_device *device, D3DKMT_HANDLE handle,
                      uint32_t count)
{
    int error;
    struct ferry_vm_allocation *allocation = ferry_vm_allocation_find(policy->memory, device, handle, &error);
    if (!allocation)
        return error;
    if (count > allocation->count)
        return FERRY_ERROR_NOT_RESIDENT;
    if (count == 0)
        return FERRY_OK;
    allocation->not_written = 0;
    allocation->count -= count - 1;
    lower(policy, allocation);
    trim_to_budget(policy);
    return FERRY_OK;
}

int ferry_vm_put_back(struct ferry_vm_policy *policy, const struct ferry_vm_device *device, D3DKMT_HANDLE handle,
                      uint32_t count)
{
    int error;
    struct ferry_vm_allocation *allocation = ferry_vm_allocation_find(policy->memory, device, handle, &error);
    if (!allocation)
        return error;
    if (count > UINT32_MAX - allocation->count)
        return FERRY_ERROR_ARGUMENT;
    if (count == 0)
        return FERRY_OK;
    if (allocation->count == 0) {
        raise(policy, allocation);
        count--;
    }
    allocation->count += count;
    return FERRY_OK;
}
