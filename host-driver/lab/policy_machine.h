// SPDX-License-Identifier: Apache-2.0
// Video memory as a policy sees it: so many pages, allocations in them or not.
#ifndef FERRY_LAB_POLICY_MACHINE_H
#define FERRY_LAB_POLICY_MACHINE_H

#include "lab/machine.h"
#include "lab/policy.h"
#include "lab/run.h"

/// The traces outlive the machine. NULL without memory. End it with ->end().
struct ferry_lab_machine *ferry_lab_policy_machine(const struct ferry_lab_policy *policy, uint64_t pages,
                                                   const struct ferry_lab_traces *traces, uint64_t seed);

#endif
