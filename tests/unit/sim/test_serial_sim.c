// SPDX-License-Identifier: Apache-2.0
// The simulated device at a serial port, with the test at the wire's other end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "ferry_contract.h"
#include "ferry_serial_sim.h"
#include "link/frames.h"

#define KEPT 4096u

/// A hello, as bytes.
static size_t hello(uint8_t *bytes, size_t room)
{
    const struct ferry_tunnel_hello question = {
        .magic = FERRY_TUNNEL_HELLO_MAGIC_RESET, .contract_version = FERRY_CONTRACT_VERSION, .session = 7};
    struct ferry_frames frames;
    ferry_frames_start(&frames, 0);
    ferry_frames_ask(&frames, &question);
    return ferry_frames_take(&frames, bytes, room);
}

static void say(struct ferry_serial_sim *sim, const uint8_t *bytes, size_t count)
{
    for (size_t said = 0; said < count;) {
        said += ferry_serial_sim_feed(sim, bytes + said, count - said);
        ferry_serial_sim_run(sim, 1000);
    }
    ferry_serial_sim_run(sim, 50000);
}

static bool is_answered(const uint8_t *bytes, size_t count)
{
    struct ferry_frames frames;
    struct ferry_tunnel_hello answer;
    ferry_frames_start(&frames, 0);
    const struct ferry_tunnel_hello question = {
        .magic = FERRY_TUNNEL_HELLO_MAGIC_RESET, .contract_version = FERRY_CONTRACT_VERSION, .session = 7};
    ferry_frames_ask(&frames, &question);
    ferry_frames_feed(&frames, bytes, count);
    return ferry_frames_hello(&frames, &answer);
}

// A host that asks and asks and never reads: what it is told is lost from some point on, and neither waits nor is kept
// without an end. When it reads, it finds the first of it, and what it asks then is answered.
static void what_nobody_reads_is_lost_as_at_an_adapter(void **state)
{
    const struct ferry_sim_config config = {.size = sizeof config};
    struct ferry_serial_sim *sim = ferry_serial_sim_open(&config);
    uint8_t bytes[128], heard[2 * KEPT];
    size_t count, one;

    (void)state;
    assert_non_null(sim);
    const size_t length = hello(bytes, sizeof bytes);
    assert_in_range(length, 40, 60);
    say(sim, bytes, length);
    one = ferry_serial_sim_take(sim, heard, sizeof heard);
    assert_in_range(one, 40, 60);
    assert_true(is_answered(heard, one));
    for (size_t said = 0; said < KEPT + 1000; said += one)
        say(sim, bytes, length);
    count = ferry_serial_sim_take(sim, heard, sizeof heard);
    assert_int_equal(count, KEPT);
    assert_true(is_answered(heard, one));
    assert_int_equal(ferry_serial_sim_take(sim, heard, sizeof heard), 0);
    say(sim, bytes, length);
    count = ferry_serial_sim_take(sim, heard, sizeof heard);
    assert_int_equal(count, one);
    assert_true(is_answered(heard, one));
    assert_null(ferry_serial_sim_violation(sim));
    ferry_serial_sim_close(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_nobody_reads_is_lost_as_at_an_adapter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
