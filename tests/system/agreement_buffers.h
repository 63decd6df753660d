// SPDX-License-Identifier: Apache-2.0
// Random packet buffers, good and malformed, for two machines whose host memory lies at the same bus addresses.
#ifndef FERRY_TESTS_AGREEMENT_BUFFERS_H
#define FERRY_TESTS_AGREEMENT_BUFFERS_H

#include "device/device.h"
#include "ferry_contract.h"

#define POOL_PAGES    24u
#define POOL_BYTES    (POOL_PAGES * 4096u)
#define LOCAL_BYTES   65536u // What the packets may reach: LOCAL_LIMIT.
#define APERTURE_USED 8u
// The aperture leads to the first pages of the pool and SYSTEM places lie in the others: what a copy between two names
// of the same bytes does is not laid down.
#define SYSTEM_AT    (APERTURE_USED * 4096u)
#define SYSTEM_PAGES (POOL_PAGES - APERTURE_USED)
#define RINGS        4u
#define BATCH        3u // Buffers that one round submits to a ring at once, at most.
#define FAULTS       (2u * BATCH)

struct side {
    struct ferry_link *link;
    struct ferry_gpu *gpu;
    struct ferry_gpu_memory pool, check, commands;
    struct ferry_gpu_memory host, tables; // Where there are page tables: agreement_spaces.h.
    uint32_t local_bytes;                 // LOCAL_LIMIT: more than LOCAL_BYTES where there are.
    uint32_t faults;
};

struct buffer {
    uint32_t words[1024];
    uint32_t count;
    bool first; // Of its round.
};

/// The numbers drawn from here on follow from the seed.
void draw_from(uint64_t seed);
/// Below limit.
uint64_t draw(uint64_t limit);
void put(struct buffer *b, uint32_t word);
void put_wide(struct buffer *b, uint64_t value);
/// What is in it may fail, but writes to no place where the two machines need not agree.
void make_buffer(struct buffer *b, const struct side *side);

#endif
