// SPDX-License-Identifier: Apache-2.0
// The end of a USB redirection that has the device, with the test at both of its sides: a guest that speaks the
// protocol byte by byte, and a bus on which transactions end as they are told to.
#define _GNU_SOURCE // mkdtemp(), nanosleep()
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <usbredirproto.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "redir_bus.h"
#include "redir_guest.h"
#include "server/redir.h"

// ---- Cases ----------------------------------------------------------------------------------------------------------

static void *serve(void *host)
{
    ended = redir_run(listener, host, &stop);
    return NULL;
}

static int setup(void **state)
{
    static const struct redir_host host = {NULL, reset, control, out, in, idle, busy, broken};

    (void)state;
    stop = 0;
    descriptor_bytes = 18;
    reset_result = REDIR_DONE;
    refuses = outs = ins = moved_out = gives = idles = 0;
    configuration = whole;
    configuration_bytes = sizeof whole;
    configuration_result = REDIR_DONE;
    out_result = in_result = REDIR_NAK;
    breaks = NULL;
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    unlink(address.sun_path);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 8) != 0)
        return -1;
    pthread_create(&server, NULL, serve, (void *)&host);
    greet();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stop = 1;
    close(guest);
    close(knock()); // It looks when somebody comes.
    pthread_join(server, NULL);
    close(listener);
    return ended;
}

static void a_device_says_what_it_is(void **state)
{
    struct usb_redir_interface_info_header interfaces;
    struct usb_redir_ep_info_header endpoints = {0};
    struct usb_redir_device_connect_header device;

    (void)state;
    assert_true(hear(usb_redir_interface_info));
    memcpy(&interfaces, came.bytes, sizeof interfaces);
    assert_int_equal(interfaces.interface_count, 1);
    assert_int_equal(interfaces.interface[0], 3);
    assert_int_equal(interfaces.interface_class[0], 0xff);
    assert_int_equal(interfaces.interface_subclass[0], 0x14);
    assert_int_equal(interfaces.interface_protocol[0], 0x15);
    assert_true(hear(usb_redir_ep_info));
    memcpy(&endpoints, came.bytes, came.length < sizeof endpoints ? came.length : sizeof endpoints);
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(endpoints.type[i], i % 16 == 0   ? usb_redir_type_control
                                            : i % 16 == 1 ? usb_redir_type_bulk
                                                          : usb_redir_type_invalid);
        assert_int_equal(endpoints.max_packet_size[i], i % 16 == 0 || i == 1 ? 64 : i == 17 ? 32 : 0);
        assert_int_equal(endpoints.interval[i], i == 1 ? 5 : i == 17 ? 6 : 0);
        assert_int_equal(endpoints.interface[i], i % 16 == 1 ? 3 : 0);
    }
    assert_true(hear(usb_redir_device_connect));
    memcpy(&device, came.bytes, sizeof device);
    assert_int_equal(device.speed, usb_redir_speed_full);
    assert_int_equal(device.device_class, 0xff);
    assert_int_equal(device.device_subclass, 0x12);
    assert_int_equal(device.device_protocol, 0x13);
    assert_int_equal(device.vendor_id, 0x1209);
    assert_int_equal(device.product_id, 1);
    assert_int_equal(device.device_version_bcd, 0x0234);
}

// Nothing that makes sense, or nobody on the bus: the guest has no device, and the next one may have.
static void a_device_that_does_not_answer_is_none(void **state)
{
    (void)state;
    assert_true(hear(usb_redir_device_connect));
    for (unsigned i = 0; i < 2; i++) {
        close(guest);
        descriptor_bytes = i ? 18 : 17;
        reset_result = i ? REDIR_FAULT : REDIR_DONE;
        greet();
        assert_false(hear(usb_redir_device_connect));
    }
    close(guest);
    reset_result = REDIR_DONE;
    greet();
    assert_true(hear(usb_redir_device_connect));
    // One that is lost on the way.
    reset_result = REDIR_FAULT;
    say(usb_redir_reset, 0, NULL, 0, NULL, 0);
    assert_false(hear(usb_redir_configuration_status));
}

static bool comes_anew(const uint8_t *says, size_t bytes)
{
    close(guest);
    configuration = says;
    configuration_bytes = bytes;
    greet();
    return hear(usb_redir_interface_info);
}

