// SPDX-License-Identifier: Apache-2.0
// Segments, capabilities and the queries that report them.
#ifndef FERRY_DDI_SEGMENTS_H
#define FERRY_DDI_SEGMENTS_H

#include "ddi/ferry_nt.h"

typedef struct _DXGK_SEGMENTFLAGS {
    union {
        struct {
            UINT Aperture : 1;
            UINT Agp : 1;
            UINT CpuVisible : 1;
            UINT UseBanking : 1;
            UINT CacheCoherent : 1; // only with Aperture
            UINT PitchAlignment : 1;
            UINT PopulatedFromSystemMemory : 1;
            UINT PreservedDuringStandby : 1;
            UINT PreservedDuringHibernate : 1;
            UINT PartiallyPreservedDuringHibernate : 1;
            UINT DirectFlip : 1;
            UINT Use64KBPages : 1;
            UINT ReservedSysMem : 1;
            UINT SupportsCpuHostAperture : 1;
            UINT SupportsCachedCpuHostAperture : 1;
            UINT ApplicationTarget : 1;
            UINT VprSupported : 1;
            UINT VprPreservedDuringStandby : 1;
            UINT EncryptedPagingSupported : 1;
            UINT LocalBudgetGroup : 1;
            UINT NonLocalBudgetGroup : 1;
            UINT PopulatedByReservedDDRByFirmware : 1;
            UINT Reserved : 10;
        };
        UINT Value;
    };
} DXGK_SEGMENTFLAGS;
#define DXGK_SEGMENT_APERTURE           0x00000001u
#define DXGK_SEGMENT_CPU_VISIBLE        0x00000004u
#define DXGK_SEGMENT_CACHE_COHERENT     0x00000010u
#define DXGK_SEGMENT_APPLICATION_TARGET 0x00008000u
#define DXGK_SEGMENT_VPR_SUPPORTED      0x00010000u

typedef struct _DXGK_CPUHOSTAPERTURE {
    UINT64 PhysicalAddress;
    UINT SizeInPages;
} DXGK_CPUHOSTAPERTURE;

typedef struct _DXGK_SEGMENTDESCRIPTOR4 {
    DXGK_SEGMENTFLAGS Flags;
    PHYSICAL_ADDRESS BaseAddress; // GPU address of the segment; added to offsets by the manager
    SIZE_T Size;
    SIZE_T CommitLimit; // apertures only; equals Size for memory
    SIZE_T SystemMemoryEndAddress;
    union {
        PHYSICAL_ADDRESS CpuTranslatedAddress;
        DXGK_CPUHOSTAPERTURE CpuHostAperture;
    };
    UINT NumInvalidMemoryRanges;
    SIZE_T VprRangeStartOffset;
    SIZE_T VprRangeSize;
    UINT VprAlignment;
    UINT NumVprSupported; // 0 = unlimited
    UINT VprReserveSize;
    UINT NumUEFIFrameBufferRanges;
} DXGK_SEGMENTDESCRIPTOR4;

// Asked twice: with NbSegment 0 the miniport fills in only the count, sizes and stride; then with the array.
typedef struct _DXGK_QUERYSEGMENTOUT4 {
    UINT NbSegment;
    UINT8 *pSegmentDescriptor;  // step by SegmentDescriptorStride
    UINT PagingBufferSegmentId; // 0 = contiguous system memory
    UINT PagingBufferSize;
    UINT PagingBufferPrivateDataSize;
    SIZE_T SegmentDescriptorStride;
} DXGK_QUERYSEGMENTOUT4;

typedef struct _DXGK_VIDMMCAPS {
    union {
        struct {
            UINT OutOfOrderLock : 1;
            UINT DedicatedPagingEngine : 1;
            UINT PagingEngineCanSwizzle : 1;
            UINT SectionBackedPrimary : 1;
            UINT CrossAdapterResource : 1;
            UINT VirtualAddressingSupported : 1;
            UINT GpuMmuSupported : 1;
            UINT IoMmuSupported : 1;
            UINT ReplicateGdiContent : 1;
            UINT NonCpuVisiblePrimary : 1;
            UINT ParavirtualizationSupported : 1;
            UINT IoMmuSecureModeSupported : 1;
            UINT DisableSelfRefreshVRAMInS3 : 1;
            UINT IoMmuSecureModeRequired : 1;
            UINT MapAperture2Supported : 1;
            UINT CrossAdapterResourceTexture : 1;
            UINT CrossAdapterResourceScanout : 1;
            UINT AlwaysPoweredVRAM : 1;
            UINT Reserved : 14;
        };
        UINT Value;
    };
    UINT PagingNode;
} DXGK_VIDMMCAPS;
#define DXGK_VIDMMCAPS_VIRTUAL_ADDRESSING_SUPPORTED 0x00000020u
#define DXGK_VIDMMCAPS_GPU_MMU_SUPPORTED            0x00000040u
#define DXGK_VIDMMCAPS_MAP_APERTURE2_SUPPORTED      0x00004000u

