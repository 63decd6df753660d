// SPDX-License-Identifier: Apache-2.0
// Packets as lists of words, and sequencer_bench.v with command RAM and the engine's side around it, which holds each
// job against the oracle.
#ifndef FERRY_TESTS_RTL_CPU_SEQUENCER_BENCH_H
#define FERRY_TESTS_RTL_CPU_SEQUENCER_BENCH_H

#include <memory>
#include <vector>

#include "Vsequencer_bench.h"
#include "check.h"
// The contract is C11.
#define _Static_assert static_assert
extern "C" {
#include "ferry_contract.h"
#include "oracle.h"
}

enum {
    LOCAL = FERRY_ADDRESS_KIND_LOCAL,
    SYSTEM = FERRY_ADDRESS_KIND_SYSTEM,
    APERTURE = FERRY_ADDRESS_KIND_APERTURE,
    VIRTUAL = FERRY_ADDRESS_KIND_VIRTUAL,
};
// sequencer_bench.v's PAGE_TABLES.
#ifndef PAGE_TABLES
#define PAGE_TABLES true
#endif
const uint32_t APERTURE_PAGES = 4096;

using Words = std::vector<uint32_t>;

inline uint32_t header(uint32_t opcode, uint32_t words, uint32_t flags = 0)
{
    return opcode | flags | words << 16;
}

inline uint32_t kinds(uint32_t from, uint32_t to)
{
    return from | to << 2;
}

inline void put64(Words &words, uint64_t value)
{
    words.push_back(static_cast<uint32_t>(value));
    words.push_back(static_cast<uint32_t>(value >> 32));
}

inline Words copy(uint32_t from, uint32_t to, uint32_t bytes, uint64_t source, uint64_t destination, uint32_t flags = 0)
{
    Words p = {header(FERRY_OPCODE_COPY, 8, flags), kinds(from, to), bytes, 0};
    put64(p, source);
    put64(p, destination);
    return p;
}

inline Words copy_pages(bool in, uint32_t linear, uint32_t bytes, uint32_t first_offset, uint64_t address, int pages)
{
    uint32_t places = in ? kinds(SYSTEM, linear) | FERRY_LIST_SIDE_SOURCE << 4
                         : kinds(linear, SYSTEM) | FERRY_LIST_SIDE_DESTINATION << 4;
    Words p = {header(FERRY_OPCODE_COPY_PAGES, 6 + 2 * pages), places, bytes, first_offset};
    put64(p, address);
    for (int i = 0; i < pages; i++)
        put64(p, 0x7000000 + 4096ull * i);
    return p;
}

inline Words fill(uint32_t to, uint32_t bytes, uint64_t destination, uint32_t pattern_log2)
{
    Words p = {header(FERRY_OPCODE_FILL, 8), kinds(0, to) | pattern_log2 << 6, bytes, 0};
    put64(p, destination);
    put64(p, 0x8877665544332211);
    return p;
}

inline Words fence(uint32_t to, uint64_t address)
{
    Words p = {header(FERRY_OPCODE_FENCE, 6), kinds(0, to)};
    put64(p, address);
    put64(p, 0x0123456789abcdef);
    return p;
}

inline Words read_bytes(uint32_t from, uint32_t bytes, uint64_t source)
{
    Words p = {header(FERRY_OPCODE_READ, 6), kinds(from, 0), bytes, 0};
    put64(p, source);
    return p;
}

inline Words write_bytes(uint32_t to, uint32_t bytes, uint64_t destination)
{
    Words p = {header(FERRY_OPCODE_WRITE, 8), kinds(0, to), bytes, 0};
    put64(p, destination);
    put64(p, 0x1122334455667788);
    return p;
}

inline Words map(uint32_t first, uint32_t count, int pages, bool snoop = false)
{
    Words p = {header(FERRY_OPCODE_MAP_APERTURE, 4 + 2 * pages), snoop ? FERRY_PACKET_PLACES_SNOOP_MASK : 0u, first,
               count};
    for (int i = 0; i < pages; i++)
        put64(p, 0x5000000 + 4096ull * i);
    return p;
}

inline Words unmap(uint32_t first, uint32_t count)
{
    Words p = {header(FERRY_OPCODE_UNMAP_APERTURE, 6), 0, first, count};
    put64(p, 0x99999000);
    return p;
}

inline Words root(uint32_t kind, uint32_t space, uint64_t table, bool snoop = false)
{
    Words p = {header(FERRY_OPCODE_ROOT, 6), kinds(0, kind) | (snoop ? FERRY_PACKET_PLACES_SNOOP_MASK : 0u), space, 0};
    put64(p, table);
    return p;
}

inline Words forget(uint32_t scope, uint32_t space, uint64_t address)
{
    Words p = {header(FERRY_OPCODE_FORGET, 6), 0, scope | space << 4, 0};
    put64(p, address);
    return p;
}

inline Words discard(uint32_t bytes, uint64_t address)
{
    Words p = {header(FERRY_OPCODE_DISCARD, 6), 0, bytes, 0};
    put64(p, address);
    return p;
}

