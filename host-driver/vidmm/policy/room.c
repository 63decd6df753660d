// SPDX-License-Identifier: Apache-2.0
// Room for allocations: all that a call wants in is planned as one (space/plan.h), then carried out (steps.c).
#include <stdlib.h>
#include <string.h>

#include "vidmm/policy/policy.h"

// ---- What the plan asks ----

// What a program has in place, by the plan so far.
static uint64_t has(const struct ferry_vm_process *process, unsigned group)
{
    return process->in_place[group] + process->planned[group];
}

static unsigned group_of(const struct ferry_vm_policy *policy, const struct ferry_vm_allocation *allocation)
{
    return policy->memory->segments[allocation->segment - 1].aperture ? FERRY_VM_NON_LOCAL : FERRY_VM_LOCAL;
}

// What another program has within its budget is not moved about either, as long as there is another way: moves over
// short ways go through system memory, and are that program's paging.
static bool is_left_alone(const struct ferry_vm_policy *policy, const struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_process *process = allocation->subject.device->process;
    if (!policy->leaves || policy->reach >= FERRY_VM_REACH_PUSH || process == policy->asking || !allocation->block)
        return false;
    unsigned group = group_of(policy, allocation);
    return has(process, group) <= process->budget[group];
}

static void facts_of(void *context, void *owner, struct ferry_vm_facts *facts)
{
    const struct ferry_vm_policy *policy = context;
    struct ferry_vm_allocation *allocation = owner;
    // The page for WRITE_PHYSICAL.
    if (owner == policy->memory) {
        *facts = (struct ferry_vm_facts){.fixed = true};
        return;
    }
    *facts = (struct ferry_vm_facts){
        .use = &allocation->use,
        .block = &allocation->block,
        .alignment_log2 = allocation->alignment_log2,
        .fixed = allocation->pinned || is_left_alone(policy, allocation),
        .stays = policy->leaves && allocation->use.listed != 0 && !policy->leaves(context, &allocation->use),
        .dirty = allocation->dirty && !allocation->fresh,
    };
}

static void *owner_of(struct ferry_vm_use *use)
{
    return FERRY_VM_CONTAINER(use, struct ferry_vm_allocation, use);
}

void ferry_vm_room_start(struct ferry_vm_policy *policy)
{
    for (unsigned i = 0; i < policy->memory->segment_count; i++) {
        struct ferry_vm_segment *segment = &policy->memory->segments[i];
        policy->regions[i] = (struct ferry_vm_region){&segment->space, &segment->victims, !segment->aperture};
    }
}

void ferry_vm_room_stop(struct ferry_vm_policy *policy)
{
    ferry_vm_plan_destroy(&policy->plan);
    free(policy->named);
}

int ferry_vm_room_for_names(struct ferry_vm_policy *policy, size_t count)
{
    if (count <= policy->named_capacity)
        return FERRY_OK;
    struct ferry_vm_allocation **named = realloc(policy->named, count * sizeof(*named));
    if (!named)
        return FERRY_ERROR_NO_HOST_MEMORY;
    policy->named = named;
    policy->named_capacity = count;
    return FERRY_OK;
}

// Nobody who is required leaves for a budget that was lowered meanwhile: it counts at admission only.
static uint64_t pages_to_budget(const struct ferry_vm_policy *policy, const struct ferry_vm_segment *segment)
{
    uint64_t used = 0;
    if (segment->aperture || policy->budget == 0)
        return UINT64_MAX;
    for (unsigned i = 0; i < policy->memory->segment_count; i++) {
        const struct ferry_vm_space *space = &policy->memory->segments[i].space;
        used += policy->memory->segments[i].aperture ? 0 : space->pages - space->free_pages;
    }
    return policy->budget / PAGE_SIZE > used ? policy->budget / PAGE_SIZE - used : 0;
}

// ---- Whose memory it comes from ----

// What another one than the asking keeps: its budget, in the end its reservation.
static uint64_t keeps(const struct ferry_vm_policy *policy, const struct ferry_vm_process *process, unsigned group)
{
    if (policy->reach == FERRY_VM_REACH_RESERVED)
        return 0;
    return policy->reach < FERRY_VM_REACH_ALL ? process->budget[group] : ferry_vm_reserved(process, group);
}

