// SPDX-License-Identifier: Apache-2.0
#include "table_programs.h"

#include <string.h>

#include "agreement_buffers.h"

#define ENTRY(FIELD) FERRY_TABLE_ENTRY_ENTRY_##FIELD##_MASK

uint64_t tables_place(const struct tables *tables, uint32_t table)
{
    return PAGE(tables->table[table].page) + (tables->table[table].in_host ? tables->host : 0);
}

static uint64_t in_host(void)
{
    return ENTRY(HOST) | (draw(2) ? ENTRY(SNOOP) : 0);
}

static uint64_t rights(void)
{
    return (draw(6) ? 0 : ENTRY(READ_ONLY)) | (draw(8) ? 0 : ENTRY(PROTECTED));
}

static bool is_written(uint32_t index)
{
    return (index + 32) & 64;
}

// A page of 4 KiB that addresses with this index may have.
static uint64_t small_page(const struct tables *tables, uint32_t index)
{
    uint64_t page = PAGE((is_written(index) ? 32u : 0u) + draw(16));

    if (draw(3) == 0)
        return ENTRY(VALID) | ENTRY(LEAF) | rights() | in_host() | (tables->host + page);
    if (is_written(index) && draw(6) == 0)
        page = PAGE(92 + draw(4));
    return ENTRY(VALID) | ENTRY(LEAF) | rights() | page;
}

static uint64_t large_page(const struct tables *tables)
{
    uint64_t base = ENTRY(VALID) | ENTRY(LEAF) | rights();

    switch (draw(8)) {
    case 0: return base; // It reaches the protected range.
    case 1: return base | PAGE(LOCAL_PAGES);
    case 2:
    case 3: return base | in_host() | tables->host;
    default: return base | PAGE(512);
    }
}

static uint64_t reserved_bit(void)
{
    return UINT64_C(1) << (draw(2) ? 7 + draw(5) : 52 + draw(12));
}

// An entry of level 0 that is not there, or not right.
static uint64_t bad_page(const struct tables *tables, uint32_t index)
{
    uint64_t good = small_page(tables, index);

    switch (draw(7)) {
    case 0: return good | reserved_bit();
    case 1: return (good & ~(uint64_t)ENTRY(HOST)) | ENTRY(SNOOP);
    case 2: return good & ~(uint64_t)ENTRY(LEAF);
    case 3: return (good & ~PAGE(15)) | PAGE((index ^ (1 + draw(15))) & 15) | ENTRY(GROUP);
    case 4: return ENTRY(VALID) | ENTRY(LEAF) | PAGE(LOCAL_PAGES + draw(1u << 20));
    case 5:
        if (!is_written(index)) // Nobody is at home there.
            return ENTRY(VALID) | ENTRY(LEAF) | ENTRY(HOST) | PAGE(1 + draw(64));
        return 0;
    default: return good & ~(uint64_t)ENTRY(VALID);
    }
}

static uint64_t to_table(const struct tables *tables, uint32_t to)
{
    return ENTRY(VALID) | (tables->table[to].in_host ? in_host() : 0) | tables_place(tables, to);
}

// An entry of level 1 to 3 that leads to no table.
static uint64_t bad_table(const struct tables *tables, uint32_t level)
{
    uint64_t good = to_table(tables, (uint32_t)draw(tables->count));

    switch (draw(7)) {
    case 0: return good | reserved_bit();
    case 1: return (good & ~(uint64_t)ENTRY(HOST)) | ENTRY(SNOOP);
    case 2: return good | (draw(2) ? ENTRY(READ_ONLY) : ENTRY(PROTECTED));
    case 3: return level == 1 ? large_page(tables) | (draw(2) ? ENTRY(GROUP) : PAGE(1 + draw(15))) : large_page(tables);
    case 4: return ENTRY(VALID) | PAGE(LOCAL_PAGES + draw(1u << 20));
    case 5: return ENTRY(VALID) | ENTRY(HOST) | PAGE(1 + draw(64));
    default: return good & ~(uint64_t)ENTRY(VALID);
    }
}

static void share(struct tables *tables, uint32_t number)
{
    struct table *table = &tables->table[number];

    table->shared = true;
    for (uint32_t i = 0; table->level && i < 2; i++)
        share(tables, table->children[i]);
}

