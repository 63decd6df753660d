// SPDX-License-Identifier: Apache-2.0
// The simulated serial port as a program at its other end has it: what it gets, what it does not, and for what the
// simulator waits.
#define _GNU_SOURCE // cfmakeraw()
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "server/pty.h"

static struct server_pty pty;
static int next_descriptor;

static int lowest_descriptor(void)
{
    const int lowest = dup(0);
    assert_true(lowest >= 0);
    close(lowest);
    return lowest;
}

static int setup(void **state)
{
    (void)state;
    next_descriptor = lowest_descriptor();
    return server_pty_open(&pty) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    server_pty_close(&pty);
    server_pty_close(&pty); // Nothing is open any more.
    assert_int_equal(lowest_descriptor(), next_descriptor);
    return 0;
}

static int open_port(void)
{
    const int port = open(pty.path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    assert_true(port >= 0);
    return port;
}

static double waited(bool writes, int milliseconds)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    server_pty_wait(&pty, writes, milliseconds);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

/// Each of 256, in both directions; none comes back by itself.
static void every_byte_is_one(void **state)
{
    (void)state;
    uint8_t sent[256], came[512];
    const int port = open_port();
    for (unsigned n = 0; n < 256; n++) {
        sent[n] = (uint8_t)n;
    }
    assert_int_equal(server_pty_read(&pty, came, sizeof(came)), 0);
    assert_int_equal(server_pty_write(&pty, sent, 256), 256);
    assert_int_equal(read(port, came, sizeof(came)), 256);
    assert_memory_equal(came, sent, 256);
    assert_int_equal(server_pty_read(&pty, came, sizeof(came)), 0);
    assert_int_equal(write(port, sent, 256), 256);
    assert_true(waited(false, 10000) < 9);
    assert_int_equal(server_pty_read(&pty, came, sizeof(came)), 256);
    assert_memory_equal(came, sent, 256);
    assert_int_equal(read(port, came, sizeof(came)), -1);
    assert_int_equal(errno, EAGAIN);
    close(port);
}

static void what_is_sent_to_nobody_is_gone(void **state)
{
    (void)state;
    uint8_t came[16];
    assert_false(server_pty_has_host(&pty));
    for (int host = 0; host < 2; host++) {
        assert_int_equal(server_pty_write(&pty, (const uint8_t *)"nobody", 6), 6);
        assert_int_equal(server_pty_read(&pty, came, sizeof(came)), 0);
        const int port = open_port();
        assert_true(server_pty_has_host(&pty));
        assert_int_equal(read(port, came, sizeof(came)), -1);
        assert_int_equal(errno, EAGAIN);
        assert_int_equal(write(port, "here", 4), 4);
        assert_true(server_pty_has_host(&pty)); // Also while something is there.
        assert_int_equal(server_pty_read(&pty, came, sizeof(came)), 4);
        close(port);
        assert_false(server_pty_has_host(&pty));
    }
}

/// What a host does not take waits for it, and is not lost.
static void a_host_that_is_slow_gets_all(void **state)
{
    (void)state;
    static uint8_t sent[1 << 20], came[1 << 20];
    size_t taken = 0, got = 0, put;
    const int port = open_port();
    for (size_t n = 0; n < sizeof(sent); n++) {
        sent[n] = (uint8_t)(n * 7 + n / 256);
    }
    // The system makes room behind a write, when it comes to it: full is what stays so. There is no room meanwhile;
    bool full = false;
    for (unsigned tries = 0; !full && tries < 100; tries++) {
        while (taken < sizeof(sent) && (put = server_pty_write(&pty, sent + taken, sizeof(sent) - taken)) != 0) {
            taken += put;
        }
        full = waited(true, 100) >= 0.1;
    }
    assert_in_range(taken, 1000, sizeof(sent) - 1);
    assert_true(full);
    for (ssize_t more = 1; got < taken && more > 0; got += more > 0 ? (size_t)more : 0) {
        more = read(port, came + got, sizeof(came) - got);
    }
    assert_int_equal(got, taken);
    assert_memory_equal(came, sent, got);
    assert_true(waited(true, 10000) < 9); // and now there is.
    assert_true(waited(false, 100) >= 0.1);
    close(port);
}

/// An end that nobody has open is no news, and who has opened it before is none.
static void a_wait_is_as_long_as_it_is_told(void **state)
{
    (void)state;
    assert_true(waited(false, 100) >= 0.1);
    assert_true(waited(true, 100) >= 0.1);
    close(open_port());
    assert_true(waited(false, 100) >= 0.1);
    const int port = open_port();
    assert_true(waited(false, 1100) >= 1.1);
    assert_true(waited(false, 0) < 1);
    close(port);
}

static void who_opens_the_port_ends_a_wait(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        usleep(200000);
        const int port = open(pty.path, O_RDWR | O_NOCTTY);
        usleep(200000);
        _exit(port >= 0 ? 0 : 1);
    }
    int status;
    const double time = waited(false, -1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(time >= 0.1);
}

static void nobody_inherits_it(void **state)
{
    (void)state;
    assert_int_not_equal(fcntl(pty.fd, F_GETFD) & FD_CLOEXEC, 0);
    assert_int_not_equal(fcntl(pty.watch, F_GETFD) & FD_CLOEXEC, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(every_byte_is_one),
        CASE(what_is_sent_to_nobody_is_gone),
        CASE(a_host_that_is_slow_gets_all),
        CASE(a_wait_is_as_long_as_it_is_told),
        CASE(who_opens_the_port_ends_a_wait),
        CASE(nobody_inherits_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
