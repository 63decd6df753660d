// SPDX-License-Identifier: Apache-2.0
// Mappings that take the place of others without an update, in driver model 2 of both miniports (wddm-facts 4.6, Map:
// inside an earlier Reserve or Map). The memcpy miniport remembers whatever entry it has read until that is forgotten,
// and says so when a job reaches nothing.
#include "updates.h"

static uint64_t drawn;
static uint32_t draw(uint32_t below)
{
    return draw_below(&drawn, below);
}

static int try_over(struct world *world, D3DKMT_HANDLE allocation, uint64_t offset, uint64_t address, uint64_t pages)
{
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .address = address, .bytes = PAGES(pages), .replace = true};
    return ferry_vidmm_map_virtual(world->manager, world->device, allocation, PAGES(offset), false, &range);
}

static uint32_t through(struct world *world, const D3DKMT_HANDLE names[2], uint64_t to, uint64_t from)
{
    uint64_t fence = copy(world, world->context, names, to, from, 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_OK);
    return word_of(world, names[0], 0);
}

// Jobs before it still find what was there, later ones what is; and what is left of the other is there all the time,
// for a job that is submitted in between too.
static void what_is_mapped_over_another_is_so_for_later_jobs(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), old = content(world, 16, 1), new = content(world, 4, 2),
                  result = content(world, 4, 3);
    uint64_t x = map(world, old, BASE + 0x400000, 16), at_result = map(world, result, BASE + 0x100000, 4);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    copy(world, slow, (const D3DKMT_HANDLE[2]){result, old}, at_result, x + PAGES(5), 64);
    assert_int_equal(try_over(world, new, 1, x + PAGES(5), 2), FERRY_OK);
    copy(world, slow, (const D3DKMT_HANDLE[2]){result, old}, at_result + 64, x + PAGES(4), 64);
    copy(world, slow, (const D3DKMT_HANDLE[2]){result, new}, at_result + 128, x + PAGES(6), 64);
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){result, old}, at_result + 192, x + PAGES(7), 64);
    turns(world, 100);
    assert_false(is_over(world, slow, 1));
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(word_of(world, result, 0), world_word(1, PAGES(5) / 4));
    assert_int_equal(word_of(world, result, 64), world_word(1, PAGES(4) / 4));
    assert_int_equal(word_of(world, result, 128), world_word(2, PAGES(2) / 4));
    assert_int_equal(word_of(world, result, 192), world_word(1, PAGES(7) / 4));
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, x, PAGES(16)), FERRY_OK);
    world_close(world);
}

// As with what is freed: who names what was there comes behind that, on any node.
static void who_names_what_was_there_does_not_find_it_any_more(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), quick = context_on(world, 2), old = content(world, 16, 1),
                  new = content(world, 4, 2), result = content(world, 4, 3), other = content(world, 4, 4);
    uint64_t x = map(world, old, BASE + 0x400000, 16), at_result = map(world, result, BASE + 0x100000, 4),
             at_other = map(world, other, BASE + 0x200000, 4);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    copy(world, slow, (const D3DKMT_HANDLE[2]){result, old}, at_result, x, 64);
    assert_int_equal(try_over(world, new, 0, x + PAGES(5), 2), FERRY_OK);
    uint64_t fence = copy(world, quick, (const D3DKMT_HANDLE[2]){other, old}, at_other, x + PAGES(6), 64);
    turns(world, 100);
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, quick, fence), FERRY_OK);
    assert_int_equal(word_of(world, other, 0), world_word(2, PAGES(1) / 4));
    world_close(world);
}

static void expect(struct world *world, uint64_t address, uint64_t from, uint64_t pages, D3DKMT_HANDLE allocation)
{
    struct ferry_vidmm_mapping found;
    assert_int_equal(ferry_vidmm_find_virtual(world->manager, world->device, address, &found), FERRY_OK);
    assert_true(found.address == from && found.bytes == PAGES(pages));
    assert_int_equal(found.allocation, allocation);
}

