// SPDX-License-Identifier: Apache-2.0
// Reservations that read as zeros (wddm-facts 4.6, ReservationType ZERO) in driver model 2 of both miniports: what jobs
// find, among mappings that come and go, what they cost, and how they end. The memcpy miniport remembers whatever entry
// it has read, of each level, until that is forgotten. What a write finds, tests/system says.
#include "programs.h"
#include "zeros.h"

static uint64_t drawn;
static uint32_t draw(uint32_t below)
{
    return draw_below(&drawn, below);
}

static void zeros_are_read_from_edge_to_edge_wherever_they_are(void **state)
{
    (void)state;
    const struct {
        uint64_t first, pages;
    } ranges[] = {{16, 16},                                              // some of one table
                  {TABLE - 32, 48},                                      // over the edge of one
                  {3 * TABLE, TABLE},                                    // all of one
                  {5 * TABLE - 16, 3 * TABLE + 32},                      // of one, two as a whole, and another
                  {512 * TABLE - 16, 512 * TABLE + 32},                  // a table of level 1, and some on both sides
                  {(UINT64_C(1) << 34) - 16, (UINT64_C(1) << 33) + 16}}; // 32 TiB
    struct world *world = begin_zeros(64, 40, 0);
    uint64_t x = BASE + (UINT64_C(1) << 32);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        uint64_t pages = ranges[i].pages, at = reserve_zeros(world, x + PAGES(ranges[i].first), pages);
        const uint64_t reads[] = {0, 15, pages / 2, pages - 1, pages - 17 < pages ? pages - 17 : 0};
        for (size_t k = 0; k < 5; k++)
            assert_int_equal(read_page(world, at + PAGES(reads[k]), 0), 0);
        struct ferry_vidmm_mapping found;
        assert_int_equal(ferry_vidmm_find_virtual(world->manager, world->device, at, &found), FERRY_OK);
        assert_true(found.address == at && found.bytes == PAGES(pages) && found.allocation == 0 && found.zeros);
    }
    world_close(world);
}

// A job that comes behind the call that destroys what was mapped there finds zeros, though nothing names it and what
// takes the entries away is held back.
static void what_is_destroyed_has_left_zeros_for_the_next_job(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    uint64_t x = reserve_zeros(world, BASE + (UINT64_C(1) << 32), 64);
    D3DKMT_HANDLE one = content(world, 16, 1);
    map(world, one, x + PAGES(16), 16);
    assert_int_equal(read_page(world, x + PAGES(20), one), world_word(1, PAGES(4) / 4));
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, one), FERRY_OK);
    const D3DKMT_HANDLE names[2] = {result, result};
    uint64_t fence = copy(world, world->context, names, at_result, x + PAGES(20), 64);
    turns(world, 50);
    assert_false(is_over(world, world->context, fence));
    world->knobs->hold_paging = false;
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_OK);
    assert_int_equal(word_of(world, result, 0), 0);
    world_close(world);
}

