// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses of a device's program.
#include "umd/call.h"

int ferry_va_reserve(struct ferry_device *handle, struct ferry_va *range)
{
    struct umd_call call;

    if (!range || range->size != sizeof *range)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "reserve addresses");
    if (!device)
        return FERRY_ERROR_HANDLE;
    struct ferry_vidmm_virtual wanted = {sizeof wanted, range->address, range->least, range->most, range->bytes, 0};
    int error = ferry_vidmm_reserve_virtual(call.adapter->vidmm, device->vidmm, &wanted);
    if (error == FERRY_OK)
        range->address = wanted.address;
    return umd_leave(&call, error);
}

int ferry_va_map(struct ferry_device *handle, struct ferry_allocation *allocation_handle, uint64_t offset,
                 bool read_only, struct ferry_va *range)
{
    struct umd_call call;

    if (!range || range->size != sizeof *range)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "map addresses");
    if (!device)
        return FERRY_ERROR_HANDLE;
    const struct umd_allocation *allocation = umd_object(call.adapter, UMD_ALLOCATION, allocation_handle);
    if (!allocation)
        return umd_leave(&call, umd_handle_error(UMD_ALLOCATION, allocation_handle));
    struct ferry_vidmm_virtual wanted = {sizeof wanted, range->address, range->least, range->most, range->bytes, 0};
    int error =
        ferry_vidmm_map_virtual(call.adapter->vidmm, device->vidmm, allocation->vidmm, offset, read_only, &wanted);
    range->table_bytes = wanted.table_bytes;
    if (error == FERRY_OK)
        range->address = wanted.address;
    return umd_leave(&call, error);
}

int ferry_va_free(struct ferry_device *handle, uint64_t address, uint64_t bytes)
{
    struct umd_call call;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "free addresses");

    if (!device)
        return FERRY_ERROR_HANDLE;
    return umd_leave(&call, ferry_vidmm_free_virtual(call.adapter->vidmm, device->vidmm, address, bytes));
}

int ferry_va_find(struct ferry_device *handle, uint64_t address, struct ferry_va_mapping *mapping)
{
    struct umd_call call;
    struct ferry_vidmm_mapping found;

    if (!mapping || mapping->size != sizeof *mapping)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, NULL);
    if (!device)
        return FERRY_ERROR_HANDLE;
    int error = ferry_vidmm_find_virtual(call.adapter->vidmm, device->vidmm, address, &found);
    if (error == FERRY_OK)
        *mapping = (struct ferry_va_mapping){.size = sizeof *mapping,
                                             .address = found.address,
                                             .bytes = found.bytes,
                                             .mapped = found.allocation != 0,
                                             .read_only = found.read_only,
                                             .allocation = found.allocation,
                                             .offset = found.offset};
    return umd_leave(&call, error);
}
