// SPDX-License-Identifier: Apache-2.0
// Which pages the packets in flight write. A copy that reads none of them may begin to read at once instead of waiting
// for every write before it (packet header, `unordered`); that is what lets one page-out and the page-in behind it use
// both directions of the link together, and the small copies of a job follow each other without a pause. Paging and
// user rings do not wait for each other, so each looks only at its own kind.
//
// And which pages they read. A copy that runs ahead may be carried out before one of its ring that is cut off by a
// reset, where the other one's channel or the link stands still: it writes over nothing that such a one reads, which
// would go on with what is no longer there, be it a job or a page-out. Rings have no order among each other.
#include <string.h>

#include "kmd/internal.h"

#define PROBES     16u
#define NEIGHBOURS 4u
#define READ       UINT64_C(16) // In a key.
#define WALLS      0x1fffffffu  // As many as a slot keeps of the count.

// Of a user job: noted page by page up to this; a program's large writes would take too long to note.
#define USER_PAGES 64u

static uint64_t key_of(uint32_t ring, uint32_t kind, uint64_t page)
{
    return page | (ring == KMD_PAGING_RING ? 0 : 8) | (kind + 1);
}

// Pages beside each other are asked about one after the other, and their slots are too: a look goes to memory for a few
// of them.
static size_t hash(uint64_t key)
{
    uint64_t group = key / (NEIGHBOURS * PAGE_SIZE) << 5 | key % PAGE_SIZE;

    return (size_t)(((group * UINT64_C(0x9E3779B97F4A7C15)) >> 40) + key / PAGE_SIZE % NEIGHBOURS) % KMD_HAZARD_SLOTS;
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

static bool is_over(const struct kmd_adapter *adapter, const struct kmd_hazard *slot)
{
    const struct kmd_reads *reads = &adapter->reads[slot->ring];
    bool walled =
        slot->ring == KMD_PAGING_RING ? !kmd_reached(slot->number, reads->walled) : slot->walls != reads->walls;

    return ((slot->key & READ) && walled) || !in_flight(adapter, slot->ring, slot->number);
}

// False when there is no place for it.
static bool note(struct kmd_adapter *adapter, uint64_t key, uint32_t ring, uint32_t number)
{
    struct kmd_hazard *found = NULL;
    uint32_t probes = 0;

    for (uint32_t i = 0; i < PROBES && (!found || i < adapter->hazard_probes); i++) {
        struct kmd_hazard *slot = &adapter->hazards[(hash(key) + i) % KMD_HAZARD_SLOTS];

        if (slot->key == key && slot->ring == ring) {
            found = slot;
            break;
        }
        if (!found && (!slot->key || is_over(adapter, slot))) {
            found = slot;
            probes = i + 1;
        }
    }
    if (probes > adapter->hazard_probes)
        adapter->hazard_probes = probes;
    if (found)
        *found = (struct kmd_hazard){
            .key = key, .ring = ring & 7, .walls = adapter->reads[ring].walls & WALLS, .number = number};
    return found;
}

// As under way; a read as this ring's.
static bool is_noted(const struct kmd_adapter *adapter, uint64_t key, uint32_t ring)
{
    // A page is found wherever its slot was free when it was noted.
    for (uint32_t i = 0; i < adapter->hazard_probes; i++) {
        const struct kmd_hazard *slot = &adapter->hazards[(hash(key) + i) % KMD_HAZARD_SLOTS];

        if (slot->key == key && (!(key & READ) || slot->ring == ring) && !is_over(adapter, slot))
            return true;
    }
    return false;
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
        if (!note(adapter, key_of(ring, kind, page), ring, number))
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
        if (is_noted(adapter, key_of(ring, kind, page), ring))
            return true;
        if (page == last)
            return false;
    }
}

// ---- What is read -----------------------------------------------------------------------------------------------

// A user's buffer goes on where a reset cut it; a paging buffer is built again from its start, so what it has read
// itself it reads again, whatever of it has waited since.
void kmd_hazard_wall(struct kmd_adapter *adapter, uint32_t ring, uint32_t number)
{
    struct kmd_reads *reads = &adapter->reads[ring];

    if (ring == KMD_PAGING_RING) {
        reads->walled = number;
        reads->any = reads->any && reads->any_until == number;
        reads->anywhere = reads->anywhere && reads->anywhere_until == number;
        return;
    }
    reads->walls = (reads->walls + 1) & WALLS;
    reads->any = reads->anywhere = false;
}

void kmd_hazard_read_anywhere(struct kmd_adapter *adapter, uint32_t ring, uint32_t number)
{
    struct kmd_reads *reads = &adapter->reads[ring];

    reads->any = reads->anywhere = true;
    reads->any_until = reads->anywhere_until = number;
}

void kmd_hazard_note_read(struct kmd_adapter *adapter, uint32_t ring, uint32_t kind, uint64_t address, uint64_t bytes,
                          uint32_t number)
{
    uint64_t last = (address + bytes - 1) & ~(uint64_t)(PAGE_SIZE - 1);

    if (!bytes)
        return;
    if (ring != KMD_PAGING_RING && bytes > (uint64_t)USER_PAGES * PAGE_SIZE) {
        kmd_hazard_read_anywhere(adapter, ring, number);
        return;
    }
    adapter->reads[ring].any = true;
    adapter->reads[ring].any_until = number;
    for (uint64_t page = address & ~(uint64_t)(PAGE_SIZE - 1);; page += PAGE_SIZE) {
        if (!note(adapter, key_of(ring, kind, page) | READ, ring, number))
            kmd_hazard_read_anywhere(adapter, ring, number);
        if (page == last)
            break;
    }
}

bool kmd_hazard_overwrites_any(struct kmd_adapter *adapter, uint32_t ring)
{
    return adapter->reads[ring].any && in_flight(adapter, ring, adapter->reads[ring].any_until);
}

bool kmd_hazard_overwrites(struct kmd_adapter *adapter, uint32_t ring, uint32_t kind, uint64_t address, uint64_t bytes)
{
    const struct kmd_reads *reads = &adapter->reads[ring];
    uint64_t last = (address + bytes - 1) & ~(uint64_t)(PAGE_SIZE - 1);

    if (!bytes || !kmd_hazard_overwrites_any(adapter, ring))
        return false;
    if ((reads->anywhere && in_flight(adapter, ring, reads->anywhere_until)) ||
        (ring != KMD_PAGING_RING && bytes > (uint64_t)USER_PAGES * PAGE_SIZE))
        return true;
    for (uint64_t page = address & ~(uint64_t)(PAGE_SIZE - 1);; page += PAGE_SIZE) {
        if (is_noted(adapter, key_of(ring, kind, page) | READ, ring))
            return true;
        if (page == last)
            return false;
    }
}