// Mapped, out, in again, unmapped, destroyed: what is not there reads as zeros, and what is beside it all the time.
static void what_is_not_mapped_or_not_there_reads_as_zeros(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    D3DKMT_HANDLE one = content(world, 16, 1), two = content(world, 4, 2);
    uint64_t x = reserve_zeros(world, BASE + (UINT64_C(1) << 32), 2 * TABLE);
    assert_int_equal(read_page(world, x + PAGES(20), 0), 0);
    map(world, one, x + PAGES(16), 16);
    assert_int_equal(read_page(world, x + PAGES(20), one), world_word(1, PAGES(4) / 4));
    assert_int_equal(read_page(world, x + PAGES(15), 0), 0);
    assert_int_equal(read_page(world, x + PAGES(TABLE), 0), 0);
    struct ferry_vidmm_update change[] = {mapping(x + PAGES(18), 4, two, 0), mapping(x + PAGES(TABLE - 1), 2, two, 1)};
    update(world, world->context, change, 2);
    assert_int_equal(read_page(world, x + PAGES(19), two), world_word(2, PAGES(1) / 4));
    assert_int_equal(read_page(world, x + PAGES(TABLE), two), world_word(2, PAGES(2) / 4));
    assert_int_equal(read_page(world, x + PAGES(22), one), world_word(1, PAGES(6) / 4));
    assert_int_equal(read_page(world, x + PAGES(TABLE + 1), 0), 0);
    struct ferry_vidmm_mapping found;
    assert_int_equal(ferry_vidmm_find_virtual(world->manager, world->device, x + PAGES(19), &found), FERRY_OK);
    assert_false(found.zeros);
    change[0].kind = FERRY_VIDMM_UNMAP;
    update(world, world->context, change, 1);
    assert_int_equal(read_page(world, x + PAGES(19), 0), 0);
    assert_int_equal(world_evict(world, two), FERRY_OK);
    world_require(world, one);
    // Out, as whoever wants its room has it go.
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, two, 0, &address), FERRY_OK);
    assert_int_equal(ferry_vidmm_unlock(world->manager, two), FERRY_OK);
    assert_int_equal(read_page(world, x + PAGES(TABLE), 0), 0);
    world_require(world, two);
    assert_int_equal(read_page(world, x + PAGES(TABLE), two), world_word(2, PAGES(2) / 4));
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, two), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, one), FERRY_OK);
    for (uint32_t i = 14; i < 34; i++)
        assert_int_equal(read_page(world, x + PAGES(i), 0), 0);
    assert_int_equal(read_page(world, x + PAGES(TABLE - 1), 0), 0);
    assert_int_equal(read_page(world, x + PAGES(TABLE), 0), 0);
    world_close(world);
}

// A copy of what is not mapped is zeros where the target is, and none where it is not.
static void what_is_copied_of_zeros_is_what_the_target_reserves(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    D3DKMT_HANDLE one = content(world, 16, 1);
    uint64_t x = reserve_zeros(world, BASE + (UINT64_C(1) << 32), 64), y = reserve(world, x + PAGES(TABLE), 64);
    struct ferry_vidmm_update changes[] = {
        mapping(x, 16, one, 0),
        {.kind = FERRY_VIDMM_COPY, .address = x + PAGES(8), .bytes = PAGES(8), .source = x + PAGES(24)},
        {.kind = FERRY_VIDMM_COPY, .address = x + PAGES(32), .bytes = PAGES(2), .source = y},
        {.kind = FERRY_VIDMM_COPY, .address = x + PAGES(40), .bytes = PAGES(2), .source = x}};
    update(world, world->context, changes, 4);
    assert_int_equal(read_page(world, x + PAGES(7), one), world_word(1, PAGES(7) / 4));
    assert_int_equal(read_page(world, x + PAGES(8), 0), 0);
    assert_int_equal(read_page(world, x + PAGES(32), 0), 0);
    assert_int_equal(read_page(world, x + PAGES(41), one), world_word(1, PAGES(1) / 4));
    world_close(world);
}

// Six tables at the edges and the highest one; three for all programs, once; nothing for whatever lies between.
static void they_cost_the_tables_at_their_edges_and_give_them_back(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 24, 0);
    struct ferry_vidmm_virtual range;
    uint64_t x = BASE + (UINT64_C(1) << 40);
    uint32_t before = tables_free(world);
    reserve_zeros(world, x, UINT64_C(1) << 27); // 512 GiB, aligned
    uint32_t common = before - tables_free(world);
    assert_int_equal(common, 3);
    reserve_zeros(world, x + (UINT64_C(1) << 40) + PAGES(16), UINT64_C(1) << 28);
    assert_int_equal(before - tables_free(world), common + 6);
    // Too few for another one, which has changed nothing.
    while (tables_free(world) > 8)
        map(world, result, x + (UINT64_C(1) << 44) + PAGES(TABLE) * tables_free(world), 1);
    uint32_t left = tables_free(world);
    assert_int_equal(try_reserve(world, x + (UINT64_C(1) << 42) + PAGES(16), UINT64_C(1) << 28, &range),
                     FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_true(range.table_bytes > 0 && range.table_bytes <= PAGES(6));
    assert_int_equal(tables_free(world), left);
    struct ferry_vidmm_mapping found;
    assert_int_equal(ferry_vidmm_find_virtual(world->manager, world->device, x + (UINT64_C(1) << 42), &found),
                     FERRY_OK);
    assert_true(found.address > x + (UINT64_C(1) << 43));
    assert_int_equal(
        ferry_vidmm_free_virtual(world->manager, world->device, x + (UINT64_C(1) << 40), PAGES(UINT64_C(1) << 29)),
        FERRY_OK);
    assert_int_equal(tables_free(world), left + 6);
    world_close(world);
}

