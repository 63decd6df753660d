// SPDX-License-Identifier: Apache-2.0
// The page-table unit against the walker of tables.h: every kind of entry and of fault, what is remembered and what is
// forgotten, what it costs, and forgetting in every cycle of a walk.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "bursts_of_tables.h"
#include "dropped_requests.h"
#include "faults_of_tables.h"
#include "forgotten_tables.h"
#include "protected_tables.h"
#include "record_tables.h"
#include "simple_tables.h"

namespace
{

uint64_t seed;

// Cycles to an answer out of what is remembered: one to pick the request, one to look it up.
const uint64_t HIT = 2;

std::string levels_and_memories()
{
    for (unsigned levels = 1; levels <= 4; levels++) {
        for (unsigned hosts = 0; hosts < 16; hosts++) {
            Bench bench(seed);
            bench.latency = 1 + levels;
            std::unordered_map<uint64_t, bool> snoops;
            bench.snoops = &snoops;
            uint64_t address = Simple::base(levels), table = ROOT;
            bool is_host = hosts & 1, snoop = hosts & 2;
            bench.set_root(5, {true, is_host, snoop, levels - 1, table});
            snoops[table] = snoop;
            for (unsigned height = levels - 1;; height--) {
                bool next_host = hosts >> height & 1, next_snoop = next_host && (hosts + height) % 3 == 0;
                uint64_t next = height == 0 ? (next_host ? 0xfedcba9876000 : 0x2345000) : table + PAGE;
                bench.tables.in(is_host).words[entry_at(table, height, address)] =
                    VALID | (next_host ? HOST : 0) | (next_snoop ? SNOOP : 0) | (height == 0 ? LEAF : 0) | next;
                if (height == 0)
                    break;
                table = next;
                is_host = next_host;
                snoops[table] = next_snoop;
            }
            for (unsigned side = 0; side < 2; side++) {
                Request request = {5, address, side == 1, false};
                Answer expected = bench.tables.walk(request), given = bench.get(side, request);
                if (expected.fault != FERRY_FAULT_KIND_NONE || !(given == expected) || !bench.wrong.empty())
                    return bench.wrong + " " + text(given) + ", not " + text(expected);
            }
        }
    }
    return "";
}

std::string pages_of_2_mib()
{
    Simple bench(3);
    uint64_t &entry = bench.tables.local.words[entry_at(MIDDLE, 1, bench.address)];
    uint64_t area = bench.address & ~0x1fffffull;
    for (uint64_t host : {(uint64_t)0, HOST}) {
        entry = VALID | LEAF | host | 0x2400000;
        bench.forget(FERRY_FORGET_SCOPE_TABLE, 3, bench.address);
        bench.right({3, bench.address});
        uint64_t before = bench.reads;
        for (unsigned i = 0; i < 512; i += 37)
            bench.right({3, area + i * PAGE});
        if (bench.reads != before)
            return "a large page is not remembered as one";
        // What the other side knows is its own.
        bench.right({3, area, true}, 1);
    }
    for (unsigned bit = 12; bit < 21; bit++) {
        entry = VALID | LEAF | 0x2400000 | 1ull << bit;
        bench.forget(FERRY_FORGET_SCOPE_TABLE, 3, bench.address);
        bench.right({3, bench.address});
    }
    entry = VALID | LEAF | GROUP | 0x2400000;
    bench.forget(FERRY_FORGET_SCOPE_TABLE, 3, bench.address);
    bench.right({3, bench.address});
    // In memory, and protected, as a whole.
    entry = VALID | LEAF | 0x2400000;
    bench.tables.limits.local = 0x25ff000;
    bench.forget(FERRY_FORGET_SCOPE_ALL);
    bench.right({3, bench.address});
    bench.tables.limits.local = 0x2600000;
    bench.tables.limits.protect_base = 0x25fffff;
    bench.tables.limits.protect_limit = 0x2600000;
    bench.forget(FERRY_FORGET_SCOPE_ALL);
    bench.right({3, bench.address});
    bench.right({3, bench.address, false, true});
    bench.right({3, bench.address});
    // Rights of one that is remembered.
    entry = VALID | LEAF | READ_ONLY | HOST | 0x2400000;
    bench.forget(FERRY_FORGET_SCOPE_ALL);
    bench.right({3, bench.address});
    bench.right({3, bench.address, true});
    bench.right({3, bench.address});
    entry = VALID | LEAF | HOST | 0x2400000;
    bench.right({3, bench.address, true});
    return bench.wrong;
}

// One read brings a line's pages from the one asked for on; none is asked for twice; a page that is not there is not
// remembered.
std::string what_a_read_brings()
{
    Simple bench(3);
    uint64_t line = bench.address & ~0x7fffull;
    for (unsigned i = 0; i < 16; i++)
        bench.lowest(line + i * PAGE) = i == 6 ? 0 : VALID | LEAF | (0x2000000 + i * 0x5000);
    auto reads_for = [&](unsigned i) {
        uint64_t before = bench.reads;
        bench.right({3, line + i * PAGE});
        return bench.reads - before;
    };
    const unsigned expected[][2] = {{2, 3}, {3, 0}, {2, 0}, {5, 0}, {7, 0},  {1, 1}, {0, 1}, {1, 0},
                                    {6, 1}, {6, 1}, {7, 0}, {8, 1}, {15, 0}, {0, 0}, {4, 0}};
    for (auto &[page, reads] : expected)
        if (reads_for(page) != reads)
            return "page " + std::to_string(page) + ": not " + std::to_string(reads) + " reads";
    bench.lowest(line + 6 * PAGE) = VALID | LEAF | HOST | 0x7000;
    if (reads_for(6) != 1 || reads_for(6) != 0)
        return "a page that is new must be read, once";
    // 64 KiB, of which one entry was read.
    uint64_t group = (bench.address + 0x20000) & ~0xffffull;
    for (unsigned i = 0; i < 16; i++)
        bench.lowest(group + i * PAGE) = VALID | LEAF | GROUP | (0x2340000 + i * PAGE);
    uint64_t before = bench.reads;
    for (unsigned i = 0; i < 16; i++)
        bench.right({3, group + (i * 7 + 5) % 16 * PAGE}, i % 2);
    if (bench.reads != before + 1)
        return "64 KiB: " + std::to_string(bench.reads - before) + " reads";
    return bench.wrong;
}

// A request counts as missed when it is walked, and not when what is remembered answers it: be it a line, or a large
// page, which each side remembers for itself.
std::string what_counts_as_missed()
{
    Simple bench(3);
    auto misses_of = [&](const Request &request, unsigned side) {
        uint64_t before = bench.misses;
        bench.right(request, side);
        return bench.misses - before;
    };
    bench.lowest(bench.address) = VALID | LEAF | READ_ONLY | 0x2345000;
    if (misses_of({3, bench.address}, 0) != 1 || misses_of({3, bench.address}, 0) != 0 ||
        misses_of({3, bench.address}, 1) != 0 || misses_of({3, bench.address, true}, 1) != 1)
        return "of a line";
    const uint64_t area = bench.address & ~0x1fffffull;
    bench.tables.local.words[entry_at(MIDDLE, 1, bench.address)] = VALID | LEAF | 0x2400000;
    bench.forget(FERRY_FORGET_SCOPE_TABLE, 3, bench.address);
    for (unsigned side = 0; side < 2; side++)
        if (misses_of({3, area + 0x1000}, side) != 1 || misses_of({3, area + 0x101000}, side) != 0)
            return "of a large page";
    if (misses_of({4, bench.address}, 0) != 1)
        return "of a space without a table";
    return bench.wrong;
}

// Rights are looked up anew when what is remembered does not give them.
std::string rights_that_grow()
{
    Simple bench(4);
    bench.lowest(bench.address) = VALID | LEAF | READ_ONLY | 0x2345000;
    bench.right({3, bench.address});
    bench.right({3, bench.address, true});
    bench.lowest(bench.address) = VALID | LEAF | 0x2345000;
    uint64_t before = bench.reads;
    bench.right({3, bench.address, true});
    if (bench.reads != before + 1) // The way to its table is as good as before.
        return "what is looked up anew takes " + std::to_string(bench.reads - before) + " reads";
    bench.right({3, bench.address, true});
    bench.lowest(bench.address) = VALID | LEAF | PROTECTED | 0x2345000;
    bench.forget(FERRY_FORGET_SCOPE_GROUP, 3, bench.address);
    bench.right({3, bench.address, true});
    bench.right({3, bench.address, true, true});
    bench.right({3, bench.address, false, false});
    return bench.wrong;
}

// In each cycle of two walks: the entry changes, then it is forgotten. What is answered from then on is new. The last
// scope stands for `clear`, after which the space has its root again, or none.
std::string forgetting_in_each_cycle()
{
    const unsigned CLEAR = 4;
    for (unsigned scope = 0; scope <= CLEAR; scope++) {
        for (unsigned change = 0; change < 3; change++) {
            for (unsigned when = 0; when < 70; when++) {
                Simple bench(3, seed + when);
                bench.latency = 6;
                bench.stall = when % 3 * 30;
                bench.lowest(bench.address) = VALID | LEAF | 0x2345000;
                if (when % 2)
                    bench.right({3, bench.address});
                bench.ask(0, {3, bench.address});
                bench.ask(1, {3, bench.address});
                for (unsigned i = 0; i < when; i++) {
                    bench.step();
                    for (unsigned side = 0; side < 2; side++)
                        if (bench.sides[side].answered)
                            bench.ask(side, {3, bench.address});
                }
                // The page moves; its table does; or it becomes part of a large page.
                if (change == 0) {
                    bench.lowest(bench.address) = VALID | LEAF | 0x777000;
                } else {
                    bench.tables.local.words[entry_at(MIDDLE, 1, bench.address)] =
                        change == 1 ? VALID | OTHER : VALID | LEAF | 0x2400000;
                    bench.tables.local.words[entry_at(OTHER, 0, bench.address)] = VALID | LEAF | HOST | 0x888000;
                }
                if (scope == CLEAR) {
                    const Root root = bench.tables.roots[3];
                    if (when % 3 == 0)
                        bench.begin_forget(when % 4, 3, bench.address);
                    bench.clear();
                    if (change != 2)
                        bench.set_root(3, root);
                } else {
                    bench.forget(scope, 3, bench.address);
                }
                for (unsigned i = 0; i < 500 && bench.forgetting; i++)
                    bench.step();
                if (bench.forgetting)
                    return "forgetting does not end";
                Answer expected = bench.tables.walk({3, bench.address});
                for (unsigned side = 0; side < 2; side++) {
                    if (bench.sides[side].answered)
                        bench.ask(side, {3, bench.address});
                    for (unsigned i = 0; i < 500 && !bench.sides[side].answered; i++)
                        bench.step();
                    if (!bench.sides[side].answered || !(bench.sides[side].answer == expected))
                        return "scope " + std::to_string(scope) + ", change " + std::to_string(change) + ", cycle " +
                               std::to_string(when) + ": " + text(bench.sides[side].answer);
                }
                if (!bench.wrong.empty())
                    return bench.wrong;
            }
        }
    }
    return "";
}

// What is forgotten stops every walk, and is told to forget again before the walk could end: in any distance, with any
// scope, also of another space. Each walk ends all the same, and so does forgetting.
std::string walks_end_beside_a_stream_of_forgetting()
{
    for (unsigned scope = 0; scope < 4; scope++) {
        for (unsigned gap : {0u, 1u, 7u, 30u, 90u}) {
            Simple bench(4);
            bench.latency = 40;
            bench.lowest(bench.address) = VALID | LEAF | 0x2345000;
            const uint64_t far = bench.address ^ 1ull << 47;
            bench.tables.local.words[entry_at(ROOT, 3, far)] = VALID | TOP;
            const Request requests[] = {{3, bench.address}, {3, far, true}};
            unsigned answers[2] = {}, forgotten = 0;
            for (unsigned side = 0; side < 2; side++)
                bench.ask(side, requests[side]);
            uint64_t over = 0;
            for (unsigned i = 0; i < 4000; i++) {
                if (!bench.forgetting && bench.now >= over + gap)
                    bench.begin_forget(scope, scope % 2 ? 3 : 7, bench.address);
                bench.step();
                if (bench.forgot) {
                    over = bench.now;
                    forgotten++;
                }
                for (unsigned side = 0; side < 2; side++) {
                    if (bench.sides[side].answered) {
                        if (!(bench.sides[side].answer == bench.tables.walk(requests[side])))
                            return text(bench.sides[side].answer);
                        answers[side]++;
                        bench.ask(side, requests[side]);
                    }
                }
            }
            if (answers[0] < 5 || answers[1] < 5 || forgotten < 5)
                return "scope " + std::to_string(scope) + ", " + std::to_string(gap) +
                       " cycles apart: " + std::to_string(answers[0]) + " and " + std::to_string(answers[1]) +
                       " answers, " + std::to_string(forgotten) + " times forgotten";
            if (!bench.wrong.empty())
                return bench.wrong;
        }
    }
    return "";
}

// A walk of each side under way at once, and a hit beside a walk that waits.
std::string sides_beside_each_other()
{
    Simple bench(4);
    bench.latency = 50;
    uint64_t far = bench.address ^ 1ull << 47;
    bench.tables.local.words[entry_at(ROOT, 3, far)] = VALID | TOP;
    bench.lowest(bench.address) = VALID | LEAF | 0x2345000;
    bench.ask(0, {3, bench.address});
    bench.ask(1, {3, far, true});
    for (unsigned i = 0; i < 4 * 51 + 10; i++)
        bench.step();
    if (!bench.sides[0].answered || !bench.sides[1].answered)
        return "two walks take longer than one";
    for (unsigned i = 0; i < 20; i++) // the rest of both lines
        bench.step();
    uint64_t cycles;
    bench.set_root(5, {true, false, false, 3, ROOT});
    bench.ask(1, {5, far, true});
    bench.step();
    bench.step();
    bench.get(0, {3, bench.address}, &cycles);
    if (cycles != HIT || bench.sides[1].answered)
        return "a hit beside a walk takes " + std::to_string(cycles) + " cycles";
    return bench.wrong;
}

// Both sides want the last page of a line, whose one beat is its first: the second side asks for it in each cycle
// around that beat, where two lines stood before whose pages were others.
std::string what_was_just_read()
{
    for (unsigned when = 0; when < 60; when++) {
        Simple bench;
        bench.latency = 8;
        const uint64_t page = bench.address | 7 * PAGE;
        for (uint64_t before : {page, page ^ 0x8000}) {
            bench.lowest(before) = VALID | LEAF | 0x3456000;
            bench.get(0, {3, before});
        }
        for (unsigned i = 0; i < 10; i++)
            bench.step();
        bench.forget(FERRY_FORGET_SCOPE_ALL);
        bench.lowest(page) = VALID | LEAF | 0x2345000;
        const Request request = {3, page};
        bench.ask(0, request);
        for (unsigned i = 0; i < when; i++)
            bench.step();
        if (!bench.right(request, 1))
            return "cycle " + std::to_string(when) + ": " + bench.wrong;
    }
    return "";
}

std::string what_it_costs()
{
    for (unsigned latency : {1u, 20u, 100u}) {
        for (unsigned levels = 1; levels <= 4; levels++) {
            Simple bench(levels);
            bench.latency = latency;
            bench.lowest(bench.address) = VALID | LEAF | 0x2345000;
            uint64_t other = bench.address ^ 0x40000;
            bench.lowest(other) = VALID | LEAF | 0x2346000;
            uint64_t full, cached, hit;
            const unsigned side = levels % 2;
            bench.get(side, {3, bench.address}, &full);
            for (unsigned i = 0; i < 10; i++)
                bench.step();
            bench.get(side, {3, other}, &cached);
            for (unsigned i = 0; i < 10; i++)
                bench.step();
            bench.get(side, {3, bench.address}, &hit);
            if (full != levels * (latency + 1) + HIT || cached != latency + 1 + HIT || hit != HIT)
                return std::to_string(levels) + " levels: " + std::to_string(full) + ", " + std::to_string(cached) +
                       ", " + std::to_string(hit) + " cycles";
        }
    }
    return "";
}

// Two lines in each of sixteen sets: the lower 32 KiB of every 64 KiB of a MiB, then the upper ones, are all
// remembered.
std::string every_line_has_its_place()
{
    Simple bench;
    uint64_t begin = bench.address & ~0xfffffull;
    for (unsigned page = 0; page < 256; page++)
        bench.lowest(begin + page * PAGE) = VALID | LEAF | (0x2000000 + ((page * 37) % 256) * PAGE);
    for (unsigned line = 0; line < 32; line++) {
        if (!bench.right({3, begin + line % 16 * 0x10000 + line / 16 * 0x8000}))
            return bench.wrong;
        for (unsigned i = 0; i < 20; i++)
            bench.step();
    }
    for (unsigned page = 0; page < 256; page++) {
        uint64_t cycles;
        bench.get(0, {3, begin + page * PAGE}, &cycles);
        if (cycles != HIT)
            return "page " + std::to_string(page) + " was not remembered: " + std::to_string(cycles) + " cycles";
        if (!bench.right({3, begin + page * PAGE}))
            return bench.wrong;
    }
    return "";
}

std::string random_tables()
{
    uint64_t hits = 0, faults = 0, edits = 0, forgotten = 0;
    for (unsigned round = 0; round < 40; round++) {
        RandomTables tables(seed * 40 + round);
        std::string wrong = tables.run(4000);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
        hits += tables.hits;
        faults += tables.faults;
        edits += tables.edits;
        forgotten += tables.forgotten;
    }
    if (hits < 1000 || faults < 1000 || edits < 1000 || forgotten < 500)
        return "too little happened: " + std::to_string(hits) + " hits, " + std::to_string(faults) + " faults, " +
               std::to_string(edits) + " edits, " + std::to_string(forgotten) + " times forgotten";
    return "";
}

// As above, and jobs are dropped, of which some wait for a memory that is dead.
std::string random_drops()
{
    uint64_t hits = 0, refused = 0, waited = 0, forgotten = 0;
    for (unsigned round = 0; round < 60; round++) {
        RandomTables tables(seed * 60 + round);
        tables.drops = true;
        std::string wrong = tables.run(6000);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
        hits += tables.hits;
        refused += tables.refused;
        waited += tables.waited;
        forgotten += tables.forgotten;
    }
    if (hits < 1000 || refused < 1000 || waited < 100 || forgotten < 500)
        return "too little happened: " + std::to_string(hits) + " hits, " + std::to_string(refused) + " refused, " +
               std::to_string(waited) + " cycles with a read that does not come, " + std::to_string(forgotten) +
               " times forgotten";
    return "";
}

} // namespace

