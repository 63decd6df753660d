// SPDX-License-Identifier: Apache-2.0
// The hal of a native build: whoever links the firmware provides these, as the tests' double of the hardware does.
#ifndef FERRY_FIRMWARE_HAL_NATIVE_H
#define FERRY_FIRMWARE_HAL_NATIVE_H

uint32_t hal_read(unsigned offset);
void hal_write(unsigned offset, uint32_t value);
const uint32_t *hal_command(uint32_t at);
_Noreturn void hal_stop(void);

static inline uint32_t hal_ring(unsigned offset)
{
    return offset;
}

static inline uint32_t hal_ring_read(uint32_t ring, unsigned offset)
{
    return hal_read(ring + offset);
}

static inline void hal_ring_write(uint32_t ring, unsigned offset, uint32_t value)
{
    hal_write(ring + offset, value);
}

// Nothing changes during a step of the double's.
#define HAL_STAYS 0

static inline void hal_arrived(void) {}

#endif
