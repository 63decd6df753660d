// SPDX-License-Identifier: Apache-2.0
// A USB port that the test holds in its hands, in libusb's place.
#ifndef FERRY_TESTS_FAKE_USB_H
#define FERRY_TESTS_FAKE_USB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "link/usb_library.h"

enum { MOST = 8, BUS = 250, IN = 16, OUT = 8, BYTES = 512 };

// Of a bus that this machine has not, so that no file of its own says anything.
struct libusb_device {
    uint16_t vendor, product;
    const char *maker, *serial; // The maker's is NULL where a device has none.
    uint8_t ports[4];
    int port_count;
};

static struct {
    struct libusb_device devices[MOST];
    ssize_t count;                                                              // or an error
    int init, open, get_configuration, configuration, set_configuration, claim; // what is answered
    int set_to;                                                                 // 0 = it was not called
    unsigned contexts, lists, handles, claimed, transfers;                      // that are not given back
    struct libusb_device *opened;
    unsigned alloc_fails_at, submit_fails_at, allocated, submitted; // counted from 1; 0 = none
    int submit_error;
    struct libusb_transfer *line[64]; // under way, the oldest first
    unsigned under_way;
    int events, clear_halt;
    unsigned cleared[2]; // halts, of what goes and what comes
    bool keeps;          // cancelled transfers
    unsigned comes_at;   // so many calls of handle_events...() on, a byte does
} usb;

static int fake_init(libusb_context **context)
{
    *context = (void *)&usb;
    usb.contexts += usb.init == 0;
    return usb.init;
}

static void fake_exit(libusb_context *context)
{
    assert_ptr_equal(context, &usb);
    usb.contexts--;
}

static const char *fake_strerror(int error)
{
    return error == LIBUSB_ERROR_IO ? "it is broken" : "?";
}

static ssize_t fake_get_device_list(libusb_context *context, libusb_device ***list)
{
    (void)context;
    if (usb.count < 0)
        return usb.count;
    *list = calloc((size_t)usb.count + 1, sizeof **list);
    assert_non_null(*list);
    for (ssize_t n = 0; n < usb.count; n++)
        (*list)[n] = &usb.devices[n];
    usb.lists++;
    return usb.count;
}

static void fake_free_device_list(libusb_device **list, int unref)
{
    assert_int_equal(unref, 1);
    usb.lists--;
    free(list);
}

static int fake_get_device_descriptor(libusb_device *device, struct libusb_device_descriptor *descriptor)
{
    *descriptor = (struct libusb_device_descriptor){.idVendor = device->vendor,
                                                    .idProduct = device->product,
                                                    .iManufacturer = device->maker != NULL,
                                                    .iSerialNumber = 3};
    return 0;
}

static uint8_t fake_get_bus_number(libusb_device *device)
{
    (void)device;
    return BUS;
}

static uint8_t fake_get_device_address(libusb_device *device)
{
    return (uint8_t)(200 + (device - usb.devices));
}

static int fake_get_port_numbers(libusb_device *device, uint8_t *ports, int room)
{
    assert_true(room >= device->port_count);
    memcpy(ports, device->ports, (size_t)device->port_count);
    return device->port_count;
}

static int fake_get_string_descriptor_ascii(libusb_device_handle *handle, uint8_t index, unsigned char *text, int room)
{
    const struct libusb_device *device = (void *)handle;

    if (index == 0)
        return LIBUSB_ERROR_INVALID_PARAM;
    return snprintf((char *)text, (size_t)room, "%s", index == 1 ? device->maker : index == 3 ? device->serial : "?");
}

static int fake_open(libusb_device *device, libusb_device_handle **handle)
{
    if (usb.open != 0)
        return usb.open;
    *handle = (void *)device;
    usb.opened = device;
    usb.handles++;
    return 0;
}

static void fake_close(libusb_device_handle *handle)
{
    assert_non_null(handle);
    usb.handles--;
}

static int fake_get_configuration(libusb_device_handle *handle, int *configuration)
{
    (void)handle;
    *configuration = usb.configuration;
    return usb.get_configuration;
}

static int fake_set_configuration(libusb_device_handle *handle, int configuration)
{
    (void)handle;
    usb.set_to = configuration;
    return usb.set_configuration;
}

static int fake_claim_interface(libusb_device_handle *handle, int interface)
{
    (void)handle;
    assert_int_equal(interface, 0);
    usb.claimed += usb.claim == 0;
    return usb.claim;
}

static int fake_release_interface(libusb_device_handle *handle, int interface)
{
    (void)handle;
    assert_int_equal(interface, 0);
    usb.claimed--;
    return 0;
}

static struct libusb_transfer *fake_alloc_transfer(int packets)
{
    assert_int_equal(packets, 0);
    if (++usb.allocated == usb.alloc_fails_at)
        return NULL;
    usb.transfers++;
    return calloc(1, sizeof(struct libusb_transfer));
}

/// In newer libusb a transfer that was submitted keeps a reference to its device until it is freed, and a device is not
/// to outlive what libusb_exit() takes away.
static void fake_free_transfer(struct libusb_transfer *transfer)
{
    assert_int_not_equal(usb.contexts, 0);
    usb.transfers -= transfer != NULL;
    free(transfer);
}

static int fake_submit_transfer(struct libusb_transfer *transfer)
{
    if (++usb.submitted == usb.submit_fails_at)
        return usb.submit_error;
    usb.line[usb.under_way++] = transfer;
    return 0;
}

static void over(unsigned at, enum libusb_transfer_status status, const char *bytes, size_t count)
{
    struct libusb_transfer *transfer = usb.line[at];

    memmove(&usb.line[at], &usb.line[at + 1], (--usb.under_way - at) * sizeof usb.line[0]);
    if (bytes)
        memcpy(transfer->buffer, bytes, count);
    transfer->actual_length = (int)count;
    transfer->status = status;
    transfer->callback(transfer);
}

/// Its `timeout`, which nobody uses, says that it is to come back.
static int fake_cancel_transfer(struct libusb_transfer *transfer)
{
    transfer->timeout = 1;
    return 0;
}

static int fake_clear_halt(libusb_device_handle *handle, unsigned char endpoint)
{
    assert_ptr_equal(handle, usb.opened);
    for (unsigned n = 0; n < usb.under_way; n++)
        assert_int_not_equal(usb.line[n]->endpoint, endpoint);
    usb.cleared[endpoint >> 7]++;
    return usb.clear_halt;
}

static int fake_handle_events_timeout_completed(libusb_context *context, struct timeval *time, int *completed)
{
    (void)context;
    (void)time;
    (void)completed;
    if (usb.comes_at != 0 && --usb.comes_at == 0)
        over(0, LIBUSB_TRANSFER_COMPLETED, "x", 1);
    for (unsigned n = usb.under_way; n-- != 0 && !usb.keeps;) {
        if (usb.line[n]->timeout != 0) {
            usb.line[n]->timeout = 0;
            over(n, LIBUSB_TRANSFER_CANCELLED, NULL, 0);
        }
    }
    return usb.events;
}

const struct ferry_usb_library *ferry_usb_library(void)
{
#define FAKE(name) .name = fake_##name,
    static const struct ferry_usb_library library = {FERRY_USB_CALLS(FAKE)};
    return &library;
}

#endif
