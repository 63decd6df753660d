// SPDX-License-Identifier: Apache-2.0
// What the traces are like, before anything is played. Traces that are read from their files are read twice here, and
// a third time for who knows the future.
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
    for (uint32_t i = 0; i < traces->count; i++)
        traces->object_count += traces->paths ? traces->living[i] : traces->traces[i].object_count;
    traces->objects = calloc(traces->object_count + 1, sizeof *traces->objects);
    traces->first_object = calloc(traces->count, sizeof *traces->first_object);
    if (!traces->objects || !traces->first_object)
        return -1;
    uint32_t number = 0;
    for (uint32_t i = 0; i < traces->count; i++) {
        traces->first_object[i] = number;
        for (size_t k = 0; !traces->paths && k < traces->traces[i].object_count; k++) {
            const struct ferry_trace_object *object = &traces->traces[i].objects[k];
            traces->objects[number++] = ferry_lab_object_of(object, i, object->target);
        }
        number += traces->paths ? traces->living[i] : 0;
    }
    return 0;
}

// One trace, event by event.
struct walk {
    const struct ferry_trace *trace;
    struct ferry_trace_stream *stream; // NULL: it is held
    size_t at;
};

static int next_of(struct walk *walk, const struct ferry_trace_event **event)
{
    if (walk->stream)
        return ferry_trace_next(walk->stream, event);
    *event = walk->trace->events + walk->at;
    return walk->at++ < walk->trace->event_count;
}

struct frames {
    struct ferry_lab_tally sizes;
    uint64_t *seen; // by object: the frame in which it was named last
    size_t seen_capacity, target_capacity;
    uint64_t frame, bytes;
};

