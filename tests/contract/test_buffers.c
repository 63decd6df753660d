// SPDX-License-Identifier: Apache-2.0
// The loop around BuildPagingBuffer: buffers, passes, BUSY, Patch and Submit, critical stops.
#include <stdlib.h>

#include "world.h"

static void R1_R12_R13_R96_page_in_is_built_then_submitted(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world_write(world, a, 1);
    spy_clear();
    world_require(world, a);
    const struct spy_entry *entry = spy_build(DXGK_OPERATION_TRANSFER, 0);
    assert_non_null(entry);
    assert_ptr_equal(spy.adapter, machine_adapter(world->machine));
    assert_int_equal(entry->before.Transfer.Source.SegmentId, 0);
    assert_non_null(entry->before.Transfer.Source.pMdl);
    assert_int_equal(entry->before.Transfer.Destination.SegmentId, machine_local_segment);
    assert_int_equal(spy.count, 3); // build, patch, submit
    assert_int_equal(spy.entries[1].kind, SPY_PATCH);
    assert_int_equal(spy.entries[2].kind, SPY_SUBMIT);
    assert_true(spy.entries[2].submit.Flags.Paging);
    assert_null(spy.entries[2].submit.hContext);
    world_check_gpu(world, a, 1);
    world_close(world);
}

static void R2_R94_builds_never_come_from_interrupt_or_dpc(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->delay = 5;
    for (unsigned i = 0; i < 20; i++) {
        D3DKMT_HANDLE a = world_create(world, PAGES(20), CPU);
        world_write(world, a, i);
        world_require(world, a);
        assert_int_equal(world_evict(world, a), FERRY_OK);
    }
    // Where the next buffer waits for room with the device, room comes in the DPC.
    world_close(world);
    struct world_options options = world_defaults();
    options.machine.paging_buffer_bytes = machine_least_page_bytes;
    world = world_open(&options);
    world->knobs->delay = 3;
    D3DKMT_HANDLE many[12];
    for (unsigned i = 0; i < 12; i++) {
        many[i] = world_create(world, PAGES(4), CPU);
        world_write(world, many[i], i);
    }
    assert_int_equal(world_resident(world, many, 12), FERRY_PENDING);
    for (unsigned i = 0; i < 12; i++)
        world_wait(world, world_gpu_name(world, world->context, many[i], false));
    world_close(world); // the spy fails the test otherwise
}

static void expect_critical(struct world *world, enum ferry_vidmm_critical_code code, NTSTATUS status)
{
    struct ferry_vidmm_critical record;
    D3DKMT_HANDLE device;
    assert_true(ferry_vidmm_critical(world->manager, &record));
    assert_int_equal(record.code, code);
    assert_int_equal(record.status, status);
    assert_int_equal(ferry_vidmm_create_device(world->manager, &device), FERRY_ERROR_CRITICAL);
}

static void R3_R23_R101_any_other_status_stops_the_manager(void **state)
{
    (void)state;
    static const NTSTATUS bad[] = {STATUS_NOT_SUPPORTED, STATUS_NOT_IMPLEMENTED, STATUS_INVALID_PARAMETER,
                                   STATUS_PENDING,       STATUS_NO_MEMORY,       STATUS_GRAPHICS_NO_VIDEO_MEMORY};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
        world_write(world, a, 1);
        world->knobs->illegal_status = bad[i];
        assert_int_equal(world_resident(world, &a, 1), FERRY_ERROR_CRITICAL);
        struct ferry_vidmm_critical record;
        ferry_vidmm_critical(world->manager, &record);
        assert_int_equal(record.operation, DXGK_OPERATION_TRANSFER);
        assert_int_equal(record.allocation, a);
        expect_critical(world, FERRY_CRITICAL_BAD_STATUS, bad[i]);
        world_close(world);
    }
}

static void R3_busy_is_illegal_for_fill(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world->knobs->illegal_status = STATUS_GRAPHICS_ALLOCATION_BUSY;
    assert_int_equal(world_resident(world, &a, 1), FERRY_ERROR_CRITICAL);
    expect_critical(world, FERRY_CRITICAL_BAD_STATUS, STATUS_GRAPHICS_ALLOCATION_BUSY);
    world_close(world);
}

static void R4_R28_success_means_the_whole_operation_is_encoded(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(9), CPU);
    world_write(world, a, 3);
    spy_clear();
    world_require(world, a);
    assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), 1);
    assert_int_equal(spy_build(DXGK_OPERATION_TRANSFER, 0)->status, STATUS_SUCCESS);
    world_check_gpu(world, a, 3);
    world_close(world);
}

