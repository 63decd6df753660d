// SPDX-License-Identifier: Apache-2.0
// Where in a segment blocks begin. The segment is cut into streets of 16 pages; each knows the lowest block that
// begins in it and how large the largest hole is that does. A tournament over the streets, as a binary tree in an
// array, tells for each half, quarter, and so on, of the segment the largest hole in it. So the block at an address,
// and the hole nearest to an end that is large enough, take O(log n) and no walk.
#ifndef FERRY_VIDMM_SPACE_DIRECTORY_H
#define FERRY_VIDMM_SPACE_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ferry_vm_block;

#define FERRY_VM_STREET 16 // pages

struct ferry_vm_directory {
    struct ferry_vm_block **lowest; // by street
    uint64_t *largest;              // [1] of all, [2 n] and [2 n + 1] of the halves of [n], [streets + s] of street s
    size_t streets;                 // a power of two
};

/// False when the host has no memory left.
bool ferry_vm_directory_init(struct ferry_vm_directory *directory, uint64_t pages);
void ferry_vm_directory_destroy(struct ferry_vm_directory *directory);

/// A block begins at block->first from now on, or did so until now; its `next` is linked.
void ferry_vm_directory_enter(struct ferry_vm_directory *directory, struct ferry_vm_block *block);
void ferry_vm_directory_leave(struct ferry_vm_directory *directory, const struct ferry_vm_block *block);
/// A block that is entered became a hole, or is none any more.
void ferry_vm_directory_hole(struct ferry_vm_directory *directory, const struct ferry_vm_block *hole);
void ferry_vm_directory_no_hole(struct ferry_vm_directory *directory, const struct ferry_vm_block *block);

static inline uint64_t ferry_vm_directory_largest(const struct ferry_vm_directory *directory)
{
    return directory->largest[1];
}
/// The lowest hole of at least so many pages (1 and more), NULL when there is none.
struct ferry_vm_block *ferry_vm_directory_first(const struct ferry_vm_directory *directory, uint64_t pages);
/// The highest hole of at least so many pages that begins below page `end`.
struct ferry_vm_block *ferry_vm_directory_below(const struct ferry_vm_directory *directory, uint64_t end,
                                                uint64_t pages);

#endif
