// SPDX-License-Identifier: Apache-2.0
// The host's side of a USB port with libusb's place taken by the test: which device is meant, what is said of those
// that cannot be had, bytes both ways, and that all of it is given back.
#include <errno.h>

#include "fake_usb.h"
#include "ferry_usb.h"
#include "link/framed.h"
#include "link/problem.h"
#include "link/usb_find.h"

// What the back end gives the frames.
static struct ferry_channel given;

int ferry_framed_open(const struct ferry_channel *channel, const struct ferry_link_config *config,
                      struct ferry_link **link)
{
    (void)config;
    (void)link;
    given = *channel;
    assert_non_null(strstr(channel->where, "USB port 250-"));
    return FERRY_OK;
}

extern const struct ferry_backend ferry_backend_usb;

static void plug(uint16_t vendor, uint16_t product, const char *maker, const char *serial, int port, int further)
{
    usb.devices[usb.count++] =
        (struct libusb_device){vendor, product, maker, serial, {(uint8_t)port, (uint8_t)further, 4}, further ? 3 : 1};
}

static void begin(void)
{
    memset(&usb, 0, sizeof usb);
    memset(&given, 0, sizeof given);
    usb.configuration = 1;
    ferry_problem_clear();
}

static void plug_ours(const char *serial, int port, int further)
{
    plug(FERRY_USB_DESCRIPTOR_ID_VENDOR_RESET, FERRY_USB_DESCRIPTOR_ID_PRODUCT_RESET, "Pageferry", serial, port,
         further);
}

static int open_it(const char *address)
{
    const struct ferry_link_config config = {.size = sizeof config, .address = address};
    struct ferry_link *link = NULL;

    return ferry_backend_usb.open(&config, &link);
}

static void nothing_is_left(void)
{
    assert_int_equal(usb.contexts, 0);
    assert_int_equal(usb.lists, 0);
    assert_int_equal(usb.handles, 0);
    assert_int_equal(usb.claimed, 0);
    assert_int_equal(usb.transfers, 0);
}

static void close_it(void)
{
    given.operations->close(given.context);
    nothing_is_left();
}

static void refused(const char *address, int error, const char *words)
{
    assert_int_equal(open_it(address), error);
    if (!strstr(ferry_problem(), words))
        fail_msg("'%s' does not say '%s'", ferry_problem(), words);
    nothing_is_left();
}

// By its port, from hub to hub, or its serial number; and only devices of ours.
static void the_device_that_is_meant_is_opened(void **state)
{
    (void)state;
    begin();
    refused(NULL, FERRY_ERROR_BACKEND, "no device 1209:0001 of Pageferry is on USB");
    plug(FERRY_USB_DESCRIPTOR_ID_VENDOR_RESET, FERRY_USB_DESCRIPTOR_ID_PRODUCT_RESET, "Somebody", "A", 1, 0);
    plug(FERRY_USB_DESCRIPTOR_ID_VENDOR_RESET + 1, FERRY_USB_DESCRIPTOR_ID_PRODUCT_RESET, "Pageferry", "A", 2, 0);
    plug(FERRY_USB_DESCRIPTOR_ID_VENDOR_RESET, FERRY_USB_DESCRIPTOR_ID_PRODUCT_RESET + 1, "Pageferry", "A", 3, 0);
    refused(NULL, FERRY_ERROR_BACKEND, "no device 1209:0001 of Pageferry is on USB");
    // Nor one that says nothing of its maker: it is not configured, nor claimed.
    plug(FERRY_USB_DESCRIPTOR_ID_VENDOR_RESET, FERRY_USB_DESCRIPTOR_ID_PRODUCT_RESET, NULL, "A", 4, 0);
    usb.configuration = 0;
    refused(NULL, FERRY_ERROR_BACKEND, "no device 1209:0001 of Pageferry is on USB");
    assert_int_equal(usb.set_to, 0);
    usb.configuration = 1;
    usb.count = 3;
    plug_ours("A", 4, 0);
    assert_int_equal(open_it(NULL), FERRY_OK);
    assert_ptr_equal(usb.opened, &usb.devices[3]);
    assert_int_equal(usb.lists, 0);
    close_it();
    plug_ours("B", 4, 12);
    refused(NULL, FERRY_ERROR_BACKEND, "there are 2 devices 1209:0001 of Pageferry: name one, as in usb:250-4");
    assert_non_null(strstr(ferry_problem(), "usb:250-4") + strlen("usb:250-4"));
    assert_string_equal(strstr(ferry_problem(), "usb:250-4"), "usb:250-4");
    const char *const names[] = {"250-4", "A", "250-4.12.4", "B"};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(open_it(names[i]), FERRY_OK);
        assert_ptr_equal(usb.opened, &usb.devices[3 + i / 2]);
        close_it();
    }
    refused("250-4.12", FERRY_ERROR_BACKEND, "has the port or the serial number '250-4.12'; `ferry list` shows");
    usb.count = LIBUSB_ERROR_IO;
    refused(NULL, FERRY_ERROR_BACKEND, "the system does not tell what is on USB: it is broken");
    usb.init = LIBUSB_ERROR_IO;
    refused(NULL, FERRY_ERROR_BACKEND, "libusb does not start: it is broken");
}

