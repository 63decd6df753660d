// SPDX-License-Identifier: Apache-2.0
// Pages for page tables: a run of video memory that nothing else is placed in, so tables are never in the way and never
// moved. What it holds is the budget of all tables, and nobody's alone: whoever has what a first mapping takes leaves
// as much for the others.
#ifndef FERRY_VIDMM_SPACE_TABLE_POOL_H
#define FERRY_VIDMM_SPACE_TABLE_POOL_H

#include <stdbool.h>
#include <stdint.h>

// A table of each level, with which a program can map something.
#define FERRY_VM_TABLE_SHARE 4u

struct ferry_vm_table_pool {
    uint64_t first; // page of the segment
    uint32_t pages, free_count;
    uint64_t owed;    // what all programs together have too few of for a share each
    uint32_t *unused; // ring: `next` is the one that has been free for longest
    uint32_t next;
    uint64_t given; // back, ever, or left by who has gone: who found too few need not look again before there are more
};

/// False when the host has no memory left.
bool ferry_vm_table_pool_init(struct ferry_vm_table_pool *pool, uint64_t first, uint32_t pages);
void ferry_vm_table_pool_destroy(struct ferry_vm_table_pool *pool);
/// The page that has been free for longest; there is one (free_count). What still leads to one that was given back just
/// now may wait for a job, and whoever got that page would wait with it.
uint64_t ferry_vm_table_pool_take(struct ferry_vm_table_pool *pool);
void ferry_vm_table_pool_give(struct ferry_vm_table_pool *pool, uint64_t page);

/// A program with so many tables has come; or has gone, whose pages are given back apart.
void ferry_vm_table_pool_enter(struct ferry_vm_table_pool *pool, uint64_t tables);
void ferry_vm_table_pool_leave(struct ferry_vm_table_pool *pool, uint64_t tables);
/// One of them has so many now instead of so many.
void ferry_vm_table_pool_count(struct ferry_vm_table_pool *pool, uint64_t before, uint64_t tables);
/// So many more may one have that has so many: what is missing of its own share, as far as there is any, or what is
/// free beside what the others are missing, each of its share, and one that is yet to come all of it. For that one a
/// pool of less than four shares keeps nothing.
uint64_t ferry_vm_table_pool_free_for(const struct ferry_vm_table_pool *pool, uint64_t tables);

/// So many pages are free for nobody's tables, beside what is left to programs, when one goes from so many tables to so
/// many more; shares: it is one of them already.
uint64_t ferry_vm_table_pool_beside(const struct ferry_vm_table_pool *pool, bool shares, uint64_t before,
                                    uint64_t tables);

#endif
