// SPDX-License-Identifier: Apache-2.0
// A fault of one device's paging costs no other device any content: not what stands beside it, nor what is on its way
// out when somebody's page-in already stands behind it.
#include "programs.h"
#include "vidmm/api/manager.h"

#define PATTERN 0x5A17C0DEu

static void check(struct world *world, D3DKMT_HANDLE allocation, uint32_t word)
{
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    for (uint64_t i = 0; i < world_place(world, allocation).bytes / 4; i++)
        assert_int_equal(((const uint32_t *)address)[i], word);
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
}

// The neighbour's fill stands in the buffer that is open, behind one of the owner's if he has one, when what is dirty
// has to leave for another of his. Is he in error then?
static bool neighbour_has_lost(uint64_t pages, bool owner_first)
{
    struct world *world = program_world();
    struct program owner = program_begin(world, 1, 0), neighbour = program_begin(world, 1, 0);
    program_become(world, &owner);
    D3DKMT_HANDLE dirty = world_create(world, PAGES(40), CPU);
    assert_true(list_it(world, &owner, dirty, true) >= 0);
    world_wait(world, world_gpu_fill(world, dirty, 0, (uint32_t)PAGES(40), PATTERN));
    assert_true(world_evict(world, dirty) >= 0);
    program_become(world, &neighbour);
    D3DKMT_HANDLE under_way = world_create(world, PAGES(4), CPU), beside = world_create(world, PAGES(4), CPU);
    D3DKMT_HANDLE large = world_create(world, PAGES(pages), CPU);
    program_become(world, &owner);
    D3DKMT_HANDLE own = world_create(world, PAGES(1), CPU);
    world->knobs->hold_paging = true;
    assert_true(list_it(world, &neighbour, under_way, true) >= 0);
    if (owner_first)
        assert_true(list_it(world, &owner, own, true) >= 0);
    assert_true(list_it(world, &neighbour, beside, true) >= 0);
    world->knobs->fault_paging = 1;
    uint64_t buffers = world_statistics(world).paging_buffers;
    assert_int_equal(list_it(world, &neighbour, large, true), FERRY_PENDING);
    assert_int_equal(world_place(world, dirty).segment, 0);
    // The fills are out, and so is the page-out, by itself: what comes into its place need not wait for its end.
    if (owner_first)
        assert_int_equal(world_statistics(world).paging_buffers, buffers + 2);
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world->knobs->fault_paging, 0);
    D3DKMT_DEVICEEXECUTION_STATE execution;
    assert_int_equal(ferry_vidmm_device_state(world->manager, owner.device, &execution), FERRY_OK);
    assert_int_equal(execution, D3DKMT_DEVICEEXECUTION_ACTIVE);
    assert_false(world_place(world, dirty).lost);
    check(world, dirty, PATTERN);
    assert_int_equal(ferry_vidmm_device_state(world->manager, neighbour.device, &execution), FERRY_OK);
    bool lost = execution != D3DKMT_DEVICEEXECUTION_ACTIVE;
    if (!lost)
        check(world, beside, 0);
    world_close(world);
    return lost;
}

// Who has faulted has lost; who has not has what he had.
static void a_page_out_survives_the_fault_of_a_strangers_paging(void **state)
{
    (void)state;
    assert_true(neighbour_has_lost(40, false));
}

// Though the buffer begins with something of the one whose content leaves. What faults has two fills in it, which go
// again.
static void a_page_out_goes_alone_behind_its_own_and_a_strangers(void **state)
{
    (void)state;
    assert_false(neighbour_has_lost(40, true));
}