static uint64_t upper(struct tables *tables, const struct table *table, bool main_index)
{
    uint64_t what = draw(main_index ? 16 : 8);

    if (what < 2)
        return what ? 0 : bad_table(tables, table->level);
    if (table->level == 1 && (what < 3 || (!main_index && what < 6)))
        return large_page(tables);
    if (!tables->tidy)
        return to_table(tables, draw(4) ? table->children[draw(2)] : (uint32_t)draw(tables->count));
    if (main_index)
        return to_table(tables, table->children[draw(2)]);
    if (draw(3) == 0)
        return 0;
    share(tables, table->children[0]);
    return to_table(tables, table->children[0]);
}

// Sixteen neighbours: one mapping of 64 KiB, or each its own.
static void block(const struct tables *tables, struct table *table, uint32_t first)
{
    bool grouped = table->grouped[first / 16] = draw(3) == 0;
    uint64_t base = ENTRY(VALID) | ENTRY(LEAF) | ENTRY(GROUP) | rights() | PAGE(is_written(first) ? 32 : 0);

    if (draw(3) == 0)
        base |= in_host() | tables->host;
    else if (is_written(first) && draw(5) == 0)
        base = (base & 0xfff) | PAGE(80);
    for (uint32_t i = first; i < first + 16; i++)
        table->words[i] = grouped         ? base + PAGE(i - first)
                          : draw(8) == 0  ? bad_page(tables, i)
                          : draw(16) == 0 ? 0
                                          : small_page(tables, i);
}

static const uint32_t blocks[] = {0, 32, 496};

// A table for these addresses, and what is below it.
static uint32_t tree(struct tables *tables, uint32_t level, uint32_t space, uint64_t address)
{
    uint32_t number = tables->count++;
    struct table *table = &tables->table[number];
    uint64_t main_address = address + ((uint64_t)tables->main_index[level] << (12 + 9 * level));

    table->level = level;
    table->space = space;
    table->address = address;
    if (level)
        table->children[0] = table->children[1] = tree(tables, level - 1, space, main_address);
    if (level == 1 || (level && draw(3) == 0))
        table->children[1] = tree(tables, level - 1, space, main_address);
    return number;
}

void tables_make(struct tables *tables, uint64_t host)
{
    static const uint32_t indices[] = {0, 1, 255, 300};
    uint32_t order[TABLES];

    memset(tables, 0, sizeof *tables);
    tables->host = host;
    tables->tidy = draw(3) != 0;
    for (uint32_t level = 1; level < 4; level++) {
        tables->main_index[level] = indices[draw(4)];
        tables->other_index[level] = tables->main_index[level] + 1;
    }
    for (uint32_t i = 0; i < TABLES; i++) {
        uint32_t with = (uint32_t)draw(i + 1);

        order[i] = order[with];
        order[with] = i;
    }
    for (uint32_t i = 0; i < TABLES; i++) {
        tables->table[i].in_host = order[i] % 2;
        tables->table[i].page = TABLES_AT + order[i] / 2;
    }
    for (uint32_t space = 0, turn = (uint32_t)draw(4); space < 4; space++) {
        uint32_t height = (space + turn) % 4;

        tables->roots[space] = (struct root){.valid = true, .height = height, .table = tables->count};
        tree(tables, height, space, 0);
    }
    for (uint32_t i = 0; i < tables->count; i++) {
        struct table *table = &tables->table[i];

        if (table->level) {
            table->words[tables->main_index[table->level]] = to_table(tables, table->children[0]);
            table->words[tables->other_index[table->level]] = upper(tables, table, false);
            continue;
        }
        for (uint32_t k = 0; k < 3; k++)
            block(tables, table, blocks[k]);
    }
}

void tables_turn(struct tables *tables)
{
    tables->hot_space = (uint32_t)draw(4);
    tables->hot[0] = draw(4) ? (uint32_t)draw(12) : 500 + (uint32_t)draw(12);
    tables->hot[1] = 32 + (uint32_t)draw(12);
}

// The tables that lead to the main addresses of the hot space just now; how many.
static uint32_t leading(const struct tables *tables, uint32_t path[4])
{
    uint32_t count = 0, at = tables->roots[tables->hot_space].table;

    for (bool leads = true; leads;) {
        const struct table *table = &tables->table[at];

        leads = false;
        path[count++] = at;
        for (uint32_t i = 0; table->level && i < 2 && !leads; i++) {
            uint64_t entry = table->words[tables->main_index[table->level]] & ENTRY(PAGE);

            leads = entry == tables_place(tables, table->children[i]);
            at = leads ? table->children[i] : at;
        }
    }
    return count;
}

