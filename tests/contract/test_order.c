// SPDX-License-Identifier: Apache-2.0
// What waits for what, and for nothing else. One node's work is held back by the machine, so that it is not a matter of
// luck whether a manager that forgets to wait is found out.
#include "world.h"

// Every node that runs jobs, one after the other.
static bool context_on(struct world *world, uint32_t node, D3DKMT_HANDLE *context)
{
    int result = ferry_vidmm_create_context(world->manager, world->device, node, context, NULL);
    assert_true(result == FERRY_OK || node > 2);
    return result == FERRY_OK;
}

static uint64_t fill_on(struct world *world, D3DKMT_HANDLE context, D3DKMT_HANDLE allocation, uint32_t pattern)
{
    struct machine_job job = {0};
    machine_job_fill(&job, 0, 0, PAGE_SIZE, pattern);
    struct ferry_vidmm_reference reference = {allocation, true};
    return world_submit(world, context, &job, &reference, 1);
}

static void hold(struct world *world, unsigned node, unsigned turns)
{
    world->knobs->delay = 1;
    world->knobs->hold_node = node;
    world->knobs->hold_paging = node == 0;
    world->knobs->hold_turns = turns;
}

static uint32_t first_word(struct world *world, D3DKMT_HANDLE allocation, uint32_t flags)
{
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, flags, &address), FERRY_OK);
    uint32_t word = *(uint32_t *)address;
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
    return word;
}

// In the aperture nothing but the wait itself stands between the CPU and the GPU.
static void a_lock_waits_for_the_jobs_of_every_node(void **state)
{
    (void)state;
    static const UINT flags[] = {CPU, PERMANENT, CPU | DXGK_ALLOC_FLAG_CACHED};
    D3DKMT_HANDLE context;
    for (unsigned node = 1, more = 1; more; node++)
        for (unsigned kind = 0; kind < 3 && more; kind++) {
            struct world *world = world_open_default();
            more = context_on(world, node, &context);
            if (more) {
                bool aperture = kind == 2;
                D3DKMT_HANDLE a = aperture ? world_create_in_aperture(world, PAGES(2), flags[kind])
                                           : world_create(world, PAGES(2), flags[kind]),
                              source = world_create_filled(world, PAGES(2), CPU, 0x100 + node);
                world_require(world, a);
                world_require(world, source);
                hold(world, node, 7);
                world_copy_on(world, context, a, source, PAGE_SIZE);
                assert_int_equal(first_word(world, a, D3DDDI_LOCK_READ_ONLY), 0x100 + node);
            }
            world_close(world);
        }
}

// The room of an allocation goes to another one only when the jobs that use it are done, whatever node they run on.
static void a_page_out_waits_for_the_jobs_of_every_node(void **state)
{
    (void)state;
    D3DKMT_HANDLE context;
    for (unsigned node = 1, more = 1; more; node++) {
        struct world *world = world_open_default();
        more = context_on(world, node, &context);
        if (more) {
            D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU), b = world_create(world, PAGES(40), CPU);
            world_write(world, b, 5);
            world_require(world, a);
            hold(world, node, 7);
            uint64_t fence = fill_on(world, context, a, 0x200 + node);
            assert_int_equal(world_evict(world, a), FERRY_OK);
            world_require(world, b);
            assert_int_equal(ferry_vidmm_wait(world->manager, context, fence), FERRY_OK);
            world_check_gpu(world, b, 5);
            assert_int_equal(first_word(world, a, D3DDDI_LOCK_READ_ONLY), 0x200 + node);
        }
        world_close(world);
    }
}

static void R218_R219_a_job_waits_for_the_paging_of_its_allocations(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), copy = world_create(world, PAGES(2), CPU);
    world_write(world, a, 6);
    world_require(world, copy);
    hold(world, 0, 7);
    assert_int_equal(world_resident(world, &a, 1), FERRY_PENDING);
    world_wait(world, world_gpu_copy(world, copy, 0, a, 0, PAGES(2))); // without any wait in between
    world_check_gpu(world, copy, 6);
    world_close(world);
}

struct fill_seen {
    struct world *world;
    HANDLE allocation;
    bool early;
};

static void look_for_early_fill(void *context)
{
    struct fill_seen *seen = context;
    seen->early |= spy.building->Operation == DXGK_OPERATION_FILL &&
                   spy.building->Fill.hAllocation == seen->allocation && seen->world->knobs->hold_node != 0;
}

