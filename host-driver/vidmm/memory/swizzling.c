// SPDX-License-Identifier: Apache-2.0
// Swizzling ranges: where the CPU sees, as rows, an allocation that is in its segment in tiles. Whoever needs one takes
// the range that was used least recently; nobody is ever in the middle of an access when that happens, since each
// access is made under the manager's lock and asks for the range first.
#include "vidmm/memory/memory.h"

int ferry_vm_swizzling_read(struct ferry_vm_memory *memory)
{
    const struct ferry_vm_core *core = memory->core;
    uint32_t count = core->caps.NumberOfSwizzlingRanges;
    // From 2.0 on there are none, whatever is told; and without a way to where they are shown there might as well be
    // none.
    if (count == 0 || core->caps.MemoryManagementCaps.VirtualAddressingSupported || !core->platform.cpu_read ||
        !core->platform.cpu_write)
        return FERRY_OK;
    if (!core->miniport->DxgkDdiAcquireSwizzlingRange || !core->miniport->DxgkDdiReleaseSwizzlingRange)
        return FERRY_ERROR_UNSUPPORTED;
    memory->swizzling_count = count < FERRY_VM_MOST_SWIZZLING ? count : FERRY_VM_MOST_SWIZZLING;
    return FERRY_OK;
}

static int stop(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                enum ferry_vidmm_critical_code code, NTSTATUS status)
{
    return ferry_vm_stop_critical(
        memory->core,
        (struct ferry_vidmm_critical){.code = code, .status = status, .allocation = allocation->subject.handle});
}

static int release(struct ferry_vm_memory *memory, struct ferry_vm_swizzling *range)
{
    const struct ferry_vm_allocation *allocation = range->allocation;
    const DXGKARG_RELEASESWIZZLINGRANGE argument = {.hAllocation = allocation->miniport,
                                                    .PrivateDriverData = range->private_data,
                                                    .RangeId = (UINT)(range - memory->swizzling)};
    range->allocation = NULL;
    // After a critical stop the miniport is not asked for anything.
    if (memory->core->critical.code != FERRY_CRITICAL_NONE)
        return FERRY_ERROR_CRITICAL;
    NTSTATUS status = memory->core->miniport->DxgkDdiReleaseSwizzlingRange(memory->core->adapter, &argument);
    return NT_SUCCESS(status) ? FERRY_OK : stop(memory, allocation, FERRY_CRITICAL_RELEASE_RANGE, status);
}

void ferry_vm_swizzling_release(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    if (!allocation->linear_outside)
        return;
    for (unsigned i = 0; i < memory->swizzling_count; i++)
        if (memory->swizzling[i].allocation == allocation)
            release(memory, &memory->swizzling[i]);
}

// A lock that is there sees this of it.
static bool is_wanted(const struct ferry_vm_swizzling *range)
{
    return ferry_vm_locked_in_place(range->allocation) && range->allocation->lock_private == range->private_data;
}

// Of those that are taken, or of all, a free one first. What a lock needs is taken last. NULL: there is none.
static struct ferry_vm_swizzling *choose(struct ferry_vm_memory *memory, bool taken)
{
    struct ferry_vm_swizzling *best = NULL;
    bool best_wanted = false;
    for (unsigned i = 0; i < memory->swizzling_count; i++) {
        struct ferry_vm_swizzling *range = &memory->swizzling[i];
        if (!range->allocation && !taken)
            return range;
        if (!range->allocation)
            continue;
        bool wanted = is_wanted(range);
        if (!best || (best_wanted && !wanted) || (best_wanted == wanted && range->last_use < best->last_use)) {
            best = range;
            best_wanted = wanted;
        }
    }
    return best;
}

static NTSTATUS ask(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                    struct ferry_vm_swizzling *range, uint32_t private_data)
{
    DXGKARG_ACQUIRESWIZZLINGRANGE argument = {.hAllocation = allocation->miniport,
                                              .PrivateDriverData = private_data,
                                              .RangeId = (UINT)(range - memory->swizzling),
                                              .SegmentId = allocation->segment,
                                              .RangeSize = ferry_vm_bytes(allocation)};
    NTSTATUS status = memory->core->miniport->DxgkDdiAcquireSwizzlingRange(memory->core->adapter, &argument);
    if (status != STATUS_SUCCESS)
        return status;
    // Only a lock with UseAlternateVA would let the size be changed.
    if (argument.RangeSize != ferry_vm_bytes(allocation))
        return STATUS_INVALID_PARAMETER;
    *range = (struct ferry_vm_swizzling){.allocation = allocation,
                                         .private_data = private_data,
                                         .address = (uint64_t)argument.CPUTranslatedAddress.QuadPart,
                                         .last_use = ++memory->swizzling_uses};
    return status;
}

int ferry_vm_swizzling_acquire(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                               uint32_t private_data, uint64_t *address)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    for (unsigned i = 0; i < memory->swizzling_count; i++) {
        struct ferry_vm_swizzling *range = &memory->swizzling[i];
        if (range->allocation != allocation || range->private_data != private_data)
            continue;
        range->last_use = ++memory->swizzling_uses;
        *address = range->address;
        return FERRY_OK;
    }
    // The miniport is told of the allocation, and not at which of several places it is (R253).
    if (!segment->flags.CpuVisible || allocation->renaming)
        return FERRY_ERROR_NOT_AVAILABLE;
    for (struct ferry_vm_swizzling *range = choose(memory, false); range; range = choose(memory, true)) {
        // Once a range was given up and it is still not enough, others are, until none is left.
        int result = range->allocation ? release(memory, range) : FERRY_OK;
        if (result != FERRY_OK)
            return result;
        NTSTATUS status = ask(memory, allocation, range, private_data);
        if (status == STATUS_SUCCESS) {
            *address = range->address;
            return FERRY_OK;
        }
        if (status == STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED)
            break;
        if (status != STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE)
            return stop(memory, allocation, FERRY_CRITICAL_ACQUIRE_RANGE, status);
    }
    return FERRY_ERROR_NOT_AVAILABLE;
}
