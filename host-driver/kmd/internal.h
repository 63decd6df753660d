// SPDX-License-Identifier: Apache-2.0
// Inside of the miniport.
#ifndef FERRY_KMD_INTERNAL_H
#define FERRY_KMD_INTERNAL_H

#include <pthread.h>
#include <stdint.h>

#include "ferry_contract.h"
#include "kmd/kmd.h"

#define KMD_RINGS             5u
#define KMD_PAGING_RING       0u
#define KMD_RING_ENTRIES_LOG2 8u
#define KMD_RING_ENTRIES      (1u << KMD_RING_ENTRIES_LOG2)
#define KMD_HAZARD_SLOTS      65536u
// Address spaces of the device; the first is the paging process's.
#define KMD_SPACES (1u + FERRY_KMD_PROGRAM_SPACES)

// Jobs that named an allocation at one of the places it is paged in at. Renamed, it is at several at a time (R253).
struct kmd_place {
    uint64_t address;             // With the segment's base.
    uint32_t last_job[KMD_RINGS]; // Number of the ring's entry that named it last; 0 = none yet.
};

struct kmd_places {
    uint32_t count, capacity;
    struct kmd_place at[];
};

// Of a tiled one.
struct kmd_tiles {
    struct ferry_tiling_private told;
    uint64_t place; // Where it was built to be, since no range is told that; KMD_NOWHERE = not yet.
};
#define KMD_NOWHERE UINT64_MAX

// An allocation as the miniport sees it.
struct kmd_allocation {
    uint64_t bytes;
    UINT flags;
    uint16_t padding; // Bytes behind the content, to the end of the last page.
    bool aperture : 1;
    bool compressed : 1; // It may have runs (ferry/runs.h).
    bool tiled : 1;
    bool alternate : 1;     // The manager may take locks with UseAlternateVA.
    bool anywhere : 1;      // Some of the jobs of the first place are at others, for which there was no memory.
    const uint8_t *pages;   // Its content for the CPU, of one that is mapped into the aperture; NULL = it is not.
    struct kmd_place first; // Most are at one place all their lives.
    struct kmd_places *more;
    struct kmd_tiles tiling[]; // One, when it is tiled: few are, and each byte here counts a million times.
};

// A program with an address space of its own; driver model 2.
struct kmd_process {
    struct kmd_adapter *adapter;
    uint32_t space;
    // known_pages.c, by the uppermost nine bits of an address. unknown: not all of its entries are there.
    struct kmd_known_region *known[512];
    bool unknown;
};

struct kmd_device {
    struct kmd_adapter *adapter;
    const struct kmd_process *process; // NULL = none
    HANDLE os_handle;
};

struct kmd_context {
    struct kmd_device *device;
    uint32_t node;
};

// What stands in a user's DMA buffer's private data once it was submitted.
struct kmd_begun {
    uint32_t fence_id; // As which.
    uint32_t offset;   // From where on; what is before it was done by an earlier submission.
    uint32_t written;  // So many bytes of the copy there were written by earlier ones too.
    // Patch saw the commands, here, for the submission with this fence.
    uint32_t patched_as;
    uint32_t names_places; // 1: it put places of allocations into them.
    void *commands;
};

// What became of a ring's entry, beside having been carried out.
enum kmd_end {
    KMD_END_GOOD, // Or it has not ended.
    KMD_END_FAULTED,
    KMD_END_ABORTED,    // A reset cut it off.
    KMD_END_TAKEN_BACK, // A reset emptied it before the device had fetched it.
    KMD_END_NOBODYS,    // It was taken back before its doorbell came after all.
};

struct kmd_ring {
    bool made;                            // The device keeps a ring for good; StartDevice may come again.
    uint32_t submitted;                   // Number of the newest entry.
    bool lost;                            // The next one's doorbell was not taken, and may have come or come yet.
    uint32_t notified;                    // Number up to which the manager knows.
    uint32_t fence_ids[KMD_RING_ENTRIES]; // By number modulo entries.
    enum kmd_end ends[KMD_RING_ENTRIES];
    uint32_t faulted_at[KMD_RING_ENTRIES]; // At this offset of what was submitted: what is before it is done.
    uint32_t written[KMD_RING_ENTRIES];    // So many bytes of the copy there are written, which a reset cut off.
    // Buffers that went on in their middle, the newest ones, by number of such buffers: as which, and where.
    uint32_t resumed_as[KMD_RING_ENTRIES], resumed_at[KMD_RING_ENTRIES], resumed;
    uint32_t last_fence_id; // Of the newest completed entry.
    // Submitted, and not taken by the link, or behind a reset that failed: they go in once one has succeeded and opened
    // the ring again, or are told as aborted then. The first one of a ring that is lost may be with the device.
    struct ferry_gpu_entry waiting[KMD_RING_ENTRIES];
    uint32_t waiting_count;
    // What was named for one of them was named for a number that is so much too low, until this entry has retired.
    uint32_t shift, shifted_until;
    bool preempting;
    uint32_t preemption_fence_id;
};

