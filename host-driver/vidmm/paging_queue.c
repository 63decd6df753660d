// SPDX-License-Identifier: Apache-2.0
// Paging queues: each has a monitored fence whose values only grow. A value is handed out when its work has been
// submitted, never before, so a call that fails burns none.
#include "vidmm/internal.h"

static int create(struct ferry_vidmm *manager, struct ferry_vm_device *device, int priority, D3DKMT_HANDLE *handle)
{
    struct ferry_vm_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return FERRY_ERROR_NO_HOST_MEMORY;
    queue->handle = ferry_vm_handle_new(&manager->handles, FERRY_VM_PAGING_QUEUE, queue);
    if (queue->handle == 0) {
        free(queue);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    queue->device = device;
    queue->priority = priority;
    ferry_vm_list_add(&device->queues, &queue->link);
    ferry_vm_list_init(&queue->waiting);
    *handle = queue->handle;
    return FERRY_OK;
}

int ferry_vidmm_create_paging_queue(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle, int priority,
                                    D3DKMT_HANDLE *queue)
{
    if (!manager || !queue || priority < -1 || priority > 1)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_device *device = ferry_vm_handle_find(&manager->handles, FERRY_VM_DEVICE, device_handle);
        if (!device)
            result = FERRY_ERROR_HANDLE;
        else if (device->state != D3DKMT_DEVICEEXECUTION_ACTIVE)
            result = FERRY_ERROR_DEVICE_LOST;
        else
            result = create(manager, device, priority, queue);
    }
    return ferry_vm_leave(manager, result);
}

void ferry_vm_queue_free(struct ferry_vidmm *manager, struct ferry_vm_queue *queue)
{
    ferry_vm_list_remove(&queue->waiting);
    ferry_vm_list_remove(&queue->link);
    ferry_vm_handle_free(&manager->handles, queue->handle);
    free(queue->pending);
    free(queue);
}

int ferry_vm_queue_value(struct ferry_vidmm *manager, struct ferry_vm_queue *queue, uint64_t fence, uint64_t *value)
{
    if (queue->count == queue->capacity) {
        size_t capacity = queue->capacity ? queue->capacity * 2 : 16;
        struct ferry_vm_pending *ring = malloc(capacity * sizeof(*ring));
        if (!ring)
            return FERRY_ERROR_NO_HOST_MEMORY;
        for (size_t i = 0; i < queue->count; i++)
            ring[i] = queue->pending[(queue->first + i) % queue->capacity];
        free(queue->pending);
        queue->pending = ring;
        queue->first = 0;
        queue->capacity = capacity;
    }
    *value = ++queue->handed_out;
    queue->pending[(queue->first + queue->count++) % queue->capacity] = (struct ferry_vm_pending){*value, fence};
    if (ferry_vm_list_empty(&queue->waiting))
        ferry_vm_list_add(&manager->waiting_queues, &queue->waiting);
    return FERRY_OK;
}

void ferry_vm_queues_signal(struct ferry_vidmm *manager, uint64_t completed)
{
    struct ferry_vm_list *link = manager->waiting_queues.next;
    while (link != &manager->waiting_queues) {
        struct ferry_vm_queue *queue = FERRY_VM_CONTAINER(link, struct ferry_vm_queue, waiting);
        link = link->next;
        while (queue->count > 0 && queue->pending[queue->first].fence <= completed) {
            queue->current = queue->pending[queue->first].value;
            queue->first = (queue->first + 1) % queue->capacity;
            queue->count--;
            ferry_vm_emit(manager, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_FENCE_SIGNAL,
                                                              .queue = queue->handle,
                                                              .value = queue->current});
        }
        if (queue->count == 0)
            ferry_vm_list_remove(&queue->waiting);
    }
}

static int wait_value(struct ferry_vidmm *manager, struct ferry_vm_queue *queue, uint64_t value)
{
    if (value > queue->handed_out)
        return FERRY_ERROR_ARGUMENT;
    for (size_t i = 0; i < queue->count; i++) {
        struct ferry_vm_pending pending = queue->pending[(queue->first + i) % queue->capacity];
        if (pending.value == value) {
            int result = ferry_vm_wait(manager, manager->paging_node, pending.fence);
            if (result != FERRY_OK)
                return result;
            break;
        }
    }
    return queue->device->state == D3DKMT_DEVICEEXECUTION_ACTIVE ? FERRY_OK : FERRY_ERROR_DEVICE_LOST;
}

int ferry_vidmm_wait_paging(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t value)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_queue *queue = ferry_vm_handle_find(&manager->handles, FERRY_VM_PAGING_QUEUE, handle);
        result = queue ? wait_value(manager, queue, value) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_paging_fence(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t *value)
{
    if (!manager || !value)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_queue *queue = ferry_vm_handle_find(&manager->handles, FERRY_VM_PAGING_QUEUE, handle);
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
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_queue *queue = ferry_vm_handle_find(&manager->handles, FERRY_VM_PAGING_QUEUE, handle);
        if (!queue)
            result = FERRY_ERROR_HANDLE;
        else if (queue->count > 0)
            result = wait_value(manager, queue, queue->handed_out);
        if (queue && (result == FERRY_OK || result == FERRY_ERROR_DEVICE_LOST)) {
            ferry_vm_queue_free(manager, queue);
            result = FERRY_OK;
        }
    }
    return ferry_vm_leave(manager, result);
}
