// SPDX-License-Identifier: Apache-2.0
// The IOMMU model: what has addresses, what is renamed, and what comes into video memory from pages that the device had
// lost.
#include "iommu.h"

// May be in video memory too, and is in the aperture while there is room.
static D3DKMT_HANDLE anywhere(struct world *world, uint64_t pages)
{
    struct ferry_allocation_private wanted = world_private(PAGES(pages), CPU);
    D3DKMT_HANDLE handle = 0;
    wanted.Flags2 = DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP;
    wanted.Aperture = 1;
    wanted.SegmentPreference = machine_aperture_segment;
    world->knobs->segment_set = 1u << (machine_local_segment - 1) | 1u << (machine_aperture_segment - 1);
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_OK);
    world->knobs->segment_set = 0;
    return handle;
}

static uint64_t map(struct world *world, D3DKMT_HANDLE allocation, uint64_t offset, uint64_t pages)
{
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .bytes = PAGES(pages)};
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, allocation, PAGES(offset), false, &range),
                     FERRY_OK);
    return range.address;
}

// By each address that its program knows it by, in that program's space; what has none, as a whole.
static void R195_what_is_mapped_is_told_by_each_of_its_addresses(void **state)
{
    (void)state;
    struct world *world = begin(0);
    D3DKMT_HANDLE allocation = anywhere(world, SIZE), plain = noticed(world, 3);
    const uint64_t at[2] = {map(world, allocation, 1, 4), map(world, allocation, 6, 3)}, offset[2] = {1, 6},
                   pages[2] = {4, 3};
    HANDLE process = spy_build(DXGK_OPERATION_UPDATE_PAGE_TABLE, 0)->before.UpdatePageTable.hProcess;
    assert_non_null(process);
    world_require(world, allocation);
    world_require(world, plain);
    assert_int_equal(world_place(world, allocation).segment, machine_aperture_segment);
    spy_clear();
    assert_true(world_evict(world, plain) >= 0);
    push_out(world, allocation);
    settle(world);
    assert_int_equal(spy.operations[DXGK_OPERATION_NOTIFY_ALLOC], 3);
    unsigned told[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *n =
            &spy_build(DXGK_OPERATION_NOTIFY_ALLOC, i)->before.NotifyAllocation;
        assert_ptr_equal(n->hKmdProcessHandle, process);
        assert_int_equal(n->Flags.Value, 2);
        for (unsigned k = 0; k < 2; k++)
            told[k] += n->GpuVirtualAddressAtOffset == at[k] && n->OffsetInBytes == PAGES(offset[k]) &&
                       n->SizeInBytes == PAGES(pages[k]);
        told[2] += n->GpuVirtualAddressAtOffset == 0 && n->OffsetInBytes == 0 && n->SizeInBytes == PAGES(3);
    }
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(told[k], 1);
    world_close(world);
}

// A lock with DISCARD while a job that writes the allocation is not over.
static void discard_while_busy(struct world *world, D3DKMT_HANDLE allocation)
{
    void *address;
    world_require(world, allocation);
    world->knobs->delay = 3;
    (void)world_gpu_name(world, world->context, allocation, true);
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, D3DDDI_LOCK_DISCARD, &address), FERRY_OK);
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
}

// Of several instances the miniport knows one, which is told of.
static void what_is_told_of_is_not_renamed(void **state)
{
    (void)state;
    for (unsigned told = 0; told < 2; told++) {
        struct world *world = begin(0);
        D3DKMT_HANDLE allocation = told ? noticed(world, SIZE) : create(world, SIZE, 0);
        discard_while_busy(world, allocation);
        assert_int_equal(world_place(world, allocation).instances, told ? 1 : 2);
        settle(world);
        world_close(world);
    }
}

// It goes into video memory by way of its pages, which the device has again for that.
static void what_the_device_had_lost_comes_into_video_memory(void **state)
{
    (void)state;
    struct world *world = begin(0);
    D3DKMT_HANDLE allocation = anywhere(world, SIZE), large = create(world, APERTURE_PAGES - 1, 0);
    world_write(world, allocation, 5);
    world_require(world, allocation);
    assert_int_equal(world_place(world, allocation).segment, machine_aperture_segment);
    assert_true(world_evict(world, allocation) >= 0);
    world_require(world, large);
    settle(world);
    world_require(world, allocation);
    assert_int_equal(world_place(world, allocation).segment, machine_local_segment);
    world_check_gpu(world, allocation, 5);
    world_check(world, allocation, 5);
    world_close(world);
}

static unsigned faults_to_come;
static void buffer_of_the_notice_faults(void *context)
{
    struct world *world = context;
    if (spy.building->Operation != DXGK_OPERATION_NOTIFY_ALLOC || faults_to_come == 0)
        return;
    world->knobs->fault_paging = faults_to_come;
    faults_to_come = 0;
}

// A notice moves no content: however often its buffer faults, it goes again, and nothing is lost.
static void a_notice_that_faults_goes_again(void **state)
{
    (void)state;
    for (unsigned faults = 1; faults <= 6; faults++) {
        struct world *world = begin(0);
        D3DKMT_HANDLE allocation = noticed(world, SIZE);
        D3DKMT_DEVICEEXECUTION_STATE execution;
        world_write(world, allocation, faults);
        world_require(world, allocation);
        world->knobs->delay = 2;
        faults_to_come = faults;
        spy.in_build = buffer_of_the_notice_faults;
        spy.in_build_context = world;
        push_out(world, allocation);
        settle(world);
        assert_int_equal(world->knobs->fault_paging, 0);
        assert_in_range(spy_builds(DXGK_OPERATION_NOTIFY_ALLOC), 2, 1 + faults);
        assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &execution), FERRY_OK);
        assert_int_equal(execution, D3DKMT_DEVICEEXECUTION_ACTIVE);
        assert_false(world_place(world, allocation).lost);
        world_check(world, allocation, faults);
        world_close(world);
    }
}

// A parked instance leaves the aperture for good while the line stands still: its pages are given back, and nobody
// takes them from the device after that.
static void an_instance_that_ends_is_not_unmapped_later(void **state)
{
    (void)state;
    struct world *world = begin(0);
    D3DKMT_HANDLE allocation = create(world, SIZE, 0), large = create(world, APERTURE_PAGES - 1, 0);
    discard_while_busy(world, allocation);
    assert_int_equal(world_place(world, allocation).instances, 2);
    settle(world);
    stand_in_the_line(world);
    assert_true(world_evict(world, allocation) >= 0);
    world_require(world, large);
    assert_int_equal(world_place(world, allocation).instances, 1);
    assert_int_equal(machine_queued_jobs(world->machine), 1);
    let_go(world);
    settle(world);
    world_close(world);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(R195_what_is_mapped_is_told_by_each_of_its_addresses),
        cmocka_unit_test(what_is_told_of_is_not_renamed),
        cmocka_unit_test(what_the_device_had_lost_comes_into_video_memory),
        cmocka_unit_test(a_notice_that_faults_goes_again),
        cmocka_unit_test(an_instance_that_ends_is_not_unmapped_later),
    };
    return WORLD_RUN(tests);
}
