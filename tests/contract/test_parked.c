// SPDX-License-Identifier: Apache-2.0
// Parked instances of renamed allocations when others need their places: they leave, or lie elsewhere afterwards, and
// what they held is nobody's.
#include "discards.h"
#include "programs.h"

static D3DKMT_HANDLE create_aligned(struct world *world, uint32_t pages, uint32_t alignment)
{
    struct ferry_allocation_private wanted = world_private(PAGES(pages), CPU);
    D3DKMT_HANDLE handle = 0;
    wanted.Alignment = alignment * PAGE_SIZE;
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_OK);
    return handle;
}

static void require_at_any_price(struct world *world, D3DKMT_HANDLE a)
{
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &a};
    arguments.Flags.CantTrimFurther = 1;
    int result = ferry_vidmm_make_resident(world->manager, &arguments);
    assert_true(result == FERRY_OK || result == FERRY_PENDING);
}

// 16 pages: a parked instance of one program at 0 (3 pages), of the other one 4 and 4 (both aligned to 4) and 3. Two
// more fit only when all change places, so all leave and come back, the parked one too: and it has no content.
static void what_changes_places_without_content_comes_back_without(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(16);
    struct world *world = world_open(&options);
    world->knobs->by_place = true;
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    struct program one = program_begin(world, 1, 0), two = program_begin(world, 1, 0);
    program_become(world, &one);
    D3DKMT_HANDLE renamed = create_aligned(world, 3, 1);
    world_write(world, renamed, 1);
    world_require(world, renamed);
    world->knobs->delay = 4;
    uint64_t fence = world_gpu_name(world, world->context, renamed, false);
    discard(world, renamed, 2);
    assert_int_equal(world_evict(world, renamed), FERRY_OK);
    world_wait(world, fence);
    world->knobs->delay = 0;
    assert_int_equal(world_place(world, renamed).instances, 2);

    uint64_t in = world_statistics(world).bytes_in;
    program_become(world, &two);
    D3DKMT_HANDLE list[] = {create_aligned(world, 4, 4), create_aligned(world, 4, 4), create_aligned(world, 3, 1),
                            create_aligned(world, 2, 1)};
    for (unsigned i = 0; i < 4; i++)
        require_at_any_price(world, list[i]);
    assert_int_equal(world_statistics(world).bytes_in, in);
    program_become(world, &one);
    world_check(world, renamed, 2);
    world_close(world);
}

// What is reserved leaves for nobody, and so changes places where it is in the way: a hole of `spacer` pages, the
// parked instance, the one of today, and another program that wants all the rest, in pieces that must lie at multiples.
static void reserved_and_in_the_way(unsigned spacer, const uint32_t wanted[4])
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(16);
    struct world *world = world_open(&options);
    world->knobs->by_place = true;
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    struct program two = program_begin(world, 1, 0), one = program_begin(world, 1, PAGES(6));
    program_become(world, &two);
    D3DKMT_HANDLE gone = spacer ? world_create(world, PAGES(spacer), CPU) : 0;
    if (gone)
        require_at_any_price(world, gone);
    program_become(world, &one);
    D3DKMT_HANDLE renamed = create_aligned(world, 3, 1);
    world_write(world, renamed, 1);
    world_require(world, renamed);
    world->knobs->delay = 4;
    uint64_t fence = world_gpu_name(world, world->context, renamed, false);
    discard(world, renamed, 2);
    assert_int_equal(world_evict(world, renamed), FERRY_OK);
    world_wait(world, fence);
    world->knobs->delay = 0;
    assert_int_equal(world_place(world, renamed).instances, 2);
    if (gone)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, gone), FERRY_OK);
    program_become(world, &two);
    for (unsigned i = 0; i < 4 && wanted[i] != 0; i++) {
        D3DKMT_HANDLE a = create_aligned(world, wanted[i], wanted[i]);
        (void)list_it(world, &two, a, true); // it may be too much
    }
    program_become(world, &one);
    world_check(world, renamed, 2);
    world_close(world);
}

static void a_parked_instance_that_is_reserved_is_in_nobodys_way(void **state)
{
    (void)state;
    static const uint32_t wanted[][4] = {{4, 4, 2, 0}, {2, 4, 4, 0}, {4, 2, 4, 0},
                                         {8, 2, 0, 0}, {2, 8, 0, 0}, {4, 4, 1, 1}};
    for (unsigned spacer = 0; spacer < 8; spacer++)
        for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
            reserved_and_in_the_way(spacer, wanted[i]);
}

