// SPDX-License-Identifier: Apache-2.0
// What stands behind an adapter's handle, for tests that look inside.
#ifndef FERRY_TESTS_ADAPTER_INSIDE_H
#define FERRY_TESTS_ADAPTER_INSIDE_H

#include "umd/handles.h"

/// It is there until the test closes it. Not while the thread is in a call of it: that has its lock.
static inline struct umd_adapter *adapter_inside(const struct ferry_adapter *handle)
{
    struct umd_adapter *adapter = NULL;

    if (umd_lock_object(UMD_ADAPTER, handle, &adapter))
        pthread_mutex_unlock(&adapter->lock);
    return adapter;
}

#endif
