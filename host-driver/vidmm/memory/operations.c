// SPDX-License-Identifier: Apache-2.0
// One function a paging operation: what the argument struct says for an allocation of ours. Room in the pager's line is
// reserved by the caller (ferry_vm_pieces), so none of them can fail.
#include "vidmm/base/least.h"
#include "vidmm/memory/addresses.h"
#include "vidmm/space/plan.h"

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

static void transfer_by(DXGK_BUILDPAGINGBUFFER_OPERATION operation, struct ferry_vm_memory *memory,
                        struct ferry_vm_allocation *allocation, const DXGK_BUILDPAGINGBUFFER_TRANSFER *from,
                        uint64_t position, uint64_t bytes, uint64_t piece)
{
    DXGK_BUILDPAGINGBUFFER_TRANSFER moved = *from, *whole = &moved;
    uint64_t first = (UINT)position, beyond = position - first, done = 0;
    advance(&moved.Source.SegmentAddress, moved.Source.SegmentId, beyond);
    advance(&moved.Destination.SegmentAddress, moved.Destination.SegmentId, beyond);
    while (done < bytes) {
        uint64_t size = bytes - done;
        if (piece != 0 && size > piece && first + done + piece <= UINT32_MAX)
            size = piece;
        DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = operation, .Transfer = *whole};
        argument.Transfer.hAllocation = allocation->miniport;
        argument.Transfer.TransferOffset = (UINT)(first + done);
        argument.Transfer.TransferSize = size;
        argument.Transfer.MdlOffset = (UINT)((position + done) / PAGE_SIZE);
        argument.Transfer.Flags.Swizzle = allocation->linear_outside && whole->Source.SegmentId == 0;
        argument.Transfer.Flags.Unswizzle = allocation->linear_outside && whole->Destination.SegmentId == 0;
        argument.Transfer.Flags.TransferStart = done == 0;
        argument.Transfer.Flags.TransferEnd = done + size == bytes;
        // It has no MdlOffset: the pages are the whole allocation's, and TransferOffset counts in them too.
        if (operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER) {
            argument.SpecialLockTransfer.SwizzlingRangeId = 0;
            argument.SpecialLockTransfer.SwizzlingRangeData = allocation->lock_private;
        }
        ferry_vm_queue_operation(memory->sched, &argument, &allocation->subject, size, 0);
        done += size;
    }
}

static struct ferry_vm_side side(const struct ferry_vm_memory *memory, const DXGK_TRANSFERSIDE *at, uint64_t page)
{
    struct ferry_vm_side whole = {.segment = at->SegmentId, .first = page};
    if (at->SegmentId == 0) {
        whole.pages = at->pMdl;
        whole.coherent = true; // as TRANSFER reaches host memory
        return whole;
    }
    uint64_t base = ferry_vm_segment_by_id((struct ferry_vm_memory *)memory, at->SegmentId)->base;
    whole.first += ((uint64_t)at->SegmentAddress.QuadPart - base) / PAGE_SIZE;
    return whole;
}

// Tiles on one side, rows on the other.
static bool swizzles(const struct ferry_vm_allocation *allocation, const DXGK_BUILDPAGINGBUFFER_TRANSFER *t)
{
    return allocation->linear_outside && (t->Source.SegmentId == 0 || t->Destination.SegmentId == 0);
}

// VIRTUAL_TRANSFER: in chunks, as many pages at a time as the paging process has addresses for on both sides. It has no
// flags for Swizzle and Unswizzle: the driver knows what is swizzled, and the direction says which way. All of that is
// mapped, whatever part of it goes.
static void transfer_by_address(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                                const DXGK_BUILDPAGINGBUFFER_TRANSFER *from, uint64_t position, uint64_t bytes)
{
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER};
    bool whole = swizzles(allocation, from);
    uint64_t first = whole ? 0 : position / PAGE_SIZE;
    struct ferry_vm_steps steps = {
        .side_count = 2,
        .sides = {side(memory, &from->Source, first), side(memory, &from->Destination, first)},
        .offset = first,
        .pages = whole ? allocation->use.pages : bytes / PAGE_SIZE};
    if (whole) {
        steps.part = position / PAGE_SIZE;
        steps.part_pages = bytes / PAGE_SIZE;
        steps.alignment_log2 = allocation->alignment_log2;
    }
    argument.TransferVirtual.hAllocation = allocation->miniport;
    argument.TransferVirtual.TransferDirection = from->Source.SegmentId == 0 ? DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL
                                                 : from->Destination.SegmentId == 0
                                                     ? DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM
                                                     : DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL;
    if (bytes != 0)
        ferry_vm_window_queue(memory, allocation, &argument, &steps, 0);
}

static void transfer(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                     const DXGK_BUILDPAGINGBUFFER_TRANSFER *from, uint64_t position, uint64_t bytes, uint64_t piece)
{
    if (memory->by_address && (!swizzles(allocation, from) || ferry_vm_window_holds_whole(memory, allocation))) {
        transfer_by_address(memory, allocation, from, position, bytes);
        return;
    }
    transfer_by(DXGK_OPERATION_TRANSFER, memory, allocation, from, position, bytes, piece);
}

