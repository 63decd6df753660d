// SPDX-License-Identifier: Apache-2.0
// What ferry_vm_awaited is good for (sched.h).
#ifndef FERRY_VIDMM_SCHED_AWAITED_H
#define FERRY_VIDMM_SCHED_AWAITED_H

#include "vidmm/sched/sched.h"

/// How many are not over; the others are left out from now on.
size_t ferry_vm_awaited_left(const struct ferry_vm_sched *sched, struct ferry_vm_awaited *awaited);
/// Room for so many more. Errors: NO_HOST_MEMORY.
int ferry_vm_awaited_reserve(const struct ferry_vm_sched *sched, struct ferry_vm_awaited *awaited, size_t more);
/// There is room for it.
void ferry_vm_awaited_add(struct ferry_vm_awaited *awaited, uint64_t number);
/// Writes those that are not over, and returns how many.
size_t ferry_vm_awaited_copy(const struct ferry_vm_sched *sched, struct ferry_vm_awaited *awaited, uint64_t *numbers);
/// None any more.
void ferry_vm_awaited_free(struct ferry_vm_awaited *awaited);

#endif
