// SPDX-License-Identifier: Apache-2.0
// BuildPagingBuffer of the memcpy miniport: what the contract lets it expect of the operations is checked here.
#include <stdlib.h>
#include <string.h>

#include "memcpy_machine.h"

static void name(struct machine *machine, struct mini_allocation *allocation, uint64_t place)
{
    if (!allocation)
        return;
    if (machine->building_count == machine->building_capacity) {
        machine->building_capacity = machine->building_capacity * 2 + 16;
        machine->building = realloc(machine->building, machine->building_capacity * sizeof(*machine->building));
    }
    machine->building[machine->building_count++] = (struct mini_name){allocation, place};
    allocation->paging_references++;
}

// Does queued work use the allocation? Of one that is paged in at several places, this place.
static bool in_use(const struct machine *machine, const struct mini_allocation *allocation, uint64_t place, bool paging)
{
    if (!allocation)
        return false;
    if (!machine->knobs.by_place)
        return allocation->job_references || (paging && allocation->paging_references);
    for (const struct mini_submission *work = machine->queue; work; work = work->next)
        for (size_t i = 0; i < work->name_count; i++)
            if (work->names[i].allocation == allocation && work->names[i].place == place && (paging || !work->paging))
                return true;
    return false;
}

static uint32_t mark;

bool mini_write_packet(DXGKARG_BUILDPAGINGBUFFER *argument, struct packet packet, const uint64_t *list)
{
    packet.kind |= mark;
    packet.bytes = (uint32_t)(sizeof(packet) + packet.pages * sizeof(uint64_t));
    if (argument->DmaSize < packet.bytes)
        return false;
    memcpy(argument->pDmaBuffer, &packet, sizeof(packet));
    if (packet.pages != 0)
        memcpy((uint8_t *)argument->pDmaBuffer + sizeof(packet), list, packet.pages * sizeof(uint64_t));
    argument->pDmaBuffer = (uint8_t *)argument->pDmaBuffer + packet.bytes;
    argument->DmaSize -= packet.bytes;
    return true;
}

static bool write_packet(DXGKARG_BUILDPAGINGBUFFER *argument, struct packet packet, const MDL *mdl, size_t first)
{
    return mini_write_packet(argument, packet, mdl ? &mdl->Pfn[first] : NULL);
}

