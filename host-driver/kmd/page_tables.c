// SPDX-License-Identifier: Apache-2.0
// Operations of driver model 2: page tables written, forgotten and copied, and content moved by GPU virtual addresses
// of the paging process. MultipassOffset counts entries, ranges or pages that earlier passes have written.
//
// A table is 512 entries of 8 bytes on every level (contract, table_entry). Entries travel in the paging buffer itself,
// behind a NOP, and a COPY takes them from there: Patch knows where the buffer is (kmd_patch_entries). One entry many
// times over is a FILL. So a table may be anywhere that a packet reaches, and GPU_VIRTUAL and GPU_PHYSICAL differ in
// the kind of its address.
#include <string.h>

#include "kmd/writer.h"

#define ENTRIES    512u
#define LEVELS     4u
#define GROUP      16u // Entries of 4 KiB that a 64 KiB page takes.
#define BIT(FIELD) FERRY_TABLE_ENTRY_ENTRY_##FIELD##_MASK

// An entry in the device's form; false when it cannot be said there.
static bool convert(const DXGK_PTE *pte, UINT level, bool group, uint64_t *entry)
{
    uint64_t page = pte->PageAddress << PAGE_SHIFT;

    *entry = 0;
    if (!pte->Valid)
        return true;
    // DXGK_GPUMMUCAPS announces none of them: Zero pages, those that may not be executed, tables of 64 KiB, and more
    // than one adapter. SystemReserved0 is the system's own.
    if (pte->Zero || pte->NoExecute || pte->PhysicalAdapterIndex || pte->Reserved ||
        (level && pte->PageTablePageSize) || pte->Segment > FERRY_KMD_SEGMENT_LOCAL || (page & ~(uint64_t)BIT(PAGE)) ||
        page >> PAGE_SHIFT != pte->PageAddress)
        return false;
    *entry = BIT(VALID) | page;
    if (!pte->Segment)
        *entry |= BIT(HOST) | (pte->CacheCoherent ? BIT(SNOOP) : 0);
    if (level && !pte->LargePage)
        return true;
    *entry |= BIT(LEAF) | (pte->ReadOnly ? BIT(READ_ONLY) : 0) | (group ? BIT(GROUP) : 0);
    return level == 0 ? !group || !(page & (GROUP - 1) << PAGE_SHIFT) : level == 1 && !(page & 0x1ff000);
}

// Entry number `index` of the call, in entries of the table.
static bool entry_of(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *u, uint32_t index, uint64_t *entry)
{
    bool group = u->Flags.Use64KBPages && u->PageTableLevel == 0;
    uint32_t given = u->Flags.Repeat ? 0 : group ? index / GROUP : index;

    if (!convert(&u->pPageTableEntries[given], u->PageTableLevel, group, entry))
        return false;
    if (group && (*entry & BIT(VALID)))
        *entry |= (uint64_t)(index % GROUP) << PAGE_SHIFT;
    return true;
}

