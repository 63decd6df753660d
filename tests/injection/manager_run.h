// SPDX-License-Identifier: Apache-2.0
// One run of the manager's program under failures (test_manager.c), and what of its state a failing call must keep.
#ifndef FERRY_TESTS_MANAGER_RUN_H
#define FERRY_TESTS_MANAGER_RUN_H

#include "every_failure.h"
#include "machine.h"
#include "vidmm/api/manager.h"

#define MOST 16

struct variant {
    const char *name;
    unsigned delay, busy_times;
    uint64_t sub_transfer_bytes;
    bool small_buffers;
    bool iommu; // driver model 2 in the IOMMU model, and a program of its own
    bool by_address;
    bool host_tables; // page tables in system memory, whose pages may not be there either
};

struct run {
    struct attempt attempt;
    const struct variant *variant;
    struct machine *machine;
    struct ferry_page_source pages; // the machine's, with failures
    const struct ferry_page_source *real_pages;
    struct ferry_vidmm *manager;
    D3DKMT_HANDLE device[2], queue[2], context[2];
    D3DKMT_HANDLE allocation[MOST];
    uint32_t seed[MOST]; // of its content
    unsigned count;
};

// ---- What a call that fails must not change ----

struct look {
    struct ferry_vidmm_placement place[MOST];
    D3DKMT_DEVICEEXECUTION_STATE state[2];
    struct ferry_vidmm_statistics statistics;                 // but for what the GPU has done meanwhile
    uint64_t operations, jobs[FERRY_VM_MAX_NODES], values[2]; // queued, handed out
    uint64_t completed[2], reached[2];
    uint64_t free_pages[FERRY_VM_MAX_SEGMENTS];
    uint32_t handles; // that are live, found or not
};

void look(const struct run *run, const char *call, struct look *look);
void compare(struct run *run, const char *call, const struct look *then, const struct look *now);
/// The manager has stopped: it says so, why, and nothing else.
void check_stopped(struct run *run);

#endif
