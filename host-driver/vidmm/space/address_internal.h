// SPDX-License-Identifier: Apache-2.0
// What the files of an address space share: the tree of its ranges (address_tree.c), its tables (address_tables.c),
// where ranges go (address_places.c), and what becomes of them (address_ranges.c).
#ifndef FERRY_VIDMM_SPACE_ADDRESS_INTERNAL_H
#define FERRY_VIDMM_SPACE_ADDRESS_INTERNAL_H

#include "vidmm/space/address_space.h"

/// One of zeros, which is no owner's whole. NULL when there is no memory.
struct ferry_vm_range *ferry_vm_range_new(void);
/// Into a tree of ranges, where none overlaps it; or out of it. Neither fails, and whoever is out may change.
void ferry_vm_range_enter(struct ferry_vm_range **tree, struct ferry_vm_range *range);
void ferry_vm_range_leave(struct ferry_vm_range **tree, struct ferry_vm_range *range);
/// The range that holds the page, or the first behind it; NULL = none.
struct ferry_vm_range *ferry_vm_range_find(struct ferry_vm_range *tree, uint64_t page);
/// The first range from this one on behind which so many pages are free, from a multiple of the alignment on; the last
/// one of all, when there is none before. Of an alignment that no pages have there may be fewer.
struct ferry_vm_range *ferry_vm_range_with_room(const struct ferry_vm_address_space *space,
                                                const struct ferry_vm_range *from, uint64_t pages, uint64_t alignment);

/// Where the last range ends that does so at this page or before it; 0 when there is none.
uint64_t ferry_vm_range_end_before(const struct ferry_vm_address_space *space, uint64_t page);

/// Where a range goes, which may be taken when the place was given. At any place it is aligned less, down to
/// `smallest`, where there is no room otherwise. Errors: ARGUMENT, NO_VIDEO_MEMORY (no such room).
int ferry_vm_place_find(const struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                        uint64_t smallest, uint64_t *first);
/// Of any place, when the pool has too few tables for the one at `first`: a free one that brings about as many as the
/// pool has, if there is one, aligned less if need be; else the one of the fewest. Of thousands of free stretches not
/// all are looked at: then those beside the tables that there are.
uint64_t ferry_vm_place_with_tables(const struct ferry_vm_address_space *space, const struct ferry_vm_where *where,
                                    uint64_t pages, uint64_t first);

/// Tables that addresses need and that do not exist. Zeroed at first.
struct ferry_vm_missing {
    uint64_t lowest, upper;                  // of level 0, and above it
    uint64_t counted[FERRY_VM_TABLE_LEVELS]; // by level: those below this number, as addresses go
};
/// Count what these addresses need and none before them did: whoever asks about several goes from low ones to high.
void ferry_vm_missing_count(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                            struct ferry_vm_missing *missing);
/// Tables that the space may have yet.
uint64_t ferry_vm_tables_free(const struct ferry_vm_address_space *space);
/// Bytes of tables that the pool has too few of for it.
uint64_t ferry_vm_missing_bytes(const struct ferry_vm_address_space *space, const struct ferry_vm_missing *missing);
/// More tables than the pool holds at all would be needed for so many pages: then they need not be counted.
bool ferry_vm_beyond_tables(const struct ferry_vm_address_space *space, uint64_t pages, uint64_t *table_bytes);

// Tables in host memory, made before anything has changed: without children, and with them.
struct ferry_vm_spares {
    struct ferry_vm_table *lists[2];
};
bool ferry_vm_spares_make(const struct ferry_vm_missing *missing, struct ferry_vm_spares *spares);
void ferry_vm_spares_free(struct ferry_vm_spares *spares);

/// Pages are mapped there from now on; the tables that were missing are among the spares. Or they are no longer.
void ferry_vm_tables_use(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                         struct ferry_vm_spares *spares);
void ferry_vm_tables_unuse(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages);
/// The table of that level above the page, and those above it; each that was missing is among the spares.
struct ferry_vm_table *ferry_vm_tables_make(struct ferry_vm_address_space *space, uint64_t page, unsigned level,
                                            struct ferry_vm_spares *spares);
/// It stays though nothing is mapped under it; or no longer.
void ferry_vm_table_keep(struct ferry_vm_table *table, bool kept);
/// All of them go back to the pool, which is the space's no longer.
void ferry_vm_tables_end(struct ferry_vm_address_space *space);

#endif
