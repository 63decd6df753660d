// SPDX-License-Identifier: Apache-2.0
// Virtual addresses: jobs of several spaces through the page-table unit, faults that stop exactly there and go on when
// the table was repaired, and tables that are edited under running jobs. What a table says is the other walker's to
// tell.
#include "areas.h"

namespace
{

// Every way a job can be virtual, one behind the other, cut by urgent jobs.
std::string virtual_jobs(uint64_t seed)
{
    uint64_t cold = 0, warm = 0;
    for (unsigned round = 0; round < 12; round++) {
        Machine machine(seed + round, BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        Random &random = machine.random;
        Spaces spaces(machine, reference, TABLES_AT, BYTES);
        Frames frames(random);
        std::vector<Area> areas = some_areas(spaces, frames, random);
        for (unsigned batch = 0; batch < 12; batch++) {
            machine.timing = random_timing(random, batch % 3 == 0);
            machine.jobs_stall = random.chance(50);
            for (unsigned i = 0; i < 8; i++) {
                Job job = any_job(random, areas, batch % 2 ? 60000 : 3000);
                machine.submit(job);
                reference.apply(job);
                for (unsigned k = 0; k < random.below(400); k++)
                    machine.step();
                if (random.chance(30)) {
                    // Of no bytes, as FORGET is.
                    Job urgent;
                    urgent.urgent = true;
                    machine.submit(urgent);
                }
            }
            std::string wrong = finish(machine, reference);
            if (!wrong.empty())
                return "round " + std::to_string(round) + ", batch " + std::to_string(batch) + ": " + wrong;
        }
        cold += machine.table_misses;
        warm += machine.table_reads;
    }
    return cold > 100 && warm > cold ? "" : "hardly a table was read";
}

// A page, anywhere in either side of a job, that may not be accessed: the fault says which and why, and what the table
// says; nothing is written from there on; and once the table was repaired the rest of the job can be done.
std::string virtual_faults(uint64_t seed)
{
    std::set<unsigned> kinds;
    for (unsigned round = 0; round < 300; round++) {
        Machine machine(seed + 1000 * round, BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        Random &random = machine.random;
        Spaces spaces(machine, reference, TABLES_AT, BYTES);
        machine.timing = any_timing(random);
        unsigned space = (unsigned)random.below(16), height = (unsigned)random.below(4);
        spaces.set_root(space, height);
        uint64_t bytes = 1ull << (21 + 9 * height);
        uint64_t address = random.below(bytes / 4096 - 8) * 4096;
        for (unsigned page = 0; page < 8; page++)
            spaces.map(space, address + 4096 * page, page % 3 == 2,
                       page % 3 == 2 ? HOST_BASE + 0x40000 + 4096 * page : PAGES_AT + 4096 * (7 * page % 32));
        Job job;
        job.space = space;
        job.slot = (unsigned)random.below(4);
        job.packet_offset = (uint16_t)(random.next() & ~7ull);
        bool write = random.chance(50);
        uint64_t start = random.below(4096), bad = random.below(8);
        job.length = (uint32_t)(8 * 4096 - start - random.below(3000));
        if (bad == 7)
            job.length = (uint32_t)(8 * 4096 - start);
        job.source_kind = job.destination_kind = FERRY_ADDRESS_KIND_LOCAL;
        (write ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_VIRTUAL;
        (write ? job.destination : job.source) = address + start;
        (write ? job.source : job.destination) = 100000 + random.below(1000);
        if (write && random.chance(20))
            job.op = FERRY_JOB_OP_FILL, job.pattern_log2 = 3;
        // What is wrong with it: at the lowest level, or in what leads there.
        uint64_t page = address + 4096 * bad;
        uint64_t at = spaces.entry_at(space, page, 0), good = spaces.tables.local.at(at);
        // What the reference says of the job is worked out while all is well.
        Reference before = reference;
        spaces.reference.virtual_place = reference.virtual_place;
        std::map<uint64_t, std::pair<bool, uint64_t>> places;
        for (unsigned i = 0; i < 8; i++)
            places[address + 4096 * i] = reference.virtual_place(space, address + 4096 * i);
        reference.virtual_place = [places](unsigned, uint64_t asked) {
            std::pair<bool, uint64_t> found = places.at(asked & ~4095ull);
            return std::pair<bool, uint64_t>(found.first, found.second + asked % 4096);
        };
        unsigned upper = height == 0 ? 0 : (unsigned)random.below(height + 1);
        switch (random.below(6)) {
        case 0: spaces.put(at, 0); break;
        case 1: spaces.put(at, good | 1ull << 57); break;
        case 2: spaces.put(at, good | (write ? gpu::READ_ONLY : gpu::PROTECTED)); break;
        case 3: spaces.put(at, gpu::VALID | gpu::LEAF | (BYTES + 4096 * random.below(9))); break;
        case 4: spaces.put(at, good & ~gpu::LEAF); break;
        default:
            // A whole part of the space is gone, the tables above it are not: the first page in it that the job comes
            // to.
            at = spaces.entry_at(space, page, upper);
            good = spaces.tables.local.at(at);
            spaces.put(at, random.chance(50) ? 0 : upper == 0 ? good | gpu::GROUP | 0x80 : gpu::VALID | (1ull << 40));
        }
        unsigned first = 0;
        while (first < 8 &&
               spaces.tables.walk({space, address + 4096 * first, write, false}).fault == FERRY_FAULT_KIND_NONE)
            first++;
        gpu::Answer said = spaces.tables.walk({space, address + 4096 * first, write, false});
        kinds.insert(said.fault);
        uint64_t hole = first == 0 ? address + start : address + 4096 * first;
        uint32_t reach = (uint32_t)(hole - address - start);
        Fault wanted = {said.fault, job.slot, write, job.packet_offset, hole, 0, false, said.height, said.seen, true};
        if (reach >= job.length)
            continue;
        std::string wrong = check_job(machine, reference, job, wanted, reach, reach > 1040 ? reach - 1040 : 0);
        if (wrong.empty()) {
            // Repaired. What is not valid, or refused, is never remembered: there is nothing to forget.
            spaces.put(at, good);
            reference.local = machine.local.bytes;
            job.length -= reach;
            if (job.op == FERRY_JOB_OP_COPY)
                job.source += reach;
            job.destination += reach;
            machine.submit(job);
            reference.apply(job);
            wrong = finish(machine, reference);
        }
        if (!wrong.empty())
            return "round " + std::to_string(round) + (write ? " write: " : " read: ") + wrong;
    }
    return kinds.size() >= 6 ? "" : "only " + std::to_string(kinds.size()) + " kinds of faults were met";
}

// Addresses beyond 48 bits, and of a space without a root.
std::string virtual_beyond(uint64_t seed)
{
    Machine machine(seed, BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    Spaces spaces(machine, reference, TABLES_AT, BYTES);
    spaces.set_root(5, 3);
    for (unsigned page = 0; page < 4; page++)
        spaces.map(5, (1ull << 48) - 4096 * (4 - page), false, PAGES_AT + 4096 * page);
    for (unsigned page = 0; page < 4; page++)
        spaces.map(5, 4096 * page, false, PAGES_AT + 4096 * (page + 8));
    for (unsigned round = 0; round < 60; round++) {
        machine.timing = any_timing(random);
        Job job;
        job.slot = (unsigned)random.below(4);
        job.space = round % 3 == 2 ? 6 : 5;
        bool write = random.chance(50);
        uint32_t lead = (uint32_t)random.below(3 * 4096);
        job.length = lead + 1 + (uint32_t)random.below(4000);
        (write ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_VIRTUAL;
        uint64_t end = round % 3 == 0 ? 1ull << 48 : round % 3 == 1 ? 1ull << (48 + random.below(15)) : 4096;
        uint64_t place = round % 3 == 0 ? end - lead : end;
        uint32_t reach = round % 3 == 0 ? lead : 0;
        (write ? job.destination : job.source) = place;
        (write ? job.source : job.destination) = 100000 + random.below(1000);
        unsigned kind = round % 3 == 2 ? FERRY_FAULT_KIND_PAGE_ABSENT : FERRY_FAULT_KIND_RANGE;
        Fault wanted = {kind, job.slot, write, 0, place + reach, 0, false};
        // Where it would go beyond does not matter: nothing may be written there.
        reference.virtual_place = [place, lead](unsigned, uint64_t address) {
            uint64_t offset = address - place, top = PAGES_AT + 4 * 4096;
            return std::pair<bool, uint64_t>(false, offset < lead ? top - lead + offset : top + 0x4000 + offset - lead);
        };
        std::string wrong = check_job(machine, reference, job, wanted, reach, reach > 1040 ? reach - 1040 : 0);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

// A table is edited under jobs that run through it, again and again: an urgent FORGET is done, and from then on nobody
// touches the page that was mapped before. Every byte comes from, and goes to, a page that was mapped since.
std::string virtual_edits(uint64_t seed)
{
    uint64_t under_way = 0;
    for (unsigned round = 0; round < 8; round++) {
        Machine machine(seed + round, BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        Random &random = machine.random;
        Spaces spaces(machine, reference, TABLES_AT, BYTES);
        Frames frames(random);
        unsigned height = (unsigned)random.below(4), space = (unsigned)random.below(16);
        spaces.set_root(space, height);
        // Source pages all hold one value each; a job copies them to the destination's, which are edited too.
        constexpr unsigned COUNT = 24;
        uint64_t address = random.below((1ull << (9 + 9 * height)) - 2 * COUNT) * 4096;
        std::pair<bool, uint64_t> now[2 * COUNT];
        for (unsigned i = 0; i < 2 * COUNT; i++) {
            now[i] = frames.take();
            spaces.map(space, address + 4096 * i, now[i].first, now[i].second);
        }
        machine.timing = any_timing(random);
        std::string wrong;
        for (unsigned edit = 0; edit < 60 && wrong.empty(); edit++) {
            if (machine.waiting.empty() && random.chance(80)) {
                Job job;
                job.space = space;
                job.source_kind = job.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
                uint64_t first = random.below(COUNT - 4), skip = random.below(4096);
                job.source = address + 4096 * first + skip;
                job.destination = address + 4096 * (COUNT + random.below(first + 1)) + random.below(4096);
                job.length = (uint32_t)((COUNT - 1 - first) * 4096);
                machine.submit(job);
            }
            for (unsigned k = 0; k < random.below(1500); k++)
                machine.step();
            unsigned which = (unsigned)random.below(2 * COUNT);
            std::pair<bool, uint64_t> old = now[which];
            now[which] = frames.take();
            spaces.map(space, address + 4096 * which, now[which].first, now[which].second);
            under_way += machine.top->busy;
            Job urgent = forget_job((unsigned)random.below(4), space, address + 4096 * which);
            urgent.urgent = true;
            urgent.slot = 1;
            uint16_t before = machine.top->jobs_retired_urgent;
            machine.submit(urgent);
            for (unsigned k = 0; machine.top->jobs_retired_urgent == before; k++) {
                machine.step();
                if (k > 100000) {
                    wrong = "FORGET does not end";
                    break;
                }
            }
            // It is another's from now on.
            machine.forbidden.insert(old);
            if (machine.forbidden.size() > 20) {
                std::pair<bool, uint64_t> again = *machine.forbidden.begin();
                machine.forbidden.erase(machine.forbidden.begin());
                frames.free.insert(frames.free.begin(), again);
            }
        }
        if (wrong.empty()) {
            machine.drain();
            if (!machine.errors.empty())
                wrong = machine.errors.front();
            if (machine.top->fault_valid)
                wrong = "a fault: " + text(take_fault(machine));
        }
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return under_way > 100 ? "" : "hardly an edit met a running job";
}

// Resets and faults in the midst of walks leave nothing behind: other jobs run as ever.
std::string virtual_resets(uint64_t seed)
{
    Machine machine(seed, BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    Spaces spaces(machine, reference, TABLES_AT, BYTES);
    Frames frames(random);
    std::vector<Area> areas = some_areas(spaces, frames, random);
    for (unsigned round = 0; round < 150; round++) {
        machine.timing = any_timing(random);
        for (unsigned i = 0; i < 4; i++) {
            Job job = any_job(random, areas, 20000);
            machine.submit(job);
        }
        for (unsigned k = 0; k < random.below(600); k++)
            machine.step();
        if (random.chance(50))
            machine.forget(FERRY_FORGET_SCOPE_ALL, 0, 0);
        if (!reset_engine(machine))
            return "round " + std::to_string(round) + ": the reset does not end";
        machine.clear_poison(15);
        for (int i = 0; i < 3; i++)
            machine.step();
        reference.local = machine.local.bytes;
        reference.host = machine.host.bytes;
        Job job = any_job(random, areas, 20000);
        machine.submit(job);
        reference.apply(job);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

// As the entries of the pages say.
std::string virtual_no_snoop(uint64_t seed)
{
    Machine machine(seed, BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    Spaces spaces(machine, reference, TABLES_AT, BYTES);
    const uint64_t at = 0x123400000000;
    bool snoops[64];
    spaces.set_root(5, 3);
    for (unsigned i = 0; i < 64; i++) {
        snoops[i] = random.chance(50);
        spaces.put(spaces.entry_at(5, at + 4096ull * i, 0),
                   gpu::VALID | gpu::LEAF | gpu::HOST | (snoops[i] ? gpu::SNOOP : 0) | (HOST_BASE + 4096ull * i));
    }
    auto name = [&](Job &job, bool to_host, unsigned, uint64_t place) {
        job.space = 5;
        (to_host ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_VIRTUAL;
        (to_host ? job.destination : job.source) = at + place;
    };
    auto no_snoop = [&](unsigned, uint64_t page) { return !snoops[page]; };
    return check_no_snoop(machine, reference, {1, name, no_snoop}, 4096);
}

} // namespace

const std::vector<Test> VIRTUAL_TESTS = {
    {"virtual_jobs", virtual_jobs},   {"virtual_faults", virtual_faults}, {"virtual_beyond", virtual_beyond},
    {"virtual_edits", virtual_edits}, {"virtual_resets", virtual_resets}, {"virtual_no_snoop", virtual_no_snoop},
};
