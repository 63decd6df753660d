// SPDX-License-Identifier: Apache-2.0
// Resets. The engine is one for all rings: a reset aborts every buffer that the device has fetched, whatever its node.
// Buffers that still stand in a ring in host memory are taken back.
#include <string.h>

#include "kmd/internal.h"

static int fetched(struct kmd_adapter *adapter, uint32_t node, uint32_t *number)
{
    return ferry_gpu_read32(adapter->gpu, FERRY_BAR0_RING_AT + node * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_FETCHED,
                            number);
}

#define FETCH_CYCLES 1000 // A turn; an entry takes about as long as the link there and back.
#define FETCH_TURNS  64   // Without any progress.

// What stands in a ring unfetched would run behind what a reset aborts, in the wrong order. The device fetches as many
// as it has slots for, so it is given the time for that.
static int let_fetch(struct kmd_adapter *adapter)
{
    for (unsigned turn = 0; turn < FETCH_TURNS; turn++) {
        bool all = true;
        for (uint32_t node = 0; node < KMD_RINGS; node++) {
            uint32_t number;
            int error = fetched(adapter, node, &number);

            if (error != FERRY_OK)
                return error;
            all = all && kmd_reached(number, adapter->rings[node].submitted);
        }
        if (all)
            break;
        int error = ferry_gpu_wait(adapter->gpu, FETCH_CYCLES);
        if (error != FERRY_OK && error != FERRY_ERROR_TIMEOUT)
            return error;
    }
    return FERRY_OK;
}

// The last free slot is the paging ring's, so beside paging a job may stand in its ring though the manager has no more
// with the device than that has slots. As slots become free it would run, before what is cut off does so again: it is
// taken back, and told as aborted once the reset is over. So is one whose doorbell was lost, if the device has not
// fetched it: which of both it is shows now, as nothing comes behind what closes the ring.
static int take_back(struct kmd_adapter *adapter, uint32_t node)
{
    struct kmd_ring *ring = &adapter->rings[node];
    uint32_t number;
    int error = fetched(adapter, node, &number);

    if (error != FERRY_OK || (kmd_reached(number, ring->submitted) && !ring->lost))
        return error;
    error = ferry_gpu_ring_take_back(adapter->gpu, node, &number);
    // One that an earlier reset took back the device has fetched as an empty one.
    if (error == FERRY_OK && ring->lost && kmd_reached(number, ring->submitted + 2) &&
        ring->ends[(ring->submitted + 1) % KMD_RING_ENTRIES] != KMD_END_TAKEN_BACK)
        kmd_ring_found(ring);
    for (; kmd_reached(ring->submitted + ring->lost, number); number++) {
        uint32_t slot = number % KMD_RING_ENTRIES;

        if (ring->ends[slot] != KMD_END_NOBODYS)
            ring->ends[slot] = KMD_END_TAKEN_BACK;
    }
    return error;
}

static int take_all_back(struct kmd_adapter *adapter)
{
    int error = FERRY_OK;

    for (uint32_t node = 0; node < KMD_RINGS && error == FERRY_OK; node++)
        error = take_back(adapter, node);
    return error;
}

// Reset the engine and wait until all that was fetched before has retired.
static int reset(struct kmd_adapter *adapter)
{
    uint32_t numbers[KMD_RINGS];

    // The reset itself lets the device run, so the rings are read afterwards too: what was fetched meanwhile is either
    // aborted or goes on, and in both cases retires without help.
    for (uint32_t node = 0; node < KMD_RINGS; node++) {
        int error = fetched(adapter, node, &numbers[node]);

        if (error != FERRY_OK)
            return error;
    }
    int error = ferry_gpu_reset_engine(adapter->gpu);
    for (uint32_t node = 0; node < KMD_RINGS && error == FERRY_OK; node++) {
        kmd_ring_opened(adapter, node);
        error = ferry_gpu_wait_retired(adapter->gpu, node, numbers[node], 0);
    }
    return error;
}

// None of the ring goes in again by itself: the newest of it is what the ring has come to.
static void drop(struct kmd_ring *ring)
{
    ring->notified = ring->submitted;
    ring->last_fence_id = ring->fence_ids[ring->submitted % KMD_RING_ENTRIES];
    if (ring->waiting_count)
        ring->last_fence_id = (uint32_t)ring->waiting[ring->waiting_count - 1].fence_value;
    ring->waiting_count = ring->shift = 0;
}

