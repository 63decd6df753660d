// SPDX-License-Identifier: Apache-2.0
// Content is moved and filled by addresses of the paging process, where the paging node says that it has some: in which
// steps, in chunks as long as there are addresses for, and what faults and resets between the steps cost.
#include <stdlib.h>

#include "window_watch.h"

#define LOCAL_PAGES 256 // of which twelve are for tables; a quarter of the others, in pages of 64 KiB, is the window
#define WINDOW      48u
#define CHUNKS_MOST 64

struct chunk {
    DXGK_BUILDPAGINGBUFFER_OPERATION operation;
    DXGK_MEMORY_TRANSFER_DIRECTION direction;
    uint64_t offset, bytes, from, to; // pages, of the first entry of each side
    UINT from_segment, to_segment;
};

static struct chunk chunks[CHUNKS_MOST];
static unsigned chunk_count;

// Pages of a segment follow each other; those of the host are anywhere.
static void side(const struct window_watch *watch, uint64_t address, uint64_t bytes, UINT *segment, uint64_t *first)
{
    *segment = window_watch_at(watch, address)->Segment & 0x1F;
    *first = window_watch_at(watch, address)->PageAddress;
    for (uint64_t at = 0; at < bytes; at += PAGE_SIZE) {
        const DXGK_PTE *entry = window_watch_at(watch, address + at);
        assert_int_equal(entry->Segment, *segment);
        // As TRANSFER reaches host memory.
        assert_int_equal(entry->CacheCoherent, *segment == 0);
        if (*segment != 0)
            assert_int_equal(entry->PageAddress, *first + at / PAGE_SIZE);
    }
}

static void note(struct window_watch *watch, const DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *t = &a->TransferVirtual;
    const DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL *f = &a->FillVirtual;
    if (chunk_count == CHUNKS_MOST)
        return;
    struct chunk *chunk = &chunks[chunk_count++];
    *chunk = (struct chunk){.operation = a->Operation};
    if (a->Operation == DXGK_OPERATION_VIRTUAL_FILL) {
        chunk->offset = f->AllocationOffsetInBytes;
        chunk->bytes = f->FillSizeInBytes;
        side(watch, f->DestinationVirtualAddress, chunk->bytes, &chunk->to_segment, &chunk->to);
        return;
    }
    assert_int_equal(t->SourcePageTable, 0); // LegacyBehaviors.SourcePageTableVaInTransfer is not set
    assert_int_equal(t->DestinationPageTable, 0);
    chunk->direction = t->TransferDirection;
    chunk->offset = t->AllocationOffsetInBytes;
    chunk->bytes = t->TransferSizeInBytes;
    side(watch, t->SourceVirtualAddress, chunk->bytes, &chunk->from_segment, &chunk->from);
    side(watch, t->DestinationVirtualAddress, chunk->bytes, &chunk->to_segment, &chunk->to);
}

static struct world *begin(struct window_watch *watch, uint32_t buffer_bytes, bool iommu)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(LOCAL_PAGES);
    options.machine.model = 2;
    options.machine.version = DXGKDDI_WDDMv3_2;
    options.machine.by_address = true;
    options.machine.iommu = iommu;
    options.manager.paging_buffer_bytes = buffer_bytes;
    struct world *world = world_open(&options);
    window_watch_begin(watch, world);
    watch->on_work = note;
    chunk_count = 0;
    return world;
}

static void end(struct window_watch *watch)
{
    for (unsigned i = 0; i < WATCHED_PAGES; i++)
        assert_int_equal(watch->state[i], WATCHED_FREE);
    window_watch_end();
    world_close(watch->world);
}

