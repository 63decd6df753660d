// SPDX-License-Identifier: Apache-2.0
// The device layer over a fake link: rings, waiting, counters and control.
#include <string.h>

#include "link/problem.h"
#include "rig.h"

// ---- Rings ------------------------------------------------------------------------------------------------------

static void ring_registers_and_entries_are_as_the_contract_says(void **context)
{
    struct state *state = *context;
    uint32_t number;
    const struct ferry_gpu_entry entry = {0x1234567890, 64, true, 0, false, 0xabcdef0123456789};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 3, FERRY_GPU_RIGHT_SYSTEM), FERRY_OK);
    const uint32_t ring = FERRY_BAR0_RING_AT + 2 * FERRY_BAR0_RING_STRIDE;
    assert_int_equal(reg(state, ring + FERRY_BAR0_RING_BASE) % 4096, 0);
    assert_int_equal(reg(state, ring + FERRY_BAR0_RING_ENTRIES_LOG2), 3);
    assert_int_equal(reg(state, ring + FERRY_BAR0_RING_RIGHTS), 1);
    assert_int_equal(reg(state, ring + FERRY_BAR0_RING_CONTROL), 1);
    assert_int_equal(reg(state, ring + FERRY_BAR0_RING_FENCE_ADDRESS) % 64, 0);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 2, &entry, &number), FERRY_OK);
    assert_int_equal(number, 1);
    assert_int_equal(reg(state, ring + FERRY_BAR0_RING_PRODUCER), 1);
    const struct ferry_ring_entry *written = fake_link_entry(state->fake, 2, 0);
    assert_true(written->buffer_address == 0x1234567890 && written->buffer_bytes == 64 && written->flags == 1);
    assert_true(written->fence_value == 0xabcdef0123456789 && written->reserved == 0);
    assert_int_equal(ferry_gpu_ring_pending(state->gpu, 2), 1);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 2, number, 0), FERRY_OK);
    struct ferry_gpu_fence fence;
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 2, &fence), FERRY_OK);
    assert_true(fence.value == 0xabcdef0123456789 && fence.retired == 1 && fence.status == 0 && fence.faults == 0);
    assert_int_equal(ferry_gpu_ring_pending(state->gpu, 2), 0);
    const struct ferry_gpu_entry silent = {0x1234567890, 64, false, 0, false, 2};
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 2, &silent, &number), FERRY_OK);
    assert_int_equal(fake_link_entry(state->fake, 2, 1)->flags, 0);
}

static void a_full_ring_is_busy_and_goes_round(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_entry entry = {.buffer_bytes = 0};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 1, 7), FERRY_OK);
    for (uint32_t round = 0; round < 5; round++) {
        uint32_t number = 0;
        for (uint32_t n = 0; n < 2; n++) {
            entry.fence_value = 2 * round + n + 1;
            assert_int_equal(ferry_gpu_ring_submit(state->gpu, 0, &entry, &number), FERRY_OK);
            assert_int_equal(number, 2 * round + n + 1);
        }
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 0, &entry, NULL), FERRY_ERROR_BUSY);
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, number, 0), FERRY_OK);
        assert_int_equal(fake_link_entry(state->fake, 0, 1)->fence_value, 2 * round + 2);
    }
}

static void bad_ring_arguments_change_nothing(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_fence fence;
    struct ferry_gpu_entry entry = {.buffer_bytes = 8};
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 1, &fence), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 5, 3, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 13, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 3, 8), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 3, 0), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 3, 0), FERRY_ERROR_ARGUMENT);
    entry.buffer_address = 4;
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_ERROR_ARGUMENT);
    entry = (struct ferry_gpu_entry){.buffer_bytes = 12};
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_ERROR_ARGUMENT);
    entry.buffer_bytes = 4104;
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, NULL, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(reg(state, FERRY_BAR0_RING_AT + FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_PRODUCER), 0);
}

