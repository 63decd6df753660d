// SPDX-License-Identifier: Apache-2.0
#include "lab/cursor.h"

#include <errno.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static void fail(struct ferry_lab_cursor *cursor, uint32_t program, int error)
{
    cursor->error = error;
    cursor->bad_program = program;
}

static bool plays(const struct ferry_lab_cursor *cursor, uint32_t program)
{
    return cursor->error == 0 && cursor->at[program].given < cursor->traces->packed[program]->events;
}

uint32_t ferry_lab_leader(const struct ferry_lab_cursor *cursor)
{
    uint32_t program = 0;
    while (program < cursor->traces->count && !plays(cursor, program))
        program++;
    return program;
}

static void note_object(struct ferry_lab_cursor *cursor, uint32_t program, uint32_t number)
{
    const struct ferry_lab_traces *traces = cursor->traces;
    const struct ferry_lab_creation *creation = &cursor->at[program].creation;
    uint32_t made = cursor->at[program].made - 1;
    // Half of what only the CPU writes keeps its copy in system memory, as in a replay.
    bool permanent = !creation->target && mix(FERRY_LAB_CONTENT_SEED ^ mix(made)) % 2 == 0;
    traces->objects[traces->first_object[program] + number] =
        (struct ferry_lab_object){.pages = (creation->bytes + FERRY_LAB_PAGE_BYTES - 1) / FERRY_LAB_PAGE_BYTES,
                                  .id = creation->id,
                                  .line = creation->line,
                                  .made = traces->first_made[program] + made,
                                  .program = program,
                                  .permanent = permanent};
}

const struct ferry_trace_event *ferry_lab_next(struct ferry_lab_cursor *cursor, uint32_t *program)
{
    const struct ferry_lab_traces *traces = cursor->traces;
    const struct ferry_trace_event *event;
    for (uint32_t passed = 0; !plays(cursor, cursor->program); passed++) {
        if (passed == traces->count)
            return NULL;
        cursor->program = (cursor->program + 1) % traces->count;
    }
    *program = cursor->program;
    if (ferry_lab_unpack(&cursor->at[*program], &event) < 0) {
        fail(cursor, *program, cursor->at[*program].error);
        return NULL;
    }
    if (event->op == FERRY_TRACE_CREATE)
        note_object(cursor, *program, event->object);
    if (ferry_lab_is_job(event) || event->op == FERRY_TRACE_FRAME)
        cursor->program = (cursor->program + 1) % traces->count;
    return event;
}

void ferry_lab_cursor_begin(struct ferry_lab_cursor *cursor, const struct ferry_lab_traces *traces)
{
    *cursor = (struct ferry_lab_cursor){.traces = traces};
    for (uint32_t i = 0; i < traces->count; i++)
        if (!ferry_lab_unpack_begin(&cursor->at[i], traces->packed[i]))
            fail(cursor, i, ENOMEM);
}

void ferry_lab_cursor_end(struct ferry_lab_cursor *cursor)
{
    for (uint32_t i = 0; i < cursor->traces->count; i++)
        ferry_lab_unpack_end(&cursor->at[i]);
}
