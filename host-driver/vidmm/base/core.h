// SPDX-License-Identifier: Apache-2.0
// What every layer of the manager stands on: the miniport's table, the platform, the handles, the critical record, the
// counters, events. Everything here and above runs inside the manager's lock; so do the miniport's call-backs, which
// come from the wait hook or from a call into the miniport.
#ifndef FERRY_VIDMM_BASE_CORE_H
#define FERRY_VIDMM_BASE_CORE_H

#include "ferry/error.h"
#include "vidmm/base/handles.h"
#include "vidmm/base/list.h"
#include "vidmm/base/types.h"

#define FERRY_VM_MAX_SEGMENTS 8
#define FERRY_VM_MAX_NODES    8

struct ferry_vm_core {
    const DRIVER_INITIALIZATION_DATA *miniport;
    HANDLE adapter;
    struct ferry_vidmm_platform platform;
    ferry_vidmm_observer *observer;
    void *observer_context;
    DXGK_DRIVERCAPS caps;
    UINT table_segment;   // where page tables are to be, if there are any: a memory segment; 0 = system memory
    bool read_only_pages; // page tables have them
    struct ferry_vm_handles handles;
    uint64_t event; // newest event id
    struct ferry_vidmm_critical critical;
    struct ferry_vidmm_statistics statistics;
};

// The two sorts of memory that budgets are of, as D3DKMT_MEMORY_SEGMENT_GROUP counts them.
enum { FERRY_VM_LOCAL, FERRY_VM_NON_LOCAL, FERRY_VM_GROUPS };

// A program: devices that share one budget (policy/budgets.c).
struct ferry_vm_virtual;
struct ferry_vm_process {
    D3DKMT_HANDLE handle; // 0: the program of all devices that were given none
    void *program;        // the caller's
    uint32_t weight, devices;
    uint64_t gpu_used;    // GPU time of its jobs, over its weight
    uint64_t reservation; // of LOCAL
    uint64_t budget[FERRY_VM_GROUPS];
    uint64_t required[FERRY_VM_GROUPS];       // on its devices' residency lists, or pinned
    uint64_t pinned[FERRY_VM_GROUPS];         // of that
    uint64_t in_place[FERRY_VM_GROUPS];       // in segments now, required or not
    uint64_t renamed[FERRY_VM_GROUPS];        // instances of its allocations beyond each one's first
    uint64_t planned[FERRY_VM_GROUPS];        // what the plan that is being made changes of it, modulo 2^64
    uint64_t planned_before[FERRY_VM_GROUPS]; // planned, before the allocation that is being planned for
    uint64_t spare[FERRY_VM_GROUPS];          // what may still leave for it, while that is picked
    bool picked[FERRY_VM_GROUPS];             // some of its allocations are
    uint8_t sort;                             // of its allocations in the order of victims
    struct ferry_vidmm_process_statistics statistics;
    struct ferry_vm_virtual *space; // its GPU virtual addresses; NULL where there are none
    struct ferry_vm_list link;
};

// Owner of contexts, paging queues and allocations. Each layer hangs its own objects into the lists.
struct ferry_vm_device {
    D3DKMT_HANDLE handle;
    HANDLE miniport;
    struct ferry_vm_process *process;
    uint64_t required[FERRY_VM_GROUPS]; // on its residency list, or pinned
    uint64_t pinned[FERRY_VM_GROUPS];   // of that
    bool away;                          // others run: what its list holds in place are candidates like any other
    uint64_t turn_start;                // GPU time at which its first job since it came back began; 0 = none has
    struct ferry_vm_list waiting;       // for its turn
    bool let_by;                        // it has, once, waited for a job of one that comes before it
    D3DKMT_DEVICEEXECUTION_STATE state;
    struct ferry_vm_list allocations; // all of it; for destroy_device only
    struct ferry_vm_list missing;     // required, but not in place
    struct ferry_vm_list contexts, queues;
    struct ferry_vm_list busy; // of the contexts, those with jobs that are not over
    uint64_t leaving_bytes;    // of host pages that go once queued paging has run
    uint64_t first_operation;  // of those in the pager's line that are not over; 0 = none
    struct ferry_vm_list link;
};

/// Stop for good; returns FERRY_ERROR_CRITICAL. Only the first record is kept.
int ferry_vm_stop_critical(struct ferry_vm_core *core, struct ferry_vidmm_critical record);
int ferry_vm_error_of_status(NTSTATUS status);
void ferry_vm_emit(struct ferry_vm_core *core, struct ferry_vidmm_event event);
/// Give a backing store's pages back to where they came from. NULL is allowed.
void ferry_vm_pages_free(struct ferry_vm_core *core, MDL *mdl);

#endif
