// SPDX-License-Identifier: Apache-2.0
// The line of paging operations with their records, from queueing to the end.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vidmm/sched/paging.h"

bool ferry_vm_operation_over(const struct ferry_vm_sched *sched, uint64_t number)
{
    return number <= sched->done || ferry_vm_operation_at(sched, number)->state == FERRY_VM_OVER;
}

uint64_t ferry_vm_device_pending(const struct ferry_vm_device *device, uint64_t upto)
{
    return device->first_operation <= upto ? device->first_operation : 0;
}

uint64_t ferry_vm_allocation_pending(const struct ferry_vm_sched *sched, const struct ferry_vm_device *device,
                                     D3DKMT_HANDLE allocation)
{
    // Seldom any, however many others the device has.
    uint64_t number = ferry_vm_handle_counted(&sched->core->handles, allocation) != 0 ? device->first_operation : 0;
    while (number != 0 && ferry_vm_operation_at(sched, number)->allocation != allocation)
        number = ferry_vm_operation_at(sched, number)->among_next;
    return number;
}

uint64_t ferry_vm_subject_operation(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject)
{
    uint64_t number = sched->done + 1;
    while (number <= sched->queued &&
           (ferry_vm_operation_over(sched, number) || ferry_vm_operation_at(sched, number)->subject != subject))
        number++;
    return number <= sched->queued ? number : 0;
}

static void enter(struct ferry_vm_sched *sched, uint64_t *first)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, sched->queued);
    operation->among = first;
    if (*first == 0) {
        *first = sched->queued;
    } else {
        operation->among_previous = ferry_vm_operation_at(sched, *first)->among_previous;
        ferry_vm_operation_at(sched, operation->among_previous)->among_next = sched->queued;
    }
    ferry_vm_operation_at(sched, *first)->among_previous = sched->queued;
}

// Among those of its device, and counted by its allocation.
static void enter_device(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject)
{
    enter(sched, &subject->device->first_operation);
    ferry_vm_operation_at(sched, sched->queued)->counted = true;
    ferry_vm_handle_count(&sched->core->handles, subject->handle, 1);
}

void ferry_vm_operation_ends(struct ferry_vm_sched *sched, uint64_t number)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    operation->state = FERRY_VM_OVER;
    ferry_vm_index_leave(sched, number);
    if (operation->counted)
        ferry_vm_handle_count(&sched->core->handles, operation->allocation, -1);
    uint64_t next = operation->among_next, previous = operation->among_previous, *first = operation->among;
    if (!first)
        return;
    *(*first == number ? first : &ferry_vm_operation_at(sched, previous)->among_next) = next;
    if (*first != 0)
        ferry_vm_operation_at(sched, next != 0 ? next : *first)->among_previous = previous;
}

static void free_rings(struct ferry_vm_sched *sched)
{
    free(sched->operations);
    free(sched->built_order);
    free(sched->indexed);
    free(sched->seen);
    free(sched->awake);
}

void ferry_vm_line_free(struct ferry_vm_sched *sched)
{
    for (uint64_t number = sched->done + 1; number <= sched->queued; number++)
        if (!ferry_vm_operation_over(sched, number))
            ferry_vm_pages_free(sched->core, ferry_vm_operation_at(sched, number)->release);
    free_rings(sched);
    sched->operations = NULL;
    sched->indexed = NULL;
    memset(sched->trees, 0, sizeof(sched->trees));
    sched->built_order = sched->seen = sched->awake = NULL;
    sched->done = sched->queued;
}

