// SPDX-License-Identifier: Apache-2.0
#include "spy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CANARY 0xA5

struct spy spy;

static void wrong(const char *what, unsigned long long value)
{
    if (spy.errors++ == 0)
        snprintf(spy.first_error, sizeof(spy.first_error), "%s (%llx)", what, value);
}

static void keep(const struct spy_entry *entry)
{
    if (!spy.keep)
        return;
    if (spy.count == spy.capacity) {
        spy.capacity = spy.capacity * 2 + 64;
        spy.entries = realloc(spy.entries, spy.capacity * sizeof(*spy.entries));
    }
    spy.entries[spy.count++] = *entry;
}

static void keep_transfer(void)
{
    if (spy.transfer_count == spy.transfer_capacity) {
        spy.transfer_capacity = spy.transfer_capacity * 2 + 64;
        spy.transfers = realloc(spy.transfers, spy.transfer_capacity * sizeof(*spy.transfers));
    }
    spy.transfers[spy.transfer_count++] = spy.open;
}

// Pieces follow each other without gap or overlap from TransferStart to TransferEnd, and no other transfer begins
// before.
static void check_transfer(const DXGK_BUILDPAGINGBUFFER_TRANSFER *t, bool special)
{
    if ((t->Flags.Value & DXGK_TRANSFER_RESERVED_MASK) != 0)
        wrong("reserved transfer flags", t->Flags.Value);
    if (t->Flags.TransferStart) {
        if (spy.in_transfer)
            wrong("R33: a transfer starts before the one under way has ended", 0);
        spy.in_transfer = true;
        spy.open = (struct spy_transfer){.allocation = t->hAllocation,
                                         .first = t->TransferOffset,
                                         .source_segment = t->Source.SegmentId,
                                         .destination_segment = t->Destination.SegmentId};
    } else if (!spy.in_transfer) {
        wrong("R31: the first piece carries no TransferStart", t->TransferOffset);
    } else if (t->hAllocation != spy.open.allocation) {
        wrong("R33: a piece of another allocation inside a transfer", 0);
    } else if (t->TransferOffset != spy.open.first + spy.open.bytes) {
        wrong("R29: gap or overlap between pieces", t->TransferOffset);
    }
    spy.open.bytes += t->TransferSize;
    spy.open.pieces++;
    // TransferOffset has 32 bits: of a list that reaches beyond them it names the place modulo 4 GiB.
    const MDL *list = special                         ? NULL
                      : t->Source.SegmentId == 0      ? t->Source.pMdl
                      : t->Destination.SegmentId == 0 ? t->Destination.pMdl
                                                      : NULL;
    UINT mask = list && list->PageCount > UINT32_MAX / PAGE_SIZE + 1 ? UINT32_MAX / PAGE_SIZE : UINT32_MAX;
    if (list && (t->MdlOffset & mask) != t->TransferOffset / PAGE_SIZE)
        wrong("MdlOffset does not match TransferOffset", t->MdlOffset);
    int64_t way = t->Destination.SegmentAddress.QuadPart - t->Source.SegmentAddress.QuadPart;
    // Run a second time, after a reset, it would read what it has written.
    if (t->Source.SegmentId != 0 && t->Source.SegmentId == t->Destination.SegmentId &&
        (uint64_t)(way < 0 ? -way : way) < spy.open.bytes)
        wrong("R7: moved over its own place, or not at all", t->TransferSize);
    if (t->Flags.TransferEnd) {
        spy.in_transfer = false;
        keep_transfer();
    }
}

// The members of both begin alike.
static bool is_transfer(const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    return argument->Operation == DXGK_OPERATION_TRANSFER ||
           argument->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER;
}

static void clear_idle(DXGKARG_BUILDPAGINGBUFFER *argument)
{
    if (is_transfer(argument))
        argument->Transfer.Flags.AllocationIsIdle = 0;
    else if (argument->Operation == DXGK_OPERATION_DISCARD_CONTENT)
        argument->DiscardContent.Flags.AllocationIsIdle = 0;
}

static bool idle_flag(const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    if (is_transfer(argument))
        return argument->Transfer.Flags.AllocationIsIdle;
    return argument->Operation == DXGK_OPERATION_DISCARD_CONTENT && argument->DiscardContent.Flags.AllocationIsIdle;
}

static NTSTATUS spy_create_context(HANDLE device, DXGKARG_CREATECONTEXT *argument)
{
    NTSTATUS status = spy.under->DxgkDdiCreateContext(device, argument);
    if (argument->Flags.SystemContext)
        spy.system = argument->hContext;
    return status;
}

