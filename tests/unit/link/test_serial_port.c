// SPDX-License-Identifier: Apache-2.0
// The host's side of a serial port, with the kernel's word on the port taken by the test: which rates are taken, what
// is set and put back, and what the frames are told of the line.
#define _DEFAULT_SOURCE // mkstemp()
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <asm/termbits.h>
#include <errno.h>
#include <linux/serial.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "link/framed.h"
#include "link/problem.h"
#include "link/serial_port.h"

// Linked with --wrap for this.
int __wrap_ioctl(int fd, unsigned long request, ...);

static struct {
    bool is_port, sets, alone; // what works
    uint32_t does;             // the only rate that it has; 0 = any
    struct termios2 settings;
    struct serial_struct adapter;
    bool exclusive;
    unsigned flushed, sets_of_settings;
} port;

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;

    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    assert_true(fd >= 0);
    errno = port.is_port ? EIO : ENOTTY;
    if (!port.is_port)
        return -1;
    switch (request) {
    case TCGETS2: memcpy(argument, &port.settings, sizeof port.settings); return 0;
    case TCSETS2:
        port.sets_of_settings++;
        if (!port.sets)
            return -1;
        memcpy(&port.settings, argument, sizeof port.settings);
        if (port.does != 0)
            port.settings.c_ispeed = port.settings.c_ospeed = port.does;
        return 0;
    case TIOCEXCL: port.exclusive = port.alone; return port.alone ? 0 : -1;
    case TIOCNXCL: port.exclusive = false; return 0;
    case TCFLSH:
        assert_int_equal((intptr_t)argument, TCIOFLUSH);
        port.flushed++;
        return 0;
    case TIOCGSERIAL: memcpy(argument, &port.adapter, sizeof port.adapter); return 0;
    case TIOCSSERIAL: memcpy(&port.adapter, argument, sizeof port.adapter); return 0;
    default: return -1;
    }
}

// What the back end gives the frames.
static struct ferry_channel given;
static char medium[80], silent[200], where[100];
static int answers;

int ferry_framed_open(const struct ferry_channel *channel, const struct ferry_link_config *config,
                      struct ferry_link **link)
{
    (void)config;
    (void)link;
    given = *channel;
    snprintf(medium, sizeof medium, "%s", channel->medium);
    snprintf(silent, sizeof silent, "%s", channel->silent);
    snprintf(where, sizeof where, "%s", channel->where);
    // At our rate, alone, and nothing of before.
    assert_true(port.exclusive && port.flushed == 1);
    channel->operations->close(channel->context);
    return answers;
}

extern const struct ferry_backend ferry_backend_uart;

void ferry_serial_list(const char *root, ferry_candidate_callback *callback, void *context)
{
    (void)root;
    (void)callback;
    (void)context;
}

static char path[] = "/tmp/ferry-serial-XXXXXX";
static const struct termios2 before = {
    .c_iflag = ICRNL | IXON, .c_oflag = OPOST, .c_cflag = CS7 | PARENB | B9600, .c_lflag = ICANON | ECHO};

static int set_up(void **state)
{
    (void)state;
    const int file = mkstemp(path);
    if (file < 0)
        return -1;
    close(file);
    return 0;
}

static int take_down(void **state)
{
    (void)state;
    return unlink(path);
}

static void begin(void)
{
    memset(&port, 0, sizeof port);
    port.is_port = port.sets = port.alone = true;
    port.settings = before;
    port.settings.c_ospeed = port.settings.c_ispeed = 9600;
    answers = FERRY_OK;
    medium[0] = silent[0] = where[0] = 0;
    ferry_problem_clear();
}

static int open_at(const char *rate)
{
    char address[200];
    const struct ferry_link_config config = {.size = sizeof config, .address = address};
    struct ferry_link *link = NULL;

    snprintf(address, sizeof address, "%s%s", path, rate);
    return ferry_backend_uart.open(&config, &link);
}

static void is_as_it_was(void)
{
    assert_false(port.exclusive);
    assert_int_equal(port.settings.c_iflag, before.c_iflag);
    assert_int_equal(port.settings.c_oflag, before.c_oflag);
    assert_int_equal(port.settings.c_cflag, before.c_cflag);
    assert_int_equal(port.settings.c_lflag, before.c_lflag);
    assert_int_equal(port.settings.c_ospeed, port.does ? port.does : 9600);
}