// What waits behind entries that were cut off may not run before those do so again: it is told as aborted like them.
static void tell_cut(struct kmd_adapter *adapter, uint32_t node)
{
    struct kmd_ring *ring = &adapter->rings[node];

    kmd_tell(adapter, node, ring->submitted);
    for (uint32_t i = 0; i < ring->waiting_count; i++)
        kmd_tell_faulted(adapter, node, (uint32_t)ring->waiting[i].fence_value, true);
    drop(ring);
    adapter->os.DxgkCbQueueDpc(adapter->os.DeviceHandle);
}

NTSTATUS kmd_reset_engine(HANDLE hAdapter, DXGKARG_RESETENGINE *arguments)
{
    struct kmd_adapter *adapter = hAdapter;

    if (!adapter || !arguments || arguments->NodeOrdinal >= KMD_RINGS)
        return STATUS_INVALID_PARAMETER;
    if (!adapter->started)
        return STATUS_DEVICE_NOT_READY;
    int error = let_fetch(adapter);
    kmd_interrupt_routine(adapter, 0); // What has ended by itself is told first.
    error = error == FERRY_OK ? take_all_back(adapter) : error;
    error = error == FERRY_OK ? reset(adapter) : error;
    // Or as late as the reset begins: reported aborted, it would run again.
    kmd_interrupt_routine(adapter, 0);
    adapter->reset_failed = error != FERRY_OK;
    if (error != FERRY_OK)
        return kmd_status(error);
    // The node's own are told by LastAbortedFenceId, other nodes' one by one.
    for (uint32_t node = 0; node < KMD_RINGS; node++) {
        struct kmd_ring *ring = &adapter->rings[node];

        if (!kmd_cut_off(ring))
            continue;
        if (node == arguments->NodeOrdinal)
            drop(ring);
        else
            tell_cut(adapter, node);
    }
    arguments->LastAbortedFenceId = adapter->rings[arguments->NodeOrdinal].last_fence_id;
    kmd_interrupt_routine(adapter, 0); // Rings that have run dry by this.
    // What the link did not take has not begun. Where nothing before it was cut off it goes in now, and nobody is told.
    for (uint32_t node = 0; node < KMD_RINGS; node++)
        kmd_ring_go_on(adapter, node);
    return STATUS_SUCCESS;
}

uint32_t kmd_pending(struct kmd_adapter *adapter)
{
    uint32_t entries = 0;

    for (uint32_t node = 0; node < KMD_RINGS; node++)
        entries += ferry_gpu_ring_pending(adapter->gpu, node) + adapter->rings[node].lost;
    return entries;
}

static NTSTATUS empty_rings(struct kmd_adapter *adapter)
{
    // What the device has not fetched would run as it gets the places of what is cut off: while memory that it names
    // is given back, or before what comes next.
    int error = take_all_back(adapter);
    if (error != FERRY_OK)
        return kmd_status(error);
    // Until the rings are empty: each round aborts what the device holds. The first one opens rings again that a lost
    // doorbell has closed.
    uint32_t before = 0;
    for (unsigned turns = 0;;) {
        kmd_drain_faults(adapter); // Each that is cut off is logged, and where the log is full none ends.
        error = reset(adapter);
        if (error != FERRY_OK)
            return kmd_status(error);
        uint32_t left = kmd_pending(adapter);
        if (!left)
            break;
        turns = left == before ? turns + 1 : 0;
        before = left;
        // Work that the device does not fetch will not come to an end.
        if (turns == FETCH_TURNS)
            return STATUS_DEVICE_REMOVED;
        error = turns ? ferry_gpu_wait(adapter->gpu, FETCH_CYCLES) : FERRY_OK;
        if (error != FERRY_OK && error != FERRY_ERROR_TIMEOUT)
            return kmd_status(error);
    }
    kmd_drain_faults(adapter);
    for (uint32_t node = 0; node < KMD_RINGS; node++)
        drop(&adapter->rings[node]);
    return STATUS_SUCCESS;
}

NTSTATUS kmd_reset_from_timeout(HANDLE hAdapter)
{
    struct kmd_adapter *adapter = hAdapter;

    if (!adapter)
        return STATUS_INVALID_PARAMETER;
    NTSTATUS status = empty_rings(adapter);
    adapter->reset_failed = status != STATUS_SUCCESS;
    // It may still work for all we know, and its manager gives pages back behind this.
    if (status != STATUS_SUCCESS)
        ferry_gpu_silence(adapter->gpu);
    return status;
}

NTSTATUS kmd_restart_from_timeout(HANDLE hAdapter)
{
    return hAdapter ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}
