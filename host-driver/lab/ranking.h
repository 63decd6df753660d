// SPDX-License-Identifier: Apache-2.0
// The first of many allocations in an order, without keeping the others.
#ifndef FERRY_LAB_RANKING_H
#define FERRY_LAB_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// More than can be left out in turn (left_out.c), twice: what one order has used up the other still has others for.
#define FERRY_LAB_RANKED 1024u

struct ferry_lab_candidate {
    uint64_t made; // its place in the order of creation
    uint64_t in, pages;
};

struct ferry_lab_ranking {
    struct ferry_lab_candidate *list; // after ferry_lab_ranking_end() in order
    size_t count;
    bool full; // the last of those that are kept is list[FERRY_LAB_RANKED - 1]
};

/// Orders for qsort(). By what came in, then the oldest; by size, then by what came in.
int ferry_lab_by_in(const void *left, const void *right);
int ferry_lab_by_pages(const void *left, const void *right);

/// False without memory. The same order each time.
bool ferry_lab_rank(struct ferry_lab_ranking *ranking, int (*order)(const void *left, const void *right),
                    const struct ferry_lab_candidate *candidate);
/// At most FERRY_LAB_RANKED are left.
void ferry_lab_ranking_end(struct ferry_lab_ranking *ranking, int (*order)(const void *left, const void *right));
void ferry_lab_ranking_free(struct ferry_lab_ranking *ranking);

#endif
