// SPDX-License-Identifier: Apache-2.0
// A model with a few pages of host memory around it, one packet buffer, and helpers that spell packets out by hand:
// numbers of the contract stand here as numbers, so that a wrong generated constant would show.
#ifndef FERRY_TESTS_MODEL_RIG_H
#define FERRY_TESTS_MODEL_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "model/model.h"

#define HOST_BASE      0x40000000ull
#define HOST_PAGES     32u
#define LOCAL_BYTES    (1u << 20)
#define APERTURE_PAGES 16u
// Pages of the host that the device's own structures use.
#define RING_PAGE(n) (HOST_BASE + (uint64_t)(n)*4096)
#define FENCE_PAGE   (HOST_BASE + 5 * 4096)
#define LOG_PAGE     (HOST_BASE + 6 * 4096)
#define BUFFER_PAGE  (HOST_BASE + 7 * 4096)
#define DATA_PAGE    (HOST_BASE + 8 * 4096) // And everything behind it.

enum { LOCAL = 0, SYSTEM = 1, APERTURE = 2, VIRTUAL = 3 };
enum {
    PACKET_LENGTH = 1,
    PACKET_OPCODE,
    PACKET_RESERVED,
    ADDRESS_KIND,
    RANGE,
    PROTECTED,
    RIGHTS,
    BUFFER_SIZE,
    BUFFER_FETCH,
    HOST_UNSUPPORTED,
    HOST_ABORT,
    COMPLETION_TIMEOUT,
    LOCAL_ERROR,
    APERTURE_INVALID,
    ENGINE_RESET = 16,
};

struct rig {
    struct ferry_model *model;
    uint8_t host[HOST_PAGES * 4096];
    uint32_t unmapped, interrupts, refused, refused_tag;
    uint64_t refused_address;
    uint32_t produced[5];
    uint32_t buffer_bytes;
};

struct record {
    uint32_t sequence, kind, ring, address_kind, write, packet_offset, header, written;
    uint64_t address, fence_value, buffer_address, time;
};
struct fence {
    uint64_t value, time;
    uint32_t retired, status, faults, last_faulted;
};

static inline void *rig_memory(void *context, uint64_t address, size_t bytes, bool write)
{
    struct rig *rig = context;

    (void)write;
    if (address < HOST_BASE || bytes > sizeof rig->host || address - HOST_BASE > sizeof rig->host - bytes) {
        rig->unmapped++;
        return NULL;
    }
    return rig->host + (address - HOST_BASE);
}

static inline void rig_refused(void *context, uint64_t address, uint32_t tag)
{
    struct rig *rig = context;

    rig->refused++;
    rig->refused_address = address;
    rig->refused_tag = tag;
}

static inline void rig_interrupt(void *context)
{
    ((struct rig *)context)->interrupts++;
}

static inline uint8_t *host_at(struct rig *rig, uint64_t bus)
{
    return rig->host + (bus - HOST_BASE);
}

static inline void write64(struct rig *rig, uint32_t offset, uint64_t value)
{
    ferry_model_write(rig->model, offset, (uint32_t)value);
    ferry_model_write(rig->model, offset + 4, (uint32_t)(value >> 32));
}

static inline uint64_t read64(struct rig *rig, uint32_t offset)
{
    return ferry_model_read(rig->model, offset) | (uint64_t)ferry_model_read(rig->model, offset + 4) << 32;
}

static inline void rig_ring(struct rig *rig, uint32_t ring, uint32_t rights)
{
    uint32_t at = 0x100 + ring * 0x40;

    write64(rig, at + 0x00, RING_PAGE(ring));
    ferry_model_write(rig->model, at + 0x08, 4);
    ferry_model_write(rig->model, at + 0x0c, rights);
    write64(rig, at + 0x20, FENCE_PAGE + 64 * ring);
    ferry_model_write(rig->model, at + 0x1c, 1);
}

