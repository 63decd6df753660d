// SPDX-License-Identifier: Apache-2.0
// Copies, fills and reads that must succeed.
#include "suite.h"

static Timing random_timing(Random &random, bool stalls)
{
    static const unsigned latencies[] = {1, 2, 20, 60};
    Timing timing;
    timing.read_latency = latencies[random.below(4)];
    timing.write_latency = (unsigned)(1 + random.below(20));
    timing.stall_percent = stalls ? 25 : 0;
    return timing;
}

// Lengths 0..129, all 64 offset pairs, with the range before, over and behind a 4 KiB edge on both sides in turn;
// queued back to back, destinations apart from each other and from the sources.
static std::string sweep(uint64_t seed, unsigned from, unsigned to, bool stalls, bool all)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < 256; i++)
        // Scattered, but within its half: SYSTEM and APERTURE are not to overlap.
        pages.push_back(HOST_BASE + 4096ull * (i / 128 * 128 + (i * 37) % 128));
    machine.map_pages(0, pages, seed & 1);
    for (unsigned i = 0; i < 256; i++)
        reference.aperture[i] = pages[i];
    machine.timing = random_timing(machine.random, stalls);
    machine.jobs_stall = stalls;
    Random &random = machine.random;
    uint64_t slot = 0;
    for (unsigned length = 0; length <= 129; length++) {
        for (unsigned pair = 0; pair < 64; pair++) {
            if (!all && random.below(4) != 0)
                continue;
            Job job;
            job.source_kind = from;
            job.destination_kind = to;
            job.length = length;
            job.unordered = random.chance(70);
            job.slot = (unsigned)random.below(4);
            // Sources: the lower half; destinations: the upper. Offsets about a page's edge.
            uint64_t source_edge = 4096 * (1 + random.below(100));
            uint64_t edges[3] = {0, 64, 128};
            uint64_t source = source_edge - 8 * random.below(20) + pair % 8;
            uint64_t destination = LOCAL_BYTES / 2 + 4096 * (1 + slot % 120) - edges[random.below(3)] + pair / 8;
            slot++;
            job.source = from == FERRY_ADDRESS_KIND_SYSTEM ? HOST_BASE + source : source;
            job.destination = to == FERRY_ADDRESS_KIND_SYSTEM ? HOST_BASE + destination : destination;
            if (slot % 100 == 0) {
                std::string wrong = finish(machine, reference);
                if (!wrong.empty())
                    return "length " + std::to_string(length) + ": " + wrong;
                machine.timing = random_timing(random, stalls);
            }
            // Unordered is a promise: destinations of jobs in flight are not sources (halves), so it holds.
            if (from == FERRY_ADDRESS_KIND_APERTURE || to == FERRY_ADDRESS_KIND_APERTURE ||
                (from == FERRY_ADDRESS_KIND_SYSTEM && to == FERRY_ADDRESS_KIND_SYSTEM))
                job.unordered =
                    from != to && (from == FERRY_ADDRESS_KIND_LOCAL || to == FERRY_ADDRESS_KIND_LOCAL) && job.unordered;
            machine.submit(job);
            reference.apply(job);
        }
    }
    return finish(machine, reference);
}

static std::string sweep_local(uint64_t seed)
{
    return sweep(seed, FERRY_ADDRESS_KIND_LOCAL, FERRY_ADDRESS_KIND_LOCAL, false, true);
}
static std::string sweep_local_stalled(uint64_t seed)
{
    return sweep(seed, FERRY_ADDRESS_KIND_LOCAL, FERRY_ADDRESS_KIND_LOCAL, true, true);
}
static std::string sweep_kinds(uint64_t seed)
{
    for (unsigned from = 0; from < 3; from++)
        for (unsigned to = 0; to < 3; to++) {
            std::string wrong = sweep(seed + 3 * from + to, from, to, (from + to) % 2, false);
            if (!wrong.empty())
                return std::to_string(from) + " to " + std::to_string(to) + ": " + wrong;
        }
    return "";
}

