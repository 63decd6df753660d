// SPDX-License-Identifier: Apache-2.0
// DxgkDdiBuildPagingBuffer: paging operations written as packets. MultipassOffset counts the pages that earlier passes
// have written, and nothing else is kept between passes.
//
// Answers. SUCCESS, INSUFFICIENT_DMA_BUFFER and, for operations 0, 2 and 7, ALLOCATION_BUSY are what the contract
// allows (R3). Operations that this miniport does not announce, and arguments that no manager may give, get
// NOT_SUPPORTED and INVALID_PARAMETER: the manager stops at them with a record. That is meant. SUCCESS would lose
// content without a word, and one of the two other legal answers would be asked for ever.
#include <string.h>

#include "kmd/writer.h"

static NTSTATUS transfer_linear(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a, uint32_t source_kind, uint64_t source,
                                uint32_t destination_kind, uint64_t destination, bool unordered)
{
    uint64_t bytes = a->Transfer.TransferSize, all = pages_of(bytes), done = a->MultipassOffset;

    // Pieces of an overlapping move must not be cut: the first would overwrite what the second reads. No move of the
    // manager is that long.
    if (source_kind == destination_kind && all > LINEAR_PAGES &&
        (source < destination ? destination - source : source - destination) < bytes)
        return STATUS_INVALID_PARAMETER;
    for (; done < all && w->room >= FERRY_PACKET_COPY_SIZE; done += least(all - done, LINEAR_PAGES)) {
        uint64_t at = done * PAGE_SIZE;

        put_header(w, FERRY_OPCODE_COPY, FERRY_PACKET_COPY_SIZE, unordered, places(source_kind, destination_kind));
        put32(w, (uint32_t)least(bytes - at, LINEAR_PAGES * PAGE_SIZE));
        put32(w, 0);
        put64(w, source + at);
        put64(w, destination + at);
    }
    return progress(a, done, all);
}

static NTSTATUS transfer_pages(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a, const MDL *mdl, bool mdl_is_source,
                               uint32_t kind, uint64_t address, bool unordered)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &a->Transfer;
    uint64_t bytes = t->TransferSize, all = pages_of(bytes), done = a->MultipassOffset;

    if (t->MdlOffset > mdl->PageCount || all > mdl->PageCount - t->MdlOffset)
        return STATUS_INVALID_PARAMETER;
    while (done < all && w->room >= FERRY_PACKET_COPY_PAGES_SIZE + 8) {
        uint64_t at = done * PAGE_SIZE;
        uint32_t count = (uint32_t)least(all - done, (w->room - FERRY_PACKET_COPY_PAGES_SIZE) / 8);
        uint32_t side = mdl_is_source ? FERRY_LIST_SIDE_SOURCE : FERRY_LIST_SIDE_DESTINATION;
        uint32_t kinds =
            mdl_is_source ? places(FERRY_ADDRESS_KIND_SYSTEM, kind) : places(kind, FERRY_ADDRESS_KIND_SYSTEM);

        put_header(w, FERRY_OPCODE_COPY_PAGES, FERRY_PACKET_COPY_PAGES_SIZE + 8 * count, unordered,
                   kinds | FERRY_PUT(FERRY_PACKET_PLACES_LIST, side));
        put32(w, (uint32_t)least(bytes - at, (uint64_t)count * PAGE_SIZE));
        put32(w, 0);
        put64(w, address + at);
        put_pages(w, &mdl->Pfn[t->MdlOffset + done], count);
        done += count;
    }
    return progress(a, done, all);
}

static bool place_is_busy(struct kmd_adapter *adapter, const struct kmd_allocation *allocation, LARGE_INTEGER address)
{
    return kmd_allocation_is_busy(adapter, allocation, (uint64_t)address.QuadPart);
}

// It will be there when what is built has run.
static void goes_to(struct kmd_allocation *allocation, UINT segment, LARGE_INTEGER address)
{
    if (allocation && allocation->tiled && segment == FERRY_KMD_SEGMENT_LOCAL)
        allocation->tiling->place = (uint64_t)address.QuadPart;
}

