// SPDX-License-Identifier: Apache-2.0
// Addresses of the paging process (R201 to R212): the window through which content is moved, filled and noticed. It is
// seldom as large as an allocation. So each chunk has its entries written (operation 11), is worked on (8, 9, 22), and
// has its entries taken away and forgotten (11, 12), and chunks follow each other through the window. What is swizzled
// on its way cannot be cut, since a page of rows is in many pages of tiles: it is mapped whole, or goes by place.
//
// Which addresses a chunk gets is decided when it is built, in the order in which the device executes: so no operation
// waits for addresses that another one has which waits for a job. From one end of the window to the other no address is
// taken twice; at the end everything that was built is waited for. So where a buffer is executed a second time, after a
// fault or a reset, its steps meet no entry that a later chunk has left in its place. And then nobody knows what is
// still remembered of the window: before the next chunk all of it is taken away and forgotten, and that is waited for.
#include "vidmm/base/least.h"
#include "vidmm/memory/virtual_entries.h"

#define MEGABYTE     (UINT64_C(1) << 20)
#define WINDOW_FIRST (UINT64_C(1) << 28) // page: apart from what may be mistaken for an address of a segment
#define LEAST_PAGES  FERRY_VM_GROUP_PAGES

// What the contract says of the nodes: one that has no addresses moves content from place to place.
int ferry_vm_window_read(struct ferry_vm_memory *memory)
{
    const DRIVER_INITIALIZATION_DATA *miniport = memory->core->miniport;
    DXGKARG_GETNODEMETADATA node = {0};
    if (!memory->core->caps.MemoryManagementCaps.VirtualAddressingSupported || !miniport->DxgkDdiGetNodeMetadata)
        return FERRY_OK;
    NTSTATUS status = miniport->DxgkDdiGetNodeMetadata(memory->core->adapter, memory->sched->paging_node, &node);
    memory->by_address = NT_SUCCESS(status) && node.GpuMmuSupported;
    return ferry_vm_error_of_status(status);
}

// Addresses in pages. The miniport's own wish, else a quarter of the largest memory segment (R205, R207; hardware
// scheduling, whose log buffers would count too, there is none).
static uint64_t window_pages(struct ferry_vm_memory *memory)
{
    UINT adapter = 0, megabytes = 0;
    DXGKARG_QUERYADAPTERINFO query = {.Type = DXGKQAITYPE_PAGINGPROCESSGPUVASIZE,
                                      .pInputData = &adapter,
                                      .InputDataSize = sizeof(adapter),
                                      .pOutputData = &megabytes,
                                      .OutputDataSize = sizeof(megabytes)};
    NTSTATUS status = memory->core->miniport->DxgkDdiQueryAdapterInfo(memory->core->adapter, &query);
    if (NT_SUCCESS(status) && megabytes != 0)
        return megabytes * MEGABYTE / PAGE_SIZE;
    uint64_t largest = 0;
    for (unsigned i = 0; i < memory->segment_count; i++)
        if (!memory->segments[i].aperture && memory->segments[i].pages > largest)
            largest = memory->segments[i].pages;
    uint64_t pages = largest / 4 / LEAST_PAGES * LEAST_PAGES;
    return pages < LEAST_PAGES ? LEAST_PAGES : pages;
}

// R211: its tables are there as long as the manager is. Where content goes by them they come with the first allocation
// of all, also with one that stays in an aperture, or with the first zeros (allocation NULL): before programs can map
// anything, and take all tables there are.
int ferry_vm_window_begin(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (memory->window || !((allocation && allocation->notice) || memory->by_address))
        return FERRY_OK;
    uint64_t pages = window_pages(memory), missing;
    const struct ferry_vm_where where = {.base = WINDOW_FIRST, .alignment = 1};
    int result = ferry_vm_reserve(memory->sched, ferry_vm_virtual_tables_most(pages));
    if (result == FERRY_OK)
        result = ferry_vm_paging_process(memory);
    if (result == FERRY_OK)
        result =
            ferry_vm_address_map(&memory->paging.addresses, &where, pages, memory, 0, false, &memory->window, &missing);
    if (result != FERRY_OK) {
        memory->window = NULL;
        return result;
    }
    ferry_vm_virtual_begin_tables(memory, &memory->paging, allocation);
    memory->window_ready = memory->sched->queued;
    return FERRY_OK;
}

void ferry_vm_window_end(struct ferry_vm_memory *memory)
{
    if (!memory->paging.miniport)
        return;
    ferry_vm_address_space_end(&memory->paging.addresses);
    memory->core->miniport->DxgkDdiDestroyProcess(memory->core->adapter, memory->paging.miniport);
    memory->paging.miniport = NULL;
    memory->window = NULL;
}

