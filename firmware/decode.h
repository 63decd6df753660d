// SPDX-License-Identifier: Apache-2.0
// Packets that the sequencer leaves.
#ifndef FERRY_FIRMWARE_DECODE_H
#define FERRY_FIRMWARE_DECODE_H

#include "flight.h"

enum ferry_progress {
    FERRY_GOES_ON,
    FERRY_LATER,   // The engine or the ring's earlier jobs must get on first, or the paging ring goes before.
    FERRY_DECODED, // Every packet was handed over, or the rest must not be.
};

// Takes the packet that the sequencer left, the one that flight->sequence names. A refusal is left in flight->fault.
enum ferry_progress ferry_decode_left(struct ferry_flight *flight);

// The same of the packet when the engine takes nothing more.
void ferry_decode_stuck(struct ferry_flight *flight);

#endif
