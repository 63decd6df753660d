// SPDX-License-Identifier: Apache-2.0
// What the device is told of GPU virtual addresses: operations of the pager's line that write page tables and have them
// forgotten, and those of an allocation whose content comes, goes or moves.
//
// Operations on one program's tables have one subject, and keep their order where they are about the same addresses, or
// the same allocation and no update's (virtual_update.c). What was not valid is written without waiting for anybody:
// the device remembers nothing of it. What was valid is taken away once the jobs that name the allocation are over, and
// before the flush is over nobody else gets the place. A job that reaches what it does not name meets a page that is
// not there, and never another program's content.
//
// Who names a place, or a table, as what it reads: entries that lead there, which come behind what brings the place's
// content and share no buffer with who writes there next, since that might be carried out again from its start; and
// the flush behind what takes entries away. It stands behind that by its addresses, so whoever writes there stands
// behind both, and the entries themselves need not name it. Nor need a flush behind what is shown.
#include <string.h>

#include "vidmm/base/least.h"
#include "vidmm/memory/virtual_entries.h"

static const DXGK_PTE nothing;

// ---- Operations on tables ----

// As the pager's line counts what is written of tables: whoever gets the table comes behind.
static struct ferry_vm_span span_of(const struct ferry_vm_memory *memory, const struct ferry_vm_table *table)
{
    uint64_t first = ferry_vm_table_place(memory, table->page).SegmentOffset;
    return (struct ferry_vm_span){FERRY_VM_TABLES, first, first + PAGE_SIZE};
}

// It is what the next operation of the space is about. waits: for the allocation's jobs. Of a reservation of zeros,
// which is no allocation's, for all of the program's; what comes of one and what goes with another have no order by it.
static void set_subject(struct ferry_vm_virtual *space, const struct ferry_vm_allocation *allocation, bool waits)
{
    space->subject.handle = allocation ? allocation->subject.handle : 0;
    space->subject.instance = allocation ? allocation->subject.instance : space->operations_on_zeros;
    space->subject.device = allocation ? allocation->subject.device : NULL;
    memset(space->subject.last_fence, 0, sizeof(space->subject.last_fence));
    if (waits)
        memcpy(space->subject.last_fence, allocation ? allocation->subject.last_fence : space->jobs,
               sizeof(space->subject.last_fence));
    if (space->after > space->subject.last_fence[space->after_node])
        space->subject.last_fence[space->after_node] = space->after;
}

void ferry_vm_virtual_behind(const struct ferry_vm_memory *memory, struct ferry_vm_virtual *space, uint32_t node,
                             uint64_t job)
{
    space->after_node = node;
    space->after = ferry_vm_reached(memory->sched, node, job) ? 0 : job;
}

static void queue(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                  struct ferry_vm_allocation *allocation, const DXGKARG_BUILDPAGINGBUFFER *argument, DXGK_PTE entry,
                  struct ferry_vm_span reads, bool waits, bool takes_away)
{
    uint64_t late = ferry_vm_late(space->after_node, space->after);
    const struct ferry_vm_table_change change = {
        .entry = entry,
        .reads = reads,
        .updated = allocation && (space->updates || late != 0) ? &allocation->subject : NULL,
        .late = late,
        .takes_away = takes_away,
    };
    set_subject(space, allocation, waits);
    ferry_vm_queue_table_operation(memory->sched, argument, &space->subject, &change);
}

static const struct ferry_vm_span none;

