// SPDX-License-Identifier: Apache-2.0
// What the tests of the IOMMU model begin with.
#ifndef FERRY_TESTS_IOMMU_H
#define FERRY_TESTS_IOMMU_H

#include "world.h"

#define LOCAL_PAGES    64
#define APERTURE_PAGES 32
#define SIZE           10

static inline struct world *begin(uint32_t buffer_bytes)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(LOCAL_PAGES);
    options.machine.aperture_bytes = PAGES(APERTURE_PAGES);
    options.machine.model = 2;
    options.machine.iommu = true;
    options.machine.version = DXGKDDI_WDDMv3_2;
    options.manager.paging_buffer_bytes = buffer_bytes;
    return world_open(&options);
}

static inline D3DKMT_HANDLE create(struct world *world, uint64_t pages, UINT flags2)
{
    struct ferry_allocation_private wanted = world_private(PAGES(pages), CPU);
    D3DKMT_HANDLE handle = 0;
    wanted.Flags2 = flags2;
    wanted.Aperture = 1;
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_OK);
    return handle;
}

static inline D3DKMT_HANDLE noticed(struct world *world, uint64_t pages)
{
    return create(world, pages, DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP);
}

static inline void settle(struct world *world)
{
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
}

static inline void push_out(struct world *world, D3DKMT_HANDLE allocation)
{
    D3DKMT_HANDLE large = create(world, APERTURE_PAGES - 1, 0);
    assert_true(world_evict(world, allocation) >= 0);
    world_require(world, large);
    assert_int_equal(world_place(world, allocation).segment, 0);
    assert_true(world_evict(world, large) >= 0);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
}

// Another device's page-out, which waits for its job, which is held back for as long as a test waits: each turn counts
// as progress, so nothing is reset.
static inline void stand_in_the_line(struct world *world)
{
    const struct world before = *world;
    D3DKMT_HANDLE context = 0;
    assert_int_equal(ferry_vidmm_create_device(world->manager, &world->device), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, world->device, 0, &world->queue), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &context, NULL), FERRY_OK);
    D3DKMT_HANDLE other = world_create(world, PAGES(40), CPU), large = world_create(world, PAGES(50), CPU);
    world_write(world, other, 2);
    world_require(world, other);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    world->knobs->hold_turns = 100000;
    (void)world_gpu_name(world, context, other, true);
    assert_true(world_evict(world, other) >= 0);
    assert_int_equal(world_resident(world, &large, 1), FERRY_PENDING);
    *world = before;
    spy_clear();
}

static inline void let_go(struct world *world)
{
    world->knobs->hold_node = 0;
    world->knobs->hold_turns = 0;
}

#endif
