// SPDX-License-Identifier: Apache-2.0
// The video memory manager: what the operating system's part is on Windows. It decides where every allocation is, makes
// the miniport write paging buffers, submits them, and keeps fences, locks and residency lists. The user-mode driver
// (umd/) builds the public interface on this header; the miniport (kmd/) is known only through the ddi/ tables.
//
// Threads: every call may be made from any thread. One lock per manager is held by one call at a time, in the order in
// which they came. Only lock, wait*, destroy* and stop() wait for the GPU, submit() and update_virtual() when a line is
// full, and submit() while a lock with Discard waits for another instance of what the job names; they do so in turns,
// let the other calls in between two of them, and look their handles up again after each. The platform's hooks and the
// observer run inside the lock and must not call the manager.
//
// Handles are numbers with a generation in them: a stale handle, one of another kind and a made-up one all give
// FERRY_ERROR_HANDLE; a live one of another device gives FERRY_ERROR_FOREIGN. No call changes anything when it returns
// one of ARGUMENT, FLAGS, HANDLE, FOREIGN, RANGE, NOT_RESIDENT, NOT_LOCKABLE, LOCKED, NOT_LOCKED or BUSY. Every call
// returns FERRY_ERROR_CRITICAL once a rule of the contract was broken (ferry_vidmm_critical() tells which); only
// ferry_vidmm_stop(), _critical(), _statistics() and the destroy_*() calls still work then. Those return it too, but
// what they were given is gone, also what is locked, and no job or paging of the device's touches its memory any more.
//
// Residency as it is meant to be used: make_resident() before a job, evict() after it. evict() only takes the
// allocation off the residency list; it stays where it is until its room is needed, and then the manager picks the
// victims (space/victim.h). An allocation with a count above 0 is never a victim.
#ifndef FERRY_VIDMM_VIDMM_H
#define FERRY_VIDMM_VIDMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/error.h"
#include "vidmm/base/types.h"

struct ferry_vidmm;

// ---- Start and stop ---------------------------------------------------------------------------------------------

/// StartDevice, read capabilities and segments, make the system device and context, point the aperture at the dummy
/// page. The tables that options point at must outlive the manager. Errors: ARGUMENT, NO_HOST_MEMORY, UNSUPPORTED (no
/// usable segment, a combination of flags that no driver may report, or something that this manager does not do:
/// docs/manual/driver-contract.md), CONTRACT, FIRMWARE, TIMEOUT, CRITICAL (options->why tells which rule was broken).
int ferry_vidmm_start(const struct ferry_vidmm_options *options, struct ferry_vidmm **manager);
/// Wait for everything, destroy everything, StopDevice. NULL is allowed. No other call may be running.
void ferry_vidmm_stop(struct ferry_vidmm *manager);
/// Change the observer; NULL ends it. Errors: none.
int ferry_vidmm_observe(struct ferry_vidmm *manager, ferry_vidmm_observer *observer, void *context);
/// Take over what the device has finished, without waiting: runs the wait hook once when `run` is true, and the DPC.
/// Errors: TIMEOUT, CRITICAL.
int ferry_vidmm_poll(struct ferry_vidmm *manager, bool run);
/// For a thread that waits in everybody's stead: one turn of a wait for all that is queued, resets of what hangs
/// included. *left: something is queued still. One thread at a time. Errors: TIMEOUT (nothing comes any more),
/// CRITICAL.
int ferry_vidmm_work(struct ferry_vidmm *manager, bool *left);

struct ferry_vidmm_segment_info {
    uint32_t id;
    DXGK_SEGMENTFLAGS flags;
    uint64_t base;  // GPU address of offset 0
    uint64_t bytes; // what the manager uses
};
/// Segment number index, from 0 on. Errors: RANGE (no such index).
int ferry_vidmm_segment(struct ferry_vidmm *manager, unsigned index, struct ferry_vidmm_segment_info *info);

/// Copies the record; false (and a zeroed record) when there is none. Any thread, also after a critical stop.
bool ferry_vidmm_critical(struct ferry_vidmm *manager, struct ferry_vidmm_critical *record);

/// Errors: ARGUMENT; CRITICAL, with the figures all the same.
int ferry_vidmm_statistics(struct ferry_vidmm *manager, struct ferry_vidmm_statistics *statistics);

