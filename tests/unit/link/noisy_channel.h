// SPDX-License-Identifier: Apache-2.0
// One direction of a byte channel in memory: so many ticks a byte, so many to the other end, and noise, per byte: lost,
// changed, doubled, swapped with the next one.
#ifndef FERRY_TESTS_NOISY_CHANNEL_H
#define FERRY_TESTS_NOISY_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../seed.h"

#define CHANNEL_BYTES 8192u
#define CHANNEL_IDLE  256u

struct noisy_channel {
    uint64_t random;
    uint32_t noise;                // Of each kind, in bytes of 2^20; 1049 is 10^-3.
    uint32_t latency;              // In ticks.
    uint16_t bytes[CHANNEL_BYTES]; // Or CHANNEL_IDLE.
    uint32_t head, count;
    uint64_t carried, lost, changed, doubled, swapped;
};

static inline uint32_t channel_random(uint64_t *state)
{
    return (uint32_t)(draw_bits(state) >> 20);
}

static inline bool channel_chance(struct noisy_channel *channel)
{
    return channel_random(&channel->random) % (1u << 20) < channel->noise;
}

static inline void channel_push(struct noisy_channel *channel, uint16_t byte)
{
    channel->bytes[(channel->head + channel->count++) % CHANNEL_BYTES] = byte;
}

static inline void channel_put(struct noisy_channel *channel, uint8_t byte)
{
    channel->carried++;
    if (channel_chance(channel)) {
        channel->lost++;
        return;
    }
    if (channel_chance(channel)) {
        channel->changed++;
        byte ^= (uint8_t)(1 + channel_random(&channel->random) % 255);
    }
    channel_push(channel, byte);
    if (channel_chance(channel)) {
        channel->doubled++;
        channel_push(channel, byte);
    }
    if (channel->count >= 2 && channel_chance(channel)) {
        channel->swapped++;
        uint16_t *last = &channel->bytes[(channel->head + channel->count - 1) % CHANNEL_BYTES];
        uint16_t *before = &channel->bytes[(channel->head + channel->count - 2) % CHANNEL_BYTES];
        const uint16_t kept = *last;
        *last = *before;
        *before = kept;
    }
}

/// A tick without a byte.
static inline void channel_idle(struct noisy_channel *channel)
{
    channel_push(channel, CHANNEL_IDLE);
}

/// The next byte that has arrived; to be asked until there is none.
static inline bool channel_get(struct noisy_channel *channel, uint8_t *byte)
{
    while (channel->count > channel->latency) {
        const uint16_t got = channel->bytes[channel->head];
        channel->head = (channel->head + 1) % CHANNEL_BYTES;
        channel->count--;
        if (got != CHANNEL_IDLE) {
            *byte = (uint8_t)got;
            return true;
        }
    }
    return false;
}

#endif
