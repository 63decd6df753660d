// SPDX-License-Identifier: Apache-2.0
// A hostile host: random packets and mutated ones, of every type, length and place, reordered, poisoned, with and
// without digest, cut short and drawn out. An oracle written from the base specification (2.2, 2.3) alone says which of
// them are legal, what each changes and how it is answered; nothing else may change, and afterwards everything works.
// FERRY_HOSTILE says how many packets (make soak: a million).
#include "cases.h"
#include "hostile_packets.h"

#include <cstdlib>

namespace
{

const uint64_t LOCAL_BYTES = 1ull << 26;

struct Answer {
    uint16_t requester;
    uint8_t tag;
    bool good;
    uint32_t bytes; // Of a read that is served.
    bool has_data;
};

// What the rules make of packets, in the order in which they are sent.
class Oracle
{
  public:
    explicit Oracle(Bench &b) : b_(b), registers(b.registers) {}

    Memory local;
    std::deque<Answer> answers;
    uint64_t malformed = 0, poisoned = 0, unsupported = 0, refused = 0, completions = 0;
    // Configuration that decides what is legal.
    uint32_t bar0 = 0, command = 0, payload = 128, power = 0;
    uint64_t bar2 = 0;
    uint64_t limit = LOCAL_BYTES, protect_base = 0, protect_limit = 0;

    bool well_formed(const Packet &p) const
    {
        if (p.size() < 3)
            return false;
        const uint32_t format = p[0] >> 29, type = p[0] >> 24 & 31, words = length(p);
        const bool four = format & 1, data = format & 2;
        if (format > 3)
            return false;
        switch (type) {
        case 0x00: break; // Memory.
        case 0x01:
            if (data)
                return false;
            break; // Locked read.
        case 0x02:
        case 0x04:
        case 0x05: // I/O, configuration.
            if (four || words != 1 || (p[1] >> 4 & 15))
                return false;
            break;
        case 0x0a:
        case 0x0b:
            if (four)
                return false;
            break; // Completions.
        case 0x0c:
        case 0x0d:
        case 0x0e:
            if (!data)
                return false;
            break; // Atomics.
        case 0x10:
        case 0x11:
        case 0x12:
        case 0x13:
        case 0x14:
        case 0x15:
        case 0x16:
        case 0x17:
            if (!four)
                return false; // Messages.
            break;
        default: return false;
        }
        if (p.size() != (four ? 4u : 3u) + (data ? words : 0) + (p[0] >> 15 & 1))
            return false;
        if (data && 4 * words > payload)
            return false;
        if (type <= 1) {
            const uint32_t first = p[1] & 15, last = p[1] >> 4 & 15, offset = (four ? p[3] : p[2]) & 0xffc;
            if (offset + 4 * words > 4096)
                return false;
            if (words == 1)
                return last == 0;
            if (first == 0 || last == 0)
                return false;
            const bool aligned_pair = words == 2 && offset % 8 == 0;
            const bool up = ((first | (first - 1)) & 15) == 15, down = (last & (last + 1)) == 0;
            if (!aligned_pair && !(up && down))
                return false;
        }
        return true;
    }

    // A configuration write that the device carries out. What is sent around it must wait.
    bool configures(const Packet &p) const
    {
        return well_formed(p) && (p[0] >> 24) == 0x44 && !(p[0] >> 14 & 1) && (p[2] >> 16 & 7) == 0;
    }

