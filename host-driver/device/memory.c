// SPDX-License-Identifier: Apache-2.0
// Host memory that the device reaches at consecutive bus addresses.
#include <stdlib.h>
#include <string.h>

#include "device/device_state.h"

#define PAGE_BYTES 4096u

int ferry_gpu_memory_make(struct ferry_gpu *gpu, size_t bytes, unsigned flags, struct ferry_gpu_memory *memory)
{
    const struct ferry_link_operations *link = gpu->link->operations;
    const size_t pages = bytes / PAGE_BYTES + (bytes % PAGE_BYTES != 0);
    void *address = NULL;
    uint64_t *bus = pages == 0 ? NULL : calloc(pages, sizeof(*bus));
    if (bus == NULL || posix_memalign(&address, PAGE_BYTES, pages * PAGE_BYTES) != 0) {
        free(bus);
        return pages == 0 ? FERRY_ERROR_ARGUMENT : FERRY_ERROR_NO_HOST_MEMORY;
    }
    memset(address, 0, pages * PAGE_BYTES);
    int error = link->dma_map(gpu->link, address, pages, flags | FERRY_DMA_CONSECUTIVE, bus);
    if (error == FERRY_OK) {
        *memory = (struct ferry_gpu_memory){.address = address, .bus = bus[0], .pages = pages};
    } else {
        free(address);
    }
    free(bus);
    return error;
}

void ferry_gpu_memory_drop(struct ferry_gpu *gpu, struct ferry_gpu_memory *memory)
{
    for (size_t page = 0; page < memory->pages; page++) {
        const uint64_t bus = memory->bus + page * PAGE_BYTES;
        gpu->link->operations->dma_unmap(gpu->link, &bus, 1);
    }
    free(memory->address);
    memset(memory, 0, sizeof(*memory));
}

int ferry_gpu_memory_allocate(struct ferry_gpu *gpu, size_t bytes, unsigned flags, struct ferry_gpu_memory *memory)
{
    if (memory == NULL) {
        return FERRY_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&gpu->mutex);
    int error = ferry_gpu_memory_make(gpu, bytes, flags, memory);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

void ferry_gpu_memory_free(struct ferry_gpu *gpu, struct ferry_gpu_memory *memory)
{
    pthread_mutex_lock(&gpu->mutex);
    ferry_gpu_memory_drop(gpu, memory);
    pthread_mutex_unlock(&gpu->mutex);
}

int ferry_gpu_dma_map(struct ferry_gpu *gpu, void *memory, size_t pages, unsigned flags, uint64_t *bus)
{
    pthread_mutex_lock(&gpu->mutex);
    int error = gpu->link->operations->dma_map(gpu->link, memory, pages, flags, bus);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

void ferry_gpu_dma_unmap(struct ferry_gpu *gpu, const uint64_t *bus, size_t pages)
{
    pthread_mutex_lock(&gpu->mutex);
    gpu->link->operations->dma_unmap(gpu->link, bus, pages);
    pthread_mutex_unlock(&gpu->mutex);
}
