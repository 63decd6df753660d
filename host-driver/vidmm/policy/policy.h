// SPDX-License-Identifier: Apache-2.0
// Policy: residency lists and budget, and making room for what is on them.
#ifndef FERRY_VIDMM_POLICY_POLICY_H
#define FERRY_VIDMM_POLICY_POLICY_H

#include "vidmm/memory/memory.h"
#include "vidmm/space/budget.h"
#include "vidmm/space/plan.h"

// How far a plan reaches for room: to those above their budget, to all that the asking one has, to moving what others
// have within their budgets, to what they have above their reservations; then to one allocation of each that lies on
// both sides of that border. For a job that finds no room beside the reservations that are younger than its list, to
// those too.
enum ferry_vm_reach {
    FERRY_VM_REACH_OVER,
    FERRY_VM_REACH_OWN,
    FERRY_VM_REACH_PUSH,
    FERRY_VM_REACH_ALL,
    FERRY_VM_REACH_BEYOND,
    FERRY_VM_REACH_RESERVED,
    FERRY_VM_REACHES
};

// What found no room in the plan under way, as far as it reached, and how much was free then. Nothing that is as hard
// to place is looked for there again before more is free: with each step of the plan there are fewer who give.
struct ferry_vm_in_vain {
    uint64_t pages, free_pages; // pages 0: nothing did
    uint32_t segment_set;
    uint8_t alignment_log2;
    bool pinned;
};

struct ferry_vm_policy {
    struct ferry_vm_core *core;
    struct ferry_vm_sched *sched;
    struct ferry_vm_memory *memory;
    uint64_t budget; // of all programs together; 0 = none
    struct ferry_vm_list processes;
    uint8_t newest_sort;            // of a program, see ferry_vm_use; of its bits the low three count
    struct ferry_vm_process nobody; // of devices that were given no program; in the list while there are some
    struct ferry_vm_share *shares;  // room to divide among all of them
    size_t share_capacity;
    struct ferry_vm_list *devices; // all there are
    struct ferry_vm_list waiting;  // devices, for their turn, in order
    uint64_t turn_cycles;
    struct ferry_vm_allocation **named; // by the MakeResident or the job under way; kept from call to call
    size_t named_capacity;
    uint64_t turns_at; // what the program whose turn began last had used of the GPU then (gpu_used); only grows
    // Of the allocation that is being planned for.
    const struct ferry_vm_process *asking;
    uint64_t wanted_bytes;
    unsigned reach, furthest; // enum ferry_vm_reach
    struct ferry_vm_in_vain in_vain[FERRY_VM_REACHES];
    bool picking;                                                 // of others only what is marked `picked` may leave
    bool (*leaves)(void *policy, const struct ferry_vm_use *use); // NULL = there is one program, and all may
    struct ferry_vm_plan plan;
    struct ferry_vm_region regions[FERRY_VM_MAX_SEGMENTS]; // of the segments, as the plan knows them
};

// ---- room.c ----
/// Once the segments are known.
void ferry_vm_room_start(struct ferry_vm_policy *policy);
void ferry_vm_room_stop(struct ferry_vm_policy *policy);
/// policy->named has room for so many.
int ferry_vm_room_for_names(struct ferry_vm_policy *policy, size_t count);
/// Bring in all of the list that is out: find room (others may have to leave), bring content. NO_VIDEO_MEMORY changes
/// nothing; *short_bytes is the size of the one for which there is no room then. PENDING is not told from OK here.
int ferry_vm_place_all(struct ferry_vm_policy *policy, struct ferry_vm_allocation **list, size_t count,
                       enum ferry_vm_reach furthest, uint64_t *short_bytes);
/// All of the device's required allocations that are out, as far as they are not locked away.
int ferry_vm_place_missing(struct ferry_vm_policy *policy, struct ferry_vm_device *device);
/// Evict the victim of this segment when `pages` more are wanted by nobody in particular: of those above their budget
/// first, reserved ones last. FERRY_ERROR_NO_VIDEO_MEMORY when nobody can leave.
int ferry_vm_evict_one(struct ferry_vm_policy *policy, struct ferry_vm_segment *segment, uint64_t pages);

// ---- steps.c ----
/// All that the steps of the finished plan can fail with: memory for their operations, backing, bus addresses. An error
/// changes nothing.
int ferry_vm_steps_reserve(struct ferry_vm_policy *policy);
/// Nothing of it can fail: ferry_vm_steps_reserve() was before.
void ferry_vm_steps_carry_out(struct ferry_vm_policy *policy);

