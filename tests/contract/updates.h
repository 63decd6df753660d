// SPDX-License-Identifier: Apache-2.0
// What the tests of batches of operations on GPU virtual addresses begin with: a machine of driver model 2, operations,
// copies by address on the node of a test's choice.
#ifndef FERRY_TESTS_UPDATES_H
#define FERRY_TESTS_UPDATES_H

#include <stdlib.h>

#include "world.h"

// For addresses that the tests choose: the memcpy machine takes lower ones for places in memory.
#define BASE (UINT64_C(1) << 41)

static inline struct world_options updates_options(uint64_t pages, uint32_t buffer_bytes)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(pages);
    options.machine.aperture_bytes = PAGES(24);
    options.machine.model = 2;
    options.manager.paging_buffer_bytes = buffer_bytes;
    return options;
}

static inline struct world *begin(uint64_t pages, uint32_t buffer_bytes)
{
    struct world_options options = updates_options(pages, buffer_bytes);
    return world_open(&options);
}

static inline uint64_t reserve(struct world *world, uint64_t address, uint64_t pages)
{
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = address, .bytes = PAGES(pages)};
    assert_int_equal(ferry_vidmm_reserve_virtual(world->manager, world->device, &range), FERRY_OK);
    return range.address;
}

static inline uint64_t map(struct world *world, D3DKMT_HANDLE allocation, uint64_t address, uint64_t pages)
{
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = address, .bytes = PAGES(pages)};
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, allocation, 0, false, &range), FERRY_OK);
    return range.address;
}

static inline void update(struct world *world, D3DKMT_HANDLE context, const struct ferry_vidmm_update *operations,
                          uint32_t count)
{
    struct ferry_vidmm_updated updated;
    assert_int_equal(ferry_vidmm_update_virtual(world->manager, context, operations, count, &updated), FERRY_OK);
}

static inline struct ferry_vidmm_update mapping(uint64_t address, uint64_t pages, D3DKMT_HANDLE allocation,
                                                uint64_t offset)
{
    return (struct ferry_vidmm_update){.kind = FERRY_VIDMM_MAP,
                                       .address = address,
                                       .bytes = PAGES(pages),
                                       .allocation = allocation,
                                       .offset = PAGES(offset)};
}

// A copy by address; a job that names both.
static inline int try_copy(struct world *world, D3DKMT_HANDLE context, const D3DKMT_HANDLE names[2], uint64_t to,
                           uint64_t from, uint32_t bytes, uint64_t *fence)
{
    struct machine_job job = {.bytes = 0};
    struct ferry_vidmm_reference references[2] = {{names[0], true}, {names[1], false}};
    machine_job_copy(&job, 0, 0, 1, 0, bytes);
    assert_int_equal(job.patch_count, 2);
    for (uint32_t i = 0; i < 2; i++)
        machine_job_by_address(job.commands, &job.patches[i], job.patches[i].AllocationIndex == 0 ? to : from);
    struct ferry_vidmm_submission submission = {.commands = job.commands,
                                                .bytes = job.bytes,
                                                .references = references,
                                                .reference_count = names[0] == names[1] ? 1u : 2u};
    return ferry_vidmm_submit(world->manager, context, &submission, 1, fence);
}

static inline uint64_t copy(struct world *world, D3DKMT_HANDLE context, const D3DKMT_HANDLE names[2], uint64_t to,
                            uint64_t from, uint32_t bytes)
{
    uint64_t fence = 0;
    assert_int_equal(try_copy(world, context, names, to, from, bytes, &fence), FERRY_OK);
    return fence;
}

static inline D3DKMT_HANDLE context_on(struct world *world, uint32_t node)
{
    D3DKMT_HANDLE context;
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, node, &context, NULL), FERRY_OK);
    return context;
}

static inline D3DKMT_HANDLE content(struct world *world, uint64_t pages, uint32_t number)
{
    D3DKMT_HANDLE allocation = world_create(world, PAGES(pages), CPU);
    world_write(world, allocation, number);
    world_require(world, allocation);
    return allocation;
}

static inline uint32_t word_of(struct world *world, D3DKMT_HANDLE allocation, uint64_t offset)
{
    uint32_t word;
    machine_peek(world->machine, machine_local_segment, world_place(world, allocation).offset + offset, &word, 4);
    return word;
}

static inline void turns(struct world *world, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ferry_vidmm_poll(world->manager, true);
}

// The machine may have seen a job go where nothing is mapped.
static inline void close_strayed(struct world *world)
{
    ferry_vidmm_stop(world->manager);
    assert_int_equal(machine_pages_out(world->machine), 0);
    machine_close(world->machine);
    spy_end();
    free(world);
}

static inline bool is_over(struct world *world, D3DKMT_HANDLE context, uint64_t fence)
{
    uint64_t reached = 0;
    assert_int_equal(ferry_vidmm_completed(world->manager, context, &reached), FERRY_OK);
    return reached >= fence;
}

#endif