// Whoever asks for a right, or to be confined, hears when the device knows nothing of that.
static void a_ring_has_the_rights_that_the_device_knows(void **context)
{
    (void)context;
    const uint32_t always = FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK | FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK |
                            FERRY_BAR0_RING_RIGHTS_PROTECTED_MASK;
    for (uint32_t page_tables = 0; page_tables < 2; page_tables++) {
        struct ferry_gpu *gpu;
        bool closed = false;
        uint32_t known = always | (page_tables != 0 ? FERRY_BAR0_RING_RIGHTS_TABLES_MASK : 0), ring = 0, value;
        struct fake_link *fake = fake_link_create(&closed);
        fake->registers[FERRY_BAR0_CAPABILITIES / 4] |= FERRY_PUT(FERRY_BAR0_CAPABILITIES_PAGE_TABLES, page_tables);
        assert_int_equal(ferry_gpu_open(&fake->link, NULL, &gpu), FERRY_OK);
        for (uint32_t right = 1; right != 0; right <<= 1) {
            assert_int_equal(ferry_gpu_ring_create(gpu, ring, 3, right),
                             known & right ? FERRY_OK : FERRY_ERROR_ARGUMENT);
            if (known & right) {
                const uint32_t at = FERRY_BAR0_RING_AT + ring++ * FERRY_BAR0_RING_STRIDE;
                assert_int_equal(ferry_gpu_read32(gpu, at + FERRY_BAR0_RING_RIGHTS, &value), FERRY_OK);
                assert_int_equal(value, right);
            }
        }
        ferry_gpu_close(gpu);
    }
}

static void a_fault_shows_in_the_fence(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_fence fence;
    const struct ferry_gpu_entry entry = {.fence_value = 9};
    uint32_t number;
    state->fake->error_status = FERRY_BUFFER_STATUS_FAULTED;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 4, 7), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 0, &entry, &number), FERRY_OK);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, number, 0), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 0, &fence), FERRY_OK);
    assert_true(fence.status == FERRY_BUFFER_STATUS_FAULTED && fence.faults == 1 && fence.last_faulted == 1);
}

// ---- Waiting ----------------------------------------------------------------------------------------------------

static void waits_end_after_exactly_their_cycles(void **context)
{
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {0};
    state->fake->retire_cycles = 0;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 4, 7), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 0, &entry, NULL), FERRY_OK);
    uint64_t before = ferry_gpu_cycles(state->gpu);
    assert_int_equal(ferry_gpu_wait(state->gpu, 70123), FERRY_ERROR_TIMEOUT);
    assert_int_equal(ferry_gpu_cycles(state->gpu) - before, 70123);
    before = ferry_gpu_cycles(state->gpu);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, 1, 0), FERRY_ERROR_TIMEOUT);
    assert_int_equal(ferry_gpu_cycles(state->gpu) - before, FERRY_GPU_DEFAULT_TIMEOUT);
    before = ferry_gpu_cycles(state->gpu);
    assert_int_equal(ferry_gpu_run(state->gpu, 45678), FERRY_OK);
    assert_int_equal(ferry_gpu_cycles(state->gpu) - before, 45678);
}

