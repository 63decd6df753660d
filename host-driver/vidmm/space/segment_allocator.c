// SPDX-License-Identifier: Apache-2.0
#include "vidmm/space/segment_allocator.h"

#include <stdlib.h>

// ---- Holes by size ----

static unsigned log2_of(uint64_t value)
{
    return 63u - (unsigned)__builtin_clzll(value);
}

// All sizes below 16 have a bin of their own.
static void bin_of(uint64_t pages, unsigned *power, unsigned *eighth)
{
    *power = log2_of(pages);
    *eighth = (unsigned)(*power < 3 ? pages << (3 - *power) : pages >> (*power - 3)) & 7;
}

static void insert_free(struct ferry_vm_space *space, struct ferry_vm_block *block)
{
    unsigned power, eighth;
    bin_of(block->pages, &power, &eighth);
    struct ferry_vm_block **bin = &space->bins[power][eighth];
    block->before = NULL;
    block->behind = *bin;
    if (*bin)
        (*bin)->before = block;
    *bin = block;
    space->powers |= UINT64_C(1) << power;
    space->eighths[power] |= (uint8_t)(1u << eighth);
    space->free_pages += block->pages;
    ferry_vm_directory_hole(&space->directory, block);
}

static void remove_free(struct ferry_vm_space *space, struct ferry_vm_block *block)
{
    unsigned power, eighth;
    bin_of(block->pages, &power, &eighth);
    if (block->behind)
        block->behind->before = block->before;
    if (block->before)
        block->before->behind = block->behind;
    else
        space->bins[power][eighth] = block->behind;
    if (!space->bins[power][eighth]) {
        space->eighths[power] &= (uint8_t) ~(1u << eighth);
        if (space->eighths[power] == 0)
            space->powers &= ~(UINT64_C(1) << power);
    }
    space->free_pages -= block->pages;
    ferry_vm_directory_no_hole(&space->directory, block);
}

