// SPDX-License-Identifier: Apache-2.0
// What the two halves of decoding share: decode.c, which takes any packet, and fast.h, which takes the common ones.
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

// Takes the packet at the cursor the long way, of the flight's buffer. There is room for its job. False: the buffer
// ends here, by a refusal, which is left in flight->refusal, or since an earlier packet came to grief.
bool ferry_decode_full(struct cursor *at, struct ferry_flight *flight);

#endif
