// SPDX-License-Identifier: Apache-2.0
// The deciding half of the device (control_bench.v) with everything around it played by this class: the completer's
// register bus, host memory behind an AXI4 read and write port, an engine that retires jobs, and the aperture table's
// update port.
#ifndef FERRY_TESTS_RTL_CPU_CONTROL_BENCH_H
#define FERRY_TESTS_RTL_CPU_CONTROL_BENCH_H

#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include "Vcontrol_bench.h"
#include "check.h"
// The contract is C11.
#define _Static_assert static_assert
#include "ferry_contract.h"

struct Job {
    uint32_t op, source_kind, destination_kind, list, slot, pattern_log2, packet_offset, length, list_address;
    bool unordered, is_protected;
    uint64_t source, destination;
};

class ControlBench
{
  public:
    explicit ControlBench(Random &random) : random_(random), memory(1u << 20)
    {
        top.rst = 1;
        for (int i = 0; i < 4; i++)
            tick();
        top.rst = 0;
    }

    // One clock cycle with everything around the device.
    void tick()
    {
        drive();
        top.clk = 0;
        top.eval();
        observe();
        top.clk = 1;
        top.eval();
        time++;
    }

    uint32_t access(bool write, uint32_t address, uint32_t value, uint32_t strobes)
    {
        top.reg_valid = 1;
        top.reg_write = write;
        top.reg_address = address;
        top.reg_wdata = value;
        top.reg_wstrb = strobes;
        for (int i = 0; i < 1000; i++) {
            drive();
            top.clk = 0;
            top.eval();
            bool ready = top.reg_ready;
            uint32_t data = top.reg_rdata;
            observe();
            top.clk = 1;
            top.eval();
            time++;
            if (ready) {
                top.reg_valid = 0;
                return data;
            }
        }
        std::printf("    register access at 0x%x was never answered\n", address);
        std::exit(1);
    }
    uint32_t read(uint32_t address) { return access(false, address, 0, 0); }
    void write(uint32_t address, uint32_t value, uint32_t strobes = 15) { access(true, address, value, strobes); }
    void write64(uint32_t address, uint64_t value)
    {
        write(address, static_cast<uint32_t>(value));
        write(address + 4, static_cast<uint32_t>(value >> 32));
    }
    uint64_t counter(uint32_t offset)
    {
        return read(FERRY_BAR0_COUNTER_AT + offset) | uint64_t{read(FERRY_BAR0_COUNTER_AT + offset + 4)} << 32;
    }
    // Loads the firmware's binary and lets the core run until it reports that it serves rings.
    bool boot(const char *path)
    {
        std::FILE *file = std::fopen(path, "rb");
        if (!file) {
            std::printf("    cannot open %s\n", path);
            return false;
        }
        uint8_t word[4] = {};
        for (uint32_t at = 0; std::fread(word, 1, 4, file) == 4; at += 4)
            write(FERRY_BAR0_FIRMWARE_RAM + at, word[0] | word[1] << 8 | word[2] << 16 | uint32_t{word[3]} << 24);
        std::fclose(file);
        write(FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION);
        write(FERRY_BAR0_CONTROL, 1);
        for (int i = 0; i < 2000; i++)
            if (read(FERRY_BAR0_FIRMWARE_STATE) == FERRY_FIRMWARE_STATE_RUNNING)
                return true;
        return false;
    }

    uint64_t load64(uint64_t address) const
    {
        uint64_t value;
        std::memcpy(&value, &memory[address], 8);
        return value;
    }
    void store64(uint64_t address, uint64_t value) { std::memcpy(&memory[address], &value, 8); }

    Vcontrol_bench top;
    uint64_t time = 0;
    uint32_t cleared = 0; // Bits of INTERRUPT_STATUS.
    std::deque<Job> jobs;
    // Cycles from a read request to its first beat, and whether the ports stall at random.
    unsigned latency = 20;
    bool stall = false;
    // Cycles until a job retires.
    unsigned job_cycles = 4;
    // 8-byte words that answer an error.
    std::function<bool(uint64_t)> unmapped = [](uint64_t) { return false; };
    std::vector<std::pair<uint64_t, uint64_t>> bad_bursts;
    uint32_t interrupts = 0;
    uint64_t updates = 0;