static void R5_R37_R38_R39_R40_R41_R42_busy_transfer_waits_and_is_repeated_idle(void **state)
{
    (void)state;
    for (unsigned times = 1; times <= 5; times += 2) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU), b = world_create(world, PAGES(40), CPU);
        world_write(world, a, 4);
        world_write(world, b, 5);
        world_require(world, a);
        world->knobs->delay = 6;
        world_gpu_fill(world, a, 0, PAGE_SIZE, 0x11111111); // keeps it in use for a while
        assert_int_equal(world_evict(world, a), FERRY_OK);
        world->knobs->busy_times = times;
        spy_clear();
        world_require(world, b);
        const struct spy_entry *out = spy_build(DXGK_OPERATION_TRANSFER, 0);
        assert_int_equal(out->status, STATUS_GRAPHICS_ALLOCATION_BUSY);
        assert_int_equal(out->before.Transfer.Source.SegmentId, machine_local_segment);
        assert_false(out->before.Transfer.Flags.AllocationIsIdle);
        for (unsigned i = 1; i <= times; i++) {
            out = spy_build(DXGK_OPERATION_TRANSFER, i);
            assert_true(out->before.Transfer.Flags.AllocationIsIdle);
            assert_int_equal(out->status, i < times ? STATUS_GRAPHICS_ALLOCATION_BUSY : STATUS_SUCCESS);
        }
        assert_int_equal(world_statistics(world).busy_answers, 2 * times); // the page-in was answered so too
        world_check_gpu(world, b, 5);
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        assert_int_equal(*(uint32_t *)address, 0x11111111);
        assert_int_equal(((uint32_t *)address)[PAGE_SIZE / 4], world_word(4, PAGE_SIZE / 4));
        ferry_vidmm_unlock(world->manager, a);
        world_close(world);
    }
}

static void R39_busy_for_ever_is_a_critical_stop(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.busy_limit = 10;
    struct world *world = world_open(&options);
    // So many answers there may be.
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU), patient = world_create(world, PAGES(4), CPU);
    world_write(world, patient, 2);
    world->knobs->busy_times = 10;
    world_require(world, patient);
    world_check_gpu(world, patient, 2);
    world_write(world, a, 1);
    world->knobs->busy_times = 1000;
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &a};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, arguments.PagingFenceValue),
                     FERRY_ERROR_CRITICAL);
    expect_critical(world, FERRY_CRITICAL_NOT_IDLE, STATUS_GRAPHICS_ALLOCATION_BUSY);
    world_close(world);
}

static void R6_R20_R21_R22_R99_R100_insufficient_submits_and_goes_on_in_a_new_buffer(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.paging_buffer_bytes = machine_least_page_bytes - 8 + 3 * 8; // three pages a pass
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create(world, PAGES(10), CPU);
    world_write(world, a, 6);
    spy_clear();
    world->knobs->delay = 3;
    world_require(world, a);
    assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct spy_entry *entry = spy_build(DXGK_OPERATION_TRANSFER, i);
        assert_int_equal(entry->status, i < 3 ? STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER : STATUS_SUCCESS);
        assert_int_equal((uintptr_t)entry->before.pDmaBuffer % PAGE_SIZE, 0);
    }
    assert_int_equal(spy.submissions, 4);
    // Each partial buffer went out before the next pass was built.
    for (size_t i = 0; i < spy.count; i++)
        assert_int_equal(spy.entries[i].kind, (enum spy_kind)(i % 3));
    world_check_gpu(world, a, 6);
    world_close(world);
}

static void R14_R15_R16_R17_patch_comes_before_each_submit_and_may_change_bytes(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.paging_buffer_bytes = 200;
    struct world *world = world_open(&options);
    world->knobs->patch_completes = true;
    D3DKMT_HANDLE a = world_create(world, PAGES(60), CPU), b = world_create(world, PAGES(60), CPU);
    world_write(world, a, 1);
    world_write(world, b, 2);
    world_require(world, a);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    world_require(world, b);
    assert_int_equal(spy.patches, spy.submissions);
    assert_true(spy.submissions > 5);
    for (size_t i = 0; i < spy.count; i++)
        if (spy.entries[i].kind == SPY_PATCH) {
            assert_true(spy.entries[i].patch.Flags.Paging);
            assert_null(spy.entries[i].patch.pAllocationList);
            assert_int_equal(spy.entries[i].patch.PatchLocationListSubmissionLength, 0);
        }
    world_check_gpu(world, b, 2);
    world_check(world, a, 1);
    world_close(world);
}

