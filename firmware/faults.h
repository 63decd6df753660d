// SPDX-License-Identifier: Apache-2.0
// Fault records.
#ifndef FERRY_FIRMWARE_FAULTS_H
#define FERRY_FIRMWARE_FAULTS_H

#include "flight.h"

void ferry_faults_start(void);

// True when the fault log has room for a record.
bool ferry_faults_room(void);

// Sends a fault record of the flight, the one that WORK.finish tells of. The caller has seen room in the log and
// POST_BUSY = 0.
void ferry_faults_post(const struct ferry_flight *flight, const struct ferry_fault *fault);

// Copies the engine's fault into out and lets the engine go on. True when there was one.
bool ferry_faults_take(struct ferry_fault *out, uint32_t *slot);

#endif
