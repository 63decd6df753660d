// SPDX-License-Identifier: Apache-2.0
// An allocation that is destroyed while jobs name it, and what others do meanwhile.
#include <pthread.h>
#include <stdatomic.h>

#include "addresses.h"
#include "discards.h"
#include "in_vain.h"
#include "programs.h"
#include "vidmm/api/call.h"

struct destroyer {
    struct world *world;
    D3DKMT_HANDLE allocation;
    int result;
};

static void *destroy(void *context)
{
    struct destroyer *destroyer = context;
    destroyer->result = ferry_vidmm_destroy_allocation(destroyer->world->manager, destroyer->allocation);
    return NULL;
}

// A job of nothing that names an allocation; 0 = none.
static void put(struct world *world, const struct program *program, D3DKMT_HANDLE allocation)
{
    struct machine_job job = {0};
    struct ferry_vidmm_reference reference = {allocation, true};
    uint64_t fence;
    machine_job_nothing(&job);
    struct ferry_vidmm_submission buffer = {
        .commands = job.commands, .bytes = job.bytes, .references = &reference, .reference_count = allocation != 0};
    assert_int_equal(ferry_vidmm_submit(world->manager, program->context, &buffer, 1, &fence), FERRY_OK);
}

static void poll(struct world *world)
{
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
}

static void turns_of_others_bring_back_nothing_that_is_being_destroyed(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.turn_cycles = 1;
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    spy.keep = false;
    struct program programs[3];
    D3DKMT_HANDLE allocations[3];
    for (unsigned i = 0; i < 3; i++) {
        programs[i] = program_begin(world, 1, 0);
        assert_int_equal(ferry_vidmm_create_context(world->manager, programs[i].device, 1, &programs[i].context, NULL),
                         FERRY_OK);
        program_become(world, &programs[i]);
        allocations[i] = i == 0 ? world_create_in_aperture(world, PAGES(4), CPU) : world_create(world, PAGES(40), CPU);
        assert_true(list_it(world, &programs[i], allocations[i], true) >= 0);
    }
    poll(world);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    world->knobs->hold_turns = 1000000;
    put(world, &programs[0], allocations[0]);
    put(world, &programs[1], allocations[1]);
    uint64_t first = world_place(world, allocations[0]).offset / PAGE_SIZE;
    bool coherent;
    uint64_t dummy = machine_aperture_entry(world->machine, first + 8, &coherent);
    assert_int_not_equal(machine_aperture_entry(world->machine, first, &coherent), dummy);
    struct destroyer destroyer = {world, allocations[0], FERRY_PENDING};
    pthread_t thread;
    pthread_create(&thread, NULL, destroy, &destroyer);
    // It has begun when the handle is gone, and waits for the job that is held.
    struct ferry_vidmm_placement place;
    while (ferry_vidmm_placement(world->manager, allocations[0], &place) == FERRY_OK)
        ;
    put(world, &programs[2], allocations[2]); // takes its turn: the others go away
    put(world, &programs[0], 0);              // and the first comes back, but for what is being destroyed
    world->knobs->hold_node = 0;
    pthread_join(thread, NULL);
    assert_int_equal(destroyer.result, FERRY_OK);
    poll(world);
    for (uint64_t page = 0; page < 4; page++)
        assert_int_equal(machine_aperture_entry(world->machine, first + page, &coherent), dummy);
    world_close(world);
}

// ---- A device whose end times out while one of its allocations is being locked ----

static struct machine_turns {
    pthread_t destroyer;
    atomic_bool locked; // the lock has come back
    bool times_out;
    struct machine_knobs *knobs;
} turns;

// Who destroys waits until the lock has come back, and finds then that nothing comes any more, or all of it.
static int turn_for_one(void *context)
{
    if (!pthread_equal(pthread_self(), turns.destroyer))
        return in_vain.turn(context);
    if (!turns.locked || turns.times_out)
        return turns.locked ? FERRY_ERROR_TIMEOUT : FERRY_OK;
    turns.knobs->hold_paging = false;
    return in_vain.turn(context);
}

struct locker {
    struct world *world;
    D3DKMT_HANDLE allocation;
    uint32_t flags;
    int result;
};

