// SPDX-License-Identifier: Apache-2.0
// The pager: paging operations in one line, built in order into a ring of DMA buffers, one of them open. Several
// operations go into a buffer; it is patched and submitted when it is full, when the paging node has nothing else to
// do, or when something waits for what is in it.
//
// An operation is built only when whatever it waits for is over, so an open buffer never has to be held back. What is
// answered BUSY all the same is asked for again, as idle, when something has moved.
#include <stdlib.h>
#include <string.h>

#include "vidmm/sched/sched.h"

#define BUFFERS (FERRY_VM_IN_FLIGHT + 1)

static void free_buffers(struct ferry_vm_sched *sched)
{
    const struct ferry_page_source *pages = sched->core->platform.pages;
    for (unsigned i = 0; sched->buffers && i < sched->buffer_count; i++) {
        pages->free(pages->context, sched->buffers[i].mdl);
        free(sched->buffers[i].private_data);
    }
    free(sched->buffers);
    sched->buffers = NULL;
}

int ferry_vm_paging_start(struct ferry_vm_sched *sched, const struct ferry_vidmm_options *options, uint32_t bytes,
                          uint32_t private_bytes)
{
    if (bytes == 0)
        return FERRY_ERROR_UNSUPPORTED;
    sched->buffer_bytes = bytes;
    sched->buffer_private_bytes = private_bytes;
    sched->buffer_count =
        options->paging_buffers && options->paging_buffers < BUFFERS ? options->paging_buffers : BUFFERS;
    sched->busy_limit = options->busy_limit ? options->busy_limit : 4096;
    sched->buffers = calloc(sched->buffer_count, sizeof(*sched->buffers));
    if (!sched->buffers)
        return FERRY_ERROR_NO_HOST_MEMORY;
    // All of them now: later there is nobody to whom their want could be told.
    const struct ferry_page_source *pages = sched->core->platform.pages;
    size_t count = (bytes + PAGE_SIZE - 1) / PAGE_SIZE;
    for (unsigned i = 0; i < sched->buffer_count; i++) {
        int result = pages->allocate(pages->context, count, FERRY_PAGES_CONSECUTIVE, &sched->buffers[i].mdl);
        if (result != FERRY_OK) {
            sched->buffers[i].mdl = NULL;
            return result;
        }
        if (private_bytes != 0 && !(sched->buffers[i].private_data = calloc(1, private_bytes)))
            return FERRY_ERROR_NO_HOST_MEMORY;
    }
    return FERRY_OK;
}

// ---- The line ----

static struct ferry_vm_operation *at(const struct ferry_vm_sched *sched, uint64_t number)
{
    return &sched->operations[number % sched->capacity];
}

void ferry_vm_paging_stop(struct ferry_vm_sched *sched)
{
    for (uint64_t number = sched->done + 1; number <= sched->queued; number++)
        ferry_vm_pages_free(sched->core, at(sched, number)->release);
    free_buffers(sched);
    free(sched->operations);
    sched->operations = NULL;
    sched->done = sched->built = sched->queued;
}

int ferry_vm_reserve(struct ferry_vm_sched *sched, size_t more)
{
    size_t need = (size_t)(sched->queued - sched->done) + more;
    if (need <= sched->capacity)
        return FERRY_OK;
    size_t capacity = sched->capacity ? sched->capacity : 64;
    while (capacity < need)
        capacity *= 2;
    struct ferry_vm_operation *ring = malloc(capacity * sizeof(*ring));
    if (!ring)
        return FERRY_ERROR_NO_HOST_MEMORY;
    for (uint64_t number = sched->done + 1; number <= sched->queued; number++)
        ring[number % capacity] = *at(sched, number);
    free(sched->operations);
    sched->operations = ring;
    sched->capacity = capacity;
    return FERRY_OK;
}

