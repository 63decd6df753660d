// SPDX-License-Identifier: Apache-2.0
// Random tables of several spaces, edited and forgotten while both sides ask. Each answer must be one that the tables
// gave at some time since the page was last forgotten; one that is not there, or lacks a right, must be what they say
// since the request began, as such is never remembered. With `drops` the engine drops its jobs now and then, and a
// memory dies for a while: then what would need a read is refused, at once, and everything else is as ever.
#ifndef RANDOM_TABLES_H
#define RANDOM_TABLES_H

#include <algorithm>
#include <map>
#include <set>

#include "bench.h"

struct RandomTables {
    Bench bench;
    Random random;

    // A page that is asked for, and what was once true of it: for all four ways of asking.
    struct Past {
        Answer answer;
        uint64_t until;
        bool remembered; // it may be, until it is forgotten
    };
    struct Tracked {
        unsigned space;
        uint64_t address;
        std::vector<Past> past[4];
    };
    std::vector<Tracked> pages;
    std::map<std::pair<unsigned, uint64_t>, size_t> places;

    // Tables in use: by space and the area of 2 MiB; those above them are not changed but for their entries.
    struct Table {
        bool host;
        uint64_t address;
    };
    struct Area {
        unsigned space;
        uint64_t address;
        Table upper; // of level 1
        Table lowest;
        bool attached;             // it can be reached
        std::set<uint64_t> groups; // 64 KiB that are one
    };
    std::vector<Area> areas;
    Root good_roots[16];
    uint64_t next_table = 0x100000;
    uint64_t hits = 0, faults = 0, forgotten = 0, edits = 0, refused = 0, waited = 0;
    bool drops = false;

    explicit RandomTables(uint64_t seed) : bench(seed), random(seed ^ 0x5555) { build(); }

    uint64_t &word(const Table &table, unsigned height, uint64_t address)
    {
        return bench.tables.in(table.host).words[table.address + (address >> (12 + 9 * height)) % 512 * 8];
    }

    Table new_table()
    {
        Table table = {random.chance(40), next_table};
        next_table += PAGE;
        if (next_table > 0x1f00000)
            next_table = 0x100000; // the first ones are long forgotten
        for (unsigned i = 0; i < 512; i++) {
            bench.tables.in(table.host).words.erase(table.address + 8 * i);
            bench.tables.in(table.host).bad.erase(table.address + 8 * i);
        }
        return table;
    }

    static uint64_t pointer(const Table &table) { return VALID | (table.host ? HOST | SNOOP : 0) | table.address; }

    uint64_t leaf(uint64_t unit)
    {
        uint64_t entry = VALID | LEAF;
        if (random.chance(40))
            entry |= HOST | (random.chance(50) ? SNOOP : 0) | random.below(1 << 30) * PAGE / unit * unit;
        else
            entry |= random.below(LOCAL_BYTES) / unit * unit;
        entry |= random.chance(25) ? READ_ONLY : 0;
        entry |= random.chance(10) ? PROTECTED : 0;
        return entry;
    }

    uint64_t any_entry()
    {
        if (random.chance(20))
            return random.chance(50) ? 0 : random.next() & ~VALID;
        uint64_t entry = leaf(PAGE);
        if (random.chance(5))
            entry ^= 1ull << random.below(64);
        return entry & GROUP ? entry & ~GROUP : entry;
    }

    // Fills the lowest table around the pages that are asked for.
    void fill(Area &area)
    {
        area.lowest = new_table();
        area.groups.clear();
        for (Tracked &page : pages)
            if (page.space == area.space && page.address >> 21 == area.address >> 21)
                fill_page(area, page.address);
    }

    void fill_page(Area &area, uint64_t address)
    {
        uint64_t group = address & ~0xffffull;
        if (area.groups.count(group)) {
            if (random.chance(50)) {
                // It is so no more: all sixteen change.
                area.groups.erase(group);
                for (unsigned i = 0; i < 16; i++)
                    word(area.lowest, 0, group + i * PAGE) = any_entry();
                return;
            }
            fill_group(area, group);
            return;
        }
        if (random.chance(8)) {
            area.groups.insert(group);
            fill_group(area, group);
            return;
        }
        word(area.lowest, 0, address) = any_entry();
        if (random.chance(2))
            bench.tables.in(area.lowest.host).bad[area.lowest.address + (address >> 12) % 512 * 8] = true;
    }

