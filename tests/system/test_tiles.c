// SPDX-License-Identifier: Apache-2.0
// TRANSFER with Swizzle and Unswizzle through the miniport alone, the test in the manager's place, on the whole device
// and on the reference model, in both driver models.
#include "tile_images.h"

#include "device/host_pages.h"
#include "ferry_contract.h"
#include "kmd/kmd.h"

struct rig {
    struct ferry_gpu *gpu;
    struct ferry_host_pages *pages;
    const DRIVER_INITIALIZATION_DATA *kmd;
    HANDLE adapter, device, context;
    struct ferry_gpu_memory buffer;
    uint8_t private_data[4096];
    uint32_t fence;
};

static VOID no_notify(HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    (void)handle;
    if (data->InterruptType == DXGK_INTERRUPT_DMA_FAULTED)
        fail_msg("buffer %u has faulted", data->DmaFaulted.FaultedFenceId);
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

static int setup_rig(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    struct ferry_link_config config = {.size = sizeof config, .seed = seed};
    struct ferry_gpu_options options = {.size = sizeof options};
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, no_notify, no_dpc, no_queue};
    struct ferry_link *link;

    ok(ferry_link_open(backend, &config, &link));
    ok(ferry_gpu_open(link, &options, &rig->gpu));
    ok(ferry_host_pages_create(rig->gpu, &rig->pages));
    rig->kmd = driver_model == 2 ? ferry_kmd_miniport_model2(0) : ferry_kmd_miniport();
    assert_int_equal(rig->kmd->DxgkDdiAddDevice(rig->gpu, &rig->adapter), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
    ok(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &rig->buffer));
    DXGKARG_CREATEDEVICE device = {.hDevice = rig};
    assert_int_equal(rig->kmd->DxgkDdiCreateDevice(rig->adapter, &device), STATUS_SUCCESS);
    rig->device = device.hDevice;
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 0, .Flags.SystemContext = 1};
    assert_int_equal(rig->kmd->DxgkDdiCreateContext(rig->device, &context), STATUS_SUCCESS);
    rig->context = context.hContext;
    *state = rig;
    return 0;
}

static int teardown_rig(void **state)
{
    struct rig *rig = *state;

    rig->kmd->DxgkDdiDestroyContext(rig->context);
    rig->kmd->DxgkDdiDestroyDevice(rig->device);
    ferry_gpu_memory_free(rig->gpu, &rig->buffer);
    rig->kmd->DxgkDdiStopDevice(rig->adapter);
    rig->kmd->DxgkDdiRemoveDevice(rig->adapter);
    ferry_host_pages_destroy(rig->pages);
    ferry_gpu_close(rig->gpu);
    free(rig);
    return 0;
}

// ---- The miniport ----

static NTSTATUS try_create(struct rig *rig, const struct image *image, uint64_t bytes, HANDLE *handle, UINT *alignment)
{
    struct ferry_allocation_private wish = {.Version = FERRY_ALLOCATION_PRIVATE_VERSION,
                                            .Size = sizeof wish,
                                            .Bytes = bytes,
                                            .Tiling = {.TileBytes = image->tile,
                                                       .ElementBytes = 1u << image->element_log2,
                                                       .Width = image->width,
                                                       .Height = image->height,
                                                       .Levels = image->levels}};
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};
    NTSTATUS status = rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create);

    *handle = info.hAllocation;
    *alignment = info.Alignment;
    return status;
}

static void destroy(struct rig *rig, HANDLE allocation)
{
    DXGKARG_DESTROYALLOCATION argument = {.NumAllocations = 1, .pAllocationList = &allocation};

    assert_int_equal(rig->kmd->DxgkDdiDestroyAllocation(rig->adapter, &argument), STATUS_SUCCESS);
}

