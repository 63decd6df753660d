// SPDX-License-Identifier: Apache-2.0
#include "vidmm/api/allocations.h"

#include "vidmm/api/call.h"
#include "vidmm/memory/addresses.h"

int ferry_vidmm_create_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle,
                                  const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *allocation,
                                  unsigned *broken_rule)
{
    unsigned rule = 0;
    if (!manager || !options || options->size != sizeof(*options) || !allocation)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_device *device = ferry_vm_working_device(manager, device_handle, &result);
        if (device)
            result = ferry_vm_allocation_new(&manager->memory, device, options, allocation, &rule);
    }
    if (broken_rule)
        *broken_rule = rule;
    return ferry_vm_leave(manager, result);
}

// After a turn of waiting another instance may be the allocation: a lock that was under way has been given up.
static struct ferry_vm_allocation *hidden(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    return ferry_vm_handle_find_hidden(&manager->core.handles, FERRY_VM_ALLOCATION, handle);
}

// Whatever names it must be over before its room and pages go to somebody else. Each instance that is gone, each place
// that it has left meanwhile, brought operations that wait for its jobs; they overtake each other, so none of them is
// the last. What has to be queued for it takes a few places in the pager's line, which an empty line always has:
// nothing is kept for want of memory.
int ferry_vm_allocation_rests(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, bool with_device, unsigned *node,
                              uint64_t *number)
{
    struct ferry_vm_sched *sched = &manager->sched;
    struct ferry_vm_allocation *allocation = hidden(manager, handle);
    bool several = allocation->renaming || allocation->subject.device->process->space;
    *node = sched->paging_node;
    *number = 0;
    // A lock under way may have taken another instance. It finds the handle gone in its next turn and gives that up.
    if (allocation->locking)
        return FERRY_PENDING;
    int result = ferry_vm_allocation_close(&manager->memory, allocation);
    if (result == FERRY_ERROR_NO_HOST_MEMORY && sched->done != sched->queued)
        *number = sched->done + 1;
    else if (result != FERRY_OK)
        return result;
    else if (ferry_vm_subject_pending(sched, allocation->subject.last_fence, true, node))
        *number = allocation->subject.last_fence[*node];
    else if (several && !with_device)
        *number = ferry_vm_allocation_pending(sched, allocation->subject.device, handle);
    if (result == FERRY_OK && *number == 0 && several)
        *number = ferry_vm_update_pending(sched, &allocation->subject);
    return *number != 0 ? FERRY_PENDING : FERRY_OK;
}

// In the end there is room for what takes its addresses away: until then it has them.
static int wait_for_all(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    struct ferry_vm_sched *sched = &manager->sched;
    struct ferry_vm_patience patience = {0};
    int result;
    do {
        unsigned node;
        uint64_t number;
        result = ferry_vm_allocation_rests(manager, handle, false, &node, &number);
        if (result == FERRY_OK) {
            result = ferry_vm_reserve(sched, ferry_vm_allocation_free_most(hidden(manager, handle)));
            if (result == FERRY_OK)
                result = ferry_vm_virtual_take_away_room(&manager->memory, hidden(manager, handle));
            if (result == FERRY_OK || sched->done == sched->queued)
                return result;
            number = sched->done + 1;
        } else if (result < 0) {
            return result;
        }
        if (number == 0)
            ferry_vm_yield(manager);
        result = ferry_vm_block(manager, node, number, &patience);
    } while (result >= 0);
    return result;
}

int ferry_vm_allocation_end(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation)
{
    D3DKMT_HANDLE handle = allocation->subject.handle;
    // After a critical stop there is nobody who would carry out what has to be queued for it.
    bool stopped = manager->core.critical.code != FERRY_CRITICAL_NONE;
    int result = stopped ? FERRY_ERROR_CRITICAL : wait_for_all(manager, handle);
    allocation = hidden(manager, handle);
    if (result >= 0 || result == FERRY_ERROR_CRITICAL) {
        ferry_vm_quiesce(&manager->sched);
        ferry_vm_allocation_free(&manager->memory, allocation);
        return FERRY_OK;
    }
    ferry_vm_allocation_reopen(&manager->memory, allocation);
    ferry_vm_handle_hide(&manager->core.handles, handle, FERRY_VM_SHOWN);
    return result;
}

int ferry_vidmm_destroy_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter_to_end(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_allocation *allocation = ferry_vm_allocation_find(&manager->memory, NULL, handle, &result);
        if (allocation && allocation->locked && manager->core.critical.code == FERRY_CRITICAL_NONE) {
            result = FERRY_ERROR_LOCKED;
        } else if (allocation) {
            ferry_vm_handle_hide(&manager->core.handles, handle, FERRY_VM_HIDDEN);
            result = ferry_vm_allocation_end(manager, allocation);
        }
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_placement(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, struct ferry_vidmm_placement *placement)
{
    if (!manager || !placement)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(&manager->memory, NULL, handle, &result);
        if (allocation)
            *placement = (struct ferry_vidmm_placement){
                .segment = allocation->segment,
                .offset = allocation->block ? allocation->block->first * PAGE_SIZE : 0,
                .bytes = ferry_vm_bytes(allocation),
                .flags = allocation->flags | (allocation->may_alternate ? DXGK_ALLOC_FLAG_USE_ALTERNATE_VA : 0),
                .residency_count = allocation->count,
                .dirty = allocation->dirty,
                .locked = allocation->locked,
                .instances = ferry_vm_instance_count(allocation),
                .has_backing = allocation->backing || allocation->in_alternate,
                .lost = allocation->lost,
            };
    }
    return ferry_vm_leave(manager, result);
}
