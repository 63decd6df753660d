// SPDX-License-Identifier: Apache-2.0
// Tiled allocations: in tiles in video memory, in rows wherever the CPU sees them, and what the manager asks the
// miniport for on the way: TRANSFER's Swizzle and Unswizzle, or with addresses of the paging process VIRTUAL_TRANSFER
// of all of it.
#include "tiles.h"

#include <stdlib.h>
#include <string.h>

#include "addresses.h"
#include "world.h"

#define SLOTS     5
#define LOCAL     192
#define SWIZZLING (DXGK_TRANSFER_SWIZZLE | DXGK_TRANSFER_UNSWIZZLE)

static uint64_t drawn;
static uint32_t draw(uint32_t below)
{
    return draw_below(&drawn, below);
}

static struct world *begin(uint32_t buffer_bytes)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(LOCAL);
    options.manager.paging_buffer_bytes = buffer_bytes;
    return world_open(&options);
}

static struct ferry_tiling_private draw_tiling(uint64_t most)
{
    struct ferry_tiling_private t = {.TileBytes = draw(2) ? 4096 : 65536, .ElementBytes = 1u << draw(5)};
    t.Levels = 1 + draw(4);
    do {
        t.Width = 1 + draw(300);
        t.Height = 1 + draw(300);
        t.Levels -= t.Levels > 1 && draw(4) == 0;
    } while (tiles_bytes(&t) > most);
    return t;
}

static int try_create(struct world *world, const struct ferry_tiling_private *tiling, UINT flags, D3DKMT_HANDLE *handle)
{
    struct ferry_allocation_private wanted = world_private(tiles_bytes(tiling), flags);
    wanted.Tiling = *tiling;
    return world_try_create(world, &wanted, NULL, handle, NULL);
}

struct tiled {
    D3DKMT_HANDLE allocation;
    HANDLE miniport;
    struct ferry_tiling_private tiling;
    UINT flags;
    uint64_t bytes;
    uint8_t *rows; // what it holds
    uint32_t *map;
    bool here;
};

// What the GPU has in place, against rows.
static void check_tiles(struct world *world, const struct tiled *t)
{
    // What unlock has queued goes before a job that names it.
    world_wait(world, world_gpu_name(world, world->context, t->allocation, false));
    struct ferry_vidmm_placement place = world_place(world, t->allocation);
    uint8_t *found = malloc(place.bytes);
    assert_int_equal(place.segment, machine_local_segment);
    assert_int_equal(place.offset % t->tiling.TileBytes, 0);
    machine_peek(world->machine, place.segment, place.offset, found, place.bytes);
    for (uint64_t i = 0; i < place.bytes; i++)
        if (found[t->map[i]] != t->rows[i])
            fail_msg("byte %llu is not at %u", (unsigned long long)i, t->map[i]);
    free(found);
}

static void make(struct world *world, struct tiled *t, bool lockable)
{
    t->tiling = draw_tiling(PAGES(40));
    t->flags = lockable ? draw(3) ? CPU : PERMANENT : 0;
    t->bytes = tiles_bytes(&t->tiling);
    t->rows = calloc(1, t->bytes);
    t->map = tiles_map(&t->tiling);
    assert_int_equal(try_create(world, &t->tiling, t->flags, &t->allocation), FERRY_OK);
    // The miniport's handle is that of the newest fill.
    size_t by_place = spy_builds(DXGK_OPERATION_FILL);
    world_require(world, t->allocation);
    size_t by_address = spy_builds(DXGK_OPERATION_VIRTUAL_FILL);
    t->miniport = spy_builds(DXGK_OPERATION_FILL) != by_place
                      ? spy_build(DXGK_OPERATION_FILL, by_place)->before.Fill.hAllocation
                      : spy_build(DXGK_OPERATION_VIRTUAL_FILL, by_address - 1)->before.FillVirtual.hAllocation;
    assert_int_equal(world_evict(world, t->allocation), FERRY_OK);
}

static void drop(struct world *world, struct tiled *t)
{
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, t->allocation), FERRY_OK);
    free(t->rows);
    free(t->map);
}

static void leave(struct world *world, struct tiled *t)
{
    if (t->here)
        assert_int_equal(world_evict(world, t->allocation), FERRY_OK);
    t->here = false;
}

// A lock that writes has taken it out of its place.
static void place(struct world *world, struct tiled *t)
{
    if (world_place(world, t->allocation).segment == 0)
        leave(world, t);
    if (!t->here)
        world_require(world, t->allocation);
    t->here = true;
}

