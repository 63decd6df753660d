// SPDX-License-Identifier: Apache-2.0
// Order on the GPU: nodes, jobs and paging operations with what each has to wait for, paging queues' fences. This layer
// knows nothing of allocations and places; what it has to know of an owner of work is the subject (below).
//
// Whoever decides does so at once, as if everything queued before had already run, and queues what has to happen for
// it. Jobs stand in one line a node and get their number there; paging operations stand in one line for all. An entry
// names only entries that were queued before it: an operation the user jobs that use the same content or place, a job
// the operations that bring its allocations. So there is no circle, and nobody has to wait in order to queue something.
// ferry_vm_pump() hands to the miniport whatever has nothing to wait for any more. An operation that waits for a job
// keeps back those behind it that have to do with the same allocation or the same place, and no others.
//
// A transfer's records live until the paging buffer with its last piece is done. What a reset has aborted is built
// again from them, from the transfer's start: its source is untouched, because whatever could overwrite it comes later
// and in a later buffer.
#ifndef FERRY_VIDMM_SCHED_SCHED_H
#define FERRY_VIDMM_SCHED_SCHED_H

#include "vidmm/sched/operation.h"

// Buffers with the miniport at a time, of all nodes together: what a device holds fetched. More would only stand in its
// rings, where a reset does not find them. One place stays free of user jobs, so that paging is never kept waiting.
#define FERRY_VM_IN_FLIGHT 4

// What work is about: an allocation, seen from here.
struct ferry_vm_subject {
    D3DKMT_HANDLE handle;
    uint32_t instance; // which of its allocation's, also of one that is gone
    struct ferry_vm_device *device;
    // The first operation of updates of its addresses that is not over; 0 = none. No paging fence waits for them.
    uint64_t first_update;
    uint64_t last_fence[FERRY_VM_MAX_NODES]; // newest job of each node that names it; of the paging node the operation
};

// The job of a node that an update of addresses stands behind, as one number; 0 when there is none.
static inline uint64_t ferry_vm_late(uint32_t node, uint64_t job)
{
    return job != 0 ? job * FERRY_VM_MAX_NODES + node : 0;
}

// Numbers of a node's jobs that one context got one behind the other. The newest runs are kept, more than a node's line
// can hold of them.
#define FERRY_VM_RUNS 128
struct ferry_vm_run_of_jobs {
    uint64_t first, last;
};

// Faulted jobs of one context of which it is told that they have faulted, the newest: many more than a node's line
// holds.
#define FERRY_VM_FAULTS 512

// Updates of addresses of one context that are not over; the next one waits for the oldest.
#define FERRY_VM_UPDATES 128

// Operations that something stands behind which is queued later: all of them, since none need be the last to be over.
// All zeros: none.
struct ferry_vm_awaited {
    uint64_t *numbers;
    size_t count, capacity;
};

