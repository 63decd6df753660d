// SPDX-License-Identifier: Apache-2.0
// Room out of neighbours: a window of blocks that leave, or move to holes elsewhere, or are pushed together (push.c),
// whichever is cheapest.
#include "vidmm/space/search.h"

static uint64_t price(const struct ferry_vm_search *search, const struct ferry_vm_block *block)
{
    struct ferry_vm_facts facts;
    uint64_t cost = FERRY_VM_NEVER;
    if (!block->owner)
        return 0;
    ferry_vm_plan_ask(search->plan, block->owner, &facts);
    if (facts.fixed)
        return FERRY_VM_NEVER;
    if (ferry_vm_plan_leaves(&facts))
        cost = ferry_vm_leaving(search, block, &facts);
    if (search->relocate && ferry_vm_space_largest(search->region->space) >= block->pages &&
        ferry_vm_moving(search, block, FERRY_VM_PLAN_MOVE) < cost)
        cost = ferry_vm_moving(search, block, FERRY_VM_PLAN_MOVE);
    return cost;
}

// The lowest aligned place that begins in the block.
static uint64_t place_in(const struct ferry_vm_search *search, const struct ferry_vm_block *block)
{
    return ferry_vm_align_up(ferry_vm_most(block->first, search->wanted->lowest), search->alignment_log2);
}

// All windows that reach into the seed. The left end goes from the furthest one inwards, the right end follows.
static void look_around(struct ferry_vm_search *search, struct ferry_vm_block *seed)
{
    uint64_t reach = search->wanted->pages + (UINT64_C(1) << search->alignment_log2) - 1;
    struct ferry_vm_block *left = seed;
    uint64_t behind = price(search, seed);
    if (behind == FERRY_VM_NEVER)
        return;
    while (left->previous && ferry_vm_most(left->previous->first, search->wanted->lowest) + reach > seed->first) {
        uint64_t more = price(search, left->previous);
        if (more == FERRY_VM_NEVER || behind + more >= search->cost)
            break;
        behind += more;
        left = left->previous;
    }
    struct ferry_vm_block *right = left; // the last block that is counted
    uint64_t cost = price(search, right);
    for (;; left = left->next) {
        uint64_t first = place_in(search, left), end = first + search->wanted->pages;
        if (first < left->first + left->pages && end > first && end <= search->region->space->pages) {
            while (right->first + right->pages < end && cost < search->cost) {
                uint64_t more = price(search, right->next);
                if (more == FERRY_VM_NEVER)
                    return;
                right = right->next;
                cost += more;
            }
            if (cost < search->cost) {
                search->cost = cost;
                search->first = left;
                search->end = right->first + right->pages;
            }
        }
        if (left == seed || !left->next)
            return;
        if (left == right) {
            uint64_t more = price(search, left->next);
            if (more == FERRY_VM_NEVER)
                return;
            right = left->next;
            cost += more;
        }
        cost -= price(search, left);
    }
}

// A hole outside the window: below it, else above.
static uint64_t hole_elsewhere(const struct ferry_vm_search *search, const struct ferry_vm_block *block,
                               unsigned alignment_log2)
{
    const struct ferry_vm_space *space = search->region->space;
    uint64_t alignment = UINT64_C(1) << alignment_log2;
    uint64_t below = ferry_vm_space_find(space, block->pages, alignment, false, 0);
    if (below != FERRY_VM_NOWHERE && below + block->pages <= search->begin)
        return below;
    return ferry_vm_space_find(space, block->pages, alignment, true, search->end);
}