/// Budget of memory-segment bytes for all programs together; 0 = what the segments hold. Evicts nothing itself. Errors:
/// ARGUMENT.
int ferry_vidmm_set_budget(struct ferry_vidmm *manager, uint64_t bytes);
/// ResetEngine on every node that has something with the device: jobs that it aborts there count as faulted, those that
/// have not gone out yet run afterwards, and paging that was aborted is built again, whole transfers from their start,
/// without loss of content. Waits for no job. Errors: TIMEOUT.
int ferry_vidmm_reset_engine(struct ferry_vidmm *manager);

// ---- Programs ---------------------------------------------------------------------------------------------------
// What there is of video memory and of aperture is divided among the programs that there are, by weight; the parts add
// up to no more than there is. Whoever's part changes is told by an event (BUDGET), and, when he has more on his lists
// then, how much he has to trim. All devices that were given no program are one program, as long as there are any.

/// options NULL = weight 1, nothing reserved. Errors: ARGUMENT, NO_HOST_MEMORY, NO_VIDEO_MEMORY (no more than half of
/// video memory can be reserved by all programs together).
int ferry_vidmm_create_process(struct ferry_vidmm *manager, const struct ferry_vidmm_process_options *options,
                               D3DKMT_HANDLE *process);
/// Ends the program with all of its devices, as destroy_device() does. Errors: HANDLE, TIMEOUT (devices whose work had
/// ended are gone).
int ferry_vidmm_destroy_process(struct ferry_vidmm *manager, D3DKMT_HANDLE process);
/// Errors: ARGUMENT (0, or above FERRY_VIDMM_MAX_WEIGHT), HANDLE.
int ferry_vidmm_set_weight(struct ferry_vidmm *manager, D3DKMT_HANDLE process, uint32_t weight);
/// Errors: ARGUMENT (not whole pages), HANDLE, NO_VIDEO_MEMORY (more than info.available_for_reservation; nothing has
/// changed).
int ferry_vidmm_set_reservation(struct ferry_vidmm *manager, D3DKMT_HANDLE process, uint64_t bytes);
/// group is 0 for memory segments, 1 for apertures; process 0 = the devices of no program. Errors: ARGUMENT, HANDLE.
int ferry_vidmm_memory_info(struct ferry_vidmm *manager, D3DKMT_HANDLE process, unsigned group,
                            struct ferry_vidmm_memory_info *info);
/// process 0 = the devices of no program. Errors: ARGUMENT, HANDLE.
int ferry_vidmm_process_statistics(struct ferry_vidmm *manager, D3DKMT_HANDLE process,
                                   struct ferry_vidmm_process_statistics *statistics);

// ---- Devices, contexts, jobs ------------------------------------------------------------------------------------

/// Errors: ARGUMENT, NO_HOST_MEMORY.
int ferry_vidmm_create_device(struct ferry_vidmm *manager, D3DKMT_HANDLE *device);
/// A device of this program. Errors: those of create_device(), HANDLE.
int ferry_vidmm_create_device_of(struct ferry_vidmm *manager, D3DKMT_HANDLE process, D3DKMT_HANDLE *device);
/// Waits for its work, then destroys its contexts, paging queues and allocations too (locked ones as well).
/// Errors: HANDLE, TIMEOUT (it is there with all that it had, as destroy_allocation() leaves it; HUNG, and empty, if
/// only what takes its last addresses away does not end).
int ferry_vidmm_destroy_device(struct ferry_vidmm *manager, D3DKMT_HANDLE device);
/// Errors: ARGUMENT, HANDLE.
int ferry_vidmm_device_state(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_DEVICEEXECUTION_STATE *state);

/// A context on a node that is not the paging node; ANY_NODE takes them in turn. *info (may be NULL) gets the
/// miniport's DMA buffer sizes. Errors: ARGUMENT, HANDLE, NO_HOST_MEMORY, DEVICE_LOST, UNSUPPORTED.
int ferry_vidmm_create_context(struct ferry_vidmm *manager, D3DKMT_HANDLE device, uint32_t node, D3DKMT_HANDLE *context,
                               DXGK_CONTEXTINFO *info);
/// Waits for its jobs. Errors: HANDLE, TIMEOUT.
int ferry_vidmm_destroy_context(struct ferry_vidmm *manager, D3DKMT_HANDLE context);

