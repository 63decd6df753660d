// SPDX-License-Identifier: Apache-2.0
// Jobs that go wrong: the fault named exactly, nothing written past it, the slot's later jobs dropped, the others run.
#include "suite.h"

Fault take_fault(Machine &machine)
{
    Vengine_under_test &top = *machine.top;
    Fault fault = {top.fault_kind,
                   top.fault_slot,
                   top.fault_write,
                   top.fault_packet_offset,
                   top.fault_position,
                   top.fault_written,
                   (bool)top.fault_up_to_position};
    machine.clear_fault();
    return fault;
}

std::string text(const Fault &fault)
{
    char buffer[160];
    snprintf(buffer, sizeof(buffer), "kind %u slot %u write %u offset %u position %llx written %u%s", fault.kind,
             fault.slot, fault.write, fault.packet_offset, (unsigned long long)fault.position, fault.written,
             fault.up_to_position ? " up to it" : "");
    return buffer;
}

Timing any_timing(Random &random)
{
    Timing timing;
    timing.read_latency = (unsigned)(1 + random.below(30));
    timing.write_latency = (unsigned)(1 + random.below(30));
    timing.stall_percent = random.chance(50) ? 25 : 0;
    return timing;
}

std::string check_job(Machine &machine, Reference &reference, const Job &bad, const Fault &wanted, uint32_t reach,
                      uint32_t least_written)
{
    Random &random = machine.random;
    Job dropped, good;
    dropped.slot = bad.slot;
    dropped.source = 600000;
    dropped.destination = 700000;
    dropped.length = 300;
    dropped.unordered = random.chance(50);
    good = dropped;
    good.slot = (bad.slot + 1) & 3;
    good.destination = 800000 + random.below(8);
    machine.submit(bad);
    machine.submit(dropped);
    machine.submit(good);
    uint64_t before = machine.queued;
    if (!machine.drain())
        return machine.errors.front();
    if (!machine.errors.empty())
        return machine.errors.front();
    if (machine.queued != before + 3 || machine.top->jobs_retired != (uint16_t)machine.queued)
        return "not every job retired";
    if (!machine.top->fault_valid)
        return "no fault reported";
    if (machine.top->poison != 1u << bad.slot)
        return "the wrong slots are poisoned";
    Fault found = take_fault(machine);
    machine.clear_poison(1u << bad.slot);
    if (found.kind != wanted.kind || found.slot != bad.slot || found.write != wanted.write ||
        found.packet_offset != bad.packet_offset || found.position != (uint32_t)wanted.position)
        return "expected " + text(wanted) + ", found " + text(found);
    uint32_t written = found.bytes_written(bad.destination);
    if (found.up_to_position != wanted.up_to_position || written > reach || written < least_written)
        return "written is " + std::to_string(written) + ", fault at " + std::to_string(reach);
    // Take over what may be either way, then compare everything.
    Reference done = reference;
    done.apply(bad);
    for (uint32_t i = 0; i < bad.length; i++) {
        uint8_t *place = reference.destination(bad, i);
        uint8_t now = bad.destination_kind == FERRY_ADDRESS_KIND_LOCAL
                          ? machine.local.bytes[place - reference.local.data()]
                          : machine.host.bytes[place - reference.host.data()];
        if (i < written || (i < reach && now != *place))
            *place = *done.destination(bad, i);
    }
    reference.apply(good);
    return reference.compare(machine);
}