void ferry_vm_transfer_special(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, bool in)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    DXGK_BUILDPAGINGBUFFER_TRANSFER whole = {0};
    DXGK_TRANSFERSIDE *place = in ? &whole.Destination : &whole.Source,
                      *pages = in ? &whole.Source : &whole.Destination;
    uint64_t bytes = ferry_vm_bytes(allocation);
    struct ferry_vidmm_process_statistics *process = &allocation->subject.device->process->statistics;
    assert(allocation->alternate);
    place->SegmentId = segment->id;
    place->SegmentAddress = address_of(segment, allocation->block->first);
    pages->pMdl = allocation->alternate;
    ferry_vm_cache_handover(memory, allocation);
    transfer_by(DXGK_OPERATION_SPECIAL_LOCK_TRANSFER, memory, allocation, &whole, 0, bytes, memory->sub_transfer_bytes);
    *(in ? &memory->core->statistics.bytes_in : &memory->core->statistics.bytes_out) += bytes;
    *(in ? &process->bytes_in : &process->bytes_out) += bytes;
}

void ferry_vm_transfer_in(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t first,
                          uint64_t pages)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    DXGK_BUILDPAGINGBUFFER_TRANSFER whole = {0};
    assert(allocation->backing);
    whole.Source.pMdl = allocation->backing;
    whole.Destination.SegmentId = segment->id;
    whole.Destination.SegmentAddress = address_of(segment, allocation->block->first);
    ferry_vm_cache_handover(memory, allocation);
    transfer(memory, allocation, &whole, first * PAGE_SIZE, pages * PAGE_SIZE, memory->sub_transfer_bytes);
    memory->core->statistics.bytes_in += pages * PAGE_SIZE;
    allocation->subject.device->process->statistics.bytes_in += pages * PAGE_SIZE;
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
    // brought back lies before and behind them. While the lock waits they are the GPU's, but for the end of a long
    // wait.
    bool cpus = !allocation->locking || allocation->lock_held;
    bool held = allocation->locked && cpus && (allocation->lock_flags & D3DDDI_LOCK_READ_ONLY) == 0 &&
                !ferry_vm_locked_in_place(allocation);
    allocation->lock_skipped |= held && allocation->locking;
    uint64_t before = (held ? allocation->lock_first : allocation->use.pages) * (uint64_t)PAGE_SIZE;
    uint64_t behind = held ? before + allocation->lock_pages * (uint64_t)PAGE_SIZE : before;
    uint64_t end = ferry_vm_bytes(allocation);
    transfer(memory, allocation, &whole, 0, before, memory->sub_transfer_bytes);
    transfer(memory, allocation, &whole, behind, end - behind, memory->sub_transfer_bytes);
    // Whoever takes the place waits for an operation on all of it, and through that for its jobs.
    if (held)
        ferry_vm_discard(memory, allocation);
    memory->core->statistics.bytes_out += before + end - behind;
    allocation->subject.device->process->statistics.bytes_out += before + end - behind;
}

#define LONGEST_MOVE (UINT64_C(1) << 31)
// A step of a move over the allocation's own place costs about as much as bringing so many bytes out and in again.
#define LEAST_STEP (FERRY_VM_PLAN_LEAST_STEP * PAGE_SIZE)

// Over its own place a move is one that cannot be run again from where it began, as it must be when a reset aborts it
// half-way: its source is not there any more. So it goes in steps as long as it is wide, each a transfer of its own
// that leaves its own source alone; the pager puts a step into another buffer than the one whose source it overwrites.
// In order from the low end no step writes what a later one still reads, since no plan moves up over its own place.
static void move_in_steps(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                          const DXGK_BUILDPAGINGBUFFER_TRANSFER *whole, uint64_t step, uint64_t piece)
{
    uint64_t bytes = ferry_vm_bytes(allocation);
    for (uint64_t done = 0; done < bytes; done += step)
        transfer(memory, allocation, whole, done, ferry_vm_least(step, bytes - done), piece);
    memory->core->statistics.bytes_moved += bytes;
    allocation->subject.device->process->statistics.bytes_moved += bytes;
}

// Where the steps would be too many: out, and in at the new place.
static void move_by_backing(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                            const DXGK_BUILDPAGINGBUFFER_TRANSFER *whole)
{
    DXGK_BUILDPAGINGBUFFER_TRANSFER in = *whole;
    ferry_vm_backing_recall(memory, allocation);
    in.Source.SegmentId = 0;
    in.Source.pMdl = allocation->backing;
    if (allocation->dirty)
        ferry_vm_transfer_out(memory, allocation);
    else
        ferry_vm_discard(memory, allocation);
    ferry_vm_cache_handover(memory, allocation);
    transfer(memory, allocation, &in, 0, ferry_vm_bytes(allocation), memory->sub_transfer_bytes);
    memory->core->statistics.bytes_in += ferry_vm_bytes(allocation);
    allocation->subject.device->process->statistics.bytes_in += ferry_vm_bytes(allocation);
    bool keeps = ferry_vm_keeps_backing(allocation);
    allocation->dirty = allocation->untouched = !keeps;
    allocation->dirty_before &= !keeps;
    if (!keeps)
        ferry_vm_backing_drop(memory, allocation);
}

