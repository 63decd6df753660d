// SPDX-License-Identifier: Apache-2.0
// Memory of this process that a device reaches at the addresses that the memory itself has: for a machine without an
// IOMMU. Pages are locked, and /proc/self/pagemap tells where they are. One thread at a time.
//
// A locked page is not swapped, but the kernel may move one (compaction, NUMA balancing), and a child of fork() shares
// it until one of both writes. So ferry_pinned_create() refuses a kernel that moves locked pages, and children do not
// get them.
#ifndef FERRY_LINK_PINNED_PAGES_H
#define FERRY_LINK_PINNED_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct ferry_pinned_pages;

/// `root` is "", or where a test has its /proc (stays the caller's). Errors: NO_HOST_MEMORY, BACKEND (ferry_problem()
/// says which file or setting, and what to do).
int ferry_pinned_create(const char *root, struct ferry_pinned_pages **pages);
/// Unlocks what is still locked.
void ferry_pinned_destroy(struct ferry_pinned_pages *pages);
/// As dma_map of link.h, without FERRY_DMA_WATCH. With FERRY_DMA_CONSECUTIVE the memory is put on other pages if those
/// that it has do not follow each other; what stands in it stays. Errors: ARGUMENT, NO_HOST_MEMORY (also: it may not be
/// locked, or no pages follow each other; ferry_problem() says which), BACKEND (the kernel does not tell addresses).
int ferry_pinned_add(struct ferry_pinned_pages *pages, void *memory, size_t count, unsigned flags, uint64_t *bus);
void ferry_pinned_remove(struct ferry_pinned_pages *pages, const uint64_t *bus, size_t count);
/// As dma_find of link.h.
const void *ferry_pinned_find(const struct ferry_pinned_pages *pages, uint64_t bus);
uint64_t ferry_pinned_count(const struct ferry_pinned_pages *pages);

#endif
