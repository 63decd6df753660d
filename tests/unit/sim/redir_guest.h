// SPDX-License-Identifier: Apache-2.0
// The other end of a USB redirection, a guest at a socket: it says and hears packets as usbredirproto.h has them.
#ifndef FERRY_TESTS_SIM_REDIR_GUEST_H
#define FERRY_TESTS_SIM_REDIR_GUEST_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <usbredirproto.h>

static char folder[] = "/tmp/ferry-redir-XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int listener, guest, ended;
static pthread_t server;
static volatile sig_atomic_t stop;

static struct {
    uint32_t type, length, id;
    uint8_t bytes[1 << 17];
} came;

static int knock(void)
{
    const struct timeval most = {.tv_sec = 20}; // A hang is a failure, and nothing is measured.
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    return fd;
}

static void say(uint32_t type, uint32_t id, const void *header, size_t header_bytes, const void *data, size_t bytes)
{
    const uint32_t head[3] = {type, (uint32_t)(header_bytes + bytes), id};

    assert_int_equal(send(guest, head, sizeof head, MSG_NOSIGNAL), sizeof head);
    assert_int_equal(send(guest, header, header_bytes, MSG_NOSIGNAL), header_bytes);
    for (size_t at = 0; at < bytes;) {
        ssize_t sent = send(guest, (const uint8_t *)data + at, bytes - at, MSG_NOSIGNAL);
        assert_true(sent > 0);
        at += (size_t)sent;
    }
}

static bool hear_bytes(void *to, size_t bytes)
{
    ssize_t got = bytes ? recv(guest, to, bytes, MSG_WAITALL) : 0;

    assert_false(got < 0 && errno != ECONNRESET); // It waited for nothing.
    return got == (ssize_t)bytes;
}

// The next message of this type; false: it was hung up.
static bool hear(uint32_t type)
{
    do {
        if (!hear_bytes(&came, 12))
            return false;
        assert_true(came.length <= sizeof came.bytes);
        if (!hear_bytes(came.bytes, came.length))
            return false;
    } while (came.type != type);
    return true;
}

static void greet(void)
{
    struct {
        char version[64];
        uint32_t can;
    } hello = {"a test", 1u << usb_redir_cap_32bits_bulk_length | 1u << usb_redir_cap_ep_info_max_packet_size |
                             1u << usb_redir_cap_connect_device_version};

    guest = knock();
    say(usb_redir_hello, 0, &hello, sizeof hello, NULL, 0);
}

static void bulk(uint32_t id, uint8_t endpoint, uint32_t length, const void *data)
{
    struct usb_redir_bulk_packet_header header = {
        .endpoint = endpoint, .length = (uint16_t)length, .length_high = (uint16_t)(length >> 16)};

    say(usb_redir_bulk_packet, id, &header, sizeof header, data, data ? length : 0);
}

static void control_transfer(uint32_t id, uint8_t type, uint16_t length, const void *data, size_t bytes)
{
    struct usb_redir_control_packet_header header = {.endpoint = type & 0x80,
                                                     .request = 0x21,
                                                     .requesttype = type,
                                                     .value = 0x1234,
                                                     .index = 0x5678,
                                                     .length = length};

    say(usb_redir_control_packet, id, &header, sizeof header, data, bytes);
}

// The next packet of that type: whose it is, and what it begins with.
static void expect_packet(uint32_t type, uint32_t id, void *header, size_t bytes)
{
    assert_true(hear(type));
    assert_int_equal(came.id, id);
    memcpy(header, came.bytes, bytes);
}

// How it ended, how much of it went, and what came.
static void expect_control(uint32_t id, uint8_t status, uint16_t length, size_t bytes)
{
    struct usb_redir_control_packet_header header;

    expect_packet(usb_redir_control_packet, id, &header, sizeof header);
    assert_int_equal(header.status, status);
    assert_int_equal(header.length, length);
    assert_int_equal(came.length, sizeof header + bytes);
    for (size_t n = 0; n < bytes; n++)
        assert_int_equal(came.bytes[sizeof header + n], 0x5a);
}

// The next transfer that ends.
static void expect_end(uint32_t id, uint8_t status, uint32_t length, uint8_t first)
{
    struct usb_redir_bulk_packet_header header;

    expect_packet(usb_redir_bulk_packet, id, &header, sizeof header);
    assert_int_equal(header.status, status);
    assert_int_equal(header.length | (uint32_t)header.length_high << 16, length);
    if (header.endpoint & 0x80) {
        assert_int_equal(came.length, sizeof header + length);
        assert_true(!length || came.bytes[sizeof header] == first);
    }
}

static void cancel(uint32_t id)
{
    say(usb_redir_cancel_data_packet, id, NULL, 0, NULL, 0);
}

static void expect_configuration(uint32_t id, uint8_t status, uint8_t number)
{
    assert_true(hear(usb_redir_configuration_status));
    assert_int_equal(came.id, id);
    assert_int_equal(came.bytes[0], status);
    assert_int_equal(came.bytes[1], number);
}

#endif