inline Words nop(uint32_t words)
{
    Words p(words, 0x12345678);
    p[0] = header(FERRY_OPCODE_NOP, words);
    p[1] = 0;
    return p;
}

inline Words join(std::initializer_list<Words> packets)
{
    Words all;
    for (const Words &p : packets)
        all.insert(all.end(), p.begin(), p.end());
    return all;
}

class Bench
{
  public:
    Bench(Checks &checks, Random &random) : checks(checks), random(random)
    {
        for (uint64_t &word : ram)
            word = random.word();
        top.clk = 0;
        top.rst = 1;
        top.run = 1;
        tick();
        tick();
        top.rst = 0;
        limits.rights = 7;
        limits.aperture_pages = APERTURE_PAGES;
        limits.local_limit = 64u << 20;
        limits.page_tables = PAGE_TABLES;
    }
    void tick()
    {
        top.local_limit = limits.local_limit;
        top.protect_base = limits.protect_base;
        top.protect_limit = limits.protect_limit;
        top.read_ready = !stall || !random.once_in(3);
        top.job_ready = 0;
        top.eval();
        top.job_ready = top.job_valid && (!stall || random.once_in(3));
        top.eval();
        if (top.job_ready && !top.rst)
            keep_job();
        skips += top.skipped && !top.rst;
        bool asked = top.read_valid && top.read_ready;
        uint64_t word = asked ? ram[top.read_address / 8 % 2048] : random.word();
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.read_data_valid = asked;
        top.read_data = word;
        top.eval();
        top.start = top.stop = 0;
    }
    void start(uint32_t offset, bool checked)
    {
        top.start = 1;
        top.start_slot = slot;
        top.start_offset = offset;
        top.start_system = limits.rights & FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK ? 1 : 0;
        top.start_tables = limits.rights & FERRY_BAR0_RING_RIGHTS_TABLES_MASK ? 1 : 0;
        top.start_checked = checked;
        top.start_virtual_only = virtual_only();
        top.start_space = space;
        tick();
    }
    void put(const Words &words)
    {
        slot = random.below(4);
        space = random.below(16);
        bytes = static_cast<uint32_t>(words.size()) * 4;
        for (uint64_t &word : ram)
            word ^= random.word() | 1;
        for (size_t i = 0; i < words.size() / 2; i++)
            ram[slot * 512 + i] = words[2 * i] | uint64_t{words[2 * i + 1]} << 32;
        top.buffer_bytes = bytes;
        jobs.clear();
        more.clear();
        skips = 0;
        oracle_run(reinterpret_cast<const uint8_t *>(words.data()), bytes, &limits, oracle.get());
    }
    const oracle_action *action_at(uint32_t offset) const
    {
        for (unsigned i = 0; i < oracle->action_count; i++)
            if (oracle->actions[i].packet_offset == offset)
                return &oracle->actions[i];
        return nullptr;
    }
    bool virtual_only() const { return PAGE_TABLES && (limits.rights & FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK); }
    // What comparing shows to be good: below 4 GiB of video memory, and in front of what is protected; below the last
    // byte of a space; not every space to be forgotten.
    bool plain(const oracle_action &job, uint32_t opcode) const
    {
        if (job.op == FERRY_JOB_OP_FORGET)
            return (ram[slot * 512 + job.packet_offset / 8 + 1] & 3) != FERRY_FORGET_SCOPE_ALL;
        bool from = job.op == FERRY_JOB_OP_COPY && job.list != FERRY_LIST_SIDE_SOURCE;
        bool to = job.list != FERRY_LIST_SIDE_DESTINATION;
        auto side = [&](uint32_t kind, uint64_t address) {
            if (kind == SYSTEM)
                return address + job.length >= address;
            if (kind == VIRTUAL)
                return (opcode == FERRY_OPCODE_COPY || opcode == FERRY_OPCODE_FILL) &&
                       address + job.length < uint64_t{1} << 48;
            return kind == APERTURE ||
                   (address >> 32 == 0 && (limits.protect_limit == 0 || address + job.length <= limits.protect_base));
        };
        return (opcode == FERRY_OPCODE_COPY || opcode == FERRY_OPCODE_COPY_PAGES || opcode == FERRY_OPCODE_FILL ||
                opcode == FERRY_OPCODE_FENCE) &&
               !job.is_protected && (!from || side(job.source_kind, job.source)) &&
               (!to || side(job.destination_kind, job.destination));
    }
    // Plays the firmware until the buffer is at its end or at what is wrong in it. stop_after: cycles until the
    // firmware wants its place back, once.
    void run(const Words &words, unsigned stop_after = ~0u)
    {
        uint32_t at = 0, starts = 0;
        unsigned left = stop_after, empty = 0;
        put(words);
        start(0, false);
        for (;;) {
            for (unsigned i = 0; i < 3000 && top.busy; i++) {
                top.stop = left-- == 0;
                tick();
            }
            checks.that(!top.busy, "comes to rest");
            at = top.offset;
            checks.equal(top.ended, at == bytes, "ended");
            if (at >= bytes || ++starts > 600 || top.busy)
                break;
            const oracle_action *action = action_at(at);
            uint32_t first = words[at / 4], opcode = first & 255;
            bool halted = stop_after != ~0u && left > stop_after;
            if (halted)
                stop_after = ~0u;
            else
                checks.equal(top.table_change, action && action->is_table_change, "a good change of the table");
            if (halted) {
                start(at, false);
            } else if (action && !action->is_table_change) {
                checks.that(!plain(*action, opcode), "a packet was left that comparing shows to be good");
                start(at, true);
            } else if (oracle->fault.kind && at == oracle->fault.packet_offset) {
                break;
            } else if (opcode == FERRY_OPCODE_NOP || opcode == FERRY_OPCODE_DISCARD) {
                const uint32_t flags = FERRY_PACKET_HEADER_PROTECTED_MASK | FERRY_PACKET_HEADER_RESERVED_MASK;
                const uint32_t *p = &words[at / 4];
                checks.that(opcode == FERRY_OPCODE_DISCARD
                                ? p[5] || (limits.protect_limit && (limits.protect_base >> 33 == 0 &&
                                                                    p[4] + uint64_t{p[2]} > limits.protect_base))
                                : (first & flags) || (p[1] & FERRY_PACKET_PLACES_RESERVED_MASK),
                            "a packet was left that makes no job and that comparing shows to be good");
                start(at, true);
            } else {
                checks.that(action || opcode == FERRY_OPCODE_ROOT, "a packet was left that is none");
                start(at + 4 * (first >> 16), false);
            }
        }
        for (uint32_t offset = 0; offset < at; offset += 4 * (words[offset / 4] >> 16))
            empty += (words[offset / 4] & 255) == FERRY_OPCODE_NOP || (words[offset / 4] & 255) == FERRY_OPCODE_DISCARD;
        checks.equal(skips, empty, "packets that make no job");
        compare(at);
    }
    uint64_t jobs_taken = 0;
    std::vector<uint64_t> ram = std::vector<uint64_t>(2048);
    Checks &checks;
    Random &random;
    Vsequencer_bench top;
    oracle_limits limits = {};
    std::unique_ptr<oracle_result> oracle{new oracle_result};
    uint32_t slot = 0, bytes = 0, space = 0;
    bool stall = false;
    std::vector<oracle_action> jobs;
    std::vector<bool> more; // Of each job: others of its packet come.
    unsigned skips = 0;     // Packets that make none.

