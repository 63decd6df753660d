// SPDX-License-Identifier: Apache-2.0
// Images in tiles as driver model 2 has them: how the miniport says so, and VIRTUAL_TRANSFER of one that is in rows in
// system memory. The packets are read here, and each byte of a row is looked for where the published table has it.
#include "../../contract/tiles.h"
#include "ferry_contract.h"
#include "rig.h"

#define GIB_4 (UINT64_C(1) << 32)
#define ROWS  (3 * GIB_4)
#define TILES (7 * GIB_4)
#define CPU   DXGK_ALLOC_FLAG_CPU_VISIBLE

static NTSTATUS try_make(struct rig *rig, const struct ferry_tiling_private *tiling, UINT flags, bool alternate,
                         DXGK_ALLOCATIONINFO *info)
{
    struct ferry_allocation_private wish = {.Version = FERRY_ALLOCATION_PRIVATE_VERSION,
                                            .Size = sizeof wish,
                                            .Bytes = tiling->TileBytes ? tiles_bytes(tiling) : 4096,
                                            .Flags = flags,
                                            .Tiling = *tiling,
                                            .AlternateVA = alternate};
    *info = (DXGK_ALLOCATIONINFO){.pPrivateDriverData = &wish, .PrivateDriverDataSize = sizeof wish};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = info};
    NTSTATUS status = rig->kmd->DxgkDdiCreateAllocation(rig->adapter, &create);

    info->pPrivateDriverData = NULL;
    return status;
}

static HANDLE make(struct rig *rig, const struct ferry_tiling_private *tiling, UINT flags)
{
    DXGK_ALLOCATIONINFO info;

    assert_int_equal(try_make(rig, tiling, flags, false, &info), STATUS_SUCCESS);
    return info.hAllocation;
}

static const struct ferry_tiling_private none, small = {4096, 4, 70, 70, 2}, large = {65536, 2, 400, 150, 2},
                                               wide = {4096, 1, 6000, 20, 1}, huge = {65536, 16, 130, 70, 3},
                                               bytes = {65536, 1, 300, 300, 1}, eights = {4096, 8, 40, 40, 3};

static void swizzled_is_said_by_a_hint(void **state)
{
    static const UINT flags[] = {0, CPU, CPU | DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING};
    struct rig *rig = *state;
    DXGK_ALLOCATIONINFO info;

    for (unsigned i = 0; i < 6; i++) {
        const struct ferry_tiling_private *tiling = i < 3 ? &none : &small;

        assert_int_equal(try_make(rig, tiling, flags[i % 3], false, &info), STATUS_SUCCESS);
        assert_int_equal(info.Flags & 0xff, flags[i % 3]);
        assert_int_equal(info.pAllocationUsageHint != NULL, i >= 3);
        if (info.pAllocationUsageHint) {
            assert_int_equal(info.pAllocationUsageHint->Version, 1);
            assert_int_equal(info.pAllocationUsageHint->v1.Flags.Value, 2);
        }
        destroy_allocation(rig, info.hAllocation);
    }
    // The special lock is a service of 1.x.
    assert_int_equal(try_make(rig, &small, CPU, true, &info), STATUS_NOT_SUPPORTED);
}

static void without_tiled_copies_there_are_no_such_images(void **state)
{
    struct rig *rig = *state;
    DXGK_ALLOCATIONINFO info;

    assert_int_equal(try_make(rig, &small, CPU, false, &info), STATUS_NOT_SUPPORTED);
    assert_int_equal(try_make(rig, &none, CPU, false, &info), STATUS_SUCCESS);
    destroy_allocation(rig, info.hAllocation);
}

// ---- What the packets do -----------------------------------------------------------------------------------------

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, 8);
    return value;
}

struct side {
    uint64_t at;
    int64_t pitch;
    uint32_t layout;
};

static struct side side_of(const uint8_t *packet, bool source)
{
    uint32_t pitch = source ? FERRY_PACKET_COPY_RECTANGLE_SOURCE_PITCH : FERRY_PACKET_COPY_RECTANGLE_DESTINATION_PITCH;

    return (struct side){
        get64(packet + (source ? FERRY_PACKET_COPY_RECTANGLE_SOURCE : FERRY_PACKET_COPY_RECTANGLE_DESTINATION)),
        (int32_t)get32(packet + pitch), get32(packet + pitch + 4)};
}

// An image of one tile: the table is asked for places in it.
static struct ferry_tiling_private one_tile(const struct ferry_tiling_private *tiling)
{
    return (struct ferry_tiling_private){tiling->TileBytes, tiling->ElementBytes, tiles_size(tiling, 'x'),
                                         tiles_size(tiling, 'y'), 1};
}

