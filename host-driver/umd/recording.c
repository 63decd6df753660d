// SPDX-License-Identifier: Apache-2.0
// A job on its way to the manager: packets written with zeros where addresses belong, the allocations they name, and
// where whose address goes, which is filled in when the job is submitted, or by Patch. A job that outgrows a DMA buffer
// goes on in the next one; the ring keeps their order.
#include "umd/recording.h"

#include <stdlib.h>
#include <string.h>

#include "ferry_contract.h"
#include "umd/chunks.h"
#include "umd/residency.h"

struct umd_recording *umd_recording_make(const DXGK_CONTEXTINFO *info)
{
    struct umd_recording *job = calloc(1, sizeof *job);

    if (job) {
        job->info = *info;
        job->submitted = UINT64_MAX;
    }
    return job;
}

void umd_recording_end(struct umd_recording *job)
{
    while (job) {
        struct umd_recording *behind = job->behind;

        for (size_t i = 0; i < job->chunks_made; i++)
            umd_chunk_end(&job->chunks[i]);
        free(job->chunks);
        free(job->buffers);
        free(job->found.list);
        free(job);
        job = behind;
    }
}

struct umd_recording *umd_recording_open(struct umd_recording *job)
{
    while (job->behind)
        job = job->behind;
    if (job->submitted == UINT64_MAX)
        return job;
    return job->behind = umd_recording_make(&job->info);
}

struct umd_recording *umd_recording_join(struct umd_recording *one, struct umd_recording *other)
{
    struct umd_recording *first = NULL, **last = &first;

    while (one && other) {
        struct umd_recording **next = other->submitted < one->submitted ? &other : &one;

        *last = *next;
        last = &(*next)->behind;
        *next = *last;
    }
    *last = one ? one : other;
    return first;
}

void umd_recording_empty(struct umd_recording *job)
{
    umd_recording_end(job->behind);
    job->behind = NULL;
    for (size_t i = 0; i < job->chunk_count; i++) {
        struct umd_chunk *chunk = &job->chunks[i];

        memset(chunk->commands, 0, chunk->bytes);
        chunk->bytes = chunk->reference_count = chunk->place_count = chunk->reach_count = 0;
    }
    job->chunk_count = 0;
    job->submitted = UINT64_MAX;
}

// A chunk with room for one more packet of two places.
static struct umd_chunk *chunk_for(struct umd_recording *job, uint32_t bytes)
{
    if (job->chunk_count) {
        struct umd_chunk *chunk = &job->chunks[job->chunk_count - 1];

        if (chunk->bytes + bytes <= job->info.DmaBufferSize &&
            chunk->reference_count + 2 <= job->info.AllocationListSize &&
            chunk->place_count + 2 <= job->info.PatchLocationListSize)
            return chunk;
    }
    return umd_chunk_next(job);
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

// The address stays, wherever the instance goes, so nothing of that is left for Patch.
static void put_address(uint8_t *packet, uint32_t at, uint64_t address, UINT side)
{
    uint32_t kind = FERRY_ADDRESS_KIND_VIRTUAL;

    put32(packet + 4,
          get32(packet + 4) | (side == FERRY_KMD_PATCH_SOURCE ? FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, kind)
                                                              : FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, kind)));
    put64(packet + at, address);
}

bool umd_record_copy(struct umd_recording *job, struct umd_allocation *destination, uint64_t destination_offset,
                     struct umd_allocation *source, uint64_t source_offset, uint32_t bytes)
{
    struct umd_chunk *chunk = chunk_for(job, FERRY_PACKET_COPY_SIZE);

    if (!chunk)
        return false;
    uint32_t at = chunk->bytes;
    uint8_t *packet = umd_chunk_begin_packet(chunk, FERRY_OPCODE_COPY, FERRY_PACKET_COPY_SIZE, 0);
    put32(packet + FERRY_PACKET_COPY_BYTES, bytes);
    umd_chunk_refer(chunk, source, false, source_offset, at, FERRY_PACKET_COPY_SOURCE, FERRY_KMD_PATCH_SOURCE);
    umd_chunk_refer(chunk, destination, true, destination_offset, at, FERRY_PACKET_COPY_DESTINATION,
                    FERRY_KMD_PATCH_DESTINATION);
    return true;
}

