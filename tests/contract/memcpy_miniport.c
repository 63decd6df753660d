// SPDX-License-Identifier: Apache-2.0
// A miniport that knows no Pageferry hardware: it writes its own little packets into the DMA buffer and carries them
// out with memcpy when the buffer runs. It checks what the contract lets a driver expect of the manager and counts
// breaches.
#include <stdlib.h>
#include <string.h>

#include "memcpy_machine.h"
#include "tiles.h"

// ---- Patch, submit, reset ----

static NTSTATUS patch(HANDLE adapter, const DXGKARG_PATCH *argument)
{
    struct machine *machine = adapter;
    if (machine->knobs.patch_status != 0)
        return machine->knobs.patch_status;
    if (argument->Flags.Paging) {
        if (argument->pAllocationList || argument->AllocationListSize || argument->PatchLocationListSize ||
            argument->PatchLocationListSubmissionLength)
            mini_error(machine, "Patch of a paging buffer with lists (R15)");
        // R16: last-minute changes. The size stays.
        for (UINT at = argument->DmaBufferSubmissionStartOffset; at < argument->DmaBufferSubmissionEndOffset;) {
            struct packet packet;
            memcpy(&packet, (uint8_t *)argument->pDmaBuffer + at, sizeof(packet));
            packet.kind &= ~UNFINISHED;
            memcpy((uint8_t *)argument->pDmaBuffer + at, &packet, sizeof(packet));
            at += packet.bytes;
        }
        return STATUS_SUCCESS;
    }
    for (UINT i = 0; i < argument->PatchLocationListSubmissionLength; i++) {
        const D3DDDI_PATCHLOCATIONLIST *location =
            &argument->pPatchLocationList[argument->PatchLocationListSubmissionStart + i];
        const DXGK_ALLOCATIONLIST *entry = &argument->pAllocationList[location->AllocationIndex];
        uint64_t address = (uint64_t)entry->PhysicalAddress.QuadPart + location->AllocationOffset;
        if (entry->SegmentId == 0)
            mini_error(machine, "a job names an allocation that is not in place");
        memcpy((uint8_t *)argument->pDmaBuffer + location->PatchOffset, &address, sizeof(address));
    }
    free(machine->patched);
    machine->patched_count = argument->AllocationListSize;
    machine->patched = calloc(machine->patched_count + 1, sizeof(*machine->patched));
    for (size_t i = 0; i < machine->patched_count; i++)
        machine->patched[i] = (struct mini_name){argument->pAllocationList[i].hDeviceSpecificAllocation,
                                                 (uint64_t)argument->pAllocationList[i].PhysicalAddress.QuadPart};
    return STATUS_SUCCESS;
}

static NTSTATUS submit(HANDLE adapter, const DXGKARG_SUBMITCOMMAND *argument)
{
    struct machine *machine = adapter;
    if (machine->knobs.submit_status != 0)
        return machine->knobs.submit_status;
    struct mini_submission *work = calloc(1, sizeof(*work));
    *work = (struct mini_submission){
        .node = argument->NodeOrdinal,
        .fence = argument->SubmissionFenceId,
        .address = (uint64_t)argument->DmaBufferPhysicalAddress.QuadPart,
        .start = argument->DmaBufferSubmissionStartOffset,
        .end = argument->DmaBufferSubmissionEndOffset,
        .paging = argument->Flags.Paging,
        .process = argument->Flags.Paging || argument->hContext == adapter ? NULL : argument->hContext,
    };
    if (!work->paging) {
        // What was done before a reset is not done again.
        struct mini_note note;
        memcpy(&note, argument->pDmaBufferPrivateData, sizeof(note));
        if (argument->Flags.Resubmission)
            work->start =
                note.fence == machine->cut.fence && work->node == machine->cut.node ? machine->cut.start : note.start;
        note = (struct mini_note){work->fence, work->start};
        memcpy(argument->pDmaBufferPrivateData, &note, sizeof(note));
    }
    work->from = work->start;
    if (work->paging != (work->node == 0))
        mini_error(machine, "paging outside the paging node");
    if (work->paging) {
        work->names = machine->building;
        work->name_count = machine->building_count;
        machine->may_throw_away = false;
        machine->building = NULL;
        machine->building_count = machine->building_capacity = 0;
    } else {
        work->names = machine->patched;
        work->name_count = machine->patched_count;
        machine->patched = NULL;
        machine->patched_count = 0;
        for (size_t i = 0; i < work->name_count; i++)
            work->names[i].allocation->job_references++;
    }
    mini_submit(machine, work);
    return STATUS_SUCCESS;
}

