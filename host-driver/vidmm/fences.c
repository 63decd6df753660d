// SPDX-License-Identifier: Apache-2.0
// What the miniport reports as done, and waiting for it. Fence ids are 32 bits on the wire and 64 here: an id is the
// one nearest below the newest submission of its node.
#include "vidmm/internal.h"

static bool widen(struct ferry_vidmm *manager, unsigned node, UINT id, uint64_t *fence)
{
    if (node >= manager->node_count)
        return false;
    uint64_t submitted = manager->nodes[node].submitted;
    uint32_t behind = (uint32_t)submitted - id;
    if (behind > submitted)
        return false;
    *fence = submitted - behind;
    return true;
}

static void record_fault(struct ferry_vidmm *manager, struct ferry_vm_node *node, uint64_t fence, NTSTATUS status)
{
    if (node->fault_count == node->fault_capacity) {
        size_t capacity = node->fault_capacity ? node->fault_capacity * 2 : 8;
        struct ferry_vm_fault *faults = realloc(node->faults, capacity * sizeof(*faults));
        if (!faults) {
            // Losing a fault would be a silent wrong answer, so it ends the manager instead.
            ferry_vm_stop_critical(manager, (struct ferry_vidmm_critical){.code = FERRY_CRITICAL_FENCE_BACKWARDS,
                                                                          .status = STATUS_NO_MEMORY,
                                                                          .fence = fence});
            return;
        }
        node->faults = faults;
        node->fault_capacity = capacity;
    }
    node->faults[node->fault_count++] = (struct ferry_vm_fault){fence, status};
}

static VOID notify_interrupt(HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct ferry_vidmm *manager = handle;
    UINT id, number;
    NTSTATUS status = STATUS_SUCCESS;
    switch (data->InterruptType) {
    case DXGK_INTERRUPT_DMA_COMPLETED:
        id = data->DmaCompleted.SubmissionFenceId;
        number = data->DmaCompleted.NodeOrdinal;
        break;
    case DXGK_INTERRUPT_DMA_PREEMPTED:
        id = data->DmaPreempted.LastCompletedFenceId;
        number = data->DmaPreempted.NodeOrdinal;
        break;
    case DXGK_INTERRUPT_DMA_FAULTED:
        id = data->DmaFaulted.FaultedFenceId;
        number = data->DmaFaulted.NodeOrdinal;
        status = data->DmaFaulted.Status;
        if (NT_SUCCESS(status))
            status = STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE;
        break;
    default: return;
    }
    uint64_t fence;
    if (!widen(manager, number, id, &fence)) {
        ferry_vm_stop_critical(manager, (struct ferry_vidmm_critical){
                                            .code = FERRY_CRITICAL_FENCE_BACKWARDS, .node = number, .fence = id});
        return;
    }
    struct ferry_vm_node *node = &manager->nodes[number];
    if (fence <= node->reset_at)
        return;
    if (fence < node->reported) {
        ferry_vm_stop_critical(manager, (struct ferry_vidmm_critical){
                                            .code = FERRY_CRITICAL_FENCE_BACKWARDS, .node = number, .fence = fence});
        return;
    }
    if (!NT_SUCCESS(status))
        record_fault(manager, node, fence, status);
    node->reported = fence;
}

static VOID notify_dpc(HANDLE handle)
{
    struct ferry_vidmm *manager = handle;
    for (unsigned i = 0; i < manager->node_count; i++) {
        struct ferry_vm_node *node = &manager->nodes[i];
        if (node->completed == node->reported)
            continue;
        node->completed = node->reported;
        if (i == manager->paging_node) {
            for (size_t f = 0; f < node->fault_count; f++)
                ferry_vm_paging_faulted(manager, node->faults[f].fence);
            ferry_vm_paging_completed(manager, node->completed);
        } else {
            ferry_vm_jobs_completed(manager, i, node->completed);
        }
        node->fault_count = 0;
    }
}

static bool queue_dpc(HANDLE handle)
{
    struct ferry_vidmm *manager = handle;
    bool first = !manager->dpc_queued;
    manager->dpc_queued = true;
    return first;
}

