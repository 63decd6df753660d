// SPDX-License-Identifier: Apache-2.0
// The pager by itself: how operations of its line are found, what order they keep, which is built next, how it is built
// into a buffer, and built again after a reset or a fault. Whoever queues operations has no use for this.
#ifndef FERRY_VIDMM_SCHED_PAGING_H
#define FERRY_VIDMM_SCHED_PAGING_H

#include "vidmm/sched/sched.h"

// ---- paging_index.c ----
/// From now on, and until it leaves, the operation is found by what it reads, writes and is about. No memory is needed.
void ferry_vm_index_enter(struct ferry_vm_sched *sched, uint64_t number);
void ferry_vm_index_leave(struct ferry_vm_sched *sched, uint64_t number);
/// It is built now, or waits again.
void ferry_vm_index_state(struct ferry_vm_sched *sched, uint64_t number);
/// One that has to keep its order with this one (ferry_vm_in_order()), and of which `is_it` says so; 0 = there is none.
/// What waits is asked about when it was queued before it, the newest of what is alike first; of what has its very
/// subject only the newest is, behind which the others stand themselves. Of what is built only those that its being in
/// the same buffer does not put in their order (ferry_vm_shares_its_buffer()), whichever was queued first; built false:
/// none. Those that have nothing to do with it are not asked about, others may be twice.
uint64_t ferry_vm_index_find(struct ferry_vm_sched *sched, uint64_t number, bool built,
                             bool (*is_it)(struct ferry_vm_sched *sched, uint64_t other, uint64_t number));
/// One that is built and reads of what this one writes, and of which is_it says so; 0 = there is none.
uint64_t ferry_vm_index_find_source(struct ferry_vm_sched *sched, uint64_t number,
                                    bool (*is_it)(struct ferry_vm_sched *sched, uint64_t other, uint64_t number));

// ---- paging_order.c ----
/// Must the one stay behind the other? Two operations never lose the reason for it.
bool ferry_vm_in_order(const struct ferry_vm_operation *before, const struct ferry_vm_operation *behind);
/// It moves no content: it changes a table, or orders what the GPU wrote through an aperture. It may be executed any
/// number of times, so after a fault it goes again; whatever has to stay behind it is not built before it is over, but
/// behind what is about addresses in the same buffer (paging_look.c).
bool ferry_vm_repeatable(const struct ferry_vm_operation *operation);
/// Entries that lead to its place no longer, or their being forgotten: done again it reads nothing.
bool ferry_vm_takes_away(const struct ferry_vm_operation *operation);
/// Would it write what an operation reads that may have to be executed again together with it?
bool ferry_vm_spoils_a_source(struct ferry_vm_sched *sched, uint64_t number);

// ---- paging_look.c ----
/// Which operation may be built next; 0 when none may.
uint64_t ferry_vm_next_operation(struct ferry_vm_sched *sched);
/// The buffer that it shared with a change of tables is out, and what is left of it must not be in the next one before
/// that change is over.
bool ferry_vm_goes_on_later(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *operation);
/// What hangs on it is looked at again: it is built, or over.
void ferry_vm_awaken(struct ferry_vm_sched *sched, uint64_t number);

// ---- paging_buffer.c ----
bool ferry_vm_holds_something(const struct ferry_vm_sched *sched);
/// The paging submission in which the next bytes would go.
uint64_t ferry_vm_next_fence(const struct ferry_vm_sched *sched);
bool ferry_vm_may_be_busy(DXGK_BUILDPAGINGBUFFER_OPERATION operation);
void ferry_vm_set_idle(DXGKARG_BUILDPAGINGBUFFER *argument, bool idle);
enum ferry_vm_built { FERRY_VM_BUILT, FERRY_VM_WENT_OUT, FERRY_VM_NO_ROOM, FERRY_VM_PARKED, FERRY_VM_STOPPED };
/// One call of BuildPagingBuffer. WENT_OUT: there is more of the operation, and its buffer is submitted, or thrown away
/// when it is unwanted.
enum ferry_vm_built ferry_vm_build_pass(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation,
                                        bool unwanted);
/// Submit the open buffer, if anything is in it and the device has room. True when it went out.
bool ferry_vm_flush(struct ferry_vm_sched *sched);

// ---- paging_steps.c ----
/// As build_pass(), until the last step is built.
enum ferry_vm_built ferry_vm_build_steps(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation);
/// Nothing of it is built any more; it begins anew.
void ferry_vm_steps_forget(struct ferry_vm_steps *steps);

// ---- paging_again.c ----
/// A reset aborted: everything that was built and is not over is built again.
void ferry_vm_rebuild(struct ferry_vm_sched *sched);
/// A submission has faulted. Its operations are built again, each in a buffer of its own; the content of one that was
/// alone in it, or that others have come to stand on, is lost. One that is still being built becomes `unwanted` first.
void ferry_vm_paging_faulted(struct ferry_vm_sched *sched, uint64_t fence);
/// Must the open buffer go out before this operation begins, so that one of them is alone?
bool ferry_vm_stands_alone(const struct ferry_vm_sched *sched, uint64_t number);
/// The operation is built, and its end is in the open buffer if that holds anything.
void ferry_vm_goes_in(struct ferry_vm_sched *sched, uint64_t number);
/// Would a page-out or a move share the open buffer with another device's operation, or with what is about addresses?
/// It would pay for that one's fault: what shares its buffer is built again, but not when something has run behind it
/// that overwrites what it reads.
bool ferry_vm_is_a_strangers(const struct ferry_vm_sched *sched, uint64_t number);
/// Must the one wait until the other, which is built and which it has to stay behind, is over? If a stranger's fault
/// takes that one's buffer back it could not go again once this one stands behind it, and its content would be lost.
bool ferry_vm_binds_to_a_stranger(const struct ferry_vm_sched *sched, uint64_t before, uint64_t number);

#endif
