// SPDX-License-Identifier: Apache-2.0
// What the RTL test programs of this folder share: a seeded random source, named checks, and their closing line.
#ifndef FERRY_TESTS_RTL_CPU_CHECK_H
#define FERRY_TESTS_RTL_CPU_CHECK_H

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "../../seed.h"

class Random
{
  public:
    // A fresh seed, or that of the environment.
    Random() : Random(seed_or(std::random_device{}())) {}
    explicit Random(uint64_t seed) : source_(seed)
    {
        std::setvbuf(stdout, nullptr, _IOLBF, 0);
        seed_print(seed);
    }
    // From here on as one with this seed.
    void again(uint64_t seed) { source_.seed(seed); }
    uint64_t word() { return source_(); }
    // 0 to limit - 1.
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(source_() % limit); }
    // True once in n on average.
    bool once_in(uint32_t n) { return below(n) == 0; }

  private:
    std::mt19937_64 source_;
};

// How often something random is done: `many` in the long form, with which `make soak-seeds` runs all programs.
inline unsigned rounds(unsigned few, unsigned many)
{
    return std::getenv("FERRY_LONG") ? many : few;
}

class Checks
{
  public:
    // Begins a named test.
    void begin(const char *name)
    {
        finish();
        name_ = name;
        faults_ = 0;
    }
    // Counts a difference; prints the first few.
    void equal(uint64_t found, uint64_t expected, const char *what)
    {
        if (found != expected && faults_++ < 8)
            std::printf("    %s: found 0x%" PRIx64 ", expected 0x%" PRIx64 "\n", what, found, expected);
    }
    void that(bool holds, const char *what) { equal(holds, 1, what); }
    // Differences of the named test so far.
    int faults() const { return faults_; }
    // Closing line; exit status.
    int done()
    {
        finish();
        std::printf("%d passed, %d failed\n", passed_, failed_);
        return failed_ ? 1 : 0;
    }

  private:
    void finish()
    {
        if (!name_)
            return;
        std::printf("%s %s\n", faults_ ? "[  FAILED  ]" : "[       OK ]", name_);
        faults_ ? failed_++ : passed_++;
        name_ = nullptr;
    }
    const char *name_ = nullptr;
    int faults_ = 0;
    int passed_ = 0;
    int failed_ = 0;
};

#endif
