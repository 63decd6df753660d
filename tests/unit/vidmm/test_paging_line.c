// SPDX-License-Identifier: Apache-2.0
// The pager's line grows while operations wait in it and are with the device: whatever was found under a number, or as
// the so-manieth of those built, is found there again. By numbers that have gone round the ring many times, and by such
// as stand on both sides of its end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/error.h"
#include "vidmm/sched/paging.h"

enum { AWAKE = 5 };

// What marks an operation, and what the line keeps beside it.
static uint64_t mark(uint64_t number)
{
    return number * UINT64_C(0x9E3779B97F4A7C15);
}

// A line of 64 in which all from `done` on wait, but for `built` that are with the device; built in an order of its
// own.
static void fill(struct ferry_vm_sched *sched, uint64_t done, unsigned built, uint64_t built_first)
{
    *sched = (struct ferry_vm_sched){.done = done, .queued = done};
    assert_int_equal(ferry_vm_reserve(sched, 64), FERRY_OK);
    assert_int_equal(sched->capacity, 64);
    sched->queued = done + 64;
    for (uint64_t number = done + 1; number <= sched->queued; number++) {
        *ferry_vm_operation_at(sched, number) = (struct ferry_vm_operation){.first_address = mark(number)};
        struct ferry_vm_indexed *indexed = &sched->indexed[ferry_vm_ring_place(sched, number) * FERRY_VM_TREES];
        for (unsigned tree = 0; tree < FERRY_VM_TREES; tree++)
            indexed[tree] = (struct ferry_vm_indexed){.first = mark(number) + tree};
    }
    sched->built_first = sched->built_end = built_first;
    for (unsigned i = 0; i < built; i++)
        *ferry_vm_built_at(sched, sched->built_end++) = done + 1 + (i * 7 + 3) % 64;
    for (unsigned i = 0; i < AWAKE; i++)
        sched->awake[sched->awake_count++] = done + 10 + i;
}

static void expect(const struct ferry_vm_sched *sched, uint64_t done, unsigned built, uint64_t built_first)
{
    assert_int_equal(sched->done, done);
    assert_int_equal(sched->queued, done + 64);
    for (uint64_t number = done + 1; number <= sched->queued; number++) {
        assert_true(ferry_vm_operation_at(sched, number)->first_address == mark(number));
        for (unsigned tree = 0; tree < FERRY_VM_TREES; tree++)
            assert_true(sched->indexed[ferry_vm_ring_place(sched, number) * FERRY_VM_TREES + tree].first ==
                        mark(number) + tree);
    }
    assert_int_equal(sched->built_end - sched->built_first, built);
    for (unsigned i = 0; i < built; i++)
        assert_int_equal(*ferry_vm_built_at(sched, built_first + i), done + 1 + (i * 7 + 3) % 64);
    for (unsigned i = 0; i < AWAKE; i++)
        assert_int_equal(sched->awake[i], done + 10 + i);
}

static void drop(struct ferry_vm_sched *sched)
{
    free(sched->operations);
    free(sched->built_order);
    free(sched->indexed);
    free(sched->seen);
    free(sched->awake);
}

static void what_is_in_the_line_is_found_when_it_has_grown(void **state)
{
    static const uint64_t dones[] = {0, 20, 63, 64, 100, 1000, (UINT64_C(1) << 32) + 50};
    static const uint64_t firsts[] = {0, 30, 64, 127, 12345};

    (void)state;
    for (size_t d = 0; d < sizeof dones / sizeof dones[0]; d++)
        for (size_t f = 0; f < sizeof firsts / sizeof firsts[0]; f++)
            for (unsigned more = 1; more <= 200; more += 199) {
                static struct ferry_vm_sched sched;

                fill(&sched, dones[d], 40, firsts[f]);
                assert_int_equal(ferry_vm_reserve(&sched, more), FERRY_OK);
                assert_int_equal(sched.capacity, more == 1 ? 128 : 512);
                assert_int_equal(sched.reserved, sched.queued + more);
                expect(&sched, dones[d], 40, firsts[f]);
                drop(&sched);
            }
}

static void what_has_room_stays_where_it_is(void **state)
{
    struct ferry_vm_sched *sched = calloc(1, sizeof *sched);

    (void)state;
    fill(sched, 70, 40, 9);
    sched->done += 10; // These are over, and their room is free.
    const struct ferry_vm_operation *ring = sched->operations;
    assert_int_equal(ferry_vm_reserve(sched, 10), FERRY_OK);
    assert_ptr_equal(sched->operations, ring);
    assert_int_equal(sched->capacity, 64);
    assert_int_equal(sched->reserved, sched->queued + 10);
    drop(sched);
    free(sched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_the_line_is_found_when_it_has_grown),
        cmocka_unit_test(what_has_room_stays_where_it_is),
    };
    return cmocka_run_group_tests_name("vidmm_paging_line", tests, NULL, NULL);
}
