// SPDX-License-Identifier: Apache-2.0
// Several programs at random with faults, hangs and kills (chaos.h). FERRY_SEED=number replays one run alone;
// FERRY_RUNS=number of runs from the seed on, FERRY_STEPS=number of steps a run (make soak-chaos), FERRY_BESIDE=0
// without what chaos_beside.c does: as a seed of before its time was found. FERRY_MORE=0 likewise: with one queue a
// device and one thread.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "chaos.h"

#define STEPS 1200

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void runs(uint64_t seed, uint64_t otherwise)
{
    uint64_t count = from_environment("FERRY_RUNS", otherwise);
    seed_print(seed);
    for (uint64_t i = 0; i < count; i++)
        chaos_run(seed + i, (unsigned)from_environment("FERRY_STEPS", STEPS), (seed + i) % 3 != 0,
                  from_environment("FERRY_BESIDE", 1) != 0, from_environment("FERRY_MORE", 1) != 0);
}

// Runs in which attackers of this manager saw content wrong.
static void random_programs_with_faults_that_were_seen_before(void **state)
{
    static const uint64_t seeds[] = {44, 1025};
    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
        chaos_run(seeds[i], STEPS, false, false, false);
}

static void random_programs_with_faults_of_today(void **state)
{
    (void)state;
    runs(seed_or((uint64_t)time(NULL)), getenv("FERRY_SEED") ? 1 : 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_with_faults_that_were_seen_before),
        cmocka_unit_test(random_programs_with_faults_of_today),
    };
    return WORLD_RUN(tests);
}
