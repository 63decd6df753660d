// SPDX-License-Identifier: Apache-2.0
// A device that resets do not bring back, and from which nothing comes any more, until it does again.
#ifndef FERRY_TESTS_IN_VAIN_H
#define FERRY_TESTS_IN_VAIN_H

#include "vidmm/api/call.h"
#include "world.h"

// What the manager had before.
static struct {
    const DRIVER_INITIALIZATION_DATA *miniport;
    int (*turn)(void *context);
} in_vain;

static inline NTSTATUS no_reset(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    (void)adapter;
    (void)argument;
    return STATUS_IO_TIMEOUT;
}

static inline int nothing_comes(void *context)
{
    (void)context;
    return FERRY_ERROR_TIMEOUT;
}

// From now on the manager waits by this turn, or as before (NULL), and no reset ends if resets fail.
static inline void take_turns(struct ferry_vidmm *manager, int (*turn)(void *context), bool resets_fail)
{
    static DRIVER_INITIALIZATION_DATA table;
    ferry_vm_take_lock(manager);
    in_vain.miniport = manager->core.miniport;
    in_vain.turn = manager->core.platform.wait_for_progress;
    table = *in_vain.miniport;
    table.DxgkDdiResetEngine = no_reset;
    if (resets_fail)
        manager->core.miniport = &table;
    if (turn)
        manager->core.platform.wait_for_progress = turn;
    ferry_vm_give_lock(manager);
}

static inline void let_resets_fail(struct ferry_vidmm *manager, int (*turn)(void *context))
{
    take_turns(manager, turn, true);
}

static inline void let_nothing_come(struct ferry_vidmm *manager)
{
    let_resets_fail(manager, nothing_comes);
}

static inline void let_it_come_again(struct ferry_vidmm *manager)
{
    ferry_vm_take_lock(manager);
    manager->core.platform.wait_for_progress = in_vain.turn;
    manager->core.miniport = in_vain.miniport;
    ferry_vm_give_lock(manager);
}

#endif