namespace
{

// An error on some beat of the read, in video memory or in host memory, through every kind of address.
std::string read_errors(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < 256; i++)
        pages.push_back(HOST_BASE + 4096ull * ((i * 37) % 256));
    machine.map_pages(0, pages, true);
    for (unsigned i = 0; i < 256; i++)
        reference.aperture[i] = pages[i];
    for (unsigned round = 0; round < 600; round++) {
        machine.timing = any_timing(random);
        Job job;
        bool list = random.chance(25);
        job.source_kind = list ? 1 : (unsigned)random.below(3);
        job.destination_kind = (unsigned)random.below(2);
        if (list)
            job.destination_kind = 0;
        job.list = list ? FERRY_LIST_SIDE_SOURCE : FERRY_LIST_SIDE_NONE;
        job.length = (uint32_t)(1 + random.below(round % 3 ? 200 : 9000));
        job.slot = (unsigned)random.below(4);
        job.packet_offset = (uint16_t)(random.next() & ~7ull);
        job.list_address = 0x1000;
        uint64_t source = list ? random.below(4096) : 65536 + random.below(4096);
        job.source = source + (job.source_kind == 1 && !list ? HOST_BASE : 0);
        job.destination = 200000 + random.below(64) + (job.destination_kind == 1 ? HOST_BASE : 0);
        // Keep an aperture's or a list's host pages apart from the destination: those below page 32.
        if (job.source_kind == 2 || list)
            job.destination_kind = 0, job.destination = 200000 + random.below(64);
        if (list) {
            std::vector<uint64_t> some;
            for (unsigned i = 0; i < 5; i++)
                some.push_back(HOST_BASE + 4096ull * ((round + 7 * i) % 256));
            machine.put_list(0x1000, some);
            reference.lists[0x1000] = some;
        }
        // Which byte's beat fails.
        uint32_t at = (uint32_t)random.below(job.length);
        uint8_t *place = reference.place(job.source_kind, list, 0x1000, job.source + at);
        bool in_local = job.source_kind == 0;
        uint64_t beat = in_local ? (uint64_t)(place - reference.local.data()) & ~7ull
                                 : (HOST_BASE + (uint64_t)(place - reference.host.data())) & ~7ull;
        Memory &memory = in_local ? machine.local : machine.host;
        memory.read_error = beat;
        unsigned kind = in_local ? (unsigned)FERRY_FAULT_KIND_LOCAL_ERROR
                                 : (unsigned)(FERRY_FAULT_KIND_HOST_UNSUPPORTED + random.below(3));
        memory.error_fault = in_local ? 0 : (uint8_t)kind;
        // First byte of the job in that beat, and its address as the job names it.
        uint64_t lane = (job.source + at) & 7;
        uint32_t first = at < lane ? 0 : at - (uint32_t)lane;
        Fault wanted = {kind, job.slot, 0, job.packet_offset, job.source + first, 0, false};
        uint32_t slack = in_local && job.destination_kind == 0 ? 16 : 520;
        std::string wrong = check_job(machine, reference, job, wanted, first, first > slack ? first - slack : 0);
        memory.read_error = 0;
        if (!wrong.empty())
            return "round " + std::to_string(round) + ", byte " + std::to_string(at) + " of " +
                   std::to_string(job.length) + ": " + wrong;
    }
    return "";
}

// An error response to some write burst.
std::string write_errors(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 400; round++) {
        machine.timing = any_timing(random);
        Job job;
        job.op = random.chance(40) ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
        job.pattern_log2 = 3;
        job.destination_kind = (unsigned)random.below(2);
        job.length = (uint32_t)(1 + random.below(round % 3 ? 1500 : 9000));
        job.slot = (unsigned)random.below(4);
        job.packet_offset = (uint16_t)(random.next() & ~7ull);
        job.source = job.op == FERRY_JOB_OP_FILL ? random.next() : 65536 + random.below(4096);
        job.destination = 200000 + random.below(4096) + (job.destination_kind == 1 ? HOST_BASE : 0);
        uint32_t at = (uint32_t)random.below(job.length);
        Memory &memory = job.destination_kind == 0 ? machine.local : machine.host;
        memory.write_error = (job.destination + at) & ~7ull;
        // The burst that holds this byte begins at its 512-byte block or with the job.
        uint64_t block = (job.destination + at) & ~511ull;
        uint32_t first = block < job.destination ? 0 : (uint32_t)(block - job.destination);
        unsigned kind = job.destination_kind == 0 ? FERRY_FAULT_KIND_LOCAL_ERROR : FERRY_FAULT_KIND_HOST_ABORT;
        Fault wanted = {kind, job.slot, 1, job.packet_offset, job.destination + first, 0, true};
        // Bursts behind the failing one may have been under way: all of the job may be written but the failing beat.
        Reference before = reference;
        std::string wrong;
        {
            Job dropped;
            dropped.slot = job.slot;
            dropped.length = 100;
            dropped.destination = 900000;
            machine.submit(job);
            machine.submit(dropped);
            machine.drain();
            if (!machine.errors.empty())
                return machine.errors.front();
            Fault found = take_fault(machine);
            machine.clear_poison(15);
            if (found.kind != wanted.kind || found.slot != job.slot || found.write != 1 ||
                found.packet_offset != job.packet_offset || found.position != (uint32_t)wanted.position ||
                !found.up_to_position || found.bytes_written(job.destination) != first)
                wrong = "expected " + text(wanted) + ", found " + text(found);
            Reference done = reference;
            done.apply(job);
            for (uint32_t i = 0; i < job.length; i++) {
                uint8_t *place = reference.destination(job, i);
                uint8_t now = job.destination_kind == 0 ? machine.local.bytes[place - reference.local.data()]
                                                        : machine.host.bytes[place - reference.host.data()];
                if (i < first || now != *place)
                    *place = *done.destination(job, i);
            }
            if (wrong.empty())
                wrong = reference.compare(machine);
        }
        memory.write_error = 0;
        if (!wrong.empty())
            return "round " + std::to_string(round) + ", byte " + std::to_string(at) + ": " + wrong;
    }
    return "";
}

