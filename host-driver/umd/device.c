// SPDX-License-Identifier: Apache-2.0
// Devices: one program's allocations, residency list and queues.
#include "umd/device.h"

#include <stdlib.h>

#include "umd/allocation.h"
#include "umd/call.h"
#include "umd/queue.h"

static int create(struct umd_adapter *adapter, struct umd_process *process, struct ferry_device **handle)
{
    struct umd_device *device = calloc(1, sizeof *device);
    if (!device)
        return FERRY_ERROR_NO_HOST_MEMORY;
    device->adapter = adapter;
    device->process = process;
    int error = process ? ferry_vidmm_create_device_of(adapter->vidmm, process->vidmm, &device->vidmm)
                        : ferry_vidmm_create_device(adapter->vidmm, &device->vidmm);
    if (error == FERRY_OK) {
        error = ferry_vidmm_create_paging_queue(adapter->vidmm, device->vidmm, 0, &device->paging_queue);
        device->handle = error == FERRY_OK ? umd_handle_make(UMD_DEVICE, device, adapter) : NULL;
        if (error == FERRY_OK && !device->handle)
            error = FERRY_ERROR_NO_HOST_MEMORY;
        if (error != FERRY_OK)
            ferry_vidmm_destroy_device(adapter->vidmm, device->vidmm);
    }
    if (error != FERRY_OK) {
        free(device);
        return error;
    }
    device->next = adapter->devices;
    if (device->next)
        device->next->previous = device;
    adapter->devices = device;
    *handle = device->handle;
    return FERRY_OK;
}

int ferry_device_create(struct ferry_adapter *adapter_handle, struct ferry_device **handle)
{
    struct umd_call call;

    if (!handle)
        return FERRY_ERROR_ARGUMENT;
    *handle = NULL;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, adapter_handle, "create device");
    if (!adapter)
        return umd_not_entered();
    return umd_leave(&call, create(adapter, NULL, handle));
}

int ferry_process_create_device(struct ferry_process *process_handle, struct ferry_device **handle)
{
    struct umd_call call;

    if (!handle)
        return FERRY_ERROR_ARGUMENT;
    *handle = NULL;
    struct umd_process *process = umd_enter(&call, UMD_PROCESS, process_handle, "create device");
    if (!process)
        return umd_not_entered();
    return umd_leave(&call, process->ending ? FERRY_ERROR_HANDLE : create(call.adapter, process, handle));
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
    free(device->named.allocations);
    free(device->named.handles);
    free(device);
}

int umd_device_destroy(struct umd_call *call, struct umd_device *device)
{
    const void *handle = device->handle;
    D3DKMT_HANDLE vidmm = device->vidmm;

    device->ending = true;
    umd_park(call);
    int error = ferry_vidmm_destroy_device(call->adapter->vidmm, vidmm);
    umd_return(call);
    device = umd_object(call->adapter, UMD_DEVICE, handle);
    if (device)
        device->ending = false;
    if (umd_is_gone(error) && device)
        umd_device_end(device);
    pthread_cond_broadcast(&call->adapter->device_ended);
    return error;
}

int ferry_device_destroy(struct ferry_device *handle)
{
    struct umd_call call;
    struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "destroy device");

    if (!device)
        return umd_not_entered();
    return umd_leave(&call, device->ending ? FERRY_ERROR_HANDLE : umd_device_destroy(&call, device));
}

int ferry_device_wait_paging(struct ferry_device *handle, uint64_t value)
{
    struct umd_call call;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "wait for paging");

    if (!device)
        return umd_not_entered();
    D3DKMT_HANDLE paging_queue = device->paging_queue;
    umd_park(&call);
    int error = ferry_vidmm_wait_paging(call.adapter->vidmm, paging_queue, value);
    umd_return(&call);
    return umd_leave(&call, error);
}

int ferry_device_paging_reached(struct ferry_device *handle, uint64_t *value)
{
    struct umd_call call;

    if (!value)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, NULL);
    if (!device)
        return umd_not_entered();
    return umd_leave(&call, ferry_vidmm_paging_fence(call.adapter->vidmm, device->paging_queue, value));
}
