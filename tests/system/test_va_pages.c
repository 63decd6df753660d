// SPDX-License-Identifier: Apache-2.0
// ferry_va_update where mappings are in large pages: what is left of one that is cut is there all the time.
#include "ferry_contract.h"
#include "updates.h"

// Two large pages of an allocation lead to its addresses from `at` on, if these are mapped to it from `skip` on:
// wherever it is in place, and what is reserved begins.
struct large_pages {
    struct ferry_allocation *all;
    uint64_t at, skip;
};

static struct large_pages two_large_pages(struct machine *m)
{
    struct large_pages two = {.all = make(m->device, 6 * MIB, FERRY_FLAG_CPU_VISIBLE)};
    struct ferry_placement place = {.size = sizeof place};

    two.at = (reserve(m, 16 * MIB) + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    must_be_resident(m->device, &two.all, 1);
    ok(ferry_allocation_placement(two.all, &place));
    two.skip = (2 * MIB - place.offset % (2 * MIB)) % (2 * MIB);
    return two;
}

// A large page from which a tile goes, and then others come there: what is left of it is read and written all the time.
static void a_large_page_becomes_small_ones_without_a_gap(void **state)
{
    (void)state;
    struct machine m = begin(16 * MIB);
    struct ferry_allocation *pair[2] = {make(m.device, 6 * MIB, FERRY_FLAG_CPU_VISIBLE),
                                        make(m.device, 256 * KIB, FERRY_FLAG_CPU_VISIBLE)};
    uint64_t x = reserve(&m, 16 * MIB), large = (x + 4 * MIB - 1) / (2 * MIB) * (2 * MIB);
    struct ferry_va_steps walk;
    struct ferry_queue *queue;

    ok(ferry_queue_create(m.device, &queue));
    begin_watching(&m, x);
    must_be_resident(m.device, pair, 2);
    ok(ferry_queue_fill(m.queue, pair[0], 0, 6 * MIB, 0x11, 1));
    ok(ferry_queue_fill(m.queue, pair[1], 0, 256 * KIB, 0x22, 1));
    // Wherever the allocation is, so that some 2 MiB of it are one page.
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    struct ferry_placement place = {.size = sizeof place};
    ok(ferry_allocation_placement(pair[0], &place));
    uint64_t skip = (2 * MIB - place.offset % (2 * MIB)) % (2 * MIB);
    struct ferry_va_operation operation = map(large, 4 * MIB, pair[0], skip);
    ok(update(m.queue, &operation, 1, NULL));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    const struct ferry_va_step *step = last_step(&m, large + 3 * PAGE, &walk);
    assert_true(step->is_page && step->level == 1);
    // Copies of all that stays, on another queue, which are under way meanwhile.
    uint64_t hole = large + 800 * KIB + PAGE, other;
    for (uint32_t i = 0; i < (on_model() ? 30 : 8); i++) {
        ok(ferry_queue_copy_va(queue, large + MIB, large, 64 * KIB));
        ok(ferry_queue_fill_va(queue, large + 1900 * KIB, 100 * KIB, 0x33, 1));
        other = submit(queue);
        operation = i % 2 ? map(hole, 96 * KIB, pair[1], 16 * KIB) : unmap(hole, 96 * KIB);
        if (i % 3 == 2)
            operation = map(hole, 96 * KIB, pair[0], skip + 800 * KIB + PAGE);
        ok(update(m.queue, &operation, 1, NULL));
        ok(ferry_queue_fill_va(m.queue, hole - 100, 100, 0x40 + i, 1));
        ok(ferry_queue_fill_va(m.queue, hole + 96 * KIB, 100, 0x40 + i, 1));
        if (i % 2 || i % 3 == 2)
            ok(ferry_queue_fill_va(m.queue, hole + PAGE, 10, 0x40 + i, 1));
        ok(ferry_queue_wait(m.queue, submit(m.queue)));
        step = last_step(&m, hole - 1, &walk);
        assert_true(step->is_page && step->level == 0 && !step->group);
        step = last_step(&m, hole - 64 * KIB, &walk);
        assert_true(step->is_page && step->level == 0 && step->group);
        step = last_step(&m, hole, &walk);
        assert_true(step->level == 0 && step->is_page == (i % 2 || i % 3 == 2));
        step = last_step(&m, large + 3 * MIB, &walk);
        assert_true(step->is_page && step->level == 1);
        ok(ferry_queue_wait(queue, other));
        if (i < 3) // All three sizes stand there.
            assert_true(told_is_what_stands_there(&m, WATCHED / 2) > 2 * MIB + 64 * KIB);
    }
    struct ferry_statistics statistics = {.size = sizeof statistics};
    ok(ferry_adapter_statistics(m.adapter, &statistics));
    assert_int_equal(statistics.faults, 0);
    // All of it goes, in two pieces: nothing is left of any table but the root, and those of the own addresses.
    const struct ferry_va_operation all[2] = {unmap(large, 3 * MIB), unmap(large + 3 * MIB, MIB)};
    ok(update(m.queue, all, 2, NULL));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    step = last_step(&m, large, &walk);
    assert_true(step->level == 3 && !step->valid);
    assert_int_equal(told_is_what_stands_there(&m, WATCHED / 2), 0);
    ferry_adapter_close(m.adapter);
}

// Pieces of every sort go from a mapping of groups and from a large page, one at a time; after each there is nothing
// where it was, and everything beside it.
static void only_what_is_unmapped_is_gone(void **state)
{
    (void)state;
    struct machine m = begin(16 * MIB);
    struct large_pages two = two_large_pages(&m);
    // First page and how many, of 1,024.
    static const uint32_t pieces[][2] = {{3, 4},    {7, 9},    {37, 30},   {80, 16},
                                         {100, 12}, {500, 30}, {1000, 24}, {600, 1}};
    const uint64_t at = two.at;
    struct ferry_va_steps walk;

    // Large pages; and groups of 64 KiB, where the allocation lies differently from its addresses.
    for (uint64_t shift = 0; shift <= 64 * KIB; shift += 64 * KIB) {
        bool gone[1024] = {false};
        uint64_t from = two.skip + shift;
        struct ferry_va_operation operation = map(at, 4 * MIB, two.all, from - (from > 2 * MIB ? MIB : 0));
        ok(update(m.queue, &operation, 1, NULL));
        for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
            operation = unmap(at + (uint64_t)pieces[i][0] * PAGE, (uint64_t)pieces[i][1] * PAGE);
            ok(update(m.queue, &operation, 1, NULL));
            ok(ferry_queue_wait(m.queue, submit(m.queue)));
            for (uint32_t k = 0; k < pieces[i][1]; k++)
                gone[pieces[i][0] + k] = true;
            for (uint32_t k = 0; k < 1024; k += on_model() ? 1 : gone[k] ? 3 : 31)
                assert_int_equal(last_step(&m, at + (uint64_t)k * PAGE, &walk)->is_page, !gone[k]);
        }
        operation = unmap(at, 4 * MIB);
        ok(update(m.queue, &operation, 1, NULL));
    }
    ferry_adapter_close(m.adapter);
}

