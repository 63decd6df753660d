// SPDX-License-Identifier: Apache-2.0
// ferry_device with the smallest world that it can live in: a root complex that speaks transaction-layer packets and
// owns some host pages, in front of the device and its video memory. Written from the PCIe rules for this test alone.
#ifndef FERRY_TESTS_RTL_CPU_ROOT_COMPLEX_H
#define FERRY_TESTS_RTL_CPU_ROOT_COMPLEX_H

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "device_with_memory.h"
// The contract is C11.
#define _Static_assert static_assert
#include "ferry_contract.h"

// Width of the packet streams; the device is built for the same.
#ifndef LINK_BITS
#define LINK_BITS 64
#endif
constexpr unsigned LINK_WORDS = LINK_BITS / 32;

// Word i of a beat, however wide Verilator makes the port.
template <typename Beat> uint32_t word_of(const Beat &beat, unsigned i)
{
    return static_cast<uint32_t>(uint64_t{beat} >> 32 * i);
}
template <std::size_t N> uint32_t word_of(const VlWide<N> &beat, unsigned i)
{
    return beat[i];
}
template <typename Beat> void set_word(Beat &beat, unsigned i, uint32_t word)
{
    uint64_t others = uint64_t{beat} & ~(uint64_t{0xffffffff} << 32 * i);
    beat = static_cast<Beat>(others | uint64_t{word} << 32 * i);
}
template <std::size_t N> void set_word(VlWide<N> &beat, unsigned i, uint32_t word)
{
    beat[i] = word;
}

class RootComplex : public DeviceWithMemory
{
  public:
    static const uint64_t BAR0 = 0xfe000000, BAR2 = 0x4000000000, MSI = 0xfee00000;
    // Bus, device and function number.
    static const uint32_t DEVICE_ID = 0x0100;
    using Packet = std::vector<uint32_t>;

    explicit RootComplex(Random &random) : DeviceWithMemory(random)
    {
        top.rst = 1;
        for (int i = 0; i < 4; i++)
            tick();
        top.rst = 0;
    }

    void tick()
    {
        drive_link();
        drive_memory();
        top.clk = 0;
        top.eval();
        observe_link();
        observe_memory();
        top.clk = 1;
        top.eval();
        time++;
    }
    void run(unsigned cycles)
    {
        for (unsigned i = 0; i < cycles; i++)
            tick();
    }

    // --- What software does ---

    uint32_t config_read(uint32_t offset)
    {
        Packet reply = request({0x04000001, 0x0f, DEVICE_ID << 16 | offset}, 0);
        return reply.size() == 4 ? reply[3] : 0xffffffff;
    }
    void config_write(uint32_t offset, uint32_t value)
    {
        request({0x44000001, 0x0f, DEVICE_ID << 16 | offset, value}, 0);
    }
    // Gives the device its addresses and lets it speak. Returns the size that BAR0 reports.
    uint32_t enumerate()
    {
        config_write(0x10, 0xffffffff);
        uint32_t size = ~(config_read(0x10) & ~15u) + 1;
        config_write(0x10, static_cast<uint32_t>(BAR0));
        config_write(0x18, static_cast<uint32_t>(BAR2));
        config_write(0x1c, static_cast<uint32_t>(BAR2 >> 32));
        config_write(0x84, static_cast<uint32_t>(MSI));
        config_write(0x8c, 0x4242);
        config_write(0x80, 1u << 16);
        config_write(0x48, 1u << 5 | 1u << 8 | 1u << 11 | 2u << 12);
        config_write(0x04, 6);
        return size;
    }
    uint32_t read(uint64_t address)
    {
        Packet reply =
            address >> 32
                ? request({0x20000001, 0x0f, static_cast<uint32_t>(address >> 32), static_cast<uint32_t>(address)}, 0)
                : request({0x00000001, 0x0f, static_cast<uint32_t>(address)}, 0);
        return reply.size() == 4 ? reply[3] : 0xffffffff;
    }
    void write(uint64_t address, uint32_t value)
    {
        if (address >> 32)
            send({0x60000001, 0x0f, static_cast<uint32_t>(address >> 32), static_cast<uint32_t>(address), value});
        else
            send({0x40000001, 0x0f, static_cast<uint32_t>(address), value});
    }
    uint32_t bar0(uint32_t offset) { return read(BAR0 + offset); }
    void bar0(uint32_t offset, uint32_t value) { write(BAR0 + offset, value); }
    void bar0_64(uint32_t offset, uint64_t value)
    {
        bar0(offset, static_cast<uint32_t>(value));
        bar0(offset + 4, static_cast<uint32_t>(value >> 32));
    }
    uint64_t counter(uint32_t offset)
    {
        uint32_t at = FERRY_BAR0_COUNTER_AT + offset;
        return bar0(at) | uint64_t{bar0(at + 4)} << 32;
    }
    // Writes the firmware into its RAM, load_words to a packet. The core must stand.
    bool load(const char *path)
    {
        std::FILE *file = std::fopen(path, "rb");
        if (!file) {
            std::printf("    cannot open %s\n", path);
            return false;
        }
        Packet words;
        uint8_t b[4] = {};
        while (std::fread(b, 1, 4, file) == 4)
            words.push_back(b[0] | b[1] << 8 | b[2] << 16 | uint32_t{b[3]} << 24);
        std::fclose(file);
        uint32_t to = static_cast<uint32_t>(BAR0 + FERRY_BAR0_FIRMWARE_RAM);
        for (size_t at = 0; at < words.size(); at += load_words) {
            uint32_t count = static_cast<uint32_t>(std::min<size_t>(load_words, words.size() - at));
            Packet packet = {0x40000000 | count, count == 1 ? 0x0fu : 0xffu, static_cast<uint32_t>(to + at * 4)};
            packet.insert(packet.end(), words.begin() + static_cast<ptrdiff_t>(at),
                          words.begin() + static_cast<ptrdiff_t>(at + count));
            send(packet);
        }
        return true;
    }
    bool boot(const char *path)
    {
        if (!load(path))
            return false;
        bar0(FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION);
        bar0(FERRY_BAR0_CONTROL, 1);
        for (int i = 0; i < 500; i++)
            if (bar0(FERRY_BAR0_FIRMWARE_STATE) == FERRY_FIRMWARE_STATE_RUNNING)
                return true;
        return false;
    }

