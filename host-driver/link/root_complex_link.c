// SPDX-License-Identifier: Apache-2.0
// A link's calls made into packets; open and close.
#include <stdlib.h>
#include <string.h>

#include "link/root_complex_state.h"

// Packets to the device wait in the transport; beyond so many words the host runs the device before it sends more. The
// answers to the device's own reads wait there too, and a device that pages in keeps all of them waiting: up to 64
// reads of 512 bytes, with headers. They are not to hold back the host's writes.
#define ANSWER_WORDS (64u * 160u)
#define QUEUE_WORDS  (2048u + ANSWER_WORDS)

static struct ferry_root_complex *of(struct ferry_link *link)
{
    return (struct ferry_root_complex *)link;
}

// ---- Reads and writes of the host's ------------------------------------------------------------------------------

static bool inside(const struct ferry_root_complex *rc, enum ferry_bar bar, uint64_t offset, size_t bytes)
{
    return (bar == FERRY_BAR_REGISTERS || bar == FERRY_BAR_WINDOW) && offset <= rc->bar_bytes[bar] &&
           bytes <= rc->bar_bytes[bar] - offset;
}

/// Bytes from `address` to the end of the payload-sized block that it lies in.
static uint32_t block_bytes(const struct ferry_root_complex *rc, uint64_t address, size_t left)
{
    uint32_t block = rc->max_payload - (uint32_t)(address % rc->max_payload);
    return left < block ? (uint32_t)left : block;
}

static int read_block(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, void *data, size_t bytes)
{
    struct ferry_root_complex *rc = of(link);
    if (!inside(rc, bar, offset, bytes)) {
        return FERRY_ERROR_RANGE;
    }
    uint64_t address = rc->bar_base[bar] + offset;
    unsigned char *place = data;
    uint32_t tags[FERRY_RC_TAGS];
    size_t started = 0;
    size_t finished = 0;
    int result = FERRY_OK;
    while (bytes != 0 || finished != started) {
        bool may_start = bytes != 0 && result == FERRY_OK && (started == finished || ferry_rc_may_read(rc));
        if (!may_start && started == finished) {
            break;
        }
        if (!may_start) {
            int error = ferry_rc_finish_read(rc, tags[finished++ % FERRY_RC_TAGS]);
            result = result == FERRY_OK ? error : result;
            continue;
        }
        struct ferry_tlp tlp = {.kind = FERRY_TLP_MEMORY_READ, .address = address & ~3ull};
        uint32_t piece = block_bytes(rc, address, bytes);
        tlp.length = ferry_tlp_enables(address, piece, &tlp.first_enable, &tlp.last_enable);
        result = ferry_rc_start_read(rc, &tlp, place, piece, &tags[started % FERRY_RC_TAGS]);
        started += result == FERRY_OK;
        address += piece;
        place += piece;
        bytes -= piece;
    }
    return result;
}

static int write_block(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, const void *data, size_t bytes)
{
    struct ferry_root_complex *rc = of(link);
    if (!inside(rc, bar, offset, bytes)) {
        return FERRY_ERROR_RANGE;
    }
    uint64_t address = rc->bar_base[bar] + offset;
    const unsigned char *place = data;
    const uint64_t start = rc->transport.cycles(rc->transport.context);
    uint32_t payload[FERRY_TLP_MAX_WORDS];
    while (bytes != 0) {
        struct ferry_tlp tlp = {.kind = FERRY_TLP_MEMORY_WRITE,
                                .requester = FERRY_RC_REQUESTER,
                                .address = address & ~3ull,
                                .payload = payload};
        uint32_t piece = block_bytes(rc, address, bytes);
        tlp.length = ferry_tlp_enables(address, piece, &tlp.first_enable, &tlp.last_enable);
        payload[0] = payload[tlp.length - 1] = 0;
        memcpy((unsigned char *)payload + address % 4, place, piece);
        int error = ferry_rc_send(rc, &tlp);
        if (error != FERRY_OK) {
            return error;
        }
        address += piece;
        place += piece;
        bytes -= piece;
        while (rc->transport.queued(rc->transport.context) > QUEUE_WORDS) {
            if (!ferry_rc_run(rc, 64)) {
                return FERRY_ERROR_DEVICE_LOST;
            }
            if (rc->transport.cycles(rc->transport.context) - start > FERRY_ROOT_COMPLEX_TIMEOUT + 64 * bytes) {
                return FERRY_ERROR_TIMEOUT;
            }
        }
    }
    return FERRY_OK;
}