static inline struct rig *rig_make(const struct ferry_model_options *options)
{
    struct rig *rig = calloc(1, sizeof *rig);
    struct ferry_model_options defaults = {.local_bytes = LOCAL_BYTES, .aperture_pages = APERTURE_PAGES};
    struct ferry_model_host host = {rig, rig_memory, rig_refused, rig_interrupt};

    assert_non_null(rig);
    rig->model = ferry_model_create(options ? options : &defaults, &host);
    assert_non_null(rig->model);
    ferry_model_write(rig->model, 0x50, 0x60000);
    write64(rig, 0xa0, LOG_PAGE);
    ferry_model_write(rig->model, 0xa8, 3);
    ferry_model_write(rig->model, 0x84, 0x3ff);
    ferry_model_write(rig->model, 0x20, 1);
    rig_ring(rig, 0, 7);
    for (uint32_t ring = 1; ring < 5; ring++)
        rig_ring(rig, ring, ring == 4 ? 0 : 1);
    ferry_model_run(rig->model, 1000);
    assert_int_equal(ferry_model_read(rig->model, 0x2c), 2);
    return rig;
}

static inline void rig_free(struct rig *rig)
{
    ferry_model_destroy(rig->model);
    free(rig);
}

static inline int setup(void **state)
{
    *state = rig_make(NULL);
    return 0;
}

static inline int teardown(void **state)
{
    rig_free(*state);
    return 0;
}

// ---- Packets ----------------------------------------------------------------------------------------------------

static inline void put32(struct rig *rig, uint32_t value)
{
    memcpy(host_at(rig, BUFFER_PAGE) + rig->buffer_bytes, &value, 4);
    rig->buffer_bytes += 4;
}

static inline void put64(struct rig *rig, uint64_t value)
{
    put32(rig, (uint32_t)value);
    put32(rig, (uint32_t)(value >> 32));
}

static inline void head(struct rig *rig, uint32_t opcode, uint32_t words, uint32_t places)
{
    put32(rig, opcode | words << 16);
    put32(rig, places);
}

static inline void copy(struct rig *rig, uint32_t source_kind, uint64_t source, uint32_t destination_kind,
                        uint64_t destination, uint32_t bytes)
{
    head(rig, 1, 8, source_kind | destination_kind << 2);
    put32(rig, bytes);
    put32(rig, 0);
    put64(rig, source);
    put64(rig, destination);
}

static inline void fill(struct rig *rig, uint32_t kind, uint64_t destination, uint32_t bytes, uint64_t pattern,
                        uint32_t pattern_log2)
{
    head(rig, 3, 8, kind << 2 | pattern_log2 << 6);
    put32(rig, bytes);
    put32(rig, 0);
    put64(rig, destination);
    put64(rig, pattern);
}

static inline void write_value(struct rig *rig, uint32_t kind, uint64_t destination, uint32_t bytes, uint64_t value)
{
    head(rig, 5, 8, kind << 2);
    put32(rig, bytes);
    put32(rig, 0);
    put64(rig, destination);
    put64(rig, value);
}

static inline void read_value(struct rig *rig, uint32_t kind, uint64_t source, uint32_t bytes)
{
    head(rig, 4, 6, kind);
    put32(rig, bytes);
    put32(rig, 0);
    put64(rig, source);
}

static inline void pages(struct rig *rig, uint32_t list, uint32_t linear_kind, uint64_t address, uint32_t first_offset,
                         uint32_t bytes, const uint64_t *list_pages, uint32_t count)
{
    head(rig, 2, 6 + 2 * count, list == 1 ? 1 | linear_kind << 2 | 1 << 4 : linear_kind | 1 << 2 | 2 << 4);
    put32(rig, bytes);
    put32(rig, first_offset);
    put64(rig, address);
    for (uint32_t i = 0; i < count; i++)
        put64(rig, list_pages[i]);
}

static inline void map(struct rig *rig, uint32_t first, const uint64_t *list_pages, uint32_t count, bool snoop)
{
    head(rig, 6, 4 + 2 * count, (uint32_t)snoop << 8);
    put32(rig, first);
    put32(rig, count);
    for (uint32_t i = 0; i < count; i++)
        put64(rig, list_pages[i]);
}

static inline void unmap(struct rig *rig, uint32_t first, uint32_t count, uint64_t dummy)
{
    head(rig, 7, 6, 0);
    put32(rig, first);
    put32(rig, count);
    put64(rig, dummy);
}

