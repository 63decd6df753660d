// SPDX-License-Identifier: Apache-2.0
// The seed of a random program, and what is drawn from it; for C and C++. There are two generators, as what a seed has
// found once it is to find again: most programs have draw_below alone.
#ifndef FERRY_TESTS_SEED_H
#define FERRY_TESTS_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/// FERRY_SEED, or without it this number.
static inline uint64_t seed_or(uint64_t otherwise)
{
    const char *given = getenv("FERRY_SEED");
    return given ? strtoull(given, NULL, 0) : otherwise;
}

/// The line by which scripts/run_tests.py knows that a program is random. It is out before anything can crash.
static inline void seed_print(uint64_t seed)
{
    printf("FERRY_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
}

/// FERRY_SEED, or without it this number; printed.
static inline uint64_t seed_given(uint64_t otherwise)
{
    uint64_t seed = seed_or(otherwise);
    seed_print(seed);
    return seed;
}

/// The next number below this one, of 31 bits. Any state will do to begin with, also the seed itself.
static inline uint64_t draw_below(uint64_t *state, uint64_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % limit;
}

/// A state for the two below, which stay at 0 for ever; seeds beside each other have states that are far apart.
static inline uint64_t draw_state(uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    return state ? state : 1;
}

/// The next state, which is 64 bits of chance.
static inline uint64_t draw_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/// The next number below this one, of 53 bits.
static inline uint64_t draw_wide(uint64_t *state, uint64_t limit)
{
    return (draw_bits(state) >> 11) % limit;
}

#endif
