// SPDX-License-Identifier: Apache-2.0
// Updates of addresses that stand behind no job (wddm-facts 4.6, Update with DoNotWait), or behind another context's
// (with FenceValue), in driver model 2 of both miniports.
#include "programs.h"
#include "updates.h"

static int at_once(struct world *world, D3DKMT_HANDLE context, const struct ferry_vidmm_update *operations,
                   uint32_t count)
{
    struct ferry_vidmm_updated updated;
    return ferry_vidmm_update_virtual_at_once(world->manager, context, operations, count, &updated);
}

// Two queues, each of its own node, content that addresses lead to or are to, and an allocation for what each queue's
// jobs find.
struct scene {
    struct world *world;
    D3DKMT_HANDLE slow, quick, old, new, result, other;
    uint64_t x, at_result, at_other; // x: a reservation
};

static struct scene begin_scene(void)
{
    struct world *world = begin(64, 0);
    struct scene s = {.world = world, .slow = context_on(world, 1), .quick = context_on(world, 2)};
    s.old = content(world, 4, 1);
    s.new = content(world, 4, 2);
    s.result = content(world, 4, 3);
    s.other = content(world, 4, 4);
    s.x = reserve(world, BASE + 0x400000, 16);
    s.at_result = map(world, s.result, BASE + 0x100000, 4);
    s.at_other = map(world, s.other, BASE + 0x200000, 4);
    return s;
}

// A job is held back; what is mapped behind it in the same queue is there for another queue's job, and what goes is
// there for as long as a job names it.
static void it_does_not_wait_for_the_jobs_before_it(void **state)
{
    (void)state;
    struct scene s = begin_scene();
    struct world *world = s.world;
    struct ferry_vidmm_update change[] = {mapping(s.x, 4, s.old, 0), mapping(s.x + PAGES(8), 4, s.new, 0)};
    update(world, s.slow, change, 1);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t fence = copy(world, s.slow, (const D3DKMT_HANDLE[2]){s.result, s.old}, s.at_result, s.x + PAGES(1), 64);
    assert_int_equal(at_once(world, s.slow, &change[1], 1), FERRY_OK);
    uint64_t quickly = copy(world, s.quick, (const D3DKMT_HANDLE[2]){s.other, s.new}, s.at_other, s.x + PAGES(10), 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, s.quick, quickly), FERRY_OK);
    assert_int_equal(word_of(world, s.other, 0), world_word(2, PAGES(2) / 4));
    assert_false(is_over(world, s.slow, fence));
    // The job before it names what goes, and finds it; the one behind finds the other.
    change[0] = mapping(s.x, 2, s.new, 2);
    assert_int_equal(at_once(world, s.slow, change, 1), FERRY_OK);
    fence = copy(world, s.slow, (const D3DKMT_HANDLE[2]){s.result, s.new}, s.at_result + 128, s.x + PAGES(1), 64);
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, s.slow, fence), FERRY_OK);
    assert_int_equal(word_of(world, s.result, 0), world_word(1, PAGES(1) / 4));
    assert_int_equal(word_of(world, s.result, 128), world_word(2, PAGES(3) / 4));
    world_close(world);
}

