// SPDX-License-Identifier: Apache-2.0
// What the two halves of decoding share: decode.c, which takes any packet, and fast.c, which takes the common ones.
#ifndef FERRY_FIRMWARE_DECODE_H
#define FERRY_FIRMWARE_DECODE_H

#include "firmware.h"

#define UNORDERED            FERRY_PACKET_HEADER_UNORDERED_MASK
#define HEADER(NAME)         ((uint32_t)FERRY_PACKET_##NAME##_SIZE / 4 << FERRY_PACKET_HEADER_WORDS_SHIFT | FERRY_OPCODE_##NAME)
#define WORD(NAME)           (FERRY_PACKET_##NAME / 4)
#define PLACES(NAME, VALUE)  FERRY_PUT(FERRY_PACKET_PLACES_##NAME, (uint32_t)(VALUE))
#define CONTROL(NAME, VALUE) FERRY_PUT(FERRY_CORE_JOB_CONTROL_##NAME, (uint32_t)(VALUE))

// What the loop knows of the buffer.
struct cursor {
    const uint32_t *packet, *end;
    uint32_t place; // JOB_CONTROL's slot and packet_offset.
};

static inline const uint32_t *bytes_after(const uint32_t *packet, uint32_t bytes)
{
    return (const uint32_t *)((uintptr_t)packet + bytes);
}

// Sets what follows from the hardware's sizes.
void ferry_fast_start(void);

// Sets the limits for a buffer. ring: handle of its ring's registers.
void ferry_fast_limits(uint32_t ring);

// Takes packets from the cursor on until one is for the full check, there is no room for its job, or the buffer ends.
// bytes: length of the buffer. Returns how many packets it took.
uint32_t ferry_fast_packets(struct cursor *at, uint32_t bytes);

#endif
