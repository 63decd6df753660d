// SPDX-License-Identifier: Apache-2.0
// Allocations of more than 4 GiB, of which only a few pages are ever touched: the transfer of the whole is left out
// before it reaches the miniport.
// For MAP_ANONYMOUS and MAP_NORESERVE, which POSIX does not name.
#define _DEFAULT_SOURCE
#include <sys/mman.h>

#include "world.h"

#define LARGE_PAGES (UINT64_C(0x100000) + 64) // 4 GiB and a little

static NTSTATUS (*build)(HANDLE adapter, DXGKARG_BUILDPAGINGBUFFER *argument);

static NTSTATUS build_the_small_ones(HANDLE adapter, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    bool whole = argument->Operation == DXGK_OPERATION_TRANSFER && argument->Transfer.TransferSize > UINT32_MAX;
    return whole ? STATUS_SUCCESS : build(adapter, argument);
}

static struct world *open_large(void)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(LARGE_PAGES + 16);
    options.machine.aperture_bytes = 0;
    options.machine.sparse = true;
    struct world *world = world_open(&options);
    build = spy.table.DxgkDdiBuildPagingBuffer;
    spy.table.DxgkDdiBuildPagingBuffer = build_the_small_ones;
    return world;
}

static uint64_t peek(struct world *world, uint64_t page)
{
    uint64_t word = 0;
    machine_peek(world->machine, machine_local_segment, PAGES(page), &word, sizeof(word));
    return word;
}

static void R114_R115_an_unlock_beyond_4_gib_reaches_its_place_and_no_other(void **state)
{
    (void)state;
    struct world *world = open_large();
    void *memory =
        mmap(NULL, PAGES(LARGE_PAGES), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    struct ferry_allocation_private wanted =
        world_private(PAGES(LARGE_PAGES), CPU | DXGK_ALLOC_FLAG_EXISTING_SYSMEM | DXGK_ALLOC_FLAG_CACHED);
    struct ferry_vidmm_allocation_options options = {.existing = memory, .existing_bytes = PAGES(LARGE_PAGES)};
    D3DKMT_HANDLE a;
    assert_int_equal(world_try_create(world, &wanted, &options, &a, NULL), FERRY_OK);
    world_require(world, a);
    uint64_t base = world_place(world, a).offset / PAGE_SIZE;
    // The last page below 4 GiB, the first one behind, and some further on.
    static const uint64_t firsts[] = {0xFFFFF, 0x100000, 0x100000 + 7, 5};
    for (unsigned i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
        uint64_t first = firsts[i], count = i == 0 ? 3 : 2;
        void *address;
        assert_int_equal(ferry_vidmm_lock_pages(world->manager, a, D3DDDI_LOCK_WRITE_ONLY, first, count, &address),
                         FERRY_OK);
        assert_ptr_equal(address, memory);
        for (uint64_t page = first; page < first + count; page++)
            memcpy((uint8_t *)address + PAGES(page), &(uint64_t){0x1000 * (i + 1) + page}, 8);
        uint64_t same_below = peek(world, base + first % 0x100000 + (first == 0xFFFFF));
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        for (uint64_t page = first; page < first + count; page++)
            assert_int_equal(peek(world, base + page), 0x1000 * (i + 1) + page);
        if (first >= 0x100000)
            assert_int_equal(peek(world, base + first % 0x100000), same_below);
    }
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
    world_close(world);
    munmap(memory, PAGES(LARGE_PAGES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R114_R115_an_unlock_beyond_4_gib_reaches_its_place_and_no_other),
    };
    return WORLD_RUN(tests);
}
