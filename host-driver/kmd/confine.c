// SPDX-License-Identifier: Apache-2.0
// A user's buffer reaches the allocations of its list and nothing else, whatever its commands say. By GPU address the
// page tables of its process see to that, and without a process it has none: the space that its ring entry names is the
// paging process's. A packet that names a place must lie within an allocation that the list has there, and
// writes only one that the list says is written, or the manager would believe that what it paged out is still so.
// What goes beyond is made to name host memory, which no user ring has the right to: the firmware refuses it as that
// job's own fault (RIGHTS, at that address). An error of Patch would stop the adapter for everyone.
#include "kmd/internal.h"
#include "kmd/words.h"

// The side's place is the packet's word `at`.
static void begin(const uint8_t *packet, bool source, uint32_t at, struct kmd_range *r)
{
    uint32_t kinds = get32(packet + 4);

    r->kind = source ? FERRY_GET(FERRY_PACKET_PLACES_SOURCE_KIND, kinds)
                     : FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, kinds);
    r->first = get64(packet + at);
}

// One side of a rectangle begins at r->first.
static void widen(const uint8_t *packet, uint32_t pitch_at, struct kmd_range *r)
{
    int64_t pitch = (int32_t)get32(packet + pitch_at);
    uint32_t layout = get32(packet + pitch_at + 4), swizzle = FERRY_GET(FERRY_PACKET_LAYOUT_SWIZZLE, layout);
    uint32_t row = get32(packet + FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES), column_bytes = 1, tile_rows = 1;
    uint32_t small = layout & FERRY_PACKET_LAYOUT_SMALL_MASK ? 2 : 0;

    if (swizzle) {
        column_bytes = 1u << (7 + swizzle - small);
        tile_rows = 1u << (9 - swizzle - small);
    }
    uint64_t down =
        ((uint64_t)get32(packet + FERRY_PACKET_COPY_RECTANGLE_LAST_ROW) + FERRY_GET(FERRY_PACKET_LAYOUT_Y, layout)) /
        tile_rows * (uint64_t)(pitch < 0 ? -pitch : pitch);
    uint64_t right = ((uint64_t)row + FERRY_GET(FERRY_PACKET_LAYOUT_X, layout) - 1) / column_bytes;

    if (pitch < 0)
        r->first -= down;
    r->last = r->first + down + (right + 1) * column_bytes * tile_rows - 1;
}

void kmd_rectangle_side(const uint8_t *packet, bool source, struct kmd_range *r)
{
    begin(packet, source, source ? FERRY_PACKET_COPY_RECTANGLE_SOURCE : FERRY_PACKET_COPY_RECTANGLE_DESTINATION, r);
    widen(packet, source ? FERRY_PACKET_COPY_RECTANGLE_SOURCE_PITCH : FERRY_PACKET_COPY_RECTANGLE_DESTINATION_PITCH, r);
}

// The packets that a ring without further rights runs; 0: it has no such side.
static const struct shape {
    uint16_t bytes, source, destination;
} shapes[] = {
    [FERRY_OPCODE_COPY] = {FERRY_PACKET_COPY_SIZE, FERRY_PACKET_COPY_SOURCE, FERRY_PACKET_COPY_DESTINATION},
    [FERRY_OPCODE_COPY_RECTANGLE] = {FERRY_PACKET_COPY_RECTANGLE_SIZE, FERRY_PACKET_COPY_RECTANGLE_SOURCE,
                                     FERRY_PACKET_COPY_RECTANGLE_DESTINATION},
    [FERRY_OPCODE_READ] = {FERRY_PACKET_READ_SIZE, FERRY_PACKET_READ_SOURCE, 0},
    [FERRY_OPCODE_FILL] = {FERRY_PACKET_FILL_SIZE, 0, FERRY_PACKET_FILL_DESTINATION},
    [FERRY_OPCODE_WRITE] = {FERRY_PACKET_WRITE_SIZE, 0, FERRY_PACKET_WRITE_DESTINATION},
    [FERRY_OPCODE_FENCE] = {FERRY_PACKET_FENCE_SIZE, 0, FERRY_PACKET_FENCE_ADDRESS},
    [FERRY_OPCODE_DISCARD] = {FERRY_PACKET_DISCARD_SIZE, 0, FERRY_PACKET_DISCARD_ADDRESS},
};

// What the packet, of that opcode and shape, reads or writes by place, or by addresses that it does not have. false:
// nothing.
static bool range_of(const uint8_t *packet, uint32_t opcode, bool source, bool has_addresses, struct kmd_range *r)
{
    uint32_t at = source ? shapes[opcode].source : shapes[opcode].destination;
    // Every one but a fence has its bytes in the same place, a rectangle those of a row.
    uint32_t bytes = opcode == FERRY_OPCODE_FENCE ? 8 : get32(packet + FERRY_PACKET_COPY_BYTES);

    if (!at || !bytes)
        return false;
    if (opcode == FERRY_OPCODE_COPY_RECTANGLE) {
        kmd_rectangle_side(packet, source, r);
    } else {
        begin(packet, source, at, r);
        r->last = r->first + bytes - 1;
    }
    return r->kind == FERRY_ADDRESS_KIND_LOCAL || r->kind == FERRY_ADDRESS_KIND_APERTURE ||
           (r->kind == FERRY_ADDRESS_KIND_VIRTUAL && !has_addresses);
}

static bool within(const DXGK_ALLOCATIONLIST *entry, const struct kmd_range *r, bool write)
{
    const struct kmd_allocation *allocation = entry->hDeviceSpecificAllocation;
    uint32_t kind;
    uint64_t address;

    return allocation && (entry->WriteOperation || !write) &&
           kmd_place(entry->SegmentId, (uint64_t)entry->PhysicalAddress.QuadPart, &kind, &address) && kind == r->kind &&
           r->first >= address && r->last >= r->first && r->last - address < allocation->bytes;
}

static bool is_listed(const DXGKARG_PATCH *p, const struct kmd_range *r, bool write)
{
    for (UINT i = 0; i < p->AllocationListSize; i++)
        if (within(&p->pAllocationList[i], r, write))
            return true;
    return false;
}

void kmd_confine(const DXGKARG_PATCH *p, uint8_t *packet, uint32_t bytes)
{
    static const uint32_t masks[] = {FERRY_PACKET_PLACES_DESTINATION_KIND_MASK, FERRY_PACKET_PLACES_SOURCE_KIND_MASK};
    static const uint32_t system[] = {FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, FERRY_ADDRESS_KIND_SYSTEM),
                                      FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, FERRY_ADDRESS_KIND_SYSTEM)};
    uint32_t opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, get32(packet));
    const struct kmd_context *context = p->hContext;
    bool has_addresses = context->device->process;
    struct kmd_range r;

    // Of another length than its opcode has the firmware refuses it, and whatever needs a right.
    if (opcode >= sizeof shapes / sizeof shapes[0] || shapes[opcode].bytes != bytes)
        return;
    for (unsigned source = 0; source < 2; source++)
        if (range_of(packet, opcode, source, has_addresses, &r) && !is_listed(p, &r, !source))
            put32(packet + 4, (get32(packet + 4) & ~masks[source]) | system[source]);
}