// Told of a program's own addresses, and of entries that lead to pages or did.
static void tell(struct ferry_vm_memory *memory, const struct ferry_vm_virtual *space,
                 const struct ferry_vm_allocation *allocation, const struct ferry_vm_piece *piece, DXGK_PTE entry,
                 enum ferry_vm_change change)
{
    bool mapped = change == FERRY_VM_SHOW && entry.Valid && (piece->table->level == 0 || entry.LargePage);
    if (!allocation || space != ferry_vm_virtual_of(allocation) || (!mapped && change != FERRY_VM_HIDE))
        return;
    uint64_t each = piece->table->level != 0 ? FERRY_VM_LARGE_PAGES : piece->group ? FERRY_VM_GROUP_PAGES : 1;
    ferry_vm_emit(memory->core, (struct ferry_vidmm_event){
                                    .kind = mapped ? FERRY_VIDMM_EVENT_MAPPED : FERRY_VIDMM_EVENT_UNMAPPED,
                                    .allocation = allocation->subject.handle,
                                    .process = allocation->subject.device->process->handle,
                                    .segment = allocation->segment,
                                    .offset = piece->first * PAGE_SIZE,
                                    .bytes = piece->count * each * PAGE_SIZE,
                                    .value = each * PAGE_SIZE,
                                });
}

DXGKARG_BUILDPAGINGBUFFER ferry_vm_virtual_entries(const struct ferry_vm_memory *memory,
                                                   const struct ferry_vm_virtual *space, HANDLE allocation,
                                                   const struct ferry_vm_piece *piece, DXGK_PTE entry,
                                                   enum ferry_vm_change change)
{
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE};
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *u = &argument.UpdatePageTable;
    DXGK_SEGMENTOFFSET place = ferry_vm_table_place(memory, piece->table->page);
    u->PageTableLevel = piece->table->level;
    u->hAllocation = entry.Valid && piece->table->level == 0 && !piece->repeat ? allocation : NULL;
    u->PageTableAddress.GpuPhysical.SegmentId = place.SegmentId;
    u->PageTableAddress.GpuPhysical.SegmentOffset = place.SegmentOffset;
    u->StartIndex = piece->index;
    u->NumPageTableEntries = piece->count;
    u->Flags.Repeat = !entry.Valid || piece->repeat;
    u->Flags.InitialUpdate = change == FERRY_VM_BEGIN;
    u->Flags.Use64KBPages = piece->group;
    u->hProcess = space->miniport;
    u->UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
    u->FirstPteVirtualAddress = piece->first * PAGE_SIZE;
    return argument;
}

void ferry_vm_virtual_write(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                            struct ferry_vm_allocation *allocation, const struct ferry_vm_piece *piece, DXGK_PTE entry,
                            struct ferry_vm_span reads, enum ferry_vm_change change)
{
    HANDLE miniport = allocation ? allocation->miniport : NULL;
    DXGKARG_BUILDPAGINGBUFFER argument = ferry_vm_virtual_entries(memory, space, miniport, piece, entry, change);
    queue(memory, space, allocation, &argument, entry, reads, change == FERRY_VM_HIDE, change == FERRY_VM_HIDE);
    tell(memory, space, allocation, piece, entry, change);
}

// What is not there leads to zeros or nowhere, page by page: pieces of one kind, and at most of the piece that goes.
static uint64_t clear_from(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                           struct ferry_vm_allocation *allocation, const struct ferry_vm_piece *piece, uint64_t at)
{
    const struct ferry_vm_range *zeros = ferry_vm_address_zeros(&space->addresses, at);
    uint64_t end = piece->first + piece->pages;
    struct ferry_vm_piece each = *piece;
    DXGK_PTE entry = nothing;
    bool among = zeros && zeros->first <= at;
    uint64_t to = !zeros ? end : ferry_vm_least(among ? zeros->first + zeros->pages : zeros->first, end);
    if (piece->table->level != 0) {
        // Of a large page the table stands in its place again, in which nothing is valid, or leads to zeros.
        entry = ferry_vm_virtual_table_pte(memory, ferry_vm_address_table(&space->addresses, piece->first, 0));
        to = end;
    } else if (among || to < end || at > piece->first) {
        each = (struct ferry_vm_piece){.table = piece->table,
                                       .first = at,
                                       .index = (uint32_t)(at % FERRY_VM_TABLE_ENTRIES),
                                       .count = (uint32_t)(to - at),
                                       .repeat = true};
        entry = among ? ferry_vm_virtual_zero_pte(memory, 0) : nothing;
    }
    DXGKARG_BUILDPAGINGBUFFER argument =
        ferry_vm_virtual_entries(memory, space, allocation->miniport, &each, entry, FERRY_VM_HIDE);
    queue(memory, space, allocation, &argument, entry, none, true, true);
    return to;
}

