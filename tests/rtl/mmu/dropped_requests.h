// SPDX-License-Identifier: Apache-2.0
// The page-table unit while the engine drops its jobs.
#pragma once

#include "simple_tables.h"

// The engine drops its jobs in each cycle of two walks, of tables in both memories: no read begins, whatever is asked
// for, and each request ends. Afterwards all is answered as before.
inline std::string dropped_in_each_cycle(uint64_t seed)
{
    unsigned spared = 0;
    for (unsigned when = 0; when < 120; when++) {
        Simple bench(3, seed + when);
        bench.latency = 6;
        bench.stall = when % 3 * 30;
        const Request requests[] = {{3, bench.address}, {3, bench.address ^ 0x200000, true}};
        // The second one's lowest table is in the host's memory.
        bench.tables.local.words[entry_at(MIDDLE, 1, requests[1].address)] = VALID | HOST | OTHER;
        bench.tables.host.words[entry_at(OTHER, 0, requests[1].address)] = VALID | LEAF | 0x777000;
        bench.lowest(bench.address) = VALID | LEAF | 0x2345000;
        for (unsigned side = 0; side < 2; side++)
            bench.ask(side, requests[side]);
        for (unsigned i = 0; i < when / 2; i++)
            bench.step();
        bench.top->eval();
        // One that stands on a bus stays.
        const uint64_t before = bench.reads + (bench.top->local_arvalid || bench.top->host_arvalid);
        bench.top->drop = 1;
        for (unsigned again = 0; again < 2; again++)
            for (unsigned side = 0; side < 2; side++) {
                for (unsigned i = 0; i < 300 && !bench.sides[side].answered; i++)
                    bench.step();
                if (!bench.sides[side].answered)
                    return "cycle " + std::to_string(when) + ": no answer while jobs are dropped";
                const Answer expected = bench.tables.walk(requests[side]), given = bench.sides[side].answer;
                if (given.fault == FERRY_FAULT_KIND_NONE && !(given == expected))
                    return "cycle " + std::to_string(when) + ": " + text(given) + " while jobs are dropped";
                spared += given.fault != FERRY_FAULT_KIND_NONE;
                bench.ask(side, requests[side]);
            }
        if (bench.reads > before)
            return "cycle " + std::to_string(when) + ": a read began while jobs were dropped";
        for (unsigned side = 0; side < 2; side++)
            while (!bench.sides[side].answered)
                bench.step();
        bench.top->drop = 0;
        for (unsigned side = 0; side < 2; side++)
            bench.right(requests[side], side);
        if (!bench.wrong.empty())
            return "cycle " + std::to_string(when) + ": " + bench.wrong;
    }
    return spared > 50 ? "" : "no request needed a read";
}
