// SPDX-License-Identifier: Apache-2.0
// A miniport that knows no Pageferry hardware: it writes its own little packets into the DMA buffer and carries them
// out with memcpy when the buffer runs. It checks what the contract lets a driver expect of the manager and counts
// breaches.
#include <stdlib.h>
#include <string.h>

#include "memcpy_machine.h"

static void name(struct machine *machine, struct mini_allocation *allocation, uint64_t place)
{
    if (!allocation)
        return;
    if (machine->building_count == machine->building_capacity) {
        machine->building_capacity = machine->building_capacity * 2 + 16;
        machine->building = realloc(machine->building, machine->building_capacity * sizeof(*machine->building));
    }
    machine->building[machine->building_count++] = (struct mini_name){allocation, place};
    allocation->paging_references++;
}

// Does queued work use the allocation? Of one that is paged in at several places, this place.
static bool in_use(const struct machine *machine, const struct mini_allocation *allocation, uint64_t place, bool paging)
{
    if (!allocation)
        return false;
    if (!machine->knobs.by_place)
        return allocation->job_references || (paging && allocation->paging_references);
    for (const struct mini_submission *work = machine->queue; work; work = work->next)
        for (size_t i = 0; i < work->name_count; i++)
            if (work->names[i].allocation == allocation && work->names[i].place == place && (paging || !work->paging))
                return true;
    return false;
}

// ---- Building ----

#define UNFINISHED 0x40000000u // mark of a packet that Patch has to finish

static uint32_t mark;

static bool write_packet(DXGKARG_BUILDPAGINGBUFFER *argument, struct packet packet, const MDL *mdl, size_t first)
{
    packet.kind |= mark;
    packet.bytes = (uint32_t)(sizeof(packet) + packet.pages * sizeof(uint64_t));
    if (argument->DmaSize < packet.bytes)
        return false;
    memcpy(argument->pDmaBuffer, &packet, sizeof(packet));
    for (uint32_t i = 0; i < packet.pages; i++)
        memcpy((uint8_t *)argument->pDmaBuffer + sizeof(packet) + i * sizeof(uint64_t), &mdl->Pfn[first + i],
               sizeof(uint64_t));
    argument->pDmaBuffer = (uint8_t *)argument->pDmaBuffer + packet.bytes;
    argument->DmaSize -= packet.bytes;
    return true;
}

