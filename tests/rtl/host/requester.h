// SPDX-License-Identifier: Apache-2.0
// What the cases of the device's own requests ask for.
#ifndef FERRY_TEST_HOST_REQUESTER_H
#define FERRY_TEST_HOST_REQUESTER_H

#include "cases.h"

// Requests live as long as the case.
struct Work {
    std::deque<AxiRead> reads;
    std::deque<AxiWrite> writes;

    AxiRead &read(Bench &b, uint64_t address, unsigned beats, bool no_snoop = false)
    {
        reads.push_back({address, beats, b.random(4), no_snoop, {}, {}, false});
        b.read_queue.push_back(&reads.back());
        return reads.back();
    }
    // Writes bytes [address, address + bytes) in one burst, with empty beats before and behind it.
    AxiWrite &write(Bench &b, Memory &model, uint64_t address, unsigned bytes, unsigned before = 0, unsigned behind = 0,
                    bool no_snoop = false)
    {
        uint64_t begin = (address & ~7ull) - 8 * before;
        uint64_t end = ((address + bytes + 7) & ~7ull) + 8 * behind;
        writes.push_back({begin, b.random(4), uint8_t(b.random(256)), no_snoop, {}, {}, false, 0});
        AxiWrite &w = writes.back();
        for (uint64_t at = begin; at < end; at += 8) {
            uint64_t value = b.generator();
            unsigned strobe = 0;
            for (int i = 0; i < 8; i++)
                if (at + i >= address && at + i < address + bytes) {
                    strobe |= 1u << i;
                    model.put(at + i, uint8_t(value >> 8 * i));
                }
            w.data.push_back(value);
            w.strobe.push_back(uint8_t(strobe));
        }
        b.write_queue.push_back(&w);
        return w;
    }
};

inline uint64_t random_page(Bench &b)
{
    return (b.chance(50) ? b.random(1 << 20) : b.generator() >> 12) << 12;
}

#endif
