// SPDX-License-Identifier: Apache-2.0
// The sequencer against the oracle of the firmware's tests, which was written from the manual: at and beside every
// limit and with every single bit of a packet wrong, it queues the jobs that the packets say and no others, and it
// leaves to the firmware only what comparing does not show to be good.
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

namespace
{

enum { LOCAL = FERRY_ADDRESS_KIND_LOCAL, SYSTEM = FERRY_ADDRESS_KIND_SYSTEM, APERTURE = FERRY_ADDRESS_KIND_APERTURE };
const uint32_t APERTURE_PAGES = 4096;

using Words = std::vector<uint32_t>;

uint32_t header(uint32_t opcode, uint32_t words, uint32_t flags = 0)
{
    return opcode | flags | words << 16;
}

uint32_t kinds(uint32_t from, uint32_t to)
{
    return from | to << 2;
}

void put64(Words &words, uint64_t value)
{
    words.push_back(static_cast<uint32_t>(value));
    words.push_back(static_cast<uint32_t>(value >> 32));
}

Words copy(uint32_t from, uint32_t to, uint32_t bytes, uint64_t source, uint64_t destination, uint32_t flags = 0)
{
    Words p = {header(FERRY_OPCODE_COPY, 8, flags), kinds(from, to), bytes, 0};
    put64(p, source);
    put64(p, destination);
    return p;
}

Words copy_pages(bool in, uint32_t linear, uint32_t bytes, uint32_t first_offset, uint64_t address, int pages)
{
    uint32_t places = in ? kinds(SYSTEM, linear) | FERRY_LIST_SIDE_SOURCE << 4
                         : kinds(linear, SYSTEM) | FERRY_LIST_SIDE_DESTINATION << 4;
    Words p = {header(FERRY_OPCODE_COPY_PAGES, 6 + 2 * pages), places, bytes, first_offset};
    put64(p, address);
    for (int i = 0; i < pages; i++)
        put64(p, 0x7000000 + 4096ull * i);
    return p;
}

Words fill(uint32_t to, uint32_t bytes, uint64_t destination, uint32_t pattern_log2)
{
    Words p = {header(FERRY_OPCODE_FILL, 8), kinds(0, to) | pattern_log2 << 6, bytes, 0};
    put64(p, destination);
    put64(p, 0x8877665544332211);
    return p;
}

Words fence(uint32_t to, uint64_t address)
{
    Words p = {header(FERRY_OPCODE_FENCE, 6), kinds(0, to)};
    put64(p, address);
    put64(p, 0x0123456789abcdef);
    return p;
}

Words read_bytes(uint32_t from, uint32_t bytes, uint64_t source)
{
    Words p = {header(FERRY_OPCODE_READ, 6), kinds(from, 0), bytes, 0};
    put64(p, source);
    return p;
}

Words write_bytes(uint32_t to, uint32_t bytes, uint64_t destination)
{
    Words p = {header(FERRY_OPCODE_WRITE, 8), kinds(0, to), bytes, 0};
    put64(p, destination);
    put64(p, 0x1122334455667788);
    return p;
}

Words map(uint32_t first, uint32_t count, int pages, bool snoop = false)
{
    Words p = {header(FERRY_OPCODE_MAP_APERTURE, 4 + 2 * pages), snoop ? FERRY_PACKET_PLACES_SNOOP_MASK : 0u, first,
               count};
    for (int i = 0; i < pages; i++)
        put64(p, 0x5000000 + 4096ull * i);
    return p;
}

Words unmap(uint32_t first, uint32_t count)
{
    Words p = {header(FERRY_OPCODE_UNMAP_APERTURE, 6), 0, first, count};
    put64(p, 0x99999000);
    return p;
}

Words nop(uint32_t words)
{
    Words p(words, 0x12345678);
    p[0] = header(FERRY_OPCODE_NOP, words);
    return p;
}

Words join(std::initializer_list<Words> packets)
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
        top.start_checked = checked;
        tick();
    }
    void put(const Words &words)
    {
        slot = random.below(4);
        bytes = static_cast<uint32_t>(words.size()) * 4;
        for (uint64_t &word : ram)
            word ^= random.word() | 1;
        for (size_t i = 0; i < words.size() / 2; i++)
            ram[slot * 512 + i] = words[2 * i] | uint64_t{words[2 * i + 1]} << 32;
        top.buffer_bytes = bytes;
        jobs.clear();
        oracle_run(reinterpret_cast<const uint8_t *>(words.data()), bytes, &limits, oracle.get());
    }
    const oracle_action *action_at(uint32_t offset) const
    {
        for (unsigned i = 0; i < oracle->action_count; i++)
            if (oracle->actions[i].packet_offset == offset)
                return &oracle->actions[i];
        return nullptr;
    }
    // What comparing shows to be good: below 4 GiB of video memory, and in front of what is protected.
    bool plain(const oracle_action &job, uint32_t opcode) const
    {
        bool from = job.op == FERRY_JOB_OP_COPY && job.list != FERRY_LIST_SIDE_SOURCE;
        bool to = job.list != FERRY_LIST_SIDE_DESTINATION;
        auto side = [&](uint32_t kind, uint64_t address) {
            if (kind == SYSTEM)
                return address + job.length >= address;
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
        unsigned left = stop_after;
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
            } else {
                checks.that(action || opcode == FERRY_OPCODE_NOP || opcode == FERRY_OPCODE_DISCARD,
                            "a packet was left that is none");
                start(at + 4 * (first >> 16), false);
            }
        }
        compare(at);
    }
    uint64_t jobs_taken = 0;
    std::vector<uint64_t> ram = std::vector<uint64_t>(2048);
    Checks &checks;
    Random &random;
    Vsequencer_bench top;
    oracle_limits limits = {};
    std::unique_ptr<oracle_result> oracle{new oracle_result};
    uint32_t slot = 0, bytes = 0;
    bool stall = false;
    std::vector<oracle_action> jobs;

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
        jobs.push_back(job);
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
            if (wanted.op != FERRY_JOB_OP_FILL)
                checks.equal(job.source_kind, wanted.source_kind, "source kind");
            if (wanted.op != FERRY_JOB_OP_READ) {
                checks.equal(job.destination_kind, wanted.destination_kind, "destination kind");
                checks.equal(job.destination, wanted.destination, "destination");
            }
            checks.equal(job.source, wanted.source, "source");
            if (wanted.op == FERRY_JOB_OP_FILL)
                checks.equal(job.pattern_log2, wanted.pattern_log2, "pattern");
            if (wanted.list)
                checks.equal(job.list_offset, slot * 4096 + wanted.list_offset, "list's place");
        }
        checks.equal(jobs.size(), n, "jobs");
    }
};

