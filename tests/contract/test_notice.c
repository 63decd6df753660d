// SPDX-License-Identifier: Apache-2.0
// NOTIFY_ALLOC before an eviction, in driver model 2: its order, its pieces, and what it is for. An allocation keeps
// its content with runs left out while it is in the aperture; out of it, all content is there.
#include <stdlib.h>

#include "ferry/runs.h"
#include "vidmm/api/manager.h"
#include "world.h"

#define LOCAL_PAGES    256
#define APERTURE_PAGES 160
#define BLOCK_WORDS    (FERRY_RUN_BLOCK_BYTES / 8)

static uint64_t drawn;
static uint32_t draw(uint32_t below)
{
    return draw_below(&drawn, below);
}

static struct world *begin(uint32_t buffer_bytes, bool coherent)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(LOCAL_PAGES);
    options.machine.aperture_bytes = PAGES(APERTURE_PAGES);
    options.machine.coherent_aperture = coherent;
    options.machine.model = 2;
    options.machine.version = DXGKDDI_WDDMv3_2;
    options.manager.paging_buffer_bytes = buffer_bytes;
    return world_open(&options);
}

static bool cached; // what is created is: it is coherent there, and nothing has to order the device's writes

static int try_create(struct world *world, uint64_t pages, bool compressed, D3DKMT_HANDLE *handle)
{
    struct ferry_allocation_private wanted = world_private(PAGES(pages), cached ? CPU | DXGK_ALLOC_FLAG_CACHED : CPU);
    wanted.Flags2 = DXGK_ALLOC_FLAG2_NOTIFY_EVICTION;
    wanted.Aperture = 1;
    wanted.Compressed = compressed;
    return world_try_create(world, &wanted, NULL, handle, NULL);
}

// Content of `pages`, the last of them the list: as it is written, and as it is meant.
struct content {
    uint64_t pages;
    uint64_t *written, *meant;
};

static struct content make_content(uint64_t pages)
{
    struct content c = {pages, calloc(pages, PAGE_SIZE), calloc(pages, PAGE_SIZE)};
    uint64_t blocks = (pages - 1) * PAGE_SIZE / FERRY_RUN_BLOCK_BYTES, at = 0;
    struct ferry_run_list *list = (void *)(c.written + (pages - 1) * (PAGE_SIZE / 8));
    list->magic = FERRY_RUNS_MAGIC;
    for (uint64_t i = 0; i < blocks * BLOCK_WORDS; i++)
        c.written[i] = c.meant[i] = (uint64_t)draw(UINT32_MAX) << 32 | i;
    while (list->count < 100) {
        // Not so long that there is room for less than some of them.
        uint64_t first = at + draw(9), count = 1 + draw(list->count > 3 && draw(4) == 0 ? 200 : 12);
        if (first + count > blocks)
            break;
        struct ferry_run *run = &list->runs[list->count++];
        *run = (struct ferry_run){(UINT)first, (UINT)count, (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX)};
        for (uint64_t i = first * BLOCK_WORDS; i < (first + count) * BLOCK_WORDS; i++)
            c.meant[i] = run->pattern;
        at = first + count;
    }
    assert_true(list->count > 3);
    return c;
}

static void free_content(struct content *c)
{
    free(c->written);
    free(c->meant);
}

// By a job, as whoever compresses would.
static void write_by_gpu(struct world *world, D3DKMT_HANDLE allocation, const struct content *c)
{
    D3DKMT_HANDLE source = world_create(world, PAGES(c->pages), CPU);
    void *bytes;
    assert_int_equal(ferry_vidmm_lock(world->manager, source, D3DDDI_LOCK_WRITE_ONLY, &bytes), FERRY_OK);
    memcpy(bytes, c->written, PAGES(c->pages));
    assert_int_equal(ferry_vidmm_unlock(world->manager, source), FERRY_OK);
    world_require(world, source);
    world_gpu_copy(world, allocation, 0, source, 0, (uint32_t)PAGES(c->pages));
    assert_true(world_evict(world, source) >= 0);
}

