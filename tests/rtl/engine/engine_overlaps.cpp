// SPDX-License-Identifier: Apache-2.0
// Copies that overlap themselves, cut by an engine reset in their middle: how far they came is told to the byte, since
// only then can they go on without reading what they wrote. Of one that memory refused a word of nothing is told.
// And copies that go from their end and go wrong: of their start nothing is written, whatever is of their end.
#include <algorithm>

#include "suite.h"

namespace
{

bool goes_down(const Job &job)
{
    return job.destination > job.source && job.destination - job.source < job.length;
}

// A copy inside its slot's window of one memory; most overlap themselves, by any distance.
Job copy_in_window(Random &random, unsigned slot)
{
    static const unsigned distances[] = {1, 9, 100, 600, 3000};
    const uint64_t window = 16384;
    Job job;
    job.slot = slot;
    job.urgent = slot == 3;
    job.length = 1 + (uint32_t)random.below(random.chance(30) ? 100 : 6000);
    job.source_kind = job.destination_kind = slot & 1 ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
    uint64_t distance = random.below(distances[random.below(5)] + 1);
    uint64_t low = random.below(window - job.length - distance) + 65536 * slot;
    bool down = random.chance(50);
    job.source = (down ? low : low + distance) + (slot & 1 ? HOST_BASE : 0);
    job.destination = (down ? low + distance : low) + (slot & 1 ? HOST_BASE : 0);
    return job;
}

// The part of a job that is written already, and the one that is left.
std::pair<Job, Job> divided(const Job &job, bool left, uint32_t place)
{
    Job written = job, rest = job;
    if (left) {
        rest.length = place + 1;
        written.length = job.length - rest.length;
        written.source += rest.length;
        written.destination += rest.length;
    } else {
        written.length = place;
        rest.length -= place;
        rest.source += place;
        rest.destination += place;
    }
    return {written, rest};
}

std::string cut_copies(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Random &random = machine.random;
    unsigned middle[2] = {}, preempted = 0, refused = 0;
    auto few = [&] { return middle[0] < 50 || middle[1] < 50 || preempted < 20 || refused < 5; };
    for (unsigned round = 0; round < 600 || (round < 6000 && few()); round++) {
        const std::string where = "round " + std::to_string(round) + ", ";
        machine.timing = any_timing(random);
        machine.aborted.clear();
        machine.aborted_places.clear();
        Reference reference(machine);
        std::vector<Job> chains[4];
        bool urgent = false;
        for (unsigned i = 1 + (unsigned)random.below(8); i; i--) {
            Job job = copy_in_window(random, (unsigned)random.below(4));
            job.packet_offset = (uint16_t)(8 * chains[job.slot].size());
            chains[job.slot].push_back(job);
            machine.submit(job);
            urgent |= job.urgent;
        }
        // A word is refused to one, which may be known only when the job is cut and all it has sent is counted.
        uint64_t bad_word = 0;
        const auto &chain = chains[random.below(4)];
        if (random.chance(40) && !chain.empty()) {
            const Job &job = chain[random.below(chain.size())];
            bad_word = (job.destination + random.below(job.length)) & ~7ull;
            machine.timing.write_latency = 1 + (unsigned)random.below(300);
            (job.slot & 1 ? machine.host : machine.local).write_error = bad_word;
        }
        for (uint64_t i = random.below(random.chance(50) ? 300 : 3000); i; i--)
            machine.step();
        size_t offered[4];
        reset_amid(machine, chains, offered);
        machine.drain();
        machine.local.write_error = machine.host.write_error = 0;
        size_t faulted[4] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
        if (machine.top->fault_valid) {
            Fault fault = take_fault(machine);
            faulted[fault.slot] = fault.packet_offset / 8;
        }
        machine.clear_poison(15);

        std::vector<Job> rest[4];
        for (unsigned slot = 0; slot < 4; slot++) {
            size_t done = std::min(offered[slot], faulted[slot]), told = 0;
            while (told < machine.aborted.size() && machine.aborted[told].first != slot)
                told++;
            if (told < machine.aborted.size())
                done = machine.aborted[told].second / 8;
            for (size_t i = 0; i < done; i++)
                reference.apply(chains[slot][i]);
            rest[slot].assign(chains[slot].begin() + (ptrdiff_t)done, chains[slot].end());
            if (done == offered[slot])
                continue;
            // What is wrong with it is nobody's business here.
            if (faulted[slot] != SIZE_MAX) {
                reference.take_over(machine, rest[slot].front());
                rest[slot].clear();
                continue;
            }
            auto [left, place] = machine.aborted_places[told];
            const Job &cut = rest[slot].front();
            if (bad_word && bad_word + 7 >= cut.destination && bad_word < cut.destination + cut.length && place == 0 &&
                !left) {
                bool written = false;
                for (uint64_t i = 0; i < cut.length; i++)
                    written |= reference.now(machine, reference.destination(cut, i)) != *reference.destination(cut, i);
                refused += written;
                reference.take_over(machine, cut);
                rest[slot].clear();
                continue;
            }
            if (place >= cut.length || left != goes_down(cut))
                return where + "slot " + std::to_string(slot) + ": " + std::to_string(place) + " of " +
                       std::to_string(cut.length) + (left ? " left" : " written");
            auto [written, after] = divided(cut, left, place);
            reference.apply(written);
            middle[left] += written.length > 0;
            preempted += written.length > 0 && urgent && !cut.urgent;
            rest[slot].front() = after;
        }
        std::string wrong = reference.compare(machine);
        if (!wrong.empty())
            return where + "after the reset: " + wrong;
        for (const auto &jobs : rest) {
            for (const Job &job : jobs) {
                machine.submit(job);
                reference.apply(job);
            }
        }
        wrong = finish(machine, reference);
        if (!wrong.empty())
            return where + "what was left: " + wrong;
    }
    if (few())
        return "little happened: " + std::to_string(middle[0]) + " cut going up, " + std::to_string(middle[1]) +
               " going down, " + std::to_string(preempted) + " beside urgent ones, " + std::to_string(refused) +
               " refused";
    return "";
}

// What is wrong with a copy inside one memory that goes from its end: a beat of its source, or a range of video memory
// that its source or its destination begins in.
enum Flaw : unsigned { BEAT, SOURCE, DESTINATION, FLAWS };

// Where it goes wrong, found by going through it block after block of its destination from the last one on, as the
// contract has it: the block of the fault is [begin, end) of the job, and from `at` on nothing of it is written.
struct GoneWrong {
    uint32_t begin, end, at;
};

GoneWrong goes_wrong(const Job &job, Flaw flaw, uint64_t bad_begin, uint64_t bad_end)
{
    auto within = [&](uint64_t begin, uint64_t end) { return begin < bad_end && end > bad_begin; };
    uint32_t end = job.length;
    while (end) {
        uint64_t block = (job.destination + end - 1) & ~511ull;
        uint32_t begin = block > job.destination ? (uint32_t)(block - job.destination) : 0;
        if (flaw == DESTINATION) {
            if (within(job.destination + begin, job.destination + end))
                return {begin, end, begin};
        } else {
            // A read ends at a block of the source at the latest; the beats of one come one by one.
            uint64_t unit = flaw == BEAT ? 8 : 512;
            for (uint64_t from = job.source + begin; from < job.source + end; from = (from & ~(unit - 1)) + unit)
                if (within(from, std::min(job.source + end, (from & ~(unit - 1)) + unit)))
                    return {begin, end, (uint32_t)(from - job.source)};
        }
        end = begin;
    }
    return {0, 0, 0};
}

// A copy that goes from its end meets what is wrong in its middle. What lies well above that block is written, of what
// lies below nothing is, and so of bytes that are certainly written from its start on there are none.
std::string faults_going_down(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    unsigned middle[FLAWS] = {};
    for (unsigned round = 0; round < 450; round++) {
        const Flaw flaw = (Flaw)(round % FLAWS);
        machine.timing = any_timing(random);
        Job job;
        job.slot = (unsigned)random.below(4);
        job.packet_offset = (uint16_t)(random.next() & ~7ull);
        const bool host = flaw == BEAT && random.chance(50);
        job.source_kind = job.destination_kind = host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
        uint64_t bad = 200000 + random.below(4096) + (host ? HOST_BASE : 0), bad_end = bad + 1 + random.below(600);
        Fault wanted = {FERRY_FAULT_KIND_PROTECTED, job.slot, flaw == DESTINATION, job.packet_offset, 0, 0, false};
        // Both ends of a copy overlap; of a range that is not open, only one end of this one has a byte.
        const uint64_t below = random.below(3000), gap = random.below(200), above = 1 + random.below(3000);
        if (flaw == BEAT) {
            bad &= ~7ull, bad_end = bad + 8;
            job.source = bad_end - 1 - below;
            job.length = (uint32_t)(below + above);
            job.destination = job.source + 1 + random.below(job.length - 1);
            (host ? machine.host : machine.local).read_error = bad;
            machine.host.error_fault = FERRY_FAULT_KIND_HOST_UNSUPPORTED;
            wanted.kind = host ? (unsigned)FERRY_FAULT_KIND_HOST_UNSUPPORTED : (unsigned)FERRY_FAULT_KIND_LOCAL_ERROR;
        } else {
            machine.top->protect_base = bad;
            machine.top->protect_limit = bad_end;
            const uint64_t distance = bad_end - bad + gap + (flaw == SOURCE ? below : above);
            job.length = (uint32_t)(distance + 1 + random.below(3000));
            job.source = flaw == SOURCE ? bad - below : bad - gap - job.length;
            job.destination = job.source + distance;
        }
        if (!goes_down(job))
            continue;
        const GoneWrong wrong_at = goes_wrong(job, flaw, bad, bad_end);
        wanted.position = (flaw == DESTINATION ? job.destination : job.source) + wrong_at.at;
        middle[flaw] += wrong_at.begin > 0 && wrong_at.end < job.length;
        Job dropped = job, good;
        dropped.source = dropped.destination + job.length;
        dropped.packet_offset = (uint16_t)(job.packet_offset + 8);
        good.slot = (job.slot + 1) & 3;
        good.source = 600000;
        good.destination = 700000 + random.below(8);
        good.length = 300;
        for (const Job *each : {&job, &dropped, &good})
            machine.submit(*each);
        machine.drain();
        const std::string where = "round " + std::to_string(round) + ", block " + std::to_string(wrong_at.begin) +
                                  " to " + std::to_string(wrong_at.end) + " of " + std::to_string(job.length) + ": ";
        if (!machine.errors.empty())
            return where + machine.errors.front();
        if (!machine.top->fault_valid || machine.top->poison != 1u << job.slot)
            return where + "no fault, or another slot's";
        Fault found = take_fault(machine);
        machine.clear_poison(15);
        machine.local.read_error = machine.host.read_error = 0;
        machine.top->protect_base = machine.top->protect_limit = 0;
        if (found.kind != wanted.kind || found.slot != job.slot || found.write != wanted.write ||
            found.packet_offset != job.packet_offset || found.position != (uint32_t)wanted.position ||
            found.written != 0 || found.up_to_position)
            return where + "expected " + text(wanted) + ", found " + text(found);
        Reference done = reference;
        done.apply(job);
        // What was read of the block above may still have been gathered when the next could not be read.
        const uint32_t certain = flaw == DESTINATION ? wrong_at.end : wrong_at.end + 512;
        for (uint32_t i = wrong_at.begin; i < job.length; i++) {
            uint8_t *place = reference.destination(job, i);
            bool may_be = i < wrong_at.at || i >= wrong_at.end;
            if (i >= certain || (may_be && reference.now(machine, place) != *place))
                *place = *done.destination(job, i);
        }
        reference.apply(good);
        std::string wrong = reference.compare(machine);
        if (!wrong.empty())
            return where + wrong;
    }
    for (unsigned count : middle)
        if (count < 30)
            return "only " + std::to_string(count) + " went wrong in the middle";
    return "";
}

} // namespace

const std::vector<Test> OVERLAP_TESTS = {
    {"overlapping_copies_tell_how_far_they_came", cut_copies},
    {"copies_from_their_end_that_go_wrong", faults_going_down},
};
