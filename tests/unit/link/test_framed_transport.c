// SPDX-License-Identifier: Apache-2.0
// What the end of a byte stream tells the root complex of its line and of the device, and what it says of those who
// refuse it. The other end is played here, with frames.c, and the root complex's place is the test's.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link/fd_channel.h"
#include "link/frames.h"
#include "link/problem.h"
#include "link/root_complex.h"

// Linked with --wrap for this.
int __wrap_ferry_root_complex_open(const struct ferry_tlp_transport *transport, const struct ferry_link_config *config,
                                   struct ferry_link **link);
static struct ferry_tlp_transport line;

int __wrap_ferry_root_complex_open(const struct ferry_tlp_transport *transport, const struct ferry_link_config *config,
                                   struct ferry_link **link)
{
    (void)config;
    (void)link;
    line = *transport;
    return FERRY_OK;
}

struct device {
    int fd;
    uint32_t what, version, user; // of its answer
    const char *name;
    unsigned broken;  // frames that are none, before it
    unsigned forgets; // frames of the host's that it forgets
    uint64_t came, doubled;
    // A simulator's: so far it has run, in how many turns it stops, what it was told to plant.
    uint64_t cycles, back; // and by so many it goes back in each turn
    unsigned stops_in;
    uint64_t flood; // words of it
    bool floods;    // Once it is told to run on it sends packets, and never that it has run.
    struct ferry_tunnel_message planted;
};

static void say(struct ferry_frames *frames, int fd)
{
    uint8_t bytes[64];
    size_t count;

    while ((count = ferry_frames_take(frames, bytes, sizeof bytes)) > 0 &&
           send(fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count)
        ;
}

// RUN is answered with how far it has run then, and what it has got of the host's packets.
static void take_message(struct device *device, struct ferry_frames *frames, const uint32_t *words, uint32_t taken)
{
    struct ferry_tunnel_message message;
    uint32_t reply[sizeof message / 4];

    memcpy(&message, words, sizeof message);
    if (message.code == FERRY_TUNNEL_CODE_PLANT)
        device->planted = message;
    if (message.code != FERRY_TUNNEL_CODE_RUN)
        return;
    device->cycles += message.value - (message.value != 0 ? device->back : 0);
    const bool stops = device->stops_in > 0 && --device->stops_in == 0;
    message = (struct ferry_tunnel_message){
        .code = stops ? FERRY_TUNNEL_CODE_STOPPED : FERRY_TUNNEL_CODE_RAN, .number = taken, .value = device->cycles};
    memcpy(reply, &message, sizeof message);
    ferry_frames_send(frames, true, reply, sizeof message / 4);
}

// Packets while they are taken, to a host that waits for something else.
static void flood(struct device *device, struct ferry_frames *frames)
{
    static const uint32_t packet[64] = {0};
    ssize_t got = 1;

    while (got > 0) {
        uint8_t bytes[256];

        while (ferry_frames_send(frames, false, packet, 64))
            device->flood += 64;
        say(frames, device->fd);
        got = read(device->fd, bytes, sizeof bytes);
        ferry_frames_feed(frames, bytes, got > 0 ? (size_t)got : 0);
    }
}

static void *play(void *context)
{
    struct device *device = context;
    struct ferry_frames frames = {0};
    struct ferry_tunnel_hello hello;
    ssize_t got = 1;
    bool control;
    size_t count;
    uint32_t taken = 0;
    const uint32_t *words;

    ferry_frames_start(&frames, 0);
    while (got > 0) {
        uint8_t bytes[256];

        got = read(device->fd, bytes, sizeof bytes);
        if (got > 0 && ferry_frames_open(&frames) && device->forgets > 0) {
            device->forgets--;
            continue;
        }
        ferry_frames_feed(&frames, bytes, got > 0 ? (size_t)got : 0);
        if (ferry_frames_hello(&frames, &hello)) {
            for (unsigned n = 0; n < device->broken; n++)
                (void)send(device->fd, "AAA", 4, MSG_NOSIGNAL);
            hello.what = FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_ANSWER, 1u) | device->what;
            hello.contract_version = device->version;
            hello.user = device->user;
            memcpy(hello.name, device->name, strnlen(device->name, sizeof hello.name));
            ferry_frames_answer(&frames, &hello);
        }
        while ((words = ferry_frames_receive(&frames, &control, &count)) != NULL)
            if (control && device->floods && words[2] != 0)
                flood(device, &frames);
            else if (control)
                take_message(device, &frames, words, taken);
            else
                taken += (uint32_t)count;
        say(&frames, device->fd);
    }
    device->came = frames.counts.frames_in;
    device->doubled = frames.counts.doubled;
    return NULL;
}

