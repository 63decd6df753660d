// SPDX-License-Identifier: Apache-2.0
// The tests of the engine, one function each; a test returns an empty text or what went wrong.
#ifndef FERRY_TEST_SUITE_H
#define FERRY_TEST_SUITE_H

#include <functional>

#include "reference.h"

constexpr uint64_t HOST_BASE = 0x0000001234500000ull;
constexpr size_t LOCAL_BYTES = 1 << 20;
constexpr size_t HOST_BYTES = 1 << 20;

struct Test {
    const char *name;
    std::string (*run)(uint64_t seed);
};

extern const std::vector<Test> COPY_TESTS;
extern const std::vector<Test> PAGE_TESTS;
extern const std::vector<Test> FLIGHT_TESTS;
extern const std::vector<Test> FAULT_TESTS;
extern const std::vector<Test> OVER_TESTS;
extern const std::vector<Test> RESET_TESTS;
extern const std::vector<Test> OVERLAP_TESTS;
extern const std::vector<Test> EDGE_TESTS;
extern const std::vector<Test> LIMIT_TESTS;
extern const std::vector<Test> PREEMPT_TESTS;
extern const std::vector<Test> CUT_TESTS;
extern const std::vector<Test> VIRTUAL_TESTS;
extern const std::vector<Test> AHEAD_TESTS;
extern const std::vector<Test> AHEAD_FAULT_TESTS;
extern const std::vector<Test> COMING_TESTS;
extern const std::vector<Test> ENTRY_TESTS;
extern const std::vector<Test> STORM_TESTS;
extern const std::vector<Test> FORGET_TESTS;
extern const std::vector<Test> FORGET_STORM_TESTS;

// How often something random is done: `many` in the long form, with which `make soak-seeds` runs all programs.
inline unsigned rounds(unsigned few, unsigned many)
{
    return getenv("FERRY_LONG") != nullptr ? many : few;
}

// What the engine tells: `position` is the low half of the address as the job has it, or the offset in a list's pages.
struct Fault {
    unsigned kind, slot, write, packet_offset;
    uint64_t position;
    uint32_t written;
    bool up_to_position;
    // What the page tables said; of an expected fault only looked at if of_tables.
    unsigned level = 0;
    uint64_t entry = 0;
    bool of_tables = false;
    // Bytes certainly written of a job that starts here.
    uint32_t bytes_written(uint64_t start) const
    {
        return up_to_position ? (uint32_t)position - (uint32_t)start : written;
    }
};

// Reads the engine's fault and clears it.
Fault take_fault(Machine &machine);
std::string text(const Fault &fault);
Timing any_timing(Random &random);
inline Timing random_timing(Random &random, bool stalls)
{
    static const unsigned latencies[] = {1, 2, 20, 60};
    Timing timing;
    timing.read_latency = latencies[random.below(4)];
    timing.write_latency = (unsigned)(1 + random.below(20));
    timing.stall_percent = stalls ? 25 : 0;
    return timing;
}
// Runs the faulted job, one behind it in the same slot (dropped) and one in another (runs). `reach` is the offset in
// the job from which on nothing may be written; before it, `written` bytes must be there and the rest may be.
std::string check_job(Machine &machine, Reference &reference, const Job &bad, const Fault &wanted, uint32_t reach,
                      uint32_t least_written);

// An urgent job of 64 bytes in memory that no other job of a test touches.
inline Job small_urgent_job()
{
    Job job;
    job.urgent = true;
    job.slot = 1;
    job.source = 600000;
    job.destination = 700000;
    job.length = 64;
    return job;
}

// An engine reset, to its end. What was not offered yet is not any more. False: it has none.
inline bool reset_engine(Machine &machine)
{
    machine.withdraw();
    machine.top->reset_request = 1;
    machine.step();
    machine.top->reset_request = 0;
    for (unsigned cycles = 0; machine.top->resetting || !machine.idle(); cycles++) {
        if (cycles == 100000)
            return false;
        machine.step();
    }
    return true;
}

// An engine reset, to its end, while these chains of jobs run, one a slot. What was not offered yet is not any more: so
// many jobs of each chain were.
inline void reset_amid(Machine &machine, const std::vector<Job> (&chains)[4], size_t (&offered)[4])
{
    machine.top->reset_request = 1;
    machine.step();
    machine.top->reset_request = 0;
    for (unsigned slot = 0; slot < 4; slot++)
        offered[slot] = chains[slot].size();
    for (const auto *left : {&machine.waiting, &machine.waiting_urgent})
        for (const Job &job : *left)
            offered[job.slot]--;
    machine.withdraw();
    while (machine.top->resetting)
        machine.step();
}

// Runs what is queued and compares everything.
inline std::string finish(Machine &machine, const Reference &reference)
{
    machine.drain();
    std::string difference = reference.compare(machine);
    if (!machine.errors.empty())
        return machine.errors.front() + (difference.empty() ? "" : "; " + difference);
    return difference;
}

// How jobs name 64 pages of host memory from HOST_BASE on, in each of some ways, and which No Snoop their bursts have.
struct Snooping {
    unsigned ways;
    std::function<void(Job &job, bool to_host, unsigned way, uint64_t place)> name;
    std::function<bool(unsigned way, uint64_t page)> no_snoop;
};

// The No Snoop attribute of every burst is as it is told, also where pages that are neighbours in host memory differ in
// it. The other side of the jobs is in video memory, from this place on.
inline std::string check_no_snoop(Machine &machine, Reference &reference, const Snooping &told, uint64_t local)
{
    Random &random = machine.random;
    unsigned seen[2] = {0, 0};
    for (unsigned round = 0; round < 60; round++) {
        machine.timing = any_timing(random);
        Job job;
        bool to_host = random.chance(50);
        unsigned way = told.ways > 1 ? (unsigned)random.below(told.ways) : 0;
        job.length = (uint32_t)(1 + random.below(30000));
        told.name(job, to_host, way, random.below(64 * 4096 - job.length));
        (to_host ? job.source : job.destination) = local + random.below(1000);
        machine.asked.clear();
        machine.submit(job);
        reference.apply(job);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return wrong;
        if (machine.asked.empty())
            return "the host was asked for nothing";
        for (const Asked &burst : machine.asked) {
            bool wanted = told.no_snoop(way, (burst.address - HOST_BASE) / 4096);
            if (burst.write != to_host || burst.no_snoop != wanted)
                return "way " + std::to_string(way) + ": a burst " + (burst.no_snoop ? "with" : "without") +
                       " No Snoop";
            seen[wanted]++;
        }
    }
    return seen[0] > 20 && seen[1] > 20 ? "" : "hardly a burst of either kind";
}

#endif