static uint64_t address_in_tiles(const struct side *side, const struct ferry_tiling_private *tile, const uint32_t *map,
                                 uint32_t byte, uint32_t row)
{
    uint32_t wide = tile->Width * tile->ElementBytes, x = FERRY_GET(FERRY_PACKET_LAYOUT_X, side->layout) + byte;
    uint32_t y = FERRY_GET(FERRY_PACKET_LAYOUT_Y, side->layout) + row;

    return side->at + (uint64_t)(side->pitch * (y / tile->Height)) + (uint64_t)(x / wide) * tile->TileBytes +
           map[(uint64_t)(y % tile->Height) * wide + x % wide];
}

struct transfer {
    const struct ferry_tiling_private *tiling;
    uint64_t rows, tiles; // where the image begins
    bool in;
    uint8_t *seen;            // of each byte of the rows: so often
    uint32_t *map, *tile_map; // where bytes of the image, and of one of its tiles, are
};

static void carry_out(const struct transfer *t, const uint8_t *packet)
{
    const struct ferry_tiling_private tile = one_tile(t->tiling);
    struct side rows = side_of(packet, t->in), tiles = side_of(packet, !t->in);
    uint32_t bytes_a_row = get32(packet + FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES),
             last_row = get32(packet + FERRY_PACKET_COPY_RECTANGLE_LAST_ROW);
    uint64_t lowest = UINT64_MAX, highest = 0, all = tiles_bytes(t->tiling);

    // Both sides by address, the one in rows, the other in tiles of that size.
    assert_int_equal(get32(packet + 4), FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, 3u) |
                                            FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, 3u));
    assert_int_equal(rows.layout, 0);
    assert_int_equal((tiles.layout & FERRY_PACKET_LAYOUT_SMALL_MASK) != 0, tile.TileBytes == 4096);
    assert_int_equal(tiles.at % tile.TileBytes, 0);
    assert_true(FERRY_GET(FERRY_PACKET_LAYOUT_X, tiles.layout) < tile.Width * tile.ElementBytes);
    for (uint32_t row = 0; row <= last_row; row++)
        for (uint32_t byte = 0; byte < bytes_a_row; byte++) {
            uint64_t from = rows.at + (uint64_t)(rows.pitch * row) + byte - t->rows;
            uint64_t to = address_in_tiles(&tiles, &tile, t->tile_map, byte, row);

            if (from >= all || to != t->tiles + t->map[from])
                fail_msg("byte %llu goes elsewhere", (unsigned long long)from);
            t->seen[from]++;
            lowest = to < lowest ? to : lowest;
            highest = to > highest ? to : highest;
        }
    assert_true(lowest / GIB_4 == highest / GIB_4);
    uint64_t end = rows.at + (uint64_t)(rows.pitch * last_row) + bytes_a_row - 1;
    assert_true(rows.at / GIB_4 == end / GIB_4);
}

static DXGKARG_BUILDPAGINGBUFFER transfer(struct rig *rig, HANDLE allocation, uint64_t rows, uint64_t tiles,
                                          uint64_t offset, uint64_t size, bool in)
{
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_VIRTUAL_TRANSFER);

    a.TransferVirtual = (DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL){
        .hAllocation = allocation,
        .AllocationOffsetInBytes = offset,
        .TransferSizeInBytes = size,
        .SourceVirtualAddress = (in ? rows : tiles) + offset,
        .DestinationVirtualAddress = (in ? tiles : rows) + offset,
        .TransferDirection = in ? DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL : DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM};
    return a;
}

static void build(struct rig *rig, const struct transfer *t, HANDLE allocation, uint64_t offset, uint64_t size,
                  uint32_t room)
{
    DXGKARG_BUILDPAGINGBUFFER a = transfer(rig, allocation, t->rows, t->tiles, offset, size, t->in);
    NTSTATUS status;

    do {
        const uint8_t *at = a.pDmaBuffer = rig->buffer.address;

        a.DmaSize = room;
        a.pDmaBufferPrivateData = rig->private_data;
        a.DmaBufferPrivateDataSize = sizeof rig->private_data;
        status = rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a);
        assert_true(status == STATUS_SUCCESS || status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
        for (; at != a.pDmaBuffer; at += FERRY_PACKET_COPY_RECTANGLE_SIZE) {
            assert_int_equal(FERRY_GET(FERRY_PACKET_HEADER_OPCODE, get32(at)), FERRY_OPCODE_COPY_RECTANGLE);
            assert_int_equal(get32(at) & FERRY_PACKET_HEADER_UNORDERED_MASK, 0);
            carry_out(t, at);
        }
    } while (status != STATUS_SUCCESS);
}

