// SPDX-License-Identifier: Apache-2.0
// Cacheability: what the page list says, and when cached pages change hands; and notifications that nobody asked for.
#include <stdlib.h>

#include "world.h"

static uint64_t flushes(struct world *world)
{
    return world_statistics(world).cache_flushes;
}

// Each way that content takes between the CPU and a segment that does not snoop is one hand-over.
static void R121_each_hand_over_of_cached_pages_is_flushed(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.coherent_aperture = false;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU | DXGK_ALLOC_FLAG_CACHED);
    world_write(world, a, 1);
    uint64_t before = flushes(world);
    world_require(world, a); // page-in: what the CPU wrote
    assert_int_equal(flushes(world), before + 1);
    world_wait(world, world_gpu_fill(world, a, 0, 4, 7));
    before = flushes(world);
    world_force_out(world, a); // page-out: lines that the CPU still holds are old
    assert_int_equal(flushes(world), before + 1);
    D3DKMT_HANDLE mapped = world_create_in_aperture(world, PAGES(2), CPU | DXGK_ALLOC_FLAG_CACHED);
    world_write(world, mapped, 2);
    before = flushes(world);
    world_require(world, mapped);
    assert_int_equal(flushes(world), before + 1);
    void *address;
    before = flushes(world);
    assert_int_equal(ferry_vidmm_lock(world->manager, mapped, 0, &address), FERRY_OK);
    assert_int_equal(flushes(world), before + 1); // to the CPU
    assert_int_equal(ferry_vidmm_unlock(world->manager, mapped), FERRY_OK);
    assert_int_equal(flushes(world), before + 2); // and back
    world_close(world);
}

static void R66_R121_a_coherent_mapping_needs_no_flush(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create_in_aperture(world, PAGES(2), CPU | DXGK_ALLOC_FLAG_CACHED);
    uint64_t before = flushes(world);
    world_require(world, a);
    assert_int_equal(flushes(world), before);
    world_close(world);
}

// A program that reads what the miniport did not make Cached is told of it: each such lock counts.
static void R124_reads_of_what_is_not_cached_are_counted(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    static const struct {
        UINT flags;
        uint32_t lock;
        unsigned counts;
    } cases[] = {{CPU | DXGK_ALLOC_FLAG_CACHED, D3DDDI_LOCK_READ_ONLY, 0},
                 {CPU | DXGK_ALLOC_FLAG_CACHED, 0, 0},
                 {CPU, D3DDDI_LOCK_WRITE_ONLY, 0},
                 {CPU, D3DDDI_LOCK_DISCARD, 0},
                 {CPU, D3DDDI_LOCK_READ_ONLY, 1},
                 {CPU, 0, 1},
                 {PERMANENT, D3DDDI_LOCK_READ_ONLY, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        D3DKMT_HANDLE a = world_create(world, PAGES(2), cases[i].flags);
        world_require(world, a);
        uint64_t before = world_statistics(world).uncached_reads;
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, a, cases[i].lock, &address), FERRY_OK);
        assert_int_equal(world_statistics(world).uncached_reads, before + cases[i].counts);
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    }
    world_close(world);
}

static void R123_R134_R135_R140_existing_memory_is_flushed_only_with_cached(void **state)
{
    (void)state;
    static const UINT kinds[] = {DXGK_ALLOC_FLAG_EXISTING_SYSMEM, DXGK_ALLOC_FLAG_EXISTING_KERNEL_SYSMEM};
    for (unsigned kind = 0; kind < 2; kind++)
        for (unsigned cached = 0; cached < 2; cached++) {
            struct world *world = world_open_default();
            void *memory = aligned_alloc(PAGE_SIZE, PAGES(2));
            memset(memory, 0x5A, PAGES(2));
            struct ferry_allocation_private wanted =
                world_private(PAGES(2), CPU | kinds[kind] | (cached ? DXGK_ALLOC_FLAG_CACHED : 0));
            struct ferry_vidmm_allocation_options options = {.existing = memory, .existing_bytes = PAGES(2)};
            D3DKMT_HANDLE a;
            assert_int_equal(world_try_create(world, &wanted, &options, &a, NULL), FERRY_OK);
            spy_clear();
            world_require(world, a);
            assert_int_equal(flushes(world), cached ? 1 : 0);
            // The actual caching type is an ordinary program's, whatever the flag says.
            const MDL *mdl = spy_build(DXGK_OPERATION_TRANSFER, 0)->before.Transfer.Source.pMdl;
            assert_int_equal(mdl->Flags & MDL_FLAG_CACHED, MDL_FLAG_CACHED);
            world_wait(world, world_gpu_fill(world, a, 0, 4, 7));
            world_force_out(world, a);
            assert_int_equal(flushes(world), cached ? 2 : 0);
            assert_int_equal(*(uint32_t *)memory, 7);
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
            free(memory);
            world_close(world);
        }
}

