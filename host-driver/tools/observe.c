// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>

#include "tools/picture.h"
#include "tools/player.h"
#include "tools/tool.h"

void ferry_player_show(struct ferry_player *player, bool now)
{
    struct ferry_picture_figures figures = {
        .title = player->title,
        .map = &player->map,
        .frame = player->report.frames,
        .frames = player->frame_count,
        .living = player->living,
        .evictions = player->report.statistics.evictions,
        .verified_bytes = player->report.verified_bytes,
        .bad_bytes = player->report.bad_bytes,
        .done = player->work > 0 ? player->work_done / player->work : 0,
    };
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

void ferry_player_observe(void *context, const struct ferry_event *event)
{
    struct ferry_player *player = context;
    uint32_t object = event->allocation ? ferry_id_map_get(&player->by_library_id, event->allocation) : FERRY_ID_NONE;
    if (object != FERRY_ID_NONE && event->segment == FERRY_LOCAL_SEGMENT) {
        struct ferry_play_object *play = &player->objects[object];
        // Another instance of what was discarded leaves: nothing is lost that anybody could want.
        bool other = event->kind == FERRY_EVENT_REMOVED && play->at != event->offset;
        if (event->kind == FERRY_EVENT_PLACED || (event->kind == FERRY_EVENT_REMOVED && !other)) {
            play->placed = event->kind == FERRY_EVENT_PLACED;
            play->at = event->offset;
        }
        if (event->kind == FERRY_EVENT_PLACED &&
            ferry_vram_map_placed(&player->map, object, event->offset, event->bytes)) {
            // It was moved inside video memory, and no eviction is to be checked.
            player->report.statistics.evictions--;
            play->unchecked = false;
        }
        if (event->kind == FERRY_EVENT_REMOVED && !other) {
            ferry_vram_map_removed(&player->map, object);
            if (play->allocation)
                player->report.statistics.evictions++;
            remember_evicted(player, object);
        }
    }
    if (player->timeline) {
        char label[160], text[96];
        const char *about = NULL;
        if (object != FERRY_ID_NONE) {
            snprintf(label, sizeof label, "%" PRIu64 ", %s", player->trace.objects[object].id,
                     ferry_trace_object_text(&player->trace, object, text));
            about = label;
        } else if (event->allocation) {
            about = "where draws are read back";
        }
        ferry_timeline_event(player->timeline, event, about);
    }
    ferry_player_show(player, false);
}
