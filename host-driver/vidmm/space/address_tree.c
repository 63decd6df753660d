// SPDX-License-Identifier: Apache-2.0
// The tree of an address space's ranges.
#include "vidmm/base/least.h"
#include "vidmm/space/address_internal.h"

// Ordered by address, and under no range the one side more than one higher than the other: programs choose addresses,
// so nothing that follows from those keeps it flat. Each node knows besides where the ranges under it begin and end,
// and the most room between two of them, so that a place for a range is found without a look at each one that has too
// little.

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

static uint32_t height_of(const struct ferry_vm_range *top)
{
    return top ? top->tree.height : 0;
}

// What is under the children has changed, or the range itself.
static void sum_up(struct ferry_vm_range *top)
{
    const struct ferry_vm_range *left = top->tree.left, *right = top->tree.right;

    top->tree.height = 1 + (height_of(left) > height_of(right) ? height_of(left) : height_of(right));
    top->tree.lowest = left ? left->tree.lowest : top->first;
    top->tree.highest = right ? right->tree.highest : end_of(top);
    for (unsigned i = 0; i < FERRY_VM_ROOMS; i++) {
        uint64_t below = left ? ferry_vm_most(left->tree.room[i], room_between(left->tree.highest, top->first, i)) : 0;
        uint64_t above =
            right ? ferry_vm_most(right->tree.room[i], room_between(end_of(top), right->tree.lowest, i)) : 0;

        top->tree.room[i] = ferry_vm_most(below, above);
    }
}

static void raise_left(struct ferry_vm_range **link)
{
    struct ferry_vm_range *top = *link, *raised = top->tree.left;

    top->tree.left = raised->tree.right;
    raised->tree.right = top;
    sum_up(top);
    sum_up(raised);
    *link = raised;
}

static void raise_right(struct ferry_vm_range **link)
{
    struct ferry_vm_range *top = *link, *raised = top->tree.right;

    top->tree.right = raised->tree.left;
    raised->tree.left = top;
    sum_up(top);
    sum_up(raised);
    *link = raised;
}

// One of its sides has become higher or lower by one.
static void level(struct ferry_vm_range **link)
{
    struct ferry_vm_range *top = *link, *left = top->tree.left, *right = top->tree.right;

    if (height_of(left) > height_of(right) + 1) {
        if (height_of(left->tree.right) > height_of(left->tree.left))
            raise_right(&top->tree.left);
        raise_left(link);
    } else if (height_of(right) > height_of(left) + 1) {
        if (height_of(right->tree.left) > height_of(right->tree.right))
            raise_left(&top->tree.right);
        raise_right(link);
    } else {
        sum_up(top);
    }
}

static void enter(struct ferry_vm_range **link, struct ferry_vm_range *range)
{
    struct ferry_vm_range *top = *link;

    if (!top)
        *link = range;
    else
        enter(range->first < top->first ? &top->tree.left : &top->tree.right, range);
    level(link);
}

static struct ferry_vm_range *take_lowest(struct ferry_vm_range **link)
{
    struct ferry_vm_range *top = *link;

    if (!top->tree.left) {
        *link = top->tree.right;
        return top;
    }
    struct ferry_vm_range *lowest = take_lowest(&top->tree.left);
    level(link);
    return lowest;
}

static void leave(struct ferry_vm_range **link, const struct ferry_vm_range *range)
{
    struct ferry_vm_range *top = *link;

    if (top != range) {
        leave(range->first < top->first ? &top->tree.left : &top->tree.right, range);
    } else if (!top->tree.left || !top->tree.right) {
        *link = top->tree.left ? top->tree.left : top->tree.right;
        return;
    } else {
        struct ferry_vm_range *next = take_lowest(&top->tree.right);

        next->tree.left = top->tree.left;
        next->tree.right = top->tree.right;
        *link = next;
    }
    level(link);
}

void ferry_vm_range_enter(struct ferry_vm_address_space *space, struct ferry_vm_range *range)
{
    range->tree.left = range->tree.right = NULL;
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
