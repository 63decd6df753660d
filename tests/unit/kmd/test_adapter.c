// SPDX-License-Identifier: Apache-2.0
// The miniport before any work: what it says of the device, what it makes of wishes, start and stop.
#include "kmd/internal.h"
#include "rig.h"

#include <stdio.h>

static void R74_the_aperture_points_at_a_dummy_page_from_the_start(void **state)
{
    struct rig *rig = *state;
    uint64_t entry = ferry_model_aperture_entry(rig->model, 0);

    assert_int_equal(entry & 1, 1);
    assert_true(entry >> 12);
    for (uint32_t i = 0; i < APERTURE_PAGES; i++)
        assert_int_equal(ferry_model_aperture_entry(rig->model, i), entry);
}

static void segments_and_caps_are_reported_twice_as_the_contract_says(void **state)
{
    struct rig *rig = *state;
    DXGK_SEGMENTDESCRIPTOR4 descriptors[2] = {0};
    DXGK_QUERYSEGMENTOUT4 out = {0};
    DXGKARG_QUERYADAPTERINFO query = {
        .Type = DXGKQAITYPE_QUERYSEGMENT4, .pOutputData = &out, .OutputDataSize = sizeof out};
    DXGK_DRIVERCAPS caps;

    assert_int_equal(rig->kmd->DxgkDdiQueryAdapterInfo(rig->adapter, &query), STATUS_SUCCESS);
    assert_int_equal(out.NbSegment, 2);
    assert_int_equal(out.PagingBufferSize, 4096);
    assert_true(out.PagingBufferPrivateDataSize >= 16 * (4096 / 24));
    out.pSegmentDescriptor = (UINT8 *)descriptors;
    assert_int_equal(rig->kmd->DxgkDdiQueryAdapterInfo(rig->adapter, &query), STATUS_SUCCESS);
    assert_int_equal(descriptors[0].Flags.CpuVisible, 1);
    assert_int_equal(descriptors[0].Flags.Aperture, 0);
    assert_int_equal(descriptors[0].Size, LOCAL_BYTES);
    assert_int_equal(descriptors[1].Flags.Aperture, 1);
    assert_int_equal(descriptors[1].Flags.CacheCoherent, 1);
    assert_int_equal(descriptors[1].Size, APERTURE_PAGES * 4096);
    // The caller's descriptors may be longer; and it may have room for the first one alone.
    _Alignas(8) uint8_t wide[3 * sizeof(DXGK_SEGMENTDESCRIPTOR4)];
    for (UINT room = 2; room > 0; room--) {
        const DXGK_SEGMENTDESCRIPTOR4 *second = (const void *)(wide + sizeof *descriptors + 8);

        memset(wide, 0xEE, sizeof wide);
        out.pSegmentDescriptor = wide;
        out.SegmentDescriptorStride = sizeof *descriptors + 8;
        out.NbSegment = room;
        assert_int_equal(rig->kmd->DxgkDdiQueryAdapterInfo(rig->adapter, &query), STATUS_SUCCESS);
        assert_memory_equal(wide, &descriptors[0], sizeof *descriptors);
        assert_int_equal(wide[sizeof *descriptors], 0xEE);
        if (room == 2)
            assert_memory_equal(second, &descriptors[1], sizeof *descriptors);
        else
            assert_int_equal(*(const uint8_t *)second, 0xEE);
    }
    // Nor are they written where shorter ones are.
    memset(wide, 0xEE, sizeof wide);
    out.NbSegment = 2;
    out.SegmentDescriptorStride = sizeof *descriptors - 8;
    assert_int_equal(rig->kmd->DxgkDdiQueryAdapterInfo(rig->adapter, &query), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(wide[0], 0xEE);
    query =
        (DXGKARG_QUERYADAPTERINFO){.Type = DXGKQAITYPE_DRIVERCAPS, .pOutputData = &caps, .OutputDataSize = sizeof caps};
    assert_int_equal(rig->kmd->DxgkDdiQueryAdapterInfo(rig->adapter, &query), STATUS_SUCCESS);
    assert_int_equal(caps.MemoryManagementCaps.PagingNode, 0);
    assert_int_equal(caps.MemoryManagementCaps.MapAperture2Supported, 0);
    assert_int_equal(caps.NbAsymetricProcessingNodes, 5);
    assert_int_equal(caps.WDDMVersion, DXGKDDI_WDDMv3_0);
    // An entry of the aperture's table holds the pages of 52 bits.
    assert_int_equal(caps.HighestAcceptableAddress.QuadPart, 0xfffffffffffff);
    query.OutputDataSize--;
    assert_int_equal(rig->kmd->DxgkDdiQueryAdapterInfo(rig->adapter, &query), STATUS_BUFFER_TOO_SMALL);
    UINT index = 0, megabytes = 5;
    query = (DXGKARG_QUERYADAPTERINFO){.Type = DXGKQAITYPE_PAGINGPROCESSGPUVASIZE,
                                       .pInputData = &index,
                                       .InputDataSize = sizeof index,
                                       .pOutputData = &megabytes,
                                       .OutputDataSize = sizeof megabytes};
    assert_int_equal(rig->kmd->DxgkDdiQueryAdapterInfo(rig->adapter, &query), STATUS_SUCCESS);
    assert_int_equal(megabytes, 0);
    query.Type = DXGKQAITYPE_GPUMMUCAPS;
    assert_int_equal(rig->kmd->DxgkDdiQueryAdapterInfo(rig->adapter, &query), STATUS_NOT_SUPPORTED);
}

static void allocations_get_sizes_and_segments_and_bad_wishes_a_name(void **state)
{
    struct rig *rig = *state;
    struct ferry_allocation_private wish = {
        .Version = FERRY_ALLOCATION_PRIVATE_VERSION, .Size = sizeof wish, .Bytes = 5000, .Aperture = 1, .Flags = 5};
    DXGK_ALLOCATIONINFO info[2] = {{.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish},
                                   {.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish - 1}};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = info};

    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_SUCCESS);
    assert_int_equal(info[0].Size, 8192);
    assert_int_equal(info[0].Alignment, 4096);
    assert_int_equal(info[0].SupportedWriteSegmentSet, 2);
    assert_int_equal(info[0].FlagsWddm2.Value, 5 | DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY);
    assert_true(info[0].AllocationPriority != 0);
    destroy_allocation(rig, info[0].hAllocation);
    create.NumAllocations = 2; // The second fails, and the first does not stay.
    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_INVALID_PARAMETER);
    assert_null(info[0].hAllocation);
    create.NumAllocations = 1;
    wish.Bytes = 0;
    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_INVALID_PARAMETER);
    wish.Bytes = UINT64_MAX;
    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_INVALID_PARAMETER);
    wish.Bytes = 1;
    wish.Alignment = 3;
    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_INVALID_PARAMETER);
}

