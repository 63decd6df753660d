// SPDX-License-Identifier: Apache-2.0
// Engine, limits, and what tests and tools do to registers, video memory and link.
#include "device/device_state.h"

#define RESET_POLL_CYCLES 500u

/// Enable rings that may have stayed closed, and find out about doorbells that were given up: a read of the register
/// does not pass the write on the link (2.4.1), so what it says is final: such an entry counts, or never was.
static int reopen_rings(struct ferry_gpu *gpu)
{
    for (uint32_t n = 0; n < FERRY_BAR0_RING_COUNT; n++) {
        struct ferry_gpu_ring *ring = &gpu->ring[n];
        uint32_t producer;
        int error = ring->closed ? ferry_gpu_ring_open(gpu, n) : FERRY_OK;
        if (error == FERRY_OK && !ring->lost) {
            continue;
        }
        error = error != FERRY_OK
                    ? error
                    : ferry_gpu_register_read(
                          gpu, FERRY_BAR0_RING_AT + n * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_PRODUCER, &producer);
        if (error != FERRY_OK) {
            return error;
        }
        if (producer != ring->produced && producer != ring->produced - 1) {
            return FERRY_ERROR_DEVICE_LOST;
        }
        ring->produced = producer;
        ring->lost = false;
    }
    return FERRY_OK;
}

int ferry_gpu_reset_engine(struct ferry_gpu *gpu)
{
    const uint32_t resetting = FERRY_BAR0_CONTROL_ENGINE_RESET_MASK;
    uint32_t control = FERRY_BAR0_CONTROL_CORE_RUN_MASK | resetting;
    pthread_mutex_lock(&gpu->mutex);
    int error = ferry_gpu_register_write(gpu, FERRY_BAR0_CONTROL, control);
    for (uint64_t waited = 0; error == FERRY_OK; waited += RESET_POLL_CYCLES) {
        error = ferry_gpu_register_read(gpu, FERRY_BAR0_CONTROL, &control);
        if (error != FERRY_OK || (control & resetting) == 0) {
            break;
        }
        error = waited >= FERRY_GPU_DEFAULT_TIMEOUT ? FERRY_ERROR_TIMEOUT : ferry_gpu_pump(gpu, RESET_POLL_CYCLES);
    }
    error = error == FERRY_OK ? reopen_rings(gpu) : error;
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

int ferry_gpu_set_local_limit(struct ferry_gpu *gpu, uint64_t limit)
{
    if (limit % 4096 != 0 || limit > gpu->info.local_bytes) {
        return FERRY_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&gpu->mutex);
    int error = limit == 0 ? FERRY_OK : ferry_gpu_register_write64(gpu, FERRY_BAR0_LOCAL_LIMIT, limit);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

int ferry_gpu_set_protected(struct ferry_gpu *gpu, uint64_t base, uint64_t limit)
{
    if (base % 4096 != 0 || limit % 4096 != 0 || base > limit || limit > gpu->info.local_bytes) {
        return FERRY_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&gpu->mutex);
    // An empty range in between, so that no half-written pair ever protects the wrong place.
    int error = ferry_gpu_register_write64(gpu, FERRY_BAR0_PROTECT_LIMIT, 0);
    error = error == FERRY_OK ? ferry_gpu_register_write64(gpu, FERRY_BAR0_PROTECT_BASE, base) : error;
    error = error == FERRY_OK ? ferry_gpu_register_write64(gpu, FERRY_BAR0_PROTECT_LIMIT, limit) : error;
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

int ferry_gpu_inject(struct ferry_gpu *gpu, enum ferry_injection kind, uint32_t count)
{
    if (gpu->link->operations->inject == NULL) {
        return FERRY_ERROR_UNSUPPORTED;
    }
    pthread_mutex_lock(&gpu->mutex);
    int error = gpu->link->operations->inject(gpu->link, kind, count);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

int ferry_gpu_flip(struct ferry_gpu *gpu, uint64_t bus, bool write)
{
    if (gpu->link->operations->flip == NULL) {
        return FERRY_ERROR_UNSUPPORTED;
    }
    pthread_mutex_lock(&gpu->mutex);
    gpu->link->operations->flip(gpu->link, bus, write);
    pthread_mutex_unlock(&gpu->mutex);
    return FERRY_OK;
}

int ferry_gpu_read32(struct ferry_gpu *gpu, uint32_t offset, uint32_t *value)
{
    pthread_mutex_lock(&gpu->mutex);
    int error = ferry_gpu_register_read(gpu, offset, value);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

int ferry_gpu_write32(struct ferry_gpu *gpu, uint32_t offset, uint32_t value)
{
    pthread_mutex_lock(&gpu->mutex);
    int error = ferry_gpu_register_write(gpu, offset, value);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

int ferry_gpu_window_read(struct ferry_gpu *gpu, uint64_t offset, void *data, size_t bytes)
{
    pthread_mutex_lock(&gpu->mutex);
    int error = gpu->link->operations->read_block(gpu->link, FERRY_BAR_WINDOW, offset, data, bytes);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

int ferry_gpu_window_write(struct ferry_gpu *gpu, uint64_t offset, const void *data, size_t bytes)
{
    pthread_mutex_lock(&gpu->mutex);
    int error = gpu->link->operations->write_block(gpu->link, FERRY_BAR_WINDOW, offset, data, bytes);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

void ferry_gpu_observe(struct ferry_gpu *gpu, const struct ferry_link_observer *observer)
{
    pthread_mutex_lock(&gpu->mutex);
    if (gpu->link->operations->observe != NULL) {
        gpu->link->operations->observe(gpu->link, observer);
    }
    pthread_mutex_unlock(&gpu->mutex);
}

void ferry_gpu_link_counts(struct ferry_gpu *gpu, struct ferry_link_counts *counts)
{
    pthread_mutex_lock(&gpu->mutex);
    gpu->link->operations->counts(gpu->link, counts);
    pthread_mutex_unlock(&gpu->mutex);
}
