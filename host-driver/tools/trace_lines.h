// SPDX-License-Identifier: Apache-2.0
// Between the file of a trace (trace.c) and its lines (trace_lines.c).
#ifndef FERRY_TOOLS_TRACE_LINES_H
#define FERRY_TOOLS_TRACE_LINES_H

#include "tools/id_map.h"
#include "tools/trace_events.h"

struct ferry_trace_reader {
    struct ferry_trace *trace;
    struct ferry_trace_error *error;
    struct ferry_id_map newest; // Id -> the object it names last, living or destroyed; forgets: living.
    uint64_t line;
    char *at; // What of the line is not read yet.
    // What is destroyed is forgotten: its number goes to the next one that is created, and so is the format of what was
    // created, behind its event.
    bool forgets;
    uint32_t *numbers; // To be given again.
    size_t number_count, number_capacity;
    uint32_t made; // Created so far.
};

/// Read one line of that length, without its end but with a 0 there, into the trace. It is written over. Returns 0, or
/// -1 with *reader->error filled.
int ferry_trace_read_line(struct ferry_trace_reader *reader, char *line, size_t length);
/// Fill *reader->error with this and the reader's line. Returns -1.
int ferry_trace_refuse(struct ferry_trace_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// The same, for want of memory.
int ferry_trace_no_memory(struct ferry_trace_reader *reader);
/// An event that destroyed this object has been dealt with: its number may be given again. Returns 0, or -1.
int ferry_trace_forget(struct ferry_trace_reader *reader, uint32_t object);

#endif
