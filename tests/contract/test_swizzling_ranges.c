// SPDX-License-Identifier: Apache-2.0
// Swizzling ranges: who has one, who loses it to whom and when, and what happens where none can be had. There are fewer
// of them than allocations that are locked with AcquireAperture. Driver model 1.
#include <stdlib.h>
#include <string.h>

#include "tiled.h"

static const struct spy_entry *newest(enum spy_kind kind)
{
    const struct spy_entry *found = NULL;
    for (size_t i = 0; i < spy.count; i++)
        if (spy.entries[i].kind == kind)
            found = &spy.entries[i];
    assert_non_null(found);
    return found;
}

static void ranges_are_kept_for_the_next_lock_and_the_one_used_least_recently_is_taken(void **state)
{
    enum { SLOTS = TILED_RANGES + 2 };
    (void)state;
    struct world *world = tiled_world();
    struct tiled tiled[SLOTS];
    for (unsigned i = 0; i < SLOTS; i++)
        tiled_create(world, &tiled[i], &tiled_two_levels, CPU);
    for (unsigned i = 0; i < TILED_RANGES; i++)
        tiled_lock(world, &tiled[i], 0);
    assert_int_equal(spy_kinds(SPY_ACQUIRE), TILED_RANGES);
    // As it was acquired; for the other level another one is, from whoever is not locked any more.
    tiled_unlock(world, &tiled[2]);
    tiled_lock(world, &tiled[2], 0);
    tiled_unlock(world, &tiled[3]);
    assert_int_equal(spy_kinds(SPY_ACQUIRE), TILED_RANGES);
    tiled_lock(world, &tiled[3], 1);
    assert_int_equal(spy_kinds(SPY_ACQUIRE), TILED_RANGES + 1);
    assert_int_equal(newest(SPY_ACQUIRE)->acquire.PrivateDriverData, 1);
    assert_ptr_equal(newest(SPY_RELEASE)->acquire.hAllocation, tiled[3].miniport);
    // All are locked: 0 was used least recently, then 1.
    tiled_write_some(world, &tiled[0]);
    tiled_lock(world, &tiled[4], 0);
    assert_ptr_equal(newest(SPY_RELEASE)->acquire.hAllocation, tiled[1].miniport);
    // Who is locked and has lost its range gets one again.
    for (unsigned round = 0; round < 30; round++) {
        tiled_write_some(world, &tiled[round % 5]);
        tiled_read_some(world, &tiled[(round + 2) % 5]);
    }
    for (unsigned i = 0; i < 5; i++)
        tiled_check_all(world, &tiled[i]);
    assert_int_equal(world_statistics(world).bytes_out, 0);
    for (unsigned i = 0; i < SLOTS; i++)
        tiled_drop(world, &tiled[i]);
    assert_int_equal(spy_kinds(SPY_ACQUIRE), spy_kinds(SPY_RELEASE));
    world_close(world);
}

// Which of what was kept came first: the release, or the operation on that allocation.
static void check_released_before(HANDLE allocation, DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    for (size_t i = 0; i < spy.count; i++) {
        const struct spy_entry *entry = &spy.entries[i];
        if (entry->kind == SPY_RELEASE && entry->acquire.hAllocation == allocation)
            return;
        // hAllocation is the first member of both.
        if (entry->kind == SPY_BUILD && entry->before.Operation == operation)
            assert_ptr_not_equal(entry->before.Transfer.hAllocation, allocation);
    }
    fail_msg("nothing was released");
}

