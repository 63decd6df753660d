// SPDX-License-Identifier: Apache-2.0
// What goes over the manager's interface (vidmm.h) and is used by several of its layers: events, options, the critical
// record, statistics, submissions.
#ifndef FERRY_VIDMM_BASE_TYPES_H
#define FERRY_VIDMM_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddi/d3dkmddi.h"
#include "ddi/miniport.h"
#include "ddi/page_source.h"

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
    FERRY_VIDMM_EVENT_MAPPED,   // [offset, offset + bytes) of the program's addresses lead to allocation, in pages of
                                // value bytes: entries of that size are to be written.
    FERRY_VIDMM_EVENT_UNMAPPED, // They lead nowhere; with value 2 MiB those of them that did so in pages of that size.
    FERRY_VIDMM_EVENT_BUDGET,   // A program's budget is value; bytes = NumBytesToTrim, offset = usage, segment = group.
};

struct ferry_vidmm_event {
    enum ferry_vidmm_event_kind kind;
    uint64_t id;
    D3DKMT_HANDLE allocation; // 0 = none
    D3DKMT_HANDLE context, queue;
    D3DKMT_HANDLE process; // of BUDGET, PLACED, REMOVED, MAPPED, UNMAPPED and jobs; 0 = the devices of no program
    uint32_t operation;    // DXGK_BUILDPAGINGBUFFER_OPERATION
    uint32_t node;
    uint32_t segment;
    uint64_t offset, bytes, value;
    NTSTATUS status;
    void *program; // of BUDGET: what the process was created with; NULL = the devices of no program
};
typedef void ferry_vidmm_observer(void *context, const struct ferry_vidmm_event *event);

// ---- Start ------------------------------------------------------------------------------------------------------

// What the manager needs from the machine it runs on.
struct ferry_vidmm_platform {
    void *context;
    const struct ferry_page_source *pages;
    /// Let the device run until something may have happened, and call the miniport's InterruptRoutine when an
    /// interrupt is up. The manager calls DpcRoutine itself afterwards. FERRY_OK, FERRY_ERROR_TIMEOUT when the
    /// device has done nothing for as long as the platform is willing to wait, or FERRY_ERROR_DEVICE_LOST.
    int (*wait_for_progress)(void *context);
    /// Cycles of the device so far.
    uint64_t (*gpu_time)(void *context);
    /// Bytes at an address of the CPU's at which a device shows memory, as the miniport told it
    /// (CPUTranslatedAddress). NULL: no swizzling range is used. FERRY_OK, or why not.
    int (*cpu_read)(void *context, uint64_t address, void *data, size_t bytes);
    int (*cpu_write)(void *context, uint64_t address, const void *data, size_t bytes);
};

struct ferry_vidmm_critical;
struct ferry_vidmm_options {
    size_t size; // sizeof this struct
    const DRIVER_INITIALIZATION_DATA *miniport;
    HANDLE miniport_device_context; // From AddDevice; RemoveDevice stays the caller's too.
    struct ferry_vidmm_platform platform;
    uint64_t memory_limit_bytes;    // Of each memory segment use no more than this; 0 = all. Page multiple.
    uint64_t aperture_limit_bytes;  // The same for aperture segments.
    uint64_t table_bytes;           // For page tables, at most 1 TiB; 0 = a 32nd of the memory segment. Page multiple.
    uint32_t paging_buffer_bytes;   // 0 = what the miniport asks for.
    uint32_t paging_buffers;        // That there are, the open one counted; 0, or more than 5, = 5.
    uint64_t turn_cycles;           // How long a program's list stays while others wait; 0 = 1,000,000.
    uint64_t sub_transfer_bytes;    // Cut transfers into sub-transfers of this; 0 = never. Page multiple.
    uint32_t busy_limit;            // ALLOCATION_BUSY answers to one operation before a critical stop; 0 = 4096.
    bool lru_victims;               // Plain least-recently-used victims, for comparison.
    ferry_vidmm_observer *observer; // May be NULL.
    void *observer_context;
    struct ferry_vidmm_critical *why; // Filled when the start gives CRITICAL; may be NULL.
};

// ---- The critical stop, statistics ------------------------------------------------------------------------------

