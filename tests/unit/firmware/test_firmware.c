// SPDX-License-Identifier: Apache-2.0
// The firmware's own sources, built natively under the sanitizers, over the double of the hardware: whole scenarios,
// order, start and halt.
#include <stdio.h>
#include <stdlib.h>

#include "../../seed.h"
#include "halt.h"
#include "native.h"

static void every_packet(void **state)
{
    (void)state;
    must_be_null(scenario_every_packet());
}

static void rings_and_order(void **state)
{
    (void)state;
    must_be_null(scenario_rings_and_order());
}

static void faults_and_reset(void **state)
{
    (void)state;
    must_be_null(scenario_faults_and_reset());
}

static void reset_at_any_step(void **state)
{
    (void)state;
    must_be_null(scenario_reset_at_any_step());
}

static void fault_with_jobs_behind_it(void **state)
{
    (void)state;
    must_be_null(scenario_fault_with_jobs_behind_it());
}

// A slow job of a user ring runs on while the paging ring's table change is made.
static void table_change_waits_for_its_own_ring_only(void **state)
{
    struct buffer slow = {.count = 0}, change = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.job_ticks = 50000;
    put_copy(&slow, 0, 0, 16, 0, 64);
    put_map(&change, 0, 0, 4);
    double_submit(1, slow.words, slow.count, 1, false);
    assert_false(run_machine(1000));
    double_submit(0, change.words, change.count, 2, false);
    assert_false(run_machine(1000));
    assert_int_equal(machine.entries[1].action_count, 1);
    assert_int_equal(machine.jobs_retired, 0);
    assert_true(run_machine(200000));
    must_be_null(double_verify());
}

// As the first packet of its buffer, and none of its ring's before it, it waits for nothing: not for another user
// ring's job.
static void table_change_waits_for_no_other_buffers_jobs(void **state)
{
    struct buffer slow = {.count = 0}, change = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.job_ticks = 50000;
    machine.rights[2] |= FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK;
    put_copy(&slow, 0, 0, 16, 0, 64);
    put_map(&change, 0, 0, 4);
    double_submit(1, slow.words, slow.count, 1, false);
    assert_false(run_machine(1000));
    double_submit(2, change.words, change.count, 2, false);
    assert_false(run_machine(1000));
    assert_int_equal(machine.entries[1].action_count, 1);
    assert_int_equal(machine.jobs_retired, 0);
    assert_true(run_machine(200000));
    must_be_null(double_verify());
}

// While a user's change waits for its ring, the paging ring's buffers go on.
static void table_change_that_waits_lets_paging_pass(void **state)
{
    struct buffer change = {.count = 0}, paging = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.job_ticks = 50000;
    // What waits does not keep the sequencer from others.
    machine.look_ticks = 40;
    machine.rights[1] |= FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK;
    put_copy(&change, 0, 0, 16, 0, 64);
    put_map(&change, 0, 0, 4);
    put_nop(&paging, 2);
    double_submit(1, change.words, change.count, 1, false);
    assert_false(run_machine(1000));
    double_submit(0, paging.words, paging.count, 2, false);
    assert_false(run_machine(1000));
    assert_int_equal(machine.ended_count, 1);
    assert_int_equal(machine.jobs_retired, 0);
    assert_true(run_machine(200000));
    must_be_null(double_verify());
}

