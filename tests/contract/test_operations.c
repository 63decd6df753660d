// SPDX-License-Identifier: Apache-2.0
// Which operations the manager issues, when, and with what in them.
#include <stdlib.h>

#include "world.h"

static void R7_R11_moves_inside_a_segment_close_holes(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE small[8];
    for (unsigned i = 0; i < 8; i++) {
        small[i] = world_create(world, PAGES(8), CPU);
        world_write(world, small[i], i);
        world_require(world, small[i]);
    }
    for (unsigned i = 0; i < 8; i += 2)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, small[i]), FERRY_OK);
    spy_clear();
    D3DKMT_HANDLE large = world_create(world, PAGES(30), CPU); // 32 pages are free, no more than 8 in one piece
    world_write(world, large, 99);
    world_require(world, large);
    assert_true(world_statistics(world).bytes_moved > 0);
    bool inside = false;
    for (size_t i = 0; i < spy.transfer_count; i++)
        inside |= spy.transfers[i].source_segment == machine_local_segment &&
                  spy.transfers[i].destination_segment == machine_local_segment;
    assert_true(inside);
    for (unsigned i = 1; i < 8; i += 2)
        world_check_gpu(world, small[i], i);
    world_check_gpu(world, large, 99);
    world_close(world);
}

static void R7_a_block_moves_over_its_own_place_in_steps_as_long_as_it_is_wide(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU), b = world_create(world, PAGES(20), CPU),
                  c = world_create(world, PAGES(36), CPU), d = world_create(world, PAGES(8), CPU);
    world_write(world, b, 2);
    world_write(world, c, 3);
    world_write(world, d, 4);
    world_require(world, a);
    world_require(world, b);
    world_require(world, c);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
    spy_clear();
    world_require(world, d); // four pages are free below the two, and four above
    assert_int_equal(world_statistics(world).bytes_moved, PAGES(56));
    // Each a transfer of its own that does not write what it reads, so that it can be run again.
    assert_int_equal(spy.transfer_count, 20 / 4 + 36 / 4 + 1);
    for (size_t i = 0; i < spy.transfer_count; i++)
        assert_int_equal(spy.transfers[i].pieces, 1);
    assert_int_equal(world_place(world, b).offset, 0);
    assert_int_equal(world_place(world, c).offset, PAGES(20));
    world_check_gpu(world, b, 2);
    world_check_gpu(world, c, 3);
    world_check_gpu(world, d, 4);
    world_close(world);
}

// What no manager of ours does, asked of the miniport directly, with call-backs of the test's own: a raw move from one
// segment to another.
static unsigned reports;

static VOID count_report(HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    (void)handle;
    reports += data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED;
}

static VOID ignore_dpc(HANDLE handle)
{
    (void)handle;
}

static bool ignore_queue(HANDLE handle)
{
    (void)handle;
    return true;
}

