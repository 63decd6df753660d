// SPDX-License-Identifier: Apache-2.0
// The manager as a whole: start, stop, the critical stop, statistics.
#include <stdlib.h>

#include "vidmm/api/call.h"
#include "vidmm/api/devices.h"
#include "vidmm/memory/addresses.h"

#define MOST_TABLE_BYTES (UINT64_C(1) << 40)

static bool usable(const struct ferry_vidmm_options *options)
{
    const DRIVER_INITIALIZATION_DATA *m = options->miniport;
    const struct ferry_page_source *pages = options->platform.pages;
    if (!m || !pages || !pages->allocate || !pages->wrap || !pages->free || !options->platform.wait_for_progress ||
        !options->platform.gpu_time)
        return false;
    if (options->memory_limit_bytes % PAGE_SIZE || options->aperture_limit_bytes % PAGE_SIZE ||
        options->sub_transfer_bytes % PAGE_SIZE || options->table_bytes % PAGE_SIZE ||
        options->table_bytes > MOST_TABLE_BYTES)
        return false;
    return m->DxgkDdiStartDevice && m->DxgkDdiStopDevice && m->DxgkDdiDpcRoutine && m->DxgkDdiQueryAdapterInfo &&
           m->DxgkDdiCreateDevice && m->DxgkDdiDestroyDevice && m->DxgkDdiCreateContext && m->DxgkDdiDestroyContext &&
           m->DxgkDdiCreateAllocation && m->DxgkDdiDestroyAllocation && m->DxgkDdiBuildPagingBuffer &&
           m->DxgkDdiPatch && m->DxgkDdiSubmitCommand && m->DxgkDdiQueryCurrentFence && m->DxgkDdiResetEngine;
}

static void tear_down(struct ferry_vidmm *manager, bool started)
{
    if (manager->sched.system_context)
        manager->core.miniport->DxgkDdiDestroyContext(manager->sched.system_context);
    if (manager->sched.system_device)
        manager->core.miniport->DxgkDdiDestroyDevice(manager->sched.system_device);
    // Nothing is called behind StopDevice, behind which pages go.
    ferry_vm_budgets_stop(&manager->policy);
    ferry_vm_window_end(&manager->memory);
    if (started)
        manager->core.miniport->DxgkDdiStopDevice(manager->core.adapter);
    ferry_vm_line_free(&manager->sched);
    ferry_vm_buffers_free(&manager->sched);
    ferry_vm_aperture_stop(&manager->memory);
    ferry_vm_room_stop(&manager->policy);
    ferry_vm_segments_destroy(&manager->memory);
    ferry_vm_handles_destroy(&manager->core.handles);
    pthread_cond_destroy(&manager->next);
    pthread_mutex_destroy(&manager->mutex);
    free(manager);
}

int ferry_vidmm_start(const struct ferry_vidmm_options *options, struct ferry_vidmm **out)
{
    if (!options || options->size != sizeof(*options) || !out || !usable(options))
        return FERRY_ERROR_ARGUMENT;
    struct ferry_vidmm *manager = calloc(1, sizeof(*manager));
    if (!manager)
        return FERRY_ERROR_NO_HOST_MEMORY;
    manager->core.miniport = options->miniport;
    manager->core.adapter = options->miniport_device_context;
    manager->core.platform = options->platform;
    manager->core.observer = options->observer;
    manager->core.observer_context = options->observer_context;
    manager->memory.lru = options->lru_victims;
    manager->memory.sub_transfer_bytes = options->sub_transfer_bytes;
    manager->sched.core = &manager->core;
    manager->sched.content_lost = ferry_vm_content_lost;
    manager->sched.content_lost_context = &manager->memory;
    manager->sched.next_step = ferry_vm_window_step;
    manager->sched.next_step_context = &manager->memory;
    manager->memory.core = manager->policy.core = &manager->core;
    manager->memory.sched = manager->policy.sched = &manager->sched;
    manager->policy.memory = &manager->memory;
    manager->policy.devices = &manager->devices;
    manager->sched.waiting_for_turns = &manager->policy.waiting;
    manager->policy.turn_cycles = options->turn_cycles ? options->turn_cycles : 1000000;
    ferry_vm_list_init(&manager->devices);
    ferry_vm_budgets_start(&manager->policy);
    ferry_vm_list_init(&manager->sched.waiting_queues);
    pthread_mutex_init(&manager->mutex, NULL);
    pthread_cond_init(&manager->next, NULL);
    ferry_vm_take_lock(manager);
    ferry_vm_interface(&manager->sched);
    NTSTATUS status = manager->core.miniport->DxgkDdiStartDevice(manager->core.adapter, &manager->sched.interface);
    bool started = NT_SUCCESS(status);
    int result = started ? ferry_vm_read_caps(&manager->sched) : ferry_vm_error_of_status(status);
    if (result == FERRY_OK)
        result = ferry_vm_window_read(&manager->memory);
    if (result == FERRY_OK)
        result = ferry_vm_segments_read(&manager->memory, options);
    if (result == FERRY_OK)
        result = ferry_vm_iommu_read(&manager->memory);
    if (result == FERRY_OK)
        result = ferry_vm_swizzling_read(&manager->memory);
    if (result == FERRY_OK)
        result = ferry_vm_virtual_new(&manager->memory, &manager->policy.nobody);
    if (result == FERRY_OK)
        result = ferry_vm_make_system_context(&manager->sched);
    ferry_vm_room_start(&manager->policy);
    if (result == FERRY_OK)
        result = ferry_vm_aperture_start(&manager->memory);
    ferry_vm_give_lock(manager);
    if (result == FERRY_ERROR_CRITICAL && options->why)
        *options->why = manager->core.critical;
    if (result != FERRY_OK) {
        tear_down(manager, started);
        return result;
    }
    *out = manager;
    return FERRY_OK;
}

