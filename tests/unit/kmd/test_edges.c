// SPDX-License-Identifier: Apache-2.0
// What the miniport just still takes, and what it just does not.
#include "device/device_state.h"
#include "kmd/internal.h"
#include "rig.h"

#include <stdio.h>

static struct ferry_gpu_memory commands;
static HANDLE allocation;

static void begin(struct rig *rig)
{
    allocation = make_allocation(rig, 8192, false);
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 8192, 0, &commands), FERRY_OK);
}

static void end(struct rig *rig)
{
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
}

static void run(struct rig *rig)
{
    for (unsigned i = 0; i < 5; i++)
        ferry_gpu_run(rig->gpu, 10000);
    rig->kmd->DxgkDdiInterruptRoutine(rig->adapter, 0);
}

static void fault(struct rig *rig, uint32_t fence)
{
    submit_user(rig, &commands, allocation, LOCAL_BYTES, fence);
    wait_for(rig, 2, fence);
    rig->note_count = 0;
}

// Some of them are taken before there are so many that the list grows.
static void faults_come_in_order_however_many_wait(void **state)
{
    struct rig *rig = *state;
    struct ferry_fault taken;
    uint32_t fence = 0, next = 1;

    begin(rig);
    while (fence < 40)
        fault(rig, ++fence);
    for (; next <= 20; next++) {
        assert_true(ferry_kmd_next_fault(rig->adapter, &taken));
        assert_int_equal(taken.fence_value, next);
    }
    while (fence < 100)
        fault(rig, ++fence);
    for (; next <= 100; next++) {
        assert_true(ferry_kmd_next_fault(rig->adapter, &taken));
        assert_int_equal(taken.fence_value, next);
    }
    assert_false(ferry_kmd_next_fault(rig->adapter, &taken));
    end(rig);
}

static void a_buffer_may_fill_its_command_slot(void **state)
{
    struct rig *rig = *state;
    DXGKARG_SUBMITCOMMAND submit = {.hContext = rig->user_context,
                                    .DmaBufferSize = 8192,
                                    .DmaBufferSubmissionEndOffset = 4096,
                                    .SubmissionFenceId = 5,
                                    .NodeOrdinal = 2};

    begin(rig);
    for (uint32_t at = 0; at < 8192; at += 8)
        ((uint32_t *)commands.address)[at / 4] = FERRY_OPCODE_NOP | 2u << 16;
    submit.DmaBufferPhysicalAddress.QuadPart = (int64_t)commands.bus;
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_SUCCESS);
    wait_for(rig, 2, 5);
    assert_int_equal(ferry_kmd_faults(rig->adapter), 0);
    submit.DmaBufferSubmissionEndOffset = 4104;
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_INVALID_PARAMETER);
    end(rig);
}

// Of an allocation with instances beside each other one is none of the other's business.
static void an_allocation_is_busy_to_its_last_byte(void **state)
{
    struct rig *rig = *state;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};

    begin(rig);
    ferry_model_hang(rig->model);
    submit_user(rig, &commands, allocation, 0x4000, 5);
    assert_false(kmd_allocation_is_busy(rig->adapter, allocation, 0x3fff));
    assert_true(kmd_allocation_is_busy(rig->adapter, allocation, 0x4000));
    assert_true(kmd_allocation_is_busy(rig->adapter, allocation, 0x5fff));
    assert_false(kmd_allocation_is_busy(rig->adapter, allocation, 0x6000));
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    end(rig);
}

// In its place: there is memory, or none.
static bool no_memory;
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
    return no_memory ? NULL : __real_realloc(memory, bytes);
}

