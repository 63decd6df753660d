// SPDX-License-Identifier: Apache-2.0
// The memcpy machine's page source: host pages by bus addresses that are deliberately neither host addresses nor
// neighbours.
#include "memcpy_machine.h"

#include <stdlib.h>
#include <string.h>

// Numbers for the pages of `memory`, on the bus.
static int list_pages(struct machine *machine, void *memory, size_t pages, unsigned flags, MDL **out)
{
    pthread_mutex_lock(&machine->page_lock);
    int result = FERRY_ERROR_NO_HOST_MEMORY;
    MDL *mdl = NULL;
    if (machine->knobs.host_pages >= 0 && (size_t)machine->knobs.host_pages < pages)
        goto out;
    // One spare number between two pages unless they must be consecutive; scattered ones count downwards.
    size_t step = flags & FERRY_PAGES_CONSECUTIVE ? 1 : 2, need = pages * step;
    if (machine->page_count + need > machine->page_capacity) {
        size_t capacity = (machine->page_count + need) * 2;
        uint8_t **table = realloc(machine->pages, capacity * sizeof(*table));
        if (!table)
            goto out;
        machine->pages = table;
        machine->page_capacity = capacity;
    }
    mdl = calloc(1, sizeof(*mdl));
    uint64_t *pfn = malloc(pages * sizeof(*pfn));
    if (!mdl || !pfn) {
        free(mdl);
        free(pfn);
        goto out;
    }
    for (size_t i = 0; i < need; i++)
        machine->pages[machine->page_count + i] = NULL;
    for (size_t i = 0; i < pages; i++) {
        size_t at = machine->page_count + (step == 1 ? i : (pages - 1 - i) * 2);
        machine->pages[at] = (uint8_t *)memory + i * PAGE_SIZE;
        pfn[i] = FIRST_PFN + at;
    }
    machine->page_count += need;
    machine->pages_out += pages;
    if (machine->knobs.host_pages >= 0)
        machine->knobs.host_pages -= (long)pages;
    *mdl = (MDL){.MappedSystemVa = memory, .PageCount = pages, .ByteCount = pages * PAGE_SIZE, .Pfn = pfn};
    *out = mdl;
    result = FERRY_OK;
out:
    pthread_mutex_unlock(&machine->page_lock);
    return result;
}

static int allocate_pages(void *context, size_t pages, unsigned flags, MDL **out)
{
    if (pages == 0)
        return FERRY_ERROR_ARGUMENT;
    void *memory = aligned_alloc(PAGE_SIZE, pages * PAGE_SIZE);
    if (!memory)
        return FERRY_ERROR_NO_HOST_MEMORY;
    memset(memory, 0, pages * PAGE_SIZE);
    int result = list_pages(context, memory, pages, flags, out);
    if (result != FERRY_OK)
        free(memory);
    return result;
}

#define WRAPPED 0x80000000u

static int wrap_pages(void *context, void *memory, size_t pages, unsigned flags, MDL **out)
{
    if (!memory || (uintptr_t)memory % PAGE_SIZE != 0)
        return FERRY_ERROR_ARGUMENT;
    int result = list_pages(context, memory, pages, flags, out);
    if (result == FERRY_OK)
        (*out)->Flags |= WRAPPED | MDL_FLAG_CACHED; // ordinary memory of a program
    return result;
}

// The bus numbers of a page that was unmapped are never used again.
static void unmap_pages(void *context, MDL *mdl)
{
    struct machine *machine = context;
    if (machine->knobs.on_pages)
        machine->knobs.on_pages(mdl, false);
    pthread_mutex_lock(&machine->page_lock);
    for (size_t i = 0; i < mdl->PageCount; i++) {
        if (!machine->pages[mdl->Pfn[i] - FIRST_PFN])
            mini_error(machine, "pages that are not mapped are unmapped");
        machine->pages[mdl->Pfn[i] - FIRST_PFN] = NULL;
        for (uint64_t n = 0; n < machine->options.aperture_bytes / PAGE_SIZE; n++)
            if (machine->aperture[n].pfn == mdl->Pfn[i])
                mini_error(machine, "a page is unmapped that the aperture leads to");
    }
    pthread_mutex_unlock(&machine->page_lock);
}

static int map_pages(void *context, MDL *mdl)
{
    struct machine *machine = context;
    long room = machine->knobs.host_pages;
    size_t out = machine->pages_out;
    MDL *fresh;
    if (machine->knobs.fail_map > 0 && --machine->knobs.fail_map == 0)
        return FERRY_ERROR_NO_HOST_MEMORY;
    if (machine->knobs.on_pages)
        machine->knobs.on_pages(mdl, true);
    machine->knobs.host_pages = -1;
    int result = list_pages(machine, mdl->MappedSystemVa, mdl->PageCount, 0, &fresh);
    machine->knobs.host_pages = room;
    if (result != FERRY_OK)
        return result;
    machine->pages_out = out;
    memcpy(mdl->Pfn, fresh->Pfn, mdl->PageCount * sizeof(*mdl->Pfn));
    free(fresh->Pfn);
    free(fresh);
    return FERRY_OK;
}

static void free_pages(void *context, MDL *mdl)
{
    struct machine *machine = context;
    if (!mdl)
        return;
    pthread_mutex_lock(&machine->page_lock);
    for (size_t i = 0; i < mdl->PageCount; i++)
        machine->pages[mdl->Pfn[i] - FIRST_PFN] = NULL;
    machine->pages_out -= mdl->PageCount;
    if (machine->knobs.host_pages >= 0)
        machine->knobs.host_pages += (long)mdl->PageCount;
    pthread_mutex_unlock(&machine->page_lock);
    if ((mdl->Flags & WRAPPED) == 0)
        free(mdl->MappedSystemVa);
    free(mdl->Pfn);
    free(mdl);
}

uint8_t *mini_bus(struct machine *machine, uint64_t address)
{
    uint64_t pfn = address >> PAGE_SHIFT;
    if (pfn < FIRST_PFN || pfn - FIRST_PFN >= machine->page_count || !machine->pages[pfn - FIRST_PFN])
        return NULL;
    return machine->pages[pfn - FIRST_PFN] + address % PAGE_SIZE;
}

void mini_page_source(struct machine *machine)
{
    machine->source = (struct ferry_page_source){.context = machine,
                                                 .allocate = allocate_pages,
                                                 .wrap = wrap_pages,
                                                 .unmap = unmap_pages,
                                                 .map = map_pages,
                                                 .free = free_pages};
}

bool machine_reaches(const struct machine *machine, uint64_t bus)
{
    return mini_bus((struct machine *)machine, bus) != NULL;
}

size_t machine_pages_out(const struct machine *machine)
{
    return machine->pages_out;
}
