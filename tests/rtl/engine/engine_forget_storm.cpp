// SPDX-License-Identifier: Apache-2.0
// FORGETs of both classes in a storm: jobs of both run all the time through the addresses that are edited, by old
// entries and new ones. Behind each FORGET, in the same queue without a pause, another one's content comes to the place
// that the old entry led to. Nobody may change that content or see it, and once it is there nobody may touch the place.
#include "areas.h"

namespace
{

// Another one's content has this in every byte, and nothing else has it in any.
constexpr uint8_t OTHERS = 0xa5;
constexpr unsigned SPACE = 5, EDITED = 16, MOVED = 8;
// Video memory: what jobs by place read and write, and content to be brought in.
constexpr uint64_t SCRATCH_AT = 0, SCRATCH_BYTES = 0x40000, COMES_FROM = 0x50000;
constexpr uint64_t HOST_SCRATCH_AT = HOST_BASE, HOST_COMES_FROM = HOST_BASE + HOST_BYTES - 4096;

using Frame = std::pair<bool, uint64_t>;

uint64_t entry_of(const Frame &frame)
{
    return gpu::VALID | gpu::LEAF | (frame.first ? gpu::HOST | gpu::SNOOP : 0) | frame.second;
}

// A place whose content is another's once so many jobs of the class are over.
struct Comes {
    Frame frame;
    bool urgent;
    uint64_t number;
    bool there = false;
    uint64_t until = 0;
};

struct Forgetting {
    Machine machine;
    Reference reference;
    Spaces spaces;
    Frames frames;
    Random &random;
    uint64_t base;
    // By class: pages of which entries are edited; a table that moves, and the entry that leads there.
    std::vector<Frame> now[2];
    Frame table[2];
    std::vector<Comes> comes;
    uint64_t submitted[2] = {0, 0}, over[2] = {0, 0};
    uint16_t seen[2] = {0, 0};
    // Of rogues' slots, by class: numbers of the newest job, and of one that went wrong.
    uint64_t newest[2] = {0, 0};
    bool poisoned[2] = {false, false};
    unsigned faults = 0, brought = 0, moved = 0;
    std::string wrong;

