// SPDX-License-Identifier: Apache-2.0
// What an allocation costs: the traces once more without any use of it, which is also what an allocation costs that is
// never paged itself and takes the others' room.
#ifndef FERRY_LAB_LEFT_OUT_H
#define FERRY_LAB_LEFT_OUT_H

#include "lab/advice.h"
#include "lab/search.h"

/// Sets ->costliest and what belongs to it. False, with the search's ->problem, when a run failed.
bool ferry_lab_leave_out(struct ferry_lab_search *search, struct ferry_lab_advice *advice,
                         const struct ferry_lab_outcome *outcome);

#endif
