// SPDX-License-Identifier: Apache-2.0
// DxgkDdiPatch. A paging buffer has no patch list (R15): what is changed in it is the `unordered` bit of copies, which
// can be judged only now, when it is known what else is in flight (hazard.c). A user buffer gets its addresses, and
// then the same.
#include <string.h>

#include "kmd/internal.h"
#include "kmd/words.h"

// ---- Paging buffers ---------------------------------------------------------------------------------------------

// The pages of a COPY_PAGES list, one after the other: is it so of one of them?
static bool any_of_list(struct kmd_adapter *adapter, const uint8_t *packet, uint32_t words,
                        bool (*is_it)(struct kmd_adapter *, uint32_t, uint32_t, uint64_t, uint64_t))
{
    for (uint32_t at = FERRY_PACKET_COPY_PAGES_PAGE; at < 4 * words; at += 8) {
        if (is_it(adapter, KMD_PAGING_RING, FERRY_ADDRESS_KIND_SYSTEM, get64(packet + at), PAGE_SIZE))
            return true;
    }
    return false;
}

static void note_list(struct kmd_adapter *adapter, const uint8_t *packet, uint32_t words, uint32_t number,
                      void (*note)(struct kmd_adapter *, uint32_t, uint32_t, uint64_t, uint64_t, uint32_t))
{
    for (uint32_t at = FERRY_PACKET_COPY_PAGES_PAGE; at < 4 * words; at += 8)
        note(adapter, KMD_PAGING_RING, FERRY_ADDRESS_KIND_SYSTEM, get64(packet + at), PAGE_SIZE, number);
}

// More pages than this of virtual addresses are not looked at one by one: what takes so long does not feel a pause.
#define VIRTUAL_PAGES 64u

static bool is_short(uint64_t bytes)
{
    return bytes <= (uint64_t)VIRTUAL_PAGES * PAGE_SIZE;
}

// A page of the host may have an address and a place in an aperture as well, and which place that is stands nowhere
// here. So what is read of the host by the one is noted as this page too, where what is written by the other looks.
#define ANY_PAGE (~(uint64_t)(PAGE_SIZE - 1))

// By where the pages are: two addresses may lead to one page. Pages of the host are as an aperture's.
static bool virtual_is_hazardous(struct kmd_adapter *adapter, uint32_t ring, const struct kmd_process *process,
                                 uint64_t address, uint64_t bytes)
{
    uint64_t end = address + bytes, page;

    if (!process || !is_short(bytes))
        return true;
    for (uint64_t at = address & ~(uint64_t)(PAGE_SIZE - 1); at < end; at += PAGE_SIZE) {
        if (kmd_known_page(process, at, &page) != KMD_IN_VIDEO_MEMORY ||
            kmd_hazard_read(adapter, ring, FERRY_ADDRESS_KIND_LOCAL, page, PAGE_SIZE))
            return true;
    }
    return false;
}

static uint32_t kind_of(enum kmd_known known)
{
    return known == KMD_IN_VIDEO_MEMORY ? FERRY_ADDRESS_KIND_LOCAL : FERRY_ADDRESS_KIND_SYSTEM;
}

static void note_virtual(struct kmd_adapter *adapter, uint32_t ring, const struct kmd_process *process,
                         uint64_t address, uint64_t bytes, uint32_t number, bool write)
{
    uint64_t end = address + bytes, page;
    enum kmd_known known = process && is_short(bytes) ? KMD_IN_VIDEO_MEMORY : KMD_UNKNOWN;

    for (uint64_t at = address & ~(uint64_t)(PAGE_SIZE - 1); known != KMD_UNKNOWN && at < end; at += PAGE_SIZE) {
        known = kmd_known_page(process, at, &page);
        if (!write && known == KMD_IN_HOST_MEMORY)
            kmd_hazard_note_read(adapter, ring, FERRY_ADDRESS_KIND_SYSTEM, ANY_PAGE, PAGE_SIZE, number);
        if (!write && known != KMD_UNKNOWN)
            kmd_hazard_note_read(adapter, ring, kind_of(known), page, PAGE_SIZE, number);
        else if (known == KMD_IN_VIDEO_MEMORY)
            kmd_hazard_write(adapter, ring, FERRY_ADDRESS_KIND_LOCAL, page, PAGE_SIZE, number);
    }
    if (known == KMD_UNKNOWN)
        (write ? kmd_hazard_anywhere : kmd_hazard_read_anywhere)(adapter, ring, number);
}

