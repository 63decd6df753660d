// SPDX-License-Identifier: Apache-2.0
// Reads of the device's own that are answered wrongly, late or never, and answers that nobody waits for.
#include "requester.h"

// Error answers, poison and time-outs at random among good reads: each burst gets its own fault and no other.
static void read_faults(Bench &b)
{
    b.configure(128, 512, 64);
    b.top->completion_timeout = 10000;
    uint64_t timeouts = 0;
    for (int round = 0; round < 12; round++) {
        Work work;
        b.treatments.clear();
        stalls(b, round & 1 ? 20 : 0);
        b.latency = b.random(200);
        // A burst takes up to five tags. When most of the 32 wait for a late completion, requests stand still until the
        // device rightly gives the oldest up, which is timeout_limits' case and not this one.
        int silent = 0;
        for (int i = 0; i < 40; i++) {
            uint64_t page = 0x1000 + round * 64 + i;
            Treatment treatment = b.chance(30) ? Treatment(1 + b.random(5)) : ANSWER;
            silent += treatment == LOSE || treatment == LATE;
            if (treatment != ANSWER && (silent <= 3 || (treatment != LOSE && treatment != LATE)))
                b.treatments[page] = treatment;
            unsigned beats = 1 + b.random(256);
            work.read(b, (page << 12) + 8 * b.random(513 - beats), beats);
        }
        b.settle(400000);
        for (auto &r : work.reads) {
            auto at = b.treatments.find(r.address >> 12);
            Treatment t = at == b.treatments.end() ? ANSWER : at->second;
            if (t == ANSWER) {
                check_data(b, r);
                continue;
            }
            uint8_t want = t == UNSUPPORTED ? 10 : t == ABORT || t == POISON ? 11 : 12;
            timeouts += want == 12;
            for (size_t i = 0; i < r.data.size(); i++)
                EXPECT(b, "fault", r.faults[i], want);
            EXPECT(b, "served", r.done, 1);
        }
        // What was late or lost comes after all, split, while other reads run.
        uint64_t unexpected = b.counts.unexpected, late = b.kept.size();
        for (auto &k : b.kept) {
            k.treatment = ANSWER;
            k.due = 0;
            b.reads.push_back(k);
        }
        b.kept.clear();
        Work more;
        for (int i = 0; i < 20; i++)
            more.read(b, random_page(b) | (1ull << 50), 256);
        b.settle(400000);
        for (auto &r : more.reads)
            check_data(b, r);
        if (b.counts.unexpected < unexpected + late)
            b.fail("%llu late reads, %llu dropped completions", (unsigned long long)late,
                   (unsigned long long)(b.counts.unexpected - unexpected));
    }
    if (!timeouts)
        b.fail("no time-out was tried");
    EXPECT(b, "malformed", b.counts.malformed, 0);
}

static void timeout_limits(Bench &b)
{
    b.configure(256, 512, 64);
    for (unsigned limit : {64, 100, 1000, 20000}) {
        Work work;
        b.top->completion_timeout = 0;
        b.run(10);
        b.settle();
        b.top->completion_timeout = limit;
        b.treatments[0x99] = LOSE;
        AxiRead &r = work.read(b, 0x99000, 64);
        uint64_t start = b.cycle;
        while (!r.done && b.cycle < start + 100000)
            b.tick();
        uint64_t took = b.cycle - start;
        if (took < limit || took > limit + limit / 8 + 200)
            b.fail("time-out %u came after %llu cycles", limit, (unsigned long long)took);
        EXPECT(b, "fault", r.faults[0], 12);
        // The tag is not used while its completion may come; the next 40 reads go around it.
        for (int i = 0; i < 40; i++)
            work.read(b, 0x100000 + 4096 * i, 8);
        b.settle(100000);
        b.kept.clear();
        // After a long time it is used again.
        b.run(20 * limit);
        b.max_outstanding = 0;
        b.answer = false;
        b.top->completion_timeout = 0;
        for (int i = 0; i < 40; i++)
            work.read(b, 0x200000 + 4096 * i, 8);
        b.run(1000);
        EXPECT(b, "tags in use", b.max_outstanding, 31);
        b.answer = true;
        b.settle(100000);
    }
    // What is shorter than a round over all tags can tell ends as soon as that can, whenever it begins.
    for (unsigned limit : {1, 8, 24, 63})
        for (unsigned phase = 0; phase < 8; phase++) {
            b.run(phase + b.random(32));
            b.top->completion_timeout = limit;
            b.treatments[0x99] = LOSE;
            Work work;
            AxiRead &r = work.read(b, 0x99000, 64);
            uint64_t start = b.cycle;
            while (!r.done && b.cycle < start + 2000)
                b.tick();
            uint64_t took = b.cycle - start;
            if (!r.done || took < limit || took > 72 + 200)
                b.fail("time-out %u came after %llu cycles", limit, (unsigned long long)took);
            if (r.done)
                EXPECT(b, "fault", r.faults[0], 12);
            b.top->completion_timeout = 0;
            b.treatments.clear();
            b.settle(100000);
            b.kept.clear();
        }
}

