// SPDX-License-Identifier: Apache-2.0
// Which pages the packets in flight write. A copy that reads none of them may begin to read at once instead of waiting
// for every write before it (packet header, `unordered`); that is what lets one page-out and the page-in behind it use
// both directions of the link together, and the small copies of a job follow each other without a pause. Paging and
// user rings do not wait for each other, so each looks only at its own kind.
#include <string.h>

#include "kmd/internal.h"

#define PROBES 16u

// Of a user job: noted page by page up to this; a program's large writes would take too long to note.
#define USER_PAGES 64u

static uint64_t key_of(uint32_t ring, uint32_t kind, uint64_t page)
{
    return page | (ring == KMD_PAGING_RING ? 0 : 8) | (kind + 1);
}

static size_t hash(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 40) % KMD_HAZARD_SLOTS;
}

static uint32_t end_of_kind(uint32_t ring)
{
    return ring == KMD_PAGING_RING ? KMD_PAGING_RING + 1 : KMD_RINGS;
}

static uint32_t first_of_kind(uint32_t ring)
{
    return ring == KMD_PAGING_RING ? KMD_PAGING_RING : KMD_PAGING_RING + 1;
}

void kmd_hazard_begin(struct kmd_adapter *adapter, uint32_t ring)
{
    for (uint32_t i = first_of_kind(ring); i < end_of_kind(ring); i++)
        adapter->hazard_retired[i] = kmd_retired_of_named(adapter, i);
}

// True while a write of the ring's entry `number` may still be under way.
static bool in_flight(const struct kmd_adapter *adapter, uint32_t ring, uint32_t number)
{
    return kmd_outstanding(adapter->hazard_retired[ring], number);
}

void kmd_hazard_anywhere(struct kmd_adapter *adapter, uint32_t ring, uint32_t number)
{
    adapter->hazards_overflowed[ring] = true;
    adapter->all_hazardous_until[ring] = number;
}

void kmd_hazard_write(struct kmd_adapter *adapter, uint32_t ring, uint32_t kind, uint64_t address, uint64_t bytes,
                      uint32_t number)
{
    uint64_t last = (address + bytes - 1) & ~(uint64_t)(PAGE_SIZE - 1);

    if (!bytes)
        return;
    if (ring != KMD_PAGING_RING && bytes > (uint64_t)USER_PAGES * PAGE_SIZE) {
        kmd_hazard_anywhere(adapter, ring, number);
        return;
    }
    for (uint64_t page = address & ~(uint64_t)(PAGE_SIZE - 1);; page += PAGE_SIZE) {
        uint64_t key = key_of(ring, kind, page);
        struct kmd_hazard *found = NULL;

        for (uint32_t i = 0; i < PROBES; i++) {
            struct kmd_hazard *slot = &adapter->hazards[(hash(key) + i) % KMD_HAZARD_SLOTS];

            if (slot->key == key && slot->ring == ring) {
                found = slot;
                break;
            }
            if (!found && (!slot->key || !in_flight(adapter, slot->ring, slot->number)))
                found = slot;
        }
        if (found)
            *found = (struct kmd_hazard){key, ring, number};
        else
            kmd_hazard_anywhere(adapter, ring, number);
        if (page == last)
            break;
    }
}

static bool all_hazardous(struct kmd_adapter *adapter, uint32_t ring)
{
    bool any = false;

    for (uint32_t i = first_of_kind(ring); i < end_of_kind(ring); i++) {
        adapter->hazards_overflowed[i] =
            adapter->hazards_overflowed[i] && in_flight(adapter, i, adapter->all_hazardous_until[i]);
        any |= adapter->hazards_overflowed[i];
    }
    return any;
}

bool kmd_hazard_read(struct kmd_adapter *adapter, uint32_t ring, uint32_t kind, uint64_t address, uint64_t bytes)
{
    uint64_t last = (address + bytes - 1) & ~(uint64_t)(PAGE_SIZE - 1);

    if (all_hazardous(adapter, ring))
        return true;
    if (!bytes)
        return false;
    // What takes so long does not feel a pause before it.
    if (ring != KMD_PAGING_RING && bytes > (uint64_t)USER_PAGES * PAGE_SIZE)
        return true;
    for (uint64_t page = address & ~(uint64_t)(PAGE_SIZE - 1);; page += PAGE_SIZE) {
        uint64_t key = key_of(ring, kind, page);

        // A page is found wherever its slot was free when it was written, so every probe is looked at.
        for (uint32_t i = 0; i < PROBES; i++) {
            const struct kmd_hazard *slot = &adapter->hazards[(hash(key) + i) % KMD_HAZARD_SLOTS];

            if (slot->key == key && in_flight(adapter, slot->ring, slot->number))
                return true;
        }
        if (page == last)
            return false;
    }
}
