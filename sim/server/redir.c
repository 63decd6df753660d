// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // ppoll(), accept4()
#include "server/redir.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <usbredirparser.h>

#include "server/peer.h"
#include "server/wait.h"

#define MOST_TRANSFERS 256u       // Of a guest's, that wait; libusb and a kernel keep some ten.
#define MOST_BYTES     (1u << 24) // Of one,
#define MOST_WAITING   (1u << 26) // and of all of them.
// Answers that a guest does not take; then nothing more that it asks is looked at. The parser walks through them for
// each that is added.
#define MOST_ANSWERS      1024
#define MOST_ANSWER_BYTES (1u << 20)
#define TURN_BYTES        4096u // Of a guest's, between two looks at the signals.
#define DEVICE_BYTES      18u   // Of a device descriptor (USB 2.0, 9.6.1).
#define ALL_ENDPOINTS     32    // Sixteen each way, as usbredir numbers them.

struct transfer {
    struct transfer *next;
    uint64_t id;
    struct usb_redir_bulk_packet_header header;
    uint8_t *data;
    size_t length, moved;
};

struct guest {
    const struct redir_host *host;
    int fd;
    bool gone, greeted; // It has said its hello.
    struct usbredirparser *parser;
    struct transfer *out, *in; // Oldest first.
    unsigned transfers;
    size_t waiting; // Bytes of theirs.
    size_t turn;    // Bytes that may still be read in this one.
    uint8_t configuration;
    uint8_t data[65536]; // Of a control transfer.
};

// ---- Socket and parser ------------------------------------------------------------------------------------------

static void log_parser(void *context, int level, const char *text)
{
    (void)context;
    if (level <= usbredirparser_error) {
        fprintf(stderr, "ferry-sim: usbredir: %s\n", text);
    }
}

static bool takes_no_answers(const struct guest *guest)
{
    return usbredirparser_has_data_to_write(guest->parser) > MOST_ANSWERS ||
           usbredirparser_get_bufferered_output_size(guest->parser) > MOST_ANSWER_BYTES;
}

