// SPDX-License-Identifier: Apache-2.0
// Memory: segments, allocations, the copy of an allocation that sits in a segment, backing stores, apertures, and the
// operations that move the content of one allocation. Where an allocation goes and who leaves is decided above.
#ifndef FERRY_VIDMM_MEMORY_MEMORY_H
#define FERRY_VIDMM_MEMORY_MEMORY_H

#include <assert.h>

#include "ddi/flag_rules.h"
#include "vidmm/sched/sched.h"
#include "vidmm/space/address_batch.h"
#include "vidmm/space/address_space.h"
#include "vidmm/space/segment_allocator.h"
#include "vidmm/space/victim.h"

struct ferry_vm_allocation;

// What the instances of an allocation have in common (renaming.c).
struct ferry_vm_renaming {
    struct ferry_vm_allocation **instances; // in the order in which discards take them
    uint32_t length, capacity, current;     // current: the one that holds the content
    uint32_t discards, peak;                // since the length was last looked at; most instances in use at one
    struct ferry_vm_allocation *before;     // the one that the lock under way has taken another one for
    bool added;                             // which was made for it
    bool settled;                           // one was brought into a place since: the miniport knows of several
};

// An allocation; of one that is renamed, one instance of it.
struct ferry_vm_allocation {
    struct ferry_vm_subject subject;
    HANDLE miniport;
    struct ferry_vm_block *block;       // NULL = in system memory
    MDL *backing;                       // NULL = none
    MDL *alternate;                     // of a lock with UseAlternateVA; NULL = none
    struct ferry_vm_renaming *renaming; // NULL = never renamed
    struct ferry_vm_range *mappings;    // where its program's addresses lead to it (mappings.c)
    struct ferry_vm_use use;
    struct ferry_vm_list link;    // of the device
    struct ferry_vm_list missing; // self-linked while not on that list
    uint64_t unmapping;           // operation that takes its backing store from the device; 0 = none
    uint64_t parting;             // operation that gives the backing store back, as long as it can be had again
    uint64_t shown;               // newest operation on the addresses that lead to it
    uint32_t count;
    uint32_t flags, segment_set, fill_pattern;
    uint32_t preferred;      // D3DDDI_SEGMENTPREFERENCE
    uint32_t renaming_limit; // MaximumRenamingListLength, 0 = none
    union {
        uint32_t lock_first;
        uint32_t lock_private; // of a lock with AcquireAperture: what the miniport is told
    };
    uint32_t lock_pages;
    uint8_t lock_flags;
    uint8_t alignment_log2;     // of pages
    uint8_t segment : 4;        // id, 0 = system memory
    uint8_t bank_direction : 2; // 0 = no hinted bank, else 1 + direction
    uint8_t wants_memory : 1;   // a memory segment is in its set
    uint8_t locked : 1;
    uint8_t locking : 1;      // locked, and the call that locks still waits
    uint8_t lock_held : 1;    // but its pages are the CPU's already
    uint8_t lock_skipped : 1; // and what left since did not go there
    uint8_t fresh : 1;        // content is still the fill pattern everywhere
    uint8_t dirty : 1;        // what sits in the segment is newer than the backing store, or there is none
    uint8_t dirty_before : 1; // what dirty was when the residency count last left 0
    uint8_t not_written : 1;  // every Evict since then said NotWrittenTo
    uint8_t untouched : 1;    // nobody has written it since it was brought in
    uint8_t lost : 1;         // a paging operation on it faulted
    uint8_t coherent : 1;     // mapped CacheCoherent
    uint8_t gpu_wrote : 1;    // since the last CPU access, through an aperture
    uint8_t pinned : 1;
    uint8_t closing : 1;          // it is being destroyed, and out of its aperture: it does not come back
    uint8_t charged : 1;          // to the budget of its program
    uint8_t kept : 1;             // the job that is being brought in works on it: no candidate
    uint8_t prepared : 1;         // its backing store is there for what is about to be queued
    uint8_t picked : 1;           // by a plan: it may leave together with the others that are picked
    uint8_t keeps_content : 1;    // Discard is ignored
    uint8_t shared : 1;           // other devices of its program may lock it
    uint8_t notice : 1;           // NOTIFY_ALLOC goes before each eviction from an aperture
    uint8_t iommu_notice : 1;     // and before its pages leave the IOMMU
    uint8_t mapped_again : 1;     // its backing store, for a place that it is about to get
    uint8_t eviction_segment : 4; // aperture through which it is evicted, 0 = straight to system pages
    uint8_t swizzled : 1;         // the GPU has it in tiles
    uint8_t linear_outside : 1;   // and so it is in its segment, but linear in its backing store
    uint8_t may_alternate : 1;    // the miniport said UseAlternateVA
    uint8_t alternate_lock : 1;   // locked with it
    uint8_t in_alternate : 1;     // evicted under such a lock: its content is there, and not in a backing store
};
static_assert(sizeof(struct ferry_vm_allocation) + sizeof(struct ferry_vm_block) <= 384, "bookkeeping an allocation");

