// SPDX-License-Identifier: Apache-2.0
// Allocations and their CPU access.
#include "umd/allocation.h"

#include <stdlib.h>

#include "ddi/flag_rules.h"
#include "umd/call.h"
#include "umd/events.h"
#include "umd/own_address.h"
#include "umd/residency.h"
#include "umd/tiling.h"

int ferry_allocation_create(struct ferry_device *device_handle, const struct ferry_allocation_options *options,
                            struct ferry_allocation **handle)
{
    struct umd_call call;

    if (!handle || !options || options->size != sizeof *options || !options->bytes ||
        options->bytes > FERRY_VIDMM_MAX_ALLOCATION_BYTES ||
        (options->tiling && options->bytes != ferry_tiling_bytes(options->tiling)) ||
        (options->alignment & (options->alignment - 1)))
        return FERRY_ERROR_ARGUMENT;
    *handle = NULL;
    struct umd_device *device = umd_enter(&call, UMD_DEVICE, device_handle, "create allocation");
    if (!device)
        return umd_not_entered();
    struct umd_allocation *allocation =
        calloc(1, sizeof *allocation + (options->tiling ? sizeof allocation->tiles[0] : 0));
    if (!allocation)
        return umd_leave(&call, FERRY_ERROR_NO_HOST_MEMORY);
    struct umd_adapter *adapter = device->adapter;
    struct ferry_allocation_private wish = {
        .Version = FERRY_ALLOCATION_PRIVATE_VERSION,
        .Size = sizeof wish,
        .Bytes = options->bytes,
        .Flags = options->flags | (options->existing ? DXGK_ALLOC_FLAG_EXISTING_SYSMEM : 0),
        .Flags2 = options->flags2 | (options->compressed ? DXGK_ALLOC_FLAG2_NOTIFY_EVICTION : 0) |
                  (adapter->iommu && options->in_aperture ? DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP : 0),
        .Compressed = options->compressed,
        .Alignment = options->alignment,
        .Aperture = options->in_aperture,
        .RenamingLimit = options->renaming_limit,
        .Tiling = umd_tiling(options->tiling),
    };
    struct ferry_vidmm_allocation_options vidmm = {
        .size = sizeof vidmm,
        .private_data = &wish,
        .private_data_bytes = sizeof wish,
        .primary = options->primary,
        .existing = options->existing,
        .existing_bytes = options->existing ? options->bytes : 0,
        .fill_pattern = options->fill_pattern,
    };
    int error = ferry_vidmm_create_allocation(adapter->vidmm, device->vidmm, &vidmm, &allocation->vidmm, NULL);
    bool made = error == FERRY_OK;
    allocation->device = device;
    allocation->bytes = options->bytes;
    if (made)
        error = umd_own_address_give(allocation);
    if (error == FERRY_OK) {
        allocation->handle = umd_handle_make(UMD_ALLOCATION, allocation, adapter);
        error = allocation->handle ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
    }
    if (error != FERRY_OK) {
        if (made)
            ferry_vidmm_destroy_allocation(adapter->vidmm, allocation->vidmm);
        free(allocation);
        return umd_leave(&call, error);
    }
    allocation->tiled = options->tiling != NULL;
    if (allocation->tiled)
        allocation->tiles->told = wish.Tiling;
    allocation->in_aperture = options->in_aperture;
    allocation->next = device->allocations;
    if (allocation->next)
        allocation->next->previous = allocation;
    device->allocations = allocation;
    *handle = allocation->handle;
    return umd_leave(&call, FERRY_OK);
}

const char *ferry_flag_unsupported(uint32_t flags, uint32_t flags2)
{
    return ferry_flags_unsupported(flags, flags2);
}

void umd_allocation_end(struct umd_allocation *allocation)
{
    if (allocation->count)
        umd_unlist(allocation);
    if (allocation->next)
        allocation->next->previous = allocation->previous;
    if (allocation->previous)
        allocation->previous->next = allocation->next;
    else
        allocation->device->allocations = allocation->next;
    umd_handle_end(allocation->handle);
    free(allocation);
}

