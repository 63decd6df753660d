// SPDX-License-Identifier: Apache-2.0
// Swizzling ranges of the miniport, with the test in the manager's place: what is shown where, and what is refused.
#include "device/device.h"
#include "rig.h"

#define PLACE 0x40000u

static const struct ferry_tiling_private tiling = {4096, 4, 64, 64, 2}; // four tiles, and one

static HANDLE make_tiled(struct rig *rig)
{
    struct ferry_allocation_private wish = {.Version = FERRY_ALLOCATION_PRIVATE_VERSION,
                                            .Size = sizeof wish,
                                            .Bytes = 5 * 4096,
                                            .Flags = 1,
                                            .Tiling = tiling};
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};

    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_SUCCESS);
    return info.hAllocation;
}

// Built, and not run: the miniport goes by what it has built.
static void fill_at(struct rig *rig, HANDLE allocation, uint64_t place)
{
    DXGKARG_BUILDPAGINGBUFFER build = {.pDmaBuffer = rig->buffer.address,
                                       .DmaSize = 4096,
                                       .pDmaBufferPrivateData = rig->private_data,
                                       .DmaBufferPrivateDataSize = sizeof rig->private_data,
                                       .Operation = DXGK_OPERATION_FILL};

    build.Fill.hAllocation = allocation;
    build.Fill.FillSize = 5 * 4096;
    build.Fill.Destination.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
    build.Fill.Destination.SegmentAddress.QuadPart = (int64_t)place;
    assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &build), STATUS_SUCCESS);
}

static DXGKARG_ACQUIRESWIZZLINGRANGE wanted(HANDLE allocation, UINT range, UINT level)
{
    return (DXGKARG_ACQUIRESWIZZLINGRANGE){.hAllocation = allocation,
                                           .PrivateDriverData = level,
                                           .RangeId = range,
                                           .SegmentId = FERRY_KMD_SEGMENT_LOCAL,
                                           .RangeSize = 5 * 4096};
}

static NTSTATUS acquire(struct rig *rig, DXGKARG_ACQUIRESWIZZLINGRANGE arguments)
{
    return rig->kmd->DxgkDdiAcquireSwizzlingRange(rig->adapter, &arguments);
}

static NTSTATUS release(struct rig *rig, HANDLE allocation, UINT range, UINT level)
{
    DXGKARG_RELEASESWIZZLINGRANGE arguments = {.hAllocation = allocation, .PrivateDriverData = level, .RangeId = range};
    return rig->kmd->DxgkDdiReleaseSwizzlingRange(rig->adapter, &arguments);
}

static unsigned ranges_of(struct rig *rig)
{
    DXGK_DRIVERCAPS caps;
    DXGKARG_QUERYADAPTERINFO query = {
        .Type = DXGKQAITYPE_DRIVERCAPS, .pOutputData = &caps, .OutputDataSize = sizeof caps};
    assert_int_equal(rig->kmd->DxgkDdiQueryAdapterInfo(rig->adapter, &query), STATUS_SUCCESS);
    return caps.NumberOfSwizzlingRanges;
}

