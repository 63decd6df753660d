// SPDX-License-Identifier: Apache-2.0
// The tree of an address space's ranges.
#include "vidmm/base/least.h"
#include "vidmm/space/address_internal.h"

// A treap: ordered by address, and by a scrambled address as a heap, which keeps it as flat as a random one. Each node
// knows besides where the ranges under it begin and end, and the most room between two of them, so that a place for a
// range is found without a look at each one that has too little.

static uint32_t rank_of(uint64_t first)
{
    return (uint32_t)((first + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

static uint64_t end_of(const struct ferry_vm_range *range)
{
    return range->first + range->pages;
}

static const uint64_t alignments[FERRY_VM_ROOMS] = {1, FERRY_VM_GROUP_PAGES, FERRY_VM_LARGE_PAGES};

// Pages up to `end` from the first multiple on.
static uint64_t room_between(uint64_t first, uint64_t end, unsigned which)
{
    uint64_t at = (first + alignments[which] - 1) & ~(alignments[which] - 1);

    return at < end ? end - at : 0;
}

// What is under the children has changed, or the range itself.
static void sum_up(struct ferry_vm_range *top)
{
    const struct ferry_vm_range *left = top->tree.left, *right = top->tree.right;

    top->tree.lowest = left ? left->tree.lowest : top->first;
    top->tree.highest = right ? right->tree.highest : end_of(top);
    for (unsigned i = 0; i < FERRY_VM_ROOMS; i++) {
        uint64_t below = left ? ferry_vm_most(left->tree.room[i], room_between(left->tree.highest, top->first, i)) : 0;
        uint64_t above =
            right ? ferry_vm_most(right->tree.room[i], room_between(end_of(top), right->tree.lowest, i)) : 0;

        top->tree.room[i] = ferry_vm_most(below, above);
    }
}

static void cut(struct ferry_vm_range *top, uint64_t at, struct ferry_vm_range **below, struct ferry_vm_range **rest)
{
    if (!top) {
        *below = *rest = NULL;
        return;
    }
    if (top->first < at) {
        cut(top->tree.right, at, &top->tree.right, rest);
        *below = top;
    } else {
        cut(top->tree.left, at, below, &top->tree.left);
        *rest = top;
    }
    sum_up(top);
}

static void enter(struct ferry_vm_range **link, struct ferry_vm_range *range)
{
    struct ferry_vm_range *top = *link;

    if (top && top->tree.rank >= range->tree.rank) {
        enter(range->first < top->first ? &top->tree.left : &top->tree.right, range);
    } else {
        cut(top, range->first, &range->tree.left, &range->tree.right);
        *link = range;
    }
    sum_up(*link);
}

static struct ferry_vm_range *merge(struct ferry_vm_range *a, struct ferry_vm_range *b)
{
    if (!a || !b)
        return a ? a : b;
    struct ferry_vm_range *top = a->tree.rank >= b->tree.rank ? a : b;
    if (top == a)
        a->tree.right = merge(a->tree.right, b);
    else
        b->tree.left = merge(a, b->tree.left);
    sum_up(top);
    return top;
}

static void leave(struct ferry_vm_range **link, const struct ferry_vm_range *range)
{
    struct ferry_vm_range *top = *link;

    if (top == range) {
        *link = merge(range->tree.left, range->tree.right);
        return;
    }
    leave(range->first < top->first ? &top->tree.left : &top->tree.right, range);
    sum_up(top);
}

void ferry_vm_range_enter(struct ferry_vm_address_space *space, struct ferry_vm_range *range)
{
    range->tree.rank = rank_of(range->first);
    enter(&space->ranges, range);
}

void ferry_vm_range_leave(struct ferry_vm_address_space *space, struct ferry_vm_range *range)
{
    leave(&space->ranges, range);
}

// Of the ranges of the tree from `from` on the first that has that much room behind it; `behind` begins what follows.
static struct ferry_vm_range *search(struct ferry_vm_range *top, uint64_t from, uint64_t behind, uint64_t pages,
                                     unsigned which)
{
    if (!top || top->tree.highest <= from)
        return NULL;
    if (top->tree.room[which] < pages && room_between(top->tree.highest, behind, which) < pages)
        return NULL;
    struct ferry_vm_range *found = search(top->tree.left, from, top->first, pages, which);
    if (found)
        return found;
    uint64_t next = top->tree.right ? top->tree.right->tree.lowest : behind;
    if (top->first >= from && room_between(end_of(top), next, which) >= pages)
        return top;
    return search(top->tree.right, from, behind, pages, which);
}

struct ferry_vm_range *ferry_vm_range_with_room(const struct ferry_vm_address_space *space,
                                                const struct ferry_vm_range *from, uint64_t pages, uint64_t alignment)
{
    unsigned which = FERRY_VM_ROOMS - 1;

    while (alignments[which] > alignment)
        which--;
    // Behind the last one there is always room, as far as this goes.
    return search(space->ranges, from->first, UINT64_MAX, pages, which);
}

struct ferry_vm_range *ferry_vm_address_find(const struct ferry_vm_address_space *space, uint64_t page)
{
    struct ferry_vm_range *found = NULL;

    for (struct ferry_vm_range *at = space->ranges; at;) {
        if (at->first + at->pages <= page) {
            at = at->tree.right;
        } else {
            found = at;
            at = at->tree.left;
        }
    }
    return found;
}
