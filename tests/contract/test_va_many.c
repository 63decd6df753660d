// SPDX-License-Identifier: Apache-2.0
// Many mappings of one allocation: one more, or less, costs the same however many there are; and jobs and questions
// look at no other mappings than those that they are about.
#include <stdio.h>

#include "poison.h"
#include "updates.h"
#include "vidmm/api/call.h"
#include "vidmm/memory/mappings.h"

// The manager asks for a range's operations by this, of each range that it looks at.
size_t __real_ferry_vm_address_most_pieces(uint64_t pages);
size_t __wrap_ferry_vm_address_most_pieces(uint64_t pages);
static uint64_t asked;

size_t __wrap_ferry_vm_address_most_pieces(uint64_t pages)
{
    asked++;
    return __real_ferry_vm_address_most_pieces(pages);
}

// And a place for a range is looked for range by range with this.
struct ferry_vm_range *__real_ferry_vm_address_find(const struct ferry_vm_address_space *space, uint64_t page);
struct ferry_vm_range *__wrap_ferry_vm_address_find(const struct ferry_vm_address_space *space, uint64_t page);
static uint64_t looked;

struct ferry_vm_range *__wrap_ferry_vm_address_find(const struct ferry_vm_address_space *space, uint64_t page)
{
    looked++;
    return __real_ferry_vm_address_find(space, page);
}

enum way { BY_CALLS, BY_UPDATES, WAYS };

// So many single pages of one allocation: ranges looked at for each that is mapped, and those of the pager's line for
// each that is unmapped with all the others.
static void of_one(unsigned count, enum way way, double *mapped, double *unmapped)
{
    struct world *world = begin(4096, 0);
    D3DKMT_HANDLE context = context_on(world, 1), allocation = content(world, 4, 1);
    uint64_t at = reserve(world, BASE + 0x400000, 4096);
    spy.keep = false;
    asked = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct ferry_vidmm_update change = mapping(at + PAGES(i), 1, allocation, i % 3);
        if (way == BY_UPDATES)
            update(world, context, &change, 1);
        else
            map(world, allocation, at + PAGES(i), 1);
    }
    turns(world, 4);
    *mapped = (double)asked / count;
    uint64_t before = world->manager->sched.index_steps,
             told = world_statistics(world).operations[DXGK_OPERATION_FLUSH_TLB];
    // Buffers are with the device while others are built.
    world->knobs->delay = 2;
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, allocation), FERRY_OK);
    turns(world, count);
    assert_true(world_statistics(world).operations[DXGK_OPERATION_FLUSH_TLB] >= told + count);
    *unmapped = (double)(world->manager->sched.index_steps - before) / count;
    world_close(world);
}

static void one_mapping_costs_the_same_however_many_there_are(void **state)
{
    (void)state;
    for (enum way way = BY_CALLS; way < WAYS; way++) {
        double few[2], many[2];
        of_one(500, way, &few[0], &few[1]);
        of_one(4000, way, &many[0], &many[1]);
        printf("of 500 mappings %.1f and %.1f steps each, of 4,000 %.1f and %.1f\n", few[0], few[1], many[0], many[1]);
        assert_true(many[0] < 1.5 * few[0]);
        assert_true(many[1] < 2 * few[1]);
    }
}

// Ranges looked at for each single page that is mapped at any place, by turns among low addresses and among high ones:
// so the next place is never where the last one went. Every other one of the low ones is a hole that is too small.
static double at_any_place(unsigned count)
{
    struct world *world = begin(4096, 0);
    D3DKMT_HANDLE allocation = content(world, 20, 1);
    struct ferry_vidmm_virtual range = {.size = sizeof(range)};
    spy.keep = false;
    for (unsigned i = 0; i < count; i++)
        map(world, allocation, BASE + PAGES(2 * i), 1);
    looked = 0;
    for (unsigned i = 0; i < 100; i++) {
        range.least = i % 2 ? BASE : BASE + 0x10000000;
        range.most = range.least + 0x8000000;
        range.bytes = PAGES(2 + i % 19);
        range.address = 0;
        assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, allocation, 0, false, &range),
                         FERRY_OK);
    }
    double each = looked / 100.0;
    world_close(world);
    return each;
}

