// SPDX-License-Identifier: Apache-2.0
#include "tools/player.h"

#include <inttypes.h>

#include "ferry_contract.h"
#include "tools/tool.h"

uint64_t ferry_player_key(struct ferry_player *player)
{
    return ferry_mix(player->options->seed ^ ferry_mix(++player->writes));
}

uint64_t ferry_player_random(struct ferry_player *player, uint64_t limit)
{
    return ferry_mix(player->options->seed + ++player->random * 0x9e3779b97f4a7c15u) % limit;
}

static void tell_faults(struct ferry_player *player)
{
    for (int i = 0; i < 8; i++) {
        struct ferry_fault fault = {.size = sizeof fault};
        bool found = false;
        if (ferry_adapter_next_fault(player->adapter, &fault, &found) != FERRY_OK || !found)
            return;
        player->report.faults++;
        ferry_complain("fault %u: %s, %s of address 0x%" PRIx64 ", ring %u, packet at %u, fence value %" PRIu64
                       ", %u bytes written",
                       fault.sequence, ferry_fault_kind_name(fault.kind), fault.is_write ? "write" : "read",
                       fault.address, fault.ring, fault.packet_offset, fault.fence_value, fault.written);
    }
}

int ferry_player_failed(struct ferry_player *player, const char *what, int error)
{
    ferry_complain("line %u: %s: %s: %s", player->line, what, ferry_error_name(error), ferry_error_text(error));
    if (error == FERRY_ERROR_FAULT || error == FERRY_ERROR_DEVICE_LOST || error == FERRY_ERROR_TIMEOUT)
        tell_faults(player);
    return error == FERRY_ERROR_FAULT ? FERRY_EXIT_WRONG : FERRY_EXIT_LIBRARY;
}
