// SPDX-License-Identifier: Apache-2.0
// Stands in for libusb (LD_PRELOAD) and for the kernel below it: the devices on its bus are what answers usbredir at
// the sockets that FERRY_USBREDIR names, with a colon between two, each at a port of its own. So programs that know
// nothing of it reach a simulated USB port without a virtual machine. It has the calls that the back end `usb` makes,
// which opens one device with a context. A socket that hangs up before it has told of a device is a device that
// somebody else has, one that says nothing is none; with FERRY_USBREDIR_LOCKED set none may be opened.
#define _GNU_SOURCE
#include <errno.h>
#include <libusb-1.0/libusb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <usbredirparser.h>

#define API   __attribute__((visibility("default")))
#define BUS   250
#define MOST  4u    // devices
#define DELAY 60000 // Milliseconds for a control transfer: the device is simulated.

struct pending {
    struct pending *next;
    struct libusb_transfer *transfer;
    uint64_t id;
};

// Its handle is itself under another name.
struct libusb_device {
    int fd; // -1 = none
    uint8_t port;
    bool opened, there, configured, gone, answered;
    struct usbredirparser *parser;
    struct usb_redir_device_connect_header device;
    struct pending *pending;
    uint64_t next_id;
    uint8_t answer[256];
    int answer_bytes, answer_status;
};

struct libusb_context {
    struct libusb_device devices[MOST];
};

static struct libusb_device *device_of(void *handle)
{
    return handle;
}

static void say(void *priv, int level, const char *text)
{
    (void)priv;
    if (level <= usbredirparser_error)
        fprintf(stderr, "libusb_redir: %s\n", text);
}

