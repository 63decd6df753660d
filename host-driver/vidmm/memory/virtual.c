// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses of a program: its address space, and what of its allocations is mapped there. What the device
// is told of it is in virtual_entries.c, what an allocation knows of its mappings in mappings.c.
#include <stdlib.h>

#include "vidmm/base/least.h"
#include "vidmm/memory/virtual_entries.h"
#include "vidmm/sched/awaited.h"

int ferry_vm_virtual_new(struct ferry_vm_memory *memory, struct ferry_vm_process *process)
{
    const DRIVER_INITIALIZATION_DATA *miniport = memory->core->miniport;
    if (!ferry_vm_has_addresses(memory))
        return FERRY_OK;
    struct ferry_vm_virtual *space = calloc(1, sizeof(*space));
    if (!space)
        return FERRY_ERROR_NO_HOST_MEMORY;
    DXGKARG_CREATEPROCESS argument = {.hDxgkProcess = (HANDLE)(uintptr_t)process->handle};
    NTSTATUS status = miniport->DxgkDdiCreateProcess(memory->core->adapter, &argument);
    if (!NT_SUCCESS(status)) {
        free(space);
        // The device has so many spaces and no more.
        return status == STATUS_INSUFFICIENT_RESOURCES ? FERRY_ERROR_NO_VIDEO_MEMORY : ferry_vm_error_of_status(status);
    }
    space->miniport = argument.hKmdProcess;
    ferry_vm_address_space_init(&space->addresses, &memory->tables);
    process->space = space;
    return FERRY_OK;
}

void ferry_vm_virtual_end(struct ferry_vm_memory *memory, struct ferry_vm_process *process)
{
    struct ferry_vm_virtual *space = process->space;
    if (!space)
        return;
    ferry_vm_address_space_end(&space->addresses);
    ferry_vm_awaited_free(&space->taken);
    ferry_vm_awaited_free(&space->zeros_shown);
    memory->core->miniport->DxgkDdiDestroyProcess(memory->core->adapter, space->miniport);
    free(space);
    process->space = NULL;
}

void ferry_vm_virtual_release_all(struct ferry_vm_memory *memory, struct ferry_vm_process *process)
{
    if (!process->space)
        return;
    struct ferry_vm_address_space *addresses = &process->space->addresses;
    const struct ferry_vm_range *zeros;
    // Those that the host has no memory for stay reserved, as zeros, until this is asked again.
    while ((zeros = ferry_vm_address_zeros(addresses, 0)) &&
           ferry_vm_reserve(memory->sched, FERRY_VM_ZEROS_MOST) == FERRY_OK)
        ferry_vm_virtual_free_zeros(memory, process->space, zeros->first, zeros->first + zeros->pages);
    ferry_vm_address_release_all(addresses);
    ferry_vm_address_space_unshare(addresses);
}

// The device goes on taking the root that a space had for its root, and the next program that gets the space may have
// jobs before it has a table. So the root must not become another one's table before the space leads elsewhere: into
// the root of the first program that has gone, which nobody else gets.
int ferry_vm_virtual_leave(struct ferry_vm_memory *memory, struct ferry_vm_process *process, uint64_t *number)
{
    struct ferry_vm_virtual *space = process->space;
    struct ferry_vm_sched *sched = memory->sched;
    if (!space)
        return FERRY_OK;
    if (space->left != 0 && ferry_vm_operation_over(sched, space->leaving)) {
        ferry_vm_table_pool_give(&memory->tables, space->left - 1);
        space->left = 0;
    }
    *number = space->leaving;
    if (space->left != 0)
        return FERRY_PENDING;
    const struct ferry_vm_range *zeros;
    while ((zeros = ferry_vm_address_zeros(&space->addresses, 0))) {
        if (ferry_vm_reserve(sched, FERRY_VM_ZEROS_MOST) != FERRY_OK) {
            *number = sched->done + 1;
            return sched->done != sched->queued ? FERRY_PENDING : FERRY_ERROR_NO_HOST_MEMORY;
        }
        ferry_vm_virtual_free_zeros(memory, space, zeros->first, zeros->first + zeros->pages);
    }
    // What updates have queued for what is gone already.
    if ((*number = ferry_vm_subject_operation(sched, &space->subject)) != 0)
        return FERRY_PENDING;
    if (!space->addresses.root)
        return FERRY_OK;
    if (memory->nowhere == 0) {
        memory->nowhere = ferry_vm_address_take_root(&space->addresses) + 1;
        return FERRY_OK;
    }
    *number = sched->done + 1;
    if (ferry_vm_reserve(sched, 1) != FERRY_OK)
        return sched->done != sched->queued ? FERRY_PENDING : FERRY_ERROR_NO_HOST_MEMORY;
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_FLUSH_TLB};
    argument.FlushTlb.RootPageTableAddress = ferry_vm_table_place(memory, memory->nowhere - 1);
    argument.FlushTlb.hProcess = space->miniport;
    // Nothing of it is queued any more, and so it waits for nothing. But a program whose end gives TIMEOUT may go on,
    // and the root that it has then comes behind it.
    space->subject = (struct ferry_vm_subject){0};
    ferry_vm_queue_table_operation(sched, &argument, &space->subject, &(struct ferry_vm_table_change){0});
    *number = space->leaving = sched->queued;
    space->left = ferry_vm_address_take_root(&space->addresses) + 1;
    return FERRY_PENDING;
}

