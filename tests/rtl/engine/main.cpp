// SPDX-License-Identifier: Apache-2.0
// Runs the engine's tests; FERRY_SEED replays one run, an argument picks tests by a part of their name.
#include <cstring>
#include <ctime>

#include "suite.h"

int main(int argc, char **argv)
{
    const uint64_t seed = seed_given((uint64_t)time(nullptr));
    unsigned passed = 0, failed = 0;
    for (const std::vector<Test> *tests :
         {&COPY_TESTS, &PAGE_TESTS, &FLIGHT_TESTS, &FAULT_TESTS, &OVER_TESTS, &RESET_TESTS, &OVERLAP_TESTS, &EDGE_TESTS,
          &LIMIT_TESTS, &PREEMPT_TESTS, &CUT_TESTS, &VIRTUAL_TESTS, &COMING_TESTS, &AHEAD_TESTS, &AHEAD_FAULT_TESTS,
          &ENTRY_TESTS, &STORM_TESTS, &FORGET_TESTS, &FORGET_STORM_TESTS}) {
        for (const Test &test : *tests) {
            if (argc > 1 && strstr(test.name, argv[1]) == nullptr)
                continue;
            clock_t start = clock();
            std::string wrong = test.run(seed);
            double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
            if (wrong.empty()) {
                passed++;
                printf("[       OK ] engine_%s (%.1f s)\n", test.name, seconds);
            } else {
                failed++;
                printf("[  FAILED  ] engine_%s: %s\n", test.name, wrong.c_str());
            }
            fflush(stdout);
        }
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
