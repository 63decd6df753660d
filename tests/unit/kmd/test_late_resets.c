// SPDX-License-Identifier: Apache-2.0
// Resets that fail, come late, or find jobs whose doorbells were lost: what they cut off or take back is told once, by
// the next one that succeeds, and nothing runs before it does so again.
#include "doorbells.h"

static unsigned queued_at_note; // DPCs, when something was told last

static void remember(struct rig *rig)
{
    queued_at_note = rig->queued;
    rig->then = remember;
}

// The first of so many jobs hangs on node 2, two wait behind them for doorbells of this fate, and a node is reset.
static DXGKARG_RESETENGINE reset_behind_a_hang(struct rig *rig, uint32_t jobs, enum fate theirs, UINT node,
                                               uint32_t fence)
{
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = node};

    begin(rig);
    ferry_model_hang(rig->model);
    for (; jobs; jobs--)
        submit_user(rig, &commands, allocation, 0, fence++);
    fate = theirs;
    doorbells = FERRY_GPU_DOORBELLS;
    assert_int_equal(submit(rig, fence), STATUS_SUCCESS);
    assert_int_equal(submit(rig, fence + 1), STATUS_SUCCESS);
    run(rig);
    rig->then = remember;
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    rig->then = NULL;
    return reset;
}

// The reset aborts all of them, in their order. Of three jobs the device has, and one more, be it that it seemed not to
// hear of it; a fourth it has no place for, and then what came late is an empty entry, and nobody's.
static void what_waits_behind_a_hang_is_aborted_with_it(void **state)
{
    struct rig *rig = *state;
    uint32_t fence = 21;
    uint64_t faults = 0;

    for (uint32_t jobs = 1; jobs <= 3; jobs++) {
        for (enum fate what = LOST; what <= LATE; what++) {
            DXGKARG_RESETENGINE reset = reset_behind_a_hang(rig, jobs, what, 2, fence);

            fence += jobs + 2;
            assert_int_equal(reset.LastAbortedFenceId, fence - 1);
            faults += jobs + (jobs < 3 && what == LATE);
            assert_int_equal(ferry_kmd_faults(rig->adapter), faults);
            assert_int_equal(current_fence(rig), fence - 1);
            works_from(rig, fence);
            fence += 3;
            rig->link->operations = own_operations;
            end(rig);
        }
    }
}

// The same where another node is reset: each is told as a fault, as that one's own aborted jobs are, also if the first
// one ends so late that an interrupt comes of it while the reset is waited for.
static void and_when_another_node_is_reset(void **state)
{
    struct rig *rig = *state;

    for (uint32_t late = 0; late < 2; late++) {
        unsigned notes = rig->note_count;

        resets_late = late > 0;
        DXGKARG_RESETENGINE reset = reset_behind_a_hang(rig, 1, LOST, 3, 21 + 9 * late);
        resets_late = false;
        assert_int_equal(reset.LastAbortedFenceId, 0);
        assert_int_equal(rig->note_count, notes + 3);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(rig->notes[notes + i].type, DXGK_INTERRUPT_DMA_FAULTED);
            assert_int_equal(rig->notes[notes + i].fence, 21 + 9 * late + i);
        }
        assert_true(rig->queued > queued_at_note); // Who hears of it there looks once more.
        works_from(rig, 24 + 9 * late);
        rig->link->operations = own_operations;
        end(rig);
    }
}

// Four jobs are more than there are slots for: the last one is taken back. The reset fails, or says so and comes after
// all, which ends those before it; what comes then stays behind it, and the next reset tells of both, in their order.
static void what_was_taken_back_is_told_though_the_reset_failed(void **state)
{
    struct rig *rig = *state;

    begin(rig);
    for (unsigned way = 0; way < 3; way++) {
        const UINT node = way == 0 ? 2 : 3; // The one whose work it is, and another.
        DXGKARG_RESETENGINE reset = {.NodeOrdinal = node};
        uint32_t fence = 21 + 9 * way;
        unsigned notes = rig->note_count;
        uint64_t ended = current_fence(rig);

        ferry_model_hang(rig->model);
        for (uint32_t n = 0; n < 4; n++)
            submit_user(rig, &commands, allocation, 0, fence + n);
        run(rig);
        refused = FERRY_BAR0_CONTROL;
        refused_late = way == 1;
        assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_IO_TIMEOUT);
        if (refused_late) {
            let_it_come(rig->link);
            ferry_model_run(rig->model, 50000); // Nobody hears of it.
            assert_int_equal(current_fence(rig), ended);
        }
        submit_user(rig, &commands, allocation, 0, fence + 4);
        run(rig);
        // Nobody's fault is told: what a reset cut off, be it late, goes again.
        assert_int_equal(rig->note_count, notes);
        assert_int_equal(current_fence(rig), ended);
        assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
        if (node == 2) {
            assert_int_equal(reset.LastAbortedFenceId, fence + 4);
            assert_int_equal(rig->note_count, notes);
        } else {
            assert_int_equal(rig->note_count, notes + 5);
            for (unsigned i = 0; i < 5; i++) {
                assert_int_equal(rig->notes[notes + i].type, DXGK_INTERRUPT_DMA_FAULTED);
                assert_int_equal(rig->notes[notes + i].fence, fence + i);
            }
        }
        assert_int_equal(current_fence(rig), fence + 4);
        works_from(rig, fence + 5);
    }
    end(rig);
}

