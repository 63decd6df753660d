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

enum umd_kind { UMD_ADAPTER = 1, UMD_DEVICE, UMD_ALLOCATION, UMD_QUEUE, UMD_PROCESS };

struct umd_adapter;

// NULL when there is no memory. object, of this adapter, is what umd_object() gives back.
void *umd_handle_make(enum umd_kind kind, void *object, struct umd_adapter *adapter);
void umd_handle_end(const void *handle);
// The live object of this adapter behind a handle of this kind, or NULL. It stays while the adapter's lock is held.
void *umd_object(const struct umd_adapter *adapter, enum umd_kind kind, const void *handle);
// Why umd_object() has none: FOREIGN for a live handle, of another adapter then, HANDLE for any other.
int umd_handle_error(enum umd_kind kind, const void *handle);
// The adapter of a live handle, which from now on is not freed before umd_adapter_put(); NULL for a handle of nothing.
struct umd_adapter *umd_adapter_get(enum umd_kind kind, const void *handle);
void umd_adapter_put(struct umd_adapter *adapter);
// Until nobody but the caller has it.
void umd_adapter_wait_for_others(struct umd_adapter *adapter);

// ---- Objects ----------------------------------------------------------------------------------------------------

struct umd_device;
struct umd_queue;

struct umd_adapter {
    void *handle;
    unsigned users;       // Calls that are inside, parked ones too. Under the handle table's lock.
    pthread_mutex_t lock; // Of everything below; the manager's own lock lies inside it. Calls that wait give it back.
    char backend[16];
    struct ferry_gpu *gpu;
    struct ferry_host_pages *pages;
    HANDLE kmd;
    struct ferry_vidmm *vidmm;
    struct umd_device *devices;
    struct umd_process *processes; // Changed under `telling` too.
    uint64_t calls;                // Ids of call events.
    pthread_mutex_t telling;       // Of the observer, innermost: events come from calls, parked calls and the link.
    ferry_event_callback *observer;
    void *observer_context;
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
    struct ferry_vidmm_submission *buffers; // As many as chunks have room: the chunks, as the manager takes them.
};

// ---- Inside calls -----------------------------------------------------------------------------------------------

struct umd_call {
    struct umd_adapter *adapter;
    const char *name; // For the observer; NULL = it is not told.
    uint64_t id;
};

// Find the object, take its adapter's lock and tell the observer that a call begins. NULL when the handle is none of
// this kind; then there is nothing to leave.
void *umd_enter(struct umd_call *call, enum umd_kind kind, const void *handle, const char *name);
// Tell that it ends, give the lock back, and hand the result through.
int umd_leave(struct umd_call *call, int result);
// Around a call of the manager that may wait for the GPU: others get in meanwhile. Objects may be gone afterwards;
// their handles tell (umd_object()).
void umd_park(struct umd_call *call);
void umd_return(struct umd_call *call);

void umd_process_end(struct umd_process *process);
void umd_device_end(struct umd_device *device);
void umd_allocation_end(struct umd_allocation *allocation);
void umd_queue_end(struct umd_queue *queue);

// residency.c: the allocation was named; it becomes the newest of its residency list, if it is on it.
void umd_touch(struct umd_allocation *allocation);
// Off the residency list.
void umd_unlist(struct umd_allocation *allocation);

// process.c: a budget has changed.
void umd_tell_budget(struct umd_adapter *adapter, const struct ferry_vidmm_event *event);
// Nobody is told any more: the adapter closes.
void umd_silence_budgets(struct umd_adapter *adapter);

// events.c
void umd_on_vidmm_event(void *context, const struct ferry_vidmm_event *event);
uint32_t umd_segment_number(uint32_t segment);

#endif