static void R8_R43_raw_move_between_segments(void **state)
{
    (void)state;
    struct machine_options options = {.local_bytes = PAGES(64), .hidden_bytes = PAGES(16), .aperture_bytes = PAGES(4)};
    struct machine *machine = machine_open(&options);
    const DRIVER_INITIALIZATION_DATA *table = ferry_test_miniport();
    HANDLE adapter = machine_adapter(machine);
    DXGKRNL_INTERFACE interface = {.Size = sizeof(interface),
                                   .Version = DXGKRNL_INTERFACE_VERSION,
                                   .DxgkCbNotifyInterrupt = count_report,
                                   .DxgkCbNotifyDpc = ignore_dpc,
                                   .DxgkCbQueueDpc = ignore_queue};
    assert_int_equal(table->DxgkDdiStartDevice(adapter, &interface), STATUS_SUCCESS);
    DXGK_SEGMENTDESCRIPTOR4 segments[3];
    DXGK_QUERYSEGMENTOUT4 out = {.NbSegment = 3, .pSegmentDescriptor = (uint8_t *)segments};
    DXGKARG_QUERYADAPTERINFO query = {
        .Type = DXGKQAITYPE_QUERYSEGMENT4, .pOutputData = &out, .OutputDataSize = sizeof(out)};
    assert_int_equal(table->DxgkDdiQueryAdapterInfo(adapter, &query), STATUS_SUCCESS);

    uint8_t bytes[PAGE_SIZE], seen[PAGE_SIZE];
    for (unsigned i = 0; i < PAGE_SIZE; i++)
        bytes[i] = (uint8_t)(i * 7);
    machine_poke(machine, machine_local_segment, PAGES(50), bytes, PAGE_SIZE);
    struct ferry_vidmm_platform platform = machine_platform(machine);
    MDL *buffer;
    assert_int_equal(platform.pages->allocate(platform.pages->context, 1, FERRY_PAGES_CONSECUTIVE, &buffer), FERRY_OK);
    uint8_t records[256];
    DXGKARG_BUILDPAGINGBUFFER argument = {.pDmaBuffer = buffer->MappedSystemVa,
                                          .DmaSize = PAGE_SIZE,
                                          .pDmaBufferPrivateData = records,
                                          .DmaBufferPrivateDataSize = sizeof(records)};
    argument.Operation = DXGK_OPERATION_TRANSFER;
    argument.Transfer.TransferSize = PAGE_SIZE;
    argument.Transfer.TransferOffset = PAGE_SIZE;
    argument.Transfer.Source.SegmentId = machine_local_segment;
    argument.Transfer.Source.SegmentAddress.QuadPart =
        segments[machine_local_segment - 1].BaseAddress.QuadPart + (int64_t)PAGES(49);
    argument.Transfer.Destination.SegmentId = machine_hidden_segment;
    argument.Transfer.Destination.SegmentAddress.QuadPart =
        segments[machine_hidden_segment - 1].BaseAddress.QuadPart + (int64_t)PAGES(2);
    argument.Transfer.Flags.Value = DXGK_TRANSFER_START | DXGK_TRANSFER_END | DXGK_TRANSFER_SWIZZLE;
    assert_int_equal(table->DxgkDdiBuildPagingBuffer(adapter, &argument), STATUS_SUCCESS);
    UINT used = (UINT)((uint8_t *)argument.pDmaBuffer - (uint8_t *)buffer->MappedSystemVa);
    UINT kept = (UINT)((uint8_t *)argument.pDmaBufferPrivateData - records);
    PHYSICAL_ADDRESS address = {.QuadPart = (int64_t)(buffer->Pfn[0] << PAGE_SHIFT)};
    DXGKARG_PATCH patch = {.DmaBufferPhysicalAddress = address,
                           .pDmaBuffer = buffer->MappedSystemVa,
                           .DmaBufferSize = PAGE_SIZE,
                           .DmaBufferSubmissionEndOffset = used,
                           .pDmaBufferPrivateData = records,
                           .DmaBufferPrivateDataSize = sizeof(records),
                           .DmaBufferPrivateDataSubmissionEndOffset = kept,
                           .SubmissionFenceId = 1,
                           .Flags.Paging = 1};
    assert_int_equal(table->DxgkDdiPatch(adapter, &patch), STATUS_SUCCESS);
    DXGKARG_SUBMITCOMMAND submit = {.DmaBufferPhysicalAddress = address,
                                    .DmaBufferSize = PAGE_SIZE,
                                    .DmaBufferSubmissionEndOffset = used,
                                    .SubmissionFenceId = 1,
                                    .Flags.Paging = 1};
    assert_int_equal(table->DxgkDdiSubmitCommand(adapter, &submit), STATUS_SUCCESS);
    for (unsigned i = 0; i < 100 && reports == 0; i++)
        platform.wait_for_progress(platform.context);
    assert_int_equal(reports, 1);
    machine_peek(machine, machine_hidden_segment, PAGES(3), seen, PAGE_SIZE);
    assert_memory_equal(bytes, seen, PAGE_SIZE);
    platform.pages->free(platform.pages->context, buffer);
    assert_int_equal(table->DxgkDdiStopDevice(adapter), STATUS_SUCCESS);
    machine_close(machine);
}

