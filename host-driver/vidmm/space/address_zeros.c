// SPDX-License-Identifier: Apache-2.0
// Reservations of which all addresses, or some, read as zeros: which those are, the tables at their edges, and what of
// tables leads to zeros. Whoever carries it out has one table of each level for all of them, whose entries all lead to
// the one below; so only a table of which some entries lead to zeros and others do not is a reservation's own.
#include <assert.h>
#include <stdlib.h>

#include "ferry/error.h"
#include "vidmm/base/least.h"
#include "vidmm/space/address_internal.h"

static uint64_t pages_under(unsigned level)
{
    return UINT64_C(1) << (9 * (level + 1));
}

static uint64_t end_of(const struct ferry_vm_range *range)
{
    return range->first + range->pages;
}

struct ferry_vm_range *ferry_vm_address_zeros(const struct ferry_vm_address_space *space, uint64_t page)
{
    return ferry_vm_range_find(space->zeros, page);
}

bool ferry_vm_address_all_zeros(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    const struct ferry_vm_range *zeros = ferry_vm_address_zeros(space, first);

    return zeros && zeros->first <= first && end_of(zeros) >= first + pages;
}

// ---- Edges --------------------------------------------------------------------------------------------------------

// The tables of a level that these addresses begin or end in the middle of: first pages of what is under them; returns
// how many.
static unsigned edges_at(uint64_t first, uint64_t pages, unsigned level, uint64_t at[2])
{
    uint64_t under = pages_under(level), end = first + pages;
    unsigned count = 0;

    if (first % under != 0)
        at[count++] = first / under * under;
    if (end % under != 0 && (count == 0 || at[0] != end / under * under))
        at[count++] = end / under * under;
    return count;
}

static void count_missing(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                          struct ferry_vm_missing *missing)
{
    uint64_t at[2];

    for (unsigned level = 0; level < FERRY_VM_TABLE_LEVELS - 1; level++)
        for (unsigned i = edges_at(first, pages, level, at); i-- > 0;)
            *(level > 0 ? &missing->upper : &missing->lowest) += !ferry_vm_address_table(space, at[i], level);
    missing->upper += !space->root;
}

// Those that are missing are made, and all of them stay; common: so many pages of the pool are left besides.
static int make_edges(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages, uint64_t common,
                      uint64_t *table_bytes)
{
    struct ferry_vm_missing missing = {0};
    struct ferry_vm_spares spares;
    uint64_t at[2];

    count_missing(space, first, pages, &missing);
    *table_bytes = ferry_vm_missing_bytes(space, &missing);
    if (*table_bytes == 0 && common > 0) {
        uint64_t beside = ferry_vm_table_pool_beside(space->pool, space->shares, space->tables,
                                                     space->tables + missing.upper + missing.lowest);
        *table_bytes = common > beside ? (common - beside) * 4096 : 0;
    }
    if (*table_bytes > 0)
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    if (!ferry_vm_spares_make(&missing, &spares))
        return FERRY_ERROR_NO_HOST_MEMORY;
    ferry_vm_tables_make(space, first, FERRY_VM_TABLE_LEVELS - 1, &spares);
    for (unsigned level = FERRY_VM_TABLE_LEVELS - 1; level-- > 0;)
        for (unsigned i = edges_at(first, pages, level, at); i-- > 0;)
            ferry_vm_table_keep(ferry_vm_tables_make(space, at[i], level, &spares), true);
    return FERRY_OK;
}

int ferry_vm_address_zeros_make(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages, uint64_t common,
                                struct ferry_vm_range **zeros, uint64_t *table_bytes)
{
    *zeros = ferry_vm_range_new();
    int error = *zeros ? make_edges(space, first, pages, common, table_bytes) : FERRY_ERROR_NO_HOST_MEMORY;

    if (error != FERRY_OK) {
        free(*zeros);
        return error;
    }
    (*zeros)->first = first;
    (*zeros)->pages = pages;
    (*zeros)->more->reservation = ferry_vm_address_find(space, first)->more->reservation;
    return FERRY_OK;
}

