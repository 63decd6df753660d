// SPDX-License-Identifier: Apache-2.0
// Residency lists (R213 to R225). A count above 0 means required: in place whenever a job of the device runs, and
// never a victim. What all lists together require must fit, so room can always be made by moving those nobody
// requires.
#include "vidmm/internal.h"

HRESULT ferry_vidmm_hresult(int result)
{
    switch (result) {
    case FERRY_OK: return S_OK;
    case FERRY_PENDING: return E_PENDING;
    case FERRY_ERROR_NO_VIDEO_MEMORY:
    case FERRY_ERROR_NO_HOST_MEMORY: return E_OUTOFMEMORY;
    case FERRY_ERROR_DEVICE_LOST:
    case FERRY_ERROR_CRITICAL:
    case FERRY_ERROR_TIMEOUT: return D3DDDIERR_DEVICEREMOVED;
    default: return E_INVALIDARG;
    }
}

static uint64_t memory_limit(const struct ferry_vidmm *manager)
{
    return manager->budget != 0 && manager->budget < manager->memory_bytes ? manager->budget : manager->memory_bytes;
}

static uint64_t *required(struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation)
{
    return allocation->wants_memory ? &manager->required_memory : &manager->required_aperture;
}

static void raise(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation)
{
    if (allocation->count++ == 0) {
        allocation->dirty_before = allocation->dirty;
        *required(manager, allocation) += ferry_vm_charge(allocation);
        ferry_vm_relist(manager, allocation);
    }
}

static void lower(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation)
{
    if (--allocation->count == 0) {
        *required(manager, allocation) -= ferry_vm_charge(allocation);
        ferry_vm_relist(manager, allocation);
    }
}

// All of the list, checked to be live allocations of this device.
static int collect(struct ferry_vidmm *manager, const struct ferry_vm_device *device, const D3DKMT_HANDLE *handles,
                   UINT count, struct ferry_vm_allocation ***list)
{
    *list = malloc((count ? count : 1) * sizeof(**list));
    if (!*list)
        return FERRY_ERROR_NO_HOST_MEMORY;
    for (UINT i = 0; i < count; i++) {
        int error;
        (*list)[i] = ferry_vm_allocation_find(manager, device, handles[i], &error);
        if (!(*list)[i]) {
            free(*list);
            return error;
        }
    }
    return FERRY_OK;
}

static uint64_t excess(const struct ferry_vidmm *manager)
{
    uint64_t limit = memory_limit(manager), over = 0;
    if (manager->required_memory > limit)
        over = manager->required_memory - limit;
    if (manager->required_aperture > manager->aperture_bytes)
        over += manager->required_aperture - manager->aperture_bytes;
    return over;
}

static int place_all(struct ferry_vidmm *manager, struct ferry_vm_allocation **list, UINT count, uint64_t *to_trim)
{
    for (UINT i = 0; i < count; i++) {
        if (list[i]->lost)
            return FERRY_ERROR_DEVICE_LOST;
        // The CPU has its content: it can neither be in place at once nor come before the caller unlocks it (R216).
        if (list[i]->locked && !list[i]->block && !ferry_vm_permanent(list[i]))
            return FERRY_ERROR_LOCKED;
        int result = ferry_vm_place(manager, list[i]);
        if (result == FERRY_ERROR_NO_VIDEO_MEMORY)
            *to_trim = ferry_vm_bytes(list[i]);
        if (result != FERRY_OK)
            return result;
    }
    // Making room for a later one can have moved an earlier one out.
    for (UINT i = 0; i < count; i++) {
        int result = ferry_vm_place(manager, list[i]);
        if (result != FERRY_OK)
            return result;
    }
    return ferry_vm_flush(manager);
}

