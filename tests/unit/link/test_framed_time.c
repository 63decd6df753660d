// SPDX-License-Identifier: Apache-2.0
// When a host gives a device up, and when it does not. Time is the test's own: it passes where the channel says so.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "link/framed.h"
#include "link/frames.h"
#include "link/listening.h"
#include "link/problem.h"

#define FOREVER       600000u // Milliseconds in which everybody has given up.
#define ANSWER_CYCLES 2000u   // Of a simulator's, so that a request takes two turns.

static uint64_t milliseconds;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    time->tv_sec = (time_t)(1000 + milliseconds / 1000);
    time->tv_nsec = (long)(milliseconds % 1000) * 1000000;
    return 0;
}

enum habit {
    ANSWERS,       // Each request with Unsupported Request.
    TAKES_NOTHING, // Has no room for the first request, nor ever after; its frames say so.
    BABBLES,       // Has the first request, and from then on says what is no frame, ten times in half a second.
    DEAF,   // Hears nothing of the first request, nor ever after, and asks for it: an endpoint out that is stalled.
    FLOODS, // Answers, and then has no end of packets, and nothing to say of the host's.
    KEEPS,  // Has no end of packets behind the first request, which it neither answers nor says that it has.
    TALKS,  // As that, but says that it has it.
    RUNS,   // A simulator's: answers requests when it is told to run on.
    STOPS   // As that, until it is told to run on behind the first request.
};

/// A device at the other end of a line on which nothing is lost.
struct line {
    struct ferry_frames device;
    enum habit habit;
    uint64_t stop[2]; // So many milliseconds the host is stopped, once each: before and after its first request.
    uint64_t speed;   // Of a simulator's, cycles in a second; then it has a third of it, as a machine gets busy.
    uint64_t cycles, until;
    bool runs;
    uint32_t answer[3]; // That it gives after ANSWER_CYCLES.
    bool asked, ever;   // It waited for as good as ever.
    uint64_t babbled;
    uint8_t bytes[4096];
    size_t count;
};

static bool is_simulated(const struct line *line)
{
    return line->habit == RUNS || line->habit == STOPS;
}

static void run_on(struct line *line, const uint32_t *words)
{
    struct ferry_tunnel_message message;
    memcpy(&message, words, sizeof(message));
    if (message.code == FERRY_TUNNEL_CODE_RUN && !(line->habit == STOPS && line->asked)) {
        line->runs = true;
        line->cycles += message.value;
        line->until = milliseconds + 1000 * message.value / line->speed;
        line->speed = line->cycles >= ANSWER_CYCLES / 2 ? line->speed / 3 + 1 : line->speed;
    }
}

static void say_how_far(struct line *line)
{
    const struct ferry_tunnel_message message = {.code = FERRY_TUNNEL_CODE_RAN, .value = line->cycles};
    uint32_t words[sizeof(message) / 4];
    if (line->runs && milliseconds >= line->until) {
        memcpy(words, &message, sizeof(message));
        line->runs = false;
        if (line->asked && line->cycles >= ANSWER_CYCLES) {
            ferry_frames_send(&line->device, false, line->answer, 3);
        }
        ferry_frames_send(&line->device, true, words, sizeof(message) / 4);
    }
}

static void serve(struct line *line)
{
    struct ferry_tunnel_hello hello;
    const uint32_t *request;
    size_t count;
    bool control;

    if (ferry_frames_hello(&line->device, &hello)) {
        hello.what = FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_ANSWER, 1u) |
                     FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_CLOCKED, is_simulated(line) ? 1u : 0u) |
                     FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_VERDICT, FERRY_TUNNEL_VERDICT_ACCEPTED);
        ferry_frames_answer(&line->device, &hello);
        line->device.arrived = line->habit == TAKES_NOTHING ? 255 : 0;
    }
    while (line->habit != TAKES_NOTHING && (request = ferry_frames_receive(&line->device, &control, &count)) != NULL) {
        const uint32_t answer[3] = {0x0a000000, 0x01002004, request[1] & 0xffffff00};
        if (control) {
            run_on(line, request);
            continue;
        }
        line->asked = true;
        milliseconds += line->stop[1];
        line->stop[1] = 0;
        memcpy(line->answer, answer, sizeof(answer));
        if (line->habit == FLOODS || line->habit == KEEPS) {
            line->device.expected = 0;
        }
        if (line->habit == ANSWERS || line->habit == FLOODS) {
            ferry_frames_send(&line->device, false, answer, 3);
        }
    }
}

