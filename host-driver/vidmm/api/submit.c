// SPDX-License-Identifier: Apache-2.0
// Jobs: checked, their allocations brought into place, handed to the node.
#include "vidmm/api/call.h"
#include "vidmm/api/named.h"
#include "vidmm/memory/addresses.h"
#include "vidmm/sched/awaited.h"

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
        // Locked in place, it has no copy for the CPU.
        if (allocation->locked && (!ferry_vm_permanent(allocation) || ferry_vm_locked_in_place(allocation)))
            return FERRY_ERROR_LOCKED;
        uint64_t address = submission->addresses ? submission->addresses[i] : 0;
        const struct ferry_vm_range *own = address ? ferry_vm_virtual_own(allocation) : NULL;
        // What has been freed may be somebody else's address by now.
        if (address && (own ? own->first * PAGE_SIZE : FERRY_VIDMM_NOWHERE) != address)
            return FERRY_VIDMM_RENAMED;
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

// Where each allocation is as the job will find it, and behind which paging the job has to stand.
static int fill_allocation_list(struct ferry_vidmm *manager, struct ferry_vm_job *job,
                                const struct ferry_vidmm_submission *submission)
{
    for (uint32_t i = 0; i < submission->reference_count; i++) {
        int error;
        const struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(&manager->memory, NULL, submission->references[i].allocation, &error);
        const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(&manager->memory, allocation->segment);
        if (!allocation->block)
            return FERRY_ERROR_NO_VIDEO_MEMORY;
        const uint64_t after[] = {allocation->subject.last_fence[manager->sched.paging_node], allocation->shown};
        for (unsigned k = 0; k < 2; k++)
            if (!ferry_vm_operation_over(&manager->sched, after[k]))
                job->after[job->after_count++] = after[k];
        job->after_count +=
            ferry_vm_virtual_late(&manager->memory, allocation, job->context->node, &job->after[job->after_count]);
        DXGK_ALLOCATIONLIST *entry = &job->allocations[i];
        *entry = (DXGK_ALLOCATIONLIST){.hDeviceSpecificAllocation = allocation->miniport,
                                       .WriteOperation = submission->references[i].write};
        entry->SegmentId = segment->id & 0x1F;
        entry->PhysicalAddress.QuadPart = (int64_t)(segment->base + allocation->block->first * PAGE_SIZE);
    }
    return FERRY_OK;
}

static void mark_used(struct ferry_vidmm *manager, const struct ferry_vidmm_submission *submission, uint32_t node,
                      uint64_t fence)
{
    manager->memory.time++;
    for (uint32_t i = 0; i < submission->reference_count; i++) {
        int error;
        struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(&manager->memory, NULL, submission->references[i].allocation, &error);
        ferry_vm_used(&manager->memory, allocation);
        allocation->subject.last_fence[node] = fence;
        if (!submission->references[i].write)
            continue;
        allocation->fresh = allocation->untouched = 0;
        if (ferry_vm_segment_by_id(&manager->memory, allocation->segment)->aperture)
            allocation->gpu_wrote = 1;
        else
            allocation->dirty = 1;
    }
}

static void drop(struct ferry_vidmm *manager, struct ferry_vm_job *jobs)
{
    while (jobs) {
        struct ferry_vm_job *next = jobs->next;
        ferry_vm_job_drop(&manager->sched, jobs);
        jobs = next;
    }
}

// What the first buffer stands behind the others do too, as their node's line keeps its order. Zeros are named by
// nobody.
static void stand_behind(struct ferry_vidmm *manager, struct ferry_vm_job *job)
{
    struct ferry_vm_virtual *space = job->context->device->process->space;
    job->after_count += ferry_vm_awaited_copy(&manager->sched, &job->context->behind, &job->after[job->after_count]);
    if (space)
        job->after_count += ferry_vm_awaited_copy(&manager->sched, &space->zeros_shown, &job->after[job->after_count]);
}

// What it may have to stand behind besides: updates (ferry_vm_virtual_late), and reservations that become zeros.
static size_t late_most(struct ferry_vidmm *manager, const struct ferry_vm_context *context,
                        const struct ferry_vidmm_submission *buffer)
{
    struct ferry_vm_virtual *space = context->device->process->space;
    size_t most = space ? ferry_vm_awaited_left(&manager->sched, &space->zeros_shown) : 0;
    for (uint32_t i = 0; i < buffer->reference_count; i++) {
        int error;
        most += ferry_vm_virtual_late_most(
            &manager->memory,
            ferry_vm_allocation_find(&manager->memory, NULL, buffer->references[i].allocation, &error));
    }
    return most;
}

// All buffers, in a list, with room for whatever they need later.
static int make_jobs(struct ferry_vidmm *manager, struct ferry_vm_context *context,
                     const struct ferry_vidmm_submission *buffers, uint32_t count, struct ferry_vm_job **jobs)
{
    struct ferry_vm_job **end = jobs;
    *jobs = NULL;
    for (uint32_t i = 0; i < count; i++) {
        size_t most = late_most(manager, context, &buffers[i]);
        int result = ferry_vm_job_new(&manager->sched, context, &buffers[i], most, end);
        if (result != FERRY_OK) {
            *end = NULL;
            return result;
        }
        end = &(*end)->next;
    }
    return FERRY_OK;
}