// As many pages as there is room for go into one packet; MultipassOffset counts the pages done.
static NTSTATUS build_pages(DXGKARG_BUILDPAGINGBUFFER *argument, struct packet packet, const MDL *mdl, size_t first,
                            uint64_t total, size_t pages)
{
    while (argument->MultipassOffset < pages) {
        uint64_t done = argument->MultipassOffset;
        if (argument->DmaSize < sizeof(packet) + sizeof(uint64_t))
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        size_t room = (argument->DmaSize - sizeof(packet)) / sizeof(uint64_t);
        size_t count = pages - done < room ? pages - done : room;
        struct packet part = packet;
        part.pages = (uint32_t)count;
        uint64_t from = done * PAGE_SIZE, end = (done + count) * PAGE_SIZE;
        part.size = (end < total ? end : total) - from;
        if (part.list == 1 || (part.kind != PACKET_MOVE && part.kind != PACKET_TILES))
            part.to += from;
        else
            part.from += from;
        write_packet(argument, part, mdl, first + done);
        argument->MultipassOffset += (UINT)count;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS build_transfer(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &argument->Transfer;
    uint64_t pages = (t->TransferSize + PAGE_SIZE - 1) / PAGE_SIZE;
    struct packet packet = {.kind = PACKET_MOVE};
    if (machine->options.by_address && machine->paging && t->hAllocation && !t->Flags.Swizzle && !t->Flags.Unswizzle)
        mini_error(machine, "content from place to place, of a paging node that has addresses");
    mini_goes_to(machine, t->hAllocation, t->Destination.SegmentId, t->Destination.SegmentAddress);
    if (t->Source.SegmentId != 0 && t->Destination.SegmentId != 0)
        mini_leaves(machine, t->hAllocation, t->Source.SegmentAddress, "moved");
    if (t->Source.SegmentId != 0)
        packet.from = (uint64_t)t->Source.SegmentAddress.QuadPart + t->TransferOffset;
    if (t->Destination.SegmentId != 0)
        packet.to = (uint64_t)t->Destination.SegmentAddress.QuadPart + t->TransferOffset;
    if (t->Source.SegmentId != 0 && t->Destination.SegmentId != 0) {
        packet.size = t->TransferSize;
        return write_packet(argument, packet, NULL, 0) ? STATUS_SUCCESS : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    }
    const MDL *mdl = t->Source.SegmentId == 0 ? t->Source.pMdl : t->Destination.pMdl;
    if (t->MdlOffset + pages > mdl->PageCount)
        mini_error(machine, "a transfer leaves its MDL");
    packet.list = t->Source.SegmentId == 0 ? 1 : 2;
    const struct mini_allocation *allocation = t->hAllocation;
    if (allocation && (t->Flags.Swizzle || t->Flags.Unswizzle)) {
        if (!allocation->tiles || t->Flags.Swizzle == t->Flags.Unswizzle || t->Flags.Swizzle != (packet.list == 1))
            mini_error(machine, "Swizzle or Unswizzle of what is linear, or the wrong way round");
        if (!allocation->lockable)
            mini_error(machine, "Swizzle or Unswizzle of what nobody may lock");
        packet.kind = PACKET_TILES;
        packet.pattern = (uint64_t)(uintptr_t)allocation;
        if (packet.list == 1)
            packet.from = packet.to - t->TransferOffset;
        else
            packet.to = packet.from - t->TransferOffset;
    }
    return build_pages(argument, packet, mdl, t->MdlOffset, t->TransferSize, pages);
}

// Always in pages of the whole allocation, so that the place in the segment says which of them.
static NTSTATUS build_special(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_SPECIALLOCKTRANSFER *s = &argument->SpecialLockTransfer;
    const struct mini_allocation *allocation = s->hAllocation;
    const MDL *pages = s->Source.SegmentId == 0 ? s->Source.pMdl : s->Destination.pMdl;
    if (!allocation || !allocation->alternate)
        mini_error(machine, "SPECIAL_LOCK_TRANSFER where no such lock may be (R86)");
    if ((s->Source.SegmentId == 0) == (s->Destination.SegmentId == 0) || pages->ByteCount < allocation->bytes)
        mini_error(machine, "SPECIAL_LOCK_TRANSFER that is not to or from the pages of an address");
    if (s->Source.SegmentId != 0)
        mini_leaves(machine, allocation, s->Source.SegmentAddress, "evicted");
    DXGKARG_BUILDPAGINGBUFFER transfer = *argument;
    transfer.Transfer.MdlOffset = s->TransferOffset / PAGE_SIZE;
    NTSTATUS status = build_transfer(machine, &transfer);
    argument->pDmaBuffer = transfer.pDmaBuffer;
    argument->DmaSize = transfer.DmaSize;
    argument->MultipassOffset = transfer.MultipassOffset;
    return status;
}

static void change_entries(struct machine *machine, uint64_t first, uint64_t pages, const uint64_t *pfn, uint64_t dummy,
                           bool coherent)
{
    for (uint64_t i = 0; i < pages; i++)
        machine->aperture[first + i] = (struct mini_entry){pfn ? pfn[i] : dummy, coherent};
}

static NTSTATUS build_map(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT *m = &argument->MapApertureSegment;
    const struct mini_allocation *allocation = m->hAllocation;
    if (m->hAllocation)
        ((struct mini_allocation *)m->hAllocation)->pages = m->pMdl;
    if (in_use(machine, allocation, APERTURE_BASE + m->OffsetInPages * PAGE_SIZE, false))
        mini_error(machine, "MAP_APERTURE while a job uses the range (R70)");
    if (m->SegmentId != machine_aperture_segment ||
        (m->OffsetInPages + m->NumberOfPages) * PAGE_SIZE > machine->options.aperture_bytes)
        mini_error(machine, "MAP_APERTURE outside the aperture");
    if (m->Flags.CacheCoherent && !machine->options.coherent_aperture)
        mini_error(machine, "CacheCoherent on a non-coherent aperture (R67)");
    if (machine->knobs.by_registers) {
        change_entries(machine, m->OffsetInPages, m->NumberOfPages, &m->pMdl->Pfn[m->MdlOffset], 0,
                       m->Flags.CacheCoherent);
        return STATUS_SUCCESS;
    }
    struct packet packet = {
        .kind = PACKET_MAP, .to = m->OffsetInPages * PAGE_SIZE, .list = 1, .pattern = m->Flags.CacheCoherent};
    return build_pages(argument, packet, m->pMdl, m->MdlOffset, m->NumberOfPages * PAGE_SIZE, m->NumberOfPages);
}

// R174: told in turns that it is somewhere and nowhere, and somewhere else after a move.
static void notified(struct machine *machine, const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notify)
{
    struct mini_allocation *allocation = notify->hAllocation;
    UINT segment = notify->PhysicalAddress.SegmentId;
    if (!allocation->notify)
        mini_error(machine, "NOTIFY_RESIDENCY of an allocation that did not ask for it (R174)");
    if (notify->Resident != (segment != 0) || (!notify->Resident && notify->PhysicalAddress.SegmentOffset != 0))
        mini_error(machine, "NOTIFY_RESIDENCY contradicts itself");
    if (!notify->Resident && !allocation->told_resident && allocation->told_after == machine->thrown_away)
        mini_error(machine, "NOTIFY_RESIDENCY of an eviction of what was nowhere");
    allocation->told_resident = notify->Resident;
    allocation->told_after = machine->thrown_away;
}

static NTSTATUS build_small(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    struct packet packet = {0};
    switch (argument->Operation) {
    case DXGK_OPERATION_FILL: {
        const struct mini_allocation *allocation = argument->Fill.hAllocation;
        if (argument->Fill.Destination.SegmentId == machine_aperture_segment)
            mini_error(machine, "FILL of an aperture (R47)");
        mini_goes_to(machine, argument->Fill.hAllocation, argument->Fill.Destination.SegmentId,
                     argument->Fill.Destination.SegmentAddress);
        if (in_use(machine, allocation, (uint64_t)argument->Fill.Destination.SegmentAddress.QuadPart, false))
            mini_error(machine, "FILL of a busy allocation (R46)");
        packet = (struct packet){.kind = PACKET_FILL,
                                 .to = (uint64_t)argument->Fill.Destination.SegmentAddress.QuadPart,
                                 .size = argument->Fill.FillSize,
                                 .pattern = argument->Fill.FillPattern};
        break;
    }
    case DXGK_OPERATION_DISCARD_CONTENT:
        mini_leaves(machine, argument->DiscardContent.hAllocation, argument->DiscardContent.SegmentAddress,
                    "discarded");
        if (machine->knobs.silent_discard)
            return STATUS_SUCCESS;
        packet.kind = PACKET_NOTHING;
        break;
    case DXGK_OPERATION_READ_PHYSICAL:
        packet =
            (struct packet){.kind = PACKET_READ, .from = (uint64_t)argument->ReadPhysical.PhysicalAddress.QuadPart};
        break;
    case DXGK_OPERATION_WRITE_PHYSICAL:
        packet =
            (struct packet){.kind = PACKET_WRITE, .to = (uint64_t)argument->WritePhysical.PhysicalAddress.QuadPart};
        break;
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT: {
        struct mini_allocation *allocation = argument->UnmapApertureSegment.hAllocation;
        if (allocation)
            allocation->pages = NULL;
        uint64_t place = APERTURE_BASE + argument->UnmapApertureSegment.OffsetInPages * PAGE_SIZE;
        if (in_use(machine, allocation, place, false))
            mini_error(machine, "UNMAP_APERTURE while a job uses the range (R78)");
        if (machine->knobs.by_registers) {
            const DXGK_BUILDPAGINGBUFFER_UNMAPAPERTURESEGMENT *u = &argument->UnmapApertureSegment;
            change_entries(machine, u->OffsetInPages, u->NumberOfPages, NULL,
                           (uint64_t)u->DummyPage.QuadPart >> PAGE_SHIFT, false);
            return STATUS_SUCCESS;
        }
        packet = (struct packet){.kind = PACKET_UNMAP,
                                 .to = argument->UnmapApertureSegment.OffsetInPages * PAGE_SIZE,
                                 .size = argument->UnmapApertureSegment.NumberOfPages * PAGE_SIZE,
                                 .pattern = (uint64_t)argument->UnmapApertureSegment.DummyPage.QuadPart >> PAGE_SHIFT};
        break;
    }
    case DXGK_OPERATION_NOTIFY_RESIDENCY: notified(machine, &argument->NotifyResidency); return STATUS_SUCCESS;
    default:
        mini_error(machine, "operation %u was not announced", (unsigned)argument->Operation);
        return STATUS_NOT_SUPPORTED;
    }
    return write_packet(argument, packet, NULL, 0) ? STATUS_SUCCESS : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

// Of the two sides of a move the source: nobody has used the other one yet.
static uint64_t place_of(const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &argument->Transfer;
    if (argument->Operation == DXGK_OPERATION_FILL)
        return (uint64_t)argument->Fill.Destination.SegmentAddress.QuadPart;
    if (argument->Operation == DXGK_OPERATION_DISCARD_CONTENT)
        return (uint64_t)argument->DiscardContent.SegmentAddress.QuadPart;
    return (uint64_t)(t->Source.SegmentId ? t->Source.SegmentAddress : t->Destination.SegmentAddress).QuadPart;
}

static void check_idle(struct machine *machine, const struct mini_allocation *allocation, uint64_t place,
                       bool said_idle)
{
    if (said_idle && in_use(machine, allocation, place, true))
        mini_error(machine, "AllocationIsIdle on a busy allocation (R42, R54)");
}

// A fresh buffer, though what was built before was never submitted: after a reset or a fault that is thrown away, and
// at no other time.
static void look_for_thrown_away(struct machine *machine, const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    if (argument->DmaBufferWriteOffset != 0 || machine->building_count == 0)
        return;
    if (!machine->may_throw_away)
        mini_error(machine, "a paging buffer was built and not submitted");
    for (size_t i = 0; i < machine->building_count; i++)
        machine->building[i].allocation->paging_references--;
    machine->building_count = 0;
}

NTSTATUS mini_build(HANDLE adapter, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    struct machine *machine = adapter;
    look_for_thrown_away(machine, argument);
    struct machine_knobs *knobs = &machine->knobs;
    struct mini_allocation *allocation = NULL;
    mark = knobs->patch_completes ? UNFINISHED : 0;
    bool may_be_busy = true;
    bool transfer = argument->Operation == DXGK_OPERATION_TRANSFER ||
                    argument->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER; // whose members begin as those
    if (transfer) {
        allocation = argument->Transfer.hAllocation;
        check_idle(machine, allocation, place_of(argument), argument->Transfer.Flags.AllocationIsIdle);
    } else if (argument->Operation == DXGK_OPERATION_DISCARD_CONTENT) {
        allocation = argument->DiscardContent.hAllocation;
        check_idle(machine, allocation, place_of(argument), argument->DiscardContent.Flags.AllocationIsIdle);
    } else {
        may_be_busy = false;
        if (argument->Operation == DXGK_OPERATION_FILL)
            allocation = argument->Fill.hAllocation;
        if (argument->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER)
            allocation = argument->TransferVirtual.hAllocation;
        if (argument->Operation == DXGK_OPERATION_VIRTUAL_FILL)
            allocation = argument->FillVirtual.hAllocation;
    }
    if (!machine->in_operation) {
        machine->in_operation = true;
        machine->busy_left = knobs->busy_times;
        if (argument->MultipassOffset != 0)
            mini_error(machine, "MultipassOffset is %u at the start of an operation (R25)", argument->MultipassOffset);
    }
    if (knobs->illegal_status != 0)
        return knobs->illegal_status;
    if (knobs->refuse_progress)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    if (may_be_busy && machine->busy_left > 0) {
        machine->busy_left--;
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    }
    if (may_be_busy && knobs->busy_in_later_pass && argument->MultipassOffset != 0) {
        knobs->busy_in_later_pass = false;
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    }
    if (knobs->write_behind)
        ((uint8_t *)argument->pDmaBuffer)[argument->DmaSize] ^= 0xFF;
    if (knobs->overrun) {
        argument->pDmaBuffer = (uint8_t *)argument->pDmaBuffer + argument->DmaSize + 1;
        return STATUS_SUCCESS;
    }
    const void *before = argument->pDmaBuffer;
    NTSTATUS status;
    if (argument->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        status = build_special(machine, argument);
    else if (transfer)
        status = build_transfer(machine, argument);
    else if (argument->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT)
        status = build_map(machine, argument);
    else if (mini_is_virtual(argument->Operation))
        status = mini_build_virtual(machine, argument);
    else
        status = build_small(machine, argument);
    if (argument->pDmaBuffer != before)
        name(machine, allocation, place_of(argument));
    if (status == STATUS_SUCCESS)
        machine->in_operation = false;
    return status;
}
