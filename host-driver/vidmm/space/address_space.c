// SPDX-License-Identifier: Apache-2.0
#include "vidmm/space/address_space.h"

#include <assert.h>
#include <stdlib.h>

#include "ferry/error.h"

void ferry_vm_address_space_init(struct ferry_vm_address_space *space, struct ferry_vm_table_pool *pool)
{
    // Page 0 is never given out by itself: an address of 0 stays a mistake.
    *space = (struct ferry_vm_address_space){.pool = pool, .next = FERRY_VM_GROUP_PAGES};
}

// ---- Ranges -------------------------------------------------------------------------------------------------------
// A treap: ordered by address, and by a scrambled address as a heap, which keeps it as flat as a random one.

static uint32_t rank_of(uint64_t first)
{
    return (uint32_t)((first + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

static void cut(struct ferry_vm_range *tree, uint64_t at, struct ferry_vm_range **below, struct ferry_vm_range **rest)
{
    while (tree) {
        if (tree->first < at) {
            *below = tree;
            below = &tree->right;
            tree = tree->right;
        } else {
            *rest = tree;
            rest = &tree->left;
            tree = tree->left;
        }
    }
    *below = *rest = NULL;
}

static void enter(struct ferry_vm_address_space *space, struct ferry_vm_range *range)
{
    struct ferry_vm_range **link = &space->ranges;

    range->rank = rank_of(range->first);
    while (*link && (*link)->rank >= range->rank)
        link = range->first < (*link)->first ? &(*link)->left : &(*link)->right;
    cut(*link, range->first, &range->left, &range->right);
    *link = range;
}

static void leave(struct ferry_vm_address_space *space, struct ferry_vm_range *range)
{
    struct ferry_vm_range **link = &space->ranges, *a = range->left, *b = range->right;

    while (*link != range)
        link = range->first < (*link)->first ? &(*link)->left : &(*link)->right;
    while (a && b) {
        if (a->rank >= b->rank) {
            *link = a;
            link = &a->right;
            a = a->right;
        } else {
            *link = b;
            link = &b->left;
            b = b->left;
        }
    }
    *link = a ? a : b;
}

struct ferry_vm_range *ferry_vm_address_find(const struct ferry_vm_address_space *space, uint64_t page)
{
    struct ferry_vm_range *found = NULL;

    for (struct ferry_vm_range *at = space->ranges; at;) {
        if (at->first + at->pages <= page) {
            at = at->right;
        } else {
            found = at;
            at = at->left;
        }
    }
    return found;
}

static bool is_free(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    const struct ferry_vm_range *range = ferry_vm_address_find(space, first);

    return !range || range->first >= first + pages;
}

// The lowest free place in [least, most); UINT64_MAX = none.
static uint64_t free_place(const struct ferry_vm_address_space *space, uint64_t least, uint64_t most, uint64_t pages,
                           uint64_t alignment)
{
    uint64_t at = (least + alignment - 1) & ~(alignment - 1);

    while (at < most && pages <= most - at) {
        const struct ferry_vm_range *range = ferry_vm_address_find(space, at);

        if (!range || range->first >= at + pages)
            return at;
        at = (range->first + range->pages + alignment - 1) & ~(alignment - 1);
    }
    return UINT64_MAX;
}

static int find_place(struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                      uint64_t *first)
{
    uint64_t alignment = where->alignment ? where->alignment : 1, most = where->most ? where->most : FERRY_VM_VA_PAGES;

    if (pages == 0 || pages > FERRY_VM_VA_PAGES || (alignment & (alignment - 1)))
        return FERRY_ERROR_ARGUMENT;
    if (where->base != UINT64_MAX) {
        *first = where->base;
        return where->base % alignment || where->base > FERRY_VM_VA_PAGES - pages ? FERRY_ERROR_ARGUMENT : FERRY_OK;
    }
    if (most > FERRY_VM_VA_PAGES || where->least >= most)
        return FERRY_ERROR_ARGUMENT;
    // On from where the last one went, as long as there is room, so that addresses are not used again at once.
    uint64_t least = where->least ? where->least : FERRY_VM_GROUP_PAGES;
    *first = free_place(space, space->next > least ? space->next : least, most, pages, alignment);
    if (*first == UINT64_MAX)
        *first = free_place(space, least, most, pages, alignment);
    return *first == UINT64_MAX ? FERRY_ERROR_NO_VIDEO_MEMORY : FERRY_OK;
}

int ferry_vm_address_reserve(struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                             uint64_t *first)
{
    int error = find_place(space, where, pages, first);

    if (error != FERRY_OK)
        return error;
    if (!is_free(space, *first, pages))
        return FERRY_ERROR_BUSY;
    struct ferry_vm_range *range = calloc(1, sizeof *range);
    if (!range)
        return FERRY_ERROR_NO_HOST_MEMORY;
    space->reservations += space->reservations == UINT32_MAX ? 2 : 1;
    range->first = *first;
    range->pages = pages;
    range->reservation = space->reservations;
    enter(space, range);
    if (where->base == UINT64_MAX)
        space->next = *first + pages;
    return FERRY_OK;
}

int ferry_vm_address_release(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    uint64_t at = first;

    if (pages == 0 || first > FERRY_VM_VA_PAGES || pages > FERRY_VM_VA_PAGES - first)
        return FERRY_ERROR_ARGUMENT;
    while (at < first + pages) {
        const struct ferry_vm_range *range = ferry_vm_address_find(space, at);

        if (!range || range->first != at || range->first + range->pages > first + pages)
            return FERRY_ERROR_ARGUMENT;
        if (range->owner)
            return FERRY_ERROR_BUSY;
        at += range->pages;
    }
    for (at = first; at < first + pages;) {
        struct ferry_vm_range *range = ferry_vm_address_find(space, at);

        at += range->pages;
        leave(space, range);
        free(range);
    }
    return FERRY_OK;
}

// ---- Tables -------------------------------------------------------------------------------------------------------

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

// How many tables of all levels the addresses need that do not exist.
static uint64_t missing_tables(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    uint64_t missing = space->root ? 0 : 1;

    for (unsigned level = 0; level < FERRY_VM_TABLE_LEVELS - 1; level++) {
        uint64_t last = (first + pages - 1) / pages_under(level);

        for (uint64_t n = first / pages_under(level); n <= last; n++)
            missing += !ferry_vm_address_table(space, n * pages_under(level), level);
    }
    return missing;
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

static void free_spares(struct ferry_vm_table *spare)
{
    while (spare) {
        struct ferry_vm_table *next = spare->fresh;

        free(spare->children);
        free(spare);
        spare = next;
    }
}

// So many tables, with children or without, by twos: level 0 does not need any, but nobody knows yet who goes where.
static bool make_spares(uint64_t upper, uint64_t lowest, struct ferry_vm_table *spare[2])
{
    spare[0] = spare[1] = NULL;
    for (uint64_t i = 0; i < upper + lowest; i++) {
        struct ferry_vm_table *table = new_table(i < upper), **list = &spare[i < upper];

        if (!table) {
            free_spares(spare[0]);
            free_spares(spare[1]);
            return false;
        }
        table->fresh = *list;
        *list = table;
    }
    return true;
}

static struct ferry_vm_table *put_table(struct ferry_vm_address_space *space, struct ferry_vm_table *spare[2],
                                        struct ferry_vm_table *parent, unsigned level, uint64_t page)
{
    struct ferry_vm_table *table = spare[level > 0];

    spare[level > 0] = table->fresh;
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
    space->tables++;
    return table;
}

// The tables of the addresses, as many as were made before; and what they hold counted.
static void use_tables(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                       struct ferry_vm_table *spare[2])
{
    for (uint64_t at = first, part; at < first + pages; at += part) {
        part = FERRY_VM_TABLE_ENTRIES - at % FERRY_VM_TABLE_ENTRIES;
        part = part < first + pages - at ? part : first + pages - at;
        struct ferry_vm_table *table =
            space->root ? space->root : put_table(space, spare, NULL, FERRY_VM_TABLE_LEVELS - 1, 0);
        while (table->level > 0) {
            struct ferry_vm_table *child = table->children[index_at(table, at)];

            table = child ? child : put_table(space, spare, table, table->level - 1u, at);
        }
        table->used += (uint32_t)part;
    }
}

struct ferry_vm_table *ferry_vm_address_fresh(struct ferry_vm_address_space *space)
{
    struct ferry_vm_table *table = space->fresh;

    if (table)
        space->fresh = table->fresh;
    return table;
}

struct ferry_vm_table *ferry_vm_address_shrink(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    assert(!space->fresh);
    for (unsigned level = 0; level < FERRY_VM_TABLE_LEVELS - 1; level++) {
        uint64_t last = (first + pages - 1) / pages_under(level);

        for (uint64_t n = first / pages_under(level); n <= last; n++) {
            struct ferry_vm_table *table = ferry_vm_address_table(space, n * pages_under(level), level);

            if (!table || table->used > 0)
                continue;
            table->parent->children[index_at(table->parent, table->first)] = NULL;
            table->parent->used--;
            space->tables--;
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

// ---- Mapping ------------------------------------------------------------------------------------------------------

// All of it is free, or all of it is inside one reservation: its number, else 0. What was mapped in it before has left
// it in pieces.
static bool may_map(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages, uint32_t *reservation)
{
    const struct ferry_vm_range *range = ferry_vm_address_find(space, first);

    *reservation = 0;
    if (!range || range->first >= first + pages)
        return true;
    *reservation = range->reservation;
    for (uint64_t at = first; at < first + pages; range = ferry_vm_address_find(space, at)) {
        if (!range || range->owner || range->first > at || range->reservation != *reservation)
            return false;
        at = range->first + range->pages;
    }
    return true;
}

// Out of the pieces of a reservation. `behind` is for what is left of one piece on both sides.
static void cut_out(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages, struct ferry_vm_range *behind)
{
    uint64_t end = first + pages;

    for (uint64_t at = first; at < end;) {
        struct ferry_vm_range *piece = ferry_vm_address_find(space, at);
        bool below = piece->first<first, above = piece->first + piece->pages> end;

        at = piece->first + piece->pages;
        leave(space, piece);
        if (above && below) {
            *behind = (struct ferry_vm_range){.first = end, .pages = at - end, .reservation = piece->reservation};
            enter(space, behind);
        }
        if (below) {
            piece->pages = first - piece->first;
            enter(space, piece);
        } else if (above) {
            piece->first = end;
            piece->pages = at - end;
            enter(space, piece);
        } else {
            free(piece);
        }
    }
}

int ferry_vm_address_map(struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                         void *owner, uint64_t offset, bool read_only, struct ferry_vm_range **range,
                         uint64_t *table_bytes)
{
    uint64_t first, lowest = 0;
    struct ferry_vm_range *behind = NULL;
    struct ferry_vm_table *spare[2];
    uint32_t reservation;
    int error = find_place(space, where, pages, &first);

    *table_bytes = 0;
    if (error != FERRY_OK)
        return error;
    if (!may_map(space, first, pages, &reservation))
        return FERRY_ERROR_BUSY;
    // No more tables are looked for than there can be: each but the lowest level's adds less than the one below it.
    if (pages / FERRY_VM_TABLE_ENTRIES > space->pool->pages) {
        *table_bytes = (pages / FERRY_VM_TABLE_ENTRIES - space->pool->free_count) * 4096;
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    }
    uint64_t missing = missing_tables(space, first, pages);
    if (missing > space->pool->free_count) {
        *table_bytes = (missing - space->pool->free_count) * 4096;
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    }
    for (uint64_t n = first / FERRY_VM_TABLE_ENTRIES; n <= (first + pages - 1) / FERRY_VM_TABLE_ENTRIES; n++)
        lowest += !ferry_vm_address_table(space, n * FERRY_VM_TABLE_ENTRIES, 0);
    struct ferry_vm_range *mapped = calloc(1, sizeof *mapped);
    const struct ferry_vm_range *around = reservation ? ferry_vm_address_find(space, first) : NULL;
    bool splits = around && around->first + around->pages > first + pages && around->first < first;
    if (splits)
        behind = calloc(1, sizeof *behind);
    if (!mapped || (splits && !behind) || !make_spares(missing - lowest, lowest, spare)) {
        free(mapped);
        free(behind);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    // Nothing can fail from here on.
    *mapped = (struct ferry_vm_range){.first = first,
                                      .pages = pages,
                                      .owner = owner,
                                      .offset = offset,
                                      .read_only = read_only,
                                      .reservation = reservation};
    if (reservation)
        cut_out(space, first, pages, behind);
    enter(space, mapped);
    use_tables(space, first, pages, spare);
    space->mapped_pages += pages;
    if (where->base == UINT64_MAX)
        space->next = first + pages;
    *range = mapped;
    return FERRY_OK;
}

void ferry_vm_address_unmap(struct ferry_vm_address_space *space, struct ferry_vm_range *range)
{
    for (uint64_t at = range->first, part; at < range->first + range->pages; at += part) {
        part = FERRY_VM_TABLE_ENTRIES - at % FERRY_VM_TABLE_ENTRIES;
        part = part < range->first + range->pages - at ? part : range->first + range->pages - at;
        ferry_vm_address_table(space, at, 0)->used -= (uint32_t)part;
    }
    space->mapped_pages -= range->pages;
    range->owner = NULL;
    range->of_owner = NULL;
    if (range->reservation)
        return;
    leave(space, range);
    free(range);
}

static void free_tables(struct ferry_vm_address_space *space, struct ferry_vm_table *table)
{
    for (uint32_t i = 0; table->children && i < FERRY_VM_TABLE_ENTRIES; i++) {
        if (table->children[i])
            free_tables(space, table->children[i]);
    }
    ferry_vm_table_free(space, table);
}

void ferry_vm_address_space_end(struct ferry_vm_address_space *space)
{
    while (space->ranges) {
        struct ferry_vm_range *range = space->ranges;

        leave(space, range);
        free(range);
    }
    if (space->root)
        free_tables(space, space->root);
    ferry_vm_address_space_init(space, space->pool);
}

// ---- Pieces -------------------------------------------------------------------------------------------------------

void ferry_vm_address_piece(const struct ferry_vm_address_space *space, uint64_t at, uint64_t end, uint64_t place,
                            bool scattered, struct ferry_vm_piece *piece)
{
    uint64_t here = FERRY_VM_LARGE_PAGES - at % FERRY_VM_LARGE_PAGES, left = here < end - at ? here : end - at;
    uint64_t off = at ^ place;
    bool alike = !scattered && off % FERRY_VM_GROUP_PAGES == 0;

    *piece = (struct ferry_vm_piece){.first = at, .pages = left};
    if (!scattered && off % FERRY_VM_LARGE_PAGES == 0 && left == FERRY_VM_LARGE_PAGES) {
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
    return (size_t)(3 * (pages / FERRY_VM_LARGE_PAGES + 2));
}
