// SPDX-License-Identifier: Apache-2.0
#include "vidmm/api/call.h"

HRESULT ferry_vidmm_hresult(int result)
{
    switch (result) {
    case FERRY_OK: return S_OK;
    case FERRY_PENDING: return E_PENDING;
    case FERRY_ERROR_NO_VIDEO_MEMORY:
    case FERRY_ERROR_NO_HOST_MEMORY: return E_OUTOFMEMORY;
    case FERRY_ERROR_DEVICE_LOST:
    case FERRY_ERROR_CRITICAL:
    case FERRY_ERROR_TIMEOUT: return D3DDDIERR_DEVICEREMOVED;
    default: return E_INVALIDARG;
    }
}

int ferry_vidmm_make_resident(struct ferry_vidmm *manager, D3DDDI_MAKERESIDENT *arguments)
{
    if (!manager || !arguments || (arguments->NumAllocations && !arguments->AllocationList) ||
        arguments->NumAllocations > D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS || arguments->Flags.Reserved ||
        (arguments->Flags.MustSucceed && !arguments->Flags.CantTrimFurther))
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_queue *queue =
            ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PAGING_QUEUE, arguments->hPagingQueue);
        result = queue ? ferry_vm_make_resident(&manager->policy, queue, arguments) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_evict(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle, D3DDDICB_EVICT *arguments)
{
    if (!manager || !arguments || (arguments->NumAllocations && !arguments->AllocationList) ||
        arguments->Flags.Reserved)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_device *device = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_DEVICE, device_handle);
        result = device ? ferry_vm_evict(&manager->policy, device, arguments) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

// One of the two ways.
static int change_count(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle, D3DKMT_HANDLE allocation,
                        uint32_t count,
                        int (*change)(struct ferry_vm_policy *policy, const struct ferry_vm_device *device,
                                      D3DKMT_HANDLE handle, uint32_t count))
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_device *device = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_DEVICE, device_handle);
        result = device ? change(&manager->policy, device, allocation, count) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_take_off(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation, uint32_t count)
{
    return change_count(manager, device, allocation, count, ferry_vm_take_off);
}

int ferry_vidmm_put_back(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation, uint32_t count)
{
    return change_count(manager, device, allocation, count, ferry_vm_put_back);
}
