// SPDX-License-Identifier: Apache-2.0
// What stands between a link and its bytes: packets that wait, a descriptor that may not be ready, and a door at which
// one waits.
#define _GNU_SOURCE // mkdtemp(), setitimer()
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "link/fd_channel.h"
#include "link/packet_queue.h"
#include "link/problem.h"
#include "link/socket_address.h"

enum { PACKETS = 20000, WAITING = 50, MOST_WORDS = 200 };

// The nth packet's length, and its words.
static size_t words_of(uint32_t n, uint32_t *words)
{
    const size_t count = n * 37 % MOST_WORDS + 1;
    for (size_t i = 0; i < count; i++) {
        words[i] = n * 1000003u + (uint32_t)i;
    }
    return count;
}

// There are always some in it, so it never begins anew; it takes no more memory than for those that wait.
static void packets_come_as_they_went(void **state)
{
    (void)state;
    struct ferry_packet_queue queue = {0};
    uint32_t words[MOST_WORDS], first = 0;
    bool control = false;
    size_t count = 0;
    assert_null(ferry_packet_queue_first(&queue, &control, &count));
    for (uint32_t n = 0; n < PACKETS; n++) {
        assert_true(ferry_packet_queue_put(&queue, n % 3 == 0, words, words_of(n, words)));
        // Between one and WAITING stay.
        for (uint32_t stay = n % (2 * WAITING) < WAITING ? WAITING : 1 + n % 7; n + 1 - first > stay; first++) {
            const uint32_t *got = ferry_packet_queue_first(&queue, &control, &count);
            assert_non_null(got);
            assert_int_equal(count, words_of(first, words));
            assert_int_equal(control, first % 3 == 0);
            assert_memory_equal(got, words, count * sizeof(*words));
            ferry_packet_queue_drop(&queue);
        }
    }
    assert_true(queue.room < 8 * WAITING * MOST_WORDS);
    while (ferry_packet_queue_first(&queue, &control, &count) != NULL) {
        assert_int_equal(count, words_of(first++, words));
        ferry_packet_queue_drop(&queue);
    }
    assert_int_equal(first, PACKETS);
    ferry_packet_queue_end(&queue);
}

static void check_channel(int ours, int theirs, bool socket)
{
    struct ferry_channel channel = {0};
    uint8_t bytes[4096] = {1, 2, 3};
    size_t sent = 0, came = 0;
    ssize_t put, got;
    assert_int_equal(ferry_fd_channel(ours, socket, &channel), FERRY_OK);
    const struct ferry_channel_operations *operations = channel.operations;
    // Nothing has come: no bytes, and no end either.
    assert_int_equal(operations->read(channel.context, bytes, sizeof(bytes)), 0);
    assert_int_equal(operations->wait(channel.context, true, 0), FERRY_CHANNEL_WRITES);
    // Until the queue to the other end is full.
    while ((put = operations->write(channel.context, bytes, sizeof(bytes))) > 0) {
        sent += (size_t)put;
    }
    assert_int_equal(put, 0);
    assert_true(sent > 0);
    assert_int_equal(operations->wait(channel.context, true, 0), 0);
    while ((got = recv(theirs, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        came += (size_t)got;
    }
    assert_int_equal(came, sent);
    assert_int_equal(operations->wait(channel.context, true, 0), FERRY_CHANNEL_WRITES);
    assert_int_equal(send(theirs, "abc", 3, 0), 3);
    assert_int_equal(operations->wait(channel.context, false, -1), FERRY_CHANNEL_READS);
    assert_int_equal(operations->read(channel.context, bytes, 2), 2);
    assert_int_equal(operations->read(channel.context, bytes + 2, 5), 1);
    assert_memory_equal(bytes, "abc", 3);
    close(theirs);
    assert_int_equal(operations->wait(channel.context, false, -1), FERRY_CHANNEL_READS);
    errno = 0;
    assert_int_equal(operations->read(channel.context, bytes, 1), -1);
    assert_int_equal(errno, ENODEV);
    operations->close(channel.context);
}

static void a_channel_that_is_not_ready_is_no_end(void **state)
{
    (void)state;
    for (unsigned socket = 0; socket < 2; socket++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        // What is no socket is opened so.
        assert_int_equal(fcntl(pair[0], F_SETFL, socket ? 0 : O_NONBLOCK), 0);
        check_channel(pair[0], pair[1], socket);
    }
}

static void nothing_happens(int number)
{
    (void)number;
}

/// A program that is looked at, or whose window changes, gets signals all the time: who waits at a door goes on
/// waiting.
static void a_signal_sends_nobody_away_from_the_door(void **state)
{
    (void)state;
    const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    struct sigaction handler = {.sa_handler = nothing_happens}, before;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/ferry-door-XXXXXX";
    assert_non_null(mkdtemp(folder));
    snprintf(to.sun_path, sizeof(to.sun_path), "%s/door", folder);
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0), first = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(listen(listener, 0), 0);
    assert_int_equal(connect(first, (const struct sockaddr *)&to, sizeof(to)), 0); // There is room for no more.
    const pid_t taker = fork();
    if (taker == 0) {
        const struct timespec while_it_waits = {.tv_nsec = 300000000};
        nanosleep(&while_it_waits, NULL);
        const int one = accept(listener, NULL, NULL), other = accept(listener, NULL, NULL);
        _exit(one < 0 || other < 0);
    }
    assert_int_equal(sigaction(SIGALRM, &handler, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    const int fd = ferry_socket_connect(to.sun_path);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    kill(taker, fd < 0 ? SIGKILL : 0);
    waitpid(taker, NULL, 0);
    close(first);
    close(listener);
    unlink(to.sun_path);
    rmdir(folder);
    if (fd < 0) {
        fail_msg("%s", ferry_problem());
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(packets_come_as_they_went),
                                       cmocka_unit_test(a_channel_that_is_not_ready_is_no_end),
                                       cmocka_unit_test(a_signal_sends_nobody_away_from_the_door)};
    return cmocka_run_group_tests_name("channels", tests, NULL, NULL);
}
