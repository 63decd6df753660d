// SPDX-License-Identifier: Apache-2.0
// The miniport as the manager meets it: buffers run on the reference model, notifications counted.
#include "device/device_state.h"
#include "kmd/internal.h"
#include "rig.h"

#include <stdio.h>

static void R28_content_travels_there_and_back(void **state)
{
    struct rig *rig = *state;
    struct host_pages from, to;
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);

    pages_make(rig, &from, 10);
    pages_make(rig, &to, 10);
    for (int i = 0; i < 40960; i++)
        ((uint8_t *)from.memory)[i] = (uint8_t)(i * 31 + i / 4096);
    transfer_arguments(&a, NULL, &from.mdl, true, 0x10000, 40960);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    transfer_arguments(&a, NULL, &to.mdl, false, 0x10000, 40000);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 1);
    wait_for(rig, 0, 1);
    assert_memory_equal(ferry_model_local(rig->model) + 0x10000, from.memory, 40960);
    assert_memory_equal(to.memory, from.memory, 40000);
    assert_int_equal(((uint8_t *)to.memory)[40000], 0);
    assert_int_equal(rig->note_count, 1);
    assert_int_equal(rig->notes[0].type, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(rig->notes[0].fence, 1);
    assert_int_equal(rig->notes[0].node, 0);
    assert_int_equal(rig->queued, 1);
    assert_int_equal(rig->dpcs, 0);
    rig->kmd->DxgkDdiDpcRoutine(rig->adapter);
    assert_int_equal(rig->dpcs, 1);
    pages_free(rig, &from);
    pages_free(rig, &to);
}

// The operation names no size: a read ends where the 8 bytes that it stands in do, so it never leaves its page.
static void a_physical_read_ends_with_its_8_bytes(void **state)
{
    struct rig *rig = *state;

    for (uint32_t address = 0; address < 16; address++) {
        DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_READ_PHYSICAL);
        const uint32_t *words = rig->buffer.address;

        a.ReadPhysical.SegmentId = 1;
        a.ReadPhysical.PhysicalAddress.QuadPart = LOCAL_BYTES - 16 + address;
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        assert_int_equal(words[2], 8 - address % 8);
        assert_int_equal(words[4], LOCAL_BYTES - 16 + address);
    }
}

static void nothing_is_mapped_behind_the_aperture(void **state)
{
    struct rig *rig = *state;
    const SIZE_T cases[][2] = {
        {APERTURE_PAGES, 1}, {APERTURE_PAGES + 1, 1}, {APERTURE_PAGES - 1, 2}, {1, APERTURE_PAGES}};
    struct host_pages pages;

    pages_make(rig, &pages, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);

        a.UnmapApertureSegment.SegmentId = 2;
        a.UnmapApertureSegment.OffsetInPages = cases[i][0];
        a.UnmapApertureSegment.NumberOfPages = cases[i][1];
        assert_int_equal(append(rig, &a), STATUS_INVALID_PARAMETER);
        a.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT;
        memset(&a.MapApertureSegment, 0, sizeof a.MapApertureSegment);
        a.MapApertureSegment.SegmentId = 2;
        a.MapApertureSegment.OffsetInPages = cases[i][0];
        a.MapApertureSegment.NumberOfPages = cases[i][1];
        a.MapApertureSegment.pMdl = &pages.mdl;
        assert_int_equal(append(rig, &a), STATUS_INVALID_PARAMETER);
        assert_ptr_equal(a.pDmaBuffer, rig->buffer.address);
    }
    pages_free(rig, &pages);
}

