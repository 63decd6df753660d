// SPDX-License-Identifier: Apache-2.0
// What went wrong when somebody looked for it: locks, errors in the middle, resets.
#include "world.h"

static D3DKMT_HANDLE create_aligned(struct world *world, uint64_t bytes, UINT flags, uint64_t alignment)
{
    struct ferry_allocation_private wanted = world_private(bytes, flags);
    wanted.Alignment = (UINT)alignment;
    D3DKMT_HANDLE handle = 0;
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_OK);
    return handle;
}

// The only arrangement in which all three fit has the first two change places.
static void a_lock_that_must_not_evict_outlives_a_new_arrangement(void **state)
{
    (void)state;
    for (unsigned reading = 0; reading < 2; reading++) {
        struct world_options options = world_defaults();
        options.manager.memory_limit_bytes = PAGES(9);
        struct world *world = world_open(&options);
        D3DKMT_HANDLE a = create_aligned(world, PAGES(2), CPU, 0), b = create_aligned(world, PAGES(4), CPU, PAGES(4)),
                      c = create_aligned(world, PAGES(3), CPU, 0);
        world_write(world, a, 1);
        world_write(world, b, 2);
        world_write(world, c, 3);
        world_require(world, a);
        world_require(world, b);
        assert_int_equal(world_place(world, a).offset, 0);
        void *address;
        assert_int_equal(
            ferry_vidmm_lock(world->manager, a, reading ? D3DDDI_LOCK_READ_ONLY : D3DDDI_LOCK_DO_NOT_EVICT, &address),
            FERRY_OK);
        D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &c};
        int result = ferry_vidmm_make_resident(world->manager, &arguments);
        if (result == FERRY_PENDING)
            result = ferry_vidmm_wait_paging(world->manager, world->queue, arguments.PagingFenceValue);
        // Refused or not: the CPU's copy is the CPU's until unlock.
        assert_true(world_place(world, a).has_backing);
        if (!reading)
            for (unsigned i = 0; i < PAGES(2) / 4; i++)
                ((uint32_t *)address)[i] = world_word(9, i);
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        world_check(world, a, reading ? 1 : 9);
        world_check(world, b, 2);
        world_check(world, c, 3);
        world_close(world);
    }
}

static void evict_over_budget_without_host_memory_changes_all_or_nothing(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(8), CPU);
    world_write(world, a, 1);
    world_require(world, a);
    world_wait(world, world_gpu_copy(world, a, 0, a, PAGE_SIZE, 4));
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(4)), FERRY_OK);
    world->knobs->host_pages = 0;
    int result = world_evict(world, a);
    world->knobs->host_pages = -1;
    assert_int_equal(world_place(world, a).residency_count, result == FERRY_OK ? 0 : 1);
    world_close(world);
}

// Room for all of the list needs pages for three victims and two places in the aperture: with any fewer nothing
// happens.
static void make_resident_without_host_memory_changes_nothing(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE out[3], in[3] = {world_create(world, PAGES(60), CPU), world_create_in_aperture(world, PAGES(5), CPU),
                                   world_create_in_aperture(world, PAGES(6), CPU)};
    for (unsigned i = 0; i < 3; i++) {
        out[i] = world_create(world, PAGES(20), CPU);
        world_write(world, out[i], 1 + i);
        world_require(world, out[i]);
        assert_int_equal(world_evict(world, out[i]), FERRY_OK);
    }
    world_write(world, in[0], 9);
    uint64_t before = world_statistics(world).backing_bytes, evictions = world_statistics(world).evictions;
    int result = FERRY_ERROR_NO_HOST_MEMORY;
    for (long pages = 0; result == FERRY_ERROR_NO_HOST_MEMORY; pages++) {
        assert_true(pages < 100);
        world->knobs->host_pages = pages;
        result = world_resident(world, in, 3);
        world->knobs->host_pages = -1;
        if (result != FERRY_ERROR_NO_HOST_MEMORY)
            break;
        assert_int_equal(world_statistics(world).backing_bytes, before);
        assert_int_equal(world_statistics(world).evictions, evictions);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(world_place(world, out[i]).segment, machine_local_segment);
            assert_false(world_place(world, out[i]).has_backing);
            assert_int_equal(world_place(world, in[i]).segment, 0);
            assert_int_equal(world_place(world, in[i]).residency_count, 0);
        }
    }
    assert_true(result >= 0);
    assert_int_equal(world_statistics(world).evictions, evictions + 3);
    for (unsigned i = 0; i < 3; i++)
        world_check(world, out[i], 1 + i);
    world_check(world, in[0], 9);
    world_close(world);
}

