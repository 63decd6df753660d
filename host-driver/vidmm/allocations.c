// SPDX-License-Identifier: Apache-2.0
// Creating and destroying allocations.
#include "vidmm/internal.h"

struct ferry_vm_allocation *ferry_vm_allocation_find(struct ferry_vidmm *manager, const struct ferry_vm_device *device,
                                                     D3DKMT_HANDLE handle, int *error)
{
    struct ferry_vm_allocation *allocation = ferry_vm_handle_find(&manager->handles, FERRY_VM_ALLOCATION, handle);
    if (!allocation)
        *error = FERRY_ERROR_HANDLE;
    else if (device && allocation->device != device)
        *error = FERRY_ERROR_FOREIGN;
    else
        return allocation;
    return NULL;
}

static struct ferry_flag_context flag_context(struct ferry_vidmm *manager,
                                              const struct ferry_vidmm_allocation_options *options,
                                              const DXGK_ALLOCATIONINFO *info)
{
    struct ferry_flag_context context = {
        .version = (UINT)manager->caps.WDDMVersion,
        .primary = options->primary,
        .shared = options->shared,
        .write_only_use = options->write_only_use,
        .map_aperture2_supported = manager->caps.MemoryManagementCaps.MapAperture2Supported,
        .aperture_only = true,
        .existing = (uintptr_t)options->existing,
        .existing_bytes = options->existing_bytes,
        .bytes = info->Size,
    };
    for (unsigned i = 0; i < manager->segment_count; i++) {
        const struct ferry_vm_segment *segment = &manager->segments[i];
        context.coherent_aperture |= segment->aperture && segment->flags.CacheCoherent;
        if ((info->SupportedWriteSegmentSet & 1u << i) == 0)
            continue;
        context.aperture_only &= segment->aperture;
        context.leaves_system_or_aperture |= segment->aperture;
        context.vpr_segment |= segment->flags.VprSupported;
    }
    return context;
}

// What the miniport answered must be usable before anything is kept.
static int check_info(struct ferry_vidmm *manager, const struct ferry_vidmm_allocation_options *options,
                      const DXGK_ALLOCATIONINFO *info, unsigned *broken_rule)
{
    uint32_t all = (1u << manager->segment_count) - 1;
    if ((info->SupportedWriteSegmentSet & all) == 0 || (info->SupportedWriteSegmentSet & ~all) != 0)
        return FERRY_ERROR_UNSUPPORTED;
    if (info->Size == 0 || info->Size > FERRY_VIDMM_MAX_ALLOCATION_BYTES)
        return FERRY_ERROR_ARGUMENT;
    if ((info->Alignment & (info->Alignment - 1)) != 0)
        return FERRY_ERROR_ARGUMENT;
    // Only apertures may be eviction segments.
    for (unsigned i = 0; i < manager->segment_count; i++)
        if ((info->EvictionSegmentSet & 1u << i) != 0 && !manager->segments[i].aperture)
            return FERRY_ERROR_UNSUPPORTED;
    struct ferry_flag_context context = flag_context(manager, options, info);
    *broken_rule = ferry_flags_rejected(info->Flags, info->Flags2.Value, &context);
    if (*broken_rule != 0)
        return FERRY_ERROR_FLAGS;
    if (ferry_flags_unsupported(info->Flags, info->Flags2.Value))
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

static int set_up(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation,
                  const struct ferry_vidmm_allocation_options *options, const DXGK_ALLOCATIONINFO *info)
{
    allocation->miniport = info->hAllocation;
    allocation->pages = (uint32_t)((info->Size + PAGE_SIZE - 1) / PAGE_SIZE);
    allocation->flags = info->Flags;
    allocation->segment_set = info->SupportedWriteSegmentSet;
    allocation->preferred = info->PreferredSegment.Value;
    allocation->bank_direction = info->HintedBank.Bank0 ? (info->HintedBank.Direction0 ? 2 : 1) : 0;
    allocation->alignment_log2 = log2_pages(info->Alignment) & 0xFF;
    allocation->fill_pattern = options->fill_pattern;
    allocation->fresh = 1;
    allocation->pinned = ferry_flags_pinned(info->Flags);
    for (unsigned i = manager->segment_count; i-- > 0;)
        if ((info->EvictionSegmentSet & 1u << i) != 0)
            allocation->eviction_segment = (i + 1) & 0xF;
    allocation->use.serial = ++manager->serial;
    allocation->use.pages = allocation->pages;
    for (unsigned i = 0; i < manager->segment_count; i++)
        if ((info->SupportedWriteSegmentSet & 1u << i) != 0 && !manager->segments[i].aperture)
            allocation->wants_memory = 1;
    if (options->existing) {
        const struct ferry_page_source *source = manager->platform.pages;
        int result = source->wrap(source->context, options->existing, allocation->pages, 0, &allocation->backing);
        if (result != FERRY_OK)
            return result;
        allocation->fresh = 0;
        manager->statistics.backing_bytes += ferry_vm_bytes(allocation);
        return FERRY_OK;
    }
    // R109: the copy in system memory is there from the start.
    return ferry_vm_permanent(allocation) ? ferry_vm_backing_make(manager, allocation) : FERRY_OK;
}

static void tell_destroyed(struct ferry_vidmm *manager, HANDLE handle)
{
    DXGKARG_DESTROYALLOCATION argument = {.NumAllocations = 1, .pAllocationList = &handle};
    manager->miniport->DxgkDdiDestroyAllocation(manager->adapter, &argument);
}

static int create(struct ferry_vidmm *manager, struct ferry_vm_device *device,
                  const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *handle, unsigned *broken_rule)
{
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = options->private_data,
                                .PrivateDriverDataSize = options->private_data_bytes};
    DXGKARG_CREATEALLOCATION argument = {.NumAllocations = 1, .pAllocationInfo = &info};
    NTSTATUS status = manager->miniport->DxgkDdiCreateAllocation(manager->adapter, &argument);
    if (!NT_SUCCESS(status))
        return ferry_vm_error_of_status(status);
    int result = check_info(manager, options, &info, broken_rule);
    struct ferry_vm_allocation *allocation = NULL;
    if (result == FERRY_OK) {
        allocation = calloc(1, sizeof(*allocation));
        result = allocation ? set_up(manager, allocation, options, &info) : FERRY_ERROR_NO_HOST_MEMORY;
    }
    if (result == FERRY_OK) {
        allocation->handle = ferry_vm_handle_new(&manager->handles, FERRY_VM_ALLOCATION, allocation);
        if (allocation->handle == 0)
            result = FERRY_ERROR_NO_HOST_MEMORY;
    }
    if (result != FERRY_OK) {
        if (allocation)
            ferry_vm_backing_free(manager, allocation->backing);
        free(allocation);
        tell_destroyed(manager, info.hAllocation);
        return result;
    }
    allocation->device = device;
    ferry_vm_list_add(&device->allocations, &allocation->link);
    ferry_vm_list_init(&allocation->missing);
    manager->statistics.allocations++;
    *handle = allocation->handle;
    return FERRY_OK;
}

