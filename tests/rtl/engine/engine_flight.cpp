// SPDX-License-Identifier: Apache-2.0
// Many jobs and many reads in flight: what order holds among them, and how far the engine runs ahead.
#include "suite.h"

namespace
{

// Read after write, write after read, write after write through a small area that every job uses, ordered.
std::string ordering(uint64_t seed)
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
std::string unordered_hazards(uint64_t seed)
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

// A long latency is covered by as many reads as the data FIFO has room for, and by one from each of 16 small jobs.
std::string many_outstanding(uint64_t seed)
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
std::string host_data_waits(uint64_t seed)
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

// A burst to the host is announced when all of its data is there, and its data then comes one beat a cycle: others send
// through the same port, fence records and interrupts, and may not wait for video memory behind it. Video memory stops
// giving data somewhere in a job; what was announced by then is whole. Likewise one of what the host gives: the CPU
// writes through video memory's port and may not wait for the host.
std::string whole_bursts(uint64_t seed, bool from_host)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    std::vector<uint64_t> pages = {HOST_BASE + 8192, HOST_BASE, HOST_BASE + 4096, HOST_BASE + 16384};
    machine.map_pages(0, pages, false);
    machine.put_list(0, pages);
    reference.lists[0] = pages;
    for (unsigned i = 0; i < pages.size(); i++)
        reference.aperture[i] = pages[i];
    unsigned begun = 0;
    for (unsigned round = 0; round < 200; round++) {
        machine.timing = any_timing(random);
        machine.timing.read_latency = (unsigned)(1 + random.below(60));
        Job job;
        unsigned way = round % 3;
        Memory &reads = from_host ? machine.host : machine.local, &writes = from_host ? machine.local : machine.host;
        (from_host ? job.destination : job.source) = 20000 + random.below(1000);
        uint64_t &at = from_host ? job.source : job.destination;
        at = 4096 + random.below(1000);
        job.length = (uint32_t)(1 + random.below(6000));
        unsigned &kind = from_host ? job.source_kind : job.destination_kind;
        kind = way == 2 ? FERRY_ADDRESS_KIND_APERTURE : FERRY_ADDRESS_KIND_SYSTEM;
        if (way == 0)
            at += HOST_BASE + 65536;
        if (way == 1) {
            job.list = from_host ? FERRY_LIST_SIDE_SOURCE : FERRY_LIST_SIDE_DESTINATION;
            // Its pages are the host's, whatever kind it claims.
            if (random.chance(50))
                kind = FERRY_ADDRESS_KIND_LOCAL;
        }
        machine.submit(job);
        for (uint64_t i = random.below(1200); i; i--)
            machine.step();
        reads.dead = Memory::R;
        for (unsigned i = 0; i < 1500; i++)
            machine.step();
        begun += !machine.idle() && writes.write_bursts != 0;
        if (!writes.writes.empty() || !writes.beats.empty())
            return "round " + std::to_string(round) + ": a burst of " +
                   std::to_string(writes.writes.empty() ? 0 : writes.writes.front().beats) +
                   " beats waits for the memory that is read";
        reads.dead = 0;
        reference.apply(job);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return begun < 30 ? "only " + std::to_string(begun) + " jobs stood in their midst" : "";
}

std::string host_bursts_are_whole(uint64_t seed)
{
    return whole_bursts(seed, false);
}
std::string local_bursts_are_whole(uint64_t seed)
{
    return whole_bursts(seed, true);
}

} // namespace

const std::vector<Test> FLIGHT_TESTS = {
    {"ordered_jobs_see_earlier_writes", ordering},
    {"unordered_jobs_keep_write_orders", unordered_hazards},
    {"many_reads_outstanding", many_outstanding},
    {"host_data_waits_for_room", host_data_waits},
    {"bursts_to_the_host_are_whole", host_bursts_are_whole},
    {"bursts_of_what_the_host_gives_are_whole", local_bursts_are_whole},
};