    // Any packet, right or wrong; answers to it are not waited for.
    void send(const Packet &packet) { to_device_.push_back({time, packet}); }
    bool sent_all() const { return to_device_.empty(); }

    // --- Host memory: pages by bus address ---

    uint8_t *page(uint64_t address)
    {
        auto found = pages_.find(address >> 12);
        return found == pages_.end() ? nullptr : found->second.data();
    }
    void map(uint64_t address) { pages_[address >> 12].assign(4096, 0); }
    uint8_t &byte(uint64_t address) { return page(address)[address & 4095]; }
    uint64_t load64(uint64_t address)
    {
        uint64_t value;
        std::memcpy(&value, page(address) + (address & 4095), 8);
        return value;
    }
    void store64(uint64_t address, uint64_t value) { std::memcpy(page(address) + (address & 4095), &value, 8); }

    unsigned link_latency = 20;
    // The link takes a beat from the device once in so many cycles.
    unsigned link_pace = 1;
    // Words of firmware in a packet: a power of two, at most 32, which any payload limit allows.
    unsigned load_words = 1;
    // The link has credits for writes and for reads.
    bool posted_credits = true, request_credits = true;
    // Of each kind of packet it has those for one alone, which come back less than so many cycles behind its end; 0 =
    // plenty.
    unsigned credit_latency = 0;
    // The largest payload, as configuration says: enumerate's; the host's answers may have less.
    unsigned payload = 256, answer_payload = 256;
    // Reads of the host's memory are answered in any order, some late.
    bool answers_in_any_order = false;
    // The host's memory takes reads and does not answer; answer_late() does.
    bool host_silent = false;
    void answer_late()
    {
        host_silent = false;
        for (const Packet &p : unanswered_)
            receive(p);
        unanswered_.clear();
    }
    size_t unanswered() const { return unanswered_.size(); }
    // Once in so many reads of the device the host's memory answers that it does not, and once in so many with poisoned
    // bytes, which are others; 0 never.
    unsigned answers_wrong_in = 0;
    // Tags from 32 on are allowed, or were a while ago.
    void allow_long_tags(bool allowed) { long_tags_until_ = allowed ? ~0ull : std::min(long_tags_until_, time + 300); }
    // Sends a request that wants an answer, which must come.
    Packet ask(const Packet &packet) { return request(packet, 0); }
    unsigned interrupts = 0, unmapped = 0;
    // No Snoop attribute of the device's last access, by page.
    std::map<uint64_t, bool> no_snoop;
    // Called with every byte that the device writes to host pages, and with the address of a write that no page takes.
    std::function<void(uint64_t, uint8_t)> on_host_write;
    std::function<void(uint64_t)> on_unmapped_write;
    // From this time on the device has nothing to ask for and nothing to write; requests of its own that began later.
    uint64_t silent_from = ~0ull;
    unsigned indiscreet = 0;
    // Completions without data that came.
    unsigned bare_answers = 0;