// The second level behind the first, by rows and by tiles: both have one byte in common with what the tiles hold.
static void a_level_is_shown_where_the_allocation_was_built_to_be(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_tiled(rig);
    uint8_t tile[4096], rows[4096];

    assert_int_equal(ranges_of(rig), 4);
    for (unsigned i = 0; i < sizeof tile; i++)
        tile[i] = (uint8_t)(i % 251);
    fill_at(rig, allocation, 0x10000);
    fill_at(rig, allocation, PLACE);
    assert_int_equal(ferry_gpu_window_write(rig->gpu, PLACE + 4 * 4096, tile, sizeof tile), FERRY_OK);
    DXGKARG_ACQUIRESWIZZLINGRANGE arguments = wanted(allocation, 3, 1);
    assert_int_equal(rig->kmd->DxgkDdiAcquireSwizzlingRange(rig->adapter, &arguments), STATUS_SUCCESS);
    assert_int_equal(arguments.RangeSize, 5 * 4096);
    uint64_t address = (uint64_t)arguments.CPUTranslatedAddress.QuadPart;
    assert_int_equal(address, LOCAL_BYTES + PLACE);
    // Elements of 4 bytes, a tile of 32 by 32 (docs/manual/tiling.md, standard swizzle 2).
    assert_int_equal(ferry_gpu_rows_read(rig->gpu, address + 4 * 4096, rows, sizeof rows), FERRY_OK);
    for (unsigned i = 0; i < sizeof rows; i++) {
        unsigned x = i % 128, y = i / 128;
        unsigned place = (x & 15) | (y & 7) << 4 | (x >> 4 & 1) << 7 | (y >> 3 & 1) << 8 | (x >> 5 & 1) << 9 |
                         (y >> 4 & 1) << 10 | (x >> 6 & 1) << 11;
        assert_int_equal(rows[i], tile[place]);
    }
    assert_int_equal(ferry_gpu_rows_read(rig->gpu, address + 4 * 4096 - 1, rows, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_gpu_rows_read(rig->gpu, address + 5 * 4096, rows, 1), FERRY_ERROR_RANGE);
    // Up to its end, and no byte further.
    assert_int_equal(ferry_gpu_rows_read(rig->gpu, address + 5 * 4096 - 8, rows, 8), FERRY_OK);
    assert_int_equal(ferry_gpu_rows_read(rig->gpu, address + 5 * 4096 - 8, rows, 9), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_gpu_rows_write(rig->gpu, address + 4 * 4096 + 1, rows, sizeof rows), FERRY_ERROR_RANGE);
    // A range that shows something shows nothing else, wherever that is.
    const struct ferry_gpu_view elsewhere = {
        .base = 0x10000, .bytes = 4096, .row_bytes = 128, .swizzle = 2, .is_small = true};
    assert_int_equal(ferry_gpu_view_show(rig->gpu, 3, &elsewhere), FERRY_ERROR_BUSY);
    assert_int_equal(ferry_gpu_rows_read(rig->gpu, PLACE, rows, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_gpu_rows_write(rig->gpu, address + 4 * 4096, rows, SIZE_MAX), FERRY_ERROR_RANGE);
    assert_int_equal(release(rig, allocation, 3, 1), STATUS_SUCCESS);
    assert_int_equal(ferry_gpu_rows_read(rig->gpu, address + 4 * 4096, rows, 1), FERRY_ERROR_RANGE);
    destroy_allocation(rig, allocation);
}

static void what_no_manager_may_ask_for_is_refused_by_name(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_tiled(rig), other = make_tiled(rig), linear = make_allocation(rig, 5 * 4096, false);
    DXGKARG_ACQUIRESWIZZLINGRANGE bad = wanted(allocation, 0, 0);

    // It is nowhere yet.
    assert_int_equal(acquire(rig, bad), STATUS_INVALID_PARAMETER);
    fill_at(rig, allocation, PLACE);
    fill_at(rig, other, PLACE + 0x10000);
    fill_at(rig, linear, PLACE + 0x20000);
    assert_int_equal(acquire(rig, wanted(linear, 0, 0)), STATUS_INVALID_PARAMETER);
    assert_int_equal(acquire(rig, wanted(NULL, 0, 0)), STATUS_INVALID_PARAMETER);
    assert_int_equal(acquire(rig, wanted(allocation, 4, 0)), STATUS_INVALID_PARAMETER);
    bad.SegmentId = FERRY_KMD_SEGMENT_APERTURE;
    assert_int_equal(acquire(rig, bad), STATUS_INVALID_PARAMETER);
    bad = wanted(allocation, 0, 0);
    bad.RangeSize = 4 * 4096;
    assert_int_equal(acquire(rig, bad), STATUS_INVALID_PARAMETER);
    // The level comes from the program: no range can show it.
    assert_int_equal(acquire(rig, wanted(allocation, 0, 2)), STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED);
    assert_int_equal(release(rig, allocation, 0, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(acquire(rig, wanted(allocation, 0, 0)), STATUS_SUCCESS);
    assert_int_equal(acquire(rig, wanted(other, 0, 0)), STATUS_INVALID_PARAMETER);
    // Its tiles are in a range already; another level's are not.
    assert_int_equal(acquire(rig, wanted(allocation, 1, 0)), STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE);
    assert_int_equal(acquire(rig, wanted(allocation, 1, 1)), STATUS_SUCCESS);
    assert_int_equal(release(rig, other, 0, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(release(rig, allocation, 0, 1), STATUS_INVALID_PARAMETER);
    assert_int_equal(release(rig, allocation, 4, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(release(rig, allocation, 0, 0), STATUS_SUCCESS);
    assert_int_equal(release(rig, allocation, 0, 0), STATUS_INVALID_PARAMETER);
    destroy_allocation(rig, allocation);
    destroy_allocation(rig, other);
    destroy_allocation(rig, linear);
}

// What a manager that has stopped left there would be in the way of the next one.
static void a_stop_takes_everything_out_of_the_ranges(void **state)
{
    struct rig *rig = *state;
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};
    HANDLE allocation = make_tiled(rig);

    fill_at(rig, allocation, PLACE);
    assert_int_equal(acquire(rig, wanted(allocation, 2, 0)), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
    assert_int_equal(acquire(rig, wanted(allocation, 2, 0)), STATUS_SUCCESS);
    assert_int_equal(release(rig, allocation, 2, 0), STATUS_SUCCESS);
    destroy_allocation(rig, allocation);
}

static void without_tiled_copies_there_are_none(void **state)
{
    assert_int_equal(ranges_of(*state), 0);
}

// R87 to R89: while a job works on it the answer is BUSY, unless it is said to be idle.
static void special_lock_waits_for_the_job(struct rig *rig, HANDLE allocation, MDL *pages)
{
    struct ferry_gpu_memory commands;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    submit_user(rig, &commands, allocation, PLACE, 1);
    for (unsigned i = 0; i < 3; i++) {
        DXGKARG_BUILDPAGINGBUFFER build =
            arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER);

        build.SpecialLockTransfer.hAllocation = allocation;
        build.SpecialLockTransfer.TransferSize = 4096;
        build.SpecialLockTransfer.Source.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
        build.SpecialLockTransfer.Source.SegmentAddress.QuadPart = PLACE;
        build.SpecialLockTransfer.Destination.pMdl = pages;
        build.SpecialLockTransfer.Flags.Unswizzle = 1;
        build.SpecialLockTransfer.Flags.AllocationIsIdle = i == 1;
        if (i == 2)
            wait_for(rig, 2, 1);
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &build),
                         i == 0 ? STATUS_GRAPHICS_ALLOCATION_BUSY : STATUS_SUCCESS);
    }
    ferry_gpu_memory_free(rig->gpu, &commands);
}

// All of it in short buffers: each goes on where the one before it ended, and together they have what one long one has.
static void special_lock_goes_on_where_it_was(struct rig *rig, HANDLE allocation, MDL *pages)
{
    uint64_t written[2] = {0};

    for (unsigned in_passes = 0; in_passes < 2; in_passes++) {
        DXGKARG_BUILDPAGINGBUFFER build =
            arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER);
        NTSTATUS status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;

        build.SpecialLockTransfer.hAllocation = allocation;
        build.SpecialLockTransfer.TransferSize = 5 * 4096;
        build.SpecialLockTransfer.Source.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
        build.SpecialLockTransfer.Source.SegmentAddress.QuadPart = PLACE;
        build.SpecialLockTransfer.Destination.pMdl = pages;
        build.SpecialLockTransfer.Flags.Unswizzle = 1;
        while (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER) {
            DXGKARG_BUILDPAGINGBUFFER room =
                arguments(rig, rig->buffer.address, in_passes ? 128 : 4096, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER);
            UINT before = build.MultipassOffset;

            build.pDmaBuffer = room.pDmaBuffer;
            build.DmaSize = room.DmaSize;
            build.pDmaBufferPrivateData = room.pDmaBufferPrivateData;
            build.DmaBufferPrivateDataSize = room.DmaBufferPrivateDataSize;
            status = rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &build);
            written[in_passes] += (uint64_t)((uint8_t *)build.pDmaBuffer - (uint8_t *)room.pDmaBuffer);
            assert_true(build.MultipassOffset > before);
        }
        assert_int_equal(status, STATUS_SUCCESS);
    }
    assert_true(written[0] > 128);
    assert_int_equal(written[1], written[0]);
}

// R86: of what was not made for such locks; and the word that asks for them is for tiles.
static void R86_R87_R88_R89_a_special_lock_is_for_who_has_said_so(void **state)
{
    struct rig *rig = *state;
    struct ferry_allocation_private wish = {.Version = FERRY_ALLOCATION_PRIVATE_VERSION,
                                            .Size = sizeof wish,
                                            .Bytes = 5 * 4096,
                                            .Flags = 1,
                                            .AlternateVA = 1};
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};
    struct host_pages pages;

    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_INVALID_PARAMETER);
    wish.Tiling = tiling;
    wish.AlternateVA = 2;
    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_INVALID_PARAMETER);
    wish.AlternateVA = 1;
    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_SUCCESS);
    assert_true((info.FlagsWddm2.Value & DXGK_ALLOC_FLAG_USE_ALTERNATE_VA) != 0);
    HANDLE both[2] = {make_tiled(rig), info.hAllocation};
    pages_make(rig, &pages, 5);
    for (unsigned i = 0; i < 2; i++) {
        DXGKARG_BUILDPAGINGBUFFER build =
            arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER);

        fill_at(rig, both[i], PLACE);
        build.SpecialLockTransfer.hAllocation = both[i];
        build.SpecialLockTransfer.TransferOffset = 4 * 4096;
        build.SpecialLockTransfer.TransferSize = 4096;
        build.SpecialLockTransfer.Source.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
        build.SpecialLockTransfer.Source.SegmentAddress.QuadPart = PLACE;
        build.SpecialLockTransfer.Destination.pMdl = &pages.mdl;
        build.SpecialLockTransfer.Flags.Unswizzle = 1;
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &build),
                         i == 0 ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS);
        assert_int_equal(build.pDmaBuffer != rig->buffer.address, i == 1);
        // The last page of the five is one of the list's, and one more is none.
        build = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER);
        build.SpecialLockTransfer.hAllocation = both[i];
        build.SpecialLockTransfer.TransferOffset = 4 * 4096;
        build.SpecialLockTransfer.TransferSize = 2 * 4096;
        build.SpecialLockTransfer.Source.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
        build.SpecialLockTransfer.Destination.pMdl = &pages.mdl;
        build.SpecialLockTransfer.Flags.Unswizzle = 1;
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &build),
                         i == 0 ? STATUS_NOT_SUPPORTED : STATUS_INVALID_PARAMETER);
        if (i == 1) {
            special_lock_goes_on_where_it_was(rig, both[i], &pages.mdl);
            special_lock_waits_for_the_job(rig, both[i], &pages.mdl);
        }
        destroy_allocation(rig, both[i]);
    }
    pages_free(rig, &pages);
}

static int setup(void **state)
{
    rig_tiling = true;
    return rig_setup(state);
}

static int setup_without(void **state)
{
    rig_tiling = false;
    return rig_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_level_is_shown_where_the_allocation_was_built_to_be, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(what_no_manager_may_ask_for_is_refused_by_name, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_stop_takes_everything_out_of_the_ranges, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(R86_R87_R88_R89_a_special_lock_is_for_who_has_said_so, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(without_tiled_copies_there_are_none, setup_without, rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
