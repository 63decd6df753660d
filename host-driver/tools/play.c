// SPDX-License-Identifier: Apache-2.0
// What the program did, event by event, as calls of the library.
#include <inttypes.h>
#include <stdio.h>

#include "tools/player.h"
#include "tools/tool.h"

// Objects whose content is compared just before they are destroyed: one in so many.
#define DESTROY_SAMPLE 8u
// Page-ins that the GPU reads back whole: one in so many, unless all are asked for.
#define VERIFY_SAMPLE 8u

// ---- Events of the CPU --------------------------------------------------------------------------------------------

static int play_create(struct ferry_player *player, uint32_t object)
{
    const struct ferry_trace_object *about = &player->trace.objects[object];
    struct ferry_play_object *play = &player->objects[object];
    uint32_t word = (uint32_t)ferry_mix(player->seed ^ ~(uint64_t)object);
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = about->bytes, .fill_pattern = word, .flags = FERRY_FLAG_CPU_VISIBLE};
    // Half of what only the CPU writes keeps its copy in system memory, and can leave video memory without being
    // copied; of the rest video memory has the only copy while it is there.
    if (!about->target && ferry_mix(player->seed ^ ferry_mix(object)) % 2 == 0)
        options.flags |= FERRY_FLAG_PERMANENT_SYSMEM;
    int error = ferry_allocation_create(player->device, &options, &play->allocation);
    if (error < 0)
        return ferry_player_failed(player, "create an allocation", error);
    if (ferry_content_begin(&play->content, about->bytes, FERRY_CONTENT_PATTERN, word | (uint64_t)word << 32) != 0 ||
        ferry_id_map_set(&player->session->by_library_id, ferry_allocation_id(play->allocation),
                         player->first_object + object) != 0)
        return ferry_player_failed(player, "remember an allocation", FERRY_ERROR_NO_HOST_MEMORY);
    player->session->living++;
    player->report->allocations++;
    return FERRY_EXIT_OK;
}

static int lock(struct ferry_player *player, struct ferry_play_object *play, uint32_t flags)
{
    int error = ferry_lock(play->allocation, flags, &play->mapped);
    if (error < 0) {
        play->mapped = NULL;
        return ferry_player_failed(player, "lock an allocation", error);
    }
    player->report->locks++;
    return FERRY_EXIT_OK;
}

static int unlock(struct ferry_player *player, struct ferry_play_object *play)
{
    if (!play->mapped)
        return FERRY_EXIT_OK;
    play->mapped = NULL;
    int error = ferry_unlock(play->allocation);
    return error < 0 ? ferry_player_failed(player, "unlock an allocation", error) : FERRY_EXIT_OK;
}

static int play_write(struct ferry_player *player, uint32_t object, uint64_t offset, uint64_t bytes)
{
    struct ferry_play_object *play = &player->objects[object];
    bool whole = offset == 0 && bytes == play->content.bytes;
    int status = FERRY_EXIT_OK;
    if (play->unchecked)
        status = ferry_check_if_evicted(player, object);
    bool alone = !play->mapped;
    if (status == FERRY_EXIT_OK && alone)
        status = lock(player, play, whole ? FERRY_LOCK_WRITE_ONLY : 0);
    if (status != FERRY_EXIT_OK)
        return status;
    uint64_t key = ferry_player_key(player);
    if (ferry_content_set(&play->content, offset, bytes, FERRY_CONTENT_WRITTEN, key) != 0)
        return ferry_player_failed(player, "remember a write", FERRY_ERROR_NO_HOST_MEMORY);
    ferry_content_generate(FERRY_CONTENT_WRITTEN, key, offset, (uint8_t *)play->mapped + offset, (size_t)bytes);
    play->written = true;
    player->report->writes++;
    return alone ? unlock(player, play) : FERRY_EXIT_OK;
}

// A lock that discards may have made another instance the one that counts.
static int note_instance(struct ferry_player *player, uint32_t object)
{
    struct ferry_play_object *play = &player->objects[object];
    struct ferry_placement placement = {.size = sizeof placement};
    int error = ferry_allocation_placement(play->allocation, &placement);
    if (error != FERRY_OK)
        return ferry_player_failed(player, "ask for a place", error);
    play->placed = placement.resident && placement.segment == FERRY_LOCAL_SEGMENT;
    play->at = placement.offset;
    ferry_vram_map_current(&player->session->map, player->first_object + object,
                           play->placed ? play->at : FERRY_NOWHERE);
    return FERRY_EXIT_OK;
}

