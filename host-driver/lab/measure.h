// SPDX-License-Identifier: Apache-2.0
// What traces are like, found before anything is played.
#ifndef FERRY_LAB_MEASURE_H
#define FERRY_LAB_MEASURE_H

#include "lab/traces.h"

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
void ferry_lab_release(struct ferry_lab_traces *traces);

#endif
