// SPDX-License-Identifier: Apache-2.0
// The plan in states that were thought of: who is pushed aside, who is thrown out, and how much is asked for it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "plan_owner.h"

// A segment full of candidates of one to eight pages; what one plan asks is counted.
static uint64_t questions(unsigned count, uint64_t *longest)
{
    struct owner *owners = calloc(count + 1, sizeof(*owners));
    struct ferry_vm_space space;
    struct ferry_vm_victims victims;
    struct ferry_vm_region region = {&space, &victims, true};
    struct ferry_vm_plan plan = {0};
    uint64_t pages = 0, asked = 0, missing;
    state_word = 12345;
    for (unsigned i = 0; i < count; i++)
        pages += owners[i].pages = 1 + pick(8);
    assert_true(ferry_vm_space_init(&space, pages));
    struct ferry_vm_round round = {0};
    ferry_vm_victims_init(&victims, false);
    for (unsigned i = 0; i < count; i++) {
        bool no_memory;
        owners[i].use.serial = i + 1;
        owners[i].use.pages = owners[i].pages;
        owners[i].block = ferry_vm_space_take(&space, owners[i].pages, 1, false, 0, &owners[i], &no_memory);
        ferry_vm_victim_used(&owners[i].use, &round, 1 + pick(count));
        ferry_vm_victim_used(&owners[i].use, &round, count + pick(count));
        ferry_vm_victim_add(&victims, &owners[i].use);
    }
    struct owner *newcomer = &owners[count];
    *longest = 0;
    for (unsigned i = 0; i < 200; i++) {
        struct ferry_vm_wanted wanted = {newcomer, 1 + pick(64), 0, UINT64_MAX, false};
        facts_asked = 0;
        ferry_vm_plan_begin(&plan, NULL, facts_of, owner_of, 2 * (uint64_t)count);
        assert_int_equal(ferry_vm_plan_want(&plan, &region, &wanted, &missing), FERRY_VM_PLANNED);
        asked += facts_asked;
        *longest = facts_asked > *longest ? facts_asked : *longest;
        ferry_vm_plan_undo(&plan);
    }
    ferry_vm_plan_destroy(&plan);
    ferry_vm_space_destroy(&space);
    free(owners);
    return asked / 200;
}

static void a_plan_does_not_walk_over_the_segment(void **state)
{
    (void)state;
    uint64_t longest, few = questions(1000, &longest), many = questions(200000, &longest);
    print_message("  questions a plan: %llu of 1,000 allocations, %llu of 200,000, at most %llu\n",
                  (unsigned long long)few, (unsigned long long)many, (unsigned long long)longest);
    assert_true(many <= 3 * few);
    assert_true(longest < 20000);
    // What lies around several victims is priced once for all of them: else it would be twice as many.
    assert_true(few < 3000 && many < 3000);
}

// Of several programs each plan is first made with what few may give, and most of the times in vain.
static void room_that_cannot_be_is_not_looked_for(void **state)
{
    enum { COUNT = 1000 };
    struct owner *owners = calloc(COUNT + 1, sizeof(*owners));
    struct ferry_vm_space space;
    struct ferry_vm_victims victims;
    struct ferry_vm_region region = {&space, &victims, true};
    struct ferry_vm_plan plan = {0};
    uint64_t missing;
    (void)state;
    assert_true(ferry_vm_space_init(&space, COUNT + 1));
    ferry_vm_victims_init(&victims, false);
    for (unsigned i = 0; i < COUNT; i++) {
        bool no_memory;
        owners[i].use = (struct ferry_vm_use){.pages = 1, .serial = i + 1};
        owners[i].block = ferry_vm_space_take_at(&space, i, 1, &owners[i], &no_memory);
    }
    // One page is free, two are when this one leaves; and they come together.
    ferry_vm_victim_add(&victims, &owners[COUNT / 2].use);
    for (unsigned pages = 2; pages <= 3; pages++) {
        struct ferry_vm_wanted wanted = {&owners[COUNT], pages, 0, UINT64_MAX, false};
        facts_asked = 0;
        ferry_vm_plan_begin(&plan, NULL, facts_of, owner_of, 1);
        assert_int_equal(ferry_vm_plan_want(&plan, &region, &wanted, &missing),
                         pages == 2 ? FERRY_VM_PLANNED : FERRY_VM_SHORT);
        ferry_vm_plan_undo(&plan);
    }
    assert_int_equal(missing, 2);
    assert_true(facts_asked < COUNT / 10);
    ferry_vm_plan_destroy(&plan);
    ferry_vm_space_destroy(&space);
    free(owners);
}

