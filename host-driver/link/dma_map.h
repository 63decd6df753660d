// SPDX-License-Identifier: Apache-2.0
// Bus address space and who is mapped where: one table entry a page, so that serving a device access costs one look-up.
// Bus addresses lie in two windows, one below and one above 4 GiB, so that both TLP header forms are always in use.
#ifndef FERRY_LINK_DMA_MAP_H
#define FERRY_LINK_DMA_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FERRY_DMA_LOW_BASE   0x0000000040000000ull
#define FERRY_DMA_LOW_PAGES  0x30000u // 768 MiB; interrupt messages and BARs lie above it, below 4 GiB.
#define FERRY_DMA_HIGH_BASE  0x0000001200000000ull
#define FERRY_DMA_HIGH_PAGES 0x400000u // 16 GiB.

struct ferry_dma_map;

/// Bus addresses, the last one included.
struct ferry_dma_range {
    uint64_t first, last;
};

/// `seed` decides how pages are scattered. Errors: ARGUMENT, NO_HOST_MEMORY. One thread at a time, as a link.
int ferry_dma_map_create(uint64_t seed, struct ferry_dma_map **map);
/// As that, for a device that reaches no more than these ranges: a window that lies in none of them is where they leave
/// most room on its side of 4 GiB, or there is none. Errors: also RANGE (no page lies in them).
int ferry_dma_map_create_within(uint64_t seed, const struct ferry_dma_range *range, size_t ranges,
                                struct ferry_dma_map **map);
void ferry_dma_map_destroy(struct ferry_dma_map *map);
/// As dma_map of link.h. Without FERRY_DMA_CONSECUTIVE pages go out in runs of 1 to 8 neighbours, run by run in one of
/// the two windows. Errors: ARGUMENT, NO_HOST_MEMORY; then nothing is mapped.
int ferry_dma_map_add(struct ferry_dma_map *map, void *memory, size_t pages, unsigned flags, uint64_t *bus);
void ferry_dma_map_remove(struct ferry_dma_map *map, const uint64_t *bus, size_t pages);
/// Memory behind one bus address, NULL when it is not mapped; valid up to the end of the address's page. *watched (may
/// be NULL) tells whether the page was mapped with FERRY_DMA_WATCH.
unsigned char *ferry_dma_map_find(const struct ferry_dma_map *map, uint64_t bus, bool *watched);
/// Pages mapped now.
uint64_t ferry_dma_map_pages(const struct ferry_dma_map *map);

#endif
