// SPDX-License-Identifier: Apache-2.0
// Overlays and captures: what may take them out of their place, and what happens to them when it does.
#include <stdlib.h>

#include "ddi/flag_rules.h"
#include "programs.h"

static const UINT kinds[] = {DXGK_ALLOC_FLAG_OVERLAY, DXGK_ALLOC_FLAG_CAPTURE};

// world_close(), of a world whose manager has been stopped by the test itself.
static void close_stopped(struct world *world)
{
    const char *text;
    if (machine_errors(world->machine, &text) != 0)
        fail_msg("the machine saw: %s", text);
    if (spy.errors != 0)
        fail_msg("the spy saw: %s", spy.first_error);
    assert_int_equal(machine_pages_out(world->machine), 0);
    machine_close(world->machine);
    spy_end();
    free(world);
}

static D3DKMT_HANDLE pinned_in_aperture(struct world *world, UINT kind)
{
    struct ferry_allocation_private wanted = world_private(PAGES(5), CPU | kind);
    wanted.Aperture = 1;
    D3DKMT_HANDLE handle = 0;
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_OK);
    world_write(world, handle, 3);
    world_require(world, handle);
    return handle;
}

static size_t unmaps_of(uint64_t page, uint64_t pages)
{
    size_t found = 0;
    for (size_t i = 0; i < spy_builds(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT); i++) {
        const struct spy_entry *entry = spy_build(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT, i);
        const DXGK_BUILDPAGINGBUFFER_UNMAPAPERTURESEGMENT *u = &entry->before.UnmapApertureSegment;
        found += entry->status == STATUS_SUCCESS && u->OffsetInPages == page && u->NumberOfPages == pages;
    }
    return found;
}

// The stop of the device is what takes a pinned one out: the aperture's pages are unmapped before they are given back,
// behind the jobs that still use them; nothing of video memory is brought out, since nobody is left to read it. Those
// that were destroyed first, as is usual, are unmapped then, and not again.
static void R150_R151_R158_the_stop_takes_out_what_is_pinned_and_nothing_twice(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        bool destroyed = i & 1;
        struct world *world = world_open_default();
        D3DKMT_HANDLE local = world_create(world, PAGES(5), CPU | kinds[i / 2]);
        world_write(world, local, 4);
        world_require(world, local);
        D3DKMT_HANDLE mapped = pinned_in_aperture(world, kinds[i / 2]);
        uint64_t page = world_place(world, mapped).offset / PAGE_SIZE, own[5];
        for (unsigned n = 0; n < 5; n++)
            own[n] = machine_aperture_entry(world->machine, page + n, NULL);
        world->knobs->delay = 6;
        for (unsigned n = 0; n < 5; n++) {
            world_gpu_put(world, mapped, PAGES(n), PAGE_SIZE, 0x33);
            world_gpu_copy(world, local, 0, mapped, PAGES(n), PAGE_SIZE);
        }
        assert_true(machine_queued_jobs(world->machine) > 0);
        spy_clear();
        if (destroyed) {
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, mapped), FERRY_OK);
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, local), FERRY_OK);
            assert_int_equal(unmaps_of(page, 5), 1);
        }
        ferry_vidmm_stop(world->manager);
        assert_int_equal(unmaps_of(page, 5), 1);
        assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), 0);
        for (unsigned n = 0; n < 5; n++)
            assert_int_not_equal(machine_aperture_entry(world->machine, page + n, NULL), own[n]);
        close_stopped(world);
    }
}

// A hang, and the reset that ends it: an overlay may leave then, and here it need not. It is where it was, with what it
// held, and it is still pinned.
static void R150_a_reset_after_a_hang_leaves_a_pinned_one_in_its_place(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE local = world_create(world, PAGES(5), CPU | kinds[i]);
        world_write(world, local, 6);
        world_require(world, local);
        D3DKMT_HANDLE mapped = pinned_in_aperture(world, kinds[i]);
        struct ferry_vidmm_placement there = world_place(world, local), also = world_place(world, mapped);
        D3DKMT_HANDLE victim = world_create(world, PAGES(5), CPU), device, context;
        world_require(world, victim);
        world_wait(world, world_gpu_fill(world, victim, 0, 4, 1));
        world->knobs->delay = 2;
        world->knobs->hang = true;
        // The job that hangs is another device's; those of the pinned ones go again.
        assert_int_equal(ferry_vidmm_create_device(world->manager, &device), FERRY_OK);
        assert_int_equal(ferry_vidmm_create_context(world->manager, device, 2, &context, NULL), FERRY_OK);
        struct machine_job job = {0};
        machine_job_nothing(&job);
        struct ferry_vidmm_submission hangs = {.commands = job.commands, .bytes = job.bytes};
        uint64_t fence;
        assert_int_equal(ferry_vidmm_submit(world->manager, context, &hangs, 1, &fence), FERRY_OK);
        world_gpu_name(world, world->context, local, false);
        assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
        assert_int_equal(world_place(world, local).segment, machine_local_segment);
        assert_int_equal(world_place(world, local).offset, there.offset);
        assert_int_equal(world_place(world, mapped).segment, machine_aperture_segment);
        assert_int_equal(world_place(world, mapped).offset, also.offset);
        world_check_gpu(world, local, 6);
        world_check_gpu(world, mapped, 3);
        world->knobs->delay = 0;
        // No pressure takes it either, afterwards.
        D3DKMT_HANDLE fresh, queue, rest;
        assert_int_equal(ferry_vidmm_create_device(world->manager, &fresh), FERRY_OK);
        assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, fresh, 0, &queue), FERRY_OK);
        D3DKMT_HANDLE old = world->device, old_queue = world->queue;
        world->device = fresh;
        world->queue = queue;
        rest = world_create(world, PAGES(60), CPU);
        assert_int_equal(world_resident(world, &rest, 1), FERRY_ERROR_NO_VIDEO_MEMORY);
        world->device = old;
        world->queue = old_queue;
        assert_int_equal(world_place(world, local).offset, there.offset);
        world_check_gpu(world, local, 6);
        world_close(world);
    }
}