void ferry_vm_virtual_share(struct ferry_vm_process *process)
{
    if (process->space)
        ferry_vm_address_space_share(&process->space->addresses);
}

HANDLE ferry_vm_virtual_handle(const struct ferry_vm_process *process)
{
    return process->space ? process->space->miniport : NULL;
}

// ---- Mapping ----

// A packet names tiles at an address by where one of them begins, so the addresses that all of it has are aligned as it
// is itself, or it has none.
static void align_own(const struct ferry_vm_allocation *allocation, struct ferry_vm_where *where)
{
    if (!allocation->swizzled)
        return;
    where->smallest = UINT64_C(1) << allocation->alignment_log2;
    where->alignment = ferry_vm_most(where->alignment, where->smallest);
}

static size_t unmap_most(const struct ferry_vm_address_space *space, const struct ferry_vm_view *view)
{
    // At any place nothing is reserved, and there are no zeros.
    uint64_t first = view->where.base == UINT64_MAX ? FERRY_VM_VA_PAGES : view->where.base;
    return ferry_vm_virtual_range_most(space, first, view->pages) + ferry_vm_virtual_tables_most(view->pages);
}

static int map(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, const struct ferry_vm_view *view,
               uint64_t *first, uint64_t *table_bytes)
{
    struct ferry_vm_range *range;
    // An empty line, which never gets shorter, is then long enough for the end of all that leads to it.
    struct ferry_vm_address_space *space = &ferry_vm_virtual_of(allocation)->addresses;
    size_t most = ferry_vm_virtual_take_away_most(allocation) + unmap_most(space, view);
    int result = ferry_vm_reserve(memory->sched, most);
    if (result == FERRY_OK)
        result = view->each_instance
                     ? ferry_vm_address_map_whole(space, &view->where, view->pages, allocation, &range, table_bytes)
                     : ferry_vm_address_map(space, &view->where, view->pages, allocation, view->offset, view->read_only,
                                            &range, table_bytes);
    if (result != FERRY_OK)
        return result;
    ferry_vm_virtual_link(allocation, range);
    ferry_vm_virtual_begin_tables(memory, ferry_vm_virtual_of(allocation), allocation);
    if (allocation->block) {
        ferry_vm_virtual_show_range(memory, allocation, range, allocation->block->first);
        allocation->shown = memory->sched->queued;
    }
    *first = range->first;
    return FERRY_OK;
}

int ferry_vm_virtual_may_map(const struct ferry_vm_allocation *allocation)
{
    if (!ferry_vm_virtual_of(allocation))
        return FERRY_ERROR_UNSUPPORTED;
    return ferry_vm_instance_count(allocation) > 1 ? FERRY_ERROR_BUSY : FERRY_OK;
}

int ferry_vm_virtual_may_map_view(const struct ferry_vm_allocation *allocation, const struct ferry_vm_view *view)
{
    int result = ferry_vm_virtual_may_map(allocation);
    bool within = view->offset <= allocation->use.pages && view->pages <= allocation->use.pages - view->offset;
    return result != FERRY_OK || within ? result : FERRY_ERROR_RANGE;
}

static bool is_reserved(const struct ferry_vm_allocation *allocation, uint64_t page)
{
    const struct ferry_vm_range *range = ferry_vm_address_find(&ferry_vm_virtual_of(allocation)->addresses, page);
    return range && range->first <= page && ferry_vm_range_more(range)->reservation != 0;
}

int ferry_vm_virtual_map(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                         const struct ferry_vm_view *view, uint64_t *first, uint64_t *table_bytes)
{
    *table_bytes = 0;
    int result = ferry_vm_virtual_may_map_view(allocation, view);
    if (result != FERRY_OK)
        return result;
    if (view->each_instance && (view->pages != allocation->use.pages || view->read_only ||
                                ferry_vm_virtual_own(allocation) || is_reserved(allocation, view->where.base)))
        return FERRY_ERROR_ARGUMENT;
    struct ferry_vm_view wanted = *view;
    if (view->each_instance)
        align_own(allocation, &wanted.where);
    return map(memory, allocation, &wanted, first, table_bytes);
}

int ferry_vm_virtual_map_instance(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                                  struct ferry_vm_allocation *instance)
{
    const struct ferry_vm_range *own = ferry_vm_virtual_own(allocation);
    uint64_t first, table_bytes;
    if (!own)
        return FERRY_OK;
    // Behind the other, so among the addresses that whoever mapped that one has chosen.
    struct ferry_vm_view view = {
        .where = {.base = UINT64_MAX, .least = own->first, .alignment = ferry_vm_address_alignment(own->pages)},
        .pages = own->pages,
        .each_instance = true};
    align_own(instance, &view.where);
    return map(memory, instance, &view, &first, &table_bytes);
}

