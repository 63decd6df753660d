// SPDX-License-Identifier: Apache-2.0
// What a person can do about it, found by playing the traces at other sizes. Amounts are bytes in and out in the frames
// after the warm-up: of one program a frame, of several in all (ferry_lab_amount()).
#ifndef FERRY_LAB_ADVICE_H
#define FERRY_LAB_ADVICE_H

#include "lab/bench.h"
#include "lab/left_out.h"

struct ferry_lab_advice {
    uint64_t bytes; // the size it is about
    uint64_t moved; // amount there
    uint64_t paged; // and what of it was for want of room
    bool idle;      // no job names an allocation: nothing below is known
    bool too_short; // no frame is left after the warm-up: nothing below is known
    bool pages;     // something has to leave there after the warm-up, or what had to leave in it comes back
    // The smallest size that was played at which that is not so; found: there is one, up to four times of what ever
    // lives at once. Whoever chooses, with less than `least` something is. least_proven: every size from `least` to
    // there was played too, so no smaller one does; else the next smaller one that is known to page is smaller by
    // `within`. More memory can page again, since another size makes for other choices: `again` is the largest size
    // played at which it does, 0 for none, from `steady` on none did; above_proven: all up to `above`, twice what lives
    // at once, were played.
    bool found, least_proven, above_proven;
    uint64_t enough, within, least, again, steady, above;
    uint64_t tried;      // the largest size played in search of enough; 0: what lives at once is beyond all sizes
    uint64_t left;       // amount there: new content, and what the CPU writes
    uint64_t less;       // 5 % less than bytes, to the nearest page and one at least; 0: no page is left
    uint64_t less_costs; // amount more there
    bool less_fits;      // every job still fits
    bool less_keeps;     // and the reservations are kept
    // Of the sizes between them that were played, all of them if knee_proven, the one whose paging lies furthest below
    // the straight line from here to enough; enough itself where none lies far below. Where paging rises again with
    // more memory, that is also the one furthest below on the curve of what at most so much memory can do.
    uint64_t knee;
    uint64_t knee_saves; // amount less there
    bool knee_proven;
    uint64_t played; // sizes, for all of that
    struct ferry_lab_left_out left_out;
    // Several programs: what came in of each at this size, and what would have, had it been alone.
    uint64_t program_in[FERRY_LAB_MOST_TRACES], program_alone[FERRY_LAB_MOST_TRACES];
    char problem[200]; // false: why
};

/// Needs the manager's outcome at this size. Plays a few dozen runs more, of a small trace up to some thousand. False,
/// with ->problem, when one of them failed.
bool ferry_lab_advise(const struct ferry_lab_bench *bench, uint64_t bytes, const struct ferry_lab_outcome *outcome,
                      struct ferry_lab_advice *advice);

#endif
