// SPDX-License-Identifier: Apache-2.0
// What a neighbour still has in video memory but no longer requires is no reason to refuse anybody, also after one
// wanted allocation has rearranged it.
#include "programs.h"

// Pages and alignment in pages.
struct piece {
    uint32_t pages, alignment;
};

static D3DKMT_HANDLE make(struct world *world, struct piece piece)
{
    struct ferry_allocation_private wanted = world_private(PAGES(piece.pages), PERMANENT);
    D3DKMT_HANDLE handle = 0;
    wanted.Alignment = piece.alignment * PAGE_SIZE;
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_OK);
    return handle;
}

// 16 pages. One program has used 7 of them, all about, and requires none any more. The other one wants 8.
static void what_a_neighbour_no_longer_requires_is_no_reason_to_refuse(void **state)
{
    (void)state;
    static const struct piece left[] = {{1, 2}, {2, 4}, {1, 4}, {3, 2}}, wanted[] = {{5, 1}, {3, 2}};
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(16);
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    struct program one = program_begin(world, 1, 0), two = program_begin(world, 1, 0);
    D3DKMT_HANDLE gap, list[2];
    program_become(world, &one);
    for (unsigned i = 0; i < 4; i++) {
        D3DKMT_HANDLE handle = make(world, left[i]);
        world_require(world, handle);
        assert_int_equal(world_evict(world, handle), FERRY_OK);
        gap = make(world, (struct piece){i == 0 ? 2 : 1, 1});
        world_require(world, gap);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, gap), FERRY_OK);
    }
    program_become(world, &two);
    for (unsigned i = 0; i < 2; i++)
        list[i] = make(world, wanted[i]);
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = two.queue, .NumAllocations = 2, .AllocationList = list};
    arguments.Flags.CantTrimFurther = arguments.Flags.MustSucceed = 1;
    int result = ferry_vidmm_make_resident(world->manager, &arguments);
    assert_true(result == FERRY_OK || result == FERRY_PENDING);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_neighbour_no_longer_requires_is_no_reason_to_refuse)};
    return WORLD_RUN(tests);
}