static void a_place_is_found_without_a_look_at_each_mapping(void **state)
{
    (void)state;
    double few = at_any_place(100), many = at_any_place(4000);
    printf("%.1f looks for a place beside 100 mappings, %.1f beside 4,000\n", few, many);
    assert_true(many < 1.5 * few);
}

// Looks of a mapping that may be anywhere and is nowhere, since every table there is is full; beside so many small
// reservations, between which there is room.
static double at_no_place(unsigned count)
{
    struct world *world = begin(4096, 0);
    D3DKMT_HANDLE allocation = world_create(world, PAGES(512), 0);
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .bytes = PAGES(512)};
    spy.keep = false;
    int result = FERRY_OK;
    for (unsigned i = 0; result == FERRY_OK; i++) {
        range.address = BASE + PAGES(512 * i);
        result = ferry_vidmm_map_virtual(world->manager, world->device, allocation, 0, false, &range);
    }
    assert_int_equal(result, FERRY_ERROR_NO_VIDEO_MEMORY);
    for (unsigned i = 0; i < count; i++)
        reserve(world, 2 * BASE + PAGES(32 * i), 16);
    looked = 0;
    range = (struct ferry_vidmm_virtual){.size = sizeof(range), .bytes = PAGES(1)};
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, allocation, 0, false, &range),
                     FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(range.table_bytes, PAGE_SIZE);
    double looks = (double)looked;
    world_close(world);
    return looks;
}

static void that_there_is_no_place_is_found_without_a_look_at_each_reservation(void **state)
{
    (void)state;
    double few = at_no_place(5000), many = at_no_place(30000);
    printf("%.0f looks for no place beside 5,000 reservations, %.0f beside 30,000\n", few, many);
    assert_true(many < 1.5 * few);
}

// And for what goes of a range this is asked.
bool __real_ferry_vm_batch_removed(const struct ferry_vm_batch *batch, const struct ferry_vm_range *range,
                                   struct ferry_vm_removed *removed);
bool __wrap_ferry_vm_batch_removed(const struct ferry_vm_batch *batch, const struct ferry_vm_range *range,
                                   struct ferry_vm_removed *removed);
static uint64_t removals;

bool __wrap_ferry_vm_batch_removed(const struct ferry_vm_batch *batch, const struct ferry_vm_range *range,
                                   struct ferry_vm_removed *removed)
{
    removals++;
    return __real_ferry_vm_batch_removed(batch, range, removed);
}

// Looks at holes for each of so many that one batch makes in one mapping, a page in each group of 64 KiB.
static double of_holes(unsigned count)
{
    struct world *world = begin(16 * count + 1024, 0);
    D3DKMT_HANDLE context = context_on(world, 1), allocation = content(world, 16 * count, 1);
    uint64_t place = world_place(world, allocation).offset;
    // So that there are groups, and no large pages.
    uint64_t at = reserve(world, BASE + 0x400000, 16 * count + 1024) + place % PAGES(512) + PAGES(16);
    struct ferry_vidmm_update change = mapping(at, 16 * count, allocation, 0);
    struct ferry_vidmm_update *holes = calloc(count, sizeof(*holes));
    assert_non_null(holes);
    spy.keep = false;
    update(world, context, &change, 1);
    turns(world, 4);
    for (unsigned i = 0; i < count; i++)
        holes[i] = (struct ferry_vidmm_update){
            .kind = FERRY_VIDMM_UNMAP, .address = at + PAGES(16 * i + 3), .bytes = PAGES(1)};
    removals = 0;
    update(world, context, holes, count);
    double each = (double)removals / count;
    free(holes);
    world_close(world);
    return each;
}

static void a_hole_more_costs_the_same_however_many_there_are(void **state)
{
    (void)state;
    double few = of_holes(64), many = of_holes(512);
    printf("%.1f looks for each of 64 holes, %.1f of 512\n", few, many);
    assert_true(many < 1.5 * few);
}

// ---- Who looks at what ----

static struct ferry_vm_allocation *found(struct world *world, D3DKMT_HANDLE handle)
{
    return ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_ALLOCATION, handle);
}

// What a call does is done by a child, in which nobody may look at a mapping that is neither the first one nor waits:
// its memory is poisoned.
struct question {
    struct world *world;
    D3DKMT_HANDLE context, allocation;
    uint64_t own; // the address that each instance has one of, 0 = none
    uint64_t at;  // where the job's commands reach it
};