static pthread_t thread;
static int pair[2];

static int open_line(struct device *device)
{
    struct ferry_link_config config = {.size = sizeof config};
    struct ferry_link *link = NULL;

    line = (struct ferry_tlp_transport){0};
    ferry_problem_clear();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    device->fd = pair[1];
    assert_int_equal(pthread_create(&thread, NULL, play, device), 0);
    struct ferry_channel channel = {
        .bytes_per_second = 1000000, .where = "here", .medium = "a wet string", .closed = "c", .silent = "s"};
    assert_int_equal(ferry_fd_channel(pair[0], true, &channel), FERRY_OK);
    return ferry_framed_open(&channel, &config, &link);
}

static void end_line(void)
{
    if (line.close)
        line.close(line.context);
    shutdown(pair[1], SHUT_RDWR);
    pthread_join(thread, NULL);
    close(pair[1]);
}

static struct device good(void)
{
    return (struct device){.what = FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_VERDICT, FERRY_TUNNEL_VERDICT_ACCEPTED),
                           .version = FERRY_CONTRACT_VERSION,
                           .name = "ulx3s-85f"};
}

// Each of them is another number: bytes that were no part of a frame, frames that came broken, and those sent again.
static void a_bad_line_is_counted_by_what_is_bad(void **state)
{
    const uint32_t words[4] = {0x60000001, 1, 2, 3};
    struct ferry_link_counts counts = {.unmapped_accesses = 5, .interrupts = 6};
    struct device device = good();

    (void)state;
    device.broken = 40;
    device.forgets = 1;
    assert_int_equal(open_line(&device), FERRY_OK);
    line.counts(line.context, &counts);
    assert_int_equal(counts.noise_bytes, 160);
    assert_int_equal(counts.broken_frames, 40);
    assert_int_equal(counts.frames_again, 0);
    assert_int_equal(line.send(line.context, words, 4), FERRY_OK);
    while (line.queued(line.context) != 0)
        (void)line.run(line.context, 2000);
    line.counts(line.context, &counts);
    assert_int_equal(counts.noise_bytes, 160);
    assert_int_equal(counts.broken_frames, 40);
    assert_in_range(counts.frames_again, 1, 39);
    // The rest is not its own.
    assert_int_equal(counts.unmapped_accesses, 5);
    assert_int_equal(counts.interrupts, 6);
    const uint64_t again = counts.frames_again;
    end_line();
    assert_int_equal(device.came, 1);
    assert_in_range(device.doubled, 0, again);
}

static void the_line_and_its_device_say_what_they_are(void **state)
{
    struct ferry_link_description description = {.medium = "x", .device = "y"};
    struct device device = good();

    (void)state;
    // A byte takes so many cycles, and behind an answer there may be so many bytes that the number has no room for it.
    for (unsigned large = 0; large < 2; large++) {
        device.what |= FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_BYTE_CYCLES, large ? 65535u : 7u);
        assert_int_equal(open_line(&device), FERRY_OK);
        line.describe(line.context, &description);
        assert_string_equal(description.medium, "a wet string");
        assert_string_equal(description.device, "ulx3s-85f");
        assert_int_equal(line.delay(line.context), large ? INT32_MAX : 7 * 327680);
        // Nobody is there who could plant a fault.
        assert_int_equal(line.inject(line.context, FERRY_INJECT_LOCAL_READ_ERROR, 1), FERRY_ERROR_UNSUPPORTED);
        assert_int_equal(line.cycles(line.context), 0);
        end_line();
    }
    // A name without an end is cut.
    device = good();
    device.name = "ABCDEFGHIJKLMNOPQ";
    assert_int_equal(open_line(&device), FERRY_OK);
    line.describe(line.context, &description);
    assert_string_equal(description.device, "ABCDEFGHIJKLMNO");
    end_line();
}

