// SPDX-License-Identifier: Apache-2.0
// Several programs that submit at once, each from a thread of its own.
#ifndef FERRY_TESTS_CROWD_H
#define FERRY_TESTS_CROWD_H

#include <pthread.h>
#include <stdatomic.h>

#include "programs.h"

#define OWNED 6 // allocations of each
#define PIECE 7 // pages of one; the lists of three programs are twice what there is

struct crowd {
    struct world *world;
    atomic_uint working; // threads that have work to do
    atomic_bool enough;  // they may stop
};

struct runner {
    struct crowd *crowd;
    struct program program;
    D3DKMT_HANDLE allocations[OWNED];
    uint64_t finished; // GPU time
    unsigned wrong, jobs;
    bool waits;
};

/// A thread for each, the last one first. The GPU's time stands still until all that work stand before the manager
/// again: how the processor divides its own is not what is tested. The caller joins the threads and takes
/// knobs->before_turn away.
void crowd_begins(struct crowd *crowd, unsigned count, struct runner *runners, pthread_t *threads,
                  void *(*run)(void *));
/// Allocations that are on its list for good.
void runner_lists(struct runner *runner);
/// A job that fills so much of one of its allocations.
void runner_fills(struct runner *runner, unsigned which, uint64_t offset, uint32_t bytes, uint32_t pattern,
                  uint64_t *fence);
void runner_waits(struct runner *runner, uint64_t fence);
/// The last that its thread does.
void runner_ends(struct runner *runner);

uint64_t now(struct world *world);
struct ferry_vidmm_process_statistics statistics_of(struct world *world, D3DKMT_HANDLE process);

// ---- A program beside one of the same weight that always wants more -----------------------------------------------

#define OF_THE_HOG 3 // devices at most

struct beside {
    unsigned devices; // of the other program
    unsigned jobs;    // of the first one, beside it
    unsigned earlier; // and before the other one begins
    bool waits;       // the first one has eight jobs in line at most
    bool trickles;    // the other one has a small job in line all the time
};
struct shares {
    uint64_t used[2]; // of the GPU, while both were there: the first one's, the other one's
    uint64_t cycles;  // that passed meanwhile
};
struct shares shares_beside(struct beside it);

#endif
