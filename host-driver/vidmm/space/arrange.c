// SPDX-License-Identifier: Apache-2.0
// When no window does: where could everything lie that must stay? Between the fixed blocks are gaps, and those who stay
// fill them from the low ends. First by falling alignment, in which order sizes rounded up to their alignments lie
// without a hole; then, for few blocks, every order. What stands in the way of the new places leaves, moves, or, where
// blocks only change places with each other, leaves and comes back.
#include <stdlib.h>

#include "vidmm/space/plan_internal.h"

#define EVERY_ORDER 12 // blocks, for which every order counts
#define PASSES      8  // over those who have not moved yet, before they leave and come back

struct item {
    void *owner;
    uint64_t pages, to, lowest;
    uint32_t place;
    uint8_t alignment_log2;
    bool wanted, listed, done;
};
struct gap {
    uint64_t first, end;
};
// The lowest end that a set of items can have, and which of them comes last then.
struct lowest {
    uint64_t at;
    uint32_t gap;
    uint8_t last;
};

// The items from below, the gaps behind them in the same memory.
struct arrangement {
    struct item *items;
    struct gap *gaps;
    struct lowest *sets;
    size_t count, gap_count;
};

static bool collect(struct ferry_vm_plan *plan, struct ferry_vm_region *region, const struct ferry_vm_wanted *wanted,
                    struct arrangement *a)
{
    struct ferry_vm_facts facts;
    size_t count = 1, gaps = 1;
    for (struct ferry_vm_block *block = region->space->head; block; block = block->next) {
        if (!block->owner)
            continue;
        ferry_vm_plan_ask(plan, block->owner, &facts);
        gaps += facts.fixed;
        count += !facts.fixed && !ferry_vm_plan_leaves(&facts);
    }
    size_t sets = count <= EVERY_ORDER ? (size_t)1 << count : 0;
    size_t bytes = count * sizeof(struct item) + gaps * sizeof(struct gap) + sets * sizeof(struct lowest);
    if (bytes > plan->item_capacity) {
        void *items = realloc(plan->items, bytes);
        if (!items)
            return false;
        plan->items = items;
        plan->item_capacity = bytes;
    }
    *a = (struct arrangement){.items = plan->items, .gaps = (struct gap *)((struct item *)plan->items + count)};
    a->sets = sets ? (struct lowest *)(a->gaps + gaps) : NULL;
    a->gaps[a->gap_count++] = (struct gap){0, region->space->pages};
    for (struct ferry_vm_block *block = region->space->head; block; block = block->next) {
        if (!block->owner)
            continue;
        ferry_vm_plan_ask(plan, block->owner, &facts);
        if (facts.fixed) {
            a->gaps[a->gap_count - 1].end = block->first;
            a->gaps[a->gap_count++] = (struct gap){block->first + block->pages, region->space->pages};
        } else if (!ferry_vm_plan_leaves(&facts)) {
            a->items[a->count++] = (struct item){.owner = block->owner,
                                                 .pages = block->pages,
                                                 .place = block->place,
                                                 .listed = facts.use && facts.use->listed != 0,
                                                 .alignment_log2 = (uint8_t)facts.alignment_log2};
        }
    }
    ferry_vm_plan_ask(plan, wanted->owner, &facts);
    a->items[a->count++] = (struct item){.owner = wanted->owner,
                                         .pages = wanted->pages,
                                         .lowest = wanted->lowest,
                                         .alignment_log2 = (uint8_t)facts.alignment_log2,
                                         .wanted = true};
    return true;
}

static uint64_t place_from(uint64_t at, const struct item *item, uint64_t end)
{
    uint64_t first = ferry_vm_align_up(at > item->lowest ? at : item->lowest, item->alignment_log2);
    return first <= end && end - first >= item->pages ? first : FERRY_VM_NOWHERE;
}

static int by_alignment(const void *a, const void *b)
{
    const struct item *one = a, *two = b;
    if (one->alignment_log2 != two->alignment_log2)
        return one->alignment_log2 < two->alignment_log2 ? 1 : -1;
    return one->pages != two->pages ? (one->pages < two->pages ? 1 : -1) : 0;
}

// Whoever waits for a turn asks again and again while the lists of others are in place, and most often it is just this:
// then no order is tried.
static bool too_much(const struct arrangement *a)
{
    uint64_t pages = 0, room = 0;
    for (size_t i = 0; i < a->count; i++)
        pages += a->items[i].pages;
    for (size_t g = 0; g < a->gap_count; g++)
        room += a->gaps[g].end - a->gaps[g].first;
    return pages > room;
}

static bool by_falling_alignment(struct arrangement *a)
{
    qsort(a->items, a->count, sizeof(*a->items), by_alignment);
    bool all = true;
    for (size_t g = 0; g < a->gap_count; g++) {
        uint64_t at = a->gaps[g].first;
        for (size_t i = 0; i < a->count; i++) {
            uint64_t first = a->items[i].done ? FERRY_VM_NOWHERE : place_from(at, &a->items[i], a->gaps[g].end);
            if (first == FERRY_VM_NOWHERE)
                continue;
            a->items[i].to = first;
            a->items[i].done = true;
            at = first + a->items[i].pages;
        }
    }
    for (size_t i = 0; i < a->count; i++) {
        all &= a->items[i].done;
        a->items[i].done = false;
    }
    return all;
}