static void the_rate_is_what_the_address_says(void **state)
{
    const struct {
        const char *rate;
        uint32_t baud; // 0 = none that a port has
    } cases[] = {{"", 3000000}, {"@115200", 115200}, {"@9600", 9600}, {"@", 0},       {"@x", 0},     {"@9600x", 0},
                 {"@+9600", 0}, {"@-9600", 0},       {"@ 9600", 0},   {"@0x9600", 0}, {"@96 00", 0}, {"@9600@9601", 0}};
    char words[200], text[40];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin();
        // The last @ parts the rate: what stands before it is the port's name then, and there is none.
        assert_int_equal(open_at(cases[i].rate), cases[i].baud ? FERRY_OK : FERRY_ERROR_BACKEND);
        assert_int_equal(port.sets_of_settings > 0, cases[i].baud != 0);
        if (!cases[i].baud)
            continue;
        assert_int_equal(port.settings.c_ospeed, cases[i].baud);
        assert_int_equal(given.bytes_per_second, cases[i].baud / 10);
        assert_string_equal(where, path);
        snprintf(words, sizeof words, "serial port, %u baud", cases[i].baud);
        assert_string_equal(medium, words);
        snprintf(words, sizeof words, "is %u its baud rate (uart:PORT@BAUD)?", cases[i].baud);
        assert_non_null(strstr(silent, words));
    }
    for (int off = -1; off <= 1; off++) {
        begin();
        snprintf(text, sizeof text, "@%u", FERRY_SERIAL_LEAST_BAUD + (unsigned)off);
        assert_int_equal(open_at(text), off < 0 ? FERRY_ERROR_BACKEND : FERRY_OK);
        begin();
        snprintf(text, sizeof text, "@%u", FERRY_SERIAL_MOST_BAUD + (unsigned)off);
        assert_int_equal(open_at(text), off > 0 ? FERRY_ERROR_BACKEND : FERRY_OK);
        assert_true(off <= 0 || strstr(ferry_problem(), "is no PORT and no PORT@BAUD"));
    }
}

// Bytes as they are, by an adapter that keeps none back.
static void the_port_is_set_for_bytes_as_they_are(void **state)
{
    (void)state;
    begin();
    assert_int_equal(open_at("@115200"), FERRY_OK);
    assert_int_equal(port.settings.c_iflag | port.settings.c_oflag | port.settings.c_lflag, 0);
    assert_int_equal(port.settings.c_cflag, CS8 | CREAD | CLOCAL | BOTHER | BOTHER << IBSHIFT);
    assert_int_equal(port.settings.c_ispeed, 115200);
    assert_int_equal(port.settings.c_cc[VMIN], 1);
    assert_int_equal(port.settings.c_cc[VTIME], 0);
    assert_true((port.adapter.flags & ASYNC_LOW_LATENCY) != 0);
    assert_true(port.exclusive);
}

// 2 % and no more: what the device's receiver bears, whose test is `serial_clocks_that_differ_by_two_per_cent`.
static void a_port_of_another_rate_says_which(void **state)
{
    const struct {
        uint32_t does;
        bool good;
    } cases[] = {{98000, true}, {97999, false}, {102000, true}, {102001, false}};
    char words[100];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin();
        port.does = cases[i].does;
        assert_int_equal(open_at("@100000"), cases[i].good ? FERRY_OK : FERRY_ERROR_BACKEND);
        if (cases[i].good)
            continue;
        snprintf(words, sizeof words, "%s does %u baud, not 100000", path, cases[i].does);
        assert_non_null(strstr(ferry_problem(), words));
        is_as_it_was();
    }
}

static void what_fails_leaves_the_port_as_it_was(void **state)
{
    (void)state;
    begin();
    port.is_port = false;
    assert_int_equal(open_at(""), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "is no serial port"));
    begin();
    port.sets = false;
    assert_int_equal(open_at(""), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "cannot be set up as a serial port"));
    is_as_it_was();
    begin();
    port.alone = false;
    assert_int_equal(open_at(""), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "cannot be had alone"));
    is_as_it_was();
    // Nobody answers: the link has closed its own descriptor by then. What was said is not to go out at the old rate.
    begin();
    answers = FERRY_ERROR_TIMEOUT;
    assert_int_equal(open_at(""), FERRY_ERROR_TIMEOUT);
    is_as_it_was();
    assert_int_equal(port.flushed, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_is_what_the_address_says),
        cmocka_unit_test(the_port_is_set_for_bytes_as_they_are),
        cmocka_unit_test(a_port_of_another_rate_says_which),
        cmocka_unit_test(what_fails_leaves_the_port_as_it_was),
    };
    return cmocka_run_group_tests_name("serial_port", tests, set_up, take_down);
}