static NTSTATUS build_transfer(struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &a->Transfer;
    uint32_t source_kind, destination_kind;
    uint64_t source, destination;

    if (t->Flags.Reserved)
        return STATUS_INVALID_PARAMETER;
    // The rings run independently of each other, so a transfer that moves what a user job still uses has to wait for
    // that job (R38, R41); so does one that moves what takes its place. Other places of a renamed allocation are none
    // of its business (R253). Without a handle there is nothing to look up: the raw copy is then ordered behind all
    // writes.
    if (t->hAllocation && !t->Flags.AllocationIsIdle &&
        ((t->Source.SegmentId && place_is_busy(adapter, t->hAllocation, t->Source.SegmentAddress)) ||
         (t->Destination.SegmentId && place_is_busy(adapter, t->hAllocation, t->Destination.SegmentAddress))))
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    if (!t->TransferSize)
        return STATUS_SUCCESS;
    goes_to(t->hAllocation, t->Destination.SegmentId, t->Destination.SegmentAddress);
    // R97: the offset belongs to the segment side only; R96: id 0 is the MDL side.
    bool source_is_mdl = t->Source.SegmentId == 0, destination_is_mdl = t->Destination.SegmentId == 0;
    if ((source_is_mdl && destination_is_mdl) || (source_is_mdl && !t->Source.pMdl) ||
        (destination_is_mdl && !t->Destination.pMdl))
        return STATUS_INVALID_PARAMETER;
    if (!source_is_mdl &&
        !kmd_place(t->Source.SegmentId, (uint64_t)t->Source.SegmentAddress.QuadPart + t->TransferOffset, &source_kind,
                   &source))
        return STATUS_INVALID_PARAMETER;
    if (!destination_is_mdl &&
        !kmd_place(t->Destination.SegmentId, (uint64_t)t->Destination.SegmentAddress.QuadPart + t->TransferOffset,
                   &destination_kind, &destination))
        return STATUS_INVALID_PARAMETER;

    // Without a handle nothing is swizzled, whatever the flags say (R43).
    if (t->hAllocation && (t->Flags.Swizzle || t->Flags.Unswizzle))
        return kmd_build_tiles(w, a);
    bool unordered = t->hAllocation != NULL; // Patch takes it back where an earlier packet still writes.
    if (source_is_mdl)
        return transfer_pages(w, a, t->Source.pMdl, true, destination_kind, destination, unordered);
    if (destination_is_mdl)
        return transfer_pages(w, a, t->Destination.pMdl, false, source_kind, source, unordered);
    return transfer_linear(w, a, source_kind, source, destination_kind, destination, unordered);
}

// As a transfer whose pages are the whole allocation's.
static NTSTATUS build_special(struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const struct kmd_allocation *allocation = a->SpecialLockTransfer.hAllocation;
    DXGKARG_BUILDPAGINGBUFFER transfer = *a;

    // R86
    if (!allocation || !allocation->alternate)
        return STATUS_NOT_SUPPORTED;
    transfer.Operation = DXGK_OPERATION_TRANSFER;
    transfer.Transfer.MdlOffset = a->SpecialLockTransfer.TransferOffset / PAGE_SIZE;
    NTSTATUS status = build_transfer(adapter, w, &transfer);
    a->MultipassOffset = transfer.MultipassOffset;
    return status;
}

