// SPDX-License-Identifier: Apache-2.0
// What the firmware knows of rings, of buffers, and of what went wrong with them. One thread, no interrupts: everything
// runs from ferry_firmware_step().
#ifndef FERRY_FIRMWARE_FLIGHT_H
#define FERRY_FIRMWARE_FLIGHT_H

#include "hal.h"

#define FERRY_SLOTS 4u
#define FERRY_RINGS FERRY_CORE_RING_COUNT
#define FERRY_PAGE  4096u
// Slots stand so many bytes apart in command RAM, whatever their size.
#define FERRY_SLOT_STRIDE 4096u

// A fault, before it is written into the log. address_* are of address_kind.
struct ferry_fault {
    uint32_t kind; // One of ferry_fault_kind; NONE = no fault.
    uint32_t address_kind;
    uint32_t write; // 0 or 1.
    uint32_t packet_offset;
    uint32_t address_low, address_high;
    uint32_t header;
    uint32_t written;
    uint32_t list_index;
    uint32_t walk; // As the record has it; 0 of a fault that is not of page tables.
    uint32_t entry_low, entry_high;
};

// A ring. Set once at start.
struct ferry_ring {
    uint32_t registers; // Its core registers; hal_ring().
    uint32_t number;
    uint32_t watches; // What of WORK is watched while one of its buffers is sequenced.
    uint32_t unused;  // To 16 bytes: FETCH_NEXT's ring leads here without a shift.
};

// A buffer from its claim until it ends, one for each slot. What is only asked when something goes wrong stays in the
// hardware; see FETCH_SLOT.
struct ferry_flight {
    uint32_t claim;    // FETCH_NEXT, whose slot stands where SEQUENCE and FINISH have it.
    uint32_t sequence; // While it is decoded: what SEQUENCE gets to go on.
    uint32_t bytes;
    const struct ferry_ring *ring; // Null before the slot's first buffer.
    bool sequencing;               // The sequencer is at work on it.
    bool plain_table_change;       // The packet it is at changes the aperture table; only the right to is in question.
    bool waits_for_ring;      // The packet it is at, a good change of the aperture or a root, waits for earlier jobs.
    bool stopped;             // The fault is the engine's, of an earlier packet than any that is refused: it stays.
    struct ferry_fault fault; // Refused by fetch or by the checks of decode, or reported by the engine.
};

static inline uint32_t ferry_slot(const struct ferry_flight *flight)
{
    return FERRY_GET(FERRY_CORE_FETCH_NEXT_SLOT, flight->claim);
}

// A place in the buffer, which stands in command RAM.
static inline const volatile uint32_t *ferry_packet(const struct ferry_flight *flight, uint32_t offset)
{
    return hal_command(ferry_slot(flight) * FERRY_SLOT_STRIDE + offset);
}

#endif
