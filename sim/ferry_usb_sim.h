// SPDX-License-Identifier: Apache-2.0
// The Verilated device at a USB port: its packaged core, pins and all, at a model of a host controller, its video
// memory a model. Device and bus have one rate, 12 MHz, since a clock of the device's is what costs time. Time passes
// inside these calls alone. One thread at a time for one simulation.
#ifndef FERRY_USB_SIM_H
#define FERRY_USB_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry_sim.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ferry_usb_sim;

enum ferry_usb_result {
    FERRY_USB_DONE,
    FERRY_USB_NAK,   // Not now.
    FERRY_USB_STALL, // Never.
    FERRY_USB_FAULT, // No whole answer.
};

#define FERRY_USB_PACKET 64u // Bytes, at most.

/// Of the settings those of memory, stalls and seed count. NULL when one is out of range, or memory is short.
struct ferry_usb_sim *ferry_usb_sim_open(const struct ferry_sim_config *config);
void ferry_usb_sim_close(struct ferry_usb_sim *sim);
/// Bus reset and an address.
enum ferry_usb_result ferry_usb_sim_reset(struct ferry_usb_sim *sim);
/// A control transfer: `data` has, or gets, as many bytes as setup's wLength says; `moved` of them went.
enum ferry_usb_result ferry_usb_sim_control(struct ferry_usb_sim *sim, const uint8_t setup[8], uint8_t *data,
                                            size_t *moved);
/// One transaction of up to FERRY_USB_PACKET bytes.
enum ferry_usb_result ferry_usb_sim_out(struct ferry_usb_sim *sim, unsigned endpoint, const uint8_t *data,
                                        size_t bytes);
/// One transaction; `data` has room for FERRY_USB_PACKET bytes, `bytes` tells how many came.
enum ferry_usb_result ferry_usb_sim_in(struct ferry_usb_sim *sim, unsigned endpoint, uint8_t *data, size_t *bytes);
/// Let so many microseconds of bus time pass.
void ferry_usb_sim_idle(struct ferry_usb_sim *sim, uint32_t microseconds);
/// Something is under way: more time would change something.
bool ferry_usb_sim_busy(const struct ferry_usb_sim *sim);
/// The device's.
uint64_t ferry_usb_sim_cycles(const struct ferry_usb_sim *sim);
/// What went wrong on the memory port or on the bus, or NULL.
const char *ferry_usb_sim_violation(const struct ferry_usb_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