static void a_place_without_memory_may_be_any_place(void **state)
{
    struct rig *rig = *state;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};

    begin(rig);
    ferry_model_hang(rig->model);
    submit_user(rig, &commands, allocation, 0x4000, 5);
    no_memory = true;
    submit_user(rig, &commands, allocation, 0x8000, 6);
    no_memory = false;
    assert_true(kmd_allocation_is_busy(rig->adapter, allocation, 0x8000));
    assert_true(kmd_allocation_is_busy(rig->adapter, allocation, 0x20000));
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_false(kmd_allocation_is_busy(rig->adapter, allocation, 0x20000));
    // Once it is over each place is itself again.
    ferry_model_hang(rig->model);
    submit_user(rig, &commands, allocation, 0x4000, 7);
    assert_true(kmd_allocation_is_busy(rig->adapter, allocation, 0x4000));
    assert_false(kmd_allocation_is_busy(rig->adapter, allocation, 0x20000));
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    end(rig);
}

static void what_is_notified_may_lie_at_the_end(void **state)
{
    struct rig *rig = *state;

    for (unsigned aperture = 0; aperture < 2; aperture++) {
        struct ferry_allocation_private wish = {.Version = FERRY_ALLOCATION_PRIVATE_VERSION,
                                                .Size = sizeof wish,
                                                .Bytes = 8192,
                                                .Aperture = aperture,
                                                .Flags = DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION};
        DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish};
        DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};
        const uint64_t bytes = aperture ? APERTURE_PAGES * 4096 : LOCAL_BYTES;

        assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_SUCCESS);
        for (uint64_t at = bytes - 12288; at <= bytes; at += 4096) {
            DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_NOTIFY_RESIDENCY);
            a.NotifyResidency.hAllocation = info.hAllocation;
            a.NotifyResidency.Resident = 1;
            a.NotifyResidency.PhysicalAddress.SegmentId = aperture ? 2 : 1;
            a.NotifyResidency.PhysicalAddress.SegmentOffset = at;
            assert_int_equal(append(rig, &a), at <= bytes - 8192 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER);
        }
        destroy_allocation(rig, info.hAllocation);
    }
}

// Of a move that takes several packets none may write what a later one reads. One that ends where it began does not.
static void a_long_move_may_go_right_behind_itself(void **state)
{
    struct rig *rig = *state;
    const uint64_t bytes = UINT64_C(1) << 32;

    for (uint64_t distance = bytes - 4096; distance <= bytes; distance += 4096) {
        DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);
        a.Transfer.TransferSize = bytes;
        a.Transfer.Source.SegmentId = a.Transfer.Destination.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
        a.Transfer.Destination.SegmentAddress.QuadPart = (int64_t)distance;
        assert_int_equal(append(rig, &a), distance < bytes ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
    }
}

static void a_device_that_runs_is_not_started(void **state)
{
    struct rig *rig = *state;
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};

    begin(rig);
    submit_user(rig, &commands, allocation, 0, 5);
    assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_INVALID_PARAMETER);
    wait_for(rig, 2, 5);
    assert_int_equal(rig->notes[0].type, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(rig->notes[0].fence, 5);
    end(rig);
}

// What stands behind the list is nobody's allocation.
static void a_patch_names_an_allocation_of_its_list(void **state)
{
    struct rig *rig = *state;
    uint32_t packet[8] = {FERRY_OPCODE_COPY | 8 << 16, 0, 64};

    begin(rig);
    DXGK_ALLOCATIONLIST list[2];
    for (unsigned i = 0; i < 2; i++)
        list[i] = (DXGK_ALLOCATIONLIST){
            .hDeviceSpecificAllocation = allocation, .SegmentId = FERRY_KMD_SEGMENT_LOCAL, .WriteOperation = 1};
    for (unsigned index = 0; index < 2; index++) {
        D3DDDI_PATCHLOCATIONLIST location = {.AllocationIndex = index,
                                             .DriverId = FERRY_KMD_PATCH_ID(0, FERRY_KMD_PATCH_SOURCE),
                                             .PatchOffset = FERRY_PACKET_COPY_SOURCE};
        DXGKARG_PATCH patch = {.hContext = rig->user_context,
                               .pDmaBuffer = commands.address,
                               .DmaBufferSize = 4096,
                               .DmaBufferSubmissionEndOffset = 32,
                               .pAllocationList = list,
                               .AllocationListSize = 1,
                               .pPatchLocationList = &location,
                               .PatchLocationListSize = 1,
                               .PatchLocationListSubmissionLength = 1,
                               .NodeOrdinal = 2};
        memcpy(commands.address, packet, sizeof packet);
        assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch),
                         index ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
    }
    end(rig);
}

