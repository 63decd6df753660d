// SPDX-License-Identifier: Apache-2.0
// A rectangle on its way into a job. The device takes none with a side over a multiple of 4 GiB, so one at addresses is
// cut there; what names an allocation need not be, as the manager gives none addresses over such a multiple. A side in
// tiles always names one, so none is cut.
#include "ferry_contract.h"
#include "umd/recording.h"

#define GIB_4 (UINT64_C(1) << 32)

// What one packet copies: rows, or a part of one.
struct piece {
    uint32_t row, x, bytes, rows;
};

static uint64_t place_of(const struct umd_rectangle_side *side, uint32_t row, uint32_t x)
{
    return side->at + (uint64_t)((int64_t)side->pitch * row) + x;
}

// How many rows from this one on lie, whole, before the next multiple of 4 GiB in their direction.
static uint32_t rows_together(const struct umd_rectangle_side *side, uint32_t row, const struct umd_rectangle *r)
{
    uint64_t first = place_of(side, row, 0), begin = first / GIB_4 * GIB_4, rows = r->rows - row, room;

    if (side->allocation)
        return (uint32_t)rows;
    if (first - begin > GIB_4 - r->row_bytes)
        return 0;
    if (!side->pitch)
        return (uint32_t)rows;
    room = side->pitch > 0 ? (begin + GIB_4 - r->row_bytes - first) / (uint64_t)side->pitch
                           : (first - begin) / (uint64_t)(-(int64_t)side->pitch);
    return (uint32_t)(room < rows - 1 ? room + 1 : rows);
}

