// SPDX-License-Identifier: Apache-2.0
// What PCI Express asks of a link partner: who may pass whom, credits, digests, power states.
#include "cases.h"

#include <algorithm>

// The device's own packets do not leave, for ever: writes and completions get in all the same, and do what they should.
static void writes_get_in(Bench &b)
{
    b.configure(256, 512, 64);
    b.later_writes = true;
    for (int how = 0; how < 4; how++) {
        b.stall_reg = b.stall_slave = how * 20;
        AxiRead host_read = {0x123000, 64, 1, false, {}, {}, false};
        b.read_queue.push_back(&host_read);
        b.answer = false;
        b.run(40);
        EXPECT(b, "request of the device", b.reads.size(), 1);
        // Deaf, or without a credit of any kind, or only for completions.
        b.deaf = how == 0;
        for (int kind = 0; kind < 3; kind++)
            b.withheld[kind] = how == 1 || how == 3 || (how == 2 && kind == REPLY);
        // Far more reads than there is room for; they wait at the far end, and the rest passes them.
        for (int i = 0; i < 40; i++)
            b.send(b.memory_request(false, i & 1 ? b.bar0 + 0x800 : b.bar2 + 0x9000, 1 + unsigned(i & 1), 15,
                                    i & 1 ? 15 : 0, {}, uint8_t(i)));
        b.answer = true;
        for (uint32_t i = 0; i < 600; i++) {
            if (i % 3)
                b.send(b.memory_request(true, b.bar2 + 0x10000 + 256 * i, 64, 15, 15, std::vector<uint32_t>(64, i), 0));
            else
                b.send(b.memory_request(true, b.bar0 + 4 * (i & 127), 1, 15, 0, {i ^ 0x5a5a5a5a}, 0));
        }
        size_t reads = 0;
        for (unsigned limit = 0; limit < 200000; limit++) {
            b.tick();
            reads = 0;
            for (auto &packet : b.outbox)
                reads += (packet[0] & 0x40000000) == 0;
            if (reads == b.outbox.size() && host_read.done)
                break;
        }
        EXPECT(b, "writes still waiting", b.outbox.size() - reads, 0);
        EXPECT(b, "the device's own read", host_read.done, 1);
        if (reads < 25 || (how < 3 && b.completions.size() > 1))
            b.fail("%zu reads wait, %zu were answered: nothing was held back", reads, b.completions.size());
        b.run(2000);
        for (uint32_t i = 0; i < 600; i++) {
            uint32_t want = i % 3 ? i : 0;
            if (i % 3 && b.local.memory.word(0x10000 + 256 * i + 252) != want)
                b.fail("write %u to the window was not carried out", i);
        }
        EXPECT(b, "register", b.registers[597 & 127], 597u ^ 0x5a5a5a5a);
        // And when the link works again, each read is answered, in order.
        b.deaf = b.withheld[0] = b.withheld[1] = b.withheld[2] = false;
        b.settle(100000);
        EXPECT(b, "answers", b.completions.size(), 40);
        for (unsigned i = 0; i < b.completions.size(); i++)
            EXPECT(b, "order", b.completions[i].tag, i);
        b.completions.clear();
    }
}

// A transport that does not know how to hold requests back: the stream waits, and nothing is lost.
static void requests_not_held(Bench &b)
{
    b.configure(256, 512, 64);
    b.heed = false;
    b.deaf = true;
    for (int i = 0; i < 40; i++)
        b.send(b.memory_request(false, b.bar0 + 4 * unsigned(i), 1, 15, 0, {}, uint8_t(i)));
    b.run(500);
    // Eight in the queue, one in the completer, one offered.
    if (b.outbox.size() < 30 || b.outbox.size() > 32)
        b.fail("%zu requests still wait", b.outbox.size());
    b.deaf = false;
    b.settle();
    EXPECT(b, "answers", b.completions.size(), 40);
    for (unsigned i = 0; i < b.completions.size() && i < 40; i++) {
        EXPECT(b, "tag", b.completions[i].tag, i);
        EXPECT(b, "word", b.completions[i].data[0], b.registers[i]);
    }
    b.completions.clear();
    // Once the device says no, two more find room: a write behind them still gets in.
    unsigned sent = 0, writes = b.reg_writes;
    b.deaf = true;
    for (; b.top->s_axis_tlp_request_ok && sent < 40; sent++) {
        b.send(b.memory_request(false, b.bar0 + 4 * sent, 1, 15, 0, {}, uint8_t(sent)));
        b.run(60);
    }
    EXPECT(b, "request_ok", b.top->s_axis_tlp_request_ok, 0);
    for (unsigned i = 0; i < 2; i++, sent++)
        b.send(b.memory_request(false, b.bar0 + 4 * sent, 1, 15, 0, {}, uint8_t(sent)));
    b.send(b.memory_request(true, b.bar0 + 0x80, 1, 15, 0, {0x600d}, 0));
    b.run(500);
    EXPECT(b, "the write behind them", b.outbox.size(), 0);
    b.deaf = false;
    b.settle();
    EXPECT(b, "answers", b.completions.size(), sent);
    EXPECT(b, "register writes", b.reg_writes, writes + 1);
    b.completions.clear();
}

