// SPDX-License-Identifier: Apache-2.0
// Allocations, for what ends with a device.
#ifndef FERRY_VIDMM_API_ALLOCATIONS_H
#define FERRY_VIDMM_API_ALLOCATIONS_H

#include "vidmm/api/manager.h"

/// What the allocation, which nobody finds any more, still has to wait for: *number of *node. PENDING, with a
/// number of 0 when it is that somebody else is let in; FERRY_OK:
/// nothing, and nothing will be queued for it as long as nobody is let in. What is in an aperture is on its way out of
/// it from the first call on. with_device: all paging of its device is waited for besides. Errors: NO_HOST_MEMORY.
int ferry_vm_allocation_rests(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, bool with_device, unsigned *node,
                              uint64_t *number);
/// Destroy what nobody finds any more (its handle is hidden), after its work. On an error it is found again.
int ferry_vm_allocation_end(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);

#endif
