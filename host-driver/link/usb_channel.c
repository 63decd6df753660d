// SPDX-License-Identifier: Apache-2.0
// Several transfers each way are under way, so that the bus never waits for this program. The device ends what it has
// to say with a packet that is not full, and a transfer with it.
#include "link/usb_channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "link/problem.h"
#include "link/usb_library.h"

#define ENDPOINT_OUT   0x01
#define ENDPOINT_IN    0x81
#define IN_TRANSFERS   16u
#define OUT_TRANSFERS  8u
#define TRANSFER_BYTES 512u // What comes in a burst is seen when a transfer is full: half a millisecond of the bus.
#define MOST_ERRORS    16u  // In a row: a bad cable, or a device that is being pulled.
#define CLOSE_SECONDS  2

struct usb_channel;

struct transfer {
    struct usb_channel *channel;
    struct libusb_transfer *usb;
    bool under_way;
    size_t taken; // Of the bytes that came.
    uint8_t bytes[TRANSFER_BYTES];
};

/// An endpoint that has stalled is asked for nothing more until its halt is cleared (USB 2.0, 9.4.5), and that not
/// until what it was asked for has come back (libusb).
enum halt { NONE, STALLED, EMPTIED };

struct usb_channel {
    libusb_context *usb;
    libusb_device_handle *handle;
    int gone; // errno's number, or 0.
    unsigned errors, under_way;
    enum halt halt_in, halt_out;
    struct transfer in[IN_TRANSFERS], out[OUT_TRANSFERS];
    unsigned next_in; // The oldest: transfers of one endpoint end in the order of their beginning.
};

static int number_of(int error)
{
    return error == LIBUSB_ERROR_NO_DEVICE || error == LIBUSB_ERROR_NOT_FOUND ? ENODEV
           : error == LIBUSB_ERROR_NO_MEM                                     ? ENOMEM
                                                                              : EIO;
}

static void begin(struct transfer *transfer)
{
    struct usb_channel *channel = transfer->channel;
    const int error = ferry_usb_library()->submit_transfer(transfer->usb);
    if (error != 0) {
        channel->gone = number_of(error);
        return;
    }
    transfer->under_way = true;
    channel->under_way++;
}

static void count_error(struct usb_channel *channel)
{
    channel->gone = ++channel->errors > MOST_ERRORS ? EPROTO : channel->gone;
}

/// However many of its transfers say so.
static void note_stall(struct usb_channel *channel, enum halt *halt)
{
    if (*halt == NONE) {
        *halt = STALLED;
        count_error(channel);
    }
}

/// What libusb calls when a transfer is over.
static void LIBUSB_CALL ended(struct libusb_transfer *usb)
{
    struct transfer *transfer = usb->user_data;
    struct usb_channel *channel = transfer->channel;
    transfer->under_way = false;
    transfer->taken = 0;
    channel->under_way--;
    switch (usb->status) {
    case LIBUSB_TRANSFER_COMPLETED: channel->errors = 0; break;
    case LIBUSB_TRANSFER_CANCELLED: break;
    case LIBUSB_TRANSFER_NO_DEVICE: channel->gone = ENODEV; break;
    // The frames send again what did not arrive. A device that is pulled fails like this for a while, and one that
    // stalls its endpoints again and again for ever.
    case LIBUSB_TRANSFER_STALL:
        note_stall(channel, usb->endpoint == ENDPOINT_IN ? &channel->halt_in : &channel->halt_out);
        break;
    default: count_error(channel); break;
    }
}