// Completions that nothing waits for, or that do not continue where they should, change nothing.
static void unexpected(Bench &b)
{
    b.configure(256, 512, 64);
    Work work;
    b.answer = false;
    AxiRead &r = work.read(b, 0x123000, 64);
    b.run(60);
    EXPECT(b, "waiting", b.reads.size(), 1);
    uint32_t tag = b.reads.empty() ? 0 : b.reads[0].tag, id = uint32_t(b.device_id) << 16;
    uint64_t expected = 0;
    auto drop = [&](uint32_t word0, uint32_t status, uint32_t bytes, uint32_t word2, unsigned words) {
        Packet packet = {word0 | words, 0x01000000u | status << 13 | bytes, word2};
        for (unsigned i = 0; i < words; i++)
            packet.push_back(0xbadbad00 + i);
        b.send(packet);
        b.settle_quietly();
        EXPECT(b, "unexpected", b.counts.unexpected, ++expected);
        EXPECT(b, "read data", b.r_beats, 0);
    };
    drop(0x4a000000, 0, 512, id | ((tag + 1) & 31) << 8, 32);        // a tag that does not wait
    drop(0x4a000000, 0, 512, id | (tag + 32) << 8, 32);              // no tag of ours
    drop(0x4a000000, 0, 512, (id ^ 0x10000) | tag << 8, 32);         // another requester
    drop(0x4a000000, 0, 256, id | tag << 8, 32);                     // wrong byte count
    drop(0x4a000000, 0, 0, id | tag << 8, 32);                       //
    drop(0x4a000000, 0, 513, id | tag << 8, 32);                     //
    drop(0x4a000000, 0, 512, id | tag << 8, 31);                     // half a beat
    drop(0x0a000000, 0, 512, id | tag << 8, 0);                      // success without data
    drop(0x0a000000, 1, 4, id | ((tag + 1) & 31) << 8, 0);           // an error for nobody
    b.send({0x4a000010, 0x01000000u | 512, id | tag << 8, 1, 2, 3}); // malformed
    b.settle_quietly();
    EXPECT(b, "malformed", b.counts.malformed, 1);
    b.answer = true;
    b.settle();
    check_data(b, r);
    EXPECT(b, "unexpected", b.counts.unexpected, expected);
}

// More data than was asked for, though the byte count is right: none of it is anybody's.
static void answer_too_long(Bench &b)
{
    b.configure(256, 512, 64);
    Work work;
    b.answer = false;
    AxiRead &r = work.read(b, 0x123000, 16);
    b.run(60);
    EXPECT(b, "waiting", b.reads.size(), 1);
    const uint32_t tag = b.reads.empty() ? 0 : b.reads[0].tag, id = uint32_t(b.device_id) << 16;
    for (unsigned words = 34, n = 1; words <= 64; words += 30, n++) {
        Packet packet = {0x4a000000u | words, 0x01000000u | 128, id | tag << 8};
        for (unsigned i = 0; i < words; i++)
            packet.push_back(0xbadbad00 + i);
        b.send(packet);
        b.settle_quietly();
        EXPECT(b, "unexpected", b.counts.unexpected, n);
        EXPECT(b, "read data", b.r_beats, 0);
    }
    b.answer = true;
    b.settle();
    check_data(b, r);
}

const Case requester_fault_cases[] = {
    {"read_faults", read_faults}, {"timeout_limits", timeout_limits},
    {"unexpected", unexpected},   {"answer_too_long", answer_too_long},
    {nullptr, nullptr},
};
