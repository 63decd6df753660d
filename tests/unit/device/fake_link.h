// SPDX-License-Identifier: Apache-2.0
// A link to a device that is an array of registers and a few reactions: enough to drive the device layer into every
// corner that a real device shows rarely or never.
#ifndef FERRY_TEST_FAKE_LINK_H
#define FERRY_TEST_FAKE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "ferry_contract.h"
#include "link/dma_map.h"
#include "link/link.h"

struct fake_link {
    struct ferry_link link;
    uint32_t registers[0x10000 / 4];
    uint8_t window[0x2000];
    struct ferry_dma_map *map;
    uint64_t cycles;
    uint32_t interrupts;
    unsigned reasons;
    bool *closed;
    // How it behaves.
    uint32_t final_state; // FIRMWARE_STATE that boot ends in.
    uint64_t boot_cycles; // From core_run to that state.
    uint64_t started_at;
    bool corrupt_firmware_ram; // Reads back one bit wrong.
    bool never_ends_reset;
    uint64_t retire_cycles;         // Cycles from doorbell to retirement of everything; 0 = never.
    uint32_t moving;                // A counter that goes up with time; 0 = none (CYCLES is not among them).
    bool tells;                     // Of something, all the time, whether there is anything or not.
    bool timeless;                  // Hardly any time passes while it does;
    uint64_t tells_every, tells_at; // or so many cycles.
    uint64_t still_from;            // The cycle from which on it does no more; 0 = it goes on.
    uint64_t deaf_from, deaf_until; // Cycles between which reads of counters end in TIMEOUT.
    uint32_t counter_reads;         // That came.
    uint64_t leap;                  // So long other threads run the device beside the next slice;
    uint64_t leap_before_look;      // and so long before the next read of counters.
    uint64_t doorbell_at[FERRY_BAR0_RING_COUNT];
    uint32_t retired[FERRY_BAR0_RING_COUNT];
    uint32_t error_status;      // Status that entries retire with.
    uint32_t carry_reads;       // Reads of the counters during which CYCLES carries into its high word.
    int fail_reads;             // Register reads that end in TIMEOUT.
    unsigned write_passes;      // So many writes of a register arrive before
    int write_error;            // what the next one ends in; it does not arrive. 0 = it arrives.
    unsigned write_errors_more; // And so many behind it.
    // Causes that a write clears, which has not arrived: it is posted, and arrives before the next read does.
    uint32_t clear_under_way;
    uint32_t writes_seen[64][2]; // Last register writes, offset and value.
    uint32_t writes;
    int reset_error; // What a function reset ends in; so many reads later the registers are as after power-on.
    unsigned reset_reads, resets;
    bool resetting;
    int map_error;           // What the next mapping ends in.
    uint32_t delay;          // What the link may take.
    uint64_t pages_unmapped; // That were asked for to be, ever.
    ferry_link_refused_write *refused;
    void *refused_context;
};

struct fake_link *fake_link_create(bool *closed);
/// The entry that stands at place `n` of a ring, as the device finds it.
const struct ferry_ring_entry *fake_link_entry(struct fake_link *fake, uint32_t ring, uint32_t n);
/// Write a fault record as the firmware does.
void fake_link_fault(struct fake_link *fake, uint32_t kind, uint64_t address);
/// The newest of them.
struct ferry_fault_record *fake_link_last_fault(struct fake_link *fake);
void fake_link_interrupt(struct fake_link *fake, uint32_t causes);

#endif
