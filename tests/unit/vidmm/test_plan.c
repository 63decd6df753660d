// SPDX-License-Identifier: Apache-2.0
// The plan on random states by itself. What it decides is carried out on a map of pages that knows nothing of the
// plan's own bookkeeping; what it calls impossible is tried in every arrangement; what it pays is compared with the
// cheapest window of neighbours, found by looking at each place. FERRY_SEED and FERRY_STATES (how many) come from the
// environment.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan_owner.h"

#define MOST_PAGES  24
#define MOST_OWNERS 12

// ---- A random state, and the map beside it ----

static bool leaves(void *context, const struct ferry_vm_use *use)
{
    (void)context;
    return !((const struct owner *)(const void *)((const char *)use - offsetof(struct owner, use)))->stays;
}

struct state {
    unsigned pages, count;
    struct owner owners[MOST_OWNERS];
    bool candidate[MOST_OWNERS]; // at the beginning
    struct ferry_vm_space space;
    struct ferry_vm_victims victims;
    struct ferry_vm_region region;
    uint64_t now;
    int map[MOST_PAGES]; // whose content lies in the page, -1 = nobody's
    bool back[MOST_OWNERS];
};

static void note_all(struct state *s)
{
    for (unsigned i = 0; i < MOST_PAGES; i++)
        s->map[i] = -1;
    for (unsigned i = 0; i < s->count; i++)
        for (unsigned n = 0; s->owners[i].block && n < s->owners[i].pages; n++)
            s->map[s->owners[i].block->first + n] = (int)i;
}

static struct owner *another(struct state *s, unsigned most)
{
    struct owner *owner = &s->owners[s->count];
    *owner = (struct owner){.pages = 1 + pick(most), .alignment_log2 = pick(3) ? 0 : pick(4)};
    owner->use.serial = ++s->count;
    owner->use.pages = owner->pages;
    return owner;
}

static void make(struct state *s)
{
    memset(s, 0, sizeof(*s));
    s->pages = 4 + pick(MOST_PAGES - 3);
    assert_true(ferry_vm_space_init(&s->space, s->pages));
    ferry_vm_victims_init(&s->victims, pick(8) == 0);
    s->victims.leaves = leaves;
    s->region = (struct ferry_vm_region){&s->space, &s->victims, pick(4) != 0};
    s->now = 1000;
    unsigned wanted = pick(MOST_OWNERS - 3), most = 1 + pick(6);
    unsigned free_for_all = pick(3), none_fixed = pick(2);
    struct ferry_vm_round round = {0};
    for (unsigned i = 0; i < wanted; i++) {
        struct owner *owner = another(s, most);
        uint64_t alignment = UINT64_C(1) << owner->alignment_log2;
        uint64_t first = pick(s->pages) / alignment * alignment;
        bool no_memory;
        owner->block = ferry_vm_space_take_at(&s->space, first, owner->pages, owner, &no_memory);
        if (!owner->block) {
            s->count--;
            continue;
        }
        owner->fixed = !none_fixed && pick(6) == 0;
        owner->dirty = pick(3) == 0;
        owner->stays = pick(6) == 0;
        for (unsigned n = pick(4); n > 0; n--)
            ferry_vm_victim_used(&owner->use, &round, owner->use.last + 1 + pick(240));
        s->candidate[s->count - 1] = !owner->fixed && pick(3) <= free_for_all;
        if (s->candidate[s->count - 1])
            ferry_vm_victim_add(&s->victims, &owner->use);
    }
    note_all(s);
}

static unsigned number(const struct state *s, const void *owner)
{
    return (unsigned)((const struct owner *)owner - s->owners);
}

// The bookkeeping and the map say the same, and neighbours are joined.
static void check_space(const struct state *s)
{
    uint64_t at = 0;
    for (const struct ferry_vm_block *block = s->space.head; block; at += block->pages, block = block->next) {
        assert_int_equal(block->first, at);
        assert_true(block->owner || !block->previous || block->previous->owner);
        assert_int_equal(block->place, 0); // no plan is open
        if (block->owner)
            assert_ptr_equal(((struct owner *)block->owner)->block, block);
        for (uint64_t n = 0; n < block->pages; n++)
            assert_int_equal(s->map[at + n], block->owner ? (int)number(s, block->owner) : -1);
    }
    assert_int_equal(at, s->pages);
}

// ---- Carrying out, by the map alone ----

static void copy(struct state *s, unsigned who, uint64_t to)
{
    struct owner *owner = &s->owners[who];
    assert_int_equal(to % (UINT64_C(1) << owner->alignment_log2), 0);
    assert_true(to + owner->pages <= s->pages);
    for (unsigned n = 0; n < owner->pages; n++) {
        assert_int_equal(s->map[to + n], -1);
        s->map[to + n] = (int)who;
    }
}

static void erase(struct state *s, unsigned who, uint64_t from)
{
    for (unsigned n = 0; n < s->owners[who].pages; n++) {
        assert_int_equal(s->map[from + n], who);
        s->map[from + n] = -1;
    }
}