static inline uint32_t ferry_vm_instance_count(const struct ferry_vm_allocation *allocation)
{
    return allocation->renaming ? allocation->renaming->length : 1;
}
static inline uint64_t ferry_vm_bytes(const struct ferry_vm_allocation *allocation)
{
    return (uint64_t)allocation->use.pages * PAGE_SIZE;
}
/// What it counts against the limit of all residency lists: its bytes rounded up to its alignment.
static inline uint64_t ferry_vm_charge(const struct ferry_vm_allocation *allocation)
{
    uint64_t mask = (UINT64_C(1) << allocation->alignment_log2) - 1;
    return ((allocation->use.pages + mask) & ~mask) * PAGE_SIZE;
}

/// Locked where it is: the CPU has no copy, and reads and writes whatever place holds the content (linear.c).
static inline bool ferry_vm_locked_in_place(const struct ferry_vm_allocation *allocation)
{
    return allocation->locked && (allocation->lock_flags & D3DDDI_LOCK_ACQUIRE_APERTURE) != 0;
}

struct ferry_vm_segment {
    uint32_t id;
    DXGK_SEGMENTFLAGS flags;
    uint64_t base, pages;
    bool aperture;
    struct ferry_vm_space space;
    uint64_t pinned_pages; // of overlays and captures in it
    struct ferry_vm_victims victims;
};

// What becomes of a table: its first entries, entries that lead somewhere from now on, or no longer.
enum ferry_vm_change { FERRY_VM_BEGIN, FERRY_VM_SHOW, FERRY_VM_HIDE };

// The GPU virtual addresses of a program, or of the manager's own paging process (virtual.c).
struct ferry_vm_virtual {
    struct ferry_vm_address_space addresses;
    struct ferry_vm_subject subject; // of the operations on its tables, which keep their order by it
    // What is queued now waits for this job of that node besides; 0 = for none.
    uint32_t after_node;
    uint64_t after;
    bool updates;                  // it belongs to an update of addresses
    struct ferry_vm_awaited taken; // by updates
    uint64_t mapped;               // so often anything has been
    uint64_t changes;              // and so often mapped or unmapped
    HANDLE miniport;
    // Reservations of zeros: what shows each, behind which the program's jobs stand; how often any came or went; of
    // each node the program's newest job, which one that goes stays for.
    struct ferry_vm_awaited zeros_shown;
    uint32_t operations_on_zeros;
    uint64_t jobs[FERRY_VM_MAX_NODES];
    // Its root until this operation is over, behind which the device does not know it any more: the page + 1; 0 = none.
    uint64_t left, leaving;
};

// A swizzling range. It stays the allocation's after unlock, for the next lock, until another one needs it.
#define FERRY_VM_MOST_SWIZZLING 16 // of more than that the others are not used
struct ferry_vm_swizzling {
    struct ferry_vm_allocation *allocation; // NULL = it is free
    uint32_t private_data;
    uint64_t address;  // of the allocation's first byte, for the CPU
    uint64_t last_use; // as `swizzling_uses` counts
};