void ferry_vm_virtual_clear(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                            struct ferry_vm_allocation *allocation, const struct ferry_vm_piece *piece)
{
    for (uint64_t at = piece->first; at < piece->first + piece->pages;)
        at = clear_from(memory, space, allocation, piece, at);
    tell(memory, space, allocation, piece, nothing, FERRY_VM_HIDE);
}

DXGK_PTE ferry_vm_virtual_table_pte(const struct ferry_vm_memory *memory, const struct ferry_vm_table *table)
{
    DXGK_SEGMENTOFFSET place = ferry_vm_table_place(memory, table->page);
    return (DXGK_PTE){.Valid = 1,
                      .Segment = place.SegmentId & 0x1F,
                      .CacheCoherent = place.SegmentId == 0,
                      .PageTableAddress = place.SegmentOffset / PAGE_SIZE};
}

DXGK_PTE ferry_vm_virtual_zero_pte(const struct ferry_vm_memory *memory, unsigned level)
{
    if (level == 0)
        return (DXGK_PTE){.Valid = 1, .CacheCoherent = 1, .ReadOnly = 1, .PageAddress = memory->zero_page->Pfn[0]};
    struct ferry_vm_table below = {.page = memory->zeros[level - 1] - 1};
    return ferry_vm_virtual_table_pte(memory, &below);
}

DXGKARG_BUILDPAGINGBUFFER ferry_vm_virtual_forgetting(const struct ferry_vm_memory *memory,
                                                      const struct ferry_vm_virtual *space, uint64_t first,
                                                      uint64_t end)
{
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_FLUSH_TLB};
    argument.FlushTlb.RootPageTableAddress = ferry_vm_table_place(memory, space->addresses.root->page);
    argument.FlushTlb.hProcess = space->miniport;
    argument.FlushTlb.StartVirtualAddress = first * PAGE_SIZE;
    argument.FlushTlb.EndVirtualAddress = end * PAGE_SIZE;
    return argument;
}

// end 0: the whole space, whose root the device learns by it.
void ferry_vm_virtual_flush(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                            struct ferry_vm_allocation *allocation, uint64_t first, uint64_t end,
                            struct ferry_vm_span reads, bool waits)
{
    DXGKARG_BUILDPAGINGBUFFER argument = ferry_vm_virtual_forgetting(memory, space, first, end);
    queue(memory, space, allocation, &argument, nothing, reads, waits, false);
}

// The entry of the table above that leads to it.
static struct ferry_vm_piece entry_above(const struct ferry_vm_table *table)
{
    return (struct ferry_vm_piece){.table = table->parent,
                                   .first = table->first,
                                   .index = (uint32_t)(table->first >> (9 * (table->level + 1)) & 511),
                                   .count = 1};
}

void ferry_vm_virtual_begin_tables(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                                   struct ferry_vm_allocation *allocation)
{
    for (struct ferry_vm_table *table; (table = ferry_vm_address_fresh(&space->addresses));) {
        struct ferry_vm_piece all = {
            .table = table, .first = table->first, .count = FERRY_VM_TABLE_ENTRIES, .repeat = true};
        uint64_t under = UINT64_C(1) << (9 * (table->level + 1));
        // All or nothing of it is: otherwise it would have been there.
        bool zeros = ferry_vm_address_all_zeros(&space->addresses, table->first, under);
        ferry_vm_virtual_write(memory, space, allocation, &all,
                               zeros ? ferry_vm_virtual_zero_pte(memory, table->level) : nothing, none, FERRY_VM_BEGIN);
        if (table->parent) {
            all = entry_above(table);
            ferry_vm_virtual_write(memory, space, allocation, &all, ferry_vm_virtual_table_pte(memory, table), none,
                                   FERRY_VM_SHOW);
            // Where it led to the table that all zeros share that one may be remembered, until a page is shown under
            // it: it says the same.
        } else {
            ferry_vm_virtual_flush(memory, space, allocation, 0, 0, none, false);
        }
    }
}

