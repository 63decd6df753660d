// SPDX-License-Identifier: Apache-2.0
// One replay from its first event to the written figures; session.c opens and closes, play.c has the events.
//
// Several programs play in turn, each up to its next GPU job or end of frame. So the order of all calls follows from
// the traces alone: the same traces give the same cycles. A program whose trace has ended is compared and ends; the
// others then have larger budgets. What the comparison costs is not in the figures.
#include "tools/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/advice_text.h"
#include "tools/json.h"
#include "tools/picture.h"
#include "tools/player.h"
#include "tools/space_svg.h"
#include "tools/tool.h"
#include "tools/vram_svg.h"

// ---- The run ------------------------------------------------------------------------------------------------------

static void begin_frame(struct ferry_player *player)
{
    const struct ferry_trace_event *events = player->trace.events;
    player->frame_end = player->event;
    player->frame_work = player->frame_done = 0;
    while (player->frame_end < player->event_end && events[player->frame_end++].op != FERRY_TRACE_FRAME)
        player->frame_work += ferry_play_work(&events[player->frame_end - 1]);
}

// Up to its next GPU job or end of frame, or to the end of its trace.
static int play_step(struct ferry_player *player)
{
    struct ferry_session *session = player->session;
    int status = FERRY_EXIT_OK;
    bool over = false;
    while (player->event < player->event_end && !over && status == FERRY_EXIT_OK) {
        if (player->event >= player->frame_end)
            begin_frame(player);
        const struct ferry_trace_event *event = &player->trace.events[player->event];
        if (event->op != FERRY_TRACE_FRAME && session->player_count == 1)
            session->map.now = (double)player->report->frames + player->frame_done / (player->frame_work + 1);
        status = ferry_play_event(player, event);
        player->frame_done += ferry_play_work(event);
        session->work_done += ferry_play_work(event);
        if (player->event++ % 32 == 0)
            ferry_session_show(session, false);
        over = event->op == FERRY_TRACE_DRAW || event->op == FERRY_TRACE_TARGET || event->op == FERRY_TRACE_FRAME;
    }
    return status;
}

// Nothing of the others is left to be done while one is compared: what the counters show then is the comparison's.
static int wait_for_all(struct ferry_session *session)
{
    for (unsigned i = 0; i < session->player_count; i++) {
        struct ferry_player *player = &session->players[i];
        int error = player->ended || player->fence == 0 ? FERRY_OK : ferry_queue_wait(player->queue, player->fence);
        if (error < 0)
            return ferry_player_failed(player, "wait for a job", error);
    }
    return FERRY_EXIT_OK;
}

static int leave(struct ferry_player *player)
{
    for (size_t i = 0; i < player->trace.object_count; i++) {
        player->session->living -= player->objects[i].allocation != NULL;
        player->objects[i].allocation = NULL;
    }
    int error = ferry_process_destroy(player->process);
    return error < 0 ? ferry_player_failed(player, "end a process", error) : FERRY_EXIT_OK;
}

// Its trace has ended: compare all that it has, and end it.
static int end_program(struct ferry_player *player, bool last)
{
    struct ferry_session *session = player->session;
    struct ferry_statistics before, after;
    int status = FERRY_EXIT_OK;
    // Both areas: the jobs of the last frame and of the one before.
    for (int i = 0; i < 2 && status == FERRY_EXIT_OK; i++)
        status = ferry_readback_turn(player);
    if (status == FERRY_EXIT_OK)
        status = wait_for_all(session);
    if (status == FERRY_EXIT_OK)
        status = ferry_program_count(player);
    if (status == FERRY_EXIT_OK)
        status = ferry_session_statistics(session, &before);
    if (status != FERRY_EXIT_OK)
        return status;
    double began = ferry_seconds();
    status = ferry_check_evicted(player);
    if (status == FERRY_EXIT_OK)
        status = ferry_check_all(player);
    player->ended = true;
    if (last) {
        session->end = before;
        session->outside_seconds += ferry_seconds() - began;
        return status;
    }
    if (status == FERRY_EXIT_OK)
        status = leave(player);
    if (status == FERRY_EXIT_OK)
        status = ferry_session_statistics(session, &after);
    if (status == FERRY_EXIT_OK) {
        ferry_statistics_subtract(&after, &before);
        ferry_statistics_add(&session->outside, &after);
        session->outside_seconds += ferry_seconds() - began;
    }
    return status;
}