/// Not in a call-back of libusb's, for this waits for the device's answer.
static void clear_halt(struct usb_channel *channel, enum halt *halt, struct transfer *transfers, unsigned count)
{
    bool waits = false;
    for (unsigned n = 0; n < count && *halt != NONE; n++) {
        waits = waits || transfers[n].under_way;
        if (*halt == STALLED && transfers[n].under_way) {
            ferry_usb_library()->cancel_transfer(transfers[n].usb);
        }
    }
    if (*halt == NONE || channel->gone != 0) {
        return;
    }
    *halt = EMPTIED;
    const int error = waits ? 0 : ferry_usb_library()->clear_halt(channel->handle, transfers[0].usb->endpoint);
    if (error == LIBUSB_ERROR_NO_DEVICE) {
        channel->gone = ENODEV;
    } else if (error != 0) {
        count_error(channel); // It is tried again.
    } else if (!waits) {
        *halt = NONE;
    }
}

/// Ask for more in place of what was read and what came empty.
static void ask_again(struct usb_channel *channel)
{
    while (channel->gone == 0 && channel->halt_in == NONE && !channel->in[channel->next_in].under_way &&
           channel->in[channel->next_in].taken >= (size_t)channel->in[channel->next_in].usb->actual_length) {
        begin(&channel->in[channel->next_in]);
        channel->next_in = (channel->next_in + 1) % IN_TRANSFERS;
    }
}

/// Something has come that was not read. Otherwise, unless its endpoint has stalled, it is under way.
static bool has_bytes(const struct transfer *transfer)
{
    return !transfer->under_way && transfer->taken < (size_t)transfer->usb->actual_length;
}

static ssize_t usb_read(void *context, uint8_t *bytes, size_t room)
{
    struct usb_channel *channel = context;
    size_t got = 0;
    ask_again(channel);
    while (got < room && has_bytes(&channel->in[channel->next_in]) && channel->gone == 0) {
        struct transfer *transfer = &channel->in[channel->next_in];
        const size_t left = (size_t)transfer->usb->actual_length - transfer->taken;
        const size_t part = left < room - got ? left : room - got;
        memcpy(bytes + got, transfer->bytes + transfer->taken, part);
        transfer->taken += part;
        got += part;
        ask_again(channel);
    }
    if (got == 0 && channel->gone != 0) {
        errno = channel->gone;
        return -1;
    }
    return (ssize_t)got;
}

static struct transfer *free_out(struct usb_channel *channel)
{
    for (unsigned n = 0; n < OUT_TRANSFERS && channel->halt_out == NONE; n++) {
        if (!channel->out[n].under_way) {
            return &channel->out[n];
        }
    }
    return NULL;
}

static ssize_t usb_write(void *context, const uint8_t *bytes, size_t count)
{
    struct usb_channel *channel = context;
    struct transfer *transfer = free_out(channel);
    const size_t part = count < TRANSFER_BYTES ? count : TRANSFER_BYTES;
    if (channel->gone == 0 && transfer != NULL) {
        memcpy(transfer->bytes, bytes, part);
        transfer->usb->length = (int)part;
        begin(transfer);
    }
    if (channel->gone != 0) {
        errno = channel->gone;
        return -1;
    }
    return transfer != NULL ? (ssize_t)part : 0;
}

