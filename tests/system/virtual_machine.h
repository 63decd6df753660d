// SPDX-License-Identifier: Apache-2.0
// What the tests of GPU virtual addresses begin with: a device and a queue in driver model 2, and mappings.
#ifndef FERRY_TESTS_SYSTEM_VIRTUAL_MACHINE_H
#define FERRY_TESTS_SYSTEM_VIRTUAL_MACHINE_H

#include "system.h"

#define KIB 1024u
#define MIB (1024u * KIB)

struct machine {
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
};

static inline struct ferry_adapter *open_model2(uint64_t video_memory_bytes)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = video_memory_bytes,
                                            .aperture_bytes = MIB,
                                            .seed = seed,
                                            .model = 2,
                                            .tables = table_memory};
    struct ferry_adapter *adapter = NULL;

    ok(ferry_adapter_open(&options, &adapter));
    return adapter;
}

static inline struct machine begin(uint64_t video_memory_bytes)
{
    struct machine m = {.adapter = open_model2(video_memory_bytes)};

    ok(ferry_device_create(m.adapter, &m.device));
    ok(ferry_queue_create(m.device, &m.queue));
    return m;
}

static inline uint64_t map_at(struct ferry_device *device, struct ferry_allocation *allocation, uint64_t address,
                              uint64_t offset, uint64_t bytes)
{
    struct ferry_va range = {.size = sizeof range, .address = address, .bytes = bytes};

    ok(ferry_va_map(device, allocation, offset, false, &range));
    assert_true(!address || range.address == address);
    return range.address;
}

static inline void run(struct machine *m)
{
    uint64_t fence;

    ok(ferry_queue_submit(m->queue, &fence));
    ok(ferry_queue_wait(m->queue, fence));
}

// Below are the addresses that programs choose; above, those that allocations have by themselves.
#define OWN_ADDRESSES (UINT64_C(1) << 47)

static inline void nothing_is_chosen_from(struct ferry_device *device, uint64_t address)
{
    struct ferry_va_mapping mapping = {.size = sizeof mapping};

    ok(ferry_va_find(device, address, &mapping));
    assert_true(mapping.bytes == 0 || mapping.address >= OWN_ADDRESSES);
}

#endif
