// SPDX-License-Identifier: Apache-2.0
// Creating and destroying allocations.
#include <stdlib.h>
#include <string.h>

#include "vidmm/memory/addresses.h"

struct ferry_vm_allocation *ferry_vm_allocation_find(struct ferry_vm_memory *memory,
                                                     const struct ferry_vm_device *device, D3DKMT_HANDLE handle,
                                                     int *error)
{
    struct ferry_vm_allocation *allocation = ferry_vm_handle_find(&memory->core->handles, FERRY_VM_ALLOCATION, handle);
    if (!allocation)
        *error = FERRY_ERROR_HANDLE;
    else if (device && allocation->subject.device != device)
        *error = FERRY_ERROR_FOREIGN;
    else
        return allocation;
    return NULL;
}

static struct ferry_flag_context flag_context(struct ferry_vm_memory *memory,
                                              const struct ferry_vidmm_allocation_options *options,
                                              const DXGK_ALLOCATIONINFO *info)
{
    struct ferry_flag_context context = {
        .version = (UINT)memory->core->caps.WDDMVersion,
        .primary = options->primary,
        .shared = options->shared,
        .write_only_use = options->write_only_use,
        .map_aperture2_supported = memory->core->caps.MemoryManagementCaps.MapAperture2Supported,
        .gpu_va_iommu = memory->iommu,
        .aperture_only = true,
        .existing = (uintptr_t)options->existing,
        .existing_bytes = options->existing_bytes,
        .bytes = info->Size,
    };
    for (unsigned i = 0; i < memory->segment_count; i++) {
        const struct ferry_vm_segment *segment = &memory->segments[i];
        context.coherent_aperture |= segment->aperture && segment->flags.CacheCoherent;
        if ((info->SupportedWriteSegmentSet & 1u << i) == 0)
            continue;
        context.aperture_only &= segment->aperture;
        context.leaves_system_or_aperture |= segment->aperture;
        context.vpr_segment |= segment->flags.VprSupported;
    }
    return context;
}

// The GPU has it in tiles. A driver of 1.x says so by a flag, in whose place later ones have another; these have a hint
// for it.
static bool swizzled(const struct ferry_vm_memory *memory, const DXGK_ALLOCATIONINFO *info)
{
    const DXGK_ALLOCATIONUSAGEHINT *hint = info->pAllocationUsageHint;
    return memory->core->caps.MemoryManagementCaps.VirtualAddressingSupported
               ? hint && hint->Version != 0 && hint->v1.Flags.Swizzled
               : (info->Flags & DXGK_ALLOC_FLAG_SWIZZLED) != 0;
}

// What the CPU may lock, or has given, is linear outside of its segment; for nobody else it would be rearranged on its
// way, so it stays swizzled in system memory.
static bool linear_outside(const struct ferry_vm_memory *memory, const DXGK_ALLOCATIONINFO *info)
{
    return swizzled(memory, info) && (ferry_flags_lockable(info->Flags) || ferry_flags_permanent(info->Flags));
}

// Of the same word: what later is CreateInVpr. Of what is not swizzled there is nothing that another address would
// show.
static bool may_alternate(const struct ferry_vm_memory *memory, const DXGK_ALLOCATIONINFO *info)
{
    return !memory->core->caps.MemoryManagementCaps.VirtualAddressingSupported && linear_outside(memory, info) &&
           (info->Flags & DXGK_ALLOC_FLAG_USE_ALTERNATE_VA) != 0;
}

// The word as the rules know it.
static UINT flags_of(const struct ferry_vm_memory *memory, const DXGK_ALLOCATIONINFO *info)
{
    return info->Flags & ~(may_alternate(memory, info) ? DXGK_ALLOC_FLAG_USE_ALTERNATE_VA : 0);
}

// What is linear in system memory has to be swizzled before the GPU uses it: it cannot be mapped into an aperture.
static uint32_t segments_of(const struct ferry_vm_memory *memory, const DXGK_ALLOCATIONINFO *info)
{
    uint32_t set = info->SupportedWriteSegmentSet;
    if (!linear_outside(memory, info))
        return set;
    for (unsigned i = 0; i < memory->segment_count; i++)
        if (memory->segments[i].aperture)
            set &= ~(1u << i);
    return set;
}