    void sent(const Packet &p)
    {
        if (!well_formed(p)) {
            malformed++;
            return;
        }
        const uint32_t type = p[0] >> 24 & 31, words = length(p);
        const bool four = p[0] >> 29 & 1, data = p[0] >> 30 & 1, poison = data && (p[0] >> 14 & 1);
        poisoned += poison;
        if (type == 0x0a || type == 0x0b) {
            completions++;
            return;
        }
        if (type >= 0x10)
            return;
        const uint64_t address = (four ? uint64_t(p[2]) << 32 | p[3] : p[2]) & ~3ull;
        const bool enabled = (command & 2) && power == 0;
        const bool in_registers = enabled && type == 0 && address >> 16 == bar0 >> 16;
        const bool in_window = enabled && type == 0 && address - bar2 < LOCAL_BYTES && address >= bar2;
        if (type == 0 && data) {
            if (!poison)
                write(p, address, words, four ? 4 : 3, in_registers, in_window);
            return;
        }
        Answer a = {uint16_t(p[1] >> 16), uint8_t(p[1] >> 8), false, 0, false};
        if (type == 4 && !poison && (p[2] >> 16 & 7) == 0) {
            a.good = true;
            a.has_data = !data;
            a.bytes = 4;
            if (data)
                configure(p[2] & 0xffc, p[3], p[1] & 15);
        } else if (in_registers || (in_window && allowed(address - bar2, words))) {
            a.good = true;
            a.has_data = true;
            a.bytes = span(p[1] & 15, p[1] >> 4 & 15, words);
        } else if (in_window) {
            // A long read is cut at multiples of the payload, and ends with the first part that is refused.
            a.bytes = span(p[1] & 15, p[1] >> 4 & 15, words);
            unsupported++;
        } else {
            unsupported++;
        }
        answers.push_back(a);
    }

    std::vector<uint32_t> &registers_after() { return registers; }

  private:
    static uint32_t length(const Packet &p) { return (p[0] & 1023) ? p[0] & 1023 : 1024; }

    static uint32_t span(uint32_t first, uint32_t last, uint32_t words)
    {
        uint32_t begin = 0, end = 4 * words, tail = words == 1 ? first : last;
        if (words == 1 && first == 0)
            return 1;
        while (!(first >> begin & 1))
            begin++;
        while (!(tail >> ((end - 1) & 3) & 1))
            end--;
        return end - begin;
    }

    bool allowed(uint64_t offset, uint32_t words) const
    {
        const uint64_t end = offset + 4 * words;
        return end <= limit && (protect_limit <= protect_base || end <= protect_base || offset >= protect_limit);
    }

    void write(const Packet &p, uint64_t address, uint32_t words, size_t header, bool in_registers, bool in_window)
    {
        if (!in_registers && !in_window) {
            unsupported++;
            return;
        }
        if (in_window && !allowed(address - bar2, words)) {
            refused++;
            return;
        }
        for (uint32_t n = 0; n < words; n++) {
            const uint32_t enable = n == 0 ? p[1] & 15 : n == words - 1 ? p[1] >> 4 & 15 : 15;
            for (uint32_t byte = 0; byte < 4; byte++) {
                if (!(enable >> byte & 1))
                    continue;
                const uint8_t value = uint8_t(p[header + n] >> 8 * byte);
                if (in_registers) {
                    uint32_t &word = registers[(address - bar0) / 4 + n];
                    word = (word & ~(255u << 8 * byte)) | uint32_t(value) << 8 * byte;
                } else {
                    local.put(address - bar2 + 4 * n + byte, value);
                }
            }
        }
    }

    void configure(uint32_t reg, uint32_t value, uint32_t enable)
    {
        uint32_t mask = 0;
        for (uint32_t byte = 0; byte < 4; byte++)
            mask |= enable >> byte & 1 ? 255u << 8 * byte : 0;
        auto merge = [&](uint32_t old, uint32_t writable) {
            return (old & ~(mask & writable)) | (value & mask & writable);
        };
        switch (reg) {
        case 0x04: command = merge(command, 6); break;
        case 0x10: bar0 = merge(bar0, 0xffff0000); break;
        case 0x18: bar2 = (bar2 & ~0xffffffffull) | merge(uint32_t(bar2), 0xf8000000); break;
        case 0x1c: bar2 = uint64_t(merge(uint32_t(bar2 >> 32), 0xffffffff)) << 32 | uint32_t(bar2); break;
        case 0x48:
            if (value & mask & 0x8000) { // Function level reset.
                command = bar0 = power = 0;
                bar2 = 0;
                control_ &= 0xe0;
                break;
            }
            control_ = merge(control_, 0xe0);
            payload = control_ & 0xe0 ? 256 : 128;
            break;
        case 0xa4:
            if ((enable & 1) && ((value & 3) == 0 || (value & 3) == 3))
                power = value & 3;
            break;
        default: break;
        }
    }

