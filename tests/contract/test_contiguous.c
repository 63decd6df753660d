// SPDX-License-Identifier: Apache-2.0
// What is accessed by physical address is in one piece in a memory segment, however memory is cut up; and each page of
// the aperture has an entry of its own, since there is no larger mapping of it.
#include <stdlib.h>

#include "world.h"

enum { ALL = 64, SMALL = 4, WANTED = 24 };

// By one address: a packet that copies all of it elsewhere, which knows nothing of pages.
static void check_in_one_piece(struct world *world, D3DKMT_HANDLE a, D3DKMT_HANDLE shadow, uint32_t seed)
{
    world_wait(world, world_gpu_copy(world, shadow, 0, a, 0, PAGES(WANTED)));
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, shadow, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    for (uint64_t i = 0; i < PAGES(WANTED) / 4; i++)
        if (((uint32_t *)address)[i] != world_word(seed, i))
            fail_msg("word %llu of what was copied by one address", (unsigned long long)i);
    assert_int_equal(ferry_vidmm_unlock(world->manager, shadow), FERRY_OK);
}

static void check_bytes_at(struct world *world, uint64_t offset, uint32_t seed)
{
    static uint32_t seen[PAGES(WANTED) / 4];
    machine_peek(world->machine, machine_local_segment, offset, seen, sizeof(seen));
    for (uint64_t i = 0; i < PAGES(WANTED) / 4; i++)
        if (seen[i] != world_word(seed, i))
            fail_msg("word %llu under a job that has its address", (unsigned long long)i);
}

// Where each piece of its page-in went, by what the miniport was told.
static void check_pieces(struct world *world, D3DKMT_HANDLE a)
{
    struct ferry_vidmm_placement place = world_place(world, a);
    struct ferry_vidmm_segment_info segment;
    assert_int_equal(ferry_vidmm_segment(world->manager, place.segment - 1, &segment), FERRY_OK);
    uint64_t bytes = 0;
    for (size_t i = 0; i < spy_builds(DXGK_OPERATION_TRANSFER); i++) {
        const struct spy_entry *entry = spy_build(DXGK_OPERATION_TRANSFER, i);
        const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &entry->before.Transfer;
        if (t->Source.SegmentId != 0 || entry->status != STATUS_SUCCESS)
            continue;
        assert_int_equal(t->Destination.SegmentId, place.segment);
        assert_int_equal(t->Destination.SegmentAddress.QuadPart, segment.base + place.offset);
        assert_int_equal(t->TransferOffset, bytes);
        bytes += t->TransferSize;
    }
    assert_int_equal(bytes, place.bytes);
}

static void R172_physical_allocations_stay_in_one_piece_where_free_memory_is_in_many(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(ALL + WANTED);
    options.manager.sub_transfer_bytes = PAGES(5); // a page-in in pieces
    struct world *world = world_open(&options);
    D3DKMT_HANDLE shadow = world_create(world, PAGES(WANTED), CPU), small[ALL / SMALL];
    world_require(world, shadow);
    for (unsigned i = 0; i < ALL / SMALL; i++) {
        small[i] = world_create(world, PAGES(SMALL), CPU);
        world_write(world, small[i], 50 + i);
        world_require(world, small[i]);
    }
    for (unsigned i = 0; i < ALL / SMALL; i += 2)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, small[i]), FERRY_OK);
    // 32 pages are free, in eight pieces of four.
    D3DKMT_HANDLE a = world_create(world, PAGES(WANTED), CPU | DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY);
    world_write(world, a, 9);
    world_require(world, shadow);
    spy_clear();
    world_require(world, a);
    world_check_gpu(world, a, 9);
    check_in_one_piece(world, a, shadow, 9);
    for (unsigned i = 1; i < ALL / SMALL; i += 2)
        world_check_gpu(world, small[i], 50 + i);
    // While a job has its address it is not overwritten there, whoever asks for room.
    uint64_t offset = world_place(world, a).offset;
    D3DKMT_HANDLE context, large = world_create(world, PAGES(ALL), CPU);
    world_write(world, large, 77);
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 2, &context, NULL), FERRY_OK);
    world->knobs->delay = 1;
    world->knobs->hold_node = 2;
    uint64_t held = world_gpu_name(world, context, a, false);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    for (unsigned i = 1; i < ALL / SMALL; i += 2)
        assert_true(world_evict(world, small[i]) >= 0);
    assert_true(world_resident(world, &large, 1) >= 0);
    for (unsigned i = 0; i < 20; i++)
        (void)ferry_vidmm_poll(world->manager, true); // what can go on goes on; there may be nothing
    check_bytes_at(world, offset, 9);
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, context, held), FERRY_OK);
    world_require(world, large);
    world_check_gpu(world, large, 77);
    // Out and in again, to wherever there is room in one piece.
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
    assert_true(world_evict(world, shadow) >= 0 && world_evict(world, shadow) >= 0);
    assert_int_equal(world_place(world, a).segment, 0);
    world_require(world, small[5]);
    world_require(world, shadow);
    spy_clear();
    world_require(world, a);
    check_pieces(world, a);
    check_in_one_piece(world, a, shadow, 9);
    world_close(world);
}

static void R172_in_each_memory_segment(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.hidden_bytes = PAGES(64);
    struct world *world = world_open(&options);
    D3DKMT_HANDLE shadow = world_create(world, PAGES(WANTED), CPU), all[3];
    UINT seen = 0;
    world_require(world, shadow);
    for (unsigned i = 0; i < 3; i++) {
        all[i] = world_create(world, PAGES(WANTED), CPU | DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY);
        world_write(world, all[i], 20 + i);
        spy_clear();
        world_require(world, all[i]);
        check_pieces(world, all[i]);
        seen |= 1u << world_place(world, all[i]).segment;
    }
    assert_int_equal(seen, 1u << machine_local_segment | 1u << machine_hidden_segment);
    for (unsigned i = 0; i < 3; i++)
        check_in_one_piece(world, all[i], shadow, 20 + i);
    world_close(world);
}

// Of pages that could share one large mapping: neighbours on both sides, and enough of them.
static void R147_each_page_has_an_entry_of_its_own(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    world->knobs->own_alignment_64k = true;
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(32), CPU | DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING);
    world_write(world, a, 8);
    spy_clear();
    world_require(world, a);
    uint64_t first = world_place(world, a).offset / PAGE_SIZE, pages = 0;
    for (size_t i = 0; i < spy_builds(DXGK_OPERATION_MAP_APERTURE_SEGMENT); i++) {
        const DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT *m =
            &spy_build(DXGK_OPERATION_MAP_APERTURE_SEGMENT, i)->before.MapApertureSegment;
        assert_int_equal(m->OffsetInPages, first + pages);
        for (uint64_t n = 0; n < m->NumberOfPages; n++)
            assert_int_equal(machine_aperture_entry(world->machine, first + pages + n, NULL),
                             m->pMdl->Pfn[m->MdlOffset + n] << PAGE_SHIFT);
        pages += m->NumberOfPages;
    }
    assert_int_equal(pages, 32);
    world_check_gpu(world, a, 8);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R172_physical_allocations_stay_in_one_piece_where_free_memory_is_in_many),
        cmocka_unit_test(R172_in_each_memory_segment),
        cmocka_unit_test(R147_each_page_has_an_entry_of_its_own),
    };
    return WORLD_RUN(tests);
}