// The next bin that has any, this one included.
static bool next_bin(const struct ferry_vm_space *space, unsigned *power, unsigned *eighth)
{
    unsigned here = space->eighths[*power] >> *eighth;
    if (here != 0) {
        *eighth += (unsigned)__builtin_ctz(here);
        return true;
    }
    uint64_t above = *power == 63 ? 0 : space->powers >> (*power + 1) << (*power + 1);
    if (above == 0)
        return false;
    *power = (unsigned)__builtin_ctzll(above);
    *eighth = (unsigned)__builtin_ctz(space->eighths[*power]);
    return true;
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

// Where in this free block the room would start; UINT64_MAX when the alignment leaves too little.
static uint64_t position(const struct ferry_vm_block *block, uint64_t pages, uint64_t alignment, bool from_end)
{
    uint64_t end = block->first + block->pages;
    uint64_t first = from_end ? (end - pages) & ~(alignment - 1) : align_up(block->first, alignment);
    if (first < block->first || first > end || end - first < pages)
        return UINT64_MAX;
    return first;
}

// No more than a few are looked at, so that the cost stays that of a search.
#define LOOKS_IN_BIN 8
#define MOST_LOOKS   64

// A place in a hole.
struct spot {
    struct ferry_vm_block *hole;
    uint64_t first;
};
static const struct spot nowhere = {NULL, UINT64_MAX};

static struct spot spot_in(struct ferry_vm_block *hole, uint64_t pages, uint64_t alignment, bool from_end)
{
    return hole ? (struct spot){hole, position(hole, pages, alignment, from_end)} : nowhere;
}

// The smallest of those looked at, of these the lowest.
static struct spot find_by_size(const struct ferry_vm_space *space, uint64_t pages, uint64_t alignment)
{
    unsigned power, eighth, looks = 0;
    bin_of(pages, &power, &eighth);
    for (; looks < MOST_LOOKS && next_bin(space, &power, &eighth); eighth++) {
        struct spot found = nowhere;
        struct ferry_vm_block *at = space->bins[power][eighth];
        for (unsigned i = 0; at && i < LOOKS_IN_BIN; i++, looks++, at = at->behind) {
            if (at->pages < pages || (found.hole && at->pages > found.hole->pages))
                continue;
            struct spot spot = spot_in(at, pages, alignment, false);
            if (spot.first != UINT64_MAX && (!found.hole || at->pages < found.hole->pages || spot.first < found.first))
                found = spot;
        }
        if (found.hole)
            return found;
    }
    return nowhere;
}

static struct spot find_from_end(const struct ferry_vm_space *space, uint64_t pages, uint64_t alignment)
{
    struct spot spot = {NULL, UINT64_MAX};
    uint64_t end = space->pages;
    for (unsigned looks = 0; spot.first == UINT64_MAX && looks < MOST_LOOKS && end > 0; looks++) {
        spot = spot_in(ferry_vm_directory_below(&space->directory, end, pages), pages, alignment, true);
        end = spot.hole ? spot.hole->first : 0;
    }
    return spot;
}

static struct spot find(const struct ferry_vm_space *space, uint64_t pages, uint64_t alignment, bool from_end,
                        uint64_t lowest)
{
    if (pages == 0 || ferry_vm_space_largest(space) < pages)
        return nowhere;
    struct spot spot = from_end ? find_from_end(space, pages, alignment) : find_by_size(space, pages, alignment);
    // One with a whole alignment to spare always works.
    uint64_t enough = pages + alignment - 1;
    if (spot.first == UINT64_MAX && enough >= pages)
        spot = spot_in(from_end ? ferry_vm_directory_below(&space->directory, space->pages, enough)
                                : ferry_vm_directory_first(&space->directory, enough),
                       pages, alignment, from_end);
    return spot.first == UINT64_MAX || spot.first < lowest ? nowhere : spot;
}

uint64_t ferry_vm_space_find(const struct ferry_vm_space *space, uint64_t pages, uint64_t alignment, bool from_end,
                             uint64_t lowest)
{
    return find(space, pages, alignment, from_end, lowest).first;
}

// ---- Blocks ----

// Nodes that are not needed any more are kept, so that a plan can always be taken back (plan.h).
static struct ferry_vm_block *new_block(struct ferry_vm_space *space, uint64_t first, uint64_t pages)
{
    struct ferry_vm_block *block = space->spare;
    if (block)
        space->spare = block->next;
    else
        block = malloc(sizeof(*block));
    if (block)
        *block = (struct ferry_vm_block){.first = first, .pages = pages};
    return block;
}

static void old_block(struct ferry_vm_space *space, struct ferry_vm_block *block)
{
    block->next = space->spare;
    space->spare = block;
}

bool ferry_vm_space_init(struct ferry_vm_space *space, uint64_t pages)
{
    *space = (struct ferry_vm_space){.pages = pages};
    if (!ferry_vm_directory_init(&space->directory, pages))
        return false;
    if (pages == 0)
        return true;
    space->head = new_block(space, 0, pages);
    if (!space->head) {
        ferry_vm_directory_destroy(&space->directory);
        return false;
    }
    ferry_vm_directory_enter(&space->directory, space->head);
    insert_free(space, space->head);
    return true;
}

void ferry_vm_space_destroy(struct ferry_vm_space *space)
{
    struct ferry_vm_block *lists[] = {space->head, space->spare};
    for (unsigned i = 0; i < 2; i++) {
        while (lists[i]) {
            struct ferry_vm_block *block = lists[i];
            lists[i] = block->next;
            free(block);
        }
    }
    ferry_vm_directory_destroy(&space->directory);
    *space = (struct ferry_vm_space){0};
}

// The hole in which page `first` lies.
static struct ferry_vm_block *hole_at(const struct ferry_vm_space *space, uint64_t first)
{
    if (first >= space->pages)
        return NULL;
    struct ferry_vm_block *hole = ferry_vm_directory_below(&space->directory, first + 1, 1);
    return hole && first < hole->first + hole->pages ? hole : NULL;
}

// A new hole of so many pages at the low or the high end of a block that is no hole.
static void cut_low(struct ferry_vm_space *space, struct ferry_vm_block *block, struct ferry_vm_block *low)
{
    ferry_vm_directory_leave(&space->directory, block);
    block->first += low->pages;
    block->pages -= low->pages;
    low->previous = block->previous;
    low->next = block;
    if (low->previous)
        low->previous->next = low;
    else
        space->head = low;
    block->previous = low;
    ferry_vm_directory_enter(&space->directory, low);
    ferry_vm_directory_enter(&space->directory, block);
    insert_free(space, low);
}

static void cut_high(struct ferry_vm_space *space, struct ferry_vm_block *block, struct ferry_vm_block *high)
{
    block->pages -= high->pages;
    high->next = block->next;
    high->previous = block;
    if (high->next)
        high->next->previous = high;
    block->next = high;
    ferry_vm_directory_enter(&space->directory, high);
    insert_free(space, high);
}

static struct ferry_vm_block *take_of(struct ferry_vm_space *space, struct ferry_vm_block *hole, uint64_t first,
                                      uint64_t pages, void *owner, bool *no_memory)
{
    uint64_t before = first - hole->first, after = hole->first + hole->pages - first - pages;
    struct ferry_vm_block *low = before ? new_block(space, hole->first, before) : NULL;
    struct ferry_vm_block *high = after ? new_block(space, first + pages, after) : NULL;
    *no_memory = (before && !low) || (after && !high);
    if (*no_memory) {
        if (low)
            old_block(space, low);
        if (high)
            old_block(space, high);
        return NULL;
    }
    remove_free(space, hole);
    hole->owner = owner;
    if (low)
        cut_low(space, hole, low);
    if (high)
        cut_high(space, hole, high);
    return hole;
}

struct ferry_vm_block *ferry_vm_space_take_at(struct ferry_vm_space *space, uint64_t first, uint64_t pages, void *owner,
                                              bool *no_memory)
{
    struct ferry_vm_block *hole = hole_at(space, first);
    *no_memory = false;
    if (!hole || pages == 0 || hole->first + hole->pages - first < pages)
        return NULL;
    return take_of(space, hole, first, pages, owner, no_memory);
}

struct ferry_vm_block *ferry_vm_space_take(struct ferry_vm_space *space, uint64_t pages, uint64_t alignment,
                                           bool from_end, uint64_t lowest, void *owner, bool *no_memory)
{
    struct spot spot = find(space, pages, alignment, from_end, lowest);
    *no_memory = false;
    return spot.hole ? take_of(space, spot.hole, spot.first, pages, owner, no_memory) : NULL;
}

// Make `block` cover its upper neighbour too; that one disappears.
static void absorb_next(struct ferry_vm_space *space, struct ferry_vm_block *block)
{
    struct ferry_vm_block *next = block->next;
    ferry_vm_directory_leave(&space->directory, next);
    block->pages += next->pages;
    block->next = next->next;
    if (block->next)
        block->next->previous = block;
    old_block(space, next);
}

void ferry_vm_space_give(struct ferry_vm_space *space, struct ferry_vm_block *block)
{
    // It is no hole before its neighbours are joined: the directory would count it.
    if (block->next && !block->next->owner) {
        remove_free(space, block->next);
        absorb_next(space, block);
    }
    if (block->previous && !block->previous->owner) {
        block = block->previous;
        remove_free(space, block);
        absorb_next(space, block);
    }
    block->owner = NULL;
    block->place = 0;
    insert_free(space, block);
}

uint64_t ferry_vm_space_largest(const struct ferry_vm_space *space)
{
    return ferry_vm_directory_largest(&space->directory);
}

struct ferry_vm_block *ferry_vm_space_largest_hole(const struct ferry_vm_space *space)
{
    uint64_t largest = ferry_vm_space_largest(space);
    return largest ? ferry_vm_directory_first(&space->directory, largest) : NULL;
}

bool ferry_vm_space_free_for(const struct ferry_vm_space *space, const struct ferry_vm_block *block, uint64_t first)
{
    uint64_t low = block->first, high = block->first + block->pages, end = first + block->pages;
    if (first >= space->pages || end > space->pages)
        return false;
    if (block->previous && !block->previous->owner)
        low = block->previous->first;
    if (block->next && !block->next->owner)
        high += block->next->pages;
    if (first >= low && end <= high)
        return true;
    const struct ferry_vm_block *hole = hole_at(space, first);
    return hole && end <= hole->first + hole->pages;
}
