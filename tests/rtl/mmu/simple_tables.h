// SPDX-License-Identifier: Apache-2.0
// One space whose tables are at known places: what the directed tests of the page-table unit begin with.
#pragma once

#include <cstdio>

#include "bench.h"

inline std::string text(const Answer &answer)
{
    char buffer[160];
    snprintf(buffer, sizeof buffer, "fault %u height %u seen %llx %s%s %llx", answer.fault, answer.height,
             (unsigned long long)answer.seen, answer.host ? "host" : "local", answer.snoop ? " snoop" : "",
             (unsigned long long)answer.address);
    return buffer;
}

// Tables at these places, and pages far from them.
constexpr uint64_t ROOT = 0x100000, TOP = 0x101000, MIDDLE = 0x102000, LOWEST = 0x103000, OTHER = 0x104000;
constexpr uint64_t ADDRESS = 0x1234'5678'9000; // of GPU virtual memory

inline uint64_t entry_at(uint64_t table, unsigned height, uint64_t address)
{
    return table + (address >> (12 + 9 * height)) % 512 * 8;
}

struct Simple : Bench {
    // A space of `levels` levels whose lowest table is LOWEST, and in whose upper tables there is one entry.
    explicit Simple(unsigned levels = 4, uint64_t random_seed = 1) : Bench(random_seed)
    {
        static const uint64_t tables_of[] = {LOWEST, MIDDLE, TOP, ROOT};
        Root root;
        root.valid = true;
        root.height = levels - 1;
        root.address = tables_of[levels - 1];
        set_root(3, root);
        for (unsigned height = levels - 1; height > 0; height--)
            tables.local.words[entry_at(tables_of[height], height, base(levels))] = VALID | tables_of[height - 1];
        address = base(levels);
    }
    static uint64_t base(unsigned levels) { return ADDRESS & ((1ull << (12 + 9 * levels)) - 1); }
    uint64_t address = 0;
    uint64_t &lowest(uint64_t of) { return tables.local.words[entry_at(LOWEST, 0, of)]; }
    // Asks, and compares with the walker.
    bool right(const Request &request, unsigned side = 0)
    {
        Answer expected = tables.walk(request), given = get(side, request);
        if (!(given == expected))
            complain("page " + std::to_string(request.address / PAGE) + ": " + text(given) + ", not " + text(expected));
        return wrong.empty();
    }
    bool right_with(uint64_t entry, unsigned kind, bool write = false, bool may_protected = false)
    {
        lowest(address) = entry;
        forget(FERRY_FORGET_SCOPE_ALL);
        if (tables.walk({3, address, write, may_protected}).fault != kind)
            complain("the walker itself says " + text(tables.walk({3, address, write, may_protected})));
        return right({3, address, write, may_protected}, write);
    }
};
