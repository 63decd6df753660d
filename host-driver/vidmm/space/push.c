// SPDX-License-Identifier: Apache-2.0
// A window in which those who stay are pushed together, each down over its own place if need be. Around the first
// victims, those who are needed sooner than moving them is worth stay too; as the last way, over the whole segment,
// only those who must.
#include "vidmm/space/search.h"

// Found by replaying games' traces: of bytes that come in, less than one in twenty is moved. Cheaper, more moves and
// nothing is won; dearer, and what is needed soon is thrown out with its neighbours.
#define SLIDE  256 // cost of a page that is pushed and could have left
#define REACH  8   // pages on each side of a victim, times those that are wanted
#define BLOCKS 32  // on each side of a victim

static uint64_t sliding(const struct ferry_vm_search *search, const struct ferry_vm_block *block)
{
    return ferry_vm_moving(search, block, search->keeps ? SLIDE : FERRY_VM_PLAN_MOVE);
}

// Whether a block that is not fixed leaves, and what it costs that it leaves or is pushed.
static bool leaves(const struct ferry_vm_search *search, const struct ferry_vm_block *block,
                   const struct ferry_vm_facts *facts, uint64_t *cost)
{
    *cost = sliding(search, block);
    if (!ferry_vm_plan_leaves(facts))
        return false;
    uint64_t leaving = ferry_vm_leaving(search, block, facts);
    if (search->keeps && leaving > *cost)
        return false;
    *cost = leaving;
    return true;
}

// Where the block goes when those who stay are pushed down to `at`. One that would slide by less than a step would have
// to go out and in again (FERRY_VM_PLAN_LEAST_STEP): who may not leave for the one that asks pays nothing over the link
// for him either, and stays where it is, unless nothing else is left.
static uint64_t pushed_to(const struct ferry_vm_search *search, const struct ferry_vm_block *block,
                          const struct ferry_vm_facts *facts, uint64_t at)
{
    uint64_t to = ferry_vm_align_up(at, facts->alignment_log2);
    bool inch = facts->stays && to < block->first && block->first - to < FERRY_VM_PLAN_LEAST_STEP &&
                block->pages > FERRY_VM_PLAN_LEAST_STEP && !block->place;
    return inch && !search->inches ? block->first : to;
}

// Where the room would be when those who stay in [left, right] lie at the low end of it; NOWHERE when it is none.
static uint64_t room_above(const struct ferry_vm_search *search, const struct ferry_vm_block *left,
                           const struct ferry_vm_block *right)
{
    uint64_t at = left->first;
    for (const struct ferry_vm_block *block = left; block != right->next; block = block->next) {
        struct ferry_vm_facts facts;
        uint64_t cost;
        if (!block->owner)
            continue;
        ferry_vm_plan_ask(search->plan, block->owner, &facts);
        if (!leaves(search, block, &facts, &cost))
            at = pushed_to(search, block, &facts, at) + block->pages;
    }
    at = ferry_vm_align_up(ferry_vm_most(at, search->wanted->lowest), search->alignment_log2);
    uint64_t end = right->first + right->pages;
    return at <= end && end - at >= search->wanted->pages ? at : FERRY_VM_NOWHERE;
}

// What it costs to have the block in the window, and how many pages of it stay taken.
struct price {
    const struct ferry_vm_block *block;
    uint64_t cost, kept;
};

static struct price price_of_pushing(const struct ferry_vm_search *search, const struct ferry_vm_block *block)
{
    struct price price = {.block = block};
    struct ferry_vm_facts facts;
    if (!block->owner)
        return price;
    ferry_vm_plan_ask(search->plan, block->owner, &facts);
    if (facts.fixed)
        price.cost = FERRY_VM_NEVER;
    else if (!leaves(search, block, &facts, &price.cost))
        price.kept = block->pages;
    return price;
}

// A block is priced when a window's right end comes to it and when the left end does, and victims that lie near each
// other have most of what is around them in common. Nothing changes while a search goes on, so what was found is kept,
// each at the place that its page number gives; who takes another's place is priced again later.
#define PRICES_LOG2 8
struct prices {
    struct price at[1u << PRICES_LOG2];
};

static const struct price *known_price(const struct ferry_vm_search *search, struct prices *prices,
                                       const struct ferry_vm_block *block)
{
    struct price *price = &prices->at[block->first * UINT64_C(0x9E3779B97F4A7C15) >> (64 - PRICES_LOG2)];
    if (price->block != block)
        *price = price_of_pushing(search, block);
    return price;
}