    explicit Forgetting(uint64_t seed)
        : machine(seed, BYTES, HOST_BASE, HOST_BYTES), reference(machine), spaces(machine, reference, TABLES_AT, BYTES),
          frames(machine.random), random(machine.random)
    {
        for (auto *bytes : {&machine.local.bytes, &machine.host.bytes})
            for (uint8_t &byte : *bytes)
                byte = byte == OTHERS ? 0 : byte;
        std::fill_n(machine.local.bytes.begin() + COMES_FROM, 4096, OTHERS);
        std::fill_n(machine.host.bytes.begin() + (long)(HOST_COMES_FROM - HOST_BASE), 4096, OTHERS);
        const unsigned height = 1 + (unsigned)random.below(3);
        spaces.set_root(SPACE, height);
        base = height == 1 ? 0 : random.below(1ull << (9 * height - 3)) * (8ull << 21);
        for (unsigned urgent = 0; urgent < 2; urgent++) {
            for (unsigned page = 0; page < EDITED; page++) {
                now[urgent].push_back(frames.take());
                spaces.map(SPACE, edited(urgent, page), now[urgent][page].first, now[urgent][page].second);
            }
            table[urgent] = take_local();
            make_table(table[urgent]);
            spaces.put(spaces.entry_at(SPACE, moves(urgent, 0), 1), gpu::VALID | table[urgent].second);
            for (unsigned page = 0; page < MOVED; page++) {
                const Frame frame = frames.take();
                put(table[urgent].second + 8 * page, entry_of(frame));
            }
        }
    }
    // The pages of both classes are neighbours, so that jobs go over from one's to the other's.
    uint64_t edited(unsigned urgent, unsigned page) const { return base + 4096ull * (EDITED * urgent + page); }
    uint64_t moves(unsigned urgent, unsigned page) const { return base + (1ull + urgent) * (1 << 21) + 4096ull * page; }
    void put(uint64_t at, uint64_t word)
    {
        for (unsigned i = 0; i < 8; i++)
            machine.local.bytes[at + i] = (uint8_t)(word >> (8 * i));
    }
    uint8_t *bytes_of(const Frame &frame)
    {
        return frame.first ? &machine.host.bytes[frame.second - HOST_BASE] : &machine.local.bytes[frame.second];
    }
    void make_table(const Frame &frame) { std::fill_n(bytes_of(frame), 4096, (uint8_t)0); }
    Frame take_local()
    {
        for (size_t i = frames.free.size(); i-- > 0;) {
            if (!frames.free[i].first) {
                const Frame frame = frames.free[i];
                frames.free.erase(frames.free.begin() + (long)i);
                return frame;
            }
        }
        throw std::runtime_error("no page of video memory is free");
    }
    void submit(Job job, bool urgent, unsigned slot)
    {
        job.urgent = urgent;
        job.slot = slot;
        job.space = SPACE;
        machine.submit(job);
        submitted[urgent]++;
        if (slot >= 2)
            newest[urgent] = submitted[urgent];
    }
    void step()
    {
        machine.step();
        const uint16_t told[2] = {machine.top->jobs_retired, machine.top->jobs_retired_urgent};
        for (unsigned urgent = 0; urgent < 2; urgent++) {
            over[urgent] += (uint16_t)(told[urgent] - seen[urgent]);
            seen[urgent] = told[urgent];
        }
        for (Comes &place : comes) {
            if (!place.there && over[place.urgent] >= place.number) {
                place.there = true;
                place.until = machine.cycle + 3000;
                machine.forbidden.insert(place.frame);
            }
        }
        if (machine.top->fault_valid && random.chance(10)) {
            const Fault fault = take_fault(machine);
            poisoned[fault.slot == 3] = true;
            faults++;
            if (fault.slot < 2 || fault.kind != FERRY_FAULT_KIND_PAGE_ABSENT)
                wrong = "a fault: " + text(fault);
        }
        // A slot is freed when its last job is over.
        for (unsigned urgent = 0; urgent < 2; urgent++) {
            if (poisoned[urgent] && over[urgent] >= newest[urgent] && !machine.top->fault_valid) {
                poisoned[urgent] = false;
                machine.clear_poison(4u << urgent);
            }
        }
    }
    // What is another's for long enough, and still as it came, is anybody's again.
    void look()
    {
        for (size_t i = comes.size(); i-- > 0;) {
            if (!comes[i].there || comes[i].until > machine.cycle)
                continue;
            uint8_t *bytes = bytes_of(comes[i].frame);
            for (unsigned k = 0; k < 4096; k++)
                if (bytes[k] != OTHERS)
                    wrong = "what came to a place that was forgotten is not what it was";
            std::fill_n(bytes, 4096, (uint8_t)random.below(OTHERS));
            machine.forbidden.erase(comes[i].frame);
            frames.free.insert(frames.free.begin(), comes[i].frame);
            comes.erase(comes.begin() + (long)i);
            brought++;
        }
    }
    void bring_in(const Frame &frame, bool urgent)
    {
        Job job;
        job.unordered = random.chance(80);
        job.length = 4096;
        job.destination_kind = frame.first ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
        job.destination = frame.second;
        if (random.chance(25)) {
            job.op = FERRY_JOB_OP_FILL;
            job.source = 0x0101010101010101ull * OTHERS;
            job.pattern_log2 = 3;
        } else {
            const bool host = random.chance(60);
            job.source_kind = host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
            job.source = host ? HOST_COMES_FROM : COMES_FROM;
        }
        submit(job, urgent, !urgent);
        comes.push_back({frame, urgent, submitted[urgent]});
    }
    void write_entry(uint64_t at, uint64_t entry, bool urgent)
    {
        Job job;
        job.op = FERRY_JOB_OP_FILL;
        job.pattern_log2 = 3;
        job.length = 8;
        job.destination = at;
        job.source = entry;
        job.unordered = random.chance(50);
        submit(job, urgent, !urgent);
    }
    void edit(bool urgent)
    {
        if (frames.free.size() < 40)
            return;
        std::vector<Frame> left;
        uint64_t address = 0;
        unsigned scope = 0;
        if (random.chance(30)) {
            // The table's content moves with it.
            const Frame old = table[urgent], to = take_local();
            std::copy_n(bytes_of(old), 4096, bytes_of(to));
            address = moves(urgent, 0);
            write_entry(spaces.entry_at(SPACE, address, 1), gpu::VALID | to.second, urgent);
            table[urgent] = to;
            left.push_back(old);
            scope = FERRY_FORGET_SCOPE_TABLE;
            moved++;
        } else {
            for (unsigned k = 1 + (unsigned)random.below(2); k > 0; k--) {
                const unsigned page = (unsigned)random.below(EDITED);
                address = edited(urgent, page);
                left.push_back(now[urgent][page]);
                now[urgent][page] = frames.take();
                write_entry(spaces.entry_at(SPACE, address, 0), entry_of(now[urgent][page]), urgent);
            }
            scope = left.size() == 1 ? FERRY_FORGET_SCOPE_GROUP : FERRY_FORGET_SCOPE_TABLE;
        }
        scope += (unsigned)random.below(FERRY_FORGET_SCOPE_ALL + 1 - scope);
        submit(forget_job(scope, SPACE, address), urgent, !urgent);
        for (const Frame &frame : left)
            bring_in(frame, urgent);
    }
    // Through what is edited, by addresses on one side or on both; now and then where nothing is.
    void rogue(bool urgent)
    {
        if (poisoned[urgent])
            return;
        Job job;
        job.unordered = random.chance(60);
        auto somewhere = [&](uint32_t length) {
            const bool table = random.chance(35);
            const uint64_t bytes = 4096ull * (table ? MOVED : 2 * EDITED);
            return (table ? moves((unsigned)random.below(2), 0) : base) + random.below(bytes - length);
        };
        if (random.chance(15)) {
            // By the way: one that may be dropped.
            submit(forget_job((unsigned)random.below(4), SPACE, somewhere(8)), urgent, 2 + urgent);
            return;
        }
        job.length = (uint32_t)(random.chance(20) ? random.below(9) : random.below(random.chance(30) ? 20000 : 2000));
        const unsigned way = (unsigned)random.below(8);
        job.source_kind = job.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
        job.source = somewhere(job.length);
        job.destination = somewhere(job.length);
        auto by_place = [&](unsigned &kind) {
            const bool host = random.chance(50);
            kind = host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
            return (host ? HOST_SCRATCH_AT : SCRATCH_AT) + random.below(SCRATCH_BYTES - job.length);
        };
        if (way == 0 || way == 1)
            job.source = by_place(job.source_kind);
        if (way == 1 || way == 2)
            job.destination = by_place(job.destination_kind);
        if (way == 3) {
            job.op = FERRY_JOB_OP_FILL;
            job.source_kind = 0;
            job.source = 0x1122334455667788ull;
            job.pattern_log2 = (unsigned)random.below(4);
        }
        if (way == 4 && job.length > 0) {
            job.op = FERRY_JOB_OP_READ;
            job.destination_kind = 0;
            job.length = 1 + job.length % 8;
        }
        if (random.chance(6) && job.source_kind == FERRY_ADDRESS_KIND_VIRTUAL && job.length > 0)
            job.source = base + 3 * (1 << 21);
        submit(job, urgent, 2 + urgent);
    }
    bool idle() const { return machine.idle(); }
};

void storm(Random &random, Memory &memory)
{
    static const unsigned long_or_short[] = {0, 0, 3, 30, 200};
    for (Stops &stops : memory.stops) {
        stops.most_stopped = long_or_short[random.below(5)];
        stops.most_going = stops.most_stopped > 3 ? 200 : long_or_short[2 + random.below(3)];
    }
}

std::string in_a_storm(uint64_t seed)
{
    unsigned faults = 0, brought = 0, moved = 0;
    for (unsigned round = 0; round < rounds(6, 40); round++) {
        Forgetting all(seed + round);
        Machine &machine = all.machine;
        Random &random = machine.random;
        for (unsigned batch = 0; batch < 10 && all.wrong.empty(); batch++) {
            machine.timing = any_timing(random);
            storm(random, machine.local);
            storm(random, machine.host);
            machine.jobs_stall = random.chance(30);
            const unsigned rogues = 30 + (unsigned)random.below(60), pause = random.chance(50) ? 30 : 300;
            for (unsigned i = 0; i < 40 && all.wrong.empty(); i++) {
                const bool urgent = random.chance(60);
                if (random.chance(rogues))
                    all.rogue(random.chance(30));
                if (machine.waiting.size() < 20 && machine.waiting_urgent.size() < 20)
                    all.edit(urgent);
                for (uint64_t k = random.below(pause); k > 0; k--)
                    all.step();
                all.look();
            }
            uint64_t ended = 0;
            for (uint64_t k = 0; !all.idle(); k++) {
                all.step();
                if (all.over[0] + all.over[1] != ended) {
                    ended = all.over[0] + all.over[1];
                    k = 0;
                }
                if (k > 400000)
                    return "round " + std::to_string(round) + ": no job ends";
            }
            for (unsigned k = 0; k < 3200; k++)
                all.step();
            all.look();
            if (!machine.errors.empty())
                all.wrong = machine.errors.front();
            // Nothing of another's was seen: it is nowhere but in its places.
            for (uint64_t at = SCRATCH_AT; at < SCRATCH_AT + SCRATCH_BYTES; at++)
                if (machine.local.bytes[at] == OTHERS || machine.host.bytes[at] == OTHERS)
                    all.wrong = "another's content was read";
            for (unsigned urgent = 0; urgent < 2; urgent++)
                for (const Frame &frame : all.now[urgent])
                    for (unsigned k = 0; k < 4096; k++)
                        if (all.bytes_of(frame)[k] == OTHERS)
                            all.wrong = "another's content is where a program's addresses lead";
        }
        if (!all.wrong.empty())
            return "round " + std::to_string(round) + ": " + all.wrong;
        faults += all.faults;
        brought += all.brought;
        moved += all.moved;
    }
    return faults > 5 && brought > 500 && moved > 100
               ? ""
               : "hardly a storm: " + std::to_string(faults) + " faults, " + std::to_string(brought) + " places, " +
                     std::to_string(moved) + " tables moved";
}

} // namespace

const std::vector<Test> FORGET_STORM_TESTS = {{"forget_in_a_storm", in_a_storm}};