static void push_out(struct world *world, D3DKMT_HANDLE allocation)
{
    D3DKMT_HANDLE large = world_create_in_aperture(world, PAGES(APERTURE_PAGES - 1), CPU);
    assert_true(world_evict(world, allocation) >= 0);
    world_require(world, large);
    assert_int_equal(world_place(world, allocation).segment, 0);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
}

// Is all of it there, and the list done with?
static void check_content(struct world *world, D3DKMT_HANDLE allocation, const struct content *c)
{
    const uint64_t *words;
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, D3DDDI_LOCK_READ_ONLY, (void **)&words), FERRY_OK);
    for (uint64_t i = 0; i < (c->pages - 1) * (PAGE_SIZE / 8); i++)
        if (words[i] != c->meant[i])
            fail_msg("word %llu is %llx, expected %llx", (unsigned long long)i, (unsigned long long)words[i],
                     (unsigned long long)c->meant[i]);
    assert_int_equal(((const struct ferry_run_list *)(words + (c->pages - 1) * (PAGE_SIZE / 8)))->magic, 0);
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
}

static D3DKMT_HANDLE compressed(struct world *world, const struct content *c)
{
    D3DKMT_HANDLE allocation = 0;
    assert_int_equal(try_create(world, c->pages, true, &allocation), FERRY_OK);
    world_require(world, allocation);
    write_by_gpu(world, allocation, c);
    return allocation;
}

static void R194_content_after_the_eviction_is_the_decompressed_content(void **state)
{
    (void)state;
    drawn = seed_given(1);
    for (unsigned run = 0; run < machine_rounds(12, 3); run++) {
        struct world *world = begin(run % 3 == 2 ? 512 : 0, run % 2);
        struct content c = make_content(30 + draw(90));
        // The job that writes it may still be waiting.
        world->knobs->delay = run % 4;
        D3DKMT_HANDLE allocation = compressed(world, &c);
        push_out(world, allocation);
        check_content(world, allocation, &c);
        // It stays so, back in the aperture and out again.
        world_require(world, allocation);
        push_out(world, allocation);
        check_content(world, allocation, &c);
        world_close(world);
        free_content(&c);
    }
}

// Calls kept, from `at` on: the next build of this operation.
static size_t next_build(size_t at, DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    while (at < spy.count && (spy.entries[at].kind != SPY_BUILD || spy.entries[at].before.Operation != operation))
        at++;
    return at;
}

// Of those at addresses of programs the allocation's own are some; the paging process's lie below.
#define OF_PROGRAMS (UINT64_C(1) << 47)

static bool at_the_windows(const struct spy_entry *entry)
{
    const DXGKARG_BUILDPAGINGBUFFER *a = &entry->before;
    return a->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE ? a->UpdatePageTable.FirstPteVirtualAddress < OF_PROGRAMS
                                                            : a->FlushTlb.StartVirtualAddress < OF_PROGRAMS;
}

static size_t next_at_the_window(size_t at, DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    while ((at = next_build(at, operation)) < spy.count && !at_the_windows(&spy.entries[at]))
        at++;
    return at;
}

static size_t next_submit(size_t at)
{
    while (at < spy.count && spy.entries[at].kind != SPY_SUBMIT)
        at++;
    return at;
}

