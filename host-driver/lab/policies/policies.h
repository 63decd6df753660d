// SPDX-License-Identifier: Apache-2.0
// The policies, in the order of the table. A file of this folder gives each, as ferry_lab_NAME; one of your own comes
// into this list.
#ifndef FERRY_LAB_POLICIES_H
#define FERRY_LAB_POLICIES_H

#include "lab/policy.h"

#define FERRY_LAB_POLICIES(X) X(least_recent) X(random_choice) X(two_frames) X(furthest)

#define FERRY_LAB_DECLARE(name) extern const struct ferry_lab_policy ferry_lab_##name;
FERRY_LAB_POLICIES(FERRY_LAB_DECLARE)
#undef FERRY_LAB_DECLARE

#endif
