// SPDX-License-Identifier: Apache-2.0
// Devices, for what ends with a program or the manager.
#ifndef FERRY_VIDMM_API_DEVICES_H
#define FERRY_VIDMM_API_DEVICES_H

#include "vidmm/api/manager.h"

/// Destroy what nobody finds any more (its handle is hidden), after its work, with all that it has. On an error it is
/// found again.
int ferry_vm_device_end(struct ferry_vidmm *manager, struct ferry_vm_device *device);

#endif
