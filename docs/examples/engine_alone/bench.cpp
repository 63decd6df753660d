// SPDX-License-Identifier: Apache-2.0
// A bench for copy_engine: a megabyte of memory behind AXI4, descriptors in, cycles counted, and the whole of memory
// compared with what memmove and a loop say. Start here to try the engine in a design of your own.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "Vcopy_engine.h"

namespace
{

constexpr uint64_t memory_bytes = 1 << 20;
// Cycles from a read address to its first beat.
constexpr uint64_t read_latency = 20;

struct Descriptor {
    bool fill;
    uint64_t source, destination;
    uint32_t length;
};

class Machine
{
  public:
    Machine() : memory(memory_bytes)
    {
        for (uint64_t i = 0; i < memory_bytes; i++)
            memory[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
        top_.rst = 1;
        cycle();
        top_.rst = 0;
    }

    // Runs the descriptors to their end; cycles from the first one's start.
    uint64_t run(const std::vector<Descriptor> &descriptors)
    {
        uint64_t start = time_;
        uint16_t target = static_cast<uint16_t>(top_.done + descriptors.size());
        size_t next = 0;

        while (top_.done != target && time_ - start < 1000000) {
            top_.descriptor_valid = next < descriptors.size();
            if (next < descriptors.size()) {
                const Descriptor &d = descriptors[next];
                top_.descriptor_fill = d.fill;
                top_.descriptor_source = d.source;
                top_.descriptor_destination = d.destination;
                top_.descriptor_length = d.length;
                top_.descriptor_name = static_cast<uint16_t>(next);
            }
            top_.eval();
            bool taken = top_.descriptor_valid && top_.descriptor_ready;
            cycle();
            next += taken;
        }
        top_.descriptor_valid = 0;
        return time_ - start;
    }

    void clear_fault()
    {
        top_.fault_clear = 1;
        cycle();
        top_.fault_clear = 0;
    }

    const Vcopy_engine &top() const { return top_; }
    std::vector<uint8_t> memory;

  private:
    // One clock cycle of engine and memory: always ready, reads in order after the latency, a response a cycle after
    // the last beat of a write.
    void cycle()
    {
        bool data = !reads_.empty() && reads_.front().due <= time_;
        top_.m_axi_rvalid = data;
        if (data) {
            std::memcpy(&top_.m_axi_rdata, &memory[reads_.front().address], 8);
            top_.m_axi_rlast = reads_.front().beats == 1;
        }
        top_.m_axi_arready = top_.m_axi_awready = top_.m_axi_wready = 1;
        top_.m_axi_bvalid = responses_ != 0;
        top_.clk = 0;
        top_.eval();
        bool response_taken = top_.m_axi_bvalid && top_.m_axi_bready;
        if (data && top_.m_axi_rready) {
            reads_.front().address += 8;
            if (--reads_.front().beats == 0)
                reads_.pop_front();
        }
        if (top_.m_axi_arvalid)
            reads_.push_back({top_.m_axi_araddr, time_ + read_latency, top_.m_axi_arlen + 1u});
        if (top_.m_axi_awvalid)
            writes_.push_back(top_.m_axi_awaddr);
        if (top_.m_axi_wvalid)
            beats_.push_back({top_.m_axi_wdata, top_.m_axi_wstrb, top_.m_axi_wlast != 0});
        responses_ -= response_taken;
        // Data may come before its address.
        while (!beats_.empty() && !writes_.empty()) {
            const Beat &beat = beats_.front();
            for (unsigned lane = 0; lane < 8; lane++)
                if (beat.strobe >> lane & 1)
                    memory[writes_.front() + lane] = static_cast<uint8_t>(beat.data >> 8 * lane);
            writes_.front() += 8;
            if (beat.last) {
                writes_.pop_front();
                responses_++;
            }
            beats_.pop_front();
        }
        top_.clk = 1;
        top_.eval();
        time_++;
    }

    struct Read {
        uint64_t address, due;
        unsigned beats;
    };
    struct Beat {
        uint64_t data;
        uint8_t strobe;
        bool last;
    };

    Vcopy_engine top_;
    std::deque<Read> reads_;
    std::deque<uint64_t> writes_;
    std::deque<Beat> beats_;
    unsigned responses_ = 0;
    uint64_t time_ = 0;
};

void carry_out(std::vector<uint8_t> &memory, const Descriptor &d)
{
    if (!d.fill) {
        std::memmove(&memory[d.destination], &memory[d.source], d.length);
        return;
    }
    for (uint32_t i = 0; i < d.length; i++)
        memory[d.destination + i] = static_cast<uint8_t>(d.source >> 8 * (i % 8));
}

unsigned passed, failed;

void check(const char *name, bool good)
{
    std::printf(good ? "[       OK ] %s\n" : "[  FAILED  ] %s\n", name);
    (good ? passed : failed)++;
}

void copies(const char *name, const std::vector<Descriptor> &descriptors)
{
    auto machine = std::make_unique<Machine>();
    std::vector<uint8_t> expected = machine->memory;
    uint64_t bytes = 0;
    for (const Descriptor &d : descriptors) {
        carry_out(expected, d);
        bytes += d.length;
    }
    uint64_t cycles = machine->run(descriptors);
    std::printf("    %llu bytes in %llu cycles, %.2f bytes a cycle of 8\n", static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(cycles), static_cast<double>(bytes) / static_cast<double>(cycles));
    check(name, machine->memory == expected && !machine->top().fault_valid);
}

// A descriptor past the end of memory stops with its name; what was behind it is dropped until the fault is cleared.
void refused()
{
    auto machine = std::make_unique<Machine>();
    std::vector<uint8_t> expected = machine->memory;
    Descriptor good = {false, 0x100, 0x9000, 64};
    machine->run({{false, 0, memory_bytes - 16, 64}, good});
    // The part inside memory may have been written before the end of memory was reached.
    std::memcpy(&expected[memory_bytes - 16], &machine->memory[memory_bytes - 16], 16);
    check("a_range_past_the_end_is_a_fault_with_its_name",
          machine->top().fault_valid && machine->top().fault_name == 0 && machine->memory == expected);
    machine->clear_fault();
    machine->run({good});
    carry_out(expected, good);
    check("the_engine_works_on_after_a_fault", machine->memory == expected && !machine->top().fault_valid);
}

} // namespace

int main()
{
    copies("one_copy_of_64_KiB", {{false, 0x10000, 0x80000, 65536}});
    copies("one_copy_that_is_aligned_nowhere", {{false, 0x10001, 0x80003, 4099}});
    copies("a_copy_onto_itself", {{false, 0x2000, 0x2005, 10000}});
    copies("a_fill", {{true, 0x8877665544332211, 0x3001, 5000}});
    std::vector<Descriptor> small;
    for (uint64_t i = 0; i < 256; i++)
        small.push_back({false, 0x10000 + 72 * i, 0x40000 + 64 * i, 64});
    copies("256_copies_of_64_bytes", small);
    refused();
    std::printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