static inline void signal_fence(struct rig *rig, uint32_t kind, uint64_t address, uint64_t value)
{
    head(rig, 8, 6, kind << 2);
    put64(rig, address);
    put64(rig, value);
}

static inline void discard(struct rig *rig, uint64_t address, uint32_t bytes)
{
    head(rig, 9, 6, 0);
    put32(rig, bytes);
    put32(rig, 0);
    put64(rig, address);
}

// ---- Submitting -------------------------------------------------------------------------------------------------

static inline void entry(struct rig *rig, uint32_t ring, uint64_t buffer, uint32_t bytes, uint32_t flags,
                         uint64_t fence_value, uint64_t reserved)
{
    uint8_t *at = host_at(rig, RING_PAGE(ring)) + 32 * (rig->produced[ring] % 16);

    memcpy(at, &buffer, 8);
    memcpy(at + 8, &bytes, 4);
    memcpy(at + 12, &flags, 4);
    memcpy(at + 16, &fence_value, 8);
    memcpy(at + 24, &reserved, 8);
    ferry_model_write(rig->model, 0x100 + ring * 0x40 + 0x10, ++rig->produced[ring]);
}

static inline struct fence fence_of(struct rig *rig, uint32_t ring)
{
    struct fence fence;
    const uint8_t *at = host_at(rig, FENCE_PAGE + 64 * ring);

    memcpy(&fence.value, at, 8);
    memcpy(&fence.time, at + 8, 8);
    memcpy(&fence.retired, at + 16, 4);
    memcpy(&fence.status, at + 20, 4);
    memcpy(&fence.faults, at + 24, 4);
    memcpy(&fence.last_faulted, at + 28, 4);
    return fence;
}

static inline struct record record_at(struct rig *rig, uint32_t n)
{
    struct record r;
    const uint8_t *at = host_at(rig, LOG_PAGE) + 64 * (n % 8);
    uint32_t what;

    memcpy(&r.sequence, at, 4);
    memcpy(&what, at + 4, 4);
    r.kind = what & 0xff;
    r.ring = what >> 8 & 15;
    r.address_kind = what >> 12 & 3;
    r.write = what >> 14 & 1;
    r.packet_offset = what >> 16;
    memcpy(&r.time, at + 8, 8);
    memcpy(&r.address, at + 16, 8);
    memcpy(&r.fence_value, at + 24, 8);
    memcpy(&r.buffer_address, at + 32, 8);
    memcpy(&r.header, at + 40, 4);
    memcpy(&r.written, at + 44, 4);
    return r;
}

static inline void run_dry(struct rig *rig)
{
    for (int i = 0; i < 1000 && !ferry_model_idle(rig->model); i++)
        ferry_model_run(rig->model, 10000);
    assert_true(ferry_model_idle(rig->model));
}

// Run the buffer that was put together on a ring and give its status; the next buffer starts empty.
static inline uint32_t submit(struct rig *rig, uint32_t ring)
{
    uint32_t before = fence_of(rig, ring).retired;

    entry(rig, ring, BUFFER_PAGE, rig->buffer_bytes, 1, 0xF00D0000u + before, 0);
    run_dry(rig);
    rig->buffer_bytes = 0;
    assert_int_equal(fence_of(rig, ring).retired, before + 1);
    assert_int_equal(fence_of(rig, ring).value, 0xF00D0000u + before);
    return fence_of(rig, ring).status;
}

// Run it, expect a fault, and give its record.
static inline struct record fault_of(struct rig *rig, uint32_t ring)
{
    uint32_t produced = ferry_model_read(rig->model, 0xac), faults = fence_of(rig, ring).faults;

    assert_int_equal(submit(rig, ring), 1);
    assert_int_equal(ferry_model_read(rig->model, 0xac), produced + 1);
    assert_int_equal(fence_of(rig, ring).faults, faults + 1);
    assert_int_equal(fence_of(rig, ring).last_faulted, fence_of(rig, ring).retired);
    ferry_model_write(rig->model, 0xb0, produced + 1);
    struct record r = record_at(rig, produced);
    assert_int_equal(r.sequence, produced + 1);
    assert_int_equal(r.ring, ring);
    return r;
}

#endif
