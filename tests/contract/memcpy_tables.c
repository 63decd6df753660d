// SPDX-License-Identifier: Apache-2.0
// Driver model 2 of the memcpy miniport: page tables in its arrays, in a form of its own, walked when work runs. What
// has been read is remembered until it is forgotten, tables as well as pages, and not a page more is forgotten than was
// asked for. So a manager that does not forget, or gives a table or a place away before, is found out by wrong bytes.
#include <stdlib.h>
#include <string.h>

#include "ferry/runs.h"
#include "memcpy_machine.h"

#define LEVELS  4u
#define ENTRIES 512u
#define GROUP   16u

// The page's GPU address or HOST_BASE + bus address, and in its low bits:
#define VALID     1u
#define LEADS     2u // to a page; else to a table
#define READ_ONLY 4u
// In memory an entry is these bits away from that: what leads nowhere is not eight zeros there, as it need not be.
#define STORED UINT64_C(0xA5A5A5A5A5A5A5A5)

// Segment 0 is system memory, by bus addresses.
static UINT table_segment(const struct machine *machine)
{
    return machine->options.host_tables ? 0 : machine_local_segment;
}

NTSTATUS mini_query_tables(const struct machine *machine, const DXGKARG_QUERYADAPTERINFO *argument)
{
    if (argument->Type == DXGKQAITYPE_GPUMMUCAPS && argument->OutputDataSize >= sizeof(DXGK_GPUMMUCAPS)) {
        const DXGK_QUERYGPUMMUCAPSIN *which = argument->pInputData;
        DXGK_GPUMMUCAPS *caps = argument->pOutputData;
        if (argument->InputDataSize < sizeof(*which) || which->PhysicalAdapterIndex != 0)
            return STATUS_INVALID_PARAMETER;
        *caps = (DXGK_GPUMMUCAPS){.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
                                  .VirtualAddressBitCount = 48,
                                  .PageTableLevelCount = LEVELS};
        caps->ReadOnlyMemorySupported = caps->LargePageSupported = caps->InvalidTlbEntriesNotCached = 1;
        caps->CacheCoherentMemorySupported = 1;
        return STATUS_SUCCESS;
    }
    if (argument->Type == DXGKQAITYPE_PAGETABLELEVELDESC &&
        argument->OutputDataSize >= sizeof(DXGK_PAGE_TABLE_LEVEL_DESC)) {
        const DXGK_QUERYPAGETABLELEVELDESCIN *which = argument->pInputData;
        if (argument->InputDataSize < sizeof(*which) || which->PhysicalAdapterIndex != 0 || which->LevelIndex >= LEVELS)
            return STATUS_INVALID_PARAMETER;
        *(DXGK_PAGE_TABLE_LEVEL_DESC *)argument->pOutputData =
            (DXGK_PAGE_TABLE_LEVEL_DESC){.PageTableIndexBitCount = 9,
                                         .PageTableSegmentId = table_segment(machine),
                                         .PagingProcessPageTableSegmentId = table_segment(machine),
                                         .PageTableSizeInBytes = PAGE_SIZE,
                                         .PageTableAlignmentInBytes = PAGE_SIZE};
        return STATUS_SUCCESS;
    }
    return STATUS_NOT_SUPPORTED;
}

NTSTATUS mini_create_process(HANDLE adapter, DXGKARG_CREATEPROCESS *argument)
{
    struct machine *machine = adapter;
    struct mini_process *process = calloc(1, sizeof(*process));
    if (!process)
        return STATUS_NO_MEMORY;
    argument->hKmdProcess = process;
    if (argument->Flags.SystemProcess)
        machine->paging = process;
    return STATUS_SUCCESS;
}

