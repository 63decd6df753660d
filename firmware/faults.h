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

// Tells in flight->fault of the fault that the engine shows (what: ENGINE_FAULT), which is a job's of the flight. The
// engine names only a position: the packet and its page list, which are still in the slot, say which address that is.
void ferry_faults_name(struct ferry_flight *flight, uint32_t what);

// Tells in flight->fault that a reset of the engine has cut the flight off at this packet.
void ferry_faults_aborted(struct ferry_flight *flight, uint32_t packet_offset);

// The same, as the engine tells it (what: ABORTED), with how far the packet came.
void ferry_faults_cut(struct ferry_flight *flight, uint32_t what);

#endif
