// SPDX-License-Identifier: Apache-2.0
// The GPU, and the miniport that drives it.
#include <stdlib.h>
#include <string.h>

#include "memory_gpu.h"

// ---- The GPU ----

// The byte at an address, and how many follow it in one piece.
static uint8_t *at(struct gpu *gpu, uint64_t address, uint64_t *left)
{
    if (address < sizeof gpu->memory) {
        *left = sizeof gpu->memory - address;
        return gpu->memory + address;
    }
    *left = PAGE_SIZE - address % PAGE_SIZE;
    if (address >= GPU_APERTURE && address - GPU_APERTURE < GPU_APERTURE_PAGES * PAGE_SIZE)
        address = GPU_HOST | gpu->aperture[(address - GPU_APERTURE) / PAGE_SIZE] | address % PAGE_SIZE;
    uint64_t page = (address & ~GPU_HOST) / PAGE_SIZE;
    return address & GPU_HOST && page < GPU_BUS_PAGES && gpu->bus[page] ? gpu->bus[page] + address % PAGE_SIZE : NULL;
}

// False: it faults.
static bool run(struct gpu *gpu, const struct gpu_command *c)
{
    uint64_t done = 0, left, more;
    if (c->operation == GPU_MAP) {
        for (; done < c->bytes && c->to + done < GPU_APERTURE_PAGES; done++)
            gpu->aperture[c->to + done] = c->from;
        return done == c->bytes;
    }
    while (c->operation != GPU_NOTHING && done < c->bytes) {
        uint8_t *to = at(gpu, c->to + done, &left), *from = to;
        if (c->operation == GPU_COPY) {
            from = at(gpu, c->from + done, &more);
            left = more < left ? more : left;
        }
        left = c->bytes - done < left ? c->bytes - done : left;
        if (!to || !from || c->operation > GPU_FILL)
            return false;
        for (uint64_t i = 0; c->operation == GPU_FILL && i < left; i++)
            to[i] = (uint8_t)(c->pattern >> (c->to + done + i) % 4 * 8);
        if (c->operation == GPU_COPY)
            memmove(to, from, left);
        done += left;
    }
    return true;
}

bool gpu_step(struct gpu *gpu)
{
    for (unsigned n = 0; n < GPU_NODES; n++) {
        struct gpu_node *node = &gpu->nodes[n];
        if (node->hung || node->ended == node->count)
            continue;
        struct gpu_job *job = &node->jobs[node->ended];
        for (UINT i = 0; i < job->bytes && !job->faulted && !node->hung; i += sizeof(struct gpu_command)) {
            struct gpu_command command;
            uint64_t left;
            const uint8_t *from = at(gpu, GPU_HOST | (job->bus + i), &left);
            job->faulted = !from;
            if (!from)
                break;
            memcpy(&command, from, sizeof command);
            node->hung = command.operation == GPU_HANG;
            job->faulted = !node->hung && !run(gpu, &command);
        }
        node->ended += !node->hung;
        gpu->time += 100;
        return !node->hung;
    }
    return false;
}

// ---- Start, interrupts, fences ----

static NTSTATUS start_device(HANDLE adapter, const DXGKRNL_INTERFACE *manager)
{
    ((struct gpu *)adapter)->manager = *manager;
    return STATUS_SUCCESS;
}

// Each job that is over is told by itself, in its order; several that ended well might be told by the newest alone.
static bool interrupt_routine(HANDLE adapter, ULONG message)
{
    struct gpu *gpu = adapter;
    bool any = false;
    (void)message;
    for (UINT n = 0; n < GPU_NODES; n++) {
        struct gpu_node *node = &gpu->nodes[n];
        for (; node->told < node->ended; node->told++, any = true) {
            const struct gpu_job *job = &node->jobs[node->told];
            DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
            data.DmaCompleted.SubmissionFenceId = node->fence = job->fence;
            data.DmaCompleted.NodeOrdinal = n;
            if (job->faulted) {
                data.InterruptType = DXGK_INTERRUPT_DMA_FAULTED;
                data.DmaFaulted.FaultedFenceId = job->fence;
                data.DmaFaulted.Status = STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE;
                data.DmaFaulted.NodeOrdinal = n;
            }
            gpu->manager.DxgkCbNotifyInterrupt(gpu->manager.DeviceHandle, &data);
        }
        if (node->told == node->count)
            node->count = node->ended = node->told = 0;
    }
    if (any)
        gpu->manager.DxgkCbQueueDpc(gpu->manager.DeviceHandle);
    return any;
}

