// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "vidmm/api/call.h"

// Those of a lock that shows rows in place: no other lock's.
#define IN_PLACE_FLAGS (D3DDDI_LOCK_ACQUIRE_APERTURE | D3DDDI_LOCK_USE_ALTERNATE_VA)
#define LEGAL_FLAGS                                                                                                    \
    (D3DDDI_LOCK_READ_ONLY | D3DDDI_LOCK_WRITE_ONLY | D3DDDI_LOCK_DO_NOT_WAIT | D3DDDI_LOCK_LOCK_ENTIRE |              \
     D3DDDI_LOCK_DO_NOT_EVICT | D3DDDI_LOCK_DISCARD)

#define LINEAR_FLAGS ((LEGAL_FLAGS & ~D3DDDI_LOCK_DISCARD) | IN_PLACE_FLAGS)

static void cancel(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation)
{
    ferry_vm_lock_cancel(&manager->memory, allocation);
    ferry_vm_rename_back(&manager->policy, allocation);
}

static int finish(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation, void **address)
{
    int result = ferry_vm_lock_end(&manager->memory, allocation, address);
    if (result == FERRY_OK)
        ferry_vm_rename_done(&manager->policy, allocation);
    else
        ferry_vm_rename_back(&manager->policy, allocation);
    return result;
}

// What comes while a lock waits it waits for too, so often: then it does not give way to others any more.
#define MOST_WAITS 4

// Until everything is over that the lock waits for. The allocation may be gone after each turn.
static int wait_for_lock(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t until[FERRY_VM_MAX_NODES],
                         bool discard, void **address)
{
    struct ferry_vm_patience patience = {0};
    struct ferry_vm_allocation *allocation;
    unsigned node, waits = 0;
    int result = FERRY_OK;
    for (;;) {
        allocation = ferry_vm_allocation_find(&manager->memory, NULL, handle, &result);
        if (!allocation || result < 0)
            break;
        if (!ferry_vm_subject_pending(&manager->sched, until, true, &node)) {
            result = ferry_vm_lock_ready(&manager->memory, allocation, until, ++waits >= MOST_WAITS);
            if (result == FERRY_OK)
                return finish(manager, allocation, address);
            continue;
        }
        manager->core.statistics.discard_stalls += discard;
        discard = false;
        result = ferry_vm_block(manager, node, until[node], &patience);
    }
    // One that is being destroyed with its device may be found again, when that fails.
    if (!allocation)
        allocation = ferry_vm_handle_find_hidden(&manager->core.handles, FERRY_VM_ALLOCATION, handle);
    if (allocation)
        cancel(manager, allocation);
    return result;
}

static int begin(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation, uint32_t flags, uint64_t first,
                 uint64_t count, uint64_t until[FERRY_VM_MAX_NODES])
{
    int result = ferry_vm_lock_check(&manager->memory, allocation, flags, first, count);
    if (result != FERRY_OK)
        return result;
    if ((flags & D3DDDI_LOCK_DISCARD) != 0)
        allocation = ferry_vm_rename(&manager->policy, allocation);
    result = ferry_vm_lock_begin(&manager->memory, allocation, flags, first, count, until);
    if (result != FERRY_OK)
        ferry_vm_rename_back(&manager->policy, allocation);
    return result;
}

// R108: of what is shared, only the program that made it may lock it; of anything else, only its device. No device
// named: its own.
static struct ferry_vm_allocation *find_for(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle,
                                            D3DKMT_HANDLE handle, int *result)
{
    struct ferry_vm_allocation *allocation = ferry_vm_allocation_find(&manager->memory, NULL, handle, result);
    if (!allocation || device_handle == 0)
        return allocation;
    const struct ferry_vm_device *device = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_DEVICE, device_handle);
    if (device && (device == allocation->subject.device ||
                   (allocation->shared && device->process == allocation->subject.device->process)))
        return allocation;
    *result = device ? FERRY_ERROR_FOREIGN : FERRY_ERROR_HANDLE;
    return NULL;
}

