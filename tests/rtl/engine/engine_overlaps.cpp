// SPDX-License-Identifier: Apache-2.0
// Copies that overlap themselves, cut by an engine reset in their middle: how far they came is told to the byte, since
// only then can they go on without reading what they wrote. Of one that memory refused a word of nothing is told.
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
    for (unsigned round = 0; round < 600; round++) {
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
    if (middle[0] < 50 || middle[1] < 50 || preempted < 20 || refused < 5)
        return "little happened: " + std::to_string(middle[0]) + " cut going up, " + std::to_string(middle[1]) +
               " going down, " + std::to_string(preempted) + " beside urgent ones, " + std::to_string(refused) +
               " refused";
    return "";
}

} // namespace

const std::vector<Test> OVERLAP_TESTS = {
    {"overlapping_copies_tell_how_far_they_came", cut_copies},
};
