// SPDX-License-Identifier: Apache-2.0
#include "tools/player.h"

#include <inttypes.h>
#include <stdio.h>

#include "ferry_contract.h"
#include "tools/tool.h"
#include "tools/walk_text.h"
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

// What the page tables of the program say of the address, now that the job is over.
static void tell_walk(const struct ferry_player *player, const struct ferry_fault *fault)
{
    struct ferry_va_steps walk = {.size = sizeof walk};
    char text[FERRY_STEP_TEXT], who[96];
    if (ferry_va_walk(player->device, fault->address, &walk) != FERRY_OK || walk.count == 0)
        return;
    ferry_complain("%sthe page tables say of it, level by level:", ferry_player_text(player, who));
    for (uint32_t i = 0; i < walk.count; i++)
        ferry_complain("  %s", ferry_step_text(&walk.steps[i], text));
    const struct ferry_va_step *last = &walk.steps[walk.count - 1];
    if (last->level != fault->walk_level || last->entry != fault->walk_entry)
        ferry_complain("  but the device has seen 0x%" PRIx64 " at level %u", fault->walk_entry, fault->walk_level);
}

// Those of whatever program; player may be NULL.
static void tell_faults(struct ferry_session *session, const struct ferry_player *player)
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
        if (fault.walked && player)
            tell_walk(player, &fault);
    }
}

static int failed(struct ferry_session *session, const struct ferry_player *player, const char *where, const char *what,
                  int error)
{
    ferry_complain("%s%s: %s: %s", where, what, ferry_error_name(error), ferry_why(error));
    if (error == FERRY_ERROR_FAULT || error == FERRY_ERROR_DEVICE_LOST || error == FERRY_ERROR_TIMEOUT)
        tell_faults(session, player);
    return error == FERRY_ERROR_FAULT ? FERRY_EXIT_WRONG : FERRY_EXIT_LIBRARY;
}

int ferry_session_failed(struct ferry_session *session, const char *what, int error)
{
    return failed(session, NULL, "", what, error);
}

int ferry_player_failed(struct ferry_player *player, const char *what, int error)
{
    char where[128], who[96];
    if (player->session->player_count == 1)
        snprintf(where, sizeof where, "%.64s, line %u: ", player->trace_name, player->line);
    else
        snprintf(where, sizeof where, "%sline %u: ", ferry_player_text(player, who), player->line);
    return failed(player->session, player, where, what, error);
}

const char *ferry_player_text(const struct ferry_player *player, char text[96])
{
    text[0] = 0;
    if (player->session->player_count > 1)
        snprintf(text, 96, "program %u (%.64s), ", player->number + 1, player->trace_name);
    return text;
}