static void R9_R10_segment_and_system_memory_both_ways(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(5), CPU);
    world_write(world, a, 11);
    world_require(world, a);
    world_check_gpu(world, a, 11);
    spy_clear();
    world_force_out(world, a);
    assert_int_equal(spy.transfer_count, 1);
    assert_int_equal(spy.transfers[0].source_segment, machine_local_segment);
    assert_int_equal(spy.transfers[0].destination_segment, 0);
    world_check(world, a, 11);
    world_close(world);
}

static void R29_R30_R31_R32_R36_R97_sub_transfers_cover_the_allocation(void **state)
{
    (void)state;
    for (unsigned piece = 0; piece <= 6; piece++) {
        struct world_options options = world_defaults();
        options.manager.sub_transfer_bytes = PAGES(piece);
        struct world *world = world_open(&options);
        D3DKMT_HANDLE a = world_create(world, PAGES(13), CPU);
        world_write(world, a, 12);
        spy_clear();
        world_require(world, a);
        unsigned pieces = piece ? (13 + piece - 1) / piece : 1;
        assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), pieces);
        for (unsigned i = 0; i < pieces; i++) {
            const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &spy_build(DXGK_OPERATION_TRANSFER, i)->before.Transfer;
            assert_int_equal(t->Flags.TransferStart, i == 0);
            assert_int_equal(t->Flags.TransferEnd, i == pieces - 1);
            assert_int_equal(t->TransferOffset, PAGES(i * piece));
            assert_int_equal(t->MdlOffset, i * piece);
        }
        assert_int_equal(spy.transfer_count, 1);
        assert_int_equal(spy.transfers[0].bytes, PAGES(13));
        world_check_gpu(world, a, 12);
        world_close(world);
    }
}

static void R33_a_transfer_ends_before_the_next_begins(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.sub_transfer_bytes = PAGES(2);
    options.manager.paging_buffer_bytes = 100;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE list[6];
    for (unsigned i = 0; i < 6; i++) {
        list[i] = world_create(world, PAGES(9), CPU);
        world_write(world, list[i], i);
    }
    assert_true(world_resident(world, list, 6) >= 0);
    for (unsigned i = 0; i < 6; i++)
        world_require(world, list[i]);
    assert_int_equal(spy.transfer_count, 6);
    for (unsigned i = 0; i < 6; i++)
        world_check_gpu(world, list[i], i);
    world_close(world); // the spy fails on an interleaving
}

static void R34_passes_of_one_sub_transfer_repeat_transfer_start(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.paging_buffer_bytes = machine_least_page_bytes - 8 + 2 * 8;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create(world, PAGES(6), CPU);
    world_write(world, a, 1);
    spy_clear();
    world_require(world, a);
    assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), 3);
    for (unsigned i = 0; i < 3; i++)
        assert_true(spy_build(DXGK_OPERATION_TRANSFER, i)->before.Transfer.Flags.TransferStart);
    world_close(world);
}

static void R44_R45_fill_makes_initial_content(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create_filled(world, PAGES(3), CPU, 0xC0FFEE01);
    spy_clear();
    world_require(world, a);
    assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), 0);
    const struct spy_entry *fill = spy_build(DXGK_OPERATION_FILL, 0);
    assert_int_equal(fill->before.Fill.FillSize, PAGES(3));
    assert_int_equal(fill->before.Fill.FillPattern, 0xC0FFEE01);
    uint32_t words[PAGE_SIZE / 4];
    for (unsigned page = 0; page < 3; page++) {
        struct ferry_vidmm_placement place = world_place(world, a);
        machine_peek(world->machine, place.segment, place.offset + PAGES(page), words, PAGE_SIZE);
        for (unsigned i = 0; i < PAGE_SIZE / 4; i++)
            assert_int_equal(words[i], 0xC0FFEE01);
    }
    world_close(world);
}

static void R46_fill_only_while_idle(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create_filled(world, PAGES(3), CPU, 5), b = world_create(world, PAGES(64), CPU);
    D3DKMT_HANDLE c = world_create(world, PAGE_SIZE, CPU);
    world_require(world, a);
    world_require(world, c);
    world->knobs->delay = 8;
    world_gpu_copy(world, c, 0, a, 0, 64); // reads a, which stays fresh and can be filled again
    assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_int_equal(world_evict(world, c), FERRY_OK);
    world_require(world, b);
    assert_int_equal(world_evict(world, b), FERRY_OK);
    world_require(world, a);
    assert_int_equal(spy_builds(DXGK_OPERATION_FILL), 4);
    world_close(world); // the machine fails on a busy fill
}

