// SPDX-License-Identifier: Apache-2.0
#include "vidmm/api/call.h"

int ferry_vidmm_create_paging_queue(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle, int priority,
                                    D3DKMT_HANDLE *queue)
{
    if (!manager || !queue || priority < -1 || priority > 1)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_device *device = ferry_vm_working_device(manager, device_handle, &result);
        if (device)
            result = ferry_vm_queue_new(&manager->sched, device, priority, queue);
    }
    return ferry_vm_leave(manager, result);
}

// Until its fence has reached value; everything: whatever it has handed out. The queue may be gone after each turn.
static int wait_value(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t value, bool everything)
{
    struct ferry_vm_patience patience = {0};
    for (int result = FERRY_PENDING;;) {
        const struct ferry_vm_queue *queue =
            ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PAGING_QUEUE, handle);
        if (!queue)
            return FERRY_ERROR_HANDLE;
        if (everything)
            value = queue->handed_out;
        if (value > queue->handed_out)
            return FERRY_ERROR_ARGUMENT;
        uint64_t operation = ferry_vm_queue_operation_of(queue, value);
        if (operation == 0)
            return queue->device->state == D3DKMT_DEVICEEXECUTION_ACTIVE ? FERRY_OK : FERRY_ERROR_DEVICE_LOST;
        result = ferry_vm_block(manager, manager->sched.paging_node, operation, &patience);
        if (result < 0)
            return result;
    }
}

int ferry_vidmm_wait_paging(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t value)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK)
        result = wait_value(manager, handle, value, false);
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_paging_fence(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t *value)
{
    if (!manager || !value)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_queue *queue =
            ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PAGING_QUEUE, handle);
        if (queue)
            *value = queue->current;
        else
            result = FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_destroy_paging_queue(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter_to_end(manager);
    if (result == FERRY_OK)
        result = wait_value(manager, handle, 0, true);
    if (result == FERRY_OK || result == FERRY_ERROR_DEVICE_LOST || result == FERRY_ERROR_CRITICAL) {
        ferry_vm_queue_free(&manager->sched,
                            ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PAGING_QUEUE, handle));
        result = FERRY_OK;
    }
    return ferry_vm_leave(manager, result);
}
