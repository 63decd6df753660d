// SPDX-License-Identifier: Apache-2.0
// Back end `usb`: a device on this machine's USB, usb, usb:BUS-PORT or usb:SERIAL.
#include <stdio.h>

#include "link/link.h"
#include "link/usb_channel.h"
#include "link/usb_find.h"
#include "link/usb_library.h"

#define FULL_SPEED_BYTES 1216000u // A second, of bulk transfers alone (USB 2.0, table 5-9).

static int open_usb(const struct ferry_link_config *config, struct ferry_link **link)
{
    libusb_context *usb;
    libusb_device_handle *handle;
    char where[FERRY_USB_WHERE];
    int error = ferry_usb_start(&usb);
    if (error != FERRY_OK) {
        return error;
    }
    error = ferry_usb_open(usb, config->address, &handle, where);
    if (error != FERRY_OK) {
        ferry_usb_library()->exit(usb);
        return error;
    }
    struct ferry_channel channel = {
        .bytes_per_second = FULL_SPEED_BYTES,
        .where = where,
        .medium = "USB, full speed, 12 Mbit/s",
        .closed = "unplugged",
        .failing =
            "all its transfers fail: unplug it and plug it in anew; if that helps for a while only, take another "
            "cable",
        .silent = "is its bitstream one of this release? Plug it in anew",
    };
    error = ferry_usb_channel(usb, handle, &channel);
    return error != FERRY_OK ? error : ferry_framed_open(&channel, config, link);
}

const struct ferry_backend ferry_backend_usb = {
    .name = "usb", .has_address = true, .finds_one = true, .open = open_usb, .list = ferry_usb_list};