// What a device says of itself is not believed beyond its end, nor is more of it taken than there is room for.
static void descriptors_that_are_broken_are_read_as_far_as_they_go(void **state)
{
    enum { HEAD = 9, INTERFACE = 9, MANY = 40 };
    static const uint8_t of_no_length[] = {9, 2, 20, 0, 1, 1, 0, 0x80, 250, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t of_one_byte[] = {9, 2, 20, 0, 1, 1, 0, 0x80, 250, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t cut_off[] = {9, 2, 18, 0, 1, 1, 0, 0x80, 250, 9, 4, 0, 0, 0};
    static const uint8_t short_interface[] = {9, 2, 17, 0, 1, 1, 0, 0x80, 250, 8, 4, 0, 0, 0, 0, 0, 0};
    static const uint8_t endpoints_too[] = {9, 2, 35, 0, 1, 1, 0, 0x80, 250,  9,    4, 0, 0, 2, 0xff, 0, 0, 0, 6, 5,
                                            1, 2, 0,  2, 7, 5, 2, 2,    0x40, 0x02, 1, 7, 5, 3, 0x37, 8, 0, 1, 5};
    static uint8_t many[HEAD + MANY * INTERFACE] = {9, 2, 0, 0, MANY, 1, 0, 0x80, 250};
    struct usb_redir_interface_info_header interfaces;
    struct usb_redir_ep_info_header endpoints = {0};

    (void)state;
    // A device of no interface is none, and each next guest is served.
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t *says[] = {of_no_length, of_one_byte, cut_off, short_interface};
        const size_t bytes[] = {sizeof of_no_length, sizeof of_one_byte, sizeof cut_off, sizeof short_interface};
        comes_anew(says[i], bytes[i]);
        assert_false(hear(usb_redir_device_connect) && hear(usb_redir_device_connect));
    }
    configuration_result = REDIR_STALL;
    assert_false(comes_anew(whole, sizeof whole));
    configuration_result = REDIR_DONE;
    assert_true(comes_anew(endpoints_too, sizeof endpoints_too));
    assert_true(hear(usb_redir_ep_info));
    memcpy(&endpoints, came.bytes, came.length < sizeof endpoints ? came.length : sizeof endpoints);
    assert_int_equal(endpoints.type[1], usb_redir_type_invalid); // It is a byte too short.
    assert_int_equal(endpoints.type[2], usb_redir_type_bulk);
    assert_int_equal(endpoints.max_packet_size[2], 0x240);
    assert_int_equal(endpoints.type[3], usb_redir_type_interrupt);
    for (uint8_t n = 0; n < MANY; n++)
        memcpy(many + HEAD + n * INTERFACE, ((const uint8_t[]){9, 4, n, 0, 0, 0xff, 0, 0, 0}), INTERFACE);
    assert_true(comes_anew(many, sizeof many));
    memcpy(&interfaces, came.bytes, sizeof interfaces);
    assert_int_equal(interfaces.interface_count, 32);
    assert_int_equal(interfaces.interface[31], 31);
    assert_true(hear(usb_redir_device_connect));
}

static void a_request_has_its_bytes_and_gets_its_answer(void **state)
{
    static uint8_t data[300];
    struct usb_redir_control_packet_header odd = {.endpoint = 0x80, .request = 0x21, .requesttype = 0x40};

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7);
    gives = 5;
    control_transfer(1, 0xc0, 300, NULL, 0);
    expect_control(1, usb_redir_success, 5, 5);
    assert_memory_equal(asked, ((const uint8_t[]){0xc0, 0x21, 0x34, 0x12, 0x78, 0x56, 44, 1}), 8);
    control_transfer(2, 0x40, 100, data, 100);
    expect_control(2, usb_redir_success, 100, 0);
    assert_memory_equal(given, data, 100);
    assert_memory_equal(asked, ((const uint8_t[]){0x40, 0x21, 0x34, 0x12, 0x78, 0x56, 100, 0}), 8);
    control_transfer(3, 0x40, 0, NULL, 0);
    expect_control(3, usb_redir_success, 0, 0);
    // One that goes out on an endpoint that comes in has no bytes to go, and never reaches the device.
    memset(asked, 0, sizeof asked);
    odd.length = 100;
    say(usb_redir_control_packet, 4, &odd, sizeof odd, NULL, 0);
    expect_control(4, usb_redir_inval, 0, 0);
    assert_memory_equal(asked, ((const uint8_t[8]){0}), 8);
    refuses = 1;
    control_transfer(5, 0xc0, 300, NULL, 0);
    expect_control(5, usb_redir_stall, 0, 0);
}