static void why_a_device_cannot_be_had_is_said(void **state)
{
    const struct {
        int answer, error;
        const char *words;
    } cases[] = {
        {LIBUSB_ERROR_ACCESS, FERRY_ERROR_BACKEND, "device 1209:0001 at 250-4 is there but you may not open it"},
        {LIBUSB_ERROR_BUSY, FERRY_ERROR_IN_USE, "device 1209:0001 at 250-4 is in use"},
        {LIBUSB_ERROR_NO_DEVICE, FERRY_ERROR_DEVICE_LOST, "device 1209:0001 at 250-4 went while it was opened"},
        {LIBUSB_ERROR_IO, FERRY_ERROR_BACKEND, "device 1209:0001 at 250-4 cannot be used: it is broken"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int *const steps[] = {&usb.get_configuration, &usb.set_configuration, &usb.claim};

        for (unsigned step = 0; step < 3; step++) {
            begin();
            plug_ours("A", 4, 0);
            usb.configuration = 0;
            *steps[step] = cases[i].answer;
            refused(NULL, cases[i].error, cases[i].words);
        }
    }
    // Who may not open it hears nothing of its maker, and it is taken for ours.
    begin();
    plug_ours("A", 4, 0);
    usb.open = LIBUSB_ERROR_ACCESS;
    refused(NULL, FERRY_ERROR_BACKEND, "install the udev rule");
    // It is configured by us where the system has not done so, and only there.
    for (int configuration = 0; configuration < 2; configuration++) {
        begin();
        plug_ours("A", 4, 0);
        usb.configuration = configuration;
        assert_int_equal(open_it(NULL), FERRY_OK);
        assert_int_equal(usb.set_to, configuration == 0);
        assert_string_equal(given.medium, "USB, full speed, 12 Mbit/s");
        assert_int_equal(given.bytes_per_second, 1216000);
        assert_string_equal(given.closed, "unplugged");
        close_it();
    }
}

static void channel_opens(void)
{
    begin();
    plug_ours("A", 4, 0);
    assert_int_equal(open_it(NULL), FERRY_OK);
    assert_int_equal(usb.under_way, IN);
    for (unsigned n = 0; n < IN; n++)
        assert_true(usb.line[n]->endpoint == 0x81 && usb.line[n]->length == BYTES);
}

// In the order in which the transfers began, whatever size of piece is asked for; an empty one is passed over.
static void what_comes_is_read_in_order(void **state)
{
    uint8_t bytes[64] = {0};

    (void)state;
    channel_opens();
    assert_int_equal(given.operations->read(given.context, bytes, sizeof bytes), 0);
    over(0, LIBUSB_TRANSFER_COMPLETED, "abcde", 5);
    over(0, LIBUSB_TRANSFER_COMPLETED, NULL, 0);
    over(0, LIBUSB_TRANSFER_COMPLETED, "fgh", 3);
    assert_int_equal(given.operations->wait(given.context, true, 0), FERRY_CHANNEL_READS | FERRY_CHANNEL_WRITES);
    assert_int_equal(given.operations->wait(given.context, false, 0), FERRY_CHANNEL_READS);
    assert_int_equal(given.operations->read(given.context, bytes, 2), 2);
    assert_memory_equal(bytes, "ab", 2);
    assert_int_equal(given.operations->read(given.context, bytes, sizeof bytes), 6);
    assert_memory_equal(bytes, "cdefgh", 6);
    assert_int_equal(given.operations->read(given.context, bytes, sizeof bytes), 0);
    // Each is asked for again, behind the others.
    assert_int_equal(usb.under_way, IN);
    assert_int_equal(given.operations->wait(given.context, false, 0), 0);
    close_it();
}

static void what_goes_is_cut_into_transfers(void **state)
{
    static uint8_t bytes[2 * BYTES];

    (void)state;
    for (unsigned n = 0; n < sizeof bytes; n++)
        bytes[n] = (uint8_t)(n * 7 + n / 256);
    channel_opens();
    assert_int_equal(given.operations->write(given.context, bytes, 3), 3);
    assert_true(usb.line[IN]->endpoint == 0x01 && usb.line[IN]->length == 3);
    for (unsigned n = 1; n < OUT; n++) {
        assert_int_equal(given.operations->write(given.context, bytes + n, sizeof bytes - n), BYTES);
        assert_int_equal(usb.line[IN + n]->length, BYTES);
        assert_memory_equal(usb.line[IN + n]->buffer, bytes + n, BYTES);
    }
    // No room until one of them is over.
    assert_int_equal(given.operations->write(given.context, bytes, 1), 0);
    assert_int_equal(given.operations->wait(given.context, true, 0), 0);
    over(IN + 2, LIBUSB_TRANSFER_COMPLETED, NULL, BYTES);
    assert_int_equal(given.operations->wait(given.context, true, 0), FERRY_CHANNEL_WRITES);
    assert_int_equal(given.operations->write(given.context, bytes, 1), 1);
    close_it();
}

// So many failures in a row, and no more, are a bad cable; one good transfer, and they are forgotten.
static void a_device_that_is_pulled_is_gone(void **state)
{
    uint8_t bytes[8];

    (void)state;
    channel_opens();
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned n = 0; n < 16; n++) {
            over(0, LIBUSB_TRANSFER_ERROR, NULL, 0);
            assert_int_equal(given.operations->read(given.context, bytes, sizeof bytes), 0);
        }
        over(0, LIBUSB_TRANSFER_COMPLETED, "x", 1);
        assert_int_equal(given.operations->read(given.context, bytes, sizeof bytes), 1);
    }
    for (unsigned n = 0; n < 17; n++) {
        assert_int_equal(given.operations->read(given.context, bytes, sizeof bytes), 0);
        over(0, LIBUSB_TRANSFER_TIMED_OUT, NULL, 0);
    }
    assert_int_equal(given.operations->read(given.context, bytes, sizeof bytes), -1);
    assert_int_equal(errno, EPROTO); // Perhaps it is there.
    close_it();
    channel_opens();
    over(0, LIBUSB_TRANSFER_NO_DEVICE, NULL, 0);
    assert_int_equal(given.operations->wait(given.context, false, 0), FERRY_CHANNEL_GONE);
    assert_int_equal(errno, ENODEV);
    assert_int_equal(given.operations->write(given.context, bytes, 1), -1);
    assert_int_equal(errno, ENODEV);
    close_it();
    channel_opens();
    usb.events = LIBUSB_ERROR_IO;
    assert_int_equal(given.operations->wait(given.context, false, 0), FERRY_CHANNEL_GONE);
    assert_int_equal(errno, EIO);
    close_it();
}