static void store(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

// What Patch has to know of it.
static void take_note(struct kmd_adapter *adapter, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *u, uint32_t count)
{
    struct kmd_process *process = u->hProcess;
    uint64_t entry;

    adapter->unknown |= !process;
    for (uint32_t i = 0; process && i < count; i++) {
        entry_of(u, i, &entry);
        kmd_known_write(process, u->PageTableLevel,
                        u->FirstPteVirtualAddress + ((uint64_t)i << (PAGE_SHIFT + 9 * u->PageTableLevel)), entry);
    }
}

static NTSTATUS update_by_cpu(struct kmd_adapter *adapter, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *u,
                              uint32_t first, uint32_t count)
{
    uint8_t *table = u->PageTableAddress.CpuVirtual;
    uint64_t entry;

    if (!table)
        return STATUS_INVALID_PARAMETER;
    for (uint32_t i = 0; i < count; i++) {
        if (!entry_of(u, i, &entry))
            return STATUS_INVALID_PARAMETER;
    }
    take_note(adapter, u, count);
    for (uint32_t i = 0; i < count; i++) {
        entry_of(u, i, &entry);
        store(table + 8 * (first + i), entry);
    }
    return STATUS_SUCCESS;
}

// Where the table is, for a packet.
static bool place_of_table(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *u, uint32_t *kind, uint64_t *address)
{
    if (u->UpdateMode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL) {
        *kind = FERRY_ADDRESS_KIND_VIRTUAL;
        *address = u->PageTableAddress.GpuVirtual;
        return !(*address & (PAGE_SIZE - 1)) && *address >> 48 == 0;
    }
    return u->UpdateMode == DXGK_PAGETABLEUPDATE_GPU_PHYSICAL &&
           u->PageTableAddress.GpuPhysical.SegmentId <= FERRY_KMD_SEGMENT_LOCAL &&
           kmd_place(u->PageTableAddress.GpuPhysical.SegmentId, u->PageTableAddress.GpuPhysical.SegmentOffset, kind,
                     address) &&
           !(*address & (PAGE_SIZE - 1));
}

// All entries alike, and of a 64 KiB page only those that are not valid are.
static NTSTATUS repeat(struct writer *w, uint32_t kind, uint64_t at, uint32_t count, uint64_t entry)
{
    if (w->room < FERRY_PACKET_FILL_SIZE)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    put_header(w, FERRY_OPCODE_FILL, FERRY_PACKET_FILL_SIZE, false,
               places(0, kind) | FERRY_PUT(FERRY_PACKET_PLACES_PATTERN_LOG2, 3u));
    put32(w, 8 * count);
    put32(w, 0);
    put64(w, at);
    put64(w, entry);
    return STATUS_SUCCESS;
}

NTSTATUS kmd_build_update(struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *u = &a->UpdatePageTable;
    uint32_t scale = u->Flags.Use64KBPages && u->PageTableLevel == 0 ? GROUP : 1, kind;
    uint64_t first = (uint64_t)u->StartIndex * scale, all = (uint64_t)u->NumPageTableEntries * scale, address, entry;

    // A table that is about to be evicted: nothing is kept about tables, so there is nothing to do.
    if (u->Flags.NotifyEviction)
        return STATUS_SUCCESS;
    if (u->PageTableLevel >= LEVELS || !u->pPageTableEntries || all == 0 || first > ENTRIES || all > ENTRIES - first ||
        a->MultipassOffset > all || u->Flags.NativeFence || u->Flags.Reserved || u->pPageTableEntries64KB)
        return STATUS_INVALID_PARAMETER;
    if (u->UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
        return update_by_cpu(adapter, u, (uint32_t)first, (uint32_t)all);
    if (!place_of_table(u, &kind, &address))
        return STATUS_INVALID_PARAMETER;
    for (uint32_t i = 0; i < all; i += scale) {
        if (!entry_of(u, i, &entry))
            return STATUS_INVALID_PARAMETER;
        if (u->Flags.Repeat)
            break;
    }
    if (a->MultipassOffset == 0)
        take_note(adapter, u, (uint32_t)all);
    address += 8 * first;
    // A fill waits until everything before it is written, so even two of them would take longer than a copy.
    if (all == 1 || (u->Flags.Repeat && (scale == 1 || entry == 0)))
        return repeat(w, kind, address, (uint32_t)all, entry);
    // The entries behind a NOP, and the copy of them.
    const uint32_t frame = FERRY_PACKET_NOP_SIZE + FERRY_PACKET_COPY_SIZE;
    uint32_t done = a->MultipassOffset;
    while (done < all && w->room >= frame + 8) {
        uint32_t count = (uint32_t)least(all - done, (w->room - frame) / 8);

        put_header(w, FERRY_OPCODE_NOP, FERRY_PACKET_NOP_SIZE + 8 * count, false, 0);
        for (uint32_t i = 0; i < count; i++) {
            entry_of(u, done + i, &entry);
            put64(w, entry);
        }
        // Unordered, as nothing writes the paging buffer (Patch).
        put_header(w, FERRY_OPCODE_COPY, FERRY_PACKET_COPY_SIZE, true, places(FERRY_ADDRESS_KIND_SYSTEM, kind));
        put32(w, 8 * count);
        put32(w, 0);
        put64(w, 0); // Patch.
        put64(w, address + 8 * (uint64_t)done);
        done += count;
    }
    return progress(a, done, all);
}

// Of each scope so many packets at most; more of them, and the next wider scope is forgotten instead. A packet takes
// some 50 cycles, in which the paging ring stands still, and a walk of what was forgotten beside it some sixty; four
// and sixteen groups were tried, and took no fewer.
static const uint8_t scopes_most[] = {[FERRY_FORGET_SCOPE_GROUP] = 1, [FERRY_FORGET_SCOPE_TABLE] = 4};

NTSTATUS kmd_build_flush(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_FLUSHTLB *f = &a->FlushTlb;
    const struct kmd_process *process = f->hProcess;
    bool whole = f->StartVirtualAddress == 0 && f->EndVirtualAddress == 0;
    uint32_t space = process ? process->space : 0, scope = FERRY_FORGET_SCOPE_SPACE, shift = 63, kind;
    uint64_t first = 0, all = 1, table, done = a->MultipassOffset;

    if (!process || f->RootPageTableAddress.SegmentId > FERRY_KMD_SEGMENT_LOCAL ||
        !kmd_place(f->RootPageTableAddress.SegmentId, f->RootPageTableAddress.SegmentOffset, &kind, &table) ||
        (table & (PAGE_SIZE - 1)))
        return STATUS_INVALID_PARAMETER;
    if (!whole) {
        uint64_t last = f->EndVirtualAddress - 1;

        if (f->EndVirtualAddress <= f->StartVirtualAddress || last >> 48)
            return STATUS_INVALID_PARAMETER;
        for (scope = FERRY_FORGET_SCOPE_GROUP, shift = 16; scope < FERRY_FORGET_SCOPE_SPACE; scope++, shift = 21) {
            first = f->StartVirtualAddress >> shift;
            all = (last >> shift) - first + 1;
            if (all <= scopes_most[scope])
                break;
        }
        if (scope == FERRY_FORGET_SCOPE_SPACE)
            first = 0, all = 1, shift = 63;
    }
    // The whole of a space is forgotten when it begins, and when its root has changed: the root goes before.
    all += whole;
    for (; done < all && w->room >= FERRY_PACKET_ROOT_SIZE; done++) {
        if (whole && done == 0) {
            put_header(w, FERRY_OPCODE_ROOT, FERRY_PACKET_ROOT_SIZE, false,
                       places(0, kind) |
                           FERRY_PUT(FERRY_PACKET_PLACES_SNOOP, (uint32_t)(kind == FERRY_ADDRESS_KIND_SYSTEM)));
            put32(w, FERRY_PUT(FERRY_PACKET_ROOT_SPACE_SPACE, space) |
                         FERRY_PUT(FERRY_PACKET_ROOT_SPACE_HEIGHT, LEVELS - 1) | FERRY_PACKET_ROOT_SPACE_VALID_MASK);
            put32(w, 0);
            put64(w, table);
            continue;
        }
        put_header(w, FERRY_OPCODE_FORGET, FERRY_PACKET_FORGET_SIZE, false, 0);
        put32(w, FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SCOPE, scope) | FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SPACE, space));
        put32(w, 0);
        put64(w, scope == FERRY_FORGET_SCOPE_SPACE ? 0 : (first + done) << shift);
    }
    return progress(a, done, all);
}