int ferry_vm_reserve(struct ferry_vm_sched *sched, size_t more)
{
    size_t need = (size_t)(sched->queued - sched->done) + more;
    if (need <= sched->capacity) {
        sched->reserved = sched->queued + more;
        return FERRY_OK;
    }
    size_t capacity = sched->capacity ? sched->capacity : 64;
    while (capacity < need)
        capacity *= 2;
    struct ferry_vm_operation *ring = malloc(capacity * sizeof(*ring));
    uint64_t *order = malloc(capacity * sizeof(*order)), *seen = malloc(capacity * sizeof(*seen));
    uint64_t *awake = malloc(capacity * sizeof(*awake));
    struct ferry_vm_indexed *indexed = malloc(capacity * FERRY_VM_TREES * sizeof(*indexed));
    if (!ring || !order || !seen || !awake || !indexed) {
        free(ring);
        free(order);
        free(seen);
        free(indexed);
        free(awake);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    for (uint64_t number = sched->done + 1; number <= sched->queued; number++)
        ring[number % capacity] = *ferry_vm_operation_at(sched, number);
    for (uint64_t number = sched->done + 1; number <= sched->queued; number++)
        memcpy(&indexed[number % capacity * FERRY_VM_TREES],
               &sched->indexed[ferry_vm_ring_place(sched, number) * FERRY_VM_TREES], FERRY_VM_TREES * sizeof(*indexed));
    for (uint64_t at = sched->built_first; at < sched->built_end; at++)
        order[at % capacity] = *ferry_vm_built_at(sched, at);
    if (sched->awake_count > 0)
        memcpy(awake, sched->awake, sched->awake_count * sizeof(*awake));
    free_rings(sched);
    sched->operations = ring;
    sched->built_order = order;
    sched->indexed = indexed;
    sched->seen = seen;
    sched->awake = awake;
    sched->capacity = capacity;
    sched->reserved = sched->queued + more;
    return FERRY_OK;
}

// The ring may have room beyond what was reserved, by chance: so the reservation is what counts here, and whoever
// reserves too little is found at once, and not when a record is overwritten that still waits.
static struct ferry_vm_operation *next_record(struct ferry_vm_sched *sched)
{
    bool reserved = sched->queued < sched->reserved;
    assert(reserved);
    return ferry_vm_operation_at(sched, ++sched->queued);
}

#define ENTRY_BYTES      8 // of a table, as its pages are laid out: 512 in 4 KiB
#define ENTRIES_OF_64_KB 16

static struct ferry_vm_span span(UINT segment, LARGE_INTEGER address, uint64_t offset, uint64_t bytes)
{
    uint64_t first = (uint64_t)address.QuadPart + offset;
    return segment == 0 ? (struct ferry_vm_span){0} : (struct ferry_vm_span){segment, first, first + bytes};
}

// Which entries are written, and which addresses they are for.
static void entries(struct ferry_vm_operation *operation, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const LARGE_INTEGER table = {.QuadPart = (int64_t)update->PageTableAddress.GpuPhysical.SegmentOffset};
    uint64_t scale = update->Flags.Use64KBPages ? ENTRIES_OF_64_KB : 1, count = update->NumPageTableEntries * scale;
    operation->writes = span(FERRY_VM_TABLES, table, update->StartIndex * scale * ENTRY_BYTES, count * ENTRY_BYTES);
    operation->first_address = update->FirstPteVirtualAddress;
    operation->end_address = operation->first_address + (count * PAGE_SIZE << 9 * update->PageTableLevel);
}

static void spans(struct ferry_vm_operation *operation)
{
    const DXGKARG_BUILDPAGINGBUFFER *a = &operation->argument;
    const LARGE_INTEGER start = {0};
    switch (a->Operation) {
    case DXGK_OPERATION_TRANSFER:
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
        operation->reads = span(a->Transfer.Source.SegmentId, a->Transfer.Source.SegmentAddress,
                                a->Transfer.TransferOffset, a->Transfer.TransferSize);
        operation->writes = span(a->Transfer.Destination.SegmentId, a->Transfer.Destination.SegmentAddress,
                                 a->Transfer.TransferOffset, a->Transfer.TransferSize);
        break;
    case DXGK_OPERATION_FILL:
        operation->writes =
            span(a->Fill.Destination.SegmentId, a->Fill.Destination.SegmentAddress, 0, a->Fill.FillSize);
        break;
    case DXGK_OPERATION_DISCARD_CONTENT:
        operation->writes = span(a->DiscardContent.SegmentId, a->DiscardContent.SegmentAddress, 0, operation->bytes);
        break;
    // Places of an aperture are told by page numbers, whatever its base.
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        operation->writes =
            span(a->MapApertureSegment.SegmentId, start, a->MapApertureSegment.OffsetInPages * PAGE_SIZE,
                 a->MapApertureSegment.NumberOfPages * PAGE_SIZE);
        break;
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
        operation->writes =
            span(a->UnmapApertureSegment.SegmentId, start, a->UnmapApertureSegment.OffsetInPages * PAGE_SIZE,
                 a->UnmapApertureSegment.NumberOfPages * PAGE_SIZE);
        break;
    case DXGK_OPERATION_UPDATE_PAGE_TABLE: entries(operation, &a->UpdatePageTable); break;
    case DXGK_OPERATION_FLUSH_TLB:
        operation->first_address = a->FlushTlb.StartVirtualAddress;
        operation->end_address = a->FlushTlb.EndVirtualAddress != 0 ? a->FlushTlb.EndVirtualAddress : UINT64_MAX;
        break;
    // Of the physical accesses and of notices only the moment counts, not what they touch: their allocation orders
    // them.
    default: break;
    }
}

static void widen(struct ferry_vm_span *whole, const struct ferry_vm_span *piece)
{
    whole->first = piece->first < whole->first ? piece->first : whole->first;
    whole->end = piece->end > whole->end ? piece->end : whole->end;
}

// A piece that is not a transfer's first belongs to the one before it; the first speaks for the places of all.
static void join_transfer(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation)
{
    operation->first = operation->last = sched->queued;
    if (!ferry_vm_is_transfer(&operation->argument) || operation->argument.Transfer.Flags.TransferStart)
        return;
    operation->first = ferry_vm_operation_at(sched, sched->queued - 1)->first;
    struct ferry_vm_operation *first = ferry_vm_operation_at(sched, operation->first);
    first->last = sched->queued;
    ferry_vm_index_leave(sched, operation->first);
    widen(&first->reads, &operation->reads);
    widen(&first->writes, &operation->writes);
    ferry_vm_index_enter(sched, operation->first);
}

static void wait_for_subject(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation,
                             struct ferry_vm_subject *subject, bool paging)
{
    memcpy(operation->after, subject->last_fence, sizeof(operation->after));
    if (!paging)
        operation->after[sched->paging_node] = 0;
    operation->subject = subject;
    operation->device = subject->device;
    operation->allocation = subject->handle;
    operation->instance = subject->instance;
    operation->previous = subject->last_fence[sched->paging_node];
    subject->last_fence[sched->paging_node] = sched->queued;
}

// From a DISCARD_CONTENT on nobody wants what the transfers and fills before it have brought into video memory, back to
// the newest one that takes content out.
static void give_up(struct ferry_vm_sched *sched, uint64_t number)
{
    uint64_t at = ferry_vm_operation_at(sched, number)->previous;
    while (at != 0 && !ferry_vm_operation_over(sched, at)) {
        struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, at);
        bool transfer = !operation->nothing && ferry_vm_moves_content(&operation->argument);
        if ((transfer && operation->writes.segment == 0) || operation->given_up != 0)
            break;
        operation->given_up = number;
        at = operation->previous;
    }
}

