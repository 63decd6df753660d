// SPDX-License-Identifier: Apache-2.0
// Two ends of frames over bytes, and a noisy channel each way between them. Each checks that every packet comes once,
// whole and in order.
#ifndef FERRY_TESTS_TWO_ENDS_H
#define FERRY_TESTS_TWO_ENDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "link/frames.h"
#include "noisy_channel.h"

#define RESEND_TICKS 3000u // A tick is a byte; a window of full frames is 255 units of 16 bytes.

struct end {
    struct ferry_frames frames;
    struct noisy_channel out;
    uint64_t random, expected; // Of what it sends, and of what the other one sends.
    uint32_t to_send, to_come; // Packets.
    uint64_t payload;          // Bytes of TLP payload that came.
    uint32_t lazy;             // Takes a packet in one of so many ticks.
};

struct two {
    struct end host, device;
    uint64_t random, ticks;
};

static inline struct ferry_tunnel_hello question(uint32_t session)
{
    return (struct ferry_tunnel_hello){
        .magic = FERRY_TUNNEL_HELLO_MAGIC_RESET, .contract_version = FERRY_CONTRACT_VERSION, .session = session};
}

static inline struct ferry_tunnel_hello answer_to(const struct ferry_tunnel_hello *hello, uint32_t verdict)
{
    struct ferry_tunnel_hello answer = *hello;
    answer.what = FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_ANSWER, 1u) | FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_VERDICT, verdict);
    return answer;
}

/// Two ends that send what the seed says; the caller frees them.
static inline struct two *make_two(uint64_t seed, uint32_t noise, uint32_t latency)
{
    struct two *two = calloc(1, sizeof *two);
    struct end *const ends[] = {&two->host, &two->device};
    for (unsigned n = 0; n < 2; n++) {
        ferry_frames_start(&ends[n]->frames, RESEND_TICKS + 4 * latency);
        ends[n]->out = (struct noisy_channel){.random = seed * 8 + 1 + 2 * n, .noise = noise, .latency = latency};
        ends[n]->lazy = 1;
    }
    two->random = seed * 8 + 5;
    two->host.random = two->device.expected = seed * 8 + 7;
    two->device.random = two->host.expected = seed * 16 + 9;
    return two;
}

/// A packet that is known by its place in the stream. Word 0 of a full one is `full`; else any number of any words.
static inline size_t make_packet(uint64_t *random, uint32_t full, bool *control, uint32_t *words)
{
    const uint32_t choice = channel_random(random);
    const size_t count = full != 0 ? full : 1 + choice % FERRY_FRAME_MAX_WORDS;
    *control = full == 0 && choice >> 16 & 1;
    for (size_t n = 0; n < count; n++)
        words[n] = full != 0 ? channel_random(random) | 0x01010101u // No zero, which would save a byte.
                             : channel_random(random) & (choice >> 17 & 1 ? ~0u : 0x00010001u);
    return count;
}

/// One tick of a byte each way.
static inline void move_bytes(struct ferry_frames *frames, struct noisy_channel *out, struct noisy_channel *in)
{
    uint8_t byte;
    if (ferry_frames_take(frames, &byte, 1) == 1)
        channel_put(out, byte);
    else
        channel_idle(out);
    while (channel_get(in, &byte))
        ferry_frames_feed(frames, &byte, 1);
}

static inline void step_end(struct end *end, struct noisy_channel *in, uint32_t full, uint64_t *random)
{
    bool control, expected_control;
    uint32_t words[FERRY_FRAME_MAX_WORDS];
    size_t count;
    while (end->to_send != 0) {
        uint64_t next = end->random;
        count = make_packet(&next, full, &control, words);
        if (!ferry_frames_send(&end->frames, control, words, count))
            break;
        end->random = next;
        end->to_send--;
    }
    move_bytes(&end->frames, &end->out, in);
    const uint32_t *got =
        channel_random(random) % end->lazy == 0 ? ferry_frames_receive(&end->frames, &control, &count) : NULL;
    if (got != NULL) {
        assert_int_not_equal(end->to_come, 0);
        assert_int_equal(count, make_packet(&end->expected, full, &expected_control, words));
        assert_int_equal(control, expected_control);
        assert_memory_equal(got, words, 4 * count);
        end->to_come--;
        end->payload += 256;
    }
    ferry_frames_tick(&end->frames, 1);
}

static inline void step(struct two *two, uint32_t full)
{
    struct ferry_tunnel_hello hello;
    step_end(&two->host, &two->device.out, full, &two->random);
    step_end(&two->device, &two->host.out, full, &two->random);
    if (ferry_frames_hello(&two->device.frames, &hello)) {
        hello = answer_to(&hello, FERRY_TUNNEL_VERDICT_ACCEPTED);
        ferry_frames_answer(&two->device.frames, &hello);
    }
    two->ticks++;
}

static inline void open_session(struct two *two, uint32_t session)
{
    struct ferry_tunnel_hello hello = question(session), answer;
    ferry_frames_ask(&two->host.frames, &hello);
    for (uint32_t n = 0; !ferry_frames_hello(&two->host.frames, &answer); n++) {
        assert_in_range(n, 0, 400 * RESEND_TICKS);
        step(two, 0);
    }
    assert_int_equal(answer.session, session);
    assert_true(ferry_frames_open(&two->host.frames) && ferry_frames_open(&two->device.frames));
}

static inline void carry_on(struct two *two, uint32_t full)
{
    for (uint64_t n = 0; two->device.to_come + two->host.to_come + two->host.to_send + two->device.to_send != 0; n++) {
        assert_in_range(n, 0, 100000000);
        step(two, full);
    }
}

static inline void carry(struct two *two, uint32_t full, uint32_t down, uint32_t up)
{
    two->host.to_send = two->device.to_come = down;
    two->device.to_send = two->host.to_come = up;
    carry_on(two, full);
}

static inline void say(const char *name, const struct end *end)
{
    const struct ferry_frames_counts *counts = &end->frames.counts;
    printf("%s: %llu bytes came, %llu of noise in %llu pieces; %llu frames, %llu doubled, %llu early, %llu sent again, "
           "%llu silences\n",
           name, (unsigned long long)counts->bytes_in, (unsigned long long)counts->noise_bytes,
           (unsigned long long)counts->bad_frames, (unsigned long long)counts->frames_in,
           (unsigned long long)counts->doubled, (unsigned long long)counts->early, (unsigned long long)counts->resent,
           (unsigned long long)counts->silences);
}

#endif
