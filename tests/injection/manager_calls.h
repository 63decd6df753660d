// SPDX-License-Identifier: Apache-2.0
// What the parts of the manager's program under failures share: its allocations, and calls about them.
#ifndef FERRY_TESTS_MANAGER_CALLS_H
#define FERRY_TESTS_MANAGER_CALLS_H

#include "manager_run.h"

#define PAGES(n)  ((uint64_t)(n)*PAGE_SIZE)
#define CPU       DXGK_ALLOC_FLAG_CPU_VISIBLE
#define PERMANENT (DXGK_ALLOC_FLAG_CPU_VISIBLE | DXGK_ALLOC_FLAG_PERMANENT_SYSMEM)

enum { PLAIN, LARGE, KEPT, MAPPED, OWN, FILLED, WIDE, OTHER, COUNT, HIGH = COUNT };
/// Pages of each.
extern const uint64_t SIZE[COUNT + 1];

// ---- test_manager.c ----
int manager_create(struct run *run, unsigned number, unsigned device, uint64_t pages, UINT flags, UINT aperture);
int manager_resident(struct run *run, unsigned device, const unsigned *numbers, UINT count, uint64_t *value);
int manager_evict(struct run *run, unsigned device, const unsigned *numbers, UINT count);
/// The first words of `from` into those of `to`.
int manager_submit(struct run *run, unsigned context, unsigned to, unsigned from, uint64_t *fence);
/// Of the first context, and it reaches four pages at that address besides.
int manager_submit_reaching(struct run *run, unsigned to, unsigned from, uint64_t address, uint64_t *fence);

// ---- manager_addresses.c ----
/// Parts of the program of driver model 2.
void manager_updates(struct run *run);
void manager_addresses(struct run *run);
void manager_zeros(struct run *run);

#endif
