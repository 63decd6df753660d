// SPDX-License-Identifier: Apache-2.0
// FORGET: in its place among the jobs of its class. Who copies by address behind it goes by the tables as they are
// then; who copies from place to place reads meanwhile, and writes behind it.
#include "areas.h"

namespace
{

constexpr unsigned SPACE = 5, PAGES = 16;
const uint64_t AT = 0x7654320000;

uint64_t entry_of(const std::pair<bool, uint64_t> &frame)
{
    return gpu::VALID | gpu::LEAF | (frame.first ? gpu::HOST | gpu::SNOOP : 0) | frame.second;
}

// A space of four levels with pages of which half are edited by jobs and half stay.
struct Edited {
    Machine machine;
    Reference reference;
    Spaces spaces;
    Frames frames;
    std::vector<std::pair<bool, uint64_t>> now;

    explicit Edited(uint64_t seed)
        : machine(seed, BYTES, HOST_BASE, HOST_BYTES), reference(machine), spaces(machine, reference, TABLES_AT, BYTES),
          frames(machine.random)
    {
        spaces.set_root(SPACE, 3);
        for (unsigned page = 0; page < 2 * PAGES; page++) {
            now.push_back(frames.take());
            spaces.map(SPACE, AT + 4096 * page, now[page].first, now[page].second);
        }
    }
    void submit(const Job &job)
    {
        machine.submit(job);
        reference.apply(job);
        for (unsigned k = machine.random.chance(50) ? 0 : (unsigned)machine.random.below(200); k > 0; k--)
            machine.step();
    }
    // Another page is behind the address, by a job; what was there is free once all is done.
    Job edit(unsigned page)
    {
        Job job;
        job.op = FERRY_JOB_OP_FILL;
        job.pattern_log2 = 3;
        job.length = 8;
        job.destination = spaces.entry_at(SPACE, AT + 4096 * page, 0);
        now[page] = frames.take();
        job.source = spaces.tables.local.words[job.destination] = entry_of(now[page]);
        return job;
    }
    // Inside a page, to or from a place of its own.
    Job use(unsigned page, bool writes, uint64_t place)
    {
        Random &random = machine.random;
        Job job;
        job.space = SPACE;
        job.unordered = true;
        job.length = (uint32_t)(1 + random.below(1024));
        uint64_t there = AT + 4096 * page + random.below(4096 - job.length);
        job.source = writes ? place : there;
        job.destination = writes ? there : place;
        (writes ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_VIRTUAL;
        return job;
    }
};

// Entries are written, forgotten and gone by in one queue without a pause, of either class; the other one has jobs that
// go by entries that stay, and that FORGET stops in their midst.
std::string in_its_place(uint64_t seed)
{
    uint64_t beside = 0;
    for (unsigned round = 0; round < rounds(10, 40); round++) {
        Edited edited(seed + round);
        Machine &machine = edited.machine;
        Random &random = machine.random;
        for (unsigned batch = 0; batch < 12; batch++) {
            bool urgent = random.chance(60);
            machine.timing = any_timing(random);
            // An entry may stand in front of video memory for long, while others are read.
            machine.local.stops[3].most_stopped = random.chance(50) ? 200 : 0;
            machine.local.stops[3].most_going = 100;
            std::vector<std::pair<bool, uint64_t>> before = edited.now;
            for (unsigned i = 0; i < 8; i++) {
                unsigned page = (unsigned)random.below(PAGES), slot = urgent ? 1 : 2 + i % 2;
                uint64_t place = 4096ull * (batch % 2 * 32 + 4 * i);
                auto of_class = [&](Job job) {
                    job.urgent = urgent;
                    job.slot = slot;
                    edited.submit(job);
                };
                // What is written here is not read: who is unordered would have to wait for that.
                bool writes = (page + batch) % 2;
                if (random.chance(70))
                    of_class(edited.use(page, writes, place));
                of_class(edited.edit(page));
                // Who forgets a space names no page.
                const unsigned scope = (unsigned)random.below(4);
                of_class(forget_job(scope, SPACE, scope < FERRY_FORGET_SCOPE_SPACE ? AT + 4096 * page : 0));
                for (unsigned k = 0; k < 3; k++)
                    of_class(edited.use(page, writes, place + 1024 * (k + 1)));
                // From pages that stay, into video memory that is nobody else's.
                Job other;
                other.urgent = !urgent;
                other.slot = urgent ? 3 : 1;
                other.space = SPACE;
                other.unordered = random.chance(50);
                other.source_kind = FERRY_ADDRESS_KIND_VIRTUAL;
                other.length = (uint32_t)random.below(3 * 4096);
                other.source = AT + 4096 * (PAGES + random.below(PAGES - 3)) + random.below(4096);
                other.destination = 0x40000 + 0x3000 * i;
                if (random.chance(60))
                    edited.submit(other);
                beside += machine.top->busy;
            }
            std::string wrong = finish(machine, edited.reference);
            if (!wrong.empty())
                return "round " + std::to_string(round) + ", batch " + std::to_string(batch) + ": " + wrong;
            if (machine.top->fault_valid)
                return "a fault: " + text(take_fault(machine));
            for (unsigned page = 0; page < PAGES; page++)
                if (before[page] != edited.now[page])
                    edited.frames.free.insert(edited.frames.free.begin(), before[page]);
        }
    }
    return beside > 100 ? "" : "hardly a job was under way";
}

// While what is before FORGET is not written, a copy by place behind it has asked for all it reads, and written
// nothing; one by address has asked for nothing.
std::string reads_go_ahead(uint64_t seed)
{
    for (bool by_address : {false, true}) {
        Edited edited(seed);
        Machine &machine = edited.machine;
        machine.timing.write_latency = 400;
        auto urgent = [&](Job job) {
            job.urgent = true;
            edited.submit(job);
        };
        const std::pair<bool, uint64_t> frame = {true, HOST_BASE + 4096 * 100};
        edited.spaces.map(SPACE, AT, frame.first, frame.second);
        Job copy;
        copy.unordered = true;
        copy.space = SPACE;
        copy.source_kind = by_address ? FERRY_ADDRESS_KIND_VIRTUAL : FERRY_ADDRESS_KIND_SYSTEM;
        copy.source = by_address ? AT : frame.second;
        copy.destination = 0x1000;
        copy.length = 2048;
        Job fill;
        fill.op = FERRY_JOB_OP_FILL;
        fill.destination = 0x9000;
        fill.length = 8;
        urgent(fill);
        urgent(forget_job(FERRY_FORGET_SCOPE_SPACE, SPACE, 0));
        urgent(copy);
        const uint64_t before = machine.local.write_beats;
        unsigned asked = 0;
        for (unsigned k = 0; machine.top->jobs_retired_urgent == 0; k++) {
            asked = (unsigned)machine.asked.size();
            if (k > 1000)
                return "the fill does not end";
            machine.step();
        }
        if (machine.local.write_beats - before > 1)
            return "a copy writes in front of what is before FORGET";
        if (by_address ? asked != 0 : asked != 4)
            return std::string(by_address ? "by address: " : "by place: ") + std::to_string(asked) + " reads ahead";
        std::string wrong = finish(machine, edited.reference);
        if (!wrong.empty())
            return wrong;
    }
    return "";
}

// A reset at any time: a FORGET that is not told as cut off has been forgotten; one that is goes again.
std::string resets(uint64_t seed)
{
    Edited edited(seed);
    Machine &machine = edited.machine;
    Random &random = machine.random;
    unsigned cut = 0, done = 0;
    for (unsigned when = 0; when < 400; when++) {
        machine.timing = random_timing(random, when % 4 == 0);
        // It is remembered how it was.
        edited.submit(edited.use(0, false, 0x2000));
        std::string wrong = finish(machine, edited.reference);
        if (!wrong.empty())
            return "before " + std::to_string(when) + ": " + wrong;
        std::pair<bool, uint64_t> old = edited.now[0];
        edited.now[0] = edited.frames.take();
        edited.spaces.map(SPACE, AT, edited.now[0].first, edited.now[0].second);
        edited.frames.free.insert(edited.frames.free.begin(), old);
        Job before = edited.use(PAGES + 1, random.chance(50), 0x3000), behind = edited.use(0, false, 0x4000);
        Job forget = forget_job((unsigned)random.below(4), SPACE, AT);
        before.slot = 1;
        forget.slot = 2;
        forget.packet_offset = 64;
        behind.slot = 3;
        for (Job job : {before, forget, behind}) {
            job.urgent = true;
            machine.submit(job);
        }
        const uint64_t first = machine.queued_urgent;
        machine.aborted.clear();
        for (unsigned k = when / 2; k > 0; k--)
            machine.step();
        if (!reset_engine(machine))
            return "a reset after " + std::to_string(when / 2) + " cycles does not end";
        bool again = machine.queued_urgent - first < 2;
        for (const auto &[slot, packet] : machine.aborted)
            again |= slot == 2 && packet == 64;
        (again ? cut : done)++;
        machine.clear_poison(15);
        for (int i = 0; i < 3; i++)
            machine.step();
        edited.reference.local = machine.local.bytes;
        edited.reference.host = machine.host.bytes;
        if (again) {
            forget.urgent = true;
            machine.submit(forget);
        }
        behind.urgent = true;
        edited.submit(behind);
        wrong = finish(machine, edited.reference);
        if (!wrong.empty())
            return "a reset after " + std::to_string(when / 2) + " cycles: " + wrong;
    }
    return cut > 20 && done > 20 ? "" : "resets came at the wrong times";
}

} // namespace

const std::vector<Test> FORGET_TESTS = {
    {"forget_in_its_place", in_its_place},
    {"forget_lets_reads_ahead", reads_go_ahead},
    {"forget_resets", resets},
};
