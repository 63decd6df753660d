// SPDX-License-Identifier: Apache-2.0
// One replay from the trace file to the written figures; play.c has the events.
#include "tools/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/json.h"
#include "tools/picture.h"
#include "tools/player.h"
#include "tools/tool.h"
#include "tools/vram_svg.h"

// How much longer GPU work takes than the rest, for places inside a frame and for the progress.
#define WORK_OF_JOB 16.0

static double work_of(const struct ferry_trace_event *event)
{
    return event->op == FERRY_TRACE_DRAW || event->op == FERRY_TRACE_TARGET ? WORK_OF_JOB : 1;
}

// ---- The run ------------------------------------------------------------------------------------------------------

// Every draw must fit by itself: found out before anything runs.
static int check_draws_fit(struct ferry_player *player)
{
    for (size_t i = 0; i < player->event_end; i++) {
        const struct ferry_trace_event *event = &player->trace.events[i];
        bool draw = event->op == FERRY_TRACE_DRAW;
        if (!draw && event->op != FERRY_TRACE_TARGET)
            continue;
        const uint32_t *objects = draw ? player->trace.draws + event->a : &event->object;
        size_t count = draw ? (size_t)event->b : 1;
        if (ferry_play_bytes(player, objects, count) > player->info.video_memory_bytes)
            return ferry_play_too_small(player, event->line, objects, count, draw, "");
    }
    return FERRY_EXIT_OK;
}

static int begin_map(struct ferry_player *player)
{
    size_t count = player->trace.object_count;
    uint64_t *sizes = malloc((count + 1) * sizeof *sizes);
    if (!sizes)
        return -1;
    for (size_t i = 0; i < count; i++)
        sizes[i] = player->trace.objects[i].bytes;
    int status = ferry_vram_map_begin(&player->map, player->info.video_memory_bytes, count, sizes,
                                      player->options->svg_file != NULL);
    free(sizes);
    return status;
}

static int open_adapter(struct ferry_player *player)
{
    const struct ferry_replay_options *options = player->options;
    struct ferry_adapter_options adapter = {
        .size = sizeof adapter,
        .backend = options->backend,
        .video_memory_bytes = options->video_memory_bytes,
        .paging_buffer_bytes = (uint32_t)options->paging_buffer_bytes,
        .read_latency_cycles = (uint32_t)options->read_latency_cycles,
        .link_latency_cycles = (uint32_t)options->link_latency_cycles,
        .random_stall_percent = (uint32_t)options->stall_percent,
        .seed = options->seed,
        .wave_file = options->wave_file,
    };
    int error = ferry_adapter_open(&adapter, &player->adapter);
    if (error < 0) {
        player->adapter = NULL;
        ferry_complain("cannot open back end '%s': %s: %s", options->backend ? options->backend : "sim",
                       ferry_error_name(error), ferry_error_text(error));
        return error == FERRY_ERROR_BACKEND || error == FERRY_ERROR_ARGUMENT ? FERRY_EXIT_USAGE : FERRY_EXIT_LIBRARY;
    }
    player->info.size = sizeof player->info;
    error = ferry_adapter_query(player->adapter, &player->info);
    if (error < 0)
        return ferry_player_failed(player, "query the adapter", error);
    if (player->info.video_memory_bytes < options->video_memory_bytes) {
        ferry_complain("the device has %" PRIu64 " bytes of video memory, less than --vram asks for",
                       player->info.video_memory_bytes);
        return FERRY_EXIT_USAGE;
    }
    int status = check_draws_fit(player);
    if (status != FERRY_EXIT_OK)
        return status;
    if (begin_map(player) != 0)
        return ferry_player_failed(player, "begin", FERRY_ERROR_NO_HOST_MEMORY);
    player->map_ready = true;
    if (options->timeline_file) {
        player->timeline = ferry_timeline_open(options->timeline_file, player->title);
        if (!player->timeline) {
            ferry_complain("cannot write %s: %s", options->timeline_file, strerror(errno));
            return FERRY_EXIT_USAGE;
        }
    }
    if ((error = ferry_device_create(player->adapter, &player->device)) < 0)
        return ferry_player_failed(player, "create a device", error);
    if ((error = ferry_queue_create(player->device, &player->queue)) < 0)
        return ferry_player_failed(player, "create a queue", error);
    if ((error = ferry_adapter_observe(player->adapter, ferry_player_observe, player)) < 0)
        return ferry_player_failed(player, "observe the adapter", error);
    return ferry_readback_begin(player);
}

