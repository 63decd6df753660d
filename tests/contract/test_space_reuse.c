// SPDX-License-Identifier: Apache-2.0
// The device has so many address spaces, and each is one program's after another's. What a program has left behind
// leads the next one nowhere. Driver model 2; jobs go by address and name nothing.
#include <stdlib.h>

#include "programs.h"

#define BASE (UINT64_C(1) << 41)

static struct world *begin(void)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(256);
    options.machine.model = 2;
    return world_open(&options);
}

static void map(struct world *world, D3DKMT_HANDLE allocation, uint64_t address, uint64_t pages)
{
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = address, .bytes = PAGES(pages)};
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, allocation, 0, false, &range), FERRY_OK);
}

// A copy of a page from an address into an allocation that the job names, or into an address.
static int copy_from(struct world *world, D3DKMT_HANDLE to, uint64_t from)
{
    struct machine_job job = {.bytes = 0};
    struct ferry_vidmm_reference reference = {to, true};
    uint64_t fence = 0;
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    for (uint32_t i = 0; i < job.patch_count; i++)
        if (job.patches[i].AllocationIndex == 1) {
            machine_job_by_address(job.commands, &job.patches[i], from);
            job.patches[i] = job.patches[--job.patch_count];
            break;
        }
    assert_int_equal(job.patch_count, 1);
    struct ferry_vidmm_submission buffer = {job.commands, job.bytes, &reference, 1, job.patches, job.patch_count, NULL};
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &buffer, 1, &fence), FERRY_OK);
    return ferry_vidmm_wait(world->manager, world->context, fence);
}

// As world_close(), but for what the machine has seen: jobs that reach nothing are what this is about.
static void close_world(struct world *world)
{
    ferry_vidmm_stop(world->manager);
    assert_int_equal(spy.errors, 0);
    assert_int_equal(machine_pages_out(world->machine), 0);
    machine_close(world->machine);
    spy_end();
    free(world);
}

static D3DKMT_HANDLE in_place(struct world *world, const struct program *program, uint32_t seed)
{
    program_become(world, program);
    D3DKMT_HANDLE allocation = world_create(world, PAGES(4), CPU);
    world_write(world, allocation, seed);
    world_require(world, allocation);
    return allocation;
}

// Comes, maps something, reaches it, and is gone with its tables.
static void come_and_go(struct world *world, struct program *program)
{
    D3DKMT_HANDLE source = in_place(world, program, 1), into = in_place(world, program, 2);
    map(world, source, BASE, 4);
    world_wait(world, world_gpu_name(world, world->context, source, false));
    assert_int_equal(copy_from(world, into, BASE), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, program->process), FERRY_OK);
}

// The next one has its space, and the one after that its tables: the last that was given back is the first that is
// taken. So do all that end, the first as the others.
static void what_a_program_left_leads_the_next_one_nowhere(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 3; before++) {
        struct world *world = begin();
        const struct world own = *world;
        struct program gone[3];
        for (unsigned i = 0; i <= before; i++)
            gone[i] = program_begin(world, 1, 0);
        for (unsigned i = 0; i <= before; i++)
            come_and_go(world, &gone[i]);
        struct program next[4];
        for (unsigned i = 0; i <= before + 1; i++)
            next[i] = program_begin(world, 1, 0);
        D3DKMT_HANDLE secret = in_place(world, &next[before + 1], 3);
        map(world, secret, BASE, 4);
        world_wait(world, world_gpu_name(world, world->context, secret, false));
        for (unsigned i = 0; i <= before; i++) {
            D3DKMT_HANDLE into = in_place(world, &next[i], 4);
            const char *text;
            unsigned errors = machine_errors(world->machine, &text);
            int result = copy_from(world, into, BASE);
            // Where jobs do not fault by their addresses the machine tells.
            assert_true(result == FERRY_ERROR_FAULT || machine_errors(world->machine, &text) > errors);
            world_check(world, into, 4);
        }
        world->device = own.device;
        world->queue = own.queue;
        world->context = own.context;
        close_world(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_program_left_leads_the_next_one_nowhere),
    };
    return WORLD_RUN(tests);
}
