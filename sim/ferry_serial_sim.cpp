// SPDX-License-Identifier: Apache-2.0
#include "ferry_serial_sim.h"

#include <deque>
#include <memory>
#include <new>

#include "Vferry_serial.h"
#include "devices.h"
#include "memory_port.h"
#include "random.h"
#include "verilated.h"

namespace
{

constexpr uint32_t bit_cycles = 4; // BIT_SIXTEENTHS of ferry_serial_device is 64 unless it is told.
constexpr size_t room = 256;       // Of bytes for the line: who waits here longer is not measured by anybody.
// Bytes of the line that nobody has taken. A wire waits for nobody: what an adapter's chip has no room for is lost, and
// this is as much as a large one has (FT2232H). What the kernel keeps beside it a pseudo terminal has too.
constexpr size_t most_up = 4096;
constexpr uint32_t rest = 2000; // Cycles without work until nothing can come any more: memory, firmware's loop.

} // namespace

struct ferry_serial_sim {
    explicit ferry_serial_sim(const ferry_sim_config &config)
        : memory(ferry::video_memory_bytes, config), random(config.seed), stall(config.stall_percent * 256 / 100),
          top(&context)
    {
        top.rxd = 1;
        top.rst = 1;
        ferry::MemoryPort::idle(top);
        for (int n = 0; n < 8; n++) {
            clock();
        }
        top.rst = 0;
    }
    ~ferry_serial_sim()
    {
        // As in device_plain.cpp.
        Verilated::threadContextp(&context);
        top.final();
    }

    void clock()
    {
        top.clk = 0;
        top.eval();
        top.clk = 1;
        top.eval();
        now++;
    }

    /// The bit of this cycle at rxd: start bit, eight of data from the least significant one on, stop bit.
    void put_bit()
    {
        if (put_left == 0 && !down.empty()) {
            put_shift = 0x200u | static_cast<uint32_t>(down.front()) << 1;
            put_left = 10 * bit_cycles;
            down.pop_front();
        }
        top.rxd = put_left == 0 ? 1 : put_shift >> (10 * bit_cycles - put_left) / bit_cycles & 1;
        put_left -= put_left != 0;
    }

    /// Look at txd in the middle of each bit, counted from the edge of the start bit.
    void get_bit()
    {
        if (get_at == 0 && top.txd) {
            return;
        }
        const uint32_t bit = get_at / bit_cycles;
        if (get_at % bit_cycles == bit_cycles / 2 && bit >= 1 && bit <= 8) {
            get_byte = static_cast<uint8_t>(get_byte >> 1 | (top.txd ? 0x80 : 0));
        }
        get_at++;
        if (get_at == 9 * bit_cycles + bit_cycles / 2) {
            if (up.size() < most_up) {
                up.push_back(get_byte);
            }
            get_at = 0;
        }
    }

    void cycle()
    {
        const uint64_t draw = stall == 0 ? UINT64_MAX : random.next();
        const auto allowed = [&](unsigned channel) { return (draw >> 8 * channel & 0xff) >= stall; };
        memory.drive(top, now, {allowed(0), allowed(1), allowed(2), allowed(3), allowed(4)});
        put_bit();
        clock();
        get_bit();
        const char *broken = memory.note(top, now - 1);
        violation = violation != nullptr ? violation : broken;
        idle = top.busy || put_left != 0 || get_at != 0 || !down.empty() ? 0 : idle + 1;
    }

    ferry::MemoryPort memory;
    ferry::Random random;
    uint32_t stall;
    VerilatedContext context;
    Vferry_serial top;
    uint64_t now = 0;
    std::deque<uint8_t> down, up;
    uint32_t put_shift = 0, put_left = 0, get_at = 0, idle = 0;
    uint8_t get_byte = 0;
    const char *violation = nullptr;
};

extern "C" {

ferry_serial_sim *ferry_serial_sim_open(const ferry_sim_config *config)
{
    ferry_sim_config full = *config;
    if (full.dram.banks == 0) {
        ferry_sim_default_dram(&full.dram);
    }
    try {
        auto sim = std::make_unique<ferry_serial_sim>(full);
        return sim->memory.dram().usable() ? sim.release() : nullptr;
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void ferry_serial_sim_close(ferry_serial_sim *sim)
{
    delete sim;
}

size_t ferry_serial_sim_feed(ferry_serial_sim *sim, const uint8_t *bytes, size_t count)
{
    size_t taken = 0;
    while (taken < count && sim->down.size() < room) {
        sim->down.push_back(bytes[taken++]);
    }
    sim->idle = taken != 0 ? 0 : sim->idle;
    return taken;
}

size_t ferry_serial_sim_take(ferry_serial_sim *sim, uint8_t *bytes, size_t count)
{
    size_t taken = 0;
    while (taken < count && !sim->up.empty()) {
        bytes[taken++] = sim->up.front();
        sim->up.pop_front();
    }
    return taken;
}

void ferry_serial_sim_run(ferry_serial_sim *sim, uint64_t cycles)
{
    while (cycles-- != 0 && ferry_serial_sim_busy(sim)) {
        sim->cycle();
    }
}

bool ferry_serial_sim_busy(const ferry_serial_sim *sim)
{
    return sim->violation == nullptr && sim->idle < rest;
}

uint64_t ferry_serial_sim_cycles(const ferry_serial_sim *sim)
{
    return sim->now;
}

const char *ferry_serial_sim_violation(const ferry_serial_sim *sim)
{
    return sim->violation;
}

} // extern "C"
