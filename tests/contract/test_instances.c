// SPDX-License-Identifier: Apache-2.0
// What becomes of the instances of a renamed allocation: when memory is short, at its end, and over a reset.
#include "discards.h"
#include "programs.h"
#include "vidmm/api/manager.h"

// Host pages for no instance: the lock waits, or fails and has discarded nothing.
static void R242_want_of_host_memory_is_no_reason_to_fail(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), PERMANENT), b = world_create(world, PAGES(2), CPU);
    world_write(world, a, 1);
    world_write(world, b, 2);
    world_require(world, a);
    world_require(world, b);
    world_wait(world, world_gpu_name(world, world->context, a, false)); // a DMA buffer for later
    world_wait(world, world_gpu_name(world, world->context, b, false));
    hold(world);
    uint64_t fence = world_gpu_name(world, world->context, a, false);
    world->knobs->host_pages = 0;
    world->knobs->hold_turns = 3;
    discard(world, a, 3); // it has its pages
    assert_int_equal(world_statistics(world).discard_stalls, 1);
    world_wait(world, fence);
    hold(world);
    fence = world_gpu_name(world, world->context, b, false);
    assert_int_equal(try_discard(world, b, 0, 4), FERRY_ERROR_NO_HOST_MEMORY);
    world->knobs->host_pages = -1;
    let_go(world, fence);
    world_check(world, a, 3);
    world_check(world, b, 2);
    world_close(world);
}

static void a_renamed_allocation_is_destroyed_with_its_instances_in_flight(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct world *world = open_held(64);
        D3DKMT_HANDLE a = create_limited(world, PAGES(2), kind == 1 ? PERMANENT : CPU, kind == 2, 0);
        D3DKMT_HANDLE sinks[3];
        for (unsigned i = 0; i < 3; i++)
            sinks[i] = sink(world, PAGES(2));
        world_require(world, a);
        hold(world);
        uint64_t fence = 0;
        for (unsigned i = 0; i < 3; i++) {
            discard(world, a, i);
            fence = world_gpu_copy(world, sinks[i], 0, a, 0, PAGES(2));
        }
        discard(world, a, 3); // so that no job names the present one
        world->knobs->hold_turns = 5;
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
        world_wait(world, fence);
        for (unsigned i = 0; i < 3; i++)
            world_check_gpu(world, sinks[i], i);
        assert_int_equal(world_statistics(world).renamed_bytes, 0);
        world_close(world);
    }
}

// An instance that leaves behind a job is overtaken by paging of the one that counts. The allocation stays until both
// are over.
static void a_renamed_allocation_is_destroyed_after_the_oldest_of_its_paging(void **state)
{
    (void)state;
    struct world *world = open_held(26);
    D3DKMT_HANDLE other, hole = world_create(world, PAGES(8), CPU), a = world_create(world, PAGES(8), CPU),
                         large = world_create(world, PAGES(14), CPU);
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 2, &other, NULL), FERRY_OK);
    world_require(world, hole);
    world_require(world, a);
    hold(world);
    world_gpu_name(world, world->context, a, false);
    discard(world, a, 1);
    uint64_t fence = world_gpu_name(world, other, a, false);
    assert_int_equal(ferry_vidmm_wait(world->manager, other, fence), FERRY_OK);
    assert_int_equal(world_place(world, a).instances, 2);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, hole), FERRY_OK);
    assert_int_equal(world_resident(world, &large, 1), FERRY_PENDING); // takes the old instance's place
    assert_int_equal(world_place(world, a).instances, 1);
    world_check(world, a, 1);
    assert_int_equal(world->knobs->hold_node, HELD_NODE);
    uint64_t discarded = world_statistics(world).operations[DXGK_OPERATION_DISCARD_CONTENT];
    world->knobs->delay = 1;
    world->knobs->hold_turns = 3;
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
    assert_int_equal(world_statistics(world).operations[DXGK_OPERATION_DISCARD_CONTENT], discarded + 1);
    world_close(world);
}