// FILL and WRITE have the same layout: bytes, one destination, one value.
static bool record_value(struct umd_recording *job, uint32_t opcode, struct umd_allocation *destination,
                         uint64_t offset, uint32_t bytes, uint64_t value, uint32_t places)
{
    struct umd_chunk *chunk = chunk_for(job, FERRY_PACKET_FILL_SIZE);

    if (!chunk)
        return false;
    uint32_t at = chunk->bytes;
    uint8_t *packet = umd_chunk_begin_packet(chunk, opcode, FERRY_PACKET_FILL_SIZE, places);
    put32(packet + FERRY_PACKET_FILL_BYTES, bytes);
    put64(packet + FERRY_PACKET_FILL_PATTERN, value);
    umd_chunk_refer(chunk, destination, true, offset, at, FERRY_PACKET_FILL_DESTINATION, FERRY_KMD_PATCH_DESTINATION);
    return true;
}

// The device fills no aperture (R47). One write of up to 8 bytes and copies that double what is there do the same.
static bool record_aperture_fill(struct umd_recording *job, struct umd_allocation *destination, uint64_t offset,
                                 uint32_t bytes, uint64_t pattern)
{
    uint32_t done = bytes < 8 ? bytes : 8;
    // Memory for all of it first: half a fill is none. 30 packets double 8 bytes to more than 4 GiB.
    uint32_t packets = job->info.DmaBufferSize / FERRY_PACKET_COPY_SIZE, places = job->info.PatchLocationListSize / 2;
    size_t chunks = 30 / (packets < places ? packets : places) + 1;

    while (job->chunks_made < job->chunk_count + chunks)
        if (!umd_chunk_make(job))
            return false;
    if (done && !record_value(job, FERRY_OPCODE_WRITE, destination, offset, done, pattern, 0))
        return false;
    while (done < bytes) {
        uint32_t piece = bytes - done < done ? bytes - done : done;

        if (!umd_record_copy(job, destination, offset + done, destination, offset, piece))
            return false;
        done += piece;
    }
    return true;
}

uint64_t umd_record_fill_last(const struct umd_allocation *destination, uint64_t offset, uint32_t bytes)
{
    uint64_t done = 8;

    if (!destination->in_aperture || bytes <= done)
        return offset;
    while (2 * done < bytes)
        done *= 2;
    return offset + done;
}

bool umd_record_fill(struct umd_recording *job, struct umd_allocation *destination, uint64_t offset, uint32_t bytes,
                     uint64_t pattern, uint32_t pattern_log2)
{
    return destination->in_aperture ? record_aperture_fill(job, destination, offset, bytes, pattern)
                                    : record_value(job, FERRY_OPCODE_FILL, destination, offset, bytes, pattern,
                                                   FERRY_PUT(FERRY_PACKET_PLACES_PATTERN_LOG2, pattern_log2));
}

// ---- GPU virtual addresses ----

// A chunk with room for the packet, which names what it reaches.
static int chunk_for_virtual(struct umd_recording *job, const struct umd_virtual *packet, uint32_t bytes,
                             struct umd_chunk **chunk)
{
    struct umd_asked asked = {packet->vidmm, packet->device, UINT64_MAX};
    const struct ferry_vidmm_reach reaches[] = {
        {.address = packet->destination, .bytes = packet->bytes, .rows = 1, .write = true},
        {.address = packet->source, .bytes = packet->bytes, .rows = 1}};
    uint32_t count = !packet->bytes ? 0 : packet->is_fill ? 1 : 2;
    int error = umd_found_none(job);

    for (uint32_t i = 0; i < count && error == FERRY_OK; i++)
        error = umd_found_there(job, &asked, &reaches[i]);
    if (error != FERRY_OK)
        return error;
    *chunk = chunk_for(job, bytes);
    if (*chunk && (*chunk)->reference_count + job->found.count > job->info.AllocationListSize)
        *chunk = umd_chunk_next(job);
    if (!*chunk || !umd_chunk_reserve(*chunk))
        return FERRY_ERROR_NO_HOST_MEMORY;
    umd_chunk_refer_found(*chunk, job, &asked, reaches, count);
    return FERRY_OK;
}

