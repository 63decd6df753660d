// SPDX-License-Identifier: Apache-2.0
// Several programs: what the command line says of their weights and reservations, their processes, and whether each
// can play its trace with the budget that comes of it.
#include <inttypes.h>
#include <stdlib.h>

#include "tools/number_list.h"
#include "tools/player.h"
#include "tools/tool.h"

int ferry_programs_read(struct ferry_session *session)
{
    const struct ferry_replay_options *options = session->options;
    uint64_t weights[FERRY_MOST_TRACES], reservations[FERRY_MOST_TRACES] = {0};
    for (unsigned i = 0; i < FERRY_MOST_TRACES; i++)
        weights[i] = 1;
    int status = ferry_read_weights(options->weights, session->player_count, weights);
    if (status == FERRY_EXIT_OK)
        status = ferry_read_reservations(options->reservations, session->player_count, reservations);
    for (unsigned i = 0; i < session->player_count && status == FERRY_EXIT_OK; i++) {
        session->players[i].report->weight = (uint32_t)weights[i];
        session->players[i].report->reservation = reservations[i];
    }
    return status;
}

// Every draw must fit by itself.
static int check_draws_fit(struct ferry_player *player)
{
    for (size_t i = 0; i < player->event_end; i++) {
        const struct ferry_trace_event *event = &player->trace.events[i];
        bool draw = event->op == FERRY_TRACE_DRAW;
        if (!draw && event->op != FERRY_TRACE_TARGET)
            continue;
        const uint32_t *objects = draw ? player->trace.draws + event->a : &event->object;
        size_t count = draw ? (size_t)event->b : 1;
        if (ferry_play_bytes(player, objects, count) > player->report->budget)
            return ferry_play_too_small(player, event->line, objects, count, draw, "");
    }
    return FERRY_EXIT_OK;
}

static int begin_program(struct ferry_player *player)
{
    struct ferry_process_options options = {
        .size = sizeof options, .weight = player->report->weight, .reservation_bytes = player->report->reservation};
    int error = ferry_process_create(player->session->adapter, &options, &player->process);
    if (error == FERRY_ERROR_NO_VIDEO_MEMORY) {
        char size[FERRY_SIZE_TEXT];
        ferry_complain("--reservations: all programs together can reserve no more than half of video memory, which is "
                       "%s (%" PRIu64 " bytes)",
                       ferry_size_text(player->session->info.video_memory_bytes, size),
                       player->session->info.video_memory_bytes);
        return FERRY_EXIT_USAGE;
    }
    if (error < 0)
        return ferry_session_failed(player->session, "create a process", error);
    player->process_id = ferry_process_id(player->process);
    return FERRY_EXIT_OK;
}

int ferry_programs_begin(struct ferry_session *session)
{
    int status = FERRY_EXIT_OK;
    for (unsigned i = 0; i < session->player_count && status == FERRY_EXIT_OK; i++)
        status = begin_program(&session->players[i]);
    // Only now are the budgets what they will be.
    for (unsigned i = 0; i < session->player_count && status == FERRY_EXIT_OK; i++) {
        struct ferry_player *player = &session->players[i];
        struct ferry_memory_info info = {.size = sizeof info};
        int error = ferry_process_memory(player->process, FERRY_MEMORY_LOCAL, &info);
        if (error < 0)
            return ferry_session_failed(session, "ask for a budget", error);
        player->report->budget = info.budget;
        status = check_draws_fit(player);
    }
    return status;
}

int ferry_program_count(struct ferry_player *player)
{
    const struct ferry_session *session = player->session;
    struct ferry_process_usage *used = &player->report->used;
    used->size = sizeof *used;
    int error = ferry_process_statistics(player->process, used);
    if (error < 0)
        return ferry_player_failed(player, "read what a program has used", error);
    // From the begin of the run on, without the comparisons in between.
    uint64_t before = session->first_time + session->outside.cycles;
    used->last_job = used->last_job > before ? used->last_job - before : 0;
    return FERRY_EXIT_OK;
}
