// SPDX-License-Identifier: Apache-2.0
// Whole traces, played on a machine. Several are programs that run at once: in turn, each up to its next GPU job or end
// of frame, as `ferry replay` plays them. Not for several threads.
#ifndef FERRY_LAB_RUN_H
#define FERRY_LAB_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/machine.h"
#include "tools/trace.h"

#define FERRY_LAB_MOST_TRACES  8u
#define FERRY_LAB_WARM_UP      3u // frames in which everything comes in for the first time
#define FERRY_LAB_PAGE_BYTES   UINT64_C(4096)
#define FERRY_LAB_CONTENT_SEED UINT64_C(1)
#define FERRY_LAB_NO_USE       UINT32_MAX // no next use

struct ferry_lab_traces {
    struct ferry_trace *traces; // The caller's; NULL when they are read from their files.
    const char *const *paths;   // The caller's: they are read for each run; NULL when they are held.
    uint32_t count;
    // Of all; of files, of those that live: what is created takes the place of what was destroyed.
    struct ferry_lab_object *objects;
    uint32_t *first_object; // Number of each trace's first one.
    size_t object_count;
    uint64_t made; // how many are ever created
    // Of files, by trace: how many live at once, are ever created, and a bit each whether the GPU ever writes it.
    uint32_t living[FERRY_LAB_MOST_TRACES], made_by[FERRY_LAB_MOST_TRACES];
    uint8_t *targets[FERRY_LAB_MOST_TRACES];
    bool measured;
    char unit[FERRY_TRACE_UNIT]; // the first one's word for a frame, "" = a frame
    uint64_t frames;             // Of the first program that still plays.
    uint64_t jobs, named;        // Jobs, and objects that they name.
    uint32_t *next_uses; // named of them: time of the object's next use, FERRY_LAB_NO_USE without; NULL for nobody.
    // Bytes that the jobs of a frame name, all programs' summed up: in a median frame, in the largest; and in the
    // largest job, of the most that live at once.
    uint64_t median_frame, largest_frame, largest_job, most_living;
    // With less than this something has to be evicted in a frame after the warm-up, whoever chooses: the largest job,
    // or what jobs name after it and the CPU does not touch in between, which has to stay.
    uint64_t least_unpaged;
};

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
    uint64_t *object_in;                        // bytes that came in of each object
    uint64_t played;                            // objects that its jobs named: what the run cost
    char problem[200];
};

struct ferry_lab_reading {
    void (*progress)(void *context, uint64_t lines);             // now and then; may be NULL
    void (*takes)(void *context, uint64_t uses, uint64_t bytes); // memory for the future, before it is taken; or NULL
    void *context;
    struct ferry_trace_error error; // what is wrong with a file; no reason: no memory
    uint32_t program;               // whose
};

/// Look the traces over. Returns 0, or -1 without memory.
int ferry_lab_prepare(struct ferry_lab_traces *traces, struct ferry_trace *list, uint32_t count);
/// The same of files that stay where they are and can be read several times, in memory by what lives at once (beside it
/// a bit for all that is ever created); future: and by what jobs name. Returns 0, or -1 with reading->error.
int ferry_lab_prepare_files(struct ferry_lab_traces *traces, const char *const *paths, uint32_t count, bool future,
                            struct ferry_lab_reading *reading);
/// The laboratory's object for one of a trace; target: the GPU writes it somewhere.
struct ferry_lab_object ferry_lab_object_of(const struct ferry_trace_object *object, uint32_t program, bool target);
void ferry_lab_release(struct ferry_lab_traces *traces);
/// What a frame is, in one word: the first trace says it.
static inline const char *ferry_lab_unit(const struct ferry_lab_traces *traces)
{
    return traces->unit[0] ? traces->unit : "frame";
}
struct ferry_lab_manner {
    void (*progress)(void *context, double done); // called now and then with what is done of 1; may be NULL
    void *context;
    const uint32_t *without; // this object is made and never used; NULL = all are
    // End with PAGES where the first is evicted in a frame after the warm-up, or comes in that was evicted in it.
    bool until_paging;
    bool no_frames; // what each frame paged is not kept
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
