// SPDX-License-Identifier: Apache-2.0
// ferry_device between a host and a video memory that are these pages alone: every packet is put together by hand, and
// every packet and burst is printed, with the cycle since the section began. Nothing is faster, stranger or more
// careful here than it has to be; what a real root complex does besides is in tests/rtl/cpu/root_complex.h.
//
//     packets_by_hand            prints one copy, one fault, and one walk of page tables
//     packets_by_hand PAGE...    and holds what the pages quote of it against that
//
// FERRY_FIRMWARE names another firmware than build/firmware/firmware.bin.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "Vferry_device.h"
// The contract is C11.
#define _Static_assert static_assert
#include "ferry_contract.h"

namespace
{

using Packet = std::vector<uint32_t>;

// Where the device's windows are, and 64 KiB of host memory: bus addresses. What is not there the host refuses.
constexpr uint32_t BAR0 = 0xfe000000, BAR2 = 0xd0000000, HOST = 0x00100000, HOST_BYTES = 0x10000;
// Of host memory: a ring and a buffer for each of two rings, fence records, the fault log, data.
constexpr uint32_t RINGS = HOST, FENCES = HOST + 0x2000, FAULTS = HOST + 0x3000, BUFFERS = HOST + 0x4000,
                   DATA = HOST + 0x8000;
// Cycles until the host answers, and until memory does.
constexpr unsigned HOST_LATENCY = 20, MEMORY_LATENCY = 10;

unsigned passed, failed;
// What was printed, without the cycles.
std::vector<std::string> lines;

void check(const char *name, bool good)
{
    std::printf(good ? "[       OK ] %s\n" : "[  FAILED  ] %s\n", name);
    (good ? passed : failed)++;
}

class Machine
{
  public:
    Machine() : memory(1u << 26), host(HOST_BYTES)
    {
        top_.m_axis_tlp_tready = 1;
        top_.m_axis_tlp_posted_ok = top_.m_axis_tlp_request_ok = top_.m_axis_tlp_completion_ok = 1;
        top_.rst = 1;
        for (int i = 0; i < 4; i++)
            tick();
        top_.rst = 0;
    }

    // --- What software asks for. The first word of a packet is its format, type and length in words; the second has
    // the requester (here 0), tag and byte enables; the third or the third and fourth are the address.
    // ----------------------

    void config_write(uint32_t offset, uint32_t value) { ask({0x44000001, 0x0f, 0x01000000 | offset, value}); }
    uint32_t config_read(uint32_t offset) { return ask({0x04000001, 0x0f, 0x01000000 | offset}); }
    void write(uint32_t address, uint32_t value) { send({0x40000001, 0x0f, address, value}); }
    uint32_t read(uint32_t address) { return ask({0x00000001, 0x0f, address}); }
    void write64(uint32_t address, uint64_t value)
    {
        write(address, static_cast<uint32_t>(value));
        write(address + 4, static_cast<uint32_t>(value >> 32));
    }

