// SPDX-License-Identifier: Apache-2.0
// Contexts and the jobs submitted on them.
#include "vidmm/internal.h"

#define JOBS_IN_FLIGHT 32 // per node; the next one waits for the oldest
#define SPARES         8  // DMA buffers a context keeps for its next jobs

// ---- Contexts ----

static int create_context(struct ferry_vidmm *manager, struct ferry_vm_device *device, uint32_t node,
                          D3DKMT_HANDLE *handle, DXGK_CONTEXTINFO *info)
{
    if (node == FERRY_VIDMM_ANY_NODE) {
        do
            node = manager->next_node++ % manager->node_count;
        while (node == manager->paging_node);
    }
    if (node >= manager->node_count || node == manager->paging_node)
        return FERRY_ERROR_UNSUPPORTED;
    struct ferry_vm_context *context = calloc(1, sizeof(*context));
    if (!context)
        return FERRY_ERROR_NO_HOST_MEMORY;
    context->handle = ferry_vm_handle_new(&manager->handles, FERRY_VM_CONTEXT, context);
    if (context->handle == 0) {
        free(context);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    DXGKARG_CREATECONTEXT argument = {
        .hContext = (HANDLE)(uintptr_t)context->handle, .NodeOrdinal = node, .EngineAffinity = 1};
    NTSTATUS status = manager->miniport->DxgkDdiCreateContext(device->miniport, &argument);
    int result = NT_SUCCESS(status) ? FERRY_OK : ferry_vm_error_of_status(status);
    if (result == FERRY_OK) {
        size_t entries = argument.ContextInfo.AllocationListSize ? argument.ContextInfo.AllocationListSize : 1;
        context->allocation_list = calloc(entries, sizeof(*context->allocation_list));
        context->spares = calloc(SPARES, sizeof(*context->spares));
        if (!context->allocation_list || !context->spares) {
            result = FERRY_ERROR_NO_HOST_MEMORY;
            manager->miniport->DxgkDdiDestroyContext(argument.hContext);
        }
    }
    if (result != FERRY_OK) {
        ferry_vm_handle_free(&manager->handles, context->handle);
        free(context->allocation_list);
        free(context->spares);
        free(context);
        return result;
    }
    context->miniport = argument.hContext;
    context->device = device;
    context->node = node;
    context->info = argument.ContextInfo;
    ferry_vm_list_add(&device->contexts, &context->link);
    if (info)
        *info = context->info;
    *handle = context->handle;
    return FERRY_OK;
}

int ferry_vidmm_create_context(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle, uint32_t node,
                               D3DKMT_HANDLE *context, DXGK_CONTEXTINFO *info)
{
    if (!manager || !context)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_device *device = ferry_vm_handle_find(&manager->handles, FERRY_VM_DEVICE, device_handle);
        if (!device)
            result = FERRY_ERROR_HANDLE;
        else if (device->state != D3DKMT_DEVICEEXECUTION_ACTIVE)
            result = FERRY_ERROR_DEVICE_LOST;
        else
            result = create_context(manager, device, node, context, info);
    }
    return ferry_vm_leave(manager, result);
}

static void free_job_memory(struct ferry_vidmm *manager, struct ferry_vm_job *job)
{
    if (job->buffer)
        manager->platform.pages->free(manager->platform.pages->context, job->buffer);
    free(job->private_data);
    free(job);
}

int ferry_vm_context_free(struct ferry_vidmm *manager, struct ferry_vm_context *context)
{
    int result = ferry_vm_wait(manager, context->node, context->last_fence);
    if (result != FERRY_OK && result != FERRY_ERROR_CRITICAL)
        return result;
    if (result == FERRY_ERROR_CRITICAL)
        ferry_vm_jobs_completed(manager, context->node, UINT64_MAX);
    manager->miniport->DxgkDdiDestroyContext(context->miniport);
    for (unsigned i = 0; i < context->spare_count; i++)
        free_job_memory(manager, context->spares[i]);
    ferry_vm_handle_free(&manager->handles, context->handle);
    ferry_vm_list_remove(&context->link);
    free(context->spares);
    free(context->allocation_list);
    free(context->faulted);
    free(context);
    return FERRY_OK;
}