// Where it was a large page there is its table again, in which it comes back once a piece of it has gone.
static void a_large_page_that_is_cut_while_it_is_away_comes_back_small(void **state)
{
    (void)state;
    struct machine m = begin(16 * MIB);
    struct large_pages two = two_large_pages(&m);
    struct ferry_allocation *other = make(m.device, 12 * MIB, FERRY_FLAG_CPU_VISIBLE);
    const uint64_t at = two.at;
    struct ferry_placement place = {.size = sizeof place};
    struct ferry_va_steps walk;

    struct ferry_va_operation operation = map(at, 4 * MIB, two.all, two.skip);
    ok(update(m.queue, &operation, 1, NULL));
    ok(ferry_queue_fill_va(m.queue, at + 5 * PAGE, PAGE, 0x55, 1));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    assert_int_equal(last_step(&m, at + 5 * PAGE, &walk)->level, 1);
    evict(m.device, &two.all, 1);
    must_be_resident(m.device, &other, 1);
    ok(ferry_allocation_placement(two.all, &place));
    assert_false(place.resident);
    operation = unmap(at + 3 * PAGE, PAGE);
    ok(update(m.queue, &operation, 1, NULL));
    evict(m.device, &other, 1);
    must_be_resident(m.device, &two.all, 1);
    ok(ferry_queue_copy_va(m.queue, at + 40 * PAGE, at + 5 * PAGE, PAGE));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    assert_true(last_step(&m, at + 5 * PAGE, &walk)->is_page && walk.steps[walk.count - 1].level == 0);
    assert_false(last_step(&m, at + 3 * PAGE, &walk)->is_page);
    assert_int_equal(last_step(&m, at + 2 * MIB, &walk)->level, 1);
    ferry_adapter_close(m.adapter);
}

