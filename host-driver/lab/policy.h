// SPDX-License-Identifier: Apache-2.0
// Who leaves video memory when room is needed: a policy, one file of policies/ each. The laboratory plays whole traces
// on it without moving a byte, and counts what it would have moved. docs/manual/policies.md adds one in a page.
//
// A policy judges allocations alone, as if any two of them fitted wherever there is room: places, and what it costs to
// make them, are the manager's (manager.h), which is played beside.
#ifndef FERRY_LAB_POLICY_H
#define FERRY_LAB_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FERRY_LAB_NEVER UINT64_MAX
#define FERRY_LAB_NONE  UINT32_MAX

/// An allocation as a policy sees it; all 0 once it is destroyed. Time counts GPU jobs of all programs, from 1 on;
/// frames count from 1 on.
struct ferry_lab_item {
    uint64_t pages;
    uint64_t made;       // its place in the order of creation, 1 = the first
    uint64_t used;       // time of its last use, the present job's included; 0 = never
    uint64_t used_frame; // frame of its last use
    uint64_t came;       // time at which it came in last
    uint64_t next;       // of its next use, FERRY_LAB_NEVER when there is none: only for who knows the future
    uint64_t note[2];    // the policy's own, 0 at first
    uint32_t program;
    bool in_place;
    bool dirty;  // leaving costs a write back
    bool pinned; // the job under way names it: it may not leave
};

/// Made anew for each call, so that what a policy writes here is gone after it, but for `random`.
struct ferry_lab_memory {
    // Of all programs' allocations, numbered as they are made: what is made takes the number of what was destroyed, if
    // there is one.
    struct ferry_lab_item *items;
    size_t item_count;
    const uint32_t *placed; // the numbers of those in place, in no order
    size_t placed_count;
    uint64_t pages, free_pages;
    uint64_t now, frame;
    uint32_t program; // whose job is under way
    bool own_first;   // the others' are foreign: one of its own has to leave
    uint64_t wanted;  // pages that have to come free, by one or by several
    uint64_t random;  // state of ferry_lab_random()
};

struct ferry_lab_policy {
    const char *name; // one word
    const char *says; // what it does, for the table
    bool knows_future;
    // All programs' allocations are one list, as in kernels: whose job it is does not matter. Else another program's
    // are foreign as long as one of its own could leave, and may not be named.
    bool one_list;
    /// The item is used by the job under way. NULL is allowed.
    void (*used)(struct ferry_lab_memory *memory, struct ferry_lab_item *item);
    /// The number of the item that leaves next: one that is in place, not pinned and not foreign. Called until there is
    /// room.
    uint32_t (*choose)(struct ferry_lab_memory *memory);
};

/// Of what is in place, not pinned and not foreign, the item with the highest score, of equal ones the oldest;
/// FERRY_LAB_NONE when there is none. O(what is in place).
uint32_t ferry_lab_highest(const struct ferry_lab_memory *memory,
                           uint64_t (*score)(const struct ferry_lab_memory *memory, const struct ferry_lab_item *item));
/// The same for the same seed.
uint64_t ferry_lab_random(struct ferry_lab_memory *memory);

#endif
