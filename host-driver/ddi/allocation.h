// SPDX-License-Identifier: Apache-2.0
// Allocations in the driver contract: the two flag words, DXGK_ALLOCATIONINFO and the create and destroy arguments.
#ifndef FERRY_DDI_ALLOCATION_H
#define FERRY_DDI_ALLOCATION_H

#include "ddi/ferry_nt.h"

// R104: one 32-bit word, by named bit or by Value. The seed lists 34 members because two pairs share a bit under
// version gates (bit 10: CreateInVpr from 2.1, Reserved00 before; bit 13: MapApertureCpuVisible from 2.9, Reserved03
// before).
typedef struct _DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 {
    union {
        struct {
            UINT CpuVisible : 1;
            UINT PermanentSysMem : 1;
            UINT Cached : 1;
            UINT Protected : 1;
            UINT ExistingSysMem : 1;
            UINT ExistingKernelSysMem : 1;
            UINT FromEndOfSegment : 1;
            UINT DisableLargePageMapping : 1;
            UINT Overlay : 1;
            UINT Capture : 1;
            UINT CreateInVpr : 1;
            UINT DXGK_ALLOC_RESERVED17 : 1;
            UINT Reserved02 : 1;
            UINT MapApertureCpuVisible : 1;
            UINT HistoryBuffer : 1;
            UINT AccessedPhysically : 1;
            UINT ExplicitResidencyNotification : 1;
            UINT HardwareProtected : 1;
            UINT CpuVisibleOnDemand : 1;
            UINT DXGK_ALLOC_RESERVED16 : 1;
            UINT DXGK_ALLOC_RESERVED15 : 1;
            UINT DXGK_ALLOC_RESERVED14 : 1;
            UINT DXGK_ALLOC_RESERVED13 : 1;
            UINT DXGK_ALLOC_RESERVED12 : 1;
            UINT DXGK_ALLOC_RESERVED11 : 1;
            UINT DXGK_ALLOC_RESERVED10 : 1;
            UINT DXGK_ALLOC_RESERVED9 : 1;
            UINT DXGK_ALLOC_RESERVED4 : 1;
            UINT DXGK_ALLOC_RESERVED3 : 1;
            UINT DXGK_ALLOC_RESERVED2 : 1;
            UINT DXGK_ALLOC_RESERVED1 : 1;
            UINT DXGK_ALLOC_RESERVED0 : 1;
        };
        UINT Value;
    };
} DXGK_ALLOCATIONINFOFLAGS_WDDM2_0;

#define DXGK_ALLOC_FLAG_CPU_VISIBLE                     0x00000001u
#define DXGK_ALLOC_FLAG_PERMANENT_SYSMEM                0x00000002u
#define DXGK_ALLOC_FLAG_CACHED                          0x00000004u
#define DXGK_ALLOC_FLAG_PROTECTED                       0x00000008u
#define DXGK_ALLOC_FLAG_EXISTING_SYSMEM                 0x00000010u
#define DXGK_ALLOC_FLAG_EXISTING_KERNEL_SYSMEM          0x00000020u
#define DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT             0x00000040u
#define DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING      0x00000080u
#define DXGK_ALLOC_FLAG_OVERLAY                         0x00000100u
#define DXGK_ALLOC_FLAG_CAPTURE                         0x00000200u
#define DXGK_ALLOC_FLAG_CREATE_IN_VPR                   0x00000400u
#define DXGK_ALLOC_FLAG_RESERVED17                      0x00000800u
#define DXGK_ALLOC_FLAG_RESERVED02                      0x00001000u
#define DXGK_ALLOC_FLAG_MAP_APERTURE_CPU_VISIBLE        0x00002000u
#define DXGK_ALLOC_FLAG_HISTORY_BUFFER                  0x00004000u
#define DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY             0x00008000u
#define DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION 0x00010000u
#define DXGK_ALLOC_FLAG_HARDWARE_PROTECTED              0x00020000u
#define DXGK_ALLOC_FLAG_CPU_VISIBLE_ON_DEMAND           0x00040000u
// Bit 7 in the word of a driver that does not announce VirtualAddressingSupported (1.x): the GPU has it in tiles, and
// the manager asks for Swizzle and Unswizzle of what it transfers.
#define DXGK_ALLOC_FLAG_SWIZZLED DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING
// Bit 10 in that word: locks with UseAlternateVA may be asked for. Of what is not Swizzled it is CreateInVpr there too.
#define DXGK_ALLOC_FLAG_USE_ALTERNATE_VA DXGK_ALLOC_FLAG_CREATE_IN_VPR
// Must-be-zero bits by driver version (R160, R161, R162, R166, R180).
#define DXGK_ALLOC_RESERVED_MASK_2_0 0xFFF83C00u
#define DXGK_ALLOC_RESERVED_MASK_2_1 0xFFF83800u
#define DXGK_ALLOC_RESERVED_MASK_2_9 0xFFF81800u

// The second word, from WDDM 3.0 on.
typedef struct _DXGK_ALLOCATIONINFOFLAGS2 {
    union {
        struct {
            UINT ShareBackingStoreWithKmd : 1;
            UINT NoImplicitSynchronization : 1;
            UINT DisablePartialResidency : 1;
            UINT RestrictedToSingleSegment : 1;
            UINT NotifyEviction : 1;
            UINT NotifyIoMmuUnmap : 1;
            UINT Reserved : 26;
        };
        UINT Value;
    };
} DXGK_ALLOCATIONINFOFLAGS2;
#define DXGK_ALLOC_FLAG2_SHARE_BACKING_STORE_WITH_KMD 0x01u
#define DXGK_ALLOC_FLAG2_NO_IMPLICIT_SYNCHRONIZATION  0x02u
#define DXGK_ALLOC_FLAG2_DISABLE_PARTIAL_RESIDENCY    0x04u
#define DXGK_ALLOC_FLAG2_RESTRICTED_TO_SINGLE_SEGMENT 0x08u
#define DXGK_ALLOC_FLAG2_NOTIFY_EVICTION              0x10u
#define DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP           0x20u
#define DXGK_ALLOC_FLAG2_RESERVED_MASK                0xFFFFFFC0u