// Sets of limits: nothing protected, something, near and behind 4 GiB, and video memory of more than 8 GiB.
std::vector<oracle_limits> every_limits()
{
    const uint64_t M = 1 << 20, G4 = 1ull << 32;
    std::vector<oracle_limits> all;
    const struct {
        uint64_t local, base, limit;
    } sets[] = {{64 * M, 0, 0},
                {64 * M, 16 * M, 17 * M},
                {64 * M, 0, 4 * M},
                {64 * M, 16 * M, 16 * M},
                {64 * M, G4, G4 + M},
                {G4 - 8, 5 * M, G4 - 8},
                {G4, 2 * G4 + M, 3 * G4},
                {G4 + 8, G4 - 4096, G4},
                {2 * G4 - 1, 3 * G4, 4 * G4},
                {2 * G4, 0, 0},
                {3 * G4, G4 + 4096, 2 * G4},
                {1ull << 40, 64 * M, 65 * M},
                {100, 50, 60},
                {0, 0, 0}};
    for (const auto &set : sets) {
        oracle_limits limits = {};
        limits.rights = 7;
        limits.aperture_pages = APERTURE_PAGES;
        limits.local_limit = set.local;
        limits.protect_base = set.base;
        limits.protect_limit = set.limit;
        all.push_back(limits);
    }
    return all;
}

// Every range of every packet, its end and its beginning at, before and behind each edge that counts.
void edges(Bench &bench)
{
    const uint64_t aperture = 4096ull * APERTURE_PAGES;
    bench.checks.begin("ranges_at_every_edge_are_taken_left_or_refused_as_the_manual_says");
    for (const oracle_limits &limits : every_limits()) {
        bench.limits = limits;
        for (uint64_t edge : {limits.local_limit, limits.protect_base, limits.protect_limit, aperture,
                              uint64_t{1} << 32, uint64_t{1} << 33, uint64_t{0}})
            for (uint32_t bytes : {0u, 1u, 8u, 4097u, ~0u})
                for (int64_t beside : {-4096, -8, -1, 0, 1, 8})
                    for (bool behind : {false, true})
                        for (uint32_t kind : {LOCAL, SYSTEM, APERTURE}) {
                            uint64_t at = edge + static_cast<uint64_t>(beside) - (behind ? 0 : bytes);
                            int pages = bytes == ~0u ? 1 : static_cast<int>((bytes + 4095) / 4096);
                            bench.run(copy(kind, LOCAL, bytes, at, 0));
                            bench.run(copy(SYSTEM, kind, bytes, 0, at));
                            bench.run(fill(kind, bytes, at, 1));
                            if (kind != SYSTEM && pages && bytes != ~0u) {
                                bench.run(copy_pages(true, kind, bytes, 0, at, pages));
                                bench.run(copy_pages(false, kind, bytes, 0, at, pages));
                            }
                            if (bytes == 8)
                                bench.run(fence(kind, at));
                        }
    }
    bench.limits = every_limits()[0];
}

