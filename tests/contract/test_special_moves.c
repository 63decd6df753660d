// SPDX-License-Identifier: Apache-2.0
// What is locked with UseAlternateVA and moves inside video memory, by way of its backing store, more than once or
// before it leaves, all of it by one call; and what has a backing store besides when it leaves. Driver model 1.
#include "in_vain.h"
#include "special.h"

// Pushed down by less than a step, it goes out and in again by its backing store, twice for one call here. That is no
// eviction, so the address has no part in it.
static void R85_pushed_down_twice_by_one_call(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t;
    tiled_drawn = 9;
    static const uint32_t sizes[] = {2, 9, 2, 0, 2, 39, 2}; // from the low end; the fourth is the tiled one
    D3DKMT_HANDLE all[7], wanted[2];
    for (unsigned i = 0; i < 7; i++) {
        if (sizes[i] == 0)
            create(world, &t, true);
        all[i] = sizes[i] ? world_create(world, PAGES(sizes[i]), CPU) : t.allocation;
        world_require(world, all[i]);
    }
    assert_int_equal(world_place(world, t.allocation).offset, PAGES(13));
    lock(world, &t, SPECIAL);
    tiled_write_some(world, &t);
    for (unsigned i = 0; i < 7; i += 2)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, all[i]), FERRY_OK);
    for (unsigned i = 0; i < 2; i++)
        wanted[i] = world_create(world, PAGES(4), CPU);
    assert_true(world_resident(world, wanted, 2) >= 0);
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_place(world, t.allocation).offset, PAGES(9));
    assert_int_equal(specials(), 0);
    tiled_check_all(world, &t);
    tiled_drop(world, &t);
    world_close(world);
}

// Needed soon, it is pushed down for the first of two; the second one's room takes it out all the same.
static void R83_pushed_down_and_evicted_by_one_call(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t;
    tiled_drawn = 10;
    create(world, &t, true);
    D3DKMT_HANDLE seldom = world_create(world, PAGES(20), CPU), spacers[2], wanted[2];
    world_require(world, t.allocation);
    world_require(world, seldom);
    world_wait(world, world_gpu_fill(world, seldom, 0, PAGE_SIZE, 1));
    // Twice: one absence is no rhythm.
    for (unsigned i = 0; i < 80; i++) {
        world_wait(world, world_gpu_name(world, world->context, t.allocation, true));
        if (i % 40 == 39)
            world_wait(world, world_gpu_name(world, world->context, seldom, false));
    }
    world_wait(world, world_gpu_name(world, world->context, t.allocation, true));
    assert_int_equal(world_evict(world, t.allocation), FERRY_OK);
    assert_int_equal(world_evict(world, seldom), FERRY_OK);
    lock(world, &t, SPECIAL);
    tiled_write_some(world, &t);
    tiled_send_out(world, &t);
    // Two pages free, the tiled one, two free, the other one, and 32 that stay.
    spacers[0] = world_create(world, PAGES(2), CPU);
    spacers[1] = world_create(world, PAGES(2), CPU);
    world_require(world, spacers[0]);
    bring_in(world, &t);
    world_require(world, spacers[1]);
    world_require(world, seldom);
    assert_int_equal(world_evict(world, seldom), FERRY_OK);
    world_require(world, world_create(world, PAGES(32), CPU));
    assert_int_equal(world_place(world, t.allocation).offset, PAGES(2));
    assert_int_equal(world_place(world, seldom).offset, PAGES(12));
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, spacers[i]), FERRY_OK);
    tiled_write_some(world, &t);
    wanted[0] = world_create(world, PAGES(4), CPU);
    wanted[1] = world_create(world, PAGES(28), CPU);
    uint64_t in = world_statistics(world).bytes_in;
    assert_true(world_resident(world, wanted, 2) >= 0);
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_statistics(world).bytes_in, in + t.bytes); // at its second place
    assert_int_equal(world_place(world, t.allocation).segment, 0);
    assert_int_equal(specials(), 3);
    tiled_check_all(world, &t);
    tiled_drop(world, &t);
    world_close(world);
}

// An ordinary lock that has failed leaves it a backing store. It goes there then: its content is never in both. Once it
// has been back there is none any more, and it goes to the address.
static void R83_what_has_a_backing_store_already_goes_there(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t;
    void *address;
    tiled_drawn = 11;
    create(world, &t, true);
    lock(world, &t, SPECIAL);
    tiled_write_some(world, &t);
    tiled_unlock(world, &t);
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = UINT32_MAX;
    let_nothing_come(world->manager);
    assert_int_equal(ferry_vidmm_lock(world->manager, t.allocation, D3DDDI_LOCK_READ_ONLY, &address),
                     FERRY_ERROR_TIMEOUT);
    let_it_come_again(world->manager);
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    const struct ferry_vm_allocation *allocation =
        ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_ALLOCATION, t.allocation);
    assert_non_null(allocation->backing);
    assert_int_equal(world_place(world, t.allocation).segment, machine_local_segment);
    lock(world, &t, SPECIAL);
    tiled_write_some(world, &t);
    uint64_t out = world_statistics(world).bytes_out;
    tiled_send_out(world, &t);
    tiled_check_all(world, &t);
    assert_int_equal(specials(), 0);
    assert_int_equal(world_statistics(world).bytes_out, out + t.bytes);
    tiled_write_some(world, &t);
    bring_in(world, &t);
    tiled_check_all(world, &t);
    assert_null(allocation->backing);
    tiled_write_some(world, &t);
    tiled_send_out(world, &t);
    assert_int_equal(specials(), 1);
    tiled_check_all(world, &t);
    tiled_drop(world, &t);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R85_pushed_down_twice_by_one_call),
        cmocka_unit_test(R83_pushed_down_and_evicted_by_one_call),
        cmocka_unit_test(R83_what_has_a_backing_store_already_goes_there),
    };
    return WORLD_RUN(tests);
}
