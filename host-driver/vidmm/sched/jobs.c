// SPDX-License-Identifier: Apache-2.0
// Contexts and their jobs: queued, handed to the node when nothing has to be waited for, ended.
#include <stdlib.h>
#include <string.h>

#include "vidmm/sched/awaited.h"
#include "vidmm/sched/sched.h"

#define JOBS_QUEUED    64 // in a node's line; the next one waits for the oldest
#define GPU_TIME_SCALE FERRY_VIDMM_MAX_WEIGHT
#define SPARES         8 // DMA buffers a context keeps for its next jobs

// ---- Contexts ----

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
    struct ferry_vm_job **spares = calloc(SPARES, sizeof(*spares));
    if (context && spares)
        context->handle = ferry_vm_handle_new(&sched->core->handles, FERRY_VM_CONTEXT, context);
    if (!context || !spares || context->handle == 0) {
        free(context);
        free(spares);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    DXGKARG_CREATECONTEXT argument = {
        .hContext = (HANDLE)(uintptr_t)context->handle, .NodeOrdinal = node, .EngineAffinity = 1};
    NTSTATUS status = sched->core->miniport->DxgkDdiCreateContext(device->miniport, &argument);
    int result = NT_SUCCESS(status) ? FERRY_OK : ferry_vm_error_of_status(status);
    // Jobs' buffers are in system memory, as the paging buffers are (segments.c).
    if (result == FERRY_OK && argument.ContextInfo.DmaBufferSegmentSet != 0) {
        sched->core->miniport->DxgkDdiDestroyContext(argument.hContext);
        result = FERRY_ERROR_UNSUPPORTED;
    }
    if (result != FERRY_OK) {
        ferry_vm_handle_free(&sched->core->handles, context->handle);
        free(spares);
        free(context);
        return result;
    }
    context->spares = spares;
    context->miniport = argument.hContext;
    context->device = device;
    context->node = node;
    context->info = argument.ContextInfo;
    ferry_vm_list_add(&device->contexts, &context->link);
    ferry_vm_list_init(&context->busy);
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
    free(job->copy);
    free(job);
}

void ferry_vm_context_free(struct ferry_vm_sched *sched, struct ferry_vm_context *context)
{
    // After a critical stop jobs may be left that nobody will end.
    struct ferry_vm_node *node = &sched->nodes[context->node];
    struct ferry_vm_job **link = &node->first;
    node->last = NULL;
    while (*link) {
        struct ferry_vm_job *job = *link;
        if (job->context != context) {
            node->last = job;
            link = &job->next;
            continue;
        }
        *link = job->next;
        if (node->unsent == job)
            node->unsent = job->next;
        node->jobs--;
        free_job_memory(sched, job);
    }
    sched->core->miniport->DxgkDdiDestroyContext(context->miniport);
    for (unsigned i = 0; i < context->spare_count; i++)
        free_job_memory(sched, context->spares[i]);
    ferry_vm_handle_free(&sched->core->handles, context->handle);
    ferry_vm_list_remove(&context->link);
    ferry_vm_list_remove(&context->busy);
    free(context->spares);
    ferry_vm_awaited_free(&context->behind);
    free(context);
}

// ---- Making ----

bool ferry_vm_jobs_full(const struct ferry_vm_sched *sched, unsigned node)
{
    return sched->nodes[node].jobs >= JOBS_QUEUED;
}

void ferry_vm_job_drop(struct ferry_vm_sched *sched, struct ferry_vm_job *job)
{
    struct ferry_vm_context *context = job->context;
    if (context->spare_count < SPARES)
        context->spares[context->spare_count++] = job;
    else
        free_job_memory(sched, job);
}

