// SPDX-License-Identifier: Apache-2.0
// How soon an urgent job runs: a running job makes way within what is in flight, and goes on where it was.
#include "suite.h"

namespace
{

// Host pages of the normal jobs' list and aperture range, scattered over the lower half of host memory.
std::vector<uint64_t> scattered_pages(unsigned count)
{
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < count; i++)
        pages.push_back(HOST_BASE + 4096ull * ((i * 37 + 11) % 128));
    return pages;
}

enum Way {
    ALIGNED,
    MISALIGNED,
    DOWN,
    UP,
    PAGE_IN,
    PAGE_OUT,
    LIST_IN,
    LIST_OUT,
    APERTURE_IN,
    APERTURE_OUT,
    FILL,
    READ,
    WAYS
};
const char *const WAY_NAMES[WAYS] = {"aligned", "misaligned", "descending",  "overlapping",  "page-in", "page-out",
                                     "list-in", "list-out",   "aperture-in", "aperture-out", "fill",    "read"};

// A long job of each kind, in the lower half of both memories.
Job long_job(Way way, Random &random)
{
    Job job;
    job.length = (uint32_t)(30000 + random.below(4000));
    job.source = 8 * random.below(64);
    job.destination = 100000 + (job.source & 7) + 8 * random.below(64);
    switch (way) {
    case ALIGNED: job.source = 0, job.destination = 131072; break;
    case MISALIGNED: job.destination += 1 + random.below(7); break;
    case DOWN: job.source = 100000 + random.below(600), job.destination = job.source + 1 + random.below(3000); break;
    case UP: job.destination = 100000 + random.below(600), job.source = job.destination + 1 + random.below(3000); break;
    case PAGE_IN: job.source_kind = FERRY_ADDRESS_KIND_SYSTEM, job.source += HOST_BASE + random.below(8); break;
    case PAGE_OUT:
        job.destination_kind = FERRY_ADDRESS_KIND_SYSTEM, job.destination += HOST_BASE + random.below(8);
        break;
    case LIST_IN:
        job.source_kind = FERRY_ADDRESS_KIND_SYSTEM, job.list = FERRY_LIST_SIDE_SOURCE;
        job.source = random.below(4096);
        break;
    case LIST_OUT:
        job.destination_kind = FERRY_ADDRESS_KIND_SYSTEM, job.list = FERRY_LIST_SIDE_DESTINATION;
        job.destination = random.below(4096);
        break;
    case APERTURE_IN: job.source_kind = FERRY_ADDRESS_KIND_APERTURE, job.source = random.below(8192); break;
    case APERTURE_OUT: job.destination_kind = FERRY_ADDRESS_KIND_APERTURE, job.destination = random.below(8192); break;
    case FILL: job.op = FERRY_JOB_OP_FILL, job.pattern_log2 = 2, job.source = random.next() & 0xffffffff; break;
    case READ: job.op = FERRY_JOB_OP_READ; break;
    default: break;
    }
    return job;
}

uint64_t blocks_beats(uint64_t address, uint32_t length)
{
    return length == 0 ? 0 : (address + length + 7) / 8 - address / 8;
}

uint64_t beats_written(const Machine &machine)
{
    return machine.local.write_beats + machine.host.write_beats;
}

