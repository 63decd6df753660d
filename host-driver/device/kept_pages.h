// SPDX-License-Identifier: Apache-2.0
// Memory that was given back and is kept for the next one of its size: a manager makes and frees backing stores and DMA
// buffers all the time, and to get each from the system anew, and fault on each of its pages, costs more than what is
// done with it. Not thread-safe by itself.
#ifndef FERRY_DEVICE_KEPT_PAGES_H
#define FERRY_DEVICE_KEPT_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#define FERRY_KEPT_SIZES 256

struct ferry_kept;
struct ferry_kept_pages {
    struct ferry_kept *first[FERRY_KEPT_SIZES]; // by number of pages, modulo; newest first
    size_t pages;
    size_t next; // Where the next one is taken that has to go.
};

/// Memory of that many pages that was given, as its user left it; NULL when there is none.
void *ferry_kept_pages_take(struct ferry_kept_pages *kept, size_t pages);
/// False for memory that would take the place of many: it stays the caller's.
bool ferry_kept_pages_give(struct ferry_kept_pages *kept, void *memory, size_t pages);
/// Memory that has to go, with its pages, as more is kept than is to be; NULL when that is so no longer. The sizes take
/// turns, so that those which nobody asks for any more do not stay for ever.
void *ferry_kept_pages_excess(struct ferry_kept_pages *kept, size_t *pages);
/// Any that is kept, with its pages; NULL when nothing is.
void *ferry_kept_pages_drain(struct ferry_kept_pages *kept, size_t *pages);

#endif