// Pages that packets in flight write or read.
struct kmd_hazard {
    uint64_t key; // Page address | 16 for a read | 8 for user rings | address kind + 1; 0 = never used.
    uint32_t ring : 3, walls : 29; // Of a read: the ring's count then.
    uint32_t number;               // Of the ring's entry.
};

// What a ring's packets in flight read.
struct kmd_reads {
    uint32_t walls;     // Packets so far that waited for all before them: what those read is over.
    uint32_t walled;    // Of paging, the entry that had one last: what the entries before it read is over.
    bool any, anywhere; // Behind the newest of these something was read; what, nobody knows.
    uint32_t any_until, anywhere_until;
};

struct kmd_adapter {
    struct ferry_gpu *gpu;
    struct ferry_gpu_info info;
    DXGKRNL_INTERFACE os;
    bool started;
    unsigned model;                   // Driver model, 1 or 2.
    bool iommu;                       // The root complex maps pages of the aperture only while they are in it.
    bool by_address;                  // Content is paged by addresses of the paging process.
    bool host_tables;                 // Page tables are in system memory.
    const struct kmd_process *paging; // NULL = there is none.
    bool reset_failed;                // The last one: it may come yet, and cut off whatever goes in.
    uint32_t spaces;                  // A bit for each that a process has.
    bool unknown;                     // Entries were written of which nobody said whose addresses they are.
    // What the swizzling ranges show; NULL = nothing.
    struct kmd_shown {
        const struct kmd_allocation *allocation;
        UINT level;
    } shown[FERRY_BAR0_VIEW_COUNT];
    struct kmd_ring rings[KMD_RINGS];
    struct ferry_gpu_memory dummy_page, command;
    struct kmd_hazard *hazards;
    uint32_t hazard_probes; // As many of a page's slots as were ever needed to find one that is free.
    // Too much for the table was written by this entry of the ring: everything is ordered until it is done.
    uint32_t all_hazardous_until[KMD_RINGS];
    bool hazards_overflowed[KMD_RINGS];
    uint32_t hazard_retired[KMD_RINGS]; // Entries retired when the Patch under way began.
    struct kmd_reads reads[KMD_RINGS];

    pthread_mutex_t fault_lock; // Faults are taken by any thread.
    struct ferry_fault *faults; // Ring buffer.
    size_t fault_capacity, fault_first, fault_count;
    uint64_t faults_total;

    // Of a transfer that is to be spoilt on its way; number: so many from now on, 0 = it has begun.
    struct {
        bool wanted, out, going; // An operation is being built, in several passes.
        uint64_t number, offset;
        bool done;
        // By addresses: whose newest chunk was built, from where on the next one goes on with the same transfer, and
        // where that began.
        const struct kmd_allocation *allocation;
        uint64_t next, begin;
    } flip;
};