static void note_write(struct kmd_adapter *adapter, uint32_t ring, const struct kmd_process *process, uint32_t kind,
                       uint64_t address, uint64_t bytes, uint32_t number)
{
    if (kind == FERRY_ADDRESS_KIND_VIRTUAL)
        note_virtual(adapter, ring, process, address, bytes, number, true);
    // Nobody looks for these: see below.
    else if (ring == KMD_PAGING_RING || kind != FERRY_ADDRESS_KIND_APERTURE)
        kmd_hazard_write(adapter, ring, kind, address, bytes, number);
}

static void note_read(struct kmd_adapter *adapter, uint32_t ring, const struct kmd_process *process, uint32_t kind,
                      uint64_t address, uint64_t bytes, uint32_t number)
{
    if (kind == FERRY_ADDRESS_KIND_VIRTUAL) {
        note_virtual(adapter, ring, process, address, bytes, number, false);
        return;
    }
    if (kind == FERRY_ADDRESS_KIND_APERTURE)
        kmd_hazard_note_read(adapter, ring, kind, ANY_PAGE, PAGE_SIZE, number);
    kmd_hazard_note_read(adapter, ring, kind, address, bytes, number);
}

// Does it write over what a packet of its ring reads that is not over?
static bool overwrites(struct kmd_adapter *adapter, uint32_t ring, const struct kmd_process *process, uint32_t kind,
                       uint64_t address, uint64_t bytes)
{
    uint64_t end = address + bytes, page;

    if (kind != FERRY_ADDRESS_KIND_VIRTUAL)
        return kmd_hazard_overwrites(adapter, ring, kind, address, bytes) ||
               (kind == FERRY_ADDRESS_KIND_APERTURE &&
                kmd_hazard_overwrites(adapter, ring, FERRY_ADDRESS_KIND_SYSTEM, ANY_PAGE, PAGE_SIZE));
    if (!process || !is_short(bytes))
        return kmd_hazard_overwrites_any(adapter, ring);
    for (uint64_t at = address & ~(uint64_t)(PAGE_SIZE - 1); at < end; at += PAGE_SIZE) {
        enum kmd_known known = kmd_known_page(process, at, &page);

        if (known == KMD_UNKNOWN ? kmd_hazard_overwrites_any(adapter, ring)
                                 : kmd_hazard_overwrites(adapter, ring, kind_of(known), page, PAGE_SIZE))
            return true;
        if (known == KMD_IN_HOST_MEMORY &&
            kmd_hazard_overwrites(adapter, ring, FERRY_ADDRESS_KIND_APERTURE, ANY_PAGE, PAGE_SIZE))
            return true;
    }
    return false;
}

// An aperture place is some host page: reading one is never unordered.
static bool copy_is_hazardous(struct kmd_adapter *adapter, uint32_t ring, const struct kmd_process *process,
                              uint32_t kind, uint64_t address, uint64_t bytes)
{
    if (kind == FERRY_ADDRESS_KIND_VIRTUAL)
        return virtual_is_hazardous(adapter, ring, process, address, bytes);
    return kind == FERRY_ADDRESS_KIND_APERTURE || kmd_hazard_read(adapter, ring, kind, address, bytes);
}

// It waits for all of its ring before it, if it does not run ahead.
static void decide(struct kmd_adapter *adapter, uint8_t *packet, uint32_t ring, uint32_t number, bool hazard)
{
    uint32_t header = get32(packet);

    if (hazard)
        put32(packet, header & ~FERRY_PACKET_HEADER_UNORDERED_MASK);
    if (hazard || !(header & FERRY_PACKET_HEADER_UNORDERED_MASK))
        kmd_hazard_wall(adapter, ring, number);
}

