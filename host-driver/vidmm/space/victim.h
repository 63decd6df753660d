// SPDX-License-Identifier: Apache-2.0
// Who has to leave when room is needed. One file (victim.c) behind this interface; nothing else knows how it chooses.
//
// A candidate is an allocation that sits in the segment and that nobody requires. Time is counted in GPU submissions.
// Not thread-safe by itself. add() and remove() of who came since anybody was looked for are O(1), since a program uses
// an allocation many times for each that has to leave; every other call is O(log n), amortised.
#ifndef FERRY_VIDMM_SPACE_VICTIM_H
#define FERRY_VIDMM_SPACE_VICTIM_H

#include <stdbool.h>
#include <stdint.h>

// Part of every allocation: its history of uses and its place among the candidates.
struct ferry_vm_use {
    uint64_t last;   // time of the last use
    uint64_t period; // expected time from one use to the next; 0 = not known
    uint64_t pages;  // its size
    uint64_t serial; // never the same in two allocations: makes every order strict, and so every run the same
    // Below it in the tree of its next use or of cold ones [0], and of coldness [1]. Of one that has just come: [0] is
    // the one that came before it and the one that came behind it.
    struct ferry_vm_use *links[2][2];
    uint32_t priority;
    uint8_t below[2];   // the sorts of it and of all below it, in either tree
    bool away : 1;      // what needs it is kept from running: it is cold from the start
    uint8_t listed : 2; // 0 = no candidate, 1 = warm, 2 = cold, 3 = has just come
    uint8_t sort : 3;   // whose it is, see victims->sorts; not changed while it is a candidate
    bool guessed : 1;   // used once: the period is the round
    bool absent : 1;    // used twice, with an absence between: the period is the round still
    uint8_t steady : 3; // uses in a row each of which came a round after the one before, no more than FERRY_VM_STEADY
};
// So many, and it is steady: one that is used once in each frame. When it stays away, it is gone.
#define FERRY_VM_STEADY 4

// How far apart the uses of most allocations are, a frame of a game: learnt from all of them.
struct ferry_vm_round {
    uint64_t parts; // in FERRY_VM_ROUND_PARTS of a submission; 0 = nothing was used twice yet
};
#define FERRY_VM_ROUND_PARTS 256

struct ferry_vm_victims {
    struct ferry_vm_use *warm;   // by predicted next use
    struct ferry_vm_use *due;    // the same ones by the time from which they count as cold
    struct ferry_vm_use *cold;   // by last use
    struct ferry_vm_use *newest; // of those that have just come: in none of the trees before somebody is looked for
    uint64_t pages;              // of all candidates
    // Only these are found by choose() and first(); NULL = all.
    bool (*leaves)(void *context, const struct ferry_vm_use *use);
    // Bit n set: there may be some of sort n that do. The others are not even looked at, however many they are; who has
    // many of a sort that leaves, and that do not, pays for each passed over. NULL = all sorts.
    uint8_t (*sorts)(void *context, const struct ferry_vm_victims *victims);
    void *context;
    uint32_t seed;
    bool lru; // plain least recently used, for comparison
};

void ferry_vm_victims_init(struct ferry_vm_victims *victims, bool lru);
/// The GPU uses it at this time. Must not be a candidate at that moment.
void ferry_vm_victim_used(struct ferry_vm_use *use, struct ferry_vm_round *round, uint64_t now);
/// From now on it is a candidate, or no longer. Doing either twice is allowed.
void ferry_vm_victim_add(struct ferry_vm_victims *victims, struct ferry_vm_use *use);
void ferry_vm_victim_remove(struct ferry_vm_victims *victims, struct ferry_vm_use *use);
/// The candidate to leave first when `pages` are wanted, NULL when there is none. It stays a candidate until it is
/// removed.
struct ferry_vm_use *ferry_vm_victim_choose(struct ferry_vm_victims *victims, uint64_t now, uint64_t pages);

/// The candidates that would leave first, best victim first, no more than `most`: what choose() would return if each
/// left in turn, apart from sizes. Returns how many. O(most + log n), amortised.
unsigned ferry_vm_victims_first(struct ferry_vm_victims *victims, uint64_t now, struct ferry_vm_use **uses,
                                unsigned most);
/// Every candidate in that order, whatever victims->leaves says. visit() must not change who is one.
void ferry_vm_victims_visit(struct ferry_vm_victims *victims, uint64_t now,
                            void (*visit)(void *context, struct ferry_vm_use *use), void *context);
/// Time until it is expected to be used again; UINT64_MAX when it is cold. What choose() compares. With lru, the time
/// since its last use.
uint64_t ferry_vm_victim_distance(const struct ferry_vm_victims *victims, const struct ferry_vm_use *use, uint64_t now);
/// The longest distance of those that are not cold; 0 when there are none.
uint64_t ferry_vm_victims_furthest(struct ferry_vm_victims *victims, uint64_t now);

#endif