static void who_refuses_is_named_with_his_reason(void **state)
{
    const struct {
        uint32_t verdict, version, user;
        int error;
        const char *words;
    } cases[] = {
        {FERRY_TUNNEL_VERDICT_IN_USE, FERRY_CONTRACT_VERSION, 4711, FERRY_ERROR_IN_USE,
         "the device at here is in use by process 4711"},
        {FERRY_TUNNEL_VERDICT_IN_USE, FERRY_CONTRACT_VERSION, 0, FERRY_ERROR_IN_USE,
         "the device at here is in use by another host"},
        {FERRY_TUNNEL_VERDICT_CONTRACT, 0x00990007, 0, FERRY_ERROR_CONTRACT, "the device at here has contract 153.7,"},
        {FERRY_TUNNEL_VERDICT_ACCEPTED, FERRY_CONTRACT_VERSION + 0x10000, 0, FERRY_ERROR_CONTRACT,
         "the device at here has contract "},
        {FERRY_TUNNEL_VERDICT_ACCEPTED, FERRY_CONTRACT_VERSION + 1, 0, FERRY_OK, ""},
        {200, FERRY_CONTRACT_VERSION, 0, FERRY_ERROR_BACKEND, "refused, for a reason that this driver does not know"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct device device = {.what = FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_VERDICT, cases[i].verdict),
                                .version = cases[i].version,
                                .user = cases[i].user,
                                .name = "x"};

        assert_int_equal(open_line(&device), cases[i].error);
        assert_non_null(strstr(ferry_problem(), cases[i].words));
        assert_true(cases[i].error == FERRY_OK || ferry_problem()[0] != 0);
        end_line();
    }
}

// A simulator runs as far as it is told, and says how far that was; what it had run before is no time of the session's.
static void a_simulator_is_told_how_far_to_run(void **state)
{
    const uint32_t words[4] = {0x60000001, 1, 2, 3};
    struct device device = good();

    (void)state;
    device.what |= FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_CLOCKED, 1u);
    device.cycles = 1000000;
    device.stops_in = 7; // The first turn is that in which it is asked how far it has run.
    assert_int_equal(open_line(&device), FERRY_OK);
    assert_int_equal(line.cycles(line.context), 0);
    assert_int_equal(line.send(line.context, words, 4), FERRY_OK);
    assert_int_equal(line.queued(line.context), 4);
    assert_int_equal(line.run(line.context, 300), 300);
    assert_int_equal(line.queued(line.context), 0);
    assert_int_equal(line.cycles(line.context), 300);
    // In turns, of which nobody hears who asked.
    assert_int_equal(line.run(line.context, 2500), 2500);
    assert_int_equal(line.cycles(line.context), 2800);
    for (unsigned write = 0; write < 2; write++) {
        const enum ferry_injection kinds[] = {FERRY_INJECT_LOCAL_READ_ERROR, FERRY_INJECT_LOCAL_WRITE_ERROR};

        assert_int_equal(line.inject(line.context, kinds[write], 5 + write), FERRY_OK);
    }
    assert_int_equal(line.inject(line.context, FERRY_INJECT_LOSE_COMPLETION, 1), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(line.run(line.context, 20), 20);
    assert_int_equal(device.planted.number, 6);
    assert_int_equal(device.planted.value, 1);
    assert_int_equal(line.inject(line.context, FERRY_INJECT_LOCAL_READ_ERROR, 7), FERRY_OK);
    // It stops itself, and is no device any more.
    line.run(line.context, 1);
    assert_int_equal(device.planted.number, 7);
    assert_int_equal(device.planted.value, 0);
    assert_string_equal(ferry_problem(), "the device at here is gone: it broke a rule of its memory port, and the "
                                         "simulator stopped it");
    assert_int_equal(line.send(line.context, words, 4), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(line.run(line.context, 1), 0);
    end_line();
}

static ssize_t write_nothing(void *context, const uint8_t *bytes, size_t count)
{
    (void)context, (void)bytes, (void)count;
    return 0;
}

static ssize_t read_fails(void *context, uint8_t *bytes, size_t room)
{
    (void)bytes, (void)room;
    errno = *(const int *)context;
    return -1;
}

static unsigned wait_no_time(void *context, bool writes, int milliseconds)
{
    (void)context, (void)writes, (void)milliseconds;
    return FERRY_CHANNEL_READS;
}

static void close_nothing(void *context)
{
    (void)context;
}

// What is gone, what fails though it is there, and what the system says of the rest are told apart.
static void the_end_of_a_channel_is_told_by_what_ended_it(void **state)
{
    static const struct ferry_channel_operations broken = {
        .write = write_nothing, .read = read_fails, .wait = wait_no_time, .close = close_nothing};
    const struct {
        int number;
        const char *failing, *said;
    } cases[] = {{ENODEV, "it fails", "the device at here is gone: pulled"},
                 {EIO, "it fails", "the device at here is gone: pulled"},
                 {EPROTO, "it fails", "the device at here is gone: it fails"},
                 {EPROTO, NULL, "the device at here is gone: Protocol error"},
                 {ENOMEM, "it fails", "the device at here is gone: Cannot allocate memory"}};
    const struct ferry_link_config config = {.size = sizeof config};
    struct ferry_link *link;

    (void)state;
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        int number = cases[n].number;
        const struct ferry_channel channel = {.operations = &broken,
                                              .context = &number,
                                              .bytes_per_second = 1000,
                                              .where = "here",
                                              .medium = "m",
                                              .closed = "pulled",
                                              .failing = cases[n].failing,
                                              .silent = "s"};
        ferry_problem_clear();
        assert_int_equal(ferry_framed_open(&channel, &config, &link), FERRY_ERROR_DEVICE_LOST);
        assert_string_equal(ferry_problem(), cases[n].said);
    }
}

