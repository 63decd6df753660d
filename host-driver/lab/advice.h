// SPDX-License-Identifier: Apache-2.0
// What a person can do about it, found by playing the traces at other sizes.
#ifndef FERRY_LAB_ADVICE_H
#define FERRY_LAB_ADVICE_H

#include "lab/bench.h"

struct ferry_lab_advice {
    uint64_t bytes;      // the size it is about
    uint64_t enough;     // the smallest size at which nothing is evicted after the warm-up; bytes when that is one
    uint64_t less;       // 5 % less than bytes
    uint64_t less_costs; // bytes a frame more, in and out, with `less`
    bool less_fits;      // every job still fits there
    uint64_t moved;      // bytes a frame, in and out, with `bytes`
    uint64_t knee;       // of the sizes between them that were looked at: where more memory begins to save less
    uint64_t knee_saves; // bytes a frame less there
    uint32_t costliest;  // object of which most came in
    uint64_t costliest_bytes;
};

/// Needs the manager's outcome at this size; plays about ten runs more. False when one of them failed for want of
/// memory.
bool ferry_lab_advise(const struct ferry_lab_bench *bench, uint64_t bytes, const struct ferry_lab_outcome *outcome,
                      struct ferry_lab_advice *advice);

#endif
