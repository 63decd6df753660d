// SPDX-License-Identifier: Apache-2.0
// Nobody's bytes are lost or spoilt where lock, eviction, hints and jobs meet.
#include "ddi/flag_rules.h"
#include "world.h"

static int evict_not_written(struct world *world, D3DKMT_HANDLE allocation)
{
    D3DDDICB_EVICT arguments = {.NumAllocations = 1, .AllocationList = &allocation, .Flags.NotWrittenTo = 1};
    return ferry_vidmm_evict(world->manager, world->device, &arguments);
}

static uint32_t *locked(struct world *world, D3DKMT_HANDLE allocation, uint32_t flags)
{
    void *address = NULL;
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, flags, &address), FERRY_OK);
    return address;
}

static void unlocked(struct world *world, D3DKMT_HANDLE allocation)
{
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
}

static void R111_R112_not_written_to_speaks_of_its_own_residency_only(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(3), PERMANENT);
    world_write(world, a, 1);
    world_require(world, a);
    world_wait(world, world_gpu_fill(world, a, 0, 4, 0x600D));
    assert_int_equal(world_evict(world, a), FERRY_OK);
    // A second residency, which is truly not written; what the first wrote must come back.
    world_require(world, a);
    assert_int_equal(evict_not_written(world, a), FERRY_OK);
    assert_true(world_place(world, a).dirty);
    world_force_out(world, a);
    assert_int_equal(locked(world, a, D3DDDI_LOCK_READ_ONLY)[0], 0x600D);
    unlocked(world, a);
    world_close(world);
}

// Two residencies at once, of which one wrote and does not deny it: in either order its bytes come back.
static void R112_not_written_to_of_one_residency_says_nothing_of_the_other(void **state)
{
    (void)state;
    for (unsigned inner = 0; inner < 2; inner++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create(world, PAGES(3), PERMANENT);
        world_write(world, a, 1);
        world_require(world, a);
        world_wait(world, world_gpu_fill(world, a, 0, 4, 0x600D));
        world_require(world, a);
        assert_int_equal(inner ? evict_not_written(world, a) : world_evict(world, a), FERRY_OK);
        assert_int_equal(inner ? world_evict(world, a) : evict_not_written(world, a), FERRY_OK);
        world_force_out(world, a);
        assert_int_equal(locked(world, a, D3DDDI_LOCK_READ_ONLY)[0], 0x600D);
        unlocked(world, a);
        world_close(world);
    }
}

// Nor of what an unbalanced count was taken off for.
static void R112_not_written_to_says_nothing_of_what_was_taken_off(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(3), PERMANENT);
    world_write(world, a, 1);
    world_require(world, a);
    world_wait(world, world_gpu_fill(world, a, 0, 4, 0x600D));
    world_require(world, a);
    assert_int_equal(ferry_vidmm_take_off(world->manager, world->device, a, 1), FERRY_OK);
    assert_int_equal(evict_not_written(world, a), FERRY_OK);
    world_force_out(world, a);
    assert_int_equal(locked(world, a, D3DDDI_LOCK_READ_ONLY)[0], 0x600D);
    unlocked(world, a);
    world_close(world);
}

static void R111_not_written_to_saves_the_page_out(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(3), PERMANENT);
    world_write(world, a, 1);
    world_require(world, a);
    world_require(world, a);              // counted twice
    world_gpu_copy(world, a, 0, a, 0, 4); // announced as a write, and changes nothing
    assert_int_equal(evict_not_written(world, a), FERRY_OK);
    assert_true(world_place(world, a).dirty); // the outer residency has not spoken
    assert_int_equal(evict_not_written(world, a), FERRY_OK);
    assert_false(world_place(world, a).dirty);
    world_force_out(world, a);
    assert_int_equal(world_statistics(world).bytes_out, 0);
    assert_int_equal(world_statistics(world).bytes_discarded, PAGES(3));
    world_check(world, a, 1);
    world_close(world);
}