void ferry_vm_interface(struct ferry_vidmm *manager)
{
    manager->interface = (DXGKRNL_INTERFACE){
        .Size = sizeof(DXGKRNL_INTERFACE),
        .Version = DXGKRNL_INTERFACE_VERSION,
        .DeviceHandle = manager,
        .DxgkCbNotifyInterrupt = notify_interrupt,
        .DxgkCbNotifyDpc = notify_dpc,
        .DxgkCbQueueDpc = queue_dpc,
    };
}

void ferry_vm_drain(struct ferry_vidmm *manager)
{
    while (manager->dpc_queued) {
        manager->dpc_queued = false;
        manager->miniport->DxgkDdiDpcRoutine(manager->adapter);
    }
}

int ferry_vm_run(struct ferry_vidmm *manager)
{
    int result = manager->platform.wait_for_progress(manager->platform.context);
    ferry_vm_drain(manager);
    if (manager->critical.code != FERRY_CRITICAL_NONE)
        return FERRY_ERROR_CRITICAL;
    return result;
}

int ferry_vm_reset_node(struct ferry_vidmm *manager, unsigned number)
{
    struct ferry_vm_node *node = &manager->nodes[number];
    uint64_t done;
    DXGKARG_QUERYCURRENTFENCE current = {.NodeOrdinal = number};
    if (!NT_SUCCESS(manager->miniport->DxgkDdiQueryCurrentFence(manager->adapter, &current)) ||
        !widen(manager, number, current.CurrentFence, &done) || done < node->reported)
        done = node->reported;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = number};
    NTSTATUS status = manager->miniport->DxgkDdiResetEngine(manager->adapter, &reset);
    ferry_vm_drain(manager);
    if (manager->critical.code != FERRY_CRITICAL_NONE)
        return FERRY_ERROR_CRITICAL;
    uint64_t aborted;
    if (!NT_SUCCESS(status) || !widen(manager, number, reset.LastAbortedFenceId, &aborted))
        return FERRY_ERROR_TIMEOUT;
    // What the miniport reported during the reset stands; the rest up to the last aborted one ends here, by fault.
    if (node->reported > done)
        done = node->reported;
    for (uint64_t fence = done + 1; fence <= aborted; fence++)
        record_fault(manager, node, fence, STATUS_IO_TIMEOUT);
    if (aborted > node->reported)
        node->reported = aborted;
    if (aborted > node->reset_at)
        node->reset_at = aborted;
    notify_dpc(manager);
    return FERRY_OK;
}

int ferry_vm_wait(struct ferry_vidmm *manager, unsigned number, uint64_t fence)
{
    struct ferry_vm_node *node = &manager->nodes[number];
    bool was_reset = false;
    uint64_t seen = node->completed;
    while (node->completed < fence) {
        if (number == manager->paging_node && fence > node->submitted) {
            int result = ferry_vm_flush(manager);
            if (result != FERRY_OK)
                return result;
            if (fence > node->submitted)
                return FERRY_OK; // nothing was written for it, so there is nothing to wait for
            continue;
        }
        int result = ferry_vm_run(manager);
        if (result == FERRY_ERROR_TIMEOUT && node->completed < fence) {
            if (was_reset && node->completed == seen)
                return FERRY_ERROR_TIMEOUT;
            was_reset = true;
            seen = node->completed;
            result = ferry_vm_reset_node(manager, number);
        }
        if (result < 0 && result != FERRY_ERROR_TIMEOUT)
            return result;
        if (result == FERRY_ERROR_TIMEOUT && node->completed < fence)
            return result;
    }
    return manager->critical.code != FERRY_CRITICAL_NONE ? FERRY_ERROR_CRITICAL : FERRY_OK;
}

int ferry_vm_wait_allocation(struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation, bool paging)
{
    for (unsigned i = 0; i < manager->node_count; i++) {
        if (i == manager->paging_node && !paging)
            continue;
        int result = ferry_vm_wait(manager, i, allocation->last_fence[i]);
        if (result != FERRY_OK)
            return result;
    }
    return FERRY_OK;
}

bool ferry_vm_busy(const struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation)
{
    for (unsigned i = 0; i < manager->node_count; i++)
        if (i != manager->paging_node && allocation->last_fence[i] > manager->nodes[i].completed)
            return true;
    return false;
}
