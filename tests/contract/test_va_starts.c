// SPDX-License-Identifier: Apache-2.0
// What a miniport says of its page tables as the manager begins: what can be done with is begun, all else is refused by
// name.
#include "beside.h"
#include "vidmm/api/manager.h"

static struct answer {
    const DRIVER_INITIALIZATION_DATA *real;
    UINT turned;                         // Bits of DXGK_GPUMMUCAPS.
    UINT segment, level, paging_segment; // of `level` and of the paging process's; the others' are as they were
    int more_bits, more_bytes;           // of `level`
    UINT alignment;                      // of `level`; 0 = a page
} answer;

static NTSTATUS other_places(HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *argument)
{
    NTSTATUS status = answer.real->DxgkDdiQueryAdapterInfo(adapter, argument);
    if (argument->Type == DXGKQAITYPE_PAGETABLELEVELDESC) {
        const DXGK_QUERYPAGETABLELEVELDESCIN *which = argument->pInputData;
        DXGK_PAGE_TABLE_LEVEL_DESC *level = argument->pOutputData;
        if (answer.level == 4 || answer.level == which->LevelIndex)
            level->PageTableSegmentId = answer.segment;
        level->PageTableIndexBitCount += answer.level == which->LevelIndex ? (UINT)answer.more_bits : 0;
        level->PageTableSizeInBytes += answer.level == which->LevelIndex ? (UINT)answer.more_bytes : 0;
        level->PageTableAlignmentInBytes =
            answer.level == which->LevelIndex && answer.alignment ? answer.alignment : PAGE_SIZE;
        level->PagingProcessPageTableSegmentId = answer.paging_segment;
    }
    if (argument->Type == DXGKQAITYPE_GPUMMUCAPS)
        ((DXGK_GPUMMUCAPS *)argument->pOutputData)->Value ^= answer.turned;
    return status;
}

static int start_with(UINT level, UINT segment, UINT paging_segment, long host_pages, struct ferry_vidmm **manager)
{
    const struct world_options world = updates_options(64, 0);
    struct machine *machine = machine_open(&world.machine);
    DRIVER_INITIALIZATION_DATA table = *ferry_test_miniport();
    struct ferry_vidmm_options options = {.size = sizeof(options),
                                          .miniport = &table,
                                          .miniport_device_context = machine_adapter(machine),
                                          .platform = machine_platform(machine)};
    answer.real = ferry_test_miniport();
    answer.segment = segment;
    answer.level = level;
    answer.paging_segment = paging_segment;
    table.DxgkDdiQueryAdapterInfo = other_places;
    machine_knobs(machine)->host_pages = host_pages;
    int result = ferry_vidmm_start(&options, manager);
    if (result == FERRY_OK)
        ferry_vidmm_stop(*manager);
    assert_int_equal(machine_pages_out(machine), 0);
    machine_close(machine);
    return result;
}

