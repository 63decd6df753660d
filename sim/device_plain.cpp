// SPDX-License-Identifier: Apache-2.0
#include "devices.h"

#include "Vferry_plain.h"
#include "Vferry_plain___024root.h"
#include "verilated.h"

namespace ferry
{

namespace
{

class PlainDevice
{
  public:
    explicit PlainDevice(const ferry_sim_config &) : top_(&context_) {}
    ~PlainDevice()
    {
        // The model's destructor uses the context of the thread, which may be that of a simulation that is gone.
        Verilated::threadContextp(&context_);
        top_.final();
    }

    Vferry_plain &top() { return top_; }
    void eval(uint64_t) { top_.eval(); }
    bool usable() const { return true; }
    bool firmware_busy() const
    {
        return top_.rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__core_busy;
    }
    bool read_busy() const
    {
        return top_.rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__read_busy;
    }
    bool write_busy() const
    {
        return top_.rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__write_busy;
    }
    bool reading_host() const
    {
        return top_.rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__requester_busy;
    }
    bool walk_busy() const
    {
        return top_.rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__walk_busy;
    }
    bool forget_busy() const
    {
        return top_.rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__forget_busy;
    }
    uint32_t misses() const { return top_.rootp->ferry_simulated__DOT__device__DOT__units__DOT__observe__DOT__misses; }

  private:
    VerilatedContext context_;
    Vferry_plain top_;
};

} // namespace

std::unique_ptr<Simulation> make_plain(const ferry_sim_config &config)
{
    auto harness = std::make_unique<Harness<PlainDevice>>(config, video_memory_bytes);
    return harness->usable() ? std::move(harness) : nullptr;
}

} // namespace ferry