typedef enum _DXGK_WDDMVERSION {
    DXGKDDI_WDDMv1 = 0x1000,
    DXGKDDI_WDDMv1_2 = 0x1200,
    DXGKDDI_WDDMv1_3 = 0x1300,
    DXGKDDI_WDDMv2 = 0x2000,
    DXGKDDI_WDDMv2_1 = 0x2100,
    DXGKDDI_WDDMv2_9 = 0x2900,
    DXGKDDI_WDDMv3_0 = 0x3000,
    DXGKDDI_WDDMv3_1 = 0x3100,
    DXGKDDI_WDDMv3_2 = 0x3200,
} DXGK_WDDMVERSION;

// The part of DXGK_DRIVERCAPS that this manager reads, in the order of the original.
typedef struct _DXGK_DRIVERCAPS {
    PHYSICAL_ADDRESS HighestAcceptableAddress;
    UINT MaxAllocationListSlotId;
    SIZE_T ApertureSegmentCommitLimit;
    UINT InterruptMessageNumber;
    UINT NumberOfSwizzlingRanges;
    DXGK_VIDMMCAPS MemoryManagementCaps;
    UINT NbAsymetricProcessingNodes; // GpuEngineTopology: one node per ring; PagingNode is one of them.
    DXGK_WDDMVERSION WDDMVersion;
} DXGK_DRIVERCAPS;

typedef struct _DXGK_GPUMMUCAPS {
    union {
        struct {
            UINT ReadOnlyMemorySupported : 1;
            UINT NoExecuteMemorySupported : 1;
            UINT ZeroInPteSupported : 1;
            UINT ExplicitPageTableInvalidation : 1;
            UINT CacheCoherentMemorySupported : 1;
            UINT PageTableUpdateRequireAddressSpaceIdle : 1;
            UINT LargePageSupported : 1;
            UINT DualPteSupported : 1;
            UINT AllowNonAlignedLargePageAddress : 1;
            UINT SysMem64KBPageSupported : 1;
            UINT InvalidTlbEntriesNotCached : 1;
            UINT SysMemLargePageSupported : 1;
            UINT CachedPageTables : 1;
            UINT Reserved : 19;
        };
        UINT Value;
    };
    UINT PageTableUpdateMode; // 0 CPU_VIRTUAL, 1 GPU_VIRTUAL, 2 GPU_PHYSICAL
    UINT VirtualAddressBitCount;
    UINT LeafPageTableSizeFor64KPagesInBytes;
    UINT PageTableLevelCount;
    UINT LegacyBehaviors; // bit 0 SourcePageTableVaInTransfer
} DXGK_GPUMMUCAPS;

// What DXGKQAITYPE_GPUMMUCAPS and, of one level at a time, DXGKQAITYPE_PAGETABLELEVELDESC are asked with.
typedef struct _DXGK_QUERYGPUMMUCAPSIN {
    UINT PhysicalAdapterIndex;
} DXGK_QUERYGPUMMUCAPSIN;
typedef struct _DXGK_QUERYPAGETABLELEVELDESCIN {
    UINT16 LevelIndex;
    UINT16 PhysicalAdapterIndex;
} DXGK_QUERYPAGETABLELEVELDESCIN;

typedef enum _DXGK_PAGETABLEUPDATEMODE {
    DXGK_PAGETABLEUPDATE_CPU_VIRTUAL = 0,
    DXGK_PAGETABLEUPDATE_GPU_VIRTUAL = 1,
    DXGK_PAGETABLEUPDATE_GPU_PHYSICAL = 2,
} DXGK_PAGETABLEUPDATEMODE;

// One level of page tables; 0 is the lowest.
typedef struct _DXGK_PAGE_TABLE_LEVEL_DESC {
    UINT PageTableIndexBitCount; // 2^n entries
    UINT PageTableSegmentId;
    UINT PagingProcessPageTableSegmentId; // 0 = system memory
    UINT PageTableSizeInBytes;
    UINT PageTableAlignmentInBytes;
} DXGK_PAGE_TABLE_LEVEL_DESC;

typedef struct _DXGK_PHYSICALADAPTERFLAGS {
    union {
        struct {
            UINT IoMmuSupported : 1;
            UINT GpuMmuSupported : 1;
            UINT MovePagingSupported : 1;
            UINT VPRPagingContextRequired : 1;
            UINT AllowHardwareProtectedNoVpr : 1;
            UINT VirtualCopyEngineSupported : 1;
            UINT GpuVaIommuRequired : 1;
            UINT GpuVaIommuGlobalRequired : 1;
            UINT GpuVaIommuCacheCoherent : 1;
            UINT Reserved : 23;
        };
        UINT Value;
    };
} DXGK_PHYSICALADAPTERFLAGS;

