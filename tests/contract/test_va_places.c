// SPDX-License-Identifier: Apache-2.0
// A place, or a page of tables, is nobody else's before the last has gone that leads there: not the entries alone, but
// what the device remembers of them, though the flush behind them faults by itself when nothing else does any more. And
// who comes is not shown where another one still is. A job that names nothing goes to the addresses after each turn: it
// finds what was there, or nothing, and never what somebody else has there by then.
#include "updates.h"
#include "vidmm/api/manager.h"

#define AT          (BASE + 0x400000)
#define FOUND       PAGES(2) // of what is mapped
#define TABLES      15u      // pages for page tables, and for content
#define CONTENT     56u
#define SEEDS       3u  // what of a buffer that faults is carried out is chance
#define FAULTS_MOST 2u  // of the flush alone
#define TURNS_MOST  24u // until all is over

struct places {
    struct world *world;
    D3DKMT_HANDLE slow, quick, result, one, other;
    uint64_t at_result;
};

// ---- Flushes that fault -------------------------------------------------------------------------------------------

static struct {
    struct world *world;
    unsigned faults; // of buffers into which a flush is built from now on
    bool inside;
} plan;

static void flushes_fault(void *context)
{
    (void)context;
    plan.inside = !plan.inside;
    if (!plan.inside || plan.faults == 0 || spy.building->Operation != DXGK_OPERATION_FLUSH_TLB)
        return;
    plan.faults--;
    plan.world->knobs->fault_paging = 1;
}

// The one that it shares with others, and so many in which it is alone.
static void let_flushes_fault(struct world *world, unsigned alone)
{
    plan.world = world;
    plan.faults = 1 + alone;
    plan.inside = false;
    spy.in_build = flushes_fault;
}

// ---- Who goes where nothing is -----------------------------------------------------------------------------------

static struct places begin_with(uint64_t seed, unsigned buffers)
{
    struct world_options options = updates_options(CONTENT + TABLES, 0);
    options.manager.paging_buffers = buffers;
    options.machine.seed = seed;
    options.manager.table_bytes = PAGES(TABLES);
    struct places p = {.world = world_open(&options)};
    p.slow = context_on(p.world, 1);
    p.quick = context_on(p.world, 2);
    p.result = content(p.world, 4, 1);
    p.at_result = map(p.world, p.result, BASE + 0x100000, 4);
    return p;
}

static struct places begin_places(uint64_t seed)
{
    return begin_with(seed, 0);
}

// The device remembers what leads there from now on.
static void reach(const struct places *p, D3DKMT_HANDLE named)
{
    uint64_t fence = copy(p->world, p->quick, (const D3DKMT_HANDLE[2]){p->result, named}, p->at_result, AT + FOUND, 64);
    ferry_vidmm_wait(p->world->manager, p->quick, fence);
    turns(p->world, 20);
}

// What a job finds there now that names nothing of it; what was there before where it finds nothing.
static void a_stray_finds(const struct places *p, uint32_t content)
{
    p->world->knobs->hold_paging = true;
    uint64_t fence =
        copy(p->world, p->slow, (const D3DKMT_HANDLE[2]){p->result, p->result}, p->at_result, AT + FOUND, 64);
    ferry_vidmm_wait(p->world->manager, p->slow, fence);
    uint32_t word = word_of(p->world, p->result, 0);
    assert_true(word == world_word(1, 0) || (content != 0 && word == world_word(content, FOUND / 4)));
    p->world->knobs->hold_paging = false;
}

// After each turn of what goes on.
static void strays_find(const struct places *p, uint32_t content)
{
    for (unsigned i = 0; i < TURNS_MOST; i++) {
        turns(p->world, 1);
        a_stray_finds(p, content);
    }
}

static void other_comes(struct places *p)
{
    assert_int_equal(world_evict(p->world, p->one), FERRY_OK);
    assert_true(world_resident(p->world, &p->other, 1) >= 0);
}

// ---- What leads there goes ---------------------------------------------------------------------------------------

static struct places is_mapped(uint64_t seed)
{
    struct places p = begin_places(seed);
    p.one = content(p.world, 40, 3);
    p.other = world_create(p.world, PAGES(40), CPU);
    world_write(p.world, p.other, 4);
    map(p.world, p.one, AT, 40);
    reach(&p, p.one);
    return p;
}

