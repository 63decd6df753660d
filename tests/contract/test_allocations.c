// SPDX-License-Identifier: Apache-2.0
// Creation, flags as the manager applies them, and placement.
#include <stdlib.h>

#include "world.h"

static void R117_R126_R129_R137_R142_R161_R162_R168_R170_R175_R180_broken_rules_refuse_creation(void **state)
{
    (void)state;
    static const struct {
        UINT flags;
        unsigned rule;
    } cases[] = {{0x2, 1},       {0x4, 2},       {0x8 | 0x3, 3},   {0x10 | 0x3, 4},      {0x30, 4},   {0x20 | 0x3, 5},
                 {0x4000, 7},    {0x4003, 7},    {0x10000, 8},     {0x2000 | 0x8000, 9}, {0x800, 11}, {0x1000, 11},
                 {1u << 19, 11}, {1u << 31, 11}, {0x10 | 0x1, 13}, {0x20 | 0x1, 14},     {0x400, 16}};
    struct world *world = world_open_default();
    world->knobs->flags_as_wished = true;
    size_t pages = machine_pages_out(world->machine);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned rule = 0;
        assert_int_equal(world_try_flags(world, cases[i].flags, &rule), FERRY_ERROR_FLAGS);
        assert_int_equal(rule, cases[i].rule);
    }
    assert_int_equal(world_statistics(world).allocations, 0);
    assert_int_equal(machine_pages_out(world->machine), pages);
    world_close(world);
}

static void R118_R127_R130_R138_R143_primaries(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_vidmm_allocation_options primary = {.primary = true};
    for (unsigned bit = 1; bit <= 5; bit++) {
        struct ferry_allocation_private wanted = world_private(PAGES(2), 1u | 1u << bit);
        D3DKMT_HANDLE handle;
        assert_int_equal(world_try_create(world, &wanted, &primary, &handle, NULL), FERRY_ERROR_FLAGS);
    }
    struct ferry_allocation_private wanted = world_private(PAGES(2), CPU);
    D3DKMT_HANDLE handle;
    assert_int_equal(world_try_create(world, &wanted, &primary, &handle, NULL), FERRY_OK);
    world_close(world);
}

static void R105_R160_R166_gates_follow_the_driver_version(void **state)
{
    (void)state;
    static const struct {
        UINT version, flags;
        int result;
    } cases[] = {{DXGKDDI_WDDMv2, 0x400, FERRY_ERROR_FLAGS},
                 {DXGKDDI_WDDMv2_1, 0x400, FERRY_ERROR_UNSUPPORTED}, // through the gate, and not there yet
                 {DXGKDDI_WDDMv2_1, 0xA000, FERRY_ERROR_FLAGS},
                 {DXGKDDI_WDDMv2_9, 0xA000, FERRY_ERROR_UNSUPPORTED},
                 {DXGKDDI_WDDMv2, 0x80, FERRY_OK}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world_options options = world_defaults();
        options.machine.version = cases[i].version;
        options.machine.vpr = options.machine.map_aperture2 = true;
        struct world *world = world_open(&options);
        assert_int_equal(world_try_flags(world, cases[i].flags, NULL), cases[i].result);
        world_close(world);
    }
}

static void R169_history_buffer_beside_a_coherent_aperture(void **state)
{
    (void)state;
    for (unsigned coherent = 0; coherent < 2; coherent++) {
        struct world_options options = world_defaults();
        options.machine.coherent_aperture = coherent;
        struct world *world = world_open(&options);
        assert_int_equal(world_try_flags(world, 0x4001, NULL), coherent ? FERRY_ERROR_FLAGS : FERRY_OK);
        assert_int_equal(world_try_flags(world, 0x4005, NULL), FERRY_OK);
        world_close(world);
    }
}