// Each kind of packet without credits in turn: the two others pass it, which a single stream could not do.
static void kinds_pass(Bench &b)
{
    b.configure(256, 512, 64);
    for (int round = 0; round < 40; round++)
        for (int kind = 0; kind < 3; kind++) {
            b.stall_rx = b.random(2) * b.random(60);
            b.withheld[kind] = true;
            AxiRead read = {0x40000 + 4096 * uint64_t(round), 16, 1, false, {}, {}, false};
            AxiWrite write = {0x900000 + 4096 * uint64_t(round), 2, 7, false, {1, 2, 3}, {255, 255, 255}, false, 0};
            b.read_queue.push_back(&read);
            b.write_queue.push_back(&write);
            b.send(b.memory_request(false, b.bar0 + 16, 1, 15, 0, {}, 9));
            b.run(1000);
            EXPECT(b, "read", read.done, kind != REQUEST);
            EXPECT(b, "write", write.done, kind != POSTED);
            EXPECT(b, "answer", b.completions.size(), kind != REPLY);
            b.withheld[kind] = false;
            b.run(1000);
            EXPECT(b, "all", read.done && write.done && b.completions.size() == 1, 1);
            b.completions.clear();
        }
    // A cycle in which what waits has no credit is one of the link's, though the link takes whatever comes.
    b.stall_rx = 0;
    for (int kind = 0; kind < 3; kind++) {
        b.settle();
        b.withheld[kind] = true;
        const uint64_t before = b.counts.stall;
        AxiRead read = {0x700000, 16, 1, false, {}, {}, false};
        AxiWrite write = {0xa00000, 2, 7, false, {1, 2, 3}, {255, 255, 255}, false, 0};
        if (kind == REQUEST)
            b.read_queue.push_back(&read);
        else if (kind == POSTED)
            b.write_queue.push_back(&write);
        else
            b.send(b.memory_request(false, b.bar0 + 16, 1, 15, 0, {}, 9));
        b.run(1000);
        const uint64_t stalls = b.counts.stall - before;
        if (stalls < 900 || stalls > 1000)
            b.fail("%llu of 1000 cycles without credit count as stalls of the link", (unsigned long long)stalls);
        b.withheld[kind] = false;
        b.run(1000);
        b.completions.clear();
    }
    // And one in which it does not take what stands there.
    b.settle();
    b.deaf = true;
    const uint64_t before = b.counts.stall;
    AxiWrite stands = {0xa00000, 2, 7, false, {1, 2, 3}, {255, 255, 255}, false, 0};
    b.write_queue.push_back(&stands);
    b.run(1000);
    const uint64_t stalls = b.counts.stall - before;
    if (stalls < 900 || stalls > 1000)
        b.fail("%llu of 1000 cycles in front of a link that takes nothing count as its stalls",
               (unsigned long long)stalls);
    b.deaf = false;
    b.run(1000);
    // An error message is a posted request.
    b.config_write(0x48, 0x2820 | FATAL);
    b.messages.clear();
    b.withheld[POSTED] = true;
    b.send({0x40000002, 0x000000ff, 0x1000, 1});
    b.run(500);
    EXPECT(b, "message without credit", b.messages.size(), 0);
    b.withheld[POSTED] = false;
    b.run(500);
    EXPECT(b, "message", b.messages.size(), 1);
}

