// SPDX-License-Identifier: Apache-2.0
#include "dram.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ferry
{

namespace
{

uint32_t log2_of(uint32_t value)
{
    uint32_t bits = 0;
    while (value >> (bits + 1) != 0) {
        bits++;
    }
    return bits;
}

} // namespace

Dram::Dram(size_t bytes, uint32_t read_latency, const ferry_sim_dram &dram)
    // Pages of so large a block come from the kernel when they are touched.
    : memory_(static_cast<uint8_t *>(std::calloc(bytes, 1))), bytes_(bytes), read_latency_(read_latency), timing_(dram),
      row_shift_(log2_of(dram.row_bytes)), bank_mask_(dram.banks - 1), bank_shift_(log2_of(dram.banks)),
      beats_(beat_room)
{
    for (Bank &bank : banks_) {
        bank = {never, 0};
    }
    next_refresh_ = timing_.refresh_interval == 0 ? never : timing_.refresh_interval;
}

Dram::~Dram()
{
    std::free(memory_);
}

void Dram::check(uint64_t address, uint32_t beats)
{
    if (address % 8 != 0) {
        violation_ = "burst address is not a multiple of 8";
    } else if (address % 4096 + 8 * static_cast<uint64_t>(beats) > 4096) {
        violation_ = "burst crosses a 4 KiB boundary";
    }
}

// ---- Timing -----------------------------------------------------------------------------------------------------

/// Every refresh that is due before `time` closes all banks. One that falls into a transfer waits for its end.
void Dram::refresh_until(uint64_t time)
{
    while (time >= next_refresh_) {
        // Refreshes of an idle stretch leave nothing behind but the last one.
        if (time - next_refresh_ > timing_.refresh_interval) {
            next_refresh_ += (time - next_refresh_) / timing_.refresh_interval * timing_.refresh_interval;
        }
        for (uint32_t n = 0; n <= bank_mask_; n++) {
            banks_[n].row = never;
            banks_[n].ready = std::max(banks_[n].ready, next_refresh_) + timing_.refresh;
        }
        next_refresh_ += timing_.refresh_interval;
    }
}

/// Cycle of the first data beat of an access to one row.
uint64_t Dram::command(uint64_t start, uint64_t address, uint32_t beats, bool write)
{
    refresh_until(start);
    Bank &bank = banks_[address >> row_shift_ & bank_mask_];
    const uint64_t row = address >> (row_shift_ + bank_shift_);
    uint64_t column = std::max(start, bank.ready);
    if (bank.row != row) {
        column += (bank.row == never ? 0 : timing_.precharge) + timing_.activate;
    }
    const uint64_t bus = bus_free_ + (bus_wrote_ != write ? timing_.turnaround : 0);
    const uint64_t data = std::max(column + timing_.column, bus);
    bus_free_ = data + beats;
    bus_wrote_ = write;
    bank.row = row;
    // The next column command to this bank may go out so that its data follow at once.
    bank.ready = std::max(column, bus_free_ - std::min<uint64_t>(bus_free_, timing_.column));
    return data;
}

void Dram::schedule(uint64_t now, Burst &burst, bool write)
{
    if (read_latency_ != 0) {
        burst.at = burst.at_second = now + (write ? 1 : read_latency_);
        burst.split = burst.beats;
        return;
    }
    const uint64_t start = now + timing_.controller;
    const uint64_t row_end = ((burst.address >> row_shift_) + 1) << row_shift_;
    burst.split = static_cast<uint32_t>(std::min<uint64_t>(burst.beats, (row_end - burst.address) / 8));
    burst.at = burst.at_second = command(start, burst.address, burst.split, write);
    if (burst.split < burst.beats) {
        burst.at_second = command(start, row_end, burst.beats - burst.split, write);
    }
}

// ---- Reads ------------------------------------------------------------------------------------------------------

void Dram::read_address(uint64_t now, uint8_t id, uint64_t address, uint32_t beats)
{
    check(address, beats);
    Burst &burst = reads_[(read_head_ + read_count_) % queue];
    burst = {address, 0, 0, beats, 0, 0, id, static_cast<uint8_t>(okay)};
    if (address + 8 * static_cast<uint64_t>(beats) > bytes_) {
        burst.response = decode_error;
    } else if (fail_reads_ != 0) {
        fail_reads_--;
        burst.response = slave_error;
    }
    schedule(now, burst, false);
    if (read_count_++ == 0) {
        read_at_ = burst.at;
    }
}

Dram::ReadBeat Dram::read_data() const
{
    const Burst &burst = reads_[read_head_];
    uint64_t data = 0;
    if (burst.response == okay) {
        std::memcpy(&data, memory_ + burst.address + 8 * static_cast<uint64_t>(burst.done), 8);
    }
    return {data, burst.id, burst.response, burst.done + 1 == burst.beats};
}

void Dram::read_data_taken(uint64_t now)
{
    Burst &burst = reads_[read_head_];
    burst.done++;
    if (burst.done < burst.beats) {
        read_at_ = burst.done < burst.split ? burst.at + burst.done : burst.at_second + (burst.done - burst.split);
    } else {
        read_head_ = (read_head_ + 1) % queue;
        read_count_--;
        read_at_ = read_count_ == 0 ? never : reads_[read_head_].at;
    }
    // One beat a cycle, however late the master took this one.
    read_at_ = std::max(read_at_, now + 1);
}

// ---- Writes -----------------------------------------------------------------------------------------------------

/// Give complete bursts of data to the addresses in order.
void Dram::pair(uint64_t now)
{
    while (writes_paired_ < write_count_ && complete_count_ != 0) {
        Burst &burst = writes_[(write_head_ + writes_paired_) % queue];
        if (complete_[complete_head_] != burst.beats) {
            violation_ = "wlast does not fit awlen";
        }
        complete_head_ = (complete_head_ + 1) % queue;
        complete_count_--;
        schedule(now, burst, true);
        if (read_latency_ == 0) {
            // The response comes when the last beat is in the array.
            burst.at =
                (burst.split < burst.beats ? burst.at_second + (burst.beats - burst.split) : burst.at + burst.beats);
        }
        if (writes_paired_++ == 0) {
            write_at_ = burst.at;
        }
    }
}

void Dram::write_address(uint64_t now, uint8_t id, uint64_t address, uint32_t beats)
{
    check(address, beats);
    Burst &burst = writes_[(write_head_ + write_count_) % queue];
    burst = {address, 0, 0, beats, 0, 0, id, static_cast<uint8_t>(okay)};
    if (address + 8 * static_cast<uint64_t>(beats) > bytes_) {
        burst.response = decode_error;
    } else if (fail_writes_ != 0) {
        fail_writes_--;
        burst.response = slave_error;
    }
    write_count_++;
    pair(now);
}

void Dram::write_data(uint64_t now, uint64_t data, uint8_t strobes, bool last)
{
    beats_[(beat_head_ + beats_held_) % beat_room] = {data, strobes};
    beats_held_++;
    burst_beats_++;
    if (burst_beats_ > 256) {
        violation_ = "more than 256 beats without wlast";
    }
    if (!last) {
        return;
    }
    if (complete_count_ == queue) {
        violation_ = "write data runs too far ahead of its addresses";
        return;
    }
    complete_[(complete_head_ + complete_count_++) % queue] = burst_beats_;
    burst_beats_ = 0;
    pair(now);
}

Dram::WriteResponse Dram::write_response() const
{
    return {writes_[write_head_].id, writes_[write_head_].response};
}

void Dram::write_response_taken()
{
    const Burst &burst = writes_[write_head_];
    uint8_t *place = memory_ + burst.address;
    for (uint32_t n = 0; n < burst.beats; n++, place += 8) {
        const Beat &beat = beats_[(beat_head_ + n) % beat_room];
        if (burst.response != okay) {
            continue;
        }
        if (beat.strobes == 0xff) {
            std::memcpy(place, &beat.data, 8);
            continue;
        }
        for (uint32_t byte = 0; byte < 8; byte++) {
            if (beat.strobes >> byte & 1) {
                place[byte] = static_cast<uint8_t>(beat.data >> 8 * byte);
            }
        }
    }
    beat_head_ = (beat_head_ + burst.beats) % beat_room;
    beats_held_ -= burst.beats;
    write_head_ = (write_head_ + 1) % queue;
    write_count_--;
    writes_paired_--;
    write_at_ = writes_paired_ == 0 ? never : writes_[write_head_].at;
}

} // namespace ferry
