// SPDX-License-Identifier: Apache-2.0
// A board as it is flashed, from power-on, with its serial port at a pseudo terminal: prints the port's path and runs
// until SIGINT or SIGTERM. What the memory chip has against the board ends it with a line. The clock stands while
// nothing is under way. Usage: BAUD, that of the board (3000000).
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "Vboard.h"
#include "sdram_rules.h"
#include "verilated.h"

extern "C" {
#include "server/pty.h"
}

namespace
{

constexpr uint64_t half_clock = 20000;   // Picoseconds: 25 MHz.
constexpr uint64_t rest = 400000000;     // Without work until nothing can come any more.
constexpr uint64_t start_most = 1 << 30; // A millisecond: memory is ready by then.
constexpr uint32_t slice = 4000;         // Half clocks between two looks at the port.
constexpr size_t room = 256;

volatile sig_atomic_t stop;

void on_signal(int)
{
    stop = 1;
}

class Board
{
  public:
    explicit Board(uint64_t baud) : bit_(1000000000000 / baud), top_(&context_)
    {
        top_.clk_25mhz = 0;
        top_.rxd = 1;
        top_.eval();
    }
    ~Board() { top_.final(); }

    /// One half of the oscillator's clock, with all that happens in it.
    void half()
    {
        now_ += half_clock;
        while (top_.eventsPending() && top_.nextTimeSlot() < now_) {
            context_.time(top_.nextTimeSlot());
            top_.eval();
        }
        context_.time(now_);
        top_.clk_25mhz = !top_.clk_25mhz;
        put();
        top_.eval();
        get();
        if (top_.busy || put_ != 0 || get_ != 0 || !down.empty()) {
            idle_from_ = now_;
        }
    }
    bool busy() const { return now_ - idle_from_ < rest; }
    /// Why it cannot go on, or nullptr.
    const char *broken() const
    {
        return top_.broken != 0                   ? ferry::sdram_rules[top_.broken]
               : !top_.awake && now_ > start_most ? "nobody woke the memory chip in a millisecond"
                                                  : nullptr;
    }
    uint64_t now() const { return now_; }
    unsigned lights() const { return top_.led; }
    void wake() { idle_from_ = now_; }

    std::deque<uint8_t> down, up;

  private:
    void put()
    {
        if (put_ == 0 && !down.empty()) {
            put_ = now_;
            put_bits_ = 0x200u | static_cast<uint32_t>(down.front()) << 1;
            down.pop_front();
        }
        const uint64_t bit = put_ == 0 ? 10 : (now_ - put_) / bit_;
        top_.rxd = bit >= 10 || (put_bits_ >> bit & 1);
        if (put_ != 0 && bit >= 10) {
            put_ = 0;
        }
    }
    void get()
    {
        if (get_ == 0) {
            get_ = top_.txd ? 0 : now_;
            get_bit_ = 0;
        } else if (now_ - get_ >= get_bit_ * bit_ + bit_ / 2) {
            get_byte_ = static_cast<uint16_t>(get_byte_ >> 1 | (top_.txd ? 0x200 : 0));
            if (++get_bit_ == 10) {
                up.push_back(static_cast<uint8_t>(get_byte_ >> 1));
                get_ = 0;
            }
        }
    }

    uint64_t bit_;
    VerilatedContext context_;
    Vboard top_;
    uint64_t now_ = 0, idle_from_ = 0, put_ = 0, get_ = 0;
    uint32_t put_bits_ = 0;
    unsigned get_bit_ = 0;
    uint16_t get_byte_ = 0;
};

void move(Board &board, server_pty &pty)
{
    uint8_t bytes[room];
    if (board.down.empty()) {
        const size_t count = server_pty_read(&pty, bytes, sizeof bytes);
        board.down.insert(board.down.end(), bytes, bytes + count);
        if (count != 0) {
            board.wake();
        }
    }
    size_t count = 0;
    while (count < sizeof bytes && count < board.up.size()) {
        bytes[count] = board.up[count];
        count++;
    }
    count = count != 0 ? server_pty_write(&pty, bytes, count) : 0;
    board.up.erase(board.up.begin(), board.up.begin() + static_cast<std::ptrdiff_t>(count));
}

} // namespace

int main(int count, char **arguments)
{
    const uint64_t baud = count == 2 ? std::strtoull(arguments[1], nullptr, 10) : 3000000;
    server_pty pty;
    if (baud < 9600 || baud > 12500000) {
        fprintf(stderr, "usage: %s [BAUD]\n", arguments[0]);
        return 2;
    }
    const struct sigaction ends = [] {
        struct sigaction action = {};
        action.sa_handler = on_signal;
        return action;
    }();
    sigset_t blocked, none;
    sigemptyset(&none);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
    sigaction(SIGINT, &ends, nullptr);
    sigaction(SIGTERM, &ends, nullptr);
    if (!server_pty_open(&pty)) {
        return 4;
    }
    Board board(baud);
    printf("serial port at %s\n", pty.path);
    fflush(stdout);
    while (!stop && board.broken() == nullptr) {
        server_pty_wait(&pty, !board.up.empty(), board.busy() || !board.down.empty() ? 0 : -1, &none);
        move(board, pty);
        for (uint32_t n = 0; n < slice && (board.busy() || !board.down.empty()) && board.broken() == nullptr; n++) {
            board.half();
        }
        move(board, pty);
    }
    fprintf(stderr, "%.6f s simulated, lights %02x: %s\n", static_cast<double>(board.now()) / 1e12, board.lights(),
            board.broken() == nullptr ? "good" : board.broken());
    server_pty_close(&pty);
    return board.broken() == nullptr ? 0 : 1;
}
