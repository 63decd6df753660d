// SPDX-License-Identifier: Apache-2.0
// ferry_host against a root complex in C++. The seed is printed; FERRY_SEED replays it. An argument runs one case only;
// `dump` prints configuration space instead, in the form that `lspci -F` reads: as firmware leaves it, and after
// errors.
#include "../../seed.h"
#include "cases.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

static void dump(Bench &bench, const char *name)
{
    std::printf("%s Display controller: ferry\n", name);
    for (unsigned at = 0; at < 256; at += 4) {
        uint32_t word = bench.config_read(at);
        if (at % 16 == 0)
            std::printf("%02x:", at);
        for (int byte = 0; byte < 4; byte++)
            std::printf(" %02x", word >> 8 * byte & 255);
        std::printf(at % 16 == 12 ? "\n" : "");
    }
    std::printf("\n");
}

static int dump_both()
{
    Bench bench(1);
    bench.configure(256, 512, 64);
    bench.config_write(0x84, 0xfee00000);
    bench.config_write(0x8c, 0x4321);
    bench.config_write(0x80, 0x10000);
    dump(bench, "03:00.0");
    // A read and a write of nothing, a malformed packet and a poisoned one, all reported; then asleep.
    bench.config_write(0x04, 0x146);
    bench.config_write(0x48, 0x292f);
    bench.send(bench.memory_request(false, 0x1000, 1, 15, 0, {}, 200));
    bench.send(bench.memory_request(true, 0x1000, 1, 15, 0, {1}, 0));
    bench.send({0x40000002, 0x000000ff, 0x1000, 1});
    bench.send({0x40004001, 0x0000000f, bench.bar0 + 16, 1});
    bench.settle();
    bench.completions.clear();
    bench.config_write(0xa4, 3);
    dump(bench, "04:00.0");
    return bench.failures != 0;
}

int main(int argc, char **argv)
{
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (argc > 1 && !std::strcmp(argv[1], "dump"))
        return dump_both();
    const uint64_t seed = seed_given(std::random_device()());
    // Registers that reset leaves alone start at random.
    Verilated::randReset(2);
    Verilated::randSeed(int(seed & 0x7fffffff));
    unsigned passed = 0, failed = 0;
    for (const Case *list :
         {completer_cases, interrupt_cases, window_cases, view_cases, view_live_cases, requester_cases,
          requester_fault_cases, line_cases, link_cases, error_cases, hostile_cases}) {
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
