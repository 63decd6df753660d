// SPDX-License-Identifier: Apache-2.0
// Copies of rectangles: what a program asks for, held against what the sides are.
#include "ferry_contract.h"
#include "umd/call.h"
#include "umd/own_address.h"
#include "umd/queue.h"
#include "umd/recording.h"

#define MOST_ROW_BYTES (1u << 23)
#define MOST_ROWS      (1u << 16)

static bool rows_overlap(const struct ferry_rectangle *r)
{
    int64_t pitch = r->destination.pitch;

    return !r->destination.in_tiles && r->rows > 1 && (pitch < 0 ? -pitch : pitch) < r->row_bytes;
}

static bool is_good(const struct ferry_rectangle_side *side)
{
    return side->in_tiles ? side->allocation && !side->at && !side->pitch : !side->level && !side->x && !side->y;
}

// Rows of bytes lie in [0, end), from the lowest to the highest.
static bool is_within(const struct ferry_rectangle_side *side, const struct ferry_rectangle *r, uint64_t end)
{
    int64_t down = (int64_t)side->pitch * (r->rows - 1);
    uint64_t above = down < 0 ? (uint64_t)-down : 0, below = (down > 0 ? (uint64_t)down : 0) + r->row_bytes;

    return side->at >= above && side->at <= end && below <= end - side->at;
}

// The image's rows from that element on: the tile in which it lies, and its place there.
static int find_in_tiles(const struct ferry_rectangle_side *wanted, const struct ferry_rectangle *r,
                         struct umd_rectangle_side *side)
{
    if (!side->allocation->tiled)
        return FERRY_ERROR_ARGUMENT;
    const struct ferry_tiling_private *tiling = &side->allocation->tiles->told;
    if (wanted->level >= tiling->Levels || r->row_bytes % tiling->ElementBytes)
        return FERRY_ERROR_ARGUMENT;
    struct ferry_tiling_place level = ferry_tiles_level(tiling, wanted->level);
    uint64_t pitch = (uint64_t)level.Across * level.TileWidth, rows = (uint64_t)level.Down * level.TileHeight;
    uint64_t x = (uint64_t)wanted->x * tiling->ElementBytes;
    if (x > pitch || r->row_bytes > pitch - x || wanted->y > rows || r->rows > rows - wanted->y)
        return FERRY_ERROR_RANGE;
    uint64_t tile = wanted->y / level.TileHeight * (uint64_t)level.Across + x / level.TileWidth;
    side->at = level.Offset + tile * tiling->TileBytes;
    side->pitch = (int32_t)(level.Across * tiling->TileBytes);
    side->layout = FERRY_PUT(FERRY_PACKET_LAYOUT_X, (uint32_t)(x % level.TileWidth)) |
                   FERRY_PUT(FERRY_PACKET_LAYOUT_Y, wanted->y % level.TileHeight) |
                   FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, ferry_tiles_swizzle(tiling->ElementBytes)) |
                   FERRY_PUT(FERRY_PACKET_LAYOUT_SMALL, (uint32_t)(tiling->TileBytes == 4096));
    return FERRY_OK;
}

static int find_side(const struct umd_queue *queue, const struct ferry_rectangle_side *wanted,
                     const struct ferry_rectangle *r, struct umd_rectangle_side *side)
{
    *side = (struct umd_rectangle_side){.at = wanted->at, .pitch = wanted->pitch};
    if (!wanted->allocation) {
        if (queue->device->adapter->model != 2)
            return FERRY_ERROR_UNSUPPORTED;
        return r->rows && !is_within(wanted, r, UINT64_C(1) << 48) ? FERRY_ERROR_RANGE : FERRY_OK;
    }
    int error = umd_queue_find(queue, wanted->allocation, &side->allocation);
    if (error == FERRY_OK && wanted->in_tiles)
        error = find_in_tiles(wanted, r, side);
    else if (error == FERRY_OK && r->rows && !is_within(wanted, r, side->allocation->bytes))
        error = FERRY_ERROR_RANGE;
    // The patch list's offsets are 32 bits wide.
    return error == FERRY_OK && side->at > UINT32_MAX ? FERRY_ERROR_RANGE : error;
}

static int record(const struct umd_call *call, struct umd_queue *queue, const struct ferry_rectangle *r)
{
    struct ferry_gpu_info gpu;
    struct umd_rectangle rectangle = {
        .vidmm = call->adapter->vidmm, .device = queue->device->vidmm, .row_bytes = r->row_bytes, .rows = r->rows};
    int error = find_side(queue, &r->source, r, &rectangle.source);

    if (error == FERRY_OK)
        error = find_side(queue, &r->destination, r, &rectangle.destination);
    if (error != FERRY_OK)
        return error;
    ferry_gpu_query(call->adapter->gpu, &gpu);
    if (!gpu.tiling)
        return FERRY_ERROR_UNSUPPORTED;
    if (!r->row_bytes || !r->rows)
        return FERRY_OK;
    if (rectangle.source.allocation)
        umd_own_address_use(rectangle.source.allocation);
    if (rectangle.destination.allocation)
        umd_own_address_use(rectangle.destination.allocation);
    struct umd_recording *job = umd_queue_recorded_into(queue);
    return job ? umd_record_rectangle(job, &rectangle) : FERRY_ERROR_NO_HOST_MEMORY;
}

int ferry_queue_copy_rectangle(struct ferry_queue *handle, const struct ferry_rectangle *rectangle)
{
    struct umd_call call;

    if (!rectangle || rectangle->size != sizeof *rectangle || rectangle->row_bytes > MOST_ROW_BYTES ||
        rectangle->rows > MOST_ROWS || rows_overlap(rectangle) || !is_good(&rectangle->destination) ||
        !is_good(&rectangle->source))
        return FERRY_ERROR_ARGUMENT;
    struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, NULL);
    if (!queue)
        return umd_not_entered();
    return umd_leave(&call, record(&call, queue, rectangle));
}