// Of every two neighbours one is needed at once and one late.
static void who_is_needed_soon_is_pushed_aside_and_not_thrown_out(void **state)
{
    (void)state;
    struct owner owners[9] = {0};
    struct ferry_vm_space space;
    struct ferry_vm_victims victims;
    struct ferry_vm_region region = {&space, &victims, true};
    struct ferry_vm_plan plan = {0};
    struct ferry_vm_wanted wanted = {&owners[8], 2, 0, UINT64_MAX, false};
    uint64_t missing;
    assert_true(ferry_vm_space_init(&space, 8));
    ferry_vm_victims_init(&victims, false);
    for (unsigned i = 0; i < 8; i++) {
        bool no_memory;
        owners[i].use = (struct ferry_vm_use){.last = 10000, .period = i % 2 ? 1 : 1000, .pages = 1, .serial = i + 1};
        owners[i].block = ferry_vm_space_take(&space, 1, 1, false, 0, &owners[i], &no_memory);
        ferry_vm_victim_add(&victims, &owners[i].use);
    }
    ferry_vm_plan_begin(&plan, NULL, facts_of, owner_of, 10000);
    assert_int_equal(ferry_vm_plan_want(&plan, &region, &wanted, &missing), FERRY_VM_PLANNED);
    ferry_vm_plan_finish(&plan);
    for (size_t i = 0; i < plan.step_count; i++)
        if (plan.steps[i].kind == FERRY_VM_STEP_EVICT)
            assert_int_equal(((struct owner *)plan.steps[i].owner - owners) % 2, 0);
    assert_int_equal(plan.evicted_pages, 2);
    assert_int_equal(plan.moved_pages, 1);
    ferry_vm_plan_destroy(&plan);
    ferry_vm_space_destroy(&space);
}

// Far apart fourteen that are needed late, the others at once; and last in the order of victims two with one between
// them that is needed at once. More is looked at than is remembered at a time, and each for what it is itself.
static void of_many_that_are_looked_at_none_is_taken_for_another(void **state)
{
    enum { ALONE = 14, APART = 64, COUNT = (ALONE + 1) * APART };
    struct owner *owners = calloc(COUNT + 1, sizeof(*owners));
    struct ferry_vm_space space;
    struct ferry_vm_victims victims;
    struct ferry_vm_region region = {&space, &victims, true};
    struct ferry_vm_plan plan = {0};
    struct ferry_vm_wanted wanted = {&owners[COUNT], 2, 0, UINT64_MAX, false};
    const unsigned first = ALONE * APART + APART / 2;
    uint64_t missing;
    (void)state;
    assert_true(ferry_vm_space_init(&space, COUNT));
    ferry_vm_victims_init(&victims, false);
    for (unsigned i = 0; i < COUNT; i++) {
        bool no_memory, late = i < ALONE * APART && i % APART == APART / 2, last = i == first || i == first + 2;
        unsigned period = late ? 1000 : last ? 990 : 1;
        owners[i].use = (struct ferry_vm_use){.last = 10000, .period = period, .pages = 1, .serial = i + 1};
        owners[i].block = ferry_vm_space_take(&space, 1, 1, false, 0, &owners[i], &no_memory);
        ferry_vm_victim_add(&victims, &owners[i].use);
    }
    ferry_vm_plan_begin(&plan, NULL, facts_of, owner_of, 10000);
    assert_int_equal(ferry_vm_plan_want(&plan, &region, &wanted, &missing), FERRY_VM_PLANNED);
    ferry_vm_plan_finish(&plan);
    for (size_t i = 0; i < plan.step_count; i++)
        if (plan.steps[i].kind == FERRY_VM_STEP_EVICT)
            assert_true(plan.steps[i].owner == &owners[first] || plan.steps[i].owner == &owners[first + 2]);
    assert_int_equal(plan.evicted_pages, 2);
    assert_int_equal(plan.moved_pages, 1);
    ferry_vm_plan_destroy(&plan);
    ferry_vm_space_destroy(&space);
    free(owners);
}