// Addresses that the engine itself must refuse, on either side, at any depth of a job.
std::string refused_addresses(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    // Aperture pages 0..39 but for page 20; 250..255.
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < 40; i++)
        pages.push_back(HOST_BASE + 4096ull * ((i * 7) % 40));
    machine.map_pages(0, {pages.begin(), pages.begin() + 20}, true);
    machine.map_pages(21, {pages.begin() + 21, pages.end()}, true);
    machine.map_pages(250, {pages.begin(), pages.begin() + 6}, true);
    for (unsigned i = 0; i < 40; i++)
        reference.aperture[i] = pages[i];
    for (unsigned i = 0; i < 6; i++)
        reference.aperture[250 + i] = pages[i];
    // So that the reference can be asked about bytes that must not be reached.
    reference.aperture[20] = pages[20];
    for (unsigned i = 256; i < 260; i++)
        reference.aperture[i] = pages[20];
    const uint64_t protect = 400000 + random.below(512);
    machine.top->protect_base = protect;
    machine.top->protect_limit = protect + 1000;
    machine.top->local_limit = 950001;
    for (unsigned round = 0; round < 400; round++) {
        machine.timing = any_timing(random);
        Job job;
        job.slot = (unsigned)random.below(4);
        job.packet_offset = (uint16_t)(random.next() & ~7ull);
        bool write = random.chance(50);
        unsigned what = (unsigned)random.below(4);
        uint64_t place;
        uint64_t hole;
        Fault wanted = {0, job.slot, write, job.packet_offset, 0, 0, false};
        unsigned kind = FERRY_ADDRESS_KIND_APERTURE;
        if (what == 0) {
            wanted.kind = FERRY_FAULT_KIND_APERTURE_INVALID;
            hole = 20 * 4096;
        } else if (what == 1) {
            wanted.kind = FERRY_FAULT_KIND_RANGE;
            hole = 256 * 4096;
        } else if (what == 2) {
            wanted.kind = FERRY_FAULT_KIND_RANGE;
            hole = 950001;
            kind = FERRY_ADDRESS_KIND_LOCAL;
        } else {
            wanted.kind = FERRY_FAULT_KIND_PROTECTED;
            hole = protect;
            kind = FERRY_ADDRESS_KIND_LOCAL;
        }
        uint64_t lead = random.below(6000);
        place = hole - lead;
        job.length = (uint32_t)(lead + 1 + random.below(500));
        (write ? job.destination_kind : job.source_kind) = kind;
        (write ? job.destination : job.source) = place;
        (write ? job.source : job.destination) = 100000 + random.below(1000);
        // The burst with the first forbidden byte is the one that is refused.
        uint64_t block = hole & ~511ull;
        uint64_t from = block < place ? place : block;
        wanted.position = from;
        uint32_t reach = (uint32_t)(from - place);
        std::string wrong = check_job(machine, reference, job, wanted, reach, reach > 520 ? reach - 520 : 0);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ", case " + std::to_string(what) + (write ? " write" : " read") +
                   ": " + wrong;
    }
    // With the right, the protected range is open.
    Job job;
    job.may_protected = true;
    job.source = protect - 5;
    job.destination = 100000;
    job.length = 900;
    machine.submit(job);
    reference.apply(job);
    return finish(machine, reference);
}