static int read32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    *value = 0xffffffffu;
    if (offset % 4 != 0) {
        return FERRY_ERROR_RANGE;
    }
    uint32_t word;
    int error = read_block(link, bar, offset, &word, 4);
    if (error == FERRY_OK) {
        *value = word;
    }
    return error;
}

static int write32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    return offset % 4 != 0 ? FERRY_ERROR_RANGE : write_block(link, bar, offset, &value, 4);
}

// ---- The rest of the table --------------------------------------------------------------------------------------

static int dma_map(struct ferry_link *link, void *memory, size_t pages, unsigned flags, uint64_t *bus)
{
    return ferry_dma_map_add(of(link)->map, memory, pages, flags, bus);
}

static void dma_unmap(struct ferry_link *link, const uint64_t *bus, size_t pages)
{
    ferry_dma_map_remove(of(link)->map, bus, pages);
}

static int pump(struct ferry_link *link, uint64_t cycles, unsigned *reasons)
{
    struct ferry_root_complex *rc = of(link);
    ferry_rc_drain(rc);
    while (rc->reasons == 0 && cycles != 0) {
        uint64_t ran = rc->transport.run(rc->transport.context, cycles);
        ferry_rc_drain(rc);
        if (ran == 0) {
            return FERRY_ERROR_DEVICE_LOST;
        }
        cycles -= ran < cycles ? ran : cycles;
    }
    if (reasons != NULL) {
        *reasons = rc->reasons;
    }
    rc->reasons = 0;
    return FERRY_OK;
}

static uint32_t take_interrupts(struct ferry_link *link)
{
    uint32_t interrupts = of(link)->interrupts;
    of(link)->interrupts = 0;
    return interrupts;
}

static uint64_t cycles(struct ferry_link *link)
{
    return of(link)->transport.cycles(of(link)->transport.context);
}

static void counts(struct ferry_link *link, struct ferry_link_counts *counts)
{
    struct ferry_root_complex *rc = of(link);
    *counts = rc->counts;
    counts->mapped_pages = ferry_dma_map_pages(rc->map);
    counts->run_seconds = rc->transport.run_seconds(rc->transport.context);
    if (rc->transport.counts != NULL) {
        rc->transport.counts(rc->transport.context, counts);
    }
}

static void observe(struct ferry_link *link, const struct ferry_link_observer *observer)
{
    struct ferry_root_complex *rc = of(link);
    if (rc->transport.observe != NULL) {
        rc->transport.observe(rc->transport.context, observer);
    }
}

static int inject(struct ferry_link *link, enum ferry_injection kind, uint32_t count)
{
    struct ferry_root_complex *rc = of(link);
    switch (kind) {
    case FERRY_INJECT_LOSE_COMPLETION: rc->inject_lose = count; return FERRY_OK;
    case FERRY_INJECT_ABORT_COMPLETION: rc->inject_abort = count; return FERRY_OK;
    case FERRY_INJECT_POISON_COMPLETION: rc->inject_poison = count; return FERRY_OK;
    default:
        return rc->transport.inject == NULL ? FERRY_ERROR_UNSUPPORTED
                                            : rc->transport.inject(rc->transport.context, kind, count);
    }
}

static void flip(struct ferry_link *link, uint64_t bus, bool write)
{
    struct ferry_root_complex *rc = of(link);
    rc->flip_armed = true;
    rc->flip_write = write;
    rc->flip_bus = bus;
}

