// SPDX-License-Identifier: Apache-2.0
// Turns. A device's list has to be in place only while its jobs run. A device whose list finds no room makes another
// one go away: what that one's list holds in place become candidates, and the first ones, until its next job.
//
//  - whoever has no job in line goes at once;
//  - whoever has goes when its turn is over. A turn is GPU time, counted from when its first job begins (so not that in
//    which its list comes in).
//
// Of those that wait the one comes next whose program has had the least of the GPU, by its weight; so a turn that ended
// early because no job was in line is made up for, and more devices are no more turns. Who begins to wait has had no
// less than the one whose turn began last had had by then.
//
// Nothing is taken from a job: its line stays, and what leaves does so behind it. So that a long line is no long turn,
// a program has only few jobs in line while somebody waits. Submit waits while all others' turns last, as it does when
// the line is full.
#include "vidmm/policy/policy.h"

static struct ferry_vm_device *device_at(struct ferry_vm_list *link)
{
    return FERRY_VM_CONTAINER(link, struct ferry_vm_device, link);
}

static void set_away(struct ferry_vm_policy *policy, struct ferry_vm_device *device, bool away)
{
    if (device->away == away)
        return;
    device->away = away;
    for (struct ferry_vm_list *link = device->allocations.next; link != &device->allocations; link = link->next)
        ferry_vm_relist(policy->memory, FERRY_VM_CONTAINER(link, struct ferry_vm_allocation, link));
}

static bool is_busy(const struct ferry_vm_device *device)
{
    return !ferry_vm_list_empty(&device->busy);
}

static const struct ferry_vm_context *busy_at(struct ferry_vm_list *link)
{
    return FERRY_VM_CONTAINER(link, struct ferry_vm_context, busy);
}

// Is there anything to be had from it? What is pinned does not leave.
static bool holds(const struct ferry_vm_device *device)
{
    bool lists = false;
    for (unsigned group = 0; group < FERRY_VM_GROUPS; group++)
        lists |= device->required[group] > device->pinned[group];
    return lists && !device->away;
}

static bool turn_is_over(const struct ferry_vm_policy *policy, const struct ferry_vm_device *device)
{
    uint64_t now = policy->core->platform.gpu_time(policy->core->platform.context);
    return device->turn_start != 0 && now + 1 - device->turn_start >= policy->turn_cycles;
}

static struct ferry_vm_device *waiting_at(struct ferry_vm_list *link)
{
    return FERRY_VM_CONTAINER(link, struct ferry_vm_device, waiting);
}

// Nobody waits whose program has had less.
static bool is_next(struct ferry_vm_policy *policy, const struct ferry_vm_device *device)
{
    for (struct ferry_vm_list *link = policy->waiting.next; link != &policy->waiting; link = link->next)
        if (waiting_at(link)->process->gpu_used < device->process->gpu_used)
            return false;
    return true;
}

// What a program did not use before it had to wait is not saved up, whatever of it was in line meanwhile, but for a
// turn's worth: the moment between two jobs is no reason to lose what it is behind.
static void forget_what_it_let_pass(const struct ferry_vm_policy *policy, const struct ferry_vm_device *device)
{
    uint64_t turn = policy->turn_cycles * FERRY_VIDMM_MAX_WEIGHT / device->process->weight;
    if (policy->turns_at > turn && device->process->gpu_used < policy->turns_at - turn)
        device->process->gpu_used = policy->turns_at - turn;
}

bool ferry_vm_others_require(const struct ferry_vm_policy *policy, const struct ferry_vm_device *device)
{
    for (unsigned group = 0; group < FERRY_VM_GROUPS; group++)
        if (ferry_vm_required(policy, group) > device->required[group])
            return true;
    return false;
}

// It has no job in line, but it is its turn and it comes before the other: it may be about to submit, and is let by
// once.
static bool let_by(const struct ferry_vm_policy *policy, const struct ferry_vm_device *other,
                   struct ferry_vm_device *device)
{
    if (device->let_by || other->process->gpu_used >= device->process->gpu_used || other->turn_start == 0 ||
        turn_is_over(policy, other))
        return false;
    return device->let_by = true;
}

// The next one to go away for this device: one without jobs, else the one whose turn has been over for longest.
static struct ferry_vm_device *next_to_go(struct ferry_vm_policy *policy, struct ferry_vm_device *device)
{
    struct ferry_vm_device *next = NULL;
    if (!is_next(policy, device))
        return NULL;
    for (struct ferry_vm_list *link = policy->devices->next; link != policy->devices; link = link->next) {
        struct ferry_vm_device *other = device_at(link);
        if (other == device || !holds(other))
            continue;
        if (!is_busy(other) && let_by(policy, other, device))
            return NULL;
        if (!is_busy(other))
            return other;
        if (turn_is_over(policy, other) && (!next || other->turn_start < next->turn_start))
            next = other;
    }
    return next;
}

