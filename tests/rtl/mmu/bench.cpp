// SPDX-License-Identifier: Apache-2.0
// Measures the page-table unit in cycles, from the one in which a request is there to that of its answer. Tables in
// video memory, three levels, as in `gather`. The floor is that of registered addresses: RL + 1 a level that is read,
// and one. The argument is the file to write.
#include <cstdio>

#include "bench.h"

int main(int argc, char **argv)
{
    constexpr uint64_t ADDRESS = 0x12'3456'7000, FURTHER = ADDRESS ^ 0x40000;
    struct Row {
        std::string name;
        double value, floor;
    };
    std::vector<Row> rows;
    for (unsigned latency : {20u, 100u}) {
        Bench bench;
        bench.latency = latency;
        bench.set_root(1, {true, false, false, 2, 0x1000});
        auto &words = bench.tables.local.words;
        words[0x1000 + (ADDRESS >> 30) % 512 * 8] = VALID | 0x2000;
        words[0x2000 + (ADDRESS >> 21) % 512 * 8] = VALID | 0x3000;
        for (uint64_t address : {ADDRESS, FURTHER})
            words[0x3000 + (address >> 12) % 512 * 8] = VALID | LEAF | 0x40000;
        uint64_t full, cached, hit;
        bool right = true;
        auto measure = [&](uint64_t address, uint64_t &cycles) {
            right = right && bench.get(0, {1, address}, &cycles) == bench.tables.walk({1, address});
            for (unsigned i = 0; i < 20; i++)
                bench.step();
        };
        measure(ADDRESS, full);
        measure(FURTHER, cached);
        measure(ADDRESS, hit);
        if (!right || !bench.wrong.empty()) {
            printf("wrong: %s\n", bench.wrong.c_str());
            return 1;
        }
        std::string rl = "/rl" + std::to_string(latency);
        rows.push_back({"walk/full" + rl, (double)full, 3.0 * (latency + 1) + 1});
        rows.push_back({"walk/upper-cached" + rl, (double)cached, latency + 2.0});
        if (latency == 20)
            rows.push_back({"walk/hit", (double)hit, 1});
    }
    FILE *file = argc > 1 ? fopen(argv[1], "w") : nullptr;
    if (file != nullptr)
        fprintf(file, "[\n");
    for (size_t i = 0; i < rows.size(); i++) {
        printf("%-28s %10.2f cycles floor %10.2f\n", rows[i].name.c_str(), rows[i].value, rows[i].floor);
        if (file != nullptr)
            fprintf(file, " {\"name\": \"%s\", \"value\": %.2f, \"unit\": \"cycles\", \"floor\": %.2f}%s\n",
                    rows[i].name.c_str(), rows[i].value, rows[i].floor, i + 1 < rows.size() ? "," : "");
    }
    if (file != nullptr) {
        fprintf(file, "]\n");
        fclose(file);
    }
    return 0;
}
