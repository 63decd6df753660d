// SPDX-License-Identifier: Apache-2.0
// Jobs: checked, their allocations brought into place, handed to the node.
#include "vidmm/api/manager.h"

static int check(struct ferry_vidmm *manager, struct ferry_vm_context *context,
                 const struct ferry_vidmm_submission *submission)
{
    if (context->device->state != D3DKMT_DEVICEEXECUTION_ACTIVE)
        return FERRY_ERROR_DEVICE_LOST;
    if (!submission->commands || submission->bytes == 0 || submission->bytes > context->info.DmaBufferSize ||
        submission->reference_count > context->info.AllocationListSize ||
        submission->patch_count > context->info.PatchLocationListSize ||
        (submission->reference_count && !submission->references) || (submission->patch_count && !submission->patches))
        return FERRY_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < submission->reference_count; i++) {
        int error;
        const struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(&manager->memory, context->device, submission->references[i].allocation, &error);
        if (!allocation)
            return error;
        if (allocation->count == 0)
            return FERRY_ERROR_NOT_RESIDENT;
        if (allocation->lost)
            return FERRY_ERROR_DEVICE_LOST;
        if (allocation->locked && !ferry_vm_permanent(allocation))
            return FERRY_ERROR_LOCKED;
    }
    for (uint32_t i = 0; i < submission->patch_count; i++) {
        const D3DDDI_PATCHLOCATIONLIST *patch = &submission->patches[i];
        if (patch->AllocationIndex >= submission->reference_count)
            return FERRY_ERROR_ARGUMENT;
        int error;
        const struct ferry_vm_allocation *allocation = ferry_vm_allocation_find(
            &manager->memory, context->device, submission->references[patch->AllocationIndex].allocation, &error);
        if (patch->PatchOffset > submission->bytes || submission->bytes - patch->PatchOffset < 8 ||
            patch->AllocationOffset > ferry_vm_bytes(allocation))
            return FERRY_ERROR_RANGE;
    }
    return FERRY_OK;
}

// All of the job's allocations in place and their paging done.
static int make_ready(struct ferry_vidmm *manager, struct ferry_vm_context *context,
                      const struct ferry_vidmm_submission *submission)
{
    int result = ferry_vm_place_missing(&manager->policy, context->device);
    uint64_t paging = 0;
    for (uint32_t i = 0; i < submission->reference_count && result == FERRY_OK; i++) {
        const struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(&manager->memory, NULL, submission->references[i].allocation, &result);
        if (allocation->subject.last_fence[manager->sched.paging_node] > paging)
            paging = allocation->subject.last_fence[manager->sched.paging_node];
        if (!allocation->block)
            result = FERRY_ERROR_NO_VIDEO_MEMORY;
    }
    if (result == FERRY_OK)
        result = ferry_vm_wait(&manager->sched, manager->sched.paging_node, paging);
    if (result == FERRY_OK && context->device->state != D3DKMT_DEVICEEXECUTION_ACTIVE)
        result = FERRY_ERROR_DEVICE_LOST;
    return result;
}

static void fill_allocation_list(struct ferry_vidmm *manager, struct ferry_vm_context *context,
                                 const struct ferry_vidmm_submission *submission)
{
    for (uint32_t i = 0; i < submission->reference_count; i++) {
        int error;
        const struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(&manager->memory, NULL, submission->references[i].allocation, &error);
        const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(&manager->memory, allocation->segment);
        DXGK_ALLOCATIONLIST *entry = &context->allocation_list[i];
        *entry = (DXGK_ALLOCATIONLIST){.hDeviceSpecificAllocation = allocation->miniport,
                                       .WriteOperation = submission->references[i].write};
        entry->SegmentId = segment->id & 0x1F;
        entry->PhysicalAddress.QuadPart = (int64_t)(segment->base + allocation->block->first * PAGE_SIZE);
    }
}

static void mark_used(struct ferry_vidmm *manager, const struct ferry_vidmm_submission *submission, uint32_t node,
                      uint64_t fence)
{
    manager->memory.time++;
    for (uint32_t i = 0; i < submission->reference_count; i++) {
        int error;
        struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(&manager->memory, NULL, submission->references[i].allocation, &error);
        ferry_vm_victim_used(&allocation->use, manager->memory.time);
        allocation->subject.last_fence[node] = fence;
        if (!submission->references[i].write)
            continue;
        allocation->fresh = 0;
        if (ferry_vm_segment_by_id(&manager->memory, allocation->segment)->aperture)
            allocation->gpu_wrote = 1;
        else
            allocation->dirty = 1;
    }
}

static int submit(struct ferry_vidmm *manager, struct ferry_vm_context *context,
                  const struct ferry_vidmm_submission *submission, uint64_t *fence_out)
{
    int result = check(manager, context, submission);
    if (result == FERRY_OK)
        result = make_ready(manager, context, submission);
    struct ferry_vm_job *job = NULL;
    if (result == FERRY_OK)
        result = ferry_vm_job_new(&manager->sched, context, &job);
    if (result != FERRY_OK)
        return result;
    uint64_t fence = manager->sched.nodes[context->node].submitted + 1;
    fill_allocation_list(manager, context, submission);
    mark_used(manager, submission, context->node, fence);
    result = ferry_vm_job_send(&manager->sched, job, submission);
    if (result != FERRY_OK)
        return result;
    *fence_out = fence;
    return manager->core.critical.code != FERRY_CRITICAL_NONE ? FERRY_ERROR_CRITICAL : FERRY_OK;
}

int ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE handle,
                       const struct ferry_vidmm_submission *submission, uint64_t *fence)
{
    if (!manager || !submission || !fence)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_context *context = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_CONTEXT, handle);
        result = context ? submit(manager, context, submission, fence) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}