static void *lock_it(void *context)
{
    struct locker *locker = context;
    void *address;
    locker->result = ferry_vidmm_lock(locker->world->manager, locker->allocation, locker->flags, &address);
    turns.locked = true;
    return NULL;
}

// Paging is held back; a lock of the allocation begins and waits for it. Then its device is destroyed, maybe in vain.
static void destroy_under_a_lock(struct world *world, D3DKMT_HANDLE a, uint32_t flags, bool times_out)
{
    struct ferry_vidmm *manager = world->manager;
    turns.locked = false;
    turns.times_out = times_out;
    turns.knobs = world->knobs;
    struct locker locker = {world, a, flags, FERRY_PENDING};
    pthread_t thread;
    pthread_create(&thread, NULL, lock_it, &locker);
    while (!world_place(world, a).locked)
        ;
    turns.destroyer = pthread_self();
    // Between two calls. The lock's thread may just find that nothing comes: a reset that fails would be its doing.
    take_turns(manager, turn_for_one, times_out);
    assert_int_equal(ferry_vidmm_destroy_device(manager, world->device), times_out ? FERRY_ERROR_TIMEOUT : FERRY_OK);
    pthread_join(thread, NULL);
    assert_int_equal(locker.result, FERRY_ERROR_HANDLE); // it was gone when the lock looked for it again
    let_it_come_again(manager);
    world->knobs->hold_paging = false;
}

static void hold_back_paging(struct world *world)
{
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = UINT32_MAX;
}

static void a_device_whose_end_times_out_is_there_again_and_its_lock_is_free(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_vidmm *manager = world->manager;
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    world_write(world, a, 7);
    world_require(world, a);
    hold_back_paging(world);
    destroy_under_a_lock(world, a, 0, true); // the lock waits for the way out
    // The device and what is on it are as they were: nothing is locked, nothing lost.
    D3DKMT_DEVICEEXECUTION_STATE execution;
    assert_int_equal(ferry_vidmm_device_state(manager, world->device, &execution), FERRY_OK);
    assert_int_equal(execution, D3DKMT_DEVICEEXECUTION_ACTIVE);
    assert_false(world_place(world, a).locked);
    assert_false(world_place(world, a).lost);
    world_check(world, a, 7);
    world_wait(world, world_gpu_name(world, world->context, a, false)); // which brings it back
    world_check_gpu(world, a, 7);
    assert_int_equal(ferry_vidmm_destroy_device(manager, world->device), FERRY_OK);
    assert_int_equal(world_statistics(world).allocations, 0);
    world_close(world);
}

// One job that does not end, or paging that does not: nothing of the device has gone.
static void a_device_whose_end_times_out_has_all_that_it_had(void **state)
{
    (void)state;
    for (unsigned paging = 0; paging < 2; paging++) {
        struct world *world = world_open_default();
        struct ferry_vidmm *manager = world->manager;
        D3DKMT_HANDLE contexts[2];
        D3DKMT_HANDLE allocations[] = {world_create(world, PAGES(2), CPU), world_create(world, PAGES(3), CPU),
                                       world_create_in_aperture(world, PAGES(2), CPU)};
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(ferry_vidmm_create_context(manager, world->device, 1 + i, &contexts[i], NULL), FERRY_OK);
        for (unsigned i = 0; i < 3; i++) {
            world_write(world, allocations[i], i);
            world_require(world, allocations[i]);
        }
        world->knobs->delay = 1;
        world->knobs->hold_turns = UINT32_MAX;
        world->knobs->hold_node = 2;
        world->knobs->hold_paging = paging;
        uint64_t fence = paging ? 0 : world_gpu_name(world, contexts[1], allocations[1], false);
        let_nothing_come(manager);
        assert_int_equal(ferry_vidmm_destroy_device(manager, world->device), FERRY_ERROR_TIMEOUT);
        let_it_come_again(manager);
        world->knobs->hold_node = 0;
        world->knobs->hold_paging = false;
        D3DKMT_DEVICEEXECUTION_STATE execution;
        assert_int_equal(ferry_vidmm_device_state(manager, world->device, &execution), FERRY_OK);
        assert_int_equal(execution, D3DKMT_DEVICEEXECUTION_ACTIVE);
        assert_int_equal(world_statistics(world).allocations, 3);
        if (fence != 0)
            assert_int_equal(ferry_vidmm_wait(manager, contexts[1], fence), FERRY_OK);
        for (unsigned i = 0; i < 3; i++) {
            fence = world_gpu_name(world, contexts[i % 2], allocations[i], false);
            assert_int_equal(ferry_vidmm_wait(manager, contexts[i % 2], fence), FERRY_OK);
            assert_int_equal(world_place(world, allocations[i]).residency_count, 1);
            world_check(world, allocations[i], i);
        }
        assert_int_equal(ferry_vidmm_destroy_device(manager, world->device), FERRY_OK);
        assert_int_equal(world_statistics(world).allocations, 0);
        world_close(world);
    }
}

