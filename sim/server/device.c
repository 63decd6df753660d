// SPDX-License-Identifier: Apache-2.0
#include "server/device.h"

#include <stdio.h>
#include <string.h>

#include "link/tlp.h"

#define SETTLE_CYCLES 500000u // More than an answer may take; a device that is stuck keeps nobody.
#define SETTLE_SLICE  1000u

static void run(struct server_device *device, uint64_t cycles)
{
    ferry_sim_run(device->sim, cycles);
    const char *violation = ferry_sim_violation(device->sim);
    if (violation != NULL && !device->stopped) {
        device->stopped = true;
        fprintf(stderr, "ferry-sim: simulation stopped at cycle %llu: %s\n",
                (unsigned long long)ferry_sim_cycles(device->sim), violation);
    }
}

static void note_answer(struct server_device *device, uint8_t tag)
{
    if (device->reads[tag] != 0) {
        device->reads[tag]--;
        device->unanswered--;
    }
}

/// The packets that have left the device, into `back` or, without a host, nowhere.
static void collect(struct server_device *device, bool keep)
{
    size_t count;
    const uint32_t *words;
    while ((words = ferry_sim_receive(device->sim, &count)) != NULL) {
        struct ferry_tlp tlp;
        if (ferry_tlp_decode(words, count, &tlp) &&
            (tlp.kind == FERRY_TLP_COMPLETION ||
             (tlp.kind == FERRY_TLP_COMPLETION_DATA && tlp.byte_count + (tlp.lower_address & 3u) <= 4 * tlp.length))) {
            note_answer(device, tlp.tag);
        }
        if (keep && !ferry_packet_queue_put(&device->back, false, words, count)) {
            device->stopped = true;
            fprintf(stderr, "ferry-sim: no memory for what the device sends\n");
        }
    }
}

void server_device_take(struct server_device *device, const uint32_t *words, size_t count)
{
    struct ferry_tlp tlp;
    if (ferry_tlp_decode(words, count, &tlp) &&
        (tlp.kind == FERRY_TLP_MEMORY_READ || tlp.kind == FERRY_TLP_CONFIG_READ ||
         tlp.kind == FERRY_TLP_CONFIG_WRITE)) {
        device->reads[tlp.tag]++;
        device->unanswered++;
    }
    device->given += (uint32_t)count;
    // The link's model has room for thousands; what is beyond has to wait for the device, which stands while something
    // of its own is not taken.
    for (uint32_t n = 0; !device->stopped && !ferry_sim_send(device->sim, words, count); n++) {
        run(device, 1);
        collect(device, true);
        if (n == SETTLE_CYCLES) {
            device->stopped = true;
            fprintf(stderr, "ferry-sim: the device takes nothing any more\n");
        }
    }
}

void server_device_message(struct server_device *device, const uint32_t *words, size_t count)
{
    struct ferry_tunnel_message message;
    if (count != sizeof(message) / 4) {
        return;
    }
    memcpy(&message, words, sizeof(message));
    if (message.code == FERRY_TUNNEL_CODE_PLANT) {
        ferry_sim_fail_bursts(device->sim, message.value != 0, message.number);
        return;
    }
    if (message.code != FERRY_TUNNEL_CODE_RUN) {
        return;
    }
    if (!device->stopped) {
        run(device, message.value < SERVER_TURN_CYCLES ? message.value : SERVER_TURN_CYCLES);
        collect(device, true);
    }
    const struct ferry_tunnel_message answer = {.code =
                                                    device->stopped ? FERRY_TUNNEL_CODE_STOPPED : FERRY_TUNNEL_CODE_RAN,
                                                .number = device->given - (uint32_t)ferry_sim_queued(device->sim),
                                                .value = ferry_sim_cycles(device->sim)};
    uint32_t back[sizeof(answer) / 4];
    memcpy(back, &answer, sizeof(back));
    if (!ferry_packet_queue_put(&device->back, true, back, sizeof(back) / 4)) {
        device->stopped = true;
    }
}

void server_device_settle(struct server_device *device)
{
    ferry_packet_queue_end(&device->back);
    ferry_sim_fail_bursts(device->sim, false, 0);
    ferry_sim_fail_bursts(device->sim, true, 0);
    for (uint32_t ran = 0;
         ran < SETTLE_CYCLES && !device->stopped && (ferry_sim_queued(device->sim) != 0 || device->unanswered != 0);
         ran += SETTLE_SLICE) {
        const uint64_t end = ferry_sim_cycles(device->sim) + SETTLE_SLICE;
        while (ferry_sim_cycles(device->sim) < end && !device->stopped) {
            run(device, end - ferry_sim_cycles(device->sim));
            collect(device, false);
        }
    }
    memset(device->reads, 0, sizeof(device->reads));
    device->unanswered = 0;
    device->given = (uint32_t)ferry_sim_queued(device->sim);
}