static NTSTATUS build_fill(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_FILL *f = &a->Fill;
    uint64_t bytes = f->FillSize, all = pages_of(bytes), done = a->MultipassOffset, address;
    uint32_t kind;

    if (!kmd_place(f->Destination.SegmentId, (uint64_t)f->Destination.SegmentAddress.QuadPart, &kind, &address) ||
        kind != FERRY_ADDRESS_KIND_LOCAL) // R47
        return STATUS_INVALID_PARAMETER;
    goes_to(f->hAllocation, f->Destination.SegmentId, f->Destination.SegmentAddress);
    for (; done < all && w->room >= FERRY_PACKET_FILL_SIZE; done += least(all - done, LINEAR_PAGES)) {
        uint64_t at = done * PAGE_SIZE;

        put_header(w, FERRY_OPCODE_FILL, FERRY_PACKET_FILL_SIZE, false,
                   places(0, kind) | FERRY_PUT(FERRY_PACKET_PLACES_PATTERN_LOG2, 2u));
        put32(w, (uint32_t)least(bytes - at, LINEAR_PAGES * PAGE_SIZE));
        put32(w, 0);
        put64(w, address + at);
        put64(w, f->FillPattern);
    }
    return progress(a, done, all);
}

static NTSTATUS build_discard(struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_DISCARDCONTENT *d = &a->DiscardContent;
    const struct kmd_allocation *allocation = d->hAllocation;
    uint64_t bytes = allocation ? allocation->bytes : 0, all = pages_of(bytes), done = a->MultipassOffset, address;
    uint32_t kind;

    if (!kmd_place(d->SegmentId, (uint64_t)d->SegmentAddress.QuadPart, &kind, &address) ||
        kind != FERRY_ADDRESS_KIND_LOCAL || d->Flags.Reserved)
        return STATUS_INVALID_PARAMETER;
    if (allocation && !d->Flags.AllocationIsIdle && place_is_busy(adapter, allocation, d->SegmentAddress))
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    for (; done < all && w->room >= FERRY_PACKET_DISCARD_SIZE; done += least(all - done, LINEAR_PAGES)) {
        uint64_t at = done * PAGE_SIZE;

        put_header(w, FERRY_OPCODE_DISCARD, FERRY_PACKET_DISCARD_SIZE, false, 0);
        put32(w, (uint32_t)least(bytes - at, LINEAR_PAGES * PAGE_SIZE));
        put32(w, 0);
        put64(w, address + at);
    }
    return progress(a, done, all);
}

// The operation names an address and no size. A read takes what is left of the aligned 8 bytes; a write, whose value is
// any, spoils as little as there is: one byte.
static NTSTATUS build_physical(struct writer *w, const DXGK_BUILDPAGINGBUFFER_PHYSICAL *p, bool write)
{
    uint64_t address;
    uint32_t kind, need = write ? FERRY_PACKET_WRITE_SIZE : FERRY_PACKET_READ_SIZE;

    if (!kmd_place(p->SegmentId, (uint64_t)p->PhysicalAddress.QuadPart, &kind, &address))
        return STATUS_INVALID_PARAMETER;
    if (w->room < need)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    put_header(w, write ? FERRY_OPCODE_WRITE : FERRY_OPCODE_READ, need, false,
               write ? places(0, kind) : places(kind, 0));
    put32(w, write ? 1 : 8 - (uint32_t)(address & 7));
    put32(w, 0);
    put64(w, address);
    if (write)
        put64(w, 0);
    return STATUS_SUCCESS;
}

static bool in_aperture(const struct kmd_adapter *adapter, UINT segment, uint64_t first, uint64_t count)
{
    return segment == FERRY_KMD_SEGMENT_APERTURE && first <= adapter->info.aperture_pages &&
           count <= adapter->info.aperture_pages - first;
}

