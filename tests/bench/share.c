// SPDX-License-Identifier: Apache-2.0
// Measures how many of the bytes that a serial port and a USB port carry are payload: pages go to video memory and
// back, in packets of 256 bytes, through the device's own Verilog at its pins and the host's frames. Counted are all
// bytes of the direction that the pages take, between the doorbell and the last fence: headers of packets, frames,
// stuffing, acknowledgements, what the device is told to do. A row is the worse one of the two directions. The argument
// is the file to write.
//
// Best possible: a packet of 256 bytes has a header of three words, and a frame needs a word of header, one of CRC, two
// bytes of stuffing and its end: 256 of 279 bytes.
#include <errno.h>

#include "ferry_serial_sim.h"
#include "ferry_usb_sim.h"
#include "link/framed.h"
#include "machine.h"

#define MOVED_PAGES  16u
#define PAGES_A_COPY 4u
#define SLICE        500u  // Cycles.
#define IDLE         100u  // Microseconds.
#define QUEUED       512u  // Bytes on their way to an endpoint, as libusb has them.
#define RATE         2000u // Bytes a second of this machine's time: nothing is sent again because simulation is slow.

/// Either device, and what the channel has carried.
struct port {
    struct ferry_serial_sim *serial;
    struct ferry_usb_sim *usb;
    uint8_t down[QUEUED], up[4096];
    size_t down_count, up_count;
    uint64_t to_device, to_host;
};

static ssize_t port_write(void *context, const uint8_t *bytes, size_t count)
{
    struct port *port = context;
    size_t taken = 0;
    if (port->serial != NULL) {
        taken = ferry_serial_sim_feed(port->serial, bytes, count);
    } else {
        taken = count < QUEUED - port->down_count ? count : QUEUED - port->down_count;
        memcpy(port->down + port->down_count, bytes, taken);
        port->down_count += taken;
    }
    port->to_device += taken;
    return (ssize_t)taken;
}

static ssize_t port_read(void *context, uint8_t *bytes, size_t room)
{
    struct port *port = context;
    const size_t count = port->up_count < room ? port->up_count : room;
    memcpy(bytes, port->up, count);
    memmove(port->up, port->up + count, port->up_count - count);
    port->up_count -= count;
    port->to_host += count;
    return (ssize_t)count;
}

/// A transaction each way, if there is something for it.
static void run_usb(struct port *port)
{
    const size_t part = port->down_count < FERRY_USB_PACKET ? port->down_count : FERRY_USB_PACKET;
    size_t came = 0;
    const bool went = part != 0 && ferry_usb_sim_out(port->usb, 1, port->down, part) == FERRY_USB_DONE;
    if (went) {
        memmove(port->down, port->down + part, port->down_count - part);
        port->down_count -= part;
    }
    const bool room = port->up_count + FERRY_USB_PACKET <= sizeof(port->up);
    if (room && ferry_usb_sim_in(port->usb, 1, port->up + port->up_count, &came) == FERRY_USB_DONE) {
        port->up_count += came;
    } else if (!went) {
        ferry_usb_sim_idle(port->usb, IDLE);
    }
}

static unsigned port_wait(void *context, bool writes, int milliseconds)
{
    struct port *port = context;
    (void)milliseconds;
    if (port->serial != NULL) {
        ferry_serial_sim_run(port->serial, SLICE);
        port->up_count +=
            ferry_serial_sim_take(port->serial, port->up + port->up_count, sizeof(port->up) - port->up_count);
    } else {
        run_usb(port);
    }
    const char *broken =
        port->serial != NULL ? ferry_serial_sim_violation(port->serial) : ferry_usb_sim_violation(port->usb);
    if (broken != NULL) {
        fprintf(stderr, "bench: %s\n", broken);
        errno = EIO;
        return FERRY_CHANNEL_GONE;
    }
    return (writes ? FERRY_CHANNEL_WRITES : 0) | (port->up_count != 0 ? FERRY_CHANNEL_READS : 0);
}