static ssize_t line_write(void *context, const uint8_t *bytes, size_t count)
{
    struct line *line = context;
    if (line->habit == DEAF && ferry_frames_open(&line->device)) {
        line->asked = true;
        return (ssize_t)count;
    }
    ferry_frames_feed(&line->device, bytes, count);
    serve(line);
    return (ssize_t)count;
}

static ssize_t line_read(void *context, uint8_t *bytes, size_t room)
{
    struct line *line = context;
    if (line->habit == BABBLES && line->asked && milliseconds >= line->babbled + 50) {
        line->babbled = milliseconds;
        bytes[0] = '?';
        return 1;
    }
    if (line->habit == DEAF && line->asked) {
        ferry_frames_probe(&line->device);
    }
    if ((line->habit == FLOODS || line->habit == KEEPS || line->habit == TALKS) && line->asked) {
        ferry_frames_send(&line->device, false, (const uint32_t[]){0x40000001, 0x0100000f, 0xfee00000, 0x4021}, 4);
    }
    say_how_far(line);
    return (ssize_t)ferry_frames_take(&line->device, bytes, room);
}

static unsigned line_wait(void *context, bool writes, int most)
{
    struct line *line = context;
    const uint64_t ever = !line->runs ? FOREVER : line->until > milliseconds ? line->until - milliseconds : 0;
    milliseconds += writes ? 1 : most < 0 ? ever : (uint64_t)most;
    if (writes && ferry_frames_open(&line->device)) {
        milliseconds += line->stop[0];
        line->stop[0] = 0;
    }
    if (milliseconds > FOREVER) {
        line->ever = true;
        errno = ENODEV;
        return FERRY_CHANNEL_GONE;
    }
    return writes ? FERRY_CHANNEL_WRITES : FERRY_CHANNEL_READS;
}

static void line_close(void *context)
{
    (void)context;
}

/// What the host finds there, at a megabyte a second or, of a simulator, at a stream that loses nothing.
static int open_at(struct line *line)
{
    static const struct ferry_channel_operations operations = {
        .write = line_write, .read = line_read, .wait = line_wait, .close = line_close};
    const struct ferry_channel channel = {.operations = &operations,
                                          .context = line,
                                          .bytes_per_second = is_simulated(line) ? 0 : 1000000,
                                          .where = "here",
                                          .medium = "m",
                                          .closed = "c",
                                          .silent = "s"};
    const struct ferry_link_config config = {.size = sizeof config};
    struct ferry_link *link = NULL;

    milliseconds = 0;
    ferry_frames_start(&line->device, 0);
    return ferry_framed_open(&channel, &config, &link);
}

// RANGE is the answer's, Unsupported Request.
static void an_answer_is_an_answer(void **state)
{
    (void)state;
    struct line line = {.habit = ANSWERS};
    assert_int_equal(open_at(&line), FERRY_ERROR_RANGE);
}

// It did not listen: a program that did other things, was stopped, or looked at by a debugger. The answer waits for it.
static void a_host_that_was_away_gives_nothing_up(void **state)
{
    (void)state;
    struct line before = {.habit = ANSWERS, .stop = {60000, 0}};
    assert_int_equal(open_at(&before), FERRY_ERROR_RANGE);
    assert_int_equal(before.stop[0], 0);
    struct line after = {.habit = ANSWERS, .stop = {0, 60000}};
    assert_int_equal(open_at(&after), FERRY_ERROR_RANGE);
    assert_int_equal(after.stop[1], 0);
}

static void a_device_that_takes_nothing_is_given_up(void **state)
{
    (void)state;
    struct line line = {.habit = TAKES_NOTHING};
    assert_int_equal(open_at(&line), FERRY_ERROR_DEVICE_LOST);
    assert_false(line.ever);
}

static void a_device_that_babbles_is_given_up(void **state)
{
    (void)state;
    struct line line = {.habit = BABBLES};
    assert_int_equal(open_at(&line), FERRY_ERROR_DEVICE_LOST);
    assert_true(line.asked);
    assert_false(line.ever);
}

static void a_device_that_hears_nothing_is_given_up(void **state)
{
    (void)state;
    struct line line = {.habit = DEAF};
    assert_int_equal(open_at(&line), FERRY_ERROR_DEVICE_LOST);
    assert_true(line.asked);
    assert_false(line.ever);
}

// At the end of a session, which waits for the last writes to arrive.
static void a_device_that_floods_is_not_waited_for_at_the_end(void **state)
{
    (void)state;
    struct line line = {.habit = FLOODS};
    assert_int_equal(open_at(&line), FERRY_ERROR_RANGE);
    assert_true(line.asked);
    assert_false(line.ever);
}