static void R185_R186_R187_R188_R189_R190_R191_R192_R212_steps_in_order_and_chunks_once(void **state)
{
    (void)state;
    drawn = seed_given(1);
    for (unsigned pages = 30; pages < 150; pages += 33) {
        struct world *world = begin(0, true);
        struct content c = make_content(pages);
        cached = pages % 2;
        D3DKMT_HANDLE allocation = compressed(world, &c);
        cached = false;
        world_wait(world, world_gpu_name(world, world->context, allocation, false));
        world->knobs->delay = pages % 2 * 3;
        spy_clear();
        push_out(world, allocation);
        uint64_t covered = 0;
        size_t at = 0, chunks = (size_t)spy.operations[DXGK_OPERATION_NOTIFY_ALLOC];
        for (size_t i = 0; i < chunks; i++) {
            size_t map = next_at_the_window(at, DXGK_OPERATION_UPDATE_PAGE_TABLE);
            at = next_build(map, DXGK_OPERATION_NOTIFY_ALLOC);
            assert_true(map < at);                           // step 1 before step 2
            while (spy.entries[at].status != STATUS_SUCCESS) // in several passes
                at = next_build(at + 1, DXGK_OPERATION_NOTIFY_ALLOC);
            const struct spy_entry *entry = &spy.entries[at];
            const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *n = &entry->before.NotifyAllocation;
            assert_true(n->Flags.Eviction && !n->Flags.IoMmuUnmap);
            assert_null(n->hKmdProcessHandle);
            assert_int_equal(n->OffsetInBytes, covered);
            assert_int_equal(n->GpuVirtualAddressAtOffset,
                             spy.entries[map].before.UpdatePageTable.FirstPteVirtualAddress);
            covered += n->SizeInBytes;
            size_t submit = next_submit(at), away = next_at_the_window(at, DXGK_OPERATION_FLUSH_TLB);
            assert_true(submit < away); // steps 3 and 4 before step 5
            assert_true(spy.entries[submit].submit.Flags.Paging);
            at = away;
        }
        assert_int_equal(covered, PAGES(pages));
        // A quarter of the memory, in pages of 64 KiB: what is larger comes in so many pieces.
        assert_int_equal(chunks, (pages + 47) / 48);
        // The mapping is taken away behind all of it, when it is over: it may have had to go again.
        size_t unmap = next_build(at, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);
        assert_true(at < unmap && unmap < spy.count);
        assert_int_equal(next_build(0, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT), unmap);
        assert_true((int32_t)(spy.entries[unmap].done - spy.entries[next_submit(at)].submit.SubmissionFenceId) >= 0);
        check_content(world, allocation, &c);
        world_close(world);
        free_content(&c);
    }
}

static void R193_what_leaves_video_memory_is_not_noticed(void **state)
{
    (void)state;
    struct world *world = begin(0, true);
    struct ferry_allocation_private wanted = world_private(PAGES(6), CPU);
    wanted.Flags2 = DXGK_ALLOC_FLAG2_NOTIFY_EVICTION;
    D3DKMT_HANDLE allocation, other = 0;
    assert_int_equal(world_try_create(world, &wanted, NULL, &allocation, NULL), FERRY_OK);
    world_write(world, allocation, 3);
    world_require(world, allocation);
    world_wait(world, world_gpu_fill(world, allocation, 0, 4, world_word(3, 0)));
    world_force_out(world, allocation);
    assert_int_equal(spy_builds(DXGK_OPERATION_NOTIFY_ALLOC), 0);
    world_check(world, allocation, 3);
    // And of what leaves an aperture only who asked for it.
    other = world_create_in_aperture(world, PAGES(6), CPU);
    world_write(world, other, 4);
    world_require(world, other);
    push_out(world, other);
    assert_int_equal(spy_builds(DXGK_OPERATION_NOTIFY_ALLOC), 0);
    assert_int_equal(try_create(world, 6, false, &other), FERRY_OK);
    world_write(world, other, 5);
    world_require(world, other);
    push_out(world, other);
    assert_int_equal(spy.operations[DXGK_OPERATION_NOTIFY_ALLOC], 1);
    world_check(world, other, 5);
    world_close(world);
}

