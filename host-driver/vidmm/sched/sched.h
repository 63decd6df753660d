// SPDX-License-Identifier: Apache-2.0
// Order on the GPU: nodes and their fences, jobs, paging buffers, paging queues' fences. This layer knows nothing of
// allocations and places; what it has to know of an owner of work is the subject (below).
//
// Everything the manager does to memory goes through the paging node, in order, so an operation never waits for an
// earlier paging operation. What it must wait for are user jobs: the open paging buffer collects up to which fence of
// which node (open_wait), and is not submitted before these are reached. A user job in turn is not submitted before
// the paging of its allocations is done.
#ifndef FERRY_VIDMM_SCHED_SCHED_H
#define FERRY_VIDMM_SCHED_SCHED_H

#include "vidmm/base/core.h"

// What work is about: an allocation, seen from here.
struct ferry_vm_subject {
    D3DKMT_HANDLE handle;
    uint64_t last_fence[FERRY_VM_MAX_NODES]; // newest work of each node that touches it
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

struct ferry_vm_sched {
    struct ferry_vm_core *core;
    DXGKRNL_INTERFACE interface;
    struct ferry_vm_node nodes[FERRY_VM_MAX_NODES];
    unsigned node_count, paging_node, next_node;
    HANDLE system_device, system_context;
    struct ferry_vm_list waiting_queues;
    bool dpc_queued;

    struct ferry_vm_paging_buffer *buffers;
    unsigned buffer_count, buffer_index; // ring; the one at buffer_index is the open one when buffer_open
    bool buffer_open;
    uint32_t buffer_bytes, buffer_private_bytes;
    uint64_t open_wait[FERRY_VM_MAX_NODES];
    struct ferry_vm_operation *operations; // ring, fences growing
    size_t operation_first, operation_count, operation_capacity;
    uint32_t busy_limit;

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
/// One turn of the wait hook, then the DPC.
int ferry_vm_run(struct ferry_vm_sched *sched);
/// Until the node has completed fence; submits the open paging buffer when that is what is waited for. A node that
/// stops answering is reset once; TIMEOUT when that does not help.
int ferry_vm_wait(struct ferry_vm_sched *sched, unsigned node, uint64_t fence);
/// Until nothing of any node touches it, user nodes only unless paging is true.
int ferry_vm_wait_allocation(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject, bool paging);
bool ferry_vm_busy(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject);
int ferry_vm_reset_node(struct ferry_vm_sched *sched, unsigned node);

// ---- pager.c ----
int ferry_vm_paging_start(struct ferry_vm_sched *sched, const struct ferry_vidmm_options *options, uint32_t bytes,
                          uint32_t private_bytes);
void ferry_vm_paging_stop(struct ferry_vm_sched *sched);
/// Build one operation whole, over as many buffers as it takes. subject may be NULL.
int ferry_vm_build(struct ferry_vm_sched *sched, DXGKARG_BUILDPAGINGBUFFER *argument, struct ferry_vm_subject *subject,
                   uint64_t bytes);
/// Submit the open buffer, if anything is in it.
int ferry_vm_flush(struct ferry_vm_sched *sched);
/// The paging submission in which the next operation would go.
uint64_t ferry_vm_paging_fence(const struct ferry_vm_sched *sched);
/// Nothing of the open buffer may run before the subject's user jobs are done.
void ferry_vm_hold_for(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject);
/// Free the pages once everything built so far has run.
int ferry_vm_release_later(struct ferry_vm_sched *sched, MDL *mdl);
/// Paging submissions up to completed are done: end events, statistics, deferred frees, paging queues.
void ferry_vm_paging_completed(struct ferry_vm_sched *sched, uint64_t completed);
void ferry_vm_paging_faulted(struct ferry_vm_sched *sched, uint64_t fence);

// ---- monitored_fence.c ----
int ferry_vm_queue_new(struct ferry_vm_sched *sched, struct ferry_vm_device *device, int priority,
                       D3DKMT_HANDLE *handle);
void ferry_vm_queue_free(struct ferry_vm_sched *sched, struct ferry_vm_queue *queue);
int ferry_vm_queue_value(struct ferry_vm_sched *sched, struct ferry_vm_queue *queue, uint64_t fence, uint64_t *value);
void ferry_vm_queues_signal(struct ferry_vm_sched *sched, uint64_t completed);
int ferry_vm_queue_wait(struct ferry_vm_sched *sched, struct ferry_vm_queue *queue, uint64_t value);

// ---- jobs.c ----
int ferry_vm_context_new(struct ferry_vm_sched *sched, struct ferry_vm_device *device, uint32_t node,
                         D3DKMT_HANDLE *handle, DXGK_CONTEXTINFO *info);
int ferry_vm_context_free(struct ferry_vm_sched *sched, struct ferry_vm_context *context);
void ferry_vm_jobs_completed(struct ferry_vm_sched *sched, unsigned node, uint64_t completed);
bool ferry_vm_job_faulted(const struct ferry_vm_context *context, uint64_t fence);
/// A job with its DMA buffer; waits when the node has enough in flight.
int ferry_vm_job_new(struct ferry_vm_sched *sched, struct ferry_vm_context *context, struct ferry_vm_job **job);
/// Patch and submit it; its fence is the node's next one. The context's allocation list is filled.
int ferry_vm_job_send(struct ferry_vm_sched *sched, struct ferry_vm_job *job,
                      const struct ferry_vidmm_submission *submission);

#endif
