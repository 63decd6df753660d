// SPDX-License-Identifier: Apache-2.0
// Pageferry's public interface: an adapter (one copy engine behind one back end), processes (programs that share it),
// devices (a program's view of it), allocations, residency, locks and copy queues.
//
// Handles are opaque and owned by the caller until the matching destroy call. Argument structs begin with their size:
// set it to sizeof the struct and everything not needed to 0. Every call returns FERRY_OK, FERRY_PENDING or a negative
// enum ferry_error. Every call may be made from any thread; calls on one adapter take turns, and one that waits for the
// GPU (lock, submit, wait, destroy) lets the others in. A handle that another thread destroys meanwhile gives HANDLE.
// Call-backs (ferry_event_callback, ferry_budget_callback) come in the middle of such a call, of whatever thread, with
// the adapter locked, one at a time. From inside one no call of any adapter can go on: each gives RECURSIVE_CALL at
// once and does nothing, ferry_adapter_open() too; ferry_adapter_close() does nothing, and the ids are 0. What names no
// adapter (names, texts, ferry_tiling_...) is there as ever. A call-back must return, and not wait for a thread that
// calls Pageferry: note what it was told, and have it done elsewhere. After ferry_adapter_observe(),
// ferry_process_destroy() or ferry_adapter_close() have returned, what they end is not called any more.
// Besides the errors that are listed with it, each call that the manager carries out returns CRITICAL once it has
// stopped: the miniport has broken a rule of the contract. The destroy calls do as well, but end what they were given:
// the GPU touches none of its memory any more. Calls that record a copy or a fill, take a fault, flip, or ask about the
// adapter itself go on. Sizes and offsets are bytes, times are device cycles. R-numbers name the rules
// of the driver contract that a call stands for (docs/manual/driver-contract.md); `make requirements` lists their
// tests.
#ifndef FERRY_FERRY_H
#define FERRY_FERRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/error.h"
#include "ferry/events.h"
#include "ferry/rectangle.h"
#include "ferry/tiling.h"
#include "ferry/va.h"
#include "ferry/version.h"