// A buffer that moves much takes long: it is waited for as long as any words go, whichever way.
static void who_waits_is_patient_while_words_move(void **context)
{
    static const uint32_t ways[] = {FERRY_BAR0_COUNTER_LOCAL_READ_BEATS, FERRY_BAR0_COUNTER_LOCAL_WRITE_BEATS,
                                    FERRY_BAR0_COUNTER_HOST_READ_BEATS, FERRY_BAR0_COUNTER_HOST_WRITE_BEATS};
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {0};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 4, 7), FERRY_OK);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        state->fake->moving = ways[i];
        uint64_t before = ferry_gpu_cycles(state->gpu);
        assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_OK);
        assert_int_equal(ferry_gpu_cycles(state->gpu) - before, FERRY_GPU_DEFAULT_TIMEOUT);
        // Who names a number of cycles waits no longer.
        assert_int_equal(ferry_gpu_wait(state->gpu, 70123), FERRY_ERROR_TIMEOUT);
        state->fake->moving = 0;
        assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_ERROR_TIMEOUT);
    }
    // The engine being busy is not enough.
    state->fake->moving = FERRY_BAR0_COUNTER_ENGINE_BUSY;
    assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_ERROR_TIMEOUT);
    state->fake->moving = FERRY_BAR0_COUNTER_HOST_READ_BEATS;
    state->fake->retire_cycles = 3 * (uint64_t)FERRY_GPU_DEFAULT_TIMEOUT;
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 0, &entry, NULL), FERRY_OK);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, 1, 0), FERRY_OK);
    // What a counter that cannot be read says is nothing.
    state->fake->deaf_until = UINT64_MAX;
    assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_ERROR_TIMEOUT);
}

// The words are looked at when a wait has lasted a while and when its time is up, and at no other moment.
static void words_are_looked_at_twice(void **context)
{
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {0};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 4, 7), FERRY_OK);
    // What is soon over asks for none.
    state->fake->retire_cycles = FERRY_GPU_DEFAULT_TIMEOUT / 10;
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 0, &entry, NULL), FERRY_OK);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, 1, 0), FERRY_OK);
    assert_int_equal(state->fake->counter_reads, 0);
    // What has moved between counts, though it has ended before the time is up. A look is two reads.
    state->fake->moving = FERRY_BAR0_COUNTER_HOST_READ_BEATS;
    state->fake->still_from = ferry_gpu_cycles(state->gpu) + FERRY_GPU_DEFAULT_TIMEOUT / 2;
    assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_OK);
    assert_int_equal(state->fake->counter_reads, 4);
    assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_ERROR_TIMEOUT);
    // A first look that failed is made again, and is none at no words.
    state->fake->deaf_until = ferry_gpu_cycles(state->gpu) + FERRY_GPU_DEFAULT_TIMEOUT / 2;
    assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_ERROR_TIMEOUT);
    state->fake->still_from = 0;
    state->fake->deaf_until = ferry_gpu_cycles(state->gpu) + FERRY_GPU_DEFAULT_TIMEOUT / 2;
    assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_OK);
    // Who comes to look when time is up already, since others had the device, waits anew.
    uint64_t before = ferry_gpu_cycles(state->gpu);
    state->fake->leap = FERRY_GPU_DEFAULT_TIMEOUT;
    assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_OK);
    assert_true(ferry_gpu_cycles(state->gpu) - before < 3 * (uint64_t)FERRY_GPU_DEFAULT_TIMEOUT);
    // And from its look on, however long others had the device before that, whether time is up then or nearly so.
    const uint64_t late[2][2] = {{FERRY_GPU_DEFAULT_TIMEOUT, 2 * (uint64_t)FERRY_GPU_DEFAULT_TIMEOUT},
                                 {FERRY_GPU_DEFAULT_TIMEOUT / 2, FERRY_GPU_DEFAULT_TIMEOUT / 2 - 30000}};
    for (unsigned n = 0; n < 2; n++) {
        before = ferry_gpu_cycles(state->gpu);
        state->fake->leap = late[n][0];
        state->fake->leap_before_look = late[n][1];
        assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_OK);
        assert_true(ferry_gpu_cycles(state->gpu) - before >=
                    late[n][0] + late[n][1] + FERRY_GPU_DEFAULT_TIMEOUT / 4 * 3);
    }
    // Nor is a second one that fails another number.
    state->fake->deaf_from = ferry_gpu_cycles(state->gpu) + FERRY_GPU_DEFAULT_TIMEOUT / 2;
    state->fake->deaf_until = UINT64_MAX;
    assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_ERROR_TIMEOUT);
}