// What was noted covers the pages once, in order, in pieces of so many; and leads to the place on the segment's side.
static void covers(unsigned pages, unsigned piece, uint64_t place, DXGK_MEMORY_TRANSFER_DIRECTION direction)
{
    uint64_t covered = 0;
    assert_int_equal(chunk_count, (pages + piece - 1) / piece);
    for (unsigned i = 0; i < chunk_count; i++) {
        const struct chunk *chunk = &chunks[i];
        bool in = direction == DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL;
        assert_int_equal(chunk->operation, DXGK_OPERATION_VIRTUAL_TRANSFER);
        assert_int_equal(chunk->direction, direction);
        assert_int_equal(chunk->offset, covered);
        assert_int_equal(in ? chunk->from_segment : chunk->to_segment, 0);
        assert_int_equal(in ? chunk->to_segment : chunk->from_segment, machine_local_segment);
        assert_int_equal(in ? chunk->to : chunk->from, (place + covered) / PAGE_SIZE);
        covered += chunk->bytes;
    }
    assert_int_equal(covered, PAGES(pages));
}

static void R201_R207_R208_R212_a_transfer_goes_in_chunks_that_cover_it_once(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 23, 24, 25, 100, 200};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct window_watch watch;
        struct world *world = begin(&watch, 0, false);
        D3DKMT_HANDLE a = world_create(world, PAGES(sizes[i]), CPU);
        world_write(world, a, i);
        world->knobs->delay = i % 3;
        world->knobs->scatter_pages = i % 2;
        world_require(world, a);
        uint64_t place = world_place(world, a).offset;
        // Both sides have their part of the window.
        covers(sizes[i], WINDOW / 2, place, DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL);
        world_check_gpu(world, a, i);
        world_wait(world, world_gpu_fill(world, a, PAGES(sizes[i]) - 4, 4, 0x55));
        chunk_count = 0;
        world_force_out(world, a);
        // What takes its place is filled, and comes behind.
        while (chunk_count > 0 && chunks[chunk_count - 1].operation == DXGK_OPERATION_VIRTUAL_FILL)
            chunk_count--;
        covers(sizes[i], WINDOW / 2, place, DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM);
        const uint32_t *words;
        assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, (void **)(void *)&words), FERRY_OK);
        uint64_t last = PAGES(sizes[i]) / 4 - 1;
        for (uint64_t at = 0; at < last; at++)
            if (words[at] != world_word(i, at))
                fail_msg("word %llu", (unsigned long long)at);
        assert_int_equal(words[last], 0x55);
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        struct ferry_vidmm_statistics statistics = world_statistics(world);
        assert_int_equal(statistics.operations[DXGK_OPERATION_VIRTUAL_TRANSFER], spy.operations[8]);
        // Those of the steps too.
        unsigned steps = 5 * (unsigned)statistics.operations[DXGK_OPERATION_VIRTUAL_TRANSFER];
        assert_true(statistics.operations[DXGK_OPERATION_UPDATE_PAGE_TABLE] +
                        statistics.operations[DXGK_OPERATION_FLUSH_TLB] >=
                    steps - steps / 5);
        end(&watch);
    }
}

static void R212_a_fill_has_the_whole_window_for_one_side(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 47, 48, 49, 150};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct window_watch watch;
        struct world *world = begin(&watch, 0, false);
        D3DKMT_HANDLE a = world_create_filled(world, PAGES(sizes[i]), CPU, 0xABCD0000 + i);
        world_require(world, a);
        uint64_t covered = 0, place = world_place(world, a).offset;
        assert_int_equal(chunk_count, (sizes[i] + WINDOW - 1) / WINDOW);
        for (unsigned n = 0; n < chunk_count; n++) {
            assert_int_equal(chunks[n].operation, DXGK_OPERATION_VIRTUAL_FILL);
            assert_int_equal(chunks[n].offset, covered);
            assert_int_equal(chunks[n].to_segment, machine_local_segment);
            assert_int_equal(chunks[n].to, (place + covered) / PAGE_SIZE);
            covered += chunks[n].bytes;
        }
        assert_int_equal(covered, PAGES(sizes[i]));
        uint32_t *words = malloc(PAGES(sizes[i]));
        machine_peek(world->machine, machine_local_segment, place, words, PAGES(sizes[i]));
        for (uint64_t at = 0; at < PAGES(sizes[i]) / 4; at++)
            assert_int_equal(words[at], 0xABCD0000 + i);
        free(words);
        end(&watch);
    }
}

