// SPDX-License-Identifier: Apache-2.0
// What the manager's files share. Nothing outside vidmm/ includes this.
//
// The lock: every public call takes ferry_vidmm.lock; everything declared here runs inside it. The miniport's
// call-backs (fences.c) come from the wait hook or from a call into the miniport, so they run inside it too.
//
// Order on the GPU: everything the manager does to memory goes through the paging node, in order, so an operation
// never waits for an earlier paging operation. What it must wait for are user jobs: the open paging buffer collects
// up to which fence of which node (open_wait), and is not submitted before these are reached. A user job in turn is
// not submitted before the paging of its allocations is done.
#ifndef FERRY_VIDMM_INTERNAL_H
#define FERRY_VIDMM_INTERNAL_H

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ddi/flag_rules.h"
#include "vidmm/handles.h"
#include "vidmm/segment_allocator.h"
#include "vidmm/victim.h"
#include "vidmm/vidmm.h"

#define FERRY_VM_MAX_SEGMENTS 8
#define FERRY_VM_MAX_NODES    8

struct ferry_vm_list {
    struct ferry_vm_list *previous, *next;
};

struct ferry_vm_device {
    D3DKMT_HANDLE handle;
    HANDLE miniport;
    D3DKMT_DEVICEEXECUTION_STATE state;
    struct ferry_vm_list allocations; // all of it; for destroy_device only
    struct ferry_vm_list missing;     // required, but not in place
    struct ferry_vm_list contexts, queues;
    struct ferry_vm_list link;
};

struct ferry_vm_context {
    D3DKMT_HANDLE handle;
    struct ferry_vm_device *device;
    HANDLE miniport;
    uint32_t node;
    DXGK_CONTEXTINFO info;
    uint64_t last_fence;
    uint64_t *faulted; // fences of faulted jobs, growing
    size_t faulted_count, faulted_capacity;
    DXGK_ALLOCATIONLIST *allocation_list; // scratch for one submission
    struct ferry_vm_job **spares;         // with their DMA buffers, for the next jobs
    unsigned spare_count;
    struct ferry_vm_list link;
};

// A paging queue's monitored fence: values handed out and the paging submission that signals each.
struct ferry_vm_pending {
    uint64_t value, fence;
};
struct ferry_vm_queue {
    D3DKMT_HANDLE handle;
    struct ferry_vm_device *device;
    int priority;
    uint64_t handed_out, current;
    struct ferry_vm_pending *pending; // ring
    size_t first, count, capacity;
    struct ferry_vm_list link;    // of the device
    struct ferry_vm_list waiting; // of the manager, while values are pending
};

struct ferry_vm_allocation {
    D3DKMT_HANDLE handle;
    struct ferry_vm_device *device;
    HANDLE miniport;
    struct ferry_vm_block *block; // NULL = in system memory
    MDL *backing;                 // NULL = none
    struct ferry_vm_use use;
    uint64_t last_fence[FERRY_VM_MAX_NODES]; // newest work of each node that touches it
    struct ferry_vm_list link;               // of the device
    struct ferry_vm_list missing;            // self-linked while not on that list
    uint32_t pages, count;
    uint32_t flags, segment_set, fill_pattern;
    uint32_t preferred; // D3DDDI_SEGMENTPREFERENCE
    uint32_t lock_first, lock_pages;
    uint8_t lock_flags;
    uint8_t alignment_log2;     // of pages
    uint8_t segment : 4;        // id, 0 = system memory
    uint8_t bank_direction : 2; // 0 = no hinted bank, else 1 + direction
    uint8_t wants_memory : 1;   // a memory segment is in its set
    uint8_t locked : 1;
    uint8_t fresh : 1;        // content is still the fill pattern everywhere
    uint8_t dirty : 1;        // what sits in the segment is newer than the backing store, or there is none
    uint8_t dirty_before : 1; // what dirty was when the residency count last left 0
    uint8_t lost : 1;         // a paging operation on it faulted
    uint8_t coherent : 1;     // mapped CacheCoherent
    uint8_t gpu_wrote : 1;    // since the last CPU access, through an aperture
    uint8_t pinned : 1;
    uint8_t eviction_segment : 4; // aperture through which it is evicted, 0 = straight to system pages
};
static_assert(sizeof(struct ferry_vm_allocation) + sizeof(struct ferry_vm_block) <= 384, "bookkeeping an allocation");

