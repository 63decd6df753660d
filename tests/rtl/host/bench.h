// SPDX-License-Identifier: Apache-2.0
// Bench for ferry_host: a root complex in C++ (host memory, completions, packet rules), the AXI memories behind the
// BAR2 window, the register bus, and masters on the host port. Written from the PCI Express base specification and the
// contract manual; shares nothing with the RTL but the port names.
#ifndef FERRY_TEST_HOST_BENCH_H
#define FERRY_TEST_HOST_BENCH_H

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "Vferry_host.h"

typedef std::vector<uint32_t> Packet;

// Byte memory that holds a hash of the address until it is written.
class Memory
{
  public:
    uint8_t get(uint64_t address) const
    {
        auto at = bytes_.find(address);
        return at != bytes_.end() ? at->second : initial(address);
    }
    void put(uint64_t address, uint8_t value) { bytes_[address] = value; }
    uint32_t word(uint64_t address) const
    {
        return get(address) | get(address + 1) << 8 | get(address + 2) << 16 | uint32_t(get(address + 3)) << 24;
    }
    static uint8_t initial(uint64_t address) { return uint8_t((address * 0x9E3779B97F4A7C15ull) >> 56); }
    std::unordered_map<uint64_t, uint8_t> bytes_;
};

// How the root complex treats reads of a page.
enum Treatment { ANSWER, UNSUPPORTED, ABORT, LOSE, LATE, POISON };

struct HostRead {
    uint8_t tag;
    uint64_t address; // next byte to answer
    uint32_t bytes;   // bytes left
    uint64_t due;
    Treatment treatment;
    bool started;
    bool no_snoop;
};

struct Completion {
    uint16_t completer;
    uint8_t status;
    uint16_t byte_count;
    uint16_t requester;
    uint8_t tag;
    uint8_t lower;
    bool has_data;
    bool locked;
    uint8_t traffic_class;
    uint8_t attributes;
    std::vector<uint32_t> data;
};

struct PostedWrite {
    uint64_t address;
    uint8_t first_enable, last_enable, tag;
    bool no_snoop;
    std::vector<uint32_t> data;
    uint64_t cycle;
};

struct AxiRead {
    uint64_t address;
    unsigned beats;
    unsigned id;
    bool no_snoop;
    std::vector<uint64_t> data;
    std::vector<uint8_t> faults;
    bool done;
};

struct AxiWrite {
    uint64_t address;
    unsigned id;
    uint8_t tag;
    bool no_snoop;
    std::vector<uint64_t> data;
    std::vector<uint8_t> strobe;
    bool done;
    size_t sent;
};

// An AXI4 slave memory with random or no delays, behind the window.
struct SlaveMemory {
    Memory memory;
    struct Burst {
        uint64_t address;
        unsigned beats;
        unsigned at;
        uint64_t due;
    };
    std::deque<Burst> reads;
    std::deque<Burst> writes;
    std::deque<uint64_t> responses;
    std::map<uint64_t, uint8_t> faults; // page -> reads end with an error
    std::map<uint64_t, bool> bad_beats; // Beats that are read with an error.
    bool refuses = false;               // Writes are answered with an error.
    bool in_order = false;              // Reads wait for the beats of the write whose address was taken.
    unsigned answers_after = 0;         // A write is answered at least so many cycles behind its last beat.
    // Cycles between any two things that it does, and when it did the last. It does nothing once this many beats more
    // were written.
    unsigned pace = 0;
    uint64_t moved = 0;
    unsigned dies_after = ~0u;
    bool acts(uint64_t cycle) const { return dies_after && (!pace || cycle >= moved + pace); }
    unsigned read_bursts = 0, write_bursts = 0;
};

// What the far end of the link has room for, of one kind of packet (base specification 2.6.1): headers, and payload in
// units of 16 bytes. 0 headers = no bound.
struct Credits {
    unsigned headers = 0, data = 0;
    unsigned used_headers = 0, used_data = 0;
    struct Return {
        uint64_t due;
        unsigned data;
    };
    std::deque<Return> returns;
};
enum Kind { POSTED, REQUEST, REPLY };
Kind kind_of(uint32_t word0);

class Bench
{
  public:
    explicit Bench(uint64_t seed);
    ~Bench();

    void reset();
    // One clock cycle: all models act.
    void tick();
    void run(unsigned cycles)
    {
        while (cycles--)
            tick();
    }
    // Run until nothing is under way; false when it takes longer than limit cycles.
    bool settle(unsigned limit = 20000);
    // Run until the outbox is empty and a while longer.
    void settle_quietly();
    bool idle() const;

