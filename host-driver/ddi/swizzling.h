// SPDX-License-Identifier: Apache-2.0
// DxgkDdiAcquireSwizzlingRange, DxgkDdiReleaseSwizzlingRange: ranges in which the CPU sees a swizzled allocation as it
// is in system memory after an unswizzling eviction. Of drivers of 1.x alone.
#ifndef FERRY_DDI_SWIZZLING_H
#define FERRY_DDI_SWIZZLING_H

#include "ddi/ferry_nt.h"

typedef struct _DXGKARG_ACQUIRESWIZZLINGRANGE {
    HANDLE hAllocation;     // the miniport's
    UINT PrivateDriverData; // from the lock: which part of it is to be seen; ours takes the level
    UINT RangeId;           // below DXGK_DRIVERCAPS.NumberOfSwizzlingRanges
    UINT SegmentId;         // where it is now
    SIZE_T RangeSize;       // the allocation's; only a lock with UseAlternateVA lets the miniport change it
    PHYSICAL_ADDRESS CPUTranslatedAddress; // out: where the CPU finds the allocation's first byte
} DXGKARG_ACQUIRESWIZZLINGRANGE;

typedef struct _DXGKARG_RELEASESWIZZLINGRANGE {
    HANDLE hAllocation;
    UINT PrivateDriverData; // as it was acquired with
    UINT RangeId;
} DXGKARG_RELEASESWIZZLINGRANGE;

#endif