void ferry_vm_queue_operation(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                              struct ferry_vm_subject *subject, uint64_t bytes, unsigned flags)
{
    struct ferry_vm_operation *operation = at(sched, ++sched->queued);
    *operation = (struct ferry_vm_operation){.event = ++sched->core->event, .bytes = bytes, .argument = *argument};
    operation->argument.MultipassOffset = 0;
    operation->argument.hSystemContext = sched->system_context;
    if (!subject)
        return;
    memcpy(operation->after, subject->last_fence, sizeof(operation->after));
    operation->once = (flags & FERRY_VM_ONCE) != 0;
    if ((flags & FERRY_VM_WHEN_IDLE) == 0)
        operation->after[sched->paging_node] = 0;
    operation->allocation = subject->handle;
    subject->last_fence[sched->paging_node] = sched->queued;
}

void ferry_vm_release_later(struct ferry_vm_sched *sched, MDL *mdl)
{
    if (!mdl)
        return;
    if (sched->queued == sched->done) {
        ferry_vm_pages_free(sched->core, mdl);
        return;
    }
    *at(sched, ++sched->queued) = (struct ferry_vm_operation){.nothing = true, .release = mdl};
}

// ---- The open buffer ----

#define GUARD_BYTE  0x6B
#define GUARD_BYTES 64

// What lies in the buffer's last page behind its end: a miniport that writes there has overrun its room unseen.
static size_t guard_bytes(const struct ferry_vm_sched *sched, const struct ferry_vm_paging_buffer *buffer)
{
    size_t behind = buffer->mdl->PageCount * PAGE_SIZE - sched->buffer_bytes;
    return behind < GUARD_BYTES ? behind : GUARD_BYTES;
}

static bool guard_intact(const struct ferry_vm_sched *sched, const struct ferry_vm_paging_buffer *buffer)
{
    const uint8_t *guard = (const uint8_t *)buffer->mdl->MappedSystemVa + sched->buffer_bytes;
    for (size_t i = 0; i < guard_bytes(sched, buffer); i++)
        if (guard[i] != GUARD_BYTE)
            return false;
    return true;
}

// The open buffer; NULL while all are with the device.
static struct ferry_vm_paging_buffer *open_buffer(struct ferry_vm_sched *sched)
{
    struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
    if (sched->buffer_open)
        return buffer;
    if (buffer->fence > sched->nodes[sched->paging_node].retired)
        return NULL;
    buffer->used = buffer->private_used = 0;
    buffer->faulted = buffer->aborted = false;
    memset((uint8_t *)buffer->mdl->MappedSystemVa + sched->buffer_bytes, GUARD_BYTE, guard_bytes(sched, buffer));
    sched->buffer_open = true;
    return buffer;
}

static bool holds_something(const struct ferry_vm_sched *sched)
{
    const struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
    return sched->buffer_open && (buffer->used != 0 || buffer->private_used != 0);
}

// The paging submission in which the next bytes would go.
static uint64_t next_fence(const struct ferry_vm_sched *sched)
{
    return sched->nodes[sched->paging_node].submitted + (holds_something(sched) ? 1 : 0);
}

