// SPDX-License-Identifier: Apache-2.0
// Rename on discard: a lock with Discard of memory that the GPU still uses gets another instance of it.
#include "discards.h"

#include <stdlib.h>

#include "ddi/flag_rules.h"

static void R237_R238_R239_R240_a_discard_of_busy_memory_gets_another_instance(void **state)
{
    (void)state;
    static const struct {
        UINT flags;
        bool aperture;
    } kinds[] = {{CPU, false}, {PERMANENT, false}, {CPU, true}, {CPU | DXGK_ALLOC_FLAG_CACHED, true}};
    for (unsigned k = 0; k < 4; k++) {
        struct world *world = open_held(64);
        D3DKMT_HANDLE a = create_limited(world, PAGES(2), kinds[k].flags, kinds[k].aperture, 0);
        D3DKMT_HANDLE old = sink(world, PAGES(2)), new = sink(world, PAGES(2));
        world_write(world, a, 1);
        world_require(world, a);
        hold(world);
        world_gpu_copy(world, old, 0, a, 0, PAGES(2));
        uint64_t was = world_place(world, a).offset;
        // The job has not run, and the program goes on.
        discard(world, a, 2);
        assert_int_equal(world_statistics(world).discard_stalls, 0);
        assert_int_equal(world_statistics(world).renames, 1);
        assert_int_equal(world_place(world, a).residency_count, 1);
        uint64_t fence = world_gpu_copy(world, new, 0, a, 0, PAGES(2));
        assert_int_not_equal(world_place(world, a).offset, was);
        assert_int_equal(world_place(world, a).instances, 2);
        let_go(world, fence);
        world_check_gpu(world, old, 1); // the job before the lock saw what was there then
        world_check_gpu(world, new, 2);
        world_check(world, a, 2);
        world_close(world);
    }
}

// Lets the list of `a` grow to so many, and everything in it idle.
static void grow(struct world *world, D3DKMT_HANDLE a, unsigned length)
{
    uint64_t fence = 0;
    hold(world);
    for (unsigned i = 1; i <= length; i++) {
        fence = world_gpu_name(world, world->context, a, false);
        if (i < length)
            discard(world, a, i);
    }
    let_go(world, fence);
    assert_int_equal(world_place(world, a).instances, length);
}

static void R241_R242_what_is_idle_is_not_renamed(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), PERMANENT);
    world_require(world, a);
    for (unsigned i = 0; i < 5; i++) {
        uint64_t was = world_place(world, a).offset;
        world_wait(world, world_gpu_name(world, world->context, a, false));
        discard(world, a, i);
        world_wait(world, world_gpu_name(world, world->context, a, false));
        world_check_gpu(world, a, i);
        assert_int_equal(world_place(world, a).offset, was);
        assert_int_equal(world_place(world, a).instances, 1);
    }
    assert_int_equal(world_statistics(world).renames, 0);
    // Nor when there are others to be had.
    grow(world, a, 3);
    uint64_t stays = world_place(world, a).offset;
    for (unsigned i = 0; i < 5; i++) {
        discard(world, a, i);
        world_wait(world, world_gpu_name(world, world->context, a, false));
        world_check_gpu(world, a, i);
        assert_int_equal(world_place(world, a).offset, stays);
    }
    assert_int_equal(world_statistics(world).renames, 2);
    // A plain lock is no request to rename: it waits.
    hold(world);
    world_gpu_name(world, world->context, a, false);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_DO_NOT_WAIT, &address), FERRY_ERROR_BUSY);
    world->knobs->hold_turns = 3;
    world_check(world, a, 4);
    assert_int_equal(world_statistics(world).renames, 2);
    world_close(world);
}

static void R243_R244_the_list_is_cycled_one_step_a_discard(void **state)
{
    (void)state;
    for (unsigned aperture = 0; aperture < 2; aperture++) {
        struct world *world = open_held(64);
        D3DKMT_HANDLE a = create_limited(world, PAGES(2), CPU, aperture, 0);
        world_require(world, a);
        uint64_t places[3], fence = 0;
        hold(world);
        for (unsigned i = 0; i < 3; i++) {
            fence = world_gpu_name(world, world->context, a, false);
            places[i] = world_place(world, a).offset;
            if (i < 2)
                discard(world, a, i);
        }
        let_go(world, fence);
        assert_int_equal(world_place(world, a).instances, 3);
        for (unsigned i = 0; i < 12; i++) {
            hold(world);
            fence = world_gpu_name(world, world->context, a, false);
            discard(world, a, 10 + i);
            uint64_t used = world_gpu_name(world, world->context, a, false);
            assert_int_equal(world_place(world, a).offset, places[i % 3]);
            let_go(world, used);
            world_check_gpu(world, a, 10 + i);
        }
        assert_int_equal(world_place(world, a).instances, 3);
        assert_int_equal(world_statistics(world).discard_stalls, 0);
        world_close(world);
    }
}

