// SPDX-License-Identifier: Apache-2.0
// Nobody waits inside a call that only asks for something, and a node that hangs costs nothing but the job to blame.
// Whoever waits sees the hang and has the node reset, so that `hang` still stands shows that nobody has waited.
#include "players.h"
#include "vidmm/api/manager.h"

static void R217_make_resident_and_submit_never_wait_for_the_gpu(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU), b = world_create(world, PAGES(40), CPU);
    world_write(world, b, 2);
    world_require(world, a);
    world->knobs->delay = 1;
    world->knobs->hang = true;
    uint64_t first = world_gpu_copy(world, a, PAGE_SIZE, a, 0, PAGE_SIZE);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    // b needs the room of a, which the job that hangs still uses.
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &b};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
    uint64_t second = world_gpu_copy(world, b, PAGE_SIZE, b, 0, PAGE_SIZE), seen = 0;
    assert_true(world->knobs->hang);
    assert_int_equal(ferry_vidmm_paging_fence(world->manager, world->queue, &seen), FERRY_OK);
    assert_true(seen < arguments.PagingFenceValue);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, first), FERRY_ERROR_FAULT);
    assert_false(world->knobs->hang);
    world_wait(world, second);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, b, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    const uint32_t *words = address;
    for (uint64_t i = 0; i < PAGES(40) / 4; i++)
        assert_int_equal(words[i], world_word(2, i / (PAGE_SIZE / 4) == 1 ? i - PAGE_SIZE / 4 : i));
    assert_int_equal(ferry_vidmm_unlock(world->manager, b), FERRY_OK);
    world_close(world);
}

// The device under test has one engine for all nodes, and its reset ends whatever is there.
static void a_hang_costs_other_devices_nothing(void **state)
{
    (void)state;
    // In every second round the other's jobs are on the same node, and with the device when it hangs.
    for (unsigned round = 2; round < 18; round++) {
        unsigned jobs = round / 2;
        bool behind = round % 2;
        struct world *world = world_open_default();
        struct player other = player_open(world);
        for (unsigned i = 0; i < 2 && behind; i++)
            assert_int_equal(ferry_vidmm_create_context(world->manager, i ? other.device : world->device, 1,
                                                        i ? &other.context : &world->context, NULL),
                             FERRY_OK);
        D3DKMT_HANDLE mine = world_create(world, PAGES(2), CPU);
        D3DKMT_HANDLE from = create_filled(world, other.device, PAGES(2), 0x600D);
        D3DKMT_HANDLE to[8], list[9] = {from};
        for (unsigned i = 0; i < jobs; i++)
            list[i + 1] = to[i] = create_filled(world, other.device, PAGES(2), 0xBAD);
        world_require(world, mine);
        D3DDDI_MAKERESIDENT arguments = {
            .hPagingQueue = other.queue, .NumAllocations = jobs + 1, .AllocationList = list};
        if (behind) {
            assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
            assert_int_equal(ferry_vidmm_wait_paging(world->manager, other.queue, arguments.PagingFenceValue),
                             FERRY_OK);
        }
        world->knobs->delay = 1;
        world->knobs->hang = true;
        uint64_t guilty = world_gpu_copy(world, mine, PAGE_SIZE, mine, 0, PAGE_SIZE);
        if (!behind)
            assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
        uint64_t last = 0;
        // Each copies from the one before: any that is lost, or runs out of turn, is seen in all behind it.
        for (unsigned i = 0; i < jobs; i++)
            last = world_copy_on(world, other.context, to[i], i ? to[i - 1] : from, PAGES(2));
        assert_true(world->knobs->hang);
        assert_int_equal(ferry_vidmm_wait(world->manager, other.context, last), FERRY_OK);
        assert_int_equal(ferry_vidmm_wait(world->manager, world->context, guilty), FERRY_ERROR_FAULT);
        for (unsigned i = 0; i < jobs; i++)
            expect_words(world, to[i], 0x600D, PAGES(2));
        D3DKMT_DEVICEEXECUTION_STATE of_other;
        assert_int_equal(ferry_vidmm_device_state(world->manager, other.device, &of_other), FERRY_OK);
        assert_int_equal(of_other, D3DKMT_DEVICEEXECUTION_ACTIVE);
        struct ferry_vidmm_statistics statistics = world_statistics(world);
        assert_int_equal(statistics.faulted_jobs, 1);
        assert_int_equal(statistics.faulted_paging_buffers, 0);
        assert_int_equal(statistics.jobs, jobs + 1);
        world_close(world);
    }
}

// What is queued behind a page-in that fails must not run on what is not there.
static void a_job_behind_a_page_in_that_faults_does_not_run(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    world_write(world, a, 1);
    world->knobs->delay = 3;
    world->knobs->fault_paging = 1;
    assert_int_equal(world_resident(world, &a, 1), FERRY_PENDING);
    uint64_t fence = world_gpu_copy(world, a, PAGE_SIZE, a, 0, PAGE_SIZE);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_ERROR_FAULT);
    assert_int_equal(world_statistics(world).jobs, 0);
    world_close(world);
}

static struct world *waiting;
static unsigned resets;
static NTSTATUS (*reset_engine)(HANDLE adapter, DXGKARG_RESETENGINE *argument);

