// SPDX-License-Identifier: Apache-2.0
// A device with rings, command buffers and scattered host pages, for benches that page over a link.
#ifndef FERRY_TESTS_BENCH_MACHINE_H
#define FERRY_TESTS_BENCH_MACHINE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "ferry_contract.h"

#define RING_PAGING  0u
#define RING_USER    1u
#define BUFFER_BYTES 4096u
#define BUFFERS      24u
#define PAGES        1024u // Of host memory.

#define CHECK(call) check((call), #call)
static inline void check(int error, const char *call)
{
    if (error != FERRY_OK) {
        fprintf(stderr, "bench: %s: %s\n", call, ferry_error_text(error));
        exit(1);
    }
}

struct machine {
    struct ferry_gpu *gpu;
    struct ferry_gpu_memory buffer[BUFFERS];
    uint32_t words[BUFFERS];
    unsigned char *host;
    uint64_t bus[PAGES];                 // Of host page n, in an order without neighbours.
    const unsigned char *page_of[PAGES]; // Where page n is.
};

/// The link becomes the machine's.
static inline void start_machine(struct machine *machine, struct ferry_link *link)
{
    uint64_t bus[PAGES];
    memset(machine, 0, sizeof(*machine));
    CHECK(ferry_gpu_open(link, NULL, &machine->gpu));
    CHECK(ferry_gpu_ring_create(machine->gpu, RING_PAGING, 6, 7));
    CHECK(ferry_gpu_ring_create(machine->gpu, RING_USER, 6, FERRY_GPU_RIGHT_SYSTEM));
    for (uint32_t n = 0; n < BUFFERS; n++) {
        CHECK(ferry_gpu_memory_allocate(machine->gpu, BUFFER_BYTES, 0, &machine->buffer[n]));
    }
    machine->host = aligned_alloc(4096, PAGES * 4096);
    if (machine->host == NULL) {
        exit(1);
    }
    for (uint32_t n = 0; n < PAGES * 4096; n++) {
        machine->host[n] = (unsigned char)(n * 31 + n / 4099);
    }
    CHECK(ferry_gpu_dma_map(machine->gpu, machine->host, PAGES, 0, bus));
    for (uint32_t n = 0; n < PAGES; n++) {
        machine->bus[n] = bus[n * 421u % PAGES];
        machine->page_of[n] = machine->host + 4096 * (size_t)(n * 421u % PAGES);
    }
}

static inline void close_machine(struct machine *machine)
{
    struct ferry_link_counts counts;
    ferry_gpu_link_counts(machine->gpu, &counts);
    if (counts.unmapped_accesses != 0) {
        fprintf(stderr, "bench: the device left its pages\n");
        exit(1);
    }
    ferry_gpu_close(machine->gpu);
    free(machine->host);
}

static inline void put64(uint32_t *at, uint64_t value)
{
    at[0] = (uint32_t)value;
    at[1] = (uint32_t)(value >> 32);
}

static inline uint32_t *packet(struct machine *machine, uint32_t buffer, uint32_t opcode, uint32_t places,
                               uint32_t words)
{
    uint32_t *at = (uint32_t *)machine->buffer[buffer].address + machine->words[buffer];
    if (4 * (machine->words[buffer] + words) > BUFFER_BYTES) {
        fprintf(stderr, "bench: a buffer is too small for its packets\n");
        exit(1);
    }
    memset(at, 0, 4 * words);
    at[0] = opcode | 1u << 8 | words << 16; // Unordered: no packet here reads what another writes.
    at[1] = places;
    machine->words[buffer] += words;
    return at;
}

static inline void copy(struct machine *machine, uint32_t buffer, uint64_t source, uint64_t destination, uint32_t bytes)
{
    uint32_t *at =
        packet(machine, buffer, FERRY_OPCODE_COPY, FERRY_ADDRESS_KIND_LOCAL | FERRY_ADDRESS_KIND_LOCAL << 2, 8);
    at[2] = bytes;
    put64(at + 4, source);
    put64(at + 6, destination);
}

static inline void copy_pages(struct machine *machine, uint32_t buffer, bool in, uint32_t first, uint32_t count)
{
    const uint32_t kind = FERRY_ADDRESS_KIND_SYSTEM, side = in ? FERRY_LIST_SIDE_SOURCE : FERRY_LIST_SIDE_DESTINATION;
    uint32_t *at = packet(machine, buffer, FERRY_OPCODE_COPY_PAGES, kind << (in ? 0 : 2) | side << 4, 6 + 2 * count);
    at[2] = count * 4096;
    put64(at + 4, (uint64_t)first * 4096);
    for (uint32_t n = 0; n < count; n++) {
        put64(at + 6 + 2 * n, machine->bus[first + n]);
    }
}

static inline uint32_t submit(struct machine *machine, uint32_t ring, uint32_t buffer)
{
    const struct ferry_gpu_entry entry = {.buffer_address = machine->buffer[buffer].bus,
                                          .buffer_bytes = 4 * machine->words[buffer],
                                          .interrupt = true,
                                          .fence_value = buffer + 1};
    uint32_t number;
    CHECK(ferry_gpu_ring_submit(machine->gpu, ring, &entry, &number));
    return number;
}

/// Wait for the entry; its fence record's time.
static inline uint64_t retired_at(struct machine *machine, uint32_t ring, uint32_t number)
{
    struct ferry_gpu_fence fence;
    CHECK(ferry_gpu_wait_retired(machine->gpu, ring, number, 0));
    CHECK(ferry_gpu_ring_completed(machine->gpu, ring, &fence));
    if (fence.status != FERRY_BUFFER_STATUS_SUCCESS || fence.retired != number) {
        fprintf(stderr, "bench: entry %" PRIu32 " ended with status %" PRIu32 "\n", number, fence.status);
        exit(1);
    }
    return fence.time;
}

#endif