// Longer copies, random everything.
static std::string long_copies(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < 256; i++)
        pages.push_back(HOST_BASE + 4096ull * ((i * 91 + 5) % 256));
    machine.map_pages(0, pages, true);
    for (unsigned i = 0; i < 256; i++)
        reference.aperture[i] = pages[i];
    for (unsigned round = 0; round < 60; round++) {
        machine.timing = random_timing(random, round % 2);
        for (unsigned i = 0; i < 6; i++) {
            Job job;
            job.source_kind = (unsigned)random.below(3);
            job.destination_kind = (unsigned)random.below(3);
            job.length = (uint32_t)random.below(round % 4 == 0 ? 40000 : 6000);
            job.slot = (unsigned)random.below(4);
            uint64_t source = random.below(LOCAL_BYTES - job.length);
            uint64_t destination = random.below(LOCAL_BYTES - job.length);
            job.source = job.source_kind == FERRY_ADDRESS_KIND_SYSTEM ? HOST_BASE + source : source;
            job.destination = job.destination_kind == FERRY_ADDRESS_KIND_SYSTEM ? HOST_BASE + destination : destination;
            // Two names for the same host bytes are not an overlap that the engine can see: SYSTEM beside APERTURE.
            if (job.source_kind != job.destination_kind && job.source_kind != 0 && job.destination_kind != 0)
                job.source_kind = 0, job.source = source;
            machine.submit(job);
            reference.apply(job);
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

// Source and destination overlap, either way round, in every kind.
static std::string overlaps(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < 64; i++)
        pages.push_back(HOST_BASE + 4096ull * ((i * 27) % 64));
    machine.map_pages(0, pages, false);
    for (unsigned i = 0; i < 64; i++)
        reference.aperture[i] = pages[i];
    for (unsigned round = 0; round < 700; round++) {
        if (round % 10 == 0)
            machine.timing = random_timing(random, round % 20 == 0);
        Job job;
        job.source_kind = job.destination_kind = (unsigned)random.below(3);
        job.length = (uint32_t)(1 + random.below(round % 5 == 0 ? 9000 : 700));
        uint64_t source = 40000 + random.below(8192);
        int64_t apart =
            (int64_t)random.below(round % 3 == 0 ? 20 : 2 * job.length + 2) - (round % 3 == 0 ? 10 : job.length);
        job.source = source + (job.source_kind == FERRY_ADDRESS_KIND_SYSTEM ? HOST_BASE : 0);
        job.destination = job.source + (uint64_t)apart;
        machine.submit(job);
        reference.apply(job);
        if (round % 4 == 3) {
            std::string wrong = finish(machine, reference);
            if (!wrong.empty())
                return "round " + std::to_string(round) + ", apart " + std::to_string(apart) + ": " + wrong;
        }
    }
    return finish(machine, reference);
}

// Page lists on either side: scattered pages, runs of neighbours, any offset in the first page.
static std::string page_lists(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 300; round++) {
        if (round % 5 == 0)
            machine.timing = random_timing(random, round % 10 == 0);
        Job job;
        bool to_pages = random.chance(50);
        job.list = to_pages ? FERRY_LIST_SIDE_DESTINATION : FERRY_LIST_SIDE_SOURCE;
        job.source_kind = to_pages ? FERRY_ADDRESS_KIND_LOCAL : FERRY_ADDRESS_KIND_SYSTEM;
        job.destination_kind = to_pages ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
        // A list is one of host pages, whatever kind its side claims.
        if (random.chance(20))
            (to_pages ? job.destination_kind : job.source_kind) = (unsigned)random.below(3);
        job.length = (uint32_t)(1 + random.below(round % 3 ? 300 : 30000));
        uint64_t offset = random.chance(30) ? 4096 - 1 - random.below(16) : random.below(4096);
        size_t count = (offset + job.length + 4095) / 4096;
        std::vector<uint64_t> pages;
        std::vector<bool> used(256);
        while (pages.size() < count) {
            uint64_t page =
                !pages.empty() && random.chance(40) ? (pages.back() - HOST_BASE) / 4096 + 1 : random.below(256);
            if (page >= 256 || used[page])
                page = random.below(256);
            if (used[page])
                continue;
            used[page] = true;
            pages.push_back(HOST_BASE + 4096 * page);
        }
        job.list_address = (uint16_t)(0x400 * (round % 16));
        uint64_t linear = random.below(LOCAL_BYTES - job.length);
        job.source = to_pages ? linear : offset;
        job.destination = to_pages ? offset : linear;
        machine.put_list(job.list_address, pages);
        reference.lists[job.list_address] = pages;
        machine.submit(job);
        reference.apply(job);
        if (round % 8 == 7) {
            std::string wrong = finish(machine, reference);
            if (!wrong.empty())
                return "round " + std::to_string(round) + ": " + wrong;
        }
    }
    return finish(machine, reference);
}