// Both sides of it in one chunk, each aligned as it is.
bool ferry_vm_window_holds_whole(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    uint64_t pages = allocation->use.pages;
    return pages <= memory->window->pages / 2 && pages % (UINT64_C(1) << allocation->alignment_log2) == 0;
}

// ---- Queueing ----

static struct ferry_vm_span place_of(struct ferry_vm_memory *memory, const struct ferry_vm_side *side, uint64_t pages)
{
    if (side->segment == 0)
        return (struct ferry_vm_span){0};
    uint64_t first = ferry_vm_segment_by_id(memory, side->segment)->base + side->first * PAGE_SIZE;
    return (struct ferry_vm_span){side->segment, first, first + pages * PAGE_SIZE};
}

void ferry_vm_window_queue(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                           const DXGKARG_BUILDPAGINGBUFFER *argument, const struct ferry_vm_steps *steps,
                           unsigned flags)
{
    struct ferry_vm_stepwise what = {.steps = *steps, .after = memory->window_ready, .flags = flags};
    // A notice works on pages of an aperture, and names none: before they are given away they are unmapped, which is
    // its subject's next operation.
    if (argument->Operation != DXGK_OPERATION_NOTIFY_ALLOC) {
        what.bytes = (steps->part_pages ? steps->part_pages : steps->pages) * PAGE_SIZE;
        what.writes = place_of(memory, &steps->sides[steps->side_count - 1], steps->pages);
        if (steps->side_count == 2)
            what.reads = place_of(memory, &steps->sides[0], steps->pages);
    }
    ferry_vm_queue_steps(memory->sched, argument, &allocation->subject, &what);
}

// ---- Building ----

// Of a chunk, and before it when nobody knows what the window leads to.
enum phase { BEGIN, CLEAN, CLEAN_FORGET, CLEANED, SHOW, WORK, HIDE, FORGET };

static HANDLE allocation_of(const struct ferry_vm_operation *operation)
{
    const DXGKARG_BUILDPAGINGBUFFER *a = &operation->argument;
    return a->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER ? a->TransferVirtual.hAllocation
           : a->Operation == DXGK_OPERATION_VIRTUAL_FILL   ? a->FillVirtual.hAllocation
                                                           : a->NotifyAllocation.hAllocation;
}

// Entries from page `at` of the window on, to nothing; returns how many.
static uint64_t hide(struct ferry_vm_memory *memory, struct ferry_vm_operation *step, uint64_t at, uint64_t end)
{
    struct ferry_vm_piece piece;
    const DXGK_PTE nothing = {0};
    uint64_t first = memory->window->first;
    ferry_vm_address_piece(&memory->paging.addresses, first + at, first + end, 0, true, &piece);
    step->argument = ferry_vm_virtual_entries(memory, &memory->paging, NULL, &piece, nothing, FERRY_VM_HIDE);
    step->entry = nothing;
    step->step_of->steps.updates++;
    return piece.pages;
}

static void forget(struct ferry_vm_memory *memory, struct ferry_vm_operation *step, uint64_t at, uint64_t end)
{
    uint64_t first = memory->window->first;
    step->argument = ferry_vm_virtual_forgetting(memory, &memory->paging, first + at, first + end);
    step->step_of->steps.flushes++;
}

// Entries to a side's pages, of which `done` have theirs; returns how many more have.
static uint64_t show(struct ferry_vm_memory *memory, struct ferry_vm_operation *step, const struct ferry_vm_side *side,
                     uint64_t at, uint64_t page, uint64_t pages)
{
    struct ferry_vm_piece piece;
    uint64_t first = memory->window->first + at;
    DXGK_PTE entry = {.Valid = 1};
    ferry_vm_address_piece(&memory->paging.addresses, first, first + pages, 0, true, &piece);
    if (side->segment == 0) {
        entry.CacheCoherent = side->coherent;
        step->pages = side->pages;
        step->first_page = side->first + page;
    } else {
        entry.Segment = side->segment & 0x1F;
        entry.PageAddress = side->first + page;
    }
    step->entry = entry;
    step->argument =
        ferry_vm_virtual_entries(memory, &memory->paging, allocation_of(step->step_of), &piece, entry, FERRY_VM_SHOW);
    step->step_of->steps.updates++;
    return piece.pages;
}