static void measure_job(struct ferry_lab_traces *traces, const struct ferry_trace *trace,
                        const struct ferry_trace_event *event, struct frames *frames)
{
    const uint32_t *named;
    size_t count = ferry_lab_named_by(trace, event, &named);
    uint64_t job = 0;
    for (size_t k = 0; k < count; k++) {
        uint64_t size = (trace->objects[named[k]].bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        job += size;
        frames->bytes += frames->seen[named[k]] == frames->frame ? 0 : size;
        frames->seen[named[k]] = frames->frame;
    }
    traces->largest_job = job > traces->largest_job ? job : traces->largest_job;
}

static bool measure_creation(struct ferry_lab_traces *traces, uint32_t program, const struct ferry_trace *trace,
                             const struct ferry_trace_event *event, struct frames *frames)
{
    size_t before = frames->target_capacity;
    if (ferry_reserve(&frames->seen, &frames->seen_capacity, trace->object_count, sizeof *frames->seen) != 0)
        return false;
    frames->seen[event->object] = 0;
    if (!traces->paths)
        return true;
    traces->made_by[program] = trace->objects[event->object].made + 1;
    if (ferry_reserve(&traces->targets[program], &frames->target_capacity, traces->made_by[program] / 8 + 1, 1) != 0)
        return false;
    memset(traces->targets[program] + before, 0, frames->target_capacity - before);
    return true;
}

static bool measure_event(struct ferry_lab_traces *traces, uint32_t program, const struct ferry_trace *trace,
                          const struct ferry_trace_event *event, struct frames *frames)
{
    if (event->op == FERRY_TRACE_CREATE)
        return measure_creation(traces, program, trace, event, frames);
    if (event->op == FERRY_TRACE_TARGET && traces->paths)
        traces->targets[program][trace->objects[event->object].made / 8] |=
            (uint8_t)(1u << trace->objects[event->object].made % 8);
    if (ferry_lab_is_job(event))
        measure_job(traces, trace, event, frames);
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
    struct walk walk = {.trace = traces->paths ? NULL : &traces->traces[program]};
    struct frames frames = {.frame = 1};
    const struct ferry_trace_event *event;
    uint64_t events = 0;
    int more = 1;
    if (traces->paths) {
        walk.stream = ferry_trace_open(traces->paths[program], &reading->error);
        walk.trace = walk.stream ? ferry_trace_of(walk.stream) : NULL;
    }
    bool good = walk.trace != NULL;
    while (good && (more = next_of(&walk, &event)) > 0) {
        good = measure_event(traces, program, walk.trace, event, &frames);
        if (++events % A_WHILE == 0 && reading->progress)
            reading->progress(reading->context, event->line);
    }
    good = good && more == 0;
    // A trace without an end of frame is one frame.
    if (good && frames.sizes.numbers == 0)
        good = ferry_lab_tally_add(&frames.sizes, frames.bytes);
    if (good) {
        traces->median_frame += ferry_lab_tally_at(&frames.sizes, frames.sizes.numbers / 2);
        traces->largest_frame += ferry_lab_tally_at(&frames.sizes, frames.sizes.numbers - 1);
        traces->living[program] = (uint32_t)walk.trace->object_count;
        traces->made += traces->paths ? traces->made_by[program] : walk.trace->object_count;
    }
    reading->program = program;
    if (good && program == 0)
        snprintf(traces->unit, sizeof traces->unit, "%s", ferry_trace_unit(walk.trace));
    ferry_trace_close(walk.stream);
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
    const uint32_t *named;
    size_t count = ferry_lab_is_job(event) ? ferry_lab_named(cursor, program, event, &named) : 0;
    for (size_t i = 0; i < count; i++) {
        stay(staying, traces, traces->first_object[program] + named[i], true);
        traces->objects[traces->first_object[program] + named[i]].named++;
    }
    if (!ferry_lab_is_job(event) && event->op != FERRY_TRACE_FRAME)
        stay(staying, traces, traces->first_object[program] + event->object, false);
    if (staying->bytes > staying->most)
        staying->most = staying->bytes;
}

// Ends the cursor. False, with the reading's error, when a file cannot be read any more.
static bool came_to_the_end(struct ferry_lab_cursor *cursor, struct ferry_lab_reading *reading)
{
    if (cursor->bad) {
        reading->error = cursor->error;
        reading->program = cursor->bad_program;
    }
    ferry_lab_cursor_end(cursor);
    return !cursor->bad;
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
        traces->named += ferry_lab_is_job(event) ? ferry_lab_named(&cursor, program, event, &named) : 0;
        if (++events % A_WHILE == 0 && reading->progress)
            reading->progress(reading->context, event->line);
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
    uint64_t time = 0, at = 0;
    for (size_t i = 0; i < traces->object_count; i++)
        last[i] = UINT64_MAX;
    ferry_lab_cursor_begin(&cursor, traces);
    while ((event = ferry_lab_next(&cursor, &program))) {
        const uint32_t *named;
        if (event->op == FERRY_TRACE_CREATE)
            last[traces->first_object[program] + event->object] = UINT64_MAX;
        if (!ferry_lab_is_job(event))
            continue;
        size_t count = ferry_lab_named(&cursor, program, event, &named);
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

static int prepare(struct ferry_lab_traces *traces, bool future, struct ferry_lab_reading *reading)
{
    uint64_t *scratch = NULL;
    bool good = true;
    for (uint32_t i = 0; i < traces->count && good; i++)
        good = measure_frames(traces, i, reading);
    good = good && make_objects(traces) == 0;
    scratch = good ? calloc(traces->object_count + 1, sizeof *scratch) : NULL;
    good = scratch && measure_order(traces, (uint8_t *)scratch, reading);
    traces->measured = good;
    good = good && (!future || look_ahead(traces, scratch, reading));
    free(scratch);
    if (!good)
        ferry_lab_release(traces);
    return good ? 0 : -1;
}

int ferry_lab_prepare(struct ferry_lab_traces *traces, struct ferry_trace *list, uint32_t count)
{
    struct ferry_lab_reading reading = {0};
    *traces = (struct ferry_lab_traces){.traces = list, .count = count};
    return prepare(traces, true, &reading);
}

int ferry_lab_prepare_files(struct ferry_lab_traces *traces, const char *const *paths, uint32_t count, bool future,
                            struct ferry_lab_reading *reading)
{
    *traces = (struct ferry_lab_traces){.paths = paths, .count = count};
    return prepare(traces, future, reading);
}

void ferry_lab_release(struct ferry_lab_traces *traces)
{
    for (uint32_t i = 0; i < FERRY_LAB_MOST_TRACES; i++)
        free(traces->targets[i]);
    free(traces->objects);
    free(traces->first_object);
    free(traces->next_uses);
    *traces = (struct ferry_lab_traces){0};
}