// Its halt is cleared, when all that it was asked for has come back; what had come before is read, and then it goes on.
static void an_endpoint_that_stalls_goes_on(void **state)
{
    uint8_t bytes[8];

    (void)state;
    channel_opens();
    for (unsigned n = 0; n < 3; n++)
        assert_int_equal(given.operations->write(given.context, (const uint8_t *)"abc", 3), 3);
    over(0, LIBUSB_TRANSFER_COMPLETED, "x", 1);
    over(0, LIBUSB_TRANSFER_STALL, "y", 1);
    over(0, LIBUSB_TRANSFER_COMPLETED, "z", 1);
    assert_int_equal(given.operations->wait(given.context, false, 0), FERRY_CHANNEL_READS);
    assert_int_equal(usb.cleared[1], 0); // Others are under way.
    assert_int_equal(given.operations->read(given.context, bytes, 1), 1);
    assert_int_equal(bytes[0], 'x');
    assert_int_equal(given.operations->wait(given.context, false, 0), FERRY_CHANNEL_READS);
    assert_int_equal(usb.cleared[1], 1);
    assert_int_equal(usb.cleared[0], 0);
    assert_int_equal(given.operations->read(given.context, bytes, sizeof bytes), 2);
    assert_memory_equal(bytes, "yz", 2);
    assert_int_equal(usb.under_way, IN + 3);
    assert_int_equal(given.operations->wait(given.context, false, 0), 0);
    // What goes, likewise: nothing is sent in between.
    over(0, LIBUSB_TRANSFER_STALL, NULL, 0);
    assert_int_equal(given.operations->write(given.context, bytes, 1), 0);
    assert_int_equal(given.operations->wait(given.context, true, 0), 0);
    assert_int_equal(usb.cleared[0], 0);
    assert_int_equal(given.operations->wait(given.context, true, 0), FERRY_CHANNEL_WRITES);
    assert_int_equal(usb.cleared[0], 1);
    assert_int_equal(given.operations->write(given.context, bytes, 1), 1);
    assert_int_equal(usb.cleared[1], 1);
    // Who cannot be asked to is asked again; one that is gone is gone.
    over(IN, LIBUSB_TRANSFER_STALL, NULL, 0);
    usb.clear_halt = LIBUSB_ERROR_TIMEOUT;
    assert_int_equal(given.operations->wait(given.context, true, 0), 0);
    assert_int_equal(usb.cleared[0], 2);
    usb.clear_halt = LIBUSB_ERROR_NO_DEVICE;
    assert_int_equal(given.operations->wait(given.context, true, 0), FERRY_CHANNEL_GONE);
    assert_int_equal(errno, ENODEV);
    close_it();
}

