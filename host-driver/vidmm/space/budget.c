// SPDX-License-Identifier: Apache-2.0
#include "vidmm/space/budget.h"

#include <stdbool.h>

uint64_t ferry_vm_budget_reservable(uint64_t pages)
{
    return pages / 2;
}

// Those whose reservation is more than what their weight would give them get it, and the others divide the rest; that
// makes the others' part smaller, so it may come to more of them. True when somebody was found.
static bool give_reserved(struct ferry_vm_share *shares, size_t count, uint64_t *rest, uint64_t *weights)
{
    uint64_t rest_before = *rest, weights_before = *weights;
    for (size_t i = 0; i < count; i++) {
        struct ferry_vm_share *share = &shares[i];
        if (share->budget != 0 || share->reserved * weights_before <= rest_before * share->weight)
            continue;
        share->budget = share->reserved;
        *rest -= share->reserved;
        *weights -= share->weight;
    }
    return *weights != weights_before;
}

void ferry_vm_budget_divide(uint64_t pages, struct ferry_vm_share *shares, size_t count)
{
    uint64_t reserved = 0, weights = 0, rest = pages, reservable = ferry_vm_budget_reservable(pages);
    for (size_t i = 0; i < count; i++) {
        reserved += shares[i].reserved;
        weights += shares[i].weight;
    }
    for (size_t i = 0; i < count; i++) {
        shares[i].budget = 0;
        if (reserved > reservable)
            shares[i].reserved = shares[i].reserved * reservable / reserved;
    }
    while (give_reserved(shares, count, &rest, &weights)) {
    }
    for (size_t i = 0; i < count; i++)
        if (shares[i].budget == 0)
            shares[i].budget = rest * shares[i].weight / weights;
}
