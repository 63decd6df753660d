// SPDX-License-Identifier: Apache-2.0
// Taking allocations out of their segment.
#include "vidmm/internal.h"

void ferry_vm_relist(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation)
{
    if (allocation->block) {
        struct ferry_vm_segment *segment = ferry_vm_segment_by_id(manager, allocation->segment);
        if (allocation->count == 0 && !allocation->pinned)
            ferry_vm_victim_add(&segment->victims, &allocation->use);
        else
            ferry_vm_victim_remove(&segment->victims, &allocation->use);
    }
    bool missing = allocation->count > 0 && !allocation->block;
    if (missing && ferry_vm_list_empty(&allocation->missing))
        ferry_vm_list_add(&allocation->device->missing, &allocation->missing);
    else if (!missing)
        ferry_vm_list_remove(&allocation->missing);
}

// R153 to R156: eviction through an aperture needs room in it, and an overlay there leaves only four fifths.
static bool blocked_by_overlay(struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_segment *aperture = ferry_vm_segment_by_id(manager, allocation->eviction_segment);
    return aperture && aperture->pinned_pages != 0 &&
           !ferry_flags_evictable_beside_overlay(ferry_vm_bytes(allocation), aperture->pages * PAGE_SIZE);
}

int ferry_vm_remove(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation, bool drop)
{
    struct ferry_vm_segment *segment = ferry_vm_segment_by_id(manager, allocation->segment);
    int result;
    if (!segment->aperture && !drop && allocation->dirty && !allocation->fresh &&
        blocked_by_overlay(manager, allocation)) {
        drop = true;
        allocation->lost = 1;
        manager->statistics.contents_lost++;
    }
    if (segment->aperture) {
        result = ferry_vm_unmap(manager, allocation);
    } else if (!drop && allocation->dirty && !allocation->fresh) {
        result = ferry_vm_backing_make(manager, allocation);
        if (result == FERRY_OK)
            result = ferry_vm_transfer_out(manager, allocation);
    } else {
        // A clean copy, a fill pattern that can be filled again, or content that nobody wants: nothing to bring back.
        result = ferry_vm_discard(manager, allocation);
        if (result == FERRY_OK && drop && !allocation->backing)
            allocation->fresh = 1;
    }
    if (result != FERRY_OK)
        return result;
    allocation->dirty = allocation->dirty_before = 0;
    allocation->coherent = allocation->gpu_wrote = 0;
    ferry_vm_emit_place(manager, allocation, false);
    ferry_vm_victim_remove(&segment->victims, &allocation->use);
    segment->pinned_pages -= allocation->pinned ? allocation->pages : 0;
    ferry_vm_space_give(&segment->space, allocation->block);
    allocation->block = NULL;
    allocation->segment = 0;
    ferry_vm_relist(manager, allocation);
    return FERRY_OK;
}

int ferry_vm_evict_one(struct ferry_vidmm *manager, struct ferry_vm_segment *segment, uint64_t pages)
{
    struct ferry_vm_use *use = ferry_vm_victim_choose(&segment->victims, manager->time, pages);
    if (!use)
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    int result = ferry_vm_remove(manager, FERRY_VM_CONTAINER(use, struct ferry_vm_allocation, use), false);
    if (result == FERRY_OK)
        manager->statistics.evictions++;
    return result;
}
