// SPDX-License-Identifier: Apache-2.0
// The plan's changes of the bookkeeping: noted as steps, and taken back.
#include <stdlib.h>

#include "vidmm/space/plan_internal.h"

void ferry_vm_plan_begin(struct ferry_vm_plan *plan, void *context, ferry_vm_facts_of *facts, ferry_vm_owner_of *owner,
                         uint64_t now)
{
    plan->context = context;
    plan->ask = facts;
    plan->owner = owner;
    plan->now = now;
    plan->step_count = plan->place_count = 0;
    plan->evicted_pages = plan->written_pages = plan->moved_pages = 0;
}

void ferry_vm_plan_destroy(struct ferry_vm_plan *plan)
{
    free(plan->steps);
    free(plan->places);
    free(plan->items);
    *plan = (struct ferry_vm_plan){0};
}

static bool note(struct ferry_vm_plan *plan, struct ferry_vm_step step)
{
    if (plan->step_count == plan->step_capacity) {
        size_t capacity = plan->step_capacity ? plan->step_capacity * 2 : 64;
        struct ferry_vm_step *steps = realloc(plan->steps, capacity * sizeof(*steps));
        if (!steps)
            return false;
        plan->steps = steps;
        plan->step_capacity = capacity;
    }
    plan->steps[plan->step_count++] = step;
    return true;
}

static struct ferry_vm_block **noted_block(const struct ferry_vm_plan *plan, void *owner, struct ferry_vm_facts *facts)
{
    ferry_vm_plan_ask(plan, owner, facts);
    return facts->block;
}

static bool sit(const struct ferry_vm_plan *plan, struct ferry_vm_region *region, void *owner, uint32_t place,
                uint64_t first, uint64_t pages)
{
    struct ferry_vm_facts facts;
    bool no_memory;
    struct ferry_vm_block *block = ferry_vm_space_take_at(region->space, first, pages, owner, &no_memory);
    if (!block)
        return false;
    block->place = place;
    *noted_block(plan, owner, &facts) = block;
    return true;
}

static void stand_up(const struct ferry_vm_plan *plan, struct ferry_vm_region *region, void *owner)
{
    struct ferry_vm_facts facts;
    struct ferry_vm_block **block = noted_block(plan, owner, &facts);
    ferry_vm_space_give(region->space, *block);
    *block = NULL;
}

// Whom the plan had let out and in again is counted once.
static void count_evicted(struct ferry_vm_plan *plan, const struct ferry_vm_step *step,
                          const struct ferry_vm_facts *facts, bool out)
{
    uint64_t pages = step->place ? 0 : step->pages, written = facts->dirty ? pages : 0;
    plan->evicted_pages += out ? pages : 0 - pages;
    plan->written_pages += out ? written : 0 - written;
}

bool ferry_vm_plan_evict(struct ferry_vm_plan *plan, struct ferry_vm_region *region, struct ferry_vm_block *block)
{
    struct ferry_vm_facts facts;
    void *owner = block->owner;
    ferry_vm_plan_ask(plan, owner, &facts);
    struct ferry_vm_step step = {.kind = FERRY_VM_STEP_EVICT,
                                 .candidate = ferry_vm_plan_leaves(&facts),
                                 .listed = facts.use->listed != 0,
                                 .region = region,
                                 .owner = owner,
                                 .from = block->first,
                                 .to = FERRY_VM_NOWHERE,
                                 .pages = block->pages};
    step.place = block->place;
    if (!note(plan, step))
        return false;
    ferry_vm_victim_remove(region->victims, facts.use);
    stand_up(plan, region, owner);
    count_evicted(plan, &step, &facts, true);
    return true;
}

bool ferry_vm_plan_move(struct ferry_vm_plan *plan, struct ferry_vm_region *region, struct ferry_vm_block *block,
                        uint64_t to)
{
    struct ferry_vm_step step = {.kind = block->place ? FERRY_VM_STEP_SHIFT : FERRY_VM_STEP_MOVE,
                                 .place = block->place,
                                 .region = region,
                                 .owner = block->owner,
                                 .from = block->first,
                                 .to = to,
                                 .pages = block->pages};
    if (!note(plan, step))
        return false;
    stand_up(plan, region, step.owner);
    if (to == FERRY_VM_NOWHERE)
        return true;
    if (!sit(plan, region, step.owner, step.place, to, step.pages)) {
        // There is always memory for what was there before.
        (void)sit(plan, region, step.owner, step.place, step.from, step.pages);
        plan->step_count--;
        return false;
    }
    plan->moved_pages += step.kind == FERRY_VM_STEP_MOVE ? step.pages : 0;
    return true;
}

