// SPDX-License-Identifier: Apache-2.0
// What will be used furthest in the future, or never again. Nobody can know that while a program runs: it is what the
// others are measured by. With allocations of unequal sizes it is not the best there is, so beating it is possible.
#include "lab/policies/policies.h"

static uint64_t next_use(const struct ferry_lab_memory *memory, const struct ferry_lab_item *item)
{
    (void)memory;
    return item->next;
}

static uint32_t choose(struct ferry_lab_memory *memory)
{
    return ferry_lab_highest(memory, next_use);
}

const struct ferry_lab_policy ferry_lab_furthest = {.name = "furthest",
                                                    .says = "next use furthest away: knows the future",
                                                    .knows_future = true,
                                                    .one_list = true,
                                                    .choose = choose};
