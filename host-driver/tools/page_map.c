// SPDX-License-Identifier: Apache-2.0
#include "tools/page_map.h"

#include <stdlib.h>
#include <string.h>

#include "lab/cursor.h"
#include "tools/tool.h"
#include "tools/vram_svg.h"

#define CYCLES_A_MILLISECOND 1e5 // at 100 MHz

struct follower {
    const struct ferry_lab_traces *traces;
    struct ferry_vram_map *map;
    uint32_t *jobs;      // of each frame, and of what comes behind the last one's end
    uint64_t frame, job; // that go on
};

// One program: frames, with a fraction by the jobs of the frame that are done. Several have no frame in common.
static void event(void *context, uint32_t program, const struct ferry_trace_event *event, bool leads, uint64_t cycles)
{
    struct follower *follower = context;
    (void)program;
    ferry_vram_map_step(follower->map);
    if (follower->traces->count > 1) {
        follower->map->now = (double)cycles / CYCLES_A_MILLISECOND;
    } else if (ferry_lab_is_job(event)) {
        uint32_t jobs = follower->jobs[follower->frame];
        follower->map->now = (double)follower->frame + (double)follower->job++ / (jobs + 1.0);
    } else if (event->op == FERRY_TRACE_FRAME) {
        follower->map->now = (double)++follower->frame;
        follower->job = 0;
    }
    if (event->op == FERRY_TRACE_FRAME && leads)
        ferry_vram_map_end_frame(follower->map);
}

// A renamed object stands in several places: its content is in the newest.
static void placed(void *context, uint32_t made, uint64_t offset, uint64_t bytes)
{
    struct follower *follower = context;
    ferry_vram_map_placed(follower->map, made, offset, bytes);
    ferry_vram_map_current(follower->map, made, offset);
}

static void removed(void *context, uint32_t made, uint64_t offset)
{
    struct follower *follower = context;
    ferry_vram_map_removed(follower->map, made, offset);
}

// An allocation as it is created; textures that follow each other mostly share their format's name.
static bool add_name(struct ferry_trace *names, const struct ferry_lab_creation *creation)
{
    size_t length = strlen(creation->format) + 1;
    uint32_t last = names->object_count ? names->objects[names->object_count - 1].format : 0;
    if (ferry_reserve(&names->objects, &names->object_capacity, names->object_count + 1, sizeof *names->objects) != 0 ||
        names->text_bytes + length > UINT32_MAX ||
        ferry_reserve(&names->text, &names->text_capacity, names->text_bytes + length, 1) != 0)
        return false;
    if (!last || strcmp(names->text + last, creation->format) != 0) {
        last = (uint32_t)names->text_bytes;
        memcpy(names->text + last, creation->format, length);
        names->text_bytes += length;
    }
    names->objects[names->object_count++] = (struct ferry_trace_object){.id = creation->id,
                                                                        .bytes = creation->bytes,
                                                                        .width = creation->width,
                                                                        .height = creation->height,
                                                                        .format = last};
    return true;
}

// What a program's allocations are, and of one alone how many jobs each frame has.
static bool read_names(struct follower *follower, uint32_t program, struct ferry_trace *names)
{
    const struct ferry_lab_traces *traces = follower->traces;
    const struct ferry_trace_event *event;
    struct ferry_lab_unpacker at;
    uint64_t frame = 0;
    int more = ferry_lab_unpack_begin(&at, traces->packed[program]) ? 1 : -1;
    snprintf(names->unit, sizeof names->unit, "%s", traces->packed[program]->unit);
    while (more > 0 && (more = ferry_lab_unpack(&at, &event)) > 0) {
        if (event->op == FERRY_TRACE_CREATE && !add_name(names, &at.creation))
            more = -1;
        if (traces->count == 1) {
            follower->jobs[frame] += ferry_lab_is_job(event);
            frame += event->op == FERRY_TRACE_FRAME;
        }
    }
    ferry_lab_unpack_end(&at);
    return more == 0;
}

static bool begin(struct follower *follower, uint64_t bytes, struct ferry_trace *names)
{
    const struct ferry_lab_traces *traces = follower->traces;
    uint64_t *sizes = calloc(traces->made + 1, sizeof *sizes), made = 0;
    uint8_t *programs = calloc(traces->made + 1, 1);
    follower->jobs = calloc(traces->frames + 1, sizeof *follower->jobs);
    bool good = sizes && programs && follower->jobs;
    for (uint32_t i = 0; i < traces->count && good; i++) {
        good = read_names(follower, i, &names[i]);
        for (size_t k = 0; k < names[i].object_count && good; k++, made++) {
            sizes[made] = (names[i].objects[k].bytes + 4095) / 4096 * 4096;
            programs[made] = (uint8_t)i;
        }
    }
    good = good && ferry_vram_map_begin(follower->map, bytes, traces->made, sizes, programs, traces->count, true) == 0;
    free(sizes);
    free(programs);
    return good;
}

void ferry_page_map_free(struct ferry_page_map *map)
{
    ferry_vram_map_free(&map->map);
    for (unsigned i = 0; i < FERRY_LAB_MOST_TRACES; i++)
        ferry_trace_free(&map->names[i]);
}

int ferry_page_map(struct ferry_policy_session *session, const struct ferry_policy_size *size,
                   struct ferry_page_map *map)
{
    struct follower follower = {.traces = &session->bench.traces, .map = &map->map};
    const struct ferry_lab_watch watch = {.context = &follower, .event = event, .placed = placed, .removed = removed};
    struct ferry_lab_outcome outcome = {.result = FERRY_LAB_NO_MEMORY};
    struct ferry_lab_bench bench = session->bench;
    bench.watch = &watch;
    *map = (struct ferry_page_map){0};
    // Its machine ends with the run, and so do all stays.
    if (begin(&follower, size->bytes, map->names))
        ferry_lab_run(&bench, NULL, size->bytes, &outcome);
    free(follower.jobs);
    ferry_lab_outcome_release(&outcome);
    if (outcome.result == FERRY_LAB_OK)
        return FERRY_EXIT_OK;
    // The manager may not have been played yet, and what it cannot keep for a program no other policy has to.
    if (outcome.result == FERRY_LAB_TOO_SMALL)
        return ferry_policy_complain(session, size, &outcome);
    ferry_complain("the memory map cannot be made: %s", outcome.problem[0] ? outcome.problem : "no memory");
    return FERRY_EXIT_LIBRARY;
}

int ferry_page_map_draw(FILE *file, const struct ferry_policy_session *session, const struct ferry_page_map *map)
{
    struct ferry_vram_program programs[FERRY_LAB_MOST_TRACES];
    const struct ferry_lab_traces *traces = &session->bench.traces;
    for (uint32_t i = 0; i < traces->count; i++)
        programs[i] = (struct ferry_vram_program){.name = session->report.trace_names[i],
                                                  .weight = session->bench.programs[i].weight,
                                                  .trace = &map->names[i],
                                                  .first_object = (uint32_t)traces->first_made[i]};
    return ferry_vram_svg_draw(file, &map->map, programs, traces->count, "the manager, nothing moved");
}