// Some pages, or all of it, by the CPU.
static void write_rows(struct world *world, struct tiled *t)
{
    uint64_t pages = t->bytes / PAGE_SIZE, first = draw((uint32_t)pages), count = 1 + draw((uint32_t)(pages - first));
    uint8_t *bytes;
    void *address;
    assert_int_equal(ferry_vidmm_lock_pages(world->manager, t->allocation, 0, first, count, &address), FERRY_OK);
    bytes = address;
    assert_memory_equal(bytes, t->rows, t->bytes);
    for (uint64_t i = PAGES(first); i < PAGES(first + count); i++)
        bytes[i] = t->rows[i] = (uint8_t)draw(256);
    assert_int_equal(ferry_vidmm_unlock(world->manager, t->allocation), FERRY_OK);
}

// Some of it, by a job, which has tiles.
static void write_tiles(struct world *world, struct tiled *t)
{
    uint32_t bytes = 16 + 4 * draw(1000), pattern = draw(UINT32_MAX);
    uint64_t first = 4 * (uint64_t)draw((uint32_t)((t->bytes - bytes) / 4));
    place(world, t);
    world_wait(world, world_gpu_fill(world, t->allocation, first, bytes, pattern));
    for (uint64_t i = 0; i < t->bytes; i++) {
        uint64_t at = t->map[i];
        if (at >= first && at < first + bytes)
            t->rows[i] = (uint8_t)(pattern >> (8 * ((at - first) & 3)));
    }
}

static const struct tiled *tiled_of(const struct tiled *tiled, HANDLE miniport)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (tiled[i].miniport == miniport && tiled[i].flags != 0)
            return &tiled[i];
    return NULL;
}

static unsigned by_place, by_address; // transfers that turned something over

// Every transfer of the first kind between system and video memory has the one flag that it needs, nothing else any.
// By addresses of the paging process there are no flags: the tiles of all of it are where some may be.
static void check_flags(const struct tiled *tiled, size_t from, size_t from_virtual)
{
    for (size_t n = from; n < spy_builds(DXGK_OPERATION_TRANSFER); n++) {
        const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &spy_build(DXGK_OPERATION_TRANSFER, n)->before.Transfer;
        UINT expected = 0;
        if (tiled_of(tiled, t->hAllocation))
            expected = t->Source.SegmentId == 0        ? DXGK_TRANSFER_SWIZZLE
                       : t->Destination.SegmentId == 0 ? DXGK_TRANSFER_UNSWIZZLE
                                                       : 0;
        assert_int_equal(t->Flags.Value & SWIZZLING, expected);
        by_place += expected != 0;
    }
    for (size_t n = from_virtual; n < spy_builds(DXGK_OPERATION_VIRTUAL_TRANSFER); n++) {
        const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *t =
            &spy_build(DXGK_OPERATION_VIRTUAL_TRANSFER, n)->before.TransferVirtual;
        const struct tiled *found = tiled_of(tiled, t->hAllocation);
        bool in = t->TransferDirection == DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL;
        if (!found || t->TransferDirection == DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL)
            continue;
        uint64_t tiles = in ? t->DestinationVirtualAddress : t->SourceVirtualAddress;
        assert_int_equal((tiles - t->AllocationOffsetInBytes) % found->tiling.TileBytes, 0);
        assert_true(t->AllocationOffsetInBytes + t->TransferSizeInBytes <= found->bytes);
        by_address++;
    }
}

// Written, used, pushed out, moved, by the CPU and by jobs; one of them may not be locked, and the rows of that are
// never made. Buffers of every length.
static void swizzled_in_place_and_linear_where_the_cpu_has_it(void **state)
{
    (void)state;
    drawn = seed_given(20261123);
    by_place = by_address = 0;
    for (unsigned run = 0; run < 2; run++) {
        struct world *world = begin(run == 0 ? 0 : 512 + 8 * draw(300));
        struct tiled tiled[SLOTS] = {0};
        world->knobs->delay = draw(3);
        for (unsigned i = 0; i < SLOTS; i++)
            make(world, &tiled[i], i != 0);
        for (unsigned step = 0; step < 50; step++) {
            struct tiled *t = &tiled[draw(SLOTS)];
            size_t from = spy_builds(DXGK_OPERATION_TRANSFER);
            size_t from_virtual = spy_builds(DXGK_OPERATION_VIRTUAL_TRANSFER);
            switch (draw(6)) {
            case 0:
            case 1:
                if (t->flags != 0)
                    write_rows(world, t);
                break;
            case 2: write_tiles(world, t); break;
            case 3:
                place(world, t);
                check_tiles(world, t);
                break;
            case 4: leave(world, t); break;
            default:
                place(world, t);
                for (unsigned i = 0; i < SLOTS; i++)
                    leave(world, &tiled[i]);
                world_force_out(world, t->allocation);
                break;
            }
            check_flags(tiled, from, from_virtual);
            for (unsigned i = 0, here = 0; i < SLOTS; i++)
                if (tiled[i].here && ++here > 2)
                    leave(world, &tiled[i]);
        }
        for (unsigned i = 0; i < SLOTS; i++) {
            place(world, &tiled[i]);
            check_tiles(world, &tiled[i]);
            leave(world, &tiled[i]);
        }
        for (unsigned i = 0; i < SLOTS; i++)
            drop(world, &tiled[i]);
        world_close(world);
    }
    // What the paging process has no addresses for goes from place to place there too.
    assert_true(by_place > 0);
    assert_int_equal(by_address > 0, addresses_wanted() && addresses_of_paging_wanted());
}

