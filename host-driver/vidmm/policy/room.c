// SPDX-License-Identifier: Apache-2.0
// Room for allocations: where they go, and who has to leave or to move for it.
#include <stdlib.h>

#include "vidmm/policy/policy.h"

static struct ferry_vm_block *take(struct ferry_vm_segment *segment, struct ferry_vm_allocation *allocation,
                                   bool *no_memory)
{
    uint64_t alignment = UINT64_C(1) << allocation->alignment_log2;
    if (allocation->pinned) {
        // R152: overlays and captures stay in the last fifth, filled from the end.
        uint64_t lowest = (ferry_flags_pinned_lowest(segment->pages * PAGE_SIZE) + PAGE_SIZE - 1) / PAGE_SIZE;
        return ferry_vm_space_take(&segment->space, allocation->pages, alignment, true, lowest, allocation, no_memory);
    }
    bool from_end = ferry_vm_from_end(allocation, segment->id);
    return ferry_vm_space_take(&segment->space, allocation->pages, alignment, from_end, 0, allocation, no_memory);
}

// Enough pages are free, only not in one piece: move blocks down, from the lowest hole on, until one hole is large
// enough. Only blocks that must move are looked at. Content moves inside video memory, which costs no link time (R7).
static int compact(struct ferry_vm_policy *policy, struct ferry_vm_segment *segment, uint64_t pages)
{
    struct ferry_vm_block *block = segment->space.head;
    while (block && ferry_vm_space_largest(&segment->space) < pages) {
        struct ferry_vm_allocation *owner = block->owner;
        struct ferry_vm_block *hole = block->previous;
        bool own = block->owner == policy->memory;
        if (!owner || own || owner->pinned || !hole || hole->owner ||
            (hole->first & ((UINT64_C(1) << owner->alignment_log2) - 1)) != 0) {
            block = block->next;
            continue;
        }
        int result = ferry_vm_transfer_move(policy->memory, owner, hole->first);
        if (result != FERRY_OK) {
            owner->lost = 1;
            return result;
        }
        ferry_vm_emit_place(policy->memory, owner, false);
        ferry_vm_space_slide_down(&segment->space, block);
        ferry_vm_emit_place(policy->memory, owner, true);
        block = block->next; // the hole, now above
    }
    return FERRY_OK;
}

static int by_alignment(const void *a, const void *b)
{
    const struct ferry_vm_allocation *one = *(struct ferry_vm_allocation *const *)a;
    const struct ferry_vm_allocation *two = *(struct ferry_vm_allocation *const *)b;
    if (one->alignment_log2 != two->alignment_log2)
        return one->alignment_log2 < two->alignment_log2 ? 1 : -1;
    return one->use.serial < two->use.serial ? -1 : 1;
}

// The very last resort, when alignments keep what is required from lying close: everything that may move leaves, and
// comes back ordered by falling alignment. Sizes are charged rounded up to their alignment (ferry_vm_charge), and in
// that order rounded sizes lie without a gap, so what was admitted fits. This is the one place that looks at all of a
// segment.
static int repack(struct ferry_vm_policy *policy, struct ferry_vm_segment *segment,
                  struct ferry_vm_allocation *newcomer)
{
    size_t count = 1;
    for (struct ferry_vm_block *block = segment->space.head; block; block = block->next)
        count += block->owner != NULL;
    struct ferry_vm_allocation **all = malloc(count * sizeof(*all));
    if (!all)
        return FERRY_ERROR_NO_HOST_MEMORY;
    count = 0;
    uint64_t charge = ferry_vm_charge(newcomer), room = segment->space.free_pages * PAGE_SIZE;
    for (struct ferry_vm_block *block = segment->space.head; block; block = block->next) {
        struct ferry_vm_allocation *owner = block->owner;
        if (block->owner && block->owner != policy->memory && !owner->pinned) {
            all[count++] = owner;
            charge += ferry_vm_charge(owner);
            room += ferry_vm_bytes(owner);
        }
    }
    int result = charge > room ? FERRY_ERROR_NO_VIDEO_MEMORY : FERRY_OK;
    for (size_t i = 0; i < count && result == FERRY_OK; i++)
        result = ferry_vm_remove(policy->memory, all[i], false);
    if (result != FERRY_OK) {
        free(all);
        return result;
    }
    all[count++] = newcomer;
    qsort(all, count, sizeof(*all), by_alignment);
    for (size_t i = 0; i < count && result == FERRY_OK; i++) {
        bool no_memory;
        struct ferry_vm_block *block = ferry_vm_space_take(
            &segment->space, all[i]->pages, UINT64_C(1) << all[i]->alignment_log2, false, 0, all[i], &no_memory);
        if (!block) {
            result = no_memory ? FERRY_ERROR_NO_HOST_MEMORY : FERRY_ERROR_NO_VIDEO_MEMORY;
            break;
        }
        all[i]->block = block;
        if (all[i] == newcomer)
            continue; // its content comes with the ordinary way on
        all[i]->segment = segment->id & 0xF;
        result = ferry_vm_settle(policy->memory, all[i]);
    }
    if (result != FERRY_OK && newcomer->block) {
        ferry_vm_space_give(&segment->space, newcomer->block);
        newcomer->block = NULL;
    }
    free(all);
    return result;
}