// A neighbour's unused memory is not there to be renamed into: what a program may have bounds its lists too.
static void R242_R247_instances_count_in_their_programs_budget(void **state)
{
    (void)state;
    struct world_options machine = world_defaults();
    machine.machine.aperture_bytes = PAGES(24); // of which a third is not what they count in
    struct world *world = world_open(&machine);
    world->knobs->by_place = true;
    struct ferry_vidmm_process_options options = {.size = sizeof(options), .weight = 1};
    D3DKMT_HANDLE programs[2], device, queue, context;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_create_process(world->manager, &options, &programs[i]), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_device_of(world->manager, programs[0], &device), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, device, 0, &queue), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_context(world->manager, device, HELD_NODE, &context, NULL), FERRY_OK);
    world->device = device, world->queue = queue, world->context = context;
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU);
    world_require(world, a);
    hold(world);
    for (unsigned i = 0; world_statistics(world).discard_stalls == 0; i++) {
        assert_true(i < 16);
        world_gpu_name(world, world->context, a, false);
        world->knobs->hold_node = HELD_NODE;
        world->knobs->hold_turns = 3;
        discard(world, a, i);
    }
    // A third of 64 pages (the world's own device is a program too), in fours: five.
    assert_int_equal(world_place(world, a).instances, 5);
    world_close(world);
}

// Draws a hundred times from a page that it discards before each draw, beside two idle programs with lists of so many
// pages. How many of the discards stall.
static uint64_t stalls_beside(uint64_t pages)
{
    struct world *world = program_world();
    spy.keep = false;
    world->knobs->by_place = true;
    struct program drawing = program_begin(world, 1, 0);
    program_become(world, &drawing);
    D3DKMT_HANDLE vertices = world_create(world, PAGES(1), CPU);
    world_require(world, vertices);
    for (unsigned i = 0; i < 2; i++) {
        struct program idle = program_begin(world, 1, 0);
        program_become(world, &idle);
        D3DKMT_HANDLE list = world_create(world, PAGES(pages), CPU);
        D3DDDI_MAKERESIDENT make = {.hPagingQueue = idle.queue, .NumAllocations = 1, .AllocationList = &list};
        make.Flags.CantTrimFurther = 1;
        assert_true(ferry_vidmm_make_resident(world->manager, &make) >= 0);
    }
    program_become(world, &drawing);
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    world->knobs->delay = 14;
    uint64_t last = 0;
    for (unsigned i = 0; i < 100; i++) {
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, vertices, D3DDDI_LOCK_DISCARD, &address), FERRY_OK);
        assert_int_equal(ferry_vidmm_unlock(world->manager, vertices), FERRY_OK);
        last = world_gpu_name(world, world->context, vertices, false);
        ferry_vidmm_poll(world->manager, true);
    }
    world_wait(world, last);
    uint64_t stalls = world_statistics(world).discard_stalls;
    world_close(world);
    return stalls;
}

// Lists of others may add up to more than there is. Who stays within his own budget does not stall for them.
static void R242_discards_do_not_stall_for_what_others_list(void **state)
{
    (void)state;
    uint64_t beside_small = stalls_beside(10), beside_large = stalls_beside(40);
    assert_true(beside_large <= beside_small + 10);
}

// Evicted and still in place, it stands among the candidates to leave, and is found there again.
static void what_nobody_requires_is_renamed_among_the_victims(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE all[8];
    for (unsigned i = 0; i < 8; i++) {
        all[i] = world_create(world, PAGES(2), PERMANENT);
        world_require(world, all[i]);
    }
    hold(world);
    uint64_t fence = 0;
    for (unsigned i = 8; i-- > 0;) // the oldest was used last
        fence = world_gpu_name(world, world->context, all[i], false);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(world_evict(world, all[i]), FERRY_OK);
    for (unsigned i = 8; i-- > 0;)
        discard(world, all[i], i);
    assert_int_equal(world_statistics(world).renames, 8);
    let_go(world, fence);
    D3DKMT_HANDLE large = sink(world, PAGES(60)); // most have to leave
    for (unsigned i = 0; i < 8; i++)
        world_check(world, all[i], i);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
    world_close(world);
}

// A reset runs aborted jobs again, from the places they were queued with.
static void a_reset_keeps_what_each_instance_holds(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), b = sink(world, PAGES(2)), c = sink(world, PAGES(2));
    D3DKMT_HANDLE hung;
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, HELD_NODE, &hung, NULL), FERRY_OK);
    world_write(world, a, 1);
    world_require(world, a);
    hold(world);
    world_gpu_name(world, hung, b, false); // to blame
    world_gpu_copy(world, b, 0, a, 0, PAGES(2));
    discard(world, a, 2);
    uint64_t fence = world_gpu_copy(world, c, 0, a, 0, PAGES(2));
    // Nobody lets go: the wait finds a device that does nothing, and resets it.
    world_wait(world, fence);
    world_check_gpu(world, b, 1);
    world_check_gpu(world, c, 2);
    world_close(world);
}

