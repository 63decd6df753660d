// SPDX-License-Identifier: Apache-2.0
// The manager as a whole. Its public calls check their arguments and look up their handles here, inside the lock, and
// then go down.
#ifndef FERRY_VIDMM_API_MANAGER_H
#define FERRY_VIDMM_API_MANAGER_H

#include <pthread.h>

#include "vidmm/policy/policy.h"
#include "vidmm/vidmm.h"

struct ferry_vidmm {
    pthread_mutex_t lock;
    struct ferry_vm_core core;
    struct ferry_vm_sched sched;
    struct ferry_vm_memory memory;
    struct ferry_vm_policy policy;
    struct ferry_vm_list devices;
};

int ferry_vm_enter(struct ferry_vidmm *manager); // locks; CRITICAL (and locked nevertheless) after a critical stop
int ferry_vm_leave(struct ferry_vidmm *manager, int result);
int ferry_vm_device_free(struct ferry_vidmm *manager, struct ferry_vm_device *device);

#endif
