// SPDX-License-Identifier: Apache-2.0
// A double of the library for the tool's own tests: the calls of ferry.h with memcpy behind them, a first-fit segment,
// plain LRU, and events. Environment variable FERRY_FAKE="KIND:N" lets the N-th thing of a kind go wrong, so that a
// test can see what the tool says then: copy, fill, page-in, page-out (a wrong byte), fault, create, submit, place,
// lock, evict, process, kill, stray, slow; before and behind (a byte beside what a job writes), far (a job beyond its
// allocation), recorded, dummy, still and noise (what statistics say); walk, stale, level and untold are faults of
// an address, of which the device has seen what the tables say, another entry or level, or tells nothing; none is a job
// that does not fault; FERRY_FAKE=bare is a machine without devices,
// changes one whose devices are free, or in use, by the time that they are asked.
#ifndef FERRY_TESTS_TOOLS_FAKE_FERRY_H
#define FERRY_TESTS_TOOLS_FAKE_FERRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/ferry.h"

struct ferry_allocation {
    struct ferry_device *device;
    struct ferry_allocation *next, *previous; // In video memory, by offset.
    struct ferry_allocation *all_next, **all_link;
    uint8_t *system;
    uint64_t id, bytes, pages, offset, used;
    uint32_t flags, count;
    bool resident, aperture, dirty, locked;
};

struct record {
    struct ferry_allocation *to, *from;
    uint64_t to_offset, from_offset, pattern;
    uint32_t bytes, pattern_bytes;
};

struct ferry_queue {
    struct ferry_device *device;
    struct record *records;
    size_t count, capacity;
    uint64_t fence;
    bool by_address; // A job of GPU virtual addresses, which faults.
};

struct ferry_device {
    struct ferry_adapter *adapter;
    struct ferry_process *process; // NULL for the devices of no program.
    struct ferry_queue queue;
};

// One device each.
struct ferry_process {
    struct ferry_process *next;
    struct ferry_device device;
    struct ferry_process_usage statistics;
    uint64_t id, reservation, in_place, usage;
    uint32_t weight;
};

struct ferry_adapter {
    struct ferry_device device;
    struct ferry_process *processes;
    struct ferry_allocation *local, *all;
    struct ferry_statistics statistics;
    struct ferry_flip flip;
    bool flipped;
    uint8_t *memory;
    uint32_t model;
    uint64_t video_bytes, next_id, clock, fence, call;
    ferry_event_callback *observer;
    void *context;
    bool fault, fault_taken, mapped; // mapped: something has GPU virtual addresses.
    char wrong[16];
    uint64_t wrong_number, counts[16];
};

// The event with its size and time, to whom observes.
void fake_emit(struct ferry_adapter *adapter, struct ferry_event event);
// It is the turn of this kind to go wrong.
bool fake_goes_wrong(struct ferry_adapter *adapter, const char *kind);
// Its faults are of addresses, and have a walk.
bool fake_has_walks(const struct ferry_adapter *adapter);
// A call as the observer sees it; end_call() returns the result.
uint64_t fake_begin_call(struct ferry_adapter *adapter, const char *name, uint64_t allocation);
int fake_end_call(struct ferry_adapter *adapter, uint64_t id, int result);

#endif
