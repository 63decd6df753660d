// SPDX-License-Identifier: Apache-2.0
// libusb, loaded when somebody asks for USB: programs that do not need no libusb, and may be linked statically.
#ifndef FERRY_LINK_USB_LIBRARY_H
#define FERRY_LINK_USB_LIBRARY_H

#include <libusb-1.0/libusb.h>

// The calls that are made, without "libusb_" before them.
#define FERRY_USB_CALLS(CALL)                                                                                          \
    CALL(init)                                                                                                         \
    CALL(exit)                                                                                                         \
    CALL(strerror)                                                                                                     \
    CALL(get_device_list)                                                                                              \
    CALL(free_device_list)                                                                                             \
    CALL(get_device_descriptor)                                                                                        \
    CALL(get_bus_number)                                                                                               \
    CALL(get_device_address)                                                                                           \
    CALL(get_port_numbers)                                                                                             \
    CALL(get_string_descriptor_ascii)                                                                                  \
    CALL(open)                                                                                                         \
    CALL(close)                                                                                                        \
    CALL(get_configuration)                                                                                            \
    CALL(set_configuration)                                                                                            \
    CALL(claim_interface)                                                                                              \
    CALL(release_interface)                                                                                            \
    CALL(alloc_transfer)                                                                                               \
    CALL(free_transfer)                                                                                                \
    CALL(submit_transfer)                                                                                              \
    CALL(cancel_transfer)                                                                                              \
    CALL(clear_halt)                                                                                                   \
    CALL(handle_events_timeout_completed)

struct ferry_usb_library {
#define FERRY_USB_POINTER(name) __typeof__(libusb_##name) *name;
    FERRY_USB_CALLS(FERRY_USB_POINTER)
#undef FERRY_USB_POINTER
};

/// The library, loaded by the first call; NULL = it is not here, as ferry_problem() tells. Any thread.
const struct ferry_usb_library *ferry_usb_library(void);

#endif
