// SPDX-License-Identifier: Apache-2.0
// Reservations that read as zeros (wddm-facts 4.6, ReservationType ZERO): each address leads, to be read alone, to one
// page of zeros that all programs share, but for what is mapped there and in place. Above that page stands a table of
// each level whose entries all lead to the one below, so a reservation costs the tables at its edges, however large it
// is. The tables are pages of the pool, written by the first one that needs them, as the paging process's, and stay.
// The page is the host's, which comes as zeros: what an entry that leads nowhere looks like is the miniport's affair,
// so a table with nothing in it is none.
#include <string.h>

#include "vidmm/memory/virtual_entries.h"
#include "vidmm/sched/awaited.h"

// An address of the paging process that its window has not: what these tables are told to be for.
#define OF_ZEROS (UINT64_C(1) << 35)

#define COMMON_TABLES (FERRY_VM_TABLE_LEVELS - 1)

static const DXGK_PTE nothing;
static const struct ferry_vm_span none;

// What an entry of that level leads to for zeros. The page itself is never written.
static struct ferry_vm_span span_of(const struct ferry_vm_memory *memory, unsigned level)
{
    if (level == 0)
        return none;
    uint64_t first = ferry_vm_table_place(memory, memory->zeros[level - 1] - 1).SegmentOffset;
    return (struct ferry_vm_span){FERRY_VM_TABLES, first, first + PAGE_SIZE};
}

int ferry_vm_paging_process(struct ferry_vm_memory *memory)
{
    if (memory->paging.miniport)
        return FERRY_OK;
    DXGKARG_CREATEPROCESS argument = {.Flags.SystemProcess = 1};
    NTSTATUS status = memory->core->miniport->DxgkDdiCreateProcess(memory->core->adapter, &argument);
    if (!NT_SUCCESS(status))
        return status == STATUS_INSUFFICIENT_RESOURCES ? FERRY_ERROR_NO_VIDEO_MEMORY : ferry_vm_error_of_status(status);
    memory->paging.miniport = argument.hKmdProcess;
    ferry_vm_address_space_init(&memory->paging.addresses, &memory->tables);
    return FERRY_OK;
}

static int make_page(struct ferry_vm_memory *memory)
{
    const struct ferry_page_source *source = memory->core->platform.pages;
    if (memory->zero_page)
        return FERRY_OK;
    int result = source->allocate(source->context, 1, 0, &memory->zero_page);
    if (result != FERRY_OK)
        memory->zero_page = NULL;
    return result;
}

// They have one subject, the paging process without an allocation, and so come one behind the other.
static void make_common(struct ferry_vm_memory *memory)
{
    for (unsigned level = 0; level < COMMON_TABLES; level++) {
        memory->zeros[level] = ferry_vm_table_pool_take(&memory->tables) + 1;
        struct ferry_vm_table table = {.page = memory->zeros[level] - 1, .level = (uint8_t)level};
        struct ferry_vm_piece all = {
            .table = &table, .first = OF_ZEROS, .count = FERRY_VM_TABLE_ENTRIES, .repeat = true};
        DXGK_PTE entry = ferry_vm_virtual_zero_pte(memory, level);
        ferry_vm_virtual_write(memory, &memory->paging, NULL, &all, entry, none, FERRY_VM_BEGIN);
    }
}

// Entries of addresses that have nothing mapped. Whoever leads to the common tables comes behind who writes them, and
// what is about the same addresses comes behind that.
static void write_all(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space, uint64_t first, uint64_t pages,
                      enum ferry_vm_change change)
{
    struct ferry_vm_piece piece;
    for (uint64_t at = first; at < first + pages; at += piece.pages) {
        ferry_vm_address_highest_piece(&space->addresses, at, first + pages, &piece);
        unsigned level = piece.table->level;
        bool hides = change == FERRY_VM_HIDE;
        DXGK_PTE entry = hides ? nothing : ferry_vm_virtual_zero_pte(memory, level);
        ferry_vm_virtual_write(memory, space, NULL, &piece, entry, hides ? none : span_of(memory, level), change);
    }
}

