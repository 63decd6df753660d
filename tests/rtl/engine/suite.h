// SPDX-License-Identifier: Apache-2.0
// The tests of the engine, one function each; a test returns an empty text or what went wrong.
#ifndef FERRY_TEST_SUITE_H
#define FERRY_TEST_SUITE_H

#include "reference.h"

constexpr uint64_t HOST_BASE = 0x0000001234500000ull;
constexpr size_t LOCAL_BYTES = 1 << 20;
constexpr size_t HOST_BYTES = 1 << 20;

struct Test {
    const char *name;
    std::string (*run)(uint64_t seed);
};

extern const std::vector<Test> COPY_TESTS;
extern const std::vector<Test> FAULT_TESTS;

// Runs what is queued and compares everything.
inline std::string finish(Machine &machine, const Reference &reference)
{
    machine.drain();
    std::string difference = reference.compare(machine);
    if (!machine.errors.empty())
        return machine.errors.front() + (difference.empty() ? "" : "; " + difference);
    return difference;
}

#endif