    void fill_group(Area &area, uint64_t group)
    {
        uint64_t entry = leaf(65536);
        for (unsigned i = 0; i < 16; i++) {
            word(area.lowest, 0, group + i * PAGE) = entry | GROUP | i * PAGE;
            bench.tables.in(area.lowest.host).bad.erase(area.lowest.address + ((group >> 12) % 512 + i) * 8);
        }
    }

    void build()
    {
        bench.stall = (unsigned)random.below(4) * 20;
        bench.latency = 1 + (unsigned)random.below(12);
        bench.tables.limits.protect_base = random.below(LOCAL_BYTES);
        bench.tables.limits.protect_limit = bench.tables.limits.protect_base + random.below(LOCAL_BYTES / 8);
        for (unsigned i = 0; i < 4; i++) {
            unsigned space = (unsigned)random.below(16), height = 1 + (unsigned)random.below(3);
            if (bench.tables.roots[space].valid)
                continue;
            Table root = new_table();
            uint64_t high = random.below(1ull << 9 * (height - 1));
            for (unsigned j = 0; j < 3; j++) {
                Area area = {};
                area.space = space;
                // Some areas share their upper tables, and their sets in what is remembered.
                area.address = (high << 30) + random.below(512) * (2 << 20);
                if (height > 1 && j == 2)
                    area.address = random.below(1ull << 9 * height) * (2 << 20);
                // And many are at an address that another space has too.
                if (!areas.empty() && random.chance(50)) {
                    uint64_t address = areas[random.below(areas.size())].address;
                    area.address = address >> (21 + 9 * height) == 0 ? address : area.address;
                }
                bool twice = false;
                for (Area &other : areas)
                    twice = twice || (other.space == space && other.address == area.address);
                if (twice)
                    continue;
                Table table = root;
                for (unsigned level = height; level > 1; level--) {
                    uint64_t &entry = word(table, level, area.address);
                    Table next = entry & VALID ? Table{(entry & HOST) != 0, entry & 0xffffffffff000ull} : new_table();
                    entry = pointer(next);
                    table = next;
                }
                area.upper = table;
                for (unsigned cluster = 0; cluster < 2; cluster++) {
                    uint64_t first = area.address / PAGE * 11400714819323198485ull % 200 + 200 * cluster;
                    for (unsigned k = 0; k < 12; k++) {
                        uint64_t address = area.address + (first + k) * PAGE;
                        if (places.emplace(std::pair(space, address), pages.size()).second)
                            pages.push_back({space, address, {}});
                    }
                }
                fill(area);
                area.attached = true;
                word(area.upper, 1, area.address) = pointer(area.lowest);
                areas.push_back(area);
            }
            Root described = {true, root.host, random.chance(50), height, root.address};
            good_roots[space] = described;
            bench.set_root(space, described);
        }
        bench.forget(FERRY_FORGET_SCOPE_ALL);
    }

    static Request request(const Tracked &page, unsigned how)
    {
        return {page.space, page.address, (how & 1) != 0, (how & 2) != 0};
    }

    // Does something to the tables; `upper`: what is below stays as it was, where it was.
    template <typename Action> void edit(bool upper, Action action)
    {
        std::vector<Answer> before;
        for (const Tracked &page : pages)
            for (unsigned how = 0; how < 4; how++)
                before.push_back(bench.tables.walk(request(page, how)));
        action();
        edits++;
        size_t i = 0;
        for (Tracked &page : pages)
            for (unsigned how = 0; how < 4; how++, i++)
                if (!(bench.tables.walk(request(page, how)) == before[i]))
                    page.past[how].push_back(
                        {before[i], bench.now,
                         before[i].fault == FERRY_FAULT_KIND_NONE || (upper && before[i].height == 0)});
    }

    void edit_something()
    {
        Area &area = areas[random.below(areas.size())];
        uint64_t what = random.below(12);
        // What cannot be reached is not changed: a walk may still be on its way there, or remember it.
        if (what != 0 && !bench.tables.roots[area.space].valid)
            return;
        if (what == 0) {
            Root root = bench.tables.roots[area.space].valid ? Root() : good_roots[area.space];
            edit(true, [&] { bench.set_root(area.space, root); });
        } else if (what < 4) {
            edit(true, [&] {
                uint64_t &entry = word(area.upper, 1, area.address);
                area.attached = what != 1;
                if (what == 1) {
                    entry = random.chance(50) ? 0 : leaf(2 << 20) | (random.chance(10) ? 1ull << 60 : 0);
                } else {
                    fill(area);
                    word(area.upper, 1, area.address) = pointer(area.lowest);
                }
            });
        } else if (area.attached) {
            edit(false, [&] { fill_page(area, pages[random.below(pages.size())].address % (2 << 20) + area.address); });
        }
    }

