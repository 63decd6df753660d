// SPDX-License-Identifier: Apache-2.0
// Several programs in one world.
#ifndef FERRY_TESTS_PROGRAMS_H
#define FERRY_TESTS_PROGRAMS_H

#include "world.h"

// A program with a device of its own, all of it made through the manager's calls.
struct program {
    D3DKMT_HANDLE process, device, queue, context;
};

static inline struct program program_begin(struct world *world, uint32_t weight, uint64_t reservation)
{
    struct ferry_vidmm_process_options options = {
        .size = sizeof(options), .weight = weight, .reservation = reservation};
    struct program program = {0};
    assert_int_equal(ferry_vidmm_create_process(world->manager, &options, &program.process), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_device_of(world->manager, program.process, &program.device), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, program.device, 0, &program.queue), FERRY_OK);
    assert_int_equal(
        ferry_vidmm_create_context(world->manager, program.device, FERRY_VIDMM_ANY_NODE, &program.context, NULL),
        FERRY_OK);
    return program;
}

// The world's helpers for this program; the world's own device is put back by the next switch.
static inline void program_become(struct world *world, const struct program *program)
{
    world->device = program->device;
    world->queue = program->queue;
    world->context = program->context;
}

// One allocation on the program's list for good; the last attempt is one that has nothing left to trim.
static inline int list_it(struct world *world, const struct program *program, D3DKMT_HANDLE allocation,
                          bool last_attempt)
{
    D3DDDI_MAKERESIDENT arguments = {
        .hPagingQueue = program->queue, .NumAllocations = 1, .AllocationList = &allocation};
    arguments.Flags.CantTrimFurther = last_attempt;
    return ferry_vidmm_make_resident(world->manager, &arguments);
}

// The last attempt to have one allocation more on the list; how much is in its way.
static inline int ask_for(struct world *world, const struct program *p, D3DKMT_HANDLE allocation, uint64_t *to_trim)
{
    D3DDDI_MAKERESIDENT make = {.hPagingQueue = p->queue, .NumAllocations = 1, .AllocationList = &allocation};
    make.Flags.CantTrimFurther = 1;
    int result = ferry_vidmm_make_resident(world->manager, &make);
    *to_trim = make.NumBytesToTrim;
    return result;
}

// What the program may have of memory, and has.
static inline struct ferry_vidmm_memory_info info_of(struct world *world, D3DKMT_HANDLE process)
{
    struct ferry_vidmm_memory_info info;
    assert_int_equal(ferry_vidmm_memory_info(world->manager, process, 0, &info), FERRY_OK);
    return info;
}

// A world whose own device, of no program, is gone: 64 pages for those that come.
static inline struct world *program_world(void)
{
    struct world *world = world_open_default();
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    return world;
}

#endif
