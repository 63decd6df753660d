// SPDX-License-Identifier: Apache-2.0
// A paging buffer is found to have faulted while the operation that will overwrite what it read is about to be built.
#include "programs.h"

// Two programs' page-outs share a buffer, a third one's page-in takes their places. What is not lost is as it was.
static void what_goes_again_does_not_read_what_came_into_its_place(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program programs[3];
    D3DKMT_HANDLE allocations[3];
    for (unsigned i = 0; i < 3; i++) {
        programs[i] = program_begin(world, i == 2 ? 100 : 1, 0);
        program_become(world, &programs[i]);
        allocations[i] = world_create(world, PAGES(i == 2 ? 60 : 20), CPU);
        world_write(world, allocations[i], i);
        if (i == 2)
            break;
        world_require(world, allocations[i]);
        // Newer than any copy elsewhere.
        world_wait(world, world_gpu_copy(world, allocations[i], 0, allocations[i], PAGE_SIZE, PAGE_SIZE));
        world_wait(world, world_gpu_copy(world, allocations[i], 0, allocations[i], PAGE_SIZE, PAGE_SIZE));
        assert_int_equal(world_evict(world, allocations[i]), FERRY_OK);
    }
    world->knobs->fault_paging = 1;
    assert_true(world_resident(world, &allocations[2], 1) >= 0);
    for (unsigned i = 0; i < 50; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 1);
    unsigned wrong = 0;
    for (unsigned i = 0; i < 2; i++) {
        bool lost = world_place(world, allocations[i]).lost;
        void *address;
        if (lost)
            continue;
        assert_int_equal(ferry_vidmm_lock(world->manager, allocations[i], D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        const uint32_t *words = address;
        for (uint64_t word = PAGE_SIZE / 4; word < PAGES(20) / 4; word++)
            wrong += words[word] != world_word(i, word);
        assert_int_equal(ferry_vidmm_unlock(world->manager, allocations[i]), FERRY_OK);
    }
    assert_int_equal(wrong, 0);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_again_does_not_read_what_came_into_its_place),
    };
    return WORLD_RUN(tests);
}
