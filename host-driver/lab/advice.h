// SPDX-License-Identifier: Apache-2.0
// What a person can do about it, found by playing the traces at other sizes. Bytes a frame are those in and out after
// the warm-up.
#ifndef FERRY_LAB_ADVICE_H
#define FERRY_LAB_ADVICE_H

#include "lab/bench.h"

struct ferry_lab_advice {
    uint64_t bytes; // the size it is about
    uint64_t moved; // bytes a frame there
    bool too_short; // no frame is left after the warm-up: nothing below is known
    // The smallest size at which nothing is evicted after the warm-up; nothing is known of sizes that are smaller by
    // less than `within`. found: there is one, up to four times of what ever lives at once.
    bool found;
    uint64_t enough, within;
    uint64_t left;       // bytes a frame there: new content, and what the CPU writes
    uint64_t less;       // 5 % less than bytes
    uint64_t less_costs; // bytes a frame more there
    bool less_fits;      // every job still fits
    bool less_keeps;     // and the reservations are kept
    uint64_t knee;       // of the sizes between them that were looked at: where more memory begins to save less
    uint64_t knee_saves; // bytes a frame less there
    uint32_t costliest;  // object of which most came in
    uint64_t costliest_bytes;
    // Several programs: what came in of each at this size, and what would have, had it been alone.
    uint64_t program_in[FERRY_LAB_MOST_TRACES], program_alone[FERRY_LAB_MOST_TRACES];
    char problem[200]; // false: why
};

/// Needs the manager's outcome at this size; plays about twenty-five runs more. False, with ->problem, when one of them
/// failed.
bool ferry_lab_advise(const struct ferry_lab_bench *bench, uint64_t bytes, const struct ferry_lab_outcome *outcome,
                      struct ferry_lab_advice *advice);

#endif
