// SPDX-License-Identifier: Apache-2.0
// When a host gives a device up, and when it does not. Time is the test's own: it passes where the channel says so.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "link/framed.h"
#include "link/frames.h"

#define FOREVER 600000u // Milliseconds in which everybody has given up.

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
    BABBLES        // Has the first request, and from then on says what is no frame, ten times in half a second.
};

/// A device at the other end of a line on which nothing is lost.
struct line {
    struct ferry_frames device;
    enum habit habit;
    uint64_t stop[2]; // So many milliseconds the host is stopped, once each: before and after its first request.
    bool asked, ever; // It waited for as good as ever.
    uint64_t babbled;
    uint8_t bytes[4096];
    size_t count;
};

static void serve(struct line *line)
{
    struct ferry_tunnel_hello hello;
    const uint32_t *request;
    size_t count;
    bool control;

    if (ferry_frames_hello(&line->device, &hello)) {
        hello.what = FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_ANSWER, 1u) |
                     FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_VERDICT, FERRY_TUNNEL_VERDICT_ACCEPTED);
        ferry_frames_answer(&line->device, &hello);
        line->device.arrived = line->habit == TAKES_NOTHING ? 255 : 0;
    }
    while (line->habit != TAKES_NOTHING && (request = ferry_frames_receive(&line->device, &control, &count)) != NULL) {
        const uint32_t answer[3] = {0x0a000000, 0x01002004, request[1] & 0xffffff00};
        line->asked = true;
        milliseconds += line->stop[1];
        line->stop[1] = 0;
        if (line->habit == ANSWERS) {
            ferry_frames_send(&line->device, false, answer, 3);
        }
    }
}

static ssize_t line_write(void *context, const uint8_t *bytes, size_t count)
{
    struct line *line = context;
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
    return (ssize_t)ferry_frames_take(&line->device, bytes, room);
}

static unsigned line_wait(void *context, bool writes, int most)
{
    struct line *line = context;
    milliseconds += writes ? 1 : (uint64_t)most;
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

/// What the host finds there, at a megabyte a second.
static int open_at(struct line *line)
{
    static const struct ferry_channel_operations operations = {
        .write = line_write, .read = line_read, .wait = line_wait, .close = line_close};
    const struct ferry_channel channel = {.operations = &operations,
                                          .context = line,
                                          .bytes_per_second = 1000000,
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_an_answer), cmocka_unit_test(a_host_that_was_away_gives_nothing_up),
        cmocka_unit_test(a_device_that_takes_nothing_is_given_up), cmocka_unit_test(a_device_that_babbles_is_given_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
