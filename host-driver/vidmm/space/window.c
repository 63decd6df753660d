// SPDX-License-Identifier: Apache-2.0
// Room out of neighbours: a window of blocks that leave, or move to holes elsewhere; and, where those who must stay lie
// all about, a window in which they are pushed together.
#include "vidmm/space/plan_internal.h"

#define NEVER UINT64_MAX
// Found by replaying games' traces. What comes back soon counts more, but never so much more that a large cold one
// could not be thrown out instead; a cold one is expected back half as surely as the furthest of the others. A page
// moved takes the engine as long as one over the link and keeps it from the link.
#define MOST_WEIGHT (16 * FERRY_VM_PLAN_PAGE)
#define COLD_WEIGHT (FERRY_VM_PLAN_PAGE / 2)

// Throwing out what is needed again at twice the distance frees its room for twice as long: half the cost.
uint64_t ferry_vm_plan_cost(const struct ferry_vm_plan *plan, const struct ferry_vm_region *region,
                            const struct ferry_vm_facts *facts, uint64_t pages, uint64_t furthest)
{
    uint64_t distance = ferry_vm_victim_distance(region->victims, facts->use, plan->now);
    uint64_t weight = COLD_WEIGHT;
    if (distance != UINT64_MAX) {
        weight = distance ? FERRY_VM_PLAN_PAGE * furthest / distance : MOST_WEIGHT;
        if (weight > MOST_WEIGHT)
            weight = MOST_WEIGHT;
    }
    return pages * (weight + (facts->dirty ? FERRY_VM_PLAN_PAGE : 0));
}

struct search {
    struct ferry_vm_plan *plan;
    struct ferry_vm_region *region;
    const struct ferry_vm_wanted *wanted;
    unsigned alignment_log2;
    uint64_t furthest;
    bool relocate;
    uint64_t cost, spent; // of the best, and of what was done
    struct ferry_vm_block *first;
    uint64_t begin, end; // its pages, first is at begin
};

static uint64_t leaving(const struct search *search, const struct ferry_vm_block *block,
                        const struct ferry_vm_facts *facts)
{
    return ferry_vm_plan_cost(search->plan, search->region, facts, block->pages, search->furthest);
}

// What this plan places is not there yet.
static uint64_t moving(const struct search *search, const struct ferry_vm_block *block)
{
    return block->place ? 0 : search->region->moves ? block->pages * FERRY_VM_PLAN_MOVE : NEVER;
}

static uint64_t price(const struct search *search, const struct ferry_vm_block *block)
{
    struct ferry_vm_facts facts;
    uint64_t cost = NEVER;
    if (!block->owner)
        return 0;
    ferry_vm_plan_ask(search->plan, block->owner, &facts);
    if (facts.fixed)
        return NEVER;
    if (facts.use->listed != 0)
        cost = leaving(search, block, &facts);
    if (search->relocate && ferry_vm_space_largest(search->region->space) >= block->pages &&
        moving(search, block) < cost)
        cost = moving(search, block);
    return cost;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// The lowest aligned place that begins in the block.
static uint64_t place_in(const struct search *search, const struct ferry_vm_block *block)
{
    return ferry_vm_align_up(most(block->first, search->wanted->lowest), search->alignment_log2);
}

// All windows that reach into the seed. The left end goes from the furthest one inwards, the right end follows.
static void look_around(struct search *search, struct ferry_vm_block *seed)
{
    uint64_t reach = search->wanted->pages + (UINT64_C(1) << search->alignment_log2) - 1;
    struct ferry_vm_block *left = seed;
    uint64_t behind = price(search, seed);
    if (behind == NEVER)
        return;
    while (left->previous && seed->first + seed->pages - left->first < reach + seed->pages) {
        uint64_t more = price(search, left->previous);
        if (more == NEVER || behind + more >= search->cost)
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
                if (more == NEVER)
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
            if (more == NEVER)
                return;
            right = left->next;
            cost += more;
        }
        cost -= price(search, left);
    }
}

// A hole outside the window: below it, else above.
static uint64_t hole_elsewhere(const struct search *search, const struct ferry_vm_block *block, unsigned alignment_log2)
{
    const struct ferry_vm_space *space = search->region->space;
    uint64_t alignment = UINT64_C(1) << alignment_log2;
    uint64_t below = ferry_vm_space_find(space, block->pages, alignment, false, 0);
    if (below != FERRY_VM_NOWHERE && below + block->pages <= search->begin)
        return below;
    return ferry_vm_space_find(space, block->pages, alignment, true, search->end);
}

// False: somebody who should move found no hole, or there is no memory. The caller takes it back.
static bool clear(struct search *search, bool *no_memory)
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
        bool candidate = facts.use->listed != 0;
        uint64_t cost = candidate ? leaving(search, block, &facts) : NEVER;
        if (search->relocate && moving(search, block) < cost)
            to = hole_elsewhere(search, block, facts.alignment_log2);
        if (to == FERRY_VM_NOWHERE && !candidate)
            return false;
        search->spent += to == FERRY_VM_NOWHERE ? cost : moving(search, block);
        *no_memory = !(to == FERRY_VM_NOWHERE ? ferry_vm_plan_evict(search->plan, search->region, block)
                                              : ferry_vm_plan_move(search->plan, search->region, block, to));
        if (*no_memory)
            return false;
    }
    return true;
}

