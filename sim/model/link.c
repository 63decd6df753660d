// SPDX-License-Identifier: Apache-2.0
// The model behind the ferry_link operations.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "link/dma_map.h"
#include "model/model_link.h"

#define BAR0_BYTES 0x10000u

struct model_link {
    struct ferry_link link; // First, so that a link is a model_link.
    struct ferry_model *model;
    struct ferry_dma_map *map;
    struct ferry_link_counts counts;
    struct ferry_link_observer observer;
    ferry_link_refused_write *refused; // May be NULL.
    void *refused_context;
    uint32_t interrupts;
    bool written; // A watched page, since pump() began.
};

static struct model_link *of(struct ferry_link *link)
{
    return (struct model_link *)(void *)link;
}

static void *host_memory(void *context, uint64_t address, size_t bytes, bool write)
{
    struct model_link *l = context;
    bool watched = false;
    void *memory = ferry_dma_map_find(l->map, address, &watched);

    (void)bytes;
    if (!memory) {
        l->counts.unmapped_accesses++;
        l->counts.last_unmapped_address = address;
    }
    l->written |= watched && write;
    return memory;
}

static void host_refused(void *context, uint64_t address, uint32_t tag)
{
    struct model_link *l = context;

    if (l->refused)
        l->refused(l->refused_context, address, tag);
}

static void host_interrupt(void *context)
{
    struct model_link *l = context;

    l->interrupts++;
    l->counts.interrupts++;
}

static bool in_bar(const struct model_link *l, enum ferry_bar bar, uint64_t offset, uint64_t bytes)
{
    uint64_t size = bar == FERRY_BAR_REGISTERS ? BAR0_BYTES : ferry_model_window_bytes(l->model);

    return offset <= size && bytes <= size - offset;
}

static int model_read_block(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, void *data, size_t bytes)
{
    struct model_link *l = of(link);
    uint8_t *to = data;

    if (!in_bar(l, bar, offset, bytes)) {
        memset(data, 0xff, bytes);
        return FERRY_ERROR_RANGE;
    }
    if (bar == FERRY_BAR_WINDOW)
        return ferry_model_window_read(l->model, offset, data, bytes) ? FERRY_OK : FERRY_ERROR_RANGE;
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(ferry_model_read(l->model, (uint32_t)(offset + i) & ~3u) >> (8 * ((offset + i) & 3)));
    return FERRY_OK;
}

static int model_write_block(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, const void *data,
                             size_t bytes)
{
    struct model_link *l = of(link);
    const uint8_t *from = data;

    if (!in_bar(l, bar, offset, bytes))
        return FERRY_ERROR_RANGE;
    if (bar == FERRY_BAR_WINDOW) {
        ferry_model_window_write(l->model, offset, data, bytes);
        return FERRY_OK;
    }
    for (size_t done = 0; done < bytes;) {
        uint32_t at = (uint32_t)(offset + done) & ~3u, word = 0;
        uint32_t first = (uint32_t)(offset + done) & 3, enabled = 0;

        for (uint32_t i = first; i < 4 && done < bytes; i++, done++) {
            word |= (uint32_t)from[done] << (8 * i);
            enabled |= 0xffu << (8 * i);
        }
        if (enabled != UINT32_MAX)
            word |= ferry_model_read(l->model, at) & ~enabled;
        ferry_model_write(l->model, at, word);
    }
    return FERRY_OK;
}

static int model_read32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    uint8_t bytes[4];
    int error = model_read_block(link, bar, offset, bytes, sizeof bytes);

    *value = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    return error;
}

static int model_write32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};

    return model_write_block(link, bar, offset, bytes, sizeof bytes);
}

static int model_dma_map(struct ferry_link *link, void *memory, size_t pages, unsigned flags, uint64_t *bus)
{
    return ferry_dma_map_add(of(link)->map, memory, pages, flags, bus);
}

static void model_dma_unmap(struct ferry_link *link, const uint64_t *bus, size_t pages)
{
    ferry_dma_map_remove(of(link)->map, bus, pages);
}

static void model_tell_refused(struct ferry_link *link, ferry_link_refused_write *handler, void *context)
{
    of(link)->refused = handler;
    of(link)->refused_context = context;
}

static const void *model_dma_find(struct ferry_link *link, uint64_t bus)
{
    return ferry_dma_map_find(of(link)->map, bus, NULL);
}

static int model_pump(struct ferry_link *link, uint64_t cycles, unsigned *reasons)
{
    struct model_link *l = of(link);
    uint64_t begin = ferry_model_cycles(l->model), now = begin;
    uint32_t interrupts = l->interrupts; // Those that wait already do not stop the device.
    struct timespec before, after;

    l->written = false;
    clock_gettime(CLOCK_MONOTONIC, &before);
    while (now - begin < cycles && !l->written && l->interrupts == interrupts) {
        uint64_t was = now;

        bool arrived = ferry_model_run(l->model, cycles - (now - begin));
        now = ferry_model_cycles(l->model);
        if (arrived && l->observer.span)
            l->observer.span(l->observer.context, FERRY_TRACK_FIRMWARE, was, now);
    }
    clock_gettime(CLOCK_MONOTONIC, &after);
    l->counts.run_seconds += (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) * 1e-9;
    if (reasons)
        *reasons = (l->interrupts ? FERRY_PUMP_INTERRUPT : 0) | (l->written ? FERRY_PUMP_WRITE : 0);
    return FERRY_OK;
}