// A program that discards before each draw, `ahead` draws before the GPU. Returns the longest the list was.
static uint32_t draw(struct world *world, D3DKMT_HANDLE a, D3DKMT_HANDLE target, unsigned draws, unsigned ahead)
{
    uint64_t fences[16] = {0};
    uint32_t longest = 0;
    for (unsigned i = 0; i < draws; i++) {
        if (i >= ahead) {
            world->knobs->hold_node = 0;
            world_wait(world, fences[(i - ahead) % 16]);
            world->knobs->hold_node = HELD_NODE;
        }
        discard(world, a, i);
        fences[i % 16] = world_gpu_copy(world, target, 0, a, 0, PAGES(2));
        uint32_t length = world_place(world, a).instances;
        longest = length > longest ? length : longest;
    }
    world->knobs->hold_node = 0;
    world_wait(world, fences[(draws - 1) % 16]);
    world_check_gpu(world, target, draws - 1);
    return longest;
}

static void R245_R246_the_list_is_as_long_as_the_program_needs_and_no_longer(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU), target = sink(world, PAGES(2));
    world_require(world, a);
    // In the machine a wait for one job may end others too, so what is in flight varies; it is never more than 6.
    uint32_t longest = draw(world, a, target, 300, 6);
    assert_true(longest >= 2 && longest <= 7);
    uint32_t settled = world_place(world, a).instances;
    assert_true(draw(world, a, target, 300, 6) <= longest);
    assert_true(world_place(world, a).instances <= settled + 1);
    assert_int_equal(world_statistics(world).discard_stalls, 0);
    // Demand falls: so does the length.
    draw(world, a, target, 200, 1);
    assert_true(world_place(world, a).instances <= 2);
    assert_true(world_statistics(world).renamed_bytes <= PAGES(2));
    assert_int_equal(world_statistics(world).discard_stalls, 0);
    world_close(world);
}

// Who fills all of the list again and again keeps it, however often it is looked at: else each look would end what the
// next discard makes anew.
static void R246_a_list_that_is_used_whole_is_not_cut(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    world_require(world, a);
    grow(world, a, 6);
    for (unsigned round = 0; round < 40; round++) {
        uint64_t fence = 0;
        hold(world);
        for (unsigned i = 0; i < 6; i++) {
            discard(world, a, i);
            fence = world_gpu_name(world, world->context, a, false);
            assert_true(world_place(world, a).instances >= 6);
        }
        let_go(world, fence);
    }
    assert_int_equal(world_statistics(world).discard_stalls, 0);
    world_close(world);
}

static void R247_pressure_trims_the_list(void **state)
{
    (void)state;
    for (unsigned aperture = 0; aperture < 2; aperture++) {
        struct world *world = open_held(64);
        D3DKMT_HANDLE a = create_limited(world, PAGES(8), CPU, aperture, 0);
        world_require(world, a);
        grow(world, a, 5);
        assert_int_equal(world_statistics(world).renamed_bytes, PAGES(4 * 8));
        size_t pages = machine_pages_out(world->machine);
        // All that others need is there, and nothing of the content is lost.
        D3DKMT_HANDLE large = create_limited(world, PAGES(47), CPU, aperture, 0);
        world_write(world, large, 7);
        world_require(world, large);
        world_check_gpu(world, large, 7);
        assert_true(world_place(world, a).instances <= 2);
        assert_true(world_statistics(world).renamed_bytes <= PAGES(8));
        if (aperture)
            assert_true(machine_pages_out(world->machine) <= pages + 47 - 3 * 8);
        world_check(world, a, 4);
        // No room for one more: now the lock waits for the GPU.
        D3DKMT_HANDLE rest = create_limited(world, PAGES(7), CPU, aperture, 0);
        world_require(world, rest);
        assert_int_equal(world_place(world, a).instances, 1);
        hold(world);
        world_gpu_name(world, world->context, a, false);
        world->knobs->hold_turns = 3;
        discard(world, a, 5);
        assert_int_equal(world_statistics(world).discard_stalls, 1);
        assert_int_equal(world_place(world, a).instances, 1);
        world_wait(world, world_gpu_name(world, world->context, a, false));
        world_check_gpu(world, a, 5);
        world_check_gpu(world, large, 7);
        // Room again: it grows again.
        assert_int_equal(world_evict(world, rest), FERRY_OK);
        grow(world, a, 2);
        world_close(world);
    }
}

