// SPDX-License-Identifier: Apache-2.0
// A paging buffer faults while another one is open and full, and cannot go out because the device has as many as it
// takes. What does not fit into that one is a change of tables: it has nothing to do with the fault, and what stands in
// the open buffer is carried out. Driver model 2 of both miniports.
#include "world.h"

#define MOST    60u
#define ADDRESS (UINT64_C(1) << 41)

static uint32_t word_at(struct world *world, D3DKMT_HANDLE allocation)
{
    uint32_t word;
    machine_peek(world->machine, machine_local_segment, world_place(world, allocation).offset, &word, 4);
    return word;
}

static void copy_from_address(struct world *world, D3DKMT_HANDLE to, D3DKMT_HANDLE from)
{
    struct machine_job job = {0};
    struct ferry_vidmm_reference references[2] = {{to, true}, {from, false}};
    uint64_t fence = 0;
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    assert_int_equal(job.patch_count, 2);
    uint32_t by_address = job.patches[0].AllocationIndex == 1 ? 0 : 1;
    machine_job_by_address(job.commands, &job.patches[by_address], ADDRESS);
    struct ferry_vidmm_submission submission = {.commands = job.commands,
                                                .bytes = job.bytes,
                                                .references = references,
                                                .reference_count = 2,
                                                .patches = &job.patches[1 - by_address],
                                                .patch_count = 1};
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &submission, 1, &fence), FERRY_OK);
    world_wait(world, fence);
}

// So many fills stand before the entries of what comes last.
static void fault_behind(uint32_t fills, uint32_t buffer_bytes)
{
    struct world_options options = world_defaults();
    options.machine.model = 2;
    options.machine.local_bytes = PAGES(128);
    options.manager.paging_buffer_bytes = buffer_bytes;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE all[MOST], target = world_create_filled(world, PAGE_SIZE, CPU, 1);
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = ADDRESS, .bytes = PAGE_SIZE};
    world_require(world, target);
    for (uint32_t i = 0; i < fills; i++)
        all[i] = world_create_filled(world, PAGE_SIZE, CPU, 0x1000 + i);
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, all[fills - 1], 0, false, &range),
                     FERRY_OK);
    for (unsigned i = 0; i < 50; i++)
        ferry_vidmm_poll(world->manager, true);
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 4;
    world->knobs->fault_paging = 1;
    assert_true(world_resident(world, all, fills) >= 0);
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world->knobs->fault_paging, 0);
    for (uint32_t i = 0; i < fills; i++)
        if (word_at(world, all[i]) != 0x1000 + i)
            fail_msg("behind %u fills, %u bytes: allocation %u has %x", fills, buffer_bytes, i, word_at(world, all[i]));
    copy_from_address(world, target, all[fills - 1]);
    assert_int_equal(word_at(world, target), 0x1000 + fills - 1);
    world_close(world);
}

static void what_stands_in_a_full_buffer_outlives_the_fault_of_one_before(void **state)
{
    (void)state;
    // A few packets of any kind, and not many.
    uint32_t bytes = machine_least_page_bytes > 200 ? machine_least_page_bytes : 200;
    for (uint32_t fills = 8; fills < MOST; fills++)
        fault_behind(fills, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_in_a_full_buffer_outlives_the_fault_of_one_before),
    };
    return WORLD_RUN(tests);
}