/// A job was written for addresses of another instance than the one that holds the content now.
#define FERRY_VIDMM_RENAMED 2
/// The address for a reference to what has lost its own ones, where a job faults: nothing is ever mapped beyond 48
/// bits.
#define FERRY_VIDMM_NOWHERE (UINT64_C(1) << 48)
/// Bring back whatever of the device's residency list is out and queue the job behind the paging of the allocations it
/// names; patched and submitted when that is done. *fence is the job's number, growing in one context. Errors:
/// ARGUMENT, HANDLE, FOREIGN, RANGE (a patch outside the commands or the allocation; more is mapped by now where a
/// buffer reaches than it can name), NOT_RESIDENT (named, but count 0), LOCKED (named, and locked without
/// PermanentSysMem semantics), NO_VIDEO_MEMORY, NO_HOST_MEMORY, DEVICE_LOST, TIMEOUT. A job of several DMA buffers, 1
/// and more, is one job: they are queued one behind the other or not at all, *fence is the last one's, and a fault of
/// any of them is the job's. FERRY_VIDMM_RENAMED, which is no error: nothing is queued, the address for a reference is
/// not the own one of the instance that holds the content; ask for it (ferry_vidmm_own_address()), write the commands
/// anew, for FERRY_VIDMM_NOWHERE if it has none any more, and submit again.
int ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context, const struct ferry_vidmm_submission *buffers,
                       uint32_t count, uint64_t *fence);
/// Wait until the job is done. Errors: HANDLE, ARGUMENT (not the number of a job of this context; of those that are
/// over this is told for the newest only, FERRY_VM_RUNS changes between contexts of the node ago and less; or of one
/// that is over for so long that FERRY_VM_FAULTS of the context have faulted since, so that nobody knows whether it
/// has), FAULT (this job faulted), TIMEOUT.
int ferry_vidmm_wait(struct ferry_vidmm *manager, D3DKMT_HANDLE context, uint64_t fence);
/// The newest completed job of the context's node. Errors: ARGUMENT, HANDLE.
int ferry_vidmm_completed(struct ferry_vidmm *manager, D3DKMT_HANDLE context, uint64_t *fence);

// ---- Allocations ------------------------------------------------------------------------------------------------

/// Create one allocation through DxgkDdiCreateAllocation, on no residency list, without backing store until it needs
/// one. *broken_rule (may be NULL) gets the number n of the rule Cn on FERRY_ERROR_FLAGS, else 0. Errors: ARGUMENT,
/// HANDLE, FLAGS, NO_HOST_MEMORY, NO_VIDEO_MEMORY (of page tables: the first one that is moved or noticed by addresses
/// of the paging process gets them), DEVICE_LOST, UNSUPPORTED (also for a flag whose behaviour is not there;
/// ferry_flags_unsupported() names it).
int ferry_vidmm_create_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE device,
                                  const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *allocation,
                                  unsigned *broken_rule);
/// Waits for GPU work that names it. Errors: HANDLE, LOCKED, TIMEOUT (it is there as it was, its addresses too; out of
/// its aperture if it was in one, which comes back with its next job).
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
    bool lost;          // its content is lost: no lock, no residency any more (R156)
    uint32_t instances; // 1, and what locks with Discard have made besides (R243)
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
/// first (E_PENDING); a job waits for it by itself. FERRY_ERROR_NO_VIDEO_MEMORY (E_OUTOFMEMORY): the lists of the
/// device's program would be above its budget by arguments->NumBytesToTrim. An empty list is FERRY_OK. Errors: ARGUMENT
/// (MustSucceed without CantTrimFurther, reserved flags, more than D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS, a count that
/// the list might bring beyond 32 bits), HANDLE, FOREIGN, LOCKED (a lock took its content out of the segment, and only
/// unlock lets it back, R216), NO_VIDEO_MEMORY, NO_HOST_MEMORY, DEVICE_LOST. It never waits for the GPU. With
/// MustSucceed a failure for want of memory puts the device in error (R228). With CantTrimFurther what could be in
/// place if nobody else ran is not refused; and what others hold never is a reason: FERRY_OK may mean that the device's
/// jobs will bring it in, at their turn.
int ferry_vidmm_make_resident(struct ferry_vidmm *manager, D3DDDI_MAKERESIDENT *arguments);
/// One less on each count, all or none. The allocations stay where they are until the room is needed, unless their
/// memory is over budget; arguments->NumBytesToTrim is by how much the program's lists still are. Errors: ARGUMENT,
/// HANDLE, FOREIGN, NOT_RESIDENT (a count would go below 0).
int ferry_vidmm_evict(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DDDICB_EVICT *arguments);
/// As so many calls of evict() with this allocation alone, at once. Errors: HANDLE, FOREIGN, NOT_RESIDENT.
int ferry_vidmm_take_off(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation, uint32_t count);
/// What was taken off this count, for whoever has trimmed in vain: it is as it was before. Nothing is brought in for it
/// before a job of the device wants its list, so neither a lock nor want of memory is a reason to refuse it. Errors:
/// ARGUMENT (a count beyond 32 bits), HANDLE, FOREIGN.
int ferry_vidmm_put_back(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation, uint32_t count);
/// What the callbacks of the contract return for a result of make_resident(): S_OK, E_PENDING, E_OUTOFMEMORY,
/// E_INVALIDARG or D3DDDIERR_DEVICEREMOVED. Any thread.
HRESULT ferry_vidmm_hresult(int result);

