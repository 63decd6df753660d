// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses of one program: which are reserved, which are mapped to what, and which page tables that takes.
// Pure: nothing here knows of a device. Addresses are counted in pages of 4 KiB.
//
// Ranges stand in a tree by address. Tables have four levels of 512 entries; level 0 is the lowest. A table exists as
// long as anything under it is mapped, wherever the content is, so that bringing content in or out never needs a table
// and cannot fail for want of one. Who maps is told of each new table's page before anything has changed.
#ifndef FERRY_VIDMM_SPACE_ADDRESS_SPACE_H
#define FERRY_VIDMM_SPACE_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vidmm/space/table_pool.h"

#define FERRY_VM_VA_PAGES      (UINT64_C(1) << 36)
#define FERRY_VM_TABLE_LEVELS  4
#define FERRY_VM_TABLE_ENTRIES 512
#define FERRY_VM_GROUP_PAGES   16  // of 64 KiB
#define FERRY_VM_LARGE_PAGES   512 // of 2 MiB

struct ferry_vm_table {
    struct ferry_vm_table *parent;
    struct ferry_vm_table **children; // of levels above 0
    struct ferry_vm_table *fresh;     // the next one nobody has taken note of
    uint64_t page;                    // where it is; of the pool
    uint64_t first;                   // first page of the addresses under it
    uint32_t used;                    // level 0: pages mapped; above: tables below it; and 1 more of one that is kept
    uint8_t level;
    bool kept; // though nothing is mapped under it: some of it leads to zeros, and not all
};

#define FERRY_VM_ROOMS 3

// What is to be known of a range of the tree with all that is under it.
struct ferry_vm_range_sums {
    uint32_t height;
    // Most pages that are free behind one of them: those from the first multiple of 1, of 16 and of 512 on.
    uint64_t room[FERRY_VM_ROOMS];
};

// A range's place in the tree.
struct ferry_vm_range_node {
    struct ferry_vm_range *left, *right;
    uint64_t next; // where the one behind it begins; UINT64_MAX = it is the last one
    struct ferry_vm_range_sums sums;
};

// What several ranges of an owner come to.
struct ferry_vm_owned {
    uint64_t count;
    uint64_t most, tables_most;     // operations that they take at most, and those of the tables that end with them
    struct ferry_vm_range *waiting; // the newest of those with `after`
};

// What only those have that are no owner's whole.
struct ferry_vm_range_more {
    uint64_t offset;      // page of the owner's that comes first
    uint64_t reservation; // which it is in, mapped or not; 0 = none
    // What shows it waits for this job of that node: the mapping is not there for what stands before it. For the owner.
    uint64_t after;
    uint32_t after_node;
    struct ferry_vm_range *waits, *waits_before; // the owner's next of those with `after`, and the one before
    struct ferry_vm_owned all;                   // of those like it: the owner's first of them has it
};

// A piece of the space that is taken.
struct ferry_vm_range {
    uint64_t first, pages;
    void *owner; // of the mapping; NULL = only reserved
    bool read_only;
    bool each_instance;          // the owner's whole; each other instance of what it is has one too
    uint64_t shown_first, shown; // operations that show it, or what it is left of
    struct ferry_vm_range_node tree;
    struct ferry_vm_range *of_owner, *of_owner_before; // the owner's next, and the one before
    struct ferry_vm_range_more more[];                 // one, or none: most are wholes, and there may be a million
};

/// What there is more of a range; all zeros of an owner's whole.
static inline const struct ferry_vm_range_more *ferry_vm_range_more(const struct ferry_vm_range *range)
{
    static const struct ferry_vm_range_more nothing;
    return range->each_instance ? &nothing : range->more;
}

struct ferry_vm_address_space {
    struct ferry_vm_range *ranges;
    struct ferry_vm_range *zeros; // reserved addresses of which what is not mapped reads as zeros: a tree
    struct ferry_vm_table *root;
    struct ferry_vm_table_pool *pool;
    struct ferry_vm_table *fresh, *fresh_last; // those that came about, parents before children
    uint64_t next;                             // where the next range of any place is looked for first
    uint64_t mapped_pages, tables;
    uint64_t reservations; // ever
    bool shares;           // the pool with other programs
};

/// Where a range is to be. Pages; base UINT64_MAX = any place in [least, most), most 0 = no bound. Of any place the
/// alignment is a wish: where there is no room otherwise it is that of smaller pages, of a reservation of no smaller
/// ones than 64 KiB; and of no smaller ones than `smallest`, a power of two as the alignment is and no larger, 0 = 1.
struct ferry_vm_where {
    uint64_t base, least, most, alignment, smallest;
};

/// Of a range that may be anywhere: so that it has pages as large as it has room for.
static inline uint64_t ferry_vm_address_alignment(uint64_t pages)
{
    return pages >= FERRY_VM_LARGE_PAGES   ? FERRY_VM_LARGE_PAGES
           : pages >= FERRY_VM_GROUP_PAGES ? FERRY_VM_GROUP_PAGES
                                           : 1;
}

void ferry_vm_address_space_init(struct ferry_vm_address_space *space, struct ferry_vm_table_pool *pool);
/// It is a program's, until its end or until it is none any more: it leaves tables for others (table_pool.h), and they
/// for it. Asked again, nothing changes.
void ferry_vm_address_space_share(struct ferry_vm_address_space *space);
void ferry_vm_address_space_unshare(struct ferry_vm_address_space *space);
/// Whatever is in it; tables go back to the pool.
void ferry_vm_address_space_end(struct ferry_vm_address_space *space);

