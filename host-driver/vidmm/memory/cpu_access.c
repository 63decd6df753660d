// SPDX-License-Identifier: Apache-2.0
// CPU access. The CPU always works on a backing store: PermanentSysMem keeps one next to the copy in video memory and
// the two are brought into line at lock and unlock (R113 to R115); anything else gets one for the time of the lock, and
// leaves video memory for a lock that writes.
#include <string.h>

#include "vidmm/memory/memory.h"

// Room in the pager's line, and the backing store, are there.
static void bring_to_backing(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint32_t flags)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    bool discard = (flags & D3DDDI_LOCK_DISCARD) != 0;
    if (!segment)
        return;
    if (segment->aperture) {
        ferry_vm_aperture_order(memory, allocation, (flags & D3DDDI_LOCK_WRITE_ONLY) == 0);
        return;
    }
    // A lock for reading, or one that must not evict, gets a copy and leaves the allocation where it is: until unlock
    // it is as if PermanentSysMem. Whoever writes all of it has no use for the place meanwhile, but for one that is
    // discarded again and again: its content is brought to the same place each time. An overlay keeps its place (R150).
    bool stays = ferry_vm_permanent(allocation) || allocation->pinned ||
                 (flags & (D3DDDI_LOCK_READ_ONLY | D3DDDI_LOCK_DO_NOT_EVICT)) != 0 || (allocation->renaming && discard);
    if (!stays) {
        ferry_vm_take_out(memory, allocation, discard ? FERRY_VM_UNWANTED : FERRY_VM_FOR_A_MOMENT);
        return;
    }
    if (allocation->dirty && !discard)
        ferry_vm_transfer_out(memory, allocation);
    allocation->dirty = allocation->dirty_before = 0;
}

int ferry_vm_lock_check(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                        uint32_t flags, uint64_t first, uint64_t count)
{
    if (!ferry_flags_lockable(allocation->flags))
        return FERRY_ERROR_NOT_LOCKABLE;
    if (allocation->locked)
        return FERRY_ERROR_LOCKED;
    if (first >= allocation->use.pages || count > allocation->use.pages - first)
        return FERRY_ERROR_RANGE;
    if (allocation->lost)
        return FERRY_ERROR_DEVICE_LOST;
    // It is jobs that are not waited for, nobody's. DoNotWait means nothing beside Discard.
    uint64_t paging = allocation->subject.last_fence[memory->sched->paging_node];
    if ((flags & (D3DDDI_LOCK_DO_NOT_WAIT | D3DDDI_LOCK_DISCARD)) == D3DDDI_LOCK_DO_NOT_WAIT &&
        (ferry_vm_busy(memory->sched, &allocation->subject) || ferry_vm_behind_a_job(memory->sched, paging)))
        return FERRY_ERROR_BUSY;
    return FERRY_OK;
}

int ferry_vm_lock_begin(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint32_t flags,
                        uint64_t first, uint64_t count, uint64_t until[FERRY_VM_MAX_NODES])
{
    ferry_vm_alternate_to_backing(allocation);
    // Room and pages first: a lock that fails for want of them has discarded and moved nothing.
    int result = ferry_vm_reserve(memory->sched, ferry_vm_remove_most(memory, allocation));
    if (result == FERRY_OK && !ferry_vm_backing_recall(memory, allocation))
        result = ferry_vm_backing_make(memory, allocation);
    if (result != FERRY_OK)
        return result;
    // What is discarded is so when all is over that the lock waits for: one that waits in vain has given nothing up.
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    if ((flags & D3DDDI_LOCK_DISCARD) == 0 || (segment && segment->aperture))
        bring_to_backing(memory, allocation, flags);
    // All jobs that name it so far, and what was just queued; also a transfer to video memory that still reads the
    // pages the CPU is about to write.
    memcpy(until, allocation->subject.last_fence, sizeof(allocation->subject.last_fence));
    if ((flags & (D3DDDI_LOCK_READ_ONLY | D3DDDI_LOCK_DISCARD)) == 0)
        allocation->fresh = 0;
    // What the GPU wrote and the CPU discarded exists nowhere any more, so all of it is written at unlock.
    if ((flags & D3DDDI_LOCK_DISCARD) != 0) {
        first = 0;
        count = allocation->use.pages;
    }
    allocation->locked = allocation->locking = 1;
    allocation->lock_flags = flags & 0xFF;
    allocation->lock_first = (uint32_t)first;
    allocation->lock_pages = (uint32_t)count;
    return FERRY_OK;
}

