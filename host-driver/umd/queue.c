// SPDX-License-Identifier: Apache-2.0
// Copy queues: what programs record into them and submit (umd/recording.h holds the job meanwhile).
#include "umd/queue.h"

#include <stdlib.h>

#include "umd/call.h"
#include "umd/own_address.h"
#include "umd/recording.h"

// ---- Recording --------------------------------------------------------------------------------------------------

// The job that is being recorded; NULL: no host memory.
static struct umd_recording *recording(struct umd_queue *queue)
{
    if (!queue->recording)
        queue->recording = umd_recording_make(&queue->info);
    return queue->recording;
}

struct umd_recording *umd_queue_recorded_into(struct umd_queue *queue)
{
    struct umd_recording *job = recording(queue);

    return job ? umd_recording_open(job) : NULL;
}

int umd_queue_find(const struct umd_queue *queue, const struct ferry_allocation *handle,
                   struct umd_allocation **allocation)
{
    *allocation = umd_object(queue->device->adapter, UMD_ALLOCATION, handle);
    if (!*allocation)
        return umd_handle_error(UMD_ALLOCATION, handle);
    return (*allocation)->device != queue->device ? FERRY_ERROR_FOREIGN : FERRY_OK;
}

// The allocation that a packet names, when these bytes of it may be named.
static int find(const struct umd_queue *queue, const struct ferry_allocation *handle, uint64_t offset, uint32_t bytes,
                struct umd_allocation **allocation)
{
    int error = umd_queue_find(queue, handle, allocation);

    if (error != FERRY_OK)
        return error;
    // The patch list's offsets are 32 bits wide.
    if (offset > (*allocation)->bytes || bytes > (*allocation)->bytes - offset || offset > UINT32_MAX)
        return FERRY_ERROR_RANGE;
    umd_own_address_use(*allocation);
    return FERRY_OK;
}

int ferry_queue_copy(struct ferry_queue *handle, struct ferry_allocation *destination_handle,
                     uint64_t destination_offset, struct ferry_allocation *source_handle, uint64_t source_offset,
                     uint32_t bytes)
{
    struct umd_call call;
    struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, NULL);

    if (!queue)
        return umd_not_entered();
    struct umd_allocation *destination, *source;
    int error = find(queue, source_handle, source_offset, bytes, &source);
    if (error == FERRY_OK)
        error = find(queue, destination_handle, destination_offset, bytes, &destination);
    if (error != FERRY_OK)
        return umd_leave(&call, error);
    struct umd_recording *job = umd_queue_recorded_into(queue);
    bool good = job && umd_record_copy(job, destination, destination_offset, source, source_offset, bytes);
    return umd_leave(&call, good ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY);
}

// The pattern repeated to 8 bytes, and log2 of its own; false when it has another size.
static bool widen(uint64_t *pattern, uint32_t bytes, uint32_t *log2)
{
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return false;
    for (uint32_t size = bytes; size < 8; size *= 2) {
        *pattern &= UINT64_MAX >> (64 - 8 * size);
        *pattern |= *pattern << (8 * size);
    }
    for (*log2 = 0; 1u << *log2 < bytes; ++*log2) {
    }
    return true;
}

int ferry_queue_fill(struct ferry_queue *handle, struct ferry_allocation *destination_handle, uint64_t offset,
                     uint32_t bytes, uint64_t pattern, uint32_t pattern_bytes)
{
    struct umd_call call;
    uint32_t log2;

    if (!widen(&pattern, pattern_bytes, &log2))
        return FERRY_ERROR_ARGUMENT;
    struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, NULL);
    if (!queue)
        return umd_not_entered();
    struct umd_allocation *destination;
    int error = find(queue, destination_handle, offset, bytes, &destination);
    if (error == FERRY_OK && umd_record_fill_last(destination, offset, bytes) > UINT32_MAX)
        error = FERRY_ERROR_RANGE;
    if (error != FERRY_OK)
        return umd_leave(&call, error);
    struct umd_recording *job = umd_queue_recorded_into(queue);
    bool good = job && umd_record_fill(job, destination, offset, bytes, pattern, log2);
    return umd_leave(&call, good ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY);
}

// ---- GPU virtual addresses ----

static bool in_space(uint64_t address, uint32_t bytes)
{
    return address < UINT64_C(1) << 48 && bytes <= (UINT64_C(1) << 48) - address;
}

static int record_virtual(struct ferry_queue *handle, struct umd_virtual packet)
{
    struct umd_call call;
    struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, NULL);

    if (!queue)
        return umd_not_entered();
    if (!in_space(packet.destination, packet.bytes) || !in_space(packet.source, packet.bytes))
        return umd_leave(&call, FERRY_ERROR_RANGE);
    // Of no bytes the manager is not asked what is mapped there.
    if (call.adapter->model != 2)
        return umd_leave(&call, FERRY_ERROR_UNSUPPORTED);
    packet.vidmm = call.adapter->vidmm;
    packet.device = queue->device->vidmm;
    struct umd_recording *job = umd_queue_recorded_into(queue);
    return umd_leave(&call, job ? umd_record_virtual(job, &packet) : FERRY_ERROR_NO_HOST_MEMORY);
}

int ferry_queue_copy_va(struct ferry_queue *queue, uint64_t destination, uint64_t source, uint32_t bytes)
{
    return record_virtual(queue, (struct umd_virtual){.destination = destination, .source = source, .bytes = bytes});
}

