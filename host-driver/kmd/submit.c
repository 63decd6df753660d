// SPDX-License-Identifier: Apache-2.0
// Submission, fences and interrupts. Node n is ring n; a submission is one ring entry, and the entry's fence value is
// the manager's SubmissionFenceId.
#include <stdlib.h>
#include <string.h>

#include "kmd/internal.h"

uint32_t kmd_retired(struct kmd_adapter *adapter, uint32_t ring)
{
    struct ferry_gpu_fence fence = {0};

    ferry_gpu_ring_completed(adapter->gpu, ring, &fence);
    // Until a reset has found out, one whose doorbell was lost is with nobody.
    const struct kmd_ring *own = &adapter->rings[ring];
    return own->lost && kmd_reached(fence.retired, own->submitted) ? own->submitted : fence.retired;
}

uint32_t kmd_retired_of_named(struct kmd_adapter *adapter, uint32_t ring)
{
    struct kmd_ring *own = &adapter->rings[ring];
    uint32_t retired = kmd_retired(adapter, ring);

    if (own->shift && !own->waiting_count && kmd_reached(retired, own->shifted_until))
        own->shift = 0;
    return retired - own->shift;
}

NTSTATUS kmd_status(int ferry_error)
{
    switch (ferry_error) {
    case FERRY_OK: return STATUS_SUCCESS;
    case FERRY_ERROR_NO_HOST_MEMORY: return STATUS_NO_MEMORY;
    case FERRY_ERROR_TIMEOUT: return STATUS_IO_TIMEOUT;
    case FERRY_ERROR_CONTRACT: return STATUS_REVISION_MISMATCH;
    case FERRY_ERROR_DEVICE_LOST: return STATUS_DEVICE_REMOVED;
    case FERRY_ERROR_ARGUMENT: return STATUS_INVALID_PARAMETER;
    case FERRY_ERROR_FAULT: return STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE;
    default: return STATUS_IO_DEVICE_ERROR;
    }
}

// The next entry's notes stand where those of the oldest do, of which the manager has to hear first.
static bool notes_are_full(struct kmd_adapter *adapter, uint32_t node)
{
    const struct kmd_ring *ring = &adapter->rings[node];

    if (ring->submitted - ring->notified == KMD_RING_ENTRIES)
        kmd_interrupt_routine(adapter, 0);
    return ring->submitted - ring->notified == KMD_RING_ENTRIES;
}

// Enter into the ring, waiting for room in it. The manager keeps far fewer buffers in flight than a ring has entries,
// so the wait is for programs that fill it with empty ones.
static int enter(struct kmd_adapter *adapter, uint32_t node, const struct ferry_gpu_entry *entry, uint32_t *number)
{
    for (;;) {
        int error =
            notes_are_full(adapter, node) ? FERRY_ERROR_BUSY : ferry_gpu_ring_submit(adapter->gpu, node, entry, number);

        if (error != FERRY_ERROR_BUSY)
            return error;
        const uint32_t newest = ferry_gpu_ring_newest(adapter->gpu, node);
        error = ferry_gpu_wait_retired(adapter->gpu, node, newest - KMD_RING_ENTRIES + 1, 0);
        if (error != FERRY_OK)
            return error;
    }
}

static void note_fence(struct kmd_ring *ring, uint32_t number, uint32_t fence_id, enum kmd_end end)
{
    ring->fence_ids[number % KMD_RING_ENTRIES] = fence_id;
    ring->ends[number % KMD_RING_ENTRIES] = end;
}

static void enter_fence(struct kmd_ring *ring, uint32_t number, uint32_t fence_id, enum kmd_end end)
{
    note_fence(ring, number, fence_id, end);
    ring->submitted = number;
}

static void lose(struct kmd_ring *ring, uint32_t fence_id)
{
    note_fence(ring, ring->submitted + 1, fence_id, KMD_END_GOOD);
    ring->lost = true;
}

static void forget_waiting(struct kmd_ring *ring, uint32_t count)
{
    ring->waiting_count -= count;
    memmove(ring->waiting, ring->waiting + count, ring->waiting_count * sizeof *ring->waiting);
}

void kmd_ring_found(struct kmd_ring *ring)
{
    ring->submitted++;
    ring->lost = false;
    // Of what an earlier start left nobody waits any more.
    if (ring->waiting_count)
        forget_waiting(ring, 1);
}

