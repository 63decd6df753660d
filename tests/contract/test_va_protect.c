// SPDX-License-Identifier: Apache-2.0
// Reserved addresses that become another kind, zeros or nothing (wddm-facts 4.6, Map with Protection Zero or NoAccess),
// in driver model 2 of both miniports.
#include "zeros.h"

static uint64_t drawn;
static uint32_t draw(uint32_t below)
{
    return draw_below(&drawn, below);
}

static int protect(struct world *world, uint64_t address, uint64_t pages, enum ferry_vidmm_reservation kind)
{
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .address = address, .bytes = PAGES(pages), .reservation = kind};
    return ferry_vidmm_protect_virtual(world->manager, world->device, &range);
}

static void expect_kind(struct world *world, uint64_t address, uint64_t first, uint64_t pages, bool zeros)
{
    struct ferry_vidmm_mapping found;
    assert_int_equal(ferry_vidmm_find_virtual(world->manager, world->device, address, &found), FERRY_OK);
    assert_true(found.address == first && found.bytes == PAGES(pages) && found.allocation == 0);
    assert_int_equal(found.zeros, zeros);
}

// Some of what leads nowhere becomes zeros, and the reverse; what is beside it stays; what is mapped over both leaves
// to each page what it was.
static void some_of_a_reservation_becomes_zeros_and_leads_nowhere_again(void **state)
{
    (void)state;
    struct world *world = begin_zeros(120, 40, 0);
    D3DKMT_HANDLE one = content(world, 32, 1);
    uint64_t x = reserve(world, BASE + (UINT64_C(1) << 32), 4 * TABLE);
    assert_int_equal(protect(world, x + PAGES(5), TABLE, FERRY_VIDMM_ZERO), FERRY_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(read_page(world, x + PAGES(5 + i * (TABLE - 1) / 2), 0), 0);
    expect_kind(world, x, x, 5, false);
    expect_kind(world, x + PAGES(9), x + PAGES(5), TABLE, true);
    expect_kind(world, x + PAGES(TABLE + 7), x + PAGES(5 + TABLE), 3 * TABLE - 5, false);
    // Already so, and partly so.
    assert_int_equal(protect(world, x + PAGES(6), 4, FERRY_VIDMM_ZERO), FERRY_OK);
    assert_int_equal(protect(world, x + PAGES(4), 4, FERRY_VIDMM_ZERO), FERRY_ERROR_ARGUMENT);
    assert_int_equal(protect(world, x + PAGES(4), 4, FERRY_VIDMM_NO_ACCESS), FERRY_ERROR_ARGUMENT);
    assert_int_equal(protect(world, x, 5, FERRY_VIDMM_NO_ACCESS), FERRY_OK);
    // A hole; zeros on both sides.
    assert_int_equal(protect(world, x + PAGES(100), 17, FERRY_VIDMM_NO_ACCESS), FERRY_OK);
    expect_kind(world, x + PAGES(99), x + PAGES(5), 95, true);
    expect_kind(world, x + PAGES(101), x + PAGES(100), 17, false);
    expect_kind(world, x + PAGES(117), x + PAGES(117), TABLE + 5 - 117, true);
    assert_int_equal(read_page(world, x + PAGES(99), 0), 0);
    assert_int_equal(read_page(world, x + PAGES(117), 0), 0);
    // Over both edges of the hole.
    struct ferry_vidmm_update change = mapping(x + PAGES(96), 32, one, 0);
    update(world, world->context, &change, 1);
    assert_int_equal(read_page(world, x + PAGES(110), one), world_word(1, PAGES(14) / 4));
    assert_int_equal(protect(world, x + PAGES(110), 4, FERRY_VIDMM_ZERO), FERRY_ERROR_BUSY);
    assert_int_equal(protect(world, x + PAGES(90), 8, FERRY_VIDMM_NO_ACCESS), FERRY_ERROR_BUSY);
    change.kind = FERRY_VIDMM_UNMAP;
    update(world, world->context, &change, 1);
    for (uint32_t i = 96; i < 128; i++)
        if (i < 100 || i >= 117)
            assert_int_equal(read_page(world, x + PAGES(i), 0), 0);
    expect_kind(world, x + PAGES(101), x + PAGES(100), 17, false);
    // What of the hole is zeros again is so.
    assert_int_equal(protect(world, x + PAGES(101), 15, FERRY_VIDMM_ZERO), FERRY_OK);
    assert_int_equal(read_page(world, x + PAGES(101), 0), 0);
    assert_int_equal(read_page(world, x + PAGES(115), 0), 0);
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, x, PAGES(4 * TABLE)), FERRY_OK);
    world_close(world);
}