// How many buffers it takes when this goes out, in this order: a fill at once; three fills of two programs, which may
// share one; two page-outs of one program, which may share one; and what comes into their place.
static uint64_t buffers_of_a_round(struct world *world, const struct program *owner, const struct program *neighbour)
{
    D3DKMT_HANDLE made[7];
    program_become(world, owner);
    // The small ones come into its place, before all others, so that none of them has to move.
    D3DKMT_HANDLE first = world_create(world, PAGES(16), CPU);
    assert_true(list_it(world, owner, first, true) >= 0);
    for (unsigned i = 0; i < 2; i++) {
        made[i] = world_create(world, PAGES(16), CPU);
        assert_true(list_it(world, owner, made[i], true) >= 0);
        world_wait(world, world_gpu_fill(world, made[i], 0, (uint32_t)PAGES(16), PATTERN));
    }
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, first), FERRY_OK);
    for (unsigned i = 0; i < 2; i++)
        assert_true(world_evict(world, made[i]) >= 0);
    made[2] = world_create(world, PAGES(1), CPU);
    made[3] = world_create(world, PAGES(40), CPU);
    made[6] = world_create(world, PAGES(1), CPU);
    program_become(world, neighbour);
    made[4] = world_create(world, PAGES(4), CPU);
    made[5] = world_create(world, PAGES(4), CPU);
    uint64_t before = world_statistics(world).paging_buffers;
    world->knobs->hold_paging = true;
    assert_true(list_it(world, neighbour, made[4], true) >= 0);
    assert_true(list_it(world, owner, made[6], true) >= 0);
    assert_true(list_it(world, neighbour, made[5], true) >= 0);
    assert_true(list_it(world, owner, made[2], true) >= 0);
    assert_int_equal(list_it(world, owner, made[3], true), FERRY_PENDING);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(world_place(world, made[i]).segment, 0);
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    uint64_t buffers = world_statistics(world).paging_buffers - before;
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, made[i]), FERRY_OK);
    return buffers;
}

static void who_may_share_a_buffer_does_and_nobody_else(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program owner = program_begin(world, 1, 0), neighbour = program_begin(world, 1, 0);
    assert_int_equal(buffers_of_a_round(world, &owner, &neighbour), 4);
    world_close(world);
}

// What else was in a buffer's memory, some buffers before, has nothing to do with who may share it now.
static void who_shares_a_buffer_does_not_depend_on_who_did_before(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program owner = program_begin(world, 1, 0), neighbour = program_begin(world, 1, 0);
    uint64_t first = buffers_of_a_round(world, &owner, &neighbour);
    // The same buffers are other ones of the ring each time, of which there are no more than so many.
    for (unsigned round = 0; round < 2 * (FERRY_VM_IN_FLIGHT + 1); round++) {
        assert_int_equal(buffers_of_a_round(world, &owner, &neighbour), first);
        for (unsigned i = 0; i < round % 2 + 1; i++) {
            D3DKMT_HANDLE one = world_create(world, PAGES(1), CPU);
            world_require(world, one);
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, one), FERRY_OK);
        }
    }
    world_close(world);
}

// A page-out, and behind it something of its own program that takes nothing out: a stranger's fill is in the next
// buffer all the same.
static void nobody_comes_behind_a_page_out_and_its_own(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program owner = program_begin(world, 1, 0), neighbour = program_begin(world, 1, 0);
    program_become(world, &owner);
    D3DKMT_HANDLE dirty = world_create(world, PAGES(8), CPU), fresh = world_create(world, PAGES(8), CPU);
    assert_true(list_it(world, &owner, dirty, true) >= 0);
    assert_true(list_it(world, &owner, fresh, true) >= 0);
    world_wait(world, world_gpu_fill(world, dirty, 0, (uint32_t)PAGES(8), PATTERN));
    world_wait(world, world_gpu_name(world, owner.context, fresh, false)); // and so leaves behind the other one
    assert_true(world_evict(world, dirty) >= 0);
    program_become(world, &neighbour);
    // Larger than the places that are left, so that it comes into neither.
    D3DKMT_HANDLE under_way = world_create(world, PAGES(4), CPU), beside = world_create(world, PAGES(40), CPU);
    world->knobs->hold_paging = true;
    assert_true(list_it(world, &neighbour, under_way, true) >= 0);
    uint64_t buffers = world_statistics(world).paging_buffers;
    program_become(world, &owner);
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(4)), FERRY_OK);
    assert_true(world_evict(world, fresh) >= 0);
    assert_int_equal(ferry_vidmm_set_budget(world->manager, 0), FERRY_OK);
    assert_int_equal(world_place(world, dirty).segment, 0);
    assert_int_equal(world_place(world, fresh).segment, 0);
    assert_int_equal(list_it(world, &neighbour, beside, true), FERRY_PENDING);
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_statistics(world).paging_buffers, buffers + 2);
    check(world, dirty, PATTERN);
    world_close(world);
}

