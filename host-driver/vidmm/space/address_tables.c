// SPDX-License-Identifier: Apache-2.0
// The page tables of an address space: which exist, and what of them one UPDATE_PAGE_TABLE writes.
#include <assert.h>
#include <stdlib.h>

#include "vidmm/base/least.h"
#include "vidmm/space/address_internal.h"

static uint64_t pages_under(unsigned level)
{
    return UINT64_C(1) << (9 * (level + 1));
}

static uint32_t index_at(const struct ferry_vm_table *table, uint64_t page)
{
    return (uint32_t)(page >> (9 * table->level) & (FERRY_VM_TABLE_ENTRIES - 1));
}

struct ferry_vm_table *ferry_vm_address_table(const struct ferry_vm_address_space *space, uint64_t page, unsigned level)
{
    struct ferry_vm_table *table = space->root;

    while (table && table->level > level)
        table = table->children[index_at(table, page)];
    return table;
}

void ferry_vm_missing_count(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                            struct ferry_vm_missing *missing)
{
    for (unsigned level = 0; level < FERRY_VM_TABLE_LEVELS; level++) {
        uint64_t n = first / pages_under(level), end = (first + pages - 1) / pages_under(level) + 1;

        for (n = n > missing->counted[level] ? n : missing->counted[level]; n < end; n++)
            *(level > 0 ? &missing->upper : &missing->lowest) +=
                !ferry_vm_address_table(space, n * pages_under(level), level);
        missing->counted[level] = end;
    }
}

uint64_t ferry_vm_tables_free(const struct ferry_vm_address_space *space)
{
    return space->shares ? ferry_vm_table_pool_free_for(space->pool, space->tables) : space->pool->free_count;
}

uint64_t ferry_vm_missing_bytes(const struct ferry_vm_address_space *space, const struct ferry_vm_missing *missing)
{
    uint64_t all = missing->upper + missing->lowest, unused = ferry_vm_tables_free(space);

    return all > unused ? (all - unused) * 4096 : 0;
}

bool ferry_vm_beyond_tables(const struct ferry_vm_address_space *space, uint64_t pages, uint64_t *table_bytes)
{
    if (pages / FERRY_VM_TABLE_ENTRIES <= space->pool->pages)
        return false;
    *table_bytes = (pages / FERRY_VM_TABLE_ENTRIES - ferry_vm_tables_free(space)) * 4096;
    return true;
}

static struct ferry_vm_table *new_table(unsigned level)
{
    struct ferry_vm_table *table = calloc(1, sizeof *table);

    if (table && level > 0 && !(table->children = calloc(FERRY_VM_TABLE_ENTRIES, sizeof(struct ferry_vm_table *)))) {
        free(table);
        return NULL;
    }
    if (table)
        table->level = (uint8_t)level;
    return table;
}

void ferry_vm_spares_free(struct ferry_vm_spares *spares)
{
    for (unsigned i = 0; i < 2; i++) {
        for (struct ferry_vm_table *table = spares->lists[i]; table;) {
            struct ferry_vm_table *next = table->fresh;

            free(table->children);
            free(table);
            table = next;
        }
        spares->lists[i] = NULL;
    }
}

bool ferry_vm_spares_make(const struct ferry_vm_missing *missing, struct ferry_vm_spares *spares)
{
    *spares = (struct ferry_vm_spares){{NULL, NULL}};
    for (uint64_t i = 0; i < missing->upper + missing->lowest; i++) {
        struct ferry_vm_table *table = new_table(i < missing->upper), **list = &spares->lists[i < missing->upper];

        if (!table) {
            ferry_vm_spares_free(spares);
            return false;
        }
        table->fresh = *list;
        *list = table;
    }
    return true;
}

void ferry_vm_address_space_share(struct ferry_vm_address_space *space)
{
    if (!space->shares)
        ferry_vm_table_pool_enter(space->pool, space->tables);
    space->shares = true;
}

void ferry_vm_address_space_unshare(struct ferry_vm_address_space *space)
{
    if (space->shares)
        ferry_vm_table_pool_leave(space->pool, space->tables);
    space->shares = false;
}

static void count_tables(struct ferry_vm_address_space *space, uint64_t tables)
{
    if (space->shares)
        ferry_vm_table_pool_count(space->pool, space->tables, tables);
    space->tables = tables;
}

static struct ferry_vm_table *put_table(struct ferry_vm_address_space *space, struct ferry_vm_spares *spares,
                                        struct ferry_vm_table *parent, unsigned level, uint64_t page)
{
    struct ferry_vm_table *table = spares->lists[level > 0];

    spares->lists[level > 0] = table->fresh;
    table->fresh = NULL;
    table->level = (uint8_t)level;
    table->parent = parent;
    table->first = page & ~(pages_under(level) - 1);
    table->page = ferry_vm_table_pool_take(space->pool);
    if (parent) {
        parent->children[index_at(parent, page)] = table;
        parent->used++;
    } else {
        space->root = table;
    }
    *(space->fresh ? &space->fresh_last->fresh : &space->fresh) = table;
    space->fresh_last = table;
    count_tables(space, space->tables + 1);
    return table;
}

// So many pages from there on are under one table of level 0.
static uint64_t part_of(uint64_t at, uint64_t end)
{
    uint64_t part = FERRY_VM_TABLE_ENTRIES - at % FERRY_VM_TABLE_ENTRIES;

    return part < end - at ? part : end - at;
}

