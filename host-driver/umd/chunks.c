// SPDX-License-Identifier: Apache-2.0
// DMA buffers of a job that is being recorded, and what packets in them name.
#include "umd/chunks.h"

#include <stdlib.h>
#include <string.h>

#include "ferry/error.h"
#include "ferry_contract.h"
#include "umd/residency.h"

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
    };
    if (!chunk->commands || !chunk->references || !chunk->addresses || !chunk->places || !chunk->patches) {
        free(chunk->commands);
        free(chunk->references);
        free(chunk->addresses);
        free(chunk->places);
        free(chunk->patches);
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

// Where the allocation stands among those that were found, or is to. They are in order: there may be a thousand of
// them, and each of them may be met a thousand times.
static uint32_t place_among_found(const struct umd_recording *job, D3DKMT_HANDLE allocation)
{
    uint32_t low = 0, high = job->found_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (job->found[middle].allocation < allocation)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int umd_found_none(struct umd_recording *job)
{
    job->found_count = 0;
    if (!job->found)
        job->found = calloc(job->info.AllocationListSize, sizeof *job->found);
    return job->found ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
}

int umd_found_add(struct umd_recording *job, D3DKMT_HANDLE allocation, bool write)
{
    uint32_t index = place_among_found(job, allocation);
    struct umd_found *place = &job->found[index];

    if (index == job->found_count || place->allocation != allocation) {
        if (job->found_count == job->info.AllocationListSize)
            return FERRY_ERROR_RANGE;
        memmove(place + 1, place, (job->found_count++ - index) * sizeof *place);
        *place = (struct umd_found){.allocation = allocation};
    }
    place->write |= write;
    return FERRY_OK;
}

// Of the two only what was found is in order, so that is where is looked.
void umd_chunk_refer_found(struct umd_chunk *chunk, const struct umd_recording *job)
{
    uint32_t before = chunk->reference_count;

    for (uint32_t i = 0; i < job->found_count; i++)
        job->found[i].named = false;
    for (uint32_t i = 0; i < before; i++) {
        struct ferry_vidmm_reference *reference = &chunk->references[i];
        uint32_t index = place_among_found(job, reference->allocation);

        if (index == job->found_count || job->found[index].allocation != reference->allocation)
            continue;
        reference->write |= job->found[index].write;
        job->found[index].named = true;
    }
    for (uint32_t i = 0; i < job->found_count; i++) {
        if (job->found[i].named)
            continue;
        chunk->addresses[chunk->reference_count] = 0;
        chunk->references[chunk->reference_count++] =
            (struct ferry_vidmm_reference){.allocation = job->found[i].allocation, .write = job->found[i].write};
    }
}
