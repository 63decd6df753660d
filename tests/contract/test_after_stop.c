// SPDX-License-Identifier: Apache-2.0
// After a critical stop: what is destroyed is gone, and the device touches none of it any more.
#include "in_vain.h"
#include "programs.h"

// The miniport's next answer is none that the contract knows.
static void stop(struct world *world)
{
    D3DKMT_HANDLE last = world_create(world, PAGES(2), 0);
    world->knobs->illegal_status = STATUS_UNSUCCESSFUL;
    assert_int_equal(world_resident(world, &last, 1), FERRY_ERROR_CRITICAL);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, last), FERRY_ERROR_CRITICAL);
}

static uint64_t allocations(struct world *world)
{
    struct ferry_vidmm_statistics statistics;
    assert_int_equal(ferry_vidmm_statistics(world->manager, &statistics), FERRY_ERROR_CRITICAL);
    return statistics.allocations;
}

static void gone(struct world *world, D3DKMT_HANDLE allocation)
{
    uint64_t before = allocations(world);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, allocation), FERRY_ERROR_CRITICAL);
    assert_int_equal(allocations(world), before - 1);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, allocation), FERRY_ERROR_HANDLE);
}

static void each_kind_of_object_can_be_destroyed(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct program program = program_begin(world, 1, 0);
    D3DKMT_HANDLE written = world_create(world, PAGES(4), CPU), mapped = world_create_in_aperture(world, PAGES(4), CPU);
    D3DKMT_HANDLE locked = world_create(world, PAGES(4), PERMANENT), kept = world_create(world, PAGES(2), PERMANENT);
    world_require(world, written);
    world_require(world, mapped);
    world_require(world, kept);
    world_wait(world, world_gpu_fill(world, written, 0, PAGE_SIZE, 7));
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, locked, 0, &address), FERRY_OK);
    stop(world);
    gone(world, written);
    gone(world, mapped);
    gone(world, locked);
    assert_int_equal(ferry_vidmm_destroy_context(world->manager, program.context), FERRY_ERROR_CRITICAL);
    assert_int_equal(ferry_vidmm_destroy_context(world->manager, program.context), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_destroy_paging_queue(world->manager, program.queue), FERRY_ERROR_CRITICAL);
    assert_int_equal(ferry_vidmm_destroy_paging_queue(world->manager, program.queue), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, program.process), FERRY_ERROR_CRITICAL);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, program.device), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, program.process), FERRY_ERROR_HANDLE);
    // With what is left on it.
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_ERROR_CRITICAL);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_ERROR_HANDLE);
    assert_int_equal(allocations(world), 0);
    world_close(world);
}

// A job is under way, or hangs; its memory goes only when it has ended.
static void under_way(bool hangs, bool device_goes)
{
    struct world *world = world_open_default();
    D3DKMT_HANDLE from = world_create_in_aperture(world, PAGES(4), CPU);
    D3DKMT_HANDLE to = world_create_in_aperture(world, PAGES(4), CPU);
    world_require(world, from);
    world_require(world, to);
    world->knobs->delay = hangs ? 0 : 4;
    world->knobs->hang = hangs;
    world_gpu_copy(world, to, 0, from, 0, PAGES(4));
    stop(world);
    if (!device_goes)
        gone(world, to);
    else
        assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_ERROR_CRITICAL);
    assert_int_equal(machine_queued_jobs(world->machine), 0);
    // And nothing comes afterwards.
    struct ferry_vidmm_platform platform = machine_platform(world->machine);
    for (unsigned turn = 0; turn < 20; turn++)
        platform.wait_for_progress(platform.context);
    const char *text = "";
    if (machine_errors(world->machine, &text) != 0)
        fail_msg("the machine saw: %s", text);
    world_close(world);
}

static void memory_goes_when_the_device_has_done_with_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        under_way(i & 1, i & 2);
}

// The last of a device's calls is the one that the stop befalls.
static void a_stop_in_the_middle_of_an_end_ends_it(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE mapped = world_create_in_aperture(world, PAGES(4), CPU);
    world_require(world, mapped);
    world->knobs->illegal_status = STATUS_UNSUCCESSFUL; // of the unmap
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, mapped), FERRY_ERROR_CRITICAL);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, mapped), FERRY_ERROR_HANDLE);
    assert_int_equal(allocations(world), 0);
    world_close(world);
}

static struct {
    struct world *world;
    size_t pages; // that were not given back when it was cut off
    unsigned calls;
} cut_off;

static NTSTATUS cut_it_off(HANDLE adapter)
{
    (void)adapter;
    cut_off.pages = machine_pages_out(cut_off.world->machine);
    cut_off.calls++;
    return STATUS_IO_TIMEOUT;
}

// It may work on for all that anybody knows. The whole of it is reset, with which the miniport cuts it off, before a
// page that it was given is another's.
static void an_engine_that_cannot_be_reset_is_cut_off_before_memory_goes(void **state)
{
    (void)state;
    for (unsigned resets = 0; resets < 2; resets++) {
        struct world *world = world_open_default();
        struct ferry_vidmm *manager = world->manager;
        D3DKMT_HANDLE to = world_create_in_aperture(world, PAGES(4), CPU);
        world_require(world, to);
        world->knobs->hang = true;
        (void)world_gpu_name(world, world->context, to, true);
        const DRIVER_INITIALIZATION_DATA *own = manager->core.miniport;
        DRIVER_INITIALIZATION_DATA table = *own;
        cut_off.world = world;
        cut_off.calls = 0;
        table.DxgkDdiResetEngine = resets ? own->DxgkDdiResetEngine : no_reset;
        table.DxgkDdiResetFromTimeout = cut_it_off;
        manager->core.miniport = &table;
        size_t pages = machine_pages_out(world->machine);
        stop(world);
        gone(world, to);
        assert_int_equal(cut_off.calls, !resets);
        assert_true(resets || cut_off.pages >= pages);
        assert_true(machine_pages_out(world->machine) < pages);
        manager->core.miniport = own;
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_object_can_be_destroyed),
        cmocka_unit_test(memory_goes_when_the_device_has_done_with_it),
        cmocka_unit_test(a_stop_in_the_middle_of_an_end_ends_it),
        cmocka_unit_test(an_engine_that_cannot_be_reset_is_cut_off_before_memory_goes),
    };
    return WORLD_RUN(tests);
}