static void R181_value_and_members_are_the_same_word(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 32; bit++) {
        DXGK_ALLOCATIONINFO info = {.Flags = 1u << bit};
        assert_int_equal(info.FlagsWddm2.Value, 1u << bit);
        DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 flags = {.Value = 1u << bit}, copy = {.Value = 0};
        copy.CpuVisible = flags.CpuVisible;
        copy.PermanentSysMem = flags.PermanentSysMem;
        copy.Cached = flags.Cached;
        copy.Protected = flags.Protected;
        copy.ExistingSysMem = flags.ExistingSysMem;
        copy.ExistingKernelSysMem = flags.ExistingKernelSysMem;
        copy.FromEndOfSegment = flags.FromEndOfSegment;
        copy.DisableLargePageMapping = flags.DisableLargePageMapping;
        copy.Overlay = flags.Overlay;
        copy.Capture = flags.Capture;
        copy.CreateInVpr = flags.CreateInVpr;
        copy.DXGK_ALLOC_RESERVED17 = flags.DXGK_ALLOC_RESERVED17;
        copy.Reserved02 = flags.Reserved02;
        copy.MapApertureCpuVisible = flags.MapApertureCpuVisible;
        copy.HistoryBuffer = flags.HistoryBuffer;
        copy.AccessedPhysically = flags.AccessedPhysically;
        copy.ExplicitResidencyNotification = flags.ExplicitResidencyNotification;
        copy.HardwareProtected = flags.HardwareProtected;
        copy.CpuVisibleOnDemand = flags.CpuVisibleOnDemand;
        copy.DXGK_ALLOC_RESERVED16 = flags.DXGK_ALLOC_RESERVED16;
        copy.DXGK_ALLOC_RESERVED15 = flags.DXGK_ALLOC_RESERVED15;
        copy.DXGK_ALLOC_RESERVED14 = flags.DXGK_ALLOC_RESERVED14;
        copy.DXGK_ALLOC_RESERVED13 = flags.DXGK_ALLOC_RESERVED13;
        copy.DXGK_ALLOC_RESERVED12 = flags.DXGK_ALLOC_RESERVED12;
        copy.DXGK_ALLOC_RESERVED11 = flags.DXGK_ALLOC_RESERVED11;
        copy.DXGK_ALLOC_RESERVED10 = flags.DXGK_ALLOC_RESERVED10;
        copy.DXGK_ALLOC_RESERVED9 = flags.DXGK_ALLOC_RESERVED9;
        copy.DXGK_ALLOC_RESERVED4 = flags.DXGK_ALLOC_RESERVED4;
        copy.DXGK_ALLOC_RESERVED3 = flags.DXGK_ALLOC_RESERVED3;
        copy.DXGK_ALLOC_RESERVED2 = flags.DXGK_ALLOC_RESERVED2;
        copy.DXGK_ALLOC_RESERVED1 = flags.DXGK_ALLOC_RESERVED1;
        copy.DXGK_ALLOC_RESERVED0 = flags.DXGK_ALLOC_RESERVED0;
        assert_int_equal(copy.Value, 1u << bit);
    }
}

static void R144_R145_R146_direction_of_the_search(void **state)
{
    (void)state;
    static const struct {
        UINT flags, preference, bank;
        bool end;
    } cases[] = {{CPU, 0, 0, false},
                 {CPU | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT, 0, 0, true},
                 {CPU | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT, 1, 0, false}, // preferred segment 1, low to high
                 {CPU, 1 | 1 << 5, 0, true},
                 {CPU, 1, 1 | 1 << 7, true}, // bank 1, high to low
                 {CPU | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT, 1 | 1 << 5, 1, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *world = world_open_default();
        world->knobs->hinted_bank = cases[i].bank;
        struct ferry_allocation_private wanted = world_private(PAGES(4), cases[i].flags);
        wanted.SegmentPreference = cases[i].preference;
        D3DKMT_HANDLE a;
        assert_int_equal(world_try_create(world, &wanted, NULL, &a, NULL), FERRY_OK);
        world_require(world, a);
        assert_int_equal(world_place(world, a).offset, cases[i].end ? PAGES(60) : 0);
        world_close(world);
    }
}

static void R149_R150_R152_R157_overlays_are_pinned_in_the_last_fifth(void **state)
{
    (void)state;
    static const UINT kinds[] = {DXGK_ALLOC_FLAG_OVERLAY, DXGK_ALLOC_FLAG_CAPTURE};
    for (unsigned i = 0; i < 2; i++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE overlay = world_create(world, PAGES(6), CPU | kinds[i]);
        world_require(world, overlay);
        uint64_t offset = world_place(world, overlay).offset;
        assert_true(offset >= PAGES(64) / 5 * 4);
        D3DKMT_HANDLE second = world_create(world, PAGES(10), CPU | kinds[i]); // 16 pages are more than a fifth
        assert_int_equal(world_resident(world, &second, 1), FERRY_ERROR_NO_VIDEO_MEMORY);
        assert_int_equal(world_evict(world, overlay), FERRY_OK); // count 0, still pinned
        for (unsigned n = 0; n < 8; n++) {
            D3DKMT_HANDLE a = world_create(world, PAGES(50), CPU);
            world_require(world, a);
            assert_int_equal(world_evict(world, a), FERRY_OK);
            assert_int_equal(world_place(world, overlay).segment, machine_local_segment);
            assert_int_equal(world_place(world, overlay).offset, offset);
        }
        D3DKMT_HANDLE all = world_create(world, PAGES(60), CPU);
        assert_int_equal(world_resident(world, &all, 1), FERRY_ERROR_NO_VIDEO_MEMORY);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, overlay), FERRY_OK);
        assert_true(world_resident(world, &all, 1) >= 0);
        world_close(world);
    }
}

