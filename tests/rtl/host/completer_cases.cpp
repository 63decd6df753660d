// SPDX-License-Identifier: Apache-2.0
// Requests of the host: configuration space, BAR0, and everything that is refused.
#include "cases.h"

#include <algorithm>

static void config_space(Bench &b)
{
    EXPECT(b, "ID", b.config_read(0x00), 0xfe011209);
    b.config_write(0x3c, 0);
    EXPECT(b, "COMMAND", b.config_read(0x04), 0x00100000);
    EXPECT(b, "CLASS", b.config_read(0x08), 0x03020006);
    EXPECT(b, "SUBSYSTEM", b.config_read(0x2c), 0xfe011209);
    EXPECT(b, "CAPABILITY", b.config_read(0x34), 0x40);
    EXPECT(b, "PCIE", b.config_read(0x40), 0x00028010);
    EXPECT(b, "DEVICE_CAPABILITIES", b.config_read(0x44), 0x10008021);
    EXPECT(b, "DEVICE_CONTROL", b.config_read(0x48), 0x2800);
    EXPECT(b, "LINK_CAPABILITIES", b.config_read(0x4c), 0x00400011);
    EXPECT(b, "LINK_CONTROL", b.config_read(0x50), 0x00110000);
    EXPECT(b, "DEVICE_CAPABILITIES2", b.config_read(0x64), 0x10);
    EXPECT(b, "LINK_CAPABILITIES2", b.config_read(0x6c), 2);
    EXPECT(b, "MSI", b.config_read(0x80), 0x0180a005);
    EXPECT(b, "POWER", b.config_read(0xa0), 0x00030001);
    EXPECT(b, "POWER_CONTROL", b.config_read(0xa4), 8);
    for (unsigned reg : {0x14, 0x20, 0x24, 0x28, 0x30, 0x98, 0xffc})
        EXPECT(b, "hole", b.config_read(reg), 0);
    // Behind the first 256 bytes is nothing, and what is written there reaches nothing of them.
    for (unsigned far = 0x100; far < 0x1000; far *= 2)
        for (unsigned reg : {0x00, 0x04, 0x10, 0x34, 0x84}) {
            uint32_t near = b.config_read(reg);
            b.config_write(far + reg, 0xffffffff);
            EXPECT(b, "far hole", b.config_read(far + reg), 0);
            EXPECT(b, "near register", b.config_read(reg), near);
        }
    // Sizing: all ones, then the size is read back as zeros.
    for (unsigned reg : {0x10, 0x14, 0x18, 0x1c, 0x20, 0x24})
        b.config_write(reg, 0xffffffff);
    EXPECT(b, "BAR0 size", b.config_read(0x10), 0xffff0000);
    EXPECT(b, "BAR1", b.config_read(0x14), 0);
    EXPECT(b, "BAR2 low size", b.config_read(0x18), 0xf800000c);
    EXPECT(b, "BAR2 high size", b.config_read(0x1c), 0xffffffff);
    // Each byte by itself.
    b.config_write(0x10, 0x12345678, 4);
    EXPECT(b, "BAR0 one byte", b.config_read(0x10), 0xff340000);
    for (unsigned reg : {0x84, 0x88, 0x8c})
        for (unsigned enable = 0; enable < 16; enable++) {
            uint32_t old = b.config_read(reg), value = uint32_t(b.generator()), mask = 0;
            for (int i = 0; i < 4; i++)
                mask |= enable >> i & 1 ? 0xffu << 8 * i : 0;
            uint32_t writable = reg == 0x84 ? 0xfffffffc : reg == 0x88 ? 0xffffffff : 0xffff;
            b.config_write(reg, value, enable);
            EXPECT(b, "MSI register", b.config_read(reg), ((value & mask) | (old & ~mask)) & writable);
        }
    b.config_write(0x0c, 0xffffffff);
    EXPECT(b, "CACHE_LINE", b.config_read(0x0c), 0xff);
    b.config_write(0x68, 0xffffffff);
    EXPECT(b, "DEVICE_CONTROL2", b.config_read(0x68), 0x10);
    b.config_write(0x04, 0xffffffff);
    EXPECT(b, "COMMAND", b.config_read(0x04), 0x00100146);
    // Another function is not there; a poisoned write changes nothing.
    std::vector<Completion> got;
    for (uint32_t function = 1; function < 8; function++) {
        b.send({0x04000001, 0x0008110f, 0x03000000 | function << 16});
        got = b.collect(0x11);
        EXPECT(b, "another function", got[0].status, 1);
        EXPECT(b, "unsupported", b.counts.unsupported, function);
    }
    b.send({0x44004001, 0x0008120f, 0x03000010, 0});
    got = b.collect(0x12);
    EXPECT(b, "poisoned write", got[0].status, 1);
    EXPECT(b, "poisoned", b.counts.poisoned, 1);
    EXPECT(b, "BAR0", b.config_read(0x10), 0xff340000);
}

