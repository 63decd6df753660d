// SPDX-License-Identifier: Apache-2.0
// What the tests of ferry_va_update begin with: reserved addresses, operations, and what the events tell of them.
#ifndef FERRY_TESTS_SYSTEM_UPDATES_H
#define FERRY_TESTS_SYSTEM_UPDATES_H

#include "system.h"

#define KIB  1024u
#define MIB  (1024u * KIB)
#define PAGE 4096u

struct machine {
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
};

static inline struct machine begin(uint64_t video_memory_bytes)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = video_memory_bytes,
                                            .seed = seed,
                                            .model = 2,
                                            .tables = table_memory};
    struct machine m = {0};

    ok(ferry_adapter_open(&options, &m.adapter));
    ok(ferry_device_create(m.adapter, &m.device));
    ok(ferry_queue_create(m.device, &m.queue));
    return m;
}

static inline uint64_t reserve(struct machine *m, uint64_t bytes)
{
    // Apart from the addresses that allocations have by themselves.
    struct ferry_va range = {
        .size = sizeof range, .least = UINT64_C(4) << 30, .most = UINT64_C(1) << 46, .bytes = bytes};

    ok(ferry_va_reserve(m->device, &range));
    assert_true(range.address < UINT64_C(1) << 46);
    return range.address;
}

static inline struct ferry_va_operation map(uint64_t address, uint64_t bytes, struct ferry_allocation *allocation,
                                            uint64_t offset)
{
    return (struct ferry_va_operation){
        .kind = FERRY_VA_MAP, .address = address, .bytes = bytes, .allocation = allocation, .offset = offset};
}

static inline struct ferry_va_operation unmap(uint64_t address, uint64_t bytes)
{
    return (struct ferry_va_operation){.kind = FERRY_VA_UNMAP, .address = address, .bytes = bytes};
}

static inline struct ferry_va_operation copy(uint64_t address, uint64_t bytes, uint64_t source)
{
    return (struct ferry_va_operation){.kind = FERRY_VA_COPY, .address = address, .bytes = bytes, .source = source};
}

static inline int update(struct ferry_queue *queue, const struct ferry_va_operation *operations, uint32_t count,
                         struct ferry_va_batch *out)
{
    struct ferry_va_batch batch = {
        .size = sizeof batch, .operation_size = sizeof *operations, .operations = operations, .count = count};
    int error = ferry_va_update(queue, &batch);

    if (out)
        *out = batch;
    return error;
}

static inline uint64_t submit(struct ferry_queue *queue)
{
    uint64_t fence;

    ok(ferry_queue_submit(queue, &fence));
    return fence;
}

static inline const struct ferry_va_step *last_step(struct machine *m, uint64_t address, struct ferry_va_steps *walk)
{
    *walk = (struct ferry_va_steps){.size = sizeof *walk};
    ok(ferry_va_walk(m->device, address, walk));
    assert_true(walk->count > 0);
    return &walk->steps[walk->count - 1];
}

// ---- What is told of it ----

#define WATCHED (16 * MIB / PAGE)
static struct watched {
    uint64_t allocation, size; // 0: nothing is there
} watched[WATCHED];
static uint64_t watched_from;

static inline void watch(void *context, const struct ferry_event *event)
{
    (void)context;
    if (event->kind != FERRY_EVENT_MAPPED && event->kind != FERRY_EVENT_UNMAPPED)
        return;
    for (uint64_t at = event->offset; at < event->offset + event->bytes; at += PAGE) {
        if (at < watched_from || at >= watched_from + WATCHED * PAGE)
            continue;
        struct watched *page = &watched[(at - watched_from) / PAGE];
        if (event->kind == FERRY_EVENT_MAPPED)
            *page = (struct watched){event->allocation, event->value};
        else if (event->value != 2 * MIB || page->size == 2 * MIB)
            *page = (struct watched){0, 0};
    }
}

static inline void begin_watching(struct machine *m, uint64_t from)
{
    watched_from = from;
    memset(watched, 0, sizeof watched);
    ok(ferry_adapter_observe(m->adapter, watch, NULL));
}

// What was told against what stands in the page tables, now that nothing is queued. Returns the sizes seen, added up.
static inline uint64_t told_is_what_stands_there(struct machine *m, uint64_t pages)
{
    uint64_t sizes = 0, last_size = 0;

    // Each walk is four reads over the link, which the simulated device takes its time for.
    for (uint64_t i = 0; i < pages; i += on_model() ? 1 : 11) {
        struct ferry_va_steps walk = {.size = sizeof walk};
        struct ferry_va_mapping mapping = {.size = sizeof mapping};

        ok(ferry_va_walk(m->device, watched_from + i * PAGE, &walk));
        const struct ferry_va_step *last = &walk.steps[walk.count ? walk.count - 1 : 0];
        uint64_t size = !last->is_page ? 0 : last->level ? 2 * MIB : last->group ? 64 * KIB : PAGE;
        assert_int_equal(watched[i].size, size);
        if (size == 0)
            continue;
        ok(ferry_va_find(m->device, watched_from + i * PAGE, &mapping));
        assert_int_equal(watched[i].allocation, mapping.allocation);
        sizes += size != last_size ? size : 0;
        last_size = size;
    }
    return sizes;
}

#endif
