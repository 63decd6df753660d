// SPDX-License-Identifier: Apache-2.0
// TRANSFER of a tiled allocation with Swizzle or Unswizzle: host pages hold rows, video memory tiles, and the device's
// COPY_RECTANGLE turns one into the other (docs/manual/tiling.md). A page of rows is the end of a row, whole rows, and
// the begin of one: three packets at most. The device takes no rectangle over a multiple of 4 GiB, so one whose tiles
// lie on both sides of it is cut in two. MultipassOffset counts all six, the missing ones too.
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

static void put_rectangle(struct writer *w, const struct ferry_tiling_private *tiling,
                          const struct ferry_tiling_place *level, const struct piece *piece, uint64_t rows,
                          uint64_t base, bool swizzle)
{
    uint32_t wide = level->TileWidth, high = level->TileHeight, pitch = level->Across * wide;
    uint64_t tile = (uint64_t)(piece->row / high) * level->Across + piece->x / wide;
    uint64_t tiles = base + level->Offset + tile * tiling->TileBytes;
    uint32_t tile_pitch = level->Across * tiling->TileBytes;
    uint32_t layout = FERRY_PUT(FERRY_PACKET_LAYOUT_X, piece->x % wide) |
                      FERRY_PUT(FERRY_PACKET_LAYOUT_Y, piece->row % high) |
                      FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, ferry_tiles_swizzle(tiling->ElementBytes)) |
                      FERRY_PUT(FERRY_PACKET_LAYOUT_SMALL, (uint32_t)(tiling->TileBytes == 4096));

    put_header(w, FERRY_OPCODE_COPY_RECTANGLE, FERRY_PACKET_COPY_RECTANGLE_SIZE, false,
               swizzle ? places(FERRY_ADDRESS_KIND_SYSTEM, FERRY_ADDRESS_KIND_LOCAL)
                       : places(FERRY_ADDRESS_KIND_LOCAL, FERRY_ADDRESS_KIND_SYSTEM));
    put32(w, piece->bytes);
    put32(w, piece->rows - 1);
    put64(w, swizzle ? rows : tiles);
    put64(w, swizzle ? tiles : rows);
    put32(w, swizzle ? pitch : tile_pitch);
    put32(w, swizzle ? 0 : layout);
    put32(w, swizzle ? tile_pitch : pitch);
    put32(w, swizzle ? layout : 0);
}

NTSTATUS kmd_build_tiles(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFER *t = &a->Transfer;
    const struct kmd_allocation *allocation = t->hAllocation;
    const struct ferry_tiling_private *tiling = &allocation->tiling->told;
    bool swizzle = t->Flags.Swizzle;
    const DXGK_TRANSFERSIDE *rows = swizzle ? &t->Source : &t->Destination;
    const DXGK_TRANSFERSIDE *tiles = swizzle ? &t->Destination : &t->Source;
    uint64_t base = (uint64_t)tiles->SegmentAddress.QuadPart, all = t->TransferSize / PAGE_SIZE;

    // Rows in host pages, tiles in video memory; and only what is told by whole pages, of what was made as tiled.
    if (t->Flags.Swizzle == t->Flags.Unswizzle || !allocation->tiled || rows->SegmentId != 0 || !rows->pMdl ||
        tiles->SegmentId != FERRY_KMD_SEGMENT_LOCAL || base % tiling->TileBytes || t->TransferOffset % PAGE_SIZE ||
        t->TransferSize % PAGE_SIZE || t->TransferOffset > allocation->bytes ||
        t->TransferSize > allocation->bytes - t->TransferOffset || t->MdlOffset > rows->pMdl->PageCount ||
        all > rows->pMdl->PageCount - t->MdlOffset || all > UINT32_MAX / PARTS)
        return STATUS_INVALID_PARAMETER;
    uint64_t done = a->MultipassOffset;
    for (; done < all * PARTS; done++) {
        uint64_t offset = t->TransferOffset + done / PARTS * PAGE_SIZE;
        struct ferry_tiling_place level = ferry_tiles_level_of(tiling, offset);
        struct piece piece = piece_of(offset - level.Offset, level.Across * level.TileWidth, done % PARTS / CUTS);

        piece = cut_of(tiling, &level, piece, base, done % CUTS);
        if (!piece.bytes || !piece.rows)
            continue;
        if (w->room < FERRY_PACKET_COPY_RECTANGLE_SIZE)
            break;
        put_rectangle(w, tiling, &level, &piece,
                      (rows->pMdl->Pfn[t->MdlOffset + done / PARTS] << PAGE_SHIFT) + piece.at, base, swizzle);
    }
    return progress(a, done, all * PARTS);
}
