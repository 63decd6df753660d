// SPDX-License-Identifier: Apache-2.0
// Buffers in command slots: claimed, decoded, ended.
#ifndef FERRY_FIRMWARE_QUEUES_H
#define FERRY_FIRMWARE_QUEUES_H

#include <stdint.h>

// slots: number of command slots that the hardware has, 1 to FERRY_SLOTS.
void ferry_queues_start(uint32_t slots, uint32_t rings, uint32_t slot_bytes_log2);

// Tells the host of what went wrong, and decodes what there is to decode as far as it goes.
void ferry_firmware_step(void);

// On the core: that again and again.
_Noreturn void ferry_firmware_run(void);

#endif
