// SPDX-License-Identifier: Apache-2.0
// Operations that are behind all: what each of them hangs on, and when it is looked at again. The lines are made by
// hand, and the test is the job and the device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "ferry/error.h"
#include "vidmm/sched/paging.h"

enum { PAGING, USER, NODES };

// Nothing waits; all up to `done` are over, and where they stood is anything.
static struct ferry_vm_sched *line_of(uint64_t done)
{
    struct ferry_vm_sched *sched = calloc(1, sizeof *sched);

    assert_non_null(sched);
    sched->node_count = NODES;
    sched->paging_node = PAGING;
    sched->done = sched->queued = done;
    sched->unbuilt = sched->looked_at = done + 1;
    assert_int_equal(ferry_vm_reserve(sched, 64), FERRY_OK);
    for (uint64_t number = 0; number < 64; number++)
        *ferry_vm_operation_at(sched, number) =
            (struct ferry_vm_operation){.previous = UINT64_MAX, .keeps = UINT64_MAX};
    return sched;
}

static uint64_t put(struct ferry_vm_sched *sched, struct ferry_vm_operation operation)
{
    operation.nothing = true;
    operation.first = operation.last = ++sched->queued;
    *ferry_vm_operation_at(sched, sched->queued) = operation;
    return sched->queued;
}

// Behind all, the newest one of those before it as the manager notes it.
static uint64_t put_behind_all(struct ferry_vm_sched *sched)
{
    uint64_t before = sched->behind_all;

    return sched->behind_all = put(sched, (struct ferry_vm_operation){.behind_all = true, .previous = before});
}

// What the pager does when an operation has ended.
static void end(struct ferry_vm_sched *sched, uint64_t number)
{
    ferry_vm_operation_at(sched, number)->state = FERRY_VM_OVER;
    while (sched->done < sched->queued && ferry_vm_operation_at(sched, sched->done + 1)->state == FERRY_VM_OVER)
        sched->done++;
    sched->nodes[PAGING].completed = sched->done;
    ferry_vm_awaken(sched, number);
}

static void drop(struct ferry_vm_sched *sched)
{
    ferry_vm_line_free(sched);
    free(sched);
}

// Each of them is next when all before it is over, and none before. With the one that is just over its place in the
// ring is somebody else's.
static void each_of_those_behind_all_waits_for_the_one_before(void **state)
{
    static const uint64_t dones[] = {0, 5, 62, 63, 64, 1000};

    (void)state;
    for (size_t d = 0; d < sizeof dones / sizeof dones[0]; d++) {
        struct ferry_vm_sched *sched = line_of(dones[d]);
        uint64_t job = put(sched, (struct ferry_vm_operation){.after = {[USER] = 1}}), behind[4];

        for (unsigned i = 0; i < 4; i++)
            behind[i] = put_behind_all(sched);
        assert_int_equal(ferry_vm_next_operation(sched), 0);
        sched->nodes[USER].completed = 1;
        assert_int_equal(ferry_vm_next_operation(sched), job);
        end(sched, job);
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(ferry_vm_next_operation(sched), behind[i]);
            // What is with the device is not over.
            ferry_vm_operation_at(sched, behind[i])->state = FERRY_VM_BUILT_INTO;
            assert_int_equal(ferry_vm_next_operation(sched), 0);
            end(sched, behind[i]);
            *ferry_vm_operation_at(sched, behind[i]) =
                (struct ferry_vm_operation){.previous = sched->queued, .keeps = UINT64_MAX};
        }
        assert_int_equal(ferry_vm_next_operation(sched), 0);
        drop(sched);
    }
}

// Those that wait no more, since their pages are wanted again, are over before what stands before them.
static void those_that_do_not_wait_any_more_keep_nobody(void **state)
{
    (void)state;
    for (unsigned cancelled = 0; cancelled <= 3; cancelled++) {
        struct ferry_vm_sched *sched = line_of(70);
        uint64_t job = put(sched, (struct ferry_vm_operation){.after = {[USER] = 1}}), last = 0;

        for (unsigned i = 0; i < cancelled; i++) {
            uint64_t number = put_behind_all(sched);

            assert_true(ferry_vm_unmap_never(sched, number));
            ferry_vm_operation_at(sched, number)->state = FERRY_VM_OVER;
        }
        last = put_behind_all(sched);
        assert_int_equal(ferry_vm_next_operation(sched), 0);
        sched->nodes[USER].completed = 1;
        assert_int_equal(ferry_vm_next_operation(sched), job);
        end(sched, job);
        assert_int_equal(ferry_vm_next_operation(sched), last);
        drop(sched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_those_behind_all_waits_for_the_one_before),
        cmocka_unit_test(those_that_do_not_wait_any_more_keep_nobody),
    };
    return cmocka_run_group_tests_name("vidmm_paging_look", tests, NULL, NULL);
}
