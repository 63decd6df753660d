// SPDX-License-Identifier: Apache-2.0
// What the firmware needs of a machine: core registers, command RAM, and a way to stop. On the soft core these are
// plain loads and stores; in the tests they are calls into a double of the hardware. Nothing else in firmware/ knows
// which.
//
//   uint32_t hal_read(unsigned offset)             Value of the core register at a FERRY_CORE_ offset.
//   void hal_write(unsigned offset, uint32_t v)    Writes it. Writes take effect in program order, and before later
//                                                  reads.
//   uint32_t hal_ring(unsigned offset)             Handle of the ring's registers that begin at the offset, for
//   uint32_t hal_ring_read(uint32_t ring, unsigned offset), void hal_ring_write(uint32_t ring, unsigned offset,
//   uint32_t v)                                    which take a FERRY_CORE_RING_ offset known at compile time.
//   const uint32_t *hal_command(uint32_t at)       Command RAM from byte offset at on (a multiple of 4).
//   void hal_arrived(void)                         What was read of command RAM before does not count any more.
//   void hal_stop(void)                            Never comes back.
#ifndef FERRY_FIRMWARE_HAL_H
#define FERRY_FIRMWARE_HAL_H

#include <stdbool.h>
#include <stdint.h>

#include "ferry_contract.h"

#ifdef __riscv
#include "hal_riscv.h"
#else
#include "hal_native.h"
#endif

#endif