static uint32_t bytes_together(const struct umd_rectangle_side *side, uint32_t row, uint32_t x, uint32_t bytes)
{
    uint64_t room = GIB_4 - place_of(side, row, x) % GIB_4;

    return side->allocation || room > bytes ? bytes : (uint32_t)room;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// The piece behind that one, all zeros being in front of the first. False: there is none.
static bool next_piece(const struct umd_rectangle *r, struct piece *piece)
{
    uint32_t end = piece->x + piece->bytes, row = piece->row, x = end;

    if (end == r->row_bytes) {
        row += piece->rows;
        x = 0;
    }
    if (row == r->rows)
        return false;
    uint32_t rows = least(rows_together(&r->destination, row, r), rows_together(&r->source, row, r));
    uint32_t bytes = r->row_bytes - x;
    if (!rows)
        bytes = bytes_together(&r->source, row, x, bytes_together(&r->destination, row, x, bytes));
    *piece = (struct piece){row, x, bytes, rows ? rows : 1};
    return true;
}

// ---- What it names ----

struct reaches {
    struct ferry_vidmm_reach list[2];
    uint32_t count;
    struct umd_asked asked;
};

static int find(struct umd_recording *job, const struct umd_rectangle *r, const struct umd_rectangle_side *side,
                bool write, struct reaches *reaches)
{
    if (side->allocation)
        return FERRY_OK;
    struct ferry_vidmm_reach *reach = &reaches->list[reaches->count++];
    *reach = (struct ferry_vidmm_reach){
        .address = side->at, .bytes = r->row_bytes, .pitch = side->pitch, .rows = r->rows, .write = write};
    return umd_found_there(job, &reaches->asked, reach);
}

static int find_all(struct umd_recording *job, const struct umd_rectangle *r, struct reaches *reaches)
{
    uint32_t named = (r->destination.allocation != NULL) + (r->source.allocation != NULL);
    int error = umd_found_none(job);

    *reaches = (struct reaches){.asked = {r->vidmm, r->device, UINT64_MAX}};
    if (error == FERRY_OK)
        error = find(job, r, &r->destination, true, reaches);
    if (error == FERRY_OK)
        error = find(job, r, &r->source, false, reaches);
    return error == FERRY_OK && job->found.count + named > job->info.AllocationListSize ? FERRY_ERROR_RANGE : error;
}

// ---- Packets ----

static bool has_room(const struct umd_recording *job, const struct umd_chunk *chunk)
{
    return chunk->bytes + FERRY_PACKET_COPY_RECTANGLE_SIZE <= job->info.DmaBufferSize &&
           chunk->place_count + 2 <= job->info.PatchLocationListSize;
}

// Chunks for all of its packets, be there no room in the one that is being filled: half a rectangle is none.
static bool make_chunks(struct umd_recording *job, const struct umd_rectangle *r)
{
    uint32_t packets = job->info.DmaBufferSize / FERRY_PACKET_COPY_RECTANGLE_SIZE;
    uint32_t places = job->info.PatchLocationListSize / 2, each = least(packets, places);
    struct piece piece = {0};
    size_t pieces = 0;

    while (next_piece(r, &piece))
        pieces++;
    while (job->chunks_made < job->chunk_count + (pieces + each - 1) / each)
        if (!umd_chunk_make(job))
            return false;
    return true;
}

static void put_side(struct umd_chunk *chunk, const struct umd_rectangle_side *side, const struct piece *piece,
                     uint32_t packet, bool source)
{
    uint32_t at = source ? FERRY_PACKET_COPY_RECTANGLE_SOURCE : FERRY_PACKET_COPY_RECTANGLE_DESTINATION;
    uint8_t *words =
        chunk->commands + packet +
        (source ? FERRY_PACKET_COPY_RECTANGLE_SOURCE_PITCH : FERRY_PACKET_COPY_RECTANGLE_DESTINATION_PITCH);
    uint64_t place = place_of(side, piece->row, piece->x);

    put32(words, (uint32_t)side->pitch);
    put32(words + 4, side->layout);
    if (side->allocation)
        umd_chunk_refer(chunk, side->allocation, !source, place, packet, at,
                        source ? FERRY_KMD_PATCH_SOURCE : FERRY_KMD_PATCH_DESTINATION);
    else
        put64(chunk->commands + packet + at, place);
}

static void put_piece(struct umd_chunk *chunk, const struct umd_rectangle *r, const struct piece *piece)
{
    const uint32_t kind = FERRY_ADDRESS_KIND_VIRTUAL;
    uint32_t packet = chunk->bytes;
    uint8_t *words = umd_chunk_begin_packet(
        chunk, FERRY_OPCODE_COPY_RECTANGLE, FERRY_PACKET_COPY_RECTANGLE_SIZE,
        (r->source.allocation ? 0 : FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, kind)) |
            (r->destination.allocation ? 0 : FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, kind)));

    put32(words + FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES, piece->bytes);
    put32(words + FERRY_PACKET_COPY_RECTANGLE_LAST_ROW, piece->rows - 1);
    put_side(chunk, &r->source, piece, packet, true);
    put_side(chunk, &r->destination, piece, packet, false);
}

int umd_record_rectangle(struct umd_recording *job, const struct umd_rectangle *r)
{
    struct piece piece = {0};
    struct reaches reaches;
    int error = find_all(job, r, &reaches);

    if (error != FERRY_OK)
        return error;
    if (!make_chunks(job, r))
        return FERRY_ERROR_NO_HOST_MEMORY;
    struct umd_chunk *chunk = job->chunk_count ? &job->chunks[job->chunk_count - 1] : NULL;
    if (chunk &&
        (!has_room(job, chunk) || chunk->reference_count + job->found.count + 2 > job->info.AllocationListSize))
        chunk = NULL;
    if (chunk && !umd_chunk_reserve(chunk))
        return FERRY_ERROR_NO_HOST_MEMORY;
    if (chunk)
        umd_chunk_refer_found(chunk, job, &reaches.asked, reaches.list, reaches.count);
    while (next_piece(r, &piece)) {
        if (!chunk || !has_room(job, chunk)) {
            chunk = umd_chunk_next(job);
            umd_chunk_refer_found(chunk, job, &reaches.asked, reaches.list, reaches.count);
        }
        put_piece(chunk, r, &piece);
    }
    return FERRY_OK;
}
