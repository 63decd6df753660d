// SPDX-License-Identifier: Apache-2.0
// Order on the GPU: nodes, jobs and paging operations with what each has to wait for, paging queues' fences. This layer
// knows nothing of allocations and places; what it has to know of an owner of work is the subject (below).
//
// Whoever decides does so at once, as if everything queued before had already run, and queues what has to happen for
// it. Jobs stand in one line a node and get their number there; paging operations stand in one line for all. An entry
// names only entries that were queued before it: an operation the user jobs that use the same content or place, a job
// the operations that bring its allocations. So there is no circle, and nobody has to wait in order to queue something.
// ferry_vm_pump() hands to the miniport whatever has nothing to wait for any more.
//
// An operation's record lives until the paging buffer with its last piece is done. What a reset has aborted is built
// again from it, in order: its source is untouched, because whatever could overwrite it stands behind it in the line.
#ifndef FERRY_VIDMM_SCHED_SCHED_H
#define FERRY_VIDMM_SCHED_SCHED_H

#include "vidmm/base/core.h"

// Buffers with the miniport at a time, of all nodes together: what a device holds fetched. More would only stand in its
// rings, where a reset does not find them. One place stays free of user jobs, so that paging is never kept waiting.
#define FERRY_VM_IN_FLIGHT 4

// What work is about: an allocation, seen from here.
struct ferry_vm_subject {
    D3DKMT_HANDLE handle;
    uint64_t last_fence[FERRY_VM_MAX_NODES]; // newest job of each node that names it; of the paging node the operation
};

struct ferry_vm_context {
    D3DKMT_HANDLE handle;
    struct ferry_vm_device *device;
    HANDLE miniport;
    uint32_t node;
    DXGK_CONTEXTINFO info;
    uint64_t last_fence;
    uint64_t *faulted; // numbers of faulted jobs, growing; has room for those that are queued
    size_t faulted_count, faulted_capacity;
    struct ferry_vm_job **spares; // with their DMA buffers, for the next jobs
    unsigned spare_count, jobs;   // jobs: queued and not over
    struct ferry_vm_list link;
};

// A paging queue's monitored fence: values handed out and the operation that signals each.
struct ferry_vm_pending {
    uint64_t value, operation;
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

struct ferry_vm_job {
    uint64_t fence; // its number on the node
    uint64_t wire;  // SubmissionFenceId (widened) it went out with; another one after a reset
    uint64_t order;
    uint64_t after_operation; // not before this one is done
    uint64_t event;
    struct ferry_vm_context *context;
    MDL *buffer;
    void *private_data;
    // The program's commands and lists: Patch writes into the buffer, and after a reset it is made anew.
    void *copy;
    size_t copy_bytes;
    const void *commands;
    DXGK_ALLOCATIONLIST *allocations;
    D3DDDI_PATCHLOCATIONLIST *patches;
    uint32_t bytes, allocation_count, patch_count;
    NTSTATUS status;
    bool aborted; // by a reset that was not for it
    struct ferry_vm_job *next;
};

struct ferry_vm_node {
    uint64_t queued;    // newest job's number
    uint64_t completed; // newest job that is over
    // Numbers of SubmitCommand:
    uint64_t submitted; // newest one given away
    uint64_t reported;  // newest one the miniport called done, at interrupt time
    uint64_t retired;   // taken over at DPC time
    uint64_t reset_at;  // up to here ended by a reset; late notifications about them mean nothing
    struct ferry_vm_job *first, *last, *unsent; // in order; from unsent on not submitted
    unsigned jobs, in_flight;
};

struct ferry_vm_paging_buffer {
    MDL *mdl;
    void *private_data;
    uint64_t fence; // SubmitCommand's; 0 = never submitted
    uint64_t order;
    uint32_t used, private_used;
    bool faulted, aborted;
};

struct ferry_vm_operation {
    uint64_t event, bytes;
    uint64_t first_fence, fence; // submissions of its first and last piece; 0 = not built
    uint64_t after[FERRY_VM_MAX_NODES];
    D3DKMT_HANDLE allocation;
    uint32_t busy; // answers
    bool begun;    // some of it is built
    bool once;     // FERRY_VM_ONCE
    bool nothing;  // not for the miniport: only pages to give back
    MDL *release;  // given back when it is done
    DXGKARG_BUILDPAGINGBUFFER argument;
};

struct ferry_vm_sched {
    struct ferry_vm_core *core;
    DXGKRNL_INTERFACE interface;
    struct ferry_vm_node nodes[FERRY_VM_MAX_NODES];
    unsigned node_count, paging_node, next_node;
    HANDLE system_device, system_context;
    struct ferry_vm_list waiting_queues;
    bool dpc_queued, pumping, resetting;
    unsigned reset_node;
    uint64_t order;    // of submissions, over all nodes
    uint64_t progress; // entries that ended

    struct ferry_vm_paging_buffer *buffers;
    unsigned buffer_count, buffer_index; // ring; the one at buffer_index is the open one when buffer_open
    bool buffer_open, parked;            // parked: the head was answered BUSY
    uint32_t buffer_bytes, buffer_private_bytes, busy_limit;
    // Ring by number: done <= built <= queued, the newest operation of each state.
    struct ferry_vm_operation *operations;
    size_t capacity;
    uint64_t done, built, queued;

