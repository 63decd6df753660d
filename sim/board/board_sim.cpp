// SPDX-License-Identifier: Apache-2.0
// A board with its serial port at a pseudo terminal: prints the port's path and runs until SIGINT or SIGTERM. What the
// memory chip has against the board ends it with a line. The clock stands while nothing is under way. Usage: BAUD, that
// of the board (3000000).
#include <cstdlib>
#include <deque>

#include "board.h"

extern "C" {
#include "server/pty.h"
}

namespace
{

constexpr uint32_t slice = 4000; // Half clocks between two looks at the port.
constexpr size_t room = 256;

class Line
{
  public:
    explicit Line(uint64_t baud) : bit_(1000000000000 / baud) {}

    /// One half of the oscillator's clock, with all that happens in it.
    void half()
    {
        board.advance(ferry::Board::half_clock);
        put();
        get();
        if (put_ != 0 || get_ != 0 || !down.empty()) {
            board.wake();
        }
    }

    ferry::Board board;
    std::deque<uint8_t> down, up;

  private:
    void put()
    {
        if (put_ == 0 && !down.empty()) {
            put_ = board.now();
            put_bits_ = 0x200u | static_cast<uint32_t>(down.front()) << 1;
            down.pop_front();
        }
        const uint64_t bit = put_ == 0 ? 10 : (board.now() - put_) / bit_;
        board.top.rxd = bit >= 10 || (put_bits_ >> bit & 1);
        if (put_ != 0 && bit >= 10) {
            put_ = 0;
        }
    }
    void get()
    {
        if (get_ == 0) {
            get_ = board.top.txd ? 0 : board.now();
            get_bit_ = 0;
        } else if (board.now() - get_ >= get_bit_ * bit_ + bit_ / 2) {
            get_byte_ = static_cast<uint16_t>(get_byte_ >> 1 | (board.top.txd ? 0x200 : 0));
            if (++get_bit_ == 10) {
                up.push_back(static_cast<uint8_t>(get_byte_ >> 1));
                get_ = 0;
            }
        }
    }

    uint64_t bit_;
    uint64_t put_ = 0, get_ = 0;
    uint32_t put_bits_ = 0;
    unsigned get_bit_ = 0;
    uint16_t get_byte_ = 0;
};

void move(Line &line, server_pty &pty)
{
    uint8_t bytes[room];
    if (line.down.empty()) {
        const size_t count = server_pty_read(&pty, bytes, sizeof bytes);
        line.down.insert(line.down.end(), bytes, bytes + count);
        if (count != 0) {
            line.board.wake();
        }
    }
    size_t count = 0;
    while (count < sizeof bytes && count < line.up.size()) {
        bytes[count] = line.up[count];
        count++;
    }
    count = count != 0 ? server_pty_write(&pty, bytes, count) : 0;
    line.up.erase(line.up.begin(), line.up.begin() + static_cast<std::ptrdiff_t>(count));
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
    ferry::stop_on_signals();
    if (!server_pty_open(&pty)) {
        return 4;
    }
    Line line(baud);
    ferry::Board &board = line.board;
    // Whoever opens the port finds a board that has started: what is said to one that has not has to be said again,
    // much later.
    while (!ferry::stop && board.busy() && board.broken() == nullptr) {
        line.half();
    }
    printf("serial port at %s\n", pty.path);
    fflush(stdout);
    while (!ferry::stop && board.broken() == nullptr) {
        const bool works = board.busy() || !line.down.empty();
        server_pty_wait(&pty, !line.up.empty(), works ? 0 : -1);
        move(line, pty);
        for (uint32_t n = 0; n < slice && (board.busy() || !line.down.empty()) && board.broken() == nullptr; n++) {
            line.half();
        }
        move(line, pty);
    }
    board.top.rxd = 0; // Nobody holds it high.
    board.tell(board.broken());
    server_pty_close(&pty);
    return board.broken() == nullptr ? 0 : 1;
}
