// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses of what is in an aperture: they lead to the pages of the backing store, wherever those are, for
// as long as the allocation is in the aperture, and to nothing before its pages are anybody else's. Driver model 2 of
// both miniports; jobs are copies by address.
#include "world.h"

#define LOCAL_PAGES    64
#define APERTURE_PAGES 32
#define SIZE           10
#define ADDRESS        (UINT64_C(1) << 44)

static struct world *begin(bool iommu)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(LOCAL_PAGES);
    options.machine.aperture_bytes = PAGES(APERTURE_PAGES);
    options.machine.model = 2;
    options.machine.iommu = iommu;
    options.machine.version = DXGKDDI_WDDMv3_2;
    struct world *world = world_open(&options);
    world->knobs->scatter_pages = true;
    return world;
}

static D3DKMT_HANDLE create(struct world *world, uint64_t pages, UINT flags, bool also_in_memory)
{
    struct ferry_allocation_private wanted = world_private(PAGES(pages), flags);
    D3DKMT_HANDLE handle = 0;
    wanted.Aperture = 1;
    wanted.SegmentPreference = machine_aperture_segment;
    if (also_in_memory)
        world->knobs->segment_set = 1u << (machine_local_segment - 1) | 1u << (machine_aperture_segment - 1);
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_OK);
    world->knobs->segment_set = 0;
    return handle;
}

static void map(struct world *world, D3DKMT_HANDLE allocation, uint64_t first, uint64_t pages)
{
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = ADDRESS, .bytes = PAGES(pages)};
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, allocation, PAGES(first), false, &range),
                     FERRY_OK);
}

static void settle(struct world *world)
{
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
}

static void push_out(struct world *world, D3DKMT_HANDLE allocation)
{
    D3DKMT_HANDLE large = create(world, APERTURE_PAGES - 1, CPU, false);
    assert_true(world_evict(world, allocation) >= 0);
    world_require(world, large);
    assert_int_equal(world_place(world, allocation).segment, 0);
    assert_true(world_evict(world, large) >= 0);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
}

// A copy between an allocation, which is patched, and an address; it names that allocation and the other, unless 0.
static uint64_t copy(struct world *world, D3DKMT_HANDLE patched, D3DKMT_HANDLE other, uint64_t address, bool to_address,
                     uint32_t bytes)
{
    struct machine_job job = {0};
    struct ferry_vidmm_reference references[2] = {{patched, !to_address}, {other, to_address}};
    uint32_t from = to_address ? 0 : 1;
    uint64_t fence = 0;
    machine_job_copy(&job, 1 - from, 0, from, 0, bytes);
    assert_int_equal(job.patch_count, 2);
    uint32_t by_address = job.patches[0].AllocationIndex == 1 ? 0 : 1;
    machine_job_by_address(job.commands, &job.patches[by_address], address);
    struct ferry_vidmm_submission submission = {.commands = job.commands,
                                                .bytes = job.bytes,
                                                .references = references,
                                                .reference_count = other ? 2 : 1,
                                                .patches = &job.patches[1 - by_address],
                                                .patch_count = 1};
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &submission, 1, &fence), FERRY_OK);
    return fence;
}

// The words of the first `bytes` of the allocation are those that another one had from that place on.
static void check_words(struct world *world, D3DKMT_HANDLE allocation, uint32_t seed, uint64_t from, uint64_t bytes)
{
    uint32_t *words;
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, D3DDDI_LOCK_READ_ONLY, (void **)&words), FERRY_OK);
    for (uint64_t i = 0; i < bytes / 4; i++)
        if (words[i] != world_word(seed, from / 4 + i))
            fail_msg("word %u is %x", (unsigned)i, (unsigned)words[i]);
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
}

static void jobs_reach_its_pages_by_address(void **state)
{
    (void)state;
    struct world *world = begin(false);
    D3DKMT_HANDLE allocation = create(world, SIZE, CPU, false), beside = world_create(world, PAGES(4), CPU);
    map(world, allocation, 3, 4);
    world_write(world, allocation, 1);
    world_write(world, beside, 2);
    world_require(world, allocation);
    world_require(world, beside);
    world_wait(world, copy(world, beside, allocation, ADDRESS, false, (uint32_t)PAGES(4)));
    check_words(world, beside, 1, PAGES(3), PAGES(4));
    // The other way, and past the page at which the entries end.
    world_write(world, beside, 3);
    world_wait(world, copy(world, beside, allocation, ADDRESS + PAGE_SIZE, true, (uint32_t)PAGES(3)));
    uint32_t *words;
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, D3DDDI_LOCK_READ_ONLY, (void **)&words), FERRY_OK);
    for (uint64_t i = 0; i < PAGES(SIZE) / 4; i++) {
        uint64_t page = i * 4 / PAGE_SIZE, into = i - PAGES(4) / 4;
        uint32_t meant = page >= 4 && page < 7 ? world_word(3, into) : world_word(1, i);
        if (words[i] != meant)
            fail_msg("word %u is %x, not %x", (unsigned)i, (unsigned)words[i], (unsigned)meant);
    }
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
    world_close(world);
}

// Coherent apertures snoop, others do not: and so do the addresses.
static unsigned coherent_entries, other_entries;
static void look_at_entries(void *context)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &spy.building->UpdatePageTable;
    (void)context;
    if (spy.building->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE || update->FirstPteVirtualAddress != ADDRESS ||
        update->PageTableLevel != 0 || !update->pPageTableEntries[0].Valid)
        return;
    assert_int_equal(update->Flags.Use64KBPages, 0);
    for (UINT i = 0; i < update->NumPageTableEntries; i++) {
        const DXGK_PTE *entry = &update->pPageTableEntries[update->Flags.Repeat ? 0 : i];
        assert_int_equal(entry->Segment, 0);
        *(entry->CacheCoherent ? &coherent_entries : &other_entries) += 1;
    }
}