// query.c
NTSTATUS kmd_query_adapter_info(HANDLE hAdapter, const DXGKARG_QUERYADAPTERINFO *arguments);
NTSTATUS kmd_get_node_metadata(HANDLE hAdapter, UINT node, DXGKARG_GETNODEMETADATA *arguments);
// processes.c
NTSTATUS kmd_create_process(HANDLE hAdapter, DXGKARG_CREATEPROCESS *arguments);
NTSTATUS kmd_destroy_process(HANDLE hAdapter, HANDLE hKmdProcess);
// known_pages.c
enum kmd_known { KMD_UNKNOWN, KMD_IN_VIDEO_MEMORY, KMD_IN_HOST_MEMORY };
// An entry in the device's form was built for this address: 0, or valid.
void kmd_known_write(struct kmd_process *process, unsigned level, uint64_t address, uint64_t entry);
// Where the page of this address is, by what was built.
enum kmd_known kmd_known_page(const struct kmd_process *process, uint64_t address, uint64_t *page);
void kmd_known_free(struct kmd_process *process);
// objects.c
NTSTATUS kmd_create_device(HANDLE hAdapter, DXGKARG_CREATEDEVICE *arguments);
NTSTATUS kmd_destroy_device(HANDLE hDevice);
NTSTATUS kmd_create_context(HANDLE hDevice, DXGKARG_CREATECONTEXT *arguments);
NTSTATUS kmd_destroy_context(HANDLE hContext);
NTSTATUS kmd_create_allocation(HANDLE hAdapter, DXGKARG_CREATEALLOCATION *arguments);
NTSTATUS kmd_destroy_allocation(HANDLE hAdapter, const DXGKARG_DESTROYALLOCATION *arguments);
// tiles.c
// Can an allocation have tiles as this says, or none?
bool kmd_tiling_good(const struct ferry_allocation_private *wish);
// views.c
/// How many swizzling ranges the manager is told of.
UINT kmd_ranges(const struct kmd_adapter *adapter);
NTSTATUS kmd_acquire_range(HANDLE hAdapter, DXGKARG_ACQUIRESWIZZLINGRANGE *arguments);
NTSTATUS kmd_release_range(HANDLE hAdapter, const DXGKARG_RELEASESWIZZLINGRANGE *arguments);
void kmd_release_all_ranges(struct kmd_adapter *adapter);
// paging.c
NTSTATUS kmd_build_paging_buffer(HANDLE hAdapter, DXGKARG_BUILDPAGINGBUFFER *arguments);
// flip.c
void kmd_flip_look(struct kmd_adapter *adapter, const DXGKARG_BUILDPAGINGBUFFER *arguments);
// patch.c
NTSTATUS kmd_patch(HANDLE hAdapter, const DXGKARG_PATCH *arguments);
// submit.c
NTSTATUS kmd_submit_command(HANDLE hAdapter, const DXGKARG_SUBMITCOMMAND *arguments);
NTSTATUS kmd_preempt_command(HANDLE hAdapter, const DXGKARG_PREEMPTCOMMAND *arguments);
NTSTATUS kmd_query_current_fence(HANDLE hAdapter, DXGKARG_QUERYCURRENTFENCE *arguments);
bool kmd_interrupt_routine(HANDLE hAdapter, ULONG message);
VOID kmd_dpc_routine(HANDLE hAdapter);
// reset.c
NTSTATUS kmd_reset_engine(HANDLE hAdapter, DXGKARG_RESETENGINE *arguments);
NTSTATUS kmd_reset_from_timeout(HANDLE hAdapter);
// Entries of all rings that have not retired, or may yet come to the device.
uint32_t kmd_pending(struct kmd_adapter *adapter);
NTSTATUS kmd_restart_from_timeout(HANDLE hAdapter);

// Take the device's fault log over. Marks the entries concerned.
void kmd_drain_faults(struct kmd_adapter *adapter);
// Tell the manager that the ring's entries up to this number have ended. True when there was anything to tell.
bool kmd_tell(struct kmd_adapter *adapter, uint32_t ring, uint32_t number);
// Tell it that this one did not come to its end: by a fault of its own, or, if it is cut, for a reset of another node,
// and then it is to be submitted again. The manager takes those before it for good ones that it has not heard of.
void kmd_tell_faulted(struct kmd_adapter *adapter, uint32_t ring, uint32_t fence_id, bool cut);
// Number of the newest entry up to this one before which a reset cut nothing off that the manager has not heard of.
uint32_t kmd_ended_before_cut(const struct kmd_ring *ring, uint32_t number);
// A reset has cut something of the ring off, or taken it back, and the manager has not heard of it.
bool kmd_cut_off(const struct kmd_ring *ring);
// Number of the newest entry of a ring that has retired.
uint32_t kmd_retired(struct kmd_adapter *adapter, uint32_t ring);
// As that, for what was named for entries: no later than that they are over.
uint32_t kmd_retired_of_named(struct kmd_adapter *adapter, uint32_t ring);
// The device has fetched the first one that waits, whose doorbell seemed lost.
void kmd_ring_found(struct kmd_ring *ring);
// A reset of the engine has opened a ring that a lost doorbell had closed: the entry, an empty one, counts if its
// doorbell came, and ends as the one before it.
void kmd_ring_opened(struct kmd_adapter *adapter, uint32_t node);
// What waits for that goes in; what cannot waits on, for the next reset.
void kmd_ring_go_on(struct kmd_adapter *adapter, uint32_t node);