static void what_the_device_refuses_is_as_before(void **state)
{
    uint8_t number = 1, setting[2] = {3, 4};

    (void)state;
    say(usb_redir_set_configuration, 1, &number, 1, NULL, 0);
    expect_configuration(1, usb_redir_success, 1);
    assert_memory_equal(asked, ((const uint8_t[]){0x00, 9, 1, 0, 0, 0, 0, 0}), 8);
    say(usb_redir_get_alt_setting, 2, setting, 1, NULL, 0);
    assert_true(hear(usb_redir_alt_setting_status));
    assert_int_equal(came.id, 2);
    assert_memory_equal(came.bytes, ((const uint8_t[]){usb_redir_success, 3, 5}), 3);
    assert_memory_equal(asked, ((const uint8_t[]){0x81, 10, 0, 0, 3, 0, 1, 0}), 8);
    say(usb_redir_set_alt_setting, 3, setting, 2, NULL, 0);
    assert_true(hear(usb_redir_alt_setting_status));
    assert_memory_equal(came.bytes, ((const uint8_t[]){usb_redir_success, 3, 4}), 3);
    assert_memory_equal(asked, ((const uint8_t[]){0x01, 11, 4, 0, 3, 0, 0, 0}), 8);
    refuses = 1;
    number = 2;
    say(usb_redir_set_configuration, 4, &number, 1, NULL, 0);
    expect_configuration(4, usb_redir_stall, 1);
    say(usb_redir_set_alt_setting, 5, setting, 2, NULL, 0);
    assert_true(hear(usb_redir_alt_setting_status));
    assert_memory_equal(came.bytes, ((const uint8_t[]){usb_redir_stall, 3, 4}), 3);
    say(usb_redir_get_alt_setting, 5, setting, 1, NULL, 0);
    assert_true(hear(usb_redir_alt_setting_status));
    assert_memory_equal(came.bytes, ((const uint8_t[]){usb_redir_stall, 3, 0}), 3);
    say(usb_redir_get_configuration, 6, NULL, 0, NULL, 0);
    expect_configuration(6, usb_redir_success, 1);
    refuses = 0;
    say(usb_redir_reset, 0, NULL, 0, NULL, 0);
    say(usb_redir_get_configuration, 7, NULL, 0, NULL, 0);
    expect_configuration(7, usb_redir_success, 0);
}

static void bytes_go_in_order_and_a_stall_ends_their_transfer(void **state)
{
    static uint8_t data[70000];

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i >> 8 ^ i);
    outs = 1 << 20;
    bulk(1, 0x01, sizeof data, data);
    expect_end(1, usb_redir_success, sizeof data, 0);
    assert_int_equal(moved_out, sizeof data);
    assert_memory_equal(taken, data, sizeof data);
    // Whoever is first has all of his before the others.
    moved_out = outs = 0;
    bulk(2, 0x01, 100, data);
    bulk(3, 0x01, 50, data + 1000);
    bulk(4, 0x01, 200, data + 2000);
    outs = 3;
    expect_end(2, usb_redir_success, 100, 0);
    expect_end(3, usb_redir_success, 50, 0);
    assert_memory_equal(taken, data, 100);
    assert_memory_equal(taken + 100, data + 1000, 50);
    // One that the device refuses, and one that waits and is no longer wanted: so much of it went.
    outs = 2;
    while (outs != 0)
        rest();
    out_result = REDIR_STALL;
    expect_end(4, usb_redir_stall, 128, 0);
    out_result = REDIR_NAK;
    outs = 1;
    bulk(5, 0x01, 200, data);
    while (outs != 0)
        rest();
    cancel(5);
    expect_end(5, usb_redir_cancelled, 64, 0);
    out_result = REDIR_FAULT;
    bulk(6, 0x01, 10, data);
    expect_end(6, usb_redir_ioerror, 0, 0);
}