static void packets_are_counted_and_busy_is_not_waiting(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.job_ticks = 20000;
    for (unsigned n = 0; n < 20; n++)
        put_copy(&b, 0, 0, 16, 0, 64);
    double_submit(0, b.words, b.count, 1, false);
    assert_true(run_machine(1000000));
    must_be_null(double_verify());
    assert_int_equal(machine.packets, 20);
    assert_in_range(machine.busy_ticks, 1, 2000);

    // A change of the table waits for its ring's jobs, and then the firmware for the table.
    double_reset();
    run_from_reset();
    machine.job_ticks = 20000;
    machine.mmu_ticks_per_page = 100;
    b.count = 0;
    put_copy(&b, 0, 0, 16, 0, 64);
    put_map(&b, 0, 0, 90);
    double_submit(0, b.words, b.count, 1, false);
    assert_true(run_machine(1000000));
    must_be_null(double_verify());
    assert_int_equal(machine.packets, 2);
    assert_in_range(machine.busy_ticks, 1, 2000);

    // Behind it the firmware is as busy as it is without: with packets that it checks itself.
    uint64_t busy[2];
    for (unsigned change = 0; change < 2; change++) {
        struct buffer checked = {.count = 0};

        double_reset();
        run_from_reset();
        if (change)
            put_map(&checked, 0, 0, 90);
        for (unsigned n = 0; n < 40; n++)
            put_read(&checked, 0, 0, 8, 64);
        double_submit(0, checked.words, checked.count, 1, false);
        assert_true(run_machine(1000000));
        must_be_null(double_verify());
        busy[change] = machine.busy_ticks;
    }
    assert_true(busy[1] >= busy[0]);

    // It counts as a packet too when the job in front of it has faulted, as those do that the engine drops.
    double_reset();
    run_from_reset();
    double_submit(0, b.words, b.count, 1, false);
    double_fault_job(0, FERRY_FAULT_KIND_LOCAL_ERROR, true, 0, 0);
    assert_true(run_machine(1000000));
    must_be_null(double_verify());
    assert_int_equal(double_status(0), FERRY_BUFFER_STATUS_FAULTED);
    assert_int_equal(machine.packets, 2);
}

static void other_contract_is_refused(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    for (unsigned side = 0; side < 4; side++) {
        double_reset();
        run_from_reset();
        put_nop(&b, 2);
        double_submit(0, b.words, 2, 1, false);
        machine.hardware_contract += side == 0 ? 0x10000 : side == 2 ? 7 : 0;
        machine.host_contract += side == 1 ? 0x10000 : side == 3 ? 9 : 0;
        assert_true(run_machine(10000));
        assert_int_equal(machine.stage[FERRY_CORE_FIRMWARE_VERSION / 4], FERRY_CONTRACT_VERSION);
        // Another minor number is fine.
        assert_int_equal(double_state(), side < 2 ? FERRY_FIRMWARE_STATE_REFUSED : FERRY_FIRMWARE_STATE_RUNNING);
        assert_int_equal(machine.claim_count, side < 2 ? 0 : 1);
    }
}

