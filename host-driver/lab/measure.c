// SPDX-License-Identifier: Apache-2.0
// What the traces are like, before anything is played: each is gone through for its frames, then all together for their
// order, and a third time for who knows the future.
#include "lab/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/cursor.h"
#include "lab/tally.h"
#include "tools/tool.h"

#define PAGE_BYTES FERRY_LAB_PAGE_BYTES
#define A_WHILE    (UINT64_C(1) << 20)

static int make_objects(struct ferry_lab_traces *traces)
{
    for (uint32_t i = 0; i < traces->count; i++) {
        traces->first_object[i] = (uint32_t)traces->object_count;
        traces->first_made[i] = traces->made;
        traces->object_count += traces->packed[i]->living;
        traces->made += traces->packed[i]->made;
    }
    traces->objects = calloc(traces->object_count + 1, sizeof *traces->objects);
    return traces->objects ? 0 : -1;
}

static void show(struct ferry_lab_reading *reading, uint64_t *events, const struct ferry_trace_event *event)
{
    if (++*events % A_WHILE == 0 && reading->progress)
        reading->progress(reading->context, event->line, -1);
}

// Of a file that cannot be read back.
static bool unreadable(struct ferry_lab_reading *reading, uint32_t program, int error)
{
    reading->program = program;
    reading->of_folder = true;
    snprintf(reading->error.reason, sizeof reading->error.reason, "cannot be read back: %s", strerror(error));
    return false;
}

struct frames {
    struct ferry_lab_tally sizes;
    struct {
        uint64_t frame, bytes; // named last in this frame
    } * seen;                  // by object
    uint64_t frame, bytes;
};

static void measure_job(struct ferry_lab_traces *traces, const struct ferry_lab_unpacker *at, struct frames *frames)
{
    const uint32_t *named;
    size_t count = ferry_lab_named(at, &named);
    uint64_t job = 0;
    for (size_t k = 0; k < count; k++) {
        uint64_t size = frames->seen[named[k]].bytes;
        job += size;
        frames->bytes += frames->seen[named[k]].frame == frames->frame ? 0 : size;
        frames->seen[named[k]].frame = frames->frame;
    }
    traces->largest_job = job > traces->largest_job ? job : traces->largest_job;
}

