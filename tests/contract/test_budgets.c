// SPDX-License-Identifier: Apache-2.0
// What a program may have of memory and of the aperture, reserved or not: who gives first, and how much.
#include "programs.h"

static uint64_t budget(struct world *world, const struct program *program, unsigned group)
{
    struct ferry_vidmm_memory_info info;
    assert_int_equal(ferry_vidmm_memory_info(world->manager, program->process, group, &info), FERRY_OK);
    return info.budget;
}

// Of a reservation that was made when there was more, others are kept from what is left of it alone.
static void others_have_what_a_lowered_budget_leaves_of_a_reservation(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program reserving = program_begin(world, 1, PAGES(20)), asking = program_begin(world, 1, 0);
    uint64_t to_trim;
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(16)), FERRY_OK);
    assert_int_equal(budget(world, &reserving, 0), PAGES(8));
    program_become(world, &asking);
    D3DKMT_HANDLE list = world_create(world, PAGES(8), CPU), more = world_create(world, PAGES(1), CPU);
    assert_true(ask_for(world, &asking, list, &to_trim) >= 0);
    assert_int_equal(ask_for(world, &asking, more, &to_trim), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(to_trim, PAGES(1));
    world_close(world);
}

// The first has more than its weight would give it, which leaves the second less than it has reserved.
static void who_comes_to_have_his_reservation_by_anothers_has_it(void **state)
{
    (void)state;
    struct world *world = program_world();
    const struct program programs[] = {program_begin(world, 1, PAGES(25)), program_begin(world, 1, PAGES(6)),
                                       program_begin(world, 8, 0)};
    const uint64_t expected[] = {25, 6, 33};
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(budget(world, &programs[i], 0), PAGES(expected[i]));
    world_close(world);
}

static void nothing_is_reserved_of_the_aperture(void **state)
{
    (void)state;
    struct world *world = program_world();
    const struct program programs[] = {program_begin(world, 1, PAGES(32)), program_begin(world, 1, 0),
                                       program_begin(world, 1, 0)};
    assert_int_equal(budget(world, &programs[0], 0), PAGES(32));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(budget(world, &programs[i], 1), PAGES(21));
    world_close(world);
}

// ---- In the aperture ----

// Who has more of the aperture than his part gives of it first, however little of video memory he has.
static void who_is_above_his_part_of_the_aperture_gives_first(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program greedy = program_begin(world, 1, 0), modest = program_begin(world, 1, 0);
    D3DKMT_HANDLE of_greedy[10], of_modest[6];
    program_become(world, &greedy);
    for (unsigned i = 0; i < 10; i++) {
        of_greedy[i] = world_create_in_aperture(world, PAGES(4), CPU);
        world_require(world, of_greedy[i]);
        assert_true(world_evict(world, of_greedy[i]) >= 0);
    }
    program_become(world, &modest);
    for (unsigned i = 0; i < 6; i++) {
        of_modest[i] = world_create_in_aperture(world, PAGES(4), CPU);
        world_require(world, of_modest[i]);
        assert_true(world_evict(world, of_modest[i]) >= 0);
    }
    unsigned gone = 0;
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(world_place(world, of_modest[i]).segment, machine_aperture_segment);
    for (unsigned i = 0; i < 10; i++)
        gone += world_place(world, of_greedy[i]).segment == 0;
    assert_int_equal(gone, 1);
    world_close(world);
}

// ---- Who gives first, and how much ----------------------------------------------------------------------------------

// On no list any more, in place, and used last of all so far.
static void leave_idle(struct world *world, const struct program *program, D3DKMT_HANDLE allocation)
{
    program_become(world, program);
    world_wait(world, world_gpu_fill(world, allocation, 0, 64, 1));
    assert_int_equal(world_evict(world, allocation), FERRY_OK);
}

static D3DKMT_HANDLE create_in_place(struct world *world, const struct program *program, unsigned pages)
{
    program_become(world, program);
    D3DKMT_HANDLE allocation = world_create(world, PAGES(pages), CPU);
    assert_true(list_it(world, program, allocation, true) >= 0);
    assert_int_not_equal(world_place(world, allocation).segment, 0);
    return allocation;
}

static bool is_in_place(struct world *world, D3DKMT_HANDLE allocation)
{
    return world_place(world, allocation).segment != 0;
}

// One of two may go when just what is reserved is left then; the other, though it is colder, would go below that.
static void who_is_left_what_he_has_reserved_gives_the_rest(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program gives = program_begin(world, 1, PAGES(12)), asks = program_begin(world, 1, 0);
    D3DKMT_HANDLE large = create_in_place(world, &gives, 12), small = create_in_place(world, &gives, 10);
    leave_idle(world, &gives, large);
    leave_idle(world, &gives, small);
    (void)create_in_place(world, &asks, 24);
    (void)create_in_place(world, &asks, 28);
    assert_true(is_in_place(world, large));
    assert_false(is_in_place(world, small));
    world_close(world);
}

