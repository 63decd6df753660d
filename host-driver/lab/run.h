// SPDX-License-Identifier: Apache-2.0
// Whole traces, played on a machine. Several are programs that run at once: in turn, each up to its next GPU job or end
// of frame, as `ferry replay` plays them. Not for several threads.
#ifndef FERRY_LAB_RUN_H
#define FERRY_LAB_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/ranking.h"
#include "lab/traces.h"

struct ferry_lab_outcome {
    int result;             // enum ferry_lab_result
    uint32_t program, line; // where it ended, unless OK; line 0 = before it began
    uint64_t job_bytes;     // TOO_SMALL: what the job needs
    uint32_t chosen;        // BAD_CHOICE: the object that may not leave, UINT32_MAX when it is none
    uint64_t chosen_id;     // as its trace calls it, and where it was made
    uint32_t chosen_line, chosen_program;
    struct ferry_lab_count count;
    uint64_t worst_frame, percentile_frame; // bytes in and out: of the worst, and 99 % have no more
    // In the frames after the warm-up: bytes in and out, and what of that was for want of room.
    uint64_t evictions_after_warm_up, bytes_after_warm_up, paged_after_warm_up;
    uint64_t program_in[FERRY_LAB_MOST_TRACES]; // what came in of each program's allocations, as its jobs named them
    uint64_t *frame_bytes;                      // in and out, of each frame; NULL if not asked for
    // Allocations that jobs after the warm-up name: how many, and those that may cost most, by what came in and by
    // size.
    uint64_t named_count;
    struct ferry_lab_ranking most_in, largest;
    uint64_t played; // objects that its jobs named: what the run cost
    double seconds;  // of the wall clock, when it was wished (ahead.h)
    char problem[200];
};

struct ferry_lab_manner {
    void (*progress)(void *context, double done); // called now and then with what is done of 1; may be NULL
    // A run of a search begins: what it is to find, which run of the search it is, bytes of video memory. May be NULL.
    void (*begins)(void *context, const char *what, uint64_t run, uint64_t bytes);
    void *context;
    const uint64_t *without; // this allocation, by its order, is made and never used; NULL = all are
    // End with PAGES where the first is evicted in a frame after the warm-up, or comes in that was evicted in it.
    bool until_paging;
    bool no_frames;             // what each frame paged is not kept
    const atomic_bool *cut_off; // ends with CUT_OFF at the next job when another thread sets it; NULL = nobody does
};

/// Play them, and end the machine. What is in *result is to be released, whatever it says.
void ferry_lab_play(const struct ferry_lab_traces *traces, struct ferry_lab_machine *machine,
                    const struct ferry_lab_manner *manner, struct ferry_lab_outcome *result);
/// Something was evicted in a frame after the warm-up, or came in that was evicted in it.
static inline bool ferry_lab_pages(const struct ferry_lab_outcome *result)
{
    return result->evictions_after_warm_up > 0 || result->paged_after_warm_up > 0;
}
void ferry_lab_outcome_release(struct ferry_lab_outcome *result);

#endif