// Of one level elsewhere, in an aperture, in no segment at all, or of the paging process elsewhere: by name, at once.
static void only_what_can_be_done_is_begun(void **state)
{
    (void)state;
    struct ferry_vidmm *manager = NULL;
    const UINT local = machine_local_segment, aperture = machine_aperture_segment;
    assert_int_equal(start_with(4, local, local, -1, &manager), FERRY_OK);
    assert_int_equal(start_with(4, 0, 0, -1, &manager), FERRY_OK);
    for (UINT level = 0; level < 4; level++)
        assert_int_equal(start_with(level, 0, local, -1, &manager), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(start_with(4, local, 0, -1, &manager), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(start_with(4, aperture, aperture, -1, &manager), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(start_with(4, 9, 9, -1, &manager), FERRY_ERROR_UNSUPPORTED);
    // Tables of other sizes.
    for (UINT level = 0; level < 4; level++)
        for (int less = 0; less < 2; less++) {
            answer.more_bits = less ? -1 : 1;
            assert_int_equal(start_with(level, local, local, -1, &manager), FERRY_ERROR_UNSUPPORTED);
            answer.more_bits = 0;
            answer.more_bytes = less ? -8 : 8;
            assert_int_equal(start_with(level, local, local, -1, &manager), FERRY_ERROR_UNSUPPORTED);
            answer.more_bytes = 0;
        }
    // And tables that are to be where only some pages begin.
    for (UINT level = 0; level < 4; level++) {
        answer.alignment = 2 * PAGE_SIZE;
        assert_int_equal(start_with(level, local, local, -1, &manager), FERRY_ERROR_UNSUPPORTED);
        answer.alignment = 8;
        assert_int_equal(start_with(level, local, local, -1, &manager), FERRY_OK);
    }
    answer.alignment = 0;
}

// What a miniport's tables need, or lack, and this manager cannot do without is refused at once; what only some calls
// need, by those.
static void what_tables_need_or_lack_is_refused_by_name(void **state)
{
    (void)state;
    struct ferry_vidmm *manager = NULL;
    const DXGK_GPUMMUCAPS begun[] = {{.ReadOnlyMemorySupported = 1}, {.CachedPageTables = 1}, {.DualPteSupported = 1}},
                          refused[] = {{.ExplicitPageTableInvalidation = 1},
                                       {.PageTableUpdateRequireAddressSpaceIdle = 1},
                                       {.CacheCoherentMemorySupported = 1},
                                       {.LargePageSupported = 1},
                                       {.InvalidTlbEntriesNotCached = 1}};
    for (size_t i = 0; i < sizeof(begun) / sizeof(*begun); i++) {
        answer.turned = begun[i].Value;
        assert_int_equal(start_with(4, machine_local_segment, machine_local_segment, -1, &manager), FERRY_OK);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        answer.turned = refused[i].Value;
        assert_int_equal(start_with(4, machine_local_segment, machine_local_segment, -1, &manager),
                         FERRY_ERROR_UNSUPPORTED);
    }
    answer.turned = 0;
}

// A page that may only be read is one that the tables can tell from others. Else a job would write it, and nobody know.
static void without_pages_that_are_read_only_none_are_mapped(void **state)
{
    (void)state;
    struct world_options options = updates_options(64, 0);
    struct world *world = world_open(&options);
    struct ferry_vidmm *manager = world->manager;
    D3DKMT_HANDLE allocation = content(world, 4, 3), context = 0;
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = BASE, .bytes = PAGES(16)};
    struct ferry_vidmm_updated done = {0};
    assert_int_equal(ferry_vidmm_create_context(manager, world->device, 1, &context, NULL), FERRY_OK);
    assert_int_equal(ferry_vidmm_reserve_virtual(manager, world->device, &range), FERRY_OK);
    manager->core.read_only_pages = false;
    for (unsigned writes = 0; writes < 2; writes++) {
        int expected = writes ? FERRY_OK : FERRY_ERROR_UNSUPPORTED;
        struct ferry_vidmm_virtual some = {.size = sizeof(some), .address = BASE, .bytes = PAGES(2)};
        struct ferry_vidmm_update update = {.kind = FERRY_VIDMM_MAP,
                                            .read_only = !writes,
                                            .address = BASE + PAGES(4),
                                            .bytes = PAGES(2),
                                            .allocation = allocation};
        assert_int_equal(ferry_vidmm_map_virtual(manager, world->device, allocation, 0, !writes, &some), expected);
        assert_int_equal(ferry_vidmm_update_virtual(manager, context, &update, 1, &done), expected);
    }
    world_close(world);
}

// As many as were asked for, if that leaves anything of video memory; half a page is none, and 1 TiB is the most.
static void no_more_than_there_can_be_are_asked_for(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        int result;
    } cases[] = {{PAGES(40), FERRY_OK},
                 {PAGES(64), FERRY_ERROR_NO_VIDEO_MEMORY},
                 {UINT64_C(1) << 40, FERRY_ERROR_NO_VIDEO_MEMORY},
                 {(UINT64_C(1) << 40) + PAGE_SIZE, FERRY_ERROR_ARGUMENT},
                 {PAGE_SIZE / 2, FERRY_ERROR_ARGUMENT},
                 {PAGES(9) + 8, FERRY_ERROR_ARGUMENT}};
    const struct world_options world = updates_options(64, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine *machine = machine_open(&world.machine);
        struct ferry_vidmm *manager = NULL;
        struct ferry_vidmm_options options = {.size = sizeof(options),
                                              .miniport = ferry_test_miniport(),
                                              .miniport_device_context = machine_adapter(machine),
                                              .platform = machine_platform(machine),
                                              .table_bytes = cases[i].bytes};
        assert_int_equal(ferry_vidmm_start(&options, &manager), cases[i].result);
        if (manager)
            ferry_vidmm_stop(manager);
        machine_close(machine);
    }
}

// However few host pages there are, it begins or says why not, and keeps none.
static void without_host_pages_it_does_not_begin(void **state)
{
    (void)state;
    struct ferry_vidmm *manager = NULL;
    long pages = 0;
    for (; start_with(4, 0, 0, pages, &manager) != FERRY_OK; pages++)
        assert_int_equal(start_with(4, 0, 0, pages, &manager), FERRY_ERROR_NO_HOST_MEMORY);
    assert_in_range(pages, 8, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_can_be_done_is_begun),
        cmocka_unit_test(what_tables_need_or_lack_is_refused_by_name),
        cmocka_unit_test(without_pages_that_are_read_only_none_are_mapped),
        cmocka_unit_test(no_more_than_there_can_be_are_asked_for),
        cmocka_unit_test(without_host_pages_it_does_not_begin),
    };
    return WORLD_RUN(tests);
}
