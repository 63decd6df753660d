// SPDX-License-Identifier: Apache-2.0
// Reservations of zeros by themselves: tables are written as the device has them, from what the address space says of
// entries, and a walk of them finds zeros where a plain list has them and nowhere else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "../../seed.h"
#include "ferry/error.h"
#include "vidmm/space/address_space.h"

#define GIB    (UINT64_C(1) << 18) // pages under a table of level 1
#define B      (7 * GIB)
#define FIRST  1000u // page of the pool
#define MOST   64u   // pages of the pool
#define CELLS  17u
#define COMMON 4u

// Where zeros begin and end in the test: edges of tables of each level, and places beside them.
static const uint64_t edges[CELLS + 1] = {B - 1024,
                                          B - 512,
                                          B - 496,
                                          B - 16,
                                          B,
                                          B + 1,
                                          B + 16,
                                          B + 512,
                                          B + 513,
                                          B + 3 * 512,
                                          B + GIB - 512,
                                          B + GIB - 16,
                                          B + GIB,
                                          B + GIB + 512,
                                          B + 2 * GIB,
                                          B + 2 * GIB + 16,
                                          B + 2 * GIB + 512,
                                          B + 2 * GIB + 1024};
enum kind { NOTHING, ZEROS, MAPPED, TABLE };
struct entry {
    enum kind kind;
    uint64_t table; // page
};

static struct test {
    struct ferry_vm_address_space space;
    struct ferry_vm_table_pool pool;
    struct entry tables[MOST][FERRY_VM_TABLE_ENTRIES];
    bool zeros[CELLS];                    // what the cells are,
    struct ferry_vm_range *mapped[CELLS]; // and whether the first page of each is mapped
    uint64_t random;
} t;

static uint32_t draw(uint32_t below)
{
    return draw_below(&t.random, below);
}

static struct entry *entries_of(const struct ferry_vm_table *table)
{
    assert_in_range(table->page, FIRST, FIRST + MOST - 1);
    return t.tables[table->page - FIRST];
}

static uint64_t under(unsigned levels)
{
    return UINT64_C(1) << 9 * levels;
}

static enum kind kind_of_table(const struct ferry_vm_table *table)
{
    return ferry_vm_address_all_zeros(&t.space, table->first, under(table->level + 1u)) ? ZEROS : NOTHING;
}

static struct entry *entry_above(const struct ferry_vm_table *table)
{
    return &entries_of(table->parent)[table->first / under(table->level + 1u) % FERRY_VM_TABLE_ENTRIES];
}

static void begin_tables(void)
{
    for (struct ferry_vm_table *table; (table = ferry_vm_address_fresh(&t.space));) {
        for (unsigned i = 0; i < FERRY_VM_TABLE_ENTRIES; i++)
            entries_of(table)[i] = (struct entry){kind_of_table(table), 0};
        if (table->parent)
            *entry_above(table) = (struct entry){TABLE, table->page};
    }
}

static void end_tables(uint64_t first, uint64_t pages)
{
    struct ferry_vm_shrinking from = {0};
    for (struct ferry_vm_table *table; (table = ferry_vm_address_shrink(&t.space, first, pages, &from));) {
        *entry_above(table) = (struct entry){kind_of_table(table), 0};
        ferry_vm_table_free(&t.space, table);
    }
}

static void write_all(uint64_t first, uint64_t pages, enum kind kind)
{
    struct ferry_vm_piece piece;
    for (uint64_t at = first; at < first + pages; at += piece.pages) {
        ferry_vm_address_highest_piece(&t.space, at, first + pages, &piece);
        assert_true(piece.pages > 0 && piece.first == at);
        for (uint32_t i = 0; i < piece.count; i++) {
            struct entry *entry = &entries_of(piece.table)[piece.index + i];
            assert_true(entry->kind == NOTHING || entry->kind == ZEROS);
            entry->kind = kind;
        }
    }
}

