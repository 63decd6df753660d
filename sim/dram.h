// SPDX-License-Identifier: Apache-2.0
// Video memory behind an AXI4 port: storage, and when each beat comes. Either a constant read latency, or banks with
// open rows, a shared data bus and refresh.
//
// A burst's times are fixed when it is taken (reads) or complete (writes), so that a cycle costs a comparison. Contents
// are as lazy as AXI4 allows: a read looks at memory when its beat leaves, a write reaches memory with its response. An
// engine that trusts in anything sooner reads stale bytes here.
#ifndef FERRY_SIM_DRAM_H
#define FERRY_SIM_DRAM_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ferry_sim.h"

namespace ferry
{

class Dram
{
  public:
    static constexpr uint32_t okay = 0, slave_error = 2, decode_error = 3;

    struct ReadBeat {
        uint64_t data;
        uint8_t id, response;
        bool last;
    };
    struct WriteResponse {
        uint8_t id, response;
    };

    /// read_latency 0 = the timing of `dram`.
    Dram(size_t bytes, uint32_t read_latency, const ferry_sim_dram &dram);
    ~Dram();
    Dram(const Dram &) = delete;
    Dram &operator=(const Dram &) = delete;
    bool usable() const { return memory_ != nullptr; }

    bool read_address_ready() const { return read_count_ < queue; }
    void read_address(uint64_t now, uint8_t id, uint64_t address, uint32_t beats);
    /// A beat may be offered in cycle `now`.
    bool read_data_valid(uint64_t now) const { return read_count_ != 0 && now >= read_at_; }
    ReadBeat read_data() const;
    void read_data_taken(uint64_t now);

    bool write_address_ready() const { return write_count_ < queue; }
    void write_address(uint64_t now, uint8_t id, uint64_t address, uint32_t beats);
    bool write_data_ready() const { return beats_held_ < beat_room; }
    void write_data(uint64_t now, uint64_t data, uint8_t strobes, bool last);
    bool write_response_valid(uint64_t now) const { return write_count_ != 0 && now >= write_at_; }
    WriteResponse write_response() const;
    void write_response_taken();

    void fail(bool write, uint32_t count) { (write ? fail_writes_ : fail_reads_) = count; }
    /// Rule of AXI4 (or of the port) that the master broke, or nullptr.
    const char *violation() const { return violation_; }
    uint8_t *memory() { return memory_; }

  private:
    static constexpr uint32_t queue = 64;       // Bursts of each kind.
    static constexpr uint32_t beat_room = 4096; // Write beats held until their response.
    static constexpr uint64_t never = UINT64_MAX;

    struct Burst {
        uint64_t address, at, at_second; // Beats from `split` on follow at_second.
        uint32_t beats, split, done;
        uint8_t id, response;
    };
    struct Beat {
        uint64_t data;
        uint8_t strobes;
    };
    struct Bank {
        uint64_t row, ready; // row is never when none is open.
    };

    void check(uint64_t address, uint32_t beats);
    uint64_t command(uint64_t start, uint64_t address, uint32_t beats, bool write);
    void schedule(uint64_t now, Burst &burst, bool write);
    void refresh_until(uint64_t time);
    void pair(uint64_t now);

    uint8_t *memory_;
    size_t bytes_;
    uint32_t read_latency_;
    ferry_sim_dram timing_;
    uint32_t row_shift_, bank_mask_, bank_shift_;
    Bank banks_[16];
    uint64_t bus_free_ = 0, next_refresh_ = 0;
    bool bus_wrote_ = false;

    Burst reads_[queue], writes_[queue];
    uint32_t read_head_ = 0, read_count_ = 0;
    uint64_t read_at_ = never; // When the next beat of the first read may leave.
    uint32_t write_head_ = 0, write_count_ = 0;
    uint32_t writes_paired_ = 0; // Of write_count_: those whose data is complete.
    uint64_t write_at_ = never;
    std::vector<Beat> beats_;
    uint32_t beat_head_ = 0, beats_held_ = 0; // Ring of write beats; the oldest unanswered burst's come first.
    uint32_t burst_beats_ = 0;                // Beats of the burst that is coming in.
    uint32_t complete_[queue] = {};           // Beats of complete bursts that wait for their address.
    uint32_t complete_head_ = 0, complete_count_ = 0;
    uint32_t fail_reads_ = 0, fail_writes_ = 0;
    const char *violation_ = nullptr;
};

} // namespace ferry

#endif
