// SPDX-License-Identifier: Apache-2.0
// The IOMMU model (GpuVaIoMmu, GpuVaIoMmuGlobal): the pages of an allocation are mapped for the device by the root
// complex for as long as it is in an aperture, and no longer (R195 to R200). Who asks for it is told before: the
// miniport writes what makes the device forget them, that is executed, every paging operation that was queued by then
// is waited for, and then the pages are unmapped. Nobody stands still for that: it is an entry of the pager's line. An
// allocation that comes back before keeps its pages; later they are mapped again, at other bus addresses.
#include "vidmm/memory/mappings.h"

static const struct ferry_page_source *source_of(const struct ferry_vm_memory *memory)
{
    return memory->core->platform.pages;
}

int ferry_vm_iommu_read(struct ferry_vm_memory *memory)
{
    DXGK_PHYSICALADAPTERCAPS caps = {0};
    DXGKARG_QUERYADAPTERINFO query = {
        .Type = DXGKQAITYPE_PHYSICALADAPTERCAPS, .pOutputData = &caps, .OutputDataSize = sizeof(caps)};
    if (!ferry_vm_has_addresses(memory))
        return FERRY_OK;
    // Who does not know the query wants nothing of the kind. From any other failure nothing can be told, and with pages
    // that stay mapped for good nobody may begin who may have asked for the opposite.
    int error =
        ferry_vm_error_of_status(memory->core->miniport->DxgkDdiQueryAdapterInfo(memory->core->adapter, &query));
    if (error != FERRY_OK)
        return error == FERRY_ERROR_UNSUPPORTED ? FERRY_OK : error;
    memory->iommu = caps.Flags.GpuVaIommuRequired || caps.Flags.GpuVaIommuGlobalRequired;
    bool can = source_of(memory)->unmap && source_of(memory)->map;
    return memory->iommu && !can ? FERRY_ERROR_UNSUPPORTED : FERRY_OK;
}

int ferry_vm_iommu_prepare(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (allocation->unmapping == 0 || allocation->mapped_again ||
        !ferry_vm_operation_over(memory->sched, allocation->unmapping))
        return FERRY_OK;
    int result = source_of(memory)->map(source_of(memory)->context, allocation->backing);
    allocation->mapped_again = result == FERRY_OK;
    return result;
}

void ferry_vm_iommu_undo(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (allocation->mapped_again)
        source_of(memory)->unmap(source_of(memory)->context, allocation->backing);
    allocation->mapped_again = 0;
}

void ferry_vm_iommu_keep(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (allocation->unmapping != 0 && ferry_vm_unmap_never(memory->sched, allocation->unmapping))
        allocation->unmapping = 0;
}

void ferry_vm_iommu_arrive(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    ferry_vm_iommu_keep(memory, allocation);
    allocation->unmapping = 0;
    allocation->mapped_again = 0;
}

static void notify(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, uint64_t offset,
                   uint64_t pages, uint64_t address)
{
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_NOTIFY_ALLOC};
    argument.NotifyAllocation.hAllocation = allocation->miniport;
    argument.NotifyAllocation.hKmdProcessHandle = ferry_vm_virtual_handle(allocation->subject.device->process);
    argument.NotifyAllocation.Flags.IoMmuUnmap = 1;
    argument.NotifyAllocation.OffsetInBytes = offset * PAGE_SIZE;
    argument.NotifyAllocation.SizeInBytes = pages * PAGE_SIZE;
    argument.NotifyAllocation.GpuVirtualAddressAtOffset = address * PAGE_SIZE;
    ferry_vm_queue_notice(memory->sched, &argument, &allocation->subject);
}

size_t ferry_vm_iommu_most(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    return memory->iommu ? 2 + ((size_t)ferry_vm_virtual_all(allocation).count) : 0;
}

void ferry_vm_iommu_leave(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (!memory->iommu)
        return;
    // By each address that its program knows it by; of what has none, as a whole.
    for (const struct ferry_vm_range *range = allocation->mappings; allocation->iommu_notice && range;
         range = range->of_owner)
        notify(memory, allocation, ferry_vm_range_more(range)->offset, range->pages, range->first);
    if (allocation->iommu_notice && !allocation->mappings)
        notify(memory, allocation, 0, allocation->use.pages, 0);
    allocation->unmapping = ferry_vm_unmap_later(memory->sched, allocation->backing);
}
