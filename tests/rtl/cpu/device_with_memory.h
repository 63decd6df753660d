// SPDX-License-Identifier: Apache-2.0
// ferry_device with a video memory behind AXI4, which may be slow, dead, stubborn or wrong: what a root complex is put
// in front of (root_complex.h). Written from AXI4's rules for these tests alone; what breaks them is counted.
#ifndef FERRY_TESTS_RTL_CPU_DEVICE_WITH_MEMORY_H
#define FERRY_TESTS_RTL_CPU_DEVICE_WITH_MEMORY_H

#include <cstring>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "Vferry_device.h"
#include "check.h"

// Every flip-flop and every word of RAM comes up as anything, another for each seed, and so do the inputs before they
// are driven: what a reset leaves alone, nothing may depend on. Nothing is drawn from the test's own stream.
struct PowerOn {
    explicit PowerOn(Random random)
    {
        Verilated::randReset(2);
        Verilated::randSeed(int(random.word() & 0x7fffffff));
    }
};

class DeviceWithMemory
{
    PowerOn power_on_;

  public:
    Vferry_device top;
    uint64_t time = 0;
    unsigned memory_latency = 10;
    // Video memory gives a beat once in so many cycles.
    unsigned memory_pace = 1;
    // Every handshake is refused now and then.
    bool stall = false;
    // Video memory takes nothing and answers nothing.
    bool memory_dead = false;
    // It gives no data of the reads whose addresses it takes.
    bool reads_held = false;
    // With this beat that it gives, counted from now on, it dies, or holds its reads; below 0 never.
    int dies_in = -1, holds_in = -1;
    // It takes no data of the writes whose addresses it takes.
    bool writes_held = false;
    // It takes no address of a write before it was shown data, and no data before that (AXI4 A3.3.1 allows it).
    bool address_waits = false;
    // It takes no address of a write before it has all data of it.
    bool data_first = false;
    // It has one port: it takes no read and gives no data while it waits for what is left of a write.
    bool one_port = false;
    // It takes the freedom that AXI4 leaves: bursts of different ids are served beat by beat in any order, some late; a
    // read sees what was there as its address came, or as its data goes; what is written is there with its response.
    bool any_order = false;
    // So many beats read, and bursts written, from now on the answer is an error; below 0 never. What is read then are
    // no bytes of memory, and of memory in any order nothing is written.
    int read_error_in = -1, write_error_in = -1;
    // Asked of each burst read of video memory, by its address and beats: with how many beats left is one an error; 0
    // never. What is on the bus then.
    std::function<unsigned(uint64_t, unsigned)> bad_beat;
    uint64_t bad_data = 0;
    // Rules that were broken, of the packets too.
    unsigned broken = 0;
    std::vector<uint8_t> local;
    // Called with every byte that the device writes there, and with the address of each burst that it reads.
    std::function<void(uint64_t, uint8_t)> on_local_write;
    std::function<void(uint64_t)> on_local_read;

  protected:
    explicit DeviceWithMemory(Random &random) : power_on_(random), local(1u << 26), random_(random) {}

    Random &random_;

    bool hesitate() { return stall && random_.once_in(3); }

    void drive_memory()
    {
        const bool writing = one_port && !writes_.empty();
        top.m_axi_arready = !memory_dead && !writing && !hesitate();
        // Data that has no address yet; at most one burst of it is taken ahead.
        const bool whole = !beats_.empty() && beats_.back().last;
        top.m_axi_awready = !memory_dead && !hesitate() && (!address_waits || data_stands_) && (!data_first || whole);
        top.m_axi_wready = !memory_dead && !writes_held && !hesitate() && (!address_waits || !writes_.empty()) &&
                           (!data_first || !whole);
        // What is offered stays.
        if (!holding_)
            read_at_ = choose(reads_);
        bool data = read_at_ < reads_.size() &&
                    (holding_ || (!memory_dead && !reads_held && !writing && !hesitate() && time % memory_pace == 0));
        holding_ = data;
        top.m_axi_rvalid = data;
        if (data) {
            const Burst &r = reads_[read_at_];
            const uint8_t *from = r.seen.empty() ? &local[r.address] : &r.seen[r.seen.size() - r.beats * 8];
            std::memcpy(&top.m_axi_rdata, from, 8);
            top.m_axi_rid = r.id;
            const bool bad = r.beats == r.bad_beats_left;
            if (bad)
                top.m_axi_rdata = bad_data;
            else if (read_error_in == 0)
                top.m_axi_rdata = ~top.m_axi_rdata;
            top.m_axi_rresp = bad ? 2 | (r.address >> 3 & 1) : read_error_in == 0 ? 2 : 0;
            top.m_axi_rlast = r.beats == 1;
        }
        if (!answering_)
            response_at_ = choose(responses_);
        answering_ = response_at_ < responses_.size() && (answering_ || !memory_dead);
        top.m_axi_bvalid = answering_;
        if (answering_)
            top.m_axi_bid = responses_[response_at_].id;
        top.m_axi_bresp = write_error_in == 0 ? 2 : 0;
    }

