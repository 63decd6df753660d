// SPDX-License-Identifier: Apache-2.0
// Jobs of node 2 over a link that takes doorbells late or not at all.
#ifndef DOORBELLS_H
#define DOORBELLS_H

#include "late_link.h"

#include "kmd/internal.h"

static struct ferry_gpu_memory commands;
static HANDLE allocation;

static void begin(struct rig *rig)
{
    make_link_slow(rig);
    allocation = make_allocation(rig, 8192, false);
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
}

static void end(struct rig *rig)
{
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
}

static NTSTATUS submit(struct rig *rig, uint32_t fence)
{
    DXGKARG_SUBMITCOMMAND arguments = {.hContext = rig->user_context,
                                       .DmaBufferSize = 4096,
                                       .DmaBufferSubmissionEndOffset = 32,
                                       .SubmissionFenceId = fence,
                                       .NodeOrdinal = 2};

    arguments.DmaBufferPhysicalAddress.QuadPart = (int64_t)commands.bus;
    return rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &arguments);
}

static uint32_t current_fence(struct rig *rig)
{
    DXGKARG_QUERYCURRENTFENCE query = {.NodeOrdinal = 2};

    assert_int_equal(rig->kmd->DxgkDdiQueryCurrentFence(rig->adapter, &query), STATUS_SUCCESS);
    return query.CurrentFence;
}

// Fence 21 has ended; the doorbell of 22 is not taken in time, and 23 comes behind it.
static void lose_22(struct rig *rig, enum fate what)
{
    begin(rig);
    submit_user(rig, &commands, allocation, 0, 21);
    wait_for(rig, 2, 21);
    fate = what;
    doorbells = FERRY_GPU_DOORBELLS;
    submit_user(rig, &commands, allocation, 0, 22);
    submit_user(rig, &commands, allocation, 0, 23); // Nothing goes in behind what may come yet.
    assert_int_equal(fate, TAKEN);
    assert_true(kmd_allocation_is_busy(rig->adapter, allocation, 0));
}

// The device and the interrupt routine run.
static void run(struct rig *rig)
{
    for (unsigned i = 0; i < 5; i++)
        ferry_gpu_run(rig->gpu, 10000);
    rig->kmd->DxgkDdiInterruptRoutine(rig->adapter, 0);
}

// Jobs go as if nothing had been: each fence is told once.
static void works_from(struct rig *rig, uint32_t fence)
{
    for (uint32_t n = 0; n < 3; n++) {
        unsigned notes = rig->note_count;

        submit_user(rig, &commands, allocation, 0, fence + n);
        assert_true(kmd_allocation_is_busy(rig->adapter, allocation, 0));
        wait_for(rig, 2, fence + n);
        run(rig);
        assert_false(kmd_allocation_is_busy(rig->adapter, allocation, 0));
        assert_int_equal(rig->note_count, notes + 1);
        assert_int_equal(rig->notes[notes].type, DXGK_INTERRUPT_DMA_COMPLETED);
        assert_int_equal(rig->notes[notes].fence, fence + n);
    }
    assert_int_equal(ferry_gpu_ring_pending(rig->gpu, 2), 0);
}

// Both that waited have run, and each was told of once.
static void both_have_run(struct rig *rig, unsigned notes)
{
    assert_true(kmd_allocation_is_busy(rig->adapter, allocation, 0));
    for (uint32_t fence = 22; fence <= 23; fence++)
        wait_for(rig, 2, fence);
    run(rig);
    assert_false(kmd_allocation_is_busy(rig->adapter, allocation, 0));
    // Those that have ended by the time of the interrupt are told of by the last one's fence.
    assert_true(rig->note_count > notes && rig->note_count <= notes + 2);
    for (; notes < rig->note_count; notes++)
        assert_int_equal(rig->notes[notes].type, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(rig->notes[notes - 1].fence, 23);
    works_from(rig, 24);
}

#endif