    // From power-on to a firmware that serves rings. Order: addresses, the right to speak, firmware, then the core.
    bool begin(const char *firmware)
    {
        config_write(FERRY_CONFIG_SPACE_BAR0, BAR0);
        config_write(FERRY_CONFIG_SPACE_BAR2_LOW, BAR2);
        config_write(FERRY_CONFIG_SPACE_BAR2_HIGH, 0);
        config_write(FERRY_CONFIG_SPACE_COMMAND,
                     FERRY_CONFIG_SPACE_COMMAND_MEMORY_ENABLE_MASK | FERRY_CONFIG_SPACE_COMMAND_BUS_MASTER_MASK);
        std::ifstream file(firmware, std::ios::binary);
        uint32_t word = 0, at = BAR0 + FERRY_BAR0_FIRMWARE_RAM;
        for (; file.read(reinterpret_cast<char *>(&word), 4); at += 4)
            write(at, word);
        write64(BAR0 + FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
        write(BAR0 + FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 4);
        for (unsigned ring = 0; ring < 2; ring++) {
            const uint32_t r = BAR0 + FERRY_BAR0_RING_AT + ring * FERRY_BAR0_RING_STRIDE;
            write64(r + FERRY_BAR0_RING_BASE, RINGS + ring * 0x1000);
            write(r + FERRY_BAR0_RING_ENTRIES_LOG2, 3);
            write(r + FERRY_BAR0_RING_RIGHTS,
                  ring == 0 ? FERRY_BAR0_RING_RIGHTS_TABLES_MASK : FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK);
            write64(r + FERRY_BAR0_RING_FENCE_ADDRESS, FENCES + ring * 64);
            write(r + FERRY_BAR0_RING_CONTROL, FERRY_BAR0_RING_CONTROL_ENABLE_MASK);
        }
        write(BAR0 + FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION);
        write(BAR0 + FERRY_BAR0_CONTROL, FERRY_BAR0_CONTROL_CORE_RUN_MASK);
        for (int i = 0; i < 500; i++)
            if (read(BAR0 + FERRY_BAR0_FIRMWARE_STATE) == FERRY_FIRMWARE_STATE_RUNNING)
                return true;
        return false;
    }

    // A buffer of these words into the ring, its doorbell, and its end. Tells the status.
    uint32_t run(unsigned ring, const std::vector<uint64_t> &buffer, uint32_t flags)
    {
        const uint32_t bytes = static_cast<uint32_t>(buffer.size() * 8), at = BUFFERS + ring * 0x1000;
        const uint64_t entry[4] = {at, bytes | uint64_t{flags} << 32, ++fence_, 0};
        std::memcpy(&host[at - HOST], buffer.data(), bytes);
        std::memcpy(&host[RINGS - HOST + ring * 0x1000 + produced_[ring] % 8 * 32], entry, 32);
        write(BAR0 + FERRY_BAR0_RING_AT + ring * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_PRODUCER, ++produced_[ring]);
        for (int i = 0; i < 20000 && word(FENCES + ring * 64) != fence_; i++)
            tick();
        return word(FENCES + ring * 64) == fence_ ? word(FENCES + ring * 64 + FERRY_FENCE_RECORD_STATUS) : ~0u;
    }

    uint32_t word(uint32_t address) const
    {
        uint32_t value;
        std::memcpy(&value, &host[address - HOST], 4);
        return value;
    }

    void section(const char *title)
    {
        std::printf("\n%s\n", title);
        since_ = time_;
        shows = true;
    }

    bool shows = false;
    std::vector<uint8_t> memory, host;

  private:
    struct Sent {
        uint64_t due;
        Packet packet;
    };
    struct Burst {
        uint64_t due;
        uint32_t address;
        unsigned beats, id;
    };

    void say(const std::string &line)
    {
        if (!shows)
            return;
        std::printf("%5llu  %s\n", static_cast<unsigned long long>(time_ - since_), line.c_str());
        lines.push_back(line);
    }
    void say_packet(const char *way, const Packet &packet)
    {
        const uint32_t kind = packet[0] >> 24 & 0x5f;
        std::string line = std::string(way) + (kind == 0x00   ? "MRd "
                                               : kind == 0x40 ? "MWr "
                                               : kind == 0x4a ? "CplD"
                                                              : "Cpl ");
        char text[16];
        // A record of the device's (FENCES, FAULTS) has the time in its third and fourth word: another one in each run.
        const bool record = kind == 0x40 && packet.size() > 7;
        for (size_t i = 0; i < packet.size(); i++) {
            std::snprintf(text, sizeof text, " %08x", packet[i]);
            line += record && (i == 5 || i == 6) ? " time...." : text;
        }
        say(line);
    }
    void say_memory(const char *format, uint64_t value, unsigned more)
    {
        char text[80];
        std::snprintf(text, sizeof text, format, static_cast<unsigned long long>(value), more);
        say(text);
    }

    void send(const Packet &packet, unsigned latency = 0) { to_device_.push_back({time_ + latency, packet}); }
    uint32_t ask(Packet packet)
    {
        packet[1] |= (tag_++ & 31) << 8;
        answered_ = false;
        send(packet);
        for (int i = 0; i < 20000 && !answered_; i++)
            tick();
        return answered_ ? answer_ : ~0u;
    }

    // One clock. What the device is offered is set while the clock is low; what both sides hold at its edge happens.
    void tick()
    {
        const bool go = !to_device_.empty() && to_device_.front().due <= time_;
        top_.s_axis_tlp_tvalid = go;
        if (go) {
            const Packet &p = to_device_.front().packet;
            const bool both = sent_ + 1 < p.size();
            top_.s_axis_tlp_tdata = p[sent_] | (both ? uint64_t{p[sent_ + 1]} << 32 : 0);
            top_.s_axis_tlp_tkeep = both ? 3 : 1;
            top_.s_axis_tlp_tlast = sent_ + 2 >= p.size();
        }
        const bool data = !reads_.empty() && reads_.front().due <= time_;
        top_.m_axi_arready = top_.m_axi_awready = top_.m_axi_wready = 1;
        top_.m_axi_rvalid = data;
        if (data) {
            std::memcpy(&top_.m_axi_rdata, &memory[reads_.front().address], 8);
            top_.m_axi_rid = static_cast<uint8_t>(reads_.front().id);
            top_.m_axi_rlast = reads_.front().beats == 1;
        }
        top_.m_axi_bvalid = !responses_.empty();
        if (!responses_.empty())
            top_.m_axi_bid = static_cast<uint8_t>(responses_.front());
        top_.clk = 0;
        top_.eval();
        if (!top_.rst) {
            if (go && top_.s_axis_tlp_tready)
                beat_taken();
            if (top_.m_axis_tlp_tvalid)
                beat_comes();
            memory_moves(data);
        }
        top_.clk = 1;
        top_.eval();
        time_++;
    }

    void beat_taken()
    {
        if (sent_ == 0)
            say_packet("host > device  ", to_device_.front().packet);
        sent_ += 2;
        if (top_.s_axis_tlp_tlast) {
            to_device_.pop_front();
            sent_ = 0;
        }
    }
    void beat_comes()
    {
        comes_.push_back(static_cast<uint32_t>(top_.m_axis_tlp_tdata));
        if (top_.m_axis_tlp_tkeep & 2)
            comes_.push_back(static_cast<uint32_t>(top_.m_axis_tlp_tdata >> 32));
        if (!top_.m_axis_tlp_tlast)
            return;
        say_packet("device > host  ", comes_);
        packet_comes(comes_);
        comes_.clear();
    }

    // A completion is an answer to software; a read is answered, with data or, where nothing is, as unsupported; a
    // write is done.
    void packet_comes(const Packet &p)
    {
        const bool write = p[0] >> 30 & 1, wide = p[0] >> 29 & 1;
        if ((p[0] >> 24 & 0x1f) == 0x0a) {
            answer_ = write ? p[3] : ~0u;
            answered_ = true;
            return;
        }
        const uint64_t address = wide ? uint64_t{p[2]} << 32 | p[3] : p[2];
        const uint32_t words = p[0] & 1023, id = p[1] & 0xffffff00, lower = static_cast<uint32_t>(address & 0x7f);
        const bool here = address >= HOST && address + words * 4 <= HOST + HOST_BYTES;
        if (write) {
            // Whole words but for the first and the last, whose byte enables are in the second word.
            for (uint32_t i = 0; here && i < words * 4; i++)
                if ((i < 4 ? p[1] >> i : i >= words * 4 - 4 ? p[1] >> (4 + i % 4) : 1) & 1)
                    host[address - HOST + i] = static_cast<uint8_t>(p[(wide ? 4 : 3) + i / 4] >> 8 * (i % 4));
        } else if (!here) {
            send({0x0a000000, 1u << 13 | words * 4, id | lower}, HOST_LATENCY);
        } else {
            // In one piece: nothing here asks for more than the smallest payload, 128 bytes.
            Packet answer = {0x4a000000 | words, words * 4, id | lower};
            for (uint32_t i = 0; i < words; i++)
                answer.push_back(word(static_cast<uint32_t>(address) + i * 4));
            send(answer, HOST_LATENCY);
        }
    }

    // Video memory: bursts one behind the other; what is written is there at once.
    void memory_moves(bool data)
    {
        if (data && top_.m_axi_rready) {
            say_memory("memory         R    %016llx, beats left: %u", top_.m_axi_rdata, reads_.front().beats - 1);
            reads_.front().address += 8;
            if (--reads_.front().beats == 0)
                reads_.pop_front();
        }
        if (top_.m_axi_bvalid && top_.m_axi_bready)
            responses_.pop_front();
        if (top_.m_axi_arvalid) {
            say_memory("memory         AR   %07llx, beats: %u", top_.m_axi_araddr, top_.m_axi_arlen + 1u);
            reads_.push_back({time_ + MEMORY_LATENCY, top_.m_axi_araddr, top_.m_axi_arlen + 1u, top_.m_axi_arid});
        }
        if (top_.m_axi_awvalid) {
            say_memory("memory         AW   %07llx, beats: %u", top_.m_axi_awaddr, top_.m_axi_awlen + 1u);
            writes_.push_back({0, top_.m_axi_awaddr, 0, top_.m_axi_awid});
        }
        if (top_.m_axi_wvalid)
            beats_.push_back({top_.m_axi_wdata, top_.m_axi_wstrb | uint64_t{top_.m_axi_wlast} << 8});
        // Data may come before its address.
        while (!beats_.empty() && !writes_.empty()) {
            const std::array<uint64_t, 2> beat = beats_.front();
            beats_.pop_front();
            say_memory("memory         W    %016llx, strobe %02x", beat[0], static_cast<unsigned>(beat[1] & 0xff));
            for (unsigned lane = 0; lane < 8; lane++)
                if (beat[1] >> lane & 1)
                    memory[writes_.front().address + lane] = static_cast<uint8_t>(beat[0] >> 8 * lane);
            writes_.front().address += 8;
            if (beat[1] >> 8 & 1) {
                responses_.push_back(writes_.front().id);
                writes_.pop_front();
            }
        }
    }

    Vferry_device top_;
    uint64_t time_ = 0, since_ = 0, fence_ = 0;
    std::deque<Sent> to_device_;
    size_t sent_ = 0;
    Packet comes_;
    bool answered_ = false;
    uint32_t answer_ = 0, tag_ = 0, produced_[2] = {};
    std::deque<Burst> reads_, writes_;
    std::deque<std::array<uint64_t, 2>> beats_;
    std::deque<unsigned> responses_;
};

std::vector<uint64_t> copy(unsigned source_kind, uint64_t source, unsigned destination_kind, uint64_t destination,
                           uint32_t bytes)
{
    return {(FERRY_OPCODE_COPY | 8u << 16) | uint64_t{source_kind | destination_kind << 2} << 32, bytes, source,
            destination};
}

void one_copy(Machine &machine)
{
    for (unsigned i = 0; i < 32; i++)
        machine.host[DATA - HOST + i] = static_cast<uint8_t>(i);
    machine.section("One copy: 32 bytes of host memory to 0x2000 of video memory");
    const uint32_t status =
        machine.run(1, copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_LOCAL, 0x2000, 32), 0);
    machine.shows = false;
    check("the_copy_succeeds", status == FERRY_BUFFER_STATUS_SUCCESS);
    check("its_bytes_are_in_video_memory", !std::memcmp(&machine.memory[0x2000], &machine.host[DATA - HOST], 32));
}

// Four levels; the address has the indices 1, 2, 3, 4. Tables are written through BAR2, the root is told by the paging
// ring.
void one_walk(Machine &machine)
{
    const uint64_t address = 1ull << 39 | 2ull << 30 | 3u << 21 | 4u << 12 | 0x678;
    machine.write64(BAR2 + 0x10000 + 8 * 1, 0x11000 | FERRY_TABLE_ENTRY_ENTRY_VALID_MASK);
    machine.write64(BAR2 + 0x11000 + 8 * 2, 0x12000 | FERRY_TABLE_ENTRY_ENTRY_VALID_MASK);
    machine.write64(BAR2 + 0x12000 + 8 * 3, 0x13000 | FERRY_TABLE_ENTRY_ENTRY_VALID_MASK);
    machine.write64(BAR2 + 0x13000 + 8 * 4,
                    0x20000 | FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK);
    const uint64_t space = 1 | 3u << FERRY_PACKET_ROOT_SPACE_HEIGHT_SHIFT | FERRY_PACKET_ROOT_SPACE_VALID_MASK;
    check("the_root_is_told",
          machine.run(0, {FERRY_OPCODE_ROOT | 6u << 16, space, 0x10000}, 0) == FERRY_BUFFER_STATUS_SUCCESS);

    const uint32_t flags = 1u << FERRY_RING_ENTRY_FLAGS_SPACE_SHIFT;
    const auto to = [](uint64_t place, uint32_t bytes) {
        return copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_VIRTUAL, place, bytes);
    };
    machine.section("One walk: 8 bytes of host memory to 0x8080604678 of space 1");
    uint32_t status = machine.run(1, to(address, 8), flags);
    check("the_walk_finds_the_page", status == FERRY_BUFFER_STATUS_SUCCESS);
    check("the_bytes_are_where_the_tables_say", !std::memcmp(&machine.memory[0x20678], &machine.host[DATA - HOST], 8));
    machine.section("Again, remembered: no table is read");
    check("what_is_remembered_leads_there_too",
          machine.run(1, to(address + 8, 8), flags) == FERRY_BUFFER_STATUS_SUCCESS);
    machine.section("A fault: 16 bytes, of which the second 8 are in the next page, that is not there");
    status = machine.run(1, to((address | 0xfff) - 7, 16), flags);
    machine.shows = false;
    check("the_fault_has_an_errored_fence", status == FERRY_BUFFER_STATUS_FAULTED);
    check("its_record_names_the_cause",
          FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, machine.word(FAULTS + FERRY_FAULT_RECORD_WHAT)) ==
              FERRY_FAULT_KIND_PAGE_ABSENT);
}

