// SPDX-License-Identifier: Apache-2.0
// The tree of an address space's ranges.
#include <stdlib.h>

#include "vidmm/base/least.h"
#include "vidmm/space/address_internal.h"

// Ordered by address, and under no range the one side more than one higher than the other: programs choose addresses,
// so nothing that follows from those keeps it flat. Each range knows where the one behind it begins, and the most room
// behind any range under it, so that a place for a range is found without a look at each one that has too little. Of
// most changes the ranges further up learn nothing new, and they are not looked at.

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
    return top ? top->tree.sums.height : 0;
}

static uint64_t room_of(const struct ferry_vm_range *top, unsigned which)
{
    return top ? top->tree.sums.room[which] : 0;
}

// That behind the last one is not counted: there is always some, as far as this goes.
static uint64_t room_behind(const struct ferry_vm_range *range, unsigned which)
{
    return range->tree.next == UINT64_MAX ? 0 : room_between(end_of(range), range->tree.next, which);
}

// What is under the children has changed, or the room behind the range itself.
static void sum_up(struct ferry_vm_range *top)
{
    const struct ferry_vm_range *left = top->tree.left, *right = top->tree.right;

    top->tree.sums.height = 1 + (height_of(left) > height_of(right) ? height_of(left) : height_of(right));
    for (unsigned i = 0; i < FERRY_VM_ROOMS; i++)
        top->tree.sums.room[i] = ferry_vm_most(ferry_vm_most(room_of(left, i), room_of(right, i)), room_behind(top, i));
}

static bool are_alike(const struct ferry_vm_range_sums *one, const struct ferry_vm_range_sums *other)
{
    bool alike = one->height == other->height;

    for (unsigned i = 0; i < FERRY_VM_ROOMS; i++)
        alike &= one->room[i] == other->room[i];
    return alike;
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

// One of its sides may have become higher or lower by one. Is there something in what has come about that whoever is
// above it has to know?
static bool level(struct ferry_vm_range **link)
{
    struct ferry_vm_range *top = *link, *left = top->tree.left, *right = top->tree.right;
    const struct ferry_vm_range_sums before = top->tree.sums;

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
    return !are_alike(&before, &(*link)->tree.sums);
}

// Between these two, of which the first one ends up to know it; it is above, where there is one. The result is
// level()'s.
static bool enter(struct ferry_vm_range **link, struct ferry_vm_range *range, struct ferry_vm_range *before,
                  const struct ferry_vm_range *behind)
{
    struct ferry_vm_range *top = *link;

    if (!top) {
        range->tree = (struct ferry_vm_range_node){.next = behind ? behind->first : UINT64_MAX};
        sum_up(range);
        if (before)
            before->tree.next = range->first;
        *link = range;
        return true;
    }
    const uint64_t next = top->tree.next;
    bool news = range->first < top->first ? enter(&top->tree.left, range, before, top)
                                          : enter(&top->tree.right, range, top, behind);
    return (news || top->tree.next != next) && level(link);
}

static struct ferry_vm_range *take_highest(struct ferry_vm_range **link)
{
    struct ferry_vm_range *top = *link;

    if (!top->tree.right) {
        *link = top->tree.left;
        return top;
    }
    struct ferry_vm_range *highest = take_highest(&top->tree.right);
    level(link);
    return highest;
}

// `before` is the nearest above that is before it. The result is level()'s.
static bool leave(struct ferry_vm_range **link, const struct ferry_vm_range *range, struct ferry_vm_range *before)
{
    struct ferry_vm_range *top = *link;
    const uint64_t next = top->tree.next;
    bool news;

    if (top != range) {
        news = range->first < top->first ? leave(&top->tree.left, range, before) : leave(&top->tree.right, range, top);
        return (news || top->tree.next != next) && level(link);
    }
    if (!top->tree.left) {
        if (before)
            before->tree.next = next;
        *link = top->tree.right;
        return true;
    }
    struct ferry_vm_range *highest = take_highest(&top->tree.left);
    highest->tree = top->tree;
    *link = highest;
    return level(link);
}

struct ferry_vm_range *ferry_vm_range_new(void)
{
    struct ferry_vm_range *range;

    return calloc(1, sizeof *range + sizeof range->more[0]);
}

void ferry_vm_range_enter(struct ferry_vm_range **tree, struct ferry_vm_range *range)
{
    enter(tree, range, NULL, NULL);
}

void ferry_vm_range_leave(struct ferry_vm_range **tree, struct ferry_vm_range *range)
{
    leave(tree, range, NULL);
}

// Of the ranges under this one from the address `from` on the first that has that much room behind it.
static struct ferry_vm_range *search(struct ferry_vm_range *top, uint64_t from, uint64_t pages, unsigned which)
{
    if (room_of(top, which) < pages)
        return NULL;
    if (top->first < from)
        return search(top->tree.right, from, pages, which);
    struct ferry_vm_range *found = search(top->tree.left, from, pages, which);
    if (found)
        return found;
    return room_behind(top, which) >= pages ? top : search(top->tree.right, from, pages, which);
}

struct ferry_vm_range *ferry_vm_range_with_room(const struct ferry_vm_address_space *space,
                                                const struct ferry_vm_range *from, uint64_t pages, uint64_t alignment)
{
    unsigned which = FERRY_VM_ROOMS - 1;

    while (alignments[which] > alignment)
        which--;
    struct ferry_vm_range *found = search(space->ranges, from->first, pages, which);
    if (!found)
        for (found = space->ranges; found->tree.right;)
            found = found->tree.right;
    return found;
}

struct ferry_vm_range *ferry_vm_range_find(struct ferry_vm_range *tree, uint64_t page)
{
    struct ferry_vm_range *found = NULL;

    for (struct ferry_vm_range *at = tree; at;) {
        if (at->first + at->pages <= page) {
            at = at->tree.right;
        } else {
            found = at;
            at = at->tree.left;
        }
    }
    return found;
}

struct ferry_vm_range *ferry_vm_address_find(const struct ferry_vm_address_space *space, uint64_t page)
{
    return ferry_vm_range_find(space->ranges, page);
}

uint64_t ferry_vm_range_end_before(const struct ferry_vm_address_space *space, uint64_t page)
{
    uint64_t end = 0;

    for (const struct ferry_vm_range *at = space->ranges; at;) {
        bool before = end_of(at) <= page;

        end = before ? end_of(at) : end;
        at = before ? at->tree.right : at->tree.left;
    }
    return end;
}
