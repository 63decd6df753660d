// SPDX-License-Identifier: Apache-2.0
// The device has so many address spaces, and each is one program's after another's. What a program has left behind
// leads the next one nowhere. Driver model 2; jobs go by address and name nothing.
#include <stdlib.h>

#include "in_vain.h"
#include "programs.h"

#define BASE (UINT64_C(1) << 41)

static struct world *begin(uint64_t pages)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(pages);
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
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    for (uint32_t i = 0; i < job.patch_count; i++)
        if (job.patches[i].AllocationIndex == 1) {
            machine_job_by_address(job.commands, &job.patches[i], from);
            job.patches[i] = job.patches[--job.patch_count];
            break;
        }
    assert_int_equal(job.patch_count, 1);
    uint64_t fence = world_submit(world, world->context, &job, &reference, 1);
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
        struct world *world = begin(256);
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

// Its last flush, which leads the space away from its tables, is on its way.
static void end_in_vain(struct world *world, D3DKMT_HANDLE process)
{
    let_nothing_come(world->manager);
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, process), FERRY_ERROR_TIMEOUT);
    let_it_come_again(world->manager);
}

// It has new tables then, and they are its space's last word, also where that flush faults and goes again.
static void a_program_whose_end_times_out_maps_again_behind_it(void **state)
{
    (void)state;
    for (unsigned faults = 0; faults < 2; faults++) {
        struct world *world = begin(1024); // with tables for what it has now and what it had
        const struct world own = *world;
        struct program first = program_begin(world, 1, 0), program;
        come_and_go(world, &first);
        program = program_begin(world, 1, 0);
        D3DKMT_HANDLE source = in_place(world, &program, 1);
        map(world, source, BASE, 4);
        world_wait(world, world_gpu_name(world, world->context, source, false));
        assert_int_equal(ferry_vidmm_destroy_device(world->manager, program.device), FERRY_OK);
        world->knobs->delay = 1;
        world->knobs->hold_paging = true;
        world->knobs->hold_turns = UINT32_MAX;
        world->knobs->fault_paging = faults;
        end_in_vain(world, program.process);
        assert_int_equal(ferry_vidmm_create_device_of(world->manager, program.process, &program.device), FERRY_OK);
        assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, program.device, 0, &program.queue), FERRY_OK);
        assert_int_equal(ferry_vidmm_create_context(world->manager, program.device, 1, &program.context, NULL),
                         FERRY_OK);
        program_become(world, &program);
        D3DKMT_HANDLE again = world_create(world, PAGES(4), CPU);
        world_write(world, again, 3);
        map(world, again, BASE, 4);
        assert_true(world_resident(world, &again, 1) >= 0);
        world->knobs->hold_paging = false;
        ferry_vidmm_poll(world->manager, true); // what was held goes first
        D3DKMT_HANDLE into = in_place(world, &program, 2);
        world_wait(world, world_gpu_name(world, world->context, again, false));
        assert_int_equal(world_statistics(world).faulted_paging_buffers, faults);
        assert_int_equal(copy_from(world, into, BASE), FERRY_OK);
        uint32_t *words;
        assert_int_equal(ferry_vidmm_lock(world->manager, into, D3DDDI_LOCK_READ_ONLY, (void **)&words), FERRY_OK);
        for (uint64_t i = 0; i < PAGE_SIZE / 4; i++)
            assert_int_equal(words[i], world_word(3, i));
        assert_int_equal(ferry_vidmm_unlock(world->manager, into), FERRY_OK);
        assert_int_equal(ferry_vidmm_destroy_process(world->manager, program.process), FERRY_OK);
        world->device = own.device;
        world->queue = own.queue;
        world->context = own.context;
        world_close(world);
    }
}

// Its root is nobody's before the device knows another one, however often its end is asked for.
static void the_root_of_a_program_is_its_own_until_its_last_flush_is_over(void **state)
{
    (void)state;
    struct world *world = begin(1024);
    const struct world own = *world;
    struct program first = program_begin(world, 1, 0), program;
    come_and_go(world, &first);
    program = program_begin(world, 1, 0);
    map(world, in_place(world, &program, 1), BASE, 4);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, program.device), FERRY_OK);
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = UINT32_MAX;
    end_in_vain(world, program.process);
    uint32_t unused = world->manager->memory.tables.free_count;
    end_in_vain(world, program.process);
    assert_int_equal(world->manager->memory.tables.free_count, unused);
    world->knobs->hold_paging = false;
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, program.process), FERRY_OK);
    assert_int_equal(world->manager->memory.tables.free_count, unused + 1);
    world->device = own.device;
    world->queue = own.queue;
    world->context = own.context;
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_program_left_leads_the_next_one_nowhere),
        cmocka_unit_test(a_program_whose_end_times_out_maps_again_behind_it),
        cmocka_unit_test(the_root_of_a_program_is_its_own_until_its_last_flush_is_over),
    };
    return WORLD_RUN(tests);
}
