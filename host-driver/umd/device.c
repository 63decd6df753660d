// SPDX-License-Identifier: Apache-2.0
// Devices: one program's allocations, residency list and queues.
#include <stdlib.h>

#include "umd/internal.h"

int ferry_device_create(struct ferry_adapter *adapter_handle, struct ferry_device **handle)
{
    struct umd_adapter *adapter = umd_object(UMD_ADAPTER, adapter_handle);
    uint64_t id;

    if (!handle)
        return FERRY_ERROR_ARGUMENT;
    *handle = NULL;
    if (!adapter)
        return FERRY_ERROR_HANDLE;
    struct umd_device *device = calloc(1, sizeof *device);
    if (!device)
        return FERRY_ERROR_NO_HOST_MEMORY;
    umd_enter(adapter, "create device", &id);
    device->adapter = adapter;
    int error = ferry_vidmm_create_device(adapter->vidmm, &device->vidmm);
    if (error == FERRY_OK) {
        error = ferry_vidmm_create_paging_queue(adapter->vidmm, device->vidmm, 0, &device->paging_queue);
        device->handle = error == FERRY_OK ? umd_handle_make(UMD_DEVICE, device) : NULL;
        if (error == FERRY_OK && !device->handle)
            error = FERRY_ERROR_NO_HOST_MEMORY;
        if (error != FERRY_OK)
            ferry_vidmm_destroy_device(adapter->vidmm, device->vidmm);
    }
    if (error != FERRY_OK) {
        free(device);
        return umd_leave(adapter, "create device", id, error);
    }
    device->next = adapter->devices;
    if (device->next)
        device->next->previous = device;
    adapter->devices = device;
    *handle = device->handle;
    return umd_leave(adapter, "create device", id, FERRY_OK);
}

void umd_device_end(struct umd_device *device)
{
    while (device->queues)
        umd_queue_end(device->queues);
    while (device->allocations)
        umd_allocation_end(device->allocations);
    if (device->next)
        device->next->previous = device->previous;
    if (device->previous)
        device->previous->next = device->next;
    else
        device->adapter->devices = device->next;
    umd_handle_end(device->handle);
    free(device);
}

int ferry_device_destroy(struct ferry_device *handle)
{
    struct umd_device *device = umd_object(UMD_DEVICE, handle);
    uint64_t id;

    if (!device)
        return FERRY_ERROR_HANDLE;
    struct umd_adapter *adapter = device->adapter;
    umd_enter(adapter, "destroy device", &id);
    int error = ferry_vidmm_destroy_device(adapter->vidmm, device->vidmm);
    if (error == FERRY_OK)
        umd_device_end(device);
    return umd_leave(adapter, "destroy device", id, error);
}

int ferry_device_wait_paging(struct ferry_device *handle, uint64_t value)
{
    struct umd_device *device = umd_object(UMD_DEVICE, handle);
    uint64_t id;

    if (!device)
        return FERRY_ERROR_HANDLE;
    umd_enter(device->adapter, "wait for paging", &id);
    return umd_leave(device->adapter, "wait for paging", id,
                     ferry_vidmm_wait_paging(device->adapter->vidmm, device->paging_queue, value));
}
