// SPDX-License-Identifier: Apache-2.0
// What updates of GPU virtual addresses wait with costs an allocation that leaves its place nothing, if they are not
// about it.
#include <stdio.h>
#include <time.h>

#include "updates.h"

#define AT_A_TIME 500u
#define STEPS     20u

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// CPU time in which an allocation leaves and comes back, while updates wait that map so many single pages of another.
static double beside_waiting(unsigned count)
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
    double took = 1;
    // The quickest, since others may have the machine's caches meanwhile.
    for (unsigned i = 0; i < 10 * STEPS; i += STEPS) {
        double begun = seconds();
        for (unsigned step = 0; step < STEPS; step++) {
            world_write(world, leaves, i + step);
            world_require(world, leaves);
        }
        double once = (seconds() - begun) / STEPS;
        took = once < took ? once : took;
    }
    assert_int_equal(world_statistics(world).operations[DXGK_OPERATION_TRANSFER], before + 2 * 10 * STEPS);
    assert_false(is_over(world, slow, held));
    world->knobs->hold_node = 0;
    world_close(world);
    return took;
}

static void what_waits_costs_what_leaves_nothing(void **state)
{
    (void)state;
    double few = beside_waiting(500), many = beside_waiting(8000);
    printf("%.4f ms beside 500 mappings that wait, %.4f beside 8,000\n", few * 1e3, many * 1e3);
    assert_true(many < 1.5 * few + 0.02e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_costs_what_leaves_nothing),
    };
    return WORLD_RUN(tests);
}
