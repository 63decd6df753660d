// SPDX-License-Identifier: Apache-2.0
// The device's end of the frames in C, before the simulated device: what stands in for Verilog where the host's side is
// looked at, since it is fast. Bytes go in and out; whoever carries them is of no concern here.
#ifndef FERRY_TESTS_LINKS_C_END_H
#define FERRY_TESTS_LINKS_C_END_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "server/device.h"

#define C_END_SLICE       500u
#define C_END_BUSY_CYCLES 100000u // Behind the last packet and the last work: the firmware that starts, or waits.
// What the host is told, for its part of the device's time-outs: a slow simulation is to be through with them before
// the host, which counts silence, gives it up. It is twice what bytes take here, and all that is ahead of the host.
#define C_END_BYTE_CYCLES  4u
#define C_END_AHEAD_CYCLES 50000u
#define C_END_RESEND_TICKS 300u // Milliseconds.

struct c_end {
    struct server_device device;
    struct ferry_frames frames;
    uint64_t last;               // Cycle of the last packet, or of work that needs none.
    uint32_t fed;                // Bytes that came since the device ran.
    bool ahead;                  // Of the host, and so it stands.
    uint64_t heard_cycle, heard; // When frames were last acknowledged, or none waited for that, and how many had been.
    double ticked;
};

static double c_end_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool c_end_open(struct c_end *end, uint64_t seed)
{
    struct ferry_sim_config config;
    ferry_sim_default_config(&config);
    config.seed = seed;
    end->device.sim = ferry_sim_open(&config);
    ferry_frames_start(&end->frames, C_END_RESEND_TICKS);
    end->ticked = c_end_now();
    return end->device.sim != NULL;
}

static void c_end_take_hello(struct c_end *end)
{
    struct ferry_tunnel_hello hello;
    if (!ferry_frames_hello(&end->frames, &hello)) {
        return;
    }
    server_device_settle(&end->device);
    hello.what = FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_ANSWER, 1u) |
                 FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_BYTE_CYCLES, C_END_BYTE_CYCLES) |
                 FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_VERDICT, hello.contract_version >> 16 == FERRY_CONTRACT_VERSION >> 16
                                                                ? (uint32_t)FERRY_TUNNEL_VERDICT_ACCEPTED
                                                                : (uint32_t)FERRY_TUNNEL_VERDICT_CONTRACT);
    hello.contract_version = FERRY_CONTRACT_VERSION;
    memcpy(hello.name, "C end, full", 12);
    ferry_frames_answer(&end->frames, &hello);
}

/// Bytes that came.
static void c_end_feed(struct c_end *end, const uint8_t *bytes, size_t count)
{
    bool control;
    const uint32_t *words;
    ferry_frames_feed(&end->frames, bytes, count);
    end->fed += (uint32_t)count;
    c_end_take_hello(end);
    while ((words = ferry_frames_receive(&end->frames, &control, &count)) != NULL) {
        if (!control)
            server_device_take(&end->device, words, count);
        end->last = ferry_sim_cycles(end->device.sim);
    }
}

/// Bytes that are to go; how many.
static size_t c_end_take(struct c_end *end, uint8_t *bytes, size_t room)
{
    bool control;
    size_t count;
    const uint32_t *words;
    while ((words = ferry_packet_queue_first(&end->device.back, &control, &count)) != NULL &&
           (control || ferry_frames_send(&end->frames, control, words, count))) {
        ferry_packet_queue_drop(&end->device.back);
        end->last = control ? end->last : ferry_sim_cycles(end->device.sim);
    }
    return ferry_frames_take(&end->frames, bytes, room);
}

/// The device may have more to say by itself.
static bool c_end_busy(const struct c_end *end)
{
    return !end->ahead && ferry_sim_cycles(end->device.sim) - end->last < C_END_BUSY_CYCLES;
}

/// The host has not taken what was sent: it does other things, or waits for a processor. The device's time stands then,
/// as the host's does, or it would give up what the host had no time for.
static bool c_end_ahead(struct c_end *end)
{
    const uint64_t now = ferry_sim_cycles(end->device.sim);
    if (ferry_frames_queued(&end->frames) == 0 || end->frames.counts.acknowledged != end->heard) {
        end->heard = end->frames.counts.acknowledged;
        end->heard_cycle = now;
    }
    return now - end->heard_cycle > C_END_AHEAD_CYCLES;
}

/// Let the device run a little, if it is busy, and the frames know what time it is. Its cycles are what all this takes:
/// while bytes come it runs one for four of them, half as fast as its ports are; when none come it has something to do.
static void c_end_run(struct c_end *end)
{
    const uint32_t cycles = end->fed == 0 ? C_END_SLICE : end->fed / 4 < C_END_SLICE ? end->fed / 4 + 1 : C_END_SLICE;
    const struct ferry_tunnel_message message = {.code = FERRY_TUNNEL_CODE_RUN, .value = cycles};
    uint32_t words[sizeof message / 4];
    memcpy(words, &message, sizeof words);
    end->fed = 0;
    end->ahead = c_end_ahead(end);
    if (end->ahead) {
        const struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    } else if (c_end_busy(end)) {
        server_device_message(&end->device, words, sizeof words / 4);
        end->last = ferry_sim_busy(end->device.sim) ? ferry_sim_cycles(end->device.sim) : end->last;
    }
    const uint32_t ticks = (uint32_t)((c_end_now() - end->ticked) * 1000);
    ferry_frames_tick(&end->frames, ticks);
    end->ticked += ticks / 1000.0;
}

#endif