// What another call is destroying is nobody's to show again.
static void what_goes_by_itself_stays_hidden_when_its_device_stays(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_vidmm *manager = world->manager;
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), context;
    assert_int_equal(ferry_vidmm_create_context(manager, world->device, 2, &context, NULL), FERRY_OK);
    world_require(world, a);
    world->knobs->delay = 1;
    world->knobs->hold_turns = UINT32_MAX;
    world->knobs->hold_node = 2;
    world_gpu_name(world, context, a, false);
    struct destroyer destroyer = {world, a, FERRY_PENDING};
    pthread_t thread;
    pthread_create(&thread, NULL, destroy, &destroyer);
    struct ferry_vidmm_placement place;
    while (ferry_vidmm_placement(manager, a, &place) == FERRY_OK)
        ;
    turns.destroyer = pthread_self();
    turns.locked = turns.times_out = true;
    let_resets_fail(manager, turn_for_one);
    assert_int_equal(ferry_vidmm_destroy_device(manager, world->device), FERRY_ERROR_TIMEOUT);
    assert_int_equal(ferry_vidmm_placement(manager, a, &place), FERRY_ERROR_HANDLE);
    let_it_come_again(manager);
    ferry_vm_take_lock(manager);
    world->knobs->hold_node = 0;
    ferry_vm_give_lock(manager);
    pthread_join(thread, NULL);
    assert_int_equal(destroyer.result, FERRY_OK);
    assert_int_equal(world_statistics(world).allocations, 0);
    assert_int_equal(ferry_vidmm_destroy_device(manager, world->device), FERRY_OK);
    world_close(world);
}

// The lock discards, and has taken another instance than the one with the content. Both are on their way in.
static struct world *discard_under_way(bool aperture, D3DKMT_HANDLE *allocation)
{
    struct world *world = open_held(64);
    *allocation = create_limited(world, PAGES(2), CPU, aperture, 2);
    hold_back_paging(world);
    assert_int_equal(world_resident(world, allocation, 1), FERRY_PENDING);
    discard(world, *allocation, 7);
    assert_int_equal(world_resident(world, allocation, 1), FERRY_PENDING);
    assert_int_equal(world_place(world, *allocation).instances, 2);
    return world;
}

static void a_device_whose_end_times_out_keeps_what_a_lock_would_have_discarded(void **state)
{
    (void)state;
    for (unsigned aperture = 0; aperture < 2; aperture++) {
        D3DKMT_HANDLE a;
        struct world *world = discard_under_way(aperture, &a);
        destroy_under_a_lock(world, a, D3DDDI_LOCK_DISCARD, true);
        assert_false(world_place(world, a).locked);
        world_check(world, a, 7);
        assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
        world_close(world);
    }
}

// Neither instance leaves entries behind that lead to its pages.
static void a_device_that_goes_under_a_lock_that_discards_leaves_no_entry(void **state)
{
    (void)state;
    D3DKMT_HANDLE a;
    struct world *world = discard_under_way(true, &a);
    bool coherent;
    uint64_t nothing = machine_aperture_entry(world->machine, 40, &coherent);
    destroy_under_a_lock(world, a, D3DDDI_LOCK_DISCARD, false);
    assert_int_equal(world_statistics(world).allocations, 0);
    for (uint64_t page = 0; page < 63; page++)
        assert_int_equal(machine_aperture_entry(world->machine, page, &coherent), nothing);
    world_close(world);
}

// ---- An allocation whose end times out ----

static uint64_t own_address(struct world *world, D3DKMT_HANDLE allocation)
{
    uint64_t address = 1;
    assert_int_equal(ferry_vidmm_own_address(world->manager, allocation, &address), FERRY_OK);
    return address;
}