static void R248_R249_the_list_is_never_longer_than_its_limit(void **state)
{
    (void)state;
    for (unsigned limit = 1; limit <= 3; limit++) {
        struct world *world = open_held(64);
        D3DKMT_HANDLE a = create_limited(world, PAGES(2), CPU, false, limit);
        D3DKMT_HANDLE sinks[6];
        world_require(world, a);
        uint64_t fence = 0;
        for (unsigned i = 0; i < 6; i++)
            sinks[i] = sink(world, PAGES(2));
        for (unsigned i = 0; i < 6; i++) {
            hold(world);
            world->knobs->hold_turns = i >= limit ? 3 : 0;
            discard(world, a, i);
            assert_int_equal(world_statistics(world).discard_stalls > 0, i >= limit);
            fence = world_gpu_copy(world, sinks[i], 0, a, 0, PAGES(2));
            assert_true(world_place(world, a).instances <= limit);
        }
        let_go(world, fence);
        for (unsigned i = 0; i < 6; i++)
            world_check_gpu(world, sinks[i], i);
        world_close(world);
    }
}

static void R250_without_a_limit_it_grows_with_what_is_in_flight(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    world_require(world, a);
    grow(world, a, 20);
    assert_int_equal(world_statistics(world).discard_stalls, 0);
    world_close(world);
}

static unsigned created;
static NTSTATUS (*create_under)(HANDLE, DXGKARG_CREATEALLOCATION *);
static NTSTATUS count_created(HANDLE adapter, DXGKARG_CREATEALLOCATION *argument)
{
    created++;
    return create_under(adapter, argument);
}

static void R251_R252_R253_the_miniport_sees_one_allocation_at_several_places(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    create_under = spy.table.DxgkDdiCreateAllocation;
    spy.table.DxgkDdiCreateAllocation = count_created;
    struct ferry_allocation_private wanted =
        world_private(PAGES(2), PERMANENT | DXGK_ALLOC_FLAG_CACHED | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT);
    wanted.Alignment = 4 * PAGE_SIZE;
    D3DKMT_HANDLE a;
    assert_int_equal(world_try_create(world, &wanted, NULL, &a, NULL), FERRY_OK);
    world_write(world, a, 0);
    world_require(world, a);
    D3DKMT_HANDLE sinks[4];
    for (unsigned i = 0; i < 4; i++)
        sinks[i] = sink(world, PAGES(2));
    created = 0;
    spy_clear();
    hold(world);
    uint64_t fence = 0;
    for (unsigned i = 0; i < 4; i++) {
        if (i > 0)
            discard(world, a, i);
        fence = world_gpu_copy(world, sinks[i], 0, a, 0, PAGES(2));
        struct ferry_vidmm_placement place = world_place(world, a);
        assert_int_equal(place.offset % (4 * PAGE_SIZE), 0);
        assert_true(place.offset >= PAGES(64 - 16)); // from the end, like the first
        world_check_gpu(world, a, i);                // all four at a time
    }
    assert_int_equal(created, 0);
    let_go(world, fence);
    HANDLE handle = NULL;
    uint64_t places[3];
    assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), 3);
    for (unsigned i = 0; i < 3; i++) {
        const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &spy_build(DXGK_OPERATION_TRANSFER, i)->before.Transfer;
        assert_true(handle == NULL || handle == t->hAllocation);
        handle = t->hAllocation;
        assert_int_equal(t->Source.pMdl->Flags & MDL_FLAG_CACHED, MDL_FLAG_CACHED);
        places[i] = (uint64_t)t->Destination.SegmentAddress.QuadPart;
        for (unsigned j = 0; j < i; j++)
            assert_int_not_equal(places[i], places[j]);
    }
    for (unsigned i = 0; i < 4; i++)
        world_check_gpu(world, sinks[i], i);
    // All of it goes with the one allocation.
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
    assert_int_equal(world_statistics(world).renamed_bytes, 0);
    world_close(world);
}

// NotWrittenTo is said of the allocation, whichever of its instances was the one when its residency began.
static void R111_R237_not_written_to_is_said_of_each_instance(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = create_limited(world, PAGES(2), PERMANENT, false, 2);
    world_write(world, a, 1);
    world_require(world, a);
    hold(world);
    uint64_t fence = world_gpu_name(world, world->context, a, false);
    discard(world, a, 2);
    let_go(world, fence);
    assert_int_equal(world_place(world, a).instances, 2);
    world_wait(world, world_gpu_fill(world, a, 0, 4, 0x600D));
    D3DDDICB_EVICT arguments = {.NumAllocations = 1, .AllocationList = &a, .Flags.NotWrittenTo = 1};
    assert_int_equal(ferry_vidmm_evict(world->manager, world->device, &arguments), FERRY_OK);
    assert_false(world_place(world, a).dirty);
    world_force_out(world, a);
    world_check(world, a, 2);
    world_close(world);
}