// Behind `before`, in its gap or the next in which it fits. False = nowhere.
static bool behind(const struct arrangement *a, struct lowest before, const struct item *item, struct lowest *end)
{
    for (uint32_t gap = before.gap; gap < a->gap_count; gap++) {
        uint64_t at = gap == before.gap ? before.at : a->gaps[gap].first;
        uint64_t first = place_from(at, item, a->gaps[gap].end);
        if (first == FERRY_VM_NOWHERE)
            continue;
        *end = (struct lowest){.at = first + item->pages, .gap = gap};
        return true;
    }
    return false;
}

// What can follow on a set of items that ends high can follow on one that ends low too. So for each set the lowest end
// is enough to know, whichever order it comes from.
static bool every_order(struct arrangement *a)
{
    size_t all = ((size_t)1 << a->count) - 1;
    a->sets[0] = (struct lowest){.at = a->gaps[0].first};
    for (size_t set = 1; set <= all; set++) {
        struct lowest *best = &a->sets[set];
        *best = (struct lowest){.gap = UINT32_MAX};
        for (unsigned i = 0; i < a->count; i++) {
            struct lowest end;
            size_t before = set & ~((size_t)1 << i);
            if (before == set || a->sets[before].gap == UINT32_MAX || !behind(a, a->sets[before], &a->items[i], &end))
                continue;
            end.last = (uint8_t)i;
            if (end.gap < best->gap || (end.gap == best->gap && end.at < best->at))
                *best = end;
        }
    }
    if (a->sets[all].gap == UINT32_MAX)
        return false;
    for (size_t set = all; set != 0;) {
        struct item *item = &a->items[a->sets[set].last];
        item->to = a->sets[set].at - item->pages;
        set &= ~((size_t)1 << a->sets[set].last);
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct item *one = a, *two = b;
    return one->to < two->to ? -1 : one->to > two->to;
}

// Candidates that lie where somebody goes.
static bool candidates_leave(struct ferry_vm_plan *plan, struct ferry_vm_region *region, const struct arrangement *a)
{
    size_t i = 0;
    struct ferry_vm_block *next;
    for (struct ferry_vm_block *block = region->space->head; block; block = next) {
        struct ferry_vm_facts facts;
        next = block->next && !block->next->owner ? block->next->next : block->next;
        if (!block->owner)
            continue;
        ferry_vm_plan_ask(plan, block->owner, &facts);
        if (facts.fixed || !ferry_vm_plan_leaves(&facts))
            continue;
        while (i < a->count && a->items[i].to + a->items[i].pages <= block->first)
            i++;
        if (i < a->count && a->items[i].to < block->first + block->pages && !ferry_vm_plan_evict(plan, region, block))
            return false;
    }
    return true;
}

static struct ferry_vm_block *block_of(const struct ferry_vm_plan *plan, const struct item *item)
{
    struct ferry_vm_facts facts;
    ferry_vm_plan_ask(plan, item->owner, &facts);
    return *facts.block;
}

static bool carry_out(struct ferry_vm_plan *plan, struct ferry_vm_region *region, struct arrangement *a)
{
    size_t left = 0;
    for (size_t i = 0; i < a->count; i++) {
        struct item *item = &a->items[i];
        struct ferry_vm_block *block = item->wanted ? NULL : block_of(plan, item);
        item->done = item->wanted || block->first == item->to;
        if (!item->done && item->place && !ferry_vm_plan_move(plan, region, block, FERRY_VM_NOWHERE))
            return false;
        left += !item->done && !item->place;
    }
    bool progress = region->moves;
    for (unsigned pass = 0; left > 0 && progress && pass < PASSES; pass++) {
        progress = false;
        for (size_t n = 0; n < a->count; n++) {
            // Downwards from below, upwards from above: then most find their place in the first two passes.
            struct item *item = &a->items[pass % 2 == 0 ? n : a->count - 1 - n];
            if (item->done || item->place)
                continue;
            struct ferry_vm_block *block = block_of(plan, item);
            // Up over its own place would have to be copied from the end.
            bool over_itself = item->to > block->first && item->to < block->first + block->pages;
            if (over_itself || !ferry_vm_space_free_for(region->space, block, item->to))
                continue;
            if (!ferry_vm_plan_move(plan, region, block, item->to))
                return false;
            item->done = progress = true;
            left--;
        }
    }
    for (size_t i = 0; i < a->count; i++)
        if (!a->items[i].done && !a->items[i].place && !ferry_vm_plan_evict(plan, region, block_of(plan, &a->items[i])))
            return false;
    for (size_t i = 0; i < a->count; i++) {
        struct item *item = &a->items[i];
        if (item->done)
            continue;
        if (!(item->place ? ferry_vm_plan_put(plan, region, item->owner, item->place, item->to, item->pages)
                          : ferry_vm_plan_place(plan, region, item->owner, item->to, item->pages, item->listed)))
            return false;
    }
    return true;
}

uint64_t ferry_vm_plan_arrange(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                               const struct ferry_vm_wanted *wanted, bool *no_memory)
{
    struct arrangement a;
    size_t mark = plan->step_count;
    if (!collect(plan, region, wanted, &a)) {
        *no_memory = true;
        return FERRY_VM_NOWHERE;
    }
    if (too_much(&a) || (!by_falling_alignment(&a) && (!a.sets || !every_order(&a))))
        return FERRY_VM_NOWHERE;
    qsort(a.items, a.count, sizeof(*a.items), by_place);
    uint64_t room = FERRY_VM_NOWHERE;
    for (size_t i = 0; i < a.count; i++)
        if (a.items[i].wanted)
            room = a.items[i].to;
    if (candidates_leave(plan, region, &a) && carry_out(plan, region, &a))
        return room;
    *no_memory = true;
    ferry_vm_plan_back_to(plan, mark);
    return FERRY_VM_NOWHERE;
}
