// SPDX-License-Identifier: Apache-2.0
// Copy queues: packets written with zeros where addresses belong, the allocations they name, and where whose address
// goes. A job that outgrows a DMA buffer goes on in the next one; the ring keeps their order.
#include "umd/queue.h"

#include <stdlib.h>
#include <string.h>

#include "ferry_contract.h"
#include "umd/call.h"
#include "umd/residency.h"

// ---- Recording --------------------------------------------------------------------------------------------------

// The job being recorded is gone; its memory serves the next one.
static void drop_job(struct umd_queue *queue)
{
    for (size_t i = 0; i < queue->chunk_count; i++) {
        struct umd_chunk *chunk = &queue->chunks[i];

        memset(chunk->commands, 0, chunk->bytes);
        chunk->bytes = chunk->reference_count = chunk->patch_count = 0;
    }
    queue->chunk_count = 0;
}

static bool make_chunk(struct umd_queue *queue)
{
    if (queue->chunks_made == queue->chunk_capacity) {
        size_t capacity = queue->chunk_capacity ? 2 * queue->chunk_capacity : 4;
        struct umd_chunk *chunks = realloc(queue->chunks, capacity * sizeof *chunks);

        if (!chunks)
            return false;
        queue->chunks = chunks;
        struct ferry_vidmm_submission *buffers = realloc(queue->buffers, capacity * sizeof *buffers);
        if (!buffers)
            return false;
        queue->buffers = buffers;
        queue->chunk_capacity = capacity;
    }
    struct umd_chunk *chunk = &queue->chunks[queue->chunks_made];
    *chunk = (struct umd_chunk){
        .commands = calloc(queue->info.DmaBufferSize, 1),
        .references = calloc(queue->info.AllocationListSize, sizeof *chunk->references),
        .patches = calloc(queue->info.PatchLocationListSize, sizeof *chunk->patches),
    };
    if (!chunk->commands || !chunk->references || !chunk->patches) {
        free(chunk->commands);
        free(chunk->references);
        free(chunk->patches);
        return false;
    }
    queue->chunks_made++;
    return true;
}

static struct umd_chunk *new_chunk(struct umd_queue *queue)
{
    if (queue->chunk_count == queue->chunks_made && !make_chunk(queue))
        return NULL;
    return &queue->chunks[queue->chunk_count++];
}

// A chunk with room for one more packet of two places.
static struct umd_chunk *chunk_for(struct umd_queue *queue, uint32_t bytes)
{
    if (queue->chunk_count) {
        struct umd_chunk *chunk = &queue->chunks[queue->chunk_count - 1];

        if (chunk->bytes + bytes <= queue->info.DmaBufferSize &&
            chunk->reference_count + 2 <= queue->info.AllocationListSize &&
            chunk->patch_count + 2 <= queue->info.PatchLocationListSize)
            return chunk;
    }
    return new_chunk(queue);
}

static void put32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void put64(uint8_t *at, uint64_t value)
{
    put32(at, (uint32_t)value);
    put32(at + 4, (uint32_t)(value >> 32));
}

static void refer(struct umd_chunk *chunk, struct umd_allocation *allocation, bool write, uint64_t offset,
                  uint32_t packet, uint32_t at, UINT side)
{
    uint32_t index = 0;

    umd_touch(allocation);
    while (index < chunk->reference_count && chunk->references[index].allocation != allocation->vidmm)
        index++;
    if (index == chunk->reference_count)
        chunk->references[chunk->reference_count++] = (struct ferry_vidmm_reference){.allocation = allocation->vidmm};
    chunk->references[index].write |= write;
    chunk->patches[chunk->patch_count++] = (D3DDDI_PATCHLOCATIONLIST){
        .AllocationIndex = index,
        .DriverId = FERRY_KMD_PATCH_ID(packet, side),
        .AllocationOffset = (UINT)offset,
        .PatchOffset = packet + at,
    };
}

static uint8_t *begin_packet(struct umd_chunk *chunk, uint32_t opcode, uint32_t bytes, uint32_t places)
{
    uint8_t *packet = chunk->commands + chunk->bytes;

    put32(packet, FERRY_PUT(FERRY_PACKET_HEADER_OPCODE, opcode) | FERRY_PUT(FERRY_PACKET_HEADER_WORDS, bytes / 4));
    put32(packet + 4, places);
    chunk->bytes += bytes;
    return packet;
}

