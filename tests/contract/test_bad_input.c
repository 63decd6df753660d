// SPDX-License-Identifier: Apache-2.0
// Bad input, faulting jobs and a node that hangs: a named status each time, and nothing else changes.
#include <stdlib.h>

#include "vidmm/api/manager.h"
#include "world.h"

static void sizes_that_cannot_be(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE handle = 0;
    static const uint64_t sizes[] = {0, UINT64_MAX, UINT64_MAX - 4095, FERRY_VIDMM_MAX_ALLOCATION_BYTES + 1};
    for (unsigned i = 0; i < 4; i++) {
        struct ferry_allocation_private wanted = world_private(sizes[i], CPU);
        assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_ERROR_ARGUMENT);
    }
    world->knobs->zero_size = true;
    assert_int_equal(world_try_flags(world, CPU, NULL), FERRY_ERROR_ARGUMENT);
    world->knobs->zero_size = false;
    world->knobs->segment_set = 8;
    assert_int_equal(world_try_flags(world, CPU, NULL), FERRY_ERROR_UNSUPPORTED);
    world->knobs->segment_set = 8 | 1; // a good one beside it does not help
    assert_int_equal(world_try_flags(world, CPU, NULL), FERRY_ERROR_UNSUPPORTED);
    world->knobs->segment_set = 0;
    // Larger than video memory can be created, and never be resident.
    D3DKMT_HANDLE large = world_create(world, PAGES(1000), CPU);
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &large};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(arguments.NumBytesToTrim, PAGES(1000 - 64));
    assert_int_equal(world_place(world, large).residency_count, 0);
    world_close(world);
}

static void null_foreign_and_stale_handles(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_vidmm *m = world->manager;
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), other, theirs;
    void *address;
    assert_int_equal(ferry_vidmm_create_device(m, &other), FERRY_OK);
    D3DKMT_HANDLE bad[] = {0, 1, UINT32_MAX, world->device, world->queue, world->context, a ^ 1u << 21, a + 1000};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(ferry_vidmm_destroy_allocation(m, bad[i]), FERRY_ERROR_HANDLE);
        assert_int_equal(ferry_vidmm_lock(m, bad[i], 0, &address), FERRY_ERROR_HANDLE);
        assert_int_equal(ferry_vidmm_unlock(m, bad[i]), FERRY_ERROR_HANDLE);
        assert_int_equal(world_resident(world, &bad[i], 1), FERRY_ERROR_HANDLE);
        assert_int_equal(world_evict(world, bad[i]), FERRY_ERROR_HANDLE);
    }
    // All of a list or nothing, wherever the bad one stands.
    D3DKMT_HANDLE list[] = {a, 12345};
    assert_int_equal(world_resident(world, list, 2), FERRY_ERROR_HANDLE);
    assert_int_equal(world_place(world, a).residency_count, 0);
    // Another device's.
    struct ferry_allocation_private wanted = world_private(PAGES(2), CPU);
    struct ferry_vidmm_allocation_options options = {
        .size = sizeof(options), .private_data = &wanted, .private_data_bytes = sizeof(wanted)};
    assert_int_equal(ferry_vidmm_create_allocation(m, other, &options, &theirs, NULL), FERRY_OK);
    assert_int_equal(world_resident(world, &theirs, 1), FERRY_ERROR_FOREIGN);
    assert_int_equal(world_evict(world, theirs), FERRY_ERROR_FOREIGN);
    assert_int_equal(ferry_vidmm_destroy_device(m, other), FERRY_OK);
    assert_int_equal(world_resident(world, &theirs, 1), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_destroy_device(m, other), FERRY_ERROR_HANDLE);
    // Use after destroy, also when the slot has a new owner.
    assert_int_equal(ferry_vidmm_destroy_allocation(m, a), FERRY_OK);
    D3DKMT_HANDLE next = world_create(world, PAGES(2), CPU);
    assert_int_not_equal(next, a);
    assert_int_equal(ferry_vidmm_destroy_allocation(m, a), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_lock(m, a, 0, &address), FERRY_ERROR_HANDLE);
    // Null pointers.
    assert_int_equal(ferry_vidmm_create_device(m, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_make_resident(m, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_lock(m, next, 0, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_lock(m, next, 0x800, &address), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_lock(m, next, 3, &address), FERRY_ERROR_ARGUMENT);
    world_close(world);
}

static void locks_twice_unlocks_twice_and_destroys_locked(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    void *address;
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_ERROR_NOT_LOCKED);
    assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, 0, 2, 1, &address), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, 0, 1, UINT64_MAX, &address), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, 0, 0, 0, &address), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &address), FERRY_OK);
    assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &address), FERRY_ERROR_LOCKED);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_ERROR_LOCKED);
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_ERROR_NOT_LOCKED);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
    world_close(world);
}