static void R14_a_failing_patch_or_submit_is_critical(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
        NTSTATUS *knob = i ? &world->knobs->submit_status : &world->knobs->patch_status;
        *knob = STATUS_UNSUCCESSFUL;
        assert_int_equal(world_resident(world, &a, 1), FERRY_ERROR_CRITICAL);
        expect_critical(world, i ? FERRY_CRITICAL_SUBMIT : FERRY_CRITICAL_PATCH, STATUS_UNSUCCESSFUL);
        world_close(world);
    }
}

// Every operation through every buffer size from 0 upwards: the right bytes, or a stop by name when even one page of
// progress does not fit.
static void R18_R19_R20_R95_R102_every_buffer_size(void **state)
{
    (void)state;
    for (uint32_t bytes = 1; bytes <= 700; bytes += bytes < 140 ? 1 : 29) {
        struct world_options options = world_defaults();
        options.manager.paging_buffer_bytes = bytes;
        struct ferry_vidmm *manager;
        struct machine *machine = machine_open(&options.machine);
        struct ferry_vidmm_options plain = {.size = sizeof(plain),
                                            .miniport = spy_start(ferry_test_miniport()),
                                            .miniport_device_context = machine_adapter(machine),
                                            .platform = machine_platform(machine),
                                            .paging_buffer_bytes = bytes};
        int result = ferry_vidmm_start(&plain, &manager);
        assert_int_equal(result, bytes < machine_least_start_bytes ? FERRY_ERROR_CRITICAL : FERRY_OK);
        if (result == FERRY_OK)
            ferry_vidmm_stop(manager);
        machine_close(machine);
        if (result != FERRY_OK)
            continue;
        struct world *world = world_open(&options);
        D3DKMT_HANDLE a = world_create(world, PAGES(37), CPU), b = world_create(world, PAGES(50), CPU);
        if (bytes < machine_least_page_bytes) {
            world_write(world, a, 7);
            assert_int_equal(world_resident(world, &a, 1), FERRY_ERROR_CRITICAL);
            world_close(world);
            continue;
        }
        D3DKMT_HANDLE c = world_create_in_aperture(world, PAGES(30), CPU);
        world_write(world, a, 7);
        world_write(world, c, 9);
        world_require(world, a);
        world_check_gpu(world, a, 7);
        world_require(world, c);
        world_check_gpu(world, c, 9);
        assert_int_equal(world_evict(world, a), FERRY_OK);
        world_require(world, b);
        world_check(world, a, 7);
        world_close(world);
    }
}

static void R23_no_progress_in_an_empty_buffer_is_critical(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world->knobs->refuse_progress = true;
    assert_int_equal(world_resident(world, &a, 1), FERRY_ERROR_CRITICAL);
    expect_critical(world, FERRY_CRITICAL_NO_PROGRESS, STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    world_close(world);
}

static void R18_R19_a_pointer_outside_the_buffer_is_critical(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world->knobs->overrun = true;
    assert_int_equal(world_resident(world, &a, 1), FERRY_ERROR_CRITICAL);
    expect_critical(world, FERRY_CRITICAL_DMA_OVERFLOW, STATUS_SUCCESS);
    world_close(world);
}

static void R18_R19_bytes_behind_the_buffer_are_found_changed(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.paging_buffer_bytes = 1000;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world->knobs->write_behind = true;
    assert_int_equal(world_resident(world, &a, 1), FERRY_ERROR_CRITICAL);
    expect_critical(world, FERRY_CRITICAL_DMA_OVERFLOW, STATUS_SUCCESS);
    world_close(world);
}

static void R24_R25_R26_R27_R35_multipass_offset_belongs_to_the_driver(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.paging_buffer_bytes = machine_least_page_bytes - 8 + 5 * 8;
    options.manager.sub_transfer_bytes = PAGES(7);
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create(world, PAGES(20), CPU);
    world_write(world, a, 8);
    spy_clear();
    world_require(world, a);
    // Sub-transfers of 7, 7 and 6 pages, 5 pages a buffer: 5+2, 3+4 ... and the cursor starts at 0 for each.
    uint64_t pages = 0;
    for (unsigned i = 0; i < spy_builds(DXGK_OPERATION_TRANSFER); i++) {
        const struct spy_entry *entry = spy_build(DXGK_OPERATION_TRANSFER, i);
        if (i > 0) {
            const struct spy_entry *before = spy_build(DXGK_OPERATION_TRANSFER, i - 1);
            bool again = before->status != STATUS_SUCCESS;
            assert_int_equal(entry->before.MultipassOffset, again ? before->after.MultipassOffset : 0);
        }
        pages += entry->after.MultipassOffset - entry->before.MultipassOffset;
    }
    assert_int_equal(pages, 20);
    world_check_gpu(world, a, 8);
    world_close(world);
}

static void R98_several_operations_share_a_buffer(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE list[8];
    for (unsigned i = 0; i < 8; i++) {
        list[i] = world_create(world, PAGES(3), CPU);
        world_write(world, list[i], i);
    }
    spy_clear();
    assert_true(world_resident(world, list, 8) >= 0);
    assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), 8);
    assert_int_equal(spy.submissions, 1);
    for (unsigned i = 0; i < 8; i++)
        world_check_gpu(world, list[i], i);
    world_close(world);
}

