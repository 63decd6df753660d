// SPDX-License-Identifier: Apache-2.0
// Devices.
#ifndef FERRY_UMD_DEVICE_H
#define FERRY_UMD_DEVICE_H

#include "umd/objects.h"

// The manager's device is gone; this is its end here, with all that it has.
void umd_device_end(struct umd_device *device);

#endif
