// SPDX-License-Identifier: Apache-2.0
// A device at a serial port, as the host sees one, and fast: the simulated device behind a pseudo terminal, its end of
// the frames the C one instead of Verilog at two pins. For what is the host's: time without a clock, noise, errors.
// usage: serial_end [NOISE [SEED]]     NOISE in bytes of a million, a quarter lost, changed, doubled, swapped. Prints
// the port's path.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "../unit/link/noisy_channel.h"
#include "c_end.h"
#include "server/pty.h"

struct end {
    struct server_pty pty;
    struct c_end device;
    struct noisy_channel in, out;
    uint8_t bytes[4096];
    size_t byte_count, byte_taken;
};

/// What is left of the bytes; room for twice as many.
static size_t disturb(struct noisy_channel *channel, uint8_t *bytes, size_t count)
{
    size_t left = 0;
    for (size_t n = 0; n < count; n++) {
        channel_put(channel, bytes[n]);
    }
    while (channel_get(channel, &bytes[left])) {
        left++;
    }
    return left;
}

static void read_host(struct end *end)
{
    uint8_t bytes[1024];
    const size_t count = server_pty_read(&end->pty, bytes, sizeof bytes / 2);
    c_end_feed(&end->device, bytes, disturb(&end->in, bytes, count));
}

static void write_host(struct end *end)
{
    if (end->byte_taken == end->byte_count) {
        end->byte_taken = 0;
        end->byte_count = c_end_take(&end->device, end->bytes, sizeof end->bytes / 2);
        end->byte_count = disturb(&end->out, end->bytes, end->byte_count);
    }
    if (end->byte_taken != end->byte_count)
        end->byte_taken += server_pty_write(&end->pty, end->bytes + end->byte_taken, end->byte_count - end->byte_taken);
}

static void serve(struct end *end)
{
    const bool waits = ferry_frames_queued(&end->device.frames) != 0;
    server_pty_wait(&end->pty, end->byte_taken != end->byte_count, c_end_busy(&end->device) ? 0 : waits ? 10 : -1);
    read_host(end);
    c_end_run(&end->device);
    write_host(end);
}

int main(int count, char **arguments)
{
    static struct end ours;
    const uint32_t noise = count > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 0;
    const uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    ours.in = (struct noisy_channel){.random = seed * 8 + 1, .noise = (uint32_t)(noise * 1.048576 / 4)};
    ours.out = (struct noisy_channel){.random = seed * 8 + 3, .noise = ours.in.noise};
    if (!c_end_open(&ours.device, seed) || !server_pty_open(&ours.pty))
        return 4;
    printf("%s\n", ours.pty.path);
    fflush(stdout);
    for (;;)
        serve(&ours);
}