static unsigned look(struct usb_channel *channel, bool writes)
{
    clear_halt(channel, &channel->halt_in, channel->in, IN_TRANSFERS);
    clear_halt(channel, &channel->halt_out, channel->out, OUT_TRANSFERS);
    ask_again(channel);
    if (channel->gone != 0) {
        errno = channel->gone;
        return FERRY_CHANNEL_GONE;
    }
    return (has_bytes(&channel->in[channel->next_in]) ? FERRY_CHANNEL_READS : 0) |
           (writes && free_out(channel) != NULL ? FERRY_CHANNEL_WRITES : 0);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static unsigned usb_wait(void *context, bool writes, int milliseconds)
{
    struct usb_channel *channel = context;
    const double end = now() + milliseconds / 1000.0;
    struct timeval time = {0, 0};
    // What is over already first: a channel that is always ready would never hear of the rest. A signal may end it.
    const int failed = ferry_usb_library()->handle_events_timeout_completed(channel->usb, &time, NULL);
    channel->gone = failed != 0 && failed != LIBUSB_ERROR_INTERRUPTED && channel->gone == 0 ? EIO : channel->gone;
    unsigned ready = look(channel, writes);
    while (ready == 0 && (milliseconds < 0 || now() < end)) {
        const double left = milliseconds < 0 ? 1.0 : end - now();
        time.tv_sec = (time_t)(left > 0 ? left : 0);
        time.tv_usec = left > 0 ? (suseconds_t)((left - (double)time.tv_sec) * 1e6) + 1 : 0;
        const int error = ferry_usb_library()->handle_events_timeout_completed(channel->usb, &time, NULL);
        if (error == LIBUSB_ERROR_INTERRUPTED) {
            return 0;
        }
        channel->gone = error != 0 && channel->gone == 0 ? EIO : channel->gone;
        ready = look(channel, writes);
    }
    return ready;
}

static void usb_close(void *context)
{
    struct usb_channel *channel = context;
    const double end = now() + CLOSE_SECONDS;
    for (unsigned n = 0; n < IN_TRANSFERS + OUT_TRANSFERS; n++) {
        struct transfer *transfer = n < IN_TRANSFERS ? &channel->in[n] : &channel->out[n - IN_TRANSFERS];
        if (transfer->under_way) {
            ferry_usb_library()->cancel_transfer(transfer->usb);
        }
    }
    while (channel->under_way != 0 && now() < end) {
        struct timeval time = {0, 10000};
        ferry_usb_library()->handle_events_timeout_completed(channel->usb, &time, NULL);
    }
    // A transfer that the system never gave back may still be written to. The others go first, as each holds its
    // device.
    const bool all_ended = channel->under_way == 0;
    for (unsigned n = 0; n < IN_TRANSFERS + OUT_TRANSFERS && all_ended; n++) {
        ferry_usb_library()->free_transfer(n < IN_TRANSFERS ? channel->in[n].usb : channel->out[n - IN_TRANSFERS].usb);
    }
    ferry_usb_library()->release_interface(channel->handle, 0);
    ferry_usb_library()->close(channel->handle);
    ferry_usb_library()->exit(channel->usb);
    if (all_ended) {
        free(channel);
    }
}

int ferry_usb_channel(libusb_context *usb, libusb_device_handle *handle, struct ferry_channel *channel)
{
    static const struct ferry_channel_operations operations = {
        .write = usb_write, .read = usb_read, .wait = usb_wait, .close = usb_close};
    struct usb_channel *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        ferry_usb_library()->close(handle);
        ferry_usb_library()->exit(usb);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    made->usb = usb;
    made->handle = handle;
    bool whole = true;
    for (unsigned n = 0; n < IN_TRANSFERS + OUT_TRANSFERS; n++) {
        struct transfer *transfer = n < IN_TRANSFERS ? &made->in[n] : &made->out[n - IN_TRANSFERS];
        transfer->channel = made;
        transfer->usb = ferry_usb_library()->alloc_transfer(0);
        whole = whole && transfer->usb != NULL;
        if (transfer->usb != NULL) {
            libusb_fill_bulk_transfer(transfer->usb, handle, n < IN_TRANSFERS ? ENDPOINT_IN : ENDPOINT_OUT,
                                      transfer->bytes, TRANSFER_BYTES, ended, transfer, 0);
        }
    }
    for (unsigned n = 0; n < IN_TRANSFERS && whole && made->gone == 0; n++) {
        begin(&made->in[n]);
    }
    if (!whole || made->gone != 0) {
        const int error = !whole || made->gone == ENOMEM ? FERRY_ERROR_NO_HOST_MEMORY
                          : made->gone == ENODEV         ? FERRY_ERROR_DEVICE_LOST
                                                         : FERRY_ERROR_BACKEND;
        ferry_problem_set("the device's endpoints cannot be read: %s", strerror(made->gone != 0 ? made->gone : ENOMEM));
        usb_close(made);
        return error;
    }
    channel->operations = &operations;
    channel->context = made;
    return FERRY_OK;
}
