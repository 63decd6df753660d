// SPDX-License-Identifier: Apache-2.0
// A memory trace as it is held: events, and the objects that they are about. tools/trace.h has its lines.
#ifndef FERRY_TOOLS_TRACE_EVENTS_H
#define FERRY_TOOLS_TRACE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FERRY_TRACE_UNIT 17

enum ferry_trace_op {
    FERRY_TRACE_CREATE,
    FERRY_TRACE_WRITE,
    FERRY_TRACE_LOCK,
    FERRY_TRACE_UNLOCK,
    FERRY_TRACE_DRAW,
    FERRY_TRACE_TARGET,
    FERRY_TRACE_FRAME,
    FERRY_TRACE_DESTROY,
};

struct ferry_trace_event {
    uint32_t line;
    uint8_t op;      // enum ferry_trace_op
    bool discard;    // LOCK
    uint32_t object; // Number in objects; DRAW: 0.
    uint64_t a, b;   // WRITE: offset, bytes. DRAW: first and count in draws.
};

// One creation; an id that is created again after its end is a new object.
struct ferry_trace_object {
    uint64_t id, bytes;
    uint32_t line, destroyed; // Lines; destroyed is 0 while it lives.
    uint32_t width, height;   // 0 for a buffer.
    uint32_t format;          // Offset of the format's name in text; 0 for a buffer.
    uint32_t made;            // How many were created before it.
    uint32_t in_draw;         // While reading: the line of the draw that named it last.
    bool target;              // The GPU writes it somewhere in the trace; of a stream: so far.
    bool locked;              // While reading.
};

struct ferry_trace {
    struct ferry_trace_event *events;
    struct ferry_trace_object *objects;
    uint32_t *draws; // Objects of the draws, each once in a draw, in the order of the line.
    char *text;
    size_t event_count, object_count, draw_count, text_bytes;
    size_t event_capacity, object_capacity, draw_capacity, text_capacity;
    uint64_t frames;
    char unit[FERRY_TRACE_UNIT]; // what a frame is, in one word; "" = it is not said: ferry_trace_unit()
};

struct ferry_trace_error {
    uint64_t line; // 0 when it is not about a line.
    char reason[240];
};

/// What a frame is, in one word.
static inline const char *ferry_trace_unit(const struct ferry_trace *trace)
{
    return trace->unit[0] ? trace->unit : "frame";
}

#endif