// Pages that the CPU has written of what stays in place: these rows go, and nothing else, though they are in many of
// its tiles.
static void a_part_of_the_rows_goes_alone(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t = {.tiling = {4096, 4, 100, 60, 1}, .flags = PERMANENT};
    t.bytes = tiles_bytes(&t.tiling);
    t.rows = calloc(1, t.bytes);
    t.map = tiles_map(&t.tiling);
    drawn = 5;
    assert_int_equal(try_create(world, &t.tiling, t.flags, &t.allocation), FERRY_OK);
    world_require(world, t.allocation);
    bool virtual_paging = addresses_wanted() && addresses_of_paging_wanted();
    for (unsigned first = 0; first < t.bytes / PAGE_SIZE; first++) {
        unsigned count = 1 + draw((uint32_t)(t.bytes / PAGE_SIZE - first));
        void *address;
        assert_int_equal(ferry_vidmm_lock_pages(world->manager, t.allocation, 0, first, count, &address), FERRY_OK);
        for (uint64_t i = PAGES(first); i < PAGES(first + count); i++)
            ((uint8_t *)address)[i] = t.rows[i] = (uint8_t)draw(256);
        size_t by_place = spy_builds(DXGK_OPERATION_TRANSFER), by_address = spy_builds(DXGK_OPERATION_VIRTUAL_TRANSFER);
        assert_int_equal(ferry_vidmm_unlock(world->manager, t.allocation), FERRY_OK);
        check_tiles(world, &t);
        assert_int_equal(spy_builds(DXGK_OPERATION_TRANSFER), by_place + !virtual_paging);
        assert_int_equal(spy_builds(DXGK_OPERATION_VIRTUAL_TRANSFER), by_address + virtual_paging);
        if (virtual_paging) {
            const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *v =
                &spy_build(DXGK_OPERATION_VIRTUAL_TRANSFER, by_address)->before.TransferVirtual;
            assert_int_equal(v->AllocationOffsetInBytes, PAGES(first));
            assert_int_equal(v->TransferSizeInBytes, PAGES(count));
        } else {
            const DXGK_BUILDPAGINGBUFFER_TRANSFER *p = &spy_build(DXGK_OPERATION_TRANSFER, by_place)->before.Transfer;
            assert_int_equal(p->TransferOffset, PAGES(first));
            assert_int_equal(p->TransferSize, PAGES(count));
        }
    }
    drop(world, &t);
    world_close(world);
}

// Large tiles come and go between others, of a page or three: by addresses they begin where one of them may.
static void large_tiles_begin_where_one_may(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t = {.tiling = {65536, 4, 100, 100, 1}, .flags = CPU};
    D3DKMT_HANDLE others[2] = {world_create(world, PAGES(1), CPU), world_create(world, PAGES(3), CPU)};
    t.bytes = tiles_bytes(&t.tiling);
    t.rows = calloc(1, t.bytes);
    t.map = tiles_map(&t.tiling);
    drawn = 6;
    by_address = 0;
    assert_int_equal(try_create(world, &t.tiling, t.flags, &t.allocation), FERRY_OK);
    for (unsigned round = 0; round < 6; round++) {
        size_t before = spy_builds(DXGK_OPERATION_VIRTUAL_TRANSFER);
        world_write(world, others[round % 2], round);
        world_require(world, others[round % 2]);
        write_rows(world, &t);
        place(world, &t);
        check_tiles(world, &t);
        leave(world, &t);
        assert_int_equal(world_evict(world, others[round % 2]), FERRY_OK);
        world_force_out(world, t.allocation);
        for (size_t n = before; n < spy_builds(DXGK_OPERATION_VIRTUAL_TRANSFER); n++)
            by_address +=
                spy_build(DXGK_OPERATION_VIRTUAL_TRANSFER, n)->before.TransferVirtual.TransferSizeInBytes == t.bytes;
    }
    assert_true(by_address > 0 || !addresses_of_paging_wanted());
    drop(world, &t);
    world_close(world);
}