// Neighbouring pages of a list are one range: with the list port shut soon after the start, such a job runs on as if
// nothing had happened, while a job of scattered pages has to wait. A run over a 16 MiB edge, where the engine begins a
// new range, is copied as well as any other.
static std::string joined_pages(uint64_t seed)
{
    constexpr unsigned PAGES = 14;
    // Whether the pages are neighbours, whether the port is shut for a while.
    uint64_t cycles[2][2];
    for (bool to_pages : {false, true}) {
        for (bool neighbours : {false, true}) {
            for (bool shut : {false, true}) {
                Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
                Reference reference(machine);
                Job job;
                job.list = to_pages ? FERRY_LIST_SIDE_DESTINATION : FERRY_LIST_SIDE_SOURCE;
                (to_pages ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_SYSTEM;
                (to_pages ? job.destination : job.source) = 8 * machine.random.below(512);
                job.length = 4096 * (PAGES - 1);
                std::vector<uint64_t> pages;
                for (unsigned i = 0; i < PAGES; i++)
                    pages.push_back(HOST_BASE + 4096ull * (neighbours ? 20 + i : 20 + 3 * i));
                machine.put_list(0, pages);
                reference.lists[0] = pages;
                machine.submit(job);
                reference.apply(job);
                for (unsigned i = 0; i < 10000; i++) {
                    machine.list_closed = shut && i >= 100;
                    machine.step();
                }
                machine.list_closed = false;
                std::string wrong = finish(machine, reference);
                if (!wrong.empty())
                    return wrong;
                cycles[neighbours][shut] = machine.retired_at.back() - machine.taken_at.front();
            }
        }
        if (cycles[true][true] != cycles[true][false] || cycles[true][false] > cycles[false][false])
            return "joined pages waited for the list: " + std::to_string(cycles[true][true]) + " cycles, " +
                   std::to_string(cycles[true][false]) + " with an open port, scattered " +
                   std::to_string(cycles[false][false]);
        if (cycles[false][true] <= cycles[false][false])
            return "scattered pages did not wait: the port was never shut";
    }

    Machine machine(seed, LOCAL_BYTES, 0x0000001234ff0000ull, HOST_BYTES);
    Reference reference(machine);
    Job job;
    job.list = FERRY_LIST_SIDE_SOURCE;
    job.source_kind = FERRY_ADDRESS_KIND_SYSTEM;
    job.length = 4096 * 40;
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < 40; i++)
        pages.push_back(machine.host.base + 4096ull * i);
    machine.put_list(0, pages);
    reference.lists[0] = pages;
    machine.submit(job);
    reference.apply(job);
    return finish(machine, reference);
}

// Fills: every pattern size, every alignment, lengths 0..70 and long ones.
static std::string fills(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    unsigned count = 0;
    for (unsigned log2 = 0; log2 < 4; log2++)
        for (unsigned offset = 0; offset < 8; offset++)
            for (unsigned length = 0; length <= 72; length++) {
                Job job;
                job.op = FERRY_JOB_OP_FILL;
                job.pattern_log2 = log2;
                job.source = random.next();
                job.destination_kind = (unsigned)random.below(2);
                job.length = length == 72 ? (uint32_t)random.below(20000) : length;
                job.destination =
                    4096 * (1 + count % 200) - 8 * random.below(9) + offset + (job.destination_kind ? HOST_BASE : 0);
                job.unordered = random.chance(50);
                machine.submit(job);
                reference.apply(job);
                if (++count % 40 == 0) {
                    std::string wrong = finish(machine, reference);
                    if (!wrong.empty())
                        return "pattern " + std::to_string(log2) + ", length " + std::to_string(length) + ": " + wrong;
                    machine.timing = random_timing(random, count % 80 == 0);
                }
            }
    return finish(machine, reference);
}