static void R201_R202_R203_R204_R205_R206_R207_R208_R209_size_of_the_paging_space(void **state)
{
    (void)state;
    drawn = 5;
    // The miniport's own answer, its own size, and the latter with an error, which says nothing.
    for (unsigned answer = 0; answer < 3; answer++) {
        UINT megabytes = answer == 1 ? 2 : 0;
        struct world *world = begin(0, true);
        struct content c = make_content(120);
        spy_window_megabytes = answer ? 2 : 0;
        spy_window_fails = answer == 2;
        // Nobody has asked for notices, and so nothing has been asked for them.
        assert_int_equal(spy.window_queries, 0);
        D3DKMT_HANDLE allocation = compressed(world, &c);
        assert_int_equal(spy.window_queries, 1);
        assert_int_equal(spy.window_index, 0);
        assert_int_equal(spy.window_input, sizeof(UINT));
        assert_int_equal(spy.window_output, sizeof(UINT));
        spy_clear();
        push_out(world, allocation);
        // 248 pages beside the tables: a quarter is 62, in pages of 64 KiB 48, too few for 120. Or the miniport's size.
        assert_int_equal(spy.operations[DXGK_OPERATION_NOTIFY_ALLOC], megabytes ? 1 : 3);
        check_content(world, allocation, &c);
        D3DKMT_HANDLE more = compressed(world, &c);
        assert_int_equal(spy.window_queries, 1);
        push_out(world, more);
        check_content(world, more, &c);
        world_close(world);
        free_content(&c);
        spy_window_megabytes = 0;
        spy_window_fails = false;
    }
}

// Of several memory segments the largest counts, whichever comes first.
static void R207_a_quarter_is_that_of_the_largest_segment(void **state)
{
    (void)state;
    drawn = 6;
    for (unsigned hidden = 0; hidden < 2; hidden++) {
        struct world_options options = world_defaults();
        options.machine.local_bytes = PAGES(LOCAL_PAGES);
        options.machine.hidden_bytes = hidden ? PAGES(2 * LOCAL_PAGES) : PAGES(LOCAL_PAGES / 2);
        options.machine.aperture_bytes = PAGES(APERTURE_PAGES);
        options.machine.coherent_aperture = true;
        options.machine.model = 2;
        options.machine.version = DXGKDDI_WDDMv3_2;
        struct world *world = world_open(&options);
        struct content c = make_content(120);
        D3DKMT_HANDLE allocation = compressed(world, &c);
        spy_clear();
        push_out(world, allocation);
        // 48 pages, as of the first one, or 128.
        assert_int_equal(spy.operations[DXGK_OPERATION_NOTIFY_ALLOC], hidden ? 1 : 3);
        check_content(world, allocation, &c);
        world_close(world);
        free_content(&c);
    }
}

// A table of 4 KiB for each 2 MB and three above them. Where the memory for tables is too small for the size that the
// miniport wants, who asks for notices is refused, and nothing is kept of it.
static void R210_a_larger_paging_space_costs_more_tables(void **state)
{
    (void)state;
    static const UINT megabytes[] = {2, 4, 8};
    for (unsigned i = 0; i < 3; i++) {
        struct world *world = begin(0, true);
        D3DKMT_HANDLE allocation = 0;
        spy_clear();
        spy_window_megabytes = 64;
        assert_int_equal(try_create(world, 4, false, &allocation), FERRY_ERROR_NO_VIDEO_MEMORY);
        assert_int_equal(allocation, 0);
        assert_int_equal(spy_builds(DXGK_OPERATION_UPDATE_PAGE_TABLE), 0);
        spy_window_megabytes = megabytes[i];
        assert_int_equal(try_create(world, 4, false, &allocation), FERRY_OK);
        world_require(world, allocation);
        unsigned tables = 0;
        for (size_t n = 0; n < spy_builds(DXGK_OPERATION_UPDATE_PAGE_TABLE); n++) {
            const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update =
                &spy_build(DXGK_OPERATION_UPDATE_PAGE_TABLE, n)->before.UpdatePageTable;
            tables += update->Flags.InitialUpdate && update->hProcess == world->manager->memory.paging.miniport;
        }
        print_message("paging space of %u MB: %u bytes of tables\n", megabytes[i], tables * (unsigned)PAGE_SIZE);
        assert_int_equal(tables, 3 + megabytes[i] / 2);
        world_close(world);
    }
    spy_window_megabytes = 0;
}