// A device that writes and writes, and retires nothing, is waited for no longer than one that says nothing; as long as
// entries retire, of whatever ring, or words move, it is.
static void records_alone_do_not_keep_who_waits(void **context)
{
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {0};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 4, 7), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 4, 7), FERRY_OK);
    state->fake->tells = true;
    state->fake->retire_cycles = 0;
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 0, &entry, NULL), FERRY_OK);
    uint64_t before = ferry_gpu_cycles(state->gpu);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, 1, 70000), FERRY_ERROR_TIMEOUT);
    assert_true(ferry_gpu_cycles(state->gpu) - before < 80000);
    before = ferry_gpu_cycles(state->gpu);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, 1, 0), FERRY_ERROR_TIMEOUT);
    assert_true(ferry_gpu_cycles(state->gpu) - before < 3 * (uint64_t)FERRY_GPU_DEFAULT_TIMEOUT);
    // Words are looked at for those who are patient alone.
    state->fake->moving = FERRY_BAR0_COUNTER_HOST_READ_BEATS;
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, 1, 70000), FERRY_ERROR_TIMEOUT);
    state->fake->still_from = ferry_gpu_cycles(state->gpu) + 5 * (uint64_t)FERRY_GPU_DEFAULT_TIMEOUT;
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, 1, 0), FERRY_ERROR_TIMEOUT);
    assert_true(ferry_gpu_cycles(state->gpu) > state->fake->still_from);
    state->fake->moving = 0;
    // Each time before it is given up, one of the other ring's retires.
    for (uint32_t n = 1; n <= 3; n++) {
        state->fake->doorbell_at[0] = UINT64_MAX / 2;
        state->fake->retire_cycles = 60000;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_OK);
        before = ferry_gpu_cycles(state->gpu);
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, 1, 70000), FERRY_ERROR_TIMEOUT);
        assert_true(ferry_gpu_cycles(state->gpu) - before > 125000);
    }
}

static void a_halt_is_told_apart_from_a_timeout(void **context)
{
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {0};
    uint32_t code, argument;
    state->fake->retire_cycles = 0;
    state->fake->final_state = FERRY_FIRMWARE_STATE_HALTED;
    state->fake->registers[FERRY_BAR0_HALT_CODE / 4] = 5;
    state->fake->registers[FERRY_BAR0_HALT_ARGUMENT / 4] = 6;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 4, 7), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 0, &entry, NULL), FERRY_OK);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 0, 1, 30000), FERRY_ERROR_FIRMWARE);
    assert_int_equal(ferry_gpu_firmware_state(state->gpu, &code, &argument), FERRY_ERROR_FIRMWARE);
    assert_true(code == 5 && argument == 6);
}

static void interrupts_are_cleared_and_handed_on(void **context)
{
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {.interrupt = true};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 4, 7), FERRY_OK);
    ferry_gpu_set_interrupt(state->gpu, on_interrupt, state);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 0, &entry, NULL), FERRY_OK);
    assert_int_equal(ferry_gpu_wait(state->gpu, 10000), FERRY_OK);
    assert_int_equal(state->calls, 1);
    assert_int_equal(state->causes, 1);
    assert_int_equal(reg(state, FERRY_BAR0_INTERRUPT_STATUS), 0);
    // A message whose cause is already gone calls nobody.
    fake_link_interrupt(state->fake, 0);
    assert_int_equal(ferry_gpu_wait(state->gpu, 10000), FERRY_OK);
    assert_int_equal(state->calls, 1);
    ferry_gpu_set_interrupt(state->gpu, NULL, NULL);
    fake_link_interrupt(state->fake, 0x200);
    assert_int_equal(ferry_gpu_wait(state->gpu, 10000), FERRY_OK);
    assert_int_equal(state->calls, 1);
}