// The manager gives up what was under way: nobody waits to hear of it, and its numbers may come again.
static void what_a_reset_from_timeout_ends_is_told_of_no_more(void **state)
{
    struct rig *rig = *state;

    begin(rig);
    ferry_model_hang(rig->model);
    submit_user(rig, &commands, allocation, 0, 5);
    run(rig);
    assert_int_equal(rig->kmd->DxgkDdiResetFromTimeout(rig->adapter), STATUS_SUCCESS);
    run(rig);
    assert_int_equal(rig->note_count, 0);
    submit_user(rig, &commands, allocation, 0, 6);
    wait_for(rig, 2, 6);
    assert_int_equal(rig->note_count, 1);
    assert_int_equal(rig->notes[0].type, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(rig->notes[0].fence, 6);
    end(rig);
}

// The oldest has faulted, and no interrupt has come for as many entries as the ring has.
static void what_nobody_has_looked_at_is_not_forgotten(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 8192, false);
    struct ferry_gpu_memory commands;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    ferry_gpu_set_interrupt(rig->gpu, NULL, NULL);
    for (uint32_t fence = 1; fence <= KMD_RING_ENTRIES + 1; fence++) {
        submit_user(rig, &commands, allocation, fence == 1 ? LOCAL_BYTES : 0, fence);
        assert_int_equal(ferry_gpu_wait_retired(rig->gpu, 2, fence, 0), FERRY_OK);
    }
    rig->kmd->DxgkDdiInterruptRoutine(rig->adapter, 0);
    assert_int_equal(rig->notes[0].type, DXGK_INTERRUPT_DMA_FAULTED);
    assert_int_equal(rig->notes[0].fence, 1);
    assert_int_equal(rig->notes[rig->note_count - 1].type, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(rig->notes[rig->note_count - 1].fence, KMD_RING_ENTRIES + 1);
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
}

static HANDLE make_flagged(struct rig *rig, uint64_t bytes, UINT flags)
{
    struct ferry_allocation_private wish = {
        .Version = FERRY_ALLOCATION_PRIVATE_VERSION, .Size = sizeof wish, .Bytes = bytes, .Flags = flags};
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};

    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_SUCCESS);
    return info.hAllocation;
}

static void R174_a_notification_is_taken_for_what_asked_for_it_and_writes_nothing(void **state)
{
    struct rig *rig = *state;
    struct kmd_adapter *inside = rig->adapter;
    HANDLE told = make_flagged(rig, 8192, DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION);
    HANDLE silent = make_flagged(rig, 8192, 0);
    const struct {
        HANDLE allocation;
        UINT resident, segment;
        uint64_t offset;
        NTSTATUS status;
    } cases[] = {
        {told, 1, 1, 0x3000, STATUS_SUCCESS},
        {told, 1, FERRY_KMD_SEGMENT_APERTURE, 0x3000, STATUS_SUCCESS},
        {told, 0, 0, 0, STATUS_SUCCESS},
        {told, 0, 1, 0x3000, STATUS_INVALID_PARAMETER},
        {told, 1, 1, LOCAL_BYTES - 4096, STATUS_INVALID_PARAMETER},
        {told, 1, 7, 0, STATUS_INVALID_PARAMETER},
        {silent, 0, 0, 0, STATUS_INVALID_PARAMETER},
        {NULL, 0, 0, 0, STATUS_INVALID_PARAMETER},
    };
    uint64_t buffer[512];

    // Twice, the second time in the largest aperture that there is, 4 GiB.
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof cases[0]); i++) {
        size_t n = i % (sizeof cases / sizeof cases[0]);
        DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, buffer, sizeof buffer, DXGK_OPERATION_NOTIFY_RESIDENCY);
        a.NotifyResidency.hAllocation = cases[n].allocation;
        a.NotifyResidency.Resident = cases[n].resident & 1;
        a.NotifyResidency.PhysicalAddress.SegmentId = cases[n].segment;
        a.NotifyResidency.PhysicalAddress.SegmentOffset = cases[n].offset;
        inside->info.aperture_pages = i == n ? APERTURE_PAGES : 1u << 20;
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), cases[n].status);
        assert_ptr_equal(a.pDmaBuffer, buffer);
    }
    inside->info.aperture_pages = APERTURE_PAGES;
    destroy_allocation(rig, told);
    destroy_allocation(rig, silent);
}

