// SPDX-License-Identifier: Apache-2.0
// The video memory manager: what the operating system's part is on Windows. It decides where every allocation is, makes
// the miniport write paging buffers, submits them, and keeps fences, locks and residency lists. The user-mode driver
// (umd/) builds the public interface on this header; the miniport (kmd/) is known only through the ddi/ tables.
//
// Threads: every call may be made from any thread. One lock per manager is taken at the start of each call and held to
// its end, waits included, so calls on one manager run one after the other. The platform's hooks and the observer run
// inside that lock and must not call the manager.
//
// Handles are numbers with a generation in them: a stale handle, one of another kind and a made-up one all give
// FERRY_ERROR_HANDLE; a live one of another device gives FERRY_ERROR_FOREIGN. No call changes anything when it returns
// one of ARGUMENT, FLAGS, HANDLE, FOREIGN, RANGE, NOT_RESIDENT, NOT_LOCKABLE, LOCKED, NOT_LOCKED or BUSY. Every call
// returns FERRY_ERROR_CRITICAL once a rule of the contract was broken (ferry_vidmm_critical() tells which); only
// ferry_vidmm_stop(), _critical() and _statistics() still work then.
//
// Residency as it is meant to be used: make_resident() before a job, evict() after it. evict() only takes the
// allocation off the residency list; it stays where it is until its room is needed, and then the manager picks the
// victims (victim.h). An allocation with a count above 0 is never a victim.
#ifndef FERRY_VIDMM_VIDMM_H
#define FERRY_VIDMM_VIDMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddi/d3dkmddi.h"
#include "ddi/miniport.h"
#include "ddi/page_source.h"
#include "ferry/error.h"

struct ferry_vidmm;

// ---- Events -----------------------------------------------------------------------------------------------------

enum ferry_vidmm_event_kind {
    FERRY_VIDMM_EVENT_PAGING_BEGIN,   // A paging operation was built: operation, allocation, bytes; id pairs with end.
    FERRY_VIDMM_EVENT_PAGING_END,     // Its last buffer has been executed.
    FERRY_VIDMM_EVENT_JOB_BEGIN,      // A user buffer was submitted: context, node, value = fence; id pairs with end.
    FERRY_VIDMM_EVENT_JOB_END,        // It completed; status is 0 or the miniport's fault status.
    FERRY_VIDMM_EVENT_FENCE_WAIT,     // make_resident returned PENDING with value on paging queue `queue`.
    FERRY_VIDMM_EVENT_FENCE_SIGNAL,   // The paging queue's fence reached value.
    FERRY_VIDMM_EVENT_PLACED,         // allocation now at [offset, offset + bytes) of segment (offset without base).
    FERRY_VIDMM_EVENT_REMOVED,        // It left that place.
    FERRY_VIDMM_EVENT_RESIDENT_BYTES, // value = bytes placed in memory segments.
};

struct ferry_vidmm_event {
    enum ferry_vidmm_event_kind kind;
    uint64_t id;
    D3DKMT_HANDLE allocation; // 0 = none
    D3DKMT_HANDLE context, queue;
    uint32_t operation; // DXGK_BUILDPAGINGBUFFER_OPERATION
    uint32_t node;
    uint32_t segment;
    uint64_t offset, bytes, value;
    NTSTATUS status;
};
typedef void ferry_vidmm_observer(void *context, const struct ferry_vidmm_event *event);

// ---- Start and stop ---------------------------------------------------------------------------------------------

// What the manager needs from the machine it runs on.
struct ferry_vidmm_platform {
    void *context;
    const struct ferry_page_source *pages;
    /// Let the device run until something may have happened, and call the miniport's InterruptRoutine when an
    /// interrupt is up. The manager calls DpcRoutine itself afterwards. FERRY_OK, or FERRY_ERROR_TIMEOUT when the
    /// device has done nothing for as long as the platform is willing to wait.
    int (*wait_for_progress)(void *context);
};

struct ferry_vidmm_options {
    size_t size; // sizeof this struct
    const DRIVER_INITIALIZATION_DATA *miniport;
    HANDLE miniport_device_context; // From AddDevice; RemoveDevice stays the caller's too.
    struct ferry_vidmm_platform platform;
    uint64_t memory_limit_bytes;    // Of each memory segment use no more than this; 0 = all. Page multiple.
    uint64_t aperture_limit_bytes;  // The same for aperture segments.
    uint32_t paging_buffer_bytes;   // 0 = what the miniport asks for.
    uint32_t paging_buffers;        // In flight at most; 0 = 16.
    uint64_t sub_transfer_bytes;    // Cut transfers into sub-transfers of this; 0 = never. Page multiple.
    uint32_t busy_limit;            // ALLOCATION_BUSY answers to one operation before a critical stop; 0 = 4096.
    bool lru_victims;               // Plain least-recently-used victims, for comparison.
    ferry_vidmm_observer *observer; // May be NULL.
    void *observer_context;
};

