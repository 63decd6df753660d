// SPDX-License-Identifier: Apache-2.0
// The page-table unit is asked for the first page of the next job while the one at hand goes on: what that brings, in
// cycles, and that nothing else is to be seen of it.
#include "ahead.h"

namespace
{

constexpr uint64_t PAGES_AT = 0x80000;

// Forty jobs of a page, of two spaces in turn, each page three levels from anything known: at latencies of 20 and 100 a
// job takes its 512 words and those of its walk, and not the walk's three latencies. At 100 this needs no more than few
// reads to be out, as a walk waits behind them once a level.
std::string walks_ahead(uint64_t seed)
{
    for (unsigned write = 0; write < 2; write++)
        for (unsigned latency : {20u, 100u}) {
            Bench bench(seed, 2);
            bench.machine.timing = {latency, 1, 0};
            for (unsigned i = 0; i < 40; i++) {
                const uint64_t address = ((1ull + i) << 30) + 0x10000ull * i;
                bench.spaces.map(i % 2 ? 2 : 9, address, false, PAGES_AT + 4096 * (7 * i % 40));
                Job job;
                job.space = i % 2 ? 2 : 9;
                job.unordered = true;
                job.length = 4096;
                (write ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_VIRTUAL;
                (write ? job.destination : job.source) = address;
                (write ? job.source : job.destination) = PLAIN_AT + 4096 * i;
                bench.submit(job);
            }
            const uint64_t begin = bench.machine.cycle;
            std::string wrong = finish(bench.machine, bench.reference);
            if (!wrong.empty())
                return wrong;
            // A walk is ten words: two entries and a line of eight.
            const uint64_t took = bench.machine.cycle - begin, most = 40 * (512 + 10 + 6) + 5 * latency + 500;
            if (took > most)
                return std::string(write ? "written" : "read") + " at a latency of " + std::to_string(latency) + ": " +
                       std::to_string(took) + " cycles of " + std::to_string(most);
            if (bench.machine.table_misses < 40 || bench.machine.table_misses > 41)
                return std::to_string(bench.machine.table_misses) + " walks for 40 pages";
        }
    return "";
}

// Nothing of it is looked up, so as many reads are out as there is room, and a latency of 200 costs a page-out little
// more than once.
std::string what_is_not_looked_up_has_all_the_room(uint64_t seed)
{
    constexpr unsigned LATENCY = 200;
    Bench bench(seed, 2);
    bench.machine.timing = {LATENCY, 1, 0};
    Job job;
    job.destination_kind = FERRY_ADDRESS_KIND_SYSTEM;
    job.source = PLAIN_AT;
    job.destination = HOST_BASE;
    job.length = 65536;
    bench.submit(job);
    const uint64_t begin = bench.machine.cycle;
    std::string wrong = finish(bench.machine, bench.reference);
    const uint64_t took = bench.machine.cycle - begin, most = 65536 / 8 + 5 * LATENCY;
    return !wrong.empty() || took <= most ? wrong : std::to_string(took) + " cycles of " + std::to_string(most);
}

// Whether a job has a page looked up while a plain one before it runs, of another slot.
bool is_asked_for(Bench &bench, const Job &job)
{
    Machine &machine = bench.machine;
    machine.forget(FERRY_FORGET_SCOPE_ALL, 0, 0);
    bench.submit_plain(8192, 1);
    machine.submit(job);
    const uint64_t before = machine.table_misses;
    const uint16_t retired = machine.top->jobs_retired;
    while (machine.top->jobs_retired == retired)
        machine.step();
    return machine.table_misses != before;
}

// Only a page that the job is about to use is asked for.
std::string what_is_asked_for(uint64_t seed)
{
    Bench bench(seed, 2);
    Machine &machine = bench.machine;
    for (unsigned page = 0; page < 2; page++)
        bench.spaces.map(9, 4096 * page, false, PAGES_AT + 4096 * page);
    machine.put_list(0, {HOST_BASE});
    bench.reference.lists[0] = {HOST_BASE};
    Job plain;
    plain.space = 9;
    plain.destination = PLAIN_AT + 0x80000;
    plain.length = 64;
    Job copy = plain, write = plain;
    copy.source_kind = write.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
    std::swap(write.source, write.destination);
    Job pattern = copy, list = copy, list_to = write, nothing = copy, nothing_to = write, far = copy, far_to = write,
        down = copy;
    pattern.op = FERRY_JOB_OP_FILL; // What would be its source is the pattern.
    list.list = FERRY_LIST_SIDE_SOURCE;
    list_to.list = FERRY_LIST_SIDE_DESTINATION;
    nothing.length = nothing_to.length = 0;
    far.source = far_to.destination = 1ull << 48;
    down.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL; // It begins at its end.
    down.destination = 32;
    Job fill = write, read = write, read_from = copy;
    fill.op = FERRY_JOB_OP_FILL;
    read.op = read_from.op = FERRY_JOB_OP_READ;
    const struct {
        const char *name;
        const Job &job;
        bool asked;
        bool fault = false, dropped = false;
    } cases[] = {
        {"a copy from an address", copy, true},
        {"a copy to one", write, true},
        {"a fill", fill, true},
        {"a read", read_from, true},
        {"a plain one", plain, false},
        {"a pattern", pattern, false},
        {"a list", list, false},
        {"a copy to a list", list_to, false},
        {"no byte", nothing, false},
        {"no byte to an address", nothing_to, false},
        {"a descending copy", down, false},
        {"what a read does not write", read, false},
        {"one beyond 48 bits", far, false, true},
        {"one to beyond 48 bits", far_to, false, true},
        {"one that is dropped", copy, false, false, true},
    };
    for (const auto &one : cases) {
        if (one.dropped) {
            machine.submit(far);
            for (unsigned i = 0; !machine.top->fault_valid && i < 1000; i++)
                machine.step();
            take_fault(machine);
        }
        if (is_asked_for(bench, one.job) != one.asked)
            return std::string(one.name) + (one.asked ? " was not asked for" : " was asked for");
        for (unsigned i = 0; one.fault && !machine.top->fault_valid && i < 1000; i++)
            machine.step();
        if (one.fault && take_fault(machine).kind != FERRY_FAULT_KIND_RANGE)
            return std::string(one.name) + ": another fault";
        if (!one.fault && !one.dropped)
            bench.reference.apply(one.job);
        std::string wrong = finish(machine, bench.reference);
        if (!wrong.empty())
            return std::string(one.name) + ": " + wrong;
        machine.clear_poison(15);
    }
    return "";
}

// A page is asked for once, however long its job waits: the unit is the other side's too.
std::string asked_for_once(uint64_t seed)
{
    Bench bench(seed, 2);
    Machine &machine = bench.machine;
    bench.spaces.map(9, 0, false, PAGES_AT);
    Job job;
    job.space = 9;
    job.source_kind = FERRY_ADDRESS_KIND_VIRTUAL;
    job.destination = PLAIN_AT + 0x80000;
    job.length = 64;
    bench.submit_plain(8192);
    bench.submit(job);
    unsigned begun = 0;
    bool stood = false;
    const uint16_t retired = machine.top->jobs_retired;
    while (machine.top->jobs_retired == retired) {
        machine.step();
        begun += machine.top->looks != 0 && !stood;
        stood = machine.top->looks != 0;
    }
    if (begun != 1)
        return std::to_string(begun) + " look-ups";
    return finish(machine, bench.reference);
}

// Asked for ahead, refused, then mapped before it is the job's turn: there is no fault. Mapped elsewhere and forgotten
// meanwhile: the job goes by what the tables say now.
std::string what_was_asked_is_not_kept(uint64_t seed)
{
    for (unsigned mapped = 0; mapped < 2; mapped++) {
        Bench bench(seed, 2);
        Machine &machine = bench.machine;
        bench.spaces.map(9, 0, false, PAGES_AT);
        const uint64_t at = bench.spaces.entry_at(9, 0, 0), good = bench.spaces.tables.local.at(at);
        bench.spaces.put(at, mapped ? good + 4096 : 0);
        Job job;
        job.space = 9;
        job.source_kind = FERRY_ADDRESS_KIND_VIRTUAL;
        job.source = 0;
        job.destination = PLAIN_AT + 0x80000;
        job.length = 4096;
        bench.submit_plain(8192);
        machine.submit(job);
        for (unsigned i = 0; machine.table_misses == 0 || machine.top->looks; i++) {
            machine.step();
            if (i > 2000)
                return "not asked for";
        }
        bench.spaces.put(at, good);
        if (mapped)
            machine.forget(FERRY_FORGET_SCOPE_SPACE, 9, 0);
        bench.reference.apply(job);
        std::string wrong = finish(machine, bench.reference);
        if (machine.top->fault_valid)
            return "a fault: " + text(take_fault(machine));
        if (!wrong.empty())
            return wrong;
    }
    return "";
}

// A page that is refused while the job's earlier bursts go out: the fault has its entry, though the next job's page,
// which is absent too, could have been asked for meanwhile. Of either side.
std::string entry_of_a_fault(uint64_t seed)
{
    Bench bench(seed, 2);
    Machine &machine = bench.machine;
    for (unsigned round = 0; round < 40; round++) {
        const bool write = round % 2;
        machine.timing = {round % 4 < 2 ? 1u : 20u, 1, 0};
        bench.spaces.map(9, 0, false, PAGES_AT);
        const uint64_t at = bench.spaces.entry_at(9, 4096, 0);
        const uint64_t first = (uint64_t)(2 * round + 1) << 13, second = (uint64_t)(2 * round + 2) << 13;
        bench.spaces.put(at, first);
        bench.spaces.put(bench.spaces.entry_at(2, 4096ull * round, 0), second);
        machine.forget(FERRY_FORGET_SCOPE_ALL, 0, 0);
        Job job, next;
        job.space = 9;
        next.space = 2;
        job.slot = round & 3;
        next.slot = (round + 1) & 3;
        next.unordered = true;
        job.length = 4096 + 64;
        next.length = 64;
        for (Job *one : {&job, &next}) {
            (write ? one->destination_kind : one->source_kind) = FERRY_ADDRESS_KIND_VIRTUAL;
            (write ? one->destination : one->source) = one == &job ? 0 : 4096ull * round;
            (write ? one->source : one->destination) = PLAIN_AT;
        }
        machine.submit(job);
        machine.submit(next);
        for (const uint64_t entry : {first, second}) {
            for (unsigned i = 0; !machine.top->fault_valid && i < 20000; i++)
                machine.step();
            const Fault found = take_fault(machine);
            if (found.kind != FERRY_FAULT_KIND_PAGE_ABSENT || found.entry != entry)
                return "round " + std::to_string(round) + ": " + text(found);
        }
        machine.clear_poison(15);
        bench.reference.local = machine.local.bytes;
        std::string wrong = finish(machine, bench.reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

// A reset at any time while the next job's page is asked for, also with memory that stops just then: when it is over,
// no look-up stands of a job that is gone (Machine watches that), and jobs run as ever.
std::string resets_ahead(uint64_t seed)
{
    Bench bench(seed, 2);
    Machine &machine = bench.machine;
    unsigned met = 0;
    for (unsigned round = 0; round < 400; round++) {
        machine.timing = {round % 3 ? 20u : 1u, 1, 0};
        const uint64_t address = (1ull + round % 100) << 30;
        bench.spaces.map(9, address, false, PAGES_AT + 4096 * (round % 64));
        machine.forget(FERRY_FORGET_SCOPE_ALL, 0, 0);
        bench.submit_plain(4096);
        Job job;
        job.space = 9;
        job.source_kind = FERRY_ADDRESS_KIND_VIRTUAL;
        job.source = address;
        job.destination = PLAIN_AT + 0x80000;
        job.length = 64;
        machine.submit(job);
        for (unsigned i = 0; i < 10 + round % 90; i++)
            machine.step();
        met += machine.top->looks != 0;
        // Memory stops for longer than the watchdog waits, or not at all.
        machine.top->timeout = round % 2 ? 200 : 0;
        machine.local.dead = round % 2 ? (unsigned)Memory::R : 0;
        machine.withdraw();
        machine.top->reset_request = 1;
        machine.step();
        machine.top->reset_request = 0;
        for (unsigned i = 0; i < 600; i++)
            machine.step();
        machine.local.dead = 0;
        for (unsigned i = 0; machine.top->resetting || machine.top->stuck || !machine.idle(); i++) {
            machine.step();
            if (i > 20000)
                return "round " + std::to_string(round) + ": the reset does not end";
        }
        machine.top->timeout = 0;
        machine.clear_poison(15);
        machine.step();
        bench.reference.local = machine.local.bytes;
        bench.submit(job);
        std::string wrong = finish(machine, bench.reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return met > 100 ? "" : "only " + std::to_string(met) + " resets met a look-up";
}

// A reset, to the cycle, as the last job ends and the next one's page is asked for: one that is remembered as another
// than may be written, so that it is looked up twice and no read of a table is out meanwhile.
std::string resets_at_the_end_ahead(uint64_t seed)
{
    Bench bench(seed, 2);
    Machine &machine = bench.machine;
    machine.timing = {1, 1, 0};
    bench.spaces.map(9, 0, false, PAGES_AT, gpu::READ_ONLY);
    Job read, write;
    read.space = write.space = 9;
    read.length = write.length = 64;
    read.source_kind = write.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
    read.destination = write.source = PLAIN_AT + 0x80000;
    unsigned met = 0;
    for (unsigned when = 0; when < 40; when++)
        for (unsigned late = 0; late < 6; late++) {
            bench.submit(read);
            std::string wrong = finish(machine, bench.reference);
            if (!wrong.empty())
                return wrong;
            bench.submit_plain(64);
            for (unsigned i = 0; i < when; i++)
                machine.step();
            machine.submit(write);
            for (unsigned i = 0; i < 2 + late; i++)
                machine.step();
            met += machine.top->looks != 0;
            if (!reset_engine(machine))
                return "the reset does not end";
            for (unsigned i = 0; i < 30; i++)
                machine.step();
            if (machine.top->fault_valid)
                take_fault(machine);
            machine.clear_poison(15);
            bench.reference.local = machine.local.bytes;
        }
    return met > 20 ? "" : "only " + std::to_string(met) + " resets met a look-up";
}

} // namespace

const std::vector<Test> AHEAD_TESTS = {
    {"walks_ahead", walks_ahead},
    {"what_is_not_looked_up_has_all_the_room", what_is_not_looked_up_has_all_the_room},
    {"what_is_asked_for_ahead", what_is_asked_for},
    {"asked_for_once_ahead", asked_for_once},
    {"what_was_asked_is_not_kept", what_was_asked_is_not_kept},
    {"entry_of_a_fault_ahead", entry_of_a_fault},
    {"resets_ahead", resets_ahead},
    {"resets_at_the_end_ahead", resets_at_the_end_ahead},
};
