// SPDX-License-Identifier: Apache-2.0
// Serial ports of this machine, raw and for one program at a time. Any thread. What goes wrong is told in
// ferry_problem().
#ifndef FERRY_LINK_SERIAL_PORT_H
#define FERRY_LINK_SERIAL_PORT_H

#include <stdint.h>

#include "ferry/ferry.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FERRY_SERIAL_LEAST_BAUD 1200u
#define FERRY_SERIAL_MOST_BAUD  12000000u

/// Settings of a port, in the kernel's words.
struct ferry_serial_settings {
    uint32_t words[16];
};

/// Open the port at `path` with 8 data bits, no parity, one stop bit, no flow control of its own, nothing of a
/// terminal, at `baud` (FERRY_SERIAL_LEAST_BAUD to MOST_BAUD, any number), and keep others away: those that ask for the
/// port's locks, and, but for root, everybody. What came before is thrown away. Gives a non-blocking, close-on-exec
/// descriptor, or one of these errors: BACKEND (no such port, no permission, no serial port, not this rate), IN_USE.
/// IN_USE it is too when a program has the port open that asks for no lock, as far as that may be known. What fails
/// leaves the port's settings as they were; what they were is told in *before, for who finds no device at it.
int ferry_serial_open(const char *path, uint32_t baud, struct ferry_serial_settings *before);
/// Give the port its settings of before.
void ferry_serial_put_back(int fd, const struct ferry_serial_settings *before);
/// Whether that would fail, as far as can be told without touching the port. BACKEND, IN_USE.
int ferry_serial_look(const char *path);
/// Tell of the ports of USB devices (ttyUSB, ttyACM, and what /dev/serial/by-id leads to), as ferry_adapter_list()
/// promises; `root` stands before /dev and /sys: "", or a test's folder.
void ferry_serial_list(const char *root, ferry_candidate_callback *callback, void *context);

#ifdef __cplusplus
}
#endif
#endif
