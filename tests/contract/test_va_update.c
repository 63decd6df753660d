// SPDX-License-Identifier: Apache-2.0
// Batches of operations on GPU virtual addresses among the jobs of a context, in driver model 2 of both miniports: what
// waits for whom while a job is held back, and random batches and jobs against a plain list of pages. The memcpy
// miniport remembers whatever entry it has read until that is forgotten, and says so when a job reaches nothing.
#include <stdio.h>
#include <stdlib.h>

#include "updates.h"

static uint64_t drawn;
static uint32_t draw(uint32_t below)
{
    return draw_below(&drawn, below);
}

// Behind a job that is held back: jobs before the update and behind it wait there too, and nobody else does, who maps
// and unmaps, names what is mapped there, and pages, beside it.
static void an_update_waits_for_the_jobs_before_it_and_nobody_else_waits_for_it(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), quick = context_on(world, 2), old = content(world, 4, 1),
                  new = content(world, 4, 2), result = content(world, 4, 3), other = content(world, 4, 4);
    uint64_t x = reserve(world, BASE + 0x400000, 16), at_result = map(world, result, BASE + 0x100000, 4),
             at_new = map(world, new, BASE + 0x110000, 4), at_other = map(world, other, BASE + 0x120000, 4);
    struct ferry_vidmm_update both[] = {mapping(x, 2, old, 0), mapping(x + PAGES(2), 2, old, 2)};
    update(world, slow, both, 2);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    copy(world, slow, (const D3DKMT_HANDLE[2]){result, old}, at_result, x + PAGES(1), 64);
    struct ferry_vidmm_update change[] = {mapping(x + PAGES(1), 1, new, 3), mapping(x + PAGES(8), 4, new, 0)};
    update(world, slow, change, 2);
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){result, new}, at_result + 64, x + PAGES(1), 64);
    fence = copy(world, slow, (const D3DKMT_HANDLE[2]){result, old}, at_result + 128, x + PAGES(3), 64);
    // Another job of the program, of what the update maps, on another node.
    uint64_t quick_fence = copy(world, quick, (const D3DKMT_HANDLE[2]){other, new}, at_other, at_new + PAGES(2), 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, quick, quick_fence), FERRY_OK);
    assert_int_equal(word_of(world, other, 0), world_word(2, PAGES(2) / 4));
    // What is mapped beside it, in the same table, and in another reservation by an update.
    uint64_t beside = map(world, other, BASE + 0x480000, 4), y = reserve(world, BASE + 0x500000, 16);
    struct ferry_vidmm_update there = mapping(y, 4, other, 0);
    update(world, quick, &there, 1);
    quick_fence = copy(world, quick, (const D3DKMT_HANDLE[2]){other, other}, y + 256, beside + PAGES(3), 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, quick, quick_fence), FERRY_OK);
    assert_int_equal(word_of(world, other, 256), world_word(4, PAGES(3) / 4));
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, beside, PAGES(4)), FERRY_OK);
    world_check_gpu(world, content(world, 4, 5), 5);
    turns(world, 100);
    assert_false(is_over(world, slow, 1));
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(word_of(world, result, 0), world_word(1, PAGES(1) / 4));
    assert_int_equal(word_of(world, result, 64), world_word(2, PAGES(3) / 4));
    assert_int_equal(word_of(world, result, 128), world_word(1, PAGES(3) / 4));
    world_close(world);
}

// What an update maps is out, and comes in for somebody else while the update waits: it is not there before its time.
static void what_comes_in_meanwhile_is_not_there_before_its_time(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), quick = context_on(world, 2), old = content(world, 4, 1),
                  new = world_create(world, PAGES(4), CPU), result = content(world, 4, 3);
    uint64_t x = reserve(world, BASE + 0x400000, 16), at_result = map(world, result, BASE + 0x100000, 4);
    struct ferry_vidmm_update change = mapping(x, 4, old, 0);
    world_write(world, new, 2);
    update(world, slow, &change, 1);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    copy(world, slow, (const D3DKMT_HANDLE[2]){result, old}, at_result, x, 64);
    change.allocation = new;
    update(world, slow, &change, 1);
    assert_true(world_resident(world, &new, 1) >= 0);
    turns(world, 100);
    // Its content is there, its addresses are not: they are still the other's, whose job has not run.
    world_check_gpu(world, new, 2);
    assert_false(is_over(world, slow, 1));
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){result, new}, at_result + 64, x + PAGES(1), 64);
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(word_of(world, result, 0), world_word(1, 0));
    assert_int_equal(word_of(world, result, 64), world_word(2, PAGES(1) / 4));
    assert_true(is_over(world, quick, 0));
    world_close(world);
}

