// SPDX-License-Identifier: Apache-2.0
// What one replay needs before its first event: traces, adapter, programs and files; and its end.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/output.h"
#include "tools/player.h"
#include "tools/tool.h"
#include "tools/why.h"

// ---- Before anything is made --------------------------------------------------------------------------------------

static int read_trace(struct ferry_player *player, const char *path)
{
    const struct ferry_session *session = player->session;
    struct ferry_trace_error error;
    if (ferry_trace_read(path, &player->trace, &error) != 0) {
        if (error.line)
            ferry_complain("%s: line %" PRIu64 ": %s", path, error.line, error.reason);
        else
            ferry_complain("%s: %s", path, error.reason);
        return FERRY_EXIT_USAGE;
    }
    const char *slash = strrchr(path, '/');
    player->trace_name = slash ? slash + 1 : path;
    player->report->trace_name = player->trace_name;
    player->event_end = ferry_trace_events_of_frames(&player->trace, session->options->frames);
    player->frame_count = player->trace.frames;
    if (session->options->frames && session->options->frames < player->frame_count)
        player->frame_count = session->options->frames;
    player->objects = calloc(player->trace.object_count + 1, sizeof *player->objects);
    return player->objects ? FERRY_EXIT_OK : ferry_session_failed(player->session, "begin", FERRY_ERROR_NO_HOST_MEMORY);
}

static int read_traces(struct ferry_session *session)
{
    const struct ferry_replay_options *options = session->options;
    size_t used = 0, objects = 0;
    session->players = calloc(options->trace_count, sizeof *session->players);
    session->report.programs = calloc(options->trace_count, sizeof *session->report.programs);
    if (!session->players || !session->report.programs)
        return ferry_session_failed(session, "begin", FERRY_ERROR_NO_HOST_MEMORY);
    session->player_count = session->report.program_count = options->trace_count;
    for (unsigned i = 0; i < options->trace_count; i++) {
        struct ferry_player *player = &session->players[i];
        player->session = session;
        player->number = i;
        player->report = &session->report.programs[i];
        // The same trace played twice has content of its own each time.
        player->seed = i ? ferry_mix(options->seed + i) : options->seed;
        player->first_object = (uint32_t)objects;
        int status = read_trace(player, options->trace_files[i]);
        if (status != FERRY_EXIT_OK)
            return status;
        objects += player->trace.object_count;
        if (objects > UINT32_MAX - 1 - FERRY_MOST_TRACES)
            return ferry_session_failed(session, "begin", FERRY_ERROR_NO_HOST_MEMORY);
        for (size_t k = 0; k < player->event_end; k++)
            session->work += ferry_play_work(&player->trace.events[k]);
        if (used < sizeof session->names)
            used += (size_t)snprintf(session->names + used, sizeof session->names - used, "%s%.80s", i ? " + " : "",
                                     player->trace_name);
    }
    session->object_count = (uint32_t)objects;
    snprintf(session->title, sizeof session->title, "%.130s on %.16s", session->names,
             options->backend ? options->backend : "sim");
    return FERRY_EXIT_OK;
}

// ---- What is made -------------------------------------------------------------------------------------------------

// What no other back end looks at.
static const char *of_the_simulation(const struct ferry_replay_options *options)
{
    return options->wave_file             ? "wave"
           : options->read_latency_cycles ? "latency"
           : options->link_latency_cycles ? "link-latency"
           : options->stall_percent       ? "stall"
                                          : NULL;
}

static int open_adapter(struct ferry_session *session)
{
    const struct ferry_replay_options *options = session->options;
    const char *way = ferry_way_by_address(options->paging, options->tables, options->iommu);
    if (options->model == 1 && way) {
        ferry_complain("--%s is of GPU virtual addresses, which there are in driver model 2 alone", way);
        return FERRY_EXIT_USAGE;
    }
    const char *simulated = of_the_simulation(options);
    if (simulated && options->backend && strcmp(options->backend, "sim") != 0) {
        ferry_complain("--%s is of the back end sim alone; a ferry-sim has it as an option of its own", simulated);
        return FERRY_EXIT_USAGE;
    }
    struct ferry_adapter_options adapter = {
        .size = sizeof adapter,
        .backend = options->backend,
        .video_memory_bytes = options->video_memory_bytes,
        .paging_buffer_bytes = (uint32_t)options->paging_buffer_bytes,
        .read_latency_cycles = (uint32_t)options->read_latency_cycles,
        .link_latency_cycles = (uint32_t)options->link_latency_cycles,
        .random_stall_percent = (uint32_t)options->stall_percent,
        .seed = options->seed,
        .model = (uint32_t)options->model,
        .paging = (uint32_t)options->paging,
        .tables = (uint32_t)options->tables,
        .iommu = options->iommu,
        .wave_file = options->wave_file,
    };
    int error = ferry_adapter_open(&adapter, &session->adapter);
    if (error < 0) {
        session->adapter = NULL;
        bool bare = way && error == FERRY_ERROR_UNSUPPORTED;
        ferry_complain("cannot open back end '%s': %s: %s%s%s", options->backend ? options->backend : "sim",
                       ferry_error_name(error), bare ? "--" : "", bare ? way : ferry_why(error),
                       bare ? " is of GPU virtual addresses, which this device has no page tables for" : "");
        return error == FERRY_ERROR_BACKEND || error == FERRY_ERROR_ARGUMENT ? FERRY_EXIT_USAGE : FERRY_EXIT_LIBRARY;
    }
    session->info.size = sizeof session->info;
    error = ferry_adapter_query(session->adapter, &session->info);
    if (error < 0)
        return ferry_session_failed(session, "query the adapter", error);
    if (options->spaces_file && session->info.model != 2) {
        ferry_complain("--spaces shows GPU virtual addresses, which there are in driver model 2 alone");
        return FERRY_EXIT_USAGE;
    }
    if (session->info.video_memory_bytes >= options->video_memory_bytes)
        return FERRY_EXIT_OK;
    ferry_complain("the device has %" PRIu64 " bytes of video memory%s, less than --vram asks for",
                   session->info.video_memory_bytes, session->info.model == 2 ? " beside page tables" : "");
    return FERRY_EXIT_USAGE;
}