// R230 is about memory that the device has too little of. What the host lacks it may have the next time.
static void R230_must_succeed_without_host_memory_is_no_error_of_the_device(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE out = world_create(world, PAGES(40), CPU), in = world_create(world, PAGES(40), CPU);
    world_write(world, out, 1);
    world_require(world, out);
    assert_int_equal(world_evict(world, out), FERRY_OK);
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &in};
    arguments.Flags.CantTrimFurther = arguments.Flags.MustSucceed = 1;
    world->knobs->host_pages = 10;
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_NO_HOST_MEMORY);
    world->knobs->host_pages = -1;
    D3DKMT_DEVICEEXECUTION_STATE device;
    assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &device), FERRY_OK);
    assert_int_equal(device, D3DKMT_DEVICEEXECUTION_ACTIVE);
    assert_true(ferry_vidmm_make_resident(world->manager, &arguments) >= 0);
    world_check(world, out, 1);
    world_close(world);
}

static void a_discard_lock_that_fails_has_discarded_nothing(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world_write(world, a, 1);
    world_require(world, a);
    world->knobs->host_pages = 0;
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY, &address),
                     FERRY_ERROR_NO_HOST_MEMORY);
    world->knobs->host_pages = -1;
    assert_int_not_equal(world_place(world, a).segment, 0);
    world_check(world, a, 1);
    world_close(world);
}

// A job of three buffers that copy a page each; the wrong one, if any, names an allocation that is not resident.
static int submit_three(struct world *world, const D3DKMT_HANDLE pages[5], unsigned wrong, uint64_t *fence)
{
    static struct machine_job jobs[3];
    struct ferry_vidmm_reference references[3][2];
    struct ferry_vidmm_submission buffers[3];
    for (unsigned i = 0; i < 3; i++) {
        jobs[i] = (struct machine_job){0};
        machine_job_copy(&jobs[i], 0, 0, 1, 0, PAGE_SIZE);
        references[i][0] = (struct ferry_vidmm_reference){pages[i + 1], true};
        references[i][1] = (struct ferry_vidmm_reference){i == wrong ? pages[4] : pages[i], false};
        buffers[i] = (struct ferry_vidmm_submission){.commands = jobs[i].commands,
                                                     .bytes = jobs[i].bytes,
                                                     .references = references[i],
                                                     .reference_count = 2,
                                                     .patches = jobs[i].patches,
                                                     .patch_count = jobs[i].patch_count};
    }
    return ferry_vidmm_submit(world->manager, world->context, buffers, 3, fence);
}

static void a_job_of_several_buffers_is_one_job(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE pages[5];
    for (unsigned i = 0; i < 5; i++) {
        pages[i] = world_create(world, PAGES(1), CPU);
        world_write(world, pages[i], 1 + i);
        if (i < 4)
            world_require(world, pages[i]);
    }
    uint64_t fence = 77, jobs = world_statistics(world).jobs;
    for (unsigned wrong = 0; wrong < 3; wrong++)
        assert_int_equal(submit_three(world, pages, wrong, &fence), FERRY_ERROR_NOT_RESIDENT);
    // Its DMA buffers' pages run out at the first, the second or the third.
    for (unsigned made = 0; made < 3; made++) {
        world->knobs->host_pages = made != 0; // and one more is kept for the next
        assert_int_equal(submit_three(world, pages, 3, &fence), FERRY_ERROR_NO_HOST_MEMORY);
        world->knobs->host_pages = -1;
    }
    assert_int_equal(fence, 77);
    assert_int_equal(world_statistics(world).jobs, jobs);
    assert_int_equal(submit_three(world, pages, 3, &fence), FERRY_OK);
    world_wait(world, fence);
    assert_int_equal(world_statistics(world).jobs, jobs + 3);
    for (unsigned i = 0; i < 4; i++)
        world_check(world, pages[i], 1);
    // Whichever of them faults, the job has, once; the one behind it has not.
    for (unsigned which = 0; which < 3; which++) {
        world->knobs->delay = 1;
        uint64_t before = world_statistics(world).faulted_jobs, next;
        world->knobs->fault_jobs = 1 + which;
        assert_int_equal(submit_three(world, pages, 3, &fence), FERRY_OK);
        assert_int_equal(submit_three(world, pages, 3, &next), FERRY_OK);
        assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_ERROR_FAULT);
        assert_int_equal(ferry_vidmm_wait(world->manager, world->context, next), FERRY_OK);
        assert_int_equal(world_statistics(world).faulted_jobs, before + 1);
    }
    world_close(world);
}

