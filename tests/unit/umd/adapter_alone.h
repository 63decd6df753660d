// SPDX-License-Identifier: Apache-2.0
// An adapter without a device or a thread, for tests that stand in the manager's place.
#ifndef ADAPTER_ALONE_H
#define ADAPTER_ALONE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "umd/call.h"
#include "umd/runner.h"

static struct umd_adapter adapter;

void umd_runner_wake(struct umd_adapter *of)
{
    (void)of;
}

void umd_runner_tell(const struct umd_adapter *of)
{
    (void)of;
}

void umd_runner_tell_faults(struct umd_adapter *of)
{
    (void)of;
}

static uint64_t cycles_now;

// A device's own is taken where one is linked.
__attribute__((weak)) uint64_t ferry_gpu_cycles(struct ferry_gpu *gpu)
{
    (void)gpu;
    return cycles_now;
}

static void adapter_begin(void)
{
    memset(&adapter, 0, sizeof adapter);
    pthread_mutex_init(&adapter.lock, NULL);
    pthread_cond_init(&adapter.alone, NULL);
    pthread_mutex_init(&adapter.telling, NULL);
}

#endif
