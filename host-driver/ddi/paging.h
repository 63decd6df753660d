// SPDX-License-Identifier: Apache-2.0
// DxgkDdiBuildPagingBuffer: the 23 paging operations, their argument structs and flag words.
#ifndef FERRY_DDI_PAGING_H
#define FERRY_DDI_PAGING_H

#include "ddi/ferry_nt.h"
#include "ddi/segments.h"

typedef enum _DXGK_BUILDPAGINGBUFFER_OPERATION {
    DXGK_OPERATION_TRANSFER = 0,
    DXGK_OPERATION_FILL = 1,
    DXGK_OPERATION_DISCARD_CONTENT = 2,
    DXGK_OPERATION_READ_PHYSICAL = 3,
    DXGK_OPERATION_WRITE_PHYSICAL = 4,
    DXGK_OPERATION_MAP_APERTURE_SEGMENT = 5,
    DXGK_OPERATION_UNMAP_APERTURE_SEGMENT = 6,
    DXGK_OPERATION_SPECIAL_LOCK_TRANSFER = 7,
    DXGK_OPERATION_VIRTUAL_TRANSFER = 8,
    DXGK_OPERATION_VIRTUAL_FILL = 9,
    DXGK_OPERATION_INIT_CONTEXT_RESOURCE = 10,
    DXGK_OPERATION_UPDATE_PAGE_TABLE = 11,
    DXGK_OPERATION_FLUSH_TLB = 12,
    DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION = 13,
    DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES = 14,
    DXGK_OPERATION_NOTIFY_RESIDENCY = 15,
    DXGK_OPERATION_SIGNAL_MONITORED_FENCE = 16,
    DXGK_OPERATION_MAP_APERTURE_SEGMENT2 = 17,
    DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY = 18,
    DXGK_OPERATION_MAP_MMU = 19,
    DXGK_OPERATION_UNMAP_MMU = 20,
    DXGK_OPERATION_NOTIFY_RESIDENCY2 = 21,
    DXGK_OPERATION_NOTIFY_ALLOC = 22,
} DXGK_BUILDPAGINGBUFFER_OPERATION;
#define DXGK_OPERATION_COUNT 23

typedef struct _DXGK_TRANSFERFLAGS {
    union {
        struct {
            UINT Swizzle : 1;
            UINT Unswizzle : 1;
            UINT AllocationIsIdle : 1;
            UINT TransferStart : 1;
            UINT TransferEnd : 1;
            UINT Reserved : 27;
        };
        UINT Value;
    };
} DXGK_TRANSFERFLAGS;
#define DXGK_TRANSFER_SWIZZLE            0x01u
#define DXGK_TRANSFER_UNSWIZZLE          0x02u
#define DXGK_TRANSFER_ALLOCATION_IS_IDLE 0x04u
#define DXGK_TRANSFER_START              0x08u
#define DXGK_TRANSFER_END                0x10u
#define DXGK_TRANSFER_RESERVED_MASK      0xFFFFFFE0u

