// SPDX-License-Identifier: Apache-2.0
// A bench around the engine: two memories behind AXI4 with settable latency and random stalls, command RAM, and a
// watch on the protocol. A reference in `reference.h` says what memory must hold; it shares nothing with the engine.
#ifndef FERRY_TEST_MACHINE_H
#define FERRY_TEST_MACHINE_H

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../random.h"
#include "Vengine_under_test.h"
#include "verilated.h"

// The contract's header is C: this is C++'s word for the same.
#define _Static_assert static_assert
#include "ferry_contract.h"

struct Job {
    unsigned op = FERRY_JOB_OP_COPY;
    unsigned source_kind = FERRY_ADDRESS_KIND_LOCAL;
    unsigned destination_kind = FERRY_ADDRESS_KIND_LOCAL;
    unsigned list = FERRY_LIST_SIDE_NONE;
    bool unordered = false;
    bool may_protected = false;
    bool urgent = false;
    unsigned slot = 0;
    unsigned pattern_log2 = 0;
    uint16_t packet_offset = 0;
    uint64_t source = 0;
    uint64_t destination = 0;
    uint32_t length = 0;
    uint16_t list_address = 0;
    unsigned space = 0;
};

struct Timing {
    unsigned read_latency = 1;
    unsigned write_latency = 1;
    unsigned stall_percent = 0;
};

// A channel that stops by itself: for up to so many cycles at a time (0: never), after up to so many of going on.
struct Stops {
    unsigned most_stopped = 0, most_going = 1;
    bool stopped = false;
    uint64_t until = 0;
};

// One AXI4 slave with memory [base, base + bytes.size()). Reads outside give an error, so do the chosen beats.
struct Memory {
    uint64_t base = 0;
    std::vector<uint8_t> bytes;
    // Beat-aligned addresses that answer with an error; 0 = none (no test uses beat 0 for that).
    uint64_t read_error = 0;
    uint64_t write_error = 0, later_write_error = 0;
    uint8_t error_fault = 0;
    // Channels that neither take nor give anything.
    enum : unsigned { AR = 1, R = 2, AW = 4, W = 8, B = 16, ALL = 31 };
    unsigned dead = 0;
    Stops stops[5]; // In the order of these bits.

    struct Read {
        uint64_t address;
        unsigned beats;
        uint64_t ready_at;
    };
    struct Write {
        uint64_t address;
        unsigned beats;
    };
    struct Beat {
        uint64_t data;
        uint8_t strobe;
        bool last;
    };
    std::deque<Read> reads;
    std::deque<Write> writes;
    std::deque<Beat> beats;
    std::deque<std::pair<uint64_t, bool>> responses;
    unsigned read_beat = 0;
    unsigned write_beat = 0;
    bool write_bad = false;
    unsigned most_reads = 0;
    // Cycles in a row in which read data was on offer and not taken: now, and the most.
    unsigned waiting = 0, most_waiting = 0;
    uint64_t read_bursts = 0, read_beats = 0, write_bursts = 0, write_beats = 0;

    bool works(unsigned channel) const
    {
        for (unsigned i = 0; i < 5; i++)
            if (channel >> i & 1 && stops[i].stopped)
                return false;
        return !(dead & channel);
    }
    bool has(uint64_t address) const { return address >= base && address - base + 8 <= bytes.size(); }
    uint64_t word(uint64_t address) const
    {
        uint64_t value = 0;
        for (unsigned i = 0; i < 8; i++)
            value |= (uint64_t)bytes[address - base + i] << (8 * i);
        return value;
    }
};

// Has the page-table unit forget; as large a range around the address as the scope says.
inline Job forget_job(unsigned scope, unsigned space, uint64_t address)
{
    Job job;
    job.op = FERRY_JOB_OP_FORGET;
    job.space = space;
    job.destination = (address & ~4095ull) | scope;
    return job;
}

// A burst that the host port was asked for.
struct Asked {
    uint64_t address;
    bool write;
    bool no_snoop;
    uint8_t tag; // Of a write.
};

// What one AXI port showed last cycle without being taken, for the stability rule.
struct Held {
    bool valid = false;
    uint64_t a = 0, b = 0;
};

class Machine
{
  public:
    std::unique_ptr<VerilatedContext> context;
    std::unique_ptr<Vengine_under_test> top;
    Memory local, host;
    Timing timing;
    Random random;
    uint8_t command_ram[65536];
    uint64_t cycle = 0;
    uint64_t queued = 0;
    uint64_t progress_at = 0;
    bool jobs_stall = false;
    // The page list port refuses every request.
    bool list_closed = false;
    std::vector<std::string> errors;
    std::vector<Asked> asked;
    std::deque<std::pair<uint64_t, uint16_t>> lists, map_lists;
    // Pages of both memories that nobody may touch any more, as {host, address of the page}.
    std::set<std::pair<bool, uint64_t>> forbidden;
    // Reads of page tables, and requests that the unit did not know.
    uint64_t table_reads = 0, table_misses = 0;
    uint64_t tables_begin = UINT64_MAX; // Page tables are here and behind, and nothing else.
    // Beats written in all when the last one was written to these addresses of video memory.
    uint64_t watched_begin = 0, watched_end = 0, watched_beats = 0;
    // Jobs on their way to the engine; urgent ones are offered first.
    std::deque<Job> waiting, waiting_urgent;
    // Cycle at which each job was taken and retired.
    std::vector<uint64_t> taken_at, retired_at;
    // A job is offered so many cycles after the one before was taken, at least.
    unsigned job_pace = 1;
    uint64_t next_offer_at = 0;
    // Jobs that a reset aborted, as slot and packet; and how far each came (bundle ABORTED_JOB).
    std::vector<std::pair<unsigned, unsigned>> aborted;
    std::vector<std::pair<bool, uint32_t>> aborted_places;
    // Urgent jobs taken.
    uint64_t queued_urgent = 0;
    uint64_t last_window_result = 0;
    bool last_window_hit = false, last_window_snoop = false, window_done = false;

