// SPDX-License-Identifier: Apache-2.0
// Devices.
#ifndef FERRY_UMD_DEVICE_H
#define FERRY_UMD_DEVICE_H

#include "umd/call.h"

// The manager's device is gone; this is its end here, with all that it has.
void umd_device_end(struct umd_device *device);
// The manager's device and this one; the call is parked meanwhile. No other call is destroying it.
int umd_device_destroy(struct umd_call *call, struct umd_device *device);

#endif
