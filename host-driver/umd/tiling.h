// SPDX-License-Identifier: Apache-2.0
// Tiled allocations.
#ifndef FERRY_UMD_TILING_H
#define FERRY_UMD_TILING_H

#include "ddi/tiling.h"
#include "ferry/ferry.h"

/// What the miniport is told of tiles; NULL = none.
struct ferry_tiling_private umd_tiling(const struct ferry_tiling *tiling);

#endif