typedef struct _DXGK_DISCARDCONTENTFLAGS {
    union {
        struct {
            UINT AllocationIsIdle : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_DISCARDCONTENTFLAGS;
#define DXGK_DISCARD_ALLOCATION_IS_IDLE 0x1u

typedef struct _DXGK_MAPAPERTUREFLAGS {
    union {
        struct {
            UINT CacheCoherent : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_MAPAPERTUREFLAGS;
#define DXGK_MAP_APERTURE_CACHE_COHERENT 0x1u

typedef struct _DXGK_TRANSFERVIRTUALFLAGS {
    union {
        struct {
            UINT Src64KBPages : 1;
            UINT Dst64KBPages : 1;
            UINT Reserved : 30;
        };
        UINT Value;
    };
} DXGK_TRANSFERVIRTUALFLAGS;

typedef enum _DXGK_MEMORY_TRANSFER_DIRECTION {
    DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM = 0,
    DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL = 1,
    DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL = 2,
} DXGK_MEMORY_TRANSFER_DIRECTION;

typedef struct _DXGK_UPDATEPAGETABLEFLAGS {
    union {
        struct {
            UINT Repeat : 1;
            UINT InitialUpdate : 1;
            UINT NotifyEviction : 1;
            UINT Use64KBPages : 1;
            UINT NativeFence : 1;
            UINT Reserved : 27;
        };
        UINT Value;
    };
} DXGK_UPDATEPAGETABLEFLAGS;

typedef struct _DXGK_NOTIFYALLOCFLAGS {
    union {
        struct {
            UINT Eviction : 1; // never together with IoMmuUnmap (rule C24)
            UINT IoMmuUnmap : 1;
            UINT Reserved : 30;
        };
        UINT Value;
    };
} DXGK_NOTIFYALLOCFLAGS;

typedef struct _DXGK_ADL_FLAGS {
    union {
        struct {
            UINT Contiguous : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_ADL_FLAGS;

typedef struct _DXGK_ADL {
    UINT PageCount;
    DXGK_ADL_FLAGS Flags;
    union {
        UINT64 BasePageNumber;
        UINT64 *Pages;
    };
} DXGK_ADL;

typedef union _DXGK_PAGETABLEUPDATEADDRESS {
    VOID *CpuVirtual;
    D3DGPU_VIRTUAL_ADDRESS GpuVirtual;
    struct {
        UINT SegmentId;
        UINT Padding;
        UINT64 SegmentOffset;
    } GpuPhysical;
} DXGK_PAGETABLEUPDATEADDRESS;

typedef struct _DXGK_SEGMENTOFFSET {
    UINT SegmentId;
    UINT Padding;
    UINT64 SegmentOffset;
} DXGK_SEGMENTOFFSET;

// One side of a transfer: SegmentId 0 = the MDL, anything else = an address with the segment's base added in already.
typedef struct _DXGK_TRANSFERSIDE {
    UINT SegmentId;
    union {
        LARGE_INTEGER SegmentAddress;
        MDL *pMdl;
    };
} DXGK_TRANSFERSIDE;

// The segment side starts at SegmentAddress + TransferOffset, the MDL side at page MdlOffset (R97). TransferOffset and
// TransferSize stay the same over all passes of one sub-transfer.
typedef struct _DXGK_BUILDPAGINGBUFFER_TRANSFER {
    HANDLE hAllocation; // NULL = raw copy (R43)
    UINT TransferOffset;
    SIZE_T TransferSize; // 0 is legal (notice after a reset)
    DXGK_TRANSFERSIDE Source;
    DXGK_TRANSFERSIDE Destination;
    DXGK_TRANSFERFLAGS Flags;
    UINT MdlOffset; // pages
} DXGK_BUILDPAGINGBUFFER_TRANSFER;

typedef struct _DXGK_BUILDPAGINGBUFFER_FILL {
    HANDLE hAllocation;
    SIZE_T FillSize;
    UINT FillPattern;
    struct {
        UINT SegmentId; // a memory segment, never an aperture (R47)
        LARGE_INTEGER SegmentAddress;
    } Destination;
} DXGK_BUILDPAGINGBUFFER_FILL;

typedef struct _DXGK_BUILDPAGINGBUFFER_DISCARDCONTENT {
    HANDLE hAllocation;
    DXGK_DISCARDCONTENTFLAGS Flags;
    UINT SegmentId;
    LARGE_INTEGER SegmentAddress;
} DXGK_BUILDPAGINGBUFFER_DISCARDCONTENT;

typedef struct _DXGK_BUILDPAGINGBUFFER_PHYSICAL {
    UINT SegmentId;                   // never 0: the manager reaches system memory through an aperture
    PHYSICAL_ADDRESS PhysicalAddress; // with the segment's base added in; the miniport picks 1 to 8 bytes (R56, R60)
} DXGK_BUILDPAGINGBUFFER_PHYSICAL;

typedef struct _DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT {
    HANDLE hDevice;
    HANDLE hAllocation; // NULL = a DMA buffer
    UINT SegmentId;
    SIZE_T OffsetInPages;
    SIZE_T NumberOfPages;
    MDL *pMdl;
    DXGK_MAPAPERTUREFLAGS Flags;
    UINT MdlOffset; // pages
} DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT;

typedef struct _DXGK_BUILDPAGINGBUFFER_UNMAPAPERTURESEGMENT {
    HANDLE hDevice;
    HANDLE hAllocation;
    UINT SegmentId;
    SIZE_T OffsetInPages;
    SIZE_T NumberOfPages;
    PHYSICAL_ADDRESS DummyPage;
} DXGK_BUILDPAGINGBUFFER_UNMAPAPERTURESEGMENT;

typedef struct _DXGK_BUILDPAGINGBUFFER_SPECIALLOCKTRANSFER {
    HANDLE hAllocation;
    UINT TransferOffset;
    SIZE_T TransferSize;
    DXGK_TRANSFERSIDE Source;
    DXGK_TRANSFERSIDE Destination;
    DXGK_TRANSFERFLAGS Flags;
    UINT SwizzlingRangeId;
    UINT SwizzlingRangeData;
} DXGK_BUILDPAGINGBUFFER_SPECIALLOCKTRANSFER;

typedef struct _DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL {
    HANDLE hAllocation;
    UINT64 AllocationOffsetInBytes;
    UINT64 TransferSizeInBytes;
    D3DGPU_VIRTUAL_ADDRESS SourceVirtualAddress;
    D3DGPU_VIRTUAL_ADDRESS DestinationVirtualAddress;
    D3DGPU_VIRTUAL_ADDRESS SourcePageTable;
    DXGK_MEMORY_TRANSFER_DIRECTION TransferDirection;
    DXGK_TRANSFERVIRTUALFLAGS Flags;
    D3DGPU_VIRTUAL_ADDRESS DestinationPageTable;
} DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL;

typedef struct _DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL {
    HANDLE hAllocation;
    UINT64 AllocationOffsetInBytes;
    UINT64 FillSizeInBytes;
    UINT FillPattern;
    D3DGPU_VIRTUAL_ADDRESS DestinationVirtualAddress;
} DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL;

typedef struct _DXGK_BUILDPAGINGBUFFER_INITCONTEXTRESOURCE {
    HANDLE hAllocation;
    struct {
        UINT SegmentId;
        union {
            LARGE_INTEGER SegmentAddress;
            MDL *pMdl;
        };
        VOID *VirtualAddress;
        D3DGPU_VIRTUAL_ADDRESS GpuVirtualAddress;
    } Destination;
} DXGK_BUILDPAGINGBUFFER_INITCONTEXTRESOURCE;

typedef struct _DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE {
    UINT PageTableLevel;
    HANDLE hAllocation;
    DXGK_PAGETABLEUPDATEADDRESS PageTableAddress;
    DXGK_PTE *pPageTableEntries; // one, with Repeat
    UINT StartIndex;             // in groups of 16 entries with Use64KBPages, as the next
    UINT NumPageTableEntries;
    UINT Reserved0;
    DXGK_UPDATEPAGETABLEFLAGS Flags;
    UINT64 DriverProtection;
    UINT64 AllocationOffsetInBytes;
    HANDLE hProcess;
    UINT UpdateMode;
    DXGK_PTE *pPageTableEntries64KB;
    D3DGPU_VIRTUAL_ADDRESS FirstPteVirtualAddress;
} DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE;

typedef struct _DXGK_BUILDPAGINGBUFFER_FLUSHTLB {
    DXGK_SEGMENTOFFSET RootPageTableAddress; // from here on the root of hProcess: nothing else tells it
    HANDLE hProcess;
    D3DGPU_VIRTUAL_ADDRESS StartVirtualAddress;
    D3DGPU_VIRTUAL_ADDRESS EndVirtualAddress;
} DXGK_BUILDPAGINGBUFFER_FLUSHTLB;

typedef struct _DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION {
    D3DGPU_VIRTUAL_ADDRESS ContextAllocation;
    UINT64 ContextAllocationSize;
    VOID *pDriverPrivateData;
    UINT DriverPrivateDataSize;
} DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION;

typedef struct _DXGK_BUILDPAGINGBUFFER_COPY_RANGE {
    UINT NumPageTableEntries;
    D3DGPU_VIRTUAL_ADDRESS SrcPageTableAddress;
    D3DGPU_VIRTUAL_ADDRESS DstPageTableAddress;
    UINT SrcStartPteIndex;
    UINT DstStartPteIndex;
} DXGK_BUILDPAGINGBUFFER_COPY_RANGE;

typedef struct _DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES {
    UINT NumRanges;
    const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *pRanges;
} DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES;

typedef struct _DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY {
    HANDLE hAllocation;
    DXGK_SEGMENTOFFSET PhysicalAddress;
    UINT Resident : 1;
    UINT Reserved : 31;
} DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY;

typedef struct _DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE {
    D3DGPU_VIRTUAL_ADDRESS MonitoredFenceGpuVa;
    UINT64 MonitoredFenceValue;
} DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE;

typedef struct _DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT2 {
    HANDLE hDevice;
    HANDLE hAllocation;
    UINT SegmentId;
    SIZE_T OffsetInPages;
    SIZE_T NumberOfPages;
    DXGK_ADL Adl;
    DXGK_MAPAPERTUREFLAGS Flags;
    ULONG AdlOffset;
    VOID *CpuVisibleAddress;
} DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT2;

typedef struct _DXGK_FENCE_RESIDENCY_INFO {
    HANDLE hGlobalNativeFence;
    PHYSICAL_ADDRESS CurrentValuePhysicalAddress;
    PHYSICAL_ADDRESS MonitoredValuePhysicalAddress;
    VOID *CurrentValueKernelCpuVa;
    VOID *MonitoredValueKernelCpuVa;
} DXGK_FENCE_RESIDENCY_INFO;

typedef struct _DXGK_BUILDPAGINGBUFFER_NOTIFYFENCERESIDENCY {
    UINT NumFences;
    UINT Flags;
    DXGK_FENCE_RESIDENCY_INFO *FenceResidencyInfo;
} DXGK_BUILDPAGINGBUFFER_NOTIFYFENCERESIDENCY;

typedef struct _DXGK_BUILDPAGINGBUFFER_MAPMMU {
    HANDLE hAllocation;
    UINT64 VirtualAddress;
    UINT16 MmuId;
    UINT16 SegmentId;
    UINT AllocationOffsetInPages;
    DXGK_ADL Adl;
} DXGK_BUILDPAGINGBUFFER_MAPMMU;

typedef struct _DXGK_BUILDPAGINGBUFFER_UNMAPMMU {
    HANDLE hAllocation;
    UINT64 VirtualAddress;
    UINT16 MmuId;
    UINT16 Reserved0;
    UINT AllocationOffset;
    UINT NumberOfPages;
} DXGK_BUILDPAGINGBUFFER_UNMAPMMU;

// The SDK of 24H2. A later kit is said to differ, so nothing of ours may depend on offsets inside this struct.
typedef struct _DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 {
    HANDLE hAllocation;
    UINT AllocationOffsetInPages;
    UINT SizeInPages;
    UINT16 SegmentId;
    UINT16 Padding0;
    union {
        PHYSICAL_ADDRESS PhysicalAddress;
        MDL *Mdl;
    };
    UINT Resident : 1;
    UINT Reserved : 31;
} DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2;

typedef struct _DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC {
    HANDLE hAllocation;
    HANDLE hKmdProcessHandle; // 0 for eviction
    DXGK_NOTIFYALLOCFLAGS Flags;
    UINT64 OffsetInBytes;
    UINT64 SizeInBytes;
    D3DGPU_VIRTUAL_ADDRESS GpuVirtualAddressAtOffset;
} DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC;

typedef struct _DXGKARG_BUILDPAGINGBUFFER {
    VOID *pDmaBuffer;            // in: first free byte; out: one past the last byte written (R18)
    UINT DmaSize;                // in/out: bytes left at pDmaBuffer (R95, R102)
    VOID *pDmaBufferPrivateData; // in/out
    UINT DmaBufferPrivateDataSize;
    DXGK_BUILDPAGINGBUFFER_OPERATION Operation;
    UINT
        MultipassOffset; // the miniport's own progress; zeroed by the manager at the start of an operation (R24 to R26)
    union {
        DXGK_BUILDPAGINGBUFFER_TRANSFER Transfer;
        DXGK_BUILDPAGINGBUFFER_FILL Fill;
        DXGK_BUILDPAGINGBUFFER_DISCARDCONTENT DiscardContent;
        DXGK_BUILDPAGINGBUFFER_PHYSICAL ReadPhysical;
        DXGK_BUILDPAGINGBUFFER_PHYSICAL WritePhysical;
        DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT MapApertureSegment;
        DXGK_BUILDPAGINGBUFFER_UNMAPAPERTURESEGMENT UnmapApertureSegment;
        DXGK_BUILDPAGINGBUFFER_SPECIALLOCKTRANSFER SpecialLockTransfer;
        DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL TransferVirtual;
        DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL FillVirtual;
        DXGK_BUILDPAGINGBUFFER_INITCONTEXTRESOURCE InitContextResource;
        DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE UpdatePageTable;
        DXGK_BUILDPAGINGBUFFER_FLUSHTLB FlushTlb;
        DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION UpdateContextAllocation;
        DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES CopyPageTableEntries;
        DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY NotifyResidency;
        DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE SignalMonitoredFence;
        DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT2 MapApertureSegment2;
        DXGK_BUILDPAGINGBUFFER_NOTIFYFENCERESIDENCY NotifyFenceResidency;
        DXGK_BUILDPAGINGBUFFER_MAPMMU MmapMmu;
        DXGK_BUILDPAGINGBUFFER_UNMAPMMU UnmapMmu;
        DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 NotifyResidency2;
        DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC NotifyAllocation;
        struct {
            UINT Reserved[64];
        } Reserved; // tail of the union; not to be touched
    };
    HANDLE hSystemContext;
    D3DGPU_VIRTUAL_ADDRESS DmaBufferGpuVirtualAddress;
    UINT DmaBufferWriteOffset; // byte offset of this operation in the DMA buffer
} DXGKARG_BUILDPAGINGBUFFER;

#endif