static struct places is_mapped_by_an_update(uint64_t seed)
{
    struct places p = begin_places(seed);
    p.one = content(p.world, 40, 3);
    p.other = world_create(p.world, PAGES(40), CPU);
    world_write(p.world, p.other, 4);
    struct ferry_vidmm_update change = mapping(reserve(p.world, AT, 64), 40, p.one, 0);
    update(p.world, p.quick, &change, 1);
    reach(&p, p.one);
    return p;
}

static void is_unmapped_by_an_update(struct places *p)
{
    struct ferry_vidmm_update change = {.kind = FERRY_VIDMM_UNMAP, .address = AT, .bytes = PAGES(40)};
    update(p->world, p->quick, &change, 1);
    other_comes(p);
}

// Nothing is there, but the way to where it was is remembered.
static struct places has_been_led_to_a_table(uint64_t seed)
{
    struct places p = begin_places(seed);
    p.one = content(p.world, 4, 3);
    p.other = content(p.world, 4, 4);
    map(p.world, p.other, AT - 0x200000, 1); // so the tables above stay
    map(p.world, p.one, AT, 4);
    reach(&p, p.one);
    assert_int_equal(world_evict(p.world, p.one), FERRY_OK);
    while (world_place(p.world, p.one).segment != 0)
        content(p.world, 4, 5);
    reach(&p, p.result);
    return p;
}

// Whichever it was, all that can be had are lowest tables now, with something at the same place in them.
static void the_table_is_anothers(struct places *p)
{
    struct ferry_vidmm *manager = p->world->manager;
    uint32_t unused = manager->memory.tables.free_count;
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = AT, .bytes = PAGES(4)};
    assert_int_equal(ferry_vidmm_free_virtual(manager, p->world->device, AT, PAGES(4)), FERRY_OK);
    do
        range.address += 0x200000;
    while (ferry_vidmm_map_virtual(manager, p->world->device, p->other, 0, false, &range) == FERRY_OK);
    assert_true(manager->memory.tables.free_count < unused);
}

static const struct way {
    struct places (*begin)(uint64_t seed);
    void (*goes)(struct places *p);
} ways[] = {
    {is_mapped, other_comes},
    {is_mapped_by_an_update, is_unmapped_by_an_update},
    {has_been_led_to_a_table, the_table_is_anothers},
};

static void goes_though_flushes_fault(const struct way *way, uint64_t seed, unsigned alone)
{
    struct places p = way->begin(seed);
    p.world->knobs->delay = 1;
    let_flushes_fault(p.world, alone);
    p.world->knobs->hold_paging = true;
    way->goes(&p);
    p.world->knobs->hold_paging = false;
    strays_find(&p, 3);
    world_require(p.world, p.other);
    assert_int_equal(plan.faults, 0);
    world_check_gpu(p.world, p.other, 4);
    spy.in_build = NULL;
    close_strayed(p.world);
}

static void what_leads_there_goes_and_is_forgotten_before_another_comes(void **state)
{
    (void)state;
    uint64_t seed = seed_given(1);
    for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
        for (unsigned i = 0; i < SEEDS; i++)
            for (unsigned alone = 1; alone <= FAULTS_MOST; alone++)
                goes_though_flushes_fault(&ways[way], seed + i, alone);
}

// What is mapped at the same addresses is found there, and not what was.
static void what_was_there_is_forgotten_before_another_is_mapped_there(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4 * SEEDS; i++)
        for (unsigned alone = 1; alone <= FAULTS_MOST; alone++) {
            struct places p = begin_places(1 + i);
            p.one = content(p.world, 4, 3);
            p.other = content(p.world, 4, 4);
            map(p.world, p.other, AT + 0x10000, 4); // so the table stays
            map(p.world, p.one, AT, 4);
            reach(&p, p.one);
            p.world->knobs->delay = 1;
            let_flushes_fault(p.world, alone);
            assert_int_equal(ferry_vidmm_free_virtual(p.world->manager, p.world->device, AT, PAGES(4)), FERRY_OK);
            map(p.world, p.other, AT, 4);
            reach(&p, p.other);
            assert_int_equal(plan.faults, 0);
            assert_int_equal(word_of(p.world, p.result, 0), world_word(4, FOUND / 4));
            spy.in_build = NULL;
            world_close(p.world);
        }
}

