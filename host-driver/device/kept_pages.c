// SPDX-License-Identifier: Apache-2.0
#include "device/kept_pages.h"

// Enough for what leaves video memory in a frame.
#define MOST_PAGES  16384u // 64 MiB
#define LARGE_PAGES 4096u  // What does not take the place of many others.

// Stands in the memory itself.
struct ferry_kept {
    struct ferry_kept *next;
    size_t pages;
};

void *ferry_kept_pages_take(struct ferry_kept_pages *kept, size_t pages)
{
    struct ferry_kept **slot = &kept->first[pages % FERRY_KEPT_SIZES];
    // Sizes share a slot seldom: only the newest one is looked at.
    if (*slot == NULL || (*slot)->pages != pages) {
        return NULL;
    }
    struct ferry_kept *taken = *slot;
    *slot = taken->next;
    kept->pages -= pages;
    return taken;
}

bool ferry_kept_pages_give(struct ferry_kept_pages *kept, void *memory, size_t pages)
{
    if (pages > LARGE_PAGES) {
        return false;
    }
    struct ferry_kept **slot = &kept->first[pages % FERRY_KEPT_SIZES];
    struct ferry_kept *given = memory;
    *given = (struct ferry_kept){*slot, pages};
    *slot = given;
    kept->pages += pages;
    return true;
}

void *ferry_kept_pages_drain(struct ferry_kept_pages *kept, size_t *pages)
{
    for (size_t i = 0; i < FERRY_KEPT_SIZES; i++) {
        struct ferry_kept *first = kept->first[kept->next];
        kept->next = (kept->next + 1) % FERRY_KEPT_SIZES;
        if (first != NULL) {
            *pages = first->pages;
            return ferry_kept_pages_take(kept, *pages);
        }
    }
    return NULL;
}

void *ferry_kept_pages_excess(struct ferry_kept_pages *kept, size_t *pages)
{
    return kept->pages > MOST_PAGES ? ferry_kept_pages_drain(kept, pages) : NULL;
}
