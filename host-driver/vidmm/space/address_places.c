// SPDX-License-Identifier: Apache-2.0
// Where a range goes that may be anywhere.
#include "ferry/error.h"
#include "vidmm/base/least.h"
#include "vidmm/space/address_internal.h"

static uint64_t align_up(uint64_t page, uint64_t alignment)
{
    return (page + alignment - 1) & ~(alignment - 1);
}

static uint64_t alignment_of(const struct ferry_vm_where *where)
{
    return where->alignment ? where->alignment : 1;
}

static uint64_t least_of(const struct ferry_vm_where *where)
{
    return where->least ? where->least : FERRY_VM_GROUP_PAGES;
}

static uint64_t most_of(const struct ferry_vm_where *where)
{
    return where->most ? where->most : FERRY_VM_VA_PAGES;
}

// The device takes no rectangle over a multiple of 4 GiB, so what is no longer lies over none, if it can.
#define BORDER_PAGES (UINT64_C(1) << 20)

static bool is_over_border(uint64_t first, uint64_t pages)
{
    return pages <= BORDER_PAGES && first / BORDER_PAGES != (first + pages - 1) / BORDER_PAGES;
}

// The lowest free place in [least, most); UINT64_MAX = none.
static uint64_t free_place(const struct ferry_vm_address_space *space, uint64_t least, uint64_t most, uint64_t pages,
                           uint64_t alignment, bool over_borders)
{
    uint64_t at = align_up(least, alignment);

    while (at < most && pages <= most - at) {
        if (!over_borders && is_over_border(at, pages)) {
            at = align_up(at, BORDER_PAGES);
            continue;
        }
        const struct ferry_vm_range *range = ferry_vm_address_find(space, at);

        if (!range || range->first >= at + pages)
            return at;
        range = ferry_vm_range_with_room(space, range, pages, alignment);
        at = align_up(range->first + range->pages, alignment);
    }
    return UINT64_MAX;
}

// Smaller pages are better than none.
static uint64_t next_alignment(uint64_t alignment, uint64_t smallest)
{
    return ferry_vm_most(alignment > FERRY_VM_GROUP_PAGES ? FERRY_VM_GROUP_PAGES : 1, smallest);
}

int ferry_vm_place_find(const struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                        uint64_t smallest, uint64_t *first)
{
    uint64_t alignment = alignment_of(where), least = least_of(where), most = most_of(where);

    smallest = ferry_vm_most(smallest, where->smallest);
    if (pages == 0 || pages > FERRY_VM_VA_PAGES || (alignment & (alignment - 1)))
        return FERRY_ERROR_ARGUMENT;
    if (where->base != UINT64_MAX) {
        *first = where->base;
        return where->base % alignment || where->base > FERRY_VM_VA_PAGES - pages ? FERRY_ERROR_ARGUMENT : FERRY_OK;
    }
    if (most > FERRY_VM_VA_PAGES || where->least >= most)
        return FERRY_ERROR_ARGUMENT;
    for (bool over_borders = false;;) {
        // On from where the last one went, as long as there is room, so that addresses are not used again at once.
        *first = free_place(space, space->next > least ? space->next : least, most, pages, alignment, over_borders);
        if (*first == UINT64_MAX)
            *first = free_place(space, least, most, pages, alignment, over_borders);
        if (*first != UINT64_MAX)
            return FERRY_OK;
        if (alignment > smallest) {
            alignment = next_alignment(alignment, smallest);
        } else if (!over_borders) {
            over_borders = true;
            alignment = alignment_of(where);
        } else {
            return FERRY_ERROR_NO_VIDEO_MEMORY;
        }
    }
}

// ---- Few tables ---------------------------------------------------------------------------------------------------

struct search {
    const struct ferry_vm_address_space *space;
    uint64_t pages, first;
    uint64_t tables; // that come about there
    bool over_borders;
};

// What is not mapped has tables at its ends alone: beside what is mapped under them.
static uint64_t tables_at(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    uint64_t last = first + pages - 1, count = 0;

    for (unsigned level = 0; level < FERRY_VM_TABLE_LEVELS; level++) {
        uint64_t low = first >> (9 * (level + 1)), high = last >> (9 * (level + 1));

        count += high - low + 1;
        count -= ferry_vm_address_table(space, first, level) != NULL;
        count -= high > low && ferry_vm_address_table(space, last, level) != NULL;
    }
    return count;
}

