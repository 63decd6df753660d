// SPDX-License-Identifier: Apache-2.0
// The shipped manager (vidmm/) on a miniport that carries nothing out: every decision is the product's own - who
// leaves, who moves, where each allocation goes, whose turn it is - and every operation ends at once.
#ifndef FERRY_LAB_MANAGER_MACHINE_H
#define FERRY_LAB_MANAGER_MACHINE_H

#include "lab/machine.h"

struct ferry_lab_program {
    uint32_t weight;
    uint64_t reservation; // bytes
};

/// Objects and watch (NULL for none) outlive the machine. NULL when the manager cannot be started: *why is NO_MEMORY,
/// or TOO_SMALL for the reservations. End it with ->end().
struct ferry_lab_machine *ferry_lab_manager_machine(uint64_t pages, const struct ferry_lab_object *objects,
                                                    size_t object_count, const struct ferry_lab_program *programs,
                                                    uint32_t program_count, const struct ferry_lab_watch *watch,
                                                    int *why);

#endif
