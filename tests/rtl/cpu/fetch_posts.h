// SPDX-License-Identifier: Apache-2.0
// ferry_post against a plain C++ model: random records, which go out whole and then into the registers.
#ifndef FERRY_TESTS_RTL_CPU_FETCH_POSTS_H
#define FERRY_TESTS_RTL_CPU_FETCH_POSTS_H

#include "fetch_bench.h"

inline void posting(Checks &checks, Random &random)
{
    checks.begin("records_leave_with_the_time_in_words_2_and_3_and_never_cross_a_page");
    Bench bench(random);
    for (int step = 0; step < 300; step++) {
        uint32_t words[16];
        for (unsigned i = 0; i < 16; i++) {
            bench.top.data_write = 1;
            bench.top.data_index = i;
            bench.top.data_wdata = words[i] = static_cast<uint32_t>(random.word());
            bench.tick();
        }
        bench.top.data_write = 0;
        bool is_long = random.once_in(2);
        uint64_t address = random.word() & ~31ull;
        bench.posted.clear();
        bench.top.start = 1;
        bench.top.start_long = is_long;
        bench.top.start_address = address;
        uint64_t sent = bench.time;
        bench.tick();
        bench.top.start = 0;
        checks.that(bench.top.post_busy, "busy");
        // What the record says goes into the registers behind it, in one go, unless they are being read.
        std::vector<std::pair<unsigned, uint32_t>> entered;
        int held_for = random.once_in(3) ? random.below(60) : 0;
        for (int i = 0; i < 300 && bench.top.post_busy; i++) {
            bench.top.enter_hold = entered.empty() ? i < held_for : random.once_in(2);
            bench.top.eval();
            if (bench.top.enter) {
                checks.that(bench.posted.size() == (is_long ? 8 : 4), "registers change behind the record");
                checks.that(i >= held_for || !entered.empty(), "registers do not change while they are read");
                entered.push_back({bench.top.enter_word, bench.top.enter_data});
                checks.equal(bench.top.ended, entered.size() == (is_long ? 1 : 5), "end");
            } else {
                checks.that(entered.empty(), "in one go");
            }
            bench.tick();
        }
        checks.that(!bench.top.post_busy, "record is out");
        const unsigned order[5] = {6, 7, 0, 1, 4};
        checks.equal(entered.size(), is_long ? 1 : 5, "words that went into the registers");
        for (unsigned i = 0; i < entered.size(); i++) {
            checks.equal(entered[i].first, is_long ? 0 : order[i], "word's place");
            checks.equal(entered[i].second, words[entered[i].first], "word");
        }
        checks.equal(bench.post_address, is_long ? address & ~63ull : address, "address");
        checks.equal(bench.posted.size(), is_long ? 8 : 4, "beats");
        for (unsigned i = 0; i < bench.posted.size(); i++)
            checks.equal(bench.posted[i], i == 1 ? sent : words[2 * i] | uint64_t{words[2 * i + 1]} << 32, "beat");
    }
    checks.equal(bench.broken, 0, "bursts that break the rules");
}

#endif