static void port_close(void *context)
{
    struct port *port = context;
    if (port->serial != NULL) {
        ferry_serial_sim_close(port->serial);
    } else {
        ferry_usb_sim_close(port->usb);
    }
}

static void plug(struct port *port, bool usb)
{
    static const uint8_t configure[8] = {0x00, 9, 1};
    struct ferry_sim_config config;
    size_t moved = 0;
    ferry_sim_default_config(&config);
    *port = (struct port){0};
    if (!usb) {
        port->serial = ferry_serial_sim_open(&config);
    } else {
        port->usb = ferry_usb_sim_open(&config);
        if (port->usb != NULL && (ferry_usb_sim_reset(port->usb) != FERRY_USB_DONE ||
                                  ferry_usb_sim_control(port->usb, configure, NULL, &moved) != FERRY_USB_DONE)) {
            fprintf(stderr, "bench: nobody is on the bus\n");
            exit(1);
        }
    }
    if (port->serial == NULL && port->usb == NULL) {
        exit(1);
    }
}

/// Pages to video memory, or from it; all are done behind this.
static void move(struct machine *machine, bool in)
{
    uint32_t number = 0, buffer = 0;
    for (uint32_t first = 0; first < MOVED_PAGES; first += PAGES_A_COPY) {
        machine->words[buffer] = 0;
        copy_pages(machine, buffer, in, first, PAGES_A_COPY);
        number = submit(machine, RING_PAGING, buffer++);
    }
    retired_at(machine, RING_PAGING, number);
}

/// Per cent of the bytes, the worse one of both ways.
static double share(bool usb)
{
    static const struct ferry_channel_operations operations = {port_write, port_read, port_wait, port_close};
    const struct ferry_link_config config = {.size = sizeof(config), .seed = 1};
    const double bytes = 100.0 * MOVED_PAGES * 4096;
    static struct port port;
    struct machine machine;
    struct ferry_link *link;
    plug(&port, usb);
    const struct ferry_channel channel = {.operations = &operations,
                                          .context = &port,
                                          .bytes_per_second = RATE,
                                          .where = "bench",
                                          .medium = "bench",
                                          .closed = "it broke off",
                                          .silent = "is it on?"};
    CHECK(ferry_framed_open(&channel, &config, &link));
    start_machine(&machine, link);
    const uint64_t down = port.to_device;
    move(&machine, true);
    const double in = bytes / (double)(port.to_device - down);
    for (uint32_t n = 0; n < MOVED_PAGES; n++) {
        memset((unsigned char *)machine.page_of[n], 0, 4096);
    }
    const uint64_t up = port.to_host;
    move(&machine, false);
    const double out = bytes / (double)(port.to_host - up);
    for (size_t n = 0; n < MOVED_PAGES; n++) {
        for (size_t at = machine.page_of[n] - machine.host, end = at + 4096; at < end; at++) {
            if (machine.host[at] != (unsigned char)(at * 31 + at / 4099)) {
                fprintf(stderr, "bench: a page is not what it was\n");
                exit(1);
            }
        }
    }
    close_machine(&machine);
    printf("%-28s %10.2f %% in, %.2f %% out\n", usb ? "link/usb-share" : "link/uart-share", in, out);
    return in < out ? in : out;
}

int main(int count, char **arguments)
{
    FILE *out = count == 2 ? fopen(arguments[1], "w") : NULL;
    if (out == NULL) {
        fprintf(stderr, "usage: share FILE\n");
        return 2;
    }
    const double uart = share(false), usb = share(true);
    fprintf(out,
            "[\n  {\"name\": \"link/uart-share\", \"value\": %.1f, \"unit\": \"%% of bytes\"},\n"
            "  {\"name\": \"link/usb-share\", \"value\": %.1f, \"unit\": \"%% of bytes\"}\n]\n",
            uart, usb);
    return fclose(out) == 0 ? 0 : 1;
}