void kmd_ring_opened(struct kmd_adapter *adapter, uint32_t node)
{
    struct kmd_ring *ring = &adapter->rings[node];
    uint32_t newest = ferry_gpu_ring_newest(adapter->gpu, node);

    if (ring->lost && newest != ring->submitted) {
        enter_fence(ring, newest, ring->fence_ids[ring->submitted % KMD_RING_ENTRIES], KMD_END_NOBODYS);
        ring->shift++;
    }
    ring->lost = false;
}

// The link may stand still for longer than any doorbell is rung: nothing of that is the submission's doing, and a
// manager has no answer to a submission that fails. So it is kept, and for the manager it is on its way.
static int enter_or_keep(struct kmd_adapter *adapter, uint32_t node, const struct ferry_gpu_entry *entry)
{
    struct kmd_ring *ring = &adapter->rings[node];
    uint32_t number = 0;

    // Behind what a reset has cut off before it failed, or will yet, nothing may run.
    if (!ring->waiting_count && !adapter->reset_failed) {
        int error = enter(adapter, node, entry, &number);

        if (error == FERRY_OK)
            enter_fence(ring, number, (uint32_t)entry->fence_value, KMD_END_GOOD);
        if (error != FERRY_ERROR_DEVICE_LOST)
            return error;
        lose(ring, (uint32_t)entry->fence_value);
    }
    if (ring->waiting_count == KMD_RING_ENTRIES)
        return FERRY_ERROR_DEVICE_LOST;
    ring->waiting[ring->waiting_count++] = *entry;
    return FERRY_OK;
}

void kmd_ring_go_on(struct kmd_adapter *adapter, uint32_t node)
{
    struct kmd_ring *ring = &adapter->rings[node];
    uint32_t gone = 0;
    int error = FERRY_OK;

    while (gone < ring->waiting_count && error == FERRY_OK) {
        uint32_t number = 0;

        error = enter(adapter, node, &ring->waiting[gone], &number);
        if (error == FERRY_OK)
            enter_fence(ring, number, (uint32_t)ring->waiting[gone++].fence_value, KMD_END_GOOD);
    }
    forget_waiting(ring, gone);
    if (error == FERRY_ERROR_DEVICE_LOST)
        lose(ring, (uint32_t)ring->waiting[0].fence_value);
    ring->shifted_until = ring->submitted;
}

NTSTATUS kmd_submit_command(HANDLE hAdapter, const DXGKARG_SUBMITCOMMAND *s)
{
    struct kmd_adapter *adapter = hAdapter;

    if (!adapter || !s || s->DmaBufferSubmissionStartOffset > s->DmaBufferSubmissionEndOffset ||
        s->DmaBufferSubmissionEndOffset > s->DmaBufferSize)
        return STATUS_INVALID_PARAMETER;
    // Behind the stop its buffer may be gone, and a ring would run it all the same.
    if (!adapter->started)
        return STATUS_DEVICE_NOT_READY;
    const struct kmd_context *context = s->hContext;
    uint32_t node = s->Flags.Paging ? KMD_PAGING_RING : context ? context->node : KMD_RINGS;
    uint32_t bytes = s->DmaBufferSubmissionEndOffset - s->DmaBufferSubmissionStartOffset;
    if (node >= KMD_RINGS || s->NodeOrdinal != node || (node == KMD_PAGING_RING) != s->Flags.Paging || bytes % 8 ||
        bytes > adapter->info.slot_bytes)
        return STATUS_INVALID_PARAMETER;

    bool names_places;
    uint32_t done = kmd_resume(&adapter->rings[node], s, &names_places);
    if (done > bytes)
        return STATUS_INVALID_PARAMETER;
    const struct kmd_process *process = s->Flags.Paging ? NULL : context->device->process;
    // In a program's own space what it may reach is what its page tables say. Places are there by Patch alone, which
    // sees to it that they are its own.
    struct ferry_gpu_entry entry = {
        .buffer_address = (uint64_t)s->DmaBufferPhysicalAddress.QuadPart + s->DmaBufferSubmissionStartOffset + done,
        .buffer_bytes = bytes - done,
        .interrupt = true,
        .space = process ? process->space : 0,
        .virtual_only = process && !names_places,
        .fence_value = s->SubmissionFenceId,
    };
    return kmd_status(enter_or_keep(adapter, node, &entry));
}

// The device runs a buffer to its end, so the boundary of preemption is the buffer: the request is answered when the
// ring has run dry.
static bool answer_preemption(struct kmd_adapter *adapter, uint32_t node)
{
    struct kmd_ring *ring = &adapter->rings[node];

    if (!ring->preempting || ring->notified != ring->submitted || ring->waiting_count)
        return false;
    ring->preempting = false;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED};
    data.DmaPreempted.PreemptionFenceId = ring->preemption_fence_id;
    data.DmaPreempted.LastCompletedFenceId = ring->last_fence_id;
    data.DmaPreempted.NodeOrdinal = node;
    adapter->os.DxgkCbNotifyInterrupt(adapter->os.DeviceHandle, &data);
    return true;
}

