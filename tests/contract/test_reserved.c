// SPDX-License-Identifier: Apache-2.0
// What a program has reserved stays his, whoever needs room and why.
#include <stdio.h>

#include "programs.h"

static void a_lowered_budget_takes_from_those_who_are_above_theirs(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program protected = program_begin(world, 1, PAGES(16)), greedy = program_begin(world, 1, 0);
    D3DKMT_HANDLE own[4], other[8];
    program_become(world, &protected);
    for (unsigned i = 0; i < 4; i++) {
        own[i] = world_create(world, PAGES(4), CPU);
        world_write(world, own[i], i);
        world_require(world, own[i]);
        world_wait(world, world_gpu_fill(world, own[i], 0, 64, i));
        assert_int_equal(world_evict(world, own[i]), FERRY_OK);
    }
    program_become(world, &greedy);
    for (unsigned i = 0; i < 8; i++) {
        other[i] = world_create(world, PAGES(6), CPU);
        assert_true(list_it(world, &greedy, other[i], true) >= 0);
        world_wait(world, world_gpu_fill(world, other[i], 0, 64, i));
        assert_int_equal(world_evict(world, other[i]), FERRY_OK);
    }
    struct ferry_vidmm_memory_info mine, theirs;
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(40)), FERRY_OK);
    D3DDDICB_EVICT nothing = {0};
    assert_int_equal(ferry_vidmm_evict(world->manager, greedy.device, &nothing), FERRY_OK);
    assert_int_equal(ferry_vidmm_memory_info(world->manager, protected.process, 0, &mine), FERRY_OK);
    assert_int_equal(ferry_vidmm_memory_info(world->manager, greedy.process, 0, &theirs), FERRY_OK);
    printf("in place, of its budget: protected %llu of %llu (reserved %llu), greedy %llu of %llu pages\n",
           (unsigned long long)mine.in_place / PAGE_SIZE, (unsigned long long)mine.budget / PAGE_SIZE,
           (unsigned long long)mine.reservation / PAGE_SIZE, (unsigned long long)theirs.in_place / PAGE_SIZE,
           (unsigned long long)theirs.budget / PAGE_SIZE);
    assert_true(theirs.in_place <= PAGES(24));
    assert_int_equal(mine.in_place, PAGES(16));
    world_close(world);
}

// One page each, 20 in place of which 16 are reserved, all about the memory. The other program wants 48 pages in one
// piece: four may leave for it, the others may move.
static void one_large_allocation_does_not_take_what_is_reserved(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program protected = program_begin(world, 1, PAGES(16)), greedy = program_begin(world, 1, 0);
    D3DKMT_HANDLE own[20], between[20];
    for (unsigned i = 0; i < 20; i++) {
        program_become(world, &protected);
        own[i] = world_create(world, PAGES(1), PERMANENT);
        world_write(world, own[i], i);
        world_require(world, own[i]);
        program_become(world, &greedy);
        between[i] = world_create(world, PAGES(1), CPU);
        world_require(world, between[i]);
    }
    for (unsigned i = 0; i < 20; i++) {
        program_become(world, &protected);
        world_wait(world, world_gpu_name(world, world->context, own[i], false));
        assert_int_equal(world_evict(world, own[i]), FERRY_OK);
        program_become(world, &greedy);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, between[i]), FERRY_OK);
    }
    D3DKMT_HANDLE large = world_create(world, PAGES(48), CPU);
    D3DDDI_MAKERESIDENT make = {.hPagingQueue = greedy.queue, .NumAllocations = 1, .AllocationList = &large};
    make.Flags.CantTrimFurther = 1;
    int result = ferry_vidmm_make_resident(world->manager, &make);
    struct ferry_vidmm_memory_info info;
    assert_int_equal(ferry_vidmm_memory_info(world->manager, protected.process, 0, &info), FERRY_OK);
    printf("result %d; in place of what is reserved: %llu of %llu pages\n", result,
           (unsigned long long)info.in_place / PAGE_SIZE, (unsigned long long)info.reservation / PAGE_SIZE);
    assert_true(info.in_place >= info.reservation);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lowered_budget_takes_from_those_who_are_above_theirs),
        cmocka_unit_test(one_large_allocation_does_not_take_what_is_reserved),
    };
    return WORLD_RUN(tests);
}
