// SPDX-License-Identifier: Apache-2.0
// The double's queues: jobs are done at submit, by memcpy.
#include "fake_ferry.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

int ferry_queue_create(struct ferry_device *device, struct ferry_queue **queue)
{
    *queue = &device->queue;
    return FERRY_OK;
}

int ferry_queue_destroy(struct ferry_queue *queue)
{
    (void)queue;
    return FERRY_OK;
}

static int add_record(struct ferry_queue *queue, struct record record)
{
    if (record.to_offset > record.to->pages && fake_goes_wrong(queue->device->adapter, "far"))
        return FERRY_OK;
    if (record.to_offset + record.bytes > record.to->pages ||
        (record.from && record.from_offset + record.bytes > record.from->pages))
        return FERRY_ERROR_RANGE;
    if (queue->count == queue->capacity) {
        queue->capacity = queue->capacity * 2 + 16;
        queue->records = realloc(queue->records, queue->capacity * sizeof *queue->records);
    }
    queue->records[queue->count++] = record;
    return FERRY_OK;
}

int ferry_queue_copy(struct ferry_queue *queue, struct ferry_allocation *destination, uint64_t destination_offset,
                     struct ferry_allocation *source, uint64_t source_offset, uint32_t bytes)
{
    return add_record(queue, (struct record){destination, source, destination_offset, source_offset, 0, bytes, 0});
}

int ferry_queue_fill(struct ferry_queue *queue, struct ferry_allocation *destination, uint64_t offset, uint32_t bytes,
                     uint64_t pattern, uint32_t pattern_bytes)
{
    return add_record(queue, (struct record){destination, NULL, offset, 0, pattern, bytes, pattern_bytes});
}

static uint8_t *place(struct ferry_allocation *allocation)
{
    if (allocation->aperture)
        return allocation->system;
    return allocation->resident && allocation->count ? allocation->device->adapter->memory + allocation->offset : NULL;
}

int ferry_queue_submit(struct ferry_queue *queue, uint64_t *fence)
{
    struct ferry_adapter *adapter = queue->device->adapter;
    uint64_t id = ++adapter->call, began = adapter->statistics.cycles;
    uint64_t process = ferry_process_id(queue->device->process);
    fake_emit(
        adapter,
        (struct ferry_event){
            .kind = FERRY_EVENT_JOB_BEGIN, .track = FERRY_TRACK_USER, .id = id, .process = process, .name = "job"});
    if (fake_goes_wrong(adapter, "submit"))
        return FERRY_ERROR_DEVICE_LOST;
    if (fake_goes_wrong(adapter, "fault") || fake_goes_wrong(adapter, "walk") || fake_goes_wrong(adapter, "stale"))
        adapter->fault = true;
    if (adapter->mapped) {
        adapter->fault = queue->by_address && !fake_goes_wrong(adapter, "none");
        adapter->fault_taken = false;
        queue->by_address = false;
    }
    if (strcmp(adapter->wrong, "slow") == 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)adapter->wrong_number * 1000}, NULL);
    for (size_t i = 0; i < queue->count; i++) {
        struct record *record = &queue->records[i];
        uint8_t *to = place(record->to);
        if (!to || (record->from && !place(record->from)))
            return FERRY_ERROR_NOT_RESIDENT;
        to += record->to_offset;
        record->to->dirty = true;
        if (record->from)
            memmove(to, place(record->from) + record->from_offset, record->bytes);
        else
            for (uint32_t b = 0; b < record->bytes; b++)
                to[b] = (uint8_t)(record->pattern >> (b % record->pattern_bytes * 8));
        if (fake_goes_wrong(adapter, record->from ? "copy" : "fill"))
            to[record->bytes - 1] ^= 1;
        if (fake_goes_wrong(adapter, "before"))
            to[-1] ^= 1;
        if (fake_goes_wrong(adapter, "behind"))
            to[record->bytes] ^= 1;
        adapter->statistics.cycles += record->bytes / 8 + 2;
    }
    queue->count = 0;
    adapter->statistics.firmware_packets += 3;
    adapter->statistics.firmware_busy_cycles += 300;
    fake_emit(adapter, (struct ferry_event){
                           .kind = FERRY_EVENT_SPAN, .track = FERRY_TRACK_FIRMWARE, .name = "decode", .bytes = 100});
    fake_emit(adapter, (struct ferry_event){
                           .kind = FERRY_EVENT_JOB_END, .track = FERRY_TRACK_USER, .id = id, .process = process});
    if (queue->device->process) {
        struct ferry_process_usage *own = &queue->device->process->statistics;
        own->jobs++;
        own->gpu_cycles += adapter->statistics.cycles - began;
        own->last_job = adapter->statistics.cycles;
    }
    *fence = ++queue->fence;
    return FERRY_OK;
}

int ferry_queue_wait(struct ferry_queue *queue, uint64_t fence)
{
    (void)fence;
    return queue->device->adapter->fault ? FERRY_ERROR_FAULT : FERRY_OK;
}

// The double has page tables where a fault is to have a walk, or none to come.
int ferry_va_map(struct ferry_device *device, struct ferry_allocation *allocation, uint64_t offset, bool read_only,
                 struct ferry_va *range)
{
    struct ferry_adapter *adapter = device->adapter;
    (void)allocation;
    (void)offset;
    (void)read_only;
    (void)range;
    adapter->mapped = adapter->model == 2 && (fake_has_walks(adapter) || strcmp(adapter->wrong, "none") == 0);
    return adapter->mapped ? FERRY_OK : FERRY_ERROR_UNSUPPORTED;
}

int ferry_va_free(struct ferry_device *device, uint64_t address, uint64_t bytes)
{
    (void)device;
    (void)address;
    (void)bytes;
    return FERRY_OK;
}

int ferry_va_walk(struct ferry_device *device, uint64_t address, struct ferry_va_steps *walk)
{
    // Two levels of a walk that ends there.
    if (!fake_has_walks(device->adapter))
        return FERRY_ERROR_UNSUPPORTED;
    walk->count = 2;
    walk->steps[0] = (struct ferry_va_step){.level = 3,
                                            .index = (uint32_t)(address >> 39),
                                            .table = 0x7f000,
                                            .entry = 0x7e001,
                                            .valid = true,
                                            .leads_to = 0x7e000};
    walk->steps[1] = (struct ferry_va_step){.level = 2, .index = 5, .table = 0x7e000};
    return FERRY_OK;
}

int ferry_queue_copy_va(struct ferry_queue *queue, uint64_t destination, uint64_t source, uint32_t bytes)
{
    (void)destination;
    (void)source;
    (void)bytes;
    queue->by_address = true;
    return FERRY_OK;
}

int ferry_queue_fill_va(struct ferry_queue *queue, uint64_t address, uint32_t bytes, uint64_t pattern,
                        uint32_t pattern_bytes)
{
    (void)address;
    (void)bytes;
    (void)pattern;
    (void)pattern_bytes;
    queue->by_address = true;
    return FERRY_OK;
}
