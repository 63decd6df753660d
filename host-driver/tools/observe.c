// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>

#include "tools/picture.h"
#include "tools/player.h"
#include "tools/tool.h"

void ferry_session_show(struct ferry_session *session, bool now)
{
    struct ferry_picture_figures figures = {
        .title = session->title,
        .map = &session->map,
        .living = session->living,
        .evictions = session->report.statistics.evictions,
        .done = session->work > 0 ? session->work_done / session->work : 0,
    };
    for (unsigned i = 0; i < session->player_count; i++) {
        figures.frame += session->players[i].report->frames;
        figures.frames += session->players[i].frame_count;
        figures.verified_bytes += session->players[i].report->verified_bytes;
        figures.bad_bytes += session->players[i].report->bad_bytes;
    }
    ferry_picture_show(&figures, now);
}

static void remember_evicted(struct ferry_player *player, uint32_t object)
{
    struct ferry_play_object *play = &player->objects[object];
    if (!play->allocation || play->unchecked)
        return;
    if (ferry_reserve(&player->evicted, &player->evicted_capacity, player->evicted_count + 1,
                      sizeof *player->evicted) != 0)
        return; // It is compared at the end all the same.
    player->evicted[player->evicted_count++] = object;
    play->unchecked = true;
}

// Whose allocation it is: of the objects of all players, or a readback area. NULL for neither.
static struct ferry_player *player_of(struct ferry_session *session, uint32_t number)
{
    if (number == FERRY_ID_NONE)
        return NULL;
    if (number >= session->object_count)
        return &session->players[number - session->object_count];
    struct ferry_player *player = session->players;
    while (number - player->first_object >= player->trace.object_count)
        player++;
    return player;
}

static void follow(struct ferry_session *session, struct ferry_player *player, uint32_t number,
                   const struct ferry_event *event)
{
    uint32_t object = number - player->first_object;
    struct ferry_play_object *play = &player->objects[object];
    bool placed = event->kind == FERRY_EVENT_PLACED;
    // Another instance of what was discarded comes, moves or leaves: nothing is lost that anybody could want.
    bool other = placed ? play->placed && play->at != event->offset : !play->placed || play->at != event->offset;
    if (!other) {
        play->placed = placed;
        play->at = event->offset;
    }
    if (placed && ferry_vram_map_placed(&session->map, number, event->offset, event->bytes)) {
        // It was moved inside video memory, and no eviction is to be checked.
        session->report.statistics.evictions--;
        play->unchecked = false;
    }
    if (!placed)
        ferry_vram_map_removed(&session->map, number, event->offset);
    if (other) {
        ferry_vram_map_step(&session->map);
        ferry_vram_map_current(&session->map, number, play->placed ? play->at : FERRY_NOWHERE);
    } else if (!placed) {
        if (play->allocation)
            session->report.statistics.evictions++;
        remember_evicted(player, object);
    }
}

static struct ferry_player *player_of_process(struct ferry_session *session, uint64_t process)
{
    for (unsigned i = 0; i < session->player_count; i++)
        if (session->players[i].process_id == process)
            return &session->players[i];
    return NULL;
}

// The counters of a program.
static void show_values(struct ferry_session *session, const struct ferry_event *event)
{
    struct ferry_player *player = player_of_process(session, event->process);
    if (!player || event->segment != FERRY_LOCAL_SEGMENT)
        return;
    if (event->kind == FERRY_EVENT_BUDGET) {
        ferry_timeline_value(session->timeline, player->number, "budget", event->value);
    } else if (event->kind == FERRY_EVENT_PLACED || event->kind == FERRY_EVENT_REMOVED) {
        player->in_place += event->kind == FERRY_EVENT_PLACED ? event->bytes : 0 - event->bytes;
        ferry_timeline_value(session->timeline, player->number, "in video memory", player->in_place);
    }
}

// The addresses of a program lead somewhere, or no longer.
static void follow_addresses(struct ferry_session *session, uint32_t number, const struct ferry_event *event)
{
    const struct ferry_player *player = player_of_process(session, event->process);
    if (!player)
        return;
    struct ferry_space_piece piece = {.address = event->offset,
                                      .bytes = event->bytes,
                                      .page = event->value,
                                      .object = number,
                                      .program = player->number,
                                      .begin = (float)session->map.now};
    if (event->kind == FERRY_EVENT_MAPPED)
        ferry_space_map_mapped(&session->spaces, &piece);
    else
        ferry_space_map_unmapped(&session->spaces, &piece);
}

void ferry_session_observe(void *context, const struct ferry_event *event)
{
    struct ferry_session *session = context;
    uint32_t number = event->allocation ? ferry_id_map_get(&session->by_library_id, event->allocation) : FERRY_ID_NONE;
    struct ferry_player *player = player_of(session, number);
    bool traced = number < session->object_count;
    if (session->first_time == 0)
        session->first_time = event->time;
    if (session->player_count > 1)
        session->map.now = FERRY_MILLISECONDS(event->time - session->first_time);
    if (traced && event->segment == FERRY_LOCAL_SEGMENT &&
        (event->kind == FERRY_EVENT_PLACED || event->kind == FERRY_EVENT_REMOVED))
        follow(session, player, number, event);
    if (session->options->spaces_file && (event->kind == FERRY_EVENT_MAPPED || event->kind == FERRY_EVENT_UNMAPPED))
        follow_addresses(session, number, event);
    if (session->timeline) {
        char label[160], text[96];
        const char *about = NULL;
        if (traced) {
            uint32_t object = number - player->first_object;
            snprintf(label, sizeof label, "%" PRIu64 ", %s", player->trace.objects[object].id,
                     ferry_trace_object_text(&player->trace, object, text));
            about = label;
        } else if (event->allocation) {
            about = "where draws are read back";
        }
        const struct ferry_player *whose =
            event->kind == FERRY_EVENT_JOB_BEGIN ? player_of_process(session, event->process) : player;
        ferry_timeline_event(session->timeline, event, about, whose ? whose->number : FERRY_NO_PROGRAM);
        show_values(session, event);
    }
    ferry_session_show(session, false);
}