struct ferry_vm_segment {
    uint32_t id;
    DXGK_SEGMENTFLAGS flags;
    uint64_t base, pages;
    bool aperture;
    struct ferry_vm_space space;
    uint64_t pinned_pages; // of overlays and captures in it
    struct ferry_vm_victims victims;
};

struct ferry_vm_job {
    uint64_t fence, event;
    struct ferry_vm_context *context;
    MDL *buffer;
    void *private_data;
    struct ferry_vm_job *next;
};

struct ferry_vm_fault {
    uint64_t fence;
    NTSTATUS status;
};

struct ferry_vm_node {
    uint64_t submitted; // newest fence given to SubmitCommand
    uint64_t reported;  // newest fence the miniport called done, at interrupt time
    uint64_t completed; // taken over at DPC time
    uint64_t reset_at;  // fences up to here were ended by a reset; late notifications about them mean nothing
    struct ferry_vm_job *first, *last; // in flight
    unsigned jobs;
    struct ferry_vm_fault *faults; // reported and not taken over
    size_t fault_count, fault_capacity;
};

struct ferry_vm_paging_buffer {
    MDL *mdl;
    void *private_data;
    uint64_t fence; // 0 = never submitted
    uint32_t used, private_used;
    D3DKMT_HANDLE *touched; // allocations whose content this buffer moves
    size_t touched_count, touched_capacity;
};

// An operation that was built and not yet executed, for events and statistics; and pages to free after a fence.
struct ferry_vm_operation {
    uint64_t fence, event, bytes;
    D3DKMT_HANDLE allocation;
    uint32_t operation;
    MDL *release; // operation is DXGK_OPERATION_COUNT then
};

struct ferry_vidmm {
    pthread_mutex_t lock;
    const DRIVER_INITIALIZATION_DATA *miniport;
    HANDLE adapter;
    struct ferry_vidmm_platform platform;
    ferry_vidmm_observer *observer;
    void *observer_context;
    DXGK_DRIVERCAPS caps;
    DXGKRNL_INTERFACE interface;
    struct ferry_vm_handles handles;
    struct ferry_vm_segment segments[FERRY_VM_MAX_SEGMENTS];
    unsigned segment_count;
    struct ferry_vm_node nodes[FERRY_VM_MAX_NODES];
    unsigned node_count, paging_node, next_node;
    HANDLE system_device, system_context;
    struct ferry_vm_list devices, waiting_queues;

    // Paging.
    struct ferry_vm_paging_buffer *buffers;
    unsigned buffer_count, buffer_index; // ring; the one at buffer_index is the open one when buffer_open
    bool buffer_open;
    uint32_t buffer_bytes, buffer_private_bytes;
    uint64_t open_wait[FERRY_VM_MAX_NODES];
    struct ferry_vm_operation *operations; // ring, fences growing
    size_t operation_first, operation_count, operation_capacity;
    uint32_t busy_limit;
    uint64_t sub_transfer_bytes;

    bool dpc_queued;
    MDL *dummy_page;
    struct ferry_vm_block *scratch_block; // one aperture page for WRITE_PHYSICAL
    unsigned scratch_segment;             // index + 1, 0 = none
    MDL *scratch_page;

    uint64_t time;  // GPU submissions
    uint64_t event; // newest event id
    uint64_t serial;
    uint64_t budget;                       // 0 = none
    uint64_t memory_bytes, aperture_bytes; // what all segments of the kind hold
    uint64_t required_memory, required_aperture;
    bool lru;
    struct ferry_vidmm_critical critical;
    struct ferry_vidmm_statistics statistics;
};