// For so many pages in one piece the fill had to move, so it was filled again elsewhere: nobody wanted what faulted.
static void a_fill_whose_place_was_given_up_is_no_loss(void **state)
{
    (void)state;
    assert_false(neighbour_has_lost(50, false));
}

// Its place was given up, and so was the next one that it was filled for: a job that works on it there has nothing to
// do with the first fill, which faults for good.
static void a_fill_that_was_given_up_is_not_that_of_a_later_job(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE first = world_create(world, PAGES(1), CPU), large = world_create(world, PAGES(63), CPU),
                  a = world_create_filled(world, PAGES(2), CPU, PATTERN);
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    assert_int_equal(world_resident(world, &first, 1), FERRY_PENDING);
    assert_int_equal(world_evict(world, first), FERRY_OK);
    world->knobs->fault_paging = 2;
    uint64_t fence = 0;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(world_resident(world, &a, 1), FERRY_PENDING);
        if (i == 1)
            fence = world_gpu_name(world, world->context, a, false);
        assert_int_equal(world_evict(world, a), FERRY_OK);
        assert_int_equal(world_resident(world, &large, 1), FERRY_PENDING);
        assert_int_equal(world_place(world, a).segment, 0);
        assert_int_equal(world_evict(world, large), FERRY_OK);
    }
    world->knobs->hold_paging = false;
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_OK);
    assert_int_equal(world->knobs->fault_paging, 0);
    D3DKMT_DEVICEEXECUTION_STATE execution;
    assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &execution), FERRY_OK);
    assert_int_equal(execution, D3DKMT_DEVICEEXECUTION_ACTIVE);
    assert_false(world_place(world, a).lost);
    check(world, a, PATTERN);
    world_close(world);
}

// ---- A hang while jobs of several nodes are with the device ----

#define CULPRIT 2u // its node

static struct {
    struct world *world;
    const DRIVER_INITIALIZATION_DATA *real;
    unsigned submissions; // of it
} culprit;

// It hangs each time it runs. Two times are enough to tell, and one more where another program's is there at first.
static NTSTATUS submit_hanging(HANDLE adapter, const DXGKARG_SUBMITCOMMAND *argument)
{
    culprit.world->knobs->hang |= argument->NodeOrdinal == CULPRIT;
    culprit.submissions += argument->NodeOrdinal == CULPRIT;
    assert_true(culprit.submissions <= 3);
    return culprit.real->DxgkDdiSubmitCommand(adapter, argument);
}

// Where each node has an engine of its own, the reset of another one leaves it as it is.
static NTSTATUS reset_hanging(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    NTSTATUS status = culprit.real->DxgkDdiResetEngine(adapter, argument);
    culprit.world->knobs->hang |= argument->NodeOrdinal != CULPRIT && strcmp(machine_miniport, "double") == 0;
    return status;
}

struct two {
    struct world *world;
    struct program programs[2];
    D3DKMT_HANDLE contexts[2], allocations[2];
};

static uint64_t fill(struct two *two, unsigned i, uint32_t pattern)
{
    program_become(two->world, &two->programs[i]);
    two->world->context = two->contexts[i];
    return world_gpu_fill(two->world, two->allocations[i], 0, (uint32_t)PAGES(2), pattern);
}