// A slot with the smallest credits that the base specification allows (table 2-37 and 2.6.1): one header of each kind,
// and payload for one packet. A request's comes back only when everything else has gone, so what waits for a request to
// leave before it moves would never move again.
static void smallest_credits(Bench &b)
{
    for (unsigned payload : {128, 256}) {
        b.credits[REPLY] = Credits();
        b.configure(payload, 512, 64);
        b.credits[POSTED] = {1, payload / 16, 0, 0, {}};
        b.credits[REQUEST] = {1, 0, 0, 0, {}};
        b.credits[REPLY] = {1, payload / 16, 0, 0, {}};
        b.digests = 10;
        b.log_posted = false;
        for (unsigned latency : {1, 20, 300}) {
            b.credit_latency = latency;
            b.stall_rx = b.stall_tx = latency % 40;
            std::deque<AxiRead> reads;
            std::deque<AxiWrite> writes;
            for (int i = 0; i < 60; i++) {
                reads.push_back({0x100000 + 4096 * uint64_t(i), 1 + b.random(200), b.random(4), false, {}, {}, false});
                b.read_queue.push_back(&reads.back());
                unsigned beats = 1 + b.random(200);
                writes.push_back({0x900000 + 4096 * uint64_t(i), b.random(4), 0, false,
                                  std::vector<uint64_t>(beats, b.generator()), std::vector<uint8_t>(beats, 255), false,
                                  0});
                b.write_queue.push_back(&writes.back());
                if (i % 2)
                    b.send(
                        b.memory_request(false, b.bar0 + 4 * unsigned(i), 1 + b.random(100), 15, 15, {}, uint8_t(i)));
                else
                    b.send(b.memory_request(true, b.bar2 + 64 * unsigned(i), 16, 15, 15, random_words(b, 16), 0));
            }
            b.outbox.erase(std::remove_if(b.outbox.begin(), b.outbox.end(),
                                          [](const Packet &p) { return (p[0] & 0x400003ff) == 1; }),
                           b.outbox.end());
            // No request gets its credit back before all else has gone, whichever has taken the one that there is.
            uint8_t last = 0;
            for (const Packet &p : b.outbox)
                if (!(p[0] >> 30 & 1))
                    last = uint8_t(p[1] >> 8);
            b.run(b.random(300));
            b.withheld[REQUEST] = true;
            const auto answered = [&] {
                return std::any_of(b.completions.begin(), b.completions.end(),
                                   [&](const Completion &c) { return c.tag == last; });
            };
            for (int i = 0; i < 200000 && !(writes.back().done && answered()); i++)
                b.tick();
            EXPECT(b, "writes and answers while no request has a credit", writes.back().done && answered(), 1);
            EXPECT(b, "reads beside them", reads.back().done, 0);
            b.withheld[REQUEST] = false;
            b.settle(1000000);
            for (auto &r : reads) {
                EXPECT(b, "read", r.done, 1);
                for (unsigned i = 0; i < r.data.size(); i++)
                    EXPECT(b, "data", r.data[i],
                           b.host.word(r.address + 8 * i) | uint64_t(b.host.word(r.address + 8 * i + 4)) << 32);
            }
            for (auto &w : writes)
                EXPECT(b, "write", w.done, 1);
            b.completions.clear();
        }
    }
    EXPECT(b, "dropped", b.counts.malformed + b.counts.unexpected + b.counts.unsupported, 0);
}

// D3hot refuses memory requests and sends none; D0 goes on where it was. D1 and D2 are not there.
static void power_states(Bench &b)
{
    b.configure(128, 512, 64);
    std::vector<uint32_t> got;
    uint8_t result = 9;
    for (unsigned state : {1u, 2u}) {
        b.config_write(0xa4, state);
        EXPECT(b, "power state", b.config_read(0xa4), 8);
    }
    b.config_write(0xa4, 0x03030303, 14); // Its bits are in the other byte.
    EXPECT(b, "power state", b.config_read(0xa4), 8);
    b.config_write(0xa4, 3);
    EXPECT(b, "power state", b.config_read(0xa4), 0xb);
    EXPECT(b, "COMMAND", b.config_read(0x04), 0x00100006);
    b.read_bytes(b.bar0, 1, 15, 0, got, result);
    EXPECT(b, "read in D3hot", result, 1);
    b.send(b.memory_request(true, b.bar0 + 16, 1, 15, 0, {0x12345678}, 0));
    AxiRead read = {0x123000, 16, 1, false, {}, {}, false};
    AxiWrite write = {0x900000, 2, 7, false, {1, 2, 3}, {255, 255, 255}, false, 0};
    b.read_queue.push_back(&read);
    b.write_queue.push_back(&write);
    b.config_write(0x84, 0xfee00000);
    b.config_write(0x80, 0x10000);
    b.top->interrupt_enable = 1;
    b.top->interrupt_cause = 1;
    b.run(2000);
    EXPECT(b, "register writes", b.reg_writes, 0);
    EXPECT(b, "requests in D3hot", b.read_requests + b.posted.size(), 0);
    for (unsigned state : {1u, 2u}) {
        b.config_write(0xa4, state);
        EXPECT(b, "power state", b.config_read(0xa4), 0xb);
    }
    b.config_write(0xa4, 0, 14);
    EXPECT(b, "power state", b.config_read(0xa4), 0xb);
    b.config_write(0xa4, 0);
    EXPECT(b, "power state", b.config_read(0xa4), 8);
    b.settle();
    EXPECT(b, "both go on", read.done && write.done, 1);
    EXPECT(b, "write and interrupt", b.posted.size(), 2);
    b.read_bytes(b.bar0, 1, 15, 0, got, result);
    EXPECT(b, "read in D0", result, 0);
}

