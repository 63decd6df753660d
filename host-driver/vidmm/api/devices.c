// SPDX-License-Identifier: Apache-2.0
#include "vidmm/api/devices.h"

#include <stdlib.h>

#include "vidmm/api/allocations.h"
#include "vidmm/api/call.h"
#include "vidmm/memory/addresses.h"

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
    ferry_vm_virtual_share(device->process);
    device->miniport = argument.hDevice;
    device->state = D3DKMT_DEVICEEXECUTION_ACTIVE;
    ferry_vm_list_init(&device->allocations);
    ferry_vm_list_init(&device->missing);
    ferry_vm_list_init(&device->waiting);
    ferry_vm_list_init(&device->contexts);
    ferry_vm_list_init(&device->busy);
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

static struct ferry_vm_context *context_at(struct ferry_vm_list *link)
{
    return FERRY_VM_CONTAINER(link, struct ferry_vm_context, link);
}

static struct ferry_vm_allocation *allocation_at(struct ferry_vm_list *link)
{
    return FERRY_VM_CONTAINER(link, struct ferry_vm_allocation, link);
}

// Nobody finds it any more, but for a call that is destroying it already. Is there such a call?
static bool hide(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    struct ferry_vm_handles *handles = &manager->core.handles;
    if (ferry_vm_handle_sight(handles, handle) == FERRY_VM_SHOWN)
        ferry_vm_handle_hide(handles, handle, FERRY_VM_HIDDEN_WITH_DEVICE);
    return ferry_vm_handle_sight(handles, handle) == FERRY_VM_HIDDEN;
}

// Is it there again, now that it has to be shown?
static bool show(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    struct ferry_vm_handles *handles = &manager->core.handles;
    bool ours = ferry_vm_handle_sight(handles, handle) == FERRY_VM_HIDDEN_WITH_DEVICE;
    if (ours)
        ferry_vm_handle_hide(handles, handle, FERRY_VM_SHOWN);
    return ours;
}

static void show_all(struct ferry_vidmm *manager, struct ferry_vm_device *device)
{
    for (struct ferry_vm_list *link = device->contexts.next; link != &device->contexts; link = link->next)
        show(manager, context_at(link)->handle);
    for (struct ferry_vm_list *link = device->allocations.next; link != &device->allocations; link = link->next)
        if (show(manager, allocation_at(link)->subject.handle))
            ferry_vm_allocation_reopen(&manager->memory, allocation_at(link));
    ferry_vm_handle_hide(&manager->core.handles, device->handle, FERRY_VM_SHOWN);
}

// What each allocation has to have taken away is queued before any of that is waited for, and of paging the latest is:
// so the turns are as few as the buffers.
static int wait_for_latest(const struct ferry_vm_sched *sched, unsigned its_node, uint64_t its_number, unsigned *node,
                           uint64_t *number)
{
    if (*number == 0 || (*node == sched->paging_node && (its_node != *node || its_number > *number))) {
        *node = its_node;
        *number = its_number;
    }
    return FERRY_PENDING;
}