static int play_all(struct ferry_player *player)
{
    int status = FERRY_EXIT_OK;
    size_t frame_begin = 0;
    while (frame_begin < player->event_end && status == FERRY_EXIT_OK) {
        size_t frame_end = frame_begin;
        double frame_work = 0, frame_done = 0;
        while (frame_end < player->event_end && player->trace.events[frame_end++].op != FERRY_TRACE_FRAME)
            frame_work += work_of(&player->trace.events[frame_end - 1]);
        for (size_t i = frame_begin; i < frame_end && status == FERRY_EXIT_OK; i++) {
            const struct ferry_trace_event *event = &player->trace.events[i];
            if (event->op != FERRY_TRACE_FRAME)
                player->map.now = (double)player->report.frames + frame_done / (frame_work + 1);
            status = ferry_play_event(player, event);
            frame_done += work_of(event);
            player->work_done += work_of(event);
            if (i % 32 == 0)
                ferry_player_show(player, false);
        }
        frame_begin = frame_end;
    }
    // Both areas: the jobs of the last frame and of the one before.
    for (int i = 0; i < 2 && status == FERRY_EXIT_OK; i++)
        status = ferry_readback_turn(player);
    return status;
}

static int take_statistics(struct ferry_player *player, struct ferry_statistics *statistics)
{
    statistics->size = sizeof *statistics;
    int error = ferry_adapter_statistics(player->adapter, statistics);
    return error < 0 ? ferry_player_failed(player, "read the counters", error) : FERRY_EXIT_OK;
}

// Faults of any kind fail the run even when all content is right.
static int check_faults(struct ferry_player *player, int status)
{
    struct ferry_statistics last;
    if (take_statistics(player, &last) != FERRY_EXIT_OK)
        return FERRY_EXIT_LIBRARY;
    ferry_statistics_subtract(&last, &player->start);
    if (last.faults > player->report.faults)
        player->report.faults = last.faults;
    if (status == FERRY_EXIT_OK && (last.faults || last.unmapped_accesses || last.dummy_page_writes)) {
        ferry_complain("%" PRIu64 " faults, %" PRIu64 " accesses to unmapped host memory, %" PRIu64
                       " writes to the dummy page in a run that should have none",
                       last.faults, last.unmapped_accesses, last.dummy_page_writes);
        return FERRY_EXIT_WRONG;
    }
    return status;
}

static int run(struct ferry_player *player)
{
    int status = open_adapter(player);
    if (status == FERRY_EXIT_OK)
        status = take_statistics(player, &player->start);
    if (status != FERRY_EXIT_OK)
        return status;
    ferry_picture_begin(player->options->quiet);
    player->start_seconds = ferry_seconds();
    status = play_all(player);
    struct ferry_statistics end;
    int counted = take_statistics(player, &end);
    player->report.seconds = ferry_seconds() - player->start_seconds;
    if (status == FERRY_EXIT_OK)
        status = ferry_check_evicted(player);
    if (status == FERRY_EXIT_OK)
        status = ferry_check_all(player);
    ferry_player_show(player, true);
    ferry_picture_end();
    if (counted == FERRY_EXIT_OK) {
        ferry_statistics_subtract(&end, &player->start);
        player->report.statistics = end;
    }
    return check_faults(player, status == FERRY_EXIT_OK ? counted : status);
}

static int write_files(struct ferry_player *player, int status)
{
    const struct ferry_replay_options *options = player->options;
    const char *failed = NULL;
    if (options->timeline_file && ferry_timeline_close(player->timeline) != 0)
        failed = options->timeline_file;
    if (!failed && options->svg_file) {
        ferry_vram_map_end(&player->map);
        if (ferry_vram_svg_write(options->svg_file, &player->map, &player->trace, player->trace_name,
                                 player->info.backend))
            failed = options->svg_file;
    }
    if (!failed && options->json_file && ferry_json_write(options->json_file, &player->report) != 0)
        failed = options->json_file;
    player->timeline = NULL;
    if (!failed)
        return status;
    ferry_complain("cannot write %s: %s", failed, strerror(errno));
    return status == FERRY_EXIT_OK ? FERRY_EXIT_LIBRARY : status;
}