static bool record_copy(struct umd_queue *queue, struct umd_allocation *destination, uint64_t destination_offset,
                        struct umd_allocation *source, uint64_t source_offset, uint32_t bytes)
{
    struct umd_chunk *chunk = chunk_for(queue, FERRY_PACKET_COPY_SIZE);

    if (!chunk)
        return false;
    uint32_t at = chunk->bytes;
    uint8_t *packet = begin_packet(chunk, FERRY_OPCODE_COPY, FERRY_PACKET_COPY_SIZE, 0);
    put32(packet + FERRY_PACKET_COPY_BYTES, bytes);
    refer(chunk, source, false, source_offset, at, FERRY_PACKET_COPY_SOURCE, FERRY_KMD_PATCH_SOURCE);
    refer(chunk, destination, true, destination_offset, at, FERRY_PACKET_COPY_DESTINATION, FERRY_KMD_PATCH_DESTINATION);
    return true;
}

// FILL and WRITE have the same layout: bytes, one destination, one value.
static bool record_value(struct umd_queue *queue, uint32_t opcode, struct umd_allocation *destination, uint64_t offset,
                         uint32_t bytes, uint64_t value, uint32_t places)
{
    struct umd_chunk *chunk = chunk_for(queue, FERRY_PACKET_FILL_SIZE);

    if (!chunk)
        return false;
    uint32_t at = chunk->bytes;
    uint8_t *packet = begin_packet(chunk, opcode, FERRY_PACKET_FILL_SIZE, places);
    put32(packet + FERRY_PACKET_FILL_BYTES, bytes);
    put64(packet + FERRY_PACKET_FILL_PATTERN, value);
    refer(chunk, destination, true, offset, at, FERRY_PACKET_FILL_DESTINATION, FERRY_KMD_PATCH_DESTINATION);
    return true;
}

// The allocation that a packet names, when these bytes of it may be named.
static int find(const struct umd_queue *queue, const struct ferry_allocation *handle, uint64_t offset, uint32_t bytes,
                struct umd_allocation **allocation)
{
    *allocation = umd_object(queue->device->adapter, UMD_ALLOCATION, handle);
    if (!*allocation)
        return umd_handle_error(UMD_ALLOCATION, handle);
    if ((*allocation)->device != queue->device)
        return FERRY_ERROR_FOREIGN;
    // The patch list's offsets are 32 bits wide.
    if (offset > (*allocation)->bytes || bytes > (*allocation)->bytes - offset || offset > UINT32_MAX)
        return FERRY_ERROR_RANGE;
    return FERRY_OK;
}

int ferry_queue_copy(struct ferry_queue *handle, struct ferry_allocation *destination_handle,
                     uint64_t destination_offset, struct ferry_allocation *source_handle, uint64_t source_offset,
                     uint32_t bytes)
{
    struct umd_call call;
    struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, NULL);

    if (!queue)
        return FERRY_ERROR_HANDLE;
    struct umd_allocation *destination, *source;
    int error = find(queue, source_handle, source_offset, bytes, &source);
    if (error == FERRY_OK)
        error = find(queue, destination_handle, destination_offset, bytes, &destination);
    if (error == FERRY_OK && !record_copy(queue, destination, destination_offset, source, source_offset, bytes))
        error = FERRY_ERROR_NO_HOST_MEMORY;
    return umd_leave(&call, error);
}

// The device fills no aperture (R47). One write of up to 8 bytes and copies that double what is there do the same.
static bool record_aperture_fill(struct umd_queue *queue, struct umd_allocation *destination, uint64_t offset,
                                 uint32_t bytes, uint64_t pattern)
{
    uint32_t done = bytes < 8 ? bytes : 8;
    // Memory for all of it first: half a fill is none. 30 packets double 8 bytes to more than 4 GiB.
    uint32_t packets = queue->info.DmaBufferSize / FERRY_PACKET_COPY_SIZE,
             places = queue->info.PatchLocationListSize / 2;
    size_t chunks = 30 / (packets < places ? packets : places) + 1;

    while (queue->chunks_made < queue->chunk_count + chunks)
        if (!make_chunk(queue))
            return false;
    if (done && !record_value(queue, FERRY_OPCODE_WRITE, destination, offset, done, pattern, 0))
        return false;
    while (done < bytes) {
        uint32_t piece = bytes - done < done ? bytes - done : done;

        if (!record_copy(queue, destination, offset + done, destination, offset, piece))
            return false;
        done += piece;
    }
    return true;
}