NTSTATUS kmd_preempt_command(HANDLE hAdapter, const DXGKARG_PREEMPTCOMMAND *p)
{
    struct kmd_adapter *adapter = hAdapter;

    if (!adapter || !p || p->NodeOrdinal >= KMD_RINGS)
        return STATUS_INVALID_PARAMETER;
    // Nobody would be told of its end.
    if (!adapter->started)
        return STATUS_DEVICE_NOT_READY;
    adapter->rings[p->NodeOrdinal].preempting = true;
    adapter->rings[p->NodeOrdinal].preemption_fence_id = p->PreemptionFenceId;
    kmd_interrupt_routine(adapter, 0);
    return STATUS_SUCCESS;
}

NTSTATUS kmd_query_current_fence(HANDLE hAdapter, DXGKARG_QUERYCURRENTFENCE *q)
{
    struct kmd_adapter *adapter = hAdapter;

    if (!adapter || !q || q->NodeOrdinal >= KMD_RINGS)
        return STATUS_INVALID_PARAMETER;
    struct kmd_ring *ring = &adapter->rings[q->NodeOrdinal];
    uint32_t retired = kmd_retired(adapter, q->NodeOrdinal);

    kmd_drain_faults(adapter); // As in notify_ring().
    uint32_t ended = kmd_ended_before_cut(ring, retired);
    // Nobody's entry has the fence of the one before it.
    q->CurrentFence = ended == ring->notified ? ring->last_fence_id : ring->fence_ids[ended % KMD_RING_ENTRIES];
    return STATUS_SUCCESS;
}

// ---- Interrupts -------------------------------------------------------------------------------------------------

// Whoever never asks, or faults for ever, takes no more memory than this: the oldest make room.
static void keep_fault(struct kmd_adapter *adapter, const struct ferry_fault *fault)
{
    pthread_mutex_lock(&adapter->fault_lock);
    if (adapter->fault_count == FERRY_KMD_FAULTS_KEPT) {
        adapter->fault_first = (adapter->fault_first + 1) % adapter->fault_capacity;
        adapter->fault_count--;
    }
    if (adapter->fault_count == adapter->fault_capacity) {
        size_t capacity = adapter->fault_capacity ? 2 * adapter->fault_capacity : 64;
        struct ferry_fault *faults = malloc(capacity * sizeof *faults);

        if (faults) {
            for (size_t i = 0; i < adapter->fault_count; i++)
                faults[i] = adapter->faults[(adapter->fault_first + i) % adapter->fault_capacity];
            free(adapter->faults);
            adapter->faults = faults;
            adapter->fault_capacity = capacity;
            adapter->fault_first = 0;
        }
    }
    // Without memory for it the record is lost; the count and the errored fence still tell of it.
    if (adapter->fault_count < adapter->fault_capacity) {
        adapter->faults[(adapter->fault_first + adapter->fault_count) % adapter->fault_capacity] = *fault;
        adapter->fault_count++;
    }
    adapter->faults_total++;
    pthread_mutex_unlock(&adapter->fault_lock);
}

bool ferry_kmd_next_fault(HANDLE hAdapter, struct ferry_fault *fault)
{
    struct kmd_adapter *adapter = hAdapter;

    pthread_mutex_lock(&adapter->fault_lock);
    bool found = adapter->fault_count > 0;
    if (found) {
        *fault = adapter->faults[adapter->fault_first];
        adapter->fault_first = (adapter->fault_first + 1) % adapter->fault_capacity;
        adapter->fault_count--;
    }
    pthread_mutex_unlock(&adapter->fault_lock);
    return found;
}

uint64_t ferry_kmd_faults(HANDLE hAdapter)
{
    struct kmd_adapter *adapter = hAdapter;

    pthread_mutex_lock(&adapter->fault_lock);
    uint64_t total = adapter->faults_total;
    pthread_mutex_unlock(&adapter->fault_lock);
    return total;
}