  private:
    // Sends a non-posted request and waits for its completion, which must come.
    Packet request(Packet packet, uint32_t requester)
    {
        uint32_t tag = next_tag_++ & 31;
        packet[1] |= requester << 16 | tag << 8;
        answered_ = false;
        send(packet);
        for (int i = 0; i < 20000 && !answered_; i++)
            tick();
        if (!answered_) {
            std::printf("    no completion for %08x %08x %08x\n", packet[0], packet[1], packet[2]);
            std::exit(1);
        }
        return answer_;
    }

    // Completions of different tags come in any order, those of one in theirs, and so do other packets.
    void reorder()
    {
        std::vector<size_t> able;
        std::map<uint32_t, bool> seen;
        for (size_t i = 0; i < to_device_.size() && i < 40; i++) {
            const Packet &p = to_device_[i].packet;
            const uint32_t kind = p[0] >> 24, stream = kind == 0x4a || kind == 0x0a ? p[2] >> 8 & 0xff : 0x100;
            if (!seen[stream] && to_device_[i].due <= time)
                able.push_back(i);
            seen[stream] = true;
        }
        if (able.empty())
            return;
        const auto at =
            to_device_.begin() + static_cast<ptrdiff_t>(able[random_.below(static_cast<uint32_t>(able.size()))]);
        const Sent moved = *at;
        to_device_.erase(at);
        to_device_.push_front(moved);
    }

    void drive_link()
    {
        if (answers_in_any_order && !sending_ && sent_ == 0 && to_device_.size() > 1)
            reorder();
        bool go = !to_device_.empty() && to_device_.front().due <= time && (sending_ || !hesitate());
        top.s_axis_tlp_tvalid = go;
        sending_ = go;
        if (go) {
            const Packet &p = to_device_.front().packet;
            unsigned keep = 0;
            for (unsigned i = 0; i < LINK_WORDS; i++) {
                set_word(top.s_axis_tlp_tdata, i, sent_ + i < p.size() ? p[sent_ + i] : 0);
                keep |= (sent_ + i < p.size() ? 1u : 0u) << i;
            }
            top.s_axis_tlp_tkeep = keep;
            top.s_axis_tlp_tlast = sent_ + LINK_WORDS >= p.size();
        }
        top.m_axis_tlp_tready = !hesitate() && time % link_pace == 0;
        top.m_axis_tlp_posted_ok = posted_credits && time >= room_from_[0] && !hesitate();
        top.m_axis_tlp_request_ok = request_credits && time >= room_from_[1] && !hesitate();
        top.m_axis_tlp_completion_ok = time >= room_from_[2] && !hesitate();
    }

    void observe_link()
    {
        if (top.s_axis_tlp_tvalid && top.s_axis_tlp_tready) {
            sent_ += LINK_WORDS;
            sending_ = false;
            if (top.s_axis_tlp_tlast) {
                to_device_.pop_front();
                sent_ = 0;
            }
        }
        if (!top.rst && top.m_axis_tlp_tvalid && top.m_axis_tlp_tready) {
            if (from_device_.empty()) {
                began_ = time;
                const uint32_t kind = word_of(top.m_axis_tlp_tdata, 0) >> 24;
                sends_ = kind == 0x4a || kind == 0x0a ? 2 : (kind & 0xdf) == 0;
                if (time < room_from_[sends_] && broken++ < 4)
                    std::printf("    a packet without a credit: %02x\n", kind);
                room_from_[sends_] = credit_latency ? ~0ull : 0;
            }
            for (unsigned i = 0; i < LINK_WORDS; i++)
                if (top.m_axis_tlp_tkeep >> i & 1)
                    from_device_.push_back(word_of(top.m_axis_tlp_tdata, i));
            if (top.m_axis_tlp_tlast) {
                receive(from_device_);
                from_device_.clear();
                room_from_[sends_] = credit_latency ? time + random_.below(credit_latency) : 0;
            }
        }
    }