// A long job runs; at some cycle of it an urgent one comes. Not more than what is in flight goes before it: the words
// of the data FIFO, host data asked for, and a few cycles until the job has stopped. The long job goes on where it was:
// not a beat is written twice, and at most two are read twice.
std::string phases(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    std::vector<uint64_t> pages = scattered_pages(16);
    machine.map_pages(0, pages, true);
    machine.put_list(0, pages);
    reference.lists[0] = pages;
    for (unsigned i = 0; i < 16; i++)
        reference.aperture[i] = pages[i];
    unsigned cuts = 0;
    const unsigned each = rounds(24, 60);
    for (unsigned round = 0; round < each * WAYS; round++) {
        Way way = (Way)(round % WAYS);
        bool stalls = random.chance(30);
        machine.timing.read_latency = (unsigned)(random.chance(50) ? 1 + random.below(4) : random.below(150));
        machine.timing.write_latency = (unsigned)(1 + random.below(20));
        machine.timing.stall_percent = stalls ? 10 + (unsigned)random.below(60) : 0;
        Job job = long_job(way, random);
        if (random.chance(20))
            job.may_protected = true;
        job.unordered = random.chance(50);
        Job urgent;
        urgent.urgent = true;
        urgent.slot = 1;
        urgent.op = random.chance(20) ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
        urgent.source = 600000 + random.below(4096);
        urgent.destination = 700000 + random.below(4096);
        urgent.length = (uint32_t)(random.chance(30) ? random.below(20) : random.below(2000));
        uint64_t read_before = machine.local.read_beats + machine.host.read_beats;
        uint64_t written_before = beats_written(machine);
        machine.local.most_waiting = 0;
        machine.submit(job);
        std::string where = "round " + std::to_string(round) + ", " + WAY_NAMES[way];
        uint64_t wait = random.below(way == READ ? 3000 : 4800);
        for (uint64_t i = 0; i < wait; i++)
            machine.step();
        bool running = machine.top->jobs_retired != (uint16_t)(machine.queued - machine.queued_urgent);
        uint64_t host_flight = 64;
        for (const Memory::Read &read : machine.host.reads)
            host_flight += read.beats;
        if (machine.host.reads.empty())
            host_flight = 0;
        machine.submit(urgent);
        uint32_t before = machine.top->jobs_retired_urgent;
        while (!machine.waiting_urgent.empty())
            machine.step();
        uint64_t taken = machine.cycle, written = beats_written(machine);
        machine.watch(urgent.destination & ~7ull, urgent.destination + urgent.length);
        while (machine.top->jobs_retired_urgent == before && machine.cycle - taken < 100000)
            machine.step();
        uint64_t own_beats = blocks_beats(urgent.destination, urgent.length);
        // Until its last beat: while its response is awaited the long job goes on.
        uint64_t between = machine.watched_beats - written;
        uint64_t latency = machine.timing.read_latency + machine.timing.write_latency;
        if (between > 512 + 20 + host_flight + own_beats)
            return where + ": " + std::to_string(between) + " beats were written before an urgent job of " +
                   std::to_string(own_beats);
        // In flight and 20 cycles, then the urgent job itself: latency of its data and of its response, five stages.
        uint64_t bound = machine.timing.read_latency + 512 + host_flight + 20 + latency + own_beats + 5;
        if (!stalls && machine.cycle - taken > bound)
            return where + ": " + std::to_string(machine.cycle - taken) + " cycles for an urgent job of " +
                   std::to_string(own_beats) + " beats, at most " + std::to_string(bound);
        bool cut = running && machine.top->jobs_retired != (uint16_t)(machine.queued - machine.queued_urgent);
        cuts += cut;
        reference.apply(job);
        reference.apply(urgent);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return where + ", after " + std::to_string(wait) + " cycles: " + wrong;
        uint64_t writes = way == READ ? 0 : blocks_beats(job.destination, job.length);
        if (beats_written(machine) - written_before != writes + own_beats)
            return where + ": " + std::to_string(beats_written(machine) - written_before) + " beats written, not " +
                   std::to_string(writes + own_beats);
        if (way != DOWN) {
            uint64_t reads = (way == FILL ? 0 : blocks_beats(job.source, job.length)) +
                             (urgent.op == FERRY_JOB_OP_FILL ? 0 : blocks_beats(urgent.source, urgent.length));
            uint64_t found = machine.local.read_beats + machine.host.read_beats - read_before;
            if (found > reads + 1)
                return where + ": " + std::to_string(found) + " beats read, not " + std::to_string(reads);
        }
        // Others share video memory's read channel: its data is taken as it comes. What goes in front of it without
        // data of its own takes a cycle each: the last word of the turn that was cut, that turn's end, and an urgent
        // job that reads nothing.
        unsigned in_front = 2 + (urgent.op == FERRY_JOB_OP_FILL || urgent.length == 0);
        if (machine.local.most_waiting > in_front)
            return where + ": local read data waited " + std::to_string(machine.local.most_waiting) +
                   " cycles, at most " + std::to_string(in_front);
    }
    if (cuts < each / 3 * WAYS)
        return "only " + std::to_string(cuts) + " jobs were cut";
    return "";
}

// A full queue of long jobs holds no urgent one up, and urgent jobs are in order among themselves.
std::string full_queue(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    for (unsigned i = 0; i < 40; i++) {
        Job job;
        job.op = i % 3 == 0 ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
        job.source = 1000 * i;
        job.destination = 100000 + 9000 * i;
        job.length = 8000;
        machine.submit(job);
        reference.apply(job);
    }
    for (unsigned i = 0; i < 1000; i++)
        machine.step();
    uint64_t begin = machine.cycle;
    for (unsigned i = 0; i < 30; i++) {
        Job job;
        job.urgent = true;
        job.slot = 3;
        job.source = i == 0 ? 600000 : 700000 + 64 * (i - 1);
        job.destination = 700000 + 64 * i;
        job.length = 64;
        machine.submit(job);
        reference.apply(job);
    }
    while (machine.top->jobs_retired_urgent != 30 && machine.cycle - begin < 20000)
        machine.step();
    // Each waits for the one before: its beats, both latencies, and what comes between.
    if (machine.cycle - begin > 532 + 30 * 20)
        return std::to_string(machine.cycle - begin) + " cycles";
    return finish(machine, reference);
}

// What is in flight and 20 cycles, then its own: three latencies of 20 cycles, its beats, five stages.
const uint64_t IN_FLIGHT_AND_ITS_OWN = 512 + 20 + 3 * 20 + 8 + 5;

