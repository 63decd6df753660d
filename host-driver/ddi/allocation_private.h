// SPDX-License-Identifier: Apache-2.0
// What our user-mode driver tells our miniport about a new allocation: DXGK_ALLOCATIONINFO.pPrivateDriverData points at
// this. The manager carries it unread, as the contract has it: the miniport turns it into flags and segment sets.
#ifndef FERRY_DDI_ALLOCATION_PRIVATE_H
#define FERRY_DDI_ALLOCATION_PRIVATE_H

#include "ddi/ferry_nt.h"
#include "ddi/tiling.h"

#define FERRY_ALLOCATION_PRIVATE_VERSION 1u

struct ferry_allocation_private {
    UINT Version;           // FERRY_ALLOCATION_PRIVATE_VERSION
    UINT Size;              // sizeof this struct
    UINT64 Bytes;           // What the application asked for; the miniport rounds up.
    UINT Flags;             // DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 bits wanted.
    UINT Flags2;            // DXGK_ALLOCATIONINFOFLAGS2 bits wanted.
    UINT Alignment;         // Bytes, power of two; 0 = the miniport's choice.
    UINT Aperture;          // 1 = only the aperture segment, never video memory.
    UINT SegmentPreference; // D3DDDI_SEGMENTPREFERENCE; 0 = the miniport's choice.
    UINT RenamingLimit;     // MaximumRenamingListLength; 0 = no limit.
    UINT Compressed;        // 1 = content with runs: 2 pages to 1 GiB, Aperture and NotifyEviction (ferry/runs.h).
    UINT AlternateVA;       // 1 = locks with UseAlternateVA may be asked for; of a tiled one, in driver model 1.
    // Tiled in video memory: Bytes are its tiles'. Not with Aperture or Compressed.
    struct ferry_tiling_private Tiling;
};

#endif
