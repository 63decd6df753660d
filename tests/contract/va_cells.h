// SPDX-License-Identifier: Apache-2.0
// What a run of test_va_cells.c consists of, and what its jobs find.
#ifndef FERRY_TESTS_VA_CELLS_H
#define FERRY_TESTS_VA_CELLS_H

#include "programs.h"
#include "updates.h"

#define QUEUES      3 // the third on the first one's node
#define ALLOCATIONS 11
#define CELL        64u         // pages
#define ARENA       (3u * 512u) // pages: of 2 MiB each
#define CELLS       (ARENA / CELL)
#define SLOTS       48
#define FAR         30 // single pages with tables of their own

struct cells_page {
    unsigned allocation; // from 1 on; 0 = nothing
    uint64_t page;
};

struct cells_far_page {
    uint64_t address;
    struct cells_page leads_to;
};

// What a job is to find.
struct cells_read {
    uint32_t expected;
    unsigned stray; // page of the arena that it has reached without naming anything, from 1 on; 0 = it named it
    uint64_t step;
};

struct cells_queue {
    D3DKMT_HANDLE context, result;
    uint64_t at_result, last;
    struct cells_read reads[SLOTS];
    uint32_t there[SLOTS]; // before
    unsigned jobs;
};

// What the words of a page of the arena were, that were ever to be found there.
struct cells_history {
    uint32_t *words;
    size_t count;
};

struct cells_run {
    struct world *world;
    uint64_t seed, random, step;
    bool faults, strays;
    D3DKMT_HANDLE allocations[ALLOCATIONS];
    uint32_t numbers[ALLOCATIONS], newest; // of their content
    uint64_t pages[ALLOCATIONS];
    bool required[ALLOCATIONS];
    struct cells_queue queues[QUEUES];
    uint64_t at_arena;
    struct cells_page arena[ARENA];
    bool stable[ARENA];     // as the GPU has it, since jobs behind the change are over
    uint8_t readers[ARENA]; // queues that may not have read it yet
    struct cells_history history[ARENA];
    unsigned owner[CELLS];
    bool contested[CELLS]; // others have changed something there, and may not be done
    struct cells_far_page far[FAR];
};

// Of all runs.
extern struct cells_seen {
    unsigned read, of_others, strays, changes, full, resets, faults, ended;
} cells_seen;

uint32_t cells_draw(struct cells_run *run, uint32_t below);
/// It goes on; a critical stop ends the test.
bool cells_active(const struct cells_run *run);
/// A call for the world's own device, which may have lost content meanwhile.
bool cells_went_well(const struct cells_run *run, int result);
/// What was held back goes on; or something else is.
void cells_let_go(struct cells_run *run);
void cells_hold_back(struct cells_run *run);
/// What a page of the arena leads to from now on.
void cells_remember(struct cells_run *run, unsigned at);
/// The queue's jobs are over, and have found what they had to.
void cells_check(struct cells_run *run, unsigned number);
/// Its updates are over too; or all queues'.
void cells_settle(struct cells_run *run, unsigned number);
void cells_settle_all(struct cells_run *run);
/// An allocation of the run, off the list and on it.
void cells_evict(struct cells_run *run, unsigned at);
bool cells_require(struct cells_run *run, unsigned at);
/// A job of the queue reads somewhere.
void cells_read(struct cells_run *run, unsigned number);

#endif
