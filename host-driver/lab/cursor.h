// SPDX-License-Identifier: Apache-2.0
// The events of all traces in the order in which their programs run.
#ifndef FERRY_LAB_CURSOR_H
#define FERRY_LAB_CURSOR_H

#include "lab/traces.h"

struct ferry_lab_cursor {
    const struct ferry_lab_traces *traces;
    struct ferry_lab_unpacker at[FERRY_LAB_MOST_TRACES];
    uint32_t program; // whose turn it is
    int error;        // errno, when a trace cannot be read back: it ended there
    uint32_t bad_program;
};

/// Without memory: its error. End it either way.
void ferry_lab_cursor_begin(struct ferry_lab_cursor *cursor, const struct ferry_lab_traces *traces);
void ferry_lab_cursor_end(struct ferry_lab_cursor *cursor);
/// The program whose frames count: the first that still plays; the number of programs at the end.
uint32_t ferry_lab_leader(const struct ferry_lab_cursor *cursor);
/// NULL at the end, or after an error. Holds until the next call. What is created is put in its place in
/// traces->objects.
const struct ferry_trace_event *ferry_lab_next(struct ferry_lab_cursor *cursor, uint32_t *program);
/// The objects that this event names, which is a job and was given last, by their numbers in the trace.
static inline size_t ferry_lab_named(const struct ferry_lab_unpacker *at, const uint32_t **objects)
{
    bool draw = at->event.op == FERRY_TRACE_DRAW;
    *objects = draw ? at->named : &at->event.object;
    return draw ? (size_t)at->event.b : 1;
}

static inline bool ferry_lab_is_job(const struct ferry_trace_event *event)
{
    return event->op == FERRY_TRACE_DRAW || event->op == FERRY_TRACE_TARGET;
}

#endif