static int patch_and_submit(struct ferry_vm_sched *sched, struct ferry_vm_paging_buffer *buffer, uint64_t fence)
{
    PHYSICAL_ADDRESS address = {.QuadPart = (int64_t)(buffer->mdl->Pfn[0] << PAGE_SHIFT)};
    DXGKARG_PATCH patch = {
        .DmaBufferPhysicalAddress = address,
        .pDmaBuffer = buffer->mdl->MappedSystemVa,
        .DmaBufferSize = sched->buffer_bytes,
        .DmaBufferSubmissionEndOffset = buffer->used,
        .pDmaBufferPrivateData = buffer->private_data,
        .DmaBufferPrivateDataSize = sched->buffer_private_bytes,
        .DmaBufferPrivateDataSubmissionEndOffset = buffer->private_used,
        .SubmissionFenceId = (UINT)fence,
        .Flags.Paging = 1,
        .NodeOrdinal = sched->paging_node,
    };
    struct ferry_vidmm_critical record = {.node = sched->paging_node, .fence = fence, .dma_size = buffer->used};
    record.status = sched->core->miniport->DxgkDdiPatch(sched->core->adapter, &patch);
    if (!NT_SUCCESS(record.status)) {
        record.code = FERRY_CRITICAL_PATCH;
        return ferry_vm_stop_critical(sched->core, record);
    }
    DXGKARG_SUBMITCOMMAND submit = {
        .hContext = NULL,
        .DmaBufferPhysicalAddress = address,
        .DmaBufferSize = sched->buffer_bytes,
        .DmaBufferSubmissionEndOffset = buffer->used,
        .pDmaBufferPrivateData = buffer->private_data,
        .DmaBufferPrivateDataSize = sched->buffer_private_bytes,
        .DmaBufferPrivateDataSubmissionEndOffset = buffer->private_used,
        .SubmissionFenceId = (UINT)fence,
        .Flags.Paging = 1,
        .NodeOrdinal = sched->paging_node,
    };
    // The miniport may execute at once and report inside this call, so the number is out before it.
    sched->nodes[sched->paging_node].submitted = fence;
    sched->nodes[sched->paging_node].in_flight++;
    buffer->fence = fence;
    buffer->order = ++sched->order;
    record.status = sched->core->miniport->DxgkDdiSubmitCommand(sched->core->adapter, &submit);
    if (!NT_SUCCESS(record.status)) {
        record.code = FERRY_CRITICAL_SUBMIT;
        return ferry_vm_stop_critical(sched->core, record);
    }
    return FERRY_OK;
}

bool ferry_vm_flush(struct ferry_vm_sched *sched)
{
    if (sched->core->critical.code != FERRY_CRITICAL_NONE || !holds_something(sched) ||
        ferry_vm_in_flight(sched) >= FERRY_VM_IN_FLIGHT)
        return false;
    struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
    if (patch_and_submit(sched, buffer, sched->nodes[sched->paging_node].submitted + 1) != FERRY_OK)
        return false;
    sched->core->statistics.paging_buffers++;
    sched->buffer_open = false;
    sched->buffer_index = (sched->buffer_index + 1) % sched->buffer_count;
    ferry_vm_drain(sched);
    return true;
}

// ---- Building ----

static bool may_be_busy(DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    return operation == DXGK_OPERATION_TRANSFER || operation == DXGK_OPERATION_DISCARD_CONTENT ||
           operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER;
}