// Each way that existing memory takes from the CPU to the device and back, and when: before the device can have read
// it, and before anybody is told that he may. A program reads its own memory without a lock once it is out of place.
static void hands_change(UINT kind, bool aperture, bool cached)
{
    struct world_options options = world_defaults();
    options.machine.coherent_aperture = false;
    struct world *world = world_open(&options);
    uint32_t *memory = aligned_alloc(PAGE_SIZE, PAGES(2));
    memset(memory, 0x5A, PAGES(2));
    struct ferry_allocation_private wanted = world_private(PAGES(2), CPU | kind | (cached ? 0x4 : 0));
    wanted.Aperture = aperture;
    struct ferry_vidmm_allocation_options existing = {.existing = memory, .existing_bytes = PAGES(2)};
    D3DKMT_HANDLE a, large = aperture ? world_create_in_aperture(world, PAGES(63), CPU) : 0;
    assert_int_equal(world_try_create(world, &wanted, &existing, &a, NULL), FERRY_OK);
    unsigned each = cached ? 1 : 0;
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    uint64_t before = flushes(world);
    assert_int_equal(world_resident(world, &a, 1), FERRY_PENDING);
    assert_int_equal(flushes(world), before + each); // nothing has run
    world->knobs->hold_paging = false;
    world_require(world, a);
    world_wait(world, world_gpu_put(world, a, 0, 4, 7));
    before = flushes(world);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &address), FERRY_OK);
    assert_ptr_equal(address, memory);
    assert_int_equal(memory[0], 7);
    assert_int_equal(flushes(world), before + (aperture ? 1 : 2) * each); // the way out of video memory is one more
    before = flushes(world);
    memory[1] = 8;
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    assert_int_equal(flushes(world), before + each);
    world_wait(world, world_gpu_put(world, a, 8, 4, 9));
    before = flushes(world);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_true(world_evict(world, a) >= 0);
    if (aperture)
        world_require(world, large);
    else
        world_force_out(world, a);
    assert_int_equal(world_place(world, a).segment, 0);
    assert_int_equal(flushes(world) - before, each); // large has no Cached
    assert_int_equal(memory[1], 8);
    assert_int_equal(memory[2], 9);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
    free(memory);
    world_close(world);
}

static void R121_R134_R140_existing_memory_is_flushed_at_each_change_of_hands(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++)
        hands_change(i & 1 ? DXGK_ALLOC_FLAG_EXISTING_KERNEL_SYSMEM : DXGK_ALLOC_FLAG_EXISTING_SYSMEM, i & 2, i & 4);
}

// A DISCARD lock may name few pages; what the GPU wrote in the others is given up as well, so all of it is written.
static void R114_R238_a_discard_lock_of_few_pages_covers_all(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(4), PERMANENT);
    world_write(world, a, 1);
    world_require(world, a);
    world_wait(world, world_gpu_fill(world, a, PAGES(3), PAGE_SIZE, 0x66));
    void *address;
    assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, D3DDDI_LOCK_DISCARD, 1, 1, &address), FERRY_OK);
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    world_wait(world, world_gpu_name(world, world->context, a, false));
    uint8_t seen[PAGES(4)];
    machine_peek(world->machine, machine_local_segment, world_place(world, a).offset, seen, sizeof(seen));
    assert_memory_equal(seen, address, sizeof(seen)); // both copies agree, so a later clean eviction loses nothing
    world_close(world);
}

