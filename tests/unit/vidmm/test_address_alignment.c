// SPDX-License-Identifier: Apache-2.0
// Ranges that must be aligned, however few addresses or tables there are: what is in tiles is named by where one
// begins.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ferry/error.h"
#include "vidmm/space/address_space.h"

static struct ferry_vm_table_pool pool;
static struct ferry_vm_address_space space;
static char owner;

static void begin(uint32_t tables)
{
    assert_true(ferry_vm_table_pool_init(&pool, 0, tables));
    ferry_vm_address_space_init(&space, &pool);
}

static void end(void)
{
    ferry_vm_address_space_end(&space);
    ferry_vm_table_pool_destroy(&pool);
}

static int map(struct ferry_vm_where where, uint64_t pages, uint64_t *first)
{
    struct ferry_vm_range *range;
    uint64_t bytes;
    int error = ferry_vm_address_map(&space, &where, pages, &owner, 0, false, &range, &bytes);

    *first = error ? 0 : range->first;
    while (ferry_vm_address_fresh(&space))
        ;
    return error;
}

static void map_at(uint64_t base, uint64_t pages)
{
    uint64_t first;

    assert_int_equal(map((struct ferry_vm_where){base, 0, 0, 1, 0}, pages, &first), FERRY_OK);
}

// Between bounds: room for pages of 4 KiB alone, then for groups, then for large ones.
static void for_want_of_addresses_it_is_refused(void **state)
{
    static const uint64_t alignments[] = {1, 2, 16, 32, 64, 512, 2048};
    const size_t count = sizeof alignments / sizeof alignments[0];
    uint64_t first;

    (void)state;
    for (size_t i = 0; i < count; i++)
        for (size_t room = 0; room < count; room++)
            for (size_t wish = i; wish < count; wish++) {
                // Nothing else is free than 8 pages behind an odd multiple of that alignment.
                uint64_t at = 8192 + alignments[room];
                const struct ferry_vm_where where = {UINT64_MAX, 4096, at + 8, alignments[wish], alignments[i]};

                begin(20);
                map_at(4096, at - 4096);
                assert_int_equal(map(where, 8, &first), room >= i ? FERRY_OK : FERRY_ERROR_NO_VIDEO_MEMORY);
                if (room >= i)
                    assert_int_equal(first, at);
                end();
            }
}

// The tables that there are have room elsewhere alone.
static void for_want_of_tables_it_is_refused(void **state)
{
    const struct ferry_vm_where large = {UINT64_MAX, 0, 0, 512, 0};
    uint64_t first;

    (void)state;
    for (uint64_t smallest = 1; smallest <= 512; smallest *= 2) {
        struct ferry_vm_where where = large;

        where.smallest = smallest;
        begin(4);
        map_at(4096 + 16, 496 - 16 - 8); // free are the first 16 of the table, and 24 from its page 488 on
        bool fits = smallest <= 8;
        assert_int_equal(map(where, 20, &first), fits ? FERRY_OK : FERRY_ERROR_NO_VIDEO_MEMORY);
        if (fits)
            assert_int_equal(first % smallest, 0);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(for_want_of_addresses_it_is_refused),
        cmocka_unit_test(for_want_of_tables_it_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