// One call that takes an allocation's place away and gives it another one, while a job still reads it in the first: b
// must lie at a multiple of 16 pages, for which a and c have to change places, so both leave and come back.
static void R46_a_fill_waits_for_the_jobs_of_its_allocation(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE context, a = world_create_filled(world, PAGES(8), CPU, 0x46), c = world_create(world, PAGES(30), CPU),
                           overlay = world_create(world, PAGES(10), CPU | DXGK_ALLOC_FLAG_OVERLAY),
                           gaps[] = {world_create(world, PAGES(7), CPU), world_create(world, PAGES(7), CPU)};
    world->knobs->own_alignment_64k = true;
    D3DKMT_HANDLE b = world_create(world, PAGES(8), CPU);
    assert_true(context_on(world, 2, &context));
    world_require(world, gaps[0]);
    spy_clear();
    world_require(world, a);
    struct fill_seen seen = {world, spy_build(DXGK_OPERATION_FILL, 0)->before.Fill.hAllocation, false};
    world_require(world, gaps[1]);
    world_require(world, c);
    world_require(world, overlay);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, gaps[i]), FERRY_OK);
    hold(world, 2, 9);
    uint64_t fence = world_gpu_name(world, context, a, false); // reads it, so it stays as filled
    assert_int_equal(world_evict(world, a), FERRY_OK);
    spy_clear();
    spy.in_build = look_for_early_fill;
    spy.in_build_context = &seen;
    D3DKMT_HANDLE both[] = {b, a};
    assert_true(world_resident(world, both, 2) >= 0);
    world_wait(world, world_gpu_name(world, world->context, a, false));
    assert_true(spy_builds(DXGK_OPERATION_FILL) >= 2);
    assert_false(seen.early);
    assert_int_equal(ferry_vidmm_wait(world->manager, context, fence), FERRY_OK);
    assert_int_equal(first_word(world, a, D3DDDI_LOCK_READ_ONLY), 0x46);
    world_close(world);
}

// The miniport may unmap by registers, at once, when the operation is built: the jobs of the range must be over by
// then.
static void R77_R78_an_unmap_is_built_when_the_jobs_of_its_range_are_done(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE context, a = world_create_in_aperture(world, PAGES(8), CPU),
                           source = world_create_filled(world, PAGES(8), CPU, 0x51);
    assert_true(context_on(world, 2, &context));
    world_require(world, a);
    world_require(world, source);
    hold(world, 2, 9);
    world_copy_on(world, context, a, source, PAGE_SIZE);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    D3DKMT_HANDLE large = world_create_in_aperture(world, PAGES(60), CPU);
    world_require(world, large); // the machine looks whether the range is in use
    assert_int_equal(first_word(world, a, D3DDDI_LOCK_READ_ONLY), 0x51);
    world_close(world);
}

static void R78_R79_R80_an_unmap_waits_for_the_jobs_of_its_range_and_for_no_others(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE context, busy = world_create_in_aperture(world, PAGES(8), CPU),
                           a = world_create_in_aperture(world, PAGES(8), CPU);
    assert_true(context_on(world, 2, &context));
    world_require(world, busy);
    world_require(world, a);
    // One job that never ends as long as the test does not say so, elsewhere in the same aperture.
    hold(world, 2, 0);
    uint64_t running = world_gpu_name(world, context, busy, false);
    uint64_t own = world_gpu_put(world, a, 0, PAGES(8), 0x51);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    D3DKMT_HANDLE large = world_create_in_aperture(world, PAGES(55), CPU); // what is left beside busy
    world_require(world, large);
    assert_int_equal(world_place(world, a).segment, 0);
    uint64_t completed = 0;
    assert_int_equal(ferry_vidmm_completed(world->manager, world->context, &completed), FERRY_OK);
    assert_true(completed >= own);
    assert_int_equal(machine_queued_jobs(world->machine), 1);
    assert_int_equal(ferry_vidmm_completed(world->manager, context, &completed), FERRY_OK);
    assert_true(completed < running);
    assert_int_equal(first_word(world, a, D3DDDI_LOCK_READ_ONLY), 0x51);
    hold(world, 0, 1);
    assert_int_equal(ferry_vidmm_wait(world->manager, context, running), FERRY_OK); // it did not fault either
    world_close(world);
}