int ferry_allocation_destroy(struct ferry_allocation *handle)
{
    struct umd_call call;
    struct umd_allocation *allocation = umd_enter(&call, UMD_ALLOCATION, handle, "destroy allocation");

    if (!allocation)
        return umd_not_entered();
    D3DKMT_HANDLE vidmm = allocation->vidmm;
    umd_park(&call);
    int error = ferry_vidmm_destroy_allocation(call.adapter->vidmm, vidmm);
    umd_return(&call);
    allocation = umd_object(call.adapter, UMD_ALLOCATION, handle);
    if (umd_is_gone(error) && allocation)
        umd_allocation_end(allocation);
    return umd_leave(&call, error);
}

uint64_t ferry_allocation_id(const struct ferry_allocation *handle)
{
    struct umd_call call;
    const struct umd_allocation *allocation = umd_enter(&call, UMD_ALLOCATION, handle, NULL);

    if (!allocation)
        return 0;
    uint64_t id = allocation->vidmm;
    umd_leave(&call, FERRY_OK);
    return id;
}

int ferry_allocation_placement(struct ferry_allocation *handle, struct ferry_placement *placement)
{
    struct umd_call call;
    struct ferry_vidmm_placement vidmm;

    if (!placement || placement->size != sizeof *placement)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_allocation *allocation = umd_enter(&call, UMD_ALLOCATION, handle, NULL);
    if (!allocation)
        return umd_not_entered();
    int error = ferry_vidmm_placement(call.adapter->vidmm, allocation->vidmm, &vidmm);
    if (error == FERRY_OK) {
        *placement = (struct ferry_placement){
            .size = sizeof *placement,
            .resident = vidmm.segment != 0,
            .segment = umd_segment_number(vidmm.segment),
            .offset = vidmm.offset,
            .dirty = vidmm.dirty,
            .residency_count = vidmm.residency_count,
            .instances = vidmm.instances,
        };
    }
    return umd_leave(&call, error);
}

// A lock with DISCARD may have taken another instance, whose address it is from now on. Jobs that were recorded before
// learn of it when they are submitted.
static void follow(struct umd_adapter *adapter, struct umd_allocation *allocation)
{
    uint64_t address = 0;

    if (allocation && allocation->address &&
        ferry_vidmm_own_address(adapter->vidmm, allocation->vidmm, &address) == FERRY_OK && address)
        allocation->address = address;
}

int ferry_lock(struct ferry_allocation *handle, uint32_t flags, void **address)
{
    const uint32_t known = FERRY_LOCK_READ_ONLY | FERRY_LOCK_WRITE_ONLY | FERRY_LOCK_DO_NOT_WAIT | FERRY_LOCK_DISCARD;
    const uint32_t both = FERRY_LOCK_READ_ONLY | FERRY_LOCK_WRITE_ONLY;
    struct umd_call call;

    if (!address || (flags & ~known) || (flags & both) == both)
        return FERRY_ERROR_ARGUMENT;
    *address = NULL;
    // The public flags have the values of the contract's.
    _Static_assert(FERRY_LOCK_READ_ONLY == D3DDDI_LOCK_READ_ONLY && FERRY_LOCK_WRITE_ONLY == D3DDDI_LOCK_WRITE_ONLY &&
                       FERRY_LOCK_DO_NOT_WAIT == D3DDDI_LOCK_DO_NOT_WAIT && FERRY_LOCK_DISCARD == D3DDDI_LOCK_DISCARD,
                   "lock flags");
    const struct umd_allocation *allocation = umd_enter(&call, UMD_ALLOCATION, handle, "lock");
    if (!allocation)
        return umd_not_entered();
    D3DKMT_HANDLE vidmm = allocation->vidmm, device = allocation->device->vidmm;
    umd_park(&call);
    int error = ferry_vidmm_lock_from(call.adapter->vidmm, device, vidmm, flags, address);
    umd_return(&call);
    if (error == FERRY_OK && (flags & FERRY_LOCK_DISCARD))
        follow(call.adapter, umd_object(call.adapter, UMD_ALLOCATION, handle));
    return umd_leave(&call, error);
}

