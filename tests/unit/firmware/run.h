// SPDX-License-Identifier: Apache-2.0
// Running the firmware over the double, and building packets. The native tests and those on the core share the
// scenarios of scenarios.c; each brings its own run_machine().
#ifndef FERRY_TESTS_FIRMWARE_RUN_H
#define FERRY_TESTS_FIRMWARE_RUN_H

#include "double.h"

// Starts the firmware and lets it run until everything submitted is retired, the firmware stops, or patience (steps of
// time) is at an end. May be called again after more was submitted: the firmware goes on then. False: patience ended.
bool run_machine(uint64_t patience);

// The next run_machine() starts the firmware from reset.
void run_from_reset(void);

// The machine may have page tables and rectangles: the sequencer is the double's.
bool run_may_have_more(void);

// A buffer under construction.
struct buffer {
    uint32_t words[1024];
    unsigned count;
};

void put_nop(struct buffer *b, uint32_t words);
void put_copy(struct buffer *b, uint32_t flags, uint32_t places, uint32_t bytes, uint64_t source, uint64_t destination);
// pages is the list's length; page addresses are made up.
void put_copy_pages(struct buffer *b, uint32_t flags, uint32_t places, uint32_t bytes, uint32_t first_offset,
                    uint64_t address, unsigned pages);
void put_fill(struct buffer *b, uint32_t flags, uint32_t places, uint32_t bytes, uint64_t destination,
              uint64_t pattern);
void put_read(struct buffer *b, uint32_t flags, uint32_t places, uint32_t bytes, uint64_t source);
void put_write(struct buffer *b, uint32_t flags, uint32_t places, uint32_t bytes, uint64_t destination, uint64_t value);
void put_map(struct buffer *b, uint32_t places, uint32_t first, uint32_t count);
void put_unmap(struct buffer *b, uint32_t first, uint32_t count, uint64_t dummy);
void put_fence(struct buffer *b, uint32_t places, uint64_t address, uint64_t value);
void put_discard(struct buffer *b, uint32_t bytes, uint64_t address);
void put_root(struct buffer *b, uint32_t places, uint32_t space, uint64_t table);
void put_forget(struct buffer *b, uint32_t what, uint64_t address);

// A side of a rectangle as the packet names it.
struct rectangle_side {
    uint64_t address;
    int32_t pitch;
    uint32_t layout;
};
void put_rectangle(struct buffer *b, uint32_t flags, uint32_t places, uint32_t width, uint32_t rows,
                   const struct rectangle_side *from, const struct rectangle_side *to);

#define UNORDERED     FERRY_PACKET_HEADER_UNORDERED_MASK
#define PROTECTED     FERRY_PACKET_HEADER_PROTECTED_MASK
#define FROM(KIND)    FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, (uint32_t)FERRY_ADDRESS_KIND_##KIND)
#define TO(KIND)      FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, (uint32_t)FERRY_ADDRESS_KIND_##KIND)
#define LIST(SIDE)    FERRY_PUT(FERRY_PACKET_PLACES_LIST, (uint32_t)FERRY_LIST_SIDE_##SIDE)
#define PATTERN(LOG2) FERRY_PUT(FERRY_PACKET_PLACES_PATTERN_LOG2, (uint32_t)(LOG2))
#define SNOOP         FERRY_PACKET_PLACES_SNOOP_MASK

// Scenarios: null when all is well, else what is wrong.
const char *scenario_every_packet(void);
const char *scenario_rings_and_order(void);
const char *scenario_faults_and_reset(void);
const char *scenario_reset_at_any_step(void);
const char *scenario_fault_with_jobs_behind_it(void);
// One random run. What it does follows from the seed alone.
const char *scenario_random(uint64_t seed);
// A random buffer: valid packets, mutated packets or garbage, as the seed decides.
void random_buffer(uint64_t *state, struct buffer *b);
uint64_t random_next(uint64_t *state);

#endif