typedef struct _D3DDDI_SEGMENTPREFERENCE {
    union {
        struct {
            UINT SegmentId0 : 5;
            UINT Direction0 : 1; // 0 = from low to high, 1 = from high to low.
            UINT SegmentId1 : 5;
            UINT Direction1 : 1;
            UINT SegmentId2 : 5;
            UINT Direction2 : 1;
            UINT SegmentId3 : 5;
            UINT Direction3 : 1;
            UINT SegmentId4 : 5;
            UINT Direction4 : 1;
            UINT Reserved : 2;
        };
        UINT Value;
    };
} D3DDDI_SEGMENTPREFERENCE;

typedef struct _DXGK_SEGMENTBANKPREFERENCE {
    union {
        struct {
            UINT Bank0 : 7; // 1 to 127; 0 = none.
            UINT Direction0 : 1;
            UINT Bank1 : 7;
            UINT Direction1 : 1;
            UINT Bank2 : 7;
            UINT Direction2 : 1;
            UINT Bank3 : 7;
            UINT Direction3 : 1;
        };
        UINT Value;
    };
} DXGK_SEGMENTBANKPREFERENCE;

#define D3DDDI_ALLOCATIONPRIORITY_MINIMUM 0x28000000u
#define D3DDDI_ALLOCATIONPRIORITY_LOW     0x50000000u
#define D3DDDI_ALLOCATIONPRIORITY_NORMAL  0x78000000u
#define D3DDDI_ALLOCATIONPRIORITY_HIGH    0xA0000000u
#define D3DDDI_ALLOCATIONPRIORITY_MAXIMUM 0xC8000000u

// What a driver from 2.0 on says of how it uses an allocation, where its flag word has no bits for it any more. The
// manager reads Swizzled: the GPU has it in tiles, as bit 7 says it of a 1.x driver (DXGK_ALLOC_FLAG_SWIZZLED).
typedef struct _DXGK_ALLOCATIONUSAGEINFO1 {
    union {
        struct {
            UINT PrivateFormat : 1;
            UINT Swizzled : 1;
            UINT MipMap : 1;
            UINT Cube : 1;
            UINT Volume : 1;
            UINT Vertex : 1;
            UINT Index : 1;
            UINT Reserved : 25;
        };
        UINT Value;
    } Flags;
    UINT PrivateFormat; // the public union has the public formats here too
    UINT SwizzledFormat;
    UINT ByteOffset;
    UINT Width;
    UINT Height;
    UINT Pitch;
    UINT Depth;
    UINT SlicePitch;
} DXGK_ALLOCATIONUSAGEINFO1;

typedef struct _DXGK_ALLOCATIONUSAGEHINT {
    UINT Version; // 1
    DXGK_ALLOCATIONUSAGEINFO1 v1;
} DXGK_ALLOCATIONUSAGEHINT;

typedef struct _DXGK_ALLOCATIONINFO {
    VOID *pPrivateDriverData;   // in: what the user-mode driver says of the allocation (allocation_private.h).
    UINT PrivateDriverDataSize; // in
    UINT Alignment;             // out: bytes
    SIZE_T Size;                // out: bytes
    SIZE_T PitchAlignedSize;    // out: 0 = not for pitch-aligned segments
    DXGK_SEGMENTBANKPREFERENCE HintedBank;
    D3DDDI_SEGMENTPREFERENCE PreferredSegment;
    UINT SupportedReadSegmentSet;  // out: bit n = segment n + 1; ignored from 2.0 on
    UINT SupportedWriteSegmentSet; // out: bit n = segment n + 1
    UINT EvictionSegmentSet;       // out: aperture segments only; 0 = straight to system pages
    union {
        UINT MaximumRenamingListLength; // out: 0 = no limit (R248 to R250)
        UINT PhysicalAdapterIndex;
    };
    HANDLE hAllocation; // out: the miniport's handle
    union {
        UINT Flags;
        DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 FlagsWddm2;
    };
    const DXGK_ALLOCATIONUSAGEHINT *pAllocationUsageHint; // out: the driver's, until the call is over; NULL = nothing
    UINT AllocationPriority;                              // out: never 0
    DXGK_ALLOCATIONINFOFLAGS2 Flags2;
} DXGK_ALLOCATIONINFO;

typedef union _DXGK_CREATEALLOCATIONFLAGS {
    struct {
        UINT Resource : 1;
        UINT Reserved : 31;
    };
    UINT Value;
} DXGK_CREATEALLOCATIONFLAGS;

typedef struct _DXGKARG_CREATEALLOCATION {
    const VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
    UINT NumAllocations;
    DXGK_ALLOCATIONINFO *pAllocationInfo;
    HANDLE hResource;
    DXGK_CREATEALLOCATIONFLAGS Flags;
} DXGKARG_CREATEALLOCATION;

typedef union _DXGK_DESTROYALLOCATIONFLAGS {
    struct {
        UINT DestroyResource : 1;
        UINT Reserved : 31;
    };
    UINT Value;
} DXGK_DESTROYALLOCATIONFLAGS;

typedef struct _DXGKARG_DESTROYALLOCATION {
    UINT NumAllocations;
    const HANDLE *pAllocationList; // the miniport's handles
    HANDLE hResource;
    DXGK_DESTROYALLOCATIONFLAGS Flags;
} DXGKARG_DESTROYALLOCATION;

#endif