static enum kind walk(uint64_t page)
{
    uint64_t table = t.space.root ? t.space.root->page : 0;
    for (unsigned level = FERRY_VM_TABLE_LEVELS; table != 0 && level-- > 0;) {
        struct entry entry = t.tables[table - FIRST][page / under(level) % FERRY_VM_TABLE_ENTRIES];
        if (entry.kind != TABLE)
            return entry.kind;
        table = entry.table;
    }
    return NOTHING;
}

// Something is mapped under a table, or some of it is zeros and some is not.
static bool is_needed(uint64_t first, uint64_t pages)
{
    uint64_t zeros = 0;
    bool mapped = false;
    for (unsigned i = 0; i < CELLS; i++) {
        uint64_t from = edges[i] > first ? edges[i] : first;
        uint64_t to = edges[i + 1] < first + pages ? edges[i + 1] : first + pages;
        zeros += t.zeros[i] && to > from ? to - from : 0;
        mapped |= t.mapped[i] && edges[i] >= first && edges[i] < first + pages;
    }
    return mapped || (zeros > 0 && zeros < pages);
}

// Tables below the root.
static unsigned needed(void)
{
    unsigned count = 0;
    for (unsigned level = 0; level < FERRY_VM_TABLE_LEVELS - 1; level++) {
        uint64_t pages = under(level + 1), behind = 0;
        for (unsigned i = 0; i <= 2 * CELLS + 1; i++) {
            uint64_t first = (edges[i / 2] - (i % 2 == 0)) / pages * pages;
            count += first >= behind && is_needed(first, pages);
            behind = first >= behind ? first + pages : behind;
        }
    }
    return count;
}

static void check(void)
{
    for (unsigned i = 0; i < CELLS; i++) {
        uint64_t first = edges[i], last = edges[i + 1] - 1;
        enum kind rest = t.zeros[i] ? ZEROS : NOTHING;
        assert_int_equal(walk(first), t.mapped[i] ? MAPPED : rest);
        if (last > first) {
            assert_int_equal(walk(first + 1), rest);
            assert_int_equal(walk(first + (last - first + 1) / 2), rest);
            assert_int_equal(walk(last), rest);
        }
    }
    assert_int_equal(walk(edges[0] - 1), NOTHING);
    assert_int_equal(walk(edges[CELLS]), NOTHING);
    // And what is said of some of them.
    unsigned from = draw(CELLS), to = from + 1 + draw(CELLS - from), begins = 0;
    bool all = true;
    for (unsigned i = from; i < to; i++) {
        all &= t.zeros[i];
        begins += i > from && t.zeros[i] != t.zeros[i - 1];
    }
    uint64_t first = edges[from], pages = edges[to] - edges[from];
    assert_int_equal(ferry_vm_address_all_zeros(&t.space, first, pages), all);
    assert_int_equal(ferry_vm_address_zero_edges(&t.space, first, pages), begins);
    // All tables are the space's or free, and none is missing or left without need.
    assert_int_equal(t.space.tables + t.pool.free_count, t.pool.pages);
    assert_int_equal(t.space.tables, needed() + (t.space.root != NULL));
}

// All of these cells are of one kind, and nothing is mapped there.
static bool are(unsigned from, unsigned to, bool zeros)
{
    for (unsigned i = from; i < to; i++)
        if (t.zeros[i] != zeros || t.mapped[i])
            return false;
    return true;
}

