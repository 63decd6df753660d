// SPDX-License-Identifier: Apache-2.0
#include "tools/page_map.h"

#include <stdlib.h>

#include "tools/tool.h"
#include "tools/vram_svg.h"

#define CYCLES_A_MILLISECOND 1e5 // at 100 MHz
#define NOWHERE              UINT64_MAX

struct follower {
    const struct ferry_lab_traces *traces;
    struct ferry_vram_map *map;
    uint64_t *at;        // where each object's content is, NOWHERE when it is in no place
    uint32_t *jobs;      // of each frame
    uint64_t frame, job; // that go on
};

static bool is_job(const struct ferry_trace_event *event)
{
    return event->op == FERRY_TRACE_DRAW || event->op == FERRY_TRACE_TARGET;
}

// One program: frames, with a fraction by the jobs of the frame that are done. Several have no frame in common.
static void event(void *context, uint32_t program, const struct ferry_trace_event *event, bool leads, uint64_t cycles)
{
    struct follower *follower = context;
    (void)program;
    ferry_vram_map_step(follower->map);
    if (follower->traces->count > 1) {
        follower->map->now = (double)cycles / CYCLES_A_MILLISECOND;
    } else if (is_job(event)) {
        uint32_t jobs = follower->frame < follower->traces->frames ? follower->jobs[follower->frame] : 0;
        follower->map->now = (double)follower->frame + (double)follower->job++ / (jobs + 1.0);
    } else if (event->op == FERRY_TRACE_FRAME) {
        follower->map->now = (double)++follower->frame;
        follower->job = 0;
    }
    if (event->op == FERRY_TRACE_FRAME && leads)
        ferry_vram_map_end_frame(follower->map);
}

// A renamed object stands in several places: its content is in the newest.
static void placed(void *context, uint32_t object, uint64_t offset, uint64_t bytes)
{
    struct follower *follower = context;
    ferry_vram_map_placed(follower->map, object, offset, bytes);
    if (follower->at[object] != NOWHERE && follower->at[object] != offset) {
        ferry_vram_map_step(follower->map);
        ferry_vram_map_current(follower->map, object, offset);
    }
    follower->at[object] = offset;
}

static void removed(void *context, uint32_t object, uint64_t offset)
{
    struct follower *follower = context;
    ferry_vram_map_removed(follower->map, object, offset);
    if (follower->at[object] == offset)
        follower->at[object] = NOWHERE;
}

static bool begin(struct follower *follower, uint64_t bytes)
{
    const struct ferry_lab_traces *traces = follower->traces;
    uint64_t *sizes = calloc(traces->object_count + 1, sizeof *sizes);
    uint8_t *programs = calloc(traces->object_count + 1, 1);
    follower->at = malloc((traces->object_count + 1) * sizeof *follower->at);
    follower->jobs = calloc(traces->frames + 1, sizeof *follower->jobs);
    bool good = sizes && programs && follower->at && follower->jobs;
    for (size_t i = 0; i < traces->object_count && good; i++) {
        sizes[i] = traces->objects[i].pages * 4096;
        programs[i] = (uint8_t)traces->objects[i].program;
        follower->at[i] = NOWHERE;
    }
    const struct ferry_trace *first = &traces->traces[0];
    uint64_t frame = 0;
    for (size_t i = 0; i < first->event_count && frame < traces->frames && good; i++) {
        follower->jobs[frame] += is_job(&first->events[i]);
        frame += first->events[i].op == FERRY_TRACE_FRAME;
    }
    good = good &&
           ferry_vram_map_begin(follower->map, bytes, traces->object_count, sizes, programs, traces->count, true) == 0;
    free(sizes);
    free(programs);
    return good;
}

int ferry_page_map(struct ferry_policy_session *session, uint64_t bytes, struct ferry_vram_map *map)
{
    struct follower follower = {.traces = &session->bench.traces, .map = map};
    const struct ferry_lab_watch watch = {.context = &follower, .event = event, .placed = placed, .removed = removed};
    struct ferry_lab_outcome outcome = {.result = FERRY_LAB_NO_MEMORY};
    struct ferry_lab_bench bench = session->bench;
    bench.watch = &watch;
    if (begin(&follower, bytes)) {
        ferry_lab_run(&bench, NULL, bytes, &outcome);
        ferry_vram_map_end(map);
        if (outcome.result != FERRY_LAB_OK)
            ferry_vram_map_free(map);
    }
    free(follower.at);
    free(follower.jobs);
    ferry_lab_outcome_release(&outcome);
    if (outcome.result == FERRY_LAB_OK)
        return FERRY_EXIT_OK;
    ferry_complain("the memory map cannot be made: %s", outcome.result == FERRY_LAB_TOO_SMALL
                                                            ? "the manager finds no room for a job"
                                                        : outcome.problem[0] ? outcome.problem
                                                                             : "no memory");
    return outcome.result == FERRY_LAB_TOO_SMALL ? FERRY_EXIT_TOO_SMALL : FERRY_EXIT_LIBRARY;
}

int ferry_page_map_draw(FILE *file, const struct ferry_policy_session *session, const struct ferry_vram_map *map)
{
    struct ferry_vram_program programs[FERRY_LAB_MOST_TRACES];
    const struct ferry_lab_traces *traces = &session->bench.traces;
    for (uint32_t i = 0; i < traces->count; i++)
        programs[i] = (struct ferry_vram_program){.name = session->report.trace_names[i],
                                                  .weight = session->bench.programs[i].weight,
                                                  .trace = &traces->traces[i],
                                                  .first_object = traces->first_object[i]};
    return ferry_vram_svg_draw(file, map, programs, traces->count, "the manager, nothing moved");
}
