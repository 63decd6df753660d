// SPDX-License-Identifier: Apache-2.0
#include "vidmm/api/call.h"

int ferry_vidmm_create_context(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle, uint32_t node,
                               D3DKMT_HANDLE *context, DXGK_CONTEXTINFO *info)
{
    if (!manager || !context)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_device *device = ferry_vm_working_device(manager, device_handle, &result);
        if (device)
            result = ferry_vm_context_new(&manager->sched, device, node, context, info);
    }
    return ferry_vm_leave(manager, result);
}

// Its handle is hidden. On an error it is found again.
static int end(struct ferry_vidmm *manager, struct ferry_vm_context *context)
{
    struct ferry_vm_patience patience = {0};
    int result;
    do
        result = ferry_vm_block(manager, context->node, context->last_fence, &patience);
    while (result == FERRY_PENDING);
    if (result == FERRY_OK || result == FERRY_ERROR_CRITICAL) {
        ferry_vm_quiesce(&manager->sched);
        ferry_vm_context_free(&manager->sched, context);
        return FERRY_OK;
    }
    ferry_vm_handle_hide(&manager->core.handles, context->handle, FERRY_VM_SHOWN);
    return result;
}

int ferry_vidmm_destroy_context(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter_to_end(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_context *context = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_CONTEXT, handle);
        if (context)
            ferry_vm_handle_hide(&manager->core.handles, handle, FERRY_VM_HIDDEN);
        result = context ? end(manager, context) : FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}

// Of a job of the context that is over: OK, FAULT, or ARGUMENT when it is older than all faults that are kept, and so
// nobody knows any more.
static int outcome_of(const struct ferry_vm_context *context, uint64_t fence)
{
    // Those from low on are not below the fence.
    size_t high = context->faulted_count, low = high > FERRY_VM_FAULTS ? high - FERRY_VM_FAULTS : 0;
    if (low > 0 && fence < context->faulted[low % FERRY_VM_FAULTS])
        return FERRY_ERROR_ARGUMENT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (context->faulted[middle % FERRY_VM_FAULTS] < fence)
            low = middle + 1;
        else
            high = middle;
    }
    bool faulted = low < context->faulted_count && context->faulted[low % FERRY_VM_FAULTS] == fence;
    return faulted ? FERRY_ERROR_FAULT : FERRY_OK;
}

int ferry_vidmm_wait(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t fence)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    struct ferry_vm_patience patience = {0};
    int result = ferry_vm_enter(manager);
    const struct ferry_vm_context *context = NULL;
    // The context may be gone after each turn.
    for (bool again = result == FERRY_OK; again; again = result == FERRY_PENDING) {
        context = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_CONTEXT, handle);
        if (!context)
            result = FERRY_ERROR_HANDLE;
        else if (!ferry_vm_job_is_of(context, fence))
            result = FERRY_ERROR_ARGUMENT;
        else
            result = ferry_vm_block(manager, context->node, fence, &patience);
    }
    if (result == FERRY_OK)
        result = outcome_of(context, fence);
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_completed(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t *fence)
{
    if (!manager || !fence)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_context *context = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_CONTEXT, handle);
        if (context)
            *fence = manager->sched.nodes[context->node].completed;
        else
            result = FERRY_ERROR_HANDLE;
    }
    return ferry_vm_leave(manager, result);
}
