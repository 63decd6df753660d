// SPDX-License-Identifier: Apache-2.0
// A job reaches addresses at which nothing is mapped, and with that has the device remember the tables that lead there.
// What comes there later is found by whoever names it, and what those tables become is found by nobody.
#include "updates.h"
#include "vidmm/api/manager.h"

struct strays {
    struct world *world;
    D3DKMT_HANDLE context, result;
    uint64_t at_result;
};

static struct strays begin_strays(uint64_t pages)
{
    struct strays s = {.world = begin(pages, 0)};
    s.context = context_on(s.world, 1);
    s.result = content(s.world, 4, 1);
    s.at_result = map(s.world, s.result, BASE + 0x100000, 4);
    return s;
}

// The first word at the address, as a job finds it that names this; what was there before where it finds nothing.
static uint32_t found(const struct strays *s, D3DKMT_HANDLE named, uint64_t address)
{
    uint64_t fence = copy(s->world, s->context, (const D3DKMT_HANDLE[2]){s->result, named}, s->at_result, address, 64);
    ferry_vidmm_wait(s->world->manager, s->context, fence);
    return word_of(s->world, s->result, 0);
}

static void finds_nothing(const struct strays *s, uint64_t address)
{
    uint32_t before = word_of(s->world, s->result, 0);
    assert_int_equal(found(s, s->result, address), before);
}

// The large page comes in the place of a table that a job has been led to.
static void a_large_page_comes_where_a_job_has_found_nothing(void **state)
{
    (void)state;
    struct strays s = begin_strays(1200);
    content(s.world, 508, 2);
    D3DKMT_HANDLE wanted = world_create(s.world, PAGES(512), CPU);
    world_write(s.world, wanted, 3);
    uint64_t at = map(s.world, wanted, BASE + 0x400000, 512);
    turns(s.world, 20);
    finds_nothing(&s, at + PAGES(301));
    world_require(s.world, wanted);
    assert_int_equal(world_place(s.world, wanted).offset % PAGES(512), 0);
    assert_int_equal(found(&s, wanted, at + PAGES(301)), world_word(3, PAGES(301) / 4));
    close_strayed(s.world);
}

// A table ends that a job has been led to, and is another one's.
static void a_table_that_a_job_has_been_led_to_becomes_anothers(void **state)
{
    (void)state;
    struct strays s = begin_strays(64);
    D3DKMT_HANDLE old = content(s.world, 4, 3), next = content(s.world, 4, 4);
    // So the tables above stay.
    map(s.world, next, BASE + 0x400000, 1);
    uint64_t at = map(s.world, old, BASE + 0x600000, 4);
    uint32_t unused = s.world->manager->memory.tables.free_count;
    assert_int_equal(found(&s, old, at + PAGES(2)), world_word(3, PAGES(2) / 4));
    assert_int_equal(world_evict(s.world, old), FERRY_OK);
    content(s.world, 46, 5);
    assert_int_equal(world_place(s.world, old).segment, 0);
    finds_nothing(&s, at + PAGES(2));
    assert_int_equal(ferry_vidmm_free_virtual(s.world->manager, s.world->device, at, PAGES(4)), FERRY_OK);
    assert_int_equal(s.world->manager->memory.tables.free_count, unused + 1);
    // Whichever page it was: all that are free are lowest tables now, with something at the same place in them.
    for (uint64_t i = 0; s.world->manager->memory.tables.free_count > 0; i++)
        map(s.world, next, BASE + 0x800000 + i * 0x200000, 4);
    finds_nothing(&s, at + PAGES(2));
    assert_int_equal(found(&s, next, BASE + 0x800000 + PAGES(2)), world_word(4, PAGES(2) / 4));
    close_strayed(s.world);
}

// A job that is submitted behind it waits for the entries to be taken away, though it waits for nothing else of what it
// names.
static void what_is_freed_is_not_found_by_jobs_behind_it(void **state)
{
    (void)state;
    struct strays s = begin_strays(64);
    D3DKMT_HANDLE old = content(s.world, 4, 3);
    uint64_t at = map(s.world, old, BASE + 0x400000, 4), completed = 0;
    assert_int_equal(found(&s, old, at), world_word(3, 0));
    turns(s.world, 20);
    s.world->knobs->hold_paging = true;
    assert_int_equal(ferry_vidmm_free_virtual(s.world->manager, s.world->device, at, PAGES(4)), FERRY_OK);
    uint64_t fence = copy(s.world, s.context, (const D3DKMT_HANDLE[2]){s.result, old}, s.at_result, at + PAGES(1), 64);
    turns(s.world, 20);
    assert_int_equal(ferry_vidmm_completed(s.world->manager, s.context, &completed), FERRY_OK);
    assert_true(completed < fence);
    s.world->knobs->hold_paging = false;
    ferry_vidmm_wait(s.world->manager, s.context, fence);
    assert_int_equal(word_of(s.world, s.result, 0), world_word(3, 0));
    close_strayed(s.world);
}

// What goes of a mapping begins in one large page and ends in the next: nothing of it is found in either, and what is
// left on both sides is.
static void what_goes_of_two_large_pages_is_not_found(void **state)
{
    (void)state;
    struct strays s = begin_strays(2300);
    content(s.world, 508, 2);
    D3DKMT_HANDLE wanted = content(s.world, 1024, 3);
    assert_int_equal(world_place(s.world, wanted).offset % PAGES(512), 0);
    const uint64_t at = reserve(s.world, BASE + 0x400000, 1024);
    struct ferry_vidmm_update change = mapping(at, 1024, wanted, 0);
    update(s.world, s.context, &change, 1);
    assert_int_equal(found(&s, wanted, at + PAGES(700)), world_word(3, PAGES(700) / 4));
    change = (struct ferry_vidmm_update){.kind = FERRY_VIDMM_UNMAP, .address = at + PAGES(300), .bytes = PAGES(500)};
    update(s.world, s.context, &change, 1);
    for (uint64_t page = 300; page < 800; page += 71)
        finds_nothing(&s, at + PAGES(page));
    assert_int_equal(found(&s, wanted, at + PAGES(299)), world_word(3, PAGES(299) / 4));
    assert_int_equal(found(&s, wanted, at + PAGES(800)), world_word(3, PAGES(800) / 4));
    close_strayed(s.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_page_comes_where_a_job_has_found_nothing),
        cmocka_unit_test(a_table_that_a_job_has_been_led_to_becomes_anothers),
        cmocka_unit_test(what_is_freed_is_not_found_by_jobs_behind_it),
        cmocka_unit_test(what_goes_of_two_large_pages_is_not_found),
    };
    return WORLD_RUN(tests);
}
