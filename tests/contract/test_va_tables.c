// SPDX-License-Identifier: Apache-2.0
// Where page tables are: in the segment that the miniport names, or in system memory; and whose they are next.
#include "beside.h"
#include "programs.h"
#include "vidmm/api/manager.h"

static struct world_options tables_in(bool system)
{
    struct world_options options = updates_options(64, 0);
    options.machine.host_tables = system;
    return options;
}

static uint64_t local_pages(struct world *world)
{
    struct ferry_vidmm_segment_info segment;
    assert_int_equal(ferry_vidmm_segment(world->manager, machine_local_segment - 1, &segment), FERRY_OK);
    return segment.bytes / PAGE_SIZE;
}

// In system memory they take no page of a segment, and are found at a bus address, for as long as the manager is there.
static void in_system_memory_they_take_nothing_of_a_segment(void **state)
{
    (void)state;
    uint64_t kept = 0;
    for (unsigned system = 0; system < 2; system++) {
        struct world_options options = tables_in(system != 0);
        struct world *world = world_open(&options);
        DXGK_SEGMENTOFFSET root = {7, 7, 7};
        uint8_t entry[8], none[8];
        size_t pages = machine_pages_out(world->machine);
        assert_int_equal(ferry_vidmm_root_virtual(world->manager, world->device, &root), FERRY_OK);
        assert_int_equal(root.SegmentId | root.SegmentOffset, 0);
        D3DKMT_HANDLE allocation = content(world, 4, 3);
        map(world, allocation, BASE + PAGES(5), 4);
        turns(world, 20);
        assert_int_equal(ferry_vidmm_root_virtual(world->manager, world->device, &root), FERRY_OK);
        assert_int_equal(root.SegmentId, system ? 0 : machine_local_segment);
        assert_int_not_equal(root.SegmentOffset, 0);
        uint64_t at = root.SegmentOffset + 8 * (BASE >> 39);
        int result = ferry_vidmm_read_table(world->manager, at, entry);
        assert_int_equal(result, system ? FERRY_OK : FERRY_ERROR_RANGE);
        if (system) {
            assert_int_equal(ferry_vidmm_read_table(world->manager, root.SegmentOffset, none), FERRY_OK);
            assert_memory_not_equal(entry, none, sizeof(entry));
        }
        assert_int_equal(ferry_vidmm_read_table(world->manager, at + 1, entry), FERRY_ERROR_ARGUMENT);
        assert_int_equal(ferry_vidmm_read_table(world->manager, at, NULL), FERRY_ERROR_ARGUMENT);
        assert_int_equal(ferry_vidmm_read_table(world->manager, UINT64_C(1) << 50, entry), FERRY_ERROR_RANGE);
        assert_int_equal(machine_pages_out(world->machine), pages);
        if (system)
            assert_int_equal(local_pages(world), kept + 8);
        else
            kept = local_pages(world);
        world_close(world);
    }
}

// Each of them is read by its own bus address, to its last entry.
static void each_of_them_is_read_where_it_is(void **state)
{
    (void)state;
    struct world_options options = tables_in(true);
    struct world *world = world_open(&options);
    const struct ferry_vm_memory *memory = &world->manager->memory;
    D3DKMT_HANDLE allocation = content(world, 4, 3);
    DXGK_SEGMENTOFFSET root;
    uint8_t entry[8], none[8];
    map(world, allocation, (UINT64_C(1) << 48) - PAGES(4), 4);
    turns(world, 20);
    assert_int_equal(ferry_vidmm_root_virtual(world->manager, world->device, &root), FERRY_OK);
    assert_int_equal(ferry_vidmm_read_table(world->manager, root.SegmentOffset, none), FERRY_OK);
    for (uint64_t index = 0; index < 512; index++) {
        assert_int_equal(ferry_vidmm_read_table(world->manager, root.SegmentOffset + 8 * index, entry), FERRY_OK);
        assert_int_equal(memcmp(entry, none, sizeof(entry)) != 0, index == 511);
    }
    for (uint64_t page = 0; page < memory->tables.pages; page++) {
        uint64_t at = ferry_vm_table_place(memory, page).SegmentOffset;
        assert_int_equal(ferry_vidmm_read_table(world->manager, at + PAGE_SIZE - 8, entry), FERRY_OK);
    }
    world_close(world);
}

