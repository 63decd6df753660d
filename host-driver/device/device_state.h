// SPDX-License-Identifier: Apache-2.0
// What the files of the device layer share; nobody else includes it. Functions here want the mutex held.
#ifndef FERRY_DEVICE_DEVICE_STATE_H
#define FERRY_DEVICE_DEVICE_STATE_H

#include <pthread.h>

#include "device/device.h"
#include "ferry_contract.h"

#define FERRY_GPU_FAULT_LOG_LOG2 6u  // 64 records of 64 bytes: one page.
#define FERRY_GPU_RECORD_STRIDE  64u // Fence records of all rings share one page.

struct ferry_gpu_ring {
    struct ferry_gpu_memory memory;
    uint32_t entries; // 0 = not made.
    uint32_t produced;
    bool ringing;     // One more is being submitted, and may end before it is counted.
    uint32_t retired; // Of them, as far as the fence record was believed.
    bool lost;        // Whether the device has the last entry's doorbell is not known; until a reset of the engine
                      // shows it, the ring takes no more.
    bool closed;      // It may not be enabled; a reset of the engine sees to that too.
    bool emptied;     // An entry was taken back, once.
    const volatile struct ferry_fence_record *fence;
    // Entries in flight that a refused write was one of, by number modulo 32, all in (refused_base, refused_base + 31];
    // told = the device has a fault record of its own for it.
    uint32_t refused, told, refused_base;
    // What the fence record does not say: retired entries with refused writes that the device counts as good, and the
    // last one with refused writes.
    uint32_t refused_count, refused_last;
    bool refused_any;
};

/// A fault that the device cannot know of; it comes behind the device's record number `after`.
struct ferry_gpu_refusal {
    uint32_t after;
    struct ferry_fault fault;
};

struct ferry_gpu {
    pthread_mutex_t mutex;
    struct ferry_link *link;
    struct ferry_gpu_info info;
    struct ferry_gpu_memory records; // Fence records.
    struct ferry_gpu_memory fault_log;
    uint32_t faults_taken; // FAULT_LOG_CONSUMED.
    uint32_t faults_given; // Those and the refusals that were handed on.
    struct ferry_gpu_refusal *refusal;
    size_t refusal_first, refusal_end, refusal_capacity;
    bool lies;          // A fence record said what cannot be: the device is lost.
    bool refusal_cause; // An entry with refused writes has retired since the last look.
    struct ferry_gpu_ring ring[FERRY_BAR0_RING_COUNT];
    struct ferry_gpu_view view[FERRY_BAR0_VIEW_COUNT]; // 0 bytes: not shown.
    uint64_t events;                                   // Times that a pump brought something.
    bool causes_unread;    // An interrupt's, or not cleared for certain: the link did not answer in time.
    uint32_t causes_again; // Told of before that was certain.
    ferry_gpu_interrupt *handler;
    void *handler_context;
};

// retired.c
/// Entries of the ring that have retired; what was written before the record says so may be read behind this. 0 for a
/// ring that was not made.
uint32_t ferry_gpu_ring_retired(struct ferry_gpu *gpu, uint32_t ring);
/// Enable a ring that was made.
int ferry_gpu_ring_open(struct ferry_gpu *gpu, uint32_t ring);
// registers.c
int ferry_gpu_register_read(struct ferry_gpu *gpu, uint32_t offset, uint32_t *value);
int ferry_gpu_register_write(struct ferry_gpu *gpu, uint32_t offset, uint32_t value);
int ferry_gpu_register_read64(struct ferry_gpu *gpu, uint32_t offset, uint64_t *value);
int ferry_gpu_register_write64(struct ferry_gpu *gpu, uint32_t offset, uint64_t value);
/// Let the device run for up to `cycles`, or until something comes, and count that for those who wait.
int ferry_gpu_pump(struct ferry_gpu *gpu, uint64_t cycles);
// faults.c
/// Put into the records of this ring's entries that the device could not read whose they are, before a place is used
/// again.
void ferry_gpu_faults_settle(struct ferry_gpu *gpu, uint32_t ring);
// firmware_load.c
/// Write the image (a file's, or the built-in one) into firmware RAM and read it back. Errors: FIRMWARE,
/// NO_HOST_MEMORY.
int ferry_gpu_firmware_load(struct ferry_gpu *gpu, const char *file);
/// Let the core run and wait for RUNNING. Errors: CONTRACT, FIRMWARE, TIMEOUT.
int ferry_gpu_firmware_start(struct ferry_gpu *gpu, uint64_t timeout);
/// FERRY_OK while RUNNING or BOOTING, else why not.
int ferry_gpu_firmware_check(struct ferry_gpu *gpu, uint32_t *state);
// memory.c
int ferry_gpu_memory_make(struct ferry_gpu *gpu, size_t bytes, unsigned flags, struct ferry_gpu_memory *memory);
void ferry_gpu_memory_drop(struct ferry_gpu *gpu, struct ferry_gpu_memory *memory);

// refusals.c
/// ferry_link_refused_write of link.h; context is the gpu.
void ferry_gpu_refusals_note(void *gpu, uint64_t address, uint32_t tag);
/// Take note of the entries that the ring's fence record has reached.
void ferry_gpu_refusals_settle(struct ferry_gpu *gpu, uint32_t ring);
/// Put into a copy of the ring's fence record what the device could not know.
void ferry_gpu_refusals_apply(struct ferry_gpu *gpu, uint32_t ring, struct ferry_gpu_fence *fence);
/// The next fault, when it is a refusal's turn.
bool ferry_gpu_refusals_take(struct ferry_gpu *gpu, struct ferry_fault *fault);
/// A record of the device's leaves the log.
void ferry_gpu_refusals_record_taken(struct ferry_gpu *gpu, const struct ferry_fault_record *record);
/// True once after entries with refused writes have retired: the interrupt that the device did not raise for them.
bool ferry_gpu_refusals_cause(struct ferry_gpu *gpu);
/// Words that the engine has read and written so far, in both memories.
int ferry_gpu_words_moved(struct ferry_gpu *gpu, uint64_t *words);

#endif