// The cheapest window in [left, last].
static void push_between(struct ferry_vm_search *search, struct prices *prices, struct ferry_vm_block *left,
                         const struct ferry_vm_block *last)
{
    uint64_t cost = 0, free_pages = 0;
    for (struct ferry_vm_block *right = left;; right = right->next) {
        const struct price *more = known_price(search, prices, right);
        if (more->cost == FERRY_VM_NEVER) {
            left = right->next;
            cost = free_pages = 0;
        } else {
            cost += more->cost;
            free_pages += right->pages - more->kept;
        }
        // As short as it can be with this right end. Who stays at its low end need not be in it.
        while (left != right->next) {
            const struct price *less = known_price(search, prices, left);
            if (less->kept == 0 && free_pages < search->wanted->pages)
                break;
            if (free_pages >= search->wanted->pages && cost < search->cost &&
                room_above(search, left, right) != FERRY_VM_NOWHERE) {
                search->cost = cost;
                search->first = left;
                search->begin = left->first;
                search->end = right->first + right->pages;
            }
            cost -= less->cost;
            free_pages -= left->pages - less->kept;
            left = left->next;
        }
        if (right == last || !right->next)
            return;
    }
}

static void push_around(struct ferry_vm_search *search, struct prices *prices, struct ferry_vm_block *seed)
{
    struct ferry_vm_block *left = seed, *right = seed;
    uint64_t reach = REACH * search->wanted->pages;
    for (unsigned i = 0; i < BLOCKS && left->previous && seed->first - left->first < reach; i++)
        left = left->previous;
    for (unsigned i = 0; i < BLOCKS && right->next && right->first - seed->first < reach; i++)
        right = right->next;
    push_between(search, prices, left, right);
}

void ferry_vm_push_everywhere(struct ferry_vm_search *search, struct ferry_vm_use *const *seeds, unsigned count)
{
    struct ferry_vm_block *hole = ferry_vm_space_largest_hole(search->region->space);
    struct prices prices = {0};
    search->first = NULL;
    for (unsigned i = 0; i < count; i++) {
        struct ferry_vm_facts facts;
        ferry_vm_plan_ask(search->plan, search->plan->owner(seeds[i]), &facts);
        push_around(search, &prices, *facts.block);
    }
    if (hole)
        push_around(search, &prices, hole);
}

uint64_t ferry_vm_push(struct ferry_vm_search *search, bool *no_memory)
{
    struct ferry_vm_block *next;
    const struct ferry_vm_block *last = search->first;
    while (last->next && last->next->first < search->end)
        last = last->next;
    uint64_t room = room_above(search, search->first, last), at = search->begin;
    for (struct ferry_vm_block *block = search->first; block && block->first < search->end; block = next) {
        struct ferry_vm_facts facts;
        next = block->next && !block->next->owner ? block->next->next : block->next;
        if (!block->owner)
            continue;
        ferry_vm_plan_ask(search->plan, block->owner, &facts);
        bool done = true;
        uint64_t cost;
        if (leaves(search, block, &facts, &cost)) {
            done = ferry_vm_plan_evict(search->plan, search->region, block);
        } else {
            uint64_t to = pushed_to(search, block, &facts, at);
            at = to + block->pages;
            if (to < block->first)
                done = ferry_vm_plan_move(search->plan, search->region, block, to);
        }
        *no_memory = !done;
        if (!done)
            return FERRY_VM_NOWHERE;
    }
    return room;
}

uint64_t ferry_vm_plan_push_together(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                                     const struct ferry_vm_wanted *wanted, bool *no_memory)
{
    struct ferry_vm_facts facts;
    struct ferry_vm_search search = {.plan = plan, .region = region, .wanted = wanted, .cost = FERRY_VM_NEVER};
    size_t mark = plan->step_count;
    ferry_vm_plan_ask(plan, wanted->owner, &facts);
    search.alignment_log2 = facts.alignment_log2;
    search.furthest = ferry_vm_victims_furthest(region->victims, plan->now);
    for (unsigned i = 0; i < 2 && region->space->head && search.cost == FERRY_VM_NEVER; i++) {
        struct prices prices = {0};
        search.inches = i != 0;
        push_between(&search, &prices, region->space->head, NULL);
    }
    if (search.cost == FERRY_VM_NEVER)
        return FERRY_VM_NOWHERE;
    uint64_t room = ferry_vm_push(&search, no_memory);
    if (room == FERRY_VM_NOWHERE)
        ferry_vm_plan_back_to(plan, mark);
    return room;
}
