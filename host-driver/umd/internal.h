// SPDX-License-Identifier: Apache-2.0
// Inside of the user-mode driver.
#ifndef FERRY_UMD_INTERNAL_H
#define FERRY_UMD_INTERNAL_H

#include <pthread.h>
#include <stdint.h>

#include "device/device.h"
#include "device/host_pages.h"
#include "ferry/ferry.h"
#include "kmd/kmd.h"
#include "vidmm/vidmm.h"

// ---- Handles ----------------------------------------------------------------------------------------------------
// What the caller holds is not an address: it is a table index with a generation, so that a stale handle, a made-up
// one and one of another kind are told from a live one without looking at memory that may be gone.

enum umd_kind { UMD_ADAPTER = 1, UMD_DEVICE, UMD_ALLOCATION, UMD_QUEUE };

// NULL when there is no memory. object is what umd_object() gives back.
void *umd_handle_make(enum umd_kind kind, void *object);
void umd_handle_end(const void *handle);
// The live object behind a handle of this kind, or NULL.
void *umd_object(enum umd_kind kind, const void *handle);

// ---- Objects ----------------------------------------------------------------------------------------------------

struct umd_device;
struct umd_queue;

struct umd_adapter {
    void *handle;
    pthread_mutex_t lock; // Around every public call; the manager's own lock lies inside it.
    char backend[16];
    struct ferry_gpu *gpu;
    struct ferry_host_pages *pages;
    HANDLE kmd;
    struct ferry_vidmm *vidmm;
    struct umd_device *devices;
    ferry_event_callback *observer;
    void *observer_context;
    uint64_t calls; // Ids of call events.
};

struct umd_allocation {
    void *handle;
    struct umd_device *device;
    struct umd_allocation *next, *previous;
    D3DKMT_HANDLE vidmm;
    uint64_t bytes; // As asked for.
    bool in_aperture;
    uint32_t count;                       // Residency count.
    struct umd_allocation *newer, *older; // Of the device's residency list, by last use.
    bool marked;                          // Scratch: named by the call under way.
};

struct umd_device {
    void *handle;
    struct umd_adapter *adapter;
    struct umd_device *next, *previous;
    D3DKMT_HANDLE vidmm, paging_queue;
    struct umd_allocation *allocations;
    struct umd_allocation *newest, *oldest; // Residency list.
    struct umd_queue *queues;
};

// One DMA buffer's worth of a job.
struct umd_chunk {
    uint8_t *commands;
    uint32_t bytes;
    struct ferry_vidmm_reference *references;
    uint32_t reference_count;
    D3DDDI_PATCHLOCATIONLIST *patches;
    uint32_t patch_count;
};

struct umd_queue {
    void *handle;
    struct umd_device *device;
    struct umd_queue *next, *previous;
    D3DKMT_HANDLE context;
    DXGK_CONTEXTINFO info;
    struct umd_chunk *chunks; // Of the job being recorded.
    size_t chunk_count, chunks_made, chunk_capacity;
    struct umd_span *spans; // Jobs of several buffers: first and last buffer's number.
    size_t span_count, span_capacity;
};

struct umd_span {
    uint64_t first, last;
};

// ---- Inside calls -----------------------------------------------------------------------------------------------

// Take the adapter's lock and tell the observer that a call begins. NULL for the adapter: nothing happens.
void umd_enter(struct umd_adapter *adapter, const char *name, uint64_t *id);
// Tell that it ends, give the lock back, and hand the result through.
int umd_leave(struct umd_adapter *adapter, const char *name, uint64_t id, int result);

void umd_device_end(struct umd_device *device);
void umd_allocation_end(struct umd_allocation *allocation);
void umd_queue_end(struct umd_queue *queue);

// residency.c: the allocation was named; it becomes the newest of its residency list, if it is on it.
void umd_touch(struct umd_allocation *allocation);
// Off the residency list.
void umd_unlist(struct umd_allocation *allocation);

// events.c
void umd_on_vidmm_event(void *context, const struct ferry_vidmm_event *event);
uint32_t umd_segment_number(uint32_t segment);

#endif
