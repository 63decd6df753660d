// SPDX-License-Identifier: Apache-2.0
// What the machine of the real miniport stands on: the reference model (kmd_on_model.c), or the device's Verilog with
// its firmware (kmd_on_sim.c). A program is linked with one of them.
#ifndef FERRY_TESTS_KMD_DEVICE_H
#define FERRY_TESTS_KMD_DEVICE_H

#include "kmd_machine.h"

/// Name of the back end, as the public API has it.
extern const char *const kmd_device_backend;

/// Cycles of a turn in which the device has nothing to do; 0 = as many as a wait for it takes.
extern const uint64_t kmd_device_idle_cycles;

/// Why this device does not run the test of that name; NULL when it does.
const char *kmd_device_leaves_out(const char *test);

/// A device as the machine's options ask for it, at machine->link; the machine closes that. An error of the link's.
int kmd_device_open(struct machine *machine, const struct ferry_link_config *config);

enum kmd_device_hang { KMD_HANG_NOW, KMD_HANG_BEHIND_PACKETS, KMD_HANG_IN_COPY };
/// The device hangs at once, behind so many packets of the next job that has more, or in its next copy of more bytes.
/// False: it cannot hang at once, and is not to be run until the reset.
bool kmd_device_hang(struct machine *machine, enum kmd_device_hang where, unsigned count);

/// The aperture's table: layout FERRY_APERTURE_ENTRY_ENTRY_*; page below the machine's aperture.
uint64_t kmd_device_aperture_entry(const struct machine *machine, uint32_t page);
/// As if a register had been written.
void kmd_device_set_aperture_entry(struct machine *machine, uint32_t page, uint64_t entry);

/// The device gets this next.
void kmd_device_gets(struct machine *machine, const DXGKARG_SUBMITCOMMAND *argument);

#endif