int ferry_vm_address_zeros_cut(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                               struct ferry_vm_range **behind, uint64_t *table_bytes)
{
    return ferry_vm_address_zeros_make(space, first, pages, 0, behind, table_bytes);
}

// Some of these addresses is zeros, and not all.
static bool is_edge(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    const struct ferry_vm_range *zeros = ferry_vm_address_zeros(space, first);

    return zeros && zeros->first < first + pages && !ferry_vm_address_all_zeros(space, first, pages);
}

// At the edges of these addresses, as they are now.
static void keep_edges(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    uint64_t at[2];

    for (unsigned level = 0; level < FERRY_VM_TABLE_LEVELS - 1; level++)
        for (unsigned i = edges_at(first, pages, level, at); i-- > 0;)
            if (!is_edge(space, at[i], pages_under(level)))
                ferry_vm_table_keep(ferry_vm_address_table(space, at[i], level), false);
}

void ferry_vm_address_zeros_begin(struct ferry_vm_address_space *space, struct ferry_vm_range *zeros)
{
    uint64_t first = zeros->first, pages = zeros->pages;
    struct ferry_vm_range *before = first > 0 ? ferry_vm_address_zeros(space, first - 1) : NULL,
                          *behind = ferry_vm_address_zeros(space, first + pages);

    if (before && end_of(before) == first && before->more->reservation == zeros->more->reservation) {
        ferry_vm_range_leave(&space->zeros, before);
        zeros->first = before->first;
        zeros->pages += before->pages;
        free(before);
    }
    if (behind && behind->first == first + pages && behind->more->reservation == zeros->more->reservation) {
        ferry_vm_range_leave(&space->zeros, behind);
        zeros->pages += behind->pages;
        free(behind);
    }
    ferry_vm_range_enter(&space->zeros, zeros);
    keep_edges(space, first, pages);
}

void ferry_vm_address_zeros_end(struct ferry_vm_address_space *space, uint64_t first, uint64_t pages,
                                struct ferry_vm_range *behind)
{
    struct ferry_vm_range *zeros = ferry_vm_address_zeros(space, first);
    uint64_t end = end_of(zeros);

    ferry_vm_range_leave(&space->zeros, zeros);
    if (end > first + pages) {
        behind->more->reservation = zeros->more->reservation;
        behind->first = first + pages;
        behind->pages = end - behind->first;
        ferry_vm_range_enter(&space->zeros, behind);
    } else {
        free(behind);
    }
    zeros->pages = first - zeros->first;
    if (zeros->pages > 0)
        ferry_vm_range_enter(&space->zeros, zeros);
    else
        free(zeros);
    keep_edges(space, first, pages);
}

uint64_t ferry_vm_address_zero_edges(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    const struct ferry_vm_range *zeros;
    uint64_t count = 0, end = first + pages;

    for (uint64_t at = first; (zeros = ferry_vm_address_zeros(space, at)) && zeros->first < end; at = end_of(zeros))
        count += (zeros->first > first) + (end_of(zeros) < end);
    return count;
}

// ---- Entries ------------------------------------------------------------------------------------------------------

void ferry_vm_address_highest_piece(const struct ferry_vm_address_space *space, uint64_t at, uint64_t end,
                                    struct ferry_vm_piece *piece)
{
    struct ferry_vm_table *table = space->root, *child;
    uint64_t each = pages_under(FERRY_VM_TABLE_LEVELS - 2), most;

    while (table->level > 0 && (child = table->children[at / each % FERRY_VM_TABLE_ENTRIES])) {
        table = child;
        each /= FERRY_VM_TABLE_ENTRIES;
    }
    *piece = (struct ferry_vm_piece){
        .table = table, .first = at, .index = (uint32_t)(at / each % FERRY_VM_TABLE_ENTRIES), .repeat = true};
    assert(at % each == 0 && end - at >= each);
    most = ferry_vm_least(FERRY_VM_TABLE_ENTRIES - piece->index, (end - at) / each);
    do
        piece->count++;
    while (piece->count < most && (table->level == 0 || !table->children[piece->index + piece->count]));
    piece->pages = piece->count * each;
}