static uint64_t step_of(const struct ferry_vm_allocation *allocation, uint64_t from, uint64_t to)
{
    uint64_t bytes = ferry_vm_bytes(allocation), down = (from - to) * PAGE_SIZE;
    return to < from && down < bytes ? down : bytes;
}

// What one packet cannot copy is cut too.
static uint64_t piece_of_move(const struct ferry_vm_memory *memory)
{
    return memory->sub_transfer_bytes != 0 ? ferry_vm_least(memory->sub_transfer_bytes, LONGEST_MOVE) : LONGEST_MOVE;
}

bool ferry_vm_move_by_backing(const struct ferry_vm_allocation *allocation, uint64_t from, uint64_t to)
{
    uint64_t bytes = ferry_vm_bytes(allocation), step = step_of(allocation, from, to);
    return !allocation->fresh && step < bytes && step < LEAST_STEP && bytes > LEAST_STEP;
}

size_t ferry_vm_move_most(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                          uint64_t from, uint64_t to)
{
    uint64_t step = step_of(allocation, from, to);
    if (ferry_vm_move_by_backing(allocation, from, to))
        return 3 * ferry_vm_pieces(memory, allocation->use.pages) + 3 + 2 * ferry_vm_virtual_most(allocation);
    return (size_t)((ferry_vm_bytes(allocation) / step + 1) * (step / piece_of_move(memory) + 1)) + 2 +
           2 * ferry_vm_virtual_most(allocation);
}

static void fill_by_address(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t page)
{
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_VIRTUAL_FILL};
    struct ferry_vm_steps steps = {
        .side_count = 1, .sides = {{.segment = allocation->segment, .first = page}}, .pages = allocation->use.pages};
    argument.FillVirtual.hAllocation = allocation->miniport;
    argument.FillVirtual.FillPattern = allocation->fill_pattern;
    ferry_vm_window_queue(memory, allocation, &argument, &steps, 0);
}

static void fill_by_place(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t page)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    uint64_t bytes = ferry_vm_bytes(allocation);
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_FILL};
    argument.Fill.hAllocation = allocation->miniport;
    argument.Fill.FillSize = bytes;
    argument.Fill.FillPattern = allocation->fill_pattern;
    argument.Fill.Destination.SegmentId = segment->id;
    argument.Fill.Destination.SegmentAddress = address_of(segment, page);
    ferry_vm_queue_operation(memory->sched, &argument, &allocation->subject, bytes, 0);
}

static void fill_at(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t page)
{
    // R46: idle while its content is filled, as every operation is that waits for the allocation's jobs.
    uint64_t bytes = ferry_vm_bytes(allocation);
    (memory->by_address ? fill_by_address : fill_by_place)(memory, allocation, page);
    memory->core->statistics.bytes_filled += bytes;
    allocation->subject.device->process->statistics.bytes_filled += bytes;
}

void ferry_vm_fill(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    fill_at(memory, allocation, allocation->block->first);
}

void ferry_vm_transfer_move(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t to)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    uint64_t from = allocation->block->first;
    DXGK_BUILDPAGINGBUFFER_TRANSFER whole = {0};
    whole.Source.SegmentId = whole.Destination.SegmentId = segment->id;
    whole.Source.SegmentAddress = address_of(segment, from);
    whole.Destination.SegmentAddress = address_of(segment, to);
    ferry_vm_swizzling_release(memory, allocation);
    ferry_vm_virtual_hide(memory, allocation);
    // Whoever takes the place that it leaves waits for an operation on it, and through that for its jobs.
    if (allocation->fresh) {
        ferry_vm_discard(memory, allocation);
        fill_at(memory, allocation, to);
    } else if (ferry_vm_move_by_backing(allocation, from, to)) {
        move_by_backing(memory, allocation, &whole);
    } else {
        move_in_steps(memory, allocation, &whole, step_of(allocation, from, to), piece_of_move(memory));
    }
    ferry_vm_notify(memory, allocation, true, to);
    ferry_vm_virtual_show(memory, allocation, to);
}

bool ferry_vm_notifies(const struct ferry_vm_allocation *allocation)
{
    return (allocation->flags & DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION) != 0;
}

void ferry_vm_notify(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, bool resident,
                     uint64_t page)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_NOTIFY_RESIDENCY};
    if (!ferry_vm_notifies(allocation))
        return;
    argument.NotifyResidency.hAllocation = allocation->miniport;
    argument.NotifyResidency.Resident = resident;
    // Evicted, it is nowhere: all of the address is 0.
    if (resident) {
        argument.NotifyResidency.PhysicalAddress.SegmentId = segment->id;
        argument.NotifyResidency.PhysicalAddress.SegmentOffset = page * PAGE_SIZE;
    }
    ferry_vm_queue_operation(memory->sched, &argument, &allocation->subject, 0, 0);
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
    allocation->subject.device->process->statistics.bytes_discarded += bytes;
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
