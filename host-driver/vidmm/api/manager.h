// SPDX-License-Identifier: Apache-2.0
// The manager as a whole. Its public calls check their arguments and look up their handles here, inside the lock, and
// then go down.
#ifndef FERRY_VIDMM_API_MANAGER_H
#define FERRY_VIDMM_API_MANAGER_H

#include <pthread.h>

#include "vidmm/policy/policy.h"
#include "vidmm/vidmm.h"

struct ferry_vidmm {
    // The lock: whoever comes first gets it first, so a thread that waits in turns keeps nobody out.
    pthread_mutex_t mutex;
    pthread_cond_t next;
    uint64_t tickets, serving;
    struct ferry_vm_core core;
    struct ferry_vm_sched sched;
    struct ferry_vm_memory memory;
    struct ferry_vm_policy policy;
    struct ferry_vm_list devices;
};

int ferry_vm_enter(struct ferry_vidmm *manager); // locks; CRITICAL (and locked nevertheless) after a critical stop
/// Hands what was queued to the miniport, and unlocks.
int ferry_vm_leave(struct ferry_vidmm *manager, int result);
/// A turn of ferry_vm_turn(); when it is not enough, whoever stands before the manager is let in. PENDING: look up
/// everything again, then the next turn.
int ferry_vm_block(struct ferry_vidmm *manager, unsigned node, uint64_t number, struct ferry_vm_patience *patience);
/// Let in whoever stands before the manager.
void ferry_vm_yield(struct ferry_vidmm *manager);
/// Destroy what nobody finds any more (its handle is hidden), after its work. On an error it is found again.
int ferry_vm_context_end(struct ferry_vidmm *manager, struct ferry_vm_context *context);
int ferry_vm_allocation_end(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation);
/// The process ends with all of its devices; its handle is hidden.
int ferry_vm_process_end(struct ferry_vidmm *manager, struct ferry_vm_process *process);
int ferry_vm_device_end(struct ferry_vidmm *manager, struct ferry_vm_device *device);

#endif