static NTSTATUS build_map(const struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT *m = &a->MapApertureSegment;
    struct kmd_allocation *allocation = m->hAllocation;
    uint64_t all = m->NumberOfPages, done = a->MultipassOffset;

    if (!in_aperture(adapter, m->SegmentId, m->OffsetInPages, m->NumberOfPages) || !m->pMdl ||
        m->MdlOffset > m->pMdl->PageCount || all > m->pMdl->PageCount - m->MdlOffset || m->Flags.Reserved)
        return STATUS_INVALID_PARAMETER;
    // Of the whole of it, as the list of runs is found by. The MDL is there for this call alone; its pages are for as
    // long as they are mapped.
    if (allocation)
        allocation->pages = m->MdlOffset == 0 && all * PAGE_SIZE == allocation->bytes ? m->pMdl->MappedSystemVa : NULL;
    while (done < all && w->room >= FERRY_PACKET_MAP_APERTURE_SIZE + 8) {
        uint32_t count = (uint32_t)least(all - done, (w->room - FERRY_PACKET_MAP_APERTURE_SIZE) / 8);

        put_header(w, FERRY_OPCODE_MAP_APERTURE, FERRY_PACKET_MAP_APERTURE_SIZE + 8 * count, false,
                   FERRY_PUT(FERRY_PACKET_PLACES_SNOOP, (uint32_t)m->Flags.CacheCoherent));
        put32(w, (uint32_t)(m->OffsetInPages + done));
        put32(w, count);
        put_pages(w, &m->pMdl->Pfn[m->MdlOffset + done], count);
        done += count;
    }
    return progress(a, done, all);
}

static NTSTATUS build_unmap(const struct kmd_adapter *adapter, struct writer *w,
                            const DXGK_BUILDPAGINGBUFFER_UNMAPAPERTURESEGMENT *u)
{
    struct kmd_allocation *allocation = u->hAllocation;

    if (!in_aperture(adapter, u->SegmentId, u->OffsetInPages, u->NumberOfPages))
        return STATUS_INVALID_PARAMETER;
    if (allocation)
        allocation->pages = NULL;
    if (!u->NumberOfPages)
        return STATUS_SUCCESS;
    if (w->room < FERRY_PACKET_UNMAP_APERTURE_SIZE)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    put_header(w, FERRY_OPCODE_UNMAP_APERTURE, FERRY_PACKET_UNMAP_APERTURE_SIZE, false, 0);
    put32(w, (uint32_t)u->OffsetInPages);
    put32(w, (uint32_t)u->NumberOfPages);
    put64(w, (uint64_t)u->DummyPage.QuadPart);
    return STATUS_SUCCESS;
}

// By an address of the paging process. In driver model 1, which has no GPU page tables, it is the fence's bus address.
static NTSTATUS build_fence(const struct kmd_adapter *adapter, struct writer *w,
                            const DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE *f)
{
    bool is_virtual = adapter->model == 2;

    // The 64 bits change at once only where they are one beat's.
    if ((f->MonitoredFenceGpuVa & 7) != 0 || (is_virtual && f->MonitoredFenceGpuVa >> 48 != 0))
        return STATUS_INVALID_PARAMETER;
    if (w->room < FERRY_PACKET_FENCE_SIZE)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    put_header(w, FERRY_OPCODE_FENCE, FERRY_PACKET_FENCE_SIZE, false,
               places(0, is_virtual ? FERRY_ADDRESS_KIND_VIRTUAL : FERRY_ADDRESS_KIND_SYSTEM));
    put64(w, f->MonitoredFenceGpuVa);
    put64(w, f->MonitoredFenceValue);
    return STATUS_SUCCESS;
}

static NTSTATUS build_notify(const struct kmd_adapter *adapter, const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *n)
{
    const struct kmd_allocation *allocation = n->hAllocation;
    uint64_t bytes = n->PhysicalAddress.SegmentId == FERRY_KMD_SEGMENT_LOCAL ? adapter->info.local_bytes
                     : n->PhysicalAddress.SegmentId == FERRY_KMD_SEGMENT_APERTURE
                         ? (uint64_t)adapter->info.aperture_pages * PAGE_SIZE
                         : 0;

    if (!allocation || !(allocation->flags & DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION))
        return STATUS_INVALID_PARAMETER;
    if (!n->Resident)
        return n->PhysicalAddress.SegmentId || n->PhysicalAddress.SegmentOffset ? STATUS_INVALID_PARAMETER
                                                                                : STATUS_SUCCESS;
    return n->PhysicalAddress.SegmentOffset < bytes && allocation->bytes <= bytes - n->PhysicalAddress.SegmentOffset
               ? STATUS_SUCCESS
               : STATUS_INVALID_PARAMETER;
}