// What is at an edge of both is there until both are gone.
static void two_in_one_table_end_one_after_the_other(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    uint64_t x = reserve_zeros(world, BASE + (UINT64_C(1) << 32) + PAGES(16), 32),
             y = reserve_zeros(world, x + PAGES(64), 32);
    uint32_t left = tables_free(world);
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, x, PAGES(32)), FERRY_OK);
    assert_int_equal(tables_free(world), left);
    assert_int_equal(read_page(world, y, 0), 0);
    assert_int_equal(read_page(world, y + PAGES(31), 0), 0);
    x = reserve_zeros(world, x, 64);
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, y, PAGES(32)), FERRY_OK);
    assert_int_equal(read_page(world, x + PAGES(63), 0), 0);
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, x, PAGES(64)), FERRY_OK);
    assert_int_equal(tables_free(world), left + 2);
    world_close(world);
}

// Two calls, two reservations, also side by side.
static void two_beside_each_other_are_freed_one_by_one(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    uint64_t x = reserve_zeros(world, BASE + (UINT64_C(1) << 32), 48), y = reserve_zeros(world, x + PAGES(48), 48);
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, x, PAGES(48)), FERRY_OK);
    assert_int_equal(read_page(world, y, 0), 0);
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, y, PAGES(48)), FERRY_OK);
    world_close(world);
}

// Four tables are left to each program, also by what all share; and so the first one may be refused.
static void the_first_of_all_leaves_others_their_tables(void **state)
{
    (void)state;
    struct ferry_vidmm_virtual range;
    uint64_t x = BASE + (UINT64_C(1) << 40);
    for (uint32_t tables = 8; tables <= 24; tables++) {
        struct world *world = begin_zeros(64, tables, 0);
        struct program other = program_begin(world, 1, 0);
        const struct program own = {0, world->device, world->queue, world->context};
        bool made = try_reserve(world, x, UINT64_C(1) << 27, &range) == FERRY_OK;
        assert_true(made || (range.table_bytes > 0 && range.table_bytes <= PAGES(8)));
        program_become(world, &other);
        D3DKMT_HANDLE one = world_create(world, PAGES(4), CPU);
        range = (struct ferry_vidmm_virtual){.size = sizeof(range), .address = BASE, .bytes = PAGES(4)};
        assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, one, 0, false, &range), FERRY_OK);
        program_become(world, &own);
        assert_true(made || tables < 20);
        assert_int_equal(ferry_vidmm_destroy_process(world->manager, other.process), FERRY_OK);
        world_close(world);
    }
}

// An allocation leaves before the turn of an update that unmaps it: its addresses are zeros then, and not its place.
static void what_an_update_takes_away_among_zeros_goes_early_too(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), one = content(world, 16, 1);
    uint64_t x = reserve_zeros(world, BASE + (UINT64_C(1) << 32), 64);
    struct ferry_vidmm_update change = mapping(x, 16, one, 0);
    update(world, world->context, &change, 1);
    assert_int_equal(read_page(world, x + PAGES(1), one), world_word(1, PAGES(1) / 4));
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){result, result}, at_result + 128, at_result, 64);
    change.kind = FERRY_VIDMM_UNMAP;
    update(world, slow, &change, 1);
    assert_int_equal(world_evict(world, one), FERRY_OK);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, one, 0, &address), FERRY_OK);
    assert_int_equal(ferry_vidmm_unlock(world->manager, one), FERRY_OK);
    assert_false(is_over(world, slow, fence));
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(read_page(world, x + PAGES(1), 0), 0);
    world_close(world);
}

