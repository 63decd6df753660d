// SPDX-License-Identifier: Apache-2.0
// Start of the firmware.
#ifndef FERRY_FIRMWARE_BOOT_H
#define FERRY_FIRMWARE_BOOT_H

#include <stdbool.h>

// Checks the hardware and the host's contract and takes over the counters. False: refused, FIRMWARE_STATE says so, and
// ferry_firmware_step() must not be called.
bool ferry_firmware_start(void);

#endif