struct ferry_vm_memory {
    struct ferry_vm_core *core;
    struct ferry_vm_sched *sched;
    struct ferry_vm_segment segments[FERRY_VM_MAX_SEGMENTS];
    unsigned segment_count;
    uint64_t memory_bytes, aperture_bytes; // what all segments of the kind hold
    bool has_memory;                       // there is a memory segment
    struct ferry_vm_table_pool tables;     // no pages: no GPU virtual addresses
    MDL *table_pages;                      // of tables in system memory; NULL = they are behind their segment's end
    // A table with nothing in it, for good, where spaces lead whose program is gone: its page + 1; 0 = none yet.
    uint64_t nowhere;
    // A page of zeros, and for each level below the highest a table that leads to it, or to the table before, in all of
    // its entries: pages + 1; NULL, 0 = no reservation of zeros was ever made.
    MDL *zero_page;
    uint64_t zeros[FERRY_VM_TABLE_LEVELS - 1];
    struct ferry_vm_virtual paging; // the paging process's; its miniport handle NULL = not made yet
    struct ferry_vm_range *window;  // its addresses, which content is mapped at chunk by chunk
    uint64_t window_next;           // of these: the first that no chunk had since everything was over
    uint64_t window_ready;          // the operation from which on there are tables for them
    bool by_address;                // the paging node moves and fills content by them
    MDL *dummy_page;
    struct ferry_vm_block *scratch_block; // one aperture page for WRITE_PHYSICAL
    unsigned scratch_segment;             // index + 1, 0 = none
    MDL *scratch_page;
    struct ferry_vm_swizzling swizzling[FERRY_VM_MOST_SWIZZLING];
    unsigned swizzling_count;
    uint64_t swizzling_uses;
    uint64_t sub_transfer_bytes;
    bool iommu;                  // pages of an aperture are the device's for only as long as they are in it
    uint64_t time;               // GPU submissions
    struct ferry_vm_round round; // of uses
    uint64_t serial;
    bool lru;
};

// The files, lowest first; each calls only those above it here.

// ---- segments.c ----
int ferry_vm_segments_read(struct ferry_vm_memory *memory, const struct ferry_vidmm_options *options);
void ferry_vm_segments_destroy(struct ferry_vm_memory *memory);
struct ferry_vm_segment *ferry_vm_segment_by_id(struct ferry_vm_memory *memory, uint32_t id);
/// There are page tables, and so programs have GPU virtual addresses.
static inline bool ferry_vm_has_addresses(const struct ferry_vm_memory *memory)
{
    return memory->tables.pages != 0;
}
/// The paging process may have some too (R206): where there is a memory segment, or hardware scheduling, which there is
/// not. Without a memory segment content stays in the pages of its backing store, which an aperture maps: nothing of it
/// is moved or filled, and nobody can be told of an eviction by such addresses.
static inline bool ferry_vm_window_allowed(const struct ferry_vm_memory *memory)
{
    return memory->has_memory && ferry_vm_has_addresses(memory);
}
/// Where the device finds a page of the pool of tables: in its segment, or at a bus address of segment 0.
DXGK_SEGMENTOFFSET ferry_vm_table_place(const struct ferry_vm_memory *memory, uint64_t page);
/// And the bytes of the one at this bus address; NULL when none is.
const uint8_t *ferry_vm_table_bytes(const struct ferry_vm_memory *memory, uint64_t address);
/// Segments in which the allocation may be, best first. Returns how many.
unsigned ferry_vm_segment_order(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                                struct ferry_vm_segment *order[FERRY_VM_MAX_SEGMENTS]);
bool ferry_vm_from_end(const struct ferry_vm_allocation *allocation, uint32_t segment);