// Where the entries of the window stand: as long as anybody looks, in the same page, whatever else wants room.
static void R211_the_paging_spaces_tables_stay(void **state)
{
    (void)state;
    drawn = 9;
    struct world *world = begin(0, true);
    struct content c = make_content(20);
    D3DKMT_HANDLE allocation = compressed(world, &c);
    uint64_t table = 0;
    for (unsigned i = 0; i < 4; i++) {
        spy_clear();
        push_out(world, allocation);
        const struct spy_entry *entry = &spy.entries[next_at_the_window(0, DXGK_OPERATION_UPDATE_PAGE_TABLE)];
        assert_int_equal(entry->before.UpdatePageTable.PageTableLevel, 0);
        uint64_t at = entry->before.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentOffset;
        assert_true(i == 0 || at == table);
        table = at;
        struct ferry_vidmm_segment_info info;
        assert_int_equal(ferry_vidmm_segment(world->manager, machine_local_segment - 1, &info), FERRY_OK);
        D3DKMT_HANDLE all = world_create(world, info.bytes, CPU);
        world_write(world, all, i);
        world_require(world, all);
        assert_int_equal(world_evict(world, all), FERRY_OK);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, all), FERRY_OK);
        assert_int_equal(spy.operations[DXGK_OPERATION_NOTIFY_ALLOC], 1);
        world_require(world, allocation);
    }
    check_content(world, allocation, &c);
    world_close(world);
    free_content(&c);
}

// The buffers that notices stand in fault, or are aborted, at any moment: content is right, or said to be lost.
static void R194_faults_and_resets_cost_no_content_unseen(void **state)
{
    (void)state;
    drawn = seed_given(1) + 1;
    unsigned whole = 0, runs = machine_rounds(40, 4);
    for (unsigned run = 0; run < runs; run++) {
        struct world *world = begin(run % 2 ? 512 : 0, true);
        struct content c = make_content(60);
        D3DKMT_HANDLE allocation = compressed(world, &c);
        world_wait(world, world_gpu_name(world, world->context, allocation, false));
        world->knobs->delay = 1 + draw(4);
        assert_true(world_evict(world, allocation) >= 0);
        D3DKMT_HANDLE large = world_create_in_aperture(world, PAGES(APERTURE_PAGES - 1), CPU);
        bool resets = run % 4 >= 2;
        world->knobs->fault_paging = resets ? 0 : 1;
        assert_true(world_resident(world, &large, 1) >= 0);
        for (unsigned turns = draw(25); turns > 0; turns--)
            ferry_vidmm_poll(world->manager, true);
        if (resets) {
            world->knobs->hang = true;
            assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
        }
        for (unsigned i = 0; i < 300; i++)
            ferry_vidmm_poll(world->manager, true);
        assert_true(resets || world->knobs->fault_paging == 0);
        bool lost = world_place(world, allocation).lost;
        assert_false(resets && lost);
        if (!lost)
            check_content(world, allocation, &c);
        whole += !lost;
        world_close(world);
        free_content(&c);
    }
    assert_true(whole >= runs / 4 * 3);
}