// The CPU holds pages 2 and 3 of 8 locked, the GPU writes pages 0, 2 and 7, and the room is taken away meanwhile.
static void R113_R114_eviction_under_a_lock_keeps_what_the_cpu_writes(void **state)
{
    (void)state;
    for (unsigned entire = 0; entire < 2; entire++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create(world, PAGES(8), PERMANENT);
        world_write(world, a, 1);
        world_require(world, a);
        void *address;
        if (entire)
            address = locked(world, a, 0);
        else
            assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, 0, 2, 2, &address), FERRY_OK);
        uint32_t *words = address;
        words[PAGES(2) / 4] = 0xC0DE;
        world_wait(world, world_gpu_fill(world, a, 0, 4, 0x60));
        world_wait(world, world_gpu_fill(world, a, PAGES(2), PAGE_SIZE, 0x62));
        world_wait(world, world_gpu_fill(world, a, PAGES(7), 4, 0x67));
        words[PAGES(3) / 4 + 1] = 0xBEEF;
        world_force_out(world, a);
        unlocked(world, a);
        words = locked(world, a, D3DDDI_LOCK_READ_ONLY);
        assert_int_equal(words[PAGES(2) / 4], 0xC0DE);
        assert_int_equal(words[PAGES(3) / 4 + 1], 0xBEEF);
        assert_int_equal(words[PAGES(2) / 4 + 1], world_word(1, PAGES(2) / 4 + 1));
        // Outside the locked pages the GPU's writes stand. A lock of everything wins everywhere.
        assert_int_equal(words[0], entire ? world_word(1, 0) : 0x60);
        assert_int_equal(words[PAGES(7) / 4], entire ? world_word(1, PAGES(7) / 4) : 0x67);
        unlocked(world, a);
        world_close(world);
    }
}

// A lock for reading does not keep the GPU's newer content from coming out.
static void R112_eviction_under_a_lock_for_reading_pages_all_out(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), PERMANENT);
    world_require(world, a);
    uint32_t *words = locked(world, a, D3DDDI_LOCK_READ_ONLY);
    world_wait(world, world_gpu_fill(world, a, 0, PAGES(2), 0x61));
    world_force_out(world, a);
    unlocked(world, a);
    world_require(world, a);
    words = locked(world, a, D3DDDI_LOCK_READ_ONLY);
    assert_int_equal(words[5], 0x61);
    unlocked(world, a);
    world_close(world);
}

// Out of the aperture, by room that is asked for and given back.
static void force_out_of_aperture(struct world *world, D3DKMT_HANDLE allocation)
{
    assert_int_equal(world_evict(world, allocation), FERRY_OK);
    D3DKMT_HANDLE large = world_create_in_aperture(world, PAGES(63), CPU); // one page is the manager's
    world_require(world, large);
    assert_int_equal(world_place(world, allocation).segment, 0);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
}

static void R58_ordering_comes_before_an_eviction_from_a_non_coherent_aperture(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.coherent_aperture = false;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(4), CPU), source = world_create(world, PAGES(4), CPU);
    world_write(world, source, 3);
    world_require(world, a);
    world_require(world, source);
    world->knobs->delay = 3;
    world_gpu_copy(world, a, 0, source, 0, PAGES(4));
    spy_clear();
    force_out_of_aperture(world, a);
    size_t read = 0, unmap = 0;
    for (size_t i = 0; i < spy.count; i++) {
        if (spy.entries[i].kind != SPY_BUILD)
            continue;
        if (spy.entries[i].before.Operation == DXGK_OPERATION_READ_PHYSICAL && read == 0)
            read = i + 1;
        if (spy.entries[i].before.Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT && unmap == 0)
            unmap = i + 1;
    }
    assert_int_not_equal(read, 0);
    assert_true(read < unmap);
    // Through a place of its own, which is mapped still.
    assert_int_equal(spy.entries[read - 1].before.ReadPhysical.SegmentId, machine_aperture_segment);
    locked(world, a, D3DDDI_LOCK_READ_ONLY);
    assert_true(machine_physical_accesses(world->machine, false) > 0); // and has run
    unlocked(world, a);
    world_check(world, a, 3);
    // Once is enough: nothing was written since.
    world_require(world, a);
    spy_clear();
    force_out_of_aperture(world, a);
    assert_int_equal(spy_builds(DXGK_OPERATION_READ_PHYSICAL), 0);
    world_close(world);
}

static void R238_do_not_wait_means_nothing_beside_discard(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), PERMANENT);
    world_require(world, a);
    world->knobs->delay = 20;
    world_gpu_fill(world, a, 0, 4, 1);
    assert_true(machine_queued_jobs(world->machine) > 0);
    uint32_t *words = locked(world, a, D3DDDI_LOCK_DO_NOT_WAIT | D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY);
    for (unsigned i = 0; i < PAGES(4) / 4; i++)
        words[i] = world_word(9, i);
    unlocked(world, a);
    world_check(world, a, 9);
    world_close(world);
}

