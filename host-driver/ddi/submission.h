// SPDX-License-Identifier: Apache-2.0
// Devices, contexts, patching, submitting, preempting and resetting.
//
// One node is one ring of the device: fence ids of one node only grow and complete in order; nodes are independent.
#ifndef FERRY_DDI_SUBMISSION_H
#define FERRY_DDI_SUBMISSION_H

#include "ddi/ferry_nt.h"

typedef union _DXGK_CREATEPROCESSFLAGS {
    struct {
        UINT SystemProcess : 1; // the paging process
        UINT GdiProcess : 1;
        UINT Reserved : 30;
    };
    UINT Value;
} DXGK_CREATEPROCESSFLAGS;

typedef struct _DXGKARG_CREATEPROCESS {
    HANDLE hDxgkProcess; // in: the manager's handle
    HANDLE hKmdProcess;  // out: the miniport's
    DXGK_CREATEPROCESSFLAGS Flags;
} DXGKARG_CREATEPROCESS;

typedef union _DXGK_CREATEDEVICEFLAGS {
    struct {
        UINT SystemDevice : 1; // the manager's own device
        UINT GdiDevice : 1;
        UINT Reserved : 30;
    };
    UINT Value;
} DXGK_CREATEDEVICEFLAGS;

typedef struct _DXGKARG_CREATEDEVICE {
    HANDLE hDevice; // in: the manager's handle; out: the miniport's
    DXGK_CREATEDEVICEFLAGS Flags;
    HANDLE hKmdProcess; // the miniport's handle of the process; NULL where there are no processes
} DXGKARG_CREATEDEVICE;

typedef union _DXGK_CREATECONTEXTFLAGS {
    struct {
        UINT SystemContext : 1; // paging goes through it
        UINT GdiContext : 1;
        UINT VirtualAddressing : 1;
        UINT SystemProtectedContext : 1;
        UINT Reserved : 28;
    };
    UINT Value;
} DXGK_CREATECONTEXTFLAGS;

typedef struct _DXGK_CONTEXTINFO {
    UINT DmaBufferSize;
    UINT DmaBufferSegmentSet; // 0 = contiguous system memory
    UINT DmaBufferPrivateDataSize;
    UINT AllocationListSize;
    UINT PatchLocationListSize;
    UINT Reserved;
} DXGK_CONTEXTINFO;

typedef struct _DXGKARG_CREATECONTEXT {
    HANDLE hContext; // in: the manager's handle; out: the miniport's
    UINT NodeOrdinal;
    UINT EngineAffinity;
    DXGK_CREATECONTEXTFLAGS Flags;
    VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
    DXGK_CONTEXTINFO ContextInfo; // out
} DXGKARG_CREATECONTEXT;

typedef struct _DXGK_ALLOCATIONLIST {
    HANDLE hDeviceSpecificAllocation; // the miniport's handle of the allocation
    struct {
        UINT WriteOperation : 1;
        UINT SegmentId : 5; // 0 = not paged in
        UINT Reserved : 26;
    };
    PHYSICAL_ADDRESS PhysicalAddress; // segment base + offset
} DXGK_ALLOCATIONLIST;

typedef struct _D3DDDI_PATCHLOCATIONLIST {
    UINT AllocationIndex; // into the allocation list
    union {
        struct {
            UINT SlotId : 24;
            UINT Reserved : 8;
        };
        UINT Value;
    };
    UINT DriverId;         // the user-mode driver's mark for the miniport, unread by the manager
    UINT AllocationOffset; // added to the allocation's address
    UINT PatchOffset;      // byte offset in the DMA buffer
    UINT SplitOffset;
} D3DDDI_PATCHLOCATIONLIST;

typedef union _DXGK_PATCHFLAGS {
    struct {
        UINT Paging : 1;
        UINT Present : 1;
        UINT RedirectedPresent : 1;
        UINT NullRendering : 1;
        UINT Reserved : 28;
    };
    UINT Value;
} DXGK_PATCHFLAGS;

typedef struct _DXGKARG_PATCH {
    union {
        HANDLE hDevice; // NULL for paging
        HANDLE hContext;
    };
    UINT DmaBufferSegmentId;
    PHYSICAL_ADDRESS DmaBufferPhysicalAddress; // of the buffer's first byte; a bus address with segment id 0
    VOID *pDmaBuffer;
    UINT DmaBufferSize;
    UINT DmaBufferSubmissionStartOffset;
    UINT DmaBufferSubmissionEndOffset;
    VOID *pDmaBufferPrivateData;
    UINT DmaBufferPrivateDataSize;
    UINT DmaBufferPrivateDataSubmissionStartOffset;
    UINT DmaBufferPrivateDataSubmissionEndOffset;
    const DXGK_ALLOCATIONLIST *pAllocationList; // NULL for paging (R15)
    UINT AllocationListSize;
    const D3DDDI_PATCHLOCATIONLIST *pPatchLocationList;
    UINT PatchLocationListSize;
    UINT PatchLocationListSubmissionStart;
    UINT PatchLocationListSubmissionLength;
    UINT SubmissionFenceId;
    DXGK_PATCHFLAGS Flags;
    UINT EngineOrdinal;
    UINT NodeOrdinal;
} DXGKARG_PATCH;

typedef union _DXGK_SUBMITCOMMANDFLAGS {
    struct {
        UINT Paging : 1;
        UINT Present : 1;
        UINT RedirectedPresent : 1;
        UINT NullRendering : 1;
        UINT Flip : 1;
        UINT FlipWithNoWait : 1;
        UINT ContextSwitch : 1;
        UINT Resubmission : 1;
        UINT VirtualMachineData : 1;
        UINT Reserved : 23;
    };
    UINT Value;
} DXGK_SUBMITCOMMANDFLAGS;

typedef struct _DXGKARG_SUBMITCOMMAND {
    union {
        HANDLE hDevice; // NULL for paging
        HANDLE hContext;
    };
    UINT DmaBufferSegmentId;
    PHYSICAL_ADDRESS DmaBufferPhysicalAddress;
    UINT DmaBufferSize;
    UINT DmaBufferSubmissionStartOffset;
    UINT DmaBufferSubmissionEndOffset;
    VOID *pDmaBufferPrivateData;
    UINT DmaBufferPrivateDataSize;
    UINT DmaBufferPrivateDataSubmissionStartOffset;
    UINT DmaBufferPrivateDataSubmissionEndOffset;
    UINT SubmissionFenceId;
    DXGK_SUBMITCOMMANDFLAGS Flags;
    UINT EngineOrdinal;
    D3DGPU_VIRTUAL_ADDRESS DmaBufferVirtualAddress;
    UINT NodeOrdinal;
} DXGKARG_SUBMITCOMMAND;

typedef struct _DXGKARG_PREEMPTCOMMAND {
    UINT PreemptionFenceId;
    UINT NodeOrdinal;
    UINT EngineOrdinal;
    UINT Flags;
} DXGKARG_PREEMPTCOMMAND;

typedef struct _DXGKARG_QUERYCURRENTFENCE {
    UINT CurrentFence; // out
    UINT NodeOrdinal;
    UINT EngineOrdinal;
} DXGKARG_QUERYCURRENTFENCE;

typedef struct _DXGKARG_RESETENGINE {
    UINT NodeOrdinal;
    UINT EngineOrdinal;
    UINT LastAbortedFenceId; // out
} DXGKARG_RESETENGINE;

#endif