// Packets with a digest are served as if they had none, whatever their length and place (2.7.1).
static void digests(Bench &b)
{
    b.configure(256, 512, 64);
    b.digests = 100;
    Memory model;
    for (unsigned words = 1; words <= 64; words++)
        for (unsigned place : {0u, 4u}) {
            uint64_t offset = 0x1000 * words + place;
            std::vector<uint32_t> data = random_words(b, words), got;
            uint8_t result = 9;
            b.send(b.memory_request(true, b.bar2 + offset, words, 15, words > 1 ? 15 : 0, data, 0));
            b.read_bytes(b.bar2 + offset, words, 15, words > 1 ? 15 : 0, got, result);
            if (got != data)
                b.fail("%u words at %llx", words, (unsigned long long)offset);
            for (int four = 0; four < 2; four++) {
                data = random_words(b, words);
                b.send(b.memory_request(true, b.bar0 + 0x400 + place, words, 15, words > 1 ? 15 : 0, data, 0, four));
                b.read_bytes(b.bar0 + 0x400 + place, words, 15, words > 1 ? 15 : 0, got, result, four);
                if (got != data)
                    b.fail("%u words to registers at %x", words, place);
            }
        }
    for (unsigned beats = 1; beats <= 64; beats++) {
        AxiRead read = {0x10000ull * beats, beats, 1, false, {}, {}, false};
        b.read_queue.push_back(&read);
        b.settle();
        for (unsigned i = 0; i < read.data.size(); i++)
            EXPECT(b, "beat", read.data[i],
                   b.host.word(read.address + 8 * i) | uint64_t(b.host.word(read.address + 8 * i + 4)) << 32);
        EXPECT(b, "beats", read.data.size(), beats);
    }
    EXPECT(b, "refused", b.counts.malformed + b.counts.unsupported + b.counts.unexpected, 0);
    // A digest that is announced and missing, or there and not announced, is an error of form.
    b.digests = 0;
    b.send({0x40008001, 0x0000000f, b.bar0, 1});
    b.send({0x00008001, 0x0000000f, b.bar0});
    b.send({0x00000001, 0x0000000f, b.bar0, 1});
    b.settle();
    EXPECT(b, "malformed", b.counts.malformed, 3);
}

// Requests that wait for the link as bus mastering is switched off do not leave before it is on again.
static void without_bus_mastering(Bench &b)
{
    b.configure(128, 512, 64);
    AxiWrite write = {0x900000, 2, 7, false, {1, 2}, {255, 255}, false, 0};
    AxiRead read = {0x500000, 8, 1, false, {}, {}, false};
    b.withheld[POSTED] = b.withheld[REQUEST] = true;
    b.write_queue.push_back(&write);
    b.read_queue.push_back(&read);
    b.run(100);
    b.config_write(0x04, 2);
    b.withheld[POSTED] = b.withheld[REQUEST] = false;
    b.run(500);
    EXPECT(b, "writes", b.posted.size(), 0);
    EXPECT(b, "read requests", b.read_requests, 0);
    EXPECT(b, "done", write.done || read.done, 0);
    b.config_write(0x04, 6);
    b.settle();
    EXPECT(b, "writes", b.posted.size(), 1);
    EXPECT(b, "read requests", b.read_requests, 1);
    EXPECT(b, "done", write.done && read.done, 1);
}