static void run(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *a)
{
    DXGKARG_QUERYCURRENTFENCE query = {.NodeOrdinal = 0};
    UINT bytes = (UINT)((uint8_t *)a->pDmaBuffer - (uint8_t *)rig->buffer.address);
    UINT private_bytes = (UINT)((uint8_t *)a->pDmaBufferPrivateData - rig->private_data);
    DXGKARG_PATCH patch = {.pDmaBuffer = rig->buffer.address,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionEndOffset = bytes,
                           .pDmaBufferPrivateData = rig->private_data,
                           .DmaBufferPrivateDataSize = sizeof rig->private_data,
                           .DmaBufferPrivateDataSubmissionEndOffset = private_bytes,
                           .SubmissionFenceId = ++rig->fence,
                           .Flags.Paging = 1};
    DXGKARG_SUBMITCOMMAND submit = {.DmaBufferSize = 4096,
                                    .DmaBufferSubmissionEndOffset = bytes,
                                    .SubmissionFenceId = rig->fence,
                                    .Flags.Paging = 1};

    patch.DmaBufferPhysicalAddress.QuadPart = submit.DmaBufferPhysicalAddress.QuadPart = (int64_t)rig->buffer.bus;
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_SUCCESS);
    for (unsigned i = 0; i < 100000; i++) {
        rig->kmd->DxgkDdiInterruptRoutine(rig->adapter, 0);
        rig->kmd->DxgkDdiQueryCurrentFence(rig->adapter, &query);
        if ((int32_t)(query.CurrentFence - rig->fence) >= 0)
            return;
        ok(ferry_gpu_wait(rig->gpu, 0));
    }
    fail();
}

static DXGKARG_BUILDPAGINGBUFFER transfer(HANDLE allocation, MDL *mdl, uint64_t base, uint64_t first, uint64_t pages,
                                          bool swizzle)
{
    DXGKARG_BUILDPAGINGBUFFER a = {.Operation = DXGK_OPERATION_TRANSFER};
    DXGK_TRANSFERSIDE host = {.pMdl = mdl}, local = {.SegmentId = FERRY_KMD_SEGMENT_LOCAL};

    local.SegmentAddress.QuadPart = (int64_t)base;
    a.Transfer.hAllocation = allocation;
    a.Transfer.TransferOffset = (UINT)(first * PAGE_SIZE);
    a.Transfer.TransferSize = pages * PAGE_SIZE;
    a.Transfer.MdlOffset = (UINT)first;
    a.Transfer.Source = swizzle ? host : local;
    a.Transfer.Destination = swizzle ? local : host;
    a.Transfer.Flags.Swizzle = swizzle;
    a.Transfer.Flags.Unswizzle = !swizzle;
    return a;
}

// One pass into a fresh buffer of so many bytes.
static NTSTATUS build(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *a, UINT room)
{
    a->pDmaBuffer = rig->buffer.address;
    a->DmaSize = room;
    a->DmaBufferWriteOffset = 0;
    a->pDmaBufferPrivateData = rig->private_data;
    a->DmaBufferPrivateDataSize = sizeof rig->private_data;
    return rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, a);
}