// Each byte of a register is written by itself: what of it can be, and nothing else.
static void config_bytes(Bench &b)
{
    // What can be written; what reads as it is.
    const struct {
        unsigned reg;
        uint32_t writable, fixed;
    } registers[] = {{0x04, 0x00000146, 0x00100000}, {0x0c, 0x000000ff, 0}, {0x10, 0xffff0000, 0},
                     {0x18, 0xf8000000, 0x0000000c}, {0x1c, 0xffffffff, 0}, {0x48, 0x000079ef, 0},
                     {0x50, 0x00000008, 0x00110000}, {0x68, 0x00000010, 0}, {0x80, 0x00010000, 0x0180a005},
                     {0x84, 0xfffffffc, 0},          {0x88, 0xffffffff, 0}, {0x8c, 0x0000ffff, 0},
                     {0x90, 0x00000001, 0}};
    for (unsigned round = 0; round < 8; round++)
        for (auto &r : registers)
            for (unsigned enable = 0; enable < 16; enable++) {
                // Never a function reset.
                uint32_t old = b.config_read(r.reg), mask = 0;
                uint32_t value = uint32_t(b.generator()) & (r.reg == 0x48 ? 0xffff7fff : 0xffffffff);
                for (int i = 0; i < 4; i++)
                    mask |= enable >> i & 1 ? 0xffu << 8 * i : 0;
                b.config_write(r.reg, value, enable);
                EXPECT(b, "register", b.config_read(r.reg), (((value & mask) | (old & ~mask)) & r.writable) | r.fixed);
            }
    // Bits of the device's errors go by a 1 in their own byte.
    b.configure(128, 512, 64);
    b.send({0x40000002, 0x000000ff, 0x1000, 1}); // Malformed.
    b.settle();
    EXPECT(b, "errors", b.config_read(0x48) >> 16 & 15, 4);
    b.config_write(0x48, 0xffff7fff, 11);
    EXPECT(b, "errors", b.config_read(0x48) >> 16 & 15, 4);
    b.config_write(0x48, 0xfffb7fff, 4);
    EXPECT(b, "errors", b.config_read(0x48) >> 16 & 15, 4);
    b.config_write(0x48, 0x00040000, 4);
    EXPECT(b, "errors", b.config_read(0x48) >> 16 & 15, 0);
    b.messages.clear();
}

// All eight settings of the maximum payload and of the maximum read request: what is larger than the device's largest
// stands for that.
static void config_sizes(Bench &b)
{
    b.configure(128, 512, 64);
    for (unsigned setting = 0; setting < 64; setting++) {
        unsigned reads = setting >> 3, payload = setting & 7;
        b.payload = payload ? 256 : 128;
        b.read_request = reads < 2 ? 128u << reads : 512;
        b.config_write(0x48, 0x0800 | reads << 12 | payload << 5);
        uint64_t before = b.read_requests;
        AxiRead read = {0x123000, 64, 1, false, {}, {}, false};
        AxiWrite write = {0x900000, 2, 7, false, std::vector<uint64_t>(32), std::vector<uint8_t>(32, 255), false, 0};
        b.read_queue.push_back(&read);
        b.write_queue.push_back(&write);
        b.settle();
        EXPECT(b, "read requests", b.read_requests - before, 512 / b.read_request);
        EXPECT(b, "writes", b.posted.size(), 256 / b.payload);
        b.posted.clear();
    }
}