static void R238_discard_is_ignored_for_primary_shared_and_pinned(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct world *world = open_held(64);
        struct ferry_allocation_private wanted = world_private(PAGES(2), i == 2 ? CPU | DXGK_ALLOC_FLAG_OVERLAY : CPU);
        struct ferry_vidmm_allocation_options options = {.primary = i == 0, .shared = i == 1};
        D3DKMT_HANDLE a;
        assert_int_equal(world_try_create(world, &wanted, &options, &a, NULL), FERRY_OK);
        world_write(world, a, 3);
        world_require(world, a);
        hold(world);
        world_gpu_name(world, world->context, a, false);
        assert_int_equal(try_discard(world, a, D3DDDI_LOCK_DO_NOT_WAIT, 4), FERRY_ERROR_BUSY);
        world->knobs->hold_turns = 3;
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_DISCARD, &address), FERRY_OK);
        assert_int_equal(*(uint32_t *)address, world_word(3, 0));
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        world_check(world, a, 3);
        assert_int_equal(world_place(world, a).instances, 1);
        world_close(world);
    }
}

static void R239_the_callers_own_memory_has_one_address_and_is_waited_for(void **state)
{
    (void)state;
    static const UINT kinds[] = {DXGK_ALLOC_FLAG_EXISTING_SYSMEM, DXGK_ALLOC_FLAG_EXISTING_KERNEL_SYSMEM};
    for (unsigned i = 0; i < 2; i++) {
        struct world *world = open_held(64);
        uint32_t *memory = aligned_alloc(PAGE_SIZE, PAGES(2));
        memset(memory, 0, PAGES(2));
        struct ferry_allocation_private wanted = world_private(PAGES(2), CPU | kinds[i]);
        struct ferry_vidmm_allocation_options options = {.existing = memory, .existing_bytes = PAGES(2)};
        D3DKMT_HANDLE a;
        assert_int_equal(world_try_create(world, &wanted, &options, &a, NULL), FERRY_OK);
        world_require(world, a);
        hold(world);
        world_gpu_name(world, world->context, a, false);
        world->knobs->hold_turns = 3;
        discard(world, a, 6);
        assert_int_equal(world_statistics(world).discard_stalls, 1);
        assert_int_equal(world_place(world, a).instances, 1);
        assert_int_equal(memory[1], world_word(6, 1));
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
        free(memory);
        world_close(world);
    }
}

static void R240_lock_flags_that_are_not_there_are_refused(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    static const struct {
        UINT flag;
        const char *name;
    } nowhere[] = {{D3DDDI_LOCK_IGNORE_SYNC, "IgnoreSync"},
                   {D3DDDI_LOCK_NO_EXISTING_REFERENCE, "NoExistingReference"},
                   {D3DDDI_LOCK_IGNORE_READ_SYNC, "IgnoreReadSync"}};
    world_write(world, a, 1);
    world_require(world, a);
    for (unsigned bit = 0; bit < 32; bit++) {
        D3DDDICB_LOCKFLAGS flags = {.Value = 1u << bit};
        const char *named = ferry_lock_flags_unsupported(flags.Value), *name = "";
        for (unsigned i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
            name = flags.Value == nowhere[i].flag ? nowhere[i].name : name;
        assert_string_equal(named ? named : "", name);
        bool missing = named || flags.AcquireAperture || flags.UseAlternateVA;
        int expected = missing ? FERRY_ERROR_UNSUPPORTED : flags.Reserved ? FERRY_ERROR_ARGUMENT : FERRY_OK;
        void *address;
        flags.Discard |= missing; // neither beside Discard
        assert_int_equal(ferry_vidmm_lock(world->manager, a, flags.Value, &address), expected);
        if (expected == FERRY_OK)
            assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        if (bit == 6)
            world_check(world, a, 1); // nothing was given up so far
    }
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R237_R238_R239_R240_a_discard_of_busy_memory_gets_another_instance),
        cmocka_unit_test(R241_R242_what_is_idle_is_not_renamed),
        cmocka_unit_test(R243_R244_the_list_is_cycled_one_step_a_discard),
        cmocka_unit_test(R245_R246_the_list_is_as_long_as_the_program_needs_and_no_longer),
        cmocka_unit_test(R246_a_list_that_is_used_whole_is_not_cut),
        cmocka_unit_test(R247_pressure_trims_the_list),
        cmocka_unit_test(R248_R249_the_list_is_never_longer_than_its_limit),
        cmocka_unit_test(R250_without_a_limit_it_grows_with_what_is_in_flight),
        cmocka_unit_test(R251_R252_R253_the_miniport_sees_one_allocation_at_several_places),
        cmocka_unit_test(R111_R237_not_written_to_is_said_of_each_instance),
        cmocka_unit_test(R238_discard_is_ignored_for_primary_shared_and_pinned),
        cmocka_unit_test(R239_the_callers_own_memory_has_one_address_and_is_waited_for),
        cmocka_unit_test(R240_lock_flags_that_are_not_there_are_refused),
    };
    return WORLD_RUN(tests);
}