// As the manager does it: the map, and the bookkeeping step by step.
static void carry_out(struct state *s, const struct ferry_vm_plan *plan)
{
    uint64_t evicted = 0, written = 0, moved = 0;
    bool coming = false, no_memory;
    memset(s->back, 0, sizeof(s->back));
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct ferry_vm_step *step = &plan->steps[i];
        unsigned who = number(s, step->owner);
        struct owner *owner = step->owner;
        assert_int_equal(step->pages, owner->pages);
        if (step->kind == FERRY_VM_STEP_PLACE) {
            coming = true;
            assert_null(owner->block);
        } else {
            assert_false(coming);
            assert_false(owner->fixed);
            assert_int_equal(owner->block->first, step->from);
            erase(s, who, step->from);
            ferry_vm_space_give(&s->space, owner->block);
            owner->block = NULL;
        }
        if (step->kind == FERRY_VM_STEP_EVICT) {
            assert_int_equal(step->candidate, s->candidate[who] && !owner->stays);
            assert_int_equal(step->candidate, owner->use.listed != 0 && !owner->stays);
            ferry_vm_victim_remove(&s->victims, &owner->use);
            s->back[who] = !step->candidate;
            evicted += step->pages;
            written += owner->dirty ? step->pages : 0;
            continue;
        }
        copy(s, who, step->to);
        owner->block = ferry_vm_space_take_at(&s->space, step->to, step->pages, owner, &no_memory);
        assert_non_null(owner->block);
        s->back[who] = false;
        if (step->kind == FERRY_VM_STEP_MOVE) {
            assert_true(s->region.moves);
            assert_false(step->to > step->from && step->to < step->from + step->pages);
            moved += step->pages;
        }
    }
    for (unsigned i = 0; i < s->count; i++)
        assert_false(s->back[i]);
    assert_int_equal(plan->evicted_pages, evicted);
    assert_int_equal(plan->written_pages, written);
    assert_int_equal(plan->moved_pages, moved);
}

// ---- What is possible at all, and what a window costs ----

// From page `at` up, those of the set: is there any way? Every page either begins one of them or stays empty.
static bool fits(const struct state *s, const struct ferry_vm_wanted *wanted, uint32_t fixed, unsigned at, uint32_t set)
{
    static uint32_t tried[MOST_PAGES][1 << MOST_OWNERS], turn;
    if (at == 0)
        turn++;
    if (set == 0)
        return true;
    if (at == s->pages || tried[at][set] == turn)
        return false;
    tried[at][set] = turn;
    for (unsigned i = 0; i < s->count; i++) {
        const struct owner *owner = &s->owners[i];
        uint32_t pages = ((UINT32_C(1) << owner->pages) - 1) << at;
        if ((set >> i & 1) != 0 && at % (1u << owner->alignment_log2) == 0 && at + owner->pages <= s->pages &&
            (fixed & pages) == 0 && (owner != wanted->owner || at >= wanted->lowest) &&
            fits(s, wanted, fixed, at + owner->pages, set & ~(UINT32_C(1) << i)))
            return true;
    }
    return fits(s, wanted, fixed, at + 1, set);
}

static bool possible(const struct state *s, const struct ferry_vm_wanted *wanted)
{
    uint32_t fixed = 0, set = 0;
    for (unsigned i = 0; i < s->count; i++) {
        const struct owner *owner = &s->owners[i];
        if (owner->block && owner->fixed)
            fixed |= ((UINT32_C(1) << owner->pages) - 1) << owner->block->first;
        else if ((owner->block && (owner->use.listed == 0 || owner->stays)) || owner == wanted->owner)
            set |= UINT32_C(1) << i;
    }
    return fits(s, wanted, fixed, 0, set);
}

static uint64_t cost_of(const struct state *s, const struct ferry_vm_plan *plan, const struct owner *owner,
                        uint64_t furthest)
{
    struct ferry_vm_facts facts;
    facts_of(NULL, (void *)owner, &facts);
    return ferry_vm_plan_cost(plan, &s->region, &facts, owner->pages, furthest);
}

static uint64_t cheapest_window(const struct state *s, const struct ferry_vm_plan *plan,
                                const struct ferry_vm_wanted *wanted, uint64_t furthest)
{
    const struct owner *owner = wanted->owner;
    uint64_t best = UINT64_MAX;
    for (uint64_t at = 0; at + wanted->pages <= s->pages; at += UINT64_C(1) << owner->alignment_log2) {
        uint64_t cost = 0;
        int last = -1;
        for (uint64_t n = at; n < at + wanted->pages && cost != UINT64_MAX; n++) {
            if (s->map[n] == -1 || s->map[n] == last)
                continue;
            last = s->map[n];
            const struct owner *who = &s->owners[last];
            cost = who->use.listed == 0 || who->stays ? UINT64_MAX : cost + cost_of(s, plan, who, furthest);
        }
        if (at >= wanted->lowest && cost < best)
            best = cost;
    }
    return best;
}