static bool over_budget(const struct ferry_vm_policy *policy, const struct ferry_vm_segment *segment, uint64_t more)
{
    return !segment->aperture && policy->budget != 0 && policy->core->statistics.resident_bytes + more > policy->budget;
}

int ferry_vm_evict_one(struct ferry_vm_policy *policy, struct ferry_vm_segment *segment, uint64_t pages)
{
    struct ferry_vm_use *use = ferry_vm_victim_choose(&segment->victims, policy->memory->time, pages);
    if (!use)
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    int result = ferry_vm_remove(policy->memory, FERRY_VM_CONTAINER(use, struct ferry_vm_allocation, use), false);
    if (result == FERRY_OK)
        policy->core->statistics.evictions++;
    return result;
}

static int make_room(struct ferry_vm_policy *policy, struct ferry_vm_segment *segment,
                     struct ferry_vm_allocation *allocation)
{
    bool no_memory;
    // Nobody who is required leaves for a budget that was lowered meanwhile: it counts at admission only.
    while (over_budget(policy, segment, ferry_vm_bytes(allocation))) {
        int result = ferry_vm_evict_one(policy, segment, allocation->pages);
        if (result == FERRY_ERROR_NO_VIDEO_MEMORY)
            break;
        if (result != FERRY_OK)
            return result;
    }
    bool compacted = false;
    for (;;) {
        allocation->block = take(segment, allocation, &no_memory);
        if (allocation->block)
            return FERRY_OK;
        if (no_memory)
            return FERRY_ERROR_NO_HOST_MEMORY;
        int result;
        if (segment->space.free_pages >= allocation->pages && !compacted && !segment->aperture && !allocation->pinned) {
            result = compact(policy, segment, allocation->pages);
            compacted = true;
        } else {
            uint64_t free_pages = segment->space.free_pages;
            uint64_t wanted = allocation->pages > free_pages ? allocation->pages - free_pages : 1;
            result = ferry_vm_evict_one(policy, segment, wanted);
            compacted = false;
            if (result == FERRY_ERROR_NO_VIDEO_MEMORY && segment->space.free_pages >= allocation->pages &&
                !allocation->pinned)
                return repack(policy, segment, allocation);
        }
        if (result != FERRY_OK)
            return result;
    }
}

int ferry_vm_place(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation)
{
    if (allocation->block)
        return FERRY_OK;
    if (allocation->lost)
        return FERRY_ERROR_DEVICE_LOST;
    struct ferry_vm_segment *order[FERRY_VM_MAX_SEGMENTS];
    unsigned count = ferry_vm_segment_order(policy->memory, allocation, order);
    int result = FERRY_ERROR_NO_VIDEO_MEMORY;
    for (unsigned i = 0; i < count && result == FERRY_ERROR_NO_VIDEO_MEMORY; i++) {
        if (allocation->pages > order[i]->pages)
            continue;
        result = make_room(policy, order[i], allocation);
        if (result == FERRY_OK)
            allocation->segment = order[i]->id & 0xF;
    }
    return result == FERRY_OK ? ferry_vm_settle(policy->memory, allocation) : result;
}

// One pass over the list; *placed tells whether anything moved, which can have put others on the list.
static int place_pass(struct ferry_vm_policy *policy, struct ferry_vm_device *device, bool *placed)
{
    struct ferry_vm_list *link = device->missing.next;
    while (link != &device->missing) {
        struct ferry_vm_allocation *allocation = FERRY_VM_CONTAINER(link, struct ferry_vm_allocation, missing);
        link = link->next;
        // The CPU has its content just now; it comes at the first use after unlock.
        if (allocation->lost || (allocation->locked && !ferry_vm_permanent(allocation)))
            continue;
        int result = ferry_vm_place(policy, allocation);
        if (result != FERRY_OK)
            return result;
        *placed = true;
    }
    return FERRY_OK;
}

#define PASSES 4

int ferry_vm_place_missing(struct ferry_vm_policy *policy, struct ferry_vm_device *device)
{
    bool placed = true;
    for (unsigned pass = 0; placed && pass < PASSES; pass++) {
        placed = false;
        int result = place_pass(policy, device, &placed);
        if (result != FERRY_OK)
            return result;
    }
    return FERRY_OK;
}