#ifdef __cplusplus
extern "C" {
#endif
// A shared library that is built with -fvisibility=hidden shows these and nothing else.
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct ferry_adapter;
struct ferry_process;
struct ferry_device;
struct ferry_allocation;
struct ferry_queue;

#define FERRY_PAGE_BYTES 4096u

// ---- Adapter ----------------------------------------------------------------------------------------------------

// How the manager has content moved and filled: from place to place, or by addresses of the paging process, at which it
// is mapped in chunks.
#define FERRY_PAGING_PHYSICAL 0u
#define FERRY_PAGING_VIRTUAL  1u

// Where the page tables of driver model 2 are. In system memory they take nothing of a small card, and each look into
// one goes over the link (docs/manual/page-tables.md).
#define FERRY_TABLES_VIDEO  0u
#define FERRY_TABLES_SYSTEM 1u

struct ferry_adapter_options {
    size_t size;
    const char *backend;           // "sim" (NULL means it), "model", "socket:ADDRESS", "uart:PORT[@BAUD]",
                                   // "usb[:ADDRESS]" or "pci[:ADDRESS]".
    uint64_t video_memory_bytes;   // What the manager may use; 0 = all the device has. Multiple of 4096.
    uint64_t aperture_bytes;       // What of the aperture segment the manager may use; 0 = all.
    uint32_t paging_buffer_bytes;  // DMA buffer for paging, 64 and more; 0 = what the miniport asks for. For tests.
    uint32_t read_latency_cycles;  // sim: constant memory latency; 0 = the DRAM model with banks and refresh.
    uint32_t link_latency_cycles;  // sim: one way latency of the link; 0 = 100.
    uint32_t random_stall_percent; // sim: refuse this share of handshakes, on every channel.
    uint64_t seed;                 // sim: seed of stalls and reordering.
    const char *wave_file;         // sim: FST file to write, or NULL.
    const char *firmware_file;     // Flat binary to load; NULL = the one built with the library.
    uint32_t model;                // Driver model: 1, or 2 with GPU virtual addresses. 0 = 2; 1 without page tables.
    bool iommu;                    // Model 2: the device reaches host pages only while they are in the aperture.
    uint32_t paging;               // FERRY_PAGING_*; by GPU virtual addresses in model 2 alone.
    uint32_t tables;               // FERRY_TABLES_*; in system memory in model 2 alone.
    uint64_t table_bytes;          // Model 2: memory for page tables, a multiple of 4096; 0 = a 32nd of video memory.
};

/// Open an adapter: start the back end, check the contract version, load and start the firmware, start the miniport and
/// the manager. ferry_problem() tells more of what went wrong. Errors: ARGUMENT, BACKEND, CONTRACT, DEVICE_LOST,
/// FIRMWARE, IN_USE (another program has the device), NO_HOST_MEMORY, NO_VIDEO_MEMORY (`table_bytes` in video memory
/// leave nothing of it), TIMEOUT, UNSUPPORTED (driver model 2 on a device without page tables).
int ferry_adapter_open(const struct ferry_adapter_options *options, struct ferry_adapter **adapter);
/// Close it; every process, device, allocation and queue of it ends with it. Calls of other threads that wait find
/// their handles gone, and end first. NULL is allowed.
void ferry_adapter_close(struct ferry_adapter *adapter);

struct ferry_adapter_info {
    size_t size;
    char backend[16];
    uint32_t contract_version; // major << 16 | minor
    uint32_t firmware_version;
    uint32_t rings, tags, command_slots, command_slot_bytes;
    uint64_t local_bytes;        // What the device has.
    uint64_t video_memory_bytes; // What the manager uses of it.
    uint64_t aperture_bytes;
    char link[80];   // Kind of link and its speed, for people; empty where there is nothing to say.
    char device[24]; // What the device says it is.
    uint32_t model;  // Driver model of this adapter.
};
/// Errors: ARGUMENT, HANDLE.
int ferry_adapter_query(struct ferry_adapter *adapter, struct ferry_adapter_info *info);

enum ferry_reach {
    FERRY_REACH_READY,   // It can be opened, as far as can be known without doing so.
    FERRY_REACH_UNKNOWN, // A port that can be opened; whether a device is at it, only opening it tells.
    FERRY_REACH_IN_USE,
    FERRY_REACH_BLOCKED,
    FERRY_REACH_FOREIGN, // Another user's program says where it is: who opens that trusts him; he may be root.
};
struct ferry_candidate {
    size_t size;
    enum ferry_reach reach;
    char backend[128]; // For ferry_adapter_options.backend.
    char what[160];    // What is there, for people.
    char problem[256]; // Why it cannot be opened now, and what to do; "" for READY and UNKNOWN. FOREIGN: whose it is.
};
typedef void ferry_candidate_callback(void *context, const struct ferry_candidate *candidate);
/// Call back for each adapter that could be opened on this machine, and for each that is there and cannot: what is
/// simulated in the process, the processes of ferry-sim, devices on USB, serial ports of USB, functions in PCI slots.
/// It opens no device, locks none and writes nothing anywhere. The struct is valid during the call-back, which may call
/// the library as anybody may: open what it was told of, or list. Any thread. Errors: ARGUMENT.
int ferry_adapter_list(ferry_candidate_callback *callback, void *context);

/// *fd becomes readable when something may have advanced: a job is over, a device's paging fence has a new value, a
/// budget has changed, a fault was recorded, nothing ends any more, or the adapter was closed. For poll(), select(),
/// epoll. The simulated device runs only while a call lets it; from the first call of this one on a thread of the
/// library's does so whenever something is queued, and call-backs may come from it.
///
/// It is an eventfd, non-blocking and close-on-exec: readable until 8 bytes are read from it. First read, then ask
/// (ferry_queue_reached(), ferry_device_paging_reached(), ferry_adapter_next_fault()), then poll again: what advances
/// after the question makes it readable anew, so nothing is missed. That it is readable does not say that there is
/// something new. Ask once before the first poll: of what was over before, nothing is told.
///
/// Each call gives another descriptor of the same event, and it is the caller's to close(), before or after the
/// adapter; ferry_adapter_close() makes it readable a last time. Who reads, reads for all of them: one loop reads, or
/// none does and all watch with EPOLLET, where each advance wakes every one. A child of fork() has the descriptor but
/// neither that thread nor the adapter: nothing of this library may be called there before exec. Errors: ARGUMENT,
/// HANDLE, NO_HOST_MEMORY (the system gives no descriptor or no thread; *fd is -1 then).
int ferry_adapter_event_fd(struct ferry_adapter *adapter, int *fd);

#define FERRY_OPERATIONS 23
/// Name of DXGK_OPERATION number `operation` without the prefix, for example "TRANSFER"; "?" for a number that is none.
/// Any thread.
const char *ferry_operation_name(unsigned operation);

struct ferry_statistics {
    size_t size;
    // Manager.
    uint64_t operations[FERRY_OPERATIONS]; // BuildPagingBuffer operations completed, by DXGK_OPERATION number.
    uint64_t bytes_in, bytes_out;          // System to video memory, and back.
    uint64_t bytes_discarded;              // Left video memory without a copy: clean or no longer wanted.
    uint64_t bytes_filled;
    uint64_t bytes_moved; // Inside video memory, to make room.
    uint64_t evictions;
    uint64_t paging_buffers; // Submitted.
    uint64_t busy_retries;   // ALLOCATION_BUSY answers.
    uint64_t resident_bytes; // In video memory now.
    uint64_t budget_bytes;
    uint64_t faults;            // Fault records read.
    uint64_t dummy_page_writes; // Times the dummy page was found changed (R76).
    uint64_t renames;           // Locks with DISCARD that got another instance instead of waiting.
    uint64_t discard_stalls;    // Locks with DISCARD that waited for the GPU.
    uint64_t renamed_bytes;     // Of instances beyond each allocation's first one.
    uint64_t uncached_reads;    // Locks for reading of what is not FERRY_FLAG_CACHED, as it should be (R124).
    // Device counters, as BAR0 COUNTER holds them.
    uint64_t cycles, engine_busy_cycles, engine_jobs;
    uint64_t local_read_beats, local_write_beats, host_read_beats, host_write_beats;
    uint64_t stall_read_cycles, stall_write_cycles, stall_job_cycles, stall_link_cycles;
    uint64_t tlps_received, tlps_sent, link_receive_beats, link_send_beats;
    uint64_t tlps_unsupported, tlps_malformed, tlps_poisoned, tlps_unexpected;
    uint64_t firmware_packets, firmware_busy_cycles;
    uint64_t window_refused;
    // Of page tables: GPU virtual pages that were looked up and not known, each a walk; reads of tables by walks;
    // invalidates.
    uint64_t table_walks, table_reads, table_forgets;
    uint64_t unmapped_accesses; // Device accesses to bus addresses that are not mapped.
    // Serial port and USB, as far as the host's end can tell: what a bad cable does. Bytes that were no part of a good
    // frame, frames that came broken, frames that were sent again.
    uint64_t noise_bytes, broken_frames, frames_again;
};
/// Errors: ARGUMENT, HANDLE, TIMEOUT; CRITICAL comes with the figures all the same.
int ferry_adapter_statistics(struct ferry_adapter *adapter, struct ferry_statistics *statistics);

struct ferry_fault {
    size_t size;
    uint32_t sequence, kind, ring, address_kind, is_write, packet_offset, packet_header, written;
    uint64_t time, address, fence_value, buffer_address;
    // Of a GPU virtual address whose walk of the page tables failed: the level of the table whose entry decided (0 is
    // the lowest), and that entry as the device read it.
    bool walked;
    uint32_t walk_space, walk_level;
    uint64_t walk_entry;
};
/// Take the oldest fault that was not taken yet. FERRY_OK and *found = false when there is none. The newest 1,024 are
/// kept, of all programs together; a gap in `sequence` tells of older ones. Errors: ARGUMENT, HANDLE.
int ferry_adapter_next_fault(struct ferry_adapter *adapter, struct ferry_fault *fault, bool *found);
/// Name of a fault's `kind`, for example "PAGE_ABSENT"; "?" for a number that is none. What each is stands in
/// docs/manual/contract.md (fault_kind). Any thread.
const char *ferry_fault_name(uint32_t kind);

/// Change the budget of video memory bytes for all programs together; evicts nothing by itself. 0 = no budget below the
/// segment's size. Errors: HANDLE.
int ferry_adapter_set_budget(struct ferry_adapter *adapter, uint64_t bytes);

/// Reset the engine as if a job had timed out; what was in flight is aborted, content of untouched allocations stays.
/// Errors: HANDLE, TIMEOUT.
int ferry_adapter_reset_engine(struct ferry_adapter *adapter);

/// A mistake on purpose, for whoever compares content and wants to see that he would find one: of the number-th
/// transfer from now on that brings content into video memory (out of it), one bit of the byte at `offset`, modulo the
/// length of what is transferred, is flipped on its way over the link. Number 0: of none. Before other threads use the
/// adapter.
struct ferry_flip {
    size_t size;
    bool out;
    uint64_t number, offset;
};
/// Errors: ARGUMENT, HANDLE.
int ferry_adapter_flip(struct ferry_adapter *adapter, const struct ferry_flip *flip);
/// Has it come to that transfer? Errors: ARGUMENT, HANDLE.
int ferry_adapter_flipped(struct ferry_adapter *adapter, bool *flipped);

// ---- Programs ---------------------------------------------------------------------------------------------------
// Several programs on one adapter. Video memory is divided among them by weight: a program's budget is what its
// residency lists may hold. The budgets add up to no more than there is, and change when programs come, go, or change
// their weight or reservation. Who has more than his budget then keeps it, and is told how much to give back.
// All devices made without a process are one program of weight 1, as long as there are any.

enum ferry_memory_group { FERRY_MEMORY_LOCAL, FERRY_MEMORY_NON_LOCAL }; // Video memory; aperture.

struct ferry_memory_info {
    size_t size;
    uint64_t budget;
    uint64_t usage;                     // On residency lists.
    uint64_t in_place;                  // In segments now; what was evicted stays there until its room is needed.
    uint64_t reservation;               // Video memory only, as the next.
    uint64_t available_for_reservation; // The most that the reservation can be.
    uint64_t bytes_to_trim;             // Usage above budget: evict so much.
};
/// A budget has changed. Must not call Pageferry (see the head of this file): who has to trim does it behind the call,
/// or on another thread. Only budget, usage and bytes_to_trim of *info are set. Not called any more once
/// ferry_adapter_close() has begun.
typedef void ferry_budget_callback(void *context, enum ferry_memory_group group, const struct ferry_memory_info *info);

struct ferry_process_options {
    size_t size;
    uint32_t weight;                 // 1 to 10000, against that of the other programs; 0 = 1.
    uint64_t reservation_bytes;      // The budget is never less. Whole pages.
    ferry_budget_callback *callback; // May be NULL.
    void *context;
};
/// options NULL = weight 1, nothing reserved. Errors: ARGUMENT, HANDLE, NO_HOST_MEMORY, NO_VIDEO_MEMORY (all programs
/// together can reserve no more than half of video memory; or, in driver model 2, all of the device's 15 address spaces
/// are taken, of which one is that of the devices of no program: ferry_problem() says so then).
int ferry_process_create(struct ferry_adapter *adapter, const struct ferry_process_options *options,
                         struct ferry_process **process);
/// End the program as if it were killed: its devices with their queues and allocations, after the jobs that are under
/// way. Others go on. Errors: HANDLE, TIMEOUT (devices whose work had ended are gone, the others live on).
int ferry_process_destroy(struct ferry_process *process);
/// Errors: ARGUMENT, HANDLE.
int ferry_process_set_weight(struct ferry_process *process, uint32_t weight);
/// Errors: ARGUMENT (not whole pages), HANDLE, NO_VIDEO_MEMORY (more than available_for_reservation).
int ferry_process_set_reservation(struct ferry_process *process, uint64_t bytes);
/// Errors: ARGUMENT, HANDLE.
int ferry_process_memory(struct ferry_process *process, enum ferry_memory_group group, struct ferry_memory_info *info);

// What a program has used since it was created.
struct ferry_process_usage {
    size_t size;
    uint64_t jobs;       // Ended.
    uint64_t gpu_cycles; // Device cycles that were its jobs': those of all programs add up to no more than passed.
    uint64_t last_job;   // Device cycle at which its newest job was seen to have ended.
    uint64_t bytes_in, bytes_out, bytes_discarded, bytes_filled, bytes_moved, evictions; // Of its allocations.
};
/// Errors: ARGUMENT, HANDLE.
int ferry_process_statistics(struct ferry_process *process, struct ferry_process_usage *statistics);
/// The number that events name it by; 0 for NULL.
uint64_t ferry_process_id(const struct ferry_process *process);

// ---- Device -----------------------------------------------------------------------------------------------------

/// Errors: ARGUMENT, HANDLE, NO_HOST_MEMORY.
int ferry_device_create(struct ferry_adapter *adapter, struct ferry_device **device);
/// A device of this program. Errors: ARGUMENT, HANDLE, NO_HOST_MEMORY.
int ferry_process_create_device(struct ferry_process *process, struct ferry_device **device);
/// Waits for its queues, then destroys its queues and allocations too. Errors: HANDLE, TIMEOUT (its work does not end;
/// it lives on, with all that it has).
int ferry_device_destroy(struct ferry_device *device);
/// Wait until the paging fence has reached value. Errors: HANDLE, ARGUMENT (a value that was never handed out),
/// TIMEOUT, DEVICE_LOST (paging of this device has faulted, or it is in error).
int ferry_device_wait_paging(struct ferry_device *device, uint64_t value);
/// The newest value that the paging fence has reached; does not wait. Errors: ARGUMENT, HANDLE.
int ferry_device_paging_reached(struct ferry_device *device, uint64_t *value);

// ---- Allocations ------------------------------------------------------------------------------------------------

struct ferry_allocation_options {
    size_t size;
    uint64_t bytes;        // 1 and more; rounded up to pages.
    uint32_t flags;        // DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 bits; FERRY_FLAG_* below.
    uint32_t flags2;       // DXGK_ALLOCATIONINFOFLAGS2 bits.
    uint32_t alignment;    // Bytes, power of two; 0 = 4096.
    uint32_t fill_pattern; // Initial content, a repeated 32-bit word.
    bool in_aperture;      // Never in video memory: resident means mapped into the aperture.
    bool primary;
    void *existing;          // ExistingSysMem: page-aligned memory of the caller's that outlives the allocation.
    uint32_t renaming_limit; // Instances that locks with DISCARD may make of it, this one included; 0 = any number.
    // In the aperture, and written by the GPU without what is one pattern over and over: struct ferry_run_list in its
    // last page says where (ferry/runs.h). Out of the aperture all content is there. Driver model 2.
    bool compressed;
    // NULL = as its bytes are. Else `bytes` is ferry_tiling_bytes(), and the engine turns rows into tiles on the way to
    // video memory, and back; what the CPU may not lock stays in tiles in system memory. Jobs see tiles, and so do
    // addresses that it is mapped at. UNSUPPORTED on a device without tiled copies.
    const struct ferry_tiling *tiling;
};
#define FERRY_FLAG_CPU_VISIBLE      0x00000001u
#define FERRY_FLAG_PERMANENT_SYSMEM 0x00000002u
#define FERRY_FLAG_CACHED           0x00000004u

/// Make one allocation, on no residency list yet. Errors: ARGUMENT, HANDLE, FLAGS, NO_HOST_MEMORY, NO_VIDEO_MEMORY (of
/// page tables, for the first that is compressed, and with paging by addresses for the first of all), DEVICE_LOST,
/// UNSUPPORTED (a flag whose behaviour is not there; ferry_flag_unsupported() names it).
int ferry_allocation_create(struct ferry_device *device, const struct ferry_allocation_options *options,
                            struct ferry_allocation **allocation);
/// The name of a flag in these words that breaks no rule but asks for what this version does not do; NULL = none.
const char *ferry_flag_unsupported(uint32_t flags, uint32_t flags2);
/// Destroy it, resident or not; waits for GPU work that names it. Errors: HANDLE, LOCKED, TIMEOUT.
int ferry_allocation_destroy(struct ferry_allocation *allocation);
/// A number that no other living allocation of the adapter has, nor one of two million others after it; 0 for NULL.
uint64_t ferry_allocation_id(const struct ferry_allocation *allocation);

struct ferry_placement {
    size_t size;
    bool resident;
    uint32_t segment; // 1 local, 3 aperture; 0 = system memory.
    uint64_t offset;
    bool dirty;               // The copy in video memory is newer than the one in system memory.
    uint32_t residency_count; // Of the allocation's device.
    uint32_t instances;       // 1, and what locks with DISCARD have made besides.
};
/// Errors: ARGUMENT, HANDLE.
int ferry_allocation_placement(struct ferry_allocation *allocation, struct ferry_placement *placement);

// ---- Residency (R213 to R230) -----------------------------------------------------------------------------------

struct ferry_residency {
    size_t size;
    struct ferry_allocation *const *allocations;
    size_t count;
    bool cant_trim_further;      // in
    bool must_succeed;           // in: only with cant_trim_further; failure puts the device in error.
    uint64_t paging_fence_value; // out: meaningful with FERRY_PENDING.
    uint64_t bytes_to_trim;      // out: by how much the program's lists are (NO_VIDEO_MEMORY: would be) above budget.
};
/// Add one to the residency count of each allocation; all or none. FERRY_OK: usable at once. FERRY_PENDING: wait for
/// paging_fence_value first (ferry_queue_submit does so itself). As a D3D12 driver does it: nothing is trimmed, on an
/// error every count is as before, and the error is the manager's own. Lists of any length. Errors: ARGUMENT (of a list
/// so long a count might come beyond 32 bits, too), HANDLE, FOREIGN, LOCKED (a lock took its content out, and only
/// unlock lets it back), NO_VIDEO_MEMORY, NO_HOST_MEMORY, DEVICE_LOST.
/// NO_VIDEO_MEMORY comes for the program's own budget; with cant_trim_further only for more than could be in place if
/// no other program ran. What others hold is no reason: submit waits for the turn then.
int ferry_make_resident(struct ferry_device *device, struct ferry_residency *arguments);
/// The user-mode driver's loop (R226 to R229). On NO_VIDEO_MEMORY take what this device used least recently and does
/// not need here off its list, whatever its count, until bytes_to_trim are gone, and try again; only memory of the kind
/// that the call asks for (video memory, aperture). When nothing of that is left, one last attempt says that it cannot
/// trim further, and then the call may have more than the program's budget: what could be in place if no other program
/// ran, in its turn. cant_trim_further is not looked at, and must_succeed means the last attempt. On an error no count
/// of the call's is changed; what was trimmed stays off the list when the error is NO_VIDEO_MEMORY, on any other it is
/// put back. Until the call returns it is off the list, and a submit by another thread that names it is refused
/// (NOT_RESIDENT). Errors: those of ferry_make_resident().
int ferry_make_resident_trim(struct ferry_device *device, struct ferry_residency *arguments);
/// Take one off each count; at 0 the allocation leaves the residency list. Errors: ARGUMENT, HANDLE, FOREIGN,
/// NOT_RESIDENT (a count is 0 already), NO_HOST_MEMORY; nothing has changed then.
int ferry_evict(struct ferry_device *device, struct ferry_residency *arguments);

// ---- CPU access -------------------------------------------------------------------------------------------------

#define FERRY_LOCK_READ_ONLY   0x01u
#define FERRY_LOCK_WRITE_ONLY  0x02u
#define FERRY_LOCK_DO_NOT_WAIT 0x04u
#define FERRY_LOCK_DISCARD     0x80u
/// Make the whole allocation's content reachable at *address until unlock; waits while the GPU uses it. DISCARD gives
/// the present content up: jobs submitted before keep it, and while they run the call hands out another instance of the
/// allocation where memory allows it, instead of waiting; what is not written then is undefined. DO_NOT_WAIT means
/// nothing beside it. On a primary and beside READ_ONLY it is ignored. A job recorded and not yet submitted sees what
/// is there then. Errors: ARGUMENT, HANDLE, NOT_LOCKABLE, LOCKED, BUSY, NO_HOST_MEMORY, TIMEOUT, DEVICE_LOST (its
/// content is lost). The rules: R113 to R120, of DISCARD R237 to R253.
int ferry_lock(struct ferry_allocation *allocation, uint32_t flags, void **address);
/// The address is dead from here on. Errors: HANDLE, NOT_LOCKED, NO_HOST_MEMORY (it is locked still).
int ferry_unlock(struct ferry_allocation *allocation);

#define FERRY_LOCK_DO_NOT_EVICT 0x20u
/// Lock a level of a tiled allocation without moving it: the calls below see its rows where it is, in video memory
/// through one of the device's ranges (docs/manual/tiling.md), and until ferry_unlock() go on seeing the same bytes
/// while it is evicted, moved and brought in again, by whatever calls of whatever threads. Jobs that name it are
/// refused (LOCKED) meanwhile. Any number of allocations may be locked so, they take turns with the ranges. An image
/// that no range can show leaves video memory (one that DISCARD has given several instances, for one), but with
/// DO_NOT_EVICT. flags: READ_ONLY, WRITE_ONLY, DO_NOT_WAIT, DO_NOT_EVICT. For few bytes; whoever wants all of them
/// locks it as any other. Driver model 1. Errors: ARGUMENT (no such level), HANDLE, UNSUPPORTED (not tiled, or the
/// device has no ranges), NOT_LOCKABLE, LOCKED, BUSY, NOT_AVAILABLE (DO_NOT_EVICT), NO_HOST_MEMORY, TIMEOUT,
/// DEVICE_LOST.
int ferry_view_lock(struct ferry_allocation *allocation, uint32_t level, uint32_t flags);
/// Bytes of that level, `offset` as ferry_tiling_level() counts it; all at once, as any other call sees it. Any thread,
/// and several at a time. May wait for the allocation's paging. Errors: ARGUMENT (what READ_ONLY or WRITE_ONLY excludes
/// too), HANDLE, NOT_LOCKED (or not for views), RANGE (not all in the level), NOT_AVAILABLE (evicting was forbidden,
/// and no range can be had any more), NO_HOST_MEMORY, TIMEOUT, DEVICE_LOST.
int ferry_view_read(struct ferry_allocation *allocation, uint64_t offset, void *data, size_t bytes);
int ferry_view_write(struct ferry_allocation *allocation, uint64_t offset, const void *data, size_t bytes);

// ---- Copy queues ------------------------------------------------------------------------------------------------

/// A queue of GPU copy jobs on one of the user rings. Jobs of one queue run in order. Errors: ARGUMENT, HANDLE,
/// NO_HOST_MEMORY, DEVICE_LOST.
int ferry_queue_create(struct ferry_device *device, struct ferry_queue **queue);
/// Waits for its jobs. Errors: HANDLE, TIMEOUT.
int ferry_queue_destroy(struct ferry_queue *queue);
/// Append a copy of bytes from one place to the other (may be the same allocation, may overlap) to the job being
/// recorded; of rectangles: ferry/rectangle.h. Errors: HANDLE, FOREIGN, RANGE (it leaves the allocation, or an offset
/// has more than 32 bits), NO_HOST_MEMORY.
int ferry_queue_copy(struct ferry_queue *queue, struct ferry_allocation *destination, uint64_t destination_offset,
                     struct ferry_allocation *source, uint64_t source_offset, uint32_t bytes);
/// Append a fill with a pattern of 1, 2, 4 or 8 bytes. Errors: those of ferry_queue_copy(), ARGUMENT. In the aperture
/// it is made of copies of what it has filled, so one that goes on beyond 32 bits of offset may have to begin one
/// there: RANGE.
int ferry_queue_fill(struct ferry_queue *queue, struct ferry_allocation *destination, uint64_t offset, uint32_t bytes,
                     uint64_t pattern, uint32_t pattern_bytes);
/// Append a copy between GPU virtual addresses of the device's program; driver model 2. What is mapped there when the
/// call is made, and what is when the job is submitted, must be on the residency list then, as with ferry_queue_copy().
/// Where nothing is mapped the job faults, or reaches what is mapped there after it was submitted, which nothing keeps
/// in its place for the job, and what it writes there may be lost. Errors: HANDLE, RANGE (beyond 48 bits, or more
/// allocations are mapped there than a buffer of a job may name), NO_HOST_MEMORY, DEVICE_LOST, UNSUPPORTED.
int ferry_queue_copy_va(struct ferry_queue *queue, uint64_t destination, uint64_t source, uint32_t bytes);
/// The same for a fill with a pattern of 1, 2, 4 or 8 bytes. Errors: the same, ARGUMENT.
int ferry_queue_fill_va(struct ferry_queue *queue, uint64_t destination, uint32_t bytes, uint64_t pattern,
                        uint32_t pattern_bytes);
/// Close the job, make everything on the device's residency list resident, and submit; *fence gets the job's number.
/// While it waits (for room in the ring, for the program's turn) others get in; what is recorded into the queue
/// meanwhile is the next job. On an error nothing of it runs: after NO_HOST_MEMORY the recorded job is as it was and
/// may be submitted again (unless the next one has begun), any other error drops it. Errors: HANDLE (also of an
/// allocation that was destroyed after it was recorded, or is being destroyed and is mapped yet where it goes by
/// address), FOREIGN (where it goes by address another device of the program has mapped its own), RANGE (since it was
/// recorded more has been mapped there than a buffer of a job may name), NOT_RESIDENT, LOCKED (an allocation of the job
/// is, and is not PermanentSysMem), NO_VIDEO_MEMORY, NO_HOST_MEMORY, DEVICE_LOST, TIMEOUT.
int ferry_queue_submit(struct ferry_queue *queue, uint64_t *fence);
/// Wait until the job is done. Errors: HANDLE, TIMEOUT, FAULT (this job has faulted; of what was recorded behind the
/// fault some may be done), ARGUMENT (not the number of a job
/// of this queue: queues of one ring share its numbers, and no two jobs have the same. Of jobs that were over long ago,
/// 128 changes between queues of the ring and more, this is not told any more. Or one that is over for so long that 512
/// jobs of the queue have faulted since: whether it had faulted is not known any more).
int ferry_queue_wait(struct ferry_queue *queue, uint64_t fence);
/// The newest job of the queue's ring that is over, faulted or not; does not wait. Queues of one ring share its
/// numbers: a job of this queue is over when its number is no larger. ferry_queue_wait() then says at once whether it
/// has faulted. Errors: ARGUMENT, HANDLE.
int ferry_queue_reached(struct ferry_queue *queue, uint64_t *fence);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
