// SPDX-License-Identifier: Apache-2.0
// NOTIFY_ALLOC of the IOMMU model: what is built for it, and what is no such notice.
#include "ferry/runs.h"
#include "ferry_contract.h"
#include "page_tables.h"

#include <stdio.h>

#define SPACE_END (UINT64_C(1) << 48)

static DXGKARG_BUILDPAGINGBUFFER notice(struct rig *rig, HANDLE allocation, HANDLE process)
{
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);

    a.Operation = DXGK_OPERATION_NOTIFY_ALLOC;
    a.NotifyAllocation = (DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC){.hAllocation = allocation,
                                                              .hKmdProcessHandle = process,
                                                              .OffsetInBytes = 4096,
                                                              .SizeInBytes = 8192,
                                                              .GpuVirtualAddressAtOffset = 0x40000};
    a.NotifyAllocation.Flags.IoMmuUnmap = process != NULL;
    a.NotifyAllocation.Flags.Eviction = process == NULL;
    return a;
}

#define PACKET 24u // That has a space forgotten.

// Its program's space is forgotten, all of it, and no other: by the packet that ends a flush of the whole space.
static void a_notice_has_the_space_of_its_program_forgotten(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 4 * 4096, true), system = make_process(rig, true);
    HANDLE process[2] = {make_process(rig, false), make_process(rig, false)};
    uint8_t packets[2][PACKET];

    for (unsigned i = 0; i < 2; i++) {
        DXGKARG_BUILDPAGINGBUFFER a = start(rig);
        flush_arguments(&a, process[i], 0, 0);
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        memcpy(packets[i], (uint8_t *)a.pDmaBuffer - PACKET, PACKET);
        a = notice(rig, allocation, process[i]);
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        assert_ptr_equal(a.pDmaBuffer, (uint8_t *)rig->buffer.address + PACKET);
        assert_memory_equal(rig->buffer.address, packets[i], PACKET);
    }
    assert_memory_not_equal(packets[0], packets[1], PACKET);
    // Without room for it, it comes into the next buffer whole.
    for (UINT room = 0; room < PACKET; room += 8) {
        DXGKARG_BUILDPAGINGBUFFER a = notice(rig, allocation, process[0]);
        a.DmaSize = room;
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
        assert_ptr_equal(a.pDmaBuffer, rig->buffer.address);
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, process[i]), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, system), STATUS_SUCCESS);
    destroy_allocation(rig, allocation);
}

static NTSTATUS answer(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *a)
{
    NTSTATUS status = append(rig, a);

    // What is refused has written nothing.
    if (status == STATUS_INVALID_PARAMETER)
        assert_ptr_equal(a->pDmaBuffer, rig->buffer.address);
    return status;
}

static void what_is_no_notice_is_refused(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 4 * 4096, true), system = make_process(rig, true);
    HANDLE process = make_process(rig, false);

    for (unsigned unmap = 0; unmap < 2; unmap++) {
        NTSTATUS good = unmap && rig_ways != FERRY_KMD_IOMMU ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
        for (unsigned wrong = 0; wrong < 12; wrong++) {
            DXGKARG_BUILDPAGINGBUFFER a = notice(rig, allocation, unmap ? process : NULL);
            DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *n = &a.NotifyAllocation;
            NTSTATUS expected = STATUS_INVALID_PARAMETER;

            switch (wrong) {
            case 0: n->Flags.Value = 0; break;
            case 1: n->Flags.Value = 3; break;
            case 2: n->Flags.Value |= 4; break;
            case 3: n->hAllocation = NULL; break;
            case 4: n->SizeInBytes = 0; break;
            case 5: n->SizeInBytes = 6144; break;
            case 6: n->OffsetInBytes = 2048; break;
            case 7: n->GpuVirtualAddressAtOffset |= 8; break;
            case 8: n->OffsetInBytes = 3 * 4096; break; // One page too far.
            case 9: n->GpuVirtualAddressAtOffset = SPACE_END - 4096; break;
            case 10: n->GpuVirtualAddressAtOffset = SPACE_END - 8192, expected = good; break;
            default: n->OffsetInBytes = 2 * 4096, expected = good; break;
            }
            assert_int_equal(answer(rig, &a), expected);
        }
    }
    // An eviction is nobody's program's.
    DXGKARG_BUILDPAGINGBUFFER a = notice(rig, allocation, NULL);
    a.NotifyAllocation.hKmdProcessHandle = process;
    assert_int_equal(answer(rig, &a), STATUS_INVALID_PARAMETER);
    assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, process), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, system), STATUS_SUCCESS);
    destroy_allocation(rig, allocation);
}