// As many as the largest memory segment asks for, and those that content is moved by besides.
static void in_system_memory_there_are_as_many_as_in_the_largest_segment(void **state)
{
    (void)state;
    struct world_options options = tables_in(true);
    options.machine.hidden_bytes = machine_hidden_segment ? PAGES(1024) : 0;
    struct world *world = world_open(&options);
    assert_int_equal(world->manager->memory.tables.pages, machine_hidden_segment ? 1024 / 32 : 8);
    world_close(world);
    options.machine.by_address = true;
    world = world_open(&options);
    assert_int_equal(world->manager->memory.tables.pages, machine_hidden_segment ? 1024 / 32 + 4 : 8 + 4);
    world_close(world);
}

// A limit is one of content: the tables are in what is behind it, as far as there is any.
static void behind_a_limit_they_take_nothing_of_it(void **state)
{
    (void)state;
    struct world_options options = tables_in(false);
    options.manager.memory_limit_bytes = PAGES(40);
    struct world *world = world_open(&options);
    assert_int_equal(local_pages(world), 40);
    world_close(world);
    options.manager.memory_limit_bytes = PAGES(60);
    world = world_open(&options);
    assert_int_equal(local_pages(world), 64 - 8);
    world_close(world);
}

// ---- Whose ----

// A table that one program gives up is another's once nothing leads to it: a job that waits still goes by it.
static void what_a_program_gives_up_is_not_anothers_before(void **state)
{
    (void)state;
    for (unsigned system = 0; system < 2; system++) {
        struct world_options options = tables_in(system != 0);
        struct beside b = begin_in(world_open(&options));
        const struct program own = {.device = b.world->device, .queue = b.world->queue};
        D3DKMT_HANDLE old = content(b.world, 4, 3);
        uint64_t at = map(b.world, old, BASE + 0x40000000, 4);
        turns(b.world, 20);
        hold_copy(&b, old, at + PAGES(1));
        assert_int_equal(ferry_vidmm_free_virtual(b.world->manager, b.world->device, at, PAGES(4)), FERRY_OK);
        // All others have been free for longer.
        struct program other = program_begin(b.world, 1, 0);
        program_become(b.world, &other);
        D3DKMT_HANDLE many = content(b.world, 1, 4), target = content(b.world, 1, 5);
        uint64_t at_target = map(b.world, target, BASE + PAGES(8), 1);
        int result = FERRY_OK;
        uint64_t last = 0;
        for (unsigned i = 0; result == FERRY_OK; i++) {
            struct ferry_vidmm_virtual range = {
                .size = sizeof(range), .address = BASE + i * UINT64_C(0x200000), .bytes = PAGES(1)};
            result = ferry_vidmm_map_virtual(b.world->manager, other.device, many, 0, false, &range);
            last = result == FERRY_OK ? range.address : last;
        }
        assert_int_equal(result, FERRY_ERROR_NO_VIDEO_MEMORY);
        assert_int_equal(b.world->manager->memory.tables.free_count, 0);
        turns(b.world, 50);
        program_become(b.world, &own);
        finish(&b);
        assert_int_equal(word_of(b.world, b.result, 0), world_word(3, PAGES(1) / 4));
        // Its new owner goes by it then.
        program_become(b.world, &other);
        world_wait(b.world, copy(b.world, other.context, (const D3DKMT_HANDLE[2]){target, many}, at_target, last, 64));
        assert_int_equal(word_of(b.world, target, 0), world_word(4, 0));
        world_close(b.world);
    }
}