int ferry_vidmm_destroy_context(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_context *context = ferry_vm_handle_find(&manager->handles, FERRY_VM_CONTEXT, handle);
        result = context ? ferry_vm_context_free(manager, context) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

// ---- Completion ----

static void note_fault(struct ferry_vidmm *manager, struct ferry_vm_context *context, uint64_t fence)
{
    manager->statistics.faulted_jobs++;
    if (context->faulted_count == context->faulted_capacity) {
        size_t capacity = context->faulted_capacity ? context->faulted_capacity * 2 : 8;
        uint64_t *faulted = realloc(context->faulted, capacity * sizeof(*faulted));
        if (!faulted) {
            // A fault that cannot be kept must not look like success: the device takes no more work.
            context->device->state = D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT;
            return;
        }
        context->faulted = faulted;
        context->faulted_capacity = capacity;
    }
    context->faulted[context->faulted_count++] = fence;
}

void ferry_vm_jobs_completed(struct ferry_vidmm *manager, unsigned number, uint64_t completed)
{
    struct ferry_vm_node *node = &manager->nodes[number];
    while (node->first && node->first->fence <= completed) {
        struct ferry_vm_job *job = node->first;
        struct ferry_vm_context *context = job->context;
        node->first = job->next;
        if (!node->first)
            node->last = NULL;
        node->jobs--;
        NTSTATUS status = STATUS_SUCCESS;
        for (size_t i = 0; i < node->fault_count; i++)
            if (node->faults[i].fence == job->fence)
                status = node->faults[i].status;
        if (!NT_SUCCESS(status))
            note_fault(manager, context, job->fence);
        ferry_vm_emit(manager, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_JOB_END,
                                                          .id = job->event,
                                                          .context = context->handle,
                                                          .node = number,
                                                          .value = job->fence,
                                                          .status = status});
        if (context->spare_count < SPARES)
            context->spares[context->spare_count++] = job;
        else
            free_job_memory(manager, job);
    }
}

static bool faulted(const struct ferry_vm_context *context, uint64_t fence)
{
    size_t low = 0, high = context->faulted_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (context->faulted[middle] < fence)
            low = middle + 1;
        else
            high = middle;
    }
    return low < context->faulted_count && context->faulted[low] == fence;
}

int ferry_vidmm_wait(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t fence)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_context *context = ferry_vm_handle_find(&manager->handles, FERRY_VM_CONTEXT, handle);
        if (!context)
            result = FERRY_ERROR_HANDLE;
        else if (fence == 0 || fence > context->last_fence)
            result = FERRY_ERROR_ARGUMENT;
        else
            result = ferry_vm_wait(manager, context->node, fence);
        if (result == FERRY_OK && faulted(context, fence))
            result = FERRY_ERROR_FAULT;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_completed(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t *fence)
{
    if (!manager || !fence)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_context *context = ferry_vm_handle_find(&manager->handles, FERRY_VM_CONTEXT, handle);
        if (context)
            *fence = manager->nodes[context->node].completed;
        else
            result = FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

// ---- Submission ----

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
            ferry_vm_allocation_find(manager, context->device, submission->references[i].allocation, &error);
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
            manager, context->device, submission->references[patch->AllocationIndex].allocation, &error);
        if (patch->PatchOffset > submission->bytes || submission->bytes - patch->PatchOffset < 8 ||
            patch->AllocationOffset > ferry_vm_bytes(allocation))
            return FERRY_ERROR_RANGE;
    }
    return FERRY_OK;
}

static int new_job(struct ferry_vidmm *manager, struct ferry_vm_context *context, struct ferry_vm_job **job)
{
    struct ferry_vm_node *node = &manager->nodes[context->node];
    if (node->jobs >= JOBS_IN_FLIGHT) {
        int result = ferry_vm_wait(manager, context->node, node->first->fence);
        if (result != FERRY_OK)
            return result;
    }
    if (context->spare_count > 0) {
        *job = context->spares[--context->spare_count];
        return FERRY_OK;
    }
    struct ferry_vm_job *fresh = calloc(1, sizeof(*fresh));
    if (!fresh)
        return FERRY_ERROR_NO_HOST_MEMORY;
    const struct ferry_page_source *pages = manager->platform.pages;
    size_t count = (context->info.DmaBufferSize + PAGE_SIZE - 1) / PAGE_SIZE;
    int result = pages->allocate(pages->context, count, FERRY_PAGES_CONSECUTIVE, &fresh->buffer);
    if (result == FERRY_OK && context->info.DmaBufferPrivateDataSize != 0) {
        fresh->private_data = calloc(1, context->info.DmaBufferPrivateDataSize);
        if (!fresh->private_data)
            result = FERRY_ERROR_NO_HOST_MEMORY;
    }
    if (result != FERRY_OK) {
        free_job_memory(manager, fresh);
        return result;
    }
    fresh->context = context;
    *job = fresh;
    return FERRY_OK;
}

// All of the job's allocations in place and their paging done.
static int make_ready(struct ferry_vidmm *manager, struct ferry_vm_context *context,
                      const struct ferry_vidmm_submission *submission)
{
    int result = ferry_vm_place_missing(manager, context->device);
    uint64_t paging = 0;
    for (uint32_t i = 0; i < submission->reference_count && result == FERRY_OK; i++) {
        const struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(manager, NULL, submission->references[i].allocation, &result);
        if (allocation->last_fence[manager->paging_node] > paging)
            paging = allocation->last_fence[manager->paging_node];
        if (!allocation->block)
            result = FERRY_ERROR_NO_VIDEO_MEMORY;
    }
    if (result == FERRY_OK)
        result = ferry_vm_wait(manager, manager->paging_node, paging);
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
            ferry_vm_allocation_find(manager, NULL, submission->references[i].allocation, &error);
        const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(manager, allocation->segment);
        DXGK_ALLOCATIONLIST *entry = &context->allocation_list[i];
        *entry = (DXGK_ALLOCATIONLIST){.hDeviceSpecificAllocation = allocation->miniport,
                                       .WriteOperation = submission->references[i].write};
        entry->SegmentId = segment->id & 0x1F;
        entry->PhysicalAddress.QuadPart = (int64_t)(segment->base + allocation->block->first * PAGE_SIZE);
    }
}