int ferry_queue_fill(struct ferry_queue *handle, struct ferry_allocation *destination_handle, uint64_t offset,
                     uint32_t bytes, uint64_t pattern, uint32_t pattern_bytes)
{
    struct umd_call call;
    uint32_t log2 = 0;

    if (pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4 && pattern_bytes != 8)
        return FERRY_ERROR_ARGUMENT;
    for (uint32_t size = pattern_bytes; size < 8; size *= 2) {
        pattern &= UINT64_MAX >> (64 - 8 * size);
        pattern |= pattern << (8 * size);
    }
    while (1u << log2 < pattern_bytes)
        log2++;
    struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, NULL);
    if (!queue)
        return FERRY_ERROR_HANDLE;
    struct umd_allocation *destination;
    int error = find(queue, destination_handle, offset, bytes, &destination);
    if (error != FERRY_OK)
        return umd_leave(&call, error);
    bool good = destination->in_aperture ? record_aperture_fill(queue, destination, offset, bytes, pattern)
                                         : record_value(queue, FERRY_OPCODE_FILL, destination, offset, bytes, pattern,
                                                        FERRY_PUT(FERRY_PACKET_PLACES_PATTERN_LOG2, log2));
    return umd_leave(&call, good ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY);
}

// ---- Submitting -------------------------------------------------------------------------------------------------

static int submit(struct umd_queue *queue, uint64_t *fence)
{
    bool empty = !queue->chunk_count;

    if (empty) {
        // An empty job still has its number and its turn.
        struct umd_chunk *chunk = new_chunk(queue);

        if (!chunk)
            return FERRY_ERROR_NO_HOST_MEMORY;
        begin_packet(chunk, FERRY_OPCODE_NOP, FERRY_PACKET_NOP_SIZE, 0);
    }
    for (size_t i = 0; i < queue->chunk_count; i++) {
        const struct umd_chunk *chunk = &queue->chunks[i];

        queue->buffers[i] = (struct ferry_vidmm_submission){
            .commands = chunk->commands,
            .bytes = chunk->bytes,
            .references = chunk->references,
            .reference_count = chunk->reference_count,
            .patches = chunk->patches,
            .patch_count = chunk->patch_count,
        };
    }
    int error = ferry_vidmm_submit(queue->device->adapter->vidmm, queue->context, queue->buffers,
                                   (uint32_t)queue->chunk_count, fence);
    // Nothing of it runs. For want of memory it stays as it was recorded, to be submitted again; what is wrong with a
    // job otherwise, only another one can mend.
    if (error != FERRY_ERROR_NO_HOST_MEMORY || empty)
        drop_job(queue);
    return error;
}

int ferry_queue_submit(struct ferry_queue *handle, uint64_t *fence)
{
    struct umd_call call;
    struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, "submit");
    uint64_t number = 0;

    if (!queue)
        return FERRY_ERROR_HANDLE;
    int error = submit(queue, &number);
    if (fence)
        *fence = number;
    return umd_leave(&call, error);
}

int ferry_queue_wait(struct ferry_queue *handle, uint64_t fence)
{
    struct umd_call call;
    const struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, "wait for job");

    if (!queue)
        return FERRY_ERROR_HANDLE;
    struct ferry_vidmm *vidmm = call.adapter->vidmm;
    D3DKMT_HANDLE context = queue->context;
    umd_park(&call);
    int error = ferry_vidmm_wait(vidmm, context, fence);
    umd_return(&call);
    return umd_leave(&call, error);
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
        return FERRY_ERROR_HANDLE;
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
    for (size_t i = 0; i < queue->chunks_made; i++) {
        free(queue->chunks[i].commands);
        free(queue->chunks[i].references);
        free(queue->chunks[i].patches);
    }
    if (queue->next)
        queue->next->previous = queue->previous;
    if (queue->previous)
        queue->previous->next = queue->next;
    else
        queue->device->queues = queue->next;
    umd_handle_end(queue->handle);
    free(queue->chunks);
    free(queue->buffers);
    free(queue);
}

int ferry_queue_destroy(struct ferry_queue *handle)
{
    struct umd_call call;
    struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, "destroy queue");

    if (!queue)
        return FERRY_ERROR_HANDLE;
    D3DKMT_HANDLE context = queue->context;
    umd_park(&call);
    int error = ferry_vidmm_destroy_context(call.adapter->vidmm, context);
    umd_return(&call);
    queue = umd_object(call.adapter, UMD_QUEUE, handle);
    if (error == FERRY_OK && queue)
        umd_queue_end(queue);
    return umd_leave(&call, error);
}
