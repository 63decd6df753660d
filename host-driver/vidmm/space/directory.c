// SPDX-License-Identifier: Apache-2.0
#include "vidmm/space/directory.h"

#include <stdlib.h>

#include "vidmm/space/block.h"

static size_t street_of(const struct ferry_vm_block *block)
{
    return (size_t)(block->first / FERRY_VM_STREET);
}

bool ferry_vm_directory_init(struct ferry_vm_directory *directory, uint64_t pages)
{
    size_t streets = 1;
    while (streets < (pages + FERRY_VM_STREET - 1) / FERRY_VM_STREET)
        streets *= 2;
    *directory = (struct ferry_vm_directory){.lowest = calloc(streets, sizeof(struct ferry_vm_block *)),
                                             .largest = calloc(2 * streets, sizeof(uint64_t)),
                                             .streets = streets};
    if (directory->lowest && directory->largest)
        return true;
    ferry_vm_directory_destroy(directory);
    return false;
}

void ferry_vm_directory_destroy(struct ferry_vm_directory *directory)
{
    free(directory->lowest);
    free(directory->largest);
    *directory = (struct ferry_vm_directory){0};
}

void ferry_vm_directory_enter(struct ferry_vm_directory *directory, struct ferry_vm_block *block)
{
    struct ferry_vm_block **lowest = &directory->lowest[street_of(block)];
    if (!*lowest || block->first < (*lowest)->first)
        *lowest = block;
}

static struct ferry_vm_block *next_in(const struct ferry_vm_block *block, size_t street)
{
    return block->next && street_of(block->next) == street ? block->next : NULL;
}

void ferry_vm_directory_leave(struct ferry_vm_directory *directory, const struct ferry_vm_block *block)
{
    size_t street = street_of(block);
    if (directory->lowest[street] == block)
        directory->lowest[street] = next_in(block, street);
}

// ---- How large holes are: bounds, exact where somebody has looked since one was taken ----

void ferry_vm_directory_hole(struct ferry_vm_directory *directory, const struct ferry_vm_block *hole)
{
    uint64_t *largest = directory->largest;
    for (size_t at = directory->streets + street_of(hole); at > 0 && largest[at] < hole->pages; at /= 2)
        largest[at] = hole->pages;
}

void ferry_vm_directory_no_hole(struct ferry_vm_directory *directory, const struct ferry_vm_block *block)
{
    if (block->pages == directory->largest[1])
        directory->exact = false;
}

// The street's own, and with it what those above it say, becomes exact.
static uint64_t look_through(const struct ferry_vm_directory *directory, size_t street)
{
    uint64_t *largest = directory->largest, most = 0;
    for (const struct ferry_vm_block *at = directory->lowest[street]; at; at = next_in(at, street))
        if (!at->owner && at->pages > most)
            most = at->pages;
    size_t at = directory->streets + street;
    for (uint64_t pages = most; largest[at] != pages;) {
        largest[at] = pages;
        if (at == 1)
            break;
        if (largest[at ^ 1] > pages)
            pages = largest[at ^ 1];
        at /= 2;
    }
    return most;
}

// The lowest street in which a hole of so many pages may begin; largest[1] says that there is one.
static size_t first_street(const struct ferry_vm_directory *directory, uint64_t pages)
{
    size_t at = 1;
    while (at < directory->streets)
        at = directory->largest[2 * at] >= pages ? 2 * at : 2 * at + 1;
    return at - directory->streets;
}

uint64_t ferry_vm_directory_largest(struct ferry_vm_directory *directory)
{
    while (!directory->exact) {
        uint64_t pages = directory->largest[1];
        directory->exact = pages == 0 || look_through(directory, first_street(directory, pages)) == pages;
    }
    return directory->largest[1];
}

struct ferry_vm_block *ferry_vm_directory_first(const struct ferry_vm_directory *directory, uint64_t pages)
{
    while (directory->largest[1] >= pages) {
        size_t street = first_street(directory, pages);
        for (struct ferry_vm_block *at = directory->lowest[street]; at; at = next_in(at, street))
            if (!at->owner && at->pages >= pages)
                return at;
        look_through(directory, street);
    }
    return NULL;
}

// The highest street below `street` in which a hole of so many pages may begin; `streets` when there is none.
static size_t last_street(const struct ferry_vm_directory *directory, size_t street, uint64_t pages)
{
    const uint64_t *largest = directory->largest;
    size_t at = street < directory->streets ? directory->streets + street : 1;
    if (at > 1) {
        // Up until there is a lower half that has one, ...
        while (at % 2 == 0 || largest[at - 1] < pages) {
            at /= 2;
            if (at <= 1)
                return directory->streets;
        }
        at--;
    } else if (street == 0 || largest[1] < pages) {
        return directory->streets;
    }
    // ... and down to the highest street in it.
    while (at < directory->streets)
        at = largest[2 * at + 1] >= pages ? 2 * at + 1 : 2 * at;
    return at - directory->streets;
}

// The highest hole in the street that is large enough and begins below `end`.
static struct ferry_vm_block *last_in(const struct ferry_vm_directory *directory, size_t street, uint64_t end,
                                      uint64_t pages)
{
    struct ferry_vm_block *found = NULL;
    for (struct ferry_vm_block *at = directory->lowest[street]; at && at->first < end; at = next_in(at, street))
        if (!at->owner && at->pages >= pages)
            found = at;
    return found;
}

struct ferry_vm_block *ferry_vm_directory_below(const struct ferry_vm_directory *directory, uint64_t end,
                                                uint64_t pages)
{
    size_t street = (size_t)(end / FERRY_VM_STREET);
    struct ferry_vm_block *found = NULL;
    if (street < directory->streets && directory->largest[directory->streets + street] >= pages)
        found = last_in(directory, street, end, pages);
    while (!found && (street = last_street(directory, street, pages)) < directory->streets) {
        found = last_in(directory, street, end, pages);
        if (!found)
            look_through(directory, street);
    }
    return found;
}
