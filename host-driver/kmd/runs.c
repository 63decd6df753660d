// SPDX-License-Identifier: Apache-2.0
// NOTIFY_ALLOC. Before an allocation leaves the aperture, the runs that its content was written without are filled in
// by the engine (ferry/runs.h), at addresses of the paging process. MultipassOffset counts runs.
//
// Nobody works on the allocation any more when this is built, and its list stands in host pages, so it is read here.
// The list is a program's: a run that leaves the content ends it, and nothing is written outside the pages that were
// named. Filled in again, after a reset, it is the same content.
#include <string.h>

#include "ferry/runs.h"
#include "kmd/writer.h"

#define MAGIC_BYTES 8u

static NTSTATUS fill(struct writer *w, uint64_t address, uint64_t bytes, uint64_t pattern)
{
    if (w->room < FERRY_PACKET_FILL_SIZE)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    put_header(w, FERRY_OPCODE_FILL, FERRY_PACKET_FILL_SIZE, false,
               places(0, FERRY_ADDRESS_KIND_VIRTUAL) | FERRY_PUT(FERRY_PACKET_PLACES_PATTERN_LOG2, 3u));
    put32(w, (uint32_t)bytes);
    put32(w, 0);
    put64(w, address);
    put64(w, pattern);
    return STATUS_SUCCESS;
}

// How many runs there are to be taken seriously.
static uint32_t runs_of(const struct ferry_run_list *list, uint64_t blocks)
{
    uint32_t count = 0;

    if (list->magic != FERRY_RUNS_MAGIC)
        return 0;
    while (count < FERRY_RUNS_MOST && count < list->count && list->runs[count].blocks != 0 &&
           list->runs[count].first_block < blocks && list->runs[count].blocks <= blocks - list->runs[count].first_block)
        count++;
    return count;
}

static NTSTATUS fill_runs(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a, const struct kmd_allocation *allocation)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *n = &a->NotifyAllocation;
    uint64_t content = allocation->bytes - PAGE_SIZE, end = n->OffsetInBytes + n->SizeInBytes;
    struct ferry_run_list list;

    memcpy(&list, allocation->pages + content, sizeof list);
    uint32_t count = runs_of(&list, content / FERRY_RUN_BLOCK_BYTES);
    for (; a->MultipassOffset < count; a->MultipassOffset++) {
        const struct ferry_run *run = &list.runs[a->MultipassOffset];
        uint64_t from = (uint64_t)run->first_block * FERRY_RUN_BLOCK_BYTES,
                 to = from + (uint64_t)run->blocks * FERRY_RUN_BLOCK_BYTES;

        from = from > n->OffsetInBytes ? from : n->OffsetInBytes;
        to = least(to, end);
        if (from < to &&
            fill(w, n->GpuVirtualAddressAtOffset + from - n->OffsetInBytes, to - from, run->pattern) != STATUS_SUCCESS)
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    }
    // Of several pieces the last has the list, which the others are read from until then.
    return list.magic == FERRY_RUNS_MAGIC && end == allocation->bytes
               ? fill(w, n->GpuVirtualAddressAtOffset + content - n->OffsetInBytes, MAGIC_BYTES, 0)
               : STATUS_SUCCESS;
}

// The pages are about to leave the IOMMU. What the device may still know of them stands in its translations: it forgets
// the whole space, so nothing of the range is left whatever the size of its pages.
static NTSTATUS forget_space(struct writer *w, const struct kmd_process *process)
{
    if (w->room < FERRY_PACKET_FORGET_SIZE)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    put_header(w, FERRY_OPCODE_FORGET, FERRY_PACKET_FORGET_SIZE, false, 0);
    put32(w, FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SCOPE, FERRY_FORGET_SCOPE_SPACE) |
                 FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SPACE, process ? process->space : 0));
    put32(w, 0);
    put64(w, 0);
    return STATUS_SUCCESS;
}

NTSTATUS kmd_build_notice(const struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *n = &a->NotifyAllocation;
    const struct kmd_allocation *allocation = n->hAllocation;
    bool unmap = n->Flags.IoMmuUnmap;

    // One kind or the other, and no process for an eviction (C24). The second is for the IOMMU model alone (R200).
    if (!allocation || n->Flags.Eviction == unmap || (unmap && !adapter->iommu) || n->Flags.Reserved ||
        (!unmap && n->hKmdProcessHandle) || n->SizeInBytes == 0 || n->OffsetInBytes % PAGE_SIZE ||
        n->SizeInBytes % PAGE_SIZE || n->GpuVirtualAddressAtOffset % PAGE_SIZE ||
        n->OffsetInBytes > allocation->bytes || n->SizeInBytes > allocation->bytes - n->OffsetInBytes ||
        n->GpuVirtualAddressAtOffset > (UINT64_C(1) << 48) - n->SizeInBytes)
        return STATUS_INVALID_PARAMETER;
    if (unmap)
        return forget_space(w, n->hKmdProcessHandle);
    return allocation->compressed && allocation->pages ? fill_runs(w, a, allocation) : STATUS_SUCCESS;
}