static VOID dpc_routine(HANDLE adapter)
{
    const struct gpu *gpu = adapter;
    gpu->manager.DxgkCbNotifyDpc(gpu->manager.DeviceHandle);
}

static NTSTATUS query_current_fence(HANDLE adapter, DXGKARG_QUERYCURRENTFENCE *query)
{
    query->CurrentFence = ((struct gpu *)adapter)->nodes[query->NodeOrdinal].fence;
    return STATUS_SUCCESS;
}

// All that the node has not ended is dropped, and the newest of it is told; what had ended is told first.
static NTSTATUS reset_engine(HANDLE adapter, DXGKARG_RESETENGINE *reset)
{
    struct gpu_node *node = &((struct gpu *)adapter)->nodes[reset->NodeOrdinal];
    interrupt_routine(adapter, 0);
    if (node->count)
        node->fence = node->jobs[node->count - 1].fence;
    reset->LastAbortedFenceId = node->fence;
    node->count = node->ended = node->told = 0;
    node->hung = false;
    return STATUS_SUCCESS;
}

// The manager has nothing with us any more, or has given up: whatever is left never runs.
static NTSTATUS stop_device(HANDLE adapter)
{
    for (unsigned n = 0; n < GPU_NODES; n++)
        ((struct gpu *)adapter)->nodes[n] = (struct gpu_node){0};
    return STATUS_SUCCESS;
}

// ---- What there is ----

static NTSTATUS query_adapter_info(HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *query)
{
    (void)adapter;
    if (query->Type == DXGKQAITYPE_DRIVERCAPS) {
        *(DXGK_DRIVERCAPS *)query->pOutputData = (DXGK_DRIVERCAPS){.NbAsymetricProcessingNodes = GPU_NODES,
                                                                   .MemoryManagementCaps.PagingNode = 0,
                                                                   .WDDMVersion = DXGKDDI_WDDMv1_3};
        return STATUS_SUCCESS;
    }
    if (query->Type != DXGKQAITYPE_QUERYSEGMENT4)
        return STATUS_NOT_SUPPORTED;
    DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;
    const DXGK_SEGMENTDESCRIPTOR4 segments[2] = {
        {.Size = GPU_PAGES * PAGE_SIZE, .CommitLimit = GPU_PAGES * PAGE_SIZE},
        {.Flags.Value = DXGK_SEGMENT_APERTURE | DXGK_SEGMENT_CACHE_COHERENT,
         .BaseAddress.QuadPart = (int64_t)GPU_APERTURE,
         .Size = GPU_APERTURE_PAGES * PAGE_SIZE,
         .CommitLimit = GPU_APERTURE_PAGES * PAGE_SIZE},
    };
    for (UINT i = 0; i < out->NbSegment; i++)
        memcpy(out->pSegmentDescriptor + i * out->SegmentDescriptorStride, &segments[i], sizeof segments[i]);
    out->NbSegment = 2;
    out->SegmentDescriptorStride = sizeof segments[0];
    out->PagingBufferSize = PAGE_SIZE;
    return STATUS_SUCCESS;
}

static NTSTATUS create_device(HANDLE adapter, DXGKARG_CREATEDEVICE *device)
{
    device->hDevice = adapter; // nothing is kept of devices and contexts
    return STATUS_SUCCESS;
}