// Where content moves by addresses of the paging process, zeros that come before any content leave those their tables.
static void zeros_before_any_content_leave_it_its_tables(void **state)
{
    (void)state;
    struct world_options options = updates_options(64, 0);
    options.machine.by_address = true;
    options.manager.table_bytes = PAGES(8); // Too few for a program that is yet to come to be left any.
    struct world *world = world_open(&options);
    struct ferry_vidmm_virtual range;
    uint64_t x = BASE + (UINT64_C(1) << 40) + PAGES(16);
    while (try_reserve(world, x, UINT64_C(1) << 28, &range) == FERRY_OK)
        x += UINT64_C(1) << 42;
    D3DKMT_HANDLE one = content(world, 4, 1);
    assert_int_equal(word_of(world, one, 0), world_word(1, 0));
    world_close(world);
}

static void only_as_a_whole_they_are_freed(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    D3DKMT_HANDLE one = content(world, 16, 1);
    uint64_t x = reserve_zeros(world, BASE + (UINT64_C(1) << 32), 64);
    map(world, one, x + PAGES(8), 8);
    const uint64_t parts[][2] = {{8, 8}, {0, 8}, {0, 16}, {16, 48}, {8, 100}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        assert_int_equal(
            ferry_vidmm_free_virtual(world->manager, world->device, x + PAGES(parts[i][0]), PAGES(parts[i][1])),
            FERRY_ERROR_ARGUMENT);
        assert_int_equal(read_page(world, x, 0), 0);
        assert_int_equal(read_page(world, x + PAGES(9), one), world_word(1, PAGES(1) / 4));
        assert_int_equal(read_page(world, x + PAGES(63), 0), 0);
    }
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, x - PAGES(16), PAGES(96)), FERRY_OK);
    // Others may have them.
    assert_int_equal(map(world, one, x + PAGES(4), 16), x + PAGES(4));
    assert_int_equal(read_page(world, x + PAGES(5), one), world_word(1, PAGES(1) / 4));
    world_close(world);
}

static void kinds_of_reservations_have_names(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    for (unsigned kind = 0; kind < 5; kind++) {
        struct ferry_vidmm_virtual range = {.size = sizeof(range),
                                            .address = BASE + (UINT64_C(1) << 32),
                                            .bytes = PAGES(32),
                                            .reservation = (enum ferry_vidmm_reservation)kind};
        uint32_t left = tables_free(world);
        int error = ferry_vidmm_reserve_virtual(world->manager, world->device, &range);
        assert_int_equal(error, kind > FERRY_VIDMM_NO_COMMIT ? FERRY_ERROR_ARGUMENT : FERRY_OK);
        if (kind != FERRY_VIDMM_ZERO)
            assert_int_equal(tables_free(world), left);
        if (error == FERRY_OK)
            assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, range.address, range.bytes),
                             FERRY_OK);
    }
    world_close(world);
}

// A job that was submitted before still finds zeros, though it has not begun; nobody else waits for it.
static void who_was_before_the_end_still_finds_zeros(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), quick = context_on(world, 2), other = content(world, 4, 4);
    uint64_t x = reserve_zeros(world, BASE + (UINT64_C(1) << 32), 2 * TABLE),
             at_other = map(world, other, BASE + 0x200000, 4);
    const D3DKMT_HANDLE names[2] = {result, result};
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    copy(world, slow, names, at_result, at_result + PAGES(1), 64);
    uint64_t fence = copy(world, slow, names, at_result + 128, x + PAGES(TABLE + 5), 64);
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, x, PAGES(2 * TABLE)), FERRY_OK);
    // Elsewhere: what is under the same entries of tables comes behind their end.
    uint64_t y = reserve_zeros(world, x + (UINT64_C(1) << 42), 32);
    uint64_t quickly = copy(world, quick, (const D3DKMT_HANDLE[2]){other, other}, at_other, y + PAGES(31), 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, quick, quickly), FERRY_OK);
    assert_int_equal(word_of(world, other, 0), 0);
    assert_false(is_over(world, slow, fence));
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(word_of(world, result, 128), 0);
    world_close(world);
}

