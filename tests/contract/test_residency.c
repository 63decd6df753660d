// SPDX-License-Identifier: Apache-2.0
// MakeResident, Evict, budget, paging queues and fences.
#include <stdlib.h>

#include "vidmm/api/manager.h"
#include "world.h"

static void R213_R214_R215_make_resident_counts_each_time(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    for (unsigned n = 1; n <= 5; n++) {
        world_require(world, a);
        assert_int_equal(world_place(world, a).residency_count, n);
    }
    D3DKMT_HANDLE twice[] = {a, a};
    assert_int_equal(world_resident(world, twice, 2), FERRY_OK);
    assert_int_equal(world_place(world, a).residency_count, 7);
    for (unsigned n = 7; n-- > 0;) {
        assert_int_equal(world_evict(world, a), FERRY_OK);
        assert_int_equal(world_place(world, a).residency_count, n);
    }
    assert_int_equal(world_evict(world, a), FERRY_ERROR_NOT_RESIDENT);
    assert_int_equal(world_statistics(world).required_bytes, 0);
    world_close(world);
}

static void R214_no_count_begins_anew(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), other = world_create(world, PAGES(2), CPU);
    D3DKMT_HANDLE twice[] = {a, a}, behind[] = {other, a};
    struct ferry_vm_allocation *counted = ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_ALLOCATION, a);
    world_require(world, a);
    // It would take minutes to come here call by call.
    counted->count = UINT32_MAX - 2;
    assert_true(world_resident(world, twice, 2) >= 0);
    assert_int_equal(world_place(world, a).residency_count, UINT32_MAX);
    assert_int_equal(world_resident(world, &a, 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(world_resident(world, twice, 2), FERRY_ERROR_ARGUMENT);
    assert_int_equal(world_resident(world, behind, 2), FERRY_ERROR_ARGUMENT);
    assert_int_equal(world_place(world, a).residency_count, UINT32_MAX);
    assert_int_equal(world_place(world, other).residency_count, 0);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_int_equal(world_resident(world, &a, 1), FERRY_OK);
    counted->count = 1;
    assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_int_equal(world_statistics(world).required_bytes, 0);
    world_close(world);
}

// What is taken off at once leaves for a budget that was lowered meanwhile, as what is taken off one by one does.
static void what_was_taken_off_leaves_for_the_budget(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU);
    world_require(world, a);
    world_require(world, a);
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(20)), FERRY_OK);
    assert_int_equal(ferry_vidmm_take_off(world->manager, world->device, a, 1), FERRY_OK);
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    assert_int_equal(ferry_vidmm_take_off(world->manager, world->device, a, 1), FERRY_OK);
    assert_int_equal(world_place(world, a).segment, 0);
    world_close(world);
}

// Whoever trims in vain gets his counts back, wherever the allocation is meanwhile.
static void what_was_taken_off_a_count_is_put_back(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), other;
    void *address;
    world_require(world, a);
    world_require(world, a);
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_WRITE_ONLY, &address), FERRY_OK);
    memset(address, 0x31, PAGES(2));
    assert_int_equal(world_place(world, a).segment, 0);
    assert_int_equal(ferry_vidmm_take_off(world->manager, world->device, a, 3), FERRY_ERROR_NOT_RESIDENT);
    assert_int_equal(ferry_vidmm_take_off(world->manager, world->device, a, 0), FERRY_OK);
    assert_int_equal(world_place(world, a).residency_count, 2);
    assert_int_equal(ferry_vidmm_take_off(world->manager, world->device, a, 2), FERRY_OK);
    assert_int_equal(world_place(world, a).residency_count, 0);
    assert_int_equal(world_statistics(world).required_bytes, 0);
    assert_int_equal(ferry_vidmm_take_off(world->manager, world->device, a, 0), FERRY_OK);
    assert_int_equal(ferry_vidmm_put_back(world->manager, world->device, a, 0), FERRY_OK);
    assert_int_equal(world_place(world, a).residency_count, 0);
    assert_int_equal(world_statistics(world).required_bytes, 0);
    // The CPU has its content, so it cannot become resident; its counts are no content.
    assert_int_equal(world_resident(world, &a, 1), FERRY_ERROR_LOCKED);
    assert_int_equal(ferry_vidmm_put_back(world->manager, world->device, a, 2), FERRY_OK);
    assert_int_equal(world_place(world, a).residency_count, 2);
    assert_int_equal(world_statistics(world).required_bytes, PAGES(2));
    assert_int_equal(ferry_vidmm_put_back(world->manager, world->device, a, UINT32_MAX - 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_put_back(world->manager, world->device, a, UINT32_MAX - 2), FERRY_OK);
    assert_int_equal(world_place(world, a).residency_count, UINT32_MAX);
    assert_int_equal(ferry_vidmm_take_off(world->manager, world->device, a, UINT32_MAX - 2), FERRY_OK);
    assert_int_equal(ferry_vidmm_put_back(world->manager, world->device, a, 0), FERRY_OK);
    assert_int_equal(ferry_vidmm_put_back(world->manager, a, a, 1), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_put_back(world->manager, world->device, world->device, 1), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_create_device(world->manager, &other), FERRY_OK);
    assert_int_equal(ferry_vidmm_put_back(world->manager, other, a, 1), FERRY_ERROR_FOREIGN);
    assert_int_equal(world_place(world, a).residency_count, 2);
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    // It is on the list as ever: a job brings it in.
    world_wait(world, world_gpu_fill(world, a, 64, 64, 5));
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    for (unsigned n = 0; n < 2; n++)
        assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_int_equal(world_evict(world, a), FERRY_ERROR_NOT_RESIDENT);
    world_close(world);
}