// A fault record is written before the fence record of its buffer and names it by fence value; the buffer is one of the
// entries that the manager has not heard of yet.
static void mark_faulted(struct kmd_adapter *adapter, const struct ferry_fault *fault)
{
    if (fault->ring >= KMD_RINGS)
        return;
    struct kmd_ring *ring = &adapter->rings[fault->ring];
    for (uint32_t number = ring->notified + 1; kmd_reached(ring->submitted + ring->lost, number); number++) {
        uint32_t slot = number % KMD_RING_ENTRIES;
        bool by_reset = fault->kind == FERRY_FAULT_KIND_ENGINE_RESET;

        if (ring->fence_ids[slot] != (uint32_t)fault->fence_value || ring->ends[slot] != KMD_END_GOOD)
            continue;
        ring->ends[slot] = by_reset ? KMD_END_ABORTED : KMD_END_FAULTED;
        ring->faulted_at[slot] = fault->packet_offset;
        ring->written[slot] = by_reset ? fault->written : 0;
        return;
    }
}

void kmd_drain_faults(struct kmd_adapter *adapter)
{
    struct ferry_fault fault = {.size = sizeof fault};
    bool found = false;

    while (ferry_gpu_next_fault(adapter->gpu, &fault, &found) == FERRY_OK && found) {
        mark_faulted(adapter, &fault);
        if (fault.ring < KMD_RINGS)
            kmd_resume_count(&adapter->rings[fault.ring], &fault);
        keep_fault(adapter, &fault);
    }
}

static bool is_cut(enum kmd_end end)
{
    return end == KMD_END_ABORTED || end == KMD_END_TAKEN_BACK;
}

void kmd_tell_faulted(struct kmd_adapter *adapter, uint32_t node, uint32_t fence_id, bool cut)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_FAULTED};

    data.DmaFaulted.FaultedFenceId = fence_id;
    data.DmaFaulted.Status = cut ? STATUS_GRAPHICS_TRY_AGAIN_NOW : STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE;
    data.DmaFaulted.NodeOrdinal = node;
    adapter->os.DxgkCbNotifyInterrupt(adapter->os.DeviceHandle, &data);
}

bool kmd_tell(struct kmd_adapter *adapter, uint32_t node, uint32_t number)
{
    struct kmd_ring *ring = &adapter->rings[node];
    bool told = false, last_faulted = false;

    while (!kmd_reached(ring->notified, number)) {
        uint32_t slot = ++ring->notified % KMD_RING_ENTRIES;

        if (ring->ends[slot] == KMD_END_NOBODYS)
            continue;
        told = true;
        ring->last_fence_id = ring->fence_ids[slot];
        last_faulted = ring->ends[slot] != KMD_END_GOOD;
        if (last_faulted)
            kmd_tell_faulted(adapter, node, ring->last_fence_id, is_cut(ring->ends[slot]));
    }
    if (told && !last_faulted) {
        DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
        data.DmaCompleted.SubmissionFenceId = ring->last_fence_id;
        data.DmaCompleted.NodeOrdinal = node;
        adapter->os.DxgkCbNotifyInterrupt(adapter->os.DeviceHandle, &data);
    }
    return told;
}

uint32_t kmd_ended_before_cut(const struct kmd_ring *ring, uint32_t number)
{
    uint32_t ended = ring->notified;

    while (!kmd_reached(ended, number) && !is_cut(ring->ends[(ended + 1) % KMD_RING_ENTRIES]))
        ended++;
    return ended;
}

bool kmd_cut_off(const struct kmd_ring *ring)
{
    return kmd_ended_before_cut(ring, ring->submitted) != ring->submitted;
}

static bool notify_ring(struct kmd_adapter *adapter, uint32_t node)
{
    uint32_t retired = kmd_retired(adapter, node);

    kmd_drain_faults(adapter); // After the fence record was read: its fault records are there by now.
    // What a reset cuts off is no fault of its own, and the reset tells of it when it is over; if it fails, the next
    // one.
    bool told = kmd_tell(adapter, node, kmd_ended_before_cut(&adapter->rings[node], retired));
    return answer_preemption(adapter, node) || told;
}

bool kmd_interrupt_routine(HANDLE hAdapter, ULONG message)
{
    struct kmd_adapter *adapter = hAdapter;
    bool ours = false;

    (void)message;
    if (!adapter->started)
        return false;
    for (uint32_t node = 0; node < KMD_RINGS; node++)
        ours |= notify_ring(adapter, node);
    if (ours)
        adapter->os.DxgkCbQueueDpc(adapter->os.DeviceHandle);
    return ours;
}

VOID kmd_dpc_routine(HANDLE hAdapter)
{
    const struct kmd_adapter *adapter = hAdapter;

    // One that was asked for may come behind the stop, and whoever asked for it be gone.
    if (adapter->started)
        adapter->os.DxgkCbNotifyDpc(adapter->os.DeviceHandle);
}