static void what_leaves_its_place_is_released_first(void **state)
{
    (void)state;
    struct world *world = tiled_world();
    struct tiled first, tiled;
    D3DKMT_HANDLE low = world_create(world, PAGES(40), 0);
    world_require(world, low);
    tiled_create(world, &first, &tiled_one, CPU);
    world_evict(world, first.allocation);
    tiled_create(world, &tiled, &tiled_one, CPU);
    tiled_lock(world, &tiled, 0);
    tiled_write_some(world, &tiled);
    // Moved, as whoever needs all that is free besides has to have it in one piece.
    uint64_t before = world_place(world, tiled.allocation).offset;
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, low), FERRY_OK);
    spy_clear();
    D3DKMT_HANDLE large = world_create(world, PAGES(TILED_LOCAL - 1), 0);
    world_require(world, large);
    assert_int_not_equal(world_place(world, tiled.allocation).offset, before);
    check_released_before(tiled.miniport, DXGK_OPERATION_TRANSFER);
    tiled_check_all(world, &tiled);
    assert_int_equal(spy_kinds(SPY_ACQUIRE), 1);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
    // Evicted.
    spy_clear();
    world_force_out(world, tiled.allocation);
    check_released_before(tiled.miniport, DXGK_OPERATION_TRANSFER);
    tiled_check_all(world, &tiled);
    // Without content of its own it is discarded.
    tiled_bring_in(world, &first);
    tiled_lock(world, &first, 0);
    spy_clear();
    world_force_out(world, first.allocation);
    check_released_before(first.miniport, DXGK_OPERATION_DISCARD_CONTENT);
    tiled_check_all(world, &first);
    // Destroyed, alone and with its device.
    tiled_bring_in(world, &first);
    tiled_check_all(world, &first);
    spy_clear();
    tiled_drop(world, &first);
    assert_int_equal(spy_kinds(SPY_RELEASE), 1);
    tiled_bring_in(world, &tiled);
    tiled_check_all(world, &tiled);
    spy_clear();
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    assert_int_equal(spy_kinds(SPY_RELEASE), 1);
    free(tiled.rows);
    free(tiled.map);
    world_close(world);
}

static void where_no_range_can_be_had_it_leaves_video_memory_in_rows(void **state)
{
    (void)state;
    struct world *world = tiled_world();
    struct tiled tiled[3];
    for (unsigned i = 0; i < 3; i++) {
        tiled_create(world, &tiled[i], &tiled_two_levels, CPU);
        world_evict(world, tiled[i].allocation);
    }
    tiled_lock(world, &tiled[0], 0);
    tiled_lock(world, &tiled[1], 0);
    // Enough once one of the others is gone, the one that was used least recently.
    world->knobs->range_unavailable = 1;
    tiled_lock(world, &tiled[2], 0);
    assert_int_equal(spy_kinds(SPY_RELEASE), 1);
    assert_ptr_equal(newest(SPY_RELEASE)->acquire.hAllocation, tiled[0].miniport);
    assert_int_equal(world_place(world, tiled[2].allocation).segment, machine_local_segment);
    tiled_unlock(world, &tiled[2]);
    world_force_out(world, tiled[2].allocation);
    tiled_bring_in(world, &tiled[2]);
    // All are given up, and it still is not.
    world->knobs->range_unavailable = 100;
    assert_int_equal(tiled_try_lock(world, &tiled[2], 0, D3DDDI_LOCK_DO_NOT_EVICT), FERRY_ERROR_NOT_AVAILABLE);
    assert_int_equal(spy_kinds(SPY_RELEASE), 3);
    assert_int_equal(world_place(world, tiled[2].allocation).segment, machine_local_segment);
    assert_false(world_place(world, tiled[2].allocation).locked);
    tiled_lock(world, &tiled[2], 0);
    assert_int_equal(world_place(world, tiled[2].allocation).segment, 0);
    tiled_write_some(world, &tiled[2]);
    tiled_check_all(world, &tiled[2]);
    tiled_check_flags(tiled[2].miniport);
    // In again it is seen there, when it can be.
    world->knobs->range_unavailable = 0;
    tiled_bring_in(world, &tiled[2]);
    tiled_check_all(world, &tiled[2]);
    assert_int_equal(world_place(world, tiled[2].allocation).segment, machine_local_segment);
    // Never: nobody else loses a range for it.
    tiled_bring_in(world, &tiled[0]);
    assert_int_equal(world_place(world, tiled[0].allocation).segment, machine_local_segment);
    world->knobs->range_status = STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED;
    size_t asked = spy_kinds(SPY_ACQUIRE);
    tiled_read_some(world, &tiled[0]);
    assert_int_equal(spy_kinds(SPY_ACQUIRE), asked + 1);
    assert_int_equal(world_place(world, tiled[0].allocation).segment, 0);
    assert_int_equal(spy_kinds(SPY_RELEASE), 3);
    tiled_check_all(world, &tiled[0]);
    world->knobs->range_status = 0;
    // A level that there is not: no range shows it, and out of video memory all of it is seen.
    tiled_unlock(world, &tiled[1]);
    tiled_lock(world, &tiled[1], 2);
    assert_int_equal(world_place(world, tiled[1].allocation).segment, 0);
    tiled_check_all(world, &tiled[1]);
    for (unsigned i = 0; i < 3; i++)
        tiled_drop(world, &tiled[i]);
    world_close(world);
}