// A job reaches by address what it does not name. That stays mapped for as long as the job stands before the update.
static void what_is_taken_away_is_there_for_jobs_that_do_not_name_it(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), old = content(world, 4, 1), result = content(world, 4, 3);
    uint64_t x = reserve(world, BASE + 0x400000, 16), at_result = map(world, result, BASE + 0x100000, 4);
    struct ferry_vidmm_update change = mapping(x, 4, old, 0);
    update(world, slow, &change, 1);
    world_wait(world, world_gpu_copy(world, result, 0, result, PAGE_SIZE, 64));
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){result, result}, at_result, x + PAGES(2), PAGE_SIZE);
    change.kind = FERRY_VIDMM_UNMAP;
    update(world, slow, &change, 1);
    turns(world, 100);
    assert_false(is_over(world, slow, fence));
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(word_of(world, result, 0), world_word(1, PAGES(2) / 4));
    world_close(world);
}

// How many stand in the line is bounded, as it is with jobs.
static void one_update_too_many_waits_for_the_oldest(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), one = content(world, 8, 1);
    uint64_t x = reserve(world, BASE + 0x400000, 16), own = map(world, one, BASE + 0x100000, 8);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t fence = copy(world, slow, (const D3DKMT_HANDLE[2]){one, one}, own, own + PAGES(1), 64);
    for (unsigned i = 0; i < 128; i++) {
        struct ferry_vidmm_update change = mapping(x + PAGES(i % 16), 1, one, i % 8);
        change.kind = i / 16 % 2 ? FERRY_VIDMM_UNMAP : FERRY_VIDMM_MAP;
        update(world, slow, &change, 1);
        assert_false(is_over(world, slow, fence));
    }
    world->knobs->hold_turns = 10;
    struct ferry_vidmm_update change = mapping(x, 1, one, 5);
    update(world, slow, &change, 1);
    assert_true(is_over(world, slow, fence));
    fence = copy(world, slow, (const D3DKMT_HANDLE[2]){one, one}, own, x, 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, fence), FERRY_OK);
    assert_int_equal(word_of(world, one, 0), world_word(1, PAGES(5) / 4));
    world_close(world);
}

// Addresses that were mapped one by one, and left by what is gone: two operations side by side meet the same pieces.
static void what_is_gone_leaves_addresses_that_can_be_changed_again(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE gone[3], one = content(world, 8, 1);
    uint64_t x = reserve(world, BASE + 0x400000, 16);
    for (unsigned i = 0; i < 3; i++) {
        gone[i] = world_create(world, PAGES(4), CPU);
        map(world, gone[i], x + PAGES(4 * i), 4);
    }
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, gone[i]), FERRY_OK);
    const struct ferry_vidmm_update changes[] = {
        {.kind = FERRY_VIDMM_UNMAP, .address = x + PAGES(1), .bytes = PAGES(7)},
        {.kind = FERRY_VIDMM_UNMAP, .address = x + PAGES(8), .bytes = PAGES(6)},
        mapping(x + PAGES(15), 1, one, 5),
        mapping(x, 1, one, 6)};
    update(world, world->context, changes, 4);
    uint64_t fence = copy(world, world->context, (const D3DKMT_HANDLE[2]){one, one}, x, x + PAGES(15), 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_OK);
    assert_int_equal(word_of(world, one, PAGES(6)), world_word(1, PAGES(5) / 4));
    world_close(world);
}

// ---- Random ----