// Faults of several slots while the first is still unread: each is reported once, in order.
std::string faults_queue_up(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Random &random = machine.random;
    for (unsigned round = 0; round < 100; round++) {
        machine.timing = any_timing(random);
        machine.local.read_error = 65536;
        std::vector<unsigned> order;
        bool gone[4] = {};
        for (unsigned i = 0; i < 12; i++) {
            Job job;
            job.slot = (unsigned)random.below(4);
            job.unordered = random.chance(80);
            job.packet_offset = (uint16_t)(8 * i);
            bool bad = random.chance(40);
            job.source = bad ? 65536 - random.below(300) : 20000;
            job.length = 400;
            job.destination = 300000 + 1024 * i;
            machine.submit(job);
            if (bad && !gone[job.slot])
                order.push_back(i);
            gone[job.slot] = gone[job.slot] || bad;
        }
        std::vector<unsigned> found;
        uint64_t begin = machine.cycle;
        while (!machine.idle() || machine.top->fault_valid) {
            machine.step();
            if (machine.top->fault_valid && random.chance(3))
                found.push_back(take_fault(machine).packet_offset / 8);
            if (machine.cycle - begin > 50000)
                return "stuck";
        }
        machine.clear_poison(15);
        if (!machine.errors.empty())
            return machine.errors.front();
        if (found != order)
            return "round " + std::to_string(round) + ": " + std::to_string(found.size()) + " faults, expected " +
                   std::to_string(order.size());
    }
    return "";
}

// A job that is dropped because of its slot, still behind a long one's data while a job of another slot meets a refused
// address: the fault is the other's.
std::string dropped_beside_refused(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    machine.timing.read_latency = 200;
    Job refused, dropped, running;
    refused.source = 5 * LOCAL_BYTES;
    refused.length = dropped.length = 64;
    refused.unordered = running.unordered = true;
    refused.slot = 1;
    dropped.slot = 2;
    running.length = 1000;
    Job first = refused;
    first.slot = 2;
    machine.submit(first);
    machine.drain();
    Fault found = take_fault(machine);
    for (const Job &job : {running, dropped, refused})
        machine.submit(job);
    machine.drain();
    if (!machine.top->fault_valid)
        return "no fault";
    found = take_fault(machine);
    if (found.slot != 1 || found.position != (uint32_t)refused.source || machine.top->poison != 6)
        return text(found);
    return machine.errors.empty() ? "" : machine.errors.front();
}

// What memory looks like to whoever waits for it.
std::string bus_state(const Machine &machine)
{
    return "stuck " + std::to_string(machine.top->stuck) + ", retired " + std::to_string(machine.top->jobs_retired) +
           " of " + std::to_string(machine.queued);
}