static void looks_at_no_other_mapping(const struct question *q, void ask(const struct question *q))
{
    if (!poison_in_a_child())
        return;
    // Its whole, and the first of the others, which has what those come to.
    struct ferry_vm_range *next, *whole = found(q->world, q->allocation)->mappings;
    const struct ferry_vm_range *first = whole && whole->each_instance ? whole->of_owner : whole;
    for (struct ferry_vm_range *range = whole; range; range = next) {
        next = range->of_owner;
        if (range != whole && range != first && range->more->after == 0)
            ASAN_POISON_MEMORY_REGION(range, sizeof(*range) + sizeof(range->more[0]));
    }
    ask(q);
    _exit(0);
}

static void ask_for_own(const struct question *q)
{
    uint64_t own = 1;
    if (ferry_vidmm_own_address(q->world->manager, q->allocation, &own) != FERRY_OK || own != q->own)
        _exit(1);
}

// A job of the manager's that names it, and says where the address that it has been given was.
static void name_it(const struct question *q)
{
    struct machine_job job = {.bytes = 0};
    const struct ferry_vidmm_reference reference = {q->allocation, true};
    const uint64_t address = q->own;
    uint64_t fence;
    machine_job_copy(&job, 0, 0, 0, 0, 64);
    for (uint32_t i = 0; i < 2; i++)
        machine_job_by_address(job.commands, &job.patches[i], q->at + i * PAGE_SIZE);
    struct ferry_vidmm_submission submission = {.commands = job.commands,
                                                .bytes = job.bytes,
                                                .references = &reference,
                                                .reference_count = 1,
                                                .patches = NULL,
                                                .patch_count = 0,
                                                .addresses = &address};
    if (ferry_vidmm_submit(q->world->manager, q->context, &submission, 1, &fence) != FERRY_OK)
        _exit(1);
}

static void name_it_often(const struct question *q)
{
    for (unsigned i = 0; i < 4; i++)
        name_it(q);
}

// The whole of it, for each instance.
static int map_own(struct world *world, D3DKMT_HANDLE allocation, uint64_t address, uint64_t pages)
{
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .address = address, .bytes = PAGES(pages), .each_instance = true};
    return ferry_vidmm_map_virtual(world->manager, world->device, allocation, 0, false, &range);
}

// Wherever among the others it was mapped.
static void the_address_of_each_instance_is_found_at_once(void **state)
{
    (void)state;
    for (unsigned others = 0; others <= 100; others += 50) {
        struct world *world = begin(1024, 0);
        struct question q = {world, context_on(world, 1), content(world, 4, 1), 0, BASE + 0x100000};
        for (unsigned i = 0; i < others; i++)
            map(world, q.allocation, BASE + 0x400000 + PAGES(i), 1);
        looks_at_no_other_mapping(&q, ask_for_own);
        q.own = q.at;
        assert_int_equal(map_own(world, q.allocation, q.own, 4), FERRY_OK);
        for (unsigned i = others; i < 100; i++)
            map(world, q.allocation, BASE + 0x400000 + PAGES(i), 1);
        looks_at_no_other_mapping(&q, ask_for_own);
        looks_at_no_other_mapping(&q, name_it);
        name_it(&q);
        assert_int_equal(map_own(world, q.allocation, BASE + 0x800000, 4), FERRY_ERROR_ARGUMENT);
        assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, q.own, PAGES(4)), FERRY_OK);
        q.own = 0;
        looks_at_no_other_mapping(&q, ask_for_own);
        world_close(world);
    }
}