/// StartDevice, read capabilities and segments, make the system device and context, point the aperture at the dummy
/// page. The tables that options point at must outlive the manager. Errors: ARGUMENT, NO_HOST_MEMORY, UNSUPPORTED (no
/// usable segment, or a combination of flags that no driver may report), CONTRACT, FIRMWARE, TIMEOUT, CRITICAL.
int ferry_vidmm_start(const struct ferry_vidmm_options *options, struct ferry_vidmm **manager);
/// Wait for everything, destroy everything, StopDevice. NULL is allowed. No other call may be running.
void ferry_vidmm_stop(struct ferry_vidmm *manager);
/// Change the observer; NULL ends it. Errors: none.
int ferry_vidmm_observe(struct ferry_vidmm *manager, ferry_vidmm_observer *observer, void *context);
/// Take over what the device has finished, without waiting: runs the wait hook once when `run` is true, and the DPC.
/// Errors: TIMEOUT, CRITICAL.
int ferry_vidmm_poll(struct ferry_vidmm *manager, bool run);

struct ferry_vidmm_segment_info {
    uint32_t id;
    DXGK_SEGMENTFLAGS flags;
    uint64_t base;  // GPU address of offset 0
    uint64_t bytes; // what the manager uses
};
/// Segment number index, from 0 on. Errors: RANGE (no such index).
int ferry_vidmm_segment(struct ferry_vidmm *manager, unsigned index, struct ferry_vidmm_segment_info *info);

// Why the manager stopped. `code` follows the numbers of VIDEO_MEMORY_MANAGEMENT_INTERNAL (bug check 0x10E).
enum ferry_vidmm_critical_code {
    FERRY_CRITICAL_NONE = 0x0,
    FERRY_CRITICAL_SEGMENT = 0xD,    // Segments that contradict themselves.
    FERRY_CRITICAL_BAD_STATUS = 0xB, // An answer of BuildPagingBuffer that is not legal for the operation (R3).
    FERRY_CRITICAL_APERTURE_MISUSE = 0x11,
    FERRY_CRITICAL_DMA_OVERFLOW = 0x12, // Wrote past DmaSize, or moved pDmaBuffer outside the buffer.
    FERRY_CRITICAL_PRIVATE_OVERFLOW = 0x13,
    FERRY_CRITICAL_PATCH = 0x19,           // Patch failed.
    FERRY_CRITICAL_SUBMIT = 0x2,           // SubmitCommand failed (bug check 0x119, parameter 2).
    FERRY_CRITICAL_FENCE_BACKWARDS = 0x1F, // A completed fence that was never submitted, or moved backwards.
    FERRY_CRITICAL_NOT_IDLE = 0x20,        // BUSY was answered busy_limit times.
    FERRY_CRITICAL_NO_PROGRESS = 0x16,     // INSUFFICIENT_DMA_BUFFER on an empty buffer, without any progress.
};
struct ferry_vidmm_critical {
    enum ferry_vidmm_critical_code code;
    NTSTATUS status;
    uint32_t operation, node, multipass_offset, dma_size;
    uint64_t fence;
    D3DKMT_HANDLE allocation;
};
/// Copies the record; false (and a zeroed record) when there is none. Any thread, also after a critical stop.
bool ferry_vidmm_critical(struct ferry_vidmm *manager, struct ferry_vidmm_critical *record);

struct ferry_vidmm_statistics {
    uint64_t operations[DXGK_OPERATION_COUNT]; // completed
    uint64_t bytes_in, bytes_out;              // system memory to a memory segment, and back
    uint64_t bytes_discarded, bytes_filled;
    uint64_t bytes_moved; // inside or between memory segments
    uint64_t evictions;
    uint64_t paging_buffers; // submitted
    uint64_t jobs;           // user buffers submitted
    uint64_t busy_answers, insufficient_answers;
    uint64_t resident_bytes; // in memory segments now
    uint64_t required_bytes; // on residency lists, of memory segments
    uint64_t budget_bytes;
    uint64_t backing_bytes;     // host pages held as backing stores
    uint64_t dummy_page_writes; // times the dummy page was found changed (R76)
    uint64_t cache_flushes;     // hand-overs of cached pages to a non-coherent segment (R121)
    uint64_t faulted_jobs, faulted_paging_buffers;
    uint64_t on_demand_bytes; // CPU addresses handed out for CpuVisibleOnDemand (R178)
    uint64_t contents_lost;   // evictions through an aperture that an overlay left too little of (R155)
    uint64_t allocations;     // live
};
int ferry_vidmm_statistics(struct ferry_vidmm *manager, struct ferry_vidmm_statistics *statistics);