/// The parser goes on while this gives something. A guest that always has more to ask would keep it for ever.
static int read_guest(void *context, uint8_t *data, int count)
{
    struct guest *guest = context;
    const size_t most = (size_t)count < guest->turn ? (size_t)count : guest->turn;
    if (most == 0 || takes_no_answers(guest)) {
        return 0;
    }
    const ssize_t got = recv(guest->fd, data, most, MSG_DONTWAIT);
    guest->turn -= got > 0 ? (size_t)got : 0;
    return got > 0 ? (int)got : got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static int write_guest(void *context, uint8_t *data, int count)
{
    const struct guest *guest = context;
    const ssize_t put = send(guest->fd, data, (size_t)count, MSG_DONTWAIT | MSG_NOSIGNAL);
    return put >= 0 ? (int)put : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

// ---- Requests ---------------------------------------------------------------------------------------------------

static int status_of(enum redir_result result)
{
    return result == REDIR_DONE ? usb_redir_success : result == REDIR_STALL ? usb_redir_stall : usb_redir_ioerror;
}

static enum redir_result request(struct guest *guest, uint8_t type, uint8_t code, uint16_t value, uint16_t index,
                                 uint16_t length, size_t *moved)
{
    const uint8_t setup[8] = {type,
                              code,
                              (uint8_t)value,
                              (uint8_t)(value >> 8),
                              (uint8_t)index,
                              (uint8_t)(index >> 8),
                              (uint8_t)length,
                              (uint8_t)(length >> 8)};
    *moved = 0;
    guest->turn = 0; // This takes time.
    return guest->host->control(guest->host->context, setup, guest->data, moved);
}

/// Tell what the device says of itself: classes, endpoints, that it is there. false = it says nothing that makes sense.
static bool tell(struct guest *guest)
{
    struct usb_redir_interface_info_header interfaces = {0};
    struct usb_redir_ep_info_header endpoints = {0};
    struct usb_redir_device_connect_header device = {.speed = usb_redir_speed_full};
    size_t bytes;
    if (request(guest, 0x80, 6, 1u << 8, 0, DEVICE_BYTES, &bytes) != REDIR_DONE || bytes != DEVICE_BYTES) {
        return false;
    }
    device.device_class = guest->data[4];
    device.device_subclass = guest->data[5];
    device.device_protocol = guest->data[6];
    device.vendor_id = (uint16_t)(guest->data[8] | guest->data[9] << 8);
    device.product_id = (uint16_t)(guest->data[10] | guest->data[11] << 8);
    device.device_version_bcd = (uint16_t)(guest->data[12] | guest->data[13] << 8);
    memset(endpoints.type, usb_redir_type_invalid, sizeof(endpoints.type));
    endpoints.type[0] = endpoints.type[ALL_ENDPOINTS / 2] = usb_redir_type_control;
    endpoints.max_packet_size[0] = endpoints.max_packet_size[ALL_ENDPOINTS / 2] = guest->data[7];
    if (request(guest, 0x80, 6, 2u << 8, 0, 512, &bytes) != REDIR_DONE) {
        return false;
    }
    uint8_t interface = 0;
    for (size_t at = 0; at + 2 <= bytes && guest->data[at] >= 2 && at + guest->data[at] <= bytes;
         at += guest->data[at]) {
        const uint8_t *descriptor = guest->data + at;
        if (descriptor[1] == 4 && descriptor[0] >= 9 && interfaces.interface_count < ALL_ENDPOINTS) {
            const uint32_t n = interfaces.interface_count++;
            interface = interfaces.interface[n] = descriptor[2];
            interfaces.interface_class[n] = descriptor[5];
            interfaces.interface_subclass[n] = descriptor[6];
            interfaces.interface_protocol[n] = descriptor[7];
        } else if (descriptor[1] == 5 && descriptor[0] >= 7) {
            const unsigned n = (descriptor[2] & 0x80u) >> 3 | (descriptor[2] & 15u);
            endpoints.type[n] = descriptor[3] & 3;
            endpoints.interval[n] = descriptor[6];
            endpoints.interface[n] = interface;
            endpoints.max_packet_size[n] = (uint16_t)(descriptor[4] | descriptor[5] << 8);
        }
    }
    usbredirparser_send_interface_info(guest->parser, &interfaces);
    usbredirparser_send_ep_info(guest->parser, &endpoints);
    usbredirparser_send_device_connect(guest->parser, &device);
    return interfaces.interface_count != 0;
}

static void on_hello(void *context, struct usb_redir_hello_header *hello)
{
    struct guest *guest = context;
    (void)hello;
    guest->greeted = true;
    if (guest->host->reset(guest->host->context) != REDIR_DONE || !tell(guest)) {
        fprintf(stderr, "ferry-sim: the device does not answer on its bus\n");
        guest->gone = true;
    }
}

static void on_reset(void *context)
{
    struct guest *guest = context;
    guest->configuration = 0;
    guest->turn = 0;
    guest->gone = guest->gone || guest->host->reset(guest->host->context) != REDIR_DONE;
}

static void on_control(void *context, uint64_t id, struct usb_redir_control_packet_header *header, uint8_t *data,
                       int count)
{
    struct guest *guest = context;
    const bool in = (header->requesttype & 0x80) != 0;
    size_t moved = 0;
    if (!in && count != header->length) {
        header->status = usb_redir_inval;
    } else {
        if (!in && count > 0) {
            memcpy(guest->data, data, (size_t)count);
        }
        header->status = (uint8_t)status_of(
            request(guest, header->requesttype, header->request, header->value, header->index, header->length, &moved));
    }
    header->length = (uint16_t)moved;
    usbredirparser_send_control_packet(guest->parser, id, header, in ? guest->data : NULL, in ? (int)moved : 0);
    usbredirparser_free_packet_data(guest->parser, data);
}

static void on_set_configuration(void *context, uint64_t id, struct usb_redir_set_configuration_header *header)
{
    struct guest *guest = context;
    size_t moved;
    const enum redir_result result = request(guest, 0x00, 9, header->configuration, 0, 0, &moved);
    guest->configuration = result == REDIR_DONE ? header->configuration : guest->configuration;
    struct usb_redir_configuration_status_header status = {.status = (uint8_t)status_of(result),
                                                           .configuration = guest->configuration};
    usbredirparser_send_configuration_status(guest->parser, id, &status);
}

static void on_get_configuration(void *context, uint64_t id)
{
    const struct guest *guest = context;
    struct usb_redir_configuration_status_header status = {.status = usb_redir_success,
                                                           .configuration = guest->configuration};
    usbredirparser_send_configuration_status(guest->parser, id, &status);
}

static void on_set_alternative(void *context, uint64_t id, struct usb_redir_set_alt_setting_header *header)
{
    struct guest *guest = context;
    size_t moved;
    struct usb_redir_alt_setting_status_header status = {.interface = header->interface, .alt = header->alt};
    status.status = (uint8_t)status_of(request(guest, 0x01, 11, header->alt, header->interface, 0, &moved));
    usbredirparser_send_alt_setting_status(guest->parser, id, &status);
}

static void on_get_alternative(void *context, uint64_t id, struct usb_redir_get_alt_setting_header *header)
{
    struct guest *guest = context;
    size_t moved;
    struct usb_redir_alt_setting_status_header status = {.interface = header->interface};
    status.status = (uint8_t)status_of(request(guest, 0x81, 10, 0, header->interface, 1, &moved));
    status.alt = moved == 1 ? guest->data[0] : 0;
    usbredirparser_send_alt_setting_status(guest->parser, id, &status);
}

// ---- Bulk transfers ---------------------------------------------------------------------------------------------

/// Answer a transfer, and forget it: what came, or how much went, and how it ended.
static void end_transfer(struct guest *guest, struct transfer *transfer, int status)
{
    const bool in = (transfer->header.endpoint & 0x80) != 0;
    struct transfer **place = in ? &guest->in : &guest->out;
    while (*place != transfer) {
        place = &(*place)->next;
    }
    *place = transfer->next;
    transfer->header.status = (uint8_t)status;
    transfer->header.length = (uint16_t)transfer->moved;
    transfer->header.length_high = (uint16_t)(transfer->moved >> 16);
    usbredirparser_send_bulk_packet(guest->parser, transfer->id, &transfer->header, in ? transfer->data : NULL,
                                    in ? (int)transfer->moved : 0);
    guest->transfers--;
    guest->waiting -= transfer->length;
    free(transfer->data);
    free(transfer);
}

static void on_bulk(void *context, uint64_t id, struct usb_redir_bulk_packet_header *header, uint8_t *data, int count)
{
    struct guest *guest = context;
    const bool in = (header->endpoint & 0x80) != 0;
    const size_t length = header->length | (size_t)header->length_high << 16;
    struct transfer *transfer =
        guest->transfers < MOST_TRANSFERS && length <= MOST_BYTES && length <= MOST_WAITING - guest->waiting
            ? calloc(1, sizeof(*transfer))
            : NULL;
    uint8_t *bytes = transfer != NULL ? malloc(length + 1) : NULL;
    if (bytes == NULL || (!in && (size_t)count != length)) {
        header->status = usb_redir_inval;
        header->length = header->length_high = 0;
        usbredirparser_send_bulk_packet(guest->parser, id, header, NULL, 0);
        free(bytes);
        free(transfer);
    } else {
        if (!in && count > 0) {
            memcpy(bytes, data, length);
        }
        *transfer = (struct transfer){.id = id, .header = *header, .data = bytes, .length = length};
        struct transfer **last = in ? &guest->in : &guest->out;
        while (*last != NULL) {
            last = &(*last)->next;
        }
        *last = transfer;
        guest->transfers++;
        guest->waiting += length;
    }
    usbredirparser_free_packet_data(guest->parser, data);
}

static void on_cancel(void *context, uint64_t id)
{
    struct guest *guest = context;
    for (int in = 0; in < 2; in++) {
        for (struct transfer *transfer = in != 0 ? guest->in : guest->out; transfer != NULL;
             transfer = transfer->next) {
            if (transfer->id == id) {
                end_transfer(guest, transfer, usb_redir_cancelled);
                return;
            }
        }
    }
}

/// What is asked of endpoints and streams that this device has none of. The parser calls whoever is to answer without a
/// look whether there is anybody; whoever asks for it takes this for another device, and is hung up on.
#define IS_NONE_OF_OURS(what)                                                                                          \
    static void on_##what(void *context, uint64_t id, struct usb_redir_##what##_header *header)                        \
    {                                                                                                                  \
        (void)id, (void)header;                                                                                        \
        ((struct guest *)context)->gone = true;                                                                        \
    }
IS_NONE_OF_OURS(start_iso_stream)
IS_NONE_OF_OURS(stop_iso_stream)
IS_NONE_OF_OURS(start_interrupt_receiving)
IS_NONE_OF_OURS(stop_interrupt_receiving)
IS_NONE_OF_OURS(alloc_bulk_streams)
IS_NONE_OF_OURS(free_bulk_streams)
IS_NONE_OF_OURS(start_bulk_receiving)
IS_NONE_OF_OURS(stop_bulk_receiving)

#define NOR_IS_A_PACKET(what)                                                                                          \
    static void on_##what(void *context, uint64_t id, struct usb_redir_##what##_header *header, uint8_t *data,         \
                          int count)                                                                                   \
    {                                                                                                                  \
        (void)id, (void)header, (void)count;                                                                           \
        ((struct guest *)context)->gone = true;                                                                        \
        usbredirparser_free_packet_data(((struct guest *)context)->parser, data);                                      \
    }
NOR_IS_A_PACKET(iso_packet)
NOR_IS_A_PACKET(interrupt_packet)

/// One packet of the oldest transfer to the device.
static void send_packet(struct guest *guest)
{
    struct transfer *transfer = guest->out;
    if (transfer == NULL) {
        return;
    }
    const size_t left = transfer->length - transfer->moved, part = left < REDIR_PACKET ? left : REDIR_PACKET;
    const enum redir_result result =
        guest->host->out(guest->host->context, transfer->header.endpoint & 15, transfer->data + transfer->moved, part);
    transfer->moved += result == REDIR_DONE ? part : 0;
    if (result != REDIR_NAK && (result != REDIR_DONE || transfer->moved == transfer->length)) {
        end_transfer(guest, transfer, status_of(result));
    }
}

/// One packet for the oldest transfer from it. A transfer ends when it is full, or with a packet that is not.
static void fetch_packet(struct guest *guest)
{
    struct transfer *transfer = guest->in;
    uint8_t packet[REDIR_PACKET];
    size_t bytes = 0;
    if (transfer == NULL) {
        return;
    }
    const enum redir_result result =
        guest->host->in(guest->host->context, transfer->header.endpoint & 15, packet, &bytes);
    if (result == REDIR_NAK) {
        return;
    }
    const size_t left = transfer->length - transfer->moved, part = bytes < left ? bytes : left;
    if (result == REDIR_DONE) {
        memcpy(transfer->data + transfer->moved, packet, part);
        transfer->moved += part;
    }
    if (result != REDIR_DONE || bytes > left) {
        end_transfer(guest, transfer, result != REDIR_DONE ? status_of(result) : usb_redir_babble);
    } else if (bytes < REDIR_PACKET || transfer->moved == transfer->length) {
        end_transfer(guest, transfer, usb_redir_success);
    }
}

// ---- Guests -----------------------------------------------------------------------------------------------------

static bool start(struct guest *guest)
{
    uint32_t can[USB_REDIR_CAPS_SIZE] = {0};
    guest->parser = usbredirparser_create();
    if (guest->parser == NULL) {
        return false;
    }
    *guest->parser = (struct usbredirparser){.priv = guest,
                                             .log_func = log_parser,
                                             .read_func = read_guest,
                                             .write_func = write_guest,
                                             .hello_func = on_hello,
                                             .reset_func = on_reset,
                                             .set_configuration_func = on_set_configuration,
                                             .get_configuration_func = on_get_configuration,
                                             .set_alt_setting_func = on_set_alternative,
                                             .get_alt_setting_func = on_get_alternative,
                                             .control_packet_func = on_control,
                                             .bulk_packet_func = on_bulk,
                                             .start_iso_stream_func = on_start_iso_stream,
                                             .stop_iso_stream_func = on_stop_iso_stream,
                                             .start_interrupt_receiving_func = on_start_interrupt_receiving,
                                             .stop_interrupt_receiving_func = on_stop_interrupt_receiving,
                                             .alloc_bulk_streams_func = on_alloc_bulk_streams,
                                             .free_bulk_streams_func = on_free_bulk_streams,
                                             .start_bulk_receiving_func = on_start_bulk_receiving,
                                             .stop_bulk_receiving_func = on_stop_bulk_receiving,
                                             .iso_packet_func = on_iso_packet,
                                             .interrupt_packet_func = on_interrupt_packet,
                                             .cancel_data_packet_func = on_cancel};
    // What QEMU's xHCI asks of a device's end, and lengths beyond 65,535.
    usbredirparser_caps_set_cap(can, usb_redir_cap_connect_device_version);
    usbredirparser_caps_set_cap(can, usb_redir_cap_ep_info_max_packet_size);
    usbredirparser_caps_set_cap(can, usb_redir_cap_64bits_ids);
    usbredirparser_caps_set_cap(can, usb_redir_cap_32bits_bulk_length);
    usbredirparser_init(guest->parser, "Pageferry", can, USB_REDIR_CAPS_SIZE, usbredirparser_fl_usb_host);
    return true;
}

static void turn_away(int listener)
{
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
}

static void serve(struct guest *guest, int listener, const volatile sig_atomic_t *stop)
{
    const struct redir_host *host = guest->host;
    while (!*stop && !guest->gone && host->broken(host->context) == NULL) {
        const bool writes = usbredirparser_has_data_to_write(guest->parser) != 0;
        const bool works = guest->out != NULL || host->busy(host->context);
        const bool reads = !takes_no_answers(guest);
        struct pollfd ready[] = {{.fd = guest->fd, .events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0))},
                                 {.fd = listener, .events = POLLIN}};
        const struct timespec now = {0, 0};
        guest->turn = TURN_BYTES;
        if (server_wait(ready, 2, works ? &now : NULL) < 0 && errno != EINTR) {
            break;
        }
        const bool ends =
            (ready[0].revents != 0 && usbredirparser_do_read(guest->parser) != 0) ||
            (usbredirparser_has_data_to_write(guest->parser) != 0 && usbredirparser_do_write(guest->parser) != 0);
        guest->gone = guest->gone || ends; // Behind all that it said, which may be the reason to hang up.
        // Behind the guest's own bytes: one that hung up, and another right behind it, come at once. Who has not said
        // a word keeps nobody out.
        if (ready[1].revents != 0 && guest->greeted && !guest->gone) {
            turn_away(listener);
        } else if (ready[1].revents != 0) {
            guest->gone = true;
        }
        if (!works) {
            continue;
        }
        if (guest->out == NULL && guest->in == NULL) {
            host->idle(host->context);
        }
        send_packet(guest);
        fetch_packet(guest);
    }
}

