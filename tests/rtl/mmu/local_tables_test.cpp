// SPDX-License-Identifier: Apache-2.0
// The page-table unit as who takes the engine alone may build it, with tables in video memory alone (HOST_TABLES 0):
// one that an entry or a root says to lie in host memory is refused, and never read where its address leads in video
// memory. Pages may lie there.
#include <cstdio>

#include "simple_tables.h"

namespace
{

// Video memory has a good table at each place that host memory is named for.
std::string tables_in_host_memory()
{
    for (unsigned side = 0; side < 2; side++) {
        for (unsigned height = 4; height >= 1; height--) {
            for (uint64_t snoop : {(uint64_t)0, SNOOP}) {
                const uint64_t tables[] = {LOWEST, MIDDLE, TOP, ROOT};
                Simple bench;
                bench.lowest(bench.address) = VALID | LEAF | 0x2345000;
                if (height == 4) // The root.
                    bench.set_root(3, {true, true, snoop != 0, 3, ROOT});
                else
                    bench.tables.local.words[entry_at(tables[height], height, bench.address)] =
                        VALID | HOST | snoop | tables[height - 1];
                const Answer given = bench.get(side, {3, bench.address, side == 1, false});
                if (given.fault != FERRY_FAULT_KIND_TABLE_RANGE || given.height != (height == 4 ? 3 : height))
                    return "level " + std::to_string(height) + ": " + text(given);
                if (bench.reads != 4 - height || !bench.wrong.empty())
                    return "level " + std::to_string(height) + ": a table is read " + bench.wrong;
            }
        }
    }
    return "";
}

std::string pages_in_host_memory()
{
    Simple bench;
    bench.lowest(bench.address) = VALID | LEAF | HOST | SNOOP | 0xfedcba9876000;
    bench.right({3, bench.address});
    bench.tables.local.words[entry_at(MIDDLE, 1, bench.address)] = VALID | LEAF | HOST | 0x2400000;
    bench.forget(FERRY_FORGET_SCOPE_ALL);
    bench.right({3, bench.address, true}, 1);
    if (!bench.get(1, {3, bench.address, true, false}).host)
        return "a large page of the host's is not";
    return bench.wrong;
}

} // namespace

int main()
{
    const struct {
        const char *name;
        std::string (*run)();
    } tests[] = {{"page_tables_in_host_memory_are_refused", tables_in_host_memory},
                 {"page_tables_pages_in_host_memory_are_not", pages_in_host_memory}};
    unsigned failed = 0;
    for (auto &test : tests) {
        const std::string wrong = test.run();
        failed += !wrong.empty();
        if (wrong.empty())
            printf("[       OK ] %s\n", test.name);
        else
            printf("[  FAILED  ] %s: %s\n", test.name, wrong.c_str());
    }
    printf("%u passed, %u failed\n", 2 - failed, failed);
    return failed != 0;
}
