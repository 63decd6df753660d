// SPDX-License-Identifier: Apache-2.0
// Hosts at a socket, and devices for them: who asks first gets one, and keeps it while it is connected.
#ifndef FERRY_SERVER_SERVER_H
#define FERRY_SERVER_SERVER_H

#include <signal.h>

#include "server/device.h"

/// Serve whoever connects to `listener` until *stop is set. 0, or -1 when the system fails (said on stderr).
int server_run(int listener, struct server_device *devices, unsigned device_count, const volatile sig_atomic_t *stop);

#endif
