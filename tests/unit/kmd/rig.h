// SPDX-License-Identifier: Apache-2.0
// A miniport on the reference model, with the test in the manager's place; or, with RIG_ON_SIM, on the device's Verilog
// with the firmware of a release.
#ifndef FERRY_TESTS_KMD_RIG_H
#define FERRY_TESTS_KMD_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "kmd/kmd.h"
#include "model/model_link.h"

#define LOCAL_BYTES    (4u << 20)
#define APERTURE_PAGES 256u
#define NOTES          2048

struct note {
    DXGK_INTERRUPT_TYPE type;
    uint32_t fence, node, last;
    bool cut; // Told as a fault, for a reset has cut it off.
};

#ifndef RIG_ON_SIM
// The model has no core that would run an image; each program has the rig once.
const unsigned char ferry_firmware_image[] = {0, 0, 0, 0};
const unsigned ferry_firmware_image_bytes = sizeof ferry_firmware_image;
#endif

struct rig {
    struct ferry_link *link;
    struct ferry_model *model; // Null on the simulation.
    struct ferry_gpu *gpu;
    const DRIVER_INITIALIZATION_DATA *kmd;
    HANDLE adapter;
    struct note notes[NOTES];
    unsigned note_count, dpcs, queued;
    void (*then)(struct rig *rig);  // Called once, at the next note.
    struct ferry_gpu_memory buffer; // A paging or user DMA buffer, two pages.
    uint8_t private_data[4096];
    UINT note_bytes; // Private data of a user's buffer: as much of it as the miniport asks for.
    HANDLE device, paging_context, user_context;
};

static inline VOID on_notify(HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct rig *rig = handle;
    struct note *note = &rig->notes[rig->note_count++ % NOTES];

    note->type = data->InterruptType;
    note->cut = false;
    if (data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED) {
        note->fence = data->DmaCompleted.SubmissionFenceId;
        note->node = data->DmaCompleted.NodeOrdinal;
    } else if (data->InterruptType == DXGK_INTERRUPT_DMA_FAULTED) {
        note->fence = data->DmaFaulted.FaultedFenceId;
        note->node = data->DmaFaulted.NodeOrdinal;
        note->cut = data->DmaFaulted.Status == STATUS_GRAPHICS_TRY_AGAIN_NOW;
    } else {
        note->fence = data->DmaPreempted.PreemptionFenceId;
        note->last = data->DmaPreempted.LastCompletedFenceId;
        note->node = data->DmaPreempted.NodeOrdinal;
    }
    void (*then)(struct rig *) = rig->then;
    rig->then = NULL;
    if (then)
        then(rig);
}

static inline VOID on_dpc(HANDLE handle)
{
    ((struct rig *)handle)->dpcs++;
}

static inline bool on_queue(HANDLE handle)
{
    ((struct rig *)handle)->queued++;
    return true;
}

static inline void on_interrupt(void *context, uint32_t causes)
{
    struct rig *rig = context;

    (void)causes;
    rig->kmd->DxgkDdiInterruptRoutine(rig->adapter, 0);
}

// The driver model of the miniport and its device; a program that wants another one says so before its cases.
static unsigned rig_model = 1;
static unsigned rig_ways; // Of model 2: FERRY_KMD_*.
static bool rig_tiling;   // Its device copies tiles, and shows them as rows; that of the simulation always does.

#ifdef RIG_ON_SIM
#define RIG_BACK_END "sim"
static inline void rig_open_link(struct rig *rig, const struct ferry_link_config *config)
{
    (void)rig_tiling;
    assert_int_equal(ferry_link_open(RIG_BACK_END, config, &rig->link), FERRY_OK);
}
#else
#define RIG_BACK_END "model"
static inline void rig_open_link(struct rig *rig, const struct ferry_link_config *config)
{
    struct ferry_model_options options = {.local_bytes = LOCAL_BYTES,
                                          .aperture_pages = APERTURE_PAGES,
                                          .page_tables = rig_model == 2,
                                          .tiling = rig_tiling};

    assert_int_equal(ferry_model_link_open(&options, config, &rig->link), FERRY_OK);
    rig->model = ferry_model_link_model(rig->link);
}
#endif

static inline int rig_setup(void **state)
{
    static bool told;
    struct rig *rig = calloc(1, sizeof *rig);
    struct ferry_link_config config = {.size = sizeof config, .seed = 5};
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};

    if (!told)
        printf("back end " RIG_BACK_END "\n");
    told = true;
    rig_open_link(rig, &config);
    assert_int_equal(ferry_gpu_open(rig->link, NULL, &rig->gpu), FERRY_OK);
    rig->kmd = rig_model == 2 ? ferry_kmd_miniport_model2(rig_ways) : ferry_kmd_miniport();
    assert_int_equal(rig->kmd->DxgkDdiAddDevice(rig->gpu, &rig->adapter), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
    ferry_gpu_set_interrupt(rig->gpu, on_interrupt, rig);
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 8192, 0, &rig->buffer), FERRY_OK);

    DXGKARG_CREATEDEVICE device = {.hDevice = rig};
    assert_int_equal(rig->kmd->DxgkDdiCreateDevice(rig->adapter, &device), STATUS_SUCCESS);
    rig->device = device.hDevice;
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 0, .Flags.SystemContext = 1};
    assert_int_equal(rig->kmd->DxgkDdiCreateContext(rig->device, &context), STATUS_SUCCESS);
    rig->paging_context = context.hContext;
    context = (DXGKARG_CREATECONTEXT){.NodeOrdinal = 2};
    assert_int_equal(rig->kmd->DxgkDdiCreateContext(rig->device, &context), STATUS_SUCCESS);
    assert_int_equal(context.ContextInfo.DmaBufferSize, 4096);
    rig->user_context = context.hContext;
    rig->note_bytes = context.ContextInfo.DmaBufferPrivateDataSize;
    *state = rig;
    return 0;
}

