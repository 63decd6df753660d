// SPDX-License-Identifier: Apache-2.0
#include "lab/bench.h"

#include <string.h>

#include "lab/policies/policies.h"
#include "lab/policy_machine.h"

#define PAGE_BYTES UINT64_C(4096)

#define LIST(name) &ferry_lab_##name,
const struct ferry_lab_policy *const ferry_lab_policies[] = {FERRY_LAB_POLICIES(LIST) NULL};
#undef LIST

bool ferry_lab_find(const char *name, const struct ferry_lab_policy **policy)
{
    *policy = NULL;
    for (size_t i = 0; ferry_lab_policies[i]; i++)
        if (strcmp(ferry_lab_policies[i]->name, name) == 0)
            *policy = ferry_lab_policies[i];
    return *policy || strcmp(name, FERRY_LAB_OURS) == 0;
}

void ferry_lab_run(const struct ferry_lab_bench *bench, const struct ferry_lab_policy *policy, uint64_t bytes,
                   struct ferry_lab_outcome *outcome)
{
    const struct ferry_lab_traces *traces = &bench->traces;
    uint64_t pages = bytes / PAGE_BYTES;
    int why = FERRY_LAB_NO_MEMORY;
    struct ferry_lab_machine *machine =
        policy ? ferry_lab_policy_machine(policy, pages, traces, bench->seed)
               : ferry_lab_manager_machine(pages, traces->objects, traces->object_count, bench->programs, traces->count,
                                           bench->watch, &why);
    if (machine)
        ferry_lab_play(traces, machine, &bench->manner, outcome);
    else
        *outcome = (struct ferry_lab_outcome){.result = why};
}