static void R216_no_ok_for_what_a_lock_took_away(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), CPU), b = world_create(world, PAGES(4), CPU);
    world_require(world, a);
    locked(world, a, D3DDDI_LOCK_WRITE_ONLY);
    assert_int_equal(world_place(world, a).segment, 0);
    D3DKMT_HANDLE both[] = {b, a};
    assert_int_equal(world_resident(world, both, 2), FERRY_ERROR_LOCKED);
    assert_int_equal(world_place(world, a).residency_count, 1);
    assert_int_equal(world_place(world, b).residency_count, 0);
    unlocked(world, a);
    assert_true(world_resident(world, both, 2) >= 0);
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    assert_int_equal(world_place(world, a).residency_count, 2);
    world_close(world);
}

static void R106_a_lock_for_reading_or_that_must_not_evict_leaves_it_in_place(void **state)
{
    (void)state;
    for (unsigned writing = 0; writing < 2; writing++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create(world, PAGES(8), CPU);
        world_write(world, a, 4);
        world_require(world, a);
        world_wait(world, world_gpu_fill(world, a, 0, 4, 0x77));
        uint64_t in = world_statistics(world).bytes_in;
        void *address = NULL;
        if (writing)
            assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, D3DDDI_LOCK_DO_NOT_EVICT, 3, 1, &address),
                             FERRY_OK);
        else
            address = locked(world, a, D3DDDI_LOCK_READ_ONLY);
        uint32_t *words = address;
        assert_int_equal(world_place(world, a).segment, machine_local_segment);
        assert_int_equal(words[0], 0x77);
        assert_int_equal(words[1], world_word(4, 1));
        if (writing)
            words[PAGES(3) / 4] = 0x88;
        unlocked(world, a);
        assert_int_equal(world_place(world, a).segment, machine_local_segment);
        assert_int_equal(world_statistics(world).bytes_in - in, writing ? PAGE_SIZE : 0);
        assert_int_equal(world_statistics(world).evictions, 0);
        uint32_t seen[2];
        world_wait(world, world_gpu_fill(world, a, 4, 4, 0x99)); // until here every paging operation is done
        assert_false(world_place(world, a).has_backing);         // R110: the copy was the lock's
        machine_peek(world->machine, machine_local_segment, world_place(world, a).offset + PAGES(3), seen, 4);
        assert_int_equal(seen[0], writing ? 0x88 : world_word(4, PAGES(3) / 4));
        // The only copy is in video memory again, so it must come out when it leaves.
        world_force_out(world, a);
        words = locked(world, a, D3DDDI_LOCK_READ_ONLY);
        assert_int_equal(words[0], 0x77);
        assert_int_equal(words[1], 0x99);
        assert_int_equal(words[PAGES(3) / 4], writing ? 0x88 : world_word(4, PAGES(3) / 4));
        unlocked(world, a);
        world_close(world);
    }
}

// The room is taken while the lock's copy is all that is left.
static void R106_eviction_during_such_a_lock_loses_nothing(void **state)
{
    (void)state;
    for (unsigned writing = 0; writing < 2; writing++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create(world, PAGES(8), CPU);
        world_write(world, a, 4);
        world_require(world, a);
        uint32_t *words = locked(world, a, writing ? D3DDDI_LOCK_DO_NOT_EVICT : D3DDDI_LOCK_READ_ONLY);
        world_force_out(world, a);
        if (writing)
            words[7] = 0xAA;
        unlocked(world, a);
        world_require(world, a);
        uint32_t seen[8];
        machine_peek(world->machine, machine_local_segment, world_place(world, a).offset, seen, sizeof(seen));
        assert_int_equal(seen[6], world_word(4, 6));
        assert_int_equal(seen[7], writing ? 0xAA : world_word(4, 7));
        world_close(world);
    }
}

