// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses of programs: what of an allocation is mapped where, and the operations by which page tables
// come to say so. Which addresses and tables there are is space/address_space.h's.
#ifndef FERRY_VIDMM_ADDRESSES_H
#define FERRY_VIDMM_ADDRESSES_H

#include "vidmm/memory/memory.h"

// ---- mappings.c ----
// The mappings of an allocation, of one that is renamed those of one instance, are a list: the one that each instance
// has comes first, if there is one, behind it all others, the newest first. Whoever looks for that one looks at the
// first and no further; whoever shows or hides all goes by the list. Those that may stand behind an update's job are a
// list of their own besides, the newest first: what waits costs those who name the allocation, what is mapped does not.
/// The range that each instance has one of; NULL: it has none.
const struct ferry_vm_range *ferry_vm_virtual_own(const struct ferry_vm_allocation *instance);
/// Nothing but that range leads to it: another instance may take its place.
bool ferry_vm_virtual_renamable(const struct ferry_vm_allocation *instance);
/// Operations that all of them take at most: to show them, or to hide them.
size_t ferry_vm_virtual_most(const struct ferry_vm_allocation *allocation);
/// Operations that the tables take which a mapping of so many pages brings about, at most, or those that it leaves.
size_t ferry_vm_virtual_tables_most(uint64_t pages);
/// Operations that a job of this node has to stand behind besides `shown`, when it names the allocation: what shows it
/// where an update has mapped it, and stands behind a job that is over or of that node. So it does not wait for a job
/// that it is not behind itself. Writes to `numbers` at most late_most().
size_t ferry_vm_virtual_late(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                             uint32_t node, uint64_t *numbers);
size_t ferry_vm_virtual_late_most(const struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);