static int lock_range(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE handle, uint32_t flags,
                      uint64_t first, uint64_t count, bool entire, void **address)
{
    uint32_t both = D3DDDI_LOCK_READ_ONLY | D3DDDI_LOCK_WRITE_ONLY;
    if (ferry_lock_flags_unsupported(flags))
        return FERRY_ERROR_UNSUPPORTED;
    if (!manager || !address || (flags & ~(uint32_t)(LEGAL_FLAGS | IN_PLACE_FLAGS)) != 0 || (flags & both) == both ||
        (!entire && count == 0))
        return FERRY_ERROR_ARGUMENT;
    if ((flags & IN_PLACE_FLAGS) != 0)
        return FERRY_ERROR_UNSUPPORTED;
    uint64_t until[FERRY_VM_MAX_NODES];
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_allocation *allocation = find_for(manager, device, handle, &result);
        // Whoever only reads gives nothing up.
        if (allocation && (allocation->keeps_content || (flags & D3DDDI_LOCK_READ_ONLY) != 0))
            flags &= ~(uint32_t)D3DDDI_LOCK_DISCARD;
        if (allocation)
            result = begin(manager, allocation, flags, first, entire ? allocation->use.pages : count, until);
        if (result == FERRY_OK)
            result = wait_for_lock(manager, handle, until, (flags & D3DDDI_LOCK_DISCARD) != 0, address);
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_lock(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, uint32_t flags, void **address)
{
    return lock_range(manager, 0, allocation, flags, 0, 0, true, address);
}

int ferry_vidmm_lock_from(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation, uint32_t flags,
                          void **address)
{
    return device == 0 ? FERRY_ERROR_HANDLE : lock_range(manager, device, allocation, flags, 0, 0, true, address);
}

int ferry_vidmm_lock_pages(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, uint32_t flags, uint64_t first,
                           uint64_t count, void **address)
{
    return lock_range(manager, 0, allocation, flags, first, count, false, address);
}

int ferry_vidmm_unlock(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_allocation *allocation = ferry_vm_allocation_find(&manager->memory, NULL, handle, &result);
        if (allocation)
            result = ferry_vm_unlock(&manager->memory, allocation);
    }
    return ferry_vm_leave(manager, result);
}

// ---- Locks with AcquireAperture ----

// What is newest when the rest is over is waited for next, so often: then nobody is let in who could queue more.
static int wait_in_place(struct ferry_vidmm *manager, const uint64_t *last, unsigned node, uint64_t *upto,
                         unsigned *waits, struct ferry_vm_patience *patience)
{
    if (!ferry_vm_subject_pending(&manager->sched, upto, true, &node)) {
        memcpy(upto, last, FERRY_VM_MAX_NODES * sizeof *upto);
        ++*waits;
    }
    return *waits > MOST_WAITS ? ferry_vm_turn(&manager->sched, node, upto[node], patience)
                               : ferry_vm_block(manager, node, upto[node], patience);
}