// 5 pages between holes of 2 and 4, and 8 between those 4 and 2 more: room for 6 comes of pushing either. The 5 would
// slide by 2, which goes by way of system memory, and the 8 by 4.
static void who_may_not_leave_is_not_pushed_by_inches(void **state)
{
    static const struct {
        unsigned first, pages;
    } places[] = {{2, 5}, {11, 8}};
    (void)state;
    for (unsigned fixed = 0; fixed < 2; fixed++) {
        struct owner owners[3] = {0};
        struct ferry_vm_space space;
        struct ferry_vm_victims victims;
        struct ferry_vm_region region = {&space, &victims, true};
        struct ferry_vm_plan plan = {0};
        struct ferry_vm_wanted wanted = {&owners[2], 6, 0, UINT64_MAX, false};
        uint64_t missing;
        assert_true(ferry_vm_space_init(&space, 21));
        ferry_vm_victims_init(&victims, false);
        for (unsigned i = 0; i < 2; i++) {
            bool no_memory;
            owners[i].pages = places[i].pages;
            owners[i].stays = true;
            owners[i].use = (struct ferry_vm_use){.pages = places[i].pages, .serial = i + 1};
            owners[i].block = ferry_vm_space_take_at(&space, places[i].first, places[i].pages, &owners[i], &no_memory);
        }
        // Where nothing else is left, it is pushed all the same.
        owners[1].fixed = fixed != 0;
        ferry_vm_plan_begin(&plan, NULL, facts_of, owner_of, 1);
        assert_int_equal(ferry_vm_plan_want(&plan, &region, &wanted, &missing), FERRY_VM_PLANNED);
        ferry_vm_plan_finish(&plan);
        assert_int_equal(plan.step_count, 2);
        assert_int_equal(plan.steps[0].kind, FERRY_VM_STEP_MOVE);
        assert_ptr_equal(plan.steps[0].owner, &owners[fixed ? 0 : 1]);
        assert_int_equal(plan.steps[0].to, fixed ? 0 : 7);
        ferry_vm_plan_destroy(&plan);
        ferry_vm_space_destroy(&space);
    }
}

// Who leaves for four pages: 32 that nothing has used for so long, or the four beside them that are needed again in
// ten.
static void leaves_for_four_pages(unsigned long_since, unsigned period, bool once, bool steady, bool dirty,
                                  bool large_one)
{
    struct owner owners[3] = {0};
    struct ferry_vm_space space;
    struct ferry_vm_victims victims;
    struct ferry_vm_region region = {&space, &victims, true};
    struct ferry_vm_plan plan = {0};
    struct ferry_vm_wanted wanted = {&owners[2], 4, 0, UINT64_MAX, false};
    uint64_t missing;
    assert_true(ferry_vm_space_init(&space, 36));
    ferry_vm_victims_init(&victims, false);
    for (unsigned i = 0; i < 2; i++) {
        bool no_memory;
        owners[i].pages = i ? 4 : 32;
        owners[i].dirty = dirty;
        owners[i].use = (struct ferry_vm_use){.last = i ? 100000 : 100000 - long_since,
                                              .period = i ? 10 : period,
                                              .guessed = !i && once,
                                              .steady = !i && steady ? FERRY_VM_STEADY : 0,
                                              .pages = owners[i].pages,
                                              .serial = i + 1};
        owners[i].block = ferry_vm_space_take(&space, owners[i].pages, 1, false, 0, &owners[i], &no_memory);
        ferry_vm_victim_add(&victims, &owners[i].use);
    }
    ferry_vm_plan_begin(&plan, NULL, facts_of, owner_of, 100000);
    assert_int_equal(ferry_vm_plan_want(&plan, &region, &wanted, &missing), FERRY_VM_PLANNED);
    ferry_vm_plan_finish(&plan);
    assert_int_equal(plan.steps[0].kind, FERRY_VM_STEP_EVICT);
    assert_ptr_equal(plan.steps[0].owner, &owners[large_one ? 0 : 1]);
    ferry_vm_plan_destroy(&plan);
    ferry_vm_space_destroy(&space);
}