static void flags_whose_behaviour_is_not_there_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        UINT flags, flags2;
        const char *name;
    } cases[] = {
        {CPU | DXGK_ALLOC_FLAG_HARDWARE_PROTECTED, 0, "HardwareProtected"},
        {CPU, DXGK_ALLOC_FLAG2_NOTIFY_EVICTION, "NotifyEviction"},
        {CPU, DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP, "NotifyIoMmuUnmap"},
        {CPU, DXGK_ALLOC_FLAG2_NO_IMPLICIT_SYNCHRONIZATION, "NoImplicitSynchronization"},
        {CPU, DXGK_ALLOC_FLAG2_RESTRICTED_TO_SINGLE_SEGMENT, "RestrictedToSingleSegment"},
    };
    struct world_options options = world_defaults();
    options.machine.version = DXGKDDI_WDDMv3_2;
    struct world *world = world_open(&options);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ferry_allocation_private wanted = world_private(PAGES(2), cases[i].flags);
        wanted.Flags2 = cases[i].flags2;
        D3DKMT_HANDLE handle = 0;
        assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_ERROR_UNSUPPORTED);
        assert_string_equal(ferry_flags_unsupported(cases[i].flags, cases[i].flags2), cases[i].name);
    }
    world_leaves_out(machine_miniport, "R176_content_for_hardware_drm", "HardwareProtected is refused by name");
    assert_int_equal(world_statistics(world).allocations, 0);
    assert_null(ferry_flags_unsupported(CPU | DXGK_ALLOC_FLAG_CACHED | DXGK_ALLOC_FLAG_OVERLAY, 0));
    struct ferry_allocation_private wanted = world_private(PAGES(2), CPU);
    wanted.Flags2 = DXGK_ALLOC_FLAG2_DISABLE_PARTIAL_RESIDENCY;
    D3DKMT_HANDLE whole = 0;
    assert_int_equal(world_try_create(world, &wanted, NULL, &whole, NULL), FERRY_OK);
    world_close(world);
}

// Its content came out when another device had its turn, and has not been written since it came back: what was written
// before that is no reason to bring it out once more.
static void R111_what_came_out_in_between_does_not_come_out_again(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE first = world->device, first_queue = world->queue, first_context = world->context, device, queue,
                  context;
    D3DKMT_HANDLE a = world_create(world, PAGES(40), PERMANENT);
    world_write(world, a, 1);
    world_require(world, a);
    world_wait(world, world_gpu_copy(world, a, 0, a, PAGE_SIZE, PAGE_SIZE));
    assert_int_equal(world_evict(world, a), FERRY_OK);
    world_require(world, a); // What it holds is of an earlier residency.
    assert_int_equal(ferry_vidmm_create_device(world->manager, &device), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, device, 0, &queue), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_context(world->manager, device, FERRY_VIDMM_ANY_NODE, &context, NULL),
                     FERRY_OK);
    world->device = device;
    world->queue = queue;
    world->context = context;
    D3DKMT_HANDLE b = world_create(world, PAGES(40), CPU);
    D3DDDI_MAKERESIDENT make = {.hPagingQueue = queue, .NumAllocations = 1, .AllocationList = &b};
    make.Flags.CantTrimFurther = 1;
    assert_true(ferry_vidmm_make_resident(world->manager, &make) >= 0);
    world_wait(world, world_gpu_name(world, world->context, b, false));
    assert_int_equal(world_place(world, a).segment, 0);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, device), FERRY_OK);
    world->device = first;
    world->queue = first_queue;
    world->context = first_context;
    world_wait(world, world_gpu_name(world, world->context, a, false)); // which brings it back
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    uint64_t out = world_statistics(world).bytes_out;
    D3DDDICB_EVICT evict = {.NumAllocations = 1, .AllocationList = &a};
    evict.Flags.NotWrittenTo = 1;
    assert_int_equal(ferry_vidmm_evict(world->manager, world->device, &evict), FERRY_OK);
    assert_false(world_place(world, a).dirty);
    world_force_out(world, a);
    assert_int_equal(world_statistics(world).bytes_out, out);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R111_R112_not_written_to_speaks_of_its_own_residency_only),
        cmocka_unit_test(R112_not_written_to_of_one_residency_says_nothing_of_the_other),
        cmocka_unit_test(R112_not_written_to_says_nothing_of_what_was_taken_off),
        cmocka_unit_test(R111_not_written_to_saves_the_page_out),
        cmocka_unit_test(R113_R114_eviction_under_a_lock_keeps_what_the_cpu_writes),
        cmocka_unit_test(R112_eviction_under_a_lock_for_reading_pages_all_out),
        cmocka_unit_test(R58_ordering_comes_before_an_eviction_from_a_non_coherent_aperture),
        cmocka_unit_test(R238_do_not_wait_means_nothing_beside_discard),
        cmocka_unit_test(R216_no_ok_for_what_a_lock_took_away),
        cmocka_unit_test(R106_a_lock_for_reading_or_that_must_not_evict_leaves_it_in_place),
        cmocka_unit_test(R106_eviction_during_such_a_lock_loses_nothing),
        cmocka_unit_test(flags_whose_behaviour_is_not_there_are_refused_by_name),
        cmocka_unit_test(R111_what_came_out_in_between_does_not_come_out_again),
    };
    return WORLD_RUN(tests);
}
