// SPDX-License-Identifier: Apache-2.0
// Programs: made, ended, weighed and asked about.
#include "vidmm/api/call.h"
#include "vidmm/api/devices.h"
#include "vidmm/memory/addresses.h"

int ferry_vidmm_create_process(struct ferry_vidmm *manager, const struct ferry_vidmm_process_options *options,
                               D3DKMT_HANDLE *process)
{
    struct ferry_vidmm_process_options wanted = {.size = sizeof(wanted)};
    if (options && options->size == sizeof(wanted))
        wanted = *options;
    if (!manager || !process || (options && options->size != sizeof(wanted)) ||
        wanted.weight > FERRY_VIDMM_MAX_WEIGHT || wanted.reservation % PAGE_SIZE)
        return FERRY_ERROR_ARGUMENT;
    D3DKMT_HANDLE handle;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK)
        result = ferry_vm_process_new(&manager->policy, &wanted, &handle);
    struct ferry_vm_process *made =
        result == FERRY_OK ? ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PROCESS, handle) : NULL;
    if (made)
        result = ferry_vm_virtual_new(&manager->memory, made);
    // Nobody else is told to trim for one that does not come.
    if (made && result == FERRY_OK) {
        ferry_vm_process_join(&manager->policy, made);
        *process = handle;
    } else if (made) {
        ferry_vm_process_free(&manager->policy, made);
    }
    return ferry_vm_leave(manager, result);
}

// A device of the process that no other call is destroying already.
static struct ferry_vm_device *next_device(struct ferry_vidmm *manager, const struct ferry_vm_process *process)
{
    for (struct ferry_vm_list *link = manager->devices.next; link != &manager->devices; link = link->next) {
        struct ferry_vm_device *device = FERRY_VM_CONTAINER(link, struct ferry_vm_device, link);
        if (device->process == process &&
            ferry_vm_handle_sight(&manager->core.handles, device->handle) == FERRY_VM_SHOWN)
            return device;
    }
    return NULL;
}

// With all of its devices; its handle is hidden. On an error it is found again.
static int end(struct ferry_vidmm *manager, struct ferry_vm_process *process)
{
    while (process->devices > 0) {
        struct ferry_vm_device *device = next_device(manager, process);
        int result = FERRY_OK;
        if (device) {
            ferry_vm_handle_hide(&manager->core.handles, device->handle, FERRY_VM_HIDDEN);
            result = ferry_vm_device_end(manager, device);
        } else {
            ferry_vm_yield(manager);
        }
        if (result != FERRY_OK) {
            ferry_vm_handle_hide(&manager->core.handles, process->handle, FERRY_VM_SHOWN);
            return result;
        }
    }
    struct ferry_vm_patience patience = {0};
    uint64_t number;
    bool stopped = manager->core.critical.code != FERRY_CRITICAL_NONE;
    int result = stopped ? FERRY_OK : ferry_vm_virtual_leave(&manager->memory, process, &number);
    while (result == FERRY_PENDING) {
        result = ferry_vm_block(manager, manager->sched.paging_node, number, &patience);
        if (result >= 0)
            result = ferry_vm_virtual_leave(&manager->memory, process, &number);
    }
    if (result != FERRY_OK && result != FERRY_ERROR_CRITICAL) {
        ferry_vm_handle_hide(&manager->core.handles, process->handle, FERRY_VM_SHOWN);
        return result;
    }
    ferry_vm_virtual_end(&manager->memory, process);
    ferry_vm_process_free(&manager->policy, process);
    return FERRY_OK;
}

int ferry_vidmm_destroy_process(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter_to_end(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_process *process = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PROCESS, handle);
        if (process)
            ferry_vm_handle_hide(&manager->core.handles, handle, FERRY_VM_HIDDEN);
        result = process ? end(manager, process) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_set_weight(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint32_t weight)
{
    if (!manager || weight == 0 || weight > FERRY_VIDMM_MAX_WEIGHT)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_process *process = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PROCESS, handle);
        if (process) {
            process->weight = weight;
            ferry_vm_budgets_divide(&manager->policy);
        }
        result = process ? FERRY_OK : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_set_reservation(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t bytes)
{
    if (!manager || bytes % PAGE_SIZE)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_process *process = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PROCESS, handle);
        result = process ? ferry_vm_process_reserve(&manager->policy, process, bytes) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

// 0 is the program of the devices that were given none. NULL: the handle is no process's.
static const struct ferry_vm_process *asked_about(const struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    return handle ? ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PROCESS, handle) : &manager->policy.nobody;
}

int ferry_vidmm_memory_info(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, unsigned group,
                            struct ferry_vidmm_memory_info *info)
{
    if (!manager || !info || group >= FERRY_VM_GROUPS)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_process *process = asked_about(manager, handle);
        if (process)
            ferry_vm_process_info(&manager->policy, process, group, info);
        result = process ? FERRY_OK : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_process_statistics(struct ferry_vidmm *manager, D3DKMT_HANDLE handle,
                                   struct ferry_vidmm_process_statistics *statistics)
{
    if (!manager || !statistics)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_process *process = asked_about(manager, handle);
        if (process)
            *statistics = process->statistics;
        result = process ? FERRY_OK : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}
