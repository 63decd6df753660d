// SPDX-License-Identifier: Apache-2.0
// Random tables and what the unit answers, as lines of text (walk.py reads them).
#pragma once

#include <cstdio>

#include "random_tables.h"

// Writes random tables, and what the unit answers for each of their pages, for whoever walks them in another language.
inline int record(const char *path, uint64_t seed)
{
    FILE *file = fopen(path, "w");
    if (file == nullptr)
        return 1;
    for (unsigned round = 0; round < 10; round++) {
        RandomTables random(seed * 40 + round);
        for (unsigned i = 0; i < 100; i++)
            random.edit_something();
        Bench &bench = random.bench;
        bench.forget(FERRY_FORGET_SCOPE_ALL);
        const Limits &limits = bench.tables.limits;
        fprintf(file, "tables %llu %llu %llu\n", (unsigned long long)limits.local,
                (unsigned long long)limits.protect_base, (unsigned long long)limits.protect_limit);
        for (unsigned space = 0; space < 16; space++) {
            const Root &root = bench.tables.roots[space];
            fprintf(file, "root %u %d %d %u %llu\n", space, root.valid, root.host, root.height,
                    (unsigned long long)root.address);
        }
        for (int memory = 0; memory < 2; memory++) {
            for (auto &[address, word] : bench.tables.in(memory).words)
                fprintf(file, "word %d %llu %llu\n", memory, (unsigned long long)address, (unsigned long long)word);
            for (auto &bad : bench.tables.in(memory).bad)
                fprintf(file, "bad %d %llu 0\n", memory, (unsigned long long)bad.first);
        }
        for (unsigned i = 0; i < 1000; i++) {
            Request request = RandomTables::request(random.pages[bench.random.below(random.pages.size())], i % 4);
            Answer answer = bench.get(i / 4 % 2, request);
            fprintf(file, "answer %u %llu %d %d %u %d %d %llu %u %llu\n", request.space,
                    (unsigned long long)request.address, request.write, request.may_protected, answer.fault,
                    answer.host, answer.snoop, (unsigned long long)answer.address, answer.height,
                    (unsigned long long)answer.seen);
        }
        if (!bench.wrong.empty())
            return 1;
    }
    return fclose(file);
}