    Machine(uint64_t seed, size_t local_bytes, uint64_t host_base, size_t host_bytes) : random(seed)
    {
        context = std::make_unique<VerilatedContext>();
        top = std::make_unique<Vengine_under_test>(context.get());
        local.bytes.resize(local_bytes);
        host.base = host_base;
        host.bytes.resize(host_bytes);
        random.fill(local.bytes);
        random.fill(host.bytes);
        random.fill(command_ram);
        top->local_limit = local_bytes;
        top->rst = 1;
        for (int i = 0; i < 4; i++)
            step();
        top->rst = 0;
        step();
        while (top->clearing)
            step();
    }

    void error(const std::string &what)
    {
        if (errors.size() < 20)
            errors.push_back("cycle " + std::to_string(cycle) + ": " + what);
    }
    bool ready() { return !random.chance(timing.stall_percent); }
    void put_list(uint16_t at, const std::vector<uint64_t> &pages)
    {
        for (size_t i = 0; i < pages.size(); i++) {
            for (unsigned k = 0; k < 8; k++)
                command_ram[(at + 8 * i + k) & 0xffff] = (uint8_t)(pages[i] >> (8 * k));
        }
    }
    void submit(const Job &job) { (job.urgent ? waiting_urgent : waiting).push_back(job); }
    bool idle() const
    {
        return waiting.empty() && waiting_urgent.empty() && top->jobs_retired == (uint16_t)(queued - queued_urgent) &&
               top->jobs_retired_urgent == (uint16_t)queued_urgent;
    }
    void watch(uint64_t begin, uint64_t end)
    {
        watched_begin = begin;
        watched_end = end;
        watched_beats = local.write_beats + host.write_beats;
    }
    // What was not offered yet is withdrawn.
    void withdraw()
    {
        waiting.clear();
        waiting_urgent.clear();
    }
    // Runs until every job is retired. False when nothing happens for `limit` cycles.
    bool drain(uint64_t limit = 20000)
    {
        progress_at = cycle;
        while (!idle()) {
            step();
            if (cycle - progress_at > limit) {
                error("no progress");
                return false;
            }
        }
        // A page is known with the first beat of a line of its table, and no job waits for the rest of that line; nor
        // does a job that is dropped wait for its look-up, which goes on from level to level.
        while ((top->looks || (!local.reads.empty() && local.reads.front().address >= tables_begin)) &&
               cycle - progress_at <= limit)
            step();
        // B of every write has arrived: nothing may be left on the buses.
        for (int i = 0; i < 3; i++)
            step();
        if (top->busy || top->busy_read || top->busy_write)
            error("busy after the last job");
        if (!local.reads.empty() || !local.writes.empty() || !local.beats.empty() || !local.responses.empty() ||
            !host.reads.empty() || !host.writes.empty() || !host.beats.empty() || !host.responses.empty())
            error("transfers left on a bus");
        return true;
    }
    void map_pages(uint32_t first, const std::vector<uint64_t> &pages, bool snoop)
    {
        put_list(0xc000, pages);
        update(first, (uint32_t)pages.size(), 0xc000, false, snoop, 0);
    }
    void update(uint32_t first, uint32_t count, uint16_t list, bool unmap, bool snoop, uint64_t dummy)
    {
        top->update_valid = 1;
        top->update_first = first;
        top->update_count = count;
        top->update_list = list;
        top->update_unmap = unmap;
        top->update_snoop = snoop;
        top->update_dummy = dummy;
        bool taken = false;
        while (!taken) {
            top->eval();
            taken = top->update_ready;
            step();
        }
        top->update_valid = 0;
        top->eval();
        while (top->update_busy)
            step();
    }
    void set_root(unsigned space, uint64_t root)
    {
        top->root_space = space;
        top->root = root;
        top->root_valid = 1;
        bool taken = false;
        while (!taken) {
            top->eval();
            taken = top->root_ready;
            step();
        }
        top->root_valid = 0;
    }
    // The unit forgets by itself. Running jobs keep what they know until an urgent one has made them start anew.
    void forget(unsigned scope, unsigned space, uint64_t address)
    {
        top->forget_scope = scope;
        top->forget_space = space;
        top->forget_page = address >> 12;
        top->forget_valid = 1;
        bool taken = false;
        while (!taken) {
            step();
            taken = forget_taken;
        }
        top->forget_valid = 0;
    }
    void clear_fault()
    {
        top->fault_clear = 1;
        step();
        top->fault_clear = 0;
    }
    void clear_poison(unsigned bits)
    {
        top->poison_clear = bits;
        step();
        top->poison_clear = 0;
    }
    void step();

  private:
    bool forget_taken = false;
    // A reset went on last cycle, or memory was given up on.
    bool dropped = false;
    // The map's list was asked for last cycle and not given.
    bool map_held = false;
    uint16_t map_held_address = 0;
    Held held_ar[2], held_aw[2], held_w[2], shown_r[2], shown_b[2];
    bool r_chosen[2] = {}, b_chosen[2] = {};
    void port_inputs(unsigned port, Memory &memory);
    void port_outputs(unsigned port, Memory &memory);
    uint64_t list_word(uint16_t address) const
    {
        uint64_t value = 0;
        for (unsigned i = 0; i < 8; i++)
            value |= (uint64_t)command_ram[(address + i) & 0xffff] << (8 * i);
        return value;
    }
};

#endif
