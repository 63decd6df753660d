// SPDX-License-Identifier: Apache-2.0
// Runs that a search or a sweep will probably ask for next, played by other threads meanwhile. A run comes to the same
// whoever plays it, and what nobody asks for in the end is thrown away: a search finds with others what it finds alone.
#ifndef FERRY_LAB_AHEAD_H
#define FERRY_LAB_AHEAD_H

#include "lab/bench.h"

#define FERRY_LAB_MOST_OTHERS 7u                                // threads beside the caller's
#define FERRY_LAB_MOST_WISHES (2u * FERRY_LAB_MOST_OTHERS + 1u) // so that none of them waits for the next

struct ferry_lab_wish {
    const struct ferry_lab_policy *policy; // NULL = the manager
    uint64_t bytes;
    uint64_t without; // this allocation, by its order, is never used; FERRY_LAB_ALL_USED = all are
    bool until_paging;
};
#define FERRY_LAB_ALL_USED UINT64_MAX

struct ferry_lab_ahead;

/// Threads beside the caller's, at most bench->others; NULL, which all calls take, when there are none. The bench stays
/// as it is until the end.
struct ferry_lab_ahead *ferry_lab_ahead_begin(const struct ferry_lab_bench *bench);
/// How many wishes keep all threads at work; 0 without any.
size_t ferry_lab_ahead_most(const struct ferry_lab_ahead *ahead);
/// From now on these are wanted, at most so many, the first of them at once, so that nobody else needs to begin it; the
/// others in their order. What else is under way is cut off.
void ferry_lab_ahead_wish(struct ferry_lab_ahead *ahead, const struct ferry_lab_wish *wishes, size_t count);
/// True with the outcome, which is to be released, of a wish that somebody has begun; waits for its end, and plays
/// others of the wishes meanwhile.
bool ferry_lab_ahead_take(struct ferry_lab_ahead *ahead, const struct ferry_lab_wish *wish,
                          struct ferry_lab_outcome *outcome);
/// Play it, on this thread.
void ferry_lab_play_wish(const struct ferry_lab_bench *bench, const struct ferry_lab_wish *wish,
                         struct ferry_lab_outcome *outcome);
void ferry_lab_ahead_end(struct ferry_lab_ahead *ahead);

#endif