static int reset(struct ferry_link *link)
{
    int error = ferry_rc_reset(of(link));
    // Messages of before are about nothing that there is now, and what a device that somebody left behind reached for
    // is not this host's. All of it came before the answers to the enumeration.
    of(link)->interrupts = 0;
    of(link)->counts.unmapped_accesses = of(link)->counts.last_unmapped_address = 0;
    of(link)->reasons &= ~FERRY_PUMP_INTERRUPT;
    return error;
}

static void close_link(struct ferry_link *link)
{
    struct ferry_root_complex *rc = of(link);
    rc->transport.close(rc->transport.context);
    ferry_dma_map_destroy(rc->map);
    free(rc);
}

static void tell_refused(struct ferry_link *link, ferry_link_refused_write *handler, void *context)
{
    of(link)->refused = handler;
    of(link)->refused_context = context;
}

static const void *dma_find(struct ferry_link *link, uint64_t bus)
{
    return ferry_dma_map_find(of(link)->map, bus, NULL);
}

static uint32_t delay(struct ferry_link *link)
{
    struct ferry_root_complex *rc = of(link);
    return rc->transport.delay == NULL ? 0 : rc->transport.delay(rc->transport.context);
}

static void describe(struct ferry_link *link, struct ferry_link_description *description)
{
    struct ferry_root_complex *rc = of(link);
    if (rc->transport.describe != NULL) {
        rc->transport.describe(rc->transport.context, description);
    }
}

static const struct ferry_link_operations operations = {
    .read32 = read32,
    .write32 = write32,
    .read_block = read_block,
    .write_block = write_block,
    .dma_map = dma_map,
    .dma_unmap = dma_unmap,
    .tell_refused = tell_refused,
    .dma_find = dma_find,
    .pump = pump,
    .take_interrupts = take_interrupts,
    .cycles = cycles,
    .counts = counts,
    .observe = observe,
    .inject = inject,
    .flip = flip,
    .reset = reset,
    .delay = delay,
    .describe = describe,
    .close = close_link,
};

static unsigned char *find_mapped(const void *memory, uint64_t bus, bool *watched)
{
    return ferry_dma_map_find(memory, bus, watched);
}

static bool config_legal(const struct ferry_link_config *config)
{
    const uint32_t payload = config->max_payload_bytes;
    const uint32_t read = config->max_read_bytes;
    const uint32_t boundary = config->completion_boundary;
    return (payload == 0 || payload == 128 || payload == 256) &&
           (read == 0 || read == 128 || read == 256 || read == 512) &&
           (boundary == 0 || boundary == 64 || boundary == 128);
}

int ferry_root_complex_open(const struct ferry_tlp_transport *transport, const struct ferry_link_config *config,
                            struct ferry_link **link)
{
    if (transport == NULL) {
        return FERRY_ERROR_ARGUMENT;
    }
    int error = FERRY_ERROR_ARGUMENT;
    if (config == NULL || link == NULL || !config_legal(config)) {
        transport->close(transport->context);
        return error;
    }
    struct ferry_root_complex *rc = calloc(1, sizeof(*rc));
    if (rc == NULL) {
        transport->close(transport->context);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    rc->link.operations = &operations;
    rc->transport = *transport;
    rc->max_payload = config->max_payload_bytes != 0 ? config->max_payload_bytes : 256;
    rc->max_read = config->max_read_bytes != 0 ? config->max_read_bytes : 512;
    rc->boundary = config->completion_boundary != 0 ? config->completion_boundary : 64;
    rc->random_split = config->random_stall_percent != 0;
    rc->random = config->seed * 2 + 1;
    error = ferry_dma_map_create(config->seed, &rc->map);
    rc->find = find_mapped;
    rc->memory = rc->map;
    error = error == FERRY_OK ? ferry_rc_enumerate(rc) : error;
    if (error != FERRY_OK) {
        close_link(&rc->link);
        return error;
    }
    *link = &rc->link;
    return FERRY_OK;
}

void ferry_root_complex_counts(const struct ferry_link *link, struct ferry_root_complex_counts *counts)
{
    *counts = ((const struct ferry_root_complex *)link)->traffic;
}