// ---- rename.c ----
/// The instance that a lock with Discard gets; the allocation is that one from now on. done() or back() follows.
struct ferry_vm_allocation *ferry_vm_rename(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation);
/// The lock has been given: what was there before is worth nothing now.
void ferry_vm_rename_done(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation);
/// It has not: the content is the one it was.
void ferry_vm_rename_back(struct ferry_vm_policy *policy, struct ferry_vm_allocation *allocation);

// ---- budgets.c ----
void ferry_vm_budgets_start(struct ferry_vm_policy *policy);
void ferry_vm_budgets_stop(struct ferry_vm_policy *policy);
/// What there is of video memory, for all programs.
uint64_t ferry_vm_memory_limit(const struct ferry_vm_policy *policy);
/// What is on residency lists altogether; what there is of the kind.
uint64_t ferry_vm_required(const struct ferry_vm_policy *policy, unsigned group);
uint64_t ferry_vm_limit(const struct ferry_vm_policy *policy, unsigned group);
/// Divide what there is anew, and tell those whose part has changed.
void ferry_vm_budgets_divide(struct ferry_vm_policy *policy);
/// NO_VIDEO_MEMORY: the reservation is more than what is left to reserve. Budgets are divided when it joins, once all
/// of it is there.
int ferry_vm_process_new(struct ferry_vm_policy *policy, const struct ferry_vidmm_process_options *options,
                         D3DKMT_HANDLE *handle);
void ferry_vm_process_join(struct ferry_vm_policy *policy, struct ferry_vm_process *process);
/// It has no device any more.
void ferry_vm_process_free(struct ferry_vm_policy *policy, struct ferry_vm_process *process);
/// The device is to be one of the program's, or of nobody's with NULL; and is, once it is made.
int ferry_vm_process_enter(struct ferry_vm_policy *policy, struct ferry_vm_device *device,
                           struct ferry_vm_process *process);
void ferry_vm_process_entered(struct ferry_vm_policy *policy, struct ferry_vm_device *device);
void ferry_vm_process_exit(struct ferry_vm_policy *policy, struct ferry_vm_device *device);
int ferry_vm_process_reserve(struct ferry_vm_policy *policy, struct ferry_vm_process *process, uint64_t bytes);
/// How much the program may reserve in all; NULL = one that is to come.
uint64_t ferry_vm_reservable(const struct ferry_vm_policy *policy, const struct ferry_vm_process *process);
void ferry_vm_process_info(const struct ferry_vm_policy *policy, const struct ferry_vm_process *process, unsigned group,
                           struct ferry_vidmm_memory_info *info);
/// Bytes on its lists above its budgets: NumBytesToTrim.
uint64_t ferry_vm_excess(const struct ferry_vm_process *process);

/// What of its reservation counts.
uint64_t ferry_vm_reserved(const struct ferry_vm_process *process, unsigned group);
/// How many bytes the device's list is larger than all that it can have, were it alone but for what others have
/// reserved or pinned.
uint64_t ferry_vm_beyond_all(const struct ferry_vm_policy *policy, const struct ferry_vm_device *device);
/// The same of the other device that lacks most. What is pinned takes no turns, so it has to leave room for every list
/// that there is.
uint64_t ferry_vm_beyond_others(const struct ferry_vm_policy *policy, const struct ferry_vm_device *device);

// ---- turns.c ----
/// Everything on the device's list that can be in place is, or will be when the paging that is queued for it has run;
/// of a list for which others have left no room with their reservations what the job's buffers name. PENDING: others
/// have the room; try again when `number` of `node` is over.
int ferry_vm_take_turn(struct ferry_vm_policy *policy, struct ferry_vm_device *device,
                       const struct ferry_vidmm_submission *buffers, uint32_t count, unsigned *node, uint64_t *number);
/// The context's program has as many jobs in line as it may while others wait for their turn; *node has some of them.
bool ferry_vm_turn_line_full(const struct ferry_vm_policy *policy, const struct ferry_vm_context *context,
                             unsigned *node);
/// It waits for its turn no longer.
void ferry_vm_turn_forgo(struct ferry_vm_device *device);
/// Do other devices have anything on their lists?
bool ferry_vm_others_require(const struct ferry_vm_policy *policy, const struct ferry_vm_device *device);

// ---- residency.c ----
int ferry_vm_make_resident(struct ferry_vm_policy *policy, struct ferry_vm_queue *queue,
                           D3DDDI_MAKERESIDENT *arguments);
int ferry_vm_evict(struct ferry_vm_policy *policy, const struct ferry_vm_device *device, D3DDDICB_EVICT *arguments);
int ferry_vm_take_off(struct ferry_vm_policy *policy, const struct ferry_vm_device *device, D3DKMT_HANDLE handle,
                      uint32_t count);
int ferry_vm_put_back(struct ferry_vm_policy *policy, const struct ferry_vm_device *device, D3DKMT_HANDLE handle,
                      uint32_t count);

#endif
