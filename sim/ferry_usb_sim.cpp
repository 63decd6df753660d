// SPDX-License-Identifier: Apache-2.0
#include "ferry_usb_sim.h"

#include <memory>
#include <new>

#include "Vferry_usb.h"
#include "devices.h"
#include "memory_port.h"
#include "random.h"
#include "usb_host.h"
#include "verilated.h"

namespace
{

constexpr uint32_t rest =
    4000; // Cycles without work until nothing can come any more: memory, firmware's loop, the endpoint.

/// The device, and the wires between it and the host.
class Port
{
  public:
    explicit Port(const ferry_sim_config &config)
        : memory(ferry::video_memory_bytes, config), random(config.seed), stall(config.stall_percent * 256 / 100),
          top(&context)
    {
        top.rst = top.usb_rst = 1;
        ferry::MemoryPort::idle(top);
        for (int n = 0; n < 64; n++) {
            tick();
        }
        top.rst = top.usb_rst = 0;
    }
    ~Port()
    {
        // As in device_plain.cpp.
        Verilated::threadContextp(&context);
        top.final();
    }
    Port(const Port &) = delete;
    Port &operator=(const Port &) = delete;

    void drive(bool dp, bool dn)
    {
        driven = true;
        host_dp = dp;
        host_dn = dn;
    }
    void release() { driven = false; }
    /// Whoever drives; nobody does, and the device's resistor pulls, or the host's two.
    bool dp() const { return driven ? host_dp : top.usb_oe ? top.usb_dp_o : top.usb_pullup; }
    bool dn() const { return driven ? host_dn : top.usb_oe ? top.usb_dn_o : false; }

    /// A quarter of a bit: a clock of 48 MHz, every fourth time one of the bus' and one of the device's.
    void tick()
    {
        const bool device = ticks % 4 == 0;
        top.usb_io_clk = 0;
        top.clk = top.usb_clk = ticks % 4 == 2 ? 0 : top.usb_clk;
        top.eval();
        if (device) {
            const uint64_t draw = stall == 0 ? UINT64_MAX : random.next();
            const auto allowed = [&](unsigned channel) { return (draw >> 8 * channel & 0xff) >= stall; };
            memory.drive(top, now, {allowed(0), allowed(1), allowed(2), allowed(3), allowed(4)});
        }
        if (driven && top.usb_oe) {
            broken("host and device drive the bus at once");
        }
        top.usb_dp_i = dp();
        top.usb_dn_i = dn();
        top.usb_io_clk = 1;
        top.clk = top.usb_clk = device ? 1 : top.usb_clk;
        top.eval();
        if (device) {
            broken(memory.note(top, now++));
            idle = top.busy ? 0 : idle + 1;
        }
        ticks++;
    }

    void broken(const char *why) { violation = violation != nullptr ? violation : why; }

    ferry::MemoryPort memory;
    ferry::Random random;
    uint32_t stall;
    VerilatedContext context;
    Vferry_usb top;
    uint64_t ticks = 0, now = 0;
    uint32_t idle = 0;
    bool driven = false, host_dp = false, host_dn = false;
    const char *violation = nullptr;
};

ferry_usb_result told(ferry::UsbResult result)
{
    switch (result) {
    case ferry::UsbResult::done: return FERRY_USB_DONE;
    case ferry::UsbResult::nak: return FERRY_USB_NAK;
    case ferry::UsbResult::stall: return FERRY_USB_STALL;
    default: return FERRY_USB_FAULT;
    }
}

} // namespace

struct ferry_usb_sim {
    explicit ferry_usb_sim(const ferry_sim_config &config) : port(config), host(port) {}
    Port port;
    ferry::UsbHost<Port> host;
};

extern "C" {

ferry_usb_sim *ferry_usb_sim_open(const ferry_sim_config *config)
{
    ferry_sim_config full = *config;
    if (full.dram.banks == 0) {
        ferry_sim_default_dram(&full.dram);
    }
    try {
        auto sim = std::make_unique<ferry_usb_sim>(full);
        return sim->port.memory.dram().usable() ? sim.release() : nullptr;
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void ferry_usb_sim_close(ferry_usb_sim *sim)
{
    delete sim;
}

ferry_usb_result ferry_usb_sim_reset(ferry_usb_sim *sim)
{
    return told(sim->host.reset());
}

ferry_usb_result ferry_usb_sim_control(ferry_usb_sim *sim, const uint8_t setup[8], uint8_t *data, size_t *moved)
{
    return told(sim->host.control(setup, data, *moved));
}

ferry_usb_result ferry_usb_sim_out(ferry_usb_sim *sim, unsigned endpoint, const uint8_t *data, size_t bytes)
{
    sim->port.idle = 0;
    return told(sim->host.bulk_out(endpoint, data, bytes));
}

ferry_usb_result ferry_usb_sim_in(ferry_usb_sim *sim, unsigned endpoint, uint8_t *data, size_t *bytes)
{
    const ferry::UsbResult result = sim->host.bulk_in(endpoint, data, *bytes);
    sim->port.idle = result == ferry::UsbResult::done ? 0 : sim->port.idle;
    return told(result);
}

void ferry_usb_sim_idle(ferry_usb_sim *sim, uint32_t microseconds)
{
    sim->host.idle(uint64_t{48} * microseconds);
}

bool ferry_usb_sim_busy(const ferry_usb_sim *sim)
{
    return sim->port.idle < rest;
}

uint64_t ferry_usb_sim_cycles(const ferry_usb_sim *sim)
{
    return sim->port.now;
}

const char *ferry_usb_sim_violation(const ferry_usb_sim *sim)
{
    return sim->port.violation != nullptr ? sim->port.violation : sim->host.violation();
}

} // extern "C"