static void leave(struct guest *guest)
{
    while (guest->out != NULL) {
        end_transfer(guest, guest->out, usb_redir_cancelled);
    }
    while (guest->in != NULL) {
        end_transfer(guest, guest->in, usb_redir_cancelled);
    }
    if (guest->parser != NULL) {
        usbredirparser_destroy(guest->parser);
    }
    close(guest->fd);
    free(guest);
}

int redir_run(int listener, const struct redir_host *host, const volatile sig_atomic_t *stop)
{
    while (!*stop && host->broken(host->context) == NULL) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        if (server_wait(&ready, 1, NULL) <= 0) {
            if (errno == EINTR) {
                continue;
            }
            fprintf(stderr, "ferry-sim: %s\n", strerror(errno));
            return -1;
        }
        struct guest *guest = calloc(1, sizeof(*guest));
        if (guest == NULL) {
            turn_away(listener);
            continue;
        }
        guest->host = host;
        guest->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (guest->fd >= 0 && start(guest)) {
            server_peer_keep_asking(guest->fd);
            serve(guest, listener, stop);
        }
        leave(guest);
    }
    if (host->broken(host->context) != NULL) {
        fprintf(stderr, "ferry-sim: simulation stopped: %s\n", host->broken(host->context));
        return -1;
    }
    return 0;
}
