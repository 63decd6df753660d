// SPDX-License-Identifier: Apache-2.0
// The hal on the soft core: one load or store each.
#ifndef FERRY_FIRMWARE_HAL_RISCV_H
#define FERRY_FIRMWARE_HAL_RISCV_H

#include <stdint.h>

#define HAL_COMMAND_RAM 0x10000000u

#define HAL_REGISTERS 0x20000000u

// boot.S puts HAL_REGISTERS into gp, which nothing else uses, so that an access is one instruction. As assembler since
// the compiler would make the address of each register first and then run out of places to keep it.
static inline __attribute__((always_inline)) uint32_t hal_read(unsigned offset)
{
    uint32_t value;

    if (__builtin_constant_p(offset))
        __asm__ volatile("lw %0, %1(gp)" : "=r"(value) : "i"(offset));
    else
        value = *(const volatile uint32_t *)(HAL_REGISTERS + offset);
    return value;
}

static inline __attribute__((always_inline)) void hal_write(unsigned offset, uint32_t value)
{
    if (__builtin_constant_p(offset))
        __asm__ volatile("sw %z0, %1(gp)" : : "rJ"(value), "i"(offset));
    else
        *(volatile uint32_t *)(HAL_REGISTERS + offset) = value;
}

static inline uint32_t hal_ring(unsigned offset)
{
    return HAL_REGISTERS + offset;
}

static inline __attribute__((always_inline)) uint32_t hal_ring_read(uint32_t ring, unsigned offset)
{
    uint32_t value;

    __asm__ volatile("lw %0, %1(%2)" : "=r"(value) : "i"(offset), "r"(ring));
    return value;
}

static inline __attribute__((always_inline)) void hal_ring_write(uint32_t ring, unsigned offset, uint32_t value)
{
    __asm__ volatile("sw %z0, %1(%2)" : : "rJ"(value), "i"(offset), "r"(ring));
}

static inline const uint32_t *hal_command(uint32_t at)
{
    return (const uint32_t *)(HAL_COMMAND_RAM + at);
}

// A step with nothing to do may look again until there is something.
#define HAL_STAYS 1

// Nothing is read of a slot before it was claimed.
static inline void hal_arrived(void)
{
    __asm__ volatile("" ::: "memory");
}

_Noreturn void hal_stop(void);

#endif