static inline int rig_teardown(void **state)
{
    struct rig *rig = *state;

    rig->kmd->DxgkDdiDestroyContext(rig->user_context);
    rig->kmd->DxgkDdiDestroyContext(rig->paging_context);
    rig->kmd->DxgkDdiDestroyDevice(rig->device);
    ferry_gpu_memory_free(rig->gpu, &rig->buffer);
    rig->kmd->DxgkDdiStopDevice(rig->adapter);
    rig->kmd->DxgkDdiRemoveDevice(rig->adapter);
    ferry_gpu_close(rig->gpu);
    free(rig);
    return 0;
}

static inline HANDLE make_allocation(struct rig *rig, uint64_t bytes, bool aperture)
{
    struct ferry_allocation_private wish = {
        .Version = FERRY_ALLOCATION_PRIVATE_VERSION, .Size = sizeof wish, .Bytes = bytes, .Aperture = aperture};
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};

    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_SUCCESS);
    return info.hAllocation;
}

static inline void destroy_allocation(struct rig *rig, HANDLE allocation)
{
    DXGKARG_DESTROYALLOCATION destroy = {.NumAllocations = 1, .pAllocationList = &allocation};

    assert_int_equal(rig->kmd->DxgkDdiDestroyAllocation(rig->adapter, &destroy), STATUS_SUCCESS);
}

// Patch of a user's buffer whose packets stand there with their places: its list has each segment as one allocation.
static inline NTSTATUS patch_places(struct rig *rig, DXGKARG_PATCH *patch)
{
    DXGK_ALLOCATIONLIST list[2] = {
        {.hDeviceSpecificAllocation = make_allocation(rig, LOCAL_BYTES, false),
         .SegmentId = FERRY_KMD_SEGMENT_LOCAL,
         .WriteOperation = 1},
        {.hDeviceSpecificAllocation = make_allocation(rig, APERTURE_PAGES * 4096, true),
         .SegmentId = FERRY_KMD_SEGMENT_APERTURE,
         .WriteOperation = 1},
    };

    list[1].PhysicalAddress.QuadPart = FERRY_KMD_APERTURE_BASE;
    patch->pAllocationList = list;
    patch->AllocationListSize = 2;
    NTSTATUS status = rig->kmd->DxgkDdiPatch(rig->adapter, patch);
    patch->pAllocationList = NULL;
    destroy_allocation(rig, list[0].hDeviceSpecificAllocation);
    destroy_allocation(rig, list[1].hDeviceSpecificAllocation);
    return status;
}

// An argument block for a fresh buffer at `memory`.
static inline DXGKARG_BUILDPAGINGBUFFER arguments(struct rig *rig, void *memory, uint32_t bytes,
                                                  DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    DXGKARG_BUILDPAGINGBUFFER a = {.pDmaBuffer = memory,
                                   .DmaSize = bytes,
                                   .pDmaBufferPrivateData = rig->private_data,
                                   .DmaBufferPrivateDataSize = sizeof rig->private_data,
                                   .Operation = operation};

    return a;
}

static inline void wait_for(struct rig *rig, uint32_t node, uint32_t fence)
{
    DXGKARG_QUERYCURRENTFENCE query = {.NodeOrdinal = node};

    for (int i = 0; i < 1000; i++) {
        assert_int_equal(rig->kmd->DxgkDdiQueryCurrentFence(rig->adapter, &query), STATUS_SUCCESS);
        if ((int32_t)(query.CurrentFence - fence) >= 0)
            return;
        assert_int_equal(ferry_gpu_wait(rig->gpu, 0), FERRY_OK);
    }
    fail();
}