// What a page quotes in blocks that begin with ```text by hand was printed, in this order. Cycles may differ, and other
// lines stand between: neither makes a page wrong.
void hold(const char *path)
{
    std::ifstream page(path);
    bool within = false, good = true;
    unsigned quoted = 0;
    size_t at = 0;
    for (std::string line; std::getline(page, line);) {
        const size_t begin = line.find_first_not_of(" 0123456789");
        if (!within || line == "```") {
            within = line == "```text by hand";
            at = 0;
            continue;
        }
        const std::string words = begin == std::string::npos ? "" : line.substr(begin);
        size_t found = at;
        while (found < lines.size() && lines[found] != words)
            found++;
        if (found == lines.size()) {
            std::printf("    %s: not printed, or not behind the line before: %s\n", path, words.c_str());
            good = false;
        } else {
            at = found + 1;
        }
        quoted++;
    }
    const std::string name(path);
    check(("quoted_in_" + name.substr(name.rfind('/') + 1)).c_str(), good && quoted != 0);
}

} // namespace

int main(int argc, char **argv)
{
    const char *firmware = std::getenv("FERRY_FIRMWARE");
    Machine machine;
    check("configuration_space_names_the_device", machine.config_read(0) == 0xfe011209);
    check("firmware_serves_rings", machine.begin(firmware ? firmware : "build/firmware/firmware.bin"));
    check("bar0_begins_with_its_name", machine.read(BAR0 + FERRY_BAR0_MAGIC) == 0x59525246);
    one_copy(machine);
    one_walk(machine);
    for (int i = 1; i < argc; i++)
        hold(argv[i]);
    std::printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
