// SPDX-License-Identifier: Apache-2.0
// A mistake on purpose: one byte of one page-in or page-out is flipped, behind the back of what knows the content, in
// system memory or on its way over the link. A replay that does not find it proves nothing.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/player.h"
#include "tools/tool.h"

int ferry_inject_begin(struct ferry_session *session)
{
    const struct ferry_replay_options *options = session->options;
    const char *text = options->inject;
    if (options->verify && strcmp(options->verify, "all") != 0) {
        ferry_complain("--verify takes 'all', not '%s'", options->verify);
        return FERRY_EXIT_USAGE;
    }
    if (!text)
        return FERRY_EXIT_OK;
    session->inject.link = strncmp(text, "link-", 5) == 0;
    const char *side = session->inject.link ? text + 5 : text;
    session->inject.in = strncmp(side, "in:", 3) == 0;
    const char *number = session->inject.in ? side + 3 : strncmp(side, "out:", 4) == 0 ? side + 4 : "";
    char *end;
    session->inject.number = *number >= '0' && *number <= '9' ? strtoull(number, &end, 10) : 0;
    if (session->inject.number != 0 && *end == ':' && end[1] >= '0' && end[1] <= '9')
        session->inject.offset = strtoull(end + 1, &end, 10);
    if (session->inject.number != 0 && *end == '\0')
        return FERRY_EXIT_OK;
    ferry_complain("--inject takes in:N, out:N, link-in:N or link-out:N, and may take :OFFSET behind it, not '%s'",
                   text);
    return FERRY_EXIT_USAGE;
}

int ferry_inject_on_link(struct ferry_session *session)
{
    if (!session->inject.link)
        return FERRY_EXIT_OK;
    struct ferry_flip flip = {.size = sizeof flip,
                              .out = !session->inject.in,
                              .number = session->inject.number,
                              .offset = session->inject.offset};
    int error = ferry_adapter_flip(session->adapter, &flip);
    return error < 0 ? ferry_session_failed(session, "flip a byte", error) : FERRY_EXIT_OK;
}

int ferry_inject(struct ferry_player *player, uint32_t object, bool in)
{
    struct ferry_play_object *play = &player->objects[object];
    struct ferry_session *session = player->session;
    uint64_t number = in ? ++session->page_ins : ++session->page_outs;
    if (session->inject.link || in != session->inject.in || number != session->inject.number)
        return FERRY_EXIT_OK;
    // It is in system memory just now: that is where a page-in comes from and where a page-out has gone to.
    uint8_t *bytes = play->mapped;
    int error = bytes ? FERRY_OK : ferry_lock(play->allocation, 0, (void **)&bytes);
    if (error < 0)
        return ferry_player_failed(player, "lock to flip a byte", error);
    bytes[session->inject.offset % play->content.bytes] ^= 1;
    error = play->mapped ? FERRY_OK : ferry_unlock(play->allocation);
    return error < 0 ? ferry_player_failed(player, "unlock", error) : FERRY_EXIT_OK;
}

int ferry_inject_end(struct ferry_session *session)
{
    uint64_t number = session->inject.in ? session->page_ins : session->page_outs;
    bool flipped = session->inject.number <= number;
    int error = session->inject.link ? ferry_adapter_flipped(session->adapter, &flipped) : FERRY_OK;
    if (error < 0)
        return ferry_session_failed(session, "ask for the flipped byte", error);
    if (flipped)
        return FERRY_EXIT_OK;
    ferry_complain("--inject %s: nothing was flipped, the replay has %" PRIu64 " page-%s", session->options->inject,
                   number, session->inject.in ? "ins" : "outs");
    return FERRY_EXIT_USAGE;
}
