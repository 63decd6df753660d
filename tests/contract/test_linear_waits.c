// SPDX-License-Identifier: Apache-2.0
// What a lock with AcquireAperture waits for, and what it does not. Driver model 1.
#include <pthread.h>
#include <stdio.h>

#include "tiled.h"
#include "wrapped_block.h"

#define HELD_NODE 1

struct locker {
    struct world *world;
    D3DKMT_HANDLE allocation;
    uint32_t flags;
    int result;
};

static void *lock_it(void *context)
{
    struct locker *l = context;
    l->result = ferry_vidmm_lock_linear(l->world->manager, 0, l->allocation, l->flags, 0);
    return NULL;
}

// It waits for paging only. When the allocation comes back meanwhile to a place that somebody's job has still to leave,
// one with DoNotWait does not wait for that job.
static void a_lock_that_waits_for_no_job_waits_for_no_place_behind_one(void **state)
{
    (void)state;
    for (unsigned waits = 0; waits < 2; waits++) {
        struct world *world = tiled_world();
        D3DKMT_HANDLE held, large = world_create(world, PAGES(TILED_LOCAL), 0);
        struct tiled t;
        pthread_t thread;
        assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, HELD_NODE, &held, NULL), FERRY_OK);
        tiled_create(world, &t, &tiled_one, CPU);
        struct locker locker = {world, t.allocation, waits ? 0 : D3DDDI_LOCK_DO_NOT_WAIT, FERRY_PENDING};
        world->knobs->delay = 1;
        world->knobs->hold_paging = true;
        world->knobs->hold_turns = UINT32_MAX;
        assert_int_equal(world_evict(world, t.allocation), FERRY_OK);
        assert_int_equal(world_resident(world, &large, 1), FERRY_PENDING);
        assert_int_equal(world_place(world, t.allocation).segment, 0);
        pthread_create(&thread, NULL, lock_it, &locker);
        while (!world_place(world, t.allocation).locked)
            ;
        ferry_vm_take_lock(world->manager);
        world->knobs->hold_node = HELD_NODE;
        ferry_vm_give_lock(world->manager);
        (void)world_gpu_name(world, held, large, true);
        assert_int_equal(world_evict(world, large), FERRY_OK);
        assert_int_equal(world_resident(world, &t.allocation, 1), FERRY_PENDING);
        // The job ends by itself some time, for a lock that would wait for it.
        ferry_vm_take_lock(world->manager);
        world->knobs->hold_paging = false;
        world->knobs->hold_turns = 200;
        ferry_vm_give_lock(world->manager);
        pthread_join(thread, NULL);
        assert_int_equal(locker.result, waits ? FERRY_OK : FERRY_ERROR_BUSY);
        assert_int_equal(world->knobs->hold_node, waits ? 0 : HELD_NODE);
        assert_int_equal(world_place(world, t.allocation).locked, waits);
        world->knobs->hold_node = 0;
        t.locked = waits;
        if (!waits)
            tiled_lock(world, &t, 0);
        tiled_drop(world, &t);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
        world_close(world);
    }
}

// What others bring in and out is not waited for, newer or older than what was queued for it; nor is it by an access.
static void a_lock_waits_for_no_paging_but_its_own(void **state)
{
    (void)state;
    for (unsigned where = 0; where < 2; where++) {
        struct world *world = tiled_world();
        D3DKMT_HANDLE other = world_create(world, PAGES(4), CPU);
        struct tiled t;
        tiled_create(world, &t, &tiled_one, CPU);
        world_write(world, other, 3);
        // It is in system memory, or in video memory.
        if (where == 0)
            tiled_send_out(world, &t);
        for (unsigned i = 0; i < 20; i++)
            ferry_vidmm_poll(world->manager, true);
        assert_int_equal(world->manager->sched.done, world->manager->sched.queued);
        world->knobs->delay = 1;
        world->knobs->hold_paging = true;
        world->knobs->hold_turns = 200;
        assert_int_equal(world_resident(world, &other, 1), FERRY_PENDING);
        uint64_t queued = world->manager->sched.queued;
        tiled_lock(world, &t, 0);
        tiled_write_some(world, &t);
        tiled_read_some(world, &t);
        assert_int_equal(world->manager->sched.queued, queued);
        assert_true(world->manager->sched.done < queued);
        assert_true(world->knobs->hold_paging);
        world->knobs->hold_paging = false;
        tiled_drop(world, &t);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, other), FERRY_OK);
        world_close(world);
    }
}

// Whoever waits in the manager lets others in after each turn, which is where a neighbour sends the allocation out and
// brings it in again.
static struct neighbour {
    struct world *world;
    D3DKMT_HANDLE allocation, large;
    unsigned goes, most;
} neighbour;

// Out, to make room for what is as large as video memory, and in again.
static void send_out_and_in(void)
{
    (void)world_evict(neighbour.world, neighbour.allocation);
    if (world_resident(neighbour.world, &neighbour.large, 1) >= 0)
        (void)world_evict(neighbour.world, neighbour.large);
    (void)world_resident(neighbour.world, &neighbour.allocation, 1);
}

int __wrap_ferry_vm_block(struct ferry_vidmm *manager, unsigned node, uint64_t number,
                          struct ferry_vm_patience *patience)
{
    int result = __real_ferry_vm_block(manager, node, number, patience);
    if (result != FERRY_PENDING || neighbour.goes >= neighbour.most)
        return result;
    neighbour.goes++;
    ferry_vm_give_lock(manager);
    send_out_and_in();
    ferry_vm_take_lock(manager);
    return result;
}

// Neither the lock nor an access waits for as long as somebody sends the allocation out and brings it in.
static void a_lock_ends_though_its_allocation_comes_and_goes(void **state)
{
    (void)state;
    for (unsigned access = 0; access < 2; access++) {
        struct world *world = tiled_world();
        struct tiled t;
        tiled_create(world, &t, &tiled_one, CPU);
        if (access)
            tiled_lock(world, &t, 0);
        world->knobs->delay = 8;
        neighbour = (struct neighbour){.world = world,
                                       .allocation = t.allocation,
                                       .large = world_create(world, PAGES(TILED_LOCAL), 0),
                                       .most = 1000};
        send_out_and_in();
        if (access)
            tiled_write_some(world, &t);
        else
            tiled_lock(world, &t, 0);
        printf("%s: the neighbour came %u times\n", access ? "access" : "lock", neighbour.goes);
        assert_in_range(neighbour.goes, 1, 100);
        neighbour.most = 0;
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, neighbour.large), FERRY_OK);
        tiled_drop(world, &t);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_that_waits_for_no_job_waits_for_no_place_behind_one),
        cmocka_unit_test(a_lock_waits_for_no_paging_but_its_own),
        cmocka_unit_test(a_lock_ends_though_its_allocation_comes_and_goes),
    };
    return WORLD_RUN(tests);
}
