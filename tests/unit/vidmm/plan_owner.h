// SPDX-License-Identifier: Apache-2.0
// Who lies in a segment, for the plan's tests: what the manager would say of an allocation, without a manager.
#ifndef PLAN_OWNER_H
#define PLAN_OWNER_H

#include <stddef.h>
#include <stdint.h>

#include "../../seed.h"
#include "vidmm/space/search.h"

struct owner {
    struct ferry_vm_use use;
    struct ferry_vm_block *block;
    unsigned alignment_log2, pages;
    bool fixed, dirty, stays;
};

static uint64_t state_word, facts_asked;

static uint32_t pick(uint32_t below)
{
    return draw_below(&state_word, below);
}

static void facts_of(void *context, void *opaque, struct ferry_vm_facts *facts)
{
    struct owner *owner = opaque;
    (void)context;
    facts_asked++;
    *facts = (struct ferry_vm_facts){.use = &owner->use,
                                     .block = &owner->block,
                                     .alignment_log2 = owner->alignment_log2,
                                     .fixed = owner->fixed,
                                     .stays = owner->stays,
                                     .dirty = owner->dirty};
}

static void *owner_of(struct ferry_vm_use *use)
{
    return (char *)use - offsetof(struct owner, use);
}

#endif