static void check_before(const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    if (!spy.system || argument->hSystemContext != spy.system)
        wrong("R190: an operation for another context than the system's", argument->Operation);
    if (spy.buffer && argument->pDmaBuffer != spy.buffer && (uintptr_t)argument->pDmaBuffer % PAGE_SIZE != 0)
        wrong("R95: pDmaBuffer is neither where the last operation ended nor a fresh buffer", 0);
    if (!spy.in_operation) {
        if (argument->MultipassOffset != 0)
            wrong("R25: MultipassOffset at the start", argument->MultipassOffset);
        if (idle_flag(argument))
            wrong("R40: AllocationIsIdle before BUSY was answered", 0);
        spy.busy_seen = false;
        if (is_transfer(argument))
            check_transfer(&argument->Transfer, argument->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER);
    } else {
        DXGKARG_BUILDPAGINGBUFFER now = *argument, then = spy.last;
        if (now.MultipassOffset != then.MultipassOffset)
            wrong("R26: the manager changed MultipassOffset between passes", now.MultipassOffset);
        if (spy.busy_seen && !idle_flag(argument))
            wrong("R40: the call after BUSY is not marked idle", 0);
        clear_idle(&now);
        clear_idle(&then);
        if (now.Operation != then.Operation || memcmp(&now.Reserved, &then.Reserved, sizeof(now.Reserved)) != 0)
            wrong("R21: another operation before the last one had success", (unsigned)now.Operation);
    }
}

// What the miniport says of the paging node now is what the manager may go by.
static UINT paging_done(void)
{
    DXGKARG_QUERYCURRENTFENCE fence = {.NodeOrdinal = 0};
    spy.under->DxgkDdiQueryCurrentFence(spy.adapter, &fence);
    return fence.CurrentFence;
}

static NTSTATUS spy_build_paging_buffer(HANDLE adapter, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    struct spy_entry entry = {.kind = SPY_BUILD, .before = *argument};
    spy.adapter = adapter;
    if (argument->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT)
        entry.done = paging_done();
    if (spy.in_routine)
        wrong("R2: BuildPagingBuffer from an interrupt or DPC", 0);
    check_before(argument);
    uint8_t *start = argument->pDmaBuffer;
    UINT size = argument->DmaSize;
    memset(start, CANARY, size);
    spy.building = argument;
    if (spy.in_build)
        spy.in_build(spy.in_build_context);
    entry.status = spy.under->DxgkDdiBuildPagingBuffer(adapter, argument);
    if (spy.in_build)
        spy.in_build(spy.in_build_context);
    entry.after = *argument;
    uint8_t *end = argument->pDmaBuffer;
    bool inside = end >= start && end <= start + size;
    if (inside && entry.status != STATUS_GRAPHICS_ALLOCATION_BUSY) {
        entry.written = (uint32_t)(end - start);
        for (const uint8_t *at = end; at < start + size; at++)
            if (*at != CANARY) {
                wrong("R18: bytes behind pDmaBuffer were written", (unsigned long long)(at - start));
                break;
            }
        spy.buffer = end;
    }
    spy.builds++;
    spy.in_operation = entry.status != STATUS_SUCCESS;
    if (entry.status == STATUS_SUCCESS)
        spy.operations[argument->Operation]++;
    if (entry.status == STATUS_GRAPHICS_ALLOCATION_BUSY)
        spy.busy_seen = true;
    spy.last = *argument;
    keep(&entry);
    return entry.status;
}

static NTSTATUS spy_patch(HANDLE adapter, const DXGKARG_PATCH *argument)
{
    struct spy_entry entry = {.kind = SPY_PATCH, .patch = *argument};
    spy.patches++;
    spy.patched = true;
    spy.last_patch = *argument;
    if (argument->Flags.Paging && (argument->pAllocationList || argument->PatchLocationListSubmissionLength))
        wrong("R15: lists in a paging patch", 0);
    entry.status = spy.under->DxgkDdiPatch(adapter, argument);
    keep(&entry);
    return entry.status;
}

static NTSTATUS spy_submit(HANDLE adapter, const DXGKARG_SUBMITCOMMAND *argument)
{
    struct spy_entry entry = {.kind = SPY_SUBMIT, .submit = *argument};
    const DXGKARG_PATCH *patch = &spy.last_patch;
    if (!spy.patched)
        wrong("R14: submitted without Patch", argument->SubmissionFenceId);
    else if (patch->DmaBufferSubmissionStartOffset != argument->DmaBufferSubmissionStartOffset ||
             patch->DmaBufferSubmissionEndOffset != argument->DmaBufferSubmissionEndOffset ||
             patch->SubmissionFenceId != argument->SubmissionFenceId ||
             patch->DmaBufferPhysicalAddress.QuadPart != argument->DmaBufferPhysicalAddress.QuadPart)
        wrong("R17: submit and patch differ", argument->SubmissionFenceId);
    spy.patched = false;
    spy.submissions++;
    if (argument->Flags.Paging) {
        if ((int32_t)(argument->SubmissionFenceId - spy.last_paging_fence) != 1)
            wrong("R22: paging fences do not count one by one", argument->SubmissionFenceId);
        spy.last_paging_fence = argument->SubmissionFenceId;
        spy.buffer = NULL;
    }
    entry.status = spy.under->DxgkDdiSubmitCommand(adapter, argument);
    keep(&entry);
    return entry.status;
}

