// SPDX-License-Identifier: Apache-2.0
#include "devices.h"

#include "Vferry_traced.h"
#include "Vferry_traced___024root.h"
#include "verilated.h"
#include "verilated_fst_c.h"

namespace ferry
{

namespace
{

class TracedDevice
{
  public:
    explicit TracedDevice(const ferry_sim_config &config)
    {
        context_.traceEverOn(true);
        top_ = std::make_unique<Vferry_traced>(&context_);
        top_->trace(&file_, 99);
        file_.open(config.wave_file);
    }
    ~TracedDevice()
    {
        // As in device_plain.cpp.
        Verilated::threadContextp(&context_);
        top_->final();
        file_.close();
    }

    Vferry_traced &top() { return *top_; }
    void eval(uint64_t time)
    {
        top_->eval();
        file_.dump(time);
    }
    bool usable() const { return file_.isOpen(); }
    bool firmware_busy() const
    {
        return top_->rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__core_busy;
    }
    bool read_busy() const
    {
        return top_->rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__read_busy;
    }
    bool write_busy() const
    {
        return top_->rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__write_busy;
    }
    bool reading_host() const
    {
        return top_->rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__requester_busy;
    }
    bool walk_busy() const
    {
        return top_->rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__walk_busy;
    }
    bool forget_busy() const
    {
        return top_->rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__forget_busy;
    }
    uint32_t misses() const { return top_->rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__misses; }

  private:
    VerilatedContext context_;
    std::unique_ptr<Vferry_traced> top_;
    VerilatedFstC file_;
};

} // namespace

std::unique_ptr<Simulation> make_traced(const ferry_sim_config &config)
{
    auto harness = std::make_unique<Harness<TracedDevice>>(config, video_memory_bytes);
    return harness->usable() ? std::move(harness) : nullptr;
}

} // namespace ferry