static uint64_t paid(const struct state *s, const struct ferry_vm_plan *plan, size_t from, uint64_t furthest)
{
    uint64_t cost = 0;
    for (size_t i = from; i < plan->step_count; i++) {
        const struct ferry_vm_step *step = &plan->steps[i];
        if (step->kind == FERRY_VM_STEP_EVICT)
            cost += cost_of(s, plan, step->owner, furthest);
        else if (step->kind == FERRY_VM_STEP_MOVE)
            cost += step->pages * FERRY_VM_PLAN_MOVE;
    }
    return cost;
}

// ---- The tests ----

struct counts {
    unsigned planned, refused, moved, bounced, undone;
};

static void one_state(struct ferry_vm_plan *plan, struct counts *counts)
{
    static struct state s;
    make(&s);
    struct ferry_vm_use *before[MOST_OWNERS], *after[MOST_OWNERS];
    unsigned listed = ferry_vm_victims_first(&s.victims, s.now, before, MOST_OWNERS);
    ferry_vm_plan_begin(plan, NULL, facts_of, owner_of, s.now);
    unsigned wishes = 1 + pick(4);
    bool granted[MOST_OWNERS] = {false};
    unsigned olds = s.count;
    for (unsigned i = 0; i < wishes; i++) {
        struct owner *owner = another(&s, pick(2) ? 4 : s.pages);
        struct ferry_vm_wanted wanted = {.owner = owner,
                                         .pages = owner->pages,
                                         .most_more = pick(6) ? UINT64_MAX : pick(8),
                                         .from_end = pick(3) == 0};
        if (wanted.from_end && pick(3) == 0)
            wanted.lowest = pick(s.pages);
        uint64_t furthest = ferry_vm_victims_furthest(&s.victims, s.now), cheapest = UINT64_MAX, missing = 0;
        if (i == 0 && wanted.most_more == UINT64_MAX)
            cheapest = cheapest_window(&s, plan, &wanted, furthest);
        uint64_t free_before = s.space.free_pages;
        size_t steps_before = plan->step_count;
        enum ferry_vm_plan_result result = ferry_vm_plan_want(plan, &s.region, &wanted, &missing);
        bool can = result == FERRY_VM_PLANNED;
        assert_int_equal(result, can ? FERRY_VM_PLANNED : FERRY_VM_SHORT);
        granted[s.count - 1] = can;
        counts->planned += can;
        counts->refused += !can;
        if (can) {
            assert_non_null(owner->block);
            assert_true(owner->block->first >= wanted.lowest);
            if (cheapest != UINT64_MAX)
                assert_true(paid(&s, plan, steps_before, furthest) <= cheapest);
            // Over the limit only when nobody is left who could leave.
            uint64_t more = free_before > s.space.free_pages ? free_before - s.space.free_pages : 0;
            struct ferry_vm_use *left;
            if (more > wanted.most_more)
                assert_int_equal(ferry_vm_victims_first(&s.victims, s.now, &left, 1), 0);
        } else {
            assert_false(possible(&s, &wanted));
            assert_null(owner->block);
            assert_int_equal(s.space.free_pages, free_before);
            assert_int_equal(plan->step_count, steps_before);
            assert_true(missing > 0);
        }
    }
    counts->moved += plan->moved_pages != 0;
    for (size_t i = 0; i < plan->step_count; i++)
        counts->bounced += plan->steps[i].kind == FERRY_VM_STEP_EVICT && !plan->steps[i].candidate;
    bool undo = pick(4) == 0;
    if (undo)
        ferry_vm_plan_undo(plan);
    else
        ferry_vm_plan_finish(plan);
    counts->undone += undo;
    assert_int_equal(plan->place_count, 0);
    assert_int_equal(ferry_vm_victims_first(&s.victims, s.now, after, MOST_OWNERS), listed);
    assert_memory_equal(before, after, listed * sizeof(before[0]));
    check_space(&s);
    if (undo)
        assert_int_equal(plan->step_count + plan->evicted_pages + plan->moved_pages + plan->written_pages, 0);
    else
        carry_out(&s, plan);
    for (unsigned i = 0; i < s.count && !undo; i++)
        assert_true(i < olds || granted[i] == (s.owners[i].block != NULL));
    check_space(&s);
    ferry_vm_space_destroy(&s.space);
}

static void random_states(void **state)
{
    (void)state;
    const char *states = getenv("FERRY_STATES");
    uint64_t seed = seed_given((uint64_t)time(NULL));
    unsigned count = states ? (unsigned)strtoul(states, NULL, 0) : 50000;
    struct ferry_vm_plan plan = {0};
    struct counts counts = {0};
    for (unsigned i = 0; i < count; i++) {
        state_word = draw_state(seed + i);
        one_state(&plan, &counts);
    }
    ferry_vm_plan_destroy(&plan);
    print_message("  %u states: %u planned, %u impossible, moved in %u, %u left and came back, %u undone\n", count,
                  counts.planned, counts.refused, counts.moved, counts.bounced, counts.undone);
    // Each way is really taken.
    assert_true(counts.refused > count / 50 && counts.moved > count / 50 && counts.bounced > count / 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_states)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