// Tables that nothing is mapped under any more: out of the one above, forgotten, and then another's.
void ferry_vm_virtual_end_tables(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                                 struct ferry_vm_allocation *allocation, uint64_t first, uint64_t pages)
{
    struct ferry_vm_address_space *addresses = &space->addresses;
    struct ferry_vm_shrinking from = {0};
    for (struct ferry_vm_table *table; (table = ferry_vm_address_shrink(addresses, first, pages, &from));) {
        struct ferry_vm_piece above = entry_above(table);
        uint64_t under = UINT64_C(1) << (9 * (table->level + 1));
        bool zeros = ferry_vm_address_all_zeros(addresses, table->first, under);
        ferry_vm_virtual_write(memory, space, allocation, &above,
                               zeros ? ferry_vm_virtual_zero_pte(memory, table->level + 1u) : nothing, none,
                               FERRY_VM_SHOW);
        // Who gets the table writes all of it.
        ferry_vm_virtual_flush(memory, space, allocation, table->first, table->first + under, span_of(memory, table),
                               false);
        ferry_vm_table_free(addresses, table);
    }
}

// ---- Content comes and goes ----

// What is in an aperture is reached in the pages of its backing store themselves, which lie anywhere.
bool ferry_vm_virtual_scattered(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    return ferry_vm_segment_by_id(memory, allocation->segment)->aperture;
}

bool ferry_vm_virtual_page_by_page(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    return ferry_vm_virtual_scattered(memory, allocation) ||
           (allocation->flags & DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING) != 0 ||
           memory->core->caps.WDDMVersion < DXGKDDI_WDDMv2_1;
}

// As the pager's line counts: an aperture's places from 0, a memory segment's from its base. Who unmaps an aperture's
// comes behind whoever reads it, and who gives the pages away comes behind the unmapping.
struct ferry_vm_span ferry_vm_virtual_place(struct ferry_vm_memory *memory,
                                            const struct ferry_vm_allocation *allocation, uint64_t page)
{
    uint64_t first = page * PAGE_SIZE;
    if (!ferry_vm_virtual_scattered(memory, allocation))
        first += ferry_vm_segment_by_id(memory, allocation->segment)->base;
    return (struct ferry_vm_span){allocation->segment, first, first + ferry_vm_bytes(allocation)};
}

DXGK_PTE ferry_vm_virtual_page_pte(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                                   const struct ferry_vm_range *range, const struct ferry_vm_piece *piece,
                                   uint64_t place)
{
    DXGK_PTE entry = {.Valid = 1, .ReadOnly = range->read_only};
    if (ferry_vm_virtual_scattered(memory, allocation)) {
        entry.CacheCoherent = allocation->coherent;
    } else {
        entry.Segment = allocation->segment;
        entry.LargePage = piece->table->level != 0;
        entry.PageAddress = place;
    }
    return entry;
}