// The reset fails, and the device works on: on empty entries, whose ends are nobody's.
static void what_was_taken_back_is_not_done_because_its_entries_are(void **state)
{
    struct rig *rig = *state;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};

    begin(rig);
    fate = SWALLOWED;
    doorbells = 2;
    assert_int_equal(submit(rig, 21), STATUS_SUCCESS);
    assert_int_equal(submit(rig, 22), STATUS_SUCCESS);
    refused = FERRY_BAR0_CONTROL;
    refused_late = false;
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_IO_TIMEOUT);
    own_operations->write32(rig->link, FERRY_BAR_REGISTERS, DOORBELL, newest_doorbell);
    run(rig);
    assert_int_equal(ferry_gpu_ring_pending(rig->gpu, 2), 0);
    assert_int_equal(rig->note_count, 0);
    assert_int_equal(current_fence(rig), 0);
    assert_int_equal(submit(rig, 23), STATUS_SUCCESS);
    run(rig);
    assert_int_equal(rig->note_count, 0);
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(reset.LastAbortedFenceId, 23);
    works_from(rig, 24);
    end(rig);
}

// So it is with one whose doorbell comes behind a reset that has failed: it goes in again, and runs.
static void an_empty_entry_is_not_taken_for_the_job(void **state)
{
    struct rig *rig = *state;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};

    lose_22(rig, LOST);
    run(rig);
    refused = FERRY_BAR0_CONTROL;
    refused_late = false;
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_IO_TIMEOUT);
    own_operations->write32(rig->link, FERRY_BAR_REGISTERS, DOORBELL, newest_doorbell);
    run(rig);
    assert_int_equal(rig->note_count, 1);
    assert_int_equal(current_fence(rig), 21);
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(reset.LastAbortedFenceId, 21);
    both_have_run(rig, 1);
    assert_int_equal(ferry_gpu_ring_newest(rig->gpu, 2), 7); // 21 to 26, and the empty one.
    end(rig);
}

// The device is stopped over a link that takes no reset, be it that one comes later, or that one had failed before:
// what stood in the rings is over when it has been started again, and nothing waits for a reset any more.
static void a_start_ends_what_a_stop_could_not_take_back(void **state)
{
    struct rig *rig = *state;
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};

    begin(rig);
    for (unsigned way = 0; way < 4; way++) {
        DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};
        const uint8_t ours[64] = {7, 7, 7};
        uint8_t there[64];

        if (way == 2)
            ferry_model_hang(rig->model);
        if (way < 3)
            submit_user(rig, &commands, allocation, 0, 21);
        refused_late = way == 1;
        refused = FERRY_BAR0_CONTROL;
        if (way >= 2)
            assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_IO_TIMEOUT);
        refused = way < 3 ? FERRY_BAR0_CONTROL : 0;
        assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
        assert_int_equal(refused, 0);
        assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
        for (uint32_t node = 0; node < KMD_RINGS; node++)
            assert_int_equal(ferry_gpu_ring_pending(rig->gpu, node), 0);
        assert_int_equal(ferry_gpu_window_write(rig->gpu, 0, ours, sizeof ours), FERRY_OK);
        run(rig);
        assert_int_equal(ferry_gpu_window_read(rig->gpu, 0, there, sizeof there), FERRY_OK);
        assert_memory_equal(there, ours, sizeof ours);
        assert_int_equal(current_fence(rig), 0);
        works_from(rig, 1);
    }
    end(rig);
}

static void set_page(struct rig *rig, uint64_t page, uint8_t byte)
{
    uint8_t bytes[4096];

    memset(bytes, byte, sizeof bytes);
    memset(bytes + 128, byte + 1, 64); // What jobs copy to its start.
    assert_int_equal(ferry_gpu_window_write(rig->gpu, page * sizeof bytes, bytes, sizeof bytes), FERRY_OK);
}

static void expect_first_byte(struct rig *rig, uint64_t page, uint8_t byte)
{
    uint8_t found;

    assert_int_equal(ferry_gpu_window_read(rig->gpu, page * 4096, &found, 1), FERRY_OK);
    assert_int_equal(found, byte);
}

// A reset of everything that fails may come yet, too: what comes behind it waits for the next one, which tells of all.
static void nothing_goes_in_behind_a_reset_from_timeout_that_failed(void **state)
{
    struct rig *rig = *state;

    begin(rig);
    for (unsigned late = 0; late < 2; late++) {
        DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};
        uint32_t fence = 21 + 9 * late;

        set_page(rig, 1, 7);
        ferry_model_hang(rig->model);
        submit_user(rig, &commands, allocation, 0, fence);
        run(rig);
        refused = FERRY_BAR0_CONTROL;
        refused_late = late > 0;
        assert_int_equal(rig->kmd->DxgkDdiResetFromTimeout(rig->adapter), STATUS_IO_TIMEOUT);
        let_it_come(rig->link);
        submit_user(rig, &commands, allocation, 4096, fence + 1);
        run(rig);
        expect_first_byte(rig, 1, 7);
        assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
        assert_int_equal(reset.LastAbortedFenceId, fence + 1);
        expect_first_byte(rig, 1, 7);
        works_from(rig, fence + 2);
    }
    end(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_waits_behind_a_hang_is_aborted_with_it),
        CASE(and_when_another_node_is_reset),
        CASE(what_was_taken_back_is_told_though_the_reset_failed),
        CASE(what_was_taken_back_is_not_done_because_its_entries_are),
        CASE(an_empty_entry_is_not_taken_for_the_job),
        CASE(a_start_ends_what_a_stop_could_not_take_back),
        CASE(nothing_goes_in_behind_a_reset_from_timeout_that_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