// Why the manager stopped. `code` follows the numbers of VIDEO_MEMORY_MANAGEMENT_INTERNAL (bug check 0x10E).
enum ferry_vidmm_critical_code {
    FERRY_CRITICAL_NONE = 0x0,
    FERRY_CRITICAL_SEGMENT = 0xD,        // Segments that contradict themselves.
    FERRY_CRITICAL_BAD_STATUS = 0xB,     // An answer of BuildPagingBuffer that is not legal for the operation (R3).
    FERRY_CRITICAL_ACQUIRE_RANGE = 0xF,  // An answer of AcquireSwizzlingRange that is not legal.
    FERRY_CRITICAL_RELEASE_RANGE = 0x10, // ReleaseSwizzlingRange failed.
    FERRY_CRITICAL_APERTURE_MISUSE = 0x11,
    FERRY_CRITICAL_DMA_OVERFLOW = 0x12, // Wrote past DmaSize, or moved pDmaBuffer outside the buffer.
    FERRY_CRITICAL_PRIVATE_OVERFLOW = 0x13,
    FERRY_CRITICAL_PATCH = 0x19,           // Patch failed.
    FERRY_CRITICAL_SUBMIT = 0x2,           // SubmitCommand failed (bug check 0x119, parameter 2).
    FERRY_CRITICAL_FENCE_BACKWARDS = 0x1F, // A completed fence that was never submitted, or moved backwards.
    FERRY_CRITICAL_NOT_IDLE = 0x20,        // BUSY was answered busy_limit times.
    FERRY_CRITICAL_NO_PROGRESS = 0x16,     // INSUFFICIENT_DMA_BUFFER on an empty buffer, without any progress.
    FERRY_CRITICAL_TABLE_FAULTED = 0x21,   // What changes an aperture's table faulted again and again.
};
struct ferry_vidmm_critical {
    enum ferry_vidmm_critical_code code;
    NTSTATUS status;
    uint32_t operation, node, multipass_offset, dma_size;
    uint64_t fence;
    D3DKMT_HANDLE allocation;
};

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
    uint64_t uncached_reads;    // locks for reading of what was not made Cached, as it should have been (R124)
    uint64_t faulted_jobs, faulted_paging_buffers;
    uint64_t on_demand_bytes; // CPU addresses handed out for CpuVisibleOnDemand (R178)
    uint64_t contents_lost;   // evictions through an aperture that an overlay left too little of (R155)
    uint64_t allocations;     // live
    uint64_t renames;         // locks with Discard that took another instance (R239)
    uint64_t discard_stalls;  // locks with Discard that waited for the GPU
    uint64_t renamed_bytes;   // of instances beyond each allocation's first one, in place or not
};

// ---- Jobs and allocations ---------------------------------------------------------------------------------------

#define FERRY_VIDMM_ANY_NODE 0xFFFFFFFFu // for a context: the user nodes in turn

struct ferry_vidmm_reference {
    D3DKMT_HANDLE allocation;
    bool write; // The job writes it: the copy in video memory becomes the newer one.
};
// What is at an address, or the first behind it.
struct ferry_vidmm_mapping {
    uint64_t address, bytes;  // 0 bytes: there is nothing at the address or behind it
    D3DKMT_HANDLE allocation; // 0 = only reserved
    uint64_t offset;
    bool read_only;
    bool zeros;       // only reserved, and reads as zeros
    uint64_t changes; // so often anything has been mapped at the program's addresses
};
// Rows of so many bytes at GPU virtual addresses that a packet reaches; bytes and rows are not 0.
struct ferry_vidmm_reach {
    uint64_t address, bytes;
    int64_t pitch;
    uint32_t rows;
    bool write;
};
// A job: the commands with zeros where addresses belong, the allocations, and where whose address goes. The manager
// copies the commands into a DMA buffer, fills the allocation list with each allocation's place, and has the miniport
// patch and submit it (physical addressing; a job is one DMA buffer or several).
struct ferry_vidmm_submission {
    const void *commands;
    uint32_t bytes; // 1 to DXGK_CONTEXTINFO.DmaBufferSize
    const struct ferry_vidmm_reference *references;
    uint32_t reference_count;
    const D3DDDI_PATCHLOCATIONLIST *patches; // AllocationIndex counts in references
    uint32_t patch_count;
    // Of each reference, or NULL: where the commands reach it, if that is at the addresses of the instance that held
    // its content when they were written (ferry_vidmm_own_address()); 0: at places of the patches, or at other
    // addresses.
    const uint64_t *addresses;
    // What its packets reach by addresses. The allocations that were mapped there are among the references; those that
    // have been since `changes` was read (ferry_vidmm_mapping) are named besides.
    const struct ferry_vidmm_reach *reaches;
    uint32_t reach_count;
    uint64_t changes;
};

// A program. Its share of what is there is as its weight is to that of all programs, but no less than its reservation.
struct ferry_vidmm_process_options {
    size_t size;
    uint32_t weight;      // 1 to FERRY_VIDMM_MAX_WEIGHT; 0 = 1
    uint64_t reservation; // bytes of video memory that nobody else gets
    void *program;        // handed back with the events of its budget, from the moment on at which there are any
};
#define FERRY_VIDMM_MAX_WEIGHT 10000u

// As D3DKMT_QUERYVIDEOMEMORYINFO tells it, of one group.
struct ferry_vidmm_memory_info {
    uint64_t budget;
    uint64_t usage;    // on residency lists
    uint64_t in_place; // in segments, on a list or not
    uint64_t reservation, available_for_reservation;
    uint64_t to_trim; // usage above budget
};

// What a program has used, since it began.
struct ferry_vidmm_process_statistics {
    uint64_t jobs;       // ended
    uint64_t gpu_cycles; // in which a job of its was the one under way that ended next; those of all add up to no more
                         // than the time that passed
    uint64_t last_job;   // GPU time at which the newest one ended
    uint64_t bytes_in, bytes_out, bytes_discarded, bytes_filled, bytes_moved, evictions; // of its allocations
};

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

#endif
