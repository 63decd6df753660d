// SPDX-License-Identifier: Apache-2.0
// What a recording is made of, and how packets get into it (umd/recording.h).
#ifndef FERRY_UMD_CHUNKS_H
#define FERRY_UMD_CHUNKS_H

#include "umd/objects.h"
#include "vidmm/base/reached.h"

// Where a packet names bytes of an allocation. What goes there, an address or a patch, is known when the job is
// submitted: a lock with DISCARD may have taken another instance by then.
struct umd_place {
    uint32_t reference, packet, at; // which of the chunk's; where the packet and its word are
    uint32_t offset;
    UINT side;
};

// One DMA buffer's worth of a job.
struct umd_chunk {
    uint8_t *commands;
    uint32_t bytes;
    struct ferry_vidmm_reference *references;
    uint64_t *addresses; // of the references: where they were when they were named last, 0 = patched
    uint32_t reference_count;
    struct umd_place *places;
    uint32_t place_count;
    D3DDDI_PATCHLOCATIONLIST *patches; // of the places without an address
    uint32_t patch_count;
    struct ferry_vidmm_reach *reaches; // Of its packets of addresses.
    uint32_t reach_count, reach_capacity;
    uint64_t changes; // Of the program's addresses, when the first of them had found what it names.
};

struct umd_recording {
    DXGK_CONTEXTINFO info;
    struct umd_chunk *chunks;
    size_t chunk_count, chunks_made, chunk_capacity;
    struct ferry_vidmm_submission *buffers; // The chunks, as the manager takes them; also of those behind.
    size_t buffer_capacity;
    struct ferry_vidmm_names found; // What a packet of addresses names, as many as a buffer may; no list = none yet.
    struct umd_recording *behind;   // Recorded later, and part of the same job.
    uint64_t submitted;             // Number of its submission among its queue's; UINT64_MAX: none since it was empty.
};

static inline void put32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline void put64(uint8_t *at, uint64_t value)
{
    put32(at, (uint32_t)value);
    put32(at + 4, (uint32_t)(value >> 32));
}

// One more chunk, behind those that are in use. False: no host memory.
bool umd_chunk_make(struct umd_recording *job);
void umd_chunk_end(struct umd_chunk *chunk);
// The next one comes into use, made before if there is one. NULL: no host memory.
struct umd_chunk *umd_chunk_next(struct umd_recording *job);
// A packet, but for its header all zeros. The chunk has room for it.
uint8_t *umd_chunk_begin_packet(struct umd_chunk *chunk, uint32_t opcode, uint32_t bytes, uint32_t places);
// The packet's word `at` is the address of these bytes of the allocation, for which the chunk's lists have room.
void umd_chunk_refer(struct umd_chunk *chunk, struct umd_allocation *allocation, bool write, uint64_t offset,
                     uint32_t packet, uint32_t at, UINT side);

// What a packet of addresses names: nothing so far. NO_HOST_MEMORY.
int umd_found_none(struct umd_recording *job);
// And what is mapped where it reaches. The errors of ferry_vidmm_find_virtual(); RANGE: that is more than a buffer can
// name.
struct umd_asked {
    struct ferry_vidmm *vidmm;
    D3DKMT_HANDLE device;
    uint64_t changes; // As they were when it was asked first; UINT64_MAX = not yet.
};
int umd_found_there(struct umd_recording *job, struct umd_asked *asked, const struct ferry_vidmm_reach *reach);
// Room for two reaches more in a chunk that has begun; one that has not has it. False: no host memory.
bool umd_chunk_reserve(struct umd_chunk *chunk);
// The chunk, whose lists have room for them, names what was found, since a packet reaches there. No address stands for
// it there: the packet has its own.
void umd_chunk_refer_found(struct umd_chunk *chunk, struct umd_recording *job, const struct umd_asked *asked,
                           const struct ferry_vidmm_reach *reaches, uint32_t reach_count);

#endif
