// SPDX-License-Identifier: Apache-2.0
// A device at a serial port, as the host sees one, and fast: the simulated device behind a pseudo terminal, its end of
// the frames the C one instead of Verilog at two pins. For what is the host's: time without a clock, noise, errors.
// usage: serial_end [NOISE [SEED]]     NOISE in bytes of a million, a quarter lost, changed, doubled, swapped. Prints
// the port's path.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../unit/link/noisy_channel.h"
#include "server/device.h"
#include "server/pty.h"

#define SLICE        500u
#define BUSY_CYCLES  100000u // Behind the last packet; more than any answer takes.
#define BYTE_CYCLES  40u
#define RESEND_TICKS 300u // Milliseconds.

struct end {
    struct server_pty pty;
    struct server_device device;
    struct ferry_frames frames;
    struct noisy_channel in, out;
    uint64_t last; // Cycle of the last packet.
    uint8_t bytes[4096];
    size_t byte_count, byte_taken;
    double ticked;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

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

static void take_hello(struct end *end)
{
    struct ferry_tunnel_hello hello;
    if (!ferry_frames_hello(&end->frames, &hello)) {
        return;
    }
    server_device_settle(&end->device);
    hello.what = FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_ANSWER, 1u) |
                 FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_BYTE_CYCLES, BYTE_CYCLES) |
                 FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_VERDICT, hello.contract_version >> 16 == FERRY_CONTRACT_VERSION >> 16
                                                                ? (uint32_t)FERRY_TUNNEL_VERDICT_ACCEPTED
                                                                : (uint32_t)FERRY_TUNNEL_VERDICT_CONTRACT);
    hello.contract_version = FERRY_CONTRACT_VERSION;
    memcpy(hello.name, "C end, full", 12);
    ferry_frames_answer(&end->frames, &hello);
}

static void read_host(struct end *end)
{
    uint8_t bytes[1024];
    bool control;
    size_t count = server_pty_read(&end->pty, bytes, sizeof bytes / 2);
    ferry_frames_feed(&end->frames, bytes, disturb(&end->in, bytes, count));
    take_hello(end);
    const uint32_t *words;
    while ((words = ferry_frames_receive(&end->frames, &control, &count)) != NULL) {
        if (!control)
            server_device_take(&end->device, words, count);
        end->last = ferry_sim_cycles(end->device.sim);
    }
}

static void run(struct end *end)
{
    const struct ferry_tunnel_message message = {.code = FERRY_TUNNEL_CODE_RUN, .value = SLICE};
    uint32_t words[sizeof message / 4];
    memcpy(words, &message, sizeof words);
    server_device_message(&end->device, words, sizeof words / 4);
}

static void write_host(struct end *end)
{
    bool control;
    size_t count;
    const uint32_t *words;
    while ((words = ferry_packet_queue_first(&end->device.back, &control, &count)) != NULL &&
           (control || ferry_frames_send(&end->frames, control, words, count))) {
        ferry_packet_queue_drop(&end->device.back);
        end->last = control ? end->last : ferry_sim_cycles(end->device.sim);
    }
    if (end->byte_taken == end->byte_count) {
        end->byte_taken = 0;
        end->byte_count = ferry_frames_take(&end->frames, end->bytes, sizeof end->bytes / 2);
        end->byte_count = disturb(&end->out, end->bytes, end->byte_count);
    }
    if (end->byte_taken != end->byte_count)
        end->byte_taken += server_pty_write(&end->pty, end->bytes + end->byte_taken, end->byte_count - end->byte_taken);
}

static void serve(struct end *end)
{
    const bool busy = ferry_sim_cycles(end->device.sim) - end->last < BUSY_CYCLES;
    const bool waits = ferry_frames_queued(&end->frames) != 0;
    server_pty_wait(&end->pty, end->byte_taken != end->byte_count, busy ? 0 : waits ? 10 : -1, NULL);
    read_host(end);
    if (busy)
        run(end);
    write_host(end);
    const double time = now();
    const uint32_t ticks = (uint32_t)((time - end->ticked) * 1000);
    ferry_frames_tick(&end->frames, ticks);
    end->ticked += ticks / 1000.0;
}

int main(int count, char **arguments)
{
    static struct end ours;
    struct ferry_sim_config config;
    const uint32_t noise = count > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 0;
    const uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    ferry_sim_default_config(&config);
    config.seed = seed;
    ours.device.sim = ferry_sim_open(&config);
    ours.in = (struct noisy_channel){.random = seed * 8 + 1, .noise = (uint32_t)(noise * 1.048576 / 4)};
    ours.out = (struct noisy_channel){.random = seed * 8 + 3, .noise = ours.in.noise};
    ferry_frames_start(&ours.frames, RESEND_TICKS);
    ours.ticked = now();
    if (ours.device.sim == NULL || !server_pty_open(&ours.pty))
        return 4;
    printf("%s\n", ours.pty.path);
    fflush(stdout);
    for (;;)
        serve(&ours);
}