// The operation itself, on the chunk: at its addresses, which the offset in the allocation is not added to.
static void work(const struct ferry_vm_memory *memory, const struct ferry_vm_operation *operation,
                 struct ferry_vm_operation *step)
{
    const struct ferry_vm_steps *s = &operation->steps;
    uint64_t address = (memory->window->first + s->at) * PAGE_SIZE, bytes = s->chunk * PAGE_SIZE;
    uint64_t offset = (s->offset + s->done + s->part) * PAGE_SIZE;
    DXGKARG_BUILDPAGINGBUFFER *a = &step->argument;
    *a = operation->argument;
    switch (a->Operation) {
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        a->TransferVirtual.AllocationOffsetInBytes = offset;
        a->TransferVirtual.TransferSizeInBytes = s->part_pages ? s->part_pages * PAGE_SIZE : bytes;
        a->TransferVirtual.SourceVirtualAddress = address + s->part * PAGE_SIZE;
        a->TransferVirtual.DestinationVirtualAddress = address + bytes + s->part * PAGE_SIZE;
        break;
    case DXGK_OPERATION_VIRTUAL_FILL:
        a->FillVirtual.AllocationOffsetInBytes = offset;
        a->FillVirtual.FillSizeInBytes = bytes;
        a->FillVirtual.DestinationVirtualAddress = address;
        break;
    default:
        a->NotifyAllocation.OffsetInBytes = offset;
        a->NotifyAllocation.SizeInBytes = bytes;
        a->NotifyAllocation.GpuVirtualAddressAtOffset = address;
        break;
    }
}

// Addresses for the next chunk. False: not before everything that is built is over.
static bool take_addresses(struct ferry_vm_memory *memory, struct ferry_vm_steps *s)
{
    s->chunk = ferry_vm_least(s->pages - s->done, memory->window->pages / s->side_count);
    uint64_t need = s->chunk * s->side_count, mask = (UINT64_C(1) << s->alignment_log2) - 1;
    uint64_t next = (memory->window_next + mask) & ~mask;
    if (memory->sched->addresses_unknown || next + need > memory->window->pages) {
        if (!ferry_vm_paging_idle(memory->sched))
            return false;
        next = memory->window_next = 0;
    }
    s->written = 0;
    s->phase = SHOW;
    if (memory->sched->addresses_unknown) {
        s->phase = CLEAN;
        return true;
    }
    s->at = next;
    memory->window_next = next + need;
    return true;
}

// The next phase, once all of this one is written.
static void next_phase(struct ferry_vm_steps *s, uint64_t all)
{
    if (s->written < all)
        return;
    s->written = 0;
    s->phase++;
}

enum ferry_vm_next_step ferry_vm_window_step(void *context, struct ferry_vm_operation *operation,
                                             struct ferry_vm_operation *step)
{
    struct ferry_vm_memory *memory = context;
    struct ferry_vm_steps *s = &operation->steps;
    if (s->phase == CLEANED) {
        if (!ferry_vm_paging_idle(memory->sched))
            return FERRY_VM_STEP_LATER;
        memory->sched->addresses_unknown = false;
        s->phase = BEGIN;
    }
    if (s->phase == BEGIN && s->done == s->pages)
        return FERRY_VM_NO_STEP;
    if (s->phase == BEGIN && !take_addresses(memory, s))
        return FERRY_VM_STEP_LATER;
    // R190, R191: a notice is executed before its content is taken away from the window.
    if (s->phase == HIDE && operation->argument.Operation == DXGK_OPERATION_NOTIFY_ALLOC &&
        !ferry_vm_paging_idle(memory->sched))
        return FERRY_VM_STEP_LATER;
    uint64_t all = s->chunk * s->side_count, side = s->phase == SHOW ? s->written / s->chunk : 0;
    switch ((enum phase)s->phase) {
    case CLEAN:
        s->written += hide(memory, step, s->written, memory->window->pages);
        next_phase(s, memory->window->pages);
        break;
    case CLEAN_FORGET:
        forget(memory, step, 0, memory->window->pages);
        next_phase(s, 0);
        break;
    case SHOW: {
        uint64_t page = s->written - side * s->chunk;
        s->written += show(memory, step, &s->sides[side], s->at + s->written, s->done + page, s->chunk - page);
        next_phase(s, all);
        break;
    }
    case WORK:
        work(memory, operation, step);
        s->chunks++;
        next_phase(s, 0);
        break;
    case HIDE:
        s->written += hide(memory, step, s->at + s->written, s->at + all);
        next_phase(s, all);
        break;
    default:
        forget(memory, step, s->at, s->at + all);
        s->done += s->chunk;
        s->phase = BEGIN;
        break;
    }
    return FERRY_VM_STEP;
}
