// SPDX-License-Identifier: Apache-2.0
// What a program has reserved stays his, whoever needs room and why.
#include <stdio.h>
#include <stdlib.h>

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

// ---- By chance ----

enum { OWN = 12, OTHERS = 24, RESERVED = 24 };

struct reserved {
    struct world *world;
    struct program owner, others[2];
    D3DKMT_HANDLE own[OWN], theirs[OTHERS];
    bool required[OTHERS];
    uint64_t random, seed;
    unsigned step, left; // left: calls of others behind which something of the owner's had left
};

static uint32_t pick(struct reserved *all, uint32_t below)
{
    all->random ^= all->random << 13;
    all->random ^= all->random >> 7;
    all->random ^= all->random << 17;
    return (uint32_t)(all->random >> 20) % below;
}

// Bytes of each of the owner's that is in place; their sum.
static uint64_t in_place(struct reserved *all, uint64_t bytes[OWN])
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < OWN; i++) {
        struct ferry_vidmm_placement place = world_place(all->world, all->own[i]);
        bytes[i] = place.segment == machine_local_segment ? place.bytes : 0;
        sum += bytes[i];
    }
    return sum;
}

// The owner works, and then requires nothing any more: what stays in place of it is no more than candidates.
static void owner_works(struct reserved *all)
{
    program_become(all->world, &all->owner);
    for (unsigned i = 0; i < OWN; i++) {
        if (pick(all, 3) == 0)
            continue;
        if (list_it(all->world, &all->owner, all->own[i], true) < 0)
            continue;
        world_gpu_name(all->world, all->world->context, all->own[i], true);
        assert_int_equal(world_evict(all->world, all->own[i]), FERRY_OK);
    }
}

static void another_works(struct reserved *all)
{
    unsigned n = pick(all, OTHERS);
    const struct program *program = &all->others[n % 2];
    program_become(all->world, program);
    switch (pick(all, 8)) {
    case 0:
        assert_int_equal(ferry_vidmm_set_weight(all->world->manager, program->process, 1 + pick(all, 4)), FERRY_OK);
        break;
    case 1: {
        // As little as leaves each what it has reserved.
        uint64_t pages = pick(all, 3) ? 48 + pick(all, 16) : 0;
        assert_int_equal(ferry_vidmm_set_budget(all->world->manager, PAGES(pages)), FERRY_OK);
        D3DDDICB_EVICT nothing = {0};
        assert_int_equal(ferry_vidmm_evict(all->world->manager, program->device, &nothing), FERRY_OK);
        break;
    }
    default:
        if (all->required[n]) {
            assert_int_equal(world_evict(all->world, all->theirs[n]), FERRY_OK);
            all->required[n] = false;
        } else if (list_it(all->world, program, all->theirs[n], pick(all, 2)) >= 0) {
            all->required[n] = true;
            world_gpu_name(all->world, all->world->context, all->theirs[n], true);
        }
    }
}

// Sizes of all sorts, windows over several, lowered budgets and weights that change: after each call of another the
// owner has what he had, down to what he reserved. Less by one allocation that lies on both sides of that border.
static void chance(uint64_t seed, bool single_pages)
{
    struct reserved all = {.world = program_world(), .seed = seed, .random = seed * 0x9E3779B97F4A7C15u + 1};
    spy.keep = false;
    all.owner = program_begin(all.world, 1, PAGES(RESERVED));
    for (unsigned i = 0; i < 2; i++)
        all.others[i] = program_begin(all.world, 1 + i, 0);
    program_become(all.world, &all.owner);
    for (unsigned i = 0; i < OWN; i++) {
        all.own[i] = world_create(all.world, PAGES(single_pages ? 1 : 1 + pick(&all, 6)), CPU);
        world_write(all.world, all.own[i], i);
    }
    for (unsigned i = 0; i < OTHERS; i++) {
        program_become(all.world, &all.others[i % 2]);
        all.theirs[i] = world_create(all.world, PAGES(1 + pick(&all, i % 5 ? 6 : 20)), CPU);
    }
    for (all.step = 0; all.step < 600; all.step++) {
        if (all.step % 12 == 0)
            owner_works(&all);
        uint64_t before[OWN], after[OWN], had = in_place(&all, before);
        another_works(&all);
        uint64_t has = in_place(&all, after), largest = 0;
        for (unsigned i = 0; i < OWN; i++)
            largest = before[i] > after[i] && before[i] > largest ? before[i] : largest;
        all.left += largest != 0;
        uint64_t keeps = had < PAGES(RESERVED) ? had : PAGES(RESERVED);
        if (has + (single_pages ? 0 : largest) < keeps)
            fail_msg("seed %llu, step %u: %llu pages in place, before %llu", (unsigned long long)seed, all.step,
                     (unsigned long long)has / PAGE_SIZE, (unsigned long long)had / PAGE_SIZE);
    }
    program_become(all.world, &all.owner);
    for (unsigned i = 0; i < OWN; i++)
        world_check(all.world, all.own[i], i);
    if (!single_pages)
        assert_true(all.left > 10); // Others did come into what he has above it.
    world_close(all.world);
}

static void what_is_reserved_stays_whatever_others_do(void **state)
{
    (void)state;
    const char *text = getenv("FERRY_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
    printf("FERRY_SEED=%llu\n", (unsigned long long)seed);
    for (unsigned i = 0; i < 6; i++)
        chance(seed + i, i % 3 == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lowered_budget_takes_from_those_who_are_above_theirs),
        cmocka_unit_test(one_large_allocation_does_not_take_what_is_reserved),
        cmocka_unit_test(what_is_reserved_stays_whatever_others_do),
    };
    return WORLD_RUN(tests);
}
