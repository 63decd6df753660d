// SPDX-License-Identifier: Apache-2.0
#include "vidmm/space/table_pool.h"

#include <assert.h>
#include <stdlib.h>

#include "vidmm/base/least.h"

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

static uint64_t missing_of(uint64_t tables)
{
    return tables < FERRY_VM_TABLE_SHARE ? FERRY_VM_TABLE_SHARE - tables : 0;
}

void ferry_vm_table_pool_enter(struct ferry_vm_table_pool *pool, uint64_t tables)
{
    pool->owed += missing_of(tables);
}

void ferry_vm_table_pool_leave(struct ferry_vm_table_pool *pool, uint64_t tables)
{
    pool->owed -= missing_of(tables);
    pool->given++;
}

void ferry_vm_table_pool_count(struct ferry_vm_table_pool *pool, uint64_t before, uint64_t tables)
{
    pool->owed = pool->owed - missing_of(before) + missing_of(tables);
}

uint64_t ferry_vm_table_pool_free_for(const struct ferry_vm_table_pool *pool, uint64_t tables)
{
    uint64_t own = missing_of(tables), coming = pool->pages / 4 >= FERRY_VM_TABLE_SHARE ? FERRY_VM_TABLE_SHARE : 0;
    uint64_t others = pool->owed - own + coming;

    return ferry_vm_most(ferry_vm_least(own, pool->free_count),
                         pool->free_count > others ? pool->free_count - others : 0);
}

uint64_t ferry_vm_table_pool_beside(const struct ferry_vm_table_pool *pool, bool shares, uint64_t before,
                                    uint64_t tables)
{
    uint64_t taken = pool->owed - (shares ? missing_of(before) : 0) + missing_of(tables) + (tables - before);

    return pool->free_count > taken ? pool->free_count - taken : 0;
}