#define MOST_WAITING 16

// So many page-outs wait behind a job that is held, and the instances of a list of discards leave the aperture then.
static void let_instances_leave_an_aperture(unsigned waiting, unsigned discards)
{
    struct world_options options = world_defaults();
    options.machine.coherent_aperture = false;
    options.machine.aperture_bytes = PAGES(65); // one is the manager's own
    struct world *world = world_open(&options);
    D3DKMT_HANDLE old[MOST_WAITING];
    spy.keep = false;
    world->knobs->by_place = true;
    D3DKMT_HANDLE discarded = world_create_in_aperture(world, PAGES(4), CPU);
    D3DKMT_HANDLE large = world_create_in_aperture(world, PAGES(60), CPU);
    world_require(world, discarded);
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, HELD_NODE, &world->context, NULL),
                     FERRY_OK);
    for (unsigned i = 0; i < waiting; i++) {
        old[i] = world_create(world, PAGES(1), CPU);
        world_write(world, old[i], i);
        world_require(world, old[i]);
    }
    D3DKMT_HANDLE all = world_create(world, PAGES(64), CPU);
    for (unsigned i = 0; i < 30; i++)
        ferry_vidmm_poll(world->manager, true);
    world->knobs->delay = 1;
    world->knobs->hold_turns = 1000000;
    hold(world);
    for (unsigned i = 0; i < waiting; i++) {
        world_gpu_fill(world, old[i], 0, 64, 1000 + i);
        assert_int_equal(world_evict(world, old[i]), FERRY_OK);
    }
    assert_true(world_resident(world, &all, 1) >= 0);
    assert_int_equal(world_evict(world, all), FERRY_OK);
    for (unsigned i = 0; i < discards; i++) {
        world_gpu_name(world, world->context, discarded, true);
        discard(world, discarded, i);
    }
    assert_int_equal(world_evict(world, discarded), FERRY_OK);
    assert_true(world_resident(world, &large, 1) >= 0);
    world->knobs->hold_node = 0;
    for (unsigned i = 0; i < waiting; i++) {
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, old[i], D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        assert_int_equal(*(uint32_t *)address, 1000 + i);
        assert_int_equal(ferry_vidmm_unlock(world->manager, old[i]), FERRY_OK);
    }
    world_close(world);
}

// Each takes three places in the line: an operation that orders, the unmapping, and the release of its pages. Many
// lengths, so that the line comes to stand at each place of its ring.
static void instances_that_leave_an_aperture_have_room_in_the_line(void **state)
{
    (void)state;
    for (unsigned waiting = 1; waiting <= MOST_WAITING; waiting++)
        for (unsigned discards = 3; discards <= 13; discards++)
            let_instances_leave_an_aperture(waiting, discards);
}

// For a lowered budget it goes as it does for anybody's room: with all that there is of it, and nothing is brought out.
static void a_parked_instance_that_leaves_for_a_budget_is_gone(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE renamed = create_limited(world, PAGES(8), CPU, false, 0), other = world_create(world, PAGES(1), CPU);
    world_require(world, renamed);
    world_require(world, other);
    hold(world);
    world_gpu_name(world, world->context, renamed, true);
    discard(world, renamed, 2);
    let_go(world, world_gpu_name(world, world->context, renamed, true));
    assert_int_equal(world_place(world, renamed).instances, 2);
    uint64_t out = world_statistics(world).bytes_out;
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(9)), FERRY_OK);
    assert_int_equal(world_evict(world, other), FERRY_OK);
    assert_int_equal(world_place(world, renamed).instances, 1);
    assert_int_equal(world_statistics(world).bytes_out, out);
    assert_int_equal(world_statistics(world).renamed_bytes, 0);
    world_check(world, renamed, 2);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_changes_places_without_content_comes_back_without),
        cmocka_unit_test(a_parked_instance_that_is_reserved_is_in_nobodys_way),
        cmocka_unit_test(a_parked_instance_that_leaves_for_a_budget_is_gone),
        cmocka_unit_test(instances_that_leave_an_aperture_have_room_in_the_line),
    };
    return WORLD_RUN(tests);
}
