// SPDX-License-Identifier: Apache-2.0
// The device's own requests: reads and writes of host memory, and the speed they reach. What is answered wrongly, late
// or never: requester_faults.cpp.
#include "requester.h"

#include <cstdio>

static void check_memory(Bench &b, const Memory &model)
{
    for (auto &byte : model.bytes_)
        if (b.host.get(byte.first) != byte.second)
            b.fail("host byte %llx is %02x, expected %02x", (unsigned long long)byte.first, b.host.get(byte.first),
                   byte.second);
    for (auto &byte : b.host.bytes_)
        if (!model.bytes_.count(byte.first))
            b.fail("host byte %llx was touched", (unsigned long long)byte.first);
}

// The interrupt message is a write like any other to the root complex; it is none of the data.
static void forget_message(Bench &b)
{
    for (unsigned i = 0; i < 4; i++)
        b.host.bytes_.erase(0xfee00000u + i);
}

// Bursts of every kind; completions split at the boundary and interleaved over tags.
static void reads_random(Bench &b)
{
    b.digests = 30;
    for (unsigned payload : {128, 256})
        for (unsigned request : {128, 256, 512})
            for (unsigned boundary : {64, 128}) {
                Work work;
                b.configure(payload, request, boundary);
                stalls(b, b.random(2) * 25);
                b.latency = b.random(2) * 300;
                for (int i = 0; i < 200; i++) {
                    unsigned beats = 1 + b.random(b.chance(50) ? 8 : 256);
                    work.read(b, random_page(b) + 8 * b.random(513 - beats), beats);
                }
                b.settle(400000);
                for (auto &r : work.reads)
                    check_data(b, r);
            }
    EXPECT(b, "unexpected", b.counts.unexpected + b.counts.malformed, 0);
    if (b.max_outstanding < 20)
        b.fail("only %u requests were outstanding", b.max_outstanding);
}

static void tag_limit(Bench &b)
{
    b.configure(256, 128, 64);
    b.latency = 400;
    for (unsigned limit : {1, 2, 5, 24, 32, 200, 0}) {
        // One of the 32 is that of page tables.
        unsigned most = limit && limit < 31 ? limit : 31;
        b.top->tag_limit = uint8_t(limit);
        b.max_outstanding = 0;
        // Answers in another order may keep eight reads one below it: FERRY_SEED=127.
        for (unsigned round = 0; round < 8 && (round == 0 || b.max_outstanding < most); round++) {
            Work work;
            for (int i = 0; i < 8; i++)
                work.read(b, 0x100000 + 0x1000 * i, 256);
            b.settle(200000);
            for (auto &r : work.reads)
                check_data(b, r);
        }
        EXPECT(b, "outstanding", b.max_outstanding, most);
    }
}

// Every first and last byte inside two beats, then runs across payload and page edges, then random ones.
static void writes_random(Bench &b)
{
    Memory model;
    uint64_t page = 16;
    for (unsigned payload : {128, 256}) {
        b.configure(payload, 512, 64);
        for (int round = 0; round < 2; round++, stalls(b, 30)) {
            Work work;
            for (unsigned from = 0; from < 16; from++)
                for (unsigned to = from + 1; to <= 24; to++)
                    work.write(b, model, (page++ << 12) + 0x100 + from, to - from, b.random(3), b.random(3));
            for (unsigned base : {64u, 128u, 256u, 512u})
                for (int from = -9; from <= 9; from++)
                    work.write(b, model, (page++ << 12) + base + from, 1 + b.random(600), b.random(2), b.random(2));
            for (int i = 0; i < 200; i++) {
                unsigned bytes = 1 + b.random(b.chance(50) ? 40 : 2048), offset = b.random(4096 - bytes + 1);
                if (((offset & 7) + bytes + 7) / 8 > 256)
                    continue;
                uint64_t high = b.chance(50) ? (page << 40) & ~(1ull << 63) : 0;
                work.write(b, model, high + (page++ << 12) + offset, bytes);
            }
            b.settle(400000);
            for (auto &w : work.writes)
                if (!w.done)
                    b.fail("write %llx has no response", (unsigned long long)w.address);
            stalls(b, 0);
        }
    }
    check_memory(b, model);
}

