// SPDX-License-Identifier: Apache-2.0
// A batch of operations on reserved addresses (wddm-facts 4.6, Update). It is worked out beside the address space,
// operation by operation, each on what those before it have left; nothing has changed when one of them cannot be. Then
// it is carried out as a whole: what is the same afterwards is not touched, whatever was done to it in between.
#ifndef FERRY_VIDMM_SPACE_ADDRESS_BATCH_H
#define FERRY_VIDMM_SPACE_ADDRESS_BATCH_H

#include "vidmm/space/address_space.h"

// What addresses are to be.
struct ferry_vm_part {
    uint64_t first, pages;
    void *owner; // NULL = only reserved
    uint64_t offset;
    bool read_only;
};

struct ferry_vm_part_list {
    struct ferry_vm_part *parts;
    size_t count, capacity;
};

// A range that comes about. kept: what is left of one that was cut, mapped as before.
struct ferry_vm_made {
    struct ferry_vm_range *range;
    bool kept;
};

#define FERRY_VM_BATCH_NODES 8

struct ferry_vm_batch {
    struct ferry_vm_address_space *space;
    uint64_t reservation;       // which all of it is in; 0 = nothing yet
    struct ferry_vm_range *put; // what the operations so far make of addresses: a tree of ranges of no space yet
    struct ferry_vm_part_list copied;
    // Of ferry_vm_batch_prepare(): what of it is another thing afterwards, in the order of addresses; ranges that go,
    // as a whole or cut, and those that come instead, both in order.
    struct ferry_vm_part_list list;
    struct ferry_vm_range **old;
    size_t old_count, old_capacity;
    struct ferry_vm_made *made;
    size_t made_count;
    uint64_t new_tables;
    // Of each node the newest job behind which something is so that the operations found to be so.
    uint64_t behind[FERRY_VM_BATCH_NODES];
    bool unmaps_again; // Some of what is to be unmapped is only reserved already.
    struct ferry_vm_table *spares[2];
    bool committed;
};

void ferry_vm_batch_begin(struct ferry_vm_batch *batch, struct ferry_vm_address_space *space);
/// Whatever it holds; the space is as it is.
void ferry_vm_batch_end(struct ferry_vm_batch *batch);

// One operation more. Errors: ARGUMENT (no pages, beyond the space, not all of it in one reservation or in another one
// than the operations before; `repeat` does not divide the pages), NO_VIDEO_MEMORY (more than all tables there are;
// *table_bytes), NO_HOST_MEMORY. The batch is to be given up then.
/// Map to pages of the owner from `offset` on; so many of them again and again, 0 = as many as there are addresses.
int ferry_vm_batch_map(struct ferry_vm_batch *batch, const struct ferry_vm_part *part, uint64_t repeat,
                       uint64_t *table_bytes);
/// The same without a repeat, and where a mapping is that no reservation holds: all of the addresses are in that one,
/// or all in one reservation, else BUSY. So is the owner's mapping of each instance. The batch's only operation.
int ferry_vm_batch_map_over(struct ferry_vm_batch *batch, const struct ferry_vm_part *part, uint64_t *table_bytes);
int ferry_vm_batch_unmap(struct ferry_vm_batch *batch, uint64_t first, uint64_t pages);
/// Whatever is mapped at `source`, which is in one reservation, is mapped here too, and what is not is not. Both may
/// overlap.
int ferry_vm_batch_copy(struct ferry_vm_batch *batch, uint64_t first, uint64_t pages, uint64_t source);

/// Everything that carrying it out needs. Errors: NO_VIDEO_MEMORY (*table_bytes), NO_HOST_MEMORY.
int ferry_vm_batch_prepare(struct ferry_vm_batch *batch, uint64_t *table_bytes);

// Pages of a range that goes which are mapped to something else afterwards, or to nothing.
struct ferry_vm_removed {
    size_t next; // part to look at; 0 at first
    uint64_t first, pages;
};
/// The next of them, from low to high; false when there are no more.
bool ferry_vm_batch_removed(const struct ferry_vm_batch *batch, const struct ferry_vm_range *range,
                            struct ferry_vm_removed *removed);

/// What was prepared takes place. The old ranges are no ranges of the space any more, and the batch's until it ends;
/// the made ones are. Tables stay until ferry_vm_address_shrink(), new ones are told of by ferry_vm_address_fresh().
void ferry_vm_batch_commit(struct ferry_vm_batch *batch);

/// Of consecutive pages that are mapped from `first` on to those from `place` on: the addresses that have one entry, a
/// large page or a group, which an edge at `edge` cuts in two; of level 1 with *large. None when *zone_end is 0.
void ferry_vm_address_cut_entry(uint64_t first, uint64_t pages, uint64_t place, uint64_t edge, uint64_t *zone,
                                uint64_t *zone_end, bool *large);

#endif