// May anything of this program leave for the one that is wanted? First of programs that have more than their budget:
// the one that asks too, when it gets above it. Then whatever else it has itself. Then everybody's, but what is
// reserved.
static bool gives(const struct ferry_vm_policy *policy, const struct ferry_vm_process *process, unsigned group)
{
    uint64_t budget = process->budget[group], more = policy->wanted_bytes;
    if (process == policy->asking)
        return policy->reach != FERRY_VM_REACH_OVER || has(process, group) > (budget > more ? budget - more : 0);
    if (policy->picking)
        return process->picked[group];
    return has(process, group) > keeps(policy, process, group);
}

// And this one of it? Each is looked at as if it left alone; whether they may all leave together is seen afterwards.
static bool leaves(void *context, const struct ferry_vm_use *use)
{
    const struct ferry_vm_policy *policy = context;
    const struct ferry_vm_allocation *candidate = FERRY_VM_CONTAINER(use, struct ferry_vm_allocation, use);
    const struct ferry_vm_process *process = candidate->subject.device->process;
    unsigned group = group_of(policy, candidate);
    if (process == policy->asking || !gives(policy, process, group))
        return gives(policy, process, group);
    if (policy->picking)
        return candidate->picked;
    return policy->reach != FERRY_VM_REACH_ALL ||
           has(process, group) >= keeps(policy, process, group) + ferry_vm_bytes(candidate);
}

// A program's number is its allocations' sort (room for eight; more of them share).
static uint8_t sorts_that_give(void *context, const struct ferry_vm_victims *victims)
{
    const struct ferry_vm_policy *policy = context;
    bool aperture = FERRY_VM_CONTAINER(victims, const struct ferry_vm_segment, victims)->aperture;
    uint8_t sorts = 0;
    for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next) {
        const struct ferry_vm_process *process = FERRY_VM_CONTAINER(link, struct ferry_vm_process, link);
        if (gives(policy, process, aperture ? FERRY_VM_NON_LOCAL : FERRY_VM_LOCAL))
            sorts |= (uint8_t)(1u << (process->sort & 7));
    }
    return sorts;
}

// Who may leave together with those that leave before it.
static void pick(void *context, struct ferry_vm_use *use)
{
    const struct ferry_vm_policy *policy = context;
    struct ferry_vm_allocation *candidate = FERRY_VM_CONTAINER(use, struct ferry_vm_allocation, use);
    uint64_t *spare = &candidate->subject.device->process->spare[group_of(policy, candidate)];
    uint64_t bytes = ferry_vm_bytes(candidate);
    candidate->picked = *spare > 0 && (bytes <= *spare || policy->reach != FERRY_VM_REACH_ALL);
    if (!candidate->picked)
        return;
    *spare -= bytes < *spare ? bytes : *spare;
    candidate->subject.device->process->picked[group_of(policy, candidate)] = true;
}

static void pick_those_that_leave(struct ferry_vm_policy *policy)
{
    policy->picking = true;
    for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next) {
        struct ferry_vm_process *process = FERRY_VM_CONTAINER(link, struct ferry_vm_process, link);
        for (unsigned group = 0; group < FERRY_VM_GROUPS; group++) {
            uint64_t kept = keeps(policy, process, group);
            process->spare[group] = has(process, group) > kept ? has(process, group) - kept : 0;
            process->picked[group] = false;
        }
    }
    for (unsigned i = 0; i < policy->memory->segment_count; i++) {
        struct ferry_vm_segment *segment = &policy->memory->segments[i];
        ferry_vm_victims_visit(&segment->victims, policy->memory->time, pick, policy);
    }
}