    void receive(const Packet &p)
    {
        uint32_t kind = p[0] >> 24, length = p[0] & 1023 ? p[0] & 1023 : 1024;
        // Error messages, if the host has allowed them.
        if (kind == 0x30) {
            if (p.size() != 4)
                broke("a message of another length", p);
            return;
        }
        bool wide = kind & 0x20;
        if (kind == 0x4a || kind == 0x0a || kind == 0x0b) {
            bare_answers += kind == 0x0a;
            answer_ = p;
            answered_ = true;
            return;
        }
        indiscreet += began_ >= silent_from;
        if ((kind & 0xdf) == 0 && began_ > long_tags_until_ && (p[1] >> 8 & 255) >= 32)
            broke("a tag that it may not have", p);
        uint64_t address = wide ? uint64_t{p[2]} << 32 | p[3] : p[2];
        address &= ~3ull;
        unsigned header = wide ? 4 : 3;
        no_snoop[address >> 12] = p[0] >> 12 & 1;
        if (length * 4 > (kind & 0x40 ? payload : 512) || (address & 4095) + length * 4 > 4096)
            broke("a packet is too long", p);
        if ((kind & 0xdf) == 0x00 && host_silent)
            unanswered_.push_back(p);
        else if ((kind & 0xdf) == 0x00)
            serve_read(p, address, length);
        else if ((kind & 0xdf) == 0x40)
            serve_write(p, address, length, header);
        else
            broke("a packet of no kind that it sends", p);
    }

    void broke(const char *what, const Packet &p)
    {
        if (broken++ < 4)
            std::printf("    %s: %08x %08x %08x, %zu words\n", what, p[0], p[1], p[2], p.size());
    }

    void serve_write(const Packet &p, uint64_t address, uint32_t length, unsigned header)
    {
        if (p.size() != header + length) {
            broke("a write of another length", p);
            return;
        }
        if (address == MSI) {
            interrupts++;
            return;
        }
        if (!page(address)) {
            unmapped++;
            if (on_unmapped_write)
                on_unmapped_write(address);
            return;
        }
        for (uint32_t i = 0; i < length; i++) {
            uint32_t enable = i == 0 ? p[1] & 15 : i == length - 1 ? p[1] >> 4 & 15 : 15;
            for (unsigned b = 0; b < 4; b++)
                if (enable >> b & 1) {
                    uint8_t value = static_cast<uint8_t>(p[header + i] >> 8 * b);
                    byte(address + i * 4 + b) = value;
                    if (on_host_write)
                        on_host_write(address + i * 4 + b, value);
                }
        }
    }

    void serve_read(const Packet &p, uint64_t address, uint32_t length)
    {
        uint32_t id = p[1] & 0xffffff00;
        uint64_t due = answers_in_any_order
                           ? time + link_latency + (random_.once_in(3) ? random_.below(300) : 0)
                           : std::max(time + link_latency, to_device_.empty() ? 0 : to_device_.back().due);
        if (!page(address)) {
            unmapped++;
            to_device_.push_back(
                {due, {0x0a000000, 0x00002000 | (length * 4 & 0xfff), id | static_cast<uint32_t>(address & 0x7f)}});
            return;
        }
        if (answers_wrong_in && random_.once_in(answers_wrong_in)) {
            const uint32_t status = random_.once_in(2) ? 0x2000 : 0x8000; // Unsupported Request, Completer Abort.
            to_device_.push_back(
                {due, {0x0a000000, status | (length * 4 & 0xfff), id | static_cast<uint32_t>(address & 0x7f)}});
            return;
        }
        const bool poisoned = answers_wrong_in && random_.once_in(answers_wrong_in);
        // At most the largest payload a completion, and ends at the read completion boundary, the next one now and
        // then.
        while (length) {
            uint32_t to_edge = ((random_.once_in(3) ? 64 : std::min(payload, answer_payload)) - (address & 63)) / 4;
            uint32_t now = std::min(to_edge, length);
            Packet c = {0x4a000000 | poisoned << 14 | now, (length * 4) & 0xfff,
                        id | static_cast<uint32_t>(address & 0x7f)};
            // The first completion's byte count leaves out what the first byte enables leave out; the device asks for
            // whole words, so nothing is left out here.
            for (uint32_t i = 0; i < now; i++) {
                uint32_t word;
                std::memcpy(&word, page(address) + (address & 4095) + i * 4, 4);
                c.push_back(poisoned ? ~word : word);
            }
            to_device_.push_back({due, c});
            address += now * 4;
            length -= now;
        }
    }

    struct Sent {
        uint64_t due;
        Packet packet;
    };
    std::map<uint64_t, std::vector<uint8_t>> pages_;
    std::deque<Sent> to_device_;
    Packet from_device_, answer_;
    std::vector<Packet> unanswered_;
    bool answered_ = false, sending_ = false;
    size_t sent_ = 0;
    uint64_t began_ = 0, long_tags_until_ = ~0ull;
    // From when on there is room for a write or message, a read, a completion; the kind of the packet that is being
    // sent.
    uint64_t room_from_[3] = {};
    unsigned sends_ = 0;
    uint32_t next_tag_ = 0;
};

#endif