static int fresh_job(struct ferry_vm_sched *sched, struct ferry_vm_context *context, struct ferry_vm_job **job)
{
    struct ferry_vm_job *fresh = calloc(1, sizeof(*fresh));
    if (!fresh)
        return FERRY_ERROR_NO_HOST_MEMORY;
    const struct ferry_page_source *pages = sched->core->platform.pages;
    size_t count = (context->info.DmaBufferSize + PAGE_SIZE - 1) / PAGE_SIZE;
    int result = pages->allocate(pages->context, count, FERRY_PAGES_CONSECUTIVE, &fresh->buffer);
    if (result != FERRY_OK)
        fresh->buffer = NULL;
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

// The program's commands and lists, one behind the other in one piece of memory.
static bool keep_copy(struct ferry_vm_job *job, const struct ferry_vidmm_submission *submission, size_t more)
{
    size_t lists = submission->reference_count * sizeof(*job->allocations);
    size_t patches = submission->patch_count * sizeof(*job->patches);
    more += 2 * (size_t)submission->reference_count + job->context->behind.count;
    size_t after = more * sizeof(*job->after);
    size_t need = lists + after + patches + submission->bytes;
    if (need > job->copy_bytes) {
        void *copy = malloc(need);
        if (!copy)
            return false;
        free(job->copy);
        job->copy = copy;
        job->copy_bytes = need;
    }
    job->allocations = job->copy;
    job->after = (void *)((uint8_t *)job->copy + lists);
    job->patches = (void *)((uint8_t *)job->copy + lists + after);
    uint8_t *commands = (uint8_t *)job->copy + lists + after + patches;
    if (patches)
        memcpy(job->patches, submission->patches, patches);
    memcpy(commands, submission->commands, submission->bytes);
    job->commands = commands;
    job->bytes = submission->bytes;
    job->allocation_count = submission->reference_count;
    job->patch_count = submission->patch_count;
    return true;
}

int ferry_vm_job_new(struct ferry_vm_sched *sched, struct ferry_vm_context *context,
                     const struct ferry_vidmm_submission *submission, size_t more, struct ferry_vm_job **out)
{
    struct ferry_vm_job *job;
    if (context->spare_count > 0) {
        job = context->spares[--context->spare_count];
    } else {
        int result = fresh_job(sched, context, &job);
        if (result != FERRY_OK)
            return result;
    }
    if (!keep_copy(job, submission, more)) {
        ferry_vm_job_drop(sched, job);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    job->status = STATUS_SUCCESS;
    job->aborted = job->done = job->counted = job->suspect = false;
    job->wire = 0;
    job->after_count = 0;
    job->next = NULL;
    *out = job;
    return FERRY_OK;
}

static void note_number(struct ferry_vm_context *context, uint64_t fence)
{
    struct ferry_vm_run_of_jobs *newest = &context->runs[(context->run_count + FERRY_VM_RUNS - 1) % FERRY_VM_RUNS];
    if (context->run_count > 0 && newest->last + 1 == fence)
        newest->last = fence;
    else
        context->runs[context->run_count++ % FERRY_VM_RUNS] = (struct ferry_vm_run_of_jobs){fence, fence};
}

bool ferry_vm_job_is_of(const struct ferry_vm_context *context, uint64_t fence)
{
    // The runs from low on have a last number that is not below the fence.
    size_t low = context->run_count > FERRY_VM_RUNS ? context->run_count - FERRY_VM_RUNS : 0, high = context->run_count;
    bool forgotten = low > 0 && fence < context->runs[low % FERRY_VM_RUNS].first;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (context->runs[middle % FERRY_VM_RUNS].last < fence)
            low = middle + 1;
        else
            high = middle;
    }
    return forgotten || (low < context->run_count && context->runs[low % FERRY_VM_RUNS].first <= fence);
}

void ferry_vm_job_queue(struct ferry_vm_sched *sched, struct ferry_vm_job *job, uint32_t behind)
{
    struct ferry_vm_context *context = job->context;
    struct ferry_vm_node *node = &sched->nodes[context->node];
    job->fence = ++node->queued;
    job->last = job->fence + behind;
    job->event = ++sched->core->event;
    if (node->last)
        node->last->next = job;
    else
        node->first = job;
    node->last = job;
    if (!node->unsent)
        node->unsent = job;
    node->jobs++;
    if (context->jobs++ == 0)
        ferry_vm_list_add(&context->device->busy, &context->busy);
    context->last_fence = job->fence;
    note_number(context, job->fence);
}

// ---- Completion ----

// A fault of one buffer is the whole job's, once.
static void note_fault(struct ferry_vm_sched *sched, const struct ferry_vm_job *job)
{
    struct ferry_vm_context *context = job->context;
    if (context->faulted_count > 0 && context->faulted[(context->faulted_count - 1) % FERRY_VM_FAULTS] == job->last)
        return;
    context->faulted[context->faulted_count++ % FERRY_VM_FAULTS] = job->last;
    sched->core->statistics.faulted_jobs++;
}

// The engine works on one job at a time, so the time since another one ended, of whatever node, is this one's. For
// turns it counts while somebody waits for one: what nobody else wanted is not held against who used it.
static void count_for_program(struct ferry_vm_sched *sched, struct ferry_vm_job *job)
{
    struct ferry_vm_process *process = job->context->device->process;
    uint64_t now = sched->core->platform.gpu_time(sched->core->platform.context);
    uint64_t since = job->began > sched->last_job_end ? job->began : sched->last_job_end;
    if (!ferry_vm_list_empty(sched->waiting_for_turns))
        process->gpu_used += (now - since) * GPU_TIME_SCALE / process->weight;
    process->statistics.gpu_cycles += now - since;
    process->statistics.last_job = now;
    sched->last_job_end = now;
    job->counted = true;
}

void ferry_vm_jobs_reported(struct ferry_vm_sched *sched, unsigned number)
{
    const struct ferry_vm_node *node = &sched->nodes[number];
    for (struct ferry_vm_job *job = node->first; job != node->unsent && job->wire <= node->reported; job = job->next)
        if (!job->counted && !job->aborted)
            count_for_program(sched, job);
}

// The job at the head of the line is over.
static void end_first(struct ferry_vm_sched *sched, unsigned number)
{
    struct ferry_vm_node *node = &sched->nodes[number];
    struct ferry_vm_job *job = node->first;
    struct ferry_vm_context *context = job->context;
    node->first = job->next;
    if (!node->first)
        node->last = NULL;
    node->jobs--;
    if (!NT_SUCCESS(job->status))
        note_fault(sched, job);
    sched->progress++;
    // Reported by nobody, but ended by a reset; what never ran has used nothing.
    if (job->wire != 0 && !job->counted)
        count_for_program(sched, job);
    context->device->process->statistics.jobs += job->fence == job->last;
    node->completed = job->fence;
    if (--context->jobs == 0)
        ferry_vm_list_remove(&context->busy);
    ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_JOB_END,
                                                          .id = job->event,
                                                          .context = context->handle,
                                                          .process = context->device->process->handle,
                                                          .node = number,
                                                          .value = job->fence,
                                                          .status = job->status});
    ferry_vm_job_drop(sched, job);
}

