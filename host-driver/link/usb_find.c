// SPDX-License-Identifier: Apache-2.0
// Its id is a test id (pid.codes) that others use too, so a device is ours by what it says of its maker as well. The
// system tells that to everybody, of devices that may not be opened too.
#include "link/usb_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ferry_usb.h"
#include "link/candidate.h"
#include "link/file_user.h"
#include "link/problem.h"
#include "link/usb_library.h"

#define ID    FERRY_USB_ID
#define MAKER "Pageferry"
#define DEPTH 7 // Of hubs, at most (USB 2.0, 4.1.1).

struct found {
    libusb_device *device;
    char port[32];  // BUS-PORT.PORT..., as the system writes it.
    char maker[64]; // Empty = not known, or it has none.
    char serial[64];
};

// ---- What there is ----------------------------------------------------------------------------------------------

/// What the system knows of a device: a line of a file of its folder.
static void read_attribute(const char *port, const char *name, char text[64])
{
    char path[128];
    snprintf(path, sizeof(path), "/sys/bus/usb/devices/%s/%s", port, name);
    FILE *file = fopen(path, "re");
    text[0] = 0;
    if (file != NULL) {
        if (fgets(text, 64, file) == NULL) {
            text[0] = 0;
        }
        text[strcspn(text, "\n")] = 0;
        fclose(file);
    }
}

/// The same from the device itself, where no folder of the system's has it.
static void ask(struct found *found, const struct libusb_device_descriptor *descriptor)
{
    libusb_device_handle *handle;
    if (found->maker[0] == 0 && ferry_usb_library()->open(found->device, &handle) == 0) {
        ferry_usb_library()->get_string_descriptor_ascii(handle, descriptor->iManufacturer,
                                                         (unsigned char *)found->maker, sizeof(found->maker));
        ferry_usb_library()->get_string_descriptor_ascii(handle, descriptor->iSerialNumber,
                                                         (unsigned char *)found->serial, sizeof(found->serial));
        ferry_usb_library()->close(handle);
    }
}

static void write_port(libusb_device *device, char port[32])
{
    uint8_t ports[DEPTH];
    const int count = ferry_usb_library()->get_port_numbers(device, ports, DEPTH);
    int at = snprintf(port, 32, "%u-", ferry_usb_library()->get_bus_number(device));
    for (int n = 0; n < count && at < 28; n++) {
        at += snprintf(port + at, 32 - (size_t)at, n == 0 ? "%u" : ".%u", ports[n]);
    }
}

/// false = another device.
static bool look_at(libusb_device *device, bool may_open, struct found *found)
{
    struct libusb_device_descriptor descriptor;
    if (ferry_usb_library()->get_device_descriptor(device, &descriptor) != 0 ||
        descriptor.idVendor != FERRY_USB_DESCRIPTOR_ID_VENDOR_RESET ||
        descriptor.idProduct != FERRY_USB_DESCRIPTOR_ID_PRODUCT_RESET) {
        return false;
    }
    *found = (struct found){.device = device};
    write_port(device, found->port);
    read_attribute(found->port, "manufacturer", found->maker);
    read_attribute(found->port, "serial", found->serial);
    if (may_open) {
        ask(found, &descriptor);
    }
    // Ours say who made them. Of one that cannot be asked now that is not known: it is told of, with what to do.
    return (found->maker[0] == 0 && descriptor.iManufacturer != 0) || strcmp(found->maker, MAKER) == 0;
}

// ---- The one that is meant --------------------------------------------------------------------------------------

static bool is_meant(const struct found *found, const char *address)
{
    return address == NULL || strcmp(found->port, address) == 0 || strcmp(found->serial, address) == 0;
}

static int cannot_open(const struct found *found, int error)
{
    char path[64];
    snprintf(path, sizeof(path), "/dev/bus/usb/%03u/%03u", ferry_usb_library()->get_bus_number(found->device),
             ferry_usb_library()->get_device_address(found->device));
    switch (error) {
    case LIBUSB_ERROR_ACCESS:
        ferry_problem_set("device " ID " at %s is there but you may not open it: install the udev rule with `sudo make "
                          "install`, then `sudo udevadm control --reload` and plug it in anew",
                          found->port);
        return FERRY_ERROR_BACKEND;
    case LIBUSB_ERROR_BUSY: {
        char what[64];
        snprintf(what, sizeof(what), "device " ID " at %s", found->port);
        return ferry_file_in_use(path, what);
    }
    case LIBUSB_ERROR_NO_DEVICE:
        ferry_problem_set("device " ID " at %s went while it was opened", found->port);
        return FERRY_ERROR_DEVICE_LOST;
    default:
        ferry_problem_set("device " ID " at %s cannot be used: %s", found->port, ferry_usb_library()->strerror(error));
        return FERRY_ERROR_BACKEND;
    }
}

