// SPDX-License-Identifier: Apache-2.0
// For MAP_ANONYMOUS and MAP_NORESERVE, which POSIX does not name.
#define _DEFAULT_SOURCE
#include "lab/null_miniport.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ferry/error.h"

#define NODES       2u
#define SEGMENT     1u
#define COMMAND     8u // bytes of a paging buffer that an operation takes
#define JOB_CYCLES  1000u
#define MOST_NAMED  UINT32_MAX // by a job: what a trace may have of allocations
#define LINK_BYTES  4u         // a cycle
#define BUFFER_SIZE 65536u
#define PAGING_SIZE (128u * COMMAND) // about as many operations as a buffer of the device's holds

// ---- Host pages ---------------------------------------------------------------------------------------------------

static size_t mapped(size_t pages)
{
    return pages * (PAGE_SIZE + sizeof(uint64_t));
}

static int allocate(void *context, size_t pages, unsigned flags, MDL **mdl)
{
    (void)context, (void)flags;
    // No page number means anything here, and none is written: pages and, behind them, their numbers are memory only
    // where somebody touches them. One mapping, since a trace of many short lives is mostly this call.
    MDL *made = calloc(1, sizeof *made);
    uint8_t *memory =
        mmap(NULL, mapped(pages), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!made || memory == MAP_FAILED) {
        if (memory != MAP_FAILED)
            munmap(memory, mapped(pages));
        free(made);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    uint64_t *numbers = (void *)(memory + pages * PAGE_SIZE);
    *made = (MDL){.MappedSystemVa = memory, .PageCount = pages, .ByteCount = pages * PAGE_SIZE, .Pfn = numbers};
    *mdl = made;
    return FERRY_OK;
}

static int wrap(void *context, void *memory, size_t pages, unsigned flags, MDL **mdl)
{
    (void)context, (void)memory, (void)pages, (void)flags, (void)mdl;
    return FERRY_ERROR_UNSUPPORTED; // No trace brings memory of its own.
}

static void give_back(void *context, MDL *mdl)
{
    (void)context;
    if (!mdl)
        return;
    munmap(mdl->MappedSystemVa, mapped(mdl->PageCount));
    free(mdl);
}

// ---- Objects and queries ------------------------------------------------------------------------------------------

static NTSTATUS add_device(VOID *physical, HANDLE *context)
{
    *context = physical;
    return STATUS_SUCCESS;
}

static NTSTATUS start_device(HANDLE adapter, const DXGKRNL_INTERFACE *interface)
{
    ((struct ferry_null_machine *)adapter)->interface = interface;
    return STATUS_SUCCESS;
}

static NTSTATUS succeed(HANDLE object)
{
    (void)object;
    return STATUS_SUCCESS;
}

static NTSTATUS query(HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *argument)
{
    const struct ferry_null_machine *machine = adapter;
    if (argument->Type == DXGKQAITYPE_DRIVERCAPS) {
        *(DXGK_DRIVERCAPS *)argument->pOutputData =
            (DXGK_DRIVERCAPS){.NbAsymetricProcessingNodes = NODES, .WDDMVersion = DXGKDDI_WDDMv3_2};
        return STATUS_SUCCESS;
    }
    if (argument->Type != DXGKQAITYPE_QUERYSEGMENT4)
        return STATUS_NOT_SUPPORTED;
    DXGK_QUERYSEGMENTOUT4 *out = argument->pOutputData;
    bool asks_for_them = out->NbSegment != 0;
    out->NbSegment = 1;
    out->SegmentDescriptorStride = sizeof(DXGK_SEGMENTDESCRIPTOR4);
    out->PagingBufferSize = PAGING_SIZE;
    out->PagingBufferPrivateDataSize = 0;
    if (asks_for_them) {
        DXGK_SEGMENTDESCRIPTOR4 segment = {.Size = machine->bytes, .CommitLimit = machine->bytes};
        segment.Flags.Value = DXGK_SEGMENT_CPU_VISIBLE;
        segment.BaseAddress.QuadPart = 0;
        memcpy(out->pSegmentDescriptor, &segment, sizeof segment);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS create_device(HANDLE adapter, DXGKARG_CREATEDEVICE *argument)
{
    argument->hDevice = adapter;
    return STATUS_SUCCESS;
}

static NTSTATUS create_context(HANDLE device, DXGKARG_CREATECONTEXT *argument)
{
    argument->hContext = device;
    argument->ContextInfo = (DXGK_CONTEXTINFO){.DmaBufferSize = PAGE_SIZE, .AllocationListSize = MOST_NAMED};
    return STATUS_SUCCESS;
}

static NTSTATUS create_allocation(HANDLE adapter, DXGKARG_CREATEALLOCATION *argument)
{
    DXGK_ALLOCATIONINFO *info = argument->pAllocationInfo;
    struct ferry_null_allocation wanted;
    if (info->PrivateDriverDataSize != sizeof wanted)
        return STATUS_INVALID_PARAMETER;
    memcpy(&wanted, info->pPrivateDriverData, sizeof wanted);
    info->hAllocation = adapter;
    info->Size = (SIZE_T)wanted.bytes;
    info->Alignment = PAGE_SIZE;
    info->Flags = wanted.flags;
    info->SupportedWriteSegmentSet = 1u << (SEGMENT - 1);
    info->AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL;
    return STATUS_SUCCESS;
}

static NTSTATUS destroy_allocation(HANDLE adapter, const DXGKARG_DESTROYALLOCATION *argument)
{
    (void)adapter, (void)argument;
    return STATUS_SUCCESS;
}

// ---- Work -----------------------------------------------------------------------------------------------------------

static NTSTATUS build(HANDLE adapter, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    struct ferry_null_machine *machine = adapter;
    if (argument->DmaSize < COMMAND)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    if (argument->Operation == DXGK_OPERATION_TRANSFER)
        machine->built += argument->Transfer.TransferSize;
    argument->pDmaBuffer = (uint8_t *)argument->pDmaBuffer + COMMAND;
    argument->DmaSize -= COMMAND;
    return STATUS_SUCCESS;
}

static NTSTATUS patch(HANDLE adapter, const DXGKARG_PATCH *argument)
{
    (void)adapter, (void)argument;
    return STATUS_SUCCESS;
}

static NTSTATUS submit(HANDLE adapter, const DXGKARG_SUBMITCOMMAND *argument)
{
    struct ferry_null_machine *machine = adapter;
    machine->time += argument->Flags.Paging ? machine->built / LINK_BYTES : JOB_CYCLES;
    if (argument->Flags.Paging)
        machine->built = 0;
    machine->fence[argument->NodeOrdinal] = argument->SubmissionFenceId;
    machine->told[argument->NodeOrdinal] = false;
    return STATUS_SUCCESS;
}

static NTSTATUS preempt(HANDLE adapter, const DXGKARG_PREEMPTCOMMAND *argument)
{
    (void)adapter, (void)argument;
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS query_fence(HANDLE adapter, DXGKARG_QUERYCURRENTFENCE *argument)
{
    const struct ferry_null_machine *machine = adapter;
    argument->CurrentFence = machine->fence[argument->NodeOrdinal];
    return STATUS_SUCCESS;
}

static NTSTATUS reset_engine(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    const struct ferry_null_machine *machine = adapter;
    argument->LastAbortedFenceId = machine->fence[argument->NodeOrdinal]; // Nothing is ever under way.
    return STATUS_SUCCESS;
}

static bool interrupt_routine(HANDLE adapter, ULONG message)
{
    struct ferry_null_machine *machine = adapter;
    bool any = false;
    (void)message;
    for (UINT node = 0; node < NODES; node++) {
        if (machine->told[node] || machine->fence[node] == 0)
            continue;
        DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
        data.DmaCompleted.SubmissionFenceId = machine->fence[node];
        data.DmaCompleted.NodeOrdinal = node;
        machine->told[node] = any = true;
        machine->interface->DxgkCbNotifyInterrupt(machine->interface->DeviceHandle, &data);
    }
    if (any)
        machine->interface->DxgkCbQueueDpc(machine->interface->DeviceHandle);
    return any;
}

static VOID dpc_routine(HANDLE adapter)
{
    struct ferry_null_machine *machine = adapter;
    machine->interface->DxgkCbNotifyDpc(machine->interface->DeviceHandle);
}

const DRIVER_INITIALIZATION_DATA *ferry_null_miniport(void)
{
    static const DRIVER_INITIALIZATION_DATA table = {
        .Version = DXGKDDI_WDDMv3_2,
        .DxgkDdiAddDevice = add_device,
        .DxgkDdiStartDevice = start_device,
        .DxgkDdiStopDevice = succeed,
        .DxgkDdiRemoveDevice = succeed,
        .DxgkDdiInterruptRoutine = interrupt_routine,
        .DxgkDdiDpcRoutine = dpc_routine,
        .DxgkDdiQueryAdapterInfo = query,
        .DxgkDdiCreateDevice = create_device,
        .DxgkDdiDestroyDevice = succeed,
        .DxgkDdiCreateContext = create_context,
        .DxgkDdiDestroyContext = succeed,
        .DxgkDdiCreateAllocation = create_allocation,
        .DxgkDdiDestroyAllocation = destroy_allocation,
        .DxgkDdiBuildPagingBuffer = build,
        .DxgkDdiPatch = patch,
        .DxgkDdiSubmitCommand = submit,
        .DxgkDdiPreemptCommand = preempt,
        .DxgkDdiQueryCurrentFence = query_fence,
        .DxgkDdiResetEngine = reset_engine,
        .DxgkDdiResetFromTimeout = succeed,
        .DxgkDdiRestartFromTimeout = succeed,
    };
    return &table;
}

// ---- The platform ---------------------------------------------------------------------------------------------------

static int wait_for_progress(void *context)
{
    return interrupt_routine(context, 0) ? FERRY_OK : FERRY_ERROR_TIMEOUT;
}

static uint64_t gpu_time(void *context)
{
    return ((const struct ferry_null_machine *)context)->time;
}

void ferry_null_machine_begin(struct ferry_null_machine *machine, uint64_t bytes)
{
    *machine = (struct ferry_null_machine){
        .bytes = bytes, .pages = {.context = machine, .allocate = allocate, .wrap = wrap, .free = give_back}};
}

struct ferry_vidmm_platform ferry_null_platform(struct ferry_null_machine *machine)
{
    return (struct ferry_vidmm_platform){
        .context = machine, .pages = &machine->pages, .wait_for_progress = wait_for_progress, .gpu_time = gpu_time};
}