// From this job on the line goes out again, but for who has come to its end: the fault before it was no reset's doing
// then, or waited for memory that it did without.
static void send_again(struct ferry_vm_node *node, struct ferry_vm_job *from)
{
    for (struct ferry_vm_job *job = from; job != node->unsent; job = job->next) {
        job->done |= !job->aborted && NT_SUCCESS(job->status);
        job->status = STATUS_SUCCESS;
        job->aborted = false;
    }
    node->unsent = from;
}

void ferry_vm_jobs_retired(struct ferry_vm_sched *sched, unsigned number)
{
    struct ferry_vm_node *node = &sched->nodes[number];
    node->in_flight -= (unsigned)(node->reported - node->retired);
    node->retired = node->reported;
    while (node->first && node->first != node->unsent && node->first->wire <= node->retired) {
        struct ferry_vm_job *job = node->first;
        if (job->aborted) {
            if (node->submitted == node->reported) {
                send_again(node, job);
                return;
            }
            // What still stands behind it in the device's ring runs first: the order cannot be kept any more.
            job->status = STATUS_IO_TIMEOUT;
        }
        end_first(sched, number);
    }
}

// ---- To the miniport ----

static int patch_and_submit(struct ferry_vm_sched *sched, struct ferry_vm_job *job, bool again)
{
    const struct ferry_vm_context *context = job->context;
    PHYSICAL_ADDRESS address = {.QuadPart = (int64_t)(job->buffer->Pfn[0] << PAGE_SHIFT)};
    struct ferry_vidmm_critical record = {.node = context->node, .fence = job->wire, .dma_size = job->bytes};
    memcpy(job->buffer->MappedSystemVa, job->commands, job->bytes);
    DXGKARG_PATCH patch = {
        .hContext = context->miniport,
        .DmaBufferPhysicalAddress = address,
        .pDmaBuffer = job->buffer->MappedSystemVa,
        .DmaBufferSize = context->info.DmaBufferSize,
        .DmaBufferSubmissionEndOffset = job->bytes,
        .pDmaBufferPrivateData = job->private_data,
        .DmaBufferPrivateDataSize = context->info.DmaBufferPrivateDataSize,
        .DmaBufferPrivateDataSubmissionEndOffset = context->info.DmaBufferPrivateDataSize,
        .pAllocationList = job->allocations,
        .AllocationListSize = job->allocation_count,
        .pPatchLocationList = job->patches,
        .PatchLocationListSize = job->patch_count,
        .PatchLocationListSubmissionLength = job->patch_count,
        .SubmissionFenceId = (UINT)job->wire,
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
        .DmaBufferSubmissionEndOffset = job->bytes,
        .pDmaBufferPrivateData = job->private_data,
        .DmaBufferPrivateDataSize = context->info.DmaBufferPrivateDataSize,
        .DmaBufferPrivateDataSubmissionEndOffset = context->info.DmaBufferPrivateDataSize,
        .SubmissionFenceId = (UINT)job->wire,
        // The private data is as the miniport left it; what was done of the buffer it knows, and goes on behind it.
        .Flags = {.Resubmission = again},
        .NodeOrdinal = context->node,
    };
    record.status = sched->core->miniport->DxgkDdiSubmitCommand(sched->core->adapter, &submit);
    if (!NT_SUCCESS(record.status)) {
        record.code = FERRY_CRITICAL_SUBMIT;
        return ferry_vm_stop_critical(sched->core, record);
    }
    return FERRY_OK;
}