int ferry_vidmm_create_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle,
                                  const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *allocation,
                                  unsigned *broken_rule)
{
    unsigned rule = 0;
    if (!manager || !options || options->size != sizeof(*options) || !allocation)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_device *device = ferry_vm_handle_find(&manager->handles, FERRY_VM_DEVICE, device_handle);
        if (!device)
            result = FERRY_ERROR_HANDLE;
        else if (device->state != D3DKMT_DEVICEEXECUTION_ACTIVE)
            result = FERRY_ERROR_DEVICE_LOST;
        else
            result = create(manager, device, options, allocation, &rule);
    }
    if (broken_rule)
        *broken_rule = rule;
    return ferry_vm_leave(manager, result);
}

static bool on_demand(const struct ferry_vm_allocation *allocation)
{
    return (allocation->flags & DXGK_ALLOC_FLAG_CPU_VISIBLE_ON_DEMAND) != 0;
}

int ferry_vm_allocation_free(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation)
{
    // Whatever names it must be over before its room and pages go to somebody else.
    int result = ferry_vm_wait_allocation(manager, allocation, true);
    struct ferry_vm_segment *segment = ferry_vm_segment_by_id(manager, allocation->segment);
    if (result == FERRY_OK && segment && segment->aperture) {
        result = ferry_vm_unmap(manager, allocation);
        if (result == FERRY_OK)
            result = ferry_vm_wait(manager, manager->paging_node, allocation->last_fence[manager->paging_node]);
    }
    if (result != FERRY_OK && result != FERRY_ERROR_CRITICAL)
        return result;
    // After a critical stop nothing can be told to the GPU any more; the objects still go.
    if (allocation->block) {
        ferry_vm_emit_place(manager, allocation, false);
        ferry_vm_victim_remove(&segment->victims, &allocation->use);
        segment->pinned_pages -= allocation->pinned ? allocation->pages : 0;
        ferry_vm_space_give(&segment->space, allocation->block);
    }
    if (allocation->count > 0) {
        uint64_t *required = allocation->wants_memory ? &manager->required_memory : &manager->required_aperture;
        *required -= ferry_vm_charge(allocation);
    }
    if (allocation->locked && on_demand(allocation))
        manager->statistics.on_demand_bytes -= ferry_vm_bytes(allocation);
    ferry_vm_list_remove(&allocation->missing);
    ferry_vm_list_remove(&allocation->link);
    ferry_vm_handle_free(&manager->handles, allocation->handle);
    ferry_vm_backing_free(manager, allocation->backing);
    tell_destroyed(manager, allocation->miniport);
    manager->statistics.allocations--;
    free(allocation);
    return FERRY_OK;
}

int ferry_vidmm_destroy_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    if (!manager)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_allocation *allocation = ferry_vm_allocation_find(manager, NULL, handle, &result);
        if (allocation)
            result = allocation->locked ? FERRY_ERROR_LOCKED : ferry_vm_allocation_free(manager, allocation);
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_placement(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, struct ferry_vidmm_placement *placement)
{
    if (!manager || !placement)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_allocation *allocation = ferry_vm_allocation_find(manager, NULL, handle, &result);
        if (allocation)
            *placement = (struct ferry_vidmm_placement){
                .segment = allocation->segment,
                .offset = allocation->block ? allocation->block->first * PAGE_SIZE : 0,
                .bytes = ferry_vm_bytes(allocation),
                .flags = allocation->flags,
                .residency_count = allocation->count,
                .dirty = allocation->dirty,
                .locked = allocation->locked,
                .has_backing = allocation->backing != NULL,
                .lost = allocation->lost,
            };
    }
    return ferry_vm_leave(manager, result);
}