// What the miniport answered must be usable before anything is kept.
static int check_info(struct ferry_vm_memory *memory, const struct ferry_vidmm_allocation_options *options,
                      const DXGK_ALLOCATIONINFO *info, unsigned *broken_rule)
{
    uint32_t all = (1u << memory->segment_count) - 1;
    if ((segments_of(memory, info) & all) == 0 || (info->SupportedWriteSegmentSet & ~all) != 0)
        return FERRY_ERROR_UNSUPPORTED;
    if (info->Size == 0 || info->Size > FERRY_VIDMM_MAX_ALLOCATION_BYTES)
        return FERRY_ERROR_ARGUMENT;
    if ((info->Alignment & (info->Alignment - 1)) != 0)
        return FERRY_ERROR_ARGUMENT;
    // Only apertures may be eviction segments.
    for (unsigned i = 0; i < memory->segment_count; i++)
        if ((info->EvictionSegmentSet & 1u << i) != 0 && !memory->segments[i].aperture)
            return FERRY_ERROR_UNSUPPORTED;
    struct ferry_flag_context context = flag_context(memory, options, info);
    *broken_rule = ferry_flags_rejected(flags_of(memory, info), info->Flags2.Value, &context);
    if (*broken_rule != 0)
        return FERRY_ERROR_FLAGS;
    // Notices before evictions name addresses of the paging process.
    UINT notices = ferry_vm_window_allowed(memory) ? DXGK_ALLOC_FLAG2_NOTIFY_EVICTION : 0;
    notices |= memory->iommu ? DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP : 0;
    if (ferry_flags_unsupported(flags_of(memory, info), info->Flags2.Value & ~notices))
        return FERRY_ERROR_UNSUPPORTED;
    bool existing = (info->Flags & (DXGK_ALLOC_FLAG_EXISTING_SYSMEM | DXGK_ALLOC_FLAG_EXISTING_KERNEL_SYSMEM)) != 0;
    return options->existing && !existing ? FERRY_ERROR_ARGUMENT : FERRY_OK;
}

static unsigned log2_pages(UINT alignment)
{
    unsigned log2 = 0;
    while (log2 < 20 && (uint64_t)PAGE_SIZE << log2 < alignment)
        log2++;
    return log2;
}

static int set_up(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                  const struct ferry_vidmm_allocation_options *options, const DXGK_ALLOCATIONINFO *info)
{
    allocation->miniport = info->hAllocation;
    allocation->use.pages = (uint32_t)((info->Size + PAGE_SIZE - 1) / PAGE_SIZE);
    allocation->flags = flags_of(memory, info);
    allocation->may_alternate = may_alternate(memory, info);
    allocation->segment_set = segments_of(memory, info);
    allocation->swizzled = swizzled(memory, info);
    allocation->linear_outside = linear_outside(memory, info);
    allocation->preferred = info->PreferredSegment.Value;
    allocation->bank_direction = info->HintedBank.Bank0 ? (info->HintedBank.Direction0 ? 2 : 1) : 0;
    allocation->alignment_log2 = log2_pages(info->Alignment) & 0xFF;
    allocation->fill_pattern = options->fill_pattern;
    allocation->fresh = 1;
    allocation->pinned = ferry_flags_pinned(info->Flags);
    allocation->keeps_content = allocation->pinned || options->primary || options->shared;
    allocation->shared = options->shared;
    allocation->notice = (info->Flags2.Value & DXGK_ALLOC_FLAG2_NOTIFY_EVICTION) != 0;
    allocation->iommu_notice = (info->Flags2.Value & DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP) != 0;
    allocation->renaming_limit = info->MaximumRenamingListLength;
    for (unsigned i = memory->segment_count; i-- > 0;)
        if ((info->EvictionSegmentSet & 1u << i) != 0)
            allocation->eviction_segment = (i + 1) & 0xF;
    allocation->use.serial = ++memory->serial;
    allocation->subject.instance = (uint32_t)memory->serial;
    for (unsigned i = 0; i < memory->segment_count; i++)
        if ((allocation->segment_set & 1u << i) != 0 && !memory->segments[i].aperture)
            allocation->wants_memory = 1;
    if (options->existing) {
        const struct ferry_page_source *source = memory->core->platform.pages;
        int result = source->wrap(source->context, options->existing, allocation->use.pages, 0, &allocation->backing);
        if (result != FERRY_OK)
            return result;
        allocation->fresh = 0;
        memory->core->statistics.backing_bytes += ferry_vm_bytes(allocation);
        return FERRY_OK;
    }
    // R109: the copy in system memory is there from the start.
    return ferry_vm_permanent(allocation) ? ferry_vm_backing_make(memory, allocation) : FERRY_OK;
}

static void tell_destroyed(struct ferry_vm_memory *memory, HANDLE handle)
{
    DXGKARG_DESTROYALLOCATION argument = {.NumAllocations = 1, .pAllocationList = &handle};
    memory->core->miniport->DxgkDdiDestroyAllocation(memory->core->adapter, &argument);
}