// All that can be set is as after power-on behind a function level reset, but for what belongs to the link (6.6.2).
static void config_space_after_a_function_reset(Bench &b)
{
    std::vector<uint32_t> at_first;
    std::vector<unsigned> set;
    for (unsigned reg = 0; reg < 256; reg += 4)
        at_first.push_back(b.config_read(reg));
    for (unsigned reg = 0; reg < 256; reg += 4)
        b.config_write(reg, reg == 0x48 ? 0xffff7fff : 0xffffffff);
    // Status bits: a packet that is malformed, and one that is poisoned.
    b.send({0x40000002, 0x000000ff, 0x1000, 1});
    b.send({0x40004001, 0x0000000f, 0x1000, 1});
    b.settle();
    for (unsigned reg = 0; reg < 256; reg += 4)
        if (b.config_read(reg) != at_first[reg / 4])
            set.push_back(reg);
    if (set !=
        std::vector<unsigned>{0x04, 0x0c, 0x10, 0x18, 0x1c, 0x48, 0x50, 0x68, 0x80, 0x84, 0x88, 0x8c, 0x90, 0xa4})
        b.fail("%zu registers were set", set.size());
    EXPECT(b, "errors of the link", b.config_read(0x04) >> 24, 0xc0);
    EXPECT(b, "errors of the device", b.config_read(0x48) >> 16, 6);
    // What is written beside the bit that asks for it does not stay either, be it 0 or 1.
    for (uint32_t asks : {0x8000, 0xff00}) {
        b.config_write(0x48, asks, 2);
        b.settle();
        for (unsigned reg = 0; reg < 256; reg += 4) {
            uint32_t kept = reg == 0x48 ? 7 << 5 : reg == 0x50 ? 1 << 3 : 0;
            if (b.config_read(reg) != (at_first[reg / 4] | kept))
                b.fail("register %02x is %08x after a function reset", reg, b.config_read(reg));
        }
    }
    b.messages.clear();
}

static void bar0_enables(Bench &b)
{
    b.digests = 50;
    b.configure(128, 512, 64);
    for (int round = 0; round < 2; round++, stalls(b, 30))
        for (unsigned first = 0; first < 16; first++)
            for (unsigned last = 0; last < 16; last++)
                for (unsigned words = 1; words <= 5; words++) {
                    unsigned at = b.random(1000) * 4;
                    if (words > 1) {
                        bool whole = words == 2 && !(at & 4);
                        bool runs = (first == 15 || first == 14 || first == 12 || first == 8) &&
                                    (last == 15 || last == 7 || last == 3 || last == 1);
                        if (!first || !last || !(whole || runs))
                            continue;
                    } else if (last) {
                        continue;
                    }
                    std::vector<uint32_t> want = b.registers, data = random_words(b, words), got;
                    for (unsigned i = 0; i < words; i++)
                        for (int byte = 0; byte < 4; byte++) {
                            unsigned enable = i == 0 ? first : i + 1 == words ? last : 15;
                            if (enable >> byte & 1)
                                want[at / 4 + i] =
                                    (want[at / 4 + i] & ~(0xffu << 8 * byte)) | (data[i] & (0xffu << 8 * byte));
                        }
                    int four = int(b.random(2));
                    b.send(b.memory_request(true, b.bar0 + at, words, first, last, data, 0, four));
                    uint8_t status = 0;
                    b.read_bytes(b.bar0 + at, words, first, last, got, status, four);
                    EXPECT(b, "status", status, 0);
                    for (unsigned i = 0; i < words && i < got.size(); i++)
                        EXPECT(b, "read back", got[i], want[at / 4 + i]);
                    if (b.registers != want)
                        b.fail("registers differ after write of %u words %x %x at %x", words, first, last, at);
                }
    EXPECT(b, "refused", b.counts.unsupported + b.counts.malformed, 0);
}

