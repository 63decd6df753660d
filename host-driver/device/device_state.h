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
    const volatile struct ferry_fence_record *fence;
};

struct ferry_gpu {
    pthread_mutex_t mutex;
    struct ferry_link *link;
    struct ferry_gpu_info info;
    struct ferry_gpu_memory records; // Fence records.
    struct ferry_gpu_memory fault_log;
    uint32_t faults_taken; // FAULT_LOG_CONSUMED.
    struct ferry_gpu_ring ring[FERRY_BAR0_RING_COUNT];
    uint64_t events; // Times that a pump brought something.
    ferry_gpu_interrupt *handler;
    void *handler_context;
};

int ferry_gpu_register_read(struct ferry_gpu *gpu, uint32_t offset, uint32_t *value);
int ferry_gpu_register_write(struct ferry_gpu *gpu, uint32_t offset, uint32_t value);
int ferry_gpu_register_read64(struct ferry_gpu *gpu, uint32_t offset, uint64_t *value);
int ferry_gpu_register_write64(struct ferry_gpu *gpu, uint32_t offset, uint64_t value);
/// Write the image (a file's, or the built-in one) into firmware RAM and read it back. Errors: FIRMWARE,
/// NO_HOST_MEMORY.
int ferry_gpu_firmware_load(struct ferry_gpu *gpu, const char *file);
/// Let the core run and wait for RUNNING. Errors: CONTRACT, FIRMWARE, TIMEOUT.
int ferry_gpu_firmware_start(struct ferry_gpu *gpu, uint64_t timeout);
/// FERRY_OK while RUNNING or BOOTING, else why not.
int ferry_gpu_firmware_check(struct ferry_gpu *gpu, uint32_t *state);
int ferry_gpu_memory_make(struct ferry_gpu *gpu, size_t bytes, unsigned flags, struct ferry_gpu_memory *memory);
void ferry_gpu_memory_drop(struct ferry_gpu *gpu, struct ferry_gpu_memory *memory);

#endif