static bool begin_or_end(void)
{
    unsigned from = draw(CELLS), most = draw(3) ? 4 : CELLS, left = CELLS - from;
    unsigned to = from + 1 + draw(left < most ? left : most);
    bool zeros = t.zeros[from];
    uint64_t first = edges[from], pages = edges[to] - first, bytes = 0, free = t.pool.free_count;
    uint64_t common = draw(2) ? COMMON : 0;
    struct ferry_vm_range *range;
    if (!are(from, to, zeros))
        return false;
    int result = zeros ? ferry_vm_address_zeros_cut(&t.space, first, pages, &range, &bytes)
                       : ferry_vm_address_zeros_make(&t.space, first, pages, common, &range, &bytes);
    if (result != FERRY_OK) {
        assert_int_equal(result, FERRY_ERROR_NO_VIDEO_MEMORY);
        assert_true(bytes > 0 && bytes % 4096 == 0 && t.pool.free_count == free);
        return false;
    }
    assert_true(zeros || t.pool.free_count >= common);
    begin_tables();
    if (zeros) {
        write_all(first, pages, NOTHING);
        ferry_vm_address_zeros_end(&t.space, first, pages, range);
    } else {
        ferry_vm_address_zeros_begin(&t.space, range);
        write_all(first, pages, ZEROS);
    }
    end_tables(first, pages);
    for (unsigned i = from; i < to; i++)
        t.zeros[i] = !zeros;
    return true;
}

static void map_or_unmap(unsigned cell)
{
    static int owner;
    uint64_t page = edges[cell], bytes;
    struct ferry_vm_where where = {page, 0, 0, 1, 0};
    struct ferry_vm_piece piece = {.first = page};
    if (!t.mapped[cell]) {
        if (ferry_vm_address_map(&t.space, &where, 1, &owner, 0, false, &t.mapped[cell], &bytes) != FERRY_OK) {
            t.mapped[cell] = NULL;
            return;
        }
        begin_tables();
    }
    bool gone = t.space.root && walk(page) == MAPPED;
    piece.table = ferry_vm_address_table(&t.space, page, 0);
    entries_of(piece.table)[page % FERRY_VM_TABLE_ENTRIES].kind = !gone ? MAPPED : t.zeros[cell] ? ZEROS : NOTHING;
    if (!gone)
        return;
    ferry_vm_address_unmap(&t.space, t.mapped[cell]);
    ferry_vm_address_join(&t.space, page);
    end_tables(page, 1);
    t.mapped[cell] = NULL;
}

static void a_walk_finds_zeros_where_a_plain_list_has_them(void **state)
{
    unsigned done = 0;
    (void)state;
    uint64_t seed = seed_given(1);
    for (unsigned run = 0; run < 60; run++) {
        struct ferry_vm_where where = {edges[0], 0, 0, 16, 0};
        uint64_t first;
        memset(&t, 0, sizeof(t));
        t.random = seed * 1000 + run;
        uint32_t pages = run % 3 == 0 ? 6 + draw(8) : MOST;
        assert_true(ferry_vm_table_pool_init(&t.pool, FIRST, pages));
        ferry_vm_address_space_init(&t.space, &t.pool);
        assert_int_equal(ferry_vm_address_reserve(&t.space, &where, edges[CELLS] - edges[0], &first), FERRY_OK);
        for (unsigned step = 0; step < 300; step++) {
            if (draw(4))
                done += begin_or_end();
            else
                map_or_unmap(draw(CELLS));
            check();
        }
        // All of it ends, and of the tables the root alone is left.
        for (unsigned i = 0; i < CELLS; i++)
            if (t.mapped[i])
                map_or_unmap(i);
        const struct ferry_vm_range *zeros;
        while ((zeros = ferry_vm_address_zeros(&t.space, 0))) {
            uint64_t at = zeros->first, count = zeros->pages;
            write_all(at, count, NOTHING);
            ferry_vm_address_zeros_end(&t.space, at, count, NULL);
            end_tables(at, count);
        }
        memset(t.zeros, 0, sizeof(t.zeros));
        check();
        assert_true(t.space.tables <= 1);
        ferry_vm_address_space_end(&t.space);
        assert_int_equal(t.pool.free_count, pages);
        ferry_vm_table_pool_destroy(&t.pool);
    }
    printf("%u times some became zeros or no longer were\n", done);
    assert_true(done > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_walk_finds_zeros_where_a_plain_list_has_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