// Reads of 1 to 8 bytes: they reach the bus, change nothing, and keep their place among other jobs.
static std::string reads(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 200; round++) {
        machine.timing = random_timing(random, round % 2);
        uint64_t before = machine.local.read_beats + machine.host.read_beats;
        Job job;
        job.op = FERRY_JOB_OP_READ;
        job.source_kind = (unsigned)random.below(2);
        job.length = (uint32_t)(1 + random.below(8));
        job.source = random.below(LOCAL_BYTES - 8) + (job.source_kind ? HOST_BASE : 0);
        machine.submit(job);
        if (random.chance(50)) {
            Job fill;
            fill.op = FERRY_JOB_OP_FILL;
            fill.source = random.next();
            fill.pattern_log2 = 3;
            fill.length = 8;
            fill.destination = random.below(LOCAL_BYTES - 8);
            machine.submit(fill);
            reference.apply(fill);
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return wrong;
        uint64_t beats = ((job.source & 7) + job.length + 7) / 8;
        if (machine.local.read_beats + machine.host.read_beats - before != beats)
            return "a read of " + std::to_string(beats) + " beats made other traffic";
    }
    return "";
}

// Read after write, write after read, write after write through a small area that every job uses, ordered.
static std::string ordering(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 100; round++) {
        machine.timing = random_timing(random, round % 2);
        machine.timing.write_latency = (unsigned)(1 + random.below(80));
        for (unsigned i = 0; i < 20; i++) {
            Job job;
            job.op = random.chance(25) ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
            job.source_kind = job.op == FERRY_JOB_OP_FILL ? 0 : (unsigned)random.below(2);
            job.destination_kind = (unsigned)random.below(2);
            job.length = (uint32_t)random.below(600);
            job.pattern_log2 = (unsigned)random.below(4);
            job.source = random.below(1024) + (job.source_kind ? HOST_BASE : 0);
            if (job.op == FERRY_JOB_OP_FILL)
                job.source = random.next();
            job.destination = random.below(1024) + (job.destination_kind ? HOST_BASE : 0);
            job.slot = (unsigned)random.below(4);
            machine.submit(job);
            reference.apply(job);
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

// Unordered jobs whose writes meet earlier jobs' reads and writes: those two orders hold without being asked for. Reads
// stay away from what earlier jobs write, as the flag promises.
static std::string unordered_hazards(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 100; round++) {
        machine.timing = random_timing(random, round % 2);
        machine.timing.write_latency = (unsigned)(1 + random.below(80));
        // Sources climb; destinations follow behind, over sources of earlier jobs and destinations of theirs.
        uint64_t at = 8192;
        for (unsigned i = 0; i < 20; i++) {
            Job job;
            job.unordered = true;
            job.length = (uint32_t)(1 + random.below(300));
            job.source = at;
            at += job.length;
            job.destination = 8192 + random.below(at - 8192 - job.length + 1);
            if (job.destination + job.length > at)
                job.destination = at - job.length;
            machine.submit(job);
            reference.apply(job);
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

// The table changes between jobs; unmapped pages go to the dummy page; the window port sees the same entries.
static std::string aperture_changes(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    const uint64_t dummy = HOST_BASE + 4096 * 255;
    for (unsigned round = 0; round < 60; round++) {
        machine.timing = random_timing(random, round % 2);
        uint32_t first = (uint32_t)random.below(200), count = (uint32_t)(1 + random.below(50));
        std::vector<uint64_t> pages;
        for (uint32_t i = 0; i < count; i++)
            pages.push_back(HOST_BASE + 4096 * ((round * 50 + i) % 255));
        bool snoop = random.chance(50);
        uint64_t before = machine.cycle;
        bool unmap = random.chance(30);
        if (unmap)
            machine.update(first, count, 0, true, snoop, dummy);
        else
            machine.map_pages(first, pages, snoop);
        if (!machine.timing.stall_percent && machine.cycle - before > count + 10)
            return "update slower than one entry a cycle";
        for (uint32_t i = 0; i < count; i++)
            reference.aperture[first + i] = unmap ? dummy : pages[i];
        // Not across a place where two aperture pages are the same host page: the reference has no order for that.
        Job job;
        job.source_kind = random.chance(50) ? FERRY_ADDRESS_KIND_APERTURE : FERRY_ADDRESS_KIND_LOCAL;
        job.destination_kind =
            job.source_kind == FERRY_ADDRESS_KIND_LOCAL ? FERRY_ADDRESS_KIND_APERTURE : FERRY_ADDRESS_KIND_LOCAL;
        uint64_t place = 4096ull * first + random.below(4096);
        job.length = (uint32_t)random.below(4096ull * (first + count) - place + 1);
        if (unmap && job.destination_kind == FERRY_ADDRESS_KIND_APERTURE && job.length > 4096 - (place & 4095))
            job.length = (uint32_t)(4096 - (place & 4095));
        uint64_t other = random.below(LOCAL_BYTES - job.length);
        job.source = job.source_kind == FERRY_ADDRESS_KIND_APERTURE ? place : other;
        job.destination = job.source_kind == FERRY_ADDRESS_KIND_APERTURE ? other : place;
        machine.submit(job);
        reference.apply(job);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
        uint32_t probe = first + (uint32_t)random.below(count);
        machine.top->window_lookup_valid = 1;
        machine.top->window_lookup_page = probe;
        machine.step();
        machine.top->window_lookup_valid = 0;
        for (int i = 0; i < 5 && !machine.window_done; i++)
            machine.step();
        if (!machine.window_done || !machine.last_window_hit || machine.last_window_snoop != snoop ||
            machine.last_window_result != reference.aperture[probe])
            return "the window port sees another entry";
    }
    return "";
}

// A long latency is covered by as many reads as the data FIFO has room for, and by one from each of 16 small jobs.
static std::string many_outstanding(uint64_t seed)
{
    for (uint32_t length : {2048u, 64u}) {
        Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        machine.timing.read_latency = 400;
        for (unsigned i = 0; i < 200; i++) {
            Job job;
            job.unordered = true;
            job.source = 8192 + 512 * (i % 8);
            job.destination = 524288 + 2048 * i;
            job.length = length;
            machine.submit(job);
            reference.apply(job);
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return wrong;
        unsigned wanted = length == 64 ? 16 : 7;
        if (machine.local.most_reads < wanted)
            return "only " + std::to_string(machine.local.most_reads) + " reads outstanding";
    }
    return "";
}

// A long latency of the host is covered by 32 reads of a block, whatever the data FIFO holds: a page-in of 64 KiB takes
// little more than its beats and one latency. Page-ins to and from everywhere while video memory takes no writes for a
// while: what has come waits, nothing is lost, other jobs' video memory data keeps its room.
static std::string host_data_waits(uint64_t seed)
{
    {
        Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        machine.timing.read_latency = 1500;
        Job job;
        job.source_kind = FERRY_ADDRESS_KIND_SYSTEM;
        job.source = HOST_BASE + 8 * machine.random.below(64);
        job.destination = 8 * machine.random.below(64);
        job.length = 65536;
        machine.submit(job);
        reference.apply(job);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return wrong;
        uint64_t cycles = machine.retired_at.back() - machine.taken_at.front();
        if (cycles > 8192 + 1500 + 200)
            return "64 KiB from a host 1,500 cycles away took " + std::to_string(cycles) + " cycles";
    }
    for (unsigned round = 0; round < 30; round++) {
        Machine machine(seed + round, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        Random &random = machine.random;
        machine.timing = random_timing(random, round % 2);
        for (unsigned i = 0; i < 12; i++) {
            Job job;
            job.unordered = true;
            job.source_kind = (unsigned)random.below(2);
            job.destination_kind = (unsigned)random.below(2);
            job.length = (uint32_t)random.below(12000);
            job.source = random.below(400000) + (job.source_kind ? HOST_BASE : 0);
            job.destination = 524288 + 16384 * i + random.below(4000) + (job.destination_kind ? HOST_BASE : 0);
            machine.submit(job);
            reference.apply(job);
        }
        for (unsigned stop = 0; stop < 3; stop++) {
            for (uint64_t i = random.below(1500); i; i--)
                machine.step();
            machine.local.dead = Memory::AW | Memory::W | Memory::B;
            machine.host.dead = random.chance(50) ? machine.local.dead : 0;
            for (uint64_t i = random.below(6000); i; i--)
                machine.step();
            machine.local.dead = machine.host.dead = 0;
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

const std::vector<Test> COPY_TESTS = {
    {"sweep_of_lengths_and_offsets", sweep_local},
    {"sweep_of_lengths_and_offsets_stalled", sweep_local_stalled},
    {"sweep_of_all_address_kinds", sweep_kinds},
    {"long_copies", long_copies},
    {"overlap_both_ways", overlaps},
    {"page_lists_both_sides", page_lists},
    {"page_lists_join_neighbours", joined_pages},
    {"fills_every_pattern_and_alignment", fills},
    {"reads_change_nothing", reads},
    {"ordered_jobs_see_earlier_writes", ordering},
    {"unordered_jobs_keep_write_orders", unordered_hazards},
    {"aperture_changes_between_jobs", aperture_changes},
    {"many_reads_outstanding", many_outstanding},
    {"host_data_waits_for_room", host_data_waits},
};
