// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of a program. An object is reached from its owner, and is read and changed under its
// adapter's lock.
#ifndef FERRY_UMD_OBJECTS_H
#define FERRY_UMD_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "device/device.h"
#include "device/host_pages.h"
#include "ferry/ferry.h"
#include "kmd/kmd.h"
#include "vidmm/vidmm.h"

struct umd_device;
struct umd_process;
struct umd_queue;
struct umd_runner;

struct umd_adapter {
    pthread_mutex_t lock; // Of everything below; the manager's own lock lies inside it. Calls that wait give it back.
    void *handle;
    unsigned parked;      // Calls that have given it back, and come again.
    pthread_cond_t alone; // There are none any more.
    char backend[16];
    uint32_t model; // Driver model: 1 or 2.
    bool iommu;
    struct ferry_gpu *gpu;
    struct ferry_gpu_progress progress; // Of who waits for the manager, one turn at a time, under the manager's lock.
    struct ferry_host_pages *pages;
    HANDLE kmd;
    struct ferry_vidmm *vidmm;
    struct umd_device *devices;
    struct umd_process *processes;     // Changed under `telling` too.
    pthread_cond_t device_ended;       // A call that was destroying a device has come back to the lock.
    struct umd_runner *_Atomic runner; // NULL = nobody has asked for the event descriptor.
    atomic_ullong faults_told;         // So many were recorded when it was last told of one.
    uint64_t calls;                    // Ids of call events.
    pthread_mutex_t telling;           // Of the observer, innermost: events come from calls, parked calls and the link.
    ferry_event_callback *_Atomic observer; // Is there one? That is asked for each event, and without the lock.
    void *observer_context;
    struct umd_adapter *next_free; // While it is none.
};

// The allocations of a call, with their handles at the manager; the arrays are kept from call to call.
struct umd_list {
    struct umd_allocation **allocations;
    D3DKMT_HANDLE *handles;
    size_t capacity;
};

// Of a tiled allocation; what a lock for views shows of it: a level, in bytes of the allocation.
struct umd_tiles {
    struct ferry_tiling_private told;
    uint64_t first, bytes;
};

struct umd_allocation {
    void *handle;
    struct umd_device *device;
    struct umd_allocation *next, *previous;
    D3DKMT_HANDLE vidmm;
    bool in_aperture : 1;
    bool tiled : 1;
    bool marked; // By the call under way, which names it.
    // While it has no address: the low bits of how many page tables had been given back when it was tried last.
    uint16_t tables_given;
    uint64_t bytes; // As asked for.
    // GPU virtual, of the instance that holds its content; 0 = none, what names it is patched.
    uint64_t address;
    struct umd_allocation *newer, *older; // Of the device's residency list, by last use.
    uint32_t count;                       // Residency count.
    // Scratch of the call under way: its count, and what was next, before it was trimmed.
    uint32_t trimmed_count;
    struct umd_allocation *trimmed_next;
    struct umd_tiles tiles[]; // One, when it is tiled: few are, and each byte here counts a million times.
};

struct umd_process {
    void *handle;
    struct umd_adapter *adapter;
    struct umd_process *next;
    D3DKMT_HANDLE vidmm;
    bool ending; // It gets no new device.
    ferry_budget_callback *callback;
    void *context;
};

struct umd_device {
    void *handle;
    struct umd_adapter *adapter;
    struct umd_process *process; // NULL = of no program.
    bool ending;                 // A call is destroying it.
    struct umd_device *next, *previous;
    D3DKMT_HANDLE vidmm, paging_queue;
    struct umd_allocation *allocations;
    struct umd_allocation *newest, *oldest; // Residency list.
    struct umd_list named;                  // By the residency call under way.
    struct umd_queue *queues;
};

struct umd_queue {
    void *handle;
    struct umd_device *device;
    struct umd_queue *next, *previous;
    D3DKMT_HANDLE context;
    DXGK_CONTEXTINFO info;
    struct umd_recording *recording; // The job being recorded; NULL while it is being submitted.
    uint64_t submissions;
};

#endif