// Whose job is to be waited for; false when nobody else has any.
static bool in_the_way(struct ferry_vm_policy *policy, const struct ferry_vm_device *device, bool let_another_by,
                       unsigned *node, uint64_t *number)
{
    for (struct ferry_vm_list *link = policy->devices->next; link != policy->devices; link = link->next) {
        const struct ferry_vm_device *other = device_at(link);
        if (other == device || !holds(other) || !is_busy(other))
            continue;
        *node = busy_at(other->busy.next)->node;
        *number = policy->sched->nodes[*node].first->fence;
        return true;
    }
    // Nothing to wait for but that the next one comes; it stands before the manager.
    *node = policy->sched->paging_node;
    *number = 0;
    return let_another_by || !is_next(policy, device);
}

#define JOBS_WHILE_OTHERS_WAIT 8

bool ferry_vm_turn_line_full(const struct ferry_vm_policy *policy, const struct ferry_vm_context *context,
                             unsigned *node)
{
    bool others = !ferry_vm_list_empty(&policy->waiting) && (policy->waiting.next != &context->device->waiting ||
                                                             policy->waiting.previous != policy->waiting.next);
    uint64_t jobs = 0;
    for (struct ferry_vm_list *link = policy->devices->next; others && link != policy->devices; link = link->next) {
        const struct ferry_vm_device *device = device_at(link);
        if (device->process != context->device->process)
            continue;
        for (struct ferry_vm_list *at = device->busy.next; at != &device->busy; at = at->next) {
            *node = busy_at(at)->node;
            jobs += busy_at(at)->jobs;
        }
    }
    return jobs >= JOBS_WHILE_OTHERS_WAIT;
}

void ferry_vm_turn_forgo(struct ferry_vm_device *device)
{
    device->let_by = false;
    ferry_vm_list_remove(&device->waiting);
}

// Only what the job works on, and of its own list all else may leave for that: what others have come to reserve leaves
// no room for the whole of it.
static int place_named(struct ferry_vm_policy *policy, const struct ferry_vidmm_submission *buffers, uint32_t count,
                       enum ferry_vm_reach furthest)
{
    size_t named = 0, references = 0;
    uint64_t short_bytes;
    for (uint32_t i = 0; i < count; i++)
        references += buffers[i].reference_count;
    int result = ferry_vm_room_for_names(policy, references);
    for (uint32_t i = 0; i < count && result == FERRY_OK; i++) {
        for (uint32_t k = 0; k < buffers[i].reference_count; k++) {
            struct ferry_vm_allocation *allocation =
                ferry_vm_allocation_find(policy->memory, NULL, buffers[i].references[k].allocation, &result);
            policy->named[named++] = allocation;
            allocation->kept = 1;
            ferry_vm_relist(policy->memory, allocation);
        }
    }
    if (result == FERRY_OK)
        result = ferry_vm_place_all(policy, policy->named, named, furthest, &short_bytes);
    for (size_t i = 0; i < named; i++) {
        policy->named[i]->kept = 0;
        ferry_vm_relist(policy->memory, policy->named[i]);
    }
    return result;
}

int ferry_vm_take_turn(struct ferry_vm_policy *policy, struct ferry_vm_device *device,
                       const struct ferry_vidmm_submission *buffers, uint32_t count, unsigned *node, uint64_t *number)
{
    // A new turn, or one that nobody has been kept waiting for.
    bool waited = device->away || !ferry_vm_list_empty(&device->waiting);
    bool begins = waited || (!is_busy(device) && ferry_vm_list_empty(&policy->waiting));
    bool let_by_before = device->let_by;
    // Its list was admitted before others reserved so much; what it asks for is nothing new.
    bool in_parts = !ferry_vm_list_empty(&device->missing) && ferry_vm_beyond_all(policy, device) != 0;
    set_away(policy, device, in_parts);
    int result =
        in_parts ? place_named(policy, buffers, count, FERRY_VM_REACH_BEYOND) : ferry_vm_place_missing(policy, device);
    struct ferry_vm_device *other;
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY && ferry_vm_list_empty(&device->waiting))
        forget_what_it_let_pass(policy, device);
    while (result == FERRY_ERROR_NO_VIDEO_MEMORY && (other = next_to_go(policy, device))) {
        set_away(policy, other, true);
        result = in_parts ? place_named(policy, buffers, count, FERRY_VM_REACH_BEYOND)
                          : ferry_vm_place_missing(policy, device);
    }
    bool comes_later = result == FERRY_ERROR_NO_VIDEO_MEMORY &&
                       in_the_way(policy, device, device->let_by != let_by_before, node, number);
    // Its job alone finds no room beside what is reserved.
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY && in_parts && !comes_later)
        result = place_named(policy, buffers, count, FERRY_VM_REACH_RESERVED);
    if (comes_later) {
        if (ferry_vm_list_empty(&device->waiting))
            ferry_vm_list_add(&policy->waiting, &device->waiting);
        return FERRY_PENDING;
    }
    ferry_vm_turn_forgo(device);
    if (begins && result == FERRY_OK)
        device->turn_start = 0;
    // While nobody waits a turn may go on for as long as it likes, and others have not asked for any of it.
    if (result == FERRY_OK && holds(device) && (begins || ferry_vm_list_empty(&policy->waiting)) &&
        device->process->gpu_used > policy->turns_at)
        policy->turns_at = device->process->gpu_used;
    return result;
}