static void bad_changes_of_kind_have_names(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    uint64_t x = reserve(world, BASE + (UINT64_C(1) << 32), 64), y = reserve_zeros(world, x + PAGES(64), 64);
    uint64_t v = reserve(world, y + PAGES(64), 64);
    reserve(world, v + PAGES(64), 64);
    const struct {
        uint64_t address, pages;
        unsigned kind;
        int error;
    } bad[] = {{x + 77, 1, FERRY_VIDMM_ZERO, FERRY_ERROR_ARGUMENT},
               {x, 0, FERRY_VIDMM_ZERO, FERRY_ERROR_ARGUMENT},
               {x - PAGES(1), 2, FERRY_VIDMM_ZERO, FERRY_ERROR_ARGUMENT},
               {x + PAGES(60), 8, FERRY_VIDMM_ZERO, FERRY_ERROR_ARGUMENT},
               {y + PAGES(60), 8, FERRY_VIDMM_NO_ACCESS, FERRY_ERROR_ARGUMENT},
               {v + PAGES(60), 8, FERRY_VIDMM_ZERO, FERRY_ERROR_ARGUMENT},
               {x, 8, FERRY_VIDMM_NO_COMMIT, FERRY_ERROR_ARGUMENT},
               {x, 8, 7, FERRY_ERROR_ARGUMENT},
               {at_result, 1, FERRY_VIDMM_ZERO, FERRY_ERROR_BUSY},
               {UINT64_C(1) << 48, 1, FERRY_VIDMM_ZERO, FERRY_ERROR_ARGUMENT},
               {(UINT64_C(1) << 48) - PAGES(1), 2, FERRY_VIDMM_ZERO, FERRY_ERROR_ARGUMENT}};
    uint32_t left = tables_free(world);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(protect(world, bad[i].address, bad[i].pages, (enum ferry_vidmm_reservation)bad[i].kind),
                         bad[i].error);
        expect_kind(world, x, x, 64, false);
        expect_kind(world, y, y, 64, true);
        assert_int_equal(tables_free(world), left);
    }
    world_close(world);
}

// Its tables are those that all share, as if it had been so from the beginning.
static void what_is_zeros_again_has_no_tables_of_its_own(void **state)
{
    (void)state;
    struct world *world = begin_zeros(64, 40, 0);
    uint64_t x = reserve_zeros(world, BASE + (UINT64_C(1) << 32), 4 * TABLE);
    uint32_t left = tables_free(world);
    assert_int_equal(protect(world, x + PAGES(TABLE + 7), 20, FERRY_VIDMM_NO_ACCESS), FERRY_OK);
    assert_int_equal(tables_free(world), left - 1);
    assert_int_equal(protect(world, x + PAGES(TABLE + 7), 3, FERRY_VIDMM_ZERO), FERRY_OK);
    assert_int_equal(protect(world, x + PAGES(TABLE + 20), 7, FERRY_VIDMM_ZERO), FERRY_OK);
    assert_int_equal(tables_free(world), left - 1);
    assert_int_equal(protect(world, x + PAGES(TABLE + 10), 10, FERRY_VIDMM_ZERO), FERRY_OK);
    assert_int_equal(tables_free(world), left);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(read_page(world, x + PAGES(TABLE + i), 0), 0);
    world_close(world);
}

