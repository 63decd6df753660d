// SPDX-License-Identifier: Apache-2.0
// A mistake on purpose, for whoever wants to see that he would find it: one byte of one transfer is spoilt on the link.
// Which bus address that byte has is known here, where the operation comes by, with its page list or with addresses.
#include "kmd/internal.h"

void ferry_kmd_flip(HANDLE hAdapter, bool out, uint64_t number, uint64_t offset)
{
    struct kmd_adapter *adapter = hAdapter;

    adapter->flip.out = out;
    adapter->flip.number = number;
    adapter->flip.offset = offset;
    adapter->flip.wanted = number != 0;
    adapter->flip.allocation = NULL;
    adapter->flip.done = false;
}

bool ferry_kmd_flipped(HANDLE hAdapter)
{
    const struct kmd_adapter *adapter = hAdapter;

    return adapter->flip.done;
}

static void flip(struct kmd_adapter *adapter, uint64_t page, uint64_t at)
{
    adapter->flip.wanted = false;
    adapter->flip.done = ferry_gpu_flip(adapter->gpu, page + at % PAGE_SIZE, adapter->flip.out) == FERRY_OK;
}

// Bytes of content from there on; what the allocation is rounded up by is nobody's.
static uint64_t content_from(const struct kmd_allocation *allocation, uint64_t first)
{
    uint64_t content = allocation->bytes - allocation->padding;

    return first < content ? content - first : 0;
}

static void look_at_places(struct kmd_adapter *adapter, const DXGK_BUILDPAGINGBUFFER_TRANSFER *t)
{
    const struct kmd_allocation *allocation = t->hAllocation;
    const MDL *mdl = adapter->flip.out ? t->Destination.pMdl : t->Source.pMdl;
    uint64_t bytes = allocation ? content_from(allocation, t->TransferOffset) : 0;

    if (bytes == 0 || !t->Flags.TransferStart || !mdl ||
        (adapter->flip.out ? t->Destination.SegmentId : t->Source.SegmentId) != 0 || --adapter->flip.number != 0)
        return;
    if (bytes > t->TransferSize)
        bytes = t->TransferSize;
    uint64_t at = adapter->flip.offset % bytes;
    flip(adapter, mdl->Pfn[t->MdlOffset + at / PAGE_SIZE] << PAGE_SHIFT, at);
}

// By addresses a transfer comes in chunks, one behind the other; their ends are all that says so. Which page a chunk's
// byte is in is known from the entries that were built for it just now.
static void look_at_addresses(struct kmd_adapter *adapter, const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *t)
{
    const struct kmd_allocation *allocation = t->hAllocation;
    uint64_t first = t->AllocationOffsetInBytes, end = first + t->TransferSizeInBytes, page;
    bool meant = adapter->flip.out ? t->TransferDirection == DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM
                                   : t->TransferDirection == DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL;

    if (!meant || !allocation || !adapter->paging || content_from(allocation, first) == 0)
        return;
    bool goes_on = allocation == adapter->flip.allocation && first == adapter->flip.next;
    adapter->flip.allocation = allocation;
    adapter->flip.next = end;
    if (!goes_on) {
        // The one that was meant has ended before that byte: it was of a part.
        adapter->flip.wanted = adapter->flip.number != 0;
        adapter->flip.number -= adapter->flip.number != 0;
        adapter->flip.begin = first;
    }
    if (!adapter->flip.wanted || adapter->flip.number != 0)
        return;
    uint64_t begin = adapter->flip.begin, at = begin + adapter->flip.offset % content_from(allocation, begin);
    uint64_t address = adapter->flip.out ? t->DestinationVirtualAddress : t->SourceVirtualAddress;
    if (at >= first && at < end && kmd_known_page(adapter->paging, address + (at - first), &page) == KMD_IN_HOST_MEMORY)
        flip(adapter, page, at);
}

void kmd_flip_look(struct kmd_adapter *adapter, const DXGKARG_BUILDPAGINGBUFFER *a)
{
    // A later pass, or the call after BUSY, is of the same transfer.
    if (adapter->flip.going)
        return;
    if (a->Operation == DXGK_OPERATION_TRANSFER)
        look_at_places(adapter, &a->Transfer);
    else if (a->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER)
        look_at_addresses(adapter, &a->TransferVirtual);
}
