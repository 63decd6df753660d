// SPDX-License-Identifier: Apache-2.0
// What a bench draws: stalls, places, content.
#ifndef FERRY_TESTS_RTL_RANDOM_H
#define FERRY_TESTS_RTL_RANDOM_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "../seed.h"

struct Random {
    uint64_t state;
    explicit Random(uint64_t seed) : state(draw_state(seed)) {}
    /// xorshift64*: all 64 bits are chance.
    uint64_t next() { return draw_bits(&state) * 0x2545f4914f6cdd1dull; }
    uint64_t below(uint64_t n) { return (next() >> 11) % n; }
    bool chance(unsigned percent) { return below(100) < percent; }
    /// Eight bytes a number: a test makes hundreds of machines with megabytes of them.
    template <typename Bytes> void fill(Bytes &bytes)
    {
        for (size_t i = 0; i < std::size(bytes); i += 8) {
            const uint64_t eight = next();
            std::memcpy(&bytes[i], &eight, std::min<size_t>(8, std::size(bytes) - i));
        }
    }
};

#endif
