// SPDX-License-Identifier: Apache-2.0
// Backing stores and CPU access.
#include <stdlib.h>

#include "world.h"

static void R106_R107_R179_lock_needs_cpu_visible(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    void *address;
    D3DKMT_HANDLE hidden = world_create(world, PAGES(2), 0);
    assert_int_equal(ferry_vidmm_lock(world->manager, hidden, 0, &address), FERRY_ERROR_NOT_LOCKABLE);
    D3DKMT_HANDLE on_demand = world_create(world, PAGES(2), DXGK_ALLOC_FLAG_CPU_VISIBLE_ON_DEMAND);
    world_write(world, on_demand, 4);
    world_require(world, on_demand);
    world_check_gpu(world, on_demand, 4);
    world_check(world, on_demand, 4);
    world_close(world);
}

static void R109_R113_permanent_keeps_and_locks_its_backing_store(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(3), PERMANENT);
    assert_true(world_place(world, a).has_backing);
    void *before, *during;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &before), FERRY_OK);
    ferry_vidmm_unlock(world->manager, a);
    world_write(world, a, 1);
    world_require(world, a);
    assert_true(world_place(world, a).has_backing);
    assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &during), FERRY_OK);
    assert_ptr_equal(before, during);
    assert_int_equal(world_place(world, a).segment, machine_local_segment); // it did not have to leave
    ferry_vidmm_unlock(world->manager, a);
    world_close(world);
}

static void R110_backing_is_released_once_content_has_moved(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(3), CPU);
    world_write(world, a, 1);
    assert_true(world_place(world, a).has_backing);
    size_t pages = machine_pages_out(world->machine);
    world->knobs->delay = 4;
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &a};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
    size_t held = machine_pages_out(world->machine); // with the paging buffer's own page
    assert_true(held >= pages);                      // the GPU is still reading them
    assert_int_equal(world_statistics(world).backing_bytes, PAGES(3));
    ferry_vidmm_wait_paging(world->manager, world->queue, arguments.PagingFenceValue);
    assert_int_equal(machine_pages_out(world->machine), held - 3);
    assert_false(world_place(world, a).has_backing);
    assert_int_equal(world_statistics(world).backing_bytes, 0);
    world_check_gpu(world, a, 1);
    world_close(world);
}

static void R111_R112_clean_is_discarded_dirty_is_paged_out(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(3), PERMANENT), b = world_create(world, PAGES(3), PERMANENT);
    world_write(world, a, 1);
    world_write(world, b, 2);
    world_require(world, a);
    world_require(world, b);
    world_gpu_copy(world, a, 0, b, 0, PAGES(3)); // writes a, only reads b
    assert_true(world_place(world, a).dirty);
    assert_false(world_place(world, b).dirty);
    assert_int_equal(world_evict(world, b), FERRY_OK);
    world_force_out(world, a);
    struct ferry_vidmm_statistics statistics = world_statistics(world);
    assert_int_equal(statistics.bytes_out, PAGES(3));
    assert_int_equal(statistics.bytes_discarded, PAGES(3));
    world_check(world, a, 2);
    world_check(world, b, 2);
    // In again and out again without a write: clean once more.
    world_require(world, a);
    world_force_out(world, a);
    assert_int_equal(world_statistics(world).bytes_out, PAGES(3));
    world_close(world);
}

static void R113_lock_of_dirty_permanent_memory_shows_what_the_gpu_wrote(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->delay = 5;
    D3DKMT_HANDLE a = world_create(world, PAGES(3), PERMANENT);
    world_require(world, a);
    world_gpu_fill(world, a, PAGE_SIZE, PAGE_SIZE, 0x600D);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    assert_int_equal(((uint32_t *)address)[PAGE_SIZE / 4], 0x600D);
    assert_int_equal(((uint32_t *)address)[0], 0);
    ferry_vidmm_unlock(world->manager, a);
    assert_false(world_place(world, a).dirty);
    world_close(world);
}

