// SPDX-License-Identifier: Apache-2.0
// What the miniport reports as done, handing it more, and resets. Fence ids are 32 bits on the wire and 64 here: an id
// is the one nearest below the newest submission of its node.
#include "vidmm/sched/paging.h"

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

// Marks what went out as `fence`: as faulted when status says so, else as aborted by a reset that was not for it.
static void mark(struct ferry_vm_sched *sched, unsigned number, uint64_t fence, NTSTATUS status)
{
    bool aborted = NT_SUCCESS(status);
    if (number == sched->paging_node) {
        for (unsigned i = 0; i < sched->buffer_count; i++) {
            if (sched->buffers[i].fence != fence)
                continue;
            sched->buffers[i].faulted = !aborted;
            sched->buffers[i].aborted = aborted;
        }
        return;
    }
    const struct ferry_vm_node *node = &sched->nodes[number];
    for (struct ferry_vm_job *job = node->first; job && job != node->unsent; job = job->next) {
        if (job->wire != fence)
            continue;
        job->status = status;
        job->aborted = aborted;
    }
}

// What the reset of another node cuts off is no fault, and goes again; a fault of its own is one whenever it is told.
// So is what is said to be cut off and was sent behind every reset: sent again it might be told so for ever.
// Where all nodes are reset what was cut off ends: its own node's turn comes too late to abort it.
static NTSTATUS status_of_fault(const struct ferry_vm_sched *sched, unsigned number, uint64_t fence, NTSTATUS status)
{
    bool says_cut = status == STATUS_GRAPHICS_TRY_AGAIN_NOW;
    if (!says_cut || fence > sched->nodes[number].disturbed)
        return says_cut || NT_SUCCESS(status) ? STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE : status;
    return sched->reset_all && number != sched->paging_node ? STATUS_IO_TIMEOUT : STATUS_SUCCESS;
}

static VOID notify_interrupt(HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct ferry_vm_sched *sched = handle;
    UINT id, number;
    NTSTATUS status = STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE;
    bool faulted =
        data->InterruptType == DXGK_INTERRUPT_DMA_FAULTED || data->InterruptType == DXGK_INTERRUPT_DMA_PAGE_FAULTED;
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
        break;
    case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
        id = data->DmaPageFaulted.FaultedFenceId;
        number = data->DmaPageFaulted.NodeOrdinal;
        break;
    default: return;
    }
    uint64_t fence;
    struct ferry_vidmm_critical backwards = {.code = FERRY_CRITICAL_FENCE_BACKWARDS, .node = number, .fence = id};
    if (!widen(sched, number, id, &fence)) {
        ferry_vm_stop_critical(sched->core, backwards);
        return;
    }
    struct ferry_vm_node *node = &sched->nodes[number];
    if (fence <= node->reset_at)
        return;
    if (fence < node->reported) {
        backwards.fence = fence;
        ferry_vm_stop_critical(sched->core, backwards);
        return;
    }
    if (faulted)
        mark(sched, number, fence, status_of_fault(sched, number, fence, status));
    node->reported = fence;
    if (number != sched->paging_node)
        ferry_vm_jobs_reported(sched, number);
}