static NTSTATUS no_reset(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    (void)adapter, (void)argument;
    return STATUS_IO_TIMEOUT;
}

static void what_destroy_gives_back_on_a_timeout_is_still_mapped(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(2), CPU), b = world_create(world, PAGES(2), CPU);
    world_write(world, a, 1);
    world_write(world, b, 2);
    world_require(world, a);
    world_require(world, b);
    NTSTATUS (*reset)(HANDLE, DXGKARG_RESETENGINE *) = spy.table.DxgkDdiResetEngine;
    spy.table.DxgkDdiResetEngine = no_reset;
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t fence = world_gpu_copy(world, b, 0, a, 0, PAGE_SIZE);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_ERROR_TIMEOUT);
    world->knobs->hold_node = 0;
    spy.table.DxgkDdiResetEngine = reset;
    world_wait(world, fence);
    world_wait(world, world_gpu_copy(world, b, 0, a, 0, PAGES(2)));
    world_check(world, b, 1);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
    world_close(world);
}

// A device that is well is reset at every moment of a page-out with a page-in into its place behind it.
static void a_reset_at_any_moment_of_paging_costs_no_content(void **state)
{
    (void)state;
    for (unsigned small = 0; small < 3; small++) {
        for (unsigned turns = 0; turns < 16; turns++) {
            struct world_options options = world_defaults();
            options.manager.memory_limit_bytes = PAGES(16);
            options.manager.sub_transfer_bytes = small == 1 ? PAGE_SIZE : 0;
            options.machine.paging_buffer_bytes = small == 2 ? 2 * machine_least_page_bytes : 0;
            struct world *world = world_open(&options);
            D3DKMT_HANDLE a = world_create(world, PAGES(16), CPU), b[4];
            world_write(world, a, 1);
            for (unsigned i = 0; i < 4; i++) {
                b[i] = world_create(world, PAGES(4), CPU);
                world_write(world, b[i], 2 + i);
            }
            world_require(world, a);
            assert_int_equal(world_evict(world, a), FERRY_OK);
            world->knobs->delay = 1;
            assert_int_equal(world_resident(world, b, 4), FERRY_PENDING);
            for (unsigned i = 0; i < turns; i++)
                ferry_vidmm_poll(world->manager, true);
            assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
            for (unsigned i = 0; i < turns % 3; i++)
                ferry_vidmm_poll(world->manager, true);
            assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
            world_check(world, a, 1);
            for (unsigned i = 0; i < 4; i++)
                world_check(world, b[i], 2 + i);
            assert_int_equal(world_statistics(world).faulted_paging_buffers, 0);
            world_close(world);
        }
    }
}

static uint64_t chance;
static uint32_t pick(uint32_t below)
{
    return draw_below(&chance, below);
}