// Pushed together with others, by a place of its own or over the one that it had, it stays in tiles.
static void tiles_stay_as_they_are_inside_video_memory(void **state)
{
    (void)state;
    for (unsigned far = 0; far < 2; far++) {
        struct world *world = begin(0);
        struct tiled t = {.tiling = {4096, 4, 400, 100, 2}, .flags = CPU};
        D3DKMT_HANDLE below = world_create(world, far ? PAGES(80) : PAGES(9), CPU);
        t.bytes = tiles_bytes(&t.tiling);
        t.rows = calloc(1, t.bytes);
        t.map = tiles_map(&t.tiling);
        drawn = 7;
        assert_int_equal(try_create(world, &t.tiling, t.flags, &t.allocation), FERRY_OK);
        write_rows(world, &t);
        world_require(world, below);
        place(world, &t);
        uint64_t before = world_place(world, t.allocation).offset;
        uint64_t left = PAGES(LOCAL) - (world_place(world, below).bytes + world_place(world, t.allocation).bytes);
        D3DKMT_HANDLE above = world_create(world, left, CPU);
        world_require(world, above);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, below), FERRY_OK);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, above), FERRY_OK);
        world_require(world, world_create(world, PAGES(LOCAL) - world_place(world, t.allocation).bytes, CPU));
        assert_true(world_place(world, t.allocation).offset != before);
        assert_int_equal(world_statistics(world).bytes_moved, world_place(world, t.allocation).bytes);
        check_tiles(world, &t);
        leave(world, &t);
        drop(world, &t);
        world_close(world);
    }
}

// What is linear in system memory would be linear in an aperture: it never gets there, even where it is preferred.
static void what_is_linear_outside_is_never_mapped_into_an_aperture(void **state)
{
    (void)state;
    struct world *world = begin(0);
    const struct ferry_tiling_private tiling = {4096, 4, 100, 100, 1};
    const UINT aperture = 1u << (machine_aperture_segment - 1), both = aperture | 1u << (machine_local_segment - 1);
    struct ferry_allocation_private wanted = world_private(PAGES(10), CPU);
    D3DKMT_HANDLE plain = 0, tiled = 0, none = 0;
    wanted.SegmentPreference = machine_aperture_segment;
    world->knobs->segment_set = both;
    assert_int_equal(world_try_create(world, &wanted, NULL, &plain, NULL), FERRY_OK);
    wanted.Bytes = tiles_bytes(&tiling);
    wanted.Tiling = tiling;
    assert_int_equal(world_try_create(world, &wanted, NULL, &tiled, NULL), FERRY_OK);
    world->knobs->segment_set = aperture;
    assert_int_equal(world_try_create(world, &wanted, NULL, &none, NULL), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(none, 0);
    world->knobs->segment_set = 0;
    world_require(world, plain);
    world_require(world, tiled);
    assert_int_equal(world_place(world, plain).segment, machine_aperture_segment);
    assert_int_equal(world_place(world, tiled).segment, machine_local_segment);
    world_close(world);
}

// Whoever discards gets another instance, which is tiled as the first one is.
static void an_instance_is_tiled_as_the_allocation_is(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled tiled = {0};
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &world->context, NULL), FERRY_OK);
    world->knobs->by_place = true;
    drawn = 2;
    make(world, &tiled, true);
    place(world, &tiled);
    world->knobs->delay = 20;
    for (unsigned round = 0; round < 4; round++) {
        void *address;
        // A job that does not end uses the one that is discarded.
        world->knobs->hold_node = 1;
        world_gpu_fill(world, tiled.allocation, 0, 64, round);
        assert_int_equal(ferry_vidmm_lock(world->manager, tiled.allocation, D3DDDI_LOCK_DISCARD, &address), FERRY_OK);
        assert_int_equal(world_place(world, tiled.allocation).instances, 2);
        world->knobs->hold_node = 0;
        for (uint64_t i = 0; i < tiled.bytes; i++)
            ((uint8_t *)address)[i] = tiled.rows[i] = (uint8_t)draw(256);
        assert_int_equal(ferry_vidmm_unlock(world->manager, tiled.allocation), FERRY_OK);
        check_tiles(world, &tiled);
    }
    assert_true(world_place(world, tiled.allocation).instances > 1);
    drop(world, &tiled);
    world_close(world);
}