// Who sends faster than the line takes it is told to wait, by a bound of four megabytes; and what has gone makes room.
static void no_more_waits_than_a_bound(void **state)
{
    (void)state;
    enum { WORDS = 68, BOUND = 1 << 20 };
    static const uint32_t words[WORDS] = {0x60000040u};
    struct device device = good();
    uint32_t sent = 0;
    int error;

    assert_int_equal(open_line(&device), FERRY_OK);
    while ((error = line.send(line.context, words, WORDS)) == FERRY_OK && sent < 2 * BOUND)
        sent += WORDS;
    assert_int_equal(error, FERRY_ERROR_BUSY);
    assert_in_range(sent, BOUND, BOUND + WORDS);
    while (line.send(line.context, words, WORDS) == FERRY_ERROR_BUSY)
        (void)line.run(line.context, 100);
    shutdown(pair[1], SHUT_RDWR); // The rest need not go.
    end_line();
}

static void a_simulator_s_clock_goes_forward_alone(void **state)
{
    (void)state;
    struct device device = good();

    device.what |= FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_CLOCKED, 1u);
    device.cycles = 5000;
    device.back = 101;
    assert_int_equal(open_line(&device), FERRY_OK);
    line.run(line.context, 101); // Not at all forward is a device that is gone, by what run() says.
    assert_string_equal(ferry_problem(), "");
    line.run(line.context, 100);
    assert_string_equal(ferry_problem(), "the device at here is gone: its clock goes back");
    assert_int_equal(line.run(line.context, 100), 0);
    end_line();
}

static void a_simulator_that_sends_and_never_says_that_it_ran_has_an_end(void **state)
{
    (void)state;
    struct device device = good();
    size_t words = 0, count;

    device.what |= FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_CLOCKED, 1u);
    device.floods = true;
    assert_int_equal(open_line(&device), FERRY_OK);
    line.run(line.context, 1);
    assert_string_equal(ferry_problem(), "the device at here is gone: it sends more than there is room for");
    // What came before stays.
    while (line.receive(line.context, &count) != NULL)
        words += count;
    assert_in_range(words, 1u << 19, 1u << 21);
    assert_int_equal(line.send(line.context, (const uint32_t[4]){0}, 4), FERRY_ERROR_DEVICE_LOST);
    end_line();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_bad_line_is_counted_by_what_is_bad),
                                       cmocka_unit_test(the_line_and_its_device_say_what_they_are),
                                       cmocka_unit_test(who_refuses_is_named_with_his_reason),
                                       cmocka_unit_test(a_simulator_is_told_how_far_to_run),
                                       cmocka_unit_test(a_simulator_s_clock_goes_forward_alone),
                                       cmocka_unit_test(a_simulator_that_sends_and_never_says_that_it_ran_has_an_end),
                                       cmocka_unit_test(no_more_waits_than_a_bound),
                                       cmocka_unit_test(the_end_of_a_channel_is_told_by_what_ended_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