    // Configuration the way software does it.
    uint32_t config_read(unsigned reg);
    void config_write(unsigned reg, uint32_t value, unsigned enable = 15);
    void configure(unsigned payload, unsigned read_request, unsigned boundary);

    // Host requests. Reads return the completions that came.
    void send(const Packet &packet);
    Packet memory_request(bool write, uint64_t address, unsigned words, unsigned first_enable, unsigned last_enable,
                          const std::vector<uint32_t> &data, uint8_t tag, int four = -1);
    std::vector<Completion> collect(uint8_t tag, unsigned limit = 5000);
    // A whole read, checked against the rules of split completions; bytes not asked for are left zero.
    bool read_bytes(uint64_t address, unsigned words, unsigned first_enable, unsigned last_enable,
                    std::vector<uint32_t> &data, uint8_t &status, int four = -1);

    unsigned random(unsigned limit) { return limit ? unsigned(generator() % limit) : 0; }
    bool chance(unsigned percent) { return random(100) < percent; }

    // Note a broken rule; the running case fails.
    void fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
    unsigned failures = 0;

    std::unique_ptr<Vferry_host> top;
    std::mt19937_64 generator;
    uint64_t cycle = 0;

    // Stall chances in percent.
    unsigned stall_tx = 0, stall_rx = 0, stall_axi = 0, stall_reg = 0, stall_slave = 0;
    // Share of the packets to the device that carry a digest.
    unsigned digests = 0;
    // Credits by kind, how long they take to come back, and kinds that have none now.
    Credits credits[3];
    unsigned credit_latency = 0;
    bool withheld[3] = {false, false, false};
    // Nothing is taken from the device.
    bool deaf = false;
    // Requests that want an answer are held back while the device says so, and let the others pass.
    bool heed = true;

    // Told of each packet to the device when it begins, as it is sent.
    std::function<void(const Packet &)> on_sent;

    // Root complex.
    Memory host;
    std::map<uint64_t, Treatment> treatments;
    std::deque<Packet> outbox; // packets to the device
    size_t outbox_word = 0;
    std::vector<HostRead> reads; // read requests of the device, not yet answered
    std::vector<HostRead> kept;  // lost or late ones
    std::deque<Completion> completions;
    std::vector<PostedWrite> posted;
    std::vector<uint8_t> messages; // Codes of the messages that came.
    unsigned latency = 0;          // cycles before a read may be answered
    bool shuffle = true;           // answers of different tags interleave at random
    bool answer = true;            // reads are answered at all
    // Others answer the device's reads too: a tag may come again before its answer here.
    bool impostors = false;
    unsigned payload = 128, read_request = 512, boundary = 64;
    uint16_t device_id = 0;
    unsigned max_outstanding = 0;
    uint64_t read_requests = 0;
    Packet incoming;
    bool log_posted = true;
    uint64_t tx_beats = 0, rx_beats = 0;

    uint32_t bar0 = 0xfe550000;
    uint64_t bar2 = 0x4580000000ull;

    // Host port masters.
    std::deque<AxiRead *> read_queue, read_waiting;
    std::deque<AxiWrite *> write_queue, write_waiting;
    // And at the port for page tables; no data of the one, or of the other, is taken.
    std::deque<AxiRead *> line_queue, line_waiting;
    bool full = false, lines_full = false;
    uint64_t r_beats = 0, w_beats = 0;

    // Registers: 16 Ki words; writes apply strobes.
    std::vector<uint32_t> registers;
    unsigned reg_wait = 0;
    unsigned reg_writes = 0;

    // Window. Reads go when every write is answered, unless a later one has passed them.
    SlaveMemory local;
    bool later_writes = false;

    // Counter strobes added up.
    struct {
        uint64_t stall, received, sent, receive_beats, send_beats, unsupported, malformed, poisoned, unexpected,
            refused;
    } counts;

  private:
    void root_receive(const Packet &packet);
    void root_answer();
    bool choose_packet();
    bool has_room(Kind kind) const;
    void use_credit(Kind kind, unsigned words);
    void check_request_enables(const char *what, unsigned words, unsigned first, unsigned last, bool odd);
    uint8_t next_tag_ = 0;
    bool in_packet_ = false;
    // What the register bus was asked and has not answered: write, address, data and strobes.
    bool asked_ = false;
    uint64_t asked_what_ = 0;
    // What the device said at the end of the last cycle; the first packet of the outbox is on its way; a beat stands
    // that was not taken.
    bool request_ok_ = false, chosen_ = false, offered_ = false;
};

// Payload words from a pattern.
std::vector<uint32_t> random_words(Bench &bench, unsigned words);

#endif