static void R5_R38_R42_R253_busy_until_the_user_job_is_done_or_said_idle(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 8192, false), other = make_allocation(rig, 8192, false);
    struct ferry_gpu_memory commands;
    struct host_pages pages;
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);

    pages_make(rig, &pages, 2);
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    memset(ferry_model_local(rig->model) + 0x4000 + 128, 0x77, 64);
    submit_user(rig, &commands, allocation, 0x4000, 9);

    transfer_arguments(&a, allocation, &pages.mdl, false, 0x4000, 8192);
    DXGKARG_BUILDPAGINGBUFFER before = a;
    assert_int_equal(append(rig, &a), STATUS_GRAPHICS_ALLOCATION_BUSY);
    assert_memory_equal(&before, &a, sizeof a); // R5: nothing has begun.
    a.Operation = DXGK_OPERATION_DISCARD_CONTENT;
    memset(&a.DiscardContent, 0, sizeof a.DiscardContent);
    a.DiscardContent.hAllocation = allocation;
    a.DiscardContent.SegmentId = 1;
    a.DiscardContent.SegmentAddress.QuadPart = 0x4000;
    assert_int_equal(append(rig, &a), STATUS_GRAPHICS_ALLOCATION_BUSY); // R51
    // What takes the place that the job works on waits as well.
    transfer_arguments(&a, allocation, &pages.mdl, true, 0x4000, 8192);
    assert_int_equal(append(rig, &a), STATUS_GRAPHICS_ALLOCATION_BUSY);
    // In its middle, as the second half of a transfer has it; and where another instance of it is.
    transfer_arguments(&a, allocation, &pages.mdl, false, 0x5000, 4096);
    assert_int_equal(append(rig, &a), STATUS_GRAPHICS_ALLOCATION_BUSY);
    transfer_arguments(&a, allocation, &pages.mdl, false, 0x8000, 8192);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    transfer_arguments(&a, other, &pages.mdl, false, 0x8000, 8192);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    transfer_arguments(&a, allocation, &pages.mdl, false, 0x4000, 8192);
    a.Transfer.Flags.AllocationIsIdle = 1;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    wait_for(rig, 2, 9);
    transfer_arguments(&a, allocation, &pages.mdl, false, 0x4000, 8192);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    assert_int_equal(ferry_model_local(rig->model)[0x4000], 0x77);
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
    destroy_allocation(rig, other);
    pages_free(rig, &pages);
}

static void a_fault_is_told_with_its_fence_and_the_ring_goes_on(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 8192, false);
    struct ferry_gpu_memory commands;
    struct ferry_fault fault;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    submit_user(rig, &commands, allocation, LOCAL_BYTES, 5);
    wait_for(rig, 2, 5);
    submit_user(rig, &commands, allocation, 0, 6);
    wait_for(rig, 2, 6);
    assert_int_equal(rig->note_count, 2);
    assert_int_equal(rig->notes[0].type, DXGK_INTERRUPT_DMA_FAULTED);
    assert_int_equal(rig->notes[0].fence, 5);
    assert_int_equal(rig->notes[0].node, 2);
    assert_int_equal(rig->notes[1].type, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(rig->notes[1].fence, 6);
    assert_int_equal(ferry_kmd_faults(rig->adapter), 1);
    assert_true(ferry_kmd_next_fault(rig->adapter, &fault));
    assert_int_equal(fault.kind, 5); // RANGE
    assert_int_equal(fault.address, LOCAL_BYTES + 128);
    assert_int_equal(fault.fence_value, 5);
    assert_int_equal(fault.ring, 2);
    assert_false(ferry_kmd_next_fault(rig->adapter, &fault));
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
}

// Many faults that nobody asks about take no more and more memory: the newest are there, and what is missing shows.
static void of_faults_that_nobody_takes_the_newest_are_kept(void **state)
{
    struct rig *rig = *state;
    const unsigned more = 50;
    HANDLE allocation = make_allocation(rig, 8192, false);
    struct ferry_gpu_memory commands;
    struct ferry_fault fault;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    for (uint32_t fence = 1; fence <= FERRY_KMD_FAULTS_KEPT + more; fence++) {
        submit_user(rig, &commands, allocation, LOCAL_BYTES, fence);
        wait_for(rig, 2, fence);
        rig->note_count = 0;
    }
    assert_int_equal(ferry_kmd_faults(rig->adapter), FERRY_KMD_FAULTS_KEPT + more);
    for (uint32_t fence = more + 1; fence <= FERRY_KMD_FAULTS_KEPT + more; fence++) {
        assert_true(ferry_kmd_next_fault(rig->adapter, &fault));
        assert_int_equal(fault.fence_value, fence);
        assert_int_equal(fault.sequence, fence);
    }
    assert_false(ferry_kmd_next_fault(rig->adapter, &fault));
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
}

