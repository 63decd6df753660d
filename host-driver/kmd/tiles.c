// SPDX-License-Identifier: Apache-2.0
// TRANSFER of a tiled allocation with Swizzle or Unswizzle, and VIRTUAL_TRANSFER of one that is linear in system
// memory: host pages hold rows, video memory tiles, and the device's COPY_RECTANGLE turns one into the other
// (docs/manual/tiling.md). A page of rows is the end of a row, whole rows, and the begin of one: three packets at most.
// The device takes no rectangle over a multiple of 4 GiB, so one whose tiles lie on both sides of it is cut in two.
// MultipassOffset counts all six, the missing ones too.
#include "ddi/flag_rules.h"
#include "kmd/writer.h"

#define CUTS  2u
#define PARTS (3u * CUTS)

bool kmd_tiling_good(const struct ferry_allocation_private *wish)
{
    const struct ferry_tiling_private *t = &wish->Tiling;

    if (!t->TileBytes)
        return !t->ElementBytes && !t->Width && !t->Height && !t->Levels;
    return ferry_tiles_good(t) && ferry_tiles_bytes(t) == wish->Bytes && !wish->Aperture && !wish->Compressed;
}

struct piece {
    uint32_t x, row, bytes, rows; // of the level; x and bytes count bytes
    uint32_t at;                  // in the page
};

// Which part of a page that begins `offset` bytes behind the level's begin; nothing when bytes or rows is 0.
static struct piece piece_of(uint64_t offset, uint32_t pitch, uint32_t part)
{
    uint32_t x = (uint32_t)(offset % pitch), row = (uint32_t)(offset / pitch), head = x ? pitch - x : 0;

    head = head < PAGE_SIZE ? head : PAGE_SIZE;
    if (part == 0)
        return (struct piece){x, row, head, 1, 0};
    uint32_t rows = (PAGE_SIZE - head) / pitch;
    row += head != 0;
    if (part == 1)
        return (struct piece){0, row, pitch, rows, head};
    return (struct piece){0, row + rows, PAGE_SIZE - head - rows * pitch, 1, head + rows * pitch};
}

// From which byte of its rows on the piece's tiles lie behind a multiple of 4 GiB, before which others of them do: a
// row of tiles is whole pages, so all of them are in one. Behind its last byte: there is none.
static uint32_t cut_at(const struct ferry_tiling_private *tiling, const struct ferry_tiling_place *level,
                       const struct piece *piece, uint64_t base)
{
    uint64_t row =
        base + level->Offset + (uint64_t)(piece->row / level->TileHeight) * level->Across * tiling->TileBytes;
    uint32_t end = piece->x + piece->bytes;
    uint64_t first = row + (uint64_t)(piece->x / level->TileWidth) * tiling->TileBytes;
    uint64_t last = row + (uint64_t)((end - 1) / level->TileWidth) * tiling->TileBytes, limit = last >> 32 << 32;

    return limit > first ? (uint32_t)((limit - row) / tiling->TileBytes) * level->TileWidth : end;
}

// What lies before that, or behind it.
static struct piece cut_of(const struct ferry_tiling_private *tiling, const struct ferry_tiling_place *level,
                           struct piece piece, uint64_t base, bool behind)
{
    if (!piece.bytes || !piece.rows)
        return piece;
    uint32_t cut = cut_at(tiling, level, &piece, base), before = cut - piece.x;
    if (behind)
        return (struct piece){cut, piece.row, piece.bytes - before, piece.rows, piece.at + before};
    piece.bytes = before;
    return piece;
}

// A transfer between rows and tiles.
struct rearrangement {
    const struct kmd_allocation *allocation;
    uint64_t offset, bytes; // of it
    uint64_t tiles;         // where all of it begins in tiles
    const uint64_t *pages;  // of the rows, from `offset` on; NULL: they follow each other from `rows` on
    uint64_t rows;
    uint32_t rows_kind, tiles_kind;
    bool swizzle;
};

static void put_rectangle(struct writer *w, const struct rearrangement *r, const struct ferry_tiling_place *level,
                          const struct piece *piece, uint64_t rows)
{
    const struct ferry_tiling_private *tiling = &r->allocation->tiling->told;
    uint32_t wide = level->TileWidth, high = level->TileHeight, pitch = level->Across * wide;
    uint64_t tile = (uint64_t)(piece->row / high) * level->Across + piece->x / wide;
    uint64_t tiles = r->tiles + level->Offset + tile * tiling->TileBytes;
    uint32_t tile_pitch = level->Across * tiling->TileBytes;
    uint32_t layout = FERRY_PUT(FERRY_PACKET_LAYOUT_X, piece->x % wide) |
                      FERRY_PUT(FERRY_PACKET_LAYOUT_Y, piece->row % high) |
                      FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, ferry_tiles_swizzle(tiling->ElementBytes)) |
                      FERRY_PUT(FERRY_PACKET_LAYOUT_SMALL, (uint32_t)(tiling->TileBytes == 4096));

    put_header(w, FERRY_OPCODE_COPY_RECTANGLE, FERRY_PACKET_COPY_RECTANGLE_SIZE, false,
               r->swizzle ? places(r->rows_kind, r->tiles_kind) : places(r->tiles_kind, r->rows_kind));
    put32(w, piece->bytes);
    put32(w, piece->rows - 1);
    put64(w, r->swizzle ? rows : tiles);
    put64(w, r->swizzle ? tiles : rows);
    put32(w, r->swizzle ? pitch : tile_pitch);
    put32(w, r->swizzle ? 0 : layout);
    put32(w, r->swizzle ? tile_pitch : pitch);
    put32(w, r->swizzle ? layout : 0);
}