// Above his budget by no more than the smaller one, he gives that; what is left is just what he may keep.
static void who_is_above_his_budget_keeps_what_it_allows(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program gives = program_begin(world, 1, 0), asks = program_begin(world, 3, 0);
    D3DKMT_HANDLE small = create_in_place(world, &gives, 10), own = create_in_place(world, &asks, 20),
                  large = create_in_place(world, &gives, 16);
    (void)create_in_place(world, &asks, 18);
    leave_idle(world, &gives, small);
    leave_idle(world, &gives, large);
    leave_idle(world, &asks, own);
    (void)create_in_place(world, &asks, 26);
    assert_false(is_in_place(world, small));
    assert_true(is_in_place(world, large));
    world_close(world);
}

// Who comes to be above his budget by what he asks for gives like any other who is: here he has what is coldest.
static void who_asks_for_more_than_his_budget_gives_as_well(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program other = program_begin(world, 1, 0), asks = program_begin(world, 1, 0);
    D3DKMT_HANDLE theirs[4], own = create_in_place(world, &asks, 20);
    for (unsigned i = 0; i < 4; i++)
        theirs[i] = create_in_place(world, &other, 10);
    leave_idle(world, &asks, own);
    for (unsigned i = 0; i < 4; i++)
        leave_idle(world, &other, theirs[i]);
    (void)create_in_place(world, &asks, 14);
    assert_false(is_in_place(world, own));
    for (unsigned i = 0; i < 4; i++)
        assert_true(is_in_place(world, theirs[i]));
    world_close(world);
}

// Whatever the others list that are looked at behind it.
static void what_is_pinned_leaves_room_for_the_longest_list(void **state)
{
    (void)state;
    static const unsigned lists[][2] = {{56, 2}, {2, 56}};
    for (unsigned i = 0; i < 2; i++) {
        struct world *world = program_world();
        for (unsigned k = 0; k < 2; k++) {
            struct program other = program_begin(world, 1, 0);
            (void)create_in_place(world, &other, lists[i][k]);
        }
        struct program pins = program_begin(world, 1, 0);
        program_become(world, &pins);
        D3DKMT_HANDLE overlay = world_create(world, PAGES(10), CPU | DXGK_ALLOC_FLAG_OVERLAY);
        assert_int_equal(list_it(world, &pins, overlay, true), FERRY_ERROR_NO_VIDEO_MEMORY);
        world_close(world);
    }
}

// A budget is of video memory.
static void what_is_in_the_aperture_is_no_part_of_a_budget_of_video_memory(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(20)), FERRY_OK);
    world_require(world, world_create_in_aperture(world, PAGES(30), CPU));
    D3DKMT_HANDLE idle = world_create(world, PAGES(5), CPU);
    world_require(world, idle);
    assert_int_equal(world_evict(world, idle), FERRY_OK);
    world_require(world, world_create(world, PAGES(15), CPU));
    assert_true(is_in_place(world, idle));
    world_close(world);
}

// ---- What leaves for a lowered budget ----

// On no list any more, and never used: how large they are is all that tells them apart.
static void leave_idle_and_unused(struct world *world, D3DKMT_HANDLE *allocations, const unsigned *pages,
                                  unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        allocations[i] = world_create(world, PAGES(pages[i]), CPU);
        world_require(world, allocations[i]);
    }
    for (unsigned i = 1; i < count; i++)
        assert_int_equal(world_evict(world, allocations[i]), FERRY_OK);
}

static void what_just_fills_a_lowered_budget_stays(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    static const unsigned pages[] = {1, 2, 3};
    D3DKMT_HANDLE all[3];
    leave_idle_and_unused(world, all, pages, 3);
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(6)), FERRY_OK);
    assert_int_equal(world_evict(world, all[0]), FERRY_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_true(is_in_place(world, all[i]));
    assert_int_equal(world_statistics(world).evictions, 0);
    world_close(world);
}

// Two and a half pages too many are three: the one of three goes, and not that of two with another one behind it.
static void a_budget_that_ends_inside_a_page_has_that_page_leave_too(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    static const unsigned pages[] = {1, 2, 3};
    D3DKMT_HANDLE all[3];
    leave_idle_and_unused(world, all, pages, 3);
    assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(3) + PAGE_SIZE / 2), FERRY_OK);
    assert_int_equal(world_evict(world, all[0]), FERRY_OK);
    assert_true(is_in_place(world, all[0]));
    assert_true(is_in_place(world, all[1]));
    assert_false(is_in_place(world, all[2]));
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_have_what_a_lowered_budget_leaves_of_a_reservation),
        cmocka_unit_test(who_comes_to_have_his_reservation_by_anothers_has_it),
        cmocka_unit_test(nothing_is_reserved_of_the_aperture),
        cmocka_unit_test(who_is_above_his_part_of_the_aperture_gives_first),
        cmocka_unit_test(who_is_left_what_he_has_reserved_gives_the_rest),
        cmocka_unit_test(who_is_above_his_budget_keeps_what_it_allows),
        cmocka_unit_test(who_asks_for_more_than_his_budget_gives_as_well),
        cmocka_unit_test(what_is_pinned_leaves_room_for_the_longest_list),
        cmocka_unit_test(what_is_in_the_aperture_is_no_part_of_a_budget_of_video_memory),
        cmocka_unit_test(what_just_fills_a_lowered_budget_stays),
        cmocka_unit_test(a_budget_that_ends_inside_a_page_has_that_page_leave_too),
    };
    return WORLD_RUN(tests);
}
