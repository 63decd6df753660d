// SPDX-License-Identifier: Apache-2.0
// Where a job is cut for an urgent one: it goes on as if it had run at one go, faults are named as if it had, and
// neither class touches what is the other's.
#include "suite.h"

namespace
{

// Jobs of both classes, random everything, each class in memory of its own; one after the other within a class.
std::string mixes(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    std::vector<uint64_t> pages[2];
    for (unsigned urgent = 0; urgent < 2; urgent++) {
        for (unsigned i = 0; i < 16; i++)
            pages[urgent].push_back(HOST_BASE + 4096ull * (128 * urgent + 64 + (i * 13) % 64));
        machine.map_pages(16 * urgent, pages[urgent], urgent);
        machine.put_list((uint16_t)(256 * urgent), pages[urgent]);
        reference.lists[(uint16_t)(256 * urgent)] = pages[urgent];
        for (unsigned i = 0; i < 16; i++)
            reference.aperture[16 * urgent + i] = pages[urgent][i];
    }
    const uint64_t half = LOCAL_BYTES / 2;
    for (unsigned round = 0; round < rounds(50, 120); round++) {
        machine.timing = any_timing(random);
        if (round % 5 == 0)
            machine.timing.stall_percent = 70;
        machine.jobs_stall = random.chance(50);
        std::deque<Job> jobs[2];
        for (unsigned urgent = 0; urgent < 2; urgent++) {
            for (unsigned i = 0; i < (urgent ? 10 + random.below(20) : 4 + random.below(20)); i++) {
                Job job;
                job.urgent = urgent;
                job.slot = 2 * urgent + (unsigned)random.below(2);
                job.op = random.chance(20)  ? FERRY_JOB_OP_FILL
                         : random.chance(5) ? FERRY_JOB_OP_READ
                                            : FERRY_JOB_OP_COPY;
                job.length = (uint32_t)random.below(random.chance(60) ? 9000 : 40);
                job.pattern_log2 = (unsigned)random.below(4);
                // The first quarter of a half is read only: what reads from it alone need not wait.
                job.unordered = random.chance(60);
                uint64_t source = half * urgent + random.below(half / 4 - job.length);
                uint64_t rest = half / 4 + random.below(half / 4 - job.length);
                uint64_t destination = half * urgent + rest;
                if (!job.unordered && random.chance(70))
                    source = destination + random.below(400) - 200;
                job.source = source;
                job.destination = destination;
                unsigned way = (unsigned)random.below(6);
                if (job.op != FERRY_JOB_OP_COPY)
                    way = 0;
                if (way == 1)
                    job.source_kind = FERRY_ADDRESS_KIND_SYSTEM, job.source += HOST_BASE;
                if (way == 2)
                    job.destination_kind = FERRY_ADDRESS_KIND_SYSTEM, job.destination += HOST_BASE;
                // Pages of a list and of the aperture are the upper half of a class's host memory.
                if (way == 3 || way == 4) {
                    bool out = way == 4;
                    (out ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_SYSTEM;
                    job.list = out ? FERRY_LIST_SIDE_DESTINATION : FERRY_LIST_SIDE_SOURCE;
                    job.list_address = (uint16_t)(256 * urgent);
                    (out ? job.destination : job.source) = random.below(30000);
                    job.unordered = false;
                }
                if (way == 5) {
                    job.source_kind = FERRY_ADDRESS_KIND_APERTURE;
                    job.source = 65536 * urgent + random.below(30000);
                    job.unordered = false;
                }
                if (job.op == FERRY_JOB_OP_FILL)
                    job.source = random.next();
                jobs[urgent].push_back(job);
                reference.apply(job);
            }
        }
        // Urgent ones come in groups while the others run.
        for (const Job &job : jobs[0])
            machine.submit(job);
        while (!jobs[1].empty()) {
            for (uint64_t i = random.below(1500); i; i--)
                machine.step();
            for (uint64_t i = 1 + random.below(6); i && !jobs[1].empty(); i--) {
                machine.submit(jobs[1].front());
                jobs[1].pop_front();
            }
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

// Faults of one class while the other runs: named as if the job had run at one go, the other class is right.
std::string faults_beside(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < rounds(150, 400); round++) {
        machine.timing = any_timing(random);
        bool in_urgent = random.chance(30);
        bool write = random.chance(40);
        bool address = random.chance(30);
        Job bad, good, dropped;
        bad.urgent = in_urgent;
        bad.slot = in_urgent ? 2 : 1;
        bad.packet_offset = (uint16_t)(random.next() & ~7ull);
        bad.source = 10000 + random.below(100);
        bad.destination = 300000 + random.below(100);
        bad.source_kind = !write && !address && random.chance(40);
        bad.destination_kind = bad.source_kind == 0 && !address && random.chance(40);
        bad.source += bad.source_kind ? HOST_BASE : 0;
        bad.destination += bad.destination_kind ? HOST_BASE : 0;
        if (write && random.chance(30))
            bad.op = FERRY_JOB_OP_FILL;
        bad.length = (uint32_t)(20 + random.below(12000));
        uint32_t at = (uint32_t)random.below(bad.length);
        Fault wanted = {0, bad.slot, write, bad.packet_offset, 0, 0, false};
        uint64_t side = write ? bad.destination : bad.source;
        unsigned kind = write ? bad.destination_kind : bad.source_kind;
        Memory &memory = kind ? machine.host : machine.local;
        // What may be named: the beat of a read, the burst of a write or of an address; a burst begins with its block
        // or where the job was left, at a block of the other side.
        uint32_t first = 0, latest = at;
        if (address) {
            machine.top->protect_base = side + at;
            machine.top->protect_limit = side + at + 5000;
            wanted.kind = FERRY_FAULT_KIND_PROTECTED;
        } else if (write) {
            memory.write_error = (side + at) & ~7ull;
            wanted.kind = kind ? FERRY_FAULT_KIND_HOST_ABORT : FERRY_FAULT_KIND_LOCAL_ERROR;
        } else {
            memory.read_error = (side + at) & ~7ull;
            memory.error_fault = FERRY_FAULT_KIND_HOST_UNSUPPORTED;
            wanted.kind = kind ? FERRY_FAULT_KIND_HOST_UNSUPPORTED : FERRY_FAULT_KIND_LOCAL_ERROR;
        }
        uint64_t unit = write || address ? 511 : 7;
        first = ((side + at) & ~unit) < side ? 0 : (uint32_t)(((side + at) & ~unit) - side);
        dropped.urgent = in_urgent;
        dropped.slot = bad.slot;
        dropped.source = 450000;
        dropped.destination = 460000;
        dropped.length = 100;
        std::vector<Job> others;
        for (unsigned i = 0; i < (in_urgent ? 2u : 6u); i++) {
            good = Job();
            good.urgent = !in_urgent;
            good.slot = in_urgent ? 1 : 2;
            good.unordered = random.chance(50);
            good.source = 600000 + random.below(1000);
            good.destination = 700000 + 20000 * i + random.below(1000);
            good.length = (uint32_t)random.below(in_urgent ? 16000 : 1000);
            good.op = random.chance(20) ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
            others.push_back(good);
        }
        std::string where = "round " + std::to_string(round) + (in_urgent ? " urgent" : " normal") +
                            (address ? " address" : "") + (write ? " write" : " read") + " byte " + std::to_string(at) +
                            " of " + std::to_string(bad.length) + ": ";
        if (in_urgent) {
            for (const Job &job : others)
                machine.submit(job);
            for (uint64_t i = random.below(2500); i; i--)
                machine.step();
        }
        machine.submit(bad);
        machine.submit(dropped);
        if (!in_urgent) {
            for (const Job &job : others) {
                for (uint64_t i = random.below(1 + bad.length / 8); i; i--)
                    machine.step();
                machine.submit(job);
            }
        }
        if (!machine.drain() || !machine.errors.empty())
            return where + machine.errors.front();
        if (!machine.top->fault_valid)
            return where + "no fault";
        if (machine.top->poison != 1u << bad.slot)
            return where + "poisoned: " + std::to_string(machine.top->poison) + ", " + text(take_fault(machine));
        Fault found = take_fault(machine);
        machine.clear_poison(15);
        memory.read_error = memory.write_error = 0;
        machine.top->protect_base = machine.top->protect_limit = 0;
        uint64_t named = found.position - (uint32_t)side;
        uint32_t written = found.bytes_written(bad.destination);
        if (found.kind != wanted.kind || found.slot != bad.slot || found.write != wanted.write ||
            found.packet_offset != bad.packet_offset || found.position < (uint32_t)side || named < first ||
            named > latest || (unit == 7 && named != first))
            return where + text(found);
        uint32_t slack = bad.source_kind == 0 && bad.destination_kind == 0 ? 16 : 520;
        uint32_t least = write && !address                       ? first
                         : first > slack + (address ? 512u : 0u) ? first - slack - (address ? 512u : 0u)
                                                                 : 0;
        if (written < least || written > named)
            return where + "written " + std::to_string(written) + ", fault at " + std::to_string(named);
        Reference done = reference;
        done.apply(bad);
        for (uint32_t i = 0; i < bad.length; i++) {
            uint8_t *place = reference.destination(bad, i);
            uint8_t now = bad.destination_kind == 0 ? machine.local.bytes[place - reference.local.data()]
                                                    : machine.host.bytes[place - reference.host.data()];
            bool behind = write && !address;
            if (i < written || ((i < named || behind) && now != *place))
                *place = *done.destination(bad, i);
        }
        for (const Job &job : others)
            reference.apply(job);
        std::string wrong = reference.compare(machine);
        if (!wrong.empty())
            return where + wrong;
    }
    return "";
}

// Urgent jobs that come before a descending one has asked for anything: its chunks must be blocks of the destination
// after it goes on, too. A wrong chunk shows when the distance is just below a block and data is late.
std::string first_chunks(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 300; round++) {
        machine.timing.read_latency = (unsigned)(random.chance(50) ? 1 + random.below(4) : random.below(150));
        machine.timing.write_latency = (unsigned)(1 + random.below(20));
        machine.timing.stall_percent = (unsigned)(50 + random.below(40));
        // Video memory is not read while host data is awaited.
        Job before, job, urgent = small_urgent_job();
        before.source_kind = FERRY_ADDRESS_KIND_SYSTEM;
        before.source = HOST_BASE + random.below(4096);
        before.destination = 300000;
        before.length = (uint32_t)(1 + random.below(2000));
        job.unordered = true;
        job.length = (uint32_t)(600 + random.below(2000));
        job.source = 100000 + random.below(600);
        job.destination = job.source + 500 + random.below(12);
        machine.submit(before);
        machine.submit(job);
        for (uint64_t i = random.below(200); i; i--)
            machine.step();
        machine.submit(urgent);
        for (const Job *each : {&before, &job, &urgent})
            reference.apply(*each);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ", distance " + std::to_string(job.destination - job.source) +
                   ": " + wrong;
    }
    return "";
}

// A job to the host begins in the middle of a block of its destination and is cut there: less than a block of words is
// all there is before the cut. Memory that hardly takes a request leaves the time for an urgent job to come between two
// bursts.
std::string first_part_of_a_block(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < rounds(150, 400); round++) {
        machine.timing.read_latency = (unsigned)(1 + random.below(10));
        machine.timing.write_latency = (unsigned)(1 + random.below(10));
        machine.timing.stall_percent = (unsigned)(80 + random.below(15));
        Job job, urgent = small_urgent_job();
        job.unordered = true;
        job.destination_kind = FERRY_ADDRESS_KIND_SYSTEM;
        // The source's block ends some words after its beginning, the destination's more words after that.
        uint64_t words = 1 + random.below(20);
        job.source = 100000 / 512 * 512 - 8 * words + random.below(8);
        job.destination = HOST_BASE + 8192 - 8 * (words + 2 + random.below(30)) + random.below(8);
        job.length = (uint32_t)(700 + random.below(1000));
        machine.submit(job);
        for (uint64_t i = random.below(60); i; i--)
            machine.step();
        machine.submit(urgent);
        for (const Job *each : {&job, &urgent})
            reference.apply(*each);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

// A fill that waits for the job before it, with an urgent job behind it and another one, which need not wait, behind
// that: whichever is put back for the urgent one, each is done once.
std::string fill_in_the_middle(uint64_t seed)
{
    Random random(seed);
    for (uint32_t length : {1u, 100u, 257u, 300u, 511u, 512u, 513u, 600u, 1023u, 1024u, 1025u, 2000u}) {
        for (unsigned round = 0; round < 6; round++) {
            Machine machine(random.next(), LOCAL_BYTES, HOST_BASE, HOST_BYTES);
            Reference reference(machine);
            machine.timing.read_latency = (unsigned)(20 + random.below(100));
            machine.timing.write_latency = (unsigned)(20 + random.below(100));
            Job before, fill, behind, urgent = small_urgent_job();
            before.source = 1000;
            before.destination = 50000;
            before.length = 700;
            fill.op = FERRY_JOB_OP_FILL;
            fill.pattern_log2 = 3;
            fill.source = random.next();
            fill.destination = 100000 + random.below(512);
            fill.length = length;
            behind.unordered = true;
            behind.source = 300000;
            behind.destination = 400000;
            behind.length = (uint32_t)(64 + random.below(2000));
            for (const Job &job : {before, fill})
                machine.submit(job);
            for (uint64_t i = 10 + random.below(20); i; i--)
                machine.step();
            machine.submit(urgent);
            for (uint64_t i = 5 + random.below(10); i; i--)
                machine.step();
            machine.submit(behind);
            for (const Job *each : {&before, &fill, &urgent, &behind})
                reference.apply(*each);
            std::string wrong = finish(machine, reference);
            if (!wrong.empty())
                return std::to_string(length) + " bytes: " + wrong;
        }
    }
    return "";
}

// A job is left for urgent ones again and again, also before anything more of it was written; then it fails. What was
// written of it counts from all of its turns.
std::string cut_again(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 60; round++) {
        machine.timing.read_latency = (unsigned)(1 + random.below(100));
        machine.timing.write_latency = (unsigned)(1 + random.below(30));
        Job job, urgent = small_urgent_job();
        job.slot = 3;
        job.source = 10000 + random.below(512);
        job.destination = 300000 + random.below(512);
        job.length = 20000;
        const uint32_t at = (uint32_t)(6000 + random.below(12000));
        machine.local.read_error = (job.source + at) & ~7ull;
        const uint32_t first = (uint32_t)(machine.local.read_error - job.source);
        machine.submit(job);
        for (unsigned i = 0; i < 12; i++) {
            for (uint64_t k = random.below(random.chance(50) ? 40 : 300); k; k--)
                machine.step();
            // Video memory is not read while host data is awaited: the job stands at its first read then.
            urgent.source_kind = (unsigned)random.below(2);
            urgent.source = urgent.source_kind ? HOST_BASE + 4096 : 600000;
            urgent.length = (uint32_t)(1 + random.below(2000));
            machine.submit(urgent);
            reference.apply(urgent);
        }
        if (!machine.drain())
            return machine.errors.front();
        if (!machine.top->fault_valid)
            return "no fault";
        Fault found = take_fault(machine);
        machine.clear_poison(15);
        std::string where = "round " + std::to_string(round) + ", bad from " + std::to_string(first) + " on: ";
        if (found.slot != 3 || found.position != (uint32_t)machine.local.read_error || found.written > first ||
            found.written + 16 < first)
            return where + text(found);
        for (uint32_t i = 0; i < first; i++)
            if (i < found.written || machine.local.bytes[job.destination + i] == reference.local[job.source + i])
                reference.local[job.destination + i] = reference.local[job.source + i];
        std::string wrong = reference.compare(machine);
        if (!wrong.empty())
            return where + wrong;
    }
    return "";
}

// A job whose slot goes bad while it waits behind data that the host does not take, and behind it one of another slot
// that is cut for an urgent one: the first is dropped and over, the second goes on where it was.
std::string cut_behind_a_dropped_job(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    unsigned cuts = 0;
    for (unsigned round = 0; round < 100; round++) {
        machine.timing.read_latency = (unsigned)(1 + random.below(30));
        machine.timing.write_latency = (unsigned)(1 + random.below(30));
        Job bad, held, dropped, cut, urgent = small_urgent_job();
        held.unordered = dropped.unordered = cut.unordered = true;
        bad.slot = dropped.slot = 0;
        bad.source = 1000;
        bad.destination = 200000;
        bad.length = 64;
        held.slot = 2;
        held.source = 2000 + random.below(600);
        held.destination_kind = FERRY_ADDRESS_KIND_SYSTEM;
        held.destination = HOST_BASE + 4096;
        held.length = (uint32_t)(1 + random.below(200));
        dropped.source = 3000 + random.below(600);
        dropped.destination = 210000 + random.below(600);
        dropped.length = (uint32_t)(1 + random.below(600));
        cut.slot = 3;
        cut.source = 10000 + random.below(600);
        cut.destination = 300000 + random.below(600);
        cut.length = (uint32_t)(2000 + random.below(6000));
        machine.local.write_error = bad.destination + 8;
        machine.host.dead = Memory::AW | Memory::W;
        for (const Job *job : {&bad, &held, &dropped, &cut})
            machine.submit(*job);
        for (uint64_t i = 150 + random.below(300); i; i--)
            machine.step();
        machine.submit(urgent);
        for (unsigned i = 0; i < 200; i++)
            machine.step();
        std::string where = "round " + std::to_string(round) + ": ";
        if (machine.top->poison != 1)
            return where + "poison " + std::to_string(machine.top->poison);
        bool waits = machine.top->jobs_retired_urgent != (uint16_t)machine.queued_urgent;
        cuts += waits;
        machine.host.dead = 0;
        reference.apply(held);
        reference.apply(cut);
        reference.apply(urgent);
        while (!machine.top->fault_valid && machine.errors.empty() && machine.cycle - machine.progress_at < 20000)
            machine.step();
        if (!machine.top->fault_valid)
            return where + "no fault";
        Fault found = take_fault(machine);
        if (found.kind != FERRY_FAULT_KIND_LOCAL_ERROR || found.slot != 0 || !found.write)
            return where + text(found);
        reference.take_over(machine, bad);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return where + wrong;
        if (machine.top->fault_valid || machine.top->poison != 1)
            return where + "another fault";
        machine.clear_poison(15);
        machine.local.write_error = 0;
    }
    return cuts < 50 ? "only " + std::to_string(cuts) + " urgent jobs waited" : "";
}

} // namespace

const std::vector<Test> CUT_TESTS = {
    {"mixes_of_urgent_and_other_jobs", mixes},
    {"faults_of_one_class_leave_the_other_alone", faults_beside},
    {"descending_jobs_cut_before_their_first_chunk", first_chunks},
    {"cut_in_the_first_part_of_a_block", first_part_of_a_block},
    {"a_fill_between_others_and_an_urgent_job", fill_in_the_middle},
    {"cut_again_and_again_before_it_fails", cut_again},
    {"cut_behind_a_dropped_job", cut_behind_a_dropped_job},
};