#define PROGRAMS     2u // contexts, each on a node of its own, with addresses and allocations of its own
#define HEAPS        4u
#define ALL          1200u
#define READ         2u // this heap nobody writes
#define READER_PAGES 8u
// The last one of the first program is a large page; the one of 17 is in the aperture, which has room for one
// program's.
static const uint32_t heap_pages[PROGRAMS][HEAPS] = {{40, 17, 33, 512}, {40, 17, 33, 60}};
struct page {
    uint32_t heap, page; // heap 0: nothing, else 1 + which
};
struct program {
    const uint32_t *heap_pages;
    D3DKMT_HANDLE context, heaps[HEAPS];
    uint32_t *words[HEAPS]; // of each page the word that fills it
    uint64_t x;
    struct page pages[ALL];
};

static struct ferry_vidmm_update random_operation(struct program *p)
{
    uint32_t heap = draw(HEAPS), most = p->heap_pages[heap], n = 1 + draw(draw(3) ? most : 20 < most ? 20 : most);
    uint32_t offset = draw(most - n + 1), at = draw(ALL - n + 1), source = draw(ALL - n + 1), repeat = n;
    struct ferry_vidmm_update operation = {.kind = (enum ferry_vidmm_update_kind)draw(3)};
    struct page copied[ALL];
    // So that there are large pages and groups, and edges of them.
    if (draw(2) && operation.kind != FERRY_VIDMM_COPY) {
        at = at / 16 * 16;
        offset = offset / 16 * 16;
    }
    if (most == 512 && draw(2) && operation.kind == FERRY_VIDMM_MAP) {
        n = repeat = 512;
        offset = 0;
        at = 512 * draw(2);
    }
    if (operation.kind == FERRY_VIDMM_MAP && n % 2 == 0 && draw(4) == 0)
        repeat = n / 2;
    operation.address = p->x + PAGES(at);
    operation.bytes = PAGES(n);
    operation.allocation = p->heaps[heap];
    operation.offset = PAGES(offset);
    operation.repeat = repeat < n ? PAGES(repeat) : 0;
    operation.source = p->x + PAGES(source);
    memcpy(copied, &p->pages[source], n * sizeof(copied[0]));
    for (uint32_t i = 0; i < n; i++)
        p->pages[at + i] = operation.kind == FERRY_VIDMM_MAP    ? (struct page){1 + heap, offset + i % repeat}
                           : operation.kind == FERRY_VIDMM_COPY ? copied[i]
                                                                : (struct page){0, 0};
    return operation;
}

static bool is_only_read(const struct page *page)
{
    return page->heap == 1 + READ;
}

static void random_job(struct world *world, struct program *p)
{
    uint32_t from = draw(ALL), to = draw(ALL), tries = 0;
    while ((p->pages[from].heap == 0 || p->pages[to].heap == 0 || is_only_read(&p->pages[to])) && tries++ < 40) {
        from = draw(ALL);
        to = draw(ALL);
    }
    const struct page *s = &p->pages[from], *d = &p->pages[to];
    if (s->heap == 0 || d->heap == 0 || is_only_read(d))
        return;
    const D3DKMT_HANDLE names[2] = {p->heaps[d->heap - 1], p->heaps[s->heap - 1]};
    UINT count = names[0] == names[1] ? 1 : 2;
    int result = world_resident(world, names, count);
    if (result != FERRY_OK && result != FERRY_PENDING)
        fail_msg("make resident: %d", result);
    copy(world, p->context, names, p->x + PAGES(to), p->x + PAGES(from), PAGE_SIZE);
    for (UINT i = 0; i < count; i++)
        assert_int_equal(world_evict(world, names[i]), FERRY_OK);
    p->words[d->heap - 1][d->page] = p->words[s->heap - 1][s->page];
}

// Reads what the programs map and unmap elsewhere, and is in nobody's order.
static struct reader {
    D3DKMT_HANDLE context, result;
    uint64_t at_result, own[PROGRAMS];
    uint32_t words[READER_PAGES];
} reader;

static void begin_reader(struct world *world, const struct program *programs)
{
    reader.context = context_on(world, 1 + draw(PROGRAMS));
    reader.result = world_create(world, PAGES(READER_PAGES), CPU);
    reader.at_result = map(world, reader.result, BASE + ((uint64_t)1 << 30), READER_PAGES);
    memset(reader.words, 0, sizeof(reader.words));
    for (uint32_t i = 0; i < PROGRAMS; i++)
        reader.own[i] = map(world, programs[i].heaps[READ], BASE + ((uint64_t)(2 + i) << 30), heap_pages[i][READ]);
}

