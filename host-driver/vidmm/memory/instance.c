// SPDX-License-Identifier: Apache-2.0
// The copy of an allocation that sits in a segment: how its content gets there, and how it leaves.
#include "vidmm/memory/addresses.h"

void ferry_vm_emit_place(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation, bool placed)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    struct ferry_vm_process *process = allocation->subject.device->process;
    uint64_t bytes = ferry_vm_bytes(allocation), change = placed ? bytes : 0 - bytes;
    process->in_place[segment->aperture ? FERRY_VM_NON_LOCAL : FERRY_VM_LOCAL] += change;
    memory->core->statistics.resident_bytes += segment->aperture ? 0 : change;
    ferry_vm_emit(memory->core, (struct ferry_vidmm_event){
                                    .kind = placed ? FERRY_VIDMM_EVENT_PLACED : FERRY_VIDMM_EVENT_REMOVED,
                                    .allocation = allocation->subject.handle,
                                    .process = process->handle,
                                    .segment = segment->id,
                                    .offset = allocation->block->first * PAGE_SIZE,
                                    .bytes = bytes,
                                });
    if (!segment->aperture)
        ferry_vm_emit(memory->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_RESIDENT_BYTES,
                                                               .segment = segment->id,
                                                               .value = memory->core->statistics.resident_bytes});
}

// What it counts on the lists of its device and program. What is pinned and in place keeps that for as long as it is
// there, required or not, so it stays on its owner's account.
static void charge(struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_device *device = allocation->subject.device;
    unsigned group = allocation->wants_memory ? FERRY_VM_LOCAL : FERRY_VM_NON_LOCAL;
    bool on = allocation->count > 0 || (allocation->pinned && allocation->block);
    uint64_t change = on ? ferry_vm_charge(allocation) : 0 - ferry_vm_charge(allocation);
    if (on == allocation->charged)
        return;
    allocation->charged = on;
    device->required[group] += change;
    device->process->required[group] += change;
    device->pinned[group] += allocation->pinned ? change : 0;
    device->process->pinned[group] += allocation->pinned ? change : 0;
}

void ferry_vm_relist(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (allocation->block) {
        struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
        // The use is never changed while it stands in an order.
        bool away = allocation->count > 0 && allocation->subject.device->away;
        if (away != allocation->use.away)
            ferry_vm_victim_remove(&segment->victims, &allocation->use);
        allocation->use.away = away;
        if ((allocation->count == 0 || away) && !allocation->pinned && !allocation->kept)
            ferry_vm_victim_add(&segment->victims, &allocation->use);
        else
            ferry_vm_victim_remove(&segment->victims, &allocation->use);
    }
    bool missing = allocation->count > 0 && !allocation->block && !allocation->closing;
    if (missing && ferry_vm_list_empty(&allocation->missing))
        ferry_vm_list_add(&allocation->subject.device->missing, &allocation->missing);
    else if (!missing)
        ferry_vm_list_remove(&allocation->missing);
    charge(allocation);
}

void ferry_vm_used(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    // A candidate, when its device has its list in place only in parts.
    if (allocation->block)
        ferry_vm_victim_remove(&ferry_vm_segment_by_id(memory, allocation->segment)->victims, &allocation->use);
    ferry_vm_victim_used(&allocation->use, &memory->round, memory->time);
    ferry_vm_relist(memory, allocation);
}

void ferry_vm_leave_place(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    if (!allocation->block)
        return;
    ferry_vm_swizzling_release(memory, allocation);
    ferry_vm_emit_place(memory, allocation, false);
    ferry_vm_victim_remove(&segment->victims, &allocation->use);
    segment->pinned_pages -= allocation->pinned ? allocation->use.pages : 0;
    ferry_vm_space_give(&segment->space, allocation->block);
    allocation->block = NULL;
    allocation->segment = 0;
}

// R153 to R156: eviction through an aperture needs room in it, and an overlay there leaves only four fifths.
static bool blocked_by_overlay(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                               enum ferry_vm_way_out way)
{
    const struct ferry_vm_segment *aperture = ferry_vm_segment_by_id(memory, allocation->eviction_segment);
    return way == FERRY_VM_EVICTED && aperture && aperture->pinned_pages != 0 &&
           !ferry_flags_evictable_beside_overlay(ferry_vm_bytes(allocation), aperture->pages * PAGE_SIZE);
}

static bool has_to_come_back(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                             enum ferry_vm_way_out way)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    return !segment->aperture && way != FERRY_VM_UNWANTED && allocation->dirty && !allocation->fresh;
}

// R83. What has a backing store already, as after a lock that failed, goes there: its content is never in both.
static bool to_alternate(const struct ferry_vm_allocation *allocation)
{
    return allocation->alternate_lock && !allocation->backing;
}

// Under such a lock it goes to the alternate address, whatever else still has the content.
static bool recallable(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    return !allocation->alternate_lock && ferry_vm_backing_recallable(memory, allocation);
}