static void an_unanswered_register_is_a_timeout(void **context)
{
    struct state *state = *context;
    uint32_t value;
    state->fake->fail_reads = 1;
    assert_int_equal(ferry_gpu_read32(state->gpu, 0, &value), FERRY_ERROR_TIMEOUT);
    assert_int_equal(ferry_gpu_read32(state->gpu, 0, &value), FERRY_OK);
}

// ---- Counters, control -------------------------------------------------------------------------------------------

static void every_counter_lands_in_its_field(void **context)
{
    struct state *state = *context;
    struct ferry_statistics statistics = {.size = sizeof(statistics), .evictions = 4};
    for (uint32_t n = 0; n < 25; n++) {
        state->fake->registers[FERRY_BAR0_COUNTER_AT / 4 + 2 * n] = 100 + n;
        state->fake->registers[FERRY_BAR0_COUNTER_AT / 4 + 2 * n + 1] = n;
    }
    assert_int_equal(ferry_gpu_counters(state->gpu, &statistics), FERRY_OK);
    // The order of the contract's table.
    const uint64_t fields[25] = {
        statistics.cycles,           statistics.engine_busy_cycles, statistics.engine_jobs,
        statistics.local_read_beats, statistics.local_write_beats,  statistics.host_read_beats,
        statistics.host_write_beats, statistics.stall_read_cycles,  statistics.stall_write_cycles,
        statistics.stall_job_cycles, statistics.stall_link_cycles,  statistics.tlps_received,
        statistics.tlps_sent,        statistics.link_receive_beats, statistics.link_send_beats,
        statistics.tlps_unsupported, statistics.tlps_malformed,     statistics.tlps_poisoned,
        statistics.tlps_unexpected,  statistics.firmware_packets,   statistics.firmware_busy_cycles,
        statistics.window_refused,   statistics.table_walks,        statistics.table_reads,
        statistics.table_forgets};
    for (uint64_t n = 0; n < 25; n++) {
        assert_true(fields[n] == (n << 32 | (100 + n)));
    }
    assert_int_equal(statistics.unmapped_accesses, 9);
    assert_int_equal(statistics.noise_bytes, 10);
    assert_int_equal(statistics.broken_frames, 11);
    assert_int_equal(statistics.frames_again, 12);
    assert_int_equal(statistics.evictions, 4);
    statistics.size = 8;
    assert_int_equal(ferry_gpu_counters(state->gpu, &statistics), FERRY_ERROR_ARGUMENT);
}

static void a_carry_between_two_words_is_not_seen(void **context)
{
    struct state *state = *context;
    struct ferry_statistics statistics = {.size = sizeof(statistics)};
    state->fake->carry_reads = 1;
    assert_int_equal(ferry_gpu_counters(state->gpu, &statistics), FERRY_OK);
    assert_true(statistics.cycles == 0x100000003); // Not 0x1fffffffd.
    // Nor where a call before has seen the same high word already.
    state->fake->registers[FERRY_BAR0_COUNTER_AT / 4 + 1] = 2;
    assert_int_equal(ferry_gpu_counters(state->gpu, &statistics), FERRY_OK);
    state->fake->registers[FERRY_BAR0_COUNTER_AT / 4 + 1] = 1;
    state->fake->carry_reads = 1;
    assert_int_equal(ferry_gpu_counters(state->gpu, &statistics), FERRY_OK);
    assert_true(statistics.cycles == 0x200000003);
}

static void counters_that_never_hold_still_are_given_up(void **context)
{
    struct state *state = *context;
    struct ferry_statistics statistics = {.size = sizeof(statistics)};
    // All 25 may carry one after the other.
    state->fake->carry_reads = 26;
    assert_int_equal(ferry_gpu_counters(state->gpu, &statistics), FERRY_OK);
    state->fake->carry_reads = UINT32_MAX;
    assert_int_equal(ferry_gpu_counters(state->gpu, &statistics), FERRY_ERROR_DEVICE_LOST);
    assert_non_null(strstr(ferry_problem(), "do not hold still"));
    // Nobody is kept from the device by it.
    state->fake->carry_reads = 0;
    assert_int_equal(ferry_gpu_counters(state->gpu, &statistics), FERRY_OK);
}