// Areas of 2 MiB, from the first address on, until there is no table for another one; how many.
static uint32_t take_tables(struct world *world, D3DKMT_HANDLE allocation, uint64_t *table_bytes)
{
    struct ferry_vidmm_virtual range;
    uint32_t count = 0;
    int result;
    do {
        range = (struct ferry_vidmm_virtual){
            .size = sizeof(range), .address = BASE + count * UINT64_C(0x200000), .bytes = PAGES(1)};
        result = ferry_vidmm_map_virtual(world->manager, world->device, allocation, 0, false, &range);
        count += result == FERRY_OK;
    } while (result == FERRY_OK);
    assert_int_equal(result, FERRY_ERROR_NO_VIDEO_MEMORY);
    *table_bytes = range.table_bytes;
    return count;
}

// A job of the program goes by an address of its own.
static void copies_by_address(struct world *world, const struct program *program, uint32_t number)
{
    program_become(world, program);
    D3DKMT_HANDLE from = content(world, 1, number), to = content(world, 1, 0);
    uint64_t at = map(world, from, BASE, 1), at_to = map(world, to, BASE + PAGES(8), 1);
    world_wait(world, copy(world, program->context, (const D3DKMT_HANDLE[2]){to, from}, at_to, at, 64));
    assert_int_equal(word_of(world, to, 0), world_word(number, 0));
}

// 32 tables. Whoever has four leaves four to each that is there, and to one that comes.
static void a_greedy_program_leaves_others_a_first_mapping(void **state)
{
    (void)state;
    struct world_options options = updates_options(1024, 0);
    struct world *world = world_open(&options);
    const struct ferry_vm_table_pool *pool = &world->manager->memory.tables;
    const struct program own = {.device = world->device, .queue = world->queue, .context = world->context};
    struct program others[3];
    uint64_t bytes, before, given;
    others[0] = program_begin(world, 1, 0);
    D3DKMT_HANDLE one = content(world, 1, 3);
    assert_int_equal(take_tables(world, one, &bytes), 32 - 3 - 8);
    assert_int_equal(bytes, PAGE_SIZE);
    assert_int_equal(pool->free_count, 8);
    others[1] = program_begin(world, 1, 0);
    copies_by_address(world, &others[1], 4);
    copies_by_address(world, &others[0], 5);
    others[2] = program_begin(world, 1, 0);
    program_become(world, &others[2]);
    D3DKMT_HANDLE third = content(world, 1, 6);
    assert_int_equal(take_tables(world, third, &bytes), 0);
    assert_int_equal(bytes, 4 * PAGE_SIZE);
    // What one gives back is theirs who have none.
    program_become(world, &own);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, BASE + i * 0x200000, PAGES(1)),
                         FERRY_OK);
    turns(world, 50);
    assert_int_equal(pool->free_count, 4);
    struct ferry_vidmm_virtual again = {.size = sizeof(again), .address = BASE, .bytes = PAGES(1)};
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, own.device, one, 0, false, &again),
                     FERRY_ERROR_NO_VIDEO_MEMORY);
    program_become(world, &others[2]);
    copies_by_address(world, &others[2], 7);
    // Who ends without tables leaves what was kept for him, and whoever found too few may look again.
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, others[2].process), FERRY_OK);
    others[2] = program_begin(world, 1, 0);
    assert_int_equal(ferry_vidmm_tables_given(world->manager, &before), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, others[2].process), FERRY_OK);
    assert_int_equal(ferry_vidmm_tables_given(world->manager, &given), FERRY_OK);
    assert_true(given > before);
    // So do the devices of no program, when the last of them ends: but for its root.
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, own.device), FERRY_OK);
    turns(world, 50);
    program_become(world, &others[0]);
    uint32_t unused = pool->free_count;
    D3DKMT_HANDLE last = content(world, 1, 8);
    for (uint64_t i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_free_virtual(world->manager, others[0].device, BASE + PAGES(8 * i), PAGES(1)),
                         FERRY_OK);
    turns(world, 50);
    take_tables(world, last, &bytes);
    assert_true(unused > 20);
    assert_int_equal(pool->free_count, 4);
    world_close(world);
}

// ---- How large pages are ----

