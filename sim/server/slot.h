// SPDX-License-Identifier: Apache-2.0
// A PCI slot with the simulated device in it: what a guest's processor asks of it becomes packets, and the device's
// packets reach the guest's memory. A read makes the device run until it is answered; all else waits for slot_run().
#ifndef FERRY_SERVER_SLOT_H
#define FERRY_SERVER_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "ferry_sim.h"
#include "link/root_complex_state.h"
#include "server/guest_memory.h"

struct slot {
    struct ferry_root_complex rc;
    struct ferry_sim *sim;
    struct ferry_sim_config config;
    struct guest_memory memory;
    uint64_t rested; // Cycles that the device has been seen idle for.
    bool told;       // That the simulation broke off.
};

/// Put a device in, as after power-on. false = no memory for it (said on stderr).
bool slot_open(struct slot *slot, const struct ferry_sim_config *config);
void slot_close(struct slot *slot);
/// Power off and on again; the guest's memory stays. As slot_open().
bool slot_reset(struct slot *slot);

/// 1, 2 or 4 bytes of configuration space within one word, at 0 to 255. Reads of what is not there are all ones, and
/// writes to it go nowhere, here and below: as on a bus.
uint32_t slot_config_read(struct slot *slot, uint32_t address, unsigned bytes);
void slot_config_write(struct slot *slot, uint32_t address, unsigned bytes, uint32_t value);
/// 1, 2, 4 or 8 bytes at an address that is a multiple of their number, on the guest's bus.
uint64_t slot_read(struct slot *slot, uint64_t address, unsigned bytes);
void slot_write(struct slot *slot, uint64_t address, unsigned bytes, uint64_t value);

/// The device has, or may have, something to do.
bool slot_busy(const struct slot *slot);
/// Let it run for so many cycles.
void slot_run(struct slot *slot, uint64_t cycles);

#endif