static void R70_R71_R72_a_map_waits_for_no_job_of_another_range(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE context, busy = world_create_in_aperture(world, PAGES(8), CPU);
    assert_true(context_on(world, 2, &context));
    world_require(world, busy);
    hold(world, 2, 0);
    uint64_t running = world_gpu_name(world, context, busy, false), completed = 0;
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(8), CPU);
    world_write(world, a, 7);
    world_require(world, a);
    world_check_gpu(world, a, 7);
    assert_int_equal(ferry_vidmm_completed(world->manager, context, &completed), FERRY_OK);
    assert_true(completed < running);
    hold(world, 0, 1);
    assert_int_equal(ferry_vidmm_wait(world->manager, context, running), FERRY_OK);
    world_close(world);
}

static void R58_R62_a_lock_waits_for_its_physical_access(void **state)
{
    (void)state;
    for (unsigned writing = 0; writing < 2; writing++) {
        struct world_options options = world_defaults();
        options.machine.coherent_aperture = false;
        struct world *world = world_open(&options);
        D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(2), CPU);
        world_require(world, a);
        world_wait(world, world_gpu_put(world, a, 0, PAGES(2), 0xABCD));
        hold(world, 0, 7);
        void *address;
        uint32_t flags = writing ? D3DDDI_LOCK_WRITE_ONLY : D3DDDI_LOCK_READ_ONLY;
        assert_int_equal(ferry_vidmm_lock(world->manager, a, flags, &address), FERRY_OK);
        assert_int_equal(machine_physical_accesses(world->machine, writing), 1); // it has run, not only been built
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        world_close(world);
    }
}

// The CPU may not write pages that a transfer to video memory is still reading.
static void R114_a_lock_waits_for_the_page_in_of_an_earlier_unlock(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), PERMANENT);
    world_require(world, a);
    hold(world, 0, 7);
    void *address;
    assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, 0, 0, 1, &address), FERRY_OK);
    ((uint32_t *)address)[0] = 1;
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, 0, 1, 1, &address), FERRY_OK);
    assert_int_equal(world->knobs->hold_turns, 0);
    uint32_t word;
    machine_peek(world->machine, machine_local_segment, world_place(world, a).offset, &word, 4);
    assert_int_equal(word, 1);
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    world_close(world);
}

static void R110_pages_are_given_back_only_when_nothing_reads_them_any_more(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(8), CPU), b = world_create(world, PAGES(8), CPU);
    world_write(world, a, 1);
    hold(world, 0, 7);
    assert_int_equal(world_resident(world, &a, 1), FERRY_PENDING);
    world_write(world, b, 2); // would get a's pages if they were free
    world_wait(world, world_gpu_name(world, world->context, a, false));
    world_check_gpu(world, a, 1);
    world_close(world);
}

static void R5_R26_busy_in_a_later_pass_goes_on_where_it_was(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.paging_buffer_bytes = machine_least_page_bytes - 8 + 3 * 8; // three pages a pass
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create(world, PAGES(10), CPU);
    world_write(world, a, 6);
    world->knobs->busy_in_later_pass = true;
    spy_clear();
    world_require(world, a);
    assert_false(world->knobs->busy_in_later_pass);
    assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), 5);
    const struct spy_entry *refused = spy_build(DXGK_OPERATION_TRANSFER, 1),
                           *again = spy_build(DXGK_OPERATION_TRANSFER, 2);
    assert_int_equal(refused->status, STATUS_GRAPHICS_ALLOCATION_BUSY);
    assert_int_equal(again->before.MultipassOffset, refused->before.MultipassOffset);
    assert_true(again->before.Transfer.Flags.AllocationIsIdle);
    world_check_gpu(world, a, 6);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_waits_for_the_jobs_of_every_node),
        cmocka_unit_test(a_page_out_waits_for_the_jobs_of_every_node),
        cmocka_unit_test(R218_R219_a_job_waits_for_the_paging_of_its_allocations),
        cmocka_unit_test(R46_a_fill_waits_for_the_jobs_of_its_allocation),
        cmocka_unit_test(R77_R78_an_unmap_is_built_when_the_jobs_of_its_range_are_done),
        cmocka_unit_test(R78_R79_R80_an_unmap_waits_for_the_jobs_of_its_range_and_for_no_others),
        cmocka_unit_test(R70_R71_R72_a_map_waits_for_no_job_of_another_range),
        cmocka_unit_test(R58_R62_a_lock_waits_for_its_physical_access),
        cmocka_unit_test(R114_a_lock_waits_for_the_page_in_of_an_earlier_unlock),
        cmocka_unit_test(R110_pages_are_given_back_only_when_nothing_reads_them_any_more),
        cmocka_unit_test(R5_R26_busy_in_a_later_pass_goes_on_where_it_was),
    };
    return WORLD_RUN(tests);
}