struct ferry_vm_context {
    D3DKMT_HANDLE handle;
    struct ferry_vm_device *device;
    HANDLE miniport;
    uint32_t node;
    DXGK_CONTEXTINFO info;
    uint64_t last_fence;
    struct ferry_vm_run_of_jobs runs[FERRY_VM_RUNS]; // ring
    size_t run_count;                                // ever
    uint64_t faulted[FERRY_VM_FAULTS];               // ring: numbers of faulted jobs, growing
    size_t faulted_count;                            // ever
    struct ferry_vm_job **spares;                    // with their DMA buffers, for the next jobs
    unsigned spare_count, jobs;                      // jobs: queued and not over
    // Operations that its next job stands behind, besides those that bring what it names; jobs behind that one are
    // behind it.
    struct ferry_vm_awaited behind;
    uint64_t updates[FERRY_VM_UPDATES]; // ring: the newest operation of each update, 0 = of none
    uint64_t update_count;              // ever
    struct ferry_vm_list link;
    struct ferry_vm_list busy; // of its device, while there are jobs
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

// One DMA buffer of a job; most jobs have no more.
struct ferry_vm_job {
    uint64_t fence; // its number on the node
    uint64_t last;  // the job's: of its last buffer
    uint64_t wire;  // SubmissionFenceId (widened) it went out with; another one after a reset
    uint64_t order;
    uint64_t began;  // GPU time at which it went out
    uint64_t *after; // not before these operations are done
    size_t after_count;
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
    bool done;    // though one before it, of its node, goes again
    bool counted; // the GPU time that it has used
    bool suspect; // it was with the device when something hung
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
    uint64_t disturbed; // newest one given away when a reset of any node began: what came later none has cut off
    // Operations that wait for a job of it: the first of them, and the least number that any waits for.
    uint64_t hanging, hanging_for;
    struct ferry_vm_job *first, *last, *unsent; // in order; from unsent on not submitted
    uint64_t marked;                            // the job that was unsent when what it stands behind was marked
    unsigned jobs, in_flight;
};

struct ferry_vm_paging_buffer {
    MDL *mdl;
    void *private_data;
    uint64_t fence; // SubmitCommand's; 0 = never submitted
    uint64_t order;
    uint32_t used, private_used;
    bool faulted, aborted;
    // Of the operations that end in it: one of them (0 = there is none), and what is among them.
    uint64_t first_built;
    bool several_devices, about_addresses, takes_out;
};

struct ferry_vm_sched {
    struct ferry_vm_core *core;
    DXGKRNL_INTERFACE interface;
    struct ferry_vm_node nodes[FERRY_VM_MAX_NODES];
    unsigned node_count, paging_node, next_node;
    HANDLE system_device, system_context;
    struct ferry_vm_list waiting_queues;
    const struct ferry_vm_list *waiting_for_turns; // devices, the policy's: they would have the GPU if it were free
    bool dpc_queued, pumping, resetting;
    bool reset_failed; // the last one: what is with the device may have stood still because of that
    bool reset_all;    // resetting: every node in turn, and whatever is with the device ends
    bool quiet;        // after a critical stop: the device works on nothing any more
    unsigned reset_node;
    uint64_t suspected_at; // newest submission of the paging node when jobs became suspect
    uint64_t order;        // of submissions, over all nodes
    uint64_t progress;     // entries that ended
    uint64_t last_job_end; // GPU time at which the newest user job ended, of whatever node

    struct ferry_vm_paging_buffer *buffers;
    unsigned buffer_count, buffer_index; // ring; the one at buffer_index is the open one when buffer_open
    bool buffer_open, parked;            // parked: the head was answered BUSY
    uint64_t wanted_in;                  // the newest submission with something in it that is wanted
    uint32_t buffer_bytes, buffer_private_bytes, busy_limit;
    // Ring by number: all up to done are over, none up to queued is unknown. They are built in the order of their
    // numbers, but for those that have nothing to do with one that still has to wait.
    struct ferry_vm_operation *operations;
    size_t capacity; // a power of two
    uint64_t done, queued;
    uint64_t reserved;               // newest number that may be queued
    uint64_t unbuilt;                // none before it waits
    uint64_t current;                // has to be the next to be built; 0 = any
    uint64_t *built_order;           // ring of those built and not over, as they were built
    uint64_t built_first, built_end; // counted on for ever
    uint64_t looked_at;              // those before it hang, are awake or built; 0 = all have to be looked at again
    uint64_t behind_all;             // newest operation that waits for all before it; 0 = there was none
    uint64_t ready;                  // found to have nothing to wait for; 0 = none
    uint64_t *awake;                 // heap, the least number first: what they hung on is over
    size_t awake_count;
    struct ferry_vm_indexed *indexed; // FERRY_VM_TREES of each operation of the ring
    uint64_t trees[FERRY_VM_TREES];
    uint64_t index_steps; // ranges looked at, and looks of those that are behind all, ever
    uint64_t *seen;       // of ferry_vm_behind_a_job: what is to be looked at
    size_t seen_count;
    uint64_t look;         // its calls
    DXGK_PTE entries[512]; // of the UPDATE_PAGE_TABLE that is being built
    // What the miniport is in the middle of after a reset or a fault: brought to its end for nobody.
    struct ferry_vm_operation unwanted;
    uint64_t unwanted_number; // 0 = nothing