// What does not fit beside an overlay shows when the whole list is planned, before anything has moved.
static void R213_R221_a_list_without_room_moves_nothing(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE above = world_create(world, PAGES(2), CPU | DXGK_ALLOC_FLAG_OVERLAY),
                  overlay = world_create(world, PAGES(2), CPU | DXGK_ALLOC_FLAG_OVERLAY);
    D3DKMT_HANDLE list[] = {world_create(world, PAGES(10), CPU), world_create(world, PAGES(52), CPU)};
    D3DKMT_HANDLE idle = world_create(world, PAGES(30), CPU);
    world_require(world, above);
    world_require(world, overlay);
    world_write(world, idle, 1);
    world_require(world, idle);
    assert_int_equal(world_evict(world, idle), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, above), FERRY_OK);
    struct ferry_vidmm_statistics before = world_statistics(world);
    size_t entries = spy.count;
    // 62 pages are all that is left, and two of them lie above the overlay.
    assert_int_equal(world_resident(world, list, 2), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(spy.count, entries);
    assert_int_equal(world_place(world, list[0]).segment, 0);
    assert_int_equal(world_place(world, list[0]).residency_count, 0);
    assert_int_equal(world_place(world, idle).segment, machine_local_segment);
    assert_int_equal(world_statistics(world).bytes_moved, before.bytes_moved);
    assert_int_equal(world_statistics(world).evictions, before.evictions);
    assert_true(world_resident(world, &list[1], 1) >= 0);
    world_close(world);
}

static void R216_ok_means_usable_at_once(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    world_write(world, a, 1);
    world_require(world, a);
    world->knobs->delay = 5;
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &a};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_OK);
    assert_int_equal(ferry_vidmm_hresult(FERRY_OK), S_OK);
    world_check_gpu(world, a, 1);
    world_close(world);
}

static void R217_R218_pending_hands_out_a_fence_value(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->delay = 5;
    uint64_t last = 0, seen;
    for (unsigned i = 0; i < 5; i++) {
        D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
        world_write(world, a, i);
        D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &a};
        assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
        assert_int_equal(ferry_vidmm_hresult(FERRY_PENDING), E_PENDING);
        assert_int_equal(arguments.PagingFenceValue, last + 1); // no value was burnt
        assert_int_equal(world_place(world, a).residency_count, 1);
        last = arguments.PagingFenceValue;
        assert_int_equal(ferry_vidmm_paging_fence(world->manager, world->queue, &seen), FERRY_OK);
        assert_true(seen < last);
        assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, last), FERRY_OK);
        assert_int_equal(ferry_vidmm_paging_fence(world->manager, world->queue, &seen), FERRY_OK);
        assert_int_equal(seen, last);
        world_check_gpu(world, a, i);
    }
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, last + 1), FERRY_ERROR_ARGUMENT);
    world_close(world);
}

static void R218_a_submit_waits_by_itself(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->delay = 9;
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), b = world_create(world, PAGES(2), CPU);
    world_write(world, a, 1);
    D3DKMT_HANDLE list[] = {a, b};
    assert_int_equal(world_resident(world, list, 2), FERRY_PENDING);
    world_wait(world, world_gpu_copy(world, b, 0, a, 0, PAGES(2)));
    world_check_gpu(world, b, 1);
    world_close(world);
}

static void R219_a_faulting_page_in_is_reported(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    world_write(world, a, 1);
    world->knobs->delay = 3;
    world->knobs->fault_paging = 1;
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &a};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, arguments.PagingFenceValue),
                     FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 1);
    D3DKMT_DEVICEEXECUTION_STATE device;
    assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &device), FERRY_OK);
    assert_int_equal(device, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &address), FERRY_ERROR_DEVICE_LOST);
    // Another device goes on.
    D3DKMT_HANDLE other;
    assert_int_equal(ferry_vidmm_create_device(world->manager, &other), FERRY_OK);
    world_close(world);
}

