// SPDX-License-Identifier: Apache-2.0
// Least recently used: what kernels, Dawn and the D3D12 residency library do. In a round that does not fit it throws
// out what is needed next.
#include "lab/policies/policies.h"

static uint64_t unused_for(const struct ferry_lab_memory *memory, const struct ferry_lab_item *item)
{
    return memory->now - item->used;
}

static uint32_t choose(struct ferry_lab_memory *memory)
{
    return ferry_lab_highest(memory, unused_for);
}

const struct ferry_lab_policy ferry_lab_least_recent = {
    .name = "lru", .says = "least recently used, as kernels do", .one_list = true, .choose = choose};