static int make_resident(struct ferry_vidmm *manager, struct ferry_vm_queue *queue, D3DDDI_MAKERESIDENT *arguments)
{
    struct ferry_vm_device *device = queue->device;
    struct ferry_vm_allocation **list;
    UINT count = arguments->NumAllocations;
    if (device->state != D3DKMT_DEVICEEXECUTION_ACTIVE)
        return FERRY_ERROR_DEVICE_LOST;
    int result = collect(manager, device, arguments->AllocationList, count, &list);
    if (result != FERRY_OK)
        return result;
    for (UINT i = 0; i < count; i++)
        raise(manager, list[i]);
    uint64_t to_trim = excess(manager);
    result = to_trim ? FERRY_ERROR_NO_VIDEO_MEMORY : place_all(manager, list, count, &to_trim);

    uint64_t fence = 0;
    for (UINT i = 0; i < count && result == FERRY_OK; i++)
        if (list[i]->last_fence[manager->paging_node] > fence)
            fence = list[i]->last_fence[manager->paging_node];
    bool pending = fence > manager->nodes[manager->paging_node].completed;
    if (result == FERRY_OK && pending)
        result = ferry_vm_queue_value(manager, queue, fence, &arguments->PagingFenceValue);
    if (result != FERRY_OK) {
        // All or nothing: what was brought in stays as a candidate, its count is as before.
        for (UINT i = 0; i < count; i++)
            lower(manager, list[i]);
        arguments->NumBytesToTrim = to_trim;
        if (result == FERRY_ERROR_NO_VIDEO_MEMORY && arguments->Flags.MustSucceed)
            device->state = D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY;
    }
    free(list);
    if (result != FERRY_OK || !pending)
        return result;
    ferry_vm_emit(manager, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_FENCE_WAIT,
                                                      .queue = queue->handle,
                                                      .value = arguments->PagingFenceValue});
    return FERRY_PENDING;
}

int ferry_vidmm_make_resident(struct ferry_vidmm *manager, D3DDDI_MAKERESIDENT *arguments)
{
    if (!manager || !arguments || (arguments->NumAllocations && !arguments->AllocationList) ||
        arguments->NumAllocations > D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS || arguments->Flags.Reserved ||
        (arguments->Flags.MustSucceed && !arguments->Flags.CantTrimFurther))
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_queue *queue =
            ferry_vm_handle_find(&manager->handles, FERRY_VM_PAGING_QUEUE, arguments->hPagingQueue);
        result = queue ? make_resident(manager, queue, arguments) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

static int trim_to_budget(struct ferry_vidmm *manager)
{
    for (unsigned i = 0; i < manager->segment_count; i++) {
        struct ferry_vm_segment *segment = &manager->segments[i];
        while (!segment->aperture && manager->budget != 0 && manager->statistics.resident_bytes > manager->budget) {
            int result = ferry_vm_evict_one(
                manager, segment, (manager->statistics.resident_bytes - manager->budget + PAGE_SIZE - 1) / PAGE_SIZE);
            if (result == FERRY_ERROR_NO_VIDEO_MEMORY)
                break;
            if (result != FERRY_OK)
                return result;
        }
    }
    return FERRY_OK;
}

static int evict(struct ferry_vidmm *manager, const struct ferry_vm_device *device, D3DDDICB_EVICT *arguments)
{
    struct ferry_vm_allocation **list;
    UINT count = arguments->NumAllocations;
    int result = collect(manager, device, arguments->AllocationList, count, &list);
    if (result != FERRY_OK)
        return result;
    // One allocation may stand in the list several times, so the counts themselves are the check.
    UINT done = 0;
    while (done < count && list[done]->count > 0)
        list[done++]->count--;
    for (UINT i = 0; i < done; i++)
        list[i]->count++;
    if (done < count) {
        free(list);
        return FERRY_ERROR_NOT_RESIDENT;
    }
    for (UINT i = 0; i < count; i++) {
        // The caller's word that the GPU wrote nothing since the matching MakeResident, whatever its jobs announced.
        // What an earlier residency wrote is none of its business.
        if (arguments->Flags.NotWrittenTo && ferry_vm_permanent(list[i]))
            list[i]->dirty = list[i]->dirty_before;
        lower(manager, list[i]);
    }
    free(list);
    arguments->NumBytesToTrim = excess(manager);
    return trim_to_budget(manager);
}

int ferry_vidmm_evict(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle, D3DDDICB_EVICT *arguments)
{
    if (!manager || !arguments || (arguments->NumAllocations && !arguments->AllocationList) ||
        arguments->Flags.Reserved)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_device *device = ferry_vm_handle_find(&manager->handles, FERRY_VM_DEVICE, device_handle);
        result = device ? evict(manager, device, arguments) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}