int main(int argc, char **argv)
{
    seed = seed_given((uint64_t)time(nullptr));
    if (argc > 1)
        return record(argv[1], seed);
    struct {
        const char *name;
        std::string (*run)();
    } tests[] = {{"page_tables_levels_and_memories", levels_and_memories},
                 {"page_tables_faults_of_an_entry", faults_of_an_entry},
                 {"page_tables_protected_tables", protected_tables},
                 {"page_tables_faults_of_a_walk", faults_of_a_walk},
                 {"page_tables_pages_of_2_mib", pages_of_2_mib},
                 {"page_tables_what_a_read_brings", what_a_read_brings},
                 {"page_tables_what_counts_as_missed", what_counts_as_missed},
                 {"page_tables_rights_that_grow", rights_that_grow},
                 {"page_tables_scopes", scopes},
                 {"page_tables_forgetting_in_each_cycle", forgetting_in_each_cycle},
                 {"page_tables_cleared_amid_forgetting", cleared_amid_forgetting},
                 {"page_tables_dropped_in_each_cycle", [] { return dropped_in_each_cycle(seed); }},
                 {"page_tables_walks_end_beside_a_stream_of_forgetting", walks_end_beside_a_stream_of_forgetting},
                 {"page_tables_sides_beside_each_other", sides_beside_each_other},
                 {"page_tables_what_was_just_read", what_was_just_read},
                 {"page_tables_the_rest_of_a_line", the_rest_of_a_line},
                 {"page_tables_a_reset_in_each_cycle", a_reset_in_each_cycle},
                 {"page_tables_what_it_costs", what_it_costs},
                 {"page_tables_every_line_has_its_place", every_line_has_its_place},
                 {"page_tables_new_lines_displace_old_ones", new_lines_displace_old_ones},
                 {"page_tables_behind_what_is_no_page", behind_what_is_no_page},
                 {"page_tables_random", random_tables},
                 {"page_tables_random_drops", random_drops}};
    unsigned failed = 0, passed = 0;
    for (auto &test : tests) {
        std::string wrong = test.run();
        (wrong.empty() ? passed : failed)++;
        if (wrong.empty())
            printf("[       OK ] %s\n", test.name);
        else
            printf("[  FAILED  ] %s: %s\n", test.name, wrong.c_str());
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
