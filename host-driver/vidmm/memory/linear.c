// SPDX-License-Identifier: Apache-2.0
// Locks with AcquireAperture: the CPU sees a swizzled allocation as rows where it is, and goes on seeing the same bytes
// when it is evicted meanwhile, moved, or brought in again (R90 to R93). There is no pointer to memory behind a link,
// so each access is a call, which finds the place that holds the content now: a range in front of the segment, or the
// backing store.
#include <string.h>

#include "vidmm/memory/memory.h"

int ferry_vm_linear_lock(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint32_t flags,
                         uint32_t private_data)
{
    if (!allocation->linear_outside || memory->swizzling_count == 0)
        return FERRY_ERROR_UNSUPPORTED;
    bool alternate = (flags & D3DDDI_LOCK_USE_ALTERNATE_VA) != 0;
    // What keeps a backing store beside its segment has that for an address already, and what is shared has one
    // address.
    if (alternate && (!allocation->may_alternate || ferry_vm_permanent(allocation) || allocation->shared))
        return FERRY_ERROR_UNSUPPORTED;
    int result = ferry_vm_lock_check(memory, allocation, flags, 0, allocation->use.pages);
    // R82: a lock that gets no other address fails.
    if (result == FERRY_OK && alternate)
        result = ferry_vm_alternate_make(memory, allocation);
    if (result != FERRY_OK)
        return result;
    allocation->alternate_lock = alternate;
    allocation->locked = allocation->locking = 1;
    allocation->lock_flags = (flags | D3DDDI_LOCK_ACQUIRE_APERTURE) & 0xFF;
    allocation->lock_private = private_data;
    return FERRY_OK;
}

void ferry_vm_linear_cancel(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    ferry_vm_lock_cancel(memory, allocation);
    if (allocation->alternate_lock)
        ferry_vm_alternate_end(memory, allocation);
}

int ferry_vm_linear_find(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                         struct ferry_vm_linear *at)
{
    *at = (struct ferry_vm_linear){0};
    if (!allocation->block && allocation->in_alternate) {
        at->host = allocation->alternate->MappedSystemVa;
        return FERRY_OK;
    }
    if (!allocation->block) {
        int result = ferry_vm_backing_make(memory, allocation);
        at->host = result == FERRY_OK ? allocation->backing->MappedSystemVa : NULL;
        return result;
    }
    int result = ferry_vm_swizzling_acquire(memory, allocation, allocation->lock_private, &at->address);
    // An overlay keeps its place (R150).
    if (result != FERRY_ERROR_NOT_AVAILABLE || allocation->pinned ||
        (allocation->lock_flags & D3DDDI_LOCK_DO_NOT_EVICT) != 0)
        return result;
    result = ferry_vm_remove(memory, allocation, FERRY_VM_FOR_A_MOMENT);
    return result == FERRY_OK ? FERRY_PENDING : result;
}

int ferry_vm_linear_read(const struct ferry_vm_memory *memory, const struct ferry_vm_linear *at, uint64_t offset,
                         void *data, size_t bytes)
{
    const struct ferry_vidmm_platform *platform = &memory->core->platform;
    if (!at->host)
        return platform->cpu_read(platform->context, at->address + offset, data, bytes);
    memcpy(data, at->host + offset, bytes);
    return FERRY_OK;
}

int ferry_vm_linear_write(const struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                          const struct ferry_vm_linear *at, uint64_t offset, const void *data, size_t bytes)
{
    const struct ferry_vidmm_platform *platform = &memory->core->platform;
    allocation->fresh = allocation->untouched = 0;
    if (at->host) {
        memcpy(at->host + offset, data, bytes);
        return FERRY_OK;
    }
    // As if a job had, but for Evict's NotWrittenTo, which is about what the GPU does.
    allocation->dirty = allocation->dirty_before = 1;
    return platform->cpu_write(platform->context, at->address + offset, data, bytes);
}