int umd_record_virtual(struct umd_recording *job, const struct umd_virtual *packet)
{
    struct umd_chunk *chunk;
    uint32_t kind = FERRY_ADDRESS_KIND_VIRTUAL;
    int error =
        chunk_for_virtual(job, packet, packet->is_fill ? FERRY_PACKET_FILL_SIZE : FERRY_PACKET_COPY_SIZE, &chunk);

    if (error != FERRY_OK)
        return error;
    if (packet->is_fill) {
        uint8_t *at = umd_chunk_begin_packet(chunk, FERRY_OPCODE_FILL, FERRY_PACKET_FILL_SIZE,
                                             FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, kind) |
                                                 FERRY_PUT(FERRY_PACKET_PLACES_PATTERN_LOG2, packet->pattern_log2));
        put32(at + FERRY_PACKET_FILL_BYTES, packet->bytes);
        put64(at + FERRY_PACKET_FILL_DESTINATION, packet->destination);
        put64(at + FERRY_PACKET_FILL_PATTERN, packet->pattern);
        return FERRY_OK;
    }
    uint8_t *at = umd_chunk_begin_packet(chunk, FERRY_OPCODE_COPY, FERRY_PACKET_COPY_SIZE,
                                         FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, kind) |
                                             FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, kind));
    put32(at + FERRY_PACKET_COPY_BYTES, packet->bytes);
    put64(at + FERRY_PACKET_COPY_SOURCE, packet->source);
    put64(at + FERRY_PACKET_COPY_DESTINATION, packet->destination);
    return FERRY_OK;
}

// ---- On its way ----

static void fill_in(struct umd_chunk *chunk)
{
    chunk->patch_count = 0;
    for (uint32_t i = 0; i < chunk->place_count; i++) {
        const struct umd_place *place = &chunk->places[i];
        uint64_t address = chunk->addresses[place->reference];

        if (address)
            put_address(chunk->commands + place->packet, place->at, address + place->offset, place->side);
        else
            chunk->patches[chunk->patch_count++] = (D3DDDI_PATCHLOCATIONLIST){
                .AllocationIndex = place->reference,
                .DriverId = FERRY_KMD_PATCH_ID(place->packet, place->side),
                .AllocationOffset = place->offset,
                .PatchOffset = place->packet + place->at,
            };
    }
}

void umd_recording_renamed(struct umd_recording *job, struct ferry_vidmm *vidmm)
{
    for (; job; job = job->behind)
        for (size_t i = 0; i < job->chunk_count; i++) {
            struct umd_chunk *chunk = &job->chunks[i];

            for (uint32_t k = 0; k < chunk->reference_count; k++) {
                uint64_t address = 0;

                // One that is gone keeps what it had: its job is refused. One that has lost its address has none.
                if (chunk->addresses[k] &&
                    ferry_vidmm_own_address(vidmm, chunk->references[k].allocation, &address) == FERRY_OK)
                    chunk->addresses[k] = address ? address : FERRY_VIDMM_NOWHERE;
            }
            fill_in(chunk);
        }
}

bool umd_recording_is_empty(const struct umd_recording *job)
{
    while (job && job->chunk_count == 0)
        job = job->behind;
    return !job;
}

static size_t count_chunks(const struct umd_recording *job)
{
    size_t count = 0;

    for (; job; job = job->behind)
        count += job->chunk_count;
    return count;
}

static bool make_buffers(struct umd_recording *job, size_t count)
{
    if (count <= job->buffer_capacity)
        return true;
    struct ferry_vidmm_submission *buffers = realloc(job->buffers, 2 * count * sizeof *buffers);
    if (!buffers)
        return false;
    job->buffers = buffers;
    job->buffer_capacity = 2 * count;
    return true;
}

const struct ferry_vidmm_submission *umd_recording_buffers(struct umd_recording *job, uint32_t *count)
{
    if (umd_recording_is_empty(job)) {
        // An empty job still has its number and its turn.
        struct umd_chunk *chunk = umd_chunk_next(job);

        if (!chunk)
            return NULL;
        umd_chunk_begin_packet(chunk, FERRY_OPCODE_NOP, FERRY_PACKET_NOP_SIZE, 0);
    }
    if (!make_buffers(job, count_chunks(job)))
        return NULL;
    *count = 0;
    for (const struct umd_recording *part = job; part; part = part->behind) {
        for (size_t i = 0; i < part->chunk_count; i++) {
            struct umd_chunk *chunk = &part->chunks[i];

            fill_in(chunk);
            job->buffers[(*count)++] = (struct ferry_vidmm_submission){
                .commands = chunk->commands,
                .bytes = chunk->bytes,
                .references = chunk->references,
                .reference_count = chunk->reference_count,
                .patches = chunk->patches,
                .patch_count = chunk->patch_count,
                .addresses = chunk->addresses,
                .reaches = chunk->reaches,
                .reach_count = chunk->reach_count,
                .changes = chunk->changes,
            };
        }
    }
    return job->buffers;
}