static void R7_R212_moves_between_two_places_are_by_address_too(void **state)
{
    (void)state;
    struct window_watch watch;
    struct world *world = begin(&watch, 0, false);
    D3DKMT_HANDLE small[8];
    for (unsigned i = 0; i < 8; i++) {
        small[i] = world_create(world, PAGES(30), CPU);
        world_write(world, small[i], i);
        world_require(world, small[i]);
    }
    for (unsigned i = 0; i < 8; i += 2)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, small[i]), FERRY_OK);
    chunk_count = 0;
    D3DKMT_HANDLE large = world_create(world, PAGES(100), CPU);
    world_write(world, large, 99);
    world_require(world, large);
    unsigned inside = 0;
    for (unsigned i = 0; i < chunk_count; i++) {
        bool moved = chunks[i].direction == DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL;
        assert_int_equal(moved, chunks[i].from_segment != 0 && chunks[i].to_segment != 0);
        inside += moved;
    }
    assert_true(inside > 0 && world_statistics(world).bytes_moved > 0);
    for (unsigned i = 1; i < 8; i += 2)
        world_check_gpu(world, small[i], i);
    world_check_gpu(world, large, 99);
    end(&watch);
}

// Neither are entries of one call in one buffer, nor all that belongs to a chunk.
static void R20_R212_entries_that_have_no_room_in_a_buffer(void **state)
{
    (void)state;
    for (uint32_t bytes = 256; bytes <= 448; bytes += 64) {
        struct window_watch watch;
        struct world *world = begin(&watch, bytes, false);
        D3DKMT_HANDLE a = world_create(world, PAGES(60), CPU), b = world_create(world, PAGES(70), CPU);
        world->knobs->delay = bytes / 64 % 3;
        world_write(world, a, 1);
        world_write(world, b, 2);
        world_require(world, a);
        world_require(world, b);
        assert_true(world_statistics(world).insufficient_answers > 0);
        world_check_gpu(world, a, 1);
        world_wait(world, world_gpu_fill(world, a, 0, 4, world_word(1, 0)));
        world_check_gpu(world, b, 2);
        assert_true(world_evict(world, b) >= 0);
        world_force_out(world, a);
        world_check(world, a, 1);
        world_check(world, b, 2);
        end(&watch);
    }
}

// A page-out and a page-in of several chunks are under way, and so many turns later all that the device has is aborted.
// Returns whether it had anything.
static bool reset_after(unsigned turns, uint32_t buffer_bytes, bool late, bool iommu)
{
    struct window_watch watch;
    struct world *world = begin(&watch, buffer_bytes, iommu);
    D3DKMT_HANDLE a = world_create(world, PAGES(120), CPU), b = world_create(world, PAGES(180), CPU);
    world_write(world, a, 1);
    world_write(world, b, 2);
    world_require(world, a);
    for (uint64_t page = 0; page < 120; page++)
        world_gpu_fill(world, a, PAGES(page), 4, world_word(1, page * (PAGE_SIZE / 4)));
    assert_true(world_evict(world, a) >= 0);
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    assert_true(world_resident(world, &b, 1) >= 0);
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < turns; i++)
        ferry_vidmm_poll(world->manager, true);
    const struct ferry_vm_sched *sched = &world->manager->sched;
    bool busy = sched->nodes[sched->paging_node].in_flight > 0;
    world->knobs->late_abort = late;
    assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
    world->knobs->late_abort = false;
    for (unsigned i = 0; i < 400; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_false(world_place(world, a).lost || world_place(world, b).lost);
    world_check_gpu(world, b, 2);
    assert_true(world_evict(world, b) >= 0);
    world_check(world, a, 1);
    world_require(world, a);
    world_check_gpu(world, a, 1);
    world_check(world, b, 2);
    end(&watch);
    return busy;
}

static void a_reset_between_any_two_steps_costs_no_content(void **state)
{
    (void)state;
    unsigned resets = 0;
    for (unsigned kind = 0; kind < machine_rounds(4, 1); kind++) {
        uint32_t bytes = kind % 2 ? 512 : 0;
        for (unsigned turns = 0, quiet = 0; quiet < machine_rounds(3, 1) && turns < 200;
             turns += machine_rounds(1, 14)) {
            bool busy = reset_after(turns, bytes, kind >= 2, kind == 3);
            quiet = busy ? 0 : quiet + 1;
            resets += busy;
        }
    }
    print_message("%u resets in the middle of paging\n", resets);
    assert_true(resets > machine_rounds(40, 1));
}