// ---- virtual_entries.c ----
/// The allocation's addresses lead to its place, which begins at this page, from now on; or nowhere, before it leaves
/// it. Operations are reserved before: most().
void ferry_vm_virtual_show(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t page);
void ferry_vm_virtual_hide(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
// Operations on the tables of a space, on behalf of this allocation; room for them is reserved.
void ferry_vm_virtual_write(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                            struct ferry_vm_allocation *allocation, const struct ferry_vm_piece *piece, DXGK_PTE entry,
                            struct ferry_vm_span reads, enum ferry_vm_change change);
/// end 0: the whole space, whose root the device learns by it.
void ferry_vm_virtual_flush(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                            struct ferry_vm_allocation *allocation, uint64_t first, uint64_t end,
                            struct ferry_vm_span reads, bool waits);
/// The tables that came about with a mapping (ferry_vm_address_fresh), or with a reservation of zeros: allocation NULL.
void ferry_vm_virtual_begin_tables(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                                   struct ferry_vm_allocation *allocation);

// ---- virtual_zeros.c ----
// Operations that one takes at most, to begin and to end.
#define FERRY_VM_ZEROS_MOST 64
/// Reserved, and zeros where nothing is mapped: ferry_vm_address_reserve(). Errors besides: NO_VIDEO_MEMORY (also of
/// page tables: *table_bytes), UNSUPPORTED (the miniport has no pages that are only read).
int ferry_vm_virtual_reserve_zeros(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                                   const struct ferry_vm_where *where, uint64_t pages, uint64_t *first,
                                   uint64_t *table_bytes);
/// Reserved addresses, of which none is mapped, become zeros, or what leads nowhere. Errors: ARGUMENT (not all in one
/// reservation; some of them are so already, and not all), BUSY (something is mapped there), NO_VIDEO_MEMORY
/// (*table_bytes), NO_HOST_MEMORY, UNSUPPORTED. Nothing has changed then.
int ferry_vm_virtual_protect(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space, uint64_t first,
                             uint64_t pages, bool zeros, uint64_t *table_bytes);
/// How many pieces that are zeros are among these addresses. ARGUMENT: one of them is only in part.
int ferry_vm_virtual_zeros_within(const struct ferry_vm_virtual *space, uint64_t first, uint64_t end, size_t *count);
/// All of them are zeros no longer, for jobs queued later; nothing is mapped there, and room is reserved.
void ferry_vm_virtual_free_zeros(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space, uint64_t first,
                                 uint64_t end);

// ---- virtual.c ----
/// An address space for the program, where there are any. Errors: NO_VIDEO_MEMORY (the device has no more of them),
/// NO_HOST_MEMORY.
int ferry_vm_virtual_new(struct ferry_vm_memory *memory, struct ferry_vm_process *process);
void ferry_vm_virtual_end(struct ferry_vm_memory *memory, struct ferry_vm_process *process);
/// The program is over, but comes again: nothing is mapped any more, and nothing is reserved from now on.
void ferry_vm_virtual_release_all(struct ferry_vm_memory *memory, struct ferry_vm_process *process);
/// Before the end: nothing is mapped any more, and the space leads nowhere from now on, whoever has it next. PENDING:
/// when *number is over, again. Errors: NO_HOST_MEMORY.
int ferry_vm_virtual_leave(struct ferry_vm_memory *memory, struct ferry_vm_process *process, uint64_t *number);
/// It has a device, so page tables are left for it (space/table_pool.h) until it is over.
void ferry_vm_virtual_share(struct ferry_vm_process *process);
/// The miniport's handle of the program; NULL without a space.
HANDLE ferry_vm_virtual_handle(const struct ferry_vm_process *process);
/// What is to be mapped of an allocation, and where. each_instance: the whole of it, to be written; each instance that
/// comes about has a range of its own then.
struct ferry_vm_view {
    struct ferry_vm_where where;
    uint64_t offset, pages;
    bool read_only, each_instance;
};
/// BUSY: it has several instances. UNSUPPORTED: its program has no addresses.
int ferry_vm_virtual_may_map(const struct ferry_vm_allocation *allocation);
/// RANGE besides: not all of it is in the allocation.
int ferry_vm_virtual_may_map_view(const struct ferry_vm_allocation *allocation, const struct ferry_vm_view *view);
/// Errors: those of ferry_vm_address_map(), RANGE, UNSUPPORTED (no addresses), BUSY
/// (also of an allocation of several instances), ARGUMENT (each_instance of a part, a second one, or in a
/// reservation). Nothing has changed then.
int ferry_vm_virtual_map(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                         const struct ferry_vm_view *view, uint64_t *first, uint64_t *table_bytes);
/// Another instance of the allocation gets a range of its own, if that has one. Errors: those of
/// ferry_vm_address_map().
int ferry_vm_virtual_map_instance(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                                  struct ferry_vm_allocation *instance);
/// Whatever is mapped in these addresses, which cut no range; so many operations more may be queued afterwards. Errors:
/// NO_HOST_MEMORY; all of it is as it was.
int ferry_vm_virtual_unmap_within(struct ferry_vm_memory *memory, const struct ferry_vm_virtual *space, uint64_t first,
                                  uint64_t end, size_t more);
/// All of its ranges; room for so many operations is reserved, and where it is mapped among zeros take_away_room() has
/// been had: the program's jobs stand behind what leaves zeros there. That fails with NO_HOST_MEMORY only as long as
/// others are to be waited for.
int ferry_vm_virtual_take_away_room(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *instance);
void ferry_vm_virtual_take_away(struct ferry_vm_memory *memory, struct ferry_vm_allocation *instance);
size_t ferry_vm_virtual_take_away_most(const struct ferry_vm_allocation *instance);
int ferry_vm_virtual_unmap_all(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation);
/// Without a word to the GPU, which is told nothing any more.
void ferry_vm_virtual_drop(struct ferry_vm_allocation *allocation);

// ---- virtual_update.c ----
/// A batch on the program's addresses, carried out behind this job of that node. alone: among no queue's jobs, so who
/// names what it takes away stands behind it.
struct ferry_vm_update {
    struct ferry_vm_virtual *space;
    struct ferry_vm_batch batch;
    bool alone;
    uint32_t after_node;
    uint64_t after;
};
/// Operations that carrying it out queues at most, and numbers that it tells of. The batch is prepared.
size_t ferry_vm_virtual_update_most(const struct ferry_vm_update *update);
size_t ferry_vm_virtual_update_told(const struct ferry_vm_update *update);
/// Room for the operations is reserved. Of each allocation that it is about the number of the newest operation is
/// written to `told`, 0 for none; returns how many. What stands behind the update stands behind those.
size_t ferry_vm_virtual_update(struct ferry_vm_memory *memory, struct ferry_vm_update *update, uint64_t *told);

#endif