NTSTATUS mini_destroy_process(HANDLE adapter, HANDLE handle)
{
    struct machine *machine = adapter;
    struct mini_process *process = handle;
    if (machine->paging == process)
        machine->paging = NULL;
    if (machine->space == process)
        machine->space = NULL;
    for (const struct mini_submission *work = machine->queue; work; work = work->next)
        if (work->process == process)
            mini_error(machine, "a process ends with work in flight");
    free(process->remembered);
    free(process);
    return STATUS_SUCCESS;
}

// ---- Building ----

static uint64_t base_of(UINT segment)
{
    return segment == machine_local_segment ? LOCAL_BASE : segment == machine_hidden_segment ? HIDDEN_BASE : HOST_BASE;
}

static bool convert(const struct machine *machine, const DXGK_PTE *pte, UINT level, uint64_t *entry)
{
    const struct machine_options *o = &machine->options;
    uint64_t offset = pte->PageAddress * PAGE_SIZE;
    *entry = 0;
    if (!pte->Valid)
        return true;
    if (pte->Zero || pte->Segment > machine_hidden_segment ||
        (pte->Segment == machine_local_segment && offset >= o->local_bytes) ||
        (pte->Segment == machine_hidden_segment && offset >= o->hidden_bytes))
        return false;
    bool leads = level == 0 || pte->LargePage;
    *entry = (base_of(pte->Segment) + offset) | VALID | (leads ? LEADS : 0u) | (pte->ReadOnly ? READ_ONLY : 0u);
    return !leads || level == 0 || (level == 1 && pte->PageAddress % ENTRIES == 0);
}

static bool entry_of(const struct machine *machine, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *u, uint64_t index,
                     uint64_t *entry)
{
    bool group = u->Flags.Use64KBPages && u->PageTableLevel == 0;
    uint64_t given = u->Flags.Repeat ? 0 : group ? index / GROUP : index;
    if (!convert(machine, &u->pPageTableEntries[given], u->PageTableLevel, entry))
        return false;
    *entry += group && *entry != 0 ? index % GROUP * PAGE_SIZE : 0;
    return true;
}

static bool table_of(const struct machine *machine, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *u, uint64_t *table)
{
    if (u->UpdateMode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL) {
        *table = u->PageTableAddress.GpuVirtual;
        return *table >= VIRTUAL_BASE && *table % PAGE_SIZE == 0;
    }
    uint64_t offset = u->PageTableAddress.GpuPhysical.SegmentOffset;
    *table = base_of(table_segment(machine)) + offset;
    return u->UpdateMode == DXGK_PAGETABLEUPDATE_GPU_PHYSICAL &&
           u->PageTableAddress.GpuPhysical.SegmentId == table_segment(machine) && *table % PAGE_SIZE == 0 &&
           (machine->options.host_tables || offset < machine->options.local_bytes);
}

