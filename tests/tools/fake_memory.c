// SPDX-License-Identifier: Apache-2.0
// The double's video memory: allocations, their way in and out, locks.
#include "fake_ferry.h"

#include <stdlib.h>
#include <string.h>

static void page(struct ferry_allocation *allocation, bool in, bool copy)
{
    struct ferry_adapter *adapter = allocation->device->adapter;
    struct ferry_statistics *statistics = &adapter->statistics;
    uint8_t *local = adapter->memory + allocation->offset;
    uint64_t id = ++adapter->call;
    struct ferry_event event = {.kind = FERRY_EVENT_PAGING_BEGIN,
                                .track = FERRY_TRACK_PAGING,
                                .id = id,
                                .name = !copy ? "DISCARD_CONTENT"
                                        : in  ? "TRANSFER in"
                                              : "TRANSFER out",
                                .allocation = allocation->id,
                                .bytes = allocation->pages};
    fake_emit(adapter, event);
    if (copy) {
        memcpy(in ? local : allocation->system, in ? allocation->system : local, allocation->pages);
        if (adapter->flip.number != 0 && adapter->flip.out != in && --adapter->flip.number == 0) {
            (in ? local : allocation->system)[adapter->flip.offset % allocation->bytes] ^= 1;
            adapter->flipped = true;
        }
        if (fake_goes_wrong(adapter, in ? "page-in" : "page-out"))
            (in ? local : allocation->system)[allocation->bytes / 2] ^= 0x10;
        event = (struct ferry_event){.kind = FERRY_EVENT_SPAN,
                                     .bytes = allocation->pages / 8,
                                     .track = in ? FERRY_TRACK_READ_CHANNEL : FERRY_TRACK_WRITE_CHANNEL,
                                     .name = "burst"};
        fake_emit(adapter, event);
        fake_emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_READS_OUTSTANDING, .value = in ? 32 : 0});
        statistics->cycles += allocation->pages / 8 + 90;
    }
    statistics->operations[copy ? 0 : 2]++;
    *(!copy ? &statistics->bytes_discarded : in ? &statistics->bytes_in : &statistics->bytes_out) += allocation->pages;
    struct ferry_process_usage *own =
        allocation->device->process ? &allocation->device->process->statistics : &(struct ferry_process_usage){0};
    *(!copy ? &own->bytes_discarded : in ? &own->bytes_in : &own->bytes_out) += allocation->pages;
    statistics->firmware_packets += 2;
    statistics->firmware_busy_cycles += 190;
    fake_emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_PAGING_END, .track = FERRY_TRACK_PAGING, .id = id});
}

static void leave(struct ferry_allocation *allocation)
{
    struct ferry_adapter *adapter = allocation->device->adapter;
    if (!allocation->resident || allocation->aperture)
        return;
    page(allocation, false, allocation->dirty);
    allocation->dirty = allocation->resident = false;
    *(allocation->previous ? &allocation->previous->next : &adapter->local) = allocation->next;
    if (allocation->next)
        allocation->next->previous = allocation->previous;
    adapter->statistics.evictions++;
    adapter->statistics.resident_bytes -= allocation->pages;
    uint64_t process = 0;
    if (allocation->device->process) {
        process = allocation->device->process->id;
        allocation->device->process->statistics.evictions++;
        allocation->device->process->in_place -= allocation->pages;
    }
    fake_emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_REMOVED,
                                            .allocation = allocation->id,
                                            .process = process,
                                            .segment = 1,
                                            .offset = allocation->offset,
                                            .bytes = allocation->pages});
    fake_emit(adapter,
              (struct ferry_event){.kind = FERRY_EVENT_RESIDENT_BYTES, .value = adapter->statistics.resident_bytes});
}

static bool find_room(struct ferry_adapter *adapter, uint64_t bytes, struct ferry_allocation **before, uint64_t *offset)
{
    uint64_t at = 0;
    struct ferry_allocation *previous = NULL;
    for (struct ferry_allocation *next = adapter->local;; previous = next, next = next->next) {
        if ((next ? next->offset : adapter->video_bytes) - at >= bytes) {
            *before = previous;
            *offset = at;
            return true;
        }
        if (!next)
            return false;
        at = next->offset + next->pages;
    }
}

static int enter(struct ferry_allocation *allocation)
{
    struct ferry_adapter *adapter = allocation->device->adapter;
    struct ferry_allocation *before;
    uint64_t offset;
    while (!find_room(adapter, allocation->pages, &before, &offset)) {
        struct ferry_allocation *victim = NULL;
        for (struct ferry_allocation *at = adapter->local; at; at = at->next) {
            if (at->count == 0 && (!victim || at->used < victim->used))
                victim = at;
        }
        if (!victim)
            return FERRY_ERROR_NO_VIDEO_MEMORY;
        leave(victim);
    }
    allocation->offset = offset;
    allocation->previous = before;
    allocation->next = before ? before->next : adapter->local;
    *(before ? &before->next : &adapter->local) = allocation;
    if (allocation->next)
        allocation->next->previous = allocation;
    allocation->resident = true;
    adapter->statistics.resident_bytes += allocation->pages;
    uint64_t process = 0;
    if (allocation->device->process) {
        process = allocation->device->process->id;
        allocation->device->process->in_place += allocation->pages;
    }
    fake_emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_PLACED,
                                            .allocation = allocation->id,
                                            .process = process,
                                            .segment = 1,
                                            .offset = offset,
                                            .bytes = allocation->pages});
    fake_emit(adapter,
              (struct ferry_event){.kind = FERRY_EVENT_RESIDENT_BYTES, .value = adapter->statistics.resident_bytes});
    page(allocation, true, true);
    return FERRY_OK;
}