static uint32_t model_take_interrupts(struct ferry_link *link)
{
    struct model_link *l = of(link);
    uint32_t interrupts = l->interrupts;

    l->interrupts = 0;
    return interrupts;
}

static uint64_t model_cycles(struct ferry_link *link)
{
    return ferry_model_cycles(of(link)->model);
}

static void model_counts(struct ferry_link *link, struct ferry_link_counts *counts)
{
    struct model_link *l = of(link);

    *counts = l->counts;
    counts->mapped_pages = ferry_dma_map_pages(l->map);
}

static void model_observe(struct ferry_link *link, const struct ferry_link_observer *observer)
{
    of(link)->observer = observer ? *observer : (struct ferry_link_observer){0};
}

static int model_inject(struct ferry_link *link, enum ferry_injection kind, uint32_t count)
{
    static const enum ferry_model_injection what[] = {
        [FERRY_INJECT_LOSE_COMPLETION] = FERRY_MODEL_HOST_TIMEOUT,
        [FERRY_INJECT_ABORT_COMPLETION] = FERRY_MODEL_HOST_ABORT,
        [FERRY_INJECT_POISON_COMPLETION] = FERRY_MODEL_HOST_ABORT,
        [FERRY_INJECT_LOCAL_READ_ERROR] = FERRY_MODEL_LOCAL_READ_ERROR,
        [FERRY_INJECT_LOCAL_WRITE_ERROR] = FERRY_MODEL_LOCAL_WRITE_ERROR,
    };

    if ((unsigned)kind >= sizeof what / sizeof what[0])
        return FERRY_ERROR_UNSUPPORTED;
    ferry_model_inject(of(link)->model, what[kind], count);
    return FERRY_OK;
}

static void model_flip(struct ferry_link *link, uint64_t bus, bool write)
{
    ferry_model_flip(of(link)->model, bus, write);
}

static void model_close(struct ferry_link *link)
{
    struct model_link *l = of(link);

    ferry_model_destroy(l->model);
    ferry_dma_map_destroy(l->map);
    free(l);
}

static const struct ferry_link_operations operations = {
    .read32 = model_read32,
    .write32 = model_write32,
    .read_block = model_read_block,
    .write_block = model_write_block,
    .dma_map = model_dma_map,
    .dma_unmap = model_dma_unmap,
    .tell_refused = model_tell_refused,
    .dma_find = model_dma_find,
    .pump = model_pump,
    .take_interrupts = model_take_interrupts,
    .cycles = model_cycles,
    .counts = model_counts,
    .observe = model_observe,
    .inject = model_inject,
    .flip = model_flip,
    .close = model_close,
};

int ferry_model_link_open(const struct ferry_model_options *options, const struct ferry_link_config *config,
                          struct ferry_link **link)
{
    struct model_link *l = calloc(1, sizeof *l);

    if (!l)
        return FERRY_ERROR_NO_HOST_MEMORY;
    l->link.operations = &operations;
    struct ferry_model_host host = {
        .context = l, .memory = host_memory, .refused = host_refused, .interrupt = host_interrupt};
    int error = ferry_dma_map_create(config ? config->seed : 0, &l->map);
    if (error) {
        free(l);
        return error;
    }
    l->model = ferry_model_create(options, &host);
    if (!l->model) {
        ferry_dma_map_destroy(l->map);
        free(l);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    *link = &l->link;
    return FERRY_OK;
}

struct ferry_model *ferry_model_link_model(struct ferry_link *link)
{
    return of(link)->model;
}

static int model_open(const struct ferry_link_config *config, struct ferry_link **link)
{
    struct ferry_model_options options = {
        .local_bytes = FERRY_MODEL_LINK_LOCAL_BYTES,
        .aperture_pages = FERRY_MODEL_LINK_APERTURE_PAGES,
        .defer_cycles = config && config->seed ? FERRY_MODEL_LINK_DEFER_CYCLES : 0,
        .seed = config ? config->seed : 0,
        .page_tables = true,
        .tiling = true,
    };

    return ferry_model_link_open(&options, config, link);
}

static void model_list(ferry_candidate_callback *callback, void *context)
{
    callback(context, &(struct ferry_candidate){.size = sizeof(struct ferry_candidate),
                                                .backend = "model",
                                                .what = "the reference model in C, in this process"});
}

const struct ferry_backend ferry_backend_model = {.name = "model", .open = model_open, .list = model_list};
