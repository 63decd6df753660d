// SPDX-License-Identifier: Apache-2.0
// Paging of one instance of a renamed allocation faults: what it held matters only while somebody may want it.
#include "discards.h"
#include "in_vain.h"
#include "vidmm/api/manager.h"

static void poll(struct world *world)
{
    for (unsigned i = 0; i < 20; i++)
        ferry_vidmm_poll(world->manager, true);
}

static D3DKMT_DEVICEEXECUTION_STATE state_of(struct world *world)
{
    D3DKMT_DEVICEEXECUTION_STATE state;
    assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &state), FERRY_OK);
    return state;
}

// Renamed once, so that a discard leaves it in place; then all is quiet. The next paging buffer will fault.
static struct world *begin(D3DKMT_HANDLE *allocation, UINT limit)
{
    struct world *world = open_held(64);
    world->knobs->delay = 1;
    *allocation = create_limited(world, PAGES(2), CPU, false, limit);
    world_require(world, *allocation);
    hold(world);
    world_gpu_name(world, world->context, *allocation, false);
    discard(world, *allocation, 1);
    let_go(world, world_gpu_name(world, world->context, *allocation, false)); // both are in place
    poll(world);
    assert_int_equal(world_place(world, *allocation).instances, 2);
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 100000;
    world->knobs->fault_paging = 1;
    return world;
}

// The first content is on its way in when the second takes another instance; then its buffer faults.
static D3DKMT_DEVICEEXECUTION_STATE after_two_discards(bool a_job_between)
{
    D3DKMT_HANDLE allocation;
    struct world *world = begin(&allocation, 3);
    discard(world, allocation, 2);
    if (a_job_between)
        world_gpu_name(world, world->context, allocation, false);
    discard(world, allocation, 3);
    world->knobs->hold_paging = false;
    poll(world);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 1);
    assert_false(world_place(world, allocation).lost);
    D3DKMT_DEVICEEXECUTION_STATE state = state_of(world);
    assert_int_equal(world_statistics(world).faulted_jobs, a_job_between);
    world_check(world, allocation, 3);
    world_close(world);
    return state;
}

static void the_content_is_not_lost_with_a_parked_instance(void **state)
{
    (void)state;
    assert_int_equal(after_two_discards(false), D3DKMT_DEVICEEXECUTION_ACTIVE);
}

static void a_job_that_names_the_parked_instance_does_not_run_on_what_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(after_two_discards(true), D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
}

// ---- While a lock waits for another instance ----

static struct world *turning;

static void let_paging_go(void *context)
{
    bool *job_too = context;
    turning->knobs->hold_paging = false;
    if (turning->manager->core.statistics.faulted_paging_buffers == 0)
        return;
    // With nothing to hold it up any more the machine says that nothing comes.
    turning->knobs->hold_turns = 0;
    if (*job_too)
        turning->knobs->hold_node = 0;
}

// The content comes in while a lock that discards it waits for a job on the only other instance. It faults; then the
// job ends, or never does and the lock fails.
static D3DKMT_HANDLE fault_under_a_lock(struct world **opened, bool job_ends)
{
    D3DKMT_HANDLE allocation;
    struct world *world = *opened = turning = begin(&allocation, 2);
    hold(world);
    world_gpu_name(world, world->context, allocation, false);
    discard(world, allocation, 2); // takes the idle one
    let_resets_fail(world->manager, NULL);
    world->knobs->before_turn = let_paging_go;
    world->knobs->before_turn_context = &job_ends;
    assert_int_equal(try_discard(world, allocation, 0, 3), job_ends ? FERRY_OK : FERRY_ERROR_TIMEOUT);
    world->knobs->before_turn = NULL;
    world->knobs->hold_node = 0;
    let_it_come_again(world->manager);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 1);
    return allocation;
}

static void what_a_lock_gives_up_may_be_lost(void **state)
{
    (void)state;
    struct world *world;
    D3DKMT_HANDLE allocation = fault_under_a_lock(&world, true);
    assert_int_equal(state_of(world), D3DKMT_DEVICEEXECUTION_ACTIVE);
    world_check(world, allocation, 3);
    // Nobody misses what the other instance has lost, so it may be taken again.
    hold(world);
    world_gpu_name(world, world->context, allocation, false);
    discard(world, allocation, 4);
    assert_false(world_place(world, allocation).lost);
    let_go(world, world_gpu_name(world, world->context, allocation, false));
    world_check(world, allocation, 4);
    world_close(world);
}

static void what_is_wanted_again_behind_a_lock_that_failed_is_lost(void **state)
{
    (void)state;
    struct world *world;
    D3DKMT_HANDLE allocation = fault_under_a_lock(&world, false);
    assert_true(world_place(world, allocation).lost);
    assert_int_equal(state_of(world), D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_content_is_not_lost_with_a_parked_instance),
        cmocka_unit_test(a_job_that_names_the_parked_instance_does_not_run_on_what_is_not_there),
        cmocka_unit_test(what_a_lock_gives_up_may_be_lost),
        cmocka_unit_test(what_is_wanted_again_behind_a_lock_that_failed_is_lost),
    };
    return WORLD_RUN(tests);
}