// Programs come and go with zeros of their own: their tables are there again, and the next one's addresses are its own.
static void they_end_with_their_program(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    struct program own;
    uint32_t left = 0;
    uint64_t x = BASE + (UINT64_C(1) << 32);
    const struct program mine = {0, world->device, world->queue, world->context};
    for (uint32_t i = 0; i < 20; i++) {
        own = program_begin(world, 1, 0);
        program_become(world, &own);
        D3DKMT_HANDLE one = content(world, 4, 1);
        at_result = map(world, one, BASE + 0x100000, 4);
        D3DKMT_HANDLE kept = result;
        result = one;
        reserve_zeros(world, x, 64 + 16 * i);
        reserve_zeros(world, x + PAGES(4096), UINT64_C(1) << 30);
        assert_int_equal(read_page(world, x + PAGES(63 + 16 * i), 0), 0);
        if (i % 2)
            map(world, one, x + PAGES(30), 4);
        assert_int_equal(ferry_vidmm_destroy_process(world->manager, own.process), FERRY_OK);
        result = kept;
        program_become(world, &mine);
        // The first of all leaves the root and what all share.
        if (i > 1)
            assert_int_equal(tables_free(world), left);
        left = tables_free(world);
    }
    world_close(world);
}

// ---- Random ----

#define HEAPS 4u
// The last one is in the aperture, which has room for it.
static const uint32_t sizes[HEAPS] = {700, 512, 40, 16};
#define ALL (3 * TABLE + 96)

struct random_run {
    struct world *world;
    D3DKMT_HANDLE heaps[HEAPS];
    uint64_t x;
    uint32_t leads[ALL]; // 1 + heap << 16 | page; 0 = zeros
};

static void change(struct random_run *run)
{
    struct world *world = run->world;
    uint32_t heap = draw(HEAPS), n = 1 + draw(draw(3) ? 16 : sizes[heap]), offset = draw(sizes[heap] - n + 1),
             at = draw(ALL - n + 1), source = draw(ALL - n + 1);
    uint32_t copied[ALL];
    struct ferry_vidmm_update operation = {.kind = (enum ferry_vidmm_update_kind)draw(3)};
    if (draw(2)) {
        offset = offset / 16 * 16;
        at = at / 16 * 16;
    }
    if (heap == 1 && draw(2)) {
        n = 512;
        offset = 0;
        at = 512 - (uint32_t)(run->x / PAGE_SIZE % 512) + 512 * draw(2);
        source = draw(ALL - n + 1);
    }
    memcpy(copied, &run->leads[source], n * sizeof(copied[0]));
    operation.address = run->x + PAGES(at);
    operation.bytes = PAGES(n);
    operation.allocation = run->heaps[heap];
    operation.offset = PAGES(offset);
    operation.source = run->x + PAGES(source);
    if (operation.kind == FERRY_VIDMM_MAP && draw(2)) {
        struct ferry_vidmm_virtual range = {
            .size = sizeof(range), .address = operation.address, .bytes = operation.bytes, .replace = true};
        assert_int_equal(
            ferry_vidmm_map_virtual(world->manager, world->device, run->heaps[heap], PAGES(offset), false, &range),
            FERRY_OK);
    } else {
        update(world, world->context, &operation, 1);
    }
    for (uint32_t i = 0; i < n; i++)
        run->leads[at + i] = operation.kind == FERRY_VIDMM_MAP    ? (1 + heap) << 16 | (offset + i)
                             : operation.kind == FERRY_VIDMM_COPY ? copied[i]
                                                                  : 0;
    for (unsigned i = 0; i < 8; i++) {
        uint32_t page = i < 5 ? (at + ALL - 2 + draw(n + 3)) % ALL : draw(ALL), word = run->leads[page];
        D3DKMT_HANDLE name = word ? run->heaps[(word >> 16) - 1] : 0;
        assert_int_equal(read_page(world, run->x + PAGES(page), name),
                         word ? world_word((word >> 16), PAGES(word & 0xffff) / 4) : 0);
    }
}

