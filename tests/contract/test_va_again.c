// SPDX-License-Identifier: Apache-2.0
// A manager that begins again with the device that another one has had: nobody goes by the page tables of before.
// In driver model 2 of both miniports.
#include "programs.h"
#include "updates.h"

// By a job that copies from an address to a place, in a program that has mapped nothing yet.
static int reads_at(struct world *world, D3DKMT_HANDLE target, uint64_t address)
{
    struct machine_job job = {.bytes = 0};
    struct ferry_vidmm_reference reference = {target, true};
    D3DDDI_PATCHLOCATIONLIST left = {0};
    uint64_t fence = 0;
    machine_job_copy(&job, 0, 0, 1, 0, 64);
    for (uint32_t i = 0; i < job.patch_count; i++) {
        if (job.patches[i].AllocationIndex == 0)
            left = job.patches[i];
        else
            machine_job_by_address(job.commands, &job.patches[i], address);
    }
    struct ferry_vidmm_submission submission = {.commands = job.commands,
                                                .bytes = job.bytes,
                                                .references = &reference,
                                                .reference_count = 1,
                                                .patches = &left,
                                                .patch_count = 1};
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &submission, 1, &fence), FERRY_OK);
    return ferry_vidmm_wait(world->manager, world->context, fence);
}

static void begin_again(struct world *world, const struct world_options *options)
{
    struct ferry_vidmm_options manager = options->manager;
    ferry_vidmm_stop(world->manager);
    manager.size = sizeof(manager);
    manager.miniport = &spy.table;
    manager.miniport_device_context = machine_adapter(world->machine);
    manager.platform = machine_platform(world->machine);
    assert_int_equal(ferry_vidmm_start(&manager, &world->manager), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_device(world->manager, &world->device), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, world->device, 0, &world->queue), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &world->context, NULL), FERRY_OK);
}

// The root that its space had is the root of another program now.
static void what_was_mapped_before_is_nowhere(void **state)
{
    (void)state;
    for (unsigned system = 0; system < 2; system++) {
        struct world_options options = updates_options(64, 0);
        options.machine.host_tables = system != 0;
        struct world *world = world_open(&options);
        map(world, content(world, 4, 1), BASE, 4);
        turns(world, 30);
        begin_again(world, &options);
        const struct program own = {.device = world->device, .queue = world->queue, .context = world->context};
        struct program other = program_begin(world, 1, 0);
        program_become(world, &other);
        D3DKMT_HANDLE secret = content(world, 4, 3);
        uint64_t at = map(world, secret, BASE + PAGES(5), 4);
        turns(world, 30);
        program_become(world, &own);
        D3DKMT_HANDLE target = content(world, 1, 5);
        (void)reads_at(world, target, at);
        assert_int_equal(word_of(world, target, 0), world_word(5, 0));
        close_strayed(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_mapped_before_is_nowhere),
    };
    return WORLD_RUN(tests);
}
