// SPDX-License-Identifier: Apache-2.0
// The Verilated device with models of its link and its video memory, as a C library. Packets go in and out as words
// (see link/tlp.h); everything happens inside ferry_sim_run(), in the calling thread, and repeats exactly for equal
// settings and calls. One thread at a time for one simulation; several simulations may live side by side.
#ifndef FERRY_SIM_H
#define FERRY_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ferry_sim;

/// Timing of the DRAM model, in device cycles; one beat is 8 bytes.
struct ferry_sim_dram {
    uint32_t banks;            // Power of two, up to 16.
    uint32_t row_bytes;        // Of one bank; power of two. Neighbouring rows lie in neighbouring banks.
    uint32_t controller;       // From the request's handshake to the first command.
    uint32_t activate;         // Open a row (tRCD).
    uint32_t precharge;        // Close one (tRP).
    uint32_t column;           // Column command to data (CL).
    uint32_t turnaround;       // Idle data bus between reads and writes.
    uint32_t refresh_interval; // 0 = never.
    uint32_t refresh;          // All banks are closed and away for so long (tRFC).
};

struct ferry_sim_config {
    size_t size;
    uint32_t read_latency;      // Constant latency instead of the DRAM model: AR handshake to first beat; 0 = DRAM.
    struct ferry_sim_dram dram; // All 0 = ferry_sim_default_dram().
    uint32_t link_latency;      // One way, last beat in to first beat out.
    uint32_t link_words_per_16; // Bandwidth of each direction; 32 = a full beat every cycle.
    uint32_t
        link_credit_words; // Words that may be on their way in one direction before credits come back; 0 = no bound.
    bool link_smallest_credits; // The host takes one packet of each kind at a time, the least that PCI Express allows.
    uint32_t reorder_percent;   // How often a completion overtakes completions of other tags.
    uint32_t stall_percent;     // Share of cycles in which a handshake is refused or not offered, on every channel.
    uint64_t seed;              // Of stalls and reordering.
    const char *wave_file;      // FST file, or NULL.
};

/// Fill in the defaults: DRAM model, latency 100, full bandwidth, no bound on credits, reordering 25 %, no stalls.
void ferry_sim_default_config(struct ferry_sim_config *config);
void ferry_sim_default_dram(struct ferry_sim_dram *dram);

/// Build the device and hold it in reset for some cycles. NULL, with errno, when a setting is out of range (EINVAL),
/// memory is short (ENOMEM), or there is no device that writes the wave file (EIO).
struct ferry_sim *ferry_sim_open(const struct ferry_sim_config *config);
void ferry_sim_close(struct ferry_sim *sim);

/// Queue a packet for the device (copied). false while there is no room.
bool ferry_sim_send(struct ferry_sim *sim, const uint32_t *words, size_t count);
/// Words queued and not yet taken by the device.
size_t ferry_sim_queued(const struct ferry_sim *sim);
/// The device's next packet that has crossed the link, or NULL; valid until the next call of receive or run.
const uint32_t *ferry_sim_receive(struct ferry_sim *sim, size_t *count);
/// Run until `cycles` cycles have passed or a packet can be received; returns the cycles run. 0 for cycles != 0 means
/// that the device broke the AXI protocol: ferry_sim_violation() tells how.
uint64_t ferry_sim_run(struct ferry_sim *sim, uint64_t cycles);
uint64_t ferry_sim_cycles(const struct ferry_sim *sim);
/// Host seconds of processor time spent in ferry_sim_run().
double ferry_sim_seconds(const struct ferry_sim *sim);
/// Packets are on their way, or a unit has something to do. Between two steps of its work a device may look idle for
/// some hundred cycles.
bool ferry_sim_busy(const struct ferry_sim *sim);
/// What went wrong on the memory port, or NULL.
const char *ferry_sim_violation(const struct ferry_sim *sim);
/// The next `count` read or write bursts of the memory port end with SLVERR; a failed write changes nothing.
void ferry_sim_fail_bursts(struct ferry_sim *sim, bool write, uint32_t count);

/// Activity of the device, sampled each cycle while a call-back is set.
enum ferry_sim_activity {
    FERRY_SIM_FIRMWARE,
    FERRY_SIM_READ_CHANNEL,
    FERRY_SIM_WRITE_CHANNEL,
    FERRY_SIM_WALKS,      // Of page tables.
    FERRY_SIM_FORGETTING, // What is known of page tables is being forgotten.
    FERRY_SIM_ACTIVITIES
};
enum ferry_sim_value {
    FERRY_SIM_READS_OUTSTANDING, // Of host memory.
    FERRY_SIM_TABLE_MISSES,      // Pages that were looked up and not known since power-on, modulo 2^32.
    FERRY_SIM_VALUES
};
struct ferry_sim_observer {
    void *context;
    /// Busy in cycles [begin, end); gaps of up to 32 cycles are bridged.
    void (*span)(void *context, enum ferry_sim_activity activity, uint64_t begin, uint64_t end);
    /// Looked at every 64 cycles, told when it changed.
    void (*value)(void *context, enum ferry_sim_value what, uint64_t time, uint32_t value);
};
/// Copied; NULL ends it and closes open spans first.
void ferry_sim_observe(struct ferry_sim *sim, const struct ferry_sim_observer *observer);

#ifdef __cplusplus
}
#endif
#endif