static void what_comes_ends_when_it_is_full_or_short(void **state)
{
    (void)state;
    bulk(1, 0x81, 128, NULL);
    bulk(2, 0x81, 1000, NULL);
    in_bytes = 64;
    ins = 2;
    expect_end(1, usb_redir_success, 128, 0x41);
    ins = 3;
    while (ins != 0)
        rest();
    in_bytes = 7;
    ins = 1;
    expect_end(2, usb_redir_success, 3 * 64 + 7, 0x42);
    // More than was asked for; nothing at all; and what is refused.
    bulk(3, 0x81, 5, NULL);
    ins = 1;
    expect_end(3, usb_redir_babble, 5, 0x40);
    bulk(4, 0x81, 64, NULL);
    in_bytes = 0;
    ins = 1;
    expect_end(4, usb_redir_success, 0, 0);
    bulk(5, 0x81, 64, NULL);
    in_result = REDIR_STALL;
    expect_end(5, usb_redir_stall, 0, 0);
    in_result = REDIR_NAK;
}

// Of those that wait the one that is meant, and none when it has ended; an endpoint is four bits and a direction.
static void whoever_is_cancelled_is_the_one_that_is_meant(void **state)
{
    static uint8_t data[100];

    (void)state;
    for (uint32_t id = 1; id < 4; id++) {
        bulk(id, 0x01, 100, data);
        bulk(id + 10, 0x81, 100, NULL);
    }
    cancel(99);
    cancel(12);
    expect_end(12, usb_redir_cancelled, 0, 0);
    cancel(3);
    expect_end(3, usb_redir_cancelled, 0, 0);
    cancel(12);
    cancel(1);
    expect_end(1, usb_redir_cancelled, 0, 0);
    cancel(11);
    expect_end(11, usb_redir_cancelled, 0, 0);
    outs = 2;
    expect_end(2, usb_redir_success, 100, 0);
    in_bytes = 3;
    ins = 1;
    expect_end(13, usb_redir_success, 3, 0x40);
    outs = 2;
    bulk(20, 0x71, 100, data);
    expect_end(20, usb_redir_success, 100, 0);
    bulk(21, 0xf1, 100, NULL);
    ins = 1;
    expect_end(21, usb_redir_success, 3, 0x40);
    // Nothing at all is a packet too.
    outs = 1;
    bulk(22, 0x01, 0, data);
    expect_end(22, usb_redir_success, 0, 0);
    assert_int_equal(outs, 0);
}

// What does not fit into the socket waits for a guest that reads late, and is whole, also when the device has nothing
// more to do; and an idle device is given what comes for it.
static void answers_wait_for_a_guest_that_reads_late(void **state)
{
    enum { EACH = 64 * 1500, COUNT = 9 };

    (void)state;
    in_bytes = 64;
    for (uint32_t id = 0; id < COUNT; id++)
        bulk(id, 0x81, EACH, NULL);
    ins = COUNT * EACH / 64;
    for (unsigned i = 0; i < 50000 && ins > 0; i++)
        rest();
    idles = 1;
    for (unsigned i = 0; i < 250; i++)
        rest();
    for (uint32_t id = 0; id < COUNT; id++) {
        assert_true(hear(usb_redir_bulk_packet));
        assert_int_equal(came.id, id);
        assert_int_equal(came.length, sizeof(struct usb_redir_bulk_packet_header) + EACH);
    }
    outs = 2;
    bulk(COUNT, 0x01, 100, taken);
    expect_end(COUNT, usb_redir_success, 100, 0);
}