  private:
    void keep_job()
    {
        oracle_action job = {};
        job.packet_offset = top.job_packet_offset;
        job.op = top.job_op;
        job.source_kind = top.job_source_kind;
        job.destination_kind = top.job_destination_kind;
        job.list = top.job_list;
        job.pattern_log2 = top.job_pattern_log2;
        job.unordered = top.job_unordered;
        job.is_protected = top.job_protected;
        job.source = top.job_source;
        job.destination = top.job_destination;
        job.length = top.job_length;
        job.list_offset = top.job_list_address;
        checks.equal(top.job_slot, slot, "job's slot");
        job.space = top.job_space;
        jobs.push_back(job);
        more.push_back(top.job_more);
        jobs_taken++;
    }
    void compare(uint32_t at)
    {
        checks.equal(at, oracle->fault.kind ? oracle->fault.packet_offset : bytes, "where it ends");
        size_t n = 0;
        for (unsigned i = 0; i < oracle->action_count; i++) {
            const oracle_action &wanted = oracle->actions[i];
            if (wanted.is_table_change)
                continue;
            if (n == jobs.size()) {
                checks.that(false, "a job is missing");
                return;
            }
            const oracle_action &job = jobs[n++];
            checks.equal(job.packet_offset, wanted.packet_offset, "packet offset");
            checks.equal(job.op, wanted.op, "operation");
            checks.equal(job.list, wanted.list, "list");
            checks.equal(job.unordered, wanted.unordered, "unordered");
            checks.equal(job.is_protected, wanted.is_protected, "protected");
            checks.equal(job.length, wanted.length, "length");
            const bool forgets = wanted.op == FERRY_JOB_OP_FORGET;
            checks.equal(job.space, forgets ? wanted.space : space, "job's space");
            if (wanted.op != FERRY_JOB_OP_FILL)
                checks.equal(job.source_kind, wanted.source_kind, "source kind");
            if (wanted.op != FERRY_JOB_OP_READ) {
                checks.equal(job.destination_kind, wanted.destination_kind, "destination kind");
                checks.equal(job.destination, wanted.destination, "destination");
            }
            if (forgets)
                continue;
            checks.equal(job.source, wanted.source, "source");
            if (wanted.op == FERRY_JOB_OP_FILL)
                checks.equal(job.pattern_log2, wanted.pattern_log2, "pattern");
            if (wanted.list)
                checks.equal(job.list_offset, slot * 4096 + wanted.list_offset, "list's place");
        }
        checks.equal(jobs.size(), n, "jobs");
    }
};

#endif