// Pages 1 and 2 where the program wants them; 0 in driver model 1.
static uint64_t map(struct world *world, D3DKMT_HANDLE allocation)
{
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .bytes = PAGES(2), .address = PAGES(4096)};
    int result = ferry_vidmm_map_virtual(world->manager, world->device, allocation, PAGES(1), false, &range);
    assert_int_equal(result, addresses_wanted() ? FERRY_OK : FERRY_ERROR_UNSUPPORTED);
    return addresses_wanted() ? range.address : 0;
}

static void is_mapped(struct world *world, uint64_t address, D3DKMT_HANDLE allocation)
{
    struct ferry_vidmm_mapping mapping;
    int result = ferry_vidmm_find_virtual(world->manager, world->device, address, &mapping);
    assert_int_equal(result, addresses_wanted() ? FERRY_OK : FERRY_ERROR_UNSUPPORTED);
    if (result != FERRY_OK)
        return;
    assert_int_equal(mapping.allocation, allocation);
    assert_int_equal(mapping.offset, PAGES(1));
    assert_int_equal(mapping.bytes, PAGES(2));
}

// Who is it that does not come to an end: a job of the allocation's, or its paging.
enum { JOB, PAGING, HOLDS };

static void an_allocation_whose_end_times_out_keeps_its_addresses(void **state)
{
    (void)state;
    for (unsigned held = JOB; held < HOLDS; held++) {
        struct world *world = open_held(64);
        struct ferry_vidmm *manager = world->manager;
        D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
        uint64_t mapped = map(world, a), own = own_address(world, a), fence = 0;
        assert_int_equal(own != 0, addresses_wanted());
        world_write(world, a, 7);
        world->knobs->delay = 1;
        world->knobs->hold_turns = UINT32_MAX;
        world->knobs->hold_node = held == JOB ? HELD_NODE : 0;
        world->knobs->hold_paging = held == PAGING;
        if (held == PAGING) {
            assert_int_equal(world_resident(world, &a, 1), FERRY_PENDING);
        } else {
            world_require(world, a);
            fence = world_gpu_name(world, world->context, a, false);
        }
        let_nothing_come(manager);
        assert_int_equal(ferry_vidmm_destroy_allocation(manager, a), FERRY_ERROR_TIMEOUT);
        let_it_come_again(manager);
        world->knobs->hold_node = 0;
        world->knobs->hold_paging = false;
        ferry_vidmm_poll(manager, true); // what was held goes first
        assert_int_equal(own_address(world, a), own);
        is_mapped(world, mapped, a);
        assert_int_equal(world_place(world, a).residency_count, 1);
        if (fence != 0)
            world_wait(world, fence);
        world_check_gpu(world, a, 7); // by its address, where there is one
        world_force_out(world, a);
        world_require(world, a);
        world_check_gpu(world, a, 7);
        assert_int_equal(ferry_vidmm_destroy_allocation(manager, a), FERRY_OK);
        struct ferry_vidmm_mapping mapping = {0};
        ferry_vidmm_find_virtual(manager, world->device, mapped, &mapping);
        assert_int_equal(mapping.allocation, 0);
        assert_int_equal(map(world, world_create(world, PAGES(4), CPU)), mapped);
        world_close(world);
    }
}

// Nobody waits for whoever is being destroyed: its room may be given to others meanwhile.
static void what_is_destroyed_in_vain_may_have_left_meanwhile(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    struct ferry_vidmm *manager = world->manager;
    D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU), b = world_create(world, PAGES(40), CPU);
    uint64_t own = own_address(world, a);
    world_write(world, a, 7);
    world_require(world, a);
    world->knobs->delay = 1;
    world->knobs->hold_turns = UINT32_MAX;
    world->knobs->hold_node = HELD_NODE;
    uint64_t fence = world_gpu_name(world, world->context, a, true);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    struct destroyer destroyer = {world, a, FERRY_PENDING};
    pthread_t thread;
    pthread_create(&thread, NULL, destroy, &destroyer);
    struct ferry_vidmm_placement place;
    while (ferry_vidmm_placement(manager, a, &place) == FERRY_OK)
        ;
    assert_int_equal(world_resident(world, &b, 1), FERRY_PENDING); // it goes, behind its job
    turns.destroyer = thread;
    turns.locked = turns.times_out = true;
    let_resets_fail(manager, turn_for_one);
    pthread_join(thread, NULL);
    let_it_come_again(manager);
    assert_int_equal(destroyer.result, FERRY_ERROR_TIMEOUT);
    let_go(world, fence);
    assert_int_equal(own_address(world, a), own);
    assert_int_equal(world_place(world, a).segment, 0);
    assert_int_equal(world_evict(world, b), FERRY_OK);
    world_require(world, a);
    world_check_gpu(world, a, 7);
    assert_int_equal(ferry_vidmm_destroy_allocation(manager, a), FERRY_OK);
    world_close(world);
}