static void try_place(struct search *search, uint64_t first)
{
    uint64_t tables = tables_at(search->space, first, search->pages);

    if (tables < search->tables && (search->over_borders || !is_over_border(first, search->pages))) {
        search->tables = tables;
        search->first = first;
    }
}

// At both ends of what is free, and from where a table of each level begins.
static void try_free(struct search *search, uint64_t first, uint64_t end, uint64_t alignment)
{
    if (first >= end || end - first < search->pages)
        return;
    uint64_t last = (end - search->pages) & ~(alignment - 1);
    for (unsigned level = 0; level < FERRY_VM_TABLE_LEVELS; level++) {
        uint64_t under = UINT64_C(1) << (9 * level), at = align_up(first, under > alignment ? under : alignment);

        if (at <= last)
            try_place(search, at);
    }
    if (last >= first)
        try_place(search, last);
}

// Free stretches that are looked at one by one. A program may have any number of them, and ask as often as it likes.
#define MOST_STRETCHES 4096u

// False: there are more.
static bool try_all(struct search *search, uint64_t least, uint64_t most, uint64_t alignment)
{
    const struct ferry_vm_range *range;
    unsigned looked = 0;

    for (uint64_t at = least; at < most && search->tables > 0; at = range->first + range->pages) {
        if (looked++ == MOST_STRETCHES)
            return false;
        range = ferry_vm_address_find(search->space, at);
        try_free(search, at, range ? ferry_vm_least(range->first, most) : most, alignment);
        if (!range)
            break;
        range = ferry_vm_range_with_room(search->space, range, search->pages, alignment);
    }
    return true;
}

struct bounds {
    uint64_t least, most, alignment;
};

// What is free on both sides of where a table begins or ends.
static void try_around(struct search *search, uint64_t border, const struct bounds *bounds)
{
    const struct ferry_vm_range *range = ferry_vm_address_find(search->space, border);
    uint64_t begin = ferry_vm_range_end_before(search->space, border);

    if (range && range->first <= border)
        return;
    try_free(search, ferry_vm_most(begin, bounds->least),
             range ? ferry_vm_least(range->first, bounds->most) : bounds->most, bounds->alignment);
}

// Where there are more stretches: inside of the tables that there are, and beside them. Of all other places none takes
// fewer tables but for what they have above them.
static void try_tables(struct search *search, const struct ferry_vm_table *table, const struct bounds *bounds)
{
    uint64_t end = table->first + FERRY_VM_TABLE_ENTRIES;

    for (uint32_t i = 0; table->children && i < FERRY_VM_TABLE_ENTRIES && search->tables > 0; i++)
        if (table->children[i])
            try_tables(search, table->children[i], bounds);
    if (table->children || search->tables == 0)
        return;
    uint64_t first =
        free_place(search->space, ferry_vm_most(table->first, bounds->least), ferry_vm_least(end, bounds->most),
                   search->pages, bounds->alignment, search->over_borders);
    if (first != UINT64_MAX)
        try_place(search, first);
    try_around(search, table->first, bounds);
    try_around(search, end, bounds);
}

uint64_t ferry_vm_place_with_tables(const struct ferry_vm_address_space *space, const struct ferry_vm_where *where,
                                    uint64_t pages, uint64_t first)
{
    struct search search = {space, pages, first, tables_at(space, first, pages), is_over_border(first, pages)};

    uint64_t smallest = ferry_vm_most(1, where->smallest);

    for (uint64_t alignment = alignment_of(where);; alignment = next_alignment(alignment, smallest)) {
        const struct bounds bounds = {least_of(where), most_of(where), alignment};

        if (!try_all(&search, bounds.least, bounds.most, alignment) && space->root)
            try_tables(&search, space->root, &bounds);
        if (search.tables <= ferry_vm_tables_free(space) || (alignment == smallest && search.over_borders))
            return search.first;
        search.over_borders |= alignment == smallest;
    }
}
