// SPDX-License-Identifier: Apache-2.0
// The traces that are played together, and what they are like.
#ifndef FERRY_LAB_TRACES_H
#define FERRY_LAB_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/machine.h"
#include "lab/packed.h"

#define FERRY_LAB_MOST_TRACES  8u
#define FERRY_LAB_WARM_UP      3u // frames in which everything comes in for the first time
#define FERRY_LAB_PAGE_BYTES   UINT64_C(4096)
#define FERRY_LAB_CONTENT_SEED UINT64_C(1)
#define FERRY_LAB_NO_USE       UINT32_MAX // no next use

struct ferry_lab_traces {
    const struct ferry_lab_packed *packed[FERRY_LAB_MOST_TRACES]; // the caller's
    uint32_t count;
    // Those that live, of all traces: what is created takes the place of what was destroyed.
    struct ferry_lab_object *objects;
    size_t object_count;
    uint32_t first_object[FERRY_LAB_MOST_TRACES]; // number of each trace's first one
    // Allocations are told apart by their place in the order of creation, trace after trace: where each trace's begin.
    uint64_t first_made[FERRY_LAB_MOST_TRACES];
    uint64_t made;               // how many are ever created
    char unit[FERRY_TRACE_UNIT]; // what a frame is, in one word: the first trace says it
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

#endif
