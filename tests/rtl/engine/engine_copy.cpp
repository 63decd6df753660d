// SPDX-License-Identifier: Apache-2.0
// Copies, fills and reads that must succeed.
#include "suite.h"

namespace
{

// Lengths 0..129, all 64 offset pairs, with the range before, over and behind a 4 KiB edge on both sides in turn;
// queued back to back, destinations apart from each other and from the sources.
std::string sweep(uint64_t seed, unsigned from, unsigned to, bool stalls, bool all)
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

std::string sweep_local(uint64_t seed)
{
    return sweep(seed, FERRY_ADDRESS_KIND_LOCAL, FERRY_ADDRESS_KIND_LOCAL, false, true);
}
std::string sweep_local_stalled(uint64_t seed)
{
    return sweep(seed, FERRY_ADDRESS_KIND_LOCAL, FERRY_ADDRESS_KIND_LOCAL, true, true);
}
std::string sweep_kinds(uint64_t seed)
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
std::string long_copies(uint64_t seed)
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
std::string overlaps(uint64_t seed)
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

// Fills: every pattern size, every alignment, lengths 0..70 and long ones.
std::string fills(uint64_t seed)
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
std::string reads(uint64_t seed)
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

} // namespace

const std::vector<Test> COPY_TESTS = {
    {"sweep_of_lengths_and_offsets", sweep_local},
    {"sweep_of_lengths_and_offsets_stalled", sweep_local_stalled},
    {"sweep_of_all_address_kinds", sweep_kinds},
    {"long_copies", long_copies},
    {"overlap_both_ways", overlaps},
    {"fills_every_pattern_and_alignment", fills},
    {"reads_change_nothing", reads},
};
