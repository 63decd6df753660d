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
                   (bool)top.fault_up_to_position,
                   top.fault_level,
                   top.fault_entry};
    machine.clear_fault();
    return fault;
}

std::string text(const Fault &fault)
{
    char buffer[200];
    snprintf(buffer, sizeof(buffer),
             "kind %u slot %u write %u offset %u position %llx written %u%s level %u entry %llx", fault.kind,
             fault.slot, fault.write, fault.packet_offset, (unsigned long long)fault.position, fault.written,
             fault.up_to_position ? " up to it" : "", fault.level, (unsigned long long)fault.entry);
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
        found.packet_offset != bad.packet_offset || found.position != (uint32_t)wanted.position ||
        (wanted.of_tables && (found.level != wanted.level || found.entry != wanted.entry)))
        return "expected " + text(wanted) + ", found " + text(found);
    uint32_t written = found.bytes_written(bad.destination);
    if (found.up_to_position != wanted.up_to_position || written > reach || written < least_written)
        return "written is " + std::to_string(written) + ", fault at " + std::to_string(reach);
    // Take over what may be either way, then compare everything.
    Reference done = reference;
    done.apply(bad);
    for (uint32_t i = 0; i < bad.length; i++) {
        uint8_t *place = reference.destination(bad, i);
        if (i < written || (i < reach && reference.now(machine, place) != *place))
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

// Jobs that go wrong in every way, several at once, behind data that the host does not take for a while: those behind
// them have read by then, and nothing of what is thrown away and what is not is taken for the other.
std::string behind_what_the_host_does_not_take(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Random &random = machine.random;
    for (unsigned round = 0; round < 250; round++) {
        machine.timing = any_timing(random);
        machine.timing.read_latency = (unsigned)(1 + random.below(120));
        Reference reference(machine);
        machine.local.read_error = 65536;
        machine.host.dead = Memory::AW | Memory::W | Memory::B;
        std::vector<unsigned> order, found;
        bool gone[4] = {};
        for (unsigned i = 0; i < 14; i++) {
            Job job;
            job.slot = i == 0 ? 0 : (unsigned)random.below(4);
            job.unordered = true;
            job.packet_offset = (uint16_t)(8 * i);
            job.destination_kind = i == 0 || random.chance(25);
            job.length = (uint32_t)(i == 0 ? 1000 + random.below(1500) : 1 + random.below(400));
            job.source = 20000 + random.below(3000);
            job.destination = 300000 + 4096 * i + random.below(1000) + (job.destination_kind ? HOST_BASE : 0);
            unsigned wrong = i == 0 || random.chance(60) ? 0 : 1 + (unsigned)random.below(3);
            if (wrong == 1)
                job.source = 65536 - random.below(job.length);
            else if (wrong == 2)
                job.source = LOCAL_BYTES - random.below(job.length);
            else if (wrong == 3)
                job.destination = LOCAL_BYTES - random.below(job.length), job.destination_kind = 0;
            machine.submit(job);
            if (gone[job.slot])
                continue;
            if (wrong == 0)
                reference.apply(job);
            else
                order.push_back(i), gone[job.slot] = true;
        }
        uint64_t begin = machine.cycle, held = random.below(3000);
        while (!machine.idle() || machine.top->fault_valid) {
            if (machine.cycle - begin >= held)
                machine.host.dead = 0;
            machine.step();
            if (machine.top->fault_valid && random.chance(10))
                found.push_back(take_fault(machine).packet_offset / 8);
            if (machine.cycle - begin > 50000)
                return "stuck";
        }
        machine.clear_poison(15);
        machine.local.read_error = 0;
        // What a faulted job wrote before its fault.
        for (unsigned i : order)
            for (unsigned at = 0; at < 4096; at++) {
                reference.local.at(300000 + 4096 * i + at) = machine.local.bytes.at(300000 + 4096 * i + at);
                reference.host.at(300000 + 4096 * i + at) = machine.host.bytes.at(300000 + 4096 * i + at);
            }
        for (unsigned at = LOCAL_BYTES - 400; at < LOCAL_BYTES; at++)
            reference.local.at(at) = machine.local.bytes.at(at);
        std::string difference = finish(machine, reference);
        if (found != order)
            difference = std::to_string(found.size()) + " faults, expected " + std::to_string(order.size());
        if (!difference.empty())
            return "round " + std::to_string(round) + ": " + difference;
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

} // namespace

const std::vector<Test> FAULT_TESTS = {
    {"read_errors_on_any_beat", read_errors},
    {"write_errors_on_any_burst", write_errors},
    {"refused_addresses", refused_addresses},
    {"faults_of_several_slots_queue_up", faults_queue_up},
    {"faults_behind_what_the_host_does_not_take", behind_what_the_host_does_not_take},
    {"dropped_job_takes_no_fault", dropped_beside_refused},
};
