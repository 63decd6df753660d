// SPDX-License-Identifier: Apache-2.0
// What the page-table unit forgets, and what it keeps.
#pragma once

#include "simple_tables.h"

// A scope forgets what it names and nothing else: pages in the same 64 KiB, 2 MiB, elsewhere, and of another space.
inline std::string scopes()
{
    for (unsigned scope = 0; scope < 4; scope++) {
        Simple bench(4);
        bench.set_root(4, bench.tables.roots[3]);
        uint64_t near = bench.address ^ 0x3000, beside = bench.address ^ 0x10000, table = bench.address ^ 0x100000,
                 far = bench.address + 0x200000;
        bench.tables.local.words[entry_at(MIDDLE, 1, far)] = VALID | OTHER;
        bench.tables.local.words[entry_at(OTHER, 0, far)] = VALID | LEAF | 0x5000;
        for (uint64_t address : {bench.address, near, beside, table})
            bench.lowest(address) = VALID | LEAF | 0x6000;
        struct {
            unsigned space;
            uint64_t address;
            unsigned narrowest; // the widest scope that leaves it alone is the one below
        } pages[] = {{3, bench.address, 0}, {3, near, 0},          {3, beside, 1}, {3, table, 1},
                     {3, far, 2},           {4, bench.address, 3}, {4, far, 3}};
        for (int twice = 0; twice < 2; twice++)
            for (auto &page : pages)
                bench.right({page.space, page.address});
        bench.forget(scope, 3, bench.address);
        for (auto &page : pages) {
            uint64_t before = bench.reads;
            bench.right({page.space, page.address});
            bool read = bench.reads != before;
            // Pages of one line are read together.
            bool with_another = page.address == near && (near ^ bench.address) < 0x8000;
            if (read != (page.narrowest <= scope) && !(with_another && !read))
                return "scope " + std::to_string(scope) + ": space " + std::to_string(page.space) + " " +
                       std::to_string(page.address) + (read ? " was" : " was not") + " forgotten";
        }
        if (!bench.wrong.empty())
            return bench.wrong;
    }
    return "";
}

// All is cleared in each cycle of something that is being forgotten: of every set of lines, and of every space its
// root, nothing is left.
inline std::string cleared_amid_forgetting()
{
    for (unsigned when = 0; when < 24; when++) {
        Simple bench;
        const Root root = bench.tables.roots[3];
        for (unsigned space = 0; space < 16; space++)
            bench.set_root(space, root);
        const uint64_t begin = bench.address & ~0xfffffull;
        for (unsigned set = 0; set < 16; set++) {
            bench.lowest(begin + set * 0x10000) = VALID | LEAF | 0x2345000;
            bench.right({3, begin + set * 0x10000});
        }
        for (unsigned i = 0; i < 20; i++)
            bench.step();
        for (unsigned set = 0; set < 16; set++)
            bench.lowest(begin + set * 0x10000) = VALID | LEAF | 0x777000;
        bench.begin_forget(FERRY_FORGET_SCOPE_GROUP, 3, begin ^ 0x40000000);
        for (unsigned i = 0; i < when; i++)
            bench.step();
        bench.clear();
        for (unsigned i = 0; i < 100 && bench.forgetting; i++)
            bench.step();
        for (unsigned space = 0; space < 16; space++)
            bench.right({space, begin});
        bench.set_root(3, root);
        for (unsigned set = 0; set < 16; set++)
            bench.right({3, begin + set * 0x10000});
        if (!bench.wrong.empty())
            return "cycle " + std::to_string(when) + ": " + bench.wrong;
    }
    return "";
}

// A new line takes the way whose turn it is: of four lines of one set the last two are there, and the first two are
// not.
inline std::string new_lines_displace_old_ones()
{
    Simple bench;
    const uint64_t begin = bench.address & ~0xffffull;
    // Bits 19 to 16 and 23 to 20, which name the set, are changed alike.
    uint64_t pages[4];
    for (unsigned i = 0; i < 4; i++) {
        pages[i] = begin ^ i * 0x10000 ^ i * 0x100000;
        bench.tables.local.words[entry_at(MIDDLE, 1, pages[i])] = VALID | LOWEST;
        bench.lowest(pages[i]) = VALID | LEAF | (0x2340000 + i * PAGE);
    }
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 4; i++) {
            const uint64_t page = pages[(i + round) % 4], before = bench.reads;
            bench.right({3, page});
            for (unsigned k = 0; k < 20; k++)
                bench.step();
            if (bench.reads == before)
                return "round " + std::to_string(round) + ", line " + std::to_string(i) + " is still there";
        }
        for (unsigned i = 2; i < 4; i++) {
            const uint64_t before = bench.reads;
            if (!bench.right({3, pages[(i + round) % 4]}) || bench.reads != before)
                return "a line that was read last but " + std::to_string(3 - i) + " is not there";
        }
    }
    return bench.wrong;
}

// Behind an entry that is no page nothing of its line is kept, and the line beside it in the set stays as it is.
inline std::string behind_what_is_no_page()
{
    for (uint64_t entry : {0ull, VALID | LEAF | 1ull << 7, VALID | LEAF | 1ull << 51}) {
        Simple bench;
        const uint64_t line = bench.address & ~0xffffull, other = line | 0x8000;
        for (unsigned i = 0; i < 8; i++) {
            bench.lowest(line + i * PAGE) = VALID | LEAF | (0x2340000 + i * PAGE);
            bench.lowest(other + i * PAGE) = VALID | LEAF | (0x2980000 + i * PAGE);
        }
        bench.lowest(other) = entry;
        for (uint64_t page : {line, other}) {
            bench.right({3, page});
            for (unsigned i = 0; i < 20; i++)
                bench.step();
        }
        const uint64_t before = bench.reads;
        for (unsigned i = 0; i < 8; i++)
            bench.right({3, line + i * PAGE});
        if (bench.reads != before)
            return "the line beside is gone";
        bench.right({3, other + PAGE});
        if (bench.reads == before)
            return "what was behind no page is kept";
        if (!bench.wrong.empty())
            return bench.wrong;
    }
    return "";
}