// Ranges reach what is CPU visible, and the miniport cannot tell several instances of an allocation apart.
static void hidden_or_in_several_instances_it_leaves_too(void **state)
{
    (void)state;
    struct world_options options = tiled_options();
    struct tiled tiled;
    void *address;
    options.machine.hidden_bytes = PAGES(TILED_LOCAL);
    struct world *world = world_open(&options);
    world->knobs->segment_set = 1u << (machine_hidden_segment - 1);
    tiled_create(world, &tiled, &tiled_two_levels, CPU);
    assert_int_equal(world_place(world, tiled.allocation).segment, machine_hidden_segment);
    assert_int_equal(tiled_try_lock(world, &tiled, 0, D3DDDI_LOCK_DO_NOT_EVICT), FERRY_ERROR_NOT_AVAILABLE);
    tiled_lock(world, &tiled, 0);
    assert_int_equal(world_place(world, tiled.allocation).segment, 0);
    tiled_write_some(world, &tiled);
    tiled_check_all(world, &tiled);
    tiled_drop(world, &tiled);
    world_close(world);

    world = tiled_world();
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &world->context, NULL), FERRY_OK);
    tiled_create(world, &tiled, &tiled_two_levels, CPU);
    world->knobs->by_place = true;
    world->knobs->delay = 20;
    world->knobs->hold_node = 1;
    world_gpu_fill(world, tiled.allocation, 0, 64, 1);
    assert_int_equal(ferry_vidmm_lock(world->manager, tiled.allocation, D3DDDI_LOCK_DISCARD, &address), FERRY_OK);
    assert_int_equal(world_place(world, tiled.allocation).instances, 2);
    world->knobs->hold_node = 0;
    memset(address, 0x5A, tiled.bytes);
    memset(tiled.rows, 0x5A, tiled.bytes);
    assert_int_equal(ferry_vidmm_unlock(world->manager, tiled.allocation), FERRY_OK);
    tiled_bring_in(world, &tiled);
    assert_int_equal(tiled_try_lock(world, &tiled, 1, D3DDDI_LOCK_DO_NOT_EVICT), FERRY_ERROR_NOT_AVAILABLE);
    tiled_lock(world, &tiled, 1);
    tiled_write_some(world, &tiled);
    tiled_check_all(world, &tiled);
    assert_int_equal(spy_kinds(SPY_ACQUIRE), 0);
    tiled_drop(world, &tiled);
    world_close(world);
}

// Which it never had where there was no memory for another one.
static void what_no_other_instance_could_be_made_of_is_shown(void **state)
{
    (void)state;
    struct tiled tiled;
    void *address;
    struct world *world = tiled_world();
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &world->context, NULL), FERRY_OK);
    tiled_create(world, &tiled, &tiled_two_levels, CPU);
    world->knobs->by_place = true;
    world->knobs->hold_node = 1;
    uint64_t fence = world_gpu_name(world, world->context, tiled.allocation, false);
    world->knobs->host_pages = 0;
    assert_int_equal(ferry_vidmm_lock(world->manager, tiled.allocation, D3DDDI_LOCK_DISCARD, &address),
                     FERRY_ERROR_NO_HOST_MEMORY);
    world->knobs->host_pages = -1;
    world->knobs->hold_node = 0;
    world_wait(world, fence);
    assert_int_equal(world_place(world, tiled.allocation).instances, 1);
    assert_int_equal(tiled_try_lock(world, &tiled, 1, D3DDDI_LOCK_DO_NOT_EVICT), FERRY_OK);
    tiled_write_some(world, &tiled);
    tiled_check_all(world, &tiled);
    assert_int_equal(spy_kinds(SPY_ACQUIRE), 1);
    tiled_drop(world, &tiled);
    world_close(world);
}