static void a_device_that_was_stopped_starts_again(void **state)
{
    struct rig *rig = *state;
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};
    struct host_pages from;

    pages_make(rig, &from, 1);
    for (uint32_t round = 0; round < 3; round++) {
        DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);

        memset(from.memory, (int)round + 1, 4096);
        transfer_arguments(&a, NULL, &from.mdl, true, 0x10000, 4096);
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        rig->note_count = 0;
        submit_paging(rig, &a, 1); // Each manager counts from 1.
        wait_for(rig, 0, 1);
        assert_memory_equal(ferry_model_local(rig->model) + 0x10000, from.memory, 4096);
        assert_int_equal(rig->note_count, 1);
        assert_int_equal(rig->notes[0].fence, 1);
        assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
        assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
        DXGKARG_QUERYCURRENTFENCE query = {.NodeOrdinal = 0};
        assert_int_equal(rig->kmd->DxgkDdiQueryCurrentFence(rig->adapter, &query), STATUS_SUCCESS);
        assert_int_equal(query.CurrentFence, 0);
    }
    pages_free(rig, &from);
}

// Where the aperture leads is not known then; the next start does it.
static void a_start_whose_aperture_buffer_fails_is_named(void **state)
{
    struct rig *rig = *state;
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};

    assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
    for (uint32_t round = 0; round < 2; round++) {
        ferry_model_inject(rig->model, round ? FERRY_MODEL_HOST_ABORT : FERRY_MODEL_HOST_TIMEOUT, 1);
        assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
    }
    assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
}

static uint64_t strays(struct rig *rig)
{
    struct ferry_link_counts counts;

    ferry_gpu_link_counts(rig->gpu, &counts);
    return counts.unmapped_accesses;
}

// As many paging buffers as the device fetches hang, or none but the start's own. Whatever stands in a ring when the
// miniport stops, or has failed to start, names memory that is another's by then.
static void a_device_that_hangs_is_left_with_nothing_to_fetch(void **state)
{
    struct rig *rig = *state;
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};
    struct host_pages from;

    pages_make(rig, &from, 1);
    for (uint32_t held = 0; held <= 6; held += 3) {
        DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);

        transfer_arguments(&a, NULL, &from.mdl, true, 0x10000, 4096);
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        ferry_model_hang(rig->model);
        for (uint32_t i = 1; i <= held; i++)
            submit_paging(rig, &a, i);
        assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
        ferry_model_hang(rig->model);
        assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_IO_TIMEOUT);
        assert_int_equal(ferry_gpu_ring_pending(rig->gpu, 0), 0);
        assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
        assert_int_equal(ferry_gpu_run(rig->gpu, 100000), FERRY_OK);
        assert_int_equal(strays(rig), 0);
    }
    pages_free(rig, &from);
}

static const struct ferry_link_operations *link_before;
static bool link_is_gone;

static int pump_without(struct ferry_link *link, uint64_t cycles, unsigned *reasons)
{
    return link_is_gone ? FERRY_ERROR_DEVICE_LOST : link_before->pump(link, cycles, reasons);
}

static int write_without(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    return link_is_gone && offset == FERRY_BAR0_CONTROL ? FERRY_ERROR_DEVICE_LOST
                                                        : link_before->write32(link, bar, offset, value);
}