static int read_socket(void *priv, uint8_t *data, int count)
{
    const libusb_device *usb = priv;
    const ssize_t got = recv(usb->fd, data, (size_t)count, MSG_DONTWAIT);
    return got > 0 ? (int)got : got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static int write_socket(void *priv, uint8_t *data, int count)
{
    const libusb_device *usb = priv;
    const ssize_t put = send(usb->fd, data, (size_t)count, MSG_DONTWAIT | MSG_NOSIGNAL);
    return put >= 0 ? (int)put : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

// ---- What comes -------------------------------------------------------------------------------------------------

static void on_connect(void *priv, struct usb_redir_device_connect_header *device)
{
    libusb_device *usb = priv;
    usb->device = *device;
    usb->there = true;
}

static void on_nothing(void *priv, struct usb_redir_interface_info_header *info)
{
    (void)priv, (void)info;
}

static void on_endpoints(void *priv, struct usb_redir_ep_info_header *info)
{
    (void)priv, (void)info;
}

static void on_disconnect(void *priv)
{
    ((libusb_device *)priv)->gone = true;
}

static void on_configured(void *priv, uint64_t id, struct usb_redir_configuration_status_header *status)
{
    libusb_device *usb = priv;
    (void)id;
    usb->answered = true;
    usb->answer_status = status->status;
    usb->configured = status->status == usb_redir_success && status->configuration != 0;
}

static void on_control(void *priv, uint64_t id, struct usb_redir_control_packet_header *header, uint8_t *data,
                       int count)
{
    libusb_device *usb = priv;
    (void)id;
    usb->answered = true;
    usb->answer_status = header->status;
    usb->answer_bytes = count < (int)sizeof(usb->answer) ? count : (int)sizeof(usb->answer);
    if (usb->answer_bytes > 0)
        memcpy(usb->answer, data, (size_t)usb->answer_bytes);
    usbredirparser_free_packet_data(usb->parser, data);
}

/// Hand a transfer back.
static void end(libusb_device *usb, struct pending *pending, enum libusb_transfer_status status, int bytes)
{
    struct pending **place = &usb->pending;
    struct libusb_transfer *transfer = pending->transfer;
    while (*place != pending)
        place = &(*place)->next;
    *place = pending->next;
    free(pending);
    transfer->status = status;
    transfer->actual_length = bytes;
    transfer->callback(transfer);
}

static enum libusb_transfer_status status_of(int status)
{
    switch (status) {
    case usb_redir_success: return LIBUSB_TRANSFER_COMPLETED;
    case usb_redir_cancelled: return LIBUSB_TRANSFER_CANCELLED;
    case usb_redir_stall: return LIBUSB_TRANSFER_STALL;
    case usb_redir_timeout: return LIBUSB_TRANSFER_TIMED_OUT;
    case usb_redir_babble: return LIBUSB_TRANSFER_OVERFLOW;
    default: return LIBUSB_TRANSFER_ERROR;
    }
}

static void on_bulk(void *priv, uint64_t id, struct usb_redir_bulk_packet_header *header, uint8_t *data, int count)
{
    libusb_device *usb = priv;
    for (struct pending *pending = usb->pending; pending != NULL; pending = pending->next) {
        if (pending->id == id) {
            const int bytes = (int)(header->length | (uint32_t)header->length_high << 16);
            if ((header->endpoint & 0x80) != 0 && count > 0)
                memcpy(pending->transfer->buffer, data, (size_t)count);
            end(usb, pending, status_of(header->status), bytes);
            break;
        }
    }
    usbredirparser_free_packet_data(usb->parser, data);
}

/// Move what can be moved; wait for it, so many milliseconds at most.
static void exchange(libusb_device *usb, int milliseconds)
{
    if (usb->fd < 0 || usb->gone)
        return;
    const bool writes = usbredirparser_has_data_to_write(usb->parser) != 0;
    struct pollfd ready = {.fd = usb->fd, .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
    if (poll(&ready, 1, milliseconds) < 0)
        return;
    if ((ready.revents & POLLOUT) != 0 && usbredirparser_do_write(usb->parser) != 0)
        usb->gone = true;
    if ((ready.revents & ~POLLOUT) != 0 && usbredirparser_do_read(usb->parser) != 0)
        usb->gone = true;
}

static bool await(libusb_device *usb, const bool *what)
{
    for (int waited = 0; !*what && !usb->gone && waited < DELAY; waited += 10)
        exchange(usb, 10);
    return *what;
}

// ---- The library ------------------------------------------------------------------------------------------------

static void let_go(libusb_device *usb)
{
    if (usb->fd < 0)
        return;
    usbredirparser_destroy(usb->parser);
    close(usb->fd);
    usb->fd = -1;
}

// What answers at this socket; nothing if nobody does, or tells of a device.
static void meet(libusb_device *usb, const char *path, size_t length)
{
    uint32_t can[USB_REDIR_CAPS_SIZE] = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    usb->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%.*s", (int)length, path);
    if (connect(usb->fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(usb->fd);
        usb->fd = -1;
        return;
    }
    usb->parser = usbredirparser_create();
    usb->parser->priv = usb;
    usb->parser->log_func = say;
    usb->parser->read_func = read_socket;
    usb->parser->write_func = write_socket;
    usb->parser->device_connect_func = on_connect;
    usb->parser->device_disconnect_func = on_disconnect;
    usb->parser->interface_info_func = on_nothing;
    usb->parser->ep_info_func = on_endpoints;
    usb->parser->configuration_status_func = on_configured;
    usb->parser->control_packet_func = on_control;
    usb->parser->bulk_packet_func = on_bulk;
    usbredirparser_caps_set_cap(can, usb_redir_cap_connect_device_version);
    usbredirparser_caps_set_cap(can, usb_redir_cap_ep_info_max_packet_size);
    usbredirparser_caps_set_cap(can, usb_redir_cap_64bits_ids);
    usbredirparser_caps_set_cap(can, usb_redir_cap_32bits_bulk_length);
    usbredirparser_init(usb->parser, "libusb_redir", can, USB_REDIR_CAPS_SIZE, 0);
    if (!await(usb, &usb->there) && !usb->gone)
        let_go(usb);
}

API int libusb_init(libusb_context **made)
{
    const char *paths = getenv("FERRY_USBREDIR");
    libusb_context *usb = calloc(1, sizeof(*usb));
    if (usb == NULL)
        return LIBUSB_ERROR_NO_MEM;
    *made = usb;
    for (unsigned i = 0; i < MOST; i++) {
        usb->devices[i].fd = -1;
        usb->devices[i].port = (uint8_t)(i + 1);
        const size_t length = paths != NULL ? strcspn(paths, ":") : 0;
        if (length > 0)
            meet(&usb->devices[i], paths, length);
        paths = length > 0 && paths[length] == ':' ? paths + length + 1 : NULL;
    }
    return 0;
}

API void libusb_exit(libusb_context *usb)
{
    for (unsigned i = 0; i < MOST; i++)
        let_go(&usb->devices[i]);
    free(usb);
}

API const char *libusb_strerror(int error)
{
    (void)error;
    return "an error of the stand-in's";
}

API ssize_t libusb_get_device_list(libusb_context *usb, libusb_device ***list)
{
    ssize_t count = 0;
    *list = calloc(MOST + 1, sizeof(**list));
    for (unsigned i = 0; i < MOST; i++)
        if (usb->devices[i].fd >= 0)
            (*list)[count++] = &usb->devices[i];
    return count;
}

// What nobody has opened by then is left to others.
API void libusb_free_device_list(libusb_device **list, int unref)
{
    (void)unref;
    for (libusb_device **device = list; *device != NULL; device++)
        if (!(*device)->opened)
            let_go(*device);
    free(list);
}

API uint8_t libusb_get_bus_number(libusb_device *device)
{
    (void)device;
    return BUS;
}

API uint8_t libusb_get_device_address(libusb_device *device)
{
    return device->port;
}

API int libusb_get_port_numbers(libusb_device *device, uint8_t *ports, int room)
{
    (void)room;
    ports[0] = device->port;
    return 1;
}

API int libusb_get_device_descriptor(libusb_device *device, struct libusb_device_descriptor *descriptor)
{
    const bool there = device->there;
    *descriptor = (struct libusb_device_descriptor){.idVendor = there ? device->device.vendor_id : 0x1209,
                                                    .idProduct = there ? device->device.product_id : 1,
                                                    .iManufacturer = 1,
                                                    .iSerialNumber = 3};
    return 0;
}

API int libusb_open(libusb_device *device, libusb_device_handle **handle)
{
    *handle = (libusb_device_handle *)device;
    device->opened = getenv("FERRY_USBREDIR_LOCKED") == NULL;
    return device->opened ? 0 : LIBUSB_ERROR_ACCESS;
}

API void libusb_close(libusb_device_handle *handle)
{
    device_of(handle)->opened = false;
}

API int libusb_get_string_descriptor_ascii(libusb_device_handle *handle, uint8_t index, unsigned char *text, int room)
{
    libusb_device *usb = device_of(handle);
    struct usb_redir_control_packet_header header = {.endpoint = 0x80,
                                                     .request = LIBUSB_REQUEST_GET_DESCRIPTOR,
                                                     .requesttype = 0x80,
                                                     .value = (uint16_t)(3 << 8 | index),
                                                     .index = 0x409,
                                                     .length = 255};
    if (!usb->there)
        return LIBUSB_ERROR_IO;
    usb->answered = false;
    usbredirparser_send_control_packet(usb->parser, usb->next_id++, &header, NULL, 0);
    if (!await(usb, &usb->answered) || usb->answer_status != usb_redir_success)
        return LIBUSB_ERROR_IO;
    int count = 0;
    for (int at = 2; at + 1 < usb->answer_bytes && count + 1 < room; at += 2)
        text[count++] = usb->answer[at];
    text[count] = 0;
    return count;
}

API int libusb_get_configuration(libusb_device_handle *handle, int *configuration)
{
    *configuration = device_of(handle)->configured;
    return 0;
}

API int libusb_set_configuration(libusb_device_handle *handle, int configuration)
{
    libusb_device *usb = device_of(handle);
    struct usb_redir_set_configuration_header header = {.configuration = (uint8_t)configuration};
    if (!usb->there)
        return LIBUSB_ERROR_BUSY;
    usb->answered = false;
    usbredirparser_send_set_configuration(usb->parser, usb->next_id++, &header);
    return await(usb, &usb->answered) && usb->answer_status == usb_redir_success ? 0 : LIBUSB_ERROR_IO;
}

API int libusb_claim_interface(libusb_device_handle *handle, int interface)
{
    (void)interface;
    return device_of(handle)->there ? 0 : LIBUSB_ERROR_BUSY;
}

API int libusb_release_interface(libusb_device_handle *handle, int interface)
{
    (void)handle, (void)interface;
    return 0;
}

API struct libusb_transfer *libusb_alloc_transfer(int packets)
{
    (void)packets;
    return calloc(1, sizeof(struct libusb_transfer));
}

API void libusb_free_transfer(struct libusb_transfer *transfer)
{
    free(transfer);
}

API int libusb_submit_transfer(struct libusb_transfer *transfer)
{
    libusb_device *usb = device_of(transfer->dev_handle);
    struct usb_redir_bulk_packet_header header = {.endpoint = transfer->endpoint,
                                                  .length = (uint16_t)transfer->length,
                                                  .length_high = (uint16_t)((uint32_t)transfer->length >> 16)};
    if (usb->gone)
        return LIBUSB_ERROR_NO_DEVICE;
    struct pending *pending = calloc(1, sizeof(*pending));
    if (pending == NULL)
        return LIBUSB_ERROR_NO_MEM;
    *pending = (struct pending){.next = usb->pending, .transfer = transfer, .id = usb->next_id++};
    usb->pending = pending;
    const bool in = (transfer->endpoint & 0x80) != 0;
    usbredirparser_send_bulk_packet(usb->parser, pending->id, &header, in ? NULL : transfer->buffer,
                                    in ? 0 : transfer->length);
    return 0;
}

API int libusb_cancel_transfer(struct libusb_transfer *transfer)
{
    libusb_device *usb = device_of(transfer->dev_handle);
    for (struct pending *pending = usb->pending; pending != NULL; pending = pending->next) {
        if (pending->transfer == transfer) {
            usbredirparser_send_cancel_data_packet(usb->parser, pending->id);
            return 0;
        }
    }
    return LIBUSB_ERROR_NOT_FOUND;
}

API int libusb_clear_halt(libusb_device_handle *handle, unsigned char endpoint)
{
    libusb_device *usb = device_of(handle);
    struct usb_redir_control_packet_header header = {
        .request = LIBUSB_REQUEST_CLEAR_FEATURE, .requesttype = LIBUSB_RECIPIENT_ENDPOINT, .index = endpoint};
    usb->answered = false;
    usbredirparser_send_control_packet(usb->parser, usb->next_id++, &header, NULL, 0);
    return await(usb, &usb->answered) && usb->answer_status == usb_redir_success ? 0
           : usb->gone                                                           ? LIBUSB_ERROR_NO_DEVICE
                                                                                 : LIBUSB_ERROR_IO;
}

API int libusb_handle_events_timeout_completed(libusb_context *usb, struct timeval *time, int *completed)
{
    (void)completed;
    for (unsigned i = 0; i < MOST; i++) {
        libusb_device *device = &usb->devices[i];
        if (!device->opened)
            continue;
        exchange(device, device->gone ? 0 : (int)(time->tv_sec * 1000 + (time->tv_usec + 999) / 1000));
        // A device that is gone gives back all that it was asked for.
        while (device->gone && device->pending != NULL)
            end(device, device->pending, LIBUSB_TRANSFER_NO_DEVICE, 0);
    }
    return 0;
}
