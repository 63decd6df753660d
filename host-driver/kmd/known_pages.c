// SPDX-License-Identifier: Apache-2.0
// Where a program's addresses lead, as far as entries were built: kept so that Patch can tell whether two copies of a
// job meet (hazard.c). Entries of what a job names stand still from before it is patched until it is over, so what was
// built last is what it finds. Of an address that it does not name this may be wrong; then it reads something else than
// it meant to, and in another order, but nothing that its own tables do not show.
#include <stdlib.h>

#include "kmd/internal.h"

#define ENTRIES 512u
#define LEAF    FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK
#define VALID   FERRY_TABLE_ENTRY_ENTRY_VALID_MASK
#define HOST    FERRY_TABLE_ENTRY_ENTRY_HOST_MASK

// Of level 0; 2 MiB of addresses.
struct kmd_known_table {
    uint64_t entries[ENTRIES];
};

// Of level 1; 1 GiB.
struct kmd_known_area {
    struct kmd_known_table *tables[ENTRIES];
    uint64_t large[ENTRIES];
};

// Of level 2; 512 GiB. The level above is in the process.
struct kmd_known_region {
    struct kmd_known_area *areas[ENTRIES];
};

static uint32_t index_at(uint64_t address, unsigned level)
{
    return (uint32_t)(address >> (PAGE_SHIFT + 9 * level)) % ENTRIES;
}

static const struct kmd_known_area *area_at(const struct kmd_process *process, uint64_t address)
{
    const struct kmd_known_region *region = process->known[index_at(address, 3)];

    return region ? region->areas[index_at(address, 2)] : NULL;
}

// Made when it is missing; NULL when there is no memory for it.
static struct kmd_known_area *make_area(struct kmd_process *process, uint64_t address)
{
    struct kmd_known_region **region = &process->known[index_at(address, 3)];

    if (!*region && !(*region = calloc(1, sizeof **region)))
        return NULL;
    struct kmd_known_area **area = &(*region)->areas[index_at(address, 2)];
    if (!*area)
        *area = calloc(1, sizeof **area);
    return *area;
}

static void free_area(struct kmd_known_region *region, uint32_t index)
{
    struct kmd_known_area *area = region->areas[index];

    for (uint32_t i = 0; area && i < ENTRIES; i++)
        free(area->tables[i]);
    free(area);
    region->areas[index] = NULL;
}

static void free_region(struct kmd_process *process, uint32_t index)
{
    struct kmd_known_region *region = process->known[index];

    for (uint32_t i = 0; region && i < ENTRIES; i++)
        free_area(region, i);
    free(region);
    process->known[index] = NULL;
}

// A table above goes, and whatever was under it has gone before.
static void forget_under(struct kmd_process *process, unsigned level, uint64_t address)
{
    struct kmd_known_region *region = process->known[index_at(address, 3)];

    if (level == 3)
        free_region(process, index_at(address, 3));
    else if (region)
        free_area(region, index_at(address, 2));
}

void kmd_known_write(struct kmd_process *process, unsigned level, uint64_t address, uint64_t entry)
{
    if (level > 1 && entry == 0)
        forget_under(process, level, address);
    // Above stand tables alone.
    if (level > 1 || process->unknown)
        return;
    // What was never anywhere needs no place to say that it is not.
    if (entry == 0 && !area_at(process, address))
        return;
    struct kmd_known_area *area = make_area(process, address);
    uint32_t index = index_at(address, 1);

    process->unknown |= !area;
    if (area && level == 1) {
        area->large[index] = entry & LEAF ? entry : 0;
        if (entry == 0) {
            free(area->tables[index]);
            area->tables[index] = NULL;
        }
    } else if (area) {
        if (!area->tables[index] && entry != 0)
            area->tables[index] = calloc(1, sizeof *area->tables[index]);
        if (area->tables[index])
            area->tables[index]->entries[index_at(address, 0)] = entry;
        process->unknown |= !area->tables[index] && entry != 0;
    }
}

enum kmd_known kmd_known_page(const struct kmd_process *process, uint64_t address, uint64_t *page)
{
    const struct kmd_known_area *area =
        address >> 48 || process->unknown || process->adapter->unknown ? NULL : area_at(process, address);
    uint32_t index = index_at(address, 1);
    uint64_t entry = area ? area->large[index] : 0;

    *page = entry & FERRY_TABLE_ENTRY_ENTRY_PAGE_MASK;
    if (entry)
        *page += address & ((UINT64_C(1) << (PAGE_SHIFT + 9)) - PAGE_SIZE);
    else if (area && area->tables[index]) {
        entry = area->tables[index]->entries[index_at(address, 0)];
        *page = entry & FERRY_TABLE_ENTRY_ENTRY_PAGE_MASK;
    }
    if (!(entry & VALID))
        return KMD_UNKNOWN;
    return entry & HOST ? KMD_IN_HOST_MEMORY : KMD_IN_VIDEO_MEMORY;
}

void kmd_known_free(struct kmd_process *process)
{
    for (uint32_t i = 0; i < ENTRIES; i++)
        free_region(process, i);
}