int ferry_unlock(struct ferry_allocation *handle)
{
    struct umd_call call;
    const struct umd_allocation *allocation = umd_enter(&call, UMD_ALLOCATION, handle, "unlock");

    if (!allocation)
        return umd_not_entered();
    return umd_leave(&call, ferry_vidmm_unlock(call.adapter->vidmm, allocation->vidmm));
}

// ---- Views ----

int ferry_view_lock(struct ferry_allocation *handle, uint32_t level, uint32_t flags)
{
    const uint32_t known =
        FERRY_LOCK_READ_ONLY | FERRY_LOCK_WRITE_ONLY | FERRY_LOCK_DO_NOT_WAIT | FERRY_LOCK_DO_NOT_EVICT;
    const uint32_t both = FERRY_LOCK_READ_ONLY | FERRY_LOCK_WRITE_ONLY;
    struct umd_call call;

    _Static_assert(FERRY_LOCK_DO_NOT_EVICT == D3DDDI_LOCK_DO_NOT_EVICT, "lock flags");
    if ((flags & ~known) || (flags & both) == both)
        return FERRY_ERROR_ARGUMENT;
    struct umd_allocation *allocation = umd_enter(&call, UMD_ALLOCATION, handle, "lock view");
    if (!allocation)
        return umd_not_entered();
    if (!allocation->tiled)
        return umd_leave(&call, FERRY_ERROR_UNSUPPORTED);
    if (level >= allocation->tiles->told.Levels)
        return umd_leave(&call, FERRY_ERROR_ARGUMENT);
    D3DKMT_HANDLE vidmm = allocation->vidmm, device = allocation->device->vidmm;
    umd_park(&call);
    int error = ferry_vidmm_lock_linear(call.adapter->vidmm, device, vidmm, flags, level);
    umd_return(&call);
    allocation = umd_object(call.adapter, UMD_ALLOCATION, handle);
    if (error == FERRY_OK && allocation) {
        struct ferry_tiling_place place = ferry_tiles_level(&allocation->tiles->told, level);
        allocation->tiles->first = place.Offset;
        allocation->tiles->bytes = place.Bytes;
    }
    return umd_leave(&call, error);
}

// One of the two is NULL: what is not done.
static int view(struct ferry_allocation *handle, uint64_t offset, void *read, const void *written, size_t bytes)
{
    struct umd_call call;

    if (!read && !written)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_allocation *allocation =
        umd_enter(&call, UMD_ALLOCATION, handle, written ? "write view" : "read view");
    if (!allocation)
        return umd_not_entered();
    if (!allocation->tiled)
        return umd_leave(&call, FERRY_ERROR_NOT_LOCKED);
    const struct umd_tiles *tiles = allocation->tiles;
    // Of one that was never locked there are no bytes; the manager knows whether it is locked now.
    if (tiles->bytes &&
        (offset < tiles->first || offset - tiles->first > tiles->bytes || bytes > tiles->first + tiles->bytes - offset))
        return umd_leave(&call, FERRY_ERROR_RANGE);
    struct ferry_vidmm *vidmm = call.adapter->vidmm;
    D3DKMT_HANDLE manager = allocation->vidmm, device = allocation->device->vidmm;
    umd_park(&call);
    int error = written ? ferry_vidmm_linear_write(vidmm, device, manager, offset, written, bytes)
                        : ferry_vidmm_linear_read(vidmm, device, manager, offset, read, bytes);
    umd_return(&call);
    return umd_leave(&call, error);
}

int ferry_view_read(struct ferry_allocation *allocation, uint64_t offset, void *data, size_t bytes)
{
    return view(allocation, offset, data, NULL, bytes);
}

int ferry_view_write(struct ferry_allocation *allocation, uint64_t offset, const void *data, size_t bytes)
{
    return view(allocation, offset, NULL, data, bytes);
}
