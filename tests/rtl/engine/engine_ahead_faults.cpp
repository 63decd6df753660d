// SPDX-License-Identifier: Apache-2.0
// Look-ups ahead in the midst of everything: faults of waiting jobs, tables edited under them, urgent jobs, and jobs
// that are dropped while their page is looked up.
#include <optional>

#include "ahead.h"

namespace
{

constexpr uint64_t FROM_AT = 0x40000, TO_AT = 0xa0000;
constexpr unsigned JOBS = 12, PAGES = 3;

// A page of a job, which may be absent, with an entry of its own.
struct Page {
    uint64_t address, frame, at, absent = 0;
};

// Jobs of four slots, whose pages are absent here and there, with everything forgotten now and then: each slot's first
// fault is told with its own entry, what is before it is done, what is behind it is not, and other slots' jobs are as
// if nothing was.
std::string faults_ahead(uint64_t seed)
{
    unsigned told = 0, served = 0;
    uint64_t serial = 1;
    Bench bench(seed, 3);
    Machine &machine = bench.machine;
    Random &random = machine.random;
    Page pages[JOBS][2][PAGES];
    for (unsigned i = 0; i < JOBS; i++)
        for (unsigned side = 0; side < 2; side++)
            for (unsigned k = 0; k < PAGES; k++) {
                Page &page = pages[i][side][k];
                page.address = ((uint64_t)(1 + 2 * i + side) << 30) - 4096 + 4096 * k;
                page.frame = (side ? TO_AT : FROM_AT) + 4096 * (uint64_t)((7 * (PAGES * i + k)) % (JOBS * PAGES));
                bench.spaces.map(i % 2 ? 2 : 9, page.address, false, page.frame);
                page.at = bench.spaces.entry_at(i % 2 ? 2 : 9, page.address, 0);
            }
    for (unsigned batch = 0; batch < rounds(60, 600); batch++) {
        machine.timing = any_timing(random);
        const unsigned often = (unsigned)random.below(15);
        Job jobs[JOBS];
        // Where a job's side first meets an absent page, in its bytes; none.
        std::optional<uint64_t> hole[JOBS][2];
        uint64_t entry[JOBS][2] = {};
        for (unsigned i = 0; i < JOBS; i++) {
            Job &job = jobs[i];
            job.space = i % 2 ? 2 : 9;
            job.slot = (unsigned)random.below(4);
            job.urgent = job.slot == 3;
            job.unordered = random.chance(70);
            job.packet_offset = (uint16_t)(8 * i);
            job.length = (uint32_t)(1 + random.below(random.chance(60) ? 200 : 2 * 4096));
            job.op = random.chance(20) ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
            job.pattern_log2 = 3;
            for (unsigned side = 0; side < 2; side++) {
                const uint64_t skip = random.below(4096);
                uint64_t &place = side ? job.destination : job.source;
                unsigned &kind = side ? job.destination_kind : job.source_kind;
                if (side == 0 && job.op == FERRY_JOB_OP_FILL) {
                    place = random.next();
                    continue;
                }
                if (random.chance(20)) {
                    place = PLAIN_AT + 0x80000 * side + 0x3000 * i + skip;
                    continue;
                }
                kind = FERRY_ADDRESS_KIND_VIRTUAL;
                place = pages[i][side][0].address + skip;
                for (unsigned k = 0; k < PAGES; k++) {
                    Page &page = pages[i][side][k];
                    page.absent = random.chance(often) ? serial++ << 13 : 0;
                    bench.spaces.put(page.at, page.absent ? page.absent : gpu::VALID | gpu::LEAF | page.frame);
                    const uint64_t begin = k == 0 ? 0 : 4096 * k - skip;
                    if (page.absent && !hole[i][side] && begin < job.length) {
                        hole[i][side] = begin;
                        entry[i][side] = page.absent;
                    }
                }
            }
        }
        machine.forget(FERRY_FORGET_SCOPE_ALL, 0, 0);
        bench.reference.local = machine.local.bytes;
        Reference all = bench.reference;
        all.virtual_place = [&](unsigned, uint64_t address) {
            for (const auto &job : pages)
                for (const auto &side : job)
                    for (const Page &page : side)
                        if (page.address == (address & ~4095ull))
                            return std::pair<bool, uint64_t>(false, page.frame + address % 4096);
            throw std::runtime_error("no such page");
        };
        for (const Job &job : jobs)
            machine.submit(job);
        std::optional<Fault> found[4];
        for (unsigned i = 0; !machine.idle() || machine.top->fault_valid; i++) {
            if (i > 200000)
                return "batch " + std::to_string(batch) + ": no end";
            if (machine.top->fault_valid && random.chance(3)) {
                const Fault fault = take_fault(machine);
                if (found[fault.slot])
                    return "batch " + std::to_string(batch) + ": a slot's second fault: " + text(fault);
                found[fault.slot] = fault;
            } else if (random.chance(1) && random.chance(30)) {
                machine.forget((unsigned)random.below(4), random.chance(50) ? 2 : 9,
                               pages[random.below(JOBS)][0][0].address);
            } else {
                machine.step();
            }
        }
        bool stopped[4] = {};
        for (unsigned i = 0; i < JOBS; i++) {
            const Job &job = jobs[i];
            const std::string which = "batch " + std::to_string(batch) + ", job " + std::to_string(i) + ": ";
            uint64_t reach = stopped[job.slot] ? 0 : job.length, least = reach;
            if (!stopped[job.slot] && (hole[i][0] || hole[i][1])) {
                stopped[job.slot] = true;
                if (!found[job.slot])
                    return which + "no fault";
                const Fault &fault = *found[job.slot];
                if (fault.kind != FERRY_FAULT_KIND_PAGE_ABSENT || fault.packet_offset != job.packet_offset ||
                    fault.level != 0 || !hole[i][fault.write] || fault.entry != entry[i][fault.write])
                    return which + text(fault);
                reach = *hole[i][fault.write];
                for (unsigned side = 0; side < 2; side++)
                    reach = hole[i][side] ? std::min(reach, *hole[i][side]) : reach;
                least = fault.bytes_written(job.destination);
                told++;
            } else if (!stopped[job.slot]) {
                served++;
            }
            if (least > reach)
                return which + "more is told to be written than there is";
            Reference done = all;
            done.apply(job);
            for (uint64_t byte = 0; byte < job.length; byte++) {
                uint8_t *place = all.destination(job, byte);
                if (byte < least || (byte < reach && all.now(machine, place) != *place))
                    *place = *done.destination(job, byte);
            }
        }
        for (unsigned slot = 0; slot < 4; slot++)
            if (found[slot] && !stopped[slot])
                return "batch " + std::to_string(batch) + ": a fault of nobody's: " + text(*found[slot]);
        machine.clear_poison(15);
        std::string wrong = finish(machine, all);
        if (!wrong.empty())
            return "batch " + std::to_string(batch) + ": " + wrong;
    }
    return told > 40 && served > 200 ? "" : std::to_string(told) + " faults, " + std::to_string(served) + " jobs";
}

// A waiting job's page is mapped elsewhere and forgotten, at each cycle of the walk ahead and behind it, on either
// side: the job goes by what the tables say then, and nobody touches the page that was.
std::string edits_ahead(uint64_t seed)
{
    for (unsigned write = 0; write < 2; write++)
        for (unsigned when = 0; when < 130; when++) {
            Bench bench(seed, 3);
            Machine &machine = bench.machine;
            const uint64_t address = 5ull << 30;
            machine.timing = {write + when % 2 ? 20u : 1u, 1, 0};
            bench.spaces.map(9, address, false, FROM_AT);
            bench.submit_plain(8192);
            Job job;
            job.space = 9;
            job.length = 700;
            (write ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_VIRTUAL;
            (write ? job.destination : job.source) = address + 8;
            (write ? job.source : job.destination) = PLAIN_AT + 0x80000;
            machine.submit(job);
            for (unsigned i = 0; i < when; i++)
                machine.step();
            bench.spaces.map(9, address, false, FROM_AT + 4096);
            machine.forget(when % 4, 9, address);
            machine.forbidden.insert({false, FROM_AT});
            bench.reference.apply(job);
            std::string wrong = finish(machine, bench.reference);
            if (!wrong.empty() || machine.top->fault_valid)
                return std::string(write ? "written" : "read") + ", edited at " + std::to_string(when) + ": " + wrong;
        }
    return "";
}

// What is asked for ahead is what the job asks for, bit for bit: each look-up of a side is the job's own again, or is
// answered before that one is made. Space, page, whether it writes, whether it may read what is protected.
std::string same_look_up_ahead(uint64_t seed)
{
    for (unsigned round = 0; round < 16; round++) {
        Bench bench(seed, 3);
        Machine &machine = bench.machine;
        const unsigned write = round & 1;
        const uint64_t address = 0x5a5b'c6d7'e000ull ^ (round << 12);
        bench.spaces.map(9, address, false, FROM_AT);
        // Its data stands in front of each of the four reads of the walk.
        bench.submit_plain(0x8000);
        Job job;
        job.space = 9;
        job.may_protected = round & 2;
        job.length = 64;
        (write ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_VIRTUAL;
        (write ? job.destination : job.source) = address;
        (write ? job.source : job.destination) = PLAIN_AT + 0x80000;
        machine.submit(job);
        bench.reference.apply(job);
        std::set<uint64_t> asked;
        unsigned times = 0;
        bool stood = false;
        while (!machine.idle()) {
            machine.step();
            const unsigned looks = machine.top->looks;
            if (looks & ~(1u << write))
                return "the other side asks for something";
            times += looks && !stood;
            stood = looks;
            if (looks)
                asked.insert(write ? machine.top->write_lookup_asked : machine.top->read_lookup_asked);
        }
        if (times != 2 || asked.size() != 1)
            return "round " + std::to_string(round) + ": " + std::to_string(times) + " look-ups, " +
                   std::to_string(asked.size()) + " of them different";
        std::string wrong = finish(machine, bench.reference);
        if (!wrong.empty())
            return wrong;
    }
    return "";
}

// The job at hand has all of its pages looked up before the next one's first, on each side by itself: going up, going
// down by chunks, and with one side alone that has pages to look up.
std::string at_hand_first_ahead(uint64_t seed)
{
    for (unsigned round = 0; round < 3; round++) {
        Bench bench(seed, 3);
        Machine &machine = bench.machine;
        for (unsigned page = 0; page < 6; page++)
            bench.spaces.map(9, 4096 * page, false, (page < 3 ? FROM_AT : TO_AT) + 8192 * page);
        bench.spaces.map(2, 4096, false, FROM_AT + 0x20000);
        bench.spaces.map(2, 8192, false, TO_AT + 0x20000);
        Job job, next;
        job.space = 9;
        job.length = 12000;
        job.source_kind = job.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
        job.destination = round == 1 ? 4096 : 12288;
        if (round == 2) {
            job.source_kind = FERRY_ADDRESS_KIND_LOCAL;
            job.source = PLAIN_AT;
        }
        next.space = 2;
        next.source_kind = next.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
        next.source = 4096;
        next.destination = 8192;
        next.length = 64;
        machine.submit(job);
        while (!(machine.top->looks & 2))
            machine.step();
        machine.submit(next);
        bench.reference.apply(job);
        bench.reference.apply(next);
        const uint16_t retired = machine.top->jobs_retired;
        unsigned begun = 0;
        while (machine.top->jobs_retired == retired) {
            machine.step();
            for (unsigned side = 0; side < 2; side++) {
                const uint64_t asked = side ? machine.top->write_lookup_asked : machine.top->read_lookup_asked;
                if (!(machine.top->looks >> side & 1))
                    continue;
                if (asked % 16 == 2)
                    begun |= 1u << side;
                else if (begun >> side & 1)
                    return "round " + std::to_string(round) + ", side " + std::to_string(side) +
                           ": the next job comes first";
                // The side that has nothing to look up does not wait for the other one.
                if (round == 2 && side == 1 && asked % 16 == 9 && asked >> 4 == 5 && begun == 0)
                    return "the side without pages waits";
            }
        }
        if (begun != 3)
            return "round " + std::to_string(round) + ": not asked for";
        std::string wrong = finish(machine, bench.reference);
        if (!wrong.empty())
            return wrong;
    }
    return "";
}

// A job in a slot that is poisoned just as its page is looked up is dropped, and told of, while the walk goes on; a
// reset and a FORGET just then end, and nothing is left of it.
std::string dropped_ahead(uint64_t seed)
{
    unsigned met = 0;
    for (unsigned when = 0; when < 120; when++)
        for (unsigned then = 0; then < 3; then++) {
            Bench bench(seed, 3);
            Machine &machine = bench.machine;
            machine.timing = {100, 1, 0};
            bench.spaces.map(9, 5ull << 30, false, FROM_AT);
            // A fault of data, which comes while the next job waits.
            Job bad, next;
            bad.source = PLAIN_AT;
            bad.destination = PLAIN_AT + 0x40000;
            bad.length = 64;
            machine.local.read_error = PLAIN_AT;
            next.space = 9;
            next.source_kind = FERRY_ADDRESS_KIND_VIRTUAL;
            next.source = 5ull << 30;
            next.destination = PLAIN_AT + 0x80000;
            next.length = 64;
            machine.submit(bad);
            for (unsigned i = 0; i < when; i++)
                machine.step();
            machine.submit(next);
            for (unsigned i = 0; !machine.idle() && i < 20000; i++)
                machine.step();
            met += machine.top->looks != 0;
            machine.top->timeout = 300;
            if (then == 1)
                machine.forget(FERRY_FORGET_SCOPE_ALL, 0, 0);
            if (then == 2) {
                machine.top->reset_request = 1;
                machine.step();
                machine.top->reset_request = 0;
                for (unsigned i = 0; machine.top->resetting; i++) {
                    machine.step();
                    if (i > 20000)
                        return "the reset does not end";
                }
            }
            for (unsigned i = 0; machine.top->looks || !machine.local.reads.empty(); i++) {
                machine.step();
                if (i > 20000)
                    return "a look-up stands for ever";
            }
            if (machine.top->stuck)
                return "memory was given up on";
            if (machine.top->fault_valid)
                take_fault(machine);
            machine.local.read_error = 0;
            machine.clear_poison(15);
            bench.reference.local = machine.local.bytes;
            machine.submit(next);
            bench.reference.apply(next);
            std::string wrong = finish(machine, bench.reference);
            if (!wrong.empty() || machine.top->fault_valid)
                return "at " + std::to_string(when) + ": " + wrong;
        }
    return met > 20 ? "" : "only " + std::to_string(met) + " walks outlived their job";
}

// A reset while the unit forgets, with the next job's look-up stopped by that: no read of a table is out and no job is
// left, but the look-up stands, and the reset does not end before it (Machine watches that).
std::string forgets_in_a_reset_ahead(uint64_t seed)
{
    unsigned met = 0;
    Bench bench(seed, 3);
    Machine &machine = bench.machine;
    machine.timing = {1, 1, 0};
    bench.spaces.map(9, 5ull << 30, false, FROM_AT);
    for (unsigned when = 0; when < 24; when++)
        for (unsigned late = 0; late < 24; late++) {
            bench.submit_plain(64);
            Job job;
            job.space = 9;
            job.source_kind = FERRY_ADDRESS_KIND_VIRTUAL;
            job.source = 5ull << 30;
            job.destination = PLAIN_AT + 0x80000;
            job.length = 64;
            machine.submit(job);
            for (unsigned i = 0; i < when; i++)
                machine.step();
            machine.top->forget_scope = FERRY_FORGET_SCOPE_ALL;
            machine.top->forget_valid = 1;
            for (unsigned i = 0; i < 400; i++) {
                const bool forgotten = machine.top->forget_valid && machine.top->forget_ready;
                machine.top->reset_request = i == late;
                if (i == late)
                    machine.withdraw();
                machine.step();
                met += machine.top->resetting && machine.top->looks && !machine.top->busy;
                if (forgotten)
                    machine.top->forget_valid = 0;
            }
            if (machine.top->resetting || machine.top->forget_valid || !machine.idle())
                return "the reset does not end";
            machine.clear_poison(15);
            bench.reference.local = machine.local.bytes;
            // Of its own, after which one is asked for ahead again.
            machine.submit(job);
            bench.reference.apply(job);
            std::string wrong = finish(machine, bench.reference);
            if (!wrong.empty())
                return "forgotten at " + std::to_string(when) + ", reset " + std::to_string(late) + " later: " + wrong;
        }
    return met > 20 ? "" : "a look-up stood behind the last job in " + std::to_string(met) + " cycles only";
}

} // namespace

const std::vector<Test> AHEAD_FAULT_TESTS = {
    {"faults_ahead", faults_ahead},
    {"edits_ahead", edits_ahead},
    {"same_look_up_ahead", same_look_up_ahead},
    {"at_hand_first_ahead", at_hand_first_ahead},
    {"dropped_ahead", dropped_ahead},
    {"forgets_in_a_reset_ahead", forgets_in_a_reset_ahead},
};