// Patch and submit what the arguments have put into rig->buffer, and leave it running. From there on, of the buffer and
// of the private data: what is before was submitted.
static inline void submit_paging_from(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *a, uint32_t from,
                                      uint32_t private_from, uint32_t fence)
{
    uint32_t bytes = (uint32_t)((uint8_t *)a->pDmaBuffer - (uint8_t *)rig->buffer.address);
    uint32_t private_bytes = (uint32_t)((uint8_t *)a->pDmaBufferPrivateData - rig->private_data);
    DXGKARG_PATCH patch = {.pDmaBuffer = rig->buffer.address,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionStartOffset = from,
                           .DmaBufferSubmissionEndOffset = bytes,
                           .pDmaBufferPrivateData = rig->private_data,
                           .DmaBufferPrivateDataSize = sizeof rig->private_data,
                           .DmaBufferPrivateDataSubmissionStartOffset = private_from,
                           .DmaBufferPrivateDataSubmissionEndOffset = private_bytes,
                           .SubmissionFenceId = fence,
                           .Flags.Paging = 1};
    DXGKARG_SUBMITCOMMAND submit = {.DmaBufferSize = 4096,
                                    .DmaBufferSubmissionStartOffset = from,
                                    .DmaBufferSubmissionEndOffset = bytes,
                                    .SubmissionFenceId = fence,
                                    .Flags.Paging = 1};

    patch.DmaBufferPhysicalAddress.QuadPart = (int64_t)rig->buffer.bus;
    submit.DmaBufferPhysicalAddress.QuadPart = (int64_t)rig->buffer.bus;
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_SUCCESS);
}

static inline void submit_paging(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *a, uint32_t fence)
{
    submit_paging_from(rig, a, 0, 0, fence);
}

// A user job that copies 64 bytes inside an allocation at `address`, not waited for.
static inline void submit_user(struct rig *rig, struct ferry_gpu_memory *commands, HANDLE allocation, int64_t address,
                               uint32_t fence)
{
    uint32_t packet[8] = {1 | 8 << 16, 0, 64};
    DXGK_ALLOCATIONLIST list = {.hDeviceSpecificAllocation = allocation, .SegmentId = 1, .WriteOperation = 1};
    D3DDDI_PATCHLOCATIONLIST locations[2] = {
        {.DriverId = FERRY_KMD_PATCH_ID(0, FERRY_KMD_PATCH_SOURCE), .AllocationOffset = 128, .PatchOffset = 16},
        {.DriverId = FERRY_KMD_PATCH_ID(0, FERRY_KMD_PATCH_DESTINATION), .AllocationOffset = 0, .PatchOffset = 24},
    };
    DXGKARG_PATCH patch = {.hContext = rig->user_context,
                           .pDmaBuffer = commands->address,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionEndOffset = 32,
                           .pAllocationList = &list,
                           .AllocationListSize = 1,
                           .pPatchLocationList = locations,
                           .PatchLocationListSize = 2,
                           .PatchLocationListSubmissionLength = 2,
                           .NodeOrdinal = 2};
    DXGKARG_SUBMITCOMMAND submit = {.hContext = rig->user_context,
                                    .DmaBufferSize = 4096,
                                    .DmaBufferSubmissionEndOffset = 32,
                                    .SubmissionFenceId = fence,
                                    .NodeOrdinal = 2};

    list.PhysicalAddress.QuadPart = address;
    submit.DmaBufferPhysicalAddress.QuadPart = (int64_t)commands->bus;
    memcpy(commands->address, packet, sizeof packet);
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_SUCCESS);
}

struct host_pages {
    MDL mdl;
    uint64_t pfn[64];
    void *memory;
};

static inline void pages_make(struct rig *rig, struct host_pages *p, size_t pages)
{
    uint64_t bus[64];

    p->memory = aligned_alloc(4096, pages * 4096);
    memset(p->memory, 0, pages * 4096);
    assert_int_equal(ferry_gpu_dma_map(rig->gpu, p->memory, pages, 0, bus), FERRY_OK);
    for (size_t i = 0; i < pages; i++)
        p->pfn[i] = bus[i] >> 12;
    p->mdl = (MDL){.MappedSystemVa = p->memory, .PageCount = pages, .ByteCount = pages * 4096, .Pfn = p->pfn};
}

static inline void pages_free(struct rig *rig, struct host_pages *p)
{
    for (size_t i = 0; i < p->mdl.PageCount; i++) {
        uint64_t bus = p->pfn[i] << 12;
        ferry_gpu_dma_unmap(rig->gpu, &bus, 1);
    }
    free(p->memory);
}

static inline void transfer_arguments(DXGKARG_BUILDPAGINGBUFFER *a, HANDLE allocation, MDL *mdl, bool in,
                                      int64_t address, uint64_t bytes)
{
    DXGK_TRANSFERSIDE list = {.SegmentId = 0}, segment = {.SegmentId = 1};

    a->Operation = DXGK_OPERATION_TRANSFER;
    a->MultipassOffset = 0;
    list.pMdl = mdl;
    segment.SegmentAddress.QuadPart = address;
    a->Transfer = (DXGK_BUILDPAGINGBUFFER_TRANSFER){.hAllocation = allocation,
                                                    .TransferSize = bytes,
                                                    .Source = in ? list : segment,
                                                    .Destination = in ? segment : list};
}

// Append to a buffer under construction.
static inline NTSTATUS append(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *a)
{
    a->DmaBufferWriteOffset = (UINT)((uint8_t *)a->pDmaBuffer - (uint8_t *)rig->buffer.address);
    return rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, a);
}

// A case with a rig of its own.
#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

#endif
