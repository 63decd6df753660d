// SPDX-License-Identifier: Apache-2.0
// Packets as words, for programs that have places of their own in mind.
#ifndef FERRY_TESTS_TABLE_PACKETS_H
#define FERRY_TESTS_TABLE_PACKETS_H

#include "agreement_buffers.h"

static inline void put_copy(struct buffer *b, uint32_t from, uint64_t source, uint32_t to, uint64_t destination,
                            uint32_t bytes, uint32_t flags)
{
    put(b, FERRY_OPCODE_COPY | 8u << 16 | flags);
    put(b, from | to << 2);
    put(b, bytes);
    put(b, 0);
    put_wide(b, source);
    put_wide(b, destination);
}

static inline void put_read(struct buffer *b, uint64_t source, uint32_t bytes, uint32_t flags)
{
    put(b, FERRY_OPCODE_READ | 6u << 16 | flags);
    put(b, 3);
    put(b, bytes);
    put(b, 0);
    put_wide(b, source);
}

// FILL with a pattern of eight bytes, or WRITE, which takes that many at most.
static inline void put_pattern(struct buffer *b, uint32_t opcode, uint32_t kind, uint64_t destination, uint32_t bytes,
                               uint64_t pattern, uint32_t flags)
{
    put(b, opcode | 8u << 16 | flags);
    put(b, kind << 2 | (opcode == FERRY_OPCODE_FILL ? 3u << 6 : 0));
    put(b, bytes);
    put(b, 0);
    put_wide(b, destination);
    put_wide(b, pattern);
}

static inline void put_fence(struct buffer *b, uint64_t destination, uint64_t value)
{
    put(b, FERRY_OPCODE_FENCE | 6u << 16);
    put(b, 3u << 2);
    put_wide(b, destination);
    put_wide(b, value);
}

#endif