// ---- GPU virtual addresses ------------------------------------------------------------------------------------------
// Each program has 48 bits of them, of its own, where the miniport has page tables; every call gives UNSUPPORTED where
// it has not. A mapping leads to its allocation wherever that is in video memory, and nowhere while it is out. Tables
// are made and given back with mappings, out of memory that is set aside for them; moving content never needs one.

// What is reserved and not mapped leads nowhere, or reads as zeros and is not to be written. No page tables are made
// for what leads nowhere before something is mapped there, whether that is asked for (NO_COMMIT) or not.
enum ferry_vidmm_reservation { FERRY_VIDMM_NO_ACCESS, FERRY_VIDMM_ZERO, FERRY_VIDMM_NO_COMMIT };
struct ferry_vidmm_virtual {
    size_t size;
    uint64_t address;     // in: where, 0 = any place in [least, most); out: where it is
    uint64_t least, most; // most 0 = no bound; beside an address neither is looked at
    uint64_t bytes;
    uint64_t table_bytes; // out: with NO_VIDEO_MEMORY the bytes of page tables that are missing
    // in, of map: it is the allocation's own range, of all of it, to be written; each instance that locks with Discard
    // make has one besides, anywhere behind it. What is mapped in any other way is not renamed. Never in a reservation:
    // whatever an update maps there stays what it leads to. Of what is swizzled both are as aligned as it is itself:
    // elsewhere there is no such place (NO_VIDEO_MEMORY).
    bool each_instance;
    // in, of map: what is mapped there gives way, where all of it is in one reservation, or inside one mapping.
    bool replace;
    enum ferry_vidmm_reservation reservation; // in, of reserve
};
/// Take addresses: 64 KiB and multiples. Errors: ARGUMENT (not aligned, beyond 48 bits), BUSY (not all are free),
/// HANDLE, NO_VIDEO_MEMORY (no such place), NO_HOST_MEMORY, DEVICE_LOST, UNSUPPORTED. Zeros take page tables, at most
/// six at their edges and the highest, and the first ones of all three more, for good. Errors then besides:
/// NO_VIDEO_MEMORY (table_bytes), UNSUPPORTED (the miniport has no pages that are only read). A job queued later finds
/// them; so it does in place of what is mapped there, of which the content is out or which is gone.
int ferry_vidmm_reserve_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, struct ferry_vidmm_virtual *range);
/// Whole pages of one reservation, of which none is mapped, are from now on of this kind: NO_ACCESS or ZERO (Map's
/// Protection NoAccess and Zero). Jobs queued before still find what was there. In `range`: address, bytes,
/// reservation. Errors: ARGUMENT (not whole pages, or none; not all in one reservation; another kind; some of it is of
/// this kind already and not all), BUSY (something is mapped there), those of reserve() with ZERO.
int ferry_vidmm_protect_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, struct ferry_vidmm_virtual *range);
/// Map them, free ones or reserved ones, to bytes of an allocation from offset on: pages. Nothing of it waits, and a
/// job that names the allocation finds it mapped. Errors: those of reserve(), FOREIGN, RANGE (not all in the
/// allocation), BUSY (also of an allocation with several instances), UNSUPPORTED (also of one that is never in video
/// memory), ARGUMENT (each_instance of a part of it, read only, a second time, or among reserved addresses; replace at
/// any place, or beside each_instance). With replace it is BUSY only where some of it is mapped and not all is inside
/// one mapping or reservation, or where that is a range of each_instance: what was mapped there is so for jobs queued
/// before, and what is left of it all the time. It waits then where an update stands behind a job that is not over and
/// has mapped the same there: TIMEOUT.
int ferry_vidmm_map_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation,
                            uint64_t offset, bool read_only, struct ferry_vidmm_virtual *range);
