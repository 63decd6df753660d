// SPDX-License-Identifier: Apache-2.0
// Jobs of node 2 over a link that takes their doorbells, or a register's next write, late or not at all.
#ifndef DOORBELLS_H
#define DOORBELLS_H

#include "rig.h"

#include "device/device_state.h"
#include "kmd/internal.h"

#define DOORBELL (FERRY_BAR0_RING_AT + 2 * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_PRODUCER)

// What becomes of the next doorbells of ring 2, and of how many.
enum fate { TAKEN, LOST, LATE, SWALLOWED };
static unsigned doorbells;
static uint32_t newest_doorbell;
static unsigned taken_first; // So many of them are taken before that.
static uint64_t refused;     // A register of which the next write is not taken; 0 = none, as nobody writes that one.
static uint32_t late_cycles; // Of those that come late: so long before the one who rings hears that they did not.
static bool refused_late;    // It comes after all, as time passes, before whatever comes behind it.
static bool resets_late;     // A write to CONTROL does so too.
static uint32_t late_reset;

static struct ferry_link_operations slow_operations;
static const struct ferry_link_operations *own_operations;
static enum fate fate;

static void let_it_come(struct ferry_link *link)
{
    if (late_reset)
        own_operations->write32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_CONTROL, late_reset);
    late_reset = 0;
}

static int slow_read32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    if (!resets_late)
        let_it_come(link);
    return own_operations->read32(link, bar, offset, value);
}

static int slow_write32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    enum fate now = fate;

    if (!resets_late)
        let_it_come(link);
    if (bar == FERRY_BAR_REGISTERS && refused && offset == refused) {
        refused = 0;
        late_reset = refused_late ? value : 0;
        return FERRY_ERROR_TIMEOUT;
    }
    if (bar == FERRY_BAR_REGISTERS && resets_late && offset == FERRY_BAR0_CONTROL) {
        late_reset = value;
        return FERRY_OK;
    }
    if (bar != FERRY_BAR_REGISTERS || offset != DOORBELL || taken_first > 0) {
        taken_first -= bar == FERRY_BAR_REGISTERS && offset == DOORBELL;
        return own_operations->write32(link, bar, offset, value);
    }
    newest_doorbell = value;
    doorbells -= doorbells > 0;
    fate = doorbells > 0 ? now : TAKEN;
    if (now == TAKEN || now == LATE)
        own_operations->write32(link, bar, offset, value);
    if (now == LATE && late_cycles) {
        unsigned reasons;
        own_operations->pump(link, late_cycles, &reasons);
    }
    return now == LOST || now == LATE ? FERRY_ERROR_TIMEOUT : FERRY_OK;
}

static int slow_pump(struct ferry_link *link, uint64_t cycles, unsigned *reasons)
{
    let_it_come(link);
    return own_operations->pump(link, cycles, reasons);
}

static void make_link_slow(struct rig *rig)
{
    own_operations = rig->link->operations;
    slow_operations = *own_operations;
    slow_operations.read32 = slow_read32;
    slow_operations.write32 = slow_write32;
    slow_operations.pump = slow_pump;
    rig->link->operations = &slow_operations;
    fate = TAKEN;
}

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
