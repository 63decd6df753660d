// SPDX-License-Identifier: Apache-2.0
// An address space and its page tables, for the tests of batches: a batch prepared and carried out as the manager does.
#ifndef ADDRESS_BATCH_FIXTURE_H
#define ADDRESS_BATCH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "ferry/error.h"
#include "vidmm/space/address_batch.h"

static struct ferry_vm_table_pool pool;
static struct ferry_vm_address_space space;
static char owners[100];

static void begin(uint32_t tables)
{
    assert_true(ferry_vm_table_pool_init(&pool, 7, tables));
    ferry_vm_address_space_init(&space, &pool);
}

static void end(uint32_t tables)
{
    ferry_vm_address_space_end(&space);
    assert_int_equal(pool.free_count, tables);
    ferry_vm_table_pool_destroy(&pool);
}

static int reserve(uint64_t first, uint64_t pages)
{
    const struct ferry_vm_where where = {first, 0, 0, 1, 0};
    uint64_t at;

    return ferry_vm_address_reserve(&space, &where, pages, &at);
}

static void take_note(void)
{
    while (ferry_vm_address_fresh(&space)) {
    }
}

static void shrink(uint64_t first, uint64_t pages)
{
    struct ferry_vm_shrinking from = {0};
    struct ferry_vm_table *table;

    while ((table = ferry_vm_address_shrink(&space, first, pages, &from)))
        ferry_vm_table_free(&space, table);
}

// Prepared and carried out, with what the manager does around it.
static int carry_out(struct ferry_vm_batch *batch, uint64_t *table_bytes)
{
    int error = ferry_vm_batch_prepare(batch, table_bytes);

    if (error == FERRY_OK) {
        ferry_vm_batch_commit(batch);
        take_note();
        for (size_t i = 0; i < batch->old_count; i++) {
            struct ferry_vm_removed removed = {0};

            while (batch->old[i]->owner && ferry_vm_batch_removed(batch, batch->old[i], &removed))
                shrink(removed.first, removed.pages);
        }
    }
    ferry_vm_batch_end(batch);
    return error;
}

#endif