// Whole pages of it, and not too many to be counted.
static bool is_part(const struct rearrangement *r)
{
    return r->offset % PAGE_SIZE == 0 && r->bytes % PAGE_SIZE == 0 && r->offset <= r->allocation->bytes &&
           r->bytes <= r->allocation->bytes - r->offset && r->bytes / PAGE_SIZE <= UINT32_MAX / PARTS &&
           r->tiles % r->allocation->tiling->told.TileBytes == 0;
}

static NTSTATUS rearrange(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a, const struct rearrangement *r)
{
    const struct ferry_tiling_private *tiling = &r->allocation->tiling->told;
    uint64_t done = a->MultipassOffset, all = r->bytes / PAGE_SIZE * PARTS;

    for (; done < all; done++) {
        uint64_t page = done / PARTS, offset = r->offset + page * PAGE_SIZE;
        struct ferry_tiling_place level = ferry_tiles_level_of(tiling, offset);
        struct piece piece = piece_of(offset - level.Offset, level.Across * level.TileWidth, done % PARTS / CUTS);

        piece = cut_of(tiling, &level, piece, r->tiles, done % CUTS);
        if (!piece.bytes || !piece.rows)
            continue;
        if (w->room < FERRY_PACKET_COPY_RECTANGLE_SIZE)
            break;
        put_rectangle(w, r, &level, &piece,
                      (r->pages ? r->pages[page] << PAGE_SHIFT : r->rows + page * PAGE_SIZE) + piece.at);
    }
    return progress(a, done, all);
}

NTSTATUS kmd_build_tiles(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &a->Transfer;
    const struct kmd_allocation *allocation = t->hAllocation;
    const DXGK_TRANSFERSIDE *rows = t->Flags.Swizzle ? &t->Source : &t->Destination;
    const DXGK_TRANSFERSIDE *tiles = t->Flags.Swizzle ? &t->Destination : &t->Source;
    struct rearrangement r = {.allocation = allocation,
                              .offset = t->TransferOffset,
                              .bytes = t->TransferSize,
                              .tiles = (uint64_t)tiles->SegmentAddress.QuadPart,
                              .rows_kind = FERRY_ADDRESS_KIND_SYSTEM,
                              .tiles_kind = FERRY_ADDRESS_KIND_LOCAL,
                              .swizzle = t->Flags.Swizzle};

    // Rows in host pages, tiles in video memory; and only what is told by whole pages, of what was made as tiled.
    if (t->Flags.Swizzle == t->Flags.Unswizzle || !allocation->tiled || rows->SegmentId != 0 || !rows->pMdl ||
        tiles->SegmentId != FERRY_KMD_SEGMENT_LOCAL || !is_part(&r) || t->MdlOffset > rows->pMdl->PageCount ||
        r.bytes / PAGE_SIZE > rows->pMdl->PageCount - t->MdlOffset)
        return STATUS_INVALID_PARAMETER;
    r.pages = rows->pMdl->Pfn + t->MdlOffset;
    return rearrange(w, a, &r);
}

bool kmd_is_linear_outside(const struct kmd_allocation *allocation)
{
    return allocation && allocation->tiled &&
           (ferry_flags_lockable(allocation->flags) || ferry_flags_permanent(allocation->flags));
}

// The manager has mapped all of it on both sides, so where it begins in tiles is known from where the part does.
NTSTATUS kmd_build_virtual_tiles(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *t = &a->TransferVirtual;
    bool swizzle = t->TransferDirection == DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL;
    uint64_t tiles = swizzle ? t->DestinationVirtualAddress : t->SourceVirtualAddress;
    struct rearrangement r = {.allocation = t->hAllocation,
                              .offset = t->AllocationOffsetInBytes,
                              .bytes = t->TransferSizeInBytes,
                              .tiles = tiles - t->AllocationOffsetInBytes,
                              .rows = swizzle ? t->SourceVirtualAddress : t->DestinationVirtualAddress,
                              .rows_kind = FERRY_ADDRESS_KIND_VIRTUAL,
                              .tiles_kind = FERRY_ADDRESS_KIND_VIRTUAL,
                              .swizzle = swizzle};

    if (tiles < r.offset || r.rows % PAGE_SIZE || !is_part(&r))
        return STATUS_INVALID_PARAMETER;
    return rearrange(w, a, &r);
}
