// SPDX-License-Identifier: Apache-2.0
#include "vidmm/api/devices.h"

#include <stdlib.h>

#include "vidmm/api/allocations.h"
#include "vidmm/api/call.h"
#include "vidmm/api/contexts.h"

static int create(struct ferry_vidmm *manager, struct ferry_vm_process *process, D3DKMT_HANDLE *handle)
{
    struct ferry_vm_device *device = calloc(1, sizeof(*device));
    if (!device)
        return FERRY_ERROR_NO_HOST_MEMORY;
    device->handle = ferry_vm_handle_new(&manager->core.handles, FERRY_VM_DEVICE, device);
    if (device->handle == 0) {
        free(device);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    int result = ferry_vm_process_enter(&manager->policy, device, process);
    DXGKARG_CREATEDEVICE argument = {.hDevice = (HANDLE)(uintptr_t)device->handle};
    if (result == FERRY_OK)
        argument.hKmdProcess = ferry_vm_virtual_handle(device->process);
    if (result == FERRY_OK) {
        NTSTATUS status = manager->core.miniport->DxgkDdiCreateDevice(manager->core.adapter, &argument);
        result = NT_SUCCESS(status) ? FERRY_OK : ferry_vm_error_of_status(status);
    }
    if (result != FERRY_OK) {
        ferry_vm_handle_free(&manager->core.handles, device->handle);
        free(device);
        return result;
    }
    ferry_vm_process_entered(&manager->policy, device);
    device->miniport = argument.hDevice;
    device->state = D3DKMT_DEVICEEXECUTION_ACTIVE;
    ferry_vm_list_init(&device->allocations);
    ferry_vm_list_init(&device->missing);
    ferry_vm_list_init(&device->waiting);
    ferry_vm_list_init(&device->contexts);
    ferry_vm_list_init(&device->queues);
    ferry_vm_list_add(&manager->devices, &device->link);
    *handle = device->handle;
    return FERRY_OK;
}

int ferry_vidmm_create_device(struct ferry_vidmm *manager, D3DKMT_HANDLE *device)
{
    if (!manager || !device)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    return ferry_vm_leave(manager, result == FERRY_OK ? create(manager, NULL, device) : result);
}

int ferry_vidmm_create_device_of(struct ferry_vidmm *manager, D3DKMT_HANDLE process_handle, D3DKMT_HANDLE *device)
{
    if (!manager || !device)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_process *process =
            ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PROCESS, process_handle);
        result = process ? create(manager, process, device) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

// The first of a list that no other call is destroying already; NULL when there is none.
static struct ferry_vm_context *next_context(struct ferry_vidmm *manager, struct ferry_vm_device *device)
{
    for (struct ferry_vm_list *link = device->contexts.next; link != &device->contexts; link = link->next) {
        struct ferry_vm_context *context = FERRY_VM_CONTAINER(link, struct ferry_vm_context, link);
        if (!ferry_vm_handle_hidden(&manager->core.handles, context->handle))
            return context;
    }
    return NULL;
}

static struct ferry_vm_allocation *next_allocation(struct ferry_vidmm *manager, struct ferry_vm_device *device)
{
    for (struct ferry_vm_list *link = device->allocations.next; link != &device->allocations; link = link->next) {
        struct ferry_vm_allocation *allocation = FERRY_VM_CONTAINER(link, struct ferry_vm_allocation, link);
        if (!ferry_vm_handle_hidden(&manager->core.handles, allocation->subject.handle))
            return allocation;
    }
    return NULL;
}

static int end_children(struct ferry_vidmm *manager, struct ferry_vm_device *device)
{
    struct ferry_vm_handles *handles = &manager->core.handles;
    // Contexts first: after them nothing names the allocations any more.
    for (struct ferry_vm_context *context; (context = next_context(manager, device));) {
        ferry_vm_handle_hide(handles, context->handle, true);
        int result = ferry_vm_context_end(manager, context);
        if (result != FERRY_OK)
            return result;
    }
    for (struct ferry_vm_allocation *allocation; (allocation = next_allocation(manager, device));) {
        ferry_vm_handle_hide(handles, allocation->subject.handle, true);
        int result = ferry_vm_allocation_end(manager, allocation);
        if (result != FERRY_OK)
            return result;
    }
    return FERRY_OK;
}

int ferry_vm_device_end(struct ferry_vidmm *manager, struct ferry_vm_device *device)
{
    // What another call is destroying just now is waited for by letting that call go on.
    while (!ferry_vm_list_empty(&device->contexts) || !ferry_vm_list_empty(&device->allocations)) {
        int result = end_children(manager, device);
        if (result != FERRY_OK) {
            ferry_vm_handle_hide(&manager->core.handles, device->handle, false);
            return result;
        }
        ferry_vm_yield(manager);
    }
    // What takes addresses away, page tables with them, may be on its way.
    struct ferry_vm_patience patience = {0};
    for (uint64_t number; (number = ferry_vm_device_pending(device, manager->sched.queued)) != 0;) {
        int result = ferry_vm_block(manager, manager->sched.paging_node, number, &patience);
        if (result == FERRY_ERROR_CRITICAL)
            break;
        if (result < 0) {
            ferry_vm_handle_hide(&manager->core.handles, device->handle, false);
            return result;
        }
    }
    while (!ferry_vm_list_empty(&device->queues))
        ferry_vm_queue_free(&manager->sched, FERRY_VM_CONTAINER(device->queues.next, struct ferry_vm_queue, link));
    ferry_vm_device_gone(&manager->sched, device);
    manager->core.miniport->DxgkDdiDestroyDevice(device->miniport);
    ferry_vm_list_remove(&device->waiting);
    ferry_vm_process_exit(&manager->policy, device);
    ferry_vm_handle_free(&manager->core.handles, device->handle);
    ferry_vm_list_remove(&device->link);
    free(device);
    return FERRY_OK;
}

int ferry_vidmm_destroy_device(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter_to_end(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_device *device = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_DEVICE, handle);
        if (device)
            ferry_vm_handle_hide(&manager->core.handles, handle, true);
        result = device ? ferry_vm_device_end(manager, device) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_device_state(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, D3DKMT_DEVICEEXECUTION_STATE *state)
{
    if (!manager || !state)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_device *device = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_DEVICE, handle);
        if (device)
            *state = device->state;
        else
            result = FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}