static void R220_R221_R222_out_of_memory_changes_no_count_and_says_how_much(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE list[5];
    for (unsigned i = 0; i < 3; i++)
        list[i] = world_create(world, PAGES(30), CPU);
    list[3] = list[2], list[4] = list[0]; // more than once
    world_require(world, list[0]);
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 5, .AllocationList = list};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(ferry_vidmm_hresult(FERRY_ERROR_NO_VIDEO_MEMORY), E_OUTOFMEMORY);
    assert_int_equal(arguments.NumBytesToTrim, PAGES(90 - 64));
    assert_int_equal(world_place(world, list[0]).residency_count, 1);
    for (unsigned i = 1; i < 3; i++) {
        assert_int_equal(world_place(world, list[i]).residency_count, 0);
        assert_int_equal(world_place(world, list[i]).segment, 0);
    }
    assert_int_equal(world_statistics(world).required_bytes, PAGES(30));
    world_close(world);
}

static void R222_R223_trimming_through_evict_makes_room(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU), b = world_create(world, PAGES(40), CPU);
    world_require(world, a);
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &b};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(arguments.NumBytesToTrim, PAGES(16));
    assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_true(ferry_vidmm_make_resident(world->manager, &arguments) >= 0);
    world_close(world);
}

static void R224_R225_a_budget_lowered_in_between(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU), b = world_create(world, PAGES(40), CPU);
    world_require(world, a);
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &b};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    uint64_t trimmed = PAGES(40);
    assert_true(arguments.NumBytesToTrim <= trimmed);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(30)), FERRY_OK);
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(arguments.NumBytesToTrim, PAGES(10));
    assert_int_equal(ferry_vidmm_set_budget(world->manager, 0), FERRY_OK);
    assert_true(ferry_vidmm_make_resident(world->manager, &arguments) >= 0);
    world_close(world);
}

static void R224_a_lower_budget_refuses_nobody_who_asks_for_nothing_new(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(20), CPU), b = world_create(world, PAGES(20), CPU);
    D3DKMT_HANDLE in_aperture = world_create_in_aperture(world, PAGES(4), CPU), both[] = {a, in_aperture};
    world_require(world, a);
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(10)), FERRY_OK);
    assert_true(world_resident(world, NULL, 0) >= 0);
    assert_true(world_resident(world, &a, 1) >= 0);
    assert_true(world_resident(world, &in_aperture, 1) >= 0);
    assert_true(world_resident(world, both, 2) >= 0);
    assert_int_equal(world_place(world, a).residency_count, 3);
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    // The last attempt of the same, which would put the device in error.
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 2, .AllocationList = both};
    arguments.Flags.CantTrimFurther = arguments.Flags.MustSucceed = 1;
    assert_true(ferry_vidmm_make_resident(world->manager, &arguments) >= 0);
    // Something new is another matter.
    assert_int_equal(world_resident(world, &b, 1), FERRY_ERROR_NO_VIDEO_MEMORY);
    D3DKMT_DEVICEEXECUTION_STATE device;
    assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &device), FERRY_OK);
    assert_int_equal(device, D3DKMT_DEVICEEXECUTION_ACTIVE);
    world_close(world);
}

static void R224_a_lower_budget_evicts_at_evict(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(20), CPU), b = world_create(world, PAGES(20), CPU);
    world_require(world, a);
    world_require(world, b);
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(25)), FERRY_OK);
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    D3DDDICB_EVICT arguments = {.NumAllocations = 1, .AllocationList = &a};
    assert_int_equal(ferry_vidmm_evict(world->manager, world->device, &arguments), FERRY_OK);
    assert_int_equal(arguments.NumBytesToTrim, 0);
    assert_int_equal(world_place(world, a).segment, 0);
    assert_int_equal(world_place(world, b).segment, machine_local_segment);
    world_close(world);
}

static void R221_a_failing_page_in_rolls_back(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU), b = world_create(world, PAGES(40), CPU);
    world_write(world, a, 1);
    world_require(world, a);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    world->knobs->host_pages = 10; // a cannot be written back
    assert_int_equal(world_resident(world, &b, 1), FERRY_ERROR_NO_HOST_MEMORY);
    assert_int_equal(world_place(world, b).residency_count, 0);
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    world->knobs->host_pages = -1;
    world_require(world, b);
    world_check(world, a, 1);
    world_close(world);
}