// ---- Allocations --------------------------------------------------------------------------------------------------

int ferry_allocation_create(struct ferry_device *device, const struct ferry_allocation_options *options,
                            struct ferry_allocation **allocation)
{
    struct ferry_adapter *adapter = device->adapter;
    if (options->bytes == 0)
        return FERRY_ERROR_ARGUMENT;
    uint64_t pages = (options->bytes + 4095) / 4096 * 4096;
    if (fake_goes_wrong(adapter, "create") || pages > 1ull << 32)
        return FERRY_ERROR_NO_HOST_MEMORY;
    struct ferry_allocation *made = calloc(1, sizeof *made);
    made->device = device;
    made->bytes = options->bytes;
    made->pages = pages;
    made->flags = options->flags;
    made->aperture = options->in_aperture;
    made->id = 1000 + ++adapter->next_id * 7;
    made->system = malloc(pages);
    for (uint64_t i = 0; i < pages; i += 4)
        memcpy(made->system + i, &options->fill_pattern, 4);
    made->all_next = adapter->all;
    made->all_link = &adapter->all;
    if (adapter->all)
        adapter->all->all_link = &made->all_next;
    adapter->all = made;
    *allocation = made;
    return fake_end_call(adapter, fake_begin_call(adapter, "CreateAllocation", made->id), FERRY_OK);
}

int ferry_allocation_destroy(struct ferry_allocation *allocation)
{
    if (allocation->locked)
        return FERRY_ERROR_LOCKED;
    leave(allocation);
    *allocation->all_link = allocation->all_next;
    if (allocation->all_next)
        allocation->all_next->all_link = allocation->all_link;
    free(allocation->system);
    free(allocation);
    return FERRY_OK;
}

uint64_t ferry_allocation_id(const struct ferry_allocation *allocation)
{
    return allocation ? allocation->id : 0;
}

int ferry_allocation_placement(struct ferry_allocation *allocation, struct ferry_placement *placement)
{
    placement->resident = allocation->resident;
    placement->offset = allocation->offset;
    return FERRY_OK;
}

int ferry_make_resident(struct ferry_device *device, struct ferry_residency *arguments)
{
    struct ferry_adapter *adapter = device->adapter;
    uint64_t call = fake_begin_call(adapter, "MakeResident", ferry_allocation_id(arguments->allocations[0]));
    uint64_t need = 0;
    for (size_t i = 0; i < arguments->count; i++) {
        arguments->allocations[i]->used = ++adapter->clock;
        need += arguments->allocations[i]->aperture ? 0 : arguments->allocations[i]->pages;
    }
    if (need > adapter->video_bytes || fake_goes_wrong(adapter, "place"))
        return fake_end_call(adapter, call, FERRY_ERROR_NO_VIDEO_MEMORY);
    int result = FERRY_OK;
    fake_emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_FENCE_WAIT, .value = adapter->fence + 1});
    for (size_t i = 0; i < arguments->count; i++) {
        arguments->allocations[i]->count++;
        if (device->process && !arguments->allocations[i]->aperture)
            device->process->usage += arguments->allocations[i]->pages;
    }
    for (size_t i = 0; i < arguments->count && result >= 0; i++) {
        struct ferry_allocation *allocation = arguments->allocations[i];
        if (allocation->aperture || allocation->resident)
            continue;
        int entered = enter(allocation);
        // Nothing moves in the double: where room is in pieces, start from an empty segment.
        if (entered == FERRY_ERROR_NO_VIDEO_MEMORY) {
            while (adapter->local)
                leave(adapter->local);
            for (i = 0; i < arguments->count && entered != FERRY_OK; i++)
                entered = FERRY_OK;
            for (i = 0; i < arguments->count && entered == FERRY_OK; i++) {
                if (!arguments->allocations[i]->aperture)
                    entered = enter(arguments->allocations[i]);
            }
        }
        result = entered < 0 ? entered : FERRY_PENDING;
    }
    arguments->paging_fence_value = ++adapter->fence;
    fake_emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_FENCE_SIGNAL, .value = adapter->fence});
    return fake_end_call(adapter, call, result);
}

int ferry_make_resident_trim(struct ferry_device *device, struct ferry_residency *arguments)
{
    return ferry_make_resident(device, arguments);
}

int ferry_evict(struct ferry_device *device, struct ferry_residency *arguments)
{
    if (fake_goes_wrong(device->adapter, "evict"))
        return FERRY_ERROR_NOT_RESIDENT;
    for (size_t i = 0; i < arguments->count; i++) {
        arguments->allocations[i]->count--;
        if (device->process && !arguments->allocations[i]->aperture)
            device->process->usage -= arguments->allocations[i]->pages;
    }
    return FERRY_OK;
}

int ferry_lock(struct ferry_allocation *allocation, uint32_t flags, void **address)
{
    struct ferry_adapter *adapter = allocation->device->adapter;
    if (allocation->locked || fake_goes_wrong(adapter, "lock"))
        return FERRY_ERROR_LOCKED;
    uint64_t call = fake_begin_call(adapter, "Lock", allocation->id);
    if (!(flags & FERRY_LOCK_READ_ONLY) || allocation->dirty) {
        if (flags & FERRY_LOCK_DISCARD)
            allocation->dirty = false;
        leave(allocation);
    }
    if (flags & FERRY_LOCK_DISCARD)
        memset(allocation->system, 0xdd, allocation->pages);
    allocation->locked = true;
    *address = allocation->system;
    return fake_end_call(adapter, call, FERRY_OK);
}

int ferry_unlock(struct ferry_allocation *allocation)
{
    if (!allocation->locked)
        return FERRY_ERROR_NOT_LOCKED;
    allocation->locked = false;
    return FERRY_OK;
}