void ferry_vidmm_stop(struct ferry_vidmm *manager)
{
    if (!manager)
        return;
    ferry_vm_enter(manager);
    while (!ferry_vm_list_empty(&manager->devices)) {
        struct ferry_vm_device *device = FERRY_VM_CONTAINER(manager->devices.next, struct ferry_vm_device, link);
        // A device whose work never ends is given up by a critical stop, under which everything can be taken apart.
        ferry_vm_handle_hide(&manager->core.handles, device->handle, FERRY_VM_HIDDEN);
        if (ferry_vm_device_end(manager, device) != FERRY_OK)
            ferry_vm_stop_critical(&manager->core, (struct ferry_vidmm_critical){.code = FERRY_CRITICAL_NOT_IDLE,
                                                                                 .status = STATUS_IO_TIMEOUT});
    }
    while (manager->sched.done < manager->sched.queued &&
           ferry_vm_wait(&manager->sched, manager->sched.paging_node, manager->sched.done + 1) == FERRY_OK)
        ;
    ferry_vm_leave(manager, FERRY_OK);
    tear_down(manager, true);
}

int ferry_vidmm_observe(struct ferry_vidmm *manager, ferry_vidmm_observer *observer, void *context)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    ferry_vm_enter(manager);
    manager->core.observer = observer;
    manager->core.observer_context = context;
    return ferry_vm_leave(manager, FERRY_OK);
}

int ferry_vidmm_poll(struct ferry_vidmm *manager, bool run)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK && run)
        result = ferry_vm_run(&manager->sched);
    else if (result == FERRY_OK)
        ferry_vm_drain(&manager->sched);
    return ferry_vm_leave(manager, result);
}

// The oldest of what is queued somewhere: paging before jobs, since what is collected of it goes out only when somebody
// waits for it. Operations may be over before older ones are.
static bool queued(const struct ferry_vm_sched *sched, unsigned *node, uint64_t *number)
{
    *node = sched->paging_node;
    *number = sched->done + 1;
    for (unsigned i = 0; i<sched->node_count && * number> sched->queued; i++) {
        if (i == sched->paging_node || sched->nodes[i].completed == sched->nodes[i].queued)
            continue;
        *node = i;
        *number = sched->nodes[i].completed + 1;
        return true;
    }
    return *number <= sched->queued;
}

int ferry_vidmm_work(struct ferry_vidmm *manager, bool *left)
{
    if (!manager || !left)
        return FERRY_ERROR_ARGUMENT;
    unsigned node;
    uint64_t number;
    *left = false;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK && queued(&manager->sched, &node, &number)) {
        result = ferry_vm_turn(&manager->sched, node, number, &manager->working);
        *left = result >= 0 && queued(&manager->sched, &node, &number);
        // A later hang is another one.
        if (!*left)
            manager->working = (struct ferry_vm_patience){0};
    }
    return ferry_vm_leave(manager, result < 0 ? result : FERRY_OK);
}

int ferry_vidmm_segment(struct ferry_vidmm *manager, unsigned index, struct ferry_vidmm_segment_info *info)
{
    if (!manager || !info)
        return FERRY_ERROR_ARGUMENT;
    if (index >= manager->memory.segment_count)
        return FERRY_ERROR_RANGE;
    const struct ferry_vm_segment *segment = &manager->memory.segments[index];
    *info = (struct ferry_vidmm_segment_info){
        .id = segment->id, .flags = segment->flags, .base = segment->base, .bytes = segment->pages * PAGE_SIZE};
    return FERRY_OK;
}

bool ferry_vidmm_critical(struct ferry_vidmm *manager, struct ferry_vidmm_critical *record)
{
    if (!record)
        return false;
    *record = (struct ferry_vidmm_critical){.code = FERRY_CRITICAL_NONE};
    // As whoever's start has failed may ask.
    if (!manager)
        return false;
    ferry_vm_enter(manager);
    *record = manager->core.critical;
    ferry_vm_leave(manager, FERRY_OK);
    return record->code != FERRY_CRITICAL_NONE;
}

int ferry_vidmm_statistics(struct ferry_vidmm *manager, struct ferry_vidmm_statistics *statistics)
{
    if (!manager || !statistics)
        return FERRY_ERROR_ARGUMENT;
    ferry_vm_enter(manager);
    ferry_vm_dummy_inspect(&manager->memory);
    *statistics = manager->core.statistics;
    statistics->required_bytes = ferry_vm_required(&manager->policy, FERRY_VM_LOCAL);
    statistics->budget_bytes = ferry_vm_memory_limit(&manager->policy);
    return ferry_vm_leave(manager, FERRY_OK);
}

int ferry_vidmm_set_budget(struct ferry_vidmm *manager, uint64_t bytes)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        manager->policy.budget = bytes;
        ferry_vm_budgets_divide(&manager->policy);
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_reset_engine(struct ferry_vidmm *manager)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    enum ferry_vm_blame whom = FERRY_VM_ALL;
    int result = ferry_vm_enter(manager);
    for (unsigned i = 0; i < manager->sched.node_count && result == FERRY_OK; i++)
        if (manager->sched.nodes[i].in_flight > 0)
            result = ferry_vm_reset_node(&manager->sched, i, &whom);
    return ferry_vm_leave(manager, result);
}
