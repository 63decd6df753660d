// SPDX-License-Identifier: Apache-2.0
// What an allocation costs: the traces once more without any use of it, which is also what an allocation costs that is
// never paged itself and takes the others' room.
#ifndef FERRY_LAB_LEFT_OUT_H
#define FERRY_LAB_LEFT_OUT_H

#include "lab/search.h"

/// The allocation without which, all else as it was, the least would be paged, of so many that were left out in turn:
/// all that are used after the warm-up, or of many those of which most came in and the largest.
struct ferry_lab_left_out {
    uint64_t costliest; // its place in the order of creation; then what it is
    struct ferry_lab_creation creation;
    uint32_t program;
    uint64_t saves; // ferry_lab_amount() less without it; 0: none makes a difference
    uint64_t tried, candidates;
};

/// `outcome` is the manager's at this size. False, with the search's ->problem, when a run failed.
bool ferry_lab_leave_out(struct ferry_lab_search *search, uint64_t bytes, const struct ferry_lab_outcome *outcome,
                         struct ferry_lab_left_out *left_out);

#endif