// Sizes that the firmware has no room for, each at its bounds.
static void sizes_of_no_device_halt(void **state)
{
    static const struct {
        uint32_t mask, shift, least, most;
    } sizes[] = {
        {FERRY_BAR0_CAPABILITIES_SLOTS_MASK, FERRY_BAR0_CAPABILITIES_SLOTS_SHIFT, 1, 4},
        {FERRY_BAR0_CAPABILITIES_RINGS_MASK, FERRY_BAR0_CAPABILITIES_RINGS_SHIFT, 1, FERRY_CORE_RING_COUNT},
        {FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2_MASK, FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2_SHIFT, 3, 12},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (uint32_t size = 0; size < 16; size++) {
            bool good = size >= sizes[i].least && size <= sizes[i].most;

            double_reset();
            run_from_reset();
            machine.capabilities = (machine.capabilities & ~sizes[i].mask) | size << sizes[i].shift;
            // A firmware before this one has halted.
            machine.stage[FERRY_CORE_HALT_CODE / 4] = FERRY_HALT_STACK;
            machine.stage[FERRY_CORE_HALT_ARGUMENT / 4] = 1;
            assert_true(run_machine(1000));
            assert_int_equal(double_state(), good ? FERRY_FIRMWARE_STATE_RUNNING : FERRY_FIRMWARE_STATE_HALTED);
            assert_int_equal(machine.stage[FERRY_CORE_HALT_CODE / 4], good ? FERRY_HALT_NONE : FERRY_HALT_CAPABILITIES);
            assert_int_equal(machine.stage[FERRY_CORE_HALT_ARGUMENT / 4], good ? 0 : machine.capabilities);
        }
}

static void broken_invariants_halt(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    put_copy(&b, 0, 0, 16, 0, 64);

    // Jobs that are left from before.
    double_reset();
    run_from_reset();
    machine.jobs_queued++;
    assert_true(run_machine(10000));
    assert_int_equal(double_state(), FERRY_FIRMWARE_STATE_HALTED);
    assert_int_equal(machine.stage[FERRY_CORE_HALT_CODE / 4], FERRY_HALT_JOBS_QUEUED);

    // A fault of a slot that holds nothing.
    double_reset();
    run_from_reset();
    double_submit(0, b.words, b.count, 1, false);
    assert_true(run_machine(10000));
    machine.engine_fault = FERRY_CORE_ENGINE_FAULT_VALID_MASK | FERRY_FAULT_KIND_WATCHDOG;
    machine.poison = 1;
    double_submit(1, b.words, b.count, 2, false);
    assert_true(run_machine(10000));
    assert_int_equal(double_state(), FERRY_FIRMWARE_STATE_HALTED);
    assert_int_equal(machine.stage[FERRY_CORE_HALT_CODE / 4], FERRY_HALT_FAULT_SLOT);

    // A fault of no packet: between two, behind the buffer, or none.
    for (unsigned what = 0; what < 3; what++) {
        double_reset();
        run_from_reset();
        machine.job_ticks = 20000;
        double_submit(0, b.words, b.count, 1, false);
        assert_false(run_machine(1000));
        machine.engine_fault = FERRY_CORE_ENGINE_FAULT_VALID_MASK |
                               (what == 2 ? FERRY_FAULT_KIND_NONE : FERRY_FAULT_KIND_WATCHDOG) |
                               FERRY_PUT(FERRY_CORE_ENGINE_FAULT_SLOT, machine.entries[0].slot) |
                               FERRY_PUT(FERRY_CORE_ENGINE_FAULT_PACKET_OFFSET, what == 0   ? 4u
                                                                                : what == 1 ? 32u
                                                                                            : 0u);
        assert_true(run_machine(10000));
        assert_int_equal(double_state(), FERRY_FIRMWARE_STATE_HALTED);
        assert_int_equal(machine.stage[FERRY_CORE_HALT_CODE / 4], FERRY_HALT_FAULT_KIND);
    }

    // A buffer of a ring behind the last.
    double_reset();
    run_from_reset();
    double_submit(1, b.words, b.count, 1, false);
    machine.capabilities =
        (machine.capabilities & ~FERRY_BAR0_CAPABILITIES_RINGS_MASK) | FERRY_PUT(FERRY_BAR0_CAPABILITIES_RINGS, 1u);
    assert_true(run_machine(10000));
    assert_int_equal(double_state(), FERRY_FIRMWARE_STATE_HALTED);
    assert_int_equal(machine.stage[FERRY_CORE_HALT_CODE / 4], FERRY_HALT_RING);

    // More bytes than a slot has, without a fault: eight more; as many are good.
    for (unsigned words = 4; words <= 6; words += 2) {
        struct buffer nop = {.count = 0};

        put_nop(&nop, words);
        double_reset();
        run_from_reset();
        double_submit(0, nop.words, nop.count, 1, false);
        machine.capabilities = (machine.capabilities & ~FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2_MASK) |
                               FERRY_PUT(FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2, 4u);
        assert_true(run_machine(10000));
        assert_int_equal(double_state(), words == 4 ? FERRY_FIRMWARE_STATE_RUNNING : FERRY_FIRMWARE_STATE_HALTED);
    }
    assert_int_equal(machine.stage[FERRY_CORE_HALT_CODE / 4], FERRY_HALT_BUFFER_BYTES);
}

static void restart_goes_on_behind_the_counters(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    put_copy(&b, 0, 0, 16, 0, 64);
    // It waits for the ring's earlier entries, of which only the lower bits are known.
    put_map(&b, 0, 0, 1);
    machine.rings[0].retired = machine.first_retired[0] = 41;
    machine.rings[0].faults = 3;
    machine.rings[0].last_faulted = 40;
    machine.jobs_queued = machine.jobs_retired = 0xfffffffe;
    for (unsigned i = 0; i < 4; i++)
        double_submit(0, b.words, b.count, i, false);
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_int_equal(machine.posts[3].words[FERRY_FENCE_RECORD_RETIRED / 4], 45);
    assert_int_equal(machine.posts[3].words[FERRY_FENCE_RECORD_FAULTS / 4], 3);
    assert_int_equal(machine.posts[3].words[FERRY_FENCE_RECORD_LAST_FAULTED / 4], 40);
    assert_int_equal(machine.posts[3].words[FERRY_FENCE_RECORD_STATUS / 4], FERRY_BUFFER_STATUS_SUCCESS);
    assert_int_equal(machine.jobs_retired, 2);
}

// The double compares each buffer with the oracle; this is the long run over random ones, in which the sequencer leaves
// good packets too, now and then or always.
static void random_runs(void **state)
{
    const unsigned runs = getenv("FERRY_LONG") ? 1500 : 500; // The long form is that of `make soak-seeds`.

    (void)state;
    uint64_t seed = seed_given(1);
    printf("%u runs\n", runs);
    for (unsigned run = 0; run < runs; run++, seed++) {
        const char *why = scenario_random(seed);

        if (why)
            fail_msg("FERRY_SEED=%llu: %s", (unsigned long long)seed, why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_packet),
        cmocka_unit_test(rings_and_order),
        cmocka_unit_test(faults_and_reset),
        cmocka_unit_test(reset_at_any_step),
        cmocka_unit_test(fault_with_jobs_behind_it),
        cmocka_unit_test(every_bad_form),
        cmocka_unit_test(bad_page_of_a_table_change),
        cmocka_unit_test(stuck_engine_gets_no_jobs),
        cmocka_unit_test(packet_that_ends_with_a_nop_header_past_the_end),
        cmocka_unit_test(protected_range),
        cmocka_unit_test(protected_content_is_discarded),
        cmocka_unit_test(empty_protected_range),
        cmocka_unit_test(rights_of_page_tables_that_are_not_there),
        cmocka_unit_test(rectangles_that_are_not_there),
        cmocka_unit_test(a_stuck_engine_is_not_waited_for_to_forget),
        cmocka_unit_test(full_fault_log_loses_nothing),
        cmocka_unit_test(engine_fault_is_named_from_its_packet),
        cmocka_unit_test(table_change_beside_a_fault_that_cannot_be_told),
        cmocka_unit_test(faults_of_virtual_addresses_tell_of_walks),
        cmocka_unit_test(second_engine_fault_cannot_hang_the_core),
        cmocka_unit_test(first_fault_of_a_slot_counts),
        cmocka_unit_test(fault_before_a_reset_is_told),
        cmocka_unit_test(fault_before_memory_gives_up_is_told),
        cmocka_unit_test(memory_comes_back_while_the_sequencer_is_stopped),
        cmocka_unit_test(table_change_waits_for_its_own_ring_only),
        cmocka_unit_test(table_change_waits_for_no_other_buffers_jobs),
        cmocka_unit_test(table_change_that_waits_lets_paging_pass),
        cmocka_unit_test(packets_are_counted_and_busy_is_not_waiting),
        cmocka_unit_test(other_contract_is_refused),
        cmocka_unit_test(sizes_of_no_device_halt),
        cmocka_unit_test(broken_invariants_halt),
        cmocka_unit_test(restart_goes_on_behind_the_counters),
        cmocka_unit_test(restart_goes_on_in_the_fault_log),
        cmocka_unit_test(unread_entry_of_a_long_ring),
        cmocka_unit_test(reset_behind_a_stuck_engine),
        cmocka_unit_test(paging_comes_beside_a_fault),
        cmocka_unit_test(protected_content_and_page_lists),
        cmocka_unit_test(rectangles_that_end_at_4_gib),
        cmocka_unit_test(roots_to_the_bit),
        cmocka_unit_test(what_is_forgotten_to_the_bit),
        cmocka_unit_test(rectangles_to_the_byte),
        cmocka_unit_test(ranges_to_the_byte),
        cmocka_unit_test(rights_to_the_bit),
        cmocka_unit_test(random_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