int ferry_vm_allocation_new(struct ferry_vm_memory *memory, struct ferry_vm_device *device,
                            const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *handle,
                            unsigned *broken_rule)
{
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = options->private_data,
                                .PrivateDriverDataSize = options->private_data_bytes};
    DXGKARG_CREATEALLOCATION argument = {.NumAllocations = 1, .pAllocationInfo = &info};
    NTSTATUS status = memory->core->miniport->DxgkDdiCreateAllocation(memory->core->adapter, &argument);
    if (!NT_SUCCESS(status))
        return ferry_vm_error_of_status(status);
    int result = check_info(memory, options, &info, broken_rule);
    struct ferry_vm_allocation *allocation = NULL;
    if (result == FERRY_OK) {
        allocation = calloc(1, sizeof(*allocation));
        result = allocation ? set_up(memory, allocation, options, &info) : FERRY_ERROR_NO_HOST_MEMORY;
    }
    if (result == FERRY_OK) {
        allocation->subject.device = device;
        result = ferry_vm_window_begin(memory, allocation);
    }
    if (result == FERRY_OK) {
        allocation->subject.handle = ferry_vm_handle_new(&memory->core->handles, FERRY_VM_ALLOCATION, allocation);
        if (allocation->subject.handle == 0)
            result = FERRY_ERROR_NO_HOST_MEMORY;
    }
    if (result != FERRY_OK) {
        if (allocation)
            ferry_vm_pages_free(memory->core, allocation->backing);
        free(allocation);
        tell_destroyed(memory, info.hAllocation);
        return result;
    }
    allocation->use.sort = device->process->sort & 7;
    ferry_vm_list_add(&device->allocations, &allocation->link);
    ferry_vm_list_init(&allocation->missing);
    memory->core->statistics.allocations++;
    *handle = allocation->subject.handle;
    return FERRY_OK;
}

static bool on_demand(const struct ferry_vm_allocation *allocation)
{
    return (allocation->flags & DXGK_ALLOC_FLAG_CPU_VISIBLE_ON_DEMAND) != 0;
}

int ferry_vm_allocation_close(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    int result = ferry_vm_instances_end(memory, allocation);
    if (result != FERRY_OK || !segment || !segment->aperture)
        return result;
    // Out of it as a whole, so that one whose end fails later is simply out of place. Nobody brings it back meanwhile.
    result = ferry_vm_remove(memory, allocation, FERRY_VM_FOR_A_MOMENT);
    if (result == FERRY_OK) {
        allocation->closing = 1;
        ferry_vm_relist(memory, allocation);
    }
    return result;
}

void ferry_vm_allocation_reopen(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    allocation->closing = 0;
    ferry_vm_relist(memory, allocation);
}

size_t ferry_vm_allocation_free_most(struct ferry_vm_allocation *allocation)
{
    size_t most = 0;
    for (uint32_t i = 0; i < ferry_vm_instance_count(allocation); i++)
        most += ferry_vm_virtual_take_away_most(ferry_vm_instance(allocation, i));
    return most;
}

void ferry_vm_allocation_free(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    // After a critical stop nothing can be told to the GPU any more; the objects still go.
    bool stopped = memory->core->critical.code != FERRY_CRITICAL_NONE;
    for (uint32_t i = 0; i < ferry_vm_instance_count(allocation) && !stopped; i++)
        ferry_vm_virtual_take_away(memory, ferry_vm_instance(allocation, i));
    ferry_vm_instances_free(memory, allocation);
    ferry_vm_virtual_drop(allocation);
    ferry_vm_leave_place(memory, allocation);
    allocation->count = 0;
    ferry_vm_relist(memory, allocation);
    if (allocation->locked && !allocation->locking && !ferry_vm_locked_in_place(allocation) && on_demand(allocation))
        memory->core->statistics.on_demand_bytes -= ferry_vm_bytes(allocation);
    ferry_vm_list_remove(&allocation->link);
    ferry_vm_handle_free(&memory->core->handles, allocation->subject.handle);
    // Its pages go when its own work is over, and nobody else's is waited for.
    ferry_vm_iommu_keep(memory, allocation);
    ferry_vm_pages_free(memory->core, allocation->backing);
    ferry_vm_pages_free(memory->core, allocation->alternate);
    tell_destroyed(memory, allocation->miniport);
    ferry_vm_owner_gone(memory->sched, &allocation->subject.first_update);
    memory->core->statistics.allocations--;
    free(allocation);
}

void ferry_vm_content_lost(void *context, D3DKMT_HANDLE handle, uint32_t number, bool named)
{
    struct ferry_vm_memory *memory = context;
    struct ferry_vm_allocation *allocation =
        ferry_vm_handle_find_hidden(&memory->core->handles, FERRY_VM_ALLOCATION, handle);
    if (!allocation)
        return;
    struct ferry_vm_allocation *instance = ferry_vm_instance_numbered(allocation, number);
    const struct ferry_vm_allocation *before = allocation->renaming ? allocation->renaming->before : NULL;
    // The one that a lock under way has taken is worth as little as a parked one until the lock is there. The one that
    // it was taken for is wanted only if the lock fails: then its device is told.
    bool wanted = instance && !ferry_vm_worthless(instance) && (!before || instance == before);
    if (wanted)
        instance->lost = 1;
    if (named || (wanted && !before))
        allocation->subject.device->state = D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT;
}
