// SPDX-License-Identifier: Apache-2.0
// A storm: each channel of both memories stops and goes on by itself, for as long as it likes, under jobs of every
// kind.
#include "areas.h"

namespace
{

// The ports' channels stop for long or hardly ever, each as it was made this time.
void storm(Random &random, Memory &memory)
{
    static const unsigned long_or_short[] = {0, 3, 30, 200};
    for (Stops &stops : memory.stops) {
        stops.most_stopped = long_or_short[random.below(4)];
        stops.most_going = long_or_short[1 + random.below(3)];
    }
}

// Of one place that no other job touches, in both memories.
Job urgent_job(Random &random)
{
    constexpr uint64_t BYTES_THERE = 0x40000;
    Job job;
    job.urgent = true;
    job.op = random.chance(30) ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
    job.pattern_log2 = (unsigned)random.below(4);
    job.slot = (unsigned)random.below(4);
    job.length = (uint32_t)(random.chance(50) ? random.below(20) : random.below(900));
    auto place = [&](unsigned &kind) {
        kind = random.chance(50) ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
        const uint64_t offset = random.below(BYTES_THERE - job.length);
        return offset + (kind == FERRY_ADDRESS_KIND_SYSTEM ? HOST_BASE + HOST_BYTES : (uint64_t)BYTES) - BYTES_THERE;
    };
    job.source = place(job.source_kind);
    job.destination = place(job.destination_kind);
    if (job.op == FERRY_JOB_OP_FILL)
        job.source = random.next(), job.source_kind = 0;
    return job;
}

// Copies and fills, linear and virtual, and urgent ones beside them; the unit forgets now and then. Every byte is where
// it should be, and nothing stands still. Two addresses of reads stand at once, in front of video memory, again and
// again.
std::string each_channel_by_itself(uint64_t seed)
{
    uint64_t two_stood = 0, urgents = 0, forgotten = 0;
    for (unsigned round = 0; round < 25; round++) {
        Machine machine(seed + round, BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        Random &random = machine.random;
        Spaces spaces(machine, reference, TABLES_AT, BYTES - 0x40000);
        Frames frames(random);
        const std::vector<Area> areas = some_areas(spaces, frames, random);
        for (unsigned batch = 0; batch < 12; batch++) {
            machine.timing = any_timing(random);
            storm(random, machine.local);
            storm(random, machine.host);
            for (unsigned i = 0; i < 8; i++) {
                const bool urgent = random.chance(25);
                const Job job = urgent ? urgent_job(random) : any_job(random, areas, random.chance(10) ? 9000 : 1200);
                machine.submit(job);
                reference.apply(job);
                urgents += urgent;
                for (uint64_t k = random.below(300); k; k--) {
                    machine.step();
                    two_stood += machine.top->two_addresses;
                }
                if (random.chance(20)) {
                    const Area &area = areas[random.below(areas.size())];
                    machine.forget((unsigned)random.below(4), area.space, area.address);
                    forgotten++;
                }
            }
            const std::string wrong = finish(machine, reference);
            if (!wrong.empty())
                return "round " + std::to_string(round) + ", batch " + std::to_string(batch) + ": " + wrong;
        }
    }
    if (two_stood < 1000 || urgents < 300 || forgotten < 200)
        return "hardly a storm: two addresses stood for " + std::to_string(two_stood) + " cycles, " +
               std::to_string(urgents) + " urgent jobs, " + std::to_string(forgotten) + " times forgotten";
    return "";
}

} // namespace

const std::vector<Test> STORM_TESTS = {{"a_storm_in_which_each_channel_stops_by_itself", each_channel_by_itself}};