bool ferry_vm_plan_put(struct ferry_vm_plan *plan, struct ferry_vm_region *region, void *owner, uint32_t place,
                       uint64_t first, uint64_t pages)
{
    struct ferry_vm_step step = {.kind = FERRY_VM_STEP_SHIFT,
                                 .place = place,
                                 .region = region,
                                 .owner = owner,
                                 .from = FERRY_VM_NOWHERE,
                                 .to = first,
                                 .pages = pages};
    if (!note(plan, step))
        return false;
    if (sit(plan, region, owner, place, first, pages))
        return true;
    plan->step_count--;
    return false;
}

bool ferry_vm_plan_place(struct ferry_vm_plan *plan, struct ferry_vm_region *region, void *owner, uint64_t first,
                         uint64_t pages, bool listed)
{
    struct ferry_vm_facts facts;
    if (plan->place_count == plan->place_capacity) {
        size_t capacity = plan->place_capacity ? plan->place_capacity * 2 : 64;
        struct ferry_vm_placing *places = realloc(plan->places, capacity * sizeof(*places));
        if (!places)
            return false;
        plan->places = places;
        plan->place_capacity = capacity;
    }
    struct ferry_vm_step step = {.kind = FERRY_VM_STEP_PLACE,
                                 .listed = listed,
                                 .place = (uint32_t)plan->place_count + 1,
                                 .region = region,
                                 .owner = owner,
                                 .from = FERRY_VM_NOWHERE,
                                 .to = first,
                                 .pages = pages};
    if (!note(plan, step))
        return false;
    if (!sit(plan, region, owner, step.place, first, pages)) {
        plan->step_count--;
        return false;
    }
    plan->places[plan->place_count++] = (struct ferry_vm_placing){region, owner, first, pages};
    ferry_vm_plan_ask(plan, owner, &facts);
    if (listed)
        ferry_vm_victim_add(region->victims, facts.use);
    return true;
}

void ferry_vm_plan_back_to(struct ferry_vm_plan *plan, size_t steps)
{
    while (plan->step_count > steps) {
        struct ferry_vm_step step = plan->steps[--plan->step_count];
        struct ferry_vm_facts facts;
        ferry_vm_plan_ask(plan, step.owner, &facts);
        if (step.to != FERRY_VM_NOWHERE)
            stand_up(plan, step.region, step.owner);
        if (step.from != FERRY_VM_NOWHERE)
            (void)sit(plan, step.region, step.owner, step.place, step.from, step.pages);
        if (step.kind == FERRY_VM_STEP_EVICT) {
            if (step.listed)
                ferry_vm_victim_add(step.region->victims, facts.use);
            count_evicted(plan, &step, &facts, false);
        } else if (step.kind == FERRY_VM_STEP_MOVE) {
            plan->moved_pages -= step.pages;
        } else if (step.kind == FERRY_VM_STEP_PLACE) {
            if (step.listed)
                ferry_vm_victim_remove(step.region->victims, facts.use);
            plan->place_count--;
        }
    }
}

void ferry_vm_plan_undo(struct ferry_vm_plan *plan)
{
    ferry_vm_plan_back_to(plan, 0);
}

// One wanted let a candidate out and in again, a later one let it leave: then it left the first time.
static void drop_what_left_after_all(struct ferry_vm_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct ferry_vm_step *step = &plan->steps[i];
        if (step->kind != FERRY_VM_STEP_EVICT || !step->place)
            continue;
        plan->places[step->place - 1].owner = NULL;
        for (size_t n = 0; n < i; n++)
            if (plan->steps[n].owner == step->owner && plan->steps[n].kind == FERRY_VM_STEP_EVICT)
                plan->steps[n].candidate = true;
    }
}

void ferry_vm_plan_finish(struct ferry_vm_plan *plan)
{
    drop_what_left_after_all(plan);
    size_t steps = plan->step_count, places = plan->place_count, kept = 0;
    uint64_t evicted = plan->evicted_pages, written = plan->written_pages, moved = plan->moved_pages;
    for (size_t i = 0; i < places; i++) {
        struct ferry_vm_facts facts;
        if (plan->places[i].owner)
            plan->places[i].first = (*noted_block(plan, plan->places[i].owner, &facts))->first;
    }
    ferry_vm_plan_back_to(plan, 0);
    for (size_t i = 0; i < steps; i++)
        if ((plan->steps[i].kind == FERRY_VM_STEP_EVICT && !plan->steps[i].place) ||
            plan->steps[i].kind == FERRY_VM_STEP_MOVE)
            plan->steps[kept++] = plan->steps[i];
    for (size_t i = 0; i < places; i++) {
        const struct ferry_vm_placing *place = &plan->places[i];
        if (!place->owner)
            continue;
        plan->steps[kept++] = (struct ferry_vm_step){.kind = FERRY_VM_STEP_PLACE,
                                                     .region = place->region,
                                                     .owner = place->owner,
                                                     .from = FERRY_VM_NOWHERE,
                                                     .to = place->first,
                                                     .pages = place->pages};
    }
    plan->step_count = kept;
    plan->evicted_pages = evicted;
    plan->written_pages = written;
    plan->moved_pages = moved;
}
