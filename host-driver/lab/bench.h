// SPDX-License-Identifier: Apache-2.0
// One size of video memory, one policy: a run. "ours" is the shipped manager; all others are policies (policy.h).
#ifndef FERRY_LAB_BENCH_H
#define FERRY_LAB_BENCH_H

#include "lab/manager_machine.h"
#include "lab/measure.h"
#include "lab/policy.h"
#include "lab/run.h"

#define FERRY_LAB_OURS      "ours"
#define FERRY_LAB_REFERENCE "furthest"

struct ferry_lab_bench {
    struct ferry_lab_traces traces;
    struct ferry_lab_program programs[FERRY_LAB_MOST_TRACES];
    uint64_t seed;
    struct ferry_lab_manner manner;
    unsigned others;                     // threads that a search may have beside the caller's
    const struct ferry_lab_watch *watch; // of the manager's runs; may be NULL
};

/// All policies, in the order of the table, NULL at the end.
extern const struct ferry_lab_policy *const ferry_lab_policies[];

/// NULL = the manager, whose name is "ours". False when there is no policy of that name.
bool ferry_lab_find(const char *name, const struct ferry_lab_policy **policy);
/// Play all traces with so much video memory (bytes, whole pages). policy NULL = the manager. Release the outcome.
void ferry_lab_run(const struct ferry_lab_bench *bench, const struct ferry_lab_policy *policy, uint64_t bytes,
                   struct ferry_lab_outcome *outcome);

#endif