// What never ran is not told as done: the device knows nothing of the entry, not even its fence.
static void a_job_whose_ring_entry_could_not_be_read_is_a_fault_of_its_fence(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 8192, false);
    struct ferry_gpu_memory commands;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    assert_int_equal(ferry_gpu_inject(rig->gpu, FERRY_INJECT_ABORT_COMPLETION, 1), FERRY_OK);
    submit_user(rig, &commands, allocation, 0, 5);
    wait_for(rig, 2, 5);
    assert_int_equal(rig->note_count, 1);
    assert_int_equal(rig->notes[0].type, DXGK_INTERRUPT_DMA_FAULTED);
    assert_int_equal(rig->notes[0].fence, 5);
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
}

static void preemption_is_answered_at_the_end_of_the_ring(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 8192, false);
    struct ferry_gpu_memory commands;
    DXGKARG_PREEMPTCOMMAND preempt = {.PreemptionFenceId = 100, .NodeOrdinal = 2};

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    submit_user(rig, &commands, allocation, 0, 1);
    submit_user(rig, &commands, allocation, 0, 2);
    assert_int_equal(rig->kmd->DxgkDdiPreemptCommand(rig->adapter, &preempt), STATUS_SUCCESS);
    assert_int_equal(rig->note_count, 0);
    wait_for(rig, 2, 2);
    rig->kmd->DxgkDdiInterruptRoutine(rig->adapter, 0);
    const struct note *last = &rig->notes[rig->note_count - 1];
    assert_int_equal(last->type, DXGK_INTERRUPT_DMA_PREEMPTED);
    assert_int_equal(last->fence, 100);
    assert_int_equal(last->last, 2);
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
}

static void R69_R73_pages_are_mapped_and_unmapped(void **state)
{
    struct rig *rig = *state;
    struct host_pages pages;
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_MAP_APERTURE_SEGMENT);

    pages_make(rig, &pages, 8);
    a.MapApertureSegment.SegmentId = 2;
    a.MapApertureSegment.OffsetInPages = 100;
    a.MapApertureSegment.NumberOfPages = 5;
    a.MapApertureSegment.pMdl = &pages.mdl;
    a.MapApertureSegment.MdlOffset = 2;
    a.MapApertureSegment.Flags.CacheCoherent = 1;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 1);
    wait_for(rig, 0, 1);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(ferry_model_aperture_entry(rig->model, 100 + i), pages.pfn[2 + i] << 12 | 3);
    a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);
    a.UnmapApertureSegment.SegmentId = 2;
    a.UnmapApertureSegment.OffsetInPages = 101;
    a.UnmapApertureSegment.NumberOfPages = 2;
    a.UnmapApertureSegment.DummyPage.QuadPart = (int64_t)(pages.pfn[7] << 12);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 2);
    wait_for(rig, 0, 2);
    assert_int_equal(ferry_model_aperture_entry(rig->model, 100), pages.pfn[2] << 12 | 3);
    assert_int_equal(ferry_model_aperture_entry(rig->model, 101), pages.pfn[7] << 12 | 1);
    assert_int_equal(ferry_model_aperture_entry(rig->model, 102), pages.pfn[7] << 12 | 1);
    assert_int_equal(ferry_model_aperture_entry(rig->model, 103), pages.pfn[5] << 12 | 3);
    pages_free(rig, &pages);
}

static void a_monitored_fence_is_written_behind_the_operations(void **state)
{
    struct rig *rig = *state;
    struct host_pages pages;
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_SIGNAL_MONITORED_FENCE);
    uint64_t value;

    pages_make(rig, &pages, 1);
    a.SignalMonitoredFence.MonitoredFenceGpuVa = (pages.pfn[0] << 12) + 24;
    a.SignalMonitoredFence.MonitoredFenceValue = 0x123456789abcdef0;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 1);
    wait_for(rig, 0, 1);
    memcpy(&value, (uint8_t *)pages.memory + 24, 8);
    assert_true(value == 0x123456789abcdef0);
    pages_free(rig, &pages);
}