/// Take addresses without mapping them. Errors: ARGUMENT (no pages, not aligned, beyond 48 bits), BUSY (not all free),
/// NO_VIDEO_MEMORY (no such room among the addresses), NO_HOST_MEMORY. Nothing has changed then.
int ferry_vm_address_reserve(struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                             uint64_t *first);
/// Map them to pages of an owner from `offset` on: free addresses, or such as are reserved and not mapped. At any
/// place: when the pool has too few tables for the next one, where it has enough, though with smaller pages. What
/// tables came about says ferry_vm_address_fresh(). Errors: those of reserve(); NO_VIDEO_MEMORY also when the pool has
/// too few tables for it: *table_bytes is then how many bytes of them are missing, where they are fewest.
int ferry_vm_address_map(struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                         void *owner, uint64_t offset, bool read_only, struct ferry_vm_range **range,
                         uint64_t *table_bytes);
/// Map them to all pages of an owner, to be written: free addresses. Errors: those of map(), BUSY also of what is
/// reserved.
int ferry_vm_address_map_whole(struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                               void *owner, struct ferry_vm_range **range, uint64_t *table_bytes);
/// The range is free again, or what is reserved of it only reserved. Its tables stay until ferry_vm_address_shrink().
void ferry_vm_address_unmap(struct ferry_vm_address_space *space, struct ferry_vm_range *range);
/// What is only reserved at the page, or the first behind it, becomes one with what is beside it and was reserved with
/// it.
void ferry_vm_address_join(struct ferry_vm_address_space *space, uint64_t page);
/// Addresses that are only reserved are free again. Errors: ARGUMENT (no such reservation), BUSY (some of it is
/// mapped).
int ferry_vm_address_release(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages);
/// All of them are, but for those that are zeros yet.
void ferry_vm_address_release_all(struct ferry_vm_address_space *space);
/// The range that holds the page, or the first behind it; NULL = none.
struct ferry_vm_range *ferry_vm_address_find(const struct ferry_vm_address_space *space, uint64_t page);

// ---- Tables -------------------------------------------------------------------------------------------------------

/// The table of that level above the page; NULL when it does not exist.
struct ferry_vm_table *ferry_vm_address_table(const struct ferry_vm_address_space *space, uint64_t page,
                                              unsigned level);

/// The next table that came about since this was asked last; NULL when there is none. A parent comes before its
/// children.
struct ferry_vm_table *ferry_vm_address_fresh(struct ferry_vm_address_space *space);

// Entries of one table that are alike in form: what one UPDATE_PAGE_TABLE writes.
struct ferry_vm_piece {
    struct ferry_vm_table *table;
    uint64_t first, pages; // addresses
    uint32_t index, count; // entries, of 64 KiB each with `group`
    bool group;            // level 0: of 64 KiB
    bool repeat;           // all entries are the same one
};
/// The piece at page `at` of addresses up to `end` that are mapped to consecutive pages, of which `place` is at `at`:
/// the largest page size that address, place and length allow. page_by_page: 4 KiB only.
void ferry_vm_address_piece(const struct ferry_vm_address_space *space, uint64_t at, uint64_t end, uint64_t place,
                            bool page_by_page, struct ferry_vm_piece *piece);
/// At most so many pieces has a mapping of so many pages.
size_t ferry_vm_address_most_pieces(uint64_t pages);

// ---- Zeros --------------------------------------------------------------------------------------------------------

/// The addresses of one reservation that are zeros, without a gap, and hold the page, or the first of them behind it,
/// mapped or not; NULL = none.
struct ferry_vm_range *ferry_vm_address_zeros(const struct ferry_vm_address_space *space, uint64_t page);
/// All of these addresses are in one.
bool ferry_vm_address_all_zeros(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages);
/// These addresses, a reservation in which nothing is mapped, are to be zeros: the tables at their edges are there from
/// now on, without any entry that leads to zeros. common: so many pages of the pool besides are left to the caller.
/// Errors: NO_VIDEO_MEMORY (*table_bytes), NO_HOST_MEMORY.
int ferry_vm_address_zeros_make(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages, uint64_t common,
                                struct ferry_vm_range **zeros, uint64_t *table_bytes);
/// Some of such addresses, in which nothing is mapped, are to be none any more: the tables at their edges are there
/// from now on. Errors: as make().
int ferry_vm_address_zeros_cut(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                               struct ferry_vm_range **behind, uint64_t *table_bytes);
/// From now on they are, and one with what is zeros beside them; or they are no longer, all that are without a gap or
/// some of them. Tables may go then (ferry_vm_address_shrink). behind: of cut(); NULL when all of them go.
void ferry_vm_address_zeros_begin(struct ferry_vm_address_space *space, struct ferry_vm_range *zeros);
void ferry_vm_address_zeros_end(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                                struct ferry_vm_range *behind);
/// How often zeros begin or end inside these addresses.
uint64_t ferry_vm_address_zero_edges(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages);
/// Entries of the highest level under which there is no table, from page `at` of a reservation of zeros up to its end.
void ferry_vm_address_highest_piece(const struct ferry_vm_address_space *space, uint64_t at, uint64_t end,
                                    struct ferry_vm_piece *piece);

// How far a look for tables that go has come; zeroed at first. None is looked at twice, however many go.
struct ferry_vm_shrinking {
    unsigned level;
    uint64_t next; // of that level
};
/// A table under which nothing is mapped, out of the space and still of the pool (ferry_vm_table_free); children come
/// before their parents. NULL when there is none among those of these addresses; nothing else changes before. The root
/// stays.
struct ferry_vm_table *ferry_vm_address_shrink(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                                               struct ferry_vm_shrinking *from);
/// The root, under which there is nothing any more: no longer the space's, and still of the pool. Returns its page.
uint64_t ferry_vm_address_take_root(struct ferry_vm_address_space *space);
void ferry_vm_table_free(struct ferry_vm_address_space *space, struct ferry_vm_table *table);

#endif