// Until nothing that is queued for it is left to run, then where its bytes are. The allocation may be gone after each
// turn, and be in another place.
static struct ferry_vm_allocation *find_linear(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, bool locking,
                                               struct ferry_vm_linear *at, int *result)
{
    struct ferry_vm_patience patience = {0};
    struct ferry_vm_allocation *allocation;
    uint64_t upto[FERRY_VM_MAX_NODES] = {0};
    unsigned node, waits = 0;
    do {
        allocation = ferry_vm_allocation_find(&manager->memory, NULL, handle, result);
        if (!allocation)
            return NULL;
        const uint64_t *last = allocation->subject.last_fence;
        if (!ferry_vm_locked_in_place(allocation) || allocation->locking != locking)
            *result = FERRY_ERROR_NOT_LOCKED;
        else if (allocation->lost)
            *result = FERRY_ERROR_DEVICE_LOST;
        else if (!ferry_vm_subject_pending(&manager->sched, last, true, &node))
            *result = ferry_vm_linear_find(&manager->memory, allocation, at);
        // Behind a job, it may be, that has come since the lock began.
        else if (locking && (allocation->lock_flags & D3DDDI_LOCK_DO_NOT_WAIT) != 0 &&
                 ferry_vm_behind_a_job(&manager->sched, last[manager->sched.paging_node]))
            *result = FERRY_ERROR_BUSY;
        // What it waited for is over, but more may have been queued.
        else if ((*result = wait_in_place(manager, last, node, upto, &waits, &patience)) == FERRY_OK)
            *result = FERRY_PENDING;
    } while (*result == FERRY_PENDING);
    return *result == FERRY_OK ? allocation : NULL;
}

int ferry_vidmm_lock_linear(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE handle, uint32_t flags,
                            uint32_t private_data)
{
    uint32_t both = D3DDDI_LOCK_READ_ONLY | D3DDDI_LOCK_WRITE_ONLY, alternate = IN_PLACE_FLAGS;
    if (ferry_lock_flags_unsupported(flags))
        return FERRY_ERROR_UNSUPPORTED;
    if (!manager || (flags & ~(uint32_t)LINEAR_FLAGS) != 0 || (flags & both) == both ||
        (flags & alternate) == D3DDDI_LOCK_USE_ALTERNATE_VA)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_allocation *allocation = find_for(manager, device, handle, &result);
        if (allocation)
            result = ferry_vm_linear_lock(&manager->memory, allocation, flags, private_data);
    }
    if (result == FERRY_OK) {
        struct ferry_vm_linear at;
        struct ferry_vm_allocation *allocation = find_linear(manager, handle, true, &at, &result);
        // One that is being destroyed with its device may be found again, when that fails.
        if (!allocation)
            allocation = ferry_vm_handle_find_hidden(&manager->core.handles, FERRY_VM_ALLOCATION, handle);
        if (allocation && result == FERRY_OK)
            allocation->locking = 0;
        else if (allocation)
            ferry_vm_linear_cancel(&manager->memory, allocation);
    }
    return ferry_vm_leave(manager, result);
}

// One of the two is NULL: what is not done.
static int reach_linear(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE handle, uint64_t offset,
                        void *read, const void *written, size_t bytes)
{
    if (!manager || (!read && !written))
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    const struct ferry_vm_allocation *asked = result == FERRY_OK ? find_for(manager, device, handle, &result) : NULL;
    if (asked && (!ferry_vm_locked_in_place(asked) || asked->locking))
        result = FERRY_ERROR_NOT_LOCKED;
    else if (asked && (asked->lock_flags & (written ? D3DDDI_LOCK_READ_ONLY : D3DDDI_LOCK_WRITE_ONLY)) != 0)
        result = FERRY_ERROR_ARGUMENT;
    else if (asked && (offset > ferry_vm_bytes(asked) || bytes > ferry_vm_bytes(asked) - offset))
        result = FERRY_ERROR_RANGE;
    if (result == FERRY_OK && bytes != 0) {
        struct ferry_vm_linear at;
        struct ferry_vm_allocation *allocation = find_linear(manager, handle, false, &at, &result);
        if (allocation && written)
            result = ferry_vm_linear_write(&manager->memory, allocation, &at, offset, written, bytes);
        else if (allocation)
            result = ferry_vm_linear_read(&manager->memory, &at, offset, read, bytes);
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_linear_read(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation,
                            uint64_t offset, void *data, size_t bytes)
{
    return reach_linear(manager, device, allocation, offset, data, NULL, bytes);
}

int ferry_vidmm_linear_write(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE allocation,
                             uint64_t offset, const void *data, size_t bytes)
{
    return reach_linear(manager, device, allocation, offset, NULL, data, bytes);
}