// A channel of one memory stops. Not before `timeout` cycles, and at once then, every job is over, with one WATCHDOG
// fault a slot; jobs that come meanwhile are too; an engine reset ends. From then on no byte changes but those of a
// beat that was offered already. When memory goes on, after a long time, the engine does too.
std::string watchdog(uint64_t seed)
{
    Random random(seed);
    for (unsigned round = 0; round < 150; round++) {
        Machine machine(random.next(), LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        unsigned timeout = (unsigned)(300 + random.below(300));
        bool host = random.chance(40);
        machine.top->timeout = timeout;
        machine.timing = any_timing(random);
        Memory &memory = host ? machine.host : machine.local;
        std::vector<Job> jobs;
        // Slots 2 and 3 of urgent jobs.
        bool both = random.chance(60);
        std::vector<uint64_t> pages = {HOST_BASE, HOST_BASE + 8192, HOST_BASE + 4096};
        machine.put_list(0, pages);
        for (unsigned i = 0; i < 2 + random.below(4); i++) {
            Job job;
            job.op = random.chance(30) ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
            job.pattern_log2 = 3;
            bool to_host = host && random.chance(50), list = host && job.op == FERRY_JOB_OP_COPY && random.chance(30);
            job.source_kind = host && !to_host && job.op == FERRY_JOB_OP_COPY;
            job.destination_kind = host && (to_host || job.op == FERRY_JOB_OP_FILL);
            job.source = 1000 + (job.source_kind ? HOST_BASE : 0);
            job.destination = 500000 + 8192 * i + (job.destination_kind ? HOST_BASE : 0);
            if (list) {
                job.list = job.source_kind ? FERRY_LIST_SIDE_SOURCE : FERRY_LIST_SIDE_DESTINATION;
                (job.source_kind ? job.source : job.destination) = 100 + i;
            }
            job.length = (uint32_t)(2000 + random.below(2000));
            job.slot = (unsigned)random.below(4);
            job.urgent = both && job.slot >= 2;
            job.unordered = random.chance(50);
            job.packet_offset = (uint16_t)(8 * i);
            jobs.push_back(job);
            machine.submit(job);
        }
        Reference reference(machine);
        reference.lists[0] = pages;
        for (uint64_t i = 20 + random.below(600); i; i--)
            machine.step();
        static const unsigned parts[] = {Memory::ALL, Memory::AR, Memory::R, Memory::AW, Memory::W, Memory::B};
        memory.dead = parts[random.below(6)];
        std::string where = "round " + std::to_string(round) + (host ? " host" : " local") + " channels " +
                            std::to_string(memory.dead) + ": ";
        // Reset it now, later, or never; a reset without a timeout set has one of its own.
        unsigned reset = (unsigned)random.below(4);
        if (reset == 1 && random.chance(50))
            machine.top->timeout = 0, timeout = 65536;
        auto request_reset = [&] {
            machine.withdraw();
            machine.top->reset_request = 1;
            machine.step();
            machine.top->reset_request = 0;
        };
        if (reset == 1)
            request_reset();
        uint64_t last_move = machine.cycle;
        uint64_t moved = 0;
        while (!machine.top->stuck && !machine.idle() && machine.cycle - last_move < 3 * timeout) {
            uint64_t now = machine.local.read_beats + machine.host.read_beats + machine.local.write_beats +
                           machine.host.write_beats + machine.local.responses.size() + machine.host.responses.size();
            if (now != moved)
                last_move = machine.cycle;
            moved = now;
            machine.step();
        }
        if (!machine.top->stuck) {
            if (!machine.idle())
                return where + "no end: " + bus_state(machine);
            continue; // Everything was done already, or needed none of what is dead.
        }
        if (machine.cycle - last_move < timeout - 100)
            return where + "given up on after " + std::to_string(machine.cycle - last_move) + " cycles";
        if (reset == 2)
            request_reset();
        std::vector<uint8_t> local = machine.local.bytes, other = machine.host.bytes;
        uint64_t may_change = 8 * (1 + memory.beats.size());
        auto bursts = [&] {
            return machine.local.read_bursts + machine.host.read_bursts + machine.local.write_bursts +
                   machine.host.write_bursts;
        };
        uint64_t begun = bursts();
        std::vector<Fault> faults;
        uint64_t begin = machine.cycle;
        unsigned told = 0;
        // The oldest job of a slot that is not over as memory is given up on: its name is told.
        std::vector<int> oldest(4, -1);
        unsigned seen[2] = {};
        for (size_t i = 0; i < jobs.size(); i++) {
            unsigned of_class = seen[jobs[i].urgent]++;
            unsigned over = jobs[i].urgent ? machine.top->jobs_retired_urgent : machine.top->jobs_retired;

            if (of_class >= over && oldest[jobs[i].slot] < 0)
                oldest[jobs[i].slot] = jobs[i].packet_offset;
        }
        auto take = [&]() -> std::string {
            if (!machine.top->fault_valid)
                return "";
            Fault fault = take_fault(machine);
            if (fault.kind != FERRY_FAULT_KIND_WATCHDOG || (told >> fault.slot & 1) || fault.write || fault.written ||
                fault.up_to_position || fault.packet_offset != (unsigned)oldest[fault.slot])
                return where + text(fault);
            told |= 1u << fault.slot;
            return "";
        };
        auto empty = [&]() -> std::string {
            while (!machine.idle() || machine.top->resetting || machine.top->fault_valid) {
                machine.step();
                std::string wrong = take();
                if (!wrong.empty())
                    return wrong;
                if (machine.cycle - begin > 400)
                    return where + "jobs are not over: " + bus_state(machine);
            }
            return "";
        };
        std::string wrong = empty();
        if (!wrong.empty())
            return wrong;
        if (!machine.top->stuck)
            return where + "not stuck any more";
        if (reset == 1 && told != 0)
            return where + "a reset job faulted";
        if (reset == 0 && told == 0)
            return where + "no fault";
        // A core that asks before each job would not send this one; it is over at once all the same.
        machine.clear_poison(15);
        told = 0;
        if (random.chance(50)) {
            Job late = jobs[0];
            oldest[late.slot] = late.packet_offset;
            machine.submit(late);
            begin = machine.cycle;
            if (machine.top->busy && machine.top->job_ready) {
                wrong = empty();
                if (!wrong.empty())
                    return "late job: " + wrong;
                if (told != 1u << late.slot || machine.top->poison != told)
                    return where + "a late job was not refused";
            }
            machine.withdraw();
            machine.clear_poison(15);
        }
        if (reset == 3)
            request_reset();
        for (uint64_t i = random.below(3000); i; i--)
            machine.step();
        memory.dead = 0;
        // What it answers may be an error: that is nobody's any more.
        if (random.chance(50)) {
            const Job &job = jobs[random.below(jobs.size())];
            memory.read_error = (job.source + 512 * random.below(3)) & ~7ull;
            memory.write_error = (job.destination + 512 * random.below(3)) & ~7ull;
        }
        begin = machine.cycle;
        while (machine.top->stuck || machine.top->resetting || machine.top->busy) {
            machine.step();
            if (machine.cycle - begin > 20000)
                return where + "memory answers again and nothing happens";
        }
        for (int i = 0; i < 50; i++)
            machine.step();
        if (machine.top->fault_valid || machine.top->poison)
            return where + "a fault of jobs that are over";
        memory.read_error = memory.write_error = 0;
        // Nothing is begun but the read and the write whose addresses were on offer.
        if (bursts() > begun + 2)
            return where + std::to_string(bursts() - begun) + " bursts begun late";
        // Nothing but the beat on offer, and beats that memory had taken in before their address.
        uint64_t changed = 0;
        for (size_t i = 0; i < local.size(); i++)
            changed += local[i] != machine.local.bytes[i];
        for (size_t i = 0; i < other.size(); i++)
            changed += other[i] != machine.host.bytes[i];
        if (changed > may_change)
            return where + std::to_string(changed) + " bytes written late";
        machine.top->timeout = 0;
        for (const Job &job : jobs) {
            for (uint32_t i = 0; i < job.length; i++) {
                uint8_t *place = reference.destination(job, i);
                *place = job.destination_kind == 0 ? machine.local.bytes[place - reference.local.data()]
                                                   : machine.host.bytes[place - reference.host.data()];
            }
        }
        for (unsigned i = 0; i < 20; i++) {
            Job good;
            good.length = (uint32_t)random.below(2000);
            good.source = random.below(100000);
            good.destination = 300000 + random.below(100000);
            good.slot = (unsigned)random.below(4);
            machine.submit(good);
            reference.apply(good);
        }
        wrong = finish(machine, reference);
        if (!wrong.empty())
            return where + wrong;
    }
    return "";
}

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
        for (const Job &job : jobs) {
            for (uint32_t i = 0; job.op != FERRY_JOB_OP_READ && i < job.length; i++) {
                uint8_t *place = reference.destination(job, i);
                *place = job.destination_kind == 0 ? machine.local.bytes[place - reference.local.data()]
                                                   : machine.host.bytes[place - reference.host.data()];
            }
        }
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

} // namespace

const std::vector<Test> FAULT_TESTS = {
    {"read_errors_on_any_beat", read_errors},
    {"write_errors_on_any_burst", write_errors},
    {"refused_addresses", refused_addresses},
    {"faults_of_several_slots_queue_up", faults_queue_up},
    {"dropped_job_takes_no_fault", dropped_beside_refused},
    {"memory_that_never_answers", watchdog},
    {"reset_from_any_state", resets},
};
