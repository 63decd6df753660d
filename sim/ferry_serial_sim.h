// SPDX-License-Identifier: Apache-2.0
// The Verilated device behind a serial port, its video memory a model: bytes go in at rxd and come out at txd, bit by
// bit. Everything happens inside ferry_serial_sim_run(). One thread at a time for one simulation.
#ifndef FERRY_SERIAL_SIM_H
#define FERRY_SERIAL_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry_sim.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ferry_serial_sim;

/// Of the settings those of memory, stalls and seed count. NULL when one is out of range, or memory is short.
struct ferry_serial_sim *ferry_serial_sim_open(const struct ferry_sim_config *config);
void ferry_serial_sim_close(struct ferry_serial_sim *sim);
/// Bytes for the line; how many there was room for. They go out one behind the other.
size_t ferry_serial_sim_feed(struct ferry_serial_sim *sim, const uint8_t *bytes, size_t count);
/// Bytes that came; how many. 4,096 are kept, and what comes then is lost, as at an adapter that nobody reads from.
size_t ferry_serial_sim_take(struct ferry_serial_sim *sim, uint8_t *bytes, size_t room);
/// Run so many cycles, or until nothing is under way: no byte on the line, no work in the device.
void ferry_serial_sim_run(struct ferry_serial_sim *sim, uint64_t cycles);
/// Something is under way: more cycles would change something.
bool ferry_serial_sim_busy(const struct ferry_serial_sim *sim);
uint64_t ferry_serial_sim_cycles(const struct ferry_serial_sim *sim);
/// What went wrong on the memory port, or NULL.
const char *ferry_serial_sim_violation(const struct ferry_serial_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