// The part of DXGK_PHYSICALADAPTERCAPS that this manager reads, in the order of the original.
typedef struct _DXGK_PHYSICALADAPTERCAPS {
    UINT16 NumExecutionNodes;
    UINT16 PagingNodeIndex;
    HANDLE DxgkPhysicalAdapterHandle;
    DXGK_PHYSICALADAPTERFLAGS Flags;
} DXGK_PHYSICALADAPTERCAPS;

// What DxgkDdiGetNodeMetadata says of a node.
typedef enum _DXGK_ENGINE_TYPE {
    DXGK_ENGINE_TYPE_OTHER = 0,
    DXGK_ENGINE_TYPE_COPY = 6,
} DXGK_ENGINE_TYPE;
#define DXGK_MAX_METADATA_NAME_LENGTH 32
typedef struct _DXGK_NODEMETADATA {
    DXGK_ENGINE_TYPE EngineType;
    WCHAR FriendlyName[DXGK_MAX_METADATA_NAME_LENGTH]; // empty, but of OTHER
    UINT Flags;
    UINT Reserved;
    BOOLEAN GpuMmuSupported; // it reaches memory by GPU virtual addresses
    BOOLEAN IoMmuSupported;
} DXGK_NODEMETADATA, DXGKARG_GETNODEMETADATA;

typedef struct _DXGK_QUERYPAGINGBUFFERINFO_IN {
    UINT16 PhysicalAdapterIndex;
    UINT16 Reserved;
} DXGK_QUERYPAGINGBUFFERINFO_IN;
typedef struct _DXGK_QUERYPAGINGBUFFERINFO_OUT {
    UINT PagingBufferSize;
    UINT PagingBufferPrivateDataSize;
} DXGK_QUERYPAGINGBUFFERINFO_OUT;

// 128-bit page table entry in the manager's form.
typedef struct _DXGK_PTE {
    union {
        struct {
            UINT64 Valid : 1;
            UINT64 Zero : 1;
            UINT64 CacheCoherent : 1;
            UINT64 ReadOnly : 1;
            UINT64 NoExecute : 1;
            UINT64 Segment : 5;
            UINT64 LargePage : 1;
            UINT64 PhysicalAdapterIndex : 6;
            UINT64 PageTablePageSize : 2;
            UINT64 SystemReserved0 : 1;
            UINT64 Reserved : 44;
        };
        UINT64 Flags;
    };
    union {
        UINT64 PageAddress; // page number: byte address >> 12
        UINT64 PageTableAddress;
    };
} DXGK_PTE;

typedef enum _DXGK_QUERYADAPTERINFOTYPE {
    DXGKQAITYPE_UMDRIVERPRIVATE = 0,
    DXGKQAITYPE_DRIVERCAPS = 1,
    DXGKQAITYPE_QUERYSEGMENT = 2,
    DXGKQAITYPE_QUERYSEGMENT3 = 5,
    DXGKQAITYPE_QUERYSEGMENT4 = 11,
    DXGKQAITYPE_SEGMENTMEMORYSTATE = 12,
    DXGKQAITYPE_GPUMMUCAPS = 13,
    DXGKQAITYPE_PAGETABLELEVELDESC = 14,
    DXGKQAITYPE_PHYSICALADAPTERCAPS = 15,
    DXGKQAITYPE_FRAMEBUFFERSAVESIZE = 21,
    DXGKQAITYPE_HARDWARERESERVEDRANGES = 22,
    DXGKQAITYPE_PHYSICAL_MEMORY_CAPS = 34,
    DXGKQAITYPE_IOMMU_CAPS = 35,
    DXGKQAITYPE_HARDWARERESERVEDRANGES2 = 36,
    DXGKQAITYPE_NATIVE_FENCE_CAPS = 37,
    DXGKQAITYPE_DIRTYBITTRACKINGCAPS = 39,
    DXGKQAITYPE_DIRTYBITTRACKINGSEGMENTCAPS = 40,
    DXGKQAITYPE_QUERYPAGINGBUFFERINFO = 42,
    DXGKQAITYPE_QUERYSEGMENTCOUNT = 43,
    DXGKQAITYPE_QUERYSEGMENT5 = 44,
    DXGKQAITYPE_QUERYMMUCOUNT = 45,
    DXGKQAITYPE_QUERYMMUS = 46,
    DXGKQAITYPE_64BITONLYCAPS = 47,
    DXGKQAITYPE_PAGINGPROCESSGPUVASIZE = 48,
} DXGK_QUERYADAPTERINFOTYPE;

typedef struct _DXGKARG_QUERYADAPTERINFO {
    DXGK_QUERYADAPTERINFOTYPE Type;
    VOID *pInputData;
    UINT InputDataSize;
    VOID *pOutputData;
    UINT OutputDataSize;
    UINT Flags;
    HANDLE hKmdProcessHandle;
} DXGKARG_QUERYADAPTERINFO;

#endif
