// SPDX-License-Identifier: Apache-2.0
#include "lab/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES UINT64_C(4096)
#define SEED       UINT64_C(1)

// ---- The order of events ------------------------------------------------------------------------------------------

struct cursor {
    const struct ferry_lab_traces *traces;
    size_t at[FERRY_LAB_MOST_TRACES];
    uint32_t program; // whose turn it is
};

static bool plays(const struct cursor *cursor, uint32_t program)
{
    return cursor->at[program] < cursor->traces->traces[program].event_count;
}

// The frames of this program count.
static uint32_t leader(const struct cursor *cursor)
{
    uint32_t program = 0;
    while (program < cursor->traces->count && !plays(cursor, program))
        program++;
    return program;
}

// NULL at the end.
static const struct ferry_trace_event *next_event(struct cursor *cursor, uint32_t *program)
{
    const struct ferry_lab_traces *traces = cursor->traces;
    for (uint32_t passed = 0; !plays(cursor, cursor->program); passed++) {
        if (passed == traces->count)
            return NULL;
        cursor->program = (cursor->program + 1) % traces->count;
    }
    *program = cursor->program;
    const struct ferry_trace_event *event = &traces->traces[*program].events[cursor->at[*program]++];
    if (event->op == FERRY_TRACE_DRAW || event->op == FERRY_TRACE_TARGET || event->op == FERRY_TRACE_FRAME)
        cursor->program = (cursor->program + 1) % traces->count;
    return event;
}

static bool is_job(const struct ferry_trace_event *event)
{
    return event->op == FERRY_TRACE_DRAW || event->op == FERRY_TRACE_TARGET;
}

// The objects that a job names, by their numbers in the trace.
static size_t named_by(const struct ferry_trace *trace, const struct ferry_trace_event *event, const uint32_t **objects)
{
    *objects = event->op == FERRY_TRACE_DRAW ? trace->draws + event->a : &event->object;
    return event->op == FERRY_TRACE_DRAW ? (size_t)event->b : 1;
}

