// SPDX-License-Identifier: Apache-2.0
// What back ends tell ferry_adapter_list().
#ifndef FERRY_LINK_CANDIDATE_H
#define FERRY_LINK_CANDIDATE_H

#include <stdio.h>

#include "ferry/error.h"
#include "ferry/ferry.h"
#include "link/problem.h"

/// How far it can be reached is what looking at it gave: `good` when that was FERRY_OK, else why not is in
/// ferry_problem().
static inline void ferry_candidate_judge(struct ferry_candidate *candidate, int error, enum ferry_reach good)
{
    candidate->size = sizeof(*candidate);
    candidate->reach = error == FERRY_OK             ? good
                       : error == FERRY_ERROR_IN_USE ? FERRY_REACH_IN_USE
                                                     : FERRY_REACH_BLOCKED;
    snprintf(candidate->problem, sizeof(candidate->problem), "%s", error == FERRY_OK ? "" : ferry_problem());
}

#endif
