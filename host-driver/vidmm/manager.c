// SPDX-License-Identifier: Apache-2.0
// The manager as a whole: start, stop, the lock, the critical stop, statistics.
#include "vidmm/internal.h"

int ferry_vm_enter(struct ferry_vidmm *manager)
{
    pthread_mutex_lock(&manager->lock);
    return manager->critical.code != FERRY_CRITICAL_NONE ? FERRY_ERROR_CRITICAL : FERRY_OK;
}

int ferry_vm_leave(struct ferry_vidmm *manager, int result)
{
    pthread_mutex_unlock(&manager->lock);
    return result;
}

int ferry_vm_stop_critical(struct ferry_vidmm *manager, struct ferry_vidmm_critical record)
{
    if (manager->critical.code == FERRY_CRITICAL_NONE)
        manager->critical = record;
    return FERRY_ERROR_CRITICAL;
}

int ferry_vm_error_of_status(NTSTATUS status)
{
    switch (status) {
    case STATUS_SUCCESS: return FERRY_OK;
    case STATUS_NO_MEMORY:
    case STATUS_INSUFFICIENT_RESOURCES: return FERRY_ERROR_NO_HOST_MEMORY;
    case STATUS_INVALID_PARAMETER:
    case STATUS_BUFFER_TOO_SMALL: return FERRY_ERROR_ARGUMENT;
    case STATUS_INVALID_HANDLE: return FERRY_ERROR_HANDLE;
    case STATUS_REVISION_MISMATCH: return FERRY_ERROR_CONTRACT;
    case STATUS_DEVICE_NOT_READY:
    case STATUS_IO_DEVICE_ERROR: return FERRY_ERROR_FIRMWARE;
    case STATUS_TIMEOUT:
    case STATUS_IO_TIMEOUT: return FERRY_ERROR_TIMEOUT;
    case STATUS_DEVICE_REMOVED: return FERRY_ERROR_DEVICE_LOST;
    default: return FERRY_ERROR_UNSUPPORTED;
    }
}

static int read_caps(struct ferry_vidmm *manager)
{
    DXGKARG_QUERYADAPTERINFO argument = {
        .Type = DXGKQAITYPE_DRIVERCAPS, .pOutputData = &manager->caps, .OutputDataSize = sizeof(manager->caps)};
    NTSTATUS status = manager->miniport->DxgkDdiQueryAdapterInfo(manager->adapter, &argument);
    if (!NT_SUCCESS(status))
        return ferry_vm_error_of_status(status);
    manager->node_count = manager->caps.NbAsymetricProcessingNodes;
    manager->paging_node = manager->caps.MemoryManagementCaps.PagingNode;
    // One node for paging and at least one for jobs; GPU virtual addresses are not this manager's business yet.
    if (manager->node_count < 2 || manager->node_count > FERRY_VM_MAX_NODES ||
        manager->paging_node >= manager->node_count || manager->caps.MemoryManagementCaps.VirtualAddressingSupported)
        return FERRY_ERROR_UNSUPPORTED;
    return FERRY_OK;
}

static int make_system_context(struct ferry_vidmm *manager)
{
    DXGKARG_CREATEDEVICE device = {.Flags.SystemDevice = 1};
    NTSTATUS status = manager->miniport->DxgkDdiCreateDevice(manager->adapter, &device);
    if (!NT_SUCCESS(status))
        return ferry_vm_error_of_status(status);
    manager->system_device = device.hDevice;
    DXGKARG_CREATECONTEXT context = {
        .NodeOrdinal = manager->paging_node, .EngineAffinity = 1, .Flags.SystemContext = 1};
    status = manager->miniport->DxgkDdiCreateContext(manager->system_device, &context);
    if (NT_SUCCESS(status))
        manager->system_context = context.hContext;
    return ferry_vm_error_of_status(status);
}

static bool usable(const struct ferry_vidmm_options *options)
{
    const DRIVER_INITIALIZATION_DATA *m = options->miniport;
    const struct ferry_page_source *pages = options->platform.pages;
    if (!m || !pages || !pages->allocate || !pages->wrap || !pages->free || !options->platform.wait_for_progress)
        return false;
    if (options->memory_limit_bytes % PAGE_SIZE || options->aperture_limit_bytes % PAGE_SIZE ||
        options->sub_transfer_bytes % PAGE_SIZE)
        return false;
    return m->DxgkDdiStartDevice && m->DxgkDdiStopDevice && m->DxgkDdiDpcRoutine && m->DxgkDdiQueryAdapterInfo &&
           m->DxgkDdiCreateDevice && m->DxgkDdiDestroyDevice && m->DxgkDdiCreateContext && m->DxgkDdiDestroyContext &&
           m->DxgkDdiCreateAllocation && m->DxgkDdiDestroyAllocation && m->DxgkDdiBuildPagingBuffer &&
           m->DxgkDdiPatch && m->DxgkDdiSubmitCommand && m->DxgkDdiQueryCurrentFence && m->DxgkDdiResetEngine;
}