static void engine_reset_ends_or_times_out(void **context)
{
    struct state *state = *context;
    assert_int_equal(ferry_gpu_reset_engine(state->gpu), FERRY_OK);
    assert_int_equal(reg(state, FERRY_BAR0_CONTROL), 1); // The core runs on.
    state->fake->never_ends_reset = true;
    assert_int_equal(ferry_gpu_reset_engine(state->gpu), FERRY_ERROR_TIMEOUT);
}

static void ranges_are_checked_before_they_are_written(void **context)
{
    struct state *state = *context;
    assert_int_equal(ferry_gpu_set_protected(state->gpu, 0x1000, 0x3001), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_gpu_set_protected(state->gpu, 0x3000, 0x1000), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_gpu_set_protected(state->gpu, 0x1000, 0x4000000), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_gpu_set_local_limit(state->gpu, 0x4000000), FERRY_ERROR_ARGUMENT);
    assert_int_equal(reg(state, FERRY_BAR0_PROTECT_LIMIT), 0);
    assert_int_equal(ferry_gpu_set_protected(state->gpu, 0x1000, 0x3000), FERRY_OK);
    assert_int_equal(reg(state, FERRY_BAR0_PROTECT_BASE), 0x1000);
    assert_int_equal(reg(state, FERRY_BAR0_PROTECT_LIMIT), 0x3000);
    assert_int_equal(ferry_gpu_set_local_limit(state->gpu, 0x500000), FERRY_OK);
    assert_int_equal(reg(state, FERRY_BAR0_LOCAL_LIMIT), 0x500000);
    assert_int_equal(ferry_gpu_inject(state->gpu, FERRY_INJECT_LOSE_COMPLETION, 1), FERRY_ERROR_UNSUPPORTED);
}

static void the_window_goes_to_bar_2(void **context)
{
    struct state *state = *context;
    char back[16] = "";
    assert_int_equal(ferry_gpu_window_write(state->gpu, 0x1fd, "pageferry", 10), FERRY_OK);
    assert_string_equal((char *)state->fake->window + 0x1fd, "pageferry");
    assert_int_equal(ferry_gpu_window_read(state->gpu, 0x1fd, back, 10), FERRY_OK);
    assert_string_equal(back, "pageferry");
    assert_int_equal(ferry_gpu_window_read(state->gpu, 0x1fff, back, 10), FERRY_ERROR_RANGE);
}

