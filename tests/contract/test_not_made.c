// SPDX-License-Identifier: Apache-2.0
// A program or device that could not be made has changed nothing for those that there are: nobody is told to trim for
// one that never came.
#include "programs.h"
#include "vidmm/api/manager.h"

static unsigned budgets_told;

static void on_event(void *context, const struct ferry_vidmm_event *event)
{
    (void)context;
    budgets_told += event->kind == FERRY_VIDMM_EVENT_BUDGET;
}

static NTSTATUS no_device(HANDLE adapter, DXGKARG_CREATEDEVICE *argument)
{
    (void)adapter, (void)argument;
    return STATUS_NO_MEMORY;
}

static NTSTATUS no_process(HANDLE adapter, DXGKARG_CREATEPROCESS *argument)
{
    (void)adapter, (void)argument;
    return STATUS_NO_MEMORY;
}

static DRIVER_INITIALIZATION_DATA table;

// A program with its budget, and a miniport that makes nothing any more.
static struct world *world_that_makes_nothing(struct program *program)
{
    struct world *world = program_world();
    *program = program_begin(world, 1, 0);
    ferry_vidmm_observe(world->manager, on_event, NULL);
    table = *world->manager->core.miniport;
    table.DxgkDdiCreateDevice = no_device;
    table.DxgkDdiCreateProcess = no_process;
    world->manager->core.miniport = &table;
    budgets_told = 0;
    return world;
}

static void end(struct world *world, const DRIVER_INITIALIZATION_DATA *real)
{
    world->manager->core.miniport = real;
    ferry_vidmm_observe(world->manager, NULL, NULL);
    world_close(world);
}

static void a_device_of_no_program_that_is_not_made_changes_no_budget(void **state)
{
    (void)state;
    struct program program;
    struct world *world = world_that_makes_nothing(&program);
    D3DKMT_HANDLE device;
    assert_int_equal(ferry_vidmm_create_device(world->manager, &device), FERRY_ERROR_NO_HOST_MEMORY);
    assert_int_equal(ferry_vidmm_create_device_of(world->manager, program.process, &device),
                     FERRY_ERROR_NO_HOST_MEMORY);
    assert_int_equal(budgets_told, 0);
    // The first that is made is told of, and so is its end.
    table.DxgkDdiCreateDevice = spy.table.DxgkDdiCreateDevice;
    assert_int_equal(ferry_vidmm_create_device(world->manager, &device), FERRY_OK);
    unsigned made = budgets_told;
    assert_true(made > 0);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, device), FERRY_OK);
    assert_true(budgets_told > made);
    end(world, &spy.table);
}

// In driver model 1 the miniport is not asked.
static void a_program_that_is_not_made_changes_no_budget(void **state)
{
    (void)state;
    struct program program;
    struct world *world = world_that_makes_nothing(&program);
    D3DKMT_HANDLE process = 0;
    bool asked = world->manager->core.caps.MemoryManagementCaps.VirtualAddressingSupported;
    assert_int_equal(ferry_vidmm_create_process(world->manager, NULL, &process),
                     asked ? FERRY_ERROR_NO_HOST_MEMORY : FERRY_OK);
    assert_int_equal(budgets_told > 0, !asked);
    assert_int_equal(process != 0, !asked);
    end(world, &spy.table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_of_no_program_that_is_not_made_changes_no_budget),
        cmocka_unit_test(a_program_that_is_not_made_changes_no_budget),
    };
    return WORLD_RUN(tests);
}