// Where the other one keeps its caller it has a name for that, and nothing has changed.
static void where_it_would_wait_it_is_busy(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), quick = context_on(world, 2), one = content(world, 8, 1);
    uint64_t x = reserve(world, BASE + 0x400000, 16), own = map(world, one, BASE + 0x100000, 8);
    struct ferry_vidmm_mapping found;
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){one, one}, own, own + PAGES(1), 64);
    struct ferry_vidmm_update change = mapping(x + PAGES(8), 2, one, 3);
    update(world, slow, &change, 1);
    // Alike, behind a job of another queue.
    assert_int_equal(at_once(world, quick, &change, 1), FERRY_ERROR_BUSY);
    for (unsigned i = 1; i < 128; i++) {
        change = mapping(x + PAGES(i % 8), 1, one, i % 7);
        update(world, slow, &change, 1);
    }
    change = mapping(x + PAGES(12), 1, one, 5);
    assert_int_equal(at_once(world, slow, &change, 1), FERRY_ERROR_BUSY);
    assert_int_equal(ferry_vidmm_find_virtual(world->manager, world->device, x + PAGES(12), &found), FERRY_OK);
    assert_int_equal(found.allocation, 0);
    assert_false(is_over(world, slow, fence));
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    fence = copy(world, slow, (const D3DKMT_HANDLE[2]){one, one}, own, own + PAGES(1), 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(at_once(world, slow, &change, 1), FERRY_OK);
    fence = copy(world, slow, (const D3DKMT_HANDLE[2]){one, one}, own, x + PAGES(12), 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(word_of(world, one, 0), world_word(1, PAGES(5) / 4));
    world_close(world);
}

// An update of the same queue has mapped the same, and stands behind a job: jobs of other queues do not find it so yet,
// so it is not there at once.
static void what_stands_behind_a_job_alike_is_not_there_at_once(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), quick = context_on(world, 2), one = content(world, 8, 1),
                  other = content(world, 4, 4);
    uint64_t x = reserve(world, BASE + 0x400000, 16), own = map(world, one, BASE + 0x100000, 8),
             at_other = map(world, other, BASE + 0x200000, 4);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){one, one}, own, own + PAGES(1), 64);
    struct ferry_vidmm_update change = mapping(x, 2, one, 3);
    update(world, slow, &change, 1);
    assert_int_equal(at_once(world, slow, &change, 1), FERRY_ERROR_BUSY);
    assert_false(is_over(world, slow, fence));
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(at_once(world, slow, &change, 1), FERRY_OK);
    fence = copy(world, quick, (const D3DKMT_HANDLE[2]){other, one}, at_other, x + PAGES(1), 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, quick, fence), FERRY_OK);
    assert_int_equal(word_of(world, other, 0), world_word(1, PAGES(4) / 4));
    world_close(world);
}

// Where something that an update has unmapped is there yet, for a job that is held back, what is mapped at once comes
// behind that: who names it waits, and finds it.
static void what_has_yet_to_go_goes_first(void **state)
{
    (void)state;
    struct scene s = begin_scene();
    struct world *world = s.world;
    struct ferry_vidmm_update change = mapping(s.x, 4, s.old, 0);
    update(world, s.slow, &change, 1);
    turns(world, 20);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t held = copy(world, s.slow, (const D3DKMT_HANDLE[2]){s.result, s.result}, s.at_result, s.x + PAGES(1), 64);
    change.kind = FERRY_VIDMM_UNMAP;
    update(world, s.slow, &change, 1);
    change = mapping(s.x, 4, s.new, 0);
    assert_int_equal(at_once(world, s.slow, &change, 1), FERRY_OK);
    uint64_t fence = copy(world, s.quick, (const D3DKMT_HANDLE[2]){s.other, s.new}, s.at_other, s.x + PAGES(1), 64);
    turns(world, 60);
    assert_false(is_over(world, s.quick, fence));
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, s.slow, held), FERRY_OK);
    assert_int_equal(ferry_vidmm_wait(world->manager, s.quick, fence), FERRY_OK);
    assert_int_equal(word_of(world, s.result, 0), world_word(1, PAGES(1) / 4));
    assert_int_equal(word_of(world, s.other, 0), world_word(2, PAGES(1) / 4));
    world_close(world);
}

static int behind(struct world *world, D3DKMT_HANDLE context, D3DKMT_HANDLE other, uint64_t job,
                  const struct ferry_vidmm_update *operations, uint32_t count)
{
    struct ferry_vidmm_updated updated;
    return ferry_vidmm_update_virtual_behind(world->manager, context, other, job, operations, count, &updated);
}

// The next job of its own context, whose jobs before are over, waits for the other's.
static void it_waits_for_the_job_that_it_is_to(void **state)
{
    (void)state;
    struct scene s = begin_scene();
    struct world *world = s.world;
    struct ferry_vidmm_update change = mapping(s.x, 4, s.old, 0);
    update(world, s.slow, &change, 1);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t first = copy(world, s.slow, (const D3DKMT_HANDLE[2]){s.result, s.old}, s.at_result, s.x + PAGES(1), 64);
    copy(world, s.slow, (const D3DKMT_HANDLE[2]){s.result, s.result}, s.at_result + 64, s.at_result, 64);
    change = mapping(s.x + PAGES(8), 4, s.new, 0);
    assert_int_equal(behind(world, s.quick, s.slow, first, &change, 1), FERRY_OK);
    uint64_t quickly = copy(world, s.quick, (const D3DKMT_HANDLE[2]){s.other, s.new}, s.at_other, s.x + PAGES(9), 64);
    turns(world, 60);
    assert_false(is_over(world, s.quick, quickly));
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, s.quick, quickly), FERRY_OK);
    assert_true(is_over(world, s.slow, first));
    assert_int_equal(word_of(world, s.result, 0), world_word(1, PAGES(1) / 4));
    assert_int_equal(word_of(world, s.other, 0), world_word(2, PAGES(1) / 4));
    world_close(world);
}

