// SPDX-License-Identifier: Apache-2.0
// Paging queues: each has a monitored fence whose values only grow. A value is handed out when its work has been
// queued, never before, so a call that fails burns none.
#include <stdlib.h>

#include "vidmm/sched/sched.h"

int ferry_vm_queue_new(struct ferry_vm_sched *sched, struct ferry_vm_device *device, int priority,
                       D3DKMT_HANDLE *handle)
{
    struct ferry_vm_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return FERRY_ERROR_NO_HOST_MEMORY;
    queue->handle = ferry_vm_handle_new(&sched->core->handles, FERRY_VM_PAGING_QUEUE, queue);
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

void ferry_vm_queue_free(struct ferry_vm_sched *sched, struct ferry_vm_queue *queue)
{
    ferry_vm_list_remove(&queue->waiting);
    ferry_vm_list_remove(&queue->link);
    ferry_vm_handle_free(&sched->core->handles, queue->handle);
    free(queue->pending);
    free(queue);
}

int ferry_vm_queue_reserve(struct ferry_vm_queue *queue)
{
    if (queue->count < queue->capacity)
        return FERRY_OK;
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
    return FERRY_OK;
}

uint64_t ferry_vm_queue_value(struct ferry_vm_sched *sched, struct ferry_vm_queue *queue, uint64_t operation)
{
    uint64_t value = ++queue->handed_out;
    queue->pending[(queue->first + queue->count++) % queue->capacity] = (struct ferry_vm_pending){value, operation};
    if (ferry_vm_list_empty(&queue->waiting))
        ferry_vm_list_add(&sched->waiting_queues, &queue->waiting);
    return value;
}

void ferry_vm_queues_signal(struct ferry_vm_sched *sched)
{
    struct ferry_vm_list *link = sched->waiting_queues.next;
    while (link != &sched->waiting_queues) {
        struct ferry_vm_queue *queue = FERRY_VM_CONTAINER(link, struct ferry_vm_queue, waiting);
        link = link->next;
        // A fence only grows: no value is reached before the one handed out before it. All that the device had queued
        // by then counts; what other devices wait for does not.
        while (queue->count > 0 &&
               ferry_vm_device_pending(queue->device, queue->pending[queue->first].operation) == 0) {
            queue->current = queue->pending[queue->first].value;
            queue->first = (queue->first + 1) % queue->capacity;
            queue->count--;
            ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_FENCE_SIGNAL,
                                                                  .queue = queue->handle,
                                                                  .value = queue->current});
        }
        if (queue->count == 0)
            ferry_vm_list_remove(&queue->waiting);
    }
}

uint64_t ferry_vm_queue_operation_of(const struct ferry_vm_queue *queue, uint64_t value)
{
    // Values are handed out one by one, so the oldest pending one tells where it stands.
    if (queue->count == 0 || value < queue->pending[queue->first].value)
        return 0;
    // Those handed out before it are reached first.
    for (size_t i = 0; i <= value - queue->pending[queue->first].value; i++) {
        uint64_t upto = queue->pending[(queue->first + i) % queue->capacity].operation;
        uint64_t operation = ferry_vm_device_pending(queue->device, upto);
        if (operation != 0)
            return operation;
    }
    return 0;
}