    void observe_memory()
    {
        if (top.rst)
            return;
        if (top.m_axi_rvalid && top.m_axi_rready) {
            holding_ = false;
            read_error_in -= read_error_in >= 0;
            dies_in -= dies_in >= 0;
            holds_in -= holds_in >= 0;
            memory_dead |= dies_in == 0;
            reads_held |= holds_in == 0;
            reads_[read_at_].address += 8;
            if (--reads_[read_at_].beats == 0)
                reads_.erase(reads_.begin() + static_cast<ptrdiff_t>(read_at_));
        }
        if (top.m_axi_arvalid && top.m_axi_arready) {
            if (top.m_axi_araddr % 8 || (top.m_axi_araddr & 4095) + top.m_axi_arlen * 8 + 8 > 4096)
                broken++;
            if (on_local_read)
                on_local_read(top.m_axi_araddr);
            const unsigned beats = top.m_axi_arlen + 1u, bad = bad_beat ? bad_beat(top.m_axi_araddr, beats) : 0;
            reads_.push_back({top.m_axi_araddr & ~7u, time + memory_latency, beats, top.m_axi_arid, bad, {}});
            if (any_order) {
                Burst &r = reads_.back();
                r.due += random_.once_in(3) ? random_.below(60) : 0;
                if (random_.once_in(2))
                    r.seen.assign(&local[r.address], &local[r.address] + beats * 8);
            }
        }
        if (top.m_axi_bvalid && top.m_axi_bready) {
            if (top.m_axi_bresp == 0)
                for (const auto &byte : responses_[response_at_].bytes)
                    store(byte.first, byte.second);
            responses_.erase(responses_.begin() + static_cast<ptrdiff_t>(response_at_));
            answering_ = false;
            write_error_in -= write_error_in >= 0;
        }
        if (top.m_axi_awvalid && top.m_axi_awready) {
            if (top.m_axi_awaddr % 8 || (top.m_axi_awaddr & 4095) + top.m_axi_awlen * 8 + 8 > 4096)
                broken++;
            writes_.push_back({top.m_axi_awaddr & ~7u, 0, top.m_axi_awlen + 1u, top.m_axi_awid, 0, {}});
        }
        // What is shown stays until it is taken. Of each write data is shown behind its address or beside it.
        const Shown read = {top.m_axi_arvalid && !top.m_axi_arready, top.m_axi_araddr, top.m_axi_arlen, top.m_axi_arid};
        const Shown address = {top.m_axi_awvalid && !top.m_axi_awready, top.m_axi_awaddr, top.m_axi_awlen,
                               top.m_axi_awid};
        const Shown data = {top.m_axi_wvalid && !top.m_axi_wready, top.m_axi_wdata, top.m_axi_wstrb, top.m_axi_wlast};
        broken += read_shown_.stands && (!top.m_axi_arvalid || !read_shown_.same(read));
        broken += address_shown_.stands && (!top.m_axi_awvalid || !address_shown_.same(address));
        broken += data_shown_.stands && (!top.m_axi_wvalid || !data_shown_.same(data));
        announced_ += top.m_axi_awvalid && !address_shown_.stands;
        broken += top.m_axi_wvalid && announced_ == 0;
        announced_ -= top.m_axi_wvalid && top.m_axi_wready && top.m_axi_wlast;
        read_shown_ = read;
        address_shown_ = address;
        data_shown_ = data;
        data_stands_ = data.stands;
        if (top.m_axi_wvalid && top.m_axi_wready)
            beats_.push_back({top.m_axi_wdata, top.m_axi_wstrb, top.m_axi_wlast != 0});
        while (!writes_.empty() && !beats_.empty()) {
            Burst &w = writes_.front();
            for (unsigned b = 0; b < 8; b++)
                if (beats_.front().strobes >> b & 1) {
                    const uint8_t value = static_cast<uint8_t>(beats_.front().data >> 8 * b);
                    if (any_order)
                        kept_.push_back({w.address + b, value});
                    else
                        store(w.address + b, value);
                }
            w.address += 8;
            if (beats_.front().last != (w.beats == 1))
                broken++;
            beats_.pop_front();
            if (--w.beats == 0) {
                responses_.push_back({w.id, time + (any_order && random_.once_in(2) ? random_.below(90) : 0), kept_});
                kept_.clear();
                writes_.pop_front();
            }
        }
    }

  private:
    struct Burst {
        uint32_t address;
        uint64_t due;
        unsigned beats;
        uint8_t id;
        unsigned bad_beats_left;
        std::vector<uint8_t> seen; // What it sees; empty: what is there as its data goes.
    };
    struct Response {
        uint8_t id;
        uint64_t due;
        std::vector<std::pair<uint32_t, uint8_t>> bytes; // That are there with it.
    };
    struct Beat {
        uint64_t data;
        unsigned strobes;
        bool last;
    };
    struct Shown {
        bool stands;
        uint64_t what, more, most;
        bool same(const Shown &other) const { return what == other.what && more == other.more && most == other.most; }
    };
    // Which of them is served next; as many as there are: none yet. Those of one id keep their order.
    template <typename Kind> size_t choose(const std::deque<Kind> &queue)
    {
        if (!any_order)
            return queue.empty() || queue.front().due > time ? queue.size() : 0;
        std::vector<size_t> able;
        unsigned ids = 0;
        for (size_t i = 0; i < queue.size(); i++) {
            if (!(ids >> queue[i].id & 1) && queue[i].due <= time)
                able.push_back(i);
            ids |= 1u << queue[i].id;
        }
        return able.empty() ? queue.size() : able[random_.below(static_cast<uint32_t>(able.size()))];
    }
    void store(uint32_t address, uint8_t value)
    {
        local[address] = value;
        if (on_local_write)
            on_local_write(address, value);
    }
    bool holding_ = false, answering_ = false, data_stands_ = false;
    size_t read_at_ = 0, response_at_ = 0;
    Shown read_shown_ = {}, address_shown_ = {}, data_shown_ = {};
    unsigned announced_ = 0; // Writes whose address was shown, and whose last data has not come.
    std::deque<Burst> reads_, writes_;
    std::deque<Beat> beats_;
    std::vector<std::pair<uint32_t, uint8_t>> kept_; // Of the burst that is being written.
    std::deque<Response> responses_;
};

#endif
