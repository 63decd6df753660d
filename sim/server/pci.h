// SPDX-License-Identifier: Apache-2.0
// The simulated device in a PCI slot of a virtual machine (QEMU's x-pci-proxy-dev).
#ifndef FERRY_SERVER_PCI_H
#define FERRY_SERVER_PCI_H

#include <signal.h>

#include "ferry_sim.h"

/// Serve one virtual machine after the other at `listener`, each with a device as after power-on, until *stop is set.
/// 0, or -1 when the system fails (said on stderr). SIGINT and SIGTERM are blocked while this runs, and come in its
/// waits.
int pci_listen(int listener, const struct ferry_sim_config *config, const volatile sig_atomic_t *stop);
/// Start a virtual machine, whose descriptor 3 is the slot, and serve it until it ends, or *stop is set: then it is
/// ended too. What it ended with, as a shell has it, or -1 when the system fails (said on stderr).
int pci_start(char **command, const struct ferry_sim_config *config, const volatile sig_atomic_t *stop);

#endif
