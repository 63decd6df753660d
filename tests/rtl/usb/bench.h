// SPDX-License-Identifier: Apache-2.0
// The USB port between two that do not know it: at the wires a host controller, at the bytes a device that takes when
// it likes to, and sends. Wires may be disturbed; the clocks of both sides go as they will.
#ifndef FERRY_TESTS_RTL_USB_BENCH_H
#define FERRY_TESTS_RTL_USB_BENCH_H

#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../seed.h"
#include "Vferry_usb_port.h"
#include "usb_host.h"
#include "verilated.h"

using ferry::UsbResult;

struct Random {
    uint64_t state;
    explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}
    uint32_t next() { return below(1u << 31); }
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(draw_below(&state, n)); }
};

class Wires
{
  public:
    /// The device's clock in thousandths of 48 MHz.
    explicit Wires(uint64_t seed, uint32_t rate = 1042) : random(seed), rate_(rate)
    {
        top.rst = top.usb_rst = 1;
        for (int n = 0; n < 64; n++)
            tick();
        top.rst = top.usb_rst = 0;
    }
    ~Wires() { top.final(); }

    void drive(bool dp, bool dn)
    {
        driven_ = true;
        const bool swapped = dp != dn && disturbed();
        dp_ = dp != swapped;
        dn_ = dn != swapped;
    }
    void release() { driven_ = false; }
    bool dp() const { return driven_ ? dp_ : top.usb_oe ? top.usb_dp_o != swap_ : top.usb_pullup; }
    bool dn() const
    {
        return driven_ ? dn_ : top.usb_oe ? top.usb_dn_o != (swap_ && top.usb_dp_o != top.usb_dn_o) : false;
    }

    void tick()
    {
        for (io_phase_ += 1000000 + drift; io_phase_ >= 1000000; io_phase_ -= 1000000)
            io_clock();
        ticks++;
        for (phase_ += rate_; phase_ >= 1000; phase_ -= 1000)
            clock();
    }

    Vferry_usb_port top;
    Random random;
    uint64_t ticks = 0;
    int32_t drift = 0;           // Millionths that the device's 48 MHz are faster than the host's.
    uint32_t noise = 0;          // Bits in 2^20 that are swapped.
    bool takes = true;           // The device takes bytes,
    uint32_t stall = 30;         // in so many per cent of its clocks not.
    std::vector<uint8_t> taken;  // What it took.
    std::deque<uint8_t> to_send; // What it has to send.
    uint32_t pause = 0;          // Clocks, at most, between two bytes of it.

  private:
    bool disturbed() { return noise != 0 && (random.next() & 0xfffff) < noise; }

    /// One clock of the bus' at the device.
    void io_clock()
    {
        top.usb_io_clk = 0;
        top.usb_clk = io_ticks_ % 4 == 2 ? 0 : top.usb_clk;
        top.eval();
        if (top.usb_oe && driven_)
            throw std::runtime_error("host and device drive the bus at once");
        swap_ = io_ticks_ % 4 == 0 ? top.usb_oe && top.usb_dp_o != top.usb_dn_o && disturbed() : swap_;
        top.usb_dp_i = dp();
        top.usb_dn_i = dn();
        top.usb_io_clk = 1;
        top.usb_clk = io_ticks_ % 4 == 0 ? 1 : top.usb_clk;
        top.eval();
        io_ticks_++;
    }

    /// One clock of the device's.
    void clock()
    {
        const bool rests = wait_ != 0;
        wait_ -= rests;
        top.clk = 0;
        top.down_ready = takes && random.below(100) >= stall;
        top.up_valid = !to_send.empty() && !rests;
        top.up_data = to_send.empty() ? 0 : to_send.front();
        top.eval();
        if (top.down_valid && top.down_ready)
            taken.push_back(top.down_data);
        if (top.up_valid && top.up_ready) {
            to_send.pop_front();
            wait_ = pause != 0 ? random.below(pause + 1) : 0;
        }
        top.clk = 1;
        top.eval();
    }

    uint32_t rate_, phase_ = 0, wait_ = 0;
    int32_t io_phase_ = 0;
    uint64_t io_ticks_ = 0;
    bool driven_ = false, dp_ = false, dn_ = false, swap_ = false;
};

class Bench
{
  public:
    explicit Bench(uint64_t seed, uint32_t rate = 1042) : wires(seed, rate), host(wires)
    {
        host.reset_ticks = 48 * 100;
    }

    Wires wires;
    ferry::UsbHost<Wires> host;

    void require(bool holds, const std::string &what) const
    {
        if (!holds)
            throw std::runtime_error(what + ", tick " + std::to_string(wires.ticks));
    }
    /// A control transfer as its eight bytes say; what came of it, and nothing when it was refused.
    UsbResult request(std::vector<uint8_t> setup, std::vector<uint8_t> &data)
    {
        size_t moved = 0;
        data.resize(setup[6] | setup[7] << 8);
        const UsbResult result = host.control(setup.data(), data.data(), moved);
        data.resize(moved);
        return result;
    }
    void configure()
    {
        std::vector<uint8_t> none;
        require(host.reset() == UsbResult::done, "nobody answers");
        require(request({0x00, 9, 1, 0, 0, 0, 0, 0}, none) == UsbResult::done, "no configuration");
        rest(); // What comes before the device has noted it is thrown away.
    }
    /// Let the device's side come to rest.
    void rest() { host.idle(48 * 200); }
    /// Send all of it, in packets of up to 64 bytes, while `between` does what it wants.
    template <class Between> void send(const std::vector<uint8_t> &bytes, Between between)
    {
        for (size_t at = 0; at < bytes.size();) {
            const size_t part = std::min<size_t>(bytes.size() - at, 1 + wires.random.below(64));
            UsbResult result;
            do {
                result = host.bulk_out(1, bytes.data() + at, part);
                require(result == UsbResult::done || result == UsbResult::nak ||
                            (result == UsbResult::fault && wires.noise != 0),
                        "a refused packet");
                between();
            } while (result != UsbResult::done);
            at += part;
        }
    }
    /// One packet, or none.
    bool fetch(std::vector<uint8_t> &bytes, size_t &count)
    {
        uint8_t packet[64];
        const UsbResult result = host.bulk_in(1, packet, count);
        require(result == UsbResult::done || result == UsbResult::nak ||
                    (result == UsbResult::fault && wires.noise != 0),
                "no answer to IN");
        if (result == UsbResult::done)
            bytes.insert(bytes.end(), packet, packet + count);
        return result == UsbResult::done;
    }
};

#endif