static bool measure_event(struct ferry_lab_traces *traces, const struct ferry_lab_unpacker *at, struct frames *frames)
{
    const struct ferry_trace_event *event = &at->event;
    if (event->op == FERRY_TRACE_CREATE) {
        frames->seen[event->object].frame = 0;
        frames->seen[event->object].bytes = (at->creation.bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    }
    if (ferry_lab_is_job(event))
        measure_job(traces, at, frames);
    if (event->op != FERRY_TRACE_FRAME)
        return true;
    uint64_t bytes = frames->bytes;
    frames->frame++;
    frames->bytes = 0;
    return ferry_lab_tally_add(&frames->sizes, bytes);
}

// What one program's frames name.
static bool measure_frames(struct ferry_lab_traces *traces, uint32_t program, struct ferry_lab_reading *reading)
{
    struct ferry_lab_unpacker at;
    struct frames frames = {.frame = 1, .seen = calloc(traces->packed[program]->living + 1u, sizeof *frames.seen)};
    const struct ferry_trace_event *event;
    uint64_t events = 0;
    int more = 1;
    bool good = ferry_lab_unpack_begin(&at, traces->packed[program]) && frames.seen;
    while (good && (more = ferry_lab_unpack(&at, &event)) > 0) {
        good = measure_event(traces, &at, &frames);
        show(reading, &events, event);
    }
    if (good && more < 0)
        good = unreadable(reading, program, at.error);
    // A trace without an end of frame is one frame.
    if (good && frames.sizes.numbers == 0)
        good = ferry_lab_tally_add(&frames.sizes, frames.bytes);
    if (good) {
        traces->median_frame += ferry_lab_tally_at(&frames.sizes, frames.sizes.numbers / 2);
        traces->largest_frame += ferry_lab_tally_at(&frames.sizes, frames.sizes.numbers - 1);
    }
    ferry_lab_unpack_end(&at);
    ferry_lab_tally_free(&frames.sizes);
    free(frames.seen);
    return good;
}

// What has to be in video memory from a job on until it is destroyed or the CPU touches it, unless it is evicted.
struct staying {
    uint8_t *stays; // by object
    uint64_t bytes, most;
};

static void stay(struct staying *staying, const struct ferry_lab_traces *traces, uint32_t object, bool stays)
{
    uint64_t bytes = traces->objects[object].pages * PAGE_BYTES;
    if (staying->stays[object] != stays)
        staying->bytes = stays ? staying->bytes + bytes : staying->bytes - bytes;
    staying->stays[object] = stays;
}

// One event after the warm-up.
static void measure_staying(struct ferry_lab_traces *traces, const struct ferry_lab_cursor *cursor, uint32_t program,
                            const struct ferry_trace_event *event, struct staying *staying)
{
    const uint32_t *named = NULL;
    size_t count = ferry_lab_is_job(event) ? ferry_lab_named(&cursor->at[program], &named) : 0;
    for (size_t i = 0; i < count; i++)
        stay(staying, traces, traces->first_object[program] + named[i], true);
    if (!ferry_lab_is_job(event) && event->op != FERRY_TRACE_FRAME)
        stay(staying, traces, traces->first_object[program] + event->object, false);
    if (staying->bytes > staying->most)
        staying->most = staying->bytes;
}

// Ends the cursor. False, with the reading's error, when a trace cannot be read back.
static bool came_to_the_end(struct ferry_lab_cursor *cursor, struct ferry_lab_reading *reading)
{
    int error = cursor->error;
    ferry_lab_cursor_end(cursor);
    return error == 0 || unreadable(reading, cursor->bad_program, error);
}

static bool measure_order(struct ferry_lab_traces *traces, uint8_t *stays, struct ferry_lab_reading *reading)
{
    struct staying staying = {.stays = stays};
    struct ferry_lab_cursor cursor;
    const struct ferry_trace_event *event;
    uint32_t program;
    uint64_t living = 0, events = 0;
    ferry_lab_cursor_begin(&cursor, traces);
    for (uint32_t leads = ferry_lab_leader(&cursor); (event = ferry_lab_next(&cursor, &program));
         leads = ferry_lab_leader(&cursor)) {
        uint64_t bytes = 0;
        if (event->op == FERRY_TRACE_CREATE || event->op == FERRY_TRACE_DESTROY)
            bytes = traces->objects[traces->first_object[program] + event->object].pages * PAGE_BYTES;
        living = event->op == FERRY_TRACE_DESTROY ? living - bytes : living + bytes;
        traces->most_living = living > traces->most_living ? living : traces->most_living;
        if (traces->frames >= FERRY_LAB_WARM_UP)
            measure_staying(traces, &cursor, program, event, &staying);
        if (event->op == FERRY_TRACE_FRAME && program == leads) {
            // What comes behind the last one is of no frame.
            traces->least_unpaged = staying.most;
            traces->frames++;
        }
        traces->jobs += ferry_lab_is_job(event);
        const uint32_t *named;
        traces->named += ferry_lab_is_job(event) ? ferry_lab_named(&cursor.at[program], &named) : 0;
        show(reading, &events, event);
    }
    if (traces->largest_job > traces->least_unpaged)
        traces->least_unpaged = traces->largest_job;
    return came_to_the_end(&cursor, reading);
}

// Each use is told to the one before it of the same object.
static bool note_next_uses(struct ferry_lab_traces *traces, uint64_t *last, struct ferry_lab_reading *reading)
{
    struct ferry_lab_cursor cursor;
    const struct ferry_trace_event *event;
    uint32_t program;
    uint64_t time = 0, at = 0, events = 0;
    for (size_t i = 0; i < traces->object_count; i++)
        last[i] = UINT64_MAX;
    ferry_lab_cursor_begin(&cursor, traces);
    while ((event = ferry_lab_next(&cursor, &program))) {
        const uint32_t *named;
        show(reading, &events, event);
        if (event->op == FERRY_TRACE_CREATE)
            last[traces->first_object[program] + event->object] = UINT64_MAX;
        if (!ferry_lab_is_job(event))
            continue;
        size_t count = ferry_lab_named(&cursor.at[program], &named);
        time++;
        for (size_t k = 0; k < count; k++, at++) {
            uint64_t *before = &last[traces->first_object[program] + named[k]];
            if (*before != UINT64_MAX)
                traces->next_uses[*before] = (uint32_t)time;
            traces->next_uses[at] = FERRY_LAB_NO_USE;
            *before = at;
        }
    }
    return came_to_the_end(&cursor, reading);
}

static bool look_ahead(struct ferry_lab_traces *traces, uint64_t *scratch, struct ferry_lab_reading *reading)
{
    uint64_t bytes = traces->named * sizeof *traces->next_uses;
    if (reading->takes)
        reading->takes(reading->context, traces->named, bytes);
    // Times are 32 bits.
    traces->next_uses = traces->jobs < FERRY_LAB_NO_USE ? malloc(bytes + sizeof *traces->next_uses) : NULL;
    return traces->next_uses && note_next_uses(traces, scratch, reading);
}

int ferry_lab_prepare(struct ferry_lab_traces *traces, const struct ferry_lab_packed *const *packed, uint32_t count,
                      bool future, struct ferry_lab_reading *reading)
{
    uint64_t *scratch = NULL;
    *traces = (struct ferry_lab_traces){.count = count};
    for (uint32_t i = 0; i < count; i++)
        traces->packed[i] = packed[i];
    snprintf(traces->unit, sizeof traces->unit, "%s", packed[0]->unit);
    bool good = make_objects(traces) == 0;
    for (uint32_t i = 0; i < count && good; i++)
        good = measure_frames(traces, i, reading);
    scratch = good ? calloc(traces->object_count + 1, sizeof *scratch) : NULL;
    good = scratch && measure_order(traces, (uint8_t *)scratch, reading);
    good = good && (!future || look_ahead(traces, scratch, reading));
    free(scratch);
    if (!good)
        ferry_lab_release(traces);
    return good ? 0 : -1;
}

void ferry_lab_release(struct ferry_lab_traces *traces)
{
    free(traces->objects);
    free(traces->next_uses);
    *traces = (struct ferry_lab_traces){0};
}

bool ferry_lab_creation_of(const struct ferry_lab_traces *traces, uint64_t made, uint32_t *program,
                           struct ferry_lab_creation *creation)
{
    struct ferry_lab_unpacker at;
    const struct ferry_trace_event *event;
    *program = traces->count - 1;
    while (*program > 0 && traces->first_made[*program] > made)
        --*program;
    bool good = ferry_lab_unpack_begin(&at, traces->packed[*program]);
    while (good && at.made <= made - traces->first_made[*program])
        good = ferry_lab_unpack(&at, &event) > 0;
    *creation = at.creation;
    ferry_lab_unpack_end(&at);
    return good;
}
