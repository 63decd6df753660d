// SPDX-License-Identifier: Apache-2.0
// Allocations.
#ifndef FERRY_UMD_ALLOCATION_H
#define FERRY_UMD_ALLOCATION_H

#include "umd/objects.h"

// The manager's allocation is gone; this is its end here.
void umd_allocation_end(struct umd_allocation *allocation);

#endif
