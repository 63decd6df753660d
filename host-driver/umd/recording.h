// SPDX-License-Identifier: Apache-2.0
// A job that is being recorded. It belongs to its queue, and while it is submitted to the call that submits it: the
// adapter's lock is given back then. Otherwise everything here is under that lock.
#ifndef FERRY_UMD_RECORDING_H
#define FERRY_UMD_RECORDING_H

#include "umd/objects.h"

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
};

struct umd_recording {
    DXGK_CONTEXTINFO info;
    struct umd_chunk *chunks;
    size_t chunk_count, chunks_made, chunk_capacity;
    struct ferry_vidmm_submission *buffers; // The chunks, as the manager takes them; also of those behind.
    size_t buffer_capacity;
    struct ferry_vidmm_reference *found; // What a packet of addresses names, as many as a buffer may; NULL = none yet.
    uint32_t found_count;
    struct umd_recording *behind; // Recorded later, and part of the same job.
    uint64_t submitted;           // Number of its submission among its queue's; UINT64_MAX: none since it was empty.
};

// An empty job for a context with these sizes; NULL: no host memory. The caller ends it.
struct umd_recording *umd_recording_make(const DXGK_CONTEXTINFO *info);
// All of the job. NULL is none.
void umd_recording_end(struct umd_recording *job);
// What was recorded is gone; its memory serves the next job.
void umd_recording_empty(struct umd_recording *job);
// All parts of both as one job, in the order in which they were submitted, what was not submitted last. NULL is none.
struct umd_recording *umd_recording_join(struct umd_recording *one, struct umd_recording *other);
// The part of a job that is recorded into: one that was never submitted. NULL: no host memory.
struct umd_recording *umd_recording_open(struct umd_recording *job);

// Bytes at these offsets, which are in range. False: no host memory, and nothing of it is recorded.
bool umd_record_copy(struct umd_recording *job, struct umd_allocation *destination, uint64_t destination_offset,
                     struct umd_allocation *source, uint64_t source_offset, uint32_t bytes);
// Where the last packet of such a fill begins in the destination: it, too, must have no more than 32 bits.
uint64_t umd_record_fill_last(const struct umd_allocation *destination, uint64_t offset, uint32_t bytes);
// The pattern fills 8 bytes; its own are 1 << pattern_log2.
bool umd_record_fill(struct umd_recording *job, struct umd_allocation *destination, uint64_t offset, uint32_t bytes,
                     uint64_t pattern, uint32_t pattern_log2);

// A packet of virtual addresses, which name whatever of the device's program is mapped there now. UNSUPPORTED or
// another error of ferry_vidmm_find_virtual(), RANGE (it names more than a buffer can), NO_HOST_MEMORY: nothing is
// recorded.
struct umd_virtual {
    struct ferry_vidmm *vidmm;
    D3DKMT_HANDLE device;
    bool is_fill;
    uint64_t destination, source;
    uint32_t bytes;
    uint64_t pattern;
    uint32_t pattern_log2;
};
int umd_record_virtual(struct umd_recording *job, const struct umd_virtual *packet);

bool umd_recording_is_empty(const struct umd_recording *job);
// The job as the manager takes it, one buffer at least, with its addresses filled in; valid until it is recorded into
// again. NULL: no host memory.
const struct ferry_vidmm_submission *umd_recording_buffers(struct umd_recording *job, uint32_t *count);
// The manager says that an allocation it names has another instance now: ask where they all are, and fill that in.
void umd_recording_renamed(struct umd_recording *job, struct ferry_vidmm *vidmm);

#endif
