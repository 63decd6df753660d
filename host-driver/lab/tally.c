// SPDX-License-Identifier: Apache-2.0
// Numbers are put down as they come; when there is no room, equal ones become one entry, and only if that does not
// halve them there will be more room.
#include "lab/tally.h"

#include <stdlib.h>

#define FIRST_ROOM 1024u

static int by_number(const void *left, const void *right)
{
    uint64_t a = ((const struct ferry_lab_tally_entry *)left)->number;
    uint64_t b = ((const struct ferry_lab_tally_entry *)right)->number;
    return (a > b) - (a < b);
}

static void join(struct ferry_lab_tally *tally)
{
    size_t kept = 0;
    if (tally->count == 0)
        return;
    qsort(tally->entries, tally->count, sizeof *tally->entries, by_number);
    for (size_t i = 1; i < tally->count; i++) {
        if (tally->entries[i].number == tally->entries[kept].number)
            tally->entries[kept].times += tally->entries[i].times;
        else
            tally->entries[++kept] = tally->entries[i];
    }
    tally->count = kept + 1;
}

bool ferry_lab_tally_add(struct ferry_lab_tally *tally, uint64_t number)
{
    bool full = tally->count == tally->capacity;
    if (full)
        join(tally);
    if (full && tally->count * 2 >= tally->capacity) {
        size_t capacity = tally->capacity ? 2 * tally->capacity : FIRST_ROOM;
        struct ferry_lab_tally_entry *grown = realloc(tally->entries, capacity * sizeof *grown);
        if (!grown)
            return false;
        tally->entries = grown;
        tally->capacity = capacity;
    }
    tally->entries[tally->count++] = (struct ferry_lab_tally_entry){.number = number, .times = 1};
    tally->numbers++;
    return true;
}

uint64_t ferry_lab_tally_at(struct ferry_lab_tally *tally, uint64_t rank)
{
    size_t at = 0;
    join(tally);
    for (; rank >= tally->entries[at].times; at++)
        rank -= tally->entries[at].times;
    return tally->entries[at].number;
}

void ferry_lab_tally_free(struct ferry_lab_tally *tally)
{
    free(tally->entries);
    *tally = (struct ferry_lab_tally){0};
}