/// Budget of memory-segment bytes for all residency lists together; 0 = what the segments hold. Evicts nothing itself.
int ferry_vidmm_set_budget(struct ferry_vidmm *manager, uint64_t bytes);
/// ResetEngine on every node with work in flight: that work counts as faulted, everything else goes on. Errors:
/// TIMEOUT.
int ferry_vidmm_reset_engine(struct ferry_vidmm *manager);

// ---- Devices, contexts, jobs ------------------------------------------------------------------------------------

/// Errors: ARGUMENT, NO_HOST_MEMORY.
int ferry_vidmm_create_device(struct ferry_vidmm *manager, D3DKMT_HANDLE *device);
/// Waits for its work, then destroys its contexts, paging queues and allocations too (locked ones as well).
/// Errors: HANDLE, TIMEOUT.
int ferry_vidmm_destroy_device(struct ferry_vidmm *manager, D3DKMT_HANDLE device);
/// Errors: ARGUMENT, HANDLE.
int ferry_vidmm_device_state(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_DEVICEEXECUTION_STATE *state);

#define FERRY_VIDMM_ANY_NODE 0xFFFFFFFFu
/// A context on a node that is not the paging node; ANY_NODE takes them in turn. *info (may be NULL) gets the
/// miniport's DMA buffer sizes. Errors: ARGUMENT, HANDLE, NO_HOST_MEMORY, DEVICE_LOST, UNSUPPORTED.
int ferry_vidmm_create_context(struct ferry_vidmm *manager, D3DKMT_HANDLE device, uint32_t node, D3DKMT_HANDLE *context,
                               DXGK_CONTEXTINFO *info);
/// Waits for its jobs. Errors: HANDLE, TIMEOUT.
int ferry_vidmm_destroy_context(struct ferry_vidmm *manager, D3DKMT_HANDLE context);

struct ferry_vidmm_reference {
    D3DKMT_HANDLE allocation;
    bool write; // The job writes it: the copy in video memory becomes the newer one.
};
// A job: the commands with zeros where addresses belong, the allocations, and where whose address goes. The manager
// copies the commands into a DMA buffer, fills the allocation list with each allocation's place, and has the miniport
// patch and submit it (physical addressing, one job = one DMA buffer).
struct ferry_vidmm_submission {
    const void *commands;
    uint32_t bytes; // 1 to DXGK_CONTEXTINFO.DmaBufferSize
    const struct ferry_vidmm_reference *references;
    uint32_t reference_count;
    const D3DDDI_PATCHLOCATIONLIST *patches; // AllocationIndex counts in references
    uint32_t patch_count;
};
/// Bring back whatever of the device's residency list is out, wait for the paging of the named allocations, patch,
/// submit. *fence is the job's number, growing in one context. Errors: ARGUMENT, HANDLE, FOREIGN, RANGE (a patch
/// outside the commands or the allocation), NOT_RESIDENT (named, but count 0), LOCKED (named, and locked without
/// PermanentSysMem semantics), NO_VIDEO_MEMORY, NO_HOST_MEMORY, DEVICE_LOST, TIMEOUT.
int ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                       const struct ferry_vidmm_submission *submission, uint64_t *fence);
/// Wait until the job is done. Errors: HANDLE, ARGUMENT (no such job), FAULT (this job faulted), TIMEOUT.
int ferry_vidmm_wait(struct ferry_vidmm *manager, D3DKMT_HANDLE context, uint64_t fence);
/// The newest completed job of the context's node. Errors: ARGUMENT, HANDLE.
int ferry_vidmm_completed(struct ferry_vidmm *manager, D3DKMT_HANDLE context, uint64_t *fence);

// ---- Allocations ------------------------------------------------------------------------------------------------

struct ferry_vidmm_allocation_options {
    size_t size;
    void *private_data; // For the miniport: struct ferry_allocation_private with ours.
    uint32_t private_data_bytes;
    bool primary;        // C6
    bool shared;         // C20
    bool write_only_use; // C12
    void *existing;      // ExistingSysMem: outlives the allocation.
    uint64_t existing_bytes;
    uint32_t fill_pattern; // Initial content.
};
#define FERRY_VIDMM_MAX_ALLOCATION_BYTES (UINT64_C(1) << 40)
/// Create one allocation through DxgkDdiCreateAllocation, on no residency list, without backing store until it needs
/// one. *broken_rule (may be NULL) gets the number n of the rule Cn on FERRY_ERROR_FLAGS, else 0. Errors: ARGUMENT,
/// HANDLE, FLAGS, NO_HOST_MEMORY, DEVICE_LOST, UNSUPPORTED (also for a flag whose behaviour is not there;
/// ferry_flags_unsupported() names it).
int ferry_vidmm_create_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE device,
                                  const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *allocation,
                                  unsigned *broken_rule);