static void set_idle(DXGKARG_BUILDPAGINGBUFFER *argument, bool idle)
{
    if (argument->Operation == DXGK_OPERATION_DISCARD_CONTENT)
        argument->DiscardContent.Flags.AllocationIsIdle = idle;
    else if (argument->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        argument->SpecialLockTransfer.Flags.AllocationIsIdle = idle;
    else
        argument->Transfer.Flags.AllocationIsIdle = idle;
}

// Takes over what the miniport wrote; false when it left the room it was given.
static bool take_over(struct ferry_vm_paging_buffer *buffer, const DXGKARG_BUILDPAGINGBUFFER *argument, uint8_t *start,
                      uint32_t left, uint8_t *private_start, uint32_t private_left, struct ferry_vidmm_critical *record)
{
    uintptr_t at = (uintptr_t)argument->pDmaBuffer, from = (uintptr_t)start;
    record->code = FERRY_CRITICAL_DMA_OVERFLOW;
    if (at < from || at - from > left)
        return false;
    uint32_t written = (uint32_t)(at - from);
    // DmaSize may be left alone or reduced by exactly what was written (R102).
    if (argument->DmaSize != left && argument->DmaSize != left - written)
        return false;
    record->code = FERRY_CRITICAL_PRIVATE_OVERFLOW;
    uintptr_t private_at = (uintptr_t)argument->pDmaBufferPrivateData, private_from = (uintptr_t)private_start;
    if (private_at < private_from || private_at - private_from > private_left)
        return false;
    record->code = FERRY_CRITICAL_NONE;
    buffer->used += written;
    buffer->private_used += (uint32_t)(private_at - private_from);
    return true;
}

enum outcome { BUILT, WENT_OUT, NO_ROOM, PARKED, STOPPED };

static enum outcome stop(struct ferry_vm_sched *sched, struct ferry_vidmm_critical record,
                         enum ferry_vidmm_critical_code code)
{
    record.code = code;
    ferry_vm_stop_critical(sched->core, record);
    return STOPPED;
}

// One call of BuildPagingBuffer. WENT_OUT: there is more of the operation, and its buffer is submitted.
static enum outcome build_pass(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation)
{
    struct ferry_vm_paging_buffer *buffer = open_buffer(sched);
    if (!buffer)
        return NO_ROOM;
    DXGKARG_BUILDPAGINGBUFFER *argument = &operation->argument;
    uint8_t *start = (uint8_t *)buffer->mdl->MappedSystemVa + buffer->used;
    uint8_t *private_start = buffer->private_data ? (uint8_t *)buffer->private_data + buffer->private_used : NULL;
    uint32_t left = sched->buffer_bytes - buffer->used;
    uint32_t private_left = sched->buffer_private_bytes - buffer->private_used;
    uint32_t used_before = buffer->used, private_before = buffer->private_used;
    uint32_t multipass = argument->MultipassOffset;
    argument->pDmaBuffer = start;
    argument->DmaSize = left;
    argument->pDmaBufferPrivateData = private_start;
    argument->DmaBufferPrivateDataSize = private_left;
    argument->DmaBufferWriteOffset = buffer->used;
    struct ferry_vidmm_critical record = {.operation = (uint32_t)argument->Operation,
                                          .node = sched->paging_node,
                                          .allocation = operation->allocation,
                                          .dma_size = left};
    record.status = sched->core->miniport->DxgkDdiBuildPagingBuffer(sched->core->adapter, argument);
    record.multipass_offset = argument->MultipassOffset;
    if (record.status == STATUS_GRAPHICS_ALLOCATION_BUSY && may_be_busy(argument->Operation)) {
        // Nothing of it counts as started (R5); what it may have written is written over.
        sched->core->statistics.busy_answers++;
        argument->MultipassOffset = multipass;
        set_idle(argument, true);
        // Asked for again when everything before it is done, and so it is idle for certain.
        operation->after[sched->paging_node] = sched->built;
        return ++operation->busy > sched->busy_limit ? stop(sched, record, FERRY_CRITICAL_NOT_IDLE) : PARKED;
    }
    if (!guard_intact(sched, buffer))
        return stop(sched, record, FERRY_CRITICAL_DMA_OVERFLOW);
    if (record.status != STATUS_SUCCESS && record.status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        return stop(sched, record, FERRY_CRITICAL_BAD_STATUS);
    if (!take_over(buffer, argument, start, left, private_start, private_left, &record))
        return stop(sched, record, record.code);
    bool wrote = buffer->used != used_before || buffer->private_used != private_before;
    operation->begun = true;
    if (wrote && operation->first_fence == 0)
        operation->first_fence = sched->nodes[sched->paging_node].submitted + 1;
    if (record.status == STATUS_SUCCESS)
        return BUILT;
    sched->core->statistics.insufficient_answers++;
    bool was_empty = used_before == 0 && private_before == 0;
    if (was_empty && !wrote && argument->MultipassOffset == multipass)
        return stop(sched, record, FERRY_CRITICAL_NO_PROGRESS);
    return ferry_vm_flush(sched) ? WENT_OUT : sched->core->critical.code != FERRY_CRITICAL_NONE ? STOPPED : NO_ROOM;
}

struct span {
    UINT segment;
    uint64_t first, bytes;
};

static struct span read_by(const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *transfer = &argument->Transfer;
    if (argument->Operation != DXGK_OPERATION_TRANSFER || transfer->Source.SegmentId == 0)
        return (struct span){0};
    return (struct span){transfer->Source.SegmentId,
                         (uint64_t)transfer->Source.SegmentAddress.QuadPart + transfer->TransferOffset,
                         transfer->TransferSize};
}

static struct span written_by(const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *transfer = &argument->Transfer;
    const DXGK_BUILDPAGINGBUFFER_FILL *fill = &argument->Fill;
    if (argument->Operation == DXGK_OPERATION_FILL)
        return (struct span){fill->Destination.SegmentId, (uint64_t)fill->Destination.SegmentAddress.QuadPart,
                             fill->FillSize};
    if (argument->Operation != DXGK_OPERATION_TRANSFER || transfer->Destination.SegmentId == 0)
        return (struct span){0};
    return (struct span){transfer->Destination.SegmentId,
                         (uint64_t)transfer->Destination.SegmentAddress.QuadPart + transfer->TransferOffset,
                         transfer->TransferSize};
}

// Writes it what an operation in the open buffer reads? A buffer that is aborted half-way is executed again from its
// start, so what is read in it must still be there.
static bool spoils_a_source(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *operation)
{
    struct span to = written_by(&operation->argument);
    if (to.segment == 0 || !holds_something(sched))
        return false;
    uint64_t open = sched->nodes[sched->paging_node].submitted + 1;
    for (uint64_t number = sched->built; number > sched->done && at(sched, number)->fence == open; number--) {
        struct span from = read_by(&at(sched, number)->argument);
        if (from.segment == to.segment && from.first < to.first + to.bytes && to.first < from.first + from.bytes)
            return true;
    }
    return false;
}

static enum outcome build(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation)
{
    enum outcome outcome = BUILT;
    if (!operation->nothing) {
        if (!operation->begun && spoils_a_source(sched, operation) && !ferry_vm_flush(sched))
            return sched->core->critical.code != FERRY_CRITICAL_NONE ? STOPPED : NO_ROOM;
        // A full buffer that found the device full before: it goes first.
        struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
        if (operation->begun && holds_something(sched) && !ferry_vm_flush(sched) && buffer->used != 0)
            return sched->core->critical.code != FERRY_CRITICAL_NONE ? STOPPED : NO_ROOM;
        do
            outcome = build_pass(sched, operation);
        while (outcome == WENT_OUT);
    }
    if (outcome != BUILT)
        return outcome;
    operation->fence = next_fence(sched);
    if (!operation->nothing)
        ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_PAGING_BEGIN,
                                                              .id = operation->event,
                                                              .allocation = operation->allocation,
                                                              .operation = (uint32_t)operation->argument.Operation,
                                                              .node = sched->paging_node,
                                                              .bytes = operation->bytes});
    return BUILT;
}