// A turn towards the moment at which nothing that the device has is waited for any more, and all of it can go: else it
// is there as it was. Contexts first: behind their jobs nothing names the allocations.
static int come_to_rest(struct ferry_vidmm *manager, struct ferry_vm_device *device, struct ferry_vm_patience *patience)
{
    struct ferry_vm_sched *sched = &manager->sched;
    bool stopped = manager->core.critical.code != FERRY_CRITICAL_NONE, others = false;
    unsigned node = 0;
    uint64_t number = 0;
    int result = FERRY_OK;
    size_t most = 0;
    for (struct ferry_vm_list *link = device->contexts.next; link != &device->contexts; link = link->next) {
        const struct ferry_vm_context *context = context_at(link);
        others |= hide(manager, context->handle);
        if (!stopped && result == FERRY_OK && !ferry_vm_reached(sched, context->node, context->last_fence)) {
            node = context->node;
            number = context->last_fence;
            result = FERRY_PENDING;
        }
    }
    bool in_use = result == FERRY_PENDING;
    for (struct ferry_vm_list *link = device->allocations.next; link != &device->allocations; link = link->next) {
        D3DKMT_HANDLE handle = allocation_at(link)->subject.handle;
        if (hide(manager, handle)) {
            others = true;
        } else if (!stopped && !in_use && result >= 0) {
            unsigned its_node;
            uint64_t its_number;
            int rests = ferry_vm_allocation_rests(manager, handle, true, &its_node, &its_number);
            others |= rests == FERRY_PENDING && its_number == 0;
            if (rests < 0)
                result = rests;
            else if (its_number != 0)
                result = wait_for_latest(sched, its_node, its_number, &node, &number);
            most += ferry_vm_allocation_free_most(allocation_at(link));
        }
    }
    // What another call is destroying just now, or still locking, is waited for by letting that call go on.
    if (result == FERRY_OK && others) {
        ferry_vm_yield(manager);
        return FERRY_PENDING;
    }
    // What takes addresses away, page tables with them, of what is gone already.
    if (result == FERRY_OK && !stopped && (number = ferry_vm_device_pending(device, sched->queued)) != 0) {
        node = sched->paging_node;
        result = FERRY_PENDING;
    }
    if (result == FERRY_OK && !stopped && ferry_vm_reserve(sched, most) != FERRY_OK && sched->done != sched->queued) {
        node = sched->paging_node;
        number = sched->done + 1;
        result = FERRY_PENDING;
    }
    if (result == FERRY_PENDING) {
        while ((result = ferry_vm_block(manager, node, number, patience)) == FERRY_PENDING)
            ;
        return result >= 0 || result == FERRY_ERROR_CRITICAL ? FERRY_PENDING : result;
    }
    return result;
}

// All that it has is at rest. An empty line has room for what one of the allocations takes.
static int free_all(struct ferry_vidmm *manager, struct ferry_vm_device *device)
{
    while (!ferry_vm_list_empty(&device->contexts))
        ferry_vm_context_free(&manager->sched, context_at(device->contexts.next));
    while (!ferry_vm_list_empty(&device->allocations)) {
        int result = ferry_vm_allocation_end(manager, allocation_at(device->allocations.next));
        if (result != FERRY_OK)
            return result;
    }
    return FERRY_OK;
}

int ferry_vm_device_end(struct ferry_vidmm *manager, struct ferry_vm_device *device)
{
    struct ferry_vm_patience patience = {0};
    int result;
    do
        result = come_to_rest(manager, device, &patience);
    while (result == FERRY_PENDING);
    bool had_any = !ferry_vm_list_empty(&device->contexts) || !ferry_vm_list_empty(&device->allocations);
    bool rests = result == FERRY_OK;
    if (rests) {
        ferry_vm_quiesce(&manager->sched);
        result = free_all(manager, device);
    }
    // And of what has just gone.
    patience = (struct ferry_vm_patience){0};
    for (uint64_t number;
         result == FERRY_OK && (number = ferry_vm_device_pending(device, manager->sched.queued)) != 0;) {
        result = ferry_vm_block(manager, manager->sched.paging_node, number, &patience);
        if (result == FERRY_ERROR_CRITICAL) {
            result = FERRY_OK;
            break;
        }
        result = result == FERRY_PENDING ? FERRY_OK : result;
    }
    if (result != FERRY_OK) {
        // What has gone does not come back, and whoever finds it without has to be told why.
        if (rests && had_any && device->state == D3DKMT_DEVICEEXECUTION_ACTIVE)
            device->state = D3DKMT_DEVICEEXECUTION_HUNG;
        show_all(manager, device);
        return result;
    }
    while (!ferry_vm_list_empty(&device->queues))
        ferry_vm_queue_free(&manager->sched, FERRY_VM_CONTAINER(device->queues.next, struct ferry_vm_queue, link));
    // After a critical stop paging of its is left that nobody will end.
    ferry_vm_owner_gone(&manager->sched, &device->first_operation);
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
            ferry_vm_handle_hide(&manager->core.handles, handle, FERRY_VM_HIDDEN);
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
