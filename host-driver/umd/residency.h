// SPDX-License-Identifier: Apache-2.0
// Residency lists of devices.
#ifndef FERRY_UMD_RESIDENCY_H
#define FERRY_UMD_RESIDENCY_H

#include "umd/objects.h"

// The allocation was named; it becomes the newest of its residency list, if it is on it.
void umd_touch(struct umd_allocation *allocation);
// Off the residency list.
void umd_unlist(struct umd_allocation *allocation);

#endif