static void read_random(struct world *world, const struct program *programs)
{
    uint32_t which = draw(PROGRAMS), from = draw(heap_pages[which][READ]), to = draw(READER_PAGES);
    const D3DKMT_HANDLE names[2] = {reader.result, programs[which].heaps[READ]};
    int result = world_resident(world, names, 2);
    if (result != FERRY_OK && result != FERRY_PENDING)
        fail_msg("make resident for the reader: %d", result);
    copy(world, reader.context, names, reader.at_result + PAGES(to), reader.own[which] + PAGES(from), PAGE_SIZE);
    for (UINT i = 0; i < 2; i++)
        assert_int_equal(world_evict(world, names[i]), FERRY_OK);
    reader.words[to] = programs[which].words[READ][from];
}

static void compare_reader(struct world *world)
{
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, reader.result, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    for (uint32_t i = 0; i < READER_PAGES; i++)
        for (uint32_t k = 0; k < PAGE_SIZE / 4 && reader.words[i] != 0; k += 61)
            assert_int_equal(((uint32_t *)address)[i * PAGE_SIZE / 4 + k], reader.words[i]);
    assert_int_equal(ferry_vidmm_unlock(world->manager, reader.result), FERRY_OK);
}

static void fill(struct world *world, struct program *p, uint32_t number)
{
    p->heap_pages = heap_pages[number];
    for (uint32_t h = 0; h < HEAPS; h++) {
        void *address;
        struct ferry_allocation_private wanted = world_private(PAGES(p->heap_pages[h]), CPU);
        wanted.Alignment = p->heap_pages[h] == 512 ? 2u << 20 : 0;
        wanted.Aperture = p->heap_pages[h] == 17;
        assert_int_equal(world_try_create(world, &wanted, NULL, &p->heaps[h], NULL), FERRY_OK);
        p->words[h] = calloc(p->heap_pages[h], sizeof(uint32_t));
        assert_int_equal(ferry_vidmm_lock(world->manager, p->heaps[h], 0, &address), FERRY_OK);
        for (uint32_t i = 0; i < p->heap_pages[h]; i++) {
            p->words[h][i] = 1 + number + 4 * i + 4096 * h;
            for (uint32_t k = 0; k < PAGE_SIZE / 4; k++)
                ((uint32_t *)address)[i * PAGE_SIZE / 4 + k] = p->words[h][i];
        }
        assert_int_equal(ferry_vidmm_unlock(world->manager, p->heaps[h]), FERRY_OK);
    }
}

static void compare(struct world *world, struct program *p)
{
    for (uint32_t h = 0; h < HEAPS; h++) {
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, p->heaps[h], D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        for (uint32_t i = 0; i < p->heap_pages[h]; i++)
            for (uint32_t k = 0; k < PAGE_SIZE / 4; k += 61)
                assert_int_equal(((uint32_t *)address)[i * PAGE_SIZE / 4 + k], p->words[h][i]);
        assert_int_equal(ferry_vidmm_unlock(world->manager, p->heaps[h]), FERRY_OK);
        free(p->words[h]);
    }
}

static void random_batches_among_jobs(uint64_t seed)
{
    static const uint32_t buffers[] = {0, 1024, 4096};
    struct program programs[PROGRAMS];
    drawn = seed;
    // Not all of it fits; all tables do.
    struct world_options options = updates_options(680, buffers[draw(3)]);
    options.manager.table_bytes = PAGES(26);
    struct world *world = world_open(&options);
    world->knobs->scatter_pages = true;
    memset(programs, 0, sizeof(programs));
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        programs[i].context = context_on(world, 1 + i);
        programs[i].x = reserve(world, BASE + ((4 + 8 * (uint64_t)i) << 20), ALL / 16 * 16);
        fill(world, &programs[i], i);
    }
    begin_reader(world, programs);
    world->knobs->delay = draw(4);
    for (unsigned step = 0; step < 150; step++) {
        struct program *p = &programs[draw(PROGRAMS)];
        struct ferry_vidmm_update batch[5];
        uint32_t count = 1 + draw(5);
        if (draw(3) == 0) {
            for (uint32_t i = 0; i < count; i++)
                batch[i] = random_operation(p);
            update(world, p->context, batch, count);
        }
        if (draw(10) == 0)
            world->knobs->fault_addresses = draw(3);
        if (draw(12) == 0 && world->knobs->hold_node == 0) {
            world->knobs->hold_node = 1 + draw(PROGRAMS);
            world->knobs->hold_turns = 1 + draw(40);
        }
        random_job(world, p);
        if (draw(3) == 0)
            read_random(world, programs);
        turns(world, draw(4));
    }
    world->knobs->fault_addresses = 0;
    world->knobs->hold_node = 0;
    for (uint32_t i = 0; i < PROGRAMS; i++)
        compare(world, &programs[i]);
    compare_reader(world);
    world_close(world);
}

