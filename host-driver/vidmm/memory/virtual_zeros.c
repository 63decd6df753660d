// SPDX-License-Identifier: Apache-2.0
// Reservations that read as zeros (wddm-facts 4.6, ReservationType ZERO): each address leads, to be read alone, to one
// page of zeros that all programs share, but for what is mapped there and in place. Above that page stands a table of
// each level whose entries all lead to the one below, so a reservation costs the tables at its edges, however large it
// is. They are pages of the pool, written by the first one that needs them, as the paging process's, and stay.
#include <string.h>

#include "vidmm/memory/virtual_internal.h"

// An address of the paging process that its window has not: what these tables are told to be for.
#define OF_ZEROS (UINT64_C(1) << 35)

static const DXGK_PTE nothing;

static struct ferry_vm_span span_of(const struct ferry_vm_memory *memory, unsigned level)
{
    uint64_t first = ferry_vm_table_place(memory, memory->zeros[level] - 1).SegmentOffset;
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

// A table with nothing in it is a page of zeros: an entry that is not valid is eight of them (contract, table_entry).
static void make_common(struct ferry_vm_memory *memory)
{
    struct ferry_vm_span below = {0};
    for (unsigned level = 0; level < FERRY_VM_TABLE_LEVELS; level++) {
        memory->zeros[level] = ferry_vm_table_pool_take(&memory->tables) + 1;
        struct ferry_vm_table table = {.page = memory->zeros[level] - 1,
                                       .level = (uint8_t)(level == 0 ? 0 : level - 1)};
        struct ferry_vm_piece all = {
            .table = &table, .first = OF_ZEROS, .count = FERRY_VM_TABLE_ENTRIES, .repeat = true};
        DXGK_PTE entry = level == 0 ? nothing : ferry_vm_virtual_zero_pte(memory, level - 1);
        ferry_vm_virtual_write(memory, &memory->paging, NULL, &all, entry, below, FERRY_VM_BEGIN);
        below = span_of(memory, level);
    }
}

// Entries of all that is reserved, which has nothing mapped. Whoever reads the common tables comes behind who writes
// them, and so does what is about the same addresses later.
static void write_all(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                      const struct ferry_vm_range *zeros, enum ferry_vm_change change)
{
    struct ferry_vm_piece piece;
    for (uint64_t at = zeros->first, end = at + zeros->pages; at < end; at += piece.pages) {
        ferry_vm_address_highest_piece(&space->addresses, at, end, &piece);
        unsigned level = piece.table->level;
        DXGK_PTE entry = change == FERRY_VM_HIDE ? nothing : ferry_vm_virtual_zero_pte(memory, level);
        ferry_vm_virtual_write(memory, space, NULL, &piece, entry, span_of(memory, level), change);
    }
}

int ferry_vm_virtual_reserve_zeros(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                                   const struct ferry_vm_where *where, uint64_t pages, uint64_t *first,
                                   uint64_t *table_bytes)
{
    struct ferry_vm_range *zeros;
    *table_bytes = 0;
    // What is written may be read and not written: without that a program's mistake would be everybody's.
    if (!memory->core->read_only_pages)
        return FERRY_ERROR_UNSUPPORTED;
    int result = ferry_vm_reserve(memory->sched, FERRY_VM_ZEROS_MOST);
    if (result == FERRY_OK && memory->zeros[0] == 0)
        result = ferry_vm_paging_process(memory);
    if (result == FERRY_OK)
        result = ferry_vm_address_reserve(&space->addresses, where, pages, first);
    if (result != FERRY_OK)
        return result;
    result = ferry_vm_address_zeros_make(&space->addresses, *first, pages,
                                         memory->zeros[0] == 0 ? FERRY_VM_TABLE_LEVELS : 0, &zeros, table_bytes);
    if (result != FERRY_OK) {
        ferry_vm_address_release(&space->addresses, *first, pages);
        return result;
    }
    if (memory->zeros[0] == 0)
        make_common(memory);
    space->operations_on_zeros++;
    ferry_vm_virtual_begin_tables(memory, space, NULL);
    ferry_vm_address_zeros_begin(&space->addresses, zeros);
    write_all(memory, space, zeros, FERRY_VM_SHOW);
    space->zeros_shown = memory->sched->queued;
    return FERRY_OK;
}

static void take_away(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space, struct ferry_vm_range *zeros)
{
    uint64_t first = zeros->first, pages = zeros->pages;
    const struct ferry_vm_span none = {0};
    space->operations_on_zeros++;
    write_all(memory, space, zeros, FERRY_VM_HIDE);
    ferry_vm_virtual_flush(memory, space, NULL, first, first + pages, none, true);
    ferry_vm_address_zeros_end(&space->addresses, zeros);
    ferry_vm_virtual_end_tables(memory, space, NULL, first, pages);
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
    struct ferry_vm_range *zeros;
    while ((zeros = ferry_vm_address_zeros(&space->addresses, first)) && zeros->first < end)
        take_away(memory, space, zeros);
}
