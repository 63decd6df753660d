// SPDX-License-Identifier: Apache-2.0
// Many operations in the pager's line, and whom they cost nothing: an allocation that leaves its place, beside updates
// of GPU virtual addresses that are not about it; whoever calls, beside a job that stands behind very many; and an
// allocation that goes, beside whatever else its device has there.
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "updates.h"
#include "vidmm/api/call.h"

#define AT_A_TIME 500u
#define STEPS     20u

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// The manager asks these of each operation that it looks at.
bool __real_ferry_vm_reached(const struct ferry_vm_sched *sched, unsigned node, uint64_t number);
bool __wrap_ferry_vm_reached(const struct ferry_vm_sched *sched, unsigned node, uint64_t number);
static uint64_t reached;

bool __wrap_ferry_vm_reached(const struct ferry_vm_sched *sched, unsigned node, uint64_t number)
{
    reached++;
    return __real_ferry_vm_reached(sched, node, number);
}

bool __real_ferry_vm_operation_over(const struct ferry_vm_sched *sched, uint64_t number);
bool __wrap_ferry_vm_operation_over(const struct ferry_vm_sched *sched, uint64_t number);
static uint64_t asked_if_over;

bool __wrap_ferry_vm_operation_over(const struct ferry_vm_sched *sched, uint64_t number)
{
    asked_if_over++;
    return __real_ferry_vm_operation_over(sched, number);
}

// Looks at operations while an allocation leaves and comes back, beside updates that wait and map so many single pages
// of another.
static uint64_t beside_waiting(unsigned count)
{
    struct world *world = begin(4096, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), result = content(world, 4, 1), leaves = content(world, 1, 2);
    uint64_t at = reserve(world, BASE + 0x400000, 65536), at_result = map(world, result, BASE + 0x100000, 4);
    static struct ferry_vidmm_update change[AT_A_TIME];
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    spy.keep = false;
    uint64_t held = copy(world, slow, (const D3DKMT_HANDLE[2]){result, result}, at_result, at_result + PAGES(1), 64);
    for (unsigned i = 0; i < count; i++) {
        change[i % AT_A_TIME] = mapping(at + PAGES(i), 1, result, i % 3);
        if (i % AT_A_TIME == AT_A_TIME - 1)
            update(world, slow, change, AT_A_TIME);
    }
    uint64_t before = world_statistics(world).operations[DXGK_OPERATION_TRANSFER];
    reached = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        world_write(world, leaves, step);
        world_require(world, leaves);
    }
    uint64_t looks = reached;
    assert_int_equal(world_statistics(world).operations[DXGK_OPERATION_TRANSFER], before + 2 * STEPS);
    assert_false(is_over(world, slow, held));
    world->knobs->hold_node = 0;
    world_close(world);
    return looks;
}

static void what_waits_costs_what_leaves_nothing(void **state)
{
    (void)state;
    uint64_t few = beside_waiting(500), many = beside_waiting(8000);
    printf("%" PRIu64 " looks beside 500 mappings that wait, %" PRIu64 " beside 8,000\n", few, many);
    assert_in_range(few, 1, 100 * STEPS);
    assert_in_range(many, 1, 2 * few);
}

// Looks at operations in calls that have nothing to do, while a job waits for the last of so many mappings of an
// update: all of them are with the device, or are to go there.
static uint64_t beside_a_job_behind(unsigned count)
{
    struct world *world = begin(4096, 0);
    D3DKMT_HANDLE context = context_on(world, 1), result = content(world, 4, 1);
    uint64_t at = reserve(world, BASE + 0x400000, (count | 511) + 1),
             at_result = map(world, result, BASE + 0x100000, 4);
    struct ferry_vidmm_update *change = calloc(count, sizeof(*change));
    const struct ferry_vm_sched *sched = &world->manager->sched;
    assert_non_null(change);
    spy.keep = false;
    for (unsigned i = 0; i < count; i++)
        change[i] = mapping(at + PAGES(i), 1, result, i % 3);
    world->knobs->delay = 1;
    update(world, context, change, count);
    uint64_t fence =
        copy(world, context, (const D3DKMT_HANDLE[2]){result, result}, at_result, at_result + PAGES(1), 64);
    while (sched->unbuilt <= sched->queued)
        turns(world, 1);
    world->knobs->hold_paging = true;
    assert_int_equal(ferry_vidmm_poll(world->manager, false), FERRY_OK);
    asked_if_over = 0;
    for (unsigned step = 0; step < STEPS; step++)
        assert_int_equal(ferry_vidmm_poll(world->manager, false), FERRY_OK);
    uint64_t looks = asked_if_over;
    assert_false(is_over(world, context, fence));
    world->knobs->hold_paging = false;
    free(change);
    world_close(world);
    return looks;
}

static void what_a_job_waits_for_costs_others_nothing(void **state)
{
    (void)state;
    uint64_t few = beside_a_job_behind(500), many = beside_a_job_behind(16000);
    printf("%" PRIu64 " looks in %u calls beside a job behind 500 mappings, %" PRIu64 " behind 16,000\n", few, STEPS,
           many);
    assert_in_range(many, 0, 2 * few);
}

// CPU time of an allocation that comes and goes, with nothing to wait for, while so many others of its device have
// operations in line.
static double beside_a_line(unsigned count)
{
    struct world *world = begin(count + 1024, 0);
    double took = 1;
    spy.keep = false;
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    for (unsigned i = 0; i < count; i++) {
        D3DKMT_HANDLE small = world_create(world, PAGES(1), 0);
        assert_int_equal(world_resident(world, &small, 1), FERRY_PENDING);
    }
    // The quickest, since others may have the machine's caches meanwhile.
    for (unsigned i = 0; i < 10; i++) {
        double begun = seconds();
        for (unsigned step = 0; step < STEPS; step++)
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, world_create(world, PAGES(1), 0)),
                             FERRY_OK);
        double once = (seconds() - begun) / STEPS;
        took = once < took ? once : took;
    }
    assert_true(world->manager->sched.queued - world->manager->sched.done >= count);
    world->knobs->hold_paging = false;
    world_close(world);
    return took;
}

// Of these looks nothing tells but the time that they take: it was 20 times as long, and is the same.
static void what_goes_does_not_look_through_the_line_of_its_device(void **state)
{
    (void)state;
    double few = beside_a_line(500), many = beside_a_line(24000);
    printf("%.4f ms beside 500 operations, %.4f beside 24,000\n", few * 1e3, many * 1e3);
    assert_true(many < 4 * few + 0.05e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_costs_what_leaves_nothing),
        cmocka_unit_test(what_a_job_waits_for_costs_others_nothing),
        cmocka_unit_test(what_goes_does_not_look_through_the_line_of_its_device),
    };
    return WORLD_RUN(tests);
}