// Packets that nobody waits for are no progress of the one that somebody waits for.
static void a_device_that_sends_and_takes_nothing_is_given_up(void **state)
{
    (void)state;
    struct line line = {.habit = KEEPS};
    assert_int_equal(open_at(&line), FERRY_ERROR_DEVICE_LOST);
    assert_true(line.asked);
    assert_false(line.ever);
}

static void an_answer_is_not_waited_for_among_packets_without_end(void **state)
{
    (void)state;
    struct line line = {.habit = TALKS};
    assert_int_equal(open_at(&line), FERRY_ERROR_TIMEOUT);
    assert_true(line.asked);
    assert_false(line.ever);
}

// 20 cycles a second, and 7 when the machine gets busy: the answer comes after 50 s, and 143 more.
static void a_slow_simulator_is_waited_for(void **state)
{
    (void)state;
    struct line line = {.habit = RUNS, .speed = 20};
    assert_int_equal(open_at(&line), FERRY_ERROR_RANGE);
    assert_in_range(milliseconds, 190000, 200000);
}

// Stopped by a signal or a debugger, or it hangs: its end of the connection is there, and takes what is sent.
static void a_simulator_that_is_stopped_is_given_up(void **state)
{
    (void)state;
    struct line line = {.habit = STOPS, .speed = 100000};
    assert_int_equal(open_at(&line), FERRY_ERROR_DEVICE_LOST);
    assert_true(line.asked);
    assert_false(line.ever);
    assert_non_null(strstr(ferry_problem(), "the device at here is gone: it does not answer"));
}

/// Something gets on after so many seconds, unless the device is given up before. Returns the seconds that passed.
static unsigned get_on(struct ferry_listening *listening, uint64_t *moved, unsigned seconds)
{
    const uint64_t start = milliseconds;
    bool there = true;
    while (there && milliseconds - start < 1000ull * seconds) {
        milliseconds += 10;
        ferry_listening_look(listening);
        there = ferry_listening_progress(listening, *moved, true);
    }
    *moved += there ? 1 : 0;
    assert_true(!there || ferry_listening_progress(listening, *moved, true));
    return (unsigned)((milliseconds - start) / 1000);
}

// A simulated device whose machine is busy: who took 15 s for a frame is not dead after 60, and after ten minutes is.
static void a_device_that_was_slow_gets_more_time(void **state)
{
    (void)state;
    struct ferry_listening listening = {0};
    uint64_t moved = 1;
    milliseconds = 0;
    ferry_listening_look(&listening);
    assert_true(ferry_listening_progress(&listening, moved, true));
    assert_int_equal(get_on(&listening, &moved, 15), 15);
    assert_int_equal(get_on(&listening, &moved, 60), 60);
    assert_in_range(get_on(&listening, &moved, 600), 240, 300);
}

// What was not waited for took no time, and one that never was slow has its twenty seconds.
static void a_device_that_was_quick_gets_no_more_time(void **state)
{
    (void)state;
    struct ferry_listening listening = {0};
    uint64_t moved = 1;
    milliseconds = 0;
    ferry_listening_look(&listening);
    for (unsigned rest = 0; rest < 6000; rest++) {
        milliseconds += 10;
        ferry_listening_look(&listening);
        assert_true(ferry_listening_progress(&listening, moved, false));
    }
    assert_int_equal(get_on(&listening, &moved, 1), 1);
    assert_in_range(get_on(&listening, &moved, 600), 20, 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_answer_is_an_answer),
                                       cmocka_unit_test(a_host_that_was_away_gives_nothing_up),
                                       cmocka_unit_test(a_device_that_takes_nothing_is_given_up),
                                       cmocka_unit_test(a_device_that_babbles_is_given_up),
                                       cmocka_unit_test(a_device_that_hears_nothing_is_given_up),
                                       cmocka_unit_test(a_device_that_floods_is_not_waited_for_at_the_end),
                                       cmocka_unit_test(a_device_that_sends_and_takes_nothing_is_given_up),
                                       cmocka_unit_test(an_answer_is_not_waited_for_among_packets_without_end),
                                       cmocka_unit_test(a_slow_simulator_is_waited_for),
                                       cmocka_unit_test(a_simulator_that_is_stopped_is_given_up),
                                       cmocka_unit_test(a_device_that_was_slow_gets_more_time),
                                       cmocka_unit_test(a_device_that_was_quick_gets_no_more_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
