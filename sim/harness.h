// SPDX-License-Identifier: Apache-2.0
// The cycle loop: one device between the link and video memory. A template over the device's class, so that the plain
// model, the one with waves and a test's stand-in all run the same loop without a virtual call in it.
//
// A cycle begins with its rising edge. The inputs that it shall see are set before; the edge takes them into flip-flops
// (ferry_simulated.v) and the device settles on them in the same evaluation; then the handshakes are read off and the
// models take note of them. The falling edge changes nothing and costs next to nothing.
#ifndef FERRY_SIM_HARNESS_H
#define FERRY_SIM_HARNESS_H

#include <cstdint>

#include "ferry_sim.h"
#include "link_model.h"
#include "memory_port.h"
#include "random.h"
#include "spans.h"

namespace ferry
{

/// What ferry_sim.cpp needs of a harness, whatever the device's class is.
class Simulation
{
  public:
    virtual ~Simulation() = default;
    virtual uint64_t run(uint64_t cycles) = 0;
    virtual bool send(const uint32_t *words, size_t count) = 0;
    virtual size_t queued() const = 0;
    virtual const uint32_t *receive(size_t *count) = 0;
    virtual uint64_t cycles() const = 0;
    virtual const char *violation() const = 0;
    virtual bool busy() const = 0;
    virtual void fail_bursts(bool write, uint32_t count) = 0;
    virtual void observe(const ferry_sim_observer *observer) = 0;
};

/// Device gives: `Top &top()` with the ports of ferry_device as members, `void eval(uint64_t time)`, `bool usable()`,
/// and bool firmware_busy(), read_busy(), write_busy(), reading_host(), walk_busy(), forget_busy(), uint32_t misses().
template <class Device> class Harness : public Simulation
{
  public:
    Harness(const ferry_sim_config &config, size_t memory_bytes)
        : device_(config), memory_(memory_bytes, config),
          down_(config.link_latency, config.link_words_per_16, config.link_credit_words, config.reorder_percent),
          up_(config.link_latency, config.link_words_per_16, config.link_credit_words, config.link_smallest_credits),
          random_(config.seed), stall_(config.stall_percent * 256 / 100)
    {
        if (!usable()) {
            return;
        }
        device_.top().rst = 1;
        for (int n = 0; n < 8; n++) {
            idle_cycle();
        }
        device_.top().rst = 0;
    }

    bool usable() const { return device_.usable() && dram().usable(); }

    uint64_t run(uint64_t cycles) override
    {
        const uint64_t start = now_;
        const uint64_t end = now_ + cycles;
        while (now_ < end && now_ < up_.next_due() && violation_ == nullptr) {
            cycle();
        }
        return now_ - start;
    }

    bool send(const uint32_t *words, size_t count) override { return down_.send(now_, words, count); }
    size_t queued() const override { return down_.words(); }
    const uint32_t *receive(size_t *count) override
    {
        if (up_.next_due() > now_) {
            return nullptr;
        }
        const PacketQueue::Packet &packet = up_.front();
        *count = packet.count;
        up_.pop(now_);
        return packet.words; // The slot is filled again at the earliest by the next run().
    }
    uint64_t cycles() const override { return now_; }
    const char *violation() const override { return violation_; }
    bool busy() const override
    {
        return down_.words() != 0 || up_.next_due() != PacketQueue::never || device_.firmware_busy() ||
               device_.read_busy() || device_.write_busy() || device_.reading_host() || device_.walk_busy() ||
               device_.forget_busy();
    }
    void fail_bursts(bool write, uint32_t count) override { dram().fail(write, count); }
    void observe(const ferry_sim_observer *observer) override { spans_.observe(observer); }
    Dram &dram() { return memory_.dram(); }
    const Dram &dram() const { return memory_.dram(); }
    Device &device() { return device_; }

  private:
    /// The handshakes that chance decides in this cycle, one byte of the draw each.
    enum Channel { tlp_in, tlp_out, aw, w, b, ar, r };

    bool allowed(uint64_t draw, Channel channel) const { return (draw >> 8 * channel & 0xff) >= stall_; }

    void idle_cycle()
    {
        auto &top = device_.top();
        top.s_axis_tlp_tvalid = 0;
        top.m_axis_tlp_tready = 0;
        top.m_axis_tlp_posted_ok = top.m_axis_tlp_request_ok = top.m_axis_tlp_completion_ok = 0;
        MemoryPort::idle(top);
        clock();
        now_++;
    }

    void clock()
    {
        auto &top = device_.top();
        top.clk = 0;
        device_.eval(2 * now_);
        top.clk = 1;
        device_.eval(2 * now_ + 1);
    }

    void drive(uint64_t draw)
    {
        auto &top = device_.top();
        // An offer that was refused stands: only new ones are up to chance.
        tlp_offered_ = tlp_offered_ || (down_.valid(now_, random_, top.s_axis_tlp_request_ok) && allowed(draw, tlp_in));
        top.s_axis_tlp_tvalid = tlp_offered_;
        if (tlp_offered_) {
            top.s_axis_tlp_tdata = down_.data();
            top.s_axis_tlp_tkeep = static_cast<uint8_t>(down_.keep());
            top.s_axis_tlp_tlast = down_.last();
        }
        top.m_axis_tlp_tready = up_.ready() && allowed(draw, tlp_out);
        top.m_axis_tlp_posted_ok = up_.room(PacketKind::posted);
        top.m_axis_tlp_request_ok = up_.room(PacketKind::request);
        top.m_axis_tlp_completion_ok = up_.room(PacketKind::completion);
        memory_.drive(top, now_,
                      {allowed(draw, aw), allowed(draw, w), allowed(draw, b), allowed(draw, ar), allowed(draw, r)});
    }

    /// Take note of what is handed over at the edge that ends this cycle.
    void note()
    {
        auto &top = device_.top();
        if (tlp_offered_ && top.s_axis_tlp_tready) {
            tlp_offered_ = false;
            down_.taken(now_);
        }
        if (top.m_axis_tlp_tvalid && top.m_axis_tlp_tready &&
            !up_.beat(now_, top.m_axis_tlp_tdata, top.m_axis_tlp_tkeep, top.m_axis_tlp_tlast)) {
            violation_ = "packet with a hole, longer than the link carries, or without a credit";
        }
        const char *broken = memory_.note(top, now_);
        violation_ = broken != nullptr ? broken : violation_;
    }

    uint32_t reads_outstanding()
    {
        const uint64_t more = up_.reads_asked() - down_.reads_answered();
        // A read whose answer was lost is over once the device has waited for none for a while.
        quiet_ = device_.reading_host() ? 0 : quiet_ + 1;
        if (quiet_ > 16 || reads_given_up_ > more) {
            reads_given_up_ = more;
        }
        return static_cast<uint32_t>(more - reads_given_up_);
    }

    void cycle()
    {
        down_.tick(now_);
        up_.tick(now_);
        drive(stall_ == 0 ? UINT64_MAX : random_.next());
        clock();
        note();
        if (spans_.on()) {
            spans_.sample(now_, FERRY_SIM_FIRMWARE, device_.firmware_busy());
            spans_.sample(now_, FERRY_SIM_READ_CHANNEL, device_.read_busy());
            spans_.sample(now_, FERRY_SIM_WRITE_CHANNEL, device_.write_busy());
            spans_.sample(now_, FERRY_SIM_WALKS, device_.walk_busy());
            spans_.sample(now_, FERRY_SIM_FORGETTING, device_.forget_busy());
            spans_.sample_value(now_, FERRY_SIM_READS_OUTSTANDING, reads_outstanding());
            spans_.sample_value(now_, FERRY_SIM_TABLE_MISSES, device_.misses());
        }
        now_++;
    }

    Device device_;
    MemoryPort memory_;
    ToDevice down_;
    FromDevice up_;
    Random random_;
    Spans spans_;
    uint32_t stall_; // In 256ths.
    uint64_t now_ = 0;
    bool tlp_offered_ = false;
    uint64_t reads_given_up_ = 0, quiet_ = 0;
    const char *violation_ = nullptr;
};

} // namespace ferry

#endif
