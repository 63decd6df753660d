// SPDX-License-Identifier: Apache-2.0
// Several programs that submit at once, each from a thread of its own, and yet the same every time: threads go on in an
// order that does not depend on how the processor divides its time, and the GPU's time passes only when all of them
// have asked for it.
#ifndef FERRY_TESTS_CROWD_H
#define FERRY_TESTS_CROWD_H

#include <pthread.h>
#include <stdatomic.h>

#include "programs.h"

#define OWNED 6 // allocations of each
#define PIECE 7 // pages of one; the lists of three programs are twice what there is

struct runner {
    struct crowd *crowd;
    struct program program;
    D3DKMT_HANDLE allocations[OWNED];
    uint64_t finished; // GPU time
    unsigned wrong, jobs;
    bool waits;       // it has eight jobs in line at most
    uint64_t used[2]; // GPU time of the first program and of the second one, when it has done its jobs
    // The crowd's, under its mutex.
    bool works, at_gate, asked; // asked: for the GPU's next turn
    unsigned calls;             // since the GPU's last one
};

struct crowd {
    struct world *world;
    unsigned most_calls; // of the manager that a program begins in a turn of the GPU; 0 = what it can
    atomic_bool enough;  // those who work until they are told may stop
    // crowd.c's.
    pthread_mutex_t mutex;
    pthread_cond_t changed; // the gate is open for somebody
    pthread_cond_t came;    // to the gate, into the manager's line, or to his end
    struct runner *runners;
    unsigned count, next;
};

/// A thread for each. The caller joins them all, then calls crowd_ends.
void crowd_begins(struct crowd *crowd, unsigned count, struct runner *runners, pthread_t *threads,
                  void *(*run)(void *));
void crowd_ends(struct crowd *crowd);
/// Each call of the manager that a runner's thread makes stands behind this.
void runner_calls(struct runner *runner);
/// A job that fills so much of one of its allocations.
void runner_fills(struct runner *runner, unsigned which, uint64_t offset, uint32_t bytes, uint32_t pattern,
                  uint64_t *fence);
void runner_waits(struct runner *runner, uint64_t fence);
/// The last that its thread does.
void runner_ends(struct runner *runner);

uint64_t now(struct world *world);
struct ferry_vidmm_process_statistics statistics_of(struct world *world, D3DKMT_HANDLE process);

/// Allocations that are on its list for good.
void runner_lists(struct runner *runner);

// ---- A program beside one of the same weight that always wants more -----------------------------------------------

#define OF_THE_HOG 3 // devices at most

// What its earlier jobs worked on.
enum earlier { EARLIER_LISTED, EARLIER_PINNED, EARLIER_NOTHING, EARLIER_IN_TURNS };

struct beside {
    unsigned devices; // of the other program
    unsigned jobs;    // of the first one, beside it
    unsigned earlier; // and before the other one begins
    enum earlier on;
    bool waits;    // the first one has eight jobs in line at most
    bool trickles; // the other one has a small job in line all the time
};
struct shares {
    uint64_t used[2]; // of the GPU, while both were there: the first one's, the other one's
    uint64_t cycles;  // that passed meanwhile
};
struct shares shares_beside(struct beside it);

#endif
