// SPDX-License-Identifier: Apache-2.0
// An adapter without a memory segment, in driver model 2: its tables are in system memory, its content in an aperture.
// The paging process has addresses only where there is a memory segment (R206).
#include "updates.h"
#include "vidmm/api/manager.h"

#define APERTURE_PAGES 40
#define NOTICED_PAGES  24

static struct world *begin_with(uint64_t local_pages, uint64_t hidden_pages, bool by_address)
{
    struct world_options options = updates_options(local_pages, 0);
    options.machine.hidden_bytes = PAGES(hidden_pages);
    options.machine.aperture_bytes = PAGES(APERTURE_PAGES);
    options.machine.host_tables = true;
    options.machine.by_address = by_address;
    options.machine.version = DXGKDDI_WDDMv3_2;
    // Asked for or not: a segment of no bytes is none that has no room for them.
    options.manager.table_bytes = by_address ? PAGES(16) : 0;
    return world_open(&options);
}

static int try_noticed(struct world *world, D3DKMT_HANDLE *handle)
{
    struct ferry_allocation_private wanted = world_private(PAGES(NOTICED_PAGES), CPU);
    wanted.Flags2 = DXGK_ALLOC_FLAG2_NOTIFY_EVICTION;
    wanted.Aperture = 1;
    return world_try_create(world, &wanted, NULL, handle, NULL);
}

static void push_out(struct world *world, D3DKMT_HANDLE allocation)
{
    D3DKMT_HANDLE large = world_create_in_aperture(world, PAGES(APERTURE_PAGES - 1), CPU);
    assert_true(world_evict(world, allocation) >= 0);
    world_require(world, large);
    assert_int_equal(world_place(world, allocation).segment, 0);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
}

// Who has to be told of an eviction would be told nothing, and is refused by name.
static void R182_R206_without_a_memory_segment_the_paging_process_has_no_addresses(void **state)
{
    (void)state;
    for (unsigned by_address = 0; by_address < 2; by_address++) {
        struct world *world = begin_with(0, 0, by_address);
        D3DKMT_HANDLE allocation = 0;
        assert_int_equal(try_noticed(world, &allocation), FERRY_ERROR_UNSUPPORTED);
        assert_int_equal(allocation, 0);
        allocation = world_create_in_aperture(world, PAGES(4), CPU);
        world_require(world, allocation);
        assert_int_equal(spy.window_queries, 0);
        assert_null(world->manager->memory.paging.miniport);
        assert_null(world->manager->memory.window);
        world_close(world);
    }
}

// However small it is, and whether or not the CPU sees it. A quarter of it has no group of pages: one it is.
static void R206_R207_R212_with_a_memory_segment_it_has_some(void **state)
{
    (void)state;
    for (unsigned sort = 0; sort < 4; sort++) {
        struct world *world = begin_with(sort % 2 ? 16 : 0, sort % 2 ? 0 : 16, sort / 2);
        D3DKMT_HANDLE allocation = 0;
        assert_int_equal(try_noticed(world, &allocation), FERRY_OK);
        assert_int_equal(spy.window_queries, 1);
        assert_non_null(world->manager->memory.paging.miniport);
        assert_int_equal(world->manager->memory.window->pages, 16);
        world_write(world, allocation, 3);
        world_require(world, allocation);
        push_out(world, allocation);
        assert_int_equal(spy.operations[DXGK_OPERATION_NOTIFY_ALLOC], (NOTICED_PAGES + 15) / 16);
        world_check(world, allocation, 3);
        world_close(world);
    }
}

// Its content is in its own pages, mapped into the aperture or not: filled and copied by nobody, and all of it there.
static void R206_without_a_memory_segment_content_comes_and_goes_by_mapping_alone(void **state)
{
    (void)state;
    static const DXGK_BUILDPAGINGBUFFER_OPERATION none[] = {
        DXGK_OPERATION_TRANSFER,         DXGK_OPERATION_FILL,         DXGK_OPERATION_DISCARD_CONTENT,
        DXGK_OPERATION_VIRTUAL_TRANSFER, DXGK_OPERATION_VIRTUAL_FILL, DXGK_OPERATION_NOTIFY_ALLOC};
    for (unsigned run = 0; run < 4; run++) {
        struct world *world = begin_with(0, 0, run % 2);
        world->knobs->delay = run / 2 * 3;
        D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(6), CPU);
        D3DKMT_HANDLE b = world_create_in_aperture(world, PAGES(6), CPU);
        world_write(world, a, 7);
        world_require(world, a);
        world_require(world, b);
        uint64_t to = map(world, b, BASE, 6), from = map(world, a, BASE + PAGES(512), 6);
        copy(world, world->context, (D3DKMT_HANDLE[]){b, a}, to, from, (uint32_t)PAGES(6));
        assert_true(world_evict(world, a) >= 0);
        push_out(world, b);
        world_check(world, b, 7);
        world_write(world, a, 8);
        world_require(world, b);
        world_require(world, a);
        copy(world, world->context, (D3DKMT_HANDLE[]){b, a}, to, from, (uint32_t)PAGES(6));
        assert_true(world_evict(world, a) >= 0);
        push_out(world, b);
        world_check(world, b, 8);
        world_check(world, a, 8);
        for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
            assert_int_equal(spy.operations[none[i]], 0);
        assert_true(spy_builds(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT) >= 2);
        world_close(world);
    }
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(R182_R206_without_a_memory_segment_the_paging_process_has_no_addresses),
        cmocka_unit_test(R206_R207_R212_with_a_memory_segment_it_has_some),
        cmocka_unit_test(R206_without_a_memory_segment_content_comes_and_goes_by_mapping_alone),
    };
    return WORLD_RUN(tests);
}