    // The step that `current` has come to. The next one is made by whoever knows the paging process's addresses; LATER:
    // when everything that is built is over.
    struct ferry_vm_operation step;
    enum ferry_vm_next_step (*next_step)(void *context, struct ferry_vm_operation *operation,
                                         struct ferry_vm_operation *step);
    void *next_step_context;
    // A buffer faulted or was aborted since they were known: who knows what these addresses lead to.
    bool addresses_unknown;

    // Told when the paging buffer that moves an allocation's content has faulted: the subject's, which may be gone.
    // `named`: a job that waits for it works on that content.
    void (*content_lost)(void *context, D3DKMT_HANDLE allocation, uint32_t instance, bool named);
    void *content_lost_context;
};

// The files, lowest first; each calls only those above it here.

// ---- sched.c ----
/// How many nodes there are, and which one is for paging.
int ferry_vm_read_caps(struct ferry_vm_sched *sched);
int ferry_vm_make_system_context(struct ferry_vm_sched *sched);

/// Where an operation, or one of those built, stands in its ring. A mask, as this is asked most of all.
static inline size_t ferry_vm_ring_place(const struct ferry_vm_sched *sched, uint64_t number)
{
    return (size_t)number & (sched->capacity - 1);
}

static inline struct ferry_vm_operation *ferry_vm_operation_at(const struct ferry_vm_sched *sched, uint64_t number)
{
    return &sched->operations[ferry_vm_ring_place(sched, number)];
}

/// Number of the operation that was built so late, of those that are built and not over.
static inline uint64_t *ferry_vm_built_at(const struct ferry_vm_sched *sched, uint64_t at)
{
    return &sched->built_order[ferry_vm_ring_place(sched, at)];
}

// ---- paging_line.c ----
/// What is left in the line is given up.
void ferry_vm_line_free(struct ferry_vm_sched *sched);
bool ferry_vm_operation_over(const struct ferry_vm_sched *sched, uint64_t number);
/// The oldest operation of the device, up to this number, that is not over; 0 when there is none. Those of updates of
/// addresses do not count: they may wait for a job for as long as that takes.
uint64_t ferry_vm_device_pending(const struct ferry_vm_device *device, uint64_t upto);
/// One of an allocation of that device, whichever of its instances it is about.
uint64_t ferry_vm_allocation_pending(const struct ferry_vm_sched *sched, const struct ferry_vm_device *device,
                                     D3DKMT_HANDLE allocation);
/// One whose subject this is, by looking at all there are.
uint64_t ferry_vm_subject_operation(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject);
/// A device goes, or an allocation for whose addresses updates have operations in the line: the first of them. They
/// stay, and are nobody's.
void ferry_vm_owner_gone(struct ferry_vm_sched *sched, uint64_t *first);
/// The operation is over, and off the line that it is among.
void ferry_vm_operation_ends(struct ferry_vm_sched *sched, uint64_t number);
/// Room for so many more operations and releases, so that queueing them cannot fail. The newest reservation is the one
/// that counts: queueing more than it allows stops the program, whether the ring happens to have room or not.
int ferry_vm_reserve(struct ferry_vm_sched *sched, size_t more);
#define FERRY_VM_WHEN_IDLE 1u // not even built before the subject's earlier operations are done
/// Queue one operation; room for it is reserved. It waits for the subject's jobs. subject may be NULL.
void ferry_vm_queue_operation(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                              struct ferry_vm_subject *subject, uint64_t bytes, unsigned flags);
struct ferry_vm_table_change {
    DXGK_PTE entry;
    struct ferry_vm_span reads;
    struct ferry_vm_subject *updated; // the allocation whose addresses an update changes; NULL = it is no update's
    uint64_t late;                    // the operation's
    bool takes_away;                  // what leads to the allocation's place, also when the entries are valid: to zeros
};
/// An UPDATE_PAGE_TABLE or FLUSH_TLB: the entries are made from this one when it is built. Whoever writes what it
/// `reads`, the place that the entries lead to, comes behind it.
void ferry_vm_queue_table_operation(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                                    struct ferry_vm_subject *subject, const struct ferry_vm_table_change *what);
/// The operation that was queued last leads to pages of the host: those of the list from this one on. They are there
/// until it is over.
void ferry_vm_lead_to_pages(struct ferry_vm_sched *sched, const MDL *pages, uint64_t first);
/// A NOTIFY_ALLOC that is no step: built once the subject's earlier work is done.
void ferry_vm_queue_notice(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                           struct ferry_vm_subject *subject);
/// One that is built by steps, not before the operation `after` is over. What it reads and writes of segments its steps
/// do not say.
struct ferry_vm_stepwise {
    struct ferry_vm_steps steps;
    struct ferry_vm_span reads, writes;
    uint64_t bytes, after;
    unsigned flags;
};
void ferry_vm_queue_steps(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                          struct ferry_vm_subject *subject, const struct ferry_vm_stepwise *what);
/// Give the pages back once the subject's operations that are queued have run; room for it is reserved. Returns the
/// number under which they can be taken back; 0 when they are gone.
uint64_t ferry_vm_release_later(struct ferry_vm_sched *sched, struct ferry_vm_subject *subject, MDL *mdl);
bool ferry_vm_release_waits(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject,
                            uint64_t number);
/// NULL when they are gone.
MDL *ferry_vm_release_back(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject, uint64_t number);
/// The device has the pages no more once every operation that is queued so far is over (R199); room for it is reserved.
/// It is about no allocation and of no device: nobody waits for it. Returns the number under which it can be called
/// off, as it must be before the pages are given back.
uint64_t ferry_vm_unmap_later(struct ferry_vm_sched *sched, MDL *mdl);
/// They stay the device's. False when it has them no more.
bool ferry_vm_unmap_never(struct ferry_vm_sched *sched, uint64_t number);
/// The pages of one that is over, from now on the caller's. NULL when there are none.
MDL *ferry_vm_take_release(struct ferry_vm_operation *operation);

// ---- nodes.c ----
/// Run the DPC as often as it was asked for.
void ferry_vm_drain(struct ferry_vm_sched *sched);
/// Buffers that the miniport has, of all nodes.
unsigned ferry_vm_in_flight(const struct ferry_vm_sched *sched);
/// Is the job of that number over, or on the paging node the operation?
bool ferry_vm_reached(const struct ferry_vm_sched *sched, unsigned node, uint64_t number);

// ---- paging_buffer.c, paging_order.c, paging_steps.c ----
int ferry_vm_paging_start(struct ferry_vm_sched *sched, const struct ferry_vidmm_options *options, uint32_t bytes,
                          uint32_t private_bytes);
void ferry_vm_buffers_free(struct ferry_vm_sched *sched);
/// Does the operation wait for a job, by itself or behind one that does?
bool ferry_vm_behind_a_job(struct ferry_vm_sched *sched, uint64_t number);
/// All that is built is over.
bool ferry_vm_paging_idle(const struct ferry_vm_sched *sched);

// ---- paging_early.c ----
/// Its allocation leaves its place: what updates of addresses have queued for it, and what shows it for their sake,
/// does not wait for jobs that do not name it any more. What takes it away does so as soon as those that name it are
/// over; what would show it is called off, but where a job behind the update is queued that names it, or the update's
/// turn has come.
void ferry_vm_leave_early(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject);
/// An operation of updates about the allocation that would wait all the same; 0 = none.
uint64_t ferry_vm_update_pending(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject);
/// All of these operations were, those that show a mapping; what was to be forgotten for their sake is called off too.
bool ferry_vm_called_off(struct ferry_vm_sched *sched, uint64_t first, uint64_t last);

// ---- monitored_fence.c ----
int ferry_vm_queue_new(struct ferry_vm_sched *sched, struct ferry_vm_device *device, int priority,
                       D3DKMT_HANDLE *handle);
void ferry_vm_queue_free(struct ferry_vm_sched *sched, struct ferry_vm_queue *queue);
/// Room for one more value, so that handing it out cannot fail.
int ferry_vm_queue_reserve(struct ferry_vm_queue *queue);
uint64_t ferry_vm_queue_value(struct ferry_vm_sched *sched, struct ferry_vm_queue *queue, uint64_t operation);
void ferry_vm_queues_signal(struct ferry_vm_sched *sched);
/// An operation that a value handed out waits for; 0 when it is reached.
uint64_t ferry_vm_queue_operation_of(const struct ferry_vm_queue *queue, uint64_t value);

// ---- pager.c ----
/// Build what may be built, submit what is worth it. True when something moved.
bool ferry_vm_pump_paging(struct ferry_vm_sched *sched);
/// Paging submissions up to the node's reported one are over.
void ferry_vm_paging_retired(struct ferry_vm_sched *sched);

// ---- behind.c ----
/// An update is queued, with these as its newest operations: there is room for them in context->behind.
void ferry_vm_behind_update(struct ferry_vm_context *context, const uint64_t *operations, size_t count);
/// An operation that has to be over before the context may have another update; 0 = it may.
uint64_t ferry_vm_updates_full(const struct ferry_vm_sched *sched, const struct ferry_vm_context *context);

// ---- jobs.c ----
int ferry_vm_context_new(struct ferry_vm_sched *sched, struct ferry_vm_device *device, uint32_t node,
                         D3DKMT_HANDLE *handle, DXGK_CONTEXTINFO *info);
/// Its jobs are over, or the manager has stopped.
void ferry_vm_context_free(struct ferry_vm_sched *sched, struct ferry_vm_context *context);
/// Is it the number of a job of this context? Of another one's too when it is older than all runs that are kept: such a
/// job is over.
bool ferry_vm_job_is_of(const struct ferry_vm_context *context, uint64_t fence);
/// Enough stands in the node's line: the next job has to wait for the oldest.
bool ferry_vm_jobs_full(const struct ferry_vm_sched *sched, unsigned node);
/// A job with its DMA buffer and the program's commands and patches in it; the caller fills job->allocations, and
/// job->after with no more than two a reference, `more`, and those that the context's next job stands behind.
int ferry_vm_job_new(struct ferry_vm_sched *sched, struct ferry_vm_context *context,
                     const struct ferry_vidmm_submission *submission, size_t more, struct ferry_vm_job **job);
/// Back to where it came from, not queued.
void ferry_vm_job_drop(struct ferry_vm_sched *sched, struct ferry_vm_job *job);
/// Into the node's line, as the number after its newest; `behind` more buffers of the same job follow.
void ferry_vm_job_queue(struct ferry_vm_sched *sched, struct ferry_vm_job *job, uint32_t behind);
/// Give the miniport what may go. True when something moved.
bool ferry_vm_pump_jobs(struct ferry_vm_sched *sched);
/// At interrupt time, so that each is charged for its own time and not for when somebody looks.
void ferry_vm_jobs_reported(struct ferry_vm_sched *sched, unsigned node);
/// Submissions up to the node's reported one are over.
void ferry_vm_jobs_retired(struct ferry_vm_sched *sched, unsigned node);

// ---- dispatch.c ----
void ferry_vm_interface(struct ferry_vm_sched *sched);
/// One turn of the wait hook, then the DPC and the pump.
int ferry_vm_run(struct ferry_vm_sched *sched);
/// Give the miniport whatever has nothing to wait for any more. Waits for nothing itself.
void ferry_vm_pump(struct ferry_vm_sched *sched);
/// ResetEngine. Of the node's jobs that were in flight the oldest is to blame and ends as faulted, or all of them; or
/// nobody is yet, and whatever of any node was in flight runs again one by one. Whatever else was aborted runs again.
/// An oldest one that has ended by itself by then leaves nobody to blame, as *whom says afterwards, and so does a reset
/// that failed before: the device may have given back what stands still since.
enum ferry_vm_blame { FERRY_VM_NOBODY, FERRY_VM_OLDEST, FERRY_VM_ALL };
int ferry_vm_reset_node(struct ferry_vm_sched *sched, unsigned node, enum ferry_vm_blame *whom);
/// After a critical stop, before memory goes that the device may have been given: what it has is brought to its end, or
/// taken from it by a reset. Once; what comes of it nobody is told.
void ferry_vm_quiesce(struct ferry_vm_sched *sched);

// ---- wait.c ----
// What a waiter remembers from turn to turn.
struct ferry_vm_patience {
    bool was_reset;
    uint64_t seen;
};
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

#endif