// The doorbell goes through, and then nothing does for a while: neither the buffer's end nor a reset.
static void what_a_start_without_a_link_has_given_away_stays(void **state)
{
    struct rig *rig = *state;
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};
    struct ferry_link_operations without = *rig->link->operations;

    assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
    link_before = rig->link->operations;
    without.pump = pump_without;
    without.write32 = write_without;
    rig->link->operations = &without;
    link_is_gone = true;
    assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_DEVICE_REMOVED);
    link_is_gone = false;
    assert_int_equal(ferry_gpu_run(rig->gpu, 100000), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_pending(rig->gpu, 0), 0);
    assert_int_equal(strays(rig), 0);
    rig->link->operations = link_before;
    assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
}

static unsigned silenced;

static void count_silence(struct ferry_link *link)
{
    (void)link;
    silenced++;
}

// Its manager gives pages back behind the stop. Where the device may still work, for nothing could be taken back, it
// has to reach nothing by then: not every link keeps it from what is not mapped.
static void a_device_that_cannot_be_stopped_is_cut_off(void **state)
{
    struct rig *rig = *state;
    struct ferry_link_operations without = *rig->link->operations;
    struct host_pages from;

    pages_make(rig, &from, 1);
    link_before = rig->link->operations;
    without.pump = pump_without;
    without.write32 = write_without;
    without.silence = count_silence;
    rig->link->operations = &without;
    for (unsigned gone = 0; gone < 2; gone++) {
        DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};
        DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);

        transfer_arguments(&a, NULL, &from.mdl, true, 0x10000, 4096);
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        submit_paging(rig, &a, 1);
        link_is_gone = gone;
        assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
        assert_int_equal(silenced, gone);
        link_is_gone = false;
        assert_int_equal(ferry_gpu_run(rig->gpu, 100000), FERRY_OK);
        assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
    }
    rig->link->operations = link_before;
    pages_free(rig, &from);
}

// Whoever starts it is called back at any time from then on.
static void a_start_without_its_call_backs_is_refused(void **state)
{
    struct rig *rig = *state;
    const DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};

    assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
    for (unsigned wrong = 0; wrong < 5; wrong++) {
        DXGKRNL_INTERFACE other = os;

        switch (wrong) {
        case 0: other.Size = sizeof os - 1; break;
        case 1: other.Version++; break;
        case 2: other.DxgkCbNotifyInterrupt = NULL; break;
        case 3: other.DxgkCbNotifyDpc = NULL; break;
        default: other.DxgkCbQueueDpc = NULL; break;
        }
        assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &other), STATUS_INVALID_PARAMETER);
    }
    DXGKRNL_INTERFACE longer = os;
    longer.Size += 8;
    assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &longer), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_INVALID_PARAMETER); // A second one.
}

// What a submission names may be gone by then. The device is not woken, and nobody is called back.
static void nothing_goes_to_a_device_that_is_not_started(void **state)
{
    struct rig *rig = *state;
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};
    const DXGKARG_PREEMPTCOMMAND preempt = {.PreemptionFenceId = 7};
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 0};
    struct host_pages to;

    pages_make(rig, &to, 1);
    memset(to.mdl.MappedSystemVa, 0x5A, 4096);
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);
    transfer_arguments(&a, NULL, &to.mdl, false, 0x10000, 4096);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    const DXGKARG_SUBMITCOMMAND submit = {.DmaBufferPhysicalAddress.QuadPart = (int64_t)rig->buffer.bus,
                                          .DmaBufferSize = 4096,
                                          .DmaBufferSubmissionEndOffset =
                                              (UINT)((uint8_t *)a.pDmaBuffer - (uint8_t *)rig->buffer.address),
                                          .SubmissionFenceId = 1,
                                          .Flags.Paging = 1};
    assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
    unsigned told = rig->note_count, dpcs = rig->dpcs;
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_DEVICE_NOT_READY);
    assert_int_equal(rig->kmd->DxgkDdiPreemptCommand(rig->adapter, &preempt), STATUS_DEVICE_NOT_READY);
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_DEVICE_NOT_READY);
    rig->kmd->DxgkDdiDpcRoutine(rig->adapter);
    assert_int_equal(ferry_gpu_run(rig->gpu, 100000), FERRY_OK);
    assert_int_equal(*(const uint8_t *)to.mdl.MappedSystemVa, 0x5A);
    assert_int_equal(rig->note_count, told);
    assert_int_equal(rig->dpcs, dpcs);
    assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_SUCCESS);
    pages_free(rig, &to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(R74_the_aperture_points_at_a_dummy_page_from_the_start),
        CASE(segments_and_caps_are_reported_twice_as_the_contract_says),
        CASE(allocations_get_sizes_and_segments_and_bad_wishes_a_name),
        CASE(a_device_that_was_stopped_starts_again),
        CASE(a_start_whose_aperture_buffer_fails_is_named),
        CASE(a_device_that_hangs_is_left_with_nothing_to_fetch),
        CASE(what_a_start_without_a_link_has_given_away_stays),
        CASE(a_device_that_cannot_be_stopped_is_cut_off),
        CASE(a_start_without_its_call_backs_is_refused),
        CASE(nothing_goes_to_a_device_that_is_not_started),
    };

    printf("miniport: real\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