static void caches_are_looked_into_as_through_the_aperture(void **state)
{
    (void)state;
    for (unsigned cached = 0; cached < 2; cached++) {
        struct world *world = begin(false);
        D3DKMT_HANDLE allocation = create(world, SIZE, cached ? CPU | DXGK_ALLOC_FLAG_CACHED : CPU, false);
        coherent_entries = other_entries = 0;
        spy.in_build = look_at_entries;
        map(world, allocation, 0, SIZE);
        world_write(world, allocation, 1);
        world_require(world, allocation);
        bool coherent;
        (void)machine_aperture_entry(world->machine, world_place(world, allocation).offset / PAGE_SIZE, &coherent);
        settle(world);
        assert_int_equal(coherent, cached);
        // Twice, as it is looked before and behind each build.
        assert_int_equal(coherent_entries, cached ? 2 * SIZE : 0);
        assert_int_equal(other_entries, cached ? 0 : 2 * SIZE);
        spy.in_build = NULL;
        world_close(world);
    }
}

static size_t index_of(DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    size_t at = 0;
    while (at < spy.count && (spy.entries[at].kind != SPY_BUILD || spy.entries[at].before.Operation != operation))
        at++;
    return at;
}

// Its addresses lead to nothing before it is unmapped. In the IOMMU model its pages have other bus addresses each time
// that they come.
static void who_has_left_is_reached_no_more(void **state)
{
    (void)state;
    for (unsigned iommu = 0; iommu < 2; iommu++) {
        struct world *world = begin(iommu);
        D3DKMT_HANDLE allocation = create(world, SIZE, CPU, false), beside = world_create(world, PAGES(4), CPU);
        map(world, allocation, 0, SIZE);
        world_write(world, allocation, 1);
        world_write(world, beside, 2);
        world_require(world, beside);
        for (unsigned round = 0; round < 3; round++) {
            world_require(world, allocation);
            world_wait(world, copy(world, beside, allocation, ADDRESS, false, (uint32_t)PAGES(4)));
            check_words(world, beside, 1, 0, PAGES(4));
            world_write(world, beside, 2);
            spy_clear();
            push_out(world, allocation);
            settle(world);
            assert_true(index_of(DXGK_OPERATION_UPDATE_PAGE_TABLE) < index_of(DXGK_OPERATION_FLUSH_TLB));
            assert_true(index_of(DXGK_OPERATION_FLUSH_TLB) < index_of(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT));
            assert_true(index_of(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT) < spy.count);
        }
        world_check(world, allocation, 1);
        world_close(world);
    }
}

// Between memory and aperture: its addresses lead to where it is, and what a job wrote there goes along.
static void one_address_wherever_it_is(void **state)
{
    (void)state;
    struct world *world = begin(false);
    D3DKMT_HANDLE allocation = create(world, SIZE, CPU, true), beside = world_create(world, PAGES(SIZE), CPU);
    map(world, allocation, 0, SIZE);
    for (uint32_t round = 0; round < 6; round++) {
        UINT segment = round % 2 ? machine_local_segment : machine_aperture_segment;
        D3DKMT_HANDLE large = 0;
        if (round % 2) {
            large = create(world, APERTURE_PAGES - 1, CPU, false);
            world_require(world, large);
        }
        world_require(world, beside);
        world_require(world, allocation);
        assert_int_equal(world_place(world, allocation).segment, segment);
        if (round > 0) {
            world_wait(world, copy(world, beside, allocation, ADDRESS, false, (uint32_t)PAGES(SIZE)));
            check_words(world, beside, round - 1, 0, PAGES(SIZE));
        }
        world_write(world, beside, round);
        world_wait(world, copy(world, beside, allocation, ADDRESS, true, (uint32_t)PAGES(SIZE)));
        if (large) {
            assert_true(world_evict(world, large) >= 0 && world_evict(world, beside) >= 0);
            world_force_out(world, allocation);
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
        } else {
            assert_true(world_evict(world, beside) >= 0);
            push_out(world, allocation);
        }
        world_check(world, allocation, round);
    }
    world_close(world);
}

// Its end waits for the job that still uses it: until then its pages are nobody else's.
static void pages_are_given_back_behind_their_entries(void **state)
{
    (void)state;
    struct world *world = begin(false);
    D3DKMT_HANDLE allocation = create(world, SIZE, CPU, false), beside = world_create(world, PAGES(4), CPU);
    map(world, allocation, 0, SIZE);
    world_write(world, allocation, 1);
    world_require(world, allocation);
    world_require(world, beside);
    settle(world);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    world->knobs->hold_turns = 40;
    (void)copy(world, beside, allocation, ADDRESS, false, (uint32_t)PAGES(4));
    size_t with = machine_pages_out(world->machine);
    spy_clear();
    int result = ferry_vidmm_destroy_allocation(world->manager, allocation);
    if (world->knobs->hold_node != 0) // It did not wait itself: so they are kept.
        assert_int_equal(machine_pages_out(world->machine), with);
    assert_true(result >= 0);
    settle(world);
    assert_true(index_of(DXGK_OPERATION_FLUSH_TLB) < index_of(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT));
    assert_true(machine_pages_out(world->machine) + SIZE <= with);
    check_words(world, beside, 1, 0, PAGES(4));
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_reach_its_pages_by_address),
        cmocka_unit_test(caches_are_looked_into_as_through_the_aperture),
        cmocka_unit_test(who_has_left_is_reached_no_more),
        cmocka_unit_test(one_address_wherever_it_is),
        cmocka_unit_test(pages_are_given_back_behind_their_entries),
    };
    return WORLD_RUN(tests);
}