// The second program's job is the culprit; its number is in which order they come. Both are over, and nobody hangs.
static struct two hang_beside(unsigned first)
{
    struct two two = {.world = program_world()};
    struct world *world = two.world;
    struct ferry_vidmm *manager = world->manager;
    uint64_t fences[2];
    for (unsigned i = 0; i < 2; i++) {
        two.programs[i] = program_begin(world, 1, 0);
        program_become(world, &two.programs[i]);
        assert_int_equal(
            ferry_vidmm_create_context(manager, two.programs[i].device, i == 0 ? 1 : CULPRIT, &two.contexts[i], NULL),
            FERRY_OK);
        two.allocations[i] = world_create(world, PAGES(2), CPU);
        world_require(world, two.allocations[i]);
    }
    world->knobs->delay = 1;
    static DRIVER_INITIALIZATION_DATA table;
    ferry_vidmm_observe(manager, NULL, NULL);
    culprit.world = world;
    culprit.real = manager->core.miniport;
    culprit.submissions = 0;
    table = *culprit.real;
    table.DxgkDdiSubmitCommand = submit_hanging;
    table.DxgkDdiResetEngine = reset_hanging;
    manager->core.miniport = &table;
    for (unsigned n = 0; n < 2; n++)
        fences[n ^ first] = fill(&two, n ^ first, PATTERN);
    assert_int_equal(ferry_vidmm_wait(manager, two.contexts[0], fences[0]), FERRY_OK);
    assert_int_equal(ferry_vidmm_wait(manager, two.contexts[1], fences[1]), FERRY_ERROR_FAULT);
    manager->core.miniport = culprit.real;
    world->knobs->hang = false;
    return two;
}

static void who_hangs_beside_others_is_the_one_to_blame(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        struct two two = hang_beside(first);
        check(two.world, two.allocations[0], PATTERN);
        world_close(two.world);
    }
}

// Of what was suspected nothing is left in the next jobs of the same queues: they are with the device together again.
static void who_was_suspected_of_a_hang_is_so_for_that_job_alone(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        struct two two = hang_beside(first);
        uint64_t fences[2];
        two.world->knobs->hold_node = 1;
        fences[0] = fill(&two, 0, ~PATTERN);
        fences[0] = fill(&two, 0, ~PATTERN);
        assert_int_equal(machine_queued_jobs(two.world->machine), 2);
        fences[1] = fill(&two, 1, ~PATTERN);
        assert_int_equal(ferry_vidmm_wait(two.world->manager, two.contexts[1], fences[1]), FERRY_OK);
        two.world->knobs->hold_node = 0;
        assert_int_equal(ferry_vidmm_wait(two.world->manager, two.contexts[0], fences[0]), FERRY_OK);
        world_close(two.world);
    }
}

// The engine is one for paging too. It is what stands still for longest then, and comes to its end once the job is not
// with it: whoever waits for that has nothing to do with the hang.
static void who_hangs_beside_paging_is_the_one_to_blame(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct ferry_vidmm *manager = world->manager;
    struct program programs[2];
    D3DKMT_HANDLE context, allocations[2];
    for (unsigned i = 0; i < 2; i++) {
        programs[i] = program_begin(world, 1, 0);
        program_become(world, &programs[i]);
        allocations[i] = world_create_filled(world, PAGES(4), CPU, PATTERN);
    }
    assert_int_equal(ferry_vidmm_create_context(manager, programs[1].device, CULPRIT, &context, NULL), FERRY_OK);
    world_require(world, allocations[1]);
    world->knobs->delay = 1;
    static DRIVER_INITIALIZATION_DATA table;
    ferry_vidmm_observe(manager, NULL, NULL);
    culprit.world = world;
    culprit.real = manager->core.miniport;
    culprit.submissions = 0;
    table = *culprit.real;
    table.DxgkDdiSubmitCommand = submit_hanging;
    manager->core.miniport = &table;
    D3DDDI_MAKERESIDENT arguments = {
        .hPagingQueue = programs[0].queue, .NumAllocations = 1, .AllocationList = &allocations[0]};
    assert_int_equal(ferry_vidmm_make_resident(manager, &arguments), FERRY_PENDING);
    program_become(world, &programs[1]);
    world->context = context;
    uint64_t fence = world_gpu_fill(world, allocations[1], 0, (uint32_t)PAGES(4), ~PATTERN);
    assert_int_equal(ferry_vidmm_wait_paging(manager, programs[0].queue, arguments.PagingFenceValue), FERRY_OK);
    // Each node of the double has an engine of its own, of which a reset of the paging node's leaves the job alone.
    assert_int_equal(ferry_vidmm_wait(manager, context, fence),
                     strcmp(machine_miniport, "double") == 0 ? FERRY_OK : FERRY_ERROR_FAULT);
    manager->core.miniport = culprit.real;
    world->knobs->hang = false;
    check(world, allocations[0], PATTERN);
    world_close(world);
}