    // Told when the paging buffer that moves an allocation's content has faulted.
    void (*content_lost)(void *context, D3DKMT_HANDLE allocation);
    void *content_lost_context;
};

// ---- sched.c ----
/// How many nodes there are, and which one is for paging.
int ferry_vm_read_caps(struct ferry_vm_sched *sched);
int ferry_vm_make_system_context(struct ferry_vm_sched *sched);

// ---- nodes.c ----
void ferry_vm_interface(struct ferry_vm_sched *sched);
/// Run the DPC as often as it was asked for.
void ferry_vm_drain(struct ferry_vm_sched *sched);
/// One turn of the wait hook, then the DPC and the pump.
int ferry_vm_run(struct ferry_vm_sched *sched);
/// Give the miniport whatever has nothing to wait for any more. Waits for nothing itself.
void ferry_vm_pump(struct ferry_vm_sched *sched);
/// Buffers that the miniport has, of all nodes.
unsigned ferry_vm_in_flight(const struct ferry_vm_sched *sched);
/// ResetEngine. The oldest job of the node that was in flight is to blame and ends as faulted, all of them with `all`;
/// whatever else was aborted runs again.
int ferry_vm_reset_node(struct ferry_vm_sched *sched, unsigned node, bool all);

// ---- wait.c ----
// What a waiter remembers from turn to turn.
struct ferry_vm_patience {
    bool was_reset;
    uint64_t seen;
};
bool ferry_vm_reached(const struct ferry_vm_sched *sched, unsigned node, uint64_t number);
/// One bounded turn towards a job's number, or on the paging node an operation's. FERRY_OK: reached. FERRY_PENDING:
/// not yet. A device that stops answering is reset; TIMEOUT when that does not help.
int ferry_vm_turn(struct ferry_vm_sched *sched, unsigned node, uint64_t number, struct ferry_vm_patience *patience);
/// Turn after turn.
int ferry_vm_wait(struct ferry_vm_sched *sched, unsigned node, uint64_t number);
/// The first thing that the subject waits for: false when there is none. User nodes only unless paging is true.
bool ferry_vm_subject_pending(const struct ferry_vm_sched *sched, const uint64_t last_fence[FERRY_VM_MAX_NODES],
                              bool paging, unsigned *node);
int ferry_vm_wait_allocation(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject, bool paging);
bool ferry_vm_busy(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject);

// ---- pager.c ----
int ferry_vm_paging_start(struct ferry_vm_sched *sched, const struct ferry_vidmm_options *options, uint32_t bytes,
                          uint32_t private_bytes);
void ferry_vm_paging_stop(struct ferry_vm_sched *sched);
/// Room for so many more operations and releases, so that queueing them cannot fail.
int ferry_vm_reserve(struct ferry_vm_sched *sched, size_t more);
#define FERRY_VM_WHEN_IDLE 1u // not even built before the subject's earlier operations are done
#define FERRY_VM_ONCE      2u // run twice it would spoil its content: aborted half-way, the content is lost
/// Queue one operation; room for it is reserved. It waits for the subject's jobs. subject may be NULL.
void ferry_vm_queue_operation(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                              struct ferry_vm_subject *subject, uint64_t bytes, unsigned flags);
/// Give the pages back once everything queued so far has run; room for it is reserved.
void ferry_vm_release_later(struct ferry_vm_sched *sched, MDL *mdl);
/// Build what may be built, submit what is worth it. True when something moved.
bool ferry_vm_pump_paging(struct ferry_vm_sched *sched);
/// Submit the open buffer, if anything is in it and the device has room. True when it went out.
bool ferry_vm_flush(struct ferry_vm_sched *sched);
/// Paging submissions up to the node's reported one are over.
void ferry_vm_paging_retired(struct ferry_vm_sched *sched);

// ---- monitored_fence.c ----
int ferry_vm_queue_new(struct ferry_vm_sched *sched, struct ferry_vm_device *device, int priority,
                       D3DKMT_HANDLE *handle);
void ferry_vm_queue_free(struct ferry_vm_sched *sched, struct ferry_vm_queue *queue);
/// Room for one more value, so that handing it out cannot fail.
int ferry_vm_queue_reserve(struct ferry_vm_queue *queue);
uint64_t ferry_vm_queue_value(struct ferry_vm_sched *sched, struct ferry_vm_queue *queue, uint64_t operation);
void ferry_vm_queues_signal(struct ferry_vm_sched *sched);
/// The operation that a value handed out waits for; 0 when it is reached.
uint64_t ferry_vm_queue_operation_of(const struct ferry_vm_queue *queue, uint64_t value);

// ---- jobs.c ----
int ferry_vm_context_new(struct ferry_vm_sched *sched, struct ferry_vm_device *device, uint32_t node,
                         D3DKMT_HANDLE *handle, DXGK_CONTEXTINFO *info);
/// Its jobs are over, or the manager has stopped.
void ferry_vm_context_free(struct ferry_vm_sched *sched, struct ferry_vm_context *context);
bool ferry_vm_job_faulted(const struct ferry_vm_context *context, uint64_t fence);
/// Enough stands in the node's line: the next job has to wait for the oldest.
bool ferry_vm_jobs_full(const struct ferry_vm_sched *sched, unsigned node);
/// A job with its DMA buffer and the program's commands and patches in it; the caller fills job->allocations.
int ferry_vm_job_new(struct ferry_vm_sched *sched, struct ferry_vm_context *context,
                     const struct ferry_vidmm_submission *submission, struct ferry_vm_job **job);
/// Back to where it came from, not queued.
void ferry_vm_job_drop(struct ferry_vm_sched *sched, struct ferry_vm_job *job);
/// Into the node's line, as the number after its newest.
void ferry_vm_job_queue(struct ferry_vm_sched *sched, struct ferry_vm_job *job);
bool ferry_vm_pump_jobs(struct ferry_vm_sched *sched, unsigned node);
/// Submissions up to the node's reported one are over.
void ferry_vm_jobs_retired(struct ferry_vm_sched *sched, unsigned node);

#endif
