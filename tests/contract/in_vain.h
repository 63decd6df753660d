// SPDX-License-Identifier: Apache-2.0
// A device from which nothing comes any more, not even after a reset, until it does again.
#ifndef FERRY_TESTS_IN_VAIN_H
#define FERRY_TESTS_IN_VAIN_H

#include "vidmm/api/call.h"
#include "world.h"

static int nothing_comes(void *context)
{
    (void)context;
    return FERRY_ERROR_TIMEOUT;
}

static NTSTATUS no_reset(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    (void)adapter;
    (void)argument;
    return STATUS_IO_TIMEOUT;
}

static const DRIVER_INITIALIZATION_DATA *real;
static int (*real_turn)(void *context);

static inline void let_nothing_come(struct world *world)
{
    static DRIVER_INITIALIZATION_DATA table;
    ferry_vm_take_lock(world->manager);
    real = world->manager->core.miniport;
    real_turn = world->manager->core.platform.wait_for_progress;
    table = *real;
    table.DxgkDdiResetEngine = no_reset;
    world->manager->core.platform.wait_for_progress = nothing_comes;
    world->manager->core.miniport = &table;
    ferry_vm_give_lock(world->manager);
}

static inline void let_it_come_again(struct world *world)
{
    world->manager->core.platform.wait_for_progress = real_turn;
    world->manager->core.miniport = real;
    world->knobs->hold_node = 0;
    world->knobs->hold_paging = false;
}

#endif