int ferry_vm_remove_prepare(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                            enum ferry_vm_way_out way)
{
    bool wanted = has_to_come_back(memory, allocation, way) && !recallable(memory, allocation) &&
                  !blocked_by_overlay(memory, allocation, way);
    int result = FERRY_OK;
    // The backing store that there is now may be what it moves by before it leaves, and is gone then.
    if (wanted && allocation->alternate_lock)
        result = ferry_vm_alternate_make(memory, allocation);
    return result == FERRY_OK && wanted && !to_alternate(allocation) ? ferry_vm_backing_make(memory, allocation)
                                                                     : result;
}

size_t ferry_vm_remove_most(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    // Out of an aperture: an operation that orders, and the unmapping.
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    size_t places = segment && segment->aperture ? 2 : 2 * ferry_vm_pieces(memory, allocation->use.pages) + 2;
    return places + ferry_vm_notifies(allocation) + ferry_vm_virtual_most(allocation) +
           ferry_vm_notice_most(memory, allocation) + ferry_vm_iommu_most(memory, allocation);
}

int ferry_vm_remove(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, enum ferry_vm_way_out way)
{
    int result = ferry_vm_reserve(memory->sched, ferry_vm_remove_most(memory, allocation));
    if (result == FERRY_OK)
        result = ferry_vm_remove_prepare(memory, allocation, way);
    if (result == FERRY_OK)
        ferry_vm_take_out(memory, allocation, way);
    return result;
}

void ferry_vm_take_out(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                       enum ferry_vm_way_out way)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    bool bring_back = has_to_come_back(memory, allocation, way);
    // Who leaves again before it has come in, as behind a job that hangs, still has its content where it was.
    if (bring_back && recallable(memory, allocation)) {
        ferry_vm_backing_recall(memory, allocation);
        bring_back = false;
    }
    bool loses = bring_back && blocked_by_overlay(memory, allocation, way);
    bring_back = bring_back && !loses;
    if (loses) {
        allocation->lost = 1;
        memory->core->statistics.contents_lost++;
    }
    ferry_vm_virtual_hide(memory, allocation);
    ferry_vm_notify(memory, allocation, false, 0);
    if (segment->aperture) {
        ferry_vm_notice(memory, allocation);
        ferry_vm_unmap(memory, allocation);
        ferry_vm_iommu_leave(memory, allocation);
    } else if (bring_back && !to_alternate(allocation)) {
        ferry_vm_transfer_out(memory, allocation);
    } else if (bring_back) {
        ferry_vm_transfer_special(memory, allocation, false);
        allocation->in_alternate = 1;
    } else {
        // A clean copy, a fill pattern that can be filled again, or content that nobody wants: nothing to bring back.
        ferry_vm_discard(memory, allocation);
        if ((loses || way == FERRY_VM_UNWANTED) && !allocation->backing)
            allocation->fresh = 1;
    }
    allocation->dirty = allocation->dirty_before = 0;
    allocation->coherent = allocation->gpu_wrote = 0;
    ferry_vm_leave_place(memory, allocation);
    ferry_vm_relist(memory, allocation);
}

size_t ferry_vm_settle_most(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    return ferry_vm_pieces(memory, allocation->use.pages) + 2 + ferry_vm_virtual_most(allocation);
}

void ferry_vm_settle(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    ferry_vm_iommu_arrive(memory, allocation);
    if (allocation->renaming)
        allocation->renaming->settled = true;
    // An aperture is never filled by operation (R47): the backing store is what the GPU sees.
    if (segment->aperture) {
        ferry_vm_map(memory, allocation);
    } else {
        if (allocation->fresh)
            ferry_vm_fill(memory, allocation);
        else if (allocation->in_alternate)
            ferry_vm_transfer_special(memory, allocation, true); // R84
        else
            ferry_vm_transfer_in(memory, allocation, 0, allocation->use.pages);
        // What changed places under a lock keeps the copy that the CPU has: it is as if PermanentSysMem until unlock.
        bool keeps = ferry_vm_keeps_backing(allocation), special = allocation->in_alternate;
        ferry_vm_alternate_to_backing(allocation);
        allocation->dirty = !allocation->fresh && !keeps;
        // What was at the alternate address is not taken back as a backing store: what was evicted by the special
        // operation comes in by it (R84).
        allocation->untouched = !allocation->fresh && !keeps && !special;
        if (!keeps)
            ferry_vm_backing_drop(memory, allocation);
    }
    ferry_vm_notify(memory, allocation, true, allocation->block->first);
    ferry_vm_virtual_show(memory, allocation, allocation->block->first);
    if (allocation->pinned)
        segment->pinned_pages += allocation->use.pages;
    ferry_vm_emit_place(memory, allocation, true);
    ferry_vm_relist(memory, allocation);
}
