// SPDX-License-Identifier: Apache-2.0
// What the miniport says of its nodes, and the context that paging runs in.
#include "vidmm/sched/sched.h"

#define LEVELS 4u

// Of one level; 0 is the lowest.
static int read_level(const struct ferry_vm_sched *sched, unsigned level, DXGK_PAGE_TABLE_LEVEL_DESC *description)
{
    DXGK_QUERYPAGETABLELEVELDESCIN which = {.LevelIndex = (UINT16)level};
    DXGKARG_QUERYADAPTERINFO argument = {.Type = DXGKQAITYPE_PAGETABLELEVELDESC,
                                         .pInputData = &which,
                                         .InputDataSize = sizeof(which),
                                         .pOutputData = description,
                                         .OutputDataSize = sizeof(*description)};
    return ferry_vm_error_of_status(sched->core->miniport->DxgkDdiQueryAdapterInfo(sched->core->adapter, &argument));
}

static int look_at_levels(struct ferry_vm_sched *sched)
{
    DXGK_PAGE_TABLE_LEVEL_DESC levels[LEVELS] = {0};
    for (unsigned i = 0; i < LEVELS; i++) {
        int result = read_level(sched, i, &levels[i]);
        if (result != FERRY_OK)
            return result;
        if (levels[i].PageTableIndexBitCount != 9 || levels[i].PageTableSizeInBytes != PAGE_SIZE ||
            levels[i].PageTableAlignmentInBytes > PAGE_SIZE ||
            levels[i].PageTableSegmentId != levels[0].PageTableSegmentId ||
            levels[i].PagingProcessPageTableSegmentId != levels[0].PageTableSegmentId)
            return FERRY_ERROR_UNSUPPORTED;
    }
    sched->core->table_segment = levels[0].PageTableSegmentId;
    return FERRY_OK;
}

// Page tables as this manager makes them: four levels of 512 entries in a page, written by the GPU where they are,
// those of all levels and of the paging process in one place; entries may say that a page is cache-coherent, and a
// table goes with all of its entries at once. UNSUPPORTED when the miniport has others; a query that fails tells
// nothing of that, but why it does.
static int look_at_tables(struct ferry_vm_sched *sched)
{
    const DRIVER_INITIALIZATION_DATA *miniport = sched->core->miniport;
    const DXGK_VIDMMCAPS *caps = &sched->core->caps.MemoryManagementCaps;
    DXGK_QUERYGPUMMUCAPSIN which = {.PhysicalAdapterIndex = 0};
    DXGK_GPUMMUCAPS mmu = {0};
    DXGKARG_QUERYADAPTERINFO argument = {.Type = DXGKQAITYPE_GPUMMUCAPS,
                                         .pInputData = &which,
                                         .InputDataSize = sizeof(which),
                                         .pOutputData = &mmu,
                                         .OutputDataSize = sizeof(mmu)};
    // One of the two ways to have addresses, and ours.
    if (!caps->GpuMmuSupported || caps->IoMmuSupported || !miniport->DxgkDdiCreateProcess ||
        !miniport->DxgkDdiDestroyProcess)
        return FERRY_ERROR_UNSUPPORTED;
    NTSTATUS status = miniport->DxgkDdiQueryAdapterInfo(sched->core->adapter, &argument);
    if (!NT_SUCCESS(status))
        return ferry_vm_error_of_status(status);
    if (mmu.PageTableLevelCount != LEVELS || mmu.VirtualAddressBitCount != 48 || !mmu.LargePageSupported ||
        mmu.PageTableUpdateMode != DXGK_PAGETABLEUPDATE_GPU_PHYSICAL || !mmu.InvalidTlbEntriesNotCached ||
        mmu.PageTableUpdateRequireAddressSpaceIdle || mmu.ExplicitPageTableInvalidation ||
        !mmu.CacheCoherentMemorySupported)
        return FERRY_ERROR_UNSUPPORTED;
    sched->core->read_only_pages = mmu.ReadOnlyMemorySupported;
    return look_at_levels(sched);
}

int ferry_vm_read_caps(struct ferry_vm_sched *sched)
{
    DXGKARG_QUERYADAPTERINFO argument = {
        .Type = DXGKQAITYPE_DRIVERCAPS, .pOutputData = &sched->core->caps, .OutputDataSize = sizeof(sched->core->caps)};
    NTSTATUS status = sched->core->miniport->DxgkDdiQueryAdapterInfo(sched->core->adapter, &argument);
    if (!NT_SUCCESS(status))
        return ferry_vm_error_of_status(status);
    sched->node_count = sched->core->caps.NbAsymetricProcessingNodes;
    sched->paging_node = sched->core->caps.MemoryManagementCaps.PagingNode;
    // One node for paging and at least one for jobs.
    if (sched->node_count < 2 || sched->node_count > FERRY_VM_MAX_NODES || sched->paging_node >= sched->node_count)
        return FERRY_ERROR_UNSUPPORTED;
    return sched->core->caps.MemoryManagementCaps.VirtualAddressingSupported ? look_at_tables(sched) : FERRY_OK;
}

int ferry_vm_make_system_context(struct ferry_vm_sched *sched)
{
    DXGKARG_CREATEDEVICE device = {.Flags.SystemDevice = 1};
    NTSTATUS status = sched->core->miniport->DxgkDdiCreateDevice(sched->core->adapter, &device);
    if (!NT_SUCCESS(status))
        return ferry_vm_error_of_status(status);
    sched->system_device = device.hDevice;
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = sched->paging_node, .EngineAffinity = 1, .Flags.SystemContext = 1};
    status = sched->core->miniport->DxgkDdiCreateContext(sched->system_device, &context);
    if (NT_SUCCESS(status))
        sched->system_context = context.hContext;
    return ferry_vm_error_of_status(status);
}
