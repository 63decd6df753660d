// SPDX-License-Identifier: Apache-2.0
// The simulated device at a USB port of a virtual machine (QEMU's usb-redir), or of whoever else speaks usbredir.
#ifndef FERRY_SERVER_USB_H
#define FERRY_SERVER_USB_H

#include <signal.h>

#include "ferry_sim.h"

/// Serve one guest after the other at `listener`, all with the same device, until *stop is set. 0, or -1 when the
/// system or the simulation fails (said on stderr). Signals as redir_run().
int usb_run(int listener, const struct ferry_sim_config *config, const volatile sig_atomic_t *stop);

#endif
