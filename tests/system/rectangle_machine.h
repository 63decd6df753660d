// SPDX-License-Identifier: Apache-2.0
// A machine with an area of video memory and one of host memory that rectangles reach, and what either must hold.
#ifndef FERRY_TESTS_RECTANGLE_MACHINE_H
#define FERRY_TESTS_RECTANGLE_MACHINE_H

#include "device/device.h"
#include "rectangle_images.h"
#include "system.h"

#define AREA  (6u * 65536u) // Of either memory, from its first byte on; what a rectangle may reach.
#define SPLIT (3u * 65536u) // Where two rings work at once, the second half is the paging ring's.

struct machine {
    struct ferry_link *link;
    struct ferry_gpu *gpu;
    struct ferry_gpu_memory pool, check, commands;
    uint64_t host; // Bus address of the host's area, a multiple of 64 KiB.
    uint8_t *host_bytes;
    uint8_t *expected[2]; // Content of either area.
    uint32_t words;       // Of the buffer that is being made.
    uint32_t number[5];
};

static inline void put(struct machine *m, uint32_t ring, uint32_t word)
{
    ((uint32_t *)m->commands.address)[1024 * ring + m->words++] = word;
}

static inline void put_wide(struct machine *m, uint32_t ring, uint64_t value)
{
    put(m, ring, (uint32_t)value);
    put(m, ring, (uint32_t)(value >> 32));
}

static inline uint64_t address(const struct machine *m, const struct side *side)
{
    return (uint64_t)side->base + (side->kind == SYSTEM ? m->host : 0);
}

static inline void put_rectangle(struct machine *m, uint32_t ring, const struct rectangle *r)
{
    put(m, ring, 12 | 12u << 16);
    put(m, ring, r->from.kind | r->to.kind << 2);
    put(m, ring, r->width);
    put(m, ring, r->rows - 1);
    put_wide(m, ring, address(m, &r->from));
    put_wide(m, ring, address(m, &r->to));
    put(m, ring, (uint32_t)r->from.pitch);
    put(m, ring, layout(&r->from));
    put(m, ring, (uint32_t)r->to.pitch);
    put(m, ring, layout(&r->to));
}

static inline void put_copy(struct machine *m, uint32_t ring, uint32_t places, uint64_t from, uint64_t to,
                            uint32_t bytes)
{
    put(m, ring, FERRY_OPCODE_COPY | 8u << 16);
    put(m, ring, places);
    put(m, ring, bytes);
    put(m, ring, 0);
    put_wide(m, ring, from);
    put_wide(m, ring, to);
}

static inline void submit(struct machine *m, uint32_t ring)
{
    struct ferry_gpu_entry entry = {.buffer_address = m->commands.bus + ring * 4096ull, .buffer_bytes = 4 * m->words};

    ok(ferry_gpu_ring_submit(m->gpu, ring, &entry, &m->number[ring]));
    m->words = 0;
}

static inline void finish(struct machine *m, uint32_t ring)
{
    ok(ferry_gpu_wait_retired(m->gpu, ring, m->number[ring], 0));
}

static inline void expect(struct machine *m, const struct rectangle *r)
{
    uint8_t *bytes = malloc((size_t)r->width * r->rows);

    for (uint32_t i = 0; i < r->width * r->rows; i++)
        bytes[i] = m->expected[r->from.kind][place(&r->from, i % r->width, i / r->width)];
    for (uint32_t i = 0; i < r->width * r->rows; i++)
        m->expected[r->to.kind][place(&r->to, i % r->width, i / r->width)] = bytes[i];
    free(bytes);
}

static inline void show(const char *name, const struct rectangle *r)
{
    const struct side *sides[2] = {&r->from, &r->to};

    print_error("%s: %u bytes by %u rows\n", name, r->width, r->rows);
    for (int i = 0; i < 2; i++)
        print_error("  %s: kind %u, elements of %u, tiles of 2^%u, base %llx, pitch %lld, at %u, %u\n",
                    i ? "to" : "from", sides[i]->kind, sides[i]->element ? sides[i]->element->bytes : 0,
                    sides[i]->tile_log2, (unsigned long long)sides[i]->base, (long long)sides[i]->pitch, sides[i]->x,
                    sides[i]->y);
}

static inline bool as_expected(struct machine *m)
{
    const uint8_t *content[2] = {m->check.address, m->host_bytes};
    bool good = true;

    put_copy(m, 0, LOCAL | SYSTEM << 2, 0, m->check.bus, AREA);
    submit(m, 0);
    finish(m, 0);
    for (int kind = 0; kind < 2; kind++)
        for (uint32_t i = 0; i < AREA && good; i++)
            if (content[kind][i] != m->expected[kind][i]) {
                print_error("kind %d, byte %x: %02x, not %02x\n", kind, i, content[kind][i], m->expected[kind][i]);
                good = false;
            }
    return good;
}

static inline bool take_fault(struct machine *m, struct ferry_fault *fault)
{
    bool found;

    memset(fault, 0, sizeof *fault);
    fault->size = sizeof *fault;
    ok(ferry_gpu_next_fault(m->gpu, fault, &found));
    return found;
}

static inline int open_machine(void **state)
{
    static const uint32_t rights[] = {7, 1, 0};
    struct machine *m = calloc(1, sizeof *m);
    struct ferry_link_config config = {.size = sizeof config, .seed = seed, .random_stall_percent = seed % 3 * 12};

    drawn = draw_state(seed);
    ok(ferry_link_open(backend, &config, &m->link));
    ok(ferry_gpu_open(m->link, NULL, &m->gpu));
    ok(ferry_gpu_memory_allocate(m->gpu, AREA + 65536, 0, &m->pool));
    ok(ferry_gpu_memory_allocate(m->gpu, AREA, 0, &m->check));
    ok(ferry_gpu_memory_allocate(m->gpu, 5 * 4096, 0, &m->commands));
    for (uint32_t ring = 0; ring < 3; ring++)
        ok(ferry_gpu_ring_create(m->gpu, ring, 4, rights[ring]));
    m->host = (m->pool.bus + 65535) & ~65535ull;
    m->host_bytes = (uint8_t *)m->pool.address + (m->host - m->pool.bus);
    for (int kind = 0; kind < 2; kind++) {
        m->expected[kind] = malloc(AREA);
        for (uint32_t i = 0; i < AREA; i++)
            m->expected[kind][i] = (uint8_t)draw(256);
    }
    memcpy(m->check.address, m->expected[LOCAL], AREA);
    memcpy(m->host_bytes, m->expected[SYSTEM], AREA);
    put_copy(m, 0, SYSTEM | LOCAL << 2, m->check.bus, 0, AREA);
    submit(m, 0);
    finish(m, 0);
    *state = m;
    return 0;
}

static inline int close_machine(void **state)
{
    struct machine *m = *state;

    free(m->expected[0]);
    free(m->expected[1]);
    ferry_gpu_memory_free(m->gpu, &m->commands);
    ferry_gpu_memory_free(m->gpu, &m->check);
    ferry_gpu_memory_free(m->gpu, &m->pool);
    ferry_gpu_close(m->gpu);
    free(m);
    return 0;
}

#endif
