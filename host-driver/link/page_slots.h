// SPDX-License-Identifier: Apache-2.0
// The table of pages that a device reaches at the addresses that the memory itself has, by their frames
// (pinned_pages.h).
#ifndef FERRY_LINK_PAGE_SLOTS_H
#define FERRY_LINK_PAGE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A page that the device reaches; memory NULL = the slot is free. One that the process has at several addresses has a
/// slot for each: which of them is given up nobody tells, so all stay locked until the page is mapped for none.
struct ferry_page_slot {
    uint64_t frame;
    unsigned char *memory;
    uint32_t times; // It is mapped so many times, those of its other addresses not counted.
};

/// All zeros: empty, and without the room that must be reserved before anything is looked for; the owner frees `slot`.
/// One thread at a time. A slot that a call returns stays where it is until the next reserve() or free().
struct ferry_page_slots {
    struct ferry_page_slot *slot; // Open addressing.
    size_t slots, used;
};

/// Room for so many more. False: there is no host memory, and nothing has changed.
bool ferry_page_slots_reserve(struct ferry_page_slots *table, size_t more);
/// The frame's first slot, or the free one where it would stand.
struct ferry_page_slot *ferry_page_slot_of(const struct ferry_page_slots *table, uint64_t frame);
/// The frame's next slot behind this one of it, or a free one.
struct ferry_page_slot *ferry_page_slot_behind(const struct ferry_page_slots *table, const struct ferry_page_slot *slot,
                                               uint64_t frame);
/// The frame's slot with this address, or the free one where it would stand. Whoever fills it counts it in `used`.
struct ferry_page_slot *ferry_page_slot_with(const struct ferry_page_slots *table, uint64_t frame,
                                             const unsigned char *memory);
/// Takes an entry away.
void ferry_page_slots_free(struct ferry_page_slots *table, struct ferry_page_slot *slot);
/// The page has one address, or none.
bool ferry_page_is_alone(const struct ferry_page_slots *table, uint64_t frame);

#endif