static void unmap(struct ferry_vm_memory *memory, struct ferry_vm_range *range)
{
    struct ferry_vm_allocation *allocation = range->owner;
    uint64_t first = range->first, pages = range->pages;
    if (allocation->block)
        ferry_vm_virtual_hide_range(memory, allocation, range);
    ferry_vm_virtual_unlink(allocation, range);
    ferry_vm_address_unmap(&ferry_vm_virtual_of(allocation)->addresses, range);
    ferry_vm_virtual_end_tables(memory, ferry_vm_virtual_of(allocation), allocation, first, pages);
}

// However many small ones there are, no more tables than all there are end with them.
static size_t at_most_all(size_t tables, const struct ferry_vm_address_space *space)
{
    size_t all = 2 * (size_t)space->pool->pages;
    return tables < all ? tables : all;
}

static struct ferry_vm_range *next_within(const struct ferry_vm_virtual *space, uint64_t at, uint64_t end)
{
    struct ferry_vm_range *range = ferry_vm_address_find(&space->addresses, at);
    return range && range->first < end ? range : NULL;
}

int ferry_vm_virtual_unmap_within(struct ferry_vm_memory *memory, const struct ferry_vm_virtual *space, uint64_t first,
                                  uint64_t end, size_t more)
{
    size_t most = 0, tables = 0;
    struct ferry_vm_range *range;
    for (uint64_t at = first; (range = next_within(space, at, end)); at = range->first + range->pages) {
        most += range->owner ? ferry_vm_virtual_range_most(&space->addresses, range->first, range->pages) : 0;
        tables += range->owner ? ferry_vm_virtual_tables_most(range->pages) : 0;
    }
    // For all of them before the first one goes.
    int result = ferry_vm_reserve(memory->sched, most + at_most_all(tables, &space->addresses) + more);
    for (uint64_t at = first; result == FERRY_OK && (range = next_within(space, at, end));) {
        at = range->first + range->pages;
        if (range->owner)
            unmap(memory, range);
    }
    return result;
}

int ferry_vm_virtual_unmap_all(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    int result = ferry_vm_reserve(memory->sched, ferry_vm_virtual_take_away_most(allocation));
    while (allocation->mappings && result == FERRY_OK)
        unmap(memory, allocation->mappings);
    return result;
}

size_t ferry_vm_virtual_take_away_most(const struct ferry_vm_allocation *instance)
{
    if (!instance->mappings)
        return 0;
    struct ferry_vm_owned all = ferry_vm_virtual_all(instance);
    return all.most + at_most_all(all.tables_most, &ferry_vm_virtual_of(instance)->addresses);
}

// Whoever reserved zeros has taken room for one number, which is free again when nothing is queued.
int ferry_vm_virtual_take_away_room(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *instance)
{
    struct ferry_vm_virtual *space = ferry_vm_virtual_of(instance);
    return space && space->addresses.zeros ? ferry_vm_awaited_reserve(memory->sched, &space->zeros_shown, 1) : FERRY_OK;
}

static bool is_among_zeros(const struct ferry_vm_allocation *instance)
{
    for (const struct ferry_vm_range *range = instance->mappings; range; range = range->of_owner) {
        const struct ferry_vm_address_space *space = &ferry_vm_virtual_of(instance)->addresses;
        const struct ferry_vm_range *zeros = ferry_vm_address_zeros(space, range->first);
        if (zeros && zeros->first < range->first + range->pages)
            return true;
    }
    return false;
}

void ferry_vm_virtual_take_away(struct ferry_vm_memory *memory, struct ferry_vm_allocation *instance)
{
    bool leaves_zeros = is_among_zeros(instance);
    uint64_t before = memory->sched->queued;
    // What waits with an update does not any more, now that nothing can fail.
    ferry_vm_leave_early(memory->sched, &instance->subject);
    while (instance->mappings) {
        uint64_t first = instance->mappings->first;
        unmap(memory, instance->mappings);
        // What it was mapped into is as it was, and not in pieces for good.
        ferry_vm_address_join(&ferry_vm_virtual_of(instance)->addresses, first);
    }
    // All of these keep their order, and nobody names them.
    if (leaves_zeros && memory->sched->queued != before)
        ferry_vm_awaited_add(&ferry_vm_virtual_of(instance)->zeros_shown, memory->sched->queued);
}

void ferry_vm_virtual_drop(struct ferry_vm_allocation *allocation)
{
    while (allocation->mappings) {
        struct ferry_vm_range *range = allocation->mappings;
        ferry_vm_virtual_unlink(allocation, range);
        ferry_vm_address_unmap(&ferry_vm_virtual_of(allocation)->addresses, range);
    }
}
