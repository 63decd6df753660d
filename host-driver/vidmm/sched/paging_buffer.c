// SPDX-License-Identifier: Apache-2.0
// The ring of DMA buffers that paging operations are built into, one of them open. Several operations go into a buffer;
// it is patched and submitted when it is full, when the paging node has nothing else to do, or when something waits for
// what is in it.
#include <stdlib.h>
#include <string.h>

#include "vidmm/sched/paging.h"

#define BUFFERS (FERRY_VM_IN_FLIGHT + 1)

void ferry_vm_buffers_free(struct ferry_vm_sched *sched)
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
    sched->unbuilt = 1;
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
    buffer->first_built = 0;
    buffer->several_devices = buffer->about_addresses = buffer->takes_out = false;
    memset((uint8_t *)buffer->mdl->MappedSystemVa + sched->buffer_bytes, GUARD_BYTE, guard_bytes(sched, buffer));
    sched->buffer_open = true;
    return buffer;
}

bool ferry_vm_holds_something(const struct ferry_vm_sched *sched)
{
    const struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
    return sched->buffer_open && (buffer->used != 0 || buffer->private_used != 0);
}

uint64_t ferry_vm_next_fence(const struct ferry_vm_sched *sched)
{
    return sched->nodes[sched->paging_node].submitted + (ferry_vm_holds_something(sched) ? 1 : 0);
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
    if (sched->core->critical.code != FERRY_CRITICAL_NONE || !ferry_vm_holds_something(sched) ||
        ferry_vm_in_flight(sched) >= FERRY_VM_IN_FLIGHT)
        return false;
    struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
    if (patch_and_submit(sched, buffer, sched->nodes[sched->paging_node].submitted + 1) != FERRY_OK)
        return false;
    sched->core->statistics.paging_buffers++;
    sched->buffer_open = false;
    // What was found ready was so for that buffer.
    sched->ready = 0;
    sched->buffer_index = (sched->buffer_index + 1) % sched->buffer_count;
    ferry_vm_drain(sched);
    return true;
}

// ---- Building ----

bool ferry_vm_may_be_busy(DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    return operation == DXGK_OPERATION_TRANSFER || operation == DXGK_OPERATION_DISCARD_CONTENT ||
           operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER;
}

void ferry_vm_set_idle(DXGKARG_BUILDPAGINGBUFFER *argument, bool idle)
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

static enum ferry_vm_built stop(struct ferry_vm_sched *sched, struct ferry_vidmm_critical record,
                                enum ferry_vidmm_critical_code code)
{
    record.code = code;
    ferry_vm_stop_critical(sched->core, record);
    return FERRY_VM_STOPPED;
}

// There is more of the operation than the open buffer takes.
static enum ferry_vm_built go_on(struct ferry_vm_sched *sched, struct ferry_vm_paging_buffer *buffer, bool unwanted)
{
    if (unwanted) {
        buffer->used = buffer->private_used = 0;
        return FERRY_VM_WENT_OUT;
    }
    if (ferry_vm_flush(sched))
        return FERRY_VM_WENT_OUT;
    return sched->core->critical.code != FERRY_CRITICAL_NONE ? FERRY_VM_STOPPED : FERRY_VM_NO_ROOM;
}

// Entries are made anew for each call, also after a reset: nothing of them is kept but the first.
static void make_entries(struct ferry_vm_sched *sched, const struct ferry_vm_operation *operation,
                         DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    UINT step = update->Flags.Use64KBPages ? 16 : 1, count = update->Flags.Repeat ? 1 : update->NumPageTableEntries;
    for (UINT i = 0; i < count; i++) {
        sched->entries[i] = operation->entry;
        sched->entries[i].PageAddress += (UINT64)i * step;
        if (operation->pages)
            sched->entries[i].PageAddress = operation->pages->Pfn[operation->first_page + i];
    }
    update->pPageTableEntries = sched->entries;
}

// Known before a buffer goes out, which may tell of a fault.
static void has_begun(const struct ferry_vm_sched *sched, struct ferry_vm_operation *operation, bool wrote)
{
    operation->begun = true;
    if (wrote && operation->first_fence == 0)
        operation->first_fence = sched->nodes[sched->paging_node].submitted + 1;
}

enum ferry_vm_built ferry_vm_build_pass(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation,
                                        bool unwanted)
{
    struct ferry_vm_paging_buffer *buffer = open_buffer(sched);
    if (!buffer)
        return FERRY_VM_NO_ROOM;
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
    if (argument->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
        make_entries(sched, operation, &argument->UpdatePageTable);
    struct ferry_vidmm_critical record = {.operation = (uint32_t)argument->Operation,
                                          .node = sched->paging_node,
                                          .allocation = operation->allocation,
                                          .dma_size = left};
    record.status = sched->core->miniport->DxgkDdiBuildPagingBuffer(sched->core->adapter, argument);
    record.multipass_offset = argument->MultipassOffset;
    if (record.status == STATUS_GRAPHICS_ALLOCATION_BUSY && ferry_vm_may_be_busy(argument->Operation)) {
        // Nothing of it counts as started (R5); what it may have written is written over.
        sched->core->statistics.busy_answers++;
        argument->MultipassOffset = multipass;
        ferry_vm_set_idle(argument, true);
        // Asked for again when everything built before it is done, and so it is idle for certain.
        operation->idle_at = ferry_vm_next_fence(sched);
        return ++operation->busy > sched->busy_limit ? stop(sched, record, FERRY_CRITICAL_NOT_IDLE) : FERRY_VM_PARKED;
    }
    if (!guard_intact(sched, buffer))
        return stop(sched, record, FERRY_CRITICAL_DMA_OVERFLOW);
    if (record.status != STATUS_SUCCESS && record.status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        return stop(sched, record, FERRY_CRITICAL_BAD_STATUS);
    if (!take_over(buffer, argument, start, left, private_start, private_left, &record))
        return stop(sched, record, record.code);
    bool wrote = buffer->used != used_before || buffer->private_used != private_before;
    has_begun(sched, operation, wrote);
    if (operation->step_of)
        has_begun(sched, operation->step_of, wrote);
    if (record.status == STATUS_SUCCESS)
        return FERRY_VM_BUILT;
    sched->core->statistics.insufficient_answers++;
    bool was_empty = used_before == 0 && private_before == 0;
    if (was_empty && !wrote && argument->MultipassOffset == multipass)
        return stop(sched, record, FERRY_CRITICAL_NO_PROGRESS);
    enum ferry_vm_built outcome = go_on(sched, buffer, unwanted);
    // R42: idle at the next call too, when the buffer that just went out with its first part is over.
    if (outcome == FERRY_VM_WENT_OUT && operation->busy != 0 && !unwanted) {
        operation->idle_at = sched->nodes[sched->paging_node].submitted;
        return FERRY_VM_PARKED;
    }
    return outcome;
}