// One paging buffer faults, after some of its packets. What was alone in it is lost and said to be; whatever else is
// about, also what comes through the same addresses behind it, is right.
static bool fault_after(unsigned turns, uint32_t buffer_bytes, unsigned faults)
{
    struct window_watch watch;
    struct world *world = begin(&watch, buffer_bytes, false);
    D3DKMT_HANDLE a = world_create(world, PAGES(70), CPU), b = world_create(world, PAGES(90), CPU),
                  c = world_create(world, PAGES(40), CPU);
    world_write(world, a, 1);
    world_write(world, b, 2);
    world_write(world, c, 3);
    world_require(world, a);
    world_require(world, c);
    world_wait(world, world_gpu_fill(world, a, 0, 4, world_word(1, 0)));
    assert_true(world_evict(world, a) >= 0);
    world->knobs->delay = 1;
    D3DKMT_HANDLE all = world_create(world, PAGES(100), CPU);
    world_write(world, all, 4);
    assert_true(world_resident(world, &b, 1) >= 0);
    assert_true(world_resident(world, &all, 1) >= 0);
    for (unsigned i = 0; i < turns; i++)
        ferry_vidmm_poll(world->manager, true);
    world->knobs->fault_paging = faults;
    for (unsigned i = 0; i < 400; i++)
        ferry_vidmm_poll(world->manager, true);
    bool faulted = world_statistics(world).faulted_paging_buffers > 0;
    world->knobs->fault_paging = 0;
    static const uint32_t seeds[] = {1, 2, 3, 4};
    const D3DKMT_HANDLE each[] = {a, b, c, all};
    for (unsigned i = 0; i < 4; i++)
        if (!world_place(world, each[i]).lost)
            world_check(world, each[i], seeds[i]);
    end(&watch);
    return faulted;
}

static void a_fault_between_any_two_steps_is_seen_and_costs_no_other(void **state)
{
    (void)state;
    unsigned faulted = 0;
    for (unsigned kind = 0; kind < machine_rounds(4, 1); kind++)
        for (unsigned turns = 0; turns < 40; turns += machine_rounds(1, 16))
            faulted += fault_after(turns, kind % 2 ? 400 : 0, 1 + kind / 2);
    print_message("%u runs in which a buffer faulted\n", faulted);
    assert_true(faulted > machine_rounds(40, 0));
}

// A program that maps as much as there are tables for, and has nothing in memory, leaves those of the window alone.
static void R211_the_window_has_its_tables_whoever_maps_before(void **state)
{
    (void)state;
    struct window_watch watch;
    struct world *world = begin(&watch, 0, false);
    D3DKMT_HANDLE first = world_create_in_aperture(world, PAGES(4), CPU);
    int result = FERRY_OK;
    for (uint64_t i = 1; result == FERRY_OK; i++) {
        struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = i << 39, .bytes = PAGES(4)};
        result = ferry_vidmm_map_virtual(world->manager, world->device, first, 0, false, &range);
    }
    assert_int_equal(result, FERRY_ERROR_NO_VIDEO_MEMORY);
    D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU);
    world_write(world, a, 1);
    world_require(world, a);
    world_check_gpu(world, a, 1);
    end(&watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R201_R207_R208_R212_a_transfer_goes_in_chunks_that_cover_it_once),
        cmocka_unit_test(R212_a_fill_has_the_whole_window_for_one_side),
        cmocka_unit_test(R7_R212_moves_between_two_places_are_by_address_too),
        cmocka_unit_test(R20_R212_entries_that_have_no_room_in_a_buffer),
        cmocka_unit_test(R211_the_window_has_its_tables_whoever_maps_before),
        cmocka_unit_test(a_reset_between_any_two_steps_costs_no_content),
        cmocka_unit_test(a_fault_between_any_two_steps_is_seen_and_costs_no_other),
    };
    return WORLD_RUN(tests);
}
