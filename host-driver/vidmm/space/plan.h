// SPDX-License-Identifier: Apache-2.0
// Making room, decided as a whole before anything is done: who leaves, who moves, where the wanted ones go. Pure: no
// DDI call, no wait, no clock. It tries on the segment's own bookkeeping (space, candidates), so that every decision
// sees the ones before it, and takes all of that back in the end.
//
//     begin; want, want, ...; finish, then carry out steps[] in order; or undo
//
// A block leaves or moves before what takes its place comes, and what comes in does so last, so a later decision that
// moves it costs nothing. Carrying out needs no memory for blocks: the plan had them all before.
//
// Cost counts pages over the link or inside video memory (FERRY_VM_PLAN_PAGE each, _MOVE when it moves): what must be
// written back, what will have to come back, weighted with how soon it is expected, and what moves. For each wanted
// one, in this order:
//
//  1. a hole that is large enough;
//  2. the cheapest window: contiguous blocks each of which leaves or moves to a hole elsewhere, or more of them, of
//     which those who are needed soon are pushed together while the others leave. Looked at are the windows around the
//     first FERRY_VM_PLAN_SEEDS victims, so the work follows the size of what is wanted and not of the segment;
//  3. a window in which those who must stay are pushed together (one walk over the segment);
//  4. a new arrangement of all that must stay (arrange.h), complete for small numbers of blocks.
//
// Memory: 56 bytes for each step, 32 for each place, kept from plan to plan; and for blocks never more than there are
// blocks at the same time. NO_MEMORY undoes nothing by itself.
#ifndef FERRY_VIDMM_PLAN_H
#define FERRY_VIDMM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vidmm/space/segment_allocator.h"
#include "vidmm/space/victim.h"

#define FERRY_VM_PLAN_PAGE  64 // cost of one page
#define FERRY_VM_PLAN_MOVE  96 // of one page moved
#define FERRY_VM_PLAN_SEEDS 16
// Pages. A move by less over the block's own place goes by way of system memory: what is carried out says so
// (ferry_vm_move_by_backing), for who is longer than that.
#define FERRY_VM_PLAN_LEAST_STEP 4
#define FERRY_VM_NOWHERE         UINT64_MAX

// About the owner of a block.
struct ferry_vm_facts {
    struct ferry_vm_use *use;      // it may leave when this is listed as a candidate; NULL is allowed when fixed
    struct ferry_vm_block **block; // where the owner notes its block
    unsigned alignment_log2;       // of pages
    bool fixed;                    // neither leaves nor moves
    bool stays;                    // it does not leave though it is a candidate; as victims->leaves says, too
    bool dirty;                    // has to be written back when it leaves
};
typedef void ferry_vm_facts_of(void *context, void *owner, struct ferry_vm_facts *facts);
typedef void *ferry_vm_owner_of(struct ferry_vm_use *use);

struct ferry_vm_region {
    struct ferry_vm_space *space;
    struct ferry_vm_victims *victims;
    bool moves; // content can be moved inside it; else it leaves and comes back
};

// SHIFT is the plan's own: it moves what the plan places. After finish() there is none.
enum ferry_vm_step_kind { FERRY_VM_STEP_EVICT, FERRY_VM_STEP_MOVE, FERRY_VM_STEP_PLACE, FERRY_VM_STEP_SHIFT };
struct ferry_vm_step {
    enum ferry_vm_step_kind kind;
    bool candidate; // EVICT: it was one that may leave, and stays out; else it comes back by a placement of this plan
    bool listed;    // EVICT, PLACE: it stood, it stands in the order of victims
    uint32_t place; // until finish(): 1 + its number in places; of EVICT, of the place that it leaves
    struct ferry_vm_region *region;
    void *owner;
    uint64_t from, to, pages; // from, to: FERRY_VM_NOWHERE = is, goes out
};
struct ferry_vm_placing {
    struct ferry_vm_region *region;
    void *owner;
    uint64_t first, pages;
};

struct ferry_vm_plan {
    void *context;
    ferry_vm_facts_of *ask;
    ferry_vm_owner_of *owner;
    uint64_t now;
    struct ferry_vm_step *steps;
    size_t step_count, step_capacity;
    struct ferry_vm_placing *places;
    size_t place_count, place_capacity;
    uint64_t evicted_pages, written_pages, moved_pages; // of the steps; written back
    void *items;                                        // arrange.c's memory
    size_t item_capacity;
};

struct ferry_vm_wanted {
    void *owner;
    uint64_t pages;     // 1 and more
    uint64_t lowest;    // page; above 0 only together with from_end
    uint64_t most_more; // pages that may be in use more than now; UINT64_MAX = no limit
    bool from_end;
};

enum ferry_vm_plan_result { FERRY_VM_PLANNED, FERRY_VM_SHORT, FERRY_VM_NO_MEMORY };

void ferry_vm_plan_begin(struct ferry_vm_plan *plan, void *context, ferry_vm_facts_of *facts, ferry_vm_owner_of *owner,
                         uint64_t now);
/// Room for one more. The owner's block is set. SHORT and NO_MEMORY leave everything as before this call; *short_pages
/// is then how much more would have to be free.
enum ferry_vm_plan_result ferry_vm_plan_want(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                                             const struct ferry_vm_wanted *wanted, uint64_t *short_pages);
/// Let candidates leave, best victims first, until `pages` are free or nobody is left; returns how many pages left.
uint64_t ferry_vm_plan_trim(struct ferry_vm_plan *plan, struct ferry_vm_region *region, uint64_t pages);
/// As it was when there were so many steps.
void ferry_vm_plan_back_to(struct ferry_vm_plan *plan, size_t steps);
/// All as at begin().
void ferry_vm_plan_undo(struct ferry_vm_plan *plan);
/// All as at begin(), and steps[0 .. step_count) say what is to be done, in order: EVICT and MOVE, then PLACE.
void ferry_vm_plan_finish(struct ferry_vm_plan *plan);
void ferry_vm_plan_destroy(struct ferry_vm_plan *plan);

#endif
