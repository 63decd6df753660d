// SPDX-License-Identifier: Apache-2.0
// Which pages the paging packets in flight write. A copy that reads none of them may begin to read at once instead of
// waiting for every write before it (packet header, `unordered`); that is what lets one page-out and the page-in
// behind it use both directions of the link together.
#include <string.h>

#include "kmd/internal.h"

#define PROBES 16u

static uint64_t key_of(uint32_t kind, uint64_t page)
{
    return page | (kind + 1);
}

static size_t hash(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 40) % KMD_HAZARD_SLOTS;
}

// True while a write of paging entry `number` may still be under way.
static bool in_flight(uint32_t retired, uint32_t number)
{
    return !kmd_reached(retired, number);
}

void kmd_hazard_write(struct kmd_adapter *adapter, uint32_t kind, uint64_t address, uint64_t bytes, uint32_t number)
{
    uint32_t retired = adapter->hazard_retired;
    uint64_t last = (address + bytes - 1) & ~(uint64_t)(PAGE_SIZE - 1);

    if (!bytes)
        return;
    for (uint64_t page = address & ~(uint64_t)(PAGE_SIZE - 1);; page += PAGE_SIZE) {
        uint64_t key = key_of(kind, page);
        struct kmd_hazard *found = NULL;

        for (uint32_t i = 0; i < PROBES; i++) {
            struct kmd_hazard *slot = &adapter->hazards[(hash(key) + i) % KMD_HAZARD_SLOTS];

            if (slot->key == key) {
                found = slot;
                break;
            }
            if (!found && (!slot->key || !in_flight(retired, slot->number)))
                found = slot;
        }
        if (found) {
            *found = (struct kmd_hazard){key, number};
        } else {
            adapter->hazards_overflowed = true;
            adapter->all_hazardous_until = number;
        }
        if (page == last)
            break;
    }
}

bool kmd_hazard_read(struct kmd_adapter *adapter, uint32_t kind, uint64_t address, uint64_t bytes)
{
    uint32_t retired = adapter->hazard_retired;
    uint64_t last = (address + bytes - 1) & ~(uint64_t)(PAGE_SIZE - 1);

    if (adapter->hazards_overflowed) {
        if (in_flight(retired, adapter->all_hazardous_until))
            return true;
        adapter->hazards_overflowed = false;
    }
    if (!bytes)
        return false;
    for (uint64_t page = address & ~(uint64_t)(PAGE_SIZE - 1);; page += PAGE_SIZE) {
        uint64_t key = key_of(kind, page);

        // A page is found wherever its slot was free when it was written, so every probe is looked at.
        for (uint32_t i = 0; i < PROBES; i++) {
            const struct kmd_hazard *slot = &adapter->hazards[(hash(key) + i) % KMD_HAZARD_SLOTS];

            if (slot->key == key && in_flight(retired, slot->number))
                return true;
        }
        if (page == last)
            return false;
    }
}
