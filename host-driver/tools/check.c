// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/player.h"
#include "tools/tool.h"

int ferry_check_result(struct ferry_player *player, uint32_t object, uint64_t compared,
                       const struct ferry_mismatch *mismatch, const char *when, uint32_t line)
{
    char text[96], who[96];
    player->report->verified_bytes += compared;
    if (mismatch->bad == 0)
        return FERRY_EXIT_OK;
    player->report->bad_bytes += mismatch->bad;
    ferry_complain("wrong content: %sallocation %" PRIu64 " (%s), offset %" PRIu64 " (0x%" PRIx64
                   "): expected 0x%02x, found 0x%02x; %" PRIu64 " of %" PRIu64 " bytes wrong, %s line %u",
                   ferry_player_text(player, who), player->trace.objects[object].id,
                   ferry_trace_object_text(&player->trace, object, text), mismatch->offset, mismatch->offset,
                   mismatch->expected, mismatch->found, mismatch->bad, compared, when, line);
    return FERRY_EXIT_WRONG;
}

int ferry_check_object(struct ferry_player *player, uint32_t object, const char *when)
{
    struct ferry_play_object *play = &player->objects[object];
    struct ferry_mismatch mismatch = {0};
    void *address = play->mapped;
    play->unchecked = false;
    if (!play->mapped) {
        int error = ferry_lock(play->allocation, FERRY_LOCK_READ_ONLY, &address);
        if (error < 0)
            return ferry_player_failed(player, "lock to compare", error);
    }
    uint64_t compared = ferry_content_compare_all(&play->content, address, &mismatch);
    if (!play->mapped) {
        int error = ferry_unlock(play->allocation);
        if (error < 0)
            return ferry_player_failed(player, "unlock", error);
    }
    return ferry_check_result(player, object, compared, &mismatch, when, player->line);
}

int ferry_check_if_evicted(struct ferry_player *player, uint32_t object)
{
    const struct ferry_play_object *play = &player->objects[object];
    if (!play->unchecked || !play->allocation)
        return FERRY_EXIT_OK;
    int status = play->placed ? FERRY_EXIT_OK : ferry_inject(player, object, false);
    if (status != FERRY_EXIT_OK)
        return status;
    return ferry_check_object(player, object, "found after its eviction, at");
}

int ferry_check_evicted(struct ferry_player *player)
{
    int status = FERRY_EXIT_OK;
    // Locks can evict in their turn: the list may grow meanwhile.
    for (size_t i = 0; i < player->evicted_count && status == FERRY_EXIT_OK; i++)
        status = ferry_check_if_evicted(player, player->evicted[i]);
    player->evicted_count = 0;
    return status;
}

int ferry_check_all(struct ferry_player *player)
{
    int status = FERRY_EXIT_OK;
    for (size_t i = 0; i < player->trace.object_count && status == FERRY_EXIT_OK; i++) {
        if (player->objects[i].allocation)
            status = ferry_check_object(player, (uint32_t)i, "found in the comparison at the end, after");
        if (i % 64 == 0)
            ferry_session_show(player->session, false);
    }
    return status;
}
