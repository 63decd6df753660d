// SPDX-License-Identifier: Apache-2.0
// Paging buffers: a ring of DMA buffers, one of them open. Operations are built into the open one, several after each
// other; it is patched and submitted when it is full or when somebody needs its work done. One submission a buffer.
#include <stdlib.h>
#include <string.h>

#include "vidmm/sched/sched.h"

int ferry_vm_paging_start(struct ferry_vm_sched *sched, const struct ferry_vidmm_options *options, uint32_t bytes,
                          uint32_t private_bytes)
{
    if (bytes == 0)
        return FERRY_ERROR_UNSUPPORTED;
    sched->buffer_bytes = bytes;
    sched->buffer_private_bytes = private_bytes;
    sched->buffer_count = options->paging_buffers ? options->paging_buffers : 16;
    sched->busy_limit = options->busy_limit ? options->busy_limit : 4096;
    sched->buffers = calloc(sched->buffer_count, sizeof(*sched->buffers));
    return sched->buffers ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
}

void ferry_vm_paging_stop(struct ferry_vm_sched *sched)
{
    const struct ferry_page_source *pages = sched->core->platform.pages;
    for (size_t i = 0; i < sched->operation_count; i++) {
        size_t at = (sched->operation_first + i) % sched->operation_capacity;
        pages->free(pages->context, sched->operations[at].release);
    }
    for (unsigned i = 0; sched->buffers && i < sched->buffer_count; i++) {
        pages->free(pages->context, sched->buffers[i].mdl);
        free(sched->buffers[i].private_data);
        free(sched->buffers[i].touched);
    }
    free(sched->buffers);
    free(sched->operations);
    sched->buffers = NULL;
    sched->operations = NULL;
    sched->operation_count = 0;
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

static int open_buffer(struct ferry_vm_sched *sched, struct ferry_vm_paging_buffer **open)
{
    struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
    *open = buffer;
    if (sched->buffer_open)
        return FERRY_OK;
    if (!buffer->mdl) {
        const struct ferry_page_source *pages = sched->core->platform.pages;
        size_t count = (sched->buffer_bytes + PAGE_SIZE - 1) / PAGE_SIZE;
        int result = pages->allocate(pages->context, count, FERRY_PAGES_CONSECUTIVE, &buffer->mdl);
        if (result != FERRY_OK)
            return result;
        if (sched->buffer_private_bytes != 0 && !buffer->private_data) {
            buffer->private_data = calloc(1, sched->buffer_private_bytes);
            if (!buffer->private_data)
                return FERRY_ERROR_NO_HOST_MEMORY;
        }
    }
    // The ring comes round to the oldest buffer, which must have been executed before it is written again.
    int result = ferry_vm_wait(sched, sched->paging_node, buffer->fence);
    if (result != FERRY_OK)
        return result;
    buffer->used = buffer->private_used = 0;
    memset((uint8_t *)buffer->mdl->MappedSystemVa + sched->buffer_bytes, GUARD_BYTE, guard_bytes(sched, buffer));
    buffer->touched_count = 0;
    memset(sched->open_wait, 0, sizeof(sched->open_wait));
    sched->buffer_open = true;
    return FERRY_OK;
}

static bool touch(struct ferry_vm_paging_buffer *buffer, D3DKMT_HANDLE handle)
{
    if (buffer->touched_count > 0 && buffer->touched[buffer->touched_count - 1] == handle)
        return true;
    if (buffer->touched_count == buffer->touched_capacity) {
        size_t capacity = buffer->touched_capacity ? buffer->touched_capacity * 2 : 16;
        D3DKMT_HANDLE *touched = realloc(buffer->touched, capacity * sizeof(*touched));
        if (!touched)
            return false;
        buffer->touched = touched;
        buffer->touched_capacity = capacity;
    }
    buffer->touched[buffer->touched_count++] = handle;
    return true;
}

uint64_t ferry_vm_paging_fence(const struct ferry_vm_sched *sched)
{
    const struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
    bool holds = sched->buffer_open && (buffer->used != 0 || buffer->private_used != 0);
    return sched->nodes[sched->paging_node].submitted + (holds ? 1 : 0);
}

static int hold_back(struct ferry_vm_sched *sched)
{
    for (unsigned i = 0; i < sched->node_count; i++) {
        int result = i == sched->paging_node ? FERRY_OK : ferry_vm_wait(sched, i, sched->open_wait[i]);
        if (result != FERRY_OK)
            return result;
    }
    return FERRY_OK;
}

int ferry_vm_flush(struct ferry_vm_sched *sched)
{
    struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
    if (sched->core->critical.code != FERRY_CRITICAL_NONE)
        return FERRY_ERROR_CRITICAL;
    if (!sched->buffer_open || (buffer->used == 0 && buffer->private_used == 0))
        return FERRY_OK;
    int result = hold_back(sched);
    if (result != FERRY_OK)
        return result;
    struct ferry_vm_node *node = &sched->nodes[sched->paging_node];
    uint64_t fence = node->submitted + 1;
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
    node->submitted = fence;
    buffer->fence = fence;
    record.status = sched->core->miniport->DxgkDdiSubmitCommand(sched->core->adapter, &submit);
    if (!NT_SUCCESS(record.status)) {
        record.code = FERRY_CRITICAL_SUBMIT;
        return ferry_vm_stop_critical(sched->core, record);
    }
    sched->core->statistics.paging_buffers++;
    sched->buffer_open = false;
    sched->buffer_index = (sched->buffer_index + 1) % sched->buffer_count;
    ferry_vm_drain(sched);
    return sched->core->critical.code != FERRY_CRITICAL_NONE ? FERRY_ERROR_CRITICAL : FERRY_OK;
}

void ferry_vm_hold_for(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject)
{
    for (unsigned i = 0; i < sched->node_count; i++)
        if (i != sched->paging_node && subject->last_fence[i] > sched->open_wait[i])
            sched->open_wait[i] = subject->last_fence[i];
}

// ---- What was built and has not run yet ----

static int remember(struct ferry_vm_sched *sched, struct ferry_vm_operation operation)
{
    if (sched->operation_count == sched->operation_capacity) {
        size_t capacity = sched->operation_capacity ? sched->operation_capacity * 2 : 64;
        struct ferry_vm_operation *ring = malloc(capacity * sizeof(*ring));
        if (!ring)
            return FERRY_ERROR_NO_HOST_MEMORY;
        for (size_t i = 0; i < sched->operation_count; i++)
            ring[i] = sched->operations[(sched->operation_first + i) % sched->operation_capacity];
        free(sched->operations);
        sched->operations = ring;
        sched->operation_first = 0;
        sched->operation_capacity = capacity;
    }
    size_t at = (sched->operation_first + sched->operation_count++) % sched->operation_capacity;
    sched->operations[at] = operation;
    return FERRY_OK;
}

int ferry_vm_release_later(struct ferry_vm_sched *sched, MDL *mdl)
{
    struct ferry_vm_operation release = {
        .fence = ferry_vm_paging_fence(sched), .operation = DXGK_OPERATION_COUNT, .release = mdl};
    if (release.fence <= sched->nodes[sched->paging_node].completed) {
        ferry_vm_pages_free(sched->core, mdl);
        return FERRY_OK;
    }
    int result = remember(sched, release);
    if (result == FERRY_OK)
        return result;
    // No memory for the note: wait instead, and free at once.
    result = ferry_vm_wait(sched, sched->paging_node, release.fence);
    if (result == FERRY_OK)
        ferry_vm_pages_free(sched->core, mdl);
    return result;
}

void ferry_vm_paging_completed(struct ferry_vm_sched *sched, uint64_t completed)
{
    while (sched->operation_count > 0) {
        struct ferry_vm_operation operation = sched->operations[sched->operation_first];
        if (operation.fence > completed)
            break;
        sched->operation_first = (sched->operation_first + 1) % sched->operation_capacity;
        sched->operation_count--;
        if (operation.release) {
            ferry_vm_pages_free(sched->core, operation.release);
            continue;
        }
        sched->core->statistics.operations[operation.operation]++;
        ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_PAGING_END,
                                                              .id = operation.event,
                                                              .allocation = operation.allocation,
                                                              .operation = operation.operation,
                                                              .node = sched->paging_node,
                                                              .bytes = operation.bytes});
    }
    ferry_vm_queues_signal(sched, completed);
}