static void bad_submissions_change_nothing(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    struct machine_job job = {0};
    machine_job_fill(&job, 0, 0, 64, 1);
    struct ferry_vidmm_reference reference = {a, true};
    struct ferry_vidmm_submission good = {.commands = job.commands,
                                          .bytes = job.bytes,
                                          .references = &reference,
                                          .reference_count = 1,
                                          .patches = job.patches,
                                          .patch_count = job.patch_count},
                                  s = good;
    uint64_t fence = 0;
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &s, 1, &fence), FERRY_ERROR_NOT_RESIDENT);
    world_require(world, a);
    s.bytes = 0;
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &s, 1, &fence), FERRY_ERROR_ARGUMENT);
    s = good;
    s.bytes = 5000;
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &s, 1, &fence), FERRY_ERROR_ARGUMENT);
    s = good;
    s.commands = NULL;
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &s, 1, &fence), FERRY_ERROR_ARGUMENT);
    s = good;
    D3DDDI_PATCHLOCATIONLIST patch = job.patches[0];
    s.patches = &patch;
    patch.AllocationIndex = 1;
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &s, 1, &fence), FERRY_ERROR_ARGUMENT);
    patch = job.patches[0];
    patch.PatchOffset = job.bytes - 7;
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &s, 1, &fence), FERRY_ERROR_RANGE);
    patch = job.patches[0];
    patch.AllocationOffset = PAGES(2) + 1;
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &s, 1, &fence), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_vidmm_submit(world->manager, world->device, &good, 1, &fence), FERRY_ERROR_HANDLE);
    assert_int_equal(fence, 0);
    assert_int_equal(world_statistics(world).jobs, 0);
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &good, 1, &fence), FERRY_OK);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_OK);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence + 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, 0), FERRY_ERROR_ARGUMENT);
    world_close(world);
}

static void a_faulting_job_is_told_and_the_next_one_runs(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->delay = 2;
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    world_require(world, a);
    world->knobs->fault_jobs = 1;
    uint64_t bad = world_gpu_fill(world, a, 0, 4, 1), good = world_gpu_fill(world, a, 4, 4, 2);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, good), FERRY_OK);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, bad), FERRY_ERROR_FAULT);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, bad), FERRY_ERROR_FAULT);
    assert_int_equal(world_statistics(world).faulted_jobs, 1);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    assert_int_equal(((uint32_t *)address)[0], 0);
    assert_int_equal(((uint32_t *)address)[1], 2);
    ferry_vidmm_unlock(world->manager, a);
    world_close(world);
}

static void a_hanging_node_is_reset_and_goes_on(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), untouched = world_create(world, PAGES(8), CPU);
    world_write(world, untouched, 3);
    world_require(world, untouched);
    world_require(world, a);
    world->knobs->delay = 2;
    world->knobs->hang = true;
    uint64_t lost = world_gpu_fill(world, a, 0, 4, 1);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, lost), FERRY_ERROR_FAULT);
    world_wait(world, world_gpu_fill(world, a, 0, 4, 2));
    uint32_t word;
    machine_peek(world->machine, machine_local_segment, world_place(world, a).offset, &word, 4);
    assert_int_equal(word, 2);
    world_check_gpu(world, untouched, 3);
    world_close(world);
}

// The list lies where the manager itself changes it: what it names is there when it is checked, and not afterwards.
static void an_evict_reads_its_list_once(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE handle = world_create(world, PAGES(1), CPU);
    world_require(world, handle);
    struct ferry_vm_allocation *allocation =
        ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_ALLOCATION, handle);
    allocation->count = handle;
    D3DDDICB_EVICT arguments = {.NumAllocations = 1, .AllocationList = &allocation->count};
    assert_int_equal(ferry_vidmm_evict(world->manager, world->device, &arguments), FERRY_OK);
    assert_int_equal(allocation->count, handle - 1);
    assert_false(allocation->not_written); // it was this one whose evict told of writes
    allocation->count = 1;
    assert_int_equal(world_evict(world, handle), FERRY_OK);
    assert_int_equal(world_statistics(world).required_bytes, 0);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_evict_reads_its_list_once),
        cmocka_unit_test(sizes_that_cannot_be),
        cmocka_unit_test(null_foreign_and_stale_handles),
        cmocka_unit_test(locks_twice_unlocks_twice_and_destroys_locked),
        cmocka_unit_test(bad_submissions_change_nothing),
        cmocka_unit_test(a_faulting_job_is_told_and_the_next_one_runs),
        cmocka_unit_test(a_hanging_node_is_reset_and_goes_on),
    };
    return WORLD_RUN(tests);
}