// As many operations as there are edges among what goes.
static void many_edges_among_what_is_mapped(void **state)
{
    (void)state;
    struct world *world = begin_zeros(700, 40, 0);
    D3DKMT_HANDLE one = content(world, TABLE, 1);
    uint64_t x = reserve(world, BASE + (UINT64_C(1) << 32), TABLE);
    for (uint32_t i = 0; i < TABLE / 4; i++)
        assert_int_equal(protect(world, x + PAGES(4 * i + 1), 2, FERRY_VIDMM_ZERO), FERRY_OK);
    struct ferry_vidmm_update change = mapping(x, TABLE, one, 0);
    update(world, world->context, &change, 1);
    assert_int_equal(read_page(world, x + PAGES(77), one), world_word(1, PAGES(77) / 4));
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, one), FERRY_OK);
    for (uint32_t i = 0; i < TABLE / 4; i += 7)
        assert_int_equal(read_page(world, x + PAGES(4 * i + 2), 0), 0);
    world_close(world);
}

// Where content moves by addresses of the paging process, zeros that come before any content leave those their tables.
static void what_becomes_zeros_before_any_content_leaves_that_its_tables(void **state)
{
    (void)state;
    struct world_options options = updates_options(64, 0);
    options.machine.by_address = true;
    options.manager.table_bytes = PAGES(8); // Too few for a program that is yet to come to be left any.
    struct world *world = world_open(&options);
    uint64_t x = reserve(world, BASE + (UINT64_C(1) << 40), UINT64_C(1) << 34);
    for (uint64_t at = 5; protect(world, x + PAGES(at), 1, FERRY_VIDMM_ZERO) == FERRY_OK;)
        at += UINT64_C(1) << 30;
    D3DKMT_HANDLE one = content(world, 4, 1);
    assert_int_equal(word_of(world, one, 0), world_word(1, 0));
    world_close(world);
}

// ---- Random ----

#define ALL   (2 * TABLE + 96)
#define HEAPS 2u
static const uint32_t sizes[HEAPS] = {600, 40};

struct random_run {
    struct world *world;
    D3DKMT_HANDLE heaps[HEAPS];
    uint64_t x;
    uint32_t leads[ALL]; // 1 + heap << 16 | page; 0 = it is not mapped
    bool zeros[ALL];
};

// What a plain list says of it.
static int expected_of(const struct random_run *run, uint32_t at, uint32_t n, bool zeros)
{
    uint32_t same = 0;
    for (uint32_t i = at; i < at + n; i++) {
        if (run->leads[i] != 0)
            return FERRY_ERROR_BUSY;
        same += run->zeros[i] == zeros;
    }
    return same == 0 || same == n ? FERRY_OK : FERRY_ERROR_ARGUMENT;
}

// Some that are neither mapped nor of both kinds, as far as there are such.
static void change_kind(struct random_run *run)
{
    uint32_t at = draw(ALL), n = 1;
    bool zeros = draw(2);
    while (at + n < ALL && n < 1 + draw(700) && run->leads[at + n] == 0 && run->zeros[at + n] == run->zeros[at])
        n++;
    if (at + n + 3 < ALL && draw(6) == 0)
        n += 3;
    int expected = expected_of(run, at, n, zeros);
    assert_int_equal(protect(run->world, run->x + PAGES(at), n, zeros ? FERRY_VIDMM_ZERO : FERRY_VIDMM_NO_ACCESS),
                     expected);
    for (uint32_t i = at; i < at + n && expected == FERRY_OK; i++)
        run->zeros[i] = zeros;
}

