// SPDX-License-Identifier: Apache-2.0
// Aperture segments: mapping, coherency, the dummy page.
#include <stdlib.h>

#include "world.h"

static void R63_R171_map_puts_the_pages_at_the_offset(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE first = world_create_in_aperture(world, PAGES(3), CPU);
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(5), CPU);
    world_write(world, a, 21);
    world_require(world, first);
    spy_clear();
    world_require(world, a);
    const DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT *m =
        &spy_build(DXGK_OPERATION_MAP_APERTURE_SEGMENT, 0)->before.MapApertureSegment;
    assert_int_equal(m->SegmentId, machine_aperture_segment);
    assert_int_equal(m->OffsetInPages, 3);
    assert_int_equal(m->NumberOfPages, 5);
    assert_int_equal(m->MdlOffset, 0);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(machine_aperture_entry(world->machine, 3 + i, NULL), m->pMdl->Pfn[i] << PAGE_SHIFT);
    world_check_gpu(world, a, 21);
    world_close(world);
}

static bool mapped_coherent(bool coherent_aperture, UINT flags)
{
    struct world_options options = world_defaults();
    options.machine.coherent_aperture = coherent_aperture;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(2), flags);
    world_require(world, a);
    bool flag = spy_build(DXGK_OPERATION_MAP_APERTURE_SEGMENT, spy_builds(DXGK_OPERATION_MAP_APERTURE_SEGMENT) - 1)
                    ->before.MapApertureSegment.Flags.CacheCoherent;
    for (unsigned i = 0; i < 2; i++) {
        bool entry;
        machine_aperture_entry(world->machine, i, &entry);
        assert_int_equal(entry, flag);
    }
    world_close(world);
    return flag;
}

static void R64_R65_R66_R67_R68_coherent_only_for_cached_pages_in_a_coherent_aperture(void **state)
{
    (void)state;
    assert_true(mapped_coherent(true, CPU | DXGK_ALLOC_FLAG_CACHED));
    assert_false(mapped_coherent(false, CPU | DXGK_ALLOC_FLAG_CACHED));
    assert_false(mapped_coherent(true, CPU));
    assert_false(mapped_coherent(false, CPU));
}

static void R69_R70_R71_R72_mapping_happens_beside_traffic_in_the_same_aperture(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE traffic = world_create_in_aperture(world, PAGES(8), CPU), shadow = world_create(world, PAGES(8), CPU);
    world_write(world, traffic, 1);
    world_require(world, traffic);
    world_require(world, shadow);
    world->knobs->delay = 10;
    uint64_t fence = 0;
    for (unsigned i = 0; i < 30; i++) {
        fence = world_gpu_copy(world, shadow, 0, traffic, 0, PAGES(8));
        D3DKMT_HANDLE other = world_create_in_aperture(world, PAGES(4), CPU);
        world_write(world, other, i);
        D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &other};
        assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
        assert_true(machine_queued_jobs(world->machine) > 0);
        assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, arguments.PagingFenceValue), FERRY_OK);
        world_check_gpu(world, other, i);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, other), FERRY_OK);
    }
    world_wait(world, fence);
    world_check_gpu(world, shadow, 1);
    world_close(world);
}

static void R73_R74_R75_unmapped_pages_show_the_dummy_page(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(6), CPU);
    world_write(world, a, 2);
    world_require(world, a);
    uint64_t own = machine_aperture_entry(world->machine, 0, NULL);
    spy_clear();
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
    const DXGK_BUILDPAGINGBUFFER_UNMAPAPERTURESEGMENT *u =
        &spy_build(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT, 0)->before.UnmapApertureSegment;
    assert_int_equal(u->OffsetInPages, 0);
    assert_int_equal(u->NumberOfPages, 6);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(machine_aperture_entry(world->machine, i, NULL), u->DummyPage.QuadPart);
        assert_int_not_equal(machine_aperture_entry(world->machine, i, NULL), own);
    }
    uint32_t word = 0;
    machine_peek(world->machine, machine_aperture_segment, PAGES(3), &word, 4); // works: no fault
    assert_int_equal(machine_errors(world->machine, NULL), 0);
    assert_int_equal(word, 0xD5D5D5D5);
    world_close(world);
}

static void R74_R75_never_mapped_pages_show_the_dummy_page_too(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    uint64_t dummy = machine_aperture_entry(world->machine, 0, NULL);
    assert_int_not_equal(dummy, 0);
    for (unsigned i = 0; i < 63; i++) // the last page is the manager's scratch page
        assert_int_equal(machine_aperture_entry(world->machine, i, NULL), dummy);
    world_close(world);
}