// Each flag that nothing is known of, one by one; the same without it is built.
static void flags_that_are_reserved_are_refused(void **state)
{
    struct rig *rig = *state;
    HANDLE moved = make_flagged(rig, 4096, 0);
    uint64_t pfn[1] = {9}, buffer[512];
    MDL mdl = {.PageCount = 1, .ByteCount = 4096, .Pfn = pfn};

    for (unsigned bit = 0; bit <= 32; bit++) {
        UINT flag = bit < 32 ? 1u << bit : 0;
        DXGKARG_BUILDPAGINGBUFFER asked[3];
        const UINT known[] = {DXGK_TRANSFER_RESERVED_MASK ^ UINT32_MAX, DXGK_DISCARD_ALLOCATION_IS_IDLE,
                              DXGK_MAP_APERTURE_CACHE_COHERENT};
        asked[0] = arguments(rig, buffer, sizeof buffer, DXGK_OPERATION_TRANSFER);
        transfer_arguments(&asked[0], moved, &mdl, true, 0x4000, 4096);
        asked[0].Transfer.Flags.Value = flag;
        asked[1] = arguments(rig, buffer, sizeof buffer, DXGK_OPERATION_DISCARD_CONTENT);
        asked[1].DiscardContent.hAllocation = moved;
        asked[1].DiscardContent.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
        asked[1].DiscardContent.Flags.Value = flag;
        asked[2] = arguments(rig, buffer, sizeof buffer, DXGK_OPERATION_MAP_APERTURE_SEGMENT);
        asked[2].MapApertureSegment.SegmentId = FERRY_KMD_SEGMENT_APERTURE;
        asked[2].MapApertureSegment.NumberOfPages = 1;
        asked[2].MapApertureSegment.pMdl = &mdl;
        asked[2].MapApertureSegment.Flags.Value = flag;
        for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
            // What can be rearranged into tiles is tiled (kmd_build_tiles).
            if (i == 0 && (flag & (DXGK_TRANSFER_SWIZZLE | DXGK_TRANSFER_UNSWIZZLE)))
                continue;
            NTSTATUS status = rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &asked[i]);
            assert_int_equal(status, flag & ~known[i] ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
            assert_int_equal(asked[i].pDmaBuffer == (void *)buffer, status != STATUS_SUCCESS);
        }
    }
    destroy_allocation(rig, moved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_nobody_has_looked_at_is_not_forgotten),
        CASE(faults_come_in_order_however_many_wait),
        CASE(a_buffer_may_fill_its_command_slot),
        CASE(an_allocation_is_busy_to_its_last_byte),
        CASE(what_is_notified_may_lie_at_the_end),
        CASE(a_long_move_may_go_right_behind_itself),
        CASE(a_device_that_runs_is_not_started),
        CASE(a_patch_names_an_allocation_of_its_list),
        CASE(what_a_reset_from_timeout_ends_is_told_of_no_more),
        CASE(a_place_without_memory_may_be_any_place),
        CASE(R174_a_notification_is_taken_for_what_asked_for_it_and_writes_nothing),
        CASE(flags_that_are_reserved_are_refused),
    };

    printf("miniport: real\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