static void patch_refuses_what_it_did_not_build(void **state)
{
    struct rig *rig = *state;
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_FILL);
    DXGKARG_PATCH patch = {.pDmaBuffer = rig->buffer.address,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionEndOffset = 32,
                           .pDmaBufferPrivateData = rig->private_data,
                           .DmaBufferPrivateDataSize = 4096,
                           .DmaBufferPrivateDataSubmissionEndOffset = 16,
                           .Flags.Paging = 1};

    a.Fill.FillSize = 4096;
    a.Fill.Destination.SegmentId = 1;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_SUCCESS);
    patch.DmaBufferSubmissionEndOffset = 40;
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_INVALID_PARAMETER);
    patch.DmaBufferSubmissionEndOffset = 24;
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_INVALID_PARAMETER);
    patch.DmaBufferSubmissionEndOffset = 32;
    patch.AllocationListSize = 1; // R15
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_INVALID_PARAMETER);
    patch.AllocationListSize = 0;
    // A packet of one operation does not reach into the next one's.
    struct ferry_kmd_paging_record second = {.Operation = DXGK_OPERATION_FILL, .Offset = 32, .Bytes = 32};
    memcpy((uint8_t *)rig->buffer.address + 32, rig->buffer.address, 32);
    memcpy((uint8_t *)rig->private_data + sizeof second, &second, sizeof second);
    patch.DmaBufferSubmissionEndOffset = 64;
    patch.DmaBufferPrivateDataSubmissionEndOffset = 2 * sizeof second;
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_SUCCESS);
    uint32_t *header = rig->buffer.address, whole = *header;
    *header = (whole & ~FERRY_PACKET_HEADER_WORDS_MASK) | FERRY_PUT(FERRY_PACKET_HEADER_WORDS, 16u);
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_INVALID_PARAMETER);
    *header = whole;
    patch.DmaBufferSubmissionEndOffset = 32;
    patch.DmaBufferPrivateDataSubmissionEndOffset = 8;
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_INVALID_PARAMETER);
}

// So many entries of the ring have ended, of those that were submitted up to `newest`.
static void set_retired(struct rig *rig, struct ferry_fence_record *record, uint32_t retired, uint32_t newest)
{
    rig->gpu->ring[2].produced = newest;
    rig->gpu->ring[2].retired = record->retired = retired;
}

// As if so many jobs of others had ended since: what no job has named for long is idle, and stays so.
static void what_was_idle_for_long_stays_idle(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 8192, false);
    struct ferry_gpu_memory commands;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    submit_user(rig, &commands, allocation, 0, 20);
    wait_for(rig, 2, 20);
    assert_false(kmd_allocation_is_busy(rig->adapter, allocation, 0));
    struct ferry_fence_record *record = rig->gpu->records.address;
    record = (struct ferry_fence_record *)((char *)record + 2 * FERRY_GPU_RECORD_STRIDE);
    const uint32_t was = record->retired;
    for (uint32_t n = 0; n < 32; n++) {
        set_retired(rig, record, was + 1 + n * 0x08000000, was + 1 + n * 0x08000000);
        assert_false(kmd_allocation_is_busy(rig->adapter, allocation, 0));
    }
    // Of a full ring's newest job it is busy.
    set_retired(rig, record, was - KMD_RING_ENTRIES, was);
    assert_true(kmd_allocation_is_busy(rig->adapter, allocation, 0));
    set_retired(rig, record, was, was);
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(R28_content_travels_there_and_back),
        CASE(a_physical_read_ends_with_its_8_bytes),
        CASE(nothing_is_mapped_behind_the_aperture),
        CASE(what_was_idle_for_long_stays_idle),
        CASE(R5_R38_R42_R253_busy_until_the_user_job_is_done_or_said_idle),
        CASE(a_fault_is_told_with_its_fence_and_the_ring_goes_on),
        CASE(of_faults_that_nobody_takes_the_newest_are_kept),
        CASE(a_job_whose_ring_entry_could_not_be_read_is_a_fault_of_its_fence),
        CASE(preemption_is_answered_at_the_end_of_the_ring),
        CASE(R69_R73_pages_are_mapped_and_unmapped),
        CASE(a_monitored_fence_is_written_behind_the_operations),
        CASE(patch_refuses_what_it_did_not_build),
    };

    printf("miniport: real\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
