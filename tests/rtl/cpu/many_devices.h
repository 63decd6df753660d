// SPDX-License-Identifier: Apache-2.0
// One random campaign after another, each on a device of its own.
#ifndef FERRY_TESTS_RTL_CPU_MANY_DEVICES_H
#define FERRY_TESTS_RTL_CPU_MANY_DEVICES_H

#include <cstdio>
#include <cstdlib>

#include "check.h"

// Case `name`: so many devices as FERRY_DEVICES says, else `usual`, each with so many rounds. A Campaign is made of
// checks and random numbers; it has round(), quiet() for the end, where it tells what it saw, and how many buffers
// ended `good` and `bad`: a quarter of each, or it would not be a trouble.
template <class Campaign> int many_devices(const char *name, unsigned usual, unsigned rounds)
{
    Random random;
    Checks checks;
    const char *given = std::getenv("FERRY_DEVICES");
    const unsigned devices = given ? static_cast<unsigned>(std::atoi(given)) : usual;
    checks.begin(name);
    unsigned good = 0, bad = 0;
    for (unsigned device = 0; device < devices && !checks.faults(); device++) {
        Campaign campaign(checks, random);
        for (unsigned n = 0; n < rounds && !checks.faults(); n++)
            campaign.round();
        campaign.quiet();
        good += campaign.good;
        bad += campaign.bad;
        std::printf("    %u buffers ended well, %u badly\n", campaign.good, campaign.bad);
    }
    checks.that(good > devices * rounds / 4 && bad > devices * rounds / 4, "buffers end well and badly");
    return checks.done();
}

#endif
