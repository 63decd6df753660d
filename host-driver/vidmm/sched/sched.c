// SPDX-License-Identifier: Apache-2.0
// What the miniport says of its nodes, and the context that paging runs in.
#include "vidmm/sched/sched.h"

int ferry_vm_read_caps(struct ferry_vm_sched *sched)
{
    DXGKARG_QUERYADAPTERINFO argument = {
        .Type = DXGKQAITYPE_DRIVERCAPS, .pOutputData = &sched->core->caps, .OutputDataSize = sizeof(sched->core->caps)};
    NTSTATUS status = sched->core->miniport->DxgkDdiQueryAdapterInfo(sched->core->adapter, &argument);
    if (!NT_SUCCESS(status))
        return ferry_vm_error_of_status(status);
    sched->node_count = sched->core->caps.NbAsymetricProcessingNodes;
    sched->paging_node = sched->core->caps.MemoryManagementCaps.PagingNode;
    // One node for paging and at least one for jobs; GPU virtual addresses are not this manager's business yet.
    if (sched->node_count < 2 || sched->node_count > FERRY_VM_MAX_NODES || sched->paging_node >= sched->node_count ||
        sched->core->caps.MemoryManagementCaps.VirtualAddressingSupported)
        return FERRY_ERROR_UNSUPPORTED;
    return FERRY_OK;
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