static int submit(struct ferry_vidmm *manager, struct ferry_vm_context *context,
                  const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence, unsigned *node,
                  uint64_t *number)
{
    struct ferry_vm_job *jobs;
    int result = make_jobs(manager, context, buffers, count, &jobs);
    if (result == FERRY_OK)
        result = ferry_vm_take_turn(&manager->policy, context->device, buffers, count, node, number);
    const struct ferry_vidmm_submission *buffer = buffers;
    if (result == FERRY_OK)
        stand_behind(manager, jobs);
    for (struct ferry_vm_job *job = jobs; job && result == FERRY_OK; job = job->next)
        result = fill_allocation_list(manager, job, buffer++);
    if (result != FERRY_OK) {
        drop(manager, jobs);
        return result;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct ferry_vm_job *job = jobs;
        jobs = job->next;
        job->next = NULL;
        ferry_vm_job_queue(&manager->sched, job, count - 1 - i);
        mark_used(manager, &buffers[i], context->node, job->fence);
        if (context->device->process->space)
            context->device->process->space->jobs[context->node] = job->fence;
        *fence = job->fence;
    }
    context->behind.count = 0;
    return FERRY_OK;
}

// A lock that discards waits for another instance of what the job names. If it fails, that one is not the allocation
// any more, and what the job has written there is nowhere.
static bool waits_for_discard(struct ferry_vidmm *manager, const struct ferry_vidmm_submission *buffer, unsigned *node,
                              uint64_t *number)
{
    for (uint32_t i = 0; i < buffer->reference_count; i++) {
        int error;
        const struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(&manager->memory, NULL, buffer->references[i].allocation, &error);
        if (!allocation->renaming || !allocation->renaming->before)
            continue;
        bool pending = ferry_vm_subject_pending(&manager->sched, allocation->subject.last_fence, true, node);
        *number = pending ? allocation->subject.last_fence[*node] : 0;
        return true;
    }
    return false;
}

static bool has_to_wait(struct ferry_vidmm *manager, const struct ferry_vm_context *context,
                        const struct ferry_vidmm_submission *buffers, uint32_t count, unsigned *node, uint64_t *number)
{
    const struct ferry_vm_sched *sched = &manager->sched;
    *node = context->node;
    if (ferry_vm_jobs_full(sched, context->node) || ferry_vm_turn_line_full(&manager->policy, context, node)) {
        *number = sched->nodes[*node].first->fence;
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        if (waits_for_discard(manager, &buffers[i], node, number))
            return true;
    *node = sched->paging_node;
    *number = ferry_vm_device_pending(context->device, sched->queued);
    return *number != 0 && context->device->leaving_bytes > manager->memory.memory_bytes;
}

// Checked and queued, or PENDING: that job of that node has to be over before, or it is not its program's turn.
static int submit_named(struct ferry_vidmm *manager, struct ferry_vm_context *context,
                        const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence, unsigned *node,
                        uint64_t *number)
{
    int result = FERRY_OK;
    for (uint32_t i = 0; i < count && result == FERRY_OK; i++)
        result = check(manager, context, &buffers[i]);
    if (result != FERRY_OK)
        return result;
    return has_to_wait(manager, context, buffers, count, node, number)
               ? FERRY_PENDING
               : submit(manager, context, buffers, count, fence, node, number);
}

int ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, const struct ferry_vidmm_submission *buffers,
                       uint32_t count, uint64_t *fence)
{
    if (!manager || !buffers || count == 0 || !fence)
        return FERRY_ERROR_ARGUMENT;
    struct ferry_vm_patience patience = {0};
    struct ferry_vm_named named = {0};
    D3DKMT_HANDLE device_handle = 0;
    int result = ferry_vm_enter(manager);
    // How far the line runs ahead of the device is bounded, and so is what it holds of host memory: page-ins that wait
    // keep what they read, besides what is paged out again behind them. Everything is checked again after each turn of
    // waiting.
    for (bool again = result == FERRY_OK; again; again = result == FERRY_PENDING) {
        struct ferry_vm_context *context = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_CONTEXT, handle);
        device_handle = context ? context->device->handle : device_handle;
        if (!context) {
            result = FERRY_ERROR_HANDLE;
            break;
        }
        unsigned node;
        uint64_t number;
        result = ferry_vm_name_reached(context, buffers, count, &named);
        if (result == FERRY_OK)
            result = submit_named(manager, context, named.buffers, count, fence, &node, &number);
        if (result == FERRY_PENDING && (result = ferry_vm_block(manager, node, number, &patience)) == FERRY_OK) {
            // What it waited for is over, but somebody else may have to come first.
            ferry_vm_yield(manager);
            result = FERRY_PENDING;
        }
    }
    ferry_vm_named_end(&named);
    // The context may be gone, but the device that waited is still there.
    struct ferry_vm_device *device =
        result == FERRY_OK ? NULL : ferry_vm_handle_find_hidden(&manager->core.handles, FERRY_VM_DEVICE, device_handle);
    if (device)
        ferry_vm_turn_forgo(device);
    return ferry_vm_leave(manager, result);
}
