// SPDX-License-Identifier: Apache-2.0
// Engine resets: what is left of the jobs that they abort, and which these are.
#include <stdexcept>

#include "spaces.h"

namespace
{

// An engine reset at any moment: every job retires, buses end clean, only destinations of the jobs cut may have
// changed, and the next job is right.
std::string resets(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Random &random = machine.random;
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < 64; i++)
        pages.push_back(HOST_BASE + 4096ull * ((i * 27) % 64));
    machine.map_pages(0, pages, false);
    for (unsigned round = 0; round < 400; round++) {
        machine.timing = any_timing(random);
        Reference reference(machine);
        for (unsigned i = 0; i < 64; i++)
            reference.aperture[i] = pages[i];
        std::vector<Job> jobs;
        // Slots 2 and 3 of urgent jobs.
        bool both = random.chance(60);
        for (unsigned i = 0; i < 1 + random.below(10); i++) {
            Job job;
            job.op = (unsigned)random.below(3);
            job.source_kind = (unsigned)random.below(3);
            job.destination_kind = (unsigned)random.below(3);
            if (job.op == FERRY_JOB_OP_FILL)
                job.source_kind = 0;
            job.length = job.op == FERRY_JOB_OP_READ ? 8 : (uint32_t)random.below(3000);
            job.unordered = random.chance(70);
            job.slot = (unsigned)random.below(4);
            job.urgent = both && job.slot >= 2;
            job.source = 1000 + random.below(60000) + (job.source_kind == 1 ? HOST_BASE : 0);
            job.destination = 131072 + random.below(60000) + (job.destination_kind == 1 ? HOST_BASE : 0);
            if (job.destination_kind == 2)
                job.destination -= 65536;
            if (random.chance(10) && job.source_kind == 0)
                machine.local.read_error = (job.source + 64) & ~7ull;
            jobs.push_back(job);
            machine.submit(job);
        }
        uint64_t wait = random.below(600);
        for (uint64_t i = 0; i < wait; i++)
            machine.step();
        machine.top->reset_request = 1;
        machine.step();
        machine.top->reset_request = 0;
        machine.withdraw();
        if (!machine.top->resetting)
            return "resetting does not follow the request";
        uint64_t begin = machine.cycle;
        while (machine.top->resetting) {
            machine.step();
            if (machine.cycle - begin > 20000)
                return "round " + std::to_string(round) + ": reset does not end";
        }
        machine.local.read_error = 0;
        machine.drain();
        if (machine.top->fault_valid)
            take_fault(machine);
        machine.clear_poison(15);
        if (!machine.errors.empty())
            return "round " + std::to_string(round) + ": " + machine.errors.front();
        for (const Job &job : jobs)
            reference.take_over(machine, job);
        Job good;
        good.length = (uint32_t)random.below(2000);
        good.source = random.below(100000);
        good.destination = 300000 + random.below(100000);
        machine.submit(good);
        reference.apply(good);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

// A job of a chain: it reads what the ones before it wrote and writes over what they read.
Job link_of_chain(Random &random, unsigned slot, uint64_t host_page)
{
    const uint64_t window = 4096, arena = 65536ull * slot;
    // Four windows: three in video memory, one page of host memory.
    unsigned from = (unsigned)random.below(4), to = (from + 1 + (unsigned)random.below(3)) % 4;
    Job job;
    job.slot = slot;
    job.urgent = slot >= 2;
    job.length = random.chance(4) ? 0 : 1 + (uint32_t)random.below(random.chance(50) ? 200 : 3000);
    job.source = random.below(window - job.length);
    job.destination = random.below(window - job.length);
    if (random.chance(10)) {
        job.op = FERRY_JOB_OP_READ;
        job.length = 1 + (uint32_t)random.below(8);
        to = from;
    } else if (random.chance(20)) {
        job.op = FERRY_JOB_OP_FILL;
        job.pattern_log2 = (unsigned)random.below(4);
    }
    job.source_kind = from == 3 ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
    job.destination_kind = to == 3 ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
    job.source += from == 3 ? host_page : arena + from * window;
    job.destination += to == 3 ? host_page : arena + to * window;
    if (job.op == FERRY_JOB_OP_FILL) {
        job.source_kind = FERRY_ADDRESS_KIND_LOCAL;
        job.source = random.next();
    }
    return job;
}

// What a job reads, in video memory or in the host's.
bool reads_what(const Job &later, const Job &earlier)
{
    return earlier.op != FERRY_JOB_OP_READ && later.op == FERRY_JOB_OP_COPY &&
           later.source_kind == earlier.destination_kind && later.source < earlier.destination + earlier.length &&
           earlier.destination < later.source + later.length;
}

// A job reaches behind the end of video memory.
void make_bad(Random &random, Job &job)
{
    const bool writes = job.op == FERRY_JOB_OP_FILL || random.chance(50);
    (writes ? job.destination : job.source) = LOCAL_BYTES + 4096;
    (writes ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_LOCAL;
}

// A reset at any moment of chains of jobs, one a slot. The job that is told of first of a slot is the first that is not
// whole: what was before it is there, nothing behind it is, and from it on the chain can be run again. Nothing told
// means that all are whole. What a fault was told of before is not told again.
//
// ORDERED: memory refuses what one job reads, which may be told of as a fault, or come too late for that.
// UNORDERED: jobs that read nothing that an earlier one of their chain writes, and write over nothing that one reads,
// say so, as the miniport lets them; some have bad addresses. STALLED: so they do, and one channel of a memory stands
// still until the reset is over.
enum Chains { ORDERED, UNORDERED, STALLED };

std::string chains_are_told(uint64_t seed, Chains kind)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Random &random = machine.random;
    const bool stalls = kind == STALLED;
    unsigned whole = 0, cut[4] = {}, faulted = 0, unordered = 0, lost = 0;
    auto few = [&] {
        return whole < (stalls ? 20 : 50) || (kind == ORDERED ? faulted < 5 : unordered < 20) ||
               (stalls ? lost < 10 : cut[0] < 20 || cut[1] < 20 || cut[2] < 5 || cut[3] < 5);
    };
    const unsigned usual = stalls ? 60 : 600;
    for (unsigned round = 0; round < usual || (round < 10 * usual && few()); round++) {
        machine.timing = any_timing(random);
        machine.aborted.clear();
        const std::string where = "round " + std::to_string(round) + ", ";
        Reference reference(machine);
        std::vector<Job> chains[4];
        unsigned jobs = 1 + (unsigned)random.below(14);
        int bad_in[4] = {-1, -1, -1, -1};
        for (unsigned i = 0; i < jobs; i++) {
            unsigned slot = (unsigned)random.below(4);
            Job job = link_of_chain(random, slot, HOST_BASE + 65536 * slot);
            job.unordered = kind != ORDERED && job.op == FERRY_JOB_OP_COPY;
            for (const Job &earlier : chains[slot])
                job.unordered &= !reads_what(job, earlier) && !reads_what(earlier, job);
            unordered += job.unordered;
            job.packet_offset = (uint16_t)(8 * chains[slot].size() + 8);
            if (kind != ORDERED && random.chance(5) && bad_in[slot] < 0 && job.op != FERRY_JOB_OP_READ &&
                job.length > 0) {
                bad_in[slot] = (int)chains[slot].size();
                make_bad(random, job);
            }
            chains[slot].push_back(job);
            machine.submit(job);
        }
        if (kind == ORDERED) {
            const Job refused =
                chains[0].empty() ? chains[1].empty() ? small_urgent_job() : chains[1].back() : chains[0].back();
            if (random.chance(30) && refused.source_kind == FERRY_ADDRESS_KIND_LOCAL && refused.op == FERRY_JOB_OP_COPY)
                machine.local.read_error = (refused.source + refused.length / 2) & ~7ull;
        }
        uint64_t wait = random.below(random.chance(50) ? 100 : 1500);
        for (uint64_t i = 0; i < wait; i++)
            machine.step();
        if (stalls) {
            static const unsigned parts[] = {Memory::AR, Memory::R, Memory::AW, Memory::W, Memory::B};
            (random.chance(50) ? machine.host : machine.local).dead = parts[random.below(5)];
            for (uint64_t i = random.below(1000); i; i--)
                machine.step();
        }
        size_t offered[4];
        reset_amid(machine, chains, offered);
        lost += machine.top->stuck;
        machine.local.read_error = 0;
        machine.host.dead = machine.local.dead = 0;
        for (unsigned i = 0; i < 20000 && (machine.top->stuck || machine.top->busy); i++)
            machine.step();
        machine.drain();

        int first[4] = {-1, -1, -1, -1};
        for (auto [slot, packet] : machine.aborted) {
            int number = (int)packet / 8 - 1;
            if (number < 0 || number >= (int)offered[slot] || packet % 8 != 0)
                return where + "packet " + std::to_string(packet) + " told of slot " + std::to_string(slot);
            if (number < first[slot])
                return where + "told out of order";
            if (first[slot] < 0)
                first[slot] = number;
        }
        if (machine.top->fault_valid) {
            Fault fault = take_fault(machine);
            const int number = (int)fault.packet_offset / 8 - 1;
            // What was told of before counts; what memory that was given up on keeps from being done is told as aborted
            // too.
            if (first[fault.slot] >= 0 && (kind == ORDERED || first[fault.slot] < number))
                return where + "told twice: " + text(fault);
            first[fault.slot] = number;
            faulted++;
        }
        machine.clear_poison(15);
        for (unsigned slot = 0; slot < 4; slot++) {
            size_t done = first[slot] < 0 ? offered[slot] : (size_t)first[slot];
            if (bad_in[slot] >= 0 && done > (size_t)bad_in[slot])
                return where + "a job with a bad address counts as whole";
            for (size_t i = 0; i < done; i++)
                reference.apply(chains[slot][i]);
            // Behind a write without an answer unordered ones may have been carried out.
            for (size_t i = done; i < offered[slot] && (i == done || stalls) && (int)i != bad_in[slot]; i++)
                reference.take_over(machine, chains[slot][i]);
            whole += first[slot] < 0 && done > 0;
            cut[slot] += first[slot] > 0;
        }
        std::string wrong = reference.compare(machine);
        if (!wrong.empty())
            return where + "after the reset: " + wrong;
        // Run again from there, as a driver does.
        for (unsigned slot = 0; slot < 4; slot++) {
            for (size_t i = first[slot] < 0 ? offered[slot] : (size_t)first[slot];
                 i < chains[slot].size() && (int)i != bad_in[slot]; i++) {
                machine.submit(chains[slot][i]);
                reference.apply(chains[slot][i]);
            }
        }
        wrong = finish(machine, reference);
        if (!wrong.empty())
            return where + "run again: " + wrong;
    }
    if (few() || (!stalls && lost != 0))
        return "little happened: " + std::to_string(whole) + " chains whole, " + std::to_string(faulted) + " faults, " +
               std::to_string(lost) + " resets lost memory";
    return "";
}

std::string aborted_jobs_are_told(uint64_t seed)
{
    return chains_are_told(seed, ORDERED);
}

std::string unordered_jobs(uint64_t seed)
{
    return chains_are_told(seed, UNORDERED);
}

std::string stalled_channels(uint64_t seed)
{
    return chains_are_told(seed, STALLED);
}

// Memory dies in a table's line that no job waits for. A reset of the engine gives it up, with a timeout or without
// one, and at once if it was given up on before; it does not wait for what memory owes, and the engine is of use when
// that has come.
std::string reset_behind_a_line(uint64_t seed)
{
    for (unsigned round = 0; round < 3; round++) {
        Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        Spaces spaces(machine, reference, LOCAL_BYTES - 8192, LOCAL_BYTES);
        const std::string where = "round " + std::to_string(round) + ": ";
        spaces.set_root(2, 0);
        Job job;
        job.op = FERRY_JOB_OP_FILL;
        job.pattern_log2 = 3;
        job.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
        job.destination = 64 * 4096;
        job.length = 64;
        job.space = 2;
        spaces.map(2, job.destination, true, HOST_BASE + 40960);
        machine.top->timeout = round == 0 ? 0 : 500;
        machine.submit(job);
        reference.apply(job);
        while (machine.local.read_beats == 0)
            machine.step();
        machine.local.dead = Memory::ALL;
        while (!machine.idle())
            machine.step();
        if (machine.local.reads.empty() || machine.top->stuck || machine.top->fault_valid)
            return where + "no line is owed";
        for (unsigned i = 0; round == 2 && i < 2000; i++)
            machine.step();
        if (machine.top->stuck != (round == 2))
            return where + (round == 2 ? "not given up on" : "given up on before");
        machine.top->reset_request = 1;
        machine.step();
        machine.top->reset_request = 0;
        unsigned cycles = 0;
        for (machine.step(); machine.top->resetting && cycles < 100000; cycles++)
            machine.step();
        const unsigned most[] = {66000, 520, 20};
        if (cycles > most[round] || (round == 0 && cycles < 65000) || !machine.top->stuck)
            return where + std::to_string(cycles) + " cycles of a reset";
        machine.local.dead = 0;
        for (unsigned i = 0; i < 100; i++)
            machine.step();
        if (machine.top->stuck || machine.top->fault_valid)
            return where + "of no use when memory is back";
        job.source = 0x0123456789abcdef;
        machine.submit(job);
        reference.apply(job);
        const std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return where + wrong;
    }
    return "";
}

} // namespace

const std::vector<Test> RESET_TESTS = {
    {"reset_from_any_state", resets},
    {"aborted_jobs_are_told", aborted_jobs_are_told},
    {"aborted_jobs_with_unordered_ones", unordered_jobs},
    {"aborted_jobs_where_a_channel_stands_still", stalled_channels},
    {"reset_behind_a_line_of_a_table", reset_behind_a_line},
};