// ---- A job that ends as the reset begins that is meant for it ----

static struct {
    struct world *world;
    const DRIVER_INITIALIZATION_DATA *real;
    unsigned resets;
} late;

static bool deaf(HANDLE adapter, ULONG message)
{
    (void)adapter, (void)message;
    return false;
}

static NTSTATUS reset_late(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    late.resets++;
    late.world->knobs->interrupt_routine = NULL;
    return late.real->DxgkDdiResetEngine(adapter, argument);
}

// Nobody has heard of its end when time is up. What stood behind it, another program's, has only just begun.
static void who_stood_behind_a_job_that_ended_after_all_is_not_to_blame(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct ferry_vidmm *manager = world->manager;
    struct program programs[2];
    D3DKMT_HANDLE contexts[2], allocations[2];
    uint64_t fences[2];
    for (unsigned i = 0; i < 2; i++) {
        programs[i] = program_begin(world, 1, 0);
        program_become(world, &programs[i]);
        assert_int_equal(ferry_vidmm_create_context(manager, programs[i].device, 1, &contexts[i], NULL), FERRY_OK);
        allocations[i] = world_create(world, PAGES(2), CPU);
        world_require(world, allocations[i]);
    }
    static DRIVER_INITIALIZATION_DATA table;
    late.world = world;
    late.real = manager->core.miniport;
    late.resets = 0;
    table = *late.real;
    table.DxgkDdiResetEngine = reset_late;
    manager->core.miniport = &table;
    world->knobs->delay = 1;
    world->knobs->hang_inside = 1;
    world->knobs->interrupt_routine = deaf;
    for (unsigned i = 0; i < 2; i++) {
        struct machine_job job = {0};
        struct ferry_vidmm_reference reference = {.allocation = allocations[i], .write = true};
        for (unsigned half = 0; half < 2; half += i == 0 ? 2 : 1) {
            uint32_t bytes = (uint32_t)PAGES(i == 0 ? 2 : 1);
            machine_job_fill(&job, 0, half * bytes, bytes, PATTERN);
        }
        struct ferry_vidmm_submission submission = machine_job_buffer(&job, &reference, 1);
        assert_int_equal(ferry_vidmm_submit(manager, contexts[i], &submission, 1, &fences[i]), FERRY_OK);
    }
    for (unsigned i = 2; i-- > 0;)
        assert_int_equal(ferry_vidmm_wait(manager, contexts[i], fences[i]), FERRY_OK);
    assert_int_equal(late.resets, 1);
    manager->core.miniport = late.real;
    for (unsigned i = 0; i < 2; i++)
        check(world, allocations[i], PATTERN);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_stood_behind_a_job_that_ended_after_all_is_not_to_blame),
        cmocka_unit_test(a_page_out_survives_the_fault_of_a_strangers_paging),
        cmocka_unit_test(a_page_out_goes_alone_behind_its_own_and_a_strangers),
        cmocka_unit_test(who_may_share_a_buffer_does_and_nobody_else),
        cmocka_unit_test(who_shares_a_buffer_does_not_depend_on_who_did_before),
        cmocka_unit_test(nobody_comes_behind_a_page_out_and_its_own),
        cmocka_unit_test(who_hangs_beside_others_is_the_one_to_blame),
        cmocka_unit_test(who_was_suspected_of_a_hang_is_so_for_that_job_alone),
        cmocka_unit_test(who_hangs_beside_paging_is_the_one_to_blame),
        cmocka_unit_test(a_fill_whose_place_was_given_up_is_no_loss),
        cmocka_unit_test(a_fill_that_was_given_up_is_not_that_of_a_later_job),
    };
    return WORLD_RUN(tests);
}