// Writes overtake a read on the register bus only while it has not been asked: what it was asked it answers, as it was
// before a write behind it.
static void bar0_reads_and_writes(Bench &b)
{
    b.configure(128, 512, 64);
    b.stall_reg = 85;
    for (unsigned round = 0; round < 100; round++) {
        const unsigned before = b.reg_writes;
        uint32_t was = b.registers[4], value = was + 1 + round;
        b.send(b.memory_request(false, b.bar0 + 0x10, 1, 15, 0, {}, 0x51));
        b.send(b.memory_request(true, b.bar0 + 0x10, 1, 15, 0, {value}, 0));
        std::vector<Completion> c = b.collect(0x51);
        b.stall_reg = 0; // Else the write may wait for longer than what counts as settled.
        b.settle();
        b.stall_reg = 85;
        EXPECT(b, "completions", c.size(), 1);
        if (c.size() == 1 && c[0].data.size() == 1)
            EXPECT(b, "word, old or new", c[0].data[0] == was || c[0].data[0] == value, 1);
        EXPECT(b, "register", b.registers[4], value);
        EXPECT(b, "register writes", b.reg_writes, before + 1);
    }
}

static void bar0_long_reads(Bench &b)
{
    for (unsigned payload : {128, 256}) {
        b.configure(payload, 512, 64);
        stalls(b, 20);
        for (unsigned words : {1, 2, 3, 31, 32, 33, 63, 64, 65, 100, 1024})
            for (int i = 0; i < 6; i++) {
                unsigned page = b.random(16) * 4096, word = b.random(1025 - words);
                std::vector<uint32_t> got;
                uint8_t status = 9;
                b.read_bytes(b.bar0 + page + word * 4, words, 15, words > 1 ? 15 : 0, got, status);
                EXPECT(b, "status", status, 0);
                for (unsigned j = 0; j < got.size(); j++)
                    EXPECT(b, "word", got[j], b.registers[page / 4 + word + j]);
            }
        stalls(b, 0);
    }
}

static void zero_length_reads(Bench &b)
{
    b.configure(128, 512, 64);
    for (uint64_t address : {uint64_t(b.bar0 + 0x24), b.bar2 + 0x1000, b.bar2 + 0x1004, b.bar2 + 0x3fffff8}) {
        std::vector<uint32_t> got;
        uint8_t status = 9;
        b.read_bytes(address, 1, 0, 0, got, status);
        EXPECT(b, "status", status, 0);
        EXPECT(b, "words", got.size(), 1);
        b.send(b.memory_request(true, address, 1, 0, 0, {0xdeadbeef}, 0));
    }
    b.settle();
    EXPECT(b, "register writes", b.reg_writes, 0);
    EXPECT(b, "bytes written", b.local.memory.bytes_.size(), 0);
    EXPECT(b, "refused", b.counts.unsupported + b.counts.malformed, 0);
}