// Linear packets between virtual addresses, cut into pieces that a packet takes.
static NTSTATUS copy_virtual(struct writer *w, uint64_t source, uint64_t destination, uint64_t bytes)
{
    if (w->room < FERRY_PACKET_COPY_SIZE)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    put_header(w, FERRY_OPCODE_COPY, FERRY_PACKET_COPY_SIZE, false,
               places(FERRY_ADDRESS_KIND_VIRTUAL, FERRY_ADDRESS_KIND_VIRTUAL));
    put32(w, (uint32_t)bytes);
    put32(w, 0);
    put64(w, source);
    put64(w, destination);
    return STATUS_SUCCESS;
}

static bool in_space(uint64_t address, uint64_t bytes)
{
    return address < UINT64_C(1) << 48 && bytes <= (UINT64_C(1) << 48) - address;
}

NTSTATUS kmd_build_copy_entries(struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *c = &a->CopyPageTableEntries;
    uint32_t done = a->MultipassOffset;

    if (c->NumRanges && !c->pRanges)
        return STATUS_INVALID_PARAMETER;
    for (uint32_t i = done; i < c->NumRanges; i++) {
        const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *r = &c->pRanges[i];

        if (r->SrcPageTableAddress & 0xffff || r->DstPageTableAddress & 0xffff || r->SrcStartPteIndex > ENTRIES ||
            r->NumPageTableEntries > ENTRIES - r->SrcStartPteIndex || r->DstStartPteIndex > ENTRIES ||
            r->NumPageTableEntries > ENTRIES - r->DstStartPteIndex || !in_space(r->SrcPageTableAddress, PAGE_SIZE) ||
            !in_space(r->DstPageTableAddress, PAGE_SIZE))
            return STATUS_INVALID_PARAMETER;
    }
    adapter->unknown |= c->NumRanges != 0;
    for (; done < c->NumRanges; done++) {
        const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *r = &c->pRanges[done];
        NTSTATUS status = copy_virtual(w, r->SrcPageTableAddress + 8 * (uint64_t)r->SrcStartPteIndex,
                                       r->DstPageTableAddress + 8 * (uint64_t)r->DstStartPteIndex,
                                       8 * (uint64_t)r->NumPageTableEntries);

        if (status != STATUS_SUCCESS)
            break;
    }
    return progress(a, done, c->NumRanges);
}

