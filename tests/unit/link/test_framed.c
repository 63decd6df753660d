// SPDX-License-Identifier: Apache-2.0
// A device behind a byte stream that is slow: what the host takes for silence. The other end is played here, with
// frames.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link/fd_channel.h"
#include "link/frames.h"
#include "link/tlp.h"

enum { WRITE_WORDS = 4 + 64, WRITES = 4 };

static void rest(long milliseconds)
{
    const struct timespec time = {.tv_nsec = milliseconds * 1000000};
    nanosleep(&time, NULL);
}

/// All that is due, `burst` bytes at a time with a rest between.
static void say(struct ferry_frames *frames, int fd, size_t burst, long milliseconds)
{
    uint8_t bytes[64];
    size_t count;
    while ((count = ferry_frames_take(frames, bytes, burst)) > 0) {
        if (send(fd, bytes, count, MSG_NOSIGNAL) != (ssize_t)count) {
            return;
        }
        rest(milliseconds);
    }
}

static void accept_host(struct ferry_frames *frames, struct ferry_tunnel_hello *hello)
{
    hello->what = FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_ANSWER, 1u) |
                  FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_VERDICT, FERRY_TUNNEL_VERDICT_ACCEPTED);
    ferry_frames_answer(frames, hello);
}

/// Accepts the host. What it asks for first is answered with Unsupported Request, behind four writes to nowhere whose
/// bytes take three and a half seconds, in bursts that are further apart than two looks at the time: longer than the
/// two seconds of silence after which the host gives a request up.
static void *slow_device(void *context)
{
    const int fd = *(int *)context;
    struct ferry_frames frames = {0};
    struct ferry_tunnel_hello hello;
    const uint32_t *request = NULL;
    size_t count, got = 1;
    bool control;

    ferry_frames_start(&frames, 0);
    while (request == NULL && got > 0) {
        uint8_t bytes[256];
        const ssize_t came = read(fd, bytes, sizeof bytes);
        got = came > 0 ? (size_t)came : 0;
        ferry_frames_feed(&frames, bytes, got);
        if (ferry_frames_hello(&frames, &hello)) {
            accept_host(&frames, &hello);
        }
        say(&frames, fd, 64, 0);
        request = ferry_frames_receive(&frames, &control, &count);
    }
    if (request == NULL) {
        return NULL;
    }
    const uint32_t answer[3] = {0x0a000000, 0x01002004, request[1] & 0xffffff00};
    for (unsigned i = 0; i < WRITES; i++) {
        uint32_t words[WRITE_WORDS] = {0x60000040, 0x010000ff, 0x12345678, i * 4096};
        for (unsigned n = 4; n < WRITE_WORDS; n++) {
            words[n] = 0x01010101 * (n + i);
        }
        ferry_frames_send(&frames, false, words, WRITE_WORDS);
    }
    say(&frames, fd, 16, 48);
    ferry_frames_send(&frames, false, answer, 3);
    say(&frames, fd, 64, 0);
    uint8_t none;
    while (read(fd, &none, 1) == 1) {
    }
    return NULL;
}

/// What the host says to that device, at the end of a line of a megabyte a second.
static int open_at(void *(*device)(void *))
{
    int pair[2];
    pthread_t thread;
    struct ferry_link_config config = {.size = sizeof config};
    struct ferry_link *link = NULL;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(pthread_create(&thread, NULL, device, &pair[1]), 0);
    struct ferry_channel channel = {
        .bytes_per_second = 1000000, .where = "here", .medium = "m", .closed = "c", .silent = "s"};
    assert_int_equal(ferry_fd_channel(pair[0], true, &channel), FERRY_OK);
    const int error = ferry_framed_open(&channel, &config, &link);
    shutdown(pair[1], SHUT_RDWR);
    pthread_join(thread, NULL);
    close(pair[1]);
    return error;
}

// RANGE is the answer's, Unsupported Request; who gave up waiting would say TIMEOUT.
static void a_packet_that_comes_slowly_is_no_silence(void **state)
{
    (void)state;
    assert_int_equal(open_at(slow_device), FERRY_ERROR_RANGE);
}

