// SPDX-License-Identifier: Apache-2.0
// What the miniport tells the scheduler at interrupt time, through DxgkCbNotifyInterrupt.
#ifndef FERRY_DDI_INTERRUPT_H
#define FERRY_DDI_INTERRUPT_H

#include "ddi/ferry_nt.h"

typedef enum _DXGK_INTERRUPT_TYPE {
    DXGK_INTERRUPT_DMA_COMPLETED = 1,
    DXGK_INTERRUPT_DMA_PREEMPTED = 2,
    DXGK_INTERRUPT_CRTC_VSYNC = 3,
    DXGK_INTERRUPT_DMA_FAULTED = 4,
    DXGK_INTERRUPT_DMA_PAGE_FAULTED = 9,
} DXGK_INTERRUPT_TYPE;

typedef union _DXGKCB_NOTIFY_INTERRUPT_DATA_FLAGS {
    struct {
        UINT ValidPhysicalAdapterMask : 1;
        UINT HostSchedulerInterrupt : 1;
        UINT Reserved : 30;
    };
    UINT Value;
} DXGKCB_NOTIFY_INTERRUPT_DATA_FLAGS;

typedef struct _DXGKARGCB_NOTIFY_INTERRUPT_DATA {
    DXGK_INTERRUPT_TYPE InterruptType;
    union {
        // Every submission of the node up to and including this id is done.
        struct {
            UINT SubmissionFenceId;
            UINT NodeOrdinal;
            UINT EngineOrdinal;
        } DmaCompleted;
        struct {
            UINT PreemptionFenceId;
            UINT LastCompletedFenceId;
            UINT NodeOrdinal;
            UINT EngineOrdinal;
        } DmaPreempted;
        // The buffer with this id did not come to its end; the node goes on with the next one. Counts as completed too.
        // Status STATUS_GRAPHICS_TRY_AGAIN_NOW: the reset of another node cut it off, and it is to be submitted again.
        // Any other one: a fault of its own; so is this one where no reset has begun since it was submitted.
        struct {
            UINT FaultedFenceId;
            NTSTATUS Status;
            UINT NodeOrdinal;
            UINT EngineOrdinal;
        } DmaFaulted;
        // As DmaFaulted with a fault of the buffer's own: of the rest the manager reads nothing, and it resets nothing
        // for it.
        struct {
            UINT FaultedFenceId;
            UINT64 FaultedPrimitiveAPISequenceNumber;
            UINT64 FaultedVirtualAddress;
            UINT NodeOrdinal;
            UINT EngineOrdinal;
            UINT PageTableLevel;
            UINT PageFaultFlags;
        } DmaPageFaulted;
        struct {
            UINT Reserved[16];
        } Reserved;
    };
    DXGKCB_NOTIFY_INTERRUPT_DATA_FLAGS Flags;
} DXGKARGCB_NOTIFY_INTERRUPT_DATA;

#endif
