// SPDX-License-Identifier: Apache-2.0
// What a program has reserved stays his, whoever needs room and why. And what he has pinned is his too, and on his
// account.
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
    struct ferry_vidmm_process_statistics of[2];
    const struct program *both[] = {&protected, &greedy};
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_process_statistics(world->manager, both[i]->process, &of[i]), FERRY_OK);
    assert_true(of[1].evictions > 0);
    assert_int_equal(of[0].evictions + of[1].evictions, world_statistics(world).evictions);
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
    return draw_below(&all->random, below);
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

static unsigned sum_of(const unsigned sizes[OWN])
{
    unsigned sum = 0;
    for (unsigned i = 0; i < OWN; i++)
        sum += sizes[i];
    return sum;
}

// Sizes of all sorts, windows over several, lowered budgets and weights that change: after each call of another the
// owner has what he had, down to what he reserved. Less by one allocation that lies on both sides of that border.
static void chance(uint64_t seed, bool single_pages)
{
    struct reserved all = {.world = program_world(), .seed = seed, .random = draw_state(seed)};
    spy.keep = false;
    all.owner = program_begin(all.world, 1, PAGES(RESERVED));
    for (unsigned i = 0; i < 2; i++)
        all.others[i] = program_begin(all.world, 1 + i, 0);
    program_become(all.world, &all.owner);
    unsigned sizes[OWN];
    do // He has more than he reserved, or others could never come into it.
        for (unsigned i = 0; i < OWN; i++)
            sizes[i] = single_pages ? 1 : 1 + pick(&all, 6);
    while (!single_pages && sum_of(sizes) < RESERVED * 5 / 4);
    for (unsigned i = 0; i < OWN; i++) {
        all.own[i] = world_create(all.world, PAGES(sizes[i]), CPU);
        world_write(all.world, all.own[i], i);
    }
    for (unsigned i = 0; i < OTHERS; i++) {
        program_become(all.world, &all.others[i % 2]);
        all.theirs[i] = world_create(all.world, PAGES(1 + pick(&all, i % 5 ? 6 : 20)), CPU);
    }
    // How much he has above it, and so how often others come into that, is the seed's luck.
    for (all.step = 0; all.step < 600 || (all.step < 6000 && !single_pages && all.left <= 10); all.step++) {
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
    uint64_t seed = seed_given(1);
    for (unsigned i = 0; i < 6; i++)
        chance(seed + i, i % 3 == 2);
}

// Frame by frame a program draws with what it has reserved, and then another one, job by job, with a list that leaves
// no room for that: it was there first, or it could not be so large otherwise. The first one's content stays in place;
// the other one gets on too, out of its own.
static void what_is_reserved_stays_in_place_beside_a_list_of(unsigned pages, unsigned of_one, bool taker_first)
{
    struct world *world = program_world();
    struct program taker = {0}, game = {0};
    D3DKMT_HANDLE theirs[60] = {0}, ours[6];
    struct ferry_vidmm_memory_info info;
    unsigned listed = 0, frames = 20;
    spy.keep = false;
    for (unsigned turn = 0; turn < 2; turn++) {
        if ((turn == 0) == taker_first) {
            taker = program_begin(world, 1, 0);
            program_become(world, &taker);
            for (unsigned i = 0; i < pages / of_one; i++) {
                theirs[listed] = world_create(world, PAGES(of_one), CPU);
                world_write(world, theirs[listed], 50 + i);
                listed += list_it(world, &taker, theirs[listed], true) >= 0;
            }
        } else {
            game = program_begin(world, 1, PAGES(32));
            program_become(world, &game);
            for (unsigned i = 0; i < 6; i++) {
                ours[i] = world_create(world, PAGES(5), CPU);
                world_write(world, ours[i], i);
                assert_true(list_it(world, &game, ours[i], true) >= 0);
            }
        }
    }
    assert_true(listed > (taker_first ? pages / of_one - 1 : 3));
    for (unsigned frame = 0; frame < frames; frame++) {
        uint64_t fence = 0;
        for (unsigned i = 0; i < 6 && frame > 0; i++)
            assert_int_equal(world_place(world, ours[i]).segment, machine_local_segment);
        program_become(world, &game);
        for (unsigned i = 0; i < 6; i++)
            fence = world_gpu_fill(world, ours[i], 0, 64, frame);
        world_wait(world, fence);
        program_become(world, &taker);
        for (unsigned i = 0; i < listed; i++) {
            // Nothing new: never refused.
            if (frame == 3)
                assert_true(list_it(world, &taker, theirs[i], false) >= 0);
            fence = world_gpu_fill(world, theirs[i], 0, 64, 100 * frame + i);
            assert_int_equal(world_place(world, theirs[i]).segment, machine_local_segment);
        }
        world_wait(world, fence);
    }
    // Once it has trimmed, its list is in place as a whole again.
    for (unsigned i = 0; i < listed && taker_first; i++)
        for (unsigned count = 0; count < (i * of_one < 30 ? 1 : 2); count++)
            assert_int_equal(world_evict(world, theirs[i]), FERRY_OK);
    assert_int_equal(ferry_vidmm_memory_info(world->manager, game.process, 0, &info), FERRY_OK);
    assert_int_equal(info.in_place, PAGES(30));
    program_become(world, &taker);
    world_wait(world, world_gpu_fill(world, theirs[0], 0, 64, 7));
    for (unsigned i = 0; i * of_one < 30 && taker_first; i++)
        assert_int_equal(world_place(world, theirs[i]).segment, machine_local_segment);
    world_close(world);
}

static void what_is_reserved_stays_in_place_beside_an_older_list(void **state)
{
    (void)state;
    what_is_reserved_stays_in_place_beside_a_list_of(60, 1, false);
    what_is_reserved_stays_in_place_beside_a_list_of(60, 1, true);
    what_is_reserved_stays_in_place_beside_a_list_of(60, 10, true);
}

// One job needs more than what is reserved leaves: it is served all the same.
static void a_job_that_was_there_before_a_reservation_is_not_refused(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program first = program_begin(world, 1, 0);
    program_become(world, &first);
    D3DKMT_HANDLE old = world_create(world, PAGES(40), CPU), reserved;
    world_write(world, old, 1);
    world_require(world, old);
    struct program second = program_begin(world, 1, PAGES(32));
    program_become(world, &second);
    reserved = world_create(world, PAGES(32), CPU);
    world_write(world, reserved, 6);
    assert_true(list_it(world, &second, reserved, false) >= 0);
    for (unsigned i = 0; i < 3; i++) {
        program_become(world, &second);
        world_wait(world, world_gpu_fill(world, reserved, PAGES(i), 64, 20 + i));
        assert_int_equal(world_place(world, reserved).segment, machine_local_segment);
        program_become(world, &first);
        assert_true(list_it(world, &first, old, false) >= 0);
        world_wait(world, world_gpu_fill(world, old, 0, 64, 10 + i));
        assert_int_equal(world_place(world, old).segment, machine_local_segment);
    }
    world_close(world);
}

static void what_is_pinned_is_on_its_owners_account(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program pinning = program_begin(world, 1, 0), asking = program_begin(world, 1, 0);
    struct ferry_vidmm_memory_info info;
    D3DKMT_HANDLE overlays[4];
    uint64_t to_trim;
    program_become(world, &pinning);
    for (unsigned i = 0; i < 4; i++) {
        overlays[i] = world_create(world, PAGES(3), CPU | (i % 2 ? DXGK_ALLOC_FLAG_OVERLAY : DXGK_ALLOC_FLAG_CAPTURE));
        assert_true(list_it(world, &pinning, overlays[i], false) >= 0);
        assert_int_equal(world_evict(world, overlays[i]), FERRY_OK);
    }
    assert_int_equal(ferry_vidmm_memory_info(world->manager, pinning.process, 0, &info), FERRY_OK);
    assert_int_equal(info.in_place, PAGES(12));
    assert_int_equal(info.usage, PAGES(12));
    // More than can ever be in place beside it: so much has to go, and the rest is given, for its turn.
    program_become(world, &asking);
    D3DKMT_HANDLE large = world_create(world, PAGES(50), CPU), more[3];
    for (unsigned i = 0; i < 3; i++)
        more[i] = world_create(world, PAGES(2), CPU);
    assert_true(ask_for(world, &asking, large, &to_trim) >= 0);
    assert_true(ask_for(world, &asking, more[0], &to_trim) >= 0);
    assert_int_equal(ask_for(world, &asking, more[1], &to_trim), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(to_trim, PAGES(2));
    world_wait(world, world_gpu_fill(world, large, 0, 64, 1));
    world_wait(world, world_gpu_fill(world, more[0], 0, 64, 1));
    // Until its owner destroys it.
    program_become(world, &pinning);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, overlays[i]), FERRY_OK);
    assert_int_equal(ferry_vidmm_memory_info(world->manager, pinning.process, 0, &info), FERRY_OK);
    assert_int_equal(info.usage, PAGES(6));
    program_become(world, &asking);
    assert_true(ask_for(world, &asking, more[1], &to_trim) >= 0);
    assert_true(ask_for(world, &asking, more[2], &to_trim) >= 0);
    world_wait(world, world_gpu_fill(world, more[2], 0, 64, 1));
    // 56 of 58 pages are listed: what is to be pinned takes no turns, so it has to leave them that much.
    program_become(world, &pinning);
    overlays[0] = world_create(world, PAGES(3), CPU | DXGK_ALLOC_FLAG_OVERLAY);
    assert_int_equal(ask_for(world, &pinning, overlays[0], &to_trim), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(to_trim, PAGES(1));
    program_become(world, &asking);
    world_wait(world, world_gpu_fill(world, large, 0, 64, 2));
    world_close(world);
}

// What a program has reserved and what it has pinned are one and the same memory, as far as it goes.
static void what_is_pinned_is_of_what_its_owner_has_reserved(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program pinning = program_begin(world, 1, PAGES(8)), asking = program_begin(world, 1, 0);
    uint64_t to_trim;
    program_become(world, &pinning);
    for (unsigned i = 0; i < 2; i++)
        world_require(world, world_create(world, PAGES(3), CPU | DXGK_ALLOC_FLAG_OVERLAY));
    program_become(world, &asking);
    D3DKMT_HANDLE large = world_create(world, PAGES(56), CPU), more = world_create(world, PAGES(1), CPU);
    assert_true(ask_for(world, &asking, large, &to_trim) >= 0);
    assert_int_equal(ask_for(world, &asking, more, &to_trim), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(to_trim, PAGES(1));
    world_wait(world, world_gpu_fill(world, large, 0, 64, 1));
    world_close(world);
}

// What a device has pinned itself is of its list; what another one of its program has is not.
static void what_a_device_has_pinned_leaves_it_the_rest(void **state)
{
    (void)state;
    for (unsigned another = 0; another < 2; another++) {
        struct world *world = program_world();
        struct program pinning = program_begin(world, 1, 0), asking = pinning;
        uint64_t to_trim;
        program_become(world, &pinning);
        world_require(world, world_create(world, PAGES(12), CPU | DXGK_ALLOC_FLAG_CAPTURE));
        if (another) {
            assert_int_equal(ferry_vidmm_create_device_of(world->manager, pinning.process, &asking.device), FERRY_OK);
            assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, asking.device, 0, &asking.queue),
                             FERRY_OK);
        }
        program_become(world, &asking);
        D3DKMT_HANDLE large = world_create(world, PAGES(52), CPU), more = world_create(world, PAGES(1), CPU);
        assert_true(ask_for(world, &asking, large, &to_trim) >= 0);
        assert_int_equal(ask_for(world, &asking, more, &to_trim), FERRY_ERROR_NO_VIDEO_MEMORY);
        assert_int_equal(to_trim, PAGES(1));
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lowered_budget_takes_from_those_who_are_above_theirs),
        cmocka_unit_test(one_large_allocation_does_not_take_what_is_reserved),
        cmocka_unit_test(what_is_reserved_stays_whatever_others_do),
        cmocka_unit_test(what_is_reserved_stays_in_place_beside_an_older_list),
        cmocka_unit_test(a_job_that_was_there_before_a_reservation_is_not_refused),
        cmocka_unit_test(what_is_pinned_is_on_its_owners_account),
        cmocka_unit_test(what_is_pinned_is_of_what_its_owner_has_reserved),
        cmocka_unit_test(what_a_device_has_pinned_leaves_it_the_rest),
    };
    return WORLD_RUN(tests);
}
