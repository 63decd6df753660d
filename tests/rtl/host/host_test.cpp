// SPDX-License-Identifier: Apache-2.0
// ferry_host against a root complex in C++. The seed is printed; FERRY_SEED replays it. An argument runs one case only.
#include "cases.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char **argv)
{
    const char *text = std::getenv("FERRY_SEED");
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    uint64_t seed = text ? std::strtoull(text, nullptr, 0) : std::random_device()();
    std::printf("rtl_host: FERRY_SEED=%llu\n", (unsigned long long)seed);
    // Registers that reset leaves alone start at random.
    Verilated::randReset(2);
    Verilated::randSeed(int(seed & 0x7fffffff));
    unsigned passed = 0, failed = 0;
    for (const Case *list : {completer_cases, requester_cases}) {
        for (const Case *c = list; c->name; c++) {
            if (argc > 1 && std::strcmp(argv[1], c->name))
                continue;
            Bench bench(seed);
            c->run(bench);
            std::printf("%s %s (%llu cycles)\n", bench.failures ? "[  FAILED  ]" : "[       OK ]", c->name,
                        (unsigned long long)bench.cycle);
            (bench.failures ? failed : passed)++;
        }
    }
    std::printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
