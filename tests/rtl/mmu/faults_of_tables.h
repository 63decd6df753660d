// SPDX-License-Identifier: Apache-2.0
// Faults of the page-table unit: those of an entry, and those of a walk at each of its levels.
#pragma once

#include <string>

#include "simple_tables.h"

inline std::string faults_of_an_entry()
{
    Simple bench;
    const uint64_t page = 0x2345000;
    bench.right_with(VALID | LEAF | page, FERRY_FAULT_KIND_NONE);
    bench.right_with(LEAF | page, FERRY_FAULT_KIND_PAGE_ABSENT);
    bench.right_with(0, FERRY_FAULT_KIND_PAGE_ABSENT);
    bench.right_with(VALID | page, FERRY_FAULT_KIND_TABLE_ENTRY);
    bench.right_with(VALID | SNOOP | LEAF | page, FERRY_FAULT_KIND_TABLE_ENTRY);
    for (unsigned bit = 0; bit < 64; bit++)
        if ((bit > 6 && bit < 12) || bit > 51)
            bench.right_with(VALID | LEAF | page | 1ull << bit, FERRY_FAULT_KIND_TABLE_ENTRY);
    // Nor is it asked where an entry leads that breaks a rule.
    bench.right_with(VALID | LEAF | page | 1ull << 51 | 1 << 7, FERRY_FAULT_KIND_TABLE_ENTRY);
    // Video memory ends; bits above it are not dropped.
    bench.right_with(VALID | LEAF | (LOCAL_BYTES - PAGE), FERRY_FAULT_KIND_NONE);
    for (unsigned bit = 26; bit < 52; bit++)
        bench.right_with(VALID | LEAF | page | 1ull << bit, FERRY_FAULT_KIND_RANGE);
    bench.right_with(VALID | LEAF | HOST | page | 1ull << 51, FERRY_FAULT_KIND_NONE);
    bench.tables.limits.local = page + PAGE - 1;
    bench.right_with(VALID | LEAF | page, FERRY_FAULT_KIND_RANGE);
    bench.right_with(VALID | LEAF | (page - PAGE), FERRY_FAULT_KIND_NONE);
    bench.tables.limits.local = LOCAL_BYTES;
    // Rights.
    for (unsigned write = 0; write < 2; write++) {
        bench.right_with(VALID | LEAF | READ_ONLY | page,
                         write ? FERRY_FAULT_KIND_PAGE_READ_ONLY : FERRY_FAULT_KIND_NONE, write);
        for (unsigned may = 0; may < 2; may++)
            for (uint64_t host : {(uint64_t)0, HOST})
                bench.right_with(VALID | LEAF | PROTECTED | host | page,
                                 may ? FERRY_FAULT_KIND_NONE : FERRY_FAULT_KIND_PROTECTED, write, may);
    }
    bench.right_with(VALID | LEAF | PROTECTED | READ_ONLY | page, FERRY_FAULT_KIND_PROTECTED, true);
    bench.right_with(VALID | LEAF | PROTECTED | READ_ONLY | page, FERRY_FAULT_KIND_PAGE_READ_ONLY, true, true);
    // The protected range, to the byte.
    bench.tables.limits.protect_base = page + PAGE - 1;
    bench.tables.limits.protect_limit = page + PAGE;
    bench.right_with(VALID | LEAF | page, FERRY_FAULT_KIND_PROTECTED);
    bench.right_with(VALID | LEAF | page, FERRY_FAULT_KIND_NONE, false, true);
    bench.right_with(VALID | LEAF | HOST | page, FERRY_FAULT_KIND_NONE);
    bench.right_with(VALID | LEAF | (page - PAGE), FERRY_FAULT_KIND_NONE);
    bench.right_with(VALID | LEAF | (page + PAGE), FERRY_FAULT_KIND_NONE);
    bench.tables.limits.protect_base = page - PAGE;
    bench.tables.limits.protect_limit = page + 1;
    bench.right_with(VALID | LEAF | page, FERRY_FAULT_KIND_PROTECTED);
    bench.tables.limits.protect_limit = page;
    bench.right_with(VALID | LEAF | page, FERRY_FAULT_KIND_NONE);
    bench.right_with(VALID | LEAF | (page - PAGE), FERRY_FAULT_KIND_PROTECTED);
    // 64 KiB: aligned, inside, and protected as a whole.
    bench.tables.limits.protect_base = bench.tables.limits.protect_limit = 0;
    for (unsigned place = 0; place < 16; place++)
        bench.right_with(VALID | LEAF | GROUP | 0x2340000 | place * PAGE,
                         place == 9 ? FERRY_FAULT_KIND_NONE : FERRY_FAULT_KIND_TABLE_ENTRY);
    bench.tables.limits.protect_base = 0x2340000;
    bench.tables.limits.protect_limit = 0x2340001;
    bench.right_with(VALID | LEAF | GROUP | 0x2349000, FERRY_FAULT_KIND_PROTECTED);
    bench.right_with(VALID | LEAF | 0x2349000, FERRY_FAULT_KIND_NONE);
    bench.tables.limits.protect_base = bench.tables.limits.protect_limit = 0;
    bench.tables.limits.local = 0x234a000;
    bench.right_with(VALID | LEAF | GROUP | 0x2349000, FERRY_FAULT_KIND_RANGE);
    return bench.wrong;
}

