// SPDX-License-Identifier: Apache-2.0
// The bench of what is looked up ahead: a machine with two spaces, and plain jobs during which the next one waits.
#ifndef FERRY_TEST_AHEAD_H
#define FERRY_TEST_AHEAD_H

#include "spaces.h"

constexpr size_t AHEAD_BYTES = 4 << 20;
// Below are the pages that are mapped.
constexpr uint64_t PLAIN_AT = 0x100000, TABLES_AT = 0x200000;

struct Bench {
    Machine machine;
    Reference reference;
    Spaces spaces;
    // Spaces 2 and 9, the latter of this height.
    Bench(uint64_t seed, unsigned height)
        : machine(seed, AHEAD_BYTES, HOST_BASE, HOST_BYTES), reference(machine),
          spaces(machine, reference, TABLES_AT, AHEAD_BYTES)
    {
        spaces.set_root(2, 2);
        spaces.set_root(9, height);
    }
    void submit(const Job &job)
    {
        machine.submit(job);
        reference.apply(job);
    }
    // A long job of plain addresses, during which the next one waits.
    void submit_plain(uint32_t length, unsigned slot = 0)
    {
        Job job;
        job.slot = slot;
        job.source = PLAIN_AT;
        job.destination = PLAIN_AT + 0x40000;
        job.length = length;
        submit(job);
    }
};

#endif
