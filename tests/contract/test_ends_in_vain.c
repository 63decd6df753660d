// SPDX-License-Identifier: Apache-2.0
// Ends that time out, of what is no device: whoever was to go is there as before, and goes the next time. And a thread
// that works for everybody when nothing comes.
#include "in_vain.h"
#include "programs.h"
#include "updates.h"

static void hold_back(struct world *world, unsigned node, bool paging)
{
    world->knobs->delay = 1;
    world->knobs->hold_turns = UINT32_MAX;
    world->knobs->hold_node = node;
    world->knobs->hold_paging = paging;
}

static void let_go(struct world *world)
{
    world->knobs->hold_node = 0;
    world->knobs->hold_paging = false;
}

static void a_queue_whose_end_times_out_is_there_again(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_vidmm *manager = world->manager;
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), context;
    assert_int_equal(ferry_vidmm_create_context(manager, world->device, 2, &context, NULL), FERRY_OK);
    world_require(world, a);
    hold_back(world, 2, false);
    uint64_t fence = world_gpu_name(world, context, a, false);
    let_nothing_come(manager);
    assert_int_equal(ferry_vidmm_destroy_context(manager, context), FERRY_ERROR_TIMEOUT);
    let_it_come_again(manager);
    let_go(world);
    assert_int_equal(ferry_vidmm_wait(manager, context, fence), FERRY_OK);
    assert_int_equal(ferry_vidmm_wait(manager, context, world_gpu_name(world, context, a, false)), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_context(manager, context), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_context(manager, context), FERRY_ERROR_HANDLE);
    world_close(world);
}

static int ask(struct world *world, D3DKMT_HANDLE process)
{
    struct ferry_vidmm_memory_info info;
    return ferry_vidmm_memory_info(world->manager, process, 0, &info);
}

// For the sake of a job of one of its devices.
static void a_program_whose_device_stays_is_there_again(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct ferry_vidmm *manager = world->manager;
    struct program program = program_begin(world, 1, PAGES(10));
    D3DKMT_HANDLE context;
    program_become(world, &program);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    assert_int_equal(ferry_vidmm_create_context(manager, program.device, 2, &context, NULL), FERRY_OK);
    world_require(world, a);
    hold_back(world, 2, false);
    world_gpu_name(world, context, a, false);
    let_nothing_come(manager);
    assert_int_equal(ferry_vidmm_destroy_process(manager, program.process), FERRY_ERROR_TIMEOUT);
    let_it_come_again(manager);
    let_go(world);
    assert_int_equal(ask(world, program.process), FERRY_OK);
    assert_int_equal(ferry_vidmm_set_weight(manager, program.process, 3), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_process(manager, program.process), FERRY_OK);
    assert_int_equal(ask(world, program.process), FERRY_ERROR_HANDLE);
    world_close(world);
}

// For the sake of its page tables, when its devices have gone already. It may have others then.
static void a_program_whose_page_tables_stay_is_there_again(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    struct ferry_vidmm *manager = world->manager;
    D3DKMT_HANDLE first = world->device;
    // What the first program that goes leaves behind has the place for all later ones.
    for (unsigned i = 0; i < 2; i++) {
        struct program program = program_begin(world, 1, 0);
        program_become(world, &program);
        D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
        world_require(world, a);
        map(world, a, 0, 2);
        world_wait(world, world_gpu_name(world, world->context, a, false));
        assert_int_equal(ferry_vidmm_destroy_device(manager, program.device), FERRY_OK);
        if (i == 1) {
            hold_back(world, 0, true);
            let_nothing_come(manager);
            assert_int_equal(ferry_vidmm_destroy_process(manager, program.process), FERRY_ERROR_TIMEOUT);
            let_it_come_again(manager);
            let_go(world);
            assert_int_equal(ask(world, program.process), FERRY_OK);
            assert_int_equal(ferry_vidmm_create_device_of(manager, program.process, &program.device), FERRY_OK);
        }
        assert_int_equal(ferry_vidmm_destroy_process(manager, program.process), FERRY_OK);
        assert_int_equal(ask(world, program.process), FERRY_ERROR_HANDLE);
    }
    assert_int_equal(ferry_vidmm_destroy_device(manager, first), FERRY_OK);
    world_close(world);
}

// ---- Work -----------------------------------------------------------------------------------------------------------

static struct {
    struct world *world;
    const DRIVER_INITIALIZATION_DATA *real;
    unsigned resets;
} stuck;

// The node is let go, and stands still again at once.
static NTSTATUS reset_in_vain(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    NTSTATUS status = stuck.real->DxgkDdiResetEngine(adapter, argument);
    stuck.resets++;
    stuck.world->knobs->hang = true;
    return status;
}

static int work(struct world *world)
{
    bool left = true;
    int result = FERRY_OK;
    while (left && result == FERRY_OK)
        result = ferry_vidmm_work(world->manager, &left);
    assert_true(!left);
    return result;
}

// A time-out ends the patience that there was: who begins to work anew has his own, and so one reset more.
static void work_that_timed_out_begins_anew(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    static DRIVER_INITIALIZATION_DATA table;
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world_write(world, a, 5);
    stuck.world = world;
    stuck.real = world->manager->core.miniport;
    stuck.resets = 0;
    table = *stuck.real;
    table.DxgkDdiResetEngine = reset_in_vain;
    world->manager->core.miniport = &table;
    world->knobs->delay = 1;
    world->knobs->hang = true;
    ferry_vidmm_poll(world->manager, true); // it does, from now on
    assert_int_equal(world_resident(world, &a, 1), FERRY_PENDING);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(work(world), FERRY_ERROR_TIMEOUT);
        assert_int_equal(stuck.resets, i);
    }
    world->manager->core.miniport = stuck.real;
    assert_int_equal(work(world), FERRY_OK);
    world_check_gpu(world, a, 5);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_whose_end_times_out_is_there_again),
        cmocka_unit_test(a_program_whose_device_stays_is_there_again),
        cmocka_unit_test(a_program_whose_page_tables_stay_is_there_again),
        cmocka_unit_test(work_that_timed_out_begins_anew),
    };
    return WORLD_RUN(tests);
}