// Room for operations is reserved.
static int begin(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space, uint64_t first, uint64_t pages,
                 uint64_t *table_bytes)
{
    struct ferry_vm_range *zeros;
    uint64_t common = memory->zeros[0] == 0 ? COMMON_TABLES : 0;
    // What is written may be read and not written: without that a program's mistake would be everybody's.
    int result = memory->core->read_only_pages ? FERRY_OK : FERRY_ERROR_UNSUPPORTED;
    if (result == FERRY_OK)
        result = ferry_vm_awaited_reserve(memory->sched, &space->zeros_shown, 1);
    if (result == FERRY_OK && common != 0)
        result = ferry_vm_paging_process(memory);
    if (result == FERRY_OK)
        result = make_page(memory);
    if (result == FERRY_OK)
        result = ferry_vm_address_zeros_make(&space->addresses, first, pages, common, &zeros, table_bytes);
    if (result != FERRY_OK)
        return result;
    if (common != 0)
        make_common(memory);
    space->operations_on_zeros++;
    ferry_vm_virtual_begin_tables(memory, space, NULL);
    ferry_vm_address_zeros_begin(&space->addresses, zeros);
    write_all(memory, space, first, pages, FERRY_VM_SHOW);
    // Of a table that what is beside them had begun with all is zeros now.
    ferry_vm_virtual_end_tables(memory, space, NULL, first, pages);
    ferry_vm_awaited_add(&space->zeros_shown, memory->sched->queued);
    return FERRY_OK;
}

int ferry_vm_virtual_reserve_zeros(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                                   const struct ferry_vm_where *where, uint64_t pages, uint64_t *first,
                                   uint64_t *table_bytes)
{
    *table_bytes = 0;
    int result = ferry_vm_reserve(memory->sched, FERRY_VM_ZEROS_MOST);
    if (result == FERRY_OK)
        result = ferry_vm_address_reserve(&space->addresses, where, pages, first);
    if (result != FERRY_OK)
        return result;
    result = begin(memory, space, *first, pages, table_bytes);
    if (result != FERRY_OK)
        ferry_vm_address_release(&space->addresses, *first, pages);
    return result;
}

static void take_away(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space, uint64_t first, uint64_t pages,
                      struct ferry_vm_range *behind)
{
    space->operations_on_zeros++;
    ferry_vm_virtual_begin_tables(memory, space, NULL);
    write_all(memory, space, first, pages, FERRY_VM_HIDE);
    ferry_vm_virtual_flush(memory, space, NULL, first, first + pages, none, true);
    ferry_vm_address_zeros_end(&space->addresses, first, pages, behind);
    ferry_vm_virtual_end_tables(memory, space, NULL, first, pages);
}

// All of the addresses are in one reservation, and nothing is mapped there.
static int only_reserved(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    uint64_t reservation = 0;
    for (uint64_t at = first; at < first + pages;) {
        const struct ferry_vm_range *range = ferry_vm_address_find(space, at);
        if (!range || range->first > at || ferry_vm_range_more(range)->reservation == 0 ||
            (reservation != 0 && ferry_vm_range_more(range)->reservation != reservation))
            return range && range->first <= at && range->owner ? FERRY_ERROR_BUSY : FERRY_ERROR_ARGUMENT;
        if (range->owner)
            return FERRY_ERROR_BUSY;
        reservation = ferry_vm_range_more(range)->reservation;
        at = range->first + range->pages;
    }
    return FERRY_OK;
}

int ferry_vm_virtual_protect(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space, uint64_t first,
                             uint64_t pages, bool zeros, uint64_t *table_bytes)
{
    *table_bytes = 0;
    int result = only_reserved(&space->addresses, first, pages);
    if (result != FERRY_OK)
        return result;
    const struct ferry_vm_range *met = ferry_vm_address_zeros(&space->addresses, first);
    bool all = ferry_vm_address_all_zeros(&space->addresses, first, pages), some = met && met->first < first + pages;
    if (zeros ? all : !some)
        return FERRY_OK;
    if (zeros ? some : !all)
        return FERRY_ERROR_ARGUMENT;
    result = ferry_vm_reserve(memory->sched, FERRY_VM_ZEROS_MOST);
    if (result != FERRY_OK || zeros)
        return result != FERRY_OK ? result : begin(memory, space, first, pages, table_bytes);
    struct ferry_vm_range *behind;
    result = ferry_vm_address_zeros_cut(&space->addresses, first, pages, &behind, table_bytes);
    if (result == FERRY_OK)
        take_away(memory, space, first, pages, behind);
    return result;
}

int ferry_vm_virtual_zeros_within(const struct ferry_vm_virtual *space, uint64_t first, uint64_t end, size_t *count)
{
    const struct ferry_vm_range *zeros;
    *count = 0;
    for (uint64_t at = first; (zeros = ferry_vm_address_zeros(&space->addresses, at)) && zeros->first < end;
         at = zeros->first + zeros->pages) {
        if (zeros->first < first || zeros->first + zeros->pages > end)
            return FERRY_ERROR_ARGUMENT;
        ++*count;
    }
    return FERRY_OK;
}

void ferry_vm_virtual_free_zeros(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space, uint64_t first,
                                 uint64_t end)
{
    const struct ferry_vm_range *zeros;
    while ((zeros = ferry_vm_address_zeros(&space->addresses, first)) && zeros->first < end)
        take_away(memory, space, zeros->first, zeros->pages, NULL);
}
