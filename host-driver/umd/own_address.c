// SPDX-License-Identifier: Apache-2.0
#include "umd/own_address.h"

// Where they begin: the upper half.
#define UMD_OWN_ADDRESSES (UINT64_C(1) << 47)

int umd_own_address_give(struct umd_allocation *allocation)
{
    const struct umd_device *device = allocation->device;
    struct ferry_vidmm *vidmm = device->adapter->vidmm;
    struct ferry_vidmm_virtual range = {.size = sizeof range,
                                        .least = UMD_OWN_ADDRESSES,
                                        .bytes = (allocation->bytes + FERRY_PAGE_BYTES - 1) / FERRY_PAGE_BYTES *
                                                 FERRY_PAGE_BYTES,
                                        .each_instance = true};
    uint64_t given = 0;

    if (device->adapter->model != 2)
        return FERRY_OK;
    // Those that come back meanwhile are worth another look.
    int error = ferry_vidmm_tables_given(vidmm, &given);
    allocation->tables_given = (uint16_t)given;
    if (error == FERRY_OK)
        error = ferry_vidmm_map_virtual(vidmm, device->vidmm, allocation->vidmm, 0, false, &range);
    if (error == FERRY_OK)
        allocation->address = range.address;
    return error == FERRY_ERROR_UNSUPPORTED || error == FERRY_ERROR_NO_VIDEO_MEMORY ? FERRY_OK : error;
}

void umd_own_address_try_again(struct umd_allocation *allocation)
{
    const struct umd_adapter *adapter = allocation->device->adapter;
    uint64_t given;

    // It can do without, whatever the error.
    if (adapter->model == 2 && ferry_vidmm_tables_given(adapter->vidmm, &given) == FERRY_OK &&
        (uint16_t)given != allocation->tables_given)
        umd_own_address_give(allocation);
}
