// SPDX-License-Identifier: Apache-2.0
// Registers of the device, and its time.
#include "device/device_state.h"

int ferry_gpu_register_read(struct ferry_gpu *gpu, uint32_t offset, uint32_t *value)
{
    return gpu->link->operations->read32(gpu->link, FERRY_BAR_REGISTERS, offset, value);
}

int ferry_gpu_register_write(struct ferry_gpu *gpu, uint32_t offset, uint32_t value)
{
    return gpu->link->operations->write32(gpu->link, FERRY_BAR_REGISTERS, offset, value);
}

int ferry_gpu_register_read64(struct ferry_gpu *gpu, uint32_t offset, uint64_t *value)
{
    uint32_t low = 0;
    uint32_t high = 0;
    int error = ferry_gpu_register_read(gpu, offset, &low);
    error = error == FERRY_OK ? ferry_gpu_register_read(gpu, offset + 4, &high) : error;
    *value = (uint64_t)high << 32 | low;
    return error;
}

int ferry_gpu_register_write64(struct ferry_gpu *gpu, uint32_t offset, uint64_t value)
{
    int error = ferry_gpu_register_write(gpu, offset, (uint32_t)value);
    return error != FERRY_OK ? error : ferry_gpu_register_write(gpu, offset + 4, (uint32_t)(value >> 32));
}

int ferry_gpu_pump(struct ferry_gpu *gpu, uint64_t cycles)
{
    unsigned reasons = 0;
    int error = gpu->link->operations->pump(gpu->link, cycles, &reasons);
    gpu->events += reasons != 0;
    return error;
}
