// SPDX-License-Identifier: Apache-2.0
// One function a paging operation: what the argument struct says for an allocation of ours. Room in the pager's line is
// reserved by the caller (ferry_vm_pieces), so none of them can fail.
#include "vidmm/memory/memory.h"

static LARGE_INTEGER address_of(const struct ferry_vm_segment *segment, uint64_t page)
{
    return (LARGE_INTEGER){.QuadPart = (int64_t)(segment->base + page * PAGE_SIZE)};
}

static void advance(LARGE_INTEGER *address, UINT segment, uint64_t bytes)
{
    address->QuadPart += segment != 0 ? (int64_t)bytes : 0;
}

// Cut [first, first + bytes) into sub-transfers and build each (R29 to R36): the first carries TransferStart, the last
// TransferEnd. TransferOffset has 32 bits, so what begins beyond them goes with the piece before it; where the range
// itself begins beyond them, the segment address takes the part that has no room (the driver adds the two).
size_t ferry_vm_pieces(const struct ferry_vm_memory *memory, uint64_t pages)
{
    uint64_t bytes = pages * PAGE_SIZE, piece = memory->sub_transfer_bytes;
    return (size_t)(piece ? bytes / piece + 1 : 1);
}

static void transfer(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                     const DXGK_BUILDPAGINGBUFFER_TRANSFER *from, uint64_t position, uint64_t bytes, uint64_t piece,
                     unsigned flags)
{
    DXGK_BUILDPAGINGBUFFER_TRANSFER moved = *from, *whole = &moved;
    uint64_t first = (UINT)position, beyond = position - first, done = 0;
    advance(&moved.Source.SegmentAddress, moved.Source.SegmentId, beyond);
    advance(&moved.Destination.SegmentAddress, moved.Destination.SegmentId, beyond);
    while (done < bytes) {
        uint64_t size = bytes - done;
        if (piece != 0 && size > piece && first + done + piece <= UINT32_MAX)
            size = piece;
        DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_TRANSFER, .Transfer = *whole};
        argument.Transfer.hAllocation = allocation->miniport;
        argument.Transfer.TransferOffset = (UINT)(first + done);
        argument.Transfer.TransferSize = size;
        argument.Transfer.MdlOffset = (UINT)((position + done) / PAGE_SIZE);
        argument.Transfer.Flags.TransferStart = done == 0;
        argument.Transfer.Flags.TransferEnd = done + size == bytes;
        ferry_vm_queue_operation(memory->sched, &argument, &allocation->subject, size, flags);
        done += size;
    }
}

void ferry_vm_transfer_in(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t first,
                          uint64_t pages)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    DXGK_BUILDPAGINGBUFFER_TRANSFER whole = {0};
    whole.Source.pMdl = allocation->backing;
    whole.Destination.SegmentId = segment->id;
    whole.Destination.SegmentAddress = address_of(segment, allocation->block->first);
    ferry_vm_cache_handover(memory, allocation);
    transfer(memory, allocation, &whole, first * PAGE_SIZE, pages * PAGE_SIZE, memory->sub_transfer_bytes, 0);
    memory->core->statistics.bytes_in += pages * PAGE_SIZE;
}

void ferry_vm_transfer_out(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    DXGK_BUILDPAGINGBUFFER_TRANSFER whole = {0};
    whole.Source.SegmentId = segment->id;
    whole.Source.SegmentAddress = address_of(segment, allocation->block->first);
    whole.Destination.pMdl = allocation->backing;
    ferry_vm_cache_handover(memory, allocation);
    // Pages that the CPU holds locked for writing are newer than video memory, as unlock will say (R114): what is
    // brought back lies before and behind them.
    bool held = allocation->locked && (allocation->lock_flags & D3DDDI_LOCK_READ_ONLY) == 0;
    uint64_t before = (held ? allocation->lock_first : allocation->pages) * (uint64_t)PAGE_SIZE;
    uint64_t behind = held ? before + allocation->lock_pages * (uint64_t)PAGE_SIZE : before;
    uint64_t end = ferry_vm_bytes(allocation);
    transfer(memory, allocation, &whole, 0, before, memory->sub_transfer_bytes, 0);
    transfer(memory, allocation, &whole, behind, end - behind, memory->sub_transfer_bytes, 0);
    memory->core->statistics.bytes_out += before + end - behind;
}

#define LONGEST_MOVE (UINT64_C(1) << 31)

int ferry_vm_transfer_move(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t to)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    DXGK_BUILDPAGINGBUFFER_TRANSFER whole = {0};
    whole.Source.SegmentId = whole.Destination.SegmentId = segment->id;
    whole.Source.SegmentAddress = address_of(segment, allocation->block->first);
    whole.Destination.SegmentAddress = address_of(segment, to);
    // One copy, overlapping or not. What one packet cannot copy is cut: no plan moves up over its own place, so pieces
    // in order from the low end never write what a later piece still reads.
    uint64_t piece = LONGEST_MOVE;
    if (memory->sub_transfer_bytes != 0 && memory->sub_transfer_bytes < piece)
        piece = memory->sub_transfer_bytes;
    uint64_t bytes = ferry_vm_bytes(allocation);
    int result = ferry_vm_reserve(memory->sched, (size_t)(bytes / piece + 1));
    if (result != FERRY_OK)
        return result;
    // Where source and destination of the whole overlap, a second run would read what the first one wrote.
    bool overlap = (allocation->block->first - to) * PAGE_SIZE < bytes;
    transfer(memory, allocation, &whole, 0, bytes, piece, overlap ? FERRY_VM_ONCE : 0);
    memory->core->statistics.bytes_moved += bytes;
    return FERRY_OK;
}

void ferry_vm_fill(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    // R46: idle while its content is filled, as every operation is that waits for the allocation's jobs.
    uint64_t bytes = ferry_vm_bytes(allocation);
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_FILL};
    argument.Fill.hAllocation = allocation->miniport;
    argument.Fill.FillSize = bytes;
    argument.Fill.FillPattern = allocation->fill_pattern;
    argument.Fill.Destination.SegmentId = segment->id;
    argument.Fill.Destination.SegmentAddress = address_of(segment, allocation->block->first);
    ferry_vm_queue_operation(memory->sched, &argument, &allocation->subject, bytes, 0);
    memory->core->statistics.bytes_filled += bytes;
}

void ferry_vm_discard(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};
    argument.DiscardContent.hAllocation = allocation->miniport;
    argument.DiscardContent.SegmentId = segment->id;
    argument.DiscardContent.SegmentAddress = address_of(segment, allocation->block->first);
    uint64_t bytes = ferry_vm_bytes(allocation);
    ferry_vm_queue_operation(memory->sched, &argument, &allocation->subject, bytes, 0);
    memory->core->statistics.bytes_discarded += bytes;
}

void ferry_vm_physical(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                       const struct ferry_vm_segment *segment, uint64_t page, bool write)
{
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation =
                                              write ? DXGK_OPERATION_WRITE_PHYSICAL : DXGK_OPERATION_READ_PHYSICAL};
    DXGK_BUILDPAGINGBUFFER_PHYSICAL physical = {.SegmentId = segment->id, .PhysicalAddress = address_of(segment, page)};
    if (write)
        argument.WritePhysical = physical;
    else
        argument.ReadPhysical = physical;
    ferry_vm_queue_operation(memory->sched, &argument, &allocation->subject, 0, FERRY_VM_WHEN_IDLE);
}