// ---- list ----
static inline void ferry_vm_list_init(struct ferry_vm_list *list)
{
    list->previous = list->next = list;
}
static inline bool ferry_vm_list_empty(const struct ferry_vm_list *list)
{
    return list->next == list;
}
static inline void ferry_vm_list_add(struct ferry_vm_list *list, struct ferry_vm_list *link)
{
    link->previous = list->previous;
    link->next = list;
    list->previous->next = link;
    list->previous = link;
}
static inline void ferry_vm_list_remove(struct ferry_vm_list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    ferry_vm_list_init(link);
}
#define FERRY_VM_CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

// ---- manager.c ----
int ferry_vm_enter(struct ferry_vidmm *manager); // locks; CRITICAL (and locked nevertheless) after a critical stop
int ferry_vm_leave(struct ferry_vidmm *manager, int result);
/// Stop for good; returns FERRY_ERROR_CRITICAL. Only the first record is kept.
int ferry_vm_stop_critical(struct ferry_vidmm *manager, struct ferry_vidmm_critical record);
int ferry_vm_error_of_status(NTSTATUS status);

// ---- events.c ----
void ferry_vm_emit(struct ferry_vidmm *manager, struct ferry_vidmm_event event);
void ferry_vm_emit_place(struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation, bool placed);

// ---- segments.c ----
int ferry_vm_segments_read(struct ferry_vidmm *manager, const struct ferry_vidmm_options *options);
void ferry_vm_segments_destroy(struct ferry_vidmm *manager);
struct ferry_vm_segment *ferry_vm_segment_by_id(struct ferry_vidmm *manager, uint32_t id);
/// Segments in which the allocation may be, best first. Returns how many.
unsigned ferry_vm_segment_order(struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation,
                                struct ferry_vm_segment *order[FERRY_VM_MAX_SEGMENTS]);
bool ferry_vm_from_end(const struct ferry_vm_allocation *allocation, uint32_t segment);

// ---- fences.c ----
void ferry_vm_interface(struct ferry_vidmm *manager);
/// Run the DPC as often as it was asked for.
void ferry_vm_drain(struct ferry_vidmm *manager);
/// One turn of the wait hook, then the DPC.
int ferry_vm_run(struct ferry_vidmm *manager);
/// Until the node has completed fence; submits the open paging buffer when that is what is waited for. A node that
/// stops answering is reset once; TIMEOUT when that does not help.
int ferry_vm_wait(struct ferry_vidmm *manager, unsigned node, uint64_t fence);
/// Until nothing of any node touches it, user nodes only unless paging is true.
int ferry_vm_wait_allocation(struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation, bool paging);
bool ferry_vm_busy(const struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation);
int ferry_vm_reset_node(struct ferry_vidmm *manager, unsigned node);

// ---- paging.c ----
int ferry_vm_paging_start(struct ferry_vidmm *manager, const struct ferry_vidmm_options *options, uint32_t bytes,
                          uint32_t private_bytes);
void ferry_vm_paging_stop(struct ferry_vidmm *manager);
/// Build one operation whole, over as many buffers as it takes. allocation may be NULL.
int ferry_vm_build(struct ferry_vidmm *manager, DXGKARG_BUILDPAGINGBUFFER *argument,
                   struct ferry_vm_allocation *allocation, uint64_t bytes);
/// Submit the open buffer, if anything is in it.
int ferry_vm_flush(struct ferry_vidmm *manager);
/// The paging submission in which the next operation would go.
uint64_t ferry_vm_paging_fence(const struct ferry_vidmm *manager);
/// Nothing of the open buffer may run before the allocation's user jobs are done.
void ferry_vm_hold_for(struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation);
/// Free the pages once everything built so far has run.
int ferry_vm_release_later(struct ferry_vidmm *manager, MDL *mdl);
/// Paging submissions up to completed are done: end events, statistics, deferred frees, paging queues.
void ferry_vm_paging_completed(struct ferry_vidmm *manager, uint64_t completed);
void ferry_vm_paging_faulted(struct ferry_vidmm *manager, uint64_t fence);