// Cycles from the engine's taking a small urgent job to its retirement.
uint64_t small_urgent_job_takes(Machine &machine)
{
    machine.submit(small_urgent_job());
    while (!machine.waiting_urgent.empty())
        machine.step();
    uint64_t taken = machine.cycle;
    while (machine.top->jobs_retired_urgent == 0 && machine.cycle - taken < 100000)
        machine.step();
    return machine.cycle - taken;
}

// Fills wait for one another, and their data is made on the way out: a queue of them is not in flight.
std::string queue_of_fills(uint64_t seed)
{
    for (uint32_t length : {8u, 512u, 520u, 4096u, 4097u}) {
        Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        machine.timing.read_latency = machine.timing.write_latency = 20;
        for (unsigned i = 0; i < 100; i++) {
            Job job;
            job.op = FERRY_JOB_OP_FILL;
            job.destination = 5000 * i;
            job.length = length;
            job.pattern_log2 = 3;
            machine.submit(job);
        }
        for (unsigned i = 0; i < 500; i++)
            machine.step();
        uint64_t cycles = small_urgent_job_takes(machine);
        if (cycles > IN_FLIGHT_AND_ITS_OWN)
            return std::to_string(cycles) + " cycles behind fills of " + std::to_string(length);
    }
    return "";
}

// A long fill is left at once only if nothing that is not urgent stands behind it, whether it may run beside it or not.
std::string behind_a_long_fill(uint64_t seed)
{
    for (unsigned op : {FERRY_JOB_OP_COPY, FERRY_JOB_OP_READ, FERRY_JOB_OP_FILL}) {
        Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        machine.timing.read_latency = machine.timing.write_latency = 20;
        Job fill, behind;
        fill.op = FERRY_JOB_OP_FILL;
        fill.destination = 100003;
        fill.length = 100000;
        behind.op = op;
        behind.unordered = true;
        behind.source = 10;
        behind.destination = 300000;
        behind.length = 50000;
        for (const Job *each : {&fill, &behind}) {
            machine.submit(*each);
            reference.apply(*each);
        }
        for (unsigned i = 0; i < 500; i++)
            machine.step();
        reference.apply(small_urgent_job());
        uint64_t cycles = small_urgent_job_takes(machine);
        if (cycles > IN_FLIGHT_AND_ITS_OWN)
            return std::to_string(cycles) + " cycles, operation " + std::to_string(op) + " behind a fill";
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return wrong;
    }
    return "";
}

// An ordered fill, as of a fence, writes when all that went before it in its class is written, be it in the other
// memory.
std::string fill_behind_its_class(uint64_t seed)
{
    for (unsigned urgent = 0; urgent < 2; urgent++) {
        Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        Job job, fence;
        job.source = 4096;
        job.destination = 8192;
        job.length = 64;
        fence.op = FERRY_JOB_OP_FILL;
        fence.destination_kind = FERRY_ADDRESS_KIND_SYSTEM;
        fence.destination = HOST_BASE + 4096;
        fence.pattern_log2 = 3;
        fence.length = 8;
        job.urgent = fence.urgent = urgent;
        machine.local.dead = Memory::B;
        for (const Job &each : {job, fence}) {
            machine.submit(each);
            reference.apply(each);
        }
        for (unsigned cycle = 0; cycle < 500; cycle++)
            machine.step();
        if (machine.local.write_beats != 8 || machine.host.write_beats != 0)
            return "urgent " + std::to_string(urgent) + ": " + std::to_string(machine.local.write_beats) + " and " +
                   std::to_string(machine.host.write_beats) + " beats written, without an answer";
        machine.local.dead = 0;
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return wrong;
    }
    return "";
}

// A long fill makes way for an urgent job that is there, and for none that was, of which every place of the queue still
// tells.
std::string long_fill_behind_urgent_jobs(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    for (unsigned i = 0; i < 100; i++) {
        Job job = small_urgent_job();
        machine.submit(job);
        reference.apply(job);
    }
    std::string wrong = finish(machine, reference);
    if (!wrong.empty())
        return wrong;
    Job fill;
    fill.op = FERRY_JOB_OP_FILL;
    fill.pattern_log2 = 3;
    fill.source = machine.random.next();
    fill.destination = 8192;
    fill.length = 1024;
    machine.submit(fill);
    reference.apply(fill);
    wrong = finish(machine, reference);
    uint64_t cycles = machine.retired_at.back() - machine.taken_at.back();
    if (wrong.empty() && cycles > 128 + 50)
        return "128 beats took " + std::to_string(cycles) + " cycles";
    return wrong;
}

} // namespace

const std::vector<Test> PREEMPT_TESTS = {
    {"urgent_job_at_every_phase_of_a_long_one", phases},
    {"urgent_jobs_pass_a_full_queue", full_queue},
    {"a_queue_of_fills_in_front_of_an_urgent_job", queue_of_fills},
    {"an_urgent_job_behind_a_long_fill", behind_a_long_fill},
    {"a_fill_behind_its_class", fill_behind_its_class},
    {"a_long_fill_behind_urgent_jobs", long_fill_behind_urgent_jobs},
};