static void map(struct rig *rig, HANDLE allocation, MDL *mdl, SIZE_T first)
{
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);

    a.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT;
    a.MapApertureSegment = (DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT){
        .hAllocation = allocation, .SegmentId = 2, .NumberOfPages = 20, .pMdl = mdl, .MdlOffset = first};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
}

static void unmap(struct rig *rig, HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);

    a.Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT;
    a.UnmapApertureSegment =
        (DXGK_BUILDPAGINGBUFFER_UNMAPAPERTURESEGMENT){.hAllocation = allocation, .SegmentId = 2, .NumberOfPages = 20};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
}

// How many fills a notice of all of it takes, in as many buffers as it wants.
static uint32_t fills(struct rig *rig, HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER a = notice(rig, allocation, NULL);
    NTSTATUS status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    uint32_t count = 0, multipass = 0;

    while (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER) {
        a = notice(rig, allocation, NULL);
        a.NotifyAllocation.OffsetInBytes = 0;
        a.NotifyAllocation.SizeInBytes = 20 * 4096;
        a.MultipassOffset = multipass;
        status = append(rig, &a);
        multipass = a.MultipassOffset;
        count += (uint32_t)((uint8_t *)a.pDmaBuffer - (uint8_t *)rig->buffer.address) / FERRY_PACKET_FILL_SIZE;
    }
    assert_int_equal(status, STATUS_SUCCESS);
    return count;
}

// It is where the allocation's last page is mapped from, for as long as that is, and however many runs it says it has:
// one fill for each, and one that ends the list. The MDL itself is there for the call that maps alone.
static void a_list_of_runs_is_read_where_it_is_mapped(void **state)
{
    struct rig *rig = *state;
    struct ferry_allocation_private wish = {.Version = FERRY_ALLOCATION_PRIVATE_VERSION,
                                            .Size = sizeof wish,
                                            .Bytes = 20 * 4096,
                                            .Aperture = 1,
                                            .Compressed = 1,
                                            .Flags2 = DXGK_ALLOC_FLAG2_NOTIFY_EVICTION};
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};
    struct host_pages pages;

    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_SUCCESS);
    pages_make(rig, &pages, 21);
    struct ferry_run_list *list = (struct ferry_run_list *)((uint8_t *)pages.memory + 19 * 4096);
    *list = (struct ferry_run_list){.magic = FERRY_RUNS_MAGIC, .count = 3};
    for (uint32_t i = 0; i < FERRY_RUNS_MOST; i++)
        list->runs[i] = (struct ferry_run){.first_block = i, .blocks = 1, .pattern = i};
    assert_int_equal(fills(rig, info.hAllocation), 0);
    MDL *mdl = malloc(sizeof *mdl);
    *mdl = pages.mdl;
    map(rig, info.hAllocation, mdl, 0);
    free(mdl);
    assert_int_equal(fills(rig, info.hAllocation), 3 + 1);
    list->count = UINT32_MAX;
    assert_int_equal(fills(rig, info.hAllocation), FERRY_RUNS_MOST + 1);
    unmap(rig, info.hAllocation);
    assert_int_equal(fills(rig, info.hAllocation), 0);
    MDL unseen = pages.mdl; // By the CPU.
    unseen.MappedSystemVa = NULL;
    map(rig, info.hAllocation, &unseen, 0);
    assert_int_equal(fills(rig, info.hAllocation), 0);
    unmap(rig, info.hAllocation);
    map(rig, info.hAllocation, &pages.mdl, 1); // The list stands in the last page but one then.
    assert_int_equal(fills(rig, info.hAllocation), 0);
    unmap(rig, info.hAllocation);
    pages_free(rig, &pages);
    destroy_allocation(rig, info.hAllocation);
}

// R200: there the pages stay mapped.
static int setup_without_iommu(void **state)
{
    rig_ways = 0;
    return rig_setup(state);
}

int main(void)
{
    rig_model = 2;
    rig_ways = FERRY_KMD_IOMMU;
    const struct CMUnitTest tests[] = {
        CASE(a_notice_has_the_space_of_its_program_forgotten),
        CASE(what_is_no_notice_is_refused),
        CASE(a_list_of_runs_is_read_where_it_is_mapped),
        {"R200_without_the_model_there_is_no_notice", what_is_no_notice_is_refused, setup_without_iommu, rig_teardown,
         NULL},
    };

    printf("miniport: real\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
