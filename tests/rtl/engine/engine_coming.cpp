// SPDX-License-Identifier: Apache-2.0
// A burst between pages is announced before all of its words are there if the rest is on its way from video memory:
// what that saves, and that no announced burst ever waits for the other memory.
#include "areas.h"

namespace
{

// A copy between pages of video memory that are known takes as long as one between places, and what its pages' look-up
// takes; whatever its length, and wherever its words lie in theirs.
std::string as_fast_as_places(uint64_t seed)
{
    Machine machine(seed, BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Spaces spaces(machine, reference, TABLES_AT, BYTES);
    const uint64_t from = 0x40000000, to = 0x80000000;
    spaces.set_root(3, 2);
    for (unsigned i = 0; i < 16; i++) {
        spaces.map(3, from + 4096 * i, false, PAGES_AT + 4096 * i);
        spaces.map(3, to + 4096 * i, false, PAGES_AT + 0x20000 + 4096 * i);
    }
    for (unsigned latency : {1u, 20u, 100u})
        for (uint32_t length : {1u, 24u, 240u, 700u, 4000u, 30000u})
            for (unsigned shift : {0u, 3u, 264u}) {
                uint64_t took[2] = {};
                // The first brings the pages in.
                for (unsigned turn = 0; turn < 3; turn++) {
                    Job job;
                    job.space = 3;
                    job.length = length;
                    job.source_kind = job.destination_kind = turn < 2 ? FERRY_ADDRESS_KIND_VIRTUAL : 0;
                    job.source = turn < 2 ? from : PAGES_AT;
                    job.destination = (turn < 2 ? to : PAGES_AT + 0x20000) + shift;
                    machine.timing = {latency, 1, 0};
                    machine.submit(job);
                    reference.apply(job);
                    const uint64_t begin = machine.cycle;
                    std::string wrong = finish(machine, reference);
                    if (!wrong.empty())
                        return wrong;
                    took[turn / 2] = machine.cycle - begin;
                }
                // Longer ones ask for their next page ahead.
                if (took[0] > took[1] + 4)
                    return std::to_string(length) + " bytes at a latency of " + std::to_string(latency) + ": " +
                           std::to_string(took[0]) + " cycles, between places " + std::to_string(took[1]);
            }
    return "";
}

// One of the two memories gives no more data somewhere amid jobs whose pages lie in either, in any order, and so do the
// next job's. Whatever was announced to the other by then is whole: there others write, through the same port.
std::string whole_bursts(uint64_t seed, bool host_stops)
{
    unsigned begun = 0;
    for (unsigned round = 0; round < rounds(24, 240); round++) {
        Machine machine(seed + round, BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        Random &random = machine.random;
        Spaces spaces(machine, reference, TABLES_AT, BYTES);
        spaces.set_root(3, 2);
        Frames frames(random);
        // Twelve areas for each side, in the midst of which a table ends: the page behind that is not known with the
        // one before.
        const uint64_t apart = 0x600000, from = 0x200000 - 0x2000, to = from + 12 * apart;
        for (unsigned i = 0; i < 24; i++)
            for (unsigned page = 0; page < 4; page++) {
                auto [host, frame] = frames.take();
                spaces.map(3, from + i * apart + 4096 * page, host, frame);
            }
        Memory &stops = host_stops ? machine.host : machine.local, &others = host_stops ? machine.local : machine.host;
        for (unsigned turn = 0; turn < 8; turn++) {
            machine.timing = random.chance(50) ? any_timing(random) : Timing{(unsigned)(1 + random.below(120)), 1, 0};
            // A page that has to be walked comes later than the words of the one before it.
            if (random.chance(60))
                machine.forget(FERRY_FORGET_SCOPE_ALL, 0, 0);
            for (unsigned i = 0; i < 4; i++) {
                Job job;
                job.space = 3;
                job.slot = i;
                job.unordered = random.chance(70);
                job.source_kind = job.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
                // Short ones too: then a block's worth is out before the page behind it is another memory's.
                job.length = (uint32_t)(1 + random.below(random.chance(40) ? 600 : 9000));
                job.source = from + random.below(12) * apart + random.below(0x4000 - job.length);
                if (random.chance(50)) {
                    const uint64_t before = random.below(700);
                    job.source += 0x2000 - before - (job.source - from) % apart;
                    job.length = (uint32_t)(before + 1 + random.below(200));
                }
                job.destination = to + random.below(12) * apart + random.below(0x4000 - job.length);
                machine.submit(job);
                reference.apply(job);
                if (random.chance(40)) {
                    for (uint64_t k = random.below(200); k; k--)
                        machine.step();
                    // Cuts what runs.
                    Job urgent;
                    urgent.urgent = true;
                    machine.submit(urgent);
                }
            }
            for (uint64_t i = random.below(2500); i; i--)
                machine.step();
            stops.dead = Memory::R;
            // Until nothing moves any more.
            for (uint64_t moved = UINT64_MAX, since = machine.cycle; machine.cycle - since < 600; machine.step()) {
                const uint64_t now = machine.local.read_beats + machine.local.write_beats + machine.host.read_beats +
                                     machine.host.write_beats + machine.queued;
                since = now == moved ? since : machine.cycle;
                moved = now;
            }
            begun += !machine.idle();
            if (!others.writes.empty() || !others.beats.empty())
                return "round " + std::to_string(round) + ": a burst of " +
                       std::to_string(others.writes.empty() ? 0 : others.writes.front().beats) +
                       " beats waits for the memory that is read";
            stops.dead = 0;
            std::string wrong = finish(machine, reference);
            if (!wrong.empty())
                return "round " + std::to_string(round) + ": " + wrong;
        }
    }
    return begun < 60 ? "only " + std::to_string(begun) + " stood in their midst" : "";
}

std::string video_memory_waits_for_no_host(uint64_t seed)
{
    return whole_bursts(seed, true);
}
std::string host_waits_for_no_video_memory(uint64_t seed)
{
    return whole_bursts(seed, false);
}

} // namespace

const std::vector<Test> COMING_TESTS = {
    {"as_fast_as_places_coming", as_fast_as_places},
    {"video_memory_waits_for_no_host_coming", video_memory_waits_for_no_host},
    {"host_waits_for_no_video_memory_coming", host_waits_for_no_video_memory},
};