static void R172_physical_allocations_are_contiguous_in_memory_segments(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(33), CPU | DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY);
    world_write(world, a, 9);
    world_require(world, a);
    world_check_gpu(world, a, 9); // read as one run from the placement
    world_close(world);
}

static void alignments_are_kept(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE odd = world_create(world, PAGES(3), CPU);
    world_require(world, odd);
    world->knobs->own_alignment_64k = true;
    D3DKMT_HANDLE list[3];
    for (unsigned i = 0; i < 3; i++) {
        list[i] = world_create(world, PAGES(5), CPU);
        world_write(world, list[i], i);
        world_require(world, list[i]);
        assert_int_equal(world_place(world, list[i]).offset % 65536, 0);
    }
    for (unsigned i = 0; i < 3; i++)
        world_check_gpu(world, list[i], i);
    world_close(world);
}

static void R154_only_apertures_may_be_eviction_segments(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->eviction_set = 1u << (machine_local_segment - 1);
    assert_int_equal(world_try_flags(world, CPU, NULL), FERRY_ERROR_UNSUPPORTED);
    world->knobs->eviction_set = 1u << (machine_aperture_segment - 1);
    assert_int_equal(world_try_flags(world, CPU, NULL), FERRY_OK);
    world_close(world);
}

static void R153_R154_R155_R156_too_large_for_eviction_beside_an_overlay(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_allocation_private wanted = world_private(PAGES(6), CPU | DXGK_ALLOC_FLAG_OVERLAY);
    wanted.Aperture = 1;
    D3DKMT_HANDLE overlay;
    assert_int_equal(world_try_create(world, &wanted, NULL, &overlay, NULL), FERRY_OK);
    world->knobs->eviction_set = 1u << (machine_aperture_segment - 1);
    D3DKMT_HANDLE large = world_create(world, PAGES(52), CPU), fits = world_create(world, PAGES(51), CPU);
    D3DKMT_HANDLE *both[] = {&large, &fits};
    for (unsigned with_overlay = 0; with_overlay < 2; with_overlay++) {
        if (with_overlay)
            world_require(world, overlay);
        for (unsigned i = 0; i < 2; i++) {
            world_write(world, *both[i], 40 + i);
            world_require(world, *both[i]);
            world_force_out(world, *both[i]);
            bool lost = with_overlay && i == 0;
            assert_int_equal(world_place(world, *both[i]).lost, lost);
            if (!lost)
                world_check(world, *both[i], 40 + i);
        }
    }
    assert_int_equal(world_statistics(world).contents_lost, 1);
    // The owner is told and can no longer use it; its other allocations work on.
    void *address;
    assert_int_equal(world_resident(world, &large, 1), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_vidmm_lock(world->manager, large, 0, &address), FERRY_ERROR_DEVICE_LOST);
    world_require(world, fits);
    world_wait(world, world_gpu_fill(world, fits, 0, 4, 1));
    world_close(world);
}