static int open_found(const struct found *found, libusb_device_handle **handle)
{
    int configuration = 0;
    int error = ferry_usb_library()->open(found->device, handle);
    if (error != 0) {
        return cannot_open(found, error);
    }
    error = ferry_usb_library()->get_configuration(*handle, &configuration);
    // A system that does not do so by itself leaves it to us.
    if (error == 0 && configuration == 0) {
        error = ferry_usb_library()->set_configuration(*handle, 1);
    }
    if (error == 0) {
        error = ferry_usb_library()->claim_interface(*handle, 0);
    }
    if (error != 0) {
        // Before anybody is asked who has it open: we do not count.
        ferry_usb_library()->close(*handle);
        return cannot_open(found, error);
    }
    return FERRY_OK;
}

static int not_one(const struct found *found, unsigned count, const char *address)
{
    if (count != 0) {
        ferry_problem_set("there are %u devices " ID " of " MAKER ": name one, as in usb:%s", count, found->port);
    } else if (address != NULL) {
        ferry_problem_set("no device " ID " of " MAKER
                          " has the port or the serial number '%s'; `ferry list` shows those that "
                          "there are",
                          address);
    } else {
        ferry_problem_set("no device " ID " of " MAKER
                          " is on USB: is it plugged in, and its bitstream one for USB? `lsusb -d " ID
                          "` looks for it");
    }
    return FERRY_ERROR_BACKEND;
}

int ferry_usb_start(libusb_context **usb)
{
    if (ferry_usb_library() == NULL) {
        return FERRY_ERROR_BACKEND;
    }
    const int failure = ferry_usb_library()->init(usb);
    if (failure != 0) {
        ferry_problem_set("libusb does not start: %s", ferry_usb_library()->strerror(failure));
        return FERRY_ERROR_BACKEND;
    }
    return FERRY_OK;
}

/// Everything on USB, or an error.
static ssize_t list_all(libusb_context *usb, libusb_device ***all)
{
    const ssize_t there = ferry_usb_library()->get_device_list(usb, all);
    if (there < 0) {
        ferry_problem_set("the system does not tell what is on USB: %s", ferry_usb_library()->strerror((int)there));
    }
    return there;
}

int ferry_usb_open(libusb_context *usb, const char *address, libusb_device_handle **handle, char where[FERRY_USB_WHERE])
{
    libusb_device **all;
    struct found one = {0}, other;
    unsigned count = 0;
    const ssize_t there = list_all(usb, &all);
    if (there < 0) {
        return FERRY_ERROR_BACKEND;
    }
    for (ssize_t n = 0; n < there; n++) {
        if (look_at(all[n], true, &other) && is_meant(&other, address)) {
            one = count++ == 0 ? other : one;
        }
    }
    const int error = count == 1 ? open_found(&one, handle) : not_one(&one, count, address);
    snprintf(where, FERRY_USB_WHERE, "USB port %s", one.port);
    ferry_usb_library()->free_device_list(all, 1);
    return error;
}

// ---- All of them ------------------------------------------------------------------------------------------------

static void tell(const struct found *found, ferry_candidate_callback *callback, void *context)
{
    char path[64];
    struct ferry_candidate candidate = {0};
    snprintf(path, sizeof(path), "/dev/bus/usb/%03u/%03u", ferry_usb_library()->get_bus_number(found->device),
             ferry_usb_library()->get_device_address(found->device));
    snprintf(candidate.backend, sizeof(candidate.backend), "usb:%s", found->port);
    snprintf(candidate.what, sizeof(candidate.what), "USB " ID "%s%s%s%s", found->maker[0] != 0 ? ", " : "",
             found->maker, found->serial[0] != 0 ? ", serial number " : "", found->serial);
    ferry_problem_clear();
    const int error = faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0 && errno == EACCES
                          ? cannot_open(found, LIBUSB_ERROR_ACCESS)
                      : ferry_file_user(path) != 0 ? cannot_open(found, LIBUSB_ERROR_BUSY)
                                                   : FERRY_OK;
    ferry_candidate_judge(&candidate, error, FERRY_REACH_READY);
    callback(context, &candidate);
}

static void tell_that_nobody_looked(int error, ferry_candidate_callback *callback, void *context)
{
    struct ferry_candidate candidate = {.backend = "usb", .what = "USB"};
    ferry_candidate_judge(&candidate, error, FERRY_REACH_READY);
    callback(context, &candidate);
}

void ferry_usb_list(ferry_candidate_callback *callback, void *context)
{
    libusb_context *usb;
    libusb_device **all;
    struct found found;
    // What cannot be looked at is not empty.
    ferry_problem_clear();
    const int error = ferry_usb_start(&usb);
    if (error != FERRY_OK) {
        tell_that_nobody_looked(error, callback, context);
        return;
    }
    const ssize_t there = list_all(usb, &all);
    for (ssize_t n = 0; n < there; n++) {
        if (look_at(all[n], false, &found)) {
            tell(&found, callback, context);
        }
    }
    if (there >= 0) {
        ferry_usb_library()->free_device_list(all, 1);
    } else {
        tell_that_nobody_looked(FERRY_ERROR_BACKEND, callback, context);
    }
    ferry_usb_library()->exit(usb);
}
