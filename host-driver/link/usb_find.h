// SPDX-License-Identifier: Apache-2.0
// Devices on this machine's USB: which there are, which one is meant, and why it cannot be had. What goes wrong is told
// in ferry_problem().
#ifndef FERRY_LINK_USB_FIND_H
#define FERRY_LINK_USB_FIND_H

#include <libusb-1.0/libusb.h>

#include "ferry/ferry.h"
#include "link/link.h"

#define FERRY_USB_WHERE 64u

/// A context of libusb's, which exit() ends. Errors: BACKEND (there is no libusb, or it does not start).
int ferry_usb_start(libusb_context **usb);
/// Open the device that `address` means, with its interface claimed: NULL the only one, BUS-PORT or BUS-PORT.PORT...
/// the one at that port, anything else the one of that serial number. `where` tells which it is. The handle's close()
/// gives all of it back. Any thread, one context each. Errors: BACKEND (there is none, there are several, it may not be
/// opened, it cannot be set up), IN_USE.
int ferry_usb_open(libusb_context *usb, const char *address, libusb_device_handle **handle,
                   char where[FERRY_USB_WHERE]);
/// Tell of all of them as ferry_adapter_list() promises; of `usb` itself when nobody can tell. Any thread.
void ferry_usb_list(ferry_candidate_callback *callback, void *context);

#endif
