// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "tools/player.h"
#include "tools/tool.h"

#define AREA_BYTES  (1u << 20)
#define PIECE_BYTES 256u
#define WHOLE_BYTES (AREA_BYTES / 4) // Pieces of what is read back whole.

int ferry_readback_begin(struct ferry_player *player)
{
    for (int i = 0; i < 2; i++) {
        struct ferry_allocation_options options = {
            .size = sizeof options, .bytes = AREA_BYTES, .flags = FERRY_FLAG_CPU_VISIBLE, .in_aperture = true};
        int error = ferry_allocation_create(player->device, &options, &player->areas[i].allocation);
        if (error < 0)
            return ferry_player_failed(player, "create the memory that draws are read back to", error);
        if (ferry_id_map_set(&player->session->by_library_id, ferry_allocation_id(player->areas[i].allocation),
                             player->session->object_count + player->number) != 0)
            return ferry_player_failed(player, "remember an allocation", FERRY_ERROR_NO_HOST_MEMORY);
        // It is the replay's, not the trace's: a small share of the aperture is no reason to refuse it.
        struct ferry_residency residency = {.size = sizeof residency,
                                            .allocations = &player->areas[i].allocation,
                                            .count = 1,
                                            .cant_trim_further = true};
        error = ferry_make_resident(player->device, &residency);
        if (error < 0)
            return ferry_player_failed(player, "map the memory that draws are read back to", error);
    }
    return FERRY_EXIT_OK;
}

void ferry_readback_free(struct ferry_player *player)
{
    for (int i = 0; i < 2; i++) {
        free(player->areas[i].pieces);
        free(player->areas[i].stretches);
    }
}

// Keep what the piece must hold: by the time it is compared the program may have written something else there.
static int expect(struct ferry_player *player, struct ferry_readback *area, const struct ferry_piece *piece)
{
    const struct ferry_content *content = &player->objects[piece->object].content;
    uint64_t end = piece->offset + piece->bytes;
    if (ferry_reserve(&area->pieces, &area->piece_capacity, area->piece_count + 1, sizeof *area->pieces) != 0)
        return ferry_player_failed(player, "remember a piece", FERRY_ERROR_NO_HOST_MEMORY);
    struct ferry_piece *kept = &area->pieces[area->piece_count];
    *kept = *piece;
    kept->first = (uint32_t)area->stretch_count;
    kept->count = 0;
    for (size_t i = ferry_content_find(content, piece->offset); i < content->count && content->stretches[i].begin < end;
         i++) {
        if (ferry_reserve(&area->stretches, &area->stretch_capacity, area->stretch_count + 1,
                          sizeof *area->stretches) != 0)
            return ferry_player_failed(player, "remember a piece", FERRY_ERROR_NO_HOST_MEMORY);
        struct ferry_stretch stretch = content->stretches[i];
        if (stretch.begin < piece->offset)
            stretch.begin = piece->offset;
        area->stretches[area->stretch_count++] = stretch;
        kept->count++;
    }
    area->piece_count++;
    return FERRY_EXIT_OK;
}

static int read_piece(struct ferry_player *player, uint32_t object, uint64_t offset, uint32_t bytes)
{
    struct ferry_readback *area = &player->areas[player->area];
    if (area->used + bytes > AREA_BYTES) {
        int status = ferry_readback_submit(player);
        if (status == FERRY_EXIT_OK)
            status = ferry_readback_turn(player);
        if (status != FERRY_EXIT_OK)
            return status;
        area = &player->areas[player->area];
    }
    struct ferry_piece piece = {
        .object = object, .line = player->line, .offset = offset, .at = (uint32_t)area->used, .bytes = bytes};
    int status = expect(player, area, &piece);
    if (status != FERRY_EXIT_OK)
        return status;
    int error = ferry_queue_copy(player->queue, area->allocation, area->used, player->objects[object].allocation,
                                 offset, bytes);
    if (error < 0)
        return ferry_player_failed(player, "record a copy", error);
    // Pieces stand close together, so that all alignments come to pass.
    area->used += bytes;
    return FERRY_EXIT_OK;
}

int ferry_readback_object(struct ferry_player *player, uint32_t object)
{
    uint64_t bytes = player->trace.objects[object].bytes;
    if (player->objects[object].verify) {
        player->objects[object].verify = false;
        int status = FERRY_EXIT_OK;
        for (uint64_t at = 0; at < bytes && status == FERRY_EXIT_OK; at += WHOLE_BYTES)
            status = read_piece(player, object, at, (uint32_t)(bytes - at < WHOLE_BYTES ? bytes - at : WHOLE_BYTES));
        return status;
    }
    uint64_t pages = (bytes + FERRY_PAGE_BYTES - 1) / FERRY_PAGE_BYTES;
    if (bytes <= PIECE_BYTES)
        return read_piece(player, object, 0, (uint32_t)bytes);
    int status = read_piece(player, object, 0, PIECE_BYTES);
    if (status == FERRY_EXIT_OK)
        status = read_piece(player, object, bytes - PIECE_BYTES, PIECE_BYTES);
    if (status == FERRY_EXIT_OK && pages > 2) {
        uint64_t page = 1 + ferry_player_random(player, pages - 2);
        uint64_t inside = ferry_player_random(player, FERRY_PAGE_BYTES - PIECE_BYTES + 1);
        status = read_piece(player, object, page * FERRY_PAGE_BYTES + inside, PIECE_BYTES);
    }
    return status;
}

int ferry_readback_submit(struct ferry_player *player)
{
    uint64_t fence = 0;
    int error = ferry_queue_submit(player->queue, &fence);
    if (error < 0)
        return ferry_player_failed(player, "submit", error);
    player->areas[player->area].fence = player->fence = fence;
    return FERRY_EXIT_OK;
}

static int compare_area(struct ferry_player *player, struct ferry_readback *area)
{
    void *address;
    int status = FERRY_EXIT_OK;
    int error = ferry_queue_wait(player->queue, area->fence);
    if (error < 0)
        return ferry_player_failed(player, "wait for a draw", error);
    error = ferry_lock(area->allocation, FERRY_LOCK_READ_ONLY, &address);
    if (error < 0)
        return ferry_player_failed(player, "lock what draws have read", error);
    for (size_t i = 0; i < area->piece_count && status == FERRY_EXIT_OK; i++) {
        const struct ferry_piece *piece = &area->pieces[i];
        const uint8_t *found = (const uint8_t *)address + piece->at;
        struct ferry_mismatch mismatch = {0};
        uint64_t compared = 0;
        for (uint32_t s = 0; s < piece->count; s++) {
            const struct ferry_stretch *stretch = &area->stretches[piece->first + s];
            uint64_t end = s + 1 < piece->count ? stretch[1].begin : piece->offset + piece->bytes;
            compared += ferry_content_compare(stretch->kind, stretch->key, stretch->begin,
                                              found + (stretch->begin - piece->offset), (size_t)(end - stretch->begin),
                                              &mismatch);
        }
        status = ferry_check_result(player, piece->object, compared, &mismatch, "read by the GPU for the draw in",
                                    piece->line);
    }
    error = ferry_unlock(area->allocation);
    if (error < 0 && status == FERRY_EXIT_OK)
        status = ferry_player_failed(player, "unlock", error);
    area->piece_count = area->stretch_count = 0;
    area->used = 0;
    return status;
}

int ferry_readback_turn(struct ferry_player *player)
{
    player->area ^= 1;
    struct ferry_readback *area = &player->areas[player->area];
    return area->piece_count ? compare_area(player, area) : FERRY_EXIT_OK;
}
