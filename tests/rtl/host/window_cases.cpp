// SPDX-License-Identifier: Apache-2.0
// The window, BAR2: every byte of it, what it refuses, and its order with the registers.
#include "cases.h"

// Random accesses through BAR2 against a byte map.
static void window_random(Bench &b)
{
    Memory local;
    b.digests = 20;
    for (int round = 0; round < 3000; round++) {
        if (round % 500 == 0) {
            b.settle();
            stalls(b, round % 1000 ? 30 : 0);
            b.configure(round % 1500 ? 256 : 128, 512, 64);
        }
        uint32_t page = b.chance(50) ? b.random(4) : (1u << 14) - 1;
        bool write = b.chance(50);
        unsigned most = write ? b.payload / 4 : 1024;
        unsigned words = 1 + (b.chance(80) ? b.random(20) : b.random(most));
        if (words > most)
            words = most;
        unsigned word = b.random(1025 - words);
        unsigned first = 15u << b.random(4) & 15, last = words > 1 ? 15u >> b.random(4) : 0;
        if (words == 1 || (words == 2 && !(word & 1)))
            first = words == 1 ? b.random(16) : 1 + b.random(15), last = words == 1 ? 0 : 1 + b.random(15);
        uint64_t offset = uint64_t(page) << 12 | word << 2;
        if (write) {
            std::vector<uint32_t> data = random_words(b, words);
            for (unsigned i = 0; i < words; i++)
                for (int byte = 0; byte < 4; byte++)
                    if ((i == 0 ? first : i + 1 == words ? last : 15) >> byte & 1)
                        local.put(offset + 4 * i + unsigned(byte), uint8_t(data[i] >> 8 * byte));
            b.send(b.memory_request(true, b.bar2 + offset, words, first, last, data, 0));
        } else {
            std::vector<uint32_t> got;
            uint8_t status = 9;
            b.read_bytes(b.bar2 + offset, words, first, last, got, status);
            EXPECT(b, "status", status, 0);
            for (unsigned i = 0; i < got.size(); i++)
                EXPECT(b, "window word", got[i], local.word(offset + 4 * i));
        }
    }
    b.settle(100000);
    for (auto &byte : b.local.memory.bytes_)
        if (!local.bytes_.count(byte.first))
            b.fail("byte %llx was touched", (unsigned long long)byte.first);
    for (auto &byte : local.bytes_)
        if (b.local.memory.get(byte.first) != byte.second)
            b.fail("byte %llx is %02x, expected %02x", (unsigned long long)byte.first, b.local.memory.get(byte.first),
                   byte.second);
    EXPECT(b, "refused", b.counts.refused + b.counts.unsupported + b.counts.malformed, 0);
}

static void window_refusals(Bench &b)
{
    b.configure(128, 512, 64);
    b.top->local_limit = 0x3000000;
    b.top->protect_base = 0x1000000;
    b.top->protect_limit = 0x1002000;
    std::vector<uint32_t> got;
    uint8_t status = 0;
    struct {
        uint64_t offset;
        unsigned words;
        bool good;
    } list[] = {
        {0x0fffffc, 1, true},   {0x1000000, 1, false}, {0x1001ffc, 1, false},  {0x1002000, 1, true},
        {0x0fffff8, 2, true},   {0x1000ffc, 1, false}, {0x1001000, 32, false}, {0x2fffffc, 1, true},
        {0x2ffff80, 32, true},  {0x3000000, 1, false}, {0x3ffff80, 32, false}, {0x0000000, 32, true},
        {0x1001f84, 31, false}, {0x2ffff84, 31, true},
    };
    uint64_t refused = 0, unsupported = 0;
    for (auto &entry : list) {
        uint64_t address = b.bar2 + entry.offset;
        unsigned last = entry.words > 1 ? 15 : 0;
        size_t before = b.local.memory.bytes_.size();
        b.read_bytes(address, entry.words, 15, last, got, status);
        EXPECT(b, "read status", status, entry.good ? 0 : 1);
        b.send(b.memory_request(true, address, entry.words, 15, last, random_words(b, entry.words), 0));
        b.settle();
        unsupported += !entry.good;
        refused += !entry.good;
        EXPECT(b, "count of reads", b.counts.unsupported, unsupported);
        EXPECT(b, "count of writes", b.counts.refused, refused);
        if (!entry.good)
            EXPECT(b, "bytes", b.local.memory.bytes_.size(), before);
    }
    // A limit inside a page; limits above local memory allow all of it.
    b.top->local_limit = 0x3000104;
    b.read_bytes(b.bar2 + 0x3000100, 1, 15, 0, got, status);
    EXPECT(b, "below", status, 0);
    b.read_bytes(b.bar2 + 0x3000100, 2, 15, 15, got, status);
    EXPECT(b, "across", status, 1);
    b.top->local_limit = 1ull << 40;
    b.top->protect_base = b.top->protect_limit = 0;
    b.read_bytes(b.bar2 + 0x3fffffc, 1, 15, 0, got, status);
    EXPECT(b, "top", status, 0);
    b.top->protect_base = 1ull << 40;
    b.top->protect_limit = 1ull << 41;
    b.read_bytes(b.bar2, 1, 15, 0, got, status);
    EXPECT(b, "protected far away", status, 0);
    b.top->protect_base = 0;
    b.read_bytes(b.bar2 + 0x2000000, 1, 15, 0, got, status);
    EXPECT(b, "all protected", status, 1);
    // Errors of the memory.
    b.top->protect_limit = 0;
    b.local.faults[0x777] = 1;
    b.read_bytes(b.bar2 + 0x777010, 4, 15, 15, got, status);
    EXPECT(b, "memory error", status, 4);
    b.read_bytes(b.bar2 + 0x778010, 4, 15, 15, got, status);
    EXPECT(b, "next page", status, 0);
}

// A register write waits until the writes to memory before it have been answered.
static void window_order(Bench &b)
{
    b.configure(256, 512, 64);
    for (int i = 0; i < 200; i++) {
        stalls(b, b.random(60));
        unsigned writes = b.reg_writes;
        for (int j = 0; j < 3; j++)
            b.send(b.memory_request(true, b.bar2 + 0x2000 + 256 * j, 64, 15, 15, random_words(b, 64), 0));
        b.send(b.memory_request(true, b.bar0 + 0x100, 1, 15, 0, random_words(b, 1), 0));
        for (int limit = 0; b.reg_writes == writes && limit < 10000; limit++)
            b.tick();
        if (!b.local.writes.empty() || !b.local.responses.empty())
            b.fail("register written before local memory");
    }
    b.settle();
}

const Case window_cases[] = {
    {"window_random", window_random},
    {"window_refusals", window_refusals},
    {"window_order", window_order},
    {nullptr, nullptr},
};