static int begin_map(struct ferry_session *session)
{
    uint64_t *sizes = malloc((session->object_count + 1) * sizeof *sizes);
    uint8_t *programs = malloc(session->object_count + 1);
    if (!sizes || !programs) {
        free(sizes);
        free(programs);
        return -1;
    }
    for (unsigned i = 0; i < session->player_count; i++) {
        const struct ferry_player *player = &session->players[i];
        for (size_t k = 0; k < player->trace.object_count; k++) {
            sizes[player->first_object + k] = player->trace.objects[k].bytes;
            programs[player->first_object + k] = (uint8_t)i;
        }
    }
    int status = ferry_vram_map_begin(&session->map, session->info.video_memory_bytes, session->object_count, sizes,
                                      programs, session->player_count, session->options->svg_file != NULL);
    free(sizes);
    free(programs);
    return status;
}

static int begin_pictures(struct ferry_session *session)
{
    const char *path = session->options->timeline_file;
    if (begin_map(session) != 0)
        return ferry_session_failed(session, "begin", FERRY_ERROR_NO_HOST_MEMORY);
    session->map_ready = true;
    if (session->options->spaces_file && ferry_space_map_begin(&session->spaces, session->player_count) != 0)
        return ferry_session_failed(session, "begin", FERRY_ERROR_NO_HOST_MEMORY);
    if (path && !(session->timeline = ferry_timeline_open(path, session->title, session->player_count))) {
        ferry_complain("cannot write %s: %s", path, strerror(errno));
        return FERRY_EXIT_USAGE;
    }
    for (unsigned i = 0; i < session->player_count && session->timeline; i++) {
        const struct ferry_program_report *program = session->players[i].report;
        char name[128];
        snprintf(name, sizeof name, "program %u: %.80s, weight %u", i + 1, program->trace_name, program->weight);
        ferry_timeline_program(session->timeline, i, name);
        ferry_timeline_value(session->timeline, i, "budget", program->budget);
    }
    int error = ferry_adapter_observe(session->adapter, ferry_session_observe, session);
    return error < 0 ? ferry_session_failed(session, "observe the adapter", error) : FERRY_EXIT_OK;
}

static int begin_player(struct ferry_player *player)
{
    int error = ferry_process_create_device(player->process, &player->device);
    if (error < 0)
        return ferry_session_failed(player->session, "create a device", error);
    if ((error = ferry_queue_create(player->device, &player->queue)) < 0)
        return ferry_session_failed(player->session, "create a queue", error);
    return ferry_readback_begin(player);
}

int ferry_session_begin(struct ferry_session *session)
{
    const struct ferry_replay_options *options = session->options;
    const char *const files[] = {options->json_file, options->svg_file, options->spaces_file, options->timeline_file,
                                 options->wave_file};
    int status = read_traces(session);
    if (status == FERRY_EXIT_OK)
        status = ferry_inject_begin(session);
    if (status == FERRY_EXIT_OK)
        status = ferry_programs_read(session);
    if (status == FERRY_EXIT_OK)
        status = ferry_outputs_check(files, sizeof files / sizeof files[0], options->trace_files, options->trace_count);
    if (status == FERRY_EXIT_OK)
        status = open_adapter(session);
    if (status == FERRY_EXIT_OK)
        status = ferry_inject_on_link(session);
    if (status == FERRY_EXIT_OK)
        status = ferry_programs_begin(session);
    if (status == FERRY_EXIT_OK)
        status = begin_pictures(session);
    for (unsigned i = 0; i < session->player_count && status == FERRY_EXIT_OK; i++)
        status = begin_player(&session->players[i]);
    return status;
}

int ferry_session_statistics(struct ferry_session *session, struct ferry_statistics *statistics)
{
    statistics->size = sizeof *statistics;
    int error = ferry_adapter_statistics(session->adapter, statistics);
    return error < 0 ? ferry_session_failed(session, "read the counters", error) : FERRY_EXIT_OK;
}

static void free_player(struct ferry_player *player)
{
    ferry_readback_free(player);
    for (size_t i = 0; player->objects && i < player->trace.object_count; i++)
        ferry_content_free(&player->objects[i].content);
    free(player->objects);
    free(player->evicted);
    free(player->handles);
    ferry_trace_free(&player->trace);
}

void ferry_session_free(struct ferry_session *session)
{
    ferry_adapter_close(session->adapter);
    ferry_timeline_close(session->timeline);
    for (unsigned i = 0; i < session->player_count; i++)
        free_player(&session->players[i]);
    ferry_id_map_free(&session->by_library_id);
    if (session->map_ready)
        ferry_vram_map_free(&session->map);
    ferry_space_map_free(&session->spaces);
    free(session->players);
    free(session->report.programs);
}