static void tear_down(struct ferry_vidmm *manager, bool started)
{
    if (manager->system_context)
        manager->miniport->DxgkDdiDestroyContext(manager->system_context);
    if (manager->system_device)
        manager->miniport->DxgkDdiDestroyDevice(manager->system_device);
    if (started)
        manager->miniport->DxgkDdiStopDevice(manager->adapter);
    ferry_vm_paging_stop(manager);
    ferry_vm_aperture_stop(manager);
    ferry_vm_segments_destroy(manager);
    for (unsigned i = 0; i < FERRY_VM_MAX_NODES; i++)
        free(manager->nodes[i].faults);
    ferry_vm_handles_destroy(&manager->handles);
    pthread_mutex_destroy(&manager->lock);
    free(manager);
}

int ferry_vidmm_start(const struct ferry_vidmm_options *options, struct ferry_vidmm **out)
{
    if (!options || options->size != sizeof(*options) || !out || !usable(options))
        return FERRY_ERROR_ARGUMENT;
    struct ferry_vidmm *manager = calloc(1, sizeof(*manager));
    if (!manager)
        return FERRY_ERROR_NO_HOST_MEMORY;
    manager->miniport = options->miniport;
    manager->adapter = options->miniport_device_context;
    manager->platform = options->platform;
    manager->observer = options->observer;
    manager->observer_context = options->observer_context;
    manager->lru = options->lru_victims;
    ferry_vm_list_init(&manager->devices);
    ferry_vm_list_init(&manager->waiting_queues);
    pthread_mutex_init(&manager->lock, NULL);
    pthread_mutex_lock(&manager->lock);
    ferry_vm_interface(manager);
    NTSTATUS status = manager->miniport->DxgkDdiStartDevice(manager->adapter, &manager->interface);
    bool started = NT_SUCCESS(status);
    int result = started ? read_caps(manager) : ferry_vm_error_of_status(status);
    if (result == FERRY_OK)
        result = ferry_vm_segments_read(manager, options);
    if (result == FERRY_OK)
        result = make_system_context(manager);
    if (result == FERRY_OK)
        result = ferry_vm_aperture_start(manager);
    pthread_mutex_unlock(&manager->lock);
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
        if (ferry_vm_device_free(manager, device) != FERRY_OK)
            ferry_vm_stop_critical(
                manager, (struct ferry_vidmm_critical){.code = FERRY_CRITICAL_NOT_IDLE, .status = STATUS_IO_TIMEOUT});
    }
    if (ferry_vm_flush(manager) == FERRY_OK)
        ferry_vm_wait(manager, manager->paging_node, manager->nodes[manager->paging_node].submitted);
    ferry_vm_leave(manager, FERRY_OK);
    tear_down(manager, true);
}

int ferry_vidmm_observe(struct ferry_vidmm *manager, ferry_vidmm_observer *observer, void *context)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    ferry_vm_enter(manager);
    manager->observer = observer;
    manager->observer_context = context;
    return ferry_vm_leave(manager, FERRY_OK);
}

int ferry_vidmm_poll(struct ferry_vidmm *manager, bool run)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK && run)
        result = ferry_vm_run(manager);
    else if (result == FERRY_OK)
        ferry_vm_drain(manager);
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_segment(struct ferry_vidmm *manager, unsigned index, struct ferry_vidmm_segment_info *info)
{
    if (!manager || !info)
        return FERRY_ERROR_ARGUMENT;
    if (index >= manager->segment_count)
        return FERRY_ERROR_RANGE;
    const struct ferry_vm_segment *segment = &manager->segments[index];
    *info = (struct ferry_vidmm_segment_info){
        .id = segment->id, .flags = segment->flags, .base = segment->base, .bytes = segment->pages * PAGE_SIZE};
    return FERRY_OK;
}

bool ferry_vidmm_critical(struct ferry_vidmm *manager, struct ferry_vidmm_critical *record)
{
    ferry_vm_enter(manager);
    *record = manager->critical;
    ferry_vm_leave(manager, FERRY_OK);
    return record->code != FERRY_CRITICAL_NONE;
}

int ferry_vidmm_statistics(struct ferry_vidmm *manager, struct ferry_vidmm_statistics *statistics)
{
    if (!manager || !statistics)
        return FERRY_ERROR_ARGUMENT;
    ferry_vm_enter(manager);
    ferry_vm_dummy_inspect(manager);
    *statistics = manager->statistics;
    statistics->required_bytes = manager->required_memory;
    statistics->budget_bytes =
        manager->budget && manager->budget < manager->memory_bytes ? manager->budget : manager->memory_bytes;
    return ferry_vm_leave(manager, FERRY_OK);
}

int ferry_vidmm_set_budget(struct ferry_vidmm *manager, uint64_t bytes)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK)
        manager->budget = bytes;
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_reset_engine(struct ferry_vidmm *manager)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    for (unsigned i = 0; i < manager->node_count && result == FERRY_OK; i++)
        if (manager->nodes[i].completed < manager->nodes[i].submitted)
            result = ferry_vm_reset_node(manager, i);
    return ferry_vm_leave(manager, result);
}