// By all that lies from the lowest byte of a side to its highest.
static void patch_rectangle(struct kmd_adapter *adapter, uint8_t *packet, uint32_t ring,
                            const struct kmd_process *process, uint32_t number)
{
    bool ahead = get32(packet) & FERRY_PACKET_HEADER_UNORDERED_MASK;
    struct kmd_range from, to;

    kmd_rectangle_side(packet, true, &from);
    kmd_rectangle_side(packet, false, &to);
    uint64_t read = from.last - from.first + 1, written = to.last - to.first + 1;
    decide(adapter, packet, ring, number,
           ahead && (copy_is_hazardous(adapter, ring, process, from.kind, from.first, read) ||
                     overwrites(adapter, ring, process, to.kind, to.first, written)));
    note_read(adapter, ring, process, from.kind, from.first, read, number);
    note_write(adapter, ring, process, to.kind, to.first, written, number);
}

// Decide about one packet and remember what it reads and writes. What goes through an aperture is kept apart by the
// manager, who maps no page that it pages (R70, R78).
static void patch_packet(struct kmd_adapter *adapter, uint8_t *packet, uint32_t ring, const struct kmd_process *process,
                         uint32_t number)
{
    uint32_t header = get32(packet), kinds = get32(packet + 4);
    uint32_t words = FERRY_GET(FERRY_PACKET_HEADER_WORDS, header);
    uint32_t source_kind = FERRY_GET(FERRY_PACKET_PLACES_SOURCE_KIND, kinds);
    uint32_t destination_kind = FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, kinds);
    uint64_t bytes = get32(packet + FERRY_PACKET_COPY_BYTES);
    bool ahead = header & FERRY_PACKET_HEADER_UNORDERED_MASK;
    bool hazard = source_kind == FERRY_ADDRESS_KIND_APERTURE || source_kind == FERRY_ADDRESS_KIND_VIRTUAL;

    switch (FERRY_GET(FERRY_PACKET_HEADER_OPCODE, header)) {
    case FERRY_OPCODE_COPY_PAGES: {
        bool from_list = FERRY_GET(FERRY_PACKET_PLACES_LIST, kinds) == FERRY_LIST_SIDE_SOURCE;
        uint64_t address = get64(packet + FERRY_PACKET_COPY_PAGES_ADDRESS);

        if (from_list) {
            decide(adapter, packet, ring, number,
                   ahead && (hazard || any_of_list(adapter, packet, words, kmd_hazard_read) ||
                             overwrites(adapter, ring, process, destination_kind, address, bytes)));
            note_list(adapter, packet, words, number, kmd_hazard_note_read);
            note_write(adapter, ring, process, destination_kind, address, bytes, number);
        } else {
            decide(adapter, packet, ring, number,
                   ahead && (hazard || kmd_hazard_read(adapter, ring, source_kind, address, bytes) ||
                             any_of_list(adapter, packet, words, kmd_hazard_overwrites)));
            note_read(adapter, ring, process, source_kind, address, bytes, number);
            note_list(adapter, packet, words, number, kmd_hazard_write);
        }
        break;
    }
    case FERRY_OPCODE_COPY: {
        uint64_t source = get64(packet + FERRY_PACKET_COPY_SOURCE);
        uint64_t destination = get64(packet + FERRY_PACKET_COPY_DESTINATION);

        // What overlaps itself cannot be done twice, which is what a reset makes of what ran ahead.
        bool overlaps = source_kind == destination_kind &&
                        (source < destination ? destination - source : source - destination) < bytes;
        decide(adapter, packet, ring, number,
               ahead && (overlaps || copy_is_hazardous(adapter, ring, process, source_kind, source, bytes) ||
                         overwrites(adapter, ring, process, destination_kind, destination, bytes)));
        note_read(adapter, ring, process, source_kind, source, bytes, number);
        note_write(adapter, ring, process, destination_kind, destination, bytes, number);
        break;
    }
    case FERRY_OPCODE_FILL:
    case FERRY_OPCODE_WRITE:
        note_write(adapter, ring, process, destination_kind, get64(packet + FERRY_PACKET_FILL_DESTINATION), bytes,
                   number);
        break;
    case FERRY_OPCODE_COPY_RECTANGLE:
        // Of a page's rows, the tiles are in so many places.
        if (ring == KMD_PAGING_RING)
            kmd_hazard_anywhere(adapter, ring, number);
        else
            patch_rectangle(adapter, packet, ring, process, number);
        break;
    case FERRY_OPCODE_FENCE:
        note_write(adapter, ring, process, destination_kind, get64(packet + FERRY_PACKET_FENCE_ADDRESS), 8, number);
        break;
    default: break;
    }
}

