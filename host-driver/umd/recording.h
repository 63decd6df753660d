// SPDX-License-Identifier: Apache-2.0
// A job that is being recorded. It belongs to its queue, and while it is submitted to the call that submits it: the
// adapter's lock is given back then. Otherwise everything here is under that lock.
#ifndef FERRY_UMD_RECORDING_H
#define FERRY_UMD_RECORDING_H

#include "umd/chunks.h"

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

// A rectangle: so many rows of so many bytes, which are not 0. Its sides are in range: at bytes of an allocation, with
// tiles from the begin of one on, or at virtual addresses, as above, which have no tiles.
struct umd_rectangle_side {
    struct umd_allocation *allocation; // NULL = virtual
    uint64_t at;
    int32_t pitch;
    uint32_t layout; // The packet's.
};
struct umd_rectangle {
    struct ferry_vidmm *vidmm;
    D3DKMT_HANDLE device;
    uint32_t row_bytes, rows;
    struct umd_rectangle_side destination, source;
};
// The errors of umd_record_virtual(): nothing is recorded.
int umd_record_rectangle(struct umd_recording *job, const struct umd_rectangle *rectangle);

bool umd_recording_is_empty(const struct umd_recording *job);
// The job as the manager takes it, one buffer at least, with its addresses filled in; valid until it is recorded into
// again. NULL: no host memory.
const struct ferry_vidmm_submission *umd_recording_buffers(struct umd_recording *job, uint32_t *count);
// The manager says that an allocation it names has another instance now: ask where they all are, and fill that in.
void umd_recording_renamed(struct umd_recording *job, struct ferry_vidmm *vidmm);

#endif