// What is not there: Unsupported Request for what wants an answer, a count for what is posted.
static void unsupported(Bench &b)
{
    uint64_t expected = 0;
    std::vector<uint32_t> got;
    uint8_t status = 0;
    b.digests = 25;
    auto refused = [&](const Packet &packet, uint8_t tag, unsigned byte_count) {
        b.send(packet);
        auto c = b.collect(tag);
        expected++;
        EXPECT(b, "completions", c.size(), 1);
        if (c.size()) {
            EXPECT(b, "status", c[0].status, 1);
            EXPECT(b, "data", c[0].has_data, 0);
            EXPECT(b, "byte count", c[0].byte_count, byte_count);
        }
        EXPECT(b, "count", b.counts.unsupported, expected);
    };
    b.configure(128, 512, 64);
    b.config_write(0x04, 4);
    b.read_bytes(b.bar0, 1, 15, 0, got, status);
    EXPECT(b, "status with memory off", status, 1);
    expected++;
    b.config_write(0x04, 6);
    for (int round = 0; round < 2; round++, stalls(b, 40)) {
        const std::vector<uint64_t> nowhere = {
            b.bar0 - 4, b.bar0 + 0x10000ull, b.bar2 - 4, b.bar2 + (2ull << 26), (1ull << 32) + b.bar0, uint32_t(b.bar2),
            1ull << 63,
            // The half of BAR2 that belongs to the aperture segment: first page, one inside, last.
            b.bar2 + (1ull << 26), b.bar2 + (1ull << 26) + 0x5000, b.bar2 + (2ull << 26) - 4};
        for (uint64_t address : nowhere) {
            refused(b.memory_request(false, address, 1, 6, 0, {}, 0x21), 0x21, 2);
            refused(b.memory_request(false, address & ~127ull, 2, 12, 3, {}, 0x22), 0x22, 4);
            refused(b.memory_request(false, address & ~4095ull, 1024, 15, 15, {}, 0x23), 0x23, 0);
            b.send(b.memory_request(true, address & ~127ull, 32, 15, 15, random_words(b, 32), 0));
            expected++;
            b.settle();
            EXPECT(b, "count", b.counts.unsupported, expected);
        }
        refused({0x02000001, 0x0008310f, 0x1000}, 0x31, 4);                // IORd
        refused({0x42000001, 0x0008320f, 0x1000, 5}, 0x32, 4);             // IOWr
        refused({0x05000001, 0x0008330f, 0x04000000}, 0x33, 4);            // CfgRd1
        refused({0x45000001, 0x0008340f, 0x04000000, 7}, 0x34, 4);         // CfgWr1
        refused({0x01000001, 0x0008350f, b.bar0}, 0x35, 4);                // MRdLk
        refused({0x01000001, 0x00083506, b.bar0}, 0x35, 2);                // MRdLk of two bytes
        refused({0x01000002, 0x0008351c, b.bar0}, 0x35, 3);                // MRdLk of three in two words
        refused({0x4c000001, 0x0008360f, b.bar0, 7}, 0x36, 4);             // FetchAdd
        refused({0x6e000004, 0x000837ff, 5, b.bar0, 1, 2, 3, 4}, 0x37, 4); // CAS
        // Messages are taken without an answer.
        b.send({0x34000000, 0x00080000, 0, 0});
        b.send({0x74000001, 0x00080050, 0, 0, 0x12345678});
        b.read_bytes(b.bar0 + 8, 1, 15, 0, got, status);
        EXPECT(b, "register", got.empty() ? 0 : got[0], b.registers[2]);
    }
    // A read that the window refuses and writes behind it that find nothing, so close together that some are counted in
    // one cycle.
    b.top->local_limit = 0x1000;
    stalls(b, 0);
    for (unsigned round = 0; round < 40; round++) {
        b.send(b.memory_request(false, b.bar2 + 0x2000, 1, 15, 0, {}, 0x41));
        b.run(round / 2);
        for (unsigned i = 0; i < 3; i++)
            b.send(b.memory_request(true, b.bar0 - 4, 1, 15, 0, {i}, 0));
        b.collect(0x41);
        b.settle();
        EXPECT(b, "count of four", b.counts.unsupported, expected += 4);
    }
    EXPECT(b, "register writes", b.reg_writes, 0);
    EXPECT(b, "bytes", b.local.memory.bytes_.size(), 0);
    EXPECT(b, "bursts", b.local.read_bursts + b.local.write_bursts, 0);
    EXPECT(b, "malformed", b.counts.malformed, 0);
}