// Entries of a page table stand in front of the packet that copies them, in this very buffer.
static void patch_entries(const DXGKARG_PATCH *p, uint32_t at)
{
    uint8_t *packet = (uint8_t *)p->pDmaBuffer + at;

    if (FERRY_GET(FERRY_PACKET_HEADER_OPCODE, get32(packet)) == FERRY_OPCODE_COPY)
        put64(packet + FERRY_PACKET_COPY_SOURCE,
              (uint64_t)p->DmaBufferPhysicalAddress.QuadPart + at - get32(packet + FERRY_PACKET_COPY_BYTES));
}

static NTSTATUS patch_paging(struct kmd_adapter *adapter, const DXGKARG_PATCH *p)
{
    uint32_t start = p->DmaBufferSubmissionStartOffset, end = p->DmaBufferSubmissionEndOffset;
    uint32_t at = start, number = kmd_next_number(&adapter->rings[KMD_PAGING_RING]);
    uint32_t record_at = p->DmaBufferPrivateDataSubmissionStartOffset;
    uint8_t *buffer = p->pDmaBuffer;

    if (p->NodeOrdinal != KMD_PAGING_RING || p->pAllocationList || p->AllocationListSize ||
        p->PatchLocationListSubmissionLength)
        return STATUS_INVALID_PARAMETER;
    kmd_hazard_begin(adapter, KMD_PAGING_RING);
    // The records of the operations must cover the window without a gap: whatever lies in between is not ours.
    while (at < end) {
        struct ferry_kmd_paging_record record;

        if (!p->pDmaBufferPrivateData || record_at + sizeof record > p->DmaBufferPrivateDataSubmissionEndOffset)
            return STATUS_INVALID_PARAMETER;
        memcpy(&record, (const uint8_t *)p->pDmaBufferPrivateData + record_at, sizeof record);
        if (record.Offset != at || !record.Bytes || record.Bytes > end - at)
            return STATUS_INVALID_PARAMETER;
        for (uint32_t packet = at; packet < at + record.Bytes;) {
            uint32_t words = FERRY_GET(FERRY_PACKET_HEADER_WORDS, get32(buffer + packet));

            if (words < 2 || 4 * words > at + record.Bytes - packet)
                return STATUS_INVALID_PARAMETER;
            if (record.Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
                patch_entries(p, packet);
            patch_packet(adapter, buffer + packet, KMD_PAGING_RING, NULL, number);
            packet += 4 * words;
        }
        at += record.Bytes;
        record_at += (uint32_t)sizeof record;
    }
    return STATUS_SUCCESS;
}

// ---- User buffers -----------------------------------------------------------------------------------------------

static NTSTATUS patch_one(const DXGKARG_PATCH *p, const D3DDDI_PATCHLOCATIONLIST *location)
{
    uint32_t start = p->DmaBufferSubmissionStartOffset, end = p->DmaBufferSubmissionEndOffset;
    uint32_t packet = location->DriverId >> 1, side = location->DriverId & 1, kind;
    uint8_t *buffer = p->pDmaBuffer;
    uint64_t address;

    if (location->AllocationIndex >= p->AllocationListSize || location->PatchOffset % 8 || packet % 8 ||
        packet < start || packet > end - 8 || location->PatchOffset < packet + 8 || location->PatchOffset > end - 8)
        return STATUS_INVALID_PARAMETER;
    const DXGK_ALLOCATIONLIST *entry = &p->pAllocationList[location->AllocationIndex];
    // A user buffer reaches allocations in segments, never system memory as such.
    if (!entry->SegmentId || !kmd_place(entry->SegmentId, (uint64_t)entry->PhysicalAddress.QuadPart, &kind, &address))
        return STATUS_INVALID_PARAMETER;
    uint32_t kinds = get32(buffer + packet + 4);
    kinds &= side == FERRY_KMD_PATCH_SOURCE ? ~FERRY_PACKET_PLACES_SOURCE_KIND_MASK
                                            : ~FERRY_PACKET_PLACES_DESTINATION_KIND_MASK;
    kinds |= side == FERRY_KMD_PATCH_SOURCE ? FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, kind)
                                            : FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, kind);
    put32(buffer + packet + 4, kinds);
    put64(buffer + location->PatchOffset, address + location->AllocationOffset);
    return STATUS_SUCCESS;
}