// MultipassOffset counts entries of the table.
static NTSTATUS build_update(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *u = &argument->UpdatePageTable;
    uint64_t scale = u->Flags.Use64KBPages && u->PageTableLevel == 0 ? GROUP : 1, all = u->NumPageTableEntries * scale,
             table, list[ENTRIES];
    if (u->PageTableLevel >= LEVELS || all == 0 || u->StartIndex * scale + all > ENTRIES || !u->hProcess ||
        !table_of(machine, u, &table)) {
        mini_error(machine, "UPDATE_PAGE_TABLE of what is no table");
        return STATUS_INVALID_PARAMETER;
    }
    for (uint64_t i = 0; i < all; i++) {
        if (!entry_of(machine, u, i, &list[i])) {
            mini_error(machine, "UPDATE_PAGE_TABLE with an entry that leads nowhere");
            return STATUS_INVALID_PARAMETER;
        }
        list[i] ^= STORED;
    }
    struct packet packet = {.kind = PACKET_ENTRIES, .to = table + u->StartIndex * scale * sizeof(uint64_t)};
    if (u->Flags.Repeat && scale == 1) {
        packet.size = all * sizeof(uint64_t);
        packet.pattern = list[0];
        return mini_write_packet(argument, packet, NULL) ? STATUS_SUCCESS : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    }
    packet.list = 1;
    while (argument->MultipassOffset < all) {
        if (argument->DmaSize < sizeof(packet) + sizeof(uint64_t))
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        uint64_t room = (argument->DmaSize - sizeof(packet)) / sizeof(uint64_t), left = all - argument->MultipassOffset;
        struct packet part = packet;
        part.pages = (uint32_t)(left < room ? left : room);
        part.to += argument->MultipassOffset * sizeof(uint64_t);
        part.size = part.pages * sizeof(uint64_t);
        mini_write_packet(argument, part, &list[argument->MultipassOffset]);
        argument->MultipassOffset += part.pages;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS build_flush(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_FLUSHTLB *f = &argument->FlushTlb;
    bool whole = f->StartVirtualAddress == 0 && f->EndVirtualAddress == 0;
    if (!f->hProcess || (!whole && f->EndVirtualAddress <= f->StartVirtualAddress) ||
        f->RootPageTableAddress.SegmentId != table_segment(machine))
        mini_error(machine, "FLUSH_TLB of nothing");
    struct packet packet = {.kind = PACKET_FORGET,
                            .from = f->StartVirtualAddress / PAGE_SIZE,
                            .to = whole ? UINT64_MAX : f->EndVirtualAddress / PAGE_SIZE,
                            .size = base_of(table_segment(machine)) + f->RootPageTableAddress.SegmentOffset,
                            .pattern = (uint64_t)(uintptr_t)f->hProcess};
    return mini_write_packet(argument, packet, NULL) ? STATUS_SUCCESS : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

// Work on addresses of the paging process: the process is named before it, and nobody after it in the end.
static NTSTATUS build_by_address(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument, struct packet packet)
{
    struct packet process = {.kind = PACKET_PROCESS, .pattern = (uint64_t)(uintptr_t)machine->paging};
    if (!machine->paging)
        mini_error(machine, "an address of the paging process, which there is not");
    if (argument->DmaSize < 2 * sizeof(packet))
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    mini_write_packet(argument, process, NULL);
    mini_write_packet(argument, packet, NULL);
    return STATUS_SUCCESS;
}

static NTSTATUS build_copy_entries(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *c = &argument->CopyPageTableEntries;
    for (; argument->MultipassOffset < c->NumRanges; argument->MultipassOffset++) {
        const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *r = &c->pRanges[argument->MultipassOffset];
        struct packet packet = {.kind = PACKET_MOVE,
                                .to = r->DstPageTableAddress + r->DstStartPteIndex * sizeof(uint64_t),
                                .from = r->SrcPageTableAddress + r->SrcStartPteIndex * sizeof(uint64_t),
                                .size = r->NumPageTableEntries * sizeof(uint64_t)};
        NTSTATUS status = build_by_address(machine, argument, packet);
        if (status != STATUS_SUCCESS)
            return status;
    }
    return STATUS_SUCCESS;
}

// Everything that is remembered of its program's addresses is forgotten.
static NTSTATUS build_unmap_notice(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *n = &argument->NotifyAllocation;
    const struct mini_allocation *allocation = n->hAllocation;
    const struct mini_process *process = n->hKmdProcessHandle;
    if (!machine->options.iommu)
        mini_error(machine, "a notice of the IOMMU model, which was not announced (R200)");
    if (allocation->job_references || allocation->paging_references || allocation->pages)
        mini_error(machine, "a notice of the IOMMU model while the GPU uses the pages");
    struct packet packet = {.kind = process ? PACKET_FORGET : PACKET_NOTHING,
                            .to = UINT64_MAX,
                            .size = process ? process->root : 0,
                            .pattern = (uint64_t)(uintptr_t)process};
    return mini_write_packet(argument, packet, NULL) ? STATUS_SUCCESS : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

// MultipassOffset counts runs, and one more for the list's end.
static NTSTATUS build_notice(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *n = &argument->NotifyAllocation;
    const struct mini_allocation *allocation = n->hAllocation;
    if (n->Flags.Value == 2)
        return build_unmap_notice(machine, argument);
    if (n->Flags.Value != 1 || n->hKmdProcessHandle)
        mini_error(machine, "a NOTIFY_ALLOC that is not of an eviction (R182, R188)");
    if (allocation->job_references || allocation->paging_references)
        mini_error(machine, "a NOTIFY_ALLOC while there is work on the allocation");
    if (!allocation->pages) {
        mini_error(machine, "a NOTIFY_ALLOC of what is in no aperture (R193)");
        return STATUS_SUCCESS;
    }
    uint64_t bytes = allocation->pages->ByteCount, content = bytes - PAGE_SIZE, end = n->OffsetInBytes + n->SizeInBytes;
    const struct ferry_run_list *list = (const void *)((const uint8_t *)allocation->pages->MappedSystemVa + content);
    if (!allocation->compressed || list->magic != FERRY_RUNS_MAGIC)
        return STATUS_SUCCESS;
    UINT count = 0;
    for (; count < list->count && count < FERRY_RUNS_MOST; count++) {
        uint64_t from = list->runs[count].first_block * UINT64_C(256),
                 to = from + list->runs[count].blocks * UINT64_C(256);
        if (from >= to || to > content)
            break;
    }
    for (; argument->MultipassOffset <= count; argument->MultipassOffset++) {
        bool is_last = argument->MultipassOffset == count;
        const struct ferry_run *run = &list->runs[argument->MultipassOffset];
        uint64_t from = is_last ? content : run->first_block * UINT64_C(256),
                 to = is_last ? content + 8 : from + run->blocks * UINT64_C(256);
        from = from < n->OffsetInBytes ? n->OffsetInBytes : from;
        to = to > end ? end : to;
        struct packet packet = {.kind = PACKET_ENTRIES,
                                .to = n->GpuVirtualAddressAtOffset + from - n->OffsetInBytes,
                                .size = to - from,
                                .pattern = is_last ? 0 : run->pattern};
        NTSTATUS status = from < to ? build_by_address(machine, argument, packet) : STATUS_SUCCESS;
        if (status != STATUS_SUCCESS)
            return status;
    }
    return STATUS_SUCCESS;
}

// Between system and video memory a tiled allocation that is linear in the former is turned over, and all of it is
// there on both sides, its tiles at addresses as aligned as they are.
static NTSTATUS build_virtual_transfer(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *t = &argument->TransferVirtual;
    const struct mini_allocation *allocation = t->hAllocation;
    bool in = t->TransferDirection == DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL;
    struct packet packet = {.kind = PACKET_MOVE,
                            .to = t->DestinationVirtualAddress,
                            .from = t->SourceVirtualAddress,
                            .size = t->TransferSizeInBytes};
    if (allocation && allocation->tiles && allocation->lockable &&
        t->TransferDirection != DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL) {
        packet.kind = in ? PACKET_SWIZZLE : PACKET_UNSWIZZLE;
        packet.list = (uint32_t)(t->AllocationOffsetInBytes / PAGE_SIZE);
        packet.to -= t->AllocationOffsetInBytes;
        packet.from -= t->AllocationOffsetInBytes;
        packet.pattern = (uint64_t)(uintptr_t)allocation;
        if ((in ? packet.to : packet.from) % allocation->tiling.TileBytes)
            mini_error(machine, "tiles at addresses that are none's");
    }
    return build_by_address(machine, argument, packet);
}

bool mini_is_virtual(DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    return operation == DXGK_OPERATION_UPDATE_PAGE_TABLE || operation == DXGK_OPERATION_FLUSH_TLB ||
           operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES || operation == DXGK_OPERATION_VIRTUAL_TRANSFER ||
           operation == DXGK_OPERATION_VIRTUAL_FILL || operation == DXGK_OPERATION_NOTIFY_ALLOC;
}

NTSTATUS mini_build_virtual(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL *f = &argument->FillVirtual;
    if (!machine->options.by_address &&
        (argument->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER || argument->Operation == DXGK_OPERATION_VIRTUAL_FILL))
        mini_error(machine, "content by addresses, of a paging node that has none");
    switch (argument->Operation) {
    case DXGK_OPERATION_UPDATE_PAGE_TABLE: return build_update(machine, argument);
    case DXGK_OPERATION_FLUSH_TLB: return build_flush(machine, argument);
    case DXGK_OPERATION_NOTIFY_ALLOC: return build_notice(machine, argument);
    case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES: return build_copy_entries(machine, argument);
    case DXGK_OPERATION_VIRTUAL_TRANSFER: return build_virtual_transfer(machine, argument);
    default:
        return build_by_address(machine, argument,
                                (struct packet){.kind = PACKET_FILL,
                                                .to = f->DestinationVirtualAddress,
                                                .size = f->FillSizeInBytes,
                                                .pattern = f->FillPattern});
    }
}

// ---- Running ----

void mini_run_entries(struct machine *machine, const struct packet *packet, const uint8_t *list)
{
    for (uint64_t i = 0; i < packet->size / sizeof(uint64_t); i++) {
        uint64_t run;
        uint8_t *at = mini_gpu(machine, packet->to + i * sizeof(uint64_t), &run);
        if (!at)
            return;
        if (packet->list)
            memcpy(at, list + i * sizeof(uint64_t), sizeof(uint64_t));
        else
            memcpy(at, &packet->pattern, sizeof(uint64_t));
    }
}

void mini_forget(const struct packet *packet)
{
    struct mini_process *process = (struct mini_process *)(uintptr_t)packet->pattern;
    size_t kept = 0;
    process->root = packet->size;
    for (size_t i = 0; i < process->count; i++) {
        const struct mini_remembered *r = &process->remembered[i];
        uint64_t end = r->first + (UINT64_C(1) << 9 * r->level);
        if (r->first >= packet->to || end <= packet->from)
            process->remembered[kept++] = *r;
    }
    process->count = kept;
}

// What the entry of that level says of the page: as it was when it was read first, since it was forgotten last.
static uint64_t read_entry(struct machine *machine, struct mini_process *process, uint64_t table, unsigned level,
                           uint64_t page)
{
    uint64_t first = page >> 9 * level << 9 * level, run, entry;
    for (size_t i = process->count; i-- > 0;)
        if (process->remembered[i].level == level && process->remembered[i].first == first)
            return process->remembered[i].entry;
    const uint8_t *at = mini_gpu(machine, table + (page >> 9 * level) % ENTRIES * sizeof(uint64_t), &run);
    if (!at)
        return 0;
    memcpy(&entry, at, sizeof(entry));
    entry ^= STORED;
    // InvalidTlbEntriesNotCached: what is not valid is not remembered.
    if ((entry & VALID) == 0)
        return 0;
    if (process->count == process->capacity) {
        process->capacity = process->capacity * 2 + 64;
        process->remembered = realloc(process->remembered, process->capacity * sizeof(*process->remembered));
    }
    process->remembered[process->count++] = (struct mini_remembered){level, first, entry};
    return entry;
}

uint64_t mini_walk(struct machine *machine, uint64_t address)
{
    struct mini_process *process = machine->space;
    uint64_t page = address / PAGE_SIZE, table = process ? process->root : 0;
    for (unsigned level = LEVELS; level-- > 0 && table != 0;) {
        uint64_t entry = read_entry(machine, process, table, level, page);
        table = entry & ~(uint64_t)(PAGE_SIZE - 1);
        if ((entry & LEADS) != 0)
            return table + address % (PAGE_SIZE << 9 * level);
    }
    mini_error(machine, "GPU virtual address %llx is not mapped", (unsigned long long)address);
    return 0;
}