static int patch_and_submit(struct ferry_vidmm *manager, struct ferry_vm_context *context, struct ferry_vm_job *job,
                            const struct ferry_vidmm_submission *submission, uint64_t fence)
{
    PHYSICAL_ADDRESS address = {.QuadPart = (int64_t)(job->buffer->Pfn[0] << PAGE_SHIFT)};
    struct ferry_vidmm_critical record = {.node = context->node, .fence = fence, .dma_size = submission->bytes};
    memcpy(job->buffer->MappedSystemVa, submission->commands, submission->bytes);
    DXGKARG_PATCH patch = {
        .hContext = context->miniport,
        .DmaBufferPhysicalAddress = address,
        .pDmaBuffer = job->buffer->MappedSystemVa,
        .DmaBufferSize = context->info.DmaBufferSize,
        .DmaBufferSubmissionEndOffset = submission->bytes,
        .pDmaBufferPrivateData = job->private_data,
        .DmaBufferPrivateDataSize = context->info.DmaBufferPrivateDataSize,
        .DmaBufferPrivateDataSubmissionEndOffset = context->info.DmaBufferPrivateDataSize,
        .pAllocationList = context->allocation_list,
        .AllocationListSize = submission->reference_count,
        .pPatchLocationList = submission->patches,
        .PatchLocationListSize = submission->patch_count,
        .PatchLocationListSubmissionLength = submission->patch_count,
        .SubmissionFenceId = (UINT)fence,
        .NodeOrdinal = context->node,
    };
    record.status = manager->miniport->DxgkDdiPatch(manager->adapter, &patch);
    if (!NT_SUCCESS(record.status)) {
        record.code = FERRY_CRITICAL_PATCH;
        return ferry_vm_stop_critical(manager, record);
    }
    DXGKARG_SUBMITCOMMAND submit = {
        .hContext = context->miniport,
        .DmaBufferPhysicalAddress = address,
        .DmaBufferSize = context->info.DmaBufferSize,
        .DmaBufferSubmissionEndOffset = submission->bytes,
        .pDmaBufferPrivateData = job->private_data,
        .DmaBufferPrivateDataSize = context->info.DmaBufferPrivateDataSize,
        .DmaBufferPrivateDataSubmissionEndOffset = context->info.DmaBufferPrivateDataSize,
        .SubmissionFenceId = (UINT)fence,
        .NodeOrdinal = context->node,
    };
    record.status = manager->miniport->DxgkDdiSubmitCommand(manager->adapter, &submit);
    if (!NT_SUCCESS(record.status)) {
        record.code = FERRY_CRITICAL_SUBMIT;
        return ferry_vm_stop_critical(manager, record);
    }
    return FERRY_OK;
}

static void mark_used(struct ferry_vidmm *manager, const struct ferry_vidmm_submission *submission, uint32_t node,
                      uint64_t fence)
{
    manager->time++;
    for (uint32_t i = 0; i < submission->reference_count; i++) {
        int error;
        struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(manager, NULL, submission->references[i].allocation, &error);
        ferry_vm_victim_used(&allocation->use, manager->time);
        allocation->last_fence[node] = fence;
        if (!submission->references[i].write)
            continue;
        allocation->fresh = 0;
        if (ferry_vm_segment_by_id(manager, allocation->segment)->aperture)
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
        result = new_job(manager, context, &job);
    if (result != FERRY_OK)
        return result;
    struct ferry_vm_node *node = &manager->nodes[context->node];
    uint64_t fence = node->submitted + 1;
    fill_allocation_list(manager, context, submission);
    // Everything is on record before the miniport sees the job, which may finish inside the call.
    job->fence = fence;
    job->event = ++manager->event;
    job->next = NULL;
    if (node->last)
        node->last->next = job;
    else
        node->first = job;
    node->last = job;
    node->jobs++;
    node->submitted = fence;
    context->last_fence = fence;
    mark_used(manager, submission, context->node, fence);
    ferry_vm_emit(manager, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_JOB_BEGIN,
                                                      .id = job->event,
                                                      .context = context->handle,
                                                      .node = context->node,
                                                      .bytes = submission->bytes,
                                                      .value = fence});
    result = patch_and_submit(manager, context, job, submission, fence);
    if (result != FERRY_OK)
        return result;
    manager->statistics.jobs++;
    ferry_vm_drain(manager);
    *fence_out = fence;
    return manager->critical.code != FERRY_CRITICAL_NONE ? FERRY_ERROR_CRITICAL : FERRY_OK;
}

int ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE handle,
                       const struct ferry_vidmm_submission *submission, uint64_t *fence)
{
    if (!manager || !submission || !fence)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_context *context = ferry_vm_handle_find(&manager->handles, FERRY_VM_CONTEXT, handle);
        result = context ? submit(manager, context, submission, fence) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}