// As R144 to R146 have it for the first one, and beside that.
static void R252_an_instance_lies_at_the_end_where_the_first_one_does(void **state)
{
    (void)state;
    static const struct {
        UINT flags, preference, bank;
        bool end;
    } cases[] = {{CPU, 0, 0, false},
                 {CPU | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT, 0, 0, true},
                 {CPU | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT, 1, 0, false},
                 {CPU, 1 | 1 << 5, 0, true},
                 {CPU, 1, 1 | 1 << 7, true},
                 {CPU | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT, 1 | 1 << 5, 1, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *world = open_held(64);
        struct ferry_allocation_private wanted = world_private(PAGES(4), cases[i].flags);
        D3DKMT_HANDLE a;
        world->knobs->hinted_bank = cases[i].bank;
        wanted.SegmentPreference = cases[i].preference;
        assert_int_equal(world_try_create(world, &wanted, NULL, &a, NULL), FERRY_OK);
        world_require(world, a);
        assert_int_equal(world_place(world, a).offset, cases[i].end ? PAGES(60) : 0);
        hold(world);
        world_gpu_name(world, world->context, a, true);
        discard(world, a, 1);
        uint64_t fence = world_gpu_name(world, world->context, a, true);
        assert_int_equal(world_place(world, a).instances, 2);
        assert_int_equal(world_place(world, a).offset, cases[i].end ? PAGES(56) : PAGES(4));
        let_go(world, fence);
        world_close(world);
    }
}

// What cannot be evicted beside an overlay loses its content (R154); and so does another instance of it.
static void R154_R252_an_instance_is_evicted_through_the_segment_that_the_first_one_is(void **state)
{
    (void)state;
    for (unsigned renamed = 0; renamed < 2; renamed++) {
        struct world_options options = world_defaults();
        options.machine.local_bytes = PAGES(25);
        options.machine.aperture_bytes = PAGES(10);
        struct world *world = world_open(&options);
        D3DKMT_HANDLE overlay = create_limited(world, PAGES(1), CPU | DXGK_ALLOC_FLAG_OVERLAY, true, 0);
        assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, HELD_NODE, &world->context, NULL),
                         FERRY_OK);
        world->knobs->by_place = true;
        world_require(world, overlay);
        world->knobs->eviction_set = 1u << (machine_aperture_segment - 1);
        D3DKMT_HANDLE large = world_create(world, PAGES(9), CPU);
        world->knobs->eviction_set = 0;
        world_require(world, large);
        hold(world);
        world_gpu_name(world, world->context, large, true);
        if (renamed)
            discard(world, large, 1);
        let_go(world, world_gpu_fill(world, large, 0, (uint32_t)PAGES(9), 5));
        assert_int_equal(world_place(world, large).instances, 1 + renamed);
        world_force_out(world, large);
        assert_true(world_place(world, large).lost);
        assert_int_equal(world_statistics(world).contents_lost, 1);
        world_close(world);
    }
}

// It leaves before what somebody may still want, though that has not been used for longer.
static void R247_a_parked_instance_leaves_first_however_newly_it_was_used(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = world_create(world, PAGES(16), PERMANENT), b = world_create(world, PAGES(16), PERMANENT),
                  c = world_create(world, PAGES(16), CPU), d = world_create(world, PAGES(16), CPU);
    world_require(world, a);
    world_require(world, b);
    world_require(world, c);
    for (unsigned i = 0; i < 4; i++) {
        world_wait(world, world_gpu_name(world, world->context, b, false));
        world_wait(world, world_gpu_name(world, world->context, c, false));
    }
    for (unsigned i = 0; i < 4; i++)
        world_wait(world, world_gpu_name(world, world->context, a, false));
    assert_int_equal(world_evict(world, b), FERRY_OK);
    hold(world);
    world_gpu_name(world, world->context, a, false);
    discard(world, a, 1);
    let_go(world, world_gpu_name(world, world->context, a, false));
    assert_int_equal(world_place(world, a).instances, 2);
    world_require(world, d);
    assert_int_equal(world_place(world, a).instances, 1);
    assert_int_equal(world_place(world, b).segment, machine_local_segment);
    world_check(world, a, 1);
    world_close(world);
}

enum { FRAMES = 24 };

