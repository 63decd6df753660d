// SPDX-License-Identifier: Apache-2.0
#include "tools/id_map.h"

#include <stdlib.h>
#include <string.h>

uint64_t ferry_mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static size_t place_of(const struct ferry_id_map *map, uint64_t name)
{
    size_t place = (size_t)ferry_mix(name) & (map->places - 1);
    while (map->numbers[place] != FERRY_ID_NONE && map->names[place] != name)
        place = (place + 1) & (map->places - 1);
    return place;
}

uint32_t ferry_id_map_get(const struct ferry_id_map *map, uint64_t name)
{
    return map->places ? map->numbers[place_of(map, name)] : FERRY_ID_NONE;
}

static int grow(struct ferry_id_map *map)
{
    struct ferry_id_map bigger = {.count = map->count, .places = map->places ? map->places * 2 : 64};
    bigger.names = calloc(bigger.places, sizeof *bigger.names);
    bigger.numbers = malloc(bigger.places * sizeof *bigger.numbers);
    if (!bigger.names || !bigger.numbers) {
        ferry_id_map_free(&bigger);
        return -1;
    }
    memset(bigger.numbers, 0xff, bigger.places * sizeof *bigger.numbers);
    for (size_t i = 0; i < map->places; i++) {
        if (map->numbers[i] == FERRY_ID_NONE)
            continue;
        size_t place = place_of(&bigger, map->names[i]);
        bigger.names[place] = map->names[i];
        bigger.numbers[place] = map->numbers[i];
    }
    free(map->names);
    free(map->numbers);
    *map = bigger;
    return 0;
}

int ferry_id_map_set(struct ferry_id_map *map, uint64_t name, uint32_t number)
{
    if ((map->count + 1) * 2 > map->places && grow(map) != 0)
        return -1;
    size_t place = place_of(map, name);
    if (map->numbers[place] == FERRY_ID_NONE)
        map->count++;
    map->names[place] = name;
    map->numbers[place] = number;
    return 0;
}

// The run of places behind it closes up, so that nothing is searched for beyond a gap.
void ferry_id_map_remove(struct ferry_id_map *map, uint64_t name)
{
    size_t mask = map->places - 1, gap = map->places ? place_of(map, name) : 0;
    if (!map->places || map->numbers[gap] == FERRY_ID_NONE)
        return;
    map->count--;
    for (size_t place = (gap + 1) & mask; map->numbers[place] != FERRY_ID_NONE; place = (place + 1) & mask) {
        size_t home = (size_t)ferry_mix(map->names[place]) & mask;
        if (((place - home) & mask) < ((place - gap) & mask))
            continue;
        map->names[gap] = map->names[place];
        map->numbers[gap] = map->numbers[place];
        gap = place;
    }
    map->numbers[gap] = FERRY_ID_NONE;
}

void ferry_id_map_free(struct ferry_id_map *map)
{
    free(map->names);
    free(map->numbers);
    memset(map, 0, sizeof *map);
}