static void R228_R230_must_succeed_failure_puts_the_device_in_error(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(65), CPU), b = world_create(world, PAGES(1), CPU);
    world_require(world, b);
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &a};
    arguments.Flags.MustSucceed = 1;
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_ARGUMENT);
    arguments.Flags.CantTrimFurther = 1;
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    D3DKMT_DEVICEEXECUTION_STATE device;
    assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &device), FERRY_OK);
    assert_int_equal(device, D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY);
    struct machine_job job = {0};
    machine_job_fill(&job, 0, 0, 64, 1);
    struct ferry_vidmm_reference reference = {b, true};
    struct ferry_vidmm_submission submission = machine_job_buffer(&job, &reference, 1);
    uint64_t fence;
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &submission, 1, &fence),
                     FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_DEVICE_LOST);
    world_close(world);
}

static void an_empty_list_is_accepted(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    assert_int_equal(world_resident(world, NULL, 0), FERRY_OK);
    world_close(world);
}

static void evicted_allocations_stay_until_room_is_needed(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(30), CPU), b = world_create(world, PAGES(30), CPU);
    world_write(world, a, 1);
    world_require(world, a);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    spy_clear();
    world_require(world, a); // still there: nothing moves
    assert_int_equal(spy.builds, 0);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    world_require(world, b);
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    D3DKMT_HANDLE c = world_create(world, PAGES(10), CPU);
    world_require(world, c);
    assert_int_equal(world_place(world, a).segment, 0);
    assert_int_equal(world_statistics(world).evictions, 1);
    world_check(world, a, 1);
    world_close(world);
}

static void what_is_required_is_never_a_victim(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE keep = world_create(world, PAGES(20), CPU);
    world_write(world, keep, 1);
    world_require(world, keep);
    for (unsigned i = 0; i < 20; i++) {
        D3DKMT_HANDLE a = world_create(world, PAGES(1 + i % 40), CPU);
        world_write(world, a, i);
        world_require(world, a);
        world_gpu_fill(world, a, 0, 64, i);
        assert_int_equal(world_evict(world, a), FERRY_OK);
        assert_int_equal(world_place(world, keep).segment, machine_local_segment);
    }
    world_check_gpu(world, keep, 1);
    world_close(world);
}

// The fence order of two queues, and handing out nothing to a call that fails.
static void R218_values_of_a_queue_grow_and_failures_burn_none(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->delay = 4;
    D3DKMT_HANDLE other;
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, world->device, 1, &other), FERRY_OK);
    D3DKMT_HANDLE too_large = world_create(world, PAGES(65), CPU);
    uint64_t expected[2] = {0, 0};
    for (unsigned i = 0; i < 12; i++) {
        D3DKMT_HANDLE a = world_create(world, PAGES(1), CPU);
        D3DDDI_MAKERESIDENT arguments = {
            .hPagingQueue = i % 3 ? world->queue : other, .NumAllocations = 1, .AllocationList = &a};
        assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
        assert_int_equal(arguments.PagingFenceValue, ++expected[i % 3 ? 0 : 1]);
        arguments.AllocationList = &too_large;
        assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    }
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, other, expected[1]), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_paging_queue(world->manager, world->queue), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_paging_queue(world->manager, world->queue), FERRY_ERROR_HANDLE);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R213_R214_R215_make_resident_counts_each_time),
        cmocka_unit_test(R214_no_count_begins_anew),
        cmocka_unit_test(what_was_taken_off_a_count_is_put_back),
        cmocka_unit_test(what_was_taken_off_leaves_for_the_budget),
        cmocka_unit_test(R213_R221_a_list_without_room_moves_nothing),
        cmocka_unit_test(R216_ok_means_usable_at_once),
        cmocka_unit_test(R217_R218_pending_hands_out_a_fence_value),
        cmocka_unit_test(R218_a_submit_waits_by_itself),
        cmocka_unit_test(R219_a_faulting_page_in_is_reported),
        cmocka_unit_test(R220_R221_R222_out_of_memory_changes_no_count_and_says_how_much),
        cmocka_unit_test(R222_R223_trimming_through_evict_makes_room),
        cmocka_unit_test(R224_R225_a_budget_lowered_in_between),
        cmocka_unit_test(R224_a_lower_budget_refuses_nobody_who_asks_for_nothing_new),
        cmocka_unit_test(R224_a_lower_budget_evicts_at_evict),
        cmocka_unit_test(R221_a_failing_page_in_rolls_back),
        cmocka_unit_test(R228_R230_must_succeed_failure_puts_the_device_in_error),
        cmocka_unit_test(an_empty_list_is_accepted),
        cmocka_unit_test(evicted_allocations_stay_until_room_is_needed),
        cmocka_unit_test(what_is_required_is_never_a_victim),
        cmocka_unit_test(R218_values_of_a_queue_grow_and_failures_burn_none),
    };
    return WORLD_RUN(tests);
}