#define MANY 14
static void random_resets_cost_no_content(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        chance = draw_state(seed);
        struct world_options options = world_defaults();
        options.manager.memory_limit_bytes = PAGES(24);
        options.manager.sub_transfer_bytes = pick(2) ? PAGE_SIZE : 0;
        options.manager.paging_buffers = pick(2) ? 0 : 1 + pick(3);
        options.machine.paging_buffer_bytes = pick(2) ? 2 * machine_least_page_bytes : 0;
        options.machine.seed = seed;
        struct world *world = world_open(&options);
        D3DKMT_HANDLE other, all[MANY], junk = world_create(world, PAGES(1), CPU);
        assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 2, &other, NULL), FERRY_OK);
        unsigned count[MANY] = {0}, words[MANY];
        for (unsigned i = 0; i < MANY; i++) {
            UINT pages = 1 + pick(8);
            all[i] = pick(4) == 0 ? world_create_in_aperture(world, PAGES(pages), CPU)
                                  : world_create(world, PAGES(pages), pick(3) ? CPU : PERMANENT);
            words[i] = pages;
            world_write(world, all[i], i + 1);
        }
        world_require(world, junk);
        world->knobs->delay = pick(4);
        world->knobs->busy_times = pick(3);
        for (unsigned step = 0; step < 120; step++) {
            unsigned i = pick(MANY);
            switch (pick(9)) {
            case 0:
            case 1:
            case 2:
                if (world_resident(world, &all[i], 1) >= 0)
                    count[i]++;
                break;
            case 3:
            case 4:
                if (count[i]) {
                    assert_int_equal(world_evict(world, all[i]), FERRY_OK);
                    count[i]--;
                }
                break;
            case 5:
                if (count[i]) {
                    D3DKMT_HANDLE mine = world->context;
                    if (pick(2))
                        world->context = other;
                    world_gpu_copy(world, junk, 0, all[i], PAGES(pick(words[i])), PAGE_SIZE);
                    world->context = mine;
                }
                break;
            case 6: ferry_vidmm_poll(world->manager, true); break;
            case 7:
                if (pick(2))
                    assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
                break;
            case 8:
                if (!count[i])
                    world_check(world, all[i], i + 1);
                break;
            }
            D3DKMT_DEVICEEXECUTION_STATE of;
            assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &of), FERRY_OK);
            if (of != D3DKMT_DEVICEEXECUTION_ACTIVE)
                break;
        }
        for (unsigned i = 0; i < MANY; i++)
            world_check(world, all[i], i + 1);
        world_close(world);
    }
}

// Page-outs and page-ins into the places they free, one a buffer, and a reset of the device that is well at any moment:
// what has ended by itself before the reset took effect must not run again behind what has ended after it.
static void a_reset_between_a_page_out_and_what_takes_its_place(void **state)
{
    (void)state;
    for (unsigned ticks = 0; ticks < 4; ticks++) {
        for (unsigned turns = 0; turns < 10; turns++) {
            struct world_options options = world_defaults();
            options.manager.memory_limit_bytes = PAGES(8);
            options.machine.paging_buffer_bytes = machine_least_page_bytes;
            struct world *world = world_open(&options);
            D3DKMT_HANDLE a[8], b[8];
            for (unsigned i = 0; i < 8; i++) {
                world_write(world, a[i] = world_create(world, PAGES(1), CPU), 1 + i);
                world_write(world, b[i] = world_create(world, PAGES(1), CPU), 20 + i);
            }
            for (unsigned i = 0; i < 8; i++)
                world_require(world, a[i]);
            world->knobs->delay = 1;
            for (unsigned i = 0; i < 8; i++) {
                assert_int_equal(world_evict(world, a[i]), FERRY_OK);
                assert_int_equal(world_resident(world, &b[i], 1), FERRY_PENDING);
            }
            for (unsigned i = 0; i < turns; i++)
                ferry_vidmm_poll(world->manager, true);
            for (unsigned i = 0; i < ticks; i++)
                spy.table.DxgkDdiInterruptRoutine(spy.adapter, 0);
            assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
            for (unsigned i = 0; i < 8; i++) {
                world_check(world, a[i], 1 + i);
                world_check(world, b[i], 20 + i);
            }
            assert_int_equal(world_statistics(world).faulted_paging_buffers, 0);
            world_close(world);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_that_must_not_evict_outlives_a_new_arrangement),
        cmocka_unit_test(evict_over_budget_without_host_memory_changes_all_or_nothing),
        cmocka_unit_test(make_resident_without_host_memory_changes_nothing),
        cmocka_unit_test(R230_must_succeed_without_host_memory_is_no_error_of_the_device),
        cmocka_unit_test(a_discard_lock_that_fails_has_discarded_nothing),
        cmocka_unit_test(a_job_of_several_buffers_is_one_job),
        cmocka_unit_test(what_destroy_gives_back_on_a_timeout_is_still_mapped),
        cmocka_unit_test(a_reset_at_any_moment_of_paging_costs_no_content),
        cmocka_unit_test(a_reset_between_a_page_out_and_what_takes_its_place),
        cmocka_unit_test(random_resets_cost_no_content),
    };
    return WORLD_RUN(tests);
}