// An overlay keeps its place though no range shows it.
static void R150_an_overlay_that_no_range_shows_stays(void **state)
{
    (void)state;
    struct tiled tiled;
    struct world *world = tiled_world();
    tiled_create(world, &tiled, &tiled_two_levels, CPU | DXGK_ALLOC_FLAG_OVERLAY);
    uint64_t was = world_place(world, tiled.allocation).offset;
    world->knobs->range_status = STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED;
    assert_int_equal(tiled_try_lock(world, &tiled, 0, 0), FERRY_ERROR_NOT_AVAILABLE);
    world->knobs->range_status = 0;
    assert_int_equal(world_place(world, tiled.allocation).segment, machine_local_segment);
    assert_int_equal(world_place(world, tiled.allocation).offset, was);
    tiled_drop(world, &tiled);
    world_close(world);
}

static void a_wrong_answer_stops_the_manager_by_name(void **state)
{
    static const struct {
        NTSTATUS acquire, release;
        bool resized;
        enum ferry_vidmm_critical_code code;
    } cases[] = {
        {STATUS_INVALID_PARAMETER, 0, false, FERRY_CRITICAL_ACQUIRE_RANGE},
        {STATUS_GRAPHICS_ALLOCATION_BUSY, 0, false, FERRY_CRITICAL_ACQUIRE_RANGE},
        {STATUS_PENDING, 0, false, FERRY_CRITICAL_ACQUIRE_RANGE},
        {0, 0, true, FERRY_CRITICAL_ACQUIRE_RANGE},
        {0, STATUS_UNSUCCESSFUL, false, FERRY_CRITICAL_RELEASE_RANGE},
        {0, STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE, false, FERRY_CRITICAL_RELEASE_RANGE},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *world = tiled_world();
        struct ferry_vidmm_critical record;
        struct tiled tiled;
        tiled_create(world, &tiled, &tiled_two_levels, CPU);
        world->knobs->range_status = cases[i].acquire;
        world->knobs->release_status = cases[i].release;
        world->knobs->range_resized = cases[i].resized;
        int result = tiled_try_lock(world, &tiled, 0, 0);
        assert_int_equal(result, cases[i].code == FERRY_CRITICAL_ACQUIRE_RANGE ? FERRY_ERROR_CRITICAL : FERRY_OK);
        if (result == FERRY_OK) {
            D3DDDICB_EVICT arguments = {.NumAllocations = 1, .AllocationList = &tiled.allocation};
            assert_int_equal(ferry_vidmm_evict(world->manager, world->device, &arguments), FERRY_OK);
            D3DKMT_HANDLE large = world_create(world, PAGES(TILED_LOCAL), 0);
            assert_int_equal(world_resident(world, &large, 1), FERRY_ERROR_CRITICAL);
        }
        assert_true(ferry_vidmm_critical(world->manager, &record));
        assert_int_equal(record.code, cases[i].code);
        assert_int_equal(record.allocation, tiled.allocation);
        assert_int_equal(record.status,
                         cases[i].resized ? STATUS_INVALID_PARAMETER : cases[i].acquire | cases[i].release);
        free(tiled.rows);
        free(tiled.map);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_kept_for_the_next_lock_and_the_one_used_least_recently_is_taken),
        cmocka_unit_test(what_leaves_its_place_is_released_first),
        cmocka_unit_test(where_no_range_can_be_had_it_leaves_video_memory_in_rows),
        cmocka_unit_test(hidden_or_in_several_instances_it_leaves_too),
        cmocka_unit_test(what_no_other_instance_could_be_made_of_is_shown),
        cmocka_unit_test(R150_an_overlay_that_no_range_shows_stays),
        cmocka_unit_test(a_wrong_answer_stops_the_manager_by_name),
    };
    return WORLD_RUN(tests);
}