// The newest build of it among those that were kept.
static size_t last_build(DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    size_t last = 0;
    for (size_t i = 0; i < spy.count; i++)
        if (spy.entries[i].kind == SPY_BUILD && spy.entries[i].before.Operation == operation)
            last = i + 1;
    return last;
}

// In an aperture the addresses lead to its host pages themselves. These are given back behind its unmapping there.
static void what_leads_to_host_pages_is_forgotten_before_these_are_given_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SEEDS; i++) {
        struct places p = begin_places(1 + i);
        p.one = world_create_in_aperture(p.world, PAGES(4), CPU);
        world_write(p.world, p.one, 3);
        world_require(p.world, p.one);
        map(p.world, p.one, AT, 4);
        map(p.world, p.result, AT + 0x10000, 4); // so the table stays
        reach(&p, p.one);
        p.world->knobs->delay = 1;
        let_flushes_fault(p.world, FAULTS_MOST);
        spy_clear();
        spy.keep = true;
        assert_int_equal(ferry_vidmm_destroy_allocation(p.world->manager, p.one), FERRY_OK);
        turns(p.world, 2 * TURNS_MOST);
        assert_int_equal(plan.faults, 0);
        assert_true(last_build(DXGK_OPERATION_FLUSH_TLB) > 0);
        assert_true(last_build(DXGK_OPERATION_FLUSH_TLB) < last_build(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT));
        spy.in_build = NULL;
        world_close(p.world);
    }
}

// ---- What leads there comes --------------------------------------------------------------------------------------

// Its place is another one's yet, for whose job it waits: nobody is led there by what has to come.
static void what_comes_is_not_shown_where_another_one_is(void **state)
{
    (void)state;
    struct places p = begin_places(1);
    p.one = content(p.world, 40, 4);
    p.other = world_create(p.world, PAGES(40), CPU);
    world_write(p.world, p.other, 3);
    map(p.world, p.other, AT, 40);
    turns(p.world, 20);
    p.world->knobs->delay = 1;
    p.world->knobs->hold_node = 2;
    uint64_t held = world_gpu_name(p.world, p.quick, p.one, true);
    other_comes(&p);
    turns(p.world, TURNS_MOST);
    a_stray_finds(&p, 0);
    assert_false(is_over(p.world, p.quick, held));
    p.world->knobs->hold_node = 0;
    world_require(p.world, p.other);
    reach(&p, p.other);
    assert_int_equal(word_of(p.world, p.result, 0), world_word(3, FOUND / 4));
    close_strayed(p.world);
}

// The first buffer that begins with entries hangs, with all that stands in it carried out; built again it faults.
static unsigned begun_with_entries;
static void entries_go_again(void *context)
{
    struct world *world = context;
    plan.inside = !plan.inside;
    if (!plan.inside || spy.building->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE ||
        spy.building->DmaBufferWriteOffset != 0)
        return;
    begun_with_entries++;
    world->knobs->hang = world->knobs->late_abort = begun_with_entries == 1;
    world->knobs->fault_paging = begun_with_entries == 2 ? 1 : world->knobs->fault_paging;
}

