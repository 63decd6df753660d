// SPDX-License-Identifier: Apache-2.0
// The ranges of an address space, in a tree: reserved, mapped, given back.
#include <stdlib.h>

#include "ferry/error.h"
#include "vidmm/space/address_internal.h"

void ferry_vm_address_space_init(struct ferry_vm_address_space *space, struct ferry_vm_table_pool *pool)
{
    // Page 0 is never given out by itself: an address of 0 stays a mistake.
    *space = (struct ferry_vm_address_space){.pool = pool, .next = FERRY_VM_GROUP_PAGES};
}

static bool is_free(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    const struct ferry_vm_range *range = ferry_vm_address_find(space, first);

    return !range || range->first >= first + pages;
}

int ferry_vm_address_reserve(struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                             uint64_t *first)
{
    int error = ferry_vm_place_find(space, where, pages, FERRY_VM_GROUP_PAGES, first);

    if (error != FERRY_OK)
        return error;
    if (!is_free(space, *first, pages))
        return FERRY_ERROR_BUSY;
    struct ferry_vm_range *range = ferry_vm_range_new();
    if (!range)
        return FERRY_ERROR_NO_HOST_MEMORY;
    range->first = *first;
    range->pages = pages;
    range->more->reservation = ++space->reservations;
    ferry_vm_range_enter(&space->ranges, range);
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
        ferry_vm_range_leave(&space->ranges, range);
        free(range);
    }
    return FERRY_OK;
}

void ferry_vm_address_release_all(struct ferry_vm_address_space *space)
{
    struct ferry_vm_range *range;

    for (uint64_t at = 0; (range = ferry_vm_address_find(space, at));) {
        at = range->first + range->pages;
        const struct ferry_vm_range *zeros = ferry_vm_address_zeros(space, range->first);
        if (range->owner || (zeros && zeros->first < at))
            continue;
        ferry_vm_range_leave(&space->ranges, range);
        free(range);
    }
}

// ---- Mapping ------------------------------------------------------------------------------------------------------

// All of it is free, or all of it is inside one reservation: its number, else 0. What was mapped in it before has left
// it in pieces.
static bool may_map(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages, uint64_t *reservation)
{
    const struct ferry_vm_range *range = ferry_vm_address_find(space, first);

    *reservation = 0;
    if (!range || range->first >= first + pages)
        return true;
    *reservation = ferry_vm_range_more(range)->reservation;
    for (uint64_t at = first; at < first + pages; range = ferry_vm_address_find(space, at)) {
        if (!range || range->owner || range->first > at || range->more->reservation != *reservation)
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
        ferry_vm_range_leave(&space->ranges, piece);
        if (above && below) {
            behind->first = end;
            behind->pages = at - end;
            behind->more->reservation = piece->more->reservation;
            ferry_vm_range_enter(&space->ranges, behind);
        }
        if (below) {
            piece->pages = first - piece->first;
            ferry_vm_range_enter(&space->ranges, piece);
        } else if (above) {
            piece->first = end;
            piece->pages = at - end;
            ferry_vm_range_enter(&space->ranges, piece);
        } else {
            free(piece);
        }
    }
}

static uint64_t missing_at(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                           struct ferry_vm_missing *missing)
{
    *missing = (struct ferry_vm_missing){0};
    ferry_vm_missing_count(space, first, pages, missing);
    return ferry_vm_missing_bytes(space, missing);
}

// Where nothing is mapped. Besides the range they come to the caller.
static int map(struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages, bool whole,
               struct ferry_vm_range **range, uint64_t *table_bytes)
{
    uint64_t first, reservation;
    struct ferry_vm_range *behind = NULL;
    struct ferry_vm_missing missing;
    struct ferry_vm_spares spares;
    int error = ferry_vm_place_find(space, where, pages, 1, &first);

