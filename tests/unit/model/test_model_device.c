// SPDX-License-Identifier: Apache-2.0
// The reference model: registers, rings, logs and interrupts, worked out by hand from docs/manual/contract.md.
#include "rig.h"

// ---- The rest of the device -------------------------------------------------------------------------------------

static void a_full_fault_log_waits_and_loses_nothing(void **state)
{
    struct rig *rig = *state;

    head(rig, 77, 2, 0);
    for (uint32_t i = 0; i < 10; i++)
        entry(rig, 1, BUFFER_PAGE, 8, 0, i, 0);
    ferry_model_run(rig->model, 100000);
    for (int i = 0; i < 50; i++)
        ferry_model_run(rig->model, 100000);
    assert_int_equal(ferry_model_read(rig->model, 0xac), 8);
    assert_int_equal(fence_of(rig, 1).retired, 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(record_at(rig, i).fence_value, i);
    ferry_model_write(rig->model, 0xb0, 8);
    run_dry(rig);
    assert_int_equal(ferry_model_read(rig->model, 0xac), 10);
    assert_int_equal(record_at(rig, 8).fence_value, 8);
    assert_int_equal(record_at(rig, 9).fence_value, 9);
    assert_int_equal(fence_of(rig, 1).faults, 10);
}

static void an_engine_reset_aborts_what_is_in_a_slot(void **state)
{
    struct rig *rig = *state;

    ferry_model_hang(rig->model);
    fill(rig, LOCAL, 0, 8, 1, 0);
    entry(rig, 1, BUFFER_PAGE, rig->buffer_bytes, 0, 11, 0);
    ferry_model_run(rig->model, 10000);
    assert_int_equal(fence_of(rig, 1).retired, 0);
    assert_int_equal(ferry_model_read(rig->model, 0x24) & 0x22, 0x22);
    ferry_model_write(rig->model, 0x20, 3);
    assert_int_equal(ferry_model_read(rig->model, 0x20), 3);
    run_dry(rig);
    assert_int_equal(ferry_model_read(rig->model, 0x20), 1);
    assert_int_equal(fence_of(rig, 1).status, 2);
    assert_int_equal(fence_of(rig, 1).value, 11);
    assert_int_equal(record_at(rig, 0).kind, ENGINE_RESET);
    assert_int_equal(ferry_model_local(rig->model)[0], 0);
    rig->buffer_bytes = 0;
    fill(rig, LOCAL, 0, 8, 1, 0);
    assert_int_equal(submit(rig, 1), 0);
}

// Each ring's record comes, though what was rung meanwhile hangs as well; that is no reset's business.
static void what_was_aborted_retires_though_the_next_buffer_hangs(void **state)
{
    struct rig *rig = *state;

    fill(rig, LOCAL, 0, 8, 1, 0);
    ferry_model_hang(rig->model);
    for (uint32_t ring = 1; ring < 3; ring++)
        entry(rig, ring, BUFFER_PAGE, rig->buffer_bytes, 0, 10 + ring, 0);
    ferry_model_run(rig->model, 10000);
    ferry_model_write(rig->model, 0x20, 3);
    entry(rig, 0, BUFFER_PAGE, rig->buffer_bytes, 0, 10, 0);
    ferry_model_hang(rig->model);
    for (int i = 0; i < 50; i++)
        ferry_model_run(rig->model, 1000);
    assert_int_equal(ferry_model_read(rig->model, 0x20), 1);
    for (uint32_t ring = 1; ring < 3; ring++) {
        assert_int_equal(fence_of(rig, ring).status, 2);
        assert_int_equal(fence_of(rig, ring).value, 10 + ring);
    }
    assert_int_equal(fence_of(rig, 0).retired, 0);
    ferry_model_write(rig->model, 0x20, 3);
    run_dry(rig);
    assert_int_equal(fence_of(rig, 0).status, 2);
}

static void planted_failures_fault_one_job(void **state)
{
    struct rig *rig = *state;
    static const struct {
        enum ferry_model_injection what;
        uint32_t kind;
    } cases[] = {
        {FERRY_MODEL_LOCAL_READ_ERROR, LOCAL_ERROR},
        {FERRY_MODEL_LOCAL_WRITE_ERROR, LOCAL_ERROR},
        {FERRY_MODEL_HOST_ABORT, BUFFER_FETCH},
        {FERRY_MODEL_HOST_TIMEOUT, BUFFER_FETCH},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ferry_model_inject(rig->model, cases[i].what, 1);
        copy(rig, LOCAL, 0, LOCAL, 64, 8);
        entry(rig, 1, BUFFER_PAGE, rig->buffer_bytes, 0, 1, 0);
        run_dry(rig);
        assert_int_equal(record_at(rig, (uint32_t)i).kind, cases[i].kind);
        rig->buffer_bytes = 0;
    }
    assert_int_equal(submit(rig, 1), 0);
}

static void interrupts_are_masked_cleared_and_coalesced(void **state)
{
    struct rig *rig = *state;

    rig->interrupts = 0;
    submit(rig, 2);
    assert_int_equal(rig->interrupts, 1);
    assert_int_equal(ferry_model_read(rig->model, 0x80), 4);
    ferry_model_write(rig->model, 0x80, 4);
    assert_int_equal(ferry_model_read(rig->model, 0x80), 0);
    ferry_model_write(rig->model, 0x84, 0); // Masked: held back until the mask opens.
    submit(rig, 3);
    assert_int_equal(rig->interrupts, 1);
    ferry_model_write(rig->model, 0x84, ~0u);
    assert_int_equal(ferry_model_read(rig->model, 0x84), 0x3ff);
    assert_int_equal(rig->interrupts, 2);
    ferry_model_write(rig->model, 0x88, 3 | 50000u << 16);
    submit(rig, 1);
    submit(rig, 1);
    assert_int_equal(rig->interrupts, 2);
    submit(rig, 1);
    assert_int_equal(rig->interrupts, 3);
    submit(rig, 1);
    assert_int_equal(rig->interrupts, 3);
    ferry_model_run(rig->model, 60000);
    assert_int_equal(rig->interrupts, 4);
    assert_int_equal(ferry_model_read(rig->model, 0x8c), 4);
    // Causes that are enabled together are as many as they are.
    ferry_model_write(rig->model, 0x80, ~0u);
    ferry_model_write(rig->model, 0x84, 0);
    for (uint32_t ring = 1; ring < 4; ring++)
        submit(rig, ring);
    ferry_model_write(rig->model, 0x84, 4 | 8);
    assert_int_equal(rig->interrupts, 4);
    ferry_model_write(rig->model, 0x84, ~0u);
    assert_int_equal(rig->interrupts, 5);
    ferry_model_write(rig->model, 0x84, 0);
    ferry_model_write(rig->model, 0x84, ~0u);
    assert_int_equal(rig->interrupts, 6);
}

static void the_paging_ring_goes_first_and_user_rings_in_turn(void **state)
{
    struct rig *rig = *state;
    uint64_t times[5];

    // Each ring's record says when its only entry retired.
    ferry_model_write(rig->model, 0x20, 0);
    for (uint32_t ring = 1; ring < 5; ring++)
        entry(rig, ring, BUFFER_PAGE, 0, 0, 1, 0);
    entry(rig, 0, BUFFER_PAGE, 0, 0, 1, 0);
    ferry_model_write(rig->model, 0x20, 1);
    run_dry(rig);
    for (uint32_t ring = 0; ring < 5; ring++)
        times[ring] = fence_of(rig, ring).time;
    for (uint32_t ring = 1; ring < 5; ring++) {
        assert_true(times[0] < times[ring]);
        assert_true(ring == 1 || times[ring - 1] < times[ring]);
    }
}

static void another_major_version_is_refused(void **state)
{
    struct rig *rig = *state;

    ferry_model_write(rig->model, 0x20, 0);
    assert_int_equal(ferry_model_read(rig->model, 0x2c), 0);
    ferry_model_write(rig->model, 0x50, 0x10000);
    ferry_model_write(rig->model, 0x20, 1);
    entry(rig, 1, BUFFER_PAGE, 0, 0, 1, 0);
    ferry_model_run(rig->model, 100000);
    assert_int_equal(ferry_model_read(rig->model, 0x2c), 4);
    assert_int_equal(fence_of(rig, 1).retired, 0);
}

static void registers_read_as_the_contract_says(void **state)
{
    struct rig *rig = *state;

    assert_int_equal(ferry_model_read(rig->model, 0), 0x59525246);
    assert_int_equal(ferry_model_read(rig->model, 4), 0x60000);
    assert_int_equal(ferry_model_read(rig->model, 8), 0x3c455);
    assert_int_equal(ferry_model_read(rig->model, 0xc), APERTURE_PAGES);
    assert_int_equal(read64(rig, 0x10), LOCAL_BYTES);
    assert_int_equal(read64(rig, 0x38), LOCAL_BYTES);
    ferry_model_write(rig->model, 0x1c, 0xdeadbeef);
    assert_int_equal(ferry_model_read(rig->model, 0x1c), 0xdeadbeef);
    // Firmware RAM: hidden while the core runs, kept when it stops.
    ferry_model_write(rig->model, 0x8000, 5);
    ferry_model_write(rig->model, 0x20, 0);
    assert_int_equal(ferry_model_read(rig->model, 0x8000), 0);
    ferry_model_write(rig->model, 0xfffc, 0x1234567);
    assert_int_equal(ferry_model_read(rig->model, 0xfffc), 0x1234567);
    ferry_model_write(rig->model, 0x20, 1);
    assert_int_equal(ferry_model_read(rig->model, 0xfffc), 0);
}

static void the_window_reaches_video_memory_only(void **state)
{
    struct rig *rig = *state;
    uint64_t list[1] = {DATA_PAGE + 4096}, half = ferry_model_window_bytes(rig->model) / 2;
    uint8_t data[16] = "abcdefghijklmno", back[16];

    assert_int_equal(half, LOCAL_BYTES);
    ferry_model_window_write(rig->model, 4090, data, 16);
    assert_memory_equal(ferry_model_local(rig->model) + 4090, data, 16);
    map(rig, 3, list, 1, false);
    submit(rig, 0);
    // A page that is mapped, behind the half of the aperture: refused and counted, and the page stays as it is.
    memcpy(back, host_at(rig, list[0]) + 7, 16);
    ferry_model_window_write(rig->model, half + 3 * 4096 + 7, data, 16);
    assert_memory_equal(host_at(rig, list[0]) + 7, back, 16);
    assert_false(ferry_model_window_read(rig->model, half + 3 * 4096 + 7, back, 1));
    assert_int_equal(back[0], 0xff);
    assert_int_equal(ferry_model_read(rig->model, 0x478), 2);
}

static void deferred_buffers_keep_the_order_of_their_ring(void **state)
{
    struct ferry_model_options options = {
        .local_bytes = LOCAL_BYTES, .aperture_pages = APERTURE_PAGES, .defer_cycles = 5000, .seed = 7};
    struct rig *rig = rig_make(&options);
    uint32_t seen = 0;

    (void)state;
    for (uint32_t i = 0; i < 12; i++)
        entry(rig, 1 + i % 3, BUFFER_PAGE, 0, 0, i, 0);
    for (int i = 0; i < 1000 && !ferry_model_idle(rig->model); i++) {
        ferry_model_run(rig->model, 500);
        uint32_t now = fence_of(rig, 1).retired + fence_of(rig, 2).retired + fence_of(rig, 3).retired;
        assert_true(now <= seen + 1);
        seen = now;
        for (uint32_t ring = 1; ring < 4; ring++) {
            struct fence fence = fence_of(rig, ring);
            assert_true(!fence.retired || fence.value == (fence.retired - 1) * 3 + ring - 1);
        }
    }
    assert_int_equal(seen, 12);
    rig_free(rig);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_full_fault_log_waits_and_loses_nothing),
        CASE(an_engine_reset_aborts_what_is_in_a_slot),
        CASE(what_was_aborted_retires_though_the_next_buffer_hangs),
        CASE(planted_failures_fault_one_job),
        CASE(interrupts_are_masked_cleared_and_coalesced),
        CASE(the_paging_ring_goes_first_and_user_rings_in_turn),
        CASE(another_major_version_is_refused),
        CASE(registers_read_as_the_contract_says),
        CASE(the_window_reaches_video_memory_only),
        cmocka_unit_test(deferred_buffers_keep_the_order_of_their_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