static void change_mapping(struct random_run *run)
{
    uint32_t heap = draw(HEAPS), n = 1 + draw(draw(3) ? 40 : sizes[heap]), offset = draw(sizes[heap] - n + 1),
             at = draw(ALL - n + 1);
    if (draw(2)) {
        offset = offset / 16 * 16;
        at = at / 16 * 16;
    }
    if (heap == 0 && draw(4) == 0) {
        n = TABLE;
        offset = 0;
        at = TABLE * draw(2);
    }
    struct ferry_vidmm_update operation = mapping(run->x + PAGES(at), n, run->heaps[heap], offset);
    bool maps = draw(2);
    operation.kind = maps ? FERRY_VIDMM_MAP : FERRY_VIDMM_UNMAP;
    update(run->world, run->world->context, &operation, 1);
    for (uint32_t i = 0; i < n; i++)
        run->leads[at + i] = maps ? (1 + heap) << 16 | (offset + i) : 0;
}

static void random_kinds(uint64_t seed)
{
    static struct random_run run;
    drawn = seed;
    run = (struct random_run){.world = begin_zeros(2400, 40, draw(2) ? 0 : 2048)};
    struct world *world = run.world;
    for (uint32_t i = 0; i < HEAPS; i++) {
        struct ferry_allocation_private wanted = world_private(PAGES(sizes[i]), CPU);
        wanted.Alignment = sizes[i] >= 512 ? 2u << 20 : 0;
        assert_int_equal(world_try_create(world, &wanted, NULL, &run.heaps[i], NULL), FERRY_OK);
        world_write(world, run.heaps[i], 1 + i);
        world_require(world, run.heaps[i]);
    }
    bool zeros = draw(2);
    run.x =
        zeros ? reserve_zeros(world, BASE + (UINT64_C(1) << 32), ALL) : reserve(world, BASE + (UINT64_C(1) << 32), ALL);
    memset(run.zeros, zeros, sizeof(run.zeros));
    for (unsigned step = 0; step < 80; step++) {
        world->knobs->delay = draw(3);
        for (unsigned i = 0; i < 4; i++)
            change_kind(&run);
        change_mapping(&run);
        world->knobs->fault_addresses = draw(8) == 0 ? 1 : 0;
        if (draw(6) == 0) {
            uint32_t heap = draw(HEAPS);
            void *address;
            assert_int_equal(world_evict(world, run.heaps[heap]), FERRY_OK);
            assert_int_equal(ferry_vidmm_lock(world->manager, run.heaps[heap], 0, &address), FERRY_OK);
            assert_int_equal(ferry_vidmm_unlock(world->manager, run.heaps[heap]), FERRY_OK);
            world_require(world, run.heaps[heap]);
        }
        for (unsigned i = 0; i < 8; i++) {
            uint32_t page = draw(ALL), word = run.leads[page];
            struct ferry_vidmm_mapping found;
            assert_int_equal(ferry_vidmm_find_virtual(world->manager, world->device, run.x + PAGES(page), &found),
                             FERRY_OK);
            assert_int_equal(found.zeros, word == 0 && run.zeros[page]);
            if (word == 0 && !run.zeros[page])
                continue;
            assert_int_equal(read_page(world, run.x + PAGES(page), word ? run.heaps[(word >> 16) - 1] : 0),
                             word ? world_word(word >> 16, PAGES(word & 0xffff) / 4) : 0);
        }
    }
    world->knobs->fault_addresses = 0;
    uint32_t left = tables_free(world);
    if (draw(2)) {
        assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, run.x, PAGES(ALL)), FERRY_OK);
        assert_true(tables_free(world) >= left);
    }
    world_close(world);
}

static void random_kinds_agree_with_a_plain_list(void **state)
{
    (void)state;
    uint64_t seed = seed_given(20261130);
    for (uint64_t i = 0; i < 6; i++)
        random_kinds(seed * 100 + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_of_a_reservation_becomes_zeros_and_leads_nowhere_again),
        cmocka_unit_test(bad_changes_of_kind_have_names),
        cmocka_unit_test(what_is_zeros_again_has_no_tables_of_its_own),
        cmocka_unit_test(many_edges_among_what_is_mapped),
        cmocka_unit_test(what_becomes_zeros_before_any_content_leaves_that_its_tables),
        cmocka_unit_test(random_kinds_agree_with_a_plain_list),
    };
    return WORLD_RUN(tests);
}