static void R47_an_aperture_is_never_filled(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_allocation_private wanted = world_private(PAGES(2), CPU);
    wanted.Aperture = 1;
    D3DKMT_HANDLE a;
    struct ferry_vidmm_allocation_options fill = {.fill_pattern = 0x12345678};
    assert_int_equal(world_try_create(world, &wanted, &fill, &a, NULL), FERRY_OK);
    world_require(world, a);
    assert_int_equal(spy_builds(DXGK_OPERATION_FILL), 0);
    uint32_t word;
    machine_peek(world->machine, machine_aperture_segment, world_place(world, a).offset + PAGE_SIZE, &word, 4);
    assert_int_equal(word, 0x12345678);
    world_close(world);
}

static void R48_R49_R111_discard_moves_nothing(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(7), PERMANENT);
    world_write(world, a, 3);
    world_require(world, a);
    struct ferry_vidmm_placement place = world_place(world, a);
    spy_clear();
    world_force_out(world, a);
    assert_int_equal(spy_builds(DXGK_OPERATION_DISCARD_CONTENT), 1);
    assert_int_equal(spy.transfer_count, 0);
    const DXGK_BUILDPAGINGBUFFER_DISCARDCONTENT *d =
        &spy_build(DXGK_OPERATION_DISCARD_CONTENT, 0)->before.DiscardContent;
    struct ferry_vidmm_segment_info info;
    ferry_vidmm_segment(world->manager, place.segment - 1, &info);
    assert_int_equal(d->SegmentId, place.segment);
    assert_int_equal(d->SegmentAddress.QuadPart, info.base + place.offset);
    assert_int_equal(world_statistics(world).bytes_discarded, PAGES(7));
    assert_int_equal(world_statistics(world).bytes_out, 0);
    world_check(world, a, 3);
    world_close(world);
}

static void R50_R51_R52_R53_R54_busy_discard_is_repeated_idle(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(7), PERMANENT), b = world_create(world, PAGES(4), CPU);
    world_write(world, a, 3);
    world_require(world, a);
    world_require(world, b);
    world->knobs->delay = 9;
    world_gpu_copy(world, b, 0, a, 0, PAGE_SIZE); // reads a: clean and busy
    assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_int_equal(world_evict(world, b), FERRY_OK);
    world->knobs->busy_times = 2;
    spy_clear();
    D3DKMT_HANDLE large = world_create(world, PAGES(64), CPU);
    world_require(world, large);
    const struct spy_entry *entry = spy_build(DXGK_OPERATION_DISCARD_CONTENT, 0);
    assert_false(entry->before.DiscardContent.Flags.AllocationIsIdle);
    assert_int_equal(entry->status, STATUS_GRAPHICS_ALLOCATION_BUSY);
    for (unsigned i = 1; i <= 2; i++)
        assert_true(spy_build(DXGK_OPERATION_DISCARD_CONTENT, i)->before.DiscardContent.Flags.AllocationIsIdle);
    world_close(world);
}

static void R48_a_discard_that_writes_nothing_still_completes(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->silent_discard = true;
    D3DKMT_HANDLE a = world_create(world, PAGES(40), PERMANENT), b = world_create(world, PAGES(40), CPU);
    world_write(world, a, 3);
    world_write(world, b, 4);
    world_require(world, a);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    world_require(world, b);
    assert_int_equal(world_statistics(world).operations[DXGK_OPERATION_DISCARD_CONTENT], 1);
    world_check_gpu(world, b, 4);
    world_check(world, a, 3);
    world_close(world);
}