struct ferry_vm_table *ferry_vm_tables_make(struct ferry_vm_address_space *space, uint64_t page, unsigned level,
                                            struct ferry_vm_spares *spares)
{
    struct ferry_vm_table *table =
        space->root ? space->root : put_table(space, spares, NULL, FERRY_VM_TABLE_LEVELS - 1, 0);

    while (table->level > level) {
        struct ferry_vm_table *child = table->children[index_at(table, page)];

        table = child ? child : put_table(space, spares, table, table->level - 1u, page);
    }
    return table;
}

void ferry_vm_table_keep(struct ferry_vm_table *table, bool kept)
{
    table->used = table->used + kept - table->kept;
    table->kept = kept;
}

void ferry_vm_tables_use(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                         struct ferry_vm_spares *spares)
{
    for (uint64_t at = first, part; at < first + pages; at += part) {
        part = part_of(at, first + pages);
        ferry_vm_tables_make(space, at, 0, spares)->used += (uint32_t)part;
    }
    space->mapped_pages += pages;
}

void ferry_vm_tables_unuse(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    for (uint64_t at = first, part; at < first + pages; at += part) {
        part = part_of(at, first + pages);
        ferry_vm_address_table(space, at, 0)->used -= (uint32_t)part;
    }
    space->mapped_pages -= pages;
}

struct ferry_vm_table *ferry_vm_address_fresh(struct ferry_vm_address_space *space)
{
    struct ferry_vm_table *table = space->fresh;

    if (table)
        space->fresh = table->fresh;
    return table;
}

struct ferry_vm_table *ferry_vm_address_shrink(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                                               struct ferry_vm_shrinking *from)
{
    assert(!space->fresh);
    for (; from->level < FERRY_VM_TABLE_LEVELS - 1; from->level++, from->next = 0) {
        uint64_t under = pages_under(from->level), last = (first + pages - 1) / under;

        for (uint64_t n = ferry_vm_most(first / under, from->next); n <= last; n++) {
            struct ferry_vm_table *table = ferry_vm_address_table(space, n * under, from->level);

            if (!table || table->used > 0)
                continue;
            table->parent->children[index_at(table->parent, table->first)] = NULL;
            table->parent->used--;
            count_tables(space, space->tables - 1);
            from->next = n + 1;
            return table;
        }
    }
    return NULL;
}

void ferry_vm_table_free(struct ferry_vm_address_space *space, struct ferry_vm_table *table)
{
    ferry_vm_table_pool_give(space->pool, table->page);
    free(table->children);
    free(table);
}

uint64_t ferry_vm_address_take_root(struct ferry_vm_address_space *space)
{
    struct ferry_vm_table *root = space->root;
    uint64_t page = root->page;

    assert(!space->fresh && root->used == 0);
    space->root = NULL;
    count_tables(space, space->tables - 1);
    free(root->children);
    free(root);
    return page;
}

static void free_tables(struct ferry_vm_address_space *space, struct ferry_vm_table *table)
{
    for (uint32_t i = 0; table->children && i < FERRY_VM_TABLE_ENTRIES; i++) {
        if (table->children[i])
            free_tables(space, table->children[i]);
    }
    ferry_vm_table_free(space, table);
}

void ferry_vm_tables_end(struct ferry_vm_address_space *space)
{
    if (space->root)
        free_tables(space, space->root);
    ferry_vm_address_space_unshare(space);
}

// ---- Pieces -------------------------------------------------------------------------------------------------------

void ferry_vm_address_piece(const struct ferry_vm_address_space *space, uint64_t at, uint64_t end, uint64_t place,
                            bool page_by_page, struct ferry_vm_piece *piece)
{
    uint64_t here = FERRY_VM_LARGE_PAGES - at % FERRY_VM_LARGE_PAGES, left = here < end - at ? here : end - at;
    uint64_t off = at ^ place;
    bool alike = !page_by_page && off % FERRY_VM_GROUP_PAGES == 0;

    *piece = (struct ferry_vm_piece){.first = at, .pages = left};
    if (!page_by_page && off % FERRY_VM_LARGE_PAGES == 0 && left == FERRY_VM_LARGE_PAGES) {
        piece->table = ferry_vm_address_table(space, at, 1);
        piece->count = 1;
    } else if (alike && at % FERRY_VM_GROUP_PAGES == 0 && left >= FERRY_VM_GROUP_PAGES) {
        piece->table = ferry_vm_address_table(space, at, 0);
        piece->group = true;
        piece->count = (uint32_t)(left / FERRY_VM_GROUP_PAGES);
        piece->pages = (uint64_t)piece->count * FERRY_VM_GROUP_PAGES;
    } else {
        uint64_t to_group = FERRY_VM_GROUP_PAGES - at % FERRY_VM_GROUP_PAGES;

        // Up to where larger ones begin.
        piece->table = ferry_vm_address_table(space, at, 0);
        if (alike && left >= to_group + FERRY_VM_GROUP_PAGES && to_group < FERRY_VM_GROUP_PAGES)
            piece->pages = to_group;
        piece->count = (uint32_t)piece->pages;
    }
    piece->index = index_at(piece->table, at);
    if (piece->group)
        piece->index /= FERRY_VM_GROUP_PAGES;
}

size_t ferry_vm_address_most_pieces(uint64_t pages)
{
    // Of each table that it touches a head, groups and a tail.
    uint64_t most = 3 * (pages / FERRY_VM_LARGE_PAGES + 2);

    return (size_t)(pages < most ? pages : most);
}