// Once in each frame; for a while in every other one, so that it does not come when it is expected; then in each again.
// What is known of how it is used behind each frame. Returns how often it was renamed.
static uint64_t use_in_frames(bool discards, struct ferry_vm_use known[FRAMES])
{
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), others[6];
    for (unsigned i = 0; i < 6; i++)
        others[i] = sink(world, PAGES(1));
    world_require(world, a);
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        uint64_t fence = 0;
        hold(world);
        for (unsigned i = 0; i < 6; i++)
            fence = world_gpu_name(world, world->context, others[i], false);
        if (frame < 9 || frame >= 17 || frame % 2 == 0)
            fence = world_gpu_name(world, world->context, a, false);
        if (discards)
            discard(world, a, frame); // which is busy
        let_go(world, fence);
        const struct ferry_vm_allocation *allocation =
            ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_ALLOCATION, a);
        known[frame] = allocation->use;
    }
    uint64_t renames = world_statistics(world).renames;
    world_close(world);
    return renames;
}

// How often it is used is the allocation's. How one of its instances was used when it held the content the last time
// says nothing of it.
static void how_often_it_is_used_goes_along_with_the_content(void **state)
{
    (void)state;
    struct ferry_vm_use once[FRAMES], renamed[FRAMES];
    unsigned steady = 0, not = 0;
    assert_int_equal(use_in_frames(false, once), 0);
    assert_true(use_in_frames(true, renamed) >= 10);
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        assert_int_equal(renamed[frame].last, once[frame].last);
        assert_int_equal(renamed[frame].period, once[frame].period);
        assert_int_equal(renamed[frame].guessed, once[frame].guessed);
        assert_int_equal(renamed[frame].absent, once[frame].absent);
        assert_int_equal(renamed[frame].steady, once[frame].steady);
        steady += once[frame].steady == FERRY_VM_STEADY;
        not += once[frame].steady == 0;
    }
    assert_true(steady >= 4 && not >= 4);
}

// What is discarded again and again keeps its place, whether or not its list could grow in between.
static void what_was_renamed_once_keeps_its_place_without_memory_for_more(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = world_create(world, PAGES(8), CPU), large = world_create(world, PAGES(50), CPU);
    world_require(world, a);
    hold(world);
    world_gpu_name(world, world->context, a, true);
    discard(world, a, 1);
    let_go(world, world_gpu_name(world, world->context, a, true));
    assert_int_equal(world_place(world, a).instances, 2);
    world_require(world, large);
    assert_int_equal(world_place(world, a).instances, 1);
    assert_int_equal(world_evict(world, large), FERRY_OK);
    for (unsigned short_of_memory = 0; short_of_memory < 2; short_of_memory++) {
        if (short_of_memory) {
            hold(world);
            uint64_t fence = world_gpu_name(world, world->context, a, true);
            world->knobs->host_pages = 0;
            assert_int_equal(try_discard(world, a, 0, 2), FERRY_ERROR_NO_HOST_MEMORY);
            world->knobs->host_pages = -1;
            let_go(world, fence);
        }
        uint64_t was = world_place(world, a).offset;
        discard(world, a, 3);
        assert_int_equal(world_place(world, a).segment, machine_local_segment);
        assert_int_equal(world_place(world, a).offset, was);
        world_check(world, a, 3);
        world_wait(world, world_gpu_name(world, world->context, a, false));
    }
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R242_want_of_host_memory_is_no_reason_to_fail),
        cmocka_unit_test(a_renamed_allocation_is_destroyed_with_its_instances_in_flight),
        cmocka_unit_test(a_renamed_allocation_is_destroyed_after_the_oldest_of_its_paging),
        cmocka_unit_test(R242_R247_instances_count_in_their_programs_budget),
        cmocka_unit_test(R242_discards_do_not_stall_for_what_others_list),
        cmocka_unit_test(what_nobody_requires_is_renamed_among_the_victims),
        cmocka_unit_test(a_reset_keeps_what_each_instance_holds),
        cmocka_unit_test(R252_an_instance_lies_at_the_end_where_the_first_one_does),
        cmocka_unit_test(R154_R252_an_instance_is_evicted_through_the_segment_that_the_first_one_is),
        cmocka_unit_test(R247_a_parked_instance_leaves_first_however_newly_it_was_used),
        cmocka_unit_test(how_often_it_is_used_goes_along_with_the_content),
        cmocka_unit_test(what_was_renamed_once_keeps_its_place_without_memory_for_more),
    };
    return WORLD_RUN(tests);
}