static NTSTATUS create_context(HANDLE device, DXGKARG_CREATECONTEXT *context)
{
    context->hContext = device;
    context->ContextInfo =
        (DXGK_CONTEXTINFO){.DmaBufferSize = PAGE_SIZE, .AllocationListSize = 16, .PatchLocationListSize = 16};
    return STATUS_SUCCESS;
}

static NTSTATUS destroy(HANDLE object)
{
    (void)object;
    return STATUS_SUCCESS;
}

static NTSTATUS create_allocation(HANDLE adapter, DXGKARG_CREATEALLOCATION *create)
{
    (void)adapter;
    DXGK_ALLOCATIONINFO *info = create->pAllocationInfo;
    const struct gpu_wish *wish = info->pPrivateDriverData;
    if (create->NumAllocations != 1 || info->PrivateDriverDataSize != sizeof *wish)
        return STATUS_INVALID_PARAMETER;
    UINT segment = wish->aperture ? 2 : 1;
    info->Size = wish->bytes;
    info->Alignment = PAGE_SIZE;
    info->PreferredSegment.SegmentId0 = segment & 0x1F;
    info->SupportedReadSegmentSet = info->SupportedWriteSegmentSet = 1u << (segment - 1);
    info->Flags = DXGK_ALLOC_FLAG_CPU_VISIBLE;
    info->AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL;
    return STATUS_SUCCESS;
}

static NTSTATUS destroy_allocation(HANDLE adapter, const DXGKARG_DESTROYALLOCATION *allocations)
{
    (void)adapter, (void)allocations;
    return STATUS_SUCCESS;
}

// ---- Paging ----

static NTSTATUS put(DXGKARG_BUILDPAGINGBUFFER *build, struct gpu_command command)
{
    if (build->DmaSize < sizeof command)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    memcpy(build->pDmaBuffer, &command, sizeof command);
    build->pDmaBuffer = (uint8_t *)build->pDmaBuffer + sizeof command;
    build->DmaSize -= (UINT)sizeof command;
    return STATUS_SUCCESS;
}

static uint64_t place(const DXGK_TRANSFERSIDE *side, const DXGK_BUILDPAGINGBUFFER_TRANSFER *t, uint64_t page)
{
    return side->SegmentId ? (uint64_t)side->SegmentAddress.QuadPart + t->TransferOffset + page * PAGE_SIZE
                           : GPU_HOST | side->pMdl->Pfn[t->MdlOffset + page] << PAGE_SHIFT;
}

// A command a page, of which MultipassOffset counts those that are written; but what moves inside video memory may
// overlap, and is not cut.
static NTSTATUS build_transfer(DXGKARG_BUILDPAGINGBUFFER *build)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &build->Transfer;
    NTSTATUS status = STATUS_SUCCESS;
    uint64_t bytes = t->Source.SegmentId && t->Destination.SegmentId ? sizeof((struct gpu *)0)->memory : PAGE_SIZE;
    for (uint64_t done; (done = build->MultipassOffset * bytes) < t->TransferSize; build->MultipassOffset++) {
        uint64_t left = t->TransferSize - done;
        status = put(build, (struct gpu_command){.operation = GPU_COPY,
                                                 .to = place(&t->Destination, t, done / PAGE_SIZE),
                                                 .from = place(&t->Source, t, done / PAGE_SIZE),
                                                 .bytes = left < bytes ? left : bytes});
        if (status != STATUS_SUCCESS)
            break;
    }
    return status;
}

