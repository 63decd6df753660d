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

static void set_largest(struct ferry_vm_directory *directory, size_t street, uint64_t pages)
{
    uint64_t *largest = directory->largest;
    size_t at = directory->streets + street;
    while (largest[at] != pages) {
        largest[at] = pages;
        if (at == 1)
            return;
        if (largest[at ^ 1] > pages)
            pages = largest[at ^ 1];
        at /= 2;
    }
}

void ferry_vm_directory_hole(struct ferry_vm_directory *directory, const struct ferry_vm_block *hole)
{
    size_t street = street_of(hole);
    if (hole->pages > directory->largest[directory->streets + street])
        set_largest(directory, street, hole->pages);
}

void ferry_vm_directory_no_hole(struct ferry_vm_directory *directory, const struct ferry_vm_block *block)
{
    size_t street = street_of(block);
    uint64_t most = 0;
    if (block->pages < directory->largest[directory->streets + street])
        return;
    for (const struct ferry_vm_block *at = directory->lowest[street]; at; at = next_in(at, street))
        if (!at->owner && at != block && at->pages > most)
            most = at->pages;
    set_largest(directory, street, most);
}

struct ferry_vm_block *ferry_vm_directory_first(const struct ferry_vm_directory *directory, uint64_t pages)
{
    size_t at = 1;
    if (directory->largest[1] < pages)
        return NULL;
    while (at < directory->streets)
        at = directory->largest[2 * at] >= pages ? 2 * at : 2 * at + 1;
    struct ferry_vm_block *block = directory->lowest[at - directory->streets];
    while (block->owner || block->pages < pages)
        block = block->next;
    return block;
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
    const uint64_t *largest = directory->largest;
    size_t street = (size_t)(end / FERRY_VM_STREET), at = directory->streets + street;
    if (street >= directory->streets)
        at = 1; // all of it
    else if (largest[at] >= pages) {
        struct ferry_vm_block *found = last_in(directory, street, end, pages);
        if (found)
            return found;
    }
    if (at > 1) {
        // Up until there is a lower half that has one, ...
        while (at % 2 == 0 || largest[at - 1] < pages) {
            at /= 2;
            if (at <= 1)
                return NULL;
        }
        at--;
    } else if (largest[1] < pages) {
        return NULL;
    }
    // ... and down to the highest street in it.
    while (at < directory->streets)
        at = largest[2 * at + 1] >= pages ? 2 * at + 1 : 2 * at;
    return last_in(directory, at - directory->streets, end, pages);
}