static int play_all(struct ferry_session *session)
{
    int status = FERRY_EXIT_OK;
    for (unsigned left = session->player_count; left > 0 && status == FERRY_EXIT_OK;) {
        for (unsigned i = 0; i < session->player_count && status == FERRY_EXIT_OK; i++) {
            struct ferry_player *player = &session->players[i];
            if (player->ended)
                continue;
            status = play_step(player);
            if (player->event == player->event_end && status == FERRY_EXIT_OK)
                status = end_program(player, --left == 0);
        }
    }
    return status;
}

// Faults of any kind fail the run even when all content is right.
static int check_faults(struct ferry_session *session, int status)
{
    struct ferry_statistics last;
    if (ferry_session_statistics(session, &last) != FERRY_EXIT_OK)
        return FERRY_EXIT_LIBRARY;
    ferry_statistics_subtract(&last, &session->start);
    if (last.faults > session->report.faults)
        session->report.faults = last.faults;
    if (status == FERRY_EXIT_OK && (last.faults || last.unmapped_accesses || last.dummy_page_writes)) {
        ferry_complain("%" PRIu64 " faults, %" PRIu64 " accesses to unmapped host memory, %" PRIu64
                       " writes to the dummy page in a run that should have none",
                       last.faults, last.unmapped_accesses, last.dummy_page_writes);
        return FERRY_EXIT_WRONG;
    }
    return status;
}

static void sum_up(struct ferry_session *session)
{
    struct ferry_report *report = &session->report;
    for (unsigned i = 0; i < report->program_count; i++) {
        const struct ferry_program_report *program = &report->programs[i];
        report->frames += program->frames;
        report->allocations += program->allocations;
        report->draws += program->draws;
        report->targets += program->targets;
        report->writes += program->writes;
        report->locks += program->locks;
        report->verified_bytes += program->verified_bytes;
        report->bad_bytes += program->bad_bytes;
    }
    report->trace_name = session->names;
    report->backend = session->info.backend;
    report->driver_model = session->info.model;
    report->video_memory_bytes = session->info.video_memory_bytes;
    report->seed = session->options->seed;
}

static int run(struct ferry_session *session)
{
    int status = ferry_session_statistics(session, &session->start);
    if (status != FERRY_EXIT_OK)
        return status;
    ferry_picture_begin(session->options->quiet);
    session->start_seconds = ferry_seconds();
    status = play_all(session);
    int counted = session->end.size ? FERRY_EXIT_OK : ferry_session_statistics(session, &session->end);
    session->report.seconds = ferry_seconds() - session->start_seconds - session->outside_seconds;
    ferry_session_show(session, true);
    ferry_picture_end();
    if (counted == FERRY_EXIT_OK) {
        session->report.statistics = session->end;
        ferry_statistics_subtract(&session->report.statistics, &session->start);
        ferry_statistics_subtract(&session->report.statistics, &session->outside);
    }
    return check_faults(session, status == FERRY_EXIT_OK ? counted : status);
}

// ---- What it leaves -----------------------------------------------------------------------------------------------

static void name_programs(const struct ferry_session *session, struct ferry_vram_program programs[FERRY_MOST_TRACES])
{
    for (unsigned i = 0; i < session->player_count; i++) {
        const struct ferry_player *player = &session->players[i];
        programs[i] = (struct ferry_vram_program){
            .name = player->trace_name,
            .weight = player->report->weight,
            .budget = player->report->budget,
            .trace = &player->trace,
            .first_object = player->first_object,
        };
    }
}

static int write_picture(struct ferry_session *session)
{
    struct ferry_vram_program programs[FERRY_MOST_TRACES];
    name_programs(session, programs);
    ferry_vram_map_end(&session->map);
    return ferry_vram_svg_write(session->options->svg_file, &session->map, programs, session->player_count,
                                session->info.backend);
}

static int write_spaces(struct ferry_session *session)
{
    struct ferry_vram_program programs[FERRY_MOST_TRACES];
    name_programs(session, programs);
    ferry_space_map_end(&session->spaces, (float)session->map.now);
    return ferry_space_svg_write(session->options->spaces_file, &session->spaces, &session->map, programs,
                                 session->player_count, session->info.backend);
}

static int write_files(struct ferry_session *session, int status)
{
    const struct ferry_replay_options *options = session->options;
    const char *failed = NULL;
    if (options->timeline_file && ferry_timeline_close(session->timeline) != 0)
        failed = options->timeline_file;
    if (!failed && options->svg_file && write_picture(session) != 0)
        failed = options->svg_file;
    if (!failed && options->spaces_file && write_spaces(session) != 0)
        failed = options->spaces_file;
    if (!failed && options->json_file && ferry_json_write(options->json_file, &session->report) != 0)
        failed = options->json_file;
    session->timeline = NULL;
    if (!failed)
        return status;
    ferry_complain("cannot write %s: %s", failed, strerror(errno));
    return status == FERRY_EXIT_OK ? FERRY_EXIT_LIBRARY : status;
}