// One beat with any strobe, and bursts without any byte.
static void writes_strobes(Bench &b)
{
    Memory model;
    Work work;
    b.configure(128, 512, 64);
    for (unsigned strobe = 0; strobe < 256; strobe++) {
        uint64_t address = 0x40000 + 64 * strobe, value = b.generator();
        work.writes.push_back({address, strobe & 3, 0, false, {value}, {uint8_t(strobe)}, false, 0});
        b.write_queue.push_back(&work.writes.back());
        for (int i = 0; i < 8; i++)
            if (strobe >> i & 1)
                model.put(address + i, uint8_t(value >> 8 * i));
    }
    // A packet ends with its last byte, though its burst goes on with others.
    for (unsigned lane = 0; lane < 7; lane++) {
        uint64_t address = 0x60000 + 64 * lane;
        std::vector<uint64_t> words = {b.generator(), b.generator(), b.generator()};
        uint8_t strobe = uint8_t((2 << lane) - 1);
        work.writes.push_back({address, lane & 3, 0, false, words, {0xff, strobe, 0xff}, false, 0});
        b.write_queue.push_back(&work.writes.back());
        for (unsigned i = 0; i < 24; i++)
            if (i / 8 != 1 || i % 8 <= lane)
                model.put(address + i, uint8_t(words[i / 8] >> 8 * (i % 8)));
    }
    for (unsigned beats = 1; beats <= 256; beats += 17) {
        work.writes.push_back(
            {0x80000, beats & 3, 0, false, std::vector<uint64_t>(beats, 5), std::vector<uint8_t>(beats, 0), false, 0});
        b.write_queue.push_back(&work.writes.back());
    }
    b.settle(100000);
    // A response that is not taken is not lost with that of another burst without any byte.
    stalls(b, 80);
    for (unsigned i = 0; i < 100; i++) {
        work.writes.push_back({0x80000, i & 3, 0, false, {5}, {0}, false, 0});
        b.write_queue.push_back(&work.writes.back());
    }
    b.settle(100000);
    stalls(b, 0);
    EXPECT(b, "packets", b.posted.size(), 255 + 14);
    check_memory(b, model);
}

// A response says that the packets have left or stand in front of everything later; posted order is the order accepted.
static void posted_order(Bench &b)
{
    Memory model;
    Work work;
    b.configure(128, 512, 64);
    b.config_write(0x84, 0xfee00000);
    b.config_write(0x80, 0x10000);
    b.top->interrupt_enable = 1;
    b.posted.clear();
    for (int i = 0; i < 300; i++) {
        b.stall_rx = b.random(95);
        b.stall_axi = b.random(50);
        uint64_t base = 0x100000 + 0x2000 * i;
        AxiWrite &data = work.write(b, model, base + b.random(100), 1 + b.random(500));
        AxiWrite &fence = work.write(b, model, base + 0x1000, 8);
        while (!fence.done)
            b.tick();
        if (!data.done)
            b.fail("responses out of order");
        if (b.chance(50)) {
            b.top->interrupt_cause = 1;
            for (size_t seen = b.posted.size(); b.posted.empty() || b.posted.back().address != 0xfee00000;)
                if (b.tick(), b.cycle > 2000000 || b.posted.size() > seen + 20)
                    break;
        } else {
            // A register read that is asked for now comes back behind the fence.
            std::vector<uint32_t> got;
            uint8_t status = 0;
            b.read_bytes(b.bar0, 1, 15, 0, got, status);
        }
        if (b.host.get(base + 0x1000) != model.get(base + 0x1000))
            b.fail("overtook the fence of burst %d", i);
        // Each packet has its burst's tag, a message the one that no burst of a buffer has.
        for (const PostedWrite &w : b.posted)
            EXPECT(b, "tag", w.tag,
                   w.address >= base + 0x1000 ? (w.address < base + 0x2000 ? fence.tag : 0xff) : data.tag);
        b.posted.clear();
    }
    stalls(b, 0);
    b.settle();
    forget_message(b);
    check_memory(b, model);
}

static void attributes(Bench &b)
{
    Memory model;
    Work work;
    b.configure(256, 512, 64);
    for (int allowed = 0; allowed < 2; allowed++)
        for (int asked = 0; asked < 2; asked++) {
            b.config_write(0x48, allowed ? 0x2820 : 0x2020);
            b.posted.clear();
            work.write(b, model, 0x5000, 8, 0, 0, asked);
            b.settle();
            EXPECT(b, "packets", b.posted.size(), 1);
            if (b.posted.size())
                EXPECT(b, "no snoop of a write", b.posted[0].no_snoop, allowed && asked);
            b.answer = false;
            AxiRead &r = work.read(b, 0x6000, 4, asked);
            b.run(50);
            EXPECT(b, "read requests", b.reads.size(), 1);
            if (b.reads.size())
                EXPECT(b, "no snoop of a read", b.reads[0].no_snoop, allowed && asked);
            b.answer = true;
            b.settle();
            check_data(b, r);
        }
    // An interrupt message is none of the data: it never asks not to be snooped, whatever went before it.
    b.config_write(0x84, 0xfee00000);
    b.config_write(0x80, 0x10000);
    b.top->interrupt_enable = 1;
    for (unsigned apart : {0u, 3u, 10u, 40u, 200u}) {
        b.posted.clear();
        work.write(b, model, 0x5800 + 8 * apart, 8, 0, 0, true);
        b.run(apart);
        b.top->interrupt_cause = 1;
        b.settle();
        EXPECT(b, "packets", b.posted.size(), 2);
        for (const PostedWrite &w : b.posted)
            EXPECT(b, "no snoop", w.no_snoop, w.address != 0xfee00000);
    }
    b.top->interrupt_enable = 0;
    // Nothing leaves while the device is not bus master.
    b.config_write(0x04, 2);
    b.posted.clear();
    AxiRead &r = work.read(b, 0x7000, 4);
    AxiWrite &w = work.write(b, model, 0x8000, 8);
    b.run(300);
    EXPECT(b, "packets", b.posted.size() + b.reads.size(), 0);
    b.config_write(0x04, 6);
    b.settle();
    check_data(b, r);
    EXPECT(b, "written", w.done, 1);
}

