// SPDX-License-Identifier: Apache-2.0
#include "vidmm/space/table_pool.h"

#include <assert.h>
#include <stdlib.h>

bool ferry_vm_table_pool_init(struct ferry_vm_table_pool *pool, uint64_t first, uint32_t pages)
{
    *pool = (struct ferry_vm_table_pool){.first = first, .pages = pages, .free_count = pages};
    pool->unused = malloc((pages ? pages : 1) * sizeof *pool->unused);
    if (!pool->unused)
        return false;
    for (uint32_t i = 0; i < pages; i++)
        pool->unused[i] = i;
    return true;
}

void ferry_vm_table_pool_destroy(struct ferry_vm_table_pool *pool)
{
    free(pool->unused);
    *pool = (struct ferry_vm_table_pool){0};
}

uint64_t ferry_vm_table_pool_take(struct ferry_vm_table_pool *pool)
{
    assert(pool->free_count > 0);
    uint32_t page = pool->unused[pool->next];
    pool->next = (pool->next + 1) % pool->pages;
    pool->free_count--;
    return pool->first + page;
}

void ferry_vm_table_pool_give(struct ferry_vm_table_pool *pool, uint64_t page)
{
    assert(page - pool->first < pool->pages && pool->free_count < pool->pages);
    pool->unused[(pool->next + pool->free_count++) % pool->pages] = (uint32_t)(page - pool->first);
    pool->given++;
}