// What only makes way for another inside its segment does not leave it, however large it is.
static void R155_what_changes_places_beside_an_overlay_is_not_evicted(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(25);
    options.machine.aperture_bytes = PAGES(10);
    struct world *world = world_open(&options);
    struct ferry_allocation_private wanted = world_private(PAGES(1), CPU | DXGK_ALLOC_FLAG_OVERLAY);
    wanted.Aperture = 1;
    D3DKMT_HANDLE overlay, aligned;
    assert_int_equal(world_try_create(world, &wanted, NULL, &overlay, NULL), FERRY_OK);
    world_require(world, overlay);
    world->knobs->eviction_set = 1u << (machine_aperture_segment - 1);
    D3DKMT_HANDLE below = world_create(world, PAGES(10), CPU), large = world_create(world, PAGES(9), CPU);
    world_require(world, below);
    world_require(world, large);
    world_wait(world, world_gpu_fill(world, large, 0, (uint32_t)PAGES(9), 0x600DF00D));
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, below), FERRY_OK);
    assert_int_equal(world_place(world, large).offset, PAGES(10));
    // Sixteen pages at the low end: the nine have to go up, over their own place.
    wanted = world_private(PAGES(16), CPU);
    wanted.Alignment = (UINT)PAGES(16);
    assert_int_equal(world_try_create(world, &wanted, NULL, &aligned, NULL), FERRY_OK);
    world_require(world, aligned);
    assert_int_equal(world_place(world, aligned).offset, 0);
    assert_int_equal(world_place(world, large).offset, PAGES(16));
    assert_false(world_place(world, large).lost);
    assert_int_equal(world_statistics(world).contents_lost, 0);
    // Nor does what the CPU has for a while, though a lock that writes takes it out.
    static const uint32_t locks[] = {D3DDDI_LOCK_READ_ONLY, 0};
    for (unsigned n = 0; n < sizeof(locks) / sizeof(locks[0]); n++) {
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, large, locks[n], &address), FERRY_OK);
        for (unsigned i = 0; i < PAGES(9) / 4; i++)
            assert_int_equal(((const uint32_t *)address)[i], 0x600DF00D);
        assert_int_equal(ferry_vidmm_unlock(world->manager, large), FERRY_OK);
    }
    world_close(world);
}

static void R150_R151_R158_overlays_and_captures_before_or_after_the_stop(void **state)
{
    (void)state;
    for (unsigned destroy_first = 0; destroy_first < 2; destroy_first++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE overlay = world_create(world, PAGES(5), CPU | DXGK_ALLOC_FLAG_OVERLAY);
        D3DKMT_HANDLE capture = world_create(world, PAGES(5), CPU | DXGK_ALLOC_FLAG_CAPTURE);
        world_require(world, overlay);
        world_require(world, capture);
        if (destroy_first) {
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, overlay), FERRY_OK);
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, capture), FERRY_OK);
        }
        world_close(world); // the stop takes out what is still pinned, and every page comes back
    }
}

// Neither a budget, nor pressure, nor the CPU, nor a reset of the engine that is survived is a reason to leave.
static void R150_an_overlay_stays_whatever_the_cpu_does(void **state)
{
    (void)state;
    static const UINT kinds[] = {DXGK_ALLOC_FLAG_OVERLAY, DXGK_ALLOC_FLAG_CAPTURE};
    static const UINT locks[] = {0, D3DDDI_LOCK_READ_ONLY, D3DDDI_LOCK_WRITE_ONLY,
                                 D3DDDI_LOCK_WRITE_ONLY | D3DDDI_LOCK_DISCARD, D3DDDI_LOCK_DO_NOT_EVICT};
    for (unsigned kind = 0; kind < 2; kind++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE overlay = world_create(world, PAGES(5), CPU | kinds[kind]);
        world_write(world, overlay, 70);
        world_require(world, overlay);
        struct ferry_vidmm_placement place = world_place(world, overlay);
        for (unsigned i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
            void *address;
            bool writes = locks[i] != D3DDDI_LOCK_READ_ONLY;
            assert_int_equal(ferry_vidmm_lock(world->manager, overlay, locks[i], &address), FERRY_OK);
            assert_int_equal(world_place(world, overlay).segment, place.segment);
            assert_int_equal(world_place(world, overlay).offset, place.offset);
            for (unsigned n = 0; writes && n < PAGES(5) / 4; n++)
                ((uint32_t *)address)[n] = world_word(71 + i, n);
            assert_int_equal(ferry_vidmm_unlock(world->manager, overlay), FERRY_OK);
            if (writes)
                world_check_gpu(world, overlay, 71 + i);
        }
        world_check(world, overlay, 75);
        assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGE_SIZE), FERRY_OK);
        assert_int_equal(world_evict(world, overlay), FERRY_OK);
        assert_int_equal(ferry_vidmm_set_budget(world->manager, 0), FERRY_OK);
        assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
        assert_int_equal(world_place(world, overlay).offset, place.offset);
        world_check_gpu(world, overlay, 75);
        world_close(world);
    }
}