// Everything at once, under stalls: reads, writes, register reads, window traffic, interrupts.
static void everything(Bench &b)
{
    Memory model;
    b.configure(256, 512, 128);
    b.config_write(0x84, 0xfee00000);
    b.config_write(0x80, 0x10000);
    b.top->interrupt_enable = 0x3ff;
    b.log_posted = false;
    b.digests = 10;
    for (int round = 0; round < 60; round++) {
        Work work;
        stalls(b, round % 3 * 20);
        b.latency = b.random(100);
        for (int i = 0; i < 30; i++) {
            unsigned beats = 1 + b.random(b.chance(50) ? 4 : 256);
            work.read(b, (1ull << 50) + random_page(b) + 8 * b.random(513 - beats), beats);
            unsigned bytes = 1 + b.random(2000);
            work.write(b, model, ((0x100000ull + unsigned(round) * 64 + i) << 12) + b.random(4096 - bytes - 8), bytes);
        }
        for (int i = 0; i < 20; i++) {
            std::vector<uint32_t> got;
            uint8_t status = 9;
            unsigned words = 1 + b.random(64), at = 4 * b.random(64);
            b.top->interrupt_cause = uint16_t(b.random(4));
            b.send(b.memory_request(true, b.bar2 + 0x10000 + at, words, 15, words > 1 ? 15 : 0, random_words(b, words),
                                    0));
            b.read_bytes(b.bar2 + 0x10000 + at, words, 15, words > 1 ? 15 : 0, got, status);
            for (unsigned j = 0; j < got.size(); j++)
                EXPECT(b, "window", got[j], b.local.memory.word(0x10000 + at + 4 * j));
            b.read_bytes(b.bar0 + at, words, 15, words > 1 ? 15 : 0, got, status);
            for (unsigned j = 0; j < got.size(); j++)
                EXPECT(b, "register", got[j], b.registers[at / 4 + j]);
        }
        b.settle(400000);
        for (auto &r : work.reads)
            check_data(b, r);
    }
    forget_message(b);
    check_memory(b, model);
    EXPECT(b, "dropped", b.counts.malformed + b.counts.unexpected + b.counts.unsupported, 0);
}

// Share of what packet headers leave of the link: payload 256, requests of 512, latency 200, pages of 4 KiB scattered.
static void throughput(Bench &b)
{
    b.configure(256, 512, 64);
    b.shuffle = false;
    b.latency = 200;
    b.log_posted = false;
    for (int mode = 1; mode <= 3; mode++) {
        Work work;
        Memory model;
        for (int i = 0; i < 128; i++) {
            if (mode & 1)
                for (int half = 0; half < 2; half++)
                    work.read(b, ((b.generator() >> 30) << 12) + 2048 * half, 256);
            if (mode & 2) {
                uint64_t page = (0x40000 + b.random(1 << 18)) << 12;
                for (int half = 0; half < 2; half++)
                    work.write(b, model, page + 2048 * half, 2048);
            }
        }
        uint64_t start = b.cycle, tx = b.tx_beats, rx = b.rx_beats, r = b.r_beats, w = b.w_beats;
        b.run(20000);
        start = b.cycle - start;
        tx = b.tx_beats - tx, rx = b.rx_beats - rx, r = b.r_beats - r, w = b.w_beats - w;
        // A completion of 256 bytes has 67 words, 34 beats; so has a write with three header words. A read request
        // has 2 beats for 64 beats of data.
        double read_best = 32.0 / 34, write_best = mode == 3 ? (1 - read_best / 64 * 2) * 32 / 34 : 32.0 / 34;
        double read_share = double(r) / double(start) / read_best, write_share = double(w) / double(start) / write_best;
        (void)tx;
        (void)rx;
        std::printf("    mode %d: reads %.2f %%, writes %.2f %% of what headers leave\n", mode, 100 * read_share,
                    100 * write_share);
        if ((mode & 1) && read_share < 0.97)
            b.fail("reads reach %.1f %%", 100 * read_share);
        if ((mode & 2) && write_share < 0.97)
            b.fail("writes reach %.1f %%", 100 * write_share);
        b.settle(400000);
    }
}

const Case requester_cases[] = {
    {"reads_random", reads_random},     {"tag_limit", tag_limit},       {"writes_random", writes_random},
    {"writes_strobes", writes_strobes}, {"posted_order", posted_order}, {"attributes", attributes},
    {"everything", everything},         {"throughput", throughput},     {nullptr, nullptr},
};