// A miniport that is the world's but for its resets.
static const DRIVER_INITIALIZATION_DATA *with_resets(struct world *world,
                                                     NTSTATUS (*other)(HANDLE adapter, DXGKARG_RESETENGINE *argument))
{
    static DRIVER_INITIALIZATION_DATA table;
    const DRIVER_INITIALIZATION_DATA *real = world->manager->core.miniport;
    waiting = world;
    resets = 0;
    table = *real;
    reset_engine = table.DxgkDdiResetEngine;
    table.DxgkDdiResetEngine = other;
    world->manager->core.miniport = &table;
    return real;
}

#define PATIENT_RESETS 20 // far more than a wait that ends has

// It lets the nodes go, and they stand still again at once.
static NTSTATUS reset_in_vain(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    NTSTATUS status = reset_engine(adapter, argument);
    waiting->knobs->hang = ++resets < PATIENT_RESETS;
    return status;
}

// A second reset would bring nothing either. Nothing is lost, and who waits once more has patience of his own.
static void paging_that_never_ends_is_a_time_out(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    const DRIVER_INITIALIZATION_DATA *real = with_resets(world, reset_in_vain);
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    D3DDDI_MAKERESIDENT make = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &a};
    world_write(world, a, 5);
    world->knobs->delay = 1;
    world->knobs->hang = true;
    ferry_vidmm_poll(world->manager, true); // it does, from now on
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &make), FERRY_PENDING);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, make.PagingFenceValue),
                         FERRY_ERROR_TIMEOUT);
        assert_int_equal(resets, i + 1);
    }
    world->manager->core.miniport = real;
    // The one that it has has to be reset too.
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, make.PagingFenceValue), FERRY_OK);
    world_check_gpu(world, a, 5);
    world_close(world);
}

// The first one fails; how many times the node stands still once more behind a later one is up to the case.
static unsigned hangs_behind;

static NTSTATUS reset_at_second_try(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    if (resets++ == 0)
        return STATUS_IO_TIMEOUT;
    NTSTATUS status = reset_engine(adapter, argument);
    waiting->knobs->hang = hangs_behind > 0;
    hangs_behind -= hangs_behind > 0;
    return status;
}

// Who stands still behind it may have been given back by the device as the reset began. He runs once more, and is to
// blame if that hangs too.
static void who_stands_still_behind_a_reset_that_failed_is_not_to_blame_yet(void **state)
{
    (void)state;
    for (unsigned again = 0; again < 2; again++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
        world_require(world, a);
        world->knobs->delay = 1;
        world->knobs->hang = true;
        const DRIVER_INITIALIZATION_DATA *real = with_resets(world, reset_at_second_try);
        hangs_behind = again;
        uint64_t fence = world_gpu_fill(world, a, 0, PAGE_SIZE, 7);
        assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_ERROR_TIMEOUT);
        assert_int_equal(resets, 1);
        assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), again ? FERRY_ERROR_FAULT : FERRY_OK);
        assert_int_equal(resets, 2 + again);
        world->manager->core.miniport = real;
        world_close(world);
    }
}

static int (*turn)(void *context);

// Something is seen to have ended without an interrupt that would have said so.
static int untold_turn(void *context)
{
    turn(context);
    return FERRY_ERROR_TIMEOUT;
}

static NTSTATUS count_resets(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    resets++;
    return reset_engine(adapter, argument);
}

static void what_ends_untold_is_no_hang(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    uint64_t fence = 0;
    world_require(world, a);
    turn = world->manager->core.platform.wait_for_progress;
    world->manager->core.platform.wait_for_progress = untold_turn;
    const DRIVER_INITIALIZATION_DATA *real = with_resets(world, count_resets);
    world->knobs->delay = 1;
    for (uint32_t i = 0; i < 3; i++)
        fence = world_gpu_fill(world, a, PAGES(i), PAGE_SIZE, 0xAB0B0B00 + i);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_OK);
    assert_int_equal(resets, 0);
    world->manager->core.platform.wait_for_progress = turn;
    world->manager->core.miniport = real;
    world_close(world);
}

// Whatever of the list is there already says nothing of the others, wherever it stands.
static void R217_R218_all_of_a_list_is_waited_for(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 3; first++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE list[3];
        world->knobs->delay = 5;
        for (unsigned i = 0; i < 3; i++) {
            list[i] = world_create(world, PAGES(2), CPU);
            world_write(world, list[i], i);
            if (i == first)
                world_require(world, list[i]);
        }
        D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 3, .AllocationList = list};
        assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
        assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, arguments.PagingFenceValue), FERRY_OK);
        for (unsigned i = 0; i < 3; i++)
            world_check_gpu(world, list[i], i);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R217_make_resident_and_submit_never_wait_for_the_gpu),
        cmocka_unit_test(R217_R218_all_of_a_list_is_waited_for),
        cmocka_unit_test(a_hang_costs_other_devices_nothing),
        cmocka_unit_test(a_job_behind_a_page_in_that_faults_does_not_run),
        cmocka_unit_test(paging_that_never_ends_is_a_time_out),
        cmocka_unit_test(who_stands_still_behind_a_reset_that_failed_is_not_to_blame_yet),
        cmocka_unit_test(what_ends_untold_is_no_hang),
    };
    return WORLD_RUN(tests);
}
