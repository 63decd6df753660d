// SPDX-License-Identifier: Apache-2.0
// The seam under the manager's suite: what a test needs of a machine besides the manager. memcpy_machine.c and
// memcpy_miniport.c implement it with plain arrays; the same tests link against the real miniport with another
// implementation of this header, kmd_machine.c.
#ifndef FERRY_TESTS_MACHINE_H
#define FERRY_TESTS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddi/miniport.h"
#include "ddi/page_source.h"
#include "vidmm/vidmm.h"

/// Which miniport is under test, in one word.
extern const char *const machine_miniport;
// The machine's segments; 0 = it has none of that sort.
extern const UINT machine_local_segment, machine_hidden_segment, machine_aperture_segment;
// Bytes of the smallest paging buffer that the manager starts with, and that takes a page of every operation.
extern const uint32_t machine_least_start_bytes, machine_least_page_bytes;
// User jobs may fill an allocation in the aperture.
extern const bool machine_fills_aperture;
/// Why this machine does not run the test of that name; NULL when it does.
const char *machine_leaves_out(const char *test);
/// How often a test does something that takes a machine's time: few where that is a simulation's.
unsigned machine_rounds(unsigned many, unsigned few);

struct machine_options {
    uint64_t local_bytes;    // segment 1
    uint64_t hidden_bytes;   // segment 2
    uint64_t aperture_bytes; // segment 3
    bool coherent_aperture;
    bool sparse; // video memory of which hardly anything is touched: zero at first
    bool map_aperture2;
    bool vpr;
    UINT version;                 // DXGK_WDDMVERSION; 0 = 3.2
    uint32_t paging_buffer_bytes; // 0 = 4096
    uint32_t paging_private_bytes;
    uint64_t seed;
    unsigned model;   // driver model: 2 = with GPU virtual addresses; 0 = 1
    bool iommu;       // and in the IOMMU model (GpuVaIommuRequired)
    bool by_address;  // and the paging node reaches content by addresses (GpuMmuSupported)
    bool host_tables; // and page tables are in system memory (PageTableSegmentId 0)
    unsigned ranges;  // NumberOfSwizzlingRanges in driver model 1, up to 4; 0 = 4
    bool no_ranges;   // none
};

// Behaviour that a test may change at any time between two calls of the manager.
struct machine_knobs {
    unsigned delay;          // work waits up to this many turns of the wait hook before it runs; 0 = runs at submit
    unsigned busy_times;     // ALLOCATION_BUSY answers before each operation that may be answered so
    NTSTATUS illegal_status; // answer of the next BuildPagingBuffer when not 0
    NTSTATUS patch_status, submit_status;
    bool silent_discard;  // DISCARD_CONTENT writes nothing into the buffer
    bool by_registers;    // the aperture's table is changed when that is built, and nothing is written into the buffer
    bool patch_completes; // packets are built unfinished, Patch finishes them
    bool refuse_progress; // INSUFFICIENT_DMA_BUFFER for ever
    unsigned physical_bytes; // size of READ_PHYSICAL and WRITE_PHYSICAL accesses, 1 to 8; 0 = 8
    bool write_behind;       // write behind the end of the buffer without saying so
    bool overrun;            // move pDmaBuffer past the end of the buffer
    bool hang;               // nodes stop working; only a reset helps
    unsigned hang_inside;    // the same behind so many packets of the next job that has more
    unsigned
        hang_in_copy; // the same in a job's next copy that has more bytes; before the job where copies are one step
    bool late_abort;  // what a reset aborts first has been executed, all but the report (memcpy machine)
    unsigned fault_paging; // this many paging buffers that are submitted from now on fault, after some of their packets
    unsigned fault_addresses; // the same, of those that change page tables of GPU virtual addresses
    unsigned fault_jobs;
    bool backwards;         // report a fence that is older than the newest report
    long host_pages;        // pages the source still gives out; negative = any number
    bool own_alignment_64k; // answer 64 KiB alignment for every allocation
    UINT segment_set;       // answer this SupportedWriteSegmentSet when not 0
    UINT eviction_set;
    UINT hinted_bank;     // answer this HintedBank
    bool zero_size;       // answer Size 0
    bool flags_as_wished; // answer the flags as they were wished for, also where they break a rule
    bool scatter_pages;   // pages of the source are never neighbours on the bus, but for DMA buffers
    void (*on_pages)(const MDL *pages, bool mapped); // before the source unmaps or maps them again; may be null
    unsigned fail_map;   // the so-manieth time that unmapped pages are mapped again fails; 0 = none does
    unsigned hold_node;  // jobs of this node wait until the knob is 0 again (a reset lets go too); 0 = none
    bool hold_paging;    // and so do paging buffers
    unsigned hold_turns; // after so many turns of the wait hook both let go; 0 = never by themselves
    bool by_place;       // work in flight keeps one place of an allocation busy, not all of it: for renaming (memcpy)
    void (*before_turn)(void *context); // before each turn of the wait hook, which goes on when it returns; may be null
    void *before_turn_context;
    bool stand_still; // that the turn is not had, for as long as this holds: nothing happens, and no time passes
    bool (*interrupt_routine)(HANDLE adapter, ULONG message); // what an interrupt calls; null: the miniport's own
    unsigned deaf;                                            // so many doorbells are not taken in time (real miniport)
    bool late;                                                // they come all the same
    unsigned range_unavailable; // so many AcquireSwizzlingRange are answered APERTURE_UNAVAILABLE
    NTSTATUS range_status;      // answer of each AcquireSwizzlingRange when not 0
    bool range_resized;         // which changes RangeSize
    NTSTATUS release_status;    // answer of each ReleaseSwizzlingRange when not 0
    bool looks_up_at_once;      // a job has to find mapped what it reaches when it is submitted, however late it runs
                                // (memcpy)
    bool busy_in_later_pass;    // the next pass of an operation that is not its first is answered ALLOCATION_BUSY, once
};

