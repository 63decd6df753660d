// SPDX-License-Identifier: Apache-2.0
// BuildPagingBuffer is pageable code at passive level: it can be interrupted at any place and for any time, by what the
// device has to say of everything that went out before. Nothing may be built meanwhile, and nothing may be mixed up.
#include "world.h"

struct interrupted {
    struct world *world;
    struct ferry_vidmm_platform platform;
    unsigned told; // reports of the device that came in the middle of a build
};

// Time passes: the device works, interrupts, and its DPC runs, all before BuildPagingBuffer goes on.
static void time_passes(void *context)
{
    struct interrupted *all = context;
    uint64_t before = spy.reports;
    (void)all->platform.wait_for_progress(all->platform.context);
    all->told += (unsigned)(spy.reports - before);
    spy.table.DxgkDdiDpcRoutine(spy.adapter);
}

static void pages_with_interrupts(struct interrupted *all, unsigned delay, unsigned rounds)
{
    struct world *world = all->world;
    all->platform = machine_platform(world->machine);
    D3DKMT_HANDLE many[6], shadow = world_create(world, PAGES(4), CPU), busy = world_create(world, PAGES(1), 0);
    world_require(world, busy);
    for (unsigned i = 0; i < 6; i++) {
        many[i] = world_create(world, PAGES(16), CPU);
        world_write(world, many[i], i);
    }
    world->knobs->delay = delay;
    spy.in_build = time_passes;
    spy.in_build_context = all;
    uint64_t fence = 0;
    for (unsigned i = 0; i < rounds; i++) {
        D3DKMT_HANDLE mapped = world_create_in_aperture(world, PAGES(4), CPU);
        world_write(world, mapped, 100 + i);
        for (unsigned n = 0; n < 4; n++)
            world_gpu_name(world, world->context, busy, true);
        D3DKMT_HANDLE list[] = {many[i % 6], shadow, mapped};
        assert_int_equal(world_resident(world, list, 3), FERRY_PENDING);
        fence = world_gpu_copy(world, shadow, 0, i % 2 ? mapped : list[0], 0, PAGES(4));
        for (unsigned n = 0; n < 3; n++)
            assert_true(world_evict(world, list[n]) >= 0);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, mapped), FERRY_OK);
    }
    world_wait(world, fence);
    spy.in_build = NULL;
    for (unsigned i = 0; i < 6; i++)
        world_check(world, many[i], i);
    world_check(world, shadow, 100 + rounds - 1); // an even number of rounds: the last one copied what was mapped
    assert_true(all->told > rounds / 2);
}

static void R94_interrupts_in_the_middle_of_each_build_mix_nothing_up(void **state)
{
    (void)state;
    static const unsigned delays[] = {1, 2, 5};
    for (unsigned i = 0; i < 3; i++) {
        struct world *world = world_open_default();
        pages_with_interrupts(&(struct interrupted){.world = world}, delays[i], 30);
        world_close(world); // the spy fails the test when something was built from an interrupt or DPC (R2)
    }
}

// The same with as little room as there can be, so that most builds stop in the middle and go on in another buffer.
static void R94_interrupts_between_the_passes_of_one_operation_mix_nothing_up(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.paging_buffer_bytes = machine_least_page_bytes;
    struct world *world = world_open(&options);
    pages_with_interrupts(&(struct interrupted){.world = world}, 2, 18);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R94_interrupts_in_the_middle_of_each_build_mix_nothing_up),
        cmocka_unit_test(R94_interrupts_between_the_passes_of_one_operation_mix_nothing_up),
    };
    return WORLD_RUN(tests);
}