// The addresses are those of the chunk that is mapped: AllocationOffsetInBytes is not added to them (wddm-facts 1.3).
NTSTATUS kmd_build_virtual_transfer(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *t = &a->TransferVirtual;
    uint64_t bytes = t->TransferSizeInBytes, all = pages_of(bytes), done = a->MultipassOffset;

    if (!in_space(t->SourceVirtualAddress, bytes) || !in_space(t->DestinationVirtualAddress, bytes) ||
        t->Flags.Reserved || t->TransferDirection > DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL || all > UINT32_MAX)
        return STATUS_INVALID_PARAMETER;
    if (t->TransferDirection != DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL && kmd_is_linear_outside(t->hAllocation))
        return kmd_build_virtual_tiles(w, a);
    while (done < all) {
        uint64_t at = done * PAGE_SIZE, piece = least(all - done, LINEAR_PAGES);

        if (copy_virtual(w, t->SourceVirtualAddress + at, t->DestinationVirtualAddress + at,
                         least(bytes - at, piece * PAGE_SIZE)) != STATUS_SUCCESS)
            break;
        done += piece;
    }
    return progress(a, done, all);
}

NTSTATUS kmd_build_virtual_fill(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a)
{
    const DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL *f = &a->FillVirtual;
    uint64_t bytes = f->FillSizeInBytes, all = pages_of(bytes), done = a->MultipassOffset;

    if (!in_space(f->DestinationVirtualAddress, bytes) || all > UINT32_MAX)
        return STATUS_INVALID_PARAMETER;
    for (; done < all && w->room >= FERRY_PACKET_FILL_SIZE; done += least(all - done, LINEAR_PAGES)) {
        uint64_t at = done * PAGE_SIZE;

        put_header(w, FERRY_OPCODE_FILL, FERRY_PACKET_FILL_SIZE, false,
                   places(0, FERRY_ADDRESS_KIND_VIRTUAL) | FERRY_PUT(FERRY_PACKET_PLACES_PATTERN_LOG2, 2u));
        put32(w, (uint32_t)least(bytes - at, LINEAR_PAGES * PAGE_SIZE));
        put32(w, 0);
        put64(w, f->DestinationVirtualAddress + at);
        put64(w, f->FillPattern);
    }
    return progress(a, done, all);
}