// Over a live range there is an error by name, and nothing has changed. It is another thing
// only when it is asked for, and all of it is inside one mapping or one reservation.
static void over_what_is_mapped_only_when_asked_and_only_inside_one(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE one = content(world, 16, 1), two = content(world, 8, 2);
    uint64_t x = map(world, one, BASE + 0x400000, 16), y = map(world, two, x + PAGES(16), 8);
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .least = BASE, .bytes = PAGES(8), .each_instance = true};
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, two, 0, false, &range), FERRY_OK);
    uint64_t own = range.address;
    const struct {
        D3DKMT_HANDLE allocation;
        uint64_t offset, address, pages;
        int expected;
    } bad[] = {
        {two, 0, x + PAGES(12), 8, FERRY_ERROR_BUSY},  // two mappings
        {two, 0, y + PAGES(4), 8, FERRY_ERROR_BUSY},   // and what is free
        {two, 0, x - PAGES(2), 4, FERRY_ERROR_BUSY},   // free before it
        {two, 0, own, 8, FERRY_ERROR_BUSY},            // what each instance has
        {two, 0, own + PAGES(1), 1, FERRY_ERROR_BUSY}, // and some of it
        {two, 4, x, 8, FERRY_ERROR_RANGE},
        {two, 0, x + 77, 4, FERRY_ERROR_ARGUMENT},
        {two, 0, 0, 4, FERRY_ERROR_ARGUMENT}, // at any place there is nothing to replace
        {two, 0, UINT64_C(1) << 48, 4, FERRY_ERROR_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(try_over(world, bad[i].allocation, bad[i].offset, bad[i].address, bad[i].pages),
                         bad[i].expected);
        expect(world, x, x, 16, one);
        expect(world, y, y, 8, two);
        expect(world, own, own, 8, two);
    }
    range = (struct ferry_vidmm_virtual){
        .size = sizeof(range), .address = x, .bytes = PAGES(16), .each_instance = true, .replace = true};
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, one, 0, false, &range),
                     FERRY_ERROR_ARGUMENT);
    range = (struct ferry_vidmm_virtual){.size = sizeof(range), .address = x + PAGES(4), .bytes = PAGES(4)};
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, two, 0, false, &range), FERRY_ERROR_BUSY);
    expect(world, x, x, 16, one);
    // And where nothing is it is a mapping as any other.
    assert_int_equal(try_over(world, two, 0, x + PAGES(64), 4), FERRY_OK);
    assert_int_equal(try_over(world, two, 0, x + PAGES(4), 4), FERRY_OK);
    expect(world, x, x, 4, one);
    expect(world, x + PAGES(4), x + PAGES(4), 4, two);
    expect(world, x + PAGES(8), x + PAGES(8), 8, one);
    // Inside what is left, as it is a mapping by itself.
    assert_int_equal(try_over(world, two, 0, x + PAGES(6), 4), FERRY_ERROR_BUSY);
    assert_int_equal(try_over(world, two, 2, x + PAGES(8), 1), FERRY_OK);
    const D3DKMT_HANDLE names[2] = {two, one};
    assert_int_equal(through(world, names, own, x + PAGES(9)), world_word(1, PAGES(9) / 4));
    world_close(world);
}

// What is mapped there alike stays as it is; where only an update has it so, behind a job, it is waited for.
static void what_an_update_has_mapped_alike_is_waited_for(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), one = content(world, 8, 1), result = content(world, 4, 3);
    uint64_t x = reserve(world, BASE + 0x400000, 16), at_result = map(world, result, BASE + 0x100000, 4);
    struct ferry_vidmm_update change = mapping(x, 4, one, 0);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){result, result}, at_result, at_result + 128, 64);
    update(world, slow, &change, 1);
    assert_false(is_over(world, slow, fence));
    world->knobs->hold_turns = 10;
    assert_int_equal(try_over(world, one, 0, x, 4), FERRY_OK);
    assert_true(is_over(world, slow, fence));
    assert_int_equal(through(world, (const D3DKMT_HANDLE[2]){result, one}, at_result, x + PAGES(3)),
                     world_word(1, PAGES(3) / 4));
    world_close(world);
}

// What is mapped over another while a job has that yet is shown behind the job, and taken away behind that when it
// leaves meanwhile. Until then nobody else gets any of its place: its addresses would lead there.
static void who_gets_its_place_comes_behind_its_entries(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), old = content(world, 8, 1), result = content(world, 4, 3),
                  wanted = content(world, 40, 2), low = world_create(world, PAGES(8), CPU),
                  next = world_create(world, PAGES(30), CPU);
    uint64_t x = map(world, old, BASE + 0x400000, 8), at_result = map(world, result, BASE + 0x100000, 4);
    uint64_t place = world_place(world, wanted).offset;
    world_write(world, low, 4);
    world_write(world, next, 5);
    turns(world, 20);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){result, old}, at_result, x, 64);
    assert_int_equal(try_over(world, wanted, 0, x, 8), FERRY_OK);
    assert_int_equal(world_evict(world, wanted), FERRY_OK);
    assert_int_equal(world_resident(world, &low, 1), FERRY_PENDING);
    assert_int_equal(world_resident(world, &next, 1), FERRY_PENDING);
    turns(world, 100);
    assert_int_equal(world_place(world, wanted).segment, 0);
    // All of it but for its beginning.
    uint64_t at = world_place(world, next).offset;
    assert_true(at > place && at < place + PAGES(40));
    assert_int_not_equal(word_of(world, next, 0), world_word(5, 0));
    assert_false(is_over(world, slow, fence));
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(word_of(world, result, 0), world_word(1, 0));
    world_require(world, next);
    assert_int_equal(word_of(world, next, 0), world_word(5, 0));
    world_close(world);
}