static void what_has_long_been_cold_is_given_up_however_large(void **state)
{
    (void)state;
    for (unsigned dirty = 0; dirty < 2; dirty++) {
        leaves_for_four_pages(100, 10, false, false, dirty, false);
        leaves_for_four_pages(300, 10, false, false, dirty, false);
        leaves_for_four_pages(700, 10, false, false, dirty, true);
        leaves_for_four_pages(99000, 10, false, false, dirty, true);
        // With a longer rhythm it is waited for longer.
        leaves_for_four_pages(2500, 100, false, false, dirty, false);
        leaves_for_four_pages(6000, 100, false, false, dirty, true);
        // Used once, it was expected in a round; not when no round is known, or not for as long before as since.
        leaves_for_four_pages(300, 10, true, false, dirty, false);
        leaves_for_four_pages(700, 10, true, false, dirty, true);
        leaves_for_four_pages(50000, 10, true, false, dirty, true);
        leaves_for_four_pages(50001, 10, true, false, dirty, false);
        leaves_for_four_pages(700, 0, true, false, dirty, false);
        // Who came once a frame, and then not, is not waited for.
        leaves_for_four_pages(19, 10, false, true, dirty, false);
        leaves_for_four_pages(35, 10, false, true, dirty, true);
    }
}

// Single pages, the oldest at the highest address. Room for three is where the oldest ones are: a window beside the
// first victim would leave it alone in the middle, and after as many as the plan looks at the whole segment is looked
// at for every further one.
static void the_first_victim_is_in_the_window(void **state)
{
    enum { OLD = 3000, NEW = 300, PAGES_OF_NEW = 3 };
    struct owner *owners = calloc(OLD + NEW, sizeof(*owners));
    struct ferry_vm_space space;
    struct ferry_vm_victims victims;
    struct ferry_vm_region region = {&space, &victims, true};
    struct ferry_vm_plan plan = {0};
    uint64_t missing;
    (void)state;
    assert_true(ferry_vm_space_init(&space, OLD));
    ferry_vm_victims_init(&victims, false);
    for (unsigned i = 0; i < OLD; i++) {
        bool no_memory;
        owners[i].use = (struct ferry_vm_use){.last = OLD - i, .pages = 1, .serial = i + 1};
        owners[i].block = ferry_vm_space_take(&space, 1, 1, false, 0, &owners[i], &no_memory);
        ferry_vm_victim_add(&victims, &owners[i].use);
    }
    ferry_vm_plan_begin(&plan, NULL, facts_of, owner_of, OLD + 1);
    facts_asked = 0;
    for (unsigned i = OLD; i < OLD + NEW; i++) {
        struct ferry_vm_wanted wanted = {&owners[i], PAGES_OF_NEW, 0, UINT64_MAX, false};
        owners[i].fixed = true;
        assert_int_equal(ferry_vm_plan_want(&plan, &region, &wanted, &missing), FERRY_VM_PLANNED);
    }
    print_message("  questions a plan: %llu\n", (unsigned long long)facts_asked / NEW);
    assert_true(facts_asked < UINT64_C(4000) * NEW);
    ferry_vm_plan_finish(&plan);
    assert_int_equal(plan.evicted_pages, NEW * PAGES_OF_NEW);
    for (size_t i = 0; i < plan.step_count; i++)
        if (plan.steps[i].kind == FERRY_VM_STEP_EVICT)
            assert_true((struct owner *)plan.steps[i].owner - owners >= OLD - NEW * PAGES_OF_NEW);
    ferry_vm_plan_destroy(&plan);
    ferry_vm_space_destroy(&space);
    free(owners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_has_long_been_cold_is_given_up_however_large),
                                       cmocka_unit_test(who_is_needed_soon_is_pushed_aside_and_not_thrown_out),
                                       cmocka_unit_test(of_many_that_are_looked_at_none_is_taken_for_another),
                                       cmocka_unit_test(who_may_not_leave_is_not_pushed_by_inches),
                                       cmocka_unit_test(the_first_victim_is_in_the_window),
                                       cmocka_unit_test(a_plan_does_not_walk_over_the_segment),
                                       cmocka_unit_test(room_that_cannot_be_is_not_looked_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
