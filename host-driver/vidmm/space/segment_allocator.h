// SPDX-License-Identifier: Apache-2.0
// Room in one segment. Free blocks stand in a treap ordered by address in which every node knows the largest block
// below it, so the lowest or the highest block that is large enough is found in O(log n) without a walk; all blocks
// also form a list in address order, for joining neighbours. Offsets and sizes are in pages.
//
// Not thread-safe by itself. Blocks belong to the allocator; a block pointer is good from take() to give().
#ifndef FERRY_VIDMM_SPACE_SEGMENT_ALLOCATOR_H
#define FERRY_VIDMM_SPACE_SEGMENT_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

struct ferry_vm_block {
    uint64_t first, pages;
    struct ferry_vm_block *previous, *next; // neighbours by address
    void *owner;                            // NULL = free
    struct ferry_vm_block *left, *right;    // treap of the free blocks
    uint64_t largest;                       // pages of the largest block in this subtree
    uint32_t priority;
    uint32_t place; // the plan's: 1 + the number of the placement that took it, 0 = it was there before
};

struct ferry_vm_space {
    struct ferry_vm_block *head;  // lowest block
    struct ferry_vm_block *root;  // treap of the free ones
    struct ferry_vm_block *spare; // nodes for later, through `next`
    uint64_t pages, free_pages;
    uint32_t seed;
};

/// False when the host has no memory left. pages may be 0: such a space never has room.
bool ferry_vm_space_init(struct ferry_vm_space *space, uint64_t pages);
void ferry_vm_space_destroy(struct ferry_vm_space *space);
/// Contiguous room for pages (1 and more) at a multiple of alignment pages (a power of two), from the lowest such
/// place, or from the highest with from_end. No part of it lies below page `lowest`, which only from_end may set
/// above 0. NULL when there is none or the host has no memory (*no_memory).
struct ferry_vm_block *ferry_vm_space_take(struct ferry_vm_space *space, uint64_t pages, uint64_t alignment,
                                           bool from_end, uint64_t lowest, void *owner, bool *no_memory);
/// Where take() would put it; UINT64_MAX = nowhere. With an alignment, of the holes that are large enough the outermost
/// 64 are looked at and one that has a whole alignment to spare.
uint64_t ferry_vm_space_find(const struct ferry_vm_space *space, uint64_t pages, uint64_t alignment, bool from_end,
                             uint64_t lowest);
/// Exactly [first, first + pages). NULL when not all of it is free or the host has no memory. Never for lack of memory
/// when the space had as many blocks before as it gets by this.
struct ferry_vm_block *ferry_vm_space_take_at(struct ferry_vm_space *space, uint64_t first, uint64_t pages, void *owner,
                                              bool *no_memory);
/// Is there room for the block at page first, when it may overlap itself?
bool ferry_vm_space_free_for(const struct ferry_vm_space *space, const struct ferry_vm_block *block, uint64_t first);
void ferry_vm_space_give(struct ferry_vm_space *space, struct ferry_vm_block *block);
/// The lowest of the largest holes; NULL when nothing is free.
struct ferry_vm_block *ferry_vm_space_largest_hole(const struct ferry_vm_space *space);
/// Pages of the largest free block. O(1).
uint64_t ferry_vm_space_largest(const struct ferry_vm_space *space);

#endif
