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
    // Inside a word: that one is not all below it.
    b.top->local_limit = 0x3000103;
    b.read_bytes(b.bar2 + 0x3000100, 1, 15, 0, got, status);
    EXPECT(b, "word of the limit", status, 1);
    b.read_bytes(b.bar2 + 0x30000fc, 1, 15, 0, got, status);
    EXPECT(b, "word before it", status, 0);
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
    // Of one beat, be it the first or the last: the whole read is bad. Then reads are good again.
    for (uint64_t at : {0x779000, 0x779008, 0x779018}) {
        b.local.bad_beats = {{at, true}};
        b.read_bytes(b.bar2 + 0x779000, 8, 15, 15, got, status);
        EXPECT(b, "one bad beat", status, 4);
        b.local.bad_beats.clear();
        b.read_bytes(b.bar2 + 0x779000, 8, 15, 15, got, status);
        EXPECT(b, "no bad beat", status, 0);
    }
    b.settle();
    refused = b.counts.refused;
    b.local.refuses = true;
    for (unsigned i = 1; i < 4; i++) {
        b.send(b.memory_request(true, b.bar2 + 0x77a000, 4, 15, 15, random_words(b, 4), 0));
        b.settle();
        EXPECT(b, "writes that memory refuses are counted", b.counts.refused, refused + i);
    }
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

// The same with memory that takes many writes before it answers the first: what is counted must not go round.
static void window_late_answers(Bench &b)
{
    b.configure(256, 512, 64);
    b.local.answers_after = 400;
    for (unsigned count : {6u, 7u, 8u, 9u, 15u, 16u, 17u, 40u}) {
        unsigned writes = b.reg_writes;
        for (unsigned i = 0; i < count; i++)
            b.send(b.memory_request(true, b.bar2 + 0x4000 + 8 * i, 1, 15, 0, {i}, 0));
        b.send(b.memory_request(true, b.bar0 + 0x100, 1, 15, 0, {count}, 0));
        for (int limit = 0; b.reg_writes == writes && limit < 40000; limit++)
            b.tick();
        EXPECT(b, "register", b.registers[0x40], count);
        if (!b.local.writes.empty() || !b.local.responses.empty())
            b.fail("register written before %u writes to local memory", count);
        b.settle();
    }
}

// Memory dies with a long write half-way. The rest of its bytes are never written, nor what came while memory was given
// up on; each such write is counted. Registers answer meanwhile, and when memory is back the window is as ever.
static void window_lost(Bench &b)
{
    b.configure(256, 512, 64);
    const unsigned words = 64, more = 5;
    for (unsigned alive : {0u, 1u, 7u, 30u, 31u}) {
        Memory before = b.local.memory;
        uint64_t refused = b.counts.refused, base = 0x10000 * (alive + 1);
        std::vector<uint32_t> data = random_words(b, words);
        b.local.dies_after = alive;
        b.send(b.memory_request(true, b.bar2 + base, words, 15, 15, data, 0));
        for (unsigned i = 0; i < more; i++)
            b.send(b.memory_request(true, b.bar2 + base + 0x1000 * (i + 1), 64, 15, 15, random_words(b, 64), 0));
        b.run(70000);
        EXPECT(b, "refused", b.counts.refused, refused + 1 + more);
        std::vector<uint32_t> got;
        uint8_t status = 9;
        b.read_bytes(b.bar0 + 0x40, 1, 15, 0, got, status);
        EXPECT(b, "register meanwhile", status == 0 && got[0] == b.registers[0x10], 1);
        b.read_bytes(b.bar2 + base, 4, 15, 15, got, status);
        EXPECT(b, "window meanwhile", status, 4);
        b.local.dies_after = ~0u;
        b.settle();
        // The beat that memory was shown when it died may be written late; none behind it is.
        for (unsigned i = 0; i < words; i++)
            for (unsigned byte = 0; byte < 4; byte++) {
                uint64_t at = base + 4 * i + byte;
                uint8_t now = b.local.memory.get(at), then = before.get(at), sent = uint8_t(data[i] >> 8 * byte);
                if (i / 2 < alive ? now != sent : i / 2 == alive ? now != sent && now != then : now != then)
                    b.fail("%u beats alive: byte %u of the write is %02x", alive, 4 * i + byte, now);
            }
        for (auto &byte : b.local.memory.bytes_)
            if ((byte.first < base || byte.first >= base + 4 * words) && byte.second != before.get(byte.first))
                b.fail("%u beats alive: byte %llx was written", alive, (unsigned long long)byte.first);
        b.send(b.memory_request(true, b.bar2 + base, words, 15, 15, data, 0));
        b.read_bytes(b.bar2 + base, words, 15, 15, got, status);
        EXPECT(b, "status when memory is back", status, 0);
        for (unsigned i = 0; i < got.size(); i++)
            EXPECT(b, "word when memory is back", got[i], data[i]);
        EXPECT(b, "refused in all", b.counts.refused, refused + 1 + more);
    }
}

