// SPDX-License-Identifier: Apache-2.0
// What the miniport reports as done, and waiting for it. Fence ids are 32 bits on the wire and 64 here: an id is the
// one nearest below the newest submission of its node.
#include <stdlib.h>

#include "vidmm/sched/sched.h"

static bool widen(struct ferry_vm_sched *sched, unsigned node, UINT id, uint64_t *fence)
{
    if (node >= sched->node_count)
        return false;
    uint64_t submitted = sched->nodes[node].submitted;
    uint32_t behind = (uint32_t)submitted - id;
    if (behind > submitted)
        return false;
    *fence = submitted - behind;
    return true;
}

static void record_fault(struct ferry_vm_sched *sched, struct ferry_vm_node *node, uint64_t fence, NTSTATUS status)
{
    if (node->fault_count == node->fault_capacity) {
        size_t capacity = node->fault_capacity ? node->fault_capacity * 2 : 8;
        struct ferry_vm_fault *faults = realloc(node->faults, capacity * sizeof(*faults));
        if (!faults) {
            // Losing a fault would be a silent wrong answer, so it ends the sched instead.
            ferry_vm_stop_critical(sched->core, (struct ferry_vidmm_critical){.code = FERRY_CRITICAL_FENCE_BACKWARDS,
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
    struct ferry_vm_sched *sched = handle;
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
    if (!widen(sched, number, id, &fence)) {
        ferry_vm_stop_critical(sched->core, (struct ferry_vidmm_critical){
                                                .code = FERRY_CRITICAL_FENCE_BACKWARDS, .node = number, .fence = id});
        return;
    }
    struct ferry_vm_node *node = &sched->nodes[number];
    if (fence <= node->reset_at)
        return;
    if (fence < node->reported) {
        ferry_vm_stop_critical(
            sched->core,
            (struct ferry_vidmm_critical){.code = FERRY_CRITICAL_FENCE_BACKWARDS, .node = number, .fence = fence});
        return;
    }
    if (!NT_SUCCESS(status))
        record_fault(sched, node, fence, status);
    node->reported = fence;
}

static VOID notify_dpc(HANDLE handle)
{
    struct ferry_vm_sched *sched = handle;
    for (unsigned i = 0; i < sched->node_count; i++) {
        struct ferry_vm_node *node = &sched->nodes[i];
        if (node->completed == node->reported)
            continue;
        node->completed = node->reported;
        if (i == sched->paging_node) {
            for (size_t f = 0; f < node->fault_count; f++)
                ferry_vm_paging_faulted(sched, node->faults[f].fence);
            ferry_vm_paging_completed(sched, node->completed);
        } else {
            ferry_vm_jobs_completed(sched, i, node->completed);
        }
        node->fault_count = 0;
    }
}

static bool queue_dpc(HANDLE handle)
{
    struct ferry_vm_sched *sched = handle;
    bool first = !sched->dpc_queued;
    sched->dpc_queued = true;
    return first;
}

void ferry_vm_interface(struct ferry_vm_sched *sched)
{
    sched->interface = (DXGKRNL_INTERFACE){
        .Size = sizeof(DXGKRNL_INTERFACE),
        .Version = DXGKRNL_INTERFACE_VERSION,
        .DeviceHandle = sched,
        .DxgkCbNotifyInterrupt = notify_interrupt,
        .DxgkCbNotifyDpc = notify_dpc,
        .DxgkCbQueueDpc = queue_dpc,
    };
}

void ferry_vm_drain(struct ferry_vm_sched *sched)
{
    while (sched->dpc_queued) {
        sched->dpc_queued = false;
        sched->core->miniport->DxgkDdiDpcRoutine(sched->core->adapter);
    }
}

int ferry_vm_run(struct ferry_vm_sched *sched)
{
    int result = sched->core->platform.wait_for_progress(sched->core->platform.context);
    ferry_vm_drain(sched);
    if (sched->core->critical.code != FERRY_CRITICAL_NONE)
        return FERRY_ERROR_CRITICAL;
    return result;
}

int ferry_vm_reset_node(struct ferry_vm_sched *sched, unsigned number)
{
    struct ferry_vm_node *node = &sched->nodes[number];
    uint64_t done;
    DXGKARG_QUERYCURRENTFENCE current = {.NodeOrdinal = number};
    if (!NT_SUCCESS(sched->core->miniport->DxgkDdiQueryCurrentFence(sched->core->adapter, &current)) ||
        !widen(sched, number, current.CurrentFence, &done) || done < node->reported)
        done = node->reported;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = number};
    NTSTATUS status = sched->core->miniport->DxgkDdiResetEngine(sched->core->adapter, &reset);
    ferry_vm_drain(sched);
    if (sched->core->critical.code != FERRY_CRITICAL_NONE)
        return FERRY_ERROR_CRITICAL;
    uint64_t aborted;
    if (!NT_SUCCESS(status) || !widen(sched, number, reset.LastAbortedFenceId, &aborted))
        return FERRY_ERROR_TIMEOUT;
    // What the miniport reported during the reset stands; the rest up to the last aborted one ends here, by fault.
    if (node->reported > done)
        done = node->reported;
    for (uint64_t fence = done + 1; fence <= aborted; fence++)
        record_fault(sched, node, fence, STATUS_IO_TIMEOUT);
    if (aborted > node->reported)
        node->reported = aborted;
    if (aborted > node->reset_at)
        node->reset_at = aborted;
    notify_dpc(sched);
    return FERRY_OK;
}

int ferry_vm_wait(struct ferry_vm_sched *sched, unsigned number, uint64_t fence)
{
    struct ferry_vm_node *node = &sched->nodes[number];
    bool was_reset = false;
    uint64_t seen = node->completed;
    while (node->completed < fence) {
        if (number == sched->paging_node && fence > node->submitted) {
            int result = ferry_vm_flush(sched);
            if (result != FERRY_OK)
                return result;
            if (fence > node->submitted)
                return FERRY_OK; // nothing was written for it, so there is nothing to wait for
            continue;
        }
        int result = ferry_vm_run(sched);
        if (result == FERRY_ERROR_TIMEOUT && node->completed < fence) {
            if (was_reset && node->completed == seen)
                return FERRY_ERROR_TIMEOUT;
            was_reset = true;
            seen = node->completed;
            result = ferry_vm_reset_node(sched, number);
        }
        if (result < 0 && result != FERRY_ERROR_TIMEOUT)
            return result;
        if (result == FERRY_ERROR_TIMEOUT && node->completed < fence)
            return result;
    }
    return sched->core->critical.code != FERRY_CRITICAL_NONE ? FERRY_ERROR_CRITICAL : FERRY_OK;
}

int ferry_vm_wait_allocation(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject, bool paging)
{
    for (unsigned i = 0; i < sched->node_count; i++) {
        if (i == sched->paging_node && !paging)
            continue;
        int result = ferry_vm_wait(sched, i, subject->last_fence[i]);
        if (result != FERRY_OK)
            return result;
    }
    return FERRY_OK;
}

bool ferry_vm_busy(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject)
{
    for (unsigned i = 0; i < sched->node_count; i++)
        if (i != sched->paging_node && subject->last_fence[i] > sched->nodes[i].completed)
            return true;
    return false;
}