static void R76_writes_to_the_dummy_page_are_counted(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    assert_int_equal(world_statistics(world).dummy_page_writes, 0);
    uint8_t stray = 0x42;
    machine_poke(world->machine, machine_aperture_segment, PAGES(10) + 1234, &stray, 1);
    assert_int_equal(world_statistics(world).dummy_page_writes, 1);
    assert_int_equal(world_statistics(world).dummy_page_writes, 1); // put back in order
    machine_poke(world->machine, machine_aperture_segment, PAGES(11), &stray, 1);
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(2), CPU);
    world_require(world, a);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK); // looks at it by itself
    assert_int_equal(world_statistics(world).dummy_page_writes, 2);
    world_close(world);
}

static void R77_R78_R79_R80_unmapping_waits_for_jobs_of_that_range_only(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE busy = world_create_in_aperture(world, PAGES(8), CPU),
                  a = world_create_in_aperture(world, PAGES(8), CPU);
    world_write(world, a, 5);
    world_require(world, busy);
    world_require(world, a);
    D3DKMT_HANDLE other;
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 2, &other, NULL), FERRY_OK);
    world->knobs->delay = 40;
    world_gpu_put(world, a, 0, PAGES(8), 0x51);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    D3DKMT_HANDLE large = world_create_in_aperture(world, PAGES(55), CPU); // a's range must go
    assert_true(world_resident(world, &large, 1) >= 0);
    assert_int_equal(world_place(world, a).segment, 0);
    assert_int_equal(world_statistics(world).operations[DXGK_OPERATION_UNMAP_APERTURE_SEGMENT] > 0, true);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    assert_int_equal(*(uint32_t *)address, 0x51);
    ferry_vidmm_unlock(world->manager, a);
    world_close(world); // the machine fails when a job still used the range
}

// A miniport may change the table by registers, when the operation is built, and write nothing into the buffer: the
// operation is done all the same, and whoever comes into a range finds his own pages there.
static void R69_R77_the_table_may_be_changed_by_registers(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->by_registers = true;
    D3DKMT_HANDLE traffic = world_create_in_aperture(world, PAGES(8), CPU), shadow = world_create(world, PAGES(8), CPU);
    world_write(world, traffic, 1);
    world_require(world, traffic);
    world_require(world, shadow);
    uint64_t dummy = machine_aperture_entry(world->machine, 62, NULL);
    spy_clear();
    world->knobs->delay = 4;
    for (unsigned i = 0; i < 10; i++) {
        D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(30), CPU),
                      b = world_create_in_aperture(world, PAGES(30), CPU);
        world_write(world, a, 10 + i);
        world_write(world, b, 40 + i);
        world_require(world, a);
        uint64_t there = world_place(world, a).offset / PAGE_SIZE;
        world_gpu_copy(world, shadow, 0, a, PAGES(22), PAGES(8));
        world_gpu_copy(world, a, 0, traffic, 0, PAGES(8));
        assert_int_equal(world_evict(world, a), FERRY_OK);
        world_require(world, b); // in its place: both do not fit
        assert_int_equal(world_place(world, a).segment, 0);
        assert_int_equal(world_place(world, b).offset / PAGE_SIZE, there);
        world_check_gpu(world, b, 40 + i);
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        for (uint64_t n = 0; n < PAGES(30) / 4; n++)
            assert_int_equal(((uint32_t *)address)[n], n < PAGES(8) / 4 ? world_word(1, n) : world_word(10 + i, n));
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, b), FERRY_OK);
        assert_int_equal(machine_aperture_entry(world->machine, there, NULL), dummy);
    }
    assert_int_equal(spy_builds(DXGK_OPERATION_MAP_APERTURE_SEGMENT), 20);
    assert_int_equal(spy_builds(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT), 20);
    world_close(world);
}

static void R173_aperture_pages_need_not_be_neighbours(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->scatter_pages = true;
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(9), CPU | DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY);
    world_write(world, a, 6);
    world_require(world, a);
    assert_int_not_equal(machine_aperture_entry(world->machine, 1, NULL),
                         machine_aperture_entry(world->machine, 0, NULL) + PAGE_SIZE);
    world_check_gpu(world, a, 6);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R63_R171_map_puts_the_pages_at_the_offset),
        cmocka_unit_test(R64_R65_R66_R67_R68_coherent_only_for_cached_pages_in_a_coherent_aperture),
        cmocka_unit_test(R69_R70_R71_R72_mapping_happens_beside_traffic_in_the_same_aperture),
        cmocka_unit_test(R73_R74_R75_unmapped_pages_show_the_dummy_page),
        cmocka_unit_test(R74_R75_never_mapped_pages_show_the_dummy_page_too),
        cmocka_unit_test(R76_writes_to_the_dummy_page_are_counted),
        cmocka_unit_test(R77_R78_R79_R80_unmapping_waits_for_jobs_of_that_range_only),
        cmocka_unit_test(R69_R77_the_table_may_be_changed_by_registers),
        cmocka_unit_test(R173_aperture_pages_need_not_be_neighbours),
    };
    return WORLD_RUN(tests);
}
