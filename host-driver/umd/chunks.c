// SPDX-License-Identifier: Apache-2.0
// DMA buffers of a job that is being recorded, and what packets in them name.
#include "umd/chunks.h"

#include <stdlib.h>
#include <string.h>

#include "ferry/error.h"
#include "ferry_contract.h"
#include "umd/residency.h"

#define FEW_REACHES 8 // More take memory when they come.

void umd_chunk_end(struct umd_chunk *chunk)
{
    free(chunk->commands);
    free(chunk->references);
    free(chunk->addresses);
    free(chunk->places);
    free(chunk->patches);
    free(chunk->reaches);
}

bool umd_chunk_make(struct umd_recording *job)
{
    if (job->chunks_made == job->chunk_capacity) {
        size_t capacity = job->chunk_capacity ? 2 * job->chunk_capacity : 4;
        struct umd_chunk *chunks = realloc(job->chunks, capacity * sizeof *chunks);

        if (!chunks)
            return false;
        job->chunks = chunks;
        job->chunk_capacity = capacity;
    }
    struct umd_chunk *chunk = &job->chunks[job->chunks_made];
    *chunk = (struct umd_chunk){
        .commands = calloc(job->info.DmaBufferSize, 1),
        .references = calloc(job->info.AllocationListSize, sizeof *chunk->references),
        .addresses = calloc(job->info.AllocationListSize, sizeof *chunk->addresses),
        .places = calloc(job->info.PatchLocationListSize, sizeof *chunk->places),
        .patches = calloc(job->info.PatchLocationListSize, sizeof *chunk->patches),
        .reaches = calloc(FEW_REACHES, sizeof *chunk->reaches),
        .reach_capacity = FEW_REACHES,
    };
    if (!chunk->commands || !chunk->references || !chunk->addresses || !chunk->places || !chunk->patches ||
        !chunk->reaches) {
        umd_chunk_end(chunk);
        return false;
    }
    job->chunks_made++;
    return true;
}

struct umd_chunk *umd_chunk_next(struct umd_recording *job)
{
    if (job->chunk_count == job->chunks_made && !umd_chunk_make(job))
        return NULL;
    return &job->chunks[job->chunk_count++];
}

void umd_chunk_refer(struct umd_chunk *chunk, struct umd_allocation *allocation, bool write, uint64_t offset,
                     uint32_t packet, uint32_t at, UINT side)
{
    uint32_t index = 0;

    umd_touch(allocation);
    while (index < chunk->reference_count && chunk->references[index].allocation != allocation->vidmm)
        index++;
    if (index == chunk->reference_count)
        chunk->references[chunk->reference_count++] = (struct ferry_vidmm_reference){.allocation = allocation->vidmm};
    chunk->references[index].write |= write;
    chunk->addresses[index] = allocation->address;
    chunk->places[chunk->place_count++] =
        (struct umd_place){.reference = index, .packet = packet, .at = at, .offset = (uint32_t)offset, .side = side};
}

uint8_t *umd_chunk_begin_packet(struct umd_chunk *chunk, uint32_t opcode, uint32_t bytes, uint32_t places)
{
    uint8_t *packet = chunk->commands + chunk->bytes;

    put32(packet, FERRY_PUT(FERRY_PACKET_HEADER_OPCODE, opcode) | FERRY_PUT(FERRY_PACKET_HEADER_WORDS, bytes / 4));
    put32(packet + 4, places);
    chunk->bytes += bytes;
    return packet;
}

// ---- What packets of addresses name ----

int umd_found_none(struct umd_recording *job)
{
    if (!job->found.list)
        job->found.list = calloc(job->info.AllocationListSize, sizeof *job->found.list);
    job->found.most = job->info.AllocationListSize;
    job->found.count = 0;
    return job->found.list ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
}

static int ask(void *context, uint64_t address, struct ferry_vidmm_mapping *mapping)
{
    struct umd_asked *asked = context;
    int error = ferry_vidmm_find_virtual(asked->vidmm, asked->device, address, mapping);

    if (error == FERRY_OK && asked->changes == UINT64_MAX)
        asked->changes = mapping->changes;
    return error;
}

int umd_found_there(struct umd_recording *job, struct umd_asked *asked, const struct ferry_vidmm_reach *reach)
{
    return ferry_vidmm_find_names(&job->found, reach, ask, asked);
}

bool umd_chunk_reserve(struct umd_chunk *chunk)
{
    if (chunk->reach_count + 2 <= chunk->reach_capacity)
        return true;
    uint32_t capacity = 2 * chunk->reach_capacity;
    struct ferry_vidmm_reach *reaches = realloc(chunk->reaches, capacity * sizeof *reaches);
    if (!reaches)
        return false;
    chunk->reaches = reaches;
    chunk->reach_capacity = capacity;
    return true;
}

void umd_chunk_refer_found(struct umd_chunk *chunk, struct umd_recording *job, const struct umd_asked *asked,
                           const struct ferry_vidmm_reach *reaches, uint32_t reach_count)
{
    chunk->reference_count =
        ferry_vidmm_refer_to(&job->found, chunk->references, chunk->addresses, chunk->reference_count);
    if (!chunk->reach_count)
        chunk->changes = asked->changes;
    for (uint32_t i = 0; i < reach_count; i++)
        chunk->reaches[chunk->reach_count++] = reaches[i];
}
