// SPDX-License-Identifier: Apache-2.0
#include "vidmm/api/call.h"

static void wait_for_ticket(struct ferry_vidmm *manager, uint64_t ticket)
{
    if (atomic_load(&manager->serving) == ticket)
        return;
    pthread_mutex_lock(&manager->mutex);
    while (atomic_load(&manager->serving) != ticket)
        pthread_cond_wait(&manager->next, &manager->mutex);
    pthread_mutex_unlock(&manager->mutex);
}

// Nobody needs to be woken for a ticket that nobody has, or the caller himself.
static void serve_next(struct ferry_vidmm *manager, uint64_t own)
{
    uint64_t next = atomic_fetch_add(&manager->serving, 1) + 1;
    // Who takes a ticket after this look finds it served; who took it before may wait, and is told under the mutex, so
    // that he has either not looked yet or is asleep.
    if (next == own || atomic_load(&manager->tickets) == next)
        return;
    pthread_mutex_lock(&manager->mutex);
    pthread_cond_broadcast(&manager->next);
    pthread_mutex_unlock(&manager->mutex);
}

void ferry_vm_take_lock(struct ferry_vidmm *manager)
{
    wait_for_ticket(manager, atomic_fetch_add(&manager->tickets, 1));
}

void ferry_vm_give_lock(struct ferry_vidmm *manager)
{
    serve_next(manager, UINT64_MAX);
}

int ferry_vm_enter(struct ferry_vidmm *manager)
{
    ferry_vm_take_lock(manager);
    return manager->core.critical.code != FERRY_CRITICAL_NONE ? FERRY_ERROR_CRITICAL : FERRY_OK;
}

int ferry_vm_enter_to_end(struct ferry_vidmm *manager)
{
    ferry_vm_take_lock(manager);
    ferry_vm_quiesce(&manager->sched);
    return FERRY_OK;
}

int ferry_vm_leave(struct ferry_vidmm *manager, int result)
{
    ferry_vm_pump(&manager->sched);
    // A call that had nothing to say of the manager's own tells of the stop, if that is how its work ended.
    if (result >= 0 && manager->core.critical.code != FERRY_CRITICAL_NONE)
        result = FERRY_ERROR_CRITICAL;
    ferry_vm_give_lock(manager);
    return result;
}

// The next turn is asked for before this one is given away: else whoever is let in could have any number of turns until
// the caller's thread runs again, and nobody could play a random program once more.
void ferry_vm_yield(struct ferry_vidmm *manager)
{
    uint64_t ticket = atomic_fetch_add(&manager->tickets, 1);
    serve_next(manager, ticket);
    wait_for_ticket(manager, ticket);
}

int ferry_vm_block(struct ferry_vidmm *manager, unsigned node, uint64_t number, struct ferry_vm_patience *patience)
{
    int result = ferry_vm_turn(&manager->sched, node, number, patience);
    if (result == FERRY_PENDING)
        ferry_vm_yield(manager);
    return result;
}

struct ferry_vm_device *ferry_vm_working_device(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, int *error)
{
    struct ferry_vm_device *device = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_DEVICE, handle);
    if (device && device->state == D3DKMT_DEVICEEXECUTION_ACTIVE)
        return device;
    *error = device ? FERRY_ERROR_DEVICE_LOST : FERRY_ERROR_HANDLE;
    return NULL;
}
