// SPDX-License-Identifier: Apache-2.0
// Several programs that submit at once, each from a thread of its own.
#ifndef FERRY_TESTS_CROWD_H
#define FERRY_TESTS_CROWD_H

#include <sched.h>
#include <stdatomic.h>

#include "programs.h"

#define OWNED 6 // allocations of each
#define PIECE 7 // pages of one; the lists of three programs are twice what there is

// How many programs have work to do, and how many of them are in a call of the manager.
struct crowd {
    atomic_uint working, calling;
};

// The GPU's time stands still while a program prepares its next call: how the processor divides its own is not what is
// tested.
static inline void wait_for_all(void *context)
{
    struct crowd *crowd = context;
    while (atomic_load(&crowd->calling) < atomic_load(&crowd->working))
        sched_yield();
}

struct runner {
    struct world *world;
    struct crowd *crowd;
    struct program program;
    D3DKMT_HANDLE allocations[OWNED];
    uint64_t finished; // GPU time
    unsigned wrong, jobs;
};

static inline uint64_t now(struct world *world)
{
    struct ferry_vidmm_platform platform = machine_platform(world->machine);
    return platform.gpu_time(platform.context);
}

#endif