struct machine;

/// A turn of the wait hook begins; false: it is not had.
static inline bool machine_begin_turn(const struct machine_knobs *knobs)
{
    if (knobs->before_turn)
        knobs->before_turn(knobs->before_turn_context);
    return !knobs->stand_still;
}

/// Is work of this node held back?
static inline bool machine_holds(const struct machine_knobs *knobs, unsigned node)
{
    return node == 0 ? knobs->hold_paging : node == knobs->hold_node;
}

/// A turn of the wait hook has passed; true while that was a turn of holding back, which is progress.
static inline bool machine_hold_turn(struct machine_knobs *knobs)
{
    bool holding = (knobs->hold_node != 0 || knobs->hold_paging) && knobs->hold_turns != 0;
    if (holding && --knobs->hold_turns == 0) {
        knobs->hold_node = 0;
        knobs->hold_paging = false;
    }
    return holding;
}

/// The table under test.
const DRIVER_INITIALIZATION_DATA *ferry_test_miniport(void);

struct machine *machine_open(const struct machine_options *options);
void machine_close(struct machine *machine);
HANDLE machine_adapter(struct machine *machine);
struct machine_knobs *machine_knobs(struct machine *machine);
struct ferry_vidmm_platform machine_platform(struct machine *machine);
/// Rules of the contract that the manager broke, seen from below (0 = none); text of the first one.
unsigned machine_errors(const struct machine *machine, const char **first);
/// Pages of the page source that are not given back.
size_t machine_pages_out(const struct machine *machine);
/// Content of a segment as the GPU sees it (through the table for the aperture).
void machine_peek(struct machine *machine, unsigned segment, uint64_t offset, void *to, size_t bytes);
/// Write as the GPU would, without any job: stray accesses.
void machine_poke(struct machine *machine, unsigned segment, uint64_t offset, const void *from, size_t bytes);
/// Bus address that an aperture page points at, and its coherency mark.
uint64_t machine_aperture_entry(const struct machine *machine, uint64_t page, bool *coherent);
/// Does the root complex let the device reach that bus address?
bool machine_reaches(const struct machine *machine, uint64_t bus);
/// READ_PHYSICAL or WRITE_PHYSICAL accesses executed so far.
uint64_t machine_physical_accesses(const struct machine *machine, bool write);
/// Jobs of user nodes that are queued and not executed.
unsigned machine_queued_jobs(const struct machine *machine);

// A user job under construction, in the miniport's own command format.
struct machine_job {
    uint8_t commands[4096];
    uint32_t bytes;
    D3DDDI_PATCHLOCATIONLIST patches[64];
    uint32_t patch_count;
};
void machine_job_copy(struct machine_job *job, unsigned to, uint64_t to_offset, unsigned from, uint64_t from_offset,
                      uint32_t bytes);
/// The finished job as a buffer of a submission, which names these: the job's allocation n is references[n]. It leads
/// to both, so they stay until it is submitted.
static inline struct ferry_vidmm_submission
machine_job_buffer(const struct machine_job *job, const struct ferry_vidmm_reference *references, uint32_t count)
{
    return (struct ferry_vidmm_submission){.commands = job->commands,
                                           .bytes = job->bytes,
                                           .references = references,
                                           .reference_count = count,
                                           .patches = job->patches,
                                           .patch_count = job->patch_count};
}
/// A job that does nothing but name its allocations.
void machine_job_nothing(struct machine_job *job);
void machine_job_fill(struct machine_job *job, unsigned to, uint64_t offset, uint32_t bytes, uint32_t pattern);
/// What the patch would write into the job, as a GPU virtual address: nothing is left of it for Patch.
void machine_job_by_address(uint8_t *commands, const D3DDDI_PATCHLOCATIONLIST *patch, uint64_t address);

#endif