static void R95_each_call_gets_what_is_left(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE list[3];
    for (unsigned i = 0; i < 3; i++)
        list[i] = world_create_filled(world, PAGES(2), CPU, i + 1);
    spy_clear();
    world_resident(world, list, 3);
    uint32_t used = 0;
    for (unsigned i = 0; i < 3; i++) {
        const struct spy_entry *fill = spy_build(DXGK_OPERATION_FILL, i);
        assert_int_equal(fill->before.DmaSize, PAGE_SIZE - used);
        assert_int_equal(fill->before.DmaBufferWriteOffset, used);
        assert_int_equal(fill->after.DmaSize, fill->before.DmaSize - fill->written);
        used += fill->written;
    }
    world_close(world);
}

static void R103_operations_0_to_7_have_no_version_gate(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.version = DXGKDDI_WDDMv2;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world_write(world, a, 1);
    world_require(world, a);
    world_check_gpu(world, a, 1);
    world_close(world);
}

static void a_fence_that_goes_backwards_is_critical(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE list[3];
    for (unsigned i = 0; i < 3; i++) {
        list[i] = world_create(world, PAGES(2), CPU);
        world_require(world, list[i]);
    }
    world->knobs->backwards = true;
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    world_resident(world, &a, 1);
    struct ferry_vidmm_critical record;
    assert_true(ferry_vidmm_critical(world->manager, &record));
    assert_int_equal(record.code, FERRY_CRITICAL_FENCE_BACKWARDS);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R1_R12_R13_R96_page_in_is_built_then_submitted),
        cmocka_unit_test(R2_R94_builds_never_come_from_interrupt_or_dpc),
        cmocka_unit_test(R3_R23_R101_any_other_status_stops_the_manager),
        cmocka_unit_test(R3_busy_is_illegal_for_fill),
        cmocka_unit_test(R4_R28_success_means_the_whole_operation_is_encoded),
        cmocka_unit_test(R5_R37_R38_R39_R40_R41_R42_busy_transfer_waits_and_is_repeated_idle),
        cmocka_unit_test(R39_busy_for_ever_is_a_critical_stop),
        cmocka_unit_test(R6_R20_R21_R22_R99_R100_insufficient_submits_and_goes_on_in_a_new_buffer),
        cmocka_unit_test(R14_R15_R16_R17_patch_comes_before_each_submit_and_may_change_bytes),
        cmocka_unit_test(R14_a_failing_patch_or_submit_is_critical),
        cmocka_unit_test(R18_R19_R20_R95_R102_every_buffer_size),
        cmocka_unit_test(R23_no_progress_in_an_empty_buffer_is_critical),
        cmocka_unit_test(R18_R19_a_pointer_outside_the_buffer_is_critical),
        cmocka_unit_test(R18_R19_bytes_behind_the_buffer_are_found_changed),
        cmocka_unit_test(R24_R25_R26_R27_R35_multipass_offset_belongs_to_the_driver),
        cmocka_unit_test(R98_several_operations_share_a_buffer),
        cmocka_unit_test(R95_each_call_gets_what_is_left),
        cmocka_unit_test(R103_operations_0_to_7_have_no_version_gate),
        cmocka_unit_test(a_fence_that_goes_backwards_is_critical),
    };
    return WORLD_RUN(tests);
}
