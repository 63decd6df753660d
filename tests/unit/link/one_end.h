// SPDX-License-Identifier: Apache-2.0
// One end of frames over bytes, and the test in the other one's place, frame by frame.
#ifndef FERRY_TESTS_ONE_END_H
#define FERRY_TESTS_ONE_END_H

#include "two_ends.h"

enum { LEAST = 100 }; // Ticks until something is sent again.

#define HELLO_WORDS (FERRY_TUNNEL_HELLO_SIZE / 4)

static inline void feed(struct ferry_frames *end, uint32_t head, const uint32_t *words, uint32_t count)
{
    uint8_t bytes[FERRY_FRAME_BYTES];
    head |= FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_WORDS, count);
    ferry_frames_feed(end, bytes, ferry_frame_encode(head, words, count, bytes));
}

static inline void feed_hello(struct ferry_frames *end, const struct ferry_tunnel_hello *hello)
{
    uint32_t words[HELLO_WORDS];
    memcpy(words, hello, sizeof words);
    feed(end, FERRY_TUNNEL_FRAME_HEAD_CONTROL_MASK | FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_CREDIT, FERRY_FRAMES_ROOM),
         words, HELLO_WORDS);
}

/// A frame that carries nothing: what the other end has, and whether it wants the rest again.
static inline void feed_news(struct ferry_frames *end, uint32_t acknowledged, bool again)
{
    feed(end,
         FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_ACK, acknowledged) |
             FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_AGAIN, again ? 1u : 0u) |
             FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_CREDIT, FERRY_FRAMES_ROOM),
         NULL, 0);
}

static inline void feed_packet(struct ferry_frames *end, uint32_t number)
{
    feed(end,
         FERRY_TUNNEL_FRAME_HEAD_COUNTED_MASK | FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_SEQUENCE, number) |
             FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_CREDIT, FERRY_FRAMES_ROOM),
         &number, 1);
}

/// The header of the next frame that it sends; 0 = none, as no header is that of an end with room.
static inline uint32_t next(struct ferry_frames *end)
{
    struct ferry_frame_decoder decoder = {0};
    uint32_t head = 0, lost, words[FERRY_FRAME_MAX_WORDS];
    uint8_t byte;
    while (ferry_frames_take(end, &byte, 1) == 1)
        if (ferry_frame_decode(&decoder, byte, &head, words, &lost) == FERRY_FRAME_GOOD)
            return head;
    return 0;
}

static inline void take_all(struct ferry_frames *end)
{
    while (next(end) != 0) {
    }
}

static inline bool is_hello(uint32_t head)
{
    return (head & (FERRY_TUNNEL_FRAME_HEAD_CONTROL_MASK | FERRY_TUNNEL_FRAME_HEAD_COUNTED_MASK)) ==
           FERRY_TUNNEL_FRAME_HEAD_CONTROL_MASK;
}

static inline bool asks_again(uint32_t head)
{
    return (head & FERRY_TUNNEL_FRAME_HEAD_AGAIN_MASK) != 0;
}

static inline bool send_one(struct ferry_frames *end)
{
    const uint32_t word = 7;
    return ferry_frames_send(end, false, &word, 1);
}

static inline void open_host_again(struct ferry_frames *host, uint32_t session)
{
    const struct ferry_tunnel_hello hello = question(session);
    const struct ferry_tunnel_hello answer = answer_to(&hello, FERRY_TUNNEL_VERDICT_ACCEPTED);
    struct ferry_tunnel_hello came;
    ferry_frames_ask(host, &hello);
    take_all(host);
    feed_hello(host, &answer);
    assert_true(ferry_frames_hello(host, &came) && ferry_frames_open(host));
}

static inline struct ferry_frames *open_host(void)
{
    struct ferry_frames *host = calloc(1, sizeof *host);
    ferry_frames_start(host, LEAST);
    open_host_again(host, 1);
    return host;
}

static inline void answer_question(struct ferry_frames *device, uint32_t session, uint32_t verdict)
{
    const struct ferry_tunnel_hello hello = question(session), answer = answer_to(&hello, verdict);
    struct ferry_tunnel_hello came;
    feed_hello(device, &hello);
    assert_true(ferry_frames_hello(device, &came));
    ferry_frames_answer(device, &answer);
    assert_true(is_hello(next(device)));
}

static inline struct ferry_frames *open_device(void)
{
    struct ferry_frames *device = calloc(1, sizeof *device);
    ferry_frames_start(device, LEAST);
    answer_question(device, 1, FERRY_TUNNEL_VERDICT_ACCEPTED);
    assert_true(ferry_frames_open(device));
    return device;
}

#endif