static bool may_start(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *operation)
{
    for (unsigned i = 0; i < sched->node_count; i++)
        if (!ferry_vm_reached(sched, i, operation->after[i]))
            return false;
    return true;
}

// Somebody waits for what lies in the open buffer: a job at the head of its line.
static bool wanted(const struct ferry_vm_sched *sched)
{
    for (unsigned i = 0; i < sched->node_count; i++) {
        const struct ferry_vm_job *job = sched->nodes[i].unsent;
        if (job && job->after_operation > sched->done)
            return true;
    }
    return false;
}

bool ferry_vm_pump_paging(struct ferry_vm_sched *sched)
{
    bool moved = false, blocked = false;
    sched->parked = false;
    while (sched->built < sched->queued && !blocked && sched->core->critical.code == FERRY_CRITICAL_NONE) {
        struct ferry_vm_operation *operation = at(sched, sched->built + 1);
        enum outcome outcome = NO_ROOM;
        blocked = !may_start(sched, operation);
        if (!blocked)
            outcome = build(sched, operation);
        // Inside build() a buffer may have gone out and been executed, but none that holds this operation's end.
        if (outcome == BUILT)
            sched->built++, moved = true;
        else if (outcome == PARKED)
            blocked = sched->parked = true;
        else if (!blocked)
            return moved;
    }
    // An operation without a byte is done with what lies before it.
    ferry_vm_paging_retired(sched);
    const struct ferry_vm_node *node = &sched->nodes[sched->paging_node];
    if (blocked || node->in_flight == 0 || wanted(sched))
        moved |= ferry_vm_flush(sched);
    return moved;
}