static void malformed(Bench &b)
{
    b.configure(128, 512, 64);
    uint32_t r = b.bar0;
    std::vector<Packet> bad = {
        {0x40000001, 0x0000000f},                    // no address
        {0x40000001},                                // one word
        {0x40000002, 0x000000ff, r, 1},              // shorter than its length
        {0x40000003, 0x000000ff, r, 1, 2},           //
        {0x40000001, 0x0000000f, r, 1, 2},           // longer
        {0x40000001, 0x0000000f, r, 1, 2, 3},        //
        {0x60000001, 0x0000000f, 0, r},              //
        {0x00000001, 0x0000000f, r, 1},              // read with data
        {0x20000001, 0x0000000f, 0, r, 1},           //
        {0x20000001, 0x0000000f, 0},                 //
        {0x40000001, 0x0000001f, r, 1},              // last enables of one word
        {0x40000002, 0x0000000f, r, 1, 2},           // none of two
        {0x40000002, 0x000000f0, r, 1, 2},           //
        {0x40000002, 0x000000f5, r + 4, 1, 2},       // holes
        {0x40000002, 0x0000005f, r + 4, 1, 2},       //
        {0x40000003, 0x000000f9, r, 1, 2, 3},        //
        {0x40000003, 0x000000ef, r, 1, 2, 3},        //
        {0x40004003, 0x000000ef, r, 1, 2, 3},        // and poisoned, which counts for nothing then
        {0x00000002, 0x000000ff, r + 4092},          // crosses 4 KiB
        {0x00000000, 0x000000ff, r + 4},             //
        {0x40000002, 0x000000ff, r + 4092, 1, 2},    //
        {0x60000002, 0x000000ff, 0, r + 8188, 1, 2}, //
        {0x80000001, 0x0000000f, r},                 // unknown formats and types
        {0xc0000001, 0x0000000f, r, 1},              //
        {0x0f000001, 0x0000000f, r},                 //
        {0x43000001, 0x0000000f, r, 1},              //
        {0x41000001, 0x0000000f, r, 1},              //
        {0x24000001, 0x0000000f, 0, r},              //
        {0x0c000001, 0x0000000f, r},                 //
        {0x10000000, 0x00000000, 0},                 //
        {0x40008001, 0x0000000f, r, 1},              // digest that is not there
        {0x04000002, 0x0000000f, 0x03000000},        // configuration of two words
        {0x04000001, 0x0000001f, 0x03000000},        //
        {0x2a000000, 0x00002000, 0, 0},              // completions of four header words
        {0x6a000002, 0x00000008, 0, 0, 1, 2},        //
    };
    // Of more than two words the first ones that count are those to the end, the last ones those from the beginning.
    for (uint32_t enable = 1; enable < 15; enable++) {
        if (enable != 0xe && enable != 0xc && enable != 8)
            bad.push_back({0x40000003, 0xf0 | enable, r, 1, 2, 3});
        if (enable != 7 && enable != 3 && enable != 1)
            bad.push_back({0x40000003, enable << 4 | 0xf, r, 1, 2, 3});
    }
    Packet big = b.memory_request(true, r, 33, 15, 15, random_words(b, 33), 0);
    bad.push_back(big);
    big = b.memory_request(true, r, 64, 15, 15, random_words(b, 64), 0);
    bad.push_back(big);
    // Every length between the maximum payload and half a page.
    for (unsigned words = 34; words < 512; words += words < 70 || words % 32 == 31 ? 1 : 31)
        bad.push_back(b.memory_request(true, r, words, 15, 15, random_words(b, words), 0));
    Packet huge = b.memory_request(true, r, 0, 15, 15, random_words(b, 1024), 0);
    bad.push_back(huge);
    huge = b.memory_request(true, r, 8, 15, 15, random_words(b, 3000), 0);
    bad.push_back(huge);
    std::vector<uint32_t> before = b.registers, got;
    uint64_t expected = 0;
    for (int round = 0; round < 3; round++, stalls(b, 25)) {
        for (auto &packet : bad) {
            b.send(packet);
            expected++;
            if (round == 1)
                continue;
            uint8_t status = 9;
            b.read_bytes(r + 0x40, 1, 15, 0, got, status);
            EXPECT(b, "status", status, 0);
            if (b.counts.malformed != expected)
                b.fail("packet %08x %08x of %zu words: %llu counted, expected %llu", packet[0],
                       packet.size() > 1 ? packet[1] : 0, packet.size(), (unsigned long long)b.counts.malformed,
                       (unsigned long long)expected);
        }
        b.settle(100000);
        EXPECT(b, "malformed", b.counts.malformed, expected);
        EXPECT(b, "others", b.counts.poisoned + b.counts.unexpected, 0);
    }
    // With the other maximum payload too.
    b.configure(256, 512, 64);
    stalls(b, 0);
    for (unsigned words = 65; words < 512; words += words < 130 || words % 64 == 63 ? 1 : 31, expected++)
        b.send(b.memory_request(true, r, words, 15, 15, random_words(b, words), 0));
    b.settle(100000);
    EXPECT(b, "malformed", b.counts.malformed, expected);
    if (b.registers != before || !b.completions.empty())
        b.fail("a malformed packet had an effect");
    EXPECT(b, "others", b.counts.unsupported + b.counts.poisoned + b.counts.unexpected, 0);
}