// ---- confine.c ----

struct kmd_range {
    uint32_t kind;
    uint64_t first, last;
};
// What one side of a COPY_RECTANGLE takes, of tiles whole ones (contract/packets.rdl).
void kmd_rectangle_side(const uint8_t *packet, bool source, struct kmd_range *range);
// A packet of a user's buffer, of so many bytes, after the patches: a place that is not in the list becomes one of host
// memory, so that the firmware refuses the packet.
void kmd_confine(const DXGKARG_PATCH *p, uint8_t *packet, uint32_t bytes);

// ---- resume.c ----

// Patch notes in the private data that it saw a user's commands, and where.
void kmd_resume_patched(const DXGKARG_PATCH *p);
// Offset in what is submitted from which it runs: that of the command that was not carried out whole, if it comes with
// Resubmission, since the ones before it may have written over what they read. So may that command itself, a copy: if
// Patch has seen it for this submission, only the rest is left of it. Notes in the private data what it is submitted
// as. A buffer with a fault of its own goes on like that too: the manager may take it for the reset's doing.
// *names_places: Patch put places into the commands, of this submission or of the one that this goes on with.
uint32_t kmd_resume(struct kmd_ring *ring, const DXGKARG_SUBMITCOMMAND *s, bool *names_places);
// The fault of a buffer that went on in its middle counts from the buffer's start, as of any other.
void kmd_resume_count(const struct kmd_ring *ring, struct ferry_fault *fault);
// A job names the allocation at this place: it will be the ring's next entry.
void kmd_allocation_named(struct kmd_adapter *adapter, struct kmd_allocation *allocation, uint64_t address,
                          uint32_t ring);
// A job that names the allocation at this place has not retired.
bool kmd_allocation_is_busy(struct kmd_adapter *adapter, const struct kmd_allocation *allocation, uint64_t address);
NTSTATUS kmd_status(int ferry_error);
// Address kind and device address of a segment address; false for a segment that there is not.
bool kmd_place(UINT segment, uint64_t address, uint32_t *kind, uint64_t *device_address);
// hazard.c
// Look at what has retired, of the paging ring or of all user rings: before the calls below.
void kmd_hazard_begin(struct kmd_adapter *adapter, uint32_t ring);
// The ring's entry of that number writes these bytes.
void kmd_hazard_write(struct kmd_adapter *adapter, uint32_t ring, uint32_t kind, uint64_t address, uint64_t bytes,
                      uint32_t number);
// It writes nobody knows what.
void kmd_hazard_anywhere(struct kmd_adapter *adapter, uint32_t ring, uint32_t number);
// Does a packet in flight, of the paging ring or of a user ring as this ring is, write some of these bytes?
bool kmd_hazard_read(struct kmd_adapter *adapter, uint32_t ring, uint32_t kind, uint64_t address, uint64_t bytes);
// The ring's entry of that number reads these bytes; or nobody knows which.
void kmd_hazard_note_read(struct kmd_adapter *adapter, uint32_t ring, uint32_t kind, uint64_t address, uint64_t bytes,
                          uint32_t number);
void kmd_hazard_read_anywhere(struct kmd_adapter *adapter, uint32_t ring, uint32_t number);
// The packet that is patched, of the ring's entry of that number, waits for all of its ring before it.
void kmd_hazard_wall(struct kmd_adapter *adapter, uint32_t ring, uint32_t number);
// Does a packet of this ring in flight read some of these bytes? Or anything, for all that is known?
bool kmd_hazard_overwrites(struct kmd_adapter *adapter, uint32_t ring, uint32_t kind, uint64_t address, uint64_t bytes);
bool kmd_hazard_overwrites_any(struct kmd_adapter *adapter, uint32_t ring);

// a is at or behind b; both run freely.
static inline bool kmd_reached(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) >= 0;
}

// Number that the ring's next submission will have, unless the doorbell of one that waits comes after all.
static inline uint32_t kmd_next_number(const struct kmd_ring *ring)
{
    return ring->submitted + ring->waiting_count + 1;
}

// Entry `number` is one of those behind `retired` that a ring holds, or the next to be submitted. However long ago
// another one ended, it is not taken for one of these.
static inline bool kmd_outstanding(uint32_t retired, uint32_t number)
{
    return number - retired - 1 <= KMD_RING_ENTRIES;
}

#endif
