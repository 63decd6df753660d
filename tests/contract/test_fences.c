// SPDX-License-Identifier: Apache-2.0
// Contexts of one node share its numbers, and each waits for its own jobs only.
#include "programs.h"
#include "vidmm/api/manager.h"

static D3DKMT_HANDLE second_context(struct world *world, D3DKMT_HANDLE device)
{
    D3DKMT_HANDLE context;
    assert_int_equal(ferry_vidmm_create_context(world->manager, device, 1, &context, NULL), FERRY_OK);
    return context;
}

static uint64_t put(struct world *world, D3DKMT_HANDLE context, uint32_t buffers)
{
    struct machine_job job = {0};
    uint64_t fence = 0;
    machine_job_nothing(&job);
    struct ferry_vidmm_submission submissions[4];
    for (uint32_t i = 0; i < 4; i++)
        submissions[i] = (struct ferry_vidmm_submission){.commands = job.commands, .bytes = job.bytes};
    assert_int_equal(ferry_vidmm_submit(world->manager, context, submissions, buffers, &fence), FERRY_OK);
    return fence;
}

static int wait_for(struct world *world, D3DKMT_HANDLE context, uint64_t fence)
{
    return ferry_vidmm_wait(world->manager, context, fence);
}

static void a_number_of_another_contexts_job_is_refused_by_name(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = second_context(world, world->device), b = second_context(world, world->device);
    world->knobs->hold_node = 1;
    uint64_t of_a = put(world, a, 1), of_b = put(world, b, 3), again = put(world, a, 1);
    assert_true(of_a < of_b && of_b < again);
    // At once, while nothing has run.
    assert_int_equal(wait_for(world, a, of_b), FERRY_ERROR_ARGUMENT);
    assert_int_equal(wait_for(world, b, of_a), FERRY_ERROR_ARGUMENT);
    assert_int_equal(wait_for(world, b, again), FERRY_ERROR_ARGUMENT);
    assert_int_equal(wait_for(world, a, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(wait_for(world, a, again + 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(machine_queued_jobs(world->machine), 3); // as many as the device gets; none has run
    world->knobs->hold_node = 0;
    assert_int_equal(wait_for(world, a, again), FERRY_OK);
    assert_int_equal(wait_for(world, b, of_b), FERRY_OK);
    assert_int_equal(wait_for(world, a, of_a), FERRY_OK);
    // And when all are over.
    assert_int_equal(wait_for(world, a, of_b), FERRY_ERROR_ARGUMENT);
    assert_int_equal(wait_for(world, b, of_a), FERRY_ERROR_ARGUMENT);
    world_close(world);
}

static void whose_fault_it_was_is_told_to_no_other(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = second_context(world, world->device), b = second_context(world, world->device);
    uint64_t first = put(world, a, 1);
    world->knobs->fault_jobs = 1;
    uint64_t faulted = put(world, b, 1), last = put(world, a, 1);
    assert_int_equal(wait_for(world, b, faulted), FERRY_ERROR_FAULT);
    assert_int_equal(wait_for(world, a, faulted), FERRY_ERROR_ARGUMENT);
    assert_int_equal(wait_for(world, a, first), FERRY_OK);
    assert_int_equal(wait_for(world, a, last), FERRY_OK);
    world_close(world);
}

// In turn, so that each number is a run of its own: the newest are told apart for ever, the oldest are over.
static void of_many_runs_the_newest_are_told_apart(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE contexts[2] = {second_context(world, world->device), second_context(world, world->device)};
    enum { JOBS = 1000, NEWEST = 64 };
    uint64_t fences[2][JOBS];
    spy.keep = false;
    for (unsigned i = 0; i < JOBS; i++)
        for (unsigned j = 0; j < 2; j++)
            fences[j][i] = put(world, contexts[j], 1 + i % 2);
    for (unsigned j = 0; j < 2; j++) {
        for (unsigned i = 0; i < JOBS; i++)
            assert_int_equal(wait_for(world, contexts[j], fences[j][i]), FERRY_OK);
        for (unsigned i = JOBS - NEWEST; i < JOBS; i++)
            assert_int_equal(wait_for(world, contexts[j], fences[1 - j][i]), FERRY_ERROR_ARGUMENT);
    }
    world_close(world);
}

// Of the newest faults each is told, and which of the jobs between them were none of them; what is older is no number
// that anything is known of any more. So what a context keeps of its faults does not grow with them.
static void of_many_faults_the_newest_are_told(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE context = second_context(world, world->device);
    enum { FAULTS = FERRY_VM_FAULTS + 100 };
    uint64_t good[FAULTS], faulted[FAULTS];
    spy.keep = false;
    for (unsigned i = 0; i < FAULTS; i++) {
        good[i] = put(world, context, 1);
        assert_int_equal(wait_for(world, context, good[i]), FERRY_OK);
        world->knobs->fault_jobs = 1;
        faulted[i] = put(world, context, 1 + i % 2);
        assert_int_equal(wait_for(world, context, faulted[i]), FERRY_ERROR_FAULT);
        // The first has so many behind it now that they take all the room.
        if (i + 1 == FERRY_VM_FAULTS)
            assert_int_equal(wait_for(world, context, faulted[0]), FERRY_ERROR_FAULT);
        if (i == FERRY_VM_FAULTS)
            assert_int_equal(wait_for(world, context, faulted[0]), FERRY_ERROR_ARGUMENT);
    }
    for (unsigned i = 0; i < FAULTS; i++) {
        bool known = i >= FAULTS - FERRY_VM_FAULTS;
        assert_int_equal(wait_for(world, context, faulted[i]), known ? FERRY_ERROR_FAULT : FERRY_ERROR_ARGUMENT);
        known = i > FAULTS - FERRY_VM_FAULTS;
        assert_int_equal(wait_for(world, context, good[i]), known ? FERRY_OK : FERRY_ERROR_ARGUMENT);
    }
    assert_int_equal(world_statistics(world).faulted_jobs, FAULTS);
    world_close(world);
}

// Fence 0 is what a node says whose first job is still to end: of a preemption, and as the last that a reset aborted.
static void a_node_that_has_done_nothing_yet_tells_of_fence_0(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE context = second_context(world, world->device);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t fence = put(world, context, 1);
    DXGKRNL_INTERFACE *interface = &world->manager->sched.interface;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED};
    data.DmaPreempted.NodeOrdinal = 1;
    interface->DxgkCbNotifyInterrupt(interface->DeviceHandle, &data);
    struct ferry_vidmm_critical record;
    assert_false(ferry_vidmm_critical(world->manager, &record));
    world->knobs->hold_node = 0;
    assert_int_equal(wait_for(world, context, fence), FERRY_OK);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_of_another_contexts_job_is_refused_by_name),
        cmocka_unit_test(whose_fault_it_was_is_told_to_no_other),
        cmocka_unit_test(of_many_runs_the_newest_are_told_apart),
        cmocka_unit_test(of_many_faults_the_newest_are_told),
        cmocka_unit_test(a_node_that_has_done_nothing_yet_tells_of_fence_0),
    };
    return WORLD_RUN(tests);
}