static NTSTATUS spy_acquire(HANDLE adapter, DXGKARG_ACQUIRESWIZZLINGRANGE *argument)
{
    struct spy_entry entry = {.kind = SPY_ACQUIRE};
    entry.status = spy.under->DxgkDdiAcquireSwizzlingRange(adapter, argument);
    entry.acquire = *argument;
    keep(&entry);
    return entry.status;
}

static NTSTATUS spy_release(HANDLE adapter, const DXGKARG_RELEASESWIZZLINGRANGE *argument)
{
    struct spy_entry entry = {.kind = SPY_RELEASE,
                              .acquire = {.hAllocation = argument->hAllocation,
                                          .PrivateDriverData = argument->PrivateDriverData,
                                          .RangeId = argument->RangeId}};
    entry.status = spy.under->DxgkDdiReleaseSwizzlingRange(adapter, argument);
    keep(&entry);
    return entry.status;
}

// Before it does anything.
void spy_pages(const MDL *pages, bool mapped)
{
    struct spy_entry entry = {.kind = mapped ? SPY_PAGES_MAPPED : SPY_PAGES_UNMAPPED, .pages = pages};
    if (!spy.adapter)
        return;
    entry.done = paging_done();
    keep(&entry);
}

UINT spy_window_megabytes;
bool spy_window_fails;

static NTSTATUS spy_query(HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *argument)
{
    if (argument->Type != DXGKQAITYPE_PAGINGPROCESSGPUVASIZE)
        return spy.under->DxgkDdiQueryAdapterInfo(adapter, argument);
    spy.window_queries++;
    spy.window_input = argument->InputDataSize;
    spy.window_output = argument->OutputDataSize;
    spy.window_index = *(const UINT *)argument->pInputData;
    if (spy_window_megabytes == 0)
        return spy.under->DxgkDdiQueryAdapterInfo(adapter, argument);
    *(UINT *)argument->pOutputData = spy_window_megabytes;
    return spy_window_fails ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
}

static bool spy_interrupt(HANDLE adapter, ULONG message)
{
    spy.in_routine++;
    bool ours = spy.under->DxgkDdiInterruptRoutine(adapter, message);
    spy.in_routine--;
    spy.reports += ours;
    return ours;
}

static VOID spy_dpc(HANDLE adapter)
{
    spy.in_routine++;
    spy.under->DxgkDdiDpcRoutine(adapter);
    spy.in_routine--;
}

const DRIVER_INITIALIZATION_DATA *spy_start(const DRIVER_INITIALIZATION_DATA *under)
{
    spy_end();
    spy.under = under;
    spy.table = *under;
    spy.table.DxgkDdiBuildPagingBuffer = spy_build_paging_buffer;
    spy.table.DxgkDdiQueryAdapterInfo = spy_query;
    spy.table.DxgkDdiCreateContext = spy_create_context;
    spy.table.DxgkDdiInterruptRoutine = spy_interrupt;
    spy.table.DxgkDdiDpcRoutine = spy_dpc;
    spy.table.DxgkDdiPatch = spy_patch;
    spy.table.DxgkDdiSubmitCommand = spy_submit;
    spy.table.DxgkDdiAcquireSwizzlingRange = under->DxgkDdiAcquireSwizzlingRange ? spy_acquire : NULL;
    spy.table.DxgkDdiReleaseSwizzlingRange = under->DxgkDdiReleaseSwizzlingRange ? spy_release : NULL;
    return &spy.table;
}

void spy_clear(void)
{
    spy.count = spy.transfer_count = 0;
    memset(spy.operations, 0, sizeof(spy.operations));
    spy.builds = spy.submissions = spy.patches = 0;
}

void spy_end(void)
{
    free(spy.entries);
    free(spy.transfers);
    memset(&spy, 0, sizeof(spy));
}

const struct spy_entry *spy_build(DXGK_BUILDPAGINGBUFFER_OPERATION operation, size_t n)
{
    for (size_t i = 0; i < spy.count; i++)
        if (spy.entries[i].kind == SPY_BUILD && spy.entries[i].before.Operation == operation && n-- == 0)
            return &spy.entries[i];
    return NULL;
}

size_t spy_builds(DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    size_t count = 0;
    for (size_t i = 0; i < spy.count; i++)
        count += spy.entries[i].kind == SPY_BUILD && spy.entries[i].before.Operation == operation;
    return count;
}

size_t spy_kinds(enum spy_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < spy.count; i++)
        count += spy.entries[i].kind == kind;
    return count;
}