// In place, and on no list any more.
static D3DKMT_HANDLE leaves_when_asked(struct world *world, const struct program *program, uint64_t pages, bool written)
{
    program_become(world, program);
    D3DKMT_HANDLE handle = world_create(world, PAGES(pages), CPU);
    world_require(world, handle);
    if (written)
        world_wait(world, world_gpu_fill(world, handle, 0, 64, 1));
    assert_int_equal(world_evict(world, handle), FERRY_OK);
    assert_int_equal(world_place(world, handle).segment, machine_local_segment);
    return handle;
}

// Two in one call, each as large as the last fifth. For the first one somebody has to move who is within his budget,
// since there is nobody else, and of who asks himself something leaves. For the other one that goes which another
// program has above its budget, as if it were wanted alone, though what the asking one has would cost less.
static void what_finds_no_room_for_what_is_pinned_finds_it_for_what_is_not(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        struct world *world = program_world();
        struct program asking = program_begin(world, 16, 0), within = program_begin(world, 5, 0),
                       above = program_begin(world, 1, 0);
        D3DKMT_HANDLE theirs, own[2], list[2];
        uint64_t last_fifth = ferry_flags_pinned_lowest(PAGES(64)),
                 last = 64 - (last_fifth + PAGE_SIZE - 1) / PAGE_SIZE;
        for (unsigned i = 0; i < 2; i++)
            own[i] = leaves_when_asked(world, &asking, last, false);
        for (unsigned i = 0; i < 14; i++)
            leaves_when_asked(world, &above, 2, true);
        theirs = leaves_when_asked(world, &within, last, false);
        assert_true(world_place(world, theirs).offset >= last_fifth);
        program_become(world, &asking);
        list[0] = world_create(world, PAGES(last), CPU | kinds[kind]);
        list[1] = world_create(world, PAGES(last), CPU);
        assert_true(world_resident(world, list, 2) >= 0);
        world_wait(world, world_gpu_fill(world, list[1], 0, 64, 1));
        assert_true(world_place(world, list[0]).offset >= last_fifth);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(world_place(world, list[i]).segment, machine_local_segment);
        assert_int_equal(world_place(world, theirs).segment, machine_local_segment);
        assert_true(world_place(world, own[0]).segment == machine_local_segment ||
                    world_place(world, own[1]).segment == machine_local_segment);
        world_close(world);
    }
}

// While another program ran, content was lost that could not leave beside an overlay. It stays on its list, but is not
// brought in with the rest when it is its program's turn.
static void what_was_lost_beside_an_overlay_takes_no_room_in_its_programs_turn(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        struct world *world = program_world();
        struct program first = program_begin(world, 1, 0), second = program_begin(world, 1, 0);
        program_become(world, &first);
        pinned_in_aperture(world, kinds[kind]);
        world->knobs->eviction_set = 1u << (machine_aperture_segment - 1);
        D3DKMT_HANDLE large = world_create(world, PAGES(52), CPU), small = world_create(world, PAGES(4), CPU);
        world_write(world, large, 1);
        world_write(world, small, 2);
        assert_true(list_it(world, &first, large, true) >= 0);
        assert_true(list_it(world, &first, small, true) >= 0);
        program_become(world, &second);
        D3DKMT_HANDLE other = world_create(world, PAGES(48), CPU);
        assert_true(list_it(world, &second, other, true) >= 0);
        world_wait(world, world_gpu_fill(world, other, 0, 64, 3));
        assert_true(world_place(world, large).lost);
        assert_int_equal(world_statistics(world).contents_lost, 1);
        program_become(world, &first);
        world_wait(world, world_gpu_fill(world, small, PAGES(1), 64, 4));
        assert_int_equal(world_place(world, small).segment, machine_local_segment);
        assert_int_equal(world_place(world, large).segment, 0);
        // So both lists are in place.
        assert_int_equal(world_place(world, other).segment, machine_local_segment);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R150_R151_R158_the_stop_takes_out_what_is_pinned_and_nothing_twice),
        cmocka_unit_test(R150_a_reset_after_a_hang_leaves_a_pinned_one_in_its_place),
        cmocka_unit_test(what_finds_no_room_for_what_is_pinned_finds_it_for_what_is_not),
        cmocka_unit_test(what_was_lost_beside_an_overlay_takes_no_room_in_its_programs_turn),
    };
    return WORLD_RUN(tests);
}