// ---- backing.c ----
/// Can what was dropped be had again?
bool ferry_vm_backing_recallable(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation);
int ferry_vm_backing_make(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// Once what is queued for the allocation has run the pages are free (R110).
void ferry_vm_backing_drop(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// What was dropped and is not gone yet, and still as good as what it was brought to, is the backing store again. False
/// when there is none such.
bool ferry_vm_backing_recall(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
bool ferry_vm_permanent(const struct ferry_vm_allocation *allocation);
/// In a memory segment it has a backing store besides: it is PermanentSysMem, or as if it were, while the CPU has a
/// copy.
bool ferry_vm_keeps_backing(const struct ferry_vm_allocation *allocation);
/// Pages for a lock with UseAlternateVA (R82), unless there are some.
int ferry_vm_alternate_make(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// Such a lock ends, or fails: they go, unless its content is there.
void ferry_vm_alternate_end(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// If its content is there: they are its backing store from now on.
void ferry_vm_alternate_to_backing(struct ferry_vm_allocation *allocation);
/// Cached pages change hands between CPU and a segment that does not snoop (R121, R123).
void ferry_vm_cache_handover(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation);

// ---- swizzling.c ----
/// How many ranges there are to be used. Errors: UNSUPPORTED, when the miniport has some and no entry points for them.
int ferry_vm_swizzling_read(struct ferry_vm_memory *memory);
/// A range shows it, or what the private data tells of it, where it is now: nothing is queued for it that has not run.
/// All ranges may be taken away from others for it. Errors: NOT_AVAILABLE (none can show it), CRITICAL.
int ferry_vm_swizzling_acquire(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                               uint32_t private_data, uint64_t *address);
/// No range shows it any more: before it leaves its place.
void ferry_vm_swizzling_release(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation);

// ---- operations.c ----
// What is queued here waits for nobody. Room in the pager's line must have been reserved, except for a move.
/// How many operations bringing so many pages in, or out in one piece, takes at most.
size_t ferry_vm_pieces(const struct ferry_vm_memory *memory, uint64_t pages);
void ferry_vm_transfer_in(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t first,
                          uint64_t pages);
void ferry_vm_transfer_out(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// SPECIAL_LOCK_TRANSFER (R81): to the alternate address's pages, or back from there.
void ferry_vm_transfer_special(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, bool in);
/// Inside the allocation's segment, from its block to page `to`; the two may overlap when that lies below. Prepared
/// before.
void ferry_vm_transfer_move(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t to);
void ferry_vm_fill(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// NOTIFY_RESIDENCY, of an allocation that asked for it (R174): committed to this page of its segment, or evicted.
void ferry_vm_notify(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, bool resident,
                     uint64_t page);
bool ferry_vm_notifies(const struct ferry_vm_allocation *allocation);
void ferry_vm_discard(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// The allocation is whose jobs are ordered by it.
void ferry_vm_physical(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                       const struct ferry_vm_segment *segment, uint64_t page, bool write);
/// Does a move so far down go out and in again?
bool ferry_vm_move_by_backing(const struct ferry_vm_allocation *allocation, uint64_t from, uint64_t to);
size_t ferry_vm_move_most(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                          uint64_t from, uint64_t to);

// ---- aperture.c ----
int ferry_vm_aperture_start(struct ferry_vm_memory *memory);
void ferry_vm_aperture_stop(struct ferry_vm_memory *memory);
void ferry_vm_map(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
void ferry_vm_unmap(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// Was the dummy page written since the last look? Counts it and puts the pattern back (R76).
void ferry_vm_dummy_inspect(struct ferry_vm_memory *memory);
/// GPU writes through the aperture become visible to the CPU (R58, R62).
void ferry_vm_aperture_order(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, bool cpu_reads);

// ---- window.c ----
/// Does the paging node reach content by addresses of the paging process? Before the segments are read, of which tables
/// for them are a part. Errors: why it cannot be known.
int ferry_vm_window_read(struct ferry_vm_memory *memory);
/// The paging process's addresses, where there are none yet, for an allocation that needs them. Errors: NO_VIDEO_MEMORY
/// (no more tables), NO_HOST_MEMORY; nothing has changed then.
int ferry_vm_window_begin(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
void ferry_vm_window_end(struct ferry_vm_memory *memory);
/// Has the paging process addresses for all of it twice, as a transfer that swizzles needs them?
bool ferry_vm_window_holds_whole(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation);
/// For sched: the next step of an operation.
enum ferry_vm_next_step ferry_vm_window_step(void *memory, struct ferry_vm_operation *operation,
                                             struct ferry_vm_operation *step);
/// An operation on pages of the allocation, whose `sides` begin at the first of them; room for one is reserved.
void ferry_vm_window_queue(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                           const DXGKARG_BUILDPAGINGBUFFER *argument, const struct ferry_vm_steps *steps,
                           unsigned flags);

// ---- notice.c ----
/// Before it leaves its aperture (R186 to R192): mapped at the paging process's addresses piece by piece, and told.
void ferry_vm_notice(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
size_t ferry_vm_notice_most(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation);

// ---- iommu.c ----
/// Does the miniport want the IOMMU model? Errors: UNSUPPORTED, when the pages' source cannot do it; why the query has
/// failed, but for a miniport that does not know it.
int ferry_vm_iommu_read(struct ferry_vm_memory *memory);
/// Its backing store, if there is one, is the device's again, for a place: before arrive(), which cannot fail, or
/// undo(). Errors: NO_HOST_MEMORY.
int ferry_vm_iommu_prepare(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
void ferry_vm_iommu_undo(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
void ferry_vm_iommu_arrive(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// What still waits to be unmapped is not: it is given back as it is.
void ferry_vm_iommu_keep(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// It is out of its aperture: told, and its pages taken from the device.
void ferry_vm_iommu_leave(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
size_t ferry_vm_iommu_most(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation);

// ---- instance.c ----
/// Queue its content into the block that the allocation has just got. Prepared before: operations, and for an aperture
/// the backing store.
void ferry_vm_settle(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
size_t ferry_vm_settle_most(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation);
// Why it leaves its segment: its room is wanted; its content is not; or it comes back at once, or when the CPU has done
// with it, and what its eviction segments have room for (R155) has no say.
enum ferry_vm_way_out { FERRY_VM_EVICTED, FERRY_VM_UNWANTED, FERRY_VM_FOR_A_MOMENT };
/// Take it out of its segment; content goes to the backing store unless that is as good, or it is unwanted. prepare()
/// first, and room for most() operations: then it cannot fail. remove() does all three, or nothing.
int ferry_vm_remove_prepare(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                            enum ferry_vm_way_out way);
size_t ferry_vm_remove_most(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation);
void ferry_vm_take_out(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                       enum ferry_vm_way_out way);
int ferry_vm_remove(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, enum ferry_vm_way_out way);
/// Its place is free again, without a word to the GPU; nothing when it has none.
void ferry_vm_leave_place(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// Keep the candidate lists, the missing list and what its program is charged right after count, block or lock changed.
void ferry_vm_relist(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// A job that is queued now works on it.
void ferry_vm_used(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
void ferry_vm_emit_place(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation, bool placed);

// ---- renaming.c ----
/// Another instance of its allocation holds the content.
bool ferry_vm_parked(const struct ferry_vm_allocation *instance);
/// The instance that so many discards from now will take; 0 = the one that holds the content.
struct ferry_vm_allocation *ferry_vm_instance(struct ferry_vm_allocation *allocation, uint32_t steps);
/// The one whose subject has this number; NULL when it is gone.
struct ferry_vm_allocation *ferry_vm_instance_numbered(struct ferry_vm_allocation *allocation, uint32_t number);
/// One more instance, as the next one. On an error all is as before.
int ferry_vm_instance_add(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// One that was just added and switched away from, and which nothing was queued for, is gone again. NO_HOST_MEMORY: it
/// stays then.
int ferry_vm_instance_undo(struct ferry_vm_memory *memory, struct ferry_vm_allocation *instance);
/// From now on this one is the allocation.
void ferry_vm_instance_switch(struct ferry_vm_memory *memory, struct ferry_vm_allocation *to);
/// Parked, and nobody will want its content back: a lock under way does, of the one that it has taken another one for.
bool ferry_vm_worthless(const struct ferry_vm_allocation *instance);
/// A parked one leaves its segment, once its work is over, and is freed here. With room for end_most() operations and
/// releases take_away() cannot fail. end() does both; on an error it stays.
size_t ferry_vm_instance_end_most(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *instance);
void ferry_vm_instance_take_away(struct ferry_vm_memory *memory, struct ferry_vm_allocation *instance);
int ferry_vm_instance_end(struct ferry_vm_memory *memory, struct ferry_vm_allocation *instance);
/// All but the current one; no lock is under way. What is queued for them is found by the handle
/// (ferry_vm_allocation_pending).
int ferry_vm_instances_end(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// The same after everything is over; frees the record too.
void ferry_vm_instances_free(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);

// ---- allocation.c ----
int ferry_vm_allocation_new(struct ferry_vm_memory *memory, struct ferry_vm_device *device,
                            const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *handle,
                            unsigned *broken_rule);
/// Queue what has to happen before it can go. Everything that names it must be over before free(), for which room for
/// free_most() operations is reserved. What these take away is its addresses, and nobody waits for them but its device.
int ferry_vm_allocation_close(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// It does not go after all: it may come back.
void ferry_vm_allocation_reopen(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
size_t ferry_vm_allocation_free_most(struct ferry_vm_allocation *allocation);
void ferry_vm_allocation_free(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// The live allocation of this device; *error is HANDLE or FOREIGN when NULL comes back. device NULL = of any device.
struct ferry_vm_allocation *ferry_vm_allocation_find(struct ferry_vm_memory *memory,
                                                     const struct ferry_vm_device *device, D3DKMT_HANDLE handle,
                                                     int *error);
/// For sched: a paging buffer that moved its content has faulted.
void ferry_vm_content_lost(void *memory, D3DKMT_HANDLE allocation, uint32_t instance, bool named);

// ---- cpu_access.c ----
/// May it be locked like this?
int ferry_vm_lock_check(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                        uint32_t flags, uint64_t first, uint64_t count);
/// Mark it locked and queue what brings its content to the backing store: all that `until` names must be over before
/// ferry_vm_lock_ready() and ferry_vm_lock_end(), which hands out the address. Or ferry_vm_lock_cancel().
int ferry_vm_lock_begin(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint32_t flags,
                        uint64_t first, uint64_t count, uint64_t until[FERRY_VM_MAX_NODES]);
/// All that `until` named is over: a lock with Discard gives the content up now. PENDING: not yet, there is more to
/// wait for; for the `last` time, and what is queued from now on leaves the pages alone. Errors: NO_HOST_MEMORY, BUSY
/// (a job, with DoNotWait); nothing is given up then.
int ferry_vm_lock_ready(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                        uint64_t until[FERRY_VM_MAX_NODES], bool last);
int ferry_vm_lock_end(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, void **address);
/// What left beside pages that were held for it already is lost: its device is told.
void ferry_vm_lock_cancel(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
int ferry_vm_unlock(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);

// ---- linear.c ----
/// Mark it locked in place; nothing is queued. Errors: those of ferry_vm_lock_check(), UNSUPPORTED (it is not
/// swizzled).
int ferry_vm_linear_lock(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint32_t flags,
                         uint32_t private_data);
/// The lock that still waits fails.
void ferry_vm_linear_cancel(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// Where its bytes are, once nothing is queued for it that has not run. PENDING: it had to leave its place for that,
/// and this is to be waited for. Errors: NOT_AVAILABLE, NO_HOST_MEMORY, CRITICAL.
struct ferry_vm_linear {
    uint8_t *host;    // NULL = behind a range
    uint64_t address; // for the CPU
};
int ferry_vm_linear_find(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                         struct ferry_vm_linear *at);
/// Errors: the platform's.
int ferry_vm_linear_read(const struct ferry_vm_memory *memory, const struct ferry_vm_linear *at, uint64_t offset,
                         void *data, size_t bytes);
int ferry_vm_linear_write(const struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                          const struct ferry_vm_linear *at, uint64_t offset, const void *data, size_t bytes);

#endif