/// Waits for GPU work that names it. Errors: HANDLE, LOCKED, TIMEOUT.
int ferry_vidmm_destroy_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation);

struct ferry_vidmm_placement {
    uint32_t segment; // 0 = system memory
    uint64_t offset;  // in the segment
    uint64_t bytes;   // rounded up to pages
    uint32_t flags;   // DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 as the miniport gave them
    uint32_t residency_count;
    bool dirty; // the copy in video memory is newer than the one in system memory
    bool locked;
    bool has_backing;
    bool lost; // its content is lost: no lock, no residency any more (R156)
};
/// Errors: ARGUMENT, HANDLE.
int ferry_vidmm_placement(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation,
                          struct ferry_vidmm_placement *placement);

// ---- Residency (R213 to R225) -----------------------------------------------------------------------------------

/// priority is -1, 0 or 1. Errors: ARGUMENT, HANDLE, NO_HOST_MEMORY, DEVICE_LOST.
int ferry_vidmm_create_paging_queue(struct ferry_vidmm *manager, D3DKMT_HANDLE device, int priority,
                                    D3DKMT_HANDLE *queue);
/// Errors: HANDLE, TIMEOUT.
int ferry_vidmm_destroy_paging_queue(struct ferry_vidmm *manager, D3DKMT_HANDLE queue);
/// The monitored fence's present value. Errors: ARGUMENT, HANDLE.
int ferry_vidmm_paging_fence(struct ferry_vidmm *manager, D3DKMT_HANDLE queue, uint64_t *value);
/// Wait until the paging queue's fence has reached value. Errors: HANDLE, ARGUMENT (never handed out), TIMEOUT,
/// DEVICE_LOST (paging of this device faulted).
int ferry_vidmm_wait_paging(struct ferry_vidmm *manager, D3DKMT_HANDLE queue, uint64_t value);

/// One more on each count, all or none. FERRY_OK: usable at once (S_OK). FERRY_PENDING: arguments->PagingFenceValue
/// first (E_PENDING); submit() waits by itself too. FERRY_ERROR_NO_VIDEO_MEMORY (E_OUTOFMEMORY):
/// arguments->NumBytesToTrim. An empty list is FERRY_OK. Errors: ARGUMENT (MustSucceed without CantTrimFurther,
/// reserved flags, more than D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS), HANDLE, FOREIGN, LOCKED (a lock took its content out
/// of the segment, and only unlock lets it back, R216), NO_VIDEO_MEMORY, NO_HOST_MEMORY, DEVICE_LOST, TIMEOUT. With
/// MustSucceed a failure for want of memory puts the device in error (R228).
int ferry_vidmm_make_resident(struct ferry_vidmm *manager, D3DDDI_MAKERESIDENT *arguments);
/// One less on each count, all or none. The allocations stay where they are until the room is needed, unless their
/// memory is over budget. Errors: ARGUMENT, HANDLE, FOREIGN, NOT_RESIDENT (a count would go below 0).
int ferry_vidmm_evict(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DDDICB_EVICT *arguments);
/// What the callbacks of the contract return for a result of make_resident(): S_OK, E_PENDING, E_OUTOFMEMORY,
/// E_INVALIDARG or D3DDDIERR_DEVICEREMOVED. Any thread.
HRESULT ferry_vidmm_hresult(int result);

// ---- CPU access -------------------------------------------------------------------------------------------------

/// *address is the first byte of the allocation. flags: D3DDDI_LOCK_READ_ONLY, _WRITE_ONLY, _DO_NOT_WAIT, _DISCARD,
/// _DO_NOT_EVICT, _LOCK_ENTIRE. PermanentSysMem and existing memory: the backing store (R113), brought up to date
/// first. Otherwise content in a memory segment is brought to a backing store; it goes back at the next use. With
/// READ_ONLY or DO_NOT_EVICT only a copy goes there, and unlock brings back what was written. DO_NOT_WAIT means nothing
/// beside DISCARD. Errors: ARGUMENT, HANDLE, NOT_LOCKABLE (rule C17), LOCKED, BUSY (DO_NOT_WAIT), NO_HOST_MEMORY,
/// TIMEOUT, DEVICE_LOST.
int ferry_vidmm_lock(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, uint32_t flags, void **address);
/// The same, but only pages [first, first + count) will be written; only they are brought to video memory at unlock.
int ferry_vidmm_lock_pages(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, uint32_t flags, uint64_t first,
                           uint64_t count, void **address);
/// PermanentSysMem that sits in a memory segment: the locked pages are transferred there (R114, R115), and later jobs
/// wait for it. Errors: HANDLE, NOT_LOCKED, TIMEOUT, DEVICE_LOST.
int ferry_vidmm_unlock(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation);

#endif