  private:
    struct Read {
        uint64_t address, due;
        unsigned beats;
    };

    void drive()
    {
        top.fetch_arready = !stall || !random_.once_in(3);
        bool data = !reads_.empty() && reads_.front().due <= time && (holding_ || !stall || !random_.once_in(3));
        top.fetch_rvalid = data;
        holding_ = data;
        if (data) {
            uint64_t address = reads_.front().address;
            bool bad = address + 8 > memory.size() || unmapped(address);
            top.fetch_rdata = bad ? 0 : load64(address);
            top.fetch_rresp = bad ? 2 : 0;
            top.fetch_rlast = reads_.front().beats == 1;
        }
        top.post_awready = !stall || !random_.once_in(3);
        top.post_wready = !stall || !random_.once_in(3);
        top.post_bvalid = post_response_;
        top.job_ready = retire_.size() < 8;
        top.engine_busy = !retire_.empty();
        top.jobs_retired = retired_;
        top.update_ready = update_left_ == 0;
        top.update_busy = update_left_ != 0;
    }

    void observe()
    {
        if (top.rst)
            return;
        cleared |= top.interrupt_clear;
        if (top.fetch_rvalid && top.fetch_rready) {
            holding_ = false;
            reads_.front().address += 8;
            if (--reads_.front().beats == 0)
                reads_.pop_front();
        }
        if (top.fetch_arvalid && top.fetch_arready) {
            uint64_t bytes = (top.fetch_arlen + 1) * 8;
            if (top.fetch_araddr % 8 || (top.fetch_araddr ^ (top.fetch_araddr + bytes - 1)) >> 12)
                bad_bursts.push_back({top.fetch_araddr, bytes});
            reads_.push_back({top.fetch_araddr, time + latency, top.fetch_arlen + 1u});
        }
        if (post_response_ && top.post_bready)
            post_response_ = false;
        if (top.post_awvalid && top.post_awready) {
            post_addresses_.push_back(top.post_awaddr);
            if ((top.post_awaddr ^ (top.post_awaddr + top.post_awlen * 8 + 7)) >> 12)
                bad_bursts.push_back({top.post_awaddr, top.post_awlen * 8 + 8});
        }
        if (top.post_wvalid && top.post_wready) {
            post_data_.push_back(top.post_wdata);
            post_last_ = top.post_wlast;
        }
        if (post_last_ && !post_addresses_.empty()) {
            for (uint64_t word : post_data_) {
                if (post_addresses_.front() + 8 <= memory.size())
                    store64(post_addresses_.front(), word);
                post_addresses_.front() += 8;
            }
            post_addresses_.pop_front();
            post_data_.clear();
            post_last_ = false;
            post_response_ = true;
        }
        if (!retire_.empty() && retire_.front() <= time) {
            retire_.pop_front();
            retired_++;
        }
        if (top.job_valid && top.job_ready) {
            jobs.push_back({top.job_op, top.job_source_kind, top.job_destination_kind, top.job_list, top.job_slot,
                            top.job_pattern_log2, top.job_packet_offset, top.job_length, top.job_list_address,
                            top.job_unordered != 0, top.job_protected != 0, top.job_source, top.job_destination});
            retire_.push_back(time + job_cycles);
        }
        if (update_left_)
            update_left_--;
        if (top.update_valid && top.update_ready) {
            update_left_ = top.update_count;
            updates++;
        }
        interrupts |= top.interrupt_cause;
    }

    Random &random_;
    std::deque<Read> reads_;
    std::deque<uint64_t> post_addresses_;
    std::vector<uint64_t> post_data_;
    std::deque<uint64_t> retire_;
    uint32_t retired_ = 0;
    unsigned update_left_ = 0;
    bool holding_ = false;
    bool post_last_ = false;
    bool post_response_ = false;

  public:
    std::vector<uint8_t> memory;
};

#endif