// Output files that cannot be made are an error before the run, not after it. Nothing is created yet.
static int check_writable(const char *path)
{
    if (!path || access(path, W_OK) == 0)
        return FERRY_EXIT_OK;
    int why = errno;
    if (why == ENOENT) {
        const char *slash = strrchr(path, '/');
        size_t length = slash ? (size_t)(slash - path) : 0;
        char *folder = malloc(length + 2);
        if (!folder)
            return FERRY_EXIT_LIBRARY;
        memcpy(folder, path, length);
        strcpy(folder + length, length ? "" : slash ? "/" : ".");
        why = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
        free(folder);
    }
    if (why == 0)
        return FERRY_EXIT_OK;
    ferry_complain("cannot write %s: %s", path, strerror(why));
    return FERRY_EXIT_USAGE;
}

static int read_trace(struct ferry_player *player)
{
    struct ferry_trace_error error;
    const char *path = player->options->trace_file;
    if (ferry_trace_read(path, &player->trace, &error) != 0) {
        if (error.line)
            ferry_complain("%s: line %" PRIu64 ": %s", path, error.line, error.reason);
        else
            ferry_complain("%s: %s", path, error.reason);
        return FERRY_EXIT_USAGE;
    }
    const char *slash = strrchr(path, '/');
    player->trace_name = slash ? slash + 1 : path;
    player->event_end = ferry_trace_events_of_frames(&player->trace, player->options->frames);
    player->frame_count = player->trace.frames;
    if (player->options->frames && player->options->frames < player->frame_count)
        player->frame_count = player->options->frames;
    for (size_t i = 0; i < player->event_end; i++)
        player->work += work_of(&player->trace.events[i]);
    player->objects = calloc(player->trace.object_count + 1, sizeof *player->objects);
    snprintf(player->title, sizeof player->title, "%.80s on %.16s", player->trace_name,
             player->options->backend ? player->options->backend : "sim");
    return player->objects ? FERRY_EXIT_OK : ferry_player_failed(player, "begin", FERRY_ERROR_NO_HOST_MEMORY);
}

static void free_player(struct ferry_player *player)
{
    ferry_adapter_close(player->adapter);
    ferry_timeline_close(player->timeline);
    ferry_readback_free(player);
    if (player->objects) {
        for (size_t i = 0; i < player->trace.object_count; i++)
            ferry_content_free(&player->objects[i].content);
    }
    free(player->objects);
    free(player->evicted);
    free(player->handles);
    ferry_id_map_free(&player->by_library_id);
    if (player->map_ready)
        ferry_vram_map_free(&player->map);
    ferry_trace_free(&player->trace);
}

int ferry_replay(const struct ferry_replay_options *options)
{
    struct ferry_player player = {.options = options};
    int status = read_trace(&player);
    if (status == FERRY_EXIT_OK)
        status = ferry_inject_begin(&player);
    if (status == FERRY_EXIT_OK)
        status = check_writable(options->json_file);
    if (status == FERRY_EXIT_OK)
        status = check_writable(options->svg_file);
    if (status == FERRY_EXIT_OK)
        status = check_writable(options->timeline_file);
    if (status == FERRY_EXIT_OK) {
        status = run(&player);
        if (status == FERRY_EXIT_OK)
            status = ferry_inject_end(&player);
        // Closing may still call back: nothing is to be observed from here on.
        if (player.adapter)
            ferry_adapter_observe(player.adapter, NULL, NULL);
        player.report.trace_name = player.trace_name;
        player.report.backend = player.info.backend;
        player.report.video_memory_bytes = player.info.video_memory_bytes;
        player.report.seed = options->seed;
        player.report.exit_code = status;
        if (player.map_ready) {
            status = write_files(&player, status);
            if (!options->quiet || status == FERRY_EXIT_OK)
                ferry_report_print(stdout, &player.report);
        }
        if (status == FERRY_EXIT_OK && (options->timeline_file || options->svg_file || options->json_file)) {
            printf("\n");
            if (options->json_file)
                printf("figures:   %s\n", options->json_file);
            if (options->timeline_file)
                printf("timeline:  %s   (open it at https://ui.perfetto.dev)\n", options->timeline_file);
            if (options->svg_file)
                printf("picture:   %s   (open it in a browser)\n", options->svg_file);
        }
    }
    free_player(&player);
    return status;
}
