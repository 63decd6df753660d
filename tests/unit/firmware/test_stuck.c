// SPDX-License-Identifier: Apache-2.0
// An engine that has given memory up: what becomes of buffers, of what is to be forgotten, and of a reset.
#include "native.h"

// An engine that has given up takes nothing; every buffer ends at once, and an empty one is fine.
void stuck_engine_gets_no_jobs(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.stuck = true;
    put_copy(&b, 0, 0, 16, 0, 64);
    double_submit(1, b.words, b.count, 1, true);
    double_submit(1, b.words, 0, 2, false);
    double_submit(0, b.words, b.count, 3, false);
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_int_equal(machine.jobs_queued, 0);
    assert_int_equal(machine.fault_records, 2);
    assert_int_equal(double_fault_record(0)->words[FERRY_FAULT_RECORD_WHAT / 4] & 0xff, FERRY_FAULT_KIND_WATCHDOG);
    assert_int_equal(machine.rings[0].faults, 1);
    assert_int_equal(machine.rings[1].faults, 1);
    assert_int_equal(machine.rings[1].retired, 2);

    // In the middle of a buffer, with the queue full.
    double_reset();
    run_from_reset();
    machine.job_ticks = 1000000;
    b.count = 0;
    for (unsigned n = 0; n < 20; n++)
        put_copy(&b, 0, 0, 16, 0, 64);
    double_submit(1, b.words, b.count, 1, true);
    machine.stuck_at = 3000;
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_int_equal(machine.fault_records, 1);
    assert_int_equal(machine.rings[1].faults, 1);
    assert_in_range(machine.jobs_queued, 1, 19);
}

// What forgets page tables ends with memory that gives up; behind it, when memory is back, all goes on.
void a_stuck_engine_is_not_waited_for_to_forget(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    double_has_more();
    run_from_reset();
    machine.rights[0] |= FERRY_BAR0_RING_RIGHTS_TABLES_MASK;
    put_forget(&b, FERRY_FORGET_SCOPE_ALL, 0);
    machine.stuck = true;
    double_submit(0, b.words, b.count, 1, false);
    assert_true(run_machine(100000));
    double_submit(0, b.words, b.count, 2, false);
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_int_equal(machine.entries[0].action_count, 0);
    assert_int_equal(machine.fault_records, 2);
    for (unsigned n = 0; n < 2; n++)
        assert_int_equal(
            FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, double_fault_record(n)->words[FERRY_FAULT_RECORD_WHAT / 4]),
            FERRY_FAULT_KIND_WATCHDOG);
    assert_int_equal(machine.entries[1].action_count, 0);
    machine.stuck = false;
    double_submit(0, b.words, b.count, 3, false);
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_int_equal(machine.fault_records, 2);
    assert_int_equal(machine.entries[2].action_count, 1);
    assert_int_equal(machine.jobs_retired, 1);
}

// Memory comes back just as the firmware has seen the engine stuck and stops the sequencer: if its packet is taken
// nevertheless, the buffer is not refused. Tried for each time at which memory may come back.
void memory_comes_back_while_the_sequencer_is_stopped(void **state)
{
    unsigned taken_whole = 0, refused = 0;

    (void)state;
    for (unsigned after = 1; after < 200; after++) {
        struct buffer b = {.count = 0};

        double_reset();
        run_from_reset();
        machine.job_ticks = 10;
        put_copy(&b, 0, 0, 16, 0, 64);
        double_submit(1, b.words, b.count, 1, true);
        machine.stuck = true;
        machine.stuck_until = after;
        assert_true(run_machine(100000));
        assert_string_equal(machine.wrong, "");
        if (machine.entries[0].action_count == 1) {
            taken_whole++;
            assert_int_equal(machine.fault_records, 0);
            assert_int_equal(machine.rings[1].faults, 0);
        } else {
            refused++;
            assert_int_equal(machine.fault_records, 1);

            const uint32_t what = double_fault_record(0)->words[FERRY_FAULT_RECORD_WHAT / 4];

            assert_int_equal(FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what), FERRY_FAULT_KIND_WATCHDOG);
            assert_int_equal(FERRY_GET(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, what), 0);
        }
    }
    assert_in_range(taken_whole, 1, 198);
    assert_in_range(refused, 1, 198);
}

// A buffer that a stuck engine refused waits for room in the fault log. A reset gives up on the engine meanwhile: then
// that is what became of the buffer, of the packet that was refused on.
void reset_behind_a_stuck_engine(void **state)
{
    struct buffer bad = {.count = 0}, b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.log_is_read = false;
    machine.log_entries_log2 = 0;
    put_nop(&bad, 2);
    bad.words[0] |= 0xee;
    put_nop(&b, 2);
    put_copy(&b, 0, 0, 16, 0, 64);
    machine.stuck = true;
    double_submit(1, bad.words, bad.count, 1, false);
    double_submit(2, b.words, b.count, 2, false);
    assert_false(run_machine(20000));
    double_engine_reset(10);
    assert_false(run_machine(20000));
    machine.log_consumed++;
    assert_true(run_machine(20000));
    assert_string_equal(machine.wrong, "");
    assert_non_null(double_fault_record(1));
    assert_int_equal(double_fault_record(1)->words[FERRY_FAULT_RECORD_WHAT / 4],
                     FERRY_FAULT_KIND_ENGINE_RESET | FERRY_PUT(FERRY_FAULT_RECORD_WHAT_RING, 2u) |
                         FERRY_PUT(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, 8u));
}