/// Accepts the host, and acknowledges what it asks for after most of a second, where one in fifty is what the rate
/// would have it take: whatever is behind this line is that slow. The answer, Unsupported Request, comes four seconds
/// later, twice the silence after which a host whose line is as fast as its rate gives a request up.
static void *device_far_away(void *context)
{
    const int fd = *(int *)context;
    struct ferry_frames frames = {0};
    struct ferry_tunnel_hello hello;
    const uint32_t *request = NULL;
    size_t count, got = 1;
    bool control;

    ferry_frames_start(&frames, 0);
    while (request == NULL && got > 0) {
        uint8_t bytes[256];
        const ssize_t came = read(fd, bytes, sizeof bytes);
        got = came > 0 ? (size_t)came : 0;
        ferry_frames_feed(&frames, bytes, got);
        if (ferry_frames_hello(&frames, &hello)) {
            accept_host(&frames, &hello);
        }
        request = ferry_frames_receive(&frames, &control, &count);
        rest(request == NULL ? 0 : 800);
        say(&frames, fd, 64, 0);
    }
    for (unsigned i = 0; request != NULL && i < 5; i++) {
        rest(800);
    }
    if (request != NULL) {
        const uint32_t answer[3] = {0x0a000000, 0x01002004, request[1] & 0xffffff00};
        ferry_frames_send(&frames, false, answer, 3);
        say(&frames, fd, 64, 0);
    }
    uint8_t none;
    while (read(fd, &none, 1) == 1) {
    }
    return NULL;
}

static void a_slow_line_has_longer_silences(void **state)
{
    (void)state;
    assert_int_equal(open_at(device_far_away), FERRY_ERROR_RANGE);
}

struct forgetful {
    int fd;
    uint64_t came; // Frames, until the host is gone.
};

/// Accepts the host and answers what it asks for first with Unsupported Request, upon which it closes; but forgets that
/// the frame came, as if it had been lost, and with it what the host says behind the answer.
static void *forgetful_device(void *context)
{
    struct forgetful *line = context;
    struct ferry_frames frames = {0};
    struct ferry_tunnel_hello hello;
    size_t count, got = 1;
    bool control, answered = false, deaf = false;

    ferry_frames_start(&frames, 0);
    while (got > 0) {
        uint8_t bytes[256];
        const ssize_t came = read(line->fd, bytes, sizeof bytes);
        got = came > 0 ? (size_t)came : 0;
        if (answered && !deaf) {
            deaf = true;
            continue;
        }
        ferry_frames_feed(&frames, bytes, got);
        if (ferry_frames_hello(&frames, &hello)) {
            accept_host(&frames, &hello);
        }
        const uint32_t *request = answered ? NULL : ferry_frames_receive(&frames, &control, &count);
        if (request != NULL) {
            const uint32_t answer[3] = {0x0a000000, 0x01002004, request[1] & 0xffffff00};
            frames.expected = frames.told_expected = 0;
            answered = ferry_frames_send(&frames, false, answer, 3);
        }
        say(&frames, line->fd, 64, 0);
    }
    line->came = frames.counts.frames_in;
    return NULL;
}

// At 115,200 baud a frame that was lost is sent again after three seconds.
static void what_is_lost_at_the_end_is_sent_again(void **state)
{
    (void)state;
    int pair[2];
    pthread_t thread;
    struct ferry_link_config config = {.size = sizeof config};
    struct ferry_link *link = NULL;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    struct forgetful line = {.fd = pair[1]};
    assert_int_equal(pthread_create(&thread, NULL, forgetful_device, &line), 0);
    struct ferry_channel channel = {
        .bytes_per_second = 11520, .where = "here", .medium = "m", .closed = "c", .silent = "s"};
    assert_int_equal(ferry_fd_channel(pair[0], true, &channel), FERRY_OK);
    assert_int_equal(ferry_framed_open(&channel, &config, &link), FERRY_ERROR_RANGE);
    pthread_join(thread, NULL);
    close(pair[1]);
    assert_int_equal(line.came, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_packet_that_comes_slowly_is_no_silence),
                                       cmocka_unit_test(a_slow_line_has_longer_silences),
                                       cmocka_unit_test(what_is_lost_at_the_end_is_sent_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