static void R114_R115_R116_unlock_updates_video_memory_by_an_ordinary_transfer(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(8), PERMANENT);
    world_write(world, a, 1);
    world_require(world, a);
    void *address;
    assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, 0, 2, 3, &address), FERRY_OK);
    memset((uint8_t *)address + PAGES(2), 0x33, PAGES(3));
    spy_clear();
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &spy_build(DXGK_OPERATION_TRANSFER, 0)->before.Transfer;
    assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), 1);
    assert_int_equal(t->TransferOffset, PAGES(2));
    assert_int_equal(t->MdlOffset, 2);
    assert_int_equal(t->TransferSize, PAGES(3));
    assert_int_equal(t->Destination.SegmentId, machine_local_segment);
    assert_true(t->Flags.TransferStart && t->Flags.TransferEnd);
    uint8_t seen[PAGES(8)];
    machine_peek(world->machine, machine_local_segment, world_place(world, a).offset, seen, PAGES(8));
    assert_memory_equal(seen, address, PAGES(8));
    // A lock for reading changes nothing, so nothing is transferred.
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    spy_clear();
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    assert_int_equal(spy.builds, 0);
    world_close(world);
}

static void R119_R120_R128_the_page_list_says_cached_and_kernel(void **state)
{
    (void)state;
    static const struct {
        UINT flags;
        unsigned marks;
    } cases[] = {
        {CPU, 0}, {CPU | DXGK_ALLOC_FLAG_CACHED, MDL_FLAG_CACHED}, {DXGK_ALLOC_FLAG_PROTECTED, MDL_FLAG_KERNEL}};
    for (unsigned i = 0; i < 3; i++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(2), cases[i].flags);
        world_require(world, a);
        size_t last = spy_builds(DXGK_OPERATION_MAP_APERTURE_SEGMENT) - 1;
        const MDL *mdl = spy_build(DXGK_OPERATION_MAP_APERTURE_SEGMENT, last)->before.MapApertureSegment.pMdl;
        assert_int_equal(mdl->Flags & (MDL_FLAG_CACHED | MDL_FLAG_KERNEL), cases[i].marks);
        world_close(world);
    }
}

static void R121_R123_cached_pages_are_flushed_at_hand_over_others_are_not(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE plain = world_create(world, PAGES(2), CPU);
    world_write(world, plain, 1);
    world_require(world, plain);
    assert_int_equal(world_statistics(world).cache_flushes, 0);
    uint8_t *memory = aligned_alloc(PAGE_SIZE, PAGES(2));
    struct ferry_allocation_private wanted = world_private(PAGES(2), CPU | DXGK_ALLOC_FLAG_EXISTING_SYSMEM);
    struct ferry_vidmm_allocation_options options = {.existing = memory, .existing_bytes = PAGES(2)};
    D3DKMT_HANDLE existing, cached;
    assert_int_equal(world_try_create(world, &wanted, &options, &existing, NULL), FERRY_OK);
    world_require(world, existing);
    assert_int_equal(world_statistics(world).cache_flushes, 0);
    cached = world_create(world, PAGES(2), CPU | DXGK_ALLOC_FLAG_CACHED);
    world_write(world, cached, 1);
    uint64_t before = world_statistics(world).cache_flushes;
    world_require(world, cached);
    assert_true(world_statistics(world).cache_flushes > before);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, existing), FERRY_OK);
    free(memory);
    world_close(world);
}

static void R122_R131_R136_R140_R141_existing_memory_is_the_backing_store(void **state)
{
    (void)state;
    static const UINT kinds[] = {DXGK_ALLOC_FLAG_EXISTING_SYSMEM, DXGK_ALLOC_FLAG_EXISTING_KERNEL_SYSMEM};
    for (unsigned i = 0; i < 2; i++) {
        struct world *world = world_open_default();
        uint32_t *memory = aligned_alloc(PAGE_SIZE, PAGES(4));
        for (unsigned w = 0; w < PAGES(4) / 4; w++)
            memory[w] = world_word(50, w);
        struct ferry_allocation_private wanted = world_private(PAGES(4), CPU | DXGK_ALLOC_FLAG_CACHED | kinds[i]);
        struct ferry_vidmm_allocation_options options = {.existing = memory, .existing_bytes = PAGES(4)};
        D3DKMT_HANDLE a;
        assert_int_equal(world_try_create(world, &wanted, &options, &a, NULL), FERRY_OK);
        world_require(world, a);
        world_check_gpu(world, a, 50);
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &address), FERRY_OK);
        assert_ptr_equal(address, memory);
        memory[0] = 1;
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        uint32_t word;
        machine_peek(world->machine, machine_local_segment, world_place(world, a).offset, &word, 4);
        assert_int_equal(word, 1);
        world_gpu_fill(world, a, 4, 4, 2);
        world_force_out(world, a);
        assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        assert_int_equal(memory[1], 2);
        ferry_vidmm_unlock(world->manager, a);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
        memory[2] = 3; // still the caller's
        free(memory);
        world_close(world);
    }
}