static void addresses_above_16_mib_of_an_allocation_are_patched_whole(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(5120); // 20 MiB
    struct world *world = world_open(&options);
    D3DKMT_HANDLE a = world_create(world, PAGES(5000), 0);
    world_require(world, a);
    world_wait(world, world_gpu_fill(world, a, PAGES(4100), PAGE_SIZE, 0x1717));
    uint32_t word;
    machine_peek(world->machine, machine_local_segment, world_place(world, a).offset + PAGES(4100), &word, 4);
    assert_int_equal(word, 0x1717);
    machine_peek(world->machine, machine_local_segment, world_place(world, a).offset + PAGES(4), &word, 4);
    assert_int_equal(word, 0);
    world_close(world);
}

static void R61_the_scratch_page_is_no_room_for_allocations(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE all = world_create_in_aperture(world, PAGES(64), CPU),
                  rest = world_create_in_aperture(world, PAGES(63), CPU);
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &all};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(arguments.NumBytesToTrim, PAGE_SIZE);
    world_require(world, rest);
    world_close(world);
}

// Every way in and out, of every kind of allocation: no notification is ever built, and as no lock has an alternate
// address, no special-lock transfer.
static void R85_R86_R183_R184_without_a_flag_no_notification_is_sent(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    static const UINT kinds[] = {CPU, PERMANENT, DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY | CPU};
    for (unsigned i = 0; i < 3; i++) {
        D3DKMT_HANDLE a = world_create(world, PAGES(3), kinds[i]),
                      b = world_create_in_aperture(world, PAGES(3), kinds[i]);
        world_require(world, a);
        world_require(world, b);
        world_wait(world, world_gpu_fill(world, a, 0, 4, 1));
        world_force_out(world, a);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, b), FERRY_OK);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
    }
    assert_true(spy_builds(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT) > 0 && spy_builds(DXGK_OPERATION_TRANSFER) > 0);
    for (unsigned operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT + 1; operation < DXGK_OPERATION_COUNT; operation++)
        assert_true(spy_builds(operation) == 0 || world_is_of_tables(operation));
    world_close(world);
}

// A hole below an overlay that stays: enough pages are free, but not in one piece, and nobody else can move.
static void R149_compaction_leaves_a_pinned_block_alone(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE gone = world_create(world, PAGES(6), CPU | DXGK_ALLOC_FLAG_OVERLAY),
                  stays = world_create(world, PAGES(4), CPU | DXGK_ALLOC_FLAG_OVERLAY);
    world_require(world, gone);
    world_require(world, stays);
    uint64_t offset = world_place(world, stays).offset;
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, gone), FERRY_OK);
    D3DKMT_HANDLE low = world_create(world, PAGES(50), CPU), wanted = world_create(world, PAGES(8), CPU);
    world_require(world, low);
    assert_int_equal(world_resident(world, &wanted, 1), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(world_place(world, stays).offset, offset);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R121_each_hand_over_of_cached_pages_is_flushed),
        cmocka_unit_test(R124_reads_of_what_is_not_cached_are_counted),
        cmocka_unit_test(R66_R121_a_coherent_mapping_needs_no_flush),
        cmocka_unit_test(R123_R134_R135_R140_existing_memory_is_flushed_only_with_cached),
        cmocka_unit_test(R121_R134_R140_existing_memory_is_flushed_at_each_change_of_hands),
        cmocka_unit_test(R114_R238_a_discard_lock_of_few_pages_covers_all),
        cmocka_unit_test(addresses_above_16_mib_of_an_allocation_are_patched_whole),
        cmocka_unit_test(R61_the_scratch_page_is_no_room_for_allocations),
        cmocka_unit_test(R149_compaction_leaves_a_pinned_block_alone),
        cmocka_unit_test(R85_R86_R183_R184_without_a_flag_no_notification_is_sent),
    };
    return WORLD_RUN(tests);
}
