// SPDX-License-Identifier: Apache-2.0
// The tree of an address space's ranges.
#include "vidmm/space/address_internal.h"

// A treap: ordered by address, and by a scrambled address as a heap, which keeps it as flat as a random one.

static uint32_t rank_of(uint64_t first)
{
    return (uint32_t)((first + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

static void cut(struct ferry_vm_range *tree, uint64_t at, struct ferry_vm_range **below, struct ferry_vm_range **rest)
{
    while (tree) {
        if (tree->first < at) {
            *below = tree;
            below = &tree->right;
            tree = tree->right;
        } else {
            *rest = tree;
            rest = &tree->left;
            tree = tree->left;
        }
    }
    *below = *rest = NULL;
}

void ferry_vm_range_enter(struct ferry_vm_address_space *space, struct ferry_vm_range *range)
{
    struct ferry_vm_range **link = &space->ranges;

    range->rank = rank_of(range->first);
    while (*link && (*link)->rank >= range->rank)
        link = range->first < (*link)->first ? &(*link)->left : &(*link)->right;
    cut(*link, range->first, &range->left, &range->right);
    *link = range;
}

void ferry_vm_range_leave(struct ferry_vm_address_space *space, struct ferry_vm_range *range)
{
    struct ferry_vm_range **link = &space->ranges, *a = range->left, *b = range->right;

    while (*link != range)
        link = range->first < (*link)->first ? &(*link)->left : &(*link)->right;
    while (a && b) {
        if (a->rank >= b->rank) {
            *link = a;
            link = &a->right;
            a = a->right;
        } else {
            *link = b;
            link = &b->left;
            b = b->left;
        }
    }
    *link = a ? a : b;
}

struct ferry_vm_range *ferry_vm_address_find(const struct ferry_vm_address_space *space, uint64_t page)
{
    struct ferry_vm_range *found = NULL;

    for (struct ferry_vm_range *at = space->ranges; at;) {
        if (at->first + at->pages <= page) {
            at = at->right;
        } else {
            found = at;
            at = at->left;
        }
    }
    return found;
}
