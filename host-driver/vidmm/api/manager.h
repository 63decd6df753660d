// SPDX-License-Identifier: Apache-2.0
// The manager as a whole. Its public calls check their arguments and look up their handles here, inside the lock, and
// then go down.
#ifndef FERRY_VIDMM_API_MANAGER_H
#define FERRY_VIDMM_API_MANAGER_H

#include <pthread.h>
#include <stdatomic.h>

#include "vidmm/policy/policy.h"
#include "vidmm/vidmm.h"

struct ferry_vidmm {
    // The lock: whoever comes first gets it first, so a thread that waits in turns keeps nobody out. Mutex and
    // condition are for those who find it taken.
    atomic_uint_fast64_t tickets, serving;
    pthread_mutex_t mutex;
    pthread_cond_t next;
    struct ferry_vm_core core;
    struct ferry_vm_sched sched;
    struct ferry_vm_memory memory;
    struct ferry_vm_policy policy;
    struct ferry_vm_list devices;
    struct ferry_vm_patience working; // of ferry_vidmm_work()
};

#endif