static void carry_out(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER a)
{
    NTSTATUS status;

    do {
        status = build(rig, &a, draw(3) ? 4096 : FERRY_KMD_LEAST_PAGING_BUFFER + 8 * draw(100));
        assert_true(status == STATUS_SUCCESS || status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
        if (a.pDmaBuffer != rig->buffer.address)
            run(rig, &a);
    } while (status != STATUS_SUCCESS);
}

// In pieces of some pages, in any case all of it.
static void carry_out_all(struct rig *rig, HANDLE allocation, MDL *mdl, uint64_t base, bool swizzle)
{
    uint64_t pages, most = draw(2) ? mdl->PageCount : 1 + draw(20);

    for (uint64_t first = 0; first < mdl->PageCount; first += pages) {
        pages = mdl->PageCount - first < most ? mdl->PageCount - first : most;
        carry_out(rig, transfer(allocation, mdl, base, first, pages, swizzle));
    }
}

static void every_element_every_tile_and_every_level_goes_to_its_place_and_back(void **state)
{
    struct rig *rig = *state;
    const struct ferry_page_source *source = ferry_host_pages_source(rig->pages);

    say_random();
    drawn = seed;
    for (unsigned number = 0; number < (on_model() ? 30 : 5); number++) {
        struct image image = draw_image(on_model() ? number : number + 5 * draw(2));
        uint8_t *expected = malloc(image.bytes), *found = malloc(PAGE_SIZE);
        MDL *rows, *back;
        HANDLE allocation;
        UINT alignment;

        assert_int_equal(try_create(rig, &image, image.bytes, &allocation, &alignment), STATUS_SUCCESS);
        assert_int_equal(alignment, image.tile);
        uint64_t base = (uint64_t)draw((uint32_t)((LOCAL_TEST_BYTES - image.bytes) / alignment)) * alignment;
        ok(source->allocate(source->context, image.bytes / PAGE_SIZE, 0, &rows));
        ok(source->allocate(source->context, image.bytes / PAGE_SIZE, 0, &back));
        for (uint64_t i = 0; i < image.bytes; i++)
            ((uint8_t *)rows->MappedSystemVa)[i] = (uint8_t)draw(256);
        make_tiles(&image, rows->MappedSystemVa, expected);
        carry_out_all(rig, allocation, rows, base, true);
        // By BAR2 a page of it, which is slow; all of it by the raw copy below.
        uint64_t at = draw((uint32_t)(image.bytes / PAGE_SIZE)) * (uint64_t)PAGE_SIZE;
        ok(ferry_gpu_window_read(rig->gpu, base + at, found, PAGE_SIZE));
        assert_memory_equal(found, expected + at, PAGE_SIZE);
        carry_out_all(rig, allocation, back, base, false);
        assert_memory_equal(back->MappedSystemVa, rows->MappedSystemVa, image.bytes);
        // Without a flag it is bytes as they are: swizzled content leaves swizzled, and comes back so.
        DXGKARG_BUILDPAGINGBUFFER raw = transfer(allocation, back, base, 0, back->PageCount, false);
        raw.Transfer.Flags.Value = 0;
        carry_out(rig, raw);
        assert_memory_equal(back->MappedSystemVa, expected, image.bytes);
        source->free(source->context, rows);
        source->free(source->context, back);
        destroy(rig, allocation);
        free(expected);
        free(found);
    }
}

// By name, and before anything is written: nothing stands in the buffer.
static void R43_what_does_not_fit_the_tiles_is_refused(void **state)
{
    struct rig *rig = *state;
    const struct ferry_page_source *source = ferry_host_pages_source(rig->pages);
    struct image good = {.element_log2 = 2, .tile = 4096, .width = 50, .height = 40, .levels = 3}, bad;
    HANDLE allocation, linear;
    UINT alignment;
    MDL *mdl;

    measure(&good);
    // Sizes that are not what the tiles make of it.
    for (int more = -2; more <= 2; more++)
        if (more)
            assert_int_equal(
                try_create(rig, &good, good.bytes + (uint64_t)(int64_t)(more * 2048), &allocation, &alignment),
                STATUS_INVALID_PARAMETER);
    assert_int_equal(try_create(rig, &good, good.bytes, &allocation, &alignment), STATUS_SUCCESS);
    for (unsigned i = 0; i < 6; i++) {
        bad = good;
        bad.tile = i == 0 ? 8192 : good.tile;
        bad.element_log2 = i == 1 ? 5 : good.element_log2;
        bad.width = i == 2 ? 0 : i == 3 ? 65537 : good.width;
        bad.height = i == 4 ? 0 : good.height;
        bad.levels = i == 5 ? 0 : good.levels;
        assert_int_equal(try_create(rig, &bad, good.bytes, &linear, &alignment), STATUS_INVALID_PARAMETER);
    }
    struct ferry_allocation_private wish = {
        .Version = FERRY_ALLOCATION_PRIVATE_VERSION, .Size = sizeof wish, .Bytes = good.bytes};
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};
    assert_int_equal(rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create), STATUS_SUCCESS);
    linear = info.hAllocation;
    uint64_t pages = good.bytes / PAGE_SIZE;
    ok(source->allocate(source->context, pages, 0, &mdl));
    for (unsigned i = 0; i < 9; i++) {
        DXGKARG_BUILDPAGINGBUFFER a = transfer(allocation, mdl, 65536, 0, pages, i % 2);

        switch (i) {
        case 0: a.Transfer.Flags.Swizzle = 1; break; // both ways at once
        case 1: a.Transfer.hAllocation = linear; break;
        case 2: a.Transfer.Source.SegmentAddress.QuadPart += 64; break; // no tile begins there
        case 3: a.Transfer.TransferOffset = 100, a.Transfer.TransferSize -= PAGE_SIZE; break;
        case 4: a.Transfer.TransferSize -= 1; break;
        case 5: a.Transfer.TransferSize += PAGE_SIZE; break;
        case 6: a.Transfer.MdlOffset = 1; break;
        case 7: // the wrong way round
            a.Transfer.Flags.Value = DXGK_TRANSFER_UNSWIZZLE;
            break;
        default: // from place to place
            a.Transfer.Destination = a.Transfer.Source;
            break;
        }
        assert_int_equal(build(rig, &a, 4096), STATUS_INVALID_PARAMETER);
        assert_ptr_equal(a.pDmaBuffer, rig->buffer.address);
    }
    // A raw copy, whatever the flags say (R43).
    DXGKARG_BUILDPAGINGBUFFER raw = transfer(NULL, mdl, 65536, 0, pages, true);
    assert_int_equal(build(rig, &raw, 4096), STATUS_SUCCESS);
    run(rig, &raw);
    source->free(source->context, mdl);
    destroy(rig, linear);
    destroy(rig, allocation);
}

