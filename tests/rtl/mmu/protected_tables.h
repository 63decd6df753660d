// SPDX-License-Identifier: Apache-2.0
// Tables in the protected range: they are walked, and what stands in them is not told.
#pragma once

#include "simple_tables.h"

// The table of each level in turn is all that is protected: its entries decide as ever, and are not shown.
inline std::string protected_tables()
{
    static const uint64_t tables[] = {LOWEST, MIDDLE, TOP, ROOT};
    for (unsigned closed = 0; closed < 4; closed++)
        for (unsigned height = 0; height < 4; height++)
            for (unsigned edge = 0; edge < 3; edge++) {
                Simple bench;
                bench.tables.limits.protect_base = tables[closed] + (edge == 1 ? PAGE - 1 : 0);
                bench.tables.limits.protect_limit = tables[closed] + (edge == 2 ? 1 : PAGE);
                uint64_t &entry = bench.tables.local.words[entry_at(tables[height], height, bench.address)];
                const uint64_t way = entry, leaf = VALID | LEAF | 0x2345000;
                const uint64_t bad[] = {0x5ec2e7000, VALID | 1ull << 60, VALID | 1ull << 51, leaf | READ_ONLY,
                                        leaf | PROTECTED};
                for (unsigned i = 0; i < (height ? 3 : 5); i++)
                    for (unsigned side = 0; side < 2; side++) {
                        entry = bad[i];
                        bench.forget(FERRY_FORGET_SCOPE_ALL);
                        const Answer given = bench.get(side, {3, bench.address, true, false});
                        if (given.fault == FERRY_FAULT_KIND_NONE || given.height != height ||
                            given.seen != (closed == height ? 0 : bad[i]))
                            return text(given) + " of a table in the protected range";
                        // A walk that begins at what is remembered knows it as well.
                        entry = height ? way : leaf;
                        bench.right({3, bench.address, false, false}, side);
                        bench.right({3, bench.address + PAGE, false, false}, side);
                        bench.lowest(bench.address + PAGE) = 0x7654000;
                        bench.right({3, bench.address + PAGE, false, false}, side);
                        bench.lowest(bench.address + PAGE) = 0;
                        if (!bench.wrong.empty())
                            return bench.wrong;
                    }
            }
    return "";
}