// ---- Random ----

#define ALL   1100u // in one mapping of a large allocation, or one reservation
#define HEAPS 3u

static void random_mappings_over_others(uint64_t seed)
{
    static const uint32_t sizes[HEAPS] = {ALL, 512, 40};
    static uint32_t leads[ALL]; // 1 + heap << 16 | page; 0 = nothing
    drawn = seed;
    struct world_options options = updates_options(3000, draw(2) ? 0 : 2048);
    options.manager.table_bytes = PAGES(24);
    struct world *world = world_open(&options);
    D3DKMT_HANDLE heaps[HEAPS], result = content(world, 4, 9);
    for (uint32_t i = 0; i < HEAPS; i++) {
        struct ferry_allocation_private wanted = world_private(PAGES(sizes[i]), CPU);
        wanted.Alignment = sizes[i] >= 512 ? 2u << 20 : 0;
        assert_int_equal(world_try_create(world, &wanted, NULL, &heaps[i], NULL), FERRY_OK);
        world_write(world, heaps[i], 1 + i);
        world_require(world, heaps[i]);
    }
    bool reserved = draw(2);
    uint64_t x = BASE + (UINT64_C(8) << 20), at_result = map(world, result, BASE + 0x100000, 4);
    if (reserved)
        reserve(world, x, ALL / 16 * 16 + 16);
    else
        map(world, heaps[0], x, ALL);
    for (uint32_t i = 0; i < ALL; i++)
        leads[i] = reserved ? 0 : 1u << 16 | i;
    for (unsigned step = 0; step < 60; step++) {
        uint32_t heap = draw(HEAPS), n = 1 + draw(draw(3) ? 20 : sizes[heap]);
        uint32_t offset = draw(sizes[heap] - n + 1), at = draw(ALL - n + 1);
        if (draw(2)) {
            offset = offset / 16 * 16;
            at = at / 16 * 16;
        }
        if (heap == 1 && draw(2)) {
            n = 512;
            offset = 0;
            at = 512 * draw(2);
        }
        // Of what is in no reservation all of it is in one mapping.
        struct ferry_vidmm_mapping around;
        assert_int_equal(ferry_vidmm_find_virtual(world->manager, world->device, x + PAGES(at), &around), FERRY_OK);
        bool inside = reserved || around.address + around.bytes >= x + PAGES(at + n);
        assert_int_equal(try_over(world, heaps[heap], offset, x + PAGES(at), n), inside ? FERRY_OK : FERRY_ERROR_BUSY);
        for (uint32_t i = 0; inside && i < n; i++)
            leads[at + i] = (1 + heap) << 16 | (offset + i);
        world->knobs->fault_addresses = draw(8) == 0 ? 1 : 0;
        if (draw(6) == 0) {
            assert_int_equal(world_evict(world, heaps[heap]), FERRY_OK);
            world_require(world, heaps[heap]);
        }
        for (unsigned i = 0; i < 8; i++) {
            uint32_t page = i < 4 ? (at + ALL - 2 + draw(n + 3)) % ALL : draw(ALL);
            if (leads[page] == 0)
                continue;
            uint32_t from = (leads[page] >> 16) - 1;
            const D3DKMT_HANDLE names[2] = {result, heaps[from]};
            assert_int_equal(through(world, names, at_result, x + PAGES(page)),
                             world_word(1 + from, PAGES(leads[page] & 0xffff) / 4));
        }
    }
    world->knobs->fault_addresses = 0;
    world_close(world);
}

static void random_mappings_over_others_agree_with_a_plain_list(void **state)
{
    (void)state;
    uint64_t seed = seed_given(20261128);
    for (uint64_t i = 0; i < 6; i++)
        random_mappings_over_others(seed * 100 + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_mapped_over_another_is_so_for_later_jobs),
        cmocka_unit_test(who_names_what_was_there_does_not_find_it_any_more),
        cmocka_unit_test(over_what_is_mapped_only_when_asked_and_only_inside_one),
        cmocka_unit_test(what_an_update_has_mapped_alike_is_waited_for),
        cmocka_unit_test(who_gets_its_place_comes_behind_its_entries),
        cmocka_unit_test(random_mappings_over_others_agree_with_a_plain_list),
    };
    return WORLD_RUN(tests);
}