// Each that ends makes room for another one, in number and in bytes.
static void so_many_wait_and_no_more(void **state)
{
    enum { MOST = 256, LARGE = 1 << 24 };

    (void)state;
    for (uint32_t id = 0; id < MOST; id++)
        bulk(id, 0x81, 64, NULL);
    bulk(MOST, 0x81, 64, NULL);
    expect_end(MOST, usb_redir_inval, 0, 0);
    for (uint32_t id = 0; id < MOST; id++) {
        cancel(id);
        expect_end(id, usb_redir_cancelled, 0, 0);
    }
    for (unsigned round = 0; round < 3; round++) {
        for (uint32_t id = 0; id < 4; id++)
            bulk(id, 0x81, LARGE, NULL);
        bulk(9, 0x81, 1, NULL);
        expect_end(9, usb_redir_inval, 0, 0);
        for (uint32_t id = 0; id < 4; id++) {
            cancel(id);
            expect_end(id, usb_redir_cancelled, 0, 0);
        }
    }
    bulk(10, 0x81, LARGE + 1, NULL);
    expect_end(10, usb_redir_inval, 0, 0);
}

static void who_takes_it_for_another_device_is_hung_up_on(void **state)
{
    uint8_t stream[3] = {0x81, 1, 1}, byte;

    (void)state;
    // Another one that comes meanwhile is turned away; this one's device stays his.
    assert_true(hear(usb_redir_device_connect));
    int other = knock();
    assert_int_equal(recv(other, &byte, 1, 0), 0);
    close(other);
    say(usb_redir_get_configuration, 1, NULL, 0, NULL, 0);
    expect_configuration(1, usb_redir_success, 0);
    say(usb_redir_start_iso_stream, 1, stream, 3, NULL, 0);
    say(usb_redir_get_configuration, 2, NULL, 0, NULL, 0);
    assert_false(hear(usb_redir_configuration_status) && hear(usb_redir_configuration_status));
}

// One that is to be hung up on stays so, whatever else he says; who says nothing makes way; and a signal ends it all.
static void who_replaces_whom(void **state)
{
    struct {
        uint32_t head[3];
        uint8_t stream[3];
    } __attribute__((packed)) odd = {{usb_redir_start_iso_stream, 3, 1}, {0x81, 1, 1}};
    uint8_t both[sizeof odd + 12], byte;
    const uint32_t reset[3] = {usb_redir_reset, 0, 2};

    (void)state;
    memcpy(both, &odd, sizeof odd);
    memcpy(both + sizeof odd, reset, 12);
    assert_true(hear(usb_redir_device_connect));
    assert_int_equal(send(guest, both, sizeof both, MSG_NOSIGNAL), sizeof both);
    assert_false(hear(usb_redir_device_connect));
    close(guest);
    int silent = knock();
    greet();
    assert_true(hear(usb_redir_device_connect));
    while (recv(silent, &byte, 1, 0) > 0) { // A hello.
    }
    assert_int_equal(recv(silent, &byte, 1, 0), 0);
    close(silent);
    stop = 1;
    assert_false(hear(usb_redir_configuration_status));
}

// The simulation has stopped: there is no device any more for anybody, and that is an error.
static void a_device_that_breaks_ends_it(void **state)
{
    (void)state;
    assert_true(hear(usb_redir_device_connect));
    breaks = "as the test has it";
    say(usb_redir_get_configuration, 1, NULL, 0, NULL, 0);
    while (hear(usb_redir_configuration_status)) {
    }
    close(guest);
    pthread_join(server, NULL);
    assert_int_equal(ended, -1);
    close(listener);
    ended = 0;
}

static int nothing(void **state)
{
    (void)state;
    return 0;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_device_says_what_it_is),
        CASE(a_device_that_does_not_answer_is_none),
        CASE(descriptors_that_are_broken_are_read_as_far_as_they_go),
        CASE(a_request_has_its_bytes_and_gets_its_answer),
        CASE(what_the_device_refuses_is_as_before),
        CASE(bytes_go_in_order_and_a_stall_ends_their_transfer),
        CASE(what_comes_ends_when_it_is_full_or_short),
        CASE(whoever_is_cancelled_is_the_one_that_is_meant),
        CASE(answers_wait_for_a_guest_that_reads_late),
        CASE(so_many_wait_and_no_more),
        CASE(who_takes_it_for_another_device_is_hung_up_on),
        CASE(who_replaces_whom),
        cmocka_unit_test_setup_teardown(a_device_that_breaks_ends_it, setup, nothing),
    };

    if (!mkdtemp(folder))
        return 1;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/port", folder);
    int failed = cmocka_run_group_tests_name("redir", tests, NULL, NULL);
    unlink(address.sun_path);
    rmdir(folder);
    return failed;
}
