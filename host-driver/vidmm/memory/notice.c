// SPDX-License-Identifier: Apache-2.0
// NOTIFY_ALLOC before an eviction (R185 to R194): the miniport may have to do work on the content, by GPU, while it is
// still where it was; decompress it, for one. For that the pages of the aperture are mapped at addresses of the paging
// process, as many of them at a time as it has (R201 to R212), and taken away again before the next ones.
#include <string.h>

#include "vidmm/memory/memory.h"

#define MEGABYTE     (UINT64_C(1) << 20)
#define WINDOW_FIRST (UINT64_C(1) << 28) // page: apart from what may be mistaken for an address of a segment
#define LEAST_PAGES  FERRY_VM_GROUP_PAGES

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

static int make_process(struct ferry_vm_memory *memory)
{
    DXGKARG_CREATEPROCESS argument = {.Flags.SystemProcess = 1};
    NTSTATUS status = memory->core->miniport->DxgkDdiCreateProcess(memory->core->adapter, &argument);
    if (!NT_SUCCESS(status))
        return status == STATUS_INSUFFICIENT_RESOURCES ? FERRY_ERROR_NO_VIDEO_MEMORY : ferry_vm_error_of_status(status);
    memory->paging.miniport = argument.hKmdProcess;
    ferry_vm_address_space_init(&memory->paging.addresses, &memory->tables);
    return FERRY_OK;
}

// R211: its tables are there as long as the manager is.
int ferry_vm_notice_begin(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (memory->window || !allocation->notice)
        return FERRY_OK;
    uint64_t pages = window_pages(memory), missing;
    const struct ferry_vm_where where = {.base = WINDOW_FIRST, .alignment = 1};
    int result = ferry_vm_reserve(memory->sched, ferry_vm_virtual_tables_most(pages));
    if (result == FERRY_OK && !memory->paging.miniport)
        result = make_process(memory);
    if (result == FERRY_OK)
        result =
            ferry_vm_address_map(&memory->paging.addresses, &where, pages, memory, 0, false, &memory->window, &missing);
    if (result != FERRY_OK) {
        memory->window = NULL;
        return result;
    }
    ferry_vm_virtual_begin_tables(memory, &memory->paging, allocation);
    return FERRY_OK;
}

void ferry_vm_notice_end(struct ferry_vm_memory *memory)
{
    if (!memory->paging.miniport)
        return;
    ferry_vm_address_space_end(&memory->paging.addresses);
    memory->core->miniport->DxgkDdiDestroyProcess(memory->core->adapter, memory->paging.miniport);
    memory->paging.miniport = NULL;
    memory->window = NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// Entries of `pages` of the window from its start on: to the allocation's pages from `first` on, or to nothing.
static void write_window(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                         struct ferry_vm_span reads, uint64_t first, uint64_t pages, bool show)
{
    DXGK_PTE entry = {.Valid = show, .CacheCoherent = show && allocation->coherent};
    uint64_t begin = memory->window->first, end = begin + pages;
    struct ferry_vm_piece piece;
    for (uint64_t at = begin; at < end; at += piece.pages) {
        ferry_vm_address_piece(&memory->paging.addresses, at, end, first + at - begin, true, &piece);
        ferry_vm_virtual_write(memory, &memory->paging, allocation, &piece, entry, reads,
                               show ? FERRY_VM_SHOW : FERRY_VM_HIDE);
        if (show)
            ferry_vm_lead_to_pages(memory->sched, allocation->backing, first + at - begin);
    }
    if (!show)
        ferry_vm_virtual_flush(memory, &memory->paging, allocation, begin, end, reads, true);
}

static void notify(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, struct ferry_vm_span reads,
                   uint64_t first, uint64_t pages)
{
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_NOTIFY_ALLOC};
    argument.NotifyAllocation.hAllocation = allocation->miniport;
    argument.NotifyAllocation.Flags.Eviction = 1;
    argument.NotifyAllocation.OffsetInBytes = first * PAGE_SIZE;
    argument.NotifyAllocation.SizeInBytes = pages * PAGE_SIZE;
    argument.NotifyAllocation.GpuVirtualAddressAtOffset = memory->window->first * PAGE_SIZE;
    ferry_vm_virtual_subject(&memory->paging, allocation, true);
    // Built when the allocation is idle: the miniport may look at content to know what there is to do.
    ferry_vm_queue_notice(memory->sched, &argument, &memory->paging.subject, reads);
}

size_t ferry_vm_notice_most(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    if (!allocation->notice || !memory->window)
        return 0;
    uint64_t window = memory->window->pages, pieces = (allocation->pages + window - 1) / window;
    return (size_t)(pieces * (2 * (window / FERRY_VM_TABLE_ENTRIES + 2) + 2)) + 1;
}

void ferry_vm_notice(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    // R193: only what leaves an aperture. It has one place: what is noticed is not renamed.
    if (!allocation->notice || !memory->window || !segment->aperture)
        return;
    uint64_t begin = allocation->block->first * PAGE_SIZE;
    struct ferry_vm_span reads = {segment->id, begin, begin + ferry_vm_bytes(allocation)};
    ferry_vm_aperture_order(memory, allocation, true);
    for (uint64_t first = 0; first < allocation->pages; first += memory->window->pages) {
        uint64_t pages = least(memory->window->pages, allocation->pages - first);
        write_window(memory, allocation, reads, first, pages, true);
        notify(memory, allocation, reads, first, pages);
        write_window(memory, allocation, reads, first, pages, false);
    }
    // Whatever gives its pages away comes behind all of it.
    allocation->subject.last_fence[memory->sched->paging_node] = memory->sched->queued;
    allocation->gpu_wrote = 1;
}
