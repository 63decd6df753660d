// SPDX-License-Identifier: Apache-2.0
// The serial port between two that do not know it: at the line the C end of the frames over a channel with noise, at
// the packet ports a device that takes, waits, answers requests in order, and sends. Both look at everything that
// comes.
#ifndef FERRY_TESTS_RTL_SERIAL_BENCH_H
#define FERRY_TESTS_RTL_SERIAL_BENCH_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <vector>

// The contract is C.
#define _Static_assert static_assert
extern "C" {
#include "link/frames.h"
#include "noisy_channel.h"
}
#include "Vserial_under_test.h"
#include "line.h"

using Packet = std::vector<uint32_t>;

inline constexpr unsigned BYTE = 40;           // Clocks a byte takes on the line.
inline constexpr uint32_t RESEND_TICKS = 3000; // A tick is a byte.
inline constexpr uint32_t NOISE = 1049;        // 10^-3 of 2^20.
inline constexpr uint16_t QUESTION = 0xffff;   // The requester that the frame layer asks as.

struct Random {
    uint64_t state;
    explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}
    uint32_t next() { return channel_random(&state); }
    uint32_t below(uint32_t n) { return next() % n; }
};

bool is_request(uint32_t word0);
/// A packet as the root complex makes them: write, completion, read, configuration; `words` 0 = any.
Packet any_packet(Random &random, unsigned words, bool to_device);
ferry_tunnel_hello question(uint32_t session, uint32_t version = FERRY_CONTRACT_VERSION);

class Bench
{
  public:
    explicit Bench(uint64_t seed, uint32_t noise = 0, uint32_t latency = 20);

    /// One clock, with everything at both ends. A broken rule ends the test by an exception with its name.
    void clock();
    void clocks(uint64_t n);
    /// Ask for a session until it is there (or refused); answers' hello. Fails after `limit` clocks.
    ferry_tunnel_hello open(uint32_t session, uint64_t limit = 40000000);
    /// Begin to ask, and leave the rest to clock().
    void ask(uint32_t session);
    /// So many packets each way, of `words` words (0 = any), until all have arrived and all is quiet.
    void carry(unsigned words, unsigned down, unsigned up, uint64_t limit = 400000000);
    /// A packet that the test sends by itself is to come.
    void expect(const Packet &packet);
    /// Until nothing is under way.
    void settle(uint64_t limit = 400000000);
    /// The device begins anew, whatever it is about; its host knows nothing of that.
    void restart(unsigned reset_clocks);
    [[noreturn]] void fail(const std::string &why) const;

    Vserial_under_test top;
    Random random;
    uint64_t now = 0;
    LineOut to_line;
    LineIn from_line;
    noisy_channel to_device{}, to_host{};
    bool cut_to_host = false; // Nothing reaches the host.

    // The host.
    std::unique_ptr<ferry_frames> host{new ferry_frames};
    bool asking = false;
    ferry_tunnel_hello answer{};
    unsigned down = 0, down_words = 0; // Packets to be sent.
    bool host_takes = true;
    uint64_t host_got = 0, host_payload = 0;
    std::vector<uint32_t> heads;    // Of the device's frames, as they came out of the channel.
    std::vector<uint32_t> answered; // Sessions that its answers to hellos name.

    // The device.
    unsigned up = 0, up_words = 0;
    bool chatty = false;  // It sends also while nobody has a session.
    unsigned stall = 30;  // Per cent of the clocks in which it takes nothing.
    bool takes = true;    // Or nothing at all.
    bool has_room = true; // For requests, as far as it wants.
    bool answers = true;
    unsigned answer_clocks = 400; // At most.
    uint64_t device_got = 0, device_payload = 0, questions = 0, passed = 0;
    std::deque<Packet> asked;         // Requests that wait for their answer.
    std::deque<Packet> long_requests; // Sent by the test; longer than a request is, and nobody answers them.

  private:
    void drive_device();
    void device_takes();
    void device_gets(const Packet &packet);
    void byte_time();

    std::deque<Packet> posted_, requests_; // Sent by the host, not seen at the device.
    std::deque<uint64_t> before_;          // Packets that the host sent before each of the requests.
    uint64_t posted_sent_ = 0, posted_seen_ = 0;
    std::deque<Packet> sent_; // By the device.
    std::deque<Packet> out_;  // Answers.
    Packet coming_, leaving_;
    Packet at_opening_; // Offered by the device when the session began; it is of it or not.
    ferry_frame_decoder ear_{};
    size_t leaving_at_ = 0;
    uint64_t answer_at_ = 0;
    uint32_t shown_word_ = 0;
    bool shown_ = false, shown_last_ = false, was_open_ = false, leaving_answers_ = false;
};

extern uint64_t seed;
/// A frame as bytes, from the C end's encoder.
std::vector<uint8_t> frame(uint32_t head, const std::vector<uint32_t> &words);
/// The bytes of a frame of any length, its CRC among them, which has a zero in any 254 of them.
std::vector<uint8_t> stuffed(const std::vector<uint8_t> &plain);
/// Onto the line, until it has gone.
void put(Bench &bench, const std::vector<uint8_t> &bytes);
void require(const Bench &bench, bool holds, const char *what);

#endif