    *table_bytes = 0;
    if (error != FERRY_OK)
        return error;
    if (!may_map(space, first, pages, &reservation) || (whole && reservation != 0))
        return FERRY_ERROR_BUSY;
    if (ferry_vm_beyond_tables(space, pages, table_bytes))
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    *table_bytes = missing_at(space, first, pages, &missing);
    if (*table_bytes > 0 && where->base == UINT64_MAX) {
        first = ferry_vm_place_with_tables(space, where, pages, first);
        *table_bytes = missing_at(space, first, pages, &missing);
    }
    if (*table_bytes > 0)
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    struct ferry_vm_range *mapped = whole ? calloc(1, sizeof *mapped) : ferry_vm_range_new();
    const struct ferry_vm_range *around = reservation ? ferry_vm_address_find(space, first) : NULL;
    bool splits = around && around->first + around->pages > first + pages && around->first < first;
    if (splits)
        behind = ferry_vm_range_new();
    if (!mapped || (splits && !behind) || !ferry_vm_spares_make(&missing, &spares)) {
        free(mapped);
        free(behind);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    // Nothing can fail from here on.
    mapped->first = first;
    mapped->pages = pages;
    mapped->each_instance = whole;
    if (!whole)
        mapped->more->reservation = reservation;
    if (reservation != 0)
        cut_out(space, first, pages, behind);
    ferry_vm_range_enter(&space->ranges, mapped);
    ferry_vm_tables_use(space, first, pages, &spares);
    if (where->base == UINT64_MAX)
        space->next = first + pages;
    *range = mapped;
    return FERRY_OK;
}

int ferry_vm_address_map(struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                         void *owner, uint64_t offset, bool read_only, struct ferry_vm_range **range,
                         uint64_t *table_bytes)
{
    int error = map(space, where, pages, false, range, table_bytes);

    if (error == FERRY_OK) {
        (*range)->owner = owner;
        (*range)->read_only = read_only;
        (*range)->more->offset = offset;
    }
    return error;
}

int ferry_vm_address_map_whole(struct ferry_vm_address_space *space, const struct ferry_vm_where *where, uint64_t pages,
                               void *owner, struct ferry_vm_range **range, uint64_t *table_bytes)
{
    int error = map(space, where, pages, true, range, table_bytes);

    if (error == FERRY_OK)
        (*range)->owner = owner;
    return error;
}

void ferry_vm_address_unmap(struct ferry_vm_address_space *space, struct ferry_vm_range *range)
{
    ferry_vm_tables_unuse(space, range->first, range->pages);
    uint64_t reservation = ferry_vm_range_more(range)->reservation;
    if (reservation != 0) {
        // Nothing is left of what was mapped there.
        *range = (struct ferry_vm_range){.first = range->first, .pages = range->pages, .tree = range->tree};
        range->more[0] = (struct ferry_vm_range_more){.reservation = reservation};
        return;
    }
    ferry_vm_range_leave(&space->ranges, range);
    free(range);
}

// The one behind it goes into the one before.
static struct ferry_vm_range *join(struct ferry_vm_address_space *space, struct ferry_vm_range *before,
                                   struct ferry_vm_range *behind)
{
    ferry_vm_range_leave(&space->ranges, behind);
    ferry_vm_range_leave(&space->ranges, before);
    before->pages += behind->pages;
    ferry_vm_range_enter(&space->ranges, before);
    free(behind);
    return before;
}

// Both only reserved, by one call, and side by side.
static bool are_one(const struct ferry_vm_range *before, const struct ferry_vm_range *behind)
{
    return before && behind && !before->owner && !behind->owner &&
           before->more->reservation == behind->more->reservation && before->more->reservation != 0 &&
           before->first + before->pages == behind->first;
}

void ferry_vm_address_join(struct ferry_vm_address_space *space, uint64_t page)
{
    struct ferry_vm_range *range = ferry_vm_address_find(space, page);
    struct ferry_vm_range *before = range && range->first > 0 ? ferry_vm_address_find(space, range->first - 1) : NULL;

    if (are_one(before, range))
        range = join(space, before, range);
    struct ferry_vm_range *behind = range ? ferry_vm_address_find(space, range->first + range->pages) : NULL;
    if (are_one(range, behind))
        join(space, range, behind);
}

void ferry_vm_address_space_end(struct ferry_vm_address_space *space)
{
    while (space->ranges) {
        struct ferry_vm_range *range = space->ranges;

        ferry_vm_range_leave(&space->ranges, range);
        free(range);
    }
    while (space->zeros) {
        struct ferry_vm_range *zeros = space->zeros;

        ferry_vm_range_leave(&space->zeros, zeros);
        free(zeros);
    }
    ferry_vm_tables_end(space);
    ferry_vm_address_space_init(space, space->pool);
}
