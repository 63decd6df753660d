// SPDX-License-Identifier: Apache-2.0
// Allocations, for what ends with a device.
#ifndef FERRY_VIDMM_API_ALLOCATIONS_H
#define FERRY_VIDMM_API_ALLOCATIONS_H

#include "vidmm/api/manager.h"

/// Destroy what nobody finds any more (its handle is hidden), after its work. On an error it is found again.
int ferry_vm_allocation_end(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);

#endif