static void random_mappings_among_zeros(uint64_t seed)
{
    static struct random_run run;
    drawn = seed;
    run = (struct random_run){.world = begin_zeros(3400, 40, draw(2) ? 0 : 2048)};
    struct world *world = run.world;
    for (uint32_t i = 0; i < HEAPS; i++) {
        struct ferry_allocation_private wanted = world_private(PAGES(sizes[i]), CPU);
        wanted.Alignment = sizes[i] >= 512 ? 2u << 20 : 0;
        wanted.Aperture = sizes[i] == 16;
        assert_int_equal(world_try_create(world, &wanted, NULL, &run.heaps[i], NULL), FERRY_OK);
        world_write(world, run.heaps[i], 1 + i);
        world_require(world, run.heaps[i]);
    }
    run.x = reserve_zeros(world, BASE + (UINT64_C(1) << 32) + PAGES(16 * draw(32)), ALL);
    for (unsigned step = 0; step < 50; step++) {
        change(&run);
        world->knobs->fault_addresses = draw(8) == 0 ? 1 : 0;
        world->knobs->delay = draw(3);
        uint32_t heap = draw(HEAPS);
        void *address;
        // Out and in again, so that it is shown anew, somewhere else perhaps. What is in the aperture stays there.
        if (draw(4) == 0 && sizes[heap] != 16) {
            assert_int_equal(world_evict(world, run.heaps[heap]), FERRY_OK);
            assert_int_equal(ferry_vidmm_lock(world->manager, run.heaps[heap], 0, &address), FERRY_OK);
            assert_int_equal(ferry_vidmm_unlock(world->manager, run.heaps[heap]), FERRY_OK);
            for (uint32_t i = 0; i < 4; i++) {
                uint32_t page = draw(ALL);
                if (run.leads[page] >> 16 == 1 + heap || run.leads[page] == 0)
                    assert_int_equal(read_page(world, run.x + PAGES(page), 0), 0);
            }
            world_require(world, run.heaps[heap]);
        }
    }
    world->knobs->fault_addresses = 0;
    if (draw(2))
        assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, run.x, PAGES(ALL)), FERRY_OK);
    world_close(world);
}

static void random_mappings_among_zeros_agree_with_a_plain_list(void **state)
{
    (void)state;
    uint64_t seed = seed_given(20261129);
    for (uint64_t i = 0; i < 6; i++)
        random_mappings_among_zeros(seed * 100 + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_are_read_from_edge_to_edge_wherever_they_are),
        cmocka_unit_test(what_is_not_mapped_or_not_there_reads_as_zeros),
        cmocka_unit_test(what_is_destroyed_has_left_zeros_for_the_next_job),
        cmocka_unit_test(what_is_copied_of_zeros_is_what_the_target_reserves),
        cmocka_unit_test(they_cost_the_tables_at_their_edges_and_give_them_back),
        cmocka_unit_test(two_in_one_table_end_one_after_the_other),
        cmocka_unit_test(two_beside_each_other_are_freed_one_by_one),
        cmocka_unit_test(the_first_of_all_leaves_others_their_tables),
        cmocka_unit_test(what_an_update_takes_away_among_zeros_goes_early_too),
        cmocka_unit_test(zeros_before_any_content_leave_it_its_tables),
        cmocka_unit_test(only_as_a_whole_they_are_freed),
        cmocka_unit_test(kinds_of_reservations_have_names),
        cmocka_unit_test(who_was_before_the_end_still_finds_zeros),
        cmocka_unit_test(they_end_with_their_program),
        cmocka_unit_test(random_mappings_among_zeros_agree_with_a_plain_list),
    };
    return WORLD_RUN(tests);
}