// A program's list is what it is: what is no run inside the content is none.
// Two operations order the device's writes before what comes behind them, where the aperture does not do it: the notice
// and the unmapping. Whoever is destroyed leaves by itself, with the places in the line that it needs.
static void what_is_destroyed_where_the_gpu_wrote_it_is_noticed_too(void **state)
{
    (void)state;
    struct world *world = begin(0, false);
    D3DKMT_HANDLE noticed[2];
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(try_create(world, 3, false, &noticed[i]), FERRY_OK);
    for (unsigned i = 0; i < 2; i++) {
        world_require(world, noticed[i]);
        world_wait(world, world_gpu_put(world, noticed[i], 0, 64, 5));
        assert_int_equal(world_evict(world, noticed[i]), FERRY_OK);
    }
    spy_clear();
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, noticed[0]), FERRY_OK);
    assert_true(spy_builds(DXGK_OPERATION_NOTIFY_ALLOC) > 0);
    assert_int_equal(spy_builds(DXGK_OPERATION_READ_PHYSICAL), 2);
    assert_int_equal(spy_builds(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT), 1);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    assert_int_equal(world_statistics(world).allocations, 0);
    world_close(world);
}

static void a_list_that_is_no_list_harms_nobody(void **state)
{
    (void)state;
    drawn = seed_given(1) + 2;
    for (unsigned run = 0; run < machine_rounds(20, 2); run++) {
        struct world *world = begin(0, true);
        struct content c = make_content(30 + draw(60));
        struct ferry_run_list *list = (void *)(c.written + (c.pages - 1) * (PAGE_SIZE / 8));
        uint64_t blocks = (c.pages - 1) * PAGE_SIZE / FERRY_RUN_BLOCK_BYTES;
        UINT bad = draw(list->count);
        list->count = run % 3 ? UINT32_MAX : list->count;
        const struct ferry_run wrong[] = {{(UINT)blocks, 1, 7}, {(UINT)blocks - 1, 2, 7}, {0, UINT32_MAX, 7},
                                          {UINT32_MAX, 2, 7},   {5, UINT32_MAX - 4, 7},   {3, 0, 7}};
        list->runs[bad] = wrong[run % 6];
        D3DKMT_HANDLE allocation = compressed(world, &c), neighbour = world_create_in_aperture(world, PAGES(4), CPU);
        world_write(world, neighbour, 8);
        world_require(world, neighbour);
        assert_int_equal(world_evict(world, neighbour), FERRY_OK);
        push_out(world, allocation);
        world_check(world, neighbour, 8);
        assert_false(world_place(world, allocation).lost);
        uint64_t end = 0;
        for (UINT i = 0; i < bad; i++)
            end = (uint64_t)(list->runs[i].first_block + list->runs[i].blocks) * BLOCK_WORDS;
        // Behind it nothing is filled in.
        for (uint64_t i = end; i < blocks * BLOCK_WORDS; i++)
            c.meant[i] = c.written[i];
        check_content(world, allocation, &c);
        world_close(world);
        free_content(&c);
    }
}

static void R182_in_model_1_it_is_refused_by_name(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.model = 1;
    options.machine.version = DXGKDDI_WDDMv3_2;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE handle = 0;
    assert_int_equal(try_create(world, 4, false, &handle), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(handle, 0);
    world_close(world);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(R194_content_after_the_eviction_is_the_decompressed_content),
        cmocka_unit_test(R185_R186_R187_R188_R189_R190_R191_R192_R212_steps_in_order_and_chunks_once),
        cmocka_unit_test(R193_what_leaves_video_memory_is_not_noticed),
        cmocka_unit_test(R201_R202_R203_R204_R205_R206_R207_R208_R209_size_of_the_paging_space),
        cmocka_unit_test(R207_a_quarter_is_that_of_the_largest_segment),
        cmocka_unit_test(R210_a_larger_paging_space_costs_more_tables),
        cmocka_unit_test(R211_the_paging_spaces_tables_stay),
        cmocka_unit_test(R194_faults_and_resets_cost_no_content_unseen),
        cmocka_unit_test(what_is_destroyed_where_the_gpu_wrote_it_is_noticed_too),
        cmocka_unit_test(a_list_that_is_no_list_harms_nobody),
        cmocka_unit_test(R182_in_model_1_it_is_refused_by_name),
    };
    return WORLD_RUN(tests);
}