int ferry_queue_fill_va(struct ferry_queue *queue, uint64_t destination, uint32_t bytes, uint64_t pattern,
                        uint32_t pattern_bytes)
{
    struct umd_virtual packet = {.is_fill = true, .destination = destination, .bytes = bytes, .pattern = pattern};

    if (!widen(&packet.pattern, pattern_bytes, &packet.pattern_log2))
        return FERRY_ERROR_ARGUMENT;
    return record_virtual(queue, packet);
}

// ---- Submitting -------------------------------------------------------------------------------------------------

int ferry_queue_submit(struct ferry_queue *handle, uint64_t *fence)
{
    struct umd_call call;
    struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, "submit");
    uint64_t number = 0;
    uint32_t count = 0;

    if (!queue)
        return umd_not_entered();
    struct umd_recording *job = recording(queue);
    bool empty = !job || umd_recording_is_empty(job);
    const struct ferry_vidmm_submission *buffers = job ? umd_recording_buffers(job, &count) : NULL;
    int error = FERRY_ERROR_NO_HOST_MEMORY;
    if (buffers) {
        struct ferry_vidmm *vidmm = call.adapter->vidmm;
        D3DKMT_HANDLE context = queue->context;

        // It may wait for room in the ring or for the program's turn. What is recorded meanwhile is another job.
        queue->recording = NULL;
        for (struct umd_recording *part = job; part; part = part->behind)
            part->submitted = queue->submissions;
        queue->submissions++;
        do {
            if (error == FERRY_VIDMM_RENAMED)
                umd_recording_renamed(job, vidmm);
            umd_park(&call);
            error = ferry_vidmm_submit(vidmm, context, buffers, count, &number);
            umd_return(&call);
        } while (error == FERRY_VIDMM_RENAMED);
        queue = umd_object(call.adapter, UMD_QUEUE, handle);
    }
    // Nothing runs of a job that failed. For want of memory it stays as it was recorded, to be submitted again; what is
    // wrong with a job otherwise, only another one can mend.
    bool stays = job && error == FERRY_ERROR_NO_HOST_MEMORY && !empty;
    if (job && !stays)
        umd_recording_empty(job);
    if (queue && !queue->recording) {
        queue->recording = job;
    } else if (queue && queue->recording != job && stays) {
        // What was recorded meanwhile comes behind it, and so does what was submitted later and came back first.
        queue->recording = umd_recording_join(job, queue->recording);
    } else if (!queue || queue->recording != job) {
        umd_recording_end(job);
    }
    if (fence)
        *fence = number;
    return umd_leave(&call, error);
}

int ferry_queue_wait(struct ferry_queue *handle, uint64_t fence)
{
    struct umd_call call;
    const struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, "wait for job");

    if (!queue)
        return umd_not_entered();
    struct ferry_vidmm *vidmm = call.adapter->vidmm;
    D3DKMT_HANDLE context = queue->context;
    umd_park(&call);
    int error = ferry_vidmm_wait(vidmm, context, fence);
    umd_return(&call);
    return umd_leave(&call, error);
}

int ferry_queue_reached(struct ferry_queue *handle, uint64_t *fence)
{
    struct umd_call call;

    if (!fence)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, NULL);
    if (!queue)
        return umd_not_entered();
    return umd_leave(&call, ferry_vidmm_completed(call.adapter->vidmm, queue->context, fence));
}

// ---- Life -------------------------------------------------------------------------------------------------------

int ferry_queue_create(struct ferry_device *device_handle, struct ferry_queue **handle)
{
    struct umd_call call;

    if (!handle)
        return FERRY_ERROR_ARGUMENT;
    *handle = NULL;
    struct umd_device *device = umd_enter(&call, UMD_DEVICE, device_handle, "create queue");
    if (!device)
        return umd_not_entered();
    struct umd_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return umd_leave(&call, FERRY_ERROR_NO_HOST_MEMORY);
    struct umd_adapter *adapter = device->adapter;
    int error =
        ferry_vidmm_create_context(adapter->vidmm, device->vidmm, FERRY_VIDMM_ANY_NODE, &queue->context, &queue->info);
    if (error == FERRY_OK) {
        queue->handle = umd_handle_make(UMD_QUEUE, queue, adapter);
        if (!queue->handle) {
            ferry_vidmm_destroy_context(adapter->vidmm, queue->context);
            error = FERRY_ERROR_NO_HOST_MEMORY;
        }
    }
    if (error != FERRY_OK) {
        free(queue);
        return umd_leave(&call, error);
    }
    queue->device = device;
    queue->next = device->queues;
    if (queue->next)
        queue->next->previous = queue;
    device->queues = queue;
    *handle = queue->handle;
    return umd_leave(&call, FERRY_OK);
}

void umd_queue_end(struct umd_queue *queue)
{
    if (queue->next)
        queue->next->previous = queue->previous;
    if (queue->previous)
        queue->previous->next = queue->next;
    else
        queue->device->queues = queue->next;
    umd_handle_end(queue->handle);
    umd_recording_end(queue->recording);
    free(queue);
}

int ferry_queue_destroy(struct ferry_queue *handle)
{
    struct umd_call call;
    struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, "destroy queue");

    if (!queue)
        return umd_not_entered();
    D3DKMT_HANDLE context = queue->context;
    umd_park(&call);
    int error = ferry_vidmm_destroy_context(call.adapter->vidmm, context);
    umd_return(&call);
    queue = umd_object(call.adapter, UMD_QUEUE, handle);
    if (umd_is_gone(error) && queue)
        umd_queue_end(queue);
    return umd_leave(&call, error);
}
