// SPDX-License-Identifier: Apache-2.0
// One simulated device of the server's, with what it needs to know of the host that has it.
#ifndef FERRY_SERVER_DEVICE_H
#define FERRY_SERVER_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "ferry_contract.h"
#include "ferry_sim.h"
#include "link/frames.h"
#include "link/packet_queue.h"

/// Of a turn, whatever the host asks for: about a second. Then it hears how far that was, and others have theirs.
#define SERVER_TURN_CYCLES 100000u

struct server_device {
    struct ferry_sim *sim;
    bool used;      // A host has a session with it.
    bool stopped;   // The simulation broke off; that was said.
    uint32_t given; // Words of TLPs in this session, free-running.
    // Asked by the host, and not answered: by their tags, of which a host may use one several times, and together.
    uint32_t reads[256], unanswered;
    struct ferry_packet_queue back; // To the host.
};

/// A TLP of the host's. Where the device has no room for it it runs until it has, and what it sends goes into `back`;
/// one that never has is stopped.
void server_device_take(struct server_device *device, const uint32_t *words, size_t count);
/// A message of the host's. What the device sends goes into `back`, the answer behind it.
void server_device_message(struct server_device *device, const uint32_t *words, size_t count);
/// The host is gone: run until nothing of it is on its way and its reads are answered, so that no answer reaches the
/// next host, whose tags begin anew. Faults that it planted are taken away, which nobody else could. Otherwise the
/// device stays as it is: the next host resets it.
void server_device_settle(struct server_device *device);

#endif