uint32_t tables_edit(struct tables *tables, struct table_edit *edits)
{
    uint32_t path[4], length = leading(tables, path), count = 0;
    uint32_t number = draw(4) ? path[draw(3) ? length - 1 : draw(length)] : (uint32_t)draw(tables->count);
    struct table *table = &tables->table[number];
    uint64_t before[512];

    memcpy(before, table->words, sizeof before);
    if (table->level) {
        bool main_index = draw(3) != 0;

        table->words[(main_index ? tables->main_index : tables->other_index)[table->level]] =
            upper(tables, table, main_index);
    } else {
        uint32_t index =
            draw(4) ? (tables->hot[draw(2)] + (uint32_t)draw(3)) % 512 : blocks[draw(3)] + (uint32_t)draw(16);
        uint32_t first = index & ~15u;

        if (draw(5) == 0) // More rights: what is remembered without them is not believed.
            for (uint32_t i = first; i < first + 16; i++)
                table->words[i] &=
                    ~(uint64_t)(table->words[i] & ENTRY(VALID) ? ENTRY(READ_ONLY) | ENTRY(PROTECTED) : 0);
        else if (table->grouped[first / 16] || draw(4) == 0)
            block(tables, table, first);
        else
            table->words[index] = draw(5) ? small_page(tables, index) : draw(2) ? bad_page(tables, index) : 0;
    }
    for (uint32_t i = 0; i < 512; i++)
        if (table->words[i] != before[i])
            edits[count++] = (struct table_edit){number, i, table->words[i]};
    return count;
}

uint32_t tables_level(const struct tables *tables, uint32_t number)
{
    const struct table *table = &tables->table[number];

    return !tables->tidy ? 4 : table->shared && table->level < 2 ? 2 : table->level;
}

struct table_forget tables_forget(const struct tables *tables, const struct table_edit *edit)
{
    const struct table *table = &tables->table[edit->table];
    static const uint32_t scopes[] = {FERRY_FORGET_SCOPE_GROUP, FERRY_FORGET_SCOPE_TABLE, FERRY_FORGET_SCOPE_SPACE,
                                      FERRY_FORGET_SCOPE_SPACE, FERRY_FORGET_SCOPE_ALL};
    uint32_t least = scopes[tables_level(tables, edit->table)];
    struct table_forget forget = {.scope = least + (uint32_t)draw(4 - least)};

    if (draw(2))
        forget.scope = least;
    if (forget.scope != FERRY_FORGET_SCOPE_ALL)
        forget.space = table->space;
    if (forget.scope <= FERRY_FORGET_SCOPE_TABLE) {
        uint64_t range = forget.scope == FERRY_FORGET_SCOPE_GROUP ? PAGE(16) : PAGE(512);

        forget.address = table->address + ((uint64_t)edit->index << (12 + 9 * table->level));
        forget.address = (forget.address & ~(range - 1)) + draw(range);
    }
    return forget;
}

uint64_t tables_address(const struct tables *tables, uint32_t space, bool write, uint32_t bytes)
{
    uint32_t height = tables->roots[space].height, pages = (bytes + 4095) / 4096 + 1;
    uint64_t address = 0, offset = draw(3) ? 4096 - draw(bytes < 4096 ? bytes + 1 : 4096) : draw(4096);

    for (uint32_t level = 1; level <= height; level++) {
        uint64_t index = draw(12)    ? tables->main_index[level]
                         : draw(6)   ? tables->other_index[level]
                         : level < 3 ? draw(512)
                                     : draw(511);

        address |= index << (12 + 9 * level);
    }
    if (height < 3 && draw(40) == 0)
        address |= UINT64_C(1) << (21 + 9 * height + draw(27 - 9 * height));
    if (draw(4))
        return address + PAGE(tables->hot[write]) + offset;
    if (write)
        return address + PAGE(32 + draw(16 - pages)) + offset;
    return address + PAGE(draw(3) ? draw(16 - pages) : 500 + draw(12)) + offset;
}
