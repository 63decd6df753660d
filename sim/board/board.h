// SPDX-License-Identifier: Apache-2.0
// A board as it is flashed, at its pins, from power-on: its oscillator, and what its memory chip has against it. Time
// is in picoseconds.
#ifndef FERRY_SIM_BOARD_H
#define FERRY_SIM_BOARD_H

#include <csignal>
#include <cstdint>
#include <cstdio>

#include "Vboard.h"
#include "sdram_rules.h"
#include "verilated.h"

// Of the oscillator; 25 MHz unless the board has another.
#ifndef HALF_CLOCK
#define HALF_CLOCK 20000
#endif

namespace ferry
{

class Board
{
  public:
    static constexpr uint64_t half_clock = HALF_CLOCK;

    Board() : top(&context_)
    {
        top.oscillator = 0;
        top.rxd = 1;
        top.host_drives = 0;
        top.host_dp = top.host_dn = 0;
        top.eval();
    }
    ~Board() { top.final(); }
    Board(const Board &) = delete;
    Board &operator=(const Board &) = delete;

    /// Let so much time pass. Pins are as they are behind it.
    void advance(uint64_t picoseconds)
    {
        const uint64_t end = now_ + picoseconds;
        for (;;) {
            const uint64_t event = top.eventsPending() ? top.nextTimeSlot() : UINT64_MAX;
            const uint64_t next = event < edge_ ? event : edge_;
            if (next > end) {
                break;
            }
            context_.time(next);
            if (next == edge_) {
                top.oscillator = !top.oscillator;
                edge_ += half_clock;
            }
            top.eval();
        }
        context_.time(now_ = end);
        if (top.busy) {
            wake();
        }
    }

    /// Something may come without anybody's doing.
    bool busy() const { return now_ - idle_from_ < rest; }
    void wake() { idle_from_ = now_; }
    /// Why it cannot go on, or nullptr.
    const char *broken() const
    {
        return top.broken != 0                   ? sdram_rules[top.broken]
               : !top.awake && now_ > start_most ? "nobody woke the memory chip in a millisecond"
                                                 : nullptr;
    }
    uint64_t now() const { return now_; }
    /// How it ended, for who looks at it from outside; and its lights when nobody has been at the other end for a
    /// while, pins as they are.
    void tell(const char *why)
    {
        fprintf(stderr, "%.6f s simulated, lights %02x: %s\n", static_cast<double>(now_) / 1e12, top.led,
                why == nullptr ? "good" : why);
        if (why == nullptr) {
            advance(alone);
            fprintf(stderr, "unplugged: lights %02x\n", top.led);
        }
    }

  private:
    static constexpr uint64_t rest = 400000000;     // Without work until nothing can come any more.
    static constexpr uint64_t alone = 4500000000;   // Longer than silence that is noted (ferry_sdram_board.v).
    static constexpr uint64_t start_most = 1 << 30; // A millisecond: memory is ready by then.

    VerilatedContext context_;
    uint64_t now_ = 0, idle_from_ = 0, edge_ = half_clock;

  public:
    Vboard top;
};

inline volatile sig_atomic_t stop;

/// SIGINT and SIGTERM set `stop`; they are blocked but in waits (server/wait.h).
inline void stop_on_signals()
{
    struct sigaction ends = {};
    ends.sa_handler = [](int) { stop = 1; };
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
    sigaction(SIGINT, &ends, nullptr);
    sigaction(SIGTERM, &ends, nullptr);
}

} // namespace ferry

#endif