    Bench &b_;
    std::vector<uint32_t> registers;
    uint32_t control_ = 0;
};

void check_answers(Bench &b, Oracle &o)
{
    while (!b.completions.empty()) {
        const Completion c = b.completions.front();
        b.completions.pop_front();
        if (o.answers.empty()) {
            b.fail("an answer to nobody: %04x tag %u", c.requester, c.tag);
            return;
        }
        Answer &a = o.answers.front();
        if (c.requester != a.requester || c.tag != a.tag || (a.good && c.status) || c.status > 1)
            b.fail("answer for %04x tag %u with status %u, expected %04x tag %u, %s", c.requester, c.tag, c.status,
                   a.requester, a.tag, a.good ? "good" : "refused");
        if (c.status) {
            o.answers.pop_front();
            continue;
        }
        const uint32_t came = uint32_t(4 * c.data.size()) - (c.lower & 3);
        if (a.good && (c.has_data != a.has_data || c.byte_count != (a.bytes & 4095)))
            b.fail("answer of %u bytes, expected %u", c.byte_count, a.bytes);
        if (!c.has_data || came >= a.bytes) {
            // A refused read may have good parts in front, but not only those.
            if (!a.good)
                b.fail("a read that is refused was answered");
            o.answers.pop_front();
        } else {
            a.bytes -= came;
        }
    }
}

// Until what was sent has been taken and answered; the device's own reads may stay open.
void settle(Bench &b, Oracle &o)
{
    for (unsigned quiet = 0, limit = 0; quiet < 600 && limit < 200000; limit++) {
        const uint64_t before = b.rx_beats;
        b.tick();
        const bool idle = b.outbox.empty() && b.local.reads.empty() && b.local.writes.empty() &&
                          b.local.responses.empty() && b.rx_beats == before;
        quiet = idle ? quiet + 1 : 0;
    }
    check_answers(b, o);
    EXPECT(b, "requests without an answer", o.answers.size(), 0);
    o.answers.clear();
}

void hostile_host(Bench &b)
{
    const char *text = std::getenv("FERRY_HOSTILE");
    const unsigned count = text ? unsigned(std::strtoul(text, nullptr, 0)) : 20000;
    Oracle o(b);
    HostilePackets packets([&b] { return b.generator(); });
    b.on_sent = [&o](const Packet &p) { o.sent(p); };
    b.log_posted = false;
    b.later_writes = true;
    b.impostors = true;
    b.configure(128, 512, 64);
    o.answers.clear();
    auto reset = [&] {
        // A hostile host may have switched off or moved what the rest of the case needs.
        b.config_write(0xa4, 0);
        b.config_write(0x68, 0);
        b.configure(b.random(2) ? 256 : 128, 512, 64);
        o.answers.clear();
        b.top->local_limit = o.limit = b.chance(50) ? LOCAL_BYTES : 0x2800;
        b.top->protect_base = o.protect_base = 0x1000;
        b.top->protect_limit = o.protect_limit = b.chance(50) ? 0x1000 : 0x2000;
    };
    for (unsigned sent = 0; sent < count && b.failures < 5;) {
        settle(b, o);
        reset();
        b.stall_rx = b.stall_tx = b.stall_reg = b.stall_slave = b.random(2) * b.random(40);
        b.heed = b.chance(80);
        // The device's own reads are open meanwhile; whoever answers them, they end.
        std::deque<AxiRead> reads;
        const bool reading = b.chance(30);
        b.answer = b.chance(50);
        b.top->completion_timeout = 3000;
        if (reading)
            for (int i = 0; i < 6; i++) {
                reads.push_back({0x100000 + 4096 * uint64_t(i), 1 + b.random(64), 1, false, {}, {}, false});
                b.read_queue.push_back(&reads.back());
            }
        const uint64_t unexpected = b.counts.unexpected, completions = o.completions;
        for (unsigned n = 20 + b.random(400); n-- && sent < count; sent++) {
            packets.bar0 = o.bar0;
            packets.bar2 = o.bar2;
            packets.payload = o.payload;
            const Packet p = packets.next();
            const bool alone = o.configures(p);
            if (alone)
                settle(b, o);
            b.send(p);
            if (alone) {
                settle(b, o);
                b.payload = o.payload;
            }
            for (unsigned limit = 0; b.outbox.size() > 40 && limit < 100000; limit++)
                b.tick();
            check_answers(b, o);
        }
        if (!reading) {
            settle(b, o);
            EXPECT(b, "unexpected", b.counts.unexpected - unexpected, o.completions - completions);
        }
        // What nobody answered times out; then its late answer comes, and nothing of the device's is open.
        settle(b, o);
        reset();
        for (unsigned limit = 0; !b.read_waiting.empty() && limit < 100000; limit++)
            b.tick();
        for (auto &r : reads)
            EXPECT(b, "own read ends", r.done, 1);
        b.answer = true;
    }
    settle(b, o);
    reset();
    settle(b, o);
    EXPECT(b, "malformed", b.counts.malformed, o.malformed);
    EXPECT(b, "poisoned", b.counts.poisoned, o.poisoned);
    EXPECT(b, "unsupported", b.counts.unsupported, o.unsupported);
    EXPECT(b, "refused", b.counts.refused, o.refused);
    if (!o.malformed || !o.poisoned || !o.unsupported || !o.refused || o.local.bytes_.size() < 100)
        b.fail("the host was not hostile enough");
    // No byte but those that legal requests named.
    for (auto &byte : b.local.memory.bytes_)
        if (!o.local.bytes_.count(byte.first) || o.local.get(byte.first) != byte.second)
            b.fail("local byte %llx is %02x", (unsigned long long)byte.first, byte.second);
    for (auto &byte : o.local.bytes_)
        if (b.local.memory.get(byte.first) != byte.second)
            b.fail("local byte %llx is not written", (unsigned long long)byte.first);
    for (size_t i = 0; i < b.registers.size(); i++)
        if (b.registers[i] != o.registers_after()[i])
            b.fail("register %zx is %08x, expected %08x", 4 * i, b.registers[i], o.registers_after()[i]);
    if (!b.host.bytes_.empty())
        b.fail("host memory was written");
    // And it works: read, write, and data both ways.
    b.on_sent = nullptr;
    b.stall_rx = b.stall_tx = b.stall_reg = b.stall_slave = 0;
    b.top->completion_timeout = 0;
    b.top->local_limit = LOCAL_BYTES;
    b.top->protect_limit = 0x1000;
    b.config_write(0x48, 0x2820);
    b.payload = 256;
    std::vector<uint32_t> data = random_words(b, 64), got;
    uint8_t status = 9;
    b.send(b.memory_request(true, b.bar2 + 0x1234500, 64, 15, 15, data, 0));
    b.read_bytes(b.bar2 + 0x1234500, 64, 15, 15, got, status);
    if (status || got != data)
        b.fail("the window does not work any more");
    b.send(b.memory_request(true, b.bar0 + 0x100, 1, 15, 0, {0x600d600d}, 0));
    b.read_bytes(b.bar0 + 0x100, 1, 15, 0, got, status);
    if (status || got.size() != 1 || got[0] != 0x600d600d)
        b.fail("registers do not work any more");
    std::deque<AxiRead> reads;
    std::deque<AxiWrite> writes;
    for (unsigned i = 0; i < 40; i++) {
        reads.push_back({0x700000 + 4096 * uint64_t(i), 256, i & 3, false, {}, {}, false});
        b.read_queue.push_back(&reads.back());
        writes.push_back({0x900000 + 4096 * uint64_t(i), i & 3, 0, false, std::vector<uint64_t>(200, b.generator()),
                          std::vector<uint8_t>(200, 255), false, 0});
        b.write_queue.push_back(&writes.back());
    }
    b.settle(400000);
    for (auto &r : reads)
        for (unsigned i = 0; i < r.data.size(); i++)
            EXPECT(b, "read",
                   r.faults[i] == 0 && r.data[i] == (b.host.word(r.address + 8 * i) |
                                                     uint64_t(b.host.word(r.address + 8 * i + 4)) << 32),
                   1);
    for (auto &w : writes)
        EXPECT(b, "write", w.done && b.host.word(w.address) == uint32_t(w.data[0]), 1);
}

} // namespace

