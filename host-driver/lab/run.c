// SPDX-License-Identifier: Apache-2.0
#include "lab/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/cursor.h"
#include "lab/tally.h"

#define PAGE_BYTES FERRY_LAB_PAGE_BYTES

struct play {
    const struct ferry_lab_traces *traces;
    struct ferry_lab_machine *machine;
    const struct ferry_lab_manner *manner;
    struct ferry_lab_outcome *result;
    struct {
        bool lives, locked; // locked: between the trace's l and u, and the machine has it locked
        bool named;         // by a job after the warm-up
    } * states;             // by object
    uint32_t *list;
    size_t capacity;
    struct ferry_lab_tally frames; // bytes of each frame
    uint64_t frame, before;        // bytes moved before this frame
    bool no_memory;
    struct ferry_lab_count warm, last; // at the end of the warm-up, and of the last frame so far
};

// What came of it, before its number is another's or at the end.
static bool sum_up_object(struct play *play, uint32_t number)
{
    const struct ferry_lab_object *object = &play->traces->objects[number];
    struct ferry_lab_outcome *result = play->result;
    const struct ferry_lab_candidate candidate = {
        .made = object->made, .in = play->machine->object_in[number], .pages = object->pages};
    result->program_in[object->program] += candidate.in;
    play->states[number].lives = false;
    if (!play->states[number].named)
        return true;
    result->named_count++;
    return ferry_lab_rank(&result->most_in, ferry_lab_by_in, &candidate) &&
           ferry_lab_rank(&result->largest, ferry_lab_by_pages, &candidate);
}

static int play_create(struct play *play, uint32_t object)
{
    play->states[object].lives = true;
    play->states[object].named = false;
    return play->machine->create(play->machine, object);
}

static int play_write(struct play *play, uint32_t object)
{
    if (play->states[object].locked)
        return FERRY_LAB_OK;
    int result = play->machine->lock(play->machine, object, false);
    return result == FERRY_LAB_OK ? play->machine->unlock(play->machine, object) : result;
}

static int play_lock(struct play *play, uint32_t object, bool discard)
{
    play->states[object].locked = true;
    return play->machine->lock(play->machine, object, discard);
}

static int play_unlock(struct play *play, uint32_t object)
{
    bool locked = play->states[object].locked;
    play->states[object].locked = false;
    return locked ? play->machine->unlock(play->machine, object) : FERRY_LAB_OK;
}

static int play_destroy(struct play *play, uint32_t object)
{
    int result = play_unlock(play, object);
    if (result == FERRY_LAB_OK && !sum_up_object(play, object))
        return FERRY_LAB_NO_MEMORY;
    return result == FERRY_LAB_OK ? play->machine->destroy(play->machine, object) : result;
}

static bool is_without(const struct play *play, uint32_t object)
{
    return play->manner->without && *play->manner->without == play->traces->objects[object].made;
}

static int play_job(struct play *play, const struct ferry_lab_cursor *cursor, uint32_t program,
                    const struct ferry_trace_event *event)
{
    const uint32_t *named;
    size_t count = ferry_lab_named(&cursor->at[program], &named), left = 0;
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
        play->states[object].named |= play->frame >= FERRY_LAB_WARM_UP;
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
    uint64_t bytes = count.in + count.out - play->before;
    if (play->result->frame_bytes && play->frame < play->traces->frames)
        play->result->frame_bytes[play->frame] = bytes;
    play->no_memory = !ferry_lab_tally_add(&play->frames, bytes);
    play->frame++;
    play->before = count.in + count.out;
    play->last = count;
    if (play->frame == FERRY_LAB_WARM_UP)
        play->warm = count;
}

static int play_event(struct play *play, const struct ferry_lab_cursor *cursor, uint32_t program,
                      const struct ferry_trace_event *event, bool leads)
{
    const struct ferry_lab_watch *watch = play->machine->watch;
    if (watch)
        watch->event(watch->context, program, event, leads, play->machine->cycles(play->machine));
    uint32_t object = play->traces->first_object[program] + event->object;
    if (is_without(play, object) && (event->op == FERRY_TRACE_WRITE || event->op == FERRY_TRACE_LOCK))
        return FERRY_LAB_OK;
    switch ((enum ferry_trace_op)event->op) {
    case FERRY_TRACE_CREATE: return play_create(play, object);
    case FERRY_TRACE_WRITE: return play_write(play, object);
    case FERRY_TRACE_LOCK: return play_lock(play, object, event->discard);
    case FERRY_TRACE_UNLOCK: return play_unlock(play, object);
    case FERRY_TRACE_DRAW:
    case FERRY_TRACE_TARGET: return play_job(play, cursor, program, event);
    case FERRY_TRACE_DESTROY: return play_destroy(play, object);
    case FERRY_TRACE_FRAME: break;
    }
    if (!leads)
        return FERRY_LAB_OK;
    end_frame(play);
    if (play->no_memory)
        return FERRY_LAB_NO_MEMORY;
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
    for (uint32_t i = 0; i < play->traces->object_count; i++)
        if (play->states[i].lives && !sum_up_object(play, i))
            result->result = FERRY_LAB_NO_MEMORY;
    ferry_lab_ranking_end(&result->most_in, ferry_lab_by_in);
    ferry_lab_ranking_end(&result->largest, ferry_lab_by_pages);
    if (play->frame > 0) {
        result->worst_frame = ferry_lab_tally_at(&play->frames, play->frame - 1);
        result->percentile_frame = ferry_lab_tally_at(&play->frames, (play->frame - 1) * 99 / 100);
    }
}