// updated: it is of an update of addresses, of this allocation's.
static struct ferry_vm_operation *queue(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                                        struct ferry_vm_subject *subject, struct ferry_vm_subject *updated,
                                        uint64_t bytes, unsigned flags)
{
    struct ferry_vm_operation *operation = next_record(sched);
    *operation = (struct ferry_vm_operation){.event = ++sched->core->event, .bytes = bytes, .argument = *argument};
    operation->argument.MultipassOffset = 0;
    operation->argument.hSystemContext = sched->system_context;
    spans(operation);
    join_transfer(sched, operation);
    if (subject)
        wait_for_subject(sched, operation, subject, (flags & FERRY_VM_WHEN_IDLE) != 0);
    // A program that ends has no device any more.
    if (updated)
        enter(sched, &updated->first_update);
    else if (subject && subject->device)
        enter_device(sched, subject);
    if (subject && argument->Operation == DXGK_OPERATION_DISCARD_CONTENT)
        give_up(sched, sched->queued);
    return operation;
}

void ferry_vm_queue_operation(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                              struct ferry_vm_subject *subject, uint64_t bytes, unsigned flags)
{
    queue(sched, argument, subject, NULL, bytes, flags);
    ferry_vm_index_enter(sched, sched->queued);
}

void ferry_vm_queue_table_operation(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                                    struct ferry_vm_subject *subject, const struct ferry_vm_table_change *what)
{
    struct ferry_vm_operation *operation = queue(sched, argument, subject, what->updated, 0, 0);
    operation->entry = what->entry;
    operation->reads = what->reads;
    operation->late = what->late;
    operation->takes_away = what->takes_away;
    ferry_vm_index_enter(sched, sched->queued);
}