static void poisoned(Bench &b)
{
    b.configure(128, 512, 64);
    std::vector<uint32_t> before = b.registers;
    for (unsigned words = 1; words <= 32; words++) {
        Packet packet = b.memory_request(true, b.bar0 + 64, words, 15, words > 1 ? 15 : 0, random_words(b, words), 0);
        packet[0] |= 0x4000;
        b.send(packet);
        packet = b.memory_request(true, b.bar2 + 64, words, 15, words > 1 ? 15 : 0, random_words(b, words), 0);
        packet[0] |= 0x4000;
        b.send(packet);
    }
    b.settle();
    if (b.registers != before || !b.local.memory.bytes_.empty())
        b.fail("a poisoned write had an effect");
    EXPECT(b, "poisoned", b.counts.poisoned, 64);
    EXPECT(b, "others", b.counts.unsupported + b.counts.malformed + b.counts.unexpected, 0);
    // What is malformed is nothing else (6.2.3.2.3).
    b.config_write(0x04, 0xf9000006);
    b.send({0x40004002, 0x000000ff, b.bar0 + 64, 1});
    b.settle();
    EXPECT(b, "poisoned", b.counts.poisoned, 64);
    EXPECT(b, "malformed", b.counts.malformed, 1);
    EXPECT(b, "Detected Parity Error", b.config_read(0x04) >> 31, 0);
}

// Of all codes of messages those are taken without a word that any function may be sent (2.2.8); every other is an
// Unsupported Request, and none is counted as a request that was answered.
static void message_codes(Bench &b)
{
    static const uint8_t silent[] = {0x00, 0x14, 0x19, 0x40, 0x41, 0x43, 0x44, 0x45, 0x47, 0x48, 0x50, 0x7f};
    b.configure(128, 512, 64);
    const uint64_t before = b.counts.unsupported;
    for (unsigned code = 0; code < 256; code++)
        for (unsigned form = 0; form < 2; form++) {
            const uint32_t routing = (code + form) % 8 << 24;
            b.config_write(0x48, 0x000f2800);
            b.send(form ? Packet{0x70000001 | routing, 0x00081200 | code, 0, 0, 7}
                        : Packet{0x30000000 | routing, code, 0, 0});
            b.settle();
            const bool taken = std::find(std::begin(silent), std::end(silent), code) != std::end(silent);
            const uint32_t status = b.config_read(0x48) >> 16 & 15; // 10: non-fatal, Unsupported Request.
            if (status != (taken ? 0u : 10u))
                b.fail("a message of code %02x: device status %x", code, status);
        }
    EXPECT(b, "counted", b.counts.unsupported, before);
}

const Case completer_cases[] = {
    {"config_space", config_space},
    {"config_bytes", config_bytes},
    {"config_sizes", config_sizes},
    {"config_space_after_a_function_reset", config_space_after_a_function_reset},
    {"bar0_enables", bar0_enables},
    {"bar0_reads_and_writes", bar0_reads_and_writes},
    {"bar0_long_reads", bar0_long_reads},
    {"zero_length_reads", zero_length_reads},
    {"unsupported", unsupported},
    {"malformed", malformed},
    {"poisoned", poisoned},
    {"message_codes", message_codes},
    {nullptr, nullptr},
};