// All of it, parts of it, wherever it is in its spaces: also where a multiple of 4 GiB is in its middle.
static void each_byte_of_a_row_goes_to_its_place_in_the_tiles_and_back(void **state)
{
    static const struct ferry_tiling_private *const images[] = {&small, &large, &wide, &huge, &bytes, &eights};
    struct rig *rig = *state;
    uint32_t *map = NULL, *tile_map = NULL;

    for (unsigned i = 0; i < 4 * sizeof images / sizeof *images; i++) {
        const struct ferry_tiling_private *tiling = images[i / 4];
        uint64_t size = tiles_bytes(tiling), pages = size / 4096, first = i * 7 % pages,
                 count = i % 4 == 0 ? pages : 1 + (pages - first - 1) * (i % 4) / 3;
        const struct ferry_tiling_private tile = one_tile(tiling);
        map = i % 4 ? map : tiles_map(tiling);
        tile_map = i % 4 ? tile_map : tiles_map(&tile);
        struct transfer t = {tiling, ROWS, TILES, i % 2, calloc(1, size), map, tile_map};
        HANDLE allocation = make(rig, tiling, i % 3 ? CPU : DXGK_ALLOC_FLAG_PERMANENT_SYSMEM);

        first = i % 4 == 0 ? 0 : first;
        t.rows -= i % 3 == 0 ? 0 : 4096 * (i % pages);
        t.tiles -= size / tiling->TileBytes * (i % 4) / 4 * tiling->TileBytes;
        build(rig, &t, allocation, 4096 * first, 4096 * count, i % 2 ? 4096 : 64 + 8 * i);
        for (uint64_t at = 0; at < size; at++)
            if (t.seen[at] != (at >= 4096 * first && at < 4096 * (first + count)))
                fail_msg("byte %llu: %u times", (unsigned long long)at, t.seen[at]);
        free(t.seen);
        destroy_allocation(rig, allocation);
        if (i % 4 == 3) {
            free(map);
            free(tile_map);
        }
    }
}

// What nobody may lock is in tiles everywhere, and inside video memory everything is.
static void what_has_tiles_on_both_sides_is_copied(void **state)
{
    struct rig *rig = *state;

    for (unsigned i = 0; i < 3; i++) {
        HANDLE allocation = make(rig, &small, i < 2 ? 0 : CPU);
        DXGKARG_BUILDPAGINGBUFFER a = transfer(rig, allocation, ROWS, TILES, 0, 4096, i % 2);

        if (i == 2)
            a.TransferVirtual.TransferDirection = DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL;
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_SUCCESS);
        assert_int_equal((uint8_t *)a.pDmaBuffer - (uint8_t *)rig->buffer.address, FERRY_PACKET_COPY_SIZE);
        assert_int_equal(FERRY_GET(FERRY_PACKET_HEADER_OPCODE, get32(rig->buffer.address)), FERRY_OPCODE_COPY);
        destroy_allocation(rig, allocation);
    }
}

// By name, and before anything is written.
static void what_does_not_fit_the_tiles_is_refused(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make(rig, &large, CPU);
    uint64_t size = tiles_bytes(&large);

    for (unsigned i = 0; i < 22; i++) {
        DXGKARG_BUILDPAGINGBUFFER a = transfer(rig, allocation, ROWS, TILES, 8192, 4096, i % 2);
        DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *t = &a.TransferVirtual;
        uint64_t *tiles = i % 2 ? &t->DestinationVirtualAddress : &t->SourceVirtualAddress;
        uint64_t *rows = i % 2 ? &t->SourceVirtualAddress : &t->DestinationVirtualAddress;

        switch (i / 2) {
        case 0: *tiles += 4096; break; // no tile begins there
        case 1: *rows += 16; break;
        case 2: t->AllocationOffsetInBytes += 16, *tiles += 16; break;
        case 3: t->TransferSizeInBytes = 4090; break;
        case 4: t->TransferSizeInBytes = size - 4096; break; // beyond its end
        case 5: t->AllocationOffsetInBytes = size + 65536 + 8192; break;
        case 6: *tiles = 4096, t->AllocationOffsetInBytes = 65536 + 4096; break; // it would begin below 0
        case 7: t->Flags.Reserved = 1; break;
        case 8: *tiles += UINT64_C(1) << 48; break;
        case 9: *rows = (UINT64_C(1) << 48) - 2048; break;
        default: t->AllocationOffsetInBytes = size, *tiles = TILES + size, t->TransferSizeInBytes = 65536; break;
        }
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_INVALID_PARAMETER);
        assert_ptr_equal(a.pDmaBuffer, rig->buffer.address);
    }
    destroy_allocation(rig, allocation);
}

static int with_tiling(void **state)
{
    rig_tiling = true;
    return rig_setup(state);
}

static int without_tiling(void **state)
{
    rig_tiling = false;
    return rig_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(swizzled_is_said_by_a_hint, with_tiling, rig_teardown),
        cmocka_unit_test_setup_teardown(without_tiled_copies_there_are_no_such_images, without_tiling, rig_teardown),
        cmocka_unit_test_setup_teardown(each_byte_of_a_row_goes_to_its_place_in_the_tiles_and_back, with_tiling,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(what_has_tiles_on_both_sides_is_copied, with_tiling, rig_teardown),
        cmocka_unit_test_setup_teardown(what_does_not_fit_the_tiles_is_refused, with_tiling, rig_teardown),
    };

    rig_model = 2;
    rig_ways = FERRY_KMD_BY_ADDRESS;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