static bool interrupt_routine(HANDLE adapter, ULONG message)
{
    struct machine *machine = adapter;
    (void)message;
    for (unsigned i = 0; i < machine->report_count; i++)
        machine->interface->DxgkCbNotifyInterrupt(machine->interface->DeviceHandle, &machine->reports[i]);
    bool any = machine->report_count > 0;
    machine->report_count = 0;
    if (any)
        machine->interface->DxgkCbQueueDpc(machine->interface->DeviceHandle);
    return any;
}

static VOID dpc_routine(HANDLE adapter)
{
    struct machine *machine = adapter;
    machine->interface->DxgkCbNotifyDpc(machine->interface->DeviceHandle);
}

static NTSTATUS query_current_fence(HANDLE adapter, DXGKARG_QUERYCURRENTFENCE *argument)
{
    const struct machine *machine = adapter;
    argument->CurrentFence = machine->current[argument->NodeOrdinal];
    return STATUS_SUCCESS;
}

static NTSTATUS reset_engine(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    struct machine *machine = adapter;
    machine->knobs.hang = false;
    machine->knobs.hold_node = 0;
    machine->knobs.hold_paging = false;
    machine->may_throw_away = true;
    machine->thrown_away++;
    argument->LastAbortedFenceId = machine->current[argument->NodeOrdinal];
    struct mini_submission **link = &machine->queue;
    while (*link) {
        struct mini_submission *work = *link;
        if (work->node != argument->NodeOrdinal) {
            link = &work->next;
            continue;
        }
        *link = work->next;
        machine->space = work->process;
        if (machine->knobs.late_abort)
            (void)mini_execute(machine, work, 0);
        machine->knobs.late_abort = false;
        for (size_t i = 0; i < work->name_count; i++) {
            if (work->paging)
                work->names[i].allocation->paging_references--;
            else
                work->names[i].allocation->job_references--;
        }
        if (!work->paging && work->start != work->from)
            machine->cut = (struct mini_cut){work->node, work->fence, work->start};
        argument->LastAbortedFenceId = work->fence;
        machine->current[work->node] = work->fence;
        free(work->names);
        free(work);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS preempt(HANDLE adapter, const DXGKARG_PREEMPTCOMMAND *argument)
{
    (void)adapter, (void)argument;
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS succeed(HANDLE adapter)
{
    (void)adapter;
    return STATUS_SUCCESS;
}

// ---- Objects and queries ----

static NTSTATUS add_device(VOID *physical, HANDLE *context)
{
    *context = physical;
    return STATUS_SUCCESS;
}

static NTSTATUS start_device(HANDLE adapter, const DXGKRNL_INTERFACE *interface)
{
    ((struct machine *)adapter)->interface = interface;
    return STATUS_SUCCESS;
}

static NTSTATUS stop_device(HANDLE adapter)
{
    struct machine *machine = adapter;
    for (unsigned i = 0; i < MINI_RANGES; i++)
        if (machine->ranges[i].allocation)
            mini_error(machine, "stopped, and range %u still shows something", i);
    return STATUS_SUCCESS;
}

static void describe(const struct machine *machine, DXGK_SEGMENTDESCRIPTOR4 *descriptors)
{
    const struct machine_options *o = &machine->options;
    memset(descriptors, 0, 3 * sizeof(*descriptors));
    descriptors[0].Flags.Value = DXGK_SEGMENT_CPU_VISIBLE | (o->vpr ? DXGK_SEGMENT_VPR_SUPPORTED : 0);
    descriptors[0].BaseAddress.QuadPart = (int64_t)LOCAL_BASE;
    descriptors[0].Size = descriptors[0].CommitLimit = o->local_bytes;
    descriptors[1].BaseAddress.QuadPart = (int64_t)HIDDEN_BASE;
    descriptors[1].Size = descriptors[1].CommitLimit = o->hidden_bytes;
    descriptors[2].Flags.Value = DXGK_SEGMENT_APERTURE | (o->coherent_aperture ? DXGK_SEGMENT_CACHE_COHERENT : 0);
    descriptors[2].BaseAddress.QuadPart = (int64_t)APERTURE_BASE;
    descriptors[2].Size = descriptors[2].CommitLimit = o->aperture_bytes;
}

static NTSTATUS query(HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *argument)
{
    struct machine *machine = adapter;
    if (argument->Type == DXGKQAITYPE_DRIVERCAPS) {
        DXGK_DRIVERCAPS *caps = argument->pOutputData;
        *caps = (DXGK_DRIVERCAPS){.NbAsymetricProcessingNodes = NODES,
                                  .WDDMVersion = (DXGK_WDDMVERSION)machine->options.version};
        caps->NumberOfSwizzlingRanges = mini_range_count(machine);
        caps->MemoryManagementCaps.MapAperture2Supported = machine->options.map_aperture2;
        caps->MemoryManagementCaps.VirtualAddressingSupported = machine->options.model == 2;
        caps->MemoryManagementCaps.GpuMmuSupported = machine->options.model == 2;
        return STATUS_SUCCESS;
    }
    if (argument->Type == DXGKQAITYPE_PHYSICALADAPTERCAPS && machine->options.iommu) {
        DXGK_PHYSICALADAPTERCAPS *caps = argument->pOutputData;
        *caps = (DXGK_PHYSICALADAPTERCAPS){.NumExecutionNodes = NODES};
        caps->Flags.GpuMmuSupported = caps->Flags.GpuVaIommuGlobalRequired = 1;
        return STATUS_SUCCESS;
    }
    if (argument->Type != DXGKQAITYPE_QUERYSEGMENT4 && machine->options.model == 2)
        return mini_query_tables(machine, argument);
    if (argument->Type != DXGKQAITYPE_QUERYSEGMENT4)
        return STATUS_NOT_SUPPORTED;
    DXGK_QUERYSEGMENTOUT4 *out = argument->pOutputData;
    bool second = out->NbSegment != 0;
    out->NbSegment = 3;
    out->SegmentDescriptorStride = sizeof(DXGK_SEGMENTDESCRIPTOR4);
    out->PagingBufferSize = machine->options.paging_buffer_bytes;
    out->PagingBufferPrivateDataSize = machine->options.paging_private_bytes;
    if (second) {
        DXGK_SEGMENTDESCRIPTOR4 descriptors[3];
        describe(machine, descriptors);
        memcpy(out->pSegmentDescriptor, descriptors, sizeof(descriptors));
    }
    return STATUS_SUCCESS;
}

static NTSTATUS node_metadata(HANDLE adapter, UINT node, DXGKARG_GETNODEMETADATA *argument)
{
    struct machine *machine = adapter;
    if (node >= NODES)
        return STATUS_INVALID_PARAMETER;
    *argument = (DXGKARG_GETNODEMETADATA){.EngineType = DXGK_ENGINE_TYPE_COPY};
    argument->GpuMmuSupported = machine->options.model == 2 && (node != 0 || machine->options.by_address);
    return STATUS_SUCCESS;
}

static NTSTATUS create_device(HANDLE adapter, DXGKARG_CREATEDEVICE *argument)
{
    argument->hDevice = argument->hKmdProcess ? argument->hKmdProcess : adapter;
    return STATUS_SUCCESS;
}

static NTSTATUS create_context(HANDLE device, DXGKARG_CREATECONTEXT *argument)
{
    argument->hContext = device;
    argument->ContextInfo = (DXGK_CONTEXTINFO){.DmaBufferSize = PAGE_SIZE,
                                               .DmaBufferPrivateDataSize = sizeof(struct mini_note),
                                               .AllocationListSize = 512,
                                               .PatchLocationListSize = 512};
    return STATUS_SUCCESS;
}

static NTSTATUS create_allocation(HANDLE adapter, DXGKARG_CREATEALLOCATION *argument)
{
    struct machine *machine = adapter;
    DXGK_ALLOCATIONINFO *info = argument->pAllocationInfo;
    struct ferry_allocation_private wanted;
    if (!info->pPrivateDriverData || info->PrivateDriverDataSize != sizeof(wanted))
        return STATUS_INVALID_PARAMETER;
    memcpy(&wanted, info->pPrivateDriverData, sizeof(wanted));
    if (wanted.Bytes == 0 || wanted.Bytes > FERRY_VIDMM_MAX_ALLOCATION_BYTES ||
        (wanted.Tiling.TileBytes != 0 && (wanted.Flags & DXGK_ALLOC_FLAG_USE_ALTERNATE_VA) != 0))
        return STATUS_INVALID_PARAMETER;
    struct mini_allocation *allocation = calloc(1, sizeof(*allocation));
    if (!allocation)
        return STATUS_NO_MEMORY;
    info->hAllocation = allocation;
    info->Alignment = machine->knobs.own_alignment_64k ? 65536 : wanted.Alignment ? wanted.Alignment : PAGE_SIZE;
    info->Size = machine->knobs.zero_size ? 0 : (wanted.Bytes + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
    allocation->bytes = wanted.Bytes;
    allocation->tiles = wanted.Tiling.TileBytes ? tiles_map(&wanted.Tiling) : NULL;
    allocation->tiling = wanted.Tiling;
    allocation->alternate = wanted.AlternateVA != 0;
    info->Flags = wanted.Flags;
    // Without virtual addresses the bit is Swizzled, and nothing else; with them a hint says so.
    static const DXGK_ALLOCATIONUSAGEHINT swizzled = {.Version = 1, .v1.Flags.Swizzled = 1};
    if (machine->options.model != 2)
        info->Flags &= ~DXGK_ALLOC_FLAG_SWIZZLED;
    if (wanted.Tiling.TileBytes != 0 && machine->options.model != 2)
        info->Flags |= DXGK_ALLOC_FLAG_SWIZZLED;
    info->pAllocationUsageHint = wanted.Tiling.TileBytes != 0 && machine->options.model == 2 ? &swizzled : NULL;
    allocation->lockable = (wanted.Flags & (DXGK_ALLOC_FLAG_CPU_VISIBLE | DXGK_ALLOC_FLAG_CPU_VISIBLE_ON_DEMAND |
                                            DXGK_ALLOC_FLAG_PERMANENT_SYSMEM | DXGK_ALLOC_FLAG_EXISTING_SYSMEM |
                                            DXGK_ALLOC_FLAG_EXISTING_KERNEL_SYSMEM)) != 0;
    if (allocation->alternate)
        info->Flags |= DXGK_ALLOC_FLAG_USE_ALTERNATE_VA;
    if (wanted.Tiling.TileBytes > info->Alignment)
        info->Alignment = wanted.Tiling.TileBytes;
    allocation->notify = (wanted.Flags & DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION) != 0;
    allocation->compressed = wanted.Compressed != 0;
    info->Flags2.Value = wanted.Flags2;
    info->SupportedWriteSegmentSet = wanted.Aperture ? 4 : machine->options.hidden_bytes ? 3 : 1;
    if (machine->knobs.segment_set)
        info->SupportedWriteSegmentSet = machine->knobs.segment_set;
    info->EvictionSegmentSet = machine->knobs.eviction_set;
    info->HintedBank.Value = machine->knobs.hinted_bank;
    info->PreferredSegment.Value = wanted.SegmentPreference;
    info->AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL;
    info->MaximumRenamingListLength = wanted.RenamingLimit;
    return STATUS_SUCCESS;
}

// What was built for it and will be thrown away, as it may be after a fault or a reset, names it no more.
static void forget_building(struct machine *machine, struct mini_allocation *allocation)
{
    size_t kept = 0;
    for (size_t i = 0; i < machine->building_count; i++) {
        if (machine->building[i].allocation == allocation)
            allocation->paging_references--;
        else
            machine->building[kept++] = machine->building[i];
    }
    machine->building_count = kept;
}

static NTSTATUS destroy_allocation(HANDLE adapter, const DXGKARG_DESTROYALLOCATION *argument)
{
    struct machine *machine = adapter;
    struct mini_allocation *allocation = argument->pAllocationList[0];
    if (machine->may_throw_away)
        forget_building(machine, allocation);
    if (allocation->job_references || allocation->paging_references)
        mini_error(machine, "an allocation is destroyed with work in flight");
    mini_leaves(machine, allocation, (LARGE_INTEGER){0}, "destroyed");
    free(allocation->tiles);
    free(allocation);
    return STATUS_SUCCESS;
}

const DRIVER_INITIALIZATION_DATA *ferry_test_miniport(void)
{
    static const DRIVER_INITIALIZATION_DATA table = {
        .Version = DXGKDDI_WDDMv3_2,
        .DxgkDdiAddDevice = add_device,
        .DxgkDdiStartDevice = start_device,
        .DxgkDdiStopDevice = stop_device,
        .DxgkDdiRemoveDevice = succeed,
        .DxgkDdiInterruptRoutine = interrupt_routine,
        .DxgkDdiDpcRoutine = dpc_routine,
        .DxgkDdiQueryAdapterInfo = query,
        .DxgkDdiGetNodeMetadata = node_metadata,
        .DxgkDdiCreateProcess = mini_create_process,
        .DxgkDdiDestroyProcess = mini_destroy_process,
        .DxgkDdiAcquireSwizzlingRange = mini_acquire,
        .DxgkDdiReleaseSwizzlingRange = mini_release,
        .DxgkDdiCreateDevice = create_device,
        .DxgkDdiDestroyDevice = succeed,
        .DxgkDdiCreateContext = create_context,
        .DxgkDdiDestroyContext = succeed,
        .DxgkDdiCreateAllocation = create_allocation,
        .DxgkDdiDestroyAllocation = destroy_allocation,
        .DxgkDdiBuildPagingBuffer = mini_build,
        .DxgkDdiPatch = patch,
        .DxgkDdiSubmitCommand = submit,
        .DxgkDdiPreemptCommand = preempt,
        .DxgkDdiQueryCurrentFence = query_current_fence,
        .DxgkDdiResetEngine = reset_engine,
        .DxgkDdiResetFromTimeout = succeed,
        .DxgkDdiRestartFromTimeout = succeed,
    };
    return &table;
}