// A job stands behind what an update maps of what it names. It looks at that, and at nothing else that is mapped, as
// long as it waits and no longer.
static void a_job_looks_at_those_mappings_only_that_wait(void **state)
{
    (void)state;
    struct world *world = begin(1024, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), result = content(world, 4, 2);
    struct question q = {world, context_on(world, 2), content(world, 4, 1), 0, BASE + 0x100000};
    uint64_t at_result = map(world, result, BASE + 0x110000, 4), x = reserve(world, BASE + 0x400000, 512);
    map(world, q.allocation, q.at, 4);
    for (unsigned i = 0; i < 100; i++) {
        const struct ferry_vidmm_update change = mapping(x + PAGES(i), 1, q.allocation, i % 4);
        update(world, slow, &change, 1);
    }
    looks_at_no_other_mapping(&q, name_it_often);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    uint64_t held = copy(world, slow, (const D3DKMT_HANDLE[2]){result, result}, at_result, at_result + PAGES(1), 64);
    for (unsigned i = 0; i < 6; i++) {
        const struct ferry_vidmm_update change = mapping(x + PAGES(200 + 2 * i), 1, q.allocation, i % 4);
        update(world, slow, &change, 1);
    }
    for (unsigned i = 0; i < 50; i++)
        map(world, q.allocation, BASE + 0x800000 + PAGES(i), 1);
    looks_at_no_other_mapping(&q, name_it_often);
    name_it(&q);
    turns(world, 50);
    assert_false(is_over(world, slow, held));
    looks_at_no_other_mapping(&q, name_it_often);
    // Some of them go, and what is left goes on waiting.
    const struct ferry_vidmm_update gone = {.kind = FERRY_VIDMM_UNMAP, .address = x + PAGES(202), .bytes = PAGES(3)};
    update(world, slow, &gone, 1);
    looks_at_no_other_mapping(&q, name_it_often);
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, slow, held), FERRY_OK);
    turns(world, 50);
    // Who asks now is the last one that looks at what has waited.
    name_it(&q);
    const struct ferry_vm_range *first = found(world, q.allocation)->mappings;
    for (const struct ferry_vm_range *range = first; range; range = range->of_owner)
        assert_int_equal(ferry_vm_range_more(range)->after, 0);
    looks_at_no_other_mapping(&q, name_it_often);
    world_close(world);
}

// What all mappings of an allocation take at most, which is kept and not added up, is what it takes.
static void what_is_kept_of_all_mappings_is_their_sum(void **state)
{
    (void)state;
    struct world *world = begin(16384, 0);
    D3DKMT_HANDLE context = context_on(world, 1), handle = content(world, 1500, 1);
    const struct ferry_vm_allocation *allocation =
        ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_ALLOCATION, handle);
    uint64_t at = reserve(world, BASE + 0x400000, 131072);
    assert_int_equal(ferry_vm_virtual_most(allocation), 0);
    // Of all sizes, and each third one goes again: the newest, the oldest, and in between; or is cut in two.
    for (unsigned i = 0; i < 40; i++) {
        struct ferry_vidmm_update change = mapping(at + PAGES(1600 * i), 1 + i * i % 1100, handle, 0);
        update(world, context, &change, 1);
        if (i % 3 == 0)
            map(world, handle, BASE + 0x40000000 + PAGES(1600 * i), 1 + 25 * i);
        change = (struct ferry_vidmm_update){
            .kind = FERRY_VIDMM_UNMAP, .address = at + PAGES(1600 * (i / 2)), .bytes = PAGES(1 + i % 40)};
        if (i % 4 == 0)
            update(world, context, &change, 1);
        if (i % 7 == 6)
            assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device,
                                                      BASE + 0x40000000 + PAGES(1600 * (i - i % 3)),
                                                      PAGES(1 + 25 * (i - i % 3))),
                             FERRY_OK);
        size_t most = 0, tables = 0, count = 0;
        for (const struct ferry_vm_range *range = allocation->mappings; range; range = range->of_owner, count++) {
            most += ferry_vm_address_most_pieces(range->pages) + 1;
            tables += ferry_vm_virtual_tables_most(range->pages);
        }
        assert_true(count >= i / 2);
        assert_int_equal(ferry_vm_virtual_all(allocation).count, count);
        assert_int_equal(ferry_vm_virtual_most(allocation), most);
        uint64_t all = 2 * world->manager->memory.tables.pages;
        assert_int_equal(ferry_vm_virtual_take_away_most(allocation), most + (tables < all ? tables : all));
    }
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, handle), FERRY_OK);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_mapping_costs_the_same_however_many_there_are),
        cmocka_unit_test(a_place_is_found_without_a_look_at_each_mapping),
        cmocka_unit_test(that_there_is_no_place_is_found_without_a_look_at_each_reservation),
        cmocka_unit_test(a_hole_more_costs_the_same_however_many_there_are),
        cmocka_unit_test(the_address_of_each_instance_is_found_at_once),
        cmocka_unit_test(a_job_looks_at_those_mappings_only_that_wait),
        cmocka_unit_test(what_is_kept_of_all_mappings_is_their_sum),
    };
    return WORLD_RUN(tests);
}
