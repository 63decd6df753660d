// SPDX-License-Identifier: Apache-2.0
// Programs and what each may have: divided anew whenever a program comes, goes, or changes its weight or reservation,
// and when there is more or less to divide. Who then has more than his budget is told, and refused nothing that he has.
#include <stdlib.h>

#include "vidmm/memory/addresses.h"
#include "vidmm/policy/policy.h"
#include "vidmm/space/budget.h"

static struct ferry_vm_process *process_at(struct ferry_vm_list *link)
{
    return FERRY_VM_CONTAINER(link, struct ferry_vm_process, link);
}

uint64_t ferry_vm_memory_limit(const struct ferry_vm_policy *policy)
{
    return policy->budget != 0 && policy->budget < policy->memory->memory_bytes ? policy->budget
                                                                                : policy->memory->memory_bytes;
}

uint64_t ferry_vm_limit(const struct ferry_vm_policy *policy, unsigned group)
{
    return group == FERRY_VM_LOCAL ? ferry_vm_memory_limit(policy) : policy->memory->aperture_bytes;
}

uint64_t ferry_vm_required(const struct ferry_vm_policy *policy, unsigned group)
{
    uint64_t bytes = 0;
    for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next)
        bytes += process_at(link)->required[group];
    return bytes;
}

uint64_t ferry_vm_excess(const struct ferry_vm_process *process)
{
    uint64_t bytes = 0;
    for (unsigned group = 0; group < FERRY_VM_GROUPS; group++)
        if (process->required[group] > process->budget[group])
            bytes += process->required[group] - process->budget[group];
    return bytes;
}

uint64_t ferry_vm_reserved(const struct ferry_vm_process *process, unsigned group)
{
    uint64_t budget = process->budget[group];
    return group != FERRY_VM_LOCAL ? 0 : process->reservation < budget ? process->reservation : budget;
}

// What nobody else can ever have of this kind: what the program has reserved, or what it has pinned.
static uint64_t kept_by(const struct ferry_vm_process *process, unsigned group)
{
    uint64_t reserved = ferry_vm_reserved(process, group), pinned = process->pinned[group];
    return reserved > pinned ? reserved : pinned;
}

// By all programs.
static void sum_up_kept(const struct ferry_vm_policy *policy, uint64_t kept[FERRY_VM_GROUPS])
{
    for (unsigned group = 0; group < FERRY_VM_GROUPS; group++) {
        kept[group] = 0;
        for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next)
            kept[group] += kept_by(process_at(link), group);
    }
}

// Besides what other programs keep, the device cannot have what others of its own program have pinned.
static uint64_t beyond(const struct ferry_vm_policy *policy, const struct ferry_vm_device *device,
                       const uint64_t kept[FERRY_VM_GROUPS])
{
    const struct ferry_vm_process *process = device->process;
    uint64_t bytes = 0;
    for (unsigned group = 0; group < FERRY_VM_GROUPS; group++) {
        uint64_t limit = ferry_vm_limit(policy, group);
        uint64_t others = kept[group] - kept_by(process, group) + process->pinned[group] - device->pinned[group];
        uint64_t most = limit > others ? limit - others : 0;
        bytes += device->required[group] > most ? device->required[group] - most : 0;
    }
    return bytes;
}

uint64_t ferry_vm_beyond_all(const struct ferry_vm_policy *policy, const struct ferry_vm_device *device)
{
    uint64_t kept[FERRY_VM_GROUPS];
    sum_up_kept(policy, kept);
    return beyond(policy, device, kept);
}

// Summed up once for all devices: there may be thousands of both.
uint64_t ferry_vm_beyond_others(const struct ferry_vm_policy *policy, const struct ferry_vm_device *device)
{
    uint64_t kept[FERRY_VM_GROUPS], most = 0;
    sum_up_kept(policy, kept);
    for (struct ferry_vm_list *link = policy->devices->next; link != policy->devices; link = link->next) {
        const struct ferry_vm_device *other = FERRY_VM_CONTAINER(link, struct ferry_vm_device, link);
        uint64_t bytes = other != device ? beyond(policy, other, kept) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

// ---- Dividing ----

static void give(struct ferry_vm_policy *policy, struct ferry_vm_process *process, unsigned group, uint64_t budget)
{
    if (process->budget[group] == budget)
        return;
    process->budget[group] = budget;
    uint64_t required = process->required[group];
    ferry_vm_emit(policy->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_BUDGET,
                                                           .process = process->handle,
                                                           .program = process->program,
                                                           .segment = group,
                                                           .offset = required,
                                                           .value = budget,
                                                           .bytes = required > budget ? required - budget : 0});
}

void ferry_vm_budgets_divide(struct ferry_vm_policy *policy)
{
    struct ferry_vm_share *shares = policy->shares;
    for (unsigned group = 0; group < FERRY_VM_GROUPS; group++) {
        size_t count = 0;
        for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next) {
            const struct ferry_vm_process *process = process_at(link);
            uint64_t reserved = group == FERRY_VM_LOCAL ? process->reservation / PAGE_SIZE : 0;
            shares[count++] = (struct ferry_vm_share){.weight = process->weight, .reserved = reserved};
        }
        ferry_vm_budget_divide(ferry_vm_limit(policy, group) / PAGE_SIZE, shares, count);
        count = 0;
        for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next)
            give(policy, process_at(link), group, shares[count++].budget * PAGE_SIZE);
    }
}