static void name_files(const struct ferry_replay_options *options)
{
    if (options->timeline_file || options->svg_file || options->spaces_file || options->json_file)
        printf("\n");
    if (options->json_file)
        ferry_print_line(stdout, "figures:   %s", options->json_file);
    if (options->timeline_file)
        ferry_print_line(stdout, "timeline:  %s   (open it at https://ui.perfetto.dev)", options->timeline_file);
    if (options->svg_file)
        ferry_print_line(stdout, "picture:   %s   (open it in a browser)", options->svg_file);
    if (options->spaces_file)
        ferry_print_line(stdout, "addresses: %s   (open it in a browser)", options->spaces_file);
}

// ---- What a person can do about it ----------------------------------------------------------------------------------

// One line when it takes long: the picture is gone, and the terminal may be one that knows no escapes.
static void show_search(void *context, double done)
{
    double *until = context;
    (void)done;
    if (*until == 0 || ferry_seconds() < *until)
        return;
    *until = 0;
    fputs("playing other sizes, for what can be done about the paging (--no-advice does without)\n", stderr);
}

// The laboratory plays what was replayed beside, at this size and at others.
static void advise(const struct ferry_session *session)
{
    struct ferry_lab_packed packed[FERRY_MOST_TRACES] = {0};
    const struct ferry_lab_packed *list[FERRY_MOST_TRACES];
    struct ferry_lab_reading reading = {0};
    const char *names[FERRY_MOST_TRACES];
    struct ferry_lab_bench bench = {.seed = session->options->seed, .others = ferry_other_processors()};
    struct ferry_lab_outcome outcome = {.result = FERRY_LAB_NO_MEMORY};
    struct ferry_lab_advice advice = {.problem = "no memory"};
    double until = ferry_seconds() + 2;
    bool good = false, ready = true;
    for (unsigned i = 0; i < session->player_count && ready; i++) {
        const struct ferry_player *player = &session->players[i];
        list[i] = &packed[i];
        ready = ferry_lab_pack_held(&packed[i], &player->trace, player->event_end, &reading) == 0;
        names[i] = player->trace_name;
        bench.programs[i] =
            (struct ferry_lab_program){.weight = player->report->weight, .reservation = player->report->reservation};
    }
    if (!session->options->quiet && isatty(STDERR_FILENO) == 1) {
        bench.manner = (struct ferry_lab_manner){.progress = show_search, .context = &until};
    }
    if (ready && ferry_lab_prepare(&bench.traces, list, session->player_count, false, &reading) == 0) {
        ferry_lab_run(&bench, NULL, session->info.video_memory_bytes, &outcome);
        good = ferry_lab_advise(&bench, session->info.video_memory_bytes, &outcome, &advice);
    }
    printf("\n");
    if (good && outcome.result == FERRY_LAB_OK)
        ferry_advice_print(stdout, &advice, &bench.traces, names);
    else
        printf("Nothing can be said of other sizes: %s.\n", reading.error.reason[0] ? reading.error.reason
                                                            : advice.problem[0]
                                                                ? advice.problem
                                                                : "a job does not fit where nothing is moved");
    ferry_lab_outcome_release(&outcome);
    ferry_lab_release(&bench.traces);
    for (unsigned i = 0; i < session->player_count; i++)
        ferry_lab_packed_free(&packed[i]);
}

int ferry_replay(const struct ferry_replay_options *options)
{
    struct ferry_session session = {.options = options};
    int status = ferry_session_begin(&session);
    if (status == FERRY_EXIT_OK)
        status = run(&session);
    if (status == FERRY_EXIT_OK)
        status = ferry_inject_end(&session);
    // Closing may still call back: nothing is to be observed from here on.
    if (session.adapter)
        ferry_adapter_observe(session.adapter, NULL, NULL);
    if (session.map_ready) {
        sum_up(&session);
        session.report.exit_code = status;
        status = write_files(&session, status);
        if (!options->quiet || status == FERRY_EXIT_OK)
            ferry_report_print(stdout, &session.report);
        if (status == FERRY_EXIT_OK)
            name_files(options);
        if (status == FERRY_EXIT_OK && !options->no_advice)
            advise(&session);
    }
    ferry_session_free(&session);
    return status;
}