// One stall of several transfers is one; seventeen with nothing that gets through in between are no device that works.
static void an_endpoint_that_stalls_again_and_again_is_given_up(void **state)
{
    unsigned ready = 0;

    (void)state;
    channel_opens();
    for (unsigned round = 0; round < 17; round++) {
        assert_int_equal(ready, 0);
        for (unsigned n = 0; n < 3; n++)
            over(0, LIBUSB_TRANSFER_STALL, NULL, 0);
        for (unsigned n = 0; n < 3 && ready == 0; n++)
            ready = given.operations->wait(given.context, false, 0);
    }
    assert_int_equal(ready, FERRY_CHANNEL_GONE);
    assert_int_equal(errno, EPROTO);
    assert_int_equal(usb.cleared[1], 16);
    close_it();
}

// A signal that the program handles ends libusb's wait, of no time too; a profiler sends a hundred in a second.
static void a_signal_is_no_end(void **state)
{
    uint8_t byte;

    (void)state;
    channel_opens();
    usb.events = LIBUSB_ERROR_INTERRUPTED;
    assert_int_equal(given.operations->wait(given.context, false, 0), 0);
    assert_int_equal(given.operations->wait(given.context, false, -1), 0);
    over(0, LIBUSB_TRANSFER_COMPLETED, "x", 1);
    assert_int_equal(given.operations->wait(given.context, false, -1), FERRY_CHANNEL_READS);
    assert_int_equal(given.operations->read(given.context, &byte, 1), 1);
    usb.events = 0;
    close_it();
}

// Nobody has failed whose transfer was taken away; and who waits for ever waits until something comes.
static void what_is_no_failure(void **state)
{
    uint8_t bytes[8];

    (void)state;
    channel_opens();
    for (unsigned n = 0; n < 40; n++) {
        over(0, LIBUSB_TRANSFER_CANCELLED, NULL, 0);
        assert_int_equal(given.operations->read(given.context, bytes, sizeof bytes), 0);
    }
    usb.comes_at = 3;
    assert_int_equal(given.operations->wait(given.context, false, -1), FERRY_CHANNEL_READS);
    assert_int_equal(usb.comes_at, 0);
    close_it();
}

// The system may still write there: that memory is given up, and all else is not.
static void what_the_system_keeps_is_not_freed(void **state)
{
    static void *kept; // So that it is no leak of the test's.

    (void)state;
    channel_opens();
    kept = given.context;
    assert_non_null(kept);
    usb.keeps = true;
    given.operations->close(given.context);
    assert_int_equal(usb.transfers, IN + OUT);
    assert_int_equal(usb.contexts + usb.handles + usb.claimed, 0);
    usb.keeps = false;
    while (usb.under_way > 0)
        over(0, LIBUSB_TRANSFER_COMPLETED, "too late", 8);
}