// Several programs: the candidates are looked through, in as many steps as it takes.
static void ask_for(struct ferry_vm_policy *policy, const struct ferry_vm_process *asking, uint64_t bytes)
{
    bool several = policy->processes.next->next != &policy->processes;
    policy->asking = asking;
    policy->wanted_bytes = bytes;
    policy->picking = false;
    policy->reach = several ? FERRY_VM_REACH_OVER : FERRY_VM_REACH_BEYOND;
    policy->leaves = several ? leaves : NULL;
    for (unsigned i = 0; i < policy->memory->segment_count; i++) {
        policy->memory->segments[i].victims.leaves = policy->leaves;
        policy->memory->segments[i].victims.sorts = several ? sorts_that_give : NULL;
        policy->memory->segments[i].victims.context = policy;
    }
}

static void count_planned(struct ferry_vm_policy *policy, size_t from)
{
    for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next) {
        struct ferry_vm_process *process = FERRY_VM_CONTAINER(link, struct ferry_vm_process, link);
        memcpy(process->planned_before, process->planned, sizeof(process->planned));
    }
    for (size_t i = from; i < policy->plan.step_count; i++) {
        const struct ferry_vm_step *step = &policy->plan.steps[i];
        if (step->kind != FERRY_VM_STEP_EVICT && step->kind != FERRY_VM_STEP_PLACE)
            continue;
        const struct ferry_vm_allocation *allocation = step->owner;
        uint64_t bytes = step->pages * PAGE_SIZE;
        unsigned group = step->region->moves ? FERRY_VM_LOCAL : FERRY_VM_NON_LOCAL;
        allocation->subject.device->process->planned[group] += step->kind == FERRY_VM_STEP_PLACE ? bytes : 0 - bytes;
    }
}

static int want_within(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_segment *order[FERRY_VM_MAX_SEGMENTS];
    unsigned count = ferry_vm_segment_order(policy->memory, allocation, order);
    size_t steps = policy->plan.step_count;
    for (unsigned i = 0; i < count; i++) {
        struct ferry_vm_segment *segment = order[i];
        struct ferry_vm_wanted wanted = {.owner = allocation,
                                         .pages = allocation->use.pages,
                                         .most_more = pages_to_budget(policy, segment),
                                         .from_end = ferry_vm_from_end(allocation, segment->id)};
        // R152: overlays and captures stay in the last fifth, filled from the end.
        if (allocation->pinned) {
            wanted.lowest = (ferry_flags_pinned_lowest(segment->pages * PAGE_SIZE) + PAGE_SIZE - 1) / PAGE_SIZE;
            wanted.from_end = true;
        }
        if (allocation->use.pages > segment->pages)
            continue;
        uint64_t missing;
        enum ferry_vm_plan_result result =
            ferry_vm_plan_want(&policy->plan, &policy->regions[segment->id - 1], &wanted, &missing);
        if (result == FERRY_VM_PLANNED) {
            count_planned(policy, steps);
            return FERRY_OK;
        }
        if (result == FERRY_VM_NO_MEMORY)
            return FERRY_ERROR_NO_HOST_MEMORY;
    }
    return FERRY_ERROR_NO_VIDEO_MEMORY;
}

// Does the plan from this step on leave anybody less than he keeps? Where an allocation may lie on both sides of that
// border: less than he keeps even without the largest of those that leave.
static bool takes_too_much(const struct ferry_vm_policy *policy, size_t from)
{
    for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next) {
        const struct ferry_vm_process *process = FERRY_VM_CONTAINER(link, struct ferry_vm_process, link);
        uint64_t largest[FERRY_VM_GROUPS] = {0};
        for (size_t i = from; i < policy->plan.step_count && process != policy->asking; i++) {
            const struct ferry_vm_step *step = &policy->plan.steps[i];
            const struct ferry_vm_allocation *allocation = step->owner;
            unsigned group = step->region->moves ? FERRY_VM_LOCAL : FERRY_VM_NON_LOCAL;
            uint64_t bytes = step->pages * PAGE_SIZE;
            if (step->kind == FERRY_VM_STEP_EVICT && step->candidate &&
                allocation->subject.device->process == process && bytes > largest[group])
                largest[group] = bytes;
        }
        for (unsigned group = 0; group < FERRY_VM_GROUPS; group++) {
            uint64_t left = has(process, group), kept = keeps(policy, process, group);
            bool lost = largest[group] != 0 && left < kept;
            if (lost && (policy->reach == FERRY_VM_REACH_ALL || left + largest[group] <= kept))
                return true;
        }
    }
    return false;
}