// Entries that led to content, by the size of their pages; at least twice each, as it is looked before and behind each
// build.
static unsigned of_2_mib, of_64_kib, of_4_kib;
static void count_entries(void *context)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &spy.building->UpdatePageTable;
    (void)context;
    if (spy.building->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE || !update->pPageTableEntries[0].Valid)
        return;
    if (update->PageTableLevel != 0)
        of_2_mib += update->pPageTableEntries[0].LargePage;
    else
        *(update->Flags.Use64KBPages ? &of_64_kib : &of_4_kib) += update->NumPageTableEntries;
}

static void reads(struct world *world, D3DKMT_HANDLE allocation, D3DKMT_HANDLE result, uint64_t at, uint64_t page)
{
    const D3DKMT_HANDLE names[2] = {result, allocation};
    world_wait(world, copy(world, world->context, names, BASE, at + PAGES(page), 64));
    assert_int_equal(word_of(world, result, 0), world_word(3, PAGES(page) / 4));
}

// All that allows it has a large page. What says DisableLargePageMapping has entries of 4 KiB instead, and so has what
// a driver of before WDDM 2.1 makes, which knows of no others; also what is left of a mapping, and once it is back.
static void R147_R148_large_pages_are_only_where_the_driver_has_them(void **state)
{
    (void)state;
    static const struct {
        UINT flag, version;
        bool large;
    } cases[] = {{0, DXGKDDI_WDDMv3_2, true},
                 {0, DXGKDDI_WDDMv2_1, true},
                 {DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING, DXGKDDI_WDDMv3_2, false},
                 {DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING, DXGKDDI_WDDMv2_1, false},
                 {0, DXGKDDI_WDDMv2, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world_options options = updates_options(1200, 0);
        options.machine.version = cases[i].version;
        struct world *world = world_open(&options);
        struct ferry_allocation_private wanted = world_private(PAGES(530), CPU | cases[i].flag);
        D3DKMT_HANDLE allocation, result = content(world, 1, 1);
        uint64_t at = BASE + PAGES(512);
        wanted.Alignment = 512 * PAGE_SIZE;
        assert_int_equal(world_try_create(world, &wanted, NULL, &allocation, NULL), FERRY_OK);
        world_write(world, allocation, 3);
        map(world, result, BASE, 1);
        reserve(world, at, 1024);
        map(world, allocation, at, 530);
        of_2_mib = of_64_kib = of_4_kib = 0;
        spy.in_build = count_entries;
        world_require(world, allocation);
        reads(world, allocation, result, at, 511);
        assert_int_equal(of_2_mib, cases[i].large ? 2 : 0);
        assert_int_equal(of_64_kib, cases[i].large ? 2 : 0);
        assert_true(cases[i].large ? of_4_kib == 2 * 2 : of_4_kib >= 2 * 530); // more are in several buffers
        // Four pages go, and the rest stays as it was, or has smaller ones.
        struct ferry_vidmm_update hole = {.kind = FERRY_VIDMM_UNMAP, .address = at + PAGES(100), .bytes = PAGES(4)};
        of_4_kib = 0;
        update(world, world->context, &hole, 1);
        reads(world, allocation, result, at, 99);
        reads(world, allocation, result, at, 104);
        assert_int_equal(of_4_kib > 0, cases[i].large);
        world_write(world, allocation, 3);
        assert_int_equal(world_place(world, allocation).segment, 0);
        of_2_mib = of_64_kib = 0;
        reads(world, allocation, result, at, 0);
        reads(world, allocation, result, at, 529);
        assert_int_equal(of_2_mib, 0);
        assert_int_equal(of_64_kib > 0, cases[i].large);
        spy.in_build = NULL;
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_system_memory_they_take_nothing_of_a_segment),
        cmocka_unit_test(each_of_them_is_read_where_it_is),
        cmocka_unit_test(in_system_memory_there_are_as_many_as_in_the_largest_segment),
        cmocka_unit_test(behind_a_limit_they_take_nothing_of_it),
        cmocka_unit_test(what_a_program_gives_up_is_not_anothers_before),
        cmocka_unit_test(a_greedy_program_leaves_others_a_first_mapping),
        cmocka_unit_test(R147_R148_large_pages_are_only_where_the_driver_has_them),
    };
    return WORLD_RUN(tests);
}