// ---- operations.c ----
int ferry_vm_transfer_in(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation, uint64_t first,
                         uint64_t pages);
int ferry_vm_transfer_out(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);
/// Inside the allocation's segment, from its block to page `to` below it; the two may overlap.
int ferry_vm_transfer_move(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation, uint64_t to);
int ferry_vm_fill(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);
int ferry_vm_discard(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);
int ferry_vm_physical(struct ferry_vidmm *manager, struct ferry_vm_segment *segment, uint64_t page, bool write);

// ---- aperture.c ----
int ferry_vm_aperture_start(struct ferry_vidmm *manager);
void ferry_vm_aperture_stop(struct ferry_vidmm *manager);
int ferry_vm_map(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);
int ferry_vm_unmap(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);
/// Was the dummy page written since the last look? Counts it and puts the pattern back (R76).
void ferry_vm_dummy_inspect(struct ferry_vidmm *manager);
/// GPU writes through the aperture become visible to the CPU (R58, R62).
int ferry_vm_aperture_order(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation, bool cpu_reads);

// ---- backing.c ----
int ferry_vm_backing_make(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);
/// From a later paging fence on the pages are free (R110).
int ferry_vm_backing_drop(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);
void ferry_vm_backing_free(struct ferry_vidmm *manager, MDL *mdl);
bool ferry_vm_permanent(const struct ferry_vm_allocation *allocation);
/// Cached pages change hands between CPU and a segment that does not snoop (R121, R123).
void ferry_vm_cache_handover(struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation);

// ---- placement.c ----
/// Bring it in: find room (others may have to leave), bring content. PENDING is not told from OK here.
int ferry_vm_place(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);
/// All of the device's required allocations that are out, as far as they are not locked away.
int ferry_vm_place_missing(struct ferry_vidmm *manager, struct ferry_vm_device *device);
uint64_t ferry_vm_bytes(const struct ferry_vm_allocation *allocation);
/// What it counts against the limit of all residency lists: its bytes rounded up to its alignment.
uint64_t ferry_vm_charge(const struct ferry_vm_allocation *allocation);

// ---- eviction.c ----
/// Take it out of its segment; content goes to the backing store unless that is as good, or `drop` says it is unwanted.
int ferry_vm_remove(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation, bool drop);
/// Evict the victim of this segment when `pages` more are wanted. FERRY_ERROR_NO_VIDEO_MEMORY when nobody can leave.
int ferry_vm_evict_one(struct ferry_vidmm *manager, struct ferry_vm_segment *segment, uint64_t pages);
/// Keep the candidate lists and the missing list right after count, block or lock changed.
void ferry_vm_relist(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);

// ---- paging_queue.c ----
void ferry_vm_queues_signal(struct ferry_vidmm *manager, uint64_t completed);
int ferry_vm_queue_value(struct ferry_vidmm *manager, struct ferry_vm_queue *queue, uint64_t fence, uint64_t *value);
void ferry_vm_queue_free(struct ferry_vidmm *manager, struct ferry_vm_queue *queue);

// ---- devices.c, jobs.c, allocations.c ----
int ferry_vm_device_free(struct ferry_vidmm *manager, struct ferry_vm_device *device);
void ferry_vm_jobs_completed(struct ferry_vidmm *manager, unsigned node, uint64_t completed);
int ferry_vm_context_free(struct ferry_vidmm *manager, struct ferry_vm_context *context);
int ferry_vm_allocation_free(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);
/// The live allocation of this device; *error is HANDLE or FOREIGN when NULL comes back. device NULL = of any device.
struct ferry_vm_allocation *ferry_vm_allocation_find(struct ferry_vidmm *manager, const struct ferry_vm_device *device,
                                                     D3DKMT_HANDLE handle, int *error);

#endif