static NTSTATUS build_paging_buffer(HANDLE adapter, DXGKARG_BUILDPAGINGBUFFER *build)
{
    const DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT *map = &build->MapApertureSegment;
    const DXGK_BUILDPAGINGBUFFER_UNMAPAPERTURESEGMENT *unmap = &build->UnmapApertureSegment;
    NTSTATUS status = STATUS_SUCCESS;
    (void)adapter;
    switch (build->Operation) {
    case DXGK_OPERATION_TRANSFER: return build_transfer(build);
    case DXGK_OPERATION_FILL:
        return put(build, (struct gpu_command){.operation = GPU_FILL,
                                               .pattern = build->Fill.FillPattern,
                                               .to = (uint64_t)build->Fill.Destination.SegmentAddress.QuadPart,
                                               .bytes = build->Fill.FillSize});
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        for (; build->MultipassOffset < map->NumberOfPages && status == STATUS_SUCCESS;
             build->MultipassOffset += status == STATUS_SUCCESS)
            status = put(build, (struct gpu_command){.operation = GPU_MAP,
                                                     .to = map->OffsetInPages + build->MultipassOffset,
                                                     .from = map->pMdl->Pfn[map->MdlOffset + build->MultipassOffset]
                                                             << PAGE_SHIFT,
                                                     .bytes = 1});
        return status;
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
        return put(build, (struct gpu_command){.operation = GPU_MAP,
                                               .to = unmap->OffsetInPages,
                                               .from = (uint64_t)unmap->DummyPage.QuadPart,
                                               .bytes = unmap->NumberOfPages});
    // Nothing is known of where content is, and no write waits anywhere.
    case DXGK_OPERATION_DISCARD_CONTENT:
    case DXGK_OPERATION_READ_PHYSICAL:
    case DXGK_OPERATION_WRITE_PHYSICAL: return STATUS_SUCCESS;
    default: return STATUS_NOT_SUPPORTED; // and the manager stops
    }
}

// ---- Jobs ----

static NTSTATUS patch(HANDLE adapter, const DXGKARG_PATCH *p)
{
    (void)adapter;
    for (UINT i = 0; i < p->PatchLocationListSubmissionLength; i++) {
        const D3DDDI_PATCHLOCATIONLIST *location = &p->pPatchLocationList[p->PatchLocationListSubmissionStart + i];
        const DXGK_ALLOCATIONLIST *entry = &p->pAllocationList[location->AllocationIndex];
        uint64_t address = (uint64_t)entry->PhysicalAddress.QuadPart + location->AllocationOffset;
        memcpy((uint8_t *)p->pDmaBuffer + location->PatchOffset, &address, sizeof address);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS submit_command(HANDLE adapter, const DXGKARG_SUBMITCOMMAND *s)
{
    struct gpu_node *node = &((struct gpu *)adapter)->nodes[s->NodeOrdinal];
    if (node->count == GPU_JOBS)
        return STATUS_INSUFFICIENT_RESOURCES; // and the manager stops: it never has so many with us
    node->jobs[node->count++] =
        (struct gpu_job){.fence = s->SubmissionFenceId,
                         .bytes = s->DmaBufferSubmissionEndOffset - s->DmaBufferSubmissionStartOffset,
                         .bus = (uint64_t)s->DmaBufferPhysicalAddress.QuadPart + s->DmaBufferSubmissionStartOffset};
    return STATUS_SUCCESS;
}

const DRIVER_INITIALIZATION_DATA gpu_miniport = {
    .Version = DXGKDDI_WDDMv1_3,
    .DxgkDdiStartDevice = start_device,
    .DxgkDdiStopDevice = stop_device,
    .DxgkDdiInterruptRoutine = interrupt_routine,
    .DxgkDdiDpcRoutine = dpc_routine,
    .DxgkDdiQueryAdapterInfo = query_adapter_info,
    .DxgkDdiCreateDevice = create_device,
    .DxgkDdiDestroyDevice = destroy,
    .DxgkDdiCreateContext = create_context,
    .DxgkDdiDestroyContext = destroy,
    .DxgkDdiCreateAllocation = create_allocation,
    .DxgkDdiDestroyAllocation = destroy_allocation,
    .DxgkDdiBuildPagingBuffer = build_paging_buffer,
    .DxgkDdiPatch = patch,
    .DxgkDdiSubmitCommand = submit_command,
    .DxgkDdiQueryCurrentFence = query_current_fence,
    .DxgkDdiResetEngine = reset_engine,
};
