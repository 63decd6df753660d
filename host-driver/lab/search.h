// SPDX-License-Identifier: Apache-2.0
// Sizes of video memory that the shipped manager was played at, each once, and what came of it.
#ifndef FERRY_LAB_SEARCH_H
#define FERRY_LAB_SEARCH_H

#include "lab/ahead.h"

struct ferry_lab_point {
    uint64_t bytes;
    uint64_t moved; // ferry_lab_amount(); only when played whole
    bool fits;      // every job does
    bool keeps;     // and so do the reservations
    bool pages;     // something is evicted after the warm-up or comes back, or it does not fit
    bool whole;     // played to the end: for `pages` alone a run ends where that is known
};

struct ferry_lab_search {
    const struct ferry_lab_bench *bench;
    struct ferry_lab_ahead *ahead;
    struct ferry_lab_point *points;
    size_t count, capacity;
    const char *what;     // the runs are to find, in a word or two
    uint64_t runs;        // so far
    uint64_t work, limit; // objects that jobs named or that were driven out in all runs, and where trying many ends
    char problem[200];
};

void ferry_lab_search_begin(struct ferry_lab_search *search, const struct ferry_lab_bench *bench);
void ferry_lab_search_end(struct ferry_lab_search *search);
/// Bytes of the frames after the warm-up: of one program a frame, of several in all, since their frames are not alike
/// and one may end long before another.
uint64_t ferry_lab_amount(const struct ferry_lab_bench *bench, uint64_t bytes);
/// Say that a run of so many bytes is next.
void ferry_lab_begins(struct ferry_lab_search *search, uint64_t bytes);
/// Say that it is, and what it comes to, whoever plays it.
void ferry_lab_search_run(struct ferry_lab_search *search, const struct ferry_lab_wish *wish,
                          struct ferry_lab_outcome *outcome);
/// The next sizes that will be tried if nothing comes between, the first of them at once. Those that were played are
/// left out. 0 is none.
void ferry_lab_expect(struct ferry_lab_search *search, const uint64_t *sizes, size_t count, bool whole);
/// Keep what a run came to. NULL, with ->problem, when it failed, and not for want of room. Valid until the next one.
const struct ferry_lab_point *ferry_lab_note(struct ferry_lab_search *search, uint64_t bytes,
                                             const struct ferry_lab_outcome *outcome);
/// Play a size (whole pages), unless it was. NULL as above.
const struct ferry_lab_point *ferry_lab_try(struct ferry_lab_search *search, uint64_t bytes, bool whole);
/// Runs that cost no more than so many whole ones, and many of a small trace, are allowed from now on.
void ferry_lab_allow(struct ferry_lab_search *search, uint64_t whole_runs);
bool ferry_lab_may_go_on(const struct ferry_lab_search *search);
/// The size that is the next of ferry_lab_spread() pages above `first`; the ones behind it are expected.
bool ferry_lab_next_size(struct ferry_lab_search *search, uint64_t *step, uint64_t count, uint64_t first, bool whole,
                         uint64_t *bytes);
/// The next of `count` numbers, in an order in which those passed are always spread evenly: the ends first, then the
/// middle, the quarters. *step begins at 0. False when all have been passed.
bool ferry_lab_spread(uint64_t *step, uint64_t count, uint64_t *number);

#endif
