// SPDX-License-Identifier: Apache-2.0
// The double's programs: weights, reservations, budgets, one device each.
#include "fake_ferry.h"

#include <stdlib.h>

// Rounded down to pages; a reservation is a floor that nobody pays for.
static uint64_t budget_of(const struct ferry_process *process)
{
    const struct ferry_adapter *adapter = process->device.adapter;
    uint64_t weights = 0;
    for (const struct ferry_process *at = adapter->processes; at; at = at->next)
        weights += at->weight;
    uint64_t budget = adapter->video_bytes / 4096 * process->weight / weights * 4096;
    return budget > process->reservation ? budget : process->reservation;
}

static void tell_budgets(struct ferry_adapter *adapter)
{
    for (struct ferry_process *at = adapter->processes; at; at = at->next)
        fake_emit(adapter, (struct ferry_event){
                               .kind = FERRY_EVENT_BUDGET, .process = at->id, .segment = 1, .value = budget_of(at)});
}

int ferry_process_create(struct ferry_adapter *adapter, const struct ferry_process_options *options,
                         struct ferry_process **process)
{
    uint64_t reserved = options->reservation_bytes;
    for (const struct ferry_process *at = adapter->processes; at; at = at->next)
        reserved += at->reservation;
    if (fake_goes_wrong(adapter, "process"))
        return FERRY_ERROR_NO_HOST_MEMORY;
    if (reserved > adapter->video_bytes / 2)
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    struct ferry_process *made = calloc(1, sizeof *made);
    made->id = 500 + ++adapter->call;
    made->weight = options->weight;
    made->reservation = options->reservation_bytes;
    made->device.adapter = adapter;
    made->device.process = made;
    made->device.queue.device = &made->device;
    made->next = adapter->processes;
    adapter->processes = made;
    tell_budgets(adapter);
    *process = made;
    return FERRY_OK;
}

int ferry_process_create_device(struct ferry_process *process, struct ferry_device **device)
{
    *device = &process->device;
    return FERRY_OK;
}

uint64_t ferry_process_id(const struct ferry_process *process)
{
    return process ? process->id : 0;
}

int ferry_process_memory(struct ferry_process *process, enum ferry_memory_group group, struct ferry_memory_info *info)
{
    (void)group;
    info->budget = budget_of(process);
    info->in_place = process->in_place;
    info->usage = process->usage;
    return FERRY_OK;
}

int ferry_process_statistics(struct ferry_process *process, struct ferry_process_usage *statistics)
{
    *statistics = process->statistics;
    statistics->size = sizeof *statistics;
    return FERRY_OK;
}

int ferry_process_destroy(struct ferry_process *process)
{
    struct ferry_adapter *adapter = process->device.adapter;
    if (fake_goes_wrong(adapter, "kill"))
        return FERRY_ERROR_TIMEOUT;
    struct ferry_allocation *next;
    for (struct ferry_allocation *at = adapter->all; at; at = next) {
        next = at->all_next;
        at->locked = false;
        if (at->device == &process->device)
            ferry_allocation_destroy(at);
    }
    struct ferry_process **link = &adapter->processes;
    while (*link != process)
        link = &(*link)->next;
    *link = process->next;
    free(process->device.queue.records);
    free(process);
    tell_budgets(adapter);
    return FERRY_OK;
}