void ferry_vm_virtual_show_range(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                                 struct ferry_vm_range *range, uint64_t page)
{
    const struct ferry_vm_address_space *addresses = &ferry_vm_virtual_of(allocation)->addresses;
    uint64_t end = range->first + range->pages, place = page + ferry_vm_range_more(range)->offset - range->first;
    struct ferry_vm_span reads = ferry_vm_virtual_place(memory, allocation, page);
    struct ferry_vm_piece piece;
    bool scattered = ferry_vm_virtual_scattered(memory, allocation);
    bool page_by_page = ferry_vm_virtual_page_by_page(memory, allocation);
    // What was zeros has valid entries.
    const struct ferry_vm_range *zeros = ferry_vm_address_zeros(addresses, range->first);
    bool valid = zeros && zeros->first < end;
    const struct ferry_vm_range_more *more = ferry_vm_range_more(range);
    ferry_vm_virtual_behind(memory, ferry_vm_virtual_of(allocation), more->after_node, more->after);
    range->shown_first = memory->sched->queued + 1;
    for (uint64_t at = range->first; at < end; at += piece.pages) {
        ferry_vm_address_piece(addresses, at, end, place + at, page_by_page, &piece);
        DXGK_PTE entry = ferry_vm_virtual_page_pte(memory, allocation, range, &piece, place + at);
        // The table that stood in a large page's place was valid.
        valid |= piece.table->level != 0;
        ferry_vm_virtual_write(memory, ferry_vm_virtual_of(allocation), allocation, &piece, entry, reads,
                               FERRY_VM_SHOW);
        if (scattered)
            ferry_vm_lead_to_pages(memory->sched, allocation->backing, more->offset + at - range->first);
    }
    if (valid)
        ferry_vm_virtual_flush(memory, ferry_vm_virtual_of(allocation), allocation, range->first, end, none, false);
    range->shown = memory->sched->queued;
    if (ferry_vm_virtual_of(allocation)->after == 0)
        ferry_vm_virtual_waits_no_more(allocation, range);
    ferry_vm_virtual_of(allocation)->after = 0;
}

void ferry_vm_virtual_hide_range(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                                 const struct ferry_vm_range *range)
{
    const struct ferry_vm_address_space *addresses = &ferry_vm_virtual_of(allocation)->addresses;
    uint64_t page = allocation->block->first;
    uint64_t end = range->first + range->pages, place = page + ferry_vm_range_more(range)->offset - range->first;
    struct ferry_vm_span reads = ferry_vm_virtual_place(memory, allocation, page);
    struct ferry_vm_piece piece;
    bool page_by_page = ferry_vm_virtual_page_by_page(memory, allocation);
    // Of what is left of one, too: its smaller pages beside the hole stand behind the same job, and are called off
    // whenever those are.
    bool never_shown = ferry_vm_called_off(memory->sched, range->shown_first, range->shown);
    for (uint64_t at = range->first; at < end; at += piece.pages) {
        ferry_vm_address_piece(addresses, at, end, place + at, page_by_page, &piece);
        if (never_shown) {
            tell(memory, ferry_vm_virtual_of(allocation), allocation, &piece, nothing, FERRY_VM_HIDE);
            continue;
        }
        ferry_vm_virtual_clear(memory, ferry_vm_virtual_of(allocation), allocation, &piece);
    }
    if (never_shown)
        return;
    ferry_vm_virtual_flush(memory, ferry_vm_virtual_of(allocation), allocation, range->first, end, reads, true);
    // Later jobs do not find it there any more.
    allocation->shown = memory->sched->queued;
}

void ferry_vm_virtual_show(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t page)
{
    // For jobs that name it. Its content may come and go meanwhile, so this is not the newest that is to be waited for
    // by whoever wants that.
    for (struct ferry_vm_range *range = allocation->mappings; range; range = range->of_owner) {
        ferry_vm_virtual_show_range(memory, allocation, range, page);
        if (ferry_vm_range_more(range)->after == 0)
            allocation->shown = range->shown;
    }
}

void ferry_vm_virtual_hide(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (!allocation->block)
        return;
    ferry_vm_leave_early(memory->sched, &allocation->subject);
    for (const struct ferry_vm_range *range = allocation->mappings; range; range = range->of_owner)
        ferry_vm_virtual_hide_range(memory, allocation, range);
}