static VOID notify_dpc(HANDLE handle)
{
    struct ferry_vm_sched *sched = handle;
    for (unsigned i = 0; i < sched->node_count; i++) {
        if (sched->nodes[i].retired == sched->nodes[i].reported)
            continue;
        if (i == sched->paging_node)
            ferry_vm_paging_retired(sched);
        else
            ferry_vm_jobs_retired(sched, i);
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

// Most calls queue nothing, and nothing waits for them. What the device has it tells of when it is over.
static bool nothing_to_pump(const struct ferry_vm_sched *sched)
{
    bool paging_is_out = sched->unbuilt > sched->queued && !ferry_vm_holds_something(sched);
    if (sched->dpc_queued || (sched->done != sched->queued && !paging_is_out) || sched->unwanted_number != 0 ||
        !ferry_vm_list_empty(&sched->waiting_queues))
        return false;
    for (unsigned i = 0; i < sched->node_count; i++)
        if (sched->nodes[i].unsent || sched->nodes[i].retired != sched->nodes[i].reported)
            return false;
    return true;
}

void ferry_vm_pump(struct ferry_vm_sched *sched)
{
    if (sched->pumping || nothing_to_pump(sched))
        return;
    sched->pumping = true;
    bool moved = true;
    while (moved && sched->core->critical.code == FERRY_CRITICAL_NONE) {
        ferry_vm_drain(sched);
        moved = ferry_vm_pump_paging(sched);
        moved |= ferry_vm_pump_jobs(sched);
    }
    sched->pumping = false;
}

int ferry_vm_run(struct ferry_vm_sched *sched)
{
    int result = sched->core->platform.wait_for_progress(sched->core->platform.context);
    ferry_vm_drain(sched);
    ferry_vm_pump(sched);
    if (sched->core->critical.code != FERRY_CRITICAL_NONE)
        return FERRY_ERROR_CRITICAL;
    return result;
}

// From now on each job that is with the device runs without others, so that one that hangs again is the one to blame;
// and without the paging that was there with it, which comes to its end first.
static void suspect_all(struct ferry_vm_sched *sched)
{
    sched->suspected_at = sched->nodes[sched->paging_node].submitted;
    for (unsigned i = 0; i < sched->node_count; i++)
        for (struct ferry_vm_job *job = sched->nodes[i].first; job && job != sched->nodes[i].unsent; job = job->next)
            job->suspect = true;
}

int ferry_vm_reset_node(struct ferry_vm_sched *sched, unsigned number, enum ferry_vm_blame *whom)
{
    struct ferry_vm_node *node = &sched->nodes[number];
    uint64_t done, aborted, before = node->reported;
    sched->resetting = true;
    sched->reset_node = number;
    sched->reset_all = *whom == FERRY_VM_ALL;
    DXGKARG_QUERYCURRENTFENCE current = {.NodeOrdinal = number};
    if (!NT_SUCCESS(sched->core->miniport->DxgkDdiQueryCurrentFence(sched->core->adapter, &current)) ||
        !widen(sched, number, current.CurrentFence, &done) || done < node->reported)
        done = node->reported;
    for (unsigned i = 0; i < sched->node_count; i++)
        sched->nodes[i].disturbed = sched->nodes[i].submitted;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = number};
    NTSTATUS status = sched->core->miniport->DxgkDdiResetEngine(sched->core->adapter, &reset);
    sched->resetting = false;
    if (sched->core->critical.code != FERRY_CRITICAL_NONE)
        return FERRY_ERROR_CRITICAL;
    if (!NT_SUCCESS(status) || !widen(sched, number, reset.LastAbortedFenceId, &aborted)) {
        sched->reset_failed = true;
        ferry_vm_drain(sched);
        return FERRY_ERROR_TIMEOUT;
    }
    if (*whom == FERRY_VM_OLDEST && sched->reset_failed)
        *whom = FERRY_VM_NOBODY;
    sched->reset_failed = false;
    // What the miniport reported during the reset stands; the rest up to the last aborted one ends here.
    if (node->reported > done)
        done = node->reported;
    if (*whom == FERRY_VM_NOBODY)
        suspect_all(sched);
    // The oldest is what time was up for. When it has come to its end meanwhile, what stands behind it has only begun.
    if (*whom == FERRY_VM_OLDEST && done > before)
        *whom = FERRY_VM_NOBODY;
    bool blame = number != sched->paging_node && *whom != FERRY_VM_NOBODY;
    for (uint64_t fence = done + 1; fence <= aborted; fence++) {
        mark(sched, number, fence, blame ? STATUS_IO_TIMEOUT : STATUS_SUCCESS);
        blame = blame && *whom == FERRY_VM_ALL;
    }
    if (aborted > node->reported)
        node->reported = aborted;
    if (aborted > node->reset_at)
        node->reset_at = aborted;
    notify_dpc(sched);
    ferry_vm_drain(sched);
    return FERRY_OK;
}

#define QUIET_TURNS 4096 // of the wait hook, each with news of some sort

void ferry_vm_quiesce(struct ferry_vm_sched *sched)
{
    if (sched->quiet || sched->core->critical.code == FERRY_CRITICAL_NONE)
        return;
    sched->quiet = true;
    const struct ferry_vidmm_platform *platform = &sched->core->platform;
    for (unsigned turn = 0; turn < QUIET_TURNS && ferry_vm_in_flight(sched) > 0; turn++) {
        int result = platform->wait_for_progress(platform->context);
        ferry_vm_drain(sched);
        if (result != FERRY_OK)
            break;
    }
    // The engine is one for all nodes, and a submission that failed never ends. Of an engine that cannot be reset the
    // miniport sees to it that it reaches no memory any more.
    const DRIVER_INITIALIZATION_DATA *miniport = sched->core->miniport;
    bool runs = false;
    for (unsigned i = 0; i < sched->node_count; i++) {
        DXGKARG_RESETENGINE reset = {.NodeOrdinal = i};
        if (sched->nodes[i].in_flight > 0)
            runs |= !NT_SUCCESS(miniport->DxgkDdiResetEngine(sched->core->adapter, &reset));
    }
    if (runs && miniport->DxgkDdiResetFromTimeout)
        miniport->DxgkDdiResetFromTimeout(sched->core->adapter);
    ferry_vm_drain(sched);
}
