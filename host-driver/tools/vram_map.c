// SPDX-License-Identifier: Apache-2.0
#include "tools/vram_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

struct sized {
    uint64_t bytes;
    uint32_t object;
};

static int by_size(const void *left, const void *right)
{
    const struct sized *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

static int rank_objects(struct ferry_vram_map *map, const uint64_t *sizes)
{
    struct sized *sorted = malloc((map->object_count + 1) * sizeof *sorted);
    map->rank_of_object = calloc(map->object_count + 1, sizeof *map->rank_of_object);
    if (!sorted || !map->rank_of_object) {
        free(sorted);
        return -1;
    }
    for (size_t i = 0; i < map->object_count; i++)
        sorted[i] = (struct sized){sizes[i], (uint32_t)i};
    qsort(sorted, map->object_count, sizeof *sorted, by_size);
    uint32_t next[UINT8_MAX + 1] = {0};
    for (size_t i = 0; i < map->object_count; i++)
        map->rank_of_object[sorted[i].object] = next[map->program_of_object[sorted[i].object]]++;
    free(sorted);
    return 0;
}

int ferry_vram_map_begin(struct ferry_vram_map *map, uint64_t video_bytes, size_t objects, const uint64_t *sizes,
                         const uint8_t *programs, unsigned program_count, bool keep_history)
{
    memset(map, 0, sizeof *map);
    map->video_bytes = video_bytes;
    map->keep_history = keep_history;
    map->object_count = objects;
    map->last_removed = FERRY_NOT_PLACED;
    map->program_count = program_count;
    map->program_of_object = calloc(objects + 1, sizeof *map->program_of_object);
    if (map->program_of_object && programs && objects > 0)
        memcpy(map->program_of_object, programs, objects * sizeof *programs);
    map->place_of_object = malloc((objects + 1) * sizeof *map->place_of_object);
    if (!map->place_of_object || !map->program_of_object || rank_objects(map, sizes) != 0) {
        ferry_vram_map_free(map);
        return -1;
    }
    for (size_t i = 0; i < objects; i++)
        map->place_of_object[i] = FERRY_NOT_PLACED;
    return 0;
}

void ferry_vram_map_free(struct ferry_vram_map *map)
{
    free(map->living);
    free(map->place_of_object);
    free(map->rank_of_object);
    free(map->program_of_object);
    free(map->stays);
    free(map->frames);
    memset(map, 0, sizeof *map);
}

int ferry_stay_by_area(const void *left, const void *right)
{
    const struct ferry_stay *a = left, *b = right;
    double first = (double)(a->end - a->begin) * (double)a->bytes;
    double second = (double)(b->end - b->begin) * (double)b->bytes;
    return first > second ? -1 : first < second;
}

static void forget_smaller_half(struct ferry_vram_map *map)
{
    qsort(map->stays, map->stay_count, sizeof *map->stays, ferry_stay_by_area);
    map->stays_lost += map->stay_count - map->stay_count / 2;
    map->stay_count /= 2;
}

static void keep_stay(struct ferry_vram_map *map, const struct ferry_stay *stay)
{
    if (!map->keep_history)
        return;
    if (map->stay_count >= FERRY_LONGEST_HISTORY)
        forget_smaller_half(map);
    if (ferry_reserve(&map->stays, &map->stay_capacity, map->stay_count + 1, sizeof *map->stays) != 0) {
        map->stays_lost++;
        return;
    }
    map->stays[map->stay_count] = *stay;
    map->stays[map->stay_count++].end = (float)map->now;
}

// What names the stay with this number: the object, or another stay of it.
static uint32_t *link_to(struct ferry_vram_map *map, uint32_t place)
{
    uint32_t *link = &map->place_of_object[map->living[place].object];
    while (*link != place)
        link = &map->living[*link].next;
    return link;
}

static void take_away(struct ferry_vram_map *map, uint32_t place)
{
    struct ferry_stay *stay = &map->living[place];
    keep_stay(map, stay);
    map->resident_bytes -= stay->bytes;
    *link_to(map, place) = stay->next;
    uint32_t last = (uint32_t)--map->living_count;
    if (place == last)
        return;
    *link_to(map, last) = place;
    *stay = map->living[last];
}

// The object's stay at this offset, or FERRY_NOT_PLACED.
static uint32_t stay_at(const struct ferry_vram_map *map, uint32_t object, uint64_t offset)
{
    uint32_t place = object < map->object_count ? map->place_of_object[object] : FERRY_NOT_PLACED;
    while (place != FERRY_NOT_PLACED && map->living[place].offset != offset)
        place = map->living[place].next;
    return place;
}

void ferry_vram_map_step(struct ferry_vram_map *map)
{
    map->last_removed = FERRY_NOT_PLACED;
}

bool ferry_vram_map_placed(struct ferry_vram_map *map, uint32_t object, uint64_t offset, uint64_t bytes)
{
    bool moved = map->last_removed == object;
    map->last_removed = FERRY_NOT_PLACED;
    if (object >= map->object_count)
        return false;
    uint32_t before = stay_at(map, object, offset);
    if (before != FERRY_NOT_PLACED)
        take_away(map, before);
    if (ferry_reserve(&map->living, &map->living_capacity, map->living_count + 1, sizeof *map->living) != 0) {
        map->stays_lost++;
        return moved;
    }
    map->living[map->living_count] = (struct ferry_stay){.offset = offset,
                                                         .bytes = bytes,
                                                         .object = object,
                                                         .next = map->place_of_object[object],
                                                         .begin = (float)map->now};
    map->place_of_object[object] = (uint32_t)map->living_count++;
    map->resident_bytes += bytes;
    if (map->resident_bytes > map->most_resident_bytes)
        map->most_resident_bytes = map->resident_bytes;
    if (moved) {
        map->frame.removed--;
        map->frame.moved++;
    } else {
        map->frame.placed++;
        map->frame.placed_bytes += bytes;
    }
    return moved;
}

void ferry_vram_map_removed(struct ferry_vram_map *map, uint32_t object, uint64_t offset)
{
    uint32_t place = stay_at(map, object, offset);
    if (place == FERRY_NOT_PLACED)
        return;
    take_away(map, place);
    map->last_removed = object;
    map->frame.removed++;
}

void ferry_vram_map_current(struct ferry_vram_map *map, uint32_t object, uint64_t offset)
{
    uint32_t place = object < map->object_count ? map->place_of_object[object] : FERRY_NOT_PLACED;
    for (; place != FERRY_NOT_PLACED; place = map->living[place].next) {
        struct ferry_stay *stay = &map->living[place];
        bool parked = stay->offset != offset;
        if (stay->parked == parked)
            continue;
        // Drawn in another way from now on: a stay of its own.
        if (stay->begin < (float)map->now)
            keep_stay(map, stay);
        stay->begin = (float)map->now;
        stay->parked = parked;
    }
}

void ferry_vram_map_end_frame(struct ferry_vram_map *map)
{
    if (map->keep_history &&
        ferry_reserve(&map->frames, &map->frame_capacity, map->frame_count + 1, sizeof *map->frames) == 0)
        map->frames[map->frame_count++] = map->frame;
    map->last = map->frame;
    memset(&map->frame, 0, sizeof map->frame);
}

void ferry_vram_map_end(struct ferry_vram_map *map)
{
    while (map->living_count > 0)
        take_away(map, (uint32_t)map->living_count - 1);
}

// Hues step by the golden angle, so that neighbours differ; lightness alternates in three steps.
struct ferry_colour ferry_object_colour(const struct ferry_vram_map *map, uint32_t object)
{
    uint32_t rank = map->rank_of_object[object];
    if (map->program_count > 1)
        return ferry_program_colour(map->program_of_object[object], rank % FERRY_SHADES);
    double hue = fmod((double)rank * 0.6180339887498949 + 0.58, 1.0) * 6;
    static const double lights[] = {0.60, 0.74, 0.46};
    double light = lights[rank / 5 % 3];
    double chroma = (1 - fabs(2 * light - 1)) * 0.68;
    double second = chroma * (1 - fabs(fmod(hue, 2) - 1));
    double low = light - chroma / 2;
    double parts[3] = {low, low, low};
    static const uint8_t most[] = {0, 1, 1, 2, 2, 0}, more[] = {1, 0, 2, 1, 0, 2};
    int sector = (int)hue;
    parts[most[sector]] += chroma;
    parts[more[sector]] += second;
    return (struct ferry_colour){(uint8_t)(parts[0] * 255), (uint8_t)(parts[1] * 255), (uint8_t)(parts[2] * 255)};
}

// Hues that people who confuse red and green can tell apart (Okabe and Ito), and grey; shades go towards white, then
// towards black.
struct ferry_colour ferry_program_colour(unsigned program, unsigned shade)
{
    static const struct ferry_colour hues[] = {{0, 114, 178},  {230, 159, 0}, {0, 158, 115},  {204, 121, 167},
                                               {86, 180, 233}, {213, 94, 0},  {190, 180, 40}, {120, 120, 120}};
    static const int towards[FERRY_SHADES] = {0, 30, -22, 52}; // Per cent; white above 0.
    struct ferry_colour colour = hues[program % (sizeof hues / sizeof hues[0])];
    int percent = towards[shade % FERRY_SHADES];
    uint8_t *const parts[] = {&colour.red, &colour.green, &colour.blue};
    for (unsigned i = 0; i < 3; i++)
        *parts[i] =
            (uint8_t)(percent > 0 ? *parts[i] + (255 - *parts[i]) * percent / 100 : *parts[i] * (100 + percent) / 100);
    return colour;
}