// Pages that are copied right behind a rectangle may be those that it writes: the copy is built as one that need not
// wait, and Patch takes that back.
static void a_copy_behind_a_rectangle_waits_for_it(void **state)
{
    struct rig *rig = *state;
    const struct ferry_page_source *source = ferry_host_pages_source(rig->pages);
    struct image image = {.element_log2 = 0, .tile = 4096, .width = 64, .height = 64, .levels = 1};
    HANDLE allocation;
    UINT alignment;
    MDL *mdl, *other; // What comes in reads one, what leaves writes the other.

    measure(&image);
    ok(source->allocate(source->context, 1, 0, &mdl));
    ok(source->allocate(source->context, 1, 0, &other));
    assert_int_equal(try_create(rig, &image, image.bytes, &allocation, &alignment), STATUS_SUCCESS);
    for (unsigned rectangle = 0; rectangle < 2; rectangle++) {
        DXGKARG_BUILDPAGINGBUFFER a = transfer(allocation, mdl, 65536, 0, 1, true);

        a.Transfer.Flags.Value = rectangle ? DXGK_TRANSFER_SWIZZLE : 0;
        assert_int_equal(build(rig, &a, 2048), STATUS_SUCCESS);
        uint32_t *header = a.pDmaBuffer;
        DXGKARG_BUILDPAGINGBUFFER out = transfer(allocation, other, 131072, 0, 1, false);
        out.Transfer.Flags.Value = 0;
        out.pDmaBuffer = a.pDmaBuffer;
        out.DmaSize = 2048;
        out.DmaBufferWriteOffset = (UINT)((uint8_t *)a.pDmaBuffer - (uint8_t *)rig->buffer.address);
        out.pDmaBufferPrivateData = a.pDmaBufferPrivateData;
        out.DmaBufferPrivateDataSize = a.DmaBufferPrivateDataSize;
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &out), STATUS_SUCCESS);
        assert_int_not_equal(*header & FERRY_PACKET_HEADER_UNORDERED_MASK, 0);
        run(rig, &out);
        assert_int_equal((*header & FERRY_PACKET_HEADER_UNORDERED_MASK) != 0, !rectangle);
    }
    source->free(source->context, mdl);
    source->free(source->context, other);
    destroy(rig, allocation);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_element_every_tile_and_every_level_goes_to_its_place_and_back, setup_rig,
                                        teardown_rig),
        cmocka_unit_test_setup_teardown(R43_what_does_not_fit_the_tiles_is_refused, setup_rig, teardown_rig),
        cmocka_unit_test_setup_teardown(a_copy_behind_a_rectangle_waits_for_it, setup_rig, teardown_rig),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
