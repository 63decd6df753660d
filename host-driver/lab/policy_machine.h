// SPDX-License-Identifier: Apache-2.0
// Video memory as a policy sees it: so many pages, allocations in them or not.
#ifndef FERRY_LAB_POLICY_MACHINE_H
#define FERRY_LAB_POLICY_MACHINE_H

#include "lab/machine.h"
#include "lab/policy.h"

/// next_uses: for each job in order and each of its objects, the time of that object's next use; only for policies that
/// know the future, else NULL. Objects and next_uses outlive the machine. NULL without memory. End it with ->end().
struct ferry_lab_machine *ferry_lab_policy_machine(const struct ferry_lab_policy *policy, uint64_t pages,
                                                   const struct ferry_lab_object *objects, size_t object_count,
                                                   const uint64_t *next_uses, uint64_t seed);

#endif