// False: somebody who should move found no hole, or there is no memory. The caller takes it back.
static bool clear(struct ferry_vm_search *search, bool *no_memory)
{
    struct ferry_vm_block *next;
    for (struct ferry_vm_block *block = search->first; block && block->first < search->end; block = next) {
        // The hole behind a block is joined with the room of the block.
        next = block->next && !block->next->owner ? block->next->next : block->next;
        if (!block->owner)
            continue;
        struct ferry_vm_facts facts;
        ferry_vm_plan_ask(search->plan, block->owner, &facts);
        uint64_t to = FERRY_VM_NOWHERE;
        bool candidate = ferry_vm_plan_leaves(&facts);
        uint64_t cost = candidate ? ferry_vm_leaving(search, block, &facts) : FERRY_VM_NEVER;
        if (search->relocate && ferry_vm_moving(search, block, FERRY_VM_PLAN_MOVE) < cost)
            to = hole_elsewhere(search, block, facts.alignment_log2);
        if (to == FERRY_VM_NOWHERE && !candidate)
            return false;
        search->spent += to == FERRY_VM_NOWHERE ? cost : ferry_vm_moving(search, block, FERRY_VM_PLAN_MOVE);
        *no_memory = !(to == FERRY_VM_NOWHERE ? ferry_vm_plan_evict(search->plan, search->region, block)
                                              : ferry_vm_plan_move(search->plan, search->region, block, to));
        if (*no_memory)
            return false;
    }
    return true;
}

static void look_everywhere(struct ferry_vm_search *search, struct ferry_vm_use *const *seeds, unsigned count)
{
    struct ferry_vm_block *hole = ferry_vm_space_largest_hole(search->region->space);
    search->first = NULL;
    for (unsigned i = 0; i < count; i++) {
        struct ferry_vm_facts facts;
        ferry_vm_plan_ask(search->plan, search->plan->owner(seeds[i]), &facts);
        look_around(search, *facts.block);
    }
    if (hole)
        look_around(search, hole);
    search->begin = search->first ? search->first->first : 0;
}

uint64_t ferry_vm_plan_window(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                              const struct ferry_vm_wanted *wanted, bool *no_memory)
{
    struct ferry_vm_facts facts;
    struct ferry_vm_use *seeds[FERRY_VM_PLAN_SEEDS];
    size_t mark = plan->step_count;
    unsigned count = ferry_vm_victims_first(region->victims, plan->now, seeds, FERRY_VM_PLAN_SEEDS);
    ferry_vm_plan_ask(plan, wanted->owner, &facts);
    struct ferry_vm_search leave = {.plan = plan,
                                    .region = region,
                                    .wanted = wanted,
                                    .alignment_log2 = facts.alignment_log2,
                                    .furthest = ferry_vm_victims_furthest(region->victims, plan->now),
                                    .cost = FERRY_VM_NEVER};
    look_everywhere(&leave, seeds, count);
    // Where moving is cheaper. Whether holes suffice for all that move shows only when they do.
    struct ferry_vm_search best = leave;
    best.relocate = true;
    look_everywhere(&best, seeds, count);
    // Where those who are needed soon lie all about, it is cheaper to push them together than to throw them out.
    struct ferry_vm_search together = leave;
    together.first = NULL;
    together.keeps = true;
    if (region->moves)
        ferry_vm_push_everywhere(&together, seeds, count);
    if (best.first && (best.cost > together.cost || !clear(&best, no_memory) || best.spent > together.cost)) {
        ferry_vm_plan_back_to(plan, mark);
        best.first = NULL;
    }
    if (!best.first && !*no_memory && together.first) {
        together.cost = FERRY_VM_NEVER;
        ferry_vm_push_everywhere(&together, seeds, count); // again: what was taken back sits in other nodes
        uint64_t room = ferry_vm_push(&together, no_memory);
        if (room == FERRY_VM_NOWHERE)
            ferry_vm_plan_back_to(plan, mark);
        return room;
    }
    if (!best.first && !*no_memory && leave.first) {
        best = leave;
        best.cost = FERRY_VM_NEVER;
        look_everywhere(&best, seeds, count); // again
        if (!clear(&best, no_memory)) {
            ferry_vm_plan_back_to(plan, mark);
            best.first = NULL;
        }
    }
    if (!best.first || *no_memory)
        return FERRY_VM_NOWHERE;
    uint64_t low = ferry_vm_align_up(ferry_vm_most(best.begin, wanted->lowest), best.alignment_log2);
    uint64_t high = (best.end - wanted->pages) >> best.alignment_log2 << best.alignment_log2;
    return wanted->from_end && high > low ? high : low;
}