/// What is mapped or reserved there, as a whole; free for the next call. Jobs queued before still find their
/// allocations mapped, later ones do not. Errors: ARGUMENT (nothing is there, or the end of something is not;
/// or some of a reservation of zeros, and not all of it),
/// HANDLE, NO_HOST_MEMORY (all of it is as it was), UNSUPPORTED.
int ferry_vidmm_free_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, uint64_t address, uint64_t bytes);

enum ferry_vidmm_update_kind { FERRY_VIDMM_MAP, FERRY_VIDMM_UNMAP, FERRY_VIDMM_COPY };
struct ferry_vidmm_update {
    enum ferry_vidmm_update_kind kind;
    uint64_t address, bytes;
    D3DKMT_HANDLE allocation; // MAP, and the next three
    uint64_t offset;
    uint64_t repeat; // so many bytes of it, again and again; 0 = as many as there are addresses
    bool read_only;
    uint64_t source; // COPY: what is mapped at these addresses
};
struct ferry_vidmm_updated {
    uint32_t failed;      // with an error: which operation; `count` when it is not one of them
    uint64_t table_bytes; // with NO_VIDEO_MEMORY
};
/// Change what reserved addresses lead to, among the jobs of a context: for those queued before nothing has changed,
/// those queued later find all of it changed; jobs of other contexts may find either. All of the addresses are in one
/// reservation, mapped or not, those of a COPY's source too, in that one or another. Operations are carried out in
/// their order, all of them or none. What stays mapped does so without a gap. Waits only when FERRY_VM_UPDATES of the
/// context are not over, and, where another context's update has mapped something alike, until that one is. Errors:
/// ARGUMENT, HANDLE, FOREIGN, RANGE, BUSY and UNSUPPORTED (as map()), NO_VIDEO_MEMORY (no page tables left; those of
/// what the batch takes away are none yet), NO_HOST_MEMORY, DEVICE_LOST, TIMEOUT.
int ferry_vidmm_update_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                               const struct ferry_vidmm_update *operations, uint32_t count,
                               struct ferry_vidmm_updated *result);
/// The same, behind no job: what it maps is so for jobs of every context that are queued later and name it, what it
/// takes away goes when the jobs that name that are over, and what comes in its place, or where another update has yet
/// to take something away, comes behind that. Waits for nothing: BUSY where the other one would, and where the same is
/// mapped behind a job of the context that is not over.
int ferry_vidmm_update_virtual_at_once(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                                       const struct ferry_vidmm_update *operations, uint32_t count,
                                       struct ferry_vidmm_updated *result);
/// The same as the first one, behind that job of another context of the program in place of its own context's newest;
/// what its own context gets later stands behind it all the same. Errors besides: HANDLE, FOREIGN (another program's
/// context), ARGUMENT (not the number of a job of that context).
int ferry_vidmm_update_virtual_behind(struct ferry_vidmm *manager, D3DKMT_HANDLE context, D3DKMT_HANDLE other,
                                      uint64_t job, const struct ferry_vidmm_update *operations, uint32_t count,
                                      struct ferry_vidmm_updated *result);

/// What is at the address, or the first behind it. Errors: ARGUMENT, HANDLE, DEVICE_LOST, UNSUPPORTED.
int ferry_vidmm_find_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, uint64_t address,
                             struct ferry_vidmm_mapping *mapping);
/// Where the own range of the instance that holds the allocation's content begins (D3DDDICB_LOCK.GpuVirtualAddress of a
/// lock that discarded); 0: it has none. Errors: ARGUMENT, HANDLE.
int ferry_vidmm_own_address(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, uint64_t *address);
/// So many page tables have been given back, ever. Who found too few of them need not try again while that is the same.
/// Errors: ARGUMENT.
int ferry_vidmm_tables_given(struct ferry_vidmm *manager, uint64_t *given);
/// Where the highest page table of the device's program is, as a miniport is told: in a segment, or at a bus address of
/// segment 0; all zero: nothing was ever mapped. Errors: ARGUMENT, HANDLE, DEVICE_LOST, UNSUPPORTED.
int ferry_vidmm_root_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, DXGK_SEGMENTOFFSET *root);
/// Eight bytes of a page table in system memory, at a bus address that is a multiple of 8, as they stand there now.
/// Errors: ARGUMENT, RANGE (no table is there).
int ferry_vidmm_read_table(struct ferry_vidmm *manager, uint64_t bus_address, uint8_t entry[8]);

// ---- CPU access -------------------------------------------------------------------------------------------------