static void a_lock_brings_other_memory_out_and_the_next_job_brings_it_back(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->delay = 3;
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world_write(world, a, 1);
    world_require(world, a);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &address), FERRY_OK);
    assert_int_equal(world_place(world, a).segment, 0);
    assert_int_equal(world_place(world, a).residency_count, 1);
    ((uint32_t *)address)[1] = 77;
    // In the CPU's hands no job may use it.
    struct machine_job job = {0};
    machine_job_fill(&job, 0, 0, 4, 9);
    struct ferry_vidmm_reference reference = {a, true};
    struct ferry_vidmm_submission submission = machine_job_buffer(&job, &reference, 1);
    uint64_t fence;
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &submission, 1, &fence), FERRY_ERROR_LOCKED);
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    world_wait(world, world_gpu_fill(world, a, 0, 4, 9));
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    uint32_t words[2];
    machine_peek(world->machine, machine_local_segment, world_place(world, a).offset, words, 8);
    assert_int_equal(words[0], 9);
    assert_int_equal(words[1], 77);
    world_close(world);
}

// Who only reads finds the pattern, and nothing has been written that would have to be copied.
static void what_was_only_read_is_filled_by_the_gpu(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create_filled(world, PAGES(3), CPU, 0xC0FFEE01);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    for (uint64_t i = 0; i < PAGES(3) / 4; i++)
        assert_int_equal(((const uint32_t *)address)[i], 0xC0FFEE01);
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    world_require(world, a);
    assert_int_equal(world_statistics(world).bytes_filled, PAGES(3));
    assert_int_equal(world_statistics(world).bytes_in, 0);
    world_close(world);
}

static void do_not_wait_says_busy(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world_require(world, a);
    void *address;
    world->knobs->delay = 20;
    uint64_t fence = world_gpu_fill(world, a, 0, 4, 1);
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_DO_NOT_WAIT, &address), FERRY_ERROR_BUSY);
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    world_wait(world, fence);
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_DO_NOT_WAIT, &address), FERRY_OK);
    ferry_vidmm_unlock(world->manager, a);
    world_close(world);
}

static void R238_discard_moves_no_old_content(void **state)
{
    (void)state;
    for (unsigned permanent = 0; permanent < 2; permanent++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create(world, PAGES(4), permanent ? PERMANENT : CPU);
        world_require(world, a);
        world_gpu_fill(world, a, 0, PAGES(4), 1);
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY, &address),
                         FERRY_OK);
        assert_int_equal(world_statistics(world).bytes_out, 0);
        for (unsigned i = 0; i < PAGES(4) / 4; i++)
            ((uint32_t *)address)[i] = world_word(8, i);
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        world_gpu_copy(world, a, 0, a, 0, 4); // brings it in
        world_check_gpu(world, a, 8);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R106_R107_R179_lock_needs_cpu_visible),
        cmocka_unit_test(R109_R113_permanent_keeps_and_locks_its_backing_store),
        cmocka_unit_test(R110_backing_is_released_once_content_has_moved),
        cmocka_unit_test(R111_R112_clean_is_discarded_dirty_is_paged_out),
        cmocka_unit_test(R113_lock_of_dirty_permanent_memory_shows_what_the_gpu_wrote),
        cmocka_unit_test(R114_R115_R116_unlock_updates_video_memory_by_an_ordinary_transfer),
        cmocka_unit_test(R119_R120_R128_the_page_list_says_cached_and_kernel),
        cmocka_unit_test(R121_R123_cached_pages_are_flushed_at_hand_over_others_are_not),
        cmocka_unit_test(R122_R131_R136_R140_R141_existing_memory_is_the_backing_store),
        cmocka_unit_test(a_lock_brings_other_memory_out_and_the_next_job_brings_it_back),
        cmocka_unit_test(what_was_only_read_is_filled_by_the_gpu),
        cmocka_unit_test(do_not_wait_says_busy),
        cmocka_unit_test(R238_discard_moves_no_old_content),
    };
    return WORLD_RUN(tests);
}
