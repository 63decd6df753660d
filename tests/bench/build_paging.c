// SPDX-License-Identifier: Apache-2.0
// What BuildPagingBuffer costs a page of a page list: a transfer of 2,000 scattered pages into video memory, in paging
// buffers of 4 KiB, over and over; nothing of it is submitted. The time depends on the machine.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kmd/kmd.h"
#include "model/model_link.h"

#define PAGES  2000u
#define ROUNDS 2000u

static VOID no_interrupt(HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    (void)handle;
    (void)data;
}

static VOID no_dpc(HANDLE handle)
{
    (void)handle;
}

static bool no_queue(HANDLE handle)
{
    (void)handle;
    return true;
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// The whole transfer, in as many buffers as it takes.
static void build(const DRIVER_INITIALIZATION_DATA *kmd, HANDLE adapter, HANDLE allocation, MDL *mdl)
{
    static uint8_t buffer[4096], private_data[4096];
    DXGKARG_BUILDPAGINGBUFFER a = {.Operation = DXGK_OPERATION_TRANSFER};
    NTSTATUS status;
    a.Transfer.hAllocation = allocation;
    a.Transfer.TransferSize = PAGES * 4096u;
    a.Transfer.Source.pMdl = mdl;
    a.Transfer.Destination.SegmentId = 1;
    do {
        a.pDmaBuffer = buffer;
        a.DmaSize = sizeof(buffer);
        a.pDmaBufferPrivateData = private_data;
        a.DmaBufferPrivateDataSize = sizeof(private_data);
        status = kmd->DxgkDdiBuildPagingBuffer(adapter, &a);
    } while (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    must(status == STATUS_SUCCESS, "BuildPagingBuffer");
}

int main(int argc, char **argv)
{
    static uint64_t pfn[PAGES];
    MDL mdl = {.PageCount = PAGES, .ByteCount = PAGES * 4096u, .Pfn = pfn};
    struct ferry_model_options options = {.local_bytes = 16u << 20, .aperture_pages = 256};
    struct ferry_link_config config = {.size = sizeof(config), .seed = 5};
    const DRIVER_INITIALIZATION_DATA *kmd = ferry_kmd_miniport();
    DXGKRNL_INTERFACE os = {sizeof(os), DXGKRNL_INTERFACE_VERSION, &options, no_interrupt, no_dpc, no_queue};
    struct ferry_allocation_private wish = {
        .Version = FERRY_ALLOCATION_PRIVATE_VERSION, .Size = sizeof(wish), .Bytes = mdl.ByteCount};
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof(wish)};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};
    struct ferry_link *link;
    struct ferry_gpu *gpu;
    HANDLE adapter;
    FILE *out = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (!out) {
        fprintf(stderr, "usage: build_paging ROWS.json\n");
        return 2;
    }
    must(ferry_model_link_open(&options, &config, &link) == FERRY_OK, "the model");
    must(ferry_gpu_open(link, NULL, &gpu) == FERRY_OK, "the device");
    must(kmd->DxgkDdiAddDevice(gpu, &adapter) == STATUS_SUCCESS, "AddDevice");
    must(kmd->DxgkDdiStartDevice(adapter, &os) == STATUS_SUCCESS, "StartDevice");
    must(kmd->DxgkDdiCreateAllocation(adapter, &create) == STATUS_SUCCESS, "CreateAllocation");
    for (uint64_t i = 0; i < PAGES; i++)
        pfn[i] = 1000 + 37 * i % PAGES;
    double start = now();
    for (unsigned i = 0; i < ROUNDS; i++)
        build(kmd, adapter, info.hAllocation, &mdl);
    double nanoseconds = (now() - start) / ROUNDS / PAGES * 1e9;
    fprintf(out, "[{\"name\": \"manager/build-per-page\", \"value\": %.3f, \"unit\": \"ns\"}]\n", nanoseconds);
    printf("%-32s %12.3f ns\n", "manager/build-per-page", nanoseconds);
    DXGKARG_DESTROYALLOCATION destroy = {.NumAllocations = 1, .pAllocationList = &info.hAllocation};
    must(kmd->DxgkDdiDestroyAllocation(adapter, &destroy) == STATUS_SUCCESS, "DestroyAllocation");
    kmd->DxgkDdiStopDevice(adapter);
    kmd->DxgkDdiRemoveDevice(adapter);
    ferry_gpu_close(gpu);
    return fclose(out) != 0;
}