// It is shown, or shown by smaller pages beside what goes, and leaves: all of that waits for the only buffer there is.
// Whoever has its place is not in the buffer that would show it there once more.
static void what_is_shown_again_is_not_shown_where_another_one_is(void **state)
{
    (void)state;
    for (unsigned cut = 0; cut < 2; cut++)
        for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
            struct places p = begin_with(seed, 1);
            content(p.world, 12, 5);
            p.one = world_create(p.world, PAGES(32), PERMANENT); // so it leaves without a page-out
            p.other = world_create(p.world, PAGES(32), CPU);
            world_write(p.world, p.one, 3);
            world_require(p.world, p.one);
            D3DKMT_HANDLE before = world_create(p.world, PAGES(1), CPU);
            world_write(p.world, p.other, 4);
            world_write(p.world, before, 6);
            assert_int_equal(world_place(p.world, p.one).offset % PAGES(16), 0);
            if (cut)
                map(p.world, p.one, AT, 32);
            turns(p.world, 20);
            p.world->knobs->delay = 1;
            p.world->knobs->hold_paging = true;
            assert_int_equal(world_resident(p.world, &before, 1), FERRY_PENDING);
            plan.inside = false;
            begun_with_entries = 0;
            spy.in_build = entries_go_again;
            spy.in_build_context = p.world;
            struct ferry_vidmm_virtual hole = {
                .size = sizeof(hole), .address = AT + PAGES(8), .bytes = PAGES(1), .replace = true};
            if (cut)
                assert_int_equal(ferry_vidmm_map_virtual(p.world->manager, p.world->device, p.result, 0, false, &hole),
                                 FERRY_OK);
            else
                map(p.world, p.one, AT, 32);
            other_comes(&p);
            p.world->knobs->hold_paging = false;
            strays_find(&p, 3);
            world_require(p.world, p.other);
            assert_true(begun_with_entries > 2);
            world_check_gpu(p.world, p.other, 4);
            spy.in_build = NULL;
            close_strayed(p.world);
        }
}

// What all zeros share, a table of each level, is made of what others have given back, and not before what leads to
// those tables has gone, which a job of theirs keeps: who reads zeros waits for that.
static void zeros_are_made_behind_who_had_their_tables(void **state)
{
    (void)state;
    for (uint32_t left = 1; left <= 2; left++) {
        struct places p = begin_places(1);
        struct ferry_vidmm *manager = p.world->manager;
        const uint64_t most = UINT64_C(1) << 39;
        p.one = content(p.world, 16, 3);
        map(p.world, p.one, AT - 0x200000, 16); // so the tables above stay
        // Few are left beside those, also of what may be had at all.
        struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = AT, .bytes = PAGES(16)};
        uint64_t mapped = 0;
        while (manager->memory.tables.free_count > left &&
               ferry_vidmm_map_virtual(manager, p.world->device, p.one, 0, false, &range) == FERRY_OK) {
            range.address += 0x200000;
            mapped++;
        }
        reach(&p, p.one);
        p.world->knobs->delay = 1;
        p.world->knobs->hold_node = 1;
        uint64_t held = copy(p.world, p.slow, (const D3DKMT_HANDLE[2]){p.one, p.one}, AT, AT + FOUND, 64);
        for (uint64_t i = 0; i < mapped && i < 4; i++)
            assert_int_equal(ferry_vidmm_free_virtual(manager, p.world->device, AT + i * 0x200000, PAGES(16)),
                             FERRY_OK);
        // A root's entry of its own leads there.
        struct ferry_vidmm_virtual zeros = {
            .size = sizeof(zeros), .address = BASE + most, .bytes = most, .reservation = FERRY_VIDMM_ZERO};
        assert_int_equal(ferry_vidmm_reserve_virtual(manager, p.world->device, &zeros), FERRY_OK);
        uint64_t fence = copy(p.world, p.quick, (const D3DKMT_HANDLE[2]){p.result, p.result}, p.at_result,
                              BASE + most + 0x40000000, 64);
        turns(p.world, 4 * TURNS_MOST);
        assert_false(is_over(p.world, p.slow, held));
        p.world->knobs->hold_node = 0;
        assert_int_equal(ferry_vidmm_wait(manager, p.quick, fence), FERRY_OK);
        assert_int_equal(word_of(p.world, p.result, 0), 0);
        world_close(p.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_leads_there_goes_and_is_forgotten_before_another_comes),
        cmocka_unit_test(what_leads_to_host_pages_is_forgotten_before_these_are_given_back),
        cmocka_unit_test(what_was_there_is_forgotten_before_another_is_mapped_there),
        cmocka_unit_test(what_comes_is_not_shown_where_another_one_is),
        cmocka_unit_test(what_is_shown_again_is_not_shown_where_another_one_is),
        cmocka_unit_test(zeros_are_made_behind_who_had_their_tables),
    };
    return WORLD_RUN(tests);
}