// What hung the last time may be any of the suspects, so they are with the device one by one, and nobody with them.
static bool has_to_be_alone(const struct ferry_vm_sched *sched, const struct ferry_vm_job *job)
{
    bool suspects = job->suspect;
    for (unsigned i = 0; i < sched->node_count; i++)
        for (const struct ferry_vm_job *out = sched->nodes[i].first; out && out != sched->nodes[i].unsent;
             out = out->next)
            suspects |= out->suspect;
    return suspects;
}

// The next paging buffer behind that hang, if there is any with the device, ends before a suspect is there again.
static bool paging_goes_first(const struct ferry_vm_sched *sched)
{
    const struct ferry_vm_node *paging = &sched->nodes[sched->paging_node];
    return paging->in_flight > 0 && paging->retired <= sched->suspected_at;
}

static bool may_go(const struct ferry_vm_sched *sched, struct ferry_vm_job *job)
{
    while (job->after_count > 0 && ferry_vm_operation_over(sched, job->after[job->after_count - 1]))
        job->after_count--;
    unsigned users = ferry_vm_in_flight(sched) - sched->nodes[sched->paging_node].in_flight;
    if ((users > 0 && has_to_be_alone(sched, job)) || (job->suspect && paging_goes_first(sched)))
        return false;
    return job->after_count == 0 && users + 1 < FERRY_VM_IN_FLIGHT && ferry_vm_in_flight(sched) < FERRY_VM_IN_FLIGHT;
}

// It ends in its turn, without running.
static bool end_unrun(struct ferry_vm_sched *sched, unsigned number, NTSTATUS status)
{
    struct ferry_vm_node *node = &sched->nodes[number];
    struct ferry_vm_job *job = node->unsent;
    if (job != node->first)
        return false;
    job->status = status;
    node->unsent = job->next;
    end_first(sched, number);
    return true;
}

static bool send_next(struct ferry_vm_sched *sched, unsigned number)
{
    struct ferry_vm_node *node = &sched->nodes[number];
    struct ferry_vm_job *job = node->unsent;
    if (job && job->done)
        return end_unrun(sched, number, STATUS_SUCCESS);
    if (!job || !may_go(sched, job))
        return false;
    // Its paging has faulted, so what the job would work on is not there.
    if (job->context->device->state == D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT)
        return end_unrun(sched, number, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
    // Everything is on record before the miniport sees the job, which may finish inside the call.
    bool again = job->wire != 0;
    job->began = sched->core->platform.gpu_time(sched->core->platform.context);
    if (job->context->device->turn_start == 0)
        job->context->device->turn_start = job->began + 1;
    job->wire = ++node->submitted;
    job->order = ++sched->order;
    node->unsent = job->next;
    node->in_flight++;
    if (!again)
        ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_JOB_BEGIN,
                                                              .id = job->event,
                                                              .context = job->context->handle,
                                                              .process = job->context->device->process->handle,
                                                              .node = number,
                                                              .bytes = job->bytes,
                                                              .value = job->fence});
    if (patch_and_submit(sched, job, again) != FERRY_OK)
        return false;
    sched->core->statistics.jobs += !again;
    ferry_vm_drain(sched);
    return true;
}

// The node whose next job was queued first, of those that have not been tried.
static bool oldest_unsent(const struct ferry_vm_sched *sched, unsigned tried, unsigned *node)
{
    const struct ferry_vm_job *oldest = NULL;
    for (unsigned i = 0; i < sched->node_count; i++) {
        const struct ferry_vm_job *job = sched->nodes[i].unsent;
        if (i == sched->paging_node || (tried & 1u << i) != 0 || !job || (oldest && job->event > oldest->event))
            continue;
        oldest = job;
        *node = i;
    }
    return oldest != NULL;
}

// In the order in which they were queued, as far as nothing keeps them back: a line that is never empty keeps nobody on
// another node from the device.
bool ferry_vm_pump_jobs(struct ferry_vm_sched *sched)
{
    bool moved = false;
    unsigned tried = 0, node = 0;
    while (sched->core->critical.code == FERRY_CRITICAL_NONE && oldest_unsent(sched, tried, &node)) {
        bool sent = send_next(sched, node);
        tried = sent ? 0 : tried | 1u << node;
        moved |= sent;
    }
    return moved;
}
