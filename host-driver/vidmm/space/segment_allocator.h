// SPDX-License-Identifier: Apache-2.0
// Room in one segment, best fit. Free blocks hang in bins by size, two levels of them: powers of two, each cut into
// eight; a bit for each bin tells which have any, so a hole of about the right size is found without a walk. All blocks
// form a list in address order, for joining neighbours, and a directory finds them by address (directory.h), which is
// also what looks from the end of the segment. Offsets and sizes are in pages.
//
// Not thread-safe by itself. Blocks belong to the allocator; a block pointer is good from take() to give().
#ifndef FERRY_VIDMM_SPACE_SEGMENT_ALLOCATOR_H
#define FERRY_VIDMM_SPACE_SEGMENT_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "vidmm/space/block.h"
#include "vidmm/space/directory.h"

#define FERRY_VM_BIN_POWERS 64

struct ferry_vm_space {
    struct ferry_vm_block *head;  // lowest block
    struct ferry_vm_block *spare; // nodes for later, through `next`
    uint64_t pages, free_pages;
    struct ferry_vm_directory directory;
    struct ferry_vm_block *bins[FERRY_VM_BIN_POWERS][8];
    uint64_t powers;                      // bit p: one of bins[p] has any
    uint8_t eighths[FERRY_VM_BIN_POWERS]; // bit e of [p]: bins[p][e] has any
};

/// False when the host has no memory left. pages may be 0: such a space never has room.
bool ferry_vm_space_init(struct ferry_vm_space *space, uint64_t pages);
void ferry_vm_space_destroy(struct ferry_vm_space *space);
/// Contiguous room for pages (1 and more) at a multiple of alignment pages (a power of two): at the low end of one of
/// the smallest holes that are large enough, or with from_end at the highest such place. No part of it lies below page
/// `lowest`, which only from_end may set above 0. NULL when there is none or the host has no memory (*no_memory).
struct ferry_vm_block *ferry_vm_space_take(struct ferry_vm_space *space, uint64_t pages, uint64_t alignment,
                                           bool from_end, uint64_t lowest, void *owner, bool *no_memory);
/// Where take() would put it; UINT64_MAX = nowhere. With an alignment, of the holes that are large enough 64 are looked
/// at and one that has a whole alignment to spare.
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
