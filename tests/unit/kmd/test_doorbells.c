// SPDX-License-Identifier: Apache-2.0
// Doorbells that the link does not take in time. Rung again they are taken, and nothing has been; when none is, the
// submission waits, whether the device hears of it or not, until a reset finds out and has made the ring good again.
#include "doorbells.h"

#include <unistd.h>

static void one_of_many_that_is_not_taken_costs_nothing(void **state)
{
    struct rig *rig = *state;
    uint32_t fence = 21;

    begin(rig);
    for (enum fate what = LOST; what <= LATE; what++) {
        for (unsigned refused = 1; refused < FERRY_GPU_DOORBELLS; refused++) {
            unsigned notes = rig->note_count;
            fate = what;
            doorbells = refused;
            assert_int_equal(submit(rig, fence), STATUS_SUCCESS);
            assert_int_equal(fate, TAKEN);
            wait_for(rig, 2, fence);
            run(rig);
            assert_int_equal(rig->note_count, notes + 1);
            assert_int_equal(rig->notes[notes].fence, fence++);
        }
    }
    works_from(rig, fence);
    end(rig);
}

static void a_reset_from_timeout_ends_and_opens_the_ring(void **state)
{
    struct rig *rig = *state;

    lose_22(rig, LOST);
    assert_int_equal(ferry_gpu_ring_pending(rig->gpu, 2), 0);
    alarm(20); // It must not go round for ever.
    assert_int_equal(rig->kmd->DxgkDdiResetFromTimeout(rig->adapter), STATUS_SUCCESS);
    alarm(0);
    assert_int_equal(current_fence(rig), 23);
    works_from(rig, 24);
    end(rig);
}

// Nobody's job hangs, so none is told as aborted, whatever node is reset.
static void an_engine_reset_lets_what_waited_run(void **state)
{
    struct rig *rig = *state;

    lose_22(rig, LOST);
    for (uint32_t node = 2; node <= 3; node++) {
        DXGKARG_RESETENGINE reset = {.NodeOrdinal = node};
        unsigned notes = rig->note_count;
        if (node == 3) {
            fate = LOST;
            doorbells = FERRY_GPU_DOORBELLS;
            submit_user(rig, &commands, allocation, 0, 27);
        }
        assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
        assert_int_equal(reset.LastAbortedFenceId, node == 2 ? 21 : 0);
        if (node == 2) {
            both_have_run(rig, notes);
            continue;
        }
        wait_for(rig, 2, 27);
        run(rig);
        assert_int_equal(rig->note_count, notes + 1);
        assert_int_equal(rig->notes[notes].type, DXGK_INTERRUPT_DMA_COMPLETED);
        works_from(rig, 28);
    }
    end(rig);
}

// The link stands still again when they go in: they wait for the next reset.
static void a_second_standstill_keeps_them_waiting(void **state)
{
    struct rig *rig = *state;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};

    lose_22(rig, LOST);
    run(rig);
    for (unsigned n = 0; n < 3; n++) {
        fate = n < 2 ? LOST : TAKEN;
        doorbells = n < 2 ? FERRY_GPU_DOORBELLS : 0;
        assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
        assert_int_equal(reset.LastAbortedFenceId, 21);
        if (n < 2) {
            run(rig);
            assert_int_equal(current_fence(rig), 21);
        }
    }
    both_have_run(rig, 1);
    end(rig);
}

// It stands still between them: what has gone in does not go in again with what is left, be it that it went in before.
static void stand_still_between_them(struct rig *rig, enum fate what)
{
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};

    lose_22(rig, what);
    run(rig);
    unsigned notes = rig->note_count;
    fate = LOST;
    doorbells = FERRY_GPU_DOORBELLS;
    taken_first = what == LOST;
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(reset.LastAbortedFenceId, what == LOST ? 21 : 22);
    wait_for(rig, 2, 22);
    run(rig);
    assert_int_equal(current_fence(rig), 22);
    assert_true(kmd_allocation_is_busy(rig->adapter, allocation, 0)); // The one that waits names it.
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(reset.LastAbortedFenceId, 22);
    wait_for(rig, 2, 23);
    run(rig);
    assert_int_equal(rig->note_count, notes + 2);
    for (uint32_t n = 0; n < 2; n++)
        assert_int_equal(rig->notes[notes + n].fence, 22 + n);
    works_from(rig, 24);
    end(rig);
}

static void a_standstill_between_them_keeps_only_the_rest_waiting(void **state)
{
    stand_still_between_them(*state, LOST);
}

static void and_behind_one_that_came_late(void **state)
{
    stand_still_between_them(*state, LATE);
}