static int play_lock(struct ferry_player *player, uint32_t object, bool discard)
{
    struct ferry_play_object *play = &player->objects[object];
    int status = FERRY_EXIT_OK;
    if (!discard)
        status = ferry_check_if_evicted(player, object);
    if (status == FERRY_EXIT_OK)
        status = lock(player, play, discard ? FERRY_LOCK_DISCARD : 0);
    if (status != FERRY_EXIT_OK)
        return status;
    play->locked = true;
    play->written = false;
    if (discard && (status = note_instance(player, object)) != FERRY_EXIT_OK)
        return status;
    if (discard && ferry_content_set(&play->content, 0, play->content.bytes, FERRY_CONTENT_UNKNOWN, 0) != 0)
        return ferry_player_failed(player, "remember a lock", FERRY_ERROR_NO_HOST_MEMORY);
    return FERRY_EXIT_OK;
}

// A lock in which the trace shows no write was still taken to write: then everything is written.
static int play_unlock(struct ferry_player *player, uint32_t object)
{
    struct ferry_play_object *play = &player->objects[object];
    int status = play->written ? FERRY_EXIT_OK : play_write(player, object, 0, play->content.bytes);
    play->locked = false;
    return status == FERRY_EXIT_OK ? unlock(player, play) : status;
}

static int play_destroy(struct ferry_player *player, uint32_t object)
{
    struct ferry_play_object *play = &player->objects[object];
    int status = unlock(player, play);
    if (status == FERRY_EXIT_OK && ferry_mix(object) % DESTROY_SAMPLE == 0)
        status = ferry_check_object(player, object, "found before it was destroyed in");
    if (status != FERRY_EXIT_OK)
        return status;
    struct ferry_allocation *allocation = play->allocation;
    play->allocation = NULL;
    player->session->living--;
    ferry_content_free(&play->content);
    int error = ferry_allocation_destroy(allocation);
    return error < 0 ? ferry_player_failed(player, "destroy an allocation", error) : FERRY_EXIT_OK;
}

// ---- Events of the GPU --------------------------------------------------------------------------------------------

uint64_t ferry_play_bytes(const struct ferry_player *player, const uint32_t *objects, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += (player->trace.objects[objects[i]].bytes + FERRY_PAGE_BYTES - 1) / FERRY_PAGE_BYTES * FERRY_PAGE_BYTES;
    return bytes;
}

int ferry_play_too_small(struct ferry_player *player, uint32_t line, const uint32_t *objects, size_t count, bool draw,
                         const char *reason)
{
    char need[FERRY_SIZE_TEXT], have[FERRY_SIZE_TEXT], budget[FERRY_SIZE_TEXT + 48] = "", who[96];
    const struct ferry_session *session = player->session;
    uint64_t bytes = ferry_play_bytes(player, objects, count);
    bool several = session->player_count > 1;
    if (several)
        snprintf(budget, sizeof budget, "the budget is %s (%" PRIu64 " bytes), ",
                 ferry_size_text(player->report->budget, have), player->report->budget);
    ferry_complain("%s%s: the %s in line %u%s%.64s needs %s (%" PRIu64
                   " bytes in %zu allocation%s), %svideo memory is %s (%" PRIu64 " bytes)%s",
                   ferry_player_text(player, who), several ? "the budget is too small" : "video memory is too small",
                   draw ? "draw" : "render target", line, several ? "" : " of ", several ? "" : player->trace_name,
                   ferry_size_text(bytes, need), bytes, count, count == 1 ? "" : "s", budget,
                   ferry_size_text(session->info.video_memory_bytes, have), session->info.video_memory_bytes, reason);
    return FERRY_EXIT_TOO_SMALL;
}

// What its residency lists hold, for the timeline.
static int show_usage(struct ferry_player *player)
{
    struct ferry_memory_info info = {.size = sizeof info};
    if (!player->session->timeline)
        return FERRY_EXIT_OK;
    int error = ferry_process_memory(player->process, FERRY_MEMORY_LOCAL, &info);
    if (error < 0)
        return ferry_player_failed(player, "ask for a budget", error);
    if (info.usage != player->usage)
        ferry_timeline_value(player->session->timeline, player->number, "on residency lists", info.usage);
    player->usage = info.usage;
    return FERRY_EXIT_OK;
}

// Make the job's allocations and both readback areas resident. player->handles holds them afterwards.
static int bring_in(struct ferry_player *player, const uint32_t *objects, size_t count, bool draw,
                    struct ferry_residency *residency)
{
    if (ferry_reserve(&player->handles, &player->handle_capacity, count + 2, sizeof(struct ferry_allocation *)) != 0)
        return ferry_player_failed(player, "list a draw", FERRY_ERROR_NO_HOST_MEMORY);
    for (size_t i = 0; i < count; i++) {
        struct ferry_play_object *play = &player->objects[objects[i]];
        // A program may draw what it has mapped; a copy engine may not, so the lock is given back for the job.
        int status = unlock(player, play);
        if (status == FERRY_EXIT_OK)
            status = ferry_check_if_evicted(player, objects[i]);
        if (status == FERRY_EXIT_OK && !play->placed) {
            status = ferry_inject(player, objects[i], true);
            play->verify = player->session->options->verify ||
                           ferry_mix(player->seed ^ ferry_mix(player->session->page_ins)) % VERIFY_SAMPLE == 0;
        }
        if (status != FERRY_EXIT_OK)
            return status;
        player->handles[i] = play->allocation;
    }
    player->handles[count] = player->areas[0].allocation;
    player->handles[count + 1] = player->areas[1].allocation;
    *residency =
        (struct ferry_residency){.size = sizeof *residency, .allocations = player->handles, .count = count + 2};
    int error = ferry_make_resident_trim(player->device, residency);
    if (error == FERRY_ERROR_NO_VIDEO_MEMORY)
        return ferry_play_too_small(player, player->line, objects, count, draw, "; it could not be placed");
    return error < 0 ? ferry_player_failed(player, "make resident", error) : show_usage(player);
}

