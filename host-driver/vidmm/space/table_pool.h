// SPDX-License-Identifier: Apache-2.0
// Pages for page tables: a run of video memory that nothing else is placed in, so tables are never in the way and never
// moved. What it holds is the budget of all tables.
#ifndef FERRY_VIDMM_SPACE_TABLE_POOL_H
#define FERRY_VIDMM_SPACE_TABLE_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct ferry_vm_table_pool {
    uint64_t first; // page of the segment
    uint32_t pages, free_count;
    uint32_t *unused; // ring: `next` is the one that has been free for longest
    uint32_t next;
    uint64_t given; // back, ever: who found too few need not look again before there are more of them
};

/// False when the host has no memory left.
bool ferry_vm_table_pool_init(struct ferry_vm_table_pool *pool, uint64_t first, uint32_t pages);
void ferry_vm_table_pool_destroy(struct ferry_vm_table_pool *pool);
/// The page that has been free for longest; there is one (free_count). What still leads to one that was given back just
/// now may wait for a job, and whoever got that page would wait with it.
uint64_t ferry_vm_table_pool_take(struct ferry_vm_table_pool *pool);
void ferry_vm_table_pool_give(struct ferry_vm_table_pool *pool, uint64_t page);

#endif