// The device had the entry all the time, or even before the last try: it has run, once, which the reset finds out.
static void one_whose_answer_alone_was_lost_runs_once(void **state)
{
    struct rig *rig = *state;

    for (uint32_t n = 0; n < 4; n++) {
        DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2 + n / 2};

        late_cycles = n % 2 * 2000;
        lose_22(rig, LATE);
        late_cycles = 0;
        run(rig);
        assert_int_equal(current_fence(rig), 21);
        unsigned notes = rig->note_count;
        assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
        assert_int_equal(reset.LastAbortedFenceId, reset.NodeOrdinal == 2 ? 22 : 0);
        assert_int_equal(rig->note_count, notes + 1);
        assert_int_equal(current_fence(rig), 22);
        both_have_run(rig, notes);
        assert_int_equal(ferry_gpu_ring_newest(rig->gpu, 2), 6 * (n + 1)); // 21 to 26.
        DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};
        assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
        assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
        rig->link->operations = own_operations;
        rig->note_count = 0;
        end(rig);
    }
}

// Then a fault of its own is one.
static void and_its_fault_is_told(void **state)
{
    struct rig *rig = *state;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 3};

    begin(rig);
    fate = LATE;
    doorbells = FERRY_GPU_DOORBELLS;
    submit_user(rig, &commands, allocation, LOCAL_BYTES, 21);
    run(rig);
    assert_int_equal(rig->note_count, 0);
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(rig->note_count, 1);
    assert_int_equal(rig->notes[0].type, DXGK_INTERRUPT_DMA_FAULTED);
    assert_int_equal(rig->notes[0].fence, 21);
    works_from(rig, 22);
    end(rig);
}

static void until_then_the_ring_has_not_run_dry(void **state)
{
    struct rig *rig = *state;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};
    DXGKARG_PREEMPTCOMMAND preempt = {.NodeOrdinal = 2, .PreemptionFenceId = 90};

    lose_22(rig, LATE);
    run(rig);
    assert_int_equal(rig->note_count, 1);
    assert_int_equal(current_fence(rig), 21);
    assert_int_equal(rig->kmd->DxgkDdiPreemptCommand(rig->adapter, &preempt), STATUS_SUCCESS);
    assert_int_equal(rig->note_count, 1);
    const uint64_t before = ferry_gpu_cycles(rig->gpu);
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_true(ferry_gpu_cycles(rig->gpu) - before < 20000); // It does not wait for an entry that has gone by.
    assert_int_equal(current_fence(rig), 22);
    wait_for(rig, 2, 23);
    run(rig);
    assert_int_equal(rig->notes[rig->note_count - 1].type, DXGK_INTERRUPT_DMA_PREEMPTED);
    assert_int_equal(rig->notes[rig->note_count - 1].last, 23);
    for (unsigned i = 1; i < rig->note_count - 1; i++)
        assert_true(rig->notes[i].type == DXGK_INTERRUPT_DMA_COMPLETED && rig->notes[i].fence >= 22);
    assert_false(kmd_allocation_is_busy(rig->adapter, allocation, 0));
    works_from(rig, 24);
    end(rig);
}

// The link says that it took it, and the device never hears of it.
static void work_that_never_arrives_ends_a_reset_by_name(void **state)
{
    struct rig *rig = *state;

    begin(rig);
    fate = SWALLOWED;
    assert_int_equal(submit(rig, 21), STATUS_SUCCESS);
    alarm(20);
    assert_int_equal(rig->kmd->DxgkDdiResetFromTimeout(rig->adapter), STATUS_DEVICE_REMOVED);
    alarm(0);
    end(rig);
}

// Also where the stop could not even find out whether it came.
static void a_restart_opens_the_ring_too(void **state)
{
    struct rig *rig = *state;
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};

    for (enum fate what = LOST; what <= LATE; what++) {
        for (unsigned in_vain = 0; in_vain < 2; in_vain++) {
            lose_22(rig, what);
            run(rig);
            refused = in_vain ? FERRY_BAR0_RING_AT + 2 * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_CONTROL : 0;
            assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
            assert_int_equal(rig->gpu->ring[2].lost, in_vain); // Else nothing of it comes to the device from now on.
            assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
            assert_int_equal(current_fence(rig), 0);
            works_from(rig, 1);
            rig->link->operations = own_operations;
            end(rig);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_of_many_that_is_not_taken_costs_nothing),
        CASE(a_reset_from_timeout_ends_and_opens_the_ring),
        CASE(an_engine_reset_lets_what_waited_run),
        CASE(a_second_standstill_keeps_them_waiting),
        CASE(a_standstill_between_them_keeps_only_the_rest_waiting),
        CASE(and_behind_one_that_came_late),
        CASE(one_whose_answer_alone_was_lost_runs_once),
        CASE(and_its_fault_is_told),
        CASE(until_then_the_ring_has_not_run_dry),
        CASE(work_that_never_arrives_ends_a_reset_by_name),
        CASE(a_restart_opens_the_ring_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
