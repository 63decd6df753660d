// SPDX-License-Identifier: Apache-2.0
// What there is, divided among programs. Pure. Numbers of pages are below 2^32, and so is the sum of the weights.
#ifndef FERRY_VIDMM_SPACE_BUDGET_H
#define FERRY_VIDMM_SPACE_BUDGET_H

#include <stddef.h>
#include <stdint.h>

struct ferry_vm_share {
    uint64_t weight;   // 1 to 10000
    uint64_t reserved; // pages; in, and what of it counts
    uint64_t budget;   // out: pages
};

/// Each gets what is to its weight as everybody else's is, but no less than it has reserved; together they get no more
/// than `pages`, and leave fewer pages over than there are programs. What is reserved altogether counts up to half of
/// the pages; where it is more (they have become fewer since), each reservation counts in proportion.
void ferry_vm_budget_divide(uint64_t pages, struct ferry_vm_share *shares, size_t count);
/// Of `pages`, how many may be reserved altogether.
uint64_t ferry_vm_budget_reservable(uint64_t pages);

#endif