static void take_back(struct ferry_vm_policy *policy, size_t steps)
{
    ferry_vm_plan_back_to(&policy->plan, steps);
    for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next) {
        struct ferry_vm_process *process = FERRY_VM_CONTAINER(link, struct ferry_vm_process, link);
        memcpy(process->planned, process->planned_before, sizeof(process->planned));
    }
}

static uint64_t free_pages(const struct ferry_vm_policy *policy)
{
    uint64_t pages = 0;
    for (unsigned i = 0; i < policy->memory->segment_count; i++)
        pages += policy->memory->segments[i].space.free_pages;
    return pages;
}

static bool is_in_vain(const struct ferry_vm_policy *policy, const struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_in_vain *before = &policy->in_vain[policy->reach];
    return before->pages != 0 && allocation->use.pages >= before->pages &&
           allocation->alignment_log2 >= before->alignment_log2 && allocation->segment_set == before->segment_set &&
           allocation->pinned == before->pinned && free_pages(policy) <= before->free_pages;
}

static void note_in_vain(struct ferry_vm_policy *policy, const struct ferry_vm_allocation *allocation)
{
    policy->in_vain[policy->reach] = (struct ferry_vm_in_vain){.pages = allocation->use.pages,
                                                               .free_pages = free_pages(policy),
                                                               .segment_set = allocation->segment_set,
                                                               .alignment_log2 = allocation->alignment_log2,
                                                               .pinned = allocation->pinned};
}

static int want(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation, uint64_t *short_bytes)
{
    int result;
    size_t steps = policy->plan.step_count;
    *short_bytes = ferry_vm_bytes(allocation);
    ask_for(policy, allocation->subject.device->process, *short_bytes);
    do {
        policy->picking = false;
        if (is_in_vain(policy, allocation)) {
            result = FERRY_ERROR_NO_VIDEO_MEMORY;
            continue;
        }
        result = want_within(policy, allocation);
        if (result == FERRY_OK && policy->leaves && takes_too_much(policy, steps)) {
            take_back(policy, steps);
            pick_those_that_leave(policy);
            result = want_within(policy, allocation);
        }
        if (result == FERRY_ERROR_NO_VIDEO_MEMORY)
            note_in_vain(policy, allocation);
    } while (result == FERRY_ERROR_NO_VIDEO_MEMORY && policy->reach++ != policy->furthest);
    return result;
}

// ---- Planned as one ----

static void forget_planned(struct ferry_vm_policy *policy)
{
    for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next) {
        struct ferry_vm_process *process = FERRY_VM_CONTAINER(link, struct ferry_vm_process, link);
        process->planned[FERRY_VM_LOCAL] = process->planned[FERRY_VM_NON_LOCAL] = 0;
    }
}

static void begin(struct ferry_vm_policy *policy, enum ferry_vm_reach furthest)
{
    forget_planned(policy);
    memset(policy->in_vain, 0, sizeof(policy->in_vain));
    policy->furthest = furthest;
    ferry_vm_plan_begin(&policy->plan, policy, facts_of, owner_of, policy->memory->time);
}

static int end(struct ferry_vm_policy *policy, int result)
{
    if (result != FERRY_OK) {
        ferry_vm_plan_undo(&policy->plan);
        return result;
    }
    ferry_vm_plan_finish(&policy->plan);
    result = ferry_vm_steps_reserve(policy);
    if (result == FERRY_OK)
        ferry_vm_steps_carry_out(policy);
    return result;
}

int ferry_vm_place_all(struct ferry_vm_policy *policy, struct ferry_vm_allocation **list, size_t count,
                       enum ferry_vm_reach furthest, uint64_t *short_bytes)
{
    int result = FERRY_OK;
    size_t first = 0;
    while (first < count && list[first]->block)
        first++;
    if (first == count)
        return FERRY_OK;
    begin(policy, furthest);
    for (size_t i = first; i < count && result == FERRY_OK; i++)
        if (!list[i]->block)
            result = want(policy, list[i], short_bytes);
    return end(policy, result);
}

