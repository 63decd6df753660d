// SPDX-License-Identifier: Apache-2.0
// Many mappings of one allocation. What updates of GPU virtual addresses wait with costs an allocation that leaves its
// place nothing, if they are not about it; and one mapping more, or less, costs the same however many there are.
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

// The manager asks for a range's operations by this, of each range that it looks at.
size_t __real_ferry_vm_address_most_pieces(uint64_t pages);
size_t __wrap_ferry_vm_address_most_pieces(uint64_t pages);
static uint64_t asked;

size_t __wrap_ferry_vm_address_most_pieces(uint64_t pages)
{
    asked++;
    return __real_ferry_vm_address_most_pieces(pages);
}

enum way { BY_CALLS, BY_UPDATES, WAYS };

// So many single pages of one allocation: ranges looked at for each that is mapped, and those of the pager's line for
// each that is unmapped with all the others.
static void of_one(unsigned count, enum way way, double *mapped, double *unmapped)
{
    struct world *world = begin(4096, 0);
    D3DKMT_HANDLE context = context_on(world, 1), allocation = content(world, 4, 1);
    uint64_t at = reserve(world, BASE + 0x400000, 4096);
    spy.keep = false;
    asked = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct ferry_vidmm_update change = mapping(at + PAGES(i), 1, allocation, i % 3);
        if (way == BY_UPDATES)
            update(world, context, &change, 1);
        else
            map(world, allocation, at + PAGES(i), 1);
    }
    turns(world, 4);
    *mapped = (double)asked / count;
    uint64_t before = world->manager->sched.index_steps,
             told = world_statistics(world).operations[DXGK_OPERATION_FLUSH_TLB];
    // Buffers are with the device while others are built.
    world->knobs->delay = 2;
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, allocation), FERRY_OK);
    turns(world, count);
    assert_true(world_statistics(world).operations[DXGK_OPERATION_FLUSH_TLB] >= told + count);
    *unmapped = (double)(world->manager->sched.index_steps - before) / count;
    world_close(world);
}

static void one_mapping_costs_the_same_however_many_there_are(void **state)
{
    (void)state;
    for (enum way way = BY_CALLS; way < WAYS; way++) {
        double few[2], many[2];
        of_one(500, way, &few[0], &few[1]);
        of_one(4000, way, &many[0], &many[1]);
        printf("of 500 mappings %.1f and %.1f steps each, of 4,000 %.1f and %.1f\n", few[0], few[1], many[0], many[1]);
        assert_true(many[0] < 1.5 * few[0]);
        assert_true(many[1] < 2 * few[1]);
    }
}

// What all mappings of an allocation take at most, which is kept and not added up, is what it takes.
static void what_is_kept_of_all_mappings_is_their_sum(void **state)
{
    (void)state;
    struct world *world = begin(16384, 0);
    D3DKMT_HANDLE context = context_on(world, 1), handle = content(world, 1500, 1);
    const struct ferry_vm_allocation *allocation =
        ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_ALLOCATION, handle);
    uint64_t at = reserve(world, BASE + 0x400000, 131072);
    assert_int_equal(ferry_vm_virtual_most(allocation), 0);
    // Of all sizes, and each third one goes again: the newest, the oldest, and in between; or is cut in two.
    for (unsigned i = 0; i < 40; i++) {
        struct ferry_vidmm_update change = mapping(at + PAGES(1600 * i), 1 + i * i % 1100, handle, 0);
        update(world, context, &change, 1);
        if (i % 3 == 0)
            map(world, handle, BASE + 0x40000000 + PAGES(1600 * i), 1 + 25 * i);
        change = (struct ferry_vidmm_update){
            .kind = FERRY_VIDMM_UNMAP, .address = at + PAGES(1600 * (i / 2)), .bytes = PAGES(1 + i % 40)};
        if (i % 4 == 0)
            update(world, context, &change, 1);
        if (i % 7 == 6)
            assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device,
                                                      BASE + 0x40000000 + PAGES(1600 * (i - i % 3)),
                                                      PAGES(1 + 25 * (i - i % 3))),
                             FERRY_OK);
        size_t most = 0, tables = 0, count = 0;
        for (const struct ferry_vm_range *range = allocation->mappings; range; range = range->of_owner, count++) {
            most += ferry_vm_address_most_pieces(range->pages) + 1;
            tables += ferry_vm_virtual_tables_most(range->pages);
        }
        assert_true(count >= i / 2);
        assert_int_equal(ferry_vm_virtual_most(allocation), most);
        uint64_t all = 2 * world->manager->memory.tables.pages;
        assert_int_equal(ferry_vm_virtual_take_away_most(allocation), most + (tables < all ? tables : all));
    }
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, handle), FERRY_OK);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_costs_what_leaves_nothing),
        cmocka_unit_test(one_mapping_costs_the_same_however_many_there_are),
        cmocka_unit_test(what_is_kept_of_all_mappings_is_their_sum),
    };
    return WORLD_RUN(tests);
}