static bool pages(const struct play *play)
{
    struct ferry_lab_count count;
    if (play->frame < FERRY_LAB_WARM_UP || play->frame == play->traces->frames)
        return false;
    play->machine->count(play->machine, &count);
    return count.evictions > play->warm.evictions || count.paged > play->warm.paged;
}

// As its trace calls it: the number is the laboratory's.
static void name_the_chosen(const struct ferry_lab_traces *traces, const struct ferry_lab_machine *machine,
                            struct ferry_lab_outcome *result)
{
    result->chosen = machine->chosen;
    if (result->result != FERRY_LAB_BAD_CHOICE || machine->chosen >= traces->object_count)
        return;
    result->chosen_program = traces->objects[machine->chosen].program;
    result->chosen_id = traces->objects[machine->chosen].id;
    result->chosen_line = traces->objects[machine->chosen].line;
}

// The file in which it is kept can be read no more.
static void fail_of_file(const struct ferry_lab_cursor *cursor, struct ferry_lab_machine *machine,
                         struct ferry_lab_outcome *result)
{
    snprintf(machine->problem, sizeof machine->problem, "the trace cannot be read back: %s", strerror(cursor->error));
    result->result = cursor->error == ENOMEM ? FERRY_LAB_NO_MEMORY : FERRY_LAB_FAILED;
    result->program = cursor->bad_program;
    result->line = cursor->at[cursor->bad_program].event.line;
}

static void play_all(struct play *play, struct ferry_lab_cursor *cursor)
{
    struct ferry_lab_outcome *result = play->result;
    const struct ferry_lab_manner *manner = play->manner;
    const struct ferry_trace_event *event;
    uint32_t program;
    uint64_t jobs = 0;
    for (uint32_t leads = ferry_lab_leader(cursor);
         result->result == FERRY_LAB_OK && (event = ferry_lab_next(cursor, &program));
         leads = ferry_lab_leader(cursor)) {
        result->result = play_event(play, cursor, program, event, program == leads);
        if (result->result != FERRY_LAB_OK) {
            result->program = program;
            result->line = event->line;
            name_the_chosen(play->traces, play->machine, result);
            return;
        }
        if (manner->until_paging && pages(play))
            result->result = FERRY_LAB_PAGES;
        if (ferry_lab_is_job(event) && manner->cut_off && *manner->cut_off)
            result->result = FERRY_LAB_CUT_OFF;
        if (ferry_lab_is_job(event) && jobs++ % 1024 == 0 && manner->progress)
            manner->progress(manner->context, (double)jobs / (double)(play->traces->jobs + 1));
    }
    if (cursor->error)
        fail_of_file(cursor, play->machine, result);
}

void ferry_lab_play(const struct ferry_lab_traces *traces, struct ferry_lab_machine *machine,
                    const struct ferry_lab_manner *manner, struct ferry_lab_outcome *result)
{
    struct ferry_lab_cursor cursor;
    struct play play = {.traces = traces, .machine = machine, .manner = manner, .result = result};
    *result = (struct ferry_lab_outcome){.result = FERRY_LAB_NO_MEMORY, .chosen = UINT32_MAX};
    if (!manner->no_frames)
        result->frame_bytes = calloc(traces->frames + 1, sizeof *result->frame_bytes);
    play.states = calloc(traces->object_count + 1, sizeof *play.states);
    if ((result->frame_bytes || manner->no_frames) && play.states)
        result->result = FERRY_LAB_OK;
    ferry_lab_cursor_begin(&cursor, traces);
    play_all(&play, &cursor);
    if (result->result == FERRY_LAB_OK)
        sum_up(&play);
    memcpy(result->problem, machine->problem, sizeof result->problem);
    ferry_lab_cursor_end(&cursor);
    machine->end(machine);
    ferry_lab_tally_free(&play.frames);
    free(play.states);
    free(play.list);
}

void ferry_lab_outcome_release(struct ferry_lab_outcome *result)
{
    free(result->frame_bytes);
    ferry_lab_ranking_free(&result->most_in);
    ferry_lab_ranking_free(&result->largest);
    result->frame_bytes = NULL;
}
