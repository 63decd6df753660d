// SPDX-License-Identifier: Apache-2.0
#include "tools/import/name_table.h"

#include <stdlib.h>

#include "tools/id_map.h"

static size_t place_of(const struct ferry_name_table *table, uint64_t name)
{
    size_t place = (size_t)ferry_mix(name) & (table->places - 1);
    while (table->things[place] && table->names[place] != name)
        place = (place + 1) & (table->places - 1);
    return place;
}

void *ferry_name_get(const struct ferry_name_table *table, uint64_t name)
{
    return table->places ? table->things[place_of(table, name)] : NULL;
}

static int grow(struct ferry_name_table *table)
{
    struct ferry_name_table larger = {.places = table->places ? 2 * table->places : 16};
    larger.names = calloc(larger.places, sizeof *larger.names);
    larger.things = calloc(larger.places, sizeof *larger.things);
    if (!larger.names || !larger.things) {
        ferry_name_free(&larger);
        return -1;
    }
    for (size_t i = 0; i < table->places; i++) {
        if (!table->things[i])
            continue;
        size_t place = place_of(&larger, table->names[i]);
        larger.names[place] = table->names[i];
        larger.things[place] = table->things[i];
        larger.count++;
    }
    ferry_name_free(table);
    *table = larger;
    return 0;
}

int ferry_name_set(struct ferry_name_table *table, uint64_t name, void *thing)
{
    if (2 * (table->count + 1) > table->places && grow(table) != 0)
        return -1;
    size_t place = place_of(table, name);
    table->count += !table->things[place];
    table->names[place] = name;
    table->things[place] = thing;
    return 0;
}

void ferry_name_remove(struct ferry_name_table *table, uint64_t name)
{
    if (!table->places)
        return;
    size_t hole = place_of(table, name), mask = table->places - 1;
    if (!table->things[hole])
        return;
    table->things[hole] = NULL;
    table->count--;
    // Who stands behind only because this place was taken moves up.
    for (size_t at = (hole + 1) & mask; table->things[at]; at = (at + 1) & mask) {
        size_t home = (size_t)ferry_mix(table->names[at]) & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        table->names[hole] = table->names[at];
        table->things[hole] = table->things[at];
        table->things[at] = NULL;
        hole = at;
    }
}

void ferry_name_free(struct ferry_name_table *table)
{
    free(table->names);
    free(table->things);
    *table = (struct ferry_name_table){0};
}
