// SPDX-License-Identifier: Apache-2.0
// Two bulk endpoints as what carries a framed link's bytes.
#ifndef FERRY_LINK_USB_CHANNEL_H
#define FERRY_LINK_USB_CHANNEL_H

#include <libusb-1.0/libusb.h>

#include "link/framed.h"

/// Let `channel` read and write endpoints 1 of the device behind `handle`, whose interface is claimed. Its close()
/// gives back the interface, the handle and the context; so does an error. What the channel tells people is the
/// caller's to fill in. Errors: NO_HOST_MEMORY, DEVICE_LOST, BACKEND (told in ferry_problem()).
int ferry_usb_channel(libusb_context *usb, libusb_device_handle *handle, struct ferry_channel *channel);

#endif
