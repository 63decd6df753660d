// SPDX-License-Identifier: Apache-2.0
// The events of all traces in the order in which their programs run, from memory or from the files.
#ifndef FERRY_LAB_CURSOR_H
#define FERRY_LAB_CURSOR_H

#include "lab/traces.h"

struct ferry_lab_cursor {
    const struct ferry_lab_traces *traces;
    size_t at[FERRY_LAB_MOST_TRACES];
    struct ferry_trace_stream *streams[FERRY_LAB_MOST_TRACES];
    const struct ferry_trace_event *ahead[FERRY_LAB_MOST_TRACES]; // of a stream, read but not given yet
    bool ended[FERRY_LAB_MOST_TRACES];
    uint32_t program; // whose turn it is
    uint64_t named;
    bool bad; // a file cannot be read any more: it ended there
    uint32_t bad_program;
    struct ferry_trace_error error; // of bad
};

/// False when a file cannot be opened: bad. End it either way.
bool ferry_lab_cursor_begin(struct ferry_lab_cursor *cursor, const struct ferry_lab_traces *traces);
void ferry_lab_cursor_end(struct ferry_lab_cursor *cursor);
/// The program whose frames count: the first that still plays; the number of programs at the end.
uint32_t ferry_lab_leader(struct ferry_lab_cursor *cursor);
/// NULL at the end, or when it is bad. Holds until the next call of any of these. Of a file, an object that is created
/// is put in its place in traces->objects.
const struct ferry_trace_event *ferry_lab_next(struct ferry_lab_cursor *cursor, uint32_t *program);
/// The objects that this event names, which is a job and was given last, by their numbers in the trace.
size_t ferry_lab_named(const struct ferry_lab_cursor *cursor, uint32_t program, const struct ferry_trace_event *event,
                       const uint32_t **objects);

/// The laboratory's object for one of a trace; target: the GPU writes it somewhere.
struct ferry_lab_object ferry_lab_object_of(const struct ferry_trace_object *object, uint32_t program, bool target);

static inline bool ferry_lab_is_job(const struct ferry_trace_event *event)
{
    return event->op == FERRY_TRACE_DRAW || event->op == FERRY_TRACE_TARGET;
}

/// The objects of a job, by its trace's draws.
static inline size_t ferry_lab_named_by(const struct ferry_trace *trace, const struct ferry_trace_event *event,
                                        const uint32_t **objects)
{
    *objects = event->op == FERRY_TRACE_DRAW ? trace->draws + event->a : &event->object;
    return event->op == FERRY_TRACE_DRAW ? (size_t)event->b : 1;
}

#endif