    void forgot(unsigned scope, unsigned space, uint64_t address)
    {
        forgotten++;
        for (Tracked &page : pages) {
            bool covered = scope == FERRY_FORGET_SCOPE_ALL ||
                           (page.space == space && (scope == FERRY_FORGET_SCOPE_SPACE ||
                                                    page.address >> (scope == FERRY_FORGET_SCOPE_TABLE ? 21 : 16) ==
                                                        address >> (scope == FERRY_FORGET_SCOPE_TABLE ? 21 : 16)));
            if (covered)
                for (auto &past : page.past)
                    past.clear();
        }
    }

    std::string check(unsigned side)
    {
        const Bench::Side &asked = bench.sides[side];
        const Request &request = asked.request;
        Tracked &page = pages[places.at({request.space, request.address})];
        unsigned how = request.write | request.may_protected << 1;
        (asked.answer.fault == FERRY_FAULT_KIND_NONE ? hits : faults)++;
        Answer expected = bench.tables.walk(request);
        bool right = asked.answer == expected;
        for (const Past &past : page.past[how])
            right = right || (asked.answer == past.answer && (past.remembered || past.until >= asked.since));
        if (right)
            return "";
        // In the cycle behind that of the refusal, or when the other side has been answered.
        if (asked.answer.fault != FERRY_FAULT_KIND_NONE && asked.until <= bench.dropped + 2) {
            refused++;
            return "";
        }
        char buffer[240];
        snprintf(buffer, sizeof buffer,
                 "cycle %llu, space %u, %llx: fault %u height %u %llx, not fault %u height %u %llx",
                 (unsigned long long)bench.now, request.space, (unsigned long long)request.address, asked.answer.fault,
                 asked.answer.height, (unsigned long long)asked.answer.address, expected.fault, expected.height,
                 (unsigned long long)expected.address);
        return buffer;
    }

    // Drops, and memories that die, at random; whether a request waits that should not.
    bool disturb()
    {
        Vpage_tables_under_test &top = *bench.top;
        if (random.chance(top.drop ? 1 : 2))
            top.drop = !top.drop;
        for (bool &dead : bench.dead)
            if (random.chance(1))
                dead = !dead;
        const uint64_t happened = bench.beats + bench.reads;
        if (!top.drop || bench.forgetting || happened != seen_before)
            quiet_since = bench.now;
        seen_before = happened;
        unsigned old = 0;
        for (const Bench::Side &side : bench.sides)
            old += side.valid && bench.now > std::max(side.since, quiet_since) + 40;
        waited += old != 0;
        // Each of them waits for a read of its own.
        return old > bench.owed();
    }

    std::string run(unsigned cycles)
    {
        unsigned scope = 0, space = 0;
        uint64_t address = 0;
        for (uint64_t end = bench.now + cycles; bench.now < end;) {
            for (unsigned side = 0; side < 2; side++) {
                Bench::Side &asked = bench.sides[side];
                if (asked.answered) {
                    std::string wrong = check(side);
                    if (!wrong.empty())
                        return wrong;
                    asked.answered = false;
                }
                if (!asked.valid && random.chance(60)) {
                    const Tracked &page = pages[random.below(pages.size())];
                    bench.ask(side, request(page, (unsigned)random.below(4)));
                }
                if (asked.valid && bench.now > asked.since + 5000)
                    return "a request is not answered";
            }
            if (drops && disturb())
                return "a request waits for no read, in cycle " + std::to_string(bench.now);
            bool was = bench.forgetting;
            if (!bench.forgetting && random.chance(3))
                edit_something();
            if (!bench.forgetting && random.chance(2)) {
                const Tracked &page = pages[random.below(pages.size())];
                scope = (unsigned)random.below(4);
                space = page.space;
                address = page.address;
                bench.begin_forget(scope, space, address);
                was = true;
            }
            bench.step();
            // From the next cycle on; what is answered in this one is judged below as before it.
            if (was && !bench.forgetting) {
                for (unsigned side = 0; side < 2; side++)
                    if (bench.sides[side].answered)
                        return "an answer while everything stops";
                forgot(scope, space, address);
            }
            if (!bench.wrong.empty())
                return bench.wrong;
        }
        return "";
    }

  private:
    // Since when nothing happened, as reads, beats and requests say.
    uint64_t quiet_since = 0, seen_before = 0;
};

#endif
