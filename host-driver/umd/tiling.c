// SPDX-License-Identifier: Apache-2.0
// Where the rows of a tiled allocation are, which is what the miniport computes too (ddi/tiling.h).
#include "umd/tiling.h"

struct ferry_tiling_private umd_tiling(const struct ferry_tiling *tiling)
{
    if (!tiling)
        return (struct ferry_tiling_private){0};
    return (struct ferry_tiling_private){.TileBytes = tiling->tile_bytes,
                                         .ElementBytes = tiling->element_bytes,
                                         .Width = tiling->width,
                                         .Height = tiling->height,
                                         .Levels = tiling->levels};
}

uint64_t ferry_tiling_bytes(const struct ferry_tiling *tiling)
{
    struct ferry_tiling_private told = umd_tiling(tiling);

    return tiling && tiling->size == sizeof *tiling && ferry_tiles_good(&told) ? ferry_tiles_bytes(&told) : 0;
}

int ferry_tiling_level(const struct ferry_tiling *tiling, uint32_t level, struct ferry_tiling_rows *rows)
{
    struct ferry_tiling_private told = umd_tiling(tiling);

    if (!rows || rows->size != sizeof *rows || ferry_tiling_bytes(tiling) == 0 || level >= tiling->levels)
        return FERRY_ERROR_ARGUMENT;
    struct ferry_tiling_place place = ferry_tiles_level(&told, level);
    *rows = (struct ferry_tiling_rows){.size = sizeof *rows,
                                       .offset = place.Offset,
                                       .bytes = place.Bytes,
                                       .pitch = (uint64_t)place.Across * place.TileWidth,
                                       .rows = place.Down * place.TileHeight};
    return FERRY_OK;
}