// ---- Coming and going ----

// Room to divide among one more, so that nothing that divides can fail.
static int reserve_share(struct ferry_vm_policy *policy)
{
    size_t count = 1;
    for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next)
        count++;
    if (count <= policy->share_capacity)
        return FERRY_OK;
    struct ferry_vm_share *shares = realloc(policy->shares, 2 * count * sizeof(*shares));
    if (!shares)
        return FERRY_ERROR_NO_HOST_MEMORY;
    policy->shares = shares;
    policy->share_capacity = 2 * count;
    return FERRY_OK;
}

void ferry_vm_process_join(struct ferry_vm_policy *policy, struct ferry_vm_process *process)
{
    ferry_vm_list_add(&policy->processes, &process->link);
    ferry_vm_budgets_divide(policy);
}

static void leave(struct ferry_vm_policy *policy, struct ferry_vm_process *process)
{
    ferry_vm_list_remove(&process->link);
    process->budget[FERRY_VM_LOCAL] = process->budget[FERRY_VM_NON_LOCAL] = 0;
    ferry_vm_budgets_divide(policy);
}

void ferry_vm_budgets_start(struct ferry_vm_policy *policy)
{
    ferry_vm_list_init(&policy->processes);
    ferry_vm_list_init(&policy->waiting);
    ferry_vm_list_init(&policy->nobody.link);
    policy->nobody.weight = 1;
}

void ferry_vm_budgets_stop(struct ferry_vm_policy *policy)
{
    while (!ferry_vm_list_empty(&policy->processes)) {
        struct ferry_vm_process *process = process_at(policy->processes.next);
        ferry_vm_list_remove(&process->link);
        ferry_vm_virtual_end(policy->memory, process);
        if (process != &policy->nobody)
            free(process);
    }
    ferry_vm_virtual_end(policy->memory, &policy->nobody);
    free(policy->shares);
}

int ferry_vm_process_new(struct ferry_vm_policy *policy, const struct ferry_vidmm_process_options *options,
                         D3DKMT_HANDLE *handle)
{
    if (options->reservation > ferry_vm_reservable(policy, NULL))
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    struct ferry_vm_process *process = calloc(1, sizeof(*process));
    int result = process ? reserve_share(policy) : FERRY_ERROR_NO_HOST_MEMORY;
    if (result == FERRY_OK) {
        process->handle = ferry_vm_handle_new(&policy->core->handles, FERRY_VM_PROCESS, process);
        result = process->handle ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
    }
    if (result != FERRY_OK) {
        free(process);
        return result;
    }
    process->program = options->program;
    process->weight = options->weight ? options->weight : 1;
    process->reservation = options->reservation;
    process->sort = ++policy->newest_sort;
    ferry_vm_list_init(&process->link);
    *handle = process->handle;
    return FERRY_OK;
}

void ferry_vm_process_free(struct ferry_vm_policy *policy, struct ferry_vm_process *process)
{
    leave(policy, process);
    ferry_vm_handle_free(&policy->core->handles, process->handle);
    free(process);
}

int ferry_vm_process_enter(struct ferry_vm_policy *policy, struct ferry_vm_device *device,
                           struct ferry_vm_process *process)
{
    device->process = process ? process : &policy->nobody;
    return process ? FERRY_OK : reserve_share(policy);
}

void ferry_vm_process_entered(struct ferry_vm_policy *policy, struct ferry_vm_device *device)
{
    // The devices of no program are one as long as there are any.
    if (device->process->devices++ == 0 && device->process == &policy->nobody)
        ferry_vm_process_join(policy, device->process);
}

void ferry_vm_process_exit(struct ferry_vm_policy *policy, struct ferry_vm_device *device)
{
    if (--device->process->devices == 0 && device->process == &policy->nobody) {
        leave(policy, device->process);
        ferry_vm_virtual_release_all(policy->memory, device->process);
    }
}

// ---- Weight, reservation ----

uint64_t ferry_vm_reservable(const struct ferry_vm_policy *policy, const struct ferry_vm_process *process)
{
    uint64_t all = ferry_vm_budget_reservable(ferry_vm_memory_limit(policy) / PAGE_SIZE) * PAGE_SIZE;
    for (struct ferry_vm_list *link = policy->processes.next; link != &policy->processes; link = link->next) {
        uint64_t other = process_at(link) != process ? process_at(link)->reservation : 0;
        all -= other < all ? other : all;
    }
    return all;
}

int ferry_vm_process_reserve(struct ferry_vm_policy *policy, struct ferry_vm_process *process, uint64_t bytes)
{
    if (bytes > process->reservation && bytes > ferry_vm_reservable(policy, process))
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    process->reservation = bytes;
    ferry_vm_budgets_divide(policy);
    return FERRY_OK;
}

void ferry_vm_process_info(const struct ferry_vm_policy *policy, const struct ferry_vm_process *process, unsigned group,
                           struct ferry_vidmm_memory_info *info)
{
    bool local = group == FERRY_VM_LOCAL;
    uint64_t budget = process->budget[group], usage = process->required[group];
    *info = (struct ferry_vidmm_memory_info){
        .budget = budget,
        .usage = usage,
        .in_place = process->in_place[group],
        .reservation = local ? process->reservation : 0,
        .available_for_reservation = local ? ferry_vm_reservable(policy, process) : 0,
        .to_trim = usage > budget ? usage - budget : 0,
    };
}