void ferry_vm_paging_faulted(struct ferry_vm_sched *sched, uint64_t fence)
{
    sched->core->statistics.faulted_paging_buffers++;
    for (unsigned i = 0; i < sched->buffer_count; i++) {
        struct ferry_vm_paging_buffer *buffer = &sched->buffers[i];
        if (buffer->fence != fence || (sched->buffer_open && i == sched->buffer_index))
            continue;
        for (size_t n = 0; n < buffer->touched_count; n++)
            sched->content_lost(sched->content_lost_context, buffer->touched[n]);
    }
}

// ---- Building ----

static bool may_be_busy(DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    return operation == DXGK_OPERATION_TRANSFER || operation == DXGK_OPERATION_DISCARD_CONTENT ||
           operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER;
}

static void set_idle(DXGKARG_BUILDPAGINGBUFFER *argument)
{
    if (argument->Operation == DXGK_OPERATION_DISCARD_CONTENT)
        argument->DiscardContent.Flags.AllocationIsIdle = 1;
    else if (argument->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        argument->SpecialLockTransfer.Flags.AllocationIsIdle = 1;
    else
        argument->Transfer.Flags.AllocationIsIdle = 1;
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

static int wait_until_idle(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject)
{
    int result = ferry_vm_flush(sched);
    if (result != FERRY_OK)
        return result;
    bool pending = false;
    for (unsigned i = 0; subject && i < sched->node_count; i++)
        pending |= subject->last_fence[i] > sched->nodes[i].completed;
    if (pending)
        return ferry_vm_wait_allocation(sched, subject, true);
    // Idle already and still BUSY: the miniport waits for something of its own, so the device gets time. That it has
    // nothing else to do meanwhile is no error here; busy_limit ends it.
    result = ferry_vm_run(sched);
    return result == FERRY_ERROR_TIMEOUT ? FERRY_OK : result;
}

int ferry_vm_build(struct ferry_vm_sched *sched, DXGKARG_BUILDPAGINGBUFFER *argument, struct ferry_vm_subject *subject,
                   uint64_t bytes)
{
    if (sched->core->critical.code != FERRY_CRITICAL_NONE)
        return FERRY_ERROR_CRITICAL;
    uint64_t event = ++sched->core->event;
    D3DKMT_HANDLE handle = subject ? subject->handle : 0;
    struct ferry_vidmm_critical record = {
        .operation = (uint32_t)argument->Operation, .node = sched->paging_node, .allocation = handle};
    uint32_t busy = 0;
    argument->MultipassOffset = 0;
    argument->hSystemContext = sched->system_context;
    for (;;) {
        struct ferry_vm_paging_buffer *buffer;
        int result = open_buffer(sched, &buffer);
        if (result != FERRY_OK)
            return result;
        uint8_t *start = (uint8_t *)buffer->mdl->MappedSystemVa + buffer->used;
        uint8_t *private_start = buffer->private_data ? (uint8_t *)buffer->private_data + buffer->private_used : NULL;
        uint32_t left = sched->buffer_bytes - buffer->used;
        uint32_t private_left = sched->buffer_private_bytes - buffer->private_used;
        uint32_t multipass = argument->MultipassOffset;
        bool empty = buffer->used == 0 && buffer->private_used == 0;
        argument->pDmaBuffer = start;
        argument->DmaSize = left;
        argument->pDmaBufferPrivateData = private_start;
        argument->DmaBufferPrivateDataSize = private_left;
        argument->DmaBufferWriteOffset = buffer->used;
        record.status = sched->core->miniport->DxgkDdiBuildPagingBuffer(sched->core->adapter, argument);
        record.multipass_offset = argument->MultipassOffset;
        record.dma_size = left;
        if (record.status == STATUS_GRAPHICS_ALLOCATION_BUSY && may_be_busy(argument->Operation)) {
            // Nothing of it counts as started (R5); what it may have written is written over.
            sched->core->statistics.busy_answers++;
            argument->MultipassOffset = multipass;
            if (++busy > sched->busy_limit) {
                record.code = FERRY_CRITICAL_NOT_IDLE;
                return ferry_vm_stop_critical(sched->core, record);
            }
            result = wait_until_idle(sched, subject);
            if (result != FERRY_OK)
                return result;
            set_idle(argument);
            continue;
        }
        if (!guard_intact(sched, buffer)) {
            record.code = FERRY_CRITICAL_DMA_OVERFLOW;
            return ferry_vm_stop_critical(sched->core, record);
        }
        if (record.status != STATUS_SUCCESS && record.status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER) {
            record.code = FERRY_CRITICAL_BAD_STATUS;
            return ferry_vm_stop_critical(sched->core, record);
        }
        uint32_t used_before = buffer->used, private_before = buffer->private_used;
        if (!take_over(buffer, argument, start, left, private_start, private_left, &record))
            return ferry_vm_stop_critical(sched->core, record);
        bool wrote = buffer->used != used_before || buffer->private_used != private_before;
        if (wrote && subject && !touch(buffer, handle))
            return FERRY_ERROR_NO_HOST_MEMORY;
        if (subject)
            ferry_vm_hold_for(sched, subject);
        if (record.status == STATUS_SUCCESS)
            break;
        sched->core->statistics.insufficient_answers++;
        if (empty && !wrote && argument->MultipassOffset == multipass) {
            record.code = FERRY_CRITICAL_NO_PROGRESS;
            return ferry_vm_stop_critical(sched->core, record);
        }
        result = ferry_vm_flush(sched);
        if (result != FERRY_OK)
            return result;
    }
    uint64_t fence = ferry_vm_paging_fence(sched);
    if (subject)
        subject->last_fence[sched->paging_node] = fence;
    ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_PAGING_BEGIN,
                                                          .id = event,
                                                          .allocation = handle,
                                                          .operation = (uint32_t)argument->Operation,
                                                          .node = sched->paging_node,
                                                          .bytes = bytes});
    int result = remember(sched, (struct ferry_vm_operation){.fence = fence,
                                                             .event = event,
                                                             .bytes = bytes,
                                                             .allocation = handle,
                                                             .operation = (uint32_t)argument->Operation});
    if (result == FERRY_OK && fence <= sched->nodes[sched->paging_node].completed)
        ferry_vm_paging_completed(sched, sched->nodes[sched->paging_node].completed);
    return result;
}