static void a_channel_that_cannot_begin_leaves_nothing(void **state)
{
    const int errors[][2] = {{LIBUSB_ERROR_NO_DEVICE, FERRY_ERROR_DEVICE_LOST},
                             {LIBUSB_ERROR_NOT_FOUND, FERRY_ERROR_DEVICE_LOST},
                             {LIBUSB_ERROR_NO_MEM, FERRY_ERROR_NO_HOST_MEMORY},
                             {LIBUSB_ERROR_IO, FERRY_ERROR_BACKEND}};

    (void)state;
    for (unsigned n = 1; n <= IN + OUT; n++) {
        begin();
        plug_ours("A", 4, 0);
        usb.alloc_fails_at = n;
        refused(NULL, FERRY_ERROR_NO_HOST_MEMORY, "the device's endpoints cannot be read");
        assert_int_equal(usb.submitted, 0);
    }
    for (unsigned n = 1; n <= IN; n++) {
        begin();
        plug_ours("A", 4, 0);
        usb.submit_fails_at = n;
        usb.submit_error = errors[n % 4][0];
        refused(NULL, errors[n % 4][1], "the device's endpoints cannot be read");
        assert_int_equal(usb.under_way, 0);
    }
}

struct told {
    unsigned count;
    struct ferry_candidate candidates[MOST];
};

static void take(void *context, const struct ferry_candidate *candidate)
{
    struct told *told = context;

    assert_true(told->count < MOST);
    told->candidates[told->count++] = *candidate;
}

// None is opened for it. Whose maker nobody tells may be ours.
static void the_list_has_what_the_system_tells(void **state)
{
    struct told told = {0};

    (void)state;
    begin();
    plug_ours("A", 4, 0);
    plug(FERRY_USB_DESCRIPTOR_ID_VENDOR_RESET, FERRY_USB_DESCRIPTOR_ID_PRODUCT_RESET + 1, "Pageferry", "A", 3, 0);
    plug_ours("B", 4, 12);
    plug(FERRY_USB_DESCRIPTOR_ID_VENDOR_RESET, FERRY_USB_DESCRIPTOR_ID_PRODUCT_RESET, NULL, "A", 5, 0);
    ferry_backend_usb.list(take, &told);
    assert_int_equal(told.count, 2);
    assert_string_equal(told.candidates[0].backend, "usb:250-4");
    assert_string_equal(told.candidates[1].backend, "usb:250-4.12.4");
    for (unsigned n = 0; n < 2; n++) {
        assert_string_equal(told.candidates[n].what, "USB 1209:0001");
        assert_int_equal(told.candidates[n].reach, FERRY_REACH_READY);
    }
    assert_null(usb.opened);
    nothing_is_left();
    told.count = 0;
    usb.count = LIBUSB_ERROR_IO;
    ferry_backend_usb.list(take, &told);
    assert_int_equal(told.count, 1);
    assert_string_equal(told.candidates[0].backend, "usb");
    assert_int_equal(told.candidates[0].reach, FERRY_REACH_BLOCKED);
    assert_string_equal(told.candidates[0].problem, "the system does not tell what is on USB: it is broken");
    nothing_is_left();
    told.count = 0;
    usb.init = LIBUSB_ERROR_IO;
    ferry_backend_usb.list(take, &told);
    assert_int_equal(told.count, 1);
    assert_string_equal(told.candidates[0].backend, "usb");
    assert_int_equal(told.candidates[0].reach, FERRY_REACH_BLOCKED);
    assert_string_equal(told.candidates[0].problem, "libusb does not start: it is broken");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_that_is_meant_is_opened),
        cmocka_unit_test(why_a_device_cannot_be_had_is_said),
        cmocka_unit_test(what_comes_is_read_in_order),
        cmocka_unit_test(what_goes_is_cut_into_transfers),
        cmocka_unit_test(a_device_that_is_pulled_is_gone),
        cmocka_unit_test(an_endpoint_that_stalls_goes_on),
        cmocka_unit_test(an_endpoint_that_stalls_again_and_again_is_given_up),
        cmocka_unit_test(a_signal_is_no_end),
        cmocka_unit_test(what_is_no_failure),
        cmocka_unit_test(what_the_system_keeps_is_not_freed),
        cmocka_unit_test(a_channel_that_cannot_begin_leaves_nothing),
        cmocka_unit_test(the_list_has_what_the_system_tells),
    };
    return cmocka_run_group_tests_name("usb_port", tests, NULL, NULL);
}