// Lists of a page too few, too many and just right, from an offset of the first page on; changes of the table likewise.
void lists(Bench &bench)
{
    bench.checks.begin("lists_fit_their_packets_to_the_page");
    for (uint32_t offset : {0u, 1u, 8u, 4095u, 4096u, 8192u, 0x80000000u, ~0u})
        for (uint32_t bytes : {0u, 1u, 4095u, 4096u, 4097u, 8191u, 8192u, 8193u, 507u * 4096, 0xfffff001u, ~0u}) {
            uint64_t exact = (uint64_t{offset} + bytes + 4095) / 4096;
            for (int more = -1; more <= 1; more++) {
                int64_t pages = static_cast<int64_t>(exact) + more;
                if (pages < 0 || pages > 509)
                    pages = more + 2;
                bench.run(copy_pages(true, LOCAL, bytes, offset, 0, static_cast<int>(pages)));
                bench.run(copy_pages(false, APERTURE, bytes, offset, 4096, static_cast<int>(pages)));
            }
        }
    for (uint32_t first : {0u, 1u, 4094u, 4095u, 4096u, 4097u, 0x80000000u, ~0u})
        for (uint32_t count : {0u, 1u, 2u, 4095u, 4096u, 4097u, 0x800u, 0x1001u, 0x80000001u, ~0u}) {
            for (int pages : {0, 1, 2, 3})
                bench.run(map(first, count, pages, pages & 1));
            bench.run(unmap(first, count));
        }
    for (int pages = 1; pages <= 510; pages++)
        bench.run(map(100, static_cast<uint32_t>(pages), pages));
}

// One packet of each form; then every bit of it the other way, and every length of packet and buffer beside the right
// one.
void single_bits(Bench &bench)
{
    const std::vector<Words> forms = {
        copy(LOCAL, LOCAL, 4096, 0x1000, 0x2000),
        copy(SYSTEM, APERTURE, 77, 0xfedcba9876543210, 0x123, FERRY_PACKET_HEADER_UNORDERED_MASK),
        copy(APERTURE, SYSTEM, 78, 0x40000, 0xfedcba9876543219),
        copy_pages(true, LOCAL, 40000, 4095, 0x20001, 11),
        copy_pages(false, APERTURE, 4097, 0, 5, 2),
        copy_pages(true, APERTURE, 1, 4095, 5, 1),
        copy_pages(false, LOCAL, 8192, 1, 5, 3),
        fill(LOCAL, 1000, 0x777, 0),
        fill(SYSTEM, 33, 0x8000000000000003, 2),
        fence(LOCAL, 0x3fffff8),
        fence(SYSTEM, 0x7fffffff8),
        read_bytes(LOCAL, 8, 0x77),
        write_bytes(APERTURE, 3, 77),
        map(1, 2, 2, true),
        unmap(4, 9),
        nop(6),
    };
    bench.checks.begin("every_single_bit_of_a_packet_counts_as_the_manual_says");
    for (const oracle_limits &limits : {every_limits()[0], every_limits()[1]})
        for (uint32_t rights : {7u, 7u & ~FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK}) {
            bench.limits = limits;
            bench.limits.rights = rights;
            for (const Words &form : forms)
                for (size_t bit = 0; bit < 32 * (form.size() < 10 ? form.size() : 10); bit++) {
                    Words bent = form;
                    bent[bit / 32] ^= 1u << bit % 32;
                    // What comes behind must not be taken with it.
                    bench.run(join({bent, copy(LOCAL, LOCAL, 8, 0, 8)}));
                }
        }
    bench.limits = every_limits()[0];
    bench.checks.begin("packets_of_a_wrong_length_or_cut_by_the_buffers_end_are_left");
    for (const Words &form : forms)
        for (uint32_t words = 0; words < 24; words++) {
            Words bent = form;
            bent[0] = (bent[0] & 0xffff) | words << 16;
            bench.run(bent);
            bench.run(join({bent, nop(8), nop(8), nop(8)}));
        }
    for (const Words &form : forms)
        for (size_t at = 2; at <= form.size(); at += 2)
            bench.run(join({nop(4), Words(form.begin(), form.begin() + static_cast<long>(at))}));
    // A buffer as long as its slot.
    Words full;
    for (unsigned i = 0; i < 128; i++) {
        Words one = copy(LOCAL, LOCAL, 8, 8 * i, 4096 + 8 * i);
        full.insert(full.end(), one.begin(), one.end());
    }
    bench.run(full);
    bench.checks.equal(bench.jobs.size(), 128, "jobs of a full slot");
}

