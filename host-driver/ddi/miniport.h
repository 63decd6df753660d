// SPDX-License-Identifier: Apache-2.0
// The two tables through which manager and miniport call each other: DRIVER_INITIALIZATION_DATA (the miniport's entry
// points) and DXGKRNL_INTERFACE (the call-backs into the manager).
//
// Threads. BuildPagingBuffer, Patch, SubmitCommand, PreemptCommand, QueryCurrentFence and ResetEngine are made by one
// thread at a time (first level of the threading rules). InterruptRoutine and DpcRoutine run inside the platform's wait
// hook or a call into the miniport, and may call back only DxgkCbNotifyInterrupt, DxgkCbQueueDpc and DxgkCbNotifyDpc.
#ifndef FERRY_DDI_MINIPORT_H
#define FERRY_DDI_MINIPORT_H

#include "ddi/d3dkmddi.h"

// Call-backs into the manager. DeviceHandle is the manager's handle of the adapter, given at StartDevice.
typedef struct _DXGKRNL_INTERFACE {
    UINT Size;
    UINT Version;
    HANDLE DeviceHandle;
    /// A buffer ended: records it. Nothing is woken before DxgkCbNotifyDpc.
    VOID (*DxgkCbNotifyInterrupt)(HANDLE DeviceHandle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *Data);
    /// Takes the recorded notifications over into fences. From DpcRoutine only.
    VOID (*DxgkCbNotifyDpc)(HANDLE DeviceHandle);
    /// Asks for a later call of DpcRoutine. True when none was asked for before.
    bool (*DxgkCbQueueDpc)(HANDLE DeviceHandle);
} DXGKRNL_INTERFACE;
#define DXGKRNL_INTERFACE_VERSION 1u

// The miniport's entry points. hAdapter is always the MiniportDeviceContext that AddDevice gave out.
typedef struct _DRIVER_INITIALIZATION_DATA {
    ULONG Version; // DXGK_WDDMVERSION the miniport is written for
    /// PhysicalDevice is what the platform that brings manager and miniport together hands over; our miniport takes the
    /// opened device of device/device.h.
    NTSTATUS (*DxgkDdiAddDevice)(VOID *PhysicalDevice, HANDLE *MiniportDeviceContext);
    NTSTATUS (*DxgkDdiStartDevice)(HANDLE hAdapter, const DXGKRNL_INTERFACE *DxgkInterface);
    NTSTATUS (*DxgkDdiStopDevice)(HANDLE hAdapter);
    NTSTATUS (*DxgkDdiRemoveDevice)(HANDLE hAdapter);
    /// True when the interrupt was the device's. Runs when the platform says that an interrupt is up.
    bool (*DxgkDdiInterruptRoutine)(HANDLE hAdapter, ULONG MessageNumber);
    VOID (*DxgkDdiDpcRoutine)(HANDLE hAdapter);
    NTSTATUS (*DxgkDdiQueryAdapterInfo)(HANDLE hAdapter, const DXGKARG_QUERYADAPTERINFO *pQueryAdapterInfo);
    NTSTATUS (*DxgkDdiCreateDevice)(HANDLE hAdapter, DXGKARG_CREATEDEVICE *pCreateDevice);
    NTSTATUS (*DxgkDdiDestroyDevice)(HANDLE hDevice);
    NTSTATUS (*DxgkDdiCreateContext)(HANDLE hDevice, DXGKARG_CREATECONTEXT *pCreateContext);
    NTSTATUS (*DxgkDdiDestroyContext)(HANDLE hContext);
    NTSTATUS (*DxgkDdiCreateAllocation)(HANDLE hAdapter, DXGKARG_CREATEALLOCATION *pCreateAllocation);
    NTSTATUS (*DxgkDdiDestroyAllocation)(HANDLE hAdapter, const DXGKARG_DESTROYALLOCATION *pDestroyAllocation);
    NTSTATUS (*DxgkDdiBuildPagingBuffer)(HANDLE hAdapter, DXGKARG_BUILDPAGINGBUFFER *pBuildPagingBuffer);
    NTSTATUS (*DxgkDdiPatch)(HANDLE hAdapter, const DXGKARG_PATCH *pPatch);
    NTSTATUS (*DxgkDdiSubmitCommand)(HANDLE hAdapter, const DXGKARG_SUBMITCOMMAND *pSubmitCommand);
    NTSTATUS (*DxgkDdiPreemptCommand)(HANDLE hAdapter, const DXGKARG_PREEMPTCOMMAND *pPreemptCommand);
    NTSTATUS (*DxgkDdiQueryCurrentFence)(HANDLE hAdapter, DXGKARG_QUERYCURRENTFENCE *pCurrentFence);
    NTSTATUS (*DxgkDdiResetEngine)(HANDLE hAdapter, DXGKARG_RESETENGINE *pResetEngine);
    NTSTATUS (*DxgkDdiResetFromTimeout)(HANDLE hAdapter);
    NTSTATUS (*DxgkDdiRestartFromTimeout)(HANDLE hAdapter);
    /// What there is at a node. NULL, or a paging node without GpuMmuSupported: content is moved and filled by its
    /// place (operations 0 and 1); with it by addresses of the paging process (8 and 9).
    NTSTATUS(*DxgkDdiGetNodeMetadata)
    (HANDLE hAdapter, UINT NodeOrdinalAndAdapterIndex, DXGKARG_GETNODEMETADATA *pGetNodeMetadata);
    /// Driver model 2 alone: an address space comes and goes. NULL otherwise.
    NTSTATUS (*DxgkDdiCreateProcess)(HANDLE hAdapter, DXGKARG_CREATEPROCESS *pCreateProcess);
    NTSTATUS (*DxgkDdiDestroyProcess)(HANDLE hAdapter, HANDLE hKmdProcess);
    /// Where DXGK_DRIVERCAPS.NumberOfSwizzlingRanges is not 0, at driver model 1 alone. What is queued for the
    /// allocation has run before it is acquired, and it is released before it leaves its place; all calls are made by
    /// one thread at a time. Acquire: SUCCESS, GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE (until another range is
    /// released), GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED (never). Release: SUCCESS.
    NTSTATUS (*DxgkDdiAcquireSwizzlingRange)(HANDLE hAdapter, DXGKARG_ACQUIRESWIZZLINGRANGE *pAcquireSwizzlingRange);
    NTSTATUS (*DxgkDdiReleaseSwizzlingRange)(HANDLE hAdapter, const DXGKARG_RELEASESWIZZLINGRANGE *pReleaseRange);
} DRIVER_INITIALIZATION_DATA;

#endif