// The job is over, or on its way and not held back; its own context's is, and so is what comes behind that.
static void it_does_not_wait_for_its_own_jobs_behind_another(void **state)
{
    (void)state;
    for (unsigned over = 0; over < 2; over++) {
        struct scene s = begin_scene();
        struct world *world = s.world;
        D3DKMT_HANDLE third = context_on(world, 2);
        struct ferry_vidmm_update change = mapping(s.x, 4, s.new, 0);
        world->knobs->delay = 1;
        world->knobs->hold_node = 1;
        uint64_t held =
            copy(world, s.slow, (const D3DKMT_HANDLE[2]){s.result, s.result}, s.at_result, s.at_result + 64, 64);
        uint64_t done =
            copy(world, s.quick, (const D3DKMT_HANDLE[2]){s.other, s.other}, s.at_other + 64, s.at_other, 64);
        if (over)
            assert_int_equal(ferry_vidmm_wait(world->manager, s.quick, done), FERRY_OK);
        assert_int_equal(behind(world, s.slow, s.quick, done, &change, 1), FERRY_OK);
        uint64_t quickly = copy(world, third, (const D3DKMT_HANDLE[2]){s.other, s.new}, s.at_other, s.x + PAGES(1), 64);
        assert_int_equal(ferry_vidmm_wait(world->manager, third, quickly), FERRY_OK);
        assert_int_equal(word_of(world, s.other, 0), world_word(2, PAGES(1) / 4));
        assert_false(is_over(world, s.slow, held));
        held = copy(world, s.slow, (const D3DKMT_HANDLE[2]){s.result, s.new}, s.at_result, s.x + PAGES(2), 64);
        world->knobs->hold_node = 0;
        assert_int_equal(ferry_vidmm_wait(world->manager, s.slow, held), FERRY_OK);
        assert_int_equal(word_of(world, s.result, 0), world_word(2, PAGES(2) / 4));
        world_close(world);
    }
}

// And nothing has changed.
static void what_is_no_job_of_that_context_is_not_waited_for(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), quick = context_on(world, 2), one = content(world, 8, 1);
    uint64_t x = reserve(world, BASE + 0x400000, 16), own = map(world, one, BASE + 0x100000, 8);
    struct ferry_vidmm_update change = mapping(x, 4, one, 0);
    struct ferry_vidmm_mapping found;
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){one, one}, own, own + PAGES(1), 64);
    assert_int_equal(behind(world, quick, slow, fence + 1, &change, 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(behind(world, quick, slow, 0, &change, 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(behind(world, quick, quick, fence, &change, 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(behind(world, quick, one, fence, &change, 1), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_find_virtual(world->manager, world->device, x, &found), FERRY_OK);
    assert_int_equal(found.allocation, 0);
    assert_int_equal(behind(world, quick, slow, fence, &change, 1), FERRY_OK);
    struct program program = program_begin(world, 1, 0);
    change = mapping(x + PAGES(8), 4, one, 0);
    assert_int_equal(behind(world, quick, program.context, 1, &change, 1), FERRY_ERROR_FOREIGN);
    world_close(world);
}

static void bad_ones_have_the_names_of_any_update(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE one = content(world, 8, 1);
    uint64_t x = reserve(world, BASE + 0x400000, 16);
    struct ferry_vidmm_update change = mapping(x + PAGES(12), 8, one, 0);
    assert_int_equal(at_once(world, world->context, &change, 1), FERRY_ERROR_ARGUMENT);
    change = mapping(x, 4, one, 6);
    assert_int_equal(at_once(world, world->context, &change, 1), FERRY_ERROR_RANGE);
    assert_int_equal(at_once(world, one, &change, 1), FERRY_ERROR_HANDLE);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_does_not_wait_for_the_jobs_before_it),
        cmocka_unit_test(where_it_would_wait_it_is_busy),
        cmocka_unit_test(what_stands_behind_a_job_alike_is_not_there_at_once),
        cmocka_unit_test(what_has_yet_to_go_goes_first),
        cmocka_unit_test(it_waits_for_the_job_that_it_is_to),
        cmocka_unit_test(it_does_not_wait_for_its_own_jobs_behind_another),
        cmocka_unit_test(what_is_no_job_of_that_context_is_not_waited_for),
        cmocka_unit_test(bad_ones_have_the_names_of_any_update),
    };
    return WORLD_RUN(tests);
}
