// SPDX-License-Identifier: Apache-2.0
#include "lab/cursor.h"

#include <stdio.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

struct ferry_lab_object ferry_lab_object_of(const struct ferry_trace_object *object, uint32_t program, bool target)
{
    // Half of what only the CPU writes keeps its copy in system memory, as in a replay.
    return (struct ferry_lab_object){.pages = (object->bytes + FERRY_LAB_PAGE_BYTES - 1) / FERRY_LAB_PAGE_BYTES,
                                     .program = program,
                                     .permanent = !target && mix(FERRY_LAB_CONTENT_SEED ^ mix(object->made)) % 2 == 0};
}

static void go_bad(struct ferry_lab_cursor *cursor, uint32_t program)
{
    cursor->bad = true;
    cursor->bad_program = program;
    cursor->ended[program] = true;
}

// The file is not the one that was measured: what is laid out for it would not do.
static void changed(struct ferry_lab_cursor *cursor, uint32_t program, uint64_t line)
{
    cursor->error = (struct ferry_trace_error){.line = line, .reason = "the file has changed since it was read first"};
    go_bad(cursor, program);
}

static bool plays(struct ferry_lab_cursor *cursor, uint32_t program)
{
    const struct ferry_lab_traces *traces = cursor->traces;
    if (!traces->paths)
        return cursor->at[program] < traces->traces[program].event_count;
    if (!cursor->ahead[program] && !cursor->ended[program] && !cursor->bad) {
        int more = ferry_trace_next(cursor->streams[program], &cursor->ahead[program]);
        if (more <= 0)
            cursor->ahead[program] = NULL;
        cursor->ended[program] = more <= 0;
        if (more < 0)
            go_bad(cursor, program);
    }
    return cursor->ahead[program] && !cursor->bad;
}

uint32_t ferry_lab_leader(struct ferry_lab_cursor *cursor)
{
    uint32_t program = 0;
    while (program < cursor->traces->count && !plays(cursor, program))
        program++;
    return program;
}

// What comes into being in a stream.
static bool note_object(struct ferry_lab_cursor *cursor, uint32_t program, const struct ferry_trace_event *event)
{
    const struct ferry_lab_traces *traces = cursor->traces;
    const struct ferry_trace_object *object = &ferry_trace_of(cursor->streams[program])->objects[event->object];
    if (event->object >= traces->living[program] || object->made >= traces->made_by[program]) {
        changed(cursor, program, event->line);
        return false;
    }
    bool target = traces->targets[program][object->made / 8] >> object->made % 8 & 1;
    traces->objects[traces->first_object[program] + event->object] = ferry_lab_object_of(object, program, target);
    return true;
}

static const struct ferry_trace_event *take_ahead(struct ferry_lab_cursor *cursor, uint32_t program)
{
    const struct ferry_trace_event *event = cursor->ahead[program];
    const uint32_t *named;
    cursor->ahead[program] = NULL;
    if (event->op == FERRY_TRACE_CREATE && !note_object(cursor, program, event))
        return NULL;
    cursor->named += ferry_lab_is_job(event) ? ferry_lab_named(cursor, program, event, &named) : 0;
    if (cursor->traces->measured && cursor->named > cursor->traces->named) {
        changed(cursor, program, event->line);
        return NULL;
    }
    return event;
}

const struct ferry_trace_event *ferry_lab_next(struct ferry_lab_cursor *cursor, uint32_t *program)
{
    const struct ferry_lab_traces *traces = cursor->traces;
    for (uint32_t passed = 0; !plays(cursor, cursor->program); passed++) {
        if (passed == traces->count)
            return NULL;
        cursor->program = (cursor->program + 1) % traces->count;
    }
    *program = cursor->program;
    const struct ferry_trace_event *event =
        traces->paths ? take_ahead(cursor, *program) : &traces->traces[*program].events[cursor->at[*program]++];
    if (event && (ferry_lab_is_job(event) || event->op == FERRY_TRACE_FRAME))
        cursor->program = (cursor->program + 1) % traces->count;
    return event;
}

size_t ferry_lab_named(const struct ferry_lab_cursor *cursor, uint32_t program, const struct ferry_trace_event *event,
                       const uint32_t **objects)
{
    const struct ferry_lab_traces *traces = cursor->traces;
    const struct ferry_trace *trace =
        traces->paths ? ferry_trace_of(cursor->streams[program]) : &traces->traces[program];
    return ferry_lab_named_by(trace, event, objects);
}

bool ferry_lab_cursor_begin(struct ferry_lab_cursor *cursor, const struct ferry_lab_traces *traces)
{
    *cursor = (struct ferry_lab_cursor){.traces = traces};
    for (uint32_t i = 0; traces->paths && i < traces->count && !cursor->bad; i++) {
        cursor->streams[i] = ferry_trace_open(traces->paths[i], &cursor->error);
        if (!cursor->streams[i])
            go_bad(cursor, i);
    }
    return !cursor->bad;
}

void ferry_lab_cursor_end(struct ferry_lab_cursor *cursor)
{
    for (uint32_t i = 0; i < cursor->traces->count && cursor->traces->paths; i++)
        ferry_trace_close(cursor->streams[i]);
}