// At each level: not there, a page where there must be a table, rights of a table, loops, tables that are no memory,
// errors.
inline std::string faults_of_a_walk()
{
    for (unsigned height = 0; height < 4; height++) {
        Simple bench;
        const uint64_t tables[] = {LOWEST, MIDDLE, TOP, ROOT};
        uint64_t place = entry_at(tables[height], height, bench.address);
        uint64_t &entry = bench.tables.local.words[place];
        Request request = {3, bench.address, false, false};
        bench.lowest(bench.address) = VALID | LEAF | 0x2345000;
        const uint64_t good = entry;
        auto is = [&](unsigned kind) {
            bench.forget(FERRY_FORGET_SCOPE_SPACE, 3);
            Answer expected = bench.tables.walk(request);
            if (expected.fault != kind || (kind != FERRY_FAULT_KIND_NONE && expected.height != height))
                bench.complain("the walker itself: " + text(expected));
            bench.right(request, height % 2);
        };
        is(FERRY_FAULT_KIND_NONE);
        entry = good & ~VALID;
        is(FERRY_FAULT_KIND_PAGE_ABSENT);
        // An error, be it of memory or of its bus, whatever comes with it.
        bench.tables.local.bad[place] = true;
        for (unsigned response : {2u, 3u}) {
            bench.error_response = response;
            const uint64_t entries[] = {good, good & ~VALID, good | 1 << 7, good | 1ull << 51};
            for (uint64_t with : entries) {
                entry = with;
                is(FERRY_FAULT_KIND_TABLE_ERROR);
            }
        }
        bench.tables.local.bad.clear();
        for (unsigned bit = 7; bit < 12; bit++) {
            entry = good | 1ull << bit;
            is(FERRY_FAULT_KIND_TABLE_ENTRY);
        }
        if (height == 0)
            continue;
        for (uint64_t bit : {READ_ONLY, PROTECTED, GROUP, SNOOP}) {
            entry = good | bit;
            is(FERRY_FAULT_KIND_TABLE_ENTRY);
        }
        if (height > 1) {
            entry = good | LEAF;
            is(FERRY_FAULT_KIND_TABLE_ENTRY);
            // Even where a page of 2 MiB could begin.
            entry = VALID | LEAF | 0x2400000;
            is(FERRY_FAULT_KIND_TABLE_ENTRY);
        }
        entry = VALID | LOCAL_BYTES;
        is(FERRY_FAULT_KIND_TABLE_RANGE);
        entry = VALID | 1ull << 51;
        is(FERRY_FAULT_KIND_TABLE_RANGE);
        entry = VALID | GROUP | 1ull << 51;
        is(FERRY_FAULT_KIND_TABLE_ENTRY);
        // A table that is its own: the walk ends where a page must be.
        entry = VALID | tables[height];
        bench.forget(FERRY_FORGET_SCOPE_ALL);
        bench.right(request);
        if (bench.tables.walk(request).fault == FERRY_FAULT_KIND_NONE)
            bench.complain("a loop is a page");
        if (!bench.wrong.empty())
            return bench.wrong;
    }
    // Roots: none, too high an address, no memory.
    for (unsigned levels = 1; levels < 4; levels++) {
        Simple bench(levels);
        bench.lowest(bench.address) = VALID | LEAF | 0x2345000;
        for (unsigned bit = 12 + 9 * levels; bit < 48; bit++)
            bench.right({3, bench.address | 1ull << bit});
        if (!bench.wrong.empty())
            return bench.wrong;
    }
    Simple bench(2);
    bench.lowest(bench.address) = VALID | LEAF | 0x2345000;
    bench.right({3, bench.address});
    bench.right({4, bench.address});
    bench.set_root(3, {true, false, false, 1, LOCAL_BYTES});
    bench.forget(FERRY_FORGET_SCOPE_SPACE, 3);
    bench.right({3, bench.address});
    bench.right({3, bench.address | 1ull << 40});
    return bench.wrong;
}