// The CPU has the content of the others just now; it comes at the first use after unlock.
static bool comes(const struct ferry_vm_allocation *allocation)
{
    return !allocation->lost &&
           (!allocation->locked || ferry_vm_permanent(allocation) || ferry_vm_locked_in_place(allocation));
}

static struct ferry_vm_allocation *missing_at(struct ferry_vm_list *link)
{
    return FERRY_VM_CONTAINER(link, struct ferry_vm_allocation, missing);
}

// GROUPS: it may be in either.
static unsigned only_group(const struct ferry_vm_policy *policy, const struct ferry_vm_allocation *allocation)
{
    bool may[FERRY_VM_GROUPS] = {false};
    for (unsigned i = 0; i < policy->memory->segment_count; i++)
        may[policy->memory->segments[i].aperture ? FERRY_VM_NON_LOCAL : FERRY_VM_LOCAL] |=
            (allocation->segment_set & 1u << i) != 0;
    return may[FERRY_VM_LOCAL] == may[FERRY_VM_NON_LOCAL] ? FERRY_VM_GROUPS
           : may[FERRY_VM_LOCAL]                          ? FERRY_VM_LOCAL
                                                          : FERRY_VM_NON_LOCAL;
}

// No plan makes more room than what is free and all that are candidates. Who waits for a turn asks again and again, and
// each time anew for each device that goes away for it.
static bool can_come(const struct ferry_vm_policy *policy, const struct ferry_vm_device *device)
{
    uint64_t wanted[FERRY_VM_GROUPS + 1] = {0}, most[FERRY_VM_GROUPS] = {0};
    for (unsigned i = 0; i < policy->memory->segment_count; i++) {
        const struct ferry_vm_segment *segment = &policy->memory->segments[i];
        most[segment->aperture ? FERRY_VM_NON_LOCAL : FERRY_VM_LOCAL] +=
            segment->space.free_pages + segment->victims.pages;
    }
    for (struct ferry_vm_list *link = device->missing.next; link != &device->missing; link = link->next)
        wanted[only_group(policy, missing_at(link))] += comes(missing_at(link)) ? missing_at(link)->use.pages : 0;
    return wanted[FERRY_VM_LOCAL] <= most[FERRY_VM_LOCAL] && wanted[FERRY_VM_NON_LOCAL] <= most[FERRY_VM_NON_LOCAL];
}

int ferry_vm_place_missing(struct ferry_vm_policy *policy, struct ferry_vm_device *device)
{
    int result = FERRY_OK;
    uint64_t short_bytes;
    if (ferry_vm_list_empty(&device->missing))
        return FERRY_OK;
    if (!can_come(policy, device))
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    begin(policy, FERRY_VM_REACH_BEYOND);
    for (struct ferry_vm_list *link = device->missing.next; link != &device->missing && result == FERRY_OK;
         link = link->next)
        if (comes(missing_at(link)))
            result = want(policy, missing_at(link), &short_bytes);
    return end(policy, result);
}

int ferry_vm_evict_one(struct ferry_vm_policy *policy, struct ferry_vm_segment *segment, uint64_t pages)
{
    struct ferry_vm_use *use;
    forget_planned(policy);
    ask_for(policy, NULL, 0);
    do
        use = ferry_vm_victim_choose(&segment->victims, policy->memory->time, pages);
    while (!use && policy->reach++ != FERRY_VM_REACH_BEYOND);
    if (!use)
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    struct ferry_vm_allocation *allocation = FERRY_VM_CONTAINER(use, struct ferry_vm_allocation, use);
    struct ferry_vm_process *process = allocation->subject.device->process;
    int result = ferry_vm_worthless(allocation) ? ferry_vm_instance_end(policy->memory, allocation)
                                                : ferry_vm_remove(policy->memory, allocation, FERRY_VM_EVICTED);
    if (result != FERRY_OK)
        return result;
    policy->core->statistics.evictions++;
    process->statistics.evictions++;
    return FERRY_OK;
}