static void look_everywhere(struct search *search, struct ferry_vm_use *const *seeds, unsigned count)
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
    struct search leave = {.plan = plan,
                           .region = region,
                           .wanted = wanted,
                           .alignment_log2 = facts.alignment_log2,
                           .furthest = ferry_vm_victims_furthest(region->victims, plan->now),
                           .cost = NEVER};
    look_everywhere(&leave, seeds, count);
    // Where moving is cheaper. Whether holes suffice for all that move shows only when they do.
    struct search best = leave;
    best.relocate = true;
    look_everywhere(&best, seeds, count);
    if (best.first && (!clear(&best, no_memory) || best.spent > leave.cost)) {
        ferry_vm_plan_back_to(plan, mark);
        best.first = NULL;
    }
    if (!best.first && !*no_memory && leave.first) {
        best = leave;
        best.cost = NEVER;
        look_everywhere(&best, seeds, count); // again: what was taken back sits in other nodes
        if (!clear(&best, no_memory)) {
            ferry_vm_plan_back_to(plan, mark);
            best.first = NULL;
        }
    }
    if (!best.first || *no_memory)
        return FERRY_VM_NOWHERE;
    uint64_t low = ferry_vm_align_up(most(best.begin, wanted->lowest), best.alignment_log2);
    uint64_t high = (best.end - wanted->pages) >> best.alignment_log2 << best.alignment_log2;
    return wanted->from_end && high > low ? high : low;
}

// ---- Pushing together ----

// Where the room would be when those who stay in [left, right] lie at the low end of it; NOWHERE when it is none.
static uint64_t room_above(const struct search *search, const struct ferry_vm_block *left,
                           const struct ferry_vm_block *right)
{
    uint64_t at = left->first;
    for (const struct ferry_vm_block *block = left; block != right->next; block = block->next) {
        struct ferry_vm_facts facts;
        if (!block->owner)
            continue;
        ferry_vm_plan_ask(search->plan, block->owner, &facts);
        if (facts.use->listed == 0)
            at = ferry_vm_align_up(at, facts.alignment_log2) + block->pages;
    }
    at = ferry_vm_align_up(most(at, search->wanted->lowest), search->alignment_log2);
    uint64_t end = right->first + right->pages;
    return at <= end && end - at >= search->wanted->pages ? at : FERRY_VM_NOWHERE;
}

// What it costs to have the block in the window, and how many pages of it stay taken.
static uint64_t price_of_pushing(const struct search *search, const struct ferry_vm_block *block, uint64_t *kept)
{
    struct ferry_vm_facts facts;
    *kept = 0;
    if (!block->owner)
        return 0;
    ferry_vm_plan_ask(search->plan, block->owner, &facts);
    if (facts.fixed)
        return NEVER;
    if (facts.use->listed != 0)
        return leaving(search, block, &facts);
    *kept = block->pages;
    return moving(search, block);
}

static bool push(struct search *search, bool *no_memory)
{
    struct ferry_vm_block *next;
    uint64_t at = search->begin;
    for (struct ferry_vm_block *block = search->first; block && block->first < search->end; block = next) {
        struct ferry_vm_facts facts;
        next = block->next && !block->next->owner ? block->next->next : block->next;
        if (!block->owner)
            continue;
        ferry_vm_plan_ask(search->plan, block->owner, &facts);
        bool done = true;
        if (facts.use->listed != 0) {
            done = ferry_vm_plan_evict(search->plan, search->region, block);
        } else {
            uint64_t to = ferry_vm_align_up(at, facts.alignment_log2);
            at = to + block->pages;
            if (to < block->first)
                done = ferry_vm_plan_move(search->plan, search->region, block, to);
        }
        *no_memory = !done;
        if (!done)
            return false;
    }
    return true;
}

uint64_t ferry_vm_plan_push_together(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                                     const struct ferry_vm_wanted *wanted, bool *no_memory)
{
    struct ferry_vm_facts facts;
    struct search search = {.plan = plan, .region = region, .wanted = wanted, .cost = NEVER};
    size_t mark = plan->step_count;
    ferry_vm_plan_ask(plan, wanted->owner, &facts);
    search.alignment_log2 = facts.alignment_log2;
    search.furthest = ferry_vm_victims_furthest(region->victims, plan->now);
    struct ferry_vm_block *left = region->space->head;
    uint64_t cost = 0, free_pages = 0, kept;
    for (struct ferry_vm_block *right = left; right; right = right->next) {
        uint64_t more = price_of_pushing(&search, right, &kept);
        if (more == NEVER) {
            left = right->next;
            cost = free_pages = 0;
            continue;
        }
        cost += more;
        free_pages += right->pages - kept;
        // As short as it can be with this right end.
        while (free_pages >= wanted->pages) {
            if (cost < search.cost && room_above(&search, left, right) != FERRY_VM_NOWHERE) {
                search.cost = cost;
                search.first = left;
                search.begin = left->first;
                search.end = right->first + right->pages;
            }
            cost -= price_of_pushing(&search, left, &kept);
            free_pages -= left->pages - kept;
            left = left->next;
        }
    }
    if (search.cost == NEVER)
        return FERRY_VM_NOWHERE;
    struct ferry_vm_block *last = search.first;
    while (last->next && last->next->first < search.end)
        last = last->next;
    uint64_t room = room_above(&search, search.first, last);
    if (push(&search, no_memory))
        return room;
    ferry_vm_plan_back_to(plan, mark);
    return FERRY_VM_NOWHERE;
}
