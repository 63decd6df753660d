// SPDX-License-Identifier: Apache-2.0
#include "tools/player.h"

#include <inttypes.h>
#include <stdio.h>

#include "ferry_contract.h"
#include "tools/tool.h"
#include "tools/why.h"

#define WORK_OF_JOB 16.0

double ferry_play_work(const struct ferry_trace_event *event)
{
    return event->op == FERRY_TRACE_DRAW || event->op == FERRY_TRACE_TARGET ? WORK_OF_JOB : 1;
}

uint64_t ferry_player_key(struct ferry_player *player)
{
    return ferry_mix(player->seed ^ ferry_mix(++player->writes));
}

uint64_t ferry_player_random(struct ferry_player *player, uint64_t limit)
{
    return ferry_mix(player->seed + ++player->random * 0x9e3779b97f4a7c15u) % limit;
}

static void tell_faults(struct ferry_session *session)
{
    for (int i = 0; i < 8; i++) {
        struct ferry_fault fault = {.size = sizeof fault};
        bool found = false;
        if (ferry_adapter_next_fault(session->adapter, &fault, &found) != FERRY_OK || !found)
            return;
        session->report.faults++;
        ferry_complain("fault %u: %s, %s of address 0x%" PRIx64 ", ring %u, packet at %u, fence value %" PRIu64
                       ", %u bytes written",
                       fault.sequence, ferry_fault_kind_name(fault.kind), fault.is_write ? "write" : "read",
                       fault.address, fault.ring, fault.packet_offset, fault.fence_value, fault.written);
    }
}

static int failed(struct ferry_session *session, const char *where, const char *what, int error)
{
    ferry_complain("%s%s: %s: %s", where, what, ferry_error_name(error), ferry_why(error));
    if (error == FERRY_ERROR_FAULT || error == FERRY_ERROR_DEVICE_LOST || error == FERRY_ERROR_TIMEOUT)
        tell_faults(session);
    return error == FERRY_ERROR_FAULT ? FERRY_EXIT_WRONG : FERRY_EXIT_LIBRARY;
}

int ferry_session_failed(struct ferry_session *session, const char *what, int error)
{
    return failed(session, "", what, error);
}

int ferry_player_failed(struct ferry_player *player, const char *what, int error)
{
    char where[128], who[96];
    snprintf(where, sizeof where, "%sline %u: ", ferry_player_text(player, who), player->line);
    return failed(player->session, where, what, error);
}

const char *ferry_player_text(const struct ferry_player *player, char text[96])
{
    text[0] = 0;
    if (player->session->player_count > 1)
        snprintf(text, 96, "program %u (%.64s), ", player->number + 1, player->trace_name);
    return text;
}
