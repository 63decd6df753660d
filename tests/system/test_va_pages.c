// SPDX-License-Identifier: Apache-2.0
// ferry_va_update where mappings are in large pages: what is left of one that is cut is there all the time.
#include "updates.h"

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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_large_page_becomes_small_ones_without_a_gap)};

    read_options(argc, argv);
    return has_page_tables() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
