// SPDX-License-Identifier: Apache-2.0
#include "tools/space_map.h"

#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"
#include "tools/vram_map.h"

int ferry_space_map_begin(struct ferry_space_map *map, unsigned program_count)
{
    *map = (struct ferry_space_map){.program_count = program_count};
    map->living = calloc(program_count, sizeof *map->living);
    return map->living ? 0 : -1;
}

void ferry_space_map_free(struct ferry_space_map *map)
{
    for (unsigned i = 0; map->living && i < map->program_count; i++)
        free(map->living[i].pieces);
    free(map->living);
    free(map->ended.pieces);
    *map = (struct ferry_space_map){0};
}

static uint64_t end_of(const struct ferry_space_piece *piece)
{
    return piece->address + piece->bytes;
}

static void keep(struct ferry_space_map *map, const struct ferry_space_piece *piece, float end)
{
    struct ferry_space_list *list = &map->ended;
    if (end <= piece->begin)
        return; // Nobody can have seen it.
    if (list->count >= FERRY_LONGEST_HISTORY ||
        ferry_reserve(&list->pieces, &list->capacity, list->count + 1, sizeof *list->pieces) != 0) {
        map->lost++;
        return;
    }
    list->pieces[list->count] = *piece;
    list->pieces[list->count++].end = end;
}

// The first that ends behind the address.
static size_t find(const struct ferry_space_list *list, uint64_t address)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (end_of(&list->pieces[middle]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct ferry_space_map *map, struct ferry_space_list *list, size_t at,
                   const struct ferry_space_piece *piece)
{
    if (ferry_reserve(&list->pieces, &list->capacity, list->count + 1, sizeof *list->pieces) != 0) {
        map->lost++;
        return;
    }
    memmove(&list->pieces[at + 1], &list->pieces[at], (list->count++ - at) * sizeof *list->pieces);
    list->pieces[at] = *piece;
}

// What of these addresses is mapped ends; what is beside it goes on. page 0: in pages of whatever size.
static void cut(struct ferry_space_map *map, const struct ferry_space_piece *what, uint64_t page)
{
    struct ferry_space_list *list = &map->living[what->program];
    for (size_t at = find(list, what->address); at < list->count && list->pieces[at].address < end_of(what);) {
        const struct ferry_space_piece whole = list->pieces[at];
        struct ferry_space_piece piece = whole;
        if (page != 0 && whole.page != page) {
            at++;
            continue;
        }
        memmove(&list->pieces[at], &list->pieces[at + 1], (--list->count - at) * sizeof *list->pieces);
        if (whole.address < what->address) {
            piece.bytes = what->address - whole.address;
            insert(map, list, at++, &piece);
        }
        piece.address = whole.address > what->address ? whole.address : what->address;
        piece.bytes = (end_of(&whole) < end_of(what) ? end_of(&whole) : end_of(what)) - piece.address;
        keep(map, &piece, what->begin);
        if (end_of(&whole) > end_of(what)) {
            piece = whole;
            piece.address = end_of(what);
            piece.bytes = end_of(&whole) - piece.address;
            insert(map, list, at++, &piece);
        }
    }
}

void ferry_space_map_mapped(struct ferry_space_map *map, const struct ferry_space_piece *piece)
{
    if (piece->program >= map->program_count)
        return;
    cut(map, piece, 0);
    struct ferry_space_list *list = &map->living[piece->program];
    size_t at = find(list, piece->address);
    struct ferry_space_piece *before = at > 0 ? &list->pieces[at - 1] : NULL;
    if (before && end_of(before) == piece->address && before->object == piece->object && before->page == piece->page &&
        before->begin >= piece->begin)
        before->bytes += piece->bytes;
    else
        insert(map, list, at, piece);
}

void ferry_space_map_unmapped(struct ferry_space_map *map, const struct ferry_space_piece *piece)
{
    if (piece->program < map->program_count)
        cut(map, piece, piece->page == FERRY_LARGE_PAGE ? FERRY_LARGE_PAGE : 0);
}

void ferry_space_map_end(struct ferry_space_map *map, float now)
{
    for (unsigned i = 0; i < map->program_count; i++) {
        for (size_t at = 0; at < map->living[i].count; at++)
            keep(map, &map->living[i].pieces[at], now);
        map->living[i].count = 0;
    }
}