// ---- What the traces are like ---------------------------------------------------------------------------------------

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static int make_objects(struct ferry_lab_traces *traces)
{
    for (uint32_t i = 0; i < traces->count; i++)
        traces->object_count += traces->traces[i].object_count;
    traces->objects = calloc(traces->object_count + 1, sizeof *traces->objects);
    traces->first_object = calloc(traces->count, sizeof *traces->first_object);
    if (!traces->objects || !traces->first_object)
        return -1;
    uint32_t number = 0;
    for (uint32_t i = 0; i < traces->count; i++) {
        const struct ferry_trace *trace = &traces->traces[i];
        traces->first_object[i] = number;
        for (size_t k = 0; k < trace->object_count; k++)
            // Half of what only the CPU writes keeps its copy in system memory, as in a replay.
            traces->objects[number++] = (struct ferry_lab_object){
                .pages = (trace->objects[k].bytes + PAGE_BYTES - 1) / PAGE_BYTES,
                .program = i,
                .permanent = !trace->objects[k].target && mix(SEED ^ mix(k)) % 2 == 0,
            };
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct sizes {
    uint64_t *frames;
    size_t count, capacity;
};

static bool note(struct sizes *sizes, uint64_t bytes)
{
    if (sizes->count == sizes->capacity) {
        size_t capacity = sizes->capacity ? 2 * sizes->capacity : 1024;
        uint64_t *grown = realloc(sizes->frames, capacity * sizeof *grown);
        if (!grown)
            return false;
        sizes->frames = grown;
        sizes->capacity = capacity;
    }
    sizes->frames[sizes->count++] = bytes;
    return true;
}

// What one program's frames name. seen[] tells the frame in which an object was named last.
static bool measure_frames(struct ferry_lab_traces *traces, uint32_t program, uint64_t *seen, struct sizes *sizes)
{
    const struct ferry_trace *trace = &traces->traces[program];
    const struct ferry_lab_object *objects = traces->objects + traces->first_object[program];
    uint64_t frame = 1, bytes = 0;
    sizes->count = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const struct ferry_trace_event *event = &trace->events[i];
        const uint32_t *named;
        if (event->op == FERRY_TRACE_FRAME) {
            if (!note(sizes, bytes))
                return false;
            frame++;
            bytes = 0;
        }
        if (!is_job(event))
            continue;
        size_t count = named_by(trace, event, &named);
        uint64_t job = 0;
        for (size_t k = 0; k < count; k++) {
            uint64_t size = objects[named[k]].pages * PAGE_BYTES;
            job += size;
            bytes += seen[named[k]] == frame ? 0 : size;
            seen[named[k]] = frame;
        }
        traces->largest_job = job > traces->largest_job ? job : traces->largest_job;
    }
    // A trace without an end of frame is one frame.
    if (sizes->count == 0 && !note(sizes, bytes))
        return false;
    qsort(sizes->frames, sizes->count, sizeof *sizes->frames, compare);
    traces->median_frame += sizes->frames[sizes->count / 2];
    traces->largest_frame += sizes->frames[sizes->count - 1];
    return true;
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
static void measure_staying(struct ferry_lab_traces *traces, uint32_t program, const struct ferry_trace_event *event,
                            struct staying *staying)
{
    const uint32_t *named;
    size_t count = is_job(event) ? named_by(&traces->traces[program], event, &named) : 0;
    for (size_t i = 0; i < count; i++) {
        stay(staying, traces, traces->first_object[program] + named[i], true);
        traces->objects[traces->first_object[program] + named[i]].named++;
    }
    if (!is_job(event) && event->op != FERRY_TRACE_FRAME)
        stay(staying, traces, traces->first_object[program] + event->object, false);
    if (staying->bytes > staying->most)
        staying->most = staying->bytes;
}

static void measure_order(struct ferry_lab_traces *traces, uint8_t *stays)
{
    struct staying staying = {.stays = stays};
    struct cursor cursor = {.traces = traces};
    const struct ferry_trace_event *event;
    uint32_t program;
    uint64_t living = 0;
    for (uint32_t leads = leader(&cursor); (event = next_event(&cursor, &program)); leads = leader(&cursor)) {
        const uint32_t *named;
        uint64_t bytes = 0;
        if (event->op == FERRY_TRACE_CREATE || event->op == FERRY_TRACE_DESTROY)
            bytes = traces->objects[traces->first_object[program] + event->object].pages * PAGE_BYTES;
        living = event->op == FERRY_TRACE_DESTROY ? living - bytes : living + bytes;
        traces->most_living = living > traces->most_living ? living : traces->most_living;
        if (traces->frames >= FERRY_LAB_WARM_UP)
            measure_staying(traces, program, event, &staying);
        if (event->op == FERRY_TRACE_FRAME && program == leads) {
            // What comes behind the last one is of no frame.
            traces->least_unpaged = staying.most;
            traces->frames++;
        }
        traces->jobs += is_job(event);
        traces->named += is_job(event) ? named_by(&traces->traces[program], event, &named) : 0;
    }
    if (traces->largest_job > traces->least_unpaged)
        traces->least_unpaged = traces->largest_job;
}

// Each use is told to the one before it of the same object.
static void note_next_uses(struct ferry_lab_traces *traces, uint64_t *last)
{
    struct cursor cursor = {.traces = traces};
    const struct ferry_trace_event *event;
    uint32_t program;
    uint64_t time = 0, at = 0;
    for (size_t i = 0; i < traces->object_count; i++)
        last[i] = UINT64_MAX;
    while ((event = next_event(&cursor, &program))) {
        const uint32_t *named;
        if (!is_job(event))
            continue;
        size_t count = named_by(&traces->traces[program], event, &named);
        time++;
        for (size_t k = 0; k < count; k++, at++) {
            uint64_t *before = &last[traces->first_object[program] + named[k]];
            if (*before != UINT64_MAX)
                traces->next_uses[*before] = time;
            traces->next_uses[at] = UINT64_MAX;
            *before = at;
        }
    }
}

int ferry_lab_prepare(struct ferry_lab_traces *traces, struct ferry_trace *list, uint32_t count)
{
    *traces = (struct ferry_lab_traces){.traces = list, .count = count};
    uint64_t *scratch = NULL;
    struct sizes sizes = {0};
    bool good = make_objects(traces) == 0;
    scratch = good ? calloc(traces->object_count + 1, sizeof *scratch) : NULL;
    good = good && scratch;
    for (uint32_t i = 0; i < count && good; i++) {
        memset(scratch, 0, traces->object_count * sizeof *scratch);
        good = measure_frames(traces, i, scratch, &sizes);
    }
    if (good) {
        memset(scratch, 0, traces->object_count * sizeof *scratch);
        measure_order(traces, (uint8_t *)scratch);
        traces->next_uses = malloc((traces->named + 1) * sizeof *traces->next_uses);
        good = traces->next_uses != NULL;
    }
    if (good)
        note_next_uses(traces, scratch);
    free(scratch);
    free(sizes.frames);
    if (!good)
        ferry_lab_release(traces);
    return good ? 0 : -1;
}

void ferry_lab_release(struct ferry_lab_traces *traces)
{
    free(traces->objects);
    free(traces->first_object);
    free(traces->next_uses);
    *traces = (struct ferry_lab_traces){0};
}

// ---- Playing
// ----------------------------------------------------------------------------------------------------------

struct play {
    const struct ferry_lab_traces *traces;
    struct ferry_lab_machine *machine;
    const struct ferry_lab_manner *manner;
    struct ferry_lab_outcome *result;
    uint8_t *locked; // between the trace's l and u, and the machine has it locked
    uint32_t *list;
    size_t capacity;
    uint64_t frame, before;            // bytes moved before this frame
    struct ferry_lab_count warm, last; // at the end of the warm-up, and of the last frame so far
};

static int play_write(struct play *play, uint32_t object)
{
    if (play->locked[object])
        return FERRY_LAB_OK;
    int result = play->machine->lock(play->machine, object, false);
    return result == FERRY_LAB_OK ? play->machine->unlock(play->machine, object) : result;
}

static int play_lock(struct play *play, uint32_t object, bool discard)
{
    play->locked[object] = 1;
    return play->machine->lock(play->machine, object, discard);
}

static int play_unlock(struct play *play, uint32_t object)
{
    bool locked = play->locked[object] != 0;
    play->locked[object] = 0;
    return locked ? play->machine->unlock(play->machine, object) : FERRY_LAB_OK;
}

static int play_destroy(struct play *play, uint32_t object)
{
    int result = play_unlock(play, object);
    return result == FERRY_LAB_OK ? play->machine->destroy(play->machine, object) : result;
}

static bool is_without(const struct play *play, uint32_t object)
{
    return play->manner->without && *play->manner->without == object;
}

static int play_job(struct play *play, uint32_t program, const struct ferry_trace_event *event)
{
    const uint32_t *named;
    size_t count = named_by(&play->traces->traces[program], event, &named), left = 0;
    int result = FERRY_LAB_OK;
    play->result->played += count;
    if (count > play->capacity) {
        uint32_t *list = realloc(play->list, count * sizeof *list);
        if (!list)
            return FERRY_LAB_NO_MEMORY;
        play->list = list;
        play->capacity = count;
    }
    // A program may draw what it has mapped; for the job the lock is given back.
    for (size_t i = 0; i < count && result == FERRY_LAB_OK; i++) {
        uint32_t object = play->traces->first_object[program] + named[i];
        if (is_without(play, object))
            continue;
        play->list[left++] = object;
        result = play_unlock(play, object);
    }
    count = left;
    if (result == FERRY_LAB_OK && count > 0)
        result = play->machine->job(play->machine, program, play->list, count, event->op == FERRY_TRACE_TARGET);
    for (size_t i = 0; result == FERRY_LAB_TOO_SMALL && i < count; i++)
        play->result->job_bytes += play->traces->objects[play->list[i]].pages * PAGE_BYTES;
    return result;
}

static void end_frame(struct play *play)
{
    struct ferry_lab_count count;
    play->machine->count(play->machine, &count);
    play->result->frame_bytes[play->frame++] = count.in + count.out - play->before;
    play->before = count.in + count.out;
    play->last = count;
    if (play->frame == FERRY_LAB_WARM_UP)
        play->warm = count;
}

static int play_event(struct play *play, uint32_t program, const struct ferry_trace_event *event, bool leads)
{
    const struct ferry_lab_watch *watch = play->machine->watch;
    if (watch)
        watch->event(watch->context, program, event, leads, play->machine->cycles(play->machine));
    uint32_t object = play->traces->first_object[program] + event->object;
    if (is_without(play, object) && (event->op == FERRY_TRACE_WRITE || event->op == FERRY_TRACE_LOCK))
        return FERRY_LAB_OK;
    switch ((enum ferry_trace_op)event->op) {
    case FERRY_TRACE_CREATE: return play->machine->create(play->machine, object);
    case FERRY_TRACE_WRITE: return play_write(play, object);
    case FERRY_TRACE_LOCK: return play_lock(play, object, event->discard);
    case FERRY_TRACE_UNLOCK: return play_unlock(play, object);
    case FERRY_TRACE_DRAW:
    case FERRY_TRACE_TARGET: return play_job(play, program, event);
    case FERRY_TRACE_DESTROY: return play_destroy(play, object);
    case FERRY_TRACE_FRAME: break;
    }
    if (!leads)
        return FERRY_LAB_OK;
    end_frame(play);
    return play->machine->end_frame(play->machine);
}

static void sum_up(struct play *play)
{
    struct ferry_lab_outcome *result = play->result;
    play->machine->count(play->machine, &result->count);
    // Of a trace that ends before, all; else what comes behind the last end of a frame is of no frame.
    const struct ferry_lab_count *last = play->frame < FERRY_LAB_WARM_UP ? &result->count : &play->last;
    const struct ferry_lab_count *warm = &play->warm;
    result->evictions_after_warm_up = last->evictions - warm->evictions;
    result->bytes_after_warm_up = last->in + last->out - warm->in - warm->out;
    result->paged_after_warm_up = last->paged - warm->paged;
    uint64_t *sorted = malloc((play->frame + 1) * sizeof *sorted);
    result->object_in = malloc((play->traces->object_count + 1) * sizeof *result->object_in);
    for (uint32_t i = 0; i < play->traces->object_count; i++) {
        result->program_in[play->traces->objects[i].program] += play->machine->object_in[i];
        if (result->object_in)
            result->object_in[i] = play->machine->object_in[i];
    }
    if (!sorted || !result->object_in) {
        free(sorted);
        result->result = FERRY_LAB_NO_MEMORY;
        return;
    }
    if (play->frame > 0) {
        memcpy(sorted, result->frame_bytes, play->frame * sizeof *sorted);
        qsort(sorted, play->frame, sizeof *sorted, compare);
        result->worst_frame = sorted[play->frame - 1];
        result->percentile_frame = sorted[(play->frame - 1) * 99 / 100];
    }
    free(sorted);
}

static bool pages(const struct play *play)
{
    struct ferry_lab_count count;
    if (play->frame < FERRY_LAB_WARM_UP || play->frame == play->traces->frames)
        return false;
    play->machine->count(play->machine, &count);
    return count.evictions > play->warm.evictions || count.paged > play->warm.paged;
}

void ferry_lab_play(const struct ferry_lab_traces *traces, struct ferry_lab_machine *machine,
                    const struct ferry_lab_manner *manner, struct ferry_lab_outcome *result)
{
    struct cursor cursor = {.traces = traces};
    struct play play = {.traces = traces, .machine = machine, .manner = manner, .result = result};
    const struct ferry_trace_event *event;
    uint32_t program;
    uint64_t jobs = 0;
    *result = (struct ferry_lab_outcome){.result = FERRY_LAB_NO_MEMORY};
    result->frame_bytes = calloc(traces->frames + 1, sizeof *result->frame_bytes);
    play.locked = calloc(traces->object_count + 1, 1);
    if (result->frame_bytes && play.locked)
        result->result = FERRY_LAB_OK;
    for (uint32_t leads = leader(&cursor); result->result == FERRY_LAB_OK && (event = next_event(&cursor, &program));
         leads = leader(&cursor)) {
        result->result = play_event(&play, program, event, program == leads);
        if (result->result != FERRY_LAB_OK) {
            result->program = program;
            result->line = event->line;
        }
        if (result->result == FERRY_LAB_OK && manner->until_paging && pages(&play))
            result->result = FERRY_LAB_PAGES;
        if (is_job(event) && jobs++ % 1024 == 0 && manner->progress)
            manner->progress(manner->context, (double)jobs / (double)(traces->jobs + 1));
    }
    if (result->result == FERRY_LAB_OK)
        sum_up(&play);
    memcpy(result->problem, machine->problem, sizeof result->problem);
    result->chosen = machine->chosen;
    machine->end(machine);
    free(play.locked);
    free(play.list);
}

void ferry_lab_outcome_release(struct ferry_lab_outcome *result)
{
    free(result->frame_bytes);
    free(result->object_in);
    result->frame_bytes = result->object_in = NULL;
}