// As many pages as there is room for go into one packet; MultipassOffset counts the pages done.
static NTSTATUS build_pages(DXGKARG_BUILDPAGINGBUFFER *argument, struct packet packet, const MDL *mdl, size_t first,
                            uint64_t total, size_t pages)
{
    while (argument->MultipassOffset < pages) {
        uint64_t done = argument->MultipassOffset;
        if (argument->DmaSize < sizeof(packet) + sizeof(uint64_t))
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        size_t room = (argument->DmaSize - sizeof(packet)) / sizeof(uint64_t);
        size_t count = pages - done < room ? pages - done : room;
        struct packet part = packet;
        part.pages = (uint32_t)count;
        uint64_t from = done * PAGE_SIZE, end = (done + count) * PAGE_SIZE;
        part.size = (end < total ? end : total) - from;
        if (part.list == 1 || part.kind != PACKET_MOVE)
            part.to += from;
        else
            part.from += from;
        write_packet(argument, part, mdl, first + done);
        argument->MultipassOffset += (UINT)count;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS build_transfer(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &argument->Transfer;
    uint64_t pages = (t->TransferSize + PAGE_SIZE - 1) / PAGE_SIZE;
    struct packet packet = {.kind = PACKET_MOVE};
    if (t->Source.SegmentId != 0)
        packet.from = (uint64_t)t->Source.SegmentAddress.QuadPart + t->TransferOffset;
    if (t->Destination.SegmentId != 0)
        packet.to = (uint64_t)t->Destination.SegmentAddress.QuadPart + t->TransferOffset;
    if (t->Source.SegmentId != 0 && t->Destination.SegmentId != 0) {
        packet.size = t->TransferSize;
        return write_packet(argument, packet, NULL, 0) ? STATUS_SUCCESS : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    }
    const MDL *mdl = t->Source.SegmentId == 0 ? t->Source.pMdl : t->Destination.pMdl;
    if (t->MdlOffset + pages > mdl->PageCount)
        mini_error(machine, "a transfer leaves its MDL");
    packet.list = t->Source.SegmentId == 0 ? 1 : 2;
    return build_pages(argument, packet, mdl, t->MdlOffset, t->TransferSize, pages);
}

static NTSTATUS build_map(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT *m = &argument->MapApertureSegment;
    const struct mini_allocation *allocation = m->hAllocation;
    if (in_use(machine, allocation, APERTURE_BASE + m->OffsetInPages * PAGE_SIZE, false))
        mini_error(machine, "MAP_APERTURE while a job uses the range (R70)");
    if (m->SegmentId != machine_aperture_segment ||
        (m->OffsetInPages + m->NumberOfPages) * PAGE_SIZE > machine->options.aperture_bytes)
        mini_error(machine, "MAP_APERTURE outside the aperture");
    if (m->Flags.CacheCoherent && !machine->options.coherent_aperture)
        mini_error(machine, "CacheCoherent on a non-coherent aperture (R67)");
    struct packet packet = {
        .kind = PACKET_MAP, .to = m->OffsetInPages * PAGE_SIZE, .list = 1, .pattern = m->Flags.CacheCoherent};
    return build_pages(argument, packet, m->pMdl, m->MdlOffset, m->NumberOfPages * PAGE_SIZE, m->NumberOfPages);
}

// R174: told in turns that it is somewhere and nowhere, and somewhere else after a move.
static void notified(struct machine *machine, const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notify)
{
    struct mini_allocation *allocation = notify->hAllocation;
    UINT segment = notify->PhysicalAddress.SegmentId;
    if (!allocation->notify)
        mini_error(machine, "NOTIFY_RESIDENCY of an allocation that did not ask for it (R174)");
    if (notify->Resident != (segment != 0) || (!notify->Resident && notify->PhysicalAddress.SegmentOffset != 0))
        mini_error(machine, "NOTIFY_RESIDENCY contradicts itself");
    if (!notify->Resident && !allocation->told_resident)
        mini_error(machine, "NOTIFY_RESIDENCY of an eviction of what was nowhere");
    allocation->told_resident = notify->Resident;
}

static NTSTATUS build_small(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    struct packet packet = {0};
    switch (argument->Operation) {
    case DXGK_OPERATION_FILL: {
        const struct mini_allocation *allocation = argument->Fill.hAllocation;
        if (argument->Fill.Destination.SegmentId == machine_aperture_segment)
            mini_error(machine, "FILL of an aperture (R47)");
        if (in_use(machine, allocation, (uint64_t)argument->Fill.Destination.SegmentAddress.QuadPart, false))
            mini_error(machine, "FILL of a busy allocation (R46)");
        packet = (struct packet){.kind = PACKET_FILL,
                                 .to = (uint64_t)argument->Fill.Destination.SegmentAddress.QuadPart,
                                 .size = argument->Fill.FillSize,
                                 .pattern = argument->Fill.FillPattern};
        break;
    }
    case DXGK_OPERATION_DISCARD_CONTENT:
        if (machine->knobs.silent_discard)
            return STATUS_SUCCESS;
        packet.kind = PACKET_NOTHING;
        break;
    case DXGK_OPERATION_READ_PHYSICAL:
        packet =
            (struct packet){.kind = PACKET_READ, .from = (uint64_t)argument->ReadPhysical.PhysicalAddress.QuadPart};
        break;
    case DXGK_OPERATION_WRITE_PHYSICAL:
        packet =
            (struct packet){.kind = PACKET_WRITE, .to = (uint64_t)argument->WritePhysical.PhysicalAddress.QuadPart};
        break;
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT: {
        const struct mini_allocation *allocation = argument->UnmapApertureSegment.hAllocation;
        uint64_t place = APERTURE_BASE + argument->UnmapApertureSegment.OffsetInPages * PAGE_SIZE;
        if (in_use(machine, allocation, place, false))
            mini_error(machine, "UNMAP_APERTURE while a job uses the range (R78)");
        packet = (struct packet){.kind = PACKET_UNMAP,
                                 .to = argument->UnmapApertureSegment.OffsetInPages * PAGE_SIZE,
                                 .size = argument->UnmapApertureSegment.NumberOfPages * PAGE_SIZE,
                                 .pattern = (uint64_t)argument->UnmapApertureSegment.DummyPage.QuadPart >> PAGE_SHIFT};
        break;
    }
    case DXGK_OPERATION_NOTIFY_RESIDENCY: notified(machine, &argument->NotifyResidency); return STATUS_SUCCESS;
    default:
        mini_error(machine, "operation %u was not announced", (unsigned)argument->Operation);
        return STATUS_NOT_SUPPORTED;
    }
    return write_packet(argument, packet, NULL, 0) ? STATUS_SUCCESS : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

// Of the two sides of a move the source: nobody has used the other one yet.
static uint64_t place_of(const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &argument->Transfer;
    if (argument->Operation == DXGK_OPERATION_FILL)
        return (uint64_t)argument->Fill.Destination.SegmentAddress.QuadPart;
    if (argument->Operation == DXGK_OPERATION_DISCARD_CONTENT)
        return (uint64_t)argument->DiscardContent.SegmentAddress.QuadPart;
    return (uint64_t)(t->Source.SegmentId ? t->Source.SegmentAddress : t->Destination.SegmentAddress).QuadPart;
}

static void check_idle(struct machine *machine, const struct mini_allocation *allocation, uint64_t place,
                       bool said_idle)
{
    if (said_idle && in_use(machine, allocation, place, true))
        mini_error(machine, "AllocationIsIdle on a busy allocation (R42, R54)");
}

// A fresh buffer, though what was built before was never submitted: after a reset that is thrown away, and at no other
// time.
static void look_for_thrown_away(struct machine *machine, const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    if (argument->DmaBufferWriteOffset != 0 || machine->building_count == 0)
        return;
    if (!machine->was_reset)
        mini_error(machine, "a paging buffer was built and not submitted");
    for (size_t i = 0; i < machine->building_count; i++)
        machine->building[i].allocation->paging_references--;
    machine->building_count = 0;
}

static NTSTATUS build(HANDLE adapter, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    struct machine *machine = adapter;
    look_for_thrown_away(machine, argument);
    struct machine_knobs *knobs = &machine->knobs;
    struct mini_allocation *allocation = NULL;
    mark = knobs->patch_completes ? UNFINISHED : 0;
    bool may_be_busy = true;
    if (argument->Operation == DXGK_OPERATION_TRANSFER) {
        allocation = argument->Transfer.hAllocation;
        check_idle(machine, allocation, place_of(argument), argument->Transfer.Flags.AllocationIsIdle);
    } else if (argument->Operation == DXGK_OPERATION_DISCARD_CONTENT) {
        allocation = argument->DiscardContent.hAllocation;
        check_idle(machine, allocation, place_of(argument), argument->DiscardContent.Flags.AllocationIsIdle);
    } else {
        may_be_busy = false;
        if (argument->Operation == DXGK_OPERATION_FILL)
            allocation = argument->Fill.hAllocation;
    }
    if (!machine->in_operation) {
        machine->in_operation = true;
        machine->busy_left = knobs->busy_times;
        if (argument->MultipassOffset != 0)
            mini_error(machine, "MultipassOffset is %u at the start of an operation (R25)", argument->MultipassOffset);
    }
    if (knobs->illegal_status != 0)
        return knobs->illegal_status;
    if (knobs->refuse_progress)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    if (may_be_busy && machine->busy_left > 0) {
        machine->busy_left--;
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    }
    if (may_be_busy && knobs->busy_in_later_pass && argument->MultipassOffset != 0) {
        knobs->busy_in_later_pass = false;
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    }
    if (knobs->write_behind)
        ((uint8_t *)argument->pDmaBuffer)[argument->DmaSize] ^= 0xFF;
    if (knobs->overrun) {
        argument->pDmaBuffer = (uint8_t *)argument->pDmaBuffer + argument->DmaSize + 1;
        return STATUS_SUCCESS;
    }
    const void *before = argument->pDmaBuffer;
    NTSTATUS status;
    if (argument->Operation == DXGK_OPERATION_TRANSFER)
        status = build_transfer(machine, argument);
    else if (argument->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT)
        status = build_map(machine, argument);
    else
        status = build_small(machine, argument);
    if (argument->pDmaBuffer != before)
        name(machine, allocation, place_of(argument));
    if (status == STATUS_SUCCESS)
        machine->in_operation = false;
    return status;
}

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
    };
    if (work->paging != (work->node == 0))
        mini_error(machine, "paging outside the paging node");
    if (work->paging) {
        work->names = machine->building;
        work->name_count = machine->building_count;
        machine->was_reset = false;
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
    machine->was_reset = true;
    argument->LastAbortedFenceId = machine->current[argument->NodeOrdinal];
    struct mini_submission **link = &machine->queue;
    while (*link) {
        struct mini_submission *work = *link;
        if (work->node != argument->NodeOrdinal) {
            link = &work->next;
            continue;
        }
        *link = work->next;
        if (machine->knobs.late_abort)
            mini_execute(machine, work);
        machine->knobs.late_abort = false;
        for (size_t i = 0; i < work->name_count; i++) {
            if (work->paging)
                work->names[i].allocation->paging_references--;
            else
                work->names[i].allocation->job_references--;
        }
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
        caps->MemoryManagementCaps.MapAperture2Supported = machine->options.map_aperture2;
        return STATUS_SUCCESS;
    }
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

static NTSTATUS create_device(HANDLE adapter, DXGKARG_CREATEDEVICE *argument)
{
    argument->hDevice = adapter;
    return STATUS_SUCCESS;
}

static NTSTATUS create_context(HANDLE device, DXGKARG_CREATECONTEXT *argument)
{
    argument->hContext = device;
    argument->ContextInfo =
        (DXGK_CONTEXTINFO){.DmaBufferSize = PAGE_SIZE, .AllocationListSize = 512, .PatchLocationListSize = 512};
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
    if (wanted.Bytes == 0 || wanted.Bytes > FERRY_VIDMM_MAX_ALLOCATION_BYTES)
        return STATUS_INVALID_PARAMETER;
    struct mini_allocation *allocation = calloc(1, sizeof(*allocation));
    if (!allocation)
        return STATUS_NO_MEMORY;
    info->hAllocation = allocation;
    info->Alignment = machine->knobs.own_alignment_64k ? 65536 : wanted.Alignment ? wanted.Alignment : PAGE_SIZE;
    info->Size = machine->knobs.zero_size ? 0 : (wanted.Bytes + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
    info->Flags = wanted.Flags;
    allocation->notify = (wanted.Flags & DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION) != 0;
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

static NTSTATUS destroy_allocation(HANDLE adapter, const DXGKARG_DESTROYALLOCATION *argument)
{
    struct machine *machine = adapter;
    struct mini_allocation *allocation = argument->pAllocationList[0];
    if (allocation->job_references || allocation->paging_references)
        mini_error(machine, "an allocation is destroyed with work in flight");
    free(allocation);
    return STATUS_SUCCESS;
}

const DRIVER_INITIALIZATION_DATA *ferry_test_miniport(void)
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
        .DxgkDdiQueryCurrentFence = query_current_fence,
        .DxgkDdiResetEngine = reset_engine,
        .DxgkDdiResetFromTimeout = succeed,
        .DxgkDdiRestartFromTimeout = succeed,
    };
    return &table;
}