void ferry_vm_lead_to_pages(struct ferry_vm_sched *sched, const MDL *pages, uint64_t first)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, sched->queued);
    operation->pages = pages;
    operation->first_page = first;
}

void ferry_vm_queue_notice(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                           struct ferry_vm_subject *subject)
{
    queue(sched, argument, subject, NULL, 0, FERRY_VM_WHEN_IDLE);
    ferry_vm_index_enter(sched, sched->queued);
}

void ferry_vm_queue_steps(struct ferry_vm_sched *sched, const DXGKARG_BUILDPAGINGBUFFER *argument,
                          struct ferry_vm_subject *subject, const struct ferry_vm_stepwise *what)
{
    struct ferry_vm_operation *operation = queue(sched, argument, subject, NULL, what->bytes, what->flags);
    uint64_t *after = &operation->after[sched->paging_node];
    *after = what->after > *after ? what->after : *after;
    operation->reads = what->reads;
    operation->writes = what->writes;
    operation->steps = what->steps;
    operation->steps.wanted = true;
    ferry_vm_index_enter(sched, sched->queued);
}

uint64_t ferry_vm_release_later(struct ferry_vm_sched *sched, struct ferry_vm_subject *subject, MDL *mdl)
{
    if (!mdl)
        return 0;
    if (ferry_vm_operation_over(sched, subject->last_fence[sched->paging_node])) {
        ferry_vm_pages_free(sched->core, mdl);
        return 0;
    }
    struct ferry_vm_operation *operation = next_record(sched);
    *operation =
        (struct ferry_vm_operation){.nothing = true, .release = mdl, .first = sched->queued, .last = sched->queued};
    // Built behind the subject's operations, which are in the same buffer or an earlier one.
    wait_for_subject(sched, operation, subject, false);
    enter_device(sched, subject);
    ferry_vm_index_enter(sched, sched->queued);
    subject->device->leaving_bytes += mdl->PageCount * PAGE_SIZE;
    return sched->queued;
}

uint64_t ferry_vm_unmap_later(struct ferry_vm_sched *sched, MDL *mdl)
{
    struct ferry_vm_operation *operation = next_record(sched);
    *operation = (struct ferry_vm_operation){.nothing = true,
                                             .behind_all = true,
                                             .previous = sched->behind_all,
                                             .unmap = mdl,
                                             .first = sched->queued,
                                             .last = sched->queued};
    ferry_vm_index_enter(sched, sched->queued);
    return sched->behind_all = sched->queued;
}

bool ferry_vm_unmap_never(struct ferry_vm_sched *sched, uint64_t number)
{
    if (ferry_vm_operation_over(sched, number))
        return false;
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    operation->unmap = NULL;
    operation->behind_all = false;
    return true;
}

MDL *ferry_vm_take_release(struct ferry_vm_operation *operation)
{
    MDL *mdl = operation->release;
    if (mdl && operation->device)
        operation->device->leaving_bytes -= mdl->PageCount * PAGE_SIZE;
    operation->release = NULL;
    return mdl;
}

bool ferry_vm_release_waits(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject, uint64_t number)
{
    if (number == 0 || ferry_vm_operation_over(sched, number))
        return false;
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    return operation->subject == subject && operation->release;
}

MDL *ferry_vm_release_back(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject, uint64_t number)
{
    return ferry_vm_release_waits(sched, subject, number) ? ferry_vm_take_release(ferry_vm_operation_at(sched, number))
                                                          : NULL;
}

void ferry_vm_owner_gone(struct ferry_vm_sched *sched, uint64_t *first)
{
    while (*first != 0) {
        struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, *first);
        *first = operation->among_next;
        operation->among = NULL;
        operation->device = NULL;
    }
}