// Another thread's wait: what it waits for may come while the reset runs the device.
static void what_comes_during_a_reset_ends_a_wait(void **context)
{
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {.buffer_address = 0x1000, .buffer_bytes = 8, .fence_value = 5};
    uint32_t number;
    struct ferry_gpu_fence fence;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 4, 0), FERRY_OK);
    state->fake->retire_cycles = 1000;
    // As ferry_gpu_wait_retired() looks: first events, then the fence.
    const uint64_t events = ferry_gpu_events(state->gpu);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 1, &fence), FERRY_OK);
    assert_int_equal(fence.retired, number - 1);
    state->fake->never_ends_reset = true;
    assert_int_equal(ferry_gpu_reset_engine(state->gpu), FERRY_ERROR_TIMEOUT);
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 1, &fence), FERRY_OK);
    assert_int_equal(fence.retired, number);
    assert_int_equal(ferry_gpu_wait_after(state->gpu, events, 100000), FERRY_OK);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(open_loads_the_image_and_reports_sizes),
        cmocka_unit_test(time_outs_are_longer_than_the_link_takes),
        cmocka_unit_test(another_contract_is_refused_by_name),
        cmocka_unit_test(sizes_that_no_device_has_are_refused),
        cmocka_unit_test(a_newer_minor_version_is_taken),
        cmocka_unit_test(the_device_says_for_which_board_it_is),
        cmocka_unit_test(a_device_whose_name_cannot_be_read_is_not_opened),
        cmocka_unit_test(firmware_that_does_not_come_up_is_named),
        cmocka_unit_test(firmware_may_come_from_a_file),
        CASE(ring_registers_and_entries_are_as_the_contract_says),
        CASE(a_full_ring_is_busy_and_goes_round),
        CASE(bad_ring_arguments_change_nothing),
        cmocka_unit_test(a_ring_has_the_rights_that_the_device_knows),
        CASE(a_fault_shows_in_the_fence),
        CASE(waits_end_after_exactly_their_cycles),
        CASE(who_waits_is_patient_while_words_move),
        CASE(records_alone_do_not_keep_who_waits),
        CASE(turns_come_to_an_end_though_each_brings_something),
        CASE(turns_come_to_an_end_without_time),
        CASE(turns_go_on_while_something_does),
        CASE(a_wait_of_before_is_not_counted),
        CASE(a_wait_goes_on_though_causes_could_not_be_read),
        CASE(a_device_that_has_done_more_than_there_was_is_lost),
        CASE(a_device_that_has_done_less_than_before_is_lost),
        CASE(words_are_looked_at_twice),
        CASE(a_halt_is_told_apart_from_a_timeout),
        CASE(interrupts_are_cleared_and_handed_on),
        CASE(an_unanswered_register_is_a_timeout),
        CASE(faults_come_in_order_and_round_the_log),
        CASE(refused_writes_are_faults_of_their_entry),
        CASE(an_entry_that_could_not_be_read_is_named_by_its_place),
        CASE(an_entry_that_could_not_be_read_is_named_though_its_place_is_used_again),
        CASE(a_refused_doorbell_leaves_all_as_it_was),
        CASE(a_doorbell_that_is_not_taken_is_rung_again),
        CASE(a_doorbell_that_may_come_yet_closes_the_ring),
        CASE(what_was_taken_back_has_no_fault),
        CASE(an_engine_reset_opens_the_ring),
        CASE(a_refused_write_names_its_packet),
        CASE(a_refused_write_names_its_rectangle),
        CASE(every_counter_lands_in_its_field),
        CASE(a_carry_between_two_words_is_not_seen),
        CASE(counters_that_never_hold_still_are_given_up),
        CASE(a_device_that_has_run_before_is_reset),
        CASE(engine_reset_ends_or_times_out),
        CASE(what_comes_during_a_reset_ends_a_wait),
        CASE(ranges_are_checked_before_they_are_written),
        CASE(the_window_goes_to_bar_2),
        CASE(gpu_memory_is_consecutive_zero_and_given_back),
        CASE(pages_are_unmapped_and_mapped_again),
        CASE(a_mapping_that_fails_loses_no_memory),
        CASE(mdls_name_their_pages),
        CASE(pages_that_were_given_back_come_again_as_zero),
        CASE(kept_pages_make_room),
        CASE(bad_page_requests_are_named),
        CASE(a_ring_that_could_not_be_made_leaves_nothing),
        CASE(a_range_may_be_empty_and_a_limit_left),
        CASE(a_range_that_moves_is_empty_in_between),
        CASE(a_lost_doorbells_entry_is_not_the_newest),
        CASE(a_ring_that_stays_closed_is_opened_by_a_reset),
        CASE(a_device_that_has_fetched_what_cannot_be_is_lost),
        CASE(what_stands_behind_a_ring_is_no_entry),
        CASE(what_was_told_of_an_entry_is_not_of_the_next_one),
        CASE(a_refused_write_is_told_once),
        CASE(refused_writes_come_in_order),
        CASE(a_refused_write_that_may_be_two_packets_names_none),
        CASE(what_is_just_not_too_large_is_kept),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