// What a completion may say went wrong (2.2.9); a status that is reserved is an Unsupported Request (2.3.2).
static void completion_statuses(Bench &b)
{
    b.configure(128, 512, 64);
    for (uint32_t round = 0; round < 32; round++) {
        const uint32_t status = round % 8;
        if (status == 0)
            continue;
        b.config_write(0x04, 0xf9000006);
        b.answer = false;
        AxiRead read = {0x123000, 8, 1, false, {}, {}, false};
        b.read_queue.push_back(&read);
        b.run(50);
        EXPECT(b, "read requests", b.reads.size(), 1);
        if (b.reads.size() != 1)
            return;
        const uint32_t tag = b.reads[0].tag;
        b.reads.clear();
        b.send({0x0a000000, 0x01000040 | status << 13, uint32_t(b.device_id) << 16 | tag << 8});
        b.settle();
        b.answer = true;
        EXPECT(b, "served", read.done, 1);
        for (uint8_t fault : read.faults)
            EXPECT(b, "fault", fault, status == 4 ? 11 : 10);
        EXPECT(b, "status bits", b.config_read(0x04) >> 28 & 3, status == 4 ? 1 : 2);
    }
    EXPECT(b, "unexpected", b.counts.unexpected, 0);
}

// What a completion repeats of its request (2.2.9): traffic class, attributes, requester; of what is answered and what
// is refused.
static void completion_headers(Bench &b)
{
    b.configure(128, 512, 64);
    for (uint32_t i = 0; i < 64; i++)
        for (unsigned what = 0; what < 4; what++) {
            const uint32_t traffic = i & 7, attributes = i >> 3;
            const uint32_t address = what == 0 ? b.bar0 + 0x20 : what == 1 ? uint32_t(b.bar2) + 0x40 : 0x1000;
            Packet packet = what == 1 ? b.memory_request(false, b.bar2 + 0x40, 8, 15, 15, {}, 0x61)
                                      : Packet{what == 3 ? 0x01000001u : 0x00000001u, 0x0008610f, address};
            packet[0] |= traffic << 20 | (attributes >> 2) << 18 | (attributes & 3) << 12;
            packet[1] = (packet[1] & 0xffff) | i << 16 | 0x5a000000;
            b.send(packet);
            b.run(60);
            b.settle();
            EXPECT(b, "completions", b.completions.size(), 1);
            for (const Completion &c : b.completions) {
                EXPECT(b, "traffic class", c.traffic_class, traffic);
                EXPECT(b, "attributes", c.attributes, attributes);
                EXPECT(b, "requester", c.requester, 0x5a00 | i);
                EXPECT(b, "status", c.status, what > 1);
                EXPECT(b, "locked", c.locked, what == 3);
            }
            b.completions.clear();
        }
    // The device's own packets have class 0 behind an answer of any: a write, a read, a message (root_receive).
    b.config_write(0x48, 0x000f2800 | NONFATAL);
    b.messages.clear();
    Packet last = b.memory_request(false, b.bar2 + 0x40, 8, 15, 15, {}, 0x61);
    last[0] |= 7 << 20;
    b.send(last);
    b.settle();
    AxiRead read = {0x700000, 16, 1, false, {}, {}, false};
    AxiWrite write = {0xa00000, 2, 7, false, {1, 2, 3}, {255, 255, 255}, false, 0};
    b.read_queue.push_back(&read);
    b.write_queue.push_back(&write);
    b.send({0x40004001, 0x0000000f, b.bar0 + 16, 1}); // Poisoned.
    b.settle();
    b.run(100);
    EXPECT(b, "read, write and message", read.done && write.done && b.messages.size() == 1, 1);
}

const Case hostile_cases[] = {
    {"completion_headers", completion_headers},
    {"completion_statuses", completion_statuses},
    {"hostile_host", hostile_host},
    {nullptr, nullptr},
};
