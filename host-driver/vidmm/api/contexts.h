// SPDX-License-Identifier: Apache-2.0
// Contexts, for what ends with a device.
#ifndef FERRY_VIDMM_API_CONTEXTS_H
#define FERRY_VIDMM_API_CONTEXTS_H

#include "vidmm/api/manager.h"

/// Destroy what nobody finds any more (its handle is hidden), after its work. On an error it is found again.
int ferry_vm_context_end(struct ferry_vidmm *manager, struct ferry_vm_context *context);

#endif