// The firmware's word counts for one packet; its stop, in whichever cycle it comes, loses and doubles nothing.
void handing_over(Bench &bench)
{
    bench.checks.begin("only_the_first_packet_is_taken_on_the_firmwares_word");
    bench.run(join({read_bytes(LOCAL, 8, 0), copy(LOCAL, LOCAL, 8, 0, 64u << 20)}));
    bench.checks.equal(bench.jobs.size(), 1, "jobs before the bad one");
    bench.run(join({copy(LOCAL, LOCAL, 8, 0, 8), read_bytes(LOCAL, 8, 0), write_bytes(LOCAL, 8, 0), fence(LOCAL, 8)}));
    bench.checks.equal(bench.jobs.size(), 4, "jobs");

    bench.checks.begin("a_stop_in_any_cycle_loses_and_doubles_no_packet");
    const Words buffer = join({copy(LOCAL, SYSTEM, 4096, 0, 0), copy_pages(true, LOCAL, 8192, 0, 0, 2),
                               read_bytes(LOCAL, 8, 0), fill(LOCAL, 8, 0, 0), fence(SYSTEM, 4096)});
    for (bool stall : {false, true})
        for (unsigned cycle = 0; cycle < 120; cycle++) {
            bench.stall = stall;
            bench.run(buffer, cycle);
        }
    bench.stall = false;

    bench.checks.begin("a_core_that_stops_stops_the_sequencer_in_any_cycle");
    for (unsigned cycle = 0; cycle < 40; cycle++) {
        bench.put(buffer);
        bench.start(0, false);
        for (unsigned i = 0; i < cycle; i++)
            bench.tick();
        bench.top.run = 0;
        bench.tick();
        bench.jobs.clear();
        for (unsigned i = 0; i < 30; i++) {
            bench.checks.that(!bench.top.busy && !bench.top.job_valid, "at rest");
            bench.tick();
        }
        bench.checks.equal(bench.jobs.size(), 0, "jobs of a core that stands");
        bench.top.run = 1;
        bench.tick();
        bench.run(buffer);
    }
}

// Buffers of many packets of any form with stalls on every side, some of them bent.
void mixes(Bench &bench)
{
    Random &random = bench.random;
    const std::vector<oracle_limits> limits = every_limits();
    bench.checks.begin("buffers_of_many_packets");
    bench.stall = true;
    for (unsigned round = 0; round < 1500; round++) {
        bench.limits = limits[random.below(static_cast<uint32_t>(limits.size()))];
        if (random.once_in(3))
            bench.limits.rights &= ~FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK;
        Words buffer;
        while (buffer.size() < 2 + random.below(120)) {
            uint32_t from = random.below(3), to = random.below(3), bytes = random.below(30000);
            uint32_t offset = random.once_in(2) ? 0 : random.below(4096);
            uint64_t near = random.once_in(4) ? bench.limits.protect_base : random.below(1 << 25);
            Words one;
            switch (random.below(8)) {
            case 0:
            case 1: one = copy(from, to, bytes, near + random.below(64), random.below(1 << 26)); break;
            case 2:
                one = copy_pages(from & 1, to == SYSTEM ? 0 : to, bytes, offset, near,
                                 static_cast<int>((offset + bytes + 4095) / 4096));
                break;
            case 3: one = fill(to, bytes, near, random.below(4)); break;
            case 4: one = fence(to, near & ~7ull); break;
            case 5:
                one = random.once_in(2) ? read_bytes(from, 1 + random.below(8), near) : write_bytes(to, 8, near);
                break;
            case 6: one = random.once_in(2) ? map(random.below(4100), 3, 3) : unmap(random.below(4100), 7); break;
            default: one = nop(2 + 2 * random.below(6)); break;
            }
            if (random.once_in(30))
                one[random.below(static_cast<uint32_t>(one.size()))] ^= 1u << random.below(32);
            if (buffer.size() + one.size() <= 1024)
                buffer.insert(buffer.end(), one.begin(), one.end());
        }
        bench.run(buffer, random.once_in(3) ? random.below(600) : ~0u);
    }
    bench.checks.that(bench.jobs_taken > 5000, "enough jobs");
}

} // namespace

int main()
{
    Random random;
    Checks checks;
    Bench bench(checks, random);
    edges(bench);
    lists(bench);
    single_bits(bench);
    handing_over(bench);
    mixes(bench);
    return checks.done();
}