// Nobody waits for the operations that take away what is destroyed but its device. Of what went before, it is as it
// was; of what goes with it, it is empty, and says so.
static void a_device_ends_behind_the_page_tables_of_what_it_had(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 2; before++) {
        struct world *world = world_open_default();
        struct ferry_vidmm *manager = world->manager;
        D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
        world_require(world, a);
        world->knobs->delay = 1;
        world->knobs->hold_paging = true;
        if (before)
            assert_int_equal(ferry_vidmm_destroy_allocation(manager, a), FERRY_OK);
        let_nothing_come(manager);
        int result = ferry_vidmm_destroy_device(manager, world->device);
        assert_int_equal(result, addresses_wanted() ? FERRY_ERROR_TIMEOUT : FERRY_OK);
        let_it_come_again(manager);
        world->knobs->hold_paging = false;
        D3DKMT_DEVICEEXECUTION_STATE execution;
        if (addresses_wanted()) {
            assert_int_equal(ferry_vidmm_device_state(manager, world->device, &execution), FERRY_OK);
            assert_int_equal(execution, before ? D3DKMT_DEVICEEXECUTION_ACTIVE : D3DKMT_DEVICEEXECUTION_HUNG);
        }
        ferry_vidmm_poll(manager, true);
        if (addresses_wanted())
            assert_int_equal(ferry_vidmm_destroy_device(manager, world->device), FERRY_OK);
        world_close(world);
    }
}

static void count_turns(void *context)
{
    ++*(unsigned *)context;
}

// A program that is killed has so many small things in the aperture. Each has to be unmapped; for all of them together
// as many buffers are waited for as that takes.
static void what_ends_together_is_taken_away_together(void **state)
{
    (void)state;
    enum { COUNT = 400 };
    struct world_options options = world_defaults();
    options.machine.aperture_bytes = PAGES(COUNT + 24);
    struct world *world = world_open(&options);
    D3DKMT_HANDLE small[COUNT];
    unsigned count = 0;
    for (unsigned i = 0; i < COUNT; i++)
        small[i] = world_create_in_aperture(world, PAGES(1), CPU);
    assert_true(world_resident(world, small, COUNT) >= 0);
    for (unsigned i = 0; i < COUNT; i++)
        ferry_vidmm_poll(world->manager, true);
    world->knobs->delay = 1;
    world->knobs->before_turn = count_turns;
    world->knobs->before_turn_context = &count;
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    world->knobs->before_turn = NULL;
    assert_true(count > 0 && count < COUNT / 4);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_whose_end_times_out_keeps_its_addresses),
        cmocka_unit_test(what_is_destroyed_in_vain_may_have_left_meanwhile),
        cmocka_unit_test(a_device_ends_behind_the_page_tables_of_what_it_had),
        cmocka_unit_test(a_device_whose_end_times_out_has_all_that_it_had),
        cmocka_unit_test(what_goes_by_itself_stays_hidden_when_its_device_stays),
        cmocka_unit_test(a_device_whose_end_times_out_is_there_again_and_its_lock_is_free),
        cmocka_unit_test(a_device_whose_end_times_out_keeps_what_a_lock_would_have_discarded),
        cmocka_unit_test(a_device_that_goes_under_a_lock_that_discards_leaves_no_entry),
        cmocka_unit_test(turns_of_others_bring_back_nothing_that_is_being_destroyed),
        cmocka_unit_test(what_ends_together_is_taken_away_together),
    };
    return WORLD_RUN(tests);
}
