// SPDX-License-Identifier: Apache-2.0
// The page-table unit's bursts: one whose rest is still to come as its side asks again, and a reset amid them.
#pragma once

#include "simple_tables.h"

// A request is answered with the first beat of its line. In each cycle from then on its side asks for a page of another
// table, the other side for one too: of the same memory or of the other one.
inline std::string the_rest_of_a_line()
{
    for (unsigned memories = 0; memories < 8; memories++) {
        for (unsigned when = 0; when < 40; when++) {
            Simple bench(2);
            bench.latency = 5;
            bench.stall = when % 2 * 50;
            const uint64_t first = bench.address & ~0x7fffull;
            const uint64_t pages[] = {first, first ^ 0x400000, first ^ 0x800000};
            const uint64_t tables[] = {LOWEST, OTHER, OTHER + PAGE};
            for (unsigned i = 0; i < 3; i++) {
                const bool host = memories >> i & 1;
                bench.tables.local.words[entry_at(MIDDLE, 1, pages[i])] = VALID | (host ? HOST : 0) | tables[i];
                bench.tables.in(host).words[entry_at(tables[i], 0, pages[i])] = VALID | LEAF | (0x2345000 + i * PAGE);
            }
            const unsigned side = when / 2 % 2;
            if (!bench.right({3, pages[0]}, side))
                return bench.wrong;
            bench.ask(side, {3, pages[1]});
            for (unsigned i = 0; i < when / 4; i++)
                bench.step();
            bench.right({3, pages[2]}, !side);
            for (unsigned i = 0; i < 400 && !bench.sides[side].answered; i++)
                bench.step();
            const Answer &given = bench.sides[side].answer;
            if (!bench.sides[side].answered || !(given == bench.tables.walk({3, pages[1]})))
                bench.complain("the page of another table: " + text(given));
            if (!bench.wrong.empty())
                return "memories " + std::to_string(memories) + ", " + std::to_string(when) + ": " + bench.wrong;
        }
    }
    return "";
}

// A reset in each cycle of two walks, of which one is begun anew since what is remembered does not allow it: nothing is
// read for what was asked before, and what is asked then is answered from the tables there are then, once.
inline std::string a_reset_in_each_cycle()
{
    for (unsigned when = 0; when < 160; when++) {
        Simple bench(3);
        bench.latency = 6;
        const unsigned side = when % 2;
        const uint64_t far = bench.address ^ 0x200000;
        bench.tables.local.words[entry_at(MIDDLE, 1, far)] = VALID | HOST | OTHER;
        bench.tables.host.words[entry_at(OTHER, 0, far)] = VALID | LEAF | 0x777000;
        bench.lowest(bench.address) = VALID | LEAF | READ_ONLY | 0x2345000;
        const Root root = bench.tables.roots[3];
        if (when % 4 < 2)
            bench.right({3, bench.address}, side);
        bench.ask(!side, {3, bench.address, true});
        bench.ask(side, {3, far});
        for (unsigned i = 0; i < when / 4; i++)
            bench.step();
        bench.reset();
        const uint64_t before = bench.reads;
        for (unsigned i = 0; i < 40; i++)
            bench.step();
        if (bench.reads != before)
            return "cycle " + std::to_string(when) + ": a table is read for nobody";
        bench.right({3, bench.address}, side);
        bench.set_root(3, root);
        bench.lowest(bench.address) = VALID | LEAF | 0x888000;
        bench.tables.host.words[entry_at(OTHER, 0, far)] = VALID | LEAF | 0x999000;
        bench.right({3, bench.address}, side);
        const uint64_t known = bench.reads;
        bench.right({3, bench.address}, !side);
        if (bench.reads != known)
            bench.complain("what is remembered is not believed");
        bench.right({3, far}, side);
        if (!bench.wrong.empty())
            return "cycle " + std::to_string(when) + ": " + bench.wrong;
    }
    return "";
}
