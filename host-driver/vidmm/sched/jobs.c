// SPDX-License-Identifier: Apache-2.0
// Contexts and the jobs in flight on them.
#include <stdlib.h>
#include <string.h>

#include "vidmm/sched/sched.h"

#define JOBS_IN_FLIGHT 32 // per node; the next one waits for the oldest
#define SPARES         8  // DMA buffers a context keeps for its next jobs

int ferry_vm_context_new(struct ferry_vm_sched *sched, struct ferry_vm_device *device, uint32_t node,
                         D3DKMT_HANDLE *handle, DXGK_CONTEXTINFO *info)
{
    if (node == FERRY_VIDMM_ANY_NODE) {
        do
            node = sched->next_node++ % sched->node_count;
        while (node == sched->paging_node);
    }
    if (node >= sched->node_count || node == sched->paging_node)
        return FERRY_ERROR_UNSUPPORTED;
    struct ferry_vm_context *context = calloc(1, sizeof(*context));
    if (!context)
        return FERRY_ERROR_NO_HOST_MEMORY;
    context->handle = ferry_vm_handle_new(&sched->core->handles, FERRY_VM_CONTEXT, context);
    if (context->handle == 0) {
        free(context);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    DXGKARG_CREATECONTEXT argument = {
        .hContext = (HANDLE)(uintptr_t)context->handle, .NodeOrdinal = node, .EngineAffinity = 1};
    NTSTATUS status = sched->core->miniport->DxgkDdiCreateContext(device->miniport, &argument);
    int result = NT_SUCCESS(status) ? FERRY_OK : ferry_vm_error_of_status(status);
    if (result == FERRY_OK) {
        size_t entries = argument.ContextInfo.AllocationListSize ? argument.ContextInfo.AllocationListSize : 1;
        context->allocation_list = calloc(entries, sizeof(*context->allocation_list));
        context->spares = calloc(SPARES, sizeof(*context->spares));
        if (!context->allocation_list || !context->spares) {
            result = FERRY_ERROR_NO_HOST_MEMORY;
            sched->core->miniport->DxgkDdiDestroyContext(argument.hContext);
        }
    }
    if (result != FERRY_OK) {
        ferry_vm_handle_free(&sched->core->handles, context->handle);
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

static void free_job_memory(struct ferry_vm_sched *sched, struct ferry_vm_job *job)
{
    if (job->buffer)
        sched->core->platform.pages->free(sched->core->platform.pages->context, job->buffer);
    free(job->private_data);
    free(job);
}

int ferry_vm_context_free(struct ferry_vm_sched *sched, struct ferry_vm_context *context)
{
    int result = ferry_vm_wait(sched, context->node, context->last_fence);
    if (result != FERRY_OK && result != FERRY_ERROR_CRITICAL)
        return result;
    if (result == FERRY_ERROR_CRITICAL)
        ferry_vm_jobs_completed(sched, context->node, UINT64_MAX);
    sched->core->miniport->DxgkDdiDestroyContext(context->miniport);
    for (unsigned i = 0; i < context->spare_count; i++)
        free_job_memory(sched, context->spares[i]);
    ferry_vm_handle_free(&sched->core->handles, context->handle);
    ferry_vm_list_remove(&context->link);
    free(context->spares);
    free(context->allocation_list);
    free(context->faulted);
    free(context);
    return FERRY_OK;
}

static void note_fault(struct ferry_vm_sched *sched, struct ferry_vm_context *context, uint64_t fence)
{
    sched->core->statistics.faulted_jobs++;
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

void ferry_vm_jobs_completed(struct ferry_vm_sched *sched, unsigned number, uint64_t completed)
{
    struct ferry_vm_node *node = &sched->nodes[number];
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
            note_fault(sched, context, job->fence);
        ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_JOB_END,
                                                              .id = job->event,
                                                              .context = context->handle,
                                                              .node = number,
                                                              .value = job->fence,
                                                              .status = status});
        if (context->spare_count < SPARES)
            context->spares[context->spare_count++] = job;
        else
            free_job_memory(sched, job);
    }
}

bool ferry_vm_job_faulted(const struct ferry_vm_context *context, uint64_t fence)
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

int ferry_vm_job_new(struct ferry_vm_sched *sched, struct ferry_vm_context *context, struct ferry_vm_job **job)
{
    struct ferry_vm_node *node = &sched->nodes[context->node];
    if (node->jobs >= JOBS_IN_FLIGHT) {
        int result = ferry_vm_wait(sched, context->node, node->first->fence);
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
    const struct ferry_page_source *pages = sched->core->platform.pages;
    size_t count = (context->info.DmaBufferSize + PAGE_SIZE - 1) / PAGE_SIZE;
    int result = pages->allocate(pages->context, count, FERRY_PAGES_CONSECUTIVE, &fresh->buffer);
    if (result == FERRY_OK && context->info.DmaBufferPrivateDataSize != 0) {
        fresh->private_data = calloc(1, context->info.DmaBufferPrivateDataSize);
        if (!fresh->private_data)
            result = FERRY_ERROR_NO_HOST_MEMORY;
    }
    if (result != FERRY_OK) {
        free_job_memory(sched, fresh);
        return result;
    }
    fresh->context = context;
    *job = fresh;
    return FERRY_OK;
}

static int patch_and_submit(struct ferry_vm_sched *sched, struct ferry_vm_context *context, struct ferry_vm_job *job,
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
    record.status = sched->core->miniport->DxgkDdiPatch(sched->core->adapter, &patch);
    if (!NT_SUCCESS(record.status)) {
        record.code = FERRY_CRITICAL_PATCH;
        return ferry_vm_stop_critical(sched->core, record);
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
    record.status = sched->core->miniport->DxgkDdiSubmitCommand(sched->core->adapter, &submit);
    if (!NT_SUCCESS(record.status)) {
        record.code = FERRY_CRITICAL_SUBMIT;
        return ferry_vm_stop_critical(sched->core, record);
    }
    return FERRY_OK;
}

int ferry_vm_job_send(struct ferry_vm_sched *sched, struct ferry_vm_job *job,
                      const struct ferry_vidmm_submission *submission)
{
    struct ferry_vm_context *context = job->context;
    struct ferry_vm_node *node = &sched->nodes[context->node];
    // Everything is on record before the miniport sees the job, which may finish inside the call.
    job->fence = node->submitted + 1;
    job->event = ++sched->core->event;
    job->next = NULL;
    if (node->last)
        node->last->next = job;
    else
        node->first = job;
    node->last = job;
    node->jobs++;
    node->submitted = job->fence;
    context->last_fence = job->fence;
    ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_JOB_BEGIN,
                                                          .id = job->event,
                                                          .context = context->handle,
                                                          .node = context->node,
                                                          .bytes = submission->bytes,
                                                          .value = job->fence});
    int result = patch_and_submit(sched, context, job, submission, job->fence);
    if (result != FERRY_OK)
        return result;
    sched->core->statistics.jobs++;
    ferry_vm_drain(sched);
    return FERRY_OK;
}
