// SPDX-License-Identifier: Apache-2.0
// What a hostile host sends: random packets and mutated ones, of every type, length and place, poisoned, with and
// without digest, cut short and drawn out. Which of them are legal is not known here.
#ifndef FERRY_TEST_HOSTILE_PACKETS_H
#define FERRY_TEST_HOSTILE_PACKETS_H

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

class HostilePackets
{
  public:
    using Packet = std::vector<uint32_t>;

    explicit HostilePackets(std::function<uint64_t()> word) : word_(std::move(word)) {}

    // Where the host last put the device, and the bytes of a packet that it may send.
    uint32_t bar0 = 0, payload = 128;
    uint64_t bar2 = 0, local_bytes = 1ull << 26;

    Packet next()
    {
        Packet p = friendly();
        if (chance(15)) {
            // All of it at random, but often a type that exists.
            p = words(1 + below(chance(90) ? 12 : 300));
            static const uint32_t types[] = {0x00, 0x20, 0x40, 0x60, 0x01, 0x21, 0x02, 0x42, 0x04, 0x44, 0x05,
                                             0x45, 0x0a, 0x4a, 0x0b, 0x4b, 0x4c, 0x6d, 0x4e, 0x30, 0x74, 0x33};
            if (chance(80))
                p[0] = (p[0] & 0x00ffc000) | types[below(sizeof types / sizeof types[0])] << 24 |
                       (chance(80) ? below(20) : below(1024));
        }
        for (unsigned n = below(4); n--;)
            mutate(p);
        // The device takes its own name from configuration writes: only one is used here.
        if (p.size() > 2 && (p[0] >> 24 & 31) == 4)
            p[2] = (p[2] & 0x0007ffff) | 0x03000000;
        return p;
    }

  private:
    unsigned below(unsigned limit) { return limit ? unsigned(word_() % limit) : 0; }
    bool chance(unsigned percent) { return below(100) < percent; }
    Packet words(unsigned count)
    {
        Packet out(count);
        for (uint32_t &word : out)
            word = uint32_t(word_());
        return out;
    }
    Packet memory(bool write, uint64_t address, unsigned count, unsigned enables, uint8_t tag)
    {
        const bool four = address >> 32;
        Packet p = {(write ? 0x40000000u : 0u) | (four ? 0x20000000u : 0u) | count, 0x00080000u | tag << 8 | enables};
        if (four)
            p.push_back(uint32_t(address >> 32));
        p.push_back(uint32_t(address));
        for (unsigned i = 0; write && i < count; i++)
            p.push_back(uint32_t(word_()));
        return p;
    }
    // Something that a well-meaning host would send.
    Packet friendly()
    {
        const unsigned count = 1 + (chance(70) ? below(8) : below(payload / 4));
        const uint64_t place = uint64_t(below(3)) << 12 | below(1025 - count) << 2;
        const uint64_t half = chance(15) ? local_bytes : 0; // Of BAR2.
        const unsigned first = count == 1 ? below(16) : 15u << below(4) & 15;
        const unsigned enables = (count == 1 ? 0 : 15u >> below(4)) << 4 | first;
        const uint8_t tag = uint8_t(below(256));
        switch (below(9)) {
        case 0:
        case 1: return memory(true, bar0 + place, count, enables, tag);
        case 2:
        case 3: return memory(true, bar2 + half + place, count, enables, tag);
        case 4: return memory(false, bar0 + place, count, enables, tag);
        case 5: return memory(false, bar2 + half + place, count, enables, tag);
        case 6: return {0x04000001, 0x00080000u | uint32_t(tag) << 8 | 15, 0x03000000u | below(64) * 4};
        case 7:
            return {0x4a000000u | 2, 0x01000008, 0x03000000u | below(40) << 8, uint32_t(word_()), uint32_t(word_())};
        default: return {0x34000000, 0x00080000u | below(256), 0, 0};
        }
    }
    void mutate(Packet &p)
    {
        switch (below(8)) {
        case 0: p[below(unsigned(std::min<size_t>(p.size(), 4)))] ^= 1u << below(32); break; // A bit of the header.
        case 1: p[0] = (p[0] & ~1023u) | below(70); break;                                   // Length.
        case 2: p[0] ^= 0x4000; break;                                                       // Poison.
        case 3: p[0] ^= 0x8000; break;                                                       // Digest.
        case 4: p.resize(1 + below(unsigned(p.size()) + 4), 0x5a5a5a5a); break;
        case 5: p[0] = (p[0] & 0x00ffffff) | below(256) << 24; break; // Format and type.
        case 6:
            if (p.size() > 1)
                p[1] = (p[1] & ~255u) | below(256); // Byte enables.
            break;
        default:
            if (p.size() > 2)
                p[2] = uint32_t(word_()); // Address or more.
            break;
        }
    }

    std::function<uint64_t()> word_;
};

#endif