// Of driver model 2 alone.
static NTSTATUS build_virtual(struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    switch (a->Operation) {
    case DXGK_OPERATION_VIRTUAL_TRANSFER: return kmd_build_virtual_transfer(w, a);
    case DXGK_OPERATION_VIRTUAL_FILL: return kmd_build_virtual_fill(w, a);
    case DXGK_OPERATION_UPDATE_PAGE_TABLE: return kmd_build_update(adapter, w, a);
    case DXGK_OPERATION_FLUSH_TLB: return kmd_build_flush(w, a);
    case DXGK_OPERATION_NOTIFY_ALLOC: return kmd_build_notice(adapter, w, a);
    case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES: return kmd_build_copy_entries(adapter, w, a);
    default: return STATUS_NOT_SUPPORTED;
    }
}

static NTSTATUS build(struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    switch (a->Operation) {
    case DXGK_OPERATION_TRANSFER: return build_transfer(adapter, w, a);
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER: return build_special(adapter, w, a);
    case DXGK_OPERATION_FILL: return build_fill(w, a);
    case DXGK_OPERATION_DISCARD_CONTENT: return build_discard(adapter, w, a);
    case DXGK_OPERATION_READ_PHYSICAL: return build_physical(w, &a->ReadPhysical, false);
    case DXGK_OPERATION_WRITE_PHYSICAL: return build_physical(w, &a->WritePhysical, true);
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT: return build_map(adapter, w, a);
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT: return build_unmap(adapter, w, &a->UnmapApertureSegment);
    // Every packet names its place, so nothing is kept of where an allocation is, and there is nothing to write.
    case DXGK_OPERATION_NOTIFY_RESIDENCY: return build_notify(adapter, &a->NotifyResidency);
    case DXGK_OPERATION_SIGNAL_MONITORED_FENCE: return build_fence(adapter, w, &a->SignalMonitoredFence);
    default: return adapter->model == 2 ? build_virtual(adapter, w, a) : STATUS_NOT_SUPPORTED;
    }
}

NTSTATUS kmd_build_paging_buffer(HANDLE hAdapter, DXGKARG_BUILDPAGINGBUFFER *a)
{
    struct kmd_adapter *adapter = hAdapter;
    struct ferry_kmd_paging_record record;

    if (!adapter || !a)
        return STATUS_INVALID_PARAMETER;
    // The device takes no more than a command slot in one piece, however large the manager's buffer is; and without
    // room for a record nothing is written at all.
    uint32_t slot = adapter->info.slot_bytes;
    uint32_t left = a->DmaBufferWriteOffset < slot ? slot - a->DmaBufferWriteOffset : 0;
    uint32_t room = (uint32_t)least(a->DmaSize, left) & ~7u;
    if (!a->pDmaBuffer || !a->pDmaBufferPrivateData || a->DmaBufferPrivateDataSize < sizeof record)
        room = 0;
    struct writer w = {.at = a->pDmaBuffer, .room = room};
    record = (struct ferry_kmd_paging_record){
        .Operation = a->Operation, .Offset = a->DmaBufferWriteOffset, .Multipass = a->MultipassOffset};

    if (adapter->flip.wanted)
        kmd_flip_look(adapter, a);
    NTSTATUS status = build(adapter, &w, a);
    adapter->flip.going = status != STATUS_SUCCESS;
    if (w.written) {
        record.Bytes = w.written;
        memcpy(a->pDmaBufferPrivateData, &record, sizeof record);
        a->pDmaBufferPrivateData = (uint8_t *)a->pDmaBufferPrivateData + sizeof record;
        a->DmaBufferPrivateDataSize -= (UINT)sizeof record;
        a->pDmaBuffer = w.at;
        a->DmaSize -= w.written;
    }
    return status;
}