// A function reset goes on until the core, the fetcher, the engine and what has begun on the link are at rest,
// whichever of them is the last; then the units behind are reset, for one cycle.
static void resets_wait_for_all_that_acts(Bench &b)
{
    for (unsigned last = 0; last < 4; last++) {
        b.configure(128, 512, 64);
        AxiWrite write = {0x900000, 2, 7, false, {}, {}, false, 0};
        write.data.assign(16, 0x1234);
        write.strobe.assign(16, 255);
        b.write_queue.push_back(&write);
        for (unsigned n = 0; n < 200 && !b.top->m_axis_tlp_tvalid; n++)
            b.tick();
        b.tick();
        b.deaf = true; // In the middle of its packet.
        b.top->at_rest = 0;
        b.send({0x44000001, 0x0008ff0f, uint32_t(b.device_id) << 16 | 0x48, 0x8000});
        b.run(100);
        unsigned units = 0;
        auto wait = [&](bool ends) {
            for (unsigned n = 0; n < 300; n++) {
                EXPECT(b, "it goes on", b.top->function_resetting || (ends && units), 1);
                units += b.top->reset_units;
                b.tick();
            }
        };
        b.top->at_rest = 7 & ~(1u << last);
        b.deaf = last == 3;
        b.top->eval();
        wait(false);
        EXPECT(b, "resets of the units before", units, 0);
        b.top->at_rest = 7;
        b.deaf = false;
        b.top->eval();
        wait(true);
        EXPECT(b, "resets of the units", units, 1);
        EXPECT(b, "it has ended", b.top->function_resetting, 0);
        b.settle();
        b.completions.clear();
        b.posted.clear();
    }
}

// A message that was taken but has not begun as a function reset comes is thrown away, though the link takes nothing
// for long: it is not kept for when the function may speak again.
static void reset_behind_a_link_that_stands(Bench &b)
{
    for (unsigned deaf_for : {20u, 300u, 3000u}) {
        b.configure(128, 512, 64);
        b.config_write(0x84, 0xfee00000);
        b.config_write(0x80, 0x10000);
        b.top->interrupt_enable = 1;
        b.config_write(0x48, 0x000f280f); // Every error is told.
        b.settle();
        b.posted.clear();
        b.messages.clear();
        b.deaf = true;
        for (unsigned n = 0; n < 3; n++) {
            b.top->interrupt_cause = 1;
            b.run(20);
        }
        // Three errors, each with a message of its own.
        b.send({0x40000002, 0x000000ff, 0x1000, 1});
        b.send({0x4a000002, 0x01000008, uint32_t(b.device_id) << 16 | 0x1f00, 1, 2});
        b.send(b.memory_request(true, 0x1000, 1, 15, 0, {1}, 0));
        b.run(20);
        b.send({0x44000001, 0x0008ff0f, 0x03000048, 0xa820}); // Initiate Function Level Reset.
        b.run(deaf_for);
        b.deaf = false;
        EXPECT(b, "completions", b.collect(0xff).size(), 1);
        b.settle();
        unsigned before = unsigned(b.posted.size());
        b.configure(128, 512, 64);
        b.config_write(0x84, 0xfed00000);
        b.config_write(0x80, 0x10000);
        b.settle();
        EXPECT(b, "messages that had begun", before + b.messages.size() <= 1, 1);
        EXPECT(b, "messages after the reset", b.posted.size(), before);
        // What is sent afterwards has its own data, not that of what was thrown away.
        b.posted.clear();
        for (uint64_t n = 1; n <= 5; n++) {
            AxiWrite write = {0x900000 + 64 * n, 2, 7, false, {n, ~n}, {255, 255}, false, 0};
            b.write_queue.push_back(&write);
            b.settle();
            EXPECT(b, "writes", b.posted.size(), n);
            if (b.posted.size() == n && b.posted.back().data.size() == 4)
                EXPECT(b, "word", b.posted.back().data[0] == n && b.posted.back().data[2] == uint32_t(~n), 1);
        }
        b.posted.clear();
    }
}

const Case link_cases[] = {
    {"writes_get_in", writes_get_in},
    {"requests_not_held", requests_not_held},
    {"kinds_pass", kinds_pass},
    {"smallest_credits", smallest_credits},
    {"power_states", power_states},
    {"digests", digests},
    {"reset_behind_a_link_that_stands", reset_behind_a_link_that_stands},
    {"without_bus_mastering", without_bus_mastering},
    {"resets_wait_for_all_that_acts", resets_wait_for_all_that_acts},
    {nullptr, nullptr},
};