static void R55_R57_R58_read_physical_before_the_cpu_reads_what_the_gpu_wrote(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.coherent_aperture = false;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(2), CPU);
    world_require(world, a);
    world_gpu_put(world, a, 0, PAGES(2), 0xABCD);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &address), FERRY_OK);
    assert_int_equal(machine_physical_accesses(world->machine, false), 1);
    assert_int_equal(*(uint32_t *)address, 0xABCD);
    const struct spy_entry *read = spy_build(DXGK_OPERATION_READ_PHYSICAL, 0);
    assert_int_equal(read->before.ReadPhysical.SegmentId, machine_aperture_segment);
    ferry_vidmm_unlock(world->manager, a);
    // Nothing new was written, so nothing is to be ordered.
    assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &address), FERRY_OK);
    assert_int_equal(machine_physical_accesses(world->machine, false), 1);
    ferry_vidmm_unlock(world->manager, a);
    world_close(world);
}

static void R59_R61_R62_write_physical_orders_and_touches_nobody(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.coherent_aperture = false;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(2), CPU);
    D3DKMT_HANDLE b = world_create_in_aperture(world, PAGES(60), CPU);
    world_write(world, b, 77);
    world_require(world, a);
    world_require(world, b);
    world_gpu_put(world, a, 0, PAGES(2), 0xABCD);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_WRITE_ONLY, &address), FERRY_OK);
    assert_int_equal(machine_physical_accesses(world->machine, true), 1);
    assert_int_equal(machine_physical_accesses(world->machine, false), 0);
    for (unsigned i = 0; i < PAGES(2) / 4; i++)
        assert_int_equal(((uint32_t *)address)[i], 0xABCD);
    ferry_vidmm_unlock(world->manager, a);
    world_check(world, b, 77);
    assert_int_equal(world_statistics(world).dummy_page_writes, 0);
    world_close(world);
}

static void R56_R60_R61_physical_accesses_of_1_to_8_bytes(void **state)
{
    (void)state;
    for (unsigned size = 1; size <= 8; size++) {
        struct world_options options = world_defaults();
        options.machine.coherent_aperture = false;
        struct world *world = world_open(&options);
        world->knobs->physical_bytes = size;
        D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(2), CPU),
                      b = world_create_in_aperture(world, PAGES(61), CPU);
        world_write(world, b, size);
        world_require(world, a);
        world_require(world, b);
        void *address;
        for (unsigned flags = 0; flags < 2; flags++) {
            world_gpu_put(world, a, 0, PAGES(2), 0x4000 + flags);
            assert_int_equal(ferry_vidmm_lock(world->manager, a, flags ? D3DDDI_LOCK_WRITE_ONLY : 0, &address),
                             FERRY_OK);
            for (unsigned i = 0; i < PAGES(2) / 4; i++)
                assert_int_equal(((uint32_t *)address)[i], 0x4000 + flags);
            assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        }
        assert_int_equal(machine_physical_accesses(world->machine, false), 1);
        assert_int_equal(machine_physical_accesses(world->machine, true), 1);
        world_check(world, b, size);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R7_R11_moves_inside_a_segment_close_holes),
        cmocka_unit_test(R7_a_block_moves_over_its_own_place_in_steps_as_long_as_it_is_wide),
        cmocka_unit_test(R8_R43_raw_move_between_segments),
        cmocka_unit_test(R9_R10_segment_and_system_memory_both_ways),
        cmocka_unit_test(R29_R30_R31_R32_R36_R97_sub_transfers_cover_the_allocation),
        cmocka_unit_test(R33_a_transfer_ends_before_the_next_begins),
        cmocka_unit_test(R34_passes_of_one_sub_transfer_repeat_transfer_start),
        cmocka_unit_test(R44_R45_fill_makes_initial_content),
        cmocka_unit_test(R46_fill_only_while_idle),
        cmocka_unit_test(R47_an_aperture_is_never_filled),
        cmocka_unit_test(R48_R49_R111_discard_moves_nothing),
        cmocka_unit_test(R50_R51_R52_R53_R54_busy_discard_is_repeated_idle),
        cmocka_unit_test(R48_a_discard_that_writes_nothing_still_completes),
        cmocka_unit_test(R55_R57_R58_read_physical_before_the_cpu_reads_what_the_gpu_wrote),
        cmocka_unit_test(R56_R60_R61_physical_accesses_of_1_to_8_bytes),
        cmocka_unit_test(R59_R61_R62_write_physical_orders_and_touches_nobody),
    };
    return WORLD_RUN(tests);
}
