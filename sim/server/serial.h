// SPDX-License-Identifier: Apache-2.0
// The simulated device at the pins of a serial port, for whoever opens a pseudo terminal.
#ifndef FERRY_SERVER_SERIAL_H
#define FERRY_SERVER_SERIAL_H

#include <signal.h>

#include "ferry_sim.h"

/// Print the port's path and serve it until *stop is set. 0, or -1 when it cannot (said on stderr). SIGINT and SIGTERM
/// are blocked while this runs, and come in its waits.
int serial_run(const struct ferry_sim_config *config, const volatile sig_atomic_t *stop);

#endif