static void random_batches_agree_with_a_plain_list(void **state)
{
    (void)state;
    uint64_t seed = seed_given(20261125);
    for (uint64_t i = 0; i < 8; i++)
        random_batches_among_jobs(seed * 100 + i);
}

// Pieces of what is reserved, as whoever asks finds them.
static unsigned pieces(struct world *world, uint64_t address, uint64_t end)
{
    struct ferry_vidmm_mapping at;
    unsigned count = 0;
    for (; address < end; address = at.address + at.bytes) {
        assert_int_equal(ferry_vidmm_find_virtual(world->manager, world->device, address, &at), FERRY_OK);
        assert_int_equal(at.address, address);
        count++;
    }
    assert_int_equal(address, end);
    return count;
}

// A program takes many addresses once, and maps what it makes here and there among them for as long as it lives. What
// the manager keeps of that does not grow: what was reserved is one again, beside others' reservations too.
static void what_is_reserved_is_one_again_when_what_was_mapped_in_it_goes(void **state)
{
    (void)state;
    drawn = seed_given(20261126);
    struct world *world = begin(1024, 0); // So that it has tables for all of them, whatever is still to be given back.
    enum { SIZE = 1024, LIVE = 4 };
    uint64_t first = reserve(world, BASE, SIZE), second = reserve(world, BASE + PAGES(SIZE), SIZE);
    uint64_t end = second + PAGES(SIZE);
    D3DKMT_HANDLE live[LIVE] = {0};
    for (unsigned i = 0; i < 400; i++) {
        D3DKMT_HANDLE *one = &live[draw(LIVE)];
        if (*one)
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, *one), FERRY_OK);
        uint64_t size = 1 + draw(4), at = draw(2 * SIZE - 8);
        *one = world_create(world, PAGES(size), CPU);
        struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = first + PAGES(at), .bytes = PAGES(size)};
        int result = ferry_vidmm_map_virtual(world->manager, world->device, *one, 0, false, &range);
        // Another one is there, or it would be in both.
        assert_true(result == FERRY_OK || result == FERRY_ERROR_BUSY);
        if (draw(4) == 0)
            world_require(world, *one);
        assert_true(pieces(world, first, end) <= 2 * LIVE + 2);
    }
    for (unsigned i = 0; i < LIVE; i++)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, live[i]), FERRY_OK);
    // And on both sides of where one ends and the other begins.
    for (unsigned i = 0; i < 2; i++) {
        live[i] = world_create(world, PAGES(2), CPU);
        map(world, live[i], second - PAGES(2) * !i, 2);
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, live[i]), FERRY_OK);
    assert_int_equal(pieces(world, first, end), 2);
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, first, PAGES(SIZE)), FERRY_OK);
    assert_int_equal(pieces(world, second, end), 1);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_waits_for_the_jobs_before_it_and_nobody_else_waits_for_it),
        cmocka_unit_test(what_comes_in_meanwhile_is_not_there_before_its_time),
        cmocka_unit_test(what_is_taken_away_is_there_for_jobs_that_do_not_name_it),
        cmocka_unit_test(one_update_too_many_waits_for_the_oldest),
        cmocka_unit_test(what_is_gone_leaves_addresses_that_can_be_changed_again),
        cmocka_unit_test(what_is_reserved_is_one_again_when_what_was_mapped_in_it_goes),
        cmocka_unit_test(random_batches_agree_with_a_plain_list),
    };
    return WORLD_RUN(tests);
}