// ---- What has run ----

static void end_operation(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation)
{
    sched->progress++;
    ferry_vm_pages_free(sched->core, operation->release);
    operation->release = NULL;
    if (operation->nothing)
        return;
    sched->core->statistics.operations[operation->argument.Operation]++;
    ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_PAGING_END,
                                                          .id = operation->event,
                                                          .allocation = operation->allocation,
                                                          .operation = (uint32_t)operation->argument.Operation,
                                                          .node = sched->paging_node,
                                                          .bytes = operation->bytes});
}

static void content_lost(struct ferry_vm_sched *sched, uint64_t fence)
{
    sched->core->statistics.faulted_paging_buffers++;
    for (uint64_t number = sched->done + 1; number <= sched->queued; number++) {
        const struct ferry_vm_operation *operation = at(sched, number);
        bool part = operation->first_fence != 0 && operation->first_fence <= fence;
        if (part && (operation->fence >= fence || operation->fence == 0) && operation->allocation)
            sched->content_lost(sched->content_lost_context, operation->allocation);
    }
}

// Everything that was built and is not done is built again: what stands in the open buffer comes after what was
// aborted, so it goes too.
static void rebuild(struct ferry_vm_sched *sched)
{
    uint64_t submitted = sched->nodes[sched->paging_node].submitted;
    for (uint64_t number = sched->done + 1; number <= sched->queued && number <= sched->built + 1; number++) {
        struct ferry_vm_operation *operation = at(sched, number);
        bool went_out = operation->first_fence != 0 && operation->first_fence <= submitted;
        if (went_out && operation->once)
            sched->content_lost(sched->content_lost_context, operation->allocation);
        operation->first_fence = operation->fence = 0;
        operation->begun = false;
        operation->argument.MultipassOffset = 0;
        if (may_be_busy(operation->argument.Operation))
            set_idle(&operation->argument, false);
    }
    sched->built = sched->done;
    sched->buffer_open = false;
}

void ferry_vm_paging_retired(struct ferry_vm_sched *sched)
{
    struct ferry_vm_node *node = &sched->nodes[sched->paging_node];
    uint64_t first_aborted = UINT64_MAX;
    node->in_flight -= (unsigned)(node->reported - node->retired);
    for (uint64_t fence = node->retired + 1; fence <= node->reported; fence++) {
        for (unsigned i = 0; i < sched->buffer_count; i++) {
            struct ferry_vm_paging_buffer *buffer = &sched->buffers[i];
            if (buffer->fence != fence)
                continue;
            // What runs behind an aborted buffer runs in the wrong order: nothing can be made good any more then.
            bool again = buffer->aborted && node->submitted == node->reported;
            if (again && first_aborted == UINT64_MAX)
                first_aborted = fence;
            if (buffer->faulted || (buffer->aborted && !again))
                content_lost(sched, fence);
        }
    }
    node->retired = node->reported;
    uint64_t over = first_aborted <= node->retired ? first_aborted - 1 : node->retired;
    while (sched->done < sched->built && at(sched, sched->done + 1)->fence <= over)
        end_operation(sched, at(sched, ++sched->done));
    node->completed = sched->done;
    if (first_aborted != UINT64_MAX)
        rebuild(sched);
    ferry_vm_queues_signal(sched);
}
