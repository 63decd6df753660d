// SPDX-License-Identifier: Apache-2.0
// A device on a USB port, as the host sees one, and fast: the simulated device, its end of the frames the C one, and
// endpoints that are nothing but bytes, instead of Verilog at two pins. For what is the host's: hosts that come and go,
// ports that are pulled. usage: usb_end SOCKET [SEED [MAKER [STALLS]]]     prints a line once guests may come. With
// STALLS each endpoint stalls every so many packets.
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "c_end.h"
#include "link/socket_address.h"
#include "server/redir.h"

struct end {
    struct c_end device;
    bool owes_end; // The last packet was full.
    unsigned stalls, packets[2];
    bool stalled[2]; // What goes to the device, and what comes.
    uint8_t bytes[4096];
    size_t count, taken;
};

static const uint8_t device_descriptor[] = {18,   1,    0,    2,    0xff, 0, 0, 64, 0x09,
                                            0x12, 0x01, 0x00, 0x00, 0x01, 1, 2, 3,  1};
static const uint8_t configuration[] = {9, 2, 32, 0, 1,    1, 0,  0x80, 250, 9, 4, 0,    0, 2,  0xff, 0,
                                        0, 0, 7,  5, 0x01, 2, 64, 0,    0,   7, 5, 0x81, 2, 64, 0,    0};
static const char *texts[] = {"Pageferry", "copy engine", "C end"};

static enum redir_result reset(void *context)
{
    struct end *end = context;
    end->count = end->taken = 0;
    end->owes_end = false;
    return REDIR_DONE;
}

static size_t text(unsigned n, uint8_t *bytes)
{
    const size_t length = strlen(texts[n]);
    bytes[0] = (uint8_t)(2 + 2 * length);
    bytes[1] = 3;
    for (size_t at = 0; at < length; at++) {
        bytes[2 + 2 * at] = (uint8_t)texts[n][at];
        bytes[3 + 2 * at] = 0;
    }
    return bytes[0];
}

static enum redir_result control(void *context, const uint8_t setup[8], uint8_t *data, size_t *moved)
{
    uint8_t answer[64];
    size_t bytes = 0;
    const size_t room = setup[6] | (size_t)setup[7] << 8;
    if (setup[0] == 0 && setup[1] == 9)
        return REDIR_DONE;
    if (setup[0] == 2 && setup[1] == 1 && setup[2] == 0) {
        ((struct end *)context)->stalled[setup[4] >> 7] = false;
        return REDIR_DONE;
    }
    if (setup[0] != 0x80 || setup[1] != 6)
        return REDIR_STALL;
    if (setup[3] == 1)
        memcpy(answer, device_descriptor, bytes = sizeof device_descriptor);
    else if (setup[3] == 2)
        memcpy(answer, configuration, bytes = sizeof configuration);
    else if (setup[3] == 3 && setup[2] >= 1 && setup[2] <= 3)
        bytes = text(setup[2] - 1u, answer);
    else
        return REDIR_STALL;
    *moved = bytes < room ? bytes : room;
    memcpy(data, answer, *moved);
    return REDIR_DONE;
}

static bool stalls(struct end *end, unsigned way)
{
    end->stalled[way] = end->stalled[way] || (end->stalls != 0 && ++end->packets[way] % end->stalls == 0);
    return end->stalled[way];
}

static enum redir_result out(void *context, unsigned endpoint, const uint8_t *data, size_t bytes)
{
    struct end *end = context;
    (void)endpoint;
    if (stalls(end, 0))
        return REDIR_STALL;
    c_end_feed(&end->device, data, bytes);
    return REDIR_DONE;
}

static enum redir_result in(void *context, unsigned endpoint, uint8_t *data, size_t *bytes)
{
    struct end *end = context;
    (void)endpoint;
    if (end->taken == end->count) {
        c_end_run(&end->device);
        end->taken = 0;
        end->count = c_end_take(&end->device, end->bytes, sizeof end->bytes);
    }
    if (end->taken == end->count && !end->owes_end)
        return REDIR_NAK;
    if (stalls(end, 1))
        return REDIR_STALL;
    *bytes = end->count - end->taken < REDIR_PACKET ? end->count - end->taken : REDIR_PACKET;
    memcpy(data, end->bytes + end->taken, *bytes);
    end->taken += *bytes;
    end->owes_end = *bytes == REDIR_PACKET;
    return REDIR_DONE;
}

static void idle(void *context)
{
    c_end_run(&((struct end *)context)->device);
}

static bool busy(void *context)
{
    const struct end *end = context;
    return c_end_busy(&end->device) || ferry_frames_queued(&end->device.frames) != 0 || end->taken != end->count ||
           end->owes_end;
}

static const char *broken(void *context)
{
    return ((struct end *)context)->device.device.stopped ? "the simulation broke off" : NULL;
}

int main(int count, char **arguments)
{
    static struct end ours;
    static volatile sig_atomic_t stop;
    const struct redir_host host = {.context = &ours,
                                    .reset = reset,
                                    .control = control,
                                    .out = out,
                                    .in = in,
                                    .idle = idle,
                                    .busy = busy,
                                    .broken = broken};
    texts[0] = count > 3 ? arguments[3] : texts[0];
    ours.stalls = count > 4 ? (unsigned)strtoul(arguments[4], NULL, 10) : 0;
    const int listener = count > 1 ? ferry_socket_listen(arguments[1]) : -1;
    if (listener < 0 || !c_end_open(&ours.device, count > 2 ? strtoull(arguments[2], NULL, 10) : 1))
        return 4;
    printf("ready\n");
    fflush(stdout);
    return redir_run(listener, &host, &stop) == 0 ? 0 : 4;
}