// Large pages lose some of theirs at once: two by one piece over both, by one of each; one by several.
static void large_pages_are_cut_at_once(void **state)
{
    (void)state;
    // First pages of the holes, and those behind them, of 1,024.
    static const uint32_t holes[][4][2] = {{{500, 530}},
                                           {{100, 104}, {600, 604}},
                                           {{3, 5}, {300, 310}, {505, 509}, {1000, 1003}},
                                           {{0, 1}, {511, 513}, {1020, 1024}}};
    struct machine m = begin(16 * MIB);
    struct large_pages two = two_large_pages(&m);
    const uint64_t at = two.at;
    struct ferry_va_steps walk;

    for (size_t way = 0; way < sizeof holes / sizeof holes[0]; way++) {
        struct ferry_va_operation whole = map(at, 4 * MIB, two.all, two.skip), batch[4];
        bool gone[1024] = {false};
        uint32_t count = 0;

        ok(update(m.queue, &whole, 1, NULL));
        ok(ferry_queue_wait(m.queue, submit(m.queue)));
        assert_int_equal(last_step(&m, at, &walk)->level, 1);
        assert_int_equal(last_step(&m, at + 2 * MIB, &walk)->level, 1);
        for (; count < 4 && holes[way][count][1] > 0; count++) {
            const uint32_t first = holes[way][count][0], end = holes[way][count][1];

            batch[count] = unmap(at + (uint64_t)first * PAGE, (uint64_t)(end - first) * PAGE);
            memset(&gone[first], true, end - first);
        }
        ok(update(m.queue, batch, count, NULL));
        ok(ferry_queue_wait(m.queue, submit(m.queue)));
        for (uint32_t k = 0; k < 1024; k++) {
            bool edge = gone[k] || (k > 0 && gone[k - 1]) || (k < 1023 && gone[k + 1]);
            if (on_model() || edge || k % 61 == 0)
                assert_int_equal(last_step(&m, at + (uint64_t)k * PAGE, &walk)->is_page, !gone[k]);
        }
        whole = unmap(at, 4 * MIB);
        ok(update(m.queue, &whole, 1, NULL));
    }
    ferry_adapter_close(m.adapter);
}

// What may not be written may not where it has smaller pages, for what went beside it: of a large page, and of a group.
static void what_is_left_may_be_written_as_little_as_before(void **state)
{
    (void)state;
    struct machine m = begin(16 * MIB);
    struct large_pages two = two_large_pages(&m);
    const uint64_t at = two.at;
    uint64_t fence;
    struct ferry_fault fault = {.size = sizeof fault};
    struct ferry_va_steps walk;
    bool found;

    struct ferry_va_operation operation = map(at, 2 * MIB, two.all, two.skip);
    operation.kind = FERRY_VA_MAP_PROTECT;
    operation.read_only = true;
    ok(update(m.queue, &operation, 1, NULL));
    for (uint32_t cut = 0; cut < 2; cut++) {
        // The second hole is in a group that the first has left.
        uint64_t hole = at + (cut ? 1600 : 800) * KIB + PAGE;
        const uint64_t left[] = {at, hole - 64 * KIB, hole - 1, hole + 3 * PAGE, at + 2 * MIB - 1};

        operation = unmap(hole, 3 * PAGE);
        ok(update(m.queue, &operation, 1, NULL));
        ok(ferry_queue_wait(m.queue, submit(m.queue)));
        for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
            const struct ferry_va_step *step = last_step(&m, left[i], &walk);
            assert_true(step->is_page && step->level == 0 && step->read_only);
            ok(ferry_queue_fill_va(m.queue, left[i], 1, 0x55, 1));
            ok(ferry_queue_submit(m.queue, &fence));
            assert_int_equal(ferry_queue_wait(m.queue, fence), FERRY_ERROR_FAULT);
            ok(ferry_adapter_next_fault(m.adapter, &fault, &found));
            assert_true(found && fault.is_write && fault.address == left[i]);
            assert_int_equal(fault.kind, FERRY_FAULT_KIND_PAGE_READ_ONLY);
        }
    }
    ferry_adapter_close(m.adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_large_page_becomes_small_ones_without_a_gap),
                                       cmocka_unit_test(only_what_is_unmapped_is_gone),
                                       cmocka_unit_test(large_pages_are_cut_at_once),
                                       cmocka_unit_test(what_is_left_may_be_written_as_little_as_before),
                                       cmocka_unit_test(a_large_page_that_is_cut_while_it_is_away_comes_back_small)};

    read_options(argc, argv);
    return has_page_tables() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