int ferry_vm_lock_ready(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                        uint64_t until[FERRY_VM_MAX_NODES], bool last)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    unsigned paging = memory->sched->paging_node;
    if ((allocation->lock_flags & D3DDDI_LOCK_READ_ONLY) != 0)
        return FERRY_OK;
    // Its room may have been wanted meanwhile, and then its pages are still to be written.
    if (!allocation->lock_held)
        until[paging] = allocation->subject.last_fence[paging];
    if (!ferry_vm_operation_over(memory->sched, until[paging])) {
        // Behind jobs, it may be, that have come since the lock began.
        bool waits =
            (allocation->lock_flags & (D3DDDI_LOCK_DO_NOT_WAIT | D3DDDI_LOCK_DISCARD)) != D3DDDI_LOCK_DO_NOT_WAIT;
        if (!waits && ferry_vm_behind_a_job(memory->sched, until[paging]))
            return FERRY_ERROR_BUSY;
        allocation->lock_held = last;
        return FERRY_PENDING;
    }
    if ((allocation->lock_flags & D3DDDI_LOCK_DISCARD) == 0)
        return FERRY_OK;
    int result = FERRY_OK;
    if (segment && !segment->aperture) {
        result = ferry_vm_reserve(memory->sched, ferry_vm_remove_most(memory, allocation));
        // That it leaves video memory need not be waited for.
        if (result == FERRY_OK)
            bring_to_backing(memory, allocation, allocation->lock_flags);
    }
    if (result == FERRY_OK) {
        allocation->fresh = 0;
    } else if (!ferry_vm_permanent(allocation) && (allocation->dirty || allocation->fresh) &&
               ferry_vm_operation_over(memory->sched, allocation->subject.last_fence[paging])) {
        // What the lock was to have. The content is in its place, or still the pattern.
        ferry_vm_pages_free(memory->core, allocation->backing);
        allocation->backing = NULL;
    }
    return result;
}

int ferry_vm_lock_end(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, void **address)
{
    if (allocation->lost) {
        ferry_vm_lock_cancel(memory, allocation);
        return FERRY_ERROR_DEVICE_LOST;
    }
    allocation->locking = allocation->lock_held = allocation->lock_skipped = 0;
    ferry_vm_cache_handover(memory, allocation);
    bool reads = (allocation->lock_flags & (D3DDDI_LOCK_WRITE_ONLY | D3DDDI_LOCK_DISCARD)) == 0;
    memory->core->statistics.uncached_reads += reads && (allocation->flags & DXGK_ALLOC_FLAG_CACHED) == 0;
    if ((allocation->flags & DXGK_ALLOC_FLAG_CPU_VISIBLE_ON_DEMAND) != 0)
        memory->core->statistics.on_demand_bytes += ferry_vm_bytes(allocation);
    *address = allocation->backing->MappedSystemVa;
    return FERRY_OK;
}

void ferry_vm_lock_cancel(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    // Of another instance that the lock has taken nobody wants it.
    if (allocation->lock_skipped && !(allocation->renaming && allocation->renaming->before)) {
        allocation->lost = 1;
        allocation->subject.device->state = D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT;
        memory->core->statistics.contents_lost++;
    }
    allocation->locked = allocation->locking = allocation->lock_held = allocation->lock_skipped = 0;
}

int ferry_vm_unlock(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (!allocation->locked || allocation->locking)
        return FERRY_ERROR_NOT_LOCKED;
    if (ferry_vm_locked_in_place(allocation)) {
        allocation->locked = 0;
        if (allocation->alternate_lock)
            ferry_vm_alternate_end(memory, allocation);
        return FERRY_OK;
    }
    int result = ferry_vm_reserve(memory->sched, ferry_vm_pieces(memory, allocation->use.pages) + 1);
    if (result != FERRY_OK)
        return result;
    allocation->locked = 0;
    if ((allocation->flags & DXGK_ALLOC_FLAG_CPU_VISIBLE_ON_DEMAND) != 0)
        memory->core->statistics.on_demand_bytes -= ferry_vm_bytes(allocation);
    bool written = (allocation->lock_flags & D3DDDI_LOCK_READ_ONLY) == 0;
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    if (!segment)
        return FERRY_OK;
    if (segment->aperture) {
        if (written && !allocation->coherent)
            ferry_vm_cache_handover(memory, allocation);
        return FERRY_OK;
    }
    if (written)
        ferry_vm_transfer_in(memory, allocation, allocation->lock_first, allocation->lock_pages);
    if (!ferry_vm_permanent(allocation)) {
        // The lock's own copy goes, and what is in video memory is the only one again (R110).
        allocation->dirty = !allocation->fresh;
        allocation->untouched = 0;
        ferry_vm_backing_drop(memory, allocation);
    }
    return FERRY_OK;
}