static int let_go(struct ferry_player *player, struct ferry_residency *residency)
{
    int error = ferry_evict(player->device, residency);
    return error < 0 ? ferry_player_failed(player, "evict", error) : show_usage(player);
}

static int play_draw(struct ferry_player *player, const uint32_t *objects, size_t count)
{
    struct ferry_residency residency;
    int status = bring_in(player, objects, count, true, &residency);
    for (size_t i = 0; i < count && status == FERRY_EXIT_OK; i++)
        status = ferry_readback_object(player, objects[i]);
    if (status == FERRY_EXIT_OK)
        status = ferry_readback_submit(player);
    player->report->draws++;
    player->session->map.frame.draws++;
    return status == FERRY_EXIT_OK ? let_go(player, &residency) : status;
}

static int play_target(struct ferry_player *player, uint32_t object)
{
    struct ferry_play_object *play = &player->objects[object];
    struct ferry_residency residency;
    int status = bring_in(player, &object, 1, false, &residency);
    // What came in is read before it is written over.
    if (status == FERRY_EXIT_OK && play->verify) {
        status = ferry_readback_object(player, object);
        if (status == FERRY_EXIT_OK)
            status = ferry_readback_submit(player);
    }
    if (status != FERRY_EXIT_OK)
        return status;
    uint64_t key = ferry_player_key(player);
    for (uint64_t at = 0; at < play->content.bytes;) {
        uint64_t left = play->content.bytes - at;
        uint32_t bytes = left < 1u << 31 ? (uint32_t)left : 1u << 31;
        int error = ferry_queue_fill(player->queue, play->allocation, at, bytes, key, 8);
        if (error < 0)
            return ferry_player_failed(player, "record a fill", error);
        at += bytes;
    }
    int error = ferry_queue_submit(player->queue, &player->fence);
    if (error < 0)
        return ferry_player_failed(player, "submit", error);
    if (ferry_content_set(&play->content, 0, play->content.bytes, FERRY_CONTENT_PATTERN, key) != 0)
        return ferry_player_failed(player, "remember a fill", FERRY_ERROR_NO_HOST_MEMORY);
    player->report->targets++;
    return let_go(player, &residency);
}

static int play_frame(struct ferry_player *player)
{
    int status = ferry_readback_turn(player);
    if (status == FERRY_EXIT_OK)
        status = ferry_check_evicted(player);
    struct ferry_session *session = player->session;
    player->report->frames++;
    // Frames of several programs end at different times: those of the first one that still plays count for all.
    unsigned first = 0;
    while (session->players[first].ended)
        first++;
    if (player->number == first) {
        if (session->player_count == 1)
            session->map.now = (double)player->report->frames;
        if (session->map.frame.placed_bytes > session->report.worst_frame_bytes)
            session->report.worst_frame_bytes = session->map.frame.placed_bytes;
        ferry_vram_map_end_frame(&session->map);
    }
    if (session->timeline)
        ferry_timeline_frame(session->timeline, player->number, player->report->frames);
    return status;
}

int ferry_play_event(struct ferry_player *player, const struct ferry_trace_event *event)
{
    player->line = event->line;
    ferry_vram_map_step(&player->session->map);
    switch ((enum ferry_trace_op)event->op) {
    case FERRY_TRACE_CREATE: return play_create(player, event->object);
    case FERRY_TRACE_WRITE: return play_write(player, event->object, event->a, event->b);
    case FERRY_TRACE_LOCK: return play_lock(player, event->object, event->discard);
    case FERRY_TRACE_UNLOCK: return play_unlock(player, event->object);
    case FERRY_TRACE_DRAW: return play_draw(player, player->trace.draws + event->a, (size_t)event->b);
    case FERRY_TRACE_TARGET: return play_target(player, event->object);
    case FERRY_TRACE_FRAME: return play_frame(player);
    case FERRY_TRACE_DESTROY: return play_destroy(player, event->object);
    }
    return FERRY_EXIT_LIBRARY;
}
