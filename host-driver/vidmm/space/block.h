// SPDX-License-Identifier: Apache-2.0
// A piece of a segment, taken or free: the segment allocator's node. Offsets and sizes are in pages.
#ifndef FERRY_VIDMM_SPACE_BLOCK_H
#define FERRY_VIDMM_SPACE_BLOCK_H

#include <stdint.h>

struct ferry_vm_block {
    uint64_t first, pages;
    struct ferry_vm_block *previous, *next; // neighbours by address
    void *owner;                            // NULL = free
    struct ferry_vm_block *before, *behind; // in the bin of a free one
    uint32_t place; // the plan's: 1 + the number of the placement that took it, 0 = it was there before
};

#endif