// Copies that read nothing that a job in flight writes do not wait for it, unless they write over what an earlier one
// of their ring reads. The buffer may have been patched before; and what is no packet is left for the firmware to
// refuse.
static void relax(struct kmd_adapter *adapter, const DXGKARG_PATCH *p, const struct kmd_context *context)
{
    const struct kmd_process *process = context->device->process;
    uint32_t ring = context->node;
    uint8_t *buffer = p->pDmaBuffer;
    uint32_t at = p->DmaBufferSubmissionStartOffset, end = p->DmaBufferSubmissionEndOffset;

    kmd_hazard_begin(adapter, ring);
    while (end - at >= 8) {
        uint32_t header = get32(buffer + at), opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, header);
        uint32_t bytes = 4 * FERRY_GET(FERRY_PACKET_HEADER_WORDS, header);

        if (bytes < 8 || bytes > end - at)
            return;
        kmd_confine(p, buffer + at, bytes);
        bool copies = (opcode == FERRY_OPCODE_COPY && bytes == FERRY_PACKET_COPY_SIZE) ||
                      (opcode == FERRY_OPCODE_COPY_RECTANGLE && bytes == FERRY_PACKET_COPY_RECTANGLE_SIZE);
        if (copies)
            put32(buffer + at, header | FERRY_PACKET_HEADER_UNORDERED_MASK);
        if (copies || (opcode == FERRY_OPCODE_FILL && bytes == FERRY_PACKET_FILL_SIZE) ||
            (opcode == FERRY_OPCODE_WRITE && bytes == FERRY_PACKET_WRITE_SIZE))
            patch_packet(adapter, buffer + at, ring, process, kmd_next_number(&adapter->rings[ring]));
        else if (opcode != FERRY_OPCODE_NOP && opcode != FERRY_OPCODE_READ)
            kmd_hazard_anywhere(adapter, ring, kmd_next_number(&adapter->rings[ring]));
        at += bytes;
    }
}

static NTSTATUS patch_user(struct kmd_adapter *adapter, const DXGKARG_PATCH *p)
{
    const struct kmd_context *context = p->hContext;
    UINT first = p->PatchLocationListSubmissionStart, count = p->PatchLocationListSubmissionLength;

    // What the paging ring runs is not confined.
    if (!context || p->NodeOrdinal != context->node || context->node == KMD_PAGING_RING ||
        first > p->PatchLocationListSize || count > p->PatchLocationListSize - first ||
        (count && (!p->pPatchLocationList || !p->pAllocationList)) ||
        p->DmaBufferSubmissionEndOffset - p->DmaBufferSubmissionStartOffset < 8 * (count != 0))
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < count; i++) {
        NTSTATUS status = patch_one(p, &p->pPatchLocationList[first + i]);

        if (status != STATUS_SUCCESS)
            return status;
    }
    relax(adapter, p, context);
    kmd_resume_patched(p);
    // From here on the allocations are in use: the job goes to the ring next.
    for (UINT i = 0; i < p->AllocationListSize; i++) {
        struct kmd_allocation *allocation = p->pAllocationList[i].hDeviceSpecificAllocation;

        if (allocation)
            kmd_allocation_named(adapter, allocation, (uint64_t)p->pAllocationList[i].PhysicalAddress.QuadPart,
                                 context->node);
    }
    return STATUS_SUCCESS;
}

NTSTATUS kmd_patch(HANDLE hAdapter, const DXGKARG_PATCH *p)
{
    struct kmd_adapter *adapter = hAdapter;

    if (!adapter || !p || p->DmaBufferSubmissionStartOffset > p->DmaBufferSubmissionEndOffset ||
        p->DmaBufferSubmissionEndOffset > p->DmaBufferSize ||
        (!p->pDmaBuffer && p->DmaBufferSubmissionStartOffset != p->DmaBufferSubmissionEndOffset))
        return STATUS_INVALID_PARAMETER;
    return p->Flags.Paging ? patch_paging(adapter, p) : patch_user(adapter, p);
}
