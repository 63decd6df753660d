// SPDX-License-Identifier: Apache-2.0
// A mistake on purpose, for whoever wants to see that he would find it: one byte of one transfer is spoilt on the link.
// Which bus address that byte has is known here, where the operation with its page list comes by.
#include "kmd/internal.h"

void ferry_kmd_flip(HANDLE hAdapter, bool out, uint64_t number, uint64_t offset)
{
    struct kmd_adapter *adapter = hAdapter;

    adapter->flip.out = out;
    adapter->flip.number = number;
    adapter->flip.offset = offset;
    adapter->flip.done = false;
}

bool ferry_kmd_flipped(HANDLE hAdapter)
{
    const struct kmd_adapter *adapter = hAdapter;

    return adapter->flip.done;
}

void kmd_flip_look(struct kmd_adapter *adapter, const DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &a->Transfer;
    const struct kmd_allocation *allocation = t->hAllocation;

    // A later pass, or the call after BUSY, is of the same transfer.
    if (adapter->flip.going || a->Operation != DXGK_OPERATION_TRANSFER || !allocation || !t->Flags.TransferStart)
        return;
    const MDL *mdl = adapter->flip.out ? t->Destination.pMdl : t->Source.pMdl;
    if ((adapter->flip.out ? t->Destination.SegmentId : t->Source.SegmentId) != 0 || !mdl ||
        --adapter->flip.number != 0)
        return;
    uint64_t content = allocation->bytes - allocation->padding, bytes = (uint64_t)t->TransferSize;
    if (bytes > content - t->TransferOffset)
        bytes = content - t->TransferOffset;
    uint64_t at = adapter->flip.offset % bytes;
    uint64_t bus = (mdl->Pfn[t->MdlOffset + at / PAGE_SIZE] << PAGE_SHIFT) + at % PAGE_SIZE;
    adapter->flip.done = ferry_gpu_flip(adapter->gpu, bus, adapter->flip.out) == FERRY_OK;
}