/// *address is the first byte of the allocation. flags: D3DDDI_LOCK_READ_ONLY, _WRITE_ONLY, _DO_NOT_WAIT, _DISCARD,
/// _DO_NOT_EVICT, _LOCK_ENTIRE. PermanentSysMem and existing memory: the backing store (R113), brought up to date
/// first. Otherwise content in a memory segment is brought to a backing store; it goes back at the next use. With
/// READ_ONLY or DO_NOT_EVICT only a copy goes there, and unlock brings back what was written. DO_NOT_WAIT waits
/// for no job, neither one that names the allocation nor one that its paging stands behind, only for the copy; it means
/// nothing beside DISCARD. DISCARD gives the content up: while jobs use it, another instance of the allocation is
/// handed out where memory allows it (R237 to R253), with undefined content; jobs queued before keep what they were
/// queued with; a call that fails has given nothing up. For primary, shared and pinned allocations and beside READ_ONLY
/// it is ignored. While a call waits, others may use the allocation and take its room, and a lock that writes waits for
/// that too, but not for ever: what comes behind the fourth time is not brought to its pages any more, and if the call
/// fails then, that is lost and its device with it (DEVICE_LOST later). Errors: ARGUMENT, UNSUPPORTED (a flag of the
/// contract that is not there: ferry_lock_flags_unsupported() names it; or one of ferry_vidmm_lock_linear()'s), HANDLE,
/// NOT_LOCKABLE (rule C17), LOCKED, BUSY (DO_NOT_WAIT), NO_HOST_MEMORY, TIMEOUT, DEVICE_LOST.
int ferry_vidmm_lock(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, uint32_t flags, void **address);
/// The same for the program of this device. Errors besides: FOREIGN for another device's allocation, unless it is
/// shared and of the same program (R108).
int ferry_vidmm_lock_from(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation, uint32_t flags,
                          void **address);
/// The same, but only pages [first, first + count) will be written; only they are brought to video memory at unlock.
/// Errors: those of lock(), RANGE.
int ferry_vidmm_lock_pages(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, uint32_t flags, uint64_t first,
                           uint64_t count, void **address);
/// PermanentSysMem that sits in a memory segment: the locked pages are transferred there (R114, R115), and later jobs
/// wait for it. Errors: HANDLE, NOT_LOCKED, NO_HOST_MEMORY (it is locked still).
int ferry_vidmm_unlock(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation);

/// A lock with AcquireAperture (which `flags` may say): a swizzled allocation of driver model 1 is seen as rows where
/// it is, by the calls below, until ferry_vidmm_unlock(). It may be evicted meanwhile, moved and brought in again, and
/// no access tells the difference; jobs that name it are refused (LOCKED). Where no range can show it, it leaves video
/// memory in rows. flags: D3DDDI_LOCK_READ_ONLY, _WRITE_ONLY, _DO_NOT_WAIT, _LOCK_ENTIRE, _DO_NOT_EVICT, and
/// _USE_ALTERNATE_VA with _ACQUIRE_APERTURE: what is evicted meanwhile goes to pages of the lock's (R81 to R89).
/// private_data is for the miniport: which part of it is to be seen; ours takes the level. device 0 = its own. Errors:
/// ARGUMENT, HANDLE, FOREIGN, UNSUPPORTED (it is not swizzled, there are no swizzling ranges, USE_ALTERNATE_VA where
/// the miniport has not said so, or of what is permanent or shared; or a flag that is not there, as of a lock),
/// NOT_LOCKABLE, LOCKED, BUSY, NOT_AVAILABLE (no range, and DO_NOT_EVICT or an overlay), NO_HOST_MEMORY, TIMEOUT,
/// DEVICE_LOST.
int ferry_vidmm_lock_linear(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation, uint32_t flags,
                            uint32_t private_data);
/// Its bytes from `offset` on, in rows; of the part that the lock was for, outside of which they are nobody's. All of
/// them at once, as other calls of the manager see it. Waits for what is queued for the allocation. Errors: ARGUMENT
/// (what the lock's READ_ONLY or WRITE_ONLY excludes too), HANDLE, FOREIGN, NOT_LOCKED, RANGE, NOT_AVAILABLE,
/// NO_HOST_MEMORY, TIMEOUT, DEVICE_LOST, those of the platform's cpu_read and cpu_write.
int ferry_vidmm_linear_read(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation,
                            uint64_t offset, void *data, size_t bytes);
int ferry_vidmm_linear_write(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation,
                             uint64_t offset, const void *data, size_t bytes);

#endif