// How many transfers go to video memory and back that turn something over, or do not.
static void count_transfers(bool turned, size_t *in, size_t *out)
{
    *in = *out = 0;
    for (size_t n = 0; n < spy_builds(DXGK_OPERATION_TRANSFER); n++) {
        const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &spy_build(DXGK_OPERATION_TRANSFER, n)->before.Transfer;
        *in += t->Source.SegmentId == 0 && t->Flags.Swizzle == turned && !t->Flags.Unswizzle;
        *out += t->Destination.SegmentId == 0 && t->Flags.Unswizzle == turned && !t->Flags.Swizzle;
    }
    for (size_t n = 0; n < spy_builds(DXGK_OPERATION_VIRTUAL_TRANSFER); n++) {
        const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *t =
            &spy_build(DXGK_OPERATION_VIRTUAL_TRANSFER, n)->before.TransferVirtual;
        *in += t->TransferDirection == DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL;
        *out += t->TransferDirection == DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM;
    }
}

// From 2.0 on bit 7 is DisableLargePageMapping: whoever asks for that, or answers so, has what it holds go to and fro
// as it is, and it may be in an aperture. What is in tiles may have the bit or not.
static void in_model_2_bit_7_says_nothing_of_tiles(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.model = 2;
    options.machine.version = DXGKDDI_WDDMv3_2;
    struct world *world = world_open(&options);
    struct ferry_tiling_private tiling = {.TileBytes = 4096, .ElementBytes = 4, .Width = 70, .Height = 70, .Levels = 1};
    UINT bit = DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING;
    D3DKMT_HANDLE images[3] = {world_create(world, PAGES(9), CPU | bit)};
    uint32_t *map = tiles_map(&tiling);
    drawn = 3;
    assert_int_equal(try_create(world, &tiling, CPU, &images[1]), FERRY_OK);
    assert_int_equal(try_create(world, &tiling, CPU | bit, &images[2]), FERRY_OK);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t rows[PAGES(9)], found[PAGES(9)];
        void *address;
        size_t in, out, in_before, out_before;
        for (size_t at = 0; at < sizeof rows; at++)
            rows[at] = (uint8_t)draw(256);
        count_transfers(i != 0, &in_before, &out_before);
        assert_int_equal(ferry_vidmm_lock(world->manager, images[i], 0, &address), FERRY_OK);
        memcpy(address, rows, sizeof rows);
        assert_int_equal(ferry_vidmm_unlock(world->manager, images[i]), FERRY_OK);
        world_require(world, images[i]);
        struct ferry_vidmm_placement place = world_place(world, images[i]);
        assert_int_equal(place.segment, machine_local_segment);
        assert_int_equal(place.bytes, sizeof rows);
        machine_peek(world->machine, place.segment, place.offset, found, sizeof found);
        for (size_t at = 0; at < sizeof rows; at++)
            assert_int_equal(found[i == 0 ? at : map[at]], rows[at]);
        // What the GPU writes comes back where it was.
        world_wait(world, world_gpu_fill(world, images[i], 512, 4, 0x12345678));
        for (size_t at = 0; at < sizeof rows; at++) {
            size_t there = i == 0 ? at : map[at];
            if (there >= 512 && there < 516)
                rows[at] = (uint8_t)(0x12345678 >> (8 * (there - 512)));
        }
        world_force_out(world, images[i]);
        assert_int_equal(ferry_vidmm_lock(world->manager, images[i], D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        assert_memory_equal(address, rows, sizeof rows);
        assert_int_equal(ferry_vidmm_unlock(world->manager, images[i]), FERRY_OK);
        count_transfers(i != 0, &in, &out);
        assert_true(in > in_before && out > out_before);
    }
    free(map);
    D3DKMT_HANDLE mapped = world_create_in_aperture(world, PAGES(2), CPU | bit);
    world_require(world, mapped);
    assert_int_equal(world_place(world, mapped).segment, machine_aperture_segment);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swizzled_in_place_and_linear_where_the_cpu_has_it),
        cmocka_unit_test(a_part_of_the_rows_goes_alone),
        cmocka_unit_test(large_tiles_begin_where_one_may),
        cmocka_unit_test(tiles_stay_as_they_are_inside_video_memory),
        cmocka_unit_test(what_is_linear_outside_is_never_mapped_into_an_aperture),
        cmocka_unit_test(an_instance_is_tiled_as_the_allocation_is),
        cmocka_unit_test(in_model_2_bit_7_says_nothing_of_tiles),
    };
    return WORLD_RUN(tests);
}