// What an overlay in the aperture kept from being evicted through it may be when the overlay is gone.
static void R151_R155_an_overlay_that_is_gone_is_in_nobodys_way(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_allocation_private wanted = world_private(PAGES(6), CPU | DXGK_ALLOC_FLAG_OVERLAY);
    wanted.Aperture = 1;
    D3DKMT_HANDLE overlay;
    assert_int_equal(world_try_create(world, &wanted, NULL, &overlay, NULL), FERRY_OK);
    world->knobs->eviction_set = 1u << (machine_aperture_segment - 1);
    D3DKMT_HANDLE large = world_create(world, PAGES(52), CPU);
    world_write(world, large, 5);
    world_require(world, overlay);
    world_require(world, large);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, overlay), FERRY_OK);
    world_force_out(world, large);
    assert_false(world_place(world, large).lost);
    world_check(world, large, 5);
    world_close(world);
}

// A driver that pages in units of 64 KiB locks whole units; the manager neither cuts nor widens what it was told.
static void R116_what_is_locked_in_whole_units_comes_in_whole_units(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->own_alignment_64k = true;
    D3DKMT_HANDLE odd = world_create(world, PAGES(3), CPU), a = world_create(world, PAGES(32), PERMANENT);
    world_require(world, odd);
    world_write(world, a, 1);
    world_require(world, a);
    static const struct {
        uint64_t first, count;
    } ranges[] = {{16, 16}, {0, 16}, {0, 32}};
    for (unsigned i = 0; i < 3; i++) {
        void *address;
        assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, 0, ranges[i].first, ranges[i].count, &address),
                         FERRY_OK);
        spy_clear();
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &spy_build(DXGK_OPERATION_TRANSFER, 0)->before.Transfer;
        assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), 1);
        assert_int_equal(t->TransferOffset, PAGES(ranges[i].first));
        assert_int_equal(t->TransferSize, PAGES(ranges[i].count));
        assert_int_equal((t->Destination.SegmentAddress.QuadPart + t->TransferOffset) % 65536, 0);
    }
    world_close(world);
}

static void R147_a_flag_that_changes_nothing_here_is_accepted(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(5), CPU | DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING);
    world_write(world, a, 1);
    world_require(world, a);
    world_check_gpu(world, a, 1);
    world_force_out(world, a);
    world_check(world, a, 1);
    world_close(world);
}

static void R177_R178_on_demand_addresses_exist_only_under_a_lock(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(5), DXGK_ALLOC_FLAG_CPU_VISIBLE_ON_DEMAND);
    void *address;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(world_statistics(world).on_demand_bytes, 0);
        assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &address), FERRY_OK);
        assert_int_equal(world_statistics(world).on_demand_bytes, PAGES(5));
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    }
    assert_int_equal(world_statistics(world).on_demand_bytes, 0);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R117_R126_R129_R137_R142_R161_R162_R168_R170_R175_R180_broken_rules_refuse_creation),
        cmocka_unit_test(R118_R127_R130_R138_R143_primaries),
        cmocka_unit_test(R105_R160_R166_gates_follow_the_driver_version),
        cmocka_unit_test(R169_history_buffer_beside_a_coherent_aperture),
        cmocka_unit_test(R181_value_and_members_are_the_same_word),
        cmocka_unit_test(R144_R145_R146_direction_of_the_search),
        cmocka_unit_test(R149_R150_R152_R157_overlays_are_pinned_in_the_last_fifth),
        cmocka_unit_test(R172_physical_allocations_are_contiguous_in_memory_segments),
        cmocka_unit_test(alignments_are_kept),
        cmocka_unit_test(R154_only_apertures_may_be_eviction_segments),
        cmocka_unit_test(R153_R154_R155_R156_too_large_for_eviction_beside_an_overlay),
        cmocka_unit_test(R155_what_changes_places_beside_an_overlay_is_not_evicted),
        cmocka_unit_test(R150_R151_R158_overlays_and_captures_before_or_after_the_stop),
        cmocka_unit_test(R150_an_overlay_stays_whatever_the_cpu_does),
        cmocka_unit_test(R151_R155_an_overlay_that_is_gone_is_in_nobodys_way),
        cmocka_unit_test(R116_what_is_locked_in_whole_units_comes_in_whole_units),
        cmocka_unit_test(R147_a_flag_that_changes_nothing_here_is_accepted),
        cmocka_unit_test(R177_R178_on_demand_addresses_exist_only_under_a_lock),
    };
    return WORLD_RUN(tests);
}
