// SPDX-License-Identifier: Apache-2.0
// Open addressing: a frame's slots are looked for from the place on that its number gives it.
#include "link/page_slots.h"

#include <stdlib.h>

#define FIRST_SLOTS 1024u

static size_t place_of(const struct ferry_page_slots *table, uint64_t frame)
{
    return (size_t)(frame * 0x9e3779b97f4a7c15ull >> 20) & (table->slots - 1);
}

/// The first slot of the frame from that one on, or the free one where it would stand.
static struct ferry_page_slot *slot_from(const struct ferry_page_slots *table, size_t at, uint64_t frame)
{
    while (table->slot[at].memory != NULL && table->slot[at].frame != frame) {
        at = (at + 1) & (table->slots - 1);
    }
    return &table->slot[at];
}

struct ferry_page_slot *ferry_page_slot_of(const struct ferry_page_slots *table, uint64_t frame)
{
    return slot_from(table, place_of(table, frame), frame);
}

struct ferry_page_slot *ferry_page_slot_behind(const struct ferry_page_slots *table, const struct ferry_page_slot *slot,
                                               uint64_t frame)
{
    return slot_from(table, ((size_t)(slot - table->slot) + 1) & (table->slots - 1), frame);
}

struct ferry_page_slot *ferry_page_slot_with(const struct ferry_page_slots *table, uint64_t frame,
                                             const unsigned char *memory)
{
    struct ferry_page_slot *slot = ferry_page_slot_of(table, frame);
    while (slot->memory != NULL && slot->memory != memory) {
        slot = ferry_page_slot_behind(table, slot, frame);
    }
    return slot;
}

bool ferry_page_slots_reserve(struct ferry_page_slots *table, size_t more)
{
    size_t slots = table->slots == 0 ? FIRST_SLOTS : table->slots;
    while ((table->used + more) * 2 > slots) {
        slots *= 2;
    }
    if (slots == table->slots) {
        return true;
    }
    struct ferry_page_slots larger = *table;
    larger.slots = slots;
    larger.slot = calloc(slots, sizeof(*larger.slot));
    if (larger.slot == NULL) {
        return false;
    }
    for (size_t n = 0; n < table->slots; n++) {
        if (table->slot[n].memory != NULL) {
            *ferry_page_slot_with(&larger, table->slot[n].frame, table->slot[n].memory) = table->slot[n];
        }
    }
    free(table->slot);
    *table = larger;
    return true;
}

void ferry_page_slots_free(struct ferry_page_slots *table, struct ferry_page_slot *slot)
{
    // Those behind it that were kept from their places move up.
    size_t hole = (size_t)(slot - table->slot);
    const size_t last = table->slots - 1;
    for (size_t at = (hole + 1) & last; table->slot[at].memory != NULL; at = (at + 1) & last) {
        if (((at - place_of(table, table->slot[at].frame)) & last) >= ((at - hole) & last)) {
            table->slot[hole] = table->slot[at];
            hole = at;
        }
    }
    table->slot[hole].memory = NULL;
    table->used--;
}

bool ferry_page_is_alone(const struct ferry_page_slots *table, uint64_t frame)
{
    const struct ferry_page_slot *slot = ferry_page_slot_of(table, frame);
    return slot->memory == NULL || ferry_page_slot_behind(table, slot, frame)->memory == NULL;
}