// Memory that was given up on comes back in any cycle of a stream of writes and reads: each of them is carried out
// whole or not at all, with a count or a status that says which, and the window is as ever.
static void window_found(Bench &b)
{
    b.configure(256, 512, 64);
    b.later_writes = true;
    for (uint64_t at = 0; at < 0x400; at += 4)
        b.local.memory.put(0x40000 + at, uint8_t(at / 4 + 1));
    unsigned carried_out = 0, in_vain = 0;
    for (unsigned round = 0; round < 40; round++) {
        // Many small ones, so that memory is often back as the next one comes.
        const bool small = round % 4 != 0;
        const unsigned count = small ? 60 : 12;
        const uint64_t base = 0x100000 * (round + 1), refused = b.counts.refused;
        // The one that memory dies on.
        b.local.dies_after = 0;
        b.send(b.memory_request(true, b.bar2 + base, 2, 15, 15, random_words(b, 2), 0));
        b.run(66000);
        EXPECT(b, "refused", b.counts.refused, refused + 1);
        std::vector<std::vector<uint32_t>> sent;
        std::vector<uint64_t> asked;
        for (unsigned i = 1; i <= count; i++) {
            sent.push_back(random_words(b, small ? 2 : 64));
            b.send(b.memory_request(true, b.bar2 + base + 0x1000 * i, unsigned(sent.back().size()), 15, 15, sent.back(),
                                    0));
            if (b.chance(small ? 10 : 40)) {
                asked.push_back(0x40000 + 64 * b.random(16));
                b.send(b.memory_request(false, b.bar2 + asked.back(), 8, 15, 15, {}, uint8_t(0x40 + asked.size())));
            }
        }
        b.run(b.random(200));
        b.local.dies_after = ~0u;
        b.settle();
        unsigned nowhere = 0;
        for (unsigned i = 1; i <= count; i++) {
            const std::vector<uint32_t> &data = sent[i - 1];
            unsigned there = 0, touched = 0;
            for (unsigned word = 0; word < data.size(); word++)
                there += b.local.memory.word(base + 0x1000 * i + 4 * word) == data[word];
            for (unsigned byte = 0; byte < 0x1000; byte++)
                touched += unsigned(b.local.memory.bytes_.count(base + 0x1000 * i + byte));
            nowhere += !touched;
            if (touched && (there != data.size() || touched != 4 * there))
                b.fail("write %u: %u of %zu words are there, %u bytes were written", i, there, data.size(), touched);
        }
        EXPECT(b, "refused in all", b.counts.refused, refused + 1 + nowhere);
        carried_out += count - nowhere;
        in_vain += nowhere;
        for (unsigned i = 0; i < asked.size(); i++) {
            std::vector<Completion> answers = b.collect(uint8_t(0x41 + i));
            EXPECT(b, "completions", answers.size(), 1);
            if (answers.size() != 1)
                continue;
            if (answers[0].status != 0)
                EXPECT(b, "status", answers[0].status, 4);
            for (unsigned word = 0; word < answers[0].data.size(); word++)
                EXPECT(b, "word", answers[0].data[word], b.local.memory.word(asked[i] + 4 * word));
        }
        if (b.failures > 8)
            return;
    }
    EXPECT(b, "writes of either kind", carried_out > 100 && in_vain > 100, 1);
}

// Memory that takes most of the window's patience for every address, beat and answer is slow, not dead.
static void window_patience(Bench &b)
{
    b.configure(256, 512, 64);
    b.local.pace = 40000;
    std::vector<uint32_t> data = random_words(b, 8), got(8);
    for (unsigned i = 0; i < 3; i++)
        b.send(b.memory_request(true, b.bar2 + 0x1000 * i, 2, 15, 15, {data[2 * i], data[2 * i + 1]}, 0));
    b.send(b.memory_request(true, b.bar2 + 0x3000, 8, 15, 15, data, 0));
    b.send(b.memory_request(false, b.bar2 + 0x3000, 8, 15, 15, {}, 0x31));
    b.run(900000);
    b.local.pace = 0;
    std::vector<Completion> answers = b.collect(0x31);
    EXPECT(b, "completions", answers.size(), 1);
    if (answers.size() == 1) {
        EXPECT(b, "status", answers[0].status, 0);
        for (unsigned i = 0; i < answers[0].data.size(); i++)
            EXPECT(b, "word", answers[0].data[i], data[i]);
    }
    for (unsigned i = 0; i < 6; i++)
        EXPECT(b, "word written", b.local.memory.word(0x1000 * (i / 2) + 4 * (i % 2)), data[i]);
    EXPECT(b, "refused", b.counts.refused, 0);
}

// A write that memory refuses and one that the window refuses count twice, however close memory's answer comes to the
// window's look at the other.
static void window_refused_together(Bench &b)
{
    b.configure(256, 512, 64);
    b.local.refuses = true;
    b.top->protect_base = 0x1000000;
    b.top->protect_limit = 0x1002000;
    for (unsigned after = 0; after < 40; after++) {
        b.local.answers_after = after;
        uint64_t refused = b.counts.refused;
        b.send(b.memory_request(true, b.bar2 + 0x1000, 2, 15, 15, {after, after}, 0));
        b.send(b.memory_request(true, b.bar2 + 0x1001000, 2, 15, 15, {after, after}, 0));
        b.settle();
        EXPECT(b, "refused", b.counts.refused, refused + 2);
    }
}

const Case window_cases[] = {
    {"window_random", window_random},
    {"window_refusals", window_refusals},
    {"window_order", window_order},
    {"window_late_answers", window_late_answers},
    {"window_lost", window_lost},
    {"window_found", window_found},
    {"window_patience", window_patience},
    {"window_refused_together", window_refused_together},
    {nullptr, nullptr},
};
