// SPDX-License-Identifier: Apache-2.0
// For MAP_ANONYMOUS and MAP_NORESERVE, which POSIX does not name.
#define _DEFAULT_SOURCE
#include "link/dma_map.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "ferry/error.h"
#include "link/link.h"

#define PAGE_BYTES 4096u
#define RUN_PAGES  8u
#define HIGH_FIRST 0x100000000ull
#define HIGH_END   0x10000000000000ull // Entries of page tables hold 52 bits.
#define WATCHED    1u                  // Low bit of an entry; memory is page aligned.

/// One window of bus addresses. entry[n] is the memory of page n, 0 when it is not mapped.
struct window {
    uint64_t base;
    size_t pages, used, cursor;
    uintptr_t *entry;
};

struct ferry_dma_map {
    struct window low, high;
    uint64_t random;
};

static bool window_create(struct window *window)
{
    if (window->pages == 0) {
        return true;
    }
    // Of 32 MiB only what is touched takes memory. (Of a block of malloc's a sanitizer marks each byte, for each link
    // that is opened.)
    void *entries = mmap(NULL, window->pages * sizeof(uintptr_t), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    window->entry = entries == MAP_FAILED ? NULL : entries;
    return window->entry != NULL;
}

static void window_destroy(struct window *window)
{
    if (window->entry != NULL) {
        munmap(window->entry, window->pages * sizeof(uintptr_t));
    }
}

/// What the ranges leave of a window: all of it, or the largest piece that they have between two addresses.
static void confine(struct window *window, const struct ferry_dma_range *range, size_t ranges, uint64_t from,
                    uint64_t below)
{
    struct window most = {.pages = 0};
    for (size_t n = 0; n < ranges; n++) {
        if (range[n].first <= window->base && window->base + (window->pages * PAGE_BYTES - 1) <= range[n].last) {
            return;
        }
        const uint64_t start = range[n].first < from ? from : range[n].first;
        const uint64_t end = range[n].last < below ? range[n].last + 1 : below; // Not included.
        const uint64_t first = (start + (PAGE_BYTES - 1)) / PAGE_BYTES, after = end / PAGE_BYTES;
        if (start < below && after > first && after - first > most.pages) {
            most.base = first * PAGE_BYTES;
            most.pages = after - first < window->pages ? (size_t)(after - first) : window->pages;
        }
    }
    *window = most;
}

int ferry_dma_map_create_within(uint64_t seed, const struct ferry_dma_range *range, size_t ranges,
                                struct ferry_dma_map **map)
{
    struct window low = {.base = FERRY_DMA_LOW_BASE, .pages = FERRY_DMA_LOW_PAGES};
    struct window high = {.base = FERRY_DMA_HIGH_BASE, .pages = FERRY_DMA_HIGH_PAGES};
    if (map == NULL) {
        return FERRY_ERROR_ARGUMENT;
    }
    // Page 0 would look like none.
    confine(&low, range, ranges, PAGE_BYTES, FERRY_DMA_LOW_BASE + FERRY_DMA_LOW_PAGES * (uint64_t)PAGE_BYTES);
    confine(&high, range, ranges, HIGH_FIRST, HIGH_END);
    if (low.pages + high.pages == 0) {
        return FERRY_ERROR_RANGE;
    }
    struct ferry_dma_map *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    *made = (struct ferry_dma_map){.low = low, .high = high, .random = seed * 2 + 1};
    if (!window_create(&made->low) || !window_create(&made->high)) {
        ferry_dma_map_destroy(made);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    *map = made;
    return FERRY_OK;
}

int ferry_dma_map_create(uint64_t seed, struct ferry_dma_map **map)
{
    static const struct ferry_dma_range all = {0, UINT64_MAX};
    return ferry_dma_map_create_within(seed, &all, 1, map);
}

void ferry_dma_map_destroy(struct ferry_dma_map *map)
{
    if (map == NULL) {
        return;
    }
    window_destroy(&map->low);
    window_destroy(&map->high);
    free(map);
}

/// First page of a free run of `pages`, searched from the cursor on, once around; SIZE_MAX when there is none.
static size_t window_find(struct window *window, size_t pages)
{
    if (pages > window->pages - window->used) {
        return SIZE_MAX;
    }
    size_t run = 0;
    size_t place = window->cursor;
    for (size_t seen = 0; seen < window->pages + pages; seen++, place++) {
        if (place == window->pages) {
            place = 0;
            run = 0;
        }
        run = window->entry[place] == 0 ? run + 1 : 0;
        if (run == pages) {
            return place + 1 - pages;
        }
    }
    return SIZE_MAX;
}

static uint32_t next_random(struct ferry_dma_map *map)
{
    map->random = map->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(map->random >> 33);
}

/// Map one run; tries the window that chance names first.
static bool map_run(struct ferry_dma_map *map, unsigned char *memory, size_t pages, unsigned flags, uint64_t *bus)
{
    struct window *window = next_random(map) & 1 ? &map->high : &map->low;
    size_t first = window_find(window, pages);
    if (first == SIZE_MAX) {
        window = window == &map->low ? &map->high : &map->low;
        first = window_find(window, pages);
    }
    if (first == SIZE_MAX) {
        return false;
    }
    for (size_t n = 0; n < pages; n++) {
        window->entry[first + n] = (uintptr_t)(memory + n * PAGE_BYTES) | (flags & FERRY_DMA_WATCH ? WATCHED : 0);
        bus[n] = window->base + (uint64_t)(first + n) * PAGE_BYTES;
    }
    window->used += pages;
    window->cursor = first + pages == window->pages ? 0 : first + pages;
    return true;
}

int ferry_dma_map_add(struct ferry_dma_map *map, void *memory, size_t pages, unsigned flags, uint64_t *bus)
{
    if (map == NULL || memory == NULL || pages == 0 || bus == NULL || (uintptr_t)memory % PAGE_BYTES != 0 ||
        (flags & ~(FERRY_DMA_CONSECUTIVE | FERRY_DMA_WATCH)) != 0) {
        return FERRY_ERROR_ARGUMENT;
    }
    size_t done = 0;
    while (done < pages) {
        size_t left = pages - done;
        size_t run = flags & FERRY_DMA_CONSECUTIVE ? left : 1 + next_random(map) % RUN_PAGES;
        run = run < left ? run : left;
        if (!map_run(map, (unsigned char *)memory + done * PAGE_BYTES, run, flags, bus + done)) {
            ferry_dma_map_remove(map, bus, done);
            return FERRY_ERROR_NO_HOST_MEMORY;
        }
        done += run;
    }
    return FERRY_OK;
}

/// The table entry of a bus address in one window; NULL when it lies outside.
static uintptr_t *entry_of(const struct window *window, uint64_t bus)
{
    uint64_t page = (bus - window->base) / PAGE_BYTES;
    return bus < window->base || page >= window->pages ? NULL : &window->entry[page];
}

void ferry_dma_map_remove(struct ferry_dma_map *map, const uint64_t *bus, size_t pages)
{
    for (size_t n = 0; n < pages; n++) {
        struct window *window = bus[n] < HIGH_FIRST ? &map->low : &map->high;
        uintptr_t *entry = entry_of(window, bus[n]);
        if (entry != NULL && *entry != 0) {
            *entry = 0;
            window->used--;
        }
    }
}

unsigned char *ferry_dma_map_find(const struct ferry_dma_map *map, uint64_t bus, bool *watched)
{
    const uintptr_t *entry = entry_of(bus < HIGH_FIRST ? &map->low : &map->high, bus);
    if (entry == NULL || *entry == 0) {
        return NULL;
    }
    if (watched != NULL) {
        *watched = (*entry & WATCHED) != 0;
    }
    return (unsigned char *)(*entry & ~(uintptr_t)(PAGE_BYTES - 1)) + bus % PAGE_BYTES;
}

uint64_t ferry_dma_map_pages(const struct ferry_dma_map *map)
{
    return map->low.used + map->high.used;
}
